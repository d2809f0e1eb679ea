//! Cross-encoders: windows, precisions, explanations, saved folders, invalid input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{
    apart, copy_folder, copy_tree, on_default_backend, python, replace, run_python, testdata, tiny,
};
use ir_core::{Candidate, Reranker};
use ir_dense::{BiEncoder, CrossEncoder, CrossEncoderConfig, Precision, RandomModel, Windows};
use safetensors_of::{rename_tensor, scale_tensor};

const QUERY: &str = "green tea";
const TEXTS: [&str; 5] = [
    "Green tea is grown on hills; black tea is the same leaf, dried longer.",
    "",
    "The ship crossed the bay before the storm. The ship crossed the bay before the storm. The ship \
     crossed the bay before the storm. Green tea. The ship crossed the bay before the storm. The \
     ship crossed the bay before the storm.",
    "Radar and sonar measure distance.",
    "😀 ships 🚢 and tea",
];
/// Index in `TEXTS` of a document that does not fit the models.
const LONG: usize = 2;

fn folder(name: &str) -> PathBuf {
    testdata("cross-encoders").join(name)
}

fn candidates() -> Vec<Candidate<'static>> {
    let ids = ["a", "b", "c", "d", "e"];
    ids.iter()
        .zip(TEXTS)
        .map(|(id, text)| Candidate::new(id, text))
        .collect()
}

fn scores(model: &CrossEncoder) -> Vec<f32> {
    let scores = model.scores(QUERY, &candidates()).unwrap();
    scores.into_iter().map(Option::unwrap).collect()
}

