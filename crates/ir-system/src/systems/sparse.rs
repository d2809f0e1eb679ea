//! The type `sparse`: sparse vectors of documents and queries, of an encoder or from files.

use std::collections::HashMap;
use std::sync::Arc;

use ir_core::{DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError};
use ir_data::{DataError, SparseVectorReader};
use ir_knn::{SparseIndex, SparseVector, VectorSimilarity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data_documents::{RANKING, of_the_data};
use super::document_texts::{TextRendering, document_ids};
use super::existing_file;
use crate::entries::{DocOrderName, EncoderReference};
use crate::error::SystemError;
use crate::index_needs::IndexNeeds;
use crate::observer::StageReport;
use crate::system::{OpenSystem, SharedRetriever, System, SystemContext};

/// Sparse vectors of documents and queries, such as SPLADE's, ranked by inner product. They are of
/// a learned sparse encoder, or from files.
///
/// Files have JSON lines with `id` and `vector`, a table of weights by token, as Pyserini, BMP and
/// Seismic write them: `{"id": "7", "vector": {"tea": 1.5, "green": 0.25}}`. Ids are unique in a
/// file, tokens in a vector, and weights are at least 0. A query without a vector has no hits, and
/// vectors of documents that the collection lacks are left out, both with a warning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SparseSystem {
    /// Learned sparse encoder of documents and queries, in place of files: a folder of
    /// sentence-transformers' SparseEncoder, or a masked language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<EncoderReference>,
    /// File of the vectors of the documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<String>,
    /// File of the vectors of the queries, by their ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<String>,
    /// Order of documents with equal scores. An index has its own. Default: the order of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<DocOrderName>,
}

/// Vectors of a file, by id, in its order. `column` numbers the tokens.
fn read(
    context: &SystemContext<'_>,
    key: &str,
    path: &str,
    mut column: impl FnMut(&str) -> Option<u32>,
) -> Result<Vec<(String, SparseVector)>, SystemError> {
    let path = existing_file(context, key, path)?;
    let name = path.display().to_string();
    let reader = ir_data::open(&path).map_err(SystemError::stage("opening vectors"))?;
    let mut vectors = Vec::new();
    let mut records = SparseVectorReader::new(reader, &name);
    while let Some(record) = records.read().map_err(|error| match error {
        error @ (DataError::ReadLine { .. } | DataError::Read { .. }) => {
            SystemError::stage("reading vectors")(error)
        }
        error => SystemError::parameter(key, error.to_string()),
    })? {
        let weights = record.weights.iter().filter(|(_, weight)| *weight != 0.0);
        let mut weights: Vec<(u32, f32)> = weights
            .filter_map(|(token, weight)| Some((column(token)?, *weight)))
            .collect();
        weights.sort_unstable_by_key(|(column, _)| *column);
        let (columns, values) = weights.into_iter().unzip();
        let vector = SparseVector::new(columns, values).map_err(|error| {
            SystemError::parameter(key, format!("{name}:{}: {error}", record.line))
        })?;
        vectors.push((record.id, vector));
    }
    Ok(vectors)
}

impl System for SparseSystem {
    fn index_needs(&self) -> IndexNeeds {
        IndexNeeds::default()
    }

    fn check(&self) -> Result<(), SystemError> {
        let [vectors, queries] = [&self.vectors, &self.queries].map(Option::is_some);
        let expected = |key: &str, message: &str| Err(SystemError::parameter(key, message));
        match (&self.encoder, vectors, queries) {
            (Some(encoder), false, false) => encoder.check(),
            (Some(_), ..) => {
                let key = if vectors { "vectors" } else { "queries" };
                let reason = "an encoder computes the vectors of documents and queries";
                Err(SystemError::conflict("encoder", key, reason))
            }
            (None, true, true) => Ok(()),
            (None, true, false) => {
                expected("queries", "expected the vectors of the queries, found none")
            }
            (None, false, true) => expected(
                "vectors",
                "expected the vectors of the documents, found none",
            ),
            (None, false, false) => expected(
                "",
                "expected the key encoder, or the keys vectors and queries, found none",
            ),
        }
    }

    fn uses_query_ids(&self) -> bool {
        self.encoder.is_none()
    }

