//! How a comparison comes about.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{
    CompareError, ComparedSystem, Comparison, ComparisonConfig, HypothesisFamily, PairwiseTest,
    SignificanceTest, SystemScore,
};
use crate::significance::{
    Alternative, ConfidenceInterval, EffectSize, NullDistribution, SignificanceError, TestResult,
};
use crate::{Bootstrap, BootstrapError, Measure, Report, Summary};

impl Comparison {
    /// Compares systems by the reports that one evaluator made of their runs.
    ///
    /// A system is called by the tag of its run. Where tags repeat, the later ones are numbered:
    /// `bm25`, `bm25 (2)`.
    ///
    /// All systems are compared on the same queries. Where the rules count missing queries as 0,
    /// these are all judged queries; where they skip them, the queries that every system answered.
    ///
    /// # Errors
    /// When there are fewer than two reports, or they differ in rules, measures or judged queries;
    /// when the baseline is not among them; when fewer than two queries are left; when a parameter
    /// of the test does not fit.
    pub fn new(reports: &[Report], config: &ComparisonConfig) -> Result<Self, CompareError> {
        let Some((first, others)) = reports.split_first().filter(|all| !all.1.is_empty()) else {
            return Err(CompareError::Systems {
                found: reports.len(),
            });
        };
        if !(config.level > 0.0 && config.level < 1.0) {
            return Err(CompareError::Level {
                found: config.level,
            });
        }
        if matches!(config.test, SignificanceTest::BootstrapWins(_))
            && config.alternative == Alternative::TwoSided
        {
            return Err(CompareError::TwoSided);
        }
        let names = names(reports);
        for (other, name) in others.iter().zip(&names[1..]) {
            same(first, &names[0], other, name)?;
        }
        let anywhere: BTreeSet<&str> = reports.iter().flat_map(counted_queries).collect();
        let reports = on_common_queries(reports);
        let queries: Vec<String> = reports[0]
            .queries()
            .iter()
            .map(|query| query.query().to_owned())
            .collect();
        if queries.len() < 2 {
            let found = queries.len();
            return Err(CompareError::Few { found });
        }
        let mut comparison = Self {
            config: config.clone(),
            rules: *first.rules(),
            measures: first.measures().to_vec(),
            left_out: anywhere.len() - queries.len(),
            queries,
            systems: Vec::with_capacity(names.len()),
            pairwise_tests: Vec::new(),
        };
        for (name, report) in names.into_iter().zip(&reports) {
            let system = comparison.measured(name, report)?;
            comparison.systems.push(system);
        }
        comparison.test(&reports)?;
        comparison.correct();
        Ok(comparison)
    }

