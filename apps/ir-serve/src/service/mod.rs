//! API behind REST and the pages: documents, publication, answers, suggestions, keys.

mod batched_search;
mod collections;
mod document_answers;
mod folder;
mod generation;
mod keys;
mod paper_answers;
mod question;
mod reranking;
mod tags;
mod upload;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use ir_core::{AttributeValue, Attributes, ConditionCheck, DocSet, Predicate, Retriever, Search};
use ir_qa::documents::Paper;
use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::suggest::{Completion, MatchKind};
use tokio::sync::OwnedSemaphorePermit;

use self::batched_search::{AnswerHits, BatchedSearch, QuestionHits, QuestionSearch};
pub use self::collections::CollectionHits;
pub(crate) use self::document_answers::{DOCUMENT_ANSWERS, DocumentAnswers};
use self::folder::FolderState;
pub(crate) use self::folder::ReadingState;
pub use self::folder::{FolderRead, Rescan};
pub(crate) use self::generation::Generation;
pub use self::generation::{GeneratedAnswer, GenerationOutcome};
pub(crate) use self::paper_answers::PaperAnswer;
pub use self::question::{AnswerList, Question, ScoredAnswer, Suggestion};
pub use self::reranking::RerankedText;
pub(crate) use self::tags::{PaperTags, TAGS, own_tags};
use crate::config::{Collection, Limits, ServiceConfig, ServiceReranker};
use crate::error::ServiceError;
use crate::published::{CACHED_VECTORS, PublishConfig, PublishedState};
use crate::publisher::{EncodingState, Publisher};
use crate::query_log::QueryLog;
use crate::request_permit::RequestPermit;
use crate::store::{
    AddedDocuments, BackgroundCheck, Job, KeyRole, LoggedClick, LoggedQuery, Origin, Store, sha256,
};

/// Documents, publication, queries and annotations of a data folder.
///
/// Methods block and may be called from several threads.
pub struct Service {
    store: Arc<Store>,
    publisher: Publisher,
    searches: BatchedSearch,
    log: QueryLog,
    /// Hashes and roles of the keys of the store.
    keys: RwLock<Vec<([u8; 32], KeyRole)>>,
    collections: BTreeMap<String, Collection>,
    generation: Option<Generation>,
    reranker: Option<ServiceReranker>,
    limits: Limits,
    check: BackgroundCheck,
    folder: FolderState,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// Maximum number of characters of the id of a document, which every answer repeats.
const ID_CHARACTERS: usize = 1_000;

/// Maximum number of characters of the id of a user, which the query log stores.
const USER_CHARACTERS: usize = 200;

impl Service {
    /// Opens the store of a data folder, and starts to load what was published and to check the
    /// store ([`Service::damage`]).
    ///
    /// # Errors
    /// The store is in use, is not one, or a later version wrote it; two collections have the same
    /// name.
    pub fn open(config: ServiceConfig) -> Result<Self, ServiceError> {
        let store = Arc::new(Store::open(&config.data)?);
        let publishing = PublishConfig {
            frames: config.frames,
            answers: config.answers,
            headings: config.headings,
            encoder: config.encoder.map(Into::into),
            questions: config.questions,
            reranker: config.reranker.clone(),
        };
        let publisher = Publisher::start(Arc::clone(&store), publishing)?;
        let log = QueryLog::start(Arc::clone(&store), config.log_queries)?;
        let check = BackgroundCheck::start(&store)?;
        let keys = RwLock::new(store.keys()?);
        let mut collections = BTreeMap::new();
        for collection in config.collections {
            let name = collection.name.clone();
            if collections.insert(name.clone(), collection).is_some() {
                return Err(ServiceError::DuplicateCollection { name });
            }
        }
        Ok(Self {
            store,
            searches: BatchedSearch::new(publisher.has_encoder(), CACHED_VECTORS),
            publisher,
            log,
            keys,
            collections,
            generation: config.generator.map(Generation::new),
            reranker: config.reranker,
            limits: config.limits,
            check,
            folder: FolderState::new(config.papers),
        })
    }

    /// Damage of the store that was found since it was opened: its pages are read in the
    /// background. A service with a damaged store should be ended, and the store restored.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.check.damage()
    }

    /// The store of the data folder.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Limits of the configuration.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns `true` if answers and questions are encoded.
    #[must_use]
    pub fn has_encoder(&self) -> bool {
        self.publisher.has_encoder()
    }

    /// The published state.
    ///
    /// # Errors
    /// [`ServiceError::Loading`] until it is loaded, or if it cannot be.
    pub fn published(&self) -> Result<Arc<PublishedState>, ServiceError> {
        self.publisher.state().ok_or_else(|| ServiceError::Loading {
            error: self.publisher.load_error(),
        })
    }

