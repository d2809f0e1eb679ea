//! What a retriever learns from: [`TrainingExample`], and the seam [`TrainingSet`].

use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text that an example says something about: one that answers its query, or one that does not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingText {
    /// The id of the document, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The text itself, as it is encoded: title and body are one already.
    pub text: String,
    /// The score that a teacher gives it for the query, for distillation; higher is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

impl TrainingText {
    /// A text without an id and without a score.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// With the id of the document.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// With a teacher's score.
    #[must_use]
    pub const fn with_score(mut self, score: f32) -> Self {
        self.score = Some(score);
        self
    }
}

/// A query with texts that answer it and texts that do not.
///
/// ```
/// use ir_core::{ExampleFault, TrainingExample, TrainingText};
/// let example = TrainingExample::new("how is tea brewed")
///     .positive(TrainingText::new("Pour hot water over the leaves.").with_id("d7"))
///     .negative(TrainingText::new("Coffee is roasted.").with_id("d2"));
/// assert_eq!(example.check(), Ok(()));
///
/// let example = example.negative(TrainingText::new("Pour hot water over the leaves."));
/// assert_eq!(example.check(), Err(ExampleFault::PositiveIsNegative { positive: 0, negative: 1 }));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingExample {
    /// The id of the query, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_id: Option<String>,
    /// The query.
    pub query: String,
    /// Texts that answer it, at least one.
    pub positives: Vec<TrainingText>,
    /// Texts that do not; there may be none.
    #[serde(default)]
    pub negatives: Vec<TrainingText>,
}

impl TrainingExample {
    /// A query about which nothing is said yet.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            ..Self::default()
        }
    }

    /// With the id of the query.
    #[must_use]
    pub fn with_query_id(mut self, id: impl Into<String>) -> Self {
        self.query_id = Some(id.into());
        self
    }

    /// With one more text that answers the query.
    #[must_use]
    pub fn positive(mut self, text: TrainingText) -> Self {
        self.positives.push(text);
        self
    }

    /// With one more text that does not answer the query.
    #[must_use]
    pub fn negative(mut self, text: TrainingText) -> Self {
        self.negatives.push(text);
        self
    }

    /// Whether one can learn from it: the query is not blank, something answers it that is not
    /// blank either, nothing both answers it and does not (by id, or by text, white space around it
    /// aside), and scores are finite. Texts may be as long as they like.
    ///
    /// # Errors
    /// The first of these that does not hold.
    pub fn check(&self) -> Result<(), ExampleFault> {
        if self.query.trim().is_empty() {
            return Err(ExampleFault::EmptyQuery);
        }
        if self.positives.is_empty() {
            return Err(ExampleFault::NoPositives);
        }
        let blank = |p: &TrainingText| p.text.trim().is_empty();
        if let Some(positive) = self.positives.iter().position(blank) {
            return Err(ExampleFault::EmptyPositive { positive });
        }
        for (field, texts) in [
            ("positives", &self.positives),
            ("negatives", &self.negatives),
        ] {
            for (at, text) in texts.iter().enumerate() {
                if let Some(found) = text.score.filter(|score| !score.is_finite()) {
                    return Err(ExampleFault::Score { field, at, found });
                }
            }
        }
        // Most negatives are neither: two sets find that out at once.
        let texts: HashSet<&str> = self.positives.iter().map(|p| p.text.trim()).collect();
        let ids: HashSet<&str> = self
            .positives
            .iter()
            .filter_map(|p| p.id.as_deref())
            .collect();
        for (negative, text) in self.negatives.iter().enumerate() {
            let known = text.id.as_deref().is_some_and(|id| ids.contains(id));
            if !known && !texts.contains(text.text.trim()) {
                continue;
            }
            let same = |p: &TrainingText| {
                (p.id.is_some() && p.id == text.id) || p.text.trim() == text.text.trim()
            };
            if let Some(positive) = self.positives.iter().position(same) {
                return Err(ExampleFault::PositiveIsNegative { positive, negative });
            }
        }
        Ok(())
    }
}

/// What can be wrong with an example; see [`TrainingExample::check`]. Places count from 0.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExampleFault {
    /// A query without a visible character.
    #[error("expected a query, found an empty text")]
    EmptyQuery,
    /// Nothing that answers the query.
    #[error("expected at least one positive, found none")]
    NoPositives,
    /// A text that answers the query and has no visible character.
    #[error("expected a text, found positive {positive} empty, counted from 0")]
    EmptyPositive {
        /// Which positive.
        positive: usize,
    },
    /// A text that answers the query and does not.
    #[error(
        "expected other negatives than positives, found positive {positive} again as negative {negative}, counted from 0"
    )]
    PositiveIsNegative {
        /// Which positive.
        positive: usize,
        /// Which negative.
        negative: usize,
    },
    /// A teacher's score that is NaN or infinite.
    #[error("expected a finite score of {field}[{at}], found {found}")]
    Score {
        /// `positives` or `negatives`.
        field: &'static str,
        /// Which of them.
        at: usize,
        /// The score.
        found: f32,
    },
}

