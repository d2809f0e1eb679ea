//! Reader by words: the answer is near the words of the question, and is none of them.

use std::collections::{HashMap, HashSet};

use ir_bm25::analysis::{Analysis, AnalysisPipeline};
use ir_core::Analyzer;

use super::{AnswerSpan, Reader, ReaderError, ReaderInput};
use crate::word_class::WordClass;
use ir_core::character_count;

/// Reader without a model.
///
/// Candidates are runs of words of the context without words of the question, without stop words
/// at their ends and without punctuation inside, of at most [`LexicalReader::max_words`] words.
/// Their score is the sum over the words of the question of
///
/// 1 / ((1 + d) · n)
///
/// for the distance d in words to the nearest occurrence of the word in the context, and the number
/// n of its occurrences, plus 0.01 for each word after the first, plus
/// [`LexicalReader::type_weight`] if the candidate is a whole phrase of the kind that the question
/// asks for. The sum is computed for the first and the last word of the candidate, and the larger
/// one counts. Words are compared after Porter's stemmer. The first 64 distinct words of a question
/// count.
///
/// | question | kind |
/// |---|---|
/// | how many, how much, how long, ... | numbers |
/// | when, what year, ... | years, days and months |
/// | who, whom, whose | names, not after in, at, near and on |
/// | where | names after in, at, near, from and to |
///
/// Nearness to the words of the question is the distance-based baseline of Richardson, Burges and
/// Renshaw, "MCTest" (EMNLP 2013), which SQuAD's authors use with spans as candidates.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LexicalReader {
    analyzer: AnalysisPipeline,
    /// Maximum number of words of a span. Range: ≥ 1. Default: 5.
    pub max_words: usize,
    /// Weight of the kind of answer that the question asks for. Default: 1.
    pub type_weight: f32,
}

impl Default for LexicalReader {
    #[expect(clippy::expect_used, reason = "the analysis is a preset")]
    fn default() -> Self {
        Self {
            analyzer: Analysis::default().build().expect("presets are valid"),
            max_words: 5,
            type_weight: 1.0,
        }
    }
}

/// Maximum number of distinct terms of a question. The time is proportional to the number of terms
/// times the number of words of the context.
const MAX_TERMS: usize = 64;

/// Kind of answer that a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    Number,
    Person,
    Time,
    Place,
    Any,
}

/// Word of a context.
struct Word<'c> {
    text: &'c str,
    start: usize,
    /// Term after stemming; empty for stop words.
    term: String,
    /// If `true`, other characters than white space are between the previous word and this one.
    starts_piece: bool,
}

