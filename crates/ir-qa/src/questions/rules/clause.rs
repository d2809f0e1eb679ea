//! Sentences to clauses: subject, finite verb and what follows it.

use super::lexicon::{
    ADVERBS, BACK_REFERENCES, CLAUSE_STARTERS, CLAUSE_VERBS, CONJUNCTIONS, CONNECTIVES,
    DEMONSTRATIVES, DETERMINERS, DOCUMENTS, LY_NOUNS, MONTHS, NEGATIONS, NOUN_LIKE, NUMBERS,
    PERSONAL_PRONOUNS, PLURALS, POSSESSIVE_PRONOUNS, PREPOSITIONS, VAGUE, Verb, VerbForm,
    finite_verbs,
};

/// Words of a sentence. Commas are words of their own.
pub(super) type Words<'t> = Vec<&'t str>;

/// Maximum number of words of a sentence, and of its subject.
const MAX_WORDS: usize = 45;
const MAX_SUBJECT: usize = 10;

/// Clause of a subject, a finite verb and the words after it.
#[derive(Debug)]
pub(super) struct Clause<'t> {
    /// Words of the phrase before the clause, without its comma.
    pub(super) lead: &'t [&'t str],
    pub(super) subject: &'t [&'t str],
    pub(super) verb: FiniteVerb<'t>,
    /// Words after the verb, without adverbs at their start that tie the sentence to another.
    pub(super) tail: &'t [&'t str],
}

/// Finite verb of a clause.
#[derive(Debug, Clone, Copy)]
pub(super) enum FiniteVerb<'t> {
    /// is, are, was, were.
    Be(&'t str),
    /// can, could, will, ...
    Modal(&'t str),
    /// has, have, had before an object.
    Have(&'t str),
    /// has, have, had before a participle.
    Perfect(&'t str),
    Main(&'static Verb, VerbForm),
}

/// Words of a sentence without parentheses. `None` if the sentence has signs that the rules do not
/// know, such as formulas, colons and brackets without a partner, or is too long.
pub(super) fn sentence_words(sentence: &str) -> Option<String> {
    let mut text = String::with_capacity(sentence.len());
    let mut depth = 0_usize;
    for character in sentence.chars() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            '?' | '!' | ';' | ':' | '\\' | '$' | '=' | '{' | '}' | '<' | '>' | '|' | '*' | '_'
            | '/' | '…' | '—' | '–' | '^' | '~' | '@' | '#' | '+' | '`' | '"' | '“' | '”' | '„'
            | '«' | '»' | '‘' => return None,
            _ if character.is_control() => return None,
            _ => text.push(character),
        }
    }
    let text = text.trim();
    let text = text.strip_suffix('.').filter(|_| depth == 0)?;
    if text.ends_with('.') {
        return None;
    }
    Some(text.to_owned())
}

/// Splits a text of [`sentence_words`] at spaces and commas.
pub(super) fn split(text: &str) -> Option<Words<'_>> {
    let mut words = Words::new();
    for piece in text.split_whitespace() {
        match piece.strip_suffix(',') {
            Some("") => words.push(","),
            Some(word) => words.extend([word, ","]),
            None => words.push(piece),
        }
    }
    let is_plain = |word: &&str| {
        let inner = word.trim_matches(['\'', '’']);
        let is_number = inner.starts_with(|c: char| c.is_ascii_digit());
        *word == ","
            || (inner.starts_with(char::is_alphanumeric)
                && !matches!(word.chars().next(), Some('\'' | '’'))
                && inner.chars().all(|c| c.is_alphanumeric() || "-'’.,&%".contains(c))
                && (is_number || !inner.contains(','))
                // The end of a sentence within the sentence.
                && (!inner.ends_with('.') || inner.len() <= 4))
            || *word == "&"
    };
    let count = words.iter().filter(|word| **word != ",").count();
    let is_usable = (4..=MAX_WORDS).contains(&count)
        && words.iter().all(is_plain)
        && words
            .iter()
            .all(|word| !NEGATIONS.has(word) && !has_contraction(word))
        && words
            .first()
            .is_some_and(|word| word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit()));
    is_usable.then_some(words)
}

fn has_contraction(word: &str) -> bool {
    let word = word.to_lowercase().replace('’', "'");
    let ends = ["n't", "'re", "'ve", "'ll", "'m", "'d"];
    ends.iter().any(|end| word.ends_with(end)) || matches!(&*word, "it's" | "that's" | "there's")
}

