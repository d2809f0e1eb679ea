//! Natural Questions, MS MARCO QA and TriviaQA: paragraphs, answers, detection and errors.

use std::fs;

use ir_data::squad::{
    ConvertedQuestions, QuestionFormat, Squad, SquadFile, SquadSentences, read_ms_marco_qa,
    read_natural_questions, read_trivia_qa,
};
use ir_data::{DataError, JudgedQueries, open_path_or_name};
use serde_json::{Value, json};

fn range(start: i64, end: i64) -> Value {
    json!({"start_token": start, "end_token": end})
}

/// Tokens of a long answer and of its short answers.
type Annotation<'a> = ((i64, i64), &'a [(i64, i64)]);

/// Example of Natural Questions.
fn example(id: i64, text: &str, annotations: &[Annotation<'_>]) -> String {
    let annotation = |((start, end), short): &Annotation<'_>| {
        let short: Vec<Value> = short
            .iter()
            .map(|&(start, end)| range(start, end))
            .collect();
        json!({"long_answer": range(*start, *end), "short_answers": short, "yes_no_answer": "NONE"})
    };
    let annotations: Vec<Value> = annotations.iter().map(annotation).collect();
    let example = json!({
        "document_text": text, "long_answer_candidates": [], "question_text": "what is tea",
        "annotations": annotations, "example_id": id,
        "document_url": "https://en.wikipedia.org//w/index.php?title=Green_tea&amp;oldid=1",
    });
    format!("{example}\n")
}

const TEXT: &str = "<H1> Tea </H1> <P> Grün <b> tea </b> is a drink . </P> <P> It is old . </P>";

fn answers(squad: &Squad) -> Vec<(&str, usize, &str)> {
    let paragraphs = squad
        .articles
        .iter()
        .flat_map(|article| &article.paragraphs);
    let questions = paragraphs.flat_map(|paragraph| &paragraph.questions);
    let answers = questions.flat_map(|question| {
        let answers = question.answers.iter();
        answers.map(move |answer| (question.id.as_str(), answer.start, answer.text.as_str()))
    });
    answers.collect()
}

/// Every answer is at its offset, as in SQuAD.
fn check_offsets(found: &ConvertedQuestions) {
    for paragraph in found.squad.articles.iter().flat_map(|it| &it.paragraphs) {
        for answer in paragraph.questions.iter().flat_map(|it| &it.answers) {
            let rest: String = paragraph.context.chars().skip(answer.start).collect();
            assert!(rest.starts_with(&answer.text), "{answer:?}");
        }
    }
}

#[test]
fn natural_questions() {
    let lines = [
        // Two of three annotators chose the first paragraph; HTML is no part of the answer.
        example(
            7,
            TEXT,
            &[
                ((13, 19), &[(16, 17)]),
                ((3, 13), &[(4, 8)]),
                ((3, 13), &[(8, 10)]),
            ],
        ),
        // The first of equally frequent paragraphs, without a short answer in it.
        example(8, TEXT, &[((13, 19), &[]), ((3, 13), &[(4, 5)])]),
        example(9, TEXT, &[((-1, -1), &[])]),
    ];
    let found = read_natural_questions(lines.concat().as_bytes(), "nq").unwrap();
    check_offsets(&found);
    let documents = found.squad.documents();
    let texts: Vec<&str> = documents.iter().map(|doc| &*doc.text).collect();
    assert_eq!(texts, ["Grün tea is a drink .", "It is old ."]);
    assert_eq!(
        (&*documents[0].id, &*documents[0].title),
        ("Green_tea/0", "Green tea")
    );
    assert_eq!(
        answers(&found.squad),
        [("7", 0, "Grün tea"), ("7", 9, "is a")]
    );
    assert_eq!(found.squad.qrels().grade("8", "Green_tea/1"), Some(1));
    assert_eq!(found.unanswered, 1);

    let error = |line: String| {
        let error = read_natural_questions(line.as_bytes(), "nq").unwrap_err();
        error.to_string()
    };
    let html = json!({"document_html": "<p>", "question_text": "", "example_id": 1});
    let html = error(html.to_string());
    assert!(
        html.starts_with("nq:1: expected document_text, as in the simplified form"),
        "{html}"
    );
    let outside = error([example(1, TEXT, &[]), example(2, TEXT, &[((3, 99), &[])])].concat());
    assert!(
        outside.starts_with("nq:2: expected start_token before end_token"),
        "{outside}"
    );
    assert!(outside.contains("3 and 99 of 19 tokens"), "{outside}");
    let backwards = error(example(1, TEXT, &[((3, 13), &[(5, 4)])]));
    assert!(
        backwards.starts_with("nq:1: expected start_token"),
        "{backwards}"
    );
    let twice = error([example(1, TEXT, &[]), example(1, TEXT, &[])].concat());
    assert!(twice.contains("nq:2: expected a unique id"), "{twice}");
    assert!(error("{}".to_owned()).contains("question_text"));
    assert!(
        error(json!({"question_text": "", "example_id": 1}).to_string()).contains("document_text")
    );
}

