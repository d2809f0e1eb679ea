//! Pooling as for the bioCADDIE 2016 judgments: runs of four families of engines, two pools,
//! simulated judges, and measures estimated from the sampled stratum.

pub mod judges;
pub mod pools;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use ir_core::{Grade, Run};
use ir_eval::assess::{Pool, Ratings};
use ir_eval::runs::{OverlapRules, RunOverlap, kendall_tau_b};
use ir_eval::{Evaluator, Measure};
use ir_experiment::{Experiment, TaskResults};

use judges::{SimulatedJudge, expected_kappa};
use pools::{Pools, SEED, judged_queries, truth};

/// Engines of the first pool: vector space, language model, divergence from randomness, reflective
/// random indexing.
pub const ENGINES: [&str; 4] = ["VSM", "LM", "DFR", "RRI"];
/// Suffix of the runs with expanded queries.
pub const EXPANDED: &str = ", expanded";
/// Number of simulated judges of every document.
const JUDGES: usize = 3;

/// Systems of `experiments/pool-four-engines.toml`, on Cranfield and CISI.
///
/// # Errors
/// The file is invalid.
pub fn experiment() -> Result<Experiment> {
    let file = include_str!("../../../experiments/pool-four-engines.toml");
    Ok(Experiment::from_toml(file)?)
}

/// The same systems on the bundled collection.
///
/// # Errors
/// As [`experiment`].
pub fn bundled() -> Result<Experiment> {
    let mut experiment = experiment()?;
    experiment.tasks.truncate(1);
    for task in &mut experiment.tasks {
        "bundled".clone_into(&mut task.collection);
    }
    Ok(experiment)
}

/// Pools of a task, and what they say about its systems.
#[derive(Debug)]
pub struct PooledTask {
    /// Pools with true grades.
    pub pools: Pools,
    /// Overlap of the relevant documents in the pooled ranks of the engines: keyword queries,
    /// expanded queries.
    pub overlaps: [RunOverlap; 2],
    /// Grades that the judges report for the documents of both pools.
    pub ratings: Ratings,
    /// Cohen's kappa of two judges in expectation.
    pub expected_kappa: Option<f64>,
    /// Scores of the systems.
    pub scores: Vec<SystemEstimates>,
    /// Highest grade of the judgments: definitely relevant.
    pub definite: Grade,
}

/// Exact and estimated scores of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemEstimates {
    /// Name of the system.
    pub system: String,
    /// AP and nDCG with all judgments.
    pub exact: [f64; 2],
    /// infAP and infNDCG from the pools with true grades.
    pub inferred: [f64; 2],
    /// The same from the grades of the first judge.
    pub judged: [f64; 2],
}

impl PooledTask {
    /// Pools the runs of a task down to rank `depth`. Judges have the given error rate.
    ///
    /// # Errors
    /// A run is missing, or a parameter is out of range.
    pub fn new(task: &TaskResults, depth: usize, error_rate: f64) -> Result<Self> {
        ensure!(
            (0.0..=1.0).contains(&error_rate),
            "expected an error rate from 0 to 1, found {error_rate}"
        );
        let qrels = &task.qrels;
        let runs = judged_queries(&task.runs, qrels);
        let of = |suffix: &str| -> Result<Vec<Run>> {
            let named = |engine: &&str| {
                let name = format!("{engine}{suffix}");
                let run = runs.iter().find(|run| run.tag == name).cloned();
                run.with_context(|| format!("expected a run of the system {name:?}"))
            };
            ENGINES.iter().map(named).collect()
        };
        let [keyword, expanded] = [of("")?, of(EXPANDED)?];
        let organizers: Vec<Run> = keyword.iter().chain(&expanded).cloned().collect();
        let submitted = runs
            .iter()
            .filter(|run| organizers.iter().all(|it| it.tag != run.tag));
        let submitted: Vec<Run> = submitted.cloned().collect();

        let true_grade = |query: &str, doc: &str| truth(qrels, query, doc);
        let pools = Pools::new(&organizers, &submitted, depth, true_grade)?;
        let rules = OverlapRules {
            depth: Some(depth),
            ..OverlapRules::default()
        };
        let overlap = |runs: &[Run]| RunOverlap::new(runs, Some(qrels), rules);
        let overlaps = [overlap(&keyword)?, overlap(&expanded)?];

        let mut counts: BTreeMap<Grade, u64> = BTreeMap::from([(0, 0)]);
        for (_, docs) in qrels.iter() {
            docs.grades().for_each(|grade| {
                counts.entry(grade.max(0)).or_default();
            });
        }
        for (_, _, _, grade) in pools.submitted.iter().filter(|line| line.3 >= 0) {
            *counts.entry(grade).or_default() += 1;
        }
        let grades: Vec<Grade> = counts.keys().copied().collect();
        let definite = grades.last().copied().unwrap_or(0);
        let judges: Vec<SimulatedJudge> = (1..=JUDGES)
            .map(|n| SimulatedJudge::new(format!("judge {n}"), error_rate, &grades, SEED))
            .collect();
        let mut ratings = Ratings::new(judges.iter().map(SimulatedJudge::name));
        for (query, doc, _, grade) in pools.submitted.iter().filter(|line| line.3 >= 0) {
            let reported = judges
                .iter()
                .map(|judge| Some(judge.judge(query, doc, grade)));
            ratings.push(format!("{query} {doc}"), reported);
        }
        let reported = |query: &str, doc: &str| judges[0].judge(query, doc, true_grade(query, doc));
        let of_judge = Pools::new(&organizers, &submitted, depth, reported)?;

        let inferred = estimates(&pools.submitted, &runs)?;
        let judged = estimates(&of_judge.submitted, &runs)?;
        let scores = runs.iter().zip(inferred.into_iter().zip(judged));
        let scores = scores.map(|(run, (inferred, judged))| {
            let exact = |measure| {
                task.value(&run.tag, measure)
                    .context("expected AP and nDCG")
            };
            Ok(SystemEstimates {
                system: run.tag.clone(),
                exact: [exact(Measure::AP)?, exact(Measure::NDCG)?],
                inferred,
                judged,
            })
        });
        Ok(Self {
            overlaps,
            ratings,
            expected_kappa: expected_kappa(&counts, error_rate),
            scores: scores.collect::<Result<_>>()?,
            definite,
            pools,
        })
    }

    /// Kendall's τ of the order of the systems by the exact measure (0: AP, 1: nDCG) and by its
    /// estimate, with true grades and with those of the first judge.
    #[must_use]
    pub fn taus(&self, measure: usize) -> [Option<f64>; 2] {
        let column = |values: fn(&SystemEstimates) -> [f64; 2]| -> Vec<f64> {
            self.scores.iter().map(|it| values(it)[measure]).collect()
        };
        let exact = column(|it| it.exact);
        [column(|it| it.inferred), column(|it| it.judged)]
            .map(|estimate| kendall_tau_b(&exact, &estimate))
    }
}

/// infAP and infNDCG of each run.
fn estimates(pool: &Pool, runs: &[Run]) -> Result<Vec<[f64; 2]>> {
    let measures = ["xinfAP@1000".parse()?, "infNDCG@1000".parse()?];
    let evaluator = Evaluator::new(&**pool, &measures)?;
    let scores = |run: &Run| {
        let report = evaluator.evaluate(run)?;
        let value = |measure| report.summary(measure).context("expected a score");
        Ok([value(measures[0])?, value(measures[1])?])
    };
    runs.iter().map(scores).collect()
}
