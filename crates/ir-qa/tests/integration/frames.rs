//! Documents to frames: worked examples, outputs of the published converter, a slow reference.

use std::time::{Duration, Instant};

use crate::common;
use ir_qa::frames::FrameConfig;
use ir_qa::sentences::{Language, SentenceSplitter};
use ir_qa::{Chunk, ChunkKind, byte_offset};
use proptest::prelude::*;

fn chunk(kind: ChunkKind, text: &str) -> Chunk {
    Chunk::new(kind, text)
}

fn contexts(chunks: &[Chunk]) -> Vec<(String, String, usize)> {
    let set = FrameConfig::default().convert("p", chunks);
    let frames = set.frames.into_iter();
    frames
        .map(|frame| (frame.answer, frame.context, frame.answer_start))
        .collect()
}

/// Document with the frames of `document_to_frames`: kind, answer, context, offset.
#[derive(serde::Deserialize)]
struct PublishedCase {
    language: Language,
    chunks: Vec<Chunk>,
    frames: Vec<(ChunkKind, String, String, usize)>,
}

#[test]
fn frames_are_the_published_ones() {
    let cases = include_str!("../../testdata/soco_frames.jsonl");
    let mut count = 0;
    for line in cases.lines() {
        let case: PublishedCase = serde_json::from_str(line).unwrap();
        let set = FrameConfig::new(case.language).convert("p", &case.chunks);
        count += set.frames.len();
        let frames = set.frames.into_iter();
        let found: Vec<_> = frames
            .map(|f| (f.kind, f.answer, f.context, f.answer_start))
            .collect();
        assert_eq!(found, case.frames);
    }
    assert_eq!(count, 568);
}

#[test]
fn titles_and_sections_precede_the_context() {
    // Output of soco-core-python 0.14.5 for this document.
    let chunks = [
        chunk(ChunkKind::Title, "My Title"),
        chunk(ChunkKind::Section, "Sec"),
        chunk(
            ChunkKind::Content,
            "One two. Three four five.\nSix\tseven eight\r nine. X y.",
        ),
    ];
    let context = "My Title Sec One two. Three four five. Sixseven eight nine.";
    let expected = [
        ("My Title", 0),
        ("Sec", 9),
        ("One two.", 13),
        ("Three four five.", 22),
        ("Sixseven eight nine.", 39),
    ];
    let expected = expected.map(|(answer, start)| (answer.to_owned(), context.to_owned(), start));
    assert_eq!(contexts(&chunks), expected);
    let set = FrameConfig::default().convert("p", &chunks);
    assert_eq!((set.dropped.too_short, set.dropped.too_long), (1, 0));
    let ids: Vec<&str> = set.frames.iter().map(|frame| frame.id.as_str()).collect();
    assert_eq!(ids, ["p/0/0", "p/1/0", "p/2/0", "p/2/1", "p/2/2"]);
}

#[test]
fn chinese_budget_is_75() {
    let sentence = |n: usize| format!("{}。", "茶".repeat(n));
    let text: String = [30, 31, 32, 33, 34].map(sentence).concat();
    let set = FrameConfig::new(Language::Chinese).convert("p", &[chunk(ChunkKind::Content, &text)]);
    // 34 + 33 < 75: a third sentence, which exceeds the budget.
    assert_eq!(
        set.frames[4].context,
        [31, 32, 33, 34].map(sentence).join(" ")
    );
    assert_eq!(set.frames[4].answer_start, (32 + 33 + 34) + 3);
}

#[test]
fn budgets_are_exceeded_by_the_last_piece_only() {
    let sentence = |letter: &str, n: usize| format!("X{}.", letter.repeat(n - 2));
    let pieces = [
        sentence("a", 10),
        sentence("b", 149),
        sentence("c", 20),
        sentence("d", 150),
        sentence("e", 9),
    ];
    let found = contexts(&[chunk(ChunkKind::Content, &pieces.join(" "))]);
    // Before: 149 characters leave 1 of 150. After: 150 leave none.
    assert_eq!(found[2].1, pieces[..4].join(" "));
    assert_eq!(found[2].2, 10 + 1 + 149 + 1);
    assert_eq!(found[3].1, pieces[1..].join(" "));
}

