//! What building keeps, drops and leaves behind: beside `build.rs`, the values and the places that go wrong.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::error::Error;
use std::fs;
use std::path::Path;

use ir_bm25::{
    BlankDocs, Bm25, BuildError, DocOrder, DuplicateIds, Index, IndexBuilder, IndexConfig,
    IndexedFields, StoredFields,
};
use ir_core::{
    AttributeValue, Distinct, DocNum, Document, Flow, IdError, NoProgress, Predicate, Retriever,
    Search,
};
use proptest::prelude::*;

fn built(documents: &[Document], config: &IndexConfig) -> Index {
    Index::build(documents, config, &mut NoProgress).unwrap()
}

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

#[test]
fn the_same_file_from_one_thread_and_eight_and_from_little_memory() {
    let documents = many();
    for order in [DocOrder::Id, DocOrder::Insertion] {
        let config = IndexConfig::default()
            .with_order(order)
            .with_fields(IndexedFields::Separate)
            .with_store(StoredFields::Attributes);
        let folder = tempfile::tempdir().unwrap();
        let save = |threads: usize, memory: usize| {
            let path = folder.path().join("same.ir");
            let mut builder = IndexBuilder::new(config.clone())
                .unwrap()
                .with_threads(threads)
                .with_memory(memory)
                .with_temporary_folder(folder.path());
            builder.push_all(&documents, &mut NoProgress).unwrap();
            builder.finish_to(&path).unwrap();
            assert_eq!(names(folder.path()), ["same.ir"]);
            fs::read(path).unwrap()
        };
        let one = save(1, usize::MAX);
        // Zero threads count as one.
        for (threads, memory) in [(8, usize::MAX), (1, 0), (8, 0), (0, 1 << 16)] {
            let other = save(threads, memory);
            assert!(one == other, "{threads} threads, {memory} bytes, {order:?}");
        }
    }
}

#[test]
fn no_place_for_what_exceeds_the_memory() {
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
    let finished = builder.finish_to(&path);
    let error = pushed.and_then(|()| finished.map(|_| ())).unwrap_err();
    assert!(matches!(error, BuildError::Spill(_)), "{error:?}");
    assert!(error.source().is_some());
    assert_eq!(names(folder.path()), ["x.ir"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn stopping_keeps_what_was_there() {
    let documents = many();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ir");
    built(&documents[..10], &IndexConfig::default())
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
        assert!(matches!(error, BuildError::Cancelled), "{error}");
        assert_eq!(seen, stop_at, "asked on after the stop");
        assert_eq!(names(folder.path()), ["x.ir"]);
        assert!(fs::read(&path).unwrap() == before);
    }
}

#[test]
fn repeated_ids_are_named_or_kept() {
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
    // Records of one id keep the order in which they came.
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
        // A stop word, a sign and a wide space are content, though not one that is found.
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
    let only_texts = built(&documents, &config.with_fields(IndexedFields::TextOnly));
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

/// Values as they come from JSON files, and as callers may make them.
fn values() -> impl Strategy<Value = AttributeValue> {
    let float = prop_oneof![
        any::<f64>().prop_filter("not in JSON", |x| x.is_finite()),
        0.0..1.0_f64,
        Just(-0.0),
        Just(1e15),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE / 8.0),
    ];
    let leaf = prop_oneof![
        any::<bool>().prop_map(AttributeValue::Bool),
        any::<i64>().prop_map(AttributeValue::Int),
        float.prop_map(AttributeValue::Float),
        any::<String>().prop_map(AttributeValue::Text),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(AttributeValue::List),
            prop::collection::btree_map(any::<String>(), inner, 0..4).prop_map(AttributeValue::Map),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_stored_comes_back(
        parts in prop::collection::vec(
            (any::<String>(), any::<String>(), prop::collection::vec((any::<String>(), values()), 0..4)),
            1..6,
        ),
        id in any::<bool>(),
    ) {
        let documents: Vec<Document> = parts
            .into_iter()
            .enumerate()
            .map(|(n, (title, text, attributes))| {
                let document = Document::new(format!("{}", 9 - n)).with_title(title).with_text(text);
                attributes.into_iter().fold(document, |document, (name, value)| document.with(name, value))
            })
            .collect();
        let order = if id { DocOrder::Id } else { DocOrder::Insertion };
        let config = IndexConfig::default().with_order(order).with_store(StoredFields::Everything);
        let index = built(&documents, &config);
        for document in &documents {
            let doc = index.ids().get(&document.id).unwrap();
            prop_assert_eq!(&index.document(doc).unwrap(), document);
            prop_assert_eq!(&index.attributes(doc).unwrap(), &document.attributes);
        }
    }

    #[test]
    fn years_come_back(years in prop::collection::vec(
        prop::option::of(prop_oneof![1900..2100_i64, -10..10_i64, Just(i64::MAX), Just(i64::MIN + 1), any::<i64>()]),
        0..20,
    )) {
        let documents: Vec<Document> = (100..).zip(&years).map(|(n, year)| {
            let document = Document::new(n.to_string());
            year.iter().fold(document, |document, &year| document.with("year", year))
        }).collect();
        let index = built(&documents, &IndexConfig::default());
        for (doc, &year) in (0..).map(DocNum::new).zip(&years) {
            prop_assume!(year != Some(i64::MIN));
            prop_assert_eq!(index.years().get(doc), year);
        }
    }
}

#[test]
fn conditions_select_by_number_and_list() {
    let documents: Vec<Document> = (0..100_i64)
        .map(|n| {
            let document = Document::new(format!("{n:03}"))
                .with("tags", vec!["all", ["even", "odd"][n as usize % 2]]);
            if n < 90 {
                document.with("size", n as f64 / 2.0)
            } else {
                document
            }
        })
        .collect();
    let index = built(
        &documents,
        &IndexConfig::default().with_store(StoredFields::Attributes),
    );
    let even = Predicate::OneOf {
        name: "tags".into(),
        values: vec!["even".into()],
    };
    let large = Predicate::AtLeast {
        name: "size".into(),
        limit: 40.0,
    };
    let known = Predicate::Known {
        name: "size".into(),
    };
    let condition = Predicate::All(vec![even, large, known]);
    let found: Vec<u32> = index
        .select(&condition)
        .unwrap()
        .iter()
        .map(DocNum::get)
        .collect();
    assert_eq!(found, [80, 82, 84, 86, 88]);
    let none = Predicate::Not(Box::new(Predicate::All(Vec::new())));
    assert_eq!(index.select(&none).unwrap().iter().count(), 0);
}

#[test]
fn folders_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let index = built(
        &[Document::new("a").with_text("tea")],
        &IndexConfig::default(),
    );
    // A folder in the place of the file.
    let error = index.save(folder.path()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: could not be written", folder.path().display())
    );
    assert_eq!(
        error.source().unwrap().to_string(),
        "expected a file, found a directory"
    );
    // A file in the place of the folder.
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
        eprintln!("skipped: permissions do not bind this user");
    } else {
        let path = closed.join("x.ir");
        assert!(
            matches!(index.save(&path), Err(BuildError::Write { path: found, .. }) if found == path)
        );
        assert!(names(&closed).is_empty());
    }
    fs::set_permissions(&closed, open).unwrap();
}
