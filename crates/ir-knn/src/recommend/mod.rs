//! Recommendation of documents by training queries with known relevant documents.

mod config;
mod votes;

use std::collections::BTreeMap;

use ir_core::{
    DocIds, DocNum, EncodeError, Encoder, Explanation, Hit, Qrels, Query, Ranking, Retriever,
    Search, SearchError, Side, TopK,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use config::{
    DataFinderQuirks, MissingRelevantPolicy, NeighborAggregation, NeighborTies,
    TrainingQueryKnnConfig, TrainingQueryKnnError,
};
use votes::{Vote, max_results, similarity, votes};

use crate::matrix::MatrixError;
use crate::neighbors::{DistanceScan, SparseRow};
use crate::vectorize::{TfidfConfig, TfidfVectorizer};

/// Query with its relevant documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingQuery {
    /// Query id, shown in explanations.
    pub id: String,
    /// Text that the encoder encodes.
    pub text: String,
    /// Ids of the relevant documents.
    pub relevant: Vec<String>,
}

impl TrainingQuery {
    /// Creates a query from its text and the ids of its relevant documents.
    #[must_use]
    pub fn new<S: Into<String>>(
        id: impl Into<String>,
        text: impl Into<String>,
        relevant: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            relevant: relevant.into_iter().map(Into::into).collect(),
        }
    }

    /// Creates training queries from judgments: documents with a grade above 0 are relevant. A
    /// query without judgments has no relevant documents.
    ///
    /// ```
    /// use ir_core::{Qrels, Query};
    /// use ir_knn::TrainingQuery;
    /// let mut qrels = Qrels::new();
    /// qrels.insert("q1", "ships", 1);
    /// qrels.insert("q1", "tea", 0);
    /// let training = TrainingQuery::from_qrels(&[Query::new("q1", "radar at sea")], &qrels);
    /// assert_eq!(training, [TrainingQuery::new("q1", "radar at sea", ["ships"])]);
    /// ```
    #[must_use]
    pub fn from_qrels(queries: &[Query], qrels: &Qrels) -> Vec<Self> {
        let training_query = |query: &Query| {
            let judged = qrels.get(&query.id).into_iter().flatten();
            let relevant = judged.filter(|judged| judged.1 > 0);
            Self::new(&query.id, &query.text, relevant.map(|(doc, _)| doc))
        };
        queries.iter().map(training_query).collect()
    }
}

/// kNN over training queries: recommends documents that are relevant to similar training queries.
///
/// A document is represented by the vectors of the training queries it is relevant to; its own text
/// is not used, and documents without training queries are never found. A [`NeighborAggregation`]
/// maps the distances of training queries to document scores. Filters apply during the search:
/// every document that passes the filter and has a training query is ranked, so there are `k` hits
/// whenever there are `k` such documents.
///
/// Any [`Encoder`] computes the vectors; [`TrainingQueryKnn::tfidf`] fits TF-IDF on the training
/// queries. Every query is compared with all training queries, in `f64` and in a fixed order:
/// rankings do not depend on batching or on the number of threads.
///
/// # Examples
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{TfidfConfig, TrainingQuery, TrainingQueryKnn, TrainingQueryKnnConfig};
///
/// let documents = ["harbor-radar", "tea-leaves", "kettles"].into_iter().collect();
/// let training = vec![
///     TrainingQuery::new("p1", "detect ships in radar images", ["harbor-radar"]),
///     TrainingQuery::new("p2", "grade black tea by its leaves", ["tea-leaves"]),
///     TrainingQuery::new("p3", "how long tea is boiled", ["kettles", "tea-leaves"]),
/// ];
/// let config = TrainingQueryKnnConfig::default();
/// let knn = TrainingQueryKnn::tfidf(documents, training, &TfidfConfig::default(), &config)?;
///
/// let search = Search::top(2);
/// let ranking = knn.search("images of ships at night", &search)?;
/// let best = ranking.hits()[0];
/// assert_eq!(knn.ids().id(best.doc), "harbor-radar");
///
/// // The training queries that contribute to the score:
/// let explanation = knn.explain("images of ships at night", best.doc, &search)?;
/// let explanation = explanation.ok_or("not ranked")?;
/// assert_eq!(explanation.score(), best.score);
/// assert!(explanation.details[0].description.starts_with("p1, similarity 0."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Complexity
/// A search reads the vectors of all training queries; of sparse ones, the columns of the query.
///
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023. [`DataFinderQuirks`] reproduces deviations of its published code.
#[derive(Debug)]
pub struct TrainingQueryKnn<E = TfidfVectorizer> {
    config: TrainingQueryKnnConfig,
    encoder: E,
    ids: DocIds,
    training: TrainingQueries,
    scan: DistanceScan,
}

