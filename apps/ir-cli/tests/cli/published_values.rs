//! Published scores, reproduced by the command on the real collections in `IR_DATA`.
//!
//! Expected: castorini/anserini's regressions "flat" (k1 0.9, b 0.4); ArguAna with ties by
//! ascending id .4005, measured with Lucene 9.9.1 (testdata/lucene/bm25_figures.tsv); DataFinder
//! (ACL 2023, BM25, corpus of 7,602 records), measured with Anserini 1.7.1 at k1 0.8, b 0.4.

use std::path::Path;

use crate::common::{Folder, data, value};

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!(
        (found - expected).abs() <= within + 1e-9,
        "{found}, expected {expected}"
    );
}

#[test]
fn nfcorpus() {
    if data("nfcorpus").is_none() {
        return;
    }
    let here = Folder::new();
    let args = "search beir/nfcorpus --model bm25 --k1 0.9 --b 0.4 --hits 1000 --output run.trec --split test";
    here.ir_data(args).ok();
    let args = "eval -c -m ndcg_cut.10 -m recall.100 beir/nfcorpus run.trec";
    let scores = here.ir_data(args).ok().out;
    near(value(&scores, "ndcg_cut_10"), 0.3218, 0.00005);
    near(value(&scores, "recall_100"), 0.2457, 0.00005);
    // The same judgments as a file in BEIR format.
    let qrels = data("nfcorpus")
        .unwrap()
        .join("beir/nfcorpus/qrels/test.tsv");
    let args = [
        "eval",
        "-c",
        "-m",
        "ndcg_cut.10",
        "-m",
        "recall.100",
        qrels.to_str().unwrap(),
        "run.trec",
    ];
    assert_eq!(here.ir_data(&args).ok().out, scores);
}

/// RM3 and Rocchio of Anserini 1.7.1 (testdata/anserini-feedback).
#[test]
fn feedback_on_nfcorpus() {
    if data("feedback_on_nfcorpus").is_none() {
        return;
    }
    let here = Folder::new();
    let base = here.ir_data("search beir/nfcorpus").ok().out;
    for (model, ndcg, recall, map) in [
        ("rm3", 0.3460, 0.3229, 0.1840),
        ("rocchio", 0.3371, 0.3176, 0.1815),
    ] {
        let search = format!("search beir/nfcorpus --feedback {model} -o run.trec");
        let ran = here.ir_data(&search).ok();
        assert!(
            ran.err
                .contains("fewer hits than the 10 feedback documents"),
            "{}",
            ran.err
        );
        let args = "eval -c -m ndcg_cut.10 -m recall.100 -m map beir/nfcorpus run.trec";
        let scores = here.ir_data(args).ok().out;
        near(value(&scores, "ndcg_cut_10"), ndcg, 0.0005);
        near(value(&scores, "recall_100"), recall, 0.0005);
        near(value(&scores, "map"), map, 0.0005);
    }
    for disabled in ["rm3(weight=1)", "rocchio(beta=0)"] {
        let search = ["search", "beir/nfcorpus", "--feedback", disabled];
        assert_eq!(here.ir_data(&search).ok().out, base);
    }
}

/// trec_eval's own test: a leading comment is neither data nor a BEIR header.
#[test]
fn qrels_starting_with_comment() {
    let Some(data) = data("qrels_starting_with_comment") else {
        return;
    };
    let at = |name: &str| data.join("trec_eval").join(name);
    let (qrels, run) = (at("qrels.test.with-comments"), at("results.test"));
    let args = ["eval", qrels.to_str().unwrap(), run.to_str().unwrap()];
    let expected = std::fs::read_to_string(at("out.test")).unwrap();
    assert_eq!(Folder::new().ir_data(&args).ok().out, expected);
}

