//! Files of papers that users add.

use std::collections::HashMap;

use ir_qa::citation::Citation;
use ir_qa::documents::{DocumentError, DocumentFormat};
use ir_qa::soco::SocoDocument;

use super::{Service, record_of};
use crate::error::ServiceError;
use crate::store::DocumentState;

impl Service {
    /// Adds the papers of a file to the store, all or none, and returns their ids and the number of
    /// papers that they replace. The name decides the format; without its folders it is the id of
    /// the paper. A paper with a known id replaces it. Queries see the papers after
    /// [`Service::publish`].
    ///
    /// # Errors
    /// The name has no known extension; the file is not in its format; a paper with another
    /// id, of the store or the file, has the DOI of one; the disk is full or fails.
    pub(crate) fn add_file(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<(Vec<String>, u64), ServiceError> {
        let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let is_name =
            !name.is_empty() && !name.starts_with('.') && !name.contains(char::is_control);
        let format = DocumentFormat::from_path(name).filter(|_| is_name);
        let compressed = [".gz", ".zst"].iter().any(|end| name.ends_with(end));
        let Some(format) = format.filter(|_| !compressed) else {
            return Err(ServiceError::Document(DocumentError::Format {
                path: name.to_owned(),
                expected: "an extension of text, Markdown, HTML, XML, JSON or PDF",
                found: name.rsplit('.').next().unwrap_or_default().to_owned(),
            }));
        };
        let file = self.reader().read_bytes(bytes, format, name, name)?;
        let records: Vec<SocoDocument> = file.papers.iter().map(record_of).collect();
        self.check_dois(&records)?;
        let (ids, added) = self.add(records)?;
        Ok((ids, added.replaced))
    }

    /// Rejects records with the DOI of another paper, published or not, or of an earlier record.
    fn check_dois(&self, records: &[SocoDocument]) -> Result<(), ServiceError> {
        let doi_of = |citation: Citation| citation.doi.map(|doi| doi.to_lowercase());
        let mut known: HashMap<String, String> = HashMap::new();
        if let Ok(state) = self.published() {
            for paper in state.documents() {
                if let Some(doi) = doi_of(paper.citation()) {
                    known.insert(doi, paper.id.clone());
                }
            }
        }
        for (id, hash) in &self.store.publication(DocumentState::Added)?.documents {
            if self
                .published()
                .is_ok_and(|state| state.document(id).is_some())
            {
                continue;
            }
            let record = self.store.record(id, hash)?.record;
            if let Some(doi) = doi_of(Citation::from_attributes(id, &record.meta)) {
                known.entry(doi).or_insert_with(|| id.clone());
            }
        }
        for record in records {
            let id = record.meta.text("doc_id").unwrap_or_default();
            let Some(doi) = doi_of(Citation::from_attributes(id, &record.meta)) else {
                continue;
            };
            match known.get(&doi) {
                Some(other) if other != id => {
                    return Err(ServiceError::DuplicateDoi {
                        id: id.to_owned(),
                        doi,
                        known: other.clone(),
                    });
                }
                _ => {
                    known.insert(doi, id.to_owned());
                }
            }
        }
        Ok(())
    }
}