#[test]
fn sections_stop_the_context_before_and_titles_after() {
    let chunks = [
        chunk(ChunkKind::Content, "First one."),
        chunk(ChunkKind::Section, "Heading"),
        chunk(ChunkKind::Content, "Second one. Second one. Third one."),
        chunk(ChunkKind::Title, "Another"),
        chunk(ChunkKind::Content, "Fourth one."),
    ];
    let found = contexts(&chunks);
    let contexts: Vec<&str> = found
        .iter()
        .map(|(_, context, _)| context.as_str())
        .collect();
    assert_eq!(
        contexts,
        [
            "First one. Heading Second one. Second one. Third one.",
            "Heading Second one. Second one. Third one.",
            "Heading Second one. Second one. Third one.",
            "Heading Second one. Second one. Third one.",
            // Equal sentences count once before the answer.
            "Heading Second one. Third one.",
            // A title does not reset the section.
            "Heading Another Fourth one.",
            "Another Heading Fourth one.",
        ]
    );
    assert_eq!(found[3].2, 20, "answers may repeat text before them");
}

#[test]
fn lengths_are_limited_in_characters() {
    let lengths = |text: &str| {
        let set = FrameConfig::default().convert("p", &[chunk(ChunkKind::Content, text)]);
        (
            set.frames.len(),
            set.dropped.too_short,
            set.dropped.too_long,
        )
    };
    assert_eq!(lengths("üüü."), (0, 1, 0));
    assert_eq!(lengths("üüüü."), (1, 0, 0));
    assert_eq!(lengths(&"ü".repeat(500)), (1, 0, 0));
    assert_eq!(lengths(&"ü".repeat(501)), (0, 0, 1));
    assert_eq!(lengths(" \n"), (0, 0, 0));

    let chunks = [
        chunk(ChunkKind::Title, " \u{a0}"),
        chunk(ChunkKind::Section, &"x".repeat(501)),
        chunk(ChunkKind::Section, "A"),
        Chunk::default(),
        chunk(ChunkKind::Content, "Some text."),
    ];
    let set = FrameConfig::default().convert("p", &chunks);
    assert_eq!(set.frames.len(), 2);
    assert_eq!(set.frames[1].context, "A Some text.");
    assert_eq!((set.dropped.too_short, set.dropped.too_long), (1, 1));
}

#[test]
fn ids_are_unique() {
    let mut chunks = vec![chunk(ChunkKind::Content, "Some text."); 3];
    for chunk in &mut chunks {
        chunk.uid = Some("u".to_owned());
    }
    let set = FrameConfig::default().convert("p", &chunks);
    let ids: Vec<&str> = set.frames.iter().map(|frame| frame.id.as_str()).collect();
    assert_eq!(ids, ["p/u/0", "p/u/0-2", "p/u/0-3"]);
}

