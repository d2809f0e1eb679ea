//! Synthetic runs and judgments.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use bench_common::Random;

/// Size of a topic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) documents: u64,
    pub(crate) judged: u64,
}

/// A run file and its judgment file.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) qrels: PathBuf,
    pub(crate) run: PathBuf,
}

/// Number of documents in the collection: that of MS MARCO passage.
const COLLECTION: u64 = 8_841_823;

impl Files {
    /// Writes the files. Half of the judged documents are retrieved; grades are 0 to 3.
    pub(crate) fn generate(folder: &Path, topics: u64, shape: Shape) -> Result<Self> {
        let files = Self {
            qrels: folder.join(format!("{topics}.qrels")),
            run: folder.join(format!("{topics}.run")),
        };
        let mut qrels = BufWriter::new(File::create(&files.qrels)?);
        let mut run = BufWriter::with_capacity(1 << 20, File::create(&files.run)?);
        let mut random = Random(7);
        let Shape { documents, judged } = shape;
        for topic in 1..=topics {
            // A step coprime to the collection size makes the ids of a topic distinct.
            let step = 1 + random.below(COLLECTION / (documents + judged + 1));
            let start = random.below(COLLECTION);
            let id = |n: u64| (start + n * step) % COLLECTION;
            // Ranks in an order that is independent of the ids.
            let mut order: Vec<u64> = (0..documents).collect();
            for n in (1..order.len()).rev() {
                order.swap(n, random.below(n as u64 + 1) as usize);
            }
            // Scores decrease by steps that f32 can represent.
            let mut score = 40_000_000;
            for (rank, &n) in (1..).zip(&order) {
                score -= 100 + random.below(30_000_000 / documents.max(1));
                let (whole, rest): (u64, u64) = (score / 1_000_000, score % 1_000_000);
                let rank: u64 = rank;
                writeln!(run, "{topic} Q0 d{} {rank} {whole}.{rest:06} bench", id(n))?;
            }
            for n in 0..judged {
                let n = if n % 2 == 0 {
                    n % documents.max(1)
                } else {
                    documents + n
                };
                let grade = random.below(6).saturating_sub(2);
                writeln!(qrels, "{topic} 0 d{} {grade}", id(n))?;
            }
        }
        qrels.flush()?;
        run.flush()?;
        Ok(files)
    }

    /// Copies the first `lines` lines of the run.
    pub(crate) fn head(&self, folder: &Path, lines: usize) -> Result<Self> {
        let head = |from: &Path, to: PathBuf, lines: usize| -> Result<PathBuf> {
            let mut out = File::create(&to)?;
            for line in BufReader::new(File::open(from)?).lines().take(lines) {
                writeln!(out, "{}", line?)?;
            }
            Ok(to)
        };
        Ok(Self {
            qrels: head(&self.qrels, folder.join("head.qrels"), 50)?,
            run: head(&self.run, folder.join("head.run"), lines)?,
        })
    }

    pub(crate) fn run_bytes(&self) -> Result<u64> {
        Ok(fs::metadata(&self.run)?.len())
    }
}
