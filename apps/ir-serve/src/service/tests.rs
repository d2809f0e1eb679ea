mod changes;
mod faq;
mod folder;
mod questions;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use ir_core::{EncodeError, Encoder, Side};
use ir_qa::documents::DocumentReader;
use ir_qa::{Chunk, ChunkKind};
use tempfile::TempDir;

use super::*;
use crate::store::{AnnotationStatus, JobStatus, NewAnnotation, Verdict};

/// Counts of letters. Counts the texts of each side, and waits before every batch.
#[derive(Default)]
struct CountingEncoder {
    documents: AtomicUsize,
    queries: AtomicUsize,
    /// Number of batches of queries.
    batches: AtomicUsize,
    delay: Duration,
}

impl Encoder for CountingEncoder {
    fn dim(&self) -> usize {
        27
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        thread::sleep(self.delay);
        assert!(!texts.contains(&"panic"), "the text that panics");
        let counter = match side {
            Side::Document => &self.documents,
            Side::Query => {
                self.batches.fetch_add(1, Ordering::Relaxed);
                &self.queries
            }
        };
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

/// Texts of the suggestions, none of which is generated.
fn suggested(service: &Service, typed: &str) -> Vec<String> {
    let suggestions = service.complete(typed, 5).unwrap().into_iter();
    let texts = suggestions.map(|suggestion| {
        assert!(!suggestion.generated, "{suggestion:?}");
        suggestion.text
    });
    texts.collect()
}

fn publish(service: &Service) -> Job {
    let id = service.publish().unwrap().id;
    wait(service, &id)
}

fn wait(service: &Service, id: &str) -> Job {
    loop {
        let job = service.job(id).unwrap().unwrap();
        if job.status.is_end() {
            return job;
        }
        thread::sleep(Duration::from_millis(1));
    }
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
    let config = || ServiceConfig::new(data.path()).with_encoder("letters", encoder.clone());
    let encoded = || encoder.documents.swap(0, Ordering::Relaxed);
    let service = Service::open(config()).unwrap();
    let (tea, cup) = (
        "Tea is a drink. It is hot.",
        "A cup is made of clay. It is hot.",
    );
    service
        .add(vec![document("tea", tea), document("cup", cup)])
        .unwrap();
    assert_eq!(publish(&service).status, JobStatus::Finished);
    // The sentence of both documents is encoded once.
    assert_eq!(encoded(), 3);
    service
        .add(vec![document("tea", "Tea is a drink. It is cold.")])
        .unwrap();
    publish(&service);
    assert_eq!(encoded(), 1);
    let before = answers(&service, "tea");
    drop(service);
    let service = Service::open(config()).unwrap();
    while service.published().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(answers(&service, "tea"), before);
    assert_eq!(encoded(), 0);
    // Another encoder has vectors of its own.
    drop(service);
    let config = ServiceConfig::new(data.path()).with_encoder("other", encoder.clone());
    let service = Service::open(config).unwrap();
    while service.published().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(encoded(), 4);
}

#[test]
fn a_query_is_encoded_once() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder::default());
    let config = ServiceConfig::new(data.path()).with_encoder("letters", encoder.clone());
    let service = Service::open(config).unwrap();
    let tea = "Tea is a drink. It is hot. A cup is made of clay.";
    service.add(vec![document("tea", tea)]).unwrap();
    publish(&service);
    encoder.queries.store(0, Ordering::Relaxed);
    let question = Question::new("a hot drink", 10).with_explain(true);
    let list = service.ask(&question).unwrap();
    assert_eq!(list.answers.len(), 3);
    assert!(list.answers[0].explanation.is_some());
    assert_eq!(encoder.queries.load(Ordering::Relaxed), 1);
    // The vector stays cached when another document is published.
    service
        .add(vec![document("milk", "Milk is white.")])
        .unwrap();
    publish(&service);
    assert_eq!(service.ask(&question).unwrap().answers.len(), 4);
    assert_eq!(encoder.queries.load(Ordering::Relaxed), 1);
}

