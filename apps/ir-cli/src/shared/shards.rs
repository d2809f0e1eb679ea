//! `--shard i/n`: one of n contiguous parts of the work, with the record that `ir merge` checks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use ir_core::segments::MANIFEST_NAME;
use ir_core::{Corpus, DocIds, Fnv1a, Progress, Query, Shard};
use serde::{Deserialize, Serialize};

use crate::shared::console::{Console, bail_usage};
use crate::shared::input::for_each_document;
use crate::shared::output::{OutputPath, create, failed, reject_taken};

/// Version of the record.
const VERSION: u32 = 1;

/// Extension of the record beside an output.
const EXTENSION: &str = ".shard";

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

/// How `ir merge` merges the outputs of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OutputKind {
    /// Lines of text, which may be compressed: a TREC run, or JSON lines.
    Lines,
    /// File of an `ir_bm25::Index`.
    Index,
    /// File of an `ir_knn::FlatIndex`.
    Vectors,
}

/// Record of an output of a shard. Fields other than `shard`, `cpu`, `bytes` and `checksum` are
/// equal for all shards of the same work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShardRecord {
    /// Version of this record.
    record_version: u32,
    /// Version of the program.
    program: String,
    /// Name of the subcommand that wrote the output.
    command: String,
    pub(crate) shard: Shard,
    /// Number of items of the whole: documents, queries or examples.
    items: u64,
    /// Hash of all items, in hexadecimal.
    input: String,
    /// Arguments of the command, without execution arguments. Names of files carry length and
    /// checksum: an index, vectors or synonyms of the same name may have another content.
    options: BTreeMap<String, Vec<String>>,
    pub(crate) kind: OutputKind,
    /// Name of the output among several of the command, such as the tag of a run.
    output: String,
    /// Hash of the vector of a fixed text, which depends on the CPU, the backend and the model.
    pub(crate) cpu: Option<String>,
    /// Length of the output in bytes.
    bytes: u64,
    /// FNV-1a hash of the output, in hexadecimal.
    checksum: String,
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
        let (bytes, checksum) = checksum(path).with_context(|| unreadable(path))?;
        let record = ShardRecord {
            record_version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            shard: self.shard,
            items: self.items,
            input: hexadecimal(self.input),
            options,
            kind,
            output: output.to_owned(),
            cpu: cpu.map(|bits| {
                let mut hash = Fnv1a::new();
                bits.iter().for_each(|bits| hash.write(&bits.to_le_bytes()));
                hexadecimal(hash.finish())
            }),
            bytes,
            checksum,
        };
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

/// An output of a shard with its record.
#[derive(Debug)]
pub(crate) struct ShardOutput {
    pub(crate) path: PathBuf,
    pub(crate) record: ShardRecord,
}

impl ShardOutput {
    /// Reads the record of an output and verifies the output.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let beside = record_path(path);
        let text = match fs::read(&beside) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(no_record(path)),
            Err(error) => return Err(error).with_context(|| unreadable(&beside)),
        };
        let (shown, beside) = (path.display(), beside.display());
        let record: ShardRecord = serde_json::from_slice(&text)
            .with_context(|| format!("{beside}: expected the record of a shard"))?;
        let version = record.record_version;
        if version != VERSION {
            bail!("{beside}: expected version {VERSION} of the record, found {version}");
        }
        let (bytes, checksum) = checksum(path).with_context(|| unreadable(path))?;
        let (expected, shard) = (&record.checksum, record.shard);
        if bytes != record.bytes {
            bail!(
                "{shown}: expected {} bytes ({beside}), found {bytes} (truncated or changed; repeat shard {shard})",
                record.bytes
            );
        }
        if checksum != *expected {
            bail!(
                "{shown}: expected checksum {expected} ({beside}), found {checksum} (damaged or changed; repeat shard {shard})"
            );
        }
        let path = path.to_owned();
        Ok(Self { path, record })
    }

    /// Path of the record.
    pub(crate) fn record_path(&self) -> PathBuf {
        record_path(&self.path)
    }

    /// First difference between two shards that are not of the same work.
    fn difference(&self, first: &Self) -> Option<String> {
        let (record, other) = (&self.record, &first.record);
        let fields = [
            ("program version", &other.program, &record.program),
            ("ir", &other.command, &record.command),
            ("output", &other.output, &record.output),
        ];
        let different = fields
            .into_iter()
            .find(|(_, expected, found)| expected != found);
        if let Some((name, expected, found)) = different {
            return Some(format!("{name} {expected}, found {found}"));
        }
        let names = other.options.keys().chain(record.options.keys());
        let option = |options: &BTreeMap<String, Vec<String>>, name: &str| match options.get(name) {
            None => format!("no {name}"),
            Some(values) => format!("{name} {}", values.join(" ")),
        };
        for name in names {
            if other.options.get(name) != record.options.get(name) {
                let expected = option(&other.options, name);
                return Some(format!(
                    "{expected}, found {}",
                    option(&record.options, name)
                ));
            }
        }
        let counts = (other.shard.count(), record.shard.count());
        if counts.0 != counts.1 {
            return Some(format!("{} shards, found {}", counts.0, counts.1));
        }
        if (other.items, &other.input) != (record.items, &record.input) {
            return Some(format!(
                "the input of {} items with hash {}, found {} items with hash {}",
                other.items, other.input, record.items, record.input
            ));
        }
        None
    }
}