impl<'t> Clause<'t> {
    /// Main clause of a sentence. `None` if subject and verb are not clear.
    pub(super) fn parse(words: &'t [&'t str]) -> Option<Self> {
        let (lead, words) = split_lead(words)?;
        let (at, verb) = find_verb(words)?;
        let mut subject = &words[..at];
        while let Some((last, rest)) = subject.split_last() {
            if !is_adverb(last) {
                break;
            }
            subject = rest;
        }
        let mut tail = &words[at + 1..];
        while let Some((first, rest)) = tail.split_first() {
            if !CONNECTIVES.has(first) {
                break;
            }
            tail = rest;
        }
        let clause = Self {
            lead,
            subject,
            verb,
            tail,
        };
        (clause.is_subject_clear() && !clause.has_second_verb()).then_some(clause)
    }

    fn is_subject_clear(&self) -> bool {
        let subject = self.subject;
        let (Some(first), Some(last)) = (subject.first(), subject.last()) else {
            return false;
        };
        let conjunctions = subject.iter().filter(|word| CONJUNCTIONS.has(word)).count();
        let is_document =
            first.eq_ignore_ascii_case("this") && subject.len() == 2 && DOCUMENTS.has(last);
        let is_demonstrative = DEMONSTRATIVES.has(first) && !is_document;
        let starts_badly = PERSONAL_PRONOUNS.has(first)
            || CONJUNCTIONS.has(first)
            || PREPOSITIONS.has(first)
            || CLAUSE_STARTERS.has(first) && !DEMONSTRATIVES.has(first)
            || is_adverb(&first.to_lowercase())
            || first.ends_with("ing") && !first.starts_with(char::is_uppercase);
        let ends_badly = PREPOSITIONS.has(last)
            || DETERMINERS.has(last)
            || CONJUNCTIONS.has(last)
            || VAGUE.has(last) && !is_name(last) && subject.len() <= 2
            || last.ends_with("ly") && !LY_NOUNS.has(last);
        let is_possessive = subject
            .iter()
            .any(|word| POSSESSIVE_PRONOUNS.has(word) && !word.eq_ignore_ascii_case("our"));
        // "More than 200 people".
        let is_approximate = subject.len() > 3 && subject[1] == "than" && is_count(subject[2]);
        let refers_back = subject.iter().skip(1).any(|word| DEMONSTRATIVES.has(word))
            || VAGUE.has(first) && !is_approximate && !is_document
            || subject.len() > 1
                && ["the", "a", "an"].contains(&&*first.to_lowercase())
                && (BACK_REFERENCES.has(subject[1])
                    || VAGUE.has(subject[1])
                        && subject.get(2).is_none_or(|it| PREPOSITIONS.has(it)));
        let is_singular = match self.verb {
            FiniteVerb::Be(form) => matches!(form, "is" | "was"),
            FiniteVerb::Have(form) | FiniteVerb::Perfect(form) => form == "has",
            FiniteVerb::Main(_, form) => form == VerbForm::Third,
            FiniteVerb::Modal(_) => false,
        };
        let coordinates = conjunctions > 0;
        let joins_clauses = subject
            .windows(2)
            .any(|pair| CONJUNCTIONS.has(pair[0]) && DETERMINERS.has(pair[1]));
        let is_indefinite = ["a", "an"].contains(&&*first.to_lowercase());
        let is_generic = match self.verb {
            FiniteVerb::Be(form) => form == "is",
            FiniteVerb::Main(_, form) => form == VerbForm::Third,
            FiniteVerb::Have(form) => form == "has",
            FiniteVerb::Modal(_) => true,
            FiniteVerb::Perfect(_) => false,
        };
        // The head of a singular subject is not a plural, unless a phrase follows the head.
        let head = noun_head(subject);
        let is_plural_verb = match self.verb {
            FiniteVerb::Be(form) => matches!(form, "are" | "were"),
            FiniteVerb::Main(_, form) => form == VerbForm::Base,
            _ => false,
        };
        let agrees = !is_plural_verb || coordinates || is_plural(head) || is_name(head);
        subject.len() <= MAX_SUBJECT
            && !(starts_badly || ends_badly || is_demonstrative || is_possessive || refers_back)
            && conjunctions <= 1
            && !(coordinates && (is_singular || joins_clauses))
            && (!is_indefinite || is_generic)
            && agrees
    }

    /// Returns `true` if a second finite verb follows without a conjunction or relative pronoun.
    /// The first verb may then be a participle.
    fn has_second_verb(&self) -> bool {
        let FiniteVerb::Main(..) = self.verb else {
            return false;
        };
        for (n, word) in self.tail.iter().enumerate() {
            if *word == "," || CLAUSE_STARTERS.has(word) || CONJUNCTIONS.has(word) {
                return false;
            }
            if matches!(
                *word,
                "is" | "are" | "was" | "were" | "has" | "have" | "had"
            ) {
                return true;
            }
            let before = self.tail[..n].last();
            let is_noun = before.is_none_or(|it| DETERMINERS.has(it) || PREPOSITIONS.has(it));
            let next = self.tail.get(n + 1);
            let has_object = next.is_some_and(|it| DETERMINERS.has(it));
            if !is_noun && has_object && finite_verbs(word).any(|(_, it)| it != VerbForm::Base) {
                return true;
            }
        }
        false
    }
}

