//! Preference measures: trec_eval's documented examples and a naive implementation of the
//! definitions.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ir_core::Run;
use ir_eval::assess::JudgmentGroups;
use ir_eval::assess::preferences::{
    self, PreferenceMeasure, PreferenceReport, PreferenceScope, Preferences,
};
use ir_eval::trec_eval::{MeasureSelection, OutputDetail};
use ir_eval::{MissingQueries, Rules, TieBreak, ZScores};
use proptest::collection::vec;
use proptest::prelude::*;

use PreferenceMeasure::{Balanced, BalancedRetrieved, Fulfilled, Group, Pair, Possible, Simple};

fn run(list: &[&str]) -> Run {
    let mut run = Run::new("r");
    for (rank, doc) in list.iter().enumerate() {
        run.push("q", *doc, -(rank as f64));
    }
    run
}

fn values(file: &str, list: &[&str], measures: &[PreferenceMeasure]) -> Vec<f64> {
    let preferences = preferences::read(file.as_bytes(), "prefs").unwrap().data;
    let report = preferences
        .evaluate(&run(list), measures, Rules::default())
        .unwrap();
    report.queries()[0].values().to_vec()
}

fn error_of(file: &str) -> String {
    let preferences = preferences::read(file.as_bytes(), "prefs").unwrap().data;
    let report = preferences.evaluate(&run(&["a"]), &[Possible], Rules::default());
    report.unwrap_err().to_string()
}

/// Examples in trec_eval 10.0's documentation of the format (`trec_eval -h -R prefs`), with the
/// documented numbers of preferences. For the second one it states 5, without the transitive
/// preference (4 over 1 over 3) that the program adds.
#[test]
fn documented_numbers_of_preferences() {
    for (expected, file) in [
        (
            13.0,
            "q u s 1 3\nq u s 2 2\nq u s 3 0\nq u s 4 6\nq u s 5 0\nq u s 6 2\n",
        ),
        (
            6.0,
            "q u s 1 3\nq u s 2 2\nq u s 3 1\nq u t 1 2\nq u t 2 1\nq u t 4 3\n",
        ),
        (
            5.0,
            "q u s 1 3\nq u s 2 2\nq v s 1 0\nq v s 3 6\nq v s 4 2\nq v t 1 0\nq v t 2 8\n",
        ),
        (
            5.0,
            "q u s 1 3\nq u s 2 2\nq u s 3 1\nq u t 2 5\nq u t 4 4\n",
        ),
    ] {
        assert_eq!(values(file, &["1"], &[Possible]), [expected], "{file}");
    }
}

#[test]
fn report_display_and_json() {
    let read = preferences::read("q ann 0 a 1\nq ann 0 b 0\n".as_bytes(), "file").unwrap();
    let measures = [Fulfilled, Simple(PreferenceScope::Retrieved)];
    let run = run(&["a", "b"]);
    let report = (read.data.evaluate(&run, &measures, Rules::default())).unwrap();
    let text = report.to_string();
    assert!(
        text.contains("queries: 1 counted; 0 judged without results"),
        "{text}"
    );
    assert!(text.contains(&Rules::default().to_string()), "{text}");
    assert!(text.contains("prefs_simp_ret"), "{text}");
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains("\"prefs_simp_ret\""), "{json}");
    assert_eq!(
        serde_json::from_str::<PreferenceReport>(&json).unwrap(),
        report
    );
}

#[test]
fn output_contains_no_relevance_marks() {
    let read = preferences::read("q ann 0 a 1\nq ann 0 b 0\n".as_bytes(), "file").unwrap();
    let report = read
        .data
        .evaluate(&run(&["a", "b"]), &[Fulfilled], Rules::default());
    let selection = MeasureSelection::parse(&["relstring", "num_q"]).unwrap();
    let mut out = Vec::new();
    let report = report.unwrap();
    let output = selection.preference_output(&report);
    output
        .write(OutputDetail::QueriesAndSummary, &mut out)
        .unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "num_q                 \tall\t1\n");
}

