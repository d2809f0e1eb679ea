mod annotations;
mod backup;
mod changes;
mod faq;
mod folder;
mod questions;
mod vectors;

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ir_core::{EncodeError, Encoder, Side};
use ir_qa::{Chunk, ChunkKind, Frame};
use tempfile::TempDir;

use super::*;
use crate::app::tests::{Gate, opened, wait_until};
use crate::config::ServiceQuestions;
use crate::store::{JobStatus, NewAnnotation};

/// Counts of letters. Counts the texts of each side.
#[derive(Default)]
struct CountingEncoder {
    documents: AtomicUsize,
    queries: AtomicUsize,
    /// Number of batches of queries, and the maximum number of texts in one.
    batches: AtomicUsize,
    largest_batch: AtomicUsize,
    /// Batches of queries wait for the gate.
    held_queries: Mutex<Option<Arc<Gate>>>,
    /// Number of texts of documents after which batches of documents wait for the gate.
    held: Option<(usize, Arc<Gate>)>,
}

impl Encoder for CountingEncoder {
    fn dim(&self) -> usize {
        27
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        if let Some((limit, gate)) = &self.held
            && side == Side::Document
            && self.documents.load(Ordering::Relaxed) >= *limit
        {
            gate.pass();
        }
        let counter = match side {
            Side::Document => &self.documents,
            Side::Query => {
                self.batches.fetch_add(1, Ordering::Relaxed);
                self.largest_batch.fetch_max(texts.len(), Ordering::Relaxed);
                let gate = self.held_queries.lock().unwrap().clone();
                if let Some(gate) = gate {
                    gate.pass();
                }
                &self.queries
            }
        };
        assert!(!texts.contains(&"panic"), "the text that panics");
        counter.fetch_add(texts.len(), Ordering::Relaxed);
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(27)) {
            row.fill(0.0);
            row[26] = 1.0;
            for letter in text
                .to_ascii_lowercase()
                .bytes()
                .filter(u8::is_ascii_lowercase)
            {
                row[usize::from(letter - b'a')] += 1.0;
            }
        }
        Ok(())
    }
}

fn document(id: &str, text: &str) -> SocoDocument {
    let mut meta = ir_core::Attributes::new();
    meta.set("doc_id", id);
    SocoDocument {
        content: SocoContent::Document(vec![Chunk::new(ChunkKind::Content, text)]),
        meta,
    }
}

fn add(service: &Service, id: &str, text: &str) {
    service.add(vec![document(id, text)]).unwrap();
}

/// Texts of the suggestions, none of which is generated.
fn suggested(service: &Service, typed: &str) -> Vec<String> {
    let suggestions = service.complete(typed, 5).unwrap().into_iter();
    let texts = suggestions.map(|suggestion| {
        assert!(!suggestion.generated, "{suggestion:?}");
        suggestion.text
    });
    texts.collect()
}

/// Publishes, and waits until the vectors have followed.
fn publish(service: &Service) -> Job {
    let id = service.publish().unwrap().id;
    let job = wait(service, &id);
    wait_for_vectors(service);
    job
}

fn wait_for_vectors(service: &Service) {
    wait_until(|| service.waiting_for_vectors().unwrap() == 0);
}

/// Generator of no questions that waits for a gate at numbered sentences: so do publications.
struct GatedQuestions(Arc<Gate>);

impl ir_qa::questions::QuestionGenerator for GatedQuestions {
    fn generate(
        &self,
        frames: &[&Frame],
    ) -> Result<Vec<Vec<String>>, ir_qa::questions::QuestionError> {
        if frames.iter().any(|it| it.answer.starts_with("Sentence")) {
            self.0.pass();
        }
        Ok(vec![Vec::new(); frames.len()])
    }

    fn name(&self) -> String {
        "gated".to_owned()
    }
}

