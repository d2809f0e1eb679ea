//! Pooling: selecting documents for relevance judgment.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::ops::Deref;

use ir_core::trec;
use ir_core::trec::{ColumnReader, TrecReadError, TrecWriteError};
use ir_core::{Grade, Judgments, Qrels, Run, RunOrder, SplitMix64, StratifiedQrels};
use serde::{Deserialize, Serialize};

/// Sampling design of a judgment pool: strata of ranks, each judged in full or by random sample.
///
/// A document belongs to the stratum of its best rank in any run. The same seed draws the same
/// sample; every query has its own random stream.
///
/// ```
/// use ir_core::Run;
/// use ir_eval::assess::{PoolDesign, StratumSample};
/// let mut run = Run::new("a");
/// for rank in 0..100 { run.push("q1", format!("d{rank:02}"), -f64::from(rank)); }
/// // All of ranks 1 to 10, and a tenth of ranks 11 to 100.
/// let design = PoolDesign::depth(10).with_stratum(100, StratumSample::Fraction(0.1));
/// let pool = design.with_seed(42).pool(&[run], None)?;
/// assert_eq!(pool.to_judge().count(), 10 + 9);
/// assert_eq!(pool.documents(), 100);
/// # Ok::<(), ir_eval::assess::PoolDesignError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolDesign {
    /// Strata, from the top ranks down.
    pub strata: Vec<PoolStratum>,
    /// Order of the documents of each list. Default: by score.
    #[serde(default)]
    pub order: RunOrder,
    /// Random seed. Default: 0.
    #[serde(default)]
    pub seed: u64,
}

/// Stratum of a pool: consecutive ranks with one sampling rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PoolStratum {
    /// Last rank, inclusive. The stratum starts after the last rank of the previous one.
    pub last_rank: usize,
    /// Sample of the stratum to judge.
    pub sample: StratumSample,
}

/// Sample of the unjudged documents of a stratum, drawn per query.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StratumSample {
    /// All documents of the stratum.
    All,
    /// Random sample of this fraction of the documents, rounded, at least one. Range: above 0, up
    /// to 1.
    Fraction(f64),
    /// Random sample of this many documents, or all if there are fewer. Range: ≥ 1.
    Count(usize),
}

/// Invalid [`PoolDesign`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PoolDesignError {
    /// A design without strata.
    #[error("expected at least one stratum, found none")]
    NoStrata,
    /// A stratum does not end below the previous one, which ends at rank `after`.
    #[error("expected a stratum that ends after rank {after}, found {found}")]
    Depth { after: usize, found: usize },
    /// A sampling fraction out of range.
    #[error("expected a fraction > 0 and <= 1, found {found}")]
    Fraction { found: f64 },
    /// A sample of 0 documents.
    #[error("expected a sample of at least one document, found 0")]
    EmptySample,
}

/// Error adding a judgment to a [`Pool`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum PoolJudgmentError {
    /// A document that is not in the pool.
    #[error("query {query:?}: expected a document of the pool, found {doc:?}")]
    NotPooled { query: String, doc: String },
    /// A document that was not sampled. Judging it would bias the sample.
    #[error(
        "query {query:?}: expected a sampled document, found {doc:?}, which was not drawn for judging"
    )]
    NotDrawn { query: String, doc: String },
    /// A grade that differs from the existing one.
    #[error(
        "query {query:?}, document {doc:?}: expected the existing grade {before}, found {found}"
    )]
    Conflict {
        query: String,
        doc: String,
        before: Grade,
        found: Grade,
    },
    /// A grade below 0.
    #[error("query {query:?}, document {doc:?}: expected a grade >= 0, found {found}")]
    Negative {
        query: String,
        doc: String,
        found: Grade,
    },
}

impl PoolDesign {
    /// Depth-k pool: all documents down to a rank.
    #[must_use]
    pub fn depth(last_rank: usize) -> Self {
        Self {
            strata: vec![PoolStratum {
                last_rank,
                sample: StratumSample::All,
            }],
            order: RunOrder::Score,
            seed: 0,
        }
    }

    /// Appends a stratum down to `last_rank`.
    #[must_use]
    pub fn with_stratum(mut self, last_rank: usize, sample: StratumSample) -> Self {
        self.strata.push(PoolStratum { last_rank, sample });
        self
    }

    ir_core::setters! { with_seed: seed, u64; }

    /// First pool of the bioCADDIE 2016 challenge: depth 300 over the eight runs of the organizers
    /// (four engines, keyword and expanded queries).
    ///
    /// # Source
    /// Cohen et al., "A publicly available benchmark for biomedical dataset retrieval", Database
    /// 2017.
    #[must_use]
    pub fn biocaddie_organizers() -> Self {
        Self::depth(300)
    }

    /// Second pool of the bioCADDIE 2016 challenge, over the submitted runs: depth 10, and 5 % of
    /// ranks 11 to 100. Pass the judgments of the first pool to [`PoolDesign::pool`]. The published
    /// judgments do not contain the strata; here they are kept.
    ///
    /// # Source
    /// Cohen et al., "A publicly available benchmark for biomedical dataset retrieval", Database
    /// 2017.
    #[must_use]
    pub fn biocaddie_submitted() -> Self {
        Self::depth(10).with_stratum(100, StratumSample::Fraction(0.05))
    }

