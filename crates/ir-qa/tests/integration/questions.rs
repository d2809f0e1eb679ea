//! Question generation: worked sentences, sentences without questions, properties, SQuAD.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common;
use ir_bm25::{Bm25, Index, IndexConfig};
use ir_core::{Document, Flow, Hit, NoProgress, Qrels, Query, Retriever, Search};
use ir_qa::questions::{
    QuestionError, QuestionFile, QuestionGenerator, RuleQuestions, add_questions,
};
use ir_qa::retrieval::{Answer, AnswerConfig, AnswerIndex};
use ir_qa::{ChunkKind, Frame, FrameQuestion};
use proptest::prelude::*;

fn frame(kind: ChunkKind, text: &str) -> Frame {
    Frame::new("f", "p", kind, text, 0, text).unwrap()
}

fn questions(sentence: &str) -> Vec<String> {
    RuleQuestions::default().questions(sentence, "")
}

/// Sentences with all of their questions.
const WORKED: &[(&str, &[&str])] = &[
    ("A teapot is a pot for tea.", &["What is a teapot?"]),
    (
        "A prime number is an integer with two divisors.",
        &["What is a prime number?"],
    ),
    (
        "Paris is the capital of France.",
        &["What is the capital of France?"],
    ),
    (
        "Beyoncé was the lead singer of the group.",
        &["Who was the lead singer of the group?"],
    ),
    ("Marie Curie was a physicist.", &["Who was Marie Curie?"]),
    ("Tesla is a city in Missouri.", &["What is Tesla?"]),
    ("The Nile is a river in Africa.", &["What is the Nile?"]),
    (
        "AppleTalk was a suite of protocols.",
        &["What was AppleTalk?"],
    ),
    (
        "The bridge was built in 1890.",
        &["When was the bridge built?", "What was built in 1890?"],
    ),
    (
        "In 1890, the bridge was destroyed by a flood.",
        &[
            "When was the bridge destroyed by a flood?",
            "What was the bridge destroyed by?",
            "What was destroyed by a flood?",
        ],
    ),
    (
        "On 5 May 1890, the city council approved the plan.",
        &[
            "When did the city council approve the plan?",
            "What did the city council approve?",
        ],
    ),
    (
        "The team won the cup in 1994.",
        &["When did the team win the cup?", "What did the team win?"],
    ),
    (
        "The treaty was signed on May 5, 1890 in Paris.",
        &[
            "When was the treaty signed in Paris?",
            "What was signed on May 5, 1890 in Paris?",
        ],
    ),
    ("The king died in 1402.", &["When did the king die?"]),
    (
        "The novel was written by Jane Austen.",
        &["Who wrote the novel?", "What was written by Jane Austen?"],
    ),
    (
        "The law was approved by the senate in March 1850.",
        &[
            "When was the law approved by the senate?",
            "Who approved the law?",
            "What was approved by the senate in March 1850?",
        ],
    ),
    (
        "Malaria is caused by parasites.",
        &["What is Malaria caused by?"],
    ),
    (
        "Mount Everest is located in Nepal.",
        &["Where is Mount Everest located?"],
    ),
    (
        "The festival was held in Berlin.",
        &["Where was the festival held?", "What was held in Berlin?"],
    ),
    (
        "The cup has twelve winners.",
        &["How many winners does the cup have?"],
    ),
    (
        "Twelve teams won the cup.",
        &["How many teams won the cup?", "What did twelve teams win?"],
    ),
    (
        "There are nine planets in the solar system.",
        &["How many planets are there in the solar system?"],
    ),
    (
        "There were 158,349 households.",
        &["How many households were there?"],
    ),
    (
        "The corpus contains 12,000 sentences from newspapers.",
        &[
            "What does the corpus contain?",
            "What contains 12,000 sentences from newspapers?",
        ],
    ),
    (
        "This paper presents a survey of parsing methods.",
        &["What does this paper present?"],
    ),
    (
        "More than 3,000 people attended the concert.",
        &[
            "How many people attended the concert?",
            "What did more than 3,000 people attend?",
        ],
    ),
    (
        "The committee consists of five members.",
        &[
            "How many members does the committee consist of?",
            "What does the committee consist of?",
        ],
    ),
    (
        "The model uses attention for parsing.",
        &[
            "What does the model use for parsing?",
            "What uses attention for parsing?",
        ],
    ),
    (
        "The parser reduces the error rate by ten percent.",
        &[
            "What does the parser reduce?",
            "What reduces the error rate by ten percent?",
        ],
    ),
    (
        "Neural networks require a large amount of data.",
        &["What do neural networks require?"],
    ),
    (
        "Our method outperforms the best published systems.",
        &["What does the authors' method outperform?"],
    ),
    (
        "We propose a method for parsing.",
        &["What method do the authors propose for parsing?"],
    ),
    (
        "In this paper, we introduce a sparse retriever that reads queries.",
        &["What sparse retriever do the authors introduce?"],
    ),
    (
        "We also use dropout to prevent overfitting.",
        &[
            "How do the authors prevent overfitting?",
            "What do the authors use to prevent overfitting?",
        ],
    ),
    (
        "We show that the bound is tight.",
        &["What do the authors show?"],
    ),
    (
        "We evaluated our parser on three treebanks.",
        &["What did the authors evaluate?"],
    ),
    (
        "The company is known as Acme.",
        &["What is the company known as?"],
    ),
    (
        "The mayor of Warsaw is called President.",
        &["What is the mayor of Warsaw called?"],
    ),
    (
        "The roots are used for dye.",
        &["What are the roots used for?"],
    ),
    (
        "Orthogonal components are independent because the forces act at ninety degrees.",
        &["Why are orthogonal components independent?"],
    ),
    (
        "The plant absorbs the light because it needs energy.",
        &[
            "Why does the plant absorb the light?",
            "What does the plant absorb?",
        ],
    ),
    (
        "The bridge can carry a train of forty tons.",
        &[
            "What can the bridge carry?",
            "What can carry a train of forty tons?",
        ],
    ),
    (
        "Photosynthesis depends on light.",
        &["What does photosynthesis depend on?"],
    ),
    (
        "The collections are stored by the museum in London.",
        &[
            "What are the collections stored by?",
            "Which collections are stored by the museum in London?",
        ],
    ),
    (
        "The king was crowned in Rome by the pope.",
        &["Who was crowned in Rome by the pope?"],
    ),
    (
        "The proposed model achieves higher accuracy on both test sets.",
        &[
            "What does the proposed model achieve?",
            "What achieves higher accuracy on both test sets?",
        ],
    ),
    (
        "The first steam engine was invented by Thomas Newcomen.",
        &[
            "Who invented the first steam engine?",
            "What was invented by Thomas Newcomen?",
        ],
    ),
];

