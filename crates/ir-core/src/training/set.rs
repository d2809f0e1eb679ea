//! Random access to training examples.

use std::error::Error;
use std::sync::Arc;

use super::{Fingerprint, InvalidExample, TrainingExample};

/// Examples to learn from, by number: a list in memory, or a file of which only the places of
/// its lines are kept.
///
/// Examples are asked for in any order, by several threads, any number of times; they stay the
/// same. Each is one that [`TrainingExample::check`] accepts.
///
/// ```
/// use ir_core::training::{TrainingExample, TrainingSet, TrainingText};
/// let example = |query: &str| TrainingExample::new(query).positive(TrainingText::new("an answer"));
/// let set = vec![example("one"), example("two")];
/// assert_eq!(set.len(), 2);
/// assert_eq!(set.get(1)?.query, "two");
/// assert!(set.get(2).is_err());
/// assert_ne!(set.fingerprint(), vec![example("two"), example("one")].fingerprint());
/// # Ok::<(), ir_core::training::TrainingSetError>(())
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
    fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError>;

    /// A number that stands for all examples in their order, by which a checkpoint knows its data
    /// again: that of [`Fingerprint`], so that a file and a list of the same examples have the
    /// same, on every machine and in every release.
    fn fingerprint(&self) -> u64;
}

impl TrainingSet for [TrainingExample] {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError> {
        let len = self.len();
        let example = <[TrainingExample]>::get(self, index)
            .ok_or(TrainingSetError::NoSuchExample { index, len })?;
        let fault = |source| TrainingSetError::Fault { index, source };
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

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError> {
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

            fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError> {
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
pub enum TrainingSetError {
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
        source: InvalidExample,
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
