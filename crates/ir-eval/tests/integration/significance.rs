//! Significance tests against scipy, a worked example and naive implementations.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use ir_eval::compare::significance::{
    Alternative, BootstrapResampling, EffectSize, IntervalMethod, MultipleTestingCorrection,
    NullDistribution, PairedTTest, RandomizationTest, SignificanceError, TestResult,
    WilcoxonMethod, WilcoxonTest, ZeroDifferences,
};
use serde_json::Value;

const ALTERNATIVES: [Alternative; 3] = [
    Alternative::TwoSided,
    Alternative::Greater,
    Alternative::Less,
];

type TestOutcome = Result<TestResult, SignificanceError>;

/// Results of the t-test, Wilcoxon's test, the randomization test and the bootstrap test. The
/// latter two draw `samples` samples, or the default number.
fn all_tests(d: &[f64], alternative: Alternative, samples: Option<u32>) -> [TestOutcome; 4] {
    let (mut flips, mut bootstrap) = (RandomizationTest::default(), BootstrapResampling::default());
    flips.samples = samples.unwrap_or(flips.samples);
    bootstrap.samples = samples.unwrap_or(bootstrap.samples);
    [
        PairedTTest.test(d, alternative),
        WilcoxonTest::default().test(d, alternative),
        flips.test(d, alternative),
        bootstrap.test(d, alternative),
    ]
}

/// Random numbers, independent of the library's generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    /// Approximately normal, between -3 and 3.
    fn normal(&mut self) -> f64 {
        let uniform = (0..12).map(|_| self.below(1 << 20) as f64 / (1 << 20) as f64);
        uniform.sum::<f64>() / 2.0 - 3.0
    }
}

/// Expected values of scipy and statsmodels, from `testdata/significance.py`, which names versions.
fn expected_values() -> Vec<Value> {
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
    let values = value.as_array().unwrap().iter();
    values.map(Value::as_f64).collect()
}

/// Asserts equality to nine digits, or within 1e-12.
#[track_caller]
fn assert_close(found: f64, expected: f64, label: &str) {
    let off = (found - expected).abs();
    assert!(
        off <= 1e-9 * expected.abs() || off < 1e-12,
        "{label}: {found} for {expected}"
    );
}

