//! Output destinations: standard output, or a file written atomically. No output is an input.
//!
//! `ir search folder -o folder/qrels/test.tsv` would destroy judgments. Commands open inputs late
//! and deep inside the libraries, so a check in each command would miss some. Instead every output
//! option has the type [`OutputPath`]; every other argument that may name a file is an input.
//! `main` compares them before the command starts, by device and inode, with all files that a
//! command may read for an argument; [`OutputSink`] compares again, for names that are computed
//! later. A new option that is not declared is an input, so that a mistake rejects a file and does
//! not lose one.

use std::any::TypeId;
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use clap::{ArgMatches, Command, ValueHint};
use ir_bm25::SegmentedIndex;
use ir_core::store::{AtomicFile, resolve_links};
use ir_data::DataFile;

use crate::shared::console::bail_usage;
use crate::shared::input::arguments;
use crate::shared::signals::{check_stopped, stopped};
use crate::shared::stream::is_stream;
use crate::shared::terminal;

/// Value of an option that names an output file, where `-` is standard output, or a folder
/// ([`ValueHint::DirPath`]).
///
/// Every output option has this type. All other arguments are inputs for
/// [`reject_inputs_as_outputs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputPath(PathBuf);

impl From<OsString> for OutputPath {
    fn from(path: OsString) -> Self {
        Self(path.into())
    }
}

impl From<PathBuf> for OutputPath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl Deref for OutputPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl OutputPath {
    /// Path of a binary file, which can be neither standard output nor compressed.
    pub(crate) fn binary_file(&self, option: &str) -> Result<&Path> {
        if self.is_stdout() {
            bail_usage!("{option}: expected a file, found standard output");
        }
        let ending = self.extension().unwrap_or_default();
        if ["gz", "zst"]
            .iter()
            .any(|it| ending.eq_ignore_ascii_case(it))
        {
            let ending = ending.display();
            bail_usage!(
                "{option}: expected a file that is written uncompressed, found the extension .{ending}"
            );
        }
        Ok(self)
    }

    /// Replaces the file with `content`. Standard output and pipes are written in place.
    pub(crate) fn write(&self, content: impl AsRef<[u8]>) -> Result<()> {
        OutputSink::open(Some(self))?.write_with(|out| out.write_all(content.as_ref()))
    }

    /// Path of a folder. Symbolic links are followed.
    pub(crate) fn folder(&self) -> PathBuf {
        follow_links(self)
    }

    /// Checks that the file can be written. A stream is not opened: its reader would see the end.
    #[cfg(feature = "dense")]
    pub(crate) fn check_writable(&self) -> Result<()> {
        if !self.is_stdout() && !is_stream(self) {
            drop(OutputSink::open(Some(self))?);
        }
        Ok(())
    }

    /// Returns `true` if this is standard output: `-`, or its name as a device, which may be
    /// redirected to a file that must not be replaced.
    pub(crate) fn is_stdout(&self) -> bool {
        ["-", "/dev/stdout", "/dev/fd/1"]
            .iter()
            .any(|name| self.0 == Path::new(name))
    }
}

/// Work file or folder that a command derives from an output option: unfinished work, checkpoints.
#[cfg_attr(not(feature = "dense"), allow(dead_code))]
#[derive(Debug)]
pub(crate) struct WorkPath {
    /// Option that the path is derived from.
    pub(crate) option: &'static str,
    /// Description for messages; empty for the output itself.
    pub(crate) what: &'static str,
    pub(crate) path: PathBuf,
    /// If `true`, the path is a folder that belongs to the command with everything in it.
    pub(crate) is_folder: bool,
}

impl WorkPath {
    /// Output folder that belongs to the command with everything in it.
    pub(crate) fn output_folder(path: PathBuf) -> Self {
        Self {
            option: "--output",
            what: "",
            path,
            is_folder: true,
        }
    }
}

