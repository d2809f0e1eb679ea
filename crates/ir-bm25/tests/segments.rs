//! Segmented indexes: any history of writes equals an index built once from the documents that are
//! left.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use ir_bm25::{
    BlankDocs, Bm25, BuildError, DocLengths, DocOrder, DuplicateIds, Index, IndexConfig,
    IndexWriter, IndexWriterError, IndexedFields, PutOutcome, SegmentedIndex, StoredFields,
};
use ir_core::segments::SegmentsError;
use ir_core::store::OpenIndexError;
use ir_core::{DocNum, Document, NoProgress, Predicate, Retriever, Search};
use proptest::prelude::*;
use tempfile::TempDir;

const QUERIES: [&str; 5] = [
    "tea",
    "milk tea leaf",
    "tea tea water nowhere",
    "salt",
    "a b c d e f g h i j k l m n o p q r tea water",
];

#[derive(Debug, Clone)]
enum Step {
    Put(u8, Vec<u8>, Option<i64>),
    Delete(u8),
    Commit,
    Compact,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let words = prop::collection::vec(0..8_u8, 0..12);
    let year = prop::option::of(1990..1995_i64);
    prop_oneof![
        12 => (0..40_u8, words, year).prop_map(|(id, words, year)| Step::Put(id, words, year)),
        4 => (0..40_u8).prop_map(Step::Delete),
        3 => Just(Step::Commit),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

fn document(id: u8, words: &[u8], year: Option<i64>) -> Document {
    let word = |&n: &u8| ["tea", "milk", "leaf", "water", "salt", "a", "q", "hot"][usize::from(n)];
    let (title, rest) = words.split_at(words.len() / 3);
    let text = |words: &[u8]| words.iter().map(word).collect::<Vec<_>>().join(" ");
    let document = Document::new(format!("d{id}"))
        .with_title(text(title))
        .with_text(text(rest));
    match year {
        Some(year) => document.with("year", year),
        None => document,
    }
}

/// The documents that are left, in the order of their last writes.
#[derive(Default, Clone)]
struct Model(Vec<Document>);

impl Model {
    fn put(&mut self, document: Document) {
        self.delete(&document.id.clone());
        self.0.push(document);
    }

    fn delete(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|document| document.id != id);
        self.0.len() < before
    }
}

fn check(folder: &Path, model: &Model, config: &IndexConfig) {
    let index = SegmentedIndex::open(folder).unwrap();
    let expected = Index::build(&model.0, config, &mut NoProgress).unwrap();
    assert_eq!(index.ids(), expected.ids());
    assert_eq!(index.years(), *expected.years());
    for doc in (0..index.len() as u32).map(DocNum::new) {
        assert_eq!(
            index.document(doc).unwrap(),
            expected.document(doc).unwrap()
        );
    }
    let recent = Predicate::AtLeast {
        name: "year".into(),
        limit: 1992.0,
    };
    let selected = index.select(&recent).unwrap();
    let expected_selected = expected.select(&recent).unwrap();
    assert!(selected.iter().eq(expected_selected.iter()));
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    for bm25 in [
        Bm25::ANSERINI,
        Bm25::new(1.5, 0.8).with_lengths(DocLengths::Exact),
    ] {
        let searcher = index.searcher(bm25).unwrap();
        let expected = expected.searcher(bm25).unwrap();
        for query in QUERIES {
            for k in [1, 3, 100] {
                for how in [
                    Search::top(k),
                    Search::top(k).within(&even),
                    Search::top(k).within(&selected),
                ] {
                    let found = searcher.search(query, &how).unwrap();
                    assert_eq!(found, expected.search(query, &how).unwrap(), "{query}");
                }
            }
            for hit in &searcher.search(query, &Search::top(2)).unwrap() {
                let why = searcher.explain(query, hit.doc).unwrap();
                assert_eq!(why, expected.explain(query, hit.doc).unwrap());
                assert_eq!(why.value, hit.score);
            }
        }
    }
}

fn run(config: &IndexConfig, steps: &[Step], merge_factor: usize) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    let open = |writer: IndexWriter| writer.with_merge_factor(merge_factor).with_threads(1);
    let mut writer = open(IndexWriter::create(&path, config.clone()).unwrap());
    assert!(!SegmentedIndex::exists(&path));
    writer.commit().unwrap();
    let (mut model, mut committed) = (Model::default(), Model::default());
    for step in steps.iter().chain([&Step::Commit, &Step::Compact]) {
        match step {
            Step::Put(id, words, year) => {
                let document = document(*id, words, *year);
                writer.put(&document).unwrap();
                model.put(document);
            }
            Step::Delete(id) => {
                let id = format!("d{id}");
                assert_eq!(writer.delete(&id).unwrap(), model.delete(&id));
            }
            Step::Commit => {
                writer.commit().unwrap();
                committed = model.clone();
            }
            Step::Compact => {
                writer.compact().unwrap();
                committed = model.clone();
                let index = SegmentedIndex::open(&path).unwrap();
                assert!(index.segments().len() <= 1);
                assert!(index.segments().all(|segment| segment.deleted == 0));
            }
            Step::Reopen => {
                drop(writer);
                model = committed.clone();
                writer = open(IndexWriter::open(&path).unwrap());
            }
        }
        assert_eq!(writer.len(), model.0.len());
        if matches!(step, Step::Commit | Step::Compact | Step::Reopen) {
            check(&path, &committed, config);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_history_equals_an_index_built_once(
        steps in prop::collection::vec(step(), 0..120),
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
        run(&config, &steps, merge_factor);
    }
}

/// Posting lists with full blocks, over several segments.
fn many(n: u32, first: u32) -> impl Iterator<Item = Document> {
    (first..first + n).map(|n| {
        let text = "tea ".repeat(1 + n as usize % 5) + ["milk", "water", "salt"][n as usize % 3];
        Document::new(format!("d{:04}", n * 7919 % 10_000))
            .with_text(text)
            .with("year", 1990 + i64::from(n % 9))
    })
}

#[test]
fn a_compacted_index_has_the_bytes_of_one_built_once() {
    for order in [DocOrder::Id, DocOrder::Insertion] {
        let folder = TempDir::new().unwrap();
        let config = IndexConfig::default()
            .with_order(order)
            .with_store(StoredFields::Everything);
        // A budget that spills.
        let mut writer = IndexWriter::create(folder.path(), config.clone())
            .unwrap()
            .with_memory(1 << 10);
        let mut model = Model::default();
        for batch in 0..10 {
            for document in many(300, batch * 200) {
                writer.put(&document).unwrap();
                model.put(document);
            }
            for document in many(20, batch * 100) {
                assert_eq!(
                    writer.delete(&document.id).unwrap(),
                    model.delete(&document.id)
                );
            }
            writer.commit().unwrap();
            check(folder.path(), &model, &config);
        }
        let merged = SegmentedIndex::open(folder.path()).unwrap();
        assert!(merged.segments().len() < 10);
        writer.compact().unwrap();
        let expected = Index::build(&model.0, &config, &mut NoProgress).unwrap();
        let segment = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| {
                path.file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with("segment-")
            });
        assert_eq!(fs::read(segment.unwrap()).unwrap(), expected.as_bytes());
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 3, "manifest, lock and one segment");
    }
}