/// Examples to learn from, by number: a list in memory, or a file of which only the places of
/// its lines are kept.
///
/// Examples are asked for in any order, by several threads, any number of times; they stay the
/// same. Each is one that [`TrainingExample::check`] accepts.
///
/// ```
/// use ir_core::{TrainingExample, TrainingSet, TrainingText};
/// let example = |query: &str| TrainingExample::new(query).positive(TrainingText::new("an answer"));
/// let set = vec![example("one"), example("two")];
/// assert_eq!(set.len(), 2);
/// assert_eq!(set.get(1)?.query, "two");
/// assert!(set.get(2).is_err());
/// assert_ne!(set.fingerprint(), vec![example("two"), example("one")].fingerprint());
/// # Ok::<(), ir_core::TrainingError>(())
/// ```
pub trait TrainingSet: Send + Sync {
    /// How many examples there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The example of a number from 0.
    ///
    /// # Errors
    /// When there is no such example, it cannot be read, or one cannot learn from it.
    fn get(&self, index: usize) -> Result<TrainingExample, TrainingError>;

    /// A number that stands for all examples in their order, by which a checkpoint knows its data
    /// again: that of [`Fingerprint`], so that a file and a list of the same examples have the
    /// same, on every machine and in every release.
    fn fingerprint(&self) -> u64;
}

impl TrainingSet for [TrainingExample] {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingError> {
        let len = self.len();
        let example = <[TrainingExample]>::get(self, index)
            .ok_or(TrainingError::NoSuchExample { index, len })?;
        let fault = |source| TrainingError::Fault { index, source };
        example.check().map_err(fault)?;
        Ok(example.clone())
    }

    fn fingerprint(&self) -> u64 {
        let mut all = Fingerprint::new();
        self.iter().for_each(|example| all.add(example));
        all.finish()
    }
}

impl TrainingSet for Vec<TrainingExample> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingError> {
        TrainingSet::get(self.as_slice(), index)
    }

    fn fingerprint(&self) -> u64 {
        self.as_slice().fingerprint()
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<S: TrainingSet + ?Sized> TrainingSet for $pointer {
            fn len(&self) -> usize {
                (**self).len()
            }

            fn get(&self, index: usize) -> Result<TrainingExample, TrainingError> {
                (**self).get(index)
            }

            fn fingerprint(&self) -> u64 {
                (**self).fingerprint()
            }
        }
    )*};
}

forward!(&S, Box<S>, Arc<S>);

