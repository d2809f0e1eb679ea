//! Formats and errors of training files.

use std::fs;
use std::path::PathBuf;

use ir_core::Document;
use ir_core::training::{TrainingExample, TrainingSet, TrainingText};

use tempfile::TempDir;

use super::*;
use crate::error::DataError;
use crate::template::DocTemplate;

/// Path of a new file `a.jsonl` in a temporary folder.
fn file(folder: &TempDir, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join("a.jsonl");
    fs::write(&path, content).unwrap();
    path
}

fn texts() -> DocumentTexts {
    let corpus = vec![
        Document::new("Penn_Treebank").with_text("Parsed news."),
        Document::new("SQuAD")
            .with_title("100,000+ questions")
            .with_text("Questions."),
        Document::new("SQuAD").with_text("Another record."),
    ];
    DocumentTexts::from_corpus(&corpus, &DocTemplate::default()).unwrap()
}

fn text(id: &str, text: &str) -> TrainingText {
    TrainingText::new(text).with_id(id)
}

/// Error message for a file of one line, without the path.
fn error_message(line: &str, format: TrainingFormat) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, line);
    let error = TrainingFile::open_with(&path, format).unwrap_err();
    let error = error.to_string();
    error.replacen(&path.display().to_string(), "f", 1)
}

#[test]
fn tevatron_format() {
    let folder = tempfile::tempdir().unwrap();
    let line = r#"{"query_id": "q1", "query": "tea",
        "positive_passages": [{"docid": "d1", "title": "Green", "text": "Leaves."}],
        "negative_passages": [{"docid": 7, "title": "", "text": "Beans.", "score": 1.5}]}"#;
    let path = file(&folder, line.replace('\n', " "));
    let expected = TrainingExample::new("tea")
        .with_query_id("q1")
        .positive(text("d1", "Green Leaves."))
        .negative(text("7", "Beans.").with_score(1.5));
    let set = TrainingFile::open(path).unwrap();
    assert_eq!(set.get(0).unwrap(), expected);
    assert_eq!(set.fingerprint(), vec![expected].fingerprint());
}

#[test]
fn document_ids_of_a_collection() {
    let folder = tempfile::tempdir().unwrap();
    let lines = r#"{"n": 3, "query": "parsing", "keyphrase_query": "parse", "positives": ["Penn Treebank"]}
{"query": "qa", "positives": ["SQuAD", "NewsQA"], "negatives": ["Penn_Treebank"]}
{"query": "qa", "positives": ["NewsQA"]}
"#;
    let path = file(&folder, lines);
    let format = TrainingFormat::default().with_texts(texts());
    let error = TrainingFile::open_with(&path, format.clone()).unwrap_err();
    assert!(matches!(error, DataError::UnknownId { line: 2, .. }));

    let format = format.on_invalid_example(OnInvalidExample::Skip);
    let set = TrainingFile::open_with(&path, format.clone()).unwrap();
    assert_eq!(set.len(), 2);
    let parsing = TrainingExample::new("parsing")
        .with_query_id("3")
        .positive(text("Penn_Treebank", "Parsed news."));
    assert_eq!(set.get(0).unwrap(), parsing);
    let qa = TrainingExample::new("qa")
        .positive(text("SQuAD", "100,000+ questions Questions."))
        .negative(text("Penn_Treebank", "Parsed news."));
    assert_eq!(set.get(1).unwrap(), qa);
    let skipped: Vec<String> = set.skipped().iter().map(ToString::to_string).collect();
    let name = path.display();
    let unknown = "expected the id of a document in positives";
    assert_eq!(
        skipped,
        [
            format!("{name}:2: {unknown}[1], found \"NewsQA\""),
            format!("{name}:3: {unknown}[0], found \"NewsQA\""),
            format!("{name}:3: expected at least one text in \"positives\", found none"),
        ]
    );

    let keyphrases = format.with_query_field("keyphrase_query");
    let set = TrainingFile::open_with(&path, keyphrases.clone()).unwrap();
    assert_eq!((set.len(), set.skipped().len()), (1, 2));
    let rejecting = keyphrases.on_invalid_example(OnInvalidExample::Reject);
    let error = TrainingFile::open_with(&path, rejecting).unwrap_err();
    assert!(matches!(error, DataError::MissingField { line: 2, .. }));
}

