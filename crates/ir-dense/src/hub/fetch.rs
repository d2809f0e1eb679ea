//! [`Hub`]: which files a model has, and the way of those that an encoder needs into the cache.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ir_core::{AtomicFile, Flow, Progress};
use serde::Deserialize;
use ureq::config::RedirectAuthHeaders;
use ureq::http::Response;
use ureq::http::header::{ACCEPT_ENCODING, AUTHORIZATION};
use ureq::typestate::WithoutBody;
use ureq::{Agent, RequestBuilder};

use super::blob::{Blob, Hash, write};
use super::{Address, HubError, ModelCache, folder_name, plain};
use crate::TransformerConfig;
use crate::folder::{self, LIMITS, Module};

/// The hub that models are fetched from: Hugging Face's, or one that speaks like it.
#[derive(Clone)]
pub struct Hub {
    endpoint: String,
    token: Option<String>,
    offline: bool,
    attempts: u32,
    pause: Duration,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is a secret.
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("Hub")
            .field("endpoint", &self.endpoint)
            .field("token", &token)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// The hub as Hugging Face's tools find it: its address in the variable `HF_ENDPOINT`, or else
    /// `https://huggingface.co`; a token in `HF_TOKEN`, if that is set; no hub at all if
    /// `HF_HUB_OFFLINE` is `1`, `ON`, `YES` or `TRUE`.
    #[must_use]
    pub fn from_env() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = variable("HF_ENDPOINT");
        let mut hub = Self::at(endpoint.as_deref().unwrap_or("https://huggingface.co"));
        hub.token = variable("HF_TOKEN").map(|token| token.trim().to_owned());
        hub.offline = variable("HF_HUB_OFFLINE").is_some_and(|value| {
            ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str())
        });
        hub
    }

    /// The hub at an address, without a token.
    pub fn at(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into().trim_end_matches('/').to_owned(),
            token: None,
            offline: false,
            attempts: 5,
            pause: Duration::from_millis(500),
        }
    }

    /// Sends this token to the hub, and to no other host.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Gives up after this many attempts in a row that brought nothing (5), and waits this long after
    /// the first of them (half a second), then twice as long, and so on.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32, pause: Duration) -> Self {
        self.attempts = attempts.max(1);
        self.pause = pause;
        self
    }

    /// Waits, and asks now and then whether to go on.
    pub(super) fn wait(&self, time: Duration, meter: &mut Meter<'_>) -> Result<(), HubError> {
        let mut left = time;
        while !left.is_zero() {
            let step = left.min(Duration::from_millis(100));
            std::thread::sleep(step);
            left -= step;
            meter.report("waiting")?;
        }
        Ok(())
    }
}

impl ModelCache {
    /// Downloads of a model what an encoder needs, from the hub that [`Hub::from_env`] finds, and gives
    /// its folder, for [`BiEncoder::open`](crate::BiEncoder::open). What is in the cache already stays;
    /// what an earlier attempt has left unfinished is gone on with, whether it was this crate's or
    /// Python's. Everything is verified by its hash. Python's `huggingface_hub` finds the model
    /// afterwards.
    ///
    /// `name` is as in [`ModelCache::find`]. A branch is looked up anew each time.
    ///
    /// ```no_run
    /// use ir_dense::{BiEncoder, KnownModel, ModelCache};
    ///
    /// let cache = ModelCache::from_env().ok_or("no home directory")?;
    /// let folder = cache.fetch("intfloat/e5-small-v2", &mut ir_core::NoProgress)?;
    /// let known = KnownModel::find("e5-small-v2").ok_or("not in the catalogue")?;
    /// let encoder = BiEncoder::open_with(folder, &known.config())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// See [`HubError`].
    pub fn fetch(&self, name: &str, progress: &mut dyn Progress) -> Result<PathBuf, HubError> {
        self.fetch_from(&Hub::from_env(), name, progress)
    }

