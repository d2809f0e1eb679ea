//! Printing and parsing of measures.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::mem::discriminant;

use ir_eval::measure::*;
use ir_eval::trec_eval::MeasureSelection;
use ir_eval::{Decimal, Formula, Gain, GainTable, Measure, RecallPoints};
use proptest::prelude::*;

fn decimal(most: i64) -> impl Strategy<Value = Decimal> {
    (0..=most * 1000).prop_map(|n| Decimal::new(n, 3))
}

fn gain() -> impl Strategy<Value = Gain> {
    let pairs = prop::collection::btree_map(0_i64..20, -5000_i64..5000, 1..=GainTable::CAPACITY);
    prop_oneof![
        Just(Gain::Linear),
        Just(Gain::Exponential),
        pairs.prop_map(|pairs| {
            let table = pairs
                .into_iter()
                .try_fold(GainTable::new(), |table, (grade, gain)| {
                    table.with(grade, Decimal::new(gain, 2))
                });
            Gain::Table(table.unwrap())
        }),
    ]
}

fn formula() -> impl Strategy<Value = Formula> {
    let plain: Vec<Formula> = vec![
        Precision { relative: false }.into(),
        Precision { relative: true }.into(),
        Recall.into(),
        Success.into(),
        ReciprocalRank.into(),
        AveragePrecision.into(),
        GeometricAveragePrecision.into(),
        SetAveragePrecision.into(),
        Bpref.into(),
        GeometricBpref.into(),
        InferredAveragePrecision.into(),
        BinaryNormalizedGain.into(),
        Yaap.into(),
        JudgedFraction.into(),
        UnjudgedFraction.into(),
        QueryCount.into(),
        HitCount.into(),
        RetrievedCount.into(),
        RelevantCount.into(),
        RelevantRetrievedCount.into(),
        NonrelevantRetrievedCount.into(),
        StratifiedAveragePrecision.into(),
        StratifiedNdcg.into(),
        StratifiedRelevantCount.into(),
        StratifiedRelevantRetrievedCount.into(),
        IntentAwareAveragePrecision.into(),
        SubtopicRecall.into(),
    ];
    let points = prop::collection::vec(decimal(1), 1..=RecallPoints::CAPACITY);
    let weights = [-5000_i64..5000, -5000..5000, -5000..5000, -5000..5000];
    let weights = weights.prop_map(|weights| weights.map(|weight| Decimal::new(weight, 2)));
    prop_oneof![
        prop::sample::select(plain),
        decimal(9).prop_map(|beta| SetF { beta }.into()),
        decimal(9).prop_map(|multiple| RPrecision { multiple }.into()),
        decimal(1).prop_map(|recall| InterpolatedPrecision { recall }.into()),
        points.prop_map(|points| {
            let points = RecallPoints::new(&points).unwrap();
            MeanInterpolatedPrecision { points }.into()
        }),
        gain().prop_map(|gain| Ndcg { gain }.into()),
        gain().prop_map(|gain| Dcg { gain }.into()),
        gain().prop_map(|gain| IdealDcg { gain }.into()),
        gain().prop_map(|gain| NdcgAtRelevant { gain }.into()),
        gain().prop_map(|gain| NdcgAtGainSteps { gain }.into()),
        gain().prop_map(|gain| NormalizedGain { gain }.into()),
        decimal(1).prop_map(|persistence| RankBiasedPrecision { persistence }.into()),
        decimal(1).prop_map(|persistence| GradedRankBiasedPrecision { persistence }.into()),
        (decimal(1), any::<bool>()).prop_map(|(persistence, full)| RbpResidual {
            persistence,
            full
        }
        .into()),
        (1_u8..=62).prop_map(|max_grade| ExpectedReciprocalRank { max_grade }.into()),
        (0_u8..=10).prop_map(|tenths| StratifiedInterpolatedPrecision { tenths }.into()),
        decimal(1).prop_map(|alpha| IntentAwareErr { alpha }.into()),
        decimal(1).prop_map(|alpha| NormalizedIntentAwareErr { alpha }.into()),
        decimal(1).prop_map(|alpha| AlphaDcg { alpha }.into()),
        decimal(1).prop_map(|alpha| AlphaNdcg { alpha }.into()),
        (decimal(1), decimal(1)).prop_map(|(alpha, beta)| NoveltyRbp { alpha, beta }.into()),
        (decimal(1), decimal(1))
            .prop_map(|(alpha, beta)| NormalizedNoveltyRbp { alpha, beta }.into()),
        weights.prop_map(|weights| Utility { weights }.into()),
    ]
}

