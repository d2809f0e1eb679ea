//! Records of bioCADDIE: both forms, repositories, texts, broken records.

use std::fs;

use ir_core::{Corpus, Document};
use ir_data::biocaddie::{
    BioCaddieCorpus, DATASETS, REPOSITORIES, Record, RecordForm, Repository, TextRule,
};
use ir_data::catalog::Catalog;
use ir_data::{DataError, TextEncoding};

pub(super) fn xml(text: &str) -> Result<Record, String> {
    Record::read_xml(text.as_bytes(), "7.xml").map_err(|error| error.to_string())
}

pub(super) fn json(text: &str) -> Result<Record, String> {
    Record::from_json(text, "7.json", 1).map_err(|error| error.to_string())
}

fn documents(corpus: &dyn Corpus) -> Vec<Document> {
    corpus.docs().unwrap().map(Result::unwrap).collect()
}

#[test]
fn both_forms_of_a_record_are_equal() {
    let metadata = r#"{"dataItem": {"title": "T & <i>x</i>", "description": ["a \"b\"", "β"],
        "releaseDate": "2015-04-26"}, "organism": {"experiment": {"species": "Homo sapiens"}}}"#;
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;").replace('"', "&quot;")
    };
    let record = |metadata: &str| {
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<DOC>\n<DOCNO> 6408 </DOCNO>\n\
             <TITLE>T &amp; &lt;i&gt;x&lt;/i&gt;</TITLE>\n\
             <REPOSITORY>arrayexpress_020916</REPOSITORY>\n\
             <METADATA>{metadata}</METADATA></DOC>\n"
        );
        xml(&text).unwrap()
    };
    let line = |id: &str, metadata: &str| {
        let line = format!(
            r#"{{"DOCNO": {id}, "TITLE": "T & <i>x</i>", "REPOSITORY": "arrayexpress_020916",
                 "METADATA": {metadata}}}"#
        );
        json(&line).unwrap()
    };
    let expected = line("6408", metadata);
    // The last one is JSON that is not escaped, with entities that are none.
    let cdata = format!("<![CDATA[{metadata}]]>");
    for metadata in [escape(metadata).as_str(), &cdata, metadata] {
        assert_eq!(record(metadata), expected);
    }
    let quoted = serde_json::to_string(metadata).unwrap();
    assert_eq!(line("\"6408\"", &quoted), expected);
    assert_eq!(expected.texts("DATAITEM.description"), ["a \"b\"", "β"]);
    let document = expected.clone().into_document(TextRule::Paths);
    let expected_document = Document::new("6408")
        .with_title("T & <i>x</i>")
        .with_text("a \"b\"\nβ\nHomo sapiens")
        .with("repository", "arrayexpress")
        .with("harvest", "020916")
        .with("year", 2015_i64);
    assert_eq!(document, expected_document);
    let text = |rule| expected.clone().into_document(rule).text;
    assert_eq!(text(TextRule::Organizers), "a \"b\"\nβ\nArrayExpress");
    let whole: serde_json::Value = serde_json::from_str(&text(TextRule::WholeRecord)).unwrap();
    let original: serde_json::Value = serde_json::from_str(metadata).unwrap();
    let object = serde_json::json!({
        "DOCNO": "6408", "TITLE": "T & <i>x</i>", "REPOSITORY": "arrayexpress",
        "METADATA": original,
    });
    assert_eq!(whole, object);
    let fields = expected.clone().into_document(TextRule::Fields);
    assert_eq!(fields.text, document.text);
    let meta = fields.attributes.text("meta").unwrap();
    for part in ["2015-04-26", "Homo sapiens"] {
        assert!(meta.contains(part), "{meta}");
    }
}

