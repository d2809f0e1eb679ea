use proptest::prelude::*;

use super::*;

fn text(merged: &Interleaved<char>) -> String {
    merged.items().collect()
}

fn chars(text: &str) -> Vec<char> {
    text.chars().collect()
}

#[test]
fn round_robin_as_published() {
    // As in the published DataFinder code: a duplicate item forfeits the turn.
    let (a, b, c) = (chars("abcd"), chars("cae"), chars("af"));
    let merged = round_robin(&[&a, &b, &c], 5);
    assert_eq!(text(&merged), "acbfe");
    assert_eq!(merged.teams(), [2, 2, 1]);
    let strings: [Vec<String>; 3] =
        [&a, &b, &c].map(|list| list.iter().map(char::to_string).collect());
    let lists: Vec<&[String]> = strings.iter().map(Vec::as_slice).collect();
    let merged = BTreeMap::from([("q".to_owned(), round_robin(&lists, 5))]);
    let run = to_run("x", &merged, 5);
    let scores: Vec<f64> = run.get("q").unwrap().iter().map(|s| s.score).collect();
    assert_eq!(scores, [5.0, 4.0, 3.0, 2.0, 1.0]);
}

#[test]
fn balanced_as_published() {
    let (a, b) = (chars("abcd"), chars("cae"));
    assert_eq!(text(&balanced([&a, &b], Leader::First, 99)), "acbe");
    assert_eq!(text(&balanced([&a, &b], Leader::Second, 99)), "cabe");
    assert_eq!(text(&balanced([&a, &b], Leader::Second, 3)), "cab");
}

#[test]
fn balanced_credit_by_hand() {
    let (a, b) = (chars("abcd"), chars("cae"));
    let merged = balanced([&a, &b], Leader::First, 99);
    // a has rank 1 in A and 2 in B: depth 1.
    assert_eq!(merged.credit(&[0]), Ok(vec![1, 0]));
    // a and b: b needs depth 2 of A; there A has both, B has a.
    assert_eq!(merged.credit(&[0, 2]), Ok(vec![2, 1]));
    // e needs depth 3: both lists contain a and c, e in B.
    assert_eq!(merged.credit(&[0, 1, 3, 3]), Ok(vec![2, 3]));
    assert_eq!(merged.credit(&[]), Ok(vec![0, 0]));
    let (found, length) = (4, 4);
    assert_eq!(merged.credit(&[4]), Err(ClickError { found, length }));
}

#[test]
fn team_draft_by_hand() {
    // In any order of the lists, the first round contributes a and c, the second b and e.
    let (a, b) = (chars("abcd"), chars("cae"));
    for seed in 0..50 {
        let merged = team_draft(&[&a, &b], 99, &mut SplitMix64::new(seed, 0));
        let shown = text(&merged);
        let halves = [&shown[..2], &shown[2..4]];
        assert!(["ac", "ca"].contains(&halves[0]), "{shown}");
        assert!(["be", "eb"].contains(&halves[1]), "{shown}");
        // B is exhausted: there is no third round.
        assert_eq!(&shown[4..], "");
        let teams = merged.teams();
        assert_eq!(merged.credit(&[0, 1]).unwrap(), [1, 1]);
        assert_eq!(teams.iter().sum::<usize>(), merged.slots.len());
    }
}

#[test]
fn team_draft_ends_with_an_exhausted_list() {
    let (a, none) = (chars("abcd"), chars(""));
    for seed in 0..50 {
        let mut random = SplitMix64::new(seed, 0);
        assert!(team_draft(&[&a, &none], 10, &mut random).slots.is_empty());
        assert!(team_draft(&[&none, &a], 10, &mut random).slots.is_empty());
        // Either list contributes the only item of the second list.
        let shown = text(&team_draft(&[&a, &chars("a")], 10, &mut random));
        assert!(["a", "ab"].contains(&shown.as_str()), "{shown}");
    }
}

