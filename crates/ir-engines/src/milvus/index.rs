//! Searches of a collection.

#[cfg(feature = "milvus-grpc")]
use base64::Engine as _;
#[cfg(feature = "milvus-grpc")]
use base64::prelude::BASE64_STANDARD;
use ir_core::{DocIds, Predicate, Ranking, Retriever, Search, SearchError, VectorSimilarity};
#[cfg(feature = "milvus-grpc")]
use serde::Deserialize as _;

#[cfg(feature = "milvus-grpc")]
use super::grpc::{GrpcChannel, GrpcSearch, SearchRequest};
use super::protocol_v2::{self, V2Hits};
use super::{
    Consistency, ENGINE, ID, MAX_HITS, MilvusCollection, NUMBER, ScoredNumbers, expression, metric,
    protocol,
};
use crate::clause::Clause;
use crate::open_collection::OpenCollection;
use crate::ranking::{RankedQuery, check_complete, hit, rank};
use crate::schema::{CollectionRecord, CollectionSchema, RemoteVectorIndex};
use crate::{MilvusApi, RemoteError, ResultCache};

impl MilvusCollection {
    /// Opens the collection for searches: reads its record and the ids of its documents.
    ///
    /// # Errors
    /// [`RemoteError::NoCollection`], [`RemoteError::ForeignCollection`],
    /// [`RemoteError::Incomplete`], [`RemoteError::Conflict`] if no vectors are indexed, and errors
    /// of the server.
    pub fn open(&self) -> Result<MilvusIndex, RemoteError> {
        let index = self.open_any()?;
        match index.record().dim {
            Some(_) => Ok(index),
            None => Err(self.not_indexed("vectors")),
        }
    }

    pub(super) fn open_any(&self) -> Result<MilvusIndex, RemoteError> {
        let record = self.record()?.ok_or_else(|| RemoteError::NoCollection {
            collection: self.name.clone(),
        })?;
        if self.api != MilvusApi::V2 {
            self.load_into_memory()?;
        }
        MilvusIndex::open(self.clone(), record)
    }
}

/// Open collection of Milvus: a vector retriever.
///
/// Filters are evaluated by the server. A condition on attributes ([`MilvusIndex::search_where`],
/// [`MilvusIndex::with_condition`], a filter [`WithCondition`](ir_core::WithCondition)) is
/// translated; any other [`DocFilter`](ir_core::DocFilter) is asked for every document, and
/// becomes ranges or a list of document numbers. Documents
/// of equal scores are in the order of their numbers, if no more than 16,384 have one score.
#[derive(Debug, Clone)]
pub struct MilvusIndex {
    pub(super) collection: MilvusCollection,
    pub(super) open: OpenCollection,
    pub(super) consistency: Consistency,
    ef: usize,
}

impl MilvusIndex {
    fn open(collection: MilvusCollection, record: CollectionRecord) -> Result<Self, RemoteError> {
        let found = collection.count("", Consistency::Strong)?;
        let read_ids = |documents| read_ids(&collection, documents);
        Ok(Self {
            open: OpenCollection::new(ENGINE, &collection.name, record, found, read_ids)?,
            collection,
            consistency: Consistency::default(),
            ef: 100,
        })
    }

    /// Sets when searches see documents that were inserted before them. Default: strong.
    #[must_use]
    pub const fn with_consistency(mut self, consistency: Consistency) -> Self {
        self.consistency = consistency;
        self
    }

    /// Sets the number of candidates of HNSW: higher is more exact and slower. At least the number
    /// of hits is used. Range: 1 to 32,768. Default: 100.
    #[must_use]
    pub fn with_ef(mut self, ef: usize) -> Self {
        self.ef = ef.clamp(1, 32_768);
        self
    }

    /// Keeps responses in a cache, and reads them from it.
    #[must_use]
    pub fn with_cache(mut self, cache: ResultCache) -> Self {
        self.open.cache = Some(cache);
        self
    }

    /// Restricts all searches to documents that satisfy a condition.
    ///
    /// # Errors
    /// [`RemoteError::Filter`] if the collection cannot express it.
    pub fn with_condition(mut self, condition: Predicate) -> Result<Self, RemoteError> {
        self.open.add_condition(condition)?;
        Ok(self)
    }

