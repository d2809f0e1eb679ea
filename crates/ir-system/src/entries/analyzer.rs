//! Text analysis of a system, by name or with its fields.

use std::borrow::Cow;

use ir_bm25::Analysis;
use ir_bm25::analysis::AnalysisError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::error::SystemError;
use crate::readable::readable;

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
    /// `anserini` with words in Unicode's normal form NFC: the default of `ir index`.
    Porter,
    /// Lucene's `CJKAnalyzer`: bigrams of Chinese, Japanese and Korean.
    LuceneCjk,
}

impl AnalyzerName {
    /// All names, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::Anserini,
        Self::AnseriniUnstemmed,
        Self::English,
        Self::LuceneStandard,
        Self::Whitespace,
        Self::Porter,
        Self::LuceneCjk,
    ];

    /// Returns the analysis with this name.
    #[must_use]
    pub fn analysis(self) -> Analysis {
        match self {
            Self::Anserini => Analysis::anserini(),
            Self::AnseriniUnstemmed => Analysis::anserini_unstemmed(),
            Self::English => Analysis::english(),
            Self::LuceneStandard => Analysis::lucene_standard(),
            Self::Whitespace => Analysis::whitespace(),
            Self::Porter => Analysis::porter(),
            Self::LuceneCjk => Analysis::lucene_cjk(),
        }
    }
}

/// Text analysis: a preset, and the fields in which the analysis differs from it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnalysisEntry {
    /// Analysis of the fields that are not given. Default: `anserini`.
    pub preset: AnalyzerName,
    /// Splits texts into tokens: `unicode` (words of Unicode, as Lucene's `StandardTokenizer`) or
    /// `whitespace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// Maximum token length in UTF-16 units; longer tokens are split. Range: 2 to 1,048,576.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 1_048_576))]
    pub max_len: Option<usize>,
    /// Unicode normalization of tokens: `none`, `nfc`, `width` (full-width and half-width
    /// characters, as Lucene's `CJKWidthFilter`) or `fold` (case, accents, width, ligatures and
    /// letter forms, as Lucene's `ICUFoldingFilter`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalization: Option<String>,
    /// Removes a trailing possessive `'s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub possessive: Option<bool>,
    /// Lowercases tokens by simple case mapping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_case: Option<bool>,
    /// Bigrams of Han, Hiragana, Katakana and Hangul, as Lucene's `CJKBigramFilter`: `none`,
    /// `bigrams` or `bigrams_and_unigrams`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cjk_bigrams: Option<String>,
    /// Stop words, removed before stemming: `none`, `lucene33`, `nltk179`, or a list of words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_words: Option<StopWordsEntry>,
    /// Words that the stemmer leaves unchanged, in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected_words: Option<Vec<String>>,
    /// Stemmer: `none`, `porter`, `porter1980`, or a language of Snowball 3.0 (`arabic`,
    /// `armenian`, `basque`, `catalan`, `danish`, `dutch`, `english`, `esperanto`, `estonian`,
    /// `finnish`, `french`, `german`, `greek`, `hindi`, `hungarian`, `indonesian`, `irish`,
    /// `italian`, `lithuanian`, `nepali`, `norwegian`, `polish`, `portuguese`, `romanian`,
    /// `russian`, `serbian`, `spanish`, `swedish`, `tamil`, `turkish`, `yiddish`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stemmer: Option<String>,
}

impl AnalysisEntry {
    fn analysis(&self) -> Result<Analysis, AnalysisError> {
        let fields = match json!(self) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Analysis::default().with_overrides(&fields)
    }
}

/// Stop words by the name of a list, or as a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum StopWordsEntry {
    /// Name of a list.
    Name(String),
    /// Words, in lower case.
    List(Vec<String>),
}

impl<'de> Deserialize<'de> for StopWordsEntry {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let expected = "stop_words: expected the name of a list, or a list of words";
        match toml::Value::deserialize(input)? {
            toml::Value::String(name) => Ok(Self::Name(name)),
            toml::Value::Array(words) => {
                let words = words.into_iter().map(String::deserialize);
                let words = words.collect::<Result<_, _>>();
                words
                    .map(Self::List)
                    .map_err(|_: toml::de::Error| D::Error::custom(expected))
            }
            _ => Err(D::Error::custom(expected)),
        }
    }
}

/// Text analysis, by name or with its fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnalyzerEntry {
    /// Name of an analysis.
    Name(AnalyzerName),
    /// Fields of an analysis.
    Fields(Box<AnalysisEntry>),
}

impl Default for AnalyzerEntry {
    fn default() -> Self {
        Self::Name(AnalyzerName::default())
    }
}

impl AnalyzerEntry {
    /// The entry of an analysis: its name, or the fields that differ from the preset `anserini`.
    ///
    /// # Errors
    ///
    /// Returns the error of serde if the analysis has a value that an entry does not have.
    pub fn from_analysis(analysis: &Analysis) -> Result<Self, serde_json::Error> {
        let mut named = AnalyzerName::ALL.into_iter();
        if let Some(name) = named.find(|name| name.analysis() == *analysis) {
            return Ok(Self::Name(name));
        }
        let base = json!(AnalyzerName::default().analysis());
        let mut fields = json!(analysis);
        if let Value::Object(fields) = &mut fields {
            fields.retain(|name, value| base.get(name) != Some(value));
            if let Some(words) = fields.get_mut("stop_words")
                && let Some(custom) = words.get_mut("custom")
            {
                *words = custom.take();
            }
        }
        Ok(Self::Fields(Box::new(serde_json::from_value(fields)?)))
    }