/// Service with an encoder and documents of 120 sentences.
fn tea_service(encoder: Arc<CountingEncoder>) -> (TempDir, Service) {
    let data = TempDir::new().unwrap();
    let config = ServiceConfig::new(data.path()).with_encoder("letters", encoder);
    let service = Service::open(config).unwrap();
    let text: String = (0..120)
        .map(|n| format!("Sentence {n} of {} is about tea. ", "abcd".repeat(n % 7)))
        .collect();
    let documents = TEA_DOCUMENTS.map(|id| document(id, &text.replace("tea", id)));
    service.add(documents.to_vec()).unwrap();
    publish(&service);
    (data, service)
}

const TEA_DOCUMENTS: [&str; 3] = ["cup", "pot", "jug"];

#[test]
fn concurrent_questions_have_the_answers_of_one_at_a_time() {
    let ask = |service: &Service, n: usize| {
        let question = Question::new(format!("sentence {} of dab {n}", n % 11), 1 + n % 40);
        let question = match n % 3 {
            0 => question.with_explain(n.is_multiple_of(2)),
            _ => question.in_document(TEA_DOCUMENTS[n % 2]),
        };
        let list = service.ask(&question).unwrap();
        let answers = list.answers.into_iter();
        let values = answers.map(|one| (one.frame.id, one.score, one.explanation));
        (values.collect::<Vec<_>>(), list.related)
    };
    // Another service: its cache has no effect on the cache of the concurrent questions.
    let (_data, one_at_a_time) = tea_service(Arc::default());
    let expected: Vec<_> = (0..96).map(|n| ask(&one_at_a_time, n)).collect();
    for (answers, _) in &expected {
        assert!(!answers.is_empty());
    }
    let encoder = Arc::new(CountingEncoder {
        delay: Duration::from_millis(10),
        ..CountingEncoder::default()
    });
    let (_data, service) = tea_service(Arc::clone(&encoder));
    encoder.batches.store(0, Ordering::Relaxed);
    thread::scope(|scope| {
        let (ask, service) = (&ask, &service);
        let asked: Vec<_> = (0..96)
            .map(|n| scope.spawn(move || ask(service, n)))
            .collect();
        // The same documents are published while they are asked.
        scope.spawn(move || publish(service));
        for (asked, expected) in asked.into_iter().zip(&expected) {
            assert_eq!(&asked.join().unwrap(), expected);
        }
    });
    let batches = encoder.batches.load(Ordering::Relaxed);
    assert!((1..96).contains(&batches), "{batches}");
}

#[test]
fn a_question_that_panics_fails_no_other() {
    let encoder = Arc::new(CountingEncoder {
        delay: Duration::from_millis(10),
        ..CountingEncoder::default()
    });
    let (_data, service) = tea_service(encoder);
    thread::scope(|scope| {
        let service = &service;
        let asked = (0..32).map(|n| {
            let text = match n {
                9 => "panic".to_owned(),
                _ => format!("dab {n}"),
            };
            scope.spawn(move || service.ask(&Question::new(text, 5)))
        });
        let asked: Vec<_> = asked.collect();
        for (n, asked) in asked.into_iter().enumerate() {
            match asked.join().unwrap() {
                Ok(list) => assert!(n != 9 && !list.answers.is_empty()),
                Err(error) => assert!(n == 9 && matches!(error, ServiceError::Panic), "{error}"),
            }
        }
    });
}

#[test]
fn an_abort_keeps_the_published_state_and_the_vectors() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder {
        delay: Duration::from_millis(20),
        ..CountingEncoder::default()
    });
    let config = ServiceConfig::new(data.path()).with_encoder("letters", encoder.clone());
    let service = Service::open(config).unwrap();
    service
        .add(vec![document("old", "Old tea is a drink.")])
        .unwrap();
    publish(&service);
    encoder.documents.store(0, Ordering::Relaxed);
    let text: String = (0..640)
        .map(|n| format!("Sentence {n} of a text. "))
        .collect();
    service.add(vec![document("new", &text)]).unwrap();
    let id = service.publish().unwrap().id;
    while service.job(&id).unwrap().unwrap().done == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    while encoder.documents.load(Ordering::Relaxed) < 128 {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(service.abort().unwrap(), std::slice::from_ref(&id));
    let job = wait(&service, &id);
    assert_eq!(job.status, JobStatus::Aborted);
    assert!(job.total >= 640, "{job:?}");
    assert_eq!(answers(&service, "sentence"), ["Old tea is a drink."]);
    let first = encoder.documents.load(Ordering::Relaxed);
    assert!((128..640).contains(&first), "{first}");
    publish(&service);
    assert_eq!(encoder.documents.load(Ordering::Relaxed), 640);
    assert_eq!(service.published().unwrap().index().frames().len(), 641);
}

