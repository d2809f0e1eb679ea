//! The type `random-indexing`.

use std::sync::Arc;

use ir_bm25::analysis::{Analysis, AnalysisPipeline};
use ir_core::{
    Distinct, DocIds, DocNum, Encoder, Explanation, Ranking, Retriever, Search, SearchError, Side,
};
use ir_knn::{
    ElementalVectors, FlatIndex, RandomIndexing, RandomIndexingConfig, RandomIndexingError,
    TermWeighting, VectorSimilarity,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document_texts::{TextRendering, document_texts};
use crate::entries::{
    AnalyzerEntry, BlankDocsName, CleaningEntry, DocOrderName, IndexedFieldsEntry, cleaning,
    template,
};
use crate::error::SystemError;
use crate::memory::available_memory;
use crate::system::{OpenSystem, System, SystemContext};

/// Random indexing and reflective random indexing of the documents, as in Semantic Vectors.
///
/// Documents are ranked by the cosine of their vectors with the query vector. A query without
/// terms of the documents has no hits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RandomIndexingSystem {
    /// Number of dimensions. Range: 2 to 65,536. Default: 200.
    #[schemars(range(min = 2, max = 65_536))]
    #[schemars(extend("default" = RandomIndexingConfig::default().dim))]
    pub dim: Option<usize>,
    /// Number of non-zero entries of an elemental vector: even, at most `dim`. Range: ≥ 2. Default:
    /// 10.
    #[schemars(range(min = 2))]
    #[schemars(extend("default" = RandomIndexingConfig::default().nonzero))]
    pub nonzero: Option<usize>,
    /// Objects with elemental (random) vectors. Default: `texts`.
    pub elemental: ElementalVectorsName,
    /// Number of reflections, training cycles after the first; 0 is plain random indexing. Range: 0
    /// to 100. Default: 0.
    #[schemars(range(min = 0, max = 100))]
    #[schemars(extend("default" = RandomIndexingConfig::default().reflections))]
    pub reflections: Option<usize>,
    /// Weighting of terms in texts. Default: `idf`.
    pub weight: TermWeightingName,
    /// Seed of the elemental vectors. Default: 0.
    #[schemars(extend("default" = RandomIndexingConfig::default().seed))]
    pub seed: Option<u64>,
    /// Text analysis: a name, or a table with its fields. Default: `anserini`.
    pub analyzer: AnalyzerEntry,
    /// Fields of the document texts, by name or as a list, without weights. An index has its own.
    /// Default: `one`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<IndexedFieldsEntry>,
    /// Template of the document texts, instead of `fields`. Default: `{title} {text}`.
    pub template: Option<String>,
    /// Documents with a blank text: `keep` counts them, `drop` leaves them out, as `ir search`
    /// does. An index has its own documents. Default: `keep`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blank: Option<BlankDocsName>,
    /// Order of the documents, which draws their elemental vectors and breaks ties. An index has
    /// its own. Default: the order of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<DocOrderName>,
    /// Cleaning of the queries before analysis. Default: none.
    #[serde(
        deserialize_with = "cleaning::table",
        skip_serializing_if = "Option::is_none"
    )]
    pub cleaning: Option<CleaningEntry>,
    /// Number of feedback documents (Rocchio feedback): the mean of the vectors of the first hits
    /// is added to the query vector. Range: ≥ 1. Default: no feedback.
    #[schemars(range(min = 1))]
    pub feedback_docs: Option<usize>,
    /// Weight of the mean of the feedback documents; the query vector has weight 1. Range: ≥ 0.
    /// Default: 0.75.
    #[schemars(range(min = 0.0))]
    #[schemars(extend("default" = BETA))]
    pub beta: Option<f32>,
}

const BETA: f32 = 0.75;

/// Objects with elemental vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ElementalVectorsName {
    /// Documents. A term vector is the sum of the vectors of its documents.
    #[default]
    Texts,
    /// Terms. A document vector is the sum of the vectors of its terms.
    Terms,
}

/// Weighting of a term in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TermWeightingName {
    /// Term frequency times log₁₀(N / df).
    #[default]
    Idf,
    /// Logarithm of the term frequency times one minus the normalized entropy of the term.
    LogEntropy,
    /// Square root of the term frequency.
    Root,
    /// 1 for every term that occurs.
    None,
}

impl RandomIndexingSystem {
    fn config(&self) -> RandomIndexingConfig {
        let mut config = RandomIndexingConfig::default()
            .with_elemental(match self.elemental {
                ElementalVectorsName::Texts => ElementalVectors::Texts,
                ElementalVectorsName::Terms => ElementalVectors::Terms,
            })
            .with_weight(match self.weight {
                TermWeightingName::Idf => TermWeighting::Idf,
                TermWeightingName::LogEntropy => TermWeighting::LogEntropy,
                TermWeightingName::Root => TermWeighting::Root,
                TermWeightingName::None => TermWeighting::None,
            });
        config.dim = self.dim.unwrap_or(config.dim);
        config.nonzero = self.nonzero.unwrap_or(config.nonzero);
        config.reflections = self.reflections.unwrap_or(config.reflections);
        config.seed = self.seed.unwrap_or(config.seed);
        config
    }
}

