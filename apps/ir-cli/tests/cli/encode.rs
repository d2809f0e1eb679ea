//! `ir encode` with a tiny model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, tiny};
use crate::many_texts::many_texts;
use ir_core::Retriever;
use ir_knn::{FlatIndex, npy};

/// Path of a randomly initialized model.
fn model(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/ir-dense/testdata/tiny");
    folder.join(name).to_str().unwrap().to_owned()
}

fn rows(path: PathBuf) -> Vec<Vec<f64>> {
    let rows = npy::read(fs::File::open(path).unwrap(), "rows").unwrap();
    rows.rows().into_iter().map(|row| row.to_vec()).collect()
}

/// Vectors equal those of sentence-transformers for the same texts (`testdata/golden.py`).
#[test]
fn vectors_match_python() {
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/ir-dense/testdata/golden.json");
    let golden: serde_json::Value = serde_json::from_slice(&fs::read(golden).unwrap()).unwrap();
    let texts = golden["texts"].as_array().unwrap();
    let lines: Vec<String> = (0..)
        .zip(texts)
        .map(|(n, text)| serde_json::json!({"_id": format!("t{n}"), "text": text}).to_string())
        .collect();
    let here = Folder::new();
    here.write("queries.jsonl", lines.join("\n"));
    for (pooling, normalize) in [("mean", "true"), ("cls", "false")] {
        let args = [
            "encode",
            &model("bert-pytorch"),
            "queries.jsonl",
            "--queries",
        ];
        let how = [
            "--pooling",
            pooling,
            "--normalize",
            normalize,
            "--max-tokens",
            "16",
        ];
        let out = ["-o", "out.npy", "--ids", "out.ids"];
        here.ir(&[&args[..], &how, &out].concat()).ok();
        let expected =
            golden["poolings"].as_array().unwrap().iter().find(|case| {
                case["pooling"] == pooling && case["normalize"] == (normalize == "true")
            });
        let found = rows(here.at("out.npy"));
        let expected = expected.unwrap()["vectors"].as_array().unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found
            .iter()
            .flatten()
            .zip(expected.iter().flat_map(|row| row.as_array().unwrap()))
        {
            assert!((found - expected.as_f64().unwrap()).abs() < 1e-5);
        }
        let ids: String = (0..texts.len()).map(|n| format!("t{n}\n")).collect();
        assert_eq!(here.read("out.ids"), ids);
    }
    // No other file remains.
    let names = ["out.ids", "out.npy", "queries.jsonl"];
    assert_eq!(here.files(), names.map(|name| here.at(name)));
}

#[test]
fn index_equals_npy() {
    let here = Folder::new();
    tiny(&here);
    let encode = |output: &str, more: &[&str]| {
        let model = model("bert");
        let args = ["encode", &model, "tiny", "-o", output];
        here.ir(&[&args[..], more].concat())
    };
    encode("docs.ir", &["--threads", "2"]).ok();
    encode("docs.npy", &["--threads", "1", "--batch-tokens", "1"]).ok();
    let index = FlatIndex::open(here.at("docs.ir")).unwrap();
    assert_eq!(index.ids().iter().collect::<Vec<_>>(), ["d1", "d2", "d3"]);
    let values: Vec<f64> = index.vectors().iter().map(|&x| f64::from(x)).collect();
    assert_eq!(values, rows(here.at("docs.npy")).concat());
    let texts = ["--batch-size", "2", "--device", "cpu"];
    encode("texts.ir", &texts).ok();
    assert!(fs::read(here.at("texts.ir")).unwrap() == fs::read(here.at("docs.ir")).unwrap());
    let both = ["--batch-size", "2", "--batch-tokens", "9"];
    encode("both.ir", &both).fails(2, &["--batch-size", "--batch-tokens"]);
    // The template determines the vectors; the explicit default template changes nothing.
    encode("text.ir", &["--template", "{text}"]).ok();
    encode("same.ir", &["--template", "{title} {text}"]).ok();
    let bytes = |name| fs::read(here.at(name)).unwrap();
    assert!(bytes("text.ir") != bytes("docs.ir"));
    assert!(bytes("same.ir") == bytes("docs.ir"));
}

