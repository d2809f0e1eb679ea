//! Searches of an index.

use ir_core::{
    DocIds, DocNum, Encoder, Explanation, Hit, NoProgress, Predicate, Ranking, Retriever, Search,
    SearchError, Side,
};
use ir_fetch::HttpMethod;
use serde_json::{Value, json};

use super::{CONTENTS, ElasticCollection, ID, NUMBER, dsl};
use crate::clause::Clause;
use crate::open_collection::OpenCollection;
use crate::ranking::{RankedQuery, check_complete, hit, rank};
use crate::schema::{CollectionRecord, CollectionSchema, RemoteVectorIndex};
use crate::{EngineKind, RemoteError, ResultCache};

/// Request for several searches, with term statistics of all shards.
const MULTI_SEARCH: &str = "/_msearch?search_type=dfs_query_then_fetch";

/// Maximum number of hits, and of documents per page of ids: `index.max_result_window`.
const MAX_HITS: usize = 10_000;

/// Maximum number of terms of a list: `index.max_terms_count`.
const MAX_TERMS: usize = 65_536;

impl ElasticCollection {
    /// Opens the index for searches of texts by BM25.
    ///
    /// # Errors
    /// [`RemoteError::NoCollection`], [`RemoteError::ForeignCollection`],
    /// [`RemoteError::Incomplete`], [`RemoteError::Conflict`] if no texts are indexed, and errors
    /// of the server.
    pub fn open_texts(&self) -> Result<ElasticTextIndex, RemoteError> {
        ElasticTextIndex::open(self.clone())
    }

    /// Opens the index for searches of vectors.
    ///
    /// # Errors
    /// [`RemoteError::NoCollection`], [`RemoteError::ForeignCollection`],
    /// [`RemoteError::Incomplete`], [`RemoteError::Conflict`] if no vectors are indexed, and errors
    /// of the server.
    pub fn open_vectors(&self) -> Result<ElasticVectorIndex, RemoteError> {
        ElasticVectorIndex::open(self.clone())
    }
}

/// What all searches of an index have.
#[derive(Debug, Clone)]
struct OpenIndex {
    collection: ElasticCollection,
    open: OpenCollection,
}

impl OpenIndex {
    fn open(collection: ElasticCollection) -> Result<Self, RemoteError> {
        let record = collection.record()?;
        let found = collection.count(&json!({"match_all": {}}))?;
        let (engine, name) = (collection.engine.name(), &collection.name);
        let read_ids = |documents| read_ids(&collection, documents);
        Ok(Self {
            open: OpenCollection::new(engine, name, record, found, read_ids)?,
            collection,
        })
    }

