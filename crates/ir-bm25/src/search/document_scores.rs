//! What documents add to the sums of their term scores, in models with a [`DocumentScorer`].

use ir_core::Explanation;
use ir_core::store::OpenIndexError;

use super::lengths::ScoredLengths;
use crate::models::DocumentScorer;
use crate::{DocLengths, Index};

/// Document scores of a query in an index: of no field, one, or several.
#[derive(Debug, Default)]
pub(crate) struct DocumentScores<'a>(Vec<FieldScores<'a>>);

/// Document scores of a query in one field.
#[derive(Debug)]
struct FieldScores<'a> {
    field: usize,
    scorer: Box<dyn DocumentScorer>,
    lengths: ScoredLengths<'a>,
}

impl FieldScores<'_> {
    fn score(&self, doc: u32) -> f64 {
        self.scorer.score(self.lengths.of(doc))
    }

    fn bound(&self) -> f64 {
        Some(self.scorer.bound())
            .filter(|bound| bound.is_finite())
            .unwrap_or(f64::INFINITY)
    }

    fn explain(&self, name: &str, doc: u32) -> Explanation {
        let what = format!("{name}: {}", self.scorer.formula());
        let mut node = Explanation::new(self.score(doc), what);
        let length = self.lengths.of(doc);
        node.details = self.scorer.details(length);
        let what = self.lengths.description();
        node.with_detail(Explanation::new(f64::from(length), what))
    }
}

impl<'a> DocumentScores<'a> {
    /// Adds the scores of a field of the index, after the scores of other fields.
    pub(crate) fn push(
        &mut self,
        index: &'a Index,
        field: usize,
        precision: DocLengths,
        scorer: Box<dyn DocumentScorer>,
    ) -> Result<(), OpenIndexError> {
        self.0.push(FieldScores {
            field,
            scorer,
            lengths: ScoredLengths::new(index, field, precision)?,
        });
        Ok(())
    }

    /// Returns `true` if documents add nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The score of a document with this sum of term scores.
    pub(crate) fn add_to(&self, sum: f64, doc: u32) -> f64 {
        match &*self.0 {
            [] => sum,
            [only] => sum + only.score(doc),
            fields => sum + total(fields, |field| field.score(doc)),
        }
    }

    /// Upper bound of what a document adds.
    pub(crate) fn bound(&self) -> f64 {
        total(&self.0, |field| field.bound())
    }

    /// Explains what a document adds; [`None`] if documents add nothing. `names` are the
    /// indexed fields.
    pub(crate) fn explain(&self, names: &[&str], doc: u32) -> Option<Explanation> {
        let explain = |field: &FieldScores<'_>| {
            let name = names.get(field.field).copied().unwrap_or_default();
            field.explain(name, doc)
        };
        match &*self.0 {
            [] => None,
            [only] => Some(explain(only)),
            fields => {
                let sum = total(fields, |field| field.score(doc));
                let mut tree =
                    Explanation::new(sum, "sum over the fields, in double precision, of");
                tree.details = fields.iter().map(explain).collect();
                Some(tree)
            }
        }
    }
}

/// Sum in the order of the fields.
fn total(fields: &[FieldScores<'_>], value: impl Fn(&FieldScores<'_>) -> f64) -> f64 {
    fields.iter().fold(0.0, |sum, field| sum + value(field))
}