/// Path that the command writes.
#[derive(Debug)]
struct Destination {
    option: String,
    /// Description for messages, as [`WorkPath::what`].
    what: &'static str,
    /// Path as given, for messages.
    shown: PathBuf,
    /// Absolute path, symbolic links followed.
    resolved: PathBuf,
    kind: DestinationKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DestinationKind {
    Stdout,
    File,
    /// Folder that belongs to the command with everything in it.
    OwnedFolder,
    /// Folder that may have other files. Names of the files to write are known later: see
    /// [`reject_taken`].
    SharedFolder,
}

/// Every path that the command writes. Set once, from the command line, as the
/// [inputs](arguments::record) are.
static DESTINATIONS: OnceLock<Vec<Destination>> = OnceLock::new();

impl Destination {
    fn new(option: String, path: &Path, kind: DestinationKind) -> Self {
        Self {
            option,
            what: "",
            shown: path.to_owned(),
            resolved: resolved(path),
            kind,
        }
    }

    fn from_work(work: WorkPath) -> Self {
        let kind = if work.is_folder {
            DestinationKind::OwnedFolder
        } else {
            DestinationKind::File
        };
        let what = work.what;
        Self {
            what,
            ..Self::new(work.option.to_owned(), &work.path, kind)
        }
    }

    /// Rejects a path in the folder of an index, an input as a file, and an input in a folder that
    /// belongs to the command.
    fn reject_inputs(&self) -> Result<()> {
        let folder = match self.kind {
            DestinationKind::Stdout => None,
            DestinationKind::SharedFolder => Some(&*self.resolved),
            DestinationKind::File | DestinationKind::OwnedFolder => self.resolved.parent(),
        };
        if let Some(folder) = folder.filter(|folder| SegmentedIndex::exists(folder)) {
            let (option, found) = (&self.option, self.shown.display());
            bail_usage!(
                "{option}: expected a path outside of the index in {}, found {found}",
                folder.display()
            );
        }
        match self.kind {
            DestinationKind::Stdout | DestinationKind::SharedFolder => Ok(()),
            DestinationKind::File => reject_input(&self.option, &self.shown),
            DestinationKind::OwnedFolder => match arguments::find_input_below(&self.resolved) {
                None => Ok(()),
                Some(input) => {
                    let (option, found) = (&self.option, self.shown.display());
                    bail_usage!(
                        "{option}: expected a folder without inputs, found {found} ({input})"
                    )
                }
            },
        }
    }

    /// Rejects the same destination as `first`, or one in a folder that belongs to the command.
    fn reject_overlap(&self, first: &Self) -> Result<()> {
        let is_below = |folder: &Self, path: &Self| {
            folder.kind == DestinationKind::OwnedFolder
                && path.resolved.starts_with(&folder.resolved)
        };
        let (option, found) = (&self.option, self.shown.display());
        if self.option == first.option {
            Ok(())
        } else if self.resolved == first.resolved && self.kind == DestinationKind::Stdout {
            bail_usage!(
                "{option}: expected a destination other than {first}, found standard output for both"
            );
        } else if self.resolved == first.resolved {
            bail_usage!(
                "{option}: expected a destination other than {first}, found {found} for both"
            );
        } else if is_below(first, self) {
            bail_usage!("{option}: expected a destination outside of {first}, found {found}");
        } else if is_below(self, first) {
            let first = first.shown.display();
            bail_usage!(
                "{option}: expected a folder without other outputs, found {found} ({first})"
            );
        } else {
            Ok(())
        }
    }
}

impl Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            "" => write!(f, "{}", self.option),
            what => write!(f, "the {what} of {}", self.option),
        }
    }
}

/// Absolute path of a file or folder that may not exist yet, symbolic links followed.
fn resolved(path: &Path) -> PathBuf {
    let path = follow_links(path);
    let mut folders = path.ancestors();
    let existing = folders.find_map(|folder| {
        let shown = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let rest = path.strip_prefix(folder).ok()?;
        Some(shown.canonicalize().ok()?.join(rest))
    });
    existing.unwrap_or(path)
}

