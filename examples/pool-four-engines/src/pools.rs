//! The two pools of bioCADDIE: that of the organizers' engines, and that of the submitted runs.

use anyhow::Result;
use ir_core::{Grade, Qrels, Run};
use ir_eval::assess::{Pool, PoolDesign};

/// Judged pools of a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct Pools {
    /// Every document down to a rank of the organizers' runs, judged.
    pub organizers: Pool,
    /// The first pool as stratum 0; of the submitted runs ranks 1 to 10 as stratum 1, and of ranks
    /// 11 to 100 a judged sample of 5 % as stratum 2.
    pub submitted: Pool,
}

impl Pools {
    /// Pools the runs. `judge` returns the grade of a query and a document.
    ///
    /// # Errors
    /// A depth of 0.
    pub fn new(
        organizers: &[Run],
        submitted: &[Run],
        depth: usize,
        judge: impl Fn(&str, &str) -> Grade,
    ) -> Result<Self> {
        let first = PoolDesign::depth(depth).pool(organizers, None)?;
        let organizers = judged(first, &judge)?;
        let design = PoolDesign::biocaddie_submitted().with_seed(SEED);
        let second = design.pool(submitted, Some(organizers.qrels()))?;
        Ok(Self {
            submitted: judged(second, &judge)?,
            organizers,
        })
    }

    /// Number of judged documents with at least this grade.
    #[must_use]
    pub fn count(pool: &Pool, level: Grade) -> usize {
        pool.iter().filter(|line| line.3 >= level).count()
    }
}

/// Seed of the samples and of the judges.
pub const SEED: u64 = 2016;

fn judged(mut pool: Pool, judge: impl Fn(&str, &str) -> Grade) -> Result<Pool> {
    let waiting = pool.to_judge();
    let waiting: Vec<(String, String)> = waiting
        .map(|(query, doc)| (query.to_owned(), doc.to_owned()))
        .collect();
    for (query, doc) in waiting {
        pool.judge(&query, &doc, judge(&query, &doc))?;
    }
    Ok(pool)
}

/// True grade: that of the judgments, 0 for documents without.
#[must_use]
pub fn truth(qrels: &Qrels, query: &str, doc: &str) -> Grade {
    qrels.grade(query, doc).unwrap_or(0).max(0)
}

/// The same runs without queries that have no judgments, which cannot be pooled fairly.
#[must_use]
pub fn judged_queries(runs: &[Run], qrels: &Qrels) -> Vec<Run> {
    let judged = |run: &Run| {
        let mut kept = Run::new(run.tag.clone());
        for (query, list) in run.iter().filter(|(query, _)| qrels.get(query).is_some()) {
            for scored in list {
                kept.push(query, scored.doc.clone(), scored.score);
            }
        }
        kept
    };
    runs.iter().map(judged).collect()
}
