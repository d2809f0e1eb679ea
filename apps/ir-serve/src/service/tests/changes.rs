//! Publications while queries run, and while the clock goes back.

use super::*;

/// Documents are added, and then a tenth of them changed, while queries are answered: only new
/// sentences are encoded, no query fails, and each sees the state before or after a publication.
#[test]
fn changes_are_published_while_queries_run() {
    const DOCUMENTS: usize = 300;
    const SENTENCES: usize = 4;
    let data = TempDir::new().unwrap();
    let encoder = Arc::new(CountingEncoder::default());
    let service = opened(encoding(&data, &encoder));
    // Every sentence has the number of the version.
    let version = |number: usize, version: usize| {
        let sentence =
            |n: usize| format!("Sentence {n} of document {number} has version {version}. ");
        let text: String = (0..SENTENCES).map(sentence).collect();
        document(&format!("d{number}"), &text)
    };
    service
        .add((0..DOCUMENTS).map(|number| version(number, 0)).collect())
        .unwrap();
    publish(&service);
    let mut encoded = DOCUMENTS * SENTENCES;
    assert_eq!(encoder.documents.load(Ordering::Relaxed), encoded);
    assert_eq!(service.encoded_texts(), encoded as u64);

    let is_stopped = std::sync::atomic::AtomicBool::new(false);
    let during = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (service, is_stopped, during) = (&service, &is_stopped, &during);
        for thread in 0..4 {
            scope.spawn(move || {
                let mut last = 0;
                while !is_stopped.load(Ordering::Relaxed) {
                    let is_running = service.unfinished_jobs() > 0;
                    let question = Question {
                        filters: vec![in_document(&format!("d{thread}"))],
                        ..Question::new(format!("document {thread} version"), SENTENCES)
                    };
                    let answers = service.ask(&question).unwrap().answers;
                    let versions = answers.iter().map(|answer| {
                        let text = answer.frame.answer.trim_end_matches('.');
                        text.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
                    });
                    let versions: Vec<usize> = versions.collect();
                    assert_eq!(versions.len(), SENTENCES);
                    // One state, and never an older one than before.
                    assert!(versions.iter().all(|&it| it == versions[0] && it >= last));
                    last = versions[0];
                    during.fetch_add(usize::from(is_running), Ordering::Relaxed);
                }
            });
        }
        // Until enough queries were answered during publications.
        for round in 1.. {
            if round > 3 && during.load(Ordering::Relaxed) > 10 {
                break;
            }
            let changed = (0..DOCUMENTS / 10).map(|number| version(number, round));
            service.add(changed.collect()).unwrap();
            let job = publish(service);
            encoded += DOCUMENTS / 10 * SENTENCES;
            assert_eq!((job.status, job.error), (JobStatus::Finished, None));
            assert_eq!(encoder.documents.load(Ordering::Relaxed), encoded);
            assert_eq!(service.encoded_texts(), encoded as u64);
        }
        is_stopped.store(true, Ordering::Relaxed);
    });
}

/// The clock is set back by decades, and before 1970: everything goes on, in the same order.
#[test]
fn a_clock_that_goes_back_changes_nothing() {
    const YEAR: u64 = 365 * 24 * 60 * 60;
    let set_back = |years: u64| crate::store::CLOCK_SET_BACK.store(years * YEAR, Ordering::Relaxed);
    let (data, service) = empty_service();
    let text = |n: usize| format!("Tea number {n} is hot. It comes from Asia.");
    add(&service, "p", &text(0));
    let first = publish(&service);
    let note = service
        .store
        .annotate(&annotation("p", 13, "is hot.", "How?"), "me")
        .unwrap();
    let mut revision = note.revision;
    let mut jobs = vec![first.id];
    for (round, years) in [1, 30, 80, 10, 0].into_iter().enumerate() {
        set_back(years);
        add(&service, "p", &text(round + 1));
        let job = publish(&service);
        assert_eq!((job.status, job.error), (JobStatus::Finished, None));
        assert!(job.enqueued_at >= 0);
        jobs.push(job.id);
        // The answer of the last addition.
        let expected = format!("Tea number {} is hot.", round + 1);
        assert_eq!(answers(&service, "tea number")[0], expected);
        let edited = annotation("p", 0, "Tea", &format!("Question {round}?"));
        revision = service
            .store
            .edit_annotation(note.id, revision, &edited)
            .unwrap()
            .revision;
        // An older edit is rejected, whatever the clock says.
        let error = service
            .store
            .edit_annotation(note.id, revision - 1, &edited)
            .unwrap_err();
        assert!(matches!(error, crate::store::StoreError::Conflict { .. }));
    }
    set_back(40);
    drop(service);
    let service = opened(ServiceConfig::new(data.path()));
    assert_eq!(answers(&service, "tea number")[0], "Tea number 5 is hot.");
    let log = || service.store.queries(0, 100).unwrap();
    wait_until(|| log().len() == 6);
    let log = log();
    let numbers: Vec<i64> = log.iter().map(|query| query.id).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    let times: Vec<i64> = log.iter().map(|query| query.asked_at).collect();
    assert!(!times.is_sorted(), "{times:?}");
    let listed = service.store.jobs(9).unwrap();
    let listed: Vec<String> = listed.into_iter().rev().map(|job| job.id).collect();
    assert_eq!(listed, jobs);
    set_back(0);
}

/// A question that users ask is suggested before others; a text that is none of the suggestions is
/// not suggested to other users.
#[test]
fn asked_questions_are_suggested_first() {
    let (_data, service) = empty_service();
    let entry = |question: &str, answer: &str| {
        let mut entry = ir_qa::soco::FaqEntry::new(answer);
        entry
            .questions
            .push(ir_qa::FrameQuestion::new(question.to_owned()));
        entry
    };
    let faq = SocoDocument {
        content: SocoContent::Faq(vec![
            entry("Where is tea grown?", "Tea grows in Asia."),
            entry("Where is tea sold?", "Tea is sold in shops."),
            // More often in the papers, and never asked.
            entry("Where is tea grown?", "Tea grows in Africa."),
            entry("where is tea grown", "Tea grows in America."),
            entry("Where is tea grown?", "Tea grows in Europe."),
        ]),
        meta: [("doc_id", "tea")].into_iter().collect(),
    };
    service.add(vec![faq]).unwrap();
    publish(&service);
    let suggestions = || suggested(&service, "where is");
    assert_eq!(suggestions(), ["Where is tea grown?", "Where is tea sold?"]);
    for _ in 0..2 {
        answers(&service, "where is  tea SOLD");
        answers(&service, "where is my secret?");
    }
    wait_until(|| service.store.queries(0, 9).unwrap().len() == 4);
    publish(&service);
    assert_eq!(suggestions(), ["Where is tea sold?", "Where is tea grown?"]);
    // A damaged log changes the order only.
    service.store.execute("UPDATE queries SET query = x'ff'");
    publish(&service);
    assert_eq!(suggestions(), ["Where is tea grown?", "Where is tea sold?"]);
}
