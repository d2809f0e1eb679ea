//! Index construction: determinism, duplicates, blank documents, cancellation and errors.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::built;
use ir_bm25::analysis::{Analysis, StopWords};
use ir_bm25::{
    BlankDocs, Bm25, BuildError, DocOrder, DuplicateIds, Index, IndexBuilder, IndexConfig,
    IndexedFields, SearcherError, StoredFields,
};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{
    Analyzer, Corpus, CorpusError, Distinct, DocNum, DocReader, Document, Flow, IdError,
    NoProgress, Retriever, Search, Token,
};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Several chunks of documents, in no order of their ids.
fn many() -> Vec<Document> {
    let document = |n: u64| {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        Document::new(format!("{mixed:x}"))
            .with_title(format!("title{}", n % 13))
            .with_text(format!("word{} thing{} all", mixed % 211, n % 5))
            .with("n", n as i64)
    };
    (0..20_000).map(document).collect()
}

/// Builds an index in `folder`, which also takes the temporary files.
fn build_in(
    folder: &Path,
    name: &str,
    documents: &[Document],
    config: &IndexConfig,
    (threads, memory): (usize, usize),
) -> Index {
    let mut builder = IndexBuilder::new(config.clone())
        .unwrap()
        .with_threads(threads)
        .with_memory(memory)
        .with_temporary_folder(folder);
    builder.push_all(documents, &mut NoProgress).unwrap();
    builder
        .finish_to(folder.join(name), &mut NoProgress)
        .unwrap()
}

/// Several chunks per thread: chunks finish out of order, runs are spilled and merged.
#[test]
fn bytes_are_equal_over_many_chunks() {
    let documents: Vec<Document> = (0..50_000_u64)
        .map(|n| {
            let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let text = format!(
                "word{} word{} common thing{}",
                n % 97,
                n % 1009,
                id % 30_011
            );
            Document::new(format!("{id:x}"))
                .with_text(text)
                .with("year", 2000 + n as i64 % 20)
        })
        .collect();
    let by_id = IndexConfig::default().with_store(StoredFields::Everything);
    let inserted = IndexConfig::default()
        .with_order(DocOrder::Insertion)
        .with_fields(IndexedFields::Separate)
        .with_store(StoredFields::Attributes);
    let folder = tempfile::tempdir().unwrap();
    // Zero threads count as one.
    let build_all = |config: &IndexConfig| {
        let mut seen = Vec::new();
        for setup in [(1, usize::MAX), (2, 1), (8, 1 << 20), (0, 3 << 20)] {
            let name = format!("{}.ir", setup.0);
            let path = folder.path().join(&name);
            let index = build_in(folder.path(), &name, &documents, config, setup);
            assert_eq!(index.path(), Some(path.as_path()));
            assert_eq!(index.as_bytes(), std::fs::read(&path).unwrap());
            seen.push(index);
        }
        assert!(seen.windows(2).all(|w| w[0].as_bytes() == w[1].as_bytes()));
        // Nothing but the indexes is left.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
        seen
    };
    build_all(&inserted);
    let seen = build_all(&by_id);
    let index = &seen[0];
    let d = &documents[31_415];
    assert_eq!(&index.document(index.ids().get(&d.id).unwrap()).unwrap(), d);
    let term = |field, term| index.term(field, term).unwrap();
    assert_eq!(term("contents", "common").unwrap().docs, 50_000);
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let ranking = searcher.search(&d.text, &Search::top(1)).unwrap();
    assert_eq!(index.ids().id(ranking.hits()[0].doc), d.id);
}

