//! One line of a training file.

use std::collections::BTreeMap;
use std::sync::Arc;

use ir_core::{ExampleFault, TrainingExample, TrainingText, Value};

use super::Texts;
use crate::DataError;
use crate::error::excerpt;
use crate::record::{kind_of, object};

/// What is done with a line from which one cannot learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unusable {
    /// An error that names it.
    #[default]
    Refuse,
    /// It is left out, and [`TrainingFile::left_out`](super::TrainingFile::left_out) names it; an
    /// unknown id is left out of its line first.
    LeaveOut,
}

/// How a training file is to be read.
///
/// ```
/// use ir_data::training::TrainingForm;
/// let form = TrainingForm::default().with_query("keyphrase_query");
/// ```
#[derive(Debug, Clone)]
pub struct TrainingForm {
    query: String,
    texts: Option<Arc<Texts>>,
    unusable: Unusable,
}

impl Default for TrainingForm {
    fn default() -> Self {
        Self {
            query: "query".to_owned(),
            texts: None,
            unusable: Unusable::default(),
        }
    }
}

impl TrainingForm {
    /// With the query in another field: DataFinder's keyphrases are in `keyphrase_query`.
    #[must_use]
    pub fn with_query(mut self, field: impl Into<String>) -> Self {
        self.query = field.into();
        self
    }

    /// With positives and negatives that are ids, whose texts are these.
    #[must_use]
    pub fn with_texts(mut self, texts: impl Into<Arc<Texts>>) -> Self {
        self.texts = Some(texts.into());
        self
    }

    /// With this treatment of lines from which one cannot learn.
    #[must_use]
    pub const fn with_unusable(mut self, unusable: Unusable) -> Self {
        self.unusable = unusable;
        self
    }

    /// Reads a line. What is left out of it, or the line itself (then there is no example), is
    /// told to `left_out`.
    pub(super) fn read(
        &self,
        text: &str,
        path: &str,
        line: u64,
        left_out: &mut Vec<DataError>,
    ) -> Result<Option<TrainingExample>, DataError> {
        let mut reader = Reader {
            form: self,
            path,
            line,
            left_out,
        };
        match reader.example(text) {
            Ok(example) => Ok(Some(example)),
            Err(Fault::Format(error)) => Err(error),
            Err(Fault::Unusable(error)) if self.unusable == Unusable::Refuse => Err(error),
            Err(Fault::Unusable(error)) => {
                reader.left_out.push(error);
                Ok(None)
            }
        }
    }
}

/// What can be wrong with a line.
enum Fault {
    /// It is not of the form: always an error.
    Format(DataError),
    /// One cannot learn from it: [`Unusable`] says what becomes of it.
    Unusable(DataError),
}

struct Reader<'a> {
    form: &'a TrainingForm,
    path: &'a str,
    line: u64,
    left_out: &'a mut Vec<DataError>,
}

/// The fields that hold the same in the forms.
const IDS: [&str; 4] = ["query_id", "id", "_id", "n"];
const POSITIVES: [&str; 2] = ["positive_passages", "positives"];
const NEGATIVES: [&str; 2] = ["negative_passages", "negatives"];
const TEXT_IDS: [&str; 3] = ["docid", "id", "_id"];

