//! Scores of a teacher for the texts of training examples, a stage of the cache.

use std::borrow::Cow;
use std::fs;
use std::sync::Arc;

use ir_core::fusion::RetrieverScores;
use ir_core::store::{ByteReader, IndexFormat, write_varint};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Candidate, CandidateTexts, Reranker};

use crate::cache::{Record, Stage};
use crate::entries::{RerankSystem, TeacherEntry};
use crate::error::SystemError;
use crate::lookup::{Lookup, find_or_lock};
use crate::observer::StageReport;
use crate::system::SystemContext;
use crate::systems::reranker_model;

/// Record of the scores of a teacher for the training examples of a split.
const SCORES: Record = Record {
    stage: Stage::TeacherScores,
    format: IndexFormat {
        magic: *b"IREXPTCH",
        version: 1,
        name: "cached teacher scores",
        large_sections: &[],
    },
};

/// Number of queries that are scored between two progress reports.
const BATCH: usize = 8;
/// Number of scored texts after which the scores so far are saved.
const SAVED_TEXTS: usize = 256;

/// Scores of the texts of an example: the positives, then the negatives. `None` for a text that the
/// teacher does not score.
type ExampleScores = Vec<Option<f32>>;

/// Scores of a teacher, as a stage of the cache.
pub(super) struct TeacherScores<'a> {
    teacher: &'a TeacherEntry,
    split: &'a str,
    key: String,
    /// Description for plans and progress.
    description: String,
}

impl TeacherEntry {
    /// System that reranks with the model; `None` if the teacher is a system.
    fn reranker(&self) -> Option<RerankSystem> {
        self.model.as_deref().map(RerankSystem::with_model)
    }

    /// Content of the teacher, which determines its scores.
    pub(in crate::systems) fn content(
        &self,
        context: &SystemContext<'_>,
    ) -> Result<String, SystemError> {
        match (self.reranker(), &self.system) {
            (Some(reranker), _) => {
                let content = reranker_model::content(&reranker, context);
                content.map_err(in_teacher)
            }
            (None, system) => context.system_key(system.as_deref().unwrap_or_default()),
        }
    }

    /// Name of the model or the system, for messages.
    pub(in crate::systems) fn label(&self) -> String {
        match (self.reranker(), &self.system) {
            (Some(reranker), _) => reranker.label().to_owned(),
            (None, system) => system.clone().unwrap_or_default(),
        }
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<Teacher, SystemError> {
        if let Some(reranker) = self.reranker() {
            let open = reranker_model::shared_model(&reranker, context);
            return Ok(Teacher {
                reranker: open.map_err(in_teacher)?.teacher(),
                texts: None,
            });
        }
        let open = context.system(self.system.as_deref().unwrap_or_default())?;
        if let Some(model) = open.candidate_model {
            return Ok(Teacher {
                reranker: model.reranker.teacher(),
                texts: model.texts,
            });
        }
        let scores = RetrieverScores::new(open.retriever);
        Ok(Teacher {
            reranker: Arc::new(scores.map_err(SystemError::stage(SCORING))?),
            texts: None,
        })
    }
}

/// Reranker that scores the training examples, and the texts that it reads.
struct Teacher {
    reranker: Arc<dyn Reranker<Query = str>>,
    /// Texts of the documents; `None` for the texts of the examples.
    texts: Option<Arc<dyn CandidateTexts>>,
}

const SCORING: &str = "scoring training examples by the teacher";

/// Error of the table `teacher`.
fn in_teacher(error: SystemError) -> SystemError {
    error.in_table("training.teacher")
}

impl<'a> TeacherScores<'a> {
    /// Scores of the examples of a split. `content` is a hash of everything that determines them:
    /// teacher, texts, queries and mining.
    pub(super) fn new(
        context: &SystemContext<'_>,
        teacher: &'a TeacherEntry,
        split: &'a str,
        content: &str,
    ) -> Self {
        Self {
            teacher,
            split,
            key: context.key(Stage::TeacherScores, content),
            description: format!("{} on split {split}", teacher.label()),
        }
    }

    /// Report of the stage, without computing it.
    pub(super) fn planned(&self, context: &SystemContext<'_>) -> StageReport {
        context.planned(Stage::TeacherScores, &self.key, &self.description)
    }

