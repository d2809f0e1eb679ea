//! Explanation of a document's score.

use ir_core::Explanation;

use super::query::QueryPlan;
use crate::bm25::{Bm25, DocLengths};
use crate::postings::END;

/// Explains the score of one document. `names` are the field names; `query` holds the query terms
/// with their counts.
pub(super) fn explain(
    plan: &mut QueryPlan<'_>,
    names: &[&str],
    query: &[(String, u32)],
    doc: u32,
) -> Explanation {
    let mut details = Vec::new();
    let mut sum = 0.0;
    for term in &mut plan.terms {
        let found = term.cursor.seek(doc);
        if found != doc || found == END {
            continue;
        }
        let tf = term.cursor.tf();
        let value = term.scorer.score(doc, tf);
        sum += f64::from(value);
        let model = term.scorer.model;
        let Bm25 { k1, b, lengths, .. } = model.bm25();
        let text = query.get(term.number).map_or("", |(text, _)| text);
        let name = names.get(term.field).copied().unwrap_or_default();
        let encoding = match lengths {
            DocLengths::Exact => "tokens in the field",
            DocLengths::OneByte => "tokens in the field, in Lucene's one-byte encoding",
        };
        let leaf = |value: f32, what: String| Explanation::new(value, what);
        let (n, df) = (model.documents(), term.cursor.df());
        let weight = leaf(term.scorer.weight, "w = boost × idf".to_owned())
            .with_detail(leaf(
                term.boost,
                "boost: count in the query × weight of the field".to_owned(),
            ))
            .with_detail(leaf(
                term.idf,
                format!("idf = ln(1 + (N - df + 0.5) / (df + 0.5)), N = {n}, df = {df}"),
            ));
        let length = term.scorer.length(doc) as f32;
        let term_score = Explanation::new(
            value,
            format!("{name}:{text}: w - w / (1 + tf / (k1 × (1 - b + b × length / average)))"),
        )
        .with_detail(weight)
        .with_detail(leaf(tf as f32, "tf: occurrences in the field".to_owned()))
        .with_detail(leaf(k1, "k1".to_owned()))
        .with_detail(leaf(b, "b".to_owned()))
        .with_detail(leaf(length, format!("length: {encoding}")))
        .with_detail(leaf(
            model.average(),
            "average length of the documents with the field".to_owned(),
        ));
        details.push(term_score);
    }
    let what = match details.len() {
        0 => "no query term occurs in the document",
        _ => "sum, in double precision, of",
    };
    let mut root = Explanation::new(sum as f32, what);
    root.details = details;
    root
}
