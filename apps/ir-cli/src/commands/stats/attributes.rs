//! Documents by the values of an attribute (`--by`).

use anyhow::Result;
use ir_core::Corpus;
use ir_eval::{AttributeCounts, CorpusStatistics};

use super::{MAX_BARS, Row};
use crate::shared::console::bail_usage;
use crate::shared::format::{counted, grouped};
use crate::shared::suggest::{did_you_mean, list_or_none};

/// Maximum number of values in the text; JSON has all.
const MAX_VALUES: usize = 100;

/// Rejects an attribute that no document has.
pub(super) fn check(statistics: &CorpusStatistics, documents: &dyn Corpus) -> Result<()> {
    let is_absent = |counts: &&AttributeCounts| counts.values.is_empty();
    let Some(absent) = statistics.by_attribute.iter().find(is_absent) else {
        return Ok(());
    };
    let first = documents.docs()?.next().transpose()?;
    let known = first.iter().flat_map(|doc| doc.attributes.iter());
    let known: Vec<&str> = known.map(|(name, _)| name).collect();
    let name = &absent.attribute;
    bail_usage!(
        "--by {name}: expected an attribute of the documents, found no document with it; attributes of the first document: {}{}",
        list_or_none(known.iter().copied()),
        did_you_mean(name, known)
    )
}

/// Number of values, then a row for each value, most frequent first.
pub(super) fn rows(counts: &AttributeCounts) -> Vec<Row> {
    let values = counts.descending();
    let mut summary = counted(values.len() as u64, "value");
    if counts.without > 0 {
        summary += &format!(", {} without", grouped(counts.without));
    }
    let mut rows = vec![[format!("documents by {}", counts.attribute), summary]];
    let shown = values.iter().take(MAX_VALUES);
    rows.extend(shown.map(|(value, count)| [format!("  {value}"), grouped(*count)]));
    let others: u64 = values.iter().skip(MAX_VALUES).map(|(_, count)| count).sum();
    if others > 0 {
        rows.push(["  other values".to_owned(), grouped(others)]);
    }
    rows
}

/// A bar for each of the most frequent values.
pub(super) fn bars(counts: &AttributeCounts) -> Vec<(String, u64)> {
    let values = counts.descending().into_iter().take(MAX_BARS);
    values
        .map(|(value, count)| (value.to_owned(), count))
        .collect()
}