#[test]
fn arguana() {
    let Some(data) = data("arguana") else { return };
    let here = Folder::new();
    let folder = data.join("beir/arguana");
    let folder = folder.to_str().unwrap();
    let run = |scores: &[&str]| {
        let args = [
            "search",
            folder,
            "--model",
            "bm25",
            "--k1",
            "0.9",
            "--b",
            "0.4",
            "--hits",
            "1000",
            "--output",
            "run.trec",
            "--remove-self",
        ];
        here.ir_data(&[&args, scores].concat()).ok();
        let args = "eval -c -m ndcg_cut.10 -m recall.100 beir/arguana run.trec";
        let out = here.ir_data(args).ok().out;
        (value(&out, "ndcg_cut_10"), value(&out, "recall_100"))
    };
    let (ndcg, recall) = run(&[]);
    near(ndcg, 0.3970, 0.00005);
    near(recall, 0.9324, 0.00005);
    let (ndcg, _) = run(&["--scores", "strict"]);
    near(ndcg, 0.4005, 0.00005);
}

/// One command evaluates a folder in BEIR layout that the catalog does not know.
#[test]
fn unknown_beir_folders() {
    let Some(data) = data("unknown_beir_folders") else {
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("experiments/beir.toml");
    for (name, expected) in [
        ("nfcorpus", [0.3218, 0.2457]),
        ("arguana", [0.3970, 0.9324]),
    ] {
        let here = Folder::new();
        copy(&data.join("beir").join(name), &here.at("unknown"));
        let args = ["run", file.to_str().unwrap(), "--format", "json"];
        let args = [&args[..], &["--cache", "cache"]].concat();
        let folder = here.at("unknown");
        let variables = [("BEIR", folder.to_str().unwrap())];
        let out = here.ir_env(&args, &variables).ok().out;
        let results: serde_json::Value = serde_json::from_str(&out).unwrap();
        let scores = &results["tasks"][0]["scores"];
        for (measure, expected) in ["nDCG@10", "R@100"].iter().zip(expected) {
            near(scores[measure].as_f64().unwrap(), expected, 0.00005);
        }
    }
    let here = Folder::new();
    let args = ["run", file.to_str().unwrap(), "--cache", "cache"];
    here.ir_env(&args, &[("BEIR", "")])
        .fails(1, &["environment variable BEIR is not set"]);
}

/// One command evaluates a folder in SMART format that the catalog does not know, with the values
/// of `experiments/cranfield.toml` and `cisi.toml`.
#[test]
fn unknown_smart_folders() {
    let Some(data) = data("unknown_smart_folders") else {
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("experiments/smart.toml");
    // Last: BM25 with the scores that `ir search` writes, rounded as Anserini does.
    for (name, expected, rounded) in [
        (
            "cranfield",
            [("BM25", 0.3965), ("BM25 + RM3", 0.4210)],
            0.3966,
        ),
        ("cisi", [("BM25", 0.1983), ("BM25 + RM3", 0.2265)], 0.1983),
    ] {
        let here = Folder::new();
        copy(&data.join("classic").join(name), &here.at("unknown"));
        let args = ["run", file.to_str().unwrap(), "--format", "json"];
        let args = [&args[..], &["--cache", "cache"]].concat();
        let folder = here.at("unknown");
        let variables = [("SMART", folder.to_str().unwrap())];
        let out = here.ir_env(&args, &variables).ok().out;
        let results: serde_json::Value = serde_json::from_str(&out).unwrap();
        let task = &results["tasks"][0]["comparison"];
        let systems = task["systems"].as_array().unwrap();
        for (system, expected) in expected {
            let at = systems.iter().position(|it| it["name"] == system).unwrap();
            // The measures of the file: nDCG@10, AP, ...
            near(
                systems[at]["scores"][1]["value"].as_f64().unwrap(),
                expected,
                0.00005,
            );
        }
        // By hand.
        let search = ["search", "unknown", "--hits", "1000", "-o", "run.trec"];
        here.ir(&search).ok();
        let out = here.ir("eval -c -m map unknown run.trec").ok().out;
        near(value(&out, "map"), rounded, 0.00005);
    }
}

/// Copies a folder with its subfolders.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn datafinder() {
    if data("datafinder").is_none() {
        return;
    }
    let here = Folder::new();
    let rows: [(&str, &str, [f64; 4]); 4] = [
        ("text", "=published", [4.74, 11.40, 8.07, 14.47]),
        ("keyphrases", "=published", [6.89, 15.98, 11.48, 20.42]),
        ("text", "", [5.82, 13.62, 8.33, 15.26]),
        ("keyphrases", "", [8.42, 19.22, 11.63, 21.51]),
    ];
    for (form, filter, expected) in rows {
        let option = format!("--not-later-than-query{filter}");
        let args = format!(
            "search datafinder --preset datafinder --hits 5 --query-form {form} {option} -o \
            run.trec"
        );
        here.ir_data(&args).ok();
        let args = "eval -c -m P.5 -m recall.5 -m map -m recip_rank datafinder run.trec";
        let out = here.ir_data(args).ok().out;
        for (name, expected) in ["P_5", "recall_5", "map", "recip_rank"]
            .into_iter()
            .zip(expected)
        {
            let found = 100.0 * value(&out, name);
            assert!(
                (found - expected).abs() <= 0.05,
                "{form}{filter} {name}: {found}, expected {expected}"
            );
        }
    }
}

/// The commands and the output in `docs/evaluation.md`.
#[test]
fn significance_test_of_datafinder() {
    let Some(data) = data("datafinder") else {
        return;
    };
    let here = Folder::new();
    let folder = data.join("datafinder");
    let clean = std::fs::read_to_string(folder.join("test_clean/queries.jsonl")).unwrap();
    let mut queries = String::new();
    for line in clean.lines() {
        let mut query: serde_json::Value = serde_json::from_str(line).unwrap();
        let words: Vec<&str> = query["text"].as_str().unwrap().split_whitespace().collect();
        let mut id = words.join("_");
        if id.contains('"') {
            id = format!("\"{}\"", id.replace('"', "\"\""));
        }
        query["_id"] = id.into();
        queries += &format!("{query}\n");
    }
    here.write("queries.jsonl", queries);
    for (from, to) in [
        (
            "test_dataset_collection.qrels",
            "test_dataset_collection.qrels",
        ),
        (
            "runs/tevatron_full_sentence.trec",
            "tevatron_full_sentence.trec",
        ),
    ] {
        here.write(to, std::fs::read(folder.join(from)).unwrap());
    }

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evaluation.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, block) = page.split_once("```text\n$ ").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let (search, rest) = block.split_once("\n$ ").unwrap();
    let (compare, expected) = rest.split_once("\nScores").unwrap();
    let run = |command: &str| {
        let command = command.replace("\\\n", " ");
        let args: Vec<&str> = command.split_whitespace().skip(1).collect();
        here.ir_data(&args).ok().out
    };
    run(search);
    assert_eq!(
        run(compare).trim_end(),
        format!("Scores{expected}").trim_end()
    );
}

