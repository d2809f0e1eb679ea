//! Locks of writers, and what they leave.

use std::fs;

use tempfile::TempDir;

use super::{SegmentedIndexTest, check_files};

/// Asserts that an index has one writer at a time, and that no writer is created over an index or
/// foreign files.
///
/// # Panics
/// If a second writer is created or opened, or files are removed.
pub fn check_one_writer<T: SegmentedIndexTest>(test: &T) {
    let folder = TempDir::new().unwrap();
    let text = |folder: &TempDir, result: Result<T::Writer, T::Error>| {
        let name = folder.path().display().to_string();
        let error = result.err().expect("expected an error");
        error.to_string().replace(&name, "FOLDER")
    };
    let mut writer = test.create(folder.path()).unwrap();
    test.commit(&mut writer);
    let locked = "FOLDER: the index is locked by another writer; try again when it has ended";
    assert_eq!(text(&folder, test.open(folder.path())), locked);
    assert_eq!(text(&folder, test.create(folder.path())), locked);
    drop(writer);
    assert!(test.open(folder.path()).is_ok());
    assert_eq!(
        text(&folder, test.create(folder.path())),
        "FOLDER: contains an index already"
    );
    let foreign = TempDir::new().unwrap();
    fs::write(foreign.path().join("segment-7.ir"), "mine").unwrap();
    // The first attempt leaves no lock file, which would mark the file as left by a writer.
    for _ in 0..2 {
        assert_eq!(
            text(&foreign, test.create(foreign.path())),
            "FOLDER: expected a folder without files segment-N.ir and deleted-N.ir"
        );
        let bytes = fs::read(foreign.path().join("segment-7.ir"));
        assert_eq!(bytes.unwrap(), b"mine");
    }
    assert_eq!(fs::read_dir(foreign.path()).unwrap().count(), 1);
    let other = TempDir::new().unwrap();
    let none = text(&other, test.open(&other.path().join("none")));
    assert!(
        none.ends_with("manifest.ir: cannot read the index file"),
        "{none}"
    );
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
}

/// Asserts that a writer without a commit leaves nothing, also if it was killed.
///
/// # Panics
/// If files are left.
pub fn check_abandoned_writers<T: SegmentedIndexTest>(test: &T, content: &T::Content) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    let mut writer = test.create(&path).unwrap();
    test.put(&mut writer, "d1", content);
    test.put(&mut writer, "d2", content);
    drop(writer);
    assert!(!path.exists());
    // What a killed writer leaves.
    fs::create_dir(&path).unwrap();
    fs::write(path.join("writer.lock"), "").unwrap();
    fs::write(path.join("segment-0.ir"), "").unwrap();
    let mut writer = test.create(&path).unwrap();
    test.commit(&mut writer);
    test.check(&test.read(&path), &[]);
    check_files(test, &path);
    // Changes after the last commit.
    test.put(&mut writer, "d1", content);
    test.put(&mut writer, "d2", content);
    drop(writer);
    test.check(&test.read(&path), &[]);
    check_files(test, &path);
}

/// Asserts that no writer removes the segments of an index without its manifest.
///
/// # Panics
/// If one does.
pub fn check_lost_manifest<T: SegmentedIndexTest>(test: &T, content: &T::Content) {
    let folder = TempDir::new().unwrap();
    let mut writer = test.create(folder.path()).unwrap();
    test.put(&mut writer, "d1", content);
    test.commit(&mut writer);
    drop(writer);
    let manifest = folder.path().join("manifest.ir");
    let bytes = fs::read(&manifest).unwrap();
    for lock in ["committed\n", ""] {
        // If the lock file was emptied, the next writer records the index again.
        fs::write(folder.path().join("writer.lock"), lock).unwrap();
        drop(test.open(folder.path()).unwrap());
        fs::remove_file(&manifest).unwrap();
        for result in [test.open(folder.path()), test.create(folder.path())] {
            let error = result.err().expect("expected an error").to_string();
            assert!(
                error.starts_with(&manifest.display().to_string()),
                "{error}"
            );
        }
        fs::write(&manifest, &bytes).unwrap();
        test.check(
            &test.read(folder.path()),
            &[("d1".to_owned(), content.clone())],
        );
    }
}

/// Asserts that a writer, after its folder was removed, does not touch the index created there.
///
/// # Panics
/// If it does.
pub fn check_replaced_folder<T: SegmentedIndexTest>(test: &T, content: &T::Content) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    for has_commit in [false, true] {
        let mut old = test.create(&path).unwrap();
        if has_commit {
            test.commit(&mut old);
        }
        fs::remove_dir_all(&path).unwrap();
        let mut new = test.create(&path).unwrap();
        test.put(&mut new, "d1", content);
        test.commit(&mut new);
        drop(old);
        check_files(test, &path);
        test.check(&test.read(&path), &[("d1".to_owned(), content.clone())]);
        drop(new);
        fs::remove_dir_all(&path).unwrap();
    }
}