    /// The same from another hub: a mirror.
    ///
    /// # Errors
    /// See [`HubError`].
    pub fn fetch_from(
        &self,
        hub: &Hub,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<PathBuf, HubError> {
        let address = Address::of(name).ok_or_else(|| HubError::Name { name: name.into() })?;
        if hub.offline {
            return Err(HubError::Offline);
        }
        let connection = Connection::new(hub, address);
        let mut meter = Meter::new(progress);
        let listing = connection.listing(&mut meter)?;
        let model = self.folder_of(address.name);
        let blobs = make(model.join("blobs"))?;
        let locks = make(self.folder().join(".locks").join(folder_name(address.name)))?;
        let bring = |file: &str, meter: &mut Meter<'_>| {
            let Some(blob) = listing.blob(&connection, file)? else {
                return Ok(None);
            };
            meter.file(blob.bytes);
            let path = blob.bring(&connection, &blobs, &locks, meter)?;
            meter.finish();
            Ok(Some((file.to_owned(), path)))
        };
        // Whether it is a model for this crate is known before the weights are downloaded.
        let mut files = Vec::new();
        let described = bring("config.json", &mut meter)?;
        let described = described.ok_or_else(|| connection.missing("config.json"))?;
        let shape = TransformerConfig::read_file(&described.1);
        shape.map_err(|source| connection.unsuitable(source))?;
        files.push(described);
        let mut wanted = listing.wanted(&connection)?;
        if let Some(modules) = bring("modules.json", &mut meter)? {
            let parts = folder::json::<Vec<Module>>(&modules.1);
            let parts = parts.map_err(|source| connection.unsuitable(source))?;
            let parts = parts.unwrap_or_default().into_iter();
            let parts = parts.filter(|part| part.path.split('/').all(plain));
            wanted.extend(parts.map(|part| format!("{}/config.json", part.path)));
            files.push(modules);
        }
        let wanted = wanted.iter();
        meter.total = Some(listing.bytes(files.iter().map(|file| &file.0).chain(wanted.clone())));
        for file in wanted {
            files.extend(bring(file, &mut meter)?);
        }
        let folder = model.join("snapshots").join(&listing.sha);
        place(&model, &folder, &files)?;
        if address.revision != listing.sha {
            note(&model.join("refs").join(address.revision), &listing.sha)?;
        }
        Ok(folder)
    }
}

/// Gives the files their names in the folder of a version. A new folder appears with all of them.
fn place(model: &Path, folder: &Path, files: &[(String, PathBuf)]) -> Result<(), HubError> {
    if !folder.exists() {
        let new = model.join(format!(".new-{}", std::process::id()));
        let _ = fs::remove_dir_all(&new);
        let made = make(new.clone())
            .and_then(|_| link_all(&new, files))
            .and_then(|()| make(model.join("snapshots")));
        if let Err(error) = made {
            let _ = fs::remove_dir_all(&new);
            return Err(error);
        }
        match fs::rename(&new, folder) {
            Ok(()) => return Ok(()),
            // Somebody else was quicker.
            Err(_) if folder.exists() => {
                let _ = fs::remove_dir_all(&new);
            }
            Err(error) => return Err(write(folder, error)),
        }
    }
    link_all(folder, files)
}

fn link_all(folder: &Path, files: &[(String, PathBuf)]) -> Result<(), HubError> {
    for (name, blob) in files {
        let path = folder.join(name);
        let same = |path: &Path| path.canonicalize().ok() == blob.canonicalize().ok();
        let copied = path.is_file() && !path.is_symlink();
        if copied || (path.exists() && same(&path)) {
            continue;
        }
        if let Some(parent) = path.parent() {
            make(parent.into())?;
        }
        if path.is_symlink() {
            fs::remove_file(&path).map_err(|error| write(&path, error))?;
        }
        let up = "../".repeat(2 + name.matches('/').count());
        let digits = blob.file_name().unwrap_or_default();
        let target = Path::new(&up).join("blobs").join(digits);
        link(&target, blob, &path).map_err(|error| write(&path, error))?;
    }
    Ok(())
}

/// A link, or where there are none, a copy.
fn link(target: &Path, blob: &Path, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(target, path);
    #[cfg(windows)]
    let linked = std::os::windows::fs::symlink_file(target, path);
    #[cfg(not(any(unix, windows)))]
    let linked = Err::<(), _>(io::Error::from(io::ErrorKind::Unsupported)).map(|()| target);
    linked.map(drop).or_else(|_| fs::copy(blob, path).map(drop))
}

/// Writes which version a branch or tag is.
fn note(path: &Path, sha: &str) -> Result<(), HubError> {
    if let Some(parent) = path.parent() {
        make(parent.into())?;
    }
    let noted = AtomicFile::create(path).and_then(|mut file| {
        io::Write::write_all(&mut file, sha.as_bytes())?;
        file.commit()
    });
    noted.map_err(|error| write(path, error))
}

fn make(folder: PathBuf) -> Result<PathBuf, HubError> {
    fs::create_dir_all(&folder).map_err(|error| write(&folder, error))?;
    Ok(folder)
}

/// The hub's description of a version of a model.
#[derive(Deserialize)]
struct Listing {
    sha: String,
    siblings: Vec<Sibling>,
}

/// A file of a model.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    blob_id: Option<String>,
    lfs: Option<Large>,
}

/// What is kept outside of git.
#[derive(Deserialize)]
struct Large {
    sha256: String,
    size: u64,
}

