//! Comparison of the hits of the engines, and the tables of their measurements.

use std::fmt::Write;

use anyhow::{Result, bail, ensure};
use bench_common::Page;

use crate::engines::{self, Compared, Measured, Setting};
use crate::workload::{Formula, KS, Latency, Workload};

/// Minimum overlap of the hits with a peer. Ties in another order lower it.
const MIN_OVERLAP: f64 = 0.9;

/// Ratio to the fastest peer that is aimed at.
const TARGET: f64 = 2.0;

/// Measures all engines and writes their tables.
pub(crate) fn run(work: &Workload, setting: &Setting<'_>, page: &Page) -> Result<()> {
    let documents = work.for_each_document(&mut |_, _| Ok(()))?;
    let mut agreement = String::new();
    let measured = engines::measure(work, setting, |found| {
        agreement = compare(found)?;
        eprint!("{agreement}");
        Ok(())
    })?;
    let mut tables = format!(
        "{documents} documents, {} queries, {} threads for indexing, 1 for searching.\n\n",
        work.queries().len(),
        setting.threads
    );
    tables.push_str(&latencies(&measured)?);
    tables.push_str(&rates(&measured)?);
    tables.push_str(&costs(&measured));
    tables.push_str(&agreement);
    page.write(&format!("queries {}", setting.collection), &tables)
}

/// Compares the hits of the peers with those of ir-bm25, by the same formula unless the peer has
/// another idf. Returns a table.
fn compare(found: &[Compared]) -> Result<String> {
    let mut table = String::from(
        "| overlap of the hits; queries whose scores differ by more than 0.1 % | k = 10 | k = 1000 |\n|---|---|---|\n",
    );
    for compared in found.iter().skip(1) {
        let peer = &compared.cost;
        let formula = match peer.formula {
            Formula::Lucene => "",
            Formula::ExactLengths => ", exact lengths in both",
            Formula::Other => ", another idf",
        };
        write!(table, "| {}{formula}", peer.name)?;
        let pairs = compared.ours.0.iter().zip(&compared.rankings.0);
        for ((ours, theirs), k) in pairs.zip(KS) {
            let (overlap, differing) = ours.compare(theirs)?;
            write!(table, " | {:.1} %; {differing}", 100.0 * overlap)?;
            ensure!(
                overlap > MIN_OVERLAP,
                "{}, k = {k}: expected the same documents, found {:.1} %",
                peer.name,
                100.0 * overlap
            );
            let queries = ours.queries();
            ensure!(
                peer.formula == Formula::Other || differing * 50 <= queries,
                "{}, k = {k}: expected equal scores, found others in {differing} of {queries} queries",
                peer.name
            );
        }
        table.push_str(" |\n");
    }
    Ok(table)
}

/// The first and the others.
fn split(measured: &[Measured]) -> Result<(&Measured, &[Measured])> {
    match measured {
        [ours, peers @ ..] => Ok((ours, peers)),
        [] => bail!("expected results"),
    }
}

