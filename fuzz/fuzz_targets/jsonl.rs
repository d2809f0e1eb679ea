//! JSON lines with configured field names: documents are equal whether duplicate ids are rejected
//! or kept.
#![no_main]

use ir_core::Document;
use ir_data::{JsonFields, DuplicateIds, jsonl};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let own = JsonFields {
        id: "docno".into(),
        title: None,
        text: "body".into(),
        metadata: Some("more".into()),
    };
    for fields in [own, JsonFields::anserini()] {
        let mut strict = jsonl::JsonlReader::new(bytes, "fuzz", fields.clone(), DuplicateIds::Reject);
        let mut lenient = jsonl::JsonlReader::new(bytes, "fuzz", fields.clone(), DuplicateIds::Keep);
        let (mut one, mut other) = (Document::default(), Document::default());
        while let Ok(true) = strict.read_into(&mut one) {
            assert!(lenient.read_into(&mut other).expect("read before"));
            assert_eq!(one, other);
        }
        while let Ok(true) = lenient.read_into(&mut other) {
            assert!(!other.id.is_empty());
        }
        let _ = jsonl::read_queries(bytes, "fuzz", &fields);
    }
});
