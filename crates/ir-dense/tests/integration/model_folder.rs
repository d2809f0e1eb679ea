//! Invalid model folders are rejected with file, expected and found value, never with a panic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::path::Path;

use crate::common::{copy_of, replace};
use ir_core::{Encoder, Side};
use ir_dense::{BiEncoder, ModelError, TokenizerError};

fn error(folder: &Path) -> ModelError {
    BiEncoder::open(folder).expect_err("a model that cannot be used")
}

fn message(folder: &Path) -> String {
    error(folder).to_string()
}

/// Field, expected and found value of a [`ModelError::Setting`].
fn setting(folder: &Path) -> [String; 3] {
    match error(folder) {
        ModelError::Setting {
            field,
            expected,
            found,
            ..
        } => [field, expected, found],
        other => panic!("{other:?}"),
    }
}

/// Tokenizer files of which one is required.
const VOCABULARIES: &str = "tokenizer.json, vocab.txt, or vocab.json with merges.txt";

#[test]
fn rejects_missing_files() {
    for (model, file, wanted) in [
        ("bert", "config.json", "config.json"),
        (
            "bert",
            "model.safetensors",
            "model.safetensors or pytorch_model.bin",
        ),
        ("bert", "vocab.txt", VOCABULARIES),
        ("distilbert", "tokenizer.json", VOCABULARIES),
    ] {
        let copy = copy_of(model);
        fs::remove_file(copy.path().join(file)).unwrap();
        match error(copy.path()) {
            ModelError::MissingFile { folder, expected } => {
                assert_eq!((folder.as_path(), expected), (copy.path(), wanted));
            }
            other => panic!("{file}: {other:?}"),
        }
    }
    assert!(matches!(
        error(Path::new("/nowhere")),
        ModelError::MissingFile { .. }
    ));
}

#[test]
fn rejects_truncated_weights() {
    let copy = copy_of("distilbert");
    let path = copy.path().join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        match error(copy.path()) {
            ModelError::Setting {
                field,
                expected,
                found,
                ..
            } => {
                assert_eq!(field, "number of bytes");
                assert_eq!(expected, format!("{} as in its header", whole.len()));
                assert_eq!(found, length.to_string());
            }
            // Truncated in the header, which has the length of the file.
            ModelError::Weights { .. } => assert!(length < 8000, "{length}"),
            other => panic!("{length}: {other:?}"),
        }
    }
    fs::write(&path, [&whole[..], b"more"].concat()).unwrap();
    assert_eq!(setting(copy.path())[0], "number of bytes");

    let copy = copy_of("bert-pytorch");
    let path = copy.path().join("pytorch_model.bin");
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(997) {
        fs::write(&path, &whole[..length]).unwrap();
        let error = error(copy.path());
        assert!(
            matches!(error, ModelError::Weights { .. }),
            "{length}: {error:?}"
        );
    }
}

/// A model that opens has the right weights: the damaged byte is not part of them.
#[test]
fn damaged_pytorch_files_have_the_right_weights_or_are_rejected() {
    let copy = copy_of("bert-pytorch");
    let path = copy.path().join("pytorch_model.bin");
    let whole = fs::read(&path).unwrap();
    let open = || BiEncoder::open(copy.path()).map(|it| it.fingerprint(Side::Document));
    let expected = open().unwrap();
    let (mut opened, mut rejected) = (0, 0);
    for position in (0..whole.len()).step_by(61) {
        let mut damaged = whole.clone();
        damaged[position] ^= 0x55;
        fs::write(&path, damaged).unwrap();
        match open() {
            Ok(found) => {
                assert_eq!(found, expected, "byte {position}");
                opened += 1;
            }
            Err(_) => rejected += 1,
        }
    }
    assert!(opened > 0 && rejected > 0, "{opened} and {rejected}");
}

#[test]
fn rejects_missing_tensors_and_wrong_shapes() {
    let copy = copy_of("bert");
    replace(
        copy.path(),
        "config.json",
        "\"intermediate_size\": 24",
        "\"intermediate_size\": 25",
    );
    let expected = [
        "shape of encoder.layer.0.intermediate.dense.weight",
        "[25, 12] as in the configuration",
        "[24, 12]",
    ];
    assert_eq!(setting(copy.path()), expected);

    let copy = copy_of("bert");
    replace(
        copy.path(),
        "config.json",
        "\"num_hidden_layers\": 12",
        "\"num_hidden_layers\": 13",
    );
    match error(copy.path()) {
        ModelError::Tensor { tensor, .. } => {
            assert_eq!(tensor, "encoder.layer.12.attention.self.query.weight");
        }
        other => panic!("{other:?}"),
    }

    // The same bytes with an integer type.
    let copy = copy_of("bert");
    let path = copy.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(5).position(|w| w == b"\"F32\"").unwrap();
    bytes[at + 1] = b'I';
    fs::write(&path, &bytes).unwrap();
    let [field, _, found] = setting(copy.path());
    assert!(field.starts_with("element type of "), "{field}");
    assert_eq!(found, "i32");
}

