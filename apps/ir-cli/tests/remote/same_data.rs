//! Time filters, encoders, texts and documents: the same as of the embedded search, or an error.

use ir_knn::{FlatIndex, VectorSimilarity};

use crate::{assert_same_hits, collection, common, elastic_double, milvus_double, search_of};

/// Conditions of the requests to a server, as texts.
fn conditions(server: &common::HttpDouble, path: &str) -> Vec<String> {
    let requests = server.requests.lock().unwrap();
    let searches = requests
        .iter()
        .filter(|request| request.path.contains(path));
    searches.map(|request| request.body.clone()).collect()
}

/// The time filter of each query is evaluated by the engine, by the attribute `year`.
#[test]
fn time_filters() {
    let (milvus, _) = milvus_double::start();
    let (elastic, _) = elastic_double::start();
    let here = collection();
    let address = format!("milvus://127.0.0.1:{}/papers", milvus.port);
    let texts = format!("elasticsearch://127.0.0.1:{}/papers", elastic.port);
    let year = ["--attribute", "year:integer"];
    let vectors = ["load", &address, "c", "--vectors", "d.ir"];
    here.ir(&[&vectors[..], &year].concat()).ok();
    here.ir(&[&["load", &texts, "c", "--texts"][..], &year].concat())
        .ok();
    let time = ["-k", "9", "--not-later-than-query", "--tag", "t"];
    let search = |options: &[&str]| {
        let run = here.ir(&[&["search", "c"], options, &time].concat()).ok();
        run.out
    };
    let remote = search(&search_of(&address, "q.ir")[2..]);
    let local = ["--vectors", "d.ir", "--query-vectors", "q.ir"];
    let embedded = search(&local);
    assert_same_hits(&remote, &embedded);
    // One request for the queries of each year: none, 1990, 1997 and 2004.
    let asked = conditions(&milvus, "/search");
    assert_eq!(asked.len(), 4, "{asked:?}");
    let by_year = asked.iter().filter(|body| body.contains("attr_year <"));
    assert_eq!(by_year.count(), 3, "{asked:?}");
    let terms = ["--analysis", "lucene-standard", "--lengths", "exact"];
    let (remote, embedded) = (search(&["--engine", &texts]), search(&terms));
    assert_same_hits(&remote, &embedded);

    // Experiment files: the filter of the search, and its condition.
    let file = format!(
        r#"measures = ["R@5"]
[[tasks]]
name = "t"
collection = "c"
filter = "year"
[search]
hits = 5
where = {{ not = {{ one_of = {{ name = "year", values = [1993] }} }} }}
[[systems]]
name = "vectors"
type = "dense"
vectors = "d.ir"
queries = "q.ir"
[[systems]]
name = "Milvus"
type = "remote"
engine = "{address}"
queries = "q.ir"
"#
    );
    here.write("e.toml", file);
    here.ir(&["run", "e.toml", "-o", "results"]).ok();
    let run = |name: &str| here.read(&format!("results/runs/t/{name}.trec"));
    let (remote, embedded) = (run("milvus"), run("vectors"));
    assert_same_hits(&remote, &embedded);
    let asked = conditions(&milvus, "/search").split_off(asked.len());
    let condition = "attr_year in [1993]";
    assert!(
        asked.iter().all(|body| body.contains(condition)),
        "{asked:?}"
    );

    let search = search_of(&address, "q.ir");
    here.ir(&[&search[..], &["--not-later-than-query=published"]].concat())
        .fails(2, &["expected an index, found --engine"]);
    here.ir(&[&search[..], &["tea", "--not-later-than-query"]].concat())
        .fails(2, &["expected queries with a year"]);
    let empty = here
        .ir(&[&search[..], &["--filter", "year<=1"]].concat())
        .ok();
    let warning = "6 of 6 queries have no hits";
    assert!(empty.err.contains(warning), "{}", empty.err);
    let unknown = format!("milvus://127.0.0.1:{}/unknown", milvus.port);
    here.ir(&["load", &unknown, "--vectors", "d.ir"]).ok();
    let search = search_of(&unknown, "q.ir");
    here.ir(&[&search[..], &["--not-later-than-query"]].concat())
        .fails(1, &["expected an attribute of the collection", "\"year\""]);
}

