//! Settings of model folders: pooling modes, prompts, lengths, heads, descriptions; in modules,
//! tokenizers and routers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod routers;
mod tokenizers;

use std::fs;
use std::path::Path;

use crate::common::{apart, config, copy_of, examples, on_backend, replace, testdata, tiny};
use ir_core::{Encoder, NoProgress, Side};
use ir_dense::train::Trainer;
use ir_dense::{
    BiEncoder, ExtractiveReader, ModelError, Pooling, PoolingModes, TokenBatch, describe,
};
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

const TEXTS: [&str; 3] = [
    "a ship at sea",
    "tea",
    "seen by the radar, and by a black ship",
];
/// Dimension of token vectors of `testdata/tiny/bert`.
const HIDDEN: usize = 12;

fn write(folder: &Path, file: &str, value: &Value) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, value.to_string()).unwrap();
}

fn module(path: &str, class: &str) -> Value {
    json!({"path": path, "type": format!("sentence_transformers.models.{class}")})
}

/// Copy of a tiny model with a pooling configuration.
fn with_pooling(model: &str, pooling: &Value) -> tempfile::TempDir {
    let copy = copy_of(model);
    let modules = json!([module("", "Transformer"), module("1_Pooling", "Pooling")]);
    write(copy.path(), "modules.json", &modules);
    write(copy.path(), "1_Pooling/config.json", pooling);
    copy
}

fn open(folder: &Path) -> BiEncoder {
    BiEncoder::open_with(folder, &on_backend()).unwrap()
}

fn message(folder: &Path) -> String {
    BiEncoder::open_with(folder, &on_backend())
        .unwrap_err()
        .to_string()
}

fn vectors(encoder: &BiEncoder, side: Side) -> Vec<f32> {
    encoder.encode(side, &TEXTS).unwrap()
}

fn saved(encoder: &BiEncoder) -> (tempfile::TempDir, BiEncoder) {
    let here = tempfile::tempdir().unwrap();
    encoder.save(here.path().join("model")).unwrap();
    let again = open(&here.path().join("model"));
    (here, again)
}

#[test]
fn concatenates_pooling_modes() {
    let names = json!(["weightedmean", "cls", "max"]);
    let folder = with_pooling("bert", &json!({"pooling_mode": names}));
    let encoder = open(folder.path());
    let modes: PoolingModes = "weightedmean+cls+max".parse().unwrap();
    assert_eq!(encoder.tower(Side::Query).pooling, modes);
    assert_eq!(encoder.dim(), 3 * HIDDEN);
    let found = vectors(&encoder, Side::Document);
    for (at, mode) in modes.modes().iter().enumerate() {
        let single = on_backend().with_pooling(*mode).with_normalize(false);
        let single = BiEncoder::open_with(tiny("bert"), &single).unwrap();
        let expected = vectors(&single, Side::Document);
        let own = found
            .chunks(3 * HIDDEN)
            .map(|it| &it[at * HIDDEN..][..HIDDEN]);
        assert!(
            apart(&own.collect::<Vec<_>>().concat(), &expected) < 1e-6,
            "{mode}"
        );
    }
    let fingerprint = encoder.fingerprint(Side::Document);
    assert_eq!(json!(fingerprint)["pooling"], "weightedmean+cls+max");
    // The order needs the field of newer versions.
    let (here, again) = saved(&encoder);
    assert_eq!(again.fingerprint(Side::Document), fingerprint);
    assert_eq!(vectors(&again, Side::Document), found);
    let text = fs::read_to_string(here.path().join("model/1_Pooling/config.json")).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(written["pooling_mode"], names);
    assert_eq!(written["pooling_mode_weightedmean_tokens"], true);
    assert_eq!(written["word_embedding_dimension"], HIDDEN);
    // One mode in place of all.
    let mean = on_backend().with_pooling(Pooling::Mean);
    let mean = BiEncoder::open_with(folder.path(), &mean).unwrap();
    assert_eq!(mean.dim(), HIDDEN);
    let (here, _) = saved(&mean);
    let text = fs::read_to_string(here.path().join("model/1_Pooling/config.json")).unwrap();
    assert!(!text.contains("\"pooling_mode\""), "{text}");
    // Dense modules see all modes.
    let modules = json!([
        module("", "Transformer"),
        module("1_Pooling", "Pooling"),
        module("2_Dense", "Dense")
    ]);
    write(folder.path(), "modules.json", &modules);
    write(
        folder.path(),
        "2_Dense/config.json",
        &json!({"in_features": HIDDEN, "out_features": 4}),
    );
    let end = "in_features is 12, expected 36, the dimension of the module before";
    assert!(message(folder.path()).ends_with(end));
}

