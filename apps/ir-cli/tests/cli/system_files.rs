//! System files: `ir search --system`, and the commands that take one.

use crate::common::{Folder, tiny};
use crate::saved_systems::folder;

/// Vectors as Pyserini writes them.
const VECTORS: &str = "\
{\"id\": \"d1\", \"vector\": {\"tea\": 1.5, \"green\": 0.5}}
{\"id\": \"d2\", \"vector\": {\"ship\": 2.0}}
";

/// Query words: a list of results, as without `--system`.
#[test]
fn query_words_give_a_list() {
    let here = folder();
    here.ir("index tiny -o tiny.ir").ok();
    for collection in ["tiny", "tiny.ir"] {
        let search = ["search", collection, "green", "tea"];
        let direct = here.ir(&[&search[..], &["--save", "saved.toml"]].concat());
        let direct = direct.ok().out;
        assert!(!direct.is_empty() && !direct.contains(" Q0 "), "{direct}");
        let again = [&search[..], &["--system", "saved.toml"]].concat();
        assert_eq!(here.ir(&again).ok().out, direct, "{collection}");
        for output in [&["--json"][..], &["--explain"], &["--json", "--explain"]] {
            let direct = here.ir(&[&search[..], output].concat()).ok().out;
            let found = here.ir(&[&again[..], output].concat()).ok();
            assert_eq!(found.out, direct, "{collection} {output:?}");
            assert_eq!(found.err, "");
            let is_explained = direct.contains("idf");
            assert_eq!(is_explained, output.contains(&"--explain"), "{direct}");
        }
        let first = here.ir(&[&again[..], &["-k", "1"]].concat()).ok().out;
        assert!(direct.starts_with(&first), "{first}");
        let run = here.ir(&[&again[..], &["-o", "-"]].concat()).ok().out;
        assert!(run.starts_with("1 Q0 "), "{run}");
        here.ir(&[&again[..], &["--scores", "exact"]].concat())
            .fails(2, &["--scores: expected a TREC run, found a list of hits"]);
        std::fs::remove_file(here.at("saved.toml")).unwrap();
        // The number of hits of the file.
        let save = ["-k", "1", "--save", "saved.toml"];
        assert_eq!(here.ir(&[&search[..], &save].concat()).ok().out, first);
        assert_eq!(here.ir(&again).ok().out, first);
        let two = here.ir(&[&again[..], &["-k", "2"]].concat()).ok().out;
        assert!(two.len() > first.len() && two.starts_with(&first), "{two}");
        std::fs::remove_file(here.at("saved.toml")).unwrap();
    }
}

/// Options of the run, not of the system: hits, tag and scores take precedence over keys.
#[test]
fn options_of_the_run_beside_a_system() {
    let here = folder();
    let keys = "name = \"s\"\ntype = \"bm25\"\nhits = 1\nscores = \"anserini\"\n";
    here.write("s.toml", format!("[[systems]]\n{keys}"));
    let options = "--scores exact --tag mine -k 2 --remove-self";
    here.ir(&format!("search tiny {options} -o direct.trec"))
        .ok();
    let others = "--cache cache --verify --threads 1";
    let again = format!("search tiny --system s.toml {options} {others} -o again.trec");
    here.ir(&again).ok();
    let direct = here.read("direct.trec");
    assert!(
        direct.contains(" 2 ") && direct.contains(" mine\n"),
        "{direct}"
    );
    assert_eq!(here.read("again.trec"), direct);
    here.ir("search tiny --system s.toml -o keys.trec").ok();
    let keys = here.read("keys.trec");
    assert!(!keys.contains(" 2 ") && keys.contains(" s\n"), "{keys}");
}

/// Systems need no judgments, and search queries of a file by their vectors.
#[test]
fn systems_search_documents_without_judgments() {
    let here = folder();
    let corpus = here.read("tiny/corpus.jsonl");
    here.write("notes.jsonl", &corpus);
    let search = ["search", "notes.jsonl", "--query", "tea", "-o"];
    let save = ["direct.trec", "--save", "notes.toml"];
    here.ir(&[&search[..], &save].concat()).ok();
    here.ir(&[&search[..], &["again.trec", "--system", "notes.toml"]].concat())
        .ok();
    assert_eq!(here.read("again.trec"), here.read("direct.trec"));
    assert_eq!(here.read("again.trec").lines().count(), 2);

    here.write("vectors.jsonl", VECTORS);
    here.write("other.jsonl", "{\"_id\": \"n1\", \"text\": \"q\"}\n");
    here.write(
        "query-vectors.jsonl",
        "{\"id\": \"n1\", \"vector\": {\"ship\": 1.0}}\n",
    );
    here.write(
        "sparse.toml",
        "[[systems]]\nname = \"s\"\ntype = \"sparse\"\nvectors = \"vectors.jsonl\"\nqueries = \"query-vectors.jsonl\"\n",
    );
    for collection in ["tiny", "notes.jsonl"] {
        let sparse = ["--system", "sparse.toml", "--queries", "other.jsonl"];
        let found = here.ir(&[&["search", collection][..], &sparse].concat());
        let found = found.ok().out;
        assert!(found.starts_with("n1 Q0 d2 1 "), "{collection}: {found}");
    }
}

/// Paths of a file are relative to it, also from another folder.
#[test]
fn feedback_collections_are_relative_to_the_file() {
    let here = folder();
    for index in ["tiny.ir", "news.ir"] {
        here.ir(&["index", "tiny", "-o", index, "--store", "all"])
            .ok();
    }
    here.write(
        "sub/system.toml",
        "[[systems]]\nname = \"s\"\ntype = \"bm25\"\nfeedback = \"rm3\"\nfeedback_collection = \"../news.ir\"\n",
    );
    let search = ["search", "tiny.ir", "--query", "tea"];
    let found = here.ir(&[&search[..], &["--system", "sub/system.toml"]].concat());
    // A list: each hit has a line with rank and score, and one with its text.
    assert_eq!(found.ok().out.lines().count(), 4);
}

#[test]
fn wrong_system_files_are_rejected() {
    let here = folder();
    for (text, parts) in [
        (
            "[[systems]]\nname = \"s\"\ntype = \"bm52\"\n",
            &["system.toml:3: systems[0].type", "did you mean bm25?"][..],
        ),
        (
            "[[systems]]\nname = \"s\"\ntype = \"bm25\"\nk11 = 1\n",
            &[
                "system.toml:4: systems[0].k11: unknown key",
                "did you mean k1?",
            ],
        ),
        (
            "[[systems]]\nname = \"s\"\ntype = \"lsi\"\nk1 = 1\n",
            &["system.toml:4: systems[0].k1: unknown key; expected one of"],
        ),
        (
            "[[systems]]\nname = \"s\"\ntype = \"bm25\"\nsdm = [1, 0, 0]\nsynonyms = \"s.txt\"\n",
            &["system.toml:5: systems[0].synonyms: expected either sdm or synonyms, found both"],
        ),
        (
            "[[systems]]\nname = \"s\"\ntype = \"prior\"\nof = \"s\"\n",
            &["systems[0].of", "found the cycle s -> s"],
        ),
        (
            "version = 2\n[[systems]]\nname = \"s\"\ntype = \"bm25\"\n",
            &["system.toml:1: version: expected 1, found 2"],
        ),
        (
            "[[systems]]\nname = \"s\"\ntype = \"bm25\"\nhidden = true\n",
            &["expected a system that is not hidden"],
        ),
        (
            "[[systems]]\nname = \"s\"\ntype = \"bm25\"\nfilter = \"year-of-best-record\"\n",
            &[
                "system.toml: filter: expected none, year or published-year, found year-of-best-record",
            ],
        ),
        (
            "[[systems]]\nname = \"s\"\ntype = \"bm25\"\nfilter = \"year-of-last-record\"\n",
            &[
                "system.toml: filter: expected none, year or published-year, found year-of-last-record",
            ],
        ),
        ("k1 = 1\n", &["system.toml", "k1"]),
    ] {
        here.write("system.toml", text);
        here.ir(&["search", "tiny", "--system", "system.toml"])
            .fails(1, parts);
    }
    here.write(
        "system.toml",
        "[[systems]]\nname = \"s\"\ntype = \"bm25\"\n",
    );
    let search = ["search", "tiny", "--system", "system.toml"];
    for option in [
        &["--k1", "1"][..],
        &["--feedback", "rm3"],
        &["--fields", "text"],
    ] {
        here.ir(&[&search[..], option].concat())
            .fails(2, &[option[0], "--system"]);
    }
    here.ir(&[&search[..], &["--explain"]].concat()).fails(
        2,
        &["--explain: expected a list or --json, found a TREC run"],
    );
    #[cfg(feature = "dense")]
    for option in [
        &["--prefix", "x"][..],
        &["--pooling", "cls"],
        &["--max-tokens", "3"],
    ] {
        here.ir(&[&search[..], option].concat())
            .fails(2, &[option[0], "--system"]);
    }
    #[cfg(feature = "remote")]
    here.ir(&[&search[..], &["--engine-attempts", "3"]].concat())
        .fails(2, &["--engine-attempts: expected --engine, found none"]);
    #[cfg(not(feature = "remote"))]
    {
        let remote = "[[systems]]\nname = \"s\"\ntype = \"remote\"\nengine = \"milvus://h/c\"\n";
        here.write("remote.toml", remote);
        here.ir(&["search", "tiny", "--system", "remote.toml"])
            .fails(
                1,
                &[
                    "remote.toml:3: systems[0].type",
                    "it needs a build with the feature \"remote\"",
                ],
            );
        here.ir(&["search", "tiny", "--engine", "milvus://h/c"])
            .fails(2, &["this build lacks the cargo feature `remote`"]);
    }
    let message = "--fields: expected either --system, which describes the index, or options of an index, found both";
    let sweep = ["sweep", "tiny", "tiny", "--grid", "k1=1,2"];
    for command in [&sweep[..], &["mine", "tiny", "--split", "test"]] {
        let options = ["--system", "system.toml", "--fields", "text"];
        here.ir(&[command, &options].concat()).fails(2, &[message]);
    }
    here.ir(&["search", "tiny", "--system", "missing.toml"])
        .fails(1, &["missing.toml: cannot be read"]);
}

/// The system of options and the system of the file that these options save.
#[test]
fn mining_and_workers_search_by_system_files() {
    let here = Folder::new();
    tiny(&here);
    here.ir(&["index", "tiny", "-o", "tiny.ir", "--store", "all"])
        .ok();
    let queries = here.read("tiny/queries.jsonl");
    for options in [
        &["--model", "qld", "--mu", "50"][..],
        &["--preset", "lucene", "--feedback", "rocchio"],
        &["--clean", "stop-words", "--k1", "2"],
    ] {
        let save = ["search", "tiny", "-o", "run.trec", "--save", "system.toml"];
        here.ir(&[&save[..], options].concat()).ok();
        let file = &["--system", "system.toml"][..];
        let search = |system: &[&str]| {
            let worker = ["worker", "search", "tiny.ir"];
            here.ir_with(&[&worker[..], system].concat(), &queries)
                .ok()
                .out
        };
        let hits = search(file);
        assert!(
            hits.contains("\"hits\": [{") || hits.contains("\"hits\":[{"),
            "{hits}"
        );
        assert_eq!(hits, search(options));
        assert_ne!(hits, search(&[]));
        let mine = |system: &[&str]| {
            let mine = ["mine", "bundled", "-n", "3", "--relative-margin", "0.05"];
            here.ir(&[&mine[..], system].concat()).ok().out
        };
        let examples = mine(file);
        assert_eq!(examples, mine(options));
        assert_ne!(examples, mine(&[]));
    }
    let both = ["mine", "bundled", "--system", "system.toml", "--k1", "1"];
    here.ir(&both).fails(2, &["--system", "--k1"]);
    let run = ["mine", "bundled", "--run", "run.trec", "--model", "qld"];
    here.ir(&run).fails(2, &["--run", "--model"]);
    for (key, value) in [
        ("filter", "\"year\""),
        ("where", "{ known = { name = \"year\" } }"),
    ] {
        let text = format!("[[systems]]\nname = \"b\"\ntype = \"bm25\"\n{key} = {value}\n");
        here.write("later.toml", text);
        let expected = format!(
            "later.toml:4: systems[0].{key}: expected a system without a filter, found {value}"
        );
        here.ir(&["mine", "bundled", "--system", "later.toml"])
            .fails(2, &[&expected]);
    }
}

/// A system with documents of its own: candidates, filters and texts are found by their ids.
#[test]
fn negatives_of_vectors_satisfy_the_filter() {
    let here = Folder::new();
    here.write(
        "corpus.jsonl",
        "{\"_id\": \"a\", \"text\": \"tea\", \"metadata\": {\"year\": 2001}}\n\
         {\"_id\": \"b\", \"text\": \"milk\", \"metadata\": {\"year\": 2002}}\n\
         {\"_id\": \"c\", \"text\": \"ship\", \"metadata\": {\"year\": 2003}}\n",
    );
    here.write(
        "docs.jsonl",
        "{\"id\": \"c\", \"vector\": {\"x\": 3.0}}\n{\"id\": \"b\", \"vector\": {\"x\": 2.0}}\n\
         {\"id\": \"a\", \"vector\": {\"x\": 1.0}}\n",
    );
    here.write(
        "queries.jsonl",
        "{\"id\": \"q\", \"vector\": {\"x\": 1.0}}\n",
    );
    here.write(
        "sparse.toml",
        "systems = [{ name = \"s\", type = \"sparse\", vectors = \"docs.jsonl\", queries = \"queries.jsonl\" }]\n",
    );
    here.write(
        "examples.jsonl",
        "{\"query_id\": \"q\", \"query\": \"tea\", \"positives\": [\"a\"]}\n",
    );
    let mine = |options: &[&str]| {
        let mine = [
            "mine",
            "corpus.jsonl",
            "--examples",
            "examples.jsonl",
            "--system",
            "sparse.toml",
        ];
        let out = here.ir(&[&mine[..], options].concat()).ok().out;
        let example: serde_json::Value = serde_json::from_str(&out).unwrap();
        let negatives = example["negative_passages"].as_array().unwrap().clone();
        let field = |it: &serde_json::Value, key: &str| it[key].as_str().unwrap().to_owned();
        negatives
            .iter()
            .map(|it| (field(it, "docid"), field(it, "text")))
            .collect::<Vec<_>>()
    };
    let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    assert_eq!(mine(&[]), [pair("c", "ship"), pair("b", "milk")]);
    assert_eq!(mine(&["--filter", "year<=2002"]), [pair("b", "milk")]);
    let mine = "mine corpus.jsonl --examples examples.jsonl --system sparse.toml --filter";
    let err = here.ir(&format!("{mine} yeer<=2002")).ok().err;
    let unknown = "--filter: no document has an attribute \"yeer\"; all pass (did you mean year?)";
    assert!(err.contains(unknown), "{err}");
}