#[test]
fn statistics_are_lucenes() {
    let documents = [
        Document::new("b")
            .with_title("The Cat")
            .with_text("cats and dogs"),
        Document::new("a").with_text("the"),
        Document::new("c").with_text("cat"),
    ];
    let index = built(&documents, IndexConfig::default());
    let stats = index.stats();
    // Document a contains a stop word only: it has no token in the field.
    let field = &stats.fields[0];
    assert_eq!((stats.documents, field.docs, field.tokens), (3, 2, 4));
    assert_eq!((field.terms, field.postings, field.longest), (2, 3, 3));
    assert_eq!(field.average_length(), 2.0);
    assert_eq!(stats.bytes as usize, index.as_bytes().len());
    let sections: u64 = stats.sections.iter().map(|(_, bytes)| bytes).sum();
    assert!(sections < stats.bytes);
    let term = |field, term| index.term(field, term).unwrap();
    let cat = term("contents", "cat").unwrap();
    assert_eq!((cat.docs, cat.occurrences), (2, 3));
    assert_eq!(term("contents", "cats"), None);
    assert_eq!(term("title", "cat"), None);
}

#[test]
fn ties_are_broken_by_id_or_insertion_order() {
    let documents = ["b", "a", "c"].map(|id| Document::new(id).with_text("tea"));
    for (order, expected) in [
        (DocOrder::Id, ["a", "b", "c"]),
        (DocOrder::Insertion, ["b", "a", "c"]),
    ] {
        let index = built(&documents, IndexConfig::default().with_order(order));
        let ranking = index
            .searcher(Bm25::LUCENE)
            .unwrap()
            .search("tea", &Search::top(3))
            .unwrap();
        let ids: Vec<&str> = ranking.iter().map(|hit| index.ids().id(hit.doc)).collect();
        assert_eq!(ids, expected);
    }
}

#[test]
fn repeated_ids_are_rejected_or_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    let document = |id: &str, text: &str| Document::new(id).with_text(text);
    let documents = [
        document("b", "tea"),
        document("twice", "tea"),
        document("a", "tea tea tea"),
        document("twice", "tea tea"),
    ];
    let config = IndexConfig::default();
    let error = Index::build_to(&path, &documents[..], &config, &mut NoProgress).unwrap_err();
    let BuildError::Ids(cause) = &error else {
        panic!("{error:?}")
    };
    let expected = IdError::Duplicate {
        id: "twice".into(),
        first: 1,
        second: 3,
    };
    assert_eq!(cause, &expected);
    assert!(error.source().unwrap().to_string().contains("\"twice\""));
    assert!(names(folder.path()).is_empty());

    let config = config
        .with_duplicates(DuplicateIds::Keep)
        .with_store(StoredFields::Everything);
    let index = Index::build_to(&path, &documents[..], &config, &mut NoProgress).unwrap();
    assert_eq!(index.len(), 4);
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let ids = |retriever: &dyn Retriever<Query = str>, k| -> Vec<String> {
        let found = retriever.search("tea", &Search::top(k)).unwrap();
        let ids = found
            .iter()
            .map(|hit| retriever.ids().id(hit.doc).to_owned());
        ids.collect()
    };
    let all = ids(&searcher, 4);
    assert_eq!(all.iter().filter(|id| *id == "twice").count(), 2);
    let once = Distinct(searcher);
    let mut distinct = ids(&once, 4);
    assert_eq!(ids(&once, 3), distinct);
    distinct.sort();
    assert_eq!(distinct, ["a", "b", "twice"]);
    // Documents with the same id keep their insertion order.
    let first = index.ids().get("twice").unwrap();
    assert_eq!(index.document(first).unwrap().text, "tea");
    let second = DocNum::new(first.get() + 1);
    assert_eq!(index.document(second).unwrap().text, "tea tea");
}