/// Training queries in use, and their relevant documents.
#[derive(Debug, Default)]
struct TrainingQueries {
    queries: Vec<TrainingQuery>,
    /// Relevant documents of each query, without repetitions.
    relevant: Vec<Vec<DocNum>>,
    /// Documents with training queries, ascending, and the indices of these queries, ascending.
    documents: Vec<(DocNum, Vec<u32>)>,
    without_relevant: usize,
    unknown_documents: Vec<(String, String)>,
}

impl TrainingQueries {
    fn new(
        ids: &DocIds,
        queries: Vec<TrainingQuery>,
        config: &TrainingQueryKnnConfig,
    ) -> Result<Self, TrainingQueryKnnError> {
        config.validate()?;
        let total = queries.len();
        let mut training = Self::default();
        let mut documents: BTreeMap<DocNum, Vec<u32>> = BTreeMap::new();
        for query in queries {
            if query.relevant.is_empty() {
                if config.without_relevant == MissingRelevantPolicy::Reject {
                    return Err(TrainingQueryKnnError::NoRelevant { query: query.id });
                }
                training.without_relevant += 1;
                continue;
            }
            let mut docs = Vec::with_capacity(query.relevant.len());
            for document in &query.relevant {
                match ids.get(document) {
                    Some(doc) if docs.contains(&doc) => {}
                    Some(doc) => docs.push(doc),
                    None if config.unknown_documents == MissingRelevantPolicy::Skip => {
                        let unknown = (query.id.clone(), document.clone());
                        training.unknown_documents.push(unknown);
                    }
                    None => {
                        return Err(TrainingQueryKnnError::UnknownDocument {
                            query: query.id,
                            document: document.clone(),
                        });
                    }
                }
            }
            if docs.is_empty() {
                continue;
            }
            let row = training.queries.len() as u32;
            for &doc in &docs {
                documents.entry(doc).or_default().push(row);
            }
            training.relevant.push(docs);
            training.queries.push(query);
        }
        if training.queries.is_empty() {
            return Err(TrainingQueryKnnError::Empty { found: total });
        }
        training.documents = documents.into_iter().collect();
        Ok(training)
    }

    fn texts(&self) -> Vec<&str> {
        let queries = self.queries.iter();
        queries.map(|query| query.text.as_str()).collect()
    }
}

impl TrainingQueryKnn<TfidfVectorizer> {
    /// Builds a retriever with TF-IDF fitted on the training queries in use.
    ///
    /// `ids` are the documents of the collection; of several documents with one id, the first is
    /// used.
    ///
    /// # Errors
    /// Returns the errors of [`TrainingQueryKnn::new`], and [`TrainingQueryKnnError::Fit`] if
    /// TF-IDF cannot be fitted on the queries.
    pub fn tfidf(
        ids: DocIds,
        queries: Vec<TrainingQuery>,
        tfidf: &TfidfConfig,
        config: &TrainingQueryKnnConfig,
    ) -> Result<Self, TrainingQueryKnnError> {
        let training = TrainingQueries::new(&ids, queries, config)?;
        let encoder = TfidfVectorizer::fit(&training.texts(), tfidf)?;
        Self::from_training_set(ids, training, encoder, config)
    }
}

impl<E: Encoder> TrainingQueryKnn<E> {
    /// Builds a retriever with any encoder, which encodes all texts as queries.
    ///
    /// `ids` are the documents of the collection; of several documents with one id, the first is
    /// used.
    ///
    /// # Errors
    /// When there are no queries, a query has no relevant documents or unknown ones (unless the
    /// configuration skips them), the configuration is contradictory, or a query cannot be encoded.
    pub fn new(
        ids: DocIds,
        queries: Vec<TrainingQuery>,
        encoder: E,
        config: &TrainingQueryKnnConfig,
    ) -> Result<Self, TrainingQueryKnnError> {
        let training = TrainingQueries::new(&ids, queries, config)?;
        Self::from_training_set(ids, training, encoder, config)
    }

    fn from_training_set(
        ids: DocIds,
        training: TrainingQueries,
        encoder: E,
        config: &TrainingQueryKnnConfig,
    ) -> Result<Self, TrainingQueryKnnError> {
        let rows = encode(&encoder, &training.texts())?;
        for (query, row) in training.queries.iter().zip(&rows) {
            if let Some((component, found)) = row.invalid_component(encoder.dim()) {
                let query = query.id.clone();
                return Err(TrainingQueryKnnError::Vector {
                    query,
                    component,
                    found,
                });
            }
        }
        Ok(Self {
            config: *config,
            scan: DistanceScan::new(encoder.dim(), &rows),
            encoder,
            ids,
            training,
        })
    }

