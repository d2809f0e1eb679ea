//! Items recommended by past queries whose answers are known.

mod config;
mod error;
mod vectors;
mod votes;

use std::collections::BTreeMap;

use ir_core::{
    DocIds, DocNum, EncodeError, Encoder, Explanation, Hit, Qrels, Query, Ranking, Retriever,
    Search, SearchError, TopK,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use config::{Aggregate, LabelledQueriesConfig, Missing, Oddities};
pub use error::LabelledQueriesError;
use vectors::{Sparse, Vectors, encode};
use votes::{Vote, most, similarity, votes};

use crate::{Metric, TfIdf, TfIdfConfig};

/// A past query and the items that answered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelledQuery {
    /// What explanations call it.
    pub id: String,
    /// What was asked.
    pub text: String,
    /// The ids of the items.
    pub labels: Vec<String>,
}

impl LabelledQuery {
    /// A query and the ids of the items that answered it.
    #[must_use]
    pub fn new<L: Into<String>>(
        id: impl Into<String>,
        text: impl Into<String>,
        labels: impl IntoIterator<Item = L>,
    ) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            labels: labels.into_iter().map(Into::into).collect(),
        }
    }

    /// The training queries of a collection: the labels of each are the documents that were judged
    /// relevant (grade above 0), by id. One that was not judged has no labels.
    ///
    /// ```
    /// use ir_core::{Qrels, Query};
    /// use ir_knn::LabelledQuery;
    /// let mut qrels = Qrels::new();
    /// qrels.insert("q1", "ships", 1);
    /// qrels.insert("q1", "tea", 0);
    /// let labelled = LabelledQuery::from_qrels(&[Query::new("q1", "radar at sea")], &qrels);
    /// assert_eq!(labelled, [LabelledQuery::new("q1", "radar at sea", ["ships"])]);
    /// ```
    #[must_use]
    pub fn from_qrels(queries: &[Query], qrels: &Qrels) -> Vec<Self> {
        let label = |query: &Query| {
            let judged = qrels.get(&query.id).into_iter().flatten();
            let relevant = judged.filter(|judged| judged.1 > 0);
            Self::new(&query.id, &query.text, relevant.map(|(doc, _)| doc))
        };
        queries.iter().map(label).collect()
    }
}

/// Recommends items for a query by past queries that are like it and whose items are known: kNN over
/// training queries.
///
/// Each item is represented by the vectors of all queries that are labelled with it; the items'
/// own texts play no part, and an item without queries is never found. An [`Aggregate`] makes
/// scores of distances. A filter is part of the search: the items that it excludes do not count among
/// those that are wanted. Every item that has a query and passes the filter is ranked, however
/// far, so there are `k` hits whenever there are `k` such items.
///
/// Any [`Encoder`] makes the vectors; [`LabelledQueries::tfidf`] learns TF-IDF from the labelled
/// queries themselves. Every query is compared with every labelled query, in 64 bits, in one fixed
/// order: answers are the same alone, in a batch and on any number of threads.
///
/// # Examples
/// ```
/// use ir_core::{Retriever, Search};
/// use ir_knn::{LabelledQueries, LabelledQueriesConfig, LabelledQuery, TfIdfConfig};
///
/// let items = ["harbour-radar", "tea-leaves", "kettles"].into_iter().collect();
/// let past = vec![
///     LabelledQuery::new("p1", "detect ships in radar images", ["harbour-radar"]),
///     LabelledQuery::new("p2", "grade black tea by its leaves", ["tea-leaves"]),
///     LabelledQuery::new("p3", "how long tea is boiled", ["kettles", "tea-leaves"]),
/// ];
/// let config = LabelledQueriesConfig::default();
/// let knn = LabelledQueries::tfidf(items, past, &TfIdfConfig::default(), &config)?;
///
/// let how = Search::top(2);
/// let ranking = knn.search("images of ships at night", &how)?;
/// let best = ranking.hits()[0];
/// assert_eq!(knn.ids().id(best.doc), "harbour-radar");
///
/// // Which past queries say so?
/// let why = knn.explain("images of ships at night", best.doc, &how)?;
/// let why = why.ok_or("not ranked")?;
/// assert_eq!(why.value, best.score);
/// assert!(why.parts[0].what.starts_with("p1, similarity 0."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Complexity
/// A search reads the vectors of all labelled queries (of sparse ones, the columns of the query).
///
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023; [`Oddities`] is what the code published with it does besides.
#[derive(Debug)]
pub struct LabelledQueries<E = TfIdf> {
    config: LabelledQueriesConfig,
    encoder: E,
    ids: DocIds,
    known: Known,
    vectors: Vectors,
}

/// The labelled queries that take part, and their items.
#[derive(Debug, Default)]
struct Known {
    queries: Vec<LabelledQuery>,
    /// The items of each query, as places in `items`, each once.
    labels: Vec<Vec<u32>>,
    /// The items that have queries, by number.
    items: Vec<Item>,
    unlabelled: usize,
    unknown: Vec<(String, String)>,
}

