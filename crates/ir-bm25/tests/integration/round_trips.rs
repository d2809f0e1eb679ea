//! Round trips: stored fields, years and attributes read back equal what was indexed.

#![allow(clippy::unwrap_used)]

use crate::common::built;
use ir_bm25::{
    BlankDocs, Bm25, BuildError, DocOrder, Index, IndexBuilder, IndexConfig, IndexedFields,
    StoredFields, StoredFieldsError,
};
use ir_core::store::Verify;
use ir_core::{
    AttributeValue, Attributes, DocFilter, DocNum, Document, NoProgress, Predicate, Retriever,
    Search,
};
use proptest::prelude::*;

fn doc(n: u32) -> DocNum {
    DocNum::new(n)
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
    fn indexes_round_trip(documents in documents(), config in configs()) {
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
        let index = builder.finish(&mut NoProgress).unwrap();
        prop_assert_eq!(index.as_bytes(), usual.as_bytes());
    }
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
    assert!(matches!(
        without.select(&kind).unwrap_err(),
        StoredFieldsError::NotStored {
            what: "attributes",
            found: StoredFields::Nothing
        }
    ));
}

#[test]
fn non_finite_numbers_are_rejected() {
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
    fn stored_fields_round_trip(
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
        IndexConfig::default().with_store(StoredFields::Attributes),
    );
    let even = Predicate::OneOf {
        name: "tags".into(),
        values: vec!["even".into()],
    };
    let large = Predicate::AtLeast {
        name: "size".into(),
        limit: 40.into(),
        strict: false,
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
