//! Outputs: none replaces an input; standard output and compression.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use crate::common::{CORPUS, Folder, QRELS, QUERIES, RUN, tiny};

const OTHER_RUN: &str = "q1 Q0 d1 1 2.5 other\nq2 Q0 d2 1 1.5 other\n";
const NOT_AN_INPUT: &str = "expected a path that is not an input, found ";

/// Every file with its content.
pub(crate) fn contents(here: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    let files = here.files().into_iter().filter(|path| path.is_file());
    files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// Asserts a usage error that names the output option and the input, and that no file changed.
#[track_caller]
fn rejects(here: &Folder, args: &[&str], option: &str, input: &str) {
    let before = contents(here);
    let expected = format!("{option}: {NOT_AN_INPUT}");
    let ran = here.ir_inside(args).fails(2, &[&expected, input]);
    assert_eq!(ran.out, "", "{args:?}");
    assert!(contents(here) == before, "{args:?}: a file changed");
}

/// Files that the commands read.
fn inputs() -> Folder {
    let here = Folder::new();
    tiny(&here);
    here.write("s.jsonl", CORPUS);
    here.write("q.jsonl", QUERIES);
    here.write("notes/a.md", "# Tea\n\ngreen tea\n");
    here.write("qrels", QRELS);
    here.write("a.trec", RUN);
    here.write("b.trec", OTHER_RUN);
    here.write("clicks", "q1 d1\n");
    here.write(
        "t.jsonl",
        "{\"query\": \"tea\", \"positives\": [\"Green tea leaves\"]}\n\
         {\"query\": \"river\", \"positives\": [\"A river in winter\"]}\n",
    );
    here.ir(&["index", "tiny", "-o", "x.ir"]).ok();
    here
}

#[test]
fn no_output_is_an_input() {
    let here = inputs();
    let pool = ["pool", "-k", "1", "a.trec", "b.trec", "-o", "list.tsv"];
    here.ir(&[&pool[..], &["--pool", "pool.qrels"]].concat())
        .ok();
    for args in [
        "index s.jsonl -o s.jsonl",
        "index s.jsonl -o ./s.jsonl",
        "index s.jsonl -o tiny/../s.jsonl",
        "index tiny -o tiny/corpus.jsonl",
        "index notes -o notes/a.md",
        "search x.ir tea -o x.ir",
        "search x.ir --queries q.jsonl -o q.jsonl",
        "search x.ir --queries q.jsonl --output=x.ir",
        "search tiny -o tiny/qrels/test.tsv",
        "search tiny -o tiny/queries.jsonl",
        "mine tiny -o tiny/corpus.jsonl",
        "mine tiny --split test -o tiny/qrels/test.tsv",
        "mine tiny --examples t.jsonl -o t.jsonl",
        "mine tiny --split test --run a.trec -o a.trec",
        "fuse a.trec b.trec -o b.trec",
        "interleave a.trec b.trec -o a.trec",
        "pool a.trec b.trec -o b.trec",
        "pool a.trec --judged qrels -o qrels",
        "pool --merge pool.qrels list.tsv -o pool.qrels",
        "pool --merge pool.qrels list.tsv -o list.tsv",
        "compare qrels a.trec b.trec -o qrels",
        "compare qrels a.trec b.trec -o b.trec",
        "compare tiny a.trec b.trec -o tiny/qrels/test.tsv",
        "compare tiny:test a.trec b.trec -o tiny/qrels/test.tsv",
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let output = args.last().unwrap().trim_start_matches("--output=");
        let input = output
            .trim_start_matches("./")
            .trim_start_matches("tiny/../");
        rejects(&here, &args, "--output", &format!(" reads {input})"));
    }
    let args = ["interleave", "a.trec", "b.trec"];
    let teams = [&args[..], &["-o", "new", "--teams", "a.trec"]].concat();
    rejects(&here, &teams, "--teams", "a.trec");
    let clicks = [&args[..], &["--clicks", "clicks", "--teams", "clicks"]].concat();
    rejects(&here, &clicks, "--teams", "--clicks reads clicks");
    let pool = ["pool", "a.trec", "-o", "new", "--pool", "a.trec"];
    rejects(&here, &pool, "--pool", "<RUN> reads a.trec");
}

#[cfg(unix)]
#[test]
fn inputs_are_recognized_under_other_names() {
    use std::process::Stdio;
    let here = inputs();
    std::os::unix::fs::symlink("s.jsonl", here.at("link.jsonl")).unwrap();
    fs::hard_link(here.at("s.jsonl"), here.at("hard.jsonl")).unwrap();
    // The corpus of a folder may be a link to a file elsewhere.
    fs::create_dir(here.at("linked")).unwrap();
    std::os::unix::fs::symlink("../s.jsonl", here.at("linked/corpus.jsonl")).unwrap();
    for (input, output) in [
        ("s.jsonl", "link.jsonl"),
        ("s.jsonl", "hard.jsonl"),
        ("link.jsonl", "s.jsonl"),
        ("linked", "s.jsonl"),
    ] {
        rejects(&here, &["index", input, "-o", output], "--output", input);
        rejects(&here, &["mine", input, "-o", output], "--output", input);
    }
    // A file of the catalog.
    let qrels = "data/beir/nfcorpus/qrels/test.tsv";
    here.write(qrels, "query-id\tcorpus-id\tscore\n");
    let data = here.at("data").display().to_string();
    let before = contents(&here);
    here.ir_env(
        &["search", "beir/nfcorpus", "-o", qrels],
        &[("IR_DATA", &data)],
    )
    .fails(2, &[NOT_AN_INPUT, "<COLLECTION> reads "]);
    assert!(contents(&here) == before);
    // Standard input.
    let before = contents(&here);
    let ran = here
        .command(&["fuse", "-", "b.trec", "-o", "a.trec"])
        .stdin(Stdio::from(fs::File::open(here.at("a.trec")).unwrap()))
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(
        String::from_utf8(ran.stderr)
            .unwrap()
            .contains(NOT_AN_INPUT)
    );
    assert!(contents(&here) == before);
}

/// Names of plots are known only after the evaluation.
#[test]
fn plots_do_not_replace_inputs() {
    let here = inputs();
    let compare = |run: &str| here.ir(&["compare", "qrels", "a.trec", run, "--plots", "plots"]);
    compare("b.trec").ok();
    let plots = here
        .files()
        .into_iter()
        .map(|path| path.display().to_string());
    let plot = plots
        .into_iter()
        .find(|path| path.ends_with(".csv"))
        .unwrap();
    fs::write(&plot, OTHER_RUN).unwrap();
    compare(&plot).fails(2, &[NOT_AN_INPUT, "<RUN> reads "]);
    assert_eq!(fs::read_to_string(&plot).unwrap(), OTHER_RUN);
    compare("b.trec").ok();
}

#[test]
fn plots_do_not_replace_the_table() {
    let here = inputs();
    let compare = [
        "compare", "-m", "AP", "qrels", "a.trec", "b.trec", "--plots",
    ];
    let run = |more: &[&str]| here.ir(&[&compare[..], more].concat());
    run(&["plots"]).ok();
    let before = contents(&here);
    let plot = "plots/AP-per-system.csv";
    assert!(
        before.iter().any(|(path, _)| path.ends_with(plot)),
        "{before:?}"
    );
    let expected = "--plots: expected a destination other than --output, found ";
    run(&["plots", "-o", plot]).fails(2, &[expected, plot]);
    assert!(contents(&here) == before);
    run(&["new", "-o", "new/AP-per-system.csv"]).fails(2, &[expected]);
    assert!(contents(&here) == before && !here.at("new").exists());
    // Other names in the folder of the plots.
    run(&["plots", "-o", "plots/table.txt"]).ok();
    run(&[".", "-o", "table.txt"]).ok();
    assert_eq!(here.read("table.txt"), here.read("plots/table.txt"));
}

#[test]
fn other_existing_files_are_replaced() {
    let here = inputs();
    here.write("project/config.json", "{}");
    here.write("project/a.md", "# Tea\n\ngreen tea\n");
    for args in [
        // Files in a folder that is read, but not by the command.
        "index tiny -o tiny/index.ir",
        "search tiny -o tiny/run.txt",
        "search notes tea -o notes/run.trec",
        "search ./notes tea -o run.trec",
        "index tiny -o tiny/corpus.jsonl.ir",
        "search tiny -o tiny/queries.jsonl.trec",
        "search tiny -o tiny/qrels/run.trec",
        // `config.json` does not make a folder of notes a model.
        "index project -o project/idx.ir",
        "search project tea -o project/config.json",
        // Names that are text, not files.
        "search x.ir tea -o tea",
        "search x.ir --query tea --tag tea -o tea",
        "search x.ir --queries q.jsonl --tag text -o text",
        "fuse --tag fused a.trec b.trec -o fused",
        "compare -m map --format csv qrels a.trec b.trec -o map",
        "compare -m map --format csv qrels a.trec b.trec -o csv",
        "search tiny --split test -o test",
        "mine tiny --split test -o test",
        "mine tiny --split test -n 1 --seed 7 -o 7",
        "search tiny -k 10 -o 10",
        "search x.ir tea --k1 1.2 -o 1.2",
        "fuse a.trec b.trec -k 10 -o 10",
        "mine tiny --split test --template {text} -o {text}",
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        here.ir(&args).ok();
        let before = contents(&here);
        here.ir(&args).ok();
        assert!(contents(&here) == before, "{args:?}");
    }
    if cfg!(unix) {
        for null in [
            "search tiny -o /dev/null",
            "fuse a.trec b.trec -o /dev/null",
        ] {
            here.ir(&null.split(' ').collect::<Vec<_>>()).ok();
        }
        let both = ["-o", "/dev/null", "--pool", "/dev/null"];
        here.ir(&[&["pool", "a.trec"], &both[..]].concat()).ok();
    }
}

#[test]
fn two_outputs_are_two_files() {
    let here = inputs();
    for (args, second) in [
        ("pool a.trec -o new --pool ./new", "--pool"),
        ("pool a.trec --pool -", "--pool"),
        ("interleave a.trec b.trec -o new --teams new", "--teams"),
        (
            "interleave a.trec b.trec --clicks clicks --teams -",
            "--teams",
        ),
    ] {
        let before = contents(&here);
        let message = format!("{second}: expected a destination other than --output, found ");
        let args: Vec<&str> = args.split(' ').collect();
        here.ir(&args).fails(2, &[&message, "for both"]);
        assert!(contents(&here) == before, "{args:?}");
    }
}

fn decompressed(path: PathBuf) -> String {
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(&[0x1f, 0x8b]), "{}", path.display());
    let mut text = String::new();
    ir_data::open(path)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// `-o -` is standard output and `-o x.gz` gzip in every command that writes text.
#[test]
fn standard_output_and_compression() {
    let here = inputs();
    let commands = [
        "search x.ir tea",
        "search tiny",
        "mine tiny --split test",
        "fuse a.trec b.trec",
        "interleave a.trec b.trec",
        "pool a.trec b.trec",
        "compare qrels a.trec b.trec",
        "compare --format json qrels a.trec b.trec",
    ];
    for command in commands {
        let command: Vec<&str> = command.split(' ').collect();
        let run = |more: &[&str]| here.ir(&[&command[..], more].concat()).ok().out;
        let expected = run(&[]);
        assert!(!expected.is_empty());
        assert_eq!(run(&["-o", "out"]), "");
        for compressed in ["out.gz", "out.GZ"] {
            assert_eq!(run(&["-o", compressed]), "");
            assert_eq!(decompressed(here.at(compressed)), here.read("out"));
        }
        for stdout in ["-", "/dev/stdout"] {
            assert_eq!(run(&["-o", stdout]), here.read("out"));
        }
        // A typed query gives a list, and a run with -o.
        if command != ["search", "x.ir", "tea"] {
            assert_eq!(here.read("out"), expected, "{command:?}");
        }
    }
    let options = [
        ("pool a.trec -o list", "--pool"),
        ("interleave a.trec b.trec -o run", "--teams"),
    ];
    for (command, option) in options {
        let command: Vec<&str> = command.split(' ').chain([option]).collect();
        let run = |to: &str| here.ir(&[&command[..], &[to]].concat()).ok().out;
        let expected = run("-");
        assert!(!expected.is_empty());
        assert_eq!(run("out.gz"), "");
        assert_eq!(decompressed(here.at("out.gz")), expected, "{command:?}");
    }
    assert!(!here.at("-").exists());
}

/// An index or a folder can be neither standard output nor compressed.
#[test]
fn binary_outputs() {
    let here = inputs();
    let before = contents(&here);
    for (args, parts) in [
        (
            "index tiny -o -",
            ["--output: expected a file", "standard output"],
        ),
        (
            "index tiny -o x.ir.gz",
            ["--output: expected a file", ".gz"],
        ),
        ("index tiny -o x.zst", ["--output: expected a file", ".zst"]),
        (
            "index tiny -o x.ir.GZ",
            ["--output: expected a file", ".GZ"],
        ),
        (
            "search tiny tea --cache -",
            ["--cache: expected a folder", "standard output"],
        ),
        (
            "compare qrels a.trec b.trec --plots -",
            ["--plots: expected a folder", "standard output"],
        ),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let ran = here.ir(&args).fails(2, &parts);
        assert_eq!(ran.out, "");
        assert!(contents(&here) == before, "{args:?}");
    }
}

/// The file that a link points to is replaced, not the link; also if it does not exist yet.
#[cfg(unix)]
#[test]
fn links_to_outputs_are_followed() {
    let here = inputs();
    for args in [
        "index tiny",
        "search tiny",
        "mine tiny --split test",
        "fuse a.trec b.trec",
        "interleave a.trec b.trec",
        "pool a.trec",
        "compare qrels a.trec b.trec",
    ] {
        std::os::unix::fs::symlink("target", here.at("link")).unwrap();
        let args: Vec<&str> = args.split(' ').chain(["-o", "link"]).collect();
        for _ in 0..2 {
            here.ir(&args).ok();
            assert!(here.at("link").is_symlink(), "{args:?}");
            assert!(!fs::read(here.at("target")).unwrap().is_empty());
        }
        fs::remove_file(here.at("link")).unwrap();
        fs::remove_file(here.at("target")).unwrap();
    }
}

#[cfg(feature = "dense")]
mod dense {
    use super::*;

    const MODEL: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ir-dense/testdata/tiny/bert"
    );

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
            rejects(
                &here,
                &args.split(' ').collect::<Vec<_>>(),
                option,
                " reads ",
            );
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
            let args: Vec<&str> = args.split(' ').collect();
            here.ir(&args).ok();
            let before = contents(&here);
            here.ir(&args).ok();
            assert!(contents(&here) == before, "{args:?}");
        }
        // Unfinished work in the folder of the model.
        let whole = fs::read(here.at("model/v.ir")).unwrap();
        here.write("model/w.ir.partial", &whole[..64]);
        here.write("model/w.ir.partial-job", "{}");
        here.ir(&["encode", "model", "tiny", "-o", "model/w.ir"])
            .ok();
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
        here.ir(&train.split(' ').collect::<Vec<_>>()).ok();
        assert!(here.at("tuned").is_symlink());
        assert!(here.at("empty/model.safetensors").is_file());
    }
}
