//! Help, `ir index`, `ir search` and `ir eval` on small collections.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::common::{Folder, QRELS, RUN, tiny, value, words};

#[test]
fn help_lists_examples() {
    let here = Folder::new();
    let help = here.ir("--help").ok().out;
    let commands = words(
        "index search export eval compare diff fuse ask frames import-results interleave overlap \
        pool agree sweep buckets knn-accuracy datasets stats",
    );
    for command in commands {
        assert!(help.contains(command), "{help}");
        for flag in ["-h", "--help"] {
            let help = here.ir(&[command, flag]).ok().out;
            assert!(help.contains("Examples:"), "{help}");
            assert!(
                help.lines().all(|line| line.chars().count() <= 110),
                "{help}"
            );
            // Examples and notes are not wrapped again on a terminal of 80 columns.
            let after = help.split_once("Examples:").unwrap().1;
            assert!(
                after.lines().all(|line| line.chars().count() <= 78),
                "{after}"
            );
        }
    }
    let search = here.ir("search --help").ok().out;
    for known in ["--k1", "--remove-self", ".3970", ".4005", "anserini"] {
        assert!(search.contains(known), "{search}");
    }
    assert!(here.ir("--version").ok().out.starts_with("ir "));
    assert_eq!(here.ir("").code, 2);
}

#[test]
fn bundled_collection_search_and_eval() {
    let here = Folder::new();
    let ran = here.ir("search bundled --model bm25 --k1 0.9 --b 0.4 --hits 1000 --output run.trec");
    let ran = ran.ok();
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("", ""),
        "no messages in a pipe"
    );
    let run = here.read("run.trec");
    assert!(
        run.lines()
            .all(|line| line.split(' ').count() == 6 && line.ends_with(" ir-bm25"))
    );

    let scores = here.ir("eval -c bundled run.trec").ok().out;
    assert_eq!(value(&scores, "num_q"), 24.0);
    assert_eq!(value(&scores, "num_rel"), 35.0);
    assert!(value(&scores, "map") > 0.3, "{scores}");
    // The value printed by the examples `evaluate-a-run` and `write-your-own-retriever`.
    let scores = here.ir("eval -c -m ndcg_cut.10 bundled run.trec");
    assert_eq!(value(&scores.ok().out, "ndcg_cut_10"), 0.5824);

    let train = here.ir("search bundled --split train -o train.trec").ok();
    assert_eq!(train.out, "");
    assert_eq!(
        value(
            &here.ir("eval -c bundled:train train.trec").ok().out,
            "num_q"
        ),
        88.0
    );
}

