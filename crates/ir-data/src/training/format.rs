use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ir_core::AttributeValue;
use ir_core::training::{InvalidExample, TrainingExample, TrainingText};

use super::DocumentTexts;
use crate::error::{DataError, Location};
use crate::json::{parse_object, type_name};
use ir_core::excerpt;

/// Treatment of invalid training examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnInvalidExample {
    /// Returns the error of the first invalid example.
    #[default]
    Reject,
    /// Skips unknown document ids, then examples that remain invalid.
    /// [`TrainingFile::skipped`](super::TrainingFile::skipped) returns their errors.
    Skip,
}

impl OnInvalidExample {
    /// Returns the error, or adds it to `skipped`.
    pub(super) fn apply(
        self,
        error: DataError,
        skipped: &mut Vec<DataError>,
    ) -> Result<(), DataError> {
        match self {
            Self::Reject => return Err(error),
            Self::Skip => skipped.push(error),
        }
        Ok(())
    }
}

/// Format of a training file.
///
/// ```
/// use ir_data::training::TrainingFormat;
/// let format = TrainingFormat::default().with_query_field("keyphrase_query");
/// ```
#[derive(Debug, Clone)]
pub struct TrainingFormat {
    query_field: String,
    texts: Option<Arc<DocumentTexts>>,
    invalid: OnInvalidExample,
}

impl Default for TrainingFormat {
    fn default() -> Self {
        Self {
            query_field: "query".to_owned(),
            texts: None,
            invalid: OnInvalidExample::default(),
        }
    }
}

impl TrainingFormat {
    /// Field of the query, for example `keyphrase_query` for DataFinder's keyphrases. Default:
    /// `query`.
    #[must_use]
    pub fn with_query_field(mut self, field: impl Into<String>) -> Self {
        self.query_field = field.into();
        self
    }

    /// Texts of the documents to which ids in positives and negatives refer. Default: none, strings
    /// are texts.
    #[must_use]
    pub fn with_texts(mut self, texts: impl Into<Arc<DocumentTexts>>) -> Self {
        self.texts = Some(texts.into());
        self
    }

    /// Treatment of invalid examples. Default: [`OnInvalidExample::Reject`].
    #[must_use]
    pub const fn on_invalid_example(mut self, invalid: OnInvalidExample) -> Self {
        self.invalid = invalid;
        self
    }

    /// Parses a line. Errors of skipped ids are appended to `skipped`; `None` if the line itself is
    /// skipped.
    pub(super) fn read(
        &self,
        text: &str,
        at: Location<'_>,
        skipped: &mut Vec<DataError>,
    ) -> Result<Option<TrainingExample>, DataError> {
        let mut reader = LineParser {
            format: self,
            at,
            skipped,
        };
        match reader.example(text) {
            Ok(example) => Ok(Some(example)),
            Err(LineError::Invalid(error)) => self.invalid.apply(error, skipped).map(|()| None),
            Err(LineError::Format(error)) => Err(error),
        }
    }
}

/// Error of a line.
enum LineError {
    /// The line does not follow the format.
    Format(DataError),
    /// The example is invalid; [`OnInvalidExample`] decides.
    Invalid(DataError),
}

impl From<DataError> for LineError {
    fn from(error: DataError) -> Self {
        Self::Format(error)
    }
}

struct LineParser<'a> {
    format: &'a TrainingFormat,
    at: Location<'a>,
    skipped: &'a mut Vec<DataError>,
}

/// Equivalent field names of the formats.
const IDS: [&str; 4] = ["query_id", "id", "_id", "n"];
const POSITIVES: [&str; 2] = ["positive_passages", "positives"];
const NEGATIVES: [&str; 2] = ["negative_passages", "negatives"];
/// Maximum number of fields that an error names.
const NAMED_FIELDS: usize = 10;
const TEXT_IDS: [&str; 3] = ["docid", "id", "_id"];

