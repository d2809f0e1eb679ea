//! Papers of a folder, read into the store.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;
use std::{fs, iter, thread};

use ir_core::{Flow, NoProgress, Progress};
use ir_qa::documents::{DocumentReader, FileOutcome, FileReport, FolderReport, Paper, SkipReason};

use super::{Service, record_of};
use crate::config::PaperFolder;
use crate::error::{ServiceError, with_causes};
use crate::store::{FileProblem, FileStatus, Job, ReadDocument, StoreError};

/// Papers of a folder that are stored together.
pub(super) const FOLDER_BATCH: usize = 64;

/// Outcome of [`Service::read_folder`].
#[derive(Debug)]
#[non_exhaustive]
pub struct FolderRead {
    /// Reports of all files, in the order of their paths.
    pub report: FolderReport,
    /// Number of papers that were deleted, because their files do not exist any more.
    pub deleted: usize,
    /// If `true`, a publication would change what queries see.
    pub has_changes: bool,
}

/// Outcome of [`Service::rescan`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Rescan {
    /// Reports of all files, in the order of their paths.
    pub report: FolderReport,
    /// Number of papers that were deleted, because their files do not exist any more.
    pub deleted: usize,
    /// Publication that was started, if the documents have changed.
    pub publication: Option<Job>,
}

/// Folder of papers of a service, and the reading that runs.
#[derive(Debug, Default)]
pub(super) struct FolderState {
    papers: Option<PaperFolder>,
    reading: Mutex<ReadingState>,
    is_canceled: AtomicBool,
}

/// State of the reading of a folder since the service was opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadingState {
    /// Numbers of files that were read and of all files, while a folder is read.
    pub(crate) progress: Option<(u64, u64)>,
    /// Error of the last reading, or of the start of its publication.
    pub(crate) error: Option<String>,
    /// Id of the publication that [`Service::rescan`] started after the last reading.
    pub(crate) publication: Option<String>,
}

/// Reading that runs; its drop ends it, after a panic too.
struct RunningReading<'a>(&'a FolderState);

impl FolderState {
    pub(super) fn new(papers: Option<PaperFolder>) -> Self {
        Self {
            papers,
            ..Self::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, ReadingState> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Result<RunningReading<'_>, ServiceError> {
        let mut reading = self.lock();
        if reading.progress.is_some() {
            return Err(ServiceError::ReadingFolder);
        }
        *reading = ReadingState {
            progress: Some((0, 0)),
            ..ReadingState::default()
        };
        Ok(RunningReading(self))
    }

    /// Runs a reading and keeps its error.
    fn run<T>(&self, read: impl FnOnce() -> Result<T, ServiceError>) -> Result<T, ServiceError> {
        let _running = self.start()?;
        let result = read();
        if let Err(error) = &result {
            self.lock().error = Some(with_causes(error));
        }
        result
    }
}

impl Drop for RunningReading<'_> {
    fn drop(&mut self) {
        let mut reading = self.0.lock();
        reading.progress = None;
        if thread::panicking() {
            reading.error = Some(ServiceError::Panic.to_string());
        }
    }
}

impl Service {
    /// Reads the folder of [`ServiceConfig::papers`] again, like [`Service::read_folder`], and
    /// starts a publication if the documents have changed, unless publications of the same
    /// documents ended the process several times ([`Service::is_given_up`]).
    ///
    /// [`ServiceConfig::papers`]: crate::ServiceConfig::papers
    ///
    /// # Errors
    /// Returns [`ServiceError::NoFolder`] if the service has no folder, and the errors of
    /// [`Service::read_folder`].
    pub fn rescan(&self) -> Result<Rescan, ServiceError> {
        let papers = self.folder.papers.as_ref().ok_or(ServiceError::NoFolder)?;
        self.folder.run(|| {
            let read = self.read_reporting(&papers.path, &papers.reader, &mut NoProgress)?;
            let is_published = read.has_changes && !self.is_given_up()?;
            let publication = is_published.then(|| self.publish()).transpose()?;
            self.folder.lock().publication = publication.as_ref().map(|job| job.id.clone());
            tracing::info!(
                read = read.report.read(),
                unchanged = read.report.unchanged(),
                deleted = read.deleted,
                publishes = publication.is_some(),
                "the folder of papers was read again"
            );
            Ok(Rescan {
                report: read.report,
                deleted: read.deleted,
                publication,
            })
        })
    }