    /// Searches; `body` is the body of the search of a query without its size. `is_exhaustive`:
    /// whether every document that passes the filter is a hit.
    fn rank<Q: ?Sized>(
        &self,
        queries: &[RankedQuery<'_, Q>],
        body: &dyn Fn(&Q, &Clause, usize) -> Result<Value, RemoteError>,
        score: &dyn Fn(f64) -> f64,
        is_exhaustive: bool,
    ) -> Result<Vec<Ranking>, RemoteError> {
        let limits = self.open.limits(MAX_HITS);
        rank(queries, &limits, &|batch, clause, limit| {
            let mut lines = String::new();
            for query in batch {
                let mut body = body(query, clause, limit)?;
                body["size"] = json!(limit);
                body["track_total_hits"] = json!(false);
                body["_source"] = json!({"includes": [NUMBER]});
                lines.push_str("{}\n");
                lines.push_str(&body.to_string());
                lines.push('\n');
            }
            let complete = (is_exhaustive && *clause == Clause::Always).then_some(limit);
            let url = self.url();
            let read = |response: &Value| {
                let found = response["responses"].as_array();
                let found = found.filter(|found| found.len() == batch.len());
                let found = found.ok_or_else(|| {
                    let expected = format!("the responses to {} queries", batch.len());
                    self.collection
                        .unexpected(MULTI_SEARCH, &expected, response)
                })?;
                let hits = found.iter().map(|one| {
                    let hits = self.hits(one, score)?;
                    check_complete(&hits, complete, &url).map(|()| hits)
                });
                hits.collect::<Result<Vec<_>, RemoteError>>()
            };
            let (cache, key) = (self.open.cache.as_ref(), || self.open.cache_key());
            ResultCache::read(cache, key, &lines, || self.call(&lines), read)
        })
    }

    fn url(&self) -> String {
        let path = self.collection.path(MULTI_SEARCH);
        self.collection.connection.url(&path)
    }

    /// Sends searches, and repeats them while the cluster is too busy for one of them.
    fn call(&self, lines: &str) -> Result<Value, RemoteError> {
        let connection = &self.collection.connection;
        let mut failures = 0;
        loop {
            let response = self.collection.call_lines(MULTI_SEARCH, lines)?;
            let responses = response["responses"].as_array();
            let is_busy =
                responses.is_some_and(|all| all.iter().any(|it| busy_status(it).is_some()));
            failures += 1;
            if !is_busy || failures >= connection.attempts() {
                return Ok(response);
            }
            connection.wait_after(failures, &mut NoProgress)?;
        }
    }

    fn hits(&self, response: &Value, score: &dyn Fn(f64) -> f64) -> Result<Vec<Hit>, RemoteError> {
        if let Some(error) = response.get("error") {
            let message = error.to_string().chars().take(500).collect();
            return Err(match busy_status(response) {
                Some(status) => RemoteError::Status {
                    url: self.url(),
                    status,
                    body: message,
                },
                None => RemoteError::Rejected {
                    engine: self.collection.engine.name(),
                    operation: "search",
                    message,
                },
            });
        }
        let unexpected = || self.collection.unexpected(MULTI_SEARCH, "hits", response);
        // The result of some shards is not exact.
        let failed = response.pointer("/_shards/failed").and_then(Value::as_u64);
        if failed.unwrap_or(0) > 0 || response["timed_out"].as_bool() == Some(true) {
            let expected = "the hits of all shards";
            return Err(self.collection.unexpected(MULTI_SEARCH, expected, response));
        }
        let hits = response.pointer("/hits/hits").and_then(Value::as_array);
        let hits = hits.ok_or_else(unexpected)?;
        let url = self.url();
        let read = |found: &Value| {
            let number = found.pointer(&format!("/_source/{NUMBER}"));
            let number = number.and_then(Value::as_u64).ok_or_else(unexpected)?;
            let value = found["_score"].as_f64().ok_or_else(unexpected)?;
            hit(number, score(value), self.open.ids.len(), &url)
        };
        hits.iter().map(read).collect()
    }

    fn engine(&self) -> &'static str {
        self.collection.engine.name()
    }

    fn not_indexed(&self, what: &'static str) -> RemoteError {
        RemoteError::conflict(&self.collection.name, what, "indexed", "none")
    }