/// Configuration of a folder without an encoder, and the gate that its publications wait for.
fn gated(data: &TempDir) -> (Arc<Gate>, ServiceConfig) {
    let gate = Arc::<Gate>::default();
    let questions = ServiceQuestions {
        generator: Arc::new(GatedQuestions(Arc::clone(&gate))),
        file: None,
    };
    let config = ServiceConfig {
        questions: Some(questions),
        ..ServiceConfig::new(data.path())
    };
    (gate, config)
}

fn wait(service: &Service, id: &str) -> Job {
    let job = || service.job(id).unwrap().unwrap();
    wait_until(|| job().status.is_end());
    job()
}

/// Configuration of a folder with an encoder.
fn encoding(data: &TempDir, encoder: &Arc<CountingEncoder>) -> ServiceConfig {
    ServiceConfig::new(data.path()).with_encoder("letters", encoder.clone())
}

/// Encoder that holds batches of documents after a number of texts, and its gate.
fn holding(limit: usize) -> (Arc<Gate>, Arc<CountingEncoder>) {
    let gate = Arc::<Gate>::default();
    let encoder = CountingEncoder {
        held: Some((limit, Arc::clone(&gate))),
        ..CountingEncoder::default()
    };
    (gate, Arc::new(encoder))
}

/// Empty service without an encoder.
fn empty_service() -> (TempDir, Service) {
    let data = TempDir::new().unwrap();
    let service = opened(ServiceConfig::new(data.path()));
    (data, service)
}

/// Text of numbered sentences.
fn sentences(count: usize) -> String {
    let sentences = (0..count).map(|n| format!("Sentence {n} of a text. "));
    sentences.collect()
}

fn answers(service: &Service, text: &str) -> Vec<String> {
    let list = service.ask(&Question::new(text, 10)).unwrap();
    list.answers
        .into_iter()
        .map(|answer| answer.frame.answer)
        .collect()
}

fn annotation(document: &str, start: usize, span: &str, question: &str) -> NewAnnotation {
    NewAnnotation {
        document: document.to_owned(),
        chunk: 0,
        start,
        span: span.to_owned(),
        question: question.to_owned(),
    }
}

#[test]
fn only_new_texts_are_encoded() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder::default());
    let encoded = || encoder.documents.swap(0, Ordering::Relaxed);
    let service = opened(encoding(&data, &encoder));
    let (tea, cup) = (
        "Tea is a drink. It is hot.",
        "A cup is made of clay. It is hot.",
    );
    add(&service, "tea", tea);
    add(&service, "cup", cup);
    assert_eq!(publish(&service).status, JobStatus::Finished);
    // The sentence of both documents is encoded once.
    assert_eq!(encoded(), 3);
    add(&service, "tea", "Tea is a drink. It is cold.");
    publish(&service);
    assert_eq!(encoded(), 1);
    let before = answers(&service, "tea");
    drop(service);
    let service = opened(encoding(&data, &encoder));
    assert_eq!(answers(&service, "tea"), before);
    assert_eq!(encoded(), 0);
    // Another encoder has vectors of its own.
    drop(service);
    let service = opened(ServiceConfig::new(data.path()).with_encoder("other", encoder.clone()));
    wait_for_vectors(&service);
    assert_eq!(encoded(), 4);
}

#[test]
fn a_query_is_encoded_once() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder::default());
    let service = opened(encoding(&data, &encoder));
    let tea = "Tea is a drink. It is hot. A cup is made of clay.";
    add(&service, "tea", tea);
    publish(&service);
    encoder.queries.store(0, Ordering::Relaxed);
    let question = Question {
        explain: true,
        ..Question::new("a hot drink", 10)
    };
    let list = service.ask(&question).unwrap();
    assert_eq!(list.answers.len(), 3);
    assert!(list.answers[0].explanation.is_some());
    assert_eq!(encoder.queries.load(Ordering::Relaxed), 1);
    // The vector stays cached when another document is published.
    add(&service, "milk", "Milk is white.");
    publish(&service);
    assert_eq!(service.ask(&question).unwrap().answers.len(), 4);
    assert_eq!(encoder.queries.load(Ordering::Relaxed), 1);
}