    /// Adds records of documents, all or none, and returns their ids, which are the fields `doc_id`
    /// or, without one, the first 16 digits of the SHA-256 of the record. A document with a known
    /// id replaces it. Queries see the documents after [`Service::publish`].
    ///
    /// # Errors
    /// Two of the records have the same id; an id has more than 1,000 characters; the disk
    /// is full or fails.
    pub fn add(
        &self,
        records: Vec<SocoDocument>,
    ) -> Result<(Vec<String>, AddedDocuments), ServiceError> {
        let mut documents = Vec::with_capacity(records.len());
        let mut entries: BTreeMap<String, usize> = BTreeMap::new();
        for (entry, mut record) in records.into_iter().enumerate() {
            let id = document_id(&record);
            let characters = ir_qa::character_count(&id);
            if characters > ID_CHARACTERS {
                return Err(ServiceError::Limit {
                    what: "characters of a doc_id",
                    limit: ID_CHARACTERS,
                    found: characters,
                });
            }
            if record.meta.get("doc_id").is_none() {
                record.meta.set("doc_id", id.as_str());
            }
            if let Some(first) = entries.insert(id.clone(), entry) {
                return Err(ServiceError::DuplicateDocument { id, first, entry });
            }
            documents.push((id, record));
        }
        let added = self.store.add(&documents, Origin::Api)?;
        Ok((documents.into_iter().map(|(id, _)| id).collect(), added))
    }

