//! The CPU backend: every step on all threads of a pool of its own.
//!
//! *Layout*: `domain` (roots of unity, transforms), `quotient` (h by six transforms), `scalars` (canonical scalars by
//! weight), `msm` (one multiplication in pieces), `queue` (all five on all threads), `pippenger`, `windows`, `buckets`,
//! `batch`, `curve`, `field` (from one piece down to the arithmetic of `blst`).

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};

use ff::Field;
use parking_lot::Mutex;
use proofmill_shared::groth16::{Assignment, ProvingKey, Scalar, Shape};

use self::buckets::Entry;
use self::curve::{G1, G2};
use self::domain::Domain;
use self::msm::Msm;
use self::queue::Queued;
use self::scalars::Scalars;
use super::size::{QueryLengths, shape_bytes};
use super::{Backend, BackendError, LoadedCircuit};
use crate::prover::{MsmResults, ProveError, Step, StepObserver};

mod batch;
mod buckets;
mod curve;
mod domain;
mod field;
mod msm;
mod pippenger;
mod queue;
mod quotient;
mod scalars;
mod windows;

/// Proves on the CPU.
#[derive(Debug)]
pub struct CpuBackend {
    pool: rayon::ThreadPool,
    /// Tables in use by loaded circuits, by log₂ of the size.
    domains: Mutex<HashMap<u32, Weak<Domain>>>,
}

impl CpuBackend {
    /// Starts the threads; as many as there are cores if no number is given.
    ///
    /// # Errors
    /// [`BackendError::Threads`] if the system refuses them.
    pub fn new(num_threads: Option<NonZeroUsize>) -> Result<Self, BackendError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(num_threads.map_or(0, NonZeroUsize::get))
            .thread_name(|thread| format!("prove-{thread}"))
            .build()
            .map_err(BackendError::Threads)?;
        Ok(Self {
            pool,
            domains: Mutex::default(),
        })
    }

    fn domain(&self, log_size: u32) -> Arc<Domain> {
        let mut domains = self.domains.lock();
        if let Some(domain) = domains.get(&log_size).and_then(Weak::upgrade) {
            return domain;
        }
        let domain = Arc::new(self.pool.install(|| Domain::new(log_size)));
        domains.insert(log_size, Arc::downgrade(&domain));
        domain
    }
}

/// A circuit that the CPU backend can prove.
#[derive(Debug)]
pub struct CpuCircuit {
    shape: Arc<Shape>,
    key: Arc<ProvingKey>,
    domain: Arc<Domain>,
    columns: QueryColumns,
}

/// The variable (column of the matrices) that each base of a query belongs to.
#[derive(Debug)]
struct QueryColumns {
    l: Vec<u32>,
    a: Vec<u32>,
    b: Vec<u32>,
}

impl QueryColumns {
    fn new(shape: &Shape) -> Self {
        let (num_inputs, density) = (shape.num_inputs, &shape.density);
        let num_columns = column(num_inputs + shape.num_aux);
        let (inputs, aux) = (0..column(num_inputs), column(num_inputs)..num_columns);
        let dense = |columns: std::ops::Range<u32>, density: &[bool]| -> Vec<u32> {
            let is_dense = columns.zip(density).filter(|(_, is_dense)| **is_dense);
            is_dense.map(|(column, _)| column).collect()
        };
        let mut a: Vec<u32> = inputs.clone().collect();
        a.extend(dense(aux.clone(), &density.a_aux));
        let mut b = dense(inputs, &density.b_input);
        b.extend(dense(aux.clone(), &density.b_aux));
        Self {
            l: aux.collect(),
            a,
            b,
        }
    }
}

fn column(i: usize) -> u32 {
    u32::try_from(i).expect("loading refuses more columns")
}

impl LoadedCircuit for CpuCircuit {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn key(&self) -> &ProvingKey {
        &self.key
    }
}

/// An assignment with its scalars in the form that multiplications read.
#[expect(
    missing_debug_implementations,
    reason = "secret: a debug line would show it"
)]
pub struct CpuWitness<'a> {
    assignment: &'a Assignment,
    /// Of inputs, then aux.
    scalars: Scalars,
}

/// a = A·w and b = B·w on the domain.
#[expect(
    missing_debug_implementations,
    reason = "secret: a debug line would show it"
)]
pub struct CpuEvaluations {
    a: Vec<Scalar>,
    b: Vec<Scalar>,
}

/// The coefficients of h.
#[expect(
    missing_debug_implementations,
    reason = "secret: a debug line would show it"
)]
pub struct CpuQuotient {
    h: Scalars,
}

impl Backend for CpuBackend {
    type Circuit = CpuCircuit;
    type Witness<'a> = CpuWitness<'a>;
    type Evaluations = CpuEvaluations;
    type Quotient = CpuQuotient;

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> String {
        match self.pool.current_num_threads() {
            1 => "cpu (1 thread)".to_owned(),
            threads => format!("cpu ({threads} threads)"),
        }
    }

