//! `ir train-reader`: a tiny model on eight articles.

use serde_json::{Value, json};

use crate::common::{BERT_PYTORCH as MODEL, Folder, words};

/// Eight articles with a question each, of which the first five train and the last two test.
fn squad() -> Value {
    let things = words("ship tea radar sea 'black tea' 'green sea' ship tea");
    let article = |(n, thing): (usize, &&str)| {
        let context = format!("The {thing} is seen by the {}.", things[(n + 1) % 8]);
        let question = json!({
            "id": n.to_string(), "question": "What is seen?",
            "answers": [{"text": thing, "answer_start": 4}],
        });
        let paragraph = json!({"context": context, "qas": [question]});
        json!({"title": n.to_string(), "paragraphs": [paragraph]})
    };
    let articles: Vec<Value> = things.iter().enumerate().map(article).collect();
    json!({"data": articles})
}

fn here() -> Folder {
    let here = Folder::new();
    here.write("squad.json", squad().to_string());
    here
}

#[test]
fn trained_reader_marks_phrases() {
    let here = here();
    let ran = here.ir(&[
        "train-reader",
        MODEL,
        "squad.json",
        "-o",
        "reader",
        "--hold-out",
        "--epochs",
        "60",
        "--batch",
        "5",
        "--learning-rate",
        "0.01",
        "--dropout",
        "0",
        "--quiet",
    ]);
    let out = ran.ok().out;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "reader   exact match     F1");
    assert!(lines[1].starts_with("lexical  "), "{out}");
    // "ship" and "tea" are answers of training articles, too.
    assert_eq!(lines[2], "trained       100.00 100.00");

    let context = "The ship is seen by the tea.";
    let frame = json!({
        "id": "f", "paper": "p", "kind": "content", "answer": context, "answer_start": 0,
        "context": context, "metadata": {},
    });
    here.write("frames.jsonl", format!("{frame}\n"));
    let ask = ["ask", "frames.jsonl", "What is seen?", "--reader", "reader"];
    let shown = here.ir(&ask).ok().out;
    assert!(shown.contains("phrase: ship ("), "{shown}");
    let json = here.ir(&[&ask[..], &["--json"]].concat()).ok().out;
    let answer: Value = serde_json::from_str(json.trim_end()).unwrap();
    let phrase = &answer["phrase"];
    assert_eq!(phrase["text"], "ship");
    let [start, end] = [&phrase["start"], &phrase["end"]].map(|it| it.as_u64().unwrap() as usize);
    let context = answer["frame"]["context"].as_str().unwrap();
    assert_eq!(&context[start..end], "ship");
}

/// At most so many questions, and another file for the evaluation.
#[test]
fn some_questions_and_a_test_file() {
    let here = here();
    here.write("test.json", squad().to_string());
    let ran = here
        .ir(&[
            "train-reader",
            MODEL,
            "squad.json",
            "-o",
            "reader",
            "--questions",
            "3",
            "--epochs",
            "1",
            "--test",
            "test.json",
            "--block",
            "2",
        ])
        .ok();
    assert!(
        ran.err
            .contains("reader: 3 questions in 3 windows, 1 steps, loss "),
        "{}",
        ran.err
    );
    assert_eq!(ran.out.lines().count(), 3);
}

#[test]
fn bad_input() {
    let here = here();
    here.write("empty.json", r#"{"data": []}"#);
    here.write("full/file", "x");
    let errors = r#"
        train-reader MODEL squad.json -o full
          1: full: expected a new folder
        train-reader MODEL empty.json -o r
          1: empty.json: expected questions with answers, found none
        train-reader MODEL squad.json -o r --test empty.json
          1: empty.json: expected questions for the evaluation, found none
        train-reader MODEL nowhere.json -o r
          1: nowhere.json
        train-reader MODEL squad.json -o r --epochs 0
          2: epochs is 0, expected 1 or more
        train-reader MODEL squad.json -o r --checkpoint-every 0
          2: expected an integer of at least 1, found "0"
        train-reader MODEL squad.json -o r --precision int8
          2: int8
        train-reader MODEL squad.json -o r --test squad.json --hold-out
          2: --hold-out
        train-reader MODEL squad.json -o r --max-tokens 4
          1: max_tokens is 4, expected
    "#;
    here.errors(&errors.replace("MODEL", MODEL));
    assert!(!here.path().join("r").exists());
}
