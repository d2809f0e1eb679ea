use std::sync::Arc;

use ir_core::{
    DocNum, DocSet, Document, EncodeError, Encoder, NoProgress, Predicate, Search, Side,
};

use super::*;
use crate::frame::ChunkKind;

fn frame(id: &str, answer: &str, context: &str, questions: &[(&str, bool)]) -> Frame {
    let start = context.find(answer).unwrap();
    let start = context[..start].chars().count();
    let mut frame = Frame::new(id, "p", ChunkKind::Content, context, start, answer).unwrap();
    for (text, is_of_annotator) in questions {
        frame.questions.push(if *is_of_annotator {
            FrameQuestion::new(*text)
        } else {
            FrameQuestion::generated(*text)
        });
    }
    frame
}

fn frames() -> Vec<Frame> {
    let mut frames = vec![
        frame("f0", "Tea is a drink.", "On tea. Tea is a drink.", &[]),
        frame(
            "f1",
            "It grows in Asia.",
            "Tea is a drink. It grows in Asia.",
            &[
                ("Where does tea grow?", true),
                ("generated tea question", false),
            ],
        ),
        frame(
            "f2",
            "Coffee is a drink.",
            "Coffee is a drink. Beans.",
            &[("What is coffee?", true)],
        ),
    ];
    frames[2].metadata.set("year", 2020_i64);
    frames
}

/// Counts of the letters a to d, and a constant.
struct Letters;

impl Encoder for Letters {
    fn dim(&self) -> usize {
        5
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(5)) {
            for (letter, value) in ('a'..='d').zip(&mut *row) {
                *value = text.matches(letter).count() as f32;
            }
            row[4] = 1.0;
        }
        Ok(())
    }
}

fn cosine(a: &str, b: &str) -> f64 {
    let vector = |text: &str| Letters.encode(Side::Query, &[text]).unwrap();
    let (a, b) = (vector(a), vector(b));
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum()
    };
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

/// Configuration with a weight of contexts.
fn weighted(context_weight: f32) -> AnswerConfig {
    AnswerConfig {
        context_weight,
        ..AnswerConfig::default()
    }
}

/// Scores without an encoder.
fn bm25(question: &str, config: &AnswerConfig) -> Vec<f64> {
    let index = AnswerIndex::lexical(frames(), config).unwrap();
    let mut scores = vec![0.0; 3];
    for answer in index.answers(question, 3, None).unwrap() {
        let number: usize = answer.frame.id[1..].parse().unwrap();
        scores[number] = f64::from(answer.score);
    }
    scores
}

#[test]
fn scores_are_the_best_cosine_and_weighted_bm25() {
    for (alpha, weight, encodes_context) in [
        (0.0, 1.0, false),
        (0.02, 0.0, false),
        (0.02, 1.0, false),
        (0.5, 2.0, true),
    ] {
        let config = AnswerConfig {
            alpha,
            context_weight: weight,
            encodes_context,
            length_exponent: 0.0,
            ..AnswerConfig::default()
        };
        let encoder = Arc::new(Letters);
        let index = AnswerIndex::with_encoder(frames(), &config, encoder, &mut NoProgress).unwrap();
        let question = "a cold drink of tea";
        let bm25 = bm25(question, &config);
        let answers = index.answers(question, 10, None).unwrap();
        assert_eq!(answers.len(), 3);
        for answer in &answers {
            let number: usize = answer.frame.id[1..].parse().unwrap();
            let text = if encodes_context {
                format!("{} [SEP] {}", answer.frame.answer, answer.frame.context)
            } else {
                answer.frame.answer.clone()
            };
            let questions = answer.frame.questions.iter().map(|question| &question.text);
            let cosines = [&text].into_iter().chain(questions);
            let best = cosines
                .map(|text| cosine(question, text))
                .fold(f64::MIN, f64::max);
            let expected = best + f64::from(alpha) * bm25[number];
            assert!(
                (f64::from(answer.score) - expected).abs() < 1e-6,
                "{answer:?} {expected}"
            );
        }
        assert!(answers.is_sorted_by(|a, b| a.score >= b.score));
    }
}

