//! Tables with a header line.

use ir_core::{Corpus, Document, Skipped};
use ir_data::csv::CsvReader;
use ir_data::{DocumentFile, GivenNames, ReadOptions, RecordKind, TextEncoding};

use super::assert_cases;

/// Documents as `id|title|text|attributes`, or the error.
fn read(text: &str) -> String {
    let mut docs = match CsvReader::new(text.as_bytes(), "f") {
        Ok(docs) => docs,
        Err(error) => return error.to_string(),
    };
    let mut read = Vec::new();
    let mut doc = Document::default();
    loop {
        match docs.read_into(&mut doc) {
            Ok(false) => return read.join("; "),
            Ok(true) => {
                let attributes: Vec<String> = doc
                    .attributes
                    .iter()
                    .map(|(name, value)| {
                        format!("|{name}={}", serde_json::to_string(value).unwrap())
                    })
                    .collect();
                let text = doc.text.replace('\n', "\\n");
                read.push(format!(
                    "{}|{}|{text}{}",
                    doc.id,
                    doc.title,
                    attributes.concat()
                ));
            }
            Err(error) => return error.to_string(),
        }
    }
}

#[test]
fn tables() {
    assert_cases(
        r#"id,text\na,tea\nb,milk => a||tea; b||milk
id\ttext\ttitle\n1\t"green ""tea"""\tTea\n => 1|Tea|green "tea"
text;year;id\n"tea; green";2017;a => a||tea; green|year="2017"
ID,Title,Text\r\na,Tea,"one\r\ntwo"\r\n => a|Tea|one\ntwo
,id,text\n0,a,tea => a||tea
id,text,note\na,tea,\nb,,x => a||tea; b|||note="x"
id,text\n\na,tea\n\n => a||tea
id,text\n"a" ,tea => f:2: expected a separator or line end after the quoted cell that starts on this line (write `"` inside a quoted cell twice), found " ,tea"
id\ttext\n1\t"tea is hot\n2\tcoffee\n3\tmilk\n4\tthe "green" one\n5\tlast\n => f:2: expected a separator or line end after the quoted cell that starts on this line (write `"` inside a quoted cell twice), found "green\" one"
id,text,note\na,"x\ny",z\nb,"one\ntwo","three\n"four""\n => f:5: expected a separator or line end after the quoted cell that starts on this line (write `"` inside a quoted cell twice), found "four\"\""
id,text,note\na,"one\ntwo","tea\n => f:3: expected `"` at the end of a quoted cell (write `"` inside a quoted cell twice), found "the end of the file"
id;text\na;the "green" one\nb;""\nc;""""\nd;"x"\r\n => a||the "green" one; b||; c||"; d||x
"id";"text"\na;"tea; hot" => a||tea; hot
"id","te => f:1: expected `"` at the end of a quoted cell (write `"` inside a quoted cell twice), found "the end of the file"
id,text\na,5" tape => a||5" tape
id,text => 
cord_uid,sha,title,abstract\nug7,,Virus,"Of, viruses" => ug7|Virus|Of, viruses
id,text\na => f:2: expected 2 columns, found 1
id,text\na,b,c => f:2: expected 2 columns, found 3
id,text\n,tea => f:2: expected an id in "id", found an empty cell
id,text\na,tea\na,milk => f:3: expected a unique id, found "a", which is also on line 2
id,text\na,"tea\nmilk => f:2: expected `"` at the end of a quoted cell (write `"` inside a quoted cell twice), found "the end of the file"
id,text,text\na,b,c => f:1: expected one field "text", found two
id,docno,text\na,b,c => a||c|docno="b"
docid,docno,text\na,b,c => f:1: expected one field of "docid", "docno" or "doc_id", found "docid", "docno"
name,text\na,b => f:1: expected a field "_id", "id", "pid", "docid", "docno", "doc_id" or "cord_uid", found "name", "text"
a,b,c,d,e,f,g,h,i,j,k,id\n => f:1: expected a field "text", "contents", "passage", "body", "segment", "content" or "abstract", found "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" and 2 more
id,text,metadata\na,tea,{} => a||tea|metadata="{}"
 => f: expected a header line with the names of columns, found none"#,
        read,
    );
}

/// A byte order mark is no part of the first name.
#[test]
fn byte_order_mark_and_encodings() {
    assert_eq!(read("\u{feff}id,text\na,tea"), "a||tea");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docs.csv");
    std::fs::write(&path, b"id;titre;text\na;caf\xe9;th\xe9\n").unwrap();
    let names = GivenNames {
        title: Some("titre".to_owned()),
        ..GivenNames::default()
    };
    let options = ReadOptions {
        encoding: TextEncoding::Latin1,
        names,
    };
    let docs = DocumentFile::open(&path, &options).unwrap();
    let doc = docs.docs().unwrap().next().unwrap().unwrap();
    assert_eq!((doc.title.as_str(), doc.text.as_str()), ("café", "thé"));
    let error = DocumentFile::open(&path, &ReadOptions::default()).unwrap();
    let error = error.docs().unwrap().next().unwrap().unwrap_err();
    assert!(
        error
            .reason()
            .to_string()
            .ends_with("docs.csv:2: expected UTF-8 text, found invalid bytes at column 6")
    );
}

/// A quoted cell with a line that has the tabs of the header may contain rows.
#[test]
fn rows_after_an_unpaired_quote() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, documents, joined) in [
        (
            "a.tsv",
            "id\ttext\n1\t\"hello ship\n2\tB tea\"\n3\tship\n",
            2,
            1,
        ),
        ("b.tsv", "id\ttext\n1\t\"hello\nship\"\n2\t\"a\tb\"\n", 2, 0),
        (
            "c.tsv",
            "id\tx\ttext\n1\t\"a\nb\tc\"\td\n2\t\"e\nf\tg\th\"\ti\n",
            2,
            2,
        ),
        ("d.tsv", "text\tx\tid\n\"a\nb\"\tc\t1\n", 1, 0),
        ("e.csv", "id,text\n1,\"tea\nhot, green\"\n2,milk\n", 2, 0),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let docs = DocumentFile::open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(
            docs.docs().unwrap().map(Result::unwrap).count(),
            documents,
            "{name}"
        );
        assert_eq!(docs.skipped().joined_rows, joined, "{name}");
    }
}

/// The table of CORD-19 has several rows for some papers.
#[test]
fn repeated_records_of_cord_19() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metadata.csv");
    let rows = "a,Tea,green\nb,Milk,white\na,Tea 2,black\na,Tea 3,\nc,Rivers,long\n";
    std::fs::write(&path, format!("cord_uid,title,abstract\n{rows}")).unwrap();
    let docs = DocumentFile::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(docs.skipped(), Skipped::default());
    for _ in 0..2 {
        let titles: Vec<String> = docs.docs().unwrap().map(|doc| doc.unwrap().title).collect();
        assert_eq!(titles, ["Tea", "Milk", "Rivers"]);
        assert_eq!(docs.skipped().repeated_ids, 2);
    }
    std::fs::write(&path, format!("id,title,abstract\n{rows}")).unwrap();
    let docs = DocumentFile::open(&path, &ReadOptions::default()).unwrap();
    let error = docs.docs().unwrap().nth(2).unwrap().unwrap_err();
    let expected = "metadata.csv:4: expected a unique id, found \"a\", which is also on line 2";
    assert!(error.reason().to_string().ends_with(expected), "{error}");
}

#[test]
fn queries() {
    let read = |text: &str| {
        let options = GivenNames::default();
        let read = ir_data::csv::read_queries(text.as_bytes(), "f", &options);
        read.map(|queries| {
            queries
                .into_iter()
                .map(|query| (query.id, query.text))
                .collect::<Vec<_>>()
        })
    };
    let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    assert_eq!(read("qid\tquery\n1\ttea").unwrap(), [pair("1", "tea")]);
    assert_eq!(
        read("query,query_id\n\"a,b\",2").unwrap(),
        [pair("2", "a,b")]
    );
    let given = GivenNames {
        text: Some("title".to_owned()),
        ..GivenNames::default()
    };
    let text = "id,title,query\n1,tea,milk";
    let queries = CsvReader::with_names(text.as_bytes(), "f", RecordKind::Query, &given);
    let mut doc = Document::default();
    assert!(queries.unwrap().read_into(&mut doc).unwrap());
    assert_eq!(
        (doc.text.as_str(), doc.attributes.text("query")),
        ("tea", Some("milk"))
    );
}

/// Tables written by the crate csv, which quotes as RFC 4180 says, are read as they were.
#[test]
fn written_tables() {
    use proptest::prelude::*;
    let cell = "[ -~é\n\t\",;]{0,12}";
    proptest!(|(rows in prop::collection::vec((cell, cell), 1..8), separator in 0..3_usize)| {
        let mut out = csv::WriterBuilder::new().delimiter(b"\t,;"[separator]).from_writer(Vec::new());
        out.write_record(["id", "text", "note"]).unwrap();
        for (n, (text, note)) in rows.iter().enumerate() {
            out.write_record([&n.to_string(), text, note]).unwrap();
        }
        let written = out.into_inner().unwrap();
        let mut docs = CsvReader::new(&*written, "f").unwrap();
        let mut doc = Document::default();
        for (n, (text, note)) in rows.iter().enumerate() {
            prop_assert!(docs.read_into(&mut doc).unwrap());
            prop_assert_eq!(&doc.id, &n.to_string());
            prop_assert_eq!(&doc.text, text);
            prop_assert_eq!(doc.attributes.text("note").unwrap_or_default(), note);
        }
        prop_assert!(!docs.read_into(&mut doc).unwrap());
    });
}
