//! Construction of a comparison: scores, confidence intervals and paired significance tests.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::alignment::{
    check_comparable, differences_on_averaging_scale, evaluated_queries, on_averaging_scale,
    on_common_queries,
};
use super::significance::{
    Alternative, ConfidenceInterval, EffectSize, IntervalMethod, NullDistribution, SampleProgress,
    SignificanceError, TestResult,
};
use super::{
    Bootstrap, CompareError, ComparedPairs, ComparedSystem, Comparison, ComparisonConfig,
    HypothesisFamily, PairwiseTest, SignificanceTest, SystemScore,
};
use crate::evaluate::Report;
use crate::measure::{Measure, Summary};
use ir_core::{NoProgress, Progress};

impl Comparison {
    /// Compares systems by their reports, which must come from one evaluator.
    ///
    /// Systems are named by run tag; repeated tags are numbered: `bm25`, `bm25 (2)`.
    ///
    /// All systems are compared on the same queries: all judged queries if the rules count missing
    /// queries as 0, or the queries that every system answered if the rules skip missing queries.
    ///
    /// # Errors
    /// When there are fewer than two reports; they differ in rules, measures or judged queries; the
    /// baseline is unknown; fewer than two queries are left; or the configuration is invalid.
    pub fn new(reports: &[Report], config: &ComparisonConfig) -> Result<Self, CompareError> {
        Self::with_progress(reports, config, &mut NoProgress)
    }

    /// [`Comparison::new`] that reports the random samples drawn by tests and intervals.
    ///
    /// # Errors
    /// Returns the errors of [`Comparison::new`], and [`CompareError::Canceled`] if `progress`
    /// cancels.
    pub fn with_progress(
        reports: &[Report],
        config: &ComparisonConfig,
        progress: &mut dyn Progress,
    ) -> Result<Self, CompareError> {
        let names = check_comparable(reports)?;
        config.validate()?;
        let all_queries: BTreeSet<&str> = reports.iter().flat_map(evaluated_queries).collect();
        let first = &reports[0];
        let reports = on_common_queries(reports)?;
        let queries: Vec<String> = evaluated_queries(&reports[0]).map(str::to_owned).collect();
        let mut comparison = Self {
            config: config.clone(),
            rules: *first.rules(),
            measures: first.measures().to_vec(),
            left_out: all_queries.len() - queries.len(),
            queries,
            systems: Vec::with_capacity(names.len()),
            pairwise_tests: Vec::new(),
        };
        let samples = config.samples(names.len()) * comparison.measures.len() as u64;
        let progress = &mut SampleProgress::new(progress, Some(samples));
        for (name, report) in names.into_iter().zip(&reports) {
            let system = comparison.score_system(name, report, progress)?;
            comparison.systems.push(system);
        }
        comparison.run_tests(&reports, progress)?;
        comparison.correct_p_values();
        Ok(comparison)
    }

    fn score_system(
        &self,
        name: String,
        report: &Report,
        progress: &mut SampleProgress<'_>,
    ) -> Result<ComparedSystem, CompareError> {
        let score = |(column, &measure): (usize, &Measure)| {
            let queries = report.queries().iter();
            let values: Vec<f64> = queries.map(|q| q.values()[column]).collect();
            let interval = self
                .config
                .interval
                .mean_interval_with_progress(
                    &on_averaging_scale(measure, &values),
                    1.0 - self.config.level,
                    progress,
                )
                .map_err(|source| match source {
                    SignificanceError::Canceled => CompareError::Canceled,
                    source => CompareError::Interval {
                        measure: Box::new(measure),
                        system: name.clone(),
                        source,
                    },
                })?;
            let rescale = |bound: f64| match measure.summary() {
                Summary::Mean => bound,
                Summary::Sum => bound * values.len() as f64,
                Summary::GeometricMean => bound.exp(),
            };
            Ok(SystemScore {
                measure,
                value: measure.summary().aggregate(values.iter().copied()),
                interval: ConfidenceInterval {
                    low: rescale(interval.low),
                    high: rescale(interval.high),
                },
                values,
            })
        };
        let scores: Result<_, CompareError> = self.measures.iter().enumerate().map(score).collect();
        Ok(ComparedSystem {
            missing: report.missing().len(),
            unjudged: report.unjudged().len(),
            scores: scores?,
            name,
        })
    }

    /// Pairs of systems to test, by index.
    fn pairs(&self) -> Result<Vec<(usize, usize)>, CompareError> {
        let all = 0..self.systems.len();
        let Some(baseline) = self.baseline() else {
            let both_directions = self.config.alternative != Alternative::TwoSided;
            return Ok(all
                .clone()
                .flat_map(|system| all.clone().map(move |against| (system, against)))
                .filter(|&(system, against)| {
                    against < system || (both_directions && against != system)
                })
                .collect());
        };
        let Some(at) = self.systems.iter().position(|s| s.name == baseline) else {
            return Err(CompareError::UnknownSystem {
                found: baseline.to_owned(),
                known: self.systems.iter().map(|s| s.name.clone()).collect(),
            });
        };
        let others = all.filter(|&system| system != at);
        Ok(others.map(|system| (system, at)).collect())
    }