#[test]
fn descriptions_of_records_whose_data_types_have_a_dataset() {
    let text = |metadata: &str| {
        let line = format!(
            r#"{{"DOCNO": "1", "TITLE": "t", "REPOSITORY": "bioproject_021116", "METADATA": {metadata}}}"#
        );
        json(&line).unwrap().into_document(TextRule::Paths).text
    };
    let with_types = |types: &str| {
        text(&format!(
            r#"{{"dataItem": {{"dataTypes": {types}, "title": "t", "description": "old",
                "keywords": ["k"]}},
                "dataSet": {{"title": "title", "description": ["new", "newer"]}},
                "organism": {{"target": "mouse"}}}}"#
        ))
    };
    // In the dataset, or where it has none.
    for types in [
        r#"["organism", "dataset"]"#,
        r#"["DataSet"]"#,
        r#""dataset""#,
    ] {
        assert_eq!(with_types(types), "title\nnew\nnewer\nk\nmouse", "{types}");
    }
    for types in ["[]", "null", r#"["datasets"]"#, r#""organism""#] {
        assert_eq!(with_types(types), "old\nk\nmouse", "{types}");
    }
    let elsewhere = r#"{"dataItem": {"dataTypes": ["dataset"], "description": "a"}}"#;
    assert_eq!(text(elsewhere), "a");
}

#[test]
fn markup_inside_strings_of_unescaped_json() {
    // Decoding the entity would end the string.
    let record = xml(
        "<DOC><DOCNO>1</DOCNO><TITLE/><REPOSITORY>ctn_02</REPOSITORY>\
         <METADATA>{\"dataset\": {\"description\": \"a &quot;b&quot; <b>c</b>\"}}</METADATA></DOC>",
    );
    let record = record.unwrap();
    let texts = record.texts("dataset.description");
    assert_eq!(texts, ["a &quot;b&quot; <b>c</b>"]);
    assert_eq!(record.title, "");
}

#[test]
fn records_without_metadata() {
    for text in [
        r#"{"DOCNO": "1", "TITLE": "t", "REPOSITORY": "geo_022216", "METADATA": null}"#,
        r#"{"DOCNO": "1", "TITLE": "t", "REPOSITORY": "geo_022216"}"#,
        r#"{"DOCNO": "1", "TITLE": "t", "REPOSITORY": "geo_022216", "METADATA": "null"}"#,
    ] {
        let record = json(text).unwrap();
        assert_eq!(record.metadata, None);
        assert_eq!(record.repository_key(), "geo");
        let document = record.clone().into_document(TextRule::Paths);
        assert_eq!((document.title.as_str(), document.text.as_str()), ("t", ""));
        let document = record.into_document(TextRule::Organizers);
        assert_eq!(document.text, "Gene Expression Omnibus");
    }
    let empty = "<DOC><DOCNO>1</DOCNO><REPOSITORY>geo</REPOSITORY><METADATA></METADATA></DOC>";
    let record = xml(empty).unwrap();
    assert_eq!(record.repository_key(), "geo");
    assert!(record.metadata.is_none());
}

#[test]
fn every_path_of_every_repository() {
    for repository in &REPOSITORIES {
        for path in repository.paths {
            // Strings, lists, and lists of objects along the path; names in any case.
            let name = |n: usize, text: &str| match n % 2 {
                0 => text.to_owned(),
                _ => text.to_lowercase(),
            };
            for (n, (value, expected)) in [
                ("\"x y\"", vec!["x y"]),
                ("[\"x\", null, \"y\"]", vec!["x", "y"]),
                ("{\"name\": \"x\", \"strain\": [\"y\"]}", vec!["x", "y"]),
                ("\" \"", vec![]),
                ("[]", vec![]),
                ("null", vec![]),
            ]
            .into_iter()
            .enumerate()
            {
                let names: Vec<&str> = path.split('.').collect();
                let nest = |value: String, (depth, part): (usize, &&str)| match depth {
                    1 => format!("[{{\"{}\": {value}}}]", name(n, part)),
                    _ => format!("{{\"{}\": {value}}}", name(n, part)),
                };
                let parts = names.iter().rev().enumerate();
                let nested = parts.fold(value.to_owned(), nest);
                // METADATA is an object.
                let nested = nested.trim_start_matches('[').trim_end_matches(']');
                let nested = if names.len() == 1 {
                    format!("{{\"{}\": {value}}}", names[0])
                } else {
                    nested.to_owned()
                };
                let line = format!(
                    r#"{{"DOCNO": 1, "REPOSITORY": "{}_x", "METADATA": {nested}}}"#,
                    repository.key
                );
                let record = json(&line).unwrap();
                assert_eq!(record.texts(path), expected, "{line}");
                let document = record.into_document(TextRule::Paths);
                assert_eq!(document.text, expected.join("\n"), "{line}");
            }
        }
    }
    // Without paths, every text counts.
    let line =
        r#"{"DOCNO": 1, "REPOSITORY": "new_x", "METADATA": {"a": {"b": "x"}, "c": ["y", 3]}}"#;
    let document = json(line).unwrap().into_document(TextRule::Paths);
    assert_eq!(document.text, "x\ny\n3");
}

