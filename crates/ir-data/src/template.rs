use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use ir_core::{AttributeValue, Corpus, Document};

use crate::error::DataError;

/// Template of the text that an encoder receives for a document, for example `{title} {text}`.
///
/// `{id}`, `{title}` and `{text}` are fields of the document; any other name is an attribute. Items
/// of a list are joined by `, `. Missing fields are empty. Leading and trailing white space is
/// removed. `{{` and `}}` are literal braces.
///
/// ```
/// use ir_core::Document;
/// use ir_data::DocTemplate;
/// let doc = Document::new("d1").with_title("A survey").with_text("Penn Treebank");
/// assert_eq!(DocTemplate::default().render(&doc), "A survey Penn Treebank");
/// let template: DocTemplate = "{text} [SEP] {title}".parse()?;
/// assert_eq!(template.render(&doc), "Penn Treebank [SEP] A survey");
/// assert_eq!(template.render(&Document::new("d2").with_text("SQuAD")), "SQuAD [SEP]");
/// # Ok::<(), ir_data::TemplateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocTemplate(Vec<TemplatePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Id,
    Title,
    Text,
    Attribute(String),
}

impl Default for DocTemplate {
    /// `{title} {text}`, as for the encoders of BEIR and Tevatron.
    fn default() -> Self {
        Self(vec![
            TemplatePart::Title,
            TemplatePart::Literal(" ".to_owned()),
            TemplatePart::Text,
        ])
    }
}

impl DocTemplate {
    /// Template `{text}`.
    #[must_use]
    pub fn text_only() -> Self {
        Self(vec![TemplatePart::Text])
    }

    /// Renders the template for a document.
    #[must_use]
    pub fn render(&self, doc: &Document) -> String {
        let mut out = String::with_capacity(doc.title.len() + doc.text.len() + 16);
        for part in &self.0 {
            match part {
                TemplatePart::Literal(text) => out.push_str(text),
                TemplatePart::Id => out.push_str(&doc.id),
                TemplatePart::Title => out.push_str(&doc.title),
                TemplatePart::Text => out.push_str(&doc.text),
                TemplatePart::Attribute(name) => {
                    if let Some(value) = doc.attributes.get(name) {
                        push_value(value, &mut out);
                    }
                }
            }
        }
        let kept = out.trim_end().len();
        out.truncate(kept);
        let before = out.len() - out.trim_start().len();
        out.drain(..before);
        out
    }

    /// Returns the names of the attributes in the template: all fields except `id`, `title` and
    /// `text`.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            TemplatePart::Attribute(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

/// Maximum number of fields that [`DataError::TemplateField`] lists.
const MAX_LISTED: usize = 30;

impl DocTemplate {
    /// Checks that the template is not empty for all documents of a corpus because of a misspelled
    /// field. Reads documents until every attribute has occurred, usually one document.
    ///
    /// # Errors
    /// [`DataError::TemplateField`] if no document has one of the attributes, or none of the
    /// fields. The corpus cannot be read.
    pub fn check(&self, corpus: &dyn Corpus) -> Result<(), DataError> {
        let fields: BTreeSet<&str> = self.0.iter().filter_map(TemplatePart::field).collect();
        let mut missing = fields.clone();
        let mut known = BTreeSet::new();
        let mut reader = corpus.open()?;
        let mut doc = Document::default();
        let mut empty = true;
        while reader.read(&mut doc)? {
            empty = false;
            let standard = [("id", &doc.id), ("title", &doc.title), ("text", &doc.text)];
            let standard = standard.into_iter().filter(|(_, value)| !value.is_empty());
            let attributes = doc.attributes.iter().map(|(name, _)| name);
            for name in standard.map(|(name, _)| name).chain(attributes) {
                missing.remove(name);
                if known.len() < MAX_LISTED && !known.contains(name) {
                    known.insert(name.to_owned());
                }
            }
            let attributes = missing.iter().filter(|name| !STANDARD.contains(name));
            if missing.len() < fields.len() && attributes.count() == 0 {
                return Ok(());
            }
        }
        let attribute = missing.iter().find(|name| !STANDARD.contains(name));
        match attribute.or(missing.first()) {
            Some(field) if !empty => Err(DataError::TemplateField {
                template: self.to_string(),
                field: (*field).to_owned(),
                known: known.into_iter().collect(),
            }),
            _ => Ok(()),
        }
    }
}

/// Fields that every document has, though they may be empty.
const STANDARD: [&str; 3] = ["id", "title", "text"];

impl TemplatePart {
    /// Name of the field; `None` for literal text.
    fn field(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Id => Some("id"),
            Self::Title => Some("title"),
            Self::Text => Some("text"),
            Self::Attribute(name) => Some(name),
        }
    }
}

