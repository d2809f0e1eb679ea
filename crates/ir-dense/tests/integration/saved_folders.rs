//! Saved folders: maximum lengths, similarity function, towers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::path::Path;

use crate::common::{config, copy_of, examples, on_backend, tiny};
use ir_core::{Encoder, NoProgress, Side, VectorSimilarity};
use ir_dense::train::Trainer;
use ir_dense::{BiEncoder, EncoderConfig, ModelError, SideConfig};

const TEXTS: [&str; 2] = [
    "a ship at sea",
    "green tea and the radar, seen at sea by a black ship, seen at sea by a black ship",
];

fn both(encoder: &BiEncoder) -> [Vec<f32>; 2] {
    [Side::Query, Side::Document].map(|side| encoder.encode(side, &TEXTS).unwrap())
}

fn limits(query: usize, document: usize) -> EncoderConfig {
    let side = |limit| SideConfig::default().with_max_tokens(limit);
    let config = on_backend().with_query(side(query));
    config.with_document(side(document))
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn saved_encoder_equals_evaluated_encoder() {
    for similarity in [VectorSimilarity::Cosine, VectorSimilarity::InnerProduct] {
        let mut config = config();
        config.encoder = limits(5, 12);
        config.similarity = similarity;
        let mut measured = None;
        let mut measure = |encoder: &BiEncoder, step: u64| {
            measured = Some(both(encoder));
            Ok(step as f64)
        };
        let trainer = Trainer::open(tiny("bert-pytorch"), &config).unwrap();
        let trained = trainer
            .train_and_evaluate(&examples(), &mut measure, &mut NoProgress)
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("model");
        trained.encoder.save(&model).unwrap();
        let opened = BiEncoder::open_with(&model, &on_backend()).unwrap();
        let measured = measured.unwrap();
        assert_eq!(both(&opened), measured);
        assert_eq!(opened.similarity(), Some(similarity));
        for (side, limit) in [(Side::Query, 5), (Side::Document, 12)] {
            assert_eq!(opened.token_ids(side, TEXTS[1]).unwrap().len(), limit);
        }
        // The caller's configuration has priority; sentence-transformers has the larger length.
        let other = BiEncoder::open_with(&model, &limits(7, 9)).unwrap();
        assert_eq!(other.token_ids(Side::Query, TEXTS[1]).unwrap().len(), 7);
        let longest = json(&model.join("sentence_bert_config.json"));
        assert_eq!(longest["max_seq_length"], 12);
        let name = &json(&model.join("config_sentence_transformers.json"))["similarity_fn_name"];
        // Names of sentence-transformers.
        let expected = match similarity {
            VectorSimilarity::Cosine => "cosine",
            _ => "dot",
        };
        assert_eq!(*name, expected);
        // Saving again preserves everything.
        let again = folder.path().join("again");
        opened.save(&again).unwrap();
        let again = BiEncoder::open_with(&again, &on_backend()).unwrap();
        assert_eq!(both(&again), measured);
        assert_eq!(again.similarity(), Some(similarity));
    }
}

#[test]
fn saves_and_opens_two_towers() {
    let mut config = config();
    config.encoder = limits(6, 11);
    let from = tiny("distilbert");
    let trainer = Trainer::open_untied(&from, &from, &config).unwrap();
    let trained = trainer.train(&examples(), &mut NoProgress).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    trained.encoder.save(&model).unwrap();
    let expected = both(&trained.encoder);
    assert_ne!(expected[0], expected[1]);
    let opened = BiEncoder::open_with(&model, &on_backend()).unwrap();
    assert_eq!(both(&opened), expected);
    assert_eq!(opened.similarity(), Some(VectorSimilarity::Cosine));
    // Training a folder with two towers.
    let mut still = config.clone();
    (still.encoder, still.learning_rate) = (on_backend(), 1e-30);
    let trained = Trainer::open(&model, &still).unwrap();
    let trained = trained.train(&examples(), &mut NoProgress).unwrap();
    assert_eq!(both(&trained.encoder), expected);

    // Towers with different similarity functions.
    let path = model.join("document/config_sentence_transformers.json");
    fs::write(&path, r#"{"similarity_fn_name": "dot"}"#).unwrap();
    match BiEncoder::open(&model).unwrap_err() {
        ModelError::Setting { field, found, .. } => {
            assert_eq!((&*field, &*found), ("similarity_fn_name", "dot"));
        }
        other => panic!("{other:?}"),
    }
    fs::remove_dir_all(model.join("query")).unwrap();
    let error = BiEncoder::open(&model).unwrap_err();
    assert!(error.to_string().ends_with("has no config.json"), "{error}");
}

#[test]
fn reads_similarity_functions() {
    let copy = copy_of("bert");
    let path = copy.path().join("config_sentence_transformers.json");
    let open = || BiEncoder::open(copy.path());
    assert_eq!(open().unwrap().similarity(), None);
    for (text, expected) in [
        // The default of sentence-transformers.
        ("null", Some(VectorSimilarity::Cosine)),
        ("\"dot\"", Some(VectorSimilarity::InnerProduct)),
        ("\"cosine\"", Some(VectorSimilarity::Cosine)),
    ] {
        fs::write(&path, format!("{{\"similarity_fn_name\": {text}}}")).unwrap();
        assert_eq!(open().unwrap().similarity(), expected);
    }
    let set = open()
        .unwrap()
        .with_similarity(VectorSimilarity::InnerProduct);
    assert_eq!(set.similarity(), Some(VectorSimilarity::InnerProduct));
    let distance = ": an order by distance is not supported";
    for (name, reason) in [
        ("nearness", ""),
        ("euclidean", distance),
        ("manhattan", distance),
    ] {
        fs::write(&path, format!(r#"{{"similarity_fn_name": "{name}"}}"#)).unwrap();
        let error = open().unwrap_err().to_string();
        let end = format!("similarity_fn_name is {name}, expected cosine or dot{reason}");
        assert!(error.ends_with(&end), "{error}");
    }
}

#[test]
fn rejects_invalid_length_limits() {
    let copy = copy_of("bert");
    for (text, end) in [
        (r#"{"version": 2}"#, "version is 2, expected 1"),
        (
            r#"{"query": {"max_tokens": 3}}"#,
            "version is null, expected 1",
        ),
        (r#"[]"#, "version is null, expected 1"),
        (
            r#"{"version": 1, "query": {"max_tokens": 2}}"#,
            "query.max_tokens is 2, expected 3 or more: the special tokens and one more",
        ),
        (
            r#"{"version": 1, "document": {"max_tokens": 33}}"#,
            "document.max_tokens is 33, expected at most 32, the positions of the model",
        ),
        (
            r#"{"version": 1, "document": {"prefix": "x"}}"#,
            "ir_dense.json: document.prefix is invalid",
        ),
    ] {
        fs::write(copy.path().join("ir_dense.json"), text).unwrap();
        let error = BiEncoder::open(copy.path()).unwrap_err().to_string();
        assert!(
            error.contains("ir_dense.json") && error.ends_with(end),
            "{error}"
        );
    }
}

#[test]
fn max_length_defaults_to_the_tokenizer() {
    let copy = copy_of("bert");
    let long = "sea ".repeat(100);
    let found = |settings: &str, limits: Option<&str>| {
        fs::write(copy.path().join("tokenizer_config.json"), settings).unwrap();
        let path = copy.path().join("sentence_bert_config.json");
        match limits {
            Some(text) => fs::write(&path, text).unwrap(),
            None => drop(fs::remove_file(&path)),
        }
        let encoder = BiEncoder::open(copy.path()).map_err(|error| error.to_string())?;
        Ok::<usize, String>(encoder.token_ids(Side::Query, &long).unwrap().len())
    };
    assert_eq!(found("{}", None), Ok(32));
    assert_eq!(found(r#"{"model_max_length": 10}"#, None), Ok(10));
    let endless = r#"{"model_max_length": 1000000000000000019884624838656}"#;
    assert_eq!(found(endless, None), Ok(32));
    let ten = r#"{"model_max_length": 10}"#;
    assert_eq!(found(ten, Some(r#"{"max_seq_length": 20}"#)), Ok(20));
    assert_eq!(found(ten, Some(r#"{"max_seq_length": null}"#)), Ok(10));
    let error = found(ten, Some(r#"{"max_seq_length": 0}"#)).unwrap_err();
    let expected = "sentence_bert_config.json: max_seq_length is 0, expected 3 or more: the special \
                    tokens and one more";
    assert!(error.ends_with(expected), "{error}");
    let error = found(r#"{"model_max_length": "long"}"#, None).unwrap_err();
    assert!(
        error.contains("tokenizer_config.json: model_max_length is \"long\""),
        "{error}"
    );
}

#[test]
fn folders_of_killed_processes_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    // An unfinished folder of a process with a number above the largest of Linux.
    let left = folder.path().join(".model.4194999.3.tmp");
    fs::create_dir_all(left.join("1_Pooling")).unwrap();
    fs::write(left.join("model.safetensors"), "half").unwrap();
    let encoder = BiEncoder::open_with(tiny("bert"), &on_backend()).unwrap();
    encoder.save(folder.path().join("model")).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
