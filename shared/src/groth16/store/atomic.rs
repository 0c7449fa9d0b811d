//! Files that appear complete or not at all, even if the machine stops.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use uuid::Uuid;

/// Writes a file under a temporary name beside its own, forces it to disk, and renames it. Makes the folder if need be.
pub(super) fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    // Several processes may write the same file at once: each its own, and the last rename wins.
    let name = name.to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}.tmp", Uuid::now_v7().simple()));
    let written = write_and_sync(&temporary, write).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        // The file may not exist; the first error is the one that matters.
        fs::remove_file(&temporary).ok();
        return Err(error);
    }
    // The rename itself is durable only when the folder is.
    File::open(folder)?.sync_all()
}

fn write_and_sync(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    write(&mut file)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_file_takes_the_place_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("file");
        for content in ["one", "two"] {
            write_atomically(&path, |file| file.write_all(content.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(names(path.parent().unwrap()), ["file"]);
    }

    #[test]
    fn a_write_that_fails_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_atomically(&path, |file| file.write_all(b"whole")).unwrap();
        let failed = write_atomically(&path, |file| {
            file.write_all(b"ha")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(names(folder.path()), ["file"]);
    }
}
