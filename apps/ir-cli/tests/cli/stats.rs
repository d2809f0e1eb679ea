//! `ir stats`.

use std::fs;
use std::sync::Arc;

use ir_bm25::{Analysis, IndexBuilder, IndexConfig};
use ir_core::{Document, NoProgress};

use crate::common::{Folder, data, tiny};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// Value of a row of the text.
#[track_caller]
fn row<'a>(out: &'a str, name: &str) -> &'a str {
    let line = out.lines().find(|line| line.starts_with(name));
    line.unwrap_or_else(|| panic!("{name}: {out}"))[name.len()..].trim()
}

#[test]
fn statistics_of_a_small_collection() {
    let here = Folder::new();
    tiny(&here);
    let out = here.ir("stats tiny").ok().out;
    assert_eq!(row(&out, "documents "), "3");
    assert_eq!(row(&out, "test: queries "), "2");
    assert!(out.lines().all(|line| line == line.trim_end()), "{out}");
    let object = json(&here.ir("stats tiny --json").ok().out);
    assert_eq!(object["corpus"]["documents"], 3);
    assert_eq!(object["splits"]["test"]["queries"], 2);
    // White space keeps stop words and case.
    let words = here.ir("stats tiny --analysis whitespace").ok();
    assert_ne!(row(&words.out, "distinct terms"), "");

    here.ir("stats tiny --split tset")
        .fails(1, &["tset", "did you mean test?"]);
    here.ir("stats tiny --level -1").fails(2, &["--level"]);
    here.ir("stats none").fails(1, &["none"]);
}

/// Settings, fields and segments of an index in a file, and of one in a folder.
#[test]
fn statistics_of_an_index() {
    let here = Folder::new();
    tiny(&here);
    let index = ["index", "tiny", "--fields", "separate", "--positions"];
    here.ir(&[&index[..], &["-o", "tiny.ir"]].concat()).ok();
    let out = here.ir("stats tiny.ir").ok().out;
    assert!(out.lines().all(|line| line == line.trim_end()), "{out}");
    for (name, value) in [
        ("BM25 index ", "tiny.ir"),
        ("documents ", "3"),
        ("analyzer ", "porter"),
        ("order of equal scores ", "id"),
        ("stored fields ", "title, text and attributes"),
        ("positions ", "yes"),
        ("field text: documents ", "3"),
    ] {
        assert_eq!(row(&out, name), value, "{out}");
    }
    assert!(!out.contains("segment"), "{out}");
    let object = json(&here.ir("stats tiny.ir --json").ok().out);
    assert_eq!(object["type"], "bm25");
    assert_eq!(object["config"]["fields"], "separate");
    let text = &object["fields"][1];
    assert_eq!(
        (&text["name"], &text["documents"]),
        (&"text".into(), &3.into())
    );
    // The documents and terms of the collection.
    let collection = json(&here.ir("stats tiny --json").ok().out);
    assert_eq!(object["documents"], collection["corpus"]["documents"]);

    let line = |n| format!("{{\"_id\": \"d{n}\", \"text\": \"tea {n}\"}}\n");
    here.write("ten.jsonl", (0..10).map(line).collect::<String>());
    here.write("gone", "d2\n");
    here.ir("index ten.jsonl -o folder --add").ok();
    here.ir("index -o folder --delete gone").ok();
    let out = here.ir("stats folder").ok().out;
    assert_eq!(row(&out, "documents "), "9");
    assert_eq!(row(&out, "positions "), "no");
    assert_eq!(row(&out, "field contents: documents "), "9");
    let segment = row(&out, "segment 1 ");
    assert!(segment.starts_with("9 documents, 1 deleted, "), "{out}");
    let object = json(&here.ir("stats folder --json").ok().out);
    assert_eq!(object["segments"][0]["deleted"], 1);
    assert!(object["fields"][0]["distinct_terms"].is_null());

    // An analyzer of a program has no name of the command.
    let index = IndexBuilder::new(IndexConfig::default()).unwrap();
    let mut index = index.with_analyzer("mine", Arc::new(Analysis::english().build().unwrap()));
    index.push(&Document::new("a").with_text("tea")).unwrap();
    index
        .finish_to(here.at("custom.ir"), &mut NoProgress)
        .unwrap();
    let out = here.ir("stats custom.ir").ok().out;
    assert_eq!(row(&out, "analyzer "), "custom");

    for option in [
        &["--split", "test"][..],
        &["--level", "1"],
        &["--analysis", "english"],
        &["--communities"],
        &["--by", "year"],
        &["--plots", "figures"],
    ] {
        let expected = format!("{}: expected a collection, found the index", option[0]);
        here.ir(&[&["stats", "tiny.ir"], option].concat())
            .fails(2, &[&expected]);
    }
    here.write("damaged.ir", "ir-bm25\nnonsense");
    here.ir("stats damaged.ir").fails(1, &["damaged.ir"]);
}

