//! `ir search --prior` and `--sdm`, `--model bm25f`.

use std::collections::BTreeMap;

use crate::common::Folder;

const CORPUS: &str = concat!(
    "{\"_id\": \"a\", \"title\": \"tea\", \"text\": \"green leaves of tea\", \"repository\": \"geo\"}\n",
    "{\"_id\": \"b\", \"title\": \"cups\", \"text\": \"green tea\", \"repository\": \"pdb\"}\n",
    "{\"_id\": \"c\", \"title\": \"tea, green\", \"text\": \"milk\", \"repository\": \"pdb\"}\n",
);

fn here() -> Folder {
    let here = Folder::new();
    here.write("corpus.jsonl", CORPUS);
    here
}

/// Ids and scores of the hits.
fn hits(here: &Folder, options: &[&str]) -> Vec<(String, f64)> {
    let search = ["search", "corpus.jsonl", "green tea", "--json"];
    let out = here.ir(&[&search[..], options].concat()).ok().out;
    let pair = |line: &str| {
        let hit: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = hit["id"].as_str().unwrap().to_owned();
        (id, hit["score"].as_f64().unwrap())
    };
    out.lines().map(pair).collect()
}

fn score(hits: &[(String, f64)], id: &str) -> f64 {
    hits.iter().find(|hit| hit.0 == id).unwrap().1
}

#[test]
fn priors_of_files_judgments_and_hits() {
    let here = here();
    let base = hits(&here, &[]);
    here.write("priors.tsv", "geo\t0.5\n\n*\t0.25\n");
    let found = hits(&here, &["--prior", "priors.tsv"]);
    for (id, p) in [("a", 0.5), ("b", 0.25), ("c", 0.25)] {
        assert!((score(&found, id) - p * score(&base, id)).abs() < 1e-6);
    }
    let options = [
        "--prior",
        "priors.tsv",
        "--prior-combination",
        "log-sum",
        "--prior-weight",
        "2",
    ];
    let found = hits(&here, &options);
    let expected = score(&base, "a") + 2.0 * 0.5_f64.ln();
    assert!((score(&found, "a") - expected).abs() < 1e-6);
    assert_eq!(
        hits(&here, &["--prior", "priors.tsv", "--prior-weight", "0"]),
        base
    );
    // 2 relevant documents, of pdb; 2 repositories, smoothing 1.
    here.write("train.qrels", "1 0 b 1\n1 0 c 2\n1 0 a 0\n");
    let found = hits(&here, &["--prior", "qrels:train.qrels"]);
    assert!((score(&found, "a") - score(&base, "a") / 4.0).abs() < 1e-6);
    assert!((score(&found, "b") - score(&base, "b") * 3.0 / 4.0).abs() < 1e-6);
    // The first hit alone, smoothing 1.
    let found = hits(&here, &["--prior", "feedback", "--prior-docs", "1"]);
    let (first, second) = (&base[0].0, &base[1].0);
    let same = (first == "a") == (second == "a");
    let p = if same { 2.0 / 3.0 } else { 1.0 / 3.0 };
    assert!((score(&found, first) - score(&base, first) * 2.0 / 3.0).abs() < 1e-6);
    assert!((score(&found, second) - score(&base, second) * p).abs() < 1e-6);
    // A saved index has the attributes.
    here.ir(&["index", "corpus.jsonl", "-o", "saved.ir"]).ok();
    let saved = [
        "search",
        "saved.ir",
        "green tea",
        "--prior",
        "priors.tsv",
        "-o",
        "-",
    ];
    here.ir(&saved).ok();
    let explained = [
        "search",
        "corpus.jsonl",
        "green tea",
        "--prior",
        "priors.tsv",
        "--explain",
    ];
    let explained = here.ir(&explained).ok().out;
    assert!(
        explained.contains("p: prior of the repository geo"),
        "{explained}"
    );
}

