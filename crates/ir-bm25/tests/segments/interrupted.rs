//! Canceled and failed commits and merges leave the last commit, and no other files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ir_bm25::{
    Analysis, Bm25, BuildError, DocOrder, IndexConfig, IndexWriter, IndexWriterError,
    SegmentedIndex, StoredFields,
};
use ir_core::{Document, Flow, Progress, Ranking, Retriever, Search};
use ir_testkit::segments::{Model, SegmentedIndexTest, check_files, segment_files};
use tempfile::TempDir;

use crate::{Bm25Test, QUERIES, many, only_segment, put_all};

/// Cancels at one of the reports.
struct CancelAt {
    /// Number of reports before.
    left: usize,
    /// Stage of the canceled report.
    stage: String,
}

impl CancelAt {
    fn new(report: usize) -> Self {
        Self {
            left: report,
            stage: String::new(),
        }
    }
}

impl Progress for CancelAt {
    fn report(&mut self, stage: &str, _: u64, _: Option<u64>) -> Flow {
        if self.left == 0 {
            stage.clone_into(&mut self.stage);
            return Flow::Stop;
        }
        self.left -= 1;
        Flow::Continue
    }
}

/// Files of a folder and their content.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap_or_default())
    };
    entries.map(file).collect()
}

fn rankings(folder: &Path) -> Vec<Ranking> {
    let index = SegmentedIndex::open(folder).unwrap();
    index.verify().unwrap();
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let search = |query: &&str| searcher.search(query, &Search::top(20)).unwrap();
    QUERIES.iter().map(search).collect()
}

fn is_canceled(error: &IndexWriterError) -> bool {
    matches!(error, IndexWriterError::Build(BuildError::Canceled))
}

/// Asserts that every call of a writer returns an error, and that it keeps the lock.
fn check_abandoned(test: &Bm25Test, writer: &mut IndexWriter, folder: &Path) {
    let errors = [
        writer.put(&Document::new("d")).unwrap_err(),
        writer.delete("d").unwrap_err(),
        writer.commit().unwrap_err(),
        writer.compact().unwrap_err(),
    ];
    let is_abandoned = |error| matches!(error, &IndexWriterError::Build(BuildError::Abandoned));
    assert!(errors.iter().all(is_abandoned), "{errors:?}");
    let locked = test.open(folder).unwrap_err().to_string();
    assert!(locked.contains("locked by another writer"), "{locked}");
}

/// Segments whose sorted runs and postings are so large that a merge reports its progress while it
/// reads each of them, and between the batches that it writes.
fn large(segment: u32) -> impl Iterator<Item = (String, Document)> {
    let words = (0..200).map(move |n| {
        let word = |word: u32| format!("{:0>110} ", (segment * 200 + n) * 200 + word);
        let text: String = (0..200).map(word).collect();
        (format!("d{:03}", (n * 77) % 200 + 200 * segment), text)
    });
    let tea = format!("tea{segment}");
    let all = words.chain([(tea, "tea milk ".repeat(200_000))]);
    all.map(|(id, text)| (id, Document::default().with_text(text)))
}

#[test]
fn merges_canceled_at_every_report() {
    let folder = TempDir::new().unwrap();
    let config = IndexConfig::default()
        .with_analysis(Analysis::whitespace())
        .with_positions(true);
    let test = Bm25Test::new(config, 8);
    let mut model = Model::default();
    let mut writer = test.create(folder.path()).unwrap();
    for segment in 0..3 {
        put_all(&mut writer, &mut model, large(segment));
        writer.commit().unwrap();
    }
    for id in ["d000", "d250", "d599"] {
        assert!(writer.delete(id).unwrap() && model.delete(id));
    }
    writer.commit().unwrap();
    drop(writer);
    let (before, expected) = (contents(folder.path()), rankings(folder.path()));
    assert_eq!(segment_files(folder.path()).len(), 3);
    let mut stages = Vec::new();
    for report in 0.. {
        let mut writer = test.open(folder.path()).unwrap();
        let mut progress = CancelAt::new(report);
        let Err(error) = writer.compact_with(&mut progress) else {
            break;
        };
        assert!(is_canceled(&error), "{error}");
        stages.push(progress.stage);
        // Also while the writer exists.
        assert!(contents(folder.path()) == before, "report {report}");
        assert_eq!(rankings(folder.path()), expected, "report {report}");
        check_abandoned(&test, &mut writer, folder.path());
        drop(writer);
        assert!(contents(folder.path()) == before, "report {report}");
    }
    let [merging, writing] =
        ["merging", "writing"].map(|stage| stages.iter().filter(|found| *found == stage).count());
    assert!(merging >= 3 && writing >= 2, "{stages:?}");
    // The last merge was not canceled.
    check_files(&test, folder.path());
    assert_eq!(rankings(folder.path()), expected);
    assert!(only_segment(folder.path()) == test.saved(&model.0));
}

/// Writes after which a commit rewrites three segments and merges four.
fn change(writer: &mut IndexWriter, model: &mut Model<Document>) {
    for n in 0..3 {
        for (id, _) in many(70, 200 * n) {
            writer.delete(&id).unwrap();
            model.delete(&id);
        }
    }
    put_all(writer, model, many(150, 500));
}