impl LineParser<'_> {
    fn example(&mut self, text: &str) -> Result<TrainingExample, LineError> {
        let mut members = parse_object(text, self.at)?;
        let field = self.format.query_field.as_str();
        let query = match members.remove(field) {
            Some(AttributeValue::Text(query)) => query,
            Some(other) => return Err(self.wrong_format(field, "a string", type_name(&other))),
            None => return Err(self.without(field, text)),
        };
        let query_id = self.first_id(&mut members, &IDS, format_args!(""))?;
        let (positive_field, positives) = self.texts(&mut members, POSITIVES)?;
        let positive_field = positive_field.ok_or_else(|| self.without(POSITIVES[1], text))?;
        let (negative_field, negatives) = self.texts(&mut members, NEGATIVES)?;
        // A misspelled list must not be ignored silently.
        let lists = ["positive", "negative"];
        let unknown = members
            .keys()
            .find(|name| lists.iter().any(|list| name.starts_with(list)));
        if let Some(unknown) = unknown {
            return Err(LineError::Format(DataError::Syntax {
                path: self.at.path.to_owned(),
                line: self.at.line,
                expected: "lists named positives and negatives, or positive_passages and negative_passages",
                found: unknown.clone(),
            }));
        }
        let example = TrainingExample {
            query_id,
            query,
            positives,
            negatives,
        };
        let error = match example.check() {
            Ok(()) => return Ok(example),
            Err(error) => error,
        };
        let wrong_type = |field: &str, expected, found| self.wrong_type(field, expected, found);
        Err(LineError::Invalid(match error {
            InvalidExample::EmptyQuery => wrong_type(field, "a query", "an empty string"),
            InvalidExample::NoPositives => wrong_type(positive_field, "at least one text", "none"),
            InvalidExample::EmptyPositive { positive } => {
                let field = format!("{positive_field}[{positive}]");
                wrong_type(&field, "a string", "an empty string")
            }
            InvalidExample::PositiveIsNegative { positive, negative } => {
                let text = &example.negatives[negative];
                DataError::PositiveIsNegative {
                    path: self.at.path.to_owned(),
                    line: self.at.line,
                    positive: format!("{positive_field}[{positive}]"),
                    negative: format!("{}[{negative}]", negative_field.unwrap_or(NEGATIVES[1])),
                    found: excerpt(text.id.as_ref().unwrap_or(&text.text)),
                }
            }
            other => DataError::Example {
                path: self.at.path.to_owned(),
                line: self.at.line,
                fault: other,
            },
        }))
    }

    /// Texts of a list and the name of its field.
    fn texts(
        &mut self,
        members: &mut BTreeMap<String, AttributeValue>,
        names: [&'static str; 2],
    ) -> Result<(Option<&'static str>, Vec<TrainingText>), LineError> {
        let mut found = None;
        for name in names {
            if let Some(value) = members.remove(name) {
                if let Some((first, _)) = found {
                    let one = "one list of positives and one of negatives";
                    return Err(self.at.syntax(one, &format!("{first} and {name}")).into());
                }
                found = Some((name, value));
            }
        }
        let Some((name, value)) = found else {
            return Ok((None, Vec::new()));
        };
        let AttributeValue::List(values) = value else {
            return Err(self.wrong_format(name, "an array of strings", type_name(&value)));
        };
        let mut texts = Vec::with_capacity(values.len());
        for (n, value) in values.into_iter().enumerate() {
            match self.text(format_args!("{name}[{n}]"), value) {
                Ok(text) => texts.push(text),
                Err(LineError::Invalid(error)) if self.format.invalid == OnInvalidExample::Skip => {
                    self.skipped.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok((Some(name), texts))
    }

    /// Parses a text; errors name it `field`.
    fn text(
        &self,
        field: fmt::Arguments<'_>,
        value: AttributeValue,
    ) -> Result<TrainingText, LineError> {
        let mut members = match value {
            AttributeValue::Text(text) if self.format.texts.is_none() => {
                return Ok(TrainingText::new(text));
            }
            AttributeValue::Text(_) | AttributeValue::Int(_) => {
                return self.by_id(self.id(field, value)?, field);
            }
            AttributeValue::Map(members) => members,
            other => {
                return Err(self.wrong_format(field, "a string or an object", type_name(&other)));
            }
        };
        let mut part = |name: &str| match members.remove(name) {
            None => Ok(None),
            Some(AttributeValue::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_format(
                format_args!("{field}.{name}"),
                "a string",
                type_name(&other),
            )),
        };
        let (title, text) = (part("title")?, part("text")?);
        let score = match members.remove("score") {
            None => None,
            Some(AttributeValue::Float(score)) => Some(score as f32),
            Some(AttributeValue::Int(score)) => Some(score as f32),
            Some(other) => {
                return Err(self.wrong_format(
                    format_args!("{field}.score"),
                    "a number",
                    type_name(&other),
                ));
            }
        };
        let id = self.first_id(&mut members, &TEXT_IDS, format_args!("{field}."))?;
        let mut passage = match (text, id) {
            (Some(text), id) => TrainingText {
                id: id.filter(|id| !id.is_empty()),
                text: match title.filter(|title| !title.trim().is_empty()) {
                    Some(title) => format!("{title} {text}"),
                    None => text,
                },
                score: None,
            },
            (None, Some(id)) if self.format.texts.is_some() => self.by_id(id, field)?,
            (None, _) => return Err(self.at.missing_field(&format!("{field}.text")).into()),
        };
        passage.score = score;
        Ok(passage)
    }

    fn by_id(&self, id: String, field: fmt::Arguments<'_>) -> Result<TrainingText, LineError> {
        let known = self.format.texts.as_ref().and_then(|texts| texts.get(&id));
        match known {
            Some((id, text)) => Ok(TrainingText::new(text).with_id(id)),
            None => Err(LineError::Invalid(DataError::UnknownId {
                path: self.at.path.to_owned(),
                line: self.at.line,
                field: field.to_string(),
                found: excerpt(&id),
            })),
        }
    }

    fn id(&self, field: fmt::Arguments<'_>, value: AttributeValue) -> Result<String, LineError> {
        match value {
            AttributeValue::Text(id) => Ok(id),
            AttributeValue::Int(id) => Ok(id.to_string()),
            other => Err(self.wrong_format(field, "an id", type_name(&other))),
        }
    }

    /// Id in the first of several fields; `parent` precedes the names in errors.
    fn first_id(
        &self,
        members: &mut BTreeMap<String, AttributeValue>,
        names: &[&str],
        parent: fmt::Arguments<'_>,
    ) -> Result<Option<String>, LineError> {
        let mut values = names.iter().map(|name| (name, members.remove(*name)));
        match values.find_map(|(name, value)| Some((name, value?))) {
            Some((name, value)) => Ok(Some(self.id(format_args!("{parent}{name}"), value)?)),
            None => Ok(None),
        }
    }

    fn wrong_type(&self, field: &str, expected: &'static str, found: &'static str) -> DataError {
        self.at.wrong_type(format!("{field:?}"), expected, found)
    }

    fn wrong_format(
        &self,
        field: impl fmt::Display,
        expected: &'static str,
        found: &'static str,
    ) -> LineError {
        LineError::Format(self.wrong_type(&field.to_string(), expected, found))
    }

    /// Error of a line without a field, which makes the example invalid.
    fn without(&self, field: &str, line: &str) -> LineError {
        let members = parse_object(line, self.at).unwrap_or_default();
        LineError::Invalid(DataError::MissingField {
            path: self.at.path.to_owned(),
            line: self.at.line,
            field: field.to_owned(),
            found: (members.keys().take(NAMED_FIELDS).map(|name| excerpt(name))).collect(),
        })
    }
}