#[test]
fn repositories_of_priors_that_no_document_has() {
    let here = here();
    let search = |priors: &str| {
        here.write("priors.tsv", priors);
        let search = ["search", "corpus.jsonl", "tea", "--prior", "priors.tsv"];
        here.ir(&search).ok().err
    };
    let err = search("geo_022216\t0.5\nctn\t0.1\npdb\t0.3\npdbe_x\t0.3\n*\t0.25\n");
    let warning = "warning: priors: no document has 3 of 4 repositories in its attribute \"repository\", such as \"ctn\"";
    assert!(err.contains(warning), "{err}");
    let err = search("geo_022216\t0.5\npdb\t0.3\n*\t0.25\n");
    let warning = "no document has 1 of 2 repositories in its attribute \"repository\", such as \"geo_022216\" (did you mean geo?)";
    assert!(err.contains(warning), "{err}");
    assert!(!search("geo\t0.5\npdb\t0.3\n").contains("warning"));
    assert!(!search("*\t0.3\n").contains("warning"));
}

#[test]
fn wrong_priors_are_rejected() {
    let here = here();
    here.write("few.tsv", "geo\t0.5\n");
    here.write("wrong.tsv", "geo\t0.5\npdb 0.1\n");
    here.write("large.tsv", "geo\t1.5\n");
    here.write("twice.tsv", "geo\t0.5\ngeo\t0.1\n");
    let search = |options: &[&str]| {
        let search = ["search", "corpus.jsonl", "tea"];
        here.ir(&[&search[..], options].concat())
    };
    search(&["--prior", "few.tsv"]).fails(
        1,
        &["--prior: expected a prior for every repository, found none for \"pdb\""],
    );
    search(&["--prior", "wrong.tsv"]).fails(1, &["wrong.tsv:2: expected `repository TAB"]);
    search(&["--prior", "large.tsv"]).fails(1, &["large.tsv:1: expected", "at most 1"]);
    search(&["--prior", "twice.tsv"]).fails(1, &["twice.tsv:2: expected different repositories"]);
    search(&["--prior", "missing.tsv"]).fails(1, &["--prior", "missing.tsv"]);
    search(&["--prior", "qrels:"])
        .fails(2, &["--prior", "expected feedback, qrels:FILE or a file"]);
    search(&["--prior", "few.tsv", "--prior-attribute", "source"]).fails(
        1,
        &[
            "--prior-attribute: expected a text attribute of the documents",
            "found \"source\"",
        ],
    );
    search(&["--prior", "few.tsv", "--prior-docs", "3"])
        .fails(2, &["--prior-docs: expected no key priors, found both"]);
    search(&["--prior-weight", "1"]).fails(2, &["--prior-weight: expected --prior, found none"]);
    for option in ["--prior-repositories", "--prior-epsilon"] {
        search(&["--prior", "few.tsv", option, "23"])
            .fails(2, &[option, "expected no key priors, found both"]);
        search(&[option, "23"]).fails(2, &["--prior"]);
    }
    search(&["--prior", "feedback", "--prior-unseen", "0.1"]).fails(
        2,
        &["--prior-unseen: expected the key priors or qrels, found none"],
    );
    for (option, value, expected) in [
        ("--prior-repositories", "0", "at least 1"),
        ("--prior-epsilon", "0", "a finite number > 0"),
        ("--prior-epsilon", "inf", "a finite number > 0"),
        ("--prior-unseen", "0", "a number > 0, at most 1"),
        ("--prior-unseen", "1.5", "a number > 0, at most 1"),
    ] {
        let expected = format!("expected {expected}, found {value}");
        search(&["--prior", "qrels:train.qrels", option, value]).fails(2, &[option, &expected]);
    }
}