#[test]
fn ids_of_frames_of_several_documents_are_unique() {
    let data = TempDir::new().unwrap();
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
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
    let data = TempDir::new().unwrap();
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    let add = |length| service.add(vec![document(&"é".repeat(length), "Tea is hot.")]);
    add(1_000).unwrap();
    let error = add(1_001).unwrap_err().to_string();
    assert!(error.contains("doc_id: expected at most 1000"), "{error}");
}

#[test]
fn a_panic_fails_its_publication_only() {
    struct Panics(AtomicUsize);
    impl Encoder for Panics {
        fn dim(&self) -> usize {
            1
        }
        fn encode_into(&self, _: Side, _: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
            assert!(self.0.fetch_add(1, Ordering::Relaxed) > 0, "first batch");
            out.fill(1.0);
            Ok(())
        }
    }
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(Panics(AtomicUsize::new(0)));
    let config = ServiceConfig::new(data.path()).with_encoder("panics", encoder);
    let service = Service::open(config).unwrap();
    service.add(vec![document("p", "Tea is hot.")]).unwrap();
    let job = publish(&service);
    assert_eq!(job.status, JobStatus::Failed);
    assert!(job.error.unwrap().contains("internal error"));
    assert_eq!(publish(&service).status, JobStatus::Finished);
}

#[test]
fn jobs_end_on_a_full_disk() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder {
        delay: Duration::from_millis(200),
        ..CountingEncoder::default()
    });
    let config = ServiceConfig::new(data.path()).with_encoder("letters", encoder);
    let service = Service::open(config).unwrap();
    let trigger = "CREATE TRIGGER full BEFORE UPDATE ON jobs WHEN new.ended_at IS NOT NULL
                   BEGIN SELECT raise(ABORT, 'full'); END";
    service.store().execute(trigger);
    service.add(vec![document("p", "Tea is hot.")]).unwrap();
    let running = service.publish().unwrap().id;
    while service.job(&running).unwrap().unwrap().status == JobStatus::Queued {
        thread::sleep(Duration::from_millis(1));
    }
    let waiting = service.publish().unwrap().id;
    // Nothing is aborted if not all are: the job that waits is not forgotten.
    service.abort().unwrap_err();
    assert_eq!(wait(&service, &running).status, JobStatus::Finished);
    assert_eq!(wait(&service, &waiting).status, JobStatus::Finished);
    service.store().execute("DROP TRIGGER full");
    let is_stored = || service.store().unfinished_jobs().unwrap().is_empty();
    while !is_stored() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn publications_run_again_after_the_process_ended() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder {
        delay: Duration::from_millis(30),
        ..CountingEncoder::default()
    });
    let config = || ServiceConfig::new(data.path()).with_encoder("letters", encoder.clone());
    let service = Service::open(config()).unwrap();
    let text: String = (0..320)
        .map(|n| format!("Sentence {n} of a text. "))
        .collect();
    service.add(vec![document("p", &text)]).unwrap();
    let ids: Vec<String> = (0..3).map(|_| service.publish().unwrap().id).collect();
    drop(service);
    let service = Service::open(config()).unwrap();
    for id in &ids {
        assert_eq!(wait(&service, id).status, JobStatus::Finished);
    }
    assert_eq!(service.published().unwrap().index().frames().len(), 320);
}

