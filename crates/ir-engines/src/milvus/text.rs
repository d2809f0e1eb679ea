//! BM25 of texts, and BM25 and vectors together.

use ir_core::{DocIds, Encoder, Hit, Predicate, Ranking, Retriever, Search, SearchError, Side};

use super::grpc::{GrpcChannel, GrpcSearch, HybridSearchRequest, SearchRequest, TERMS, hybrid};
use super::{
    ENGINE, MAX_HITS, MilvusCollection, MilvusIndex, ScoredNumbers, VECTOR, expression, metric,
};
use crate::clause::Clause;
use crate::ranking::{hit, rank};
use crate::schema::CollectionRecord;
use crate::{Consistency, RemoteError, ResultCache};

/// Sends queries with one condition and a number of hits.
type TextRequest<'a> = dyn Fn(&[&str], &Clause, usize) -> Result<ScoredNumbers, RemoteError> + 'a;

impl MilvusCollection {
    /// Opens the collection for searches of texts by BM25.
    ///
    /// # Errors
    /// [`RemoteError::NoCollection`], [`RemoteError::ForeignCollection`],
    /// [`RemoteError::Incomplete`], [`RemoteError::Conflict`] if no texts are indexed,
    /// [`RemoteError::Schema`] over another API than gRPC, and errors of the server.
    pub fn open_texts(&self) -> Result<MilvusTextIndex, RemoteError> {
        match &self.grpc {
            Some(grpc) => MilvusTextIndex::open(self, grpc.clone()),
            None => Err(self.without_texts()),
        }
    }
}

/// Open collection of Milvus 2.5 or later, or of milvus-lite: a retriever of texts by BM25.
///
/// The server analyzes the query like the texts. Documents without a query term are no hits.
/// Documents of equal scores are in the order of their numbers.
#[derive(Debug, Clone)]
pub struct MilvusTextIndex {
    index: MilvusIndex,
    grpc: GrpcChannel,
}

impl MilvusTextIndex {
    fn open(collection: &MilvusCollection, grpc: GrpcChannel) -> Result<Self, RemoteError> {
        let index = collection.open_any()?;
        if index.record().texts {
            Ok(Self { index, grpc })
        } else {
            Err(collection.not_indexed("texts"))
        }
    }

    /// Sets when searches see documents that were inserted before them. Default: strong.
    #[must_use]
    pub fn with_consistency(mut self, consistency: Consistency) -> Self {
        self.index = self.index.with_consistency(consistency);
        self
    }

    /// Sets the number of candidates of HNSW in hybrid search, as
    /// [`MilvusIndex::with_ef`](crate::MilvusIndex::with_ef) does. Default: 100.
    #[must_use]
    pub fn with_ef(mut self, ef: usize) -> Self {
        self.index = self.index.with_ef(ef);
        self
    }

    /// Keeps responses in a cache, and reads them from it.
    #[must_use]
    pub fn with_cache(mut self, cache: ResultCache) -> Self {
        self.index = self.index.with_cache(cache);
        self
    }

    /// Restricts all searches to documents that satisfy a condition.
    ///
    /// # Errors
    /// [`RemoteError::Filter`] if the collection cannot express it.
    pub fn with_condition(mut self, condition: Predicate) -> Result<Self, RemoteError> {
        self.index = self.index.with_condition(condition)?;
        Ok(self)
    }

    /// Returns the record of the collection.
    #[must_use]
    pub const fn record(&self) -> &CollectionRecord {
        self.index.record()
    }

    fn request(&self, texts: &[&str], clause: &Clause, limit: usize) -> SearchRequest {
        GrpcSearch {
            collection: &self.index.collection.name,
            field: TERMS,
            expression: &expression::expression(clause),
            limit,
            metric: "BM25",
            ef: None,
            consistency: self.index.consistency,
        }
        .texts(texts)
    }

