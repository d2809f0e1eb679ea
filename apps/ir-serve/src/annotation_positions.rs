//! Positions of annotations in the documents of a publication.

use ir_qa::character_count;

use crate::published::{normalized_chunks, span_of};
use crate::store::{
    Annotation, AnnotationPosition, AnnotationStatus, Publication, PublishedQuestion, Store,
    StoreError,
};

impl Publication {
    /// Finds the span of every annotation: at its offset or, if it is at one other place only,
    /// there. Annotations without a place are displaced; accepted ones with a place become
    /// questions.
    pub(crate) fn locate_annotations(&mut self, store: &Store) -> Result<(), StoreError> {
        let mut annotations = std::mem::take(&mut self.annotations);
        annotations.sort_by(|a, b| a.document.cmp(&b.document));
        for group in annotations.chunk_by(|a, b| a.document == b.document) {
            let id = &group[0].document;
            let known = self.documents.binary_search_by(|(other, _)| other.cmp(id));
            let chunks = match known {
                Ok(at) => {
                    let (id, hash) = &self.documents[at];
                    normalized_chunks(&store.record(id, hash)?.record)
                }
                Err(_) => Vec::new(),
            };
            let texts = chunks.iter().map(|chunk| chunk.text.as_deref());
            let texts: Vec<&str> = texts.map(Option::unwrap_or_default).collect();
            for annotation in group {
                let found = position(annotation, &texts);
                let (chunk, start) = found.unwrap_or((annotation.chunk, annotation.start));
                self.positions.push(AnnotationPosition {
                    annotation: annotation.id,
                    revision: annotation.revision,
                    chunk,
                    start,
                    is_displaced: found.is_none(),
                });
                if found.is_some() && annotation.status == AnnotationStatus::Accepted {
                    self.questions.push(PublishedQuestion {
                        annotation: annotation.id,
                        document: annotation.document.clone(),
                        chunk,
                        start,
                        question: annotation.question.clone(),
                    });
                }
            }
        }
        self.questions.sort_by_key(|question| question.annotation);
        Ok(())
    }
}

/// Chunk and first character of the span of an annotation in the texts of the chunks; `None` if
/// the texts do not have it, or have it at several other places.
fn position(annotation: &Annotation, texts: &[&str]) -> Option<(usize, usize)> {
    let length = character_count(&annotation.span);
    let text = texts.get(annotation.chunk).copied().unwrap_or_default();
    if span_of(text, annotation.start, length) == Some(&*annotation.span) {
        return Some((annotation.chunk, annotation.start));
    }
    let mut places = texts.iter().enumerate().flat_map(|(chunk, text)| {
        let found = text.match_indices(&*annotation.span);
        found.map(move |(byte, _)| (chunk, character_count(&text[..byte])))
    });
    match (places.next(), places.next()) {
        (place, None) => place,
        (_, Some(_)) => None,
    }
}