fn copy(from: &Path) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in contents(from) {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

#[test]
fn commits_canceled_at_every_report() {
    for order in [DocOrder::Id, DocOrder::Insertion] {
        let config = IndexConfig::default()
            .with_order(order)
            .with_store(StoredFields::Everything);
        let base = TempDir::new().unwrap();
        let mut before = Model::default();
        let mut writer = IndexWriter::create(base.path(), config.clone()).unwrap();
        for n in 0..3 {
            put_all(&mut writer, &mut before, many(200, 200 * n));
            writer.commit().unwrap();
        }
        drop(writer);
        let test = Bm25Test::new(config, 2);
        let (mut uncommitted, mut committed) = (0, 0);
        for report in 0.. {
            let folder = copy(base.path());
            let manifest = || fs::read(folder.path().join("manifest.ir")).unwrap();
            let old = manifest();
            // With threads, analyzed documents are reported, too.
            let mut writer = test.open(folder.path()).unwrap().with_threads(2);
            let mut after = before.clone();
            change(&mut writer, &mut after);
            let mut progress = CancelAt::new(report);
            let Err(error) = writer.commit_with(&mut progress) else {
                break;
            };
            assert!(is_canceled(&error), "{error}");
            check_abandoned(&test, &mut writer, folder.path());
            // A merge comes after the commit of the changes.
            let is_committed = manifest() != old;
            let expected = if is_committed { &after } else { &before };
            committed += usize::from(is_committed);
            uncommitted += usize::from(!is_committed);
            test.check(&test.read(folder.path()), &expected.0);
            drop(writer);
            check_files(&test, folder.path());
            test.check(&test.read(folder.path()), &expected.0);
            // The next writer goes on.
            let mut writer = test.open(folder.path()).unwrap();
            assert_eq!(writer.len(), expected.0.len());
            change(&mut writer, &mut after);
            writer.commit().unwrap();
            test.check(&test.read(folder.path()), &after.0);
            check_files(&test, folder.path());
            writer.compact().unwrap();
            assert!(only_segment(folder.path()) == test.saved(&after.0));
        }
        assert!(
            uncommitted >= 2 && committed >= 4,
            "{uncommitted} before the commit, {committed} after"
        );
    }
}

#[test]
fn a_merge_whose_file_cannot_be_written() {
    let test = Bm25Test::new(IndexConfig::default(), 8);
    let folder = TempDir::new().unwrap();
    let mut writer = test.create(folder.path()).unwrap();
    let mut model = Model::default();
    for n in 0..3 {
        put_all(&mut writer, &mut model, many(50, 50 * n));
        writer.commit().unwrap();
    }
    // Folders in place of the next files.
    let blocked = [3, 4, 5].map(|n| folder.path().join(format!("segment-{n}.ir")));
    blocked
        .iter()
        .for_each(|path| fs::create_dir(path).unwrap());
    let error = writer.compact().unwrap_err().to_string();
    assert!(error.contains("segment-3.ir"), "{error}");
    check_abandoned(&test, &mut writer, folder.path());
    drop(writer);
    blocked
        .iter()
        .for_each(|path| fs::remove_dir(path).unwrap());
    check_files(&test, folder.path());
    test.check(&test.read(folder.path()), &model.0);
    let mut writer = test.open(folder.path()).unwrap();
    writer.compact().unwrap();
    check_files(&test, folder.path());
    test.check(&test.read(folder.path()), &model.0);
}

/// A merge verifies what it reads: damage does not get a new checksum.
#[test]
fn merges_of_damaged_segments() {
    for positions in [false, true] {
        let config = IndexConfig::default()
            .with_positions(positions)
            .with_store(StoredFields::Everything);
        let test = Bm25Test::new(config, 8);
        let base = TempDir::new().unwrap();
        let mut writer = test.create(base.path()).unwrap();
        let mut model = Model::default();
        for n in 0..2 {
            put_all(&mut writer, &mut model, many(200, 200 * n));
            writer.commit().unwrap();
        }
        drop(writer);
        let expected = test.saved(&model.0);
        let bytes = fs::read(base.path().join("segment-1.ir")).unwrap();
        let (mut errors, mut padding) = (0, 0);
        for at in (64..bytes.len()).step_by(53) {
            let folder = copy(base.path());
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x11;
            fs::write(folder.path().join("segment-1.ir"), &damaged).unwrap();
            let before = contents(folder.path());
            let opened = test.open(folder.path());
            match opened.and_then(|mut writer| writer.compact()) {
                Ok(()) => {
                    // Not read: padding after a section.
                    assert!(only_segment(folder.path()) == expected, "byte {at}");
                    padding += 1;
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("segment-1.ir: "), "byte {at}: {text}");
                    assert!(contents(folder.path()) == before, "byte {at}");
                    errors += 1;
                }
            }
        }
        assert!(errors >= 100 && padding <= 5, "{errors}, {padding}");
    }
}

/// A merge that fails after a commit has an error of its own: the changes are there.
#[test]
fn a_failed_merge_leaves_the_commit() {
    let folder = TempDir::new().unwrap();
    let mut writer = IndexWriter::create(folder.path(), IndexConfig::default())
        .unwrap()
        .with_merge_factor(2);
    writer.put(&Document::new("a").with_text("tea")).unwrap();
    writer.commit().unwrap();
    writer.put(&Document::new("b").with_text("tea")).unwrap();
    // In place of the merged segment, after those of the two commits.
    let merged = folder.path().join("segment-2.ir");
    fs::create_dir_all(merged.join("full")).unwrap();
    let error = writer.commit().unwrap_err();
    assert!(matches!(error, IndexWriterError::Merge(_)), "{error}");
    drop(writer);
    assert_eq!(SegmentedIndex::open(folder.path()).unwrap().ids().len(), 2);
    fs::remove_dir_all(&merged).unwrap();
    let mut writer = IndexWriter::open(folder.path())
        .unwrap()
        .with_merge_factor(2);
    writer.put(&Document::new("c").with_text("tea")).unwrap();
    writer.commit().unwrap();
    assert_eq!(writer.segments().len(), 1);
    assert_eq!(writer.len(), 3);
}
