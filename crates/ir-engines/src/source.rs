//! Documents and vectors that are loaded into a collection.

use ir_core::{
    AttributeValue, Attributes, Corpus, DocIds, DocNum, DocReader, Document, Fnv1a,
    VectorSimilarity,
};

use crate::RemoteError;
use crate::schema::{
    AttributesHash, CollectionRecord, CollectionSchema, RECORD_FORMAT, write_field,
};

/// Vectors of documents by number.
pub trait VectorRows: Send + Sync {
    /// Returns the ids of the documents.
    fn ids(&self) -> &DocIds;

    /// Returns the dimension of the vectors.
    fn dim(&self) -> usize;

    /// Returns the vector of a document: `dim()` finite numbers.
    fn vector(&self, doc: DocNum) -> &[f32];

    /// Gives back memory of vectors that were read, such as pages of a mapped file. Called between
    /// batches of a load. Default: nothing.
    fn release(&self) {}
}

/// Vectors and their ids, in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorTable {
    ids: DocIds,
    dim: usize,
    values: Vec<f32>,
}

impl VectorTable {
    /// Creates a table.
    ///
    /// # Shapes
    /// `values`: row-major `[ids.len(), dim]`.
    ///
    /// # Errors
    /// [`RemoteError::Schema`] for another number of values.
    pub fn new(ids: DocIds, dim: usize, values: Vec<f32>) -> Result<Self, RemoteError> {
        let expected = ids.len() * dim;
        if values.len() != expected || (dim == 0 && !ids.is_empty()) {
            let found = values.len();
            let message = format!("vectors: expected {expected} values, found {found}");
            return Err(RemoteError::schema(message));
        }
        Ok(Self { ids, dim, values })
    }
}

impl VectorRows for VectorTable {
    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn vector(&self, doc: DocNum) -> &[f32] {
        &self.values[doc.index() * self.dim..][..self.dim]
    }
}

/// Documents, vectors or both. With both, they have the same ids in the same order. Document `n`
/// gets the number `n`.
#[derive(Clone, Copy)]
pub struct LoadSource<'a> {
    documents: Option<&'a dyn Corpus>,
    vectors: Option<&'a dyn VectorRows>,
    encoder: Option<&'a str>,
}

impl std::fmt::Debug for LoadSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadSource")
            .field("documents", &self.documents.is_some())
            .field("dim", &self.dim())
            .finish()
    }
}

impl<'a> LoadSource<'a> {
    /// Documents with their texts and attributes, without vectors.
    #[must_use]
    pub const fn from_documents(documents: &'a dyn Corpus) -> Self {
        Self {
            documents: Some(documents),
            vectors: None,
            encoder: None,
        }
    }

    /// Vectors with their ids; there are no attributes.
    #[must_use]
    pub const fn from_vectors(vectors: &'a dyn VectorRows) -> Self {
        Self {
            documents: None,
            vectors: Some(vectors),
            encoder: None,
        }
    }

    /// Adds documents, for their attributes and texts.
    #[must_use]
    pub const fn with_documents(mut self, documents: &'a dyn Corpus) -> Self {
        self.documents = Some(documents);
        self
    }

    /// Describes the encoder of the vectors, in any format. It becomes part of the record of the
    /// collection ([`CollectionRecord::encoder`]), so that searches can compare the encoder of the
    /// queries. Default: none.
    #[must_use]
    pub const fn with_encoder(mut self, description: &'a str) -> Self {
        self.encoder = Some(description);
        self
    }

    /// Dimension of the vectors.
    pub(crate) fn dim(&self) -> Option<usize> {
        self.vectors.map(VectorRows::dim)
    }

