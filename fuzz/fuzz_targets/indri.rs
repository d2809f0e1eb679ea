//! Indri topics: numbers are unique, and a round trip preserves the topics.
#![no_main]

use std::collections::HashSet;

use ir_data::indri::read_queries;
use libfuzzer_sys::fuzz_target;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(queries) = read_queries(bytes, "fuzz") else {
        return;
    };
    let ids: HashSet<&str> = queries.iter().map(|query| query.id.as_str()).collect();
    assert!(ids.len() == queries.len() && !ids.contains(""));
    let mut text = String::from("<parameters>\n");
    for query in &queries {
        let (number, words) = (escaped(&query.id), escaped(&query.text));
        text.push_str(&format!(
            "<query>\n<text>{words}</text><number> {number} </number>\n</query>\n"
        ));
    }
    text.push_str("</parameters>\n");
    let again = read_queries(text.as_bytes(), "fuzz").expect("what was written");
    assert_eq!(again, queries);
});