/// Kills the command after it has saved unfinished work.
pub(crate) fn encode_and_kill(here: &Folder, model: &str, output: &str, more: &[&str]) {
    let mut child = here
        .command(&["encode", model, "many.tsv", "-o", output])
        .args(["--threads", "1"])
        .args(more)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while saved_blocks(here) == 0 {
        assert!(began.elapsed() < Duration::from_secs(120));
        assert!(
            child.try_wait().unwrap().is_none(),
            "finished before it was killed"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Number of blocks that the journals of unfinished work list. A journal has a header and a block
/// for the vectors saved before it, each as length, content and checksum.
fn saved_blocks(here: &Folder) -> usize {
    let is_journal = |file: &PathBuf| file.extension().is_some_and(|end| end == "partial-ids");
    let count = |file: PathBuf| {
        let bytes = fs::read(file).unwrap();
        let (mut rest, mut count) = (&bytes[..], 0_usize);
        while let Some((length, content)) = rest.split_first_chunk() {
            let Some(next) = content.get(u32::from_le_bytes(*length) as usize + 4..) else {
                break;
            };
            (rest, count) = (next, count + 1);
        }
        count.saturating_sub(1)
    };
    here.files().into_iter().filter(is_journal).map(count).sum()
}

#[test]
fn killed_encode_resumes_to_same_bytes() {
    let here = Folder::new();
    here.write("many.tsv", many_texts(40_000));
    let model = model("bert");
    here.ir(&["encode", &model, "many.tsv", "-o", "whole.ir"])
        .ok();

    encode_and_kill(&here, &model, "killed.ir", &[]);
    assert!(!here.at("killed.ir").exists());
    // Another job does not resume it.
    let other = format!("encode {model} many.tsv -o killed.ir --pooling cls");
    let parts = [
        "killed.ir.partial: expected unfinished work of the same texts and model",
        "expected pooling cls, found mean",
        "--restart",
    ];
    here.ir(&other).fails(1, &parts);
    let ran = here
        .ir(&["encode", &model, "many.tsv", "-o", "killed.ir"])
        .ok();
    let resumed = ran.err.contains("resuming after ");
    assert!(resumed, "{}", ran.err);
    let bytes = |name| fs::read(here.at(name)).unwrap();
    assert!(bytes("killed.ir") == bytes("whole.ir"));

    // The same for an array, with another number of threads.
    encode_and_kill(&here, &model, "killed.npy", &[]);
    let ran = here
        .ir(&["encode", &model, "many.tsv", "-o", "killed.npy"])
        .ok();
    assert!(ran.err.contains("resuming after "), "{}", ran.err);
    let index = FlatIndex::open(here.at("whole.ir")).unwrap();
    let mut expected = Vec::new();
    npy::write(index.vectors(), &mut expected).unwrap();
    assert!(bytes("killed.npy") == expected);
    let names = ["killed.ir", "killed.npy", "many.tsv", "whole.ir"];
    assert_eq!(here.files(), names.map(|name| here.at(name)));
}

#[test]
fn different_queries_are_not_resumed() {
    let here = Folder::new();
    here.write("many.tsv", many_texts(40_000));
    encode_and_kill(&here, &model("bert"), "killed.ir", &["--queries"]);
    let others = here.read("many.tsv").replace("radar", "tea");
    here.write("many.tsv", others);
    let args = ["encode", &model("bert"), "many.tsv", "-o", "killed.ir"];
    let parts = ["killed.ir.partial", "text 4 of 40,000 differs", "--restart"];
    here.ir(&[&args[..], &["--queries"]].concat())
        .fails(1, &parts);
}

#[test]
fn restart_discards_unfinished_work() {
    let here = Folder::new();
    tiny(&here);
    let model = model("bert");
    here.write("docs.ir.partial", "something else");
    let encode = ["encode", &model, "tiny", "-o", "docs.ir"];
    here.ir(&encode).fails(1, &["docs.ir.partial", "--restart"]);
    assert_eq!(here.read("docs.ir.partial"), "something else");
    here.ir(&[&encode[..], &["--restart"]].concat()).ok();
    assert!(here.at("docs.ir").is_file());
    assert!(!here.at("docs.ir.partial").exists());
}

#[test]
fn encode_errors() {
    let here = Folder::new();
    tiny(&here);
    let model = model("bert");
    let fails = |args: &[&str], code, parts: &[&str]| {
        let args = [&["encode"], args, &["-o", "out.ir"]].concat();
        here.ir(&args).fails(code, parts);
        assert!(!here.at("out.ir").exists());
    };
    fails(
        &["nowhere", "tiny"],
        1,
        &["nowhere", "expected a model folder"],
    );
    let known = "sentence-transformers/all-MiniLM-L6-v2";
    let fetch = format!("`ir models fetch {known}` downloads it");
    let feature = if cfg!(feature = "fetch") {
        "downloads it"
    } else {
        "downloads it in a build with the feature \"fetch\""
    };
    for name in [known, "all-MiniLM-L6-v2"] {
        let no_models = [("HF_HOME", "."), ("HF_HUB_CACHE", "")];
        here.ir_env(&["encode", name, "tiny", "-o", "out.ir"], &no_models)
            .fails(1, &[name, &fetch, feature]);
    }
    fails(&[&model, "nowhere"], 1, &["nowhere"]);
    let expected = ["backend cuda:1", "feature `cuda`"];
    fails(&[&model, "tiny", "--backend", "cuda:1"], 1, &expected);
    let expected = ["max_tokens is 4000", "at most 32"];
    fails(&[&model, "tiny", "--max-tokens", "4000"], 2, &expected);
    let expected = ["--max-tokens: the limit of 2 tokens is too low"];
    fails(&[&model, "tiny", "--max-tokens", "2"], 2, &expected);
    here.write("empty.jsonl", "");
    fails(&[&model, "empty.jsonl"], 1, &["empty.jsonl", "empty file"]);
    let same = ["--ids", "out.ir"];
    fails(
        &[&[&model[..], "tiny"], &same[..]].concat(),
        2,
        &["--ids: expected a destination other than --output"],
    );
    let split = ["tiny", "--split", "train"];
    fails(&[&[&model[..]], &split[..]].concat(), 2, &["--queries"]);
    // Graphs need --add, which is not in effect for shards and files.
    for graph in [
        &["--hnsw"][..],
        &["--hnsw", "--m", "8"],
        &["--m", "8"],
        &["--ef-construction", "80"],
    ] {
        for file in [
            &["--shard", "1/3"][..],
            &["--ids", "out.ids"],
            &["--queries"],
            &["--restart"],
            &[],
        ] {
            let part = if file.is_empty() {
                "required arguments were not provided: --"
            } else {
                " cannot be used with "
            };
            fails(&[&[&model, "tiny"], graph, file].concat(), 2, &[part]);
        }
    }
    let shard = [&model, "tiny", "--hnsw", "--shard", "1/3"];
    fails(&shard, 2, &["'--hnsw' cannot be used with '--shard <I/N>'"]);
    let missing = ["encode", &model, "tiny", "-o", "no/where.ir"];
    here.ir(&missing).fails(1, &["no/where.ir"]);
    // No unfinished work remains.
    assert!(
        here.files()
            .iter()
            .all(|file| !file.display().to_string().contains("partial"))
    );
}

/// A template with a field that no document has would give the same vector to all documents.
#[test]
fn misspelled_template_field() {
    let here = Folder::new();
    tiny(&here);
    let model = model("bert");
    let parts = [
        "expected fields of the documents (id, kind, text, title, year)",
        "{text} {titel}",
        "found \"titel\" (did you mean title?)",
    ];
    let template = ["--template", "{text} {titel}"];
    let encode = ["encode", &model, "tiny", "-o", "docs.ir"];
    here.ir(&[&encode[..], &template].concat()).fails(1, &parts);
    let mine = ["mine", "tiny", "--split", "test", "--leave-out"];
    here.ir(&[&mine[..], &template].concat()).fails(1, &parts);
    let line = r#"{"query": "tea", "positives": ["d1"]}"#;
    here.write("train.jsonl", line);
    let collections: [&[&str]; 2] = [
        &["--texts", "tiny"],
        &["--dev", "tiny", "--dev-split", "test"],
    ];
    for collection in collections {
        let train = ["train", &model, "train.jsonl", "-o", "tuned"];
        let train = [&train[..], collection, &template].concat();
        here.ir(&train).fails(1, &parts);
    }
    // An attribute of some documents is a field.
    let some = ["--template", "{text} {kind}"];
    here.ir(&[&encode[..], &some].concat()).ok();
}

/// A job that failed before its first vector leaves nothing, and another job can follow.
#[test]
fn failed_encode_does_not_block() {
    let here = Folder::new();
    let model = model("bert");
    let text = |n: usize| format!("{{\"_id\": \"d{n}\", \"text\": \"green tea\"}}\n");
    here.write("docs.jsonl", text(1) + "{\"_id\": \"d2\"\n");
    for output in ["docs.ir", "docs.npy"] {
        let encode = ["encode", &model, "docs.jsonl", "-o", output];
        here.ir(&encode).fails(1, &["docs.jsonl:2"]);
        assert_eq!(here.files(), [here.at("docs.jsonl")]);
    }
    here.write("docs.jsonl", text(1) + &text(2));
    let encode = ["encode", &model, "docs.jsonl", "-o"];
    here.ir(&[&encode[..], &["docs.ir"]].concat()).ok();
    // Killed before the first vector: the header alone, and the job of other texts.
    let whole = fs::read(here.at("docs.ir")).unwrap();
    here.write("docs.npy.vectors.partial", &whole[..64]);
    here.write("docs.npy.vectors.partial-job", "{}");
    here.ir(&[&encode[..], &["docs.npy"]].concat()).ok();
    let names = ["docs.ir", "docs.jsonl", "docs.npy"];
    assert_eq!(here.files(), names.map(|name| here.at(name)));
    // Killed before the job file was written.
    here.write("docs.npy.vectors.partial", &whole[..64]);
    here.ir(&[&encode[..], &["docs.npy"]].concat()).ok();
    assert_eq!(here.files(), names.map(|name| here.at(name)));
    // With a vector, unfinished work of another job is an error that names file and difference.
    here.write("docs.npy.vectors.partial", &whole[..112]);
    here.write("docs.npy.vectors.partial-job", "{}");
    let parts = [
        "docs.npy.vectors.partial: expected unfinished work",
        "--restart",
    ];
    here.ir(&[&encode[..], &["docs.npy"]].concat())
        .fails(1, &parts);
    let help = here.ir("encode --help").ok().out;
    assert!(help.contains("FILE.vectors.partial"), "{help}");
}

/// A text of 27 MB is not tokenized whole for a few tokens.
#[test]
#[cfg(target_os = "linux")]
fn long_texts_need_little_memory() {
    let here = Folder::new();
    let encode = |repeated: usize, model_name: &str, out: &str| {
        let text = "green tea and ships at sea ".repeat(repeated);
        here.write(
            "docs.jsonl",
            format!("{{\"_id\": \"d\", \"text\": \"{text}\"}}\n"),
        );
        let output = Command::new("sh")
            .args(["-c", "ulimit -v 1048576; exec \"$@\"", "sh"])
            .args([env!("CARGO_BIN_EXE_ir"), "encode", &model(model_name)])
            .args(["docs.jsonl", "-o", out, "--threads", "1"])
            .current_dir(here.path())
            // By default, the allocator reserves address space for each thread.
            .env("MALLOC_ARENA_MAX", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{model_name}: {output:?}");
        rows(here.at(out))
    };
    for model in ["bert", "distilbert", "mpnet", "roberta"] {
        let whole = encode(1_000_000, model, &format!("{model}-long.npy"));
        assert_eq!(
            whole,
            encode(100, model, &format!("{model}.npy")),
            "{model}"
        );
    }
}

/// Output channels whose weights do not fit 8 bits are listed.
#[test]
fn outlier_channels() {
    let here = Folder::new();
    tiny(&here);
    let texts = include_str!("../../README.md").split("\n\n");
    let texts: Vec<&str> = texts.collect();
    let model = ir_dense::RandomModel::default().with_shape(320, 1, 4);
    model.create(here.at("model"), &texts).unwrap();
    let path = here.at("model/model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = &bytes[8..8 + length];
    let header: serde_json::Value = serde_json::from_slice(header).unwrap();
    for (part, row) in [
        ("attention.self.key", 9),
        ("intermediate.dense", 4),
        ("intermediate.dense", 800),
    ] {
        let name = format!("encoder.layer.0.{part}.weight");
        let start = header[&name]["data_offsets"][0].as_u64().unwrap() as usize;
        let start = 8 + length + start + 4 * 320 * row;
        bytes[start..start + 4].copy_from_slice(&30.0_f32.to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    let encode = |precision| {
        let args = format!("encode model tiny -o {precision} --precision {precision}");
        here.ir(&args).ok().err
    };
    let log = encode("int8");
    let note = "note: int8: 3 output channels have weights out of the range of int8 and are f32: 1 \
                of 960 in layers.0.qkv, 2 of 1280 in layers.0.up\n";
    assert!(log.ends_with(note), "{log}");
    for precision in ["f32", "bf16"] {
        let log = encode(precision);
        assert!(!log.contains("output channels"), "{log}");
    }
}