#[derive(Debug)]
struct Item {
    doc: DocNum,
    /// Its queries, ascending.
    rows: Vec<u32>,
}

impl Known {
    fn new(
        ids: &DocIds,
        queries: Vec<LabelledQuery>,
        config: &LabelledQueriesConfig,
    ) -> Result<Self, LabelledQueriesError> {
        config.validate()?;
        let total = queries.len();
        let mut known = Self::default();
        let mut rows: BTreeMap<DocNum, Vec<u32>> = BTreeMap::new();
        let mut docs_of: Vec<Vec<DocNum>> = Vec::new();
        for query in queries {
            if query.labels.is_empty() {
                if config.unlabelled == Missing::Refuse {
                    return Err(LabelledQueriesError::Unlabelled { query: query.id });
                }
                known.unlabelled += 1;
                continue;
            }
            let mut docs = Vec::with_capacity(query.labels.len());
            for label in &query.labels {
                match ids.get(label) {
                    Some(doc) if docs.contains(&doc) => {}
                    Some(doc) => docs.push(doc),
                    None if config.unknown == Missing::Skip => {
                        known.unknown.push((query.id.clone(), label.clone()));
                    }
                    None => {
                        return Err(LabelledQueriesError::UnknownLabel {
                            query: query.id,
                            label: label.clone(),
                        });
                    }
                }
            }
            if docs.is_empty() {
                continue;
            }
            for &doc in &docs {
                rows.entry(doc).or_default().push(docs_of.len() as u32);
            }
            docs_of.push(docs);
            known.queries.push(query);
        }
        if known.queries.is_empty() {
            return Err(LabelledQueriesError::Empty { found: total });
        }
        let places: BTreeMap<DocNum, u32> = rows.keys().copied().zip(0..).collect();
        let items = rows.into_iter().map(|(doc, rows)| Item { doc, rows });
        known.items = items.collect();
        let place = |docs: Vec<DocNum>| {
            docs.iter()
                .filter_map(|doc| places.get(doc).copied())
                .collect()
        };
        known.labels = docs_of.into_iter().map(place).collect();
        Ok(known)
    }

    fn texts(&self) -> Vec<&str> {
        self.queries
            .iter()
            .map(|query| query.text.as_str())
            .collect()
    }
}

impl LabelledQueries<TfIdf> {
    /// Labelled queries by TF-IDF, learned from those that take part.
    ///
    /// `ids` are the items, of which every label names one; where several records have one id, the
    /// first is the item.
    ///
    /// # Errors
    /// As [`LabelledQueries::new`], and when nothing can be learned from the queries.
    pub fn tfidf(
        ids: DocIds,
        queries: Vec<LabelledQuery>,
        tfidf: &TfIdfConfig,
        config: &LabelledQueriesConfig,
    ) -> Result<Self, LabelledQueriesError> {
        let known = Known::new(&ids, queries, config)?;
        let encoder = TfIdf::fit(&known.texts(), tfidf)?;
        Self::of(ids, known, encoder, config)
    }
}

impl<E: Encoder> LabelledQueries<E> {
    /// Labelled queries by the vectors of an encoder, which takes old and new ones for queries.
    ///
    /// `ids` are the items, of which every label names one; where several records have one id, the
    /// first is the item.
    ///
    /// # Errors
    /// When there are no queries, one has no labels or a label that no item carries (unless the
    /// configuration passes over these), the configuration contradicts itself, or a query cannot be
    /// encoded.
    pub fn new(
        ids: DocIds,
        queries: Vec<LabelledQuery>,
        encoder: E,
        config: &LabelledQueriesConfig,
    ) -> Result<Self, LabelledQueriesError> {
        let known = Known::new(&ids, queries, config)?;
        Self::of(ids, known, encoder, config)
    }

    fn of(
        ids: DocIds,
        known: Known,
        encoder: E,
        config: &LabelledQueriesConfig,
    ) -> Result<Self, LabelledQueriesError> {
        let rows = encoded(&encoder, &known.texts())?;
        for (query, row) in known.queries.iter().zip(&rows) {
            if let Some((at, found)) = row.wrong(encoder.dim()) {
                let query = query.id.clone();
                return Err(LabelledQueriesError::Vector { query, at, found });
            }
        }
        Ok(Self {
            config: *config,
            vectors: Vectors::new(encoder.dim(), &rows),
            encoder,
            ids,
            known,
        })
    }