fn measure() -> impl Strategy<Value = Measure> {
    let level = prop::option::of(0_i64..5);
    let cutoff = prop::option::of(1_u32..2000);
    (formula(), level, cutoff, any::<bool>()).prop_map(|(formula, level, cutoff, judged_only)| {
        let measure = Measure::new(formula);
        let measure = if judged_only {
            measure.judged_only()
        } else {
            measure
        };
        let measure = level.map_or(measure, |level| measure.rel(level));
        cutoff.map_or(measure, |k| measure.at(k))
    })
}

/// Asserts that a measure that is parsed prints as a text that parses to it, and the measures of a
/// selection are selected by their names.
fn parsed_text_round_trips(text: &str) -> Result<(), TestCaseError> {
    if let Ok(measure) = text.parse::<Measure>() {
        prop_assert_eq!(measure.to_string().parse(), Ok(measure));
        if let Some(name) = measure.trec_name() {
            prop_assert_eq!(name.parse(), Ok(measure));
        }
    }
    if let Ok(selection) = MeasureSelection::parse(&[text]) {
        let measures: BTreeSet<Measure> = selection.measures().into_iter().collect();
        let names: Vec<String> = measures.iter().map(Measure::to_string).collect();
        if !names.is_empty() {
            let by_name = MeasureSelection::parse(&names).unwrap().measures();
            prop_assert_eq!(by_name.into_iter().collect::<BTreeSet<_>>(), measures);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_round_trips(measure in measure()) {
        let text = measure.to_string();
        prop_assert_eq!(text.parse::<Measure>().unwrap(), measure, "{}", text);
        let json = serde_json::to_string(&measure).unwrap();
        prop_assert_eq!(serde_json::from_str::<Measure>(&json).unwrap(), measure);
        if let Some(name) = measure.trec_name() {
            prop_assert_eq!(name.parse::<Measure>().unwrap(), measure, "{}", name);
        }
    }

    #[test]
    fn arbitrary_text_is_rejected_or_round_trips(text in "\\PC{0,24}") {
        parsed_text_round_trips(&text)?;
    }

    #[test]
    fn text_like_a_measure_is_rejected_or_round_trips(text in "(P|nDCG|SetP|IPrec|map|P|ndcg|Rprec_mult|utility|rbp|relstring|11pt_avg|success)[.@_(]{0,2}[0-9a-z=,.{}:)@-]{0,12}") {
        parsed_text_round_trips(&text)?;
    }
}

/// Parsed text, printed text, and trec_eval's name, if it has the measure.
const NAMES: &str = "\
nDCG@10 | nDCG@10 | ndcg_cut_10
NDCG@10 | nDCG@10 | ndcg_cut_10
ndcg_cut.10 | nDCG@10 | ndcg_cut_10
ndcg | nDCG | ndcg
nDCG(dcg='exp-log2')@10 | nDCG(dcg='exp-log2')@10 | -
nDCG(dcg=log2)@10 | nDCG@10 | ndcg_cut_10
ndcg.1=3.5,2=9 | nDCG(gains={1:3.5,2:9}) | ndcg_1=3.5,2=9
nDCG(gains={2:9, 1:3.5}) | nDCG(gains={1:3.5,2:9}) | ndcg_1=3.5,2=9
AP | AP | map
MAP@100 | AP@100 | map_cut_100
AP(rel=2) | AP(rel=2) | -
map | AP | map
gm_map | GMAP | gm_map
RR | RR | recip_rank
MRR@10 | RR@10 | -
recip_rank | RR | recip_rank
P@5 | P@5 | P_5
P_5 | P@5 | P_5
P.5 | P@5 | P_5
P( rel = 2 )@5 | P(rel=2)@5 | -
SetP | SetP | set_P
SetP(relative=True) | SetP(relative=True) | set_relative_P
relative_P_20 | P(relative=True)@20 | relative_P_20
recall_100 | R@100 | recall_100
set_recall | SetR | set_recall
set_F | SetF | set_F
set_F.0.5 | SetF(beta=0.5) | set_F_0.5
set_map | SetAP | set_map
Rprec | Rprec | Rprec
Rprec_mult_0.20 | Rprec(mult=0.2) | Rprec_mult_0.20
Rprec_mult.1 | Rprec | Rprec
Bpref | Bpref | bpref
Bpref@10 | Bpref@10 | -
infAP | infAP | infAP
iprec_at_recall_0.10 | IPrec@0.1 | iprec_at_recall_0.10
IPrec@0.125 | IPrec@0.125 | -
11pt_avg | IPrecAvg | 11pt_avg
11pt_avg..25,.5,.75 | IPrecAvg(points={0.25,0.5,0.75}) | 11pt_avg_0.25,0.5,0.75
Success@1 | Success@1 | success_1
success_1 | Success@1 | success_1
rbp | RBP(p=0.9,gain=graded) | rbp
rbp.p=.95 | RBP(p=0.95,gain=graded) | rbp_p=0.95
RBP(p=0.8) | RBP | -
rbp_resid | RBPResidual(p=0.9) | rbp_resid
utility | Utility(a=1,b=-1,c=0,d=0) | utility
utility.2,-1,0,0 | Utility(a=2,b=-1,c=0,d=0) | utility_2,-1,0,0
NumRet | NumRet | num_ret
NumRet(rel=1) | NumRet(rel=1) | -
num_rel_ret | NumRelRet | num_rel_ret
unj_10 | Unjudged@10 | unj_10
Judged@10 | Judged@10 | -
yaap | YAAP | yaap
G | G | G
ndcg_rel | nDCGrel | ndcg_rel";

#[test]
fn names_of_ir_measures_and_trec_eval() {
    for row in NAMES.lines() {
        let [text, printed, trec] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let measure: Measure = text.parse().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(measure.to_string(), printed, "{text}");
        let found = measure.trec_name();
        assert_eq!(found.as_deref().unwrap_or("-"), trec, "{text}");
    }
}

#[test]
fn constants() {
    const AT_TEN: Measure = Measure::NDCG.at(10);
    assert_eq!(AT_TEN.cutoff(), Some(10));
    assert_eq!(AT_TEN.rel(2), AT_TEN, "gain measures have no level");
    assert_eq!(Measure::NUM_REL.at(5), Measure::NUM_REL);
    assert_eq!(Measure::P.at(5).rel(2).level(), Some(2));
    assert_eq!(
        format!("{:>9}|{:<9}|", Measure::AP, Measure::RR),
        "       AP|RR       |"
    );
}

/// Texts that are not measures, the first one empty, and the errors after the text.
const ERRORS: &str = r#" | no such measure (examples: nDCG@10, AP, RR@10, P_5, recall_100)
nDGC@10 | no such measure (examples: nDCG@10, AP, RR@10, P_5, recall_100)
P | expected a cutoff, as in P_5 or P@5
R(rel=2) | expected a cutoff, as in R@100 (or SetR for whole lists)
P@0 | expected an integer >= 1 as cutoff, found "0"
P_0 | expected an integer >= 1 as cutoff, found "0"
P@-1 | expected an integer >= 1 as cutoff, found "-1"
P@5@5 | expected an integer >= 1 as cutoff, found "5@5"
P(rel=x)@5 | expected an integer >= 0 as relevance level, found "x"
P(rel=1,rel=2)@5 | rel is given twice
nDCG(rel=2)@5 | this measure has no parameter "rel"
nDCG(rel=2@5 | expected NAME, NAME@CUTOFF or NAME(PARAMETER=VALUE,...)@CUTOFF
NumQ@5 | this measure takes no cutoff, found "5"
SetP@5 | this measure takes no cutoff, found "5"
IPrec@1.5 | expected a recall between 0 and 1, found "1.5"
RBP(p=2) | expected a persistence between 0 and 1, found "2"
P.5,10 | expected one measure, found 2
P.5,5 | 5 is given twice
map.5 | this measure has no parameter "5"
utility.1 | expected four numbers, found "1"
ERR(max_rel=63)@20 | expected an integer from 1 to 62 as highest grade, found "63"
infP | expected a cutoff, as in infP@10
infIPrec@0.15 | expected a recall of 0, 0.1, 0.2 and so on up to 1, found "0.15"
alpha_nDCG(alpha=2)@5 | expected a number between 0 and 1, found "2"
AP(judged_only=yes) | expected True or False, found "yes"
Judged(judged_only=True)@5 | this measure has no parameter "judged_only"
ndcg@10-l2 | this measure has no parameter "-l2"
ndcg-l2@10 | this measure has no parameter "-l2"
nope-l2@5 | no such measure (examples: nDCG@10, AP, RR@10, P_5, recall_100)
precision-l2@0 | expected an integer >= 1 as cutoff, found "0"
rbp.95(x=1) | this measure has no parameter "x""#;

#[test]
fn error_messages() {
    for row in ERRORS.lines() {
        let (text, message) = row.split_once(" | ").unwrap();
        let error = text.parse::<Measure>().unwrap_err().to_string();
        assert_eq!(error, format!("{text:?}: {message}"));
    }
}

/// Every name and parameter of ir_measures 0.4.3, parsed and printed as ir_measures prints it; see
/// testdata/ir_measures_names.py.
#[test]
fn every_name_of_ir_measures() {
    let absent = [
        "Accuracy", "BPM", "Compat", "INSQ", "INST", "NERR10", "NERR11", "NERR8", "NERR9", "SDCG",
    ];
    let mut missed = std::collections::BTreeSet::new();
    let mut read = 0;
    for row in include_str!("../../testdata/ir_measures_names.tsv").lines() {
        let (text, printed) = row.split_once('\t').unwrap();
        let Ok(measure) = text.parse::<Measure>() else {
            missed.insert(text.split(['(', '@']).next().unwrap());
            continue;
        };
        read += 1;
        if text == "NumRelRet" {
            // The default level is 1 in ir_measures, that of the rules here.
            assert_eq!(measure.rel(1).to_string(), printed);
            continue;
        }
        assert_eq!(printed.parse::<Measure>().unwrap(), measure, "{row}");
        if printed.contains("=1.0") || printed.contains("relative=True,") {
            // ir_measures prints 1 as 1.0, and the level last.
            continue;
        }
        assert_eq!(measure.to_string(), printed, "{row}");
    }
    assert_eq!(missed.into_iter().collect::<Vec<_>>(), absent);
    assert_eq!(read, 258 - 31);
}

/// Asserts the printed names, in the syntax of ir_measures.
fn assert_printed(rows: &[(&str, &str)]) {
    for (text, printed) in rows {
        let measure: Measure = text.parse().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(measure.to_string(), *printed, "{text}");
    }
}

#[test]
fn names_of_ndeval_gdeval_and_sample_eval() {
    let rows = [
        ("ERR-IA@20", "ERR_IA@20"),
        ("nERR-IA@10", "nERR_IA@10"),
        ("alpha-DCG@5", "alpha_DCG@5"),
        ("alpha-nDCG@5", "alpha_nDCG@5"),
        ("alpha-nDCG(alpha=0.2)@5", "alpha_nDCG(alpha=0.2)@5"),
        ("MAP-IA", "AP_IA"),
        ("P-IA@10", "P_IA@10"),
        ("strec@10", "StRecall@10"),
        ("err@20", "ERR@20"),
        ("ERR(max_rel=4)@20", "ERR@20"),
        ("iP10", "infP@10"),
        ("iP@10", "infP@10"),
        ("iprec@rec0.10", "infIPrec@0.1"),
        ("iprec@rec1.00", "infIPrec@1"),
        ("inum_rel", "infNumRel"),
        ("inum_rel_ret", "infNumRelRet"),
        ("RBPResidual(full=True)", "RBPResidual(p=0.9,full=True)"),
    ];
    assert_printed(&rows);
    for (text, _) in rows {
        assert_eq!(text.parse::<Measure>().unwrap().trec_name(), None, "{text}");
    }
}

#[test]
fn names_of_ranx() {
    assert_printed(&[
        ("ndcg@10", "nDCG@10"),
        ("map@100", "AP@100"),
        ("map", "AP"),
        ("mrr", "RR"),
        ("mrr@10", "RR@10"),
        ("precision@5", "P@5"),
        ("recall@100", "R@100"),
        ("hit_rate@1", "Success@1"),
        ("r-precision", "Rprec"),
        ("map-l2", "AP(rel=2)"),
        ("precision-l3@5", "P(rel=3)@5"),
        ("precision@5-l3", "P(rel=3)@5"),
        ("r-precision-l2", "Rprec(rel=2)"),
        ("r_precision", "Rprec"),
        ("f1@5", "F@5"),
        ("F1@5", "F@5"),
        ("f1", "SetF"),
        ("f1@5-l2", "F(rel=2)@5"),
        ("hits@10", "Hits@10"),
        ("hits", "Hits"),
        ("hits@10-l2", "Hits(rel=2)@10"),
        ("ndcg_burges@10", "nDCG(dcg='exp-log2')@10"),
        ("dcg_burges", "DCG(dcg='exp-log2')"),
        ("dcg@10", "DCG@10"),
        ("bpref", "Bpref"),
        ("rbp.95", "RBP(p=0.95)"),
        ("rbp.5-l2", "RBP(rel=2,p=0.5)"),
        ("rbp.95@10", "RBP(p=0.95)@10"),
        // BEIR.
        ("R_cap@10", "P(relative=True)@10"),
        ("r_cap@100", "P(relative=True)@100"),
        ("R_cap(rel=2)@10", "P(rel=2,relative=True)@10"),
    ]);
    // trec_eval's persistence has a name.
    for text in ["rbp.", "rbp.x", "rbp.95x", "R_cap", "hits@0", "f1@x"] {
        assert!(text.parse::<Measure>().is_err(), "{text}");
    }
    // On the command line, too, where other numbers after a point are trec_eval's parameters.
    for (text, expected) in [
        ("rbp.95", "RBP(p=0.95)"),
        ("rbp.95@10", "RBP(p=0.95)@10"),
        ("rbp.5-l2", "RBP(rel=2,p=0.5)"),
        ("rbp.p=0.95", "RBP(p=0.95,gain=graded)"),
        ("P.5", "P@5"),
    ] {
        let selection = MeasureSelection::parse(&[text]).unwrap();
        let selected = selection.measures();
        assert_eq!(selected, [text.parse::<Measure>().unwrap()], "{text}");
        assert_eq!(selected[0].to_string(), expected, "{text}");
    }
    assert!("precision".parse::<Measure>().is_err() && "recall".parse::<Measure>().is_err());
}

/// Names that only trec_eval uses are read in ir_measures' syntax, too.
#[test]
fn names_of_trec_eval_with_parameters_of_ir_measures() {
    assert_printed(&[
        ("bpref@10", "Bpref@10"),
        ("bpref(rel=2)", "Bpref(rel=2)"),
        ("ndcg_cut@10", "nDCG@10"),
        ("ndcg_cut(judged_only=True)@5", "nDCG(judged_only=True)@5"),
        ("map_cut@100", "AP@100"),
        ("recip_rank@10", "RR@10"),
        ("success(rel=2)@5", "Success(rel=2)@5"),
        ("unj@10", "Unjudged@10"),
        ("relative_P@20", "P(relative=True)@20"),
        ("set_relative_P(rel=2)", "SetP(rel=2,relative=True)"),
        ("set_F(beta=0.5)", "SetF(beta=0.5)"),
        ("iprec_at_recall@0.1", "IPrec@0.1"),
        ("Rprec_mult@0.2", "Rprec(mult=0.2)"),
        ("Rprec_mult(mult=0.4)", "Rprec(mult=0.4)"),
        ("rbp@10", "RBP(p=0.9,gain=graded)@10"),
        ("rbp(p=0.5)@10", "RBP(p=0.5,gain=graded)@10"),
        ("num_ret(rel=1)", "NumRet(rel=1)"),
    ]);
    for (text, error) in [
        (
            "num_q@5",
            "\"num_q@5\": this measure takes no cutoff, found \"5\"",
        ),
        (
            "bpref@0",
            "\"bpref@0\": expected an integer >= 1 as cutoff, found \"0\"",
        ),
        (
            "Rprec_mult(rel=2)",
            "\"Rprec_mult(rel=2)\": expected a cutoff, as in Rprec_mult@0.2",
        ),
        (
            "bpref(p=2)",
            "\"bpref(p=2)\": this measure has no parameter \"p\"",
        ),
    ] {
        assert_eq!(text.parse::<Measure>().unwrap_err().to_string(), error);
    }
}

/// Every name of the list is a name of the measure, and every description is a sentence.
#[test]
fn listed_formulas() {
    let formulas: Vec<Formula> = Formula::all().collect();
    assert!(formulas.len() > 45, "{}", formulas.len());
    for formula in &formulas {
        let description = formula.description();
        assert!(description.len() > 5, "{formula:?}");
        assert!(!description.contains(['[', '`']), "{description}");
        let names: Vec<&str> = formula.names().chain(formula.trec_eval_names()).collect();
        for name in names {
            let parameters = " @10 @0.1 @rec0.10 _10 _0.10 (gain=graded)".split(' ');
            let mut parsed =
                parameters.filter_map(|it| format!("{name}{it}").parse::<Measure>().ok());
            let same = |measure: Measure| discriminant(measure.formula()) == discriminant(formula);
            assert!(parsed.any(same), "{name}");
        }
    }
}
