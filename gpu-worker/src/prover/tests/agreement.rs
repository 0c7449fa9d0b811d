//! For fixed blinding factors the proof has the bytes of bellperson's, over a grid of circuits.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective};
use group::{Curve, Group};
use proptest::prelude::*;

use super::*;

/// Proves both ways and compares.
fn agrees(backend: &CpuBackend, order: &Order) {
    let loaded = if order.num_aux <= 2 {
        Loaded::new(backend, order)
    } else {
        Loaded::with_own_key(backend, order)
    };
    let blinding = blinding(order.seed);
    let (r, s) = (blinding.r, blinding.s);
    let theirs = create_proof(loaded.r1cs.clone(), &loaded.parameters, r, s).unwrap();
    let theirs = Proof {
        a: theirs.a,
        b: theirs.b,
        c: theirs.c,
    };
    let assignment = &loaded.r1cs.assignment;
    let ours = prove(backend, &loaded.circuit, assignment, &blinding, &()).unwrap();
    if ours.to_bytes() != theirs.to_bytes() {
        let difference = first_difference(backend, &loaded, &blinding, &theirs);
        panic!("{difference} differs for {order:?}");
    }
    let verifying_key = loaded.circuit.key().vk.prepare();
    ours.verify(&verifying_key, &assignment.input[1..])
        .unwrap_or_else(|error| panic!("{error}: {order:?}"));
}

/// Names the query whose sum is not what single products give; h by what the other sums leave of bellperson's C.
fn first_difference(
    backend: &CpuBackend,
    loaded: &Loaded,
    blinding: &BlindingFactors,
    theirs: &Proof,
) -> &'static str {
    let (key, shape) = (loaded.circuit.key(), loaded.circuit.shape());
    let assignment = &loaded.r1cs.assignment;
    let density = &shape.density;
    let aux = |is_dense: &[bool]| -> Vec<Scalar> { chosen(&assignment.aux, is_dense) };
    let a_scalars = [assignment.input.clone(), aux(&density.a_aux)].concat();
    let b_input = chosen(&assignment.input, &density.b_input);
    let b_scalars = [b_input, aux(&density.b_aux)].concat();

    let ours = msm_results(backend, &loaded.circuit, assignment, &()).unwrap();
    if ours.l != sum_g1(&key.l_query, &assignment.aux) {
        return "l";
    }
    if ours.a != sum_g1(&key.a_query, &a_scalars) {
        return "a";
    }
    if ours.b_g1 != sum_g1(&key.b_g1_query, &b_scalars) {
        return "b_g1";
    }
    if ours.b_g2 != sum_g2(&key.b_g2_query, &b_scalars) {
        return "b_g2";
    }
    let BlindingFactors { r, s } = blinding;
    let delta = G1Projective::from(key.vk.delta_g1);
    let b_g1 = ours.b_g1 + key.vk.beta_g1 + delta * s;
    let h = G1Projective::from(theirs.c) - ours.l - theirs.a * s - b_g1 * r + delta * (*r * s);
    if ours.h != h { "h" } else { "assembly" }
}

fn chosen(values: &[Scalar], is_chosen: &[bool]) -> Vec<Scalar> {
    let pairs = values.iter().zip(is_chosen);
    pairs
        .filter(|(_, is_chosen)| **is_chosen)
        .map(|(value, _)| *value)
        .collect()
}

fn sum_g1(bases: &[G1Affine], scalars: &[Scalar]) -> G1Projective {
    bases
        .iter()
        .zip(scalars)
        .map(|(base, scalar)| base * scalar)
        .sum()
}

fn sum_g2(bases: &[G2Affine], scalars: &[Scalar]) -> G2Projective {
    bases
        .iter()
        .zip(scalars)
        .map(|(base, scalar)| base * scalar)
        .sum()
}

/// A domain that holds the circuit, and row counts just below, at, and just above a power of two.
fn row_counts(num_inputs: usize, num_aux: usize) -> [usize; 3] {
    let size = (num_aux.max(num_inputs) + 2).next_power_of_two();
    [size - 1, size, size + 1]
}

