//! Resumable, atomic output of vectors.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ir_core::store::HEADER_LEN;
use ir_core::{DocIds, DocNum, Retriever, Side};
use ir_dense::BiEncoder;
use ir_knn::{FlatIndex, FlatIndexWriter, VectorSimilarity};
use ir_system::saved_vectors::VectorOrigin;
use serde::{Deserialize, Serialize};

use crate::shared::console::Resumable;
use crate::shared::encoder::probe;
use crate::shared::format::grouped;
use crate::shared::output::{OutputPath, OutputSink, WorkPath, create, failed};
use crate::shared::vector_files::{Quantization, index_path, is_npy, with_suffix, write_npy};

const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Version of the job file.
const VERSION: u32 = 3;

/// Everything that determines the vectors, so that a file cannot mix two jobs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EncodingJob {
    version: u32,
    origin: VectorOrigin,
    /// Vector of a fixed long text, as bits: differs for another CPU or backend.
    probe: Vec<u32>,
}

impl EncodingJob {
    pub(super) fn new(encoder: &BiEncoder, side: Side, origin: VectorOrigin) -> Result<Self> {
        Ok(Self {
            version: VERSION,
            origin,
            probe: probe(encoder, side)?,
        })
    }

    /// Vector of a fixed text, as bits.
    pub(super) fn probe(&self) -> &[u32] {
        &self.probe
    }

    /// Difference to the job of unfinished work; `None` if this job can resume it.
    fn difference(&self, found: &[u8]) -> Option<String> {
        let found: Option<Self> = serde_json::from_slice(found).ok();
        let Some(found) = found.filter(|found| found.version == VERSION) else {
            return Some("of another version".to_owned());
        };
        let other = self.origin.differences(&found.origin, |_| true);
        other.or_else(|| (self.probe != found.probe).then(|| "another CPU or backend".to_owned()))
    }
}

/// Files of unfinished work for an output at `path`.
pub(super) fn work_paths(path: &Path) -> Vec<WorkPath> {
    let index = index_path(path);
    let suffixes = [".partial", ".partial-ids", ".partial-job"];
    let mut paths: Vec<_> = suffixes.map(|suffix| with_suffix(&index, suffix)).into();
    if is_npy(path) {
        paths.push(index);
    }
    let work = |path| WorkPath {
        option: "--output",
        what: "unfinished work",
        path,
        is_folder: false,
    };
    paths.into_iter().map(work).collect()
}

/// Checks that the output files can be written.
pub(super) fn check(path: &Path, ids: Option<&OutputPath>) -> Result<()> {
    drop(create(path)?);
    ids.map_or(Ok(()), OutputPath::check_writable)
}

pub(super) struct VectorOutput {
    path: PathBuf,
    /// Index file being written: the output, or a temporary index that becomes the .npy file.
    index: PathBuf,
    job: PathBuf,
    /// `None` if the index is already complete.
    writer: Option<FlatIndexWriter>,
    names: DocIds,
    ids: Option<OutputSink>,
    last_flush: Instant,
}

impl VectorOutput {
    /// Resumes the unfinished output of the same job, or creates it. `similarity` applies to an
    /// index, not to a .npy file.
    pub(super) fn open(
        path: &Path,
        ids: Option<&OutputPath>,
        job: &EncodingJob,
        similarity: VectorSimilarity,
        restart: bool,
    ) -> Result<Self> {
        let ids = ids.map(|path| OutputSink::open(Some(path)));
        let index = index_path(path);
        let mut output = Self {
            path: path.to_owned(),
            job: with_suffix(&index, ".partial-job"),
            index,
            writer: None,
            names: DocIds::new(),
            ids: ids.transpose()?,
            last_flush: Instant::now(),
        };
        let same = !restart && output.is_resumable(job)?;
        if same && output.is_unconverted() {
            output.names = FlatIndex::open(&output.index)?.ids().clone();
            return Ok(output);
        }
        let dim = job.probe.len();
        let similarity = if is_npy(path) {
            VectorSimilarity::InnerProduct
        } else {
            similarity
        };
        output.writer = Some(if same {
            FlatIndexWriter::resume(&output.index, dim, similarity)?
        } else {
            FlatIndexWriter::create(&output.index, dim, similarity)?
        });
        if restart && output.is_unconverted() {
            // Otherwise a killed command would resume with the vectors of the discarded job.
            fs::remove_file(&output.index).with_context(|| failed(output.index.display()))?;
        }
        let mut file = create(&output.job)?;
        serde_json::to_writer(&mut file, job)?;
        file.commit()
            .with_context(|| failed(output.job.display()))?;
        Ok(output)
    }