    /// Folder of papers that [`Service::rescan`] reads.
    pub(crate) fn papers(&self) -> Option<&Path> {
        self.folder.papers.as_ref().map(|papers| &*papers.path)
    }

    /// Path of the file that a published document was read from. The id of the document is the path
    /// in the folder, with `#` and a name for records of a file.
    ///
    /// # Errors
    /// Returns [`ServiceError::NoFile`] if the document was added in another way, or its file does
    /// not exist any more.
    pub(crate) fn file_of(&self, id: &str) -> Result<PathBuf, ServiceError> {
        let state = self.published()?;
        let document = state.document(id).filter(|document| document.is_in_folder);
        let prefixes = id.match_indices('#').map(|(end, _)| &id[..end]).rev();
        let file = |folder: &Path| {
            let mut names = iter::once(id).chain(prefixes).filter(|name| is_below(name));
            if folder.is_file() {
                return names
                    .any(|name| folder.file_name().is_some_and(|file| file == name))
                    .then(|| folder.to_owned());
            }
            names
                .map(|name| folder.join(name))
                .find(|path| path.is_file())
        };
        let folder = document.and_then(|_| self.papers());
        folder
            .and_then(file)
            .ok_or_else(|| ServiceError::NoFile { id: id.to_owned() })
    }

    /// Reader of the files of the folder, or the default one without a folder.
    pub(super) fn reader(&self) -> DocumentReader {
        let papers = self.folder.papers.as_ref();
        papers.map_or_else(DocumentReader::default, |papers| papers.reader.clone())
    }

    /// State of the reading of a folder.
    pub(crate) fn reading_state(&self) -> ReadingState {
        self.folder.lock().clone()
    }

    /// Cancels the reading of a folder after the current file, and all later readings.
    pub fn cancel_reading(&self) {
        self.folder.is_canceled.store(true, Ordering::Relaxed);
    }

    /// Adds the papers of a folder, and deletes documents if their files do not exist any more.
    /// Documents of files that exist and cannot be read, or are skipped, are kept. Files are not
    /// read again if size, modification time and documents are the same as at the last reading by
    /// the same program. Documents that were added, replaced or deleted over REST stay so; a
    /// deleted document is added again when its file has changed. The store lists the files that
    /// failed, were skipped or lack parts ([`Store::file_problems`]).
    ///
    /// [`Store::file_problems`]: crate::store::Store::file_problems
    ///
    /// # Errors
    /// A folder is being read; the folder cannot be listed; no file can be read, and documents
    /// would be deleted ([`ServiceError::NoReadableFiles`], nothing is changed); the disk is full
    /// or fails.
    pub fn read_folder(
        &self,
        folder: &Path,
        reader: &DocumentReader,
        progress: &mut dyn Progress,
    ) -> Result<FolderRead, ServiceError> {
        self.folder
            .run(|| self.read_reporting(folder, reader, progress))
    }

    /// Reads a folder within [`FolderState::run`], which gets the progress.
    fn read_reporting(
        &self,
        folder: &Path,
        reader: &DocumentReader,
        progress: &mut dyn Progress,
    ) -> Result<FolderRead, ServiceError> {
        let mut reported = |stage: &str, done: u64, total: Option<u64>| {
            self.folder.lock().progress = Some((done, total.unwrap_or(0)));
            let is_stopped =
                self.folder.is_canceled.load(Ordering::Relaxed) || self.damage().is_some();
            match progress.report(stage, done, total) {
                Flow::Continue if is_stopped => Flow::Stop,
                flow => flow,
            }
        };
        self.read_into_store(folder, reader, &mut reported)
    }

