//! Where a text names a dataset.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use ir_core::{Attributes, Document, Value};

/// The names of datasets, to be found in running text.
pub struct Names {
    /// The words of a name, and whose it is.
    datasets: HashMap<Vec<String>, String>,
    /// The lengths of the names that begin with a word, longest last.
    lengths: HashMap<String, BTreeSet<usize>>,
}

/// A place where a dataset is named.
pub struct Mention<'n> {
    pub dataset: &'n str,
    /// In bytes.
    place: Range<usize>,
}

impl Names {
    /// Ids and variants, where they look like names: a capital beyond the first letter, a digit, or
    /// several words with a capital. A variant that several datasets share says nothing, unless it
    /// is the id of one of them.
    pub fn of(datasets: &[Document]) -> Self {
        let mut owners: HashMap<Vec<String>, BTreeSet<&str>> = HashMap::new();
        for dataset in datasets {
            let spaced = dataset.id.replace('_', " ");
            for name in variants(&dataset.attributes).chain([spaced.as_str()]) {
                if is_name(name) {
                    let words = words(name).map(|place| name[place].to_owned()).collect();
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

    /// Names in their order; of several that begin at one word, the longest.
    pub fn find(&self, text: &str) -> Vec<Mention<'_>> {
        let places: Vec<Range<usize>> = words(text).collect();
        let mut mentions = Vec::new();
        let mut at = 0;
        while at < places.len() {
            let lengths = self.lengths.get(&text[places[at].clone()]);
            let found = lengths.into_iter().flatten().rev().find_map(|&length| {
                let these = places.get(at..at + length)?;
                let name: Vec<String> = these.iter().map(|p| text[p.clone()].to_owned()).collect();
                let dataset = self.datasets.get(&name)?;
                let next = places[at + length..].iter().take(2);
                let is_short = name.len() == 1 && name[0].len() <= 3;
                let sure = !is_short || next.map(|p| &text[p.clone()]).any(means_dataset);
                sure.then_some((dataset.as_str(), length))
            });
            match found {
                Some((dataset, length)) => {
                    let place = places[at].start..places[at + length - 1].end;
                    mentions.push(Mention { dataset, place });
                    at += length;
                }
                None => at += 1,
            }
        }
        mentions
    }

    /// The datasets that a text names.
    pub fn datasets<'n>(&'n self, text: &str) -> BTreeSet<&'n str> {
        self.find(text).iter().map(|found| found.dataset).collect()
    }

    /// The text without the names, and without numbers of references: `[3]`, `[1, 22]`.
    pub fn without(&self, text: &str) -> String {
        let mut rest = text.to_owned();
        for mention in self.find(text).iter().rev() {
            rest.replace_range(mention.place.clone(), "");
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
        Some(Value::List(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|value| match value {
        Value::Text(text) => Some(text.as_str()),
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

/// Three capitals are as often a method ("SGD") as a dataset ("LFW").
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

/// Words and signs: letters and digits, which `-`, `+`, `'`, `.` and `/` may join; any other sign
/// alone.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
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
