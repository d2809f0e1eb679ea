//! Lucene as a process that answers commands, so that its rounds alternate with those of ir-bm25.
//!
//! The process (LuceneServer.java) indexes `documents.txt`, the terms of one document per line, and
//! reads `queries.txt`, the kind, a tab and the terms of one query per line. As many spaces as
//! positions separate two terms, a tab the fields of a document. The number after a tilde in the
//! kind is the slop of its phrases. It prints [`IndexFacts`] and then one line for each command:
//! `top TAB model` prints the top 10 of all queries, and `time TAB model TAB kind TAB k` the CPU
//! time of each query of a kind in milliseconds.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use ir_core::Analyzer;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::workload::{TopHits, Workload};

/// What a query of Lucene is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queries {
    /// A disjunction of terms, boosted by their counts.
    Words,
    /// A phrase, in an index with positions.
    Phrases,
    /// A disjunction of terms, each over the fields title and text.
    CombinedFields,
}

/// The index of Lucene.
#[derive(Debug, Deserialize)]
pub(crate) struct IndexFacts {
    pub(crate) name: String,
    /// CPU time of all threads, without analysis.
    pub(crate) index_seconds: f64,
    pub(crate) index_bytes: u64,
}

/// Process of Lucene with an open index.
#[derive(Debug)]
pub(crate) struct Lucene {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(crate) facts: IndexFacts,
    _files: TempDir,
}

/// A term with its position.
pub(crate) type Positioned = (usize, String);

impl Lucene {
    /// Starts the process with the analyzed documents of a workload and queries of kinds. [`None`]
    /// if `IR_BM25_PEERS` is not set.
    pub(crate) fn start(
        work: &Workload,
        queries: &[(&str, Vec<Positioned>)],
        form: Queries,
    ) -> Result<Option<Self>> {
        let Some(peers) = std::env::var_os("IR_BM25_PEERS").map(PathBuf::from) else {
            eprintln!("Lucene: skipped: IR_BM25_PEERS is not set (benches/bm25/peers.sh)");
            return Ok(None);
        };
        let files = TempDir::new()?;
        write_files(work, queries, form, files.path())?;
        let jar = peers.join("anserini.jar");
        ensure!(jar.exists(), "{}: not found", jar.display());
        let mut process = Command::new("java")
            .args(["-Xmx4g", "-cp"])
            .arg(jar)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("LuceneServer.java"))
            .arg(files.path())
            .arg(match form {
                Queries::Words => "words",
                Queries::Phrases => "phrases",
                Queries::CombinedFields => "fields",
            })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("java: expected an executable")?;
        let commands = process.stdin.take().context("no standard input")?;
        let answers = process.stdout.take().context("no standard output")?;
        let mut answers = BufReader::new(answers);
        let facts = answer(&mut answers)?;
        Ok(Some(Self {
            process,
            commands,
            answers,
            facts,
            _files: files,
        }))
    }

    /// The top 10 of all queries.
    pub(crate) fn top(&mut self, model: &str) -> Result<TopHits> {
        writeln!(self.commands, "top\t{model}")?;
        answer(&mut self.answers)
    }

    /// CPU time of each query of a kind, in milliseconds.
    pub(crate) fn time(&mut self, model: &str, kind: &str, k: usize) -> Result<Vec<f64>> {
        writeln!(self.commands, "time\t{model}\t{kind}\t{k}")?;
        answer(&mut self.answers)
    }
}

impl Drop for Lucene {
    fn drop(&mut self) {
        // The process ends by itself when its input does; errors have no consequence.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn answer<T: DeserializeOwned>(answers: &mut BufReader<ChildStdout>) -> Result<T> {
    let mut line = String::new();
    answers.read_line(&mut line)?;
    ensure!(!line.is_empty(), "Lucene: expected an answer, found none");
    serde_json::from_str(&line).context("Lucene: unexpected answer")
}

/// The terms of a text with their positions.
pub(crate) fn positioned(analyzer: &dyn Analyzer, text: &str) -> Vec<Positioned> {
    let mut terms = Vec::new();
    analyzer.analyze(text, &mut |token| {
        terms.push((token.position as usize, token.term.to_owned()));
    });
    terms
}

fn write_files(
    work: &Workload,
    queries: &[(&str, Vec<Positioned>)],
    form: Queries,
    folder: &Path,
) -> Result<()> {
    let analysis = ir_bm25::analysis::Analysis::anserini().build()?;
    let mut documents = BufWriter::new(File::create(folder.join("documents.txt"))?);
    work.for_each_document(&mut |_, document| {
        if form == Queries::CombinedFields {
            write_terms(&mut documents, &positioned(&analysis, &document.title))?;
            write!(documents, "\t")?;
            write_terms(&mut documents, &positioned(&analysis, &document.text))?;
        } else {
            let text = format!("{}\n{}", document.title, document.text);
            write_terms(&mut documents, &positioned(&analysis, &text))?;
        }
        Ok(writeln!(documents)?)
    })?;
    documents.flush()?;
    let mut file = BufWriter::new(File::create(folder.join("queries.txt"))?);
    for (kind, terms) in queries {
        write!(file, "{kind}\t")?;
        write_terms(&mut file, terms)?;
        writeln!(file)?;
    }
    Ok(file.flush()?)
}

fn write_terms(to: &mut BufWriter<File>, terms: &[Positioned]) -> std::io::Result<()> {
    let mut last = 0;
    for (position, term) in terms {
        write!(to, "{:1$}{term}", "", position - last)?;
        last = *position;
    }
    Ok(())
}
