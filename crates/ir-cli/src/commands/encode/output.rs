//! Where the vectors go: a file that appears when it is complete, and is gone on with when it is not.

use std::ffi::OsString;
use std::fs;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use ir_core::{AtomicFile, DocIds, DocNum, Encoder, Retriever, Side};
use ir_dense::BiEncoder;
use ir_knn::{FlatIndex, FlatIndexWriter, Similarity, npy};
use serde::{Deserialize, Serialize};

use crate::shared::console::{Unfinished, Usage};
use crate::shared::format::grouped;

/// What is new is kept at least this often.
const OFTEN: Duration = Duration::from_secs(1);

/// What decides the vectors, so that no file holds those of two jobs.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    version: u32,
    texts: String,
    /// What the encoder makes of one long text, as bits: another model, prefix, limit, pooling or
    /// processor makes something else.
    probe: Vec<u32>,
}

impl Job {
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

/// Vectors on their way to a file.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    /// The index that is written: the output itself, or what stands in for it until all vectors of a
    /// .npy file are there.
    index: PathBuf,
    job: PathBuf,
    /// `None` when the index is complete.
    writer: Option<FlatIndexWriter>,
    names: DocIds,
    ids: Option<(PathBuf, AtomicFile)>,
    kept: Instant,
}

impl Output {
    /// Goes on with what an earlier command left of the same job, or starts.
    /// `similarity` is that of an index; vectors alone have none.
    pub(super) fn open(
        path: &Path,
        ids: Option<&Path>,
        job: &Job,
        similarity: Similarity,
        restart: bool,
    ) -> Result<Self> {
        // Destinations that cannot be are told before the work begins.
        for (option, path) in [("--output", Some(path)), ("--ids", ids)] {
            if path == Some(Path::new("-")) {
                let wanted =
                    "expected a file, found standard output: vectors are written in pieces";
                return Err(Usage(format!("{option}: {wanted}")).into());
            }
        }
        if ids == Some(path) {
            return Err(Usage("--output, --ids: expected two files, found one".into()).into());
        }
        drop(create(path)?);
        let ids = ids.map(|path| Ok::<_, anyhow::Error>((path.to_owned(), create(path)?)));
        let index = if is_npy(path) {
            with(path, ".vectors")
        } else {
            path.to_owned()
        };
        let mut output = Self {
            path: path.to_owned(),
            job: with(&index, ".partial-job"),
            index,
            writer: None,
            names: DocIds::new(),
            ids: ids.transpose()?,
            kept: Instant::now(),
        };
        let same = !restart && output.same(job)?;
        if same && is_npy(path) && output.index.is_file() {
            output.names = FlatIndex::open(&output.index)?.ids().clone();
            return Ok(output);
        }
        let dim = job.probe.len();
        let similarity = if is_npy(path) {
            Similarity::InnerProduct
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
        file.commit().with_context(|| failed(&output.job))?;
        Ok(output)
    }

    /// Whether something of this job is there; an error when something of another is.
    fn same(&self, job: &Job) -> Result<bool> {
        let partial = with(&self.index, ".partial");
        let other = || {
            let partial = partial.display();
            anyhow!(
                "{partial}: expected what is left of the same texts by the same model, found another's (--restart throws it away)"
            )
        };
        match fs::read(&self.job) {
            Ok(bytes) => match serde_json::from_slice::<Job>(&bytes) {
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

    /// How many vectors there are.
    pub(super) fn len(&self) -> usize {
        self.names().len()
    }

    fn names(&self) -> &DocIds {
        self.writer
            .as_ref()
            .map_or(&self.names, FlatIndexWriter::ids)
    }

    /// That a vector which is there is that of the text in its place.
    pub(super) fn check(&self, row: usize, found: Option<String>) -> Result<()> {
        let expected = self.names().id(DocNum::new(row as u32));
        match found {
            Some(found) if found == expected => Ok(()),
            found => bail!(
                "{}: vector {} is that of {expected:?}, found {} in its place (--restart throws it away)",
                with(&self.index, ".partial").display(),
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
        if self.kept.elapsed() > OFTEN {
            writer.flush()?;
            self.kept = Instant::now();
        }
        Ok(())
    }

    /// What to tell whoever stopped the command.
    pub(super) fn interrupted(self) -> anyhow::Error {
        let there = grouped(self.len() as u64);
        let what = format!("interrupted; the same command goes on after {there} vectors");
        Unfinished(what).into()
    }

    /// Leaves nothing.
    pub(super) fn discard(self) -> Result<()> {
        if let Some(writer) = self.writer {
            writer.discard()?;
        }
        fs::remove_file(&self.job).with_context(|| failed(&self.job))
    }

    /// Makes the files appear.
    pub(super) fn finish(mut self) -> Result<()> {
        if let Some((path, mut file)) = self.ids.take() {
            let written = self
                .names()
                .iter()
                .try_for_each(|id| writeln!(file, "{id}"));
            let written = written.and_then(|()| file.commit());
            written.with_context(|| failed(&path))?;
        }
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
        }
        if is_npy(&self.path) {
            let index = FlatIndex::open(&self.index)?;
            let mut out = BufWriter::new(create(&self.path)?);
            let file = npy::write_flat(index.rows(), index.dim(), &mut out)
                .and_then(|()| out.into_inner().map_err(|error| error.into_error()));
            file.and_then(AtomicFile::commit)
                .with_context(|| failed(&self.path))?;
            drop(index);
            fs::remove_file(&self.index).with_context(|| failed(&self.index))?;
        }
        fs::remove_file(&self.job).with_context(|| failed(&self.job))
    }
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "npy")
}

/// The same name with an ending.
fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn create(path: &Path) -> Result<AtomicFile> {
    AtomicFile::create(path).with_context(|| failed(path))
}

fn failed(path: &Path) -> String {
    format!("{}: could not be written", path.display())
}
