//! Reference implementations of the textbook formulas on random collections, and invariants of
//! every evaluation.
#![allow(clippy::unwrap_used, reason = "tests")]

use ir_core::{Grade, Qrels, Run};
use ir_eval::measure::{HitCount, Ndcg, Precision, SetF};
use ir_eval::{
    Decimal, Evaluator, Formula, Gain, Measure, MissingQueries, Rules, ScorePrecision, SelfHits,
    TieBreak, UnjudgedDocuments,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Judgments and results of one query of a random collection.
#[derive(Debug, Clone)]
struct Case {
    judged: Vec<(String, Grade)>,
    found: Vec<(String, f64)>,
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0_u32..30).prop_map(|n| format!("d{n}")),
        1 => prop::sample::select(vec!["é", "É", "e\u{301}", "文書", "z", "Z", "#1", "~", "d", "q1"])
            .prop_map(str::to_owned),
    ]
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3_i32..4).prop_map(f64::from),
        prop::sample::select(vec![
            0.0,
            -0.0,
            1e-9,
            1.000_000_01,
            1.0,
            f64::INFINITY,
            -1e300
        ]),
        -100.0..100.0_f64,
    ]
}

fn distinct<T>(list: Vec<(String, T)>) -> Vec<(String, T)> {
    let mut seen = std::collections::HashSet::new();
    list.into_iter()
        .filter(|(id, _)| seen.insert(id.clone()))
        .collect()
}

fn case() -> impl Strategy<Value = Case> {
    let judged = vec((id(), -2_i64..5), 1..25).prop_map(distinct);
    let found = vec((id(), score()), 0..30).prop_map(distinct);
    (judged, found).prop_map(|(judged, found)| Case { judged, found })
}

fn collection(cases: &[Case]) -> (Qrels, Run) {
    let (mut qrels, mut run) = (Qrels::new(), Run::new("random"));
    for (number, case) in (0..).zip(cases) {
        let query = format!("q{number}");
        for (doc, grade) in &case.judged {
            qrels.insert(&query, doc, *grade);
        }
        for (doc, score) in &case.found {
            run.push(&query, doc.as_str(), *score);
        }
    }
    (qrels, run)
}

/// Grades of a list sorted by descending score and id; `None` for unjudged documents.
fn ranked(case: &Case) -> Vec<Option<Grade>> {
    let mut found = case.found.clone();
    found.sort_by(|a, b| {
        b.1.partial_cmp(&a.1)
            .unwrap()
            .then_with(|| b.0.as_bytes().cmp(a.0.as_bytes()))
    });
    let grade = |doc: &str| {
        let entry = case.judged.iter().find(|(id, _)| id == doc)?;
        (entry.1 >= 0).then_some(entry.1)
    };
    found.iter().map(|(doc, _)| grade(doc)).collect()
}

fn quotient(dividend: f64, divisor: f64) -> f64 {
    if divisor > 0.0 {
        dividend / divisor
    } else {
        0.0
    }
}

