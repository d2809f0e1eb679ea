//! `ir encode` with a late-interaction model: resumable, atomic output of a token store.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ir_core::store::HEADER_LEN;
use ir_core::{Flow, Progress, Side, TokenEncoder, TokenVectors};
use ir_dense::{MultiVectorConfig, MultiVectorEncoder};
use ir_knn::{
    TokenCodebook, TokenCodebookConfig, TokenEncoding, TokenStore, TokenStoreConfig,
    TokenStoreWriter,
};
use ir_system::saved_vectors::TextHashes;
use serde::{Deserialize, Serialize};

use super::{Args, EncodingInput, note_truncated};
use crate::shared::console::{Console, Resumable, bail_usage};
use crate::shared::encoder::probe_text;
use crate::shared::format::{counted, grouped};
use crate::shared::options::first_set;
use crate::shared::output::{create, failed};
use crate::shared::signals::Interrupted;
use crate::shared::vector_files::{index_path, is_npy, with_suffix};

/// Number of texts that are encoded between two progress updates.
const CHUNK: usize = 256;
/// Maximum number of components of the sample of a codebook, if no document is truncated.
const MAX_SAMPLE: usize = 1 << 29;
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Version of the job file.
const VERSION: u32 = 1;

/// Everything that determines the vectors, so that a file cannot mix two jobs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenJob {
    version: u32,
    encoder: Option<String>,
    encoding: TokenEncoding,
    template: Option<String>,
    texts: TextHashes,
    /// Vectors of a fixed long text, as bits: differ for another CPU or backend.
    probe: Vec<u32>,
}

impl TokenJob {
    /// Returns `true` if unfinished work of this job exists, and an error if it is of another job.
    fn is_resumable(&self, store: &Path) -> Result<bool> {
        let partial = with_suffix(store, ".partial");
        let size = partial.metadata().map_or(0, |file| file.len());
        if size <= HEADER_LEN as u64 {
            return Ok(false);
        }
        let path = job_path(store);
        let found = match fs::read(&path) {
            Ok(found) => serde_json::from_slice::<Self>(&found).ok(),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).context(path.display().to_string()),
        };
        if found.is_some_and(|found| found == *self) {
            return Ok(true);
        }
        bail!(
            "{}: expected unfinished work of the same texts, model and encoding, found another \
             job's (--restart discards it)",
            partial.display()
        )
    }

    fn write(&self, store: &Path) -> Result<()> {
        let path = job_path(store);
        let mut file = create(&path)?;
        serde_json::to_writer(&mut file, self)?;
        file.commit().with_context(|| failed(path.display()))
    }
}

fn job_path(store: &Path) -> PathBuf {
    with_suffix(store, ".partial-job")
}

/// Rejects options of models with one vector per text.
fn check_options(args: &Args, model: &Path) -> Result<()> {
    let options = first_set([
        ("--queries", args.queries),
        ("--ids", args.ids.is_some()),
        ("--shard", args.shard.shard.is_some()),
        ("--quantize", args.quantize.is_some()),
    ]);
    let model = model.display();
    if let Some(option) = options.or_else(|| args.encoder.first_of_one_vector()) {
        bail_usage!(
            "{option}: expected a model with one vector per text, found the late-interaction model \
             {model}"
        );
    }
    if is_npy(&args.output) {
        bail_usage!(
            "--output: expected the file of a token store, found the .npy file {}; {model} has one \
             vector per token",
            args.output.display()
        );
    }
    Ok(())
}

