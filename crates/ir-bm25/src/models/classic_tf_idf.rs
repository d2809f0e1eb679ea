//! TF-IDF of Lucene's `ClassicSimilarity`.

use ir_core::Explanation;

use super::scoring_model::{BOOST, TermBound, TermScorer};

define_model! {
    /// TF-IDF of the vector space model, as Lucene's `ClassicSimilarity`.
    ///
    /// The contribution of a term is `√tf · (boost · idf) · 1/√length` with `idf = 1 + ln((N + 1) /
    /// (df + 1))`, in single precision. As in Lucene since version 8, there is neither a
    /// coordination factor nor a query norm, and the idf counts once. Terrier's `TF_IDF` and
    /// Indri's `tfidf` are other formulas, which saturate the frequency as BM25 does:
    /// [`TerrierTfIdf`](super::TerrierTfIdf), [`IndriTfIdf`](super::IndriTfIdf).
    ///
    /// ```
    /// use ir_bm25::models::{ClassicTfIdf, ScoringModel, TermStatistics};
    /// // 10 documents of 120 tokens, the term is in 3 of them 5 times.
    /// let scorer = ClassicTfIdf::default().term_scorer(&TermStatistics::new(10, 120, 3, 5));
    /// // √2 · (1 + ln(11 / 4)) / √8
    /// assert!((scorer.score(2, 8) - 1.005_800).abs() < 1e-6);
    /// ```
    /// # Source
    /// Salton, Wong and Yang, "A Vector Space Model for Automatic Indexing", CACM 1975; Lucene's
    /// `TFIDFSimilarity`.
    #[derive(Eq)]
    pub struct ClassicTfIdf {
        lengths: OneByte,
    }
    name: "tfidf",
    aliases: ["classic", "classicsimilarity"],
    description: "TF-IDF of Lucene's ClassicSimilarity",
    scorer: |_model, term| {
        let (n, df) = term.counts();
        let idf = (((n + 1.0) / (df + 1.0)).ln() + 1.0) as f32;
        let boost = term.boost();
        ClassicTerm { boost, idf }
    },
}

#[derive(Debug)]
struct ClassicTerm {
    boost: f32,
    idf: f32,
}

impl TermScorer for ClassicTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let norm = (1.0 / f64::from(length).sqrt()) as f32;
        f64::from(tf).sqrt() as f32 * (self.boost * self.idf) * norm
    }

    fn bound(&self) -> TermBound {
        TermBound::Monotone
    }

    fn formula(&self) -> String {
        "√tf × w / √length".to_owned()
    }

    fn details(&self, _: u32, _: u32) -> Vec<Explanation> {
        let weight = Explanation::new(self.boost * self.idf, "w = boost × idf");
        let boost = Explanation::new(self.boost, BOOST);
        let idf = Explanation::new(self.idf, "idf = 1 + ln((N + 1) / (df + 1))");
        vec![weight.with_detail(boost).with_detail(idf)]
    }
}
