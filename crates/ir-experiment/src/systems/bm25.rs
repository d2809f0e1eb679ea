//! The type `bm25`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use ir_bm25::{
    Analysis, BlankDocs, Bm25, DocLengths, DocOrder, DuplicateIds, FieldNames, FieldNamesError,
    IndexConfig, IndexedFields,
};
use ir_core::Distinct;
use ir_data::DocTemplate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::cleaning::CleaningEntry;
use super::template;
use crate::cache::Stage;
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::suggest::did_you_mean;
use crate::system::{OpenSystem, System, SystemContext};

/// Fields that every document has, though they may be empty.
const STANDARD: [&str; 3] = ["id", "title", "text"];

/// BM25 over title and text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bm25System {
    /// Parameters of a program or publication, which the other keys override. Default: `anserini`.
    pub preset: Bm25Preset,
    /// Term-frequency saturation; 0 ignores repeated occurrences. Range: ≥ 0. Default: that of the
    /// preset (`anserini`: 0.9).
    pub k1: Option<f32>,
    /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0 to 1. Default: that of the
    /// preset (`anserini`: 0.4).
    pub b: Option<f32>,
    /// Exact document lengths instead of Lucene's one byte. Default: false.
    pub exact_lengths: bool,
    /// Text analysis. Default: `anserini`.
    pub analyzer: AnalyzerName,
    /// Indexed fields by name, or a list of fields with separate statistics: `id`, `title`, `text`
    /// and attributes, such as `["title", "text", "keywords"]`. Default: that of the preset (`one`;
    /// `datafinder`: `text`).
    pub fields: Option<IndexedFieldsEntry>,
    /// Weights of fields with separate statistics, such as `{ title = 2.0 }`. 0 excludes a field.
    /// Range: 0, or 1e-9 to 1e9. Default: 1 each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f32>,
    /// Template of the indexed text, such as `{name} {text} {title}`, instead of `fields`. Names
    /// other than `id`, `title` and `text` are attributes. Default: the fields.
    pub template: Option<String>,
    /// Cleaning of the queries before analysis. Default: none.
    pub cleaning: Option<CleaningEntry>,
    /// Weight of the title, for `fields = "separate"`. Range: ≥ 0. Default: 1.
    pub title_weight: Option<f32>,
    /// Order of documents with equal scores. Default: that of the preset (`id`; `datafinder`:
    /// `insertion`).
    pub order: Option<DocOrderName>,
}

/// Parameters of a program or publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bm25Preset {
    /// Anserini and Pyserini: k1 0.9, b 0.4.
    #[default]
    Anserini,
    /// Lucene: k1 1.2, b 0.75.
    Lucene,
    /// DataFinder: k1 0.8, b 0.4, texts without titles, blank documents dropped, documents with
    /// equal scores in insertion order. Use `document_order = "lexicographic-row"`.
    Datafinder,
}

/// Text analysis by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnalyzerName {
    /// Anserini's analysis of English, which equals Lucene's `EnglishAnalyzer`: Porter stemmer.
    #[default]
    Anserini,
    /// The same without the stemmer.
    AnseriniUnstemmed,
    /// English with the Porter2 stemmer.
    English,
    /// Lucene's `StandardAnalyzer`.
    LuceneStandard,
    /// Tokens between white space.
    Whitespace,
}

/// Indexed fields of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IndexedFieldsName {
    /// One field of title and text.
    One,
    /// The text without the title.
    Text,
    /// Title and text with separate statistics.
    Separate,
}

/// Indexed fields of a document, by name or as a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum IndexedFieldsEntry {
    /// Name of usual fields.
    Name(IndexedFieldsName),
    /// Fields with separate statistics: `id`, `title`, `text` and attributes.
    List(Vec<String>),
}

impl<'de> Deserialize<'de> for IndexedFieldsEntry {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(input)? {
            toml::Value::Array(names) => {
                let names = names.into_iter().map(String::deserialize);
                let names = names.collect::<Result<_, _>>();
                names.map(Self::List).map_err(D::Error::custom)
            }
            other => {
                let name = IndexedFieldsName::deserialize(other);
                let message = |error: toml::de::Error| D::Error::custom(error.message());
                name.map(Self::Name).map_err(message)
            }
        }
    }
}

impl JsonSchema for IndexedFieldsEntry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IndexedFieldsEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<IndexedFieldsName>();
        let names = json_schema!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
        json_schema!({ "anyOf": [name, names] })
    }
}

/// Order of documents with equal scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DocOrderName {
    /// Ascending byte order of the id.
    Id,
    /// Order of the documents of the task.
    Insertion,
}

impl Bm25System {
    fn indexed_fields(&self) -> Result<IndexedFields, SystemError> {
        let usual = match (&self.template, self.preset) {
            (Some(_), _) | (None, Bm25Preset::Datafinder) => IndexedFields::TextOnly,
            _ => IndexedFields::One,
        };
        Ok(match &self.fields {
            None => usual,
            Some(IndexedFieldsEntry::Name(name)) => match name {
                IndexedFieldsName::One => IndexedFields::One,
                IndexedFieldsName::Text => IndexedFields::TextOnly,
                IndexedFieldsName::Separate => IndexedFields::Separate,
            },
            Some(IndexedFieldsEntry::List(names)) => {
                let names = FieldNames::new(names.iter().cloned());
                let invalid =
                    |error: FieldNamesError| SystemError::parameter("fields", error.to_string());
                IndexedFields::Named(names.map_err(invalid)?)
            }
        })
    }