/// Reference implementation of a formula.
fn textbook(formula: &Formula, cutoff: Option<u32>, level: Grade, case: &Case) -> f64 {
    let list = ranked(case);
    let top: Vec<Option<Grade>> = match cutoff {
        Some(k) => list.iter().copied().take(k as usize).collect(),
        None => list,
    };
    let is_relevant = |grade: &Option<Grade>| grade.is_some_and(|g| g >= level);
    let hits = |k: usize| top.iter().take(k).filter(|g| is_relevant(g)).count() as f64;
    let precision = |k: usize| hits(k) / k as f64;
    let grades: Vec<Grade> = case
        .judged
        .iter()
        .map(|j| j.1)
        .filter(|&g| g >= 0)
        .collect();
    let relevant = grades.iter().filter(|&&g| g >= level).count() as f64;
    let others = grades.iter().filter(|&&g| g < level).count() as f64;
    let depth = cutoff.map_or(top.len(), |k| k as usize);
    let ranks: Vec<usize> = (1..=top.len())
        .filter(|&i| is_relevant(&top[i - 1]))
        .collect();
    match formula {
        Formula::Precision(Precision { relative: false }) => quotient(hits(depth), depth as f64),
        Formula::Recall(_) => quotient(hits(depth), relevant),
        Formula::Precision(Precision { relative: true }) => {
            quotient(hits(depth), relevant.min(depth as f64))
        }
        Formula::SetF(SetF { beta }) => {
            let (p, r) = (
                quotient(hits(depth), depth as f64),
                quotient(hits(depth), relevant),
            );
            let x = beta.to_f64();
            quotient((x + 1.0) * p * r, x * p + r)
        }
        Formula::HitCount(_) => hits(depth),
        Formula::Success(_) => f64::from(u8::from(!ranks.is_empty())),
        Formula::ReciprocalRank(_) => ranks.first().map_or(0.0, |&rank| 1.0 / rank as f64),
        Formula::AveragePrecision(_) => {
            quotient(ranks.iter().map(|&i| precision(i)).sum(), relevant)
        }
        Formula::RPrecision(_) => quotient(hits(relevant as usize), relevant),
        Formula::Bpref(_) => {
            let mut sum = 0.0;
            for &rank in &ranks {
                let above = top[..rank - 1]
                    .iter()
                    .flatten()
                    .filter(|&&g| g < level)
                    .count();
                sum += 1.0 - quotient((above as f64).min(relevant), others.min(relevant));
            }
            quotient(sum, relevant)
        }
        Formula::Ndcg(Ndcg { gain }) => {
            let worth = |grade: Grade| match gain {
                Gain::Exponential => 2.0_f64.powf(grade as f64) - 1.0,
                _ => grade as f64,
            };
            let dcg = |list: &[Grade]| -> f64 {
                let terms = (1..).zip(list);
                terms
                    .map(|(i, &g)| worth(g) / f64::from(i + 1).log2())
                    .sum()
            };
            let mut ideal = grades.clone();
            ideal.sort_unstable_by(|a, b| b.cmp(a));
            if let Some(k) = cutoff {
                ideal.truncate(k as usize);
            }
            let got: Vec<Grade> = top.iter().map(|g| g.unwrap_or(0)).collect();
            quotient(dcg(&got), dcg(&ideal))
        }
        Formula::RetrievedCount(_) => top.len() as f64,
        Formula::RelevantCount(_) => relevant,
        Formula::RelevantRetrievedCount(_) => ranks.len() as f64,
        other => panic!("no textbook version of {other:?}"),
    }
}

/// Measures with a reference implementation, at several cutoffs and levels.
fn measures() -> Vec<Measure> {
    let bases = [
        Measure::P,
        Measure::R,
        Precision { relative: true }.into(),
        Measure::SUCCESS,
        HitCount.into(),
        SetF { beta: Decimal::ONE }.into(),
        Measure::RR,
        Measure::AP,
        Measure::RPREC,
        Measure::BPREF,
        Measure::NDCG,
        Measure::NDCG_EXP,
        Measure::NUM_RET,
        Measure::NUM_REL,
        Measure::NUM_REL_RET,
    ];
    let mut all = Vec::new();
    for base in bases {
        for measure in [base, base.at(1), base.at(3), base.at(10), base.at(100)] {
            all.extend([measure, measure.rel(1), measure.rel(2), measure.rel(0)]);
        }
    }
    // Rprec with a cutoff has no reference implementation.
    all.retain(|m| !matches!(m.formula(), Formula::RPrecision(_)) || m.cutoff().is_none());
    all
}