    /// How the votes of labelled queries make the score of an item: a tree whose root is the score
    /// that a search with these parameters gives, and whose parts are the queries that voted,
    /// nearest first, with their similarity. An item that has votes and is not among the `k` best is
    /// explained too. `None` when it has no votes: the filter excludes it, no query is labelled with
    /// it, or the aggregate looks at none of its queries.
    ///
    /// # Errors
    /// As [`Retriever::search`].
    pub fn explain(
        &self,
        query: &str,
        doc: DocNum,
        how: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let vector = self.vectors_of(&[query])?.pop().unwrap_or_default();
        let distances = self.vectors.distances(&vector, self.config.metric);
        let mut votes = votes(&self.known, &self.config, &distances, how);
        votes.retain(|vote| self.known.items[vote.item as usize].doc == doc);
        if votes.is_empty() {
            return Ok(None);
        }
        let sign = if self.config.oddities.reversed_scores {
            -1.0
        } else {
            1.0
        };
        let mut tree = Explanation::new(sign * score(&votes), self.describe());
        votes.sort_by(|a, b| {
            let distance = |vote: &Vote| distances[vote.row as usize];
            distance(a).total_cmp(&distance(b)).then(a.row.cmp(&b.row))
        });
        for Vote { row, value, .. } in votes {
            let LabelledQuery { id, text, .. } = &self.known.queries[row as usize];
            let alike = similarity(self.config.metric, distances[row as usize]) as f32;
            let what = format!("{id}, similarity {alike}: {text}");
            tree = tree.with(Explanation::new(sign * value as f32, what));
        }
        Ok(Some(tree))
    }

    fn describe(&self) -> String {
        let distance = match self.config.metric {
            Metric::Euclidean => "squared Euclidean distance",
            Metric::Cosine => "cosine distance",
        };
        match self.config.aggregate {
            Aggregate::Nearest => format!("nearest query of the item: its {distance}, negated"),
            Aggregate::Sum => "sum of the similarities of the item's queries".to_owned(),
            Aggregate::WeightedVote { neighbours } => {
                format!("sum of votes: {distance} relative to that of neighbour {neighbours}")
            }
            Aggregate::ExactTop if self.config.oddities.reversed_scores => {
                format!("sum of the {distance} of the item's queries that were looked at")
            }
            Aggregate::ExactTop => {
                format!("sum of the {distance} of the item's queries that were looked at, negated")
            }
        }
    }

    fn vectors_of(&self, texts: &[&str]) -> Result<Vec<Sparse>, SearchError> {
        let vectors = encoded(&self.encoder, texts).map_err(SearchError::Encode)?;
        let expected = self.encoder.dim();
        for vector in &vectors {
            match vector.wrong(expected) {
                None => {}
                Some((at, value)) if at < expected => {
                    return Err(SearchError::NotFinite { at, value });
                }
                Some((at, _)) => {
                    let found = at + 1;
                    return Err(SearchError::Dimensions { expected, found });
                }
            }
        }
        Ok(vectors)
    }

    fn rank(&self, vector: &Sparse, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let distances = self.vectors.distances(vector, self.config.metric);
        let votes = votes(&self.known, &self.config, &distances, how);
        let mut best = TopK::new(most(&self.config, how.k()));
        for votes in votes.chunk_by(|a, b| a.item == b.item) {
            best.push(self.known.items[votes[0].item as usize].doc, score(votes));
        }
        let ranking = best.finish()?;
        if !self.config.oddities.reversed_scores {
            return Ok(ranking);
        }
        let reversed = ranking.iter().map(|hit| Hit::new(hit.doc, -hit.score));
        Ranking::from_hits(reversed.collect())
    }
}

impl<E> LabelledQueries<E> {
    /// The labelled queries that take part.
    #[must_use]
    pub fn queries(&self) -> &[LabelledQuery] {
        &self.known.queries
    }

    /// How many items have queries: no search can find others.
    #[must_use]
    pub fn items(&self) -> usize {
        self.known.items.len()
    }

    /// How many queries without labels were passed over.
    #[must_use]
    pub fn unlabelled(&self) -> usize {
        self.known.unlabelled
    }

    /// The labels that were passed over because no item carries them, each after the id of its
    /// query.
    #[must_use]
    pub fn unknown(&self) -> &[(String, String)] {
        &self.known.unknown
    }

    /// What was chosen.
    #[must_use]
    pub fn config(&self) -> &LabelledQueriesConfig {
        &self.config
    }

    /// What makes vectors of queries.
    #[must_use]
    pub fn encoder(&self) -> &E {
        &self.encoder
    }
}

impl<E: Encoder> Retriever for LabelledQueries<E> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let vector = self.vectors_of(&[query])?.pop().unwrap_or_default();
        self.rank(&vector, how)
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let texts: Vec<&str> = queries.iter().map(|(text, _)| *text).collect();
        let vectors = self.vectors_of(&texts)?;
        let pairs = vectors.par_iter().zip(queries);
        pairs
            .map(|(vector, (_, how))| self.rank(vector, how))
            .collect()
    }
}

/// One vector a text, or an error.
fn encoded<E: Encoder>(encoder: &E, texts: &[&str]) -> Result<Vec<Sparse>, EncodeError> {
    let vectors = encode(encoder, texts)?;
    let dim = encoder.dim();
    if vectors.len() == texts.len() {
        return Ok(vectors);
    }
    Err(EncodeError::Shape {
        expected: texts.len() * dim,
        found: vectors.len() * dim,
    })
}

fn score(votes: &[Vote]) -> f32 {
    votes.iter().map(|vote| vote.value).sum::<f64>() as f32
}
