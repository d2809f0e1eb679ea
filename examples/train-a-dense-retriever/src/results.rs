//! Result table and significance tests.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Result;
use ir_core::Run;
use ir_core::trec::HeaderLine;
use ir_data::datafinder::{PUBLISHED_ID, Quoting, read_run};
use ir_eval::compare::significance::BootstrapResampling;
use ir_eval::compare::{ComparedPairs, Comparison, ComparisonConfig, SignificanceTest};
use ir_eval::{Measure, Report};

use crate::task::Task;

const MEASURES: [Measure; 4] = [Measure::P.at(5), Measure::R.at(5), Measure::AP, Measure::RR];

/// Prints the scores of all runs, and significance tests of two of them against the others.
pub(crate) fn print(task: &Task, runs: &[Run], data: Option<&Path>) -> Result<()> {
    let evaluator = task.test.evaluator(&MEASURES)?;
    let mut reports = runs
        .iter()
        .map(|run| evaluator.evaluate(run))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(published) = published(task, data)? {
        reports.push(evaluator.evaluate(&published)?);
    }
    println!(
        "{:<28}{:>8}{:>8}{:>8}{:>8}",
        "test, × 100", "P@5", "R@5", "MAP", "MRR"
    );
    for report in &reports {
        let score = |measure| 100.0 * report.summary(measure).unwrap_or(0.0);
        let cells = MEASURES.map(|measure| format!("{:>8.2}", score(measure)));
        println!("{:<28}{}", report.run(), cells.concat());
    }
    for system in ["encoder, trained", "combined"] {
        differences(system, &reports)?;
    }
    Ok(())
}

/// Compares every system with one by the paired bootstrap.
fn differences(system: &str, reports: &[Report]) -> Result<()> {
    let plan = ComparisonConfig {
        pairs: ComparedPairs::WithBaseline(system.to_owned()),
        test: SignificanceTest::Bootstrap(BootstrapResampling::default()),
        ..ComparisonConfig::default()
    };
    let comparison = Comparison::new(reports, &plan)?;
    println!("\n{system} minus ... ({plan})");
    println!("{:<28}{:>18}{:>18}", "", "R@5", "MRR");
    for report in reports.iter().filter(|report| report.run() != system) {
        let cells = [Measure::R.at(5), Measure::RR].map(|measure| {
            let contrasts = comparison.pairwise_tests.iter();
            let mut found = contrasts.filter(|c| c.measure == measure && c.system == report.run());
            found.next().map_or(String::new(), |c| {
                let p = match c.adjusted_p {
                    None => "no p".to_owned(),
                    Some(p) if p < 0.001 => "p < .001".to_owned(),
                    Some(p) => format!("p = {p:.3}"),
                };
                format!("{:>+7.2} {p:>9}", -100.0 * c.difference)
            })
        });
        println!("{:<28}{:>18}{:>18}", report.run(), cells[0], cells[1]);
    }
    Ok(())
}

/// Reads the run of MAKG's published bi-encoder (Tevatron) and maps its query ids.
fn published(task: &Task, data: Option<&Path>) -> Result<Option<Run>> {
    let path = data.map(|data| data.join("makg/tevatron.trec"));
    let Some(path) = path.filter(|path| path.exists()) else {
        return Ok(None);
    };
    let file = BufReader::new(File::open(&path)?);
    let source = path.display().to_string();
    let read = read_run(file, &source, Quoting::Raw, HeaderLine::Skip)?.data;
    let mut run = Run::new("published (Tevatron)");
    for query in &task.test.queries {
        let id = query.attributes.text(PUBLISHED_ID).unwrap_or_default();
        for scored in read.get(id).unwrap_or_default() {
            run.push(&query.id, scored.doc.as_str(), scored.score);
        }
    }
    Ok(Some(run))
}