    /// Returns the dimension of the vectors.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.open.dim()
    }

    /// Returns the schema of the collection.
    #[must_use]
    pub const fn schema(&self) -> &CollectionSchema {
        &self.open.record.schema
    }

    /// Returns the record of the collection.
    #[must_use]
    pub const fn record(&self) -> &CollectionRecord {
        &self.open.record
    }

    /// Returns the best documents for each query vector, number of hits and condition.
    ///
    /// # Errors
    /// [`RemoteError::Filter`], [`RemoteError::Query`], and errors of the server.
    pub fn search_where(
        &self,
        queries: &[(&[f32], usize, Option<&Predicate>)],
    ) -> Result<Vec<Ranking>, RemoteError> {
        let queries = queries.iter().map(|&(query, k, condition)| {
            let own = match condition {
                Some(condition) => Clause::from_predicate(condition, self.schema())?,
                None => Clause::Always,
            };
            let clause = self.open.with_fixed(own)?;
            Ok(RankedQuery { query, k, clause })
        });
        self.rank(&queries.collect::<Result<Vec<_>, RemoteError>>()?)
    }

    /// Number of candidates of HNSW; `None` for exact search.
    pub(super) const fn candidates(&self) -> Option<usize> {
        match self.schema().vector_index {
            RemoteVectorIndex::Exact => None,
            RemoteVectorIndex::Hnsw { .. } => Some(self.ef),
        }
    }

    /// Numbers and scores of the hits of a request over gRPC. `complete`: number of hits that each
    /// query must have.
    #[cfg(feature = "milvus-grpc")]
    pub(super) fn grpc_hits(
        &self,
        grpc: &GrpcChannel,
        request: &SearchRequest,
        complete: Option<usize>,
    ) -> Result<ScoredNumbers, RemoteError> {
        let check = |found: &_| {
            let read = self.read_hits(found, &grpc.url("Search"), complete);
            read.map(drop)
        };
        self.cached(request, check, || grpc.search(request))
    }

    /// Hits of a request over gRPC, from the cache or by `call`. Only those that pass `check` are
    /// cached.
    #[cfg(feature = "milvus-grpc")]
    pub(super) fn cached(
        &self,
        request: &impl prost::Message,
        check: impl Fn(&ScoredNumbers) -> Result<(), RemoteError>,
        call: impl FnOnce() -> Result<ScoredNumbers, RemoteError>,
    ) -> Result<ScoredNumbers, RemoteError> {
        if self.open.cache.is_none() {
            return call();
        }
        let text = BASE64_STANDARD.encode(request.encode_to_vec());
        let call = || call().map(|found| serde_json::json!(found));
        let read = |response: &serde_json::Value| {
            let found = ScoredNumbers::deserialize(response).map_err(|error| {
                let url = self.collection.connection.url("");
                RemoteError::response(url, "hits in the cache", error.to_string())
            })?;
            check(&found).map(|()| found)
        };
        let cache = self.open.cache.as_ref();
        ResultCache::read(cache, || self.open.cache_key(), &text, call, read)
    }

    fn rank(&self, queries: &[RankedQuery<'_, [f32]>]) -> Result<Vec<Ranking>, RemoteError> {
        for query in queries {
            let checked = self.open.check_vector(query.query);
            checked.map_err(RemoteError::Query)?;
        }
        let limits = self.open.limits(MAX_HITS);
        rank(queries, &limits, &|vectors, clause, limit| {
            self.request(vectors, clause, limit)
        })
    }

    fn request(
        &self,
        vectors: &[&[f32]],
        clause: &Clause,
        limit: usize,
    ) -> Result<Vec<Vec<ir_core::Hit>>, RemoteError> {
        let schema = self.schema();
        // Every document is a hit of an exact search without a filter.
        let is_exact = schema.vector_index == RemoteVectorIndex::Exact;
        let complete = (is_exact && *clause == Clause::Always).then_some(limit);
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.collection.grpc {
            let search = GrpcSearch {
                collection: &self.collection.name,
                field: super::VECTOR,
                expression: &expression::expression(clause),
                limit,
                metric: metric(schema.similarity),
                ef: self.candidates(),
                consistency: self.consistency,
            };
            let found = self.grpc_hits(grpc, &search.vectors(vectors), complete)?;
            return self.read_hits(&found, &grpc.url("Search"), complete);
        }
        let body = protocol::SearchBody {
            collection: &self.collection.name,
            expression: &expression::expression(clause),
            limit,
            metric: metric(schema.similarity),
            ef: self.candidates(),
            guarantee: self.consistency.guarantee(),
        };
        let connection = &self.collection.connection;
        let is_v2 = self.collection.api == MilvusApi::V2;
        let (path, text) = if is_v2 {
            let text = protocol_v2::search_body(&body, self.consistency, vectors);
            ("/entities/search", text)
        } else {
            ("/search", body.text(vectors))
        };
        let call = || {
            let response = (self.collection).call_text(ir_fetch::HttpMethod::Post, path, &text)?;
            if is_v2 {
                protocol_v2::check(&response, "search", &connection.url(path))
            } else {
                protocol::check(&response, "search")
            }?;
            Ok(response)
        };
        let queries = vectors.len();
        let read = |response: &_| self.read_response(response, path, queries, (limit, complete));
        let cache = self.open.cache.as_ref();
        match ResultCache::read(cache, || self.open.cache_key(), &text, call, read)? {
            Some(hits) => Ok(hits),
            None => {
                let single = |vector| self.request(&[vector], clause, limit);
                let single = vectors.iter().map(|&vector| single(vector));
                Ok(single.collect::<Result<Vec<_>, _>>()?.concat())
            }
        }
    }

    /// Hits of each query of a response over REST; `None` if it does not tell where the hits of a
    /// query end.
    fn read_response(
        &self,
        response: &serde_json::Value,
        path: &str,
        queries: usize,
        (limit, complete): (usize, Option<usize>),
    ) -> Result<Option<Vec<Vec<ir_core::Hit>>>, RemoteError> {
        let found = match self.collection.api {
            MilvusApi::V2 => match protocol_v2::hits(response, queries, limit) {
                V2Hits::Hits(all) => Some(all),
                V2Hits::Undivided => return Ok(None),
                V2Hits::Unexpected => None,
            },
            MilvusApi::V1 | MilvusApi::Grpc => protocol::hits(response, queries),
        };
        let found = found.ok_or_else(|| {
            let expected = format!("hits of {queries} queries");
            self.collection.unexpected(path, &expected, response)
        })?;
        let url = self.collection.connection.url(path);
        self.read_hits(&found, &url, complete).map(Some)
    }

    /// Hits with the scores of ir-core.
    pub(super) fn read_hits(
        &self,
        all: &ScoredNumbers,
        url: &str,
        complete: Option<usize>,
    ) -> Result<Vec<Vec<ir_core::Hit>>, RemoteError> {
        let sign = match self.schema().similarity {
            VectorSimilarity::Euclidean => -1.0,
            _ => 1.0,
        };
        let read = |hits: &Vec<(u64, f64)>| {
            let hits = hits.iter();
            let hits =
                hits.map(|&(number, score)| hit(number, sign * score, self.open.ids.len(), url));
            let hits = hits.collect::<Result<Vec<_>, _>>()?;
            check_complete(&hits, complete, url).map(|()| hits)
        };
        all.iter().map(read).collect()
    }
}

