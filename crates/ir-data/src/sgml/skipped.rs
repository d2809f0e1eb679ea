//! Elements of TREC files that are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use super::markup::{Token, is_self_closing, tokens};
use super::records::RecordReader;
use super::topics::{TOPICS, is_read};
use super::{DOCUMENTS, MAX_DEPTH, Section, section};
use crate::compression::open;
use crate::error::{DataError, name_of};
use crate::json::RecordKind;
use crate::text_encoding::TextEncoding;

/// Names of the elements with a text that is not read, such as `<GRAPHIC>`, and `comments` and
/// `scripts and style sheets`, each with the number of documents or topics that have it.
///
/// ```
/// use ir_data::{RecordKind, TextEncoding, sgml};
/// let path = std::env::temp_dir().join(format!("ir-data-skipped-{}", std::process::id()));
/// let docs = "<DOC>\n<DOCNO>1</DOCNO>\n<GRAPHIC>map</GRAPHIC>\n<TEXT>tea</TEXT>\n</DOC>\n";
/// std::fs::write(&path, docs)?;
/// let found = sgml::skipped_elements(&path, TextEncoding::Utf8, RecordKind::Document)?;
/// assert_eq!(found, [("<GRAPHIC>".to_owned(), 1)]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The file cannot be read, or has something else than documents or topics.
pub fn skipped_elements(
    path: impl AsRef<Path>,
    encoding: TextEncoding,
    kind: RecordKind,
) -> Result<Vec<(String, u64)>, DataError> {
    let path = path.as_ref();
    let elements = match kind {
        RecordKind::Document => DOCUMENTS,
        RecordKind::Query => TOPICS,
    };
    let name = name_of(path);
    let reader = encoding.decode_markup(open(path)?, &name)?;
    let mut records = RecordReader::new(reader, &name, elements);
    let mut counts = BTreeMap::<String, u64>::new();
    while records.read()?.is_some() {
        let found = match kind {
            RecordKind::Document => of_document(records.markup()),
            RecordKind::Query => of_topic(records.markup()),
        };
        for name in found {
            *counts.entry(name).or_default() += 1;
        }
    }
    Ok(counts.into_iter().collect())
}

fn of_document(markup: &str) -> BTreeSet<String> {
    let (mut skipped, mut outside) = (BTreeSet::new(), BTreeSet::new());
    let mut open: Vec<&str> = Vec::new();
    let (mut has_text, mut is_page) = (false, false);
    for (range, token) in tokens(markup) {
        match token {
            Token::Open(name, attributes) => {
                is_page |= matches!(section(name, is_page), Some(Section::Skip));
                if !is_self_closing(attributes) && open.len() < MAX_DEPTH {
                    open.push(name);
                }
            }
            Token::Close(name) => {
                let same = |open: &&str| open.eq_ignore_ascii_case(name);
                if let Some(start) = open.iter().rposition(same) {
                    open.truncate(start);
                }
            }
            Token::Skipped => {
                skipped.insert(name_of_skipped(markup, range));
            }
            Token::Text(words) | Token::Verbatim(words) => {
                let mut names = open.iter().rev();
                let found = names.find_map(|name| Some((*name, section(name, is_page)?)));
                has_text |= matches!(found, Some((_, Section::Text)));
                if words.trim().is_empty() {
                    continue;
                }
                match (found, open.last()) {
                    (Some((name, Section::Skip)), _) => {
                        skipped.insert(format!("<{name}>"));
                    }
                    // Read if the document has no element for the text.
                    (None, Some(name)) => {
                        outside.insert(format!("<{name}>"));
                    }
                    _ => {}
                }
            }
        }
    }
    if has_text {
        skipped.append(&mut outside);
    }
    skipped
}

fn of_topic(markup: &str) -> BTreeSet<String> {
    let mut skipped = BTreeSet::new();
    // Open field, and `true` if it is read; otherwise the element that was opened last.
    let mut current: Option<(&str, bool)> = None;
    let mut other: Option<&str> = None;
    for (range, token) in tokens(markup) {
        match token {
            Token::Open(name, attributes) => match is_read(name) {
                Some(is_read) => {
                    let is_open = !is_self_closing(attributes);
                    (current, other) = (is_open.then_some((name, is_read)), None);
                }
                None if current.is_none() => other = Some(name),
                None => {}
            },
            Token::Close(name) if is_read(name).is_some() => (current, other) = (None, None),
            Token::Close(_) => other = None,
            Token::Skipped => {
                skipped.insert(name_of_skipped(markup, range));
            }
            Token::Text(words) | Token::Verbatim(words) => match (current, other) {
                _ if words.trim().is_empty() => {}
                (Some((name, false)), _) | (None, Some(name)) => {
                    skipped.insert(format!("<{name}>"));
                }
                _ => {}
            },
        }
    }
    skipped
}

/// Name of a part that is no element.
fn name_of_skipped(markup: &str, range: Range<usize>) -> String {
    let is_comment = markup[range].starts_with("<!--");
    let name = if is_comment {
        "comments"
    } else {
        "scripts and style sheets"
    };
    name.to_owned()
}
