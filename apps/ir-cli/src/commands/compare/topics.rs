//! Per-query gains and losses, and the documents behind them.

use std::io::{self, Write};

use ir_core::Judgments;
use ir_eval::compare::{Comparison, PairwiseTest, QueryDifference};
use ir_eval::runs::{RankChange, RankChanges};
use ir_eval::{JudgmentStatus, QueryRankChanges, WinsAndLosses};

use crate::shared::systems::EvaluatedRun;

const DOCUMENTS: usize = 5;

/// Returns the `most` largest gains and losses of each pair of systems on the first measure.
pub(super) fn wins_and_losses(
    comparison: &Comparison,
    qrels: &dyn Judgments,
    systems: &[EvaluatedRun],
    most: usize,
) -> Vec<WinsAndLosses> {
    let run = |name: &str| {
        let system = systems.iter().find(|system| system.name() == name)?;
        system.list.as_ref()
    };
    let pair = |test: &PairwiseTest| {
        let (run, other) = (run(&test.system)?, run(&test.against)?);
        let changes = RankChanges::new(qrels, comparison.rules, run, other);
        let changes = changes.for_measure(test.measure);
        WinsAndLosses::new(comparison, &changes, test, most, DOCUMENTS)
    };
    let first = comparison.measures.first();
    let tests = comparison.pairwise_tests.iter();
    let tests = tests.filter(|test| Some(&test.measure) == first);
    tests.filter_map(pair).collect()
}

/// Gains and losses with their titles; `name` formats a system name.
fn sides(pair: &WinsAndLosses, name: fn(&str) -> String) -> [(String, &[QueryRankChanges]); 2] {
    let title = |higher: &str, lower: &str, shown: usize, all: usize| {
        format!(
            "{}: {} above {} ({shown} of {all} queries)",
            pair.measure,
            name(higher),
            name(lower)
        )
    };
    let (system, against) = (&pair.system, &pair.against);
    let gains = title(system, against, pair.gains.len(), pair.wins);
    let drops = title(against, system, pair.drops.len(), pair.losses);
    [(gains, &pair.gains), (drops, &pair.drops)]
}

/// Writes the queries as indented lines or, with `markdown`, as nested lists.
pub(super) fn write(
    pairs: &[WinsAndLosses],
    markdown: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = if markdown { code } else { str::to_owned };
    for (title, topics) in pairs.iter().flat_map(|pair| sides(pair, name)) {
        writeln!(out, "\n{title}{}\n", if markdown { ":" } else { "" })?;
        for topic in topics {
            let QueryDifference {
                query,
                value,
                against,
                difference,
            } = &topic.values;
            let query = name(query);
            if markdown {
                writeln!(
                    out,
                    "- {difference:+.4} ({against:.4} to {value:.4}) {query}"
                )?;
            } else {
                writeln!(
                    out,
                    "  {difference:+.4}  {against:.4} -> {value:.4}  {query}"
                )?;
            }
            let item = if markdown { "  - " } else { "           " };
            for moved in &topic.changes {
                writeln!(out, "{item}{}: {}", line(moved), name(&moved.doc))?;
            }
            let (further, relevant) = (topic.omitted, topic.relevant_omitted);
            if further > 0 {
                let relevant = if markdown {
                    String::new()
                } else {
                    format!(", {relevant} of them relevant")
                };
                writeln!(out, "{item}and {further} more{relevant}")?;
            }
        }
    }
    Ok(())
}

pub(super) fn csv(pairs: &[WinsAndLosses], out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "measure",
        "system",
        "against",
        "query",
        "value",
        "value_against",
        "difference",
    ])?;
    for pair in pairs {
        for topic in pair.gains.iter().chain(pair.drops.iter().rev()) {
            let topic = &topic.values;
            table.write_record([
                &pair.measure.to_string(),
                &pair.system,
                &pair.against,
                &topic.query,
                &topic.value.to_string(),
                &topic.against.to_string(),
                &topic.difference.to_string(),
            ])?;
        }
    }
    table.flush()
}

/// Markdown code span, fenced by more backticks than occur in a row in the name.
pub(super) fn code(name: &str) -> String {
    let rows = name.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(rows.max().unwrap_or(0) + 1);
    let room = if name.starts_with('`') || name.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{room}{name}{room}{fence}")
}

/// Formats a rank change: `grade 2, rank 14 -> 3`.
fn line(moved: &RankChange) -> String {
    let judged = match moved.judged {
        JudgmentStatus::Grade(grade) => format!("grade {grade}"),
        JudgmentStatus::Unjudged | JudgmentStatus::Unpooled => "unjudged".to_owned(),
    };
    let rank = |rank: Option<usize>| rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
    format!(
        "{judged}, rank {} -> {}",
        rank(moved.against),
        rank(moved.rank)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_markdown_stay_as_they_are() {
        for (name, expected) in [
            ("MED_1_<b>*", "`MED_1_<b>*`"),
            ("a`b", "``a`b``"),
            ("`tick``", "``` `tick`` ```"),
        ] {
            assert_eq!(code(name), expected);
        }
    }
}
