//! Model folders (feature `dense`): configuration, tokenizer and weights are rejected or encode
//! text to finite vectors.
//!
//! The first byte selects a model and one of its files. Odd second byte: the rest is the file.
//! Even: the rest overwrites bytes of the valid file.
#![no_main]

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use ir_core::{Encoder, Side};
use ir_dense::BiEncoder;
use libfuzzer_sys::fuzz_target;

type ModelFile = (String, Vec<u8>);

fn models() -> &'static Vec<Vec<ModelFile>> {
    static MODELS: OnceLock<Vec<Vec<ModelFile>>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ir-dense/testdata/tiny");
        let read = |name: &str| {
            let entries = fs::read_dir(root.join(name)).expect("a model folder");
            let files = entries.map(|entry| {
                let path = entry.expect("an entry").path();
                let name = path.file_name().expect("a name").to_string_lossy();
                (name.into_owned(), fs::read(&path).expect("a file"))
            });
            files.collect()
        };
        let models = ["bert", "bert-pytorch", "distilbert", "mpnet", "roberta"].map(read);
        models.into_iter().chain([static_embeddings()]).collect()
    })
}

/// A folder of model2vec: three rows of int8 for four tokens, with weights and mapping.
fn static_embeddings() -> Vec<ModelFile> {
    let tokenizer = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null, "decoder": null,
        "model": {
            "type": "WordLevel",
            "vocab": {"[UNK]": 0, "the": 1, "cat": 2, "ship": 3},
            "unk_token": "[UNK]",
        },
    });
    let header = serde_json::json!({
        "embeddings": {"dtype": "I8", "shape": [3, 2], "data_offsets": [0, 6]},
        "weights": {"dtype": "F16", "shape": [4], "data_offsets": [6, 14]},
        "mapping": {"dtype": "I32", "shape": [4], "data_offsets": [14, 30]},
    });
    let header = header.to_string();
    let mut weights = (header.len() as u64).to_le_bytes().to_vec();
    weights.extend(header.as_bytes());
    weights.extend([1, 2, 3, 4, 5, 6]);
    // 1 and 2 in half precision.
    weights.extend([0, 0x3c, 0, 0x40, 0, 0x3c, 0, 0x3c]);
    weights.extend([0_i32, 1, 2, 1].map(i32::to_le_bytes).concat());
    let config = "{\"model_type\": \"model2vec\", \"normalize\": true}";
    vec![
        ("config.json".to_owned(), config.into()),
        ("tokenizer.json".to_owned(), tokenizer.to_string().into()),
        ("model.safetensors".to_owned(), weights),
    ]
}

fuzz_target!(|input: &[u8]| {
    let [which, kind, rest @ ..] = input else {
        return;
    };
    let models = models();
    let files = &models[usize::from(*which) % models.len()];
    let changed = usize::from(*which) / models.len() % files.len();
    let folder = std::env::temp_dir().join(format!("ir-fuzz-model-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    for (n, (name, bytes)) in files.iter().enumerate() {
        let mut bytes = bytes.clone();
        if n == changed && kind % 2 == 1 {
            bytes = rest.to_vec();
        } else if n == changed {
            for change in rest.chunks_exact(4) {
                let at = u32::from_le_bytes([change[0], change[1], change[2], 0]) as usize;
                let length = bytes.len();
                bytes[at % length] = change[3];
            }
        }
        fs::write(folder.join(name), bytes).expect("a temporary file");
    }
    if let Ok(encoder) = BiEncoder::open(&folder)
        && let Ok(vectors) = encoder.encode(Side::Query, &["the cat", "a ship"])
    {
        assert!(vectors.iter().all(|value| value.is_finite()));
    }
});