    fn measured(&self, name: String, report: &Report) -> Result<ComparedSystem, CompareError> {
        let score = |(at, &measure): (usize, &Measure)| {
            let values: Vec<f64> = report.queries().iter().map(|q| q.values()[at]).collect();
            let interval = self
                .config
                .interval
                .of(&scaled(measure, &values), 1.0 - self.config.level)
                .map_err(|source| CompareError::Interval {
                    measure: Box::new(measure),
                    system: name.clone(),
                    source,
                })?;
            let end = |end: f64| match measure.summary() {
                Summary::Mean => end,
                Summary::Sum => end * values.len() as f64,
                Summary::GeometricMean => end.exp(),
            };
            Ok(SystemScore {
                measure,
                value: measure.summary().of(values.iter().copied()),
                interval: ConfidenceInterval {
                    low: end(interval.low),
                    high: end(interval.high),
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

    /// Who is tested against whom, by position.
    fn pairs(&self) -> Result<Vec<(usize, usize)>, CompareError> {
        let all = 0..self.systems.len();
        let Some(baseline) = self.baseline() else {
            let both = self.config.alternative != Alternative::TwoSided;
            return Ok(all
                .clone()
                .flat_map(|system| all.clone().map(move |against| (system, against)))
                .filter(|&(system, against)| against < system || (both && against != system))
                .collect());
        };
        let Some(at) = self.systems.iter().position(|s| s.name == baseline) else {
            return Err(CompareError::Unknown {
                found: baseline.to_owned(),
                known: self.systems.iter().map(|s| s.name.clone()).collect(),
            });
        };
        let others = all.filter(|&system| system != at);
        Ok(others.map(|system| (system, at)).collect())
    }

    fn test(&mut self, reports: &[Cow<'_, Report>]) -> Result<(), CompareError> {
        let pairs = self.pairs()?;
        let mut pairwise_tests = Vec::with_capacity(pairs.len() * self.measures.len());
        for at in 0..self.measures.len() {
            for &(system, against) in &pairs {
                let pair = [&*reports[system], &*reports[against]];
                pairwise_tests.push(self.pairwise(at, system, against, pair)?);
            }
        }
        self.pairwise_tests = pairwise_tests;
        Ok(())
    }

    fn pairwise(
        &self,
        at: usize,
        system: usize,
        against: usize,
        reports: [&Report; 2],
    ) -> Result<PairwiseTest, CompareError> {
        let (config, measure) = (&self.config, self.measures[at]);
        let (system, against) = (&self.systems[system], &self.systems[against]);
        let (one, other) = (&system.scores[at], &against.scores[at]);
        let failed = |source: SignificanceError| CompareError::Test {
            measure: Box::new(measure),
            system: system.name.clone(),
            against: against.name.clone(),
            source,
        };
        let differences: Vec<f64> = scaled(measure, &one.values)
            .iter()
            .zip(scaled(measure, &other.values))
            .map(|(one, other)| one - other)
            .collect();
        let result = match config.test {
            SignificanceTest::PairedT(test) => test.test(&differences, config.alternative),
            SignificanceTest::Wilcoxon(test) => test.test(&differences, config.alternative),
            SignificanceTest::Randomization(test) => test.test(&differences, config.alternative),
            SignificanceTest::Bootstrap(test) => test.test(&differences, config.alternative),
            SignificanceTest::BootstrapWins(test) => {
                Ok(
                    wins(test, reports, measure, config.alternative).map_err(|source| {
                        CompareError::Resample {
                            measure: Box::new(measure),
                            system: system.name.clone(),
                            against: against.name.clone(),
                            source,
                        }
                    })?,
                )
            }
        }
        .map_err(failed)?;
        let interval = config
            .interval
            .of(&differences, 1.0 - config.level)
            .map_err(failed)?;
        let times = match measure.summary() {
            Summary::Sum => differences.len() as f64,
            Summary::Mean | Summary::GeometricMean => 1.0,
        };
        let difference = one.value - other.value;
        Ok(PairwiseTest {
            measure,
            system: system.name.clone(),
            against: against.name.clone(),
            difference,
            relative: (other.value > 0.0).then(|| difference / other.value),
            interval: ConfidenceInterval {
                low: interval.low * times,
                high: interval.high * times,
            },
            effect: EffectSize::from_differences(&differences).map_err(failed)?,
            result,
            adjusted_p: result.p,
            significant: false,
        })
    }

    fn correct(&mut self) {
        let (config, tests) = (&self.config, self.pairwise_tests.len());
        let family = match config.family {
            HypothesisFamily::All => tests,
            HypothesisFamily::Measure => tests / self.measures.len().max(1),
        };
        for pairwise_tests in self.pairwise_tests.chunks_mut(family.max(1)) {
            let p: Vec<f64> = pairwise_tests.iter().map(|c| c.result.p).collect();
            for (pairwise, adjusted) in pairwise_tests.iter_mut().zip(config.correction.adjust(&p))
            {
                pairwise.adjusted_p = adjusted;
                pairwise.significant = adjusted <= config.level;
            }
        }
    }
}

/// The values on the scale on which a measure averages.
fn scaled(measure: Measure, values: &[f64]) -> Vec<f64> {
    match measure.summary() {
        Summary::Mean | Summary::Sum => values.to_vec(),
        Summary::GeometricMean => values.iter().map(|v| v.max(Summary::LEAST).ln()).collect(),
    }
}

fn wins(
    test: Bootstrap,
    [system, against]: [&Report; 2],
    measure: Measure,
    alternative: Alternative,
) -> Result<TestResult, BootstrapError> {
    let paired = match alternative {
        Alternative::Less => test.compare(against, system, measure)?,
        _ => test.compare(system, against, measure)?,
    };
    Ok(TestResult {
        statistic: f64::from(paired.wins),
        p: paired.p(),
        null_distribution: NullDistribution::MonteCarlo {
            samples: paired.resamples,
        },
    })
}

/// The tags, made unlike each other.
pub(crate) fn names(reports: &[Report]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(reports.len());
    for report in reports {
        let tag = match report.run() {
            "" => "(no name)",
            tag => tag,
        };
        let mut name = tag.to_owned();
        let mut number = 2;
        while names.contains(&name) {
            name = format!("{tag} ({number})");
            number += 1;
        }
        names.push(name);
    }
    names
}

/// Refuses reports that were not made by one evaluator.
pub(crate) fn same(
    one: &Report,
    one_name: &str,
    other: &Report,
    other_name: &str,
) -> Result<(), CompareError> {
    let (first, second) = (one_name.to_owned(), other_name.to_owned());
    if one.rules() != other.rules() {
        return Err(CompareError::Rules { first, second });
    }
    if one.measures() != other.measures() {
        return Err(CompareError::Measures { first, second });
    }
    // A query without relevant documents may be missing in one report and not count in the other.
    for (counted, among, names) in [
        (one, other, [&first, &second]),
        (other, one, [&second, &first]),
    ] {
        let known: BTreeSet<&str> = counted_queries(among).chain(among.missing()).collect();
        if let Some(query) = counted_queries(counted).find(|query| !known.contains(query)) {
            return Err(CompareError::Queries {
                first: names[0].clone(),
                second: names[1].clone(),
                query: query.to_owned(),
            });
        }
    }
    Ok(())
}

fn counted_queries(report: &Report) -> impl Iterator<Item = &str> {
    report.queries().iter().map(|query| query.query())
}

/// The reports without the queries that are not in all of them.
pub(crate) fn on_common_queries(reports: &[Report]) -> Vec<Cow<'_, Report>> {
    let mut common: BTreeSet<&str> = counted_queries(&reports[0]).collect();
    for report in &reports[1..] {
        let here: BTreeSet<&str> = counted_queries(report).collect();
        common.retain(|query| here.contains(query));
    }
    let on_common = |report| -> Cow<'_, Report> {
        let report: &Report = report;
        if report.queries.len() == common.len() {
            return Cow::Borrowed(report);
        }
        let mut report = report.clone();
        report
            .queries
            .retain(|query| common.contains(query.query.as_str()));
        Cow::Owned(report)
    };
    reports.iter().map(on_common).collect()
}
