//! DataFinder files: document ids exist, query ids are unique, a pair is judged and listed once.
#![no_main]

use std::collections::HashSet;

use ir_core::Document;
use ir_data::datafinder::{
    DatasetCorpus, DatasetQuery, HeaderLine, Quoting, read_qrels, read_run, read_test_queries,
    read_training_queries,
};
use ir_studies::datafinder::keyphrase_query_from_attributes;
use libfuzzer_sys::fuzz_target;

fn check(queries: &[DatasetQuery]) {
    let ids: HashSet<&str> = queries.iter().map(|test| test.query.id.as_str()).collect();
    assert_eq!(ids.len(), queries.len());
    let qrels = DatasetQuery::qrels(queries);
    for test in queries {
        let judged = qrels.get(&test.query.id).map_or(0, |judged| judged.len());
        assert!(judged <= test.positives.len());
        let _ = keyphrase_query_from_attributes(&test.query.attributes);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut docs = DatasetCorpus::read(bytes, "fuzz");
    let mut doc = Document::default();
    while let Ok(true) = docs.read(&mut doc) {
        assert!(!doc.id.is_empty());
        assert_ne!(doc.attributes.year(), Some(0));
    }
    if let Ok(queries) = read_test_queries(bytes, "fuzz", "t") {
        check(&queries);
    }
    if let Ok(queries) = read_training_queries(bytes, "fuzz", "r") {
        check(&queries);
    }
    for quoting in [Quoting::Raw, Quoting::Csv] {
        for header in [HeaderLine::AsData, HeaderLine::Skip] {
            if let Ok(qrels) = read_qrels(bytes, "fuzz", quoting, header) {
                let lines = bytes.split(|&byte| byte == b'\n').count();
                assert!(qrels.data.judgments() <= lines);
            }
            if let Ok(run) = read_run(bytes, "fuzz", quoting, header) {
                for (_, list) in run.data.iter() {
                    let docs: HashSet<&str> = list.iter().map(|hit| hit.doc.as_str()).collect();
                    assert_eq!(docs.len(), list.len());
                    assert!(list.iter().all(|hit| hit.score.is_finite()));
                }
            }
        }
    }
});
