//! Reader and writer of SOCO's records.

use ir_core::Attributes;
use ir_qa::frames::FrameConfig;
use ir_qa::soco::{
    FaqEntry, SocoContent, SocoDocument, SocoFrame, SocoReader, write_frames, write_records,
};
use ir_qa::{Chunk, ChunkKind, Frame, FrameQuestion};
use proptest::prelude::*;

fn read(text: &str) -> Result<Vec<SocoDocument>, String> {
    let records = SocoReader::new(text.as_bytes(), "f");
    records
        .map(|record| record.map_err(|error| error.to_string()))
        .collect()
}

const DOCUMENT: &str = r#"{"data":[{"text":"Tee ist grün.","type":"content","uid":"c1"},{"text":null,"type":"title"}],"meta":{"doc_id":"d"},"doc_type":"soco_doc"}"#;
const FAQ: &str = r#"{"doc_type":"soco_faq","data":[{"answer":{"value":"A drink.","score":1},"questions":[{"value":"What?","displayable":false},"Why?"],"meta":{"year":2020}}]}"#;

#[test]
fn sequences_and_arrays() {
    let expected = read(&format!("{DOCUMENT}{FAQ}")).unwrap();
    assert_eq!(expected.len(), 2);
    let SocoContent::Document(chunks) = &expected[0].content else {
        panic!()
    };
    assert_eq!(chunks[0].uid.as_deref(), Some("c1"));
    assert_eq!(chunks[1].text, None);
    let SocoContent::Faq(entries) = &expected[1].content else {
        panic!()
    };
    assert_eq!(entries[0].answer, "A drink.");
    assert_eq!(
        entries[0].questions,
        [
            FrameQuestion::new("What?").with_displayable(false),
            FrameQuestion::new("Why?")
        ]
    );
    assert_eq!(entries[0].meta.year(), Some(2020));

    for text in [
        format!("{DOCUMENT}\n{FAQ}\n"),
        format!("\u{feff} {DOCUMENT}\r\n\t{FAQ}"),
        format!("[{DOCUMENT},{FAQ}]"),
        format!(" [\n{DOCUMENT} , {FAQ}\n] \n"),
    ] {
        assert_eq!(read(&text).as_ref(), Ok(&expected), "{text}");
    }
    assert_eq!(read(""), Ok(vec![]));
    assert_eq!(read(" [ ] "), Ok(vec![]));
}

#[test]
fn errors_name_file_line_entry_and_field() {
    let broken = |from: &str, to: &str| format!("{FAQ}\n{}", DOCUMENT.replace(from, to));
    for (text, message) in [
        (
            broken("\"content\"", "\"text\""),
            "f:2: entry 2: field data[0].type: expected one of `title`, `section`, `content`, `row`, `formula`, found `text`",
        ),
        (
            broken("null", "7"),
            "f:2: entry 2: field data[1].text: expected a string, found 7",
        ),
        (
            broken("soco_doc", "soco"),
            "f:2: entry 2: field doc_type: expected soco_doc or soco_faq, found \"soco\"",
        ),
        (
            broken("\"data\"", "\"date\""),
            "f:2: entry 2: field (record): missing field `data`",
        ),
        (
            broken("\"meta\":{\"doc_id\":\"d\"}", "\"meta\":3"),
            "f:2: entry 2: field meta: expected an object, found 3",
        ),
        (
            broken(",{", ",\n\n{").replace("null", "7"),
            "f:4: entry 2: field data[1].text: expected a string, found 7",
        ),
        (
            broken("soco_doc\"}", "soco_doc\""),
            "f:2: entry 2: expected JSON, found an error (EOF while parsing an object)",
        ),
        (
            format!("[{DOCUMENT}"),
            "f:1: entry 2: expected `,` or `]`, found the end of the file",
        ),
        (
            format!("[{DOCUMENT},]"),
            "f:1: entry 2: expected an object, found `]`",
        ),
        (
            format!("[{DOCUMENT}]\n{FAQ}"),
            "f:2: entry 2: expected the end of the file, found `{`",
        ),
        (
            "\n\n7".to_owned(),
            "f:3: entry 1: expected an object, found `7`",
        ),
        (
            FAQ.replace("\"Why?\"", "7"),
            "f:1: entry 1: field data[0].questions[1]: expected a question: a string, or an object with `value`, found 7",
        ),
        (
            FAQ.replace("\"value\":\"A drink.\"", "\"v\":1"),
            "f:1: entry 1: field data[0].answer: missing field `value`",
        ),
    ] {
        assert_eq!(read(&text), Err(message.to_owned()), "{text}");
    }
    // Nothing follows an error.
    let mut reader = SocoReader::new(&b"7 8"[..], "f");
    assert!(reader.next().unwrap().is_err());
    assert!(reader.next().is_none());
}