/// Rejects an output that is an input of the command, a second output with the same destination,
/// and standard output for a folder, before the command starts. `work` has the paths that the
/// command derives from its outputs. Devices and pipes are exempt.
pub(crate) fn reject_inputs_as_outputs(
    command: &Command,
    matches: &ArgMatches,
    work: Vec<WorkPath>,
) -> Result<()> {
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(());
    };
    let Some(command) = command.find_subcommand(name) else {
        return Ok(());
    };
    arguments::record(command, matches);
    let mut outputs: Vec<_> = work.into_iter().map(Destination::from_work).collect();
    for argument in command.get_arguments() {
        if argument.get_value_parser().type_id() != TypeId::of::<OutputPath>() {
            continue;
        }
        let option = format!("--{}", argument.get_long().unwrap_or_default());
        let path = match matches.get_one::<OutputPath>(argument.get_id().as_str()) {
            Some(path) => path.clone(),
            // The default of an optional --output is standard output, unless it is a folder.
            None if option == "--output" && argument.get_value_hint() != ValueHint::DirPath => {
                OutputPath(PathBuf::from("-"))
            }
            None => continue,
        };
        if path.as_os_str().is_empty() {
            bail_usage!("{option}: expected a path, found an empty string");
        }
        let kind = match argument.get_value_hint() {
            ValueHint::DirPath if path.is_stdout() => {
                bail_usage!("{option}: expected a folder, found standard output")
            }
            ValueHint::DirPath => DestinationKind::SharedFolder,
            _ if path.is_stdout() => DestinationKind::Stdout,
            _ => DestinationKind::File,
        };
        if !is_stream(&path) {
            outputs.push(Destination::new(option, &path, kind));
        }
    }
    // A file to which the shell appends.
    reject_input("standard output", Path::new("/dev/stdout"))?;
    for (at, output) in outputs.iter().enumerate() {
        output.reject_inputs()?;
        for first in &outputs[..at] {
            output.reject_overlap(first)?;
        }
    }
    let _ = DESTINATIONS.set(outputs);
    Ok(())
}

/// Rejects a file in the folder of `option` that is an input, or the destination of another output.
pub(crate) fn reject_taken(option: &str, path: &Path) -> Result<()> {
    reject_input(option, path)?;
    let file = Destination::new(option.to_owned(), path, DestinationKind::File);
    let outputs = DESTINATIONS.get().into_iter().flatten();
    outputs
        .into_iter()
        .try_for_each(|first| file.reject_overlap(first))
}

/// Path that an output at `path` replaces: symbolic links are followed, other paths unchanged.
pub(crate) fn follow_links(path: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let target = is_link.then(|| resolve_links(path).ok()).flatten();
    target.unwrap_or_else(|| path.to_owned())
}

/// Rejects an output file that is one of the recorded inputs.
pub(crate) fn reject_input(output: impl Display, path: &Path) -> Result<()> {
    if let Some(input) = arguments::find_input(path) {
        let found = path.display();
        bail_usage!("{output}: expected a path that is not an input, found {found} ({input})");
    }
    Ok(())
}

/// Rejects an output folder that is a folder from which the command reads.
pub(crate) fn reject_input_folder(output: impl Display, folder: &Path) -> Result<()> {
    if let Some(input) = arguments::find_input_folder(folder) {
        let found = folder.display();
        bail_usage!("{output}: expected a folder that is not an input, found {found} ({input})");
    }
    Ok(())
}

/// An output destination. Opened before a command starts its work, so that an unwritable path is
/// reported at once.
pub(crate) struct OutputSink {
    name: String,
    target: OutputTarget,
}

enum OutputTarget {
    /// Standard output, or a device or named pipe: written in place, because it cannot be renamed
    /// over.
    Stream(StreamOutput),
    File(Box<DataFile>),
}

/// Buffered stream. After a signal, buffered data is dropped: the reader may be blocked.
struct StreamOutput(BufWriter<Box<dyn Write>>);

