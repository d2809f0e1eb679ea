//! Significance tests against scipy, the worked example, slow versions and themselves.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use ir_eval::significance::{
    Alternative, BootstrapResampling, EffectSize, IntervalMethod, MultipleTestingCorrection,
    NullDistribution, PairedTTest, RandomizationTest, SignificanceError, TestResult,
    WilcoxonMethod, WilcoxonTest, ZeroDifferences,
};
use serde_json::Value;

const WAYS: [Alternative; 3] = [
    Alternative::TwoSided,
    Alternative::Greater,
    Alternative::Less,
];

/// A seeded stream of its own, so that the tests do not lean on the library's.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    /// About normal, between -3 and 3.
    fn normal(&mut self) -> f64 {
        (0..12)
            .map(|_| self.below(1 << 20) as f64 / (1 << 20) as f64)
            .sum::<f64>()
            / 2.0
            - 3.0
    }
}

/// What scipy says: `testdata/significance.py` made it, and names the versions.
fn scipy() -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/testdata/significance.jsonl.gz"
    );
    BufReader::new(GzDecoder::new(File::open(path).unwrap()))
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

fn numbers(value: &Value) -> Vec<Option<f64>> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(Value::as_f64)
        .collect()
}

/// Equal to nine digits, or within 1e-12.
#[track_caller]
fn close(ours: f64, theirs: f64, what: &str) {
    let off = (ours - theirs).abs();
    assert!(
        off <= 1e-9 * theirs.abs() || off < 1e-12,
        "{what}: {ours} for {theirs}"
    );
}

#[test]
fn t_wilcoxon_and_sign_flips_equal_scipy() {
    let (mut vectors, mut compared) = (0, 0);
    for line in scipy() {
        let Some(d) = line.get("d") else { continue };
        let d: Vec<f64> = numbers(d).into_iter().map(Option::unwrap).collect();
        vectors += 1;
        let what = |test: &str| format!("{test} of {d:?}");

        let expected = numbers(&line["t"]);
        for (way, p) in WAYS.into_iter().zip(&expected[1..]) {
            let ours = PairedTTest.test(&d, way).unwrap();
            match expected[0] {
                Some(t) => close(ours.statistic, t, &what("t")),
                // All the same: an infinite t.
                None => assert!(ours.statistic.is_infinite(), "{}", what("t")),
            }
            close(ours.p, p.unwrap(), &what("t"));
            compared += 2;
        }
        let expected = numbers(&line["interval"]);
        if let [Some(low), Some(high)] = expected[..] {
            let interval = IntervalMethod::Student.of(&d, 0.95).unwrap();
            close(interval.low, low, &what("interval"));
            close(interval.high, high, &what("interval"));
            compared += 2;
        }

        for (zeros, name) in [
            (ZeroDifferences::Drop, "wilcox"),
            (ZeroDifferences::Pratt, "pratt"),
        ] {
            for (null, continuity, method) in [
                (WilcoxonMethod::Auto, false, "auto"),
                (WilcoxonMethod::Normal, false, "asymptotic"),
                (WilcoxonMethod::Normal, true, "asymptotic corrected"),
            ] {
                let test = WilcoxonTest {
                    zeros,
                    null,
                    continuity,
                    decimals: None,
                };
                let name = format!("{name} {method}");
                let expected = numbers(&line[&name]);
                for (at, way) in WAYS.into_iter().enumerate() {
                    let ours = test.test(&d, way).unwrap();
                    let statistic = expected[usize::from(at > 0)].unwrap();
                    close(ours.statistic, statistic, &what(&name));
                    close(ours.p, expected[2 + at].unwrap().min(1.0), &what(&name));
                    compared += 2;
                }
            }
        }

        if let Some(expected) = line.get("signs") {
            for (way, p) in WAYS.into_iter().zip(numbers(expected)) {
                let ours = RandomizationTest::default().test(&d, way).unwrap();
                assert_eq!(ours.null_distribution, NullDistribution::Exact);
                close(ours.p, p.unwrap(), &what("sign flips"));
                compared += 1;
            }
        }
    }
    assert!(
        vectors > 240 && compared > 10_000,
        "{vectors} vectors, {compared} values"
    );
}

#[test]
fn corrections_equal_statsmodels() {
    let mut families = 0;
    for line in scipy() {
        let Some(p) = line.get("p") else { continue };
        let p: Vec<f64> = numbers(p).into_iter().map(Option::unwrap).collect();
        for (correction, name) in [
            (MultipleTestingCorrection::Holm, "holm"),
            (MultipleTestingCorrection::Bonferroni, "bonferroni"),
        ] {
            let adjusted = correction.adjust(&p);
            for (ours, theirs) in adjusted.into_iter().zip(numbers(&line[name])) {
                close(ours, theirs.unwrap(), name);
            }
        }
        assert_eq!(MultipleTestingCorrection::None.adjust(&p), p);
        families += 1;
    }
    assert_eq!(families, 20);
}

