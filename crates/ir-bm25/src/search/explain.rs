//! Why a document has its score.

use ir_core::Explanation;

use super::plan::Plan;
use crate::bm25::{Bm25, Lengths};
use crate::postings::END;

/// The tree of one document. `names` are those of the fields.
pub(super) fn explain(
    plan: &mut Plan<'_>,
    names: &[&str],
    terms: &[(String, u32)],
    doc: u32,
) -> Explanation {
    let mut parts = Vec::new();
    let mut sum = 0.0;
    for slot in &mut plan.slots {
        let found = slot.cursor.seek(doc);
        if found != doc || found == END {
            continue;
        }
        let tf = slot.cursor.tf();
        let value = slot.scorer.part(doc, tf);
        sum += f64::from(value);
        let model = slot.scorer.model;
        let Bm25 { k1, b, lengths, .. } = model.bm25();
        let term = terms.get(slot.term).map_or("", |(term, _)| term);
        let name = names.get(slot.field).copied().unwrap_or_default();
        let form = match lengths {
            Lengths::Exact => "tokens in the field",
            Lengths::OneByte => "tokens in the field, in Lucene's one-byte form",
        };
        let leaf = |value: f32, what: String| Explanation::new(value, what);
        let (n, df) = (model.documents(), slot.cursor.df());
        let weight = leaf(slot.scorer.weight, "w = boost × idf".to_owned())
            .with(leaf(
                slot.boost,
                "boost: count in the query × weight of the field".to_owned(),
            ))
            .with(leaf(
                slot.idf,
                format!("idf = ln(1 + (N - df + 0.5) / (df + 0.5)), N = {n}, df = {df}"),
            ));
        let length = slot.scorer.length(doc) as f32;
        let part = Explanation::new(
            value,
            format!("{name}:{term}: w - w / (1 + tf / (k1 × (1 - b + b × length / average)))"),
        )
        .with(weight)
        .with(leaf(tf as f32, "tf: occurrences in the field".to_owned()))
        .with(leaf(k1, "k1".to_owned()))
        .with(leaf(b, "b".to_owned()))
        .with(leaf(length, format!("length: {form}")))
        .with(leaf(
            model.average(),
            "average length of the documents with the field".to_owned(),
        ));
        parts.push(part);
    }
    let what = match parts.len() {
        0 => "no term of the query occurs in the document",
        _ => "sum, in double precision, of",
    };
    let mut root = Explanation::new(sum as f32, what);
    root.parts = parts;
    root
}
