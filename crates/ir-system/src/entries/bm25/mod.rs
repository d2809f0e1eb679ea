//! Parameters of the type `bm25`: scoring model, fields, queries and their expansion.
//!
//! The tables below it contain one another: an expansion has an encoder, an encoder has a training,
//! and a training mines its negatives by a system of this type.

mod conflicts;
pub(crate) mod expansion;

use std::borrow::Cow;
use std::collections::BTreeMap;

use ir_bm25::feedback::{FeedbackModel, Rm3Estimate};
use ir_bm25::models::{NAMED_MODELS, NamedModel, ParameterRange};
use ir_bm25::{
    BlankDocs, Bm25, DocLengths, DocOrder, DuplicateIds, FieldNames, FieldNamesError, IndexConfig,
    IndexedFields, Model, QuerySyntax, SearcherError, StoredFields,
};
use ir_data::DocTemplate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use self::expansion::ExpansionEntry;
use super::analyzer::AnalyzerEntry;
use super::cleaning::{self, CleaningEntry};
use super::model_parameters::{self, ModelParameters};
use super::template;
use crate::error::SystemError;
use crate::suggest::did_you_mean;

/// BM25, or another scoring model, over title and text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bm25System {
    /// Parameters of a program or publication, which the other keys override. Default: `anserini`.
    pub preset: Bm25Preset,
    /// Name of the scoring model, one of [`NAMED_MODELS`]. Default: `bm25`.
    #[schemars(description = model_parameters::describe_models())]
    pub model: Option<String>,
    /// Parameters of the scoring model, such as `k1`. Default: from the preset or the model.
    #[serde(flatten)]
    pub parameters: ModelParameters,
    /// Exact document lengths instead of Lucene's one byte. Default:
    /// [`NamedModel::lengths`] of the model.
    #[schemars(description = model_parameters::describe_exact_lengths())]
    pub exact_lengths: Option<bool>,
    /// Text analysis: a name, or a table with its fields. Default: `anserini`.
    pub analyzer: AnalyzerEntry,
    /// Indexed fields by name, or a list of fields with separate statistics: `id`, `title`, `text`
    /// and attributes, such as `["title", "text", "keywords"]`. Default: from the preset (`one`;
    /// `datafinder`: `text`).
    pub fields: Option<IndexedFieldsEntry>,
    /// Weights of fields with separate statistics, such as `{ title = 2.0 }`. 0 excludes a field.
    /// Range: 0, or 1e-9 to 1e9. Default: 1 each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f32>,
    /// Length normalization of single fields in `bm25f`, such as `{ title = 0.3 }`. Range: 0 to 1.
    /// Default: `b` each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub field_b: BTreeMap<String, f32>,
    /// Syntax of the queries: `lucene` (`+must -not "a phrase" field:word word^2`) or `indri`
    /// (`#combine`, `#weight`, `#1`, `#uwN`, `#syn`, `#band`, `#or`). The index then has positions.
    /// Default: words.
    pub syntax: Option<QuerySyntaxName>,
    /// Template of the indexed text, such as `{name} {text} {title}`, instead of `fields`. Names
    /// other than `id`, `title` and `text` are attributes. Default: the fields.
    pub template: Option<String>,
    /// Cleaning of the queries before analysis. Default: none.
    #[serde(deserialize_with = "cleaning::table")]
    pub cleaning: Option<CleaningEntry>,
    /// Pseudo-relevance feedback: `rm3`, `rocchio`, or with parameters, such as
    /// `rm3(docs=5,terms=20,weight=0.7)`. Missing parameters have Anserini's defaults. Default:
    /// none.
    pub feedback: Option<String>,
    /// External collection of the feedback documents: a name, a folder, or a saved index with
    /// texts. Default: the searched collection.
    pub feedback_collection: Option<String>,
    /// Sequential dependence model: weights of words, of phrases of two words, and of unordered
    /// windows of two words, such as `[0.85, 0.1, 0.05]`. The index then has positions. Range: 0 to
    /// 1e9, of words above 0. Default: none.
    pub sdm: Option<[f32; 3]>,
    /// Synonyms to add to the queries: a file in the format of Solr, with lines such as `heart
    /// attack, myocardial infarction` or `MG => myasthenia gravis`, or a terminology: `MRCONSO.RRF`
    /// of UMLS, or MeSH in XML or N-Triples. Default: none.
    pub synonyms: Option<String>,
    /// Weight of a term of a synonym; one of the query has weight 1. Range: ≥ 0. Default: 0.2.
    #[schemars(range(min = 0.0))]
    #[schemars(extend("default" = ir_bm25::SynonymExpansion::WEIGHT))]
    pub synonym_weight: Option<f32>,
    /// Expansion of the queries by nearest words. Default: none.
    pub expansion: Option<ExpansionEntry>,
    /// Weight of the title, for `fields = "separate"` or a list with title and text. Range: ≥ 0.
    /// Default: 1.
    #[schemars(range(min = 0.0))]
    #[schemars(extend("default" = 1))]
    pub title_weight: Option<f32>,
    /// Order of documents with equal scores. Default: from the preset (`id`; `datafinder`:
    /// `insertion`).
    pub order: Option<DocOrderName>,
    /// Documents without indexed text: `keep` counts them in the statistics, `drop` skips them as
    /// Anserini does. Default: from the preset (`keep`; `datafinder`: `drop`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blank: Option<BlankDocsName>,
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
    /// equal scores in insertion order. The published index is in lexicographic order of the row
    /// number.
    Datafinder,
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

