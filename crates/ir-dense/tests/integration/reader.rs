//! Extractive readers against transformers and PyTorch, by the files of `testdata/reader.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    apart, backend, copy_folder, on_default_backend, python, replace, testdata, tiny,
};
use ir_core::{AnswerSpan, Flow, NoProgress, Reader, ReaderInput};
use ir_dense::train::{
    LearningRateDecay, ReaderExample, ReaderTrainer, ReaderTrainingConfig, TrainError,
};
use ir_dense::{ExtractiveReader, Precision, ReaderConfig};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    limits: Limits,
    n_best: usize,
    cases: Vec<Case>,
    training: Training,
}

#[derive(Deserialize)]
struct Limits {
    max_tokens: usize,
    stride: usize,
    max_question_tokens: usize,
    max_answer_tokens: usize,
}

#[derive(Deserialize)]
struct Case {
    model: String,
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    question: String,
    context: String,
    windows: Vec<Window>,
    /// Start and end in characters, and the sum of the logits.
    spans: Vec<(usize, usize, f32)>,
}

#[derive(Deserialize)]
struct Window {
    ids: Vec<u32>,
    start: Vec<f32>,
    end: Vec<f32>,
}

#[derive(Deserialize)]
struct Training {
    windows: usize,
    examples: Vec<Example>,
    steps: Vec<Step>,
    after: std::collections::BTreeMap<String, Vec<f32>>,
}

#[derive(Deserialize)]
struct Example {
    question: String,
    context: String,
    answer: [usize; 2],
}

#[derive(Deserialize)]
struct Step {
    loss: f64,
    gradient: f64,
}

