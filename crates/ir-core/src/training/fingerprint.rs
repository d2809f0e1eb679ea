use super::TrainingExample;
use crate::hash::Fnv1a;

/// Fingerprint of a sequence of training examples; see
/// [`TrainingSet::fingerprint`](super::TrainingSet::fingerprint).
///
/// The 64-bit FNV-1a hash of, for each example: query id, query, number of positives, each
/// positive, number of negatives, each negative. A text is its id, its string and its score.
/// Numbers are 64-bit little-endian; a string is its length in bytes and those bytes; an optional
/// value is preceded by a byte 0 or 1; a score is its 32 bits. Not collision-resistant against an
/// adversary.
///
/// ```
/// use ir_core::training::{Fingerprint, TrainingExample, TrainingSet, TrainingText};
/// let set = vec![TrainingExample::new("tea").positive(TrainingText::new("leaves"))];
/// let mut by_hand = Fingerprint::new();
/// by_hand.add(&set[0]);
/// assert_eq!(by_hand.finish(), set.fingerprint());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Fingerprint(Fnv1a);

impl Fingerprint {
    /// Creates the fingerprint of no examples.
    #[must_use]
    pub const fn new() -> Self {
        Self(Fnv1a::new())
    }

    /// Adds the next example.
    pub fn add(&mut self, example: &TrainingExample) {
        self.write_optional_str(example.query_id.as_deref());
        self.write_str(&example.query);
        for texts in [&example.positives, &example.negatives] {
            self.write_len(texts.len());
            for text in texts {
                self.write_optional_str(text.id.as_deref());
                self.write_str(&text.text);
                match text.score {
                    None => self.0.write(&[0]),
                    Some(score) => {
                        self.0.write(&[1]);
                        self.0.write(&score.to_bits().to_le_bytes());
                    }
                }
            }
        }
    }

    /// Returns the fingerprint of the examples added so far.
    #[must_use]
    pub const fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write_len(&mut self, len: usize) {
        self.0.write(&(len as u64).to_le_bytes());
    }

    fn write_str(&mut self, text: &str) {
        self.write_len(text.len());
        self.0.write(text.as_bytes());
    }

    fn write_optional_str(&mut self, text: Option<&str>) {
        self.0.write(&[u8::from(text.is_some())]);
        if let Some(text) = text {
            self.write_str(text);
        }
    }
}
