//! Questions of annotators that nearly equal a query.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ir_bm25::analysis::{Analysis, AnalysisPipeline, StopWords};
use ir_core::{Analyzer as _, DocNum};

use super::FunctionWords;
use crate::frame::Frame;

/// Words that decide what a question asks for, though most are function words: questions without
/// one of them in common are not near.
const DECISIVE: [&str; 16] = [
    "who", "whom", "whose", "when", "where", "why", "how", "many", "much", "not", "no", "never",
    "without", "before", "after", "between",
];

/// Questions of annotators by their terms.
pub(super) struct NearQuestions {
    analyzer: AnalysisPipeline,
    /// Minimum similarity of a near question.
    minimum: f32,
    /// Frames and terms of the questions.
    questions: Vec<(DocNum, QuestionTerms)>,
    /// Ascending numbers of questions by term.
    by_term: HashMap<String, Vec<usize>>,
}

/// Terms of a question.
#[derive(Debug, Default, PartialEq, Eq)]
struct QuestionTerms {
    /// Decisive words, and words with digits, which near questions have in common.
    decisive: BTreeSet<String>,
    /// Stems of other words that are no function words.
    content: BTreeSet<String>,
}

impl NearQuestions {
    /// Questions of frames, which are documents in their order. Generated questions do not count.
    #[expect(clippy::expect_used, reason = "the analysis is a preset")]
    pub(super) fn new(frames: &[Frame], minimum: f32) -> Self {
        let analysis = Analysis::default().with_stop_words(StopWords::None);
        let mut near = Self {
            analyzer: analysis.build().expect("presets are valid"),
            minimum,
            questions: Vec::new(),
            by_term: HashMap::new(),
        };
        for (doc, frame) in (0..).map(DocNum::new).zip(frames) {
            let questions = frame.questions.iter();
            for question in questions.filter(|question| !question.generated) {
                let (number, terms) = (near.questions.len(), near.terms(&question.text));
                for term in &terms.content {
                    near.by_term.entry(term.clone()).or_default().push(number);
                }
                near.questions.push((doc, terms));
            }
        }
        near
    }

    fn terms(&self, question: &str) -> QuestionTerms {
        let mut terms = QuestionTerms::default();
        self.analyzer.analyze(question, &mut |token| {
            let word = question[token.start..token.end].to_lowercase();
            if DECISIVE.contains(&word.as_str()) || word.contains(|c: char| c.is_ascii_digit()) {
                terms.decisive.insert(word);
            } else if !FunctionWords::English.contains(&word) {
                terms.content.insert(token.term.to_owned());
            }
        });
        terms
    }

    /// Frames with a question of at least the minimum similarity, and the largest similarity: the
    /// Jaccard index of the terms, of questions with the same decisive words.
    pub(super) fn near(&self, question: &str) -> BTreeMap<DocNum, f32> {
        let mut near: BTreeMap<DocNum, f32> = BTreeMap::new();
        if self.questions.is_empty() {
            return near;
        }
        let asked = self.terms(question);
        let mut common: HashMap<usize, usize> = HashMap::new();
        let numbers = asked.content.iter().filter_map(|it| self.by_term.get(it));
        for &number in numbers.flatten() {
            *common.entry(number).or_default() += 1;
        }
        for (number, common) in common {
            let (doc, terms) = &self.questions[number];
            let all = asked.content.len() + terms.content.len() - common;
            let similarity = common as f32 / all as f32;
            if similarity >= self.minimum && terms.decisive == asked.decisive {
                let best = near.entry(*doc).or_default();
                *best = best.max(similarity);
            }
        }
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{ChunkKind, FrameQuestion};

    fn near(known: &str, asked: &str, minimum: f32) -> Option<f32> {
        let text = "An answer.";
        let mut frame = Frame::new("f", "p", ChunkKind::Content, text, 0, text).unwrap();
        frame.questions.push(FrameQuestion::new(known));
        frame.questions.push(FrameQuestion::generated(asked));
        let near = NearQuestions::new(&[frame], minimum);
        near.near(asked).get(&DocNum::new(0)).copied()
    }

    #[test]
    fn similarity_is_of_content_words() {
        let known = "Which helpers wrote the harvest questions?";
        // Terms: helper, wrote, harvest, question.
        for (asked, expected) in [
            ("What helper wrote harvest questions", Some(1.0)),
            ("which helpers wrote the long harvest questions", Some(0.8)),
            ("which helpers wrote harvest notes", None),
            ("which helpers wrote the questions", None),
            ("Who wrote the harvest questions of helpers?", None),
            ("what is it", None),
            ("", None),
        ] {
            assert_eq!(near(known, asked, 0.8), expected, "{asked}");
        }
        // Three of five terms.
        let asked = "which helpers wrote harvest notes";
        assert_eq!(near(known, asked, 0.5), Some(0.6));
    }

    #[test]
    fn decisive_words_and_numbers_are_equal() {
        let words = "did Ann Lee meet Bob Ray on the long road to the old town of Kale";
        for (known, asked) in [("when", "where"), ("how", "how many"), ("why", "why not")] {
            let known = format!("{known} {words}?");
            let asked = format!("{asked} {words}?");
            assert_eq!(near(&known, &asked, 0.1), None, "{asked}");
            assert_eq!(near(&known, &known, 0.8), Some(1.0), "{known}");
        }
        let of_year = |year| format!("when {words} in {year}?");
        assert_eq!(near(&of_year(2019), &of_year(2020), 0.1), None);
    }
}