    /// Returns the analysis.
    ///
    /// # Errors
    ///
    /// Returns [`SystemError::Parameter`] for the first invalid field.
    pub fn analysis(&self) -> Result<Analysis, SystemError> {
        let fields = match self {
            Self::Name(name) => return Ok(name.analysis()),
            Self::Fields(fields) => fields,
        };
        fields.analysis().map_err(|error| {
            let field = match &error {
                AnalysisError::Field { field, message } => {
                    let key = format!("analyzer.{field}");
                    return SystemError::parameter(key, readable(message, "an object"));
                }
                AnalysisError::TokenLength { .. } => "max_len",
                AnalysisError::BigramTokenizer => "cjk_bigrams",
                AnalysisError::UnmatchableProtectedWord { .. } => "protected_words",
                AnalysisError::EmptyStopWord | AnalysisError::UnmatchableStopWord { .. } => {
                    "stop_words"
                }
                _ => "preset",
            };
            let message = error.to_string();
            let named = format!("{field}: ");
            let message = message.strip_prefix(&named).unwrap_or(&message);
            SystemError::parameter(format!("analyzer.{field}"), message)
        })
    }
}

impl<'de> Deserialize<'de> for AnalyzerEntry {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(input)? {
            toml::Value::Table(fields) => {
                let fields = AnalysisEntry::deserialize(fields);
                fields.map(|fields| Self::Fields(Box::new(fields)))
            }
            other => AnalyzerName::deserialize(other).map(Self::Name),
        }
        .map_err(|error| D::Error::custom(error.message()))
    }
}

impl JsonSchema for AnalyzerEntry {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnalyzerEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<AnalyzerName>();
        let fields = generator.subschema_for::<AnalysisEntry>();
        json_schema!({ "anyOf": [name, fields] })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ir_bm25::analysis::{CjkBigrams, Normalization, Stemmer, StopWords};

    use super::*;

    fn parsed(text: &str) -> Result<AnalyzerEntry, toml::de::Error> {
        #[derive(Deserialize)]
        struct File {
            analyzer: AnalyzerEntry,
        }
        toml::from_str::<File>(text).map(|file| file.analyzer)
    }

    #[test]
    fn an_entry_is_read_as_the_analysis_it_was_made_from() {
        let french = Analysis::lucene_standard()
            .with_normalization(Normalization::Fold)
            .with_stop_words(StopWords::custom(["le", "la"]))
            .with_protected_words(["paris".to_owned()].into())
            .with_stemmer(Stemmer::French);
        let cjk = Analysis::lucene_cjk().with_cjk_bigrams(CjkBigrams::BigramsAndUnigrams);
        let names = AnalyzerName::ALL.map(AnalyzerName::analysis);
        for analysis in names.into_iter().chain([french, cjk]) {
            let entry = AnalyzerEntry::from_analysis(&analysis).unwrap();
            assert_eq!(entry.analysis().unwrap(), analysis);
            let mut file = toml::Table::new();
            file.insert(
                "analyzer".to_owned(),
                toml::Value::try_from(&entry).unwrap(),
            );
            let read = parsed(&file.to_string()).unwrap();
            assert_eq!(read, entry);
            assert_eq!(read.analysis().unwrap(), analysis);
        }
    }

    #[test]
    fn invalid_fields_are_named() {
        let of_fields = |text: &str| parsed(text).unwrap().analysis().unwrap_err().to_string();
        for (text, expected) in [
            (
                "analyzer = { normalization = \"nfkc\" }",
                "analyzer.normalization: expected one of `none`, `nfc`, `width`, `fold`, found `nfkc` (did you mean nfc?)",
            ),
            (
                "analyzer = { max_len = 1 }",
                "analyzer.max_len: expected 2 to 1048576 UTF-16 units, found 1",
            ),
            (
                "analyzer = { protected_words = [\"NASA\"] }",
                "analyzer.protected_words: protected word \"NASA\" can never match: expected one term, found \"nasa\"",
            ),
            (
                "analyzer = { stop_words = [\"The\"] }",
                "analyzer.stop_words: stop word \"The\" can never match: tokens are lowercased first, expected \"the\"",
            ),
            (
                "analyzer = { tokenizer = \"whitespace\", cjk_bigrams = \"bigrams\" }",
                "analyzer.cjk_bigrams: expected the tokenizer \"unicode\", found \"whitespace\"",
            ),
        ] {
            assert_eq!(of_fields(text), expected);
        }
        let unknown = parsed("analyzer = { stemer = \"french\" }").unwrap_err();
        assert!(
            unknown.message().contains("unknown field `stemer`"),
            "{unknown}"
        );
        let number = parsed("analyzer = { stop_words = 3 }").unwrap_err();
        let expected = "stop_words: expected the name of a list, or a list of words";
        assert_eq!(number.message(), expected);
        let unknown = parsed("analyzer = \"potter\"").unwrap_err();
        assert!(
            unknown.message().contains("unknown variant `potter`"),
            "{unknown}"
        );
    }
}
