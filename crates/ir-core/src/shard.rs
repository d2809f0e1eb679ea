//! Contiguous parts of a sequence, for work that is divided over processes or machines.
//!
//! Parts are contiguous because outputs are in the order of their input: a merge is a
//! concatenation, and the merged bytes do not depend on the number of shards. A search is divided
//! by queries; parts of the documents would change the collection statistics of BM25.

use std::fmt::{self, Display};
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::corpus::{Corpus, CorpusError, DocReader, Document, Skipped};

/// One of `count` contiguous parts of a sequence, numbered from 1. Written `i/n`, such as `2/8`.
///
/// The parts of a sequence are disjoint, in the order of their numbers, and together the sequence.
/// Their lengths differ by at most 1; parts are empty where there are more parts than items.
///
/// ```
/// use ir_core::Shard;
/// let shards = (1..=3).map(|number| Shard::new(number, 3));
/// let ranges: Result<Vec<_>, _> = shards.map(|shard| Ok(shard?.range(10))).collect();
/// assert_eq!(ranges?, [0..3, 3..6, 6..10]);
/// assert_eq!("2/8".parse::<Shard>()?.to_string(), "2/8");
/// assert!("9/8".parse::<Shard>().is_err());
/// # Ok::<(), ir_core::ShardError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: u32,
    count: u32,
}

/// Error of a [`Shard`] that is not one of its parts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a shard i/n with 1 <= i <= n, such as 2/8, found {found:?}")]
pub struct ShardError {
    found: String,
}

impl Shard {
    /// Part `number` of `count` parts.
    ///
    /// # Errors
    /// Unless 1 ≤ `number` ≤ `count`.
    pub fn new(number: u32, count: u32) -> Result<Self, ShardError> {
        if (1..=count).contains(&number) {
            return Ok(Self { number, count });
        }
        let found = format!("{number}/{count}");
        Err(ShardError { found })
    }

    /// Number of the part, from 1.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// Number of parts of the whole sequence.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Positions of the part in a sequence of `len` items.
    #[must_use]
    pub fn range(self, len: usize) -> Range<usize> {
        let end_of = |number: u32| {
            let items = len as u128 * u128::from(number);
            (items / u128::from(self.count)) as usize
        };
        end_of(self.number - 1)..end_of(self.number)
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parsed = text
            .split_once('/')
            .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        let shard = parsed.and_then(|(number, count)| Self::new(number, count).ok());
        shard.ok_or_else(|| ShardError {
            found: text.to_owned(),
        })
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Self, ShardError> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

/// The documents of a corpus at a range of positions. Documents before the range are read and
/// discarded.
///
/// ```
/// use ir_core::{Corpus, CorpusRange, Document};
/// let corpus = ["a", "b", "c", "d"].map(Document::new).to_vec();
/// let part = CorpusRange::new(&corpus, 1..3);
/// let ids: Result<Vec<String>, _> = part.docs()?.map(|doc| doc.map(|doc| doc.id)).collect();
/// assert_eq!(ids?, ["b", "c"]);
/// # Ok::<(), ir_core::CorpusError>(())
/// ```
pub struct CorpusRange<'a> {
    corpus: &'a dyn Corpus,
    range: Range<usize>,
}

impl<'a> CorpusRange<'a> {
    /// The documents of `corpus` at the positions of `range`; those beyond its end are none.
    #[must_use]
    pub fn new(corpus: &'a dyn Corpus, range: Range<usize>) -> Self {
        Self { corpus, range }
    }
}

impl fmt::Debug for CorpusRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CorpusRange")
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl Corpus for CorpusRange<'_> {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let mut reader = self.corpus.open()?;
        let mut skipped = Document::default();
        for _ in 0..self.range.start {
            if !reader.read(&mut skipped)? {
                break;
            }
        }
        let left = self.range.len();
        Ok(Box::new(RangeReader { reader, left }))
    }

    fn len_hint(&self) -> Option<u64> {
        let total = self.corpus.len_hint()?;
        let end = total.min(self.range.end as u64);
        Some(end.saturating_sub(self.range.start as u64))
    }

    fn skipped(&self) -> Skipped {
        self.corpus.skipped()
    }
}

struct RangeReader<'a> {
    reader: Box<dyn DocReader + 'a>,
    left: usize,
}

impl DocReader for RangeReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(false);
        };
        self.left = left;
        self.reader.read(doc)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn malformed_shards_are_rejected() {
        for text in ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b", "1 /3"] {
            let error = text.parse::<Shard>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("found {text:?}")), "{error}");
        }
        let json = serde_json::from_str::<Shard>("\"4/3\"");
        assert!(json.is_err());
        assert_eq!(
            serde_json::from_str::<Shard>("\"3/4\"").unwrap().number(),
            3
        );
    }

    proptest! {
        #[test]
        fn shards_partition_a_corpus(len in 0_usize..40, count in 1_u32..20) {
            let corpus: Vec<_> = (0..len).map(|n| Document::new(n.to_string())).collect();
            let mut ids = Vec::new();
            for number in 1..=count {
                let range = Shard::new(number, count).unwrap().range(len);
                prop_assert!(range.len().abs_diff(len / count as usize) <= 1);
                let part = CorpusRange::new(&corpus, range.clone());
                prop_assert_eq!(part.len_hint(), Some(range.len() as u64));
                ids.extend(part.docs().unwrap().map(|doc| doc.unwrap().id));
            }
            let all: Vec<String> = corpus.into_iter().map(|doc| doc.id).collect();
            prop_assert_eq!(ids, all);
        }
    }
}