impl IndexedFieldsEntry {
    /// Returns the fields.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] for an invalid list.
    pub(crate) fn fields(&self) -> Result<IndexedFields, SystemError> {
        Ok(match self {
            Self::Name(IndexedFieldsName::One) => IndexedFields::One,
            Self::Name(IndexedFieldsName::Text) => IndexedFields::TextOnly,
            Self::Name(IndexedFieldsName::Separate) => IndexedFields::Separate,
            Self::List(names) => {
                let names = FieldNames::new(names.iter().cloned());
                let invalid =
                    |error: FieldNamesError| SystemError::parameter("fields", error.to_string());
                IndexedFields::Named(names.map_err(invalid)?)
            }
        })
    }
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

/// Documents without indexed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlankDocsName {
    /// Part of the index, with length 0.
    Keep,
    /// Not part of the index.
    Drop,
}

impl Bm25System {
    /// Checks ranges, fields and combinations of the parameters.
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        self.cleaning
            .as_ref()
            .map_or(Ok(()), CleaningEntry::check)?;
        self.analyzer.analysis()?;
        self.scoring_model()?;
        let feedback = self.feedback()?;
        self.check_queries(feedback.is_some())?;
        self.check_feedback(feedback.as_ref())?;
        if self.template()?.is_some() && self.fields.is_some() {
            let reason = "a template renders the only field";
            return Err(SystemError::conflict("fields", "template", reason));
        }
        let fields = self.indexed_fields()?;
        self.check_weights(fields)?;
        self.check_fields_of_bm25f(fields)?;
        let mut of_fields = self.field_b.keys();
        if let Some(name) = of_fields.find(|name| !fields.names().contains(&name.as_str())) {
            let hint = did_you_mean(name, fields.names().iter().copied());
            let known = fields.names().join(", ");
            let message = format!("expected an indexed field ({known}), found {name:?}{hint}");
            return Err(SystemError::parameter(format!("field_b.{name}"), message));
        }
        let mut weighted = ["title", "text"].iter();
        if self.title_weight.is_some() && !weighted.all(|it| fields.names().contains(it)) {
            let message = "expected fields = \"separate\" or a list with title and text";
            return Err(SystemError::parameter("title_weight", message));
        }
        Ok(())
    }

    /// Files that the system reads, with the keys that name them.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let tags = self.cleaning.as_ref().and_then(CleaningEntry::file);
        let synonyms = self.synonyms.clone();
        let synonyms = synonyms.map(|path| ("synonyms".to_owned(), path));
        let model = self.expansion.as_ref().and_then(ExpansionEntry::file);
        tags.into_iter().chain(synonyms).chain(model).collect()
    }

    fn indexed_fields(&self) -> Result<IndexedFields, SystemError> {
        let usual = match (&self.template, self.preset) {
            (Some(_), _) | (None, Bm25Preset::Datafinder) => IndexedFields::TextOnly,
            _ => IndexedFields::One,
        };
        Ok(match &self.fields {
            None => usual,
            Some(fields) => fields.fields()?,
        })
    }

    /// Returns `true` if queries may have phrases, for which the index has positions.
    pub(crate) fn has_phrases(&self) -> bool {
        self.syntax.is_some() || self.sdm.is_some()
    }

    /// Configuration of the index.
    pub(crate) fn index_config(&self) -> Result<IndexConfig, SystemError> {
        let datafinder = self.preset == Bm25Preset::Datafinder;
        let (order, blank) = if datafinder {
            (DocOrderName::Insertion, BlankDocsName::Drop)
        } else {
            (DocOrderName::Id, BlankDocsName::Keep)
        };
        let order = self.order.unwrap_or(order);
        let blank = match self.blank.unwrap_or(blank) {
            BlankDocsName::Keep => BlankDocs::Keep,
            BlankDocsName::Drop => BlankDocs::Drop,
        };
        Ok(IndexConfig::default()
            .with_analysis(self.analyzer.analysis()?)
            .with_fields(self.indexed_fields()?)
            .with_order(match order {
                DocOrderName::Id => DocOrder::Id,
                DocOrderName::Insertion => DocOrder::Insertion,
            })
            .with_blank(blank)
            .with_positions(self.has_phrases())
            .with_store(if self.feedback.is_some() || self.expansion.is_some() {
                StoredFields::Everything
            } else {
                StoredFields::Nothing
            })
            .with_duplicates(DuplicateIds::Keep))
    }

    /// Texts that the index stores, for cache keys: empty if they are all titles and texts of the
    /// documents.
    pub(crate) fn indexed_texts(&self) -> Result<String, SystemError> {
        let config = self.index_config()?;
        Ok(match (&self.template, config.blank) {
            (None, BlankDocs::Keep) => String::new(),
            (template, blank) => format!(" {template:?} {blank:?} {:?}", config.fields),
        })
    }

    pub(crate) fn template(&self) -> Result<Option<DocTemplate>, SystemError> {
        self.template.as_deref().map(template).transpose()
    }

    pub(crate) fn feedback(&self) -> Result<Option<FeedbackModel>, SystemError> {
        let model = self.feedback.as_deref().map(str::parse::<FeedbackModel>);
        let model = model.transpose();
        model.map_err(|error| SystemError::parameter("feedback", error.to_string()))
    }

    /// Checks that the scores of the model are weights for RM3.
    fn check_feedback(&self, feedback: Option<&FeedbackModel>) -> Result<(), SystemError> {
        let Some(FeedbackModel::Rm3(rm3)) = feedback.filter(|model| !model.is_disabled()) else {
            return Ok(());
        };
        let name = self.model.as_deref().unwrap_or(BM25);
        let model = Model::named(name, &[], None).map_err(invalid("model"))?;
        if rm3.estimate != Rm3Estimate::Indri && model.has_document_scores() {
            let message = format!(
                "expected the estimate indri, such as \"rm3(estimate=indri)\", with {:?}, whose \
                 scores are log-likelihoods",
                name
            );
            return Err(SystemError::parameter("feedback", message));
        }
        Ok(())
    }

    /// Checks that BM25F has fields.
    fn check_fields_of_bm25f(&self, fields: IndexedFields) -> Result<(), SystemError> {
        let named = NamedModel::find(self.model.as_deref().unwrap_or(BM25));
        let is_bm25f = named.map_err(invalid("model"))?.name == BM25F;
        match fields {
            IndexedFields::One | IndexedFields::TextOnly if is_bm25f => {
                let message = "bm25f needs fields with separate statistics, such as \
                               fields = [\"title\", \"text\"]";
                Err(SystemError::parameter("model", message))
            }
            _ => Ok(()),
        }
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
            let reason = "both are the weight of the title";
            return Err(SystemError::conflict(
                "title_weight",
                "weights.title",
                reason,
            ));
        }
        for (name, weight) in &self.weights {
            if !fields.names().contains(&name.as_str()) {
                let hint = did_you_mean(name, fields.names().iter().copied());
                let known = fields.names().join(", ");
                return invalid(
                    name,
                    format!("expected an indexed field ({known}), found {name:?}{hint}"),
                );
            }
            let range = ParameterRange::Weight;
            if !range.contains(*weight) {
                return invalid(
                    name,
                    format!("expected {}, found {weight}", range.expected()),
                );
            }
        }
        Ok(())
    }

    /// The scoring model with its parameters.
    pub(crate) fn scoring_model(&self) -> Result<Model, SystemError> {
        let name = self.model.as_deref().unwrap_or(BM25);
        let named = NamedModel::find(name).map_err(|error| unknown_model(name, error))?;
        if named.name != BM25 && self.preset != Bm25Preset::Anserini {
            let message = format!("expected model = \"bm25\", found {name:?}");
            return Err(SystemError::parameter("preset", message));
        }
        let given: Vec<_> = self.parameters.iter().collect();
        for &(name, _) in &given {
            if !named.parameters.iter().any(|known| known.name == name) {
                let having = NAMED_MODELS.iter().filter(|model| {
                    let mut parameters = model.parameters.iter();
                    parameters.any(|known| known.name == name)
                });
                let having: Vec<_> = having.map(|model| model.name).collect();
                let message = format!(
                    "expected a model with {name} ({}), found {:?}",
                    having.join(", "),
                    named.name
                );
                return Err(SystemError::parameter(name, message));
            }
        }
        if let Some(name) = self.field_b.keys().next().filter(|_| named.name != BM25F) {
            let message = format!("expected model = \"{BM25F}\", found {:?}", named.name);
            return Err(SystemError::parameter(format!("field_b.{name}"), message));
        }
        if named.name == BM25 {
            let bm25 = self.bm25();
            bm25.validate().map_err(invalid(""))?;
            return Ok(bm25.into());
        }
        let lengths = self.exact_lengths.map(|exact| {
            if exact {
                DocLengths::Exact
            } else {
                DocLengths::OneByte
            }
        });
        let of_fields = self.field_b.iter();
        let of_fields: Vec<_> = of_fields
            .map(|(name, b)| (format!("b.{name}"), *b))
            .collect();
        let of_fields = of_fields.iter().map(|(name, b)| (name.as_str(), *b));
        let given: Vec<_> = given.into_iter().chain(of_fields).collect();
        let model = named.with_parameters(&given, lengths);
        model.map_err(|error| match error {
            SearcherError::FieldParameter {
                name,
                expected,
                found,
            } => {
                let key = format!("field_{name}");
                SystemError::parameter(key, format!("expected {expected}, found {found}"))
            }
            other => invalid("")(other),
        })
    }

    fn bm25(&self) -> Bm25 {
        let preset = match self.preset {
            Bm25Preset::Anserini => Bm25::ANSERINI,
            Bm25Preset::Lucene => Bm25::LUCENE,
            Bm25Preset::Datafinder => Bm25::DATAFINDER,
        };
        let lengths = if self.exact_lengths == Some(true) {
            DocLengths::Exact
        } else {
            DocLengths::OneByte
        };
        let parameter = |name, default| self.parameters.get(name).unwrap_or(default);
        Bm25::new(parameter("k1", preset.k1), parameter("b", preset.b)).with_lengths(lengths)
    }
}

