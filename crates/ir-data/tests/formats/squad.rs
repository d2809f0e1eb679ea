//! Articles, answers and errors of SQuAD.

use ir_data::DataError;
use ir_data::squad::Squad;

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
    assert_eq!(
        (squad.documents()[0].title.as_str(), squad.queries().len()),
        ("T x", 2)
    );
    assert_eq!(squad.qrels().grade("b", "T_x/0"), Some(1));
    assert!(matches!(
        file("Tee", 10, "b"),
        Err(DataError::Syntax { .. })
    ));
    assert!(matches!(
        file("Tee", 999, "b"),
        Err(DataError::Syntax { .. })
    ));
    assert!(matches!(
        file("Tee", 9, "a"),
        Err(DataError::RepeatedId { .. })
    ));
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
    assert!(matches!(
        Squad::read(&b"{}"[..], "f"),
        Err(DataError::Json { .. })
    ));
}
