//! `ir ask --system`: answers that are ranked by the system of a file.

use serde_json::Value;

use crate::common::Folder;

/// Frames with ids out of order.
const FRAMES: &str = r#"{"id":"f3","paper":"ship.md","kind":"content","answer":"Ships sail.","context":"Ships sail. Tea tea tea.","answer_start":0}
{"id":"f1","paper":"milk.md","kind":"content","answer":"Tea milk.","context":"Tea milk. Tea tea.","answer_start":0,"metadata":{"year":2019}}
{"id":"f2","paper":"tea.md","kind":"content","answer":"Tea tea tea.","context":"Tea tea tea.","answer_start":0,"metadata":{"year":2021},"questions":[{"text":"What is steeped?"},{"text":"What is brewed?","displayable":false,"generated":true}]}
"#;

/// The documents of these frames.
const DOCUMENTS: &str = r#"{"_id":"f1","text":"Tea milk.","metadata":{"context":"Tea milk. Tea tea."}}
{"_id":"f2","text":"Tea tea tea.","metadata":{"context":"Tea tea tea."}}
{"_id":"f3","text":"Ships sail.","metadata":{"context":"Ships sail. Tea tea tea."}}
"#;

/// BM25 without length normalization.
const BM25: &str = "[[systems]]\nname = \"terms\"\ntype = \"bm25\"\nk1 = 1.0\nb = 0.0\n";

/// BM25 of the answers, reranked by the sum with BM25 of the contexts.
const RERANKED: &str = r#"[[systems]]
name = "terms"
type = "bm25"
hidden = true

[[systems]]
name = "contexts"
type = "bm25"
template = "{context}"
hidden = true

[[systems]]
name = "sum"
type = "hybrid"
of = ["terms", "contexts"]
weights = [1, 10]
hidden = true

[[systems]]
name = "reranked"
type = "rerank"
first = "terms"
second = "sum"
depth = 2
"#;

/// BM25 and the cosine of TF-IDF by their ranks.
const HYBRID: &str = r#"[[systems]]
name = "terms"
type = "bm25"
fields = ["text", "context"]
weights = { context = 0.5 }
hidden = true

[[systems]]
name = "cosine"
type = "tfidf"
hidden = true

[[systems]]
name = "both"
type = "hybrid"
of = ["terms", "cosine"]
"#;

fn folder() -> Folder {
    let here = Folder::new();
    here.write("frames.jsonl", FRAMES);
    here.write("bm25.toml", BM25);
    here
}

