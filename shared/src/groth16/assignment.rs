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
    /// The constraints' left and right factors, for hosts that hold no matrices; they follow from the variables.
    pub evaluations: Option<Evaluations>,
}

/// a = A·w and b = B·w of all constraints. Secret: `Debug` prints counts only.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Evaluations {
    /// Left factors; length `num_constraints`.
    pub a: Vec<Scalar>,
    /// Right factors; length `num_constraints`.
    pub b: Vec<Scalar>,
}

impl Assignment {
    /// The values of all variables, and nothing that follows from them.
    #[must_use]
    pub const fn new(input: Vec<Scalar>, aux: Vec<Scalar>) -> Self {
        Self {
            input,
            aux,
            evaluations: None,
        }
    }
}

impl fmt::Debug for Evaluations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluations")
            .field("num_constraints", &self.a.len())
            .finish()
    }
}

impl fmt::Debug for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assignment")
            .field("num_inputs", &self.input.len())
            .field("num_aux", &self.aux.len())
            .field("evaluations", &self.evaluations)
            .finish()
    }
}