#[test]
fn invalid_records() {
    let mut different = Vec::new();
    let mut check = |read: Result<Record, String>, expected: &str| {
        if read.as_ref().err().map(String::as_str) != Some(expected) {
            different.push((read, expected.to_owned()));
        }
    };
    let doc = |metadata: &str| {
        format!(
            "<DOC>\n<DOCNO>7</DOCNO>\n<REPOSITORY>geo_1</REPOSITORY>\n\
             <METADATA>{metadata}</METADATA></DOC>"
        )
    };
    for (text, expected) in [
        (
            doc("{\"dataItem\": {\"title\": \"x}}"),
            "7.xml:4: record \"7\": expected JSON in METADATA, found an error at column 27 (EOF while parsing a string)",
        ),
        (
            doc("{\n\"a\": \"\\ud800\"}"),
            "7.xml:5: record \"7\": expected JSON in METADATA, found an error at column 13 (unexpected end of hex escape)",
        ),
        (
            doc("[1]"),
            "7.xml:4: record \"7\": expected JSON in METADATA, found an error at column 1 (an array instead of an object)",
        ),
        (
            String::new(),
            "7.xml:1: expected <DOC>, found \"the end of the file\"",
        ),
        (
            "<DOC><DOCNO>7</DOCNO>".to_owned(),
            "7.xml:1: expected an element or </DOC>, found \"the end of the file\"",
        ),
        (
            "<DOC>\n<DOCNO>7".to_owned(),
            "7.xml:2: expected the end of the element, found \"<DOCNO>\"",
        ),
        (
            "<DOC>\n<REPOSITORY>geo</REPOSITORY></DOC>".to_owned(),
            "7.xml:1: expected a field \"DOCNO\", found none",
        ),
        (
            "<DOC><DOCNO>7</DOCNO></DOC>".to_owned(),
            "7.xml:1: expected a field \"REPOSITORY\", found none",
        ),
        (
            "<DOC><DOCNO>7</DOCNO>\n<DOCNO>8</DOCNO></DOC>".to_owned(),
            "7.xml:2: expected one field \"DOCNO\", found two",
        ),
        (
            "<DOC><AUTHOR>x</AUTHOR></DOC>".to_owned(),
            "7.xml:1: expected DOCNO, TITLE, REPOSITORY or METADATA, found \"AUTHOR\"",
        ),
        (
            "<?xml version='1.0' encoding='UTF-16'?>\n<DOC></DOC>".to_owned(),
            "7.xml:1: expected the encoding UTF-8, ISO-8859-1 or Windows-1252, found \"UTF-16\"",
        ),
        (
            format!("{}x", doc("{}")),
            "7.xml:4: expected the end after </DOC>, found \"x\"",
        ),
    ] {
        check(xml(&text), expected);
    }
    let table = r#"{"DOCNO": 1, "TITLE": "tea" => 7.json:1: expected JSON, found an error at column 27 (EOF while parsing an object)
{"DOCNO": 1.5} => 7.json:1: expected an id in DOCNO, found a number
{"DOCNO": " "} => 7.json:1: expected an id in DOCNO, found a string
{"TITLE": "x"} => 7.json:1: expected a field "DOCNO", found none
{"DOCNO": 1, "TITLE": 5} => 7.json:1: expected a string in TITLE, found a number
{"DOCNO": 1} => 7.json:1: expected a field "REPOSITORY", found none
{"DOCNO": 1, "REPOSITORY": "geo", "METADATA": [1]} => 7.json:1: expected an object in METADATA, found an array
{"DOCNO": 1, "REPOSITORY": "geo", "METADATA": "{"} => 7.json:1: record "1": expected JSON in METADATA, found an error at column 1 (EOF while parsing an object)"#;
    for (text, expected) in super::cases(table) {
        check(json(&text), expected);
    }
    assert!(different.is_empty(), "{different:#?}");
}

