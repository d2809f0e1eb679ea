//! Lists that are not in a run: the values of the run, and their errors.

use ir_eval::{EvalError, Evaluator, Measure, Qrels, Run};

fn qrels() -> Qrels {
    let mut qrels = Qrels::new();
    for (query, doc, grade) in [
        ("q1", "a", 2),
        ("q1", "b", 0),
        ("q2", "c", 1),
        ("q3", "d", 1),
    ] {
        qrels.insert(query, doc, grade);
    }
    qrels
}

#[test]
fn lists_in_any_order_have_the_values_of_the_run() {
    let lists = [
        ("q2", vec![("x", 2.0), ("c", 1.0)]),
        ("unjudged", vec![("a", 1.0)]),
        ("q1", vec![("b", 0.5), ("a", 0.25), ("y", 0.75)]),
    ];
    let mut run = Run::new("mine");
    for (query, list) in &lists {
        list.iter()
            .for_each(|(doc, score)| run.push(query, *doc, *score));
    }
    let qrels = qrels();
    let measures = [Measure::RR, Measure::NDCG.at(10), Measure::AP];
    let evaluator = Evaluator::new(&qrels, &measures).unwrap();
    let report = evaluator.evaluate_lists("mine", lists).unwrap();
    assert_eq!(report, evaluator.evaluate(&run).unwrap());
    // By hand: q1 has its document at rank 3, q2 at rank 2, q3 is missing.
    let expected = (1.0 / 3.0 + 1.0 / 2.0) / 3.0;
    assert!((report.summary(Measure::RR).unwrap() - expected).abs() < 1e-15);
    assert_eq!(report.missing().collect::<Vec<_>>(), ["q3"]);
    assert_eq!(report.unjudged().collect::<Vec<_>>(), ["unjudged"]);
}

#[test]
fn invalid_lists() {
    let qrels = qrels();
    let evaluator = Evaluator::new(&qrels, &[Measure::RR]).unwrap();
    let error = |lists: Vec<(&'static str, Vec<(&'static str, f64)>)>| {
        evaluator.evaluate_lists("", lists).unwrap_err()
    };
    let twice = error(vec![("q1", vec![("a", 1.0)]), ("q1", vec![("b", 1.0)])]);
    assert_eq!(
        twice.to_string(),
        "query \"q1\": expected one list, found two"
    );
    let repeated = error(vec![("q1", vec![("a", 1.0), ("a", 0.5)])]);
    assert!(matches!(repeated, EvalError::Repeated { .. }));
    let nan = error(vec![("q1", vec![("a", f64::NAN)])]);
    assert!(matches!(nan, EvalError::NanScore { .. }));
    let none = error(vec![("other", vec![("a", 1.0)])]);
    assert!(matches!(none, EvalError::NothingInCommon { .. }));
}
