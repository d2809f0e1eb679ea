//! The types `tfidf` and `lsi`: vectors of documents by TF-IDF, and by its truncated SVD.

use std::sync::Arc;

use ir_bm25::Analysis;
use ir_bm25::analysis::AnalysisPipeline;
use ir_core::{
    Distinct, DocIds, DocNum, Encoder, Explanation, Progress, Ranking, Retriever, Search,
    SearchError, Side,
};
use ir_knn::{
    DocFrequency, EncodedSparse, FlatIndex, Lsi, LsiConfig, LsiError, SparseIndex, TfWeighting,
    TfidfConfig, TfidfVectorizer, TruncatedSvdConfig, TruncatedSvdError, VectorSimilarity,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document_texts::{TextRendering, document_texts};
use crate::entries::{AnalyzerEntry, CleaningEntry, cleaning, template};
use crate::error::SystemError;
use crate::system::{OpenSystem, System, SystemContext};

/// TF-IDF vectors of the documents, ranked by the cosine with the vector of the query.
///
/// The scoring model `tfidf` of the type `bm25` is Lucene's `ClassicSimilarity`, which is not a
/// cosine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TfidfSystem {
    /// Logarithm of the term frequency, 1 + ln tf, in place of the term frequency. Default: false.
    pub sublinear: bool,
    /// Minimum number of documents with a term. Range: ≥ 1. Default: 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = MIN_DF))]
    pub min_df: Option<u64>,
    /// Text analysis: a name, or a table with its fields. Default: `anserini`.
    pub analyzer: AnalyzerEntry,
    /// Template of the document texts. Default: `{title} {text}`.
    pub template: Option<String>,
    /// Cleaning of the queries before analysis. Default: none.
    #[serde(
        deserialize_with = "cleaning::table",
        skip_serializing_if = "Option::is_none"
    )]
    pub cleaning: Option<CleaningEntry>,
}

/// Latent semantic indexing (LSI): truncated singular value decomposition of TF-IDF vectors, ranked
/// by cosine.
///
/// Source: Deerwester and others, "Indexing by latent semantic analysis", JASIS 41(6), 1990. One of
/// the engines of the bioCADDIE 2016 benchmark.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LsiSystem {
    /// Number of dimensions: at most the number of documents and of terms. Range: ≥ 1. Default:
    /// 100. With fewer documents or terms, the default is their number.
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = TruncatedSvdConfig::default().components))]
    pub dim: Option<usize>,
    /// Seed of the starting vector of the decomposition; results differ by rounding. Default: 0.
    #[schemars(extend("default" = TruncatedSvdConfig::default().seed))]
    pub seed: Option<u64>,
    /// Logarithm of the term frequency, 1 + ln tf, in place of the term frequency. Default: false.
    pub sublinear: bool,
    /// Minimum number of documents with a term. Range: ≥ 1. Default: 1.
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = MIN_DF))]
    pub min_df: Option<u64>,
    /// Text analysis: a name, or a table with its fields. Default: `anserini`.
    pub analyzer: AnalyzerEntry,
    /// Template of the document texts. Default: `{title} {text}`.
    pub template: Option<String>,
    /// Cleaning of the queries before analysis. Default: none.
    #[serde(
        deserialize_with = "cleaning::table",
        skip_serializing_if = "Option::is_none"
    )]
    pub cleaning: Option<CleaningEntry>,
}

const MIN_DF: u64 = 1;

fn config(sublinear: bool, min_df: Option<u64>) -> TfidfConfig {
    let config = TfidfConfig::default().with_min_df(DocFrequency::Count(min_df.unwrap_or(MIN_DF)));
    if sublinear {
        config.with_tf(TfWeighting::Sublinear)
    } else {
        config
    }
}

fn analyzer(analysis: &Analysis) -> Result<AnalysisPipeline, SystemError> {
    analysis.build().map_err(SystemError::stage("analysis"))
}

