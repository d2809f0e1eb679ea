//! Download of a model from the hub into the cache.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ir_core::{Flow, Progress};
use ir_fetch::Download;

use super::connection::{Connection, Hub};
use super::listing::{HubBlob, ModelListing};
use super::snapshot::{self, make_folder, write_error};
use super::{HubError, ModelCache, ModelReference, folder_name, is_plain};
use crate::encode::module_entry::SentenceTransformersModule;
use crate::model_folder::{SAFETENSORS_INDEX, TransformerConfig, read_json, shard_names};

impl ModelCache {
    /// Downloads the files of a model that an encoder needs from [`Hub::from_env`] and returns the
    /// model's folder, for [`BiEncoder::open`](crate::BiEncoder::open).
    ///
    /// Cached files are not downloaded again; partial files of an interrupted download, also of
    /// Python's `huggingface_hub`, are resumed. Every file is verified by its checksum. Python's
    /// `huggingface_hub` finds the model afterwards.
    ///
    /// The base model of an adapter is not downloaded; the error of
    /// [`BiEncoder::open`](crate::BiEncoder::open) names it.
    ///
    /// `name` is as in [`ModelCache::find`]. The commit of a branch is looked up in every call.
    ///
    /// ```no_run
    /// use ir_dense::{BiEncoder, KnownModel, ModelCache};
    ///
    /// let cache = ModelCache::from_env().ok_or("no home directory")?;
    /// let folder = cache.fetch("intfloat/e5-small-v2", &mut ir_core::NoProgress)?;
    /// let known = KnownModel::find("e5-small-v2").ok_or("not in the catalog")?;
    /// let encoder = BiEncoder::open_with(folder, &known.config())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`HubError`] if the hub has no such model or revision, the model is gated or not
    /// supported, a download fails, downloads are disabled, or `progress` cancels.
    pub fn fetch(&self, name: &str, progress: &mut dyn Progress) -> Result<PathBuf, HubError> {
        self.fetch_from(&Hub::from_env(), name, progress)
    }

    /// Downloads a model from another hub, for example a mirror; see [`ModelCache::fetch`].
    ///
    /// # Errors
    /// Returns [`HubError`] if the hub has no such model or revision, the model is gated or not
    /// supported, a download fails, downloads are disabled, or `progress` cancels.
    pub fn fetch_from(
        &self,
        hub: &Hub,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<PathBuf, HubError> {
        let address =
            ModelReference::parse(name).ok_or_else(|| HubError::Name { name: name.into() })?;
        if hub.offline {
            return Err(HubError::Offline);
        }
        let connection = Connection { hub, address };
        let mut progress = ModelProgress {
            progress,
            total: None,
            completed: 0,
        };
        let url = connection.listing_url();
        let text = hub.client.get(&url, &mut progress);
        let text = text.map_err(|error| connection.hub_error(error))?;
        let listing = ModelListing::parse(&text, &connection)?;
        let model = self.folder_of(address.name);
        let blobs = make_folder(model.join("blobs"))?;
        let locks = make_folder(self.folder().join(".locks").join(folder_name(address.name)))?;
        let bring = |file: &str, progress: &mut ModelProgress<'_>| {
            let Some(blob) = listing.blob(&connection, file)? else {
                return Ok(None);
            };
            let path = download(&connection, &blob, &blobs, &locks, progress)?;
            progress.completed += blob.bytes;
            Ok(Some((file.to_owned(), path)))
        };
        let mut files = Vec::new();
        let mut parts = Vec::new();
        if let Some(modules) = bring("modules.json", &mut progress)? {
            let read = read_json::<Vec<SentenceTransformersModule>>(&modules.1);
            let read = read.map_err(|source| connection.unsupported(source))?;
            parts = read.unwrap_or_default();
            files.push(modules);
        }
        let folder_of = |part: &SentenceTransformersModule| {
            let is_inside = part.path.split('/').all(is_plain);
            is_inside.then(|| format!("{}/", part.path))
        };
        let transformer = parts.first().and_then(folder_of).unwrap_or_default();
        // An unsupported model is rejected before its weights are downloaded.
        let described = bring(&format!("{transformer}config.json"), &mut progress)?;
        let has_adapter = listing.has_adapter(&transformer);
        match described {
            Some(described) => {
                let shape = TransformerConfig::read_file(&described.1);
                shape.map_err(|source| connection.unsupported(source))?;
                files.push(described);
            }
            None if has_adapter => {}
            None => return Err(connection.missing("config.json")),
        }
        let mut wanted = listing.wanted(&connection, &transformer)?;
        let others: Vec<String> = parts.iter().skip(1).filter_map(folder_of).collect();
        wanted.extend(others.iter().map(|folder| format!("{folder}config.json")));
        if listing.weights(&transformer).is_none() && !has_adapter {
            return Err(connection.missing("model.safetensors or pytorch_model.bin"));
        }
        for folder in [&transformer].into_iter().chain(&others) {
            let Some(weights) = listing.weights(folder) else {
                continue;
            };
            if !weights.ends_with(SAFETENSORS_INDEX) {
                wanted.push(weights);
                continue;
            }
            if let Some(index) = bring(&weights, &mut progress)? {
                let shards = shard_names(&index.1);
                let shards = shards.map_err(|source| connection.unsupported(source))?;
                let shards = shards.into_iter().flatten().filter(|name| is_plain(name));
                wanted.extend(shards.map(|name| format!("{folder}{name}")));
                files.push(index);
            }
        }
        let names = files.iter().map(|file| &file.0);
        progress.total = Some(listing.total_bytes(names.chain(&wanted)));
        for file in &wanted {
            files.extend(bring(file, &mut progress)?);
        }
        let folder = model.join("snapshots").join(&listing.sha);
        snapshot::create(&model, &folder, &files)?;
        if address.revision != listing.sha {
            snapshot::write_ref(&model.join("refs").join(address.revision), &listing.sha)?;
        }
        Ok(folder)
    }
}

