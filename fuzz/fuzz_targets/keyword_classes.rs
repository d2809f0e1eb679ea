//! Keyword tables: every keyword of a valid table has its class.
#![no_main]

use ir_knn::KeywordClasses;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(classes) = KeywordClasses::read(bytes, "fuzz") else {
        return;
    };
    let text = std::str::from_utf8(bytes).expect("only UTF-8 is read");
    let keywords = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').next());
    let mut count = 0;
    for keyword in keywords {
        assert!(classes.class(&[keyword]).is_some());
        count += 1;
    }
    assert_eq!(count, classes.len());
    let _ = classes.recount([["gan", "privacy"]]);
});
