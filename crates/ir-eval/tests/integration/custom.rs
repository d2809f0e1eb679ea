//! Custom measures: values, names, errors.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::{Qrels, Run};
use ir_eval::measure::CustomName;
use ir_eval::{
    CustomMeasure, Evaluator, JudgedList, JudgmentStatus, Measure, MissingQueries, Report, Rules,
    Summary, TrecEvalVersion, UnjudgedDocuments,
};

/// Average precision as a custom measure.
struct CustomAveragePrecision;

impl CustomMeasure for CustomAveragePrecision {
    fn name(&self) -> &str {
        "MyAP"
    }

    fn value(&self, list: &JudgedList<'_>) -> f64 {
        let (mut hits, mut sum) = (0.0, 0.0);
        for document in list.documents() {
            if document.grade().is_some_and(|g| g >= list.rules.level) {
                hits += 1.0;
                sum += hits / document.rank as f64;
            }
        }
        match list.relevant() {
            0 => 0.0,
            relevant => sum / relevant as f64,
        }
    }
}

/// Records the list that a measure is given, as text.
struct ListRecorder(std::sync::Mutex<Vec<String>>);

impl CustomMeasure for &ListRecorder {
    fn name(&self) -> &str {
        "ListRecorder"
    }

    fn summary(&self) -> Summary {
        Summary::Sum
    }

    fn value(&self, list: &JudgedList<'_>) -> f64 {
        let words = list.documents().map(|d| {
            let how = match d.judgment {
                JudgmentStatus::Grade(grade) => grade.to_string(),
                JudgmentStatus::Unjudged => "pooled".to_owned(),
                JudgmentStatus::Unpooled => "unknown".to_owned(),
            };
            format!("{}:{}={}:{how}", d.rank, d.doc, d.score)
        });
        let words: Vec<String> = words.collect();
        let line = format!(
            "{} {} [{}] {:?}",
            list.query,
            list.retrieved,
            words.join(" "),
            list.grades
        );
        self.0.lock().unwrap().push(line);
        list.len() as f64
    }
}

fn collection() -> (Qrels, Run) {
    let mut qrels = Qrels::new();
    for (doc, grade) in [("a", 2), ("b", 0), ("c", -1), ("d", 1), ("e", 1)] {
        qrels.insert("q1", doc, grade);
    }
    qrels.insert("q2", "a", 1);
    let mut run = Run::new("mine");
    for (doc, score) in [("b", 3.0), ("x", 2.0), ("a", 2.0), ("c", 1.0), ("d", 0.5)] {
        run.push("q1", doc, score);
    }
    (qrels, run)
}

#[test]
fn custom_average_precision_equals_the_built_in_one() {
    let (qrels, run) = collection();
    for level in [1, 2] {
        let rules = Rules {
            level,
            ..Rules::default()
        };
        let evaluator = Evaluator::with_rules(&qrels, &[Measure::AP], rules).unwrap();
        let report = evaluator
            .with(CustomAveragePrecision)
            .unwrap()
            .evaluate(&run)
            .unwrap();
        let mine = Measure::custom("MyAP", Summary::Mean).unwrap();
        assert_eq!(report.measures(), [Measure::AP, mine]);
        for query in report.queries() {
            assert_eq!(query.values()[0], query.values()[1], "{}", query.query());
        }
        assert_eq!(report.summary(mine), report.summary(Measure::AP));
    }
}

#[test]
fn list_contains_documents_judgments_and_rules() {
    let (qrels, run) = collection();
    let lines = |rules| {
        let recorder = ListRecorder(std::sync::Mutex::default());
        let evaluator = Evaluator::with_rules(&qrels, &[], rules).unwrap();
        let report = evaluator.with(&recorder).unwrap().evaluate(&run).unwrap();
        let measure = Measure::custom("ListRecorder", Summary::Sum).unwrap();
        let total = report.summary(measure).unwrap();
        drop(report);
        (recorder.0.into_inner().unwrap(), total)
    };
    let grades = "[(0, 1), (1, 2), (2, 1)]";
    let missing = "q2 false [] [(1, 1)]".to_owned();
    let all = "1:b=3:0 2:x=2:unknown 3:a=2:2 4:c=1:pooled 5:d=0.5:1";
    let answered = format!("q1 true [{all}] {grades}");
    assert_eq!(
        lines(Rules::default()),
        (vec![answered.clone(), missing.clone()], 5.0)
    );
    let old = Rules {
        trec_eval_version: TrecEvalVersion::V9,
        ..Rules::default()
    };
    assert_eq!(lines(old).0, [answered.clone(), missing]);
    let skip = Rules {
        missing: MissingQueries::Skip,
        ..Rules::default()
    };
    assert_eq!(lines(skip).0, [answered]);
    let judged = Rules {
        unjudged: UnjudgedDocuments::Remove,
        depth: Some(4),
        ..skip
    };
    assert_eq!(
        lines(judged),
        (vec![format!("q1 true [1:b=3:0 2:a=2:2] {grades}")], 2.0)
    );
}

