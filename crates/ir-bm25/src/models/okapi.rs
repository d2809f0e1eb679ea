//! What the variants of BM25 share.

use ir_core::Explanation;

use super::parameter::{B, K1, Parameter, ParameterRange};
use super::scoring_model::{BOOST, TermBound, TermScorer, TermStatistics};

/// Term-frequency saturation and length normalization with the defaults of Okapi.
pub(super) const K1_OKAPI: Parameter = Parameter { default: 1.2, ..K1 };
pub(super) const B_OKAPI: Parameter = Parameter { default: 0.75, ..B };

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
    boost_formula: &'static str,
    pub(super) idf: f64,
    idf_formula: &'static str,
}

impl QueryWeight {
    pub(super) fn new(term: &TermStatistics, k3: f32, idf: f64, idf_formula: &'static str) -> Self {
        let count = f64::from(term.count);
        let saturated = if k3.is_infinite() {
            count
        } else {
            (f64::from(k3) + 1.0) * count / (f64::from(k3) + count)
        };
        Self {
            boost: saturated * f64::from(term.weight),
            boost_formula: "boost: (k3 + 1) × count / (k3 + count) in the query × weight of the field",
            idf,
            idf_formula,
        }
    }

    /// The weight in proportion to the count.
    pub(super) fn unsaturated(term: &TermStatistics, idf: f64, idf_formula: &'static str) -> Self {
        Self {
            boost_formula: BOOST,
            ..Self::new(term, f32::INFINITY, idf, idf_formula)
        }
    }

    /// `k1 · count / (k1 + count)`, times the weight of the field.
    pub(super) fn lemur(
        term: &TermStatistics,
        k1: f64,
        idf: f64,
        idf_formula: &'static str,
    ) -> Self {
        let count = f64::from(term.count);
        Self {
            boost: k1 * count / (k1 + count) * f64::from(term.weight),
            boost_formula: "boost: 1000 × count / (1000 + count) in the query × weight of the field",
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
            .with_detail(Explanation::new(self.boost, self.boost_formula))
            .with_detail(Explanation::new(self.idf, self.idf_formula))
    }
}

/// Scorer of a variant of BM25: `w · saturation(tf / (1 - b + b · length / average))`.
#[derive(Debug)]
pub(super) struct OkapiTerm {
    weight: QueryWeight,
    k1: f64,
    b: f64,
    average: f64,
    saturation: Saturation,
}

/// Saturation of the normalized frequency `c`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Saturation {
    /// `(k1 + 1) · c / (k1 + c)`.
    Okapi,
    /// `(k1 + 1) · c / (k1 + c) + delta`.
    Plus(f64),
    /// `(k1 + 1) · (c + delta) / (k1 + c + delta)`.
    Long(f64),
    /// `k1 · c / (k1 + c)`.
    TfIdf,
}

impl OkapiTerm {
    pub(super) fn new(
        term: &TermStatistics,
        weight: QueryWeight,
        (k1, b): (f32, f32),
        saturation: Saturation,
    ) -> Self {
        Self {
            weight,
            k1: f64::from(k1),
            b: f64::from(b),
            average: term.average_length(),
            saturation,
        }
    }
}

impl TermScorer for OkapiTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let Self { k1, b, average, .. } = *self;
        let c = f64::from(tf) / (1.0 - b + b * f64::from(length) / average);
        // `c / (k1 + c)`, in steps that are each monotone.
        let fraction = |c: f64| 1.0 - 1.0 / (1.0 + c / k1);
        let okapi = |c: f64| (k1 + 1.0) * fraction(c);
        let saturated = match self.saturation {
            Saturation::Okapi => okapi(c),
            Saturation::Plus(delta) => okapi(c) + delta,
            Saturation::Long(delta) => okapi(c + delta),
            Saturation::TfIdf => k1 * fraction(c),
        };
        (self.weight.value() * saturated) as f32
    }

    // A negative idf reverses the order, so that nothing is known then.
    fn bound(&self) -> TermBound {
        if self.weight.value() >= 0.0 {
            TermBound::Monotone
        } else {
            TermBound::Unknown
        }
    }

    fn formula(&self) -> String {
        let formula = match self.saturation {
            Saturation::Okapi => "w × (k1 + 1) × c / (k1 + c)",
            Saturation::Plus(_) => "w × ((k1 + 1) × c / (k1 + c) + delta)",
            Saturation::Long(_) => "w × (k1 + 1) × (c + delta) / (k1 + c + delta)",
            Saturation::TfIdf => "w × k1 × c / (k1 + c)",
        };
        format!("{formula}, c = tf / (1 - b + b × length / average)")
    }

    fn details(&self, _: u32, _: u32) -> Vec<Explanation> {
        let mut details = vec![
            self.weight.details(),
            Explanation::new(self.k1, "k1"),
            Explanation::new(self.b, "b"),
        ];
        if let Saturation::Plus(delta) | Saturation::Long(delta) = self.saturation {
            details.push(Explanation::new(delta, "delta"));
        }
        details.push(Explanation::new(
            self.average,
            "average length of the documents with the field",
        ));
        details
    }
}
