//! Pools: which documents assessors should judge, and the judgments that come of it.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use ir_core::trec;
use ir_core::trec::{ColumnReader, TrecReadError, TrecWriteError};
use ir_core::{Grade, Judgments, Qrels, Run, RunOrder, SplitMix64, StratifiedQrels};
use serde::{Deserialize, Serialize};

/// How a pool is drawn from runs: strata of ranks, of each of which all documents or a sample is to
/// be judged.
///
/// A document belongs to the stratum of its best rank in any run. The same seed draws the same
/// sample; every query has random numbers of its own.
///
/// ```
/// use ir_core::Run;
/// use ir_eval::{PoolDesign, StratumSample};
/// let mut run = Run::new("a");
/// for rank in 0..100 { run.push("q1", format!("d{rank:02}"), -f64::from(rank)); }
/// // All of ranks 1 to 10, and a tenth of ranks 11 to 100.
/// let pooling = PoolDesign::depth(10).with_stratum(100, StratumSample::Fraction(0.1)).with_seed(42);
/// let pool = pooling.pool(&[run], None)?;
/// assert_eq!(pool.to_judge().count(), 10 + 9);
/// assert_eq!(pool.documents(), 100);
/// # Ok::<(), ir_eval::PoolDesignError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolDesign {
    /// The strata from the top of the lists down.
    pub strata: Vec<PoolStratum>,
    /// The order of each run's documents.
    #[serde(default)]
    pub order: RunOrder,
    /// Where the random numbers start.
    #[serde(default)]
    pub seed: u64,
}

/// Some ranks, and how many of their documents are judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PoolStratum {
    /// The last rank; the first one follows on the stratum before.
    pub last_rank: usize,
    /// What is judged of it.
    pub sample: StratumSample,
}

/// What is judged of the documents of a stratum that have no judgment yet, query by query.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StratumSample {
    /// Everything.
    All,
    /// A share above 0 and up to 1, drawn at random: rounded to whole documents, at least one.
    Fraction(f64),
    /// This many, drawn at random; all where there are fewer.
    Count(usize),
}

/// Why a pool could not be drawn.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolDesignError {
    /// No strata.
    #[error("expected at least one stratum, found none")]
    NoStrata,
    /// A stratum that ends before it begins.
    #[error("expected a stratum that ends after rank {after}, found {found}")]
    Depth {
        /// Where the one before ends.
        after: usize,
        /// Where this one does.
        found: usize,
    },
    /// A share out of its range.
    #[error("expected a share above 0 and at most 1, found {found}")]
    Fraction {
        /// The share.
        found: f64,
    },
    /// A sample of nothing.
    #[error("expected a sample of at least one document, found 0")]
    EmptySample,
}

/// Why a judgment does not fit into a pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolJudgmentError {
    /// A document that is not in the pool.
    #[error("query {query:?}: expected a document of the pool, found {doc:?}")]
    NotPooled {
        /// The query.
        query: String,
        /// The document.
        doc: String,
    },
    /// A document that was not drawn: judged all the same, it would no longer be a random sample.
    #[error("query {query:?}: expected a document drawn for judging, found {doc:?}, which was not")]
    NotDrawn {
        /// The query.
        query: String,
        /// The document.
        doc: String,
    },
    /// Two judgments that contradict each other.
    #[error("query {query:?}, document {doc:?}: expected grade {before} as before, found {found}")]
    Conflict {
        /// The query.
        query: String,
        /// The document.
        doc: String,
        /// The grade that it has.
        before: Grade,
        /// The other grade.
        found: Grade,
    },
    /// A negative grade.
    #[error("query {query:?}, document {doc:?}: expected a grade from 0, found {found}")]
    Negative {
        /// The query.
        query: String,
        /// The document.
        doc: String,
        /// The grade.
        found: Grade,
    },
}

impl PoolDesign {
    /// All documents down to a rank: the classic pool.
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

    /// With one more stratum below the others, down to rank `to`.
    #[must_use]
    pub fn with_stratum(mut self, last_rank: usize, sample: StratumSample) -> Self {
        self.strata.push(PoolStratum { last_rank, sample });
        self
    }

    /// With another start of the random numbers.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The first pool of the bioCADDIE 2016 challenge: the top 300 of the organisers' eight runs
    /// (four engines, keyword and expanded queries).
    ///
    /// # Source
    /// Cohen et al., "A publicly available benchmark for biomedical dataset retrieval", Database
    /// 2017.
    #[must_use]
    pub fn biocaddie_organizers() -> Self {
        Self::depth(300)
    }

    /// The second pool of the bioCADDIE 2016 challenge, over the submitted runs: every document in
    /// any run's top 10 that has no judgment yet, and 5 % of those of ranks 11 to 100. Give the
    /// judgments of the first pool with it. (The published judgments do not say what was drawn from
    /// where; here the strata are kept.)
    ///
    /// # Source
    /// As [`PoolDesign::biocaddie_organizers`].
    #[must_use]
    pub fn biocaddie_submitted() -> Self {
        Self::depth(10).with_stratum(100, StratumSample::Fraction(0.05))
    }