/// The example of the documentation of bioCADDIE's plugin: 50 feedback documents, 23 repositories,
/// of which the collection has four.
#[test]
fn published_priors_of_23_repositories() {
    let here = Folder::new();
    let (mut corpus, mut qrels) = (String::new(), String::new());
    for n in 0..60 {
        let repository = match n {
            0..5 => "five",
            5..12 => "seven",
            12..50 => "many",
            _ => "unseen",
        };
        // The last ten documents have the lowest scores, and are not relevant.
        let (text, grade) = match n {
            0..50 => ("tea tea", 1),
            _ => ("tea, a cup of milk", 0),
        };
        corpus += &format!(
            "{{\"_id\": \"d{n:02}\", \"text\": \"{text}\", \"repository\": \"{repository}\"}}\n"
        );
        qrels += &format!("1 0 d{n:02} {grade}\n");
    }
    here.write("corpus.jsonl", corpus);
    here.write("train.qrels", qrels);
    // The priors of the repositories five, many, seven and unseen, to seven decimals.
    let priors = |options: &[&str]| -> Vec<f64> {
        let search = ["search", "corpus.jsonl", "tea", "--hits", "60", "--json"];
        let search = [&search[..], &["--explain", "--prior"], options].concat();
        let out = here.ir(&search).ok().out;
        let mut found = BTreeMap::new();
        for line in out.lines() {
            let hit: serde_json::Value = serde_json::from_str(line).unwrap();
            let prior = &hit["explanation"]["parts"][1]["parts"][0];
            let name = prior["what"].as_str().unwrap().to_owned();
            assert!(name.starts_with("p: prior of the repository "), "{line}");
            let p = prior["value"].as_f64().unwrap();
            found.insert(name, (p * 1e7).round() / 1e7);
        }
        assert_eq!(found.len(), 4, "{found:?}");
        found.into_values().collect()
    };
    let published = [0.0821918, 0.5342466, 0.1095890, 0.0136986];
    let feedback = ["feedback", "--prior-docs", "50"];
    let of_23 = ["--prior-repositories", "23"];
    assert_eq!(priors(&[&feedback[..], &of_23].concat()), published);
    let judged = ["qrels:train.qrels"];
    assert_eq!(priors(&[&judged[..], &of_23].concat()), published);
    // The four repositories of the collection: 6 / 54, 39 / 54, 8 / 54, 1 / 54.
    let of_four = [0.1111111, 0.7222222, 0.1481481, 0.0185185];
    assert_eq!(priors(&feedback), of_four);
    assert_eq!(priors(&judged), of_four);
    // At least the three repositories of the hits: 6 / 53, 39 / 53, 8 / 53, 1 / 53.
    let of_three = [0.1132075, 0.7358491, 0.1509434, 0.0188679];
    let of_2 = ["--prior-repositories", "2"];
    assert_eq!(priors(&[&feedback[..], &of_2].concat()), of_three);
    // 5.5, 38.5, 7.5 and 0.5 of 61.5; a prior of their own for repositories without judgments.
    let epsilon = ["--prior-epsilon", "0.5"];
    let smoothed = [0.0894309, 0.6260163, 0.1219512, 0.0081301];
    assert_eq!(
        priors(&[&feedback[..], &of_23, &epsilon].concat()),
        smoothed
    );
    let unseen = ["--prior-unseen", "0.000001"];
    assert_eq!(
        priors(&[&judged[..], &of_23, &epsilon, &unseen].concat()),
        [smoothed[0], smoothed[1], smoothed[2], 0.000001]
    );
}

#[test]
fn sequential_dependence() {
    let here = here();
    let sdm = hits(&here, &["--sdm", "0.85,0.1,0.05"]);
    assert_eq!(sdm.len(), 3);
    // Words alone, divided by their number, are half of BM25 over two words.
    let base = hits(&here, &[]);
    let words = hits(&here, &["--sdm", "1,0,0"]);
    for (id, expected) in &base {
        assert!((score(&words, id) - expected / 2.0).abs() < 1e-6);
    }
    // The phrase is in one text.
    let phrase = |id: &str| score(&sdm, id) - 0.85 * score(&words, id);
    assert!(
        phrase("b") > phrase("c") && phrase("c") > 0.0,
        "{sdm:?} {words:?}"
    );
    // The scores of a run are exact.
    let run = [
        "search",
        "corpus.jsonl",
        "green tea",
        "--sdm",
        "0.85,0.1,0.05",
    ];
    let run = here.ir(&[&run[..], &["-o", "-"]].concat()).ok().out;
    for line in run.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let found: f64 = fields[4].parse().unwrap();
        assert!((found - score(&sdm, fields[2])).abs() < 1e-7, "{line}");
    }
    let search = |options: &[&str]| {
        let search = ["search", "corpus.jsonl", "green tea"];
        here.ir(&[&search[..], options].concat())
    };
    for (wrong, expected) in [
        (
            "1,0",
            "expected 3 values, separated by commas, found \"1,0\"",
        ),
        (
            "0,1,1",
            "expected three numbers from 0 to 1e9, the first above 0",
        ),
        ("1,x,0", "expected a number, found \"x\""),
        ("1,-1,0", "expected three numbers from 0 to 1e9"),
        ("1,1,1,1", "expected 3 values"),
    ] {
        search(&["--sdm", wrong]).fails(2, &["--sdm", expected]);
    }
    search(&["--sdm", "1,1,1", "--syntax", "lucene"]).fails(2, &["--sdm", "--syntax"]);
    search(&["--sdm", "1,1,1", "--model", "bm25f"]).fails(
        2,
        &["--sdm: expected a model that scores each field, found \"bm25f\""],
    );
    here.ir(&["index", "corpus.jsonl", "-o", "plain.ir"]).ok();
    let saved = ["search", "plain.ir", "green tea", "--sdm", "1,1,1"];
    here.ir(&saved).fails(
        1,
        &["expected an index with positions", "`ir index --positions`"],
    );
}

