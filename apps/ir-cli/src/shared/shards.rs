//! `--shard i/n`: one of n contiguous parts of the work, with the record that `ir merge` checks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use ir_core::segments::MANIFEST_NAME;
pub(crate) use ir_core::shards::ShardOutputKind as OutputKind;
use ir_core::shards::{ShardRecord, ShardWork, file_checksum, record_path};
use ir_core::{Corpus, DocIds, Fnv1a, Progress, Query, Shard};

use crate::shared::console::{Console, bail_usage};
use crate::shared::input::for_each_document;
use crate::shared::output::{OutputPath, create, failed, reject_taken};

/// Ids of arguments without effect on the bytes of an output, or that name it.
const OF_EXECUTION: [&str; 11] = [
    "output",
    "ids",
    "shard",
    "threads",
    "batch_size",
    "batch_tokens",
    "memory",
    "cache",
    "verify",
    "restart",
    "quiet",
];

/// Option `--shard` of commands with outputs that `ir merge` merges.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ShardOption {
    /// Process part I of N equal, contiguous parts; `ir merge` merges their outputs into the output
    /// of the whole. The record FILE.shard is written beside the output
    #[arg(
        long,
        value_name = "I/N",
        requires = "output",
        help_heading = "Execution"
    )]
    pub(crate) shard: Option<Shard>,
}

/// The subcommand and its arguments on the command line, without execution arguments. A
/// process-wide static, like the inputs, because clap's matches are not part of `Args`.
static COMMAND_LINE: OnceLock<(String, BTreeMap<String, Vec<String>>)> = OnceLock::new();

/// Records the command line for [`ShardPart::write_record`].
pub(crate) fn record_command_line(command: &Command, matches: &ArgMatches) {
    let Some((name, matches)) = matches.subcommand() else {
        return;
    };
    let Some(command) = command.find_subcommand(name) else {
        return;
    };
    let mut options = BTreeMap::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_given = matches.try_contains_id(id).unwrap_or(false)
            && matches.value_source(id) == Some(ValueSource::CommandLine);
        if !is_given || OF_EXECUTION.contains(&id) {
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        let values = values.map(|value| value.to_string_lossy().into_owned());
        let shown = match argument.get_long() {
            Some(long) => format!("--{long}"),
            None => id.to_uppercase(),
        };
        options.insert(shown, values.collect());
    }
    let _ = COMMAND_LINE.set((name.to_owned(), options));
}

/// Number and hash of the items of the whole, to tell whether shards have the same input.
#[derive(Debug, Default)]
pub(crate) struct InputHash {
    items: u64,
    hash: Fnv1a,
}

impl InputHash {
    /// Appends an item: its id and content.
    pub(crate) fn push(&mut self, id: &str, content: &str) {
        self.items += 1;
        for part in [id, content] {
            self.hash.write(&(part.len() as u64).to_le_bytes());
            self.hash.write(part.as_bytes());
        }
    }

    /// Appends an item by its hash.
    #[cfg(feature = "dense")]
    pub(crate) fn push_hash(&mut self, hash: u64) {
        self.items += 1;
        self.hash.write(&hash.to_le_bytes());
    }

    /// Ids and texts of queries.
    pub(crate) fn of_queries(queries: &[Query]) -> Self {
        let mut input = Self::default();
        queries
            .iter()
            .for_each(|query| input.push(&query.id, &query.text));
        input
    }

    /// Appends the ids of the documents that are searched; they are not items.
    pub(crate) fn and_ids(mut self, ids: &DocIds) -> Self {
        for id in ids.iter() {
            self.hash.write(id.as_bytes());
            // Separator: 0xFF does not occur in UTF-8.
            self.hash.write(&[0xFF]);
        }
        self
    }

    /// Appends the documents that are searched; they are not items.
    pub(crate) fn and_documents(mut self, corpus: &dyn Corpus, console: &Console) -> Result<Self> {
        let documents = Self::of_documents(corpus, &mut console.bar())?;
        self.hash.write(&documents.hash.finish().to_le_bytes());
        Ok(self)
    }

    /// Ids, titles, texts and attributes of documents.
    pub(crate) fn of_documents(corpus: &dyn Corpus, progress: &mut dyn Progress) -> Result<Self> {
        let mut input = Self::default();
        let mut content = String::new();
        let mut written = Ok(());
        for_each_document(corpus, "reading", progress, |doc| {
            content.clear();
            let attributes = serde_json::to_string(&doc.attributes);
            match attributes {
                Ok(attributes) => {
                    let _ = write!(content, "{}\0{}\0{attributes}", doc.title, doc.text);
                }
                Err(error) => written = Err(error),
            }
            input.push(&doc.id, &content);
        })?;
        written?;
        Ok(input)
    }
}

/// The part of the work that a command does.
#[derive(Debug, Clone)]
pub(crate) struct ShardPart {
    shard: Shard,
    items: u64,
    input: u64,
}

impl ShardPart {
    pub(crate) fn new(shard: Shard, input: &InputHash) -> Self {
        Self {
            shard,
            items: input.items,
            input: input.hash.finish(),
        }
    }

    /// Positions of the items of the part.
    pub(crate) fn range(&self) -> Range<usize> {
        self.shard.range(self.items as usize)
    }

    /// Writes the record of a finished output. `output` names it among several of the command;
    /// `cpu` is the vector of a fixed text.
    pub(crate) fn write_record(
        &self,
        path: &Path,
        kind: OutputKind,
        output: &str,
        cpu: Option<&[u32]>,
    ) -> Result<()> {
        let (command, mut options) = COMMAND_LINE.get().cloned().unwrap_or_default();
        for value in options.values_mut().flatten() {
            describe_file(value)?;
        }
        let work = ShardWork {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            options,
            items: self.items,
            input: self.input,
            kind,
            output: output.to_owned(),
        };
        let record = ShardRecord::new(path, self.shard, work, cpu)?;
        let path = record_path(path);
        reject_taken("--shard", &path)?;
        let mut file = create(&path)?;
        serde_json::to_writer_pretty(&mut file, &record)?;
        file.commit().with_context(|| failed(path.display()))
    }
}

impl ShardOption {
    /// Rejects outputs of a shard that `ir merge` could not read.
    pub(crate) fn check(&self, output: Option<&OutputPath>) -> Result<()> {
        match (self.shard, output) {
            (Some(shard), output) if output.is_none_or(OutputPath::is_stdout) => {
                bail_usage!("--shard {shard}: expected --output FILE, found standard output")
            }
            // The record must not replace an input or another output.
            (Some(_), Some(output)) => reject_taken("--shard", &record_path(output)),
            _ => Ok(()),
        }
    }
}

/// Appends length and checksum to an argument that names a file. For a segmented index, they are
/// the length and checksum of its manifest.
fn describe_file(value: &mut String) -> Result<()> {
    let mut path = PathBuf::from(&*value);
    if path.is_dir() {
        path.push(MANIFEST_NAME);
    }
    if path.is_file() {
        let (bytes, checksum) = file_checksum(&path)?;
        let _ = write!(value, " ({bytes} bytes, checksum {checksum})");
    }
    Ok(())
}