/// Service with an encoder and documents of 120 sentences.
fn tea_service(encoder: Arc<CountingEncoder>) -> (TempDir, Service) {
    let data = TempDir::new().unwrap();
    let service = opened(encoding(&data, &encoder));
    let text: String = (0..120)
        .map(|n| format!("Sentence {n} of {} is about tea. ", "abcd".repeat(n % 7)))
        .collect();
    let documents = TEA_DOCUMENTS.map(|id| document(id, &text.replace("tea", id)));
    service.add(documents.to_vec()).unwrap();
    publish(&service);
    (data, service)
}

const TEA_DOCUMENTS: [&str; 3] = ["cup", "pot", "jug"];

/// Number of questions at the same time, of which some form a batch on any machine: there is at
/// most one runner of batches per thread.
fn questions_of_batches() -> usize {
    32 + 2 * thread::available_parallelism().map_or(2, NonZeroUsize::get)
}

/// Holds the batches of queries from now on, and returns their gate.
fn hold_queries(encoder: &CountingEncoder) -> Arc<Gate> {
    let gate = Arc::<Gate>::default();
    *encoder.held_queries.lock().unwrap() = Some(Arc::clone(&gate));
    encoder.largest_batch.store(0, Ordering::Relaxed);
    gate
}

/// Waits until two questions are in one batch, or wait for one.
fn wait_for_a_batch(service: &Service, encoder: &CountingEncoder) {
    let is_held = || encoder.largest_batch.load(Ordering::Relaxed) > 1;
    wait_until(|| is_held() || service.searches.waiting() > 1);
}

fn in_document(id: &str) -> Predicate {
    format!("doc_id={id}").parse().unwrap()
}

#[test]
fn concurrent_questions_have_the_answers_of_one_at_a_time() {
    let ask = |service: &Service, n: usize| {
        let mut question = Question::new(format!("sentence {} of dab {n}", n % 11), 1 + n % 40);
        match n % 3 {
            0 => question.explain = n.is_multiple_of(2),
            _ => question.filters = vec![in_document(TEA_DOCUMENTS[n % 2])],
        }
        let list = service.ask(&question).unwrap();
        let answers = list.answers.into_iter();
        let values = answers.map(|one| (one.frame.id, one.score, one.explanation));
        (values.collect::<Vec<_>>(), list.related)
    };
    // Another service: its cache has no effect on the cache of the concurrent questions.
    let (_data, one_at_a_time) = tea_service(Arc::default());
    let count = questions_of_batches();
    let expected: Vec<_> = (0..count).map(|n| ask(&one_at_a_time, n)).collect();
    for (answers, _) in &expected {
        assert!(!answers.is_empty());
    }
    let encoder = Arc::new(CountingEncoder::default());
    let (_data, service) = tea_service(Arc::clone(&encoder));
    encoder.batches.store(0, Ordering::Relaxed);
    let gate = hold_queries(&encoder);
    thread::scope(|scope| {
        let (ask, service) = (&ask, &service);
        let asked: Vec<_> = (0..count)
            .map(|n| scope.spawn(move || ask(service, n)))
            .collect();
        // The same documents are published while they are asked.
        scope.spawn(move || publish(service));
        wait_for_a_batch(service, &encoder);
        gate.open();
        for (asked, expected) in asked.into_iter().zip(&expected) {
            assert_eq!(&asked.join().unwrap(), expected);
        }
    });
    let batches = encoder.batches.load(Ordering::Relaxed);
    assert!((1..count).contains(&batches), "{batches}");
}

