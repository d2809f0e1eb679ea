//! One file by HTTP.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ir_core::{Flow, Progress};
use ureq::Agent;
use ureq::http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, IF_RANGE, RANGE,
};

use super::FetchError;
use crate::DataError;
use crate::catalogue::sha256_of;
use crate::error::name_of;

/// A file to download.
///
/// ```no_run
/// use ir_data::fetch::Download;
/// Download::new("https://example.org/corpus.jsonl.gz")
///     .expecting(1_410_514, "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b")
///     .to("corpus.jsonl.gz", &mut ir_core::NoProgress)?;
/// # Ok::<(), ir_data::fetch::FetchError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Download {
    url: String,
    bytes: Option<u64>,
    sha256: Option<String>,
    resume: bool,
    attempts: u32,
    pause: Duration,
}

impl Download {
    /// The file at an address, of which nothing is known.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            bytes: None,
            sha256: None,
            resume: false,
            attempts: 5,
            pause: Duration::from_secs(1),
        }
    }

    /// Expects this size, and this SHA-256 in hexadecimal digits.
    #[must_use]
    pub fn expecting(mut self, bytes: u64, sha256: impl Into<String>) -> Self {
        self.bytes = Some(bytes);
        self.sha256 = Some(sha256.into().to_ascii_lowercase());
        self.resume = true;
        self
    }

    /// Goes on with what an earlier run left behind, though no hash can tell whether the file has
    /// changed meanwhile: the caller checks the content. With an expected hash this is so anyway.
    #[must_use]
    pub fn resuming(mut self) -> Self {
        self.resume = true;
        self
    }

    /// Gives up after this many attempts in a row that brought nothing (5), and waits this long
    /// after the first of them (one second), then twice as long, and so on.
    #[must_use]
    pub fn attempts(mut self, attempts: u32, pause: Duration) -> Self {
        self.attempts = attempts.max(1);
        self.pause = pause;
        self
    }

    /// Downloads the file to `path`.
    ///
    /// # Errors
    /// When the server cannot be reached or says no, the connection breaks too often, size or hash
    /// are wrong, the file cannot be written, or the caller asks to stop.
    pub fn to(
        &self,
        path: impl AsRef<Path>,
        progress: &mut dyn Progress,
    ) -> Result<(), FetchError> {
        let path = path.as_ref();
        let part = part_of(path)?;
        let write = |source| DataError::Write {
            path: name_of(&part),
            source,
        };
        if !self.resume && part.exists() {
            fs::remove_file(&part).map_err(write)?;
        }
        // What an earlier run has brought in full needs no request; the hash decides.
        if self.sha256.is_none() || self.bytes != Some(length(&part)) {
            self.complete(&part, progress)?;
        }
        if let Some(expected) = &self.sha256 {
            let total = self.bytes;
            let (found, _) = sha256_of(&part, &mut |done| {
                go_on(progress.report("hashing", done, total))
            })?;
            if found != *expected {
                fs::remove_file(&part).map_err(write)?;
                return Err(FetchError::Sha256 {
                    url: self.url.clone(),
                    expected: expected.clone(),
                    found,
                });
            }
        }
        let finish = || -> io::Result<()> {
            File::open(&part)?.sync_all()?;
            fs::rename(&part, path)
        };
        Ok(finish().map_err(|source| DataError::Write {
            path: name_of(path),
            source,
        })?)
    }

    /// Brings the partial file to its full length, in as many attempts as it takes.
    fn complete(&self, part: &Path, progress: &mut dyn Progress) -> Result<(), FetchError> {
        let agent: Agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(30)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)))
            .user_agent(concat!("ir-data/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        let mut state = State::default();
        let mut failures = 0;
        loop {
            let before = length(part);
            let outcome = self.attempt(&agent, part, &mut state, progress)?;
            let found = length(part);
            let error = match outcome {
                Outcome::Complete => return Ok(()),
                Outcome::Broken => FetchError::Cut {
                    url: self.url.clone(),
                    expected: self.bytes.or(state.total).unwrap_or(0),
                    found,
                },
                Outcome::Refused(status) => FetchError::Status {
                    url: self.url.clone(),
                    status,
                },
                Outcome::NoAnswer(source) => FetchError::NoAnswer {
                    url: self.url.clone(),
                    attempts: failures + 1,
                    source,
                },
            };
            // An attempt that brought something does not count, unless the server starts again
            // each time.
            if found > before && state.resumed {
                failures = 0;
            }
            failures += 1;
            if failures >= self.attempts {
                return Err(error);
            }
            self.wait(failures, found, state.total, progress)?;
        }
    }

    /// Waits before the next attempt, and asks now and then whether to go on.
    fn wait(
        &self,
        failures: u32,
        done: u64,
        total: Option<u64>,
        progress: &mut dyn Progress,
    ) -> Result<(), FetchError> {
        let mut left = self.pause.saturating_mul(1 << (failures - 1).min(6));
        while !left.is_zero() {
            let step = left.min(Duration::from_millis(100));
            std::thread::sleep(step);
            left -= step;
            go_on(progress.report("waiting", done, total))?;
        }
        Ok(())
    }

    /// One request; appends to the partial file what the server sends.
    fn attempt(
        &self,
        agent: &Agent,
        part: &Path,
        state: &mut State,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, FetchError> {
        let mut have = length(part);
        let mut request = agent.get(&self.url);
        if have > 0 {
            request = request.header(RANGE, format!("bytes={have}-"));
            if let Some(tag) = &state.tag {
                request = request.header(IF_RANGE, tag);
            }
        }
        let response = match request.call() {
            Ok(response) => response,
            Err(error) => return Ok(Outcome::NoAnswer(Box::new(error))),
        };
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        let write = |source| DataError::Write {
            path: name_of(part),
            source,
        };
        let stated = number(&head.headers, &CONTENT_LENGTH);
        let total = match status {
            200 => {
                have = 0;
                stated
            }
            206 => match ContentRange::of(&head.headers) {
                Some(range) if range.start == Some(have) => {
                    state.resumed = have > 0;
                    range.total.or(stated.map(|more| have + more))
                }
                // Something else than was asked for: start again.
                _ => {
                    fs::remove_file(part).map_err(write)?;
                    return Ok(Outcome::Broken);
                }
            },
            // Nothing is left to send, or the file has become shorter.
            416 if have > 0 => {
                let total = ContentRange::of(&head.headers).and_then(|range| range.total);
                if total == Some(have) {
                    self.check_size(have)?;
                    return Ok(Outcome::Complete);
                }
                fs::remove_file(part).map_err(write)?;
                return Ok(Outcome::Broken);
            }
            408 | 429 | 500.. => return Ok(Outcome::Refused(status)),
            _ => {
                return Err(FetchError::Status {
                    url: self.url.clone(),
                    status,
                });
            }
        };
        if let Some(total) = total {
            self.check_size(total)?;
        }
        state.total = total;
        state.tag = strong_tag(&head.headers);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(part)
            .map_err(write)?;
        if have == 0 {
            file.set_len(0).map_err(write)?;
        }
        let limit = self.bytes.or(total);
        let mut reader = body.into_reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Ok(Outcome::Broken),
            };
            file.write_all(&buffer[..count]).map_err(write)?;
            have += count as u64;
            if limit.is_some_and(|limit| have > limit) {
                fs::remove_file(part).map_err(write)?;
                return Err(self.wrong_size(limit.unwrap_or(0), have));
            }
            go_on(progress.report("downloading", have, total.or(self.bytes)))?;
        }
        match limit {
            Some(limit) if have < limit => Ok(Outcome::Broken),
            _ => Ok(Outcome::Complete),
        }
    }

    fn check_size(&self, found: u64) -> Result<(), FetchError> {
        match self.bytes {
            Some(expected) if expected != found => Err(self.wrong_size(expected, found)),
            _ => Ok(()),
        }
    }

    fn wrong_size(&self, expected: u64, found: u64) -> FetchError {
        FetchError::Size {
            url: self.url.clone(),
            expected,
            found,
        }
    }
}