    fn validate(&self) -> Result<(), PoolDesignError> {
        if self.strata.is_empty() {
            return Err(PoolDesignError::NoStrata);
        }
        let mut after = 0;
        for stratum in &self.strata {
            let found = stratum.last_rank;
            if found <= after {
                return Err(PoolDesignError::Depth { after, found });
            }
            after = found;
            match stratum.sample {
                StratumSample::Fraction(found) if !(found > 0.0 && found <= 1.0) => {
                    return Err(PoolDesignError::Fraction { found });
                }
                StratumSample::Count(0) => return Err(PoolDesignError::EmptySample),
                _ => {}
            }
        }
        Ok(())
    }

    /// Draws the pool of these runs. Documents with a grade of at least 0 in `judged` are not
    /// judged again: all judgments of `judged` form stratum 0, because they are not a random sample
    /// of any other stratum.
    ///
    /// # Errors
    /// When the strata are not in ascending order, or a sample is out of range.
    pub fn pool(&self, runs: &[Run], judged: Option<&Qrels>) -> Result<Pool, PoolDesignError> {
        self.validate()?;
        let mut pool = Pool::default();
        for (query, docs) in judged.into_iter().flat_map(Qrels::iter) {
            for (doc, grade) in docs.iter().filter(|judged| judged.1 >= 0) {
                pool.0.insert(query, doc, "0", grade);
            }
        }
        let deepest = self.strata.last().map_or(0, |stratum| stratum.last_rank);
        let mut best: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (query, list) in runs.iter().flat_map(Run::iter) {
            let ranks = best.entry(query).or_default();
            let list = self.order.ranked(list);
            for (rank, scored) in (1..).zip(list).take(deepest) {
                let least = ranks.entry(&scored.doc).or_insert(rank);
                *least = rank.min(*least);
            }
        }
        for (query, ranks) in best {
            let mut random = SplitMix64::from_name(self.seed, query);
            let mut after = 0;
            for (name, stratum) in (1..).zip(&self.strata) {
                let within = after + 1..=stratum.last_rank;
                let docs = ranks.iter().filter(|(_, rank)| within.contains(rank));
                let mut docs: Vec<&str> = docs.map(|(&doc, _)| doc).collect();
                docs.retain(|doc| pool.grade(query, doc).is_none());
                let drawn = stratum.sample.size(docs.len());
                if drawn < docs.len() {
                    random.partial_shuffle(&mut docs, drawn);
                }
                for (at, doc) in docs.into_iter().enumerate() {
                    let state = if at < drawn {
                        Pool::TO_JUDGE
                    } else {
                        Pool::NOT_DRAWN
                    };
                    pool.0.insert(query, doc, &name.to_string(), state);
                }
                after = stratum.last_rank;
            }
        }
        Ok(pool)
    }
}

impl StratumSample {
    fn size(self, available: usize) -> usize {
        match self {
            Self::All => available,
            Self::Count(count) => count.min(available),
            Self::Fraction(fraction) => {
                let drawn = (fraction * available as f64).round() as usize;
                drawn.clamp(usize::from(available > 0), available)
            }
        }
    }
}

/// Judgment pool: documents with stratum and grade, or without a grade.
///
/// The file format is the one of NIST's `sample_eval`, five columns: query, `0`, document, stratum,
/// grade. Negative grades mean unjudged.
///
/// A pool dereferences to its judgments. Prior judgments are in stratum 0; the strata of the design
/// count from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PooledDocuments", into = "PooledDocuments")]
pub struct Pool(StratifiedQrels);

/// Serialized form of a [`Pool`]: documents by query id and document id.
type PooledDocuments = BTreeMap<String, BTreeMap<String, PooledDocument>>;

#[derive(Serialize, Deserialize)]
struct PooledDocument {
    stratum: String,
    grade: Grade,
}

impl From<PooledDocuments> for Pool {
    fn from(queries: PooledDocuments) -> Self {
        let mut pool = Self::default();
        for (query, docs) in &queries {
            for (doc, PooledDocument { stratum, grade }) in docs {
                pool.0.insert(query, doc, stratum, *grade);
            }
        }
        pool
    }
}

impl From<Pool> for PooledDocuments {
    fn from(pool: Pool) -> Self {
        let mut queries = Self::new();
        for (query, doc, stratum, grade) in pool.iter() {
            let stratum = stratum.to_owned();
            let docs = queries.entry(query.to_owned()).or_default();
            docs.insert(doc.to_owned(), PooledDocument { stratum, grade });
        }
        queries
    }
}

impl Deref for Pool {
    type Target = StratifiedQrels;

    fn deref(&self) -> &StratifiedQrels {
        &self.0
    }
}

