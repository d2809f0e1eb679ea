//! Answers in the text around them, and explanations of their scores.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use ir_bm25::analysis::{Analysis, AnalysisPipeline, Highlighter};
use ir_core::{Analyzer as _, Explanation, MatchedText};
use ir_qa::highlight::{matching_words, segments, segments_of, to_html};
use ir_qa::retrieval::{FunctionWords, ScriptAnalyzer};
use maud::{Markup, html};

use crate::published::{AnswerPosition, PublishedDocument};
use crate::service::ScoredAnswer;

/// Bytes of the sentences on each side of an answer.
const CONTEXT: usize = 300;

/// Analysis of matching words: the analysis of the answers.
#[expect(clippy::expect_used, reason = "the analysis is a preset")]
static ANALYSIS: LazyLock<ScriptAnalyzer<AnalysisPipeline>> =
    LazyLock::new(|| ScriptAnalyzer::new(Analysis::default().build().expect("presets are valid")));

/// Marks the words of a question that score: its function words are not marked.
pub(super) fn question_words(question: &str) -> Highlighter<'static> {
    Highlighter::new(&*ANALYSIS, &FunctionWords::default().without(question))
}

/// Sentences around an answer, and further answers of its paragraph.
#[derive(Debug)]
pub(super) struct Excerpt<'a> {
    answer: &'a ScoredAnswer,
    /// `None` if the document was published anew meanwhile.
    text: Option<ExcerptText<'a>>,
    /// Heading above the answer.
    pub(super) section: Option<&'a str>,
}

#[derive(Debug)]
struct ExcerptText<'a> {
    chunk: &'a str,
    /// Bytes of the excerpt in the chunk.
    range: Range<usize>,
    /// Bytes of the answers in the chunk, in ascending order, with the words that a model matched.
    answers: Vec<(Range<usize>, Option<&'a MatchedText>)>,
}