fn push_value(value: &AttributeValue, out: &mut String) {
    match value {
        AttributeValue::Bool(truth) => out.push_str(&truth.to_string()),
        AttributeValue::Int(number) => out.push_str(&number.to_string()),
        AttributeValue::Float(number) => out.push_str(&number.to_string()),
        AttributeValue::Text(text) => out.push_str(text),
        AttributeValue::List(values) => push_joined(values.iter(), out),
        AttributeValue::Map(members) => push_joined(members.values(), out),
    }
}

fn push_joined<'a>(values: impl Iterator<Item = &'a AttributeValue>, out: &mut String) {
    for (n, value) in values.enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        push_value(value, out);
    }
}

/// Error parsing a [`DocTemplate`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TemplateError {
    /// An unmatched brace. `at` is its byte position from 0.
    #[error("expected a name in braces or a double brace at byte {at} of {template:?}")]
    Brace { template: String, at: usize },
    /// The template refers to no field of a document.
    #[error("expected a field of a document such as {{text}}, found none in {template:?}")]
    NoField { template: String },
}

impl FromStr for DocTemplate {
    type Err = TemplateError;

    fn from_str(template: &str) -> Result<Self, TemplateError> {
        let brace = |at| TemplateError::Brace {
            template: template.to_owned(),
            at,
        };
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(next) = template[at..].find(['{', '}']) {
            plain.push_str(&template[at..at + next]);
            at += next;
            let rest = &template[at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                plain.push_str(&rest[..1]);
                at += 2;
                continue;
            }
            let name = rest
                .strip_prefix('{')
                .and_then(|rest| rest.split_once('}'))
                .map(|(name, _)| name)
                .filter(|name| !name.is_empty() && !name.contains('{'))
                .ok_or_else(|| brace(at))?;
            if !plain.is_empty() {
                parts.push(TemplatePart::Literal(std::mem::take(&mut plain)));
            }
            parts.push(match name {
                "id" => TemplatePart::Id,
                "title" => TemplatePart::Title,
                "text" => TemplatePart::Text,
                name => TemplatePart::Attribute(name.to_owned()),
            });
            at += name.len() + 2;
        }
        plain.push_str(&template[at..]);
        if parts.is_empty() {
            return Err(TemplateError::NoField {
                template: template.to_owned(),
            });
        }
        if !plain.is_empty() {
            parts.push(TemplatePart::Literal(plain));
        }
        Ok(Self(parts))
    }
}

impl fmt::Display for DocTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                TemplatePart::Literal(text) => {
                    f.write_str(&text.replace('{', "{{").replace('}', "}}"))?;
                }
                field => write!(f, "{{{}}}", field.field().unwrap_or_default())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_braces() {
        let mut doc = Document::new("d").with_text(" body ");
        doc.attributes.set("year", 2017_i64);
        doc.attributes.set("variants", vec!["a", "b"]);
        let render = |template: &str| template.parse::<DocTemplate>().unwrap().render(&doc);
        assert_eq!(render("{id}: {text}"), "d:  body");
        assert_eq!(render("{title} {text}"), "body");
        assert_eq!(render("{{{year}}} {variants} {none}"), "{2017} a, b");
        for template in ["{title} {text}", "a{{{id}}}b", "{text} [SEP] {title}"] {
            let read: DocTemplate = template.parse().unwrap();
            assert_eq!(read.to_string(), template);
        }
        assert_eq!(DocTemplate::default().to_string(), "{title} {text}");
    }

    #[test]
    fn misspelled_fields() {
        let first = Document::new("a").with_text("tea").with("kind", "drink");
        let corpus = vec![first, Document::new("b").with("year", 2012_i64)];
        let check = |template: &str| template.parse::<DocTemplate>().unwrap().check(&corpus);
        for present in ["{title} {text}", "{id}", "{kind} {year}", "{title}{year}"] {
            check(present).unwrap();
        }
        for (template, misspelled) in [
            ("{titel}", "titel"),
            ("{text} [SEP] {titel}", "titel"),
            // Every text would be empty.
            ("{title}", "title"),
        ] {
            let error = check(template).unwrap_err().to_string();
            let expected = format!(
                "expected fields of the documents (id, kind, text, year) in the template {template:?}, found {misspelled:?}"
            );
            assert_eq!(error, expected);
        }
        let none: Vec<Document> = Vec::new();
        "{titel}"
            .parse::<DocTemplate>()
            .unwrap()
            .check(&none)
            .unwrap();
    }

    #[test]
    fn invalid_templates() {
        for (template, at) in [("{text", 0), ("a }", 2), ("{}", 0), ("{a{b}}", 0)] {
            let error = template.parse::<DocTemplate>().unwrap_err();
            let template = template.to_owned();
            assert_eq!(error, TemplateError::Brace { template, at });
        }
        let error = "text".parse::<DocTemplate>().unwrap_err();
        assert!(error.to_string().contains("such as {text}"), "{error}");
    }
}
