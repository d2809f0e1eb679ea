//! `ir merge`: merges the outputs of shards.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use indicatif::HumanBytes;
use ir_bm25::Index;
use ir_core::shards::{ShardOutput, ShardOutputKind, open_shards};
use ir_core::store::Verify;
use ir_core::{Flow, Progress};

use crate::shared::console::{Console, bail_usage};
use crate::shared::format::grouped;
use crate::shared::indexing::DEFAULT_MEMORY;
use crate::shared::options::bytes;
use crate::shared::output::{OutputPath, OutputSink, create};
use crate::shared::signals::{Interrupted, stop_on_interrupt};

const EXAMPLES: &str = "\
Examples:
  ir search corpus.ir --queries q.tsv --output run-1.trec --shard 1/2
  ir search corpus.ir --queries q.tsv --output run-2.trec --shard 2/2
  ir merge run-1.trec run-2.trec -o run.trec

  ir encode e5 corpus.jsonl -o part-3.ir --shard 3/8   on one of 8 machines
  ir merge part-*.ir -o corpus.npy --ids corpus.ids

Merges the outputs of `ir index`, `ir encode`, `ir mine` and `ir search` with
--shard I/N, for I from 1 to N, in any order. The merged output has the bytes
of the output of the same command without --shard, whatever N is.

Each output comes with its record, FILE.shard: the command and its options,
hashes of its input and the checksum of the output. A missing or repeated
shard, another configuration or input, and a damaged output are errors. A
failed shard is repeated alone.

Vectors of the same model differ in the last bits between CPUs with other
instruction sets: `ir merge` warns if shards were encoded on several.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Outputs of all shards, in any order
    #[arg(required = true, value_name = "SHARD")]
    shards: Vec<PathBuf>,

    /// Output: an index, vectors (.npy, or a vector index for any other extension), or lines, which
    /// are compressed for .gz and .zst [default for lines: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<OutputPath>,

    /// Output file of the ids of vectors, one per line (a vector index includes them)
    #[arg(long, value_name = "FILE")]
    ids: Option<OutputPath>,

    /// Memory budget for an index in bytes, or with a unit (MB, GB, MiB, GiB); postings beyond it
    /// are spilled to temporary files [default: 512MB]
    #[arg(long, value_parser = bytes, allow_hyphen_values = true, value_name = "SIZE")]
    memory: Option<usize>,
}

