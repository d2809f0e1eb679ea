//! Peers that are other programs: Lucene, PISA and bm25s.
//!
//! A folder has the analyzed documents, so that all engines index the same terms: `documents.txt`
//! with the terms of one document per line, and `queries.txt` with the kind, a tab and the terms of
//! one query per line. A peer prints its [`Measurements`] as JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use ir_core::Analyzer;
use tempfile::TempDir;

use crate::workload::{Measurements, Workload};

/// The names of the peers.
const PEERS: [&str; 3] = ["Lucene", "PISA", "bm25s"];

/// Measures the peers that are installed in the folder of the environment variable `IR_BM25_PEERS`
/// (see peers.sh). Prints a line about every other peer.
pub(crate) fn measure(work: &Workload) -> Result<Vec<Measurements>> {
    let Some(peers) = std::env::var_os("IR_BM25_PEERS").map(PathBuf::from) else {
        eprintln!("Lucene, PISA, bm25s: skipped: IR_BM25_PEERS is not set (benches/bm25/peers.sh)");
        return Ok(Vec::new());
    };
    let mut results = Vec::new();
    let files = TempDir::new()?;
    write_files(work, files.path())?;
    for peer in PEERS {
        eprintln!("running {peer} ...");
        match run(peer, &peers, files.path()) {
            Ok(measured) => results.push(measured),
            Err(error) => eprintln!("{peer}: skipped: {error:#}"),
        }
    }
    Ok(results)
}

fn command(peer: &str, peers: &Path, files: &Path) -> Result<Command> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = match peer {
        "Lucene" => {
            let jar = peers.join("anserini.jar");
            ensure!(jar.exists(), "{}: not found", jar.display());
            let mut java = Command::new("java");
            java.args(["-Xmx4g", "-cp"]);
            java.arg(jar).arg(sources.join("Peer.java"));
            java
        }
        _ => {
            let mut python = Command::new(peers.join("bin/python"));
            python.arg(sources.join(match peer {
                "PISA" => "peer_pisa.py",
                _ => "peer_bm25s.py",
            }));
            // TBB of PISA is there.
            python.env("LD_LIBRARY_PATH", peers.join("lib"));
            // One thread in the kernels too.
            python.env("NUMBA_NUM_THREADS", "1");
            python
        }
    };
    command.arg(files);
    Ok(command)
}

fn run(peer: &str, peers: &Path, files: &Path) -> Result<Measurements> {
    let mut command = command(peer, peers, files)?;
    let program = command.get_program().display().to_string();
    let command = command.stderr(Stdio::piped());
    let output = command.output().context(program)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| !line.trim().is_empty());
    ensure!(output.status.success(), "{}", last.unwrap_or("failed"));
    serde_json::from_slice(&output.stdout).context("unexpected output")
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