#[test]
fn worked_sentences() {
    assert!(WORKED.len() >= 40);
    for (sentence, expected) in WORKED {
        assert_eq!(questions(sentence), *expected, "{sentence}");
    }
}

/// Sentences whose questions would be wrong, or refer to something else.
const WITHOUT_QUESTIONS: &[&str] = &[
    "It was late.",
    "They are the winners of the cup.",
    "This is a problem.",
    "These models are the best.",
    "His father was a judge.",
    "The former was a king.",
    "Nobody was there.",
    "The bridge was not built in 1890.",
    "What is a bridge?",
    "He said that the bridge was old.",
    "The general said the war was over.",
    "If it rains, the game is a draw.",
    "The army crossed the river and was defeated.",
    "Red, green and blue are the colors of the flag.",
    "The loss is $L = x^2$.",
    "The result is as follows: nothing.",
    "Built in 1890.",
    "Yes.",
    "The bridge, which was built in 1890, is old.",
    "\"I am a king,\" he said.",
    "The city.",
    "See Figure 3.",
    "In 1890.",
    "The model trained on images is fast.",
    "Images collected last year show cats.",
    "Because of the war.",
    "The game ended (see",
    "The museum in 1890 and 1892.",
    "Running is fun.",
    "We did not evaluate the model.",
    "The number of states was 5 in 1890 and 7 in 1900.",
    "One was a king.",
    "Stop the war now.",
    "the bridge was built in 1890.",
];

#[test]
fn sentences_without_questions() {
    assert!(WITHOUT_QUESTIONS.len() >= 20);
    for sentence in WITHOUT_QUESTIONS {
        assert_eq!(questions(sentence), [""; 0], "{sentence}");
    }
}