#[test]
fn trains_concatenated_modes() {
    let modes = json!({"pooling_mode": ["cls", "weightedmean"]});
    let folder = with_pooling("bert", &modes);
    let trained = Trainer::open(folder.path(), &config()).unwrap();
    let trained = trained.train(&examples(), &mut NoProgress).unwrap();
    let mut steps = trained.history.steps.iter();
    assert!(steps.all(|step| step.gradient_norm > 0.0));
    assert_eq!(trained.encoder.dim(), 2 * HIDDEN);
}

#[test]
fn excludes_prompts_from_pooling() {
    let mut pooling = json!({"pooling_mode": ["mean", "lasttoken"], "include_prompt": false});
    let folder = with_pooling("bert", &pooling);
    let settings = json!({"prompts": {"query": "green tea: "}});
    write(
        folder.path(),
        "config_sentence_transformers.json",
        &settings,
    );
    let encoder = open(folder.path());
    let tower = encoder.tower(Side::Query);
    assert!(!tower.include_prompt);
    // [CLS] and the tokens of the prompt.
    let prompt = tower.tokenizer.encode("green tea: ", 64).unwrap().len() - 1;
    for (text, found) in TEXTS
        .iter()
        .zip(vectors(&encoder, Side::Query).chunks(2 * HIDDEN))
    {
        let ids = encoder.token_ids(Side::Query, text).unwrap();
        let batch = TokenBatch::new(&[ids]);
        let states = tower.transformer().unwrap().forward(&batch).into_data();
        let states: Vec<&[f32]> = states.as_slice().unwrap().chunks(HIDDEN).collect();
        let pooled = &states[prompt..];
        let mean = |at: usize| pooled.iter().map(|it| it[at]).sum::<f32>() / pooled.len() as f32;
        let mean: Vec<f32> = (0..HIDDEN).map(mean).collect();
        assert!(apart(&found[..HIDDEN], &mean) < 1e-5, "{text}");
        assert!(
            apart(&found[HIDDEN..], pooled[pooled.len() - 1]) < 1e-5,
            "{text}"
        );
    }
    let (_here, again) = saved(&encoder);
    assert_eq!(vectors(&again, Side::Query), vectors(&encoder, Side::Query));
    let fingerprint = encoder.fingerprint(Side::Query);
    assert_eq!(again.fingerprint(Side::Query), fingerprint);
    let error = Trainer::open(folder.path(), &config()).unwrap();
    let error = error.train(&examples(), &mut NoProgress).unwrap_err();
    let error = error_chain(&error);
    assert!(error.contains("include_prompt is false"), "{error}");

    let mut short = on_backend();
    short.query.max_tokens = Some(prompt);
    let error = BiEncoder::open_with(folder.path(), &short).unwrap_err();
    let expected =
        format!("include_prompt is false, expected true: the prompt has {prompt} tokens");
    assert!(error.to_string().contains(&expected), "{error}");

    pooling["include_prompt"] = true.into();
    write(folder.path(), "1_Pooling/config.json", &pooling);
    let other = open(folder.path());
    assert_ne!(vectors(&other, Side::Query), vectors(&encoder, Side::Query));
    assert_ne!(other.fingerprint(Side::Query), fingerprint);
    // Documents have no prompt.
    assert_eq!(
        vectors(&other, Side::Document),
        vectors(&encoder, Side::Document)
    );
}

fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

