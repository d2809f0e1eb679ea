//! BM25 index files: any bytes are opened or rejected. An index that opens is searched, explained
//! and looked up without panics and endless loops.
//!
//! The first byte selects: the rest is the file; the rest overwrites bytes of a valid file, where
//! one changed byte must be detected; the same with corrected checksums; a section is replaced with
//! a correct checksum. The term dictionary is excluded from the last two: the test
//! `forged_bytes_are_an_error_or_other_keys` of ir-bm25 forges it.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::sync::OnceLock;

use common::{IndexSection, overwrite, sections, write_sections};
use ir_bm25::{Bm25, DocLengths, Index, IndexConfig, IndexedFields, Pruning, StoredFields};
use ir_core::store::Verify;
use ir_core::{DocNum, Document, NoProgress, Predicate, Retriever, Search};
use libfuzzer_sys::fuzz_target;

/// An index of 300 documents with posting lists of one, of a few and of several full blocks.
fn valid_file() -> &'static (Vec<u8>, Vec<IndexSection>) {
    static GOOD: OnceLock<(Vec<u8>, Vec<IndexSection>)> = OnceLock::new();
    GOOD.get_or_init(|| {
        let docs: Vec<Document> = (0..300)
            .map(|n: i64| {
                let tea = "tea ".repeat(1 + n as usize % 5);
                let milk = if n % 7 == 0 { "milk" } else { "water" };
                Document::new(format!("d{n}"))
                    .with_title(if n % 2 == 0 { "Green tea" } else { "Black" })
                    .with_text(format!("{tea} with {milk} number{n}"))
                    .with("year", 1900 + n % 100)
            })
            .collect();
        let config = IndexConfig::default()
            .with_fields(IndexedFields::Separate)
            .with_store(StoredFields::Everything);
        let index = Index::build(&docs, &config, &mut NoProgress).expect("an index");
        let bytes = index.as_bytes().to_vec();
        let sections = sections(&bytes);
        assert_eq!(write_sections(&bytes, &sections), bytes);
        (bytes, sections)
    })
}

fn exercise(index: &Index, bm25: Bm25) {
    let _ = (index.verify(), index.stats(), index.years(), index.config());
    for term in ["tea", "milk", "number7", ""] {
        let _ = (index.term("text", term), index.term("title", term));
    }
    for doc in [0, 1, index.len() as u32 - 1, index.len() as u32, u32::MAX] {
        let _ = index.document(DocNum::new(doc));
    }
    let _ = index.select(&Predicate::Known {
        name: "year".into(),
    });
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    let Ok(searcher) = index.searcher(bm25) else {
        return;
    };
    for pruning in [Pruning::BlockMax, Pruning::Columns, Pruning::Exhaustive] {
        let searcher = searcher.clone().with_pruning(pruning);
        for query in ["tea", "green number7 tea milk with"] {
            for search in [Search::top(3), Search::top(1000).within(&even)] {
                if let Ok(ranking) = searcher.search(query, &search) {
                    assert!(ranking.len() <= search.k());
                    assert!(ranking.iter().all(|hit| hit.doc.index() < index.len()));
                }
            }
        }
    }
    let _ = searcher.explain("green tea", DocNum::new(7), &Search::top(1));
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, rest)) = input.split_first() else {
        return;
    };
    let (valid, sections) = valid_file();
    let bytes = match kind % 4 {
        0 => rest.to_vec(),
        1 => {
            let mut bytes = valid.clone();
            overwrite(&mut bytes, rest);
            let changed = bytes.iter().zip(valid).filter(|(a, b)| a != b).count();
            let opened = Index::from_bytes(bytes.clone(), Verify::AllSections).is_ok();
            assert!(changed != 1 || !opened, "one changed byte was not detected");
            assert!(changed != 0 || opened, "a valid index was rejected");
            bytes
        }
        input => {
            let Some((&number, rest)) = rest.split_first() else {
                return;
            };
            let mut sections = sections.clone();
            let number = usize::from(number) % sections.len();
            let (name, bytes) = &mut sections[number];
            if name == "terms" {
                return;
            }
            match input {
                2 => overwrite(bytes, rest),
                _ => *bytes = rest.to_vec(),
            }
            write_sections(valid, &sections)
        }
    };
    let bm25 = match kind & 4 {
        0 => Bm25::ANSERINI,
        _ => Bm25::LUCENE.with_lengths(DocLengths::Exact),
    };
    let strict = Index::from_bytes(bytes.clone(), Verify::AllSections);
    let lenient = Index::from_bytes(bytes, Verify::SmallSections);
    assert!(strict.is_err() || lenient.is_ok());
    // The pages of a changed section with a correct checksum are read only after `AllSections`.
    if let Ok(index) = strict.or(lenient) {
        exercise(&index, bm25);
    }
});