    fn check(&self) -> Result<(), PoolDesignError> {
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

    /// Draws the pool of some runs. Documents with a judgment (from grade 0) in `judged` are not
    /// judged again: they and all other judgments of `judged` form a stratum of their own, number
    /// 0, as they are no random sample of any other.
    ///
    /// # Errors
    /// When the strata do not follow on each other, or a share or count is out of its range.
    pub fn pool(&self, runs: &[Run], judged: Option<&Qrels>) -> Result<Pool, PoolDesignError> {
        self.check()?;
        let mut pool = Pool::default();
        for (query, docs) in judged.into_iter().flat_map(Qrels::iter) {
            for (doc, grade) in docs.iter().filter(|judged| judged.1 >= 0) {
                pool.insert(query, doc, "0", grade);
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
                let within =
                    |&(_, &rank): &(&&str, &usize)| rank > after && rank <= stratum.last_rank;
                let docs = ranks.iter().filter(within).map(|(&doc, _)| doc);
                let mut docs: Vec<&str> = docs
                    .filter(|doc| pool.grade(query, doc).is_none())
                    .collect();
                let drawn = stratum.sample.of(docs.len());
                if drawn < docs.len() {
                    random.partial_shuffle(&mut docs, drawn);
                }
                for (at, doc) in docs.into_iter().enumerate() {
                    let state = if at < drawn {
                        Pool::TO_JUDGE
                    } else {
                        Pool::NOT_DRAWN
                    };
                    pool.insert(query, doc, &name.to_string(), state);
                }
                after = stratum.last_rank;
            }
        }
        Ok(pool)
    }
}

impl StratumSample {
    fn of(self, there: usize) -> usize {
        match self {
            Self::All => there,
            Self::Count(count) => count.min(there),
            Self::Fraction(share) => {
                let drawn = (share * there as f64).round() as usize;
                drawn.clamp(usize::from(there > 0), there)
            }
        }
    }
}

/// The documents of a pool: the stratum of each, and its grade or that it has none.
///
/// Its file has the five columns of NIST's `sample_eval`: query, `0`, document, stratum, grade. A
/// negative grade is none. To evaluators a pool is judgments like any other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pool {
    queries: BTreeMap<String, BTreeMap<String, PooledDocument>>,
}

/// A document of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PooledDocument {
    /// Its stratum: 0 for judgments that were there before, otherwise from 1.
    pub stratum: String,
    /// Its grade, [`Pool::NOT_DRAWN`] or [`Pool::TO_JUDGE`].
    pub grade: Grade,
}

impl Pool {
    /// The grade of a document that was not drawn for judging.
    pub const NOT_DRAWN: Grade = -1;
    /// The grade of a document that was drawn and waits for its judgment.
    pub const TO_JUDGE: Grade = -2;

    fn insert(&mut self, query: &str, doc: &str, stratum: &str, grade: Grade) {
        let pooled = PooledDocument {
            stratum: stratum.to_owned(),
            grade,
        };
        match self.queries.get_mut(query) {
            Some(docs) => docs.insert(doc.to_owned(), pooled),
            None => {
                let docs = self.queries.entry(query.to_owned()).or_default();
                docs.insert(doc.to_owned(), pooled)
            }
        };
    }

