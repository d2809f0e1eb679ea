//! Questions by templates on the structure of sentences.
//!
//! There is no part-of-speech tagger: closed-class words, suffixes and the forms of some hundred
//! verbs find subject and finite verb of plain sentences. Other sentences have no questions,
//! because a wrong question is a wrong vector. Questions contain words of their sentence only, so
//! they do not help BM25; a language model behind an endpoint adds other words.

mod authors;
mod clause;
mod lexicon;
mod nouns;
mod phrases;
mod templates;

use clause::{Clause, is_name, is_plural, sentence_words, split};
use lexicon::{ARTICLES, CONJUNCTIONS, DETERMINERS, PREPOSITIONS};

use super::{QuestionError, QuestionGenerator};
use crate::frame::{ChunkKind, Frame};

/// Question generator by rules on the structure of English sentences, after Heilman and Smith,
/// "Good Question! Statistical Ranking for Question Generation" (NAACL 2010), without a parser.
///
/// A sentence is split into subject, finite verb and the words after it. Templates ask for one of
/// them:
///
/// | sentence | question |
/// |---|---|
/// | A teapot is a pot for tea. | What is a teapot? |
/// | Paris is the capital of France. | What is the capital of France? |
/// | The bridge was built in 1890. | When was the bridge built? |
/// | The bridge was built by Romans. | Who built the bridge? |
/// | Twelve teams won the cup. | How many teams won the cup? |
/// | The model uses attention for parsing. | What does the model use for parsing? |
/// | We propose a method for parsing. | What do the authors propose for parsing? |
///
/// Word classes are closed lists and suffixes, and verbs are about 250 common ones: there is no
/// part-of-speech tagger. Sentences with an unclear structure have no questions: pronouns as
/// subjects, clauses without a conjunction, negations, quotations, formulas, and lists. Questions
/// contain words of the sentence only, so they rarely help BM25.
///
/// ```
/// use ir_qa::questions::RuleQuestions;
/// let rules = RuleQuestions::default();
/// let questions = rules.questions("The cup has twelve winners.", "");
/// assert_eq!(questions, ["How many winners does the cup have?"]);
/// assert!(rules.questions("It was late.", "").is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleQuestions {
    /// Maximum number of questions of a sentence; the most specific ones are kept. Default: 3.
    pub max_questions: usize,
}

impl Default for RuleQuestions {
    fn default() -> Self {
        Self { max_questions: 3 }
    }
}

impl RuleQuestions {
    /// Questions that a sentence answers. The context, which may be empty, shows whether the first
    /// word is a name: a word that the context has in lower case is none.
    #[must_use]
    pub fn questions(&self, sentence: &str, context: &str) -> Vec<String> {
        let Some(text) = sentence_words(sentence) else {
            return Vec::new();
        };
        let Some(words) = split(&text) else {
            return Vec::new();
        };
        let main = without_lead(&words);
        let mut questions = authors::author_questions(main);
        questions.extend(authors::existence_questions(main));
        if let Some(clause) = Clause::parse(&words)
            && let Some(subject) = subject_text(clause.subject, context)
        {
            questions.extend(templates::questions(&clause, &subject));
        }
        let mut kept: Vec<String> = Vec::new();
        for question in questions.iter().filter_map(|question| finished(question)) {
            if kept.len() < self.max_questions && !kept.contains(&question) {
                kept.push(question);
            }
        }
        kept
    }
}

impl QuestionGenerator for RuleQuestions {
    fn generate(&self, frames: &[&Frame]) -> Result<Vec<Vec<String>>, QuestionError> {
        let questions = frames.iter().map(|frame| match frame.kind {
            ChunkKind::Content => self.questions(&frame.answer, &frame.context),
            _ => Vec::new(),
        });
        Ok(questions.collect())
    }

    fn name(&self) -> String {
        format!("rules 1 max {}", self.max_questions)
    }
}

