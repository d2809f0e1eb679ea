//! Every token of whole collections, against what Lucene 9.9.1 made of them.
//! `testdata/lucene/streams.tsv` holds the SHA-256 of each stream: one text a line, its tokens
//! joined by one blank.

#![allow(clippy::unwrap_used)]

use ir_bm25::analysis::Analysis;
use ir_core::Analyzer;
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use unicode_normalization::is_nfc;

/// The fields (joined by a newline) of every record of a JSONL file.
fn texts(path: &Path, fields: &str) -> Vec<String> {
    let mut text = String::new();
    let mut file = std::fs::File::open(path).unwrap();
    if path.extension().is_some_and(|e| e == "zst") {
        ruzstd::decoding::StreamingDecoder::new(file)
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
    } else {
        file.read_to_string(&mut text).unwrap();
    }
    text.lines()
        .map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            fields
                .split(',')
                .map(|f| record[f].as_str().unwrap())
                .collect::<Vec<_>>()
                .join("\n")
        })
        .collect()
}

fn file_of(stream: &str) -> &'static str {
    match stream {
        "nfcorpus.corpus" => "beir/nfcorpus/corpus.jsonl.zst",
        "nfcorpus.queries" => "beir/nfcorpus/queries.jsonl",
        "arguana.corpus" => "beir/arguana/corpus.jsonl.zst",
        "arguana.queries" => "beir/arguana/queries.jsonl.zst",
        "datafinder.corpus" | "datafinder.corpus-full" => "datafinder/corpus_7602.jsonl.zst",
        "datafinder.queries" | "datafinder.queries-keyphrase" => {
            "datafinder/test_clean/queries.jsonl"
        }
        other => panic!("no file is known for {other}"),
    }
}

#[test]
fn every_token_is_lucenes() {
    let Some(data) = crate::common::data() else {
        return;
    };
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/lucene/streams.tsv");
    let list = std::fs::read_to_string(list).unwrap();
    let mut streams = 0;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[name, fields, kind, units, filled, tokens, distinct, _, hash] = &columns[..] else {
            panic!("{line}")
        };
        let pipeline = match kind {
            "standard" => Analysis::lucene_standard().with_lower_case(false),
            _ => Analysis::anserini(),
        };
        let pipeline = pipeline.build().unwrap();
        let composed = Analysis::porter().build().unwrap();
        let (mut sha, mut seen, mut counts) = (Sha256::new(), HashSet::new(), [0_usize; 3]);
        for text in texts(&data.join(file_of(name)), fields) {
            let terms = pipeline.terms(&text);
            // Of a text in NFC, the default analysis has the terms of Lucene.
            if kind != "standard" && !text.is_ascii() && is_nfc(&text) {
                assert_eq!(composed.terms(&text), terms, "{text}");
            }
            sha.update(terms.join(" "));
            sha.update("\n");
            counts[0] += 1;
            counts[1] += usize::from(!terms.is_empty());
            counts[2] += terms.len();
            seen.extend(terms);
        }
        let found = [counts[0], counts[1], counts[2], seen.len()].map(|n| n.to_string());
        assert_eq!(found, [units, filled, tokens, distinct], "{name} {kind}");
        let found: String = sha
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(found, hash, "{name} {kind}");
        streams += 1;
    }
    assert_eq!(streams, 16);
}
