//! The evaluation domain: roots of unity and coset powers of one size, computed once, and the transforms over them.
//!
//! Both transforms work in place with forward roots only. [`Domain::scatter`] takes values in natural order to
//! bit-reversed order, [`Domain::gather`] the other way, so that no permutation lies between them.

#![expect(
    unsafe_code,
    reason = "blst's butterflies take raw pointers to two elements"
)]

use blst::{blst_fr, blst_fr_ct_bfly, blst_fr_gs_bfly};
use ff::{Field, PrimeField};
use proofmill_shared::groth16::Scalar;
use rayon::prelude::*;

/// Blocks up to this size (128 KiB) are transformed by one core, in its second-level cache.
const SERIAL_LEN: usize = 1 << 12;
/// Butterflies that one core does at a time in the layers above.
const CHUNK: usize = 1 << 11;

/// Tables for one domain size m = 2^log_size.
#[derive(Debug)]
pub(super) struct Domain {
    log_size: u32,
    /// ω_len^j at `len / 2 + j` for every power of two `len` from 2 to m and j < len / 2; length m.
    roots: Vec<Scalar>,
    /// At bit-reversed position i: g^(−i mod m) / m, where g is a primitive 2m-th root of unity; length m.
    pub(super) coset: Vec<Scalar>,
}

impl Domain {
    /// Largest log₂ of a size: the field has 2³² roots of unity, and the coset takes one bit of them.
    pub(super) const MAX_LOG_SIZE: u32 = Scalar::S - 1;

    /// Computes the tables.
    ///
    /// # Panics
    /// If the size is over [`Domain::MAX_LOG_SIZE`]: shapes of that size are refused at load.
    pub(super) fn new(log_size: u32) -> Self {
        assert!(
            log_size <= Self::MAX_LOG_SIZE,
            "no roots of unity of that order"
        );
        let size = 1usize << log_size;
        let mut roots = vec![Scalar::ONE; size];
        let mut len = size;
        while len >= 2 {
            let (lower, upper) = roots.split_at_mut(len / 2);
            if len == size {
                fill_with_powers(&mut upper[..len / 2], &root_of_unity(log_size), Scalar::ONE);
            }
            // The roots of the next smaller size are every other one of these.
            let half = len / 4;
            for (j, root) in lower[half..].iter_mut().enumerate() {
                *root = upper[2 * j];
            }
            len /= 2;
        }
        let generator = root_of_unity(log_size + 1);
        let scale = Scalar::from(size as u64)
            .invert()
            .expect("a power of two is not zero in a field of odd order");
        let mut powers = vec![Scalar::ZERO; size];
        fill_with_powers(&mut powers, &generator, scale);
        let domain = Self {
            log_size,
            roots,
            coset: Vec::new(),
        };
        let coset = (0..size)
            .into_par_iter()
            .map(|position| powers[domain.negated(domain.reversed(position))])
            .collect();
        Self { coset, ..domain }
    }

    /// Number of elements m.
    pub(super) const fn size(&self) -> usize {
        1 << self.log_size
    }

    /// Bytes of the tables for a size.
    pub(super) const fn bytes(size: usize) -> u64 {
        2 * (size_of::<Scalar>() as u64) * size as u64
    }

    /// The index with its `log_size` bits in reverse order.
    #[inline]
    pub(super) const fn reversed(&self, index: usize) -> usize {
        if self.log_size == 0 {
            return 0;
        }
        index.reverse_bits() >> (usize::BITS - self.log_size)
    }

    /// −i mod m.
    #[inline]
    pub(super) const fn negated(&self, index: usize) -> usize {
        index.wrapping_neg() & (self.size() - 1)
    }

    /// Takes x in natural order to X, Xₖ = Σᵢ xᵢ·ω^(ik), in bit-reversed order.
    pub(super) fn scatter(&self, values: &mut [Scalar]) {
        assert_eq!(
            values.len(),
            self.size(),
            "one value for each root of unity"
        );
        self.scatter_block(values);
    }

    /// Takes x in bit-reversed order to X, Xₖ = Σᵢ xᵢ·ω^(ik), in natural order.
    pub(super) fn gather(&self, values: &mut [Scalar]) {
        assert_eq!(
            values.len(),
            self.size(),
            "one value for each root of unity"
        );
        self.gather_block(values);
    }

    fn scatter_block(&self, values: &mut [Scalar]) {
        let half = values.len() / 2;
        if half == 0 {
            return;
        }
        let (low, high) = values.split_at_mut(half);
        let roots = &self.roots[half..2 * half];
        if half < SERIAL_LEN {
            scatter_layer(low, high, roots);
            self.scatter_block(low);
            self.scatter_block(high);
        } else {
            in_chunks(low, high, roots, scatter_layer);
            rayon::join(|| self.scatter_block(low), || self.scatter_block(high));
        }
    }

    fn gather_block(&self, values: &mut [Scalar]) {
        let half = values.len() / 2;
        if half == 0 {
            return;
        }
        let (low, high) = values.split_at_mut(half);
        let roots = &self.roots[half..2 * half];
        if half < SERIAL_LEN {
            self.gather_block(low);
            self.gather_block(high);
            gather_layer(low, high, roots);
        } else {
            rayon::join(|| self.gather_block(low), || self.gather_block(high));
            in_chunks(low, high, roots, gather_layer);
        }
    }
}