fn read_ids(collection: &MilvusCollection, documents: usize) -> Result<DocIds, RemoteError> {
    let mut ids = DocIds::new();
    for first in (0..documents).step_by(MAX_HITS) {
        let end = (first + MAX_HITS).min(documents);
        let range = expression::numbers(&(first as u32..end as u32));
        let unexpected = || {
            let expected = format!("the ids of documents {first} to {}", end - 1);
            collection.unexpected("/query", &expected, &serde_json::Value::Null)
        };
        let mut pairs: Vec<(i64, String)> = match collection.api {
            MilvusApi::V1 => {
                let response = collection.query(&range, &[NUMBER, ID], Consistency::Eventual)?;
                let numbers = protocol::integers(&response, NUMBER).ok_or_else(unexpected)?;
                let texts = protocol::texts(&response, ID).ok_or_else(unexpected)?;
                numbers.into_iter().zip(texts).collect()
            }
            MilvusApi::V2 => collection.v2_rows(&range, end - first, Consistency::Eventual)?,
            #[cfg(feature = "milvus-grpc")]
            MilvusApi::Grpc => match &collection.grpc {
                Some(grpc) => grpc.rows(&range, Consistency::Eventual)?,
                None => Vec::new(),
            },
            #[cfg(not(feature = "milvus-grpc"))]
            MilvusApi::Grpc => Vec::new(),
        };
        pairs.sort_unstable();
        let expected = first as i64..end as i64;
        if !pairs.iter().map(|(number, _)| *number).eq(expected) {
            return Err(unexpected());
        }
        for (_, id) in &pairs {
            ids.push(id).map_err(RemoteError::Ids)?;
        }
    }
    Ok(ids)
}

impl Retriever for MilvusIndex {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        &self.open.ids
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&[f32], Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let queries = self.open.queries(queries);
        let ranked = queries.and_then(|queries| self.rank(&queries));
        ranked.map_err(|error| error.into_search(ENGINE))
    }
}