#[test]
fn encodings_of_xml_records() {
    let record = |declaration: &str| {
        let mut bytes = declaration.as_bytes().to_vec();
        bytes.extend(b"<DOC>\n<DOCNO>7</DOCNO><TITLE>na\xefve</TITLE><REPOSITORY>geo_1");
        bytes.extend(b"</REPOSITORY><METADATA>{\"desc\": \"caf\xe9\"}</METADATA></DOC>");
        bytes
    };
    for name in ["ISO-8859-1", "iso-8859-1", "latin1"] {
        let declaration = format!("<?xml version=\"1.0\" encoding=\"{name}\" standalone='yes'?>\n");
        let record = Record::read_xml(&*record(&declaration), "7.xml").unwrap();
        assert_eq!(record.title, "naïve", "{name}");
        assert_eq!(record.texts("desc"), ["café"], "{name}");
    }
    for (declaration, line) in [
        ("", 2),
        ("<?xml version='1.0'?>\n", 3),
        ("<?xml version='1.0' encoding='UTF-8'?>", 2),
    ] {
        let bytes = record(declaration);
        let error = Record::read_xml(&*bytes, "7.xml").unwrap_err().to_string();
        let expected = format!("7.xml:{line}: expected UTF-8 text, found invalid bytes at column");
        assert!(error.starts_with(&expected), "{declaration}: {error}");
        // The encoding of the corpus takes precedence over the declaration.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.xml");
        fs::write(&path, &bytes).unwrap();
        let corpus = BioCaddieCorpus::new(&path).with_encoding(TextEncoding::Latin1);
        assert_eq!(documents(&corpus)[0].title, "naïve", "{declaration}");
    }
}

#[test]
fn folders_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let read = |corpus: &BioCaddieCorpus| -> Result<Vec<Document>, String> {
        let docs = corpus.docs().and_then(Iterator::collect);
        docs.map_err(|error| error.reason().to_string())
    };
    let records: Vec<String> = (1..=3)
        .map(|n| format!("{{\"DOCNO\": {n}, \"TITLE\": \"t{n}\", \"REPOSITORY\": \"pdb_1\"}}"))
        .collect();
    fs::write(at("records.jsonl"), records.join("\n\n")).unwrap();
    let from_lines = read(&BioCaddieCorpus::new(at("records.jsonl"))).unwrap();
    fs::create_dir(at("json")).unwrap();
    fs::create_dir(at("xml")).unwrap();
    for (n, record) in (1..).zip(&records) {
        fs::write(at(&format!("json/{n}.json")), record).unwrap();
        let record = format!(
            "<DOC><DOCNO>{n}</DOCNO><TITLE>t{n}</TITLE><REPOSITORY>pdb_1</REPOSITORY></DOC>"
        );
        fs::write(at(&format!("xml/{n}.xml")), record).unwrap();
    }
    fs::write(at("json/notes.txt"), "ignored").unwrap();
    for name in ["json", "xml"] {
        let corpus = BioCaddieCorpus::new(at(name));
        assert_eq!(read(&corpus).unwrap(), from_lines);
    }
    let error = |name: &str, expected: &str| {
        let error = read(&BioCaddieCorpus::new(at(name))).unwrap_err();
        let error = error.replace(&folder.path().display().to_string(), "");
        assert_eq!(error, expected);
    };
    fs::write(at("json/4.json"), &records[1]).unwrap();
    error(
        "json",
        "/json/4.json:1: expected a DOCNO that no other file has, found \"2\"",
    );
    fs::write(at("json/4.xml"), "").unwrap();
    error(
        "json",
        "/json:1: expected JSON records only, found \"4.xml\"",
    );
    // Latin-1 among UTF-8.
    fs::write(at("xml/2.xml"), b"<DOC>\n<TITLE>na\xefve</TITLE></DOC>").unwrap();
    error(
        "xml",
        "/xml/2.xml:2: expected UTF-8 text, found invalid bytes at column 10",
    );
    let twice = [&records[0], "\n", &records[0]].concat();
    fs::write(at("records.jsonl"), twice).unwrap();
    error(
        "records.jsonl",
        "/records.jsonl:2: expected a unique id, found \"1\", which is also on line 1",
    );
    fs::create_dir(at("none")).unwrap();
    error(
        "none",
        "/none: expected records (.xml or .json files), found none",
    );
}

