//! Reader of TREC topics in SGML and XML.

use std::io::BufRead;

use ir_core::Query;

use super::character_references::decoded;
use super::markup::{Token, attribute, is_self_closing, named_attributes, tokens};
use super::records::{RecordElement, RecordElements, RecordReader, append, one_line};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};

pub(super) const TOPICS: RecordElements = RecordElements {
    elements: &[
        RecordElement {
            name: "top",
            close: "</top>",
            root: None,
        },
        RecordElement {
            name: "topic",
            close: "</topic>",
            root: None,
        },
        RecordElement {
            name: "inex_topic",
            close: "</inex_topic>",
            root: None,
        },
        RecordElement {
            name: "query",
            close: "</query>",
            root: Some("queries"),
        },
    ],
    open: "<top>, <topic>, <inex_topic> or <query> below <queries>",
};

/// Field of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Id,
    Title,
    Query,
    Content,
    Question,
    Description,
    Narrative,
    /// Section without a result.
    Skip,
}

/// Number of fields with a result.
const FIELDS: usize = Field::Skip as usize;

/// Names of the attributes of a query, and the labels at the start of TREC's texts.
const LABELS: [(&str, &str); FIELDS] = [
    ("num", "Number:"),
    ("title", "Topic:"),
    ("query", ""),
    ("content", ""),
    ("question", ""),
    ("description", "Description:"),
    ("narrative", "Narrative:"),
];

/// Attributes of a topic that are its id.
const IDS: [&str; 7] = ["number", "num", "id", "qid", "topic_id", "topicid", "q"];
/// Attributes of a topic that are its text.
const TEXTS: [&str; 2] = ["title", "query"];

/// Returns the field of an element; `None` for an element within a field.
fn field(element: &str) -> Option<Field> {
    let name = element.to_ascii_lowercase();
    // `EN-title`, as in topics of CLEF.
    let name = match name.as_bytes() {
        [a, b, b'-', ..] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => &name[3..],
        _ => &name,
    };
    Some(match name {
        "num" | "number" | "id" | "identifier" | "qid" | "topic_id" | "topicid" => Field::Id,
        "title" => Field::Title,
        "query" => Field::Query,
        "content" => Field::Content,
        "question" => Field::Question,
        "desc" | "description" => Field::Description,
        "narr" | "narrative" => Field::Narrative,
        "con" | "conc" | "smry" | "fac" | "def" | "dom" | "head" | "nat" | "time" | "subtopic" => {
            Field::Skip
        }
        _ => return None,
    })
}

fn is_subtopic(name: &str) -> bool {
    name.eq_ignore_ascii_case("subtopic")
}

/// Number of closing tags of subtopics. Without one, a subtopic ends at the next field.
fn closing_subtopics(markup: &str) -> usize {
    let tokens = tokens(markup).map(|(_, token)| token);
    let closing = tokens.filter(|token| matches!(token, Token::Close(name) if is_subtopic(name)));
    closing.count()
}

/// Returns `true` for a field with a result, `false` for a section that is skipped; `None` for
/// another element.
pub(super) fn is_read(element: &str) -> Option<bool> {
    field(element).map(|field| field != Field::Skip)
}

/// Reads all topics as queries; `source` names the reader in errors.
///
/// # Errors
/// The source cannot be read, or a topic does not follow the [format](super): it has no number, two
/// numbers or titles, the number of another topic, or no text.
///
/// ```
/// let text = "<topics>\n<topic number=\"1\">\n<query>origin of tea</query>\n<question>Where \
///             did tea originate?</question>\n</topic>\n</topics>\n";
/// let topics = ir_data::sgml::read_topics(text.as_bytes(), "topics.xml")?;
/// assert_eq!((topics[0].id.as_str(), topics[0].text.as_str()), ("1", "origin of tea"));
/// assert_eq!(topics[0].attributes.text("question"), Some("Where did tea originate?"));
/// # Ok::<(), ir_data::DataError>(())
/// ```
pub fn read_topics(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    read_all(reader, source, None)
}

