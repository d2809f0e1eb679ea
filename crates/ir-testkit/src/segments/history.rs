//! Model-based test: random histories of writes beside an index built once from the live documents.

use std::fmt::Debug;
use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::{Model, SegmentedIndexTest, check_files, segment_files};

/// Step of a history of writes. Documents have numbers as ids.
#[derive(Debug, Clone)]
pub enum Step<C> {
    /// Adds or replaces a document.
    Put(u8, C),
    /// Deletes a document, if it exists.
    Delete(u8),
    /// Commits the changes since the last commit.
    Commit,
    /// Commits, and merges all segments.
    Compact,
    /// Drops the writer, and thereby the changes since the last commit, and opens another.
    Reopen,
}

/// Histories of up to 120 steps over 40 ids.
pub fn steps<C: Clone + Debug>(
    content: impl Strategy<Value = C>,
) -> impl Strategy<Value = Vec<Step<C>>> {
    let step = prop_oneof![
        12 => (0..40_u8, content).prop_map(|(id, content)| Step::Put(id, content)),
        4 => (0..40_u8).prop_map(Step::Delete),
        3 => Just(Step::Commit),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 0..120)
}

/// Asserts after every commit of a history that the index equals one built once, and after every
/// compaction that it is one segment with the bytes of that index.
///
/// # Panics
/// If it does not.
pub fn check_history<T: SegmentedIndexTest>(test: &T, steps: &[Step<T::Content>]) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    let mut writer = test.create(&path).unwrap();
    assert!(!ir_core::segments::exists(&path));
    test.commit(&mut writer);
    let (mut model, mut committed) = (Model::default(), Model::default());
    for step in steps.iter().chain([&Step::Commit, &Step::Compact]) {
        match step {
            Step::Put(id, content) => {
                let id = format!("d{id}");
                test.put(&mut writer, &id, content);
                model.put(id, content.clone());
            }
            Step::Delete(id) => {
                let id = format!("d{id}");
                assert_eq!(test.delete(&mut writer, &id), model.delete(&id));
            }
            Step::Commit => {
                test.commit(&mut writer);
                committed = model.clone();
            }
            Step::Compact => {
                test.compact(&mut writer);
                committed = model.clone();
                let segments = test.segments(&test.read(&path));
                assert_eq!(segments.len(), usize::from(!model.0.is_empty()));
                assert!(segments.iter().all(|segment| segment.deleted == 0));
                for file in segment_files(&path) {
                    assert!(fs::read(file).unwrap() == test.saved(&model.0));
                }
            }
            Step::Reopen => {
                drop(writer);
                model = committed.clone();
                writer = test.open(&path).unwrap();
            }
        }
        assert_eq!(test.len(&writer), model.0.len());
        if matches!(step, Step::Commit | Step::Compact | Step::Reopen) {
            test.check(&test.read(&path), &committed.0);
            check_files(test, &path);
        }
    }
}