#[test]
fn contexts_find_answers_without_the_words_of_the_question() {
    let found = |weight| -> Vec<String> {
        let config = weighted(weight);
        let index = AnswerIndex::lexical(frames(), &config).unwrap();
        let answers = index.answers("drink of beans", 10, None).unwrap();
        answers
            .iter()
            .map(|answer| answer.frame.id.clone())
            .collect()
    };
    assert_eq!(found(0.0), ["f0", "f2"]);
    assert_eq!(found(1.0), ["f2", "f0", "f1"]);
}

/// BM25 of answers and contexts is the sum of the scores of the two texts.
#[test]
fn scores_without_an_encoder_are_weighted_sums() {
    let contexts = || {
        frames().into_iter().map(|mut frame| {
            frame.answer.clone_from(&frame.context);
            frame.answer_start = 0;
            frame
        })
    };
    let scores = |mut frames: Vec<Frame>, weight| {
        frames.iter_mut().for_each(|frame| frame.questions.clear());
        let config = weighted(weight);
        let index = AnswerIndex::lexical(frames, &config).unwrap();
        let mut scores = [0.0; 3];
        for answer in index.answers("a drink of beans in Asia", 10, None).unwrap() {
            let number: usize = answer.frame.id[1..].parse().unwrap();
            scores[number] = f64::from(answer.score);
        }
        scores
    };
    let answers = scores(frames(), 0.0);
    let of_contexts = scores(contexts().collect(), 0.0);
    for weight in [0.5, 1.0, 3.0] {
        let sums = scores(frames(), weight);
        for frame in 0..3 {
            let expected = answers[frame] + f64::from(weight) * of_contexts[frame];
            assert!((sums[frame] - expected).abs() < 1e-6, "{sums:?} {expected}");
        }
    }
}

#[test]
fn filters_select_by_metadata() {
    let index = AnswerIndex::lexical(frames(), &AnswerConfig::default()).unwrap();
    let known = index.select(&Predicate::Known {
        name: "year".into(),
    });
    let answers = index.answers("drink", 10, Some(&known)).unwrap();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].frame.id, "f2");
}

/// The words of a question of an annotator find its answer, also if neither answer nor context has
/// them. The words of a generated question do not.
#[test]
fn questions_of_annotators_expand_their_answers() {
    let asked = "Which continent cultivates the leaves?";
    for displayable in [true, false] {
        let mut frames = frames();
        let question = FrameQuestion::new(asked).with_displayable(displayable);
        frames[1].questions.push(question);
        let index = AnswerIndex::lexical(frames, &AnswerConfig::default()).unwrap();
        let found = |question: &str| -> Vec<String> {
            let answers = index.answers(question, 5, None).unwrap();
            answers.iter().map(|found| found.frame.id.clone()).collect()
        };
        assert_eq!(found(asked), ["f1"]);
        assert!(found("generated").is_empty());
        let related = index.related_questions(asked, &Search::top(5)).unwrap();
        let shown = related.iter().any(|related| related.question.text == asked);
        assert_eq!(shown, displayable);
    }
}

/// Every question of an FAQ returns its answer first, though they have only stop words in common.
#[test]
fn questions_of_an_faq_find_their_answers() {
    let entries = [
        (
            "Post it to the desk by Friday.",
            ["How do I submit?", "Where can I hand in work?"],
        ),
        (
            "Double-blind; two referees each.",
            ["Who reads papers?", "Is reviewing anonymous?"],
        ),
        (
            "Eight pages without references.",
            ["What length is allowed?", "How long may it be?"],
        ),
        (
            "Ask the chairs for another week.",
            ["Can I get an extension?", "What if I am late?"],
        ),
        (
            "Any system with open weights.",
            ["Which models may I use?", "Are APIs permitted?"],
        ),
        (
            "Only the abstract counts.",
            ["Does my title matter?", "Will figures be judged?"],
        ),
    ];
    let frames = (0..).zip(&entries).map(|(number, (answer, questions))| {
        let mut frame = frame(&format!("faq/{number}"), answer, answer, &[]);
        frame.questions.push(FrameQuestion::new(questions[0]));
        let hidden = FrameQuestion::new(questions[1]).with_displayable(false);
        frame.questions.push(hidden);
        frame
    });
    let frames: Vec<Frame> = frames.collect();
    let config = AnswerConfig::default();
    let lexical = AnswerIndex::lexical(frames.clone(), &config).unwrap();
    let encoder = Arc::new(Letters);
    let dense = AnswerIndex::with_encoder(frames, &config, encoder, &mut NoProgress).unwrap();
    for index in [lexical, dense] {
        for (answer, questions) in &entries {
            for question in questions {
                let found = index.answers(question, 1, None).unwrap();
                assert_eq!(found[0].frame.answer, *answer, "{question}");
            }
        }
    }
}

