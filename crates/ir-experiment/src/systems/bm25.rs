//! The type `bm25`.

use std::sync::Arc;

use ir_bm25::feedback::{Feedback, FeedbackDocuments, FeedbackModel};
use ir_bm25::{
    Analysis, BlankDocs, Bm25, DocLengths, DocOrder, DuplicateIds, IndexConfig, IndexedFields,
    StoredFields,
};
use ir_core::{Distinct, Retriever};
use ir_data::DocTemplate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cleaning::CleaningEntry;
use super::template;
use crate::cache::Stage;
use crate::error::SystemError;
use crate::observer::StageReport;
use crate::system::{OpenSystem, System, SystemContext};

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
    /// Indexed fields. Default: that of the preset (`one`; `datafinder`: `text`).
    pub fields: Option<IndexedFieldsName>,
    /// Template of the indexed text, such as `{name} {text} {title}`, instead of `fields`. Names
    /// other than `id`, `title` and `text` are attributes. Default: the fields.
    pub template: Option<String>,
    /// Cleaning of the queries before analysis. Default: none.
    pub cleaning: Option<CleaningEntry>,
    /// Pseudo-relevance feedback: `rm3`, `rocchio`, or with parameters, such as
    /// `rm3(docs=5,terms=20,weight=0.7)`. Missing parameters have Anserini's defaults. Default:
    /// none.
    pub feedback: Option<String>,
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
    /// Configuration of the index.
    pub(super) fn index_config(&self) -> IndexConfig {
        let datafinder = self.preset == Bm25Preset::Datafinder;
        let fields = match (&self.template, datafinder) {
            (Some(_), _) => IndexedFieldsName::Text,
            (None, true) => self.fields.unwrap_or(IndexedFieldsName::Text),
            (None, false) => self.fields.unwrap_or(IndexedFieldsName::One),
        };
        let order = self.order.unwrap_or(match datafinder {
            true => DocOrderName::Insertion,
            false => DocOrderName::Id,
        });
        let blank = if datafinder {
            BlankDocs::Drop
        } else {
            BlankDocs::Keep
        };
        IndexConfig::default()
            .with_analysis(match self.analyzer {
                AnalyzerName::Anserini => Analysis::anserini(),
                AnalyzerName::AnseriniUnstemmed => Analysis::anserini_unstemmed(),
                AnalyzerName::English => Analysis::english(),
                AnalyzerName::LuceneStandard => Analysis::lucene_standard(),
                AnalyzerName::Whitespace => Analysis::whitespace(),
            })
            .with_fields(match fields {
                IndexedFieldsName::One => IndexedFields::One,
                IndexedFieldsName::Text => IndexedFields::TextOnly,
                IndexedFieldsName::Separate => IndexedFields::Separate,
            })
            .with_order(match order {
                DocOrderName::Id => DocOrder::Id,
                DocOrderName::Insertion => DocOrder::Insertion,
            })
            .with_blank(blank)
            .with_store(match self.feedback {
                Some(_) => StoredFields::Everything,
                None => StoredFields::Nothing,
            })
            .with_duplicates(DuplicateIds::Keep)
    }

    pub(super) fn template(&self) -> Result<Option<DocTemplate>, SystemError> {
        self.template.as_deref().map(template).transpose()
    }

    fn feedback(&self) -> Result<Option<FeedbackModel>, SystemError> {
        let model = self.feedback.as_deref().map(str::parse::<FeedbackModel>);
        let model = model.transpose();
        model.map_err(|error| SystemError::parameter("feedback", error.to_string()))
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
        self.feedback()?;
        if self.template()?.is_some() && self.fields.is_some() {
            let message = "expected either fields or a template, found both";
            return Err(SystemError::parameter("template", message));
        }
        if let Some(weight) = self.title_weight {
            if self.fields != Some(IndexedFieldsName::Separate) {
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
            context.index_stage(&self.index_config(), self.template()?.as_ref())?;
        Ok(vec![context.planned(Stage::Index, &key, &description)])
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let index = context.index(&self.index_config(), self.template()?.as_ref())?;
        let searcher = index.searcher(self.parameters());
        let mut searcher = searcher.map_err(SystemError::stage("opening the index"))?;
        if let Some(weight) = self.title_weight {
            let weighted = searcher.with_weights(&[("title", weight), ("text", 1.0)]);
            searcher = weighted.map_err(SystemError::stage("opening the index"))?;
        }
        let searcher: Arc<dyn Retriever<Query = str>> = match self.feedback()? {
            None => Arc::new(searcher),
            Some(model) => {
                let failed = SystemError::stage("feedback");
                let own = FeedbackDocuments::stored(searcher.clone());
                let feedback = own.and_then(|own| Feedback::new(searcher, own, model));
                Arc::new(feedback.map_err(failed)?)
            }
        };
        Ok(CleaningEntry::applied(
            self.cleaning.as_ref(),
            OpenSystem {
                retriever: Arc::new(Distinct(searcher.clone())),
                with_duplicates: Some(searcher),
            },
        ))
    }
}