#[test]
fn bm25f_over_weighted_fields() {
    let here = here();
    let fields = ["--fields", "title,text", "--model", "bm25f"];
    let found = |options: &[&str]| hits(&here, &[&fields[..], options].concat());
    assert_eq!(found(&["--weights", "title=9,text=0.1"])[0].0, "c");
    assert_eq!(found(&["--weights", "title=0"]).len(), 2);
    for option in ["--weights", "--field-b"] {
        let twice = [option, "title=1,text=1", option, "title=0.5"];
        let search = ["search", "corpus.jsonl", "tea"];
        here.ir(&[&search[..], &fields, &twice].concat()).fails(
            2,
            &[option, "expected each field once, found \"title\" twice"],
        );
    }
    assert_ne!(found(&["--field-b", "title=1"]), found(&[]));
    assert_eq!(found(&["--b", "0.4", "--field-b", "title=0.4"]), found(&[]));
    let search = |options: &[&str]| {
        let search = ["search", "corpus.jsonl", "green tea"];
        here.ir(&[&search[..], options].concat())
    };
    search(&[&fields[..], &["--field-b", "title=2"]].concat())
        .fails(2, &["--field-b: expected a number from 0 to 1, found 2"]);
    search(&[&fields[..], &["--field-b", "titel=1"]].concat()).fails(
        1,
        &["--field-b: expected a field of the index (title, text), found \"titel\" (did you mean title?)"],
    );
    search(&["--field-b", "title=1"]).fails(
        2,
        &["--field-b: expected model = \"bm25f\", found \"bm25\""],
    );
    // Without fields it is BM25, which is said.
    let warning = "warning: --model bm25f over one field is bm25 (--fields title,text indexes two)";
    assert!(search(&fields[2..]).ok().err.contains(warning));
    assert!(!search(&fields).ok().err.contains("over one field"));
}

#[test]
fn feedback_from_an_external_collection() {
    let here = here();
    let news = "{\"_id\": \"x\", \"text\": \"green tea and milk\"}\n\
                {\"_id\": \"y\", \"text\": \"ships\"}\n";
    here.write("news.jsonl", news);
    here.ir(&["index", "news.jsonl", "-o", "news.ir"]).ok();
    here.ir(&["index", "news.jsonl", "-o", "bare.ir", "--store", "nothing"])
        .ok();
    let explained = |options: &[&str]| {
        let search = ["search", "corpus.jsonl", "green", "--explain", "--feedback"];
        let search = [&search[..], &["rm3(estimate=indri)"], options].concat();
        here.ir(&search).ok().out
    };
    let external = explained(&["--feedback-collection", "news.jsonl"]);
    assert!(external.contains("contents:milk"), "{external}");
    assert_eq!(explained(&["--feedback-collection", "news.ir"]), external);
    assert_ne!(explained(&[]), external);
    assert_eq!(
        explained(&["--feedback-collection", "corpus.jsonl"]),
        explained(&[])
    );
    // A prior by feedback searches the query twice.
    let twice = ["search", "corpus.jsonl", "green", "--feedback", "rm3"];
    let twice = here.ir(&[&twice[..], &["--prior", "feedback"]].concat());
    let err = twice.ok().err;
    assert!(err.contains("--feedback: 1 of the queries"), "{err}");
    let search = |options: &[&str]| {
        let search = ["search", "corpus.jsonl", "green", "--feedback-collection"];
        here.ir(&[&search[..], options].concat())
    };
    search(&["bare.ir", "--feedback", "rm3"]).fails(
        1,
        &["--feedback-collection: expected an index with stored texts, found none"],
    );
    search(&["missing", "--feedback", "rm3"]).fails(1, &["--feedback-collection", "missing"]);
    search(&["news.jsonl"]).fails(2, &["--feedback"]);
}