impl Args {
    fn file(&self, kind: &str) -> Result<&OutputPath> {
        let Some(output) = &self.output else {
            bail_usage!("expected --output FILE for {kind}, found none");
        };
        output.binary_file("--output")?;
        Ok(output)
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let began = Instant::now();
    let shards = open_shards(&args.shards)?;
    let Some(first) = shards.first() else {
        bail!("expected outputs of shards, found none");
    };
    reject_records(args, &shards)?;
    let kind = first.record.kind;
    if args.ids.is_some() && kind != ShardOutputKind::Vectors {
        bail_usage!("--ids: expected vectors, found other outputs");
    }
    if args.memory.is_some() && kind != ShardOutputKind::Index {
        bail_usage!("--memory: expected indexes, found other outputs");
    }
    let what = match kind {
        ShardOutputKind::Lines => merge_lines(args, &shards, console)?,
        ShardOutputKind::Index => merge_indexes(args, &shards, console)?,
        ShardOutputKind::Vectors => merge_vectors(args, &shards, console)?,
    };
    console.log(format_args!(
        "{}: {what} of {} shards, {:.1} s",
        args.output
            .as_ref()
            .map_or("-".into(), |path| path.display().to_string()),
        grouped(shards.len() as u64),
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Rejects outputs in place of records of the inputs.
fn reject_records(args: &Args, shards: &[ShardOutput]) -> Result<()> {
    let outputs = [("--output", &args.output), ("--ids", &args.ids)];
    for (option, output) in outputs {
        // A file that does not exist is no record.
        let Some(output) = output.as_ref().and_then(|path| path.canonicalize().ok()) else {
            continue;
        };
        for shard in shards {
            let record = shard.record_path();
            if record.canonicalize().is_ok_and(|record| record == output) {
                bail_usage!(
                    "{option}: expected a path that is not an input, found {} (the record of {})",
                    record.display(),
                    shard.path.display()
                );
            }
        }
    }
    Ok(())
}

/// Warns of shards with another `cpu` in their record than the first shard.
fn warn_of_other_cpus(shards: &[ShardOutput], other: &str, effect: &str, console: &Console) {
    let Some(first) = shards.first() else { return };
    let others = shards
        .iter()
        .filter(|shard| shard.record.cpu != first.record.cpu);
    let others: Vec<String> = others.map(|shard| shard.record.shard.to_string()).collect();
    if !others.is_empty() {
        console.warn(format_args!(
            "shards {} were encoded on {other} than shard {}: {effect}",
            others.join(", "),
            first.record.shard
        ));
    }
}

fn merge_lines(args: &Args, shards: &[ShardOutput], console: &Console) -> Result<String> {
    let mut out = OutputSink::open(args.output.as_ref())?;
    // Runs of vectors.
    warn_of_other_cpus(
        shards,
        "another CPU or backend, or with another model,",
        "the scores of their queries differ from those of one machine",
        console,
    );
    let mut bar = console.bar();
    let mut total = 0;
    for (done, shard) in (1..).zip(shards) {
        let mut lines = ir_data::open(&shard.path)?;
        total += io::copy(&mut lines, &mut out)
            .with_context(|| format!("{}: cannot be merged", shard.path.display()))?;
        report(&mut bar, done, shards.len())?;
    }
    bar.finish();
    out.commit()?;
    Ok(HumanBytes(total).to_string())
}

fn merge_indexes(args: &Args, shards: &[ShardOutput], console: &Console) -> Result<String> {
    let output = args.file("indexes")?;
    drop(create(output)?);
    let opened = shards
        .iter()
        .map(|shard| Index::open_with(&shard.path, Verify::SmallSections));
    let indexes: Vec<Index> = opened.collect::<Result<_, _>>()?;
    let parts: Vec<&Index> = indexes.iter().collect();
    let memory = args.memory.unwrap_or(DEFAULT_MEMORY);
    let merged = Index::merge_to(&**output, &parts, memory, &mut console.bar())?;
    let stats = merged.stats();
    let documents = grouped(stats.documents as u64);
    Ok(format!(
        "{documents} documents, {}",
        HumanBytes(stats.bytes)
    ))
}

#[cfg(feature = "dense")]
fn merge_vectors(args: &Args, shards: &[ShardOutput], console: &Console) -> Result<String> {
    let output = args.file("vectors")?;
    if let Some(ids) = &args.ids {
        ids.check_writable()?;
    }
    drop(create(output)?);
    warn_of_other_cpus(
        shards,
        "another CPU or backend",
        "their vectors differ in the last bits from those of one machine",
        console,
    );
    vectors::merge(output, args.ids.as_ref(), shards, &mut console.bar())
}

#[cfg(not(feature = "dense"))]
fn merge_vectors(_: &Args, _: &[ShardOutput], _: &Console) -> Result<String> {
    bail!("expected the feature `dense` to merge vectors, found a build without it")
}

fn report(progress: &mut dyn Progress, done: u64, total: usize) -> Result<()> {
    match progress.report("merging", done, Some(total as u64)) {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(Interrupted.into()),
    }
}

#[cfg(feature = "dense")]
mod vectors {
    //! Merging vector indexes of `ir encode --shard`.

    use std::fs;
    use std::io::Write;

    use anyhow::{Context, Result, bail};
    use ir_core::store::Verify;
    use ir_core::{DocNum, Progress, Retriever};
    use ir_knn::{FlatIndex, FlatIndexWriter, VectorSimilarity};
    use ir_system::saved_vectors::VectorOrigin;

    use super::{OutputPath, OutputSink, ShardOutput, grouped, report};
    use crate::shared::output::failed;
    use crate::shared::vector_files::{index_path, is_npy, write_npy};

    /// Merges vectors and the hashes of their texts. Returns a description for the user.
    pub(super) fn merge(
        output: &OutputPath,
        ids: Option<&OutputPath>,
        shards: &[ShardOutput],
        progress: &mut dyn Progress,
    ) -> Result<String> {
        let open = |shard: &ShardOutput| FlatIndex::open_with(&shard.path, Verify::AllSections);
        let first = open(&shards[0])?;
        let similarity = if is_npy(output) {
            VectorSimilarity::InnerProduct
        } else {
            first.similarity()
        };
        let mut origin = origin(&first, &shards[0])?;
        let dim = first.dim();
        drop(first);
        let path = index_path(output);
        let mut writer = FlatIndexWriter::create(&path, dim, similarity)?;
        for (number, shard) in shards.iter().enumerate() {
            let index = open(shard)?;
            if number > 0 {
                let next = self::origin(&index, shard)?;
                let same = |field: &str| field != "texts";
                if let Some(differences) = origin.differences(&next, same) {
                    bail!("{}: {differences}", shard.path.display());
                }
                origin.texts.extend(&next.texts);
            }
            for doc in (0..index.ids().len() as u32).map(DocNum::new) {
                writer.push(index.ids().id(doc), index.vector(doc))?;
            }
            report(progress, number as u64 + 1, shards.len())?;
        }
        let count = writer.len();
        // The ids are committed after the vectors, so that there are none without vectors.
        let ids = ids.map(|path| -> Result<OutputSink> {
            let mut out = OutputSink::open(Some(path))?;
            let mut names = writer.ids().iter();
            names
                .try_for_each(|id| writeln!(out, "{id}"))
                .with_context(|| failed(path.display()))?;
            Ok(out)
        });
        let ids = ids.transpose()?;
        writer
            .with_user_metadata(serde_json::to_string(&origin)?)
            .finish()?;
        if is_npy(output) {
            write_npy(&path, output, None)?;
            fs::remove_file(&path).with_context(|| failed(path.display()))?;
        }
        ids.map_or(Ok(()), OutputSink::commit)?;
        Ok(format!(
            "{} vectors of {dim} dimensions",
            grouped(count as u64)
        ))
    }

    fn origin(index: &FlatIndex, shard: &ShardOutput) -> Result<VectorOrigin> {
        let text = index.user_metadata().unwrap_or_default();
        serde_json::from_str(text).with_context(|| {
            let path = shard.path.display();
            format!(
                "{path}: expected vectors written by `ir encode`, found no record of their encoder"
            )
        })
    }
}