    fn files(&self) -> Vec<(String, String)> {
        let mut files: Vec<_> = self.saved().collect();
        files.extend(self.encoder.as_ref().and_then(EncoderReference::file));
        files
    }

    fn encoders(&self) -> Vec<(String, String)> {
        let encoder = self.encoder.as_ref();
        encoder
            .and_then(EncoderReference::named)
            .into_iter()
            .collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        if let Some(encoder) = &self.encoder {
            return encoder.content(context);
        }
        let mut content = String::new();
        for (key, path) in self.saved() {
            content.push_str(&context.file_hash(&existing_file(context, &key, &path)?)?);
        }
        content.push_str(RANKING);
        Ok(content)
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        let encoder = self.encoder.as_ref();
        encoder.map_or(Ok(Vec::new()), |encoder| encoder.query_stages(context))
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let path = self.vectors.as_deref().unwrap_or_default();
        let retriever = match &self.encoder {
            Some(encoder) => encoder.sparse_retriever(context)?,
            None => self.saved_retriever(path, context)?,
        };
        let rendering = TextRendering {
            order: self.order,
            ..TextRendering::default()
        };
        let ids = document_ids(context, rendering)?;
        of_the_data(context, path, retriever, ids)
    }
}

impl SparseSystem {
    /// Keys and paths of the files of vectors.
    fn saved(&self) -> impl Iterator<Item = (String, String)> {
        let files = [("vectors", &self.vectors), ("queries", &self.queries)].into_iter();
        files.filter_map(|(key, path)| Some((key.to_owned(), path.clone()?)))
    }

    /// Retriever of the files.
    fn saved_retriever(
        &self,
        path: &str,
        context: &mut SystemContext<'_>,
    ) -> Result<SharedRetriever, SystemError> {
        let of_queries = self.queries.as_deref().unwrap_or_default();
        let mut columns = HashMap::<String, u32>::new();
        let documents = read(context, "vectors", path, |token| {
            let next = columns.len() as u32;
            Some(*columns.entry(token.to_owned()).or_insert(next))
        })?;
        let queries = read(context, "queries", of_queries, |token| {
            columns.get(token).copied()
        })?;
        let queries: HashMap<String, SparseVector> = queries.into_iter().collect();
        let mut by_text = HashMap::new();
        let mut missing = Vec::new();
        for query in context.data.all_queries()? {
            match queries.get(&query.id) {
                Some(vector) => drop(by_text.insert(query.text, vector.clone())),
                None => missing.push(query.id),
            }
        }
        if let Some(id) = missing.first() {
            context.observer.warning(&format!(
                "{of_queries}: has no vectors of {} queries, such as {id:?}",
                missing.len()
            ));
        }
        let ids: DocIds = documents.iter().map(|(id, _)| id.as_str()).collect();
        let vectors = documents.into_iter().map(|(_, vector)| vector);
        let similarity = VectorSimilarity::InnerProduct;
        let index = SparseIndex::new(ids, columns.len(), vectors, similarity);
        let index = index.map_err(|error| SystemError::parameter("vectors", error.to_string()))?;
        let mut tokens = vec![String::new(); columns.len()];
        for (token, column) in columns {
            tokens[column as usize] = token;
        }
        Ok(Arc::new(PrecomputedQueries {
            by_text,
            index,
            tokens,
        }))
    }
}

/// Search by the vector of a query text.
struct PrecomputedQueries {
    by_text: HashMap<String, SparseVector>,
    index: SparseIndex,
    /// Token of every column.
    tokens: Vec<String>,
}

impl Retriever for PrecomputedQueries {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        match self.by_text.get(query) {
            None => Ok(Ranking::default()),
            Some(vector) => {
                let ranking = self.index.search(vector, search)?;
                Ok(ranking.retain(|hit| hit.score != 0.0))
            }
        }
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        match self.by_text.get(query) {
            None => Ok(None),
            Some(vector) => {
                let name = |column: u32| {
                    let token = self.tokens.get(column as usize)?;
                    Some(format!("token {token:?}"))
                };
                let explained = self.index.explain_named(vector, doc, search, &name)?;
                Ok(explained.filter(|explanation| explanation.value != 0.0))
            }
        }
    }
}