impl StreamOutput {
    fn new(stream: Box<dyn Write>) -> Self {
        Self(BufWriter::with_capacity(1 << 16, stream))
    }
}

impl Drop for StreamOutput {
    fn drop(&mut self) {
        if stopped() {
            let empty = BufWriter::with_capacity(0, Box::new(io::sink()) as Box<dyn Write>);
            let _ = std::mem::replace(&mut self.0, empty).into_parts();
        }
    }
}

impl OutputSink {
    /// Opens `path`; `None` and `-` are standard output. Files ending in `.gz` or `.zst` are
    /// compressed.
    pub(crate) fn open(path: Option<&OutputPath>) -> Result<Self> {
        let file = path.filter(|path| !path.is_stdout()).map(Deref::deref);
        let (name, stream): (_, Box<dyn Write>) = match file {
            None => ("standard output".to_owned(), terminal::stdout()),
            Some(path) if is_stream(path) => {
                let file = OpenOptions::new().write(true).open(path);
                let name = path.display().to_string();
                let file = file.with_context(|| failed(&name))?;
                (name, Box::new(file))
            }
            Some(path) => {
                reject_input("output", path)?;
                return Ok(Self {
                    name: path.display().to_string(),
                    target: OutputTarget::File(Box::new(ir_data::create(path)?)),
                });
            }
        };
        let target = OutputTarget::Stream(StreamOutput::new(stream));
        Ok(Self { name, target })
    }

    /// Opens standard output for text with colors. The caller escapes control characters, which
    /// [`OutputSink::open`] does on a terminal.
    pub(crate) fn colored_stdout() -> Self {
        let stream: Box<dyn Write> = Box::new(io::stdout().lock());
        Self {
            name: "standard output".to_owned(),
            target: OutputTarget::Stream(StreamOutput::new(stream)),
        }
    }

    /// Flushes the output and, for a file, renames it into place.
    pub(crate) fn commit(self) -> Result<()> {
        check_stopped()?;
        match self.target {
            OutputTarget::Stream(mut out) => out.0.flush().with_context(|| failed(&self.name)),
            OutputTarget::File(file) => Ok(file.commit()?),
        }
    }

    /// Writes with `write`, names the destination in its errors, and commits.
    pub(crate) fn write_with<E>(
        mut self,
        write: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<()>
    where
        Result<(), E>: Context<(), E>,
    {
        write(&mut self).with_context(|| failed(&self.name))?;
        self.commit()
    }

    /// Name of the destination in error messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.target {
            OutputTarget::Stream(out) => &mut out.0,
            OutputTarget::File(out) => out,
        }
    }
}

impl Write for OutputSink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.writer().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

/// Prints a text and a line break on standard output.
pub(crate) fn print(text: impl Display) -> Result<()> {
    OutputSink::open(None)?.write_with(|out| writeln!(out, "{text}"))
}

/// Context of an error writing `name`.
pub(crate) fn failed(name: impl Display) -> String {
    format!("{name}: cannot be written")
}

/// Creates a binary file that is written atomically.
pub(crate) fn create(path: &Path) -> Result<AtomicFile> {
    reject_input("output", path)?;
    AtomicFile::create(path).with_context(|| failed(path.display()))
}

/// Creates an output folder and its parents, before the work that writes to it. New folders that
/// are still empty are removed when the value is dropped.
pub(crate) fn create_folder(path: &Path) -> Result<NewFolder> {
    let missing = path.ancestors().take_while(|folder| !folder.exists());
    let missing = missing.map(Path::to_owned).collect();
    let created = fs::create_dir_all(path);
    let folder = NewFolder { missing };
    created.with_context(|| format!("{}: cannot be created", path.display()))?;
    Ok(folder)
}

/// Output folder of [`create_folder`].
pub(crate) struct NewFolder {
    /// Folders that did not exist before, innermost first.
    missing: Vec<PathBuf>,
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        for folder in &self.missing {
            let _ = fs::remove_dir(folder);
        }
    }
}