/// A question that is asked verbatim finds its answers before others with more of its words, and
/// the addition to their scores is explained.
#[test]
fn verbatim_questions_come_first() {
    let mut frames = frames();
    let asked = "What do the and of?";
    for (id, answer) in [("faq/0", "At five."), ("faq/1", "On Monday.")] {
        let mut frame = frame(id, answer, answer, &[("generated?", false)]);
        let question = FrameQuestion::new(asked).with_displayable(false);
        frame.questions.push(question);
        frames.push(frame);
    }
    for n in 0..20 {
        let text = format!("What what do do {n}.");
        frames.push(frame(&format!("g{n:02}"), &text, &text, &[]));
    }
    let index = AnswerIndex::lexical(frames, &AnswerConfig::default()).unwrap();
    let found = |question: &str, search: &Search<'_>| -> Vec<String> {
        let ranking = index.search(question, search).unwrap();
        for hit in &ranking {
            let tree = index.explain(question, hit.doc, search).unwrap().unwrap();
            assert_eq!(tree.score().to_bits(), hit.score.to_bits());
            let is_verbatim = tree
                .to_string()
                .contains("a question of the answer is the query");
            assert_eq!(is_verbatim, hit.score >= 1_000.0);
        }
        let ids = ranking.iter().map(|hit| index.ids().id(hit.doc).to_owned());
        ids.collect()
    };
    let all = found("what DO the and of", &Search::top(30));
    // `DO` is an acronym, so that it is the only word that scores: f2 has none.
    assert_eq!((&*all[0], &*all[1], all.len()), ("faq/0", "faq/1", 22));
    assert_eq!(found(asked, &Search::top(1)), ["faq/0"]);
    assert!(found(asked, &Search::top(0)).is_empty());
    let only = DocSet::from_iter([index.ids().get("faq/1").unwrap()]);
    assert_eq!(found(asked, &Search::top(5).within(&only)), ["faq/1"]);
    assert!(found("generated?", &Search::top(5)).is_empty());
    // Questions with the same question words are not related.
    let related = index.related_questions("What is Asia?", &Search::top(5));
    assert!(related.unwrap().is_empty());
}

/// A near question finds its answer first, after the answers of verbatim questions; the addition
/// to the score is explained.
#[test]
fn near_questions_come_after_verbatim_ones() {
    let mut frames = frames();
    for (id, question) in [
        ("n0", "Which helpers wrote the harvest questions?"),
        ("n1", "Which helpers wrote the long harvest questions?"),
    ] {
        let mut frame = frame(id, "By the farm.", "By the farm.", &[]);
        frame.paper = id.to_owned();
        frame.questions.push(FrameQuestion::new(question));
        frames.push(frame);
    }
    // More of the words, without a question.
    let text = "Helpers wrote harvest questions, and questions of the long harvest.";
    frames.push(frame("other", text, text, &[]));
    let asked = "which helpers wrote the harvest questions";
    let scores = |near_questions| -> Vec<(String, f32)> {
        let config = AnswerConfig {
            near_questions,
            ..AnswerConfig::default()
        };
        let index = AnswerIndex::lexical(frames.clone(), &config).unwrap();
        let ranking = index.search(asked, &Search::top(3)).unwrap();
        let hits = ranking.iter().map(|hit| {
            let tree = index.explain(asked, hit.doc, &Search::top(3)).unwrap();
            assert_eq!(tree.unwrap().score().to_bits(), hit.score.to_bits());
            (index.ids().id(hit.doc).to_owned(), hit.score)
        });
        hits.collect()
    };
    let found = scores(Some(0.8));
    let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["n0", "n1", "other"]);
    // Four of five words: 500 times 4/5.
    assert!((400.0..500.0).contains(&found[1].1), "{found:?}");
    for near in [Some(0.81), None] {
        let found = scores(near);
        assert!(found[0].1 > 1_000.0 && found[1].1 < 400.0, "{found:?}");
    }
}