#[test]
fn worked_example() {
    // ann: a over b over c and d; d is not retrieved. bob: b over a.
    let file = "q ann 0 a 3\nq ann 0 b 2\nq ann 0 c 0\nq ann 0 d 0\nq bob 0 b 1\nq bob 0 a 0\n";
    let all = PreferenceScope::All;
    let found = values(
        file,
        &["x", "a", "c", "b"],
        &[
            Possible,
            Fulfilled,
            Simple(all),
            Simple(PreferenceScope::Retrieved),
            Simple(PreferenceScope::Implied),
            Group(all),
            Pair(all),
            Pair(PreferenceScope::Retrieved),
        ],
    );
    // ann has ab, ac, ad, bc, bd: all but bc are fulfilled. bob has ba, which is not.
    // Pairs: ab 1/2, ac 1, ad 1, bc 0, bd 1.
    let expected = [
        6.0,
        4.0,
        4.0 / 6.0,
        2.0 / 4.0,
        4.0 / 6.0,
        (4.0 / 5.0 + 0.0) / 2.0,
        3.5 / 5.0,
        1.5 / 3.0,
    ];
    assert_eq!(found, expected);
}

/// With one group and two levels the measure is similar to bpref.
#[test]
fn balanced_preferences_by_hand() {
    // R = 2 (a, b), N = 1 (c): one added document, below the retrieved ones.
    let file = "q u 0 a 1\nq u 0 b 1\nq u 0 c 0\n";
    // ac is fulfilled, bc is not, and the added document is below a only: 2 of 4.
    assert_eq!(values(file, &["a", "c"], &[Balanced]), [2.0 / 4.0]);
    // Between retrieved documents: ac of ac. R = 1, N = 1.
    assert_eq!(values(file, &["a", "c"], &[BalancedRetrieved]), [1.0]);
    // Without preferences: 0/0 in trec_eval, which counts as 0.
    assert_eq!(
        values(
            "q u 0 a 0\n",
            &["a"],
            &[Balanced, Group(PreferenceScope::All)]
        ),
        [0.0, 0.0]
    );
    // In subgroups: R = 1 (a), N = 2 (b, c); the second of them does not count.
    let subgroups = "q u s a 1\nq u s b 0\nq u t a 1\nq u t c 0\n";
    assert_eq!(values(subgroups, &["b", "a", "c"], &[Balanced]), [0.0]);
    assert_eq!(values(subgroups, &["a", "c"], &[Balanced]), [1.0]);
}

#[test]
fn contradictory_preferences_are_errors() {
    assert_eq!(
        error_of("q u 0 a 1\nq u 0 a 2\n"),
        "query \"q\", group \"u\": expected one level for document \"a\", found 1 and 2"
    );
    assert_eq!(
        error_of("q u s a 1\nq u s b 0\nq u t b 2\nq u t c 1\n"),
        "query \"q\", group \"u\": document \"b\" has level 0 in one subgroup and another level in a second one"
    );
    let cycle = error_of("q u s a 3\nq u s b 2\nq u t b 2\nq u t c 1\nq u w c 9\nq u w a 8\n");
    assert!(cycle.contains("are each preferred to the other"), "{cycle}");
    // Two groups may contradict each other.
    values(
        "q u 0 a 1\nq u 0 b 0\nq v 0 a 0\nq v 0 b 1\n",
        &["a"],
        &[Possible],
    );
    let read = |file: &str| {
        preferences::read(file.as_bytes(), "prefs")
            .unwrap_err()
            .to_string()
    };
    assert_eq!(read("q u s a\n"), "prefs:1: expected 5 columns, found 4");
    assert_eq!(
        read("q u s a 1\nq u s b nan\n"),
        "prefs:2: expected a level, found NaN"
    );
    let qrels = preferences::read_qrels("q u s a 1\n".as_bytes(), "qrels").unwrap_err();
    assert_eq!(qrels.to_string(), "qrels:1: expected 4 columns, found 5");
    let odd = preferences::read("q u s a high\n".as_bytes(), "prefs")
        .unwrap()
        .warnings;
    assert_eq!(
        odd[0].to_string(),
        "prefs:1: the level \"high\" is not a number and was read as 0"
    );
    let apart = preferences::read("p u s a 1\n".as_bytes(), "prefs")
        .unwrap()
        .data;
    let error = apart
        .evaluate(&run(&["a"]), &[Possible], Rules::default())
        .unwrap_err();
    assert!(error.to_string().contains("found none"), "{error}");
}

