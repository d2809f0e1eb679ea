//! The engines, each step of which is a process of its own, so that memory is measured separately.
//!
//! The steps are `build` (prints an [`IndexCost`]), `rank` ([`Rankings`]) and `time`
//! ([`SearchTimes`]), as JSON. Lucene, PISA and bm25s read a folder with the analyzed documents, so
//! that all engines index the same terms: `documents.txt` with the terms of one document per line,
//! and `queries.txt` with the kind, a tab and the terms of one query per line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use ir_core::Analyzer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::workload::{Formula, IndexCost, Rankings, SearchTimes, Workload};
use crate::{ours, peer_tantivy};

/// The step of ir-bm25 that ranks with exact lengths.
const RANK_EXACT: &str = "rank-exact";

/// Number of times that the engines are timed, in turn: the speed of the machine changes over
/// minutes.
const ROUNDS: usize = 2;

/// What every step needs.
pub(crate) struct Setting<'a> {
    pub(crate) collection: &'a str,
    pub(crate) limit: u64,
    /// Threads of indexing; Lucene, PISA and bm25s have one.
    pub(crate) threads: usize,
    /// Whether all engines must be installed.
    pub(crate) needs_all: bool,
}

/// Hits of an engine, and those of ir-bm25 by the same formula.
pub(crate) struct Compared {
    pub(crate) cost: IndexCost,
    pub(crate) rankings: Rankings,
    pub(crate) ours: Rankings,
}

/// Measurements of one engine.
pub(crate) struct Measured {
    /// Name without a version.
    pub(crate) engine: &'static str,
    /// Number of threads that built the index.
    pub(crate) threads: usize,
    pub(crate) cost: IndexCost,
    pub(crate) times: SearchTimes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Ours,
    /// ir-bm25 with several segments and deleted documents.
    Segmented,
    Tantivy,
    Lucene,
    Pisa,
    Bm25s,
}

const ENGINES: [Engine; 6] = [
    Engine::Ours,
    Engine::Segmented,
    Engine::Tantivy,
    Engine::Lucene,
    Engine::Pisa,
    Engine::Bm25s,
];

impl Engine {
    const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ir-bm25",
            Self::Segmented => "ir-bm25-segments",
            Self::Tantivy => "tantivy",
            Self::Lucene => "Lucene",
            Self::Pisa => "PISA",
            Self::Bm25s => "bm25s",
        }
    }

    /// Whether the engine is linked into this program.
    const fn is_linked(self) -> bool {
        matches!(self, Self::Ours | Self::Segmented | Self::Tantivy)
    }

    /// Number of threads that build the index.
    const fn threads(self, setting: &Setting<'_>) -> usize {
        if self.is_linked() { setting.threads } else { 1 }
    }

    fn command(self, step: &str, folder: &Path, setting: &Setting<'_>) -> Result<Command> {
        if self.is_linked() {
            let mut command = Command::new(env::current_exe()?);
            command
                .args(["--engine", self.name(), "--step", step, "--index"])
                .arg(folder.join(self.name()))
                .args(["--threads", &setting.threads.to_string()])
                .args(["--documents", &setting.limit.to_string()])
                .args(["--collection", setting.collection]);
            return Ok(command);
        }
        let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
        let peers = peers().context("IR_BM25_PEERS is not set")?;
        let mut command = if self == Self::Lucene {
            let jar = peers.join("anserini.jar");
            ensure!(jar.exists(), "{}: not found", jar.display());
            let mut java = Command::new("java");
            java.args(["-Xmx4g", "-cp"]);
            java.arg(jar).arg(sources.join("Peer.java"));
            java
        } else {
            let mut python = Command::new(peers.join("bin/python"));
            python.arg(sources.join(match self {
                Self::Pisa => "peer_pisa.py",
                _ => "peer_bm25s.py",
            }));
            // TBB of PISA is there.
            python.env("LD_LIBRARY_PATH", peers.join("lib"));
            // One thread in the kernels too.
            python.env("NUMBA_NUM_THREADS", "1");
            python
        };
        command.arg(step).arg(folder);
        Ok(command)
    }

    fn run<T: DeserializeOwned>(
        self,
        step: &str,
        folder: &Path,
        setting: &Setting<'_>,
    ) -> Result<T> {
        eprintln!("{}: {step} ...", self.name());
        let mut command = self.command(step, folder, setting)?;
        let program = command.get_program().display().to_string();
        let command = command.stderr(Stdio::piped());
        let output = command.output().context(program)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.lines().rfind(|line| !line.trim().is_empty());
        ensure!(output.status.success(), "{}", last.unwrap_or("failed"));
        serde_json::from_slice(&output.stdout).context("unexpected output")
    }
}

