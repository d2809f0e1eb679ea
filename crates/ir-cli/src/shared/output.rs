//! Output destinations: standard output, or a file written atomically. No output is an input.

use std::any::TypeId;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{ArgMatches, Command, ValueHint};
use ir_core::store::{AtomicFile, resolve_links};
use ir_data::DataFile;

use crate::shared::console::{bail_usage, check_stopped};
use crate::shared::input::arguments;
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
        if let Some(ending @ ("gz" | "zst")) = self.extension().and_then(|ending| ending.to_str()) {
            bail_usage!(
                "{option}: expected a file that is written uncompressed, found the extension .{ending}"
            );
        }
        Ok(self)
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

    /// Whether this is standard output: `-`, or its name as a device, which may be redirected to a
    /// file that must not be replaced.
    pub(crate) fn is_stdout(&self) -> bool {
        ["-", "/dev/stdout", "/dev/fd/1"]
            .iter()
            .any(|name| self.0 == Path::new(name))
    }

    /// Path of the file that is written, for comparisons: absolute if its folder exists, links
    /// resolved.
    fn destination(&self) -> PathBuf {
        let path = follow_links(self);
        let absolute = || {
            Some(
                path.parent()?
                    .join(".")
                    .canonicalize()
                    .ok()?
                    .join(path.file_name()?),
            )
        };
        absolute().unwrap_or(path)
    }
}

/// Rejects an output that is an input of the command, a second output with the same destination,
/// and standard output for a folder, before the command starts. Devices and pipes are exempt.
pub(crate) fn reject_inputs_as_outputs(command: &Command, matches: &ArgMatches) -> Result<()> {
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(());
    };
    let Some(command) = command.find_subcommand(name) else {
        return Ok(());
    };
    arguments::record(command, matches);
    let mut outputs: Vec<(String, PathBuf)> = Vec::new();
    for argument in command.get_arguments() {
        if argument.get_value_parser().type_id() != TypeId::of::<OutputPath>() {
            continue;
        }
        let option = format!("--{}", argument.get_long().unwrap_or_default());
        let path = match matches.get_one::<OutputPath>(argument.get_id().as_str()) {
            Some(path) => path.clone(),
            // The default of an optional --output is standard output.
            None if option == "--output" => OutputPath(PathBuf::from("-")),
            None => continue,
        };
        let is_folder = argument.get_value_hint() == ValueHint::DirPath;
        if path.is_stdout() && is_folder {
            bail_usage!("{option}: expected a folder, found standard output");
        }
        if is_stream(&path) {
            continue;
        }
        if !path.is_stdout() && !is_folder {
            reject_input(&option, &path)?;
        }
        let destination = path.destination();
        if let Some((first, _)) = outputs.iter().find(|output| output.1 == destination) {
            let found = path.display();
            bail_usage!(
                "{option}: expected a destination other than {first}, found {found} for both"
            );
        }
        outputs.push((option, destination));
    }
    Ok(())
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

/// An output destination. Opened before a command starts its work, so that an unwritable path is
/// reported at once.
pub(crate) struct OutputSink {
    name: String,
    target: OutputTarget,
}

enum OutputTarget {
    /// Standard output, or a device or named pipe: written in place, because it cannot be renamed
    /// over.
    Stream(BufWriter<Box<dyn Write>>),
    File(Box<DataFile>),
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
        let target = OutputTarget::Stream(BufWriter::with_capacity(1 << 16, stream));
        Ok(Self { name, target })
    }

    /// Opens standard output for text with colors. The caller escapes control characters, which
    /// [`OutputSink::open`] does on a terminal.
    pub(crate) fn colored_stdout() -> Self {
        let stream: Box<dyn Write> = Box::new(io::stdout().lock());
        Self {
            name: "standard output".to_owned(),
            target: OutputTarget::Stream(BufWriter::with_capacity(1 << 16, stream)),
        }
    }

    /// Flushes the output and, for a file, renames it into place.
    pub(crate) fn commit(self) -> Result<()> {
        check_stopped()?;
        match self.target {
            OutputTarget::Stream(mut out) => out.flush().with_context(|| failed(&self.name)),
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
            OutputTarget::Stream(out) => out,
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

/// Context of an error writing `name`.
pub(crate) fn failed(name: impl Display) -> String {
    format!("{name}: cannot be written")
}

/// Creates a binary file that is written atomically.
pub(crate) fn create(path: &Path) -> Result<AtomicFile> {
    reject_input("output", path)?;
    AtomicFile::create(path).with_context(|| failed(path.display()))
}

/// Creates an output folder and its parents, before the work whose results it receives. Those that
/// are new and still empty are removed when the value is dropped.
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

/// Whether `path` exists and is neither a file nor a folder.
pub(crate) fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|what| !what.is_file() && !what.is_dir())
}
