//! Groups of texts: some threads tokenize a group while others encode batches of earlier groups.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ir_core::{EncodeError, Encoder, Side};

use super::BiEncoder;
use super::batches::batches;
use super::bi_encoder::write_batch;

/// Maximum number of batches of a group.
const GROUP_BATCHES: usize = 4;
/// Groups per thread, if that makes groups of at least a batch.
const GROUPS_PER_THREAD: usize = 4;
/// Fewer bytes than a token of most texts has.
const BYTES_PER_TOKEN: usize = 4;

impl BiEncoder {
    /// Encodes texts without padding. A task of rayon's pool tokenizes a group of texts and starts
    /// a task per batch of it.
    pub(super) fn encode_groups(
        &self,
        side: Side,
        texts: &[&str],
        out: &mut [f32],
    ) -> Result<(), EncodeError> {
        let (dim, encoder) = (self.dim(), self.side(side));
        let mut config = self.config.clone();
        let threads = rayon::current_num_threads();
        if threads > 2 {
            // A thread that waits for the end of a batch starts another one.
            config.batch_tokens /= threads;
        }
        let max_tokens = encoder.tower.limit(side, config.side(side));
        let groups = text_groups(texts, max_tokens, config.batch_tokens, threads);
        let (config, failed) = (&config, &FirstError::default());
        rayon::scope(|scope| {
            let mut rest = out;
            for group in groups {
                let rows = std::mem::take(&mut rest);
                let (rows, other_rows) = rows.split_at_mut(group.len() * dim);
                rest = other_rows;
                scope.spawn(move |scope| {
                    let first = group.start;
                    if failed.is_before(first) {
                        return;
                    }
                    let ids = match self.tokenize_texts(side, &texts[group]) {
                        Ok(ids) => ids,
                        Err(error) => return failed.add(first, error),
                    };
                    let batches = batches(&ids, config, false);
                    let group = Arc::new((ids, Mutex::new(rows)));
                    for batch in batches {
                        let group = Arc::clone(&group);
                        scope.spawn(move |_| {
                            let (ids, rows) = &*group;
                            let at = first + batch.first().copied().unwrap_or_default();
                            if failed.is_before(at) {
                                return;
                            }
                            match encoder.encode(&batch, ids, dim) {
                                Ok(vectors) => {
                                    let rows = rows.lock();
                                    let mut rows = rows.unwrap_or_else(PoisonError::into_inner);
                                    write_batch(&batch, &vectors, &mut rows, dim);
                                }
                                Err(error) => failed.add(at, error),
                            }
                        });
                    }
                });
            }
        });
        failed.take().map_or(Ok(()), Err)
    }
}

/// Splits texts into consecutive groups, for `threads` threads and batches of `batch_tokens`. All
/// but the last have at least as many tokens, as estimated from their bytes, as a batch.
fn text_groups(
    texts: &[&str],
    max_tokens: usize,
    batch_tokens: usize,
    threads: usize,
) -> Vec<Range<usize>> {
    let tokens = |text: &&str| (text.len() / BYTES_PER_TOKEN + 1).min(max_tokens);
    let total: usize = texts.iter().map(tokens).sum();
    let most = batch_tokens.saturating_mul(GROUP_BATCHES);
    let minimum = (total / (GROUPS_PER_THREAD * threads.max(1))).clamp(batch_tokens, most);
    let (mut groups, mut first, mut found) = (Vec::new(), 0, 0);
    for (at, text) in texts.iter().enumerate() {
        found += tokens(text);
        if found >= minimum || at + 1 == texts.len() {
            groups.push(first..at + 1);
            (first, found) = (at + 1, 0);
        }
    }
    groups
}

/// Error of the earliest text of several tasks. The error does not depend on the order of the tasks
/// if every task ends where [`FirstError::is_before`] its text.
#[derive(Debug, Default)]
struct FirstError(Mutex<Option<(usize, EncodeError)>>);

