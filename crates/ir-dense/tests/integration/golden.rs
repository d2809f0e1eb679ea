//! Encoders against transformers and sentence-transformers, by the files of `testdata/golden.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use crate::common::{apart, minilm, on_backend, testdata, tiny};
use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, KnownModel, Pooling, TokenBatch};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    texts: Vec<String>,
    cases: Vec<Case>,
    poolings: Vec<Pooled>,
    #[serde(rename = "all-MiniLM-L6-v2")]
    minilm: Embedded,
}

#[derive(Deserialize)]
struct Case {
    model: String,
    limit: usize,
    ids: Vec<Vec<u32>>,
    hidden: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Pooled {
    pooling: String,
    normalize: bool,
    vectors: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Embedded {
    ids: Vec<Vec<u32>>,
    vectors: Vec<Vec<f32>>,
}

fn golden() -> Golden {
    let text = std::fs::read_to_string(testdata("golden.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn texts(golden: &Golden) -> Vec<&str> {
    golden.texts.iter().map(String::as_str).collect()
}

/// All architectures and weight formats: equal token ids, hidden states within 1e-4.
#[test]
fn hidden_states_equal_transformers() {
    let golden = golden();
    for case in &golden.cases {
        let config = on_backend().with_max_tokens(case.limit);
        let encoder = BiEncoder::open_with(tiny(&case.model), &config).unwrap();
        let model = encoder.tower(Side::Query).transformer().unwrap();
        let expected = case.ids.iter().zip(&case.hidden);
        for (text, (ids, hidden)) in golden.texts.iter().zip(expected) {
            let found = encoder.token_ids(Side::Query, text).unwrap();
            assert_eq!(&found, ids, "{}: {text:?}", case.model);
            let states = model.forward(&TokenBatch::new(&[found])).into_data();
            let difference = apart(states.as_slice().unwrap(), hidden);
            assert!(
                difference < 1e-4,
                "{}: {text:?} is {difference} away",
                case.model
            );
        }
        // In one batch, without and with padding.
        let all: Vec<f32> = case.hidden.concat();
        let states = model.forward(&TokenBatch::new(&case.ids)).into_data();
        assert!(
            apart(states.as_slice().unwrap(), &all) < 1e-4,
            "{}",
            case.model
        );
        let longest = case.ids.iter().map(Vec::len).max().unwrap();
        let states = model.forward(&TokenBatch::padded(&case.ids, 0)).into_data();
        let dim = model.config().hidden_size;
        let rows = states.as_slice::<f32>().unwrap().chunks(longest * dim);
        for (row, hidden) in rows.zip(&case.hidden) {
            assert!(
                apart(&row[..hidden.len()], hidden) < 1e-4,
                "{} padded",
                case.model
            );
        }
    }
    let models: Vec<&str> = golden.cases.iter().map(|case| &case.model[..]).collect();
    let all = [
        "bert",
        "bert-f16",
        "bert-bf16",
        "bert-pytorch",
        "distilbert",
        "roberta",
        "mpnet",
    ];
    assert_eq!(models, all);
}

#[test]
fn poolings_equal_sentence_transformers() {
    let golden = golden();
    for case in &golden.poolings {
        let pooling = match &case.pooling[..] {
            "cls" => Pooling::Cls,
            "mean" => Pooling::Mean,
            "max" => Pooling::Max,
            "mean_sqrt_len_tokens" => Pooling::MeanSqrt,
            other => panic!("{other}"),
        };
        let config = on_backend()
            .with_pooling(pooling)
            .with_normalize(case.normalize)
            .with_max_tokens(16);
        let encoder = BiEncoder::open_with(tiny("bert-pytorch"), &config).unwrap();
        let vectors = encoder.encode(Side::Query, &texts(&golden)).unwrap();
        let difference = apart(&vectors, &case.vectors.concat());
        assert!(
            difference < 1e-5,
            "{} {}: {difference}",
            case.pooling,
            case.normalize
        );

        let rows: Vec<Vec<u32>> = golden
            .texts
            .iter()
            .map(|text| encoder.token_ids(Side::Query, text).unwrap())
            .collect();
        let tower = encoder.tower(Side::Query);
        let batch = TokenBatch::padded(&rows, 0);
        let states = tower.transformer().unwrap().forward(&batch);
        let padded = tower.pool(states, &batch).into_data();
        let difference = apart(padded.as_slice().unwrap(), &case.vectors.concat());
        assert!(
            difference < 1e-5,
            "{} {} padded: {difference}",
            case.pooling,
            case.normalize
        );
    }
    assert_eq!(golden.poolings.len(), 8);
}

#[test]
fn minilm_equals_sentence_transformers() {
    let Some(folder) = minilm() else { return };
    let golden = golden();
    let encoder = BiEncoder::open_with(folder, &on_backend()).unwrap();
    // The catalog agrees with the model's files.
    let (known, tower) = (
        KnownModel::find("all-MiniLM-L6-v2").unwrap(),
        encoder.tower(Side::Query),
    );
    assert_eq!(
        (known.dim, known.max_tokens),
        (encoder.dim(), tower.max_tokens)
    );
    assert_eq!(
        (&known.pooling.into(), known.normalize),
        (&tower.pooling, tower.normalize)
    );
    assert_eq!(known.query_prefix, tower.prompt(Side::Query));
    assert_eq!(known.document_prefix, tower.prompt(Side::Document));
    for (text, ids) in golden.texts.iter().zip(&golden.minilm.ids) {
        assert_eq!(
            &encoder.token_ids(Side::Document, text).unwrap(),
            ids,
            "{text:?}"
        );
    }
    let vectors = encoder.encode(Side::Document, &texts(&golden)).unwrap();
    let difference = apart(&vectors, &golden.minilm.vectors.concat());
    assert!(difference < 1e-5, "{difference}");
}