impl System for TfidfSystem {
    fn check(&self) -> Result<(), SystemError> {
        self.cleaning
            .as_ref()
            .map_or(Ok(()), CleaningEntry::check)?;
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
        let analysis = self.analyzer.analysis()?;
        let rendering = TextRendering::new(self.template.as_deref());
        let (ids, texts, analysis) = document_texts(context, rendering, analysis)?;
        let config = config(self.sublinear, self.min_df);
        let failed = "TF-IDF";
        let analyzer = analyzer(&analysis)?;
        let progress = &mut *context.observer;
        let fitted = TfidfVectorizer::fit_transform_with(analyzer, &texts, &config, progress);
        let (tfidf, rows) = fitted.map_err(SystemError::stage(failed))?;
        // Vectors have length 1, or 0 for documents without terms: the inner product is the cosine.
        let index = SparseIndex::from_rows(ids, &rows, VectorSimilarity::InnerProduct);
        let index = index.map_err(SystemError::stage(failed))?;
        let retriever = WithTerms(EncodedSparse::new(tfidf, index));
        let open = OpenSystem::new(Arc::new(Distinct(retriever)));
        CleaningEntry::applied(self.cleaning.as_ref(), context, open)
    }
}

impl System for LsiSystem {
    fn check(&self) -> Result<(), SystemError> {
        self.cleaning
            .as_ref()
            .map_or(Ok(()), CleaningEntry::check)?;
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
        let analysis = self.analyzer.analysis()?;
        let rendering = TextRendering::new(self.template.as_deref());
        let (ids, texts, analysis) = document_texts(context, rendering, analysis)?;
        let lsi = self.fit(&texts, &analysis, &mut *context.observer)?;
        let vectors = lsi.transform(&texts).mapv(|value| value as f32);
        let index = FlatIndex::new(ids, vectors, VectorSimilarity::InnerProduct);
        let index = index.map_err(SystemError::stage("LSI"))?;
        let retriever = WithVectors {
            encoder: lsi,
            index,
        };
        let open = OpenSystem::new(Arc::new(Distinct(retriever)));
        CleaningEntry::applied(self.cleaning.as_ref(), context, open)
    }
}

impl LsiSystem {
    /// Fits the model on the texts of the documents.
    fn fit(
        &self,
        texts: &[String],
        analysis: &Analysis,
        progress: &mut dyn Progress,
    ) -> Result<Lsi<AnalysisPipeline>, SystemError> {
        let default = TruncatedSvdConfig::default();
        let seed = self.seed.unwrap_or(default.seed);
        let config = |dim: usize| {
            let svd = TruncatedSvdConfig::new(dim).with_seed(seed);
            LsiConfig::default()
                .with_tfidf(config(self.sublinear, self.min_df))
                .with_svd(svd)
                .with_normalize(true)
        };
        let mut fit = |dim, analyzer| Lsi::fit_with(analyzer, texts, &config(dim), progress);
        let fitted = match fit(self.dim.unwrap_or(default.components), analyzer(analysis)?) {
            // A small collection has fewer dimensions than the default.
            Err(LsiError::Svd(TruncatedSvdError::Components { rows, columns, .. }))
                if self.dim.is_none() =>
            {
                fit(rows.min(columns), analyzer(analysis)?)
            }
            fitted => fitted,
        };
        fitted.map_err(|error| match error {
            LsiError::Svd(error @ TruncatedSvdError::Components { .. }) => {
                SystemError::parameter("dim", error.to_string())
            }
            LsiError::Svd(error) => SystemError::stage("LSI")(error),
            error => SystemError::stage("LSI")(error),
        })
    }
}

/// TF-IDF search in which documents without a term of the query are no hits.
struct WithTerms<E>(EncodedSparse<E>);

impl<E: Encoder + Send + Sync> Retriever for WithTerms<E> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.0.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        Ok(self.0.search(query, search)?.retain(|hit| hit.score > 0.0))
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let explained = self.0.explain(query, doc, search)?;
        Ok(explained.filter(|explanation| explanation.value > 0.0))
    }
}

/// Search of dense vectors in which a query without terms of the documents has no hits.
struct WithVectors<E> {
    encoder: E,
    index: FlatIndex,
}

impl<E: Encoder> WithVectors<E> {
    fn vector(&self, query: &str) -> Result<Option<Vec<f32>>, SearchError> {
        let vector = self.encoder.encode(Side::Query, &[query]);
        let vector = vector.map_err(SearchError::Encode)?;
        Ok(vector.iter().any(|&value| value != 0.0).then_some(vector))
    }
}

impl<E: Encoder + Send + Sync> Retriever for WithVectors<E> {
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