fn golden() -> Golden {
    let text = fs::read_to_string(testdata("reader.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn model(name: &str) -> PathBuf {
    testdata("reader").join(name)
}

fn config(limits: &Limits) -> ReaderConfig {
    ReaderConfig::default()
        .with_backend(backend())
        .with_max_tokens(limits.max_tokens)
        .with_stride(limits.stride)
        .with_max_question_tokens(limits.max_question_tokens)
        .with_max_answer_tokens(limits.max_answer_tokens)
}

fn bert() -> ExtractiveReader {
    ExtractiveReader::open_with(model("bert"), &config(&golden().limits)).unwrap()
}

fn inputs(case: &Case) -> Vec<ReaderInput<'_>> {
    let inputs = case.inputs.iter();
    inputs
        .map(|it| ReaderInput::new(&it.question, &it.context))
        .collect()
}

/// Equal windows, logits within 1e-4, and the spans of an exhaustive search.
#[test]
fn logits_and_spans_equal_transformers() {
    let golden = golden();
    for case in &golden.cases {
        let reader =
            ExtractiveReader::open_with(model(&case.model), &config(&golden.limits)).unwrap();
        for input in &case.inputs {
            let found = reader.logits(&input.question, &input.context).unwrap();
            let ids: Vec<&Vec<u32>> = found.iter().map(|window| &window.ids).collect();
            let expected: Vec<&Vec<u32>> = input.windows.iter().map(|it| &it.ids).collect();
            assert_eq!(ids, expected, "{}: {:?}", case.model, input.question);
            for (found, window) in found.iter().zip(&input.windows) {
                let difference =
                    apart(&found.start, &window.start).max(apart(&found.end, &window.end));
                assert!(difference < 1e-4, "{}: {difference}", case.model);
            }
        }
        let spans = reader.read(&inputs(case), golden.n_best).unwrap();
        for (input, found) in case.inputs.iter().zip(&spans) {
            let places = |it: &AnswerSpan| (it.characters.start, it.characters.end);
            let expected = input.spans.iter().map(|&(start, end, _)| (start, end));
            let expected: Vec<(usize, usize)> = expected.collect();
            let message = format!("{}: {:?}", case.model, input.question);
            assert_eq!(
                found.iter().map(places).collect::<Vec<_>>(),
                expected,
                "{message}"
            );
            let scores: Vec<f32> = found.iter().map(|span| span.score).collect();
            let expected: Vec<f32> = input.spans.iter().map(|it| it.2).collect();
            assert!(apart(&scores, &expected) < 1e-4, "{message}");
        }
    }
    let windows = golden.cases.iter().flat_map(|case| &case.inputs);
    assert!(windows.map(|input| input.windows.len()).max().unwrap() > 3);
}

/// Other batches, other inputs and one thread do not change a bit.
#[test]
fn scores_depend_on_the_input_alone() {
    if !on_default_backend() {
        return;
    }
    let golden = golden();
    let case = &golden.cases[0];
    let whole = bert().read(&inputs(case), 100).unwrap();
    let small = config(&golden.limits).with_batch_tokens(1);
    let small = ExtractiveReader::open_with(model("bert"), &small).unwrap();
    assert_eq!(small.read(&inputs(case), 100).unwrap(), whole);
    for (input, expected) in inputs(case).into_iter().zip(&whole) {
        assert_eq!(&bert().read(&[input], 100).unwrap()[0], expected);
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let single = pool.install(|| bert().read(&inputs(case), 100).unwrap());
    assert_eq!(single, whole);
}

#[test]
fn spans_lie_in_the_range() {
    let reader = bert();
    let context = "日本語 tea. The ship, seen by radar. Green tea at sea.";
    let all = reader
        .read(&[ReaderInput::new("tea", context)], 1000)
        .unwrap();
    let range = 8..32;
    let input = ReaderInput::new("tea", context).within(range.clone());
    let within = reader.read(&[input], 1000).unwrap();
    let inside = |span: &&AnswerSpan| {
        span.characters.start >= range.start && span.characters.end <= range.end
    };
    let expected: Vec<AnswerSpan> = all[0].iter().filter(inside).cloned().collect();
    assert!(expected.len() > 10 && expected.len() < all[0].len());
    assert_eq!(within[0], expected);
    assert!(all[0].iter().any(|span| span.text(context) == "語 tea"));

    let beyond = ReaderInput::new("tea", context).within(500..600);
    assert!(reader.read(&[beyond], 3).unwrap()[0].is_empty());
    assert!(reader.read(&[], 3).unwrap().is_empty());
    assert!(reader.read(&[ReaderInput::new("tea", "")], 3).unwrap()[0].is_empty());
    let none = reader.read(&[ReaderInput::new("tea", context)], 0).unwrap();
    assert!(none[0].is_empty());
}

/// The threshold is compared with the score less the lowest score of [CLS].
#[test]
fn unanswerable_questions_have_no_span() {
    let golden = golden();
    let input = &golden.cases[0].inputs[2];
    let null = input.windows.iter().map(|it| it.start[0] + it.end[0]);
    let null = null.fold(f32::INFINITY, f32::min);
    let second = input.spans[1].2 - null;
    let config = config(&golden.limits).with_no_answer_threshold(second + 1e-3);
    let reader = ExtractiveReader::open_with(model("bert"), &config).unwrap();
    let asked = ReaderInput::new(&input.question, &input.context);
    assert_eq!(
        reader.read(std::slice::from_ref(&asked), 6).unwrap()[0].len(),
        1
    );
    let config = config.with_no_answer_threshold(100.0);
    let reader = ExtractiveReader::open_with(model("bert"), &config).unwrap();
    assert!(reader.read(&[asked], 6).unwrap()[0].is_empty());
}

#[test]
fn errors_name_file_expected_and_found() {
    let error = |folder: &Path, config: &ReaderConfig| {
        let error = ExtractiveReader::open_with(folder, config)
            .unwrap_err()
            .to_string();
        error.replace(&folder.display().to_string(), "F")
    };
    let default = ReaderConfig::default();
    assert_eq!(
        error(&tiny("bert"), &default),
        "F/model.safetensors: the model is without the tensor qa_outputs.weight, expected a model \
         with a span head (BertForQuestionAnswering), which training a reader adds"
    );
    assert_eq!(
        error(&model("bert"), &default.clone().with_max_tokens(33)),
        "F/config.json: max_tokens is 33, expected at most 32, the positions of the model"
    );
    assert_eq!(
        error(&model("bert"), &default.clone().with_stride(20)),
        "F/config.json: max_tokens is 32, expected 34 or more: 3 special tokens, 10 of the \
         question, 20 that windows share, and one more"
    );
    assert_eq!(
        error(&model("bert"), &default.clone().with_max_answer_tokens(0)),
        "F/config.json: max_answer_tokens is 0, expected 1 or more"
    );
    let broken = copy_folder(&model("bert"));
    replace(
        broken.path(),
        "config.json",
        "\"type_vocab_size\": 2",
        "\"type_vocab_size\": 1",
    );
    assert_eq!(
        error(broken.path(), &default),
        "F/config.json: type_vocab_size is 1, expected 2 or more, for pairs of texts"
    );
}

#[test]
fn saved_reader_reads_the_same() {
    let golden = golden();
    for case in &golden.cases {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&golden.limits);
        let reader = ExtractiveReader::open_with(model(&case.model), &config).unwrap();
        let saved = folder.path().join("saved");
        reader.save(&saved).unwrap();
        let again = ExtractiveReader::open_with(&saved, &config).unwrap();
        let [first, second] = [&reader, &again].map(|it| it.read(&inputs(case), 5).unwrap());
        assert_eq!(first, second);
        assert!(reader.save(&saved).is_err(), "overwrites");
    }
}

/// transformers computes the same logits with a saved folder.
#[test]
fn transformers_reads_saved_readers() {
    const PROGRAM: &str = "
import json, sys, torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer
question, context = json.loads(sys.argv[2])
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model, info = AutoModelForQuestionAnswering.from_pretrained(sys.argv[1], output_loading_info=True)
assert not info['missing_keys'] and not info['unexpected_keys'], info
out = model.eval()(**tokenizer(question, context, return_tensors='pt'))
print(json.dumps([out.start_logits[0].tolist(), out.end_logits[0].tolist()]))
";
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("saved");
    bert().save(&saved).unwrap();
    let texts = ["tea", "green tea at sea"];
    let output = crate::common::run_python(&python, PROGRAM, &saved, &texts);
    let expected: [Vec<f32>; 2] = serde_json::from_slice(&output).unwrap();
    let found = bert().logits(texts[0], texts[1]).unwrap();
    assert!(apart(&found[0].start, &expected[0]) < 1e-4);
    assert!(apart(&found[0].end, &expected[1]) < 1e-4);
}

fn training_config(golden: &Golden) -> ReaderTrainingConfig {
    let mut training = ReaderTrainingConfig::default();
    training.reader = config(&golden.limits);
    training.epochs = golden.training.steps.len() as u64;
    training.batch_size = golden.training.windows;
    training.dropout = 0.0;
    training.learning_rate = 2e-3;
    // 20 % of 10 steps.
    training.schedule.warmup_ratio = 0.2;
    training.optimizer.epsilon = 1e-6;
    training.optimizer.weight_decay = 0.05;
    training
}

fn examples(golden: &Golden) -> Vec<ReaderExample> {
    let examples = golden.training.examples.iter();
    let example = |it: &Example| {
        let [start, end] = it.answer;
        ReaderExample::new(&*it.question, &*it.context, start..end)
    };
    examples.map(example).collect()
}

/// Loss and gradient norm of every step, and weights after the last.
#[test]
fn training_equals_pytorch() {
    let golden = golden();
    for mini_batch_size in [None, Some(3)] {
        let mut config = training_config(&golden);
        config.mini_batch_size = mini_batch_size;
        let trainer = ReaderTrainer::open(model("bert"), &config).unwrap();
        let trained = trainer.train(&examples(&golden), &mut NoProgress).unwrap();
        assert_eq!(
            (trained.windows, trained.cut_answers),
            (golden.training.windows, 0)
        );
        assert_eq!(trained.history.steps.len(), golden.training.steps.len());
        for (found, expected) in trained.history.steps.iter().zip(&golden.training.steps) {
            let message = format!("step {}", found.step);
            assert!((found.loss - expected.loss).abs() < 1e-4, "{message}");
            let norms = found.gradient_norm / expected.gradient;
            assert!((norms - 1.0).abs() < 1e-3, "{message}: {norms}");
        }
        let folder = tempfile::tempdir().unwrap();
        let saved = folder.path().join("saved");
        trained.reader.save(&saved).unwrap();
        let bytes = fs::read(saved.join("model.safetensors")).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        for (name, expected) in &golden.training.after {
            let (values, _) = file.tensor(name).unwrap().data().as_chunks::<4>();
            let values: Vec<f32> = values.iter().map(|&it| f32::from_le_bytes(it)).collect();
            let difference = apart(&values, expected);
            assert!(difference < 1e-4, "{name}: {difference}");
        }
    }
}

/// A model without a head learns its examples, in every window.
#[test]
fn training_learns_its_examples() {
    let golden = golden();
    let mut config = training_config(&golden);
    config.epochs = 120;
    config.reader.max_answer_tokens = 10;
    config.batch_size = 4;
    config.learning_rate = 5e-3;
    config.schedule.decay = LearningRateDecay::Linear;
    let trainer = ReaderTrainer::open(tiny("bert-pytorch"), &config).unwrap();
    let trained = trainer.train(&examples(&golden), &mut NoProgress).unwrap();
    let steps = &trained.history.steps;
    assert!(steps.last().unwrap().loss < steps[0].loss / 20.0);
    for example in &golden.training.examples {
        let [start, end] = example.answer;
        let input = ReaderInput::new(&example.question, &example.context);
        let spans = trained.reader.read(&[input], 1).unwrap();
        assert_eq!(spans[0][0].characters, start..end, "{}", example.question);
    }
}

/// Same bytes on any number of threads, with dropout; another seed differs.
#[test]
fn training_is_deterministic() {
    if !on_default_backend() {
        return;
    }
    let golden = golden();
    let train = |threads: usize, seed: u64, precision: Precision| {
        let mut config = training_config(&golden);
        (config.batch_size, config.dropout, config.seed) = (3, 0.1, seed);
        config.precision = precision;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let trained = pool.install(|| {
            let trainer = ReaderTrainer::open(tiny("bert-pytorch"), &config).unwrap();
            trainer.train(&examples(&golden), &mut NoProgress).unwrap()
        });
        let folder = tempfile::tempdir().unwrap();
        trained.reader.save(folder.path().join("saved")).unwrap();
        fs::read(folder.path().join("saved/model.safetensors")).unwrap()
    };
    let [first, bf16] = [Precision::F32, Precision::Bf16].map(|precision| {
        let first = train(1, 1, precision);
        assert!(train(4, 1, precision) == first, "threads: {precision}");
        assert!(train(1, 2, precision) != first, "seed: {precision}");
        first
    });
    assert!(bf16 != first, "bf16 has no effect");
}

/// Losses in bf16 beside those of f32.
#[test]
fn training_in_bf16() {
    if !on_default_backend() {
        return;
    }
    let golden = golden();
    let losses = [Precision::F32, Precision::Bf16].map(|precision| {
        let mut config = training_config(&golden);
        config.precision = precision;
        let trainer = ReaderTrainer::open(model("bert"), &config).unwrap();
        let trained = trainer.train(&examples(&golden), &mut NoProgress).unwrap();
        let steps = trained.history.steps.into_iter();
        steps.map(|step| step.loss).collect::<Vec<f64>>()
    });
    for (f32, bf16) in losses[0].iter().zip(&losses[1]) {
        assert!((f32 / bf16 - 1.0).abs() < 0.02, "{losses:?}");
    }
    assert_ne!(losses[0], losses[1]);
}

/// A training that is interrupted after every number of steps and resumes has the bytes of an
/// undisturbed one.
#[test]
fn interrupted_training_resumes() {
    if !on_default_backend() {
        return;
    }
    let golden = golden();
    let mut config = training_config(&golden);
    (config.batch_size, config.dropout, config.epochs) = (3, 0.1, 3);
    let data = examples(&golden);
    let open = || ReaderTrainer::open(tiny("bert-pytorch"), &config).unwrap();
    let bytes = |trained: &ir_dense::train::ReaderTrainingResult| {
        let folder = tempfile::tempdir().unwrap();
        trained.reader.save(folder.path().join("saved")).unwrap();
        fs::read(folder.path().join("saved/model.safetensors")).unwrap()
    };
    let whole = open().train(&data, &mut NoProgress).unwrap();
    let steps = whole.history.steps.len() as u64;
    assert!(steps >= 6, "{steps}");
    assert_eq!(open().fingerprint(&data), whole.fingerprint);
    let checkpoints = tempfile::tempdir().unwrap();
    let resumable = || open().with_checkpoints(checkpoints.path());
    // Interruptions after 2, 3 and 5 steps: within an epoch and at its end.
    for end in [2, 3, 5] {
        let mut first = None;
        let mut stop = |_: &str, done: u64, _: Option<u64>| {
            first.get_or_insert(done);
            match done {
                _ if done < end => Flow::Continue,
                _ => Flow::Stop,
            }
        };
        let error = resumable().train(&data, &mut stop).unwrap_err();
        assert!(
            matches!(error, TrainError::Stopped { step, .. } if step == end),
            "{error}"
        );
        let expected = [0, 0, 0, 2, 0, 3][end as usize];
        assert_eq!(first, Some(expected), "resumed from the last step");
    }
    let resumed = resumable().train(&data, &mut NoProgress).unwrap();
    assert_eq!(resumed.history, whole.history);
    assert_eq!(resumed.fingerprint, whole.fingerprint);
    assert!(
        bytes(&resumed) == bytes(&whole),
        "resuming changes the weights"
    );
    // A killed run resumes from the last checkpoint, which is written every two steps.
    let file = checkpoints.path().join("checkpoint.safetensors");
    fs::remove_file(&file).unwrap();
    let kept = tempfile::tempdir().unwrap();
    let mut keep = |_: &str, done: u64, _: Option<u64>| {
        if done == 5 {
            fs::copy(&file, kept.path().join("checkpoint.safetensors")).unwrap();
        }
        Flow::Continue
    };
    let trainer = resumable().with_checkpoint_every(2);
    trainer.train(&data, &mut keep).unwrap();
    let mut first = None;
    let mut watch = |_: &str, done: u64, _: Option<u64>| {
        first.get_or_insert(done);
        Flow::Continue
    };
    let trainer = open().with_checkpoints(kept.path());
    let resumed = trainer.train(&data, &mut watch).unwrap();
    assert_eq!(first, Some(4));
    assert!(
        bytes(&resumed) == bytes(&whole),
        "a killed run changes the weights"
    );
}

#[test]
fn checkpoints_of_other_trainings_are_rejected() {
    let golden = golden();
    let config = training_config(&golden);
    let data = examples(&golden);
    let folder = tempfile::tempdir().unwrap();
    let train = |config: &ReaderTrainingConfig, model: PathBuf, data: &[ReaderExample]| {
        let trainer = ReaderTrainer::open(model, config).unwrap();
        trainer
            .with_checkpoints(folder.path())
            .train(data, &mut NoProgress)
    };
    train(&config, model("bert"), &data).unwrap();
    // A complete checkpoint: nothing is trained again.
    train(&config, model("bert"), &data).unwrap();
    let field = |result: Result<_, TrainError>| match result {
        Err(TrainError::OtherConfiguration { field, .. }) => field,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("expected an error"),
    };
    let mut other = config.clone();
    other.learning_rate *= 2.0;
    assert_eq!(field(train(&other, model("bert"), &data)), "learning_rate");
    assert_eq!(
        field(train(&config, model("bert"), &data[1..])),
        "training_data"
    );
    let mut moved = data.clone();
    let answer = moved[0].answer.as_mut().unwrap();
    answer.end -= 1;
    assert_eq!(
        field(train(&config, model("bert"), &moved)),
        "training_data"
    );
    let other = tiny("bert-pytorch");
    assert_eq!(field(train(&config, other, &data)), "weights");
    // A wrong bit.
    let file = folder.path().join("checkpoint.safetensors");
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&file, bytes).unwrap();
    let error = train(&config, model("bert"), &data).unwrap_err();
    assert!(matches!(error, TrainError::Damaged { .. }), "{error}");
}