    /// Sets the scores of all texts. Texts without a score, and examples that then have no positive
    /// or no negative, are left out with a note.
    pub(super) fn add_to(
        &self,
        examples: &mut Vec<TrainingExample>,
        context: &mut SystemContext<'_>,
    ) -> Result<(), SystemError> {
        let scores = self.scores(examples, context)?;
        let mut without = 0;
        for (example, scores) in examples.iter_mut().zip(scores) {
            let (positives, negatives) = scores.split_at(example.positives.len());
            let lists = [
                (&mut example.positives, positives),
                (&mut example.negatives, negatives),
            ];
            for (texts, scores) in lists {
                let scored = texts.drain(..).zip(scores);
                let scored = scored.filter_map(|(text, score)| Some(text.with_score((*score)?)));
                let scored: Vec<TrainingText> = scored.collect();
                without += scores.len() - scored.len();
                *texts = scored;
            }
        }
        let all = examples.len();
        examples.retain(|it| !it.positives.is_empty() && !it.negatives.is_empty());
        let left_out = all - examples.len();
        if without > 0 {
            let note = format!(
                "{}: {without} texts of the training examples of split {} are left out, and with \
                 them {left_out} examples: no score of the teacher",
                context.data.name(),
                self.split,
            );
            context.observer().note(&note);
        }
        Ok(())
    }

    /// Scores of all examples, from the cache or computed.
    fn scores(
        &self,
        examples: &[TrainingExample],
        context: &mut SystemContext<'_>,
    ) -> Result<Vec<ExampleScores>, SystemError> {
        let cache = context.cache;
        let path = cache.writable_path(SCORES.stage, &self.key)?;
        let named = format!("{}: {}", context.data.name(), self.description);
        let looked_up = find_or_lock(&path, &named, context.observer, || {
            let decode = |bytes: &[u8]| decode(bytes, examples);
            let is_complete = |scores: &Vec<_>| scores.len() == examples.len();
            cache.entry(&SCORES, &self.key, |bytes| {
                decode(bytes).filter(is_complete)
            })
        })?;
        let mut report = self.planned(context);
        let scores = match looked_up {
            Lookup::Found(scores) => scores,
            Lookup::ToCompute { status, lock } => {
                let scores = self.compute(examples, context)?;
                cache.save_entry(&SCORES, &self.key, &encode(&scores))?;
                // A file that stays is never read.
                let _ = fs::remove_file(cache.path(SCORES.stage, &self.partial_key()));
                drop(lock);
                report.status = status;
                scores
            }
        };
        context.observer.stage(&report);
        Ok(scores)
    }

    /// Key of the scores of the first examples, from which a killed job resumes.
    fn partial_key(&self) -> String {
        format!("{}-partial", self.key)
    }