/// Dimensions, encoder and segments of vectors in a folder.
#[cfg(feature = "dense")]
#[test]
fn statistics_of_vectors() {
    let here = Folder::new();
    tiny(&here);
    let model = crate::common::BERT;
    let encode = ["encode", model, "tiny", "-o"];
    here.ir(&[&encode[..], &["vectors.ir"]].concat()).ok();
    here.ir(&[&encode[..], &["folder", "--add"]].concat()).ok();
    for index in ["vectors.ir", "folder"] {
        let out = here.ir(&["stats", index]).ok().out;
        assert_eq!(row(&out, "vector index "), index);
        assert_eq!(row(&out, "vectors "), "3", "{out}");
        assert_eq!(row(&out, "encoder "), "bert", "{out}");
        let object = json(&here.ir(&["stats", index, "--json"]).ok().out);
        assert_eq!(object["type"], "vectors");
        assert_eq!(object["dimensions"].to_string(), row(&out, "dimensions "));
        assert_eq!(object["encoder"]["model_name"], "bert");
        assert!(object["encoder"]["texts"].is_null());
    }
}

/// Many counts are intervals in the text, and complete in JSON.
#[test]
fn long_histograms_are_shortened() {
    let here = Folder::new();
    let lines = (0..40).map(|n| {
        let year = 1980 + n;
        format!("{{\"_id\": \"{n}\", \"text\": \"tea\", \"year\": {year}}}\n")
    });
    here.write("many.jsonl", lines.collect::<String>());
    let out = here.ir("stats many.jsonl").ok().out;
    let expected = "1980..1984:5 1985..1989:5 1990..1994:5 1995..1999:5 2000..2004:5 2005..2009:5 \
                    2010..2014:5 2015..2019:5";
    assert_eq!(row(&out, "documents by year "), expected);
    let object = json(&here.ir("stats many.jsonl --json").ok().out);
    assert_eq!(object["corpus"]["years"].as_object().unwrap().len(), 40);
}

