//! SQuAD: every question has one judgment, of an existing paragraph, and answers occur at their
//! offsets.
#![no_main]

use std::collections::HashSet;

use ir_data::squad::Squad;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(squad) = Squad::read(bytes, "fuzz") else {
        return;
    };
    let (docs, queries, qrels) = (squad.documents(), squad.queries(), squad.qrels());
    let ids: HashSet<&str> = docs.iter().map(|doc| doc.id.as_str()).collect();
    assert_eq!(ids.len(), docs.len());
    assert_eq!(
        (qrels.len(), qrels.judgments()),
        (queries.len(), queries.len())
    );
    for query in &queries {
        let judged = qrels.get(&query.id).expect("judged");
        assert!(judged.iter().all(|(doc, _)| ids.contains(doc)));
    }
    for paragraph in squad
        .articles
        .iter()
        .flat_map(|article| &article.paragraphs)
    {
        for answer in paragraph
            .questions
            .iter()
            .flat_map(|question| &question.answers)
        {
            let there: String = paragraph.context.chars().skip(answer.start).collect();
            assert!(there.starts_with(&answer.text));
        }
    }
});
