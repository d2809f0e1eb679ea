//! Postings of a term with upper bounds of its scores in integers.

use ir_core::store::OpenIndexError;

use crate::postings::{END, PostingsCursor};
use crate::search::bm25_scorer::{Bm25Fields, FieldModel, score_of};
use crate::search::lengths::ScoredLengths;

/// A term is dense if it occurs in at least one of so many documents.
const DENSE: u32 = 64;
/// Maximum bound in a dense column, for the idf of the rarest dense term.
const MAX_DENSE: f64 = 254.0;
/// Maximum bound in a sparse column, for the idf of a term of one document.
const MAX_SPARSE: f64 = 4096.0;
/// Added to a score before it is rounded up, as a fraction of the idf: more than the rounding
/// errors of a term score with any weight and of the sum of all term scores.
const SLACK: f64 = 1.0 / (1 << 20) as f64;
/// In a dense column in place of this and higher frequencies.
const LARGE: u8 = u8::MAX;

/// Bounds of term scores are multiples of this.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) value: f64,
    /// Minimum document frequency of a dense term.
    dense: u32,
}

impl Unit {
    /// [`None`] if no field has a term.
    pub(super) fn new(model: &Bm25Fields, documents: u32) -> Option<Self> {
        let dense = documents.div_ceil(DENSE).max(1);
        let units = model.fields().iter().filter_map(|field| {
            let limit = u32::try_from(field.documents()).unwrap_or(u32::MAX);
            let idf = |df: u32| f64::from(field.idf(df));
            (limit > 0).then(|| (idf(dense.min(limit)) / MAX_DENSE).max(idf(1) / MAX_SPARSE))
        });
        let value = units.fold(0.0, f64::max);
        (value > 0.0 && value.is_finite()).then_some(Self { value, dense })
    }

    /// The bound of a score: rounded up, at least 1.
    fn bound(self, score: f32, idf: f32) -> u16 {
        ((f64::from(score) + f64::from(idf) * SLACK) / self.value).ceil() as u16
    }
}

/// A posting with the bound of its term score.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundedPosting {
    pub(super) doc: u32,
    pub(super) tf: u32,
    pub(super) bound: u16,
}

#[derive(Debug)]
pub(super) enum ColumnPostings {
    /// The bounds and frequencies of all documents, 0 where the term does not occur.
    Dense {
        bounds: Box<[u8]>,
        /// [`LARGE`] for this and higher frequencies.
        tfs: Box<[u8]>,
        /// Documents and frequencies of at least [`LARGE`], ascending.
        large: Box<[(u32, u32)]>,
    },
    Sparse(Box<[BoundedPosting]>),
}

/// Postings of a term in a field, with bounds of its scores for the weight 1.
#[derive(Debug)]
pub(super) struct TermColumn {
    pub(super) idf: f32,
    /// Maximum of the bounds.
    pub(super) max_bound: u16,
    pub(super) postings: ColumnPostings,
}

impl TermColumn {
    /// Builds the column of a list; the cursor must be at its start. A column that `is_kept` is
    /// dense if the term is frequent; others are faster to build. `idf` covers all segments.
    pub(super) fn build(
        cursor: &mut PostingsCursor<'_>,
        field: &FieldModel,
        idf: f32,
        (documents, lengths): (usize, ScoredLengths<'_>),
        unit: Unit,
        is_kept: bool,
    ) -> Result<Self, OpenIndexError> {
        let mut found = Vec::with_capacity(cursor.df as usize);
        let mut max_bound = 0;
        while cursor.seek(0) != END {
            let postings = cursor.postings();
            for (&doc, &tf) in postings.docs.iter().zip(postings.tfs) {
                let score = score_of(idf, tf as f32, field.inverse(lengths, doc));
                let bound = unit.bound(score, idf);
                max_bound = max_bound.max(bound);
                found.push(BoundedPosting { doc, tf, bound });
            }
            cursor.next_block();
        }
        cursor.take_damage().map_or(Ok(()), Err)?;
        let is_dense = is_kept && cursor.df >= unit.dense && max_bound <= u16::from(u8::MAX);
        let postings = if is_dense {
            dense(&found, documents)
        } else {
            ColumnPostings::Sparse(found.into())
        };
        Ok(Self {
            idf,
            max_bound,
            postings,
        })
    }

    /// The column of a term that does not occur in the segment.
    pub(super) fn empty(idf: f32) -> Self {
        Self {
            idf,
            max_bound: 0,
            postings: ColumnPostings::Sparse(Box::default()),
        }
    }

    /// Size in memory in bytes.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>()
            + match &self.postings {
                ColumnPostings::Dense { bounds, tfs, large } => {
                    bounds.len() + tfs.len() + size_of_val(&**large)
                }
                ColumnPostings::Sparse(postings) => size_of_val(&**postings),
            }
    }
}

fn dense(postings: &[BoundedPosting], documents: usize) -> ColumnPostings {
    let mut bounds = vec![0; documents];
    let mut tfs = vec![0; documents];
    for posting in postings {
        let at = posting.doc as usize;
        if let (Some(bound), Some(tf)) = (bounds.get_mut(at), tfs.get_mut(at)) {
            *bound = posting.bound as u8;
            *tf = posting.tf.min(u32::from(LARGE)) as u8;
        }
    }
    let large = postings.iter().filter(|posting| posting.tf >= LARGE.into());
    ColumnPostings::Dense {
        bounds: bounds.into(),
        tfs: tfs.into(),
        large: large.map(|posting| (posting.doc, posting.tf)).collect(),
    }
}
