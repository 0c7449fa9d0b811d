use std::fs;

use blstrs::G2Affine;

use super::super::circuits::{Cubic, key_of, outside_subgroup, params_of, shape_of};
use super::super::{CountMismatch, PointFault, Shape};
use super::*;

const G1: usize = 96;
const G2: usize = 192;
/// Where the single points of the verifying key lie, in file order.
const VK_POINTS: [(&str, usize, usize); 6] = [
    ("alpha_g1", 0, G1),
    ("beta_g1", G1, G1),
    ("beta_g2", 2 * G1, G2),
    ("gamma_g2", 2 * G1 + G2, G2),
    ("delta_g1", 2 * G1 + 2 * G2, G1),
    ("delta_g2", 3 * G1 + 2 * G2, G2),
];
const IC: usize = 3 * G1 + 3 * G2;

fn shape() -> Shape {
    shape_of(Cubic { x: None, links: 3 })
}

fn key() -> ProvingKey {
    key_of(&shape(), 1)
}

/// Where the lists lie: name, offset of the count, number of points, size of a point.
fn lists(key: &ProvingKey) -> Vec<(&'static str, usize, usize, usize)> {
    let lens = [
        ("ic", key.vk.ic.len(), G1),
        ("h_query", key.h_query.len(), G1),
        ("l_query", key.l_query.len(), G1),
        ("a_query", key.a_query.len(), G1),
        ("b_g1_query", key.b_g1_query.len(), G1),
        ("b_g2_query", key.b_g2_query.len(), G2),
    ];
    let mut offset = IC;
    let mut lists = Vec::new();
    for (name, len, size) in lens {
        lists.push((name, offset, len, size));
        offset += 4 + len * size;
    }
    lists
}

fn put(bytes: &[u8], offset: usize, value: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[offset..offset + value.len()].copy_from_slice(value);
    changed
}

fn identity(size: usize) -> Vec<u8> {
    let mut point = vec![0; size];
    point[0] = 0x40;
    point
}

#[track_caller]
fn assert_point_fault(bytes: &[u8], check: Check, field: &str, index: usize, fault: PointFault) {
    let error = ProvingKey::decode(bytes, check).unwrap_err();
    let KeyError::Point {
        field: f,
        index: i,
        fault: found,
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((*f, *i, *found), (field, index, fault));
}

#[test]
fn a_key_reads_back_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.params");
    let key = key();
    fs::write(&path, params_of(&key)).unwrap();
    for check in [Check::Full, Check::Trusted] {
        assert_eq!(ProvingKey::open(&path, check).unwrap(), key);
    }
    let vk = VerifyingKey::from_bytes(&key.vk.to_bytes()).unwrap();
    assert_eq!(vk, key.vk);
    assert_eq!(
        vk.digest(),
        Digest::of(&params_of(&key)[..key.vk.to_bytes().len()])
    );
}

#[test]
fn a_file_that_is_absent_empty_or_a_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.params");
    let open = |path: &Path| ProvingKey::open(path, Check::Full).unwrap_err();
    assert!(matches!(open(&path), KeyError::Open { .. }));
    assert!(matches!(open(folder.path()), KeyError::Open { .. }));
    fs::write(&path, []).unwrap();
    assert!(matches!(
        open(&path),
        KeyError::Truncated {
            field: "alpha_g1",
            left: 0,
            ..
        }
    ));
}

#[test]
fn a_truncated_file_names_the_field_it_ends_in() {
    let key = key();
    let bytes = params_of(&key);
    for (name, offset, len, size) in lists(&key) {
        for end in [offset + 3, offset + 4 + len * size - 1] {
            let error = ProvingKey::decode(&bytes[..end], Check::Trusted).unwrap_err();
            assert!(
                matches!(error, KeyError::Truncated { field, .. } if field == name),
                "{error}"
            );
        }
    }
}

#[test]
fn a_padded_file_is_refused() {
    let bytes = [params_of(&key()), vec![0; 5]].concat();
    let error = ProvingKey::decode(&bytes, Check::Full).unwrap_err();
    assert!(matches!(error, KeyError::Trailing { bytes: 5 }));
    let vk = [key().vk.to_bytes(), vec![0]].concat();
    assert!(matches!(
        VerifyingKey::from_bytes(&vk),
        Err(KeyError::Trailing { bytes: 1 })
    ));
}

#[test]
fn a_length_that_lies_is_refused_before_anything_is_allocated() {
    let key = key();
    let bytes = params_of(&key);
    for (name, offset, _, size) in lists(&key) {
        for lie in [u32::MAX, 1 << 27] {
            let lying = put(&bytes, offset, &lie.to_be_bytes());
            let error = ProvingKey::decode(&lying, Check::Full).unwrap_err();
            let KeyError::Truncated { field, needed, .. } = error else {
                panic!("{error}")
            };
            assert_eq!((field, needed), (name, u64::from(lie) * size as u64));
        }
    }
}

