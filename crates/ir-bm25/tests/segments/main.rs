//! Segmented indexes: any history of writes equals an index built once from the documents that are
//! left.

#![allow(clippy::unwrap_used)]

mod contract;
mod damage;
mod interrupted;

use std::fs;
use std::path::Path;

use ir_bm25::{
    BlankDocs, Bm25, BuildError, DocLengths, DocOrder, DuplicateIds, Index, IndexConfig,
    IndexWriter, IndexWriterError, IndexedFields, Pruning, PutOutcome, SegmentedIndex,
    StoredFields,
};
use ir_core::segments::SegmentStats;
use ir_core::{DocIds, DocNum, DocSet, Document, NoProgress, Predicate, Retriever, Search};
use ir_testkit::segments::{
    Model, SegmentedIndexTest, check_abandoned_writers, check_history, check_killed_writers,
    check_lost_manifest, check_one_writer, check_readers_during_commits,
    check_readers_keep_their_commit, check_replaced_folder, segment_files, steps,
};
use proptest::prelude::*;
use tempfile::TempDir;

const QUERIES: [&str; 5] = [
    "tea",
    "milk tea leaf",
    "tea tea water nowhere",
    "salt",
    "a b c d e f g h i j k l m n o p q r tea water",
];

/// A document without its id.
fn content() -> impl Strategy<Value = Document> {
    let words = prop::collection::vec(0..8_u8, 0..12);
    let year = prop::option::of(1990..1995_i64);
    (words, year).prop_map(|(words, year)| document(&words, year))
}

fn document(words: &[u8], year: Option<i64>) -> Document {
    let word = |&n: &u8| ["tea", "milk", "leaf", "water", "salt", "a", "q", "hot"][usize::from(n)];
    let (title, rest) = words.split_at(words.len() / 3);
    let text = |words: &[u8]| words.iter().map(word).collect::<Vec<_>>().join(" ");
    let document = Document::default()
        .with_title(text(title))
        .with_text(text(rest));
    match year {
        Some(year) => document.with("year", year),
        None => document,
    }
}

/// Document with an id.
fn with_id(id: &str, content: &Document) -> Document {
    let mut document = content.clone();
    id.clone_into(&mut document.id);
    document
}

/// Writers and readers of an index of this configuration.
struct Bm25Test {
    config: IndexConfig,
    merge_factor: usize,
}

impl Bm25Test {
    fn new(config: IndexConfig, merge_factor: usize) -> Self {
        Self {
            config,
            merge_factor,
        }
    }

    fn set_up(&self, writer: IndexWriter) -> IndexWriter {
        writer.with_merge_factor(self.merge_factor).with_threads(1)
    }

    fn build(&self, documents: &[(String, Document)]) -> Index {
        let documents = documents.iter();
        let documents: Vec<Document> = documents.map(|(id, one)| with_id(id, one)).collect();
        Index::build(&documents, &self.config, &mut NoProgress).unwrap()
    }
}

/// Puts documents in an index, and in the model of what it has.
fn put_all(
    writer: &mut IndexWriter,
    model: &mut Model<Document>,
    documents: impl IntoIterator<Item = (String, Document)>,
) {
    for (id, content) in documents {
        writer.put(&with_id(&id, &content)).unwrap();
        model.put(id, content);
    }
}

/// Bytes of the only segment of an index.
fn only_segment(folder: &Path) -> Vec<u8> {
    let [file] = &*segment_files(folder) else {
        panic!("expected one segment");
    };
    fs::read(file).unwrap()
}

impl SegmentedIndexTest for Bm25Test {
    type Content = Document;
    type Writer = IndexWriter;
    type Reader = SegmentedIndex;
    type Error = IndexWriterError;

    fn create(&self, folder: &Path) -> Result<IndexWriter, IndexWriterError> {
        Ok(self.set_up(IndexWriter::create(folder, self.config.clone())?))
    }

    fn open(&self, folder: &Path) -> Result<IndexWriter, IndexWriterError> {
        Ok(self.set_up(IndexWriter::open(folder)?))
    }

    fn put(&self, writer: &mut IndexWriter, id: &str, content: &Document) {
        writer.put(&with_id(id, content)).unwrap();
    }

    fn delete(&self, writer: &mut IndexWriter, id: &str) -> bool {
        writer.delete(id).unwrap()
    }

