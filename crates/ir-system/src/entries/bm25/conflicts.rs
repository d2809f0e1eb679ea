//! Keys of the type `bm25` that exclude or need one another.

use ir_bm25::models::NamedModel;

use super::expansion::ExpansionEntry;
use super::{BM25, BM25F, Bm25System};
use crate::error::SystemError;

/// Pairs of keys without a combination, and why. The error names the second key.
const CONFLICTS: [(&str, &str, &str); 8] = [
    ("syntax", "cleaning", "cleaning removes operators"),
    ("syntax", "feedback", WORDS),
    ("syntax", "sdm", WORDS),
    ("syntax", "synonyms", "write #syn or OR in the queries"),
    ("syntax", "expansion", WORDS),
    ("sdm", "synonyms", WINDOWS),
    ("sdm", "expansion", WINDOWS),
    (
        "synonyms",
        "expansion",
        "both add terms to the words of a query",
    ),
];
const WORDS: &str = "it needs queries of words";
const WINDOWS: &str = "phrases and windows are those of the words of a query";

impl Bm25System {
    /// Checks the keys of queries.
    pub(crate) fn check_queries(&self, has_feedback: bool) -> Result<(), SystemError> {
        let is_given = |key: &str| match key {
            "feedback" => has_feedback,
            "syntax" => self.syntax.is_some(),
            "sdm" => self.sdm.is_some(),
            "synonyms" => self.synonyms.is_some(),
            "cleaning" => self.cleaning.is_some(),
            _ => self.expansion.is_some(),
        };
        let mut conflicts = CONFLICTS.iter();
        let conflict = conflicts.find(|(first, key, _)| is_given(first) && is_given(key));
        if let Some((first, key, reason)) = conflict {
            return Err(SystemError::conflict(first, key, reason));
        }
        if self.feedback_collection.is_some() && !has_feedback {
            return Err(SystemError::requires("feedback_collection", "feedback"));
        }
        self.expansion
            .as_ref()
            .map_or(Ok(()), ExpansionEntry::check)?;
        if let Some(weights) = self.sdm {
            let is_valid = |weight: &f32| (0.0..=1e9).contains(weight);
            if !(weights[0] > 0.0 && weights.iter().all(is_valid)) {
                let expected = "three numbers from 0 to 1e9, the first above 0";
                let message = format!("expected {expected}, found {weights:?}");
                return Err(SystemError::parameter("sdm", message));
            }
            let named = NamedModel::find(self.model.as_deref().unwrap_or(BM25));
            if named.is_ok_and(|named| named.name == BM25F) && weights[1..] != [0.0; 2] {
                let message = format!("expected a model that scores each field, found {BM25F:?}");
                return Err(SystemError::parameter("sdm", message));
            }
        }
        if self.synonym_weight.is_some() && self.synonyms.is_none() {
            return Err(SystemError::requires("synonym_weight", "synonyms"));
        }
        Ok(())
    }
}