#[test]
fn frames_round_trip() {
    let chunks = [
        Chunk::new(ChunkKind::Title, "Über Tee"),
        Chunk::new(ChunkKind::Content, "Tee ist grün. Ja, das ist er.").with_page(Some(3)),
    ];
    let mut frames = FrameConfig::default().convert("d1", &chunks).frames;
    frames[1]
        .questions
        .push(FrameQuestion::new("Wie?").with_displayable(false));
    frames[1].questions.push(FrameQuestion::generated("Was?"));
    frames[1].metadata.set("title", "Über Tee");
    let mut out = Vec::new();
    write_frames(&frames, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(
        text.lines().nth(1).unwrap(),
        r#"{"answer":{"value":"Tee ist grün.","context":"Über Tee Tee ist grün. Ja, das ist er.","answer_start":9,"displayable":false,"add_to_qa_index":true},"questions":[{"value":"Wie?","displayable":false},{"value":"Was?","displayable":false,"generated":true}],"meta":{"chunk_id":"d1/1","chunk_type":"content","doc_id":"d1","doc_title":"Über Tee","page":3,"title":"Über Tee"}}"#
    );
    for (line, frame) in text.lines().zip(&frames) {
        let mut read: Frame = serde_json::from_str::<SocoFrame>(line)
            .unwrap()
            .to_frame(&frame.id)
            .unwrap();
        // The fields of the record beside those of the frame.
        let added = ["chunk_id", "chunk_type", "doc_id", "doc_title", "page"];
        let fields = read.metadata.iter();
        let fields = fields.filter(|(name, _)| !added.contains(name));
        let fields: Attributes = fields.map(|(name, value)| (name, value.clone())).collect();
        read.metadata = fields;
        assert_eq!(&read, frame);
    }
    let moved = text
        .lines()
        .nth(1)
        .unwrap()
        .replace("\"answer_start\":9", "\"answer_start\":8");
    assert!(
        serde_json::from_str::<SocoFrame>(&moved)
            .unwrap()
            .to_frame("x")
            .is_err()
    );

    let entry = FaqEntry::new("A drink.");
    let frame = entry.to_frame("f/0", "f");
    assert!(frame.check().is_ok());
    assert_eq!(frame.context, "A drink.");
}

fn records() -> impl Strategy<Value = SocoDocument> {
    let kind = prop::sample::select(vec![
        ChunkKind::Title,
        ChunkKind::Section,
        ChunkKind::Content,
    ]);
    let chunk = (
        kind,
        prop::option::of("\\PC{0,10}"),
        prop::option::of("[a-z\"]{0,3}"),
    )
        .prop_map(|(kind, text, uid)| {
            let mut chunk = Chunk::default();
            (chunk.kind, chunk.text, chunk.uid) = (kind, text, uid);
            chunk
        });
    let meta = prop::collection::btree_map("[a-z\\\\{}]{1,4}", "\\PC{0,5}", 0..3)
        .prop_map(|fields| fields.into_iter().collect::<Attributes>());
    let question =
        ("\\PC{0,5}", any::<bool>(), any::<bool>()).prop_map(|(text, shown, generated)| {
            let mut question = FrameQuestion::new(text).with_displayable(shown);
            question.generated = generated;
            question
        });
    let entry = (
        "\\PC{0,10}",
        prop::collection::vec(question, 0..3),
        meta.clone(),
    )
        .prop_map(|(answer, questions, meta)| {
            let mut entry = FaqEntry::new(answer);
            (entry.questions, entry.meta) = (questions, meta);
            entry
        });
    let content = prop_oneof![
        prop::collection::vec(chunk, 0..4).prop_map(SocoContent::Document),
        prop::collection::vec(entry, 0..4).prop_map(SocoContent::Faq),
    ];
    (content, meta).prop_map(|(content, meta)| SocoDocument { content, meta })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_records_are_read_back(records in prop::collection::vec(records(), 0..4), cut in 0.0..1.0) {
        let mut out = Vec::new();
        write_records(&records, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        prop_assert_eq!(read(&text), Ok(records.clone()));
        // A truncated file is read to its last complete record, or is an error.
        let mut end = (text.len() as f64 * cut) as usize;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if let Ok(found) = read(&text[..end]) {
            prop_assert!(records.starts_with(&found));
        }
    }
}
