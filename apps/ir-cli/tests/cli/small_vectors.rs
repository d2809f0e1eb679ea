//! Small vectors and small models: `--truncate-dim`, `--quantize`, and static embeddings.

use std::fs;

use ir_knn::{QuantizedFormat, QuantizedVectors, npy, quantize_vectors};
use ndarray::Array2;

use crate::common::{BERT, Folder, tiny};

fn array(here: &Folder, name: &str) -> Array2<f64> {
    npy::read(&fs::read(here.at(name)).unwrap()[..], name).unwrap()
}

/// Codes of vectors, with the ranges of other vectors.
fn codes(vectors: &Array2<f64>, format: QuantizedFormat, of: Option<&Array2<f64>>) -> Array2<f64> {
    let vectors = vectors.mapv(|value| value as f32);
    let ranges = of.map(|of| ir_knn::quantization_ranges(of.mapv(|value| value as f32).view()));
    let ranges = ranges.as_ref().map(|ranges| ranges.view());
    match quantize_vectors(vectors.view(), format, ranges).unwrap() {
        QuantizedVectors::Signed(codes) => codes.mapv(f64::from),
        QuantizedVectors::Unsigned(codes) => codes.mapv(f64::from),
        other => panic!("{other:?}"),
    }
}

#[test]
fn arrays_have_the_codes_of_the_format() {
    let here = Folder::new();
    tiny(&here);
    here.ir(&["encode", BERT, "tiny", "-o", "docs.npy"]).ok();
    let vectors = array(&here, "docs.npy");
    assert_eq!(vectors.dim(), (3, 12));
    for (name, format) in [
        ("int8", QuantizedFormat::Int8),
        ("uint8", QuantizedFormat::Uint8),
        ("binary", QuantizedFormat::Binary),
        ("ubinary", QuantizedFormat::Ubinary),
    ] {
        let encode = ["encode", BERT, "tiny", "-o", "x.npy", "--quantize", name];
        here.ir(&encode).ok();
        assert_eq!(
            array(&here, "x.npy"),
            codes(&vectors, format, None),
            "{name}"
        );
    }
    let queries = ["encode", BERT, "tiny", "--queries", "-o"];
    here.ir(&[&queries[..], &["q.npy"]].concat()).ok();
    let options = ["q8.npy", "--quantize", "int8", "--calibration", "docs.npy"];
    here.ir(&[&queries[..], &options].concat()).ok();
    let expected = codes(
        &array(&here, "q.npy"),
        QuantizedFormat::Int8,
        Some(&vectors),
    );
    assert_eq!(array(&here, "q8.npy"), expected);
}

#[test]
fn truncated_vectors_need_a_truncated_encoder() {
    let here = Folder::new();
    tiny(&here);
    let small = ["encode", BERT, "tiny", "--truncate-dim", "5", "-o"];
    here.ir(&[&small[..], &["small.ir"]].concat()).ok();
    here.ir(&[&small[..], &["small.npy"]].concat()).ok();
    here.ir(&["encode", BERT, "tiny", "-o", "docs.npy"]).ok();
    let whole = array(&here, "docs.npy");
    let truncated = array(&here, "small.npy");
    assert_eq!(truncated.dim(), (3, 5));
    assert_eq!(truncated, whole.slice(ndarray::s![.., ..5]));
    let search = [
        "search",
        "tiny",
        "--query",
        "tea",
        "--vectors",
        "small.ir",
        "--encoder",
        BERT,
        "-o",
        "run",
    ];
    here.ir(&[&search[..], &["--truncate-dim", "5"]].concat())
        .ok();
    assert_eq!(here.read("run").lines().count(), 3);
    here.ir(&search)
        .fails(1, &["small.ir: expected model ", "--truncate-dim"]);
}

#[test]
fn invalid_options_are_errors() {
    let here = Folder::new();
    tiny(&here);
    here.write("two.npy", {
        let mut file = Vec::new();
        npy::write(ndarray::array![[1.0_f32, 2.0]].view(), &mut file).unwrap();
        file
    });
    let encode = ["encode", BERT, "tiny", "-o"];
    let fails = |options: &[&str], code: i32, parts: &[&str]| {
        here.ir(&[&encode[..], options].concat()).fails(code, parts);
    };
    fails(
        &["x.npy", "--truncate-dim", "13"],
        2,
        &[
            "--truncate-dim: ",
            "truncate_dim is 13, expected 1 to 12, the dimension of the model",
        ],
    );
    fails(&["x.npy", "--truncate-dim", "0"], 2, &["--truncate-dim"]);
    fails(
        &["x.ir", "--quantize", "int8"],
        2,
        &["--quantize: expected a .npy file, found x.ir"],
    );
    fails(&["x.npy", "--calibration", "two.npy"], 2, &["--quantize"]);
    fails(&["x.npy", "--quantize", "int4"], 2, &["int4"]);
    fails(
        &["x.npy", "--quantize", "int8", "--calibration", "two.npy"],
        1,
        &["two.npy: expected vectors of 12 dimensions, found the shape [1, 2]"],
    );
    assert!(!here.at("x.npy").exists() && !here.at("x.ir").exists());
}

/// A folder of model2vec is encoded, searched and described as any encoder.
#[test]
fn static_embeddings_are_encoders() {
    let here = Folder::new();
    tiny(&here);
    let words = ["[UNK]", "green", "tea", "leaves", "coffee", "rivers"];
    let vocabulary: serde_json::Map<String, serde_json::Value> = (0..)
        .zip(words)
        .map(|(id, word)| (word.to_owned(), serde_json::json!(id)))
        .collect();
    let tokenizer = serde_json::json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    });
    here.write("model/tokenizer.json", tokenizer.to_string());
    here.write(
        "model/config.json",
        "{\"model_type\": \"model2vec\", \"normalize\": false}",
    );
    let rows: [i8; 12] = [9, 9, 1, 0, 3, 0, 0, 4, 0, -1, 0, 7];
    let header = "{\"embeddings\":{\"dtype\":\"I8\",\"shape\":[6,2],\"data_offsets\":[0,12]}}";
    let length = (header.len() as u64).to_le_bytes();
    let rows = rows.map(i8::cast_unsigned);
    here.write(
        "model/model.safetensors",
        [&length[..], header.as_bytes(), &rows].concat(),
    );

    here.ir("encode model tiny -o docs.npy").ok();
    // "Tea Green tea leaves", "Coffee Black coffee and tea", "A river in winter": known words only.
    let expected = ndarray::array![[7.0 / 4.0, 1.0], [1.0, -2.0 / 3.0], [0.0, 0.0]];
    let expected = expected.mapv(|value: f64| f64::from(value as f32));
    assert_eq!(array(&here, "docs.npy"), expected);
    let described = here.ir("models inspect model").ok().out;
    for part in [
        "static-embedding: one vector of dimension 2 per token",
        "12 parameters",
        "WordLevel",
    ] {
        assert!(described.contains(part), "{described}");
    }
    // The zero vector has no cosine.
    here.ir("encode model tiny -o docs.ir --normalize true")
        .ok();
    let search = "search tiny --query 'green leaves' --vectors docs.ir --encoder model";
    here.ir(&format!("{search} --normalize true -o run")).ok();
    assert!(
        here.read("run").starts_with("1 Q0 d1 1 "),
        "{}",
        here.read("run")
    );
}