    fn bytes_needed(&self, shape: &Shape) -> u64 {
        let queries = QueryLengths::of(shape);
        let columns = size_of::<u32>() * (queries.l + queries.a + queries.b);
        shape_bytes(shape)
            + queries.key_bytes()
            + Domain::bytes(shape.domain_size())
            + columns as u64
    }

    fn load(&self, shape: Arc<Shape>, key: Arc<ProvingKey>) -> Result<CpuCircuit, BackendError> {
        key.fits(&shape)?;
        let log_size = shape.domain_size().trailing_zeros();
        if log_size > Domain::MAX_LOG_SIZE {
            return Err(BackendError::TooLarge {
                what: "log₂ of the evaluation domain",
                found: log_size as usize,
                most: Domain::MAX_LOG_SIZE as usize,
            });
        }
        let num_columns = shape.num_inputs + shape.num_aux;
        if num_columns > Entry::MAX_POINTS {
            return Err(BackendError::TooLarge {
                what: "number of variables",
                found: num_columns,
                most: Entry::MAX_POINTS,
            });
        }
        Ok(CpuCircuit {
            domain: self.domain(log_size),
            columns: QueryColumns::new(&shape),
            shape,
            key,
        })
    }

    fn upload<'a>(
        &self,
        _circuit: &CpuCircuit,
        assignment: &'a Assignment,
    ) -> Result<CpuWitness<'a>, BackendError> {
        let values = [assignment.input.as_slice(), &assignment.aux];
        let scalars = self.pool.install(|| Scalars::new(&values));
        Ok(CpuWitness {
            assignment,
            scalars,
        })
    }

    fn evaluate(
        &self,
        circuit: &CpuCircuit,
        witness: &CpuWitness<'_>,
    ) -> Result<CpuEvaluations, BackendError> {
        let shape = &circuit.shape;
        let mut a = vec![Scalar::ZERO; shape.domain_size()];
        let mut b = a.clone();
        let rows = 0..shape.num_constraints;
        self.pool.install(|| {
            let (a, b) = (&mut a[rows.clone()], &mut b[rows]);
            shape.evaluate_into(witness.assignment, a, b);
        });
        // The rows input · 0 = 0.
        a[shape.num_constraints..shape.num_rows()].copy_from_slice(&witness.assignment.input);
        Ok(CpuEvaluations { a, b })
    }

    fn quotient(
        &self,
        circuit: &CpuCircuit,
        evaluations: CpuEvaluations,
    ) -> Result<CpuQuotient, BackendError> {
        let CpuEvaluations { a, b } = evaluations;
        let h = self.pool.install(|| {
            let h = quotient::quotient(&circuit.domain, a, b);
            Scalars::new(&[&h])
        });
        Ok(CpuQuotient { h })
    }

    fn multiply(
        &self,
        circuit: &CpuCircuit,
        witness: CpuWitness<'_>,
        quotient: CpuQuotient,
        observer: &dyn StepObserver,
    ) -> Result<MsmResults, ProveError> {
        self.pool
            .install(|| multiply(circuit, &witness.scalars, &quotient.h, observer))
    }
}

fn multiply(
    circuit: &CpuCircuit,
    w: &Scalars,
    h: &Scalars,
    observer: &dyn StepObserver,
) -> Result<MsmResults, ProveError> {
    let (key, columns) = (&*circuit.key, &circuit.columns);
    let threads = rayon::current_num_threads();
    let b_g2 = Msm::<G2>::new(&key.b_g2_query, Some(&columns.b), w, threads);
    let h = Msm::<G1>::new(&key.h_query, None, h, threads);
    let l = Msm::<G1>::new(&key.l_query, Some(&columns.l), w, threads);
    let a = Msm::<G1>::new(&key.a_query, Some(&columns.a), w, threads);
    let b_g1 = Msm::<G1>::new(&key.b_g1_query, Some(&columns.b), w, threads);
    // The costliest pieces first, so that the queue ends with short ones.
    let queued = [
        Queued {
            step: Step::MsmBG2,
            pieces: &b_g2,
        },
        Queued {
            step: Step::MsmH,
            pieces: &h,
        },
        Queued {
            step: Step::MsmL,
            pieces: &l,
        },
        Queued {
            step: Step::MsmA,
            pieces: &a,
        },
        Queued {
            step: Step::MsmBG1,
            pieces: &b_g1,
        },
    ];
    queue::compute_all(&queued, observer)?;
    let (b_g2, ((h, l), (a, b_g1))) = rayon::join(
        || b_g2.sum(),
        || rayon::join(|| (h.sum(), l.sum()), || (a.sum(), b_g1.sum())),
    );
    Ok(MsmResults {
        h,
        l,
        a,
        b_g1,
        b_g2,
    })
}
