//! Fingerprints of training sets.

use super::TrainingExample;
use crate::Fnv1a;

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
/// use ir_core::training::{Fingerprint, TrainingExample, TrainingSet, TrainingText};
/// let set = vec![TrainingExample::new("tea").positive(TrainingText::new("leaves"))];
/// let mut by_hand = Fingerprint::new();
/// by_hand.add(&set[0]);
/// assert_eq!(by_hand.finish(), set.fingerprint());
/// ```
#[derive(Debug, Clone)]
pub struct Fingerprint(Fnv1a);

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

impl Fingerprint {
    /// The fingerprint of no examples.
    #[must_use]
    pub const fn new() -> Self {
        Self(Fnv1a::new())
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
        self.0.finish()
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
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
