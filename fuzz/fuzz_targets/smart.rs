//! Cranfield and CISI: record numbers are unique, grades are in range.
#![no_main]

use std::collections::HashSet;

use ir_core::Qrels;
use ir_data::smart::{
    CranfieldGrades, CranfieldSourceDocument, read_cisi_judgments, read_cranfield_judgments,
    read_documents, read_queries,
};
use libfuzzer_sys::fuzz_target;

fn check(qrels: &Qrels, grades: &[i64]) {
    let mut judged = qrels.iter().flat_map(|(_, judged)| judged.grades());
    assert!(judged.all(|grade| grades.contains(&grade)));
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(docs) = read_documents(bytes, "fuzz") {
        let ids: HashSet<&str> = docs.iter().map(|doc| doc.id.as_str()).collect();
        assert!(ids.len() == docs.len() && !ids.contains(""));
    }
    if let Ok(queries) = read_queries(bytes, "fuzz") {
        let ids: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
        assert!(ids.len() == queries.len() && !ids.contains(""));
    }
    for source in [
        CranfieldSourceDocument::Relevant,
        CranfieldSourceDocument::Drop,
    ] {
        let read = |codes| read_cranfield_judgments(bytes, "fuzz", codes, source);
        if let Ok(qrels) = read(CranfieldGrades::Graded) {
            check(&qrels, &[1, 2, 3, 4]);
            check(&read(CranfieldGrades::Binary).expect("read before"), &[1]);
            check(
                &read(CranfieldGrades::Raw).expect("read before"),
                &[-1, 1, 2, 3, 4],
            );
        }
    }
    if let Ok(qrels) = read_cisi_judgments(bytes, "fuzz") {
        check(&qrels, &[1]);
    }
});
