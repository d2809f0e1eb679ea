//! Natural Questions, MS MARCO QA and TriviaQA: answers occur at their offsets, and judgments name
//! documents.
#![no_main]

use std::collections::HashSet;

use ir_data::squad::{read_ms_marco_qa, read_natural_questions, read_trivia_qa};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let found = [
        read_natural_questions(bytes, "fuzz"),
        read_ms_marco_qa(bytes, "fuzz"),
        read_trivia_qa(bytes, "fuzz", |page| Ok(format!("{page}\nTea came from Asia."))),
    ];
    for found in found.into_iter().flatten() {
        let squad = found.squad;
        let documents = squad.documents();
        let ids: HashSet<&str> = documents.iter().map(|doc| doc.id.as_str()).collect();
        assert_eq!(ids.len(), documents.len());
        for (_, judged) in squad.qrels().iter() {
            assert!(judged.iter().all(|(doc, _)| ids.contains(doc)));
        }
        for paragraph in squad.articles.iter().flat_map(|it| &it.paragraphs) {
            for answer in paragraph.questions.iter().flat_map(|it| &it.answers) {
                let rest: String = paragraph.context.chars().skip(answer.start).collect();
                assert!(rest.starts_with(&answer.text));
            }
        }
    }
});