    /// Deletes documents by id, or all without ids, and returns their number.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn delete(&self, ids: Option<&[String]>) -> Result<usize, ServiceError> {
        Ok(self.store.delete(ids)?)
    }

    /// Starts to publish the documents and the questions of accepted annotations. With an encoder,
    /// their vectors follow after the end of the job ([`Service::waiting_for_vectors`]).
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn publish(&self) -> Result<Job, ServiceError> {
        Ok(self.publisher.publish()?)
    }

    /// Returns `true` if the last publication ended the process several times, such as for lack of
    /// memory, and nothing has changed since.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn is_given_up(&self) -> Result<bool, ServiceError> {
        Ok(self.store.was_given_up(&self.store.content_hash()?)?)
    }

    /// Aborts publications that wait or run, and returns the ids of their jobs. Stops the encoding
    /// of answers that wait for vectors until the next publication or start.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn abort(&self) -> Result<Vec<String>, ServiceError> {
        Ok(self.publisher.abort()?)
    }

    /// Returns a job with its progress.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn job(&self, id: &str) -> Result<Option<Job>, ServiceError> {
        Ok(self.publisher.job(id)?)
    }

    /// Number of publications that wait or run.
    #[must_use]
    pub fn unfinished_jobs(&self) -> usize {
        self.publisher.unfinished()
    }

    /// Number of answers and questions of answers that were encoded since the service was opened,
    /// because their vectors were not stored.
    #[must_use]
    pub fn encoded_texts(&self) -> u64 {
        self.publisher.encoded_texts()
    }

    /// Returns the number of published answers that wait for their vectors, which are encoded in
    /// the background: they are ranked by BM25 alone.
    ///
    /// # Errors
    /// [`ServiceError::Loading`] until the published state is loaded.
    pub fn waiting_for_vectors(&self) -> Result<usize, ServiceError> {
        Ok(self.published()?.waiting_for_vectors())
    }

    /// State of the encoding in the background.
    pub(crate) fn encoding(&self) -> EncodingState {
        self.publisher.encoding()
    }

    /// Number of queries that could not be logged.
    #[must_use]
    pub fn unlogged_queries(&self) -> u64 {
        self.log.dropped()
    }

    /// Answers a question, and logs it unless it continues another.
    ///
    /// # Errors
    /// A limit is exceeded, nothing is published yet, or the encoder fails.
    pub fn ask(&self, question: &Question) -> Result<AnswerList, ServiceError> {
        let start = Instant::now();
        let (search, filters) = self.question_search(question)?;
        let state = Arc::clone(&search.state);
        let found = self.searches.search(search)?;
        self.answer_list(question, &state, found, filters, start)
    }

    /// Completes a typed text: at most `limit` suggestions. Those that start with the typed text
    /// come first: questions, titles and phrases, then the typed text with a phrase in place of its
    /// last word. Among suggestions that match equally well, the ones that users have asked come
    /// first, and generated questions that nobody has asked last.
    ///
    /// # Errors
    /// A limit is exceeded, or nothing is published yet.
    pub fn complete(&self, typed: &str, limit: usize) -> Result<Vec<Suggestion>, ServiceError> {
        self.check_query(typed, limit)?;
        let state = self.published()?;
        let suggester = state.suggester();
        let completions = suggester.complete(typed, limit);
        let start = completions.partition_point(|found| found.kind == MatchKind::Prefix);
        let (prefixes, others) = completions.split_at(start);
        let suggestion = |found: &Completion<'_>| Suggestion {
            text: found.text.to_owned(),
            generated: state.is_generated(found.text),
        };
        let mut suggestions: Vec<Suggestion> = prefixes.iter().map(suggestion).collect();
        let continued = suggester.continuations(typed, limit - start);
        suggestions.extend(continued.into_iter().map(Suggestion::new));
        suggestions.extend(others.iter().map(suggestion));
        suggestions.truncate(limit);
        Ok(suggestions)
    }

    /// [`Service::ask`] for tasks: it blocks only if [`Service::blocks`].
    pub(crate) async fn ask_async(&self, question: &Question) -> Result<AnswerList, ServiceError> {
        let start = Instant::now();
        let (search, filters) = self.question_search(question)?;
        let state = Arc::clone(&search.state);
        let found = self.searches.search_async(search).await?;
        self.answer_list(question, &state, found, filters, start)
    }

    /// Returns `true` if a question would block its task: without an encoder, the search runs on
    /// the thread of the caller; filters read the fields of all frames.
    pub(crate) fn blocks(&self, question: &Question) -> bool {
        !self.has_encoder() || question.explain || !question.filters.is_empty()
    }

    /// The search of a question in the published state, and its filters.
    fn question_search(
        &self,
        question: &Question,
    ) -> Result<(QuestionSearch, FilterWarnings), ServiceError> {
        self.check_query(&question.text, question.limit)?;
        check_user(&question.user)?;
        let state = self.published()?;
        let (filters, warnings) = self.with_tags(&question.filters, &state)?;
        let index = state.index();
        let filter = filter(&filters, |predicate| index.select(predicate));
        let search = QuestionSearch {
            text: question.text.clone(),
            limit: question.limit,
            filter,
            reranks: true,
            state,
            _permit: RequestPermit::current(),
        };
        Ok((search, FilterWarnings { filters, warnings }))
    }

    /// The answers that were found in a state, after logging the question.
    fn answer_list(
        &self,
        question: &Question,
        state: &PublishedState,
        found: QuestionHits,
        FilterWarnings {
            filters,
            mut warnings,
        }: FilterWarnings,
        start: Instant,
    ) -> Result<AnswerList, ServiceError> {
        let index = state.index();
        let (text, hits) = (question.text.as_str(), found.answers.hits());
        let mut answers = Vec::with_capacity(hits.len());
        let explaining = Instant::now();
        for (position, hit) in hits.iter().enumerate() {
            let mut matched = None;
            let explanation = if question.explains(position) {
                // Scores of the index do not depend on the filter; one document is searched fast.
                let only: DocSet = [hit.doc].into_iter().collect();
                let alone = Search::top(1).within(&only);
                match (&found.answers, state.reranked()) {
                    (AnswerHits::Reranked { found, time }, Some(reranked)) => {
                        // The model explains scores in the time that the reranking has left.
                        let limit = self.reranker.as_ref().map_or(Duration::ZERO, |it| it.time);
                        let in_time = explaining.elapsed() < limit.saturating_sub(*time);
                        if question.matches && in_time && position < found.reranked() {
                            matched = reranked.matched_text(text, hit.doc)?;
                        }
                        reranked.explain_hit(text, found, position, in_time, &alone)?
                    }
                    _ => index.explain(text, hit.doc, &alone)?,
                }
            } else {
                None
            };
            answers.push(ScoredAnswer {
                frame: index.frames()[hit.doc.index()].clone(),
                score: hit.score,
                explanation,
                matched,
            });
        }
        // The frames of a document have the same fields.
        let documents = index.frames().chunk_by(|a, b| a.paper == b.paper);
        warnings.extend(filter_warnings(
            &filters,
            documents.map(|it| &it[0].metadata),
        ));
        warnings.extend(state.vector_warning());
        if let (Some(warning), Some(reranker)) = (found.warning, &self.reranker) {
            reranker.count_timeout();
            warnings.push(warning);
        }
        Ok(AnswerList {
            query: self.log_question(question, answers.len(), start),
            answers,
            related: found.related,
            warnings,
        })
    }

    /// Logs a question that was asked at `start`, unless it is blank or continues another. Returns
    /// its number in the log, or 0.
    fn log_question(&self, question: &Question, results: usize, start: Instant) -> i64 {
        if question.is_continued || question.text.trim().is_empty() {
            0
        } else {
            self.log.log(LoggedQuery {
                user: question.user.clone(),
                query: question.text.clone(),
                is_suggestion: question.is_suggestion,
                results,
                micros: u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX),
                records_clicks: question.records_clicks,
            })
        }
    }

    /// Name of the model that generates answers, if there is one.
    #[must_use]
    pub fn generator(&self) -> Option<&str> {
        self.generation.as_ref().map(Generation::model)
    }

    /// Generates an answer to a question from the best of its answers; `None` without a generator.
    /// Waits for the generator. A failure is an outcome, since the answers are usable without it.
    #[must_use]
    pub fn generate(&self, question: &str, answers: &[ScoredAnswer]) -> Option<GeneratedAnswer> {
        let generation = self.generation.as_ref()?;
        match generation.permit() {
            Some(permit) => self.generate_with(&permit, question, answers),
            None => {
                let sentences = answers.len().min(generation.sentences());
                Some(generation.answer(sentences, GenerationOutcome::Busy))
            }
        }
    }

    /// [`Service::generate`] with a permit.
    pub(crate) fn generate_with(
        &self,
        permit: &OwnedSemaphorePermit,
        question: &str,
        answers: &[ScoredAnswer],
    ) -> Option<GeneratedAnswer> {
        let state = self.published().ok();
        let title = |paper: &str| {
            let document = state.as_ref().and_then(|state| state.document(paper));
            document
                .map_or(paper, |document| document.title())
                .to_owned()
        };
        let generation = self.generation.as_ref()?;
        Some(generation.generate(permit, question, answers, title))
    }

    /// The generation of answers, if there is a generator.
    pub(crate) fn generation(&self) -> Option<&Generation> {
        self.generation.as_ref()
    }

    /// Logs that a user opened the answer of a query, in the background, with the hash of its
    /// published text. `rank` counts from 1. Ignores clicks on unpublished answers, and clicks for
    /// queries of other users or without [`Question::records_clicks`].
    pub fn log_click(
        &self,
        query: i64,
        user: impl Into<String>,
        frame: impl Into<String>,
        rank: u32,
    ) {
        let (user, frame) = (user.into(), frame.into());
        let state = self.published().ok();
        if let Some(answer) = state.as_ref().and_then(|state| state.frame(&frame)) {
            self.log.log_click(LoggedClick {
                query,
                user,
                answer: Some(sha256(answer.answer.as_bytes())),
                frame,
                rank,
            });
        }
    }

    fn check_query(&self, text: &str, limit: usize) -> Result<(), ServiceError> {
        if limit > self.limits.results {
            return Err(ServiceError::Limit {
                what: "results",
                limit: self.limits.results,
                found: limit,
            });
        }
        let characters = ir_qa::character_count(text);
        if characters > self.limits.query_characters {
            return Err(ServiceError::Limit {
                what: "characters of a query",
                limit: self.limits.query_characters,
                found: characters,
            });
        }
        Ok(())
    }
}