/// Error of opening a folder, and its sources.
fn error(folder: &Path, config: &CrossEncoderConfig) -> String {
    let error = CrossEncoder::open_with(folder, config).unwrap_err();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

/// Changes of weight files.
mod safetensors_of {
    use std::fs;
    use std::path::Path;

    fn parts(path: &Path) -> (serde_json::Map<String, serde_json::Value>, Vec<u8>) {
        let bytes = fs::read(path).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        (header, bytes[8 + length..].to_vec())
    }

    fn write(path: &Path, header: serde_json::Map<String, serde_json::Value>, data: &[u8]) {
        let header = serde_json::to_vec(&header).unwrap();
        let length = (header.len() as u64).to_le_bytes();
        fs::write(path, [&length[..], &header, data].concat()).unwrap();
    }

    pub(super) fn rename_tensor(folder: &Path, from: &str, to: &str) {
        let path = folder.join("model.safetensors");
        let (mut header, data) = parts(&path);
        let entry = header.remove(from).unwrap();
        header.insert(to.to_owned(), entry);
        write(&path, header, &data);
    }

    /// Multiplies the elements of a tensor.
    pub(super) fn scale_tensor(folder: &Path, name: &str, factor: f32) {
        let path = folder.join("model.safetensors");
        let (header, mut data) = parts(&path);
        let offsets = &header[name]["data_offsets"];
        let [from, to] = [0, 1].map(|at| offsets[at].as_u64().unwrap() as usize);
        for element in data[from..to].chunks_exact_mut(4) {
            let value = f32::from_le_bytes(element.try_into().unwrap());
            element.copy_from_slice(&(value * factor).to_le_bytes());
        }
        write(&path, header, &data);
    }
}

#[test]
fn scores_do_not_depend_on_order_and_batch() {
    if !on_default_backend() {
        return;
    }
    for name in ["bert", "modernbert", "qwen3-reranker-short"] {
        for precision in Precision::ALL {
            let config = CrossEncoderConfig::default().with_precision(precision);
            let model = CrossEncoder::open_with(folder(name), &config).unwrap();
            let expected = scores(&model);
            let mut reversed = candidates();
            reversed.reverse();
            let mut found = model.scores(QUERY, &reversed).unwrap();
            found.reverse();
            let found: Vec<f32> = found.into_iter().map(Option::unwrap).collect();
            assert_eq!(found, expected, "{name} {precision}");
            for batch_tokens in [1, 60, 1 << 20] {
                let config = config.clone().with_batch_tokens(batch_tokens);
                let model = CrossEncoder::open_with(folder(name), &config).unwrap();
                assert_eq!(
                    scores(&model),
                    expected,
                    "{name} {precision} {batch_tokens}"
                );
            }
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .build()
                .unwrap();
            assert_eq!(
                pool.install(|| scores(&model)),
                expected,
                "{name} {precision}"
            );
        }
        let model = CrossEncoder::open(folder(name)).unwrap();
        let all = candidates();
        let queries = [("a ship", &all[1..3]), (QUERY, &all[..]), ("", &[])];
        let alone = queries.map(|(query, candidates)| model.scores(query, candidates).unwrap());
        assert_eq!(model.scores_batch(&queries).unwrap(), alone, "{name}");
    }
}

#[test]
fn cross_encoders_satisfy_the_contract() {
    if !on_default_backend() {
        return;
    }
    for (name, precision, windows) in [
        ("bert", Precision::F32, Windows::First),
        ("bert", Precision::Int8, Windows::Maximum),
        ("modernbert", Precision::Bf16, Windows::Mean),
    ] {
        let config = CrossEncoderConfig::default()
            .with_precision(precision)
            .with_windows(windows)
            .with_max_tokens(24);
        let model = CrossEncoder::open_with(folder(name), &config).unwrap();
        ir_testkit::check_reranker(&model);
        assert!(model.long_documents() > 0, "{name}");
    }
}

#[test]
fn precisions_are_near_f32() {
    if !on_default_backend() {
        return;
    }
    for name in [
        "bert",
        "roberta",
        "deberta-v2",
        "modernbert",
        "qwen3-reranker-short",
    ] {
        let predict = |precision| {
            let config = CrossEncoderConfig::default().with_precision(precision);
            let model = CrossEncoder::open_with(folder(name), &config).unwrap();
            let pairs = TEXTS.map(|text| (QUERY, text));
            model.predict(&pairs).unwrap().concat()
        };
        let exact = predict(Precision::F32);
        for precision in [Precision::Bf16, Precision::Int8] {
            let difference = apart(&predict(precision), &exact);
            assert!(
                difference > 0.0 && difference < 0.3,
                "{name} {precision} {difference}"
            );
        }
    }
}

/// Score of a document by its windows, each scored as a document that fits.
#[test]
fn windows_are_combined() {
    for name in ["bert", "bert-pooled", "roberta"] {
        let open = |windows| {
            let config = CrossEncoderConfig::default()
                .with_windows(windows)
                .with_stride(4_usize);
            CrossEncoder::open_with(folder(name), &config).unwrap()
        };
        let first = scores(&open(Windows::First));
        let parts = open(Windows::Maximum)
            .token_ids(QUERY, TEXTS[LONG])
            .unwrap();
        assert!(parts.len() > 2, "{name}");
        let most = parts.iter().map(Vec::len).max().unwrap();
        assert_eq!(most, open(Windows::Mean).max_tokens());
        let (maximum, mean) = (open(Windows::Maximum), open(Windows::Mean));
        let (of_maximum, of_mean) = (scores(&maximum), scores(&mean));
        let fits = |at: usize| mean.token_ids(QUERY, TEXTS[at]).unwrap().len() == 1;
        for (at, score) in first.iter().enumerate().filter(|(at, _)| fits(*at)) {
            assert_eq!([*score; 2], [of_maximum[at], of_mean[at]], "{name} {at}");
        }
        let explained = mean.explain(QUERY, &candidates(), LONG).unwrap().unwrap();
        let windows: Vec<f32> = explained.details.iter().map(|it| it.score()).collect();
        assert_eq!(windows.len(), parts.len());
        let largest = windows.iter().copied().fold(f32::MIN, f32::max);
        let sum: f64 = windows.iter().map(|it| f64::from(*it)).sum();
        assert_eq!(of_maximum[LONG], largest, "{name}");
        assert_eq!(of_mean[LONG], (sum / windows.len() as f64) as f32, "{name}");
        // The start of the document is the first window, if the query is short.
        assert!(apart(&windows[..1], &first[LONG..=LONG]) < 1e-6, "{name}");
    }
}

#[test]
fn long_documents_are_counted() {
    for windows in [Windows::First, Windows::Maximum] {
        let config = CrossEncoderConfig::default().with_windows(windows);
        let model = CrossEncoder::open_with(folder("bert"), &config).unwrap();
        let clone = model.clone();
        scores(&model);
        assert_eq!(clone.long_documents(), 1);
        clone
            .predict(&[(QUERY, TEXTS[LONG]), (TEXTS[LONG], ""), (QUERY, "")])
            .unwrap();
        assert_eq!(model.long_documents(), 3);
    }
}

/// A time limit is checked before every batch of the model.
#[test]
fn scores_stop_between_batches() {
    let config = CrossEncoderConfig::default().with_batch_tokens(1);
    let model = CrossEncoder::open_with(folder("bert"), &config).unwrap();
    let all = candidates();
    let expected = model.scores(QUERY, &all).unwrap();
    for most in 0..=all.len() {
        let calls = AtomicUsize::new(0);
        let goes_on = || calls.fetch_add(1, Ordering::Relaxed) < most;
        let found = model.scores_while(QUERY, &all, &goes_on).unwrap();
        assert_eq!(found.is_some(), most == all.len(), "{most}");
        assert!(found.is_none_or(|found| found == expected));
    }
    // Of the first scores and the last.
    assert_eq!(model.long_documents(), 2);
}

#[test]
fn explanations_equal_scores() {
    for name in ["bert", "roberta", "qwen3-reranker-short"] {
        for windows in [Windows::First, Windows::Maximum, Windows::Mean] {
            let config = CrossEncoderConfig::default().with_windows(windows);
            let model = CrossEncoder::open_with(folder(name), &config).unwrap();
            let (candidates, scores) = (candidates(), scores(&model));
            for (at, score) in scores.iter().enumerate() {
                let explained = model.explain(QUERY, &candidates, at).unwrap().unwrap();
                assert_eq!(
                    explained.score().to_bits(),
                    score.to_bits(),
                    "{name} {windows:?} {at}"
                );
            }
        }
    }
    let config = CrossEncoderConfig::default().with_windows(Windows::Maximum);
    let model = CrossEncoder::open_with(folder("bert"), &config).unwrap();
    let explained = model.explain(QUERY, &candidates(), LONG).unwrap().unwrap();
    let text = explained.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("maximum of"), "{text}");
    assert!(
        lines[1].contains("logit of window") && lines[1].contains("ship"),
        "{text}"
    );
    assert!(lines[2].ends_with("logit of the model"), "{text}");
    assert_eq!(model.explain(QUERY, &candidates(), 9).unwrap(), None);
}