/// Downloads a blob unless it is cached. `locks` is the folder in which `huggingface_hub` locks
/// the files that it downloads.
fn download(
    connection: &Connection<'_>,
    blob: &HubBlob,
    blobs: &Path,
    locks: &Path,
    progress: &mut ModelProgress<'_>,
) -> Result<PathBuf, HubError> {
    let digits = blob.checksum.digits();
    let path = blobs.join(digits);
    let _lock = lock(&locks.join(format!("{digits}.lock")), progress)?;
    // A blob was verified before it got this name; its size detects later damage.
    let cached = fs::metadata(&path).is_ok_and(|found| found.len() == blob.bytes);
    if !cached {
        let partial = blobs.join(format!("{digits}.incomplete"));
        let download = Download {
            size: Some(blob.bytes),
            checksum: Some(blob.checksum.clone()),
            partial_file: Some(partial),
            ..Download::new(&blob.url)
        };
        let saved = connection.hub.client.save(&download, &path, progress);
        saved.map_err(|error| connection.hub_error(error))?;
    } else if progress.report("downloading", blob.bytes, None) == Flow::Stop {
        return Err(HubError::Canceled);
    }
    Ok(path)
}

/// Waits until no other process downloads the same blob. The lock is released with the file.
fn lock(path: &Path, progress: &mut ModelProgress<'_>) -> Result<File, HubError> {
    let open = OpenOptions::new().create(true).append(true).open(path);
    let file = open.map_err(|error| write_error(path, error))?;
    // On file systems without locks, downloads are not serialized.
    while let Err(TryLockError::WouldBlock) = file.try_lock() {
        std::thread::sleep(Duration::from_millis(100));
        if progress.report("waiting", 0, None) == Flow::Stop {
            return Err(HubError::Canceled);
        }
    }
    Ok(file)
}

/// Progress over all files of a model, from the reports of single files.
struct ModelProgress<'a> {
    progress: &'a mut dyn Progress,
    total: Option<u64>,
    /// Bytes of the completed files.
    completed: u64,
}

impl Progress for ModelProgress<'_> {
    fn report(&mut self, stage: &str, done: u64, _: Option<u64>) -> Flow {
        self.progress
            .report(stage, self.completed + done, self.total)
    }
}