#[test]
fn readers_keep_their_commit() {
    let folder = TempDir::new().unwrap();
    let mut writer = IndexWriter::create(folder.path(), IndexConfig::default()).unwrap();
    let mut readers = Vec::new();
    for n in 0..30 {
        writer
            .put(&Document::new(format!("d{n}")).with_text("tea"))
            .unwrap();
        if n > 0 {
            assert!(writer.delete(&format!("d{}", n - 1)).unwrap());
        }
        writer.commit().unwrap();
        readers.push(SegmentedIndex::open(folder.path()).unwrap());
    }
    drop(writer);
    fs::remove_dir_all(folder.path()).unwrap();
    for (n, reader) in readers.iter().enumerate() {
        let searcher = reader.searcher(Bm25::ANSERINI).unwrap();
        let ranking = searcher.search("tea", &Search::top(5)).unwrap();
        let ids: Vec<&str> = ranking.iter().map(|hit| reader.ids().id(hit.doc)).collect();
        assert_eq!(ids, [format!("d{n}")]);
        assert!(reader.verify().is_ok());
    }
}

#[test]
fn a_reader_can_be_opened_during_commits_and_merges() {
    let folder = TempDir::new().unwrap();
    let mut writer = IndexWriter::create(folder.path(), IndexConfig::default())
        .unwrap()
        .with_merge_factor(2);
    writer.commit().unwrap();
    let path = folder.path().to_owned();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut last = 0;
            while last < 60 {
                let index = SegmentedIndex::open(&path).unwrap();
                assert!(index.len() >= last, "commits are seen in their order");
                last = index.len();
            }
        });
        for n in 0..60 {
            writer
                .put(&Document::new(format!("d{n}")).with_text("tea"))
                .unwrap();
            writer.commit().unwrap();
        }
        reader.join().unwrap();
    });
}