impl Pool {
    /// Grade of a document that was not drawn for judgment.
    pub const NOT_DRAWN: Grade = -1;
    /// Grade of a document that was drawn and is not judged yet.
    pub const TO_JUDGE: Grade = -2;

    /// Documents, in order of query id and document id: query, document, stratum and grade. The
    /// grade is [`Pool::NOT_DRAWN`] or [`Pool::TO_JUDGE`] without a judgment.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &str, Grade)> {
        self.qrels().iter().flat_map(|(query, _)| {
            let docs = self.get(query);
            docs.map(move |(doc, stratum, grade)| (query, doc, stratum, grade))
        })
    }

    /// Number of documents over all queries.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.qrels().judgments()
    }

    /// Query and document ids still to be judged, in order of id, which hides ranks and runs.
    pub fn to_judge(&self) -> impl Iterator<Item = (&str, &str)> {
        let waiting = self.iter().filter(|line| line.3 == Self::TO_JUDGE);
        waiting.map(|(query, doc, ..)| (query, doc))
    }

    /// Same as [`Pool::to_judge`], with the documents of each query in random order.
    #[must_use]
    pub fn shuffled(&self, seed: u64) -> Vec<(&str, &str)> {
        let mut list: Vec<(&str, &str)> = self.to_judge().collect();
        for docs in list.chunk_by_mut(|a, b| a.0 == b.0) {
            // Another random stream than the sample's.
            let mut random = SplitMix64::from_name(!seed, docs[0].0);
            random.partial_shuffle(docs, docs.len());
        }
        list
    }

    /// Records an assessor's grade.
    ///
    /// # Errors
    /// When the document is not in the pool or was not drawn, the grade is negative, or the
    /// document has a different grade already.
    pub fn judge(&mut self, query: &str, doc: &str, grade: Grade) -> Result<(), PoolJudgmentError> {
        let found = grade;
        let stratum = self.stratum(query, doc).map(str::to_owned);
        let pooled = self.grade(query, doc).zip(stratum);
        let (query, doc) = (query.to_owned(), doc.to_owned());
        let Some((before, stratum)) = pooled else {
            return Err(PoolJudgmentError::NotPooled { query, doc });
        };
        match before {
            _ if grade < 0 => return Err(PoolJudgmentError::Negative { query, doc, found }),
            Self::TO_JUDGE => {
                self.0.insert(&query, &doc, &stratum, grade);
            }
            ..0 => return Err(PoolJudgmentError::NotDrawn { query, doc }),
            _ if before != grade => {
                return Err(PoolJudgmentError::Conflict {
                    query,
                    doc,
                    before,
                    found,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Number of documents and of judged documents of each stratum of a query.
    #[must_use]
    pub fn strata(&self, query: &str) -> BTreeMap<&str, (usize, usize)> {
        let mut strata: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (_, stratum, grade) in self.get(query) {
            let counts = strata.entry(stratum).or_default();
            counts.0 += 1;
            counts.1 += usize::from(grade >= 0);
        }
        strata
    }

    /// Writes the five columns, in order of query and document id.
    ///
    /// # Errors
    /// When writing to `out` fails, or an id contains whitespace.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), TrecWriteError> {
        trec::write_stratified_qrels(self, out)
    }

    /// Reads the five columns. `path` appears in errors.
    ///
    /// ```
    /// use ir_eval::assess::Pool;
    /// let mut pool = Pool::read("q1 0 d1 1 -2\nq1 0 d2 2 -1\n".as_bytes(), "pool.qrels")?;
    /// pool.judge("q1", "d1", 1)?;
    /// assert!(pool.judge("q1", "d2", 1).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a line does not have five columns, a grade is not an integer, or a document repeats
    /// within a query.
    pub fn read(input: impl BufRead, path: &str) -> Result<Self, ReadPoolError> {
        let mut rows = ColumnReader::new(input, path);
        let mut pool = Self::default();
        while let Some((line, [query, _, doc, stratum, grade])) = rows.next_row("5")? {
            let Ok(grade) = grade.parse() else {
                return Err(ReadPoolError::Grade {
                    path: path.to_owned(),
                    line,
                    found: grade.to_owned(),
                });
            };
            if pool.grade(query, doc).is_some() {
                return Err(ReadPoolError::Repeated {
                    path: path.to_owned(),
                    line,
                    query: query.to_owned(),
                    doc: doc.to_owned(),
                });
            }
            pool.0.insert(query, doc, stratum, grade);
        }
        Ok(pool)
    }
}

/// Error reading a pool file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ReadPoolError {
    /// A line without five columns, or a failed read.
    #[error(transparent)]
    Columns(#[from] TrecReadError),
    /// A grade that is not an integer.
    #[error("{path}:{line}: expected an integer as grade, found {found:?}")]
    Grade {
        path: String,
        line: u64,
        found: String,
    },
    /// A document that repeats within a query; `line` is its second occurrence.
    #[error("{path}:{line}: document {doc:?} of query {query:?} is already on an earlier line")]
    Repeated {
        path: String,
        line: u64,
        query: String,
        doc: String,
    },
}