#[test]
fn identity_is_refused_in_every_field() {
    let key = key();
    let bytes = params_of(&key);
    for (field, offset, size) in VK_POINTS {
        let changed = put(&bytes, offset, &identity(size));
        assert_point_fault(&changed, Check::Trusted, field, 0, PointFault::Identity);
    }
    for (field, offset, len, size) in lists(&key) {
        let changed = put(&bytes, offset + 4 + (len - 1) * size, &identity(size));
        assert_point_fault(
            &changed,
            Check::Trusted,
            field,
            len - 1,
            PointFault::Identity,
        );
    }
}

#[test]
fn points_off_the_curve_are_refused_in_every_field() {
    let key = key();
    let bytes = params_of(&key);
    for (field, offset, len, size) in lists(&key) {
        let point = offset + 4 + (len - 1) * size;
        let off = put(&bytes, point + size - 1, &[bytes[point + size - 1] ^ 1]);
        let zero = put(&bytes, point, &vec![0; size]);
        let above_modulus = put(&bytes, point, &[0x1f; 48]);
        for changed in [off, zero, above_modulus] {
            assert_point_fault(
                &changed,
                Check::Trusted,
                field,
                len - 1,
                PointFault::Encoding,
            );
        }
    }
}

#[test]
fn a_compressed_point_in_the_place_of_an_uncompressed_one_is_refused() {
    let key = key();
    let (field, offset, ..) = lists(&key)[2];
    let changed = put(
        &params_of(&key),
        offset + 4,
        &key.l_query[0].to_compressed(),
    );
    assert_point_fault(&changed, Check::Trusted, field, 0, PointFault::Encoding);
}

#[test]
fn points_outside_the_subgroup_are_refused_by_the_full_check() {
    let key = key();
    let bytes = params_of(&key);
    let outside = outside_subgroup().to_uncompressed();
    for (field, offset, len, size) in lists(&key).into_iter().filter(|list| list.3 == G1) {
        let changed = put(&bytes, offset + 4 + (len - 1) * size, &outside);
        assert_point_fault(&changed, Check::Full, field, len - 1, PointFault::Subgroup);
    }
    // The verifying key is never taken on trust, the queries are.
    let in_vk = put(&bytes, 0, &outside);
    assert_point_fault(&in_vk, Check::Trusted, "alpha_g1", 0, PointFault::Subgroup);
    let (_, h, ..) = lists(&key)[1];
    assert!(ProvingKey::decode(&put(&bytes, h + 4, &outside), Check::Trusted).is_ok());
}

#[test]
fn a_key_that_lets_anyone_forge_is_refused() {
    let bytes = params_of(&key());
    let delta = bytes[VK_POINTS[5].1..IC].to_vec();
    let forged = put(&bytes, VK_POINTS[3].1, &delta);
    for check in [Check::Full, Check::Trusted] {
        let error = ProvingKey::decode(&forged, check).unwrap_err();
        assert!(matches!(error, KeyError::GammaEqualsDelta), "{error}");
    }
}

#[test]
fn a_key_mixed_of_two_is_refused() {
    let bytes = params_of(&key());
    let other = params_of(&key_of(&shape(), 2));
    let (_, beta, size) = VK_POINTS[2];
    let mixed = put(&bytes, beta, &other[beta..beta + size]);
    let error = ProvingKey::decode(&mixed, Check::Full).unwrap_err();
    assert!(matches!(error, KeyError::Inconsistent), "{error}");
}

#[test]
fn flipped_bits_are_noticed() {
    let bytes = params_of(&key());
    for bit in (0..bytes.len() * 8).step_by(211) {
        let flipped = put(&bytes, bit / 8, &[bytes[bit / 8] ^ (1 << (bit % 8))]);
        assert!(
            ProvingKey::decode(&flipped, Check::Trusted).is_err(),
            "bit {bit}"
        );
    }
}

#[test]
fn a_key_of_another_circuit_does_not_fit_and_says_why() {
    let key = key();
    let shape = shape();
    key.fits(&shape).unwrap();
    for links in [2, 4] {
        let other = shape_of(Cubic { x: None, links });
        let error = key.fits(&other).unwrap_err();
        let text = error.to_string();
        let KeyError::DoesNotFit(mismatch) = error else {
            panic!("{text}")
        };
        assert_eq!((mismatch.key, mismatch.shape), (key.digest, other.digest));
        let l = CountMismatch {
            field: "l_query",
            key: key.l_query.len(),
            circuit: other.num_aux,
        };
        assert!(mismatch.counts.contains(&l));
        assert!(text.starts_with("key does not fit circuit"), "{text}");
        assert!(text.contains(&key.digest.to_string()) && text.contains(&other.digest.to_string()));
    }
}

#[test]
fn the_size_of_points_is_as_the_layout_says() {
    assert_eq!(uncompressed_bytes::<blstrs::G1Affine>(), G1);
    assert_eq!(uncompressed_bytes::<G2Affine>(), G2);
}