#[test]
fn there_is_one_writer() {
    let folder = TempDir::new().unwrap();
    let config = IndexConfig::default();
    let mut writer = IndexWriter::create(folder.path(), config.clone()).unwrap();
    writer.commit().unwrap();
    let text = |result: Result<IndexWriter, IndexWriterError>| {
        let name = folder.path().display().to_string();
        result.unwrap_err().to_string().replace(&name, "FOLDER")
    };
    let locked = "FOLDER: the index is locked by another writer";
    assert_eq!(text(IndexWriter::open(folder.path())), locked);
    assert_eq!(
        text(IndexWriter::create(folder.path(), config.clone())),
        locked
    );
    drop(writer);
    assert!(IndexWriter::open(folder.path()).is_ok());
    assert_eq!(
        text(IndexWriter::create(folder.path(), config.clone())),
        "FOLDER: contains an index already"
    );
    let foreign = TempDir::new().unwrap();
    fs::write(foreign.path().join("segment-7.ir"), "mine").unwrap();
    assert!(matches!(
        IndexWriter::create(foreign.path(), config.clone()),
        Err(IndexWriterError::Segments(
            SegmentsError::ForeignFiles { .. }
        ))
    ));
    assert!(foreign.path().join("segment-7.ir").exists());
    let keep = config.with_duplicates(DuplicateIds::Keep);
    let other = TempDir::new().unwrap();
    assert!(matches!(
        IndexWriter::create(other.path(), keep),
        Err(IndexWriterError::DuplicateIds)
    ));
    let nothing = IndexWriter::open(other.path().join("none")).unwrap_err();
    assert!(
        nothing
            .to_string()
            .ends_with("manifest.ir: cannot read the index file"),
        "{nothing}"
    );
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
}

#[test]
fn a_writer_without_a_commit_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("index");
    let create = || IndexWriter::create(&path, IndexConfig::default()).unwrap();
    let mut writer = create();
    writer.put(&Document::new("d1").with_text("tea")).unwrap();
    drop(writer);
    assert!(!path.exists());
    // What a killed writer leaves.
    fs::create_dir(&path).unwrap();
    fs::write(path.join("writer.lock"), "").unwrap();
    fs::write(path.join("segment-0.ir"), "").unwrap();
    let mut writer = create();
    writer.commit().unwrap();
    assert!(SegmentedIndex::open(&path).unwrap().is_empty());
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
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
    assert_eq!(writer.put(&blank).unwrap(), PutOutcome::Dropped);
    assert!(writer.is_empty());
    writer.commit().unwrap();
    assert!(SegmentedIndex::open(folder.path()).unwrap().is_empty());
    writer.put(&tea).unwrap();
    writer.commit().unwrap();
    writer.put(&Document::new("d1")).unwrap();
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

#[test]
fn files_that_are_missing_damaged_or_of_another_index_are_errors() {
    let build = |texts: &[&str]| {
        let folder = TempDir::new().unwrap();
        let mut writer = IndexWriter::create(folder.path(), IndexConfig::default()).unwrap();
        for (n, text) in texts.iter().enumerate() {
            for id in [
                format!("d{n}"),
                format!("e{n}"),
                format!("f{n}"),
                format!("g{n}"),
            ] {
                writer.put(&Document::new(id).with_text(*text)).unwrap();
            }
            writer.commit().unwrap();
        }
        writer.delete("d0").unwrap();
        writer.put(&Document::new("d1").with_text("salt")).unwrap();
        writer.commit().unwrap();
        folder
    };
    let good = build(&["tea", "milk"]);
    let other = build(&["tea", "water"]);
    let names: Vec<String> = fs::read_dir(good.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "writer.lock")
        .collect();
    assert!(names.iter().any(|name| name.starts_with("deleted-")));
    for name in &names {
        let path = good.path().join(name);
        let bytes = fs::read(&path).unwrap();
        let error = || SegmentedIndex::open(good.path()).unwrap_err();
        fs::remove_file(&path).unwrap();
        let found = error();
        assert!(
            matches!(&found, OpenIndexError::Io { path: at, .. } if *at == path),
            "{found}"
        );
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(error().is_damage());
        let mut flipped = bytes.clone();
        flipped[70] ^= 1;
        fs::write(&path, &flipped).unwrap();
        let damage = SegmentedIndex::open(good.path()).and_then(|index| index.verify());
        assert!(damage.unwrap_err().is_damage());
        fs::write(&path, &bytes).unwrap();
        assert!(SegmentedIndex::open(good.path()).is_ok());
        if let Some(number) = name.strip_prefix("segment-") {
            let foreign = fs::read(other.path().join(format!("segment-{number}"))).unwrap();
            if foreign != bytes {
                fs::write(&path, foreign).unwrap();
                assert!(error().to_string().contains("this is another file"));
                fs::write(&path, &bytes).unwrap();
            }
        }
    }
}