/// [`read_topics`] with an element or an attribute of the topics as the text: a field of the
/// [format](super), such as `desc` or `narrative`, or any other name. `text` is the usual text if
/// there is no element of this name.
///
/// ```
/// let text = "<topic number=\"1\"><disease>Melanoma</disease><gene>BRAF</gene></topic>";
/// let topics = ir_data::sgml::read_topics_by_field(text.as_bytes(), "topics.xml", "disease")?;
/// assert_eq!(topics[0].text, "Melanoma");
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// Returns the errors of [`read_topics`], and an error if a topic has no text of this name.
pub fn read_topics_by_field(
    reader: impl BufRead,
    source: &str,
    name: &str,
) -> Result<Vec<Query>, DataError> {
    read_all(reader, source, Some(name))
}

fn read_all(
    reader: impl BufRead,
    source: &str,
    wanted: Option<&str>,
) -> Result<Vec<Query>, DataError> {
    let mut records = RecordReader::new(reader, source, TOPICS);
    let mut seen = DuplicateFinder::default();
    let mut queries = Vec::new();
    while let Some(line) = records.read()? {
        let query = topic(&records, line, wanted)?;
        seen.add_id(&query.id, Location::new(source, line))?;
        queries.push(query);
    }
    Ok(queries)
}

/// Text of an element that is no field, up to its closing tag or the next field.
fn element_text(markup: &str, name: &str) -> String {
    let mut text = String::new();
    let (mut is_inside, mut after_tag) = (false, false);
    for (_, token) in tokens(markup) {
        match token {
            Token::Open(found, attributes) if found.eq_ignore_ascii_case(name) => {
                is_inside = !is_self_closing(attributes);
            }
            Token::Close(found) if found.eq_ignore_ascii_case(name) => is_inside = false,
            Token::Open(found, _) | Token::Close(found) if field(found).is_some() => {
                is_inside = false;
            }
            Token::Text(words) if is_inside => append(&mut text, &decoded(words), after_tag),
            Token::Verbatim(words) if is_inside => append(&mut text, words, after_tag),
            _ => {}
        }
        after_tag = !matches!(token, Token::Text(_) | Token::Verbatim(_));
    }
    one_line(&text)
}