/// Words after "In this paper," and the like.
fn without_lead<'t>(words: &'t [&'t str]) -> &'t [&'t str] {
    let is_subject =
        |word: &str| word.eq_ignore_ascii_case("we") || word.eq_ignore_ascii_case("there");
    match words.iter().take(9).position(|word| *word == ",") {
        Some(comma) if words.get(comma + 1).is_some_and(|word| is_subject(word)) => {
            &words[comma + 1..]
        }
        _ => words,
    }
}

/// Text of a subject within a sentence: the first word has a capital letter only in names. `None`
/// if it may be a name or not.
fn subject_text(subject: &[&str], context: &str) -> Option<String> {
    let (first, rest) = subject.split_first()?;
    if first.eq_ignore_ascii_case("our") {
        return Some(format!("the authors' {}", rest.join(" ")));
    }
    let mut text = match capitalization(first, rest, context)? {
        Capitalization::Name => (*first).to_owned(),
        Capitalization::Common => first.to_lowercase(),
    };
    for word in rest {
        text.push(' ');
        text.push_str(word);
    }
    Some(text)
}

/// Why the first word of a sentence has a capital letter.
enum Capitalization {
    Name,
    Common,
}

/// Capitalization of the first word of a subject; `None` if unclear.
fn capitalization(first: &str, rest: &[&str], context: &str) -> Option<Capitalization> {
    if ARTICLES.has(first) || DETERMINERS.has(first) || lexicon::NUMBERS.has(first) {
        return Some(Capitalization::Common);
    }
    let has_sign = first
        .chars()
        .skip(1)
        .any(|c| c.is_uppercase() || c.is_ascii_digit());
    if has_sign || !is_name(first) {
        return Some(Capitalization::Name);
    }
    let lower = first.to_lowercase();
    let mut words = context.split(|c: char| !c.is_alphanumeric() && c != '-');
    if words.any(|word| word == lower) {
        return Some(Capitalization::Common);
    }
    // A name in the middle of a sentence, and not in a title.
    let words: Vec<&str> = context.split_whitespace().collect();
    let joins =
        |word: &str| DETERMINERS.has(word) || PREPOSITIONS.has(word) || CONJUNCTIONS.has(word);
    let is_lower = |word: &str| word.starts_with(char::is_lowercase);
    let is_inside = words.windows(3).any(|near| {
        let end = near[1].trim_end_matches(|c: char| !c.is_alphanumeric());
        end == first && is_lower(near[0]) && joins(near[0]) && (is_lower(near[2]) || end != near[1])
    });
    let is_before_name = rest
        .first()
        .is_some_and(|next| is_name(next) || *next == "of");
    if is_inside || is_before_name {
        return Some(Capitalization::Name);
    }
    // "Neural networks", but neither "Roman law" nor "Bayes networks" nor "Grant".
    let nouns = "tion sion ment ness ity ism ogy sis ance ence tions ments";
    let adjectives = "al ive ous ic ed ing ar ent ant ble less ful ary ory";
    let ends = |list: &str| list.split(' ').any(|end| first.ends_with(end));
    if first.len() > 5 && (ends(nouns) || !rest.is_empty() && ends(adjectives)) {
        return Some(Capitalization::Common);
    }
    let of_names = ["an", "ish", "ese", "ch", "'s", "’s"];
    let is_single = rest.is_empty() && !is_plural(first);
    (is_single || of_names.iter().any(|end| first.ends_with(end))).then_some(Capitalization::Name)
}

/// The question if it is well-formed as far as its characters show.
fn finished(question: &str) -> Option<String> {
    let words = question.split(' ').count();
    let text = question.replace(" ,", ",");
    let is_finished = (3..=25).contains(&words)
        && !text.contains(",?")
        && !text.contains("  ")
        && !text.contains(" ?")
        && text.starts_with(char::is_uppercase);
    is_finished.then_some(text)
}
