//! Outputs of `ir encode` and `ir train`, and the unfinished work and checkpoints beside them.

use std::fs;

use crate::common::{BERT as MODEL, CORPUS, Folder, QUERIES, words};
use crate::outputs::{contents, decompressed, inputs, rejects};

/// A copy of the model, which a failing test may overwrite.
fn inputs_and_model() -> Folder {
    let here = inputs();
    for entry in fs::read_dir(MODEL).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let name = path.file_name().unwrap().to_str().unwrap();
            here.write(&format!("model/{name}"), fs::read(&path).unwrap());
        }
    }
    here.write("towers/query/config.json", "{}");
    here.write("modules/1_Pooling/config.json", "{}");
    here.write("settings.json", "{}");
    here.write("s.ir.partial", CORPUS);
    here.write("s.npy.vectors", CORPUS);
    here
}

#[test]
fn no_output_is_an_input() {
    let here = inputs_and_model();
    for (args, option) in [
        ("encode model s.jsonl -o s.jsonl", "--output"),
        ("encode model s.jsonl -o s.npy --ids s.jsonl", "--ids"),
        ("encode model tiny -o tiny/corpus.jsonl", "--output"),
        ("encode model s.jsonl -o model/config.json", "--output"),
        (
            "encode model s.jsonl -o model/model.safetensors",
            "--output",
        ),
        (
            "encode towers s.jsonl -o towers/query/config.json",
            "--output",
        ),
        (
            "encode modules s.jsonl -o modules/1_Pooling/config.json",
            "--output",
        ),
        ("encode model q.jsonl --queries -o q.jsonl", "--output"),
        // Unfinished work.
        ("encode model s.ir.partial -o s.ir", "--output"),
        ("encode model s.npy.vectors -o s.npy", "--output"),
        ("train model t.jsonl -o new --history t.jsonl", "--history"),
        ("train model t.jsonl -o new --curves t.jsonl", "--curves"),
        (
            "train model t.jsonl -o new --config settings.json --history settings.json",
            "--history",
        ),
        (
            "train model t.jsonl -o new --history model/config.json",
            "--history",
        ),
        (
            "train model t.jsonl -o new --dev tiny --history tiny/qrels/test.tsv",
            "--history",
        ),
        (
            "train model t.jsonl -o new --texts s.jsonl --curves s.jsonl",
            "--curves",
        ),
        (
            "search x.ir --vectors s.ir.partial --encoder model -o s.ir.partial",
            "--output",
        ),
        (
            "search x.ir --vectors x.ir --encoder model -o model/config.json",
            "--output",
        ),
    ] {
        rejects(&here, &words(args), option, " reads ");
    }
}

/// Of a model's folder, only the files of the model are inputs.
#[test]
fn other_existing_files_are_replaced() {
    let here = inputs_and_model();
    for args in [
        "encode model tiny -o model/v.ir",
        "encode model tiny -o model/v.npy --ids model/v.ids",
        "encode model tiny --prefix tea -o tea",
        "encode model tiny --queries --split test -o test",
        "encode model tiny --max-tokens 10 -o 10",
        "search tiny --vectors model/v.ir --encoder model -o model/run.trec",
    ] {
        here.ir(args).ok();
        let before = contents(&here);
        here.ir(args).ok();
        assert!(contents(&here) == before, "{args:?}");
    }
    // Unfinished work in the folder of the model.
    let whole = fs::read(here.at("model/v.ir")).unwrap();
    here.write("model/w.ir.partial", &whole[..64]);
    here.write("model/w.ir.partial-job", "{}");
    here.ir("encode model tiny -o model/w.ir").ok();
    assert!(fs::read(here.at("model/w.ir")).unwrap() == whole);
}

#[test]
fn two_outputs_are_two_files() {
    let here = inputs_and_model();
    let encode = ["encode", "model", "s.jsonl", "-o", "new"];
    here.ir(&[&encode[..], &["--ids", "./new"]].concat())
        .fails(2, &["--ids: expected a destination other than --output"]);
    let train = ["train", "model", "t.jsonl", "-o", "new"];
    for both in ["h", "-"] {
        here.ir(&[&train[..], &["--history", both, "--curves", both]].concat())
            .fails(
                2,
                &["--curves: expected a destination other than --history"],
            );
    }
    assert!(!here.at("new").exists());
}