#[test]
fn fingerprints_tell_models_apart() {
    let fingerprint = |name: &str, config: &CrossEncoderConfig| {
        CrossEncoder::open_with(folder(name), config)
            .unwrap()
            .fingerprint()
    };
    let default = CrossEncoderConfig::default();
    let bert = fingerprint("bert", &default);
    assert_eq!(
        bert,
        fingerprint("bert", &default.clone().with_batch_tokens(9))
    );
    for other in ["bert-3-labels", "bert-left", "electra"] {
        assert_ne!(bert.model, fingerprint(other, &default).model, "{other}");
    }
    for config in [
        default.clone().with_max_tokens(20_usize),
        default.clone().with_windows(Windows::Mean),
        default.clone().with_prompt("query: "),
        default
            .clone()
            .with_activation(ir_dense::Activation::Sigmoid),
    ] {
        let other = fingerprint("bert", &config);
        assert_eq!(bert.model, other.model);
        assert_ne!(bert, other);
    }
    // The head is part of the model.
    let copy = copy_folder(&folder("bert"));
    scale_tensor(copy.path(), "classifier.bias", 2.0);
    assert_ne!(
        bert.model,
        CrossEncoder::open(copy.path()).unwrap().fingerprint().model
    );
}

#[test]
fn saved_folders_have_the_same_scores() {
    let predict = "import sys, json, pathlib; from sentence_transformers import CrossEncoder\n\
        texts = json.loads(sys.argv[2])\n\
        pairs = [(texts[0], text) for text in texts[1:]]\n\
        for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n    \
        print(json.dumps(CrossEncoder(str(folder), device='cpu').predict(pairs).reshape(-1).tolist()))";
    let pairs = TEXTS.map(|text| (QUERY, text));
    let place = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    // Sorted by name.
    for name in [
        "albert",
        "bert",
        "bert-3-labels",
        "deberta-v2",
        "distilbert",
        "eurobert",
        "gte",
        "modernbert-mean",
        "nomic-bert",
        "qwen3",
        "roberta",
    ] {
        let config = CrossEncoderConfig::default()
            .with_prompt("find: ")
            .with_max_tokens(30_usize);
        let model = CrossEncoder::open_with(folder(name), &config).unwrap();
        let expected = model.predict(&pairs).unwrap();
        let saved = place.path().join(name);
        model.save(&saved).unwrap();
        let opened = CrossEncoder::open(&saved).unwrap();
        assert_eq!(opened.predict(&pairs).unwrap(), expected, "{name}");
        assert_eq!(opened.fingerprint(), model.fingerprint(), "{name}");
        let found = model.save(&saved).unwrap_err().to_string();
        assert!(found.starts_with("cannot write "), "{found}");
        all.push((name, expected.concat()));
    }
    if let Some(python) = python() {
        let texts: Vec<&str> = [QUERY].into_iter().chain(TEXTS).collect();
        let found = run_python(&python, predict, place.path(), &texts);
        let found = String::from_utf8(found).unwrap();
        let lines: Vec<&str> = found.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(lines.len(), all.len());
        for ((name, expected), line) in all.iter().zip(lines) {
            let found: Vec<f32> = serde_json::from_str(line).unwrap();
            assert!(apart(&found, expected) < 1e-5, "{name}");
        }
    }
    let pooled = CrossEncoder::open(folder("bert-pooled")).unwrap();
    let place = tempfile::tempdir().unwrap();
    let error = pooled
        .save(place.path().join("model"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("expected a classification head"), "{error}");
}

#[test]
fn bi_encoders_and_cross_encoders_are_told_apart() {
    let default = CrossEncoderConfig::default();
    // A folder of transformers, and one of sentence-transformers.
    let here = tempfile::tempdir().unwrap();
    let model = here.path().join("model");
    RandomModel::default()
        .with_shape(8, 1, 2)
        .create(&model, &["a b c"])
        .unwrap();
    let found = error(&model, &default);
    assert!(
        found.contains("model_type is SentenceTransformer, expected CrossEncoder; a bi-encoder is read by BiEncoder (`ir encode`)"),
        "{found}"
    );
    let plain = copy_folder(&tiny("bert-pytorch"));
    let _ = fs::remove_file(plain.path().join("modules.json"));
    let found = error(plain.path(), &default);
    assert!(
        found.contains("architectures is ")
            && found.contains("an encoder is read by BiEncoder (`ir encode`)"),
        "{found}"
    );
    for name in ["bert", "bert-3-labels"] {
        let found = BiEncoder::open(folder(name)).unwrap_err().to_string();
        let expected = "a cross-encoder is read by CrossEncoder (`ir search --rerank`)";
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn several_labels_are_not_a_score() {
    let model = CrossEncoder::open(folder("bert-3-labels")).unwrap();
    let candidates = candidates();
    let text = |error: ir_core::SearchError| std::error::Error::source(&error).unwrap().to_string();
    let expected = "the number of labels is 3, expected 1 for a score; CrossEncoder::predict returns all labels";
    let found = text(model.scores(QUERY, &candidates).unwrap_err());
    assert!(found.ends_with(expected), "{found}");
    let found = text(model.explain(QUERY, &candidates, 0).unwrap_err());
    assert!(found.ends_with(expected), "{found}");
    assert_eq!(model.predict(&[(QUERY, "tea")]).unwrap()[0].len(), 3);
}

#[test]
fn heads_with_other_tensors_are_errors() {
    let default = CrossEncoderConfig::default();
    let copy = copy_folder(&folder("bert"));
    rename_tensor(copy.path(), "classifier.bias", "classifier.other");
    let found = error(copy.path(), &default);
    assert!(found.ends_with("has no tensor classifier.bias"), "{found}");

    let copy = copy_folder(&folder("roberta"));
    replace(
        copy.path(),
        "config.json",
        "RobertaForSequenceClassification",
        "BertForSequenceClassification",
    );
    replace(copy.path(), "config.json", "\"roberta\"", "\"bert\"");
    let found = error(copy.path(), &default);
    assert!(found.contains("pooler.dense.weight"), "{found}");

    let copy = copy_folder(&folder("bert-3-labels"));
    replace(
        copy.path(),
        "config.json",
        "\"2\": \"LABEL_2\"",
        "\"2\": \"LABEL_2\", \"3\": \"LABEL_3\"",
    );
    let found = error(copy.path(), &default);
    assert!(
        found.contains("shape of classifier.weight is [3, 16], expected [4, 16]"),
        "{found}"
    );

    let copy = copy_folder(&folder("bert"));
    let class = "BertForSequenceClassification";
    replace(
        copy.path(),
        "config.json",
        class,
        "BertForTokenClassification",
    );
    fs::remove_file(copy.path().join("modules.json")).unwrap();
    let found = error(copy.path(), &default);
    let expected = "architectures is BertForTokenClassification, expected a cross-encoder, ";
    assert!(found.contains(expected), "{found}");

    let copy = copy_tree(&testdata("families").join("t5"));
    fs::remove_file(copy.path().join("modules.json")).unwrap();
    replace(
        copy.path(),
        "config.json",
        "T5EncoderModel",
        "T5ForSequenceClassification",
    );
    let found = error(copy.path(), &default);
    let expected = "model_type is t5, expected a model with a classification head: bert, roberta, ";
    assert!(found.contains(expected), "{found}");

    // A second head, and a layer that the head does not have.
    for (name, from, to, layers) in [
        (
            "roberta",
            "roberta.embeddings.token_type_embeddings.weight",
            "classifier.extra.weight",
            "classifier.dense, classifier.out_proj",
        ),
        (
            "bert",
            "bert.embeddings.token_type_embeddings.weight",
            "qa_outputs.weight",
            "bert.pooler.dense, classifier",
        ),
    ] {
        let copy = copy_folder(&folder(name));
        rename_tensor(copy.path(), from, to);
        let found = error(copy.path(), &default);
        let expected =
            format!("the model is with the tensor {to}, expected a head of the layers {layers}");
        assert!(found.ends_with(&expected), "{found}");
    }
}

#[test]
fn infinite_scores_name_the_candidate() {
    let copy = copy_folder(&folder("bert"));
    scale_tensor(copy.path(), "classifier.weight", f32::INFINITY);
    let found = error(copy.path(), &CrossEncoderConfig::default());
    assert!(found.contains("of classifier.weight is"), "{found}");
    assert!(found.ends_with("expected a finite number"), "{found}");

    // Products beyond f32.
    let copy = copy_folder(&folder("electra"));
    scale_tensor(copy.path(), "classifier.dense.weight", 1e30);
    scale_tensor(copy.path(), "classifier.out_proj.weight", 1e30);
    let model = CrossEncoder::open(copy.path()).unwrap();
    let failed = model.scores(QUERY, &candidates()).unwrap_err();
    let found = std::error::Error::source(&failed).unwrap().to_string();
    assert!(found.starts_with("candidate a has the score "), "{found}");
    let pairs = TEXTS.map(|text| (QUERY, text));
    let found = model.predict(&pairs).unwrap_err().to_string();
    assert!(found.starts_with("pair 0 has the score "), "{found}");
}

#[test]
fn lengths_leave_room() {
    let default = CrossEncoderConfig::default();
    let bert = folder("bert");
    for (config, expected) in [
        (
            default.clone().with_max_tokens(4_usize),
            "max_tokens is 4, expected 5 or more: 3 tokens of the template and two more",
        ),
        (
            default.clone().with_max_tokens(65_usize),
            "max_tokens is 65, expected at most 64, the positions of the model",
        ),
        (
            default
                .clone()
                .with_max_tokens(13_usize)
                .with_stride(5_usize),
            "stride is 5, expected less than 5, the minimum number of tokens of a window",
        ),
    ] {
        let found = error(&bert, &config);
        assert!(found.ends_with(expected), "{found}");
    }
    let least = default
        .clone()
        .with_max_tokens(5_usize)
        .with_windows(Windows::Maximum);
    let model = CrossEncoder::open_with(&bert, &least).unwrap();
    assert!(scores(&model).iter().all(|score| score.is_finite()));
    let ids = model.token_ids("a very long query", TEXTS[0]).unwrap();
    assert!(ids.iter().all(|ids| ids.len() == 5), "{ids:?}");
}

#[test]
fn settings_of_folders() {
    let default = CrossEncoderConfig::default();
    for (name, file, from, to, expected) in [
        (
            "bert",
            "config_sentence_transformers.json",
            "torch.nn.modules.linear.Identity",
            "torch.nn.modules.activation.PReLU",
            "activation_fn is torch.nn.modules.activation.PReLU, expected a class of torch.nn: ",
        ),
        (
            "bert",
            "config_sentence_transformers.json",
            "\"default_prompt_name\": null",
            "\"default_prompt_name\": \"q\"",
            "default_prompt_name is q, expected none, as there are no prompts",
        ),
        (
            "bert",
            "sentence_bert_config.json",
            "sequence-classification",
            "fill-mask",
            "transformer_task is fill-mask, expected feature-extraction or sequence-classification \
             or text-generation",
        ),
        (
            "bert-pooled",
            "4_Dense/config.json",
            "\"scores\"",
            "\"sentence_embedding\"",
            "module_output_name is sentence_embedding, expected scores",
        ),
        (
            "qwen3-reranker-short",
            "chat_template.jinja",
            "'query'",
            "'user'",
            "chat_template is without the query, expected a template with messages of the roles \
             query and document",
        ),
        (
            "qwen3-reranker-short",
            "chat_template.jinja",
            "{{ messages",
            "{{ raise_exception('no') }}{{ messages",
            "the chat template fails",
        ),
    ] {
        let copy = copy_tree(&folder(name));
        replace(copy.path(), file, from, to);
        let found = error(copy.path(), &default);
        assert!(found.contains(expected), "{name}: {found}");
    }
}
