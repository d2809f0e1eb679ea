//! Questions that are frequently asked, and generated ones.

use ir_qa::questions::RuleQuestions;
use ir_qa::soco::SocoReader;

use super::*;

fn record_of_json(text: &str) -> SocoDocument {
    let mut reader = SocoReader::new(text.as_bytes(), "faq.json");
    reader.next().unwrap().unwrap()
}

/// Every question of an FAQ returns its answer first, with and without an encoder.
#[test]
fn questions_of_an_faq_find_their_answers() {
    let entries = [
        ("Post it to the desk.", "How do I submit?"),
        ("Two referees each.", "Who reads papers?"),
        ("Eight pages.", "What length is allowed?"),
        ("Ask the chairs.", "Can I get an extension?"),
        ("Any with open weights.", "Which models may I use?"),
        ("Only abstracts count.", "Does my title matter?"),
    ];
    let data = (0..).zip(&entries).map(|(number, (answer, question))| {
        let displayable = number % 2 == 0;
        format!(
            r#"{{"answer": {{"value": {answer:?}}}, "questions": [{{"value": {question:?}, "displayable": {displayable}}}]}}"#
        )
    });
    let data: Vec<String> = data.collect();
    let record = format!(
        r#"{{"doc_type": "soco_faq", "data": [{}], "meta": {{"doc_id": "faq"}}}}"#,
        data.join(", ")
    );
    for has_encoder in [false, true] {
        let folder = TempDir::new().unwrap();
        let mut config = ServiceConfig::new(folder.path());
        if has_encoder {
            config = config.with_encoder("letters", Arc::new(CountingEncoder::default()));
        }
        let service = opened(config);
        service.add(vec![record_of_json(&record)]).unwrap();
        publish(&service);
        for (answer, question) in entries {
            let list = service.ask(&Question::new(question, 1)).unwrap();
            assert_eq!(list.answers[0].frame.answer, answer, "{question}");
        }
        let shown = suggested(&service, "how do");
        assert_eq!(shown, ["How do I submit?"]);
        assert!(suggested(&service, "who reads").is_empty());
    }
}

/// Blank answers and questions are left out, and long questions and titles are not repeated.
#[test]
fn blank_entries_and_long_texts_of_an_faq() {
    let long = "tea ".repeat(200);
    let record = record_of_json(&format!(
        r#"{{"doc_type": "soco_faq", "meta": {{"doc_id": "faq", "title": "{long}"}}, "data": [
            {{"answer": {{"value": " \n"}}, "questions": ["Blank tea?"]}},
            {{"answer": {{"value": "Hot."}}, "questions": [" ", "Is tea hot?", "Is {long}hot?"]}}]}}"#
    ));
    let (_data, service) = empty_service();
    service.add(vec![record]).unwrap();
    publish(&service);
    let state = service.published().unwrap();
    let document = state.document("faq").unwrap();
    assert_eq!(document.title(), &long[..500]);
    let dropped = document.dropped;
    assert_eq!((dropped.too_short, dropped.too_long), (1, 0));
    let [frame] = state.index().frames() else {
        panic!("{:?}", state.index().frames());
    };
    assert_eq!((&*frame.answer, frame.questions.len()), ("Hot.", 2));
    assert_eq!(suggested(&service, "is tea"), ["Is tea hot?"]);
    let list = service.ask(&Question::new("hot tea", 1)).unwrap();
    let related: Vec<&str> = list.related.iter().map(|it| &*it.text).collect();
    assert_eq!(related, ["Is tea hot?"]);
}

/// Generated questions are suggested after questions of annotators, and are related questions, both
/// marked, also without an encoder. Without an encoder they do not change the answers.
#[test]
fn generated_questions_are_suggested_and_related() {
    let folder = TempDir::new().unwrap();
    let questions = ServiceQuestions {
        generator: Arc::new(RuleQuestions::default()),
        file: None,
    };
    let service = opened(ServiceConfig {
        questions: Some(questions),
        ..ServiceConfig::new(folder.path())
    });
    let text = "The bridge was finished in 1890. It is long.";
    add(&service, "bridge", text);
    let faq = r#"{"doc_type": "soco_faq", "meta": {"doc_id": "faq"},
        "data": [{"answer": {"value": "In May."}, "questions": ["When was the roof built?"]}]}"#;
    service.add(vec![record_of_json(faq)]).unwrap();
    publish(&service);
    let found = service.complete("when was", 5).unwrap();
    let found: Vec<_> = found.iter().map(|it| (&*it.text, it.generated)).collect();
    assert_eq!(
        found,
        [
            ("When was the roof built?", false),
            ("When was the bridge finished?", true)
        ]
    );
    let list = service
        .ask(&Question::new("When was the bridge finished?", 1))
        .unwrap();
    assert_eq!(
        list.answers[0].frame.answer,
        "The bridge was finished in 1890."
    );
    let related = |list: &AnswerList| -> Vec<(String, bool)> {
        let related = list.related.iter();
        related.map(|it| (it.text.clone(), it.generated)).collect()
    };
    let of_annotator = ("When was the roof built?".to_owned(), false);
    let [when, what] = [
        "When was the bridge finished?",
        "What was finished in 1890?",
    ]
    .map(|question| (question.to_owned(), true));
    // "When" alone relates no questions.
    assert_eq!(related(&list), std::slice::from_ref(&what));
    let list = service.ask(&Question::new("When was the bridge finished and built?", 1));
    assert_eq!(related(&list.unwrap()), [when, of_annotator, what]);
}
