//! One file of a model into the cache: downloaded, gone on with, verified.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha1::Sha1;
use sha2::{Digest, Sha256};
use ureq::http::header::{CONTENT_RANGE, RANGE};
use ureq::http::{HeaderMap, Response};

use super::fetch::{Attempt, Connection, Meter};
use super::{Hub, HubError};

/// The content of a file, and the name under which the cache keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) url: String,
    pub(super) bytes: u64,
    pub(super) hash: Hash,
}

/// What the hub knows of a content, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hash {
    /// Of a large file.
    Sha256(String),
    /// Of a file in git.
    Git(String),
}

impl Hash {
    pub(super) fn digits(&self) -> &str {
        match self {
            Self::Sha256(digits) | Self::Git(digits) => digits,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "SHA-256",
            Self::Git(_) => "SHA-1 (of git)",
        }
    }
}

impl Blob {
    /// Puts it into the folder of blobs, unless it is there. `locks` is the folder in which
    /// `huggingface_hub` locks what it downloads.
    pub(super) fn bring(
        &self,
        connection: &Connection<'_>,
        blobs: &Path,
        locks: &Path,
        meter: &mut Meter<'_>,
    ) -> Result<PathBuf, HubError> {
        let path = blobs.join(self.hash.digits());
        let _lock = lock(
            &locks.join(format!("{}.lock", self.hash.digits())),
            connection.hub,
            meter,
        )?;
        // It was verified when it came under this name; what became of it since, its size may tell.
        if length(&path) == Some(self.bytes) {
            meter.at("downloading", self.bytes)?;
            return Ok(path);
        }
        let part = blobs.join(format!("{}.incomplete", self.hash.digits()));
        if length(&part).is_some_and(|found| found > self.bytes) {
            fs::remove_file(&part).map_err(|error| write(&part, error))?;
        }
        if length(&part) != Some(self.bytes) {
            connection.persist(&self.url, meter, |meter| {
                self.attempt(connection, &part, meter)
            })?;
        }
        self.verify(&part, meter)?;
        fs::rename(&part, &path).map_err(|error| write(&path, error))?;
        Ok(path)
    }

    /// One request; appends to the partial file what the hub sends.
    fn attempt(
        &self,
        connection: &Connection<'_>,
        part: &Path,
        meter: &mut Meter<'_>,
    ) -> Result<Attempt<()>, HubError> {
        let before = length(part).unwrap_or(0);
        let mut request = connection.get(&self.url);
        if before > 0 {
            request = request.header(RANGE, format!("bytes={before}-"));
        }
        let response = match connection.answer(request.call(), &self.url)? {
            Attempt::Done(response) => response,
            Attempt::Again(error) => return Ok(Attempt::Again(error)),
            Attempt::Advanced(error) => return Ok(Attempt::Advanced(error)),
        };
        let (mut have, resumed) = match response.status().as_u16() {
            206 if start(response.headers()) == Some(before) => (before, before > 0),
            200 => (0, false),
            // Something else than was asked for: start again.
            status => {
                let _ = fs::remove_file(part);
                let url = self.url.clone();
                return Ok(Attempt::Again(HubError::Status { url, status }));
            }
        };
        let broken = self.append(response, part, &mut have, meter)?;
        match have == self.bytes {
            true => Ok(Attempt::Done(())),
            // A whole answer that is short is not the file.
            false if !broken => {
                let _ = fs::remove_file(part);
                Err(self.wrong_size(have))
            }
            false => {
                let cut = HubError::Cut {
                    url: self.url.clone(),
                    expected: self.bytes,
                    found: have,
                };
                // Nothing is gained from a hub that starts again each time.
                let advanced = have > before && (resumed || before == 0);
                Ok(match advanced {
                    true => Attempt::Advanced(cut),
                    false => Attempt::Again(cut),
                })
            }
        }
    }

    /// Whether the connection broke.
    fn append(
        &self,
        response: Response<ureq::Body>,
        part: &Path,
        have: &mut u64,
        meter: &mut Meter<'_>,
    ) -> Result<bool, HubError> {
        let open = OpenOptions::new().create(true).append(true).open(part);
        let mut file = open.map_err(|error| write(part, error))?;
        if *have == 0 {
            file.set_len(0).map_err(|error| write(part, error))?;
        }
        let mut reader = response.into_body().into_reader();
        let mut buffer = vec![0; 1 << 16];
        let broken = loop {
            let count = match reader.read(&mut buffer) {
                Ok(0) => break false,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break true,
            };
            *have += count as u64;
            if *have > self.bytes {
                let _ = fs::remove_file(part);
                return Err(self.wrong_size(*have));
            }
            file.write_all(&buffer[..count])
                .map_err(|error| write(part, error))?;
            meter.at("downloading", *have)?;
        };
        file.sync_all().map_err(|error| write(part, error))?;
        Ok(broken)
    }

    fn verify(&self, part: &Path, meter: &mut Meter<'_>) -> Result<(), HubError> {
        let found = match self.hash {
            Hash::Sha256(_) => digest(Sha256::new(), part, meter)?,
            Hash::Git(_) => {
                let head = format!("blob {}\0", self.bytes);
                digest(Sha1::new().chain_update(head), part, meter)?
            }
        };
        if found == self.hash.digits() {
            return Ok(());
        }
        fs::remove_file(part).map_err(|error| write(part, error))?;
        Err(HubError::Hash {
            url: self.url.clone(),
            hash: self.hash.name(),
            expected: self.hash.digits().to_owned(),
            found,
        })
    }

    fn wrong_size(&self, found: u64) -> HubError {
        HubError::Size {
            url: self.url.clone(),
            expected: self.bytes,
            found,
        }
    }
}

/// The digits of a file's hash.
fn digest(mut hasher: impl Digest, path: &Path, meter: &mut Meter<'_>) -> Result<String, HubError> {
    let read = |source| HubError::Read {
        path: path.into(),
        source,
    };
    let mut file = File::open(path).map_err(read)?;
    let mut buffer = vec![0; 1 << 16];
    let mut done = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hasher.update(&buffer[..count]);
                done += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read(error)),
        }
        meter.at("verifying", done)?;
    }
    let digits = hasher.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Waits until nobody else downloads the same. The lock ends with the file.
fn lock(path: &Path, hub: &Hub, meter: &mut Meter<'_>) -> Result<File, HubError> {
    let open = OpenOptions::new().create(true).append(true).open(path);
    let file = open.map_err(|error| write(path, error))?;
    while let Err(TryLockError::WouldBlock) = file.try_lock() {
        hub.wait(Duration::from_millis(200), meter)?;
    }
    // File systems without locks have none to wait for.
    Ok(file)
}

/// Where a part begins: 100 of `bytes 100-199/200`.
fn start(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (start, _) = text.strip_prefix("bytes ")?.split_once('-')?;
    start.parse().ok()
}

fn length(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|metadata| metadata.len())
}

pub(super) fn write(path: &Path, source: io::Error) -> HubError {
    HubError::Write {
        path: path.into(),
        source,
    }
}