#[test]
fn reads_lengths_per_side_and_rejects_other_settings() {
    let folder = with_pooling("bert", &json!({}));
    let set = |value: &Value| write(folder.path(), "sentence_bert_config.json", value);
    set(&json!({"query_length": 7, "document_length": 1000, "unpad_inputs": null}));
    let encoder = open(folder.path());
    let tokens = [Side::Query, Side::Document].map(|side| encoder.max_tokens(side));
    assert_eq!(tokens, [7, 32]);
    for (value, end) in [
        (
            json!({"transformer_task": "fill-mask"}),
            "transformer_task is fill-mask, expected feature-extraction",
        ),
        (
            json!({"module_output_name": "sentence_embedding"}),
            "module_output_name is sentence_embedding, expected token_embeddings",
        ),
        (
            json!({"modality_config": {"message": {}}}),
            "modality_config.text is null, expected the method forward and its output \
             last_hidden_state",
        ),
        (
            json!({"query_expansion": {"length": 32}}),
            "query_expansion is {\"length\":32}, expected null: MultiVectorEncoder expands queries",
        ),
        (
            json!({"processing_kwargs": {"text": {"max_length": 8}}}),
            "processing_kwargs.text is {\"max_length\":8}, expected no such key",
        ),
        (
            json!({"tokenizer_args": {"use_fast": true, "model_max_length": 8}}),
            "processor_kwargs.model_max_length is 8, expected no such key, but the value in \
             tokenizer_config.json",
        ),
        (
            json!({"config_kwargs": {"num_hidden_layers": 1}}),
            "config_kwargs.num_hidden_layers is 1, expected no such key, but the value in \
             config.json",
        ),
    ] {
        set(&value);
        let error = message(folder.path());
        assert!(error.ends_with(end), "{error}");
    }
    set(&json!({}));
    let types = json!({"model_type": "SparseEncoder"});
    write(folder.path(), "config_sentence_transformers.json", &types);
    let error = message(folder.path());
    let end = "model_type is SparseEncoder, expected SentenceTransformer; a sparse encoder is read by \
               SparseEncoder (`ir encode --kind sparse` without --add)";
    assert!(error.ends_with(end), "{error}");
}

#[test]
fn rejects_heads_in_place_of_encoders() {
    let folder = copy_of("bert");
    let config: Value =
        serde_json::from_slice(&fs::read(folder.path().join("config.json")).unwrap()).unwrap();
    for (class, part) in [
        (
            "BertForSequenceClassification",
            "CrossEncoder (`ir search --rerank`)",
        ),
        ("BertForTokenClassification", "token classifiers"),
        (
            "BertForQuestionAnswering",
            "ExtractiveReader (`ir ask --reader`)",
        ),
    ] {
        let mut changed = config.clone();
        changed["architectures"] = json!([class]);
        write(folder.path(), "config.json", &changed);
        let error = message(folder.path());
        let start = format!("config.json: architectures is {class}, expected an encoder: ");
        assert!(error.contains(&start) && error.contains(part), "{error}");
    }
    let modules = json!([module("", "Transformer"), module("1_Pooling", "Pooling")]);
    write(folder.path(), "modules.json", &modules);
    write(folder.path(), "1_Pooling/config.json", &json!({}));
    open(folder.path());
    fs::remove_file(folder.path().join("modules.json")).unwrap();
    // As in sentence-transformers.
    for (is_causal, pooling) in [
        (Value::Null, Pooling::LastToken),
        (false.into(), Pooling::Mean),
    ] {
        let mut changed = config.clone();
        changed["architectures"] = json!(["BertForCausalLM"]);
        changed["is_causal"] = is_causal;
        write(folder.path(), "config.json", &changed);
        assert_eq!(
            open(folder.path()).tower(Side::Query).pooling,
            pooling.into()
        );
    }
}