    /// Reads and hashes everything: the record that is stored with the collection, and the declared
    /// attributes that no document has.
    pub(crate) fn record(
        &self,
        schema: &CollectionSchema,
        texts: bool,
        engine_settings: String,
    ) -> Result<(CollectionRecord, Vec<String>), RemoteError> {
        schema.check()?;
        let mut hash = Fnv1a::new();
        let mut attributes_hash = AttributesHash::default();
        let mut absent: Vec<&str> = schema.attributes.iter().map(|it| &*it.name).collect();
        let mut rows = self.rows()?;
        let mut documents = 0;
        while let Some(row) = rows.next_row()? {
            documents += 1;
            if documents % ROWS_PER_RELEASE == 0
                && let Some(vectors) = self.vectors
            {
                vectors.release();
            }
            write_field(&mut hash, row.document.id.as_bytes());
            if texts {
                write_field(&mut hash, row.document.title.as_bytes());
                write_field(&mut hash, row.document.text.as_bytes());
            }
            let attributes = &row.document.attributes;
            schema.check_document(documents, &row.document.id, attributes)?;
            absent.retain(|name| attributes.get(name).is_none());
            let values = schema.values(attributes);
            attributes_hash.add(&row.document.id, &values);
            for value in &values {
                write_field(&mut hash, value);
            }
            if schema.similarity == VectorSimilarity::Cosine
                && self.vectors.is_some()
                && row.vector.iter().all(|&x| x == 0.0)
            {
                return Err(row.invalid_vector(documents, "a nonzero vector for cosine", "zero"));
            }
            for &value in row.vector {
                if !value.is_finite() {
                    let found = value.to_string();
                    return Err(row.invalid_vector(documents, "finite numbers", &found));
                }
                hash.write(&value.to_le_bytes());
            }
        }
        let record = CollectionRecord {
            format: RECORD_FORMAT.to_owned(),
            schema: schema.clone(),
            dim: self.dim(),
            texts,
            engine_settings,
            documents,
            fingerprint: format!("{:016x}", hash.finish()),
            attributes_fingerprint: Some(attributes_hash.finish()),
            encoder: self.encoder.map(str::to_owned),
        };
        Ok((record, absent.into_iter().map(str::to_owned).collect()))
    }

    pub(crate) fn rows(&self) -> Result<Rows<'a>, RemoteError> {
        let reader = match self.documents {
            Some(documents) => Some(documents.open().map_err(RemoteError::Corpus)?),
            None => None,
        };
        Ok(Rows {
            reader,
            vectors: self.vectors,
            document: Document::default(),
            next: 0,
        })
    }
}

/// Number of bytes of the strings of a value.
fn text_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::Text(text) => text.len(),
        AttributeValue::List(values) => values.iter().map(text_bytes).sum(),
        AttributeValue::Map(values) => values.values().map(text_bytes).sum(),
        _ => 0,
    }
}

/// Maximum number of bytes of a text of a value.
fn longest_text(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::Text(text) => text.len(),
        AttributeValue::List(values) => values.iter().map(longest_text).max().unwrap_or(0),
        _ => 0,
    }
}

/// Reader of the rows of a source.
pub(crate) struct Rows<'a> {
    reader: Option<Box<dyn DocReader + 'a>>,
    vectors: Option<&'a dyn VectorRows>,
    document: Document,
    next: usize,
}

/// One document and its vector, which is empty without vectors.
pub(crate) struct Row<'r> {
    pub(crate) document: &'r Document,
    pub(crate) vector: &'r [f32],
}

impl Row<'_> {
    /// Number of bytes of the strings and the vector.
    fn bytes(&self, with_texts: bool) -> usize {
        let document = self.document;
        let texts = if with_texts {
            document.title.len() + document.text.len()
        } else {
            0
        };
        let attributes = document.attributes.iter();
        let attributes = attributes.map(|(_, value)| text_bytes(value));
        document.id.len() + texts + attributes.sum::<usize>() + size_of_val(self.vector)
    }

    fn invalid_vector(&self, number: usize, expected: &str, found: &str) -> RemoteError {
        RemoteError::Document {
            number,
            id: self.document.id.clone(),
            what: "vector".to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }
}

impl Rows<'_> {
    /// Reads the next row; `None` at the end.
    pub(crate) fn next_row(&mut self) -> Result<Option<Row<'_>>, RemoteError> {
        let number = self.next;
        self.next += 1;
        let ids = self.vectors.map(VectorRows::ids);
        let vector_id = match ids {
            Some(ids) if number < ids.len() => {
                Some(ids.id(DocNum::try_from(number).map_err(RemoteError::Ids)?))
            }
            _ => None,
        };
        let has_document = match &mut self.reader {
            Some(reader) => reader
                .read(&mut self.document)
                .map_err(RemoteError::Corpus)?,
            None => match vector_id {
                Some(id) => {
                    self.document.id.clear();
                    self.document.id.push_str(id);
                    true
                }
                None => false,
            },
        };
        let mismatch = |id: &str, expected: String, found: String| RemoteError::Document {
            number: number + 1,
            id: id.to_owned(),
            what: "id".to_owned(),
            expected,
            found,
        };
        if ids.is_some() && self.reader.is_some() {
            match (has_document, vector_id) {
                (true, Some(id)) if id != self.document.id => {
                    let expected = format!("{id:?}, the id of the vector");
                    let found = format!("{:?}", self.document.id);
                    return Err(mismatch(&self.document.id, expected, found));
                }
                (true, None) => {
                    let found = "no further vector".to_owned();
                    return Err(mismatch(&self.document.id, "a vector".to_owned(), found));
                }
                (false, Some(id)) => {
                    let found = "no further document".to_owned();
                    return Err(mismatch(id, "a document".to_owned(), found));
                }
                _ => {}
            }
        }
        if !has_document {
            return Ok(None);
        }
        let doc = DocNum::try_from(number).map_err(RemoteError::Ids)?;
        Ok(Some(Row {
            document: &self.document,
            vector: self.vectors.map_or(&[][..], |vectors| vectors.vector(doc)),
        }))
    }
}

