//! Analyzers and index configurations as JSON: a round trip preserves them, and they are built or
//! rejected.
#![no_main]

use ir_bm25::analysis::QueryCleaning;
use ir_bm25::{Analysis, Bm25, IndexBuilder, IndexConfig};
use ir_core::{Analyzer, Document, NoProgress};
use libfuzzer_sys::fuzz_target;

const TEXT: &str = "The dog's easily-found B\u{d6}WLS \u{1f375} and a much-too-long-word";

fn read<T>(bytes: &[u8]) -> Option<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let value: T = serde_json::from_slice(bytes).ok()?;
    let text = serde_json::to_vec(&value).expect("a value");
    assert_eq!(
        serde_json::from_slice::<T>(&text).expect("what was written"),
        value
    );
    Some(value)
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(analysis) = read::<Analysis>(bytes) {
        let _ = analysis.to_string();
        if let Ok(pipeline) = analysis.build() {
            assert!(pipeline.terms(TEXT).iter().all(|term| !term.is_empty()));
        }
    }
    if let Some(cleaning) = read::<QueryCleaning>(bytes) {
        let _ = cleaning.clean(TEXT);
    }
    if let Some(config) = read::<IndexConfig>(bytes)
        && let Ok(mut builder) = IndexBuilder::new(config)
    {
        builder
            .push(&Document::new("d").with_text(TEXT))
            .expect("a document");
        assert!(builder.finish(&mut NoProgress).expect("an index").len() <= 1);
    }
    if let Some(bm25) = read::<Bm25>(bytes) {
        let _ = bm25.validate();
    }
});
