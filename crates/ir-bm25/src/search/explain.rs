//! Explanation of a document's score.

use ir_core::Explanation;

use super::WeightedTerm;
use super::list_scorer::ListScorer;
use super::query::QueryPlan;
use crate::postings::END;

/// Explains the score of one document; `None` if it contains no query term. `names` are the field
/// names; `query` holds the query terms.
pub(crate) fn explain<S: ListScorer>(
    plan: &mut QueryPlan<'_, S>,
    names: &[&str],
    query: &[WeightedTerm],
    doc: u32,
) -> Option<Explanation> {
    let mut details = Vec::new();
    for term in &mut plan.terms {
        let found = term.cursor.seek(doc);
        if found != doc || found == END {
            continue;
        }
        let text = query.get(term.number).map_or("", |term| &*term.term);
        let name = names.get(term.field).copied().unwrap_or_default();
        let tf = term.cursor.tf();
        details.push(term.scorer.explain(&format!("{name}:{text}"), doc, tf));
    }
    if details.is_empty() {
        return None;
    }
    details.extend(plan.documents.explain(names, doc));
    Some(Explanation::sum("sum, in double precision, of", details))
}