/// Number of rows that are hashed before memory of vectors is given back.
const ROWS_PER_RELEASE: usize = 1 << 14;

/// Number of bytes of texts, attributes and vectors after which a batch ends, below the limits of
/// the servers: 64 MiB for a message of Milvus, 100 MB for a request of Elasticsearch. In JSON, a
/// vector has about three times as many bytes.
const MAX_BATCH_BYTES: usize = 16 << 20;

/// Consecutive rows that are sent together.
#[derive(Debug, Default)]
pub(crate) struct RowBatch {
    /// Number of the first row.
    pub(crate) first: u32,
    pub(crate) ids: Vec<String>,
    /// Titles and texts; empty if they are not indexed.
    pub(crate) texts: Vec<(String, String)>,
    pub(crate) attributes: Vec<Attributes>,
    /// Vectors of the rows, row-major.
    pub(crate) vectors: Vec<f32>,
}

impl RowBatch {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn numbers(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.len() as u32
    }

    pub(crate) fn vector(&self, at: usize) -> &[f32] {
        let dim = self.vectors.len() / self.len().max(1);
        &self.vectors[at * dim..][..dim]
    }

    /// Checks that id and texts of the declared attributes of a row have at most `limit` bytes.
    pub(crate) fn check_lengths(
        &self,
        at: usize,
        schema: &CollectionSchema,
        limit: usize,
    ) -> Result<(), RemoteError> {
        if self.ids[at].len() > limit {
            return Err(self.too_long(at, "id", limit, self.ids[at].len()));
        }
        for attribute in &schema.attributes {
            let value = self.attributes[at].get(&attribute.name);
            let length = value.map_or(0, longest_text);
            if length > limit {
                let what = format!("attribute {:?}", attribute.name);
                return Err(self.too_long(at, what, limit, length));
            }
        }
        Ok(())
    }

    pub(crate) fn too_long(
        &self,
        at: usize,
        what: impl Into<String>,
        limit: usize,
        found: usize,
    ) -> RemoteError {
        RemoteError::Document {
            number: self.first as usize + at + 1,
            id: self.ids[at].chars().take(80).collect(),
            what: what.into(),
            expected: format!("at most {limit} bytes"),
            found: found.to_string(),
        }
    }

    /// Reads up to `limit` rows, fewer if they have [`MAX_BATCH_BYTES`] bytes, replacing the
    /// content; returns whether there are any.
    pub(crate) fn fill(
        &mut self,
        rows: &mut Rows<'_>,
        limit: usize,
        with_texts: bool,
    ) -> Result<bool, RemoteError> {
        self.first += self.len() as u32;
        self.ids.clear();
        self.texts.clear();
        self.attributes.clear();
        self.vectors.clear();
        let mut bytes = 0;
        while self.len() < limit && bytes < MAX_BATCH_BYTES {
            let Some(row) = rows.next_row()? else { break };
            bytes += row.bytes(with_texts);
            self.ids.push(row.document.id.clone());
            self.attributes.push(row.document.attributes.clone());
            if with_texts {
                let document = row.document;
                self.texts
                    .push((document.title.clone(), document.text.clone()));
            }
            self.vectors.extend_from_slice(row.vector);
        }
        if let Some(vectors) = rows.vectors {
            vectors.release();
        }
        Ok(!self.ids.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_a_maximum_of_bytes() {
        let text = "x".repeat(6 << 20);
        let mut documents: Vec<_> = ["a", "b", "c", "d"]
            .map(|id| Document::new(id).with_text(&text))
            .into();
        documents.push(Document::new("e").with("attribute", text.as_str()));
        let source = LoadSource::from_documents(&documents);
        let batches = |limit, with_texts| {
            let (mut rows, mut batch) = (source.rows().unwrap(), RowBatch::default());
            let mut all = Vec::new();
            while batch.fill(&mut rows, limit, with_texts).unwrap() {
                all.push(batch.numbers());
            }
            all
        };
        assert_eq!(batches(10, true), [0..3, 3..5]);
        assert_eq!(batches(2, true), [0..2, 2..4, 4..5]);
        let all = 0..5;
        assert_eq!(batches(10, false), [all]);
    }
}