#[test]
fn errors_of_training() {
    let golden = golden();
    let config = training_config(&golden);
    let open = || ReaderTrainer::open(model("bert"), &config).unwrap();
    assert!(matches!(
        open().train(&[], &mut NoProgress),
        Err(TrainError::Empty)
    ));
    let train = |example| {
        open()
            .train(&[example], &mut NoProgress)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        train(ReaderExample::new("tea", "grün", 2..5)),
        "training example 0: the answer is at 2..5, expected a span that is not empty in the 4 \
         characters of its context"
    );
    assert!(train(ReaderExample::new("tea", "tea", 1..1)).contains("is at 1..1"));
    let mut stop = |_: &str, done: u64, _: Option<u64>| match done {
        0..3 => Flow::Continue,
        _ => Flow::Stop,
    };
    let error = open().train(&examples(&golden), &mut stop).unwrap_err();
    assert_eq!(error.to_string(), "stopped after 3 of 10 steps");
    let mut bad = config.clone();
    bad.learning_rate = 0.0;
    let error = ReaderTrainer::open(model("bert"), &bad).unwrap_err();
    assert_eq!(error.to_string(), "learning_rate is 0, expected above 0");
    let mut bad = config.clone();
    bad.precision = Precision::Int8;
    let error = ReaderTrainer::open(model("bert"), &bad).unwrap_err();
    assert_eq!(error.to_string(), "precision is int8, expected f32 or bf16");
    // An answer longer than the window.
    let long = "tea ".repeat(40);
    let trained = open().train(
        &[ReaderExample::new(
            "tea",
            &*long,
            0..long.trim_end().chars().count(),
        )],
        &mut NoProgress,
    );
    assert_eq!(trained.unwrap().cut_answers, 1);
}
