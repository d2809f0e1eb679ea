//! Tags of papers, which users edit without a publication.

use std::collections::{BTreeSet, HashMap};

use ir_core::{AttributeValue, Attributes, Predicate};

use super::Service;
use crate::error::ServiceError;
use crate::published::{PublishedDocument, PublishedState};

/// Field of the tags in filters, and of documents that have tags of their own.
pub(crate) const TAGS: &str = "tags";

/// Maximum number of characters of a tag, which lists repeat.
const TAG_CHARACTERS: usize = 100;

/// Maximum number of tags that users give a paper.
const TAGS_OF_PAPER: usize = 100;

/// Tags of the papers.
#[derive(Debug, Clone, Default)]
pub(crate) struct PaperTags(HashMap<String, BTreeSet<String>>);

impl PaperTags {
    /// Tags that users gave a paper, in the order of their characters.
    pub(crate) fn given(&self, document: &str) -> impl Iterator<Item = &str> {
        let tags = self.0.get(document).into_iter().flatten();
        tags.map(String::as_str)
    }

    /// Tags of a paper: those that users gave it, and the field `tags` of its document.
    pub(crate) fn tags(&self, paper: &PublishedDocument) -> BTreeSet<String> {
        let given = self.given(&paper.id).map(str::to_owned);
        given.chain(own_tags(&paper.meta)).collect()
    }

    /// Tags of the published papers with the numbers of papers.
    pub(crate) fn counts(&self, state: &PublishedState) -> Vec<(String, usize)> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for tag in state.documents().iter().flat_map(|paper| self.tags(paper)) {
            *counts.entry(tag).or_default() += 1;
        }
        let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
        counts.sort_unstable();
        counts
    }

    /// A filter in which conditions on tags are conditions on the field of the document or on its
    /// id.
    fn resolved(&self, filter: &Predicate, state: &PublishedState) -> Predicate {
        let all = |parts: &[Predicate]| -> Vec<Predicate> {
            parts.iter().map(|it| self.resolved(it, state)).collect()
        };
        // Values of the condition; `None`: any tag.
        let values = match filter {
            Predicate::All(parts) => return Predicate::All(all(parts)),
            Predicate::Any(parts) => return Predicate::Any(all(parts)),
            Predicate::Not(part) => {
                return Predicate::Not(Box::new(self.resolved(part, state)));
            }
            Predicate::OneOf { name, values } if name == TAGS => Some(values),
            Predicate::Known { name } if name == TAGS => None,
            other => return other.clone(),
        };
        let is_given =
            |tag: &str| values.is_none_or(|values| values.iter().any(|value| is_tag(value, tag)));
        let tagged = self.0.iter();
        let tagged = tagged.filter(|(_, tags)| tags.iter().any(|tag| is_given(tag)));
        let mut ids: Vec<&String> = tagged.map(|(document, _)| document).collect();
        ids.sort_unstable();
        let values = ids.into_iter().cloned().map(AttributeValue::Text).collect();
        let name = "doc_id".to_owned();
        let given = Predicate::OneOf { name, values };
        let has_own = |paper: &PublishedDocument| paper.meta.get(TAGS).is_some();
        if state.documents().iter().any(has_own) {
            Predicate::Any(vec![filter.clone(), given])
        } else {
            given
        }
    }
}

impl Service {
    /// Tags of the papers.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn tags(&self) -> Result<PaperTags, ServiceError> {
        Ok(PaperTags(self.store.tags()?))
    }

    /// Adds tags to a published paper, then removes tags that users gave it, and returns all of its
    /// tags. White space around tags and repeated white space are removed. Lists and filters have
    /// the tags at once.
    ///
    /// # Errors
    /// Returns [`ServiceError::NoDocument`] if the paper is not published, and
    /// [`ServiceError::Tag`] or [`StoreError::Tags`](crate::store::StoreError::Tags) for tags that
    /// are not permitted; the disk is full or fails.
    pub fn change_tags(
        &self,
        document: &str,
        added: &[String],
        removed: &[String],
    ) -> Result<BTreeSet<String>, ServiceError> {
        let state = self.published()?;
        let paper = state.document(document);
        let paper = paper.ok_or_else(|| ServiceError::NoDocument {
            id: document.to_owned(),
        })?;
        let checked = |tags: &[String]| -> Result<Vec<String>, ServiceError> {
            tags.iter().map(|tag| normalized_tag(tag)).collect()
        };
        let (added, removed) = (checked(added)?, checked(removed)?);
        let tags = self
            .store
            .change_tags(document, &added, &removed, TAGS_OF_PAPER)?;
        Ok(tags.into_iter().chain(own_tags(&paper.meta)).collect())
    }

    /// Filters in which conditions on tags are conditions on the documents of a state, and warnings
    /// of tags that no paper has.
    pub(super) fn with_tags(
        &self,
        filters: &[Predicate],
        state: &PublishedState,
    ) -> Result<(Vec<Predicate>, Vec<String>), ServiceError> {
        let conditions = filters.iter().flat_map(Predicate::conditions);
        let conditions: Vec<&Predicate> = conditions.filter(|it| has_tags(it)).collect();
        if conditions.is_empty() {
            return Ok((filters.to_vec(), Vec::new()));
        }
        let tags = self.tags()?;
        let known = tags.counts(state);
        let values = conditions.iter().flat_map(|condition| match condition {
            Predicate::OneOf { values, .. } => values.as_slice(),
            _ => &[],
        });
        let unknown = values.filter(|value| !known.iter().any(|(tag, _)| is_tag(value, tag)));
        let warnings = unknown.map(|value| {
            let value = serde_json::to_string(value).unwrap_or_default();
            format!("filter: no paper has the tag {value}")
        });
        let warnings = warnings.collect();
        let resolved = filters.iter().map(|filter| tags.resolved(filter, state));
        Ok((resolved.collect(), warnings))
    }
}

/// Returns `true` if a condition is on tags and has no limit.
fn has_tags(condition: &Predicate) -> bool {
    match condition {
        Predicate::OneOf { name, .. } | Predicate::Known { name } => name == TAGS,
        _ => false,
    }
}

/// Returns `true` if the value of a condition is a tag. A condition reads `2020` as a number.
fn is_tag(value: &AttributeValue, tag: &str) -> bool {
    match value {
        AttributeValue::Text(text) => text == tag,
        AttributeValue::Int(number) => number.to_string() == tag,
        AttributeValue::Float(number) => number.to_string() == tag,
        _ => false,
    }
}

/// Tags in the field `tags` of a document, such as of the front matter of Markdown: a text or a
/// list.
pub(crate) fn own_tags(meta: &Attributes) -> Vec<String> {
    let text = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => Some(text.trim().to_owned()).filter(|it| !it.is_empty()),
        AttributeValue::Int(number) => Some(number.to_string()),
        AttributeValue::Float(number) => Some(number.to_string()),
        _ => None,
    };
    match meta.get(TAGS) {
        Some(AttributeValue::List(values)) => values.iter().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// A tag with single spaces. Commas separate tags in forms and conditions.
fn normalized_tag(tag: &str) -> Result<String, ServiceError> {
    let normalized = tag.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_tag = !normalized.is_empty()
        && ir_qa::character_count(&normalized) <= TAG_CHARACTERS
        && !normalized.contains(|c: char| c == ',' || c.is_control());
    if is_tag {
        Ok(normalized)
    } else {
        Err(ServiceError::Tag {
            limit: TAG_CHARACTERS,
            found: normalized.chars().take(TAG_CHARACTERS + 20).collect(),
        })
    }
}