/// The JSON lines of a command.
fn lines(here: &Folder, args: &str) -> Vec<Value> {
    let ran = here.ir(args).ok();
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Ids and scores of the answers to a question by the system of a file.
fn answers(here: &Folder, file: &str, question: &str) -> Vec<(String, f64)> {
    let args = format!("ask frames.jsonl {question} --json --system {file}");
    let answers = lines(here, &args).into_iter();
    answers
        .map(|it| {
            let id = it["frame"]["id"].as_str().unwrap();
            (id.to_owned(), it["score"].as_f64().unwrap())
        })
        .collect()
}

#[track_caller]
fn assert_answers(found: &[(String, f64)], expected: &[(&str, f64)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((id, score), (expected_id, expected)) in found.iter().zip(expected) {
        assert_eq!(id, expected_id, "{found:?}");
        assert!((score - expected).abs() < 1e-6, "{found:?}");
    }
}

/// Expected scores: idf · tf / (tf + 1), where idf = ln(1 + (3 - df + 1/2) / (df + 1/2)).
#[test]
fn answers_are_documents() {
    let here = folder();
    // Two answers have the term, once and three times.
    let idf = 1.6_f64.ln();
    let expected = [("f2", idf * 3.0 / 4.0), ("f1", idf / 2.0)];
    assert_answers(&answers(&here, "bm25.toml", "tea"), &expected);
    // All contexts have it three times: equal scores are in the order of the ids.
    here.write(
        "contexts.toml",
        format!("{BM25}template = \"{{context}}\"\n"),
    );
    let score = (8.0_f64 / 7.0).ln() * 3.0 / 4.0;
    let expected = [("f1", score), ("f2", score), ("f3", score)];
    assert_answers(&answers(&here, "contexts.toml", "tea"), &expected);
    // Questions of annotators are a field, and generated questions are not.
    here.write(
        "questions.toml",
        format!("{BM25}fields = [\"questions\"]\n"),
    );
    let found = answers(&here, "questions.toml", "steeped");
    let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["f2"]);
    assert!(answers(&here, "questions.toml", "brewed").is_empty());
    // Without a system, contexts count, too.
    assert_eq!(lines(&here, "ask frames.jsonl tea --json").len(), 3);
}

/// Titles of papers are titles of the documents, and metadata are attributes.
#[test]
fn papers_have_titles_and_attributes() {
    let here = folder();
    here.write(
        "papers/a.md",
        "---\nvenue: ACL\n---\n\n# On cups\n\nClay is hard.\n",
    );
    here.write("papers/b.md", "# On tea\n\nWater is hot.\n");
    for (template, question, answer) in [
        ("{title}", "cups", "Clay is hard."),
        ("{venue}", "ACL", "Clay is hard."),
        ("{doc_id}", "b.md", "Water is hot."),
    ] {
        here.write("system.toml", format!("{BM25}template = \"{template}\"\n"));
        let args = format!("ask papers {question} --json --system system.toml");
        let found = lines(&here, &args);
        assert_eq!(found.len(), 1, "{template}: {found:?}");
        assert_eq!(found[0]["frame"]["answer"], answer, "{template}");
    }
}

/// The ranking of `ir search --system` on the answers as documents.
#[test]
fn rankings_equal_those_of_a_search() {
    let here = folder();
    here.write("documents.jsonl", DOCUMENTS);
    here.ir("search documents.jsonl tea --model qld --mu 10 -o run.trec --save saved.toml")
        .ok();
    here.write("reranked.toml", RERANKED);
    here.write("hybrid.toml", HYBRID);
    for (file, count) in [
        ("bm25.toml", 2),
        ("saved.toml", 2),
        ("reranked.toml", 2),
        ("hybrid.toml", 3),
    ] {
        let args = format!("search documents.jsonl 'tea milk' --json --system {file}");
        let hits = lines(&here, &args).into_iter();
        let hits: Vec<(String, f64)> = hits
            .map(|hit| {
                let id = hit["id"].as_str().unwrap().to_owned();
                (id, hit["score"].as_f64().unwrap())
            })
            .collect();
        assert_eq!(hits.len(), count, "{file}");
        assert_eq!(answers(&here, file, "'tea milk'"), hits, "{file}");
    }
}

#[test]
fn explanations_and_phrases() {
    let here = folder();
    here.write("reranked.toml", RERANKED);
    for file in ["bm25.toml", "reranked.toml"] {
        let ask = format!("ask frames.jsonl tea --system {file} --explain --reader lexical");
        let found = lines(&here, &format!("{ask} --json"));
        assert_eq!(found.len(), 2, "{file}");
        for answer in &found {
            let [score, explained] = [&answer["score"], &answer["explanation"]["value"]];
            let difference = score.as_f64().unwrap() - explained.as_f64().unwrap();
            assert!(difference.abs() < 1e-6, "{answer}");
            assert!(answer.get("phrase").is_some(), "{answer}");
        }
        let ran = here.ir(&ask).ok();
        assert!(ran.out.contains("«Tea tea tea.»"), "{}", ran.out);
        assert!(ran.out.contains("idf = ln("), "{}", ran.out);
        let related = ran.out.contains("Related questions:");
        assert!(!related, "no question has the word: {}", ran.out);
        assert!(!ran.err.contains("--explain"), "{}", ran.err);
    }
    let ran = here.ir("ask frames.jsonl 'tea steeped' --system bm25.toml");
    assert!(ran.ok().out.contains("What is steeped?"));
}

/// The condition of the file and --filter apply both.
#[test]
fn conditions_of_file_and_option() {
    let here = folder();
    here.write(
        "where.toml",
        format!("{BM25}where = {{ known = {{ name = \"year\" }} }}\ntemplate = \"{{context}}\"\n"),
    );
    let ids = |options: &str| -> Vec<String> {
        let args = format!("ask frames.jsonl tea --json --system where.toml {options}");
        let found = lines(&here, &args).into_iter();
        found
            .map(|it| it["frame"]["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(""), ["f1", "f2"]);
    assert_eq!(ids("--filter year>=2020"), ["f2"]);
    assert_eq!(ids("--filter year>=2022"), [""; 0]);
    here.write(
        "contexts.toml",
        format!("{BM25}template = \"{{context}}\"\n"),
    );
    let args = "ask frames.jsonl tea --json --system contexts.toml --filter year<=2020";
    // An answer without a year satisfies the condition.
    assert_eq!(lines(&here, args).len(), 2);
    here.write(
        "where.toml",
        format!("{BM25}where = {{ known = {{ name = \"yaer\" }} }}\n"),
    );
    let ran = here.ir("ask frames.jsonl tea --system where.toml").ok();
    assert_eq!(ran.out, "");
    let unknown = "where.toml:6: systems[0].where: frames.jsonl: no document has an attribute \
                   \"yaer\"; none passes (did you mean year?)";
    for warning in [
        unknown,
        "no answer passes where of where.toml",
        "no answer to \"tea\"",
    ] {
        assert!(ran.err.contains(warning), "{}", ran.err);
    }
}

/// -k takes precedence over `hits`; a reranking has its candidates.
#[test]
fn numbers_of_answers() {
    let here = folder();
    here.write("one.toml", format!("{BM25}hits = 1\n"));
    here.write("reranked.toml", RERANKED.replace("depth = 2", "depth = 1"));
    for (file, options, count) in [
        ("bm25.toml", "", 2),
        ("bm25.toml", "-k 1", 1),
        ("one.toml", "", 1),
        ("one.toml", "-k 2", 2),
        ("reranked.toml", "", 1),
        ("reranked.toml", "-k 2", 2),
    ] {
        let args = format!("ask frames.jsonl tea --json --system {file} {options}");
        assert_eq!(lines(&here, &args).len(), count, "{file} {options}");
    }
    // The format of the scores of a run is none of the answers.
    here.write("strict.toml", format!("{BM25}scores = \"strict\"\n"));
    let ran = here.ir("ask frames.jsonl tea --json --system strict.toml");
    let ran = ran.ok();
    let note = "note: strict.toml:6: systems[0].scores: rounds the scores of runs";
    assert!(ran.err.contains(note), "{}", ran.err);
    let direct = here.ir("ask frames.jsonl tea --json --system bm25.toml");
    assert_eq!(ran.out, direct.ok().out);
}

#[test]
fn options_of_the_ranking_exclude_a_system() {
    let here = folder();
    let mut options = vec![
        "--context-weight 2",
        "--function-words none",
        "--near-questions 1",
    ];
    if cfg!(feature = "dense") {
        options.extend([
            "--model minilm",
            "--precision int8",
            "--encode-context",
            "--alpha 1",
            "--length-exponent 1",
            "--rerank reranker",
            "--candidates 3",
            "--rerank-precision int8",
            "--rerank-batch 7",
            "--rerank-context",
        ]);
    }
    for option in options {
        let (name, _) = option.split_once(' ').unwrap_or((option, ""));
        here.ir(&format!("ask frames.jsonl tea --system bm25.toml {option}"))
            .fails(2, &["--system", name]);
    }
    // Options of the frames are not of the ranking.
    here.write("papers/tea.md", "# On tea\n\nWater is hot.\n");
    let args = "ask papers tea --json --system bm25.toml --headings --language english";
    assert_eq!(lines(&here, args)[0]["frame"]["answer"], "On tea");
}

#[test]
fn systems_that_rank_no_answers() {
    let here = folder();
    here.write("twice.jsonl", format!("{FRAMES}{FRAMES}"));
    here.write(
        "vectors.jsonl",
        "{\"id\": \"f1\", \"vector\": {\"tea\": 1.0}}\n",
    );
    let hidden = "[[systems]]\nname = \"first\"\ntype = \"bm25\"\nhidden = true\n";
    for (name, text) in [
        ("unknown", format!("{BM25}k11 = 1\n")),
        ("field", format!("{BM25}fields = [\"text\", \"contxt\"]\n")),
        ("year", format!("{hidden}{BM25}filter = \"year\"\n")),
        ("best", format!("{BM25}filter = \"year-of-best-record\"\n")),
        (
            "knn",
            format!("{hidden}[[systems]]\nname = \"knn\"\ntype = \"knn\"\n"),
        ),
        (
            "sparse",
            "[[systems]]\nname = \"sparse\"\ntype = \"sparse\"\nvectors = \"vectors.jsonl\"\nqueries = \"vectors.jsonl\"\n".to_owned(),
        ),
    ] {
        here.write(&format!("{name}.toml"), text);
    }
    here.errors(
        "
        ask frames.jsonl tea --system nowhere.toml
          1: nowhere.toml: cannot be read
        ask frames.jsonl tea --system unknown.toml
          1: unknown.toml:6: systems[0].k11: unknown key | did you mean k1?
        ask frames.jsonl tea --system field.toml
          1: field.toml:6: systems[0].fields: expected fields of the documents (id, title, text, context, doc_id, questions, year), found \"contxt\" (did you mean context?)
        ask frames.jsonl tea --system year.toml
          1: year.toml:10: systems[1].filter: expected none, because questions have no year, found \"year\"
        ask frames.jsonl tea --system best.toml
          1: best.toml: filter: expected none, year or published-year
        ask frames.jsonl tea --system knn.toml
          1: knn.toml:7: systems[1].type: expected a system without training queries, which papers lack, found \"knn\"
        ask frames.jsonl tea --system sparse.toml
          1: sparse.toml: expected a system for any query, found saved vectors of queries
        ask twice.jsonl tea --system bm25.toml
          1: frame \"f1\": expected a unique id, found another frame with it
    ",
    );
}
