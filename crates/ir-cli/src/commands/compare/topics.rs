//! Per-query gains and losses, and the documents behind them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ir_core::{Judgments, Run};
use ir_eval::{Comparison, JudgmentStatus, Measure, QueryDifference, RankChange, RankChanges};
use serde::Serialize;

const DOCUMENTS: usize = 5;

/// Queries with the largest differences between two systems.
#[derive(Debug, Serialize)]
pub(super) struct Topics {
    measure: Measure,
    system: String,
    against: String,
    wins: usize,
    losses: usize,
    gains: Vec<Topic>,
    drops: Vec<Topic>,
}

#[derive(Debug, Serialize)]
struct Topic {
    #[serde(flatten)]
    difference: QueryDifference,
    /// Documents whose rank change affects the measure, relevant ones first.
    moved: Vec<RankChange>,
    /// Number of further documents.
    further: usize,
    /// Number of further documents that are relevant.
    further_relevant: usize,
}

/// Returns the `most` largest gains and losses of each pair of systems on the first measure.
pub(super) fn of(
    comparison: &Comparison,
    qrels: &dyn Judgments,
    runs: &BTreeMap<&str, &Run>,
    most: usize,
) -> Vec<Topics> {
    let Some(&measure) = comparison.measures().first() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for contrast in comparison.pairwise_tests() {
        let (system, against) = (contrast.system.as_str(), contrast.against.as_str());
        let (Some(run), Some(other)) = (runs.get(system), runs.get(against)) else {
            continue;
        };
        if contrast.measure != measure {
            continue;
        }
        let moves = RankChanges::new(qrels, *comparison.rules(), run, other).for_measure(measure);
        let topics = comparison.query_differences(system, against, measure);
        let topics = topics.unwrap_or_default();
        let whole = |difference: &QueryDifference| {
            let mut moved = moves.on_query(&difference.query);
            let rest = moved.iter().skip(DOCUMENTS);
            let further_relevant = rest.filter(|moved| moves.is_relevant(moved)).count();
            let further = moved.len().saturating_sub(DOCUMENTS);
            moved.truncate(DOCUMENTS);
            Topic {
                difference: difference.clone(),
                moved,
                further,
                further_relevant,
            }
        };
        // Only differences counted as wins or losses: rounding errors are ties.
        let gains = topics.iter().take(contrast.effect.wins);
        let losses = topics.iter().rev().take(contrast.effect.losses);
        all.push(Topics {
            measure,
            system: system.to_owned(),
            against: against.to_owned(),
            wins: contrast.effect.wins,
            losses: contrast.effect.losses,
            gains: gains.take(most).map(whole).collect(),
            drops: losses.take(most).map(whole).collect(),
        });
    }
    all
}

impl Topics {
    /// Gains and losses with their titles; `name` formats a system name.
    fn sides(&self, name: fn(&str) -> String) -> [(String, &[Topic]); 2] {
        let title = |higher: &str, lower: &str, shown: usize, of: usize| {
            format!(
                "{}: {} above {} ({shown} of {of} queries)",
                self.measure,
                name(higher),
                name(lower)
            )
        };
        let (system, against) = (&self.system, &self.against);
        [
            (
                title(system, against, self.gains.len(), self.wins),
                &self.gains,
            ),
            (
                title(against, system, self.drops.len(), self.losses),
                &self.drops,
            ),
        ]
    }
}

/// Writes the queries as indented lines or, with `markdown`, as nested lists.
pub(super) fn write(topics: &[Topics], markdown: bool, out: &mut dyn Write) -> io::Result<()> {
    let name = if markdown { code } else { str::to_owned };
    for (title, topics) in topics.iter().flat_map(|pair| pair.sides(name)) {
        writeln!(out, "\n{title}{}\n", if markdown { ":" } else { "" })?;
        for topic in topics {
            let QueryDifference {
                query,
                value,
                against,
                difference,
            } = &topic.difference;
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
            for moved in &topic.moved {
                writeln!(out, "{item}{}: {}", line(moved), name(&moved.doc))?;
            }
            let (further, relevant) = (topic.further, topic.further_relevant);
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

pub(super) fn csv(topics: &[Topics], out: &mut dyn Write) -> io::Result<()> {
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
    for pair in topics {
        for topic in pair.gains.iter().chain(pair.drops.iter().rev()) {
            let topic = &topic.difference;
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

/// Markdown code span, fenced by more backticks than the name has in a row.
fn code(name: &str) -> String {
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
