//! Readers keep the commit that they opened while a writer commits and merges.

use std::fs;

use tempfile::TempDir;

use super::SegmentedIndexTest;

/// Asserts that readers keep their commit after later ones, and after the folder was removed.
///
/// # Panics
/// If they do not.
pub fn check_readers_keep_their_commit<T: SegmentedIndexTest>(test: &T, content: &T::Content) {
    let folder = TempDir::new().unwrap();
    let mut writer = test.create(folder.path()).unwrap();
    let mut readers = Vec::new();
    for n in 0..30 {
        test.put(&mut writer, &format!("d{n}"), content);
        if n > 0 {
            assert!(test.delete(&mut writer, &format!("d{}", n - 1)));
        }
        test.commit(&mut writer);
        readers.push(test.read(folder.path()));
    }
    drop(writer);
    fs::remove_dir_all(folder.path()).unwrap();
    for (n, reader) in readers.iter().enumerate() {
        test.check(reader, &[(format!("d{n}"), content.clone())]);
    }
}

/// Asserts that a reader can be opened at any moment of commits and merges, and sees commits in
/// their order.
///
/// # Panics
/// If it cannot, or does not.
pub fn check_readers_during_commits<T: SegmentedIndexTest>(test: &T, content: &T::Content) {
    let folder = TempDir::new().unwrap();
    let mut writer = test.create(folder.path()).unwrap();
    test.commit(&mut writer);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = 0;
            while last < 60 {
                let found = test.ids(&test.read(folder.path())).len();
                assert!(found >= last, "expected {last} documents, found {found}");
                last = found;
            }
        });
        for n in 0..60 {
            test.put(&mut writer, &format!("d{n}"), content);
            test.commit(&mut writer);
        }
        reader.join().unwrap();
    });
}
