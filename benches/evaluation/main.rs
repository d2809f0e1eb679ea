//! Evaluation from files: `ir eval` beside trec_eval, pytrec_eval, ir_measures and ranx.
//!
//! Synthetic files are generated in a temporary folder. On the smallest ones, the values of every
//! query are compared first: trec_eval's to its four decimals, the others within 1e-6. (Scores have
//! no ties, not even as f32 in pytrec_eval, so that tie rules do not matter.) Then every tool
//! evaluates the same files in its own process, in alternating rounds. CPU time (user and system),
//! wall time and peak resident memory are printed as the best of the rounds with the range; then
//! `ir eval` alone with one and two threads from 1,000 to 100,000 topics, and its start-to-end time
//! on a run of ten lines. trec_eval's row needs a trec_eval binary, which no package registry has.
//!
//! ```sh
//! python3 -m venv peers && peers/bin/pip install pytrec-eval-terrier==0.5.11 ir-measures ranx
//! PYTHON=$PWD/peers/bin/python TREC_EVAL=/path/to/trec_eval \
//!     cargo bench -p bench-evaluation
//! ```
//! Missing tools are skipped: `TREC_EVAL` is the binary (`gcc -O2`), `PYTHON` an interpreter with
//! the packages. The benchmark first builds the release binary `ir`. Options, after `--`: `--topics
//! 10000` for the comparison, `--max-topics 100000` for the largest size (3.7 GB of disk),
//! `--documents 1000`, `--judged 50`, `--rounds 3`.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod files;
mod tools;

use anyhow::{Context, Result, ensure};
use bench_common::{Clock, Options};
use files::{Files, Shape};
use tools::{Cost, Tool};

fn main() -> Result<()> {
    let options = Options::parse("--topics --max-topics --documents --judged --rounds")?;
    let shape = Shape {
        documents: options.number("--documents", 1000)?,
        judged: options.number("--judged", 50)?,
    };
    let topics: u64 = options.number("--topics", 10_000)?;
    let max_topics: u64 = options.number("--max-topics", 100_000)?;
    let rounds: u64 = options.number("--rounds", 3)?.max(1);

    let ir = Tool::ir()?;
    let peers = Tool::peers();
    let folder = tempfile::tempdir()?;
    compare_values(
        &ir,
        &peers,
        &Files::generate(folder.path(), topics.min(1000), shape)?,
    )?;

    let files = Files::generate(folder.path(), topics, shape)?;
    println!(
        "\n{topics} topics x {} documents, {} judgments each: a run of {} MB\n",
        shape.documents,
        shape.judged,
        files.run_bytes()? / 1_000_000
    );
    let mut tools = vec![ir.with_threads(1), ir.with_threads(2)];
    tools.extend(peers);
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); tools.len()];
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for (tool, costs) in tools.iter().zip(&mut costs) {
            costs.push(tool.run(&files)?);
        }
    }
    let best: Vec<Cost> = costs.iter().map(|costs| Cost::best(costs)).collect();
    println!(
        "{:<22} {:>11} {:>15} {:>11} {:>10} {:>8}",
        "", "CPU s", "range", "wall s", "peak MiB", "ratio"
    );
    for ((tool, costs), cost) in tools.iter().zip(&costs).zip(&best) {
        let times = || costs.iter().map(|cost| cost.cpu);
        let range = format!(
            "{:.2}-{:.2}",
            times().fold(f64::INFINITY, f64::min),
            times().fold(0.0, f64::max)
        );
        println!(
            "{:<22} {:>11.2} {range:>15} {:>11.2} {:>10.0} {:>7.1}x",
            tool.name,
            cost.cpu,
            cost.wall,
            cost.peak as f64 / 1_048_576.0,
            cost.cpu / best[0].cpu
        );
    }
    println!("ratio: CPU time over that of ir with one thread");
    println!("speedup of two threads: {:.2}", best[0].wall / best[1].wall);

    measure_sizes(&ir, shape, max_topics, rounds)?;
    measure_start_up(&ir, &files)
}

/// Compares every value of every query between the tools.
fn compare_values(ir: &Tool, peers: &[Tool], files: &Files) -> Result<()> {
    let ours = ir.with_threads(2).values(files)?;
    ensure!(!ours.is_empty(), "ir eval printed nothing");
    for peer in peers {
        let peer_values = peer.values(files)?;
        ensure!(
            ours.len() == peer_values.len(),
            "{}: expected {} values, found {}",
            peer.name,
            ours.len(),
            peer_values.len()
        );
        for ((query, measure), &value) in &ours {
            let key = (query.clone(), measure.clone());
            let other = peer_values
                .get(&key)
                .with_context(|| format!("{}: {key:?}", peer.name))?;
            let near = (value - other).abs() <= peer.tolerance(value);
            ensure!(
                near,
                "{}, {key:?}: expected {value}, found {other}",
                peer.name
            );
        }
        println!("{}: {} values agree", peer.name, ours.len());
    }
    Ok(())
}

/// Measures time and memory by number of topics.
fn measure_sizes(ir: &Tool, shape: Shape, max_topics: u64, rounds: u64) -> Result<()> {
    println!(
        "\n{:>8} {:>8} {:>13} {:>16} {:>10} {:>14} {:>10}",
        "topics", "MB", "1 thread, s", "us per topic", "peak MiB", "2 threads, s", "peak MiB"
    );
    for topics in [1000, 10_000, 100_000] {
        if topics > max_topics {
            break;
        }
        let folder = tempfile::tempdir()?;
        let files = Files::generate(folder.path(), topics, shape)?;
        let measure = |threads| -> Result<Cost> {
            let runs: Result<Vec<Cost>> = (0..rounds)
                .map(|_| ir.with_threads(threads).run(&files))
                .collect();
            Ok(Cost::best(&runs?))
        };
        let (one, two) = (measure(1)?, measure(2)?);
        println!(
            "{topics:>8} {:>8} {:>13.3} {:>16.1} {:>10.0} {:>14.3} {:>10.0}",
            files.run_bytes()? / 1_000_000,
            one.cpu,
            one.cpu / topics as f64 * 1e6,
            one.peak as f64 / 1_048_576.0,
            two.wall,
            two.peak as f64 / 1_048_576.0,
        );
    }
    println!("1 thread: CPU time; 2 threads: wall time");
    Ok(())
}

/// Start-to-end time on a run of ten lines.
fn measure_start_up(ir: &Tool, files: &Files) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let small = files.head(folder.path(), 10)?;
    let mut times = Vec::new();
    for _ in 0..21 {
        let clock = Clock::thread();
        ir.run(&small)?;
        times.push(clock.seconds().wall * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "\nrun of 10 lines: {:.1} ms wall time (median of 21, {:.1}-{:.1})",
        times[10], times[0], times[20]
    );
    Ok(())
}
