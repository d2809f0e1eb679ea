//! BEIR files: ids exist and are unique, and a round trip preserves qrels.
#![no_main]

use std::collections::HashSet;
use std::fmt::Write;

use ir_core::Document;
use ir_data::{DuplicateIds, FieldNames, beir, jsonl};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut docs = jsonl::JsonlReader::new(bytes, "fuzz", FieldNames::beir(), DuplicateIds::Reject);
    let (mut doc, mut ids) = (Document::default(), HashSet::new());
    while let Ok(true) = docs.read_into(&mut doc) {
        assert!(!doc.id.is_empty() && ids.insert(doc.id.clone()));
    }
    if let Ok(queries) = jsonl::read_queries(bytes, "fuzz", &FieldNames::beir()) {
        let ids: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
        assert!(ids.len() == queries.len() && !ids.contains(""));
    }
    if let Ok(qrels) = beir::read_qrels(bytes, "fuzz") {
        let mut text = String::from("query-id\tcorpus-id\tscore\n");
        for (query, judged) in qrels.iter() {
            for (doc, grade) in judged {
                writeln!(text, "{query}\t{doc}\t{grade}").expect("memory");
            }
        }
        let again = beir::read_qrels(text.as_bytes(), "fuzz").expect("what was written");
        assert_eq!(again, qrels);
    }
});