/// Error of an output without a record.
fn no_record(path: &Path) -> anyhow::Error {
    let shown = path.display();
    let is_record = path.to_string_lossy().ends_with(EXTENSION) && path.is_file();
    let partial = with_ending(path, ".partial");
    if is_record {
        anyhow!(
            "{shown}: expected an output of --shard, found the record of one: pass outputs only"
        )
    } else if partial.is_file() {
        anyhow!(
            "{shown}: expected an output of --shard, found unfinished work, {}: run the command of \
             this shard again, which resumes it",
            partial.display()
        )
    } else if !path.exists() {
        anyhow!("{shown}: no such file; expected an output of --shard")
    } else {
        anyhow!(
            "{shown}: expected an output of --shard with its record {}, found no record",
            record_path(path).display()
        )
    }
}

/// Opens the outputs of all shards of the same work, in their order.
pub(crate) fn open_all(paths: &[PathBuf]) -> Result<Vec<ShardOutput>> {
    let opened: Result<Vec<_>> = paths.iter().map(|path| ShardOutput::open(path)).collect();
    let mut shards = opened?;
    let Some(first) = shards.first() else {
        bail_usage!("expected outputs of shards, found none");
    };
    for shard in &shards[1..] {
        if let Some(difference) = shard.difference(first) {
            bail!(
                "{}: expected, as in {}, {difference}",
                shard.path.display(),
                first.path.display()
            );
        }
    }
    let count = first.record.shard.count();
    shards.sort_by_key(|shard| shard.record.shard.number());
    for pair in shards.windows(2) {
        if pair[0].record.shard == pair[1].record.shard {
            bail!(
                "{} and {}: expected every shard once, found shard {} twice",
                pair[0].path.display(),
                pair[1].path.display(),
                pair[0].record.shard
            );
        }
    }
    if shards.len() < count as usize {
        // There may be billions of them: the first ones are sought.
        let has = |number: &u32| shards.iter().any(|it| it.record.shard.number() == *number);
        let missing = (1..=count).filter(|number| !has(number));
        let shown: Vec<_> = missing.take(10).map(|number| number.to_string()).collect();
        let more = if count as usize - shards.len() > shown.len() {
            ", ..."
        } else {
            ""
        };
        bail!(
            "expected all {count} shards, found {}: missing {}{more}",
            shards.len(),
            shown.join(", ")
        );
    }
    Ok(shards)
}

/// Appends length and checksum to an argument that names a file. For a segmented index, they are
/// the length and checksum of its manifest.
fn describe_file(value: &mut String) -> Result<()> {
    let mut path = PathBuf::from(&*value);
    if path.is_dir() {
        path.push(MANIFEST_NAME);
    }
    if path.is_file() {
        let (bytes, checksum) = checksum(&path).with_context(|| unreadable(&path))?;
        let _ = write!(value, " ({bytes} bytes, checksum {checksum})");
    }
    Ok(())
}

fn record_path(path: &Path) -> PathBuf {
    with_ending(path, EXTENSION)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn unreadable(path: &Path) -> String {
    format!("{}: cannot be read", path.display())
}

fn hexadecimal(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Length and FNV-1a hash of a file.
fn checksum(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    let (mut hash, mut bytes) = (Fnv1a::new(), 0);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hexadecimal(hash.finish()))),
            Ok(read) => {
                hash.write(&buffer[..read]);
                bytes += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
