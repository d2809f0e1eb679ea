use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::encoder::{Encoder, Side};
use crate::error::EncodeError;

/// Encoder that caches vectors in memory, for as long as it lives.
///
/// For experiments that send the same queries to several indexes under many settings, and for
/// [`WeightedSum`](crate::fusion::WeightedSum), which searches each retriever at least twice.
/// The wrapped encoder returns the same vectors, since the vector of a text does not depend on its
/// batch.
///
/// Texts and vectors stay in memory, unless [`CachedEncoder::with_capacity`] bounds their number.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// use ir_core::{CachedEncoder, EncodeError, Encoder, Side};
///
/// /// Encodes texts as their length and counts the encoded texts.
/// struct Length(AtomicUsize);
/// impl Encoder for Length {
///     fn dim(&self) -> usize { 1 }
///     fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
///         self.0.fetch_add(texts.len(), Relaxed);
///         for (text, cell) in texts.iter().zip(out) { *cell = text.len() as f32; }
///         Ok(())
///     }
/// }
/// let encoder = CachedEncoder::new(Length(AtomicUsize::new(0)));
/// assert_eq!(encoder.encode(Side::Query, &["tea", "milk", "tea"])?, [3.0, 4.0, 3.0]);
/// assert_eq!(encoder.encode(Side::Query, &["milk"])?, [4.0]);
/// assert_eq!(encoder.inner().0.load(Relaxed), 2);
/// # Ok::<(), EncodeError>(())
/// ```
pub struct CachedEncoder<E> {
    inner: E,
    /// Cached vectors of queries and of documents.
    cache: [Mutex<VectorCache>; 2],
    /// Maximum number of texts of a side.
    capacity: usize,
}

#[derive(Default)]
struct VectorCache {
    vectors: HashMap<Arc<str>, Box<[f32]>>,
    /// The texts in the order in which they were inserted.
    order: VecDeque<Arc<str>>,
}

impl<E: Encoder> CachedEncoder<E> {
    /// Wraps `encoder` with an empty cache.
    pub fn new(encoder: E) -> Self {
        Self {
            inner: encoder,
            cache: Default::default(),
            capacity: usize::MAX,
        }
    }

    /// Sets the maximum number of texts of each side; those that were cached first are evicted.
    /// Range: any; 0 caches nothing. Default: no limit.
    ///
    /// ```no_run
    /// # fn example(encoder: std::sync::Arc<dyn ir_core::Encoder>) {
    /// use ir_core::CachedEncoder;
    /// let encoder = CachedEncoder::new(encoder).with_capacity(256);
    /// # }
    /// ```
    #[must_use]
    pub fn with_capacity(mut self, texts: usize) -> Self {
        self.capacity = texts;
        self
    }

    /// Returns the wrapped encoder.
    pub const fn inner(&self) -> &E {
        &self.inner
    }

