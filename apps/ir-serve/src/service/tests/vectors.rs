//! Vectors that follow a publication.

use std::fs;

use super::*;

const QUESTIONS: [&str; 3] = ["hot tea", "a cup of clay", "sentence 7"];

fn add_papers(service: &Service) {
    add(service, "tea", "Tea is a drink. It is hot.");
    add(service, "cup", "A cup is made of clay. It is hot.");
    add(service, "numbers", &sentences(100));
}

/// Ids, bits of the scores and explanations of all answers to some questions, with related
/// questions and warnings.
fn results(service: &Service) -> Vec<String> {
    let results = QUESTIONS.iter().map(|text| {
        let question = Question {
            explain: true,
            ..Question::new(*text, 200)
        };
        let list = service.ask(&question).unwrap();
        let answers = list.answers.iter();
        let answers = answers.map(|it| (&it.frame.id, it.score.to_bits(), &it.explanation));
        let answers: Vec<_> = answers.collect();
        format!("{answers:?} {:?} {:?}", list.related, list.warnings)
    });
    results.collect()
}

/// Results of a service of its own that published the documents at once.
fn results_from_scratch(add: impl Fn(&Service)) -> Vec<String> {
    let data = TempDir::new().unwrap();
    let service = opened(encoding(&data, &Arc::default()));
    add(&service);
    publish(&service);
    results(&service)
}

/// Copies the store as a process that is killed leaves it.
fn killed(data: &TempDir) -> TempDir {
    let copy = TempDir::new().unwrap();
    for name in ["store.sqlite", "store.sqlite-wal"] {
        fs::copy(data.path().join(name), copy.path().join(name)).unwrap();
    }
    copy
}

#[test]
fn bm25_is_published_at_once_and_vectors_follow() {
    let data = TempDir::new().unwrap();
    let (gate, encoder) = holding(64);
    let service = opened(encoding(&data, &encoder));
    add_papers(&service);
    let id = service.publish().unwrap().id;
    assert_eq!(wait(&service, &id).status, JobStatus::Finished);
    gate.wait_for(1);
    // 103 texts: "It is hot." is in two documents.
    assert_eq!(service.encoding().progress, Some((64, 103)));
    assert_eq!(service.waiting_for_vectors().unwrap(), 104);
    let list = service.ask(&Question::new("hot tea", 9)).unwrap();
    let warning = "104 of 104 answers wait for their vectors and are ranked by BM25 alone";
    assert_eq!(list.warnings, [warning]);
    // The order is the one of BM25; scores are multiplied by alpha.
    let (_data, lexical) = empty_service();
    add_papers(&lexical);
    publish(&lexical);
    let scores = |service: &Service, question: &str| -> Vec<(String, f32)> {
        let list = service.ask(&Question::new(question, 200)).unwrap();
        let answers = list.answers.into_iter();
        answers.map(|it| (it.frame.id, it.score)).collect()
    };
    for question in QUESTIONS {
        let bm25 = scores(&lexical, question);
        let scaled = bm25.into_iter().map(|(id, score)| {
            let score = f64::from(0.05_f32) * f64::from(score);
            (id, score as f32)
        });
        assert_eq!(scores(&service, question), scaled.collect::<Vec<_>>());
    }
    // What is left by a kill now is resumed at the start.
    let copy = killed(&data);
    gate.open();
    wait_for_vectors(&service);
    let expected = results_from_scratch(add_papers);
    assert_eq!(results(&service), expected);
    drop(service);
    let encoder = Arc::new(CountingEncoder::default());
    let service = opened(encoding(&copy, &encoder));
    wait_for_vectors(&service);
    assert_eq!(encoder.documents.load(Ordering::Relaxed), 103 - 64);
    assert_eq!(results(&service), expected);
    assert_eq!(service.store().unfinished_jobs().unwrap().len(), 0);
}

#[test]
fn a_publication_interrupts_the_encoding() {
    let data = TempDir::new().unwrap();
    let (gate, encoder) = holding(0);
    let service = opened(encoding(&data, &encoder));
    add_papers(&service);
    publish_without_vectors(&service);
    gate.wait_for(1);
    add(&service, "milk", "Milk is white.");
    let id = service.publish().unwrap().id;
    gate.open();
    assert_eq!(wait(&service, &id).status, JobStatus::Finished);
    wait_for_vectors(&service);
    let expected = results_from_scratch(|service| {
        add_papers(service);
        add(service, "milk", "Milk is white.");
    });
    assert_eq!(results(&service), expected);
    // Every text once: what was encoded before the interruption is stored.
    assert_eq!(encoder.documents.load(Ordering::Relaxed), 104);
}

fn publish_without_vectors(service: &Service) {
    let id = service.publish().unwrap().id;
    assert_eq!(wait(service, &id).status, JobStatus::Finished);
}

