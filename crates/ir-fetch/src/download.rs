use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Checksum, DownloadError};

/// File to download: URL, size, checksum, partial file.
#[derive(Debug, Clone)]
pub struct Download {
    pub(crate) url: String,
    pub(crate) size: Option<u64>,
    pub(crate) checksum: Option<Checksum>,
    pub(crate) resume: bool,
    partial: Option<PathBuf>,
}

impl Download {
    /// Creates a download of a URL, of unknown size and checksum.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            size: None,
            checksum: None,
            resume: false,
            partial: None,
        }
    }

    /// Sets the expected size in bytes. A file of another size is an error, detected before or
    /// during the transfer.
    #[must_use]
    pub fn with_size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Sets the expected checksum. Enables resuming of an interrupted run.
    #[must_use]
    pub fn with_checksum(mut self, checksum: Checksum) -> Self {
        self.checksum = Some(checksum);
        self.resume = true;
        self
    }

    /// Resumes the partial file of an interrupted run even if no checksum is known. The file on the
    /// server may have changed since, so the caller must verify the content. Default: resume only
    /// if the checksum is known.
    #[must_use]
    pub fn with_unverified_resume(mut self) -> Self {
        self.resume = true;
        self
    }

    /// Sets the path of the partial file, on the file system of the destination. Default:
    /// `.NAME.part` beside the destination.
    #[must_use]
    pub fn with_partial_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.partial = Some(path.into());
        self
    }

    pub(crate) fn partial_file(&self, destination: &Path) -> Result<PathBuf, DownloadError> {
        let name = destination.file_name().filter(|_| !destination.is_dir());
        let name = name.ok_or_else(|| DownloadError::Directory {
            path: destination.to_owned(),
        })?;
        if let Some(path) = &self.partial {
            return Ok(path.clone());
        }
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".part");
        Ok(destination.with_file_name(hidden))
    }
}
