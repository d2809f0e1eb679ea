//! A folder of notes as a corpus: one document per file.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, anyhow};
use ir_core::{Corpus, CorpusError, DocReader, Document, Flow, Progress};
use ir_data::TextEncoding;
use ir_qa::documents::FrontMatter;

use crate::shared::console::Console;
use crate::shared::format::grouped;
use crate::shared::options::ENCODING_HINT;
use crate::shared::signals::Interrupted;

const MAX_NOTE_BYTES: u64 = 64 << 20;
/// Number of skipped notes, and of skipped folders, that are named in warnings.
const NAMED_NOTES: usize = 3;

/// Corpus of the `*.md`, `*.markdown` and `*.txt` files below a folder, ordered by path. The id is
/// the relative path. The title is the field `title` in the front matter (YAML, TOML) of Markdown,
/// otherwise the first heading, otherwise the file name. Other fields of the front matter are
/// attributes. Notes that cannot be read are skipped with a warning.
#[derive(Debug)]
pub(crate) struct NotesCorpus {
    root: PathBuf,
    files: Vec<PathBuf>,
    encoding: TextEncoding,
    console: Console,
    /// `true` if the skipped notes were reported: the corpus may be read several times.
    warned: AtomicBool,
}

/// Files below a folder.
#[derive(Debug, Default)]
pub(super) struct FoundFiles {
    /// Paths of the files, in ascending order.
    pub(super) files: Vec<PathBuf>,
    /// Path and error of each subfolder that cannot be read.
    unreadable: Vec<String>,
}

impl FoundFiles {
    /// Warns about the subfolders that cannot be read.
    pub(super) fn warn(&self, root: &Path, console: &Console) {
        for folder in self.unreadable.iter().take(NAMED_NOTES) {
            console.warn(format_args!("{folder}; skipped"));
        }
        if !self.unreadable.is_empty() {
            let (root, count) = (root.display(), grouped(self.unreadable.len() as u64));
            console.warn(format_args!(
                "{root}: folders that cannot be read and are skipped: {count}"
            ));
        }
    }
}

/// Finds the files below `root` that `is_wanted` accepts. Hidden files and folders are skipped, and
/// subfolders that cannot be read. Progress is the number of files found so far.
pub(super) fn find(
    root: &Path,
    is_wanted: &dyn Fn(&Path) -> bool,
    progress: &mut dyn Progress,
) -> Result<FoundFiles> {
    let mut found = FoundFiles::default();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        if progress.report("listing files", found.files.len() as u64, None) == Flow::Stop {
            return Err(Interrupted.into());
        }
        let read = visit(&folder, is_wanted, &mut folders, &mut found.files);
        match read.with_context(|| format!("{}: cannot be read", folder.display())) {
            Err(error) if folder != root => found.unreadable.push(format!("{error:#}")),
            read => read?,
        }
    }
    found.files.sort();
    found.unreadable.sort();
    Ok(found)
}

/// Adds the entries of one folder to `folders` and `files`.
fn visit(
    folder: &Path,
    is_wanted: &dyn Fn(&Path) -> bool,
    folders: &mut Vec<PathBuf>,
    files: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let (path, kind) = (entry.path(), entry.file_type()?);
        // Symbolic links to folders are not followed, because they can form cycles.
        if kind.is_dir() {
            folders.push(path);
        } else if (kind.is_file() || path.is_file()) && is_wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}

impl NotesCorpus {
    /// Creates a corpus of `files` below `root`.
    pub(super) fn new(
        root: &Path,
        files: Vec<PathBuf>,
        encoding: TextEncoding,
        console: &Console,
    ) -> Self {
        Self {
            root: root.to_owned(),
            files,
            encoding,
            console: *console,
            warned: AtomicBool::new(false),
        }
    }

