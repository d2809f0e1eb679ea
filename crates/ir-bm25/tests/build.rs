//! Building and opening: what is in an index, and that nothing else shows.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ir_bm25::analysis::{Analysis, StopWords};
use ir_bm25::{
    BlankDocs, Bm25, BuildError, DocOrder, DuplicateIds, Index, IndexBuilder, IndexConfig,
    IndexedFields, SearcherError, StoredFields, StoredFieldsError,
};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{
    Analyzer, AttributeValue, Attributes, Corpus, CorpusError, DocFilter, DocNum, DocReader,
    Document, Flow, IdError, NoProgress, Predicate, Retriever, Search, Token,
};
use proptest::prelude::*;

fn doc(n: u32) -> DocNum {
    DocNum::new(n)
}

fn built(documents: &[Document], config: IndexConfig) -> Index {
    Index::build(documents, &config, &mut NoProgress).unwrap()
}

/// Every mixture of ids in and out of order, years, attributes, blank and longer texts.
fn documents() -> impl Strategy<Value = Vec<Document>> {
    let text = prop::collection::vec("[a-e]{1,2}", 0..20).prop_map(|words| words.join(" "));
    let year = prop::option::of(prop_oneof![-5_i64..2100, Just(i64::MIN), Just(i64::MAX)]);
    let one = ("[a-z]{0,3}", text, year, prop::option::of("[a-z ]{0,9}"));
    prop::collection::vec(one, 0..200).prop_map(|parts| {
        let docs = parts.into_iter().enumerate();
        docs.map(|(n, (id, text, year, title))| {
            let mut doc = Document::new(format!("{id}{n}")).with_text(text);
            if let Some(year) = year {
                doc = doc.with("year", year);
            }
            match title {
                Some(title) => doc.with("kind", title.len() as i64).with_title(title),
                None => doc,
            }
        })
        .collect()
    })
}