impl LexicalReader {
    fn words<'c>(&self, context: &'c str) -> Vec<Word<'c>> {
        let mut words: Vec<Word<'c>> = Vec::new();
        let mut terms: HashMap<&str, String> = HashMap::new();
        let mut end = 0;
        for (start, text) in word_ranges(context) {
            let term = terms.entry(text).or_insert_with(|| {
                let mut terms = self.analyzer.terms(text);
                if terms.is_empty() {
                    String::new()
                } else {
                    terms.swap_remove(0)
                }
            });
            let between = &context[end..start];
            words.push(Word {
                text,
                start,
                term: term.clone(),
                starts_piece: between.chars().any(|c| !c.is_whitespace()),
            });
            end = start + text.len();
        }
        words
    }

    fn spans(&self, input: &ReaderInput<'_>, n_best: usize) -> Vec<AnswerSpan> {
        let context = input.context;
        let words = self.words(context);
        let mut asked = HashSet::new();
        for term in self.analyzer.terms(input.question) {
            if asked.len() == MAX_TERMS {
                break;
            }
            asked.insert(term);
        }
        let distances = nearness(&words, &asked);
        let kind = kind_of(input.question);
        let bytes = input.bytes();
        let mut found: Vec<(f32, usize, usize)> = Vec::new();
        for first in 0..words.len() {
            let word = &words[first];
            if word.start < bytes.start || word.term.is_empty() || asked.contains(&word.term) {
                continue;
            }
            for last in first..words.len().min(first.saturating_add(self.max_words)) {
                let word = &words[last];
                let is_end = word.start + word.text.len() > bytes.end
                    || last > first && word.starts_piece
                    || asked.contains(&word.term);
                if is_end {
                    break;
                }
                if word.term.is_empty() {
                    continue;
                }
                let is_kind = is_of_kind(kind, &words, first, last);
                let near = distances[first].max(distances[last]);
                let length = (last - first) as f32;
                let score = near + if is_kind { self.type_weight } else { 0.0 } + 0.01 * length;
                found.push((score, first, last));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        found.truncate(n_best);
        let span = |(score, first, last): (f32, usize, usize)| {
            let (start, end) = (
                words[first].start,
                words[last].start + words[last].text.len(),
            );
            let characters = character_count(&context[..start]);
            let length = character_count(&context[start..end]);
            AnswerSpan {
                characters: characters..characters + length,
                score,
            }
        };
        found.into_iter().map(span).collect()
    }
}

impl Reader for LexicalReader {
    fn read(
        &self,
        inputs: &[ReaderInput<'_>],
        n_best: usize,
    ) -> Result<Vec<Vec<AnswerSpan>>, ReaderError> {
        Ok(inputs
            .iter()
            .map(|input| self.spans(input, n_best))
            .collect())
    }
}

/// Words of a text with their byte offsets: letters and digits, with signs between them.
fn word_ranges(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        let joins = |c: char| match c {
            '-' | '\'' | '’' => next.is_some_and(char::is_alphanumeric),
            '.' | ',' => next.is_some_and(|next| next.is_ascii_digit()),
            _ => false,
        };
        let is_inside = c.is_alphanumeric() || start.is_some() && joins(c);
        match (start, is_inside) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                words.push((from, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        words.push((from, &text[from..]));
    }
    words
}

/// Nearness of each word to the words of the question.
fn nearness(words: &[Word<'_>], asked: &HashSet<String>) -> Vec<f32> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, word) in words.iter().enumerate() {
        if asked.contains(&word.term) {
            places.entry(&word.term).or_default().push(at);
        }
    }
    // In a fixed order, so that sums have the same bits.
    let mut places: Vec<(&str, Vec<usize>)> = places.into_iter().collect();
    places.sort_unstable();
    let mut nearness = vec![0.0; words.len()];
    for (_, places) in &places {
        let weight = 1.0 / places.len() as f32;
        let mut next = 0;
        for (at, sum) in nearness.iter_mut().enumerate() {
            while next + 1 < places.len()
                && places[next + 1].abs_diff(at) <= places[next].abs_diff(at)
            {
                next += 1;
            }
            *sum += weight / (1.0 + places[next].abs_diff(at) as f32);
        }
    }
    nearness
}

static MONTHS: WordClass = WordClass::new(
    "January February March April May June July August September October November December",
);

static NUMBERS: WordClass = WordClass::new(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
    hundred thousand million billion dozen",
);

fn kind_of(question: &str) -> AnswerKind {
    let question = question.to_lowercase();
    let has = |phrase: &str| question.contains(phrase);
    let starts = |word: &str| {
        question
            .split(|c: char| !c.is_alphanumeric())
            .any(|it| it == word)
    };
    if has("how many")
        || has("how much")
        || has("what percent")
        || has("how old")
        || has("how long")
    {
        AnswerKind::Number
    } else if starts("when") || has("what year") || has("which year") || has("what date") {
        AnswerKind::Time
    } else if starts("who") || starts("whom") || starts("whose") {
        AnswerKind::Person
    } else if starts("where") {
        AnswerKind::Place
    } else {
        AnswerKind::Any
    }
}

/// Returns `true` if a span is a whole phrase of a kind: the words at its sides do not continue it.
fn is_of_kind(kind: AnswerKind, words: &[Word<'_>], first: usize, last: usize) -> bool {
    let is_name = |at: usize| words[at].text.starts_with(char::is_uppercase);
    let has_digit = |at: usize| words[at].text.contains(|c: char| c.is_ascii_digit());
    let is_whole = |is: &dyn Fn(usize) -> bool| {
        let all = (first..=last).all(is);
        let continues = first > 0 && !words[first].starts_piece && is(first - 1)
            || last + 1 < words.len() && !words[last + 1].starts_piece && is(last + 1);
        all && !continues
    };
    let is_month = |at: usize| MONTHS.contains(words[at].text);
    let before = first.checked_sub(1).map(|at| words[at].text);
    match kind {
        AnswerKind::Number => is_whole(&has_digit) || is_whole(&|at| NUMBERS.has(words[at].text)),
        AnswerKind::Time => is_whole(&|at| has_digit(at) || is_month(at)),
        AnswerKind::Person => {
            let is_place = before.is_some_and(|it| ["in", "at", "near", "on"].contains(&it));
            is_whole(&is_name) && !is_place
        }
        AnswerKind::Place => {
            let is_after =
                before.is_some_and(|it| ["in", "at", "near", "from", "to"].contains(&it));
            is_whole(&is_name) && is_after
        }
        AnswerKind::Any => false,
    }
}