    /// Warns about the skipped notes at the end of the first pass. No readable note is an error.
    fn report(&self, skipped: &[String]) -> Result<(), CorpusError> {
        let (root, all) = (self.root.display(), self.files.len());
        let Some(first) = skipped.first() else {
            return Ok(());
        };
        if skipped.len() == all {
            let error = anyhow!("{root}: expected a readable note, found none: {first}");
            return Err(CorpusError::new(error));
        }
        if !self.warned.swap(true, Ordering::Relaxed) {
            for note in skipped.iter().take(NAMED_NOTES) {
                self.console.warn(format_args!("{note}; skipped"));
            }
            let (skipped, all) = (grouped(skipped.len() as u64), grouped(all as u64));
            let count =
                format_args!("{root}: {skipped} of {all} notes cannot be read and are skipped");
            self.console.warn(count);
        }
        Ok(())
    }
}

/// Path, size and modification time of a file.
pub(super) fn file_stamp(path: &Path) -> String {
    let (size, time) = fs::metadata(path).map_or((0, 0), |data| {
        let time = data.modified().ok();
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        (data.len(), since.map_or(0, |since| since.as_nanos()))
    });
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    format!("{} {size} {time}\n", path.display())
}

pub(super) fn is_note(path: &Path) -> bool {
    is_markdown(path) || has_extension(path, "txt")
}

fn is_markdown(path: &Path) -> bool {
    has_extension(path, "md") || has_extension(path, "markdown")
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// Format of a file of records by the extension, also compressed; `None` for other files.
pub(super) fn format_by_name(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    let mut ends = [".gz", ".zst"].iter();
    let name = ends.find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    Some(match name.rsplit_once('.')?.1 {
        "csv" => "CSV",
        "tsv" => "TSV",
        "json" | "jsonl" | "ndjson" => "JSON",
        "parquet" => "Parquet",
        "arrow" | "feather" => "Arrow",
        _ => return None,
    })
}

impl Corpus for NotesCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(NotesReader {
            notes: self,
            next: 0,
            skipped: Vec::new(),
        }))
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.files.len() as u64)
    }
}

struct NotesReader<'a> {
    notes: &'a NotesCorpus,
    next: usize,
    /// Path and error of each note that cannot be read.
    skipped: Vec<String>,
}

impl DocReader for NotesReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        while let Some(path) = self.notes.files.get(self.next) {
            self.next += 1;
            let text = match read(path, self.notes.encoding) {
                Ok(text) => text,
                Err(error) => {
                    self.skipped.push(format!("{}: {error:#}", path.display()));
                    continue;
                }
            };
            let below = path.strip_prefix(&self.notes.root).unwrap_or(path);
            doc.clear();
            doc.id = below.to_string_lossy().replace('\\', "/");
            let matter = is_markdown(path).then(|| FrontMatter::parse(&text));
            match matter.flatten() {
                Some(matter) => {
                    doc.title = matter.title.unwrap_or_else(|| title(path, matter.text));
                    doc.attributes = matter.attributes;
                    doc.text = matter.text.to_owned();
                }
                None => {
                    doc.title = title(path, &text);
                    doc.text = text;
                }
            }
            return Ok(true);
        }
        self.notes.report(&self.skipped)?;
        Ok(false)
    }
}

fn read(path: &Path, encoding: TextEncoding) -> Result<String> {
    let size = fs::metadata(path)?.len();
    if size > MAX_NOTE_BYTES {
        anyhow::bail!("expected a note of at most {MAX_NOTE_BYTES} bytes, found {size}");
    }
    let mut bytes = Vec::new();
    let file = io::BufReader::new(fs::File::open(path)?);
    encoding.decode(file).read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        anyhow::bail!("expected UTF-8 text, found a NUL byte");
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
        .context(format!("expected UTF-8 text{ENCODING_HINT}"))?;
    Ok(match text.strip_prefix('\u{FEFF}') {
        Some(unmarked) => unmarked.to_owned(),
        None => text,
    })
}

fn title(path: &Path, text: &str) -> String {
    let heading = text
        .lines()
        .take(20)
        .filter(|_| is_markdown(path))
        .find_map(|line| line.strip_prefix("# "));
    match heading {
        Some(heading) => heading.trim().to_owned(),
        None => path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default(),
    }
}
