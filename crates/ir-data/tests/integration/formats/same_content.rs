//! The same content in every format, as different programs write it: the reader of each format
//! must return that content.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ir_core::trec::HeaderLine;
use ir_core::{Corpus, Document, Qrels, Query, Run};
use ir_data::{DocumentFile, ReadOptions};
use proptest::collection::btree_map;
use proptest::prelude::*;

/// Line ends, byte order mark, encoding and compression of a file.
const WRITINGS: [&str; 9] = [
    "as it is",
    "CRLF",
    "UTF-8 with a byte order mark",
    "UTF-16 LE",
    "UTF-16 BE with CRLF",
    "gzip",
    "gzip of UTF-16",
    "zstd",
    "no line end after the last line",
];

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = ["\u{feff}", text].into_iter().flat_map(str::encode_utf16);
    units.flat_map(bytes).collect()
}

/// Writes a text of lines; returns the path of the file.
fn write(folder: &Path, name: &str, text: &str, writing: &str) -> PathBuf {
    let crlf = || text.replace('\n', "\r\n");
    let bytes = match writing {
        "CRLF" => crlf().into_bytes(),
        "UTF-8 with a byte order mark" => ["\u{feff}", text].concat().into_bytes(),
        "UTF-16 LE" | "gzip of UTF-16" => utf16(text, u16::to_le_bytes),
        "UTF-16 BE with CRLF" => utf16(&crlf(), u16::to_be_bytes),
        "no line end after the last line" => text.trim_end_matches('\n').into(),
        _ => text.into(),
    };
    let extension = match writing {
        "gzip" | "gzip of UTF-16" => ".gz",
        "zstd" => ".zst",
        _ => "",
    };
    let path = folder.join(format!("{name}{extension}"));
    let mut file = ir_data::create(&path).unwrap();
    file.write_all(&bytes).unwrap();
    file.commit().unwrap();
    path
}

/// A text that every format can express: no control characters, single spaces, none around it.
/// Quotes, separators and references are in it; a cell without quotation marks starts with another.
fn text() -> impl Strategy<Value = String> {
    "[a-zéß漢😀]( ?[a-zé,;'&<>.漢😀\"]{1,5}){0,3}[a-zé.漢😀]"
}

prop_compose! {
    fn documents()(
        rows in btree_map("[a-z][a-z0-9_.:-]{0,5}", (text(), text()), 1..6),
    ) -> Vec<Document> {
        let doc = |(id, (title, text))| Document::new(id).with_title(title).with_text(text);
        rows.into_iter().map(doc).collect()
    }
}

fn quoted(cell: &str) -> String {
    format!("\"{}\"", cell.replace('"', "\"\""))
}

/// Cells in a table with a header line.
fn table(names: [&str; 3], docs: &[Document], separator: &str) -> String {
    let mut text = format!("{}\n", names.join(separator));
    for doc in docs {
        let cells = [&doc.id, &doc.title, &doc.text].map(|cell| quoted(cell));
        writeln!(text, "{}", cells.join(separator)).unwrap();
    }
    text
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&#62;").replace('é', "&eacute;")
}

fn json(names: [&str; 3], doc: &Document) -> String {
    let [id, title, text] = names;
    serde_json::json!({id: doc.id, title: doc.title, text: doc.text}).to_string()
}

/// Files of documents: name and content.
fn files_of_documents(docs: &[Document]) -> Vec<(&'static str, String)> {
    let records = |names| docs.iter().map(move |doc| json(names, doc));
    let lines = |names| records(names).fold(String::new(), |text, line| text + &line + "\n");
    let array: Vec<String> = records(["doc_id", "title", "passage"]).collect();
    let plain = docs.iter().fold(String::new(), |text, doc| {
        text + &format!("{}\t{}\t{}\n", doc.id, doc.text, doc.title)
    });
    let trec = docs.iter().fold(String::new(), |text, doc| {
        let (title, body) = (escaped(&doc.title), escaped(&doc.text));
        text + &format!(
            "<DOC>\n<DOCNO> {} </DOCNO>\n<TITLE>{title}</TITLE>\n<!-- a > b -->\n<TEXT>\n{body}\n</TEXT>\n</DOC>\n",
            doc.id
        )
    });
    vec![
        ("beir.jsonl", lines(["_id", "title", "text"])),
        ("anserini.json", lines(["id", "title", "contents"])),
        ("no extension", lines(["docno", "Title", "body"])),
        ("lines.json", format!("[\n{}\n]\n", array.join(",\n"))),
        ("one-line.json", format!("[{}]", array.join(","))),
        ("comma.csv", table(["ID", "Title", "Text"], docs, ",")),
        (
            "spreadsheet.csv",
            "sep=;\n".to_owned() + &table(["id", "title", "text"], docs, ";"),
        ),
        (
            "semicolon.csv",
            table(["docid", "title", "contents"], docs, ";"),
        ),
        ("header.tsv", table(["pid", "title", "passage"], docs, "\t")),
        ("plain.tsv", plain),
        ("trec.sgml", trec),
    ]
}

