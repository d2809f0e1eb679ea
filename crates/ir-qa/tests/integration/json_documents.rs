//! Documents in JSON: records of SOCO and papers of S2ORC.

use ir_qa::documents::{DocumentError, DocumentFormat, DocumentReader, MissingPart, ParsedFile};
use ir_qa::frames::FrameConfig;

fn json(text: &str, name: &str) -> Result<ParsedFile, DocumentError> {
    let format = DocumentFormat::from_path(name).unwrap();
    DocumentReader::default().read_bytes(text.as_bytes(), format, name, name)
}

#[test]
fn records_of_soco_are_papers() {
    let text = r#"{"data": [{"text": "On\ntea", "type": "title"}, {"text": null, "type": "content"},
        {"text": "Origin", "type": "section", "page": 2}, {"text": "It comes from Asia.", "type": "content", "page": 3}],
        "meta": {"doc_id": "d1", "year": 2020}, "doc_type": "soco_doc"}"#;
    let more = r#"{"doc_type": "soco_doc", "data": [{"text": "Cups.", "type": "content"}], "meta": {"doc_title": "On cups"}}"#;
    for (name, text) in [
        ("a.json", format!("[{text}, {more}]")),
        ("a.jsonl", format!("{}\n{more}\n", text.replace('\n', " "))),
        ("a.json", format!("\u{feff}{text}{more}")),
    ] {
        let file = json(&text, name).unwrap();
        assert_eq!(file.format, DocumentFormat::Soco);
        let [tea, cups] = &file.papers[..] else {
            panic!()
        };
        assert_eq!(
            (tea.id.as_str(), tea.title.as_str()),
            (&*format!("{name}#d1"), "On tea")
        );
        assert_eq!(tea.year, Some(2020));
        assert_eq!(
            (tea.sections[0].heading.as_str(), tea.sections[0].page),
            ("Origin", Some(2))
        );
        assert_eq!(tea.sections[0].paragraphs[0].page, Some(3));
        assert_eq!(
            (cups.id.as_str(), cups.title.as_str()),
            (&*format!("{name}#2"), "On cups")
        );
    }
    let faq =
        r#"{"data": [{"answer": {"value": "Asia."}, "questions": []}], "doc_type": "soco_faq"}"#;
    let file = json(faq, "a.jsonl").unwrap();
    assert_eq!(file.papers[0].faq.len(), 1);
    let error = json("{\"doc_type\": \"soco_doc\",\n\"data\": 3}", "a.jsonl").unwrap_err();
    assert!(error.to_string().starts_with("a.jsonl:"), "{error}");
}

/// Questions with answers are frames, and the frames of the record that a paper is written as.
#[test]
fn faq_of_soco() {
    let faq = r#"{"doc_type": "soco_faq", "meta": {"doc_id": "tea", "year": 2020, "topic": "drinks"},
        "data": [
            {"answer": {"value": "From\nAsia."}, "questions": ["Where from?", {"value": "Origin", "displayable": false}]},
            {"answer": {"value": " "}, "questions": ["Nothing?"]},
            {"answer": {"value": "In a cup."}, "meta": {"topic": "cups"}}]}"#;
    let file = json(faq, "a.json").unwrap();
    assert!(!file.missing.contains(&MissingPart::Text));
    let set = FrameConfig::default().convert_paper(&file.papers[0]);
    let found: Vec<_> = set
        .frames
        .iter()
        .map(|f| {
            (
                &*f.id,
                &*f.answer,
                f.metadata.text("topic").unwrap(),
                f.metadata.year(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("a.json#tea/0", "From Asia.", "drinks", Some(2020)),
            ("a.json#tea/2", "In a cup.", "cups", Some(2020)),
        ]
    );
    let questions = &set.frames[0].questions;
    let questions: Vec<_> = questions
        .iter()
        .map(|q| (&*q.text, q.displayable))
        .collect();
    assert_eq!(questions, [("Where from?", true), ("Origin", false)]);
    assert_eq!((set.frames[0].check(), set.dropped.too_short), (Ok(()), 1));
}

#[test]
fn papers_of_s2orc() {
    let paper = r#"{"paper_id": "p1", "title": "On  tea", "year": 2015, "abstract": "We drink tea.",
        "body_text": [{"section": "Origin", "text": "It comes from Asia."}, {"section": "", "text": "End."}],
        "other_ids": {"DOI": ["10.1/x"]}}"#;
    let line = paper.replace('\n', " ");
    for (name, text) in [
        ("a.json", paper.to_owned()),
        ("a.jsonl", line.clone()),
        (
            "a.jsonl",
            format!(
                "{line}\n{}\n",
                r#"{"paper_id": "p2", "title": "Cups", "abstract": ""}"#
            ),
        ),
    ] {
        let file = json(&text, name).unwrap();
        assert_eq!(file.format, DocumentFormat::S2orc);
        let tea = &file.papers[0];
        assert_eq!(
            (tea.id.as_str(), tea.title.as_str()),
            (&*format!("{name}#p1"), "On tea")
        );
        assert_eq!(tea.year, Some(2015));
        let headings: Vec<&str> = tea.sections.iter().map(|it| it.heading.as_str()).collect();
        assert_eq!(headings, ["Abstract", "Origin", ""]);
        assert_eq!(tea.sections[1].paragraphs[0].text, "It comes from Asia.");
        assert!(!file.missing.contains(&MissingPart::Pages));
    }
    let error = json("{\"paper_id\": \"p\"}\n{\"paper_id\": 1.5}\n", "a.jsonl").unwrap_err();
    assert!(error.to_string().starts_with("a.jsonl:2: "), "{error}");
}