    fn compute(
        &self,
        examples: &[TrainingExample],
        context: &mut SystemContext<'_>,
    ) -> Result<Vec<ExampleScores>, SystemError> {
        let teacher = self.teacher.open(context)?;
        let (cache, partial) = (context.cache, self.partial_key());
        // Damaged scores are computed again.
        let saved = cache.entry(&SCORES, &partial, |bytes| decode(bytes, examples));
        let mut all = saved.ok().flatten().unwrap_or_default();
        let (total, mut unsaved) = (Some(examples.len() as u64), 0);
        let mut scored: usize = all.iter().map(Vec::len).sum();
        for batch in examples[all.len()..].chunks(BATCH) {
            context.report_progress("teacher scores", all.len() as u64, total)?;
            let texts = batch.iter().map(|example| texts_of(example, &teacher));
            let texts = texts.collect::<Result<Vec<_>, _>>()?;
            let candidates: Vec<Vec<Candidate<'_>>> = texts
                .iter()
                .map(|texts| {
                    let candidates = texts.iter();
                    let candidates = candidates.map(|(id, text)| Candidate::new(id, text));
                    candidates.collect()
                })
                .collect();
            let queries = batch.iter().zip(&candidates);
            let queries: Vec<(&str, &[Candidate<'_>])> = queries
                .map(|(example, candidates)| (&*example.query, &**candidates))
                .collect();
            let scores = teacher.reranker.scores_batch(&queries);
            let scores = scores.map_err(SystemError::stage(SCORING))?;
            for ((query, candidates), scores) in queries.iter().zip(&scores) {
                check_scores(query, candidates, scores)?;
            }
            let new = scores.iter().map(Vec::len).sum::<usize>();
            (unsaved, scored) = (unsaved + new, scored + new);
            all.extend(scores);
            // The file is written as a whole: the more it has, the rarer.
            if unsaved >= SAVED_TEXTS.max(scored / 8) && all.len() < examples.len() {
                cache.save_entry(&SCORES, &partial, &encode(&all))?;
                unsaved = 0;
            }
        }
        Ok(all)
    }
}

/// Ids and texts of an example, as the teacher reads them: positives, then negatives.
fn texts_of<'e>(
    example: &'e TrainingExample,
    teacher: &'e Teacher,
) -> Result<Vec<(&'e str, Cow<'e, str>)>, SystemError> {
    let all = example.positives.iter().chain(&example.negatives);
    all.map(|text| {
        let id = text.id.as_deref().unwrap_or_default();
        let own = match &teacher.texts {
            None => None,
            Some(texts) => texts.text(id).map_err(SystemError::stage(SCORING))?,
        };
        Ok((id, own.unwrap_or(Cow::Borrowed(&*text.text))))
    })
    .collect()
}

/// Checks that there is a finite score, or none, for each candidate.
fn check_scores(
    query: &str,
    candidates: &[Candidate<'_>],
    scores: &[Option<f32>],
) -> Result<(), SystemError> {
    let mut scored = candidates.iter().zip(scores);
    let infinite = scored.find_map(|(candidate, score)| {
        let score = (*score)?;
        (!score.is_finite()).then_some((candidate.id, score))
    });
    match infinite {
        None => Ok(()),
        Some((id, score)) => {
            let message = format!(
                "expected a finite score of document {id:?} for query {query:?}, found {score}"
            );
            Err(SystemError::parameter("training.teacher", message))
        }
    }
}

/// Encodes the scores of each example: 1 and the bits, or 0.
fn encode(scores: &[ExampleScores]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for score in scores.iter().flatten() {
        match score {
            None => write_varint(&mut bytes, 0),
            Some(score) => {
                write_varint(&mut bytes, 1);
                bytes.extend(score.to_bits().to_le_bytes());
            }
        }
    }
    bytes
}

/// Decodes the scores of the texts of the first examples. `None` if these are other texts.
fn decode(bytes: &[u8], examples: &[TrainingExample]) -> Option<Vec<ExampleScores>> {
    let mut reader = ByteReader::new(bytes);
    let mut all = Vec::with_capacity(examples.len());
    for example in examples {
        if reader.is_empty() {
            break;
        }
        let texts = example.positives.len() + example.negatives.len();
        let mut scores = Vec::with_capacity(texts);
        for _ in 0..texts {
            scores.push(match reader.varint()? {
                0 => None,
                1 => Some(f32::from_bits(reader.u32()?)),
                _ => return None,
            });
        }
        all.push(scores);
    }
    reader.is_empty().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<TrainingExample> {
        let text = |id: &str| TrainingText::new(format!("text of {id}")).with_id(id);
        vec![
            TrainingExample::new("tea")
                .positive(text("a"))
                .negative(text("b"))
                .negative(text("c")),
            TrainingExample::new("coffee").positive(text("b")),
        ]
    }

    #[test]
    fn scores_round_trip() {
        let scores = vec![vec![Some(0.1), None, Some(-3.5e-30)], vec![Some(7.0)]];
        let bytes = encode(&scores);
        // 4 tags and 3 scores of 4 bytes.
        assert_eq!(bytes.len(), 4 + 3 * 4);
        assert_eq!(decode(&bytes, &examples()), Some(scores.clone()));
        assert_eq!(decode(&bytes, &examples()[..1]), None);
        // Two scores of 5 bytes and a missing one: the first example.
        assert_eq!(
            decode(&bytes[..11], &examples()),
            Some(scores[..1].to_vec())
        );
        assert_eq!(decode(&bytes[..bytes.len() - 1], &examples()), None);
        assert_eq!(decode(&[2], &examples()[1..]), None);
    }

    #[test]
    fn infinite_scores_are_errors() {
        let candidates = [Candidate::new("a", "tea"), Candidate::new("b", "coffee")];
        assert!(check_scores("q", &candidates, &[Some(1.0), None]).is_ok());
        let error = check_scores("q", &candidates, &[None, Some(f32::INFINITY)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "training.teacher: expected a finite score of document \"b\" for query \"q\", found inf"
        );
    }
}