/// Unfinished work of `ir encode` is an output, too.
#[test]
fn ids_do_not_replace_unfinished_work() {
    let here = inputs_and_model();
    for (output, ids) in [
        ("v.ir", "v.ir.partial"),
        ("v.ir", "./v.ir.partial-job"),
        ("v.ir", "v.ir.partial-ids"),
        ("v.npy", "v.npy.vectors"),
        ("v.npy", "v.npy.vectors.partial"),
        ("v.npy", "v.npy.vectors.partial-job"),
    ] {
        here.write(ids, "");
        let before = contents(&here);
        let parts = [
            "--ids: expected a destination other than the unfinished work of --output",
            ids,
        ];
        here.ir(&["encode", "model", "s.jsonl", "-o", output, "--ids", ids])
            .fails(2, &parts);
        assert!(contents(&here) == before, "{ids}");
        fs::remove_file(here.at(ids)).unwrap();
    }
}

const TRAIN: [&str; 6] = ["--epochs", "1", "--batch", "2", "--negatives", "0"];

/// No input and no other output is in the output folder or the checkpoint folder of `ir train`.
#[test]
fn training_does_not_delete_inputs() {
    let here = inputs_and_model();
    let examples = here.read("t.jsonl");
    here.write("k.checkpoints/t.jsonl", &examples);
    here.write("r.checkpoints/evaluation.json", &examples);
    here.write("c.checkpoints/s.jsonl", CORPUS);
    here.write("c.checkpoints/settings.json", "{}");
    for entry in fs::read_dir(here.at("model")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        here.write(&format!("m.checkpoints/m/{name}"), fs::read(&path).unwrap());
    }
    for (name, file) in [
        ("corpus.jsonl", CORPUS),
        ("queries.jsonl", QUERIES),
        ("qrels/dev.tsv", crate::common::BEIR_QRELS),
    ] {
        here.write(&format!("d.checkpoints/tiny/{name}"), file);
    }
    let inside = "--output: expected a folder without inputs, found ";
    let outside = "expected a destination outside of ";
    for (args, expected, input) in [
        (
            "model k.checkpoints/t.jsonl -o k",
            inside,
            "reads k.checkpoints/t.jsonl",
        ),
        (
            "model r.checkpoints/evaluation.json -o ./r",
            inside,
            "evaluation.json",
        ),
        (
            "m.checkpoints/m t.jsonl -o m",
            inside,
            "<MODEL> reads m.checkpoints/m/",
        ),
        (
            "model t.jsonl -o c --texts c.checkpoints/s.jsonl",
            inside,
            "--texts reads",
        ),
        (
            "model t.jsonl -o c --config c.checkpoints/settings.json",
            inside,
            "--config reads",
        ),
        (
            "model t.jsonl -o d --dev d.checkpoints/tiny",
            inside,
            "--dev reads",
        ),
        ("model t.jsonl -o model", inside, "<MODEL> reads model/"),
        (
            "model t.jsonl -o h --history h.checkpoints/h.csv",
            outside,
            "the checkpoints of --output, found h.checkpoints/h.csv",
        ),
        (
            "model t.jsonl -o h --curves ./h/c.svg",
            outside,
            "--output, found ./h/c.svg",
        ),
    ] {
        let before = contents(&here);
        let args: Vec<&str> = ["train"].into_iter().chain(args.split(' ')).collect();
        here.ir(&[&args[..], &TRAIN].concat())
            .fails(2, &[expected, input]);
        assert!(contents(&here) == before, "{args:?}: a file changed");
    }
}

