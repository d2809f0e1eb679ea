//! Outputs of shards, with records that tell whether they belong together.
//!
//! A program that processes one [`Shard`] of its input writes an output, and beside it a
//! [`ShardRecord`] in JSON, `FILE.shard`. [`open_shards`] opens the outputs of all shards of the
//! same work in their order, for a merge.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::hash::Fnv1a;
use crate::shard::Shard;

/// Version of the record.
const VERSION: u32 = 1;

/// Extension of the record beside an output.
const EXTENSION: &str = ".shard";

/// Maximum number of missing shards in a message.
const SHOWN: usize = 10;

/// Kind of the outputs of shards, which determines how they are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShardOutputKind {
    /// Lines of text, which may be compressed: a TREC run, or JSON lines.
    Lines,
    /// File of an inverted index.
    Index,
    /// File of a vector index.
    Vectors,
}

/// Work that is divided into shards, for [`ShardRecord::new`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardWork {
    /// Version of the program.
    pub program: String,
    /// Name of the command that writes the outputs.
    pub command: String,
    /// Options of the command that affect the outputs, with their values.
    pub options: BTreeMap<String, Vec<String>>,
    /// Number of items of the whole, such as documents or queries.
    pub items: u64,
    /// Hash of all items.
    pub input: u64,
    /// Kind of the outputs.
    pub kind: ShardOutputKind,
    /// Name of the output among several of the command, such as the tag of a run.
    pub output: String,
}

/// Record of an output of a shard. Fields other than `shard`, `cpu`, length and checksum are equal
/// for all shards of the same work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardRecord {
    record_version: u32,
    program: String,
    command: String,
    /// Part of the work that the output is of.
    pub shard: Shard,
    items: u64,
    input: String,
    options: BTreeMap<String, Vec<String>>,
    /// Kind of the output.
    pub kind: ShardOutputKind,
    output: String,
    /// Hash of the vector of a fixed text, which depends on the CPU, the backend and the model, in
    /// hexadecimal. `None` for outputs without vectors.
    pub cpu: Option<String>,
    bytes: u64,
    checksum: String,
}

/// Output of a shard with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardOutput {
    /// Path of the output.
    pub path: PathBuf,
    /// Record of the output.
    pub record: ShardRecord,
}

/// Error opening outputs of shards, or describing one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ShardOutputError {
    /// A file cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file is the record of an output.
    #[error(
        "{}: expected an output of a shard, found the record of one: pass outputs only",
        path.display()
    )]
    IsRecord { path: PathBuf },
    /// The output is not complete: `partial` is unfinished work.
    #[error(
        "{}: expected an output of a shard, found unfinished work, {}: run the command of this \
         shard again, which resumes it",
        path.display(),
        partial.display()
    )]
    Unfinished { path: PathBuf, partial: PathBuf },
    /// The output does not exist.
    #[error("{}: no such file; expected an output of a shard", path.display())]
    NoFile { path: PathBuf },
    /// The output has no record.
    #[error(
        "{}: expected an output of a shard with its record {}, found no record",
        path.display(),
        record.display()
    )]
    NoRecord { path: PathBuf, record: PathBuf },
    /// The file of a record is damaged or of another format.
    #[error("{}: expected the record of a shard", path.display())]
    InvalidRecord {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// A record has another version.
    #[error("{}: expected version {} of the record, found {found}", path.display(), VERSION)]
    Version { path: PathBuf, found: u32 },
    /// An output has another length than its record says.
    #[error(
        "{}: expected {expected} bytes ({}), found {found} (truncated or changed; repeat shard \
         {shard})",
        path.display(),
        record.display()
    )]
    Length {
        path: PathBuf,
        record: PathBuf,
        expected: u64,
        found: u64,
        shard: Shard,
    },
    /// An output has another checksum than its record says.
    #[error(
        "{}: expected checksum {expected} ({}), found {found} (damaged or changed; repeat shard \
         {shard})",
        path.display(),
        record.display()
    )]
    Checksum {
        path: PathBuf,
        record: PathBuf,
        expected: String,
        found: String,
        shard: Shard,
    },
    /// Two outputs are of different work. `difference` is the first one.
    #[error("{}: expected, as in {}, {difference}", path.display(), first.display())]
    OtherWork {
        path: PathBuf,
        first: PathBuf,
        difference: String,
    },
    /// Two outputs are of the same shard.
    #[error(
        "{} and {}: expected every shard once, found shard {shard} twice",
        first.display(),
        second.display()
    )]
    Repeated {
        first: PathBuf,
        second: PathBuf,
        shard: Shard,
    },
    /// Shards are missing. `missing` lists the numbers of the first ones.
    #[error("expected all {count} shards, found {found}: missing {missing}")]
    Missing {
        count: u32,
        found: usize,
        missing: String,
    },
}