#[test]
fn plots_with_their_data() {
    let here = Folder::new();
    here.ir("stats bundled --plots figures").ok();
    let mut names: Vec<String> = fs::read_dir(here.at("figures"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(
        names.len() >= 10 && names.len().is_multiple_of(2),
        "{names:?}"
    );
    for name in &names {
        let text = here.read(&format!("figures/{name}"));
        if name.ends_with(".svg") {
            assert!(
                text.starts_with("<svg") && text.ends_with("</svg>\n"),
                "{name}"
            );
        } else {
            assert!(text.lines().count() > 1, "{name}");
        }
    }
    let relevant = names.iter().find(|name| {
        name.contains("relevant") && name.contains("test") && name.ends_with("query.csv")
    });
    let relevant = here.read(&format!("figures/{}", relevant.unwrap()));
    assert!(
        relevant.starts_with("relevant documents,queries\n"),
        "{relevant}"
    );
}

/// 24 papers of the ICLR dataset.
const PAPERS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-data/testdata/iclr/papers.parquet"
);

/// Reviews, scores and decisions of the ICLR dataset; the file was written by pyarrow.
#[test]
fn papers() {
    let here = Folder::new();
    let file = PAPERS;
    let out = here.ir(&["stats", file]).ok().out;
    // Row n has n mod 5 scores, except for row 5, which has none.
    for (name, value) in [
        ("documents ", "24"),
        ("papers without class", "9"),
        ("papers by reviews", "0:5 1:5 2:5 3:5 4:4"),
        ("ordered pairs of scores", "88"),
        ("accepted", "50.0 %"),
    ] {
        assert_eq!(row(&out, name), value, "{out}");
    }
    let object = json(&here.ir(&["stats", file, "--json"]).ok().out);
    assert_eq!(object["papers"]["acceptance"], 0.5);
    assert_eq!(object["papers"]["papers_by_reviews"]["4"], 4);
    assert_eq!(object["corpus"]["documents"], 24);
    here.ir(&["stats", file, "--plots", "figures"]).ok();
    assert!(here.at("figures/document-length.svg").is_file());
    here.ir(&["stats", file, "--communities"])
        .fails(2, &["--communities: expected a collection with judgments"]);
    here.ir(&["stats", file, "--level", "2"])
        .fails(2, &["--level: expected a collection with judgments"]);
    here.ir(&["stats", file, "--split", "test"])
        .fails(2, &["--split: expected a collection with judgments"]);
}

/// Statistics by year, and distributions of reviews and scores.
#[test]
fn papers_by_year() {
    let here = Folder::new();
    let file = PAPERS;
    let out = here.ir(&["stats", file]).ok().out;
    for (name, value) in [
        ("reviews by score", "3:19 4:14 5:9 6:4"),
        (
            "papers of 2019",
            "4 papers, 50.0 % accepted, 2.00 reviews per reviewed paper, mean score 3.67, \
             correlation -0.4359",
        ),
    ] {
        assert_eq!(row(&out, name), value, "{out}");
    }
    let object = json(&here.ir(&["stats", file, "--json"]).ok().out);
    let year = &object["papers"]["by_year"]["2019"];
    assert_eq!(
        (&year["papers"], &year["acceptance"]),
        (&4.into(), &0.5.into())
    );
    assert_eq!(object["papers"]["reviews_by_score"]["5"], 9);
    here.ir(&["stats", file, "--plots", "figures"]).ok();
    let curve = here.read("figures/acceptance-by-year.csv");
    assert!(
        curve.lines().count() == 4 && curve.contains("2019,0.5"),
        "{curve}"
    );
    for name in [
        "reviews-by-score",
        "mean-score-by-year",
        "correlation-of-scores-by-year",
    ] {
        assert!(here.at(&format!("figures/{name}.svg")).is_file(), "{name}");
    }
}

/// Classes by a map of keywords, and the file that `ir knn-accuracy` reads.
#[test]
fn papers_by_keywords() {
    let here = Folder::new();
    let map = "keyword\tfrequency\tlabel\ngraph neural networks\t5\tgraphs\n\
               reinforcement learning\t7\tRL\n";
    here.write("map.tsv", map);
    let stats = ["stats", PAPERS, "--keyword-labels", "map.tsv"];
    let run = |more: &[&str]| here.ir(&[&stats[..], more].concat());
    let out = run(&["--write-labels", "labels.txt"]).ok().out;
    // Row 6 has no keywords, and the map does not have tea.
    for (name, value) in [
        ("classes by keywords", "2"),
        ("other classes than in the file", "0"),
        ("  unlabeled", "9"),
        ("  RL", "8"),
        ("  graphs", "7"),
    ] {
        assert_eq!(row(&out, name), value, "{out}");
    }
    let labels = here.read("labels.txt");
    let labels: Vec<&str> = labels.lines().collect();
    assert_eq!(
        (labels.len(), labels[0], labels[6]),
        (24, "graphs", "unlabeled")
    );
    let accuracy = ["knn-accuracy", "--texts", PAPERS, "--labels", "labels.txt"];
    here.ir(&[&accuracy[..], &["--folds", "2", "-k", "3"]].concat())
        .ok();

    run(&["--keyword-version", "25v2"]).fails(
        1,
        &["map.tsv:1: expected the columns", "no --keyword-version"],
    );
    here.write(
        "map.tsv",
        "keyword\tfreq_24v2\tlabel_24v2\tlabel_25v2\tlabel_26v1\na\t1\tA\tA\tA\n",
    );
    run(&[]).fails(
        1,
        &["map.tsv:1: expected the columns", "needs --keyword-version"],
    );
    let out = run(&["--keyword-version", "24v2"]).ok().out;
    assert_eq!(row(&out, "other classes than in the file"), "15", "{out}");
    run(&["--keyword-version", "23v1"]).fails(2, &["--keyword-version"]);
    // Neither form of a map, and no keywords.
    here.write("map.tsv", "{\"keyword\": \"a\"}\n");
    let other = run(&["--keyword-version", "24v2"]);
    other.fails(1, &["--keyword-labels: map.tsv:1: expected the columns"]);
    here.write("map.tsv", "keyword\tfrequency\tlabel\n");
    run(&[]).fails(
        1,
        &["--keyword-labels: map.tsv: expected keywords, found none"],
    );
    here.ir("stats bundled --keyword-labels map.tsv").fails(
        2,
        &["--keyword-labels: expected a Parquet or Arrow file of the ICLR dataset"],
    );
}

/// Records by repository, as in Table 1 of the bioCADDIE paper.
#[test]
fn documents_by_attribute() {
    let here = Folder::new();
    let record = |n: usize, repository: &str| {
        format!(
            "{{\"DOCNO\": {n}, \"TITLE\": \"tea\", \"REPOSITORY\": \"{repository}\", \"METADATA\": null}}\n"
        )
    };
    let records = [
        record(1, "geo_022216"),
        record(2, "pdb_1"),
        record(3, "geo_022216"),
    ];
    here.write("records.jsonl", records.concat());
    let out = here.ir("stats records.jsonl --by repository").ok().out;
    for (name, value) in [
        ("documents by repository", "2 values"),
        ("  geo", "2"),
        ("  pdb", "1"),
    ] {
        assert_eq!(row(&out, name), value, "{out}");
    }
    let by = "stats records.jsonl --by harvest --by repository --json";
    let object = json(&here.ir(by).ok().out);
    let counts = &object["corpus"]["by_attribute"];
    assert_eq!(
        counts[0]["values"],
        serde_json::json!({"022216": 2, "1": 1})
    );
    assert_eq!(counts[1]["values"], serde_json::json!({"geo": 2, "pdb": 1}));
    let plots = "stats records.jsonl --by repository --plots figures";
    here.ir(plots).ok();
    let bars = here.read("figures/documents-by-repository.csv");
    assert_eq!(bars, "repository,documents\ngeo,2\npdb,1\n");
    here.ir("stats records.jsonl --by repositroy").fails(
        2,
        &[
            "--by repositroy: expected an attribute of the documents",
            "harvest, repository",
            "did you mean repository?",
        ],
    );
    let file = PAPERS;
    let out = here.ir(&["stats", file, "--by", "year"]).ok().out;
    assert_eq!(row(&out, "  2017"), "10", "{out}");
}

/// Popularity by venue, as in Figure 6 of the DataFinder paper, where queries have a venue.
#[test]
fn popularity_by_venue() {
    let here = Folder::new();
    let venues = "CVPR 2019,CVPR 2019,CVPR 2019,ACL,ACL,ACL,Nature,ICML";
    let queries = venues.split(',').enumerate().map(|(n, venue)| {
        let metadata = format!("{{\"venue\": \"{venue}\"}}");
        format!("{{\"_id\": \"{n}\", \"text\": \"tea\", \"metadata\": {metadata}}}\n")
    });
    here.write("papers/queries.jsonl", queries.collect::<String>());
    let datasets = ["COCO", "KITTI", "SQuAD"];
    let corpus = datasets.map(|id| format!("{{\"_id\": \"{id}\", \"text\": \"data\"}}\n"));
    here.write("papers/corpus.jsonl", corpus.concat());
    // The last paper of ACL has no relevant dataset.
    let qrels = "query-id\tcorpus-id\tscore\n0\tCOCO\t1\n1\tCOCO\t1\n1\tKITTI\t1\n2\tKITTI\t1\n\
                 2\tCOCO\t0\n3\tSQuAD\t1\n4\tSQuAD\t1\n4\tCOCO\t1\n5\tCOCO\t0\n6\tCOCO\t1\n7\tCOCO\t1\n";
    here.write("papers/qrels/test.tsv", qrels);
    let out = here.ir("stats papers").ok().out;
    for (name, value) in [
        (
            "test: relevant in CVPR 2019",
            "3 queries, COCO:66.7 % KITTI:66.7 %",
        ),
        (
            "test: relevant in ACL",
            "2 queries, SQuAD:100.0 % COCO:50.0 %",
        ),
        ("test: relevant in Nature", "1 query, COCO:100.0 %"),
    ] {
        assert_eq!(row(&out, name), value, "{out}");
    }
    // Venues of fewer than three queries, and those without a community, are left out.
    let communities = ["stats", "papers", "--communities"];
    let out = here.ir(&communities).ok().out;
    let found: Vec<&str> = out
        .lines()
        .filter(|line| line.contains("relevant in"))
        .collect();
    assert_eq!(found.len(), 2, "{out}");
    let value = row(&out, "test: relevant in Vision");
    assert_eq!(value, "3 queries, COCO:66.7 % KITTI:66.7 %");
    let object = json(&here.ir(&[&communities[..], &["--json"]].concat()).ok().out);
    let nlp = &object["splits"]["test"]["popularity_by_venue"]["NLP"];
    let expected =
        serde_json::json!({ "queries": 2, "most_relevant": [["SQuAD", 2], ["COCO", 1]] });
    assert_eq!(*nlp, expected);
    here.ir(&[&communities[..], &["--plots", "figures"]].concat())
        .ok();
    let bars = here.read("figures/test-relevant-documents-in-Vision.csv");
    assert_eq!(bars, "document,queries\nCOCO,2\nKITTI,2\n");
    assert!(
        here.at("figures/test-relevant-documents-in-NLP.svg")
            .is_file()
    );
    here.ir("stats bundled --communities").fails(
        2,
        &["--communities: expected queries with the attribute venue"],
    );
}

/// Figures 2, 4 and 5 of the DataFinder paper, on the published collection.
#[test]
fn datafinder() {
    if data("datafinder statistics").is_none() {
        return;
    }
    let here = Folder::new();
    let object = json(&here.ir_data("stats datafinder --json").ok().out);
    let corpus = &object["corpus"];
    assert_eq!(corpus["documents"], 7602);
    assert_eq!(corpus["distinct_ids"], 7564);
    assert_eq!(corpus["with_title"], 7602 - 1902);
    let years = corpus["years"].as_object().unwrap();
    let dated: u64 = years.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(dated, 7602 - 1499);
    let test = &object["splits"]["test"];
    assert_eq!(test["queries"], 392);
    assert_eq!(test["judgments"], 1043);
    assert_eq!(test["judged_documents"], 313);
    assert_eq!(test["missing_documents"], 5);
    let expected = r#"{"1":104,"2":91,"3":104,"4":52,"5":27,"6":6,"7":4,"8":2,"10":1,"12":1}"#;
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    assert_eq!(test["relevant_per_query"], expected);
    assert_eq!(test["grades"], serde_json::json!({"1": 1043}));
    // Judgments of datasets whose first record is newer than the query.
    let ages = test["relevant_ages"].as_object().unwrap();
    let newer = ages.iter().filter(|(age, _)| age.starts_with('-'));
    let newer: u64 = newer.map(|(_, count)| count.as_u64().unwrap()).sum();
    assert_eq!(newer, 75);
    assert_eq!(object["splits"]["train"]["queries"], 597);
}