fn latencies(measured: &[Measured]) -> Result<String> {
    let (ours, peers) = split(measured)?;
    let columns = ours.times.latencies.iter();
    let header: String = columns
        .map(|of| format!(" | {}, k = {}", of.kind, of.k))
        .collect();
    let mut table = format!("| mean; 99th percentile, ms{header} |\n");
    writeln!(table, "|{}", "---|".repeat(ours.times.latencies.len() + 1))?;
    let cell = |of: &Latency| format!(" | {:.3}; {:.3}", of.mean_ms, of.p99_ms);
    for engine in measured {
        let cells: String = engine.times.latencies.iter().map(cell).collect();
        writeln!(table, "| {}{cells} |", engine.cost.name)?;
        let cells: String = engine.times.first_searches.iter().map(cell).collect();
        if !cells.is_empty() {
            writeln!(
                table,
                "| {}, a new searcher for each query{cells} |",
                engine.cost.name
            )?;
        }
    }
    if !peers.is_empty() {
        let ratio = |at: usize, of: fn(&Latency) -> f64| {
            let fastest = peers.iter().map(|peer| of(&peer.times.latencies[at]));
            fastest.fold(f64::INFINITY, f64::min) / of(&ours.times.latencies[at])
        };
        let ratios = (0..ours.times.latencies.len()).map(|at| {
            format!(
                " | {:.2}; {:.2}",
                ratio(at, |of| of.mean_ms),
                ratio(at, |of| of.p99_ms)
            )
        });
        let ratios: String = ratios.collect();
        writeln!(table, "| ratio to the fastest peer{ratios} |")?;
        let columns = ours.times.latencies.iter().enumerate();
        let below = columns.flat_map(|(at, of)| {
            let (kind, k) = (&of.kind, of.k);
            [
                (ratio(at, |of| of.mean_ms), "mean"),
                (ratio(at, |of| of.p99_ms), "99th percentile"),
            ]
            .into_iter()
            .filter(|(ratio, _)| *ratio < TARGET)
            .map(move |(ratio, value)| format!("{kind}, k = {k}, {value}: {ratio:.2}"))
        });
        let below: Vec<String> = below.collect();
        let below = match below.is_empty() {
            true => "none".to_owned(),
            false => below.join("; "),
        };
        writeln!(table, "\nRatios below {TARGET}: {below}.")?;
    }
    Ok(table + "\n")
}

/// Queries per second of all kinds in single calls.
fn single_rate(engine: &Measured, k: usize) -> f64 {
    let singles = engine.times.latencies.iter().filter(|of| of.k == k);
    let (queries, ms) = singles.fold((0, 0.0), |(queries, ms), of| {
        (queries + of.queries, ms + of.mean_ms * of.queries as f64)
    });
    1e3 * queries as f64 / ms
}

fn rates(measured: &[Measured]) -> Result<String> {
    let (_, peers) = split(measured)?;
    let rates_of = |engine: &Measured| -> Vec<Option<f64>> {
        let singles = KS.iter().map(|&k| Some(single_rate(engine, k)));
        let batches = (0..KS.len()).map(|at| engine.times.batch_rates.get(at).copied());
        singles.chain(batches).collect()
    };
    let mut table = String::from(
        "| queries per second, all kinds | single calls, k = 10 | k = 1000 | batches, k = 10 | k = 1000 |\n|---|---|---|---|---|\n",
    );
    for engine in measured {
        let cells = rates_of(engine).into_iter().map(|rate| {
            let rate = rate.map(|rate| format!("{rate:.0}"));
            format!(" | {}", rate.unwrap_or_default())
        });
        writeln!(
            table,
            "| {}{} |",
            engine.cost.name,
            cells.collect::<String>()
        )?;
        let cells = engine.times.text_batch_rates.iter();
        let cells: String = cells.map(|rate| format!(" | {rate:.0}")).collect();
        if !cells.is_empty() {
            writeln!(
                table,
                "| {}, `search_batch` of texts |  | {cells} |",
                engine.cost.name
            )?;
        }
    }
    if !peers.is_empty() {
        let all: Vec<Vec<Option<f64>>> = measured.iter().map(rates_of).collect();
        let ratios = (0..2 * KS.len()).map(|at| {
            let fastest = all[1..].iter().filter_map(|rates| rates[at]);
            let ratio = all[0][at].unwrap_or(f64::NAN) / fastest.fold(0.0, f64::max);
            format!(" | {ratio:.2}")
        });
        writeln!(
            table,
            "| ratio to the fastest peer{} |",
            ratios.collect::<String>()
        )?;
    }
    Ok(table + "\n")
}

fn costs(measured: &[Measured]) -> String {
    let mut table = String::from(
        "| index | CPU time, s | size, MiB | peak resident memory, MiB: indexing | searching |\n|---|---|---|---|---|\n",
    );
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    for engine in measured {
        let cost = &engine.cost;
        table.push_str(&format!(
            "| {} | {:.1} | {:.1} | {:.0} | {:.0} |\n",
            cost.name,
            cost.seconds,
            mib(cost.bytes),
            mib(cost.peak),
            mib(engine.times.peak)
        ));
    }
    table + "\n"
}