    /// Searches with the filter of each query.
    fn search<Q: ?Sized>(
        &self,
        queries: &[(&Q, Search<'_>)],
        body: &dyn Fn(&Q, &Clause, usize) -> Result<Value, RemoteError>,
        score: &dyn Fn(f64) -> f64,
        is_exhaustive: bool,
    ) -> Result<Vec<Ranking>, SearchError> {
        let ranked = self.open.queries(queries).and_then(|ranked| {
            ranked.iter().try_for_each(|it| check_lists(&it.clause))?;
            self.rank(&ranked, body, score, is_exhaustive)
        });
        ranked.map_err(|error| error.into_search(self.engine()))
    }
}

/// Reads the ids of the documents of an index.
fn read_ids(collection: &ElasticCollection, documents: usize) -> Result<DocIds, RemoteError> {
    let mut ids = DocIds::new();
    for first in (0..documents).step_by(MAX_HITS) {
        let end = (first + MAX_HITS).min(documents);
        let range = Clause::DocRange {
            first: first as u32,
            last: end as u32 - 1,
        };
        let body = json!({
            "size": end - first,
            "query": dsl::query(&range),
            "sort": [NUMBER],
            "_source": {"includes": [NUMBER, ID]},
        });
        let path = "/_search";
        let response = collection.call(HttpMethod::Post, path, &body.to_string())?;
        let unexpected = || {
            let expected = format!("the ids of documents {first} to {}", end - 1);
            collection.unexpected(path, &expected, &response)
        };
        let hits = response.pointer("/hits/hits").and_then(Value::as_array);
        let hits = hits.filter(|hits| hits.len() == end - first);
        for (number, hit) in (first..end).zip(hits.ok_or_else(unexpected)?) {
            let source = &hit["_source"];
            let id = source[ID].as_str().ok_or_else(unexpected)?;
            if source[NUMBER].as_u64() != Some(number as u64) {
                return Err(unexpected());
            }
            ids.push(id).map_err(RemoteError::Ids)?;
        }
    }
    Ok(ids)
}

/// Checks that the engine accepts the lists of a filter.
fn check_lists(clause: &Clause) -> Result<(), RemoteError> {
    match dsl::longest_list(clause) {
        terms if terms > MAX_TERMS => Err(RemoteError::filter(format!(
            "expected lists of at most {MAX_TERMS} values, found {terms}"
        ))),
        _ => Ok(()),
    }
}

/// Status of a search of `_msearch` that the cluster is too busy for.
fn busy_status(response: &Value) -> Option<u16> {
    response.get("error")?;
    let status = response["status"].as_u64()?;
    matches!(status, 429 | 500..=599).then_some(status as u16)
}

macro_rules! common_methods {
    () => {
        /// Keeps responses in a cache, and reads them from it.
        #[must_use]
        pub fn with_cache(mut self, cache: ResultCache) -> Self {
            self.index.open.cache = Some(cache);
            self
        }

        /// Restricts all searches to documents that satisfy a condition.
        ///
        /// # Errors
        /// [`RemoteError::Filter`] if the index cannot express it.
        pub fn with_condition(mut self, condition: Predicate) -> Result<Self, RemoteError> {
            check_lists(&self.index.open.add_condition(condition)?)?;
            Ok(self)
        }

        /// Returns the record of the index.
        #[must_use]
        pub const fn record(&self) -> &CollectionRecord {
            &self.index.open.record
        }
    };
}

/// Retriever of texts by BM25.
///
/// The query is analyzed like the texts. Documents of equal scores are in the order of their
/// numbers. `explain` returns the tree of the engine.
#[derive(Debug, Clone)]
pub struct ElasticTextIndex {
    index: OpenIndex,
}

fn match_query(query: &str, clause: &Clause) -> Value {
    dsl::filtered(json!({"match": {CONTENTS: {"query": query}}}), clause)
}

impl ElasticTextIndex {
    fn open(collection: ElasticCollection) -> Result<Self, RemoteError> {
        let index = OpenIndex::open(collection)?;
        if index.open.record.texts {
            Ok(Self { index })
        } else {
            Err(index.not_indexed("texts"))
        }
    }

    common_methods!();
}

impl Retriever for ElasticTextIndex {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.index.open.ids
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let body = |query: &str, clause: &Clause, _: usize| {
            Ok(json!({
                "query": match_query(query, clause),
                "sort": ["_score", NUMBER],
            }))
        };
        self.index.search(queries, &body, &|score| score, false)
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let index = &self.index;
        if doc.index() >= index.open.ids.len()
            || search.filter().is_some_and(|it| !it.contains(doc))
        {
            return Ok(None);
        }
        let explained = index.open.with_fixed(Clause::Always).and_then(|clause| {
            let body = json!({"query": match_query(query, &clause)}).to_string();
            let path = format!("/_explain/{}", doc.get());
            let response = index.collection.call(HttpMethod::Post, &path, &body)?;
            if response["matched"].as_bool() == Some(false) {
                return Ok(None);
            }
            let tree = explanation(&response["explanation"]);
            let unexpected = || {
                let expected = "an explanation";
                index.collection.unexpected(&path, expected, &response)
            };
            tree.ok_or_else(unexpected).map(Some)
        });
        explained.map_err(|error| error.into_search(index.engine()))
    }
}

/// Tree of an explanation of the engine.
fn explanation(value: &Value) -> Option<Explanation> {
    // Scores are f32, printed with their digits.
    let number = value["value"].as_f64()? as f32;
    let description = value["description"].as_str()?;
    let details = value["details"].as_array();
    let details = details.into_iter().flatten().map(explanation);
    let details: Option<Vec<Explanation>> = details.collect();
    Some(Explanation {
        details: details?,
        ..Explanation::new(number, description)
    })
}

/// Retriever of vectors: exact by a script, or approximate (HNSW).
///
/// Similarities are computed from the scores of the engine. The engine rounds its scores to f32 in
/// another formula, so that the last digits of a similarity near 0 are lost.
#[derive(Debug, Clone)]
pub struct ElasticVectorIndex {
    index: OpenIndex,
    candidates: usize,
}

impl ElasticVectorIndex {
    fn open(collection: ElasticCollection) -> Result<Self, RemoteError> {
        let index = OpenIndex::open(collection)?;
        match index.open.record.dim {
            Some(_) => Ok(Self {
                index,
                candidates: 100,
            }),
            None => Err(index.not_indexed("vectors")),
        }
    }

