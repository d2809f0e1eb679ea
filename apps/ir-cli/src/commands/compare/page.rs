//! `ir compare --format html` and `--plots`.

use ir_core::{Judgments, Run};
use ir_eval::compare::Comparison;
use ir_eval::{ComparisonPage, PageError};

use super::Args;
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