#[test]
fn draws_are_unbiased() {
    // Two equal lists: each contributes the first item, and gets its click, half of the time.
    let list = chars("abcdef");
    let mut wins = [0_i32, 0];
    for seed in 0..4000 {
        let merged = team_draft(&[&list, &list], 6, &mut SplitMix64::new(seed, 1));
        let credit = merged.credit(&[0]).unwrap();
        wins[0] += credit[0] as i32;
        wins[1] += credit[1] as i32;
    }
    // 2000 expected; five standard deviations are 158.
    assert!((wins[0] - 2000).abs() < 158, "{wins:?}");
    let mut run = Run::new("a");
    for query in 0..2000 {
        run.push(&query.to_string(), "x", 1.0);
        run.push(&query.to_string(), "y", 0.5);
    }
    let config = InterleaveConfig {
        method: InterleaveMethod::Balanced(None),
        ..InterleaveConfig::default()
    };
    let pair = [run.clone(), run];
    let merged = config.interleave(&pair).unwrap();
    let led: usize = merged.values().map(|list| list.slots[0].list).sum();
    // 1000 expected; five standard deviations are 112.
    assert!(led.abs_diff(1000) < 112, "{led}");
    let found = config.interleave(&pair[..1]);
    assert_eq!(found, Err(InterleaveError::Two { found: 1 }));
    // Equal seeds give equal draws, different seeds different ones.
    assert_eq!(config.interleave(&pair).unwrap(), merged);
    let other = InterleaveConfig { seed: 1, ..config };
    assert_ne!(other.interleave(&pair).unwrap(), merged);
}

fn list() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0..30_u8, 0..20).prop_map(|mut list| {
        let mut seen = HashSet::new();
        list.retain(|item| seen.insert(*item));
        list
    })
}

proptest! {
    #[test]
    fn interleaved_lists_satisfy_the_invariants(lists in prop::collection::vec(list(), 2..5), limit in 0_usize..25, seed: u64) {
        let lists: Vec<&[u8]> = lists.iter().map(Vec::as_slice).collect();
        let pair = [lists[0], lists[1]];
        let all = [
            round_robin(&lists, limit),
            balanced(pair, Leader::First, limit),
            balanced(pair, Leader::Second, limit),
            team_draft(&lists, limit, &mut SplitMix64::new(seed, 0)),
        ];
        for merged in &all {
            prop_assert!(merged.slots.len() <= limit);
            let distinct: HashSet<&u8> = merged.items().collect();
            prop_assert_eq!(distinct.len(), merged.slots.len());
            for slot in &merged.slots {
                let rank = slot.ranks[slot.list].unwrap();
                prop_assert_eq!(lists[slot.list][rank - 1], slot.item);
            }
            // Items of one list keep its order.
            for number in 0..lists.len() {
                let ranks: Vec<_> = merged.slots.iter().filter(|s| s.list == number)
                    .map(|slot| slot.ranks[number]).collect();
                prop_assert!(ranks.is_sorted());
            }
            // Credit of a list is at most the number of clicks; every click gives credit.
            let clicks: Vec<usize> = (0..merged.slots.len()).step_by(2).collect();
            let credit = merged.credit(&clicks).unwrap();
            prop_assert!(credit.iter().all(|&n| n <= clicks.len()));
            prop_assert!(credit.iter().sum::<usize>() >= clicks.len());
        }
        // A list with a lower limit is a prefix of one with a higher limit.
        let longer = team_draft(&lists, limit + 5, &mut SplitMix64::new(seed, 0));
        prop_assert!(longer.items().zip(all[3].items()).all(|(a, b)| a == b));
        // Without a limit, round robin contains every item.
        let all_items = round_robin(&lists, usize::MAX);
        let union: HashSet<&u8> = lists.iter().flat_map(|list| list.iter()).collect();
        prop_assert_eq!(all_items.slots.len(), union.len());
        let teams = all[3].teams();
        prop_assert!(teams.iter().max().unwrap() - teams.iter().min().unwrap() <= 1);
        // Every prefix of a balanced list is the top of both, to depths at most 1 apart.
        for merged in &all[1..3] {
            for end in 0..=merged.slots.len() {
                let shown: HashSet<u8> = merged.items().take(end).copied().collect();
                let top = |a: usize, b: usize| -> HashSet<u8> {
                    let (a, b) = (a.min(pair[0].len()), b.min(pair[1].len()));
                    pair[0][..a].iter().chain(&pair[1][..b]).copied().collect()
                };
                let fits = (0..=end).any(|k| {
                    [top(k, k), top(k + 1, k), top(k, k + 1)].contains(&shown)
                });
                prop_assert!(fits, "{shown:?}");
            }
        }
    }
}
