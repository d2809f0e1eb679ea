//! `ir sweep --grid`: settings of a grid, searched, evaluated and held out.

use crate::common::{Folder, QRELS, RUN, tiny};

/// Rows of settings: name, score, number of queries that select it.
pub(super) fn rows(out: &str) -> Vec<Vec<&str>> {
    let rows = out.lines().skip(1).take_while(|line| !line.is_empty());
    rows.map(|row| row.split_whitespace().collect()).collect()
}

pub(super) fn grid_folder() -> Folder {
    let here = Folder::new();
    let mut corpus = String::new();
    for n in 0..30 {
        let text = "tea ".repeat(1 + n % 4) + &"leaf milk ".repeat(n % 7) + &"ship ".repeat(n % 3);
        corpus += &format!("{{\"_id\": \"d{n:02}\", \"text\": \"{text}\"}}\n");
    }
    here.write("notes/corpus.jsonl", corpus);
    let queries = ["tea leaf", "ship milk", "milk", "tea ship"];
    let queries = (1..).zip(queries);
    let queries = queries.map(|(n, text)| format!("{{\"_id\": \"{n}\", \"text\": \"{text}\"}}\n"));
    here.write("notes/queries.jsonl", queries.collect::<String>());
    let judged = (1..5).flat_map(|query| (0..30).step_by(query + 2).map(move |doc| (query, doc)));
    let judged = judged.map(|(query, doc)| format!("{query}\td{doc:02}\t1\n"));
    let header = "query-id\tcorpus-id\tscore\n".to_owned();
    here.write("notes/qrels/test.tsv", header + &judged.collect::<String>());
    here
}

