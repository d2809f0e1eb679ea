//! The type `bm25`.

use std::sync::Arc;

use ir_bm25::{IndexedFields, Searcher, SearcherError, SegmentedIndex, StoredFields};
use ir_core::Distinct;

use super::{existing_file, feedback_index};
use crate::cache::Stage;
use crate::entries::{Bm25System, CleaningEntry, ExpansionEntry};
use crate::error::SystemError;
use crate::index_needs::IndexNeeds;
use crate::observer::StageReport;
use crate::suggest::did_you_mean;
use crate::system::{OpenSystem, System, SystemContext};

/// Fields that every document has, though they may be empty.
const STANDARD: [&str; 3] = ["id", "title", "text"];

impl Bm25System {
    /// Returns the searcher of an index by the scoring model and the weights of fields, without
    /// expansion of the queries.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] for a field that the index lacks.
    pub fn searcher(&self, index: &SegmentedIndex) -> Result<Searcher, SystemError> {
        let failed = |key: &'static str| move |error| field_error(key, error, index);
        let searcher = index.searcher(self.scoring_model()?);
        let mut searcher = searcher.map_err(failed("field_b"))?;
        if let Some(weight) = self.title_weight {
            let weighted = searcher.with_weights(&[("title", weight), ("text", 1.0)]);
            searcher = weighted.map_err(failed("title_weight"))?;
        }
        let weights = self.weights.iter();
        let weights: Vec<(&str, f32)> = weights.map(|(name, w)| (name.as_str(), *w)).collect();
        let weighted = searcher.with_weights(&weights);
        weighted.map_err(failed("weights"))
    }

    /// Index of the data, if there is one, or the index that the parameters describe.
    fn open_index(&self, context: &mut SystemContext<'_>) -> Result<SegmentedIndex, SystemError> {
        if let Some(index) = context.data.index() {
            return Ok(index.clone());
        }
        let config = self.index_config()?;
        if let IndexedFields::Named(names) = config.fields {
            let known = context.data.attributes();
            let is_known = |name: &&&str| STANDARD.contains(*name) || known.contains(**name);
            if let Some(name) = names.names().iter().find(|name| !is_known(name)) {
                let known = STANDARD.into_iter().chain(known.iter().map(String::as_str));
                let hint = did_you_mean(name, known.clone());
                let known = known.collect::<Vec<_>>().join(", ");
                let message =
                    format!("expected fields of the documents ({known}), found {name:?}{hint}");
                return Err(SystemError::parameter("fields", message));
            }
        }
        let index = context.index(&config, self.template()?.as_ref())?;
        Ok((*index).clone().into())
    }
}

/// Error of a key with fields: the nearest field of the index.
fn field_error(key: &str, error: SearcherError, index: &SegmentedIndex) -> SystemError {
    let SearcherError::UnknownField { expected, found } = &error else {
        return SystemError::stage("opening the index")(error);
    };
    let hint = match index.config().fields {
        IndexedFields::Separate | IndexedFields::Named(_) => {
            did_you_mean(found, expected.iter().copied())
        }
        _ => " (weights per field need an index with --fields separate)".to_owned(),
    };
    SystemError::parameter(key, format!("{error}{hint}"))
}

impl System for Bm25System {
    fn files(&self) -> Vec<(String, String)> {
        Self::files(self)
    }

    fn index_needs(&self) -> IndexNeeds {
        IndexNeeds {
            store: if self.feedback.is_some() || self.expansion.is_some() {
                StoredFields::Everything
            } else {
                StoredFields::Nothing
            },
            positions: self.has_phrases(),
        }
    }

    fn encoders(&self) -> Vec<(String, String)> {
        let expansion = self.expansion.as_ref();
        let encoder = expansion.and_then(ExpansionEntry::named_encoder);
        encoder.into_iter().collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let tags = CleaningEntry::content(self.cleaning.as_ref(), context)?;
        let mut content = match &self.synonyms {
            None => tags,
            Some(path) => {
                let path = existing_file(context, "synonyms", path)?;
                format!("{tags} {}", context.file_hash(&path)?)
            }
        };
        if let Some(name) = self
            .feedback_collection
            .as_ref()
            .filter(|_| context.data.index().is_none())
        {
            let hash = feedback_index::content(context, name)?;
            content.push_str(&format!(" {hash}"));
        }
        if let Some(expansion) = &self.expansion {
            content.push_str(" words of the index");
            content.push_str(&expansion.content(context)?);
        }
        Ok(content)
    }

    fn check(&self) -> Result<(), SystemError> {
        Self::check(self)
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        let (config, template) = (self.index_config()?, self.template()?);
        let (key, description) = context.index_stage(&config, template.as_ref())?;
        let mut stages = vec![context.planned(Stage::Index, &key, &description)];
        if let Some(name) = &self.feedback_collection {
            let stage = feedback_index::stage(context, name, &config, template.as_ref())?;
            stages.extend(stage);
        }
        if let Some(expansion) = &self.expansion {
            let texts = self.indexed_texts()?;
            stages.extend(expansion.stages(&self.analyzer, &texts, context)?);
        }
        Ok(stages)
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let index = self.open_index(context)?;
        let searcher = self.searcher(&index)?;
        let mut description = searcher.model().to_string();
        let (searcher, feedback) = self.retriever(searcher, context)?;
        if let Some(feedback) = &feedback {
            description.push_str(&format!(" with {}", feedback.model()));
        }
        let open = OpenSystem {
            retriever: Arc::new(Distinct(searcher.clone())),
            with_duplicates: Some(searcher),
            description: Some(description),
            feedback,
            rerankers: Vec::new(),
            query_encoder: None,
            candidate_model: None,
        };
        CleaningEntry::applied(self.cleaning.as_ref(), context, open)
    }
}
