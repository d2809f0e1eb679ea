//! Pools the runs of four families of engines as bioCADDIE did, simulates judges, and estimates
//! infAP and infNDCG from the judged sample.
//!
//! `pool-four-engines [--depth N] [--error-rate P] [--plots FOLDER]`
#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_core::NoProgress;
use ir_core::store::AtomicFile;
use ir_data::catalog::Catalog;
use ir_eval::assess::Pool;
use ir_eval::plots::{OverlapPlot, Plot};
use ir_eval::runs::RunOverlap;
use ir_experiment::{Cache, Registry, Runner, TaskResults, portable_file_name};
use pool_four_engines::pools::Pools;
use pool_four_engines::{PooledTask, bundled, experiment};

struct Options {
    /// Last rank of the first pool. bioCADDIE's was 300 of 794,992 documents.
    depth: usize,
    error_rate: f64,
    plots: Option<PathBuf>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            depth: 30,
            error_rate: 0.1,
            plots: None,
        };
        while let Some(name) = args.next() {
            let value = args
                .next()
                .with_context(|| format!("{name}: expected a value"))?;
            let invalid = |expected: &str| format!("{name}: expected {expected}, found {value:?}");
            match name.as_str() {
                "--depth" => options.depth = value.parse().with_context(|| invalid("a number"))?,
                "--error-rate" => {
                    options.error_rate = value.parse().with_context(|| invalid("a number"))?;
                }
                "--plots" => options.plots = Some(value.into()),
                _ => bail!("expected --depth, --error-rate or --plots, found {name:?}"),
            }
        }
        Ok(options)
    }
}

fn main() -> Result<()> {
    let options = Options::parse(env::args().skip(1))?;
    let catalog = Catalog::from_env();
    let experiment = if catalog.has("cranfield")? && catalog.has("cisi")? {
        experiment()?
    } else {
        println!("without IR_DATA: the bundled collection in place of Cranfield and CISI\n");
        bundled()?
    };
    let (cache, registry) = (Cache::temporary()?, Registry::default());
    let results = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress)?;
    println!("{}", results.to_text());
    for task in &results.tasks {
        let pooled = PooledTask::new(task, options.depth, options.error_rate)?;
        println!("== {}\n", task.name);
        print_pools(task, &pooled, options.depth);
        print_overlap(&pooled);
        print_judges(&pooled, options.error_rate);
        print_estimates(&pooled);
        if let Some(folder) = &options.plots {
            write_plots(folder, &task.name, &pooled.overlaps)?;
        }
    }
    Ok(())
}

fn print_pools(task: &TaskResults, pooled: &PooledTask, depth: usize) {
    let all: usize = (task.qrels.iter().map(|(_, docs)| docs))
        .map(|docs| docs.grades().filter(|&grade| grade > 0).count())
        .sum();
    let line = |name: &str, pool: &Pool| {
        let (judged, relevant) = (Pools::count(pool, 0), Pools::count(pool, 1));
        let definite = Pools::count(pool, pooled.definite);
        println!(
            "{name}: {judged} judged documents, {relevant} relevant ({:.0} % of {all}), \
             {definite} of grade {}",
            100.0 * relevant as f64 / all.max(1) as f64,
            pooled.definite
        );
    };
    let Pools {
        organizers,
        submitted,
    } = &pooled.pools;
    line(
        &format!("first pool, ranks 1 to {depth} of 8 runs"),
        organizers,
    );
    line(
        "with ranks 1 to 10 and 5 % of 11 to 100 of 4 others",
        submitted,
    );
    let pending = submitted.documents() - Pools::count(submitted, 0);
    println!("not drawn for judging: {pending} documents\n");
}

fn print_overlap(pooled: &PooledTask) {
    for (queries, overlap) in ["keyword", "expanded"].into_iter().zip(&pooled.overlaps) {
        println!("relevant documents of the first pool by engine, {queries} queries:");
        let regions = overlap.regions.iter();
        for region in regions.filter(|region| region.count.relevant != Some(0)) {
            let names: Vec<&str> = region
                .runs
                .iter()
                .map(|&r| overlap.runs[r].as_str())
                .collect();
            let names = names.join(" + ").replace(pool_four_engines::EXPANDED, "");
            println!("  {:6}  {names}", region.count.relevant.unwrap_or(0));
        }
        println!();
    }
}

fn print_judges(pooled: &PooledTask, error_rate: f64) {
    let shown = |kappa: Option<f64>| kappa.map_or("undefined".to_owned(), |k| format!("{k:.3}"));
    println!(
        "judges with error rate {error_rate}: Cohen's kappa {} (expected {}), Fleiss' kappa {}\n",
        shown(pooled.ratings.cohen_kappa(0, 1)),
        shown(pooled.expected_kappa),
        shown(pooled.ratings.fleiss_kappa()),
    );
}

fn print_estimates(pooled: &PooledTask) {
    println!(
        "{:16}{:>8}{:>8}{:>8}{:>10}{:>9}{:>9}",
        "system", "AP", "infAP", "judge 1", "nDCG", "infNDCG", "judge 1"
    );
    for row in &pooled.scores {
        let ([ap, ndcg], [inf_ap, inf_ndcg], [ap1, ndcg1]) = (row.exact, row.inferred, row.judged);
        println!(
            "{:16}{ap:8.4}{inf_ap:8.4}{ap1:8.4}{ndcg:10.4}{inf_ndcg:9.4}{ndcg1:9.4}",
            row.system
        );
    }
    let shown = |tau: Option<f64>| tau.map_or("undefined".to_owned(), |tau| format!("{tau:.3}"));
    let [ap, ndcg] = [pooled.taus(0), pooled.taus(1)];
    println!(
        "{:16}{:>16}{:>8}{:>19}{:>9}\n",
        "Kendall's tau",
        shown(ap[0]),
        shown(ap[1]),
        shown(ndcg[0]),
        shown(ndcg[1])
    );
}

fn write_plots(folder: &Path, task: &str, overlaps: &[RunOverlap; 2]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (queries, overlap) in ["keyword", "expanded"].into_iter().zip(overlaps) {
        let plot = OverlapPlot::relevant(overlap).context("the overlap has no judgments")?;
        let path = folder.join(format!("{}-{queries}.svg", portable_file_name(task)));
        let mut file = AtomicFile::create(&path)?;
        file.write_all(plot.to_svg().as_bytes())?;
        file.commit()?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