/// Version of a record, which is read before its other fields.
#[derive(Deserialize)]
struct RecordVersion {
    record_version: u32,
}

impl ShardRecord {
    /// Describes a finished output. `probe` is the vector of a fixed text, as bits.
    ///
    /// # Errors
    /// [`ShardOutputError::Read`] if the output cannot be read.
    pub fn new(
        path: impl AsRef<Path>,
        shard: Shard,
        work: ShardWork,
        probe: Option<&[u32]>,
    ) -> Result<Self, ShardOutputError> {
        let (bytes, checksum) = file_checksum(path)?;
        Ok(Self {
            record_version: VERSION,
            program: work.program,
            command: work.command,
            shard,
            items: work.items,
            input: hexadecimal(work.input),
            options: work.options,
            kind: work.kind,
            output: work.output,
            cpu: probe.map(|bits| {
                let mut hash = Fnv1a::new();
                bits.iter().for_each(|bits| hash.write(&bits.to_le_bytes()));
                hexadecimal(hash.finish())
            }),
            bytes,
            checksum,
        })
    }

    /// First difference from the record of a shard of other work; `None` if the work is the same.
    fn difference(&self, first: &Self) -> Option<String> {
        let fields = [
            ("program version", &first.program, &self.program),
            ("command", &first.command, &self.command),
            ("output", &first.output, &self.output),
        ];
        let different = fields
            .into_iter()
            .find(|(_, expected, found)| expected != found);
        if let Some((name, expected, found)) = different {
            return Some(format!("{name} {expected}, found {found}"));
        }
        if first.kind != self.kind {
            return Some(format!(
                "outputs of the kind {:?}, found {:?}",
                first.kind, self.kind
            ));
        }
        let names = first.options.keys().chain(self.options.keys());
        let option = |options: &BTreeMap<String, Vec<String>>, name: &str| match options.get(name) {
            None => format!("no {name}"),
            Some(values) => format!("{name} {}", values.join(" ")),
        };
        for name in names {
            if first.options.get(name) != self.options.get(name) {
                let expected = option(&first.options, name);
                return Some(format!("{expected}, found {}", option(&self.options, name)));
            }
        }
        let counts = (first.shard.count(), self.shard.count());
        if counts.0 != counts.1 {
            return Some(format!("{} shards, found {}", counts.0, counts.1));
        }
        if (first.items, &first.input) != (self.items, &self.input) {
            return Some(format!(
                "the input of {} items with hash {}, found {} items with hash {}",
                first.items, first.input, self.items, self.input
            ));
        }
        None
    }
}

impl ShardOutput {
    /// Reads the record of an output and verifies the output.
    ///
    /// # Errors
    /// - The output or its record is missing, cannot be read, or is another file.
    /// - Length or checksum differs from the record.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ShardOutputError> {
        let path = path.as_ref();
        let beside = record_path(path);
        let text = match fs::read(&beside) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(no_record(path)),
            Err(source) => {
                return Err(ShardOutputError::Read {
                    path: beside,
                    source,
                });
            }
        };
        let invalid = |source| ShardOutputError::InvalidRecord {
            path: beside.clone(),
            source,
        };
        let version: RecordVersion = serde_json::from_slice(&text).map_err(invalid)?;
        if version.record_version != VERSION {
            return Err(ShardOutputError::Version {
                path: beside.clone(),
                found: version.record_version,
            });
        }
        let record: ShardRecord = serde_json::from_slice(&text).map_err(invalid)?;
        let (bytes, checksum) = file_checksum(path)?;
        if bytes != record.bytes {
            return Err(ShardOutputError::Length {
                path: path.to_owned(),
                record: beside,
                expected: record.bytes,
                found: bytes,
                shard: record.shard,
            });
        }
        if checksum != record.checksum {
            return Err(ShardOutputError::Checksum {
                path: path.to_owned(),
                record: beside,
                expected: record.checksum,
                found: checksum,
                shard: record.shard,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            record,
        })
    }

    /// Path of the record.
    #[must_use]
    pub fn record_path(&self) -> PathBuf {
        record_path(&self.path)
    }
}

