//! Detection of dataset mentions in text.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use ir_core::{AttributeValue, Attributes, Document};

/// Names of datasets, for detection of mentions in text.
///
/// ```
/// use ir_core::Document;
/// use ir_studies::datafinder::DatasetNames;
///
/// let names = DatasetNames::new(&[Document::new("Penn_Treebank"), Document::new("COCO")]);
/// let found = names.datasets("Parsers are trained on the Penn Treebank, not on COCO.");
/// assert_eq!(Vec::from_iter(found), ["COCO", "Penn_Treebank"]);
/// ```
#[derive(Debug)]
pub struct DatasetNames {
    /// Dataset by the words of its name.
    datasets: HashMap<Vec<String>, String>,
    /// Numbers of words of the names that start with a word, ascending.
    lengths: HashMap<String, BTreeSet<usize>>,
}

/// A mention of a dataset.
#[derive(Debug)]
pub struct DatasetMention<'n> {
    /// Id of the dataset.
    pub dataset: &'n str,
    /// Byte range of the mention.
    span: Range<usize>,
}

impl DatasetNames {
    /// Collects ids and variants that look like names: an inner capital, a digit, or several words
    /// with a capital. A variant of several datasets is ignored unless it is the id of one of them.
    pub fn new(datasets: &[Document]) -> Self {
        let mut owners: HashMap<Vec<String>, BTreeSet<&str>> = HashMap::new();
        for dataset in datasets {
            let spaced = dataset.id.replace('_', " ");
            for name in variants(&dataset.attributes).chain([spaced.as_str()]) {
                if is_name(name) {
                    let words = words(name).map(|span| name[span].to_owned()).collect();
                    owners.entry(words).or_default().insert(&dataset.id);
                }
            }
        }
        let mut names = Self {
            datasets: HashMap::new(),
            lengths: HashMap::new(),
        };
        for (name, owners) in owners {
            let own = |id: &&&str| id.replace('_', " ") == name.join(" ");
            let Some(owner) = owners.iter().find(own).or(match owners.len() {
                1 => owners.first(),
                _ => None,
            }) else {
                continue;
            };
            if let Some(first) = name.first() {
                let lengths = names.lengths.entry(first.clone()).or_default();
                lengths.insert(name.len());
            }
            names.datasets.insert(name, (*owner).to_owned());
        }
        names
    }

    /// Finds mentions in text order; the longest match at each word.
    pub fn mentions(&self, text: &str) -> Vec<DatasetMention<'_>> {
        let tokens: Vec<Range<usize>> = words(text).collect();
        let mut mentions = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let lengths = self.lengths.get(&text[tokens[at].clone()]);
            let found = lengths.into_iter().flatten().rev().find_map(|&length| {
                let these = tokens.get(at..at + length)?;
                let name: Vec<String> = these.iter().map(|p| text[p.clone()].to_owned()).collect();
                let dataset = self.datasets.get(&name)?;
                let next = tokens[at + length..].iter().take(2);
                let is_short = name.len() == 1 && name[0].len() <= 3;
                let sure = !is_short || next.map(|p| &text[p.clone()]).any(means_dataset);
                sure.then_some((dataset.as_str(), length))
            });
            match found {
                Some((dataset, length)) => {
                    let span = tokens[at].start..tokens[at + length - 1].end;
                    mentions.push(DatasetMention { dataset, span });
                    at += length;
                }
                None => at += 1,
            }
        }
        mentions
    }

    /// Datasets mentioned in a text.
    pub fn datasets<'n>(&'n self, text: &str) -> BTreeSet<&'n str> {
        self.mentions(text)
            .iter()
            .map(|found| found.dataset)
            .collect()
    }

    /// Removes mentions and reference numbers such as `[3]` or `[1, 22]`.
    pub fn remove_from(&self, text: &str) -> String {
        let mut rest = text.to_owned();
        for mention in self.mentions(text).iter().rev() {
            rest.replace_range(mention.span.clone(), "");
        }
        let mut kept = String::new();
        let mut parts = rest.split('[');
        kept += parts.next().unwrap_or_default();
        for part in parts {
            match part.split_once(']') {
                Some((inner, after)) if inner.chars().all(|c| "0123456789, ".contains(c)) => {
                    kept += after;
                }
                _ => {
                    kept.push('[');
                    kept += part;
                }
            }
        }
        kept.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn variants(attributes: &Attributes) -> impl Iterator<Item = &str> {
    let list = match attributes.get("variants") {
        Some(AttributeValue::List(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|value| match value {
        AttributeValue::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

fn is_name(name: &str) -> bool {
    let capitals = name.chars().filter(|c| c.is_uppercase()).count();
    let letters = name.chars().any(char::is_alphabetic);
    let digits = name.chars().any(|c| c.is_ascii_digit());
    letters
        && name.chars().count() >= 3
        && (capitals >= 2 || digits || (capitals == 1 && name.contains([' ', '-'])))
}

/// Returns `true` if a word after a short name indicates a dataset. Three capitals alone are as
/// often a method ("SGD") as a dataset ("LFW").
fn means_dataset(word: &str) -> bool {
    let word = word.to_lowercase();
    let word = word.trim_end_matches('s');
    [
        "dataset",
        "data",
        "corpu",
        "corpora",
        "benchmark",
        "challenge",
        "database",
    ]
    .contains(&word)
}

/// Tokens: letters and digits, joined by `-`, `+`, `'`, `.` and `/`; any other character alone.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = rest.find(|(_, c)| !c.is_whitespace())?;
        let mut end = start + first.len_utf8();
        if first.is_alphanumeric() {
            while let Some(&(at, c)) = rest.peek() {
                let next = text[at + c.len_utf8()..].chars().next();
                let joins = "-+'./".contains(c) && next.is_some_and(char::is_alphanumeric);
                if !c.is_alphanumeric() && !joins {
                    break;
                }
                end = at + c.len_utf8();
                rest.next();
            }
        }
        Some(start..end)
    })
}