/// Training deletes the files that it wrote.
#[test]
fn foreign_files_beside_checkpoints_stay() {
    let here = inputs_and_model();
    let train = |output: &str| {
        let args = ["train", "model", "t.jsonl", "-o", output];
        here.ir(&[&args[..], &TRAIN].concat())
    };
    here.write("tuned.checkpoints/notes.txt", "notes");
    here.write("tuned.checkpoints/more/best.txt", "more");
    train("tuned").ok();
    let left: Vec<_> = contents(&here).into_iter().map(|(path, _)| path).collect();
    let left = left
        .iter()
        .filter(|path| path.starts_with(here.at("tuned.checkpoints")));
    let expected = ["more/best.txt", "notes.txt"];
    let expected = expected.map(|name| here.at("tuned.checkpoints").join(name));
    assert_eq!(
        left.collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
    assert_eq!(here.read("tuned.checkpoints/notes.txt"), "notes");
    assert_eq!(here.read("tuned.checkpoints/more/best.txt"), "more");
    // Files of other programs with the names of checkpoints.
    for (output, name, text) in [
        ("x", "evaluation.json", "{\"nDCG@10\": 0.5}"),
        ("y", "best-7.safetensors", "weights"),
    ] {
        let name = format!("{output}.checkpoints/{name}");
        here.write(&name, text);
        train(output).fails(
            1,
            &[&name, "expected a file of an interrupted training run"],
        );
        assert_eq!(here.read(&name), text);
        assert!(!here.at(output).exists());
    }
}

/// The target of a link has no files of a finished run, and the link stays.
#[cfg(unix)]
#[test]
fn linked_checkpoint_folder() {
    let here = inputs_and_model();
    fs::create_dir(here.at("scratch")).unwrap();
    std::os::unix::fs::symlink("scratch", here.at("tuned.checkpoints")).unwrap();
    let args = ["train", "model", "t.jsonl", "-o", "tuned"];
    here.ir(&[&args[..], &TRAIN].concat()).ok();
    assert!(here.at("tuned.checkpoints").is_symlink());
    assert_eq!(fs::read_dir(here.at("scratch")).unwrap().count(), 0);
}

#[test]
fn outputs_of_encode() {
    let here = inputs_and_model();
    let encode = ["encode", "model", "tiny", "-o"];
    let run = |more: &[&str]| here.ir(&[&encode[..], more].concat());
    let before = contents(&here);
    run(&["-"]).fails(2, &["--output: expected a file", "standard output"]);
    run(&["v.npy.gz"]).fails(2, &["--output: expected a file", ".gz"]);
    run(&["v.ir.GZ"]).fails(2, &["--output: expected a file", ".GZ"]);
    let train = ["train", "model", "t.jsonl", "-o", "-"];
    here.ir(&train)
        .fails(2, &["--output: expected a folder", "standard output"]);
    assert!(contents(&here) == before);
    assert_eq!(run(&["v.npy", "--ids", "-"]).ok().out, "d1\nd2\nd3\n");
    run(&["v.npy", "--ids", "ids.gz"]).ok();
    run(&["V.NPY"]).ok();
    assert!(fs::read(here.at("V.NPY")).unwrap() == fs::read(here.at("v.npy")).unwrap());
    assert_eq!(decompressed(here.at("ids.gz")), "d1\nd2\nd3\n");
}

#[cfg(unix)]
#[test]
fn links_to_outputs_are_followed() {
    let here = inputs_and_model();
    fs::create_dir(here.at("elsewhere")).unwrap();
    for name in ["v.npy", "v.ir"] {
        let target = here.at("elsewhere").join(name);
        std::os::unix::fs::symlink(&target, here.at(name)).unwrap();
        let mut written = Vec::new();
        for _ in 0..2 {
            here.ir(&["encode", "model", "tiny", "-o", name]).ok();
            assert!(here.at(name).is_symlink(), "{name}");
            written.push(fs::read(&target).unwrap());
        }
        assert!(written[0] == written[1], "{name}");
    }
    let names = ["elsewhere/v.ir", "elsewhere/v.npy"].map(|name| here.at(name));
    assert_eq!(
        here.files()
            .into_iter()
            .filter(|path| path.starts_with(here.at("elsewhere/")) && path.is_file())
            .collect::<Vec<_>>(),
        names
    );
    // A link to an empty folder.
    fs::create_dir(here.at("empty")).unwrap();
    std::os::unix::fs::symlink("empty", here.at("tuned")).unwrap();
    let train = "train model t.jsonl -o tuned --epochs 1 --batch 2 --negatives 0";
    here.ir(train).ok();
    assert!(here.at("tuned").is_symlink());
    assert!(here.at("empty/model.safetensors").is_file());
}
