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

/// As [`TARGET`], with several segments and deleted documents.
const SEGMENTED_TARGET: f64 = 1.0;

/// Measures all engines and writes their tables.
pub(crate) fn run(work: &Workload, setting: &Setting<'_>, page: &Page) -> Result<()> {
    let documents = work.for_each_document(&mut |_, _| Ok(()))?;
    let mut agreement = String::new();
    let measured = engines::measure(work, setting, |found| {
        agreement = compare(found)?;
        eprint!("{agreement}");
        Ok(())
    })?;
    let single = measured.iter().filter(|of| of.threads != setting.threads);
    let single: Vec<&str> = single.map(|of| of.engine).collect();
    let single = if single.is_empty() {
        String::new()
    } else {
        format!(" (1 in {})", single.join(", "))
    };
    let mut tables = format!(
        "{documents} documents, {} queries, {} thread{} for indexing{single}, 1 for searching.\n\n",
        work.queries().len(),
        setting.threads,
        if setting.threads == 1 { "" } else { "s" }
    );
    tables.push_str(&latencies(&measured)?);
    tables.push_str(&rates(&measured)?);
    tables.push_str(&low_ratios(&measured)?);
    tables.push_str(&costs(&measured)?);
    tables.push_str(&agreement);
    page.write(&format!("queries {}", setting.collection), &tables)
}