    fn encode_queries(&self, texts: &[&str]) -> Result<Vec<SparseRow>, SearchError> {
        let vectors = encode(&self.encoder, texts).map_err(SearchError::Encode)?;
        let expected = self.encoder.dim();
        for vector in &vectors {
            if let Some((at, value)) = vector.invalid_component(expected) {
                if at < expected {
                    return Err(SearchError::NotFinite { at, value });
                }
                let found = at + 1;
                return Err(SearchError::Dimensions { expected, found });
            }
        }
        Ok(vectors)
    }

    fn rank(&self, vector: &SparseRow, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let distances = self.scan.distances(vector, self.config.metric);
        let votes = votes(&self.training, &self.config, &distances, search);
        let mut best = TopK::new(max_results(&self.config, search.k()));
        for votes in votes.chunk_by(|a, b| a.doc == b.doc) {
            best.push(votes[0].doc, score(votes));
        }
        let ranking = best.finish()?;
        if !self.config.quirks.reversed_scores {
            return Ok(ranking);
        }
        let reversed = ranking.iter().map(|hit| Hit::new(hit.doc, -hit.score));
        Ranking::from_hits(reversed.collect())
    }
}

impl<E> TrainingQueryKnn<E> {
    /// Training queries in use.
    #[must_use]
    pub fn queries(&self) -> &[TrainingQuery] {
        &self.training.queries
    }

    /// Number of documents with training queries; no search finds others.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.training.documents.len()
    }

    /// Number of skipped training queries without relevant documents.
    #[must_use]
    pub fn without_relevant(&self) -> usize {
        self.training.without_relevant
    }

    /// Skipped relevant documents that are not in the collection, as pairs of query id and document
    /// id.
    #[must_use]
    pub fn unknown_documents(&self) -> &[(String, String)] {
        &self.training.unknown_documents
    }

    /// Configuration of the retriever.
    #[must_use]
    pub fn config(&self) -> &TrainingQueryKnnConfig {
        &self.config
    }

    /// Returns the query encoder.
    #[must_use]
    pub fn encoder(&self) -> &E {
        &self.encoder
    }
}

impl<E: Encoder> Retriever for TrainingQueryKnn<E> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let vector = self.encode_queries(&[query])?.pop().unwrap_or_default();
        self.rank(&vector, search)
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let texts: Vec<&str> = queries.iter().map(|(text, _)| *text).collect();
        let vectors = self.encode_queries(&texts)?;
        let pairs = vectors.par_iter().zip(queries);
        pairs
            .map(|(vector, (_, search))| self.rank(vector, search))
            .collect()
    }

    /// Explains a score as the sum of the votes of training queries, nearest first, with their
    /// similarities.
    ///
    /// Returns `None` for a document without votes: the filter excludes it, it has no training
    /// query, or the aggregation visits none of them.
    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let vector = self.encode_queries(&[query])?.pop().unwrap_or_default();
        let distances = self.scan.distances(&vector, self.config.metric);
        let mut votes = votes(&self.training, &self.config, &distances, search);
        votes.retain(|vote| vote.doc == doc);
        if votes.is_empty() {
            return Ok(None);
        }
        let reversed = self.config.quirks.reversed_scores;
        let sign = if reversed { -1.0 } else { 1.0 };
        let details = votes.iter().map(|&Vote { row, value, .. }| {
            let TrainingQuery { id, text, .. } = &self.training.queries[row as usize];
            let similarity = similarity(self.config.metric, distances[row as usize]) as f32;
            let description = format!("{id}, similarity {similarity}: {text}");
            Explanation::new(sign * value, description)
        });
        let details = details.collect();
        // A score of 0 gets the sign of the hit.
        let score = sign as f32 * score(&votes);
        Ok(Some(Explanation {
            details,
            ..Explanation::new(score, self.config.describe_score())
        }))
    }
}

/// Encodes texts as queries, one row per text.
fn encode<E: Encoder>(encoder: &E, texts: &[&str]) -> Result<Vec<SparseRow>, EncodeError> {
    let (mut rows, mut unordered) = (Vec::with_capacity(texts.len()), None);
    let dim = encoder.dim();
    encoder.encode_sparse(Side::Query, texts, &mut |columns, values| {
        if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (row, found) = (rows.len(), pair[1]);
            unordered.get_or_insert(MatrixError::Column { row, dim, found });
        }
        rows.push(SparseRow {
            columns: columns.to_vec(),
            values: values.to_vec(),
        });
    })?;
    if let Some(error) = unordered {
        return Err(EncodeError::Model {
            model: "the query encoder".to_owned(),
            source: error.into(),
        });
    }
    if rows.len() != texts.len() {
        return Err(EncodeError::Shape {
            expected: texts.len() * dim,
            found: rows.len() * dim,
        });
    }
    Ok(rows)
}

/// Sum of the votes for a document. The sum with 0 turns -0 into 0, as `TopK` does.
fn score(votes: &[Vote]) -> f32 {
    votes.iter().fold(0.0, |sum, vote| sum + vote.value) as f32
}