    fn run_tests(
        &mut self,
        reports: &[Cow<'_, Report>],
        progress: &mut SampleProgress<'_>,
    ) -> Result<(), CompareError> {
        let pairs = self.pairs()?;
        let mut tests = Vec::with_capacity(pairs.len() * self.measures.len());
        for column in 0..self.measures.len() {
            for &(system, against) in &pairs {
                let pair = [&*reports[system], &*reports[against]];
                tests.push(self.test_pair(column, (system, against), pair, progress)?);
            }
        }
        self.pairwise_tests = tests;
        Ok(())
    }

    fn test_pair(
        &self,
        column: usize,
        (system, against): (usize, usize),
        reports: [&Report; 2],
        progress: &mut SampleProgress<'_>,
    ) -> Result<PairwiseTest, CompareError> {
        let (config, measure) = (&self.config, self.measures[column]);
        let (system, against) = (&self.systems[system], &self.systems[against]);
        let (score, reference) = (&system.scores[column], &against.scores[column]);
        let test_error = |source: SignificanceError| match source {
            SignificanceError::Canceled => CompareError::Canceled,
            source => CompareError::Test {
                measure: Box::new(measure),
                system: system.name.clone(),
                against: against.name.clone(),
                source,
            },
        };
        let differences = differences_on_averaging_scale(measure, &score.values, &reference.values);
        let alternative = config.alternative;
        let result = match config.test {
            SignificanceTest::PairedT(test) => test.test(&differences, alternative),
            SignificanceTest::Wilcoxon(test) => test.test(&differences, alternative),
            SignificanceTest::Randomization(test) => {
                test.test_with_progress(&differences, alternative, progress)
            }
            SignificanceTest::Bootstrap(test) => {
                test.test_with_progress(&differences, alternative, progress)
            }
            SignificanceTest::BootstrapWins(test) => {
                let result = count_wins(test, reports, measure, alternative, progress);
                Ok(result.map_err(|source| match source {
                    CompareError::Canceled => source,
                    source => CompareError::Resample {
                        measure: Box::new(measure),
                        system: system.name.clone(),
                        against: against.name.clone(),
                        source: Box::new(source),
                    },
                })?)
            }
        }
        .map_err(test_error)?;
        let interval = config
            .interval
            .mean_interval_with_progress(&differences, 1.0 - config.level, progress)
            .map_err(test_error)?;
        let scale = match measure.summary() {
            Summary::Sum => differences.len() as f64,
            Summary::Mean | Summary::GeometricMean => 1.0,
        };
        let difference = score.value - reference.value;
        Ok(PairwiseTest {
            measure,
            system: system.name.clone(),
            against: against.name.clone(),
            difference,
            relative: (reference.value > 0.0).then(|| difference / reference.value),
            interval: ConfidenceInterval {
                low: interval.low * scale,
                high: interval.high * scale,
            },
            effect: EffectSize::from_differences(&differences).map_err(test_error)?,
            result,
            adjusted_p: result.p,
            significant: false,
        })
    }

    fn correct_p_values(&mut self) {
        let (correction, level) = (self.config.correction, self.config.level);
        let tests = self.pairwise_tests.len();
        let family = match self.config.family {
            HypothesisFamily::All => tests,
            HypothesisFamily::Measure => tests / self.measures.len().max(1),
        };
        for family in self.pairwise_tests.chunks_mut(family.max(1)) {
            // A test without p is none of the family, as for R's `p.adjust`.
            let p: Vec<f64> = family.iter().filter_map(|test| test.result.p).collect();
            let tested = family.iter_mut().filter(|test| test.result.p.is_some());
            for (test, adjusted_p) in tested.zip(correction.adjust(&p)) {
                test.adjusted_p = Some(adjusted_p);
                test.significant = adjusted_p <= level;
            }
        }
    }
}

impl ComparisonConfig {
    /// Number of random samples drawn to compare systems on one measure.
    fn samples(&self, systems: usize) -> u64 {
        let test = self.test.samples().unwrap_or(0);
        let interval = match self.interval {
            IntervalMethod::Student => 0,
            IntervalMethod::Bootstrap(interval) => interval.samples,
        };
        let systems = systems as u64;
        let pairs = match (&self.pairs, self.alternative) {
            (ComparedPairs::AllPairs, Alternative::TwoSided) => systems * (systems - 1) / 2,
            (ComparedPairs::AllPairs, _) => systems * (systems - 1),
            _ => systems - 1,
        };
        pairs * u64::from(test) + (systems + pairs) * u64::from(interval)
    }

    fn validate(&self) -> Result<(), CompareError> {
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(CompareError::Level { found: self.level });
        }
        let one_sided = matches!(self.test, SignificanceTest::BootstrapWins(_));
        if one_sided && self.alternative == Alternative::TwoSided {
            return Err(CompareError::TwoSided);
        }
        self.check_samples()
    }
}

fn count_wins(
    test: Bootstrap,
    [system, against]: [&Report; 2],
    measure: Measure,
    alternative: Alternative,
    progress: &mut SampleProgress<'_>,
) -> Result<TestResult, CompareError> {
    let (first, second) = match alternative {
        Alternative::Less => (against, system),
        _ => (system, against),
    };
    let paired = test.compare_with_progress(first, second, measure, progress)?;
    Ok(TestResult {
        statistic: Some(f64::from(paired.wins)),
        p: Some(paired.p()),
        null_distribution: NullDistribution::MonteCarlo {
            samples: paired.samples,
        },
    })
}