#[test]
fn blank_documents_are_counted() {
    let blank = |id: &str, text: &str| Document::new(id).with_text(text).with("year", 2000_i64);
    let documents = [
        blank("no text", ""),
        Document::new("x").with_text("tea").with("year", 1990_i64),
        blank("spaces", " \t\r\n\u{1}"),
        // A stop word, punctuation and an ideographic space are content, but yield no tokens.
        blank("stop word", "the"),
        blank("sign", "!"),
        blank("wide space", "\u{3000}"),
        blank("title", "").with_title("tea"),
    ];
    let config = IndexConfig::default().with_order(DocOrder::Insertion);
    let keep = built(&documents, &config);
    assert_eq!((keep.len(), keep.stats().blank_dropped), (7, 0));
    let config = config.with_blank(BlankDocs::Drop);
    let drop = built(&documents, &config);
    assert_eq!((drop.len(), drop.stats().blank_dropped), (5, 2));
    let ids: Vec<&str> = drop.ids().iter().collect();
    assert_eq!(ids, ["x", "stop word", "sign", "wide space", "title"]);
    assert_eq!(drop.years().get(DocNum::new(0)), Some(1990));
    assert_eq!(drop.years().get(DocNum::new(4)), Some(2000));
    // Scores do not depend on documents without tokens.
    let scores = |index: &Index| -> Vec<(String, u32)> {
        let searcher = index.searcher(Bm25::LUCENE).unwrap();
        let found = searcher.search("tea", &Search::top(10)).unwrap();
        let hits = found.iter();
        hits.map(|hit| (index.ids().id(hit.doc).to_owned(), hit.score.to_bits()))
            .collect()
    };
    assert_eq!(scores(&keep), scores(&drop));
    let only_texts = built(&documents, config.with_fields(IndexedFields::TextOnly));
    assert_eq!(only_texts.stats().blank_dropped, 3);
}

#[test]
fn no_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.ir");
    for store in [StoredFields::Nothing, StoredFields::Everything] {
        for fields in [IndexedFields::One, IndexedFields::Separate] {
            let config = IndexConfig::default().with_store(store).with_fields(fields);
            let none: [Document; 0] = [];
            Index::build_to(&path, &none[..], &config, &mut NoProgress).unwrap();
            let index = Index::open(&path).unwrap();
            assert!(index.is_empty() && index.ids().is_empty());
            assert_eq!(index.stats().fields[0].average_length(), 0.0);
            assert!(index.document(DocNum::new(0)).is_err());
            assert_eq!(index.years().get(DocNum::new(0)), None);
            let searcher = index.searcher(Bm25::ANSERINI).unwrap();
            let found = searcher.search("tea", &Search::top(5)).unwrap();
            assert!(found.is_empty());
        }
    }
}

struct Upper;

impl Analyzer for Upper {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        let term = text.to_uppercase();
        assert!(!term.contains("BOOM"), "a bug in the custom analyzer");
        emit(Token {
            term: &term,
            start: 0,
            end: text.len(),
            position: 0,
        });
    }
}

#[test]
fn custom_analyzers_are_set_again_after_opening() {
    let builder = || {
        IndexBuilder::new(IndexConfig::default().with_fields(IndexedFields::TextOnly))
            .unwrap()
            .with_analyzer("upper", Arc::new(Upper))
    };
    let mut custom = builder();
    custom
        .push(&Document::new("a").with_text("tea time"))
        .unwrap();
    let index = custom.finish(&mut NoProgress).unwrap();
    let found = |index: &Index| {
        index
            .searcher(Bm25::ANSERINI)
            .unwrap()
            .search("TEA time", &Search::top(1))
    };
    assert_eq!(found(&index).unwrap().len(), 1);
    let again = Index::from_bytes(index.as_bytes().to_vec(), Verify::AllSections).unwrap();
    let error = again.searcher(Bm25::ANSERINI).unwrap_err();
    assert_eq!(
        error,
        SearcherError::NeedsAnalyzer {
            name: "upper".into()
        }
    );
    assert_eq!(
        found(&again.with_analyzer(Arc::new(Upper))).unwrap().len(),
        1
    );

    let mut custom = builder().with_threads(2);
    custom.push(&Document::new("b").with_text("boom")).unwrap();
    let error = custom.finish(&mut NoProgress).unwrap_err();
    assert!(matches!(error, BuildError::Panicked { documents: 1, first } if first == "b"));
}