/// The context shows which capital letters are those of names.
#[test]
fn context_shows_names() {
    let rules = RuleQuestions::default();
    let sentence = "Tea contains the substance caffeine.";
    let ask = |context| rules.questions(sentence, context).remove(0);
    assert_eq!(ask(""), "What does Tea contain?");
    assert_eq!(
        ask("On tea. Tea contains the substance caffeine."),
        "What does tea contain?"
    );
    // A plural may be a name.
    let sentence = "Huguenots received the right to worship.";
    assert!(rules.questions(sentence, sentence).is_empty());
    let context = "The war of the Huguenots ended. Huguenots received the right to worship.";
    let asked = rules.questions(sentence, context);
    assert_eq!(asked, ["What did Huguenots receive?"]);
}

#[test]
fn number_of_questions_is_limited() {
    let sentence = "In 1890, the bridge was destroyed by a flood.";
    let all = questions(sentence);
    assert_eq!(all.len(), 3);
    for max_questions in 0..=4 {
        let some = RuleQuestions { max_questions }.questions(sentence, "");
        assert_eq!(some, all[..max_questions.min(3)]);
    }
}

#[test]
fn questions_are_added_once_and_not_displayable() {
    let text = "The bridge was built in 1890.";
    let mut frames = vec![
        frame(ChunkKind::Content, text),
        frame(ChunkKind::Title, text),
        frame(ChunkKind::Section, text),
    ];
    frames[0]
        .questions
        .push(FrameQuestion::new("WHEN was the bridge built?"));
    let answers: Vec<Frame> = frames.clone();
    let rules = RuleQuestions::default();
    let added = add_questions(&mut frames, &rules, &mut NoProgress).unwrap();
    assert_eq!((added.questions, added.generated), (1, 3));
    let question = FrameQuestion::generated("What was built in 1890?");
    assert_eq!(frames[0].questions[1..], [question]);
    assert!(frames[1].questions.is_empty() && frames[2].questions.is_empty());
    for (frame, before) in frames.iter().zip(&answers) {
        assert_eq!(frame.answer, before.answer);
    }
    let again = add_questions(&mut frames, &rules, &mut NoProgress).unwrap();
    assert_eq!(again.questions, 0);

    let mut stop = |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let error = add_questions(&mut frames, &rules, &mut stop).unwrap_err();
    assert!(matches!(error, QuestionError::Canceled));
}

/// A generator that rejects frames with "bad", fails for "stop" and counts its calls.
struct Counting(AtomicUsize);

impl QuestionGenerator for Counting {
    fn generate(&self, frames: &[&Frame]) -> Result<Vec<Vec<String>>, QuestionError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let answer = frames[0].answer.as_str();
        let (frame, source) = (frames[0].id.clone(), "no".into());
        match answer {
            "bad" => Err(QuestionError::Rejected { frame, source }),
            "stop" => Err(QuestionError::Generator { frame, source }),
            _ => Ok(vec![vec![format!("What is {answer}?")]]),
        }
    }

    fn name(&self) -> String {
        "counting".to_owned()
    }

    fn batch_size(&self) -> usize {
        1
    }
}

fn numbered(texts: &[&str]) -> Vec<Frame> {
    let frame = |(n, text): (usize, &&str)| {
        Frame::new(format!("f{n}"), "p", ChunkKind::Content, *text, 0, *text).unwrap()
    };
    texts.iter().enumerate().map(frame).collect()
}