/// Opens and verifies the outputs of all shards of the same work. Returns them in their order; none
/// for no paths.
///
/// ```
/// use ir_core::shards::{ShardOutputKind, ShardRecord, ShardWork, open_shards, record_path};
///
/// let run = std::env::temp_dir().join(format!("ir-core-open-shards-{}", std::process::id()));
/// std::fs::write(&run, "q1 Q0 d1 1 2.5 bm25\n")?;
/// let work = ShardWork {
///     program: "1.0".to_owned(),
///     command: "search".to_owned(),
///     options: Default::default(),
///     items: 1,
///     input: 7,
///     kind: ShardOutputKind::Lines,
///     output: "bm25".to_owned(),
/// };
/// let record = ShardRecord::new(&run, "1/1".parse()?, work, None)?;
/// std::fs::write(record_path(&run), serde_json::to_vec(&record)?)?;
/// assert_eq!(open_shards(&[&run])?[0].record, record);
/// # std::fs::remove_file(record_path(&run))?;
/// # std::fs::remove_file(&run)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`ShardOutput::open`] returns an error for an output.
/// - The outputs are of different work ([`ShardOutputError::OtherWork`]).
/// - A shard is repeated or missing.
pub fn open_shards(paths: &[impl AsRef<Path>]) -> Result<Vec<ShardOutput>, ShardOutputError> {
    let opened: Result<Vec<_>, _> = paths.iter().map(ShardOutput::open).collect();
    let mut shards = opened?;
    let Some(first) = shards.first() else {
        return Ok(shards);
    };
    for shard in &shards[1..] {
        if let Some(difference) = shard.record.difference(&first.record) {
            return Err(ShardOutputError::OtherWork {
                path: shard.path.clone(),
                first: first.path.clone(),
                difference,
            });
        }
    }
    let count = first.record.shard.count();
    shards.sort_by_key(|shard| shard.record.shard.number());
    for pair in shards.windows(2) {
        if pair[0].record.shard == pair[1].record.shard {
            return Err(ShardOutputError::Repeated {
                first: pair[0].path.clone(),
                second: pair[1].path.clone(),
                shard: pair[0].record.shard,
            });
        }
    }
    let found = shards.len();
    if found < count as usize {
        // There may be billions of them: the first ones are sought.
        let has = |number: &u32| shards.iter().any(|it| it.record.shard.number() == *number);
        let missing = (1..=count).filter(|number| !has(number)).take(SHOWN);
        let mut missing: Vec<_> = missing.map(|number| number.to_string()).collect();
        if count as usize - found > missing.len() {
            missing.push("...".to_owned());
        }
        let missing = missing.join(", ");
        return Err(ShardOutputError::Missing {
            count,
            found,
            missing,
        });
    }
    Ok(shards)
}

/// Error of an output without a record.
fn no_record(path: &Path) -> ShardOutputError {
    let is_record = path.to_string_lossy().ends_with(EXTENSION) && path.is_file();
    let partial = with_ending(path, ".partial");
    let path = path.to_owned();
    if is_record {
        ShardOutputError::IsRecord { path }
    } else if partial.is_file() {
        ShardOutputError::Unfinished { path, partial }
    } else if !path.exists() {
        ShardOutputError::NoFile { path }
    } else {
        let record = record_path(&path);
        ShardOutputError::NoRecord { path, record }
    }
}