#[test]
fn a_question_that_panics_fails_no_other() {
    let encoder = Arc::new(CountingEncoder::default());
    let (_data, service) = tea_service(Arc::clone(&encoder));
    let gate = hold_queries(&encoder);
    thread::scope(|scope| {
        let service = &service;
        let asked = (0..questions_of_batches()).map(|n| {
            let text = match n {
                9 => "panic".to_owned(),
                _ => format!("dab {n}"),
            };
            scope.spawn(move || service.ask(&Question::new(text, 5)))
        });
        let asked: Vec<_> = asked.collect();
        wait_for_a_batch(service, &encoder);
        gate.open();
        for (n, asked) in asked.into_iter().enumerate() {
            match asked.join().unwrap() {
                Ok(list) => assert!(n != 9 && !list.answers.is_empty()),
                Err(error) => assert!(n == 9 && matches!(error, ServiceError::Panic), "{error}"),
            }
        }
    });
}

#[test]
fn an_abort_keeps_the_published_state() {
    let data = TempDir::new().unwrap();
    let (gate, config) = gated(&data);
    let service = opened(config);
    add(&service, "old", "Old tea is a drink.");
    publish(&service);
    add(&service, "new", &sentences(640));
    let id = service.publish().unwrap().id;
    gate.wait_for(1);
    assert_eq!(service.job(&id).unwrap().unwrap().total, 641);
    assert_eq!(service.abort().unwrap(), std::slice::from_ref(&id));
    gate.open();
    let job = wait(&service, &id);
    assert_eq!(job.status, JobStatus::Aborted);
    assert!(job.done < 640 && job.total == 641, "{job:?}");
    assert_eq!(answers(&service, "tea sentence"), ["Old tea is a drink."]);
    publish(&service);
    assert_eq!(service.published().unwrap().index().frames().len(), 641);
}

#[test]
fn ids_of_frames_of_several_documents_are_unique() {
    let (_data, service) = empty_service();
    let faq = SocoDocument {
        content: SocoContent::Faq(vec![ir_qa::soco::FaqEntry::new("An answer is here.")]),
        meta: [("doc_id", "a/1")].into_iter().collect(),
    };
    let mut paper = document("a", "First sentence.");
    if let SocoContent::Document(chunks) = &mut paper.content {
        chunks.push(Chunk::new(ChunkKind::Content, "Second sentence."));
    }
    service.add(vec![paper, faq]).unwrap();
    let job = publish(&service);
    assert_eq!((job.status, job.error), (JobStatus::Finished, None));
    let state = service.published().unwrap();
    let ids: Vec<&str> = state.index().frames().iter().map(|f| &*f.id).collect();
    assert_eq!(ids, ["a/0/0", "a/1/0", "a/1/0-2"]);
    assert_eq!(state.document("a/1").unwrap().answers[0].frame, "a/1/0-2");
}

#[test]
fn ids_have_a_limit() {
    let (_data, service) = empty_service();
    let add = |length| service.add(vec![document(&"é".repeat(length), "Tea is hot.")]);
    add(1_000).unwrap();
    let error = add(1_001).unwrap_err().to_string();
    assert!(error.contains("doc_id: expected at most 1000"), "{error}");
}

#[test]
fn jobs_end_on_a_full_disk() {
    let data = TempDir::new().unwrap();
    let (gate, config) = gated(&data);
    let service = opened(config);
    let trigger = "CREATE TRIGGER full BEFORE UPDATE ON jobs WHEN new.ended_at IS NOT NULL
                   BEGIN SELECT raise(ABORT, 'full'); END";
    service.store().execute(trigger);
    add(&service, "p", &sentences(1));
    let running = service.publish().unwrap().id;
    gate.wait_for(1);
    let waiting = service.publish().unwrap().id;
    // Nothing is aborted if not all are: the job that waits is not forgotten.
    service.abort().unwrap_err();
    gate.open();
    assert_eq!(wait(&service, &running).status, JobStatus::Finished);
    assert_eq!(wait(&service, &waiting).status, JobStatus::Finished);
    service.store().execute("DROP TRIGGER full");
    wait_until(|| service.store().unfinished_jobs().unwrap().is_empty());
}