/// Files of queries: name and content.
fn files_of_queries(queries: &[Query]) -> Vec<(&'static str, String)> {
    let record =
        |id: &str, text: &str, query: &Query| serde_json::json!({id: query.id, text: query.text});
    let array: Vec<_> = queries
        .iter()
        .map(|query| record("query_id", "query", query))
        .collect();
    let lines = |line: &dyn Fn(&Query) -> String| {
        queries
            .iter()
            .fold(String::new(), |text, query| text + &line(query) + "\n")
    };
    let [xml, attribute] = [
        lines(&|query| {
            format!(
                "<topic>\n<number>{}</number>\n<query>{}</query>\n</topic>",
                query.id,
                escaped(&query.text)
            )
        }),
        lines(&|query| {
            format!(
                "<topic number=\"{}\"><title>{}</title></topic>",
                query.id,
                escaped(&query.text)
            )
        }),
    ];
    vec![
        (
            "queries.jsonl",
            lines(&|query| record("_id", "text", query).to_string()),
        ),
        ("array.json", serde_json::Value::Array(array).to_string()),
        (
            "queries.csv",
            "qid,query\n".to_owned()
                + &lines(&|query| format!("{},{}", query.id, quoted(&query.text))),
        ),
        (
            "header.tsv",
            "query_id\tquery\n".to_owned()
                + &lines(&|query| format!("{}\t{}", query.id, quoted(&query.text))),
        ),
        (
            "plain.tsv",
            lines(&|query| format!("{}\t{}", query.id, query.text)),
        ),
        (
            "trec.txt",
            lines(&|query| {
                format!(
                    "<top>\n<num> Number: {}\n<title> {}\n</top>",
                    query.id,
                    escaped(&query.text)
                )
            }),
        ),
        (
            "topics.xml",
            format!("<?xml version=\"1.0\"?>\n<topics>\n{xml}</topics>\n"),
        ),
        (
            "attributes.xml",
            format!("<topics>\n{attribute}</topics>\n"),
        ),
    ]
}

