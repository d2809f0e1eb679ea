//! Readers: worked spans, properties, measures, SQuAD.

use crate::common;
use ir_qa::reader::{
    AnswerSpan, LexicalReader, Reader, ReaderInput, exact_match, normalized_answer, token_f1,
};
use ir_qa::{ChunkKind, Frame, character_count};
use proptest::prelude::*;

fn best(question: &str, context: &str) -> String {
    let spans = LexicalReader::default()
        .read(&[ReaderInput::new(question, context)], 1)
        .unwrap();
    spans[0]
        .first()
        .map_or("", |span| span.text(context))
        .to_owned()
}

#[test]
fn worked_spans() {
    let bridge = "The old bridge in Florence was built in 1890 by Anna Bruni for 300 people.";
    for (question, expected) in [
        ("When was the bridge built?", "1890"),
        ("Who built the bridge?", "Anna Bruni"),
        ("Where was the bridge built?", "Florence"),
        ("How many people was the bridge built for?", "300"),
    ] {
        assert_eq!(best(question, bridge), expected, "{question}");
    }
    assert_eq!(
        best("What is grün?", "Über Tee. Grün ist die Hoffnung."),
        "ist die Hoffnung"
    );
    // Nothing but words of the question, and nothing at all.
    assert_eq!(best("Tea?", "Tea."), "");
    assert_eq!(best("", ""), "");
}

#[test]
fn spans_lie_in_the_answer_of_a_frame() {
    let context = "Anna built a house in 1850. Bruno built a bridge in 1890.";
    let start = context.find("Bruno").unwrap();
    let frame = Frame::new(
        "f",
        "p",
        ChunkKind::Content,
        context,
        start,
        &context[start..],
    )
    .unwrap();
    let reader = LexicalReader::default();
    let spans = reader
        .read(&[frame.reader_input("Who built a house?")], 10)
        .unwrap();
    assert_eq!(spans[0][0].text(context), "Bruno");
    assert!(spans[0].iter().all(|span| span.characters.start >= start));
    // Beyond the end.
    let input = ReaderInput::new("Who built a house?", context).within(50..1000);
    assert_eq!(
        reader.read(&[input], 1).unwrap()[0][0].text(context),
        "1890"
    );
    let input = ReaderInput::new("Who built a house?", context).within(1000..1010);
    assert!(reader.read(&[input], 1).unwrap()[0].is_empty());
    let span = AnswerSpan {
        characters: 50..1000,
        score: 0.0,
    };
    assert_eq!(span.text(context), "");
}

/// The time must not grow with the product of both lengths.
#[test]
fn long_questions_and_contexts() {
    let words: Vec<String> = (0..100_000).map(|n| format!("w{n}")).collect();
    let text = words.join(" ");
    let spans = LexicalReader::default()
        .read(&[ReaderInput::new(&text, &text)], 3)
        .unwrap();
    assert_eq!(spans[0].len(), 3);
    assert!(
        spans[0]
            .iter()
            .all(|span| span.text(&text).starts_with("w6"))
    );
}

/// Values of the official script, evaluate-v1.1.py.
#[test]
fn measures_of_squad() {
    for (text, expected) in [
        ("The  Denver Broncos", "denver broncos"),
        ("a.m.", "am"),
        ("An-theme", "antheme"),
        ("the", ""),
        ("24–10", "24–10"),
        ("Theatre the A", "theatre"),
    ] {
        assert_eq!(normalized_answer(text), expected);
    }
    assert!(exact_match("broncos!", &["x", "The Broncos"]));
    assert_eq!(token_f1("a b b c", &["b b d"]), 2.0 / 3.0);
    assert_eq!(token_f1("x", &["b", "x y"]), 2.0 / 3.0);
    assert_eq!(token_f1("the", &["the"]), 0.0);
}

proptest! {
    #[test]
    fn spans_are_in_range(
        question in "(who|when|how many|where|what) [a-cé ]{0,12}",
        context in "([a-cA-Cé0-9茶]{1,4}[ ,.'()-]{1,2}){0,30}",
        start in 0_usize..60,
        length in 0_usize..60,
        n_best in 0_usize..5,
    ) {
        let reader = LexicalReader::default();
        let range = start..start + length;
        let inputs = [
            ReaderInput::new(&question, &context),
            ReaderInput::new(&question, &context).within(range.clone()),
        ];
        let spans = reader.read(&inputs, n_best).unwrap();
        prop_assert_eq!(&spans, &reader.read(&inputs, n_best).unwrap());
        for spans in &spans {
            prop_assert!(spans.len() <= n_best);
            prop_assert!(spans.windows(2).all(|pair| pair[0].score >= pair[1].score));
            for span in spans {
                prop_assert!(span.characters.start < span.characters.end);
                prop_assert!(span.characters.end <= character_count(&context));
                prop_assert!(!span.text(&context).is_empty());
            }
        }
        let is_inside = |span: &AnswerSpan| span.characters.start >= range.start && span.characters.end <= range.end;
        prop_assert!(spans[1].iter().all(is_inside));
    }
}

/// Exact match and F1 on SQuAD's development set, with paragraphs and with the sentences of the
/// first answer.
#[test]
fn squad() {
    use ir_data::sentences::SentenceSplitter;
    if common::squad("squad").is_none() {
        return;
    }
    let folder = std::env::var_os("IR_DATA").unwrap();
    let path = std::path::Path::new(&folder).join("squad/dev-v1.1.json.zst");
    let squad = ir_data::squad::SquadFile::new(path).read().unwrap();
    let reader = LexicalReader::default();
    let splitter = SentenceSplitter::default();
    let mut sums = [[0.0_f64; 2]; 2];
    let mut count = 0.0;
    for paragraph in squad
        .articles
        .iter()
        .flat_map(|article| &article.paragraphs)
    {
        let context = paragraph.context.as_str();
        let sentences: Vec<_> = splitter.split(context).collect();
        let characters = |bytes: usize| character_count(&context[..bytes]);
        for question in &paragraph.questions {
            let answers: Vec<&str> = question.answers.iter().map(|it| it.text.as_str()).collect();
            let start = question.answers[0].start;
            let sentence = sentences
                .iter()
                .rev()
                .find(|range| characters(range.start) <= start);
            let sentence = sentence.unwrap();
            let sentence = characters(sentence.start)..characters(sentence.end);
            let inputs = [
                ReaderInput::new(&question.text, context),
                ReaderInput::new(&question.text, context).within(sentence),
            ];
            let spans = reader.read(&inputs, 1).unwrap();
            for (sums, spans) in sums.iter_mut().zip(&spans) {
                let text = spans.first().map_or("", |span| span.text(context));
                sums[0] += f64::from(u8::from(exact_match(text, &answers)));
                sums[1] += token_f1(text, &answers);
            }
            count += 1.0;
        }
    }
    let percent = sums.map(|sums| sums.map(|sum| 100.0 * sum / count));
    // As in the documentation of the module.
    for (found, expected) in percent.iter().flatten().zip([20.81, 30.44, 24.93, 37.99]) {
        assert!((found - expected).abs() < 0.005, "{percent:?}");
    }
    for (name, [exact, f1]) in ["paragraph", "sentence"].iter().zip(percent) {
        eprintln!("{name}: exact match {exact:.2}, F1 {f1:.2}, {count} questions");
    }
}
