//! Generated records with the form and the repository sizes of the collection.

use std::collections::BTreeMap;

use ir_core::{AttributeValue, Corpus, CorpusError, DocReader, Document, SplitMix64};
use ir_data::biocaddie::{REPOSITORIES, Record, Repository, TextRule};

use super::words::{ORGANISMS, words};

/// Generated records of every repository, for tests and examples without the real collection.
///
/// Every repository has its published number of records times a fraction, at least one.
/// Repositories are interleaved; records depend on seed and fraction only. Texts are random words
/// of a biomedical vocabulary at the paths of the repository; values are strings or lists of
/// strings, and one record in a thousand has no METADATA. Records are generated while they are
/// read.
///
/// ```
/// use ir_core::Corpus;
/// use ir_studies::biocaddie::SyntheticRecords;
/// let records = SyntheticRecords::new(7).with_fraction(0.001);
/// assert_eq!(SyntheticRecords::new(7).len(), 794_992);
/// let first = records.docs()?.next().transpose()?;
/// assert_eq!(first.map(|document| document.id), Some("1".to_owned()));
/// # Ok::<(), ir_core::CorpusError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SyntheticRecords {
    seed: u64,
    fraction: f64,
    rule: TextRule,
}

/// METADATA of a record.
type Metadata = BTreeMap<String, AttributeValue>;

/// Minimum number of words of a description.
const MIN_WORDS: usize = 20;
/// Number of lengths of descriptions, from [`MIN_WORDS`] on.
const WORDS: usize = 120;

impl SyntheticRecords {
    /// Creates records in the published repository sizes.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            fraction: 1.0,
            rule: TextRule::Paths,
        }
    }

    /// Sets the fraction of the published sizes. Values outside 0 to 1 are set to the nearer of the
    /// two. Default: 1.
    #[must_use]
    pub const fn with_fraction(mut self, fraction: f64) -> Self {
        self.fraction = fraction.clamp(0.0, 1.0);
        self
    }

    /// Sets the text of the documents. Default: [`TextRule::Paths`].
    #[must_use]
    pub const fn with_text(mut self, rule: TextRule) -> Self {
        self.rule = rule;
        self
    }

    /// Number of records of a repository.
    fn size(&self, repository: &Repository) -> u64 {
        let size = repository.datasets as f64 * self.fraction;
        (size.round() as u64).max(1)
    }

    /// Number of records of all repositories.
    #[must_use]
    pub fn len(&self) -> u64 {
        REPOSITORIES
            .iter()
            .map(|repository| self.size(repository))
            .sum()
    }

    /// Returns `false`: every repository has a record.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Iterates over the records.
    pub fn iter(&self) -> impl Iterator<Item = Record> + Send + '_ {
        let sizes = REPOSITORIES
            .each_ref()
            .map(|repository| self.size(repository));
        let mut left = sizes;
        (1..=self.len()).map(move |number| {
            // The repository that has the largest fraction of its records left.
            let behind = |&n: &usize| left[n] * self.len() / sizes[n];
            let next = (0..sizes.len())
                .rev()
                .max_by_key(behind)
                .unwrap_or_default();
            left[next] = left[next].saturating_sub(1);
            self.record(number, &REPOSITORIES[next])
        })
    }

    fn record(&self, number: u64, repository: &Repository) -> Record {
        let mut random = SplitMix64::new(self.seed, number);
        let title = 4 + random.below(10);
        let title = words(&mut random, title);
        let mut metadata = Metadata::new();
        for path in repository.paths {
            let value = value_at(path, &title, &mut random);
            insert(&mut metadata, path, value);
        }
        let year = 2000 + random.below(16);
        if repository
            .paths
            .iter()
            .any(|path| path.starts_with("dataItem"))
        {
            let date = format!("{year}-{:02}-01", 1 + random.below(12));
            insert(
                &mut metadata,
                "dataItem.releaseDate",
                AttributeValue::Text(date),
            );
        }
        let has_metadata = random.below(1000) > 0;
        Record {
            id: number.to_string(),
            title,
            repository: format!("{}_020916", repository.key),
            metadata: has_metadata.then_some(metadata),
        }
    }
}

/// A generated value; a third of those that are not titles or descriptions are lists.
fn value_at(path: &str, title: &str, random: &mut SplitMix64) -> AttributeValue {
    let name = path.rsplit('.').next().unwrap_or(path);
    let text = match name {
        "title" => title.to_owned(),
        "description" | "desc" | "criteria" | "history" | "inexclude" => {
            let count = MIN_WORDS + random.below(WORDS);
            words(random, count)
        }
        "species" | "organism" | "source" | "scientificName" | "host" | "target" => {
            ORGANISMS[random.below(ORGANISMS.len())].to_owned()
        }
        "gender" => ["male", "female", "all"][random.below(3)].to_owned(),
        _ => {
            let count = 1 + random.below(4);
            words(random, count)
        }
    };
    let is_list = !matches!(name, "title" | "description" | "desc") && random.below(3) == 0;
    if !is_list {
        return AttributeValue::Text(text);
    }
    let second = words(random, 1);
    AttributeValue::List(vec![
        AttributeValue::Text(text),
        AttributeValue::Text(second),
    ])
}

fn insert(metadata: &mut Metadata, path: &str, value: AttributeValue) {
    match path.split_once('.') {
        None => {
            metadata.insert(path.to_owned(), value);
        }
        Some((name, rest)) => {
            let child = metadata.entry(name.to_owned());
            let child = child.or_insert_with(|| AttributeValue::Map(BTreeMap::new()));
            if let AttributeValue::Map(members) = child {
                insert(members, rest, value);
            }
        }
    }
}

impl Corpus for SyntheticRecords {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(SyntheticReader {
            records: self.iter(),
            rule: self.rule,
        }))
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.len())
    }
}

struct SyntheticReader<I> {
    records: I,
    rule: TextRule,
}

impl<I: Iterator<Item = Record> + Send> DocReader for SyntheticReader<I> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        let Some(record) = self.records.next() else {
            return Ok(false);
        };
        *doc = record.into_document(self.rule);
        Ok(true)
    }
}