/// Compares the hits of the peers with those of ir-bm25, by the same formula unless the peer has
/// another idf. With several segments, ir-bm25 must have the same hits and bits of scores. Returns
/// a table of the peers.
fn compare(found: &[Compared]) -> Result<String> {
    let [_, segmented, peers @ ..] = found else {
        bail!("expected rankings with one segment and with several");
    };
    let pairs = segmented.ours.0.iter().zip(&segmented.rankings.0);
    for ((ours, segmented), k) in pairs.zip(KS) {
        let (differing, queries) = (ours.differing_hits(segmented), ours.queries());
        ensure!(
            differing == 0 && segmented.queries() == queries,
            "several segments, k = {k}: expected the hits of one segment, found others in {differing} of \
             {queries} queries"
        );
    }
    let mut table = String::from(
        "| overlap of the hits; queries whose scores differ by more than 0.1 % | k = 10 | k = 1000 |\n|---|---|---|\n",
    );
    for compared in peers {
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

/// ir-bm25 with one segment and with several, and the peers.
fn split(measured: &[Measured]) -> Result<(&Measured, &Measured, &[Measured])> {
    match measured {
        [ours, segmented, peers @ ..] => Ok((ours, segmented, peers)),
        _ => bail!("expected results with one segment and with several"),
    }
}

fn latencies(measured: &[Measured]) -> Result<String> {
    let (ours, _, peers) = split(measured)?;
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
        let ratios = latency_ratios(ours, peers).into_iter();
        let ratios = ratios.map(|[mean, p99]| format!(" | {mean:.2}; {p99:.2}"));
        let ratios: String = ratios.collect();
        writeln!(table, "| ratio to the fastest peer{ratios} |")?;
    }
    Ok(table + "\n")
}

/// Times of the fastest peer, divided by those of an engine: mean and 99th percentile of every
/// column.
fn latency_ratios(engine: &Measured, peers: &[Measured]) -> Vec<[f64; 2]> {
    let values: [fn(&Latency) -> f64; 2] = [|of| of.mean_ms, |of| of.p99_ms];
    let columns = engine.times.latencies.iter().enumerate();
    let ratios = columns.map(|(at, of)| {
        values.map(|value| {
            let times = peers.iter().map(|peer| value(&peer.times.latencies[at]));
            times.fold(f64::INFINITY, f64::min) / value(of)
        })
    });
    ratios.collect()
}

/// Queries per second of all kinds in single calls.
fn single_rate(engine: &Measured, k: usize) -> f64 {
    let singles = engine.times.latencies.iter().filter(|of| of.k == k);
    let (queries, ms) = singles.fold((0, 0.0), |(queries, ms), of| {
        (queries + of.queries, ms + of.mean_ms * of.queries as f64)
    });
    1e3 * queries as f64 / ms
}

/// Rates in the columns of their table: single calls and batches, for each of [`KS`].
type Rates = [[Option<f64>; KS.len()]; 2];

fn rates_of(engine: &Measured) -> Rates {
    let batches = &engine.times.batch_rates;
    [
        KS.map(|k| Some(single_rate(engine, k))),
        std::array::from_fn(|at| batches.get(at).copied()),
    ]
}

/// Rates of batches of texts.
fn text_rates_of(engine: &Measured) -> Rates {
    let texts = &engine.times.text_batch_rates;
    [
        [None; KS.len()],
        std::array::from_fn(|at| texts.get(at).copied()),
    ]
}

/// Ratios of rates to those of the fastest peer; [`None`] without one of both.
fn rate_ratios(rates: &Rates, peers: &[Measured]) -> Rates {
    let peers: Vec<Rates> = peers.iter().map(rates_of).collect();
    std::array::from_fn(|form| {
        std::array::from_fn(|at| {
            let fastest = peers.iter().filter_map(|peer| peer[form][at]);
            Some(rates[form][at]? / fastest.reduce(f64::max)?)
        })
    })
}

fn rates(measured: &[Measured]) -> Result<String> {
    let (ours, _, peers) = split(measured)?;
    let mut table = String::from(
        "| queries per second, all kinds | single calls, k = 10 | k = 1000 | batches, k = 10 | k = 1000 |\n|---|---|---|---|---|\n",
    );
    let cells = |rates: Rates, decimals: usize| -> String {
        let cells = rates.into_iter().flatten().map(|rate| {
            let rate = rate.map(|rate| format!("{rate:.decimals$}"));
            format!(" | {}", rate.unwrap_or_default())
        });
        cells.collect()
    };
    for engine in measured {
        let name = &engine.cost.name;
        writeln!(table, "| {name}{} |", cells(rates_of(engine), 0))?;
        if !engine.times.text_batch_rates.is_empty() {
            let cells = cells(text_rates_of(engine), 0);
            writeln!(table, "| {name}, `search_batch` of texts{cells} |")?;
        }
    }
    if !peers.is_empty() {
        let cells = cells(rate_ratios(&rates_of(ours), peers), 2);
        writeln!(table, "| ratio to the fastest peer{cells} |")?;
    }
    Ok(table + "\n")
}

/// Lines with the ratios of latencies and rates that are below the target.
fn low_ratios(measured: &[Measured]) -> Result<String> {
    let (ours, segmented, peers) = split(measured)?;
    if peers.is_empty() {
        return Ok(String::new());
    }
    let of_engine = |engine: &Measured| {
        let latencies = engine.times.latencies.iter();
        let latencies = latencies.zip(latency_ratios(engine, peers));
        let mut ratios: Vec<(String, f64)> = latencies
            .flat_map(|(of, [mean, p99])| {
                let column = format!("{}, k = {}", of.kind, of.k);
                [
                    (format!("{column}, mean"), mean),
                    (format!("{column}, 99th percentile"), p99),
                ]
            })
            .collect();
        let [singles, batches] = rate_ratios(&rates_of(engine), peers);
        let [_, texts] = rate_ratios(&text_rates_of(engine), peers);
        for (form, rates) in [
            ("single calls", singles),
            ("batches", batches),
            ("`search_batch` of texts", texts),
        ] {
            let rates = rates.into_iter().zip(KS);
            ratios
                .extend(rates.filter_map(|(ratio, k)| Some((format!("{form}, k = {k}"), ratio?))));
        }
        ratios
    };
    let below = |ratios: Vec<(String, f64)>, target: f64| {
        let below = ratios.into_iter().filter(|(_, ratio)| *ratio < target);
        let below: Vec<String> = below
            .map(|(name, ratio)| format!("{name}: {ratio:.2}"))
            .collect();
        below.join("; ")
    };
    let mut lines = match below(of_engine(ours), TARGET) {
        none if none.is_empty() => format!("Ratios below {TARGET}: none.\n\n"),
        ratios => format!("Ratios below {TARGET}: {ratios}.\n\n"),
    };
    let ratios = below(of_engine(segmented), SEGMENTED_TARGET);
    if !ratios.is_empty() {
        let name = &segmented.cost.name;
        let name = name.split_once(", ").map_or(&**name, |(_, rest)| rest);
        writeln!(
            lines,
            "{name}: ratios below {SEGMENTED_TARGET}: {ratios}.\n"
        )?;
    }
    Ok(lines)
}

fn costs(measured: &[Measured]) -> Result<String> {
    let (ours, _, peers) = split(measured)?;
    let mut table = String::from(
        "| index | CPU time, s | size, MiB | peak resident memory, MiB: indexing | searching |\n|---|---|---|---|---|\n",
    );
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    for engine in std::iter::once(ours).chain(peers) {
        let cost = &engine.cost;
        writeln!(
            table,
            "| {} | {:.1} | {:.1} | {:.0} | {:.0} |",
            cost.name,
            cost.seconds,
            mib(cost.bytes),
            mib(cost.peak),
            mib(engine.times.peak)
        )?;
    }
    Ok(table + "\n")
}
