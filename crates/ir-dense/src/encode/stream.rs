//! Streaming encoding of large collections.

use ir_core::{EncodeError, Encoder, Flow, Progress, Side};

/// Maximum bytes of text per thread and chunk; progress is reported once per chunk.
const MAX_BYTES: usize = 1 << 15;
/// Maximum number of texts per chunk.
const MAX_TEXTS: usize = 1 << 10;

/// Encodes a stream of texts and calls `push` with the id and the vector of each, in order. At most
/// about a thousand texts are in memory.
///
/// `total` is the number of texts, if known, for `progress`. If `progress` requests a stop, all
/// vectors so far have been pushed, and the result is [`Flow::Stop`].
///
/// # Examples
/// With `ir_knn::FlatIndexWriter` as `push`, skipping the first `writer.len()` texts resumes an
/// interrupted job.
///
/// ```no_run
/// use ir_core::{Document, NoProgress, Side};
/// use ir_dense::{BiEncoder, encode_stream};
///
/// let encoder = BiEncoder::open("all-MiniLM-L6-v2")?;
/// let corpus = vec![Document::new("d1").with_text("a ship at sea")];
/// let texts = corpus.into_iter().map(|doc| Ok((doc.id, doc.text)));
/// let push = |id: &str, vector: &[f32]| -> Result<(), Box<dyn std::error::Error>> {
///     println!("{id} {}", vector[0]);
///     Ok(())
/// };
/// encode_stream(&encoder, Side::Document, texts, None, push, &mut NoProgress)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// First error of `texts`, the encoder or `push`.
pub fn encode_stream<E: From<EncodeError>>(
    encoder: &dyn Encoder,
    side: Side,
    texts: impl IntoIterator<Item = Result<(String, String), E>>,
    total: Option<u64>,
    mut push: impl FnMut(&str, &[f32]) -> Result<(), E>,
    progress: &mut dyn Progress,
) -> Result<Flow, E> {
    let dim = encoder.dim();
    let max_bytes = MAX_BYTES * rayon::current_num_threads();
    let mut texts = texts.into_iter();
    let mut vectors = Vec::new();
    let (mut ids, mut chunk) = (Vec::new(), Vec::new());
    let mut done = 0;
    loop {
        ids.clear();
        chunk.clear();
        let mut bytes = 0;
        while bytes < max_bytes && chunk.len() < MAX_TEXTS {
            let Some(text) = texts.next() else { break };
            let (id, text) = text?;
            bytes += text.len();
            ids.push(id);
            chunk.push(text);
        }
        if progress.report("encoding", done, total) == Flow::Stop {
            return Ok(Flow::Stop);
        }
        if chunk.is_empty() {
            return Ok(Flow::Continue);
        }
        let borrowed: Vec<&str> = chunk.iter().map(String::as_str).collect();
        vectors.clear();
        vectors.resize(chunk.len() * dim, 0.0);
        encoder.encode_into(side, &borrowed, &mut vectors)?;
        for (at, id) in ids.iter().enumerate() {
            push(id, &vectors[at * dim..][..dim])?;
        }
        done += chunk.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a text as its length and first byte.
    struct LengthEncoder;

    impl Encoder for LengthEncoder {
        fn dim(&self) -> usize {
            2
        }

        fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
            assert!(texts.len() <= MAX_TEXTS);
            for (text, out) in texts.iter().zip(out.chunks_mut(2)) {
                out[0] = text.len() as f32;
                out[1] = text.bytes().next().map_or(-1.0, f32::from);
            }
            Ok(())
        }
    }

    #[derive(Debug, PartialEq)]
    struct Failed(&'static str);

    impl From<EncodeError> for Failed {
        fn from(_: EncodeError) -> Self {
            Self("encoding")
        }
    }

    fn texts(count: usize) -> impl Iterator<Item = Result<(String, String), Failed>> {
        (0..count).map(|n| Ok((format!("d{n}"), "x".repeat(n * 37 % 101))))
    }

    #[test]
    fn pushes_every_vector_in_order() {
        let mut found = Vec::new();
        let mut push = |id: &str, vector: &[f32]| -> Result<(), Failed> {
            found.push((id.to_owned(), vector[0]));
            Ok(())
        };
        let mut reports = Vec::new();
        let mut watch = |_: &str, done, total| {
            reports.push((done, total));
            Flow::Continue
        };
        let total = Some(5000);
        let ended = encode_stream(
            &LengthEncoder,
            Side::Query,
            texts(5000),
            total,
            &mut push,
            &mut watch,
        );
        assert_eq!(ended, Ok(Flow::Continue));
        let expected: Vec<(String, f32)> = texts(5000)
            .map(|text| text.map(|(id, text)| (id, text.len() as f32)))
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(found, expected);
        assert_eq!(reports.first(), Some(&(0, total)));
        assert_eq!(reports.last(), Some(&(5000, total)));
        assert!(reports.len() > 4);
    }

    #[test]
    fn stops_on_request() {
        let mut found = 0;
        let mut push = |_: &str, _: &[f32]| -> Result<(), Failed> {
            found += 1;
            Ok(())
        };
        let mut watch = |_: &str, done: u64, _: Option<u64>| match done {
            0 => Flow::Continue,
            _ => Flow::Stop,
        };
        let endless = texts(usize::MAX);
        let ended = encode_stream(
            &LengthEncoder,
            Side::Query,
            endless,
            None,
            &mut push,
            &mut watch,
        );
        assert_eq!(ended, Ok(Flow::Stop));
        assert!((1..=MAX_TEXTS).contains(&found));
    }

    #[test]
    fn returns_errors_of_texts_and_sink() {
        let bad = texts(3).chain([Err(Failed("reading"))]);
        let mut push = |_: &str, _: &[f32]| Ok(());
        let progress = &mut ir_core::NoProgress;
        let ended = encode_stream(&LengthEncoder, Side::Query, bad, None, &mut push, progress);
        assert_eq!(ended, Err(Failed("reading")));
        let mut push = |_: &str, _: &[f32]| Err(Failed("writing"));
        let ended = encode_stream(
            &LengthEncoder,
            Side::Query,
            texts(3),
            None,
            &mut push,
            progress,
        );
        assert_eq!(ended, Err(Failed("writing")));
    }
}