    /// Returns `true` if unfinished work of this job exists, and an error if it is of another job.
    fn is_resumable(&self, job: &EncodingJob) -> Result<bool> {
        let partial = with_suffix(&self.index, ".partial");
        let size = partial.metadata().map_or(0, |file| file.len());
        let difference = match fs::read(&self.job) {
            Ok(found) => match job.difference(&found) {
                None => return Ok(true),
                // A header without vectors.
                Some(_) if size <= HEADER_LEN as u64 && !self.is_unconverted() => return Ok(false),
                Some(difference) => difference,
            },
            // Killed before the job file was written: no file, or a header without vectors.
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && [0, HEADER_LEN as u64].contains(&size) =>
            {
                return Ok(false);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => "of an unknown job".to_owned(),
            Err(error) => return Err(error).context(self.job.display().to_string()),
        };
        bail!(
            "{}: expected unfinished work of the same texts and model, found another job's ({difference}; --restart discards it)",
            partial.display()
        )
    }

    /// Returns `true` if all vectors are written, but not yet converted to a .npy file.
    fn is_unconverted(&self) -> bool {
        is_npy(&self.path) && self.index.is_file()
    }

    pub(super) fn len(&self) -> usize {
        self.names().len()
    }

    fn names(&self) -> &DocIds {
        self.writer
            .as_ref()
            .map_or(&self.names, FlatIndexWriter::ids)
    }

    /// Checks that the id of an already written vector matches the input.
    pub(super) fn check(&self, row: usize, found: Option<String>) -> Result<()> {
        let expected = self.names().id(DocNum::new(row as u32));
        match found {
            Some(found) if found == expected => Ok(()),
            found => bail!(
                "{}: vector {} belongs to {expected:?}, found {} in the input (--restart discards it)",
                with_suffix(&self.index, ".partial").display(),
                row + 1,
                found.map_or("the end".to_owned(), |id| format!("{id:?}")),
            ),
        }
    }

    pub(super) fn push(&mut self, id: &str, vector: &[f32]) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            bail!("{}: expected the end, found {id:?}", self.index.display());
        };
        writer.push(id, vector)?;
        if self.last_flush.elapsed() > FLUSH_INTERVAL {
            writer.flush()?;
            self.last_flush = Instant::now();
        }
        Ok(())
    }

    pub(super) fn interrupted(&self) -> anyhow::Error {
        let there = grouped(self.len() as u64);
        let what = format!("interrupted after {there} vectors; run the same command to resume");
        Resumable(what).into()
    }

    /// Removes all files of an empty output.
    pub(super) fn discard(self) -> Result<()> {
        if let Some(writer) = self.writer {
            writer.discard()?;
        }
        fs::remove_file(&self.job).with_context(|| failed(self.job.display()))
    }

    /// Completes the output and renames it into place.
    pub(super) fn finish(
        mut self,
        job: &EncodingJob,
        quantization: Option<&Quantization>,
    ) -> Result<()> {
        if let Some(ids) = self.ids.take() {
            ids.write_with(|out| self.names().iter().try_for_each(|id| writeln!(out, "{id}")))?;
        }
        if let Some(writer) = self.writer.take() {
            let origin = serde_json::to_string(&job.origin)?;
            writer.with_user_metadata(origin).finish()?;
        }
        if is_npy(&self.path) {
            write_npy(&self.index, &self.path, quantization)?;
            fs::remove_file(&self.index).with_context(|| failed(self.index.display()))?;
        }
        fs::remove_file(&self.job).with_context(|| failed(self.job.display()))
    }
}
