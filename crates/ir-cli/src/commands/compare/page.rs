//! `ir compare --format html` and `--plots`.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use ir_core::{Judgments, Run};
use ir_eval::{Comparison, ComparisonPage, PageError};
use ir_experiment::portable_file_name;

use super::Args;
use crate::shared::console::check_stopped;
use crate::shared::output::{OutputPath, OutputSink, reject_taken};
use crate::shared::systems::EvaluatedRun;

/// Default number of wins and losses shown for each pair of systems.
const TOPICS: usize = 10;

/// Creates the page with a title and the files of the evaluation.
pub(super) fn comparison_page<'c>(
    args: &Args,
    comparison: &'c Comparison,
    qrels: &dyn Judgments,
    systems: &[EvaluatedRun],
) -> Result<ComparisonPage<'c>, PageError> {
    let names: Vec<&str> = systems.iter().map(EvaluatedRun::name).collect();
    let title = args.title.clone().unwrap_or_else(|| {
        let systems = match names[..] {
            [one, other] => format!("{one} and {other}"),
            _ => format!("{} systems", names.len()),
        };
        format!("{systems} on {}", args.input.qrels)
    });
    let lists: Vec<&Run> = systems
        .iter()
        .filter_map(|system| system.list.as_ref())
        .collect();
    let topics = args.per_topic.unwrap_or(TOPICS);
    let mut page = ComparisonPage::from_runs(&title, comparison, qrels, &lists, topics)?;
    page.files
        .push(("judgments".to_owned(), args.input.qrels.clone()));
    let file = |system: &EvaluatedRun| (system.name().to_owned(), system.file.clone());
    page.files.extend(systems.iter().map(file));
    Ok(page)
}

/// Writes every plot (SVG) and its data (CSV) into a folder.
pub(super) fn write_plots(page: &ComparisonPage<'_>, folder: &Path) -> Result<()> {
    let mut known = HashSet::new();
    let mut names = Vec::new();
    for plot in &page.plots {
        let title = match portable_file_name(&plot.title()) {
            title if title.is_empty() => "plot".to_owned(),
            title => title,
        };
        let mut name = title.clone();
        let mut number = 1;
        // System names may differ in case only; some file systems ignore case.
        while !known.insert(name.to_ascii_lowercase()) {
            number += 1;
            name = format!("{title}-{number}");
        }
        let paths = ["svg", "csv"].map(|ending| folder.join(format!("{name}.{ending}")));
        for path in &paths {
            reject_taken("--plots", path)?;
        }
        names.push(paths);
    }
    for (plot, [svg, csv]) in page.plots.iter().zip(names) {
        for (path, text) in [(svg, plot.to_svg()), (csv, plot.to_csv())] {
            check_stopped()?;
            let path = OutputPath::from(path);
            OutputSink::open(Some(&path))?.write_with(|out| out.write_all(text.as_bytes()))?;
        }
    }
    Ok(())
}
