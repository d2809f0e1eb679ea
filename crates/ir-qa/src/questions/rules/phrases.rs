//! Parts of clauses: segments without commas, purposes, numbers, dates.

use super::clause::{is_adverb, is_auxiliary, is_count, is_month, is_plural, is_year, noun_head};
use super::lexicon::{
    ARTICLES, CLAUSE_STARTERS, CONJUNCTIONS, DETERMINERS, INFINITIVE_NOUNS, MULTIPLES, NOUN_LIKE,
    PERSONAL_PRONOUNS, POSSESSIVE_PRONOUNS, PREPOSITIONS, PURPOSEFUL_VERBS, RELATIVES, UNITS,
    VerbForm, finite_verbs, is_base,
};

/// Words up to the first comma or clause that can be left out. `None` if a list may be cut, or
/// nothing is left.
pub(super) fn segment<'t>(tail: &'t [&'t str]) -> Option<&'t [&'t str]> {
    let mut end = tail.len();
    for (n, word) in tail.iter().enumerate() {
        let next = tail.get(n + 1).copied().unwrap_or_default();
        if *word == "that" && n == 0 {
            return None;
        }
        if *word == "," {
            let is_list = !(RELATIVES.has(next)
                || PREPOSITIONS.has(next)
                || next.ends_with("ing")
                || ARTICLES.has(next) && !joins_list(&tail[n + 1..])
                || next == "and" && tail.get(n + 2).is_some_and(|it| starts_clause(it))
                || next == "making"
                || is_adverb(next));
            let is_date = n >= 2 && is_year(next) && is_month(tail[n - 2]);
            if is_date {
                continue;
            }
            if is_list {
                return None;
            }
            end = n;
            break;
        }
        let is_joined = *word == "but" || CONJUNCTIONS.has(word);
        let is_unclear =
            *word == "but" || is_adverb(next) || next.ends_with("ed") && next.len() > 4;
        if is_joined && is_unclear && !starts_clause(next) && !has_subject(&tail[n + 1..]) {
            // "a larger but smoother one", "unpaired and randomly collected".
            return None;
        }
        let is_clause = is_joined && (starts_clause(next) || has_subject(&tail[n + 1..]));
        if is_clause
            || matches!(
                *word,
                "because" | "while" | "whereas" | "although" | "though" | "so" | "when" | "if"
            )
        {
            end = n;
            break;
        }
    }
    (end > 0).then_some(&tail[..end])
}

/// Returns `true` if the rest after a comma ends a list, such as "a knife, and a spoon".
pub(super) fn joins_list(rest: &[&str]) -> bool {
    let end = rest.iter().take(6);
    end.clone().any(|word| *word == "and" || *word == "or")
}

/// Returns `true` if a subject and an auxiliary follow a conjunction: "and many were".
pub(super) fn has_subject(words: &[&str]) -> bool {
    let near = words.iter().take(5);
    let mut near = near.take_while(|word| !CLAUSE_STARTERS.has(word) && **word != ",");
    near.any(|word| is_auxiliary(word))
}

/// Returns `true` if a word after a conjunction starts a clause or a second predicate.
pub(super) fn starts_clause(word: &str) -> bool {
    is_auxiliary(word)
        || PERSONAL_PRONOUNS.has(word)
        || finite_verbs(word)
            .any(|(verb, form)| form == VerbForm::Past || !NOUN_LIKE.has(verb.base))
}

/// Words that can end a question, or no words.
pub(super) fn is_complete(words: &[&str]) -> bool {
    words.last().is_none_or(|last| {
        !(PREPOSITIONS.has(last)
            || DETERMINERS.has(last)
            || CONJUNCTIONS.has(last)
            || CLAUSE_STARTERS.has(last)
            || POSSESSIVE_PRONOUNS.has(last)
            || *last == ",")
    })
}

/// Returns `true` if no word refers to an earlier text, or to authors and readers.
pub(super) fn refers_to_nothing(words: &[&str]) -> bool {
    !words.iter().any(|word| {
        PERSONAL_PRONOUNS.has(word)
            || POSSESSIVE_PRONOUNS.has(word)
            || ["this", "these", "those", "such"].contains(word)
    })
}

/// A phrase that starts with "for" or "to", if it belongs to the verb.
pub(super) fn purpose<'t>(verb: &str, tail: &'t [&'t str]) -> Option<&'t [&'t str]> {
    if !PURPOSEFUL_VERBS.has(verb) {
        return None;
    }
    let at = tail
        .iter()
        .skip(1)
        .position(|word| matches!(*word, "for" | "to"))?
        + 1;
    let words = &tail[at..];
    let belongs = match words[0] {
        "for" => words.get(1).is_some_and(|it| !is_count(it)),
        _ => words.get(1).is_some_and(|it| is_base(it)) && !INFINITIVE_NOUNS.has(tail[at - 1]),
    };
    let is_clear = (2..=10).contains(&words.len())
        && is_complete(words)
        && words
            .iter()
            .all(|word| !matches!(*word, "that" | "which" | "," | "where" | "who"));
    (belongs && is_clear).then_some(words)
}

/// Noun phrase of a subject that starts with a number: without the number.
pub(super) fn counted_subject<'t>(subject: &'t [&'t str]) -> Option<&'t [&'t str]> {
    let start = skip_approximation(subject);
    let mut rest = &subject[start..];
    if !rest.first().is_some_and(|word| is_count(word)) {
        return None;
    }
    rest = &rest[1..];
    while rest.first().is_some_and(|word| MULTIPLES.has(word)) {
        rest = &rest[1..];
    }
    let head = noun_head(rest);
    let is_clear = rest
        .first()
        .is_some_and(|it| !PREPOSITIONS.has(it) && !CONJUNCTIONS.has(it))
        && is_plural(head)
        && !UNITS.contains(head)
        && !rest
            .iter()
            .any(|word| is_count(word) || CONJUNCTIONS.has(word));
    is_clear.then_some(rest)
}

/// Noun phrase that starts with a number, without the number, and the words after it.
pub(super) fn counted_object<'t>(object: &'t [&'t str]) -> Option<(&'t [&'t str], &'t [&'t str])> {
    let mut rest = &object[skip_approximation(object)..];
    if !rest.first().is_some_and(|word| is_count(word)) {
        return None;
    }
    rest = &rest[1..];
    while rest.first().is_some_and(|word| MULTIPLES.has(word)) {
        rest = &rest[1..];
    }
    let plural = rest.iter().take(4).position(|word| is_plural(word))?;
    let (noun, after) = rest.split_at(plural + 1);
    let is_end = after
        .first()
        .is_none_or(|word| PREPOSITIONS.has(word) && *word != "of");
    let is_clear = is_end
        && noun
            .iter()
            .all(|word| !PREPOSITIONS.has(word) && !CONJUNCTIONS.has(word))
        && noun.iter().all(|word| !is_count(word) && *word != ",")
        && !UNITS.contains(noun[plural])
        && !after
            .iter()
            .any(|word| is_count(word) || is_year(word) || CONJUNCTIONS.has(word));
    is_clear.then_some((noun, after))
}

/// Number of words such as "more than".
pub(super) fn skip_approximation(words: &[&str]) -> usize {
    let lower: Vec<String> = words
        .iter()
        .take(2)
        .map(|word| word.to_lowercase())
        .collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    match lower[..] {
        ["more" | "less" | "fewer", "than"] | ["at", "least" | "most"] | ["up", "to"] => 2,
        [
            "about" | "over" | "around" | "approximately" | "nearly" | "almost" | "roughly",
            _,
        ] => 1,
        _ => 0,
    }
}

/// Position of a date: "in 1890", "in May 1890", "on 5 May 1890", "on May 5 , 1890".
pub(super) fn date(words: &[&str]) -> Option<std::ops::Range<usize>> {
    (0..words.len()).find_map(|at| {
        let length = date_length(&words[at..])?;
        Some(at..at + length)
    })
}

pub(super) fn is_date(words: &[&str]) -> bool {
    let length = date_length(words);
    length.is_some_and(|length| length == words.len())
}

pub(super) fn date_length(words: &[&str]) -> Option<usize> {
    let is_day = |word: &str| {
        (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    match *words {
        [start, year, ..] if is_in(start) && is_year(year) => Some(2),
        [start, month, year, ..] if is_in(start) && is_month(month) && is_year(year) => Some(3),
        [start, day, month, year, ..]
            if is_on(start) && is_day(day) && is_month(month) && is_year(year) =>
        {
            Some(4)
        }
        [start, month, day, ",", year, ..]
            if is_on(start) && is_month(month) && is_day(day) && is_year(year) =>
        {
            Some(5)
        }
        _ => None,
    }
}

pub(super) fn is_in(word: &str) -> bool {
    word.eq_ignore_ascii_case("in")
}

pub(super) fn is_on(word: &str) -> bool {
    word.eq_ignore_ascii_case("on")
}
