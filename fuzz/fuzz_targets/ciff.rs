//! Common Index File Format: any bytes are an index or an error. An index that is read is exported,
//! and read again, without changes.
#![no_main]

use ir_bm25::{Analysis, Bm25, CiffReader, Index};
use ir_core::{NoProgress, Retriever, Search};
use libfuzzer_sys::fuzz_target;

fn import(bytes: &[u8]) -> Option<Index> {
    let reader = CiffReader::new(bytes, "fuzz").ok()?;
    let _ = reader.header().analysis();
    reader
        .build(Analysis::whitespace(), 1 << 16, &mut NoProgress)
        .ok()
}

fuzz_target!(|bytes: &[u8]| {
    let Some(index) = import(bytes) else {
        return;
    };
    index.verify().expect("a valid index");
    let searcher = index.searcher(Bm25::ANSERINI).expect("a searcher");
    let ranking = searcher
        .search("tea milk a", &Search::top(3))
        .expect("a ranking");
    assert!(ranking.len() <= 3);
    let mut file = Vec::new();
    index
        .write_ciff("contents", &mut file, &mut NoProgress)
        .expect("memory takes everything");
    let again = import(&file).expect("what was written");
    assert_eq!(again.as_bytes(), index.as_bytes());
});