#[test]
fn accepted_questions_are_found_after_a_publication() {
    let data = TempDir::new().unwrap();
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    let text = "Ünlü tea is hot. It comes from Asia.";
    service.add(vec![document("p", text)]).unwrap();
    publish(&service);
    let store = service.store();
    let new = annotation("p", 17, "It comes from Asia.", "Where is its origin?");
    let asia = store.annotate(&new, "me").unwrap();
    store
        .annotate(&annotation("p", 0, "Ünlü", "Rejected?"), "me")
        .unwrap();
    let suggestions = || suggested(&service, "where is");
    publish(&service);
    assert!(suggestions().is_empty());
    store
        .review(asia.id, asia.revision, "you", Verdict::Accept)
        .unwrap();
    assert!(suggestions().is_empty());
    publish(&service);
    assert_eq!(suggestions(), ["Where is its origin?"]);
    let state = service.published().unwrap();
    let frames = state.index().frames();
    let questions: Vec<(&str, usize)> = frames
        .iter()
        .map(|frame| (&*frame.answer, frame.questions.len()))
        .collect();
    assert_eq!(
        questions,
        [("Ünlü tea is hot.", 0), ("It comes from Asia.", 1)]
    );
    drop(state);
    drop(service);
    // The state of the last publication is loaded, whatever has changed since.
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    while service.published().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
    service.store().delete_annotation(asia.id, 2).unwrap();
    assert_eq!(suggested(&service, "where is"), ["Where is its origin?"]);
    publish(&service);
    assert!(suggested(&service, "where is").is_empty());
}

#[test]
fn spans_follow_their_text_or_are_displaced() {
    let data = TempDir::new().unwrap();
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    service
        .add(vec![document("p", "Tea is hot. It comes from Asia.")])
        .unwrap();
    let store = service.store();
    let asia = annotation("p", 12, "It comes from Asia.", "Where?");
    let asia = store.annotate(&asia, "me").unwrap().id;
    let hot = store
        .annotate(&annotation("p", 0, "Tea is hot.", "How?"), "me")
        .unwrap()
        .id;
    let state = |id| {
        let annotation = store.annotation(id).unwrap();
        (annotation.start, annotation.is_displaced, annotation.status)
    };
    publish(&service);
    assert_eq!(state(asia), (12, false, AnnotationStatus::Pending));
    service
        .add(vec![document(
            "p",
            "Ünlü. Tea is cold. It comes from Asia.",
        )])
        .unwrap();
    publish(&service);
    assert_eq!(state(asia), (19, false, AnnotationStatus::Pending));
    assert_eq!(state(hot), (0, true, AnnotationStatus::Pending));
    service
        .add(vec![document("p", "Tea is hot. Tea is hot.")])
        .unwrap();
    publish(&service);
    assert_eq!(state(asia), (19, true, AnnotationStatus::Pending));
    assert_eq!(state(hot), (0, false, AnnotationStatus::Pending));
    // Merged and rejected ones may become pending again.
    store.review(asia, 1, "x", Verdict::Merge(hot)).unwrap();
    service
        .add(vec![document("p", "It comes from Asia.")])
        .unwrap();
    publish(&service);
    assert_eq!(state(asia), (0, false, AnnotationStatus::Merged));
    store.review(hot, 1, "x", Verdict::Reject).unwrap();
    service.delete(None).unwrap();
    publish(&service);
    assert_eq!(state(asia), (0, true, AnnotationStatus::Pending));
    assert_eq!(state(hot), (0, true, AnnotationStatus::Rejected));
}

#[test]
fn questions_beyond_a_limit_are_errors() {
    let data = TempDir::new().unwrap();
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    while service.published().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
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
    let question = Question::new("a", 1).with_user("u".repeat(201));
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

#[test]
fn vectors_of_texts_that_are_gone_are_deleted() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder::default());
    let config = ServiceConfig::new(data.path()).with_encoder("letters", encoder.clone());
    let service = Service::open(config).unwrap();
    let encoded = || encoder.documents.swap(0, Ordering::Relaxed);
    let has_vector = |text: &str| {
        let hash = sha256(text.as_bytes());
        let vector = service.store.vector("letters", Side::Document, &hash);
        vector.unwrap().is_some()
    };
    service
        .add(vec![document("tea", "Tea is a drink. It is hot.")])
        .unwrap();
    publish(&service);
    assert_eq!(encoded(), 2);
    service
        .add(vec![document("tea", "Tea is a drink. It is cold.")])
        .unwrap();
    // Vectors of visible texts are kept until the publication.
    assert!(has_vector("It is hot."));
    publish(&service);
    assert_eq!(encoded(), 1);
    assert!(has_vector("Tea is a drink.") && has_vector("It is cold."));
    assert!(!has_vector("It is hot."));
}