impl Reader<'_> {
    fn example(&mut self, text: &str) -> Result<TrainingExample, Fault> {
        let mut members = object(text, self.path, self.line).map_err(Fault::Format)?;
        let field = self.form.query.as_str();
        let query = match members.remove(field) {
            Some(Value::Text(query)) => query,
            Some(other) => return Err(self.kind(field, "a text", kind_of(&other))),
            None => return Err(self.without(field)),
        };
        let mut query_id = None;
        for name in IDS {
            if let Some(value) = members.remove(name) {
                query_id = Some(self.id(name, value)?);
                break;
            }
        }
        let (positive_field, positives) = self.texts(&mut members, POSITIVES)?;
        let positive_field = positive_field.ok_or_else(|| self.without(POSITIVES[1]))?;
        let (negative_field, negatives) = self.texts(&mut members, NEGATIVES)?;
        // A list that would be overlooked.
        let lists = ["positive", "negative"];
        let unknown = members
            .keys()
            .find(|name| lists.iter().any(|list| name.starts_with(list)));
        if let Some(unknown) = unknown {
            return Err(Fault::Format(DataError::Syntax {
                path: self.path.to_owned(),
                line: self.line,
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
        let fault = match example.check() {
            Ok(()) => return Ok(example),
            Err(fault) => fault,
        };
        let kind = |field: &str, expected, found| self.fault(field, expected, found);
        Err(Fault::Unusable(match fault {
            ExampleFault::EmptyQuery => kind(field, "a query", "an empty text"),
            ExampleFault::NoPositives => kind(positive_field, "at least one text", "none"),
            ExampleFault::EmptyPositive { positive } => {
                let field = format!("{positive_field}[{positive}]");
                kind(&field, "a text", "an empty text")
            }
            ExampleFault::PositiveIsNegative { positive, negative } => {
                let text = &example.negatives[negative];
                DataError::PositiveIsNegative {
                    path: self.path.to_owned(),
                    line: self.line,
                    positive: format!("{positive_field}[{positive}]"),
                    negative: format!("{}[{negative}]", negative_field.unwrap_or(NEGATIVES[1])),
                    found: excerpt(text.id.as_ref().unwrap_or(&text.text)),
                }
            }
            other => DataError::Example {
                path: self.path.to_owned(),
                line: self.line,
                fault: other,
            },
        }))
    }

    /// The texts of a list, and the name that it has in this line.
    fn texts(
        &mut self,
        members: &mut BTreeMap<String, Value>,
        names: [&'static str; 2],
    ) -> Result<(Option<&'static str>, Vec<TrainingText>), Fault> {
        let mut found = None;
        for name in names {
            if let Some(value) = members.remove(name) {
                if let Some((first, _)) = found {
                    let both = "one list of positives and one of negatives";
                    return Err(Fault::Format(DataError::Syntax {
                        path: self.path.to_owned(),
                        line: self.line,
                        expected: both,
                        found: format!("{first} and {name}"),
                    }));
                }
                found = Some((name, value));
            }
        }
        let Some((name, value)) = found else {
            return Ok((None, Vec::new()));
        };
        let Value::List(values) = value else {
            return Err(self.kind(name, "a list of texts", kind_of(&value)));
        };
        let mut texts = Vec::with_capacity(values.len());
        for (n, value) in values.into_iter().enumerate() {
            match self.text(&format!("{name}[{n}]"), value) {
                Ok(text) => texts.push(text),
                Err(Fault::Unusable(error)) if self.form.unusable == Unusable::LeaveOut => {
                    self.left_out.push(error);
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok((Some(name), texts))
    }

    fn text(&self, field: &str, value: Value) -> Result<TrainingText, Fault> {
        let mut members = match value {
            Value::Text(text) if self.form.texts.is_none() => return Ok(TrainingText::new(text)),
            Value::Text(_) | Value::Int(_) => return self.by_id(self.id(field, value)?, field),
            Value::Map(members) => members,
            other => return Err(self.kind(field, "a text or an object", kind_of(&other))),
        };
        let mut part = |name: &str| match members.remove(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => {
                let field = format!("{field}.{name}");
                Err(self.kind(&field, "a text", kind_of(&other)))
            }
        };
        let (title, text) = (part("title")?, part("text")?);
        let score = match members.remove("score") {
            None => None,
            Some(Value::Float(score)) => Some(score as f32),
            Some(Value::Int(score)) => Some(score as f32),
            Some(other) => {
                let field = format!("{field}.score");
                return Err(self.kind(&field, "a number", kind_of(&other)));
            }
        };
        let mut id = None;
        for name in TEXT_IDS {
            if let Some(value) = members.remove(name) {
                id = Some(self.id(&format!("{field}.{name}"), value)?);
                break;
            }
        }
        let mut of = match (text, id) {
            (Some(text), id) => TrainingText {
                id: id.filter(|id| !id.is_empty()),
                text: match title.filter(|title| !title.trim().is_empty()) {
                    Some(title) => format!("{title} {text}"),
                    None => text,
                },
                score: None,
            },
            (None, Some(id)) if self.form.texts.is_some() => self.by_id(id, field)?,
            (None, _) => return Err(self.missing(&format!("{field}.text"))),
        };
        of.score = score;
        Ok(of)
    }

    fn by_id(&self, id: String, field: &str) -> Result<TrainingText, Fault> {
        let known = self.form.texts.as_ref().and_then(|texts| texts.get(&id));
        match known {
            Some((id, text)) => Ok(TrainingText::new(text).with_id(id)),
            None => Err(Fault::Unusable(DataError::UnknownId {
                path: self.path.to_owned(),
                line: self.line,
                field: field.to_owned(),
                found: excerpt(&id),
            })),
        }
    }

    fn id(&self, field: &str, value: Value) -> Result<String, Fault> {
        match value {
            Value::Text(id) => Ok(id),
            Value::Int(id) => Ok(id.to_string()),
            other => Err(self.kind(field, "an id", kind_of(&other))),
        }
    }

    fn fault(&self, field: &str, expected: &'static str, found: &'static str) -> DataError {
        DataError::Kind {
            path: self.path.to_owned(),
            line: self.line,
            field: format!("{field:?}"),
            expected,
            found,
        }
    }

    fn kind(&self, field: &str, expected: &'static str, found: &'static str) -> Fault {
        Fault::Format(self.fault(field, expected, found))
    }

    fn missing(&self, field: &str) -> Fault {
        match self.without(field) {
            Fault::Unusable(error) | Fault::Format(error) => Fault::Format(error),
        }
    }

    /// A field without which one cannot learn.
    fn without(&self, field: &str) -> Fault {
        Fault::Unusable(DataError::MissingField {
            path: self.path.to_owned(),
            line: self.line,
            field: field.to_owned(),
        })
    }
}
