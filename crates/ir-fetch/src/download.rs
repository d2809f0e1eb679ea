use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Checksum, DownloadError};

/// Remote file, with what is known about its content.
#[derive(Debug, Clone)]
pub struct Download {
    /// URL of the file.
    pub url: String,
    /// Expected size in bytes. A file of another size is an error, detected before or during the
    /// transfer. Default: unknown.
    pub size: Option<u64>,
    /// Expected checksum. Enables resuming of an interrupted run. Default: unknown.
    pub checksum: Option<Checksum>,
    /// If `true`, resumes the partial file of an interrupted run even if no checksum is known. The
    /// file on the server may have changed since, so the caller must verify the content. Default:
    /// false.
    pub unverified_resume: bool,
    /// Path of the partial file, on the file system of the destination. Default: `.NAME.part`
    /// beside the destination.
    pub partial_file: Option<PathBuf>,
}

impl Download {
    /// Creates a download of a URL with the defaults of the other fields.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            size: None,
            checksum: None,
            unverified_resume: false,
            partial_file: None,
        }
    }

    pub(crate) fn resumes(&self) -> bool {
        self.checksum.is_some() || self.unverified_resume
    }

    pub(crate) fn partial_path(&self, destination: &Path) -> Result<PathBuf, DownloadError> {
        let name = destination.file_name().filter(|_| !destination.is_dir());
        let name = name.ok_or_else(|| DownloadError::Directory {
            path: destination.to_owned(),
        })?;
        if let Some(path) = &self.partial_file {
            return Ok(path.clone());
        }
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".part");
        Ok(destination.with_file_name(hidden))
    }
}
