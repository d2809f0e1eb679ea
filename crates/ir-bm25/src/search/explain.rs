//! Explanation of a document's score.

use ir_core::Explanation;

use super::WeightedTerm;
use super::query::QueryPlan;
use crate::bm25::{Bm25, DocLengths};
use crate::postings::END;

/// Explains the score of one document; `None` if it contains no query term. `names` are the field
/// names; `query` holds the query terms.
pub(crate) fn explain(
    plan: &mut QueryPlan<'_>,
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
        let tf = term.cursor.tf();
        let value = term.scorer.score(doc, tf);
        let model = term.scorer.model;
        let Bm25 { k1, b, lengths, .. } = model.bm25;
        let text = query
            .get(term.number)
            .map_or("", |weighted| &*weighted.term);
        let name = names.get(term.field).copied().unwrap_or_default();
        let encoding = match lengths {
            DocLengths::Exact => "tokens in the field",
            DocLengths::OneByte => "tokens in the field, in Lucene's one-byte encoding",
        };
        let (n, df) = (model.documents, term.df);
        let boost = Explanation::new(
            term.boost,
            "boost: weight in the query, by default the count, × weight of the field",
        );
        let idf = Explanation::new(
            term.idf,
            format!("idf = ln(1 + (N - df + 0.5) / (df + 0.5)), N = {n}, df = {df}"),
        );
        let weight = Explanation::new(term.scorer.weight, "w = boost × idf")
            .with_detail(boost)
            .with_detail(idf);
        let length = term.scorer.length(doc) as f32;
        let term_score = Explanation::new(
            value,
            format!("{name}:{text}: w - w / (1 + tf / (k1 × (1 - b + b × length / average)))"),
        )
        .with_detail(weight)
        .with_detail(Explanation::new(tf as f32, "tf: occurrences in the field"))
        .with_detail(Explanation::new(k1, "k1"))
        .with_detail(Explanation::new(b, "b"))
        .with_detail(Explanation::new(length, format!("length: {encoding}")))
        .with_detail(Explanation::new(
            model.average,
            "average length of the documents with the field",
        ));
        details.push(term_score);
    }
    let is_hit = !details.is_empty();
    is_hit.then(|| Explanation::sum("sum, in double precision, of", details))
}