/// Names of the attributes and of the elements of the current record.
fn names<R: BufRead>(records: &RecordReader<R>) -> Vec<String> {
    let attributes = named_attributes(&records.attributes).map(|(name, _)| name);
    let elements = tokens(records.markup()).filter_map(|(_, token)| match token {
        Token::Open(name, _) => Some(name),
        _ => None,
    });
    let mut names: Vec<String> = Vec::new();
    for name in attributes.chain(elements) {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Query of the current record, which starts on a line. `wanted` names the text.
fn topic<R: BufRead>(
    records: &RecordReader<R>,
    line: u64,
    wanted: Option<&str>,
) -> Result<Query, DataError> {
    let at = Location::new(&records.source, line);
    let mut fields = [const { String::new() }; FIELDS];
    let mut other = String::new();
    let (mut current, mut has_field) = (None, false);
    let mut unknown: Vec<&str> = Vec::new();
    let mut starts = [None; 2];
    let mut after_tag = false;
    // Subtopics that are open, and closing tags of subtopics that follow.
    let (mut depth, mut closing) = (0, closing_subtopics(records.markup()));
    for (range, token) in tokens(records.markup()) {
        match token {
            Token::Open(name, attributes)
                if is_subtopic(name) && !is_self_closing(attributes) && depth < closing =>
            {
                (current, depth) = (None, depth + 1);
            }
            Token::Close(name) if is_subtopic(name) => {
                (current, depth) = (None, usize::saturating_sub(depth, 1));
                closing -= 1;
            }
            // A subtopic has texts and an id of its own.
            _ if depth > 0 => {}
            Token::Open(name, _) | Token::Close(name) if field(name).is_some() => {
                let is_open = |token: Token<'_>| match token {
                    Token::Open(_, attributes) => !is_self_closing(attributes),
                    _ => false,
                };
                current = field(name).filter(|_| is_open(token));
                has_field |= current.is_some_and(|field| field != Field::Id);
                if let Some(field @ (Field::Id | Field::Title)) = current {
                    let at = records.location(range.start);
                    if starts[field as usize].replace(at).is_some() {
                        return Err(at.repeated_field(LABELS[field as usize].0));
                    }
                }
            }
            Token::Open(name, _) => {
                if current.is_none() && !unknown.contains(&name) {
                    unknown.push(name);
                }
            }
            Token::Close(_) | Token::Skipped => {}
            Token::Text(words) | Token::Verbatim(words) => {
                let target = match current {
                    None => &mut other,
                    Some(Field::Skip) => continue,
                    Some(field) => &mut fields[field as usize],
                };
                match token {
                    Token::Text(_) => append(target, &decoded(words), after_tag),
                    _ => append(target, words, after_tag),
                }
            }
        }
        after_tag = !matches!(token, Token::Text(_) | Token::Verbatim(_));
    }
    let is_numbered = one_line(&fields[0]).starts_with(LABELS[0].1);
    let mut values = fields.iter().zip(LABELS).map(|(text, (_, label))| {
        let text = one_line(text);
        match text.strip_prefix(label) {
            Some(rest) => rest.trim_start().to_owned(),
            None => text,
        }
    });
    let mut values: [String; FIELDS] = std::array::from_fn(|_| values.next().unwrap_or_default());
    let of_attributes = |names: &[&str]| {
        let mut values = names
            .iter()
            .filter_map(|name| attribute(&records.attributes, name));
        let value = values.next().map(|value| one_line(&decoded(value)));
        value.unwrap_or_default()
    };
    if starts[0].is_none() {
        values[0] = of_attributes(&IDS);
    }
    let [id, texts @ ..] = &values;
    // TREC's qrels have 51 for `Number: 051`; in other tracks, qrels have the ids of the topics.
    let is_number = is_numbered && id.bytes().all(|byte| byte.is_ascii_digit());
    let id = match id.trim_start_matches('0') {
        number if is_number && !number.is_empty() => number,
        _ => id.as_str(),
    };
    if id.is_empty() {
        return Err(at.missing_field_beside("num", names(records)));
    }
    if id.contains(' ') {
        let at = starts[0].unwrap_or(at);
        return Err(at.syntax("an id without white space in <num>", id));
    }
    let [title, query, content, question, description, _] = texts;
    let texts = [title, query, content, question, description];
    let text = texts.into_iter().find(|text| !text.is_empty());
    let named = wanted.map(|name| {
        let of_element = match field(name).map(|field| field as usize) {
            Some(field @ ..FIELDS) => values[field].clone(),
            _ => element_text(records.markup(), name),
        };
        if of_element.is_empty() {
            of_attributes(&[name])
        } else {
            of_element
        }
    });
    let named = named.filter(|text| !text.is_empty() || wanted != Some("text"));
    let text = match named.as_ref().or(text) {
        Some(text) => text.clone(),
        None if !has_field && unknown.is_empty() => Some(one_line(&other))
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| of_attributes(&TEXTS)),
        None => String::new(),
    };
    if text.is_empty() {
        let fields = LABELS.into_iter().zip(&values).skip(1);
        let fields = fields.filter(|(_, value)| !value.is_empty());
        let found = fields.map(|((name, _), _)| name).chain(unknown);
        let found = found.map(str::to_owned).collect();
        return Err(at.missing_field_beside(wanted.unwrap_or("title"), found));
    }
    // A query or content that is the text is no attribute.
    let skipped = if !title.is_empty() {
        ""
    } else if query.is_empty() {
        "content"
    } else {
        "query"
    };
    let mut found = Query::new(id, text);
    for ((name, _), value) in LABELS.into_iter().zip(&values).skip(2) {
        if !value.is_empty() && name != skipped {
            found.attributes.set(name, value.as_str());
        }
    }
    Ok(found)
}