#[test]
fn an_abort_stops_the_encoding_until_the_next_publication() {
    let data = TempDir::new().unwrap();
    let (gate, encoder) = holding(64);
    let service = opened(encoding(&data, &encoder));
    add_papers(&service);
    publish_without_vectors(&service);
    gate.wait_for(1);
    assert!(service.abort().unwrap().is_empty());
    gate.open();
    wait_until(|| service.encoding().progress.is_none());
    assert_eq!(service.waiting_for_vectors().unwrap(), 104);
    // The batch that ran is stored: 64 texts and 39 more.
    publish(&service);
    assert_eq!(encoder.documents.load(Ordering::Relaxed), 103);
    assert_eq!(results(&service), results_from_scratch(add_papers));
}

#[test]
fn unusable_vectors_are_not_stored() {
    /// Vectors with one value, of answers with a word.
    struct Unusable(&'static str, f32);
    impl Encoder for Unusable {
        fn dim(&self) -> usize {
            2
        }
        fn encode_into(
            &self,
            side: Side,
            texts: &[&str],
            out: &mut [f32],
        ) -> Result<(), EncodeError> {
            for (text, row) in texts.iter().zip(out.chunks_exact_mut(2)) {
                let is_unusable = side == Side::Document && text.contains(self.0);
                row.fill(if is_unusable { self.1 } else { 1.0 });
            }
            Ok(())
        }
    }
    for value in [f32::NAN, f32::INFINITY, 0.0] {
        let data = TempDir::new().unwrap();
        let config = |encoder| ServiceConfig::new(data.path()).with_encoder("name", encoder);
        let service = opened(config(Arc::new(Unusable("clay", value))));
        add(&service, "tea", "Tea is a drink. A cup is made of clay.");
        publish_without_vectors(&service);
        wait_until(|| service.encoding().error.is_some());
        let error = service.encoding().error.unwrap();
        let expected = "vector of \"A cup is made of clay.\": expected finite values";
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(answers(&service, "clay")[0], "A cup is made of clay.");
        drop(service);
        let service = opened(config(Arc::new(Unusable("none", value))));
        wait_for_vectors(&service);
    }
}

#[test]
fn an_encoding_that_ends_the_process_is_given_up() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder::default());
    let lexical = opened(ServiceConfig::new(data.path()));
    add(&lexical, "tea", "Tea is a drink.");
    publish(&lexical);
    for attempt in 0..6 {
        let is_started = lexical.store().start_encoding().unwrap();
        assert_eq!(is_started, attempt < 5);
    }
    drop(lexical);
    let service = opened(encoding(&data, &encoder));
    wait_until(|| service.encoding().error.is_some());
    let error = service.encoding().error.unwrap();
    assert!(error.starts_with("the process ended 5 times"), "{error}");
    assert_eq!(answers(&service, "tea"), ["Tea is a drink."]);
    assert_eq!(encoder.documents.load(Ordering::Relaxed), 0);
    // A publication tries again.
    publish(&service);
    assert_eq!(encoder.documents.load(Ordering::Relaxed), 1);
    assert_eq!(service.encoding().error, None);
}

#[test]
fn a_panic_of_an_encoder_is_no_end_of_the_service() {
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
    let service = opened(ServiceConfig::new(data.path()).with_encoder("panics", encoder));
    add(&service, "p", "Tea is hot.");
    let id = service.publish().unwrap().id;
    assert_eq!(wait(&service, &id).status, JobStatus::Finished);
    wait_until(|| service.encoding().error.is_some());
    let error = service.encoding().error.unwrap();
    assert!(error.contains("internal error"), "{error}");
    // BM25 finds the answer, and the next publication tries again.
    assert_eq!(service.waiting_for_vectors().unwrap(), 1);
    assert_eq!(answers(&service, "tea"), ["Tea is hot."]);
    assert_eq!(publish(&service).status, JobStatus::Finished);
    assert_eq!(service.encoding().error, None);
}

#[test]
fn vectors_of_texts_that_are_gone_are_deleted() {
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder::default());
    let service = opened(encoding(&data, &encoder));
    let encoded = || encoder.documents.swap(0, Ordering::Relaxed);
    let has_vector = |text: &str| {
        let hash = sha256(text.as_bytes());
        let vector = service.store.vector("letters", Side::Document, &hash);
        vector.unwrap().is_some()
    };
    add(&service, "tea", "Tea is a drink. It is hot.");
    publish(&service);
    assert_eq!(encoded(), 2);
    add(&service, "tea", "Tea is a drink. It is cold.");
    // Vectors of visible texts are kept until the publication.
    assert!(has_vector("It is hot."));
    publish(&service);
    assert_eq!(encoded(), 1);
    assert!(has_vector("Tea is a drink.") && has_vector("It is cold."));
    assert!(!has_vector("It is hot."));
}
