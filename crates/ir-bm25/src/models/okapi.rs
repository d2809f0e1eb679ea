//! What the variants of BM25 share.

use ir_core::Explanation;

use super::named::{Parameter, ParameterRange};
use super::scoring_model::{TermBound, TermScorer, TermStatistics};

/// Saturation of the count in the query, by default none.
pub(super) const K3: Parameter = Parameter {
    name: "k3",
    description: "Saturation of the count of a term in the query; inf: none",
    range: ParameterRange::NonNegativeOrInfinite,
    default: f32::INFINITY,
};

/// Weight of a query term in the variants of BM25.
#[derive(Debug)]
pub(super) struct QueryWeight {
    /// `(k3 + 1) · count / (k3 + count)`, times the weight of the field.
    pub(super) boost: f64,
    pub(super) idf: f64,
    idf_formula: &'static str,
}

impl QueryWeight {
    pub(super) fn new(term: &TermStatistics, k3: f32, idf: f64, idf_formula: &'static str) -> Self {
        let count = f64::from(term.count);
        let saturated = match k3.is_infinite() {
            true => count,
            false => (f64::from(k3) + 1.0) * count / (f64::from(k3) + count),
        };
        Self {
            boost: saturated * f64::from(term.weight),
            idf,
            idf_formula,
        }
    }

    /// The product of both factors.
    pub(super) fn value(&self) -> f64 {
        self.boost * self.idf
    }

    fn details(&self) -> Explanation {
        Explanation::new(self.value(), "w = boost × idf")
            .with_detail(Explanation::new(
                self.boost,
                "boost: (k3 + 1) × count / (k3 + count) in the query × weight of the field",
            ))
            .with_detail(Explanation::new(self.idf, self.idf_formula))
    }
}

/// Scorer of a variant of BM25: `w · saturation(tf / (1 - b + b · length / average))`.
#[derive(Debug)]
pub(super) struct OkapiTerm {
    pub(super) weight: QueryWeight,
    pub(super) k1: f64,
    pub(super) b: f64,
    pub(super) delta: f64,
    pub(super) average: f64,
    pub(super) saturation: Saturation,
}

/// Saturation of the normalized frequency `c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saturation {
    /// `(k1 + 1) · c / (k1 + c)`.
    Okapi,
    /// `(k1 + 1) · c / (k1 + c) + delta`.
    Plus,
    /// `(k1 + 1) · (c + delta) / (k1 + c + delta)`.
    Long,
}

impl TermScorer for OkapiTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let Self {
            k1,
            b,
            delta,
            average,
            ..
        } = *self;
        let c = f64::from(tf) / (1.0 - b + b * f64::from(length) / average);
        // `c / (k1 + c)`, in steps that are each monotone.
        let okapi = |c: f64| (k1 + 1.0) * (1.0 - 1.0 / (1.0 + c / k1));
        let saturated = match self.saturation {
            Saturation::Okapi => okapi(c),
            Saturation::Plus => okapi(c) + delta,
            Saturation::Long => okapi(c + delta),
        };
        (self.weight.value() * saturated) as f32
    }

    // A negative idf reverses the order, so that nothing is known then.
    fn bound(&self) -> TermBound {
        match self.weight.value() >= 0.0 {
            true => TermBound::Monotone,
            false => TermBound::Unknown,
        }
    }

    fn formula(&self) -> String {
        let formula = match self.saturation {
            Saturation::Okapi => "w × (k1 + 1) × c / (k1 + c)",
            Saturation::Plus => "w × ((k1 + 1) × c / (k1 + c) + delta)",
            Saturation::Long => "w × (k1 + 1) × (c + delta) / (k1 + c + delta)",
        };
        format!("{formula}, c = tf / (1 - b + b × length / average)")
    }

    fn details(&self, _: u32, _: u32) -> Vec<Explanation> {
        let mut details = vec![
            self.weight.details(),
            Explanation::new(self.k1, "k1"),
            Explanation::new(self.b, "b"),
        ];
        if self.saturation != Saturation::Okapi {
            details.push(Explanation::new(self.delta, "delta"));
        }
        details.push(Explanation::new(
            self.average,
            "average length of the documents with the field",
        ));
        details
    }
}