/// Syntax of structured queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuerySyntaxName {
    /// Terms with `+`, `-`, `AND`, `OR` and `NOT`, phrases, fields and boosts, as in Lucene's
    /// classic parser.
    Lucene,
    /// Terms in operators `#NAME(...)`, as in Indri.
    Indri,
}

impl From<QuerySyntaxName> for QuerySyntax {
    fn from(name: QuerySyntaxName) -> Self {
        match name {
            QuerySyntaxName::Lucene => Self::Lucene,
            QuerySyntaxName::Indri => Self::Indri,
        }
    }
}

pub(crate) const BM25: &str = "bm25";
pub(crate) const BM25F: &str = "bm25f";

/// Key of a system of the type `bm25` with this value: `feedback` or `model`.
pub(crate) fn key_of_bm25(value: &str) -> Option<&'static str> {
    if value.parse::<FeedbackModel>().is_ok() {
        return Some("feedback");
    }
    let model = NamedModel::find(value).ok()?;
    (model.name != BM25).then_some("model")
}

/// Error of the key `model`, which suggests the key that has such values.
fn unknown_model(name: &str, error: SearcherError) -> SystemError {
    let key = if key_of_bm25(name) == Some("feedback") {
        "feedback"
    } else if name == "random-indexing" {
        "type"
    } else {
        return invalid("model")(error);
    };
    let message =
        format!("expected a scoring model, found {name:?} (did you mean {key} = {name:?}?)");
    SystemError::parameter("model", message)
}

/// Converts the error of a key. The error of a parameter names the parameter.
pub(crate) fn invalid(key: &'static str) -> impl Fn(SearcherError) -> SystemError {
    move |error| match error {
        SearcherError::Parameter {
            name,
            expected,
            found,
        } => SystemError::parameter(name, format!("expected {expected}, found {found}")),
        other => SystemError::parameter(key, other.to_string()),
    }
}
