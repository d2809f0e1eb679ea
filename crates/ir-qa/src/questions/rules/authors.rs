//! Questions of sentences that start with "we" and "there".

use super::clause::{is_adverb, is_auxiliary};
use super::lexicon::{CLAUSE_STARTERS, CONJUNCTIONS, DETERMINERS, PREPOSITIONS, VAGUE, is_base};
use super::phrases::{counted_object, is_complete, purpose, refers_to_nothing, segment};

/// Questions of sentences with the authors as subject: "We propose a method for parsing."
pub(super) fn author_questions(words: &[&str]) -> Vec<String> {
    let (subject, rest) = match words.split_first() {
        Some((first, rest)) if first.eq_ignore_ascii_case("we") => ("the authors", rest),
        _ => return Vec::new(),
    };
    let mut rest = rest;
    while let Some((first, after)) = rest.split_first() {
        if !is_adverb(first) {
            break;
        }
        rest = after;
    }
    let Some((first, tail)) = rest.split_first() else {
        return Vec::new();
    };
    let Some(verb) = author_verb(first) else {
        return Vec::new();
    };
    let auxiliary = if verb == *first { "do" } else { "did" };
    let base = verb;
    let Some(next) = tail.first() else {
        return Vec::new();
    };
    if *next == "that" {
        let clause = matches!(
            base,
            "show" | "demonstrate" | "find" | "argue" | "prove" | "conclude"
        );
        let question = format!("What {auxiliary} {subject} {base}?");
        return if clause { vec![question] } else { Vec::new() };
    }
    let Some(tail) = segment(tail) else {
        return Vec::new();
    };
    if PREPOSITIONS.has(next) || CLAUSE_STARTERS.has(next) || is_base(next) && *next == "to" {
        return Vec::new();
    }
    if matches!(base, "show" | "find" | "prove" | "demonstrate") && !DETERMINERS.has(next) {
        return Vec::new();
    }
    let mut questions = Vec::new();
    let mut topic = String::new();
    if let Some(words) = purpose(base, tail) {
        let words: Option<Vec<&str>> = words.iter().map(|word| third_person(word)).collect();
        if let Some(words) = words {
            topic = format!(" {}", words.join(" "));
            if words[0] == "to" && matches!(base, "use" | "apply" | "employ" | "leverage") {
                questions.push(format!(
                    "How {auxiliary} {subject} {}?",
                    words[1..].join(" ")
                ));
            }
        }
    }
    let what = match indefinite_object(tail) {
        Some(object) => format!("What {}", object.join(" ")),
        None => "What".to_owned(),
    };
    questions.push(format!("{what} {auxiliary} {subject} {base}{topic}?"));
    questions
}

/// Noun phrase of an object that starts with "a" or "an", without the article and adjectives of
/// praise: "sparse retriever" of "a novel sparse retriever that ...".
fn indefinite_object<'t>(tail: &'t [&'t str]) -> Option<&'t [&'t str]> {
    const PRAISE: &str =
        "new novel simple effective efficient powerful robust first principled promising
        straightforward unique fast";
    let (first, mut object) = tail.split_first()?;
    if !matches!(*first, "a" | "an") {
        return None;
    }
    let ends = |word: &str| {
        PREPOSITIONS.has(word)
            || CLAUSE_STARTERS.has(word)
            || word == "that"
            || word == ","
            || word.ends_with("ed") && word.len() > 4
    };
    while let Some((first, rest)) = object.split_first() {
        let is_praise = PRAISE.split_whitespace().any(|word| word == *first);
        if !(is_praise || matches!(*first, "and" | "yet" | "but")) {
            break;
        }
        object = rest;
    }
    let end = object.iter().position(|word| ends(word));
    let (object, after) = object.split_at(end.unwrap_or(object.len()));
    let next = after.get(1).copied().unwrap_or_default();
    // "a gated network" has a participle before its noun, "a network trained on text" after it.
    let is_cut = after.first().is_some_and(|word| word.ends_with("ed")) && !PREPOSITIONS.has(next);
    let head = object.last()?;
    let is_clear = object.len() <= 5
        && !is_cut
        && !VAGUE.has(head)
        && !head.ends_with("ing")
        && !object.iter().any(|word| {
            CONJUNCTIONS.has(word) || is_adverb(word) || DETERMINERS.has(word) || is_auxiliary(word)
        })
        && head.chars().all(|c| c.is_lowercase() || c == '-');
    is_clear.then_some(object)
}

/// Questions of sentences that start with "There are" or "There were".
pub(super) fn existence_questions(words: &[&str]) -> Vec<String> {
    let (Some(first), Some(form)) = (words.first(), words.get(1)) else {
        return Vec::new();
    };
    if !first.eq_ignore_ascii_case("there") || !matches!(*form, "are" | "were") {
        return Vec::new();
    }
    let Some(tail) = segment(&words[2..]) else {
        return Vec::new();
    };
    let Some((noun, rest)) = counted_object(tail) else {
        return Vec::new();
    };
    if !is_complete(rest) || !refers_to_nothing(rest) {
        return Vec::new();
    }
    let (noun, rest) = (noun.join(" "), rest.join(" "));
    let space = if rest.is_empty() { "" } else { " " };
    vec![format!("How many {noun} {form} there{space}{rest}?")]
}

/// Base form of a verb by which authors say what they do, from its present or past.
fn author_verb(word: &str) -> Option<&'static str> {
    const VERBS: &str =
        "propose present introduce develop describe investigate study evaluate compare
        analyze explore examine consider provide use apply employ leverage extend address
        design derive implement construct build release collect create conduct show demonstrate
        find argue prove conclude establish formulate identify report discuss review survey";
    const PAST: [(&str, &str); 5] = [
        ("build", "built"),
        ("show", "showed"),
        ("find", "found"),
        ("study", "studied"),
        ("apply", "applied"),
    ];
    let mut verbs = VERBS.split_whitespace();
    verbs.find(|base| {
        let irregular = PAST.iter().find(|(verb, _)| verb == base);
        let past = match irregular {
            Some((_, past)) => (*past).to_owned(),
            None if base.ends_with('e') => format!("{base}d"),
            None => format!("{base}ed"),
        };
        *base == word || past == word
    })
}

/// A pronoun of the authors in the third person. `None` for those without a form that fits.
fn third_person(word: &str) -> Option<&str> {
    match word {
        "our" => Some("their"),
        "we" | "us" | "ours" | "ourselves" | "I" | "my" | "this" | "these" | "it" | "them"
        | "they" | "that" | "those" | "such" | "which" => None,
        _ => Some(word),
    }
}
