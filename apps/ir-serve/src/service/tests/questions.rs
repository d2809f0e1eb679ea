//! Explanations of questions, and the log of questions.

use super::*;

#[test]
fn only_answers_at_the_explained_positions_have_explanations() {
    let (_data, service) = empty_service();
    let tea = "Tea is a drink. Tea is hot. Tea is green. Tea is from Asia.";
    add(&service, "tea", tea);
    publish(&service);
    let explained = |question: Question| -> Vec<bool> {
        let answers = service.ask(&question).unwrap().answers;
        let explained = answers.iter().map(|answer| answer.explanation.is_some());
        explained.collect()
    };
    let of = |explain, explained_positions| {
        explained(Question {
            explain,
            explained: explained_positions,
            ..Question::new("tea", 10)
        })
    };
    assert_eq!(of(true, None), [true; 4]);
    assert_eq!(of(true, Some(1..3)), [false, true, true, false]);
    assert_eq!(of(true, Some(3..9)), [false, false, false, true]);
    assert_eq!(of(true, Some(0..0)), [false; 4]);
    assert_eq!(of(false, Some(0..9)), [false; 4]);
}

#[test]
fn the_query_log_keeps_the_last_queries() {
    let data = TempDir::new().unwrap();
    let open = |keep| {
        opened(ServiceConfig {
            log_queries: keep,
            ..ServiceConfig::new(data.path())
        })
    };
    let logged = |service: &Service| -> Vec<(i64, String)> {
        let queries = service.store.queries(0, 100).unwrap();
        let queries = queries.into_iter().map(|query| (query.id, query.query));
        queries.collect()
    };
    let expected = |ids: &[i64]| -> Vec<(i64, String)> {
        ids.iter().map(|id| (*id, format!("tea {id}"))).collect()
    };
    let ask = |service: &Service, ids: std::ops::RangeInclusive<i64>| {
        for id in ids {
            let question = Question::new(format!("tea {id}"), 1);
            assert_eq!(service.ask(&question).unwrap().query, id);
        }
    };
    let wait = |service: &Service, ids: &[i64]| {
        wait_until(|| logged(service) == expected(ids));
    };
    {
        let service = open(4);
        ask(&service, 1..=3);
        wait(&service, &[1, 2, 3]);
        ask(&service, 4..=9);
        wait(&service, &[6, 7, 8, 9]);
    }
    // A start with a smaller number deletes, too, and at least one query is kept.
    for (keep, ids) in [(3, &[7, 8, 9][..]), (0, &[9][..])] {
        let service = open(keep);
        wait(&service, ids);
    }
    let service = open(2);
    ask(&service, 10..=10);
    wait(&service, &[9, 10]);
}

/// The last word of a typed text is completed by phrases of the papers; nothing that was typed is
/// replaced.
#[test]
fn phrases_complete_the_last_word() {
    let (_data, service) = empty_service();
    let text = "Crop rotation is old. We like crop rotation. No crop rotation is bad. Crows fly.";
    add(&service, "crops", text);
    publish(&service);
    let complete = |typed: &str, limit| -> Vec<String> {
        let suggestions = service.complete(typed, limit).unwrap().into_iter();
        suggestions.map(|suggestion| suggestion.text).collect()
    };
    let expected = ["How many Crop", "How many Crop rotation"];
    assert_eq!(complete("How many Cro", 5)[..2], expected);
    assert_eq!(complete("How many Cro", 1), expected[..1]);
    for typed in ["cro", "how many crop rotations "] {
        let found = complete(typed, 5);
        assert!(
            found.iter().all(|text| !text.starts_with("How many")),
            "{found:?}"
        );
    }
}
