//! Damaged tokenizers: mutations of the committed ones are errors or tokenizers, never panics.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::ModelTokenizer;
use super::pair_template::PairTemplate;
use crate::transformer::family_tests::folders;

/// Number of mutations of each tokenizer.
const MUTATIONS: u64 = 60;
const TEXTS: [&str; 5] = [
    "",
    "Ships seen by radar: 42 naïve cafés!",
    "東京 \u{1F6A2}\u{200D} é \u{FFFD}",
    "[CLS] <s> </s> <pad> [MASK] <unk>",
    "   a\t\n b  ",
];

/// Generator of pseudorandom numbers by splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Changes a random value below `value`.
fn mutate(value: &mut Value, random: &mut Random, depth: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() && (depth == 0 || random.below(8) > 0) => {
            let name = fields.keys().nth(random.below(fields.len())).cloned();
            let name = name.unwrap_or_default();
            if depth > 0 && random.below(10) == 0 {
                fields.remove(&name);
            } else if let Some(field) = fields.get_mut(&name) {
                mutate(field, random, depth + 1);
            }
        }
        Value::Array(values) if !values.is_empty() && random.below(8) > 0 => {
            let at = random.below(values.len());
            match random.below(10) {
                0 => drop(values.remove(at)),
                1 => values.swap(0, at),
                _ => mutate(&mut values[at], random, depth + 1),
            }
        }
        value => {
            let others = [
                json!(null),
                json!(-1),
                json!(0),
                json!(4_294_967_295_u64),
                json!(u64::MAX),
                json!(1e300),
                json!(""),
                json!("\u{0}é"),
                json!([]),
                json!({}),
                json!(true),
            ];
            *value = match value.as_str() {
                // A part of a text, such as the character map of SentencePiece.
                Some(text) if text.len() > 8 && random.below(4) > 0 => {
                    let (at, end) = (random.below(text.len()), random.below(text.len()));
                    let chars = text.chars().enumerate();
                    let kept = chars.filter(|(n, _)| *n < at || *n > end).map(|(_, c)| c);
                    kept.collect::<String>().into()
                }
                _ => others[random.below(others.len())].clone(),
            };
        }
    }
}

/// Opens a tokenizer and encodes texts. Returns `true` if it opens and fits the table.
fn runs(folder: &Path, rows: usize) -> bool {
    let Ok(tokenizer) = ModelTokenizer::open(folder) else {
        return false;
    };
    if tokenizer.check_vocabulary(rows).is_err() {
        return false;
    }
    for text in TEXTS {
        for limit in [tokenizer.min_tokens(), 16, 1 << 12] {
            if let Ok(ids) = tokenizer.encode(text, limit) {
                let is_in_table = |id: &u32| (*id as usize) < rows;
                assert!(ids.iter().all(is_in_table), "{text:?}: {ids:?} of {rows}");
            }
        }
        let _ = tokenizer.encode_with_offsets(text);
    }
    let _ = (PairTemplate::new(&tokenizer), tokenizer.identity());
    true
}

#[test]
fn damaged_tokenizers_do_not_panic() {
    let names = [
        "bert-dense",
        "xlm-roberta-bytes",
        "gemma3-bf16",
        "modernbert",
        "llama3",
        "t5",
        "mistral",
    ];
    let all: Vec<PathBuf> = folders();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let mut opened = 0;
    for name in names {
        let own = all.iter().find(|it| it.ends_with(name)).unwrap();
        let text = fs::read_to_string(own.join("tokenizer.json")).unwrap();
        let original: Value = serde_json::from_str(&text).unwrap();
        let rows = ModelTokenizer::open(own).unwrap().vocabulary_size();
        assert!(runs(own, rows), "{name}");
        for seed in 0..MUTATIONS {
            let random = &mut Random(seed);
            let mut json = original.clone();
            // Vocabularies are most of the file.
            let parts = ["normalizer", "pre_tokenizer", "post_processor", "model", ""];
            match parts[random.below(parts.len())] {
                "" => mutate(&mut json, random, 0),
                part => mutate(&mut json[part], random, 1),
            }
            fs::write(&path, json.to_string()).unwrap();
            opened += usize::from(runs(folder.path(), rows));
        }
        for seed in 0..MUTATIONS / 4 {
            let random = &mut Random(1_000 + seed);
            let mut bytes = text.clone().into_bytes();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            bytes.truncate(bytes.len() - random.below(2) * random.below(bytes.len()));
            fs::write(&path, bytes).unwrap();
            opened += usize::from(runs(folder.path(), rows));
        }
    }
    assert!(opened > 0);
}

/// A character map of three bytes, less than its length field: the `tokenizers` library panics.
#[test]
fn panics_of_the_library_are_errors_with_the_path() {
    let all = folders();
    let own = all.iter().find(|it| it.ends_with("t5")).unwrap();
    let text = fs::read_to_string(own.join("tokenizer.json")).unwrap();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    json["normalizer"] = json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    fs::write(&path, json.to_string()).unwrap();
    let found = ModelTokenizer::open(folder.path()).unwrap_err().to_string();
    let start = format!(
        "{} is damaged: the tokenizers library fails with ",
        path.display()
    );
    assert!(found.starts_with(&start), "{found}");
}