/// Function words of the question do not score: only the second sentence has another word of it.
#[test]
fn function_words_do_not_score() {
    let frames = || {
        vec![
            frame(
                "f0",
                "Who does what, how and where?",
                "Who does what, how and where?",
                &[],
            ),
            frame(
                "f1",
                "Volunteers picked apples.",
                "Volunteers picked apples.",
                &[],
            ),
        ]
    };
    let found = |function_words, question: &str| -> Vec<String> {
        let config = AnswerConfig {
            function_words,
            ..AnswerConfig::default()
        };
        let index = AnswerIndex::lexical(frames(), &config).unwrap();
        let answers = index.answers(question, 5, None).unwrap();
        answers.iter().map(|it| it.frame.id.clone()).collect()
    };
    let asked = "Who picked what, and how?";
    assert_eq!(found(FunctionWords::English, asked), ["f1"]);
    assert_eq!(found(FunctionWords::None, asked).len(), 2);
    // Quoted words, and words of a question without others.
    let quoted = "picked \"who does what\"";
    assert_eq!(found(FunctionWords::English, quoted)[0], "f0");
    assert_eq!(found(FunctionWords::English, "who does what?"), ["f0"]);
}

/// With an encoder, BM25 of a question of n terms is multiplied by (6 / n)^p.
#[test]
fn the_weight_of_bm25_depends_on_the_length_of_the_question() {
    let score = |length_exponent, alpha, question: &str| -> f64 {
        let config = AnswerConfig {
            length_exponent,
            alpha,
            ..AnswerConfig::default()
        };
        let encoder = Arc::new(Letters);
        let index = AnswerIndex::with_encoder(frames(), &config, encoder, &mut NoProgress).unwrap();
        let doc = index.ids().get("f0").unwrap();
        let only: DocSet = [doc].into_iter().collect();
        let search = Search::top(1).within(&only);
        let hit = index.search(question, &search).unwrap().hits()[0];
        let tree = index.explain(question, doc, &search).unwrap().unwrap();
        assert_eq!(tree.score().to_bits(), hit.score.to_bits());
        f64::from(hit.score)
    };
    // Two terms, six, and eight: "is", "what" and "a" do not count.
    for (question, terms) in [
        ("what is a tea drink", 2.0_f64),
        ("tea drink cup leaf milk pot", 6.0),
        ("tea drink cup leaf milk pot jar lid", 8.0),
    ] {
        let cosine = score(0.5, 0.0, question);
        let same = score(0.0, 0.1, question) - cosine;
        let scaled = score(0.5, 0.1, question) - cosine;
        let expected = same * (6.0 / terms).sqrt();
        assert!(
            (scaled - expected).abs() < 1e-6,
            "{question}: {scaled} {expected}"
        );
    }
}

/// A sentence that a paper repeats is an answer once, where it scores highest; in other papers, and
/// for a filter without the best place, it is an answer, too.
#[test]
fn repeated_sentences_of_a_paper_are_found_once() {
    let frames = || {
        let text = "Green tea grows.";
        let mut frames = vec![
            frame(
                "a/0",
                text,
                "Green tea grows. It is far away from all of the old towns.",
                &[],
            ),
            frame("a/1", "green tea grows", "green tea grows", &[]),
            frame("a/2", "Green tea is drunk.", "Green tea is drunk.", &[]),
            frame("b/0", text, text, &[]),
        ];
        frames[3].paper = "b".to_owned();
        frames
    };
    let config = AnswerConfig::default();
    let repeats = AnswerConfig {
        distinct_sentences: false,
        ..AnswerConfig::default()
    };
    let found = |config: &AnswerConfig, search: &Search<'_>| -> Vec<String> {
        let index = AnswerIndex::lexical(frames(), config).unwrap();
        let ranking = index.search("green tea grows", search).unwrap();
        for hit in &ranking {
            assert!(
                index
                    .explain("green tea grows", hit.doc, search)
                    .unwrap()
                    .is_some()
            );
        }
        ranking
            .iter()
            .map(|hit| index.ids().id(hit.doc).to_owned())
            .collect()
    };
    assert_eq!(found(&repeats, &Search::top(9)).len(), 4);
    let once = found(&config, &Search::top(9));
    assert_eq!(once, ["a/1", "b/0", "a/2"]);
    assert_eq!(found(&config, &Search::top(2)), ["a/1", "b/0"]);
    let index = AnswerIndex::lexical(frames(), &config).unwrap();
    let only: DocSet = [index.ids().get("a/0").unwrap()].into_iter().collect();
    assert_eq!(found(&config, &Search::top(9).within(&only)), ["a/0"]);
    let all = index
        .search_all("green tea grows", &Search::top(9))
        .unwrap();
    assert_eq!(all.len(), 4);
}