#[test]
fn t_wilcoxon_and_randomization_tests_equal_scipy() {
    let (mut vectors, mut compared) = (0, 0);
    for line in expected_values() {
        let Some(d) = line.get("d") else { continue };
        let d: Vec<f64> = numbers(d).into_iter().map(Option::unwrap).collect();
        vectors += 1;
        let label = |test: &str| format!("{test} of {d:?}");

        let expected = numbers(&line["t"]);
        for (alternative, p) in ALTERNATIVES.into_iter().zip(&expected[1..]) {
            let found = PairedTTest.test(&d, alternative).unwrap();
            match expected[0] {
                Some(t) => {
                    assert_close(found.statistic.unwrap(), t, &label("t"));
                    assert_close(found.p.unwrap(), p.unwrap(), &label("t"));
                }
                // All differences are equal: scipy divides by 0, and its t is infinite.
                None => assert_eq!((found.statistic, found.p), (None, None), "{}", label("t")),
            }
            compared += 2;
        }
        let expected = numbers(&line["interval"]);
        if let [Some(low), Some(high)] = expected[..] {
            let interval = IntervalMethod::Student.mean_interval(&d, 0.95).unwrap();
            assert_close(interval.low, low, &label("interval"));
            assert_close(interval.high, high, &label("interval"));
            compared += 2;
        }

        for (zeros, name) in [
            (ZeroDifferences::Drop, "wilcox"),
            (ZeroDifferences::Pratt, "pratt"),
        ] {
            for (method, continuity_correction, name_suffix) in [
                (WilcoxonMethod::Auto, false, "auto"),
                (WilcoxonMethod::Normal, false, "asymptotic"),
                (WilcoxonMethod::Normal, true, "asymptotic corrected"),
            ] {
                let test = WilcoxonTest {
                    zeros,
                    method,
                    continuity_correction,
                    decimals: None,
                };
                let name = format!("{name} {name_suffix}");
                let expected = numbers(&line[&name]);
                for (at, alternative) in ALTERNATIVES.into_iter().enumerate() {
                    let found = test.test(&d, alternative).unwrap();
                    let statistic = expected[usize::from(at > 0)].unwrap();
                    assert_close(found.statistic.unwrap(), statistic, &label(&name));
                    let p = expected[2 + at].unwrap().min(1.0);
                    assert_close(found.p.unwrap(), p, &label(&name));
                    compared += 2;
                }
            }
        }

        if let Some(expected) = line.get("signs") {
            for (alternative, p) in ALTERNATIVES.into_iter().zip(numbers(expected)) {
                let found = RandomizationTest::default().test(&d, alternative).unwrap();
                assert_eq!(found.null_distribution, NullDistribution::Exact);
                assert_close(found.p.unwrap(), p.unwrap(), &label("sign flips"));
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
    for line in expected_values() {
        let Some(p) = line.get("p") else { continue };
        let p: Vec<f64> = numbers(p).into_iter().map(Option::unwrap).collect();
        for (correction, name) in [
            (MultipleTestingCorrection::Holm, "holm"),
            (MultipleTestingCorrection::Bonferroni, "bonferroni"),
        ] {
            let adjusted = correction.adjust(&p);
            for (found, theirs) in adjusted.into_iter().zip(numbers(&line[name])) {
                assert_close(found, theirs.unwrap(), name);
            }
        }
        assert_eq!(MultipleTestingCorrection::None.adjust(&p), p);
        families += 1;
    }
    assert_eq!(families, 20);
}

#[test]
fn worked_example() {
    let a = [0.5, 0.2, 0.9, 0.4, 0.7, 0.3, 0.8, 0.1];
    let b = [0.6, 0.1, 1.0, 0.4, 0.9, 0.5, 0.7, 0.3];
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let shown = |o: TestResult| format!("{:.5} {:.6}", o.statistic.unwrap(), o.p.unwrap());
    let two = Alternative::TwoSided;
    let t = PairedTTest.test(&d, two).unwrap();
    assert_eq!(shown(t), "-1.65503 0.141892");
    let degrees_of_freedom = 7;
    let student = NullDistribution::StudentT { degrees_of_freedom };
    assert_eq!(t.null_distribution, student);
    for (zeros, method, expected) in [
        (
            ZeroDifferences::Drop,
            WilcoxonMethod::Auto,
            "7.00000 0.281250",
        ),
        (
            ZeroDifferences::Drop,
            WilcoxonMethod::Normal,
            "7.00000 0.235885",
        ),
        (
            ZeroDifferences::Pratt,
            WilcoxonMethod::Auto,
            "9.00000 0.265625",
        ),
    ] {
        let test = WilcoxonTest {
            zeros,
            method,
            ..WilcoxonTest::default()
        };
        assert_eq!(shown(test.test(&d, two).unwrap()), expected);
    }
    let flips = RandomizationTest::default().test(&d, two).unwrap();
    assert_eq!(
        (flips.p, flips.null_distribution),
        (Some(56.0 / 256.0), NullDistribution::Exact)
    );
    // Rounding makes ties: four of 0.1 and three of 0.2. The smaller rank sum is 2.5 + 2.5.
    let rounded = WilcoxonTest {
        decimals: Some(6),
        ..WilcoxonTest::default()
    };
    assert_eq!(rounded.test(&d, two).unwrap().statistic, Some(5.0));
}

#[test]
fn constant_differences() {
    let zeros = [0.0; 5];
    let none = TestResult {
        statistic: Some(0.0),
        p: Some(1.0),
        null_distribution: NullDistribution::NoDifference,
    };
    for alternative in ALTERNATIVES {
        for outcome in all_tests(&zeros, alternative, None) {
            assert_eq!(outcome, Ok(none));
        }
    }
    let cohens_d = |d: &[f64]| EffectSize::from_differences(d).unwrap().cohens_d;
    assert_eq!(cohens_d(&zeros), Some(0.0));
    // 0.1 is not exact in binary: a naive standard deviation is not 0. The other ones
    // are equal in decimals only, or up to a relative error of 1e-15.
    for same in [
        [0.1; 3],
        [0.3 - 0.2, 0.4 - 0.3, 0.6 - 0.5],
        [-1e6, -1e6, -1e6 - 1e-9],
    ] {
        for alternative in ALTERNATIVES {
            let t = PairedTTest.test(&same, alternative).unwrap();
            assert_eq!((t.statistic, t.p), (None, None));
            assert_eq!(t.null_distribution, NullDistribution::EqualDifferences);
        }
        assert_eq!(cohens_d(&same), None);
        let interval = IntervalMethod::Student.mean_interval(&same, 0.95).unwrap();
        assert_eq!(interval.low, interval.high);
    }
    let flips = RandomizationTest::default();
    let p = flips.test(&[0.1; 3], Alternative::TwoSided).unwrap().p;
    assert_eq!(p, Some(0.25));
    // Small differences that are not rounding errors are tested.
    for scale in [1.0, 1e-9, 1e9] {
        let d = [0.1, 0.2, 0.3].map(|d| d * scale);
        let t = PairedTTest.test(&d, Alternative::TwoSided).unwrap();
        // By hand: mean 0.2, s 0.1.
        assert_close(t.statistic.unwrap(), 2.0 * 3.0_f64.sqrt(), "t");
        assert_close(cohens_d(&d).unwrap(), 2.0, "Cohen's d");
    }
}

#[test]
fn invalid_input_is_an_error() {
    let alternative = Alternative::TwoSided;
    for d in [&[][..], &[0.5]] {
        let few = SignificanceError::TooFewQueries { found: d.len() };
        for outcome in all_tests(d, alternative, None) {
            assert_eq!(outcome, Err(few.clone()));
        }
        assert_eq!(IntervalMethod::Student.mean_interval(d, 0.95), Err(few));
    }
    let error = PairedTTest.test(&[0.5, f64::INFINITY], alternative);
    let expected = "expected finite differences, found inf at position 1";
    assert_eq!(error.unwrap_err().to_string(), expected);
    for drawn in &all_tests(&[0.5, 0.1], alternative, Some(0))[2..] {
        assert_eq!(*drawn, Err(SignificanceError::NoSamples));
    }
    // Wilcoxon's test validates the differences before it rounds them.
    let rounded = WilcoxonTest {
        decimals: Some(4),
        ..WilcoxonTest::default()
    };
    assert_eq!(
        rounded.test(&[0.5, 1e308], alternative),
        WilcoxonTest::default().test(&[0.5, 1e308], alternative)
    );
    let level = IntervalMethod::Student.mean_interval(&[0.5, 0.1], 1.0);
    assert_eq!(level, Err(SignificanceError::Level { found: 1.0 }));
}

/// The p value by enumeration of all sign patterns.
fn enumerate_signs(d: &[f64], alternative: Alternative) -> f64 {
    let observed: f64 = d.iter().sum();
    let mut extreme = 0;
    for pattern in 0..1_u32 << d.len() {
        let sum: f64 = d
            .iter()
            .enumerate()
            .map(|(at, &d)| if pattern >> at & 1 == 1 { -d } else { d })
            .sum();
        extreme += u32::from(match alternative {
            Alternative::TwoSided => sum.abs() >= observed.abs() - 1e-11,
            Alternative::Greater => sum >= observed - 1e-11,
            Alternative::Less => sum <= observed + 1e-11,
        });
    }
    f64::from(extreme) / f64::from(1_u32 << d.len())
}

#[test]
fn randomization_test_is_exact_for_few_queries_and_close_for_many() {
    let mut random = Random(7);
    for n in 2..=12 {
        let d: Vec<f64> = (0..n)
            .map(|_| (random.below(9) as f64 - 3.0) / 10.0)
            .collect();
        if d.iter().all(|&d| d == 0.0) {
            continue;
        }
        for alternative in ALTERNATIVES {
            let found = RandomizationTest::default().test(&d, alternative).unwrap();
            assert_close(
                found.p.unwrap(),
                enumerate_signs(&d, alternative),
                "all signs",
            );
        }
    }
    // 21 differing queries are sampled, 20 are enumerated. The 21st difference is negligible.
    let d: Vec<f64> = (0..20).map(|_| random.normal() + 0.3).collect();
    let mut more = d.clone();
    more.push(1e-9);
    for alternative in ALTERNATIVES {
        let test = |d: &[f64]| RandomizationTest::default().test(d, alternative).unwrap();
        let (exact, drawn) = (test(&d), test(&more));
        let (exact_p, drawn_p) = (exact.p.unwrap(), drawn.p.unwrap());
        assert_eq!(exact.null_distribution, NullDistribution::Exact);
        let samples = 100_000;
        let expected = NullDistribution::MonteCarlo { samples };
        assert_eq!(drawn.null_distribution, expected);
        let error = (exact_p * (1.0 - exact_p) / f64::from(samples)).sqrt();
        let off = (exact_p - drawn_p).abs();
        assert!(off < 4.0 * error + 1e-5, "{exact_p} {drawn_p}");
    }
}

#[test]
fn monte_carlo_p_is_never_0_and_depends_on_the_seed_only() {
    let d = vec![0.5; 100];
    let test = |seed| RandomizationTest { samples: 999, seed };
    let result = test(1).test(&d, Alternative::TwoSided).unwrap();
    assert_eq!(result.p, Some(1.0 / 1000.0));
    // The bootstrap, too: Davison and Hinkley 1997, section 4.2.
    for alternative in [Alternative::TwoSided, Alternative::Greater] {
        let bootstrap = BootstrapResampling {
            samples: 999,
            seed: 1,
        };
        assert_eq!(
            bootstrap.test(&d, alternative).unwrap().p,
            Some(1.0 / 1000.0)
        );
    }
    let mut random = Random(11);
    let d: Vec<f64> = (0..300).map(|_| random.normal()).collect();
    let p = |seed| {
        test(seed)
            .test(&d, Alternative::TwoSided)
            .unwrap()
            .p
            .unwrap()
    };
    assert_eq!(p(1), p(1));
    assert_ne!((p(1), p(2)), (p(3), p(4)));
}

/// Under the null hypothesis p values are uniform: a test at level 0.1 rejects in 10 % of cases.
/// The percentile bootstrap is known to reject slightly too often.
#[test]
fn type_i_error_rate_equals_the_level() {
    let mut random = Random(3);
    let cases = 1000;
    let mut rejected = [[0_u32; 3]; 4];
    for _ in 0..cases {
        let d: Vec<f64> = (0..40).map(|_| random.normal()).collect();
        for (at, alternative) in ALTERNATIVES.into_iter().enumerate() {
            let p = all_tests(&d, alternative, Some(500));
            for (rejected, p) in rejected.iter_mut().zip(p) {
                rejected[at] += u32::from(p.unwrap().p.unwrap() <= 0.1);
            }
        }
    }
    // 3.5 standard deviations of a binomial, and a percentage point for the bootstrap.
    let tolerance = 3.5 * (f64::from(cases) * 0.1 * 0.9).sqrt();
    for (test, counts) in rejected.iter().enumerate() {
        let slack = if test == 3 { 10.0 } else { 0.0 };
        for &count in counts {
            let off = (f64::from(count) - 100.0).abs();
            assert!(off <= tolerance + slack, "test {test}: {counts:?}");
        }
    }
}

#[test]
fn interval_coverage_equals_the_confidence() {
    let mut random = Random(17);
    let bootstrap = IntervalMethod::Bootstrap(BootstrapResampling {
        samples: 500,
        seed: 1,
    });
    let (mut by_t, mut by_bootstrap) = (0, 0);
    for _ in 0..1000 {
        let values: Vec<f64> = (0..50).map(|_| 0.4 + 0.1 * random.normal()).collect();
        let covers = |method: IntervalMethod| {
            let interval = method.mean_interval(&values, 0.9).unwrap();
            u32::from(interval.contains(0.4))
        };
        by_t += covers(IntervalMethod::Student);
        by_bootstrap += covers(bootstrap);
    }
    // Expected: 900, standard deviation 9.5. Percentile intervals are slightly too narrow.
    assert!((867..=933).contains(&by_t), "{by_t}");
    assert!((857..=933).contains(&by_bootstrap), "{by_bootstrap}");
}

#[test]
fn one_sided_p_values_mirror() {
    let mut random = Random(23);
    for n in [5, 20, 21, 64, 65, 300] {
        let d: Vec<f64> = (0..n).map(|_| random.normal() + 0.1).collect();
        let mirrored: Vec<f64> = d.iter().map(|d| -d).collect();
        let (samples, seed) = (2000, 9);
        let test = RandomizationTest { samples, seed };
        let p = |d: &[f64], alternative| test.test(d, alternative).unwrap().p.unwrap();
        let (greater, less) = (p(&d, Alternative::Greater), p(&mirrored, Alternative::Less));
        let error = if n <= 20 { 0.0 } else { 0.04 };
        assert!((greater - less).abs() <= error, "{n}: {greater} {less}");
    }
}
