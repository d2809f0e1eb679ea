//! Baseline, significance test and correction of an experiment file.

use ir_eval::compare::significance::{
    Alternative, BootstrapResampling, IntervalMethod, MultipleTestingCorrection, PairedTTest,
    RandomizationTest, WilcoxonTest,
};
use ir_eval::compare::{
    Bootstrap, ComparedPairs, ComparisonConfig, HypothesisFamily, SignificanceTest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Comparison of the systems, by the names of `ir compare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ComparisonEntry {
    /// Name of the baseline. Default: the first system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Compares every pair of systems instead of each with the baseline. Default: false.
    pub all_pairs: bool,
    /// Depth of a table below the scores, in text, Markdown, LaTeX and JSON: overlap and
    /// rank-biased overlap of the top documents of the compared systems, as in `ir diff`. Range:
    /// ≥ 1. Default: no table.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub overlap_depth: Option<usize>,
    /// Significance test. Default: `t`.
    pub test: TestName,
    /// Alternative hypothesis: `two-sided`, `greater` or `less`. Default: `two-sided`; `greater`
    /// for `datafinder`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub alternative: Option<Alternative>,
    /// Multiple-testing correction: `holm`, `bonferroni` or `none`. Default: `holm`.
    #[schemars(with = "String", extend("enum" = ["holm", "bonferroni", "none"]))]
    pub correction: MultipleTestingCorrection,
    /// Family of the correction: the tests of one `measure`, or `all`. Default: `measure`.
    #[schemars(with = "String", extend("enum" = ["measure", "all"]))]
    pub family: HypothesisFamily,
    /// Significance level; confidence intervals have the level 1 − `level`. Range: between 0 and 1.
    /// Default: 0.05.
    pub level: f64,
    /// Random samples of the tests `randomization`, `bootstrap` and `datafinder`. Range: ≥
    /// 1 / `level`, also where `randomization` is exact. Default: 100000, 10000, 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub samples: Option<u32>,
    /// Seed of the samples. Default: 0.
    pub seed: u64,
}

/// Significance test by the name of `ir compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TestName {
    /// Student's paired t test.
    #[default]
    T,
    /// Wilcoxon signed-rank test of the differences.
    Wilcoxon,
    /// Fisher's randomization test of the mean difference.
    Randomization,
    /// Paired bootstrap of the mean difference.
    Bootstrap,
    /// The one-sided paired bootstrap of DataFinder's evaluation.
    Datafinder,
}

impl Default for ComparisonEntry {
    fn default() -> Self {
        let config = ComparisonConfig::default();
        Self {
            baseline: None,
            all_pairs: false,
            overlap_depth: None,
            test: TestName::T,
            alternative: None,
            correction: config.correction,
            family: config.family,
            level: config.level,
            samples: None,
            seed: 0,
        }
    }
}

impl ComparisonEntry {
    /// Returns the configuration of `ir-eval`.
    #[must_use]
    pub fn config(&self) -> ComparisonConfig {
        let test = self.significance_test();
        let alternative = self.alternative.unwrap_or(test.default_alternative());
        ComparisonConfig {
            pairs: match &self.baseline {
                _ if self.all_pairs => ComparedPairs::AllPairs,
                None => ComparedPairs::WithFirst,
                Some(name) => ComparedPairs::WithBaseline(name.clone()),
            },
            test,
            alternative,
            correction: self.correction,
            family: self.family,
            level: self.level,
            interval: IntervalMethod::Student,
        }
    }

    fn significance_test(&self) -> SignificanceTest {
        let test = match self.test {
            TestName::T => SignificanceTest::PairedT(PairedTTest),
            TestName::Wilcoxon => SignificanceTest::Wilcoxon(WilcoxonTest::default()),
            TestName::Randomization => {
                SignificanceTest::Randomization(RandomizationTest::default())
            }
            TestName::Bootstrap => SignificanceTest::Bootstrap(BootstrapResampling::default()),
            TestName::Datafinder => SignificanceTest::BootstrapWins(Bootstrap::DATAFINDER),
        };
        test.with_sampling(self.samples, self.seed)
    }

    /// Checks the parameters. The error is a key and a message.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.all_pairs && self.baseline.is_some() {
            let message = "expected either a baseline or all pairs, found both";
            return Err(("all_pairs", message.to_owned()));
        }
        if !(self.level > 0.0 && self.level < 1.0) {
            let message = format!("expected a number between 0 and 1, found {}", self.level);
            return Err(("level", message));
        }
        if self.test == TestName::Datafinder && self.alternative == Some(Alternative::TwoSided) {
            let message = "expected greater or less for the test datafinder, found two-sided";
            return Err(("alternative", message.to_owned()));
        }
        if self.samples.is_some() && !self.significance_test().draws_samples() {
            let message = "expected the test randomization, bootstrap or datafinder; no other \
                           test draws samples";
            return Err(("samples", message.to_owned()));
        }
        let test = self.significance_test();
        test.check_samples(self.level)
            .map_err(|error| ("samples", error.to_string()))?;
        Ok(())
    }
}
