//! Scorer of BM25F, over the postings of a term in all fields of a document.

use ir_core::Explanation;
use ir_core::store::OpenIndexError;

use crate::models::Bm25F;
use crate::postings::Posting;
use crate::{DocLengths, FieldStats, Index, small_float};

/// BM25F bound to the statistics of a collection.
#[derive(Debug)]
pub(crate) struct CombinedFields {
    k1: f64,
    lengths: DocLengths,
    /// Number of documents in the collection.
    documents: u64,
    fields: Box<[FieldNorm]>,
}

/// Length normalization of a field.
#[derive(Debug)]
struct FieldNorm {
    b: f64,
    /// Average over the documents with at least one token.
    average: f64,
}

/// Normalized frequencies of a term in the documents of a segment, ascending by document.
pub(crate) type NormalizedFrequencies = Vec<(u32, f64)>;

/// Term of a query, scored over all fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CombinedTerm {
    k1: f64,
    /// Weight in the query.
    count: f64,
    idf: f64,
    documents: u64,
    /// Number of documents with the term in any field.
    df: u64,
}

impl CombinedFields {
    pub(crate) fn new(
        model: &Bm25F,
        names: &[&'static str],
        fields: &[FieldStats],
        documents: usize,
    ) -> Self {
        let norm = |(name, stats): (&&str, &FieldStats)| FieldNorm {
            b: f64::from(model.b_of(name)),
            average: match stats.docs {
                0 => 1.0,
                docs => stats.tokens as f64 / docs as f64,
            },
        };
        Self {
            k1: f64::from(model.k1),
            lengths: model.lengths,
            documents: documents as u64,
            fields: names.iter().zip(fields).map(norm).collect(),
        }
    }

    /// The scorer of a term with a weight in the query and a document frequency.
    pub(crate) fn term(&self, count: f32, df: u64) -> CombinedTerm {
        let (n, of_term) = (self.documents as f64, df as f64);
        CombinedTerm {
            k1: self.k1,
            count: f64::from(count),
            idf: (1.0 + (n - of_term + 0.5) / (of_term + 0.5)).ln(),
            documents: self.documents,
            df,
        }
    }

    /// The normalized frequencies of a term in all documents of an index. `weights` are those of
    /// the fields; fields of weight 0 are left out.
    pub(crate) fn frequencies(
        &self,
        index: &Index,
        weights: &[f32],
        term: &str,
    ) -> Result<NormalizedFrequencies, OpenIndexError> {
        let mut all = NormalizedFrequencies::new();
        let mut postings = Vec::new();
        for (field, &weight) in weights.iter().enumerate() {
            if weight == 0.0 {
                continue;
            }
            let Some(mut cursor) = index.cursor(field, term)? else {
                continue;
            };
            postings.clear();
            cursor.read_all(&mut postings)?;
            let length = self.lengths_of(index, field)?;
            let of_field = postings
                .iter()
                .map(|&Posting { doc, tf }| (doc, self.normalized(field, weight, tf, length(doc))));
            all.extend(of_field);
        }
        // Stable: the fields of a document are added up in their order.
        all.sort_by_key(|&(doc, _)| doc);
        all.dedup_by(|later, sum| {
            let is_same = later.0 == sum.0;
            sum.1 += if is_same { later.1 } else { 0.0 };
            is_same
        });
        Ok(all)
    }

    /// The lengths of a field by document.
    fn lengths_of<'a>(
        &self,
        index: &'a Index,
        field: usize,
    ) -> Result<impl Fn(u32) -> u32 + use<'a>, OpenIndexError> {
        let codes = index.codes(field);
        let exact = match self.lengths {
            DocLengths::OneByte => None,
            DocLengths::Exact => Some(index.lengths(field)?),
        };
        Ok(move |doc: u32| match exact {
            None => small_float::decode(codes.get(doc as usize).copied().unwrap_or(0)),
            Some(lengths) => lengths.get(doc as usize).copied().unwrap_or(0),
        })
    }

    fn normalized(&self, field: usize, weight: f32, tf: u32, length: u32) -> f64 {
        let FieldNorm { b, average } = self.fields[field];
        f64::from(weight) * f64::from(tf) / (1.0 - b + b * f64::from(length) / average)
    }

    /// Explains the contribution of a term to the score of a document; [`None`] if the document
    /// does not contain it. `names` and `weights` are those of the fields.
    pub(crate) fn explain(
        &self,
        index: &Index,
        (names, weights): (&[&str], &[f32]),
        (text, term): (&str, CombinedTerm),
        doc: u32,
    ) -> Result<Option<Explanation>, OpenIndexError> {
        let mut sum = 0.0;
        let mut details = Vec::new();
        for (field, &weight) in weights.iter().enumerate() {
            let cursor = match weight {
                0.0 => None,
                _ => index.cursor(field, text)?,
            };
            let Some(mut cursor) = cursor else {
                continue;
            };
            let is_found = cursor.seek(doc) == doc;
            let tf = if is_found { cursor.tf() } else { 0 };
            cursor.take_damage().map_or(Ok(()), Err)?;
            if tf == 0 {
                continue;
            }
            let length = self.lengths_of(index, field)?(doc);
            let normalized = self.normalized(field, weight, tf, length);
            sum += normalized;
            let FieldNorm { b, average } = self.fields[field];
            let name = names.get(field).copied().unwrap_or_default();
            let formula = "weight × tf / (1 - b + b × length / average)";
            let encoding = match self.lengths {
                DocLengths::Exact => "tokens in the field",
                DocLengths::OneByte => "tokens in the field, in Lucene's one-byte encoding",
            };
            let mut of_field = Explanation::new(normalized, format!("{name}:{text}: {formula}"));
            of_field.details = vec![
                Explanation::new(weight, "weight of the field"),
                Explanation::new(b, "b"),
                Explanation::new(average, "average length of the documents with the field"),
                Explanation::new(f64::from(tf), "tf: occurrences in the field"),
                Explanation::new(f64::from(length), format!("length: {encoding}")),
            ];
            details.push(of_field);
        }
        if details.is_empty() {
            return Ok(None);
        }
        let mut frequency =
            Explanation::new(sum, "x: sum of the normalized frequencies in the fields");
        frequency.details = details;
        let CombinedTerm {
            k1,
            count,
            idf,
            documents,
            df,
        } = term;
        let idf = Explanation::new(idf, "idf = ln(1 + (N - df + 0.5) / (df + 0.5))")
            .with_detail(Explanation::new(documents as f64, "N: number of documents"))
            .with_detail(Explanation::new(
                df as f64,
                "df: number of documents with the term in a field",
            ));
        let what = format!("{text}: count × idf × x / (k1 + x)");
        let tree = Explanation::new(term.score(sum), what)
            .with_detail(Explanation::new(
                count,
                "count: weight in the query, by default the count",
            ))
            .with_detail(idf)
            .with_detail(Explanation::new(k1, "k1"))
            .with_detail(frequency);
        Ok(Some(tree))
    }
}

impl CombinedTerm {
    /// The contribution of a normalized frequency above 0.
    pub(crate) fn score(&self, frequency: f64) -> f64 {
        self.count * self.idf * (frequency / (self.k1 + frequency))
    }
}
