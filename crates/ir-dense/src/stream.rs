//! Encoding more texts than the memory holds.

use ir_core::{EncodeError, Encoder, Flow, Progress, Side};

/// Bytes of text, per thread, that are encoded between two looks at progress and interrupts.
const BYTES: usize = 1 << 15;
/// And no more texts than this.
const TEXTS: usize = 1 << 10;

/// Encodes texts as they come, and hands every vector on with the id of its text, in their order.
/// Held are no more than some thousand texts, whatever their number.
///
/// `total` is how many there are, if that is known; `progress` hears of it every few seconds, and may
/// stop the work: what has been handed on by then is complete, and the answer is [`Flow::Stop`].
///
/// # Examples
/// With `ir_knn::FlatIndexWriter` for `push` and `texts` without its first `writer.len()`,
/// encoding goes on where it was interrupted.
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
/// The first error of `texts`, of the encoder, or of `push`.
pub fn encode_stream<X: From<EncodeError>>(
    encoder: &dyn Encoder,
    side: Side,
    texts: impl IntoIterator<Item = Result<(String, String), X>>,
    total: Option<u64>,
    mut push: impl FnMut(&str, &[f32]) -> Result<(), X>,
    progress: &mut dyn Progress,
) -> Result<Flow, X> {
    let dim = encoder.dim();
    let most = BYTES * rayon::current_num_threads();
    let mut texts = texts.into_iter();
    let mut vectors = Vec::new();
    let (mut ids, mut chunk) = (Vec::new(), Vec::new());
    let mut done = 0;
    loop {
        ids.clear();
        chunk.clear();
        let mut bytes = 0;
        while bytes < most && chunk.len() < TEXTS {
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

    /// A text's vector is its length, and its first byte.
    struct Lengths;

    impl Encoder for Lengths {
        fn dim(&self) -> usize {
            2
        }

        fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
            assert!(texts.len() <= TEXTS);
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
    fn every_vector_comes_once_and_in_order() {
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
            &Lengths,
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
    fn stops_between_texts_when_asked_to() {
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
        let ended = encode_stream(&Lengths, Side::Query, endless, None, &mut push, &mut watch);
        assert_eq!(ended, Ok(Flow::Stop));
        assert!((1..=TEXTS).contains(&found));
    }

    #[test]
    fn errors_are_those_of_the_texts_and_of_the_sink() {
        let bad = texts(3).chain([Err(Failed("reading"))]);
        let mut push = |_: &str, _: &[f32]| Ok(());
        let progress = &mut ir_core::NoProgress;
        let ended = encode_stream(&Lengths, Side::Query, bad, None, &mut push, progress);
        assert_eq!(ended, Err(Failed("reading")));
        let mut push = |_: &str, _: &[f32]| Err(Failed("writing"));
        let ended = encode_stream(&Lengths, Side::Query, texts(3), None, &mut push, progress);
        assert_eq!(ended, Err(Failed("writing")));
    }
}