#[test]
fn rejects_tensors_of_layers_that_are_not_read() {
    let folder = copy_of("bert");
    let path = folder.path().join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    let weights = safetensors::SafeTensors::deserialize(&whole).unwrap();
    let mut tensors: Vec<(String, TensorView<'_>)> = weights.tensors();
    let extra = [0; 4];
    let view = || TensorView::new(Dtype::F32, vec![1], &extra).unwrap();
    let name = tensors
        .iter()
        .find_map(|(name, _)| Some(name.split_once("attention.self.query.weight")?.0.to_owned()))
        .unwrap();
    let write = |tensors: &[(String, TensorView<'_>)]| {
        safetensors::serialize_to_file(tensors.iter().map(|(n, v)| (n, v)), None, &path).unwrap();
    };
    // Heads and buffers.
    for other in [
        "classifier.weight",
        "lm_head.0.weight",
        &format!("{name}rotary.inv_freq"),
    ] {
        tensors.push((other.to_owned(), view()));
    }
    write(&tensors);
    open(folder.path());
    for part in ["query.lora_A.weight", "query.lora_B.weight"] {
        tensors.push((format!("{name}attention.self.{part}"), view()));
    }
    write(&tensors);
    let error = BiEncoder::open_with(folder.path(), &on_backend()).unwrap_err();
    match error {
        ModelError::UnreadTensor { tensor, others, .. } => {
            assert_eq!(
                (&tensor[..], others),
                (&tensors[tensors.len() - 2].0[..], 1)
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn readers_open_the_folder_of_the_transformer() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("0_Transformer");
    fs::create_dir(&own).unwrap();
    let reader = testdata("reader/bert");
    for file in fs::read_dir(&reader).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), own.join(file.file_name())).unwrap();
    }
    let modules = json!([module("0_Transformer", "Transformer")]);
    write(folder.path(), "modules.json", &modules);
    let [found, expected] = [folder.path(), &reader].map(|folder| {
        let reader = ExtractiveReader::open(folder).unwrap();
        reader.logits("who?", "a ship at sea").unwrap()
    });
    assert_eq!(found, expected);
}

#[test]
fn describes_folders() {
    let model = describe(tiny("bert"), &on_backend()).unwrap();
    assert_eq!(
        (model.dim, model.similarity, model.towers.len()),
        (HIDDEN, None, 1)
    );
    let tower = &model.towers[0];
    assert_eq!(tower.sides.len(), 2);
    assert_eq!(tower.tokenizer.model, "WordPiece");
    assert_eq!(tower.tokenizer.vocabulary, tower.transformer.vocab_size);
    assert_eq!(tower.weights.files, ["model.safetensors"]);
    let precisions: Vec<&String> = tower.weights.precisions.keys().collect();
    assert_eq!(precisions, ["f32"]);
    assert!(4 * tower.weights.parameters < tower.weights.bytes);
    let notes = [
        "no modules.json: mean pooling by default",
        "tensors without effect: pooler.dense.bias, pooler.dense.weight",
    ];
    assert_eq!(tower.notes, notes);

    let folder = with_pooling("bert", &json!({"include_prompt": false}));
    let limits = json!({"max_seq_length": 512});
    write(folder.path(), "sentence_bert_config.json", &limits);
    let settings = json!({"truncate_dim": 5, "prompts": {"query": "q: "},
        "default_prompt_name": "query"});
    write(
        folder.path(),
        "config_sentence_transformers.json",
        &settings,
    );
    fs::write(folder.path().join("modeling_own.py"), "").unwrap();
    let model = json!(describe(folder.path(), &on_backend()).unwrap());
    assert_eq!(
        (&model["dim"], &model["similarity"]),
        (&json!(5), &json!("cosine"))
    );
    let tower = &model["towers"][0];
    let query = json!({"side": "query", "prompt": "q: ", "max_tokens": 32});
    assert_eq!(tower["sides"][0], query);
    assert_eq!(tower["pooling"], "mean");
    assert_eq!(tower["include_prompt"], false);
    assert_eq!(tower["truncate_dim"], 5);
    let notes = json!([
        "default_prompt_name is \"query\": without effect on queries and documents",
        "max_seq_length is 512: texts are truncated at 32 tokens, the positions of the model",
        "code in modeling_own.py is not executed",
        "tensors without effect: pooler.dense.bias, pooler.dense.weight",
    ]);
    assert_eq!(tower["notes"], notes);
    replace(folder.path(), "config.json", "\"bert\"", "\"bart\"");
    let error = describe(folder.path(), &on_backend()).unwrap_err();
    assert!(error.to_string().contains("\"bart\""), "{error}");
}