#[test]
fn round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let long = "ärger\u{2028} \"\\ \u{1F375}".repeat(60_000);
    let examples = vec![
        TrainingExample::new("a\nb").positive(TrainingText::new(long)),
        TrainingExample::new("tea")
            .with_query_id("q")
            .positive(text("d", "\t z").with_score(-0.1))
            .negative(TrainingText::new(""))
            .positive(TrainingText::new("x"))
            .negative(TrainingText::new("y").with_score(f32::MIN_POSITIVE)),
    ];
    for name in ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"] {
        let path = folder.join(name);
        let mut writer = TrainingWriter::create(&path).unwrap();
        examples.iter().for_each(|e| writer.example(e).unwrap());
        assert!(!path.exists());
        writer.commit().unwrap();
        let set = TrainingFile::open(&path).unwrap();
        // Examples can be read repeatedly, in any order.
        for n in [1, 0, 1] {
            assert_eq!(set.get(n).unwrap(), examples[n], "{name}");
        }
        assert!(set.get(2).is_err());
        assert_eq!(set.fingerprint(), examples.fingerprint(), "{name}");
    }
    let path = folder.join("b.jsonl");
    let mut writer = TrainingWriter::create(&path).unwrap();
    let error = writer.example(&TrainingExample::new("tea")).unwrap_err();
    let expected = "b.jsonl:1: expected at least one positive, found none";
    assert!(error.to_string().ends_with(expected));
    drop(writer);
    assert!(!path.exists());
}

#[test]
fn random_access_to_lines() {
    let folder = tempfile::tempdir().unwrap();
    let line = |n: usize| format!("{{\"query\": \"é{n}\", \"positives\": [\"{n}\"]}}");
    // Byte order mark, blank lines, both line ends, no final line end.
    let content = format!("\u{feff}{}\r\n\n \r\n{}\n\n{}", line(0), line(1), line(2));
    let set = TrainingFile::open(file(&folder, content)).unwrap();
    for n in 0..3 {
        let example = TrainingExample::new(format!("é{n}"));
        let expected = example.positive(TrainingText::new(n.to_string()));
        assert_eq!(set.get(n).unwrap(), expected);
    }
    assert_eq!(set.len(), 3);
}

/// The columns of data sets of sentence-transformers; their texts are texts, also beside ids.
#[test]
fn anchors_with_one_text() {
    let folder = tempfile::tempdir().unwrap();
    let lines = r#"{"anchor": "qa", "positive": "SQuAD", "negative": "news"}
{"query": "qa", "positive": "a text", "score": 1}
"#;
    let path = file(&folder, lines);
    for format in [
        TrainingFormat::default(),
        TrainingFormat::default().with_texts(texts()),
    ] {
        let set = TrainingFile::open_with(&path, format).unwrap();
        let triple = TrainingExample::new("qa")
            .positive(TrainingText::new("SQuAD"))
            .negative(TrainingText::new("news"));
        assert_eq!(set.get(0).unwrap(), triple);
        let pair = TrainingExample::new("qa").positive(TrainingText::new("a text"));
        assert_eq!(set.get(1).unwrap(), pair);
    }
}

