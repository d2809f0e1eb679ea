use std::error::Error;

use super::{Fingerprint, InvalidExample, TrainingExample};
use crate::macros::forward;

/// Training examples by index: a list in memory, or a file with an index of its lines.
///
/// Examples are read in any order, from several threads, any number of times, and do not change.
/// Every example passes [`TrainingExample::check`].
///
/// ```
/// use ir_core::training::{TrainingExample, TrainingSet, TrainingText};
/// let example = |query: &str| {
///     TrainingExample::new(query).positive(TrainingText::new("an answer"))
/// };
/// let set = vec![example("one"), example("two")];
/// assert_eq!(set.len(), 2);
/// assert_eq!(set.get(1)?.query, "two");
/// assert!(set.get(2).is_err());
/// assert_ne!(set.fingerprint(), vec![example("two"), example("one")].fingerprint());
/// # Ok::<(), ir_core::training::TrainingSetError>(())
/// ```
pub trait TrainingSet: Send + Sync {
    /// Returns the number of examples.
    fn len(&self) -> usize;

    /// Returns whether there are no examples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads an example; indexes start at 0.
    ///
    /// # Errors
    /// If the index is out of range, or the example is unreadable or invalid.
    fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError>;

    /// Returns the [`Fingerprint`] of all examples in order, by which a checkpoint identifies its
    /// data. Equal for a file and a list of the same examples, on every platform and in every
    /// release.
    fn fingerprint(&self) -> u64;
}

impl TrainingSet for Vec<TrainingExample> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError> {
        let len = self.len();
        let example = self
            .as_slice()
            .get(index)
            .ok_or(TrainingSetError::NoSuchExample { index, len })?;
        let invalid = |source| TrainingSetError::Invalid { index, source };
        example.check().map_err(invalid)?;
        Ok(example.clone())
    }

    fn fingerprint(&self) -> u64 {
        let mut all = Fingerprint::new();
        self.iter().for_each(|example| all.add(example));
        all.finish()
    }
}

forward!(TrainingSet {
    fn len(&self) -> usize;
    fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError>;
    fn fingerprint(&self) -> u64;
});

/// Error reading a training example. Examples are numbered from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TrainingSetError {
    /// The index is out of range.
    #[error("expected a training example below {len}, found {index}")]
    NoSuchExample { index: usize, len: usize },
    /// The example is invalid.
    #[error("training example {index} is invalid")]
    Invalid {
        index: usize,
        #[source]
        source: InvalidExample,
    },
    /// The example could not be read; the source names file, line, expected and found.
    #[error("cannot read training example {index}")]
    Read {
        index: usize,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}
