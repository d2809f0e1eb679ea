//! Text to TF-IDF vectors, and kNN over ten folds, beside scikit-learn: 13,000 abstracts.
//!
//! The collection is real text: the 4,444 abstracts of ICLR papers with their classes, the 3,633
//! medical abstracts of NFCorpus, and the first 4,923 arguments of ArguAna, whose class is the name
//! of their collection. Both sides get the same texts in one order. The accuracies of all folds are
//! compared before anything is timed, and after every round. Then both take turns, round by round.
//! scikit-learn runs in a Python of the caller's choice, in a process of its own, with the number of
//! threads it takes by itself:
//!
//! ```sh
//! python3 -m venv venv && venv/bin/pip install scikit-learn
//! IR_DATA=/path/to/collections IR_SKLEARN_PYTHON=$PWD/venv/bin/python \
//!     cargo bench -p ir-benches --bench classification [-- --rounds R] [--papers 1]
//! ```
//! `--papers 1` takes the labelled papers of ICLR alone, with vectors fitted on all of its
//! abstracts, as its benchmark does. Without `IR_SKLEARN_PYTHON` it times this side alone.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

mod collection;
mod peer_sklearn;

use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use collection::Collection;
use ir_knn::{Knn, Labels, Tf, TfIdf, TfIdfConfig};
use peer_sklearn::{Sklearn, Timed};

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let value = |name: &str, default: usize| -> Result<usize> {
        let at = args.iter().position(|arg| arg == name);
        let given = at.and_then(|at| args.get(at + 1));
        given.map_or(Ok(default), |text| text.parse().context(text.clone()))
    };
    let rounds = value("--rounds", 5)?;
    let collection = Collection::open(value("--papers", 0)? > 0)?;
    println!(
        "{} texts, {:.1} MB, {} of them with a class, {} classes",
        collection.texts.len(),
        collection.texts.iter().map(String::len).sum::<usize>() as f64 / 1e6,
        collection.rows.len(),
        Labels::new(&collection.labels).classes().len(),
    );

    let folder = tempfile::tempdir()?;
    let mut sklearn = match env::var_os("IR_SKLEARN_PYTHON") {
        Some(python) => {
            collection.save(folder.path())?;
            Some(Sklearn::start(Path::new(&python), folder.path())?)
        }
        None => {
            eprintln!("IR_SKLEARN_PYTHON is not set: this side alone");
            None
        }
    };
    if let Some(sklearn) = &sklearn {
        println!("{}", sklearn.version);
    }
    let mut pools = Vec::new();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pools.push((threads, pool.build()?));
    }
    let mut ours = pools.iter().map(|_| Vec::new()).collect::<Vec<_>>();
    let mut theirs = Vec::new();
    for _ in 0..=rounds {
        for ((_, pool), ours) in pools.iter().zip(&mut ours) {
            ours.push(pool.install(|| round(&collection))?);
        }
        if let Some(sklearn) = &mut sklearn {
            theirs.push(sklearn.round()?);
        }
        let all = ours.iter().flatten().chain(&theirs);
        let mut folds = all.map(|timed| &timed.accuracies);
        let first = folds.next().context("no rounds")?;
        ensure!(folds.all(|other| other == first), "accuracies differ");
    }
    let first = &ours[0][0].accuracies;
    println!(
        "accuracy {:.4} %, the same in all ten folds on every side, whatever the threads",
        first.iter().sum::<f64>() * 100.0 / first.len() as f64
    );
    println!(
        "\nseconds by the clock (of the processor), medians of {rounds} rounds\n\n{:<12} {:>20} {:>20} {:>20} {:>10}",
        "", "fit and transform", "ten folds", "together", "ratios"
    );
    // The first round warms up.
    let peer = (!theirs.is_empty()).then(|| Row::of(&theirs[1..]));
    if let Some(peer) = &peer {
        peer.show("scikit-learn", None);
    }
    for ((threads, _), ours) in pools.iter().zip(&ours) {
        Row::of(&ours[1..]).show(&format!("ir, {threads} thread(s)"), peer.as_ref());
    }
    Ok(())
}

/// Everything once, on the threads of this pool.
fn round(collection: &Collection) -> Result<Timed> {
    let start = Clock::now()?;
    let config = TfIdfConfig::default().with_tf(Tf::Sublinear);
    let (_, rows) = TfIdf::fit_transform(&collection.texts, &config)?;
    let fitted = start.seconds()?;
    let selected;
    let rows = if collection.rows.len() == rows.len() {
        &rows
    } else {
        selected = rows.select(&collection.rows);
        &selected
    };
    let start = Clock::now()?;
    let labels = Labels::new(&collection.labels);
    let accuracy = Knn::default().cross_validate(rows, &labels, 10)?;
    Ok(Timed {
        fit: fitted,
        folds: start.seconds()?,
        accuracies: accuracy.folds,
    })
}

/// The time of day and that of the processor, all threads of this process together.
struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    fn now() -> Result<Self> {
        Ok(Self {
            cpu: processor_time()?,
            wall: Instant::now(),
        })
    }

    /// (by the clock, of the processor)
    fn seconds(&self) -> Result<(f64, f64)> {
        let wall = self.wall.elapsed().as_secs_f64();
        Ok((wall, processor_time()? - self.cpu))
    }
}

/// What all threads have had, in seconds; 0 where the system does not say.
fn processor_time() -> Result<f64> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Ok(0.0);
    };
    let mut nanoseconds = 0.0;
    for thread in threads {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = text.split_whitespace().next().context("schedstat")?;
        nanoseconds += first.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

/// Medians: by the clock, of the processor.
struct Row([(f64, f64); 3]);

impl Row {
    fn of(rounds: &[Timed]) -> Self {
        let median = |part: &dyn Fn(&Timed) -> f64| {
            let mut parts: Vec<f64> = rounds.iter().map(part).collect();
            parts.sort_by(f64::total_cmp);
            parts.get(parts.len() / 2).copied().unwrap_or(f64::NAN)
        };
        Self([
            (median(&|t| t.fit.0), median(&|t| t.fit.1)),
            (median(&|t| t.folds.0), median(&|t| t.folds.1)),
            (
                median(&|t| t.fit.0 + t.folds.0),
                median(&|t| t.fit.1 + t.folds.1),
            ),
        ])
    }

    fn show(&self, name: &str, peer: Option<&Self>) {
        print!("{name:<16}");
        for (wall, cpu) in self.0 {
            print!(" {:>20}", format!("{wall:.3} ({cpu:.3})"));
        }
        if let Some(peer) = peer {
            for (own, peer) in self.0.iter().zip(peer.0) {
                print!("   {:.1}x ({:.1}x)", peer.0 / own.0, peer.1 / own.1);
            }
        }
        println!();
    }
}
