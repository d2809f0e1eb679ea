//! JSON lines with field names of one's own: what is read where repeated ids are refused is read
//! alike where they are kept.
#![no_main]

use ir_core::Document;
use ir_data::{JsonFields, Repeats, jsonl};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let own = JsonFields {
        id: "docno".into(),
        title: None,
        text: "body".into(),
        metadata: Some("more".into()),
    };
    for fields in [own, JsonFields::anserini()] {
        let mut strict = jsonl::Docs::new(bytes, "fuzz", fields.clone(), Repeats::Refuse);
        let mut lenient = jsonl::Docs::new(bytes, "fuzz", fields.clone(), Repeats::Keep);
        let (mut one, mut other) = (Document::default(), Document::default());
        while let Ok(true) = strict.next_into(&mut one) {
            assert!(lenient.next_into(&mut other).expect("read before"));
            assert_eq!(one, other);
        }
        while let Ok(true) = lenient.next_into(&mut other) {
            assert!(!other.id.is_empty());
        }
        let _ = jsonl::read_queries(bytes, "fuzz", &fields);
    }
});
