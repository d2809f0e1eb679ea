//! The type `knn`.

use std::sync::Arc;

use ir_core::Encoder;
use ir_core::stop_words::{ENGLISH_FUNCTION_WORDS, NLTK};
use ir_knn::{
    DocFrequency, NeighborAggregation, NeighborTies, TfidfConfig, TrainingQueryKnn,
    TrainingQueryKnnConfig, VectorSimilarity,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entries::cleaning;
use crate::entries::{CleaningEntry, EncoderReference, StopWordList};
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::system::{OpenSystem, System, SystemContext};

/// kNN over labeled training queries.
///
/// Relevant documents that are not in the collection, and training queries without relevant
/// documents, are left out with a note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KnnSystem {
    /// Encoder of the queries. Default: TF-IDF, fitted on the training queries.
    pub encoder: Option<EncoderReference>,
    /// Distance between queries. Default: `cosine`.
    pub metric: MetricName,
    /// Aggregation of the distances of training queries into document scores. Default: `nearest`.
    pub aggregation: AggregationName,
    /// Order of documents with the same nearest training query, for `nearest`. Default:
    /// `document-number`.
    #[serde(skip_serializing_if = "NeighborTiesName::is_default")]
    pub ties: NeighborTiesName,
    /// Number of voting queries, for `weighted-vote`. Range: ≥ 1. Default: 10.
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = NEIGHBORS))]
    pub neighbors: Option<usize>,
    /// Cleaning of test queries and training queries. Default: none.
    #[serde(deserialize_with = "cleaning::table")]
    pub cleaning: Option<CleaningEntry>,
    /// Stop words of TF-IDF. Default: `nltk`.
    pub stop_words: Option<StopWordList>,
    /// Minimum number of training queries with a term of TF-IDF. Range: ≥ 1. Default: 2.
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = MIN_DF))]
    pub min_df: Option<u64>,
    /// Maximum n-gram length in words of TF-IDF. Range: ≥ 1. Default: 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = MAX_N))]
    pub max_n: Option<usize>,
}

const NEIGHBORS: usize = 10;
const MIN_DF: u64 = 2;
const MAX_N: usize = 1;

/// Distance by which the nearest training queries or items are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricName {
    /// One minus the cosine of the angle.
    #[default]
    Cosine,
    /// Squared Euclidean distance, as published for DataFinder.
    Euclidean,
}

/// Score of a document by the distances of the training queries to which it is relevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AggregationName {
    /// Negated distance of the nearest training query of a document.
    #[default]
    Nearest,
    /// Sum of the similarities of all training queries of a document.
    Sum,
    /// Weighted vote of the nearest training queries.
    WeightedVote,
    /// DataFinder's published nearest-neighbor procedure.
    ExactTop,
}

/// Order of documents with equal distances to their nearest training queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NeighborTiesName {
    /// Ascending document number, as in all retrievers.
    #[default]
    DocumentNumber,
    /// Order of the training queries, then of the relevant documents of a query: of the file for
    /// DataFinder and MAKG, as published, and byte order of the ids for other collections.
    TrainingOrder,
}

impl NeighborTiesName {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for KnnSystem {
    fn default() -> Self {
        Self {
            encoder: None,
            metric: MetricName::Cosine,
            aggregation: AggregationName::Nearest,
            ties: NeighborTiesName::DocumentNumber,
            neighbors: None,
            cleaning: None,
            stop_words: None,
            min_df: None,
            max_n: None,
        }
    }
}

impl KnnSystem {
    fn config(&self) -> TrainingQueryKnnConfig {
        TrainingQueryKnnConfig::default()
            .with_metric(match self.metric {
                MetricName::Cosine => VectorSimilarity::Cosine,
                MetricName::Euclidean => VectorSimilarity::Euclidean,
            })
            .with_aggregation(match self.aggregation {
                AggregationName::Nearest => NeighborAggregation::Nearest,
                AggregationName::Sum => NeighborAggregation::Sum,
                AggregationName::WeightedVote => NeighborAggregation::WeightedVote {
                    neighbors: self.neighbors.unwrap_or(NEIGHBORS),
                },
                AggregationName::ExactTop => NeighborAggregation::ExactTop,
            })
            .with_ties(match self.ties {
                NeighborTiesName::DocumentNumber => NeighborTies::DocumentNumber,
                NeighborTiesName::TrainingOrder => NeighborTies::TrainingOrder,
            })
            .skip_unknown_documents()
            .skip_without_relevant()
    }

