//! Which device to prove on, and whether it proves right.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use ff::Field;
use proofmill_shared::groth16::{
    Assignment, Scalar, SetupError, Shape, ShapeError, generate_development_key,
};
use proofmill_shared::protocol::DeviceRecord;
use rand::rngs::OsRng;

use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, BackendError};
use crate::prover::{BlindingFactors, ProveError, prove_and_verify};

/// Steps of the circuit that every device proves at start: enough for every query and transform to matter.
const KNOWN_ANSWER_STEPS: usize = 100;

/// Why there is no device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The selector names no device of this machine.
    #[error("device {selector:?} is not here: use auto or cpu")]
    Unknown {
        /// What was asked for.
        selector: String,
    },
    /// The device cannot be set up.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The circuit of the known answer cannot be recorded.
    #[error("known-answer circuit cannot be recorded")]
    Shape(#[from] ShapeError),
    /// Its key cannot be made.
    #[error("known-answer key cannot be made")]
    Setup(#[from] SetupError),
    /// The device proves wrong.
    #[error("device {device} fails its known-answer proof: do not use it")]
    KnownAnswer {
        /// Its name.
        device: String,
        /// How it failed.
        #[source]
        source: ProveError,
    },
}

/// What a worker is told to prove on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// The best there is.
    #[default]
    Auto,
    /// The host's cores.
    Cpu,
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(selector: &str) -> Result<Self, DeviceError> {
        match selector {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            _ => Err(DeviceError::Unknown {
                selector: selector.to_owned(),
            }),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
        })
    }
}

/// A device that proved a known answer.
#[derive(Debug)]
pub struct Device {
    /// What proves on it.
    pub backend: CpuBackend,
    /// How the cluster sees it.
    pub record: DeviceRecord,
}

impl Device {
    /// Opens a device and lets it prove a known answer.
    ///
    /// # Errors
    /// [`DeviceError::Backend`] if it cannot be set up, [`DeviceError::KnownAnswer`] if it proves wrong.
    pub fn open(choice: DeviceChoice) -> Result<Self, DeviceError> {
        let backend = CpuBackend::new(None)?;
        let reason = match choice {
            DeviceChoice::Auto => "auto: this version proves on the cpu only",
            DeviceChoice::Cpu => "asked for",
        };
        let record = DeviceRecord {
            name: backend.describe(),
            backend: backend.name().to_owned(),
            reason: reason.to_owned(),
        };
        prove_known_answer(&backend)?;
        Ok(Self { backend, record })
    }
}

/// x ← x² + 1 from 3, with the last value public.
struct KnownAnswer;

impl Circuit<Scalar> for KnownAnswer {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut value = Scalar::from(3);
        let mut x = cs.alloc(|| "x", || Ok(value))?;
        for step in 1..=KNOWN_ANSWER_STEPS {
            value = value.square() + Scalar::ONE;
            let next = if step == KNOWN_ANSWER_STEPS {
                cs.alloc_input(|| "end", || Ok(value))?
            } else {
                cs.alloc(|| "x", || Ok(value))?
            };
            cs.enforce(
                || "step",
                |lc| lc + x,
                |lc| lc + x,
                |lc| lc + next - CS::one(),
            );
            x = next;
        }
        Ok(())
    }
}

fn prove_known_answer(backend: &impl Backend) -> Result<(), DeviceError> {
    let shape = Shape::record(KnownAnswer)?;
    let key = generate_development_key(&shape, &mut OsRng, &|_| {})?;
    let values: Vec<Scalar> =
        std::iter::successors(Some(Scalar::from(3)), |x| Some(x.square() + Scalar::ONE))
            .take(KNOWN_ANSWER_STEPS + 1)
            .collect();
    let assignment = Assignment {
        input: vec![Scalar::ONE, values[KNOWN_ANSWER_STEPS]],
        aux: values[..KNOWN_ANSWER_STEPS].to_vec(),
    };
    let verifying_key = key.vk.prepare();
    let circuit = backend.load(Arc::new(shape), Arc::new(key))?;
    let blinding = BlindingFactors::random(&mut OsRng);
    let failed = |source| DeviceError::KnownAnswer {
        device: backend.describe(),
        source,
    };
    prove_and_verify(
        backend,
        &circuit,
        &verifying_key,
        &assignment,
        &blinding,
        &(),
    )
    .map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_proves_its_known_answer() {
        let device = Device::open(DeviceChoice::Auto).unwrap();
        assert_eq!(device.record.backend, "cpu");
        assert!(device.record.reason.starts_with("auto"));
    }

    #[test]
    fn an_unknown_device_is_refused_by_name() {
        let refused = "opencl:9".parse::<DeviceChoice>().unwrap_err();
        assert!(refused.to_string().contains("opencl:9"), "{refused}");
    }
}
