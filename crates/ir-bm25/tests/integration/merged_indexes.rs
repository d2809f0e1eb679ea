//! `Index::merge_to`: indexes of the shards of a corpus merge to the bytes of one index.

#![allow(clippy::unwrap_used)]

use std::fs;

use ir_bm25::{BlankDocs, DocOrder, DuplicateIds, Index, IndexConfig, IndexedFields, StoredFields};
use ir_core::{CorpusRange, Document, NoProgress, Shard};
use proptest::prelude::*;

/// Documents with repeated ids, blank ones, and few words, so that most terms occur in many shards.
fn documents() -> impl Strategy<Value = Vec<Document>> {
    let text = "([a-e]{1,2}|tea|größe)?( ([a-e]{1,2}|tea|The leaves)){0,9}";
    let document = (0_u8..60, text, text, any::<i8>()).prop_map(|(id, title, text, year)| {
        Document::new(format!("d{id}"))
            .with_title(title)
            .with_text(text)
            .with("year", i64::from(year))
    });
    prop::collection::vec(document, 0..50)
}

fn configurations() -> impl Strategy<Value = IndexConfig> {
    let fields = prop_oneof![
        Just(IndexedFields::Separate),
        Just(IndexedFields::One),
        Just(IndexedFields::TextOnly)
    ];
    let store = prop_oneof![
        Just(StoredFields::Nothing),
        Just(StoredFields::Attributes),
        Just(StoredFields::Everything)
    ];
    let blank = prop_oneof![Just(BlankDocs::Drop), Just(BlankDocs::Keep)];
    let order = prop_oneof![Just(DocOrder::Id), Just(DocOrder::Insertion)];
    (fields, store, blank, order, any::<bool>()).prop_map(
        |(fields, store, blank, order, positions)| {
            IndexConfig::default()
                .with_fields(fields)
                .with_store(store)
                .with_blank(blank)
                .with_order(order)
                .with_duplicates(DuplicateIds::Keep)
                .with_positions(positions)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn indexes_of_1_to_17_shards_merge_to_the_bytes_of_the_whole(
        docs in documents(),
        config in configurations(),
        spilled in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (whole, path) = (folder.path().join("whole"), folder.path().join("merged"));
        Index::build_to(&whole, &docs, &config, &mut NoProgress).unwrap();
        let whole = fs::read(&whole).unwrap();
        let memory = if spilled { 0 } else { 1 << 20 };
        for count in 1..=17 {
            let shards = (1..=count).map(|number| {
                let range = Shard::new(number, count).unwrap().range(docs.len());
                let part = CorpusRange::new(&docs, range);
                Index::build(&part, &config, &mut NoProgress).unwrap()
            });
            let shards: Vec<Index> = shards.collect();
            let shards: Vec<&Index> = shards.iter().collect();
            Index::merge_to(&path, &shards, memory, &mut NoProgress).unwrap();
            prop_assert!(fs::read(&path).unwrap() == whole, "{} shards", count);
        }
    }
}