#[test]
fn custom_measures_appear_in_reports() {
    let (qrels, run) = collection();
    let evaluator = Evaluator::new(&qrels, &[Measure::RR]).unwrap();
    let boxed: Box<dyn CustomMeasure> = Box::new(CustomAveragePrecision);
    let report = evaluator.with(boxed).unwrap().evaluate(&run).unwrap();
    assert!(
        report.to_string().ends_with("RR    0.1667\nMyAP  0.1222\n"),
        "{report}"
    );
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains(r#"["RR","MyAP"]"#), "{json}");
    let again: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(again, report);
}

#[test]
fn names() {
    let long = "x".repeat(CustomName::MAX_LEN + 1);
    for wrong in [
        "",
        "1st",
        "two words",
        "nDCG@10",
        "map",
        "P",
        "é",
        "a(b)",
        "NumQ@5",
        &long,
    ] {
        assert_eq!(Measure::custom(wrong, Summary::Mean), None, "{wrong}");
    }
    for right in ["Fresh@10", "my-measure", "x", &long[1..]] {
        assert_eq!(
            Measure::custom(right, Summary::Mean).unwrap().to_string(),
            right
        );
        for summary in [Summary::Mean, Summary::Sum, Summary::GeometricMean] {
            let measure = Measure::custom(right, summary).unwrap();
            let json = serde_json::to_string(&measure).unwrap();
            assert_eq!(
                serde_json::from_str::<Measure>(&json).unwrap(),
                measure,
                "{json}"
            );
            // An unknown name from a command line is an error.
            assert!(right.parse::<Measure>().is_err());
        }
    }
    struct Called(&'static str);
    impl CustomMeasure for Called {
        fn name(&self) -> &str {
            self.0
        }
        fn value(&self, _: &JudgedList<'_>) -> f64 {
            0.0
        }
    }
    let (qrels, _) = collection();
    let with = |name| {
        Evaluator::new(&qrels, &[])
            .unwrap()
            .with(Called("taken"))
            .unwrap()
            .with(Called(name))
    };
    let text = |name| with(name).unwrap_err().to_string();
    let expected = "expected an unused name of up to 40 letters, digits and _-.@+%, found";
    assert_eq!(text("taken"), format!("{expected} \"taken\""));
    assert_eq!(text("AP"), format!("{expected} \"AP\""));
    let unknown = Measure::custom("Mine", Summary::Mean).unwrap();
    assert_eq!(
        Evaluator::new(&qrels, &[unknown]).unwrap_err().to_string(),
        "measure Mine: expected a measure registered with the evaluator, found an unregistered name"
    );
}

#[test]
fn values_that_are_not_finite_are_errors() {
    struct Quotient;
    impl CustomMeasure for Quotient {
        fn name(&self) -> &str {
            "Quotient"
        }
        fn value(&self, list: &JudgedList<'_>) -> f64 {
            let relevant = list.relevant() as f64;
            relevant / relevant
        }
    }
    let mut qrels = Qrels::new();
    qrels.insert("q1", "d1", 1);
    qrels.insert("q2", "d1", 0);
    let mut run = Run::new("mine");
    run.push("q1", "d1", 1.0);
    run.push("q2", "d1", 1.0);
    let evaluator = Evaluator::new(&qrels, &[]).unwrap().with(Quotient).unwrap();
    let error = evaluator.evaluate(&run).unwrap_err();
    assert_eq!(
        error.to_string(),
        "query \"q2\": expected a finite number from Quotient, found NaN"
    );
}