/// Path of the record of an output: `FILE.shard`.
#[must_use]
pub fn record_path(output: &Path) -> PathBuf {
    with_ending(output, EXTENSION)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn hexadecimal(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Returns the length of a file and its FNV-1a hash in hexadecimal.
///
/// # Errors
/// [`ShardOutputError::Read`] if the file cannot be read.
pub fn file_checksum(path: impl AsRef<Path>) -> Result<(u64, String), ShardOutputError> {
    let path = path.as_ref();
    let read = || -> io::Result<(u64, String)> {
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
    };
    read().map_err(|source| ShardOutputError::Read {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() -> ShardWork {
        ShardWork {
            program: "1".to_owned(),
            command: "search".to_owned(),
            options: BTreeMap::from([("--hits".to_owned(), vec!["5".to_owned()])]),
            items: 4,
            input: 7,
            kind: ShardOutputKind::Lines,
            output: "bm25".to_owned(),
        }
    }

    /// Folder of a test, removed on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("ir-shards-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        /// Writes an output with its record.
        fn write(&self, name: &str, shard: &str, work: ShardWork) -> PathBuf {
            let path = self.0.join(name);
            fs::write(&path, format!("hits of {shard}\n")).unwrap();
            let record = ShardRecord::new(&path, shard.parse().unwrap(), work, None).unwrap();
            fs::write(record_path(&path), serde_json::to_vec(&record).unwrap()).unwrap();
            path
        }

        /// Message of the error, with names in place of paths.
        fn error(&self, paths: &[&PathBuf]) -> String {
            let message = open_shards(paths).unwrap_err().to_string();
            message.replace(
                &format!("{}{}", self.0.display(), std::path::MAIN_SEPARATOR),
                "",
            )
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn outputs_are_opened_in_their_order() {
        let folder = Folder::new("order");
        let second = folder.write("b", "2/2", work());
        let first = folder.write("a", "1/2", work());
        let shards = open_shards(&[&second, &first]).unwrap();
        let paths: Vec<&PathBuf> = shards.iter().map(|shard| &shard.path).collect();
        assert_eq!(paths, [&first, &second]);
        assert_eq!(shards[1].record.shard, Shard::new(2, 2).unwrap());
        assert_eq!(
            folder.error(&[&first]),
            "expected all 2 shards, found 1: missing 2"
        );
        assert_eq!(
            folder.error(&[&first, &first]),
            "a and a: expected every shard once, found shard 1/2 twice"
        );
        assert_eq!(open_shards(&[""; 0]).unwrap(), []);
    }

    #[test]
    fn outputs_of_other_work_are_errors() {
        let folder = Folder::new("work");
        let first = folder.write("a", "1/2", work());
        type Change = (fn(&mut ShardWork), &'static str);
        let changes: [Change; 4] = [
            (|work| work.output.push('f'), "output bm25, found bm25f"),
            (|work| work.options.clear(), "--hits 5, found no --hits"),
            (
                |work| work.items += 1,
                "the input of 4 items with hash 0000000000000007, found 5 items with hash \
                 0000000000000007",
            ),
            (|work| work.program.push('2'), "program version 1, found 12"),
        ];
        for (change, difference) in changes {
            let mut other = work();
            change(&mut other);
            let second = folder.write("b", "2/2", other);
            let expected = format!("b: expected, as in a, {difference}");
            assert_eq!(folder.error(&[&first, &second]), expected);
        }
    }

    #[test]
    fn damaged_outputs_are_errors() {
        let folder = Folder::new("damage");
        let path = folder.write("a", "1/1", work());
        fs::write(&path, "hits of 1/2\n").unwrap();
        let found = folder.error(&[&path]);
        assert!(found.starts_with("a: expected checksum "), "{found}");
        assert!(
            found.ends_with(" (damaged or changed; repeat shard 1/1)"),
            "{found}"
        );
        fs::write(&path, "hits\n").unwrap();
        assert_eq!(
            folder.error(&[&path]),
            "a: expected 12 bytes (a.shard), found 5 (truncated or changed; repeat shard 1/1)"
        );
        let record = record_path(&path);
        assert_eq!(
            folder.error(&[&record]),
            "a.shard: expected an output of a shard, found the record of one: pass outputs only"
        );
        let newer = fs::read_to_string(&record).unwrap();
        let newer = newer.replace("\"record_version\":1", "\"record_version\":2,\"more\":1");
        fs::write(&record, newer).unwrap();
        assert_eq!(
            folder.error(&[&path]),
            "a.shard: expected version 1 of the record, found 2"
        );
        fs::remove_file(&record).unwrap();
        let expected = "a: expected an output of a shard with its record a.shard, found no record";
        assert_eq!(folder.error(&[&path]), expected);
    }
}