#[test]
fn small_circuits_of_every_kind_agree() {
    let backend = backend();
    let mut case: usize = 100;
    for num_aux in [0, 1, 2] {
        for num_inputs in [1, 2, 8] {
            for densities in Densities::EVERY {
                for witness in Witness::EVERY {
                    let row_counts = row_counts(num_inputs, num_aux);
                    case += 1;
                    agrees(
                        &backend,
                        &Order {
                            num_inputs,
                            num_aux,
                            num_rows: row_counts[case % 3],
                            densities,
                            witness,
                            seed: case as u64,
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn circuits_around_128_variables_agree() {
    let backend = backend();
    let mut case: usize = 1000;
    for num_aux in [127, 128, 129] {
        for densities in Densities::EVERY {
            for witness in Witness::EVERY {
                let num_inputs = [1, 2, 8][case % 3];
                case += 1;
                agrees(
                    &backend,
                    &Order {
                        num_inputs,
                        num_aux,
                        num_rows: row_counts(num_inputs, num_aux)[case / 2 % 3],
                        densities,
                        witness,
                        seed: case as u64,
                    },
                );
            }
        }
    }
}

#[test]
fn circuits_around_1024_variables_agree() {
    let backend = backend();
    let mut case: usize = 2000;
    for num_aux in [1023, 1024, 1025] {
        for densities in Densities::EVERY {
            case += 1;
            let witness = Witness::EVERY[case % 5];
            let num_inputs = [1, 2, 8][case % 3];
            agrees(
                &backend,
                &Order {
                    num_inputs,
                    num_aux,
                    num_rows: row_counts(num_inputs, 1022 - num_inputs)[case % 3],
                    densities,
                    witness,
                    seed: case as u64,
                },
            );
        }
    }
}

#[test]
fn circuits_around_16384_variables_agree() {
    let backend = backend();
    for (num_aux, witness) in [
        ((1 << 14) - 1, Witness::Dense),
        ((1 << 14) + 1, Witness::Mixed),
    ] {
        agrees(
            &backend,
            &Order {
                num_inputs: 8,
                num_aux,
                num_rows: num_aux,
                densities: Densities::All,
                witness,
                seed: num_aux as u64,
            },
        );
    }
}

#[test]
fn one_thread_and_many_give_the_same_proof() {
    let order = small_order(9);
    let proofs = [1, 2, 5].map(|threads| {
        let backend = CpuBackend::new(std::num::NonZeroUsize::new(threads)).unwrap();
        let loaded = Loaded::new(&backend, &order);
        prove(
            &backend,
            &loaded.circuit,
            &loaded.r1cs.assignment,
            &blinding(9),
            &(),
        )
        .unwrap()
    });
    assert!(proofs[0] == proofs[1] && proofs[1] == proofs[2]);
}

#[test]
fn query_that_differs_is_named() {
    let backend = backend();
    let loaded = Loaded::new(&backend, &small_order(10));
    let blinding = blinding(10);
    let (r, s) = (blinding.r, blinding.s);
    let theirs = create_proof(loaded.r1cs.clone(), &loaded.parameters, r, s).unwrap();
    let c = G1Projective::from(theirs.c) + G1Projective::generator();
    let wrong = Proof {
        a: theirs.a,
        b: theirs.b,
        c: c.to_affine(),
    };
    assert_eq!(first_difference(&backend, &loaded, &blinding, &wrong), "h");
}

fn any_order() -> impl Strategy<Value = Order> {
    (
        1usize..6,
        0usize..70,
        1usize..80,
        0usize..4,
        0usize..5,
        any::<u64>(),
    )
        .prop_map(
            |(num_inputs, num_aux, num_constraints, densities, witness, seed)| Order {
                num_inputs,
                num_aux,
                num_rows: num_inputs + num_constraints,
                densities: Densities::EVERY[densities],
                witness: Witness::EVERY[witness],
                seed,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_constraint_systems_agree(order in any_order()) {
        agrees(&CpuBackend::new(std::num::NonZeroUsize::new(2)).unwrap(), &order);
    }
}