#[test]
fn missing_queries_by_release() {
    let file = "p u 0 a 1\np u 0 b 0\nq u 0 a 1\nq u 0 b 0\n";
    let preferences = preferences::read(file.as_bytes(), "prefs").unwrap().data;
    let summary = |rules: Rules| {
        let report = preferences.evaluate(
            &run(&["a"]),
            &[Possible, Simple(PreferenceScope::All)],
            rules,
        );
        let report = report.unwrap();
        assert_eq!(report.missing().collect::<Vec<_>>(), ["p"]);
        (
            report.queries().len(),
            report.summary(Possible).unwrap(),
            report.summary(Simple(PreferenceScope::All)).unwrap(),
        )
    };
    let skip = Rules {
        missing: MissingQueries::Skip,
        ..Rules::default()
    };
    assert_eq!(summary(skip), (1, 1.0, 1.0));
    assert_eq!(summary(Rules::default()), (2, 2.0, 0.5));
    assert_eq!(summary(Rules::TREC_EVAL_9_0_8), (2, 1.0, 0.5));
}

/// trec_eval breaks ties by ascending id for preferences, and descending for everything else.
#[test]
fn ties_and_depth() {
    let file = "q u 0 a 1\nq u 0 b 0\n";
    let preferences = preferences::read(file.as_bytes(), "prefs").unwrap().data;
    let mut tied = Run::new("r");
    tied.push("q", "b", 1.0);
    tied.push("q", "a", 1.0);
    let fulfilled = |run: &Run, rules: Rules| {
        let report = preferences.evaluate(run, &[Fulfilled], rules).unwrap();
        report.summary(Fulfilled).unwrap()
    };
    let ties = |ties: TieBreak| Rules {
        ties,
        ..Rules::default()
    };
    assert_eq!(fulfilled(&tied, Rules::default()), 1.0);
    assert_eq!(fulfilled(&tied, ties(TieBreak::RunOrder)), 0.0);
    let error = preferences
        .evaluate(&tied, &[Fulfilled], ties(TieBreak::Reject))
        .unwrap_err();
    assert!(error.to_string().contains("same score"), "{error}");
    let cut = Rules {
        depth: Some(1),
        ..Rules::default()
    };
    assert_eq!(fulfilled(&run(&["b", "a"]), cut), 0.0);
    assert_eq!(fulfilled(&run(&["a", "b"]), cut), 1.0);
}

/// A preference file as a table: group, subgroup, document, level.
type Stated = Vec<(u8, u8, u8, u8)>;

