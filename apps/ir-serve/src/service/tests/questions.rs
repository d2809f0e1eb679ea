//! Explanations of questions, and the log of questions.

use super::*;

#[test]
fn only_answers_at_the_explained_positions_have_explanations() {
    let data = TempDir::new().unwrap();
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    let tea = "Tea is a drink. Tea is hot. Tea is green. Tea is from Asia.";
    service.add(vec![document("tea", tea)]).unwrap();
    publish(&service);
    let explained = |question: Question| -> Vec<bool> {
        let answers = service.ask(&question).unwrap().answers;
        let explained = answers.iter().map(|answer| answer.explanation.is_some());
        explained.collect()
    };
    let question = || Question::new("tea", 10).with_explain(true);
    assert_eq!(explained(question()), [true; 4]);
    let of = |positions| explained(question().with_explained(positions));
    assert_eq!(of(1..3), [false, true, true, false]);
    assert_eq!(of(3..9), [false, false, false, true]);
    assert_eq!(of(0..0), [false; 4]);
    let unexplained = Question::new("tea", 10).with_explained(0..9);
    assert_eq!(explained(unexplained), [false; 4]);
}

#[test]
fn the_query_log_keeps_the_last_queries() {
    let data = TempDir::new().unwrap();
    let config = |keep| ServiceConfig::new(data.path()).with_log_queries(keep);
    let logged = |service: &Service| -> Vec<(i64, String)> {
        let queries = service.store.queries(0, 100).unwrap();
        let queries = queries.into_iter().map(|query| (query.id, query.query));
        queries.collect()
    };
    let expected = |ids: &[i64]| -> Vec<(i64, String)> {
        ids.iter().map(|id| (*id, format!("tea {id}"))).collect()
    };
    let ask = |service: &Service, ids: std::ops::RangeInclusive<i64>| {
        while service.published().is_err() {
            thread::sleep(Duration::from_millis(1));
        }
        for id in ids {
            let question = Question::new(format!("tea {id}"), 1);
            assert_eq!(service.ask(&question).unwrap().query, id);
        }
    };
    let wait = |service: &Service, ids: &[i64]| {
        let end = Instant::now() + Duration::from_secs(20);
        while logged(service) != expected(ids) {
            assert!(Instant::now() < end, "{:?}", logged(service));
            thread::sleep(Duration::from_millis(5));
        }
    };
    {
        let service = Service::open(config(4)).unwrap();
        ask(&service, 1..=3);
        wait(&service, &[1, 2, 3]);
        ask(&service, 4..=9);
        wait(&service, &[6, 7, 8, 9]);
    }
    // A start with a smaller number deletes, too, and at least one query is kept.
    for (keep, ids) in [(3, &[7, 8, 9][..]), (0, &[9][..])] {
        let service = Service::open(config(keep)).unwrap();
        wait(&service, ids);
    }
    let service = Service::open(config(2)).unwrap();
    ask(&service, 10..=10);
    wait(&service, &[9, 10]);
}
