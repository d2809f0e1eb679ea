//! TREC documents and topics: ids are unique and not empty.
#![no_main]

use std::collections::HashSet;

use ir_data::sgml::{read_documents, read_topics};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(docs) = read_documents(bytes, "fuzz") {
        let ids: HashSet<&str> = docs.iter().map(|doc| doc.id.as_str()).collect();
        assert!(ids.len() == docs.len() && !ids.contains(""));
    }
    if let Ok(topics) = read_topics(bytes, "fuzz") {
        let ids: HashSet<&str> = topics.iter().map(|topic| topic.id.as_str()).collect();
        assert!(ids.len() == topics.len() && !ids.contains(""));
    }
});
