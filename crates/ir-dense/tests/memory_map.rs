//! Memory-mapped weight files: replaced and deleted while a model is open, tensors at any offset.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod common;

use std::fs;

use common::copy_of;
use ir_core::{Encoder, Side};
use ir_dense::BiEncoder;

/// The map of an open model is that of the file that was opened.
#[test]
fn open_models_outlive_their_files() {
    let text = ["ships seen by radar at sea"];
    for model in ["bert", "bert-f16", "mpnet"] {
        let copy = copy_of(model);
        let path = copy.path().join("model.safetensors");
        let encoder = BiEncoder::open(copy.path()).unwrap();
        let before = encoder.encode(Side::Document, &text).unwrap();
        // Replaced atomically, then removed.
        let other = copy.path().join("other");
        let zeros = vec![0; fs::metadata(&path).unwrap().len() as usize];
        fs::write(&other, zeros).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(encoder.encode(Side::Document, &text).unwrap(), before);
        assert!(BiEncoder::open(copy.path()).is_err());
        drop(copy);
        assert_eq!(encoder.encode(Side::Document, &text).unwrap(), before);
        let transformer = encoder.tower(Side::Document).transformer().unwrap();
        assert!(transformer.config().hidden_size > 0);
    }
}

/// Tensors at any offset of the file.
#[test]
fn headers_of_any_length_give_the_same_vectors() {
    let texts = ["ships seen by radar at sea", "tea"];
    for model in ["bert", "bert-bf16", "distilbert"] {
        let copy = copy_of(model);
        let path = copy.path().join("model.safetensors");
        let whole = fs::read(&path).unwrap();
        let (length, rest) = whole.split_first_chunk::<8>().unwrap();
        let length = u64::from_le_bytes(*length);
        let (header, elements) = rest.split_at(length as usize);
        let expected = BiEncoder::open(copy.path()).unwrap();
        for more in 1..8 {
            let length = (length + more as u64).to_le_bytes();
            let bytes = [&length, header, &vec![b' '; more], elements].concat();
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
            let found = BiEncoder::open(copy.path()).unwrap();
            assert_eq!(
                found.encode(Side::Document, &texts).unwrap(),
                expected.encode(Side::Document, &texts).unwrap()
            );
            assert_eq!(
                found.fingerprint(Side::Query),
                expected.fingerprint(Side::Query)
            );
        }
    }
}