/// The run of the replication study on MAKG. Repeated lines of its judgments are removed: the
/// header line is a query of its own for trec_eval.
#[test]
fn makg() {
    let Some(data) = data("makg") else {
        return;
    };
    let here = Folder::new();
    let qrels = std::fs::read_to_string(data.join("makg/qrels.tsv")).unwrap();
    let mut seen = std::collections::HashSet::new();
    let once: Vec<&str> = qrels.lines().filter(|line| seen.insert(*line)).collect();
    here.write("qrels", once.join("\n") + "\n");
    let run = data.join("makg/tevatron.trec").display().to_string();
    for (complete, queries, expected) in [
        (true, 1414.0, [0.0262, 0.1216, 0.0898, 0.0915]),
        (false, 265.0, [0.1396, 0.6489, 0.4792, 0.4885]),
    ] {
        let mut args = vec!["eval"];
        args.extend(complete.then_some("-c"));
        for measure in ["num_q", "P.5", "recall.5", "map", "recip_rank"] {
            args.extend(["-m", measure]);
        }
        args.extend(["qrels", &run]);
        let out = here.ir(&args).ok().out;
        near(value(&out, "num_q"), queries, 0.0);
        for (name, expected) in ["P_5", "recall_5", "map", "recip_rank"]
            .into_iter()
            .zip(expected)
        {
            near(value(&out, name), expected, 0.0);
        }
    }
}
