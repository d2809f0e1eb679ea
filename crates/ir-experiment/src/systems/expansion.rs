//! Expansion of queries by nearest words.

use std::sync::Arc;

use ir_bm25::analysis::AnalysisPipeline;
use ir_bm25::{Analysis, NearestWords, Searcher, TermVectors};
use ir_knn::{RandomIndexing, RandomIndexingConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bm25::AnalyzerName;
use crate::cache::Stage;
use crate::error::SystemError;
use crate::system::SystemContext;

/// Random indexing of documents, as encoder of queries and vectors of terms.
#[derive(Debug, Clone)]
pub(crate) struct FittedExpansion {
    encoder: Arc<RandomIndexing<AnalysisPipeline>>,
    vectors: Arc<TermVectors>,
}

/// Expansion of queries by the words whose vectors are nearest to that of the query: those of
/// reflective random indexing of the documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpansionEntry {
    /// Number of words added to a query. Range: ≥ 0; 0 adds none. Default: 10.
    pub words: Option<usize>,
    /// Weight of an added word at a cosine of 1; one of the query has weight 1. Range: ≥ 0.
    /// Default: 0.2.
    pub weight: Option<f32>,
    /// Number of dimensions. Range: 10 to 65,536. Default: 200.
    pub dim: Option<usize>,
    /// Number of reflections. Range: 0 to 100. Default: 1.
    pub reflections: Option<usize>,
    /// Seed of the elemental vectors. Default: 0.
    pub seed: Option<u64>,
}

impl ExpansionEntry {
    fn weight(&self) -> f32 {
        self.weight.unwrap_or(0.2)
    }

    fn config(&self) -> RandomIndexingConfig {
        let mut config = RandomIndexingConfig::default();
        config.dim = self.dim.unwrap_or(config.dim);
        config.reflections = self.reflections.unwrap_or(1);
        config.seed = self.seed.unwrap_or(config.seed);
        config
    }

    /// Checks the ranges of the parameters.
    ///
    /// # Errors
    /// [`SystemError::Parameter`] with the key of the parameter, such as `expansion.dim`.
    pub fn check(&self) -> Result<(), SystemError> {
        let invalid = |key: &str, expected: &str, found: &dyn std::fmt::Display| {
            let message = format!("expected {expected}, found {found}");
            Err(SystemError::parameter(format!("expansion.{key}"), message))
        };
        let (config, weight) = (self.config(), self.weight());
        if !(weight >= 0.0 && weight.is_finite()) {
            return invalid("weight", "a finite number >= 0", &weight);
        }
        if !(config.nonzero..=65_536).contains(&config.dim) {
            return invalid("dim", "a number from 10 to 65536", &config.dim);
        }
        if config.reflections > 100 {
            return invalid("reflections", "at most 100", &config.reflections);
        }
        Ok(())
    }

    /// The expansion of the queries of a searcher, with random indexing of the titles and texts,
    /// which is fitted once for all settings of `words` and `weight`.
    pub(super) fn open(
        &self,
        searcher: Searcher,
        analyzer: AnalyzerName,
        context: &mut SystemContext<'_>,
    ) -> Result<NearestWords, SystemError> {
        let parameters = format!("expansion {analyzer:?} {:?}", self.config());
        let key = context.key(Stage::Vectors, &parameters);
        let fitted = match context.expansion(&key) {
            Some(fitted) => fitted,
            None => {
                let mut texts = Vec::with_capacity(context.task().ids().len());
                let documents = context.task().corpus().docs();
                for document in documents.map_err(SystemError::stage("reading documents"))? {
                    let document = document.map_err(SystemError::stage("reading documents"))?;
                    texts.push(format!("{}\n{}", document.title, document.text));
                }
                let total = texts.len() as u64;
                context.report_progress("random indexing", total, Some(total))?;
                let fitted = self.fit(analyzer.analysis(), &texts)?;
                context.keep_expansion(key, fitted.clone());
                fitted
            }
        };
        self.of(searcher, fitted)
    }

    fn fit(&self, analysis: Analysis, texts: &[String]) -> Result<FittedExpansion, SystemError> {
        let analyzer = analysis.build();
        let analyzer = analyzer.map_err(SystemError::stage("analysis"))?;
        let fitted = RandomIndexing::fit_transform_with(analyzer, texts, &self.config());
        let (indexing, _) = fitted.map_err(SystemError::stage("random indexing"))?;
        let terms: Vec<String> = indexing.terms().map(str::to_owned).collect();
        let vectors = indexing.term_vectors();
        let dim = vectors.ncols();
        let vectors = vectors.iter().map(|value| *value as f32).collect();
        let vectors = TermVectors::new(terms, dim, vectors);
        Ok(FittedExpansion {
            encoder: Arc::new(indexing),
            vectors: Arc::new(vectors.map_err(SystemError::stage("random indexing"))?),
        })
    }

    fn of(&self, searcher: Searcher, fitted: FittedExpansion) -> Result<NearestWords, SystemError> {
        let words = self.words.unwrap_or(10);
        let FittedExpansion { encoder, vectors } = fitted;
        let expansion = NearestWords::new(searcher, encoder, vectors, words, self.weight());
        expansion.map_err(SystemError::stage("expansion by nearest words"))
    }

    /// The expansion of the queries of a searcher, with random indexing of `texts`, for programs
    /// that search without an experiment file.
    ///
    /// # Errors
    /// A parameter is out of range, or the texts have no terms.
    pub fn nearest_words(
        &self,
        searcher: Searcher,
        analysis: Analysis,
        texts: &[String],
    ) -> Result<NearestWords, SystemError> {
        self.check()?;
        self.of(searcher, self.fit(analysis, texts)?)
    }
}