/// All preferences of every group by definition: the transitive closure of the stated ones. `None`
/// if a group contradicts itself.
fn by_definition(stated: &Stated) -> Option<BTreeMap<u8, Vec<(u8, u8)>>> {
    let mut groups: BTreeMap<u8, BTreeSet<(u8, u8)>> = BTreeMap::new();
    for &(group, part, doc, level) in stated {
        groups.entry(group).or_default();
        for &(other_group, other_part, other, lower) in stated {
            if (group, part) == (other_group, other_part) && level > lower {
                if doc == other {
                    return None;
                }
                groups.entry(group).or_default().insert((doc, other));
            }
            let parts = stated.iter().filter(|s| s.0 == group).map(|s| s.1);
            if group == other_group
                && doc == other
                && (level == 0) != (lower == 0)
                && parts.collect::<BTreeSet<_>>().len() > 1
            {
                return None;
            }
        }
    }
    for preferred in groups.values_mut() {
        loop {
            let follows: Vec<(u8, u8)> = preferred
                .iter()
                .flat_map(|&(a, b)| {
                    let next = preferred.iter().filter(move |pair| pair.0 == b);
                    next.map(move |pair| (a, pair.1))
                })
                .filter(|pair| !preferred.contains(pair))
                .collect();
            if follows.is_empty() {
                break;
            }
            preferred.extend(follows);
        }
        if preferred.iter().any(|&(a, b)| a == b) {
            return None;
        }
    }
    Some(
        groups
            .into_iter()
            .map(|(g, pairs)| (g, pairs.into_iter().collect()))
            .collect(),
    )
}

fn case() -> impl Strategy<Value = (Stated, Vec<u8>)> {
    let stated = vec((0..3_u8, 0..3_u8, 0..8_u8, 0..4_u8), 1..16).prop_map(|stated| {
        let mut seen = BTreeSet::new();
        let first = |s: &(u8, u8, u8, u8)| seen.insert((s.0, s.1, s.2));
        stated.into_iter().filter(first).collect::<Stated>()
    });
    let list = Just((0..10_u8).collect::<Vec<_>>()).prop_shuffle();
    (stated, list, 0..10_usize).prop_map(|(stated, mut list, found)| {
        list.truncate(found + 1);
        (stated, list)
    })
}