fn passage(selected: i64, text: &str, url: &str) -> Value {
    json!({"is_selected": selected, "passage_text": text, "url": url})
}

#[test]
fn ms_marco() {
    let passages = [
        passage(0, "Tea from Asia is white.", "http://a.example/0"),
        passage(1, "It is a drink.", "http://a.example/1"),
        passage(1, "Tea came from ASIA.", "http://a.example/2"),
    ];
    let rows = [
        (
            json!(10),
            "where is tea from",
            json!(["Asia"]),
            &passages[..],
        ),
        (
            json!(11),
            "what is tea",
            json!(["Something hot."]),
            &passages[..2],
        ),
        (
            json!(12),
            "why",
            json!(["No Answer Present."]),
            &passages[1..2],
        ),
    ];
    let lines = rows.iter().map(|(id, query, answers, passages)| {
        let row = json!({"query_id": id, "query": query, "answers": answers, "passages": passages});
        format!("{row}\n")
    });
    let lines = lines.collect::<String>();
    let found = read_ms_marco_qa(lines.as_bytes(), "marco").unwrap();
    check_offsets(&found);
    assert_eq!(answers(&found.squad), [("10", 14, "ASIA")]);
    let qrels = found.squad.qrels();
    assert_eq!(qrels.grade("10", "http://a.example/2/0"), Some(1));
    assert_eq!(qrels.grade("11", "http://a.example/1/0"), Some(1));
    assert_eq!((found.squad.documents().len(), found.unanswered), (3, 1));

    // Version 2.1 has an object for each column. Row 10 follows row 9.
    let column = |value: &dyn Fn(usize) -> Value| {
        let keys = ["9", "10", "11"].iter().enumerate();
        Value::Object(keys.map(|(n, key)| ((*key).to_owned(), value(n))).collect())
    };
    let columns = json!({
        "answers": column(&|n| rows[n].2.clone()), "passages": column(&|n| json!(rows[n].3)),
        "query": column(&|n| rows[n].1.into()), "query_id": column(&|n| rows[n].0.clone()),
        "wellFormedAnswers": column(&|_| "[]".into()),
    });
    for text in [
        columns.to_string(),
        serde_json::to_string_pretty(&columns).unwrap(),
    ] {
        assert_eq!(read_ms_marco_qa(text.as_bytes(), "marco").unwrap(), found);
    }
    let mut without_id = columns.clone();
    (without_id["query_id"].as_object_mut().unwrap()).remove("10");
    let error = read_ms_marco_qa(without_id.to_string().as_bytes(), "marco").unwrap_err();
    assert_eq!(
        error.to_string(),
        "marco:1: expected an id of each row in the column query_id, found \"10\""
    );
    let mut short = columns;
    short["query"].as_object_mut().unwrap().remove("10");
    let error = read_ms_marco_qa(short.to_string().as_bytes(), "marco").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a value of each row in the columns query"),
        "{error}"
    );
    let error = read_ms_marco_qa([&*lines, &*lines].concat().as_bytes(), "marco").unwrap_err();
    assert!(
        error.to_string().contains("marco:4: expected a unique id"),
        "{error}"
    );
    let error = read_ms_marco_qa(&b"{\"query_id\": 1}"[..], "marco").unwrap_err();
    assert!(matches!(error, DataError::Json { .. }), "{error}");
}