    /// Locks the cache of a side. A poisoned lock is usable: only whole vectors are inserted.
    fn cache(&self, side: Side) -> MutexGuard<'_, VectorCache> {
        let cache = match side {
            Side::Query => &self.cache[0],
            Side::Document => &self.cache[1],
        };
        cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Encoder> Encoder for CachedEncoder<E> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn component_name(&self, component: usize) -> Option<String> {
        self.inner.component_name(component)
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let dim = self.dim();
        let (expected, found) = (texts.len() * dim, out.len());
        if found != expected {
            return Err(EncodeError::Shape { expected, found });
        }
        if dim == 0 {
            return self.inner.encode_into(side, texts, out);
        }
        // Texts that are not cached, without duplicates, and their rows of `out`.
        let mut new: Vec<&str> = Vec::new();
        let mut rows = Vec::new();
        {
            let cache = self.cache(side);
            let mut places = HashMap::new();
            for (&text, row) in texts.iter().zip(out.chunks_exact_mut(dim)) {
                match cache.vectors.get(text) {
                    Some(vector) => row.copy_from_slice(vector),
                    None => {
                        let place = *places.entry(text).or_insert_with(|| {
                            new.push(text);
                            new.len() - 1
                        });
                        rows.push((row, place));
                    }
                }
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        // The lock is released while encoding; two threads may encode the same text, with equal
        // results.
        let vectors = self.inner.encode(side, &new)?;
        for (row, place) in rows {
            row.copy_from_slice(&vectors[place * dim..][..dim]);
        }
        let mut cache = self.cache(side);
        for (text, vector) in new.into_iter().zip(vectors.chunks_exact(dim)) {
            let text: Arc<str> = text.into();
            let known = cache.vectors.insert(Arc::clone(&text), vector.into());
            if known.is_none() {
                cache.order.push_back(text);
            }
        }
        while cache.order.len() > self.capacity {
            if let Some(text) = cache.order.pop_front() {
                cache.vectors.remove(&text);
            }
        }
        Ok(())
    }
}

impl<E: fmt::Debug> fmt::Debug for CachedEncoder<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedEncoder")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    /// Encodes texts to two numbers that depend on the side; fails for one text.
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    fn vector(side: Side, text: &str) -> [f32; 2] {
        let sum: u32 = text.bytes().map(u32::from).sum();
        let sign = if side == Side::Query { 1.0 } else { -1.0 };
        [sign * sum as f32, text.len() as f32]
    }

    impl Encoder for Counting {
        fn dim(&self) -> usize {
            2
        }

        fn encode_into(
            &self,
            side: Side,
            texts: &[&str],
            out: &mut [f32],
        ) -> Result<(), EncodeError> {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
            for (text, row) in texts.iter().zip(out.chunks_exact_mut(2)) {
                if *text == "broken" {
                    return Err(EncodeError::Model {
                        model: "counting".to_owned(),
                        source: "broken".into(),
                    });
                }
                row.copy_from_slice(&vector(side, text));
            }
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn every_text_is_encoded_once(
            batches in prop::collection::vec((any::<bool>(), prop::collection::vec("[ab]{0,3}", 0..8)), 0..12),
        ) {
            let encoder = CachedEncoder::new(Counting::default());
            let mut different = HashSet::new();
            for (query, texts) in &batches {
                let side = if *query { Side::Query } else { Side::Document };
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let expected: Vec<f32> = texts.iter().flat_map(|text| vector(side, text)).collect();
                prop_assert_eq!(encoder.encode(side, &texts).unwrap(), expected);
                different.extend(texts.into_iter().map(|text| (*query, text)));
                prop_assert_eq!(encoder.inner().0.load(Ordering::Relaxed), different.len());
            }
        }
    }

    proptest! {
        #[test]
        fn vectors_are_right_at_any_capacity(
            capacity in 0_usize..6,
            batches in prop::collection::vec(prop::collection::vec("[ab]{0,3}", 0..8), 0..12),
        ) {
            let encoder = CachedEncoder::new(Counting::default()).with_capacity(capacity);
            for texts in &batches {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let expected: Vec<f32> =
                    texts.iter().flat_map(|text| vector(Side::Query, text)).collect();
                prop_assert_eq!(encoder.encode(Side::Query, &texts).unwrap(), expected);
                let cache = encoder.cache(Side::Query);
                prop_assert!(cache.order.len() <= capacity);
                prop_assert_eq!(cache.order.len(), cache.vectors.len());
            }
        }
    }

    #[test]
    fn the_text_that_was_cached_first_is_evicted() {
        let encoder = CachedEncoder::new(Counting::default()).with_capacity(2);
        let mut counts = Vec::new();
        for text in ["a", "b", "a", "c", "b", "a"] {
            encoder.encode(Side::Query, &[text]).unwrap();
            counts.push(encoder.inner().0.load(Ordering::Relaxed));
        }
        assert_eq!(counts, [1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn errors_are_not_cached() {
        let encoder = CachedEncoder::new(Counting::default());
        assert!(encoder.encode(Side::Query, &["tea", "broken"]).is_err());
        assert_eq!(
            encoder.encode(Side::Query, &["tea"]).unwrap(),
            vector(Side::Query, "tea")
        );
        assert_eq!(encoder.inner().0.load(Ordering::Relaxed), 3);
        let short = encoder.encode_into(Side::Query, &["tea"], &mut [0.0]);
        let (expected, found) = (2, 1);
        assert!(
            matches!(short, Err(EncodeError::Shape { expected: e, found: f }) if (e, f) == (expected, found))
        );
    }
}