/// The outputs of s2orc-doc2json have years in strings; the release of 2019 has other names.
#[test]
fn releases_of_s2orc() {
    let body = r#"{"body_text": [{"section": "Kettles", "text": "It boils."}]}"#;
    for paper in [
        format!(
            r#"{{"paper_id": "k", "title": "On kettles", "year": "2017", "venue": "Tea",
            "authors": [{{"first": "Eve", "middle": [], "last": "Cup"}}], "pdf_parse": {body}}}"#
        ),
        format!(
            r#"{{"metadata": {{"title": "On kettles", "year": 2017, "venue": "Tea",
            "authors": [{{"first": "Eve", "last": "Cup"}}]}}, "grobid_parse": {body}, "paper_id": "k"}}"#
        ),
    ] {
        let file = json(&paper, "k.json").unwrap();
        assert_eq!(file.missing, []);
        let paper = &file.papers[0];
        assert_eq!((&*paper.title, paper.year), ("On kettles", Some(2017)));
        assert_eq!(paper.authors, ["Eve Cup"]);
        assert_eq!(paper.venue.as_deref(), Some("Tea"));
        assert_eq!(paper.paragraphs().count(), 1);
    }
    let paper = r#"{"paper_id": "k", "year": "", "title": "On kettles", "body_text": [{"text": "It boils."}]}"#;
    let file = json(paper, "k.json").unwrap();
    assert_eq!((file.papers[0].year, file.papers.len()), (None, 1));
    let error = json(&paper.replace(r#""""#, r#""soon""#), "k.json").unwrap_err();
    let expected = r#"k.json:1: expected a year, such as 2018, found "soon in year""#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn repeated_ids_are_numbered_and_told() {
    let record = |id: &str, text: &str| {
        format!(
            r#"{{"doc_type": "soco_doc", "meta": {{"doc_id": "{id}"}}, "data": [{{"type": "content", "text": "{text}"}}]}}"#
        )
    };
    let all = [
        ("tea", "One."),
        ("tea", "Two."),
        ("tea-2", "Three."),
        ("tea", "Four."),
    ];
    let lines: Vec<String> = all.iter().map(|(id, text)| record(id, text)).collect();
    let file = json(&lines.join("\n"), "a.jsonl").unwrap();
    let ids: Vec<&str> = file.papers.iter().map(|paper| &*paper.id).collect();
    assert_eq!(
        ids,
        [
            "a.jsonl#tea",
            "a.jsonl#tea-3",
            "a.jsonl#tea-2",
            "a.jsonl#tea-4"
        ]
    );
    let texts = file.papers.iter().flat_map(|paper| paper.paragraphs());
    assert!(
        texts
            .map(|it| &*it.text)
            .eq(all.iter().map(|(_, text)| *text))
    );
    assert!(file.missing.contains(&MissingPart::UniqueIds));
    let file = json(&lines[1..3].join("\n"), "a.jsonl").unwrap();
    assert!(!file.missing.contains(&MissingPart::UniqueIds));
}

#[test]
fn other_json_is_an_error() {
    let error = json("{\"a\": 1}", "a.json").unwrap_err().to_string();
    let expected = "a.json: expected articles of SQuAD, records of SOCO or papers of S2ORC, found \
                    another JSON object";
    assert_eq!(error, expected);
    for text in ["", "3", "[", "[3]", "{\"data\": 3}", "{\"a\""] {
        let error = json(text, "a.json").unwrap_err().to_string();
        assert!(error.starts_with("a.json:"), "{text}: {error}");
    }
}
