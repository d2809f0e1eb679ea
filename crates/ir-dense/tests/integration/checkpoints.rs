//! Checkpoints of other runs, and damaged checkpoints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::error::Error as _;
use std::fs;
use std::path::Path;

use crate::common::{
    checkpoint, config, copy_folder, copy_of, examples, on_backend, testdata, tiny,
};
use ir_core::training::TrainingExample;
use ir_core::{Flow, NoProgress};
use ir_dense::train::{
    ReaderExample, ReaderTrainer, ReaderTrainingConfig, TrainError, Trainer, TrainingConfig,
};

/// Stops training after a number of steps.
fn stop_after(steps: u64) -> impl FnMut(&str, u64, Option<u64>) -> Flow {
    move |_, done, _| {
        if done < steps {
            Flow::Continue
        } else {
            Flow::Stop
        }
    }
}

fn resume(
    folder: &Path,
    model: &str,
    config: &TrainingConfig,
    data: Vec<TrainingExample>,
) -> TrainError {
    let trainer = Trainer::open(tiny(model), config).unwrap();
    trainer
        .with_checkpoints(folder)
        .train(&data, &mut NoProgress)
        .unwrap_err()
}

#[test]
fn rejects_checkpoints_of_other_runs() {
    let folder = checkpoint();
    let path = folder.path().join("checkpoint.safetensors");
    let before = fs::read(&path).unwrap();
    let (folder, config) = (folder.path(), config());
    let mut other = config.clone();
    other.schedule.warmup_ratio = 0.2;
    let error = resume(folder, "bert-pytorch", &other, examples());
    assert!(
        matches!(&error, TrainError::OtherConfiguration { field, expected, found, .. }
            if field == "schedule.warmup_ratio" && expected == "0.2" && found == "0.1"),
        "{error}"
    );
    let error = resume(folder, "bert-pytorch", &config, examples()[1..].to_vec());
    assert!(
        matches!(&error, TrainError::OtherConfiguration { field, .. } if field == "training_data"),
        "{error}"
    );
    let error = resume(folder, "bert-bf16", &config, examples());
    assert!(
        matches!(&error, TrainError::OtherConfiguration { field, .. } if field == "weights"),
        "{error}"
    );
    let model = tiny("bert-pytorch");
    let untied = Trainer::open_untied(&model, &model, &config)
        .unwrap()
        .with_checkpoints(folder);
    let error = untied.train(&examples(), &mut NoProgress).unwrap_err();
    assert!(
        matches!(&error, TrainError::OtherConfiguration { field, .. } if field == "towers"),
        "{error}"
    );
    // The checkpoint is unchanged.
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// The weights are equal.
#[test]
fn rejects_checkpoints_of_other_models() {
    let mut config = config();
    config.encoder = on_backend();
    let model = copy_of("bert-pytorch");
    let vocabulary = fs::read_to_string(model.path().join("vocab.txt")).unwrap();
    let (ship, tea) = ("\nship\n", "\ntea\n");
    assert!(vocabulary.contains(ship) && vocabulary.contains(tea));
    let other = vocabulary.replace(ship, "\n#\n").replace(tea, ship);
    let other = other.replace("\n#\n", tea);
    let settings = fs::read_to_string(model.path().join("config.json")).unwrap();
    let gelu = settings.replace("\"relu\"", "\"gelu\"");
    let modules = r#"[{"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]"#;
    fs::create_dir(model.path().join("1_Pooling")).unwrap();
    fs::write(model.path().join("modules.json"), modules).unwrap();
    let original = [
        ("vocab.txt", &*vocabulary),
        ("config.json", &settings),
        ("1_Pooling/config.json", "{}"),
        ("sentence_bert_config.json", "{}"),
        ("config_sentence_transformers.json", "{}"),
    ];
    let changed = [
        (&*other, "tokenizer"),
        (&gelu, "transformer.activation"),
        (r#"{"pooling_mode": "cls"}"#, "pooling"),
        (r#"{"max_seq_length": 12}"#, "max_tokens"),
        (
            r#"{"prompts": {"query": "q: ", "document": "p: "}}"#,
            "prompt",
        ),
    ];
    let write = |file: &str, text: &str| fs::write(model.path().join(file), text).unwrap();
    original.iter().for_each(|(file, text)| write(file, text));
    let checkpoints = tempfile::tempdir().unwrap();
    let train = |steps: u64| {
        let trainer = Trainer::open(model.path(), &config).unwrap();
        let trainer = trainer.with_checkpoints(checkpoints.path());
        trainer
            .train(&examples(), &mut stop_after(steps))
            .unwrap_err()
    };
    assert!(matches!(train(1), TrainError::Stopped { step: 1, .. }));
    for ((file, text), (other, end)) in original.into_iter().zip(changed) {
        write(file, other);
        let error = train(2);
        assert!(
            matches!(&error, TrainError::OtherConfiguration { field, .. }
                if field.starts_with("model.") && field.ends_with(end)),
            "{error}"
        );
        write(file, text);
    }
    assert!(matches!(train(2), TrainError::Stopped { step: 2, .. }));
}

#[test]
fn rejects_checkpoints_of_readers_with_other_tokenizers() {
    let model = copy_folder(&testdata("reader/bert"));
    let checkpoints = tempfile::tempdir().unwrap();
    let data = [ReaderExample::new("the ship", "a ship at sea", 2..6)];
    let train = |steps: u64| {
        let trainer = ReaderTrainer::open(model.path(), &ReaderTrainingConfig::default()).unwrap();
        let trainer = trainer.with_checkpoints(checkpoints.path());
        trainer
            .train(&data, &mut stop_after(steps))
            .map(|trained| trained.history.steps.len())
    };
    assert!(matches!(
        train(1),
        Err(TrainError::Stopped { step: 1, steps: 2 })
    ));
    let path = model.path().join("vocab.txt");
    let vocabulary = fs::read_to_string(&path).unwrap();
    let other = vocabulary.replace("\nship\n", "\nshop\n");
    assert_ne!(vocabulary, other);
    fs::write(&path, other).unwrap();
    let error = train(2).unwrap_err();
    assert!(
        matches!(&error, TrainError::OtherConfiguration { field, .. } if field == "model.tokenizer"),
        "{error}"
    );
    fs::write(&path, vocabulary).unwrap();
    assert_eq!(train(3).unwrap(), 2);
}

#[test]
fn rejects_damaged_checkpoints() {
    let folder = checkpoint();
    let path = folder.path().join("checkpoint.safetensors");
    let whole = fs::read(&path).unwrap();
    let after = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        resume(folder.path(), "bert-pytorch", &config(), examples())
    };
    let mut bytes = whole.clone();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let error = after(&bytes);
    assert!(matches!(error, TrainError::Damaged { .. }), "{error}");
    // In the state: another step number.
    let state = br#"\"step\":3,\"without"#;
    let at = whole
        .windows(state.len())
        .position(|window| window == state)
        .unwrap();
    let mut bytes = whole.clone();
    bytes[at + 9] = b'4';
    let error = after(&bytes);
    assert!(matches!(error, TrainError::Damaged { .. }), "{error}");
    let version = br#""version":"4""#;
    let at = whole
        .windows(version.len())
        .position(|window| window == version)
        .unwrap();
    // Older and newer formats.
    for other in [1, 2, 3, 7] {
        let mut bytes = whole.clone();
        bytes[at + 11] = b'0' + other as u8;
        let error = after(&bytes);
        assert!(
            matches!(error, TrainError::Version { expected: 4, found, .. } if found == other),
            "{error}"
        );
        let message = format!("is a checkpoint of version {other}, expected 4");
        assert!(error.to_string().ends_with(&message), "{error}");
    }
    for cut in [0, 7, 100, whole.len() / 2, whole.len() - 1] {
        let error = after(&whole[..cut]);
        assert!(
            matches!(error, TrainError::NoCheckpoint { .. }),
            "{cut}: {error}"
        );
    }
    let error = after(&fs::read(tiny("bert/model.safetensors")).unwrap());
    assert!(
        matches!(error, TrainError::NoCheckpoint { .. }) && error.source().is_none(),
        "{error}"
    );
    after_repair(&folder, &path, &whole);
}

fn after_repair(folder: &tempfile::TempDir, path: &Path, whole: &[u8]) {
    fs::write(path, whole).unwrap();
    let trainer = Trainer::open(tiny("bert-pytorch"), &config()).unwrap();
    let trained = trainer
        .with_checkpoints(folder.path())
        .train(&examples(), &mut NoProgress)
        .unwrap();
    assert_eq!(trained.history.steps.len(), 9);
}

#[cfg(target_os = "linux")]
#[test]
fn removes_temporary_files_of_dead_processes() {
    let folder = checkpoint();
    // Above the largest process id of Linux.
    let dead = [
        ".checkpoint.safetensors.4194999.0.tmp",
        ".best-4.safetensors.4194999.12.tmp",
    ];
    let living = format!(".checkpoint.safetensors.{}.900.tmp", std::process::id());
    let others = [
        &*living,
        ".notes.4194999.0.tmp",
        ".checkpoint.safetensors.x.0.tmp",
    ];
    for name in dead.iter().chain(&others) {
        fs::write(folder.path().join(name), "half").unwrap();
    }
    // Writers lock their temporary files.
    let lock = fs::File::open(folder.path().join(&living)).unwrap();
    lock.lock().unwrap();
    let trainer = Trainer::open(tiny("bert-pytorch"), &config()).unwrap();
    let trainer = trainer.with_checkpoints(folder.path());
    trainer.train(&examples(), &mut NoProgress).unwrap();
    let there = |name: &&str| folder.path().join(name).exists();
    assert!(!dead.iter().any(there) && others.iter().all(there));
}
