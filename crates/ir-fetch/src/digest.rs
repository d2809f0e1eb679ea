use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::DownloadError;

/// Checksum of a file in lowercase hexadecimal digits.
///
/// ```
/// use ir_fetch::Checksum;
/// let checksum = Checksum::sha256("AB12");
/// assert_eq!((checksum.algorithm(), checksum.digits()), ("SHA-256", "ab12"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksum {
    /// SHA-256 of the content.
    Sha256(String),
    /// Object id that Git gives the content as a blob: SHA-1 of a header and the content.
    GitBlob(String),
}

impl Checksum {
    /// Creates a SHA-256 from hexadecimal digits of either case.
    pub fn sha256(digits: impl Into<String>) -> Self {
        Self::Sha256(digits.into().to_ascii_lowercase())
    }

    /// Creates a Git blob id from hexadecimal digits of either case.
    pub fn git_blob(digits: impl Into<String>) -> Self {
        Self::GitBlob(digits.into().to_ascii_lowercase())
    }

    /// Lowercase hexadecimal digits of the checksum.
    #[must_use]
    pub fn digits(&self) -> &str {
        match self {
            Self::Sha256(digits) | Self::GitBlob(digits) => digits,
        }
    }

    /// Name of the algorithm in messages.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "SHA-256",
            Self::GitBlob(_) => "SHA-1 (Git)",
        }
    }

    /// Computes the checksum of a file by the same algorithm.
    pub(crate) fn compute(
        &self,
        path: &Path,
        report: &mut dyn FnMut(u64) -> Result<(), DownloadError>,
    ) -> Result<String, DownloadError> {
        let failed = |source| DownloadError::Read {
            path: path.to_owned(),
            source,
        };
        let mut file = File::open(path).map_err(failed)?;
        match self {
            Self::Sha256(_) => digest(Sha256::new(), &mut file, report).map_err(failed)?,
            Self::GitBlob(_) => {
                let bytes = file.metadata().map_err(failed)?.len();
                let hasher = Sha1::new().chain_update(format!("blob {bytes}\0"));
                digest(hasher, &mut file, report).map_err(failed)?
            }
        }
    }
}

/// Hashes a reader. The outer result reports errors of reading, the inner result errors of the
/// callback.
fn digest(
    mut hasher: impl Digest,
    file: &mut File,
    report: &mut dyn FnMut(u64) -> Result<(), DownloadError>,
) -> io::Result<Result<String, DownloadError>> {
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hasher.update(&buffer[..count]);
                done += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if let Err(error) = report(done) {
            return Ok(Err(error));
        }
    }
    let bytes = hasher.finalize();
    Ok(Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
}
