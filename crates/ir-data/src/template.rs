//! Which parts of a document make up the text that is encoded or learnt from.

use std::fmt;
use std::str::FromStr;

use ir_core::{Document, Value};

/// A text with the names of a document's parts in braces: `{title} {text}`.
///
/// `{id}`, `{title}` and `{text}` are the document's own; any other name is that of an attribute
/// (a list is joined by commas). What a document lacks is nothing, and white space at either end
/// goes away. `{{` and `}}` stand for braces.
///
/// ```
/// use ir_core::Document;
/// use ir_data::DocTemplate;
/// let doc = Document::new("d1").with_title("A survey").with_text("Penn Treebank");
/// assert_eq!(DocTemplate::default().of(&doc), "A survey Penn Treebank");
/// let template: DocTemplate = "{text} [SEP] {title}".parse()?;
/// assert_eq!(template.of(&doc), "Penn Treebank [SEP] A survey");
/// assert_eq!(template.of(&Document::new("d2").with_text("SQuAD")), "SQuAD [SEP]");
/// # Ok::<(), ir_data::TemplateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocTemplate(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Plain(String),
    Id,
    Title,
    Text,
    Attribute(String),
}

impl Default for DocTemplate {
    /// `{title} {text}`, as BEIR's and Tevatron's encoders have it.
    fn default() -> Self {
        Self(vec![Part::Title, Part::Plain(" ".to_owned()), Part::Text])
    }
}

impl DocTemplate {
    /// The text alone: `{text}`.
    #[must_use]
    pub fn text() -> Self {
        Self(vec![Part::Text])
    }

    /// The text of a document.
    #[must_use]
    pub fn of(&self, doc: &Document) -> String {
        let mut out = String::with_capacity(doc.title.len() + doc.text.len() + 16);
        for part in &self.0 {
            match part {
                Part::Plain(text) => out.push_str(text),
                Part::Id => out.push_str(&doc.id),
                Part::Title => out.push_str(&doc.title),
                Part::Text => out.push_str(&doc.text),
                Part::Attribute(name) => {
                    if let Some(value) = doc.attributes.get(name) {
                        push(value, &mut out);
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
}

fn push(value: &Value, out: &mut String) {
    match value {
        Value::Bool(truth) => out.push_str(&truth.to_string()),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&number.to_string()),
        Value::Text(text) => out.push_str(text),
        Value::List(values) => {
            for (n, value) in values.iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                push(value, out);
            }
        }
        Value::Map(members) => {
            for (n, value) in members.values().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                push(value, out);
            }
        }
    }
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A brace that stands alone.
    #[error("expected a name between braces, or a double brace, at byte {at} of {template:?}")]
    Brace {
        /// The template.
        template: String,
        /// Where the brace is, from 0.
        at: usize,
    },
    /// No part of a document.
    #[error("expected a part of a document such as {{text}}, found none in {template:?}")]
    NoPart {
        /// The template.
        template: String,
    },
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
                parts.push(Part::Plain(std::mem::take(&mut plain)));
            }
            parts.push(match name {
                "id" => Part::Id,
                "title" => Part::Title,
                "text" => Part::Text,
                name => Part::Attribute(name.to_owned()),
            });
            at += name.len() + 2;
        }
        plain.push_str(&template[at..]);
        if parts.is_empty() {
            return Err(TemplateError::NoPart {
                template: template.to_owned(),
            });
        }
        if !plain.is_empty() {
            parts.push(Part::Plain(plain));
        }
        Ok(Self(parts))
    }
}

impl fmt::Display for DocTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Plain(text) => {
                    f.write_str(&text.replace('{', "{{").replace('}', "}}"))?;
                }
                Part::Id => f.write_str("{id}")?,
                Part::Title => f.write_str("{title}")?,
                Part::Text => f.write_str("{text}")?,
                Part::Attribute(name) => write!(f, "{{{name}}}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_braces() {
        let mut doc = Document::new("d").with_text(" body ");
        doc.attributes.set("year", 2017_i64);
        doc.attributes.set("variants", vec!["a", "b"]);
        let of = |template: &str| template.parse::<DocTemplate>().unwrap().of(&doc);
        assert_eq!(of("{id}: {text}"), "d:  body");
        assert_eq!(of("{title} {text}"), "body");
        assert_eq!(of("{{{year}}} {variants} {none}"), "{2017} a, b");
        for template in ["{title} {text}", "a{{{id}}}b", "{text} [SEP] {title}"] {
            let read: DocTemplate = template.parse().unwrap();
            assert_eq!(read.to_string(), template);
        }
        assert_eq!(DocTemplate::default().to_string(), "{title} {text}");
    }

    #[test]
    fn what_is_no_template() {
        for (template, at) in [("{text", 0), ("a }", 2), ("{}", 0), ("{a{b}}", 0)] {
            let error = template.parse::<DocTemplate>().unwrap_err();
            let template = template.to_owned();
            assert_eq!(error, TemplateError::Brace { template, at });
        }
        let error = "text".parse::<DocTemplate>().unwrap_err();
        assert!(error.to_string().contains("such as {text}"), "{error}");
    }
}
