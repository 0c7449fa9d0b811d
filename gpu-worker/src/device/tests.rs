//! Opening devices, and devices that compute wrong.

use std::sync::Arc;

use blstrs::G1Projective;
use group::Group;
use proofmill_shared::groth16::{ProvingKey, Shape};

use super::*;
use crate::backend::cpu::{CpuCircuit, CpuEvaluations, CpuQuotient, CpuWitness};
use crate::prover::MsmResults;

/// A backend whose multiplications over the l query are off by one point.
struct FaultyBackend(CpuBackend);

impl Backend for FaultyBackend {
    type Circuit = CpuCircuit;
    type Witness<'a> = CpuWitness<'a>;
    type Evaluations = CpuEvaluations;
    type Quotient = CpuQuotient;

    fn name(&self) -> &'static str {
        "faulty"
    }

    fn describe(&self) -> String {
        "faulty device".to_owned()
    }

    fn bytes_needed(&self, shape: &Shape) -> u64 {
        self.0.bytes_needed(shape)
    }

    fn load(&self, shape: Arc<Shape>, key: Arc<ProvingKey>) -> Result<CpuCircuit, BackendError> {
        self.0.load(shape, key)
    }

    fn upload<'a>(
        &self,
        circuit: &CpuCircuit,
        assignment: &'a Assignment,
    ) -> Result<CpuWitness<'a>, BackendError> {
        self.0.upload(circuit, assignment)
    }

    fn evaluate(
        &self,
        circuit: &CpuCircuit,
        witness: &CpuWitness<'_>,
    ) -> Result<CpuEvaluations, BackendError> {
        self.0.evaluate(circuit, witness)
    }

    fn quotient(
        &self,
        circuit: &CpuCircuit,
        evaluations: CpuEvaluations,
    ) -> Result<CpuQuotient, BackendError> {
        self.0.quotient(circuit, evaluations)
    }

    fn multiply(
        &self,
        circuit: &CpuCircuit,
        witness: CpuWitness<'_>,
        quotient: CpuQuotient,
        observer: &dyn StepObserver,
    ) -> Result<MsmResults, ProveError> {
        let mut results = self.0.multiply(circuit, witness, quotient, observer)?;
        results.l += G1Projective::generator();
        Ok(results)
    }
}

fn store() -> Store {
    Store::new("never written")
}

fn options(choice: DeviceChoice) -> DeviceOptions {
    DeviceOptions {
        choice,
        num_threads: NonZeroUsize::new(2),
        store: store(),
        source: None,
        shapes: ShapeResidency::Full,
        resident_budget: u64::MAX,
    }
}

#[test]
fn cpu_device_passes_and_names_itself() {
    let device = Device::open(options(DeviceChoice::Cpu)).unwrap();
    assert_eq!(device.record().name, "cpu (2 threads)");
    assert_eq!(device.record().backend, "cpu");
    assert!(device.warm().is_empty());
}

#[test]
fn auto_says_why_it_took_the_cpu() {
    let device = Device::open(options(DeviceChoice::Auto)).unwrap();
    assert!(device.record().reason.starts_with("auto:"));
}

#[test]
fn device_that_computes_wrong_is_refused() {
    let faulty = FaultyBackend(CpuBackend::new(None).unwrap());
    let error =
        Device::with_backend(faulty, "chosen by test", options(DeviceChoice::Cpu)).unwrap_err();
    assert!(matches!(error, DeviceError::KnownAnswer { .. }), "{error}");
    assert!(error.to_string().contains("faulty device"));
}

#[test]
fn missing_circuit_is_an_error_of_loading() {
    let device = Device::open(options(DeviceChoice::Cpu)).unwrap();
    let error = device.load(&Digest::of(b"no circuit")).unwrap_err();
    assert!(matches!(error, LoadError::Store(_)), "{error}");
}

#[test]
fn choices_read_as_they_are_written() {
    assert_eq!("auto".parse::<DeviceChoice>().unwrap(), DeviceChoice::Auto);
    assert_eq!("cpu".parse::<DeviceChoice>().unwrap(), DeviceChoice::Cpu);
    let error = "gpu7".parse::<DeviceChoice>().unwrap_err().to_string();
    assert!(error.contains("gpu7") && error.contains("auto"), "{error}");
}
