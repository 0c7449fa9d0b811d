//! The values of all variables of one circuit instance.

use std::fmt;

use super::Scalar;

/// Values of all variables, w = input ‖ aux. Secret: `Debug` prints counts only.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Assignment {
    /// Public part; `input[0]` is the constant one; length `num_inputs`.
    pub input: Vec<Scalar>,
    /// Private part; length `num_aux`.
    pub aux: Vec<Scalar>,
}

impl fmt::Debug for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assignment")
            .field("num_inputs", &self.input.len())
            .field("num_aux", &self.aux.len())
            .finish()
    }
}
