//! Articles, answers and errors of SQuAD.

use ir_data::DataError;
use ir_data::squad::Squad;
use serde_json::json;

#[test]
fn squad_files() {
    let file = |answer: &str, start: usize, second: &str| {
        let question = |id: &str| {
            format!(
                "{{\"id\": \"{id}\", \"question\": \"?\", \"answers\": [{{\"text\": \"{answer}\", \"answer_start\": {start}}}]}}"
            )
        };
        let paragraphs = format!(
            "[{{\"context\": \"grün ist Tee\", \"qas\": [{}, {}]}}]",
            question("a"),
            question(second)
        );
        let text = format!("{{\"data\": [{{\"title\": \"T_x\", \"paragraphs\": {paragraphs}}}]}}");
        Squad::read(text.as_bytes(), "f")
    };
    let squad = file("Tee", 9, "b").unwrap();
    assert_eq!(squad.documents()[0].title, "T x");
    assert_eq!(squad.queries().len(), 2);
    assert_eq!(squad.qrels().grade("b", "T_x/0"), Some(1));
    for start in [10, 999] {
        let error = file("Tee", start, "b").unwrap_err();
        assert!(matches!(error, DataError::Syntax { .. }));
    }
    let error = file("Tee", 9, "a").unwrap_err();
    assert!(matches!(error, DataError::RepeatedId { .. }));
    // Errors name the line, also of equal questions.
    let question = |answers: &str| {
        format!("\n\n{{\"id\": \"a\", \"question\": \"?\",\n\"answers\": [{answers}]}}")
    };
    let lines = |answers: &str| {
        let (one, two) = (question(""), question(answers));
        let text = format!(
            "{{\"data\": [{{\"title\": \"T\", \"paragraphs\": [{{\"context\": \"tea\", \"qas\": [{one},{two}]}}]}}]}}"
        );
        Squad::read(text.as_bytes(), "f").unwrap_err().to_string()
    };
    assert_eq!(
        lines(""),
        "f:6: expected a unique id, found \"a\", which is also on line 3"
    );
    let error = Squad::read(&b"{}"[..], "f").unwrap_err();
    assert!(matches!(error, DataError::Json { .. }));
}

/// Sentences of two entries of an article, of which the second has a repeated sentence.
#[test]
fn squad_sentences() {
    let text = r#"{"data": [
        {"title": "On_tea", "paragraphs": [{"context": "Tee ist grün. Tea is a drink.\nIt is old.",
         "qas": [
            {"id": "a", "question": "What?", "answers": [
                {"text": "old", "answer_start": 36}, {"text": "grün", "answer_start": 8},
                {"text": " Tea", "answer_start": 13}, {"text": "drink", "answer_start": 23}]},
            {"id": "b", "question": "Why?", "answers": []}]}]},
        {"title": "Milk", "paragraphs": [{"context": "Milk is white.", "qas": []}]},
        {"title": "On_tea", "paragraphs": [{"context": "It is old. It is hot. (It is old.)",
         "qas": [{"id": "c", "question": "Who?", "answers": [
            {"text": "hot", "answer_start": 17}, {"text": "hot", "answer_start": 17}]}]}]}]}"#;
    let squad = Squad::read(text.as_bytes(), "f").unwrap();
    let sentences = squad.answer_sentences();
    let ids: Vec<&str> = sentences.documents.iter().map(|doc| &*doc.id).collect();
    let expected = "On_tea/0/0 On_tea/0/1 On_tea/0/2 On_tea/1/0 On_tea/1/1 On_tea/1/2 Milk/0/0";
    assert_eq!(ids.join(" "), expected);
    let hot = &sentences.documents[4];
    assert_eq!((&*hot.title, &*hot.text), ("On tea", "It is hot."));
    assert_eq!(
        hot.attributes.text("context"),
        Some("On tea Tee ist grün. Tea is a drink. It is old. It is hot. (It is old.)")
    );
    let queries = sentences.queries.iter();
    let queries: Vec<(&str, &str)> = queries.map(|query| (&*query.id, &*query.text)).collect();
    let asked = ["a", "a#2", "a#3"].map(|id| (id, "What?"));
    assert_eq!(
        queries,
        [&asked[..], &[("b", "Why?"), ("c", "Who?")]].concat()
    );
    for (query, doc) in [("a", 0), ("a#2", 1), ("a#3", 2), ("c", 4)] {
        assert_eq!(sentences.pairs.grade(query, ids[doc]), Some(1));
    }
    assert_eq!(sentences.pairs.judgments(), 4);
    for doc in &ids[..3] {
        assert_eq!(sentences.questions.grade("a", doc), Some(1));
    }
    let questions = &sentences.questions;
    assert_eq!((questions.len(), questions.judgments()), (2, 4));
}

/// Of every eight articles, five train, one validates and two test; an article in two entries is
/// one article.
#[test]
fn squad_splits_by_article() {
    let article = |n: usize| {
        json!({"title": format!("T{n}"), "paragraphs": [{"context": "Tea.", "qas": [
            {"id": format!("q{n}"), "question": "What?",
             "answers": [{"text": "Tea", "answer_start": 0}]}]}]})
    };
    let mut articles: Vec<_> = (0..17).map(article).collect();
    articles.insert(8, {
        let mut again = article(0);
        again["paragraphs"][0]["qas"][0]["id"] = "again".into();
        again
    });
    let file = json!({"data": articles}).to_string();
    let squad = Squad::read(file.as_bytes(), "f").unwrap();
    let sentences = squad.answer_sentences();
    let mut all = 0;
    for (split, expected) in [
        ("test", "q6 q7 q14 q15"),
        ("validation", "q5 q13"),
        ("train", "q0 again q1 q2 q3 q4 q8 q9 q10 q11 q12 q16"),
    ] {
        let mut expected: Vec<&str> = expected.split(' ').collect();
        let pairs = &sentences.by_article[split];
        all += pairs.len();
        assert_eq!(pairs.judgments(), expected.len(), "{split}");
        for id in &expected {
            assert!(pairs.get(id).is_some(), "{split}: {id}");
        }
        let questions = squad.articles_of(split).queries();
        let mut ids: Vec<&str> = questions.iter().map(|it| &*it.id).collect();
        ids.sort_unstable();
        expected.sort_unstable();
        assert_eq!(ids, expected);
    }
    assert_eq!(all, sentences.pairs.len());
    assert!(squad.articles_of("dev").articles.is_empty());
}

/// Each side of the context stops as soon as it has 150 characters.
#[test]
fn squad_context_budget() {
    for (nearby, first) in [(50, 1), (49, 0)] {
        let texts = [40, nearby, 100, 75, 149, 9, 9].into_iter().enumerate();
        let texts: Vec<String> = texts
            .map(|(n, length)| format!("{n}{}.", "ü".repeat(length - 2)))
            .collect();
        let paragraphs = json!([{"context": texts.join(" "), "qas": []}]);
        let file = json!({"data": [{"title": "T", "paragraphs": paragraphs}]});
        let squad = Squad::read(file.to_string().as_bytes(), "f").unwrap();
        let documents = squad.answer_sentences().documents;
        assert_eq!(documents.len(), 7);
        let expected = format!("T {}", texts[first..6].join(" "));
        assert_eq!(
            documents[3].attributes.text("context"),
            Some(expected.as_str())
        );
    }
}