    fn read_into_store(
        &self,
        folder: &Path,
        reader: &DocumentReader,
        progress: &mut dyn Progress,
    ) -> Result<FolderRead, ServiceError> {
        let gone = RefCell::new(self.store.folder_documents()?);
        let reader_stamp = reader_stamp(reader);
        // Stamps of the files that are read, from before they are opened.
        let stamps: RefCell<HashMap<String, (String, Vec<String>)>> = RefCell::default();
        let mut batch = Vec::new();
        let mut is_unchanged = |name: &str, path: &Path| {
            let Some(stamp) = file_stamp(path) else {
                return false;
            };
            // A store that cannot be read fails when the documents are added.
            match self.store.documents_of_file(name, &stamp, &reader_stamp) {
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
            let mut stamp = String::new();
            if let Some((file_stamp, ids)) = stamps.borrow_mut().get_mut(name) {
                stamp.clone_from(file_stamp);
                ids.push(paper.id.clone());
            }
            batch.push(ReadDocument {
                record: record_of(&paper),
                id: paper.id,
                stamp,
            });
            if batch.len() == FOLDER_BATCH {
                self.store.add_read_documents(&std::mem::take(&mut batch))?;
            }
            Ok::<_, ServiceError>(())
        };
        let report = reader.read_changed_files(folder, &mut is_unchanged, progress, &mut add)?;
        self.store.add_read_documents(&batch)?;
        let mut gone = gone.into_inner();
        let mut stamps = stamps.into_inner();
        let read = report
            .files
            .iter()
            .filter(|file| matches!(file.outcome, FileOutcome::Read { .. }));
        let read = read.filter_map(|file| {
            let (stamp, ids) = stamps.remove(&file.path)?;
            Some((file.path.clone(), format!("{stamp} {reader_stamp}"), ids))
        });
        self.store.set_files(&read.collect::<Vec<_>>())?;
        self.keep_unread(&report, &mut gone)?;
        // An unmounted folder is empty.
        if report.read() + report.unchanged() == 0 && !gone.is_empty() {
            return Err(ServiceError::NoReadableFiles {
                path: folder.display().to_string(),
                documents: self.store.folder_documents()?.len(),
            });
        }
        let gone = gone.iter().map(String::as_str);
        let deleted = self.store.delete_folder_documents(gone)?;
        let (problems, unchanged) = problems(&report);
        let path = folder.display().to_string();
        self.store
            .set_folder_reading(&path, report.files.len(), &problems, &unchanged)?;
        if !problems.is_empty() {
            let [failed, skipped, incomplete] = self.store.file_problem_counts()?;
            tracing::warn!(
                failed,
                skipped,
                incomplete,
                "files with problems; /files lists them"
            );
        }
        Ok(FolderRead {
            report,
            deleted,
            has_changes: self.store.has_changes()?,
        })
    }

    /// Removes documents from `gone` if their files or folders exist, but were not read: they may
    /// be readable later.
    fn keep_unread(
        &self,
        report: &FolderReport,
        gone: &mut HashSet<String>,
    ) -> Result<(), StoreError> {
        let mut files: HashSet<&str> = HashSet::new();
        let mut folders: HashSet<&str> = HashSet::new();
        for FileReport { path, outcome, .. } in &report.files {
            match outcome {
                FileOutcome::Failed(_) => {}
                FileOutcome::Skipped(reason) => {
                    // A folder without permission is reported as a file.
                    if *reason == SkipReason::NotAFile {
                        folders.insert(path);
                    }
                }
                _ => continue,
            }
            files.insert(path);
            for id in self.store.last_documents_of_file(path)? {
                gone.remove(&id);
            }
        }
        // Ids of documents are `file` or `file#name`. Those of older stores are not recorded.
        gone.retain(|id| {
            let mut prefixes = id.match_indices('#').map(|(end, _)| &id[..end]);
            let is_of_file =
                files.contains(id.as_str()) || prefixes.any(|file| files.contains(file));
            let mut parents = id.match_indices('/').map(|(end, _)| &id[..end]);
            !is_of_file && !parents.any(|folder| folders.contains(folder))
        });
        Ok(())
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

/// Returns `true` if a path stays below the folder that it is joined to.
fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
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
