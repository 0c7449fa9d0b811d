//! What a client stated in advance against what came out. Pure.

use proofmill_shared::protocol::PartitionProof;
use serde_json::Value;

use crate::view::Expectation;

/// The first difference in words; `None` if there is none. Says where, never what: an output may be long.
pub(super) fn mismatch(
    expected: &Expectation,
    proofs: &[PartitionProof],
    output: &Value,
) -> Option<String> {
    if let Some(partitions) = &expected.public_inputs {
        if partitions.len() != proofs.len() {
            return Some(format!(
                "public inputs were stated for {} partitions, the job has {}",
                partitions.len(),
                proofs.len()
            ));
        }
        for (index, (stated, proof)) in partitions.iter().zip(proofs).enumerate() {
            if let Some(what) = partition_mismatch(index, stated, proof) {
                return Some(what);
            }
        }
    }
    match &expected.output {
        Some(stated) if stated != output => {
            Some("output differs from the one that was stated".to_owned())
        }
        Some(_) | None => None,
    }
}

fn partition_mismatch(index: usize, stated: &[String], proof: &PartitionProof) -> Option<String> {
    if stated.len() != proof.public_inputs.len() {
        return Some(format!(
            "partition {index} has {} public inputs, {} were stated",
            proof.public_inputs.len(),
            stated.len()
        ));
    }
    let found = proof.public_inputs.iter();
    let differs = |(stated, found): (&String, _)| !stated.eq_ignore_ascii_case(&format!("{found}"));
    let at = stated
        .iter()
        .zip(found)
        .position(|(stated, found)| differs((stated, found)))?;
    Some(format!(
        "public input {at} of partition {index} differs from the one that was stated"
    ))
}

#[cfg(test)]
mod tests {
    use proofmill_shared::protocol::Digest;
    use serde_json::json;

    use super::*;

    fn proof(inputs: &[&[u8]]) -> PartitionProof {
        PartitionProof {
            proof: vec![0; 192],
            public_inputs: inputs.iter().map(|input| Digest::of(input)).collect(),
            verifying_key: Digest::of(b"key"),
            device: "cpu".into(),
        }
    }

    fn stated(inputs: &[&[&[u8]]]) -> Expectation {
        let hex = |input: &&[u8]| Digest::of(input).to_string().to_uppercase();
        let partition = |inputs: &&[&[u8]]| inputs.iter().map(hex).collect();
        Expectation {
            public_inputs: Some(inputs.iter().map(partition).collect()),
            output: None,
        }
    }

    #[test]
    fn what_was_stated_and_came_out_is_no_mismatch() {
        let mut expected = stated(&[&[b"a", b"b"], &[b"c"]]);
        expected.output = Some(json!({"x": 1}));
        let proofs = [proof(&[b"a", b"b"]), proof(&[b"c"])];
        assert_eq!(mismatch(&expected, &proofs, &json!({"x": 1})), None);
    }

    #[test]
    fn a_difference_is_named_by_its_place() {
        let proofs = [proof(&[b"a", b"b"]), proof(&[b"c"])];
        let cases = [
            (stated(&[&[b"a", b"b"]]), "1 partitions, the job has 2"),
            (
                stated(&[&[b"a"], &[b"c"]]),
                "partition 0 has 2 public inputs",
            ),
            (
                stated(&[&[b"a", b"x"], &[b"c"]]),
                "public input 1 of partition 0",
            ),
        ];
        for (expected, part) in cases {
            let what = mismatch(&expected, &proofs, &json!(null)).unwrap();
            assert!(what.contains(part), "{what}");
        }
        let expected = Expectation {
            output: Some(json!(1)),
            ..Expectation::default()
        };
        assert!(mismatch(&expected, &proofs, &json!(2)).is_some());
    }
}
