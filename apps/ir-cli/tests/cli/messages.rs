//! Warnings about surprising results, suggestions for unknown names, escaped control characters.

use std::process::{Command, Stdio};

use crate::common::{Folder, QRELS, RUN, tiny};

/// The analysis chain in the help of `ir index` is that of the default analyzer.
#[test]
fn documented_analysis_chain() {
    let here = Folder::new();
    tiny(&here);
    let help = here.ir("help index").ok().out;
    let start = help.find("{\"tokenizer\"").unwrap();
    let end = start + help[start..].find('}').unwrap() + 1;
    here.write("chain.json", &help[start..end]);
    here.write(
        "unstemmed.json",
        "{\"stemmer\": \"none\", \"normalization\": \"none\"}",
    );
    here.ir("index tiny -o default.ir").ok();
    let index = |analysis: &str, output: &str| {
        let args = ["index", "tiny", "-o", output, "--analysis", analysis];
        here.ir(&args).ok();
        std::fs::read(here.at(output)).unwrap()
    };
    let default = std::fs::read(here.at("default.ir")).unwrap();
    assert!(index("chain.json", "chain.ir") == default);
    let unstemmed = index("anserini-unstemmed", "named.ir");
    assert!(index("unstemmed.json", "unstemmed.ir") == unstemmed && unstemmed != default);
}