#[test]
fn interrupted_jobs_resume() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("questions.jsonl");
    let generator = Counting(AtomicUsize::new(0));
    let mut file = QuestionFile::open(&path).unwrap();
    assert!(
        QuestionFile::open(&path).is_err(),
        "another job uses the file"
    );
    let mut frames = numbered(&["tea", "bad", "rice", "stop", "salt"]);
    let error = file.add_questions(&mut frames, &generator, &mut NoProgress);
    assert!(matches!(error, Err(QuestionError::Generator { frame, .. }) if frame == "f3"));
    drop(file);

    let mut frames = numbered(&["tea", "bad", "corn", "milk"]);
    let mut file = QuestionFile::open(&path).unwrap();
    let added = file
        .add_questions(&mut frames, &generator, &mut NoProgress)
        .unwrap();
    assert_eq!(
        (added.questions, added.generated, added.rejected.len()),
        (3, 3, 1)
    );
    assert_eq!(generator.0.load(Ordering::Relaxed), 4 + 3);
    assert_eq!(frames[0].questions[0].text, "What is tea?");
    assert_eq!(frames[2].questions[0].text, "What is corn?");

    let mut frames = numbered(&["bad"; 8]);
    let error = file.add_questions(&mut frames, &generator, &mut NoProgress);
    assert!(matches!(error, Err(QuestionError::Rejected { frame, .. }) if frame == "f4"));
}

/// A generator that forgets a frame.
struct Forgetful;

impl QuestionGenerator for Forgetful {
    fn generate(&self, frames: &[&Frame]) -> Result<Vec<Vec<String>>, QuestionError> {
        Ok(vec![Vec::new(); frames.len() - 1])
    }

    fn name(&self) -> String {
        "forgetful".to_owned()
    }
}

#[test]
fn lists_must_match_the_frames() {
    let mut frames = vec![frame(ChunkKind::Content, "Tea is a drink.")];
    let error = add_questions(&mut frames, &Forgetful, &mut NoProgress).unwrap_err();
    let message = "generator \"forgetful\": expected questions for 1 frames, found 0";
    assert_eq!(error.to_string(), message);
}

/// Words that the rules know, and others.
const WORDS: &str =
    "the a an of in on by for to The In On We There This Our It and or is are was were
    has have had can will may built used uses propose proposes called located known as founded 1890
    May 5, 12 twelve 3,000 people teams model models Paris king , . because that which not we our
    their contains consists of founded won died é 茶 - % 's (a) [1] \u{a0} more than";

fn sentences() -> impl Strategy<Value = String> {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let of_words = proptest::collection::vec(proptest::sample::select(words), 1..16)
        .prop_map(|words| words.join(" ") + ".");
    // Worked sentences with a word of the list in place of one of theirs.
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let worked = (
        0..WORKED.len(),
        any::<usize>(),
        proptest::sample::select(words),
    );
    let changed = worked.prop_map(|(number, at, word)| {
        let mut sentence: Vec<&str> = WORKED[number].0.split(' ').collect();
        let at = at % sentence.len();
        sentence[at] = word;
        sentence.join(" ")
    });
    prop_oneof![2 => of_words, 4 => changed, 1 => any::<String>()]
}

proptest! {
    #[test]
    fn questions_are_well_formed(sentence in sentences(), context in sentences()) {
        let rules = RuleQuestions::default();
        let questions = rules.questions(&sentence, &context);
        prop_assert_eq!(&questions, &rules.questions(&sentence, &context));
        prop_assert!(questions.len() <= 3);
        for question in &questions {
            prop_assert!(question.ends_with('?') && question.matches('?').count() == 1);
            prop_assert!(question.starts_with(char::is_uppercase), "{}", question);
            prop_assert!(!question.contains("  ") && !question.contains(" ?"));
            prop_assert_eq!(questions.iter().filter(|other| *other == question).count(), 1);
        }
        let text = sentence.as_str();
        let mut frames = vec![frame(ChunkKind::Content, text)];
        add_questions(&mut frames, &rules, &mut NoProgress).unwrap();
        prop_assert_eq!(&frames[0].answer, text);
        prop_assert!(frames[0].check().is_ok());
    }
}

/// Reciprocal rank and R@5 of the pairs of SQuAD, in percent.
fn squad_measures(documents: &[Document], queries: &[Query], pairs: &Qrels) -> (f64, f64) {
    let index = Index::build(documents, &IndexConfig::default(), &mut NoProgress).unwrap();
    let searcher = index.searcher(Bm25::LUCENE).unwrap();
    let (mut reciprocal, mut found) = (0.0, 0_u32);
    for query in queries {
        let ranking = searcher.search(&query.text, &Search::top(100)).unwrap();
        let is_answer = |hit: &Hit| pairs.grade(&query.id, searcher.ids().id(hit.doc)) == Some(1);
        if let Some(rank) = ranking.iter().position(is_answer) {
            reciprocal += 1.0 / (rank + 1) as f64;
            found += u32::from(rank < 5);
        }
    }
    let percent = |sum: f64| 100.0 * sum / queries.len() as f64;
    (percent(reciprocal), percent(f64::from(found)))
}

