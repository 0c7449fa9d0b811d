//! What is coded comes back.

use proptest::prelude::*;

use super::*;

/// A value of one of the widths that the codec tells apart.
fn value() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        Just(Scalar::ZERO),
        Just(Scalar::ONE),
        any::<u8>().prop_map(|value| Scalar::from(u64::from(value))),
        any::<u16>().prop_map(|value| Scalar::from(u64::from(value))),
        any::<u32>().prop_map(|value| Scalar::from(u64::from(value))),
        any::<u64>().prop_map(Scalar::from),
        any::<u64>().prop_map(|value| -Scalar::from(value)),
        any::<u64>().prop_map(|seed| Scalar::random(ChaCha8Rng::seed_from_u64(seed))),
    ]
}

/// Runs of values, so that blocks differ in their mix.
fn vector(runs: usize) -> impl Strategy<Value = Vec<Scalar>> {
    let run = (proptest::collection::vec(value(), 1..6), 1usize..700);
    proptest::collection::vec(run, 0..runs).prop_map(|runs| {
        runs.into_iter()
            .flat_map(|(values, len)| values.into_iter().cycle().take(len))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_assignment_reads_back(
        input in vector(3),
        aux in vector(12),
        a in proptest::option::of(vector(6)),
        flush_at in 1usize..60_000,
    ) {
        // b is a backwards: the two cannot be taken for each other.
        let evaluations = a.map(|a| Evaluations { b: a.iter().rev().copied().collect(), a });
        let assignment = Arc::new(Assignment { evaluations, ..Assignment::new(input, aux) });
        let plan = ChunkPlan { flush_at, ..SMALL };
        let (chunks, manifest) = encoded(&assignment, plan);
        let found = collected(facts_of(&assignment), &chunks, &manifest.encode());
        prop_assert!(found.as_ref() == Ok(&*assignment));
    }
}

#[test]
fn what_stood_in_reused_memory_is_gone() {
    let evaluated = |assignment: &Assignment| Assignment {
        evaluations: Some(Evaluations {
            a: assignment.aux.clone(),
            b: assignment
                .input
                .iter()
                .cycle()
                .take(assignment.aux.len())
                .copied()
                .collect(),
        }),
        ..assignment.clone()
    };
    let old = evaluated(&mixed(1_100, 9_000, 100.0));
    for (num_inputs, num_aux, dense_percent) in [
        (1, 0, 0.0),
        (1_024, 5_000, 0.0),
        (7, 20_000, 2.0),
        (2_000, 9_001, 100.0),
    ] {
        let witness = mixed(num_inputs, num_aux, dense_percent);
        for assignment in [Arc::clone(&witness), Arc::new(evaluated(&witness))] {
            let (chunks, manifest) = encoded(&assignment, SMALL);
            let facts = facts_of(&assignment);
            let mut collector = AssignmentCollector::reusing(facts, old.clone()).unwrap();
            for chunk in &chunks {
                collector
                    .push_chunk(chunk.index, chunk.bytes.clone())
                    .unwrap();
            }
            let found = collector.finish(&manifest.encode());
            assert!(found.as_ref() == Ok(&*assignment), "{num_inputs} {num_aux}");
        }
    }
}

#[test]
fn an_assignment_without_variables_is_a_manifest_alone() {
    let assignment = Arc::new(Assignment::default());
    let (chunks, manifest) = encoded(&assignment, SMALL);
    assert!(chunks.is_empty());
    let found = collected(facts_of(&assignment), &chunks, &manifest.encode());
    assert_eq!(found.as_ref(), Ok(&*assignment));
}

#[test]
fn counts_at_the_borders_of_blocks_read_back() {
    for (num_inputs, num_aux) in [(1, 0), (1024, 1024), (1, 1023), (1025, 2049), (7, 5_000)] {
        let assignment = mixed(num_inputs, num_aux, 20.0);
        let (chunks, manifest) = encoded(&assignment, SMALL);
        let found = collected(facts_of(&assignment), &chunks, &manifest.encode());
        assert!(found.as_ref() == Ok(&*assignment), "{num_inputs} {num_aux}");
    }
}

#[test]
fn the_encoding_does_not_depend_on_the_number_of_threads() {
    let assignment = mixed(40, 20_000, 5.0);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| encoded(&assignment, SMALL))
    };
    assert!(on(1) == on(5));
}

#[test]
fn chunks_in_another_order_or_twice_are_the_same_assignment() {
    let assignment = mixed(40, 10_000, 30.0);
    let (mut chunks, manifest) = encoded(&assignment, SMALL);
    assert!(chunks.len() > 3 && chunks.len() < HELD_CHUNKS_MAX);
    chunks.reverse();
    chunks.extend(chunks.clone());
    let found = collected(facts_of(&assignment), &chunks, &manifest.encode());
    assert!(found.as_ref() == Ok(&*assignment));
}

#[test]
fn nothing_secret_shows_in_debug() {
    let secret = Scalar::from(0x5ec2_e75e_c2e7);
    let assignment = Arc::new(Assignment::new(vec![Scalar::ONE], vec![secret; 100]));
    let mut encoder =
        AssignmentEncoder::new(key(), shape(), Arc::clone(&assignment), SMALL).unwrap();
    let chunk = encoder.next().unwrap();
    let mut collector = AssignmentCollector::new(facts_of(&assignment)).unwrap();
    collector.push_chunk(0, chunk.bytes.clone()).unwrap();
    let shown = format!("{encoder:?} {chunk:?} {collector:?}");
    assert!(
        !shown.contains("Scalar") && !shown.contains("5ec2e75ec2e7"),
        "{shown}"
    );
}
