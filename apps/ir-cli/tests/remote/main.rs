//! Collections on servers, over doubles of Milvus and Elasticsearch in the process: `ir load`,
//! `ir search --engine`, systems of type `remote`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

#[path = "../cli/common/mod.rs"]
#[allow(dead_code)]
mod command;
#[path = "../../../../crates/ir-engines/tests/common/mod.rs"]
mod common;
#[path = "../../../../crates/ir-engines/tests/common/elastic_double.rs"]
mod elastic_double;
#[path = "../../../../crates/ir-engines/tests/common/milvus_double.rs"]
mod milvus_double;
mod same_data;
mod saved;
mod tls;
#[path = "../../../../crates/ir-engines/tests/common/tls_double.rs"]
mod tls_double;

use std::fmt::Write;

use command::{Folder, Ran};
use ir_core::Retriever;
use ir_knn::{FlatIndex, VectorSimilarity};

const WORDS: [&str; 7] = ["tea", "leaf", "river", "winter", "boat", "night", "map"];

/// Collection in the layout of BEIR, and vectors of its documents and queries.
fn collection() -> Folder {
    let here = Folder::new();
    let (mut corpus, mut queries) = (String::new(), String::new());
    let mut qrels = "query-id\tcorpus-id\tscore\n".to_owned();
    for n in 0..40_usize {
        let text: Vec<&str> = (0..3 + n % 5)
            .map(|at| WORDS[(n * (at + 2) + at) % 7])
            .collect();
        let text = text.join(" ");
        let year = 1990 + n;
        writeln!(
            corpus,
            r#"{{"_id":"d{n:02}","title":"","text":"{text}","metadata":{{"year":{year}}}}}"#
        )
        .unwrap();
    }
    for n in 0..6 {
        let text = format!("{} {}", WORDS[n], WORDS[n + 1]);
        let metadata = match n {
            0 => String::new(),
            n => format!(r#","metadata":{{"year":{}}}"#, 1990 + 7 * (n / 2)),
        };
        writeln!(queries, r#"{{"_id":"q{n}","text":"{text}"{metadata}}}"#).unwrap();
        writeln!(qrels, "q{n}\td{:02}\t1", n * 5).unwrap();
    }
    here.write("c/corpus.jsonl", corpus);
    here.write("c/queries.jsonl", queries);
    here.write("c/qrels/test.tsv", qrels);
    let vectors = |prefix: &str, count: usize, seed: u64| {
        let mut random = ir_core::SplitMix64::new(seed, 1);
        let width = if prefix == "d" { 2 } else { 1 };
        let ids = (0..count).map(|n| format!("{prefix}{n:0width$}")).collect();
        let values: Vec<f32> = (0..count * 8)
            .map(|_| random.below(1000) as f32 / 500.0 - 1.0)
            .collect();
        FlatIndex::from_row_major(ids, 8, values, VectorSimilarity::InnerProduct).unwrap()
    };
    vectors("d", 40, 1).save(here.at("d.ir")).unwrap();
    vectors("q", 6, 2).save(here.at("q.ir")).unwrap();
    here
}

/// Ids of the hits of each query, in order.
fn hits(run: &str, query: &str) -> Vec<String> {
    let lines = run
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let own = lines.filter(|fields| fields[0] == query);
    own.map(|fields| fields[2].to_owned()).collect()
}

/// Checks that the queries have the same hits in the same order in two runs.
fn assert_same_hits(one: &str, other: &str) {
    for query in 0..6 {
        let name = format!("q{query}");
        assert_eq!(hits(one, &name), hits(other, &name), "{name}");
    }
}

/// Arguments of a search of a collection on a server by vectors.
fn search_of<'a>(address: &'a str, vectors: &'a str) -> [&'a str; 6] {
    [
        "search",
        "c",
        "--engine",
        address,
        "--engine-vectors",
        vectors,
    ]
}

#[test]
fn vectors_in_milvus() {
    let (server, _) = milvus_double::start();
    let here = collection();
    let address = format!("milvus://127.0.0.1:{}/papers", server.port);
    let load = |more: &[&str]| -> Ran {
        here.ir(&[
            &[
                "load",
                address.as_str(),
                "c",
                "--vectors",
                "d.ir",
                "--batch",
                "7",
            ],
            more,
        ]
        .concat())
    };
    let year = ["--attribute", "year:integer"];
    load(&year).ok();
    // Complete: nothing is inserted again.
    let again = load(&year).ok();
    assert!(
        again.err.contains("40 documents, 0 of them inserted"),
        "{}",
        again.err
    );
    load(&[]).fails(
        1,
        &[
            "expected attributes none, found year:integer",
            "repeat the options of the first load, or load into another name",
        ],
    );
    let search = |more: &[&str]| {
        let search = search_of(&address, "q.ir");
        here.ir(&[&search[..], more].concat())
    };
    let run = search(&["-k", "10"]).ok().out;
    let early = search(&["-k", "10", "--filter", "year<=2005"]).ok().out;
    let (documents, queries) = (
        FlatIndex::open(here.at("d.ir")).unwrap(),
        FlatIndex::open(here.at("q.ir")).unwrap(),
    );
    for (at, query) in queries.vectors().rows().into_iter().enumerate() {
        let query = query.to_vec();
        let name = format!("q{at}");
        let expected = |search: &ir_core::Search<'_>| -> Vec<String> {
            let ranking = documents.search(&query, search).unwrap();
            ranking
                .iter()
                .map(|hit| documents.ids().id(hit.doc).to_owned())
                .collect()
        };
        let top = ir_core::Search::top(10);
        assert_eq!(hits(&run, &name), expected(&top), "{name}");
        let first_years = |doc: ir_core::DocNum| doc.get() <= 15;
        assert_eq!(
            hits(&early, &name),
            expected(&top.within(&first_years)),
            "{name}"
        );
    }
    search(&["--filter", "month<=3"]).fails(
        1,
        &[
            "expected an attribute of the collection (year)",
            "\"month\"",
        ],
    );
    search(&["--json"]).fails(2, &["--engine", "--json"]);
    let file = ["--engine-vectors", "c/queries.jsonl"];
    here.ir(&[&["search", "c", "--engine", &address], &file[..]].concat())
        .fails(
            1,
            &[
                "--engine-vectors: c/queries.jsonl: expected vectors",
                "--queries",
            ],
        );
    // Options of the embedded search, also those of groups within groups.
    for option in [
        &["--k1", "2"][..],
        &["--model", "qld"],
        &["--mu", "5"],
        &["--slope", "0.1"],
        &["--lengths", "exact"],
        &["--feedback", "rm3"],
        &["--sdm", "1,2,3"],
        &["--prior", "length"],
        &["--vectors", "d.ir"],
        &["--query-vectors", "q.ir"],
        &["--encoder", "m"],
        &["--alpha", "0.5"],
        &["--exact"],
        &["--any-encoder"],
        &["--pooling", "cls"],
        &["--analysis", "english"],
        &["--syntax", "lucene"],
        &["--shard", "1/2"],
        &["--explain"],
    ] {
        search(option).fails(2, &["--engine", option[0]]);
    }
    let expected = "--engine-vectors: expected vectors of the queries for Milvus, found none";
    here.ir(&["search", "c", "--engine", &address])
        .fails(2, &[expected]);
    let expected =
        "--engine-hybrid: expected an engine milvus+grpc://..., found milvus://127.0.0.1";
    search(&["--engine-hybrid"]).fails(2, &[expected]);
    here.ir(&["search", "c", "--engine", "milvus://h"])
        .fails(2, &["--engine", "ENGINE://HOST"]);
    here.ir(&["load", "milvus://127.0.0.1:1/x", "c"])
        .fails(2, &["--vectors"]);
    here.ir(&["load", &address, "--vectors", "d.ir", "--batch", "10001"])
        .fails(2, &["--batch: expected 1 to 10000, found 10001"]);
    let help = here.ir(&["load", "--help"]).ok().out;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Range: 1 to 10000 [default: 1000]"), "{help}");
    load(&["--texts"]).fails(
        2,
        &["--texts: expected Elasticsearch, OpenSearch or milvus+grpc"],
    );
    here.ir_env(
        &["load", &address, "--vectors", "d.ir"],
        &[("IR_REMOTE_USER", "u"), ("IR_REMOTE_PASSWORD", "")],
    )
    .fails(1, &["IR_REMOTE_PASSWORD", "expected a password"]);
}