fn peers() -> Option<PathBuf> {
    env::var_os("IR_BM25_PEERS").map(PathBuf::from)
}

/// Builds the indexes of all engines that are installed, compares their hits by `compare` and then
/// times them in [`ROUNDS`], the best of which is kept. Prints a line about every other engine. The
/// first two engines are ir-bm25 with one segment and with several.
pub(crate) fn measure(
    work: &Workload,
    setting: &Setting<'_>,
    compare: impl FnOnce(&[Compared]) -> Result<()>,
) -> Result<Vec<Measured>> {
    let folder = TempDir::new()?;
    let folder = folder.path();
    if peers().is_some() {
        write_files(work, folder)?;
    } else {
        ensure!(!setting.needs_all, "IR_BM25_PEERS is not set");
        eprintln!("Lucene, PISA, bm25s: skipped: IR_BM25_PEERS is not set (benches/bm25/peers.sh)");
    }
    let mut engines = Vec::new();
    let mut found = Vec::new();
    for engine in ENGINES {
        if !engine.is_linked() && peers().is_none() {
            continue;
        }
        match engine.run::<IndexCost>("build", folder, setting) {
            Ok(cost) => {
                engines.push(engine);
                let step = match cost.formula {
                    Formula::ExactLengths => RANK_EXACT,
                    Formula::Lucene | Formula::Other => "rank",
                };
                found.push(Compared {
                    cost,
                    rankings: engine.run("rank", folder, setting)?,
                    ours: Engine::Ours.run(step, folder, setting)?,
                });
            }
            Err(error) if engine.is_linked() || setting.needs_all => return Err(error),
            Err(error) => eprintln!("{}: skipped: {error:#}", engine.name()),
        }
    }
    compare(&found)?;
    let time = |&engine: &Engine| engine.run::<SearchTimes>("time", folder, setting);
    let mut times = engines.iter().map(time).collect::<Result<Vec<_>>>()?;
    for _ in 1..ROUNDS {
        for (engine, best) in engines.iter().zip(&mut times) {
            best.keep_best(&time(engine)?);
        }
    }
    let measured = engines.iter().zip(found).zip(times);
    let measured = measured.map(|((engine, compared), times)| Measured {
        engine: engine.name(),
        threads: engine.threads(setting),
        cost: compared.cost,
        times,
    });
    Ok(measured.collect())
}

/// Runs a step of an engine that is linked into this program.
pub(crate) fn child(
    work: &Workload,
    (engine, step): (&str, &str),
    folder: &Path,
    threads: usize,
) -> Result<()> {
    fs::create_dir_all(folder)?;
    match (engine, step) {
        ("ir-bm25", "build") => print(&ours::build_in(work, folder, threads)?),
        ("ir-bm25", "rank") => print(&ours::rank(work, folder, Formula::Lucene)?),
        ("ir-bm25", RANK_EXACT) => print(&ours::rank(work, folder, Formula::ExactLengths)?),
        ("ir-bm25", "time") => print(&ours::time(work, folder)?),
        ("ir-bm25-segments", "build") => print(&ours::build_segments(work, folder, threads)?),
        ("ir-bm25-segments", "rank") => print(&ours::rank_segments(work, folder)?),
        ("ir-bm25-segments", "time") => print(&ours::time_segments(work, folder)?),
        ("tantivy", "build") => print(&peer_tantivy::build(work, folder, threads)?),
        ("tantivy", "rank") => print(&peer_tantivy::rank(work, folder)?),
        ("tantivy", "time") => print(&peer_tantivy::time(work, folder)?),
        _ => bail!("--engine, --step: expected a step of an engine, found {engine} {step}"),
    }
}

fn print(value: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string(value)?);
    Ok(())
}

/// Writes the analyzed documents and queries.
fn write_files(work: &Workload, folder: &Path) -> Result<()> {
    let analysis = ir_bm25::analysis::Analysis::anserini().build()?;
    let write_terms = |to: &mut BufWriter<File>, text: &str| {
        let mut line = String::new();
        analysis.analyze(text, &mut |token| {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(token.term);
        });
        writeln!(to, "{line}")
    };
    let mut documents = BufWriter::new(File::create(folder.join("documents.txt"))?);
    work.for_each_document(&mut |_, document| {
        let text = format!("{}\n{}", document.title, document.text);
        Ok(write_terms(&mut documents, &text)?)
    })?;
    documents.flush()?;
    let mut queries = BufWriter::new(File::create(folder.join("queries.txt"))?);
    for query in work.queries() {
        write!(queries, "{}\t", work.kind(query))?;
        write_terms(&mut queries, &query.text)?;
    }
    Ok(queries.flush()?)
}