#[test]
fn the_worked_example() {
    let a = [0.5, 0.2, 0.9, 0.4, 0.7, 0.3, 0.8, 0.1];
    let b = [0.6, 0.1, 1.0, 0.4, 0.9, 0.5, 0.7, 0.3];
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let shown = |o: TestResult| format!("{:.5} {:.6}", o.statistic, o.p);
    let two = Alternative::TwoSided;
    let t = PairedTTest.test(&d, two).unwrap();
    assert_eq!(shown(t), "-1.65503 0.141892");
    assert_eq!(
        t.null_distribution,
        NullDistribution::StudentT {
            degrees_of_freedom: 7
        }
    );
    let wilcoxon = |zeros, null| WilcoxonTest {
        zeros,
        null,
        ..WilcoxonTest::default()
    };
    let p = |test: WilcoxonTest| shown(test.test(&d, two).unwrap());
    assert_eq!(p(WilcoxonTest::default()), "7.00000 0.281250");
    assert_eq!(
        p(wilcoxon(ZeroDifferences::Drop, WilcoxonMethod::Normal)),
        "7.00000 0.235885"
    );
    assert_eq!(
        p(wilcoxon(ZeroDifferences::Pratt, WilcoxonMethod::Auto)),
        "9.00000 0.265625"
    );
    let flips = RandomizationTest::default().test(&d, two).unwrap();
    assert_eq!((flips.p, flips.by), (56.0 / 256.0, NullDistribution::Exact));
    // What looks equal to the eye is a tie once rounded: four of 0.1 and three of 0.2, the smaller
    // sum is 2.5 + 2.5.
    let rounded = WilcoxonTest {
        decimals: Some(6),
        ..WilcoxonTest::default()
    };
    assert_eq!(rounded.test(&d, two).unwrap().statistic, 5.0);
}

#[test]
fn no_difference_at_all_and_the_same_everywhere() {
    let zeros = [0.0; 5];
    let none = TestResult {
        statistic: 0.0,
        p: 1.0,
        null_distribution: NullDistribution::NoDifference,
    };
    for way in WAYS {
        assert_eq!(PairedTTest.test(&zeros, way), Ok(none));
        assert_eq!(WilcoxonTest::default().test(&zeros, way), Ok(none));
        assert_eq!(RandomizationTest::default().test(&zeros, way), Ok(none));
        assert_eq!(BootstrapResampling::default().test(&zeros, way), Ok(none));
    }
    assert_eq!(EffectSize::of(&zeros).unwrap().cohens_d, Some(0.0));
    // 0.1 cannot be written in binary: a naive deviation would not be 0.
    let same = [0.1; 3];
    assert_eq!(
        PairedTTest.test(&same, Alternative::Greater).unwrap().p,
        0.0
    );
    assert_eq!(PairedTTest.test(&same, Alternative::Less).unwrap().p, 1.0);
    let flips = RandomizationTest::default();
    assert_eq!(flips.test(&same, Alternative::TwoSided).unwrap().p, 0.25);
    assert_eq!(EffectSize::of(&same).unwrap().cohens_d, None);
}

#[test]
fn what_cannot_be_tested() {
    let way = Alternative::TwoSided;
    for d in [&[][..], &[0.5]] {
        let few = SignificanceError::Few { found: d.len() };
        assert_eq!(PairedTTest.test(d, way), Err(few.clone()));
        assert_eq!(WilcoxonTest::default().test(d, way), Err(few.clone()));
        assert_eq!(RandomizationTest::default().test(d, way), Err(few.clone()));
        assert_eq!(IntervalMethod::Student.of(d, 0.95), Err(few));
    }
    let error = PairedTTest.test(&[0.5, f64::INFINITY], way).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected finite differences, found inf at position 1"
    );
    let none = RandomizationTest {
        samples: 0,
        seed: 0,
    };
    assert_eq!(none.test(&[0.5, 0.1], way), Err(SignificanceError::Samples));
    let level = IntervalMethod::Student.of(&[0.5, 0.1], 1.0);
    assert_eq!(level, Err(SignificanceError::Level { found: 1.0 }));
}

/// The p value by going through all signs, one by one.
fn all_signs(d: &[f64], way: Alternative) -> f64 {
    let observed: f64 = d.iter().sum();
    let mut extreme = 0;
    for pattern in 0..1_u32 << d.len() {
        let sum: f64 = d
            .iter()
            .enumerate()
            .map(|(at, &d)| if pattern >> at & 1 == 1 { -d } else { d })
            .sum();
        extreme += u32::from(match way {
            Alternative::TwoSided => sum.abs() >= observed.abs() - 1e-11,
            Alternative::Greater => sum >= observed - 1e-11,
            Alternative::Less => sum <= observed + 1e-11,
        });
    }
    f64::from(extreme) / f64::from(1_u32 << d.len())
}