#[test]
fn records_are_recognized_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), text).unwrap();
    };
    let xml = "<DOC>\n<DOCNO>7</DOCNO><TITLE>t</TITLE><REPOSITORY>ctn_02</REPOSITORY>\
               <METADATA>null</METADATA></DOC>";
    let declared = format!("<?xml version=\"1.0\"?>\n{xml}");
    let json = r#"{"DOCNO": 7, "TITLE": "t", "REPOSITORY": "ctn_02", "METADATA": null}"#;
    let pretty = json.replace(", ", ",\n  ");
    let trec = "<DOC>\n<DOCNO>7</DOCNO><REPOSITORY>x</REPOSITORY><METADATA>m</METADATA>\
                <TEXT>t</TEXT></DOC>";
    for (name, text, form) in [
        ("7.xml", xml, Some(RecordForm::Xml)),
        ("declared.xml", &declared, Some(RecordForm::Xml)),
        ("7.json", json, Some(RecordForm::Json)),
        ("pretty.json", &pretty, Some(RecordForm::Json)),
        ("any.jsonl", json, Some(RecordForm::Json)),
        ("trec.xml", trec, None),
        ("doc.xml", "<DOC><DOCNO>7</DOCNO><TEXT>t</TEXT></DOC>", None),
        (
            "beir.jsonl",
            r#"{"_id": "1", "text": "\"DOCNO\"", "DOCNO": 7, "METADATA": {}}"#,
            None,
        ),
        (
            "inner.jsonl",
            r#"{"id": "1", "text": "t", "record": {"DOCNO": 7, "METADATA": {}}}"#,
            None,
        ),
        ("empty.json", "", None),
    ] {
        write(name, text);
        let found = BioCaddieCorpus::detect(&at(name)).unwrap();
        assert_eq!(found.is_some(), form.is_some(), "{name}");
        let corpus = BioCaddieCorpus::new(at(name));
        assert_eq!(corpus.form().unwrap(), form, "{name}");
        let Some(corpus) = found else { continue };
        let docs = documents(&corpus);
        assert_eq!((docs.len(), docs[0].id.as_str()), (1, "7"), "{name}");
        // The same record in a folder.
        write(&format!("folder-of-{name}/{name}"), text);
        write(&format!("folder-of-{name}/README.md"), "records");
        let found = BioCaddieCorpus::detect(&at(&format!("folder-of-{name}"))).unwrap();
        let read = found.map(|corpus| documents(&corpus));
        assert_eq!(read, (!name.ends_with(".jsonl")).then_some(docs), "{name}");
    }
    // By name.
    write("named/records.jsonl", json);
    let named = BioCaddieCorpus::detect(&at("named")).unwrap().unwrap();
    assert_eq!(named.path(), at("named/records.jsonl"));
    assert_eq!(named.files().unwrap(), [at("named/records.jsonl")]);
    write("named/records.jsonl", r#"{"_id": "1", "text": "t"}"#);
    assert!(BioCaddieCorpus::detect(&at("named")).unwrap().is_none());
    write("notes/broken.json.gz", "\x1f\u{8b}");
    assert!(BioCaddieCorpus::detect(&at("notes")).unwrap().is_none());
    assert!(BioCaddieCorpus::detect(&at("none")).is_err());
}

#[test]
fn catalog_opens_the_documents_beside_the_topics() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("biocaddie");
    let catalog = Catalog::new(root.path());
    // Without topics.
    for found in [Catalog::new("/nowhere"), catalog.clone()] {
        let error = found.open("biocaddie").unwrap_err();
        assert!(matches!(error, DataError::MissingFile { .. }), "{error}");
    }
    fs::create_dir_all(folder.join("queries")).unwrap();
    fs::create_dir_all(folder.join("qrels")).unwrap();
    let topics = |text: &str| {
        let topic = |id: &str| format!("<query><number>{id}</number><text>{text}</text></query>");
        format!("<parameters>{}{}</parameters>", topic("EA1"), topic("T1"))
    };
    let table = r#"queries.combined.orig => Find tea
