//! `ir search --model`: scoring models and their parameters.

use crate::common::{Folder, tiny};

#[test]
fn models_by_the_names_of_other_programs() {
    let here = Folder::new();
    tiny(&here);
    let tag = |model: &str| {
        let args = ["search", "tiny", "green tea", "--model", model, "-o", "-"];
        let run = here.ir(&args).ok().out;
        let first = run.lines().next().unwrap_or_default().to_owned();
        first.split(' ').next_back().unwrap_or_default().to_owned()
    };
    for (model, expected) in [
        ("bm25", "ir-bm25"),
        ("BM25+", "ir-bm25+"),
        ("qld", "ir-qld"),
        ("Dirichlet", "ir-qld"),
        ("qljm", "ir-qljm"),
        ("DPH", "ir-dph"),
        ("In_expB2", "ir-in_expb2"),
        ("tf-idf", "ir-tfidf"),
        ("Indri-Dirichlet", "ir-indri-dirichlet"),
        ("ClassicSimilarity", "ir-tfidf"),
        ("okapi", "ir-robertson"),
    ] {
        assert_eq!(tag(model), expected);
    }
    let search = |options: &str| {
        let options = options.split_whitespace();
        let args: Vec<_> = ["search", "tiny", "green tea", "--explain"]
            .into_iter()
            .chain(options)
            .collect();
        here.ir(&args).ok().out
    };
    let smoothed = search("--model qld --mu 10");
    assert!(
        smoothed.contains("10  mu") && smoothed.contains("max(0, ln("),
        "{smoothed}"
    );
    assert_ne!(smoothed, search("--model qld"));
    assert_eq!(search("--model qld --qld.mu 10"), smoothed);
    let likelihood = search("--model indri-dirichlet --mu 10");
    assert!(
        likelihood.contains("Σ boost × ln(mu / (length + mu))") && likelihood.contains("-"),
        "{likelihood}"
    );
    let variant = search("--model atire --k1 0.5 --b 0.1 --k3 8");
    assert!(
        variant.contains("0.5  k1") && variant.contains("0.1  b"),
        "{variant}"
    );
    // BM25 by name is BM25 by default.
    assert_eq!(search("--model bm25 --k1 1"), search("--k1 1"));
}

#[test]
fn unknown_models_and_parameters_are_rejected() {
    let here = Folder::new();
    tiny(&here);
    for (options, parts) in [
        ("--model qdl", vec!["qdl", "did you mean qld?"]),
        (
            "--model TF_IDF",
            vec![
                "found \"TF_IDF\"",
                "terrier-tfidf",
                "tfidf is TF-IDF of Lucene",
            ],
        ),
        (
            "--model Dirichlet(mu=10,lengths=exact)",
            vec!["found \"lengths\""],
        ),
        (
            "--model pivoted(s=0.1",
            vec!["expected NAME(PARAMETER=VALUE,...), found \"pivoted(s=0.1\""],
        ),
        ("--model two-stage(nu=1)", vec!["found \"nu\""]),
        (
            "--model RRI",
            vec![
                "found \"RRI\"",
                "random indexing is random-indexing, with reflections random-indexing(reflections=1)",
            ],
        ),
        (
            "--model random-indexing(cycles=1)",
            vec![
                "expected one of ",
                "nonzero",
                "reflections",
                "found \"cycles\"",
            ],
        ),
        (
            "--model random-indexing(reflection=1)",
            vec!["found \"reflection\" (did you mean reflections?)"],
        ),
        (
            "--model random-indexing(dim=1)",
            vec!["dim", "expected a number from 2 to 65536, found 1"],
        ),
        (
            "--model random-indexing(weight=tf)",
            vec!["weight", "log-entropy"],
        ),
        (
            "--model random-indexing(dim=10",
            vec!["expected NAME(PARAMETER=VALUE,...)"],
        ),
        (
            "--model random-indexing --k1 1",
            vec!["--k1: expected a scoring model, found --model random-indexing"],
        ),
        (
            "--model random-indexing --feedback rm3",
            vec!["--feedback: expected a scoring model"],
        ),
        (
            "--mu 10",
            vec![
                "--mu: expected a model with mu (qld, indri-dirichlet, two-stage), found \"bm25\"",
            ],
        ),
        (
            "--model dph --k1 1",
            vec![
                "--k1: expected a model with k1 (bm25, atire, robertson, bm25+, bm25l, bm25f, \
                 terrier-tfidf, indri-tfidf), found \"dph\"",
            ],
        ),
        (
            "--model qld --preset lucene",
            vec!["--preset: expected model = \"bm25\", found \"qld\""],
        ),
        (
            "--model qljm --lambda 0",
            vec!["--lambda: expected a number > 0, at most 1, found 0"],
        ),
        (
            "--model pl2 --c -1",
            vec!["--c: expected a finite number > 0, found -1"],
        ),
    ] {
        let args: Vec<_> = ["search", "tiny", "green tea"]
            .into_iter()
            .chain(options.split(' '))
            .collect();
        here.ir(&args).fails(2, &parts);
    }
}

/// The run of `ir search` is that of the same system in an experiment file, with the documents in
/// the same order: that of their elemental vectors.
#[test]
fn random_indexing_as_in_experiment_files() {
    let here = Folder::new();
    let run = "title = \"RI\"\nmeasures = [\"AP\"]\n[[tasks]]\ncollection = \"bundled\"\n\
               [output]\nfolder = \"out\"\n[[systems]]\nname = \"ri\"\ntype = \"random-indexing\"\ndim = 60\nreflections = 2\n\
               weight = \"log-entropy\"\nseed = 3\nfeedback_docs = 2\nbeta = 0.5\n";
    here.write("ri.toml", run);
    here.ir(&["run", "ri.toml"]).ok();
    let model =
        "random-indexing(dim=60, reflections=2,weight=log-entropy,seed=3,feedback_docs=2,beta=.5)";
    let order = ["--order", "insertion"];
    let search = [
        &["search", "bundled", "--model", model, "-o", "-"][..],
        &order,
    ]
    .concat();
    let found = here.ir(&search).ok();
    assert!(
        found
            .out
            .lines()
            .next()
            .unwrap()
            .ends_with("ir-random-indexing")
    );
    let columns = |run: &str| {
        let row = |line: &str| line.rsplit_once(' ').unwrap().0.to_owned();
        run.lines().map(row).collect::<Vec<_>>()
    };
    let expected = here.read("out/runs/bundled/ri.trec");
    assert!(columns(&found.out) == columns(&expected), "runs differ");
    // A saved index needs the texts.
    here.ir(&["index", "bundled", "-o", "plain.ir", "--store", "nothing"])
        .ok();
    let plain = ["search", "plain.ir", "boats", "--model", "random-indexing"];
    here.ir(&plain)
        .fails(1, &["--model: expected an index with stored texts"]);
    let explained = [
        "search",
        "bundled",
        "boats at night",
        "--model",
        "random-indexing",
        "--explain",
    ];
    assert!(here.ir(&explained).ok().out.contains("inner product"));
}
