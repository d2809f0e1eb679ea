//! Expansion of queries by nearest words.

use std::sync::Arc;

use ir_bm25::{Analysis, NearestWords, Searcher, TermVectors, TermWords};
use ir_core::{Document, Encoder};
use ir_knn::{RandomIndexing, RandomIndexingConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bm25::AnalyzerName;
use super::encoder::EncoderReference;
use crate::cache::Stage;
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::system::SystemContext;

/// Encoder of queries, such as random indexing of the documents, and vectors of terms.
#[derive(Clone)]
pub(crate) struct FittedExpansion {
    encoder: Arc<dyn Encoder>,
    vectors: Arc<TermVectors>,
}

/// Expansion of queries by the words whose vectors are nearest to that of the query: those of
/// reflective random indexing of the documents, or of an encoder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExpansionEntry {
    /// Number of words added to a query. Range: ≥ 0; 0 adds none. Default: 10.
    pub words: Option<usize>,
    /// Weight of an added word at a cosine of 1; one of the query has weight 1. Range: ≥ 0.
    /// Default: 0.2.
    pub weight: Option<f32>,
    /// Encoder of the words, by name or as a table. It encodes one word per term of the documents,
    /// the most frequent one as written, and the queries; the vectors of the words are cached.
    /// Default: random indexing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<EncoderReference>,
    /// Number of dimensions of random indexing. Range: 10 to 65,536. Default: 200.
    pub dim: Option<usize>,
    /// Number of reflections of random indexing. Range: 0 to 100. Default: 1.
    pub reflections: Option<usize>,
    /// Seed of the elemental vectors of random indexing. Default: 0.
    pub seed: Option<u64>,
}

const READING: &str = "reading documents";
const INDEXING: &str = "random indexing";

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
        if let Some(encoder) = &self.encoder {
            let given = [
                ("dim", self.dim.is_some()),
                ("reflections", self.reflections.is_some()),
                ("seed", self.seed.is_some()),
            ];
            if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
                return invalid(key, "random indexing", &"an encoder");
            }
            encoder.check().map_err(in_expansion)?;
        }
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

    /// Key and path of the model of an encoder.
    pub(super) fn file(&self) -> Option<(String, String)> {
        let (key, path) = self.encoder.as_ref()?.file()?;
        Some((format!("expansion.{key}"), path))
    }

    /// Key and name of a named encoder.
    pub(super) fn named_encoder(&self) -> Option<(String, String)> {
        let (key, name) = self.encoder.as_ref()?.named()?;
        Some((format!("expansion.{key}"), name))
    }

    /// Weights and configuration of the encoder.
    pub(super) fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let encoder = self.encoder.as_ref();
        let content = encoder.map(|encoder| encoder.content(context).map_err(in_expansion));
        Ok(content.transpose()?.unwrap_or_default())
    }

    /// Cached stages of the encoder.
    pub(super) fn stages(
        &self,
        analyzer: AnalyzerName,
        context: &SystemContext<'_>,
    ) -> Result<Vec<StageReport>, SystemError> {
        let encoder = self.encoder.as_ref();
        let stages = encoder.map(|encoder| encoder.word_stages(context, &words_of(analyzer)));
        Ok(stages
            .transpose()
            .map_err(in_expansion)?
            .unwrap_or_default())
    }

    /// The expansion of the queries of a searcher. Random indexing of the titles and texts is
    /// fitted, and vectors of words are opened, once for all settings of `words` and `weight`.
    pub(super) fn open(
        &self,
        searcher: Searcher,
        analyzer: AnalyzerName,
        context: &mut SystemContext<'_>,
    ) -> Result<NearestWords, SystemError> {
        let content = self.content(context)?;
        let parameters = format!("expansion {analyzer:?} {:?} {content}", self.config());
        let key = context.key(Stage::Vectors, &parameters);
        let fitted = match context.expansion(&key) {
            Some(fitted) => fitted,
            None => {
                let fitted = match &self.encoder {
                    Some(encoder) => encoded(encoder, analyzer, context)?,
                    None => {
                        let mut texts = Vec::with_capacity(context.task().ids().len());
                        for_each_text(context, |text| texts.push(text))?;
                        let total = texts.len() as u64;
                        context.report_progress(INDEXING, total, Some(total))?;
                        self.fit(analyzer.analysis(), &texts)?
                    }
                };
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
        let (indexing, _) = fitted.map_err(SystemError::stage(INDEXING))?;
        let terms: Vec<String> = indexing.terms().map(str::to_owned).collect();
        let vectors = indexing.term_vectors();
        let dim = vectors.ncols();
        let vectors = vectors.iter().map(|value| *value as f32).collect();
        let vectors = TermVectors::new(terms, dim, vectors);
        Ok(FittedExpansion {
            encoder: Arc::new(indexing),
            vectors: Arc::new(vectors.map_err(SystemError::stage(INDEXING))?),
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

    /// The expansion of the queries of a searcher by vectors of its terms and the encoder of
    /// queries, for programs that search without an experiment file.
    ///
    /// # Errors
    /// A parameter is out of range, or the dimensions of the encoder and the vectors differ.
    pub fn nearest_words_of(
        &self,
        searcher: Searcher,
        encoder: Arc<dyn Encoder>,
        vectors: TermVectors,
    ) -> Result<NearestWords, SystemError> {
        self.check()?;
        let vectors = Arc::new(vectors);
        self.of(searcher, FittedExpansion { encoder, vectors })
    }
}

/// Vectors of one word per term of the titles and texts, and the encoder.
fn encoded(
    encoder: &EncoderReference,
    analyzer: AnalyzerName,
    context: &mut SystemContext<'_>,
) -> Result<FittedExpansion, SystemError> {
    let words = |context: &mut SystemContext<'_>| {
        let analyzer = analyzer.analysis().build();
        let analyzer = analyzer.map_err(SystemError::stage("analysis"))?;
        let mut words = TermWords::default();
        for_each_text(context, |text| words.add(&analyzer, &text))?;
        Ok(words)
    };
    let opened = encoder.word_vectors(context, &words_of(analyzer), words);
    let (encoder, vectors) = opened.map_err(in_expansion)?;
    let vectors = Arc::new(vectors);
    Ok(FittedExpansion { encoder, vectors })
}

/// Parameters of the words of the terms of an analyzer.
fn words_of(analyzer: AnalyzerName) -> String {
    format!("words {}", analyzer.analysis())
}

/// Calls `visit` with title and text of every document.
fn for_each_text(
    context: &SystemContext<'_>,
    mut visit: impl FnMut(String),
) -> Result<(), SystemError> {
    let documents = context.task().corpus().docs();
    for document in documents.map_err(SystemError::stage(READING))? {
        let Document { title, text, .. } = document.map_err(SystemError::stage(READING))?;
        visit(format!("{title}\n{text}"));
    }
    Ok(())
}

/// Error of the encoder of an expansion.
fn in_expansion(error: SystemError) -> SystemError {
    match error {
        SystemError::Parameter { key, message } => {
            SystemError::parameter(format!("expansion.{key}"), message)
        }
        SystemError::Missing { key, message } => {
            SystemError::missing(format!("expansion.{key}"), message)
        }
        other => other,
    }
}