/// Encodes the texts of a collection with the late-interaction model in a folder.
pub(super) fn encode(
    args: &Args,
    (model, folder): (&Path, &Path),
    texts: &EncodingInput<'_>,
    console: &Console,
) -> Result<()> {
    check_options(args, model)?;
    let config = MultiVectorConfig::from_encoder(&args.config());
    let encoder = MultiVectorEncoder::open_with(folder, &config)?;
    let began = Instant::now();
    let probe = encoder.encode_documents(&[&probe_text()])?.remove(0);
    let job = TokenJob {
        version: VERSION,
        encoder: encoder.fingerprint(),
        encoding: args.token_encoding.unwrap_or_default(),
        template: texts.template.clone(),
        texts: texts.hashes.clone(),
        probe: probe.values.iter().map(|value| value.to_bits()).collect(),
    };
    let store = index_path(&args.output);
    let is_resumed = !args.restart && job.is_resumable(&store)?;
    let mut bar = console.bar();
    let config = store_config(&encoder, &job, texts, &mut bar)?;
    let mut writer = if is_resumed {
        TokenStoreWriter::resume(&store, &config)?
    } else {
        TokenStoreWriter::create(&store, &config)?
    };
    job.write(&store)?;
    let done = writer.len();
    let output = &args.output;
    if done > 0 {
        let done = counted(done as u64, "document");
        console.log(format_args!("{}: resuming after {done}", output.display()));
    }
    let side = Side::Document;
    let mut source = texts.texts()?;
    let mut truncated = 0;
    for text in source.by_ref().take(done) {
        truncated += u64::from(encoder.is_truncated(side, &text?.1)?);
    }
    // Probe and sample do not count.
    let earlier = encoder.truncated_texts(side);
    let total = texts.hashes.len() as u64;
    let mut last_flush = Instant::now();
    let ended = encode_chunks(
        &encoder,
        source,
        |new| bar.report("encoding", done as u64 + new, Some(total)),
        |id, vectors| {
            writer.push(id, vectors)?;
            if last_flush.elapsed() > FLUSH_INTERVAL {
                writer.flush()?;
                last_flush = Instant::now();
            }
            Ok(())
        },
    );
    bar.finish();
    let error = match ended {
        Ok(Flow::Continue) => None,
        Ok(Flow::Stop) if writer.is_empty() => Some(Interrupted.into()),
        Ok(Flow::Stop) => {
            let there = grouped(writer.len() as u64);
            let what = format!("interrupted after {there} documents");
            Some(Resumable(format!("{what}; run the same command to resume")).into())
        }
        Err(error) => Some(error),
    };
    let remove_job = || {
        let path = job_path(&store);
        fs::remove_file(&path).with_context(|| failed(path.display()))
    };
    if let Some(error) = error {
        // Without documents there is nothing to resume, and another job may follow.
        if writer.is_empty() {
            writer.discard()?;
            remove_job()?;
        }
        return Err(error);
    }
    writer.finish()?;
    remove_job()?;
    let tokens = TokenStore::open(&store)?.tokens();
    console.log(format_args!(
        "{}: {}, {} vectors of {} dimensions ({}, at most {} tokens), {:.1} s",
        output.display(),
        counted(total, "document"),
        grouped(tokens),
        encoder.dim(),
        job.encoding,
        encoder.max_tokens(side),
        began.elapsed().as_secs_f64()
    ));
    truncated += encoder.truncated_texts(side) - earlier;
    note_truncated(
        output,
        (truncated, total),
        encoder.max_tokens(side),
        console,
    );
    Ok(())
}

/// Configuration of the store. The codebook of residuals is trained on a sample of the documents,
/// at equal distances.
fn store_config(
    encoder: &MultiVectorEncoder,
    job: &TokenJob,
    texts: &EncodingInput<'_>,
    progress: &mut dyn Progress,
) -> Result<TokenStoreConfig> {
    let dim = encoder.dim();
    let mut config = TokenStoreConfig::new(dim)
        .with_encoding(job.encoding)
        .with_spans(true);
    config.encoder.clone_from(&job.encoder);
    if !job.encoding.needs_codebook() {
        return Ok(config);
    }
    let count = texts.hashes.len();
    let largest = MAX_SAMPLE / (dim * encoder.max_tokens(Side::Document)).max(1);
    let sample = TokenCodebookConfig::sample_documents(count).min(largest.max(1));
    let sampled = texts.texts()?.enumerate().filter_map(|(at, text)| {
        let is_sampled = (at + 1) * sample / count > at * sample / count;
        (is_sampled || text.is_err()).then_some(text)
    });
    let mut values = Vec::new();
    let ended = encode_chunks(
        encoder,
        sampled,
        |done| progress.report("encoding a sample", done, Some(sample as u64)),
        |_, vectors| {
            values.extend_from_slice(&vectors.values);
            Ok(())
        },
    )?;
    if ended == Flow::Stop {
        return Err(Interrupted.into());
    }
    let tokens = values.len() / dim * count / sample;
    let codebook = TokenCodebookConfig::default().with_tokens(tokens);
    let codebook = TokenCodebook::train(dim, &values, &codebook)?;
    Ok(config.with_codebook(codebook))
}

/// Encodes documents and calls `push` with the id and the vectors of each, in order. `report` gets
/// the number of documents so far; if it requests a stop, the result is [`Flow::Stop`].
fn encode_chunks(
    encoder: &MultiVectorEncoder,
    mut texts: impl Iterator<Item = Result<(String, String)>>,
    mut report: impl FnMut(u64) -> Flow,
    mut push: impl FnMut(&str, &TokenVectors) -> Result<()>,
) -> Result<Flow> {
    let mut done = 0;
    loop {
        if report(done) == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let chunk = texts.by_ref().take(CHUNK).collect::<Result<Vec<_>>>()?;
        if chunk.is_empty() {
            return Ok(Flow::Continue);
        }
        let of_chunk: Vec<&str> = chunk.iter().map(|(_, text)| &**text).collect();
        let vectors = encoder.encode_documents(&of_chunk)?;
        for ((id, _), vectors) in chunk.iter().zip(&vectors) {
            push(id, vectors)?;
        }
        done += chunk.len() as u64;
    }
}