    /// Searches queries; `send` returns the numbers and scores of the hits of some of them.
    fn rank(
        &self,
        queries: &[(&str, Search<'_>)],
        send: &TextRequest<'_>,
    ) -> Result<Vec<Ranking>, SearchError> {
        let open = &self.index.open;
        let documents = open.ids.len();
        let ranked = open.queries(queries).map(|mut ranked| {
            for query in &mut ranked {
                // A query without words finds nothing.
                if query.query.trim().is_empty() {
                    query.clause = Clause::Never;
                }
            }
            ranked
        });
        let limits = open.limits(MAX_HITS);
        let url = self.grpc.url("Search");
        let rankings = ranked.and_then(|ranked| {
            rank(&ranked, &limits, &|texts, clause, limit| {
                let found = send(texts, clause, limit)?;
                let read = |hits: Vec<(u64, f64)>| {
                    let hits = hits.into_iter();
                    // milvus-lite negates BM25 scores, all of which are positive.
                    hits.map(|(number, score)| hit(number, score.abs(), documents, &url))
                        .collect::<Result<Vec<Hit>, _>>()
                };
                found.into_iter().map(read).collect()
            })
        });
        rankings.map_err(|error| error.into_search(ENGINE))
    }
}

impl Retriever for MilvusTextIndex {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.rank(queries, &|texts, clause, limit| {
            let request = self.request(texts, clause, limit);
            self.index.grpc_hits(&self.grpc, &request, None)
        })
    }
}

/// Retriever of texts by BM25 and of vectors together, with reciprocal rank fusion by the server
/// (Cormack, Clarke and Büttcher 2009): the score of a document is the sum of 1 / (60 + rank) over
/// the lists of both that have it.
///
/// Both lists have the same number of candidates, whatever the number of hits, so that fewer hits
/// are the head of more. Exempt from the filter rule of the contract, as the candidates are lists.
#[derive(Debug, Clone)]
pub struct MilvusHybrid<E> {
    texts: MilvusTextIndex,
    encoder: E,
    candidates: usize,
}

impl<E: Encoder> MilvusHybrid<E> {
    /// Combines an index of texts with an encoder of its queries. The collection must have vectors,
    /// too.
    ///
    /// # Errors
    /// [`RemoteError::Conflict`] if no vectors are indexed or the dimensions differ.
    pub fn new(texts: MilvusTextIndex, encoder: E) -> Result<Self, RemoteError> {
        let collection = &texts.index.collection;
        let Some(dim) = texts.record().dim else {
            return Err(collection.not_indexed("vectors"));
        };
        if encoder.dim() != dim {
            let name = &collection.name;
            return Err(RemoteError::conflict(name, "dimension", encoder.dim(), dim));
        }
        Ok(Self {
            texts,
            encoder,
            candidates: 100,
        })
    }

    /// Sets the number of hits of either list. At most twice as many documents are found. Range: 1
    /// to 16,384. Default: 100.
    #[must_use]
    pub fn with_candidates(mut self, candidates: usize) -> Self {
        self.candidates = candidates.clamp(1, MAX_HITS);
        self
    }

    fn request(
        &self,
        texts: &[&str],
        clause: &Clause,
        limit: usize,
    ) -> Result<HybridSearchRequest, RemoteError> {
        let index = &self.texts.index;
        let schema = index.schema();
        let encoded = self.encoder.encode(Side::Query, texts);
        let encoded = encoded.map_err(|error| RemoteError::Query(SearchError::Encode(error)))?;
        let vectors: Vec<&[f32]> = encoded.chunks(index.dim().max(1)).collect();
        for vector in &vectors {
            let checked = index.open.check_vector(vector);
            checked.map_err(RemoteError::Query)?;
        }
        let depth = self.candidates.min(index.ids().len());
        let search = GrpcSearch {
            collection: &index.collection.name,
            field: VECTOR,
            expression: &expression::expression(clause),
            limit: depth,
            metric: metric(schema.similarity),
            ef: index.candidates(),
            consistency: index.consistency,
        };
        let texts = self.texts.request(texts, clause, depth);
        let searches = vec![search.vectors(&vectors), texts];
        let name = &index.collection.name;
        Ok(hybrid(name, searches, limit, index.consistency))
    }
}

impl<E: Encoder> Retriever for MilvusHybrid<E> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.texts.ids()
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.texts.rank(queries, &|texts, clause, limit| {
            let request = self.request(texts, clause, limit)?;
            let grpc = &self.texts.grpc;
            let index = &self.texts.index;
            let check = |found: &_| {
                let read = index.read_hits(found, &grpc.url("HybridSearch"), None);
                read.map(drop)
            };
            index.cached(&request, check, || {
                grpc.hybrid_search(&request, texts.len())
            })
        })
    }
}