/// The explanation of a score names the question with the most similar vector.
#[test]
fn explanations_name_the_question_that_matches() {
    let config = AnswerConfig::default();
    let encoder = Arc::new(Letters);
    let index = AnswerIndex::with_encoder(frames(), &config, encoder, &mut NoProgress).unwrap();
    let explained = |query: &str, id: &str| {
        let doc = index.ids().get(id).unwrap();
        let found = index.explain(query, doc, &Search::top(1)).unwrap();
        found.unwrap().to_string()
    };
    let text = explained("What is coffee?", "f2");
    let named = "norm of the document); document: the question \"What is coffee?\"\n";
    assert!(text.contains(named), "{text}");
    let text = explained("generated tea question", "f1");
    let named = "document); document: the generated question \"generated tea question\"\n";
    assert!(text.contains(named), "{text}");
    // The vector of the answer.
    let text = explained("Tea is a drink.", "f0");
    assert!(text.contains("norm of the document)\n"), "{text}");
}

#[test]
fn related_questions_are_displayable_or_generated() {
    let config = AnswerConfig::default();
    let mut frames = frames();
    let mut hidden = FrameQuestion::new("Hidden question on tea or coffee?");
    hidden.displayable = false;
    frames[0].questions.push(hidden);
    let lexical = AnswerIndex::lexical(frames.clone(), &config).unwrap();
    let texts = |related: &[RelatedQuestion<'_>]| -> Vec<(String, bool)> {
        let related = related.iter().map(|related| related.question);
        let texts = related.map(|question| (question.text.clone(), question.generated));
        texts.collect()
    };
    let [coffee, tea] = ["What is coffee?", "Where does tea grow?"].map(|q| (q.to_owned(), false));
    let generated = ("generated tea question".to_owned(), true);
    let related = lexical
        .related_questions("tea question", &Search::top(5))
        .unwrap();
    assert_eq!(texts(&related), [generated.clone(), tea.clone()]);
    assert_eq!(related[1].frame.id, "f1");
    let encoder = Arc::new(Letters);
    let dense = AnswerIndex::with_encoder(frames, &config, encoder, &mut NoProgress).unwrap();
    let related = dense
        .related_questions("What is coffee?", &Search::top(5))
        .unwrap();
    assert_eq!(texts(&related), [coffee, generated.clone(), tea.clone()]);
    let is_asked = related
        .iter()
        .map(|related| related.is_same_question("what is Coffee"));
    assert!(is_asked.eq([true, false, false]));
    // Of the frames that pass a filter.
    let of_coffee = related[0].frame.id.clone();
    for index in [&lexical, &dense] {
        let all = index.frames().iter();
        let others = all.enumerate().filter(|(_, frame)| frame.id != of_coffee);
        let others: DocSet = others.map(|(n, _)| DocNum::new(n as u32)).collect();
        let search = Search::top(5).within(&others);
        let asked = "Where is coffee or tea?";
        let filtered = index.related_questions(asked, &search).unwrap();
        let mut filtered = texts(&filtered);
        filtered.sort_unstable();
        assert_eq!(filtered, [tea.clone(), generated.clone()]);
        let batch = index.related_questions_batch(&[(asked, search), (asked, Search::top(5))]);
        assert_eq!(
            batch.unwrap().iter().map(Vec::len).collect::<Vec<_>>(),
            [2, 3]
        );
    }
    let asked = ["What is coffee?", "", "tea question"];
    for index in [lexical, dense] {
        let batch = index
            .related_questions_batch(&asked.map(|question| (question, Search::top(2))))
            .unwrap();
        let alone =
            asked.map(|question| index.related_questions(question, &Search::top(2)).unwrap());
        let values = |lists: &[Vec<RelatedQuestion<'_>>]| -> Vec<Vec<(String, f32)>> {
            let value = |one: &RelatedQuestion<'_>| (one.question.text.clone(), one.score);
            lists
                .iter()
                .map(|list| list.iter().map(value).collect())
                .collect()
        };
        assert_eq!(values(&batch), values(&alone));
    }
}

