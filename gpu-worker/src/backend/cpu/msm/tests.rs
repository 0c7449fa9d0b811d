//! Multiplications against sums of single products.

use blstrs::{G1Affine, G1Projective};
use ff::Field;
use group::prime::PrimeCurveAffine;
use proofmill_shared::groth16::Scalar;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

use super::super::curve::{G1, G2};
use super::*;

fn computed<C: Curve>(
    bases: &[C::Affine],
    columns: Option<&[u32]>,
    scalars: &[Scalar],
) -> C::Projective {
    let scalars = Scalars::new(&[scalars]);
    let msm = Msm::<C>::new(bases, columns, &scalars, 3);
    (0..msm.len()).for_each(|piece| msm.compute(piece));
    msm.sum()
}

fn random_bases<C: Curve<Projective: group::Group<Scalar = Scalar>>>(
    rng: &mut ChaCha8Rng,
    len: usize,
) -> Vec<C::Affine>
where
    C::Projective: group::Curve<AffineRepr = C::Affine>,
{
    let random = |_| {
        let scalar = Scalar::random(&mut *rng);
        group::Curve::to_affine(&(C::Projective::generator() * scalar))
    };
    (0..len).map(random).collect()
}

/// Scalars of all weights, and those at the edges of digits.
fn scalar(rng: &mut ChaCha8Rng) -> Scalar {
    match rng.next_u32() % 10 {
        0 | 1 => Scalar::ZERO,
        2..=4 => Scalar::ONE,
        5 => Scalar::from(u64::from(rng.next_u32() & 0xffff)),
        6 => Scalar::from(u64::from(rng.next_u32())),
        7 => -Scalar::from(u64::from(rng.next_u32() % 4)),
        _ => Scalar::random(rng),
    }
}

fn naive<C: Curve<Projective: group::Group<Scalar = Scalar>>>(
    bases: &[C::Affine],
    scalars: &[Scalar],
) -> C::Projective {
    let products = bases.iter().zip(scalars);
    products.fold(C::Projective::identity(), |sum, (base, scalar)| {
        sum + base.to_curve() * scalar
    })
}

#[test]
fn g1_agrees_with_the_sum_of_products_at_every_length() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for len in [0, 1, 2, 3, 5, 31, 32, 33, 127, 300, 1025, 5000] {
        let bases = random_bases::<G1>(&mut rng, len);
        let scalars: Vec<_> = (0..len).map(|_| scalar(&mut rng)).collect();
        let expected = naive::<G1>(&bases, &scalars);
        assert!(
            computed::<G1>(&bases, None, &scalars) == expected,
            "{len} terms"
        );
    }
}

#[test]
fn g2_agrees_with_the_sum_of_products() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for len in [0, 1, 2, 40, 600] {
        let bases = random_bases::<G2>(&mut rng, len);
        let scalars: Vec<_> = (0..len).map(|_| scalar(&mut rng)).collect();
        let expected = naive::<G2>(&bases, &scalars);
        assert!(
            computed::<G2>(&bases, None, &scalars) == expected,
            "{len} terms"
        );
    }
}

#[test]
fn equal_and_opposite_bases_are_added_like_any_others() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let base = random_bases::<G1>(&mut rng, 1)[0];
    let bases: Vec<G1Affine> = (0..400)
        .map(|i| if i % 3 == 0 { -base } else { base })
        .collect();
    for value in [
        Scalar::ONE,
        Scalar::from(7u64),
        -Scalar::ONE,
        Scalar::random(&mut rng),
    ] {
        let scalars = vec![value; bases.len()];
        let expected = naive::<G1>(&bases, &scalars);
        assert!(computed::<G1>(&bases, None, &scalars) == expected);
    }
}

#[test]
fn columns_choose_the_scalars() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    let bases = random_bases::<G1>(&mut rng, 50);
    let scalars: Vec<_> = (0..200).map(|_| scalar(&mut rng)).collect();
    let columns: Vec<u32> = (0..50).map(|i| 3 * i + 1).collect();
    let chosen: Vec<_> = columns
        .iter()
        .map(|column| scalars[*column as usize])
        .collect();
    let expected = naive::<G1>(&bases, &chosen);
    assert!(computed::<G1>(&bases, Some(&columns), &scalars) == expected);
}

#[test]
fn nothing_to_add_is_the_identity() {
    let bases = random_bases::<G1>(&mut ChaCha8Rng::seed_from_u64(15), 9);
    assert!(computed::<G1>(&bases, None, &[Scalar::ZERO; 9]) == G1Projective::identity());
}

#[test]
fn parts_cover_a_range_without_gaps_and_none_is_too_long() {
    for len in [0, 1, 7, 100, 101] {
        for most in [1, 3, 50, 100, 1000] {
            let parts: Vec<_> = equal_parts(len, most).collect();
            assert_eq!(parts.iter().map(ExactSizeIterator::len).sum::<usize>(), len);
            assert!(parts.iter().all(|part| (1..=most).contains(&part.len())));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }
}