/// What is known from earlier attempts.
#[derive(Default)]
struct State {
    /// The file's full length.
    total: Option<u64>,
    /// The mark of the file's version.
    tag: Option<String>,
    /// Whether the server has sent a rest.
    resumed: bool,
}

enum Outcome {
    Complete,
    Broken,
    Refused(u16),
    NoAnswer(Box<dyn std::error::Error + Send + Sync>),
}

struct ContentRange {
    start: Option<u64>,
    total: Option<u64>,
}

impl ContentRange {
    /// `bytes 100-199/200`, `bytes */200`.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(CONTENT_RANGE)?.to_str().ok()?;
        let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
        Some(Self {
            start: range
                .split_once('-')
                .and_then(|(start, _)| start.parse().ok()),
            total: total.parse().ok(),
        })
    }
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// A tag that vouches for every byte; weak ones do not.
fn strong_tag(headers: &HeaderMap) -> Option<String> {
    let tag = headers.get(ETAG)?.to_str().ok()?;
    (!tag.starts_with("W/")).then(|| tag.to_owned())
}

/// The partial file of a destination.
pub(super) fn part_of(path: &Path) -> Result<PathBuf, DataError> {
    let name = path.file_name().ok_or_else(|| DataError::Folder {
        path: name_of(path),
    })?;
    if path.is_dir() {
        return Err(DataError::Folder {
            path: name_of(path),
        });
    }
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".part");
    Ok(path.with_file_name(hidden))
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

pub(super) fn go_on(flow: Flow) -> Result<(), DataError> {
    match flow {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(DataError::Cancelled),
    }
}