/// Ids that are not in the order of the frames, and numbers of questions of several digits.
#[test]
fn hits_are_the_frames_and_questions_with_the_words() {
    let words: Vec<String> = (0..30).map(|n| format!("word{n}x")).collect();
    let frames: Vec<Frame> = (0..30)
        .map(|n| {
            let word = words[n].as_str();
            let mut frame = frame(&format!("p/{}", 29 - n), word, word, &[(word, true)]);
            frame.metadata.set("word", word);
            frame
        })
        .collect();
    let config = AnswerConfig::default();
    let encoder = Arc::new(Letters);
    let lexical = AnswerIndex::lexical(frames.clone(), &config).unwrap();
    let config = AnswerConfig {
        alpha: 1.0,
        ..config
    };
    let dense = AnswerIndex::with_encoder(frames, &config, encoder, &mut NoProgress).unwrap();
    for index in [lexical, dense] {
        assert!(index.frames().is_sorted_by(|a, b| a.id < b.id));
        for word in &words {
            let answers = index.answers(word, 1, None).unwrap();
            assert_eq!(&answers[0].frame.answer, word);
            let ranking = index.search(word, &Search::top(1)).unwrap();
            assert_eq!(
                index.ids().id(ranking.iter().next().unwrap().doc),
                answers[0].frame.id
            );
            let related = index.related_questions(word, &Search::top(1)).unwrap();
            assert_eq!(&related[0].question.text, word);
            assert_eq!(&related[0].frame.answer, word);
            let only = index.select(&Predicate::OneOf {
                name: "word".into(),
                values: vec![word.as_str().into()],
            });
            let answers = index.answers(word, 5, Some(&only)).unwrap();
            assert_eq!(answers.len(), 1);
            assert_eq!(&answers[0].frame.answer, word);
        }
    }
}

#[test]
fn contract() {
    let frames = |documents: &[Document]| -> Vec<Frame> {
        let frame = |document: &Document| {
            let context = format!("{} {}", document.title, document.text);
            frame(
                &document.id,
                &document.text,
                &context,
                &[(&document.title, true)],
            )
        };
        documents.iter().map(frame).collect()
    };
    // The contract is of retrievers that return all documents, also those with equal texts.
    let config = AnswerConfig {
        distinct_sentences: false,
        ..AnswerConfig::default()
    };
    ir_testkit::check_text(|documents| AnswerIndex::lexical(frames(documents), &config).unwrap());
    ir_testkit::check_text(|documents| {
        let encoder = Arc::new(Letters);
        AnswerIndex::with_encoder(frames(documents), &config, encoder, &mut NoProgress).unwrap()
    });
}

#[test]
fn errors() {
    let mut twice = frames();
    twice.push(twice[0].clone());
    let config = AnswerConfig::default();
    let error = AnswerIndex::lexical(twice, &config)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "frame \"f0\": expected a unique id, found another frame with it"
    );
    let negative = weighted(-1.0);
    let error = AnswerIndex::lexical(frames(), &negative)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("weight: expected 0 or a number from 1e-9"),
        "{error}"
    );
    for (config, expected) in [
        (
            AnswerConfig {
                length_exponent: -1.0,
                ..AnswerConfig::default()
            },
            "length_exponent: expected 0..=2, found -1",
        ),
        (
            AnswerConfig {
                near_questions: Some(f32::NAN),
                ..AnswerConfig::default()
            },
            "near_questions: expected a number above 0, at most 1, found NaN",
        ),
    ] {
        let error = AnswerIndex::lexical(frames(), &config).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let empty = AnswerIndex::lexical(Vec::new(), &config).unwrap();
    assert!(empty.answers("tea", 5, None).unwrap().is_empty());
}