/// Questions of SQuAD as questions of annotators: without an encoder, each one finds a sentence
/// that has it first. Most do without one of their words, too.
#[test]
fn questions_of_squad_find_their_sentences() {
    let Some(catalog) = common::squad("squad/sentences") else {
        return;
    };
    let (queries, pairs) = (
        catalog.queries("pairs").unwrap(),
        catalog.qrels("pairs").unwrap(),
    );
    let documents = catalog.corpus().docs().unwrap().map(Result::unwrap);
    let frames = documents.map(|document| {
        let context = document.attributes.text("context").unwrap();
        let start = context.find(&document.text).unwrap();
        let start = context[..start].chars().count();
        let answer = document.text.clone();
        let mut frame =
            Frame::new(document.id, "p", ChunkKind::Content, context, start, answer).unwrap();
        for query in &queries {
            if pairs.grade(&query.id, &frame.id) == Some(1) {
                frame.questions.push(FrameQuestion::new(&*query.text));
            }
        }
        frame
    });
    let index = AnswerIndex::lexical(frames.collect(), &AnswerConfig::default()).unwrap();
    let is_first = |query: &Query, text: &str| {
        let answers = index.answers(text, 1, None).unwrap();
        // Equal questions have several answers.
        let has_question = |answer: &Answer<'_>| {
            let mut questions = answer.frame.questions.iter();
            questions.any(|question| question.text == query.text)
        };
        answers.first().is_some_and(has_question)
    };
    let (mut verbatim, mut shortened) = (0, 0);
    for (number, query) in queries.iter().enumerate() {
        verbatim += usize::from(is_first(query, &query.text));
        let mut words: Vec<&str> = query.text.split_whitespace().collect();
        words.remove(number % words.len());
        shortened += usize::from(is_first(query, &words.join(" ")));
    }
    let all = queries.len();
    eprintln!("of {all} questions, {verbatim} and {shortened} without a word");
    assert_eq!(verbatim, all);
    assert!(shortened * 100 >= all * 93);
}

/// BM25 of the sentences of SQuAD, and of sentences with their generated questions as further text
/// (document expansion, as in doc2query).
#[test]
fn squad() {
    let Some(catalog) = common::squad("squad/sentences") else {
        return;
    };
    let (queries, pairs) = (
        catalog.queries("pairs").unwrap(),
        catalog.qrels("pairs").unwrap(),
    );
    let documents: Vec<Document> = catalog
        .corpus()
        .docs()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let plain =
        |document: &Document| Document::new(document.id.clone()).with_text(document.text.clone());
    let rules = RuleQuestions::default();
    let (mut with_questions, mut generated) = (0_usize, 0_usize);
    let mut expanded = Vec::new();
    for document in &documents {
        let context = document.attributes.text("context").unwrap();
        let questions = rules.questions(&document.text, context);
        with_questions += usize::from(!questions.is_empty());
        generated += questions.len();
        let text = format!("{} {}", document.text, questions.join(" "));
        expanded.push(Document::new(document.id.clone()).with_text(text));
    }
    eprintln!(
        "{generated} questions of {with_questions} of {} sentences",
        documents.len()
    );
    let documents: Vec<Document> = documents.iter().map(plain).collect();
    let (rr, recall) = squad_measures(&documents, &queries, &pairs);
    eprintln!("BM25: RR {rr:.2}, R@5 {recall:.2}");
    // 67.24 and 77.15 on the page docs/reproduction/squad-sentences.md.
    assert!((rr - 67.24).abs() < 0.05 && (recall - 77.15).abs() < 0.05);
    let (rr, recall) = squad_measures(&expanded, &queries, &pairs);
    eprintln!("BM25 with generated questions: RR {rr:.2}, R@5 {recall:.2}");
    // Questions repeat words of their sentences only.
    assert!((rr - 67.24).abs() < 1.0 && (recall - 77.15).abs() < 1.0);
}