fn trivia() -> Value {
    json!({"Data": [
        {"Question": "Where is tea from?", "QuestionId": "tc_1",
         "Answer": {"Value": "Asia", "Aliases": ["Asia", "The East"], "Type": "WikipediaEntity"},
         "EntityPages": [{"Title": "Tea", "Filename": "Tea.txt", "DocSource": "TagMe"}],
         "SearchResults": [{"Title": "On tea", "Filename": "1/1_2.txt"}, {"Title": "No page"}]},
        {"Question": "What is milk?", "QuestionId": "tc_2", "Answer": {"Value": "White"},
         "EntityPages": [{"Title": "Tea", "Filename": "Tea.txt"}]},
    ], "Domain": "Wikipedia", "Version": 1.0})
}

#[test]
fn trivia_qa() {
    let evidence = |path: &str| match path {
        "wikipedia/Tea.txt" => Ok("Tea is a drink.\r\n\nIt came from the east.".to_owned()),
        "web/1/1_2.txt" => Ok("Asia.\n".to_owned()),
        other => panic!("{other}"),
    };
    let read = |file: &Value| read_trivia_qa(file.to_string().as_bytes(), "dev", evidence);
    let found = read(&trivia()).unwrap();
    check_offsets(&found);
    assert_eq!(answers(&found.squad), [("tc_1", 13, "the east")]);
    let ids: Vec<String> = found
        .squad
        .documents()
        .into_iter()
        .map(|doc| doc.id)
        .collect();
    assert_eq!(ids, ["Tea/0", "Tea/1", "On_tea/0"]);
    assert_eq!(found.unanswered, 1);

    let mut outside = trivia();
    for name in ["../../secret", "/etc/passwd", ""] {
        outside["Data"][0]["EntityPages"][0]["Filename"] = name.into();
        let error = read(&outside).unwrap_err().to_string();
        assert!(
            error.starts_with("dev:1: expected a Filename below the folder"),
            "{error}"
        );
    }
    let mut twice = trivia();
    twice["Data"][1]["QuestionId"] = "tc_1".into();
    assert!(matches!(
        read(&twice).unwrap_err(),
        DataError::RepeatedId { .. }
    ));
}

/// Files are recognized by their content and open as sentences with splits.
#[test]
fn files_by_path() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let squad = r#"{"data": [{"title": "Tea", "paragraphs": [{"context": "Tea. Milk.", "qas": [
        {"id": "a", "question": "What?", "answers": [{"text": "Milk", "answer_start": 5}]}]}]}]}"#;
    let marco = json!({"query_id": 1, "query": "q", "answers": ["tea"],
        "passages": [passage(1, "Milk. Tea.", "u")]});
    for (name, text, format, query, doc) in [
        (
            "squad.json",
            squad.to_owned(),
            QuestionFormat::Squad,
            "a",
            "Tea/0/1",
        ),
        (
            "nq.jsonl",
            example(7, TEXT, &[((3, 13), &[(4, 5)])]),
            QuestionFormat::NaturalQuestions,
            "7",
            "Green_tea/0/0",
        ),
        (
            "marco.json",
            marco.to_string(),
            QuestionFormat::MsMarcoQa,
            "1",
            "u/0/1",
        ),
        (
            "qa/dev.json",
            trivia().to_string(),
            QuestionFormat::TriviaQa,
            "tc_1",
            "On_tea/0/0",
        ),
    ] {
        let path = write(name, &text);
        let file = SquadFile::detect(&path).unwrap().unwrap();
        assert_eq!(file.format(), format, "{name}");
        if format == QuestionFormat::TriviaQa {
            let error = file.read().unwrap_err();
            assert!(error.to_string().contains("Tea.txt"), "{error}");
            // In the folder beside `qa`, as in the archive.
            write("evidence/wikipedia/Tea.txt", "Tea is a drink.\n");
            write("evidence/web/1/1_2.txt", "It came from Asia.\n");
        }
        let sentences = SquadSentences::from(file);
        assert_eq!(
            sentences.qrels("pairs").unwrap().grade(query, doc),
            Some(1),
            "{name}"
        );
        let opened = open_path_or_name(path.to_str().unwrap()).unwrap();
        assert_eq!(
            opened.qrels("questions").unwrap().grade(query, doc),
            Some(1),
            "{name}"
        );
    }
    for text in ["", "{\"id\": 1, \"text\": \"qas\"}", "[]", "q 0 d 1\n"] {
        let path = write("other", text);
        assert!(SquadFile::detect(&path).unwrap().is_none(), "{text}");
        assert!(open_path_or_name(path.to_str().unwrap()).is_err());
    }
}