#[test]
fn repeated_sentences_take_linear_time() {
    let start = Instant::now();
    let text = "Same text. Other text. ".repeat(100_000);
    let set = FrameConfig::default().convert("p", &[chunk(ChunkKind::Content, &text)]);
    assert_eq!(set.frames.len(), 200_000);
    // Quadratic time would be an hour.
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// Context and offset of every frame, computed for each on its own, as the rules are stated.
fn reference(config: &FrameConfig, chunks: &[Chunk]) -> Vec<(String, String, usize)> {
    let splitter = SentenceSplitter::new(Language::English);
    let mut list: Vec<(ChunkKind, String)> = Vec::new();
    for chunk in chunks {
        let Some(text) = &chunk.text else { continue };
        let text = text
            .replace(['\n', '\u{a0}'], " ")
            .replace(['\r', '\t'], "");
        if chunk.kind == ChunkKind::Content {
            for range in splitter.split(&text) {
                let length = text[range.clone()].chars().count();
                if (config.min_length..=config.max_length).contains(&length) {
                    list.push((chunk.kind, text[range].to_owned()));
                }
            }
        } else if !text.trim().is_empty() && text.chars().count() <= config.max_length {
            list.push((chunk.kind, text));
        }
    }
    let length = |text: &str| text.chars().count() as i64;
    let mut frames = Vec::new();
    for (at, (kind, answer)) in list.iter().enumerate() {
        let last = |wanted| {
            let found = list[..=at].iter().rev().find(|(kind, _)| *kind == wanted);
            found
                .map(|(_, text)| text.as_str())
                .filter(|text| text != answer)
        };
        let mut previous: Vec<&str> = Vec::new();
        let mut budget = if *kind == ChunkKind::Content {
            config.budget as i64
        } else {
            0
        };
        let mut back = at;
        while budget > 0 && back > 0 && list[back - 1].0 == ChunkKind::Content {
            back -= 1;
            let text = list[back].1.as_str();
            if !previous.contains(&text) {
                budget -= length(text);
                previous.push(text);
            }
        }
        previous.extend(last(ChunkKind::Section));
        previous.extend(last(ChunkKind::Title));
        previous.reverse();
        let mut next = Vec::new();
        let mut budget = config.budget as i64;
        for (kind, text) in &list[at + 1..] {
            if budget <= 0 || *kind == ChunkKind::Title {
                break;
            }
            budget -= length(text);
            next.push(text.as_str());
        }
        let before = previous.join(" ");
        let start = if previous.is_empty() {
            0
        } else {
            length(&before) as usize + 1
        };
        let pieces: Vec<&str> = previous
            .into_iter()
            .chain([answer.as_str()])
            .chain(next)
            .collect();
        frames.push((answer.clone(), pieces.join(" "), start));
    }
    frames
}

fn documents() -> impl Strategy<Value = Vec<Chunk>> {
    let sentence = prop_oneof![
        "[A-C][a-z]{2,8}\\.",
        "[A-C][a-zä茶 ]{0,60}[.?!]",
        Just("Same text.".to_owned()),
        Just("A. Name e.g. X.\u{a0}".to_owned()),
    ];
    let text = prop::collection::vec(
        (
            sentence,
            prop::sample::select(vec![" ", "\n", "  ", "\r\n", "\t"]),
        ),
        0..8,
    )
    .prop_map(|parts| {
        parts
            .into_iter()
            .map(|(text, space)| text + space)
            .collect::<String>()
    });
    let kind = prop::sample::select(vec![
        ChunkKind::Title,
        ChunkKind::Section,
        ChunkKind::Content,
        ChunkKind::Content,
    ]);
    let chunk = (kind, prop::option::weighted(0.95, text)).prop_map(|(kind, text)| {
        let mut chunk = Chunk::default();
        (chunk.kind, chunk.text) = (kind, text);
        chunk
    });
    prop::collection::vec(chunk, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_equal_the_reference(chunks in documents(), budget in 0_usize..200) {
        let mut config = FrameConfig::default();
        config.budget = budget;
        let set = config.convert("p", &chunks);
        for frame in &set.frames {
            let start = byte_offset(&frame.context, frame.answer_start).unwrap();
            prop_assert!(frame.context[start..].starts_with(&frame.answer));
            prop_assert!(frame.check().is_ok());
        }
        let found: Vec<_> = set.frames.into_iter().map(|f| (f.answer, f.context, f.answer_start)).collect();
        prop_assert_eq!(found, reference(&config, &chunks));
    }
}

/// Contexts of the collection `squad/sentences` are those of frames without a limit of length.
#[test]
fn contexts_of_squad_are_those_of_frames() {
    let Some(catalog) = common::squad("squad") else {
        return;
    };
    let mut chunks: Vec<Chunk> = Vec::new();
    let documents = catalog.corpus().docs().unwrap();
    let mut title = String::new();
    for document in documents {
        let document = document.unwrap();
        if document.title != title {
            title.clone_from(&document.title);
            chunks.push(chunk(ChunkKind::Title, &title));
        }
        chunks.push(chunk(ChunkKind::Content, &document.text));
    }
    let mut config = FrameConfig::default();
    config.min_length = 1;
    config.max_length = usize::MAX;
    let frames = config.convert("p", &chunks).frames.into_iter();
    let frames = frames.filter(|frame| frame.kind == ChunkKind::Content);
    let frames: Vec<(String, String)> = frames.map(|frame| (frame.answer, frame.context)).collect();

    let normalized = |text: &str| {
        text.replace(['\n', '\u{a0}'], " ")
            .replace(['\r', '\t'], "")
    };
    let sentences = common::squad("squad/sentences").unwrap();
    let sentences = sentences.corpus().docs().unwrap().map(|document| {
        let document = document.unwrap();
        let context = document.attributes.text("context").unwrap();
        (normalized(&document.text), normalized(context))
    });
    let sentences: Vec<(String, String)> = sentences.collect();
    assert_eq!(sentences.len(), frames.len());
    for (sentence, frame) in sentences.iter().zip(&frames) {
        assert_eq!(sentence, frame);
    }
}

/// Copies of the attributes would take the product of their size and the number of frames.
#[test]
fn frames_of_a_paper_share_its_attributes() {
    let mut paper = ir_qa::documents::Paper::new("p");
    paper.authors = (0..5000).map(|n| format!("Author {n}")).collect();
    paper.push_paragraph(&"Tea is good. ".repeat(20_000), None);
    let frames = FrameConfig::default().convert_paper(&paper).frames;
    assert_eq!(frames.len(), 20_000);
    let authors = |frame: &ir_qa::Frame| std::ptr::from_ref(frame.metadata.get("authors").unwrap());
    assert!(
        frames
            .iter()
            .all(|frame| authors(frame) == authors(&frames[0]))
    );
}
