//! Reading of all papers of a folder, with a report per file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ir_core::{Flow, Progress};
use ir_data::DataError;

use super::DocumentError;
use super::format::DocumentFormat;
use super::paper::Paper;
use super::reader::{DocumentReader, MissingPart};

/// Reports of all files of a folder, in the order of their paths.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FolderReport {
    /// One report per file.
    pub files: Vec<FileReport>,
}

/// What became of a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileReport {
    /// Path relative to the folder, with `/`; the id of its paper. Names that are not Unicode are
    /// escaped, as in `\xff.txt`.
    pub path: String,
    /// What was read, or why nothing was.
    pub outcome: FileOutcome,
}

/// Outcome of reading a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileOutcome {
    /// The file was read.
    Read {
        /// Format of the file.
        format: DocumentFormat,
        /// Number of papers in the file.
        papers: u64,
        /// Parts that no paper of the file has.
        missing: Vec<MissingPart>,
    },
    /// The file was not opened: the caller has its papers.
    Unchanged,
    /// The file was not opened.
    Skipped(SkipReason),
    /// The file is damaged, or not in its format.
    Failed(DocumentError),
}

/// Reason to skip a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// No format has the extension.
    #[error("unknown extension")]
    Extension,
    /// The reader does not read PDF: it has no `PdfConfig`, or the crate not
    /// the feature `pdf`.
    #[error("PDF needs the feature `pdf`; or convert it, for example with GROBID or pdftotext")]
    Pdf,
    /// Neither a file nor a folder, such as a socket or a broken link.
    #[error("not a regular file")]
    NotAFile,
}

impl FolderReport {
    /// Number of files that were read.
    #[must_use]
    pub fn read(&self) -> usize {
        self.count(|outcome| matches!(outcome, FileOutcome::Read { .. }))
    }

    /// Number of files that were not read because they are unchanged.
    #[must_use]
    pub fn unchanged(&self) -> usize {
        self.count(|outcome| matches!(outcome, FileOutcome::Unchanged))
    }

    /// Number of skipped files.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.count(|outcome| matches!(outcome, FileOutcome::Skipped(_)))
    }

    /// Number of files with errors.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, FileOutcome::Failed(_)))
    }

    fn count(&self, is_counted: impl Fn(&FileOutcome) -> bool) -> usize {
        self.files
            .iter()
            .filter(|file| is_counted(&file.outcome))
            .count()
    }
}

impl DocumentReader {
    /// Reads all papers of a folder and its subfolders, or of one file, in the order of their
    /// paths, and passes each to `sink`. The id of a paper is the path of its file relative to the
    /// folder; of a file with several papers, it is followed by `#` and an id or number in the
    /// file. Names that start with a period are left out, and links to folders are not followed. A
    /// file that cannot be read is reported and stops nothing. Progress counts files.
    ///
    /// # Errors
    /// The folder cannot be listed, `sink` returns an error, or `progress` cancels.
    pub fn read_folder<E: From<DocumentError>>(
        &self,
        folder: &Path,
        progress: &mut dyn Progress,
        sink: &mut dyn FnMut(Paper) -> Result<(), E>,
    ) -> Result<FolderReport, E> {
        self.read_changed_files(folder, &mut |_, _| false, progress, &mut |_, paper| {
            sink(paper)
        })
    }

    /// Reads a folder like [`DocumentReader::read_folder`], but opens no file for which
    /// `is_unchanged` returns true. `is_unchanged` receives the id and the path of a file, `sink`
    /// the id of the file and a paper.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed, `sink` returns an error, or `progress`
    /// cancels.
    pub fn read_changed_files<E: From<DocumentError>>(
        &self,
        folder: &Path,
        is_unchanged: &mut dyn FnMut(&str, &Path) -> bool,
        progress: &mut dyn Progress,
        sink: &mut dyn FnMut(&str, Paper) -> Result<(), E>,
    ) -> Result<FolderReport, E> {
        let root = if folder.is_dir() {
            Some(folder)
        } else {
            folder.parent()
        };
        let root = root.unwrap_or(folder);
        let paths = document_files(folder)?.into_iter();
        let mut named: Vec<(String, PathBuf)> = paths
            .map(|path| (relative_name(root, &path), path))
            .collect();
        named.sort();
        let total = named.len() as u64;
        let mut report = FolderReport::default();
        for (done, (name, path)) in (0..).zip(named) {
            if progress.report("reading papers", done, Some(total)) == Flow::Stop {
                return Err(DocumentError::Canceled.into());
            }
            let outcome = match self.skip_reason(&path) {
                Some(reason) => FileOutcome::Skipped(reason),
                None if is_unchanged(&name, &path) => FileOutcome::Unchanged,
                None => match self.read_file(&path, &name) {
                    Ok(file) => {
                        let papers = file.papers.len() as u64;
                        let mut papers_of_file = file.papers.into_iter();
                        papers_of_file.try_for_each(|paper| sink(&name, paper))?;
                        FileOutcome::Read {
                            format: file.format,
                            papers,
                            missing: file.missing,
                        }
                    }
                    Err(error) => FileOutcome::Failed(error),
                },
            };
            report.files.push(FileReport {
                path: name,
                outcome,
            });
        }
        progress.report("reading papers", total, Some(total));
        Ok(report)
    }

    fn skip_reason(&self, path: &Path) -> Option<SkipReason> {
        if !path.is_file() {
            return Some(SkipReason::NotAFile);
        }
        match DocumentFormat::from_path(path) {
            None => Some(SkipReason::Extension),
            Some(DocumentFormat::Pdf) if !self.reads_pdf() => Some(SkipReason::Pdf),
            Some(_) => None,
        }
    }
}

/// Files that [`DocumentReader::read_folder`] reads or reports, in any order: the files of a folder
/// and its subfolders, or one file.
///
/// # Errors
/// The folder cannot be listed.
pub fn document_files(folder: &Path) -> Result<Vec<PathBuf>, DocumentError> {
    if folder.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut paths = Vec::new();
    let fail = |source: io::Error| DataError::Read {
        path: folder.display().to_string(),
        source,
    };
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let entries = match fs::read_dir(&next) {
            Ok(entries) => entries,
            Err(error) if next == folder => return Err(fail(error).into()),
            // A subfolder without permission is reported as a file.
            Err(_) => {
                paths.push(next);
                continue;
            }
        };
        for entry in entries {
            let entry = entry.map_err(fail)?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else if !entry.path().is_dir() {
                paths.push(entry.path());
            }
        }
    }
    Ok(paths)
}

fn relative_name(folder: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(folder).unwrap_or(path);
    let parts = relative.components().map(|part| {
        let part = part.as_os_str();
        // Distinct names have distinct ids.
        let escaped = || part.as_encoded_bytes().escape_ascii().to_string();
        part.to_str().map_or_else(escaped, str::to_owned)
    });
    parts.collect::<Vec<_>>().join("/")
}
