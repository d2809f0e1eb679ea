//! Explanations of exact scores: the inner product, norms, and the largest contributions.

use ir_core::{Explanation, VectorSimilarity};

/// Number of contributions that are listed; the others are one node.
const LISTED: usize = 10;

/// Summand of a score: a component of both vectors, and their product or negative squared
/// difference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contribution {
    column: u32,
    query: f32,
    document: f32,
    value: f64,
}

impl Contribution {
    pub(super) fn new(
        similarity: VectorSimilarity,
        column: u32,
        query: f32,
        document: f32,
    ) -> Self {
        let (a, b) = (f64::from(query), f64::from(document));
        let value = match similarity {
            VectorSimilarity::InnerProduct | VectorSimilarity::Cosine => a * b,
            VectorSimilarity::Euclidean => 0.0 - (a - b) * (a - b),
        };
        Self {
            column,
            query,
            document,
            value,
        }
    }

    fn describe(&self, similarity: VectorSimilarity, name: &str) -> String {
        let (query, document) = (self.query, self.document);
        match similarity {
            VectorSimilarity::InnerProduct | VectorSimilarity::Cosine => {
                format!("{name}: {query} × {document}")
            }
            VectorSimilarity::Euclidean => format!("{name}: -({query} - {document})²"),
        }
    }
}

/// Exact score and the values that it is computed from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoreParts {
    pub(super) score: f32,
    /// Inner product, or negative squared distance.
    pub(super) sum: f64,
    /// Norms of query and document; used by the cosine.
    pub(super) norms: (f64, f64),
}

/// Explains a score. `name` returns the name of a component, if it has one.
pub(super) fn explain(
    similarity: VectorSimilarity,
    parts: &ScoreParts,
    contributions: Vec<Contribution>,
    name: &dyn Fn(u32) -> Option<String>,
) -> Explanation {
    let details = largest(similarity, parts.sum, contributions, name);
    let product = "inner product, in double precision, of the components";
    // The sum with 0 turns -0 into 0, as `TopK` does.
    let score = f64::from(parts.score + 0.0);
    let sum = |value: f64, description| Explanation {
        details,
        ..Explanation::new(value, description)
    };
    match similarity {
        VectorSimilarity::InnerProduct => sum(score, product),
        VectorSimilarity::Euclidean => sum(
            score,
            "negative squared Euclidean distance: sum, in double precision, over the components",
        ),
        VectorSimilarity::Cosine => {
            let formula = "cosine: inner product / (norm of the query × norm of the document)";
            Explanation::new(score, formula)
                .with_detail(sum(parts.sum + 0.0, product))
                .with_detail(Explanation::new(parts.norms.0, "norm of the query"))
                .with_detail(Explanation::new(parts.norms.1, "norm of the document"))
        }
    }
}

/// Returns the largest contributions, by absolute value, and the remainder of the sum: added in
/// order, they are the sum, which scores compute in another order.
fn largest(
    similarity: VectorSimilarity,
    sum: f64,
    mut contributions: Vec<Contribution>,
    name: &dyn Fn(u32) -> Option<String>,
) -> Vec<Explanation> {
    contributions.retain(|contribution| contribution.value != 0.0);
    contributions.sort_by(|a, b| {
        let order = b.value.abs().total_cmp(&a.value.abs());
        order.then(a.column.cmp(&b.column))
    });
    let others = contributions.len().saturating_sub(LISTED);
    contributions.truncate(LISTED);
    let (mut details, mut added) = (Vec::with_capacity(LISTED + 1), 0.0);
    for contribution in &contributions {
        let column = contribution.column;
        let name = name(column).unwrap_or_else(|| format!("component {column}"));
        let description = contribution.describe(similarity, &name);
        details.push(Explanation::new(contribution.value, description));
        added += contribution.value;
    }
    let mut description = match others {
        0 => "rounding".to_owned(),
        others => format!("{others} other components"),
    };
    // At most two rounds: after a cancellation, the second adds what the difference was rounded by.
    for _ in 0..2 {
        let remainder = sum - added;
        if remainder == 0.0 {
            break;
        }
        details.push(Explanation::new(remainder, description));
        added += remainder;
        description = "rounding".to_owned();
    }
    details
}
