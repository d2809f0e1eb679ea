//! TF-IDF and kNN classification over ten folds beside scikit-learn, on 13,000 texts.
//!
//! The texts are the 4,444 abstracts of ICLR papers with their classes, the 3,633 medical abstracts
//! of NFCorpus, and the first 4,923 arguments of ArguAna; the class of the latter two is the name
//! of the collection. Both libraries get the same texts in the same order. The accuracies of all
//! folds are compared before timing and after every round. Rounds alternate between the libraries.
//! scikit-learn runs in its own process with its default number of threads:
//!
//! ```sh
//! python3 -m venv venv && venv/bin/pip install scikit-learn
//! IR_DATA=/path/to/collections IR_SKLEARN_PYTHON=$PWD/venv/bin/python \
//!     cargo bench -p bench-classification [-- --rounds R] [--papers 1]
//! ```
//! `--papers 1` uses the labeled ICLR papers only, with TF-IDF fitted on all abstracts, as in the
//! ICLR benchmark. Without `IR_SKLEARN_PYTHON`, only ir-knn is timed.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod collection;
mod peer_sklearn;

use std::env;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bench_common::{Clock, Options, Seconds};
use collection::Collection;
use ir_knn::{Classes, KnnClassifier, TfWeighting, TfidfConfig, TfidfVectorizer};
use peer_sklearn::{RoundResult, Sklearn};

fn main() -> Result<()> {
    let options = Options::parse("--rounds --papers")?;
    let rounds: usize = options.number("--rounds", 5)?;
    let collection = Collection::open(options.number("--papers", 0)? > 0)?;
    println!(
        "{} texts, {:.1} MB, {} of them with a class, {} classes",
        collection.texts.len(),
        collection.texts.iter().map(String::len).sum::<usize>() as f64 / 1e6,
        collection.rows.len(),
        Classes::new(&collection.labels).names().len(),
    );

    let folder = tempfile::tempdir()?;
    let mut sklearn = match env::var_os("IR_SKLEARN_PYTHON") {
        Some(python) => {
            collection.save(folder.path())?;
            Some(Sklearn::start(Path::new(&python), folder.path())?)
        }
        None => {
            eprintln!("IR_SKLEARN_PYTHON is not set: timing ir-knn only");
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
    let mut peer_rounds = Vec::new();
    for _ in 0..=rounds {
        for ((_, pool), ours) in pools.iter().zip(&mut ours) {
            ours.push(pool.install(|| round(&collection))?);
        }
        if let Some(sklearn) = &mut sklearn {
            peer_rounds.push(sklearn.round()?);
        }
        let all = ours.iter().flatten().chain(&peer_rounds);
        let mut folds = all.map(|result| &result.accuracies);
        let first = folds.next().context("no rounds")?;
        ensure!(folds.all(|other| other == first), "accuracies differ");
    }
    let first = &ours[0][0].accuracies;
    println!(
        "accuracy {:.4} %, equal in all ten folds for both libraries and any number of threads",
        first.iter().sum::<f64>() * 100.0 / first.len() as f64
    );
    println!(
        "\nseconds of wall time (CPU time), medians of {rounds} rounds\n\n{:<12} {:>20} {:>20} {:>20} {:>10}",
        "", "fit and transform", "ten folds", "total", "ratios"
    );
    // The first round is a warm-up.
    let peer = (!peer_rounds.is_empty()).then(|| Row::from_rounds(&peer_rounds[1..]));
    if let Some(peer) = &peer {
        peer.print("scikit-learn", None);
    }
    for ((threads, _), ours) in pools.iter().zip(&ours) {
        Row::from_rounds(&ours[1..]).print(&format!("ir, {threads} thread(s)"), peer.as_ref());
    }
    Ok(())
}

/// Runs fit, transform and cross-validation once in this thread pool.
fn round(collection: &Collection) -> Result<RoundResult> {
    let clock = Clock::process();
    let config = TfidfConfig::default().with_tf(TfWeighting::Sublinear);
    let (_, rows) = TfidfVectorizer::fit_transform(&collection.texts, &config)?;
    let fit = clock.seconds();
    let selected;
    let rows = if collection.rows.len() == rows.nrows() {
        &rows
    } else {
        selected = rows.select_rows(&collection.rows);
        &selected
    };
    let clock = Clock::process();
    let classes = Classes::new(&collection.labels);
    let accuracy = KnnClassifier::default().cross_validate(rows, &classes, 10)?;
    Ok(RoundResult {
        fit,
        folds: clock.seconds(),
        accuracies: accuracy.folds,
    })
}

/// Median times of fitting, ten folds, and both.
struct Row([Seconds; 3]);

impl Row {
    fn from_rounds(rounds: &[RoundResult]) -> Self {
        Self([
            Seconds::median(rounds.iter().map(|result| result.fit)),
            Seconds::median(rounds.iter().map(|result| result.folds)),
            Seconds::median(rounds.iter().map(|result| result.fit + result.folds)),
        ])
    }

    fn print(&self, name: &str, peer: Option<&Self>) {
        print!("{name:<16}");
        for Seconds { wall, cpu } in self.0 {
            print!(" {:>20}", format!("{wall:.3} ({cpu:.3})"));
        }
        if let Some(peer) = peer {
            for (ir, peer) in self.0.iter().zip(peer.0) {
                let (wall, cpu) = (peer.wall / ir.wall, peer.cpu / ir.cpu);
                print!("   {wall:.1}x ({cpu:.1}x)");
            }
        }
        println!();
    }
}