impl Listing {
    fn find(&self, file: &str) -> Option<&Sibling> {
        self.siblings
            .iter()
            .find(|sibling| sibling.rfilename == file)
    }

    /// The names beside `config.json` and `modules.json`; those that are not there do no harm.
    fn wanted(&self, connection: &Connection<'_>) -> Result<Vec<String>, HubError> {
        let first = |names: [&'static str; 2], expected| {
            let found = names.into_iter().find(|name| self.find(name).is_some());
            found.ok_or_else(|| connection.missing(expected))
        };
        let tokens = first(
            ["tokenizer.json", "vocab.txt"],
            "tokenizer.json or vocab.txt",
        )?;
        let weights = first(
            ["model.safetensors", "pytorch_model.bin"],
            "model.safetensors or pytorch_model.bin",
        )?;
        let others = [
            "config_sentence_transformers.json",
            "special_tokens_map.json",
            "tokenizer_config.json",
            tokens,
            weights,
        ];
        let names = LIMITS.into_iter().chain(others);
        Ok(names.map(str::to_owned).collect())
    }

    fn bytes<'a>(&self, files: impl Iterator<Item = &'a String>) -> u64 {
        files
            .filter_map(|file| self.find(file))
            .map(|file| file.lfs.as_ref().map(|large| large.size).or(file.size))
            .sum::<Option<u64>>()
            .unwrap_or(0)
    }

    /// The content of a file; `None` when there is no such file.
    fn blob(&self, connection: &Connection<'_>, file: &str) -> Result<Option<Blob>, HubError> {
        let Some(found) = self.find(file) else {
            return Ok(None);
        };
        let field = |what: &str| format!("{what} of {file}");
        let hash = match (&found.lfs, &found.blob_id) {
            (Some(large), _) => {
                connection.digits(&field("lfs.sha256"), &large.sha256, 64)?;
                Hash::Sha256(large.sha256.clone())
            }
            (None, blob) => {
                let id = blob.as_deref().unwrap_or_default();
                connection.digits(&field("blobId"), id, 40)?;
                Hash::Git(id.to_owned())
            }
        };
        let size = found.lfs.as_ref().map(|large| large.size).or(found.size);
        Ok(Some(Blob {
            url: connection.address_of(&self.sha, file),
            bytes: size.ok_or_else(|| HubError::Field {
                url: connection.description(),
                field: field("size"),
                expected: "a number of bytes",
                found: String::new(),
            })?,
            hash,
        }))
    }
}

/// A hub and the model that is asked for.
pub(super) struct Connection<'a> {
    pub(super) hub: &'a Hub,
    agent: Agent,
    address: Address<'a>,
}

/// How an attempt ended that did not fail for good.
pub(super) enum Attempt<T> {
    Done(T),
    /// In vain.
    Again(HubError),
    /// In vain, but something arrived.
    Advanced(HubError),
}