#[test]
fn publications_run_again_after_the_process_ended() {
    let data = TempDir::new().unwrap();
    let (gate, config) = gated(&data);
    let service = opened(config.clone());
    add(&service, "p", &sentences(320));
    let ids: Vec<String> = (0..3).map(|_| service.publish().unwrap().id).collect();
    gate.wait_for(1);
    let dropped = thread::spawn(move || drop(service));
    // The stop comes while the generator waits.
    thread::sleep(Duration::from_millis(50));
    gate.open();
    dropped.join().unwrap();
    let service = opened(config);
    for id in &ids {
        assert_eq!(wait(&service, id).status, JobStatus::Finished);
    }
    assert_eq!(service.published().unwrap().index().frames().len(), 320);
}

#[test]
fn questions_beyond_a_limit_are_errors() {
    let (_data, service) = empty_service();
    let error = service
        .ask(&Question::new("a", 1_001))
        .unwrap_err()
        .to_string();
    assert_eq!(error, "results: expected at most 1000, found 1001");
    let long = "ü".repeat(10_001);
    let error = service
        .ask(&Question::new(long, 1))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "characters of a query: expected at most 10000, found 10001"
    );
    let question = Question {
        user: "u".repeat(201),
        ..Question::new("a", 1)
    };
    let error = service.ask(&question).unwrap_err().to_string();
    assert!(
        error.starts_with("characters of the id of a user: "),
        "{error}"
    );
    assert!(
        service
            .ask(&Question::new("", 10))
            .unwrap()
            .answers
            .is_empty()
    );
}

/// Asks one question for every sentence about tea.
struct TeaQuestions(AtomicUsize);

impl ir_qa::questions::QuestionGenerator for TeaQuestions {
    fn generate(
        &self,
        frames: &[&Frame],
    ) -> Result<Vec<Vec<String>>, ir_qa::questions::QuestionError> {
        self.0.fetch_add(frames.len(), Ordering::Relaxed);
        let question = |frame: &&Frame| {
            if frame.answer.contains("Tea") {
                vec!["Zzyzx zzyzx?".to_owned()]
            } else {
                Vec::new()
            }
        };
        Ok(frames.iter().map(question).collect())
    }

    fn name(&self) -> String {
        "tea".to_owned()
    }
}

#[test]
fn generated_questions_find_their_answers_and_are_always_marked() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder::default());
    let generator = Arc::new(TeaQuestions(AtomicUsize::new(0)));
    let config = |has_questions: bool| ServiceConfig {
        questions: has_questions.then(|| ServiceQuestions {
            generator: generator.clone(),
            file: Some(data.path().join("questions.jsonl")),
        }),
        ..encoding(&data, &encoder)
    };
    let text = "Zebras eat grass. Tea is a drink. A cup is made of clay.";
    let best = |service: &Service| answers(service, "zzyzx zzyzx").swap_remove(0);
    {
        let service = opened(config(false));
        add(&service, "tea", text);
        publish(&service);
        assert_ne!(best(&service), "Tea is a drink.");
    }
    {
        // A start generates nothing; a publication does, once.
        let service = opened(config(true));
        assert_eq!(generator.0.load(Ordering::Relaxed), 0);
        for _ in 0..2 {
            assert_eq!(publish(&service).status, JobStatus::Finished);
            assert_eq!(best(&service), "Tea is a drink.");
            assert_eq!(generator.0.load(Ordering::Relaxed), 3);
        }
    }
    let service = opened(config(true));
    assert_eq!(best(&service), "Tea is a drink.");
    assert_eq!(generator.0.load(Ordering::Relaxed), 3);
    let list = service.ask(&Question::new("zzyzx", 3)).unwrap();
    let related: Vec<_> = list.related.iter().map(|it| it.generated).collect();
    assert_eq!(related, [true]);
    let suggestions = service.complete("zzy", 5).unwrap();
    assert!(suggestions.len() == 1 && suggestions[0].generated);
    let frames = service.published().unwrap();
    let questions = frames
        .index()
        .frames()
        .iter()
        .flat_map(|frame| &frame.questions);
    assert!(questions.clone().count() == 1 && questions.into_iter().all(|q| !q.displayable));
}
