//! A job from its plan to its output, and what it leaves in the trace.

use std::collections::BTreeMap;

use bytes::Bytes;
use proofmill_shared::assignment::{AssignmentFacts, AssignmentFetcher};
use proofmill_shared::broker::{PayloadKey, ResultWrite};
use proofmill_shared::groth16::public_inputs_to_words;
use proofmill_shared::protocol::{
    CircuitRecord, Digest, EventMessage, PartitionProof, Plan, Stage, Unit, WorkerEvent,
};
use proofmill_shared::telemetry::spans::names;
use proofmill_shared::telemetry::{SpanId, TimelineEvent};
use proofmill_synth_worker::circuit::{Chain, CircuitRegistry};

use crate::bench::{Bench, Job, key};

const INPUT: &[u8] = br#"{"start": 2, "partitions": 2}"#;

fn registry() -> CircuitRegistry {
    CircuitRegistry::empty().with(Chain::named("chain-short", 500))
}

fn timeline(events: &[EventMessage]) -> Vec<TimelineEvent> {
    let mut records: Vec<_> = events.iter().flat_map(|event| &event.timeline).collect();
    records.sort_by_key(|record| (record.at, record.event));
    records.iter().map(|record| record.event).collect()
}

async fn plan(bench: &mut Bench, job: &Job) -> Plan {
    let planned = bench.assign(job, Unit::Plan, 1).await;
    let events = bench.events_of(planned).await;
    assert_eq!(events.last().unwrap().event, WorkerEvent::Stored);
    assert_eq!(
        timeline(&events),
        [TimelineEvent::SynthStart, TimelineEvent::SynthEnd]
    );
    let stored = bench.broker.load_result(job.id, Unit::Plan).await.unwrap();
    serde_json::from_slice(&stored.unwrap()).unwrap()
}

/// Synthesizes a partition, fetches what was shipped, and stores a proof with its public inputs.
async fn prove(bench: &mut Bench, job: &Job, partition: u32) {
    let unit = Unit::Partition(partition);
    let synthesized = bench.assign(job, unit, 1).await;
    let events = bench.events_of(synthesized).await;
    let WorkerEvent::Shipped { manifest, .. } = events.last().unwrap().event else {
        panic!("expected a shipped payload: {events:?}");
    };
    assert_eq!(
        timeline(&events),
        [
            TimelineEvent::SynthStart,
            TimelineEvent::SynthEnd,
            TimelineEvent::ChanSend,
            TimelineEvent::ChanSent
        ]
    );
    let registry = registry();
    let circuit = registry.get(&job.circuit).unwrap();
    let shape = circuit.shape().unwrap();
    let facts = AssignmentFacts {
        key: PayloadKey {
            job: job.id,
            partition,
            attempt: 1,
        },
        shape: shape.digest,
        num_inputs: shape.num_inputs,
        num_aux: shape.num_aux,
        num_constraints: shape.num_constraints,
    };
    let fetcher = AssignmentFetcher::new(bench.broker.clone());
    let fetched = fetcher.fetch(facts, Some(manifest), || false).await;
    let assignment = fetched.unwrap().assignment;
    let input = circuit.parse(INPUT).unwrap();
    assert_eq!(assignment, circuit.witness(&input, partition).unwrap());
    let proof = PartitionProof {
        proof: vec![0; 192],
        public_inputs: public_inputs_to_words(&assignment.input[1..]),
        verifying_key: Digest([0; 32]),
        device: "none".to_owned(),
    };
    let body = Bytes::from(serde_json::to_vec(&proof).unwrap());
    let proved = key(job, unit, Stage::Proving, 1);
    let stored = bench.broker.store_result(&proved, body).await.unwrap();
    assert_eq!(stored, ResultWrite::Stored);
}

#[actix::test]
async fn a_job_is_planned_synthesized_shipped_and_finished() {
    let mut bench = Bench::start(registry()).await;
    let job = bench.submit("chain-short", INPUT).await;
    let plan = plan(&mut bench, &job).await;
    assert_eq!(plan.partition_count, 2);
    assert_eq!(plan.summary, "chain of 1000 steps in 2 partitions");
    for partition in 0..plan.partition_count {
        prove(&mut bench, &job, partition).await;
    }
    let finished = bench.assign(&job, Unit::Finish, 1).await;
    assert_eq!(bench.ended(finished).await, WorkerEvent::Stored);
    let output = bench.broker.load_result(job.id, Unit::Finish).await;
    let output: serde_json::Value = serde_json::from_slice(&output.unwrap().unwrap()).unwrap();
    assert_eq!(output["steps"], 1_000);
}

#[actix::test]
async fn a_worker_says_what_it_runs_and_stores_the_shapes() {
    let bench = Bench::start(registry()).await;
    let records = bench.broker.circuits().await.unwrap();
    let record: CircuitRecord = serde_json::from_slice(&records[0]).unwrap();
    assert_eq!(
        (records.len(), record.id.to_string().as_str()),
        (1, "chain-short@1")
    );
    let shape = bench.store().shape(record.shape).unwrap();
    assert_eq!(
        (record.num_constraints, record.num_inputs, record.num_aux),
        (500, 3, 499)
    );
    assert_eq!(shape.num_constraints, 500);
}

#[actix::test]
async fn spans_hang_under_the_root_and_link_to_their_sender() {
    let mut bench = Bench::start(registry()).await;
    let job = bench.submit("chain-short", INPUT).await;
    let synthesized = bench.assign(&job, Unit::Partition(0), 1).await;
    bench.events_of(synthesized).await;
    let mut spans = BTreeMap::new();
    while let Ok(span) = bench.spans.try_recv() {
        assert_eq!(span.job, job.id);
        spans.insert(span.name, span);
    }
    let names: Vec<&str> = spans.keys().copied().collect();
    let expected = [
        names::HANDOFF_ENCODE,
        names::HANDOFF_SEND,
        names::SYNTH,
        names::SYNTH_CHECK,
        names::SYNTH_WITNESS,
    ];
    assert_eq!(names, expected);
    let (root, sender) = (job.trace.root(), job.trace.sender().unwrap());
    let synth = &spans[names::SYNTH];
    assert_eq!((synth.parent, synth.is_parent_remote), (root, true));
    assert_eq!(synth.links, [sender]);
    for part in [names::SYNTH_WITNESS, names::SYNTH_CHECK] {
        let part = &spans[part];
        assert_eq!(part.parent, Some(synth.span_id));
        assert!(part.start >= synth.start && part.end <= synth.end);
    }
    let send = &spans[names::HANDOFF_SEND];
    assert_eq!(send.parent, root);
    assert!(send.start >= synth.end);
    let payload = PayloadKey {
        job: job.id,
        partition: 0,
        attempt: 1,
    };
    assert_eq!(send.span_id, SpanId::of_handoff(&payload));
}
