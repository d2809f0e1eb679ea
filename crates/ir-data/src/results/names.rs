use std::collections::HashMap;
use std::io::BufRead;

use ir_core::{AttributeValue, Document};

use crate::datafinder::{NAME, underscored};
use crate::error::{DataError, Location};
use crate::lines::LineReader;

/// Documents by id, name, variant of the name, and URL.
///
/// Names are compared without regard to case and white space, and URLs without scheme, `www.`,
/// query, fragment and final `/`. Sources of names, by priority: [`DocNames::read_map`], ids, the
/// attribute `name`, titles, the attribute `variants`. A name that several documents have by the
/// same source is ambiguous and has no document. The page of a name in a list of datasets, as in
/// Papers with Code and Hugging Face (`https://…/dataset/penn-treebank`, `…/datasets/…`), is a URL
/// of the document.
#[derive(Debug, Default)]
pub struct DocNames {
    ids: Vec<String>,
    years: Vec<Option<i64>>,
    numbers: HashMap<String, usize>,
    /// Document by key of a name or URL, with the priority of its source (0 is first); `None` if
    /// ambiguous.
    keys: HashMap<String, (u8, Option<usize>)>,
}

const MAPPED: u8 = 0;
const ID: u8 = 1;
const ATTRIBUTE: u8 = 2;
const TITLE: u8 = 3;
const VARIANT: u8 = 4;
const PAGE: u8 = 5;

impl DocNames {
    /// Collects the names and URLs of documents; see [`DocNames::add_document`].
    pub fn new<'a>(documents: impl IntoIterator<Item = &'a Document>) -> Self {
        let mut names = Self::default();
        for document in documents {
            names.add_document(document);
        }
        names
    }

    /// Adds the names and URLs of a document. URLs are all attributes, and members of lists, that
    /// start with `http://` or `https://`. Of documents with the same id, the year of the first
    /// counts.
    pub fn add_document(&mut self, document: &Document) {
        let attributes = &document.attributes;
        let n = match self.numbers.get(&document.id) {
            Some(&n) => n,
            None => {
                self.numbers.insert(document.id.clone(), self.ids.len());
                self.ids.push(document.id.clone());
                self.years.push(attributes.year());
                self.ids.len() - 1
            }
        };
        self.add(name_key(&document.id), ID, n);
        let own = attributes.text(NAME);
        self.add(own.map(name_key).unwrap_or_default(), ATTRIBUTE, n);
        self.add(name_key(&document.title), TITLE, n);
        for (name, value) in attributes.iter() {
            for text in texts(value) {
                if is_url(text) {
                    self.add(url_key(text), ATTRIBUTE, n);
                } else if name == "variants" {
                    self.add(name_key(text), VARIANT, n);
                }
            }
        }
        self.add(page_key(own.unwrap_or(&document.id)), PAGE, n);
    }

    /// Reads further names: lines `NAME-OR-URL TAB DOCUMENT-ID`. They precede all others; a later
    /// line replaces an earlier one.
    ///
    /// # Errors
    /// The source cannot be read, a line does not have two columns, or a document is unknown.
    pub fn read_map(&mut self, reader: impl BufRead, source: &str) -> Result<(), DataError> {
        let mut lines = LineReader::new(reader, source);
        while let Some(line) = lines.read()? {
            let text = line.text.trim_end_matches('\r');
            if text.trim().is_empty() {
                continue;
            }
            let at = Location::new(source, line.number);
            let cells: Vec<&str> = text.split('\t').map(str::trim).collect();
            let [name, id] = cells[..] else {
                return Err(at.columns(2..=2, cells.len()));
            };
            let found = self.numbers.get(id).or(self.numbers.get(&underscored(id)));
            let n = *found.ok_or_else(|| DataError::UnknownId {
                path: source.to_owned(),
                line: line.number,
                field: "column 2".to_owned(),
                found: id.to_owned(),
            })?;
            let key = if is_url(name) {
                url_key(name)
            } else {
                name_key(name)
            };
            self.keys.insert(key, (MAPPED, Some(n)));
        }
        Ok(())
    }

    /// Returns the id of the document of a result, if exactly one is known. Alternatives are
    /// separated by tabs and tried in order.
    #[must_use]
    pub fn doc(&self, result: &str) -> Option<&str> {
        self.find(result).map(|n| self.ids[n].as_str())
    }

    pub(super) fn find(&self, result: &str) -> Option<usize> {
        let get = |key: &str| self.keys.get(key).and_then(|found| found.1);
        result.split('\t').map(str::trim).find_map(|text| {
            if !is_url(text) {
                return get(&name_key(text));
            }
            let key = url_key(text);
            get(&key).or_else(|| {
                let (front, page) = key.rsplit_once('/')?;
                let list = front.rsplit_once('/')?.1;
                let is_list = matches!(list, "dataset" | "datasets");
                is_list.then(|| get(&page_key(page))).flatten()
            })
        })
    }

    pub(super) fn id(&self, n: usize) -> &str {
        &self.ids[n]
    }

    pub(super) fn year(&self, n: usize) -> Option<i64> {
        self.years[n]
    }

    fn add(&mut self, key: String, source: u8, n: usize) {
        if key.is_empty() {
            return;
        }
        let found = self.keys.entry(key).or_insert((source, Some(n)));
        if source < found.0 {
            *found = (source, Some(n));
        } else if source == found.0 && found.1 != Some(n) {
            found.1 = None;
        }
    }
}

