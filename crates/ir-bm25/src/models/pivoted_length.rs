//! TF-IDF with pivoted length normalization.

use ir_core::Explanation;

use super::parameter::{Parameter, ParameterRange};
use super::scoring_model::{BOOST, TermBound, TermScorer};

define_model! {
    /// TF-IDF with pivoted length normalization.
    ///
    /// The contribution of a term is `boost · idf · (1 + ln(1 + ln tf)) / (1 - s + s · length /
    /// average)` with `idf = ln((N + 1) / df)`.
    ///
    /// ```
    /// use ir_bm25::models::{PivotedLength, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = PivotedLength::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // ln(11 / 3) · (1 + ln(1 + ln 2)) / (0.8 + 0.2 · 8 / 12)
    /// assert!((scorer.score(2, 8) - 2.125_148).abs() < 1e-6);
    /// ```
    /// # Source
    /// Singhal, Buckley and Mitra, "Pivoted Document Length Normalization", SIGIR 1996; Singhal,
    /// Choi, Hindle, Lewis and Pereira, "AT&T at TREC-7", 1998.
    pub struct PivotedLength, new(s) {
        lengths: OneByte,
        /// Slope of the normalization. 0 disables it, 1 normalizes fully. Range: 0..=1. Default:
        /// 0.2.
        s: S,
    }
    name: "pivoted",
    aliases: ["pivoted-length", "pln"],
    description: "TF-IDF with pivoted length normalization",
    scorer: |model, term| {
        let (n, df) = term.counts();
        PivotedTerm {
            boost: term.boost(),
            idf: ((n + 1.0) / df).ln(),
            s: f64::from(model.s),
            average: term.average_length(),
        }
    },
}

const S: Parameter = Parameter {
    name: "s",
    description: "Slope of the length normalization; 0 disables it, 1 normalizes fully",
    range: ParameterRange::Fraction,
    default: 0.2,
};

#[derive(Debug)]
struct PivotedTerm {
    boost: f32,
    idf: f64,
    s: f64,
    average: f64,
}

impl TermScorer for PivotedTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let norm = 1.0 - self.s + self.s * f64::from(length) / self.average;
        let frequency = 1.0 + (1.0 + f64::from(tf).ln()).ln();
        (f64::from(self.boost) * self.idf * (frequency / norm)) as f32
    }

    fn bound(&self) -> TermBound {
        TermBound::Monotone
    }

    fn formula(&self) -> String {
        "boost × idf × (1 + ln(1 + ln(tf))) / (1 - s + s × length / average)".to_owned()
    }

    fn details(&self, _: u32, _: u32) -> Vec<Explanation> {
        vec![
            Explanation::new(self.boost, BOOST),
            Explanation::new(self.idf, "idf = ln((N + 1) / df)"),
            Explanation::new(self.s, "s"),
            Explanation::new(
                self.average,
                "average length of the documents with the field",
            ),
        ]
    }
}