impl<'a> Excerpt<'a> {
    /// The sentences of the answer's chunk around it and around `others`, further answers of the
    /// chunk.
    pub(super) fn new(
        document: Option<&'a PublishedDocument>,
        answer: &'a ScoredAnswer,
        others: &[&'a ScoredAnswer],
    ) -> Self {
        let id = &answer.frame.id;
        let place = document.and_then(|document| Some((document, document.answer(id)?)));
        let text = place.and_then(|(document, place)| {
            let text = document.chunks.get(place.chunk)?.text.as_deref()?;
            let mut range = around(document, place);
            let mut answers = vec![(place.range.clone(), answer.matched.as_ref())];
            for position in &document.answers {
                let other = others.iter().find(|it| it.frame.id == position.frame);
                if let Some(other) = other.filter(|_| position.chunk == place.chunk) {
                    let around = around(document, position);
                    range = range.start.min(around.start)..range.end.max(around.end);
                    answers.push((position.range.clone(), other.matched.as_ref()));
                }
            }
            answers.sort_by_key(|(answer, _)| answer.start);
            Some(ExcerptText {
                chunk: text,
                range,
                answers,
            })
        });
        Self {
            answer,
            text,
            section: place.and_then(|(document, place)| document.section(place.chunk)),
        }
    }

    /// HTML with the answer marked, and the words of a question, or in answers the words that a
    /// model matched.
    pub(super) fn html(&self, question: &str) -> String {
        let words = question_words(question);
        let Some(ExcerptText {
            chunk: text,
            range,
            answers,
        }) = &self.text
        else {
            let (frame, matched) = (&self.answer.frame, self.answer.matched.as_ref());
            return to_html(&segments(frame, &words, matched));
        };
        let excerpt = &text[range.clone()];
        let (mut of_excerpt, mut read) = (Vec::new(), Vec::new());
        for (answer, matched) in answers {
            let answer = answer.start - range.start..answer.end - range.start;
            read.extend(matched.map(|matched| (answer.clone(), matched)));
            of_excerpt.push(answer);
        }
        let words = matching_words(excerpt, &words, &read);
        let mut html = to_html(&segments_of(excerpt, &of_excerpt, &words));
        if range.start > 0 {
            html.insert_str(0, "… ");
        }
        if range.end < text.len() {
            html.push_str(" …");
        }
        html
    }
}

/// Bytes from the first to the last sentence within [`CONTEXT`] of an answer in its chunk.
fn around(document: &PublishedDocument, place: &AnswerPosition) -> Range<usize> {
    let mut range = place.range.clone();
    for other in &document.answers {
        if other.chunk == place.chunk {
            let other = &other.range;
            if other.start < range.start && place.range.start - other.start <= CONTEXT {
                range.start = other.start;
            }
            if other.end > range.end && other.end - place.range.end <= CONTEXT {
                range.end = other.end;
            }
        }
    }
    range
}

/// Contributions to a score in a line, the largest first: of words of the question, summed over the
/// fields or the tokens of late interaction, of the similarity of vectors, and of a question of the
/// answer. Empty for a score without parts, such as a score of a cross-encoder.
pub(super) fn contributions(score: &Explanation, question: &str) -> String {
    let mut words: HashMap<String, String> = HashMap::new();
    ANALYSIS.analyze(question, &mut |token| {
        let word = &question[token.start..token.end];
        words
            .entry(token.term.to_owned())
            .or_insert(word.to_lowercase());
    });
    let mut found: Vec<(String, f64)> = Vec::new();
    collect_contributions(score, 1.0, &mut |name, value| {
        let name = words.get(name).map_or(name, String::as_str);
        match found.iter_mut().find(|(other, _)| other == name) {
            Some((_, sum)) => *sum += value,
            None => found.push((name.to_owned(), value)),
        }
    });
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> = found
        .iter()
        .map(|(name, value)| format!("{name} {value:.2}"))
        .collect();
    parts.join(" + ")
}

/// Emits the leaves that a reader knows, with the weights of the nodes above.
fn collect_contributions(node: &Explanation, weight: f64, emit: &mut dyn FnMut(&str, f64)) {
    let (value, description) = (weight * node.value, node.description.as_str());
    if description.starts_with("not part of the score") {
        // The score of a candidate before reranking.
        return;
    }
    // A term of BM25 is `field:term: formula`.
    if let Some((term, formula)) = description.split_once(": ")
        && formula.starts_with("w - w / (")
        && let Some((_, term)) = term.split_once(':')
    {
        emit(term, value);
    } else if let Some(token) = description.strip_prefix("query token ") {
        emit(&query_word(token), value);
    } else if description.starts_with("cosine: inner product") {
        emit("similarity", value);
    } else if description.starts_with("a question of the answer") {
        emit("question", value);
    } else if description.ends_with("weight × score") || description == "product of" {
        // The weight is the first node, and the weighted score the second one.
        if let [factor, score] = node.details.as_slice() {
            collect_contributions(score, weight * factor.value, emit);
        }
    } else {
        for detail in &node.details {
            collect_contributions(detail, weight, emit);
        }
    }
}

/// Word of a token of the question, from `NUMBER "TOKEN" of "WORD": document token ...`.
/// Tokens without text, such as `[MASK]`, have one name.
fn query_word(description: &str) -> String {
    let token = description.split(": document token ").next();
    let shown = token.and_then(|token| token.split_once(' '));
    shown.map_or("tokens without text".to_owned(), |(_, shown)| {
        let word = shown.rsplit(" of ").next().unwrap_or(shown);
        word.trim_matches('"').to_lowercase()
    })
}

/// Nested lists of the values that a score is computed from.
pub(super) fn explanation(node: &Explanation) -> Markup {
    html! {
        ul.explanation { (explanation_item(node, 0)) }
    }
}

/// Levels of an explanation that are shown.
const DEPTH: usize = 12;

fn explanation_item(node: &Explanation, depth: usize) -> Markup {
    html! {
        li {
            span.value { (format!("{:.4}", node.value)) } " " (node.description)
            @if !node.details.is_empty() && depth < DEPTH {
                ul { @for detail in &node.details { (explanation_item(detail, depth + 1)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ir_core::{Candidate, Reranker, Retriever as _, Search, SearchError, TokenVectors};
    use ir_knn::explain_max_sim;
    use ir_qa::retrieval::{AnswerConfig, AnswerIndex, AnswerReranking};
    use ir_qa::{ChunkKind, Frame};

    use super::*;

    #[test]
    fn powers_are_marked_and_function_words_are_not() {
        let text = "Which of the 104 cups had 10⁴ cells of 10⁵?";
        let marked = |question: &str| -> Vec<&str> {
            let spans = question_words(question).spans(text).into_iter();
            spans.map(|span| &text[span]).collect()
        };
        assert_eq!(
            marked("Which cups had 10^4 cells?"),
            ["cups", "10⁴", "cells"]
        );
        assert_eq!(marked("104"), ["104"]);
        assert_eq!(marked("which"), ["Which"]);
    }

    /// 0.5 × (1.2 + 0.4) of a word in two fields, 0.5 × 2 of another one, and a cosine.
    #[test]
    fn contributions_are_of_words() {
        let term = |name: &str, value: f64| {
            Explanation::new(value, format!("{name}: w - w / (1 + tf / (k1 × length))"))
                .with_detail(Explanation::new(9.0, "w = boost × idf"))
        };
        let bm25 = Explanation::new(3.6, "sum, in double precision, of")
            .with_detail(term("answer:tea", 1.2))
            .with_detail(term("context:tea", 0.4))
            .with_detail(term("answer:leav", 2.0));
        let scaled = Explanation::new(1.8, "product of")
            .with_detail(Explanation::new(
                0.5,
                "factor of the length of the question",
            ))
            .with_detail(bm25);
        let weighted = |name: &str, weight: f64, tree: Explanation| {
            Explanation::new(weight * tree.value, format!("{name}: weight × score"))
                .with_detail(Explanation::new(weight, "weight"))
                .with_detail(tree)
        };
        let cosine = "cosine: inner product / (norm of the query × norm of the document)";
        let cosine = Explanation::new(0.7, cosine).with_detail(Explanation::new(3.0, "sum"));
        let tree = Explanation::new(2.5, "sum, in double precision, of")
            .with_detail(weighted("BM25", 1.0, scaled))
            .with_detail(weighted("cosine", 1.0, cosine));
        let line = contributions(&tree, "Which Leaves make tea?");
        assert_eq!(line, "leaves 1.00 + tea 0.80 + similarity 0.70");
        let asked = Explanation::new(1_000.0, "a question of the answer is the query");
        assert_eq!(contributions(&asked, "tea"), "question 1000.00");
        assert_eq!(contributions(&Explanation::new(1.0, "other"), "tea"), "");
    }

    /// Brevity as a score.
    struct Brevity;

    impl Reranker for Brevity {
        type Query = str;

        fn scores(
            &self,
            _: &str,
            candidates: &[Candidate<'_>],
        ) -> Result<Vec<Option<f32>>, SearchError> {
            let scores = candidates.iter();
            Ok(scores.map(|it| Some(-(it.text.len() as f32))).collect())
        }
    }

    /// The contributions to the score before reranking are none to the score.
    #[test]
    fn contributions_are_to_the_score_of_the_reranker() {
        let frame = |id: &str, text: &str| Frame::new(id, "p", ChunkKind::Content, text, 0, text);
        let frames = [("a", "Green tea has leaves."), ("b", "Tea leaves.")];
        let frames = frames.map(|(id, text)| frame(id, text).unwrap()).to_vec();
        let index = AnswerIndex::lexical(frames, &AnswerConfig::default()).unwrap();
        let (index, question, search) = (Arc::new(index), "Which leaves?", Search::top(2));
        let hit = index.search(question, &search).unwrap().hits()[0];
        let before = index.explain(question, hit.doc, &search).unwrap().unwrap();
        assert!(contributions(&before, question).starts_with("leaves "));

        let reranking = AnswerReranking::default();
        let reranked = reranking.rerank(&index, Arc::new(Brevity)).unwrap();
        let after = reranked.explain(question, hit.doc, &search).unwrap();
        let after = after.unwrap();
        assert!(after.to_string().contains("answer:leav"), "{after}");
        assert_eq!(contributions(&after, question), "");
    }

    /// "teas" has two tokens, with 0.9 and 0.25, "leaves" has 0.5, and `[MASK]` 0.1.
    #[test]
    fn contributions_of_late_interaction_are_of_words() {
        let question = "Teas leaves";
        let spans = vec![0..3, 3..4, 5..11, 11..11];
        let query = TokenVectors::new(1, vec![0.9, 0.25, 0.5, 0.1], spans);
        let answer = TokenVectors::new(1, vec![0.25, 1.0], vec![0..5, 6..9]);
        let tree = explain_max_sim((question, &query), ("green tea", &answer)).unwrap();
        let line = "teas 1.15 + leaves 0.50 + tokens without text 0.10";
        assert_eq!(contributions(&tree, question), line);
    }
}