/// Values of options, and of a file of `--analysis`, are named in words.
#[test]
fn numbers_in_words() {
    let here = Folder::new();
    tiny(&here);
    here.write("range.json", "{\"max_len\": -1}");
    here.write("list.json", "[1]");
    here.write("tokenizer.json", "{\"tokenizer\": [1]}");
    here.write(
        "table.toml",
        "[[systems]]\nname = \"a\"\ntype = \"bm25\"\nk1 = { a = 1 }\n",
    );
    for (file, value) in [
        ("analyzer.toml", "analyzer = 3"),
        ("fields.toml", "fields = 3"),
        ("stops.toml", "analyzer = { stop_words = 3 }"),
    ] {
        let system = "[[systems]]\nname = \"a\"\ntype = \"bm25\"";
        here.write(file, format!("{system}\n{value}\n"));
    }
    here.write("frames.jsonl", "[1]\n");
    here.write("itself.txt", "x, y\nthe => the\n");
    here.write("large.toml", "#".repeat((16 << 20) + 1));
    here.errors(
        "
        mine bundled --seed -1
          2: --seed | expected an integer of at least 0, found \"-1\"
        mine bundled -n -5
          2: --negatives | expected an integer of at least 0, found \"-5\"
        mine bundled --seed 99999999999999999999
          2: --seed | expected a smaller integer, found \"99999999999999999999\"
        mine bundled --margin x
          2: --margin | expected a number, found \"x\"
        search tiny tea --k1 1e308
          2: --k1: expected a finite number >= 0, at most 3.4028235e38, found 1e308
        index tiny -o x.ir --analysis range.json
          2: max_len: | expected an integer >= 0
        index tiny -o x.ir --analysis list.json
          2: line 1: expected an object of JSON, found a list (see
        index tiny -o x.ir --analysis tokenizer.json
          2: tokenizer: expected a string or an object, found a list
        index tiny -o x.ir --memory -1GB
          2: --memory | expected a size like 512MB or 2GiB, found \"-1GB\"
        search tiny tea -k 99999999999999999999
          2: --hits | expected an integer from 1 to | found \"99999999999999999999\"
        help formats foo
          2: expected nothing after `ir help formats`, found \"foo\"
        search tiny tea --system table.toml
          1: table.toml:4: systems[0].k1: expected a number, found a table
        search tiny tea --system analyzer.toml
          1: analyzer.toml:4: systems[0].analyzer: expected a string or a table, found 3
        search tiny tea --system fields.toml
          1: fields.toml:4: systems[0].fields: expected a string or a table, found 3
        search tiny tea --system stops.toml
          1: systems[0].analyzer: stop_words: expected the name of a list, or a list of words
        ask frames.jsonl tea
          1: frames.jsonl:1: expected a frame: expected a string, found 1
        search tiny tea --synonyms itself.txt
          1: itself.txt:2: expected a text with terms
        search tiny tea --system large.toml
          1: large.toml | expected at most 16 MiB
        ",
    );
    here.ir("index tiny -o x.ir --memory 1TB").ok();
    here.ir("index tiny -o y.ir --memory 1TiB").ok();
}

/// `-hits` is an error, not a request of help by `-h`.
#[test]
fn options_with_one_dash() {
    let here = Folder::new();
    tiny(&here);
    here.ir("search tiny -hits 10").fails(
        2,
        &["unexpected argument '-hits' found; long options start with two dashes: '--hits'"],
    );
    here.ir("search tiny -topics q.tsv")
        .fails(2, &["'--queries'"]);
    here.ir("search tiny -bm25.k1 1")
        .fails(2, &["unexpected argument '-b"]);
    assert!(here.ir("search -h").ok().out.contains("Usage"));
}

#[test]
fn unknown_names_have_suggestions() {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("run", RUN);
    here.write("other", RUN.replace("me", "mine"));
    here.write(
        "labeled.jsonl",
        "{\"text\": \"tea\", \"label\": \"drink\"}\n",
    );
    for (args, code, suggestion) in [
        (&["search", "nfcorpsu", "tea"][..], 1, "beir/nfcorpus"),
        (&["eval", "beir/nfcorpsu", "run"], 1, "beir/nfcorpus"),
        (&["datasets", "where", "beir/arguna"], 1, "beir/arguana"),
        (&["search", "tiny", "--split", "tst"], 1, "test"),
        (&["eval", "-m", "nDGC@10", "qrels", "run"], 2, "nDCG@10"),
        (&["eval", "-m", "ndcg.10", "qrels", "run"], 2, "ndcg_cut.10"),
        (
            &["eval", "-m", "ndcg.5,10", "qrels", "run"],
            2,
            "ndcg_cut.5,10",
        ),
        (
            &["eval", "-m", "map,recal.5", "qrels", "run"],
            2,
            "recall.5",
        ),
        (
            &["compare", "--baseline", "mien", "qrels", "run", "other"],
            2,
            "mine",
        ),
        (
            &["compare", "--baseline", "othr", "qrels", "run", "other"],
            2,
            "other",
        ),
        (&["search", "tiny", "--analysis", "anserni"], 2, "anserini"),
        (
            &[
                "search",
                "tiny",
                "tea",
                "--fields",
                "separate",
                "--weights",
                "titel=2",
            ],
            1,
            "title",
        ),
        (
            &["mine", "tiny", "--split", "test", "--template", "{titel}"],
            1,
            "title",
        ),
        (
            &[
                "knn-accuracy",
                "--texts",
                "labeled.jsonl",
                "--text-field",
                "txt",
            ],
            1,
            "text",
        ),
        (&["eval", "-m", "nDCG10", "qrels", "run"], 2, "nDCG@10"),
    ] {
        let suggestion = format!("(did you mean {suggestion}?)");
        here.ir(args).fails(code, &[&suggestion]);
    }
    // clap's own suggestions.
    here.ir("help comparee")
        .fails(2, &["; a similar subcommand exists: 'compare'"]);
    here.ir("fuse --method combsm run")
        .fails(2, &["; a similar value exists: 'combsum'"]);
    // `t` is not meant.
    let compare = |option, value| here.ir(&["compare", option, value, "qrels", "run", "other"]);
    let test = compare("--test", "studnet").fails(2, &["possible values: t, wilcoxon"]);
    assert!(!test.err.contains("similar"), "{}", test.err);
    assert_eq!(
        compare("--test", "student").ok().out,
        compare("--test", "t").ok().out
    );
    compare("--baseline", "r3").fails(
        2,
        &["expected one of the runs (me in run, mine in other), found \"r3\""],
    );
    // An index without separate fields has no weights of its fields.
    here.ir("search tiny tea --weights titel=2").fails(
        1,
        &[
            "--weights: ",
            "\"titel\" (weights per field need an index with --fields separate)",
        ],
    );
    let nothing = here.ir("search nowhere tea");
    assert!(!nothing.err.contains("did you mean"), "{}", nothing.err);
}

#[cfg(feature = "dense")]
#[test]
fn unknown_models_have_suggestions() {
    let here = Folder::new();
    here.write("x.jsonl", crate::common::CORPUS);
    let cache = here.path().join("hub").display().to_string();
    for args in [
        &["models", "where", "all-MiniLM-L6-v3"][..],
        &["encode", "all-MiniLM-L6-v3", "x.jsonl", "-o", "x.ir"],
    ] {
        let ran = here.ir_env(args, &[("HF_HUB_CACHE", &cache)]);
        ran.fails(1, &["all-MiniLM-L6-v2?)"]);
    }
}

/// Errors and warnings are escaped everywhere, standard output on a terminal.
#[test]
fn control_characters_are_escaped() {
    let here = Folder::new();
    let tag = "\u{1b}[2J\u{9b}31m";
    here.write("qrels", QRELS);
    here.write("a", RUN.replace("me", tag));
    here.write("b", RUN);
    let error = here.ir(&["eval", "\u{1b}]0;x\u{7}", "a"]);
    error.fails(1, &["\\u001b]0;x\\u0007: expected"]);
    let warned = here.ir(&["search", "bundled", "tea AND \u{1b}[2J"]).ok();
    assert!(!warned.err.contains('\u{1b}'), "{}", warned.err);
    let compare = ["compare", "-m", "AP", "qrels", "a", "b"];
    let piped = here.ir(&compare).ok().out;
    assert!(piped.contains(tag), "a pipe gets the tag unchanged");

    let Some(shown) = on_terminal(&here, &compare, "") else {
        eprintln!("control_characters_are_escaped: no script(1) for a terminal");
        return;
    };
    assert!(shown.contains("\\u001b[2J\\u009b31m"), "{shown}");
    assert!(!shown.contains(tag), "{shown}");
    // Colors of the list are the command's own.
    let search = ["search", "bundled", "boats"];
    let colored = on_terminal(&here, &search, "").unwrap_or_default();
    assert!(colored.contains("\u{1b}["), "{colored}");
}

/// Lists fit the terminal, also a narrow one; in a pipe, the width is fixed.
#[test]
fn lists_fit_the_terminal() {
    let here = Folder::new();
    tiny(&here);
    let long = "green tea ".repeat(40);
    here.write("docs.tsv", format!("{}\t{long}\t{long}\n", "id-".repeat(8)));
    let search = ["search", "docs.tsv", "tea", "--explain"];
    let piped = here.ir_env(&search, &[("COLUMNS", "30")]).ok().out;
    assert_eq!(piped, here.ir(&search).ok().out);
    assert!(
        piped.lines().all(|line| line.chars().count() <= 130),
        "{piped}"
    );
    for columns in [40, 58, 80, 120] {
        let Some(shown) = on_terminal(&here, &search, &columns.to_string()) else {
            eprintln!("lists_fit_the_terminal: no script(1) for a terminal");
            return;
        };
        // Without colors.
        let plain = shown
            .split('\u{1b}')
            .enumerate()
            .map(|(at, part)| match at {
                0 => part,
                _ => part.split_once('m').unwrap().1,
            });
        let plain = plain.collect::<String>();
        let widths = plain.lines().map(|line| line.trim_end().chars().count());
        assert!(widths.clone().max() <= Some(columns), "{columns}: {plain}");
        assert!(widths.max() > Some(columns * 3 / 4), "{columns}: {plain}");
        assert!(plain.contains("length: tokens"), "{columns}: {plain}");
    }
}

/// Output of the command on a pseudoterminal with the variable `COLUMNS`; `None` without script(1)
/// of util-linux.
fn on_terminal(here: &Folder, args: &[&str], columns: &str) -> Option<String> {
    let line = format!("{} {}", env!("CARGO_BIN_EXE_ir"), args.join(" "));
    let ran = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(here.path())
        .env("TERM", "xterm")
        .env("COLUMNS", columns)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    ran.status.success().then_some(())?;
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn fused_scores_are_finite() {
    let here = Folder::new();
    here.write("a", RUN.replace("2.5", "inf"));
    here.write("large", RUN.replace("2.5", "1.7e308"));
    let raw = ["fuse", "--method", "combsum", "--normalize", "none"];
    for runs in [&["a", "a"][..], &["large", "large"]] {
        let ran = here.ir(&[&raw[..], runs].concat());
        ran.fails(1, &["q1", "d2", "expected a finite fused score"]);
    }
    let ranks = here.ir("fuse a large").ok();
    assert!(!ranks.out.contains("inf") && !ranks.out.contains("NaN"));
}

#[test]
fn collections_without_judgments() {
    let here = Folder::new();
    here.write("notes/a.md", "green tea\n");
    let args = ["encode", "model", "notes", "--queries", "-o", "v.ir"];
    if cfg!(feature = "dense") {
        let expected =
            "expected a split of \"notes\" (none), found \"test\" (notes has no judgments)";
        here.ir(&args).fails(1, &[expected]);
    }
}

/// Options and fields of files may have any length.
#[test]
fn long_messages_are_shortened() {
    let here = Folder::new();
    let long = "a".repeat(100_000);
    let failed = here.ir(&["diff", &long, "run"]).fails(2, &["aaa...aaa"]);
    assert!(failed.err.len() < 2100);
    let failed = here
        .ir(&["fuse", "--hits", &long, "run"])
        .fails(2, &["--hits"]);
    assert!(failed.err.len() < 2200);
}

/// `COLLECTION:SPLIT` selects judgments and queries, `--split` queries of a collection.
#[test]
fn spellings_of_splits() {
    let here = Folder::new();
    tiny(&here);
    here.write(
        "tiny/qrels/dev.tsv",
        "query-id\tcorpus-id\tscore\nq2\td3\t1\n",
    );
    here.write("run", RUN);
    here.ir("index tiny -o tiny.ir").ok();
    let search = |args: &[&str]| here.ir(&[&["search", "tiny.ir", "--queries"], args].concat());
    let dev = search(&["tiny:dev"]).ok().out;
    assert!(dev.lines().all(|line| line.starts_with("q2 ")), "{dev}");
    assert_eq!(dev, search(&["tiny", "--split", "dev"]).ok().out);
    assert_eq!(
        search(&["bundled:test"]).ok().out,
        search(&["bundled"]).ok().out
    );
    search(&["tiny:dev", "--split", "test"]).fails(
        2,
        &["--split: expected no split in --queries, found \"dev\""],
    );
    search(&["tiny:none"]).fails(1, &["expected a split of", "(dev, test)", "\"none\""]);

    for name in ["tiny:dev", "bundled:test"] {
        let (collection, split) = name.split_once(':').unwrap();
        let expected = format!(
            "or a collection, found a split; the documents of {collection} have no splits (queries: --split {split})"
        );
        here.ir(&["search", name]).fails(1, &[name, &expected]);
        here.ir(&["index", name, "-o", "x"]).fails(1, &[&expected]);
    }
    here.ir("eval tiny --split dev run").fails(
        2,
        &["'--split' found; a split is named with its collection"],
    );
    here.ir("eval tiny:dev run").ok();
}

/// The error of an unknown split names the known ones and how to select one.
#[test]
fn unknown_splits_name_the_argument() {
    let here = Folder::new();
    tiny(&here);
    std::fs::rename(
        here.at("tiny/qrels/test.tsv"),
        here.at("tiny/qrels/dev.tsv"),
    )
    .unwrap();
    here.write("run", RUN);
    for (args, found, argument) in [
        (&["search", "tiny"][..], "test", "--split dev"),
        (&["mine", "tiny"], "train", "--split dev"),
        (&["eval", "tiny", "run"], "test", "tiny:dev"),
    ] {
        let expected = format!(
            "expected a split of \"tiny\" (dev), found \"{found}\" (for example {argument})"
        );
        here.ir(args).fails(1, &[&expected]);
    }
}

#[test]
fn judgment_formats_that_no_collection_has() {
    let here = Folder::new();
    here.write("run", RUN);
    for form in ["strata", "subtopics", "qrels_jg", "prefs", "qrels_prefs"] {
        let expected = "bundled:train: expected a file with judgments in the format of -R, found a \
                        collection (no collection has such judgments)";
        here.ir(&["eval", "-R", form, "bundled:train", "run"])
            .fails(1, &[expected]);
    }
    here.write("bundled", "q1 1 d1 1\n");
    here.ir("eval -R subtopics bundled run").ok();
}

#[test]
fn collections_by_path() {
    let here = Folder::new();
    tiny(&here);
    for action in ["where", "verify", "fetch"] {
        here.ir(&["datasets", action, "./tiny"]).fails(
            1,
            &[
                "./tiny: expected the name of a collection (bundled,",
                "found a path (`ir search` reads folders and files)",
            ],
        );
    }
}

/// The list of collections has no zeros for counts that do not exist or are unknown.
#[test]
fn unknown_counts_of_collections() {
    let list = Folder::new().ir("datasets").ok().out;
    for (name, counts) in [
        ("biocaddie", ["-", "-", "-"]),
        ("packages", ["1,113,016", "1,200", "-"]),
        ("bundled", ["69", "112", "139"]),
    ] {
        let mut rows = list.lines().map(|row| row.split_whitespace());
        let row = rows.find_map(|mut row| (row.next() == Some(name)).then_some(row));
        assert_eq!(row.unwrap().take(3).collect::<Vec<_>>(), counts, "{list}");
    }
    let lines = Folder::new().ir("datasets --json").ok().out;
    let biocaddie = lines.lines().find(|line| line.contains("\"biocaddie\""));
    let biocaddie: serde_json::Value = serde_json::from_str(biocaddie.unwrap()).unwrap();
    for count in ["documents", "distinct_ids", "queries"] {
        assert!(biocaddie[count].is_null(), "{count}: {biocaddie}");
    }
}

/// Weighted kappa depends on an order that texts do not have.
#[test]
fn order_of_labels() {
    let here = Folder::new();
    let labels = "item\tann\tben\n1\tlow\thigh\n2\tmedium\tmedium\n";
    here.write("labels.tsv", labels);
    let agree = ["agree", "--table", "labels.tsv"];
    assert_eq!(
        here.ir(&agree).ok().err,
        "warning: labels are ordered high < low < medium for weighted kappa and for ordinal and \
         interval alpha (integer labels define another order)\n"
    );
    // Integers have an order, and of two labels it does not matter.
    for words in [
        &[("low", "0"), ("medium", "1"), ("high", "2")][..],
        &[("medium", "low")],
    ] {
        let replace = |labels: String, (from, to): &(&str, &str)| labels.replace(from, to);
        here.write("labels.tsv", words.iter().fold(labels.to_owned(), replace));
        assert_eq!(here.ir(&agree).ok().err, "");
    }
}

#[test]
fn options_of_messages() {
    let here = Folder::new();
    here.write("run", RUN);
    let preset = ["pool", "--preset", "biocaddie-submitted", "run"];
    here.ir(&preset).fails(
        2,
        &["--preset: expected --pool, because estimates need the strata"],
    );
    here.ir("pool --sample 200:5% run").fails(
        2,
        &["--sample: expected --pool, because estimates need the strata"],
    );
    here.write("vectors.ir", "ir-flat\n");
    let feature =
        "which needs the feature \"dense\" (cargo install --path apps/ir-cli --features dense)";
    let vectors = here.ir("search vectors.ir tea");
    let vectors = vectors.fails(1, &["found a vector index: pass it to --vectors"]);
    assert_eq!(vectors.err.contains(feature), cfg!(not(feature = "dense")));
    assert!(!vectors.err.contains("(needs"), "{}", vectors.err);
}

/// What the helps of commands say, and behavior that only they explain.
#[test]
fn help_texts() {
    let here = Folder::new();
    let help = |command: &str| {
        let text = here.ir(&[command, "--help"]).ok().out;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(help("search").contains("[alias: utf8]"));
    assert!(help("search").contains("[aliases: latin1, iso-8859-1]"));
    assert!(help("search").contains("or a TREC run with --output FILE"));
    assert!(help("fuse").contains("0 if all scores of a ranking are equal"));
    assert!(help("eval").contains("4 (minimum interest) are read as grades 4 to 1"));
    assert!(help("eval").contains("-o, trec_eval's old output format, is accepted and ignored"));
    let cranfield = here.ir("datasets where cranfield").ok().out;
    let (about, _) = cranfield.split_once('\n').unwrap();
    assert!(about.ends_with("codes 1 to 4 of its judgments are read as grades 4 to 1"));

    // Query words with --output: a run, as without words.
    here.ir("search bundled boats -o run").ok();
    assert_eq!(here.read("run").split_whitespace().nth(1), Some("Q0"));
    // All scores are equal.
    here.write("a", "q Q0 x 1 5 a\nq Q0 y 2 5 a\n");
    let fused = here.ir("fuse --method combsum a").ok().out;
    let scores = fused.lines().map(|line| line.split(' ').nth(4));
    assert_eq!(scores.collect::<Vec<_>>(), [Some("0.0"); 2], "{fused}");
}

/// A table of empty lines has no header, whatever their number; line numbers count them.
#[test]
fn tables_with_empty_lines() {
    let here = Folder::new();
    for empty in ["\n\r\n".to_owned(), "\n".repeat((64 << 20) + 7)] {
        here.write("table.tsv", &empty);
        let expected =
            "table.tsv: expected a table with a header and a row per item, found no text";
        here.ir("--quiet agree --table table.tsv")
            .fails(1, &[expected]);
        let line = empty.lines().count() + 2;
        here.write("table.tsv", empty + "item\tann\tben\na\t1\n");
        let expected = format!("table.tsv:{line}: expected 3 columns as in the header, found 2");
        here.ir("--quiet agree --table table.tsv")
            .fails(1, &[&expected]);
    }
    here.write("table.tsv", "\n\nitem ann ben\n");
    here.ir("--quiet agree --table table.tsv")
        .fails(1, &["table.tsv:3: expected a header"]);
}