fn configs() -> impl Strategy<Value = IndexConfig> {
    let fields = prop::sample::select(vec![
        IndexedFields::One,
        IndexedFields::TextOnly,
        IndexedFields::Separate,
    ]);
    let order = prop::sample::select(vec![DocOrder::Id, DocOrder::Insertion]);
    let store = prop::sample::select(vec![
        StoredFields::Nothing,
        StoredFields::Attributes,
        StoredFields::Everything,
    ]);
    let blank = prop::sample::select(vec![BlankDocs::Keep, BlankDocs::Drop]);
    (fields, order, store, blank).prop_map(|(fields, order, store, blank)| {
        IndexConfig::default()
            .with_fields(fields)
            .with_order(order)
            .with_store(store)
            .with_blank(blank)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn everything_comes_back(documents in documents(), config in configs()) {
        let index = built(&documents, config.clone());
        let blank = |text: &str| text.trim().is_empty();
        let is_blank = |d: &Document| blank(&d.text) && (config.fields == IndexedFields::TextOnly || blank(&d.title));
        let mut expected: Vec<Document> = documents.clone();
        if config.blank == BlankDocs::Drop {
            expected.retain(|d| !is_blank(d));
        }
        prop_assert_eq!(index.stats().blank_dropped as usize, documents.len() - expected.len());
        if config.order == DocOrder::Id {
            expected.sort_by(|a, b| a.id.as_bytes().cmp(b.id.as_bytes()));
        }
        prop_assert_eq!(index.len(), expected.len());
        prop_assert_eq!(index.config(), &config);
        let bytes = index.as_bytes().to_vec();
        let again = Index::from_bytes(bytes, Verify::AllSections).unwrap();
        for index in [&index, &again] {
            for (d, n) in expected.iter().zip(0..) {
                prop_assert_eq!(index.ids().id(doc(n)), &d.id);
                prop_assert_eq!(index.years().get(doc(n)), d.attributes.year());
                match config.store {
                    StoredFields::Nothing => prop_assert!(index.attributes(doc(n)).is_err()),
                    StoredFields::Attributes => prop_assert!(index.document(doc(n)).is_err()),
                    _ => prop_assert_eq!(&index.document(doc(n)).unwrap(), d),
                }
                if config.store != StoredFields::Nothing {
                    prop_assert_eq!(&index.attributes(doc(n)).unwrap(), &d.attributes);
                }
            }
            let beyond = index.attributes(doc(expected.len() as u32)).unwrap_err();
            let is_beyond = matches!(beyond, StoredFieldsError::NoSuchDocument { .. });
            prop_assert_eq!(is_beyond, config.store != StoredFields::Nothing);
        }
    }

    #[test]
    fn bytes_depend_on_documents_and_configuration_alone(
        documents in documents(),
        config in configs(),
        threads in 1..5_usize,
        memory in prop_oneof![Just(0_usize), 1..5000_usize],
    ) {
        let usual = built(&documents, config.clone());
        let mut builder = IndexBuilder::new(config).unwrap().with_threads(threads).with_memory(memory);
        documents.iter().for_each(|doc| builder.push(doc).unwrap());
        let index = builder.finish().unwrap();
        prop_assert_eq!(index.as_bytes(), usual.as_bytes());
    }
}

/// Enough for several chunks, so that workers overtake each other and runs are spilled and merged.
#[test]
fn many_chunks_many_threads_little_memory() {
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
    let config = IndexConfig::default().with_store(StoredFields::Everything);
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for (threads, memory) in [(1, usize::MAX), (2, 1), (8, 1 << 20), (3, 3 << 20)] {
        let path = folder.path().join(format!("{threads}.ir"));
        let mut builder = IndexBuilder::new(config.clone())
            .unwrap()
            .with_threads(threads)
            .with_memory(memory)
            .with_temporary_folder(folder.path());
        builder.push_all(&documents, &mut NoProgress).unwrap();
        let index = builder.finish_to(&path).unwrap();
        assert_eq!(index.path().as_deref(), Some(path.as_path()));
        assert_eq!(index.as_bytes(), std::fs::read(&path).unwrap());
        seen.push(index);
    }
    assert!(seen.windows(2).all(|w| w[0].as_bytes() == w[1].as_bytes()));
    // Nothing but the indexes is left.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    let index = &seen[0];
    let d = &documents[31_415];
    assert_eq!(&index.document(index.ids().get(&d.id).unwrap()).unwrap(), d);
    assert_eq!(index.term("contents", "common").unwrap().docs, 50_000);
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
    // "the" is a stop word: document a has the field in no sense that counts.
    let field = &stats.fields[0];
    assert_eq!((stats.documents, field.docs, field.tokens), (3, 2, 4));
    assert_eq!((field.terms, field.postings, field.longest), (2, 3, 3));
    assert_eq!(field.average_length(), 2.0);
    assert_eq!(stats.bytes as usize, index.as_bytes().len());
    let sections: u64 = stats.sections.iter().map(|(_, bytes)| bytes).sum();
    assert!(sections < stats.bytes);
    let cat = index.term("contents", "cat").unwrap();
    assert_eq!((cat.docs, cat.occurrences), (2, 3));
    assert_eq!(index.term("contents", "cats"), None);
    assert_eq!(index.term("title", "cat"), None);
}

#[test]
fn ties_stand_by_id_or_as_inserted() {
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
fn repeated_ids() {
    let documents = ["x", "y", "x"].map(|id| Document::new(id).with_text("tea"));
    let error = Index::build(&documents[..], &IndexConfig::default(), &mut NoProgress).unwrap_err();
    assert!(
        matches!(&error, BuildError::Ids(IdError::Duplicate { id, first: 0, second: 2 }) if id == "x")
    );
    let index = built(
        &documents,
        IndexConfig::default().with_duplicates(DuplicateIds::Keep),
    );
    assert_eq!(index.len(), 3);
}

#[test]
fn years_and_conditions_are_filters() {
    let documents = [
        Document::new("a")
            .with_text("tea")
            .with("year", 2010_i64)
            .with("kind", "x"),
        Document::new("b").with_text("tea tea"),
        Document::new("c")
            .with_text("tea")
            .with("year", 2020_i64)
            .with("kind", "x"),
    ];
    let index = built(
        &documents,
        IndexConfig::default().with_store(StoredFields::Attributes),
    );
    let searcher = index.searcher(Bm25::ANSERINI).unwrap();
    let ids = |filter: &dyn DocFilter| -> Vec<String> {
        let ranking = searcher
            .search("tea", &Search::top(3).within(filter))
            .unwrap();
        ranking
            .iter()
            .map(|hit| index.ids().id(hit.doc).to_owned())
            .collect()
    };
    assert_eq!(ids(&index.years().not_later_than(Some(2015))), ["b", "a"]);
    let kind = Predicate::OneOf {
        name: "kind".into(),
        values: vec!["x".into()],
    };
    assert_eq!(ids(&index.select(&kind).unwrap()), ["a", "c"]);
    let without = built(&documents, IndexConfig::default());
    assert_eq!(without.years().get(doc(2)), Some(2020));
    assert_eq!(
        without.select(&kind).unwrap_err(),
        StoredFieldsError::NotStored {
            what: "attributes",
            found: StoredFields::Nothing
        }
    );
}

#[test]
fn numbers_that_json_cannot_hold_are_not_stored() {
    let documents = [Document::new("a").with(
        "weights",
        vec![AttributeValue::Float(1.0), AttributeValue::Float(f64::NAN)],
    )];
    let config = IndexConfig::default().with_store(StoredFields::Attributes);
    let error = Index::build(&documents[..], &config, &mut NoProgress).unwrap_err();
    assert!(matches!(error, BuildError::NotFinite { id, name } if id == "a" && name == "weights"));
    assert_eq!(built(&documents, IndexConfig::default()).len(), 1);
    let fine = [Document::new("a").with("x", 1.0_f64).with("y", true)];
    let attributes: Attributes = built(&fine, config).attributes(doc(0)).unwrap();
    assert_eq!(attributes, fine[0].attributes);
}

struct Upper;

impl Analyzer for Upper {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        let term = text.to_uppercase();
        assert!(!term.contains("BOOM"), "a bug of the caller's");
        emit(Token {
            term: &term,
            start: 0,
            end: text.len(),
            position: 0,
        });
    }
}

#[test]
fn an_analyzer_of_the_callers_own() {
    let builder = || {
        IndexBuilder::new(IndexConfig::default().with_fields(IndexedFields::TextOnly))
            .unwrap()
            .with_analyzer("upper", Arc::new(Upper))
    };
    let mut own = builder();
    own.push(&Document::new("a").with_text("tea time")).unwrap();
    let index = own.finish().unwrap();
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

    let mut own = builder().with_threads(2);
    own.push(&Document::new("b").with_text("boom")).unwrap();
    let error = own.finish().unwrap_err();
    assert!(matches!(error, BuildError::Panicked { documents: 1, first } if first == "b"));
}

#[test]
fn an_analysis_that_is_not_valid() {
    let stop_words = StopWords::Custom([String::new()].into());
    let config =
        IndexConfig::default().with_analysis(Analysis::default().with_stop_words(stop_words));
    assert!(matches!(
        IndexBuilder::new(config),
        Err(BuildError::Analysis(_))
    ));
}

#[test]
fn the_configuration_is_a_value() {
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
fn stopping_leaves_nothing() {
    let documents: Vec<Document> = (0..10_000).map(|n| Document::new(n.to_string())).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    for stage in ["indexing", "writing"] {
        let mut stop = |now: &str, _: u64, _: Option<u64>| {
            if now == stage {
                Flow::Stop
            } else {
                Flow::Continue
            }
        };
        let error =
            Index::build_to(&path, &documents, &IndexConfig::default(), &mut stop).unwrap_err();
        assert!(matches!(error, BuildError::Cancelled));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Two documents, and then the file is damaged.
struct Broken(AtomicBool);

impl Corpus for Broken {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(self))
    }
}

impl DocReader for &Broken {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if self.0.swap(true, Ordering::Relaxed) {
            return Err(CorpusError::new("line 2 is broken"));
        }
        *doc = Document::new("a");
        Ok(true)
    }
}

#[test]
fn errors_of_the_reader_end_the_building() {
    let mut builder = IndexBuilder::new(IndexConfig::default()).unwrap();
    let error = builder
        .push_all(&Broken(false.into()), &mut NoProgress)
        .unwrap_err();
    assert!(matches!(error, BuildError::Corpus(_)));
    assert!(matches!(
        builder.push(&Document::new("b")),
        Err(BuildError::Abandoned)
    ));
    assert!(matches!(builder.finish(), Err(BuildError::Abandoned)));
}

#[test]
fn destinations_that_cannot_be_written() {
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
            builder.finish_to(&path),
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
        // Whatever the system calls it, it is an error with the path, and not a panic.
        let error = index.save(no_space).unwrap_err();
        assert!(error.to_string().contains("/dev/full"));
    }
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

/// The largest collection at hand, twice with different means.
#[test]
fn a_real_collection_gives_the_same_bytes() {
    let Some(folder) = common::data() else { return };
    let documents = common::corpus(&folder.join("beir/nfcorpus"));
    let config = IndexConfig::default().with_store(StoredFields::Everything);
    let usual = built(&documents, config.clone());
    let mut builder = IndexBuilder::new(config)
        .unwrap()
        .with_threads(3)
        .with_memory(1);
    builder.push_all(&documents, &mut NoProgress).unwrap();
    assert_eq!(builder.finish().unwrap().as_bytes(), usual.as_bytes());
    assert_eq!(usual.stats().fields[0].docs, 3633);
}