    /// The documents, by query and id.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &PooledDocument)> {
        self.queries.iter().flat_map(|(query, docs)| {
            let docs = docs.iter();
            docs.map(move |(doc, pooled)| (query.as_str(), doc.as_str(), pooled))
        })
    }

    /// How many documents there are, over all queries.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.queries.values().map(BTreeMap::len).sum()
    }

    /// What waits for its judgment: query and document, by id. Neither ranks nor runs show.
    pub fn to_judge(&self) -> impl Iterator<Item = (&str, &str)> {
        let waiting = self.iter().filter(|(_, _, p)| p.grade == Self::TO_JUDGE);
        waiting.map(|(query, doc, _)| (query, doc))
    }

    /// [`Pool::to_judge`], the documents of each query in random order.
    #[must_use]
    pub fn shuffled(&self, seed: u64) -> Vec<(&str, &str)> {
        let mut list: Vec<(&str, &str)> = self.to_judge().collect();
        for docs in list.chunk_by_mut(|a, b| a.0 == b.0) {
            // Another stream than that which drew the sample.
            let mut random = SplitMix64::from_name(!seed, docs[0].0);
            random.partial_shuffle(docs, docs.len());
        }
        list
    }

    /// Records an assessor's grade.
    ///
    /// # Errors
    /// When the document is not in the pool, or was not drawn; the grade is negative; or there is
    /// another grade already.
    pub fn judge(&mut self, query: &str, doc: &str, grade: Grade) -> Result<(), PoolJudgmentError> {
        let (query_id, doc_id) = (|| query.to_owned(), || doc.to_owned());
        let docs = self.queries.get_mut(query);
        let Some(pooled) = docs.and_then(|docs| docs.get_mut(doc)) else {
            let (query, doc) = (query_id(), doc_id());
            return Err(PoolJudgmentError::NotPooled { query, doc });
        };
        let (query, doc) = (query_id(), doc_id());
        if grade < 0 {
            let found = grade;
            return Err(PoolJudgmentError::Negative { query, doc, found });
        }
        match pooled.grade {
            Self::TO_JUDGE => pooled.grade = grade,
            before if before < 0 => return Err(PoolJudgmentError::NotDrawn { query, doc }),
            before if before != grade => {
                return Err(PoolJudgmentError::Conflict {
                    query,
                    doc,
                    before,
                    found: grade,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// The judgments without strata. Documents that have none keep a negative grade: for a measure
    /// such as `infAP` that is "in the pool and not judged".
    #[must_use]
    pub fn qrels(&self) -> Qrels {
        let mut qrels = Qrels::new();
        self.iter().for_each(|(query, doc, pooled)| {
            qrels.insert(query, doc, pooled.grade);
        });
        qrels
    }

    /// How many documents each stratum of a query has, and how many of them are judged, by the
    /// name of the stratum.
    #[must_use]
    pub fn strata(&self, query: &str) -> BTreeMap<&str, (usize, usize)> {
        let mut strata: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for pooled in self
            .queries
            .get(query)
            .into_iter()
            .flat_map(BTreeMap::values)
        {
            let counts = strata.entry(&pooled.stratum).or_default();
            counts.0 += 1;
            counts.1 += usize::from(pooled.grade >= 0);
        }
        strata
    }

    /// Writes the five columns, by query and document id.
    ///
    /// # Errors
    /// When `out` cannot be written, or an id could not be read back.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), TrecWriteError> {
        let mut qrels = StratifiedQrels::new();
        for (query, doc, PooledDocument { stratum, grade }) in self.iter() {
            qrels.insert(query, doc, stratum, *grade);
        }
        trec::write_stratified_qrels(&qrels, out)
    }

    /// Reads the five columns; `path` names the file in errors.
    ///
    /// ```
    /// use ir_eval::Pool;
    /// let mut pool = Pool::read("q1 0 d1 1 -2\nq1 0 d2 2 -1\n".as_bytes(), "pool.qrels")?;
    /// pool.judge("q1", "d1", 1)?;
    /// assert!(pool.judge("q1", "d2", 1).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there are more or fewer than five columns, a grade is no whole number, or a document
    /// repeats within a query.
    pub fn read(input: impl BufRead, path: &str) -> Result<Self, ReadPoolError> {
        let mut rows = ColumnReader::new(input, path);
        let mut pool = Self::default();
        while let Some((line, [query, _, doc, stratum, grade])) = rows.next_row("5")? {
            let path = || path.to_owned();
            let Ok(grade) = grade.parse() else {
                let found = grade.to_owned();
                return Err(ReadPoolError::Grade {
                    path: path(),
                    line,
                    found,
                });
            };
            if pool.grade(query, doc).is_some() {
                let (query, doc) = (query.to_owned(), doc.to_owned());
                return Err(ReadPoolError::Repeated {
                    path: path(),
                    line,
                    query,
                    doc,
                });
            }
            pool.insert(query, doc, stratum, grade);
        }
        Ok(pool)
    }
}

/// Why the file of a pool could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadPoolError {
    /// Not five columns of text.
    #[error(transparent)]
    Columns(#[from] TrecReadError),
    /// A grade that is no whole number.
    #[error("{path}:{line}: expected a whole number as grade, found {found:?}")]
    Grade {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u64,
        /// What there is.
        found: String,
    },
    /// A document that repeats within a query.
    #[error("{path}:{line}: document {doc:?} of query {query:?} stands in an earlier line already")]
    Repeated {
        /// The file.
        path: String,
        /// The line of the second occurrence, from 1.
        line: u64,
        /// The query.
        query: String,
        /// The document.
        doc: String,
    },
}

impl Judgments for Pool {
    fn queries(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        Box::new(self.queries.keys().map(String::as_str))
    }

    fn judged(&self, query: &str) -> Box<dyn Iterator<Item = (&str, Grade)> + '_> {
        let docs = self.queries.get(query).into_iter().flatten();
        Box::new(docs.map(|(doc, pooled)| (doc.as_str(), pooled.grade)))
    }

    fn stratum(&self, query: &str, doc: &str) -> Option<&str> {
        Some(&self.queries.get(query)?.get(doc)?.stratum)
    }

    fn grade(&self, query: &str, doc: &str) -> Option<Grade> {
        Some(self.queries.get(query)?.get(doc)?.grade)
    }
}