/// Texts of an attribute.
fn texts(value: &AttributeValue) -> Vec<&str> {
    match value {
        AttributeValue::Text(text) => vec![text],
        AttributeValue::List(values) => values.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn is_url(text: &str) -> bool {
    let start = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    start.starts_with("http://") || start.starts_with("https://")
}

fn name_key(name: &str) -> String {
    underscored(name).to_lowercase()
}

/// Key of a URL: contains `//`, as names do not.
fn url_key(url: &str) -> String {
    let url = url.to_lowercase();
    let rest = url.split_once("://").map_or(url.as_str(), |it| it.1);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("//{}", rest.trim_end_matches('/'))
}

/// Key of the page of a name: lower-case letters and digits, joined by `-`.
fn page_key(name: &str) -> String {
    let name = name.to_lowercase();
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return String::new();
    }
    format!("//dataset/{}", words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> DocNames {
        let variants = |names: &[&str]| {
            let texts = names.iter().map(|&name| AttributeValue::Text(name.into()));
            AttributeValue::List(texts.collect())
        };
        DocNames::new(&[
            Document::new("Penn_Treebank")
                .with("name", "Penn Treebank")
                .with("variants", variants(&["PTB", "WSJ"]))
                .with("homepage", "https://www.example.org/ptb/"),
            Document::new("WSJ0").with("variants", variants(&["WSJ"])),
            Document::new("PTB-XL").with_title("A large ECG dataset"),
            Document::new("PTB-XL").with("homepage", "https://example.org/ecg"),
        ])
    }

    #[test]
    fn names_and_urls() {
        let names = names();
        for (result, doc) in [
            ("penn  treebank", Some("Penn_Treebank")),
            ("PENN_TREEBANK", Some("Penn_Treebank")),
            ("ptb", Some("Penn_Treebank")),
            ("wsj", None),
            ("wsj0", Some("WSJ0")),
            ("a large ECG dataset", Some("PTB-XL")),
            ("http://example.org/ecg", Some("PTB-XL")),
            ("http://example.org/ptb", Some("Penn_Treebank")),
            (
                "HTTPS://www.Example.org/ptb/?page=2#top",
                Some("Penn_Treebank"),
            ),
            ("https://example.org/ptb/other", None),
            (
                "https://papers.example.com/dataset/penn-treebank",
                Some("Penn_Treebank"),
            ),
            ("https://hub.example.com/datasets/ptb-xl", Some("PTB-XL")),
            ("https://hub.example.com/models/ptb-xl", None),
            ("https://hub.example.com/dataset/", None),
            ("http://nowhere.org\twsj0", Some("WSJ0")),
            ("", None),
            ("//dataset", None),
        ] {
            assert_eq!(names.doc(result), doc, "{result}");
        }
    }

    #[test]
    fn maps_of_names() {
        let mut names = names();
        let map = "wsj\tWSJ0\r\n\nhttps://x.org/a\tPenn Treebank\nptb\tPTB-XL";
        names.read_map(map.as_bytes(), "map").unwrap();
        assert_eq!(names.doc("WSJ"), Some("WSJ0"));
        assert_eq!(names.doc("http://x.org/a/"), Some("Penn_Treebank"));
        assert_eq!(names.doc("PTB"), Some("PTB-XL"));
        let mut error = |text: &str| {
            let result = names.read_map(text.as_bytes(), "map");
            result.unwrap_err().to_string()
        };
        assert!(error("a\tWSJ0\nb").contains("map:2: expected 2 columns, found 1"));
        assert!(error("a\tnone").contains("map:1: expected the id of a document"));
    }
}
