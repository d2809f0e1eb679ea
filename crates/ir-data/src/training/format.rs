use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ir_core::AttributeValue;
use ir_core::training::{InvalidExample, TrainingExample, TrainingText};

use super::DocumentTexts;
use crate::error::{DataError, Location};
use crate::json::{alternatives, parse_object, type_name};
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
            query_field: QUERIES[0].to_owned(),
            texts: None,
            invalid: OnInvalidExample::default(),
        }
    }
}

impl TrainingFormat {
    /// Field of the query, for example `keyphrase_query` for DataFinder's keyphrases. Default:
    /// `query`, or `anchor` if there is none.
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

/// Equivalent field names of the formats. The last of the queries, positives and negatives is a
/// column of data sets of sentence-transformers, with one text.
const QUERIES: [&str; 2] = ["query", "anchor"];
const IDS: [&str; 4] = ["query_id", "id", "_id", "n"];
const POSITIVES: [&str; 3] = ["positives", "positive_passages", "positive"];
const NEGATIVES: [&str; 3] = ["negatives", "negative_passages", "negative"];
/// Maximum number of fields that an error names.
const NAMED_FIELDS: usize = 10;
const TEXT_IDS: [&str; 3] = ["docid", "id", "_id"];

impl LineParser<'_> {
    fn example(&mut self, text: &str) -> Result<TrainingExample, LineError> {
        let mut members = parse_object(text, self.at)?;
        let one = [self.format.query_field.as_str()];
        let fields: &[&str] = if one == [QUERIES[0]] { &QUERIES } else { &one };
        let found = fields
            .iter()
            .find_map(|field| Some((*field, members.remove(*field)?)));
        let (field, query) = match found {
            Some((field, AttributeValue::Text(query))) => (field, query),
            Some((field, other)) => {
                return Err(self.wrong_format(field, "a string", type_name(&other)));
            }
            None => return Err(self.without(fields, text)),
        };
        let query_id = self.first_id(&mut members, &IDS, format_args!(""))?;
        let (positive_field, positives) = self.texts(&mut members, POSITIVES)?;
        let positive_field = positive_field.ok_or_else(|| self.without(&POSITIVES, text))?;
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
                expected: "fields named positives and negatives, positive_passages and negative_passages, or positive and negative",
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
                let field = element(positive_field, positive);
                wrong_type(&field, "a string", "an empty string")
            }
            InvalidExample::PositiveIsNegative { positive, negative } => {
                let text = &example.negatives[negative];
                DataError::PositiveIsNegative {
                    path: self.at.path.to_owned(),
                    line: self.at.line,
                    positive: element(positive_field, positive),
                    negative: element(negative_field.unwrap_or(NEGATIVES[0]), negative),
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

    /// Texts of a list, or of a column with one text, and the name of the field.
    fn texts(
        &mut self,
        members: &mut BTreeMap<String, AttributeValue>,
        names: [&'static str; 3],
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
        let values = match value {
            AttributeValue::Text(text) if is_column(name) => {
                return Ok((Some(name), vec![TrainingText::new(text)]));
            }
            other if is_column(name) => {
                return Err(self.wrong_format(name, "a string", type_name(&other)));
            }
            AttributeValue::List(values) => values,
            other => {
                return Err(self.wrong_format(name, "an array of strings", type_name(&other)));
            }
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

    /// Error of a line with none of the fields, which makes the example invalid.
    fn without(&self, fields: &[&str], line: &str) -> LineError {
        let members = parse_object(line, self.at).unwrap_or_default();
        let found: Vec<String> = members.keys().map(|name| excerpt(name)).collect();
        LineError::Invalid(match fields {
            [field] => {
                let found = found.into_iter().take(NAMED_FIELDS);
                self.at.missing_field_beside(field, found.collect())
            }
            fields => DataError::FieldNames {
                path: self.at.path.to_owned(),
                line: self.at.line,
                expected: format!("a field {}", alternatives(fields)),
                found,
            },
        })
    }
}

/// Returns `true` for a column of sentence-transformers, which has one text.
fn is_column(name: &str) -> bool {
    [POSITIVES[2], NEGATIVES[2]].contains(&name)
}

/// Name of a text in a field.
fn element(field: &str, position: usize) -> String {
    if is_column(field) {
        field.to_owned()
    } else {
        format!("{field}[{position}]")
    }
}