#[test]
fn errors_name_line_and_field() {
    let plain = |line: &str| error_message(line, TrainingFormat::default());
    let table = r#"{"query": "a", "positives": []} => expected at least one text in "positives", found none
{"query": "a", "negatives": ["b"]} => expected a field "positives", "positive_passages" or "positive", found "negatives", "query"
{"q": "a", "positives": ["b"]} => expected a field "query" or "anchor", found "positives", "q"
{"anchor": "a", "positive": ["b"]} => expected a string in "positive", found an array
{"anchor": "a", "positive": " "} => expected a string in "positive", found an empty string
{"anchor": " ", "positive": "b"} => expected a query in "anchor", found an empty string
{"anchor": "a", "positive": "b", "negative": "b"} => expected different texts in negative and positive, found "b" in both
{"query": " ", "positives": ["b"]} => expected a query in "query", found an empty string
{"query": "a", "positives": ["b", "\t"]} => expected a string in "positives[1]", found an empty string
{"query": "a", "positives": ["b", "c"], "negatives": ["d", "c"]} => expected different texts in negatives[1] and positives[1], found "c" in both
{"query": "a", "positive_passages": [{"docid": "d", "text": "b"}], "negative_passages": [{"docid": "d", "text": "c"}]} => expected different texts in negative_passages[0] and positive_passages[0], found "d" in both
{"query": "a", "positives": [{"docid": "d"}]} => expected a field "positives[0].text", found none
{"query": "a", "positives": ["b", 3.5]} => expected a string or an object in "positives[1]", found a number
{"query": ["a"], "positives": ["b"]} => expected a string in "query", found an array
{"query": "a", "positives": ["b"], "positive_passages": []} => expected one list of positives and one of negatives, found "positives and positive_passages""#;
    for case in table.lines() {
        let (line, expected) = case.split_once(" => ").unwrap();
        // Blank lines count.
        assert_eq!(plain(&format!("\n{line}")), format!("f:2: {expected}"));
    }
    let unknown = "f:1: expected fields named positives and negatives, positive_passages and negative_passages, or positive and negative, found";
    for name in "negative_1 negatives_ positive_ctxs negative_passage".split(' ') {
        let line = format!(r#"{{"query": "a", "positives": ["b"], "{name}": ["c"]}}"#);
        assert!(plain(&line).starts_with(unknown), "{}", plain(&line));
    }
    assert!(plain(r#"{"query": "a", "positives": ["b"]"#).starts_with("f:1: expected JSON, found"));
    assert_eq!(plain("\n\n"), "f: expected training examples, found none");
    let ids = TrainingFormat::default().with_texts(texts());
    let error = error_message(r#"{"query": "a", "positives": ["x"]}"#, ids);
    let expected = "f:1: expected the id of a document in positives[0], found \"x\"";
    assert_eq!(error, expected);
    let missing = TrainingFile::open("/nowhere.jsonl").unwrap_err();
    assert!(missing.is_missing());
}

#[test]
fn file_truncated_while_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let line = "{\"query\": \"a\", \"positives\": [\"b\"]}\n";
    let path = file(&folder, line.repeat(3));
    let set = TrainingFile::open(&path).unwrap();
    fs::write(&path, line).unwrap();
    let first = TrainingExample::new("a").positive(TrainingText::new("b"));
    assert_eq!(set.get(0).unwrap(), first);
    let error = set.get(2).unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    let expected = "a.jsonl:3: cannot read from this line on";
    assert!(source.ends_with(expected), "{source}");
}

#[test]
fn judged_split_of_a_collection() {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use ir_core::{Qrels, Query};

    use crate::collection::{Collection, InMemoryJudgedQueries};

    let mut qrels = Qrels::new();
    for (doc, grade) in [("SQuAD", 2), ("Penn_Treebank", 0), ("NewsQA", 1), ("x", -1)] {
        qrels.insert("q1", doc, grade);
    }
    qrels.insert("q2", "SQuAD", 0);
    let judged = InMemoryJudgedQueries {
        queries: vec![Query::new("q2", "none"), Query::new("q1", "qa")],
        qrels: BTreeMap::from([("train".to_owned(), qrels)]),
    };
    let collection = Collection::new("c", Vec::<Document>::new(), judged);
    let texts = Arc::new(texts());
    let read = |on_invalid| {
        JudgedTrainingSet::from_split(&collection, "train", Arc::clone(&texts), on_invalid)
    };
    let error = read(OnInvalidExample::Reject).unwrap_err().to_string();
    let expected = "c train, query \"q2\": expected at least one positive, found none";
    assert_eq!(error, expected);
    let set = read(OnInvalidExample::Skip).unwrap();
    let expected = TrainingExample::new("qa")
        .with_query_id("q1")
        .positive(text("SQuAD", "100,000+ questions Questions."))
        .negative(text("Penn_Treebank", "Parsed news."));
    assert_eq!(set.len(), 1);
    assert_eq!(set.get(0).unwrap(), expected);
    assert_eq!(set.fingerprint(), vec![expected].fingerprint());
    let unknown =
        "c train, query \"q1\": expected judged documents of the collection, found \"NewsQA\"";
    assert_eq!(set.skipped()[1].to_string(), unknown);
}