/// Files of judgments, all of which have every grade.
fn files_of_judgments(rows: &[(String, String, i64)]) -> Vec<(&'static str, String)> {
    let lines = |line: &dyn Fn(&str, &str, i64) -> String| {
        let line = |text: String, (query, doc, grade): &(String, String, i64)| {
            text + &line(query, doc, *grade) + "\n"
        };
        rows.iter().fold(String::new(), line)
    };
    let mut queries = serde_json::Map::new();
    for (query, doc, grade) in rows {
        let docs = queries
            .entry(query)
            .or_insert_with(|| serde_json::json!({}));
        docs[doc] = (*grade).into();
    }
    let array = rows
        .iter()
        .map(|(query, doc, grade)| serde_json::json!({"qid": query, "docno": doc, "label": grade}));
    let array: Vec<serde_json::Value> = array.collect();
    let beir = "query-id\tcorpus-id\tscore\n".to_owned();
    vec![
        (
            "trec.qrels",
            lines(&|query, doc, grade| format!("{query} 0 {doc} {grade}")),
        ),
        (
            "tabs.qrels",
            lines(&|query, doc, grade| format!("{query}\tQ0\t{doc}\t{grade}")),
        ),
        (
            "beir.tsv",
            beir + &lines(&|query, doc, grade| format!("{query}\t{doc}\t{grade}")),
        ),
        (
            "four-columns.tsv",
            "query-id\tcorpus-id\tscore\tsource\n".to_owned()
                + &lines(&|query, doc, grade| format!("{query}\t{doc}\t{grade}\tme")),
        ),
        (
            "ir_datasets.tsv",
            "query_id\tdoc_id\trelevance\titeration\n".to_owned()
                + &lines(&|query, doc, grade| format!("{query}\t{doc}\t{grade}\t0")),
        ),
        (
            "spreadsheet.csv",
            "sep=;\nqid;docno;label\n".to_owned()
                + &lines(&|query, doc, grade| format!("{query};{doc};{grade}")),
        ),
        ("array.json", serde_json::Value::Array(array).to_string()),
        (
            "lines.jsonl",
            lines(&|query, doc, grade| {
                serde_json::json!({"query-id": query, "corpus-id": doc, "score": grade}).to_string()
            }),
        ),
        (
            "table.csv",
            ",qid,docno,iteration,label\n".to_owned()
                + &lines(&|query, doc, grade| format!("7,{query},\"{doc}\",0,{grade}")),
        ),
        (
            "table.txt",
            "label;q_id;doc_id\n".to_owned()
                + &lines(&|query, doc, grade| format!("{grade};{query};{doc}")),
        ),
        (
            "frame.jsonl",
            lines(&|query, doc, grade| {
                serde_json::json!({"query_id": query, "doc_id": doc, "relevance": grade})
                    .to_string()
            }),
        ),
        ("ranx.json", serde_json::Value::Object(queries).to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn documents_of_every_format(docs in documents()) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files_of_documents(&docs) {
            for writing in WRITINGS {
                let path = write(folder.path(), name, &text, writing);
                let file = DocumentFile::open(&path, &ReadOptions::default());
                let file = file.map_err(|error| TestCaseError::fail(format!("{name}, {writing}: {error}")))?;
                let read: Vec<Document> = file.docs().unwrap().map(|doc| {
                    let mut doc = doc.unwrap();
                    // Text of TREC elements has their line ends.
                    doc.text = doc.text.trim().to_owned();
                    doc
                }).collect();
                prop_assert_eq!(&read, &docs, "{}, {}", name, writing);
            }
        }
    }

    #[test]
    fn queries_of_every_format(docs in documents()) {
        let folder = tempfile::tempdir().unwrap();
        let queries: Vec<Query> = docs.into_iter().map(|doc| Query::new(doc.id, doc.text)).collect();
        for (name, text) in files_of_queries(&queries) {
            for writing in WRITINGS {
                let path = write(folder.path(), name, &text, writing);
                let read = ir_data::read_queries(&path, &ReadOptions::default());
                let (read, _) = read.map_err(|error| TestCaseError::fail(format!("{name}, {writing}: {error}")))?;
                let read: Vec<(String, String)> = read.into_iter().map(|query| (query.id, query.text)).collect();
                let expected: Vec<(String, String)> =
                    queries.iter().map(|query| (query.id.clone(), query.text.clone())).collect();
                prop_assert_eq!(read, expected, "{}, {}", name, writing);
            }
        }
    }

    #[test]
    fn judgments_and_runs_of_every_format(
        pairs in btree_map(("[a-z][0-9a-z]{0,3}", "[a-z][0-9a-zé.-]{0,5}"), (-2..4_i64, -1e6..1e6_f64), 1..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<_> = pairs.iter().map(|((query, doc), (grade, _))| (query.clone(), doc.clone(), *grade)).collect();
        let mut expected = Qrels::new();
        for (query, doc, grade) in &rows {
            expected.insert(query, doc, *grade);
        }
        for (name, text) in files_of_judgments(&rows) {
            for writing in WRITINGS {
                let path = write(folder.path(), name, &text, writing);
                let read = ir_data::read_qrels_any(&path, HeaderLine::AsData).unwrap();
                prop_assert_eq!(&read.data, &expected, "{}, {}", name, writing);
            }
        }
        let (mut run, mut trec) = (Run::new("mine"), String::new());
        let mut queries = serde_json::Map::new();
        for ((query, doc), (_, score)) in &pairs {
            run.push(query, doc.as_str(), *score);
            writeln!(trec, "{query} Q0 {doc} 1 {score} mine").unwrap();
            let docs = queries.entry(query).or_insert_with(|| serde_json::json!({}));
            docs[doc] = (*score).into();
        }
        let scores = |run: &Run| -> Vec<(String, String, u64)> {
            let rows = run.iter().flat_map(|(query, hits)| {
                hits.iter().map(move |hit| (query.to_owned(), hit.doc.clone(), hit.score.to_bits()))
            });
            let mut rows: Vec<_> = rows.collect();
            rows.sort();
            rows
        };
        let json = serde_json::Value::Object(queries).to_string();
        for (name, text) in [("trec.run", trec), ("ranx.json", json)] {
            for writing in WRITINGS {
                let path = write(folder.path(), name, &text, writing);
                let read = ir_data::read_run(&path, HeaderLine::AsData).unwrap();
                prop_assert_eq!(scores(&read.data), scores(&run), "{}, {}", name, writing);
            }
        }
    }
}
