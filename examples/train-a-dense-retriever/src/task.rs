//! The data: what is learned from, what is chosen on, and what is tested on, kept apart.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use anyhow::Result;
use ir_core::mine::{Mining, Question};
use ir_core::{DocIds, HeldBack, Qrels, Query, Run, TrainingExample, TrainingSet, TrainingText};
use ir_data::Collection;
use ir_data::training::{Judgements, Texts, Unusable};
use ir_eval::{Evaluator, Measure, Rules, Ties};
use ir_knn::LabelledQuery;

use crate::systems::System;

/// Datasets per query.
const HITS: usize = 5;

/// A fifth of the training queries is kept for choices.
const HELD_BACK: HeldBack = HeldBack {
    share: 0.2,
    seed: 42,
};

/// Queries with the answers that they are judged by.
#[derive(Clone)]
pub(crate) struct Judged {
    pub(crate) queries: Vec<Query>,
    pub(crate) qrels: Qrels,
}

impl Judged {
    fn of(queries: Vec<Query>, all: &Qrels) -> Self {
        let mut qrels = Qrels::new();
        for query in &queries {
            for (doc, grade) in all.get(&query.id).into_iter().flatten() {
                qrels.insert(&query.id, doc, grade);
            }
        }
        Self { queries, qrels }
    }

    /// Equal scores stay in the order in which a system listed them.
    pub(crate) fn evaluator(&self, measures: &[Measure]) -> Result<Evaluator<'_>> {
        let rules = Rules {
            ties: Ties::RunOrder,
            ..Rules::default()
        };
        Ok(Evaluator::with_rules(&self.qrels, measures, rules)?)
    }

    pub(crate) fn run(&self, tag: &str, system: System<'_>) -> Result<Run> {
        Ok(Run::of(tag, system, &self.queries, HITS)?)
    }
}

#[derive(Clone)]
pub(crate) struct Task {
    name: String,
    /// The datasets, as they are encoded.
    pub(crate) ids: DocIds,
    pub(crate) texts: Vec<String>,
    /// Queries whose datasets are known.
    pub(crate) past: Vec<LabelledQuery>,
    /// Those of them that nothing is trained on.
    pub(crate) held_back: Judged,
    pub(crate) test: Judged,
    learn: Vec<TrainingExample>,
    left_out: usize,
}

impl Task {
    pub(crate) fn open(collection: &Collection, template: &str) -> Result<Self> {
        let texts = Arc::new(Texts::read(collection.corpus(), &template.parse()?)?);
        let test = Judged::of(collection.queries("test")?, &collection.qrels("test")?);

        // No query of the test is learned from, nor looked up.
        let asked: HashSet<&str> = test.queries.iter().map(|q| q.text.trim()).collect();
        let mut training = collection.queries("train")?;
        let all = training.len();
        training.retain(|query| !asked.contains(query.text.trim()));
        let left_out = all - training.len();

        let qrels = collection.qrels("train")?;
        let past = LabelledQuery::from_qrels(&training, &qrels);
        let known: HashSet<&str> = training.iter().map(|query| query.id.as_str()).collect();
        let judged = Judgements::read(collection, "train", texts.clone(), Unusable::Refuse)?;
        let mut learn = (0..judged.len())
            .map(|index| judged.get(index))
            .collect::<Result<Vec<_>, _>>()?;
        let id = |example: &TrainingExample| example.query_id.clone().unwrap_or_default();
        learn.retain(|example| known.contains(&*id(example)) && !HELD_BACK.has(&example.query));
        training.retain(|query| HELD_BACK.has(&query.text));
        Ok(Self {
            name: collection.name().to_owned(),
            ids: texts.ids().clone(),
            texts: (0..texts.len())
                .map(|n| texts.text(ir_core::DocNum::new(n as u32)).to_owned())
                .collect(),
            past,
            held_back: Judged::of(training, &qrels),
            test,
            learn,
            left_out,
        })
    }

    /// As it is for whoever may not know the datasets of the held-back queries.
    pub(crate) fn without_held_back(&self) -> Self {
        let mut other = self.clone();
        other.past.retain(|query| !HELD_BACK.has(&query.text));
        other
    }

    pub(crate) fn run(&self, tag: &str, system: System<'_>) -> Result<Run> {
        self.test.run(tag, system)
    }

    /// What is learned from: queries, their datasets, and datasets that are none of theirs: five that
    /// the retriever takes for answers, five at random.
    pub(crate) fn examples(&self, retriever: System<'_>) -> Result<Vec<TrainingExample>> {
        let mining = Mining {
            hard: 5,
            random: 5,
            ..Mining::datafinder()
        };
        let positives: Vec<Vec<&str>> = self
            .learn
            .iter()
            .map(|example| {
                example
                    .positives
                    .iter()
                    .filter_map(|p| p.id.as_deref())
                    .collect()
            })
            .collect();
        let questions: Vec<Question<'_>> = self
            .learn
            .iter()
            .zip(&positives)
            .map(|(example, positives)| Question {
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
        let examples = self.learn.iter().zip(mined).map(|(example, mined)| {
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
            "{}: {} datasets, {} test queries; {} training queries: {} held back, {} left out because \
             the test asks them",
            self.name,
            self.ids.len(),
            self.test.queries.len(),
            self.past.len() + self.left_out,
            self.held_back.queries.len(),
            self.left_out
        )
    }
}