#[test]
fn sign_flips_are_exact_for_few_queries_and_close_for_many() {
    let mut random = Random(7);
    for n in 2..=12 {
        let d: Vec<f64> = (0..n)
            .map(|_| (random.below(9) as f64 - 3.0) / 10.0)
            .collect();
        if d.iter().all(|&d| d == 0.0) {
            continue;
        }
        for way in WAYS {
            let p = RandomizationTest::default().test(&d, way).unwrap().p;
            close(p, all_signs(&d, way), "all signs");
        }
    }
    // 21 queries that differ: drawn; 20: counted. The 21st hardly matters.
    let d: Vec<f64> = (0..20).map(|_| random.normal() + 0.3).collect();
    let mut more = d.clone();
    more.push(1e-9);
    for way in WAYS {
        let exact = RandomizationTest::default().test(&d, way).unwrap();
        let drawn = RandomizationTest::default().test(&more, way).unwrap();
        assert_eq!(exact.null_distribution, NullDistribution::Exact);
        assert_eq!(drawn.by, NullDistribution::MonteCarlo { samples: 100_000 });
        let error = (exact.p * (1.0 - exact.p) / 100_000.0).sqrt();
        assert!(
            (exact.p - drawn.p).abs() < 4.0 * error + 1e-5,
            "{} {}",
            exact.p,
            drawn.p
        );
    }
}

#[test]
fn drawn_p_values_are_never_0_and_depend_on_the_seed_alone() {
    let d = vec![0.5; 100];
    let test = |seed| RandomizationTest { samples: 999, seed };
    let outcome = test(1).test(&d, Alternative::TwoSided).unwrap();
    assert_eq!(outcome.p, 1.0 / 1000.0);
    let mut random = Random(11);
    let d: Vec<f64> = (0..300).map(|_| random.normal()).collect();
    let p = |seed| test(seed).test(&d, Alternative::TwoSided).unwrap().p;
    assert_eq!(p(1), p(1));
    assert_ne!((p(1), p(2)), (p(3), p(4)));
}

/// Under the null hypothesis, p values are uniform: a test at the level 0.1 rejects in a tenth of
/// the cases. The percentile bootstrap is known to reject a little too often.
#[test]
fn tests_reject_as_often_as_they_say() {
    let mut random = Random(3);
    let cases = 1000;
    let mut rejected = [[0_u32; 3]; 4];
    for _ in 0..cases {
        let d: Vec<f64> = (0..40).map(|_| random.normal()).collect();
        for (at, way) in WAYS.into_iter().enumerate() {
            let flips = RandomizationTest {
                samples: 500,
                seed: 5,
            };
            let bootstrap = BootstrapResampling {
                samples: 500,
                seed: 5,
            };
            let p = [
                PairedTTest.test(&d, way),
                WilcoxonTest::default().test(&d, way),
                flips.test(&d, way),
                bootstrap.test(&d, way),
            ];
            for (rejected, p) in rejected.iter_mut().zip(p) {
                rejected[at] += u32::from(p.unwrap().p <= 0.1);
            }
        }
    }
    // Three and a half standard deviations of a binomial, and a point for the bootstrap.
    let reach = 3.5 * (f64::from(cases) * 0.1 * 0.9).sqrt();
    for (test, counts) in rejected.iter().enumerate() {
        let slack = if test == 3 { 10.0 } else { 0.0 };
        for &count in counts {
            let off = (f64::from(count) - 100.0).abs();
            assert!(off <= reach + slack, "test {test}: {counts:?}");
        }
    }
}

#[test]
fn intervals_hold_the_mean_as_often_as_they_say() {
    let mut random = Random(17);
    let bootstrap = IntervalMethod::Bootstrap(BootstrapResampling {
        samples: 500,
        seed: 1,
    });
    let (mut by_t, mut by_bootstrap) = (0, 0);
    for _ in 0..1000 {
        let values: Vec<f64> = (0..50).map(|_| 0.4 + 0.1 * random.normal()).collect();
        by_t += u32::from(
            IntervalMethod::Student
                .of(&values, 0.9)
                .unwrap()
                .contains(0.4),
        );
        by_bootstrap += u32::from(bootstrap.of(&values, 0.9).unwrap().contains(0.4));
    }
    // 900 expected, with a standard deviation of 9.5; percentile intervals are a little short.
    assert!((867..=933).contains(&by_t), "{by_t}");
    assert!((857..=933).contains(&by_bootstrap), "{by_bootstrap}");
}

#[test]
fn signs_flipped_both_ways_mirror() {
    let mut random = Random(23);
    for n in [5, 20, 21, 64, 65, 300] {
        let d: Vec<f64> = (0..n).map(|_| random.normal() + 0.1).collect();
        let mirrored: Vec<f64> = d.iter().map(|d| -d).collect();
        let test = RandomizationTest {
            samples: 2000,
            seed: 9,
        };
        let p = |d: &[f64], way| test.test(d, way).unwrap().p;
        let (greater, less) = (p(&d, Alternative::Greater), p(&mirrored, Alternative::Less));
        let error = if n <= 20 { 0.0 } else { 0.04 };
        assert!((greater - less).abs() <= error, "{n}: {greater} {less}");
    }
}