/// Measures whose range is 0 to 1.
fn fractions() -> Vec<Measure> {
    let texts = [
        "SetP",
        "P@5",
        "R@5",
        "SetP(relative=True)",
        "Success@3",
        "RR",
        "AP",
        "AP@5",
        "GMAP",
        "SetAP",
        "SetF",
        "F@5",
        "F(beta=2)@5",
        "Rprec",
        "Rprec(mult=0.5)",
        "Rprec(mult=2)",
        "Bpref",
        "GMBpref",
        "IPrec@0",
        "IPrec@0.3",
        "IPrec@1",
        "IPrecAvg",
        "nDCG",
        "nDCG@5",
        "nDCG(dcg=exp-log2)@5",
        "nDCGrel",
        "Rndcg",
        "G",
        "binG",
        "RBP(p=0.8)",
        "RBP(p=0.9,gain=graded)",
        "Judged@5",
        "Unjudged@5",
    ];
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_reference(cases in vec(case(), 1..5)) {
        let (qrels, run) = collection(&cases);
        prop_assume!(!run.is_empty());
        let all = measures();
        let report = Evaluator::new(&qrels, &all).unwrap().evaluate(&run).unwrap();
        prop_assert_eq!(report.queries().len(), cases.len());
        for (number, case) in (0..).zip(&cases) {
            for &measure in &all {
                let found = report.value(&format!("q{number}"), measure).unwrap();
                let level = measure.level().unwrap_or(1);
                let expected = textbook(measure.formula(), measure.cutoff(), level, case);
                prop_assert!(
                    (found - expected).abs() < 1e-12,
                    "{}: {} instead of {}", measure, found, expected
                );
            }
        }
        for &measure in &all {
            let sum: f64 = (0..)
                .zip(&cases)
                .map(|(_, case): (u32, _)| {
                    textbook(measure.formula(), measure.cutoff(), measure.level().unwrap_or(1), case)
                })
                .sum();
            let counts = matches!(measure.formula(), Formula::RetrievedCount(_) | Formula::RelevantCount(_) | Formula::RelevantRetrievedCount(_));
            let expected = if counts { sum } else { sum / cases.len() as f64 };
            prop_assert!((report.summary(measure).unwrap() - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn fractions_are_between_0_and_1(cases in vec(case(), 1..5), remove: bool, depth in prop::option::of(0_usize..8)) {
        let (qrels, run) = collection(&cases);
        prop_assume!(!run.is_empty());
        let unjudged = if remove { UnjudgedDocuments::Remove } else { UnjudgedDocuments::NonRelevant };
        let rules = Rules { unjudged, depth, ..Rules::default() };
        let all = fractions();
        let report = Evaluator::with_rules(&qrels, &all, rules).unwrap().evaluate(&run).unwrap();
        for query in report.queries() {
            for (measure, value) in all.iter().zip(query.values()) {
                prop_assert!((0.0..=1.0 + 1e-12).contains(value), "{}: {}", measure, value);
            }
        }
    }

    /// Swapping two documents of the same grade does not change any value.
    #[test]
    fn equal_grades_can_be_swapped(mut case in case(), a: prop::sample::Index, b: prop::sample::Index) {
        prop_assume!(case.found.len() > 1);
        let (a, b) = (a.index(case.found.len()), b.index(case.found.len()));
        let grade = |case: &Case, at: usize| {
            case.judged.iter().find(|j| j.0 == case.found[at].0).map(|j| j.1.max(-1))
        };
        prop_assume!(grade(&case, a) == grade(&case, b));
        // Distinct scores, so that ids do not break ties.
        for (at, found) in case.found.iter_mut().enumerate() {
            found.1 = -(at as f64);
        }
        let mut all = fractions();
        all.extend(measures());
        let values = |case: &Case| {
            let (qrels, run) = collection(std::slice::from_ref(case));
            let report = Evaluator::new(&qrels, &all).unwrap().evaluate(&run).unwrap();
            report.queries()[0].values().to_vec()
        };
        let before = values(&case);
        let (first, second) = (case.found[a].0.clone(), case.found[b].0.clone());
        case.found[a].0 = second;
        case.found[b].0 = first;
        prop_assert_eq!(before, values(&case));
    }

    /// Documents below the cutoff do not count.
    #[test]
    fn documents_below_the_cutoff_do_not_count(case in case(), more in 1_usize..5) {
        prop_assume!(case.found.len() >= 5);
        let all: Vec<Measure> =
            measures().into_iter().filter(|m| m.cutoff().is_some_and(|k| k <= 3)).collect();
        let mut longer = case.clone();
        for (at, found) in longer.found.iter_mut().enumerate() {
            found.1 = -(at as f64);
        }
        let mut plain = longer.clone();
        plain.found.truncate(3);
        for number in 0..more {
            longer.found.push((format!("new{number}"), -100.0));
        }
        let values = |case: &Case| {
            let (qrels, run) = collection(std::slice::from_ref(case));
            let report = Evaluator::new(&qrels, &all).unwrap().evaluate(&run).unwrap();
            report.queries()[0].values().to_vec()
        };
        prop_assert_eq!(values(&plain), values(&longer));
    }

    /// Values do not depend on line order, other queries or other measures.
    #[test]
    fn only_scores_count(cases in vec(case(), 2..4), seed in any::<prop::sample::Index>()) {
        let (qrels, run) = collection(&cases);
        prop_assume!(run.get("q0").is_some());
        let all = measures();
        let report = Evaluator::new(&qrels, &all).unwrap().evaluate(&run).unwrap();
        let mut turned = cases[0].clone();
        let by = seed.index(turned.found.len());
        turned.found.rotate_left(by);
        turned.judged.reverse();
        let (qrels, run) = collection(&[turned]);
        for &measure in &all {
            let alone = Evaluator::new(&qrels, &[measure]).unwrap().evaluate(&run).unwrap();
            prop_assert_eq!(alone.value("q0", measure), report.value("q0", measure));
        }
    }

    /// Depth, self-hit and unjudged rules equal the corresponding changes of the run.
    #[test]
    fn rules_equal_changes_of_the_run(case in case(), depth in 0_usize..6) {
        prop_assume!(!case.found.is_empty());
        let (qrels, run) = collection(std::slice::from_ref(&case));
        let all = measures();
        let by = |rules: Rules, run: &Run| {
            let report = Evaluator::with_rules(&qrels, &all, rules).unwrap().evaluate(run);
            report.unwrap().queries()[0].values().to_vec()
        };
        let plain = Rules::default();
        let strict = |found: Vec<(String, f64)>| {
            let found = found.into_iter().enumerate().map(|(at, (doc, _))| (doc, -(at as f64)));
            let mut run = collection(&[Case { found: found.collect(), ..case.clone() }]).1;
            // An empty list is not a missing query.
            if run.is_empty() {
                run.push("q0", "nothing", 1.0);
                run.iter_mut().for_each(|(_, list)| list.clear());
            }
            run
        };
        let mut list = case.found.clone();
        list.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap());
        prop_assert_eq!(by(Rules { ties: TieBreak::RunOrder, ..plain }, &run), by(plain, &strict(list.clone())));
        list.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
        prop_assert_eq!(by(Rules { ties: TieBreak::IdAscending, ..plain }, &run), by(plain, &strict(list.clone())));
        list.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(b.0.cmp(&a.0)));
        prop_assert_eq!(
            by(Rules { ties: TieBreak::Reject, ..plain }, &strict(list.clone())),
            by(plain, &run)
        );
        let mut judged = list.clone();
        judged.retain(|(doc, _)| qrels.grade("q0", doc).is_some_and(|g| g >= 0));
        prop_assert_eq!(by(Rules { unjudged: UnjudgedDocuments::Remove, ..plain }, &run), by(plain, &strict(judged)));
        list.truncate(depth);
        prop_assert_eq!(by(Rules { depth: Some(depth), ..plain }, &run), by(plain, &strict(list)));
        let mut narrow = run.clone();
        for (_, list) in narrow.iter_mut() {
            list.iter_mut().for_each(|scored| scored.score = f64::from(scored.score as f32));
        }
        prop_assert_eq!(by(Rules { scores: ScorePrecision::F32, ..plain }, &run), by(plain, &narrow));
        let mut without = run.clone();
        for (query, list) in without.iter_mut() {
            list.retain(|scored| scored.doc != query);
        }
        prop_assert_eq!(by(Rules { self_hits: SelfHits::Drop, ..plain }, &run), by(plain, &without));
    }

    /// Missing queries count as 0 or are skipped.
    #[test]
    fn missing_queries(cases in vec(case(), 1..6)) {
        let (qrels, run) = collection(&cases);
        prop_assume!(!run.is_empty());
        let answered = run.len() as f64;
        let of = |missing| {
            let rules = Rules { missing, ..Rules::default() };
            Evaluator::with_rules(&qrels, &[Measure::AP, Measure::NUM_Q], rules).unwrap().evaluate(&run).unwrap()
        };
        let (zero, skip) = (of(MissingQueries::Zero), of(MissingQueries::Skip));
        prop_assert_eq!(zero.summary(Measure::NUM_Q), Some(cases.len() as f64));
        prop_assert_eq!(skip.summary(Measure::NUM_Q), Some(answered));
        let sums = (
            zero.summary(Measure::AP).unwrap() * cases.len() as f64,
            skip.summary(Measure::AP).unwrap() * answered,
        );
        prop_assert!((sums.0 - sums.1).abs() < 1e-9);
        prop_assert_eq!(zero.missing().len(), cases.len() - run.len());
    }
}