impl RandomIndexingSystem {
    /// Retriever of texts with these ids.
    fn retriever(
        &self,
        ids: DocIds,
        analysis: &Analysis,
        texts: &[String],
    ) -> Result<impl Retriever<Query = str> + use<>, SystemError> {
        let analyzer = analysis.build();
        let analyzer = analyzer.map_err(SystemError::stage("analysis"))?;
        let mut config = self.config();
        config.max_bytes = available_memory();
        let fitted = RandomIndexing::fit_transform_with(analyzer, texts, &config);
        let (indexing, exact) = fitted.map_err(failed("dim"))?;
        let vectors = exact.mapv(|value| value as f32);
        drop(exact);
        // Vectors have length 1, or 0 for documents without terms: the inner product is the cosine.
        let index = FlatIndex::new(ids, vectors, VectorSimilarity::InnerProduct);
        Ok(VectorFeedback {
            encoder: indexing,
            index: index.map_err(SystemError::stage("random indexing"))?,
            docs: self.feedback_docs.unwrap_or(0),
            beta: self.beta.unwrap_or(BETA),
        })
    }
}

/// Error of random indexing, of the key of the dimensions if the vectors do not fit into memory.
pub(super) fn failed(dim: &str) -> impl FnOnce(RandomIndexingError) -> SystemError {
    move |error| match error {
        RandomIndexingError::Memory { .. } => SystemError::parameter(dim, error.to_string()),
        other => SystemError::stage("random indexing")(other),
    }
}

impl System for RandomIndexingSystem {
    fn check(&self) -> Result<(), SystemError> {
        self.cleaning
            .as_ref()
            .map_or(Ok(()), CleaningEntry::check)?;
        let config = self.config();
        let (dim, nonzero) = (config.dim, config.nonzero);
        if nonzero == 0 || nonzero % 2 == 1 || nonzero > dim {
            let message = format!("expected an even number from 2 to {dim}, found {nonzero}");
            return Err(SystemError::parameter("nonzero", message));
        }
        if self.beta.is_some() && self.feedback_docs.is_none() {
            return Err(SystemError::requires("beta", "feedback_docs"));
        }
        if self.template.is_some() && self.fields.is_some() {
            let reason = "a template renders the only field";
            return Err(SystemError::conflict("fields", "template", reason));
        }
        self.fields
            .as_ref()
            .map(IndexedFieldsEntry::fields)
            .transpose()?;
        self.template.as_deref().map(template).transpose()?;
        self.analyzer.analysis().map(drop)
    }

    fn files(&self) -> Vec<(String, String)> {
        let tags = self.cleaning.as_ref().and_then(CleaningEntry::file);
        tags.into_iter().collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        CleaningEntry::content(self.cleaning.as_ref(), context)
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let fields = self.fields.as_ref().map(IndexedFieldsEntry::fields);
        let rendering = TextRendering {
            template: self.template.as_deref(),
            fields: fields.transpose()?.unwrap_or_default(),
            blank: self.blank,
            order: self.order,
        };
        let analysis = self.analyzer.analysis()?;
        let (ids, texts, analysis) = document_texts(context, rendering, analysis)?;
        let retriever = self.retriever(ids, &analysis, &texts)?;
        let open = OpenSystem::new(Arc::new(Distinct(retriever)));
        CleaningEntry::applied(self.cleaning.as_ref(), context, open)
    }
}

/// Search of document vectors with Rocchio feedback: q + β · mean of the vectors of the first
/// hits, L2-normalized. The first hits do not depend on the filter of a search.
struct VectorFeedback {
    encoder: RandomIndexing<AnalysisPipeline>,
    index: FlatIndex,
    /// Number of feedback documents; 0 disables feedback.
    docs: usize,
    beta: f32,
}

impl VectorFeedback {
    /// Vector of a query; `None` if it has no term of the documents.
    fn vector(&self, query: &str) -> Result<Option<Vec<f32>>, SearchError> {
        let encoded = self.encoder.encode(Side::Query, &[query]);
        let mut vector = encoded.map_err(SearchError::Encode)?;
        if vector.iter().all(|&value| value == 0.0) {
            return Ok(None);
        }
        if self.docs == 0 || self.beta == 0.0 {
            return Ok(Some(vector));
        }
        let first = self.index.search(&vector, &Search::top(self.docs))?;
        let weight = self.beta / first.len() as f32;
        for hit in first.iter() {
            for (sum, value) in vector.iter_mut().zip(self.index.vector(hit.doc)) {
                *sum += weight * value;
            }
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|value| *value /= length);
        }
        Ok(Some(vector))
    }
}

impl Retriever for VectorFeedback {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        match self.vector(query)? {
            None => Ok(Ranking::default()),
            Some(vector) => self.index.search(&vector, search),
        }
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        match self.vector(query)? {
            None => Ok(None),
            Some(vector) => self.index.explain(&vector, doc, search),
        }
    }
}
