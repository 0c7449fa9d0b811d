//! A circuit program whatever its types, with its shape.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use proofmill_shared::groth16::{Assignment, Scalar, Shape};
use proofmill_shared::protocol::{CircuitId, CircuitRecord, Plan};
use serde_json::Value;

use super::containment::contained;
use super::{CircuitError, CircuitProgram, PARTITIONS_MAX};
use crate::witness;

/// A checked input of some program. Cheap to clone; `Debug` shows nothing of it.
#[derive(Clone)]
pub struct ParsedInput(Arc<dyn Any + Send + Sync>);

impl fmt::Debug for ParsedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParsedInput")
    }
}

/// What the worker asks of a program, whatever its types.
trait Erased: Send + Sync {
    fn id(&self) -> CircuitId;
    fn describe(&self) -> (String, String);
    fn record_shape(&self) -> Result<Shape, CircuitError>;
    fn parse(&self, raw: &[u8]) -> Result<ParsedInput, CircuitError>;
    fn count_and_summary(&self, input: &ParsedInput) -> Result<(u32, String), CircuitError>;
    fn witness(
        &self,
        input: &ParsedInput,
        partition: u32,
        shape: &Shape,
    ) -> Result<Assignment, CircuitError>;
    fn finish(&self, input: &ParsedInput, proofs: &[Vec<Scalar>]) -> Result<Value, CircuitError>;
}

fn typed<P: CircuitProgram>(input: &ParsedInput) -> Result<&P::Input, CircuitError> {
    let reason = || CircuitError::Inconsistent {
        reason: "input was parsed by another program".into(),
    };
    input.0.downcast_ref().ok_or_else(reason)
}

impl<P: CircuitProgram> Erased for P {
    fn id(&self) -> CircuitId {
        CircuitProgram::id(self)
    }

    fn describe(&self) -> (String, String) {
        (self.statement(), self.input_format())
    }

    fn record_shape(&self) -> Result<Shape, CircuitError> {
        Ok(Shape::record(self.blank())?)
    }

    fn parse(&self, raw: &[u8]) -> Result<ParsedInput, CircuitError> {
        Ok(ParsedInput(Arc::new(CircuitProgram::parse(self, raw)?)))
    }

    fn count_and_summary(&self, input: &ParsedInput) -> Result<(u32, String), CircuitError> {
        let input = typed::<P>(input)?;
        Ok((self.partition_count(input), self.summary(input)))
    }

    fn witness(
        &self,
        input: &ParsedInput,
        partition: u32,
        shape: &Shape,
    ) -> Result<Assignment, CircuitError> {
        let input = typed::<P>(input)?;
        let assignment = witness::build(self.circuit(input, partition)?, shape)?;
        if assignment.input[1..] != self.public_inputs(input, partition)? {
            let reason =
                format!("partition {partition} has other public inputs than the program says");
            return Err(CircuitError::Inconsistent { reason });
        }
        Ok(assignment)
    }

    fn finish(&self, input: &ParsedInput, proofs: &[Vec<Scalar>]) -> Result<Value, CircuitError> {
        CircuitProgram::finish(self, typed::<P>(input)?, proofs)
    }
}

/// A program this worker runs. Cheap to clone; clones share the shape. Every call runs the program on the circuit threads,
/// where its panics are contained.
#[derive(Clone)]
pub struct RegisteredCircuit {
    program: Arc<dyn Erased>,
    shape: Arc<OnceLock<Result<Arc<Shape>, CircuitError>>>,
}

impl fmt::Debug for RegisteredCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredCircuit")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

impl RegisteredCircuit {
    /// Wraps a program.
    pub fn new(program: impl CircuitProgram) -> Self {
        Self {
            program: Arc::new(program),
            shape: Arc::default(),
        }
    }

    /// Name and version.
    #[must_use]
    pub fn id(&self) -> CircuitId {
        self.program.id()
    }

    /// Shape of the partitions, recorded at the first call.
    ///
    /// # Errors
    /// [`CircuitError::Inconsistent`] if the blank circuit cannot be recorded, [`CircuitError::Panicked`].
    pub fn shape(&self) -> Result<Arc<Shape>, CircuitError> {
        self.shape
            .get_or_init(|| contained(|| self.program.record_shape()).map(Arc::new))
            .clone()
    }

    /// The circuit as the cluster knows it.
    ///
    /// # Errors
    /// As [`RegisteredCircuit::shape`].
    pub fn record(&self) -> Result<CircuitRecord, CircuitError> {
        let shape = self.shape()?;
        let (statement, input) = self.program.describe();
        Ok(CircuitRecord {
            id: self.id(),
            statement,
            input,
            shape: shape.digest,
            num_constraints: shape.num_constraints as u64,
            num_inputs: shape.num_inputs as u64,
            num_aux: shape.num_aux as u64,
        })
    }

    /// Checks an input.
    ///
    /// # Errors
    /// The program's own, or [`CircuitError::Panicked`].
    pub fn parse(&self, raw: &[u8]) -> Result<ParsedInput, CircuitError> {
        contained(|| self.program.parse(raw))
    }

    /// Splits an input.
    ///
    /// # Errors
    /// [`CircuitError::Inconsistent`] if the program makes no partition or too many, [`CircuitError::Panicked`].
    pub fn plan(&self, input: &ParsedInput) -> Result<Plan, CircuitError> {
        let shape = self.shape()?;
        let (partition_count, summary) = contained(|| self.program.count_and_summary(input))?;
        if !(1..=PARTITIONS_MAX).contains(&partition_count) {
            let reason = format!(
                "an input makes {partition_count} partitions, 1 to {PARTITIONS_MAX} are possible"
            );
            return Err(CircuitError::Inconsistent { reason });
        }
        Ok(Plan {
            partition_count,
            shape: shape.digest,
            summary,
        })
    }

    /// Computes the witness of one partition; its lengths and public inputs are checked, its constraints are not: see
    /// [`witness::check`].
    ///
    /// # Errors
    /// The program's own, [`CircuitError::Inconsistent`], or [`CircuitError::Panicked`].
    pub fn witness(&self, input: &ParsedInput, partition: u32) -> Result<Assignment, CircuitError> {
        let shape = self.shape()?;
        contained(|| self.program.witness(input, partition, &shape))
    }

    /// Joins the public inputs of all proofs into the job's output.
    ///
    /// # Errors
    /// [`CircuitError::OutputMismatch`], or [`CircuitError::Panicked`].
    pub fn finish(
        &self,
        input: &ParsedInput,
        proofs: &[Vec<Scalar>],
    ) -> Result<Value, CircuitError> {
        contained(|| self.program.finish(input, proofs))
    }
}