#[test]
fn vectors_follow_their_frames() {
    let encoder: Arc<dyn Encoder> = Arc::new(Letters);
    let config = AnswerConfig::default();
    let expected =
        AnswerIndex::with_encoder(frames(), &config, Arc::clone(&encoder), &mut NoProgress);
    let expected = expected.unwrap();
    let mut reversed = frames();
    reversed.reverse();
    let texts = |texts: Vec<&str>, side| encoder.encode(side, &texts).unwrap();
    let questions = reversed.iter().flat_map(|frame| &frame.questions);
    let vectors = FrameVectors {
        answers: texts(
            reversed.iter().map(|frame| &*frame.answer).collect(),
            Side::Document,
        ),
        questions: texts(
            questions.map(|question| &*question.text).collect(),
            Side::Query,
        ),
        missing: HashSet::new(),
    };
    let index = |vectors| {
        AnswerIndex::with_vectors(reversed.clone(), &config, Arc::clone(&encoder), vectors)
    };
    let found = index(vectors.clone()).unwrap();
    for question in ["Where does tea grow?", "coffee beans", "drink"] {
        let list = |index: &AnswerIndex| -> Vec<(String, f32)> {
            let answers = index.answers(question, 10, None).unwrap();
            answers
                .iter()
                .map(|answer| (answer.frame.id.clone(), answer.score))
                .collect()
        };
        assert_eq!(list(&found), list(&expected));
    }
    let short = FrameVectors {
        answers: vectors.answers[5..].to_vec(),
        ..vectors
    };
    let error = index(short).unwrap_err().to_string();
    assert!(
        error.contains("expected 3 vectors of 5 values, found 10 values"),
        "{error}"
    );
}

#[test]
fn answers_without_vectors_have_the_score_of_bm25() {
    let encoder: Arc<dyn Encoder> = Arc::new(Letters);
    let (config, frames) = (AnswerConfig::default(), frames());
    let questions = frames.iter().flat_map(|frame| &frame.questions);
    let questions: Vec<&str> = questions.map(|question| &*question.text).collect();
    let answers: Vec<&str> = frames.iter().map(|frame| &*frame.answer).collect();
    let vectors = FrameVectors {
        answers: encoder.encode(Side::Document, &answers).unwrap(),
        questions: encoder.encode(Side::Query, &questions).unwrap(),
        // The answer and the question of f2, and the second question of f1.
        missing: [2, 4, 5].into(),
    };
    let index = AnswerIndex::with_vectors(frames.clone(), &config, encoder, vectors).unwrap();
    for question in ["grow tea", "coffee beans", "Asia"] {
        let bm25 = bm25(question, &config);
        let cosines = ["It grows in Asia.", "Where does tea grow?"];
        let cosines = cosines.map(|text| cosine(question, text));
        let expected = [
            Some(0.05 * bm25[0] + cosine(question, "Tea is a drink.")),
            Some(0.05 * bm25[1] + cosines[0].max(cosines[1])),
            // No hit without a word of the question.
            (bm25[2] > 0.0).then_some(0.05 * bm25[2]),
        ];
        let found = index.answers(question, 3, None).unwrap();
        for (frame, expected) in frames.iter().zip(expected) {
            let score = found.iter().find(|answer| answer.frame.id == frame.id);
            let score = score.map(|answer| f64::from(answer.score));
            let is_near = match (score, expected) {
                (Some(score), Some(expected)) => (score - expected).abs() < 1e-6,
                (score, expected) => score == expected,
            };
            assert!(is_near, "{question} {}: {score:?} {expected:?}", frame.id);
        }
    }
    // A question without a vector is related by its words.
    let related = |question| index.related_questions(question, &Search::top(9)).unwrap();
    let texts = |question| -> Vec<String> {
        let related = related(question).into_iter();
        related
            .map(|related| related.question.text.clone())
            .collect()
    };
    assert_eq!(
        texts("tea"),
        ["Where does tea grow?", "generated tea question"]
    );
    assert_eq!(texts("drink"), ["Where does tea grow?"]);
}