    common_methods!();

    /// Sets the number of candidates of HNSW: higher is more exact and slower. At least the number
    /// of hits is used. Range: 1 to 10,000. Default: 100.
    #[must_use]
    pub fn with_candidates(mut self, candidates: usize) -> Self {
        self.candidates = candidates.clamp(1, 10_000);
        self
    }

    /// Returns the dimension of the vectors.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.index.open.dim()
    }

    fn schema(&self) -> &CollectionSchema {
        &self.index.open.record.schema
    }
}

impl Retriever for ElasticVectorIndex {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.index.open.ids
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        for (query, _) in queries {
            self.index.open.check_vector(query)?;
        }
        let engine = self.index.collection.engine;
        let schema = self.schema();
        let body = |query: &[f32], clause: &Clause, limit: usize| {
            let candidates = self.candidates;
            Ok(dsl::vector_search(
                engine, schema, query, clause, limit, candidates,
            ))
        };
        let is_exact = schema.vector_index == RemoteVectorIndex::Exact;
        let score = |score| dsl::similarity(schema, score);
        self.index.search(queries, &body, &score, is_exact)
    }
}

/// Retriever of texts by BM25 and approximate search of vectors together, computed by
/// Elasticsearch: the score is BM25 plus `alpha` times the score of the vector, for documents that
/// one of both finds.
///
/// With OpenSearch, or exact vectors, combine [`ElasticTextIndex`] and [`ElasticVectorIndex`] with
/// [`ir_core::fusion`]. Exempt from the filter rule of the contract, as its candidates are lists.
#[derive(Debug, Clone)]
pub struct ElasticHybrid<E> {
    vectors: ElasticVectorIndex,
    encoder: E,
    alpha: f32,
}

impl<E: Encoder> ElasticHybrid<E> {
    /// Combines an index with an encoder of its queries. `alpha`: weight of the score of the
    /// vector. Range: > 0.
    ///
    /// # Errors
    /// [`RemoteError::Schema`] for another engine, exact vectors or an invalid weight, and
    /// [`RemoteError::Conflict`] if no texts are indexed or the dimensions differ.
    pub fn new(vectors: ElasticVectorIndex, encoder: E, alpha: f32) -> Result<Self, RemoteError> {
        let index = &vectors.index;
        let is_graph = matches!(
            index.open.record.schema.vector_index,
            RemoteVectorIndex::Hnsw { .. }
        );
        if index.collection.engine != EngineKind::Elasticsearch || !is_graph {
            let message = "expected Elasticsearch and a vector index of type hnsw";
            return Err(RemoteError::schema(message));
        }
        if !(alpha.is_finite() && alpha > 0.0) {
            let message = format!("alpha: expected a number above 0, found {alpha}");
            return Err(RemoteError::schema(message));
        }
        if !index.open.record.texts {
            return Err(index.not_indexed("texts"));
        }
        if encoder.dim() != vectors.dim() {
            let (name, expected) = (&index.collection.name, encoder.dim());
            let found = vectors.dim();
            return Err(RemoteError::conflict(name, "dimension", expected, found));
        }
        Ok(Self {
            vectors,
            encoder,
            alpha,
        })
    }
}

impl<E: Encoder> Retriever for ElasticHybrid<E> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.vectors.index.open.ids
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let index = &self.vectors.index;
        let body = |query: &str, clause: &Clause, limit: usize| {
            let encoded = self.encoder.encode(Side::Query, &[query]);
            let vector = encoded.map_err(|error| RemoteError::Query(SearchError::Encode(error)))?;
            let checked = index.open.check_vector(&vector);
            checked.map_err(RemoteError::Query)?;
            let (engine, schema) = (index.collection.engine, self.vectors.schema());
            let candidates = self.vectors.candidates;
            let mut body = dsl::vector_search(engine, schema, &vector, clause, limit, candidates);
            body["knn"]["boost"] = json!(self.alpha);
            body["query"] = match_query(query, clause);
            Ok(body)
        };
        index.search(queries, &body, &|score| score, false)
    }
}