/// Splits off adverbs and phrases before the subject, with their comma.
fn split_lead<'t>(words: &'t [&'t str]) -> Option<(&'t [&'t str], &'t [&'t str])> {
    let first = words.first()?.to_lowercase();
    if first == "if" || first == "unless" {
        return None;
    }
    let comma = words.iter().position(|word| *word == ",");
    if let Some(comma) = comma {
        let is_adverb = comma == 1 && (is_adverb(&first) || first.ends_with("ly"));
        let is_phrase = comma <= 8 && PREPOSITIONS.has(&first);
        let is_clause = comma <= 14
            && [
                "when", "while", "whereas", "although", "though", "because", "since",
            ]
            .contains(&&*first);
        if is_adverb || is_phrase || is_clause {
            let (mut lead, mut rest) = (&words[..comma], &words[comma + 1..]);
            // "On May 5, 1990, ..."
            if rest.len() > 2 && is_year(rest[0]) && rest[1] == "," {
                lead = &words[..comma + 2];
                rest = &rest[2..];
            }
            return Some((lead, rest));
        }
    }
    if first == "in" && words.len() > 4 && is_year(words[1]) {
        return Some(words.split_at(2));
    }
    Some((&[], words))
}

/// Position and kind of the finite verb.
fn find_verb<'t>(words: &'t [&'t str]) -> Option<(usize, FiniteVerb<'t>)> {
    for (at, word) in words.iter().enumerate().skip(1).take(MAX_SUBJECT + 3) {
        let next = words.get(at + 1).copied();
        match *word {
            "is" | "are" | "was" | "were" => return Some((at, FiniteVerb::Be(word))),
            "can" | "could" | "will" | "would" | "may" | "might" | "must" | "should" => {
                return Some((at, FiniteVerb::Modal(word)));
            }
            "has" | "have" | "had" => {
                let is_object = next.is_some_and(|it| DETERMINERS.has(it) || is_count(it));
                return Some(if is_object {
                    (at, FiniteVerb::Have(word))
                } else {
                    (at, FiniteVerb::Perfect(word))
                });
            }
            "do" | "does" | "did" | "to" | "," => return None,
            _ if CLAUSE_VERBS.has(word) && !is_noun_position(words, at) => return None,
            _ if (CLAUSE_STARTERS.has(word) && !(at == 1 && *word == "than"))
                || PERSONAL_PRONOUNS.has(word) =>
            {
                return None;
            }
            _ => {}
        }
        if is_noun_position(words, at) {
            continue;
        }
        let mut verbs = finite_verbs(word);
        if let Some((verb, form)) =
            verbs.find(|(verb, form)| is_verb_position(words, at, verb, *form))
        {
            return Some((at, FiniteVerb::Main(verb, form)));
        }
        // A finite verb in an unclear position.
        if finite_verbs(word).any(|(verb, _)| !NOUN_LIKE.has(verb.base)) {
            let before = words[at - 1];
            let is_participle = word.ends_with("ed") && next.is_some_and(|it| PREPOSITIONS.has(it));
            if !is_participle || is_adverb(before) {
                return None;
            }
        }
    }
    None
}

/// Returns `true` if the word before a word makes it a noun or an adjective.
fn is_noun_position(words: &[&str], at: usize) -> bool {
    at == 0 || {
        let before = words[at - 1];
        DETERMINERS.has(before)
            || PREPOSITIONS.has(before)
            || CONJUNCTIONS.has(before)
            || before.ends_with("'s")
            || before.ends_with("’s")
    }
}

/// Returns `true` if a form of a verb is the finite verb of a clause that starts at the first word.
fn is_verb_position(words: &[&str], at: usize, verb: &Verb, form: VerbForm) -> bool {
    let next = words.get(at + 1).copied();
    let Some(next) = next else {
        return verb.is_intransitive && form == VerbForm::Past;
    };
    let before = words[..at].iter().rev().find(|word| !is_adverb(word));
    let Some(before) = before else {
        return false;
    };
    if form == VerbForm::Base && !(is_plural(before) && before.chars().all(char::is_lowercase)) {
        return false;
    }
    if let Some(preposition) = verb.preposition {
        return next == preposition;
    }
    let has_determiner = DETERMINERS.has(next) || is_count(next);
    if verb.is_intransitive {
        let is_noun_like = NOUN_LIKE.has(verb.base) && form != VerbForm::Past;
        return !is_noun_like && form != VerbForm::Base && PREPOSITIONS.has(next);
    }
    let is_noun = next != ","
        && !PREPOSITIONS.has(next)
        && !CLAUSE_STARTERS.has(next)
        && !CONJUNCTIONS.has(next)
        && !PERSONAL_PRONOUNS.has(next)
        && !is_adverb(next)
        && !next.ends_with("ing")
        && !next.ends_with("ly")
        && !is_auxiliary(next);
    match form {
        VerbForm::Third | VerbForm::Base if NOUN_LIKE.has(verb.base) => has_determiner,
        VerbForm::Third | VerbForm::Base => is_noun,
        // "Images collected last year": a participle.
        VerbForm::Past => has_determiner || is_noun && is_name(next),
    }
}

/// Returns `true` if a word is a finite auxiliary or modal verb.
pub(super) fn is_auxiliary(word: &str) -> bool {
    let words =
        "is are was were has have had do does did can could will would may might must should";
    words.split(' ').any(|it| it == word)
}

/// Returns `true` if a word is an adverb by list or suffix.
pub(super) fn is_adverb(word: &str) -> bool {
    ADVERBS.has(word)
        || word.len() > 4
            && word.ends_with("ly")
            && !LY_NOUNS.has(word)
            && word.chars().all(char::is_lowercase)
}

/// Returns `true` if a word starts with a capital letter or a digit.
pub(super) fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_uppercase())
}