impl FirstError {
    fn add(&self, text: usize, error: EncodeError) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| text < *other) {
            *first = Some((text, error));
        }
    }

    fn is_before(&self, text: usize) -> bool {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().is_some_and(|(other, _)| *other < text)
    }

    fn take(&self) -> Option<EncodeError> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().map(|(_, error)| error)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use burn::tensor::Device;

    use super::*;
    use crate::encode::EncoderConfig;
    use crate::model_folder::{TransformerConfig, WeightFile};
    use crate::transformer::{InferenceModel, Transformer};

    #[test]
    fn groups_are_consecutive_and_filled_by_tokens() {
        let (short, long) = ("x".repeat(1000), "x".repeat(100_000));
        for (text, count, threads, expected) in [
            (&short, 0, 2, 0),
            (&short, 1, 2, 1),
            // 251 tokens each: nine for a batch of 2,048.
            (&short, 18, 2, 2),
            (&short, 19, 2, 3),
            // 33 for four batches.
            (&short, 3300, 1, 100),
            // 256 tokens each: eight for a batch.
            (&long, 16, 2, 2),
        ] {
            let texts = vec![&text[..]; count];
            let found = text_groups(&texts, 256, 2048, threads);
            assert_eq!(found.len(), expected, "{count} texts, {threads} threads");
            let all: Vec<usize> = found.into_iter().flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<usize>>());
        }
        let texts = ["a", "b", "c"];
        assert_eq!(text_groups(&texts, 256, usize::MAX, 2), vec![0..3]);
        assert_eq!(text_groups(&texts, 256, 0, 1), [0..1, 1..2, 2..3]);
    }

    #[test]
    fn the_error_of_the_earliest_text_is_kept() {
        let error = |value: usize| EncodeError::Shape {
            expected: value,
            found: 0,
        };
        for order in [[7, 3, 5], [3, 5, 7], [5, 7, 3]] {
            let failed = FirstError::default();
            assert!(!failed.is_before(usize::MAX));
            for text in order {
                failed.add(text, error(text));
            }
            assert!(failed.is_before(4) && !failed.is_before(3) && !failed.is_before(2));
            let found = failed.take().unwrap();
            assert!(matches!(found, EncodeError::Shape { expected: 3, .. }));
        }
    }

    /// Texts of several groups, with truncated ones, with and without padding, and in a pool.
    #[test]
    fn vectors_and_numbers_of_truncated_texts_do_not_depend_on_groups() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tiny/bert");
        let config = EncoderConfig::default()
            .with_max_tokens(8)
            .with_batch_tokens(24);
        let encoder = BiEncoder::open_with(&folder, &config).unwrap();
        let words = ["ship", "sea", "green tea", "radar", "a"];
        let texts: Vec<String> = (0..200)
            .map(|n| words[n % 5].repeat(n % 7) + " " + &"sea ".repeat(n % 11))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        assert!(text_groups(&texts, 8, 24, 2).len() > 8);
        let side = Side::Document;
        let counted = |encode: &dyn Fn(&BiEncoder) -> Vec<f32>| {
            let encoder = BiEncoder::open_with(&folder, &config).unwrap();
            let vectors = encode(&encoder);
            (vectors, encoder.truncated_texts(side))
        };
        let alone = counted(&|encoder| {
            let vectors = texts.iter().map(|text| encoder.encode(side, &[text]));
            vectors.flat_map(Result::unwrap).collect()
        });
        assert!(alone.1 > 0 && alone.1 < 200);
        assert!(alone == counted(&|encoder| encoder.encode(side, &texts).unwrap()));
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            let found = pool.install(|| counted(&|encoder| encoder.encode(side, &texts).unwrap()));
            assert!(alone == found, "{threads} threads");
        }

        let file = WeightFile::open(&folder).unwrap();
        let transformer = TransformerConfig::read(&folder).unwrap();
        let module = Transformer::load(transformer, &file, &Device::flex()).unwrap();
        let padded = encoder.with_inference_model(InferenceModel::Module(Box::new(module)));
        let found = padded.encode(side, &texts).unwrap();
        assert_eq!(padded.truncated_texts(side), alone.1);
        for (a, b) in alone.0.iter().zip(&found) {
            assert!((a - b).abs() < 1e-5, "{a}, {b}");
        }
    }
}
