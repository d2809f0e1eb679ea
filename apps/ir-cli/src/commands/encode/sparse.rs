//! `ir encode` with a learned sparse encoder: JSON lines of weights by token.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use ir_core::{Flow, Progress};
use ir_dense::SparseEncoder;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Args, EncodingInput, note_truncated};
use crate::shared::console::{Console, bail_usage};
use crate::shared::format::counted;
use crate::shared::options::first_set;
use crate::shared::output::{OutputSink, failed};
use crate::shared::signals::Interrupted;
use crate::shared::vector_files::is_npy;

/// Number of texts that are encoded between two progress updates.
const CHUNK: usize = 256;

/// Record that `ir_data::SparseVectorReader` reads.
#[derive(Serialize)]
struct Record<'a> {
    id: &'a str,
    vector: Weights<'a>,
}

/// Weights by token, in the order of the vocabulary.
struct Weights<'a> {
    encoder: &'a SparseEncoder,
    weights: &'a [(u32, f32)],
}

impl Serialize for Weights<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.weights.len()))?;
        for (component, weight) in self.weights {
            map.serialize_entry(&self.encoder.token(*component), weight)?;
        }
        map.end()
    }
}

/// Rejects options of dense vectors.
fn check_options(args: &Args, model: &Path) -> Result<()> {
    let options = first_set([
        ("--ids", args.ids.is_some()),
        ("--shard", args.shard.shard.is_some()),
        ("--quantize", args.quantize.is_some()),
        ("--token-encoding", args.token_encoding.is_some()),
        ("--restart", args.restart),
    ]);
    let model = model.display();
    if let Some(option) = options.or_else(|| args.encoder.first_of_one_vector()) {
        bail_usage!(
            "{option}: expected a model of dense vectors, found the sparse encoder {model}"
        );
    }
    if is_npy(&args.output) {
        bail_usage!(
            "--output: expected a file of JSON lines, found the .npy file {}; {model} has a weight \
             per token",
            args.output.display()
        );
    }
    if args.output.extension().is_some_and(|end| end == "ir") {
        bail_usage!(
            "--output: expected a file of JSON lines, found {}, the name of a vector index",
            args.output.display()
        );
    }
    Ok(())
}

/// Encodes the texts of a collection with the learned sparse encoder in a folder.
pub(super) fn encode(
    args: &Args,
    (model, folder): (&Path, &Path),
    texts: &EncodingInput<'_>,
    console: &Console,
) -> Result<()> {
    check_options(args, model)?;
    let encoder = SparseEncoder::open_with(folder, &args.config())?;
    let (began, side, name) = (Instant::now(), args.side(), args.output.display());
    let total = texts.hashes.len() as u64;
    let mut out = OutputSink::open(Some(&args.output))?;
    let mut writer = BufWriter::new(&mut out);
    let mut source = texts.texts()?;
    let mut bar = console.bar();
    let (mut done, mut nonzero) = (0, 0);
    loop {
        if bar.report("encoding", done, Some(total)) == Flow::Stop {
            return Err(Interrupted.into());
        }
        let chunk = source.by_ref().take(CHUNK).collect::<Result<Vec<_>>>()?;
        if chunk.is_empty() {
            break;
        }
        let of_chunk: Vec<&str> = chunk.iter().map(|(_, text)| &**text).collect();
        let weights = encoder.encode_weights(side, &of_chunk)?;
        for ((id, _), weights) in chunk.iter().zip(&weights) {
            let encoder = &encoder;
            let vector = Weights { encoder, weights };
            let line = serde_json::to_string(&Record { id, vector })?;
            writeln!(writer, "{line}").with_context(|| failed(&name))?;
            nonzero += weights.len();
        }
        done += chunk.len() as u64;
    }
    writer.flush().with_context(|| failed(&name))?;
    drop(writer);
    bar.finish();
    out.commit()?;
    console.log(format_args!(
        "{name}: {} with {:.1} weights on average, {:.1} s",
        counted(total, "sparse vector"),
        nonzero as f64 / total.max(1) as f64,
        began.elapsed().as_secs_f64()
    ));
    let truncated = encoder.truncated_texts(side);
    note_truncated(
        &args.output,
        (truncated, total),
        encoder.max_tokens(side),
        console,
    );
    Ok(())
}
