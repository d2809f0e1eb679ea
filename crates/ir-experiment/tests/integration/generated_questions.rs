//! Generated questions as vectors of their documents.
#![cfg(feature = "dense")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use crate::common::{computed, run};
use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, RandomModel};
use ir_experiment::{Cache, Experiment, Stage};
use ir_qa::questions::RuleQuestions;
use serde_json::json;

const SENTENCES: [&str; 5] = [
    "The bridge was finished in 1890.",
    "Twelve teams won the cup.",
    "It was late.",
    "Paris is the capital of France.",
    "The tower was built by Romans.",
];

fn write(folder: &Path) {
    let line = |(n, text): (usize, &&str)| {
        json!({"_id": n.to_string(), "text": text, "metadata": {"context": text}}).to_string()
    };
    let corpus: Vec<String> = SENTENCES.iter().enumerate().map(line).collect();
    let data = folder.join("data");
    fs::create_dir_all(data.join("qrels")).unwrap();
    fs::write(data.join("corpus.jsonl"), corpus.join("\n")).unwrap();
    let query = |id: &str, text: &str| json!({"_id": id, "text": text}).to_string();
    let queries = [
        query("q", "When was the bridge finished?"),
        query("other", "Who won the cup?"),
    ];
    fs::write(data.join("queries.jsonl"), queries.join("\n")).unwrap();
    let qrels = "query-id\tcorpus-id\tscore\nq\t0\t1\nother\t1\t1\n";
    fs::write(data.join("qrels/test.tsv"), qrels).unwrap();
    let random = RandomModel::default().with_shape(32, 1, 2);
    random.create(folder.join("model"), &SENTENCES).unwrap();
    let text = r#"
        measures = ["RR"]
        [[tasks]]
        collection = "data"
        [encoders.m]
        model = "model"
        template = "{text}"
        [[systems]]
        name = "sentences"
        type = "dense"
        encoder = "m"
        [[systems]]
        name = "questions"
        type = "dense"
        encoder = "m"
        questions = "rules"
    "#;
    fs::write(folder.join("e.toml"), text).unwrap();
}

/// The score of a document is the maximum over its vector and those of its questions.
#[test]
fn documents_have_the_score_of_their_best_vector() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let encoder = BiEncoder::open(folder.path().join("model")).unwrap();
    let vector = |side, text: &str| encoder.encode(side, &[text]).unwrap();
    let query = vector(Side::Query, "When was the bridge finished?");
    let score = |side, text: &str| -> f32 {
        let vector = vector(side, text);
        let norm = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
        let dot: f32 = vector.iter().zip(&query).map(|(a, b)| a * b).sum();
        dot / norm(&vector) / norm(&query)
    };
    let rules = RuleQuestions::default();
    let mut raised = 0;
    let mut expected: Vec<(String, f32)> = Vec::new();
    for (n, text) in SENTENCES.iter().enumerate() {
        let of_text = score(Side::Document, text);
        let questions = rules.questions(text, text);
        let scores = questions.iter().map(|it| score(Side::Query, it));
        let best = scores.fold(of_text, f32::max);
        raised += usize::from(best > of_text);
        expected.push((n.to_string(), best));
    }
    assert!(raised > 0);
    expected.sort_by(|a, b| b.1.total_cmp(&a.1));

    let experiment = Experiment::open(folder.path().join("e.toml")).unwrap();
    let cache = Cache::temporary().unwrap();
    let (results, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Vectors), 2);
    let found = results.tasks[0].runs[1].get("q").unwrap();
    assert_eq!(found.len(), SENTENCES.len());
    for (found, (id, score)) in found.iter().zip(&expected) {
        assert_eq!(found.doc.as_str(), id);
        assert!((found.score as f32 - score).abs() < 1e-5, "{id}");
    }
    // The first question is the query, word by word.
    assert!((found[0].score as f32 - 1.0).abs() < 1e-5);
    let (_, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Vectors), 0);
}

#[test]
fn questions_need_an_encoder() {
    let text = r#"
        measures = ["RR"]
        [[tasks]]
        collection = "bundled"
        [[systems]]
        name = "saved"
        type = "dense"
        vectors = "d.ir"
        queries = "q.ir"
        questions = "rules"
    "#;
    let error = Experiment::from_toml(text).unwrap_err().to_string();
    let expected = "systems[0].questions: expected either vectors or questions, found both";
    assert!(error.contains(expected), "{error}");
}