/// Asks one question for every sentence about tea.
struct TeaQuestions(AtomicUsize);

impl ir_qa::questions::QuestionGenerator for TeaQuestions {
    fn generate(
        &self,
        frames: &[&Frame],
    ) -> Result<Vec<Vec<String>>, ir_qa::questions::QuestionError> {
        self.0.fetch_add(frames.len(), Ordering::Relaxed);
        let question = |frame: &&Frame| match frame.answer.contains("Tea") {
            true => vec!["Zzyzx zzyzx?".to_owned()],
            false => Vec::new(),
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
    let config = |questions: bool| {
        let config = ServiceConfig::new(data.path()).with_encoder("letters", encoder.clone());
        match questions {
            false => config,
            true => config.with_questions(crate::config::ServiceQuestions {
                generator: generator.clone(),
                file: Some(data.path().join("questions.jsonl")),
            }),
        }
    };
    let text = "Zebras eat grass. Tea is a drink. A cup is made of clay.";
    let best = |service: &Service| answers(service, "zzyzx zzyzx").swap_remove(0);
    {
        let service = Service::open(config(false)).unwrap();
        service.add(vec![document("tea", text)]).unwrap();
        publish(&service);
        assert_ne!(best(&service), "Tea is a drink.");
    }
    {
        // A start generates nothing; a publication does, once.
        let service = Service::open(config(true)).unwrap();
        while service.published().is_err() {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(generator.0.load(Ordering::Relaxed), 0);
        for _ in 0..2 {
            assert_eq!(publish(&service).status, JobStatus::Finished);
            assert_eq!(best(&service), "Tea is a drink.");
            assert_eq!(generator.0.load(Ordering::Relaxed), 3);
        }
    }
    let service = Service::open(config(true)).unwrap();
    while service.published().is_err() {
        thread::sleep(Duration::from_millis(1));
    }
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

#[test]
fn unchanged_files_are_not_read_again() {
    let (data, papers) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let write = |name: &str, text: &str| std::fs::write(papers.path().join(name), text).unwrap();
    write("tea.txt", "Tea is a drink.");
    write("cup.txt", "A cup is made of clay.");
    write("broken.xml", "<article>");
    let service = Service::open(ServiceConfig::new(data.path())).unwrap();
    let reader = DocumentReader::default();
    let read = |reader: &DocumentReader| {
        let read = service.read_folder(papers.path(), reader, &mut ir_core::NoProgress);
        let read = read.unwrap();
        (
            read.report.read(),
            read.report.unchanged(),
            read.report.failed(),
            read.has_changes,
        )
    };
    assert_eq!(read(&reader), (2, 0, 1, true));
    publish(&service);
    assert_eq!(read(&reader), (0, 2, 1, false));
    write("tea.txt", "Tea is a hot drink.");
    assert_eq!(read(&reader), (1, 1, 1, true));
    // Documents that were deleted or replaced are not read again.
    service.delete(Some(&["cup.txt".to_owned()])).unwrap();
    assert_eq!(read(&reader), (0, 2, 1, true));
    service
        .add(vec![document("cup.txt", "Another cup.")])
        .unwrap();
    assert_eq!(read(&reader), (0, 2, 1, true));
    // A reader with other parameters reads all files again.
    assert_eq!(read(&reader.clone().with_max_bytes(1_000)), (2, 0, 1, true));
    std::fs::remove_file(papers.path().join("cup.txt")).unwrap();
    assert_eq!(read(&reader), (1, 0, 1, true));
    // The document that was added over REST is kept.
    let documents = service
        .store
        .documents(crate::store::DocumentState::Added, 0, 9)
        .unwrap();
    assert_eq!(documents.len(), 2);
}