fn mean(fractions: &[f64]) -> f64 {
    if fractions.is_empty() {
        0.0
    } else {
        fractions.iter().sum::<f64>() / fractions.len() as f64
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_definition((stated, list) in case()) {
        let mut preferences = Preferences::new();
        for (group, part, doc, level) in &stated {
            let [group, part] = [group, part].map(|n| n.to_string());
            preferences.insert("q", &group, &part, format!("d{doc}"), f64::from(*level));
        }
        let names: Vec<String> = list.iter().map(|doc| format!("d{doc}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let report = preferences.evaluate(&run(&names), &PreferenceMeasure::ALL, Rules::default());
        let Some(groups) = by_definition(&stated) else {
            prop_assert!(report.is_err());
            return Ok(());
        };
        let report = report.unwrap();
        let position = |doc: u8| list.iter().position(|&other| other == doc);
        for scope in [PreferenceScope::All, PreferenceScope::Retrieved, PreferenceScope::Implied] {
            let counts = |&&(a, b): &&(u8, u8)| match scope {
                PreferenceScope::All => true,
                PreferenceScope::Retrieved => position(a).is_some() && position(b).is_some(),
                PreferenceScope::Implied => position(a).is_some() || position(b).is_some(),
            };
            let fulfilled = |&&(a, b): &&(u8, u8)| match (position(a), position(b)) {
                (Some(a), Some(b)) => a < b,
                (found, None) => found.is_some(),
                (None, Some(_)) => false,
            };
            let fraction = |pairs: &[(u8, u8)]| {
                let all = pairs.iter().filter(counts).count();
                let fulfilled = pairs.iter().filter(counts).filter(fulfilled).count();
                (fulfilled as f64, all as f64)
            };
            let everything: Vec<(u8, u8)> = groups.values().flatten().copied().collect();
            let (fulfilled_all, all) = fraction(&everything);
            let simple = if all > 0.0 { fulfilled_all / all } else { 0.0 };
            prop_assert_eq!(report.summary(Simple(scope)), Some(simple));
            if scope == PreferenceScope::All {
                prop_assert_eq!(report.summary(Possible), Some(all));
                prop_assert_eq!(report.summary(Fulfilled), Some(fulfilled_all));
            }
            let by_group: Vec<f64> = groups
                .values()
                .map(|pairs| fraction(pairs))
                .map(|(fulfilled, all)| if all > 0.0 { fulfilled / all } else { 0.0 })
                .collect();
            prop_assert!((report.summary(Group(scope)).unwrap() - mean(&by_group)).abs() < 1e-12);
            let mut pairs: HashMap<(u8, u8), Vec<f64>> = HashMap::new();
            for pair in everything.iter().filter(counts) {
                let entry = pairs.entry((pair.0.min(pair.1), pair.0.max(pair.1))).or_default();
                entry.push(f64::from(u8::from(fulfilled(&pair))));
            }
            let by_pair: Vec<f64> = pairs.values().map(|fulfilled| mean(fulfilled)).collect();
            prop_assert!((report.summary(Pair(scope)).unwrap() - mean(&by_pair)).abs() < 1e-12);
        }
        // Balanced measures are fractions, too.
        for measure in [Balanced, BalancedRetrieved] {
            let fraction = report.summary(measure).unwrap();
            prop_assert!((0.0..=1.0).contains(&fraction), "{measure} {fraction}");
        }
    }

    /// A line consists of ids and a number; a line that begins with `#` is a comment.
    #[test]
    fn lines_are_read_or_rejected(rows in vec((vec("[#a-c]{1,2}", 2..5), 0..4_i32), 0..5)) {
        let lines = rows.iter().map(|(ids, number)| format!("{}\t{number}\n", ids.join(" ")));
        let file: String = lines.collect();
        let rows: Vec<(Vec<&str>, i32)> = rows
            .iter()
            .filter(|(ids, _)| !ids[0].starts_with('#'))
            .map(|(ids, number)| (ids.iter().map(String::as_str).collect(), *number))
            .collect();
        let have = |count: usize| rows.iter().all(|(ids, _)| ids.len() == count);
        let (mut of_prefs, mut of_qrels) = (Preferences::new(), Preferences::new());
        let (mut groups, mut scores) = (JudgmentGroups::new(), ZScores::default());
        let mut repeated = false;
        for (ids, number) in &rows {
            let level = f64::from(*number);
            match ids[..] {
                [query, group, subgroup, doc] => of_prefs.insert(query, group, subgroup, doc, level),
                [query, group, doc] => {
                    of_qrels.insert(query, group, "0", doc, level);
                    repeated |= groups.insert(query, group, doc, i64::from(*number)).is_some();
                    // The last id is no number, and is read as 0.
                    scores.insert(query, group, 0.0, level);
                }
                _ => {}
            }
        }
        let file = file.as_bytes();
        let read = preferences::read(file, "x").ok().map(|parsed| parsed.data);
        prop_assert_eq!(read, have(4).then_some(of_prefs));
        let read = preferences::read_qrels(file, "x").ok().map(|parsed| parsed.data);
        prop_assert_eq!(read, have(3).then_some(of_qrels));
        let read = JudgmentGroups::read(file, "x").ok().map(|parsed| parsed.data);
        prop_assert_eq!(read, (have(3) && !repeated).then_some(groups));
        let read = ZScores::read(file, "x").ok().map(|parsed| parsed.data);
        prop_assert_eq!(read, have(3).then_some(scores));
    }

    /// Blank lines and comments have no judgments.
    #[test]
    fn arbitrary_bytes_are_read_or_rejected(bytes: Vec<u8>) {
        let lines = bytes.split(|&byte| byte == b'\n').count();
        for read in [preferences::read(&bytes[..], "x"), preferences::read_qrels(&bytes[..], "x")] {
            prop_assert!(read.is_err() || read.unwrap().data.queries().len() <= lines);
        }
        let groups = JudgmentGroups::read(&bytes[..], "x");
        prop_assert!(groups.is_err() || groups.unwrap().data.queries().len() <= lines);
        let scores = ZScores::read(&bytes[..], "x");
        prop_assert!(scores.is_err() || scores.unwrap().data.zscore("", "", 0.0).is_none());
    }
}