#[test]
fn saved_index_equals_in_memory_search() {
    let here = Folder::new();
    tiny(&here);
    let memory = here.ir("search tiny --tag t").ok().out;
    assert!(memory.contains("q1 Q0 d1 1 "), "{memory}");
    assert!(!memory.contains("q3"), "judged queries only: {memory}");
    assert_eq!(here.ir("search tiny --tag t --threads 1").ok().out, memory);
    here.ir("index tiny -o tiny.ir").ok();
    let saved = here
        .ir("search tiny.ir --queries tiny/queries.jsonl --tag t")
        .ok()
        .out;
    let judged: String = saved
        .lines()
        .filter(|line| !line.starts_with("q3"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(judged, memory);
    // The first search fills the cache, the second reads it.
    for _ in 0..2 {
        assert_eq!(
            here.ir("search tiny --tag t --cache cache").ok().out,
            memory
        );
        let cached = here
            .files()
            .into_iter()
            .filter(|path| path.starts_with(here.at("cache")));
        assert_eq!(cached.count(), 2, "the folder and one index");
    }
    // Another collection under the same name is indexed again.
    here.write(
        "tiny/corpus.jsonl",
        "{\"_id\": \"d9\", \"text\": \"tea leaves\"}\n",
    );
    assert!(
        here.ir("search tiny --cache cache")
            .ok()
            .out
            .contains("q1 Q0 d9 1 ")
    );
}

#[test]
fn document_formats() {
    let here = Folder::new();
    here.write("docs.tsv", "a\tgreen tea\nb\tblack coffee\tCoffee\n");
    here.write("docs.jsonl", "{\"id\": \"a\", \"contents\": \"green tea\"}\n{\"id\": \"b\", \"contents\": \"black coffee\"}\n");
    here.write("notes/tea.md", "# On tea\n\ngreen tea leaves\n");
    here.write("notes/deep/b.txt", "black coffee");
    here.write("notes/.hidden/c.txt", "coffee");
    here.write("notes/image.png", [0, 1, 2]);
    for (what, id) in [
        ("docs.tsv", "b"),
        ("docs.jsonl", "b"),
        ("notes", "deep/b.txt"),
    ] {
        let line = here.ir(&["search", what, "coffee", "--json"]).ok().out;
        let hit: serde_json::Value = serde_json::from_str(line.trim()).unwrap();
        assert_eq!(hit["id"], id, "{what}");
        assert_eq!(hit["rank"], 1);
    }
    let tea = here.ir("search notes tea").ok().out;
    assert!(
        tea.contains("tea.md") && tea.contains("On tea") && tea.contains("green tea leaves"),
        "{tea}"
    );
}

/// Front matter of Markdown is metadata: a title, attributes for `--filter`, and no text.
#[test]
fn front_matter_of_notes() {
    let here = Folder::new();
    here.write(
        "notes/a.md",
        "---\ntitle: Green tea\nyear: 2019\ntags: [Asia]\nstatus: secret\n---\n\n# Leaves\n\ntea\n",
    );
    here.write("notes/b.markdown", "+++\nyear = 2001\n+++\n# Pots\n\ntea\n");
    here.write("notes/c.txt", "---\nyear: 2019\n---\ntea\n");
    here.write("notes/d.md", "---\nA sentence.\n---\ntea\n");
    here.ir("index notes -o notes.ir --store all").ok();
    let hits = |query: &str, more: &[&str]| -> Vec<serde_json::Value> {
        let args = [&["search", "notes.ir", query, "--json"][..], more].concat();
        let out = here.ir(&args).ok().out;
        let mut hits: Vec<serde_json::Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        hits.sort_by_key(|hit| hit["id"].to_string());
        hits
    };
    let all = hits("tea", &[]);
    let titles: Vec<_> = all
        .iter()
        .map(|hit| hit["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Green tea", "Pots", "c", "d"]);
    let texts: Vec<_> = all
        .iter()
        .map(|hit| hit["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts[..2], ["# Leaves\n\ntea\n", "# Pots\n\ntea\n"]);
    assert!(texts[2].starts_with("---\nyear") && texts[3].starts_with("---\nA sentence"));
    let expected = serde_json::json!({"year": 2019, "tags": ["Asia"], "status": "secret"});
    assert_eq!(all[0]["attributes"], expected);
    let filtered = hits("tea", &["--filter", "year", "--filter", "year>=2010"]);
    let ids: Vec<_> = filtered.iter().map(|hit| &hit["id"]).collect();
    assert_eq!(ids, ["a.md"]);
    let ran = here.ir("search notes.ir secret --json");
    assert!(!ran.out.contains("a.md"), "{}", ran.out);
}

#[test]
fn result_list_and_json() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir").ok();
    for what in ["tiny", "tiny.ir"] {
        let list = here
            .ir(&["search", what, "green", "tea", "--explain"])
            .ok()
            .out;
        assert!(
            list.contains("d1  Tea (2012)") && list.contains("Green tea leaves"),
            "{list}"
        );
        assert!(!list.contains('\x1b'), "no colors in a pipe");
        let json = here
            .ir(&format!(
                "search {what} --query 'green tea' --json --explain --hits 1"
            ))
            .ok()
            .out;
        let hit: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
        assert_eq!(hit["title"], "Tea");
        assert_eq!(hit["attributes"]["year"], 2012);
        assert_eq!(hit["score"], hit["explanation"]["value"]);
        // The judged queries of a collection, and those of a file.
        for queries in [&["--hits", "1"][..], &["--queries", "tiny/queries.jsonl"]] {
            if what == "tiny.ir" && queries[0] == "--hits" {
                continue;
            }
            let json = here.ir(&[&["search", what, "--json"], queries].concat());
            let first = json.ok().out.lines().next().unwrap().to_owned();
            let hit: serde_json::Value = serde_json::from_str(&first).unwrap();
            assert_eq!(
                (&hit["query"], &hit["title"]),
                (&"q1".into(), &"Tea".into())
            );
            assert_eq!(hit["text"], "Green tea leaves");
            assert_eq!(hit["attributes"]["kind"], "drink");
        }
    }
    let none = here.ir("search tiny zebra").ok();
    assert_eq!(none.out, "");
    // Without stored texts, results show ids and scores only.
    here.ir("index tiny -o bare.ir --store nothing").ok();
    let bare = here.ir("search bare.ir tea").ok().out;
    assert!(bare.contains("d1") && !bare.contains("Green"), "{bare}");
}

#[test]
fn filters() {
    let here = Folder::new();
    tiny(&here);
    let ids = |args: &[&str]| {
        let args = [&["search", "tiny", "tea", "--json"], args].concat();
        let out = here.ir(&args).ok().out;
        let ids: Vec<String> = out
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["id"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        ids.join(" ")
    };
    assert_eq!(ids(&[]), "d1 d2");
    assert_eq!(ids(&["--filter", "year<=2015"]), "d1");
    assert_eq!(ids(&["--filter", "year>=2015"]), "d2");
    assert_eq!(ids(&["--filter", "kind=drink"]), "d1");
    assert_eq!(ids(&["--filter", "kind!=drink"]), "d2");
    assert_eq!(ids(&["--filter", "kind", "--filter", "year>=2015"]), "");
    here.write("q.jsonl", "{\"_id\": \"q1\", \"text\": \"tea\", \"metadata\": {\"year\": 2015}}\n{\"_id\": \"q2\", \"text\": \"tea\"}\n");
    let run = here
        .ir("search tiny --queries q.jsonl --not-later-than-query")
        .ok()
        .out;
    let pairs: Vec<String> = run
        .lines()
        .map(|l| {
            l.split(' ')
                .step_by(2)
                .take(2)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(
        pairs,
        ["q1 d1", "q2 d1", "q2 d2"],
        "a query without a year is not filtered"
    );
}

#[test]
fn query_files() {
    let here = Folder::new();
    tiny(&here);
    here.write("q.tsv", "q1\ttea leaves\nq2\trivers\n");
    let from_beir = here.ir("search tiny").ok().out;
    assert_eq!(here.ir("search tiny --queries q.tsv").ok().out, from_beir);
    assert_eq!(
        here.ir_with("search tiny --queries -", "q1\ttea leaves\nq2\trivers\n")
            .ok()
            .out,
        from_beir
    );
}

#[test]
fn score_formats_and_remove_self() {
    let here = Folder::new();
    here.write("c.tsv", "a\ttea\nb\ttea\nc\ttea\n");
    here.write("q.tsv", "a\ttea\n");
    let docs = |args: &[&str]| {
        let args = [&["search", "c.tsv", "--queries", "q.tsv"], args].concat();
        let out = here.ir(&args).ok().out;
        let column = |n: usize| {
            out.lines()
                .map(|l| l.split(' ').nth(n).unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        (column(2).join(""), column(4))
    };
    let (order, exact) = docs(&["--scores", "exact"]);
    assert_eq!(order, "abc");
    assert!(exact.iter().all(|score| *score == exact[0]));
    let (_, strict) = docs(&["--scores", "strict"]);
    assert!(
        strict
            .windows(2)
            .all(|w| w[0].parse::<f64>().unwrap() > w[1].parse::<f64>().unwrap())
    );
    let (_, anserini) = docs(&[]);
    assert!(
        anserini
            .iter()
            .all(|score| score.split('.').nth(1).is_some_and(|d| d.len() == 6))
    );
    assert_eq!(docs(&["--remove-self"]).0, "bc");
    assert_eq!(
        docs(&["--remove-self", "--hits", "2"]).0,
        "b",
        "truncated before the query is removed"
    );
}

#[test]
fn compressed_input_and_output() {
    let here = Folder::new();
    tiny(&here);
    let plain = here.ir("search tiny").ok().out;
    for name in ["run.gz", "run.zst"] {
        here.ir(&["search", "tiny", "--output", name]).ok();
        assert_ne!(std::fs::read(here.at(name)).unwrap(), plain.as_bytes());
        let scores = here
            .ir(&["eval", "-c", "tiny/qrels/test.tsv", name])
            .ok()
            .out;
        assert_eq!(value(&scores, "recip_rank"), 1.0);
    }
}

#[test]
fn eval_matches_trec_eval() {
    let here = Folder::new();
    here.write("qrels", QRELS);
    here.write("run", RUN);
    let line = |name: &str, query: &str, value: &str| format!("{name:22}\t{query}\t{value}\n");
    assert_eq!(
        here.ir("eval -q -m map -m P.1,2 qrels run").ok().out,
        [
            line("map", "q1", "0.5000"),
            line("P_1", "q1", "0.0000"),
            line("P_2", "q1", "0.5000"),
            line("map", "q2", "1.0000"),
            line("P_1", "q2", "1.0000"),
            line("P_2", "q2", "0.5000"),
            line("map", "all", "0.7500"),
            line("P_1", "all", "0.5000"),
            line("P_2", "all", "0.5000"),
        ]
        .concat()
    );
    let scores = here.ir("eval qrels run").ok().out;
    assert!(scores.starts_with(&line("runid", "all", "me")) && scores.contains("P_1000"));
    assert_eq!(here.ir_with("eval qrels -", RUN).ok().out, scores);
    assert_eq!(here.ir_with("eval - run", QRELS).ok().out, scores);
    assert_eq!(
        value(&here.ir("eval -m nDCG@10 qrels run").ok().out, "nDCG@10"),
        0.8155
    );
    assert_eq!(here.ir("eval -n qrels run").ok().out, "");
    let json = here.ir("eval --json -m recip_rank qrels run").ok().out;
    let objects: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [object, rules] = &objects[..] else {
        panic!("{json}");
    };
    assert_eq!(
        (object["measure"].as_str(), object["value"].as_f64()),
        (Some("RR"), Some(0.75))
    );
    let rules = rules["rules"].as_object().unwrap();
    assert_eq!(
        (&rules["level"], &rules["missing"]),
        (&1.into(), &"skip".into())
    );
    let args = words("eval --json -q -m runid -m relstring.2 qrels run");
    let printed = here.ir(&args).ok().out;
    let values = printed.lines().filter(|line| !line.contains("rules"));
    let texts: Vec<[String; 3]> = values
        .map(|line| {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            ["measure", "query", "value"].map(|key| object[key].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(
        texts,
        [
            ["relstring_2", "q1", "01"],
            ["relstring_2", "q2", "1"],
            ["runid", "all", "me"]
        ]
    );
    // -l, -M, -J, -c
    here.write("graded", "q1 0 d1 2\nq1 0 d2 1\nq9 0 d1 1\n");
    here.write(
        "more",
        "q1 Q0 d2 1 9 me\nq1 Q0 dx 2 8 me\nq1 Q0 d1 3 7 me\n",
    );
    let reciprocal_rank = |args: &[&str]| {
        let args = [&["eval", "-m", "recip_rank"], args, &["graded", "more"]].concat();
        value(&here.ir(&args).ok().out, "recip_rank")
    };
    assert_eq!(reciprocal_rank(&[]), 1.0);
    assert_eq!(reciprocal_rank(&["-c"]), 0.5);
    assert_eq!(reciprocal_rank(&["-l", "2"]), 0.3333);
    assert_eq!(reciprocal_rank(&["-l2", "-J"]), 0.5);
    assert_eq!(reciprocal_rank(&["-l2", "-M2"]), 0.0);
}

#[test]
fn header_line_warning() {
    let here = Folder::new();
    here.write("qrels", format!("QueryID 0 DocID Relevance\n{QRELS}"));
    here.write("run", format!("QueryID Q0 DocID Rank Score Tag\n{RUN}"));
    let ran = here.ir("eval -c qrels run").ok();
    assert_eq!(value(&ran.out, "num_q"), 3.0);
    assert!(
        ran.err.contains("warning: qrels:1:") && ran.err.contains("warning: run:1:"),
        "{}",
        ran.err
    );
    assert_eq!(here.ir("--quiet eval -c qrels run").ok().err, "");
    let ran = here.ir("eval -c --skip-header qrels run").ok();
    assert_eq!((value(&ran.out, "num_q"), ran.err.as_str()), (2.0, ""));
}

#[test]
fn datasets_of_the_catalog() {
    let here = Folder::new();
    let list = here.ir("datasets").ok().out;
    assert!(
        list.contains("beir/nfcorpus") && list.contains("3,633"),
        "{list}"
    );
    let present: Vec<&str> = list
        .lines()
        .filter(|line| line.contains("  yes  "))
        .collect();
    assert!(
        present.len() == 1 && present[0].starts_with("bundled"),
        "{list}"
    );
    assert!(
        here.ir("datasets where beir/arguana")
            .ok()
            .out
            .contains("$IR_DATA/beir/arguana/")
    );
    assert!(
        here.ir("datasets verify bundled")
            .ok()
            .out
            .contains("69 documents")
    );
    for line in here.ir("datasets --json").ok().out.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let without_corpus = ["biocaddie", "trec_eval", "snowball"];
        let name = object["name"].as_str().unwrap();
        assert_eq!(
            object["documents"].as_u64() > Some(0),
            !without_corpus.contains(&name),
            "{line}"
        );
    }
}

/// `ir ... | head -1`: no panic, no message.
#[test]
fn broken_pipe() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ir"))
        .args(["search", "bundled", "--split", "train"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}
