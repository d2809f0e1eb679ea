//! Interrogative pronouns: whether a noun phrase is a person, a thing, or unclear.

use super::clause::{is_month, is_name, noun_head};
use super::lexicon::{
    CLAUSE_STARTERS, LOCATED, PERSONS, PLURALS, PREPOSITIONS, ROLES, THING_HEADS, THINGS,
    verb_of_participle,
};

/// Interrogative pronoun of a noun phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrogative {
    Who,
    What,
}

impl Interrogative {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Who => "Who",
            Self::What => "What",
        }
    }
}

/// Returns `true` if a word looks like a past participle.
pub(super) fn is_participle(word: &str) -> bool {
    verb_of_participle(word).is_some()
        || word.ends_with("ed") && word.len() > 4 && word.chars().all(char::is_lowercase)
        || LOCATED.has(word)
}

/// Interrogative pronoun for a subject with a complement. `None` if it may be a person or not.
pub(super) fn interrogative(subject: &[&str], complement: &[&str]) -> Option<Interrogative> {
    let head = noun_head(complement);
    let described = complement
        .iter()
        .take_while(|word| **word != "," && !PREPOSITIONS.has(word) && !CLAUSE_STARTERS.has(word));
    let subject_head = noun_head(subject);
    if described.clone().any(|word| is_person(word)) || is_person(subject_head) {
        return Some(Interrogative::Who);
    }
    let is_named = subject.iter().all(|word| is_name(word) || *word == "of");
    let is_acronym = subject
        .iter()
        .any(|word| word.chars().skip(1).any(char::is_uppercase));
    if is_named && !is_acronym && !THING_HEADS.has(head) {
        return None;
    }
    Some(Interrogative::What)
}

/// Returns `true` if a noun denotes a person.
pub(super) fn is_person(word: &str) -> bool {
    let lower = word.to_lowercase();
    let word = lower.as_str();
    PERSONS.has(word)
        || word
            .strip_suffix('s')
            .is_some_and(|singular| PERSONS.has(singular))
        || matches!(word, "people" | "men" | "women" | "children")
        || ["ologist", "icist", "ician", "ographer", "arian"]
            .iter()
            .any(|end| word.ends_with(end))
        || word.ends_with("ist")
            && word.len() > 5
            && !matches!(
                word,
                "exist" | "checklist" | "shortlist" | "playlist" | "twist"
            )
}

/// Returns `true` if a noun may denote a person by its suffix, and is in no list of persons or
/// things; also for [`ROLES`].
pub(super) fn ends_like_agent(word: &str) -> bool {
    let word = word.to_lowercase();
    let singular = word.strip_suffix('s').unwrap_or(&word);
    if ROLES.has(singular) {
        return true;
    }
    let is_agent = ["er", "or", "ee", "ant", "ent", "ian", "eer", "man"]
        .iter()
        .any(|end| singular.ends_with(end));
    let is_thing = ["ment", "event", "ponent"]
        .iter()
        .any(|end| singular.ends_with(end));
    is_agent && !is_thing && !THINGS.has(singular) && !is_person(singular)
}

/// Returns `true` if a word is a period, so that "in the ..." is a time and not a place.
pub(super) fn ends_like_period(word: &str) -> bool {
    let words = "century centuries year years decade decades era period summer winter spring autumn
        morning evening season month day week early late mid";
    words.split_whitespace().any(|it| it == word)
        || word.ends_with("0s")
        || is_month(word)
        || PLURALS.has(word) && word == "data"
}