/// Without the data of a tensor: a wrong shape is found before the data is read.
#[test]
fn rejects_wrong_shapes_before_reading_data() {
    let copy = copy_of("bert-pytorch");
    let path = copy.path().join("pytorch_model.bin");
    let mut bytes = fs::read(&path).unwrap();
    let name = b"pytorch_model/data/0";
    let found = bytes.windows(name.len()).enumerate();
    let found: Vec<usize> = found.filter(|(_, w)| w == name).map(|(at, _)| at).collect();
    // Local header and central directory.
    assert_eq!(found.len(), 2);
    for at in found {
        bytes[at + name.len() - 1] = b'x';
    }
    fs::write(&path, bytes).unwrap();
    let unread = error(copy.path());
    assert!(matches!(unread, ModelError::Weights { .. }), "{unread:?}");
    let sizes = ["\"vocab_size\": 67", "\"vocab_size\": 68"];
    replace(copy.path(), "config.json", sizes[0], sizes[1]);
    let [field, ..] = setting(copy.path());
    assert!(field.starts_with("shape of "), "{field}");
}

#[test]
fn rejects_weights_that_are_not_finite() {
    for value in [f32::NAN, f32::INFINITY] {
        let copy = copy_of("bert");
        let path = copy.path().join("model.safetensors");
        let mut bytes = fs::read(&path).unwrap();
        // The first tensor after the header is the bias of the embedding normalization.
        let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        bytes[start + 8..start + 12].copy_from_slice(&value.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        let [field, _, found] = setting(copy.path());
        assert_eq!(field, "element 2 of embeddings.LayerNorm.bias");
        assert_eq!(found, value.to_string());
    }
}

#[test]
fn rejects_unsupported_configurations() {
    for (field, from, to) in [
        ("model_type", "\"bert\"", "\"gpt2\""),
        ("hidden_act", "\"gelu\"", "\"xielu\""),
        ("num_attention_heads", "4", "5"),
        ("num_attention_heads", "4", "0"),
        ("num_attention_heads", "4", "4611686018427387904"),
        ("num_hidden_layers", "12", "9223372036854775808"),
        ("hidden_size", "12", "0"),
        ("max_position_embeddings", "32", "0"),
        ("layer_norm_eps", "1e-12", "-1.0"),
        (
            "position_embedding_type",
            "\"absolute\"",
            "\"relative_key\"",
        ),
    ] {
        let copy = copy_of("bert");
        let [from, to] = [from, to].map(|value| format!("\"{field}\": {value}"));
        replace(copy.path(), "config.json", &from, &to);
        match error(copy.path()) {
            ModelError::Setting {
                path, field: found, ..
            } => {
                assert_eq!((path, &found[..]), (copy.path().join("config.json"), field));
            }
            other => panic!("{to}: {other:?}"),
        }
    }
    let copy = copy_of("bert");
    replace(copy.path(), "config.json", "\"vocab_size\"", "\"vocab\"");
    let found = error(copy.path()).to_string();
    let end = "config.json: vocab_size is missing, expected a non-negative integer";
    assert!(found.ends_with(end), "{found}");
}

#[test]
fn rejects_vocabularies_that_do_not_match() {
    let copy = copy_of("bert");
    let path = copy.path().join("vocab.txt");
    let vocabulary = fs::read_to_string(&path).unwrap();
    fs::write(&path, vocabulary.clone() + "one\ntwo\n").unwrap();
    let rows = vocabulary.lines().count();
    let [field, expected, found] = setting(copy.path());
    assert_eq!(field, "id of token \"two\"");
    let below = format!("below {rows}, the rows of the embedding table");
    assert_eq!((expected, found), (below, (rows + 1).to_string()));

    fs::write(&path, vocabulary.replace("[SEP]", "[END]")).unwrap();
    match error(copy.path()) {
        ModelError::Tokenizer(TokenizerError::Special { token, .. }) => assert_eq!(token, "[SEP]"),
        other => panic!("{other:?}"),
    }

    fs::write(&path, b"[PAD]\n[UNK]\n\xff\n").unwrap();
    assert_eq!(setting(copy.path())[0], "line 3");

    let copy = copy_of("roberta");
    fs::write(copy.path().join("tokenizer.json"), "{}").unwrap();
    let error = error(copy.path());
    assert!(
        matches!(error, ModelError::Tokenizer(TokenizerError::Read { .. })),
        "{error:?}"
    );
}

#[test]
fn rejects_unsupported_modules() {
    let dense = r#"[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}]"#;
    let copy = copy_of("bert");
    let here = dense.replacen(
        "\"path\": \"\", \"type\": \"sentence_transformers.models.P",
        "\"path\": \"1\", \"type\": \"sentence_transformers.models.P",
        1,
    );
    fs::write(copy.path().join("modules.json"), here).unwrap();
    assert!(matches!(error(copy.path()), ModelError::MissingFile { .. }));
    fs::create_dir(copy.path().join("1")).unwrap();
    fs::write(
        copy.path().join("1/config.json"),
        r#"{"pooling_mode_median_tokens": true, "pooling_mode_mean_tokens": false}"#,
    )
    .unwrap();
    assert_eq!(setting(copy.path())[2], "pooling_mode_median_tokens");
    let none = r#"{"pooling_mode_mean_tokens": false}"#;
    fs::write(copy.path().join("1/config.json"), none).unwrap();
    let [field, _, found] = setting(copy.path());
    assert_eq!([field, found], ["pooling_mode", "none"]);
    // Pooling defaults to the mean, so that the next module is read.
    fs::write(copy.path().join("1/config.json"), "{}").unwrap();
    assert!(matches!(error(copy.path()), ModelError::MissingFile { .. }));
    replace(copy.path(), "modules.json", "models.Dense", "models.CNN");
    let [field, _, found] = setting(copy.path());
    let module = "sentence_transformers.models.CNN in \"2_Dense\"";
    assert_eq!([field, found], ["module 2", module]);
    // Code of the folder, which is never executed.
    let own = "custom_transformer.Transformer";
    replace(
        copy.path(),
        "modules.json",
        "sentence_transformers.models.Transformer",
        own,
    );
    let [field, expected, found] = setting(copy.path());
    let expected_class = "Transformer of sentence_transformers; code of the folder is not executed";
    assert_eq!([&field[..], &expected], ["module 0", expected_class]);
    assert_eq!(found, "custom_transformer.Transformer in \"\"");
    fs::write(copy.path().join("modules.json"), "[]").unwrap();
    let [field, _, found] = setting(copy.path());
    assert_eq!([field, found], ["module 0", "missing"]);
    fs::remove_file(copy.path().join("modules.json")).unwrap();
    let prompts = r#"{"prompts": {"query": "query: "}, "default_prompt_name": "search"}"#;
    let path = copy.path().join("config_sentence_transformers.json");
    fs::write(path, prompts).unwrap();
    assert_eq!(setting(copy.path())[0], "default_prompt_name");
}

#[test]
fn rejects_tokenizers_that_are_not_objects() {
    let copy = copy_of("roberta");
    for (text, found) in [
        ("[]", "a list"),
        ("\"x\"", "a single value"),
        ("null", "null"),
    ] {
        fs::write(copy.path().join("tokenizer.json"), text).unwrap();
        let error = message(copy.path());
        let end = format!("tokenizer.json: the top level is {found}, expected an object");
        assert!(error.ends_with(&end), "{error}");
    }
    for text in [r#"{"normalizer": "x"}"#, r#"{"normalizer": []}"#] {
        fs::write(copy.path().join("tokenizer.json"), text).unwrap();
        assert!(message(copy.path()).ends_with("tokenizer.json is not a tokenizer"));
    }
}

#[test]
fn rejects_invalid_configurations() {
    for (model, from, to, end) in [
        (
            "roberta",
            "\"pad_token_id\": 1",
            "\"pad_token_id\": 18446744073709551615",
            "expected more than 18446744073709551615",
        ),
        (
            "mpnet",
            "\"relative_attention_num_buckets\": 32",
            "\"relative_attention_num_buckets\": 0",
            "relative_attention_num_buckets is 0, expected 4 or more",
        ),
        (
            "bert",
            "\"vocab_size\"",
            "\"is_decoder\": true, \"vocab_size\"",
            "is_decoder is true, expected false: attention must be bidirectional",
        ),
        (
            "bert",
            "\"num_hidden_layers\": 12",
            "\"num_hidden_layers\": 0",
            "num_hidden_layers is 0, expected 1 or more",
        ),
        (
            "bert",
            "\"num_hidden_layers\": 12",
            "\"num_hidden_layers\": 2",
            "model.safetensors",
        ),
    ] {
        let copy = copy_of(model);
        replace(copy.path(), "config.json", from, to);
        let error = message(copy.path());
        assert!(
            error.contains("config.json: ") && error.ends_with(end),
            "{error}"
        );
    }
    let copy = copy_of("bert");
    let few = ("\"num_hidden_layers\": 12", "\"num_hidden_layers\": 2");
    replace(copy.path(), "config.json", few.0, few.1);
    let error = message(copy.path());
    let part = "num_hidden_layers is 2, expected 12, the layers in ";
    assert!(error.contains(part), "{error}");
}

#[test]
fn rejects_truncated_vocabularies() {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<String> = (0..600)
        .map(|n| format!("w{}", "xyz".repeat(n % 30)))
        .collect();
    let text: String = (0..300)
        .map(|n| {
            format!(
                "{}{} ",
                ['b', 'c', 'd'][n % 3],
                char::from(b'a' + (n % 26) as u8)
            )
        })
        .chain(words)
        .collect();
    let model = folder.path().join("model");
    let new = ir_dense::RandomModel::default().with_shape(8, 1, 2);
    new.create(&model, &[&*text]).unwrap();
    fs::remove_file(model.join("tokenizer.json")).unwrap();
    BiEncoder::open(&model).unwrap();
    // Embedding tables may be padded to the next multiple of 128 rows.
    let path = model.join("vocab.txt");
    let vocabulary = fs::read_to_string(&path).unwrap();
    let rows = vocabulary.lines().count();
    eprintln!("{rows} rows");
    assert!(rows > 130, "{rows}");
    let first = |lines: usize| {
        let lines: Vec<&str> = vocabulary.lines().take(lines).collect();
        fs::write(&path, lines.join("\n")).unwrap();
    };
    first(rows - 1);
    BiEncoder::open(&model).unwrap();
    first(20);
    let error = message(&model);
    let end = format!("is 20, expected about {rows}, the rows of the embedding table");
    assert!(
        error.contains("vocab.txt: ") && error.ends_with(&end),
        "{error}"
    );
    fs::write(&path, vocabulary.replace("[PAD]", "[pad]")).unwrap();
    assert!(message(&model).ends_with("vocab.txt has no [PAD]"));
    // The vocabulary of another model, in tokenizer.json.
    let other = folder.path().join("other");
    new.create(&other, &["green tea"]).unwrap();
    fs::copy(other.join("tokenizer.json"), model.join("tokenizer.json")).unwrap();
    let error = message(&model);
    let end = format!("expected about {rows}, the rows of the embedding table");
    assert!(
        error.contains("tokenizer.json: ") && error.ends_with(&end),
        "{error}"
    );
}

#[test]
fn rejects_lfs_pointers_dangling_links_and_pytorch_shards() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:53aa51\nsize 90868376\n";
    for (model, file) in [
        ("bert", "model.safetensors"),
        ("bert-pytorch", "pytorch_model.bin"),
        ("roberta", "tokenizer.json"),
        ("bert", "vocab.txt"),
    ] {
        let copy = copy_of(model);
        let path = copy.path().join(file);
        fs::write(&path, pointer).unwrap();
        let error = error(copy.path());
        let is_weights = file != "tokenizer.json" && file != "vocab.txt";
        assert!(
            !is_weights || matches!(error, ModelError::Pointer { .. }),
            "{error:?}"
        );
        let error = error.to_string();
        assert!(
            error.contains(file) && error.contains("\"git lfs pull\""),
            "{error}"
        );
        // A link into a cache that was deleted.
        #[cfg(unix)]
        {
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("../blobs/53aa51", &path).unwrap();
            let error = message(copy.path());
            let end = format!("{file} is a link to ../blobs/53aa51, which does not exist");
            assert!(error.ends_with(&end), "{error}");
        }
    }
    let copy = copy_of("bert-pytorch");
    fs::remove_file(copy.path().join("pytorch_model.bin")).unwrap();
    let list = copy.path().join("pytorch_model.bin.index.json");
    fs::write(&list, "{}").unwrap();
    match BiEncoder::open(copy.path()).unwrap_err() {
        ModelError::Sharded { path } => assert_eq!(path, list),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rejects_unknown_prompts() {
    let copy = copy_of("bert");
    let path = copy.path().join("config_sentence_transformers.json");
    for (prompts, expected) in [
        (
            r#"{"query": "q: ", "passage": "p: "}"#,
            "one of the prompts: passage, query",
        ),
        ("{}", "none, as there are no prompts"),
    ] {
        let text = format!(r#"{{"prompts": {prompts}, "default_prompt_name": "search"}}"#);
        fs::write(&path, text).unwrap();
        let error = message(copy.path());
        let end = format!("default_prompt_name is search, expected {expected}");
        assert!(error.ends_with(&end), "{error}");
    }
}

#[test]
fn accepts_both_names_of_a_field() {
    let copy = copy_of("distilbert");
    replace(
        copy.path(),
        "config.json",
        "\"dim\": 12",
        "\"dim\": 12, \"hidden_size\": 12",
    );
    assert_eq!(BiEncoder::open(copy.path()).unwrap().dim(), 12);
    replace(
        copy.path(),
        "config.json",
        "\"hidden_size\": 12",
        "\"hidden_size\": 16",
    );
    let error = message(copy.path());
    let end = "config.json: dim is 12, expected 16, as hidden_size says";
    assert!(error.ends_with(end), "{error}");
}