    fn commit(&self, writer: &mut IndexWriter) {
        writer.commit().unwrap();
    }

    fn compact(&self, writer: &mut IndexWriter) {
        writer.compact().unwrap();
    }

    fn len(&self, writer: &IndexWriter) -> usize {
        writer.len()
    }

    fn read(&self, folder: &Path) -> SegmentedIndex {
        SegmentedIndex::open(folder).unwrap()
    }

    fn ids<'r>(&self, reader: &'r SegmentedIndex) -> &'r DocIds {
        reader.ids()
    }

    fn segments(&self, reader: &SegmentedIndex) -> Vec<SegmentStats> {
        reader.segments().collect()
    }

    fn check(&self, index: &SegmentedIndex, documents: &[(String, Document)]) {
        let expected = self.build(documents);
        index.verify().unwrap();
        assert_eq!(index.ids(), expected.ids());
        assert_eq!(index.years(), *expected.years());
        let even = |doc: DocNum| doc.get().is_multiple_of(2);
        let mut searches: Vec<Search<'_>> = Vec::new();
        let mut selected = DocSet::new();
        if self.config.store == StoredFields::Everything {
            for doc in (0..index.len() as u32).map(DocNum::new) {
                assert_eq!(
                    index.document(doc).unwrap(),
                    expected.document(doc).unwrap()
                );
            }
            let recent = Predicate::AtLeast {
                name: "year".into(),
                limit: 1992.into(),
                strict: false,
            };
            selected = index.select(&recent).unwrap();
            let expected = expected.select(&recent).unwrap();
            assert!(selected.iter().eq(expected.iter()));
        }
        for k in [1, 3, 100] {
            searches.push(Search::top(k));
            searches.push(Search::top(k).within(&even));
            searches.push(Search::top(k).within(&selected));
        }
        for bm25 in [
            Bm25::ANSERINI,
            Bm25::new(1.5, 0.8).with_lengths(DocLengths::Exact),
        ] {
            let searcher = index.searcher(bm25).unwrap();
            let columns = searcher.clone().with_pruning(Pruning::Columns);
            let expected = expected.searcher(bm25).unwrap();
            let expected = expected.with_pruning(Pruning::Exhaustive);
            for query in QUERIES {
                for search in &searches {
                    let expected = expected.search(query, search).unwrap();
                    assert_eq!(searcher.search(query, search).unwrap(), expected, "{query}");
                    // The second search finds the columns in the cache.
                    for _ in 0..2 {
                        assert_eq!(columns.search(query, search).unwrap(), expected, "{query}");
                    }
                }
                for hit in &searcher.search(query, &Search::top(2)).unwrap() {
                    let why = searcher.explain(query, hit.doc, &Search::top(2)).unwrap();
                    let same = expected.explain(query, hit.doc, &Search::top(2)).unwrap();
                    assert_eq!(why, same);
                    assert_eq!(why.unwrap().score(), hit.score);
                }
            }
        }
    }

    fn saved(&self, documents: &[(String, Document)]) -> Vec<u8> {
        self.build(documents).as_bytes().to_vec()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_history_equals_an_index_built_once(
        steps in steps(content()),
        merge_factor in 2..5_usize,
        by_id: bool,
        separate: bool,
    ) {
        let order = if by_id { DocOrder::Id } else { DocOrder::Insertion };
        let fields = if separate { IndexedFields::Separate } else { IndexedFields::One };
        let config = IndexConfig::default()
            .with_order(order)
            .with_fields(fields)
            .with_store(StoredFields::Everything);
        check_history(&Bm25Test::new(config, merge_factor), &steps);
    }
}

/// Writers of the default configuration.
fn default_test(merge_factor: usize) -> Bm25Test {
    Bm25Test::new(IndexConfig::default(), merge_factor)
}

#[test]
fn killed_writers() {
    check_killed_writers(&default_test(3), "killed_writers", |id, commit| {
        let text = format!("tea {} {}", "milk ".repeat(id as usize % 4), commit % 5);
        Document::default().with_text(text)
    });
}

#[test]
fn readers_and_writers() {
    let tea = Document::default().with_text("tea");
    for merge_factor in [2, 8] {
        let test = default_test(merge_factor);
        check_readers_keep_their_commit(&test, &tea);
        check_readers_during_commits(&test, &tea);
        check_one_writer(&test);
        check_abandoned_writers(&test, &tea);
        check_lost_manifest(&test, &tea);
        check_replaced_folder(&test, &tea);
    }
}

