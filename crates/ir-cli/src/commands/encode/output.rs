//! Resumable, atomic output of vectors.

use std::ffi::OsString;
use std::fs;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use ir_core::store::AtomicFile;
use ir_core::{DocIds, DocNum, Encoder, Retriever, Side};
use ir_dense::BiEncoder;
use ir_knn::{FlatIndex, FlatIndexWriter, VectorSimilarity, npy};
use serde::{Deserialize, Serialize};

use crate::shared::console::{Resumable, bail_usage};
use crate::shared::format::grouped;
use crate::shared::output::{create, failed};

const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Everything that determines the vectors, so that a file cannot mix two jobs.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EncodingJob {
    version: u32,
    texts: String,
    /// Vector of a fixed long text, as bits: differs for another model, prefix, maximum length,
    /// pooling or CPU.
    probe: Vec<u32>,
}

impl EncodingJob {
    pub(super) fn new(encoder: &BiEncoder, side: Side, texts: String) -> Result<Self> {
        let text = "Ships seen by radar, number 1 of 7. ".repeat(80);
        let probe = encoder.encode(side, &[&text])?;
        Ok(Self {
            version: 1,
            texts,
            probe: probe.into_iter().map(f32::to_bits).collect(),
        })
    }
}

#[derive(Debug)]
pub(super) struct VectorOutput {
    path: PathBuf,
    /// Index file being written: the output, or a temporary index that becomes the .npy file.
    index: PathBuf,
    job: PathBuf,
    /// `None` if the index is already complete.
    writer: Option<FlatIndexWriter>,
    names: DocIds,
    ids: Option<(PathBuf, AtomicFile)>,
    last_flush: Instant,
}

impl VectorOutput {
    /// Resumes the unfinished output of the same job, or creates it. `similarity` applies to an
    /// index, not to a .npy file.
    pub(super) fn open(
        path: &Path,
        ids: Option<&Path>,
        job: &EncodingJob,
        similarity: VectorSimilarity,
        restart: bool,
    ) -> Result<Self> {
        // Fail early if an output path is invalid.
        for (option, path) in [("--output", Some(path)), ("--ids", ids)] {
            if path == Some(Path::new("-")) {
                bail_usage!("{option}: expected a file, found standard output");
            }
        }
        if ids == Some(path) {
            bail_usage!("--output, --ids: expected two files, found one");
        }
        drop(create(path)?);
        let ids = ids.map(|path| Ok::<_, anyhow::Error>((path.to_owned(), create(path)?)));
        let index = if is_npy(path) {
            with_suffix(path, ".vectors")
        } else {
            path.to_owned()
        };
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
        if same && is_npy(path) && output.index.is_file() {
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
        let mut file = create(&output.job)?;
        serde_json::to_writer(&mut file, job)?;
        file.commit()
            .with_context(|| failed(output.job.display()))?;
        Ok(output)
    }

    /// Whether unfinished work of this job exists; an error if it is of another job.
    fn is_resumable(&self, job: &EncodingJob) -> Result<bool> {
        let partial = with_suffix(&self.index, ".partial");
        let other = || {
            let partial = partial.display();
            anyhow!(
                "{partial}: expected unfinished work of the same texts and model, found another job's (--restart discards it)"
            )
        };
        match fs::read(&self.job) {
            Ok(bytes) => match serde_json::from_slice::<EncodingJob>(&bytes) {
                Ok(found) if found == *job => Ok(true),
                _ => Err(other()),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let empty = partial.metadata().map_or(true, |file| file.len() == 0);
                if empty { Ok(false) } else { Err(other()) }
            }
            Err(error) => Err(error).with_context(|| self.job.display().to_string()),
        }
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

    pub(super) fn interrupted(self) -> anyhow::Error {
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
    pub(super) fn finish(mut self) -> Result<()> {
        if let Some((path, mut file)) = self.ids.take() {
            let written = self
                .names()
                .iter()
                .try_for_each(|id| writeln!(file, "{id}"));
            let written = written.and_then(|()| file.commit());
            written.with_context(|| failed(path.display()))?;
        }
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
        }
        if is_npy(&self.path) {
            let index = FlatIndex::open(&self.index)?;
            let mut out = BufWriter::new(create(&self.path)?);
            let file = npy::write(index.vectors(), &mut out)
                .and_then(|()| out.into_inner().map_err(|error| error.into_error()));
            file.and_then(AtomicFile::commit)
                .with_context(|| failed(self.path.display()))?;
            drop(index);
            fs::remove_file(&self.index).with_context(|| failed(self.index.display()))?;
        }
        fs::remove_file(&self.job).with_context(|| failed(self.job.display()))
    }
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "npy")
}

fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