impl<'a> Connection<'a> {
    fn new(hub: &'a Hub, address: Address<'a>) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_connect(Some(Duration::from_secs(30)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)))
            .user_agent(concat!("ir-dense/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        Self {
            hub,
            agent,
            address,
        }
    }

    fn listing(&self, meter: &mut Meter<'_>) -> Result<Listing, HubError> {
        let url = self.description();
        let bytes = self.persist(&url, meter, |_| {
            let response = match self.answer(self.get(&url).call(), &url)? {
                Attempt::Done(response) => response,
                Attempt::Again(error) | Attempt::Advanced(error) => {
                    return Ok(Attempt::Again(error));
                }
            };
            Ok(match response.into_body().read_to_vec() {
                Ok(bytes) => Attempt::Done(bytes),
                Err(error) => Attempt::Again(self.no_answer(&url, error)),
            })
        })?;
        let listing: Listing =
            serde_json::from_slice(&bytes).map_err(|source| HubError::Answer { url, source })?;
        self.digits("sha", &listing.sha, 40)?;
        Ok(listing)
    }

    /// Where the hub describes the model.
    fn description(&self) -> String {
        let Address { name, revision } = self.address;
        let revision = revision.replace('/', "%2F");
        let endpoint = &self.hub.endpoint;
        format!("{endpoint}/api/models/{name}/revision/{revision}?blobs=true")
    }

    fn address_of(&self, sha: &str, file: &str) -> String {
        let (endpoint, name) = (&self.hub.endpoint, self.address.name);
        format!("{endpoint}/{name}/resolve/{sha}/{file}")
    }

    pub(super) fn get(&self, url: &str) -> RequestBuilder<WithoutBody> {
        // Sizes and hashes are those of what was not compressed for the way.
        let request = self.agent.get(url).header(ACCEPT_ENCODING, "identity");
        match &self.hub.token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    /// Tries until it is done, or nothing has come too often in a row.
    pub(super) fn persist<T>(
        &self,
        url: &str,
        meter: &mut Meter<'_>,
        mut attempt: impl FnMut(&mut Meter<'_>) -> Result<Attempt<T>, HubError>,
    ) -> Result<T, HubError> {
        let mut failures = 0;
        loop {
            meter.report("downloading")?;
            let error = match attempt(meter)? {
                Attempt::Done(done) => return Ok(done),
                Attempt::Again(error) => error,
                Attempt::Advanced(error) => {
                    failures = 0;
                    error
                }
            };
            failures += 1;
            if failures >= self.hub.attempts {
                return Err(match error {
                    HubError::NoAnswer { source, .. } => HubError::NoAnswer {
                        url: url.into(),
                        attempts: failures,
                        source,
                    },
                    other => other,
                });
            }
            let pause = self.hub.pause.saturating_mul(1 << (failures - 1).min(6));
            self.hub.wait(pause, meter)?;
        }
    }

    /// What an answer means: a content, a reason to try again, or an error.
    pub(super) fn answer(
        &self,
        response: Result<Response<ureq::Body>, ureq::Error>,
        url: &str,
    ) -> Result<Attempt<Response<ureq::Body>>, HubError> {
        let response = match response {
            Ok(response) => response,
            // Will be no better the next time.
            Err(error @ (ureq::Error::BadUri(_) | ureq::Error::Http(_))) => {
                return Err(self.no_answer(url, error));
            }
            Err(error) => return Ok(Attempt::Again(self.no_answer(url, error))),
        };
        let status = response.status().as_u16();
        let code = response.headers().get("x-error-code");
        let code = code.and_then(|code| code.to_str().ok()).unwrap_or_default();
        let name = self.address.name.to_owned();
        let refused = HubError::Status {
            url: url.into(),
            status,
        };
        match (status, code) {
            (200 | 206 | 416, _) => Ok(Attempt::Done(response)),
            (_, "RevisionNotFound") => Err(HubError::NoRevision {
                name,
                revision: self.address.revision.into(),
            }),
            (403, _) | (_, "GatedRepo") => Err(HubError::Gated {
                page: format!("{}/{name}", self.hub.endpoint),
                name,
            }),
            (401 | 404, "" | "RepoNotFound") => Err(HubError::NoModel {
                endpoint: self.hub.endpoint.clone(),
                name,
                token: self.hub.token.is_some(),
            }),
            (408 | 429 | 500.., _) => Ok(Attempt::Again(refused)),
            _ => Err(refused),
        }
    }

    fn no_answer(&self, url: &str, error: ureq::Error) -> HubError {
        HubError::NoAnswer {
            url: url.into(),
            attempts: 1,
            source: error.into(),
        }
    }

    fn missing(&self, expected: &'static str) -> HubError {
        let name = self.address.name.into();
        HubError::Missing { name, expected }
    }

    fn unsuitable(&self, source: crate::ModelError) -> HubError {
        let name = self.address.name.into();
        let source = Box::new(source);
        HubError::Model { name, source }
    }

    /// Refuses what is not so many hexadecimal digits: they become names of files.
    fn digits(&self, field: &str, found: &str, count: usize) -> Result<(), HubError> {
        let digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        if found.len() == count && found.bytes().all(digit) {
            return Ok(());
        }
        Err(HubError::Field {
            url: self.description(),
            field: field.into(),
            expected: match count {
                40 => "40 hexadecimal digits",
                _ => "64 hexadecimal digits",
            },
            found: found.into(),
        })
    }
}

/// How far the whole has come, file after file.
pub(super) struct Meter<'a> {
    progress: &'a mut dyn Progress,
    total: Option<u64>,
    /// Bytes of the files that are there.
    before: u64,
    /// Bytes of the present file, and how many of them are there.
    bytes: u64,
    done: u64,
}

impl<'a> Meter<'a> {
    fn new(progress: &'a mut dyn Progress) -> Self {
        Self {
            progress,
            total: None,
            before: 0,
            bytes: 0,
            done: 0,
        }
    }

    fn file(&mut self, bytes: u64) {
        (self.bytes, self.done) = (bytes, 0);
    }

    fn finish(&mut self) {
        self.before += self.bytes;
        (self.bytes, self.done) = (0, 0);
    }

    pub(super) fn at(&mut self, stage: &str, done: u64) -> Result<(), HubError> {
        self.done = done;
        self.report(stage)
    }

    pub(super) fn report(&mut self, stage: &str) -> Result<(), HubError> {
        let done = self.before + self.done;
        match self.progress.report(stage, done, self.total) {
            Flow::Continue => Ok(()),
            Flow::Stop => Err(HubError::Cancelled),
        }
    }
}
