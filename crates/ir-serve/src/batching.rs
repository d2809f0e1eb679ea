//! Concurrent encodes in batches.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ir_core::{EncodeError, Encoder, Side};

/// Encoder that encodes the texts of concurrent callers together: the first caller encodes what has
/// accumulated while the previous batch was encoded. Vectors are those of the inner encoder.
pub(crate) struct BatchingEncoder {
    inner: Arc<dyn Encoder>,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Texts that wait, with the places of their results.
    waiting: Vec<WaitingText>,
    is_encoding: bool,
}

/// Text with the place of its vector.
type WaitingText = (Side, String, Arc<Slot>);

/// Place of the vector of a text.
#[derive(Default)]
struct Slot(Mutex<Option<Result<Vec<f32>, String>>>);

/// Texts in a batch.
const BATCH: usize = 32;

impl BatchingEncoder {
    pub(crate) fn new(inner: Arc<dyn Encoder>) -> Self {
        Self {
            inner,
            state: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Encodes a batch and stores the vectors. One failing text does not fail the others.
    fn encode_batch(&self, batch: &[WaitingText]) {
        for side in [Side::Document, Side::Query] {
            let of_side: Vec<_> = batch.iter().filter(|(s, ..)| *s == side).collect();
            let texts: Vec<&str> = of_side.iter().map(|(_, text, _)| &**text).collect();
            if texts.is_empty() {
                continue;
            }
            match self.inner.encode(side, &texts) {
                Ok(vectors) => {
                    let rows = vectors.chunks_exact(self.inner.dim().max(1));
                    for ((.., slot), row) in of_side.iter().zip(rows) {
                        slot.set(Ok(row.to_vec()));
                    }
                }
                Err(_) => {
                    for (_, text, slot) in of_side {
                        let result = self.inner.encode(side, &[text]);
                        slot.set(result.map_err(|error| error.to_string()));
                    }
                }
            }
        }
    }
}

impl Slot {
    fn set(&self, result: Result<Vec<f32>, String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    fn take(&self) -> Option<Result<Vec<f32>, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Encoder for BatchingEncoder {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let [text] = texts else {
            return self.inner.encode_into(side, texts, out);
        };
        let slot = Arc::new(Slot::default());
        let mut state = self.lock();
        state
            .waiting
            .push((side, (*text).to_owned(), Arc::clone(&slot)));
        loop {
            if let Some(result) = slot.take() {
                let vector = result.map_err(|message| EncodeError::Model {
                    model: "of the answers".to_owned(),
                    source: message.into(),
                })?;
                out.copy_from_slice(&vector);
                return Ok(());
            }
            if state.is_encoding {
                state = self
                    .ended
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_encoding = true;
            let count = state.waiting.len().min(BATCH);
            let batch: Vec<_> = state.waiting.drain(..count).collect();
            drop(state);
            let encoding = Encoding {
                encoder: self,
                batch: &batch,
            };
            self.encode_batch(&batch);
            drop(encoding);
            state = self.lock();
        }
    }
}

/// Ends the encoding of a batch when dropped, by a panic too: no caller waits forever.
struct Encoding<'a> {
    encoder: &'a BatchingEncoder,
    batch: &'a [WaitingText],
}

impl Drop for Encoding<'_> {
    fn drop(&mut self) {
        for (.., slot) in self.batch {
            let mut result = slot.0.lock().unwrap_or_else(PoisonError::into_inner);
            result.get_or_insert_with(|| Err("no vector".to_owned()));
        }
        let mut state = self.encoder.lock();
        state.is_encoding = false;
        drop(state);
        self.encoder.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Length of a text. Fails for `bad`, panics for `panic`, and counts its batches.
    #[derive(Default)]
    struct Lengths(AtomicUsize);

    impl Encoder for Lengths {
        fn dim(&self) -> usize {
            1
        }

        fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(2));
            assert!(!texts.contains(&"panic"));
            if texts.contains(&"bad") {
                return Err(EncodeError::Shape {
                    expected: 0,
                    found: 1,
                });
            }
            for (text, value) in texts.iter().zip(out) {
                *value = text.len() as f32;
            }
            Ok(())
        }
    }

    #[test]
    fn concurrent_texts_share_batches_and_fail_alone() {
        let inner = Arc::new(Lengths::default());
        let encoder = BatchingEncoder::new(Arc::clone(&inner) as Arc<dyn Encoder>);
        std::thread::scope(|scope| {
            let encoder = &encoder;
            for n in 0..64 {
                scope.spawn(move || {
                    let text = if n % 16 == 3 {
                        "bad".to_owned()
                    } else {
                        "x".repeat(n)
                    };
                    let side = [Side::Document, Side::Query][n % 2];
                    let result = encoder.encode(side, &[&text]);
                    match n % 16 {
                        3 => assert!(result.is_err()),
                        _ => assert_eq!(result.unwrap(), [n as f32]),
                    }
                });
            }
        });
        let batches = inner.0.load(Ordering::Relaxed);
        assert!(batches < 60, "{batches}");
        assert_eq!(
            encoder.encode(Side::Query, &["ab", "c"]).unwrap(),
            [2.0, 1.0]
        );
    }

    #[test]
    fn a_panic_ends_no_other_caller() {
        let encoder = BatchingEncoder::new(Arc::new(Lengths::default()));
        std::thread::scope(|scope| {
            let encoder = &encoder;
            let callers: Vec<_> = (0..8)
                .map(|n| {
                    let text = if n == 0 { "panic" } else { "abc" };
                    scope.spawn(move || encoder.encode(Side::Query, &[text]))
                })
                .collect();
            // Every caller ends: with a vector, an error or, one of them, the panic.
            let panics = callers
                .into_iter()
                .filter_map(|caller| caller.join().err())
                .count();
            assert!(panics <= 1);
        });
        assert_eq!(encoder.encode(Side::Query, &["abc"]).unwrap(), [3.0]);
    }
}