/// The primitive root of unity of order 2^log_order.
fn root_of_unity(log_order: u32) -> Scalar {
    (log_order..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square())
}

/// Writes scale·base^i for i = 0, 1, ….
fn fill_with_powers(out: &mut [Scalar], base: &Scalar, scale: Scalar) {
    out.par_chunks_mut(CHUNK)
        .enumerate()
        .for_each(|(i, chunk)| {
            let mut power = scale * base.pow_vartime([(i * CHUNK) as u64]);
            for out in chunk {
                *out = power;
                power *= base;
            }
        });
}

fn in_chunks(
    low: &mut [Scalar],
    high: &mut [Scalar],
    roots: &[Scalar],
    layer: impl Fn(&mut [Scalar], &mut [Scalar], &[Scalar]) + Sync,
) {
    low.par_chunks_mut(CHUNK)
        .zip(high.par_chunks_mut(CHUNK))
        .zip(roots.par_chunks(CHUNK))
        .for_each(|((low, high), roots)| layer(low, high, roots));
}

/// (x, y) → (x + y, (x − y)·root).
fn scatter_layer(low: &mut [Scalar], high: &mut [Scalar], roots: &[Scalar]) {
    for ((x, y), root) in low.iter_mut().zip(high).zip(roots) {
        let (x, y) = (element_mut(x), element_mut(y));
        // SAFETY: the three pointers come from references to distinct initialised elements.
        unsafe { blst_fr_gs_bfly(x, y, element(root)) };
    }
}

/// (x, y) → (x + y·root, x − y·root).
fn gather_layer(low: &mut [Scalar], high: &mut [Scalar], roots: &[Scalar]) {
    for ((x, y), root) in low.iter_mut().zip(high).zip(roots) {
        let (x, y) = (element_mut(x), element_mut(y));
        // SAFETY: the three pointers come from references to distinct initialised elements.
        unsafe { blst_fr_ct_bfly(x, y, element(root)) };
    }
}

/// `Scalar` is `repr(transparent)` over `blst_fr`.
#[inline]
const fn element(scalar: &Scalar) -> *const blst_fr {
    std::ptr::from_ref(scalar).cast()
}

#[inline]
const fn element_mut(scalar: &mut Scalar) -> *mut blst_fr {
    std::ptr::from_mut(scalar).cast()
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn naive(values: &[Scalar], log_size: u32) -> Vec<Scalar> {
        let omega = root_of_unity(log_size);
        let evaluate = |k: usize| {
            let point = omega.pow_vartime([k as u64]);
            let horner = |sum: Scalar, value: &Scalar| sum * point + value;
            values.iter().rev().fold(Scalar::ZERO, horner)
        };
        (0..values.len()).map(evaluate).collect()
    }

    #[test]
    fn transforms_agree_with_the_definition() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for log_size in 0..=7 {
            let domain = Domain::new(log_size);
            let values: Vec<_> = (0..domain.size())
                .map(|_| Scalar::random(&mut rng))
                .collect();
            let expected = naive(&values, log_size);

            let mut scattered = values.clone();
            domain.scatter(&mut scattered);
            let mut gathered: Vec<_> = (0..domain.size())
                .map(|i| values[domain.reversed(i)])
                .collect();
            domain.gather(&mut gathered);

            for k in 0..domain.size() {
                assert_eq!(
                    scattered[domain.reversed(k)],
                    expected[k],
                    "size {log_size}"
                );
                assert_eq!(gathered[k], expected[k], "size {log_size}");
            }
        }
    }

    #[test]
    fn parallel_blocks_agree_with_serial_ones() {
        let log_size = 15;
        let domain = Domain::new(log_size);
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let values: Vec<_> = (0..domain.size())
            .map(|_| Scalar::random(&mut rng))
            .collect();
        let mut transformed = values.clone();
        domain.scatter(&mut transformed);
        // A few outputs by the definition.
        for k in [0, 1, 2, 777, domain.size() - 1] {
            let point = root_of_unity(log_size).pow_vartime([k as u64]);
            let horner = |sum: Scalar, value: &Scalar| sum * point + value;
            let expected = values.iter().rev().fold(Scalar::ZERO, horner);
            assert_eq!(transformed[domain.reversed(k)], expected);
        }
        // The transform there and back negates the index and multiplies by m.
        domain.gather(&mut transformed);
        let size = Scalar::from(domain.size() as u64);
        for (i, value) in transformed.iter().enumerate() {
            assert_eq!(*value, values[domain.negated(i)] * size);
        }
    }

    #[test]
    fn coset_powers_are_those_of_a_root_of_twice_the_order() {
        let domain = Domain::new(5);
        let generator = root_of_unity(6);
        let size = Scalar::from(32u64);
        for i in 0..32 {
            let expected = generator.pow_vartime([((32 - i) % 32) as u64]);
            assert_eq!(domain.coset[domain.reversed(i)] * size, expected);
        }
    }
}