queries.combined.short => tea
queries.combined.stopped => find tea
queries.combined.idf => #weight( 1.5 tea )
boolqueries.combined.short => #or( tea )"#;
    for (file, text) in super::cases(table) {
        fs::write(folder.join("queries").join(file), topics(text)).unwrap();
    }
    fs::write(folder.join("qrels/biocaddie.qrels.test"), "T1\t0\t7\t2\n").unwrap();
    fs::write(folder.join("qrels/biocaddie.qrels.train"), "EA1\t0\t7\t1\n").unwrap();
    // Without documents, topics and judgments can be read.
    for name in ["biocaddie", "biocaddie/fields"] {
        let collection = catalog.open(name).unwrap();
        assert_eq!(collection.queries("train").unwrap()[0].id, "EA1");
        assert_eq!(collection.qrels("test").unwrap().judgments(), 1);
        let Err(error) = collection.corpus().docs() else {
            panic!("documents of {name}")
        };
        let error = error.reason().to_string();
        let expected = format!(
            "{}: expected the documents of {name} beside its topics (records.jsonl, \
             records.jsonl.gz, records.jsonl.zst, update_json_folder, update_xml_folder), found none",
            folder.display()
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    let line = r#"{"DOCNO": 7, "TITLE": "Tea", "REPOSITORY": "ctn_02", "METADATA": null}"#;
    fs::write(folder.join("records.jsonl"), line).unwrap();
    let collection = catalog.open("biocaddie").unwrap();
    assert_eq!(collection.splits(), ["test", "train"]);
    let queries = collection.queries("test").unwrap();
    assert_eq!((queries.len(), queries[0].text.as_str()), (1, "Find tea"));
    let attribute = |name| queries[0].attributes.text(name);
    assert_eq!(attribute("short"), Some("tea"));
    assert_eq!(attribute("weighted"), Some("#weight( 1.5 tea )"));
    assert_eq!(attribute("structured"), Some("#or( tea )"));
    let train = collection.qrels("train").unwrap();
    assert_eq!(train.grade("EA1", "7"), Some(1));
    assert!(collection.qrels("dev").is_err());
    let documents = |name: &str| -> Vec<Document> {
        let collection = catalog.open(name).unwrap();
        assert_eq!(collection.name(), name);
        documents(collection.corpus())
    };
    let docs = documents("biocaddie");
    assert_eq!((docs.len(), docs[0].title.as_str()), (1, "Tea"));
    // The text rules by name.
    let table = r#"biocaddie => 
biocaddie/paths => 
biocaddie/organizers => Clinical Trials Network
biocaddie/whole-record => {"DOCNO":"7","TITLE":"Tea","REPOSITORY":"ctn","METADATA":null}
biocaddie/fields => "#;
    super::assert_cases(table, |name| documents(name).remove(0).text);
    match catalog.open("biocaddie/field").unwrap_err() {
        DataError::UnknownCollection { known, .. } => {
            assert!(known.contains(&"biocaddie/fields".to_owned()));
        }
        other => panic!("{other}"),
    }
    // The folders with one file per record.
    fs::remove_file(folder.join("records.jsonl")).unwrap();
    let xml = "<DOC><DOCNO>7</DOCNO><TITLE>Tea</TITLE><REPOSITORY>ctn_02</REPOSITORY>\
               <METADATA>null</METADATA></DOC>";
    for (name, file, text) in [
        ("update_xml_folder", "7.xml", xml),
        ("update_json_folder", "7.json", line),
    ] {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join(file), text).unwrap();
        assert_eq!(documents("biocaddie"), docs, "{name}");
        fs::remove_dir_all(folder.join(name)).unwrap();
    }
}

#[test]
fn repository_table() {
    assert_eq!(REPOSITORIES.len(), 20);
    let sum: u64 = REPOSITORIES.iter().map(|it| it.datasets).sum();
    assert_eq!((sum, DATASETS), (794_992, 794_992));
    for repository in &REPOSITORIES {
        assert_eq!(Repository::find(repository.key), Some(repository));
        assert!(!repository.key.contains('_') && !repository.paths.is_empty());
    }
}
