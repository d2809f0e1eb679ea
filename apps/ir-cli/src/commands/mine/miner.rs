//! Negatives of training examples from a run or a system.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use ir_core::training::mining::{MinedNegatives, MiningConfig, MiningQuery};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{DocFilter, DocIds, DocNum, DocSet, Hit, Ranking, Retriever, Run, ScoredDoc};
use ir_data::training::{DocumentTexts, text_key};
use ir_system::SharedRetriever;

use crate::shared::filter::QueryFilters;

/// Where the candidates come from.
pub(super) enum Candidates {
    /// A run, and the documents of the index.
    Run(Run, DocIds),
    System(SharedRetriever),
}

impl Candidates {
    pub(super) fn ids(&self) -> &DocIds {
        match self {
            Self::Run(_, ids) => ids,
            Self::System(retriever) => retriever.ids(),
        }
    }
}

pub(super) struct Miner {
    pub(super) mining: MiningConfig,
    pub(super) candidates: Candidates,
    /// Position in `texts` of each candidate.
    pub(super) positions: Vec<Option<DocNum>>,
    pub(super) texts: Arc<DocumentTexts>,
    /// Ids of the documents with the text of a positive without an id of the collection, by text.
    pub(super) named: HashMap<String, Vec<String>>,
    /// Filters by the numbers of the candidates.
    pub(super) filters: QueryFilters,
}

impl Miner {
    fn text(&self, doc: DocNum) -> Option<&str> {
        let position = *self.positions.get(doc.index())?;
        position.map(|position| self.texts.text(position))
    }

    pub(super) fn mine(
        &self,
        examples: &[TrainingExample],
        years: &HashMap<String, i64>,
    ) -> Result<Vec<MinedNegatives>> {
        let positives: Vec<Vec<&str>> = examples
            .iter()
            .map(|example| {
                let ids = example.positives.iter().flat_map(|text| {
                    let named = self.named.get(&text.text).into_iter().flatten();
                    text.id.iter().chain(named)
                });
                ids.map(String::as_str).collect()
            })
            .collect();
        let ids = examples
            .iter()
            .map(|example| example.query_id.as_deref().unwrap_or_default());
        let years = ids.clone().map(|id| years.get(id).copied());
        self.filters.apply(years, |filters| {
            let questions: Vec<MiningQuery<'_>> = examples
                .iter()
                .zip(&positives)
                .zip(filters)
                .map(|((example, positives), filter)| MiningQuery {
                    text: &example.query,
                    positives,
                    within: *filter,
                })
                .collect();
            let text = |doc: DocNum| self.text(doc);
            let run = match &self.candidates {
                Candidates::Run(run, _) => run,
                Candidates::System(retriever) => {
                    return Ok(self.mining.mine(&**retriever, &questions, &text)?);
                }
            };
            let select = |(id, question): (&str, &MiningQuery<'_>)| {
                let ranking = self.ranking(run.get(id).unwrap_or_default())?;
                let passes = |hit: &Hit| question.within.is_none_or(|f| f.contains(hit.doc));
                let within = ranking.clone().retain(passes);
                let ids = self.candidates.ids();
                Ok(self.mining.select(ids, question, &within, &ranking, &text))
            };
            ids.zip(&questions).map(select).collect()
        })
    }

    /// A list of the candidate run in document numbers of the index, in line order.
    fn ranking(&self, list: &[ScoredDoc]) -> Result<Ranking> {
        let mut seen = DocSet::new();
        let mut hits = Vec::with_capacity(list.len());
        for scored in list {
            // Documents without indexed text are not in the index.
            if let Some(doc) = self.candidates.ids().get(&scored.doc)
                && !seen.contains(doc)
            {
                seen.insert(doc);
                hits.push(Hit::new(doc, scored.score as f32));
            }
        }
        Ok(Ranking::from_hits(hits)?)
    }

    /// Adds mined negatives to an example. Returns the number added.
    pub(super) fn add(
        &self,
        example: &mut TrainingExample,
        mined: &MinedNegatives,
        keep: bool,
    ) -> usize {
        if !keep {
            example.negatives.clear();
        }
        let before = example.negatives.len();
        let positives: Vec<String> = example
            .positives
            .iter()
            .map(|positive| text_key(&positive.text))
            .collect();
        for doc in mined.docs() {
            let id = self.candidates.ids().id(doc);
            let known = |text: &TrainingText| text.id.as_deref() == Some(id);
            let Some(text) = self.text(doc) else { continue };
            // Positives without an id of the collection are identified by their text.
            if !example.negatives.iter().any(known) && !positives.contains(&text_key(text)) {
                example.negatives.push(TrainingText::new(text).with_id(id));
            }
        }
        example.negatives.len() - before
    }
}