#[test]
fn a_grid_equals_the_runs_of_its_settings() {
    let here = grid_folder();
    let mut files = Vec::new();
    for k1 in ["0.2", "3"] {
        for b in ["0", "0.5", "1"] {
            let file = format!("k1={k1},b={b}");
            let search = ["search", "notes", "--k1", k1, "--b", b, "--scores", "exact"];
            here.ir(&[&search[..], &["-o", &file]].concat()).ok();
            files.push(file);
        }
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let by_hand = ["sweep", "-q", "-m", "AP", "notes"];
    let by_hand = here.ir(&[&by_hand[..], &files].concat()).ok().out;
    let grid = ["sweep", "-q", "-m", "AP", "notes", "notes"];
    let axes = ["--grid", "k1=0.2,3", "--grid", "b=0,0.5,1"];
    let grid = here.ir(&[&grid[..], &axes].concat()).ok().out;
    assert_eq!(rows(&grid), rows(&by_hand));
    assert_eq!(rows(&grid).len(), 6);
    assert_eq!(grid, by_hand);
    // A saved index and a file of queries; other models, feedback.
    here.ir(&["index", "notes", "-o", "saved.ir"]).ok();
    let saved = [
        "sweep",
        "-q",
        "-m",
        "AP",
        "notes",
        "saved.ir",
        "--query-file",
        "notes",
    ];
    assert_eq!(here.ir(&[&saved[..], &axes].concat()).ok().out, grid);
    let model = ["--model", "qld", "--grid", "mu=1,10,100"];
    let found = here
        .ir(&[&["sweep", "notes", "notes"][..], &model].concat())
        .ok();
    assert_eq!(rows(&found.out)[2][0], "mu=100");
    let feedback = [
        "--feedback",
        "rm3(terms=5)",
        "--grid",
        "feedback.docs=1,5",
        "--grid",
        "k1=1",
    ];
    let found = here
        .ir(&[&["sweep", "notes", "notes"][..], &feedback].concat())
        .ok();
    assert_eq!(rows(&found.out)[1][0], "feedback.docs=5,k1=1");
    let fixed = ["--model", "bm25(b=0.5)", "--grid", "k1=0.2,3"];
    let fixed = here
        .ir(&[&["sweep", "notes", "notes"][..], &fixed].concat())
        .ok()
        .out;
    let scores: Vec<&str> = rows(&fixed).iter().map(|row| row[1]).collect();
    assert_eq!(scores, [rows(&grid)[1][1], rows(&grid)[4][1]]);
}

/// A grid of one parameter beside the runs of `ir search` with each of its values.
#[track_caller]
fn assert_grid(here: &Folder, axis: (&str, &[&str]), options: &[&str], by_hand: &[Vec<String>]) {
    let mut files = Vec::new();
    for (value, options) in axis.1.iter().zip(by_hand) {
        let file = format!("{}={value}", axis.0);
        let mut search = vec!["search", "notes", "--scores", "exact", "-o", &file];
        search.extend(options.iter().map(String::as_str));
        here.ir(&search).ok();
        files.push(file);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let expected = here.ir(&[&["sweep", "notes"][..], &files].concat()).ok();
    let values = format!("{}={}", axis.0, axis.1.join(","));
    let grid = ["sweep", "notes", "notes", "--grid", &values];
    let found = here.ir(&[&grid[..], options].concat()).ok().out;
    let scores = |out: &str| -> Vec<Vec<String>> {
        let named = rows(out).into_iter();
        let mut named: Vec<Vec<String>> = named
            .map(|row| row.into_iter().map(str::to_owned).collect())
            .collect();
        named.sort();
        named
    };
    assert_eq!(scores(&found), scores(&expected.out));
    let different: std::collections::BTreeSet<_> = scores(&found)
        .into_iter()
        .map(|row| row[1].clone())
        .collect();
    assert!(different.len() > 1, "{found}");
}

#[test]
fn grids_of_dependence_synonyms_and_priors() {
    let here = grid_folder();
    let owned = |options: &[&str]| -> Vec<String> {
        options.iter().map(|option| (*option).to_owned()).collect()
    };
    let by_hand = ["0", "0.5", "2"].map(|w| owned(&["--sdm", &format!("0.8,{w},0.1")]));
    let sdm = ["--sdm", "0.8,0.1,0.1"];
    assert_grid(&here, ("sdm.phrases", &["0", "0.5", "2"]), &sdm, &by_hand);
    let feedback = [&sdm[..], &["--feedback", "rm3(docs=2,weight=0.9)"]].concat();
    let by_hand = by_hand.map(|options| [options, owned(&feedback[2..])].concat());
    assert_grid(
        &here,
        ("sdm.phrases", &["0", "0.5", "2"]),
        &feedback,
        &by_hand,
    );

    here.write("synonyms.txt", "tea => milk\nship, leaf\n");
    let synonyms = ["--synonyms", "synonyms.txt"];
    let by_hand =
        ["0", "1", "4"].map(|w| owned(&[&synonyms[..], &["--synonym-weight", w]].concat()));
    assert_grid(
        &here,
        ("synonyms.weight", &["0", "1", "4"]),
        &synonyms,
        &by_hand,
    );

    let nearest = ["--nearest-words", "2", "--nearest-dim", "20"];
    let by_hand = ["0", "0.5", "2"].map(|w| {
        let weight = ["--nearest-weight", w];
        owned(&[&nearest[..], &weight].concat())
    });
    assert_grid(
        &here,
        ("nearest.weight", &["0", "0.5", "2"]),
        &nearest,
        &by_hand,
    );
    let by_hand = ["0", "1", "3"].map(|n| {
        let words = ["--nearest-words", n, "--feedback", "rm3(docs=2)"];
        owned(&[&words[..], &nearest[2..]].concat())
    });
    let feedback = [&nearest[..], &["--feedback", "rm3(docs=2)"]].concat();
    assert_grid(
        &here,
        ("nearest.words", &["0", "1", "3"]),
        &feedback,
        &by_hand,
    );

    let corpus = here.read("notes/corpus.jsonl");
    let corpus = (0..).zip(corpus.lines()).map(|(n, line)| {
        let repository = ["geo", "pdb", "sra"][n % 3];
        format!("{{\"repository\": \"{repository}\", {}\n", &line[1..])
    });
    here.write("notes/corpus.jsonl", corpus.collect::<String>());
    here.write("priors.tsv", "geo\t0.9\npdb\t0.1\n*\t0.01\n");
    let prior = ["--prior", "priors.tsv"];
    let by_hand = ["0", "0.5", "3"].map(|w| owned(&[&prior[..], &["--prior-weight", w]].concat()));
    assert_grid(
        &here,
        ("prior.weight", &["0", "0.5", "3"]),
        &prior,
        &by_hand,
    );

    let sweep = |options: &[&str]| here.ir(&[&["sweep", "notes", "notes"][..], options].concat());
    for (options, expected) in [
        (
            &["--grid", "sdm.words=1,2"][..],
            "sdm.words: expected --sdm, found none",
        ),
        (
            &["--grid", "synonyms.weight=1,2"],
            "synonyms.weight: expected --synonyms, found none",
        ),
        (
            &["--grid", "nearest.words=1,2"],
            "nearest.words: expected --nearest-words, found none",
        ),
        (
            &["--grid", "nearest.words=1,2.5", "--nearest-words", "2"],
            "expansion.words: expected an integer, found \"2.5\"",
        ),
        (
            &["--grid", "nearest.weight=-1,2", "--nearest-words", "2"],
            "--nearest-weight: expected a finite number >= 0, found -1",
        ),
        (
            &[
                "--grid",
                "nearest.weight=1,2",
                "--nearest-words",
                "2",
                "--sdm",
                "1,1,1",
            ],
            "--nearest-words: expected no --sdm, found both",
        ),
        (
            &["--nearest-words", "2"],
            "--nearest-words: expected --grid, found none",
        ),
        (
            &["--grid", "prior.weight=1,2"],
            "prior.weight: expected --prior, found none",
        ),
        (
            &["--grid", "sdm.words=0,1", "--sdm", "1,1,1"],
            "sdm.words=0: --sdm: expected three numbers from 0 to 1e9, the first above 0",
        ),
        (
            &["--grid", "sdm.windows=-1,1", "--sdm", "1,1,1"],
            "sdm.windows=-1: --sdm: expected three numbers from 0 to 1e9",
        ),
        (
            &["--grid", "sdm.phrase=0,1", "--sdm", "1,1,1"],
            "found \"sdm.phrase\" (did you mean sdm.phrases?)",
        ),
        (&["--grid", "docs=1,2"], "expected a key of bm25 ("),
        (
            &["--fields", "one", "--grid", "title_weight=1,2"],
            "title_weight=1: title_weight: expected fields = \"separate\" or a list with title and text",
        ),
        (
            &["--prior", "feedback"],
            "--prior: expected --grid, found none",
        ),
    ] {
        sweep(options).fails(2, &[expected]);
    }
}

/// The weight of the title needs an index with the title as a field: of the options, or saved.
#[test]
fn grids_of_the_weight_of_titles() {
    let here = grid_folder();
    let corpus = here.read("notes/corpus.jsonl");
    let corpus = (0..).zip(corpus.lines()).map(|(n, line)| {
        let title = ["ship leaf", "milk", "tea"][n % 3];
        format!("{{\"title\": \"{title}\", {}\n", &line[1..])
    });
    here.write("notes/corpus.jsonl", corpus.collect::<String>());
    let values = ["0", "1", "5"];
    let by_hand = values.map(|weight| {
        let weight = format!("title={weight}");
        let options = ["--fields", "separate", "--weights", weight.as_str()];
        options.map(str::to_owned).to_vec()
    });
    let fields = ["--fields", "separate"];
    assert_grid(&here, ("title_weight", &values), &fields, &by_hand);
    let grid = "--grid title_weight=0,1,5";
    let built = here.ir(&format!("sweep notes notes {grid} --fields separate"));
    here.ir("index notes -o saved.ir --fields separate").ok();
    let saved = here.ir(&format!("sweep notes saved.ir --query-file notes {grid}"));
    assert_eq!(saved.ok().out, built.ok().out);
    here.ir("index notes -o one.ir").ok();
    here.ir(&format!("sweep notes one.ir --query-file notes {grid}"))
        .fails(1, &["title_weight", "--fields separate"]);
}

/// The feedback documents of every setting are those of the external collection, by the scoring
/// model of the setting.
#[test]
fn grids_of_feedback_from_an_external_collection() {
    let here = grid_folder();
    // Feedback skips words that are in more than a tenth of the documents.
    let others = |count: usize| -> String {
        let other = |n| format!("{{\"_id\": \"z{n}\", \"text\": \"something else entirely\"}}\n");
        (0..count).map(other).collect()
    };
    let corpus = here.read("notes/corpus.jsonl") + &others(400);
    here.write("notes/corpus.jsonl", corpus);
    let news = [
        "ship tea tea",
        "leaf of tea and a ship",
        "milk and tea",
        "milk ship ship",
        "leaf leaf milk",
    ];
    let news = (0..).zip(news);
    let news = news.map(|(n, text)| format!("{{\"_id\": \"n{n}\", \"text\": \"{text}\"}}\n"));
    here.write("news.jsonl", news.collect::<String>() + &others(60));
    let index = ["index", "news.jsonl", "-o"];
    here.ir(&[&index[..], &["news.ir"]].concat()).ok();
    let bare = ["bare.ir", "--store", "nothing"];
    here.ir(&[&index[..], &bare].concat()).ok();
    for external in ["news.jsonl", "news.ir"] {
        let with = |feedback: &str| -> Vec<String> {
            let options = ["--feedback", feedback, "--feedback-collection", external];
            options.map(str::to_owned).to_vec()
        };
        let given = |options: &[&str]| -> Vec<String> {
            options.iter().map(|option| (*option).to_owned()).collect()
        };
        for (axis, base, values, by_hand) in [
            (
                "feedback.terms",
                with("rm3"),
                ["1", "2", "4"],
                ["1", "2", "4"].map(|n| with(&format!("rm3(terms={n})"))),
            ),
            (
                "feedback.beta",
                with("rocchio(docs=5)"),
                ["0", "0.75", "3"],
                ["0", "0.75", "3"].map(|beta| with(&format!("rocchio(docs=5,beta={beta})"))),
            ),
            (
                "mu",
                [given(&["--model", "qld"]), with("rm3(terms=2)")].concat(),
                ["1", "10", "100"],
                ["1", "10", "100"].map(|mu| {
                    let model = given(&["--model", "qld", "--mu", mu]);
                    [model, with("rm3(terms=2)")].concat()
                }),
            ),
        ] {
            let base: Vec<&str> = base.iter().map(String::as_str).collect();
            assert_grid(&here, (axis, &values), &base, &by_hand);
        }
    }
    let sweep = |options: &[&str]| {
        let sweep = ["sweep", "notes", "notes", "--feedback-collection"];
        here.ir(&[&sweep[..], options].concat())
    };
    let terms = ["--grid", "feedback.terms=1,2"];
    let rm3 = ["--feedback", "rm3"];
    sweep(&[&["bare.ir"][..], &rm3, &terms].concat()).fails(
        1,
        &["--feedback-collection: expected an index with stored texts, found none"],
    );
    sweep(&[&["missing"][..], &rm3, &terms].concat())
        .fails(1, &["--feedback-collection", "missing"]);
    sweep(&["news.ir", "--grid", "k1=1,2"]).fails(2, &["--feedback"]);
    sweep(&[&["news.ir"][..], &rm3].concat()).fails(2, &["--grid"]);
}

/// Seeds above 2^24, which single precision rounds.
#[test]
fn grids_of_seeds() {
    let here = grid_folder();
    let model = |seed: &str| {
        let model = format!("random-indexing(dim=3,nonzero=2,seed={seed})");
        vec!["--model".to_owned(), model]
    };
    assert_grid(
        &here,
        ("seed", &["33333333", "3"]),
        &["--model", "random-indexing(dim=3,nonzero=2)"],
        &[model("33333333"), model("3")],
    );
}

#[test]
fn wrong_grids_are_rejected() {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("run", RUN);
    let sweep = |options: &[&str]| here.ir(&[&["sweep", "tiny", "tiny"][..], options].concat());
    for (options, parts) in [
        (
            &["--grid", "k1"][..],
            &[
                "--grid",
                "expected a name with numbers, such as k1=0.9,1.2, found \"k1\"",
            ][..],
        ),
        (
            &["--grid", "k1=1"],
            &["--grid: expected 2 to 10000 settings, found 1"],
        ),
        (
            &["--grid", "k1=1,2", "--grid", "k1=1"],
            &["--grid: expected different parameters"],
        ),
        (
            &["--grid", "k1=1,2,1.0"],
            &["--grid: expected different values of \"k1\", found 1 twice"],
        ),
        (
            &["--grid", "k=1,2"],
            &["expected a key of bm25 (", "found \"k\""],
        ),
        (
            &["--grid", "b=0,2"],
            &["b=2: --b: expected a number from 0 to 1, found 2"],
        ),
        (
            &["--grid", "mu=1,2", "--model", "qdl"],
            &["did you mean qld?"],
        ),
        (
            &["--grid", "feedback.docs=1,2"],
            &["expected --feedback, found none"],
        ),
        (
            &["--grid", "feedback.doc=1,2", "--feedback", "rm3"],
            &["--feedback", "found \"doc\""],
        ),
        (
            &["--grid", "k1=1,2", "third"],
            &["--grid: expected one collection", "found 2 arguments"],
        ),
        (
            &["--queries", "queries.tsv", "--grid", "k1=1,2"],
            &[
                "found 2 arguments (--query-file FILE reads queries; --queries prints values per query)",
            ],
        ),
        (&["--model", "qld"], &["--grid"]),
    ] {
        sweep(options).fails(2, parts);
    }
    let weights = ["--model", "bm25f", "--grid", "weight.titel=1,2"];
    sweep(&weights).fails(2, &["weight.titel=1", "found \"titel\""]);
    sweep(&["--model", "bm25f", "--grid", "weight.title=-1,2"]).fails(
        2,
        &["weight.title=-1: --weights: expected 0 or a number from 1e-9 to 1e9, found -1"],
    );
    let fields = ["sweep", "qrels", "run", "run", "--fields", "separate"];
    here.ir(&fields)
        .fails(2, &["--fields: expected --grid, found none"]);
}
