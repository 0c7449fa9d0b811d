use tempfile::TempDir;

use super::super::circuits::{Cubic, key_of, outside_subgroup, params_of, shape_of};
use super::super::{KeyError, PointFault};
use super::*;

fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("home"));
    (folder, store)
}

fn shape() -> Shape {
    shape_of(Cubic { x: None, links: 3 })
}

/// A params file whose queries pass the quick check and not the full one.
fn params_with_point_outside_subgroup(key: &ProvingKey) -> Vec<u8> {
    let mut params = params_of(key);
    let h_query = key.vk.to_bytes().len() + 4;
    params[h_query..h_query + 96].copy_from_slice(&outside_subgroup().to_uncompressed());
    params
}

fn is_subgroup_fault(error: &StoreError) -> bool {
    let StoreError::Key { source, .. } = error else {
        return false;
    };
    matches!(
        source,
        KeyError::Point {
            field: "h_query",
            index: 0,
            fault: PointFault::Subgroup
        }
    )
}

#[test]
fn what_was_put_comes_back() {
    let (_folder, store) = store();
    let shape = shape();
    let key = key_of(&shape, 1);
    store.put_shape(&shape).unwrap();
    store.put_key(shape.digest, &key).unwrap();
    assert_eq!(store.shape(shape.digest).unwrap(), shape);
    assert_eq!(store.open_key(shape.digest).unwrap(), key);
    assert_eq!(
        fs::read(store.key_path(shape.digest)).unwrap(),
        params_of(&key)
    );
}

#[test]
fn what_is_missing_is_named_with_the_command_that_makes_it() {
    let (_folder, store) = store();
    let digest = shape().digest;
    let error = store.open_key(digest).unwrap_err();
    assert!(matches!(error, StoreError::MissingKey { shape } if shape == digest));
    let text = error.to_string();
    assert!(text.contains(&digest.to_string()), "{text}");
    assert!(text.contains("proofmill params generate CIRCUIT"), "{text}");
    assert!(matches!(
        store.shape(digest),
        Err(StoreError::MissingShape { .. })
    ));
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn a_key_laid_into_the_folder_is_checked_in_full_once() {
    let (_folder, store) = store();
    let shape = shape();
    let key = key_of(&shape, 1);
    let path = store.key_path(shape.digest);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // A bad one is refused, each time.
    let bad = params_with_point_outside_subgroup(&key);
    fs::write(&path, &bad).unwrap();
    for _ in 0..2 {
        assert!(is_subgroup_fault(
            &store.open_key(shape.digest).unwrap_err()
        ));
    }
    assert_eq!(store.list().unwrap()[0].checked_key, None);
    // A good one is marked by its digest.
    fs::write(&path, params_of(&key)).unwrap();
    assert_eq!(store.open_key(shape.digest).unwrap(), key);
    assert_eq!(store.list().unwrap()[0].checked_key, Some(key.digest));
    // The mark is not good for another file.
    fs::write(&path, &bad).unwrap();
    assert!(is_subgroup_fault(
        &store.open_key(shape.digest).unwrap_err()
    ));
}

#[test]
fn a_marked_key_is_not_checked_in_full_again() {
    let (_folder, store) = store();
    let shape = shape();
    let key = key_of(&shape, 1);
    store.put_key(shape.digest, &key).unwrap();
    // Only a mark for just this file can let a point outside the subgroup pass.
    let bad = params_with_point_outside_subgroup(&key);
    fs::write(store.key_path(shape.digest), &bad).unwrap();
    fs::write(
        store.marker_path(shape.digest),
        Digest::of(&bad).to_string(),
    )
    .unwrap();
    assert_eq!(
        store.open_key(shape.digest).unwrap().digest,
        Digest::of(&bad)
    );
}

#[test]
fn a_damaged_marker_means_another_full_check() {
    let (_folder, store) = store();
    let shape = shape();
    let key = key_of(&shape, 1);
    store.put_key(shape.digest, &key).unwrap();
    fs::write(store.marker_path(shape.digest), [0xff, 0xfe]).unwrap();
    assert_eq!(store.open_key(shape.digest).unwrap(), key);
    assert_eq!(store.list().unwrap()[0].checked_key, Some(key.digest));
}

#[test]
fn a_key_altered_after_its_digest_is_not_kept() {
    let (_folder, store) = store();
    let shape = shape();
    let mut key = key_of(&shape, 1);
    key.l_query.swap(0, 1);
    let error = store.put_key(shape.digest, &key).unwrap_err();
    let StoreError::Io { source, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(source.kind(), io::ErrorKind::InvalidData);
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn damaged_and_misnamed_shapes_are_refused() {
    let (_folder, store) = store();
    let shape = shape();
    let path = store.put_shape(&shape).unwrap();
    let other = shape_of(Cubic { x: None, links: 4 });
    fs::write(&path, other.encode()).unwrap();
    let error = store.shape(shape.digest).unwrap_err();
    assert!(matches!(error, StoreError::Misnamed { found, .. } if found == other.digest));
    fs::write(&path, &shape.encode()[1..]).unwrap();
    assert!(matches!(
        store.shape(shape.digest),
        Err(StoreError::Shape { .. })
    ));
}

#[test]
fn the_list_names_what_is_there_and_leaves_out_what_is_not_ours() {
    let (_folder, store) = store();
    let (one, two) = (shape(), shape_of(Cubic { x: None, links: 4 }));
    let key = key_of(&one, 1);
    store.put_shape(&one).unwrap();
    store.put_key(one.digest, &key).unwrap();
    store.put_shape(&two).unwrap();
    fs::write(store.home().join("keys").join("notes.params"), "hello").unwrap();
    fs::write(store.home().join("keys").join(".x.params.tmp"), "half").unwrap();
    let mut expected = vec![
        StoreEntry {
            shape: one.digest,
            shape_bytes: Some(one.encode().len() as u64),
            key_bytes: Some(params_of(&key).len() as u64),
            checked_key: Some(key.digest),
        },
        StoreEntry {
            shape: two.digest,
            shape_bytes: Some(two.encode().len() as u64),
            key_bytes: None,
            checked_key: None,
        },
    ];
    expected.sort_by_key(|entry| entry.shape);
    assert_eq!(store.list().unwrap(), expected);
}