    fn tfidf(&self) -> TfidfConfig {
        let config = TfidfConfig::default()
            .with_min_df(DocFrequency::Count(self.min_df.unwrap_or(MIN_DF)))
            .with_ngrams(1, self.max_n.unwrap_or(MAX_N));
        match self.stop_words.unwrap_or(StopWordList::Nltk) {
            StopWordList::FunctionWords => config.with_stop_words(ENGLISH_FUNCTION_WORDS),
            StopWordList::Nltk => config.with_stop_words(NLTK),
            StopWordList::None => config,
        }
    }
}

impl System for KnnSystem {
    fn check(&self) -> Result<(), SystemError> {
        self.cleaning
            .as_ref()
            .map_or(Ok(()), CleaningEntry::check)?;
        if let Some(encoder) = &self.encoder {
            let tfidf = [
                ("stop_words", self.stop_words.is_some()),
                ("min_df", self.min_df.is_some()),
                ("max_n", self.max_n.is_some()),
            ];
            if let Some((key, _)) = tfidf.into_iter().find(|(_, set)| *set) {
                let message = "expected no encoder; this is a parameter of TF-IDF";
                return Err(SystemError::parameter(key, message));
            }
            encoder.check()?;
        }
        let vote = self.aggregation == AggregationName::WeightedVote;
        if self.neighbors.is_some() && !vote {
            let message = "expected aggregation = \"weighted-vote\"";
            return Err(SystemError::parameter("neighbors", message));
        }
        let is_nearest = self.aggregation == AggregationName::Nearest;
        if self.ties != NeighborTiesName::DocumentNumber && !is_nearest {
            let message = "expected aggregation = \"nearest\" for training-order";
            return Err(SystemError::parameter("ties", message));
        }
        Ok(())
    }

    fn uses_training(&self) -> bool {
        true
    }

    fn files(&self) -> Vec<(String, String)> {
        let encoder = self.encoder.as_ref().and_then(EncoderReference::file);
        let tags = self.cleaning.as_ref().and_then(CleaningEntry::file);
        encoder.into_iter().chain(tags).collect()
    }

    fn encoders(&self) -> Vec<(String, String)> {
        self.encoder
            .iter()
            .filter_map(EncoderReference::named)
            .collect()
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        match &self.encoder {
            None => Ok(Vec::new()),
            Some(encoder) => encoder.query_stages(context),
        }
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let encoder = self.encoder.as_ref();
        let content = encoder.map(|encoder| encoder.content(context));
        let tags = CleaningEntry::content(self.cleaning.as_ref(), context)?;
        Ok(content.transpose()?.unwrap_or_default() + &tags)
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let mut queries = context.training()?.to_vec();
        if let Some(entry) = &self.cleaning {
            let cleaner = entry.open(context)?;
            for query in &mut queries {
                let cleaned = cleaner.clean(&query.text);
                query.text = cleaned.map_err(SystemError::stage("cleaning training queries"))?;
            }
        }
        let ids = context.data.ids().clone();
        let failed = SystemError::stage("kNN over training queries");
        let Some(encoder) = &self.encoder else {
            let knn = TrainingQueryKnn::tfidf(ids, queries, &self.tfidf(), &self.config());
            let open = noted(context, knn.map_err(failed)?);
            return CleaningEntry::applied(self.cleaning.as_ref(), context, open);
        };
        let encoder = encoder.open(context)?;
        #[cfg(not(feature = "dense"))]
        match encoder {}
        #[cfg(feature = "dense")]
        {
            let knn = TrainingQueryKnn::new(ids, queries, encoder, &self.config());
            let open = noted(context, knn.map_err(failed)?);
            CleaningEntry::applied(self.cleaning.as_ref(), context, open)
        }
    }
}

/// Open system, after a note on the training queries and relevant documents that it ignores.
fn noted<E: Encoder + Send + Sync + 'static>(
    context: &mut SystemContext<'_>,
    knn: TrainingQueryKnn<E>,
) -> OpenSystem {
    let task = context.data.name().to_owned();
    for (count, what) in [
        (
            knn.unknown_documents().len(),
            "relevant documents of training queries are not in the collection",
        ),
        (
            knn.without_relevant(),
            "training queries have no relevant document",
        ),
    ] {
        if count > 0 {
            let note = format!("{task}: {count} {what}; left out");
            context.observer().note(&note);
        }
    }
    OpenSystem::new(Arc::new(knn))
}