#[test]
fn invalid_analysis_is_rejected() {
    let stop_words = StopWords::Custom([String::new()].into());
    let config =
        IndexConfig::default().with_analysis(Analysis::default().with_stop_words(stop_words));
    assert!(matches!(
        IndexBuilder::new(config),
        Err(BuildError::Analysis(_))
    ));
}

#[test]
fn configuration_deserializes() {
    let config: IndexConfig =
        serde_json::from_str(r#"{"fields": "separate", "store": "everything"}"#).unwrap();
    let expected = IndexConfig::default()
        .with_fields(IndexedFields::Separate)
        .with_store(StoredFields::Everything);
    assert_eq!(config, expected);
    assert!(serde_json::from_str::<IndexConfig>(r#"{"feilds": "one"}"#).is_err());
    let bm25: Bm25 = serde_json::from_str(r#"{"k1": 1.5, "lengths": "exact"}"#).unwrap();
    assert_eq!(bm25.to_string(), "bm25(k1=1.5,b=0.4,lengths=exact)");
    assert!(serde_json::from_str::<Bm25>(r#"{"k": 1.5}"#).is_err());
}

#[test]
fn cancellation_keeps_the_existing_file() {
    let documents = many();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    built(&documents[..10], IndexConfig::default())
        .save(&path)
        .unwrap();
    let before = fs::read(&path).unwrap();
    let mut reports = 0;
    let mut count = |_: &str, _: u64, _: Option<u64>| {
        reports += 1;
        Flow::Continue
    };
    Index::build(&documents, &IndexConfig::default(), &mut count).unwrap();
    assert!(reports > 4, "20,000 documents, and {reports} reports");
    for stop_at in 1..=reports {
        let mut seen = 0;
        let mut stop = |_: &str, done: u64, total: Option<u64>| {
            assert!(total.is_none_or(|total| done <= total));
            seen += 1;
            if seen < stop_at {
                Flow::Continue
            } else {
                Flow::Stop
            }
        };
        let config = IndexConfig::default();
        let error = Index::build_to(&path, &documents, &config, &mut stop).unwrap_err();
        assert!(matches!(error, BuildError::Canceled), "{error}");
        assert_eq!(seen, stop_at, "a report after cancellation");
        assert_eq!(names(folder.path()), ["x.ir"]);
        assert!(fs::read(&path).unwrap() == before);
    }
}

/// Collection whose reader fails after the first document.
struct FailingCorpus(AtomicBool);

impl Corpus for FailingCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(self))
    }
}

impl DocReader for &FailingCorpus {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if self.0.swap(true, Ordering::Relaxed) {
            return Err(CorpusError::new("line 2 is broken"));
        }
        *doc = Document::new("a");
        Ok(true)
    }
}

#[test]
fn reader_errors_end_indexing() {
    let mut builder = IndexBuilder::new(IndexConfig::default()).unwrap();
    let error = builder
        .push_all(&FailingCorpus(false.into()), &mut NoProgress)
        .unwrap_err();
    assert!(matches!(error, BuildError::Corpus(_)));
    assert!(matches!(
        builder.push(&Document::new("b")),
        Err(BuildError::Abandoned)
    ));
    assert!(matches!(
        builder.finish(&mut NoProgress),
        Err(BuildError::Abandoned)
    ));
}

#[test]
fn missing_temporary_directory_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    fs::write(&path, "old").unwrap();
    let mut builder = IndexBuilder::new(IndexConfig::default())
        .unwrap()
        .with_threads(2)
        .with_memory(0)
        .with_temporary_folder(folder.path().join("none"));
    // The error may come with a later document, or at the end.
    let pushed = builder.push_all(&many(), &mut NoProgress);
    let finished = builder.finish_to(&path, &mut NoProgress);
    let error = pushed.and_then(|()| finished.map(|_| ())).unwrap_err();
    assert!(matches!(error, BuildError::Spill(_)), "{error:?}");
    assert!(error.source().is_some());
    assert_eq!(names(folder.path()), ["x.ir"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn unwritable_destinations_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let index = built(
        &[Document::new("a").with_text("tea")],
        IndexConfig::default(),
    );
    for path in [folder.path().to_owned(), folder.path().join("none/x.ir")] {
        let error = index.save(&path).unwrap_err();
        assert!(matches!(&error, BuildError::Write { path: found, .. } if *found == path));
        let builder = IndexBuilder::new(IndexConfig::default()).unwrap();
        assert!(matches!(
            builder.finish_to(&path, &mut NoProgress),
            Err(BuildError::Write { .. })
        ));
    }
    assert!(matches!(
        Index::open(folder.path()),
        Err(OpenIndexError::Directory { .. })
    ));
    assert!(matches!(
        Index::open(folder.path().join("none")),
        Err(OpenIndexError::Io { .. })
    ));
    let no_space = std::path::Path::new("/dev/full");
    if no_space.exists() {
        // The system's error differs between platforms; the message names the path.
        let error = index.save(no_space).unwrap_err();
        assert!(error.to_string().contains("/dev/full"));
    }
}

#[test]
fn unwritable_directories_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let index = built(
        &[Document::new("a").with_text("tea")],
        IndexConfig::default(),
    );
    // A directory at the path of the file.
    let error = index.save(folder.path()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: cannot write the index", folder.path().display())
    );
    assert_eq!(
        error.source().unwrap().to_string(),
        "expected a file, found a directory"
    );
    // A file at the path of the directory.
    let file = folder.path().join("file");
    fs::write(&file, "old").unwrap();
    assert!(matches!(
        index.save(file.join("x.ir")),
        Err(BuildError::Write { .. })
    ));
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(names(folder.path()), ["file"]);

    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    let open = fs::metadata(&closed).unwrap().permissions();
    let mut permissions = open.clone();
    permissions.set_readonly(true);
    fs::set_permissions(&closed, permissions).unwrap();
    if fs::write(closed.join("probe"), "").is_ok() {
        eprintln!("SKIPPED: permissions do not bind this user");
    } else {
        let path = closed.join("x.ir");
        assert!(
            matches!(index.save(&path), Err(BuildError::Write { path: found, .. }) if found == path)
        );
        assert!(names(&closed).is_empty());
    }
    fs::set_permissions(&closed, open).unwrap();
}

#[test]
fn an_index_is_replaced_while_it_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    let first = built(
        &[Document::new("a").with_text("tea")],
        IndexConfig::default(),
    );
    let second = built(
        &[Document::new("b").with_text("milk")],
        IndexConfig::default(),
    );
    first.save(&path).unwrap();
    let open = Index::open(&path).unwrap();
    second.save(&path).unwrap();
    assert_eq!(open.as_bytes(), first.as_bytes());
    assert_eq!(
        open.searcher(Bm25::ANSERINI)
            .unwrap()
            .search("tea", &Search::top(1))
            .unwrap()
            .len(),
        1
    );
    assert_eq!(Index::open(&path).unwrap().as_bytes(), second.as_bytes());
}

#[test]
fn indexes_that_cannot_be_merged_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("merged");
    let build = |config: &IndexConfig| {
        let docs = [Document::new("a").with_text("tea")];
        Index::build(&docs[..], config, &mut NoProgress).unwrap()
    };
    let merge =
        |indexes: &[&Index]| Index::merge_to(&path, indexes, 1 << 20, &mut NoProgress).unwrap_err();
    let plain = build(&IndexConfig::default());
    let error = merge(&[&plain, &plain]);
    assert!(matches!(error, BuildError::Ids(_)), "{error}");
    let other = build(&IndexConfig::default().with_positions(true));
    let error = merge(&[&plain, &other]);
    assert!(
        error.to_string().starts_with("index 2 of the indexes"),
        "{error}"
    );
    assert!(matches!(
        merge(&[]),
        BuildError::MergeConfig { position: 0 }
    ));
    assert!(names(folder.path()).is_empty());
}
