//! Training, held-out and test queries, without overlap.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use anyhow::Result;
use ir_core::training::mining::{MiningConfig, MiningQuery};
use ir_core::training::{HeldOut, TrainingExample, TrainingSet, TrainingText};
use ir_core::{DocIds, Qrels, Query, Run};
use ir_data::Collection;
use ir_data::training::{DocumentTexts, JudgedTrainingSet, OnInvalidExample};
use ir_eval::{Evaluator, Measure, Rules, TieBreak};
use ir_knn::TrainingQuery;

use crate::systems::System;

/// Number of datasets per query.
const HITS: usize = 5;

/// A fifth of the training queries is held out for model selection.
const HELD_OUT: HeldOut = HeldOut {
    fraction: 0.2,
    seed: 42,
};

/// Queries and their judgments.
#[derive(Clone)]
pub(crate) struct JudgedQueries {
    pub(crate) queries: Vec<Query>,
    pub(crate) qrels: Qrels,
}

impl JudgedQueries {
    fn new(queries: Vec<Query>, all: &Qrels) -> Self {
        let mut qrels = Qrels::new();
        for query in &queries {
            for (doc, grade) in all.get(&query.id).into_iter().flatten() {
                qrels.insert(&query.id, doc, grade);
            }
        }
        Self { queries, qrels }
    }

    /// Evaluator in which ties keep the order of the run.
    pub(crate) fn evaluator(&self, measures: &[Measure]) -> Result<Evaluator<'_>> {
        let rules = Rules {
            ties: TieBreak::RunOrder,
            ..Rules::default()
        };
        Ok(Evaluator::with_rules(&self.qrels, measures, rules)?)
    }

    pub(crate) fn run(&self, tag: &str, system: System<'_>) -> Result<Run> {
        Ok(Run::from_retriever(tag, system, &self.queries, HITS)?)
    }
}

#[derive(Clone)]
pub(crate) struct Task {
    name: String,
    /// Ids of the datasets.
    pub(crate) ids: DocIds,
    pub(crate) texts: Vec<String>,
    /// Training queries for kNN.
    pub(crate) training_queries: Vec<TrainingQuery>,
    /// Training queries that are excluded from training.
    pub(crate) held_out: JudgedQueries,
    pub(crate) test: JudgedQueries,
    examples: Vec<TrainingExample>,
    left_out: usize,
}

impl Task {
    pub(crate) fn open(collection: &Collection, template: &str) -> Result<Self> {
        let texts = Arc::new(DocumentTexts::from_corpus(
            collection.corpus(),
            &template.parse()?,
        )?);
        let test = JudgedQueries::new(collection.queries("test")?, &collection.qrels("test")?);

        // Test queries are removed from the training queries.
        let asked: HashSet<&str> = test.queries.iter().map(|q| q.text.trim()).collect();
        let mut training = collection.queries("train")?;
        let all = training.len();
        training.retain(|query| !asked.contains(query.text.trim()));
        let left_out = all - training.len();

        let qrels = collection.qrels("train")?;
        let past = TrainingQuery::from_qrels(&training, &qrels);
        let known: HashSet<&str> = training.iter().map(|query| query.id.as_str()).collect();
        let judged = JudgedTrainingSet::from_split(
            collection,
            "train",
            texts.clone(),
            OnInvalidExample::Reject,
        )?;
        let mut examples = (0..judged.len())
            .map(|index| judged.get(index))
            .collect::<Result<Vec<_>, _>>()?;
        let id = |example: &TrainingExample| example.query_id.clone().unwrap_or_default();
        examples
            .retain(|example| known.contains(&*id(example)) && !HELD_OUT.contains(&example.query));
        training.retain(|query| HELD_OUT.contains(&query.text));
        Ok(Self {
            name: collection.name().to_owned(),
            ids: texts.ids().clone(),
            texts: (0..texts.len())
                .map(|n| texts.text(ir_core::DocNum::new(n as u32)).to_owned())
                .collect(),
            training_queries: past,
            held_out: JudgedQueries::new(training, &qrels),
            test,
            examples,
            left_out,
        })
    }

    /// The task without the held-out training queries.
    pub(crate) fn without_held_out(&self) -> Self {
        let mut other = self.clone();
        other
            .training_queries
            .retain(|query| !HELD_OUT.contains(&query.text));
        other
    }

    pub(crate) fn run(&self, tag: &str, system: System<'_>) -> Result<Run> {
        self.test.run(tag, system)
    }

    /// Training examples with five hard negatives of the retriever and five random negatives.
    pub(crate) fn with_negatives(&self, retriever: System<'_>) -> Result<Vec<TrainingExample>> {
        let mining = MiningConfig {
            hard: 5,
            random: 5,
            ..MiningConfig::DATAFINDER
        };
        let positives: Vec<Vec<&str>> = self
            .examples
            .iter()
            .map(|example| {
                example
                    .positives
                    .iter()
                    .filter_map(|p| p.id.as_deref())
                    .collect()
            })
            .collect();
        let questions: Vec<MiningQuery<'_>> = self
            .examples
            .iter()
            .zip(&positives)
            .map(|(example, positives)| MiningQuery {
                text: &example.query,
                positives,
                within: None,
            })
            .collect();
        let ids = retriever.ids();
        let text = |id: &str| {
            let dataset = self.ids.get(id)?;
            Some(self.texts[dataset.index()].as_str())
        };
        let mined = mining.mine(retriever, &questions, &|dataset| text(ids.id(dataset)))?;
        let examples = self.examples.iter().zip(mined).map(|(example, mined)| {
            let hard = mined.hard.iter().map(|hit| hit.doc);
            let negatives = hard.chain(mined.random).filter_map(|dataset| {
                let id = ids.id(dataset);
                Some(TrainingText::new(text(id)?).with_id(id))
            });
            negatives.fold(example.clone(), TrainingExample::negative)
        });
        Ok(examples.collect())
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} datasets, {} test queries; {} training queries: {} held out, {} removed because \
             they are test queries",
            self.name,
            self.ids.len(),
            self.test.queries.len(),
            self.training_queries.len() + self.left_out,
            self.held_out.queries.len(),
            self.left_out
        )
    }
}
