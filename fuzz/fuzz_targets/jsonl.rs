//! JSON lines and arrays with configured field names: documents are equal whether duplicate ids are
//! rejected or kept, and in an array.
#![no_main]

use ir_core::Document;
use ir_data::{DuplicateIds, FieldNames, jsonl};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let own = FieldNames {
        id: "docno".into(),
        title: None,
        text: "body".into(),
        metadata: Some("more".into()),
    };
    for fields in [own, FieldNames::anserini()] {
        let mut strict =
            jsonl::JsonlReader::new(bytes, "fuzz", fields.clone(), DuplicateIds::Reject);
        let mut lenient =
            jsonl::JsonlReader::new(bytes, "fuzz", fields.clone(), DuplicateIds::Keep);
        let (mut one, mut other) = (Document::default(), Document::default());
        while let Ok(true) = strict.read_into(&mut one) {
            assert!(lenient.read_into(&mut other).expect("read before"));
            assert_eq!(one, other);
        }
        while let Ok(true) = lenient.read_into(&mut other) {
            assert!(!other.id.is_empty());
        }
        let _ = jsonl::read_queries(bytes, "fuzz", &fields);
        let Ok(lines) = std::str::from_utf8(bytes) else {
            continue;
        };
        let lines: Vec<&str> = lines
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let array = format!("[{}]", lines.join(",\n"));
        let ids = |text: &str| {
            let mut docs = jsonl::JsonlReader::new(
                text.as_bytes(),
                "fuzz",
                fields.clone(),
                DuplicateIds::Keep,
            );
            let (mut ids, mut doc) = (Vec::new(), Document::default());
            while let Ok(true) = docs.read_into(&mut doc) {
                ids.push(doc.id.clone());
            }
            ids
        };
        // A line that is not JSON ends both readers, perhaps at another record.
        let (of_lines, of_array) = (ids(&lines.join("\n")), ids(&array));
        let shared = of_lines.len().min(of_array.len());
        assert_eq!(of_lines[..shared], of_array[..shared]);
    }
});
