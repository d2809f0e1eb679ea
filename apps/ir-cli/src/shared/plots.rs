//! Plots as files: `--plots` of several subcommands.

use std::collections::HashSet;
use std::path::Path;

use anyhow::Result;
use ir_eval::plots::Plot;
use ir_experiment::portable_file_name;

use super::file_set::write_files;
use super::output::reject_taken;
use super::signals::check_stopped;

/// Writes every plot (SVG) and its data (CSV) into a folder, or none.
pub(crate) fn write_plots(plots: &[Box<dyn Plot + '_>], folder: &Path) -> Result<()> {
    let mut known = HashSet::new();
    let mut names = Vec::new();
    for plot in plots {
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
    let mut files = Vec::new();
    for (plot, [svg, csv]) in plots.iter().zip(names) {
        check_stopped()?;
        files.extend([(svg, plot.to_svg()), (csv, plot.to_csv())]);
    }
    write_files(files)
}