    /// Configuration of the index.
    pub(super) fn index_config(&self) -> Result<IndexConfig, SystemError> {
        let datafinder = self.preset == Bm25Preset::Datafinder;
        let order = self.order.unwrap_or(match datafinder {
            true => DocOrderName::Insertion,
            false => DocOrderName::Id,
        });
        let blank = if datafinder {
            BlankDocs::Drop
        } else {
            BlankDocs::Keep
        };
        Ok(IndexConfig::default()
            .with_analysis(match self.analyzer {
                AnalyzerName::Anserini => Analysis::anserini(),
                AnalyzerName::AnseriniUnstemmed => Analysis::anserini_unstemmed(),
                AnalyzerName::English => Analysis::english(),
                AnalyzerName::LuceneStandard => Analysis::lucene_standard(),
                AnalyzerName::Whitespace => Analysis::whitespace(),
            })
            .with_fields(self.indexed_fields()?)
            .with_order(match order {
                DocOrderName::Id => DocOrder::Id,
                DocOrderName::Insertion => DocOrder::Insertion,
            })
            .with_blank(blank)
            .with_duplicates(DuplicateIds::Keep))
    }

    pub(super) fn template(&self) -> Result<Option<DocTemplate>, SystemError> {
        self.template.as_deref().map(template).transpose()
    }

    fn check_weights(&self, fields: IndexedFields) -> Result<(), SystemError> {
        let Some(name) = self.weights.keys().next() else {
            return Ok(());
        };
        let invalid = |name: &str, message: String| {
            Err(SystemError::parameter(format!("weights.{name}"), message))
        };
        if !matches!(fields, IndexedFields::Separate | IndexedFields::Named(_)) {
            let message = "expected fields = \"separate\" or a list of fields".to_owned();
            return invalid(name, message);
        }
        if self.title_weight.is_some() && self.weights.contains_key("title") {
            let message = "expected either this key or title_weight, found both".to_owned();
            return invalid("title", message);
        }
        for (name, weight) in &self.weights {
            if !fields.names().contains(&name.as_str()) {
                let hint = did_you_mean(name, fields.names().iter().copied());
                let known = fields.names().join(", ");
                return invalid(name, format!("expected an indexed field ({known}){hint}"));
            }
            if *weight != 0.0 && !(1e-9..=1e9).contains(weight) {
                let message = format!("expected 0 or a number from 1e-9 to 1e9, found {weight}");
                return invalid(name, message);
            }
        }
        Ok(())
    }

    pub(super) fn parameters(&self) -> Bm25 {
        let preset = match self.preset {
            Bm25Preset::Anserini => Bm25::ANSERINI,
            Bm25Preset::Lucene => Bm25::LUCENE,
            Bm25Preset::Datafinder => Bm25::DATAFINDER,
        };
        let lengths = if self.exact_lengths {
            DocLengths::Exact
        } else {
            DocLengths::OneByte
        };
        Bm25::new(self.k1.unwrap_or(preset.k1), self.b.unwrap_or(preset.b)).with_lengths(lengths)
    }
}

impl System for Bm25System {
    fn check(&self) -> Result<(), SystemError> {
        let invalid = |error: ir_bm25::SearcherError| match error {
            ir_bm25::SearcherError::Parameter {
                name,
                expected,
                found,
            } => SystemError::parameter(name, format!("expected {expected}, found {found}")),
            other => SystemError::parameter("", other.to_string()),
        };
        self.parameters().validate().map_err(invalid)?;
        if self.template()?.is_some() && self.fields.is_some() {
            let message = "expected either fields or a template, found both";
            return Err(SystemError::parameter("template", message));
        }
        let fields = self.indexed_fields()?;
        self.check_weights(fields)?;
        if let Some(weight) = self.title_weight {
            if fields != IndexedFields::Separate {
                let message = "expected fields = \"separate\"";
                return Err(SystemError::parameter("title_weight", message));
            }
            if !(weight >= 0.0 && weight.is_finite()) {
                let message = format!("expected a finite number >= 0, found {weight}");
                return Err(SystemError::parameter("title_weight", message));
            }
        }
        Ok(())
    }

    fn stages(&self, context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        let (key, description) =
            context.index_stage(&self.index_config()?, self.template()?.as_ref())?;
        Ok(vec![context.planned(Stage::Index, &key, &description)])
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let config = self.index_config()?;
        if let IndexedFields::Named(names) = config.fields {
            let known = context.task().attributes();
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
        let searcher = index.searcher(self.parameters());
        let mut searcher = searcher.map_err(SystemError::stage("opening the index"))?;
        if let Some(weight) = self.title_weight {
            let weighted = searcher.with_weights(&[("title", weight), ("text", 1.0)]);
            searcher = weighted.map_err(SystemError::stage("opening the index"))?;
        }
        let weights = self.weights.iter();
        let weights: Vec<(&str, f32)> = weights.map(|(name, w)| (name.as_str(), *w)).collect();
        let weighted = searcher.with_weights(&weights);
        searcher = weighted.map_err(SystemError::stage("opening the index"))?;
        let searcher = Arc::new(searcher);
        Ok(CleaningEntry::applied(
            self.cleaning.as_ref(),
            OpenSystem {
                retriever: Arc::new(Distinct(searcher.clone())),
                with_duplicates: Some(searcher),
            },
        ))
    }
}