/// The encoder and the texts of vectors are compared as by the embedded search.
#[test]
fn encoders_and_texts() {
    let (server, _) = milvus_double::start();
    let here = collection();
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/ir-dense/testdata/tiny/bert-pytorch"
    );
    let encode = |options: &[&str]| here.ir(&[&["encode", model, "c"], options].concat()).ok();
    encode(&["-o", "e.ir"]);
    encode(&["--queries", "-o", "f.ir"]);
    encode(&["--queries", "--pooling", "cls", "-o", "cls.ir"]);
    let address = format!("milvus://127.0.0.1:{}/papers", server.port);
    let load = |more: &[&str]| {
        let load = ["load", &address, "c", "--vectors", "e.ir"];
        here.ir(&[&load[..], more].concat())
    };
    let misspelled = ["--attribute", "yaer:integer"];
    let ran = load(&misspelled).ok();
    let warning = "--attribute: no document has an attribute \"yaer\"";
    assert!(ran.err.contains(warning), "{}", ran.err);
    let search = |vectors: &str, more: &[&str]| {
        let search = search_of(&address, vectors);
        here.ir(&[&search[..], &["--tag", "t", "-k", "5"], more].concat())
    };
    let remote = search("f.ir", &[]).ok();
    assert_eq!(remote.err.matches("warning").count(), 0, "{}", remote.err);
    let embedded = ["--vectors", "e.ir", "--query-vectors", "f.ir", "-k", "5"];
    let embedded = here.ir(&[&["search", "c"], &embedded[..]].concat()).ok();
    assert_same_hits(&remote.out, &embedded.out);
    search("e.ir", &[]).fails(
        1,
        &["expected vectors of queries", "found vectors of documents"],
    );
    search("cls.ir", &[]).fails(
        1,
        &["expected pooling mean, found cls", "--engine-any-encoder"],
    );
    let accepted = search("cls.ir", &["--engine-any-encoder"]).ok();
    assert!(accepted.err.contains("expected pooling mean, found cls"));
    let file = |keys: &str| {
        let file = format!(
            "measures = [\"R@5\"]\n[[tasks]]\nname = \"t\"\ncollection = \"c\"\n[[systems]]\nname = \"m\"\n\
             type = \"remote\"\nengine = \"{address}\"\n{keys}\n"
        );
        here.write("e.toml", file);
        here.ir(&["run", "e.toml"])
    };
    file("queries = \"f.ir\"").ok();
    file("queries = \"cls.ir\"").fails(1, &["expected pooling mean", "any_encoder = true"]);
    file("queries = \"cls.ir\"\nany_encoder = true").ok();

    // Texts that have changed.
    let queries = here
        .read("c/queries.jsonl")
        .replacen("tea leaf", "tea boat", 1);
    here.write("c/queries.jsonl", queries);
    search("f.ir", &[]).fails(1, &["found that of another text for \"q0\""]);
    let corpus = here.read("c/corpus.jsonl").replacen("tea", "boat", 1);
    here.write("c/corpus.jsonl", corpus);
    load(&misspelled).fails(
        1,
        &["expected the texts that were encoded", "--any-encoder"],
    );
    let accepted = load(&[&misspelled[..], &["--any-encoder"]].concat()).ok();
    assert!(
        accepted.err.contains("text 1 of 40 differs"),
        "{}",
        accepted.err
    );
}

/// A collection of other documents, or of other attributes, than those of the task.
#[test]
fn documents_of_a_task() {
    let (server, _) = milvus_double::start();
    let here = collection();
    let engine = |name: &str| format!("milvus://127.0.0.1:{}/{name}", server.port);
    let load = |name: &str, vectors: &str| {
        let load = ["load", &engine(name), "c", "--vectors", vectors];
        here.ir(&[&load[..], &["--attribute", "year:integer"]].concat())
            .ok();
    };
    let documents = here.read("c/corpus.jsonl");
    // Every year is another one.
    here.write(
        "c/corpus.jsonl",
        documents.replace("\"year\":", "\"year\":1"),
    );
    load("years", "d.ir");
    here.write("c/corpus.jsonl", documents.replace("\"d", "\"e"));
    let table = FlatIndex::open(here.at("d.ir")).unwrap();
    let ids = (0..40).map(|n| format!("e{n:02}")).collect();
    let values = table.vectors().iter().copied().collect();
    let others = FlatIndex::from_row_major(ids, 8, values, VectorSimilarity::InnerProduct);
    others.unwrap().save(here.at("e.ir")).unwrap();
    load("others", "e.ir");
    here.write("c/corpus.jsonl", &documents);
    let run = |name: &str| {
        let file = format!(
            r#"measures = ["R@5"]
[[tasks]]
name = "t"
collection = "c"
filter = "year"
[search]
hits = 5
[[systems]]
name = "vectors"
type = "dense"
vectors = "d.ir"
queries = "q.ir"
[[systems]]
name = "Milvus"
type = "remote"
engine = "{}"
queries = "q.ir"
"#,
            engine(name)
        );
        here.write("e.toml", file);
        here.ir(&["run", "e.toml", "-o", "results"])
    };
    run("years").ok();
    let of = |name: &str| here.read(&format!("results/runs/t/{name}.trec"));
    assert_same_hits(&of("milvus"), &of("vectors"));
    let asked = conditions(&server, "/search");
    assert!(!asked.is_empty() && asked.iter().all(|body| !body.contains("attr_year")));
    run("others").fails(1, &["expected documents of the task, found \"e00\""]);
}