/// Filters of a question without conditions on tags, and warnings of these conditions.
struct FilterWarnings {
    filters: Vec<Predicate>,
    warnings: Vec<String>,
}

/// The record of a paper: its chunks or questions with answers, and its fields, with the id as
/// `doc_id`.
#[must_use]
pub fn record_of(paper: &Paper) -> SocoDocument {
    let mut meta = paper.attributes();
    meta.set("doc_id", paper.id.as_str());
    let content = if paper.faq.is_empty() {
        SocoContent::Document(paper.chunks())
    } else {
        SocoContent::Faq(paper.faq.clone())
    };
    SocoDocument { content, meta }
}

/// Rejects the id of a user that is too long for the query log.
fn check_user(user: &str) -> Result<(), ServiceError> {
    let characters = ir_qa::character_count(user);
    if characters > USER_CHARACTERS {
        return Err(ServiceError::Limit {
            what: "characters of the id of a user",
            limit: USER_CHARACTERS,
            found: characters,
        });
    }
    Ok(())
}

fn document_id(record: &SocoDocument) -> String {
    match record.meta.get("doc_id") {
        Some(AttributeValue::Text(id)) if !id.is_empty() => id.clone(),
        Some(AttributeValue::Int(id)) => id.to_string(),
        _ => {
            let record = serde_json::to_vec(record).unwrap_or_default();
            let hash = sha256(&record);
            hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
        }
    }
}

/// Warnings of a check of filters by the documents.
fn filter_warnings<'a>(
    filters: &[Predicate],
    documents: impl IntoIterator<Item = &'a Attributes>,
) -> Vec<String> {
    let mut check = ConditionCheck::new(filters);
    for document in documents {
        if check.is_complete() {
            break;
        }
        check.add(document);
    }
    let warnings = check.warnings(|_, _| String::new()).into_iter();
    warnings
        .map(|warning| format!("filter: {warning}"))
        .collect()
}

/// The documents that satisfy all filters; `None` without filters.
fn filter(filters: &[Predicate], select: impl FnOnce(&Predicate) -> DocSet) -> Option<DocSet> {
    match filters {
        [] => None,
        [one] => Some(select(one)),
        all => Some(select(&Predicate::All(all.to_vec()))),
    }
}

#[cfg(test)]
mod tests;
