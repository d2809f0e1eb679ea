//! BM25 indexes that systems search: of the data, or of another collection.

use std::sync::Arc;

use ir_bm25::{Index, IndexConfig};
use ir_core::Corpus;
use ir_core::store::Verify;
use ir_data::{Collection, DocTemplate, TemplatedCorpus};

use crate::cache::Stage;
use crate::collection::open_named;
use crate::error::{SpecError, SystemError};
use crate::hash::ContentHash;
use crate::system::SystemContext;

impl SystemContext<'_> {
    /// Cache key and description of the index of a configuration.
    pub(crate) fn index_stage(
        &self,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<(String, String), SystemError> {
        self.index_stage_of(self.data.corpus_hash(), config, template)
    }

    fn index_stage_of(
        &self,
        documents: &str,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<(String, String), SystemError> {
        let parameters = serde_json::to_string(config);
        let mut parameters = parameters.map_err(SystemError::stage("serialization"))?;
        let mut description = format!("BM25 index, analyzer {}", config.analysis);
        if let Some(template) = template {
            parameters.push_str(&format!("\n{template}"));
            description.push_str(&format!(", template {template}"));
        }
        Ok((
            self.key_of(documents, Stage::Index, &parameters),
            description,
        ))
    }

    /// Opens the BM25 index of the documents, or builds it. With a template, the text of a document
    /// is rendered by it.
    ///
    /// # Errors
    /// The documents cannot be read or indexed, none has a field of the template, or the progress
    /// receiver requested a stop.
    pub fn index(
        &mut self,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<Arc<Index>, SystemError> {
        let stage = self.index_stage(config, template)?;
        self.opened_index(stage, self.data.corpus(), config, template)
    }

    /// Opens the BM25 index of another collection, by name or folder, or builds it.
    pub(crate) fn index_of_collection(
        &mut self,
        key: &str,
        name: &str,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<Arc<Index>, SystemError> {
        let stage = self.index_stage_of_collection(key, name, config, template)?;
        let collection = self.collection(key, name)?;
        self.opened_index(stage, collection.corpus(), config, template)
    }

    /// Cache key and description of the index of another collection.
    pub(crate) fn index_stage_of_collection(
        &self,
        key: &str,
        name: &str,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<(String, String), SystemError> {
        let hash = self.collection_hash(key, name)?;
        let (stage, description) = self.index_stage_of(&hash, config, template)?;
        Ok((stage, format!("{description}, of {name}")))
    }

    fn collection(&self, key: &str, name: &str) -> Result<Collection, SystemError> {
        let resolve = || self.resolve(key, name);
        let opened = open_named(name, resolve)?;
        opened.map_err(|error| {
            if error.is_missing() {
                SystemError::missing(key, error.to_string())
            } else {
                SystemError::parameter(key, error.to_string())
            }
        })
    }

    /// Hash of the documents of a collection, by name or folder.
    pub(crate) fn collection_hash(&self, key: &str, name: &str) -> Result<String, SystemError> {
        if let Some(hash) = self.hashes.collections.borrow().get(name) {
            return Ok(hash.clone());
        }
        let collection = self.collection(key, name)?;
        let mut hash = ContentHash::default();
        let documents = collection.corpus().docs();
        for document in documents.map_err(SystemError::stage("reading documents"))? {
            let doc = document.map_err(SystemError::stage("reading documents"))?;
            hash.text(&doc.id).text(&doc.title).text(&doc.text);
            let attributes = serde_json::to_string(&doc.attributes).unwrap_or_default();
            hash.text(&attributes);
        }
        let hash = hash.finish();
        let mut known = self.hashes.collections.borrow_mut();
        known.insert(name.to_owned(), hash.clone());
        Ok(hash)
    }

    /// Opens the index of a stage, or builds it from documents.
    fn opened_index(
        &mut self,
        (key, description): (String, String),
        corpus: &dyn Corpus,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<Arc<Index>, SystemError> {
        if let Some(index) = self.session.get(&key) {
            return Ok(index);
        }
        let index = self.cached(
            Stage::Index,
            &key,
            &description,
            |path| Index::open_with(path, Verify::AllSections),
            |context, path| {
                let templated = template.map(|template| TemplatedCorpus::new(corpus, template));
                if let Some(template) = template {
                    let invalid = |error| SystemError::template("indexing", error);
                    template.check(corpus).map_err(invalid)?;
                }
                let corpus = match &templated {
                    Some(templated) => templated as &dyn Corpus,
                    None => corpus,
                };
                let index = Index::build(corpus, config, &mut *context.observer);
                let index = index.map_err(|error| match error {
                    ir_bm25::BuildError::Canceled => SpecError::Canceled.into(),
                    other => SystemError::stage("indexing")(other),
                })?;
                index.save(path).map_err(SystemError::stage("indexing"))
            },
        )?;
        let index = Arc::new(index);
        self.session.keep(key, index.clone());
        Ok(index)
    }
}