/// Posting lists with full blocks, over several segments.
fn many(n: u32, first: u32) -> impl Iterator<Item = (String, Document)> {
    (first..first + n).map(|n| {
        let text = "tea ".repeat(1 + n as usize % 5) + ["milk", "water", "salt"][n as usize % 3];
        let content = Document::default()
            .with_text(text)
            .with("year", 1990 + i64::from(n % 9));
        (format!("d{:04}", n * 7919 % 10_000), content)
    })
}

#[test]
fn a_compacted_index_has_the_bytes_of_one_built_once() {
    for order in [DocOrder::Id, DocOrder::Insertion] {
        let folder = TempDir::new().unwrap();
        let config = IndexConfig::default()
            .with_order(order)
            .with_store(StoredFields::Everything);
        let test = Bm25Test::new(config.clone(), 8);
        // A budget that spills.
        let mut writer = IndexWriter::create(folder.path(), config)
            .unwrap()
            .with_memory(1 << 10);
        let mut model = Model::default();
        for batch in 0..10 {
            put_all(&mut writer, &mut model, many(300, batch * 200));
            for (id, _) in many(20, batch * 100) {
                assert_eq!(writer.delete(&id).unwrap(), model.delete(&id));
            }
            writer.commit().unwrap();
            test.check(&test.read(folder.path()), &model.0);
        }
        let merged = SegmentedIndex::open(folder.path()).unwrap();
        assert!(merged.segments().len() < 10);
        writer.compact().unwrap();
        assert!(only_segment(folder.path()) == test.saved(&model.0));
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 3, "manifest, lock and one segment");
    }
}

#[test]
fn duplicate_ids_are_an_error() {
    let folder = TempDir::new().unwrap();
    let config = IndexConfig::default().with_duplicates(DuplicateIds::Keep);
    assert!(matches!(
        IndexWriter::create(folder.path(), config),
        Err(IndexWriterError::DuplicateIds)
    ));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn blank_documents_replace_and_are_dropped() {
    let folder = TempDir::new().unwrap();
    let config = IndexConfig::default().with_blank(BlankDocs::Drop);
    let mut writer = IndexWriter::create(folder.path(), config).unwrap();
    let tea = Document::new("d1").with_text("tea");
    assert_eq!(writer.put(&tea).unwrap(), PutOutcome::Written);
    assert_eq!(writer.put(&tea).unwrap(), PutOutcome::Rewritten);
    let blank = Document::new("d1");
    assert_eq!(writer.put(&blank).unwrap(), PutOutcome::Deleted);
    assert_eq!(writer.put(&blank).unwrap(), PutOutcome::Dropped);
    assert!(writer.is_empty());
    writer.commit().unwrap();
    assert!(SegmentedIndex::open(folder.path()).unwrap().is_empty());
    writer.put(&tea).unwrap();
    writer.commit().unwrap();
    assert_eq!(writer.put(&blank).unwrap(), PutOutcome::Deleted);
    assert_eq!(writer.put(&blank).unwrap(), PutOutcome::Dropped);
    writer.commit().unwrap();
    assert!(SegmentedIndex::open(folder.path()).unwrap().is_empty());
    assert!(!writer.delete("d1").unwrap());
}

#[test]
fn an_error_leaves_the_last_commit() {
    let folder = TempDir::new().unwrap();
    let config = IndexConfig::default().with_store(StoredFields::Everything);
    let mut writer = IndexWriter::create(folder.path(), config).unwrap();
    writer.put(&Document::new("d1").with_text("tea")).unwrap();
    writer.commit().unwrap();
    writer
        .put(&Document::new("d2").with("score", f64::NAN))
        .unwrap();
    let error = writer.commit().unwrap_err();
    assert!(
        matches!(error, IndexWriterError::Build(BuildError::NotFinite { .. })),
        "{error}"
    );
    let after = writer.put(&Document::new("d3")).unwrap_err();
    assert!(matches!(
        after,
        IndexWriterError::Build(BuildError::Abandoned)
    ));
    drop(writer);
    assert_eq!(SegmentedIndex::open(folder.path()).unwrap().len(), 1);
    assert_eq!(IndexWriter::open(folder.path()).unwrap().len(), 1);
}