/// Why an example could not be had. Examples count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainingError {
    /// A number beyond the last.
    #[error("expected a training example below {len}, found {index}")]
    NoSuchExample {
        /// What was asked for.
        index: usize,
        /// How many there are.
        len: usize,
    },
    /// An example from which one cannot learn.
    #[error("training example {index} is of no use")]
    Fault {
        /// Which.
        index: usize,
        /// What is wrong.
        #[source]
        source: ExampleFault,
    },
    /// An example that could not be read; the source names file, line, expected and found.
    #[error("training example {index} could not be read")]
    Read {
        /// Which.
        index: usize,
        /// What the reader said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// The number that stands for a list of examples, made from one after another; see
/// [`TrainingSet::fingerprint`].
///
/// It is the 64-bit FNV-1a hash of these bytes: for each example the query's id, the query, the
/// number of positives and each of them, the number of negatives and each of them; for a text its
/// id, the text, its score. Numbers are 64 bits, the lowest byte first; a text is its length in
/// bytes and those bytes; what may be missing has a byte 0 or 1 before it; a score is the 32 bits
/// of the number. It tells data apart, and protects from nobody.
///
/// ```
/// use ir_core::{Fingerprint, TrainingExample, TrainingSet, TrainingText};
/// let set = vec![TrainingExample::new("tea").positive(TrainingText::new("leaves"))];
/// let mut by_hand = Fingerprint::new();
/// by_hand.add(&set[0]);
/// assert_eq!(by_hand.finish(), set.fingerprint());
/// ```
#[derive(Debug, Clone)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

impl Fingerprint {
    /// The fingerprint of no examples.
    #[must_use]
    pub const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// Adds the next example.
    pub fn add(&mut self, example: &TrainingExample) {
        self.maybe(example.query_id.as_deref());
        self.text(&example.query);
        for texts in [&example.positives, &example.negatives] {
            self.number(texts.len());
            for text in texts {
                self.maybe(text.id.as_deref());
                self.text(&text.text);
                match text.score {
                    None => self.bytes(&[0]),
                    Some(score) => {
                        self.bytes(&[1]);
                        self.bytes(&score.to_bits().to_le_bytes());
                    }
                }
            }
        }
    }

    /// The number.
    #[must_use]
    pub const fn finish(&self) -> u64 {
        self.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    fn number(&mut self, number: usize) {
        self.bytes(&(number as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes(text.as_bytes());
    }

    fn maybe(&mut self, text: Option<&str>) {
        self.bytes(&[u8::from(text.is_some())]);
        if let Some(text) = text {
            self.text(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> TrainingExample {
        TrainingExample::new("tea")
            .with_query_id("q1")
            .positive(TrainingText::new("leaves").with_id("d1"))
            .negative(TrainingText::new("beans").with_score(0.5))
    }

    #[test]
    fn the_fingerprint_is_the_hash_of_the_documented_bytes() {
        // The same computation by CPython 3.11.7:
        //   def fnv(b):
        //       h = 0xcbf29ce484222325
        //       for x in b: h = (h ^ x) * 0x100000001b3 % 2**64
        //       return h
        //   n = lambda k: k.to_bytes(8, "little")
        //   t = lambda s: n(len(s)) + s
        //   fnv(b"\1" + t(b"q1") + t(b"tea") + n(1) + b"\1" + t(b"d1") + t(b"leaves") + b"\0"
        //       + n(1) + b"\0" + t(b"beans") + b"\1" + struct.pack("<f", .5))
        assert_eq!(vec![example()].fingerprint(), 0x3865_4AE9_57B3_2647);
        assert_eq!(Vec::new().fingerprint(), 0xCBF2_9CE4_8422_2325);
    }

    #[test]
    fn every_part_counts() {
        let whole = vec![example()].fingerprint();
        let change = |edit: &dyn Fn(&mut TrainingExample)| {
            let mut other = example();
            edit(&mut other);
            vec![other].fingerprint()
        };
        let others = [
            change(&|e| e.query_id = None),
            change(&|e| e.query.push('s')),
            change(&|e| e.positives[0].id = None),
            change(&|e| e.positives[0].text.clear()),
            change(&|e| e.negatives[0].score = None),
            change(&|e| e.negatives.clear()),
            change(&|e| e.positives.append(&mut e.negatives)),
            vec![example(), example()].fingerprint(),
        ];
        let different: HashSet<u64> = others.into_iter().chain([whole]).collect();
        assert_eq!(different.len(), others.len() + 1);
    }

    #[test]
    fn faults() {
        let check = |edit: &dyn Fn(&mut TrainingExample)| {
            let mut other = example();
            edit(&mut other);
            match vec![example(), other].get(1) {
                Err(TrainingError::Fault { index: 1, source }) => Some(source),
                Err(error) => panic!("{error}"),
                Ok(_) => None,
            }
        };
        assert_eq!(
            check(&|e| e.query = " \n".into()),
            Some(ExampleFault::EmptyQuery)
        );
        assert_eq!(
            check(&|e| e.positives.clear()),
            Some(ExampleFault::NoPositives)
        );
        let twice = |positive, negative| ExampleFault::PositiveIsNegative { positive, negative };
        assert_eq!(
            check(&|e| e.negatives[0].text = "leaves".into()),
            Some(twice(0, 0))
        );
        assert_eq!(
            check(&|e| e.negatives[0].id = Some("d1".into())),
            Some(twice(0, 0))
        );
        let nan = check(&|e| e.negatives[0].score = Some(f32::INFINITY));
        let (field, at, found) = ("negatives", 0, f32::INFINITY);
        assert_eq!(nan, Some(ExampleFault::Score { field, at, found }));
        // No negatives, several without ids, an empty text, a text of a megabyte: as it may be.
        assert_eq!(check(&|e| e.negatives.clear()), None);
        assert_eq!(check(&|e| e.negatives.push(TrainingText::new(""))), None);
        assert_eq!(
            check(&|e| e.positives.push(TrainingText::new(" \t"))),
            Some(ExampleFault::EmptyPositive { positive: 1 })
        );
        assert_eq!(
            check(&|e| e.negatives[0].text = " leaves\n".into()),
            Some(twice(0, 0))
        );
        assert_eq!(check(&|e| e.positives[0].text = "x".repeat(1 << 20)), None);
        let none = Vec::new().get(3).unwrap_err().to_string();
        assert_eq!(none, "expected a training example below 0, found 3");
    }
}