/// Returns `true` if a word is a year from 1000 to 2099.
pub(super) fn is_year(word: &str) -> bool {
    word.len() == 4
        && word.bytes().all(|byte| byte.is_ascii_digit())
        && (word.starts_with('1') || word.starts_with("20"))
}

/// Returns `true` if a word is a number above one, and not a year.
pub(super) fn is_count(word: &str) -> bool {
    if NUMBERS.has(word) {
        return true;
    }
    let is_number = word.starts_with(|c: char| c.is_ascii_digit() && c != '0')
        && word.ends_with(|c: char| c.is_ascii_digit())
        && word
            .chars()
            .all(|c| c.is_ascii_digit() || c == ',' || c == '.');
    is_number && word != "1" && !is_year(word)
}

/// Returns `true` if a word has the form of a plural noun.
pub(super) fn is_plural(word: &str) -> bool {
    let ends = ["ss", "us", "is", "'s", "’s", "ous"];
    let is_regular =
        word.len() > 3 && word.ends_with('s') && !ends.iter().any(|end| word.ends_with(end));
    is_regular || PLURALS.has(word)
}

/// Last word before the first preposition, comma or relative pronoun: the head of a noun phrase.
pub(super) fn noun_head<'t>(phrase: &[&'t str]) -> &'t str {
    let ends = |word: &str| {
        word == "," || PREPOSITIONS.has(word) || CLAUSE_STARTERS.has(word) || CONJUNCTIONS.has(word)
    };
    let mut end = 1;
    while end < phrase.len() && !ends(phrase[end]) {
        let next = phrase.get(end + 1);
        // A participle: "methods proposed in ...".
        if phrase[end].ends_with("ed") && next.is_some_and(|it| PREPOSITIONS.has(it)) {
            break;
        }
        end += 1;
    }
    phrase.get(end - 1).copied().unwrap_or_default()
}

/// Returns `true` if a word is the name of a month.
pub(super) fn is_month(word: &str) -> bool {
    is_name(word) && MONTHS.has(word)
}
