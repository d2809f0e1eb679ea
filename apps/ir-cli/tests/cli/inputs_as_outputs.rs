//! No output replaces an input, under whatever name; other files are replaced.

use std::fs;

use crate::common::{BEIR_QRELS, CORPUS, QUERIES};
use crate::outputs::{NOT_AN_INPUT, contents, inputs, rejects};

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

/// Every file of the layouts that a folder may have.
#[test]
fn files_of_folders_are_no_outputs() {
    let here = inputs();
    let judgment = "{\"query-id\": \"q1\", \"corpus-id\": \"d1\", \"score\": 1}\n";
    here.write("lines/corpus.jsonl", CORPUS);
    here.write("lines/queries.jsonl", QUERIES);
    here.write("lines/qrels/test.jsonl", judgment);
    here.write("parts/corpus/a.jsonl", CORPUS);
    here.write("parts/queries/a.jsonl", QUERIES);
    here.write("parts/default/test.tsv", BEIR_QRELS);
    here.write("smart/tea.ALL", ".I 1\n.T\nTea\n.W\ngreen tea\n");
    here.write("smart/tea.QRY", ".I 1\n.W\ntea\n");
    here.write("smart/tea.REL", "1 1\n");
    let hub = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/ir-data/testdata/parquet/hub/"
    );
    let parquet = [
        "corpus/corpus-00000-of-00002.parquet",
        "corpus/corpus-00001-of-00002.parquet",
        "queries/queries-00000-of-00001.parquet",
        "data/test-00000-of-00002.parquet",
        "data/test-00001-of-00002.parquet",
    ];
    for file in parquet {
        here.write(
            &format!("hub/{file}"),
            fs::read(format!("{hub}{file}")).unwrap(),
        );
    }
    here.write(
        "tables/a.parquet",
        fs::read(format!("{hub}{}", parquet[0])).unwrap(),
    );
    // A dataset of `save_to_disk`; `dataset_dict.json` is of a folder with several.
    let dataset = [
        ("saved/data.arrow", "ARROW1\0\0"),
        (
            "saved/state.json",
            "{\"_data_files\": [{\"filename\": \"data.arrow\"}]}",
        ),
        ("saved/dataset_info.json", "{}"),
        ("splits/dataset_dict.json", "{\"splits\": [\"train\"]}"),
        ("splits/train/state.json", "{}"),
    ];
    for (file, content) in dataset {
        here.write(file, content);
    }
    let files = [
        "lines/corpus.jsonl",
        "lines/queries.jsonl",
        "lines/qrels/test.jsonl",
        "parts/corpus/a.jsonl",
        "parts/queries/a.jsonl",
        "parts/default/test.tsv",
        "smart/tea.ALL",
        "smart/tea.QRY",
        "smart/tea.REL",
        "tables/a.parquet",
    ];
    let parquet = parquet.map(|file| format!("hub/{file}"));
    let dataset = dataset.iter().map(|(file, _)| *file);
    let files = files.into_iter().chain(dataset);
    for file in files.chain(parquet.iter().map(String::as_str)) {
        let (folder, _) = file.split_once('/').unwrap();
        let input = format!("<COLLECTION> reads {file})");
        rejects(&here, &["search", folder, "-o", file], "--output", &input);
        rejects(&here, &["mine", folder, "-o", file], "--output", &input);
    }
}

/// The ids beside an array of vectors.
#[cfg(feature = "dense")]
#[test]
fn ids_of_vectors_are_no_output() {
    let here = inputs();
    here.write("docs.fvecs", "");
    here.write("docs.ids", "d1\n");
    let args =
        "search x.ir --queries q.jsonl --vectors docs.fvecs --query-vectors docs.fvecs -o docs.ids";
    let args: Vec<&str> = args.split(' ').collect();
    rejects(&here, &args, "--output", "--vectors reads docs.ids)");
}

/// Files of the parameters of a system, as options and in a system file.
#[test]
fn files_of_systems_are_no_outputs() {
    let here = inputs();
    here.write("syn.txt", "tea => drink\n");
    here.write("words.txt", "the\n");
    here.write("prior.tsv", "a\t0.5\n*\t0.5\n");
    here.write("tags.tsv", "tea\tNN\n");
    here.write(
        "sy.toml",
        "version = 1\n[[systems]]\nname = \"s\"\ntype = \"bm25\"\nsynonyms = \"syn.txt\"\n\
         feedback = \"rm3\"\nfeedback_collection = \"x.ir\"\n",
    );
    for (options, input) in [
        ("--synonyms syn.txt", "--synonyms reads syn.txt"),
        ("--stop-words words.txt", "--stop-words reads words.txt"),
        (
            "--protected-words words.txt",
            "--protected-words reads words.txt",
        ),
        ("--prior prior.tsv", "--prior reads prior.tsv"),
        ("--prior qrels:qrels", "--prior reads qrels"),
        ("--pos-tags tags.tsv", "--pos-tags reads tags.tsv"),
        (
            "--feedback rm3 --feedback-collection x.ir",
            "--feedback-collection reads x.ir",
        ),
        ("--system sy.toml", "--system reads sy.toml"),
        ("--system sy.toml", "systems[0].synonyms reads ./syn.txt"),
        (
            "--system sy.toml",
            "systems[0].feedback_collection reads ./x.ir",
        ),
    ] {
        let file = input.rsplit_once(' ').unwrap().1;
        for option in ["--output", "--save"] {
            let args = format!("search tiny {options} {option} {file}");
            let args: Vec<&str> = args.split(' ').collect();
            rejects(&here, &args, option, &format!(" ({input})"));
        }
    }
    for option in ["--output", "--save"] {
        let args = format!("search tiny --type bm25 --set synonyms=syn.txt {option} syn.txt");
        here.ir(&args)
            .fails(2, &[" (--set synonyms reads syn.txt)"]);
        assert_eq!(here.read("syn.txt"), "tea => drink\n");
    }
}

/// `ir search ... >> queries`: standard output is not an input either.
#[cfg(unix)]
#[test]
fn standard_output_is_no_input() {
    let here = inputs();
    for args in [
        "search x.ir --queries q.jsonl",
        "fuse a.trec q.jsonl",
        "eval q.jsonl a.trec",
    ] {
        let before = here.read("q.jsonl");
        let file = fs::OpenOptions::new().append(true).open(here.at("q.jsonl"));
        let mut command = here.command(args);
        let ran = command.stdout(file.unwrap()).output().unwrap();
        let error = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{args}: {error}");
        assert!(
            error.contains("standard output") && error.contains(NOT_AN_INPUT),
            "{error}"
        );
        assert_eq!(here.read("q.jsonl"), before);
    }
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
        "mine tiny --split test -n 1 --draw random --seed 7 -o 7",
        "search tiny -k 10 -o 10",
        "search x.ir tea --k1 1.2 -o 1.2",
        "fuse a.trec b.trec -k 10 -o 10",
        "mine tiny --split test --template {text} -o {text}",
    ] {
        here.ir(args).ok();
        let before = contents(&here);
        here.ir(args).ok();
        assert!(contents(&here) == before, "{args:?}");
    }
    if cfg!(unix) {
        for null in [
            "search tiny -o /dev/null",
            "fuse a.trec b.trec -o /dev/null",
        ] {
            here.ir(null).ok();
        }
        let both = ["-o", "/dev/null", "--pool", "/dev/null"];
        here.ir(&[&["pool", "a.trec"], &both[..]].concat()).ok();
    }
}
