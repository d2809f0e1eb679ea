//! The best answer of every paper to one question.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use ir_core::{DocFilter as _, Retriever as _};
use ir_qa::Frame;

use super::batched_search::QuestionSearch;
use super::{Question, Service, check_user, filter};
use crate::error::ServiceError;
use crate::published::{PublishedDocument, PublishedState};
use crate::request_permit::RequestPermit;

/// Maximum number of answers among which the best of each paper is found.
const CANDIDATES: usize = 100_000;

/// Paper with its best answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaperAnswer<'a> {
    pub(crate) paper: &'a PublishedDocument,
    /// Best answer with its score; `None` if no answer of the paper is found.
    pub(crate) answer: Option<(&'a Frame, f32)>,
}

impl Service {
    /// Finds the best answer of every paper that passes the filters of a question: papers by
    /// descending score of their answers, then papers without an answer by id. Logs the question
    /// unless it continues another. Its limit is ignored.
    ///
    /// # Errors
    /// A limit is exceeded, or the encoder fails.
    pub(crate) fn ask_every_paper<'a>(
        &self,
        state: &'a Arc<PublishedState>,
        question: &Question,
    ) -> Result<Vec<PaperAnswer<'a>>, ServiceError> {
        let start = Instant::now();
        self.check_query(&question.text, 0)?;
        check_user(&question.user)?;
        let index = state.index();
        let (filters, _) = self.with_tags(&question.filters, state)?;
        let passing = filter(&filters, |predicate| index.select(predicate));
        let found = self.searches.search(QuestionSearch {
            text: question.text.clone(),
            limit: index.frames().len().min(CANDIDATES),
            filter: passing.clone(),
            reranks: true,
            state: Arc::clone(state),
            _permit: RequestPermit::current(),
        })?;
        let mut answered: HashMap<&str, usize> = HashMap::new();
        let mut papers = Vec::new();
        for hit in found.answers.hits() {
            let frame = &index.frames()[hit.doc.index()];
            if answered.contains_key(&*frame.paper) {
                continue;
            }
            if let Some(paper) = state.document(&frame.paper) {
                answered.insert(&frame.paper, papers.len());
                let answer = Some((frame, hit.score));
                papers.push(PaperAnswer { paper, answer });
            }
        }
        let count = papers.len();
        // The frames of a paper pass together, except for entries of an FAQ.
        let passes = |paper: &&PublishedDocument| {
            let Some(passing) = &passing else { return true };
            let mut frames = paper.answers.iter();
            frames.any(|answer| {
                let doc = index.ids().get(&answer.frame);
                doc.is_some_and(|doc| passing.contains(doc))
            })
        };
        let others = state.documents().iter();
        let others = others.filter(|paper| !answered.contains_key(&*paper.id));
        papers.extend(others.filter(passes).map(|paper| PaperAnswer {
            paper,
            answer: None,
        }));
        self.log_question(question, count, start);
        Ok(papers)
    }
}