#[test]
fn texts_in_elasticsearch_and_experiments() {
    let (elastic, _) = elastic_double::start();
    let (milvus, _) = milvus_double::start();
    let here = collection();
    let address = format!("elasticsearch://127.0.0.1:{}/papers", elastic.port);
    let options = ["--texts", "--attribute", "year:integer"];
    let template = [&["load", address.as_str(), "c", "--template"], &options[..]].concat();
    let template = here.ir(&template).ok().out;
    assert!(template.contains("\"bm25\""), "{template}");
    here.ir(&[&["load", address.as_str(), "c"], &options[..]].concat())
        .ok();
    let search = |more: &[&str]| {
        let search = ["search", "c", "--engine", &address, "-k", "5"];
        here.ir(&[&search[..], more].concat())
    };
    search(&["-o", "remote.trec"]).ok();
    assert_eq!(here.read("remote.trec").lines().count(), 30);
    // The double has the formula of BM25, and words without stems.
    let embedded = [
        "search",
        "c",
        "-k",
        "5",
        "--analysis",
        "lucene-standard",
        "--lengths",
        "exact",
    ];
    here.ir(&[&embedded[..], &["-o", "embedded.trec"]].concat())
        .ok();
    let (remote, embedded) = (here.read("remote.trec"), here.read("embedded.trec"));
    for query in ["q0", "q3", "q5"] {
        assert_eq!(hits(&remote, query), hits(&embedded, query), "{query}");
    }

    // One table with the embedded and the remote systems.
    let vectors = format!("milvus://127.0.0.1:{}/papers", milvus.port);
    here.ir(&["load", &vectors, "--vectors", "d.ir"]).ok();
    let system = |name: &str, keys: &str| format!("[[systems]]\nname = \"{name}\"\n{keys}\n");
    let file = |address: &str| {
        let head = "measures = [\"R@5\"]\n[[tasks]]\nname = \"t\"\ncollection = \"c\"\n[search]\nhits = 5\n";
        let systems = [
            system(
                "BM25",
                "type = \"bm25\"\nanalyzer = \"lucene-standard\"\nexact_lengths = true",
            ),
            system(
                "Elasticsearch",
                &format!("type = \"remote\"\nengine = \"{address}\""),
            ),
            system(
                "vectors",
                "type = \"dense\"\nvectors = \"d.ir\"\nqueries = \"q.ir\"",
            ),
            system(
                "Milvus",
                &format!("type = \"remote\"\nengine = \"{vectors}\"\nqueries = \"q.ir\""),
            ),
        ];
        here.write("e.toml", format!("{head}{}", systems.concat()));
    };
    file(&address);
    let table = here.ir(&["run", "e.toml", "-o", "results"]).ok().out;
    let row = |name: &str| {
        let line = table.lines().find(|line| line.contains(name)).unwrap();
        line.split_once(name)
            .unwrap()
            .1
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(row("Milvus"), row("vectors"), "{table}");
    assert_eq!(row("Elasticsearch"), row("BM25"), "{table}");
    // The cached run needs no search.
    let searches = milvus.count("/search");
    here.ir(&["run", "e.toml"]).ok();
    assert_eq!(milvus.count("/search"), searches);
    file("qdrant://127.0.0.1/c");
    here.ir(&["run", "e.toml"])
        .fails(1, &["engine", "expected ENGINE://HOST"]);
}

/// Time limit, attempts, recording and cache.
#[test]
fn options_of_the_client() {
    let (server, _) = milvus_double::start();
    let here = collection();
    let address = format!("milvus://127.0.0.1:{}/papers", server.port);
    let load = ["load", &address, "--vectors", "d.ir"];
    here.ir_env(
        &[&load[..], &["--engine-record", "load.jsonl"]].concat(),
        &[("IR_REMOTE_TOKEN", "hunter2")],
    )
    .ok();
    let recording = here.read("load.jsonl");
    assert!(!recording.contains("hunter2") && !recording.contains("127.0.0.1"));
    let paths: Vec<String> = recording
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["path"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(paths.contains(&"/entities".to_owned()), "{paths:?}");
    let search = |options: &[&str]| {
        let search = search_of(&address, "q.ir");
        here.ir(&[&search[..], &["--tag", "t"], options].concat())
    };
    // Other files are not appended to.
    let queries = here.read("c/queries.jsonl");
    here.write("other.jsonl", &queries);
    search(&["--engine-record", "other.jsonl"]).fails(1, &["other.jsonl", "expected a recording"]);
    assert_eq!(here.read("other.jsonl"), queries);
    search(&["--engine-record", "q.ir"]).fails(2, &["--engine-record", "q.ir"]);
    // A second run appends to the recording.
    search(&["--engine-record", "load.jsonl"]).ok();
    assert!(here.read("load.jsonl").starts_with(&recording));
    assert!(here.read("load.jsonl").len() > recording.len());
    let expected = search(&["--engine-cache", "cache"]).ok().out;
    let searches = server.count("/search");
    assert_eq!(search(&["--engine-cache", "cache"]).ok().out, expected);
    assert_eq!(server.count("/search"), searches);
    // The server does not answer within the time limit.
    server.fail("/search", common::Fault::Silence);
    let limits = ["--engine-timeout", "0.2", "--engine-attempts", "1"];
    search(&limits).fails(1, &["no complete response within the time limit"]);
    for invalid in ["0", "-1", "x", "nan", "1e40"] {
        search(&["--engine-timeout", invalid]).fails(2, &["expected a positive number of seconds"]);
    }
    here.ir(&["search", "c", "--engine-attempts", "2"])
        .fails(2, &["--engine-attempts: expected --engine, found none"]);
    here.ir(&["search", "c", "--engine-cache", "cache"])
        .fails(2, &["--engine"]);
}

/// The same documents over both APIs of Milvus.
#[test]
fn vectors_in_milvus_v2() {
    let (server, _) = milvus_double::start();
    let here = collection();
    let run = |scheme: &str, name: &str| {
        let address = format!("{scheme}://127.0.0.1:{}/{name}", server.port);
        let load = ["load", &address, "c", "--vectors", "d.ir", "--hnsw"];
        here.ir(&[&load[..], &["--attribute", "year:integer"]].concat())
            .ok();
        let search = [
            "search",
            "c",
            "--engine",
            &address,
            "--filter",
            "year<=2015",
        ];
        let vectors = ["--engine-vectors", "q.ir", "--tag", "t"];
        here.ir(&[&search[..], &vectors].concat()).ok().out
    };
    let (v1, v2) = (run("milvus", "one"), run("milvus+v2", "two"));
    // 26 of 40 documents for each of 6 queries.
    assert_eq!(v1.lines().count(), 26 * 6);
    assert_eq!(v1, v2);
    assert!(server.count("/v2/vectordb/entities/search") > 0);
}

/// Editors complete the keys of the type.
#[test]
fn schema_of_experiment_files() {
    let schema = Folder::new().ir(&["run", "--schema"]).ok().out;
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let systems = schema["definitions"]["System"]["oneOf"].as_array().unwrap();
    let of_type = |name: &str| {
        let mut all = systems.iter();
        all.find(|system| system["properties"]["type"]["const"] == name)
            .unwrap_or_else(|| panic!("no type {name} in {schema}"))
    };
    assert_eq!(of_type("bm25")["properties"]["k1"]["type"][0], "number");
    let remote = of_type("remote");
    assert_eq!(remote["additionalProperties"], false);
    for key in ["engine", "queries", "ef", "name", "grid"] {
        let description = remote["properties"][key]["description"].as_str();
        assert!(description.is_some(), "{key}: {remote}");
    }
    assert_eq!(remote["properties"]["engine"]["type"], "string");
    let grid = &remote["properties"]["grid"]["propertyNames"]["enum"];
    assert!(grid.as_array().unwrap().contains(&"ef".into()), "{grid}");
}

#[test]
fn servers_that_are_not_there() {
    let here = collection();
    // Five attempts, with waits of 0.5 to 8 seconds, are for real servers.
    let (server, _) = milvus_double::start();
    let address = format!("milvus://127.0.0.1:{}/papers", server.port);
    for _ in 0..2 {
        server.fail("/collection", common::Fault::Status(401, "expired"));
    }
    let search = search_of(&address, "q.ir");
    here.ir(&search).fails(1, &["IR_REMOTE_TOKEN", "401"]);
    let load = ["load", &address, "--vectors", "d.ir"];
    here.ir(&load).fails(1, &["IR_REMOTE_TOKEN", "401"]);
    here.ir(&search)
        .fails(1, &["\"papers\": not found; load it first"]);
    // Mistakes that need no server.
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/ir-dense/testdata/tiny/bert"
    );
    here.ir(&["encode", model, "c", "-o", "e.ir"]).ok();
    here.write("few.jsonl", "{\"_id\": \"d0\", \"text\": \"tea\"}\n");
    let few = ["load", &address, "few.jsonl", "--vectors", "e.ir"];
    here.ir(&[&few[..], &["--any-encoder"]].concat()).fails(
        1,
        &["--vectors: expected as many vectors as documents (1), found 40"],
    );
    let without = ["load", &address, "c"];
    here.ir(&without)
        .fails(2, &["--vectors: expected vectors for Milvus over REST"]);
    here.ir(&["load", &address, "--vectors", "d.ir", "--shards", "3/4"])
        .fails(2, &["--shards", "from 1 to 1024", "--shard I/N"]);
    here.ir(&["load", &address, "--vectors", "d.ir", "--shards", "0"])
        .fails(2, &["--shards", "from 1 to 1024"]);
    #[cfg(feature = "milvus-grpc")]
    here.ir(&["load", "milvus+grpc://localhost/papers", "c"])
        .fails(2, &["expected --vectors or --texts, found neither"]);
}
