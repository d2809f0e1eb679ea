//! Papers of a folder, read into the store.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ir_core::Progress;
use ir_qa::documents::{
    DocumentError, DocumentReader, FileOutcome, FileReport, FolderReport, Paper,
};

use super::{Service, record_of};
use crate::error::{ServiceError, with_causes};
use crate::store::{FileProblem, FileStatus, Origin, StoreError};

/// Papers of a folder that are stored together.
const FOLDER_BATCH: usize = 64;

impl Service {
    /// Adds the papers of a folder, and deletes documents that were read from it and are gone;
    /// those of files with errors are kept. Files are not read again if their sizes, times of
    /// modification and documents are those of the last reading by the same program. Returns the
    /// report per file, and whether a publication would change what queries see. The store has the
    /// files that failed, were skipped or lack parts ([`Store::file_problems`]).
    ///
    /// [`Store::file_problems`]: crate::store::Store::file_problems
    ///
    /// # Errors
    /// The folder cannot be listed; the disk is full or fails.
    pub fn read_folder(
        &self,
        folder: &Path,
        reader: &DocumentReader,
        progress: &mut dyn Progress,
    ) -> Result<(FolderReport, bool), ServiceError> {
        let gone = RefCell::new(self.store.folder_documents()?);
        let reader_stamp = reader_stamp(reader);
        // Stamps of the files that are read, from before they are opened.
        let stamps: RefCell<HashMap<String, (String, Vec<String>)>> = RefCell::default();
        let mut batch = Vec::new();
        let mut is_unchanged = |name: &str, path: &Path| {
            let Some(stamp) = file_stamp(path) else {
                return false;
            };
            let stamp = format!("{stamp} {reader_stamp}");
            // A store that cannot be read fails when the documents are added.
            match self.store.documents_of_file(name, &stamp) {
                Ok(Some(ids)) => {
                    let mut gone = gone.borrow_mut();
                    ids.iter().for_each(|id| {
                        gone.remove(id);
                    });
                    true
                }
                _ => {
                    let read = (stamp, Vec::new());
                    stamps.borrow_mut().insert(name.to_owned(), read);
                    false
                }
            }
        };
        let mut add = |name: &str, paper: Paper| {
            gone.borrow_mut().remove(&paper.id);
            if let Some((_, ids)) = stamps.borrow_mut().get_mut(name) {
                ids.push(paper.id.clone());
            }
            batch.push((paper.id.clone(), record_of(&paper)));
            if batch.len() == FOLDER_BATCH {
                self.store
                    .add(&std::mem::take(&mut batch), Origin::Folder)?;
            }
            Ok::<_, FolderError>(())
        };
        let report = reader.read_changed_files(folder, &mut is_unchanged, progress, &mut add);
        let report = report.map_err(|error| match error {
            FolderError::Document(error) => ServiceError::Document(error),
            FolderError::Store(error) => ServiceError::Store(error),
        })?;
        self.store.add(&batch, Origin::Folder)?;
        let mut gone = gone.into_inner();
        let mut stamps = stamps.into_inner();
        let read = report
            .files
            .iter()
            .filter(|file| matches!(file.outcome, FileOutcome::Read { .. }));
        let read = read.filter_map(|file| {
            let (stamp, ids) = stamps.remove(&file.path)?;
            Some((file.path.clone(), stamp, ids))
        });
        self.store.set_files(&read.collect::<Vec<_>>())?;
        let (problems, unchanged) = problems(&report);
        self.store.set_file_problems(&problems, &unchanged)?;
        if !problems.is_empty() {
            let [failed, skipped, incomplete] = self.store.file_problem_counts()?;
            tracing::warn!(
                failed,
                skipped,
                incomplete,
                "files with problems; /files lists them"
            );
        }
        // A file that is damaged at the moment keeps its documents.
        let failed: HashSet<&str> = report
            .files
            .iter()
            .filter(|file| matches!(file.outcome, FileOutcome::Failed(_)))
            .map(|file| &*file.path)
            .collect();
        gone.retain(|id| {
            let mut folders = id.match_indices('/').map(|(end, _)| &id[..end]);
            !failed.contains(id.as_str()) && !folders.any(|folder| failed.contains(folder))
        });
        let gone: Vec<String> = gone.into_iter().collect();
        self.store.delete(Some(&gone))?;
        Ok((report, self.store.has_changes()?))
    }
}

/// Problems of the files of a report, and the paths of files that were not read again.
fn problems(report: &FolderReport) -> (Vec<FileProblem>, HashSet<&str>) {
    let mut unchanged = HashSet::new();
    let mut problems = Vec::new();
    for FileReport { path, outcome, .. } in &report.files {
        let (status, reason) = match outcome {
            FileOutcome::Failed(error) => (FileStatus::Failed, with_causes(error)),
            FileOutcome::Skipped(reason) => (FileStatus::Skipped, reason.to_string()),
            FileOutcome::Read { missing, .. } if !missing.is_empty() => {
                let missing = missing.iter().map(|part| format!("no {part}"));
                let missing: Vec<String> = missing.collect();
                (FileStatus::Incomplete, missing.join(", "))
            }
            FileOutcome::Unchanged => {
                unchanged.insert(&**path);
                continue;
            }
            _ => continue,
        };
        problems.push(FileProblem {
            path: path.clone(),
            status,
            reason,
        });
    }
    (problems, unchanged)
}

/// Size and time of modification of a file.
fn file_stamp(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}", metadata.len(), modified.as_nanos()))
}

/// Parameters of a reader and stamp of the program, which may convert files in another way after an
/// update.
fn reader_stamp(reader: &DocumentReader) -> String {
    let program = std::env::current_exe().ok();
    let program = program.and_then(|path| file_stamp(&path));
    format!("{} {reader:?}", program.unwrap_or_default())
}

/// Error of reading a folder into the store.
enum FolderError {
    Document(DocumentError),
    Store(StoreError),
}

impl From<DocumentError> for FolderError {
    fn from(error: DocumentError) -> Self {
        Self::Document(error)
    }
}

impl From<StoreError> for FolderError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
