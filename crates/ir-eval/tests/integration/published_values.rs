//! Published and measured values on real collections.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::Read;

use crate::common::{data, printed, qrels, run, same};
use ir_core::trec;
use ir_core::trec::HeaderLine;
use ir_eval::compare::Bootstrap;
use ir_eval::trec_eval::{MeasureSelection, OutputDetail};
use ir_eval::{Evaluator, Measure, Rules};

/// The public full-sentence run of Tevatron on DataFinder, over the 392 judged queries, and with
/// the header lines of both files read as data, as trec_eval does (one more query, with value 0).
#[test]
fn datafinder_tevatron() {
    let Some(folder) = data("datafinder") else {
        return;
    };
    let published = [
        (Measure::P.at(5), 0.1648),
        (Measure::R.at(5), 0.3163),
        (Measure::AP, 0.2355),
        (Measure::RR, 0.4239),
    ];
    let measures = published.map(|p| p.0);
    let report = |header| {
        let qrels = qrels(&folder.join("test_dataset_collection.qrels"), header);
        let run = run(&folder.join("runs/tevatron_full_sentence.trec"), header);
        Evaluator::new(&qrels, &measures)
            .unwrap()
            .evaluate(&run)
            .unwrap()
    };
    let (skipped, read) = (report(HeaderLine::Skip), report(HeaderLine::AsData));
    assert_eq!((skipped.queries().len(), read.queries().len()), (392, 393));
    for (measure, figure) in published {
        let value = skipped.summary(measure).unwrap();
        assert_eq!(format!("{value:.4}"), format!("{figure:.4}"), "{measure}");
        let with_header = read.summary(measure).unwrap();
        assert!(
            (with_header - value * 392.0 / 393.0).abs() < 1e-12,
            "{measure}"
        );
    }
    // Table 1 of the paper reports deviations of 1.1, 2.2, 1.9 and 2.7 points.
    let deviations = [("1.12", 1.1), ("2.18", 2.2), ("1.83", 1.9), ("2.69", 2.7)];
    for ((measure, _), (ours, paper)) in published.into_iter().zip(deviations) {
        let of = |b: Bootstrap| 100.0 * b.estimate(&skipped, measure).unwrap().standard_error;
        let found = of(Bootstrap::DATAFINDER);
        eprintln!(
            "{measure}: {found:.2}, textbook {:.2}",
            of(Bootstrap::TEXTBOOK)
        );
        assert_eq!(format!("{found:.2}"), ours, "{measure}");
        assert!((found - paper).abs() < 0.15, "{measure}: {found}");
        // The textbook bootstrap's deviations are smaller by the theoretical factor.
        let ratio = found / of(Bootstrap::TEXTBOOK);
        assert!((1.15..1.35).contains(&ratio), "{measure}: {ratio}");
    }
}

/// A synthetic run on the judgments of the bioCADDIE challenge: the first hundred judged documents
/// of each topic in file order. The values are those that trec_eval prints.
#[test]
fn biocaddie() {
    let Some((judgments, made)) = crate::common::biocaddie() else {
        return;
    };
    let figures = |rules: Rules, rows: &[(&str, &str)]| {
        for (name, figure) in rows {
            let measure: Measure = name.parse().unwrap();
            let evaluator = Evaluator::with_rules(&judgments, &[measure], rules).unwrap();
            let value = evaluator.evaluate(&made).unwrap().summary(measure).unwrap();
            assert_eq!(format!("{value:.4}"), *figure, "{name}");
        }
    };
    figures(
        Rules::default(),
        &[
            ("map", "0.0309"),
            ("P_10", "0.2733"),
            ("ndcg", "0.1069"),
            ("ndcg_cut_10", "0.1752"),
            ("ndcg_cut_100", "0.1894"),
            ("bpref", "0.0698"),
            ("Rprec", "0.0862"),
            ("recip_rank", "0.4805"),
            ("num_rel", "3881.0000"),
            ("num_rel_ret", "342.0000"),
        ],
    );
    figures(
        Rules {
            level: 2,
            ..Rules::default()
        },
        &[("map", "0.0061"), ("P_10", "0.0267")],
    );
    // trec_eval's total of relevant documents ignores the level if missing queries count.
    let selection = MeasureSelection::parse(&["num_rel"]).unwrap();
    let text = |rules| printed(&selection, rules, OutputDetail::Summary, &judgments, &made);
    let level = Rules {
        level: 2,
        ..Rules::default()
    };
    assert_eq!(text(level), "num_rel               \tall\t3881\n");
    let skip = Rules {
        missing: ir_eval::MissingQueries::Skip,
        ..level
    };
    assert_eq!(text(skip), "num_rel               \tall\t812\n");
    // gdeval, whose nDCG has exponential gains, prints .13953 for this run.
    let exponential = Measure::NDCG_EXP.at(10);
    let evaluator = Evaluator::new(&judgments, &[exponential]).unwrap();
    let value = evaluator
        .evaluate(&made)
        .unwrap()
        .summary(exponential)
        .unwrap();
    assert_eq!(format!("{value:.5}"), "0.13953");
}

/// trec_eval's test of comment lines, with a compressed run.
#[test]
fn commented_files() {
    let Some(folder) = data("trec_eval") else {
        return;
    };
    let judgments = qrels(&folder.join("qrels.comment.test"), HeaderLine::AsData);
    let mut text = Vec::new();
    let file = fs::File::open(folder.join("results.comment.test.gz")).unwrap();
    flate2::read::MultiGzDecoder::new(file)
        .read_to_end(&mut text)
        .unwrap();
    let results =
        trec::read_run(text.as_slice(), "results.comment.test", HeaderLine::AsData).unwrap();
    let rules = Rules {
        missing: ir_eval::MissingQueries::Skip,
        ..Rules::default()
    };
    let found = printed(
        &MeasureSelection::parse(&["official"]).unwrap(),
        rules,
        OutputDetail::Summary,
        &judgments,
        &results.data,
    );
    same(
        &found,
        &fs::read_to_string(folder.join("out.comment.test")).unwrap(),
        "out.comment.test",
    );
}
