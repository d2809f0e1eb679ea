//! Divergence from randomness, as in Terrier.
//!
//! # Source
//! Amati and van Rijsbergen, "Probabilistic Models of Information Retrieval Based on Measuring the
//! Divergence from Randomness", TOIS 2002.

pub(super) mod bb2;
pub(super) mod df_ree;
pub(super) mod dlh13;
pub(super) mod dph;
pub(super) mod in_exp_b2;
pub(super) mod in_l2;
pub(super) mod pl2;

use std::f64::consts::PI;

use ir_core::Explanation;

pub use bb2::Bb2;
pub use df_ree::DfRee;
pub use dlh13::Dlh13;
pub use dph::Dph;
pub use in_exp_b2::InExpB2;
pub use in_l2::InL2;
pub use pl2::Pl2;

use super::parameter::{Parameter, ParameterRange};
use super::scoring_model::{BOOST, TermBound, TermScorer, TermStatistics};

/// Parameter of normalization 2.
const C: Parameter = Parameter {
    name: "c",
    description: "Length normalization of divergence from randomness; large values weaken it",
    range: ParameterRange::Positive,
    default: 1.0,
};

/// Statistics of a query term, in double precision.
#[derive(Debug)]
struct Statistics {
    boost: f64,
    /// N: number of documents with the field.
    documents: f64,
    tokens: f64,
    df: f64,
    /// F: number of occurrences in the collection.
    cf: f64,
    average: f64,
    /// Parameter of normalization 2; [`None`] for models without.
    c: Option<f64>,
}

impl Statistics {
    /// The frequency by normalization 2: `tf · log2(1 + c · average / length)`; above 0 for a `c`
    /// that rounds to none, so that its logarithm is finite.
    fn tfn(&self, tf: f64, length: f64) -> f64 {
        let tfn = tf * (1.0 + self.c.unwrap_or(1.0) * self.average / length).log2();
        tfn.max(f64::MIN_POSITIVE)
    }

    /// Information of `tf` occurrences in the hypergeometric models DPH and DLH13.
    fn hypergeometric(&self, tf: f64, length: f64) -> f64 {
        let expected = tf * self.average / length * (self.documents / self.cf);
        tf * expected.log2() + 0.5 * (2.0 * PI * tf * (1.0 - relative(tf, length))).log2()
    }
}

/// `tf / length`, and 0.99999 for a document of the term alone, as in Terrier.
fn relative(tf: f64, length: f64) -> f64 {
    if tf < length { tf / length } else { 0.99999 }
}

/// `tfn / (tfn + 1)`, in steps that are each monotone.
fn laplace(tfn: f64) -> f64 {
    1.0 - 1.0 / (1.0 + tfn)
}

/// Scorer of a query term.
#[derive(Debug)]
struct DfrTerm {
    statistics: Statistics,
    /// The contribution for a boost of 1, of a frequency and a length.
    contribution: fn(&Statistics, f64, f64) -> f64,
    formula: &'static str,
    bound: TermBound,
}

impl DfrTerm {
    fn new(
        term: &TermStatistics,
        c: Option<f32>,
        contribution: fn(&Statistics, f64, f64) -> f64,
        formula: &'static str,
        bound: TermBound,
    ) -> Self {
        let statistics = Statistics {
            boost: f64::from(term.boost()),
            documents: term.documents as f64,
            tokens: term.tokens as f64,
            df: term.df as f64,
            cf: term.cf as f64,
            average: term.average_length(),
            c: c.map(f64::from),
        };
        Self {
            statistics,
            contribution,
            formula,
            bound,
        }
    }
}

impl TermScorer for DfrTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let statistics = &self.statistics;
        let contribution = (self.contribution)(statistics, f64::from(tf), f64::from(length));
        (statistics.boost * contribution) as f32
    }

    fn bound(&self) -> TermBound {
        self.bound
    }

    fn formula(&self) -> String {
        format!("boost × {}", self.formula)
    }

    fn details(&self, tf: u32, length: u32) -> Vec<Explanation> {
        let statistics = &self.statistics;
        let mut details = vec![
            Explanation::new(statistics.boost, BOOST),
            Explanation::new(statistics.documents, "N: documents with the field"),
            Explanation::new(statistics.cf, "F: occurrences in the collection"),
            Explanation::new(statistics.df, "df: documents with the term"),
            Explanation::new(
                statistics.average,
                "average length of the documents with the field",
            ),
        ];
        if let Some(c) = statistics.c {
            let tfn = statistics.tfn(f64::from(tf), f64::from(length));
            details.push(Explanation::new(
                tfn,
                "tfn = tf × log2(1 + c × average / length)",
            ));
            details.push(Explanation::new(c, "c"));
        }
        details
    }
}
