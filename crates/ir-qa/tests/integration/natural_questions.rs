//! Sixty questions over the bundled papers, in other words than the answers where readers would use
//! them, each with the sentence that answers it.

use ir_core::{Retriever, Search};
use ir_data::sentences::SCIENTIFIC_ABBREVIATIONS;
use ir_qa::retrieval::{AnswerConfig, AnswerIndex, FunctionWords};
use ir_qa::{ChunkKind, Frame, frames::FrameConfig};

const QUESTIONS: &str = include_str!("../../testdata/natural_questions.tsv");

/// Answer sentences of the bundled papers, as `ir ask` reads them.
fn frames() -> Vec<Frame> {
    let mut config = FrameConfig::default();
    config.splitter = config.splitter.with_abbreviations(SCIENTIFIC_ABBREVIATIONS);
    let papers = ir_qa::bundled_papers().unwrap();
    let frames = papers
        .iter()
        .flat_map(|paper| config.convert_paper(paper).frames);
    frames
        .filter(|frame| frame.kind == ChunkKind::Content)
        .collect()
}

/// Ranks of the answers, from 1; `None` beyond the first hundred.
fn ranks(config: &AnswerConfig) -> Vec<Option<usize>> {
    let index = AnswerIndex::lexical(frames(), config).unwrap();
    let rank = |line: &str| {
        let [question, paper, sentence] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("expected question, paper and sentence, found {line:?}");
        };
        let is_answer = |frame: &Frame| frame.paper == paper && frame.answer == sentence;
        assert!(index.frames().iter().any(is_answer), "{line}");
        let ranking = index.search(question, &Search::top(100)).unwrap();
        let answers = index.ranked_answers(&ranking);
        let position = answers.iter().position(|answer| is_answer(answer.frame));
        position.map(|position| position + 1)
    };
    QUESTIONS.lines().map(rank).collect()
}

/// Answers first, answers in the first five, and the mean reciprocal rank.
fn summary(ranks: &[Option<usize>]) -> (usize, usize, f64) {
    let within = |most| ranks.iter().flatten().filter(|rank| **rank <= most).count();
    let reciprocal: f64 = ranks.iter().flatten().map(|rank| 1.0 / *rank as f64).sum();
    (within(1), within(5), reciprocal / ranks.len() as f64)
}

#[test]
fn most_answers_are_first_and_function_words_do_not_help() {
    let config = AnswerConfig::default();
    let (first, five, reciprocal) = summary(&ranks(&config));
    eprintln!("{first} of 60 answers first, {five} in the first five, MRR {reciprocal:.3}");
    assert!(first >= 36 && five >= 50, "{first} {five}");
    let mut all_words = AnswerConfig::default();
    all_words.function_words = FunctionWords::None;
    let (first, five, of_all_words) = summary(&ranks(&all_words));
    eprintln!("with function words: {first}, {five}, MRR {of_all_words:.3}");
    assert!(reciprocal >= of_all_words, "{reciprocal} {of_all_words}");
}
