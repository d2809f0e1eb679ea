//! Templates: the questions of a clause.

use super::clause::{
    Clause, FiniteVerb, is_adverb, is_count, is_month, is_name, is_plural, is_year, noun_head,
};
use super::lexicon::{
    AGENT_VERBS, ARTICLES, CLAUSE_STARTERS, CONJUNCTIONS, DETERMINERS, LOCATED, ORGANIZATIONS,
    PERSONAL_PRONOUNS, PREPOSITIONS, VAGUE, Verb, VerbForm, finite_verbs, verb_of_participle,
};
use super::nouns::{ends_like_agent, ends_like_period, interrogative, is_participle, is_person};
use super::phrases::{
    counted_object, counted_subject, date, is_complete, is_date, purpose, refers_to_nothing,
    segment,
};

/// Questions of a clause, the most specific ones first. `subject` is the text of the subject within
/// a sentence.
pub(super) fn questions(clause: &Clause<'_>, subject: &str) -> Vec<String> {
    let mut writer = Writer {
        clause,
        subject,
        questions: Vec::new(),
    };
    writer.how_many();
    writer.when();
    match clause.verb {
        FiniteVerb::Be(form) => writer.copula(form),
        FiniteVerb::Modal(modal) => writer.modal(modal),
        FiniteVerb::Main(verb, form) => writer.main_verb(verb, form),
        FiniteVerb::Have(_) | FiniteVerb::Perfect(_) => {}
    }
    writer.questions
}

struct Writer<'c> {
    clause: &'c Clause<'c>,
    subject: &'c str,
    questions: Vec<String>,
}

impl Writer<'_> {
    fn ask(&mut self, parts: &[&str]) {
        let words: Vec<&str> = parts.iter().filter(|it| !it.is_empty()).copied().collect();
        let mut question = words.join(" ");
        question.push('?');
        self.questions.push(question);
    }

    /// "Twelve teams won a cup" and "The cup has twelve winners".
    fn how_many(&mut self) {
        let subject = self.clause.subject;
        let Some(tail) = segment(self.clause.tail) else {
            return;
        };
        let (verb, rest) = match self.clause.verb {
            FiniteVerb::Be(form) | FiniteVerb::Modal(form) => (form, tail),
            FiniteVerb::Have(form) | FiniteVerb::Perfect(form) => (form, tail),
            FiniteVerb::Main(verb, VerbForm::Past) => (verb.past(), tail),
            FiniteVerb::Main(verb, VerbForm::Base) => (verb.base, tail),
            FiniteVerb::Main(_, VerbForm::Third) => ("", tail),
        };
        if let Some(noun) = counted_subject(subject)
            && !verb.is_empty()
            && verb != "is"
            && verb != "was"
            && is_complete(rest)
        {
            self.ask(&["How many", &noun.join(" "), verb, &rest.join(" ")]);
        }
        let auxiliary = match self.clause.verb {
            FiniteVerb::Have("has") => Some(("does", "have")),
            FiniteVerb::Have("have") => Some(("do", "have")),
            FiniteVerb::Have("had") => Some(("did", "have")),
            FiniteVerb::Main(verb, form) if verb.preposition.is_none_or(|it| it == "of") => {
                Some((auxiliary(form), verb.base))
            }
            _ => None,
        };
        if let Some((auxiliary, base)) = auxiliary {
            let preposition = match self.clause.verb {
                FiniteVerb::Main(verb, _) => verb.preposition.unwrap_or_default(),
                _ => "",
            };
            let object = match tail.split_first() {
                Some((first, rest)) if *first == preposition => rest,
                _ => tail,
            };
            if let Some((noun, rest)) = counted_object(object)
                && rest.is_empty()
            {
                let noun = noun.join(" ");
                self.ask(&[
                    "How many",
                    &noun,
                    auxiliary,
                    self.subject,
                    base,
                    preposition,
                ]);
            }
        }
    }

    /// "It was built in 1890" and "In 1890, it won a cup".
    fn when(&mut self) {
        let clause = self.clause;
        let Some(tail) = segment(clause.tail) else {
            return;
        };
        let (tail, has_date) = match date(tail) {
            Some(range) => {
                let rest = &tail[range.end..];
                let before = &tail[..range.start];
                if !rest.first().is_none_or(|word| PREPOSITIONS.has(word)) {
                    return;
                }
                ([before, rest].concat(), true)
            }
            None => (tail.to_vec(), is_date(clause.lead)),
        };
        let is_vague = tail.iter().any(|word| {
            is_year(word)
                || matches!(*word, "then" | "since" | "until" | "between")
                || is_month(word)
        });
        if !has_date || is_vague || !is_complete(&tail) {
            return;
        }
        let rest = tail.join(" ");
        match clause.verb {
            FiniteVerb::Be(form @ ("was" | "were")) => {
                let verb = tail.iter().find(|word| !is_adverb(word));
                if verb.is_some_and(|word| is_participle(word)) {
                    self.ask(&["When", form, self.subject, &rest]);
                }
            }
            FiniteVerb::Main(verb, VerbForm::Past) => {
                self.ask(&["When did", self.subject, verb.base, &rest]);
            }
            _ => {}
        }
    }

    fn copula(&mut self, form: &str) {
        let tail = self.clause.tail;
        let Some((first, rest)) = tail.split_first() else {
            return;
        };
        if ["called", "named", "termed"].contains(first) && !rest.is_empty() {
            return self.ask(&["What", form, self.subject, first]);
        }
        if ["known", "defined", "described", "regarded"].contains(first)
            && rest.first() == Some(&"as")
        {
            return self.ask(&["What", form, self.subject, first, "as"]);
        }
        if *first == "used" && matches!(rest.first(), Some(&"for" | &"to")) {
            return self.ask(&["What", form, self.subject, "used for"]);
        }
        self.reason(form, "");
        let is_indefinite = ARTICLES.has(first) && *first != "the";
        if is_indefinite && !rest.first().is_some_and(|it| VAGUE.has(it)) {
            self.definition(form);
        } else if *first == "the" {
            self.description(form);
        } else if is_participle(first) {
            self.passive(form);
        }
    }

    /// "A teapot is a pot for tea."
    fn definition(&mut self, form: &str) {
        let complement = &self.clause.tail[1..];
        let subject = self.clause.subject;
        // "What is the city?"
        let is_known =
            subject.len() == 2 && subject[0].eq_ignore_ascii_case("the") && !is_name(subject[1]);
        if let Some(word) = interrogative(subject, complement)
            && !is_known
            && !subject.iter().any(|word| is_count(word))
        {
            self.ask(&[word.word(), form, self.subject]);
        }
    }

    /// "Paris is the capital of France."
    fn description(&mut self, form: &str) {
        let Some(complement) = segment(self.clause.tail) else {
            return;
        };
        let head = noun_head(&complement[1..]);
        let is_usable = complement.len() >= 3
            && complement.len() <= 14
            && matches!(form, "is" | "was")
            && !complement.iter().any(|word| is_count(word))
            && is_complete(complement)
            && !VAGUE.has(head)
            && !head.ends_with("est")
            && !VAGUE.has(complement[1])
            && !is_participle(head)
            && refers_to_nothing(complement)
            && !complement.contains(&"that");
        let is_person_unclear = ends_like_agent(head);
        if is_usable && !is_person_unclear {
            let word = if is_person(head) { "Who" } else { "What" };
            self.ask(&[word, form, &complement.join(" ")]);
        }
    }

    /// "It was written in Rome by a monk."
    fn passive(&mut self, form: &str) {
        let clause = self.clause;
        let Some(tail) = segment(clause.tail) else {
            return;
        };
        let (first, rest) = (tail[0], &tail[1..]);
        // "are perturbed inputs": an adjective.
        if !rest
            .first()
            .is_none_or(|it| PREPOSITIONS.has(it) || is_adverb(it))
        {
            return;
        }
        if LOCATED.has(first)
            && rest
                .first()
                .is_some_and(|it| ["in", "at", "near"].contains(it))
            && let Some(place) = rest.get(1)
            && (is_name(place) && !is_month(place)
                || ["the", "a"].contains(place) && first != "found" && first != "held")
            && !(["the", "a"].contains(place) && date(rest).is_some())
            && !rest.iter().any(|word| ends_like_period(word))
        {
            self.ask(&["Where", form, self.subject, first]);
        }
        if let Some(verb) = verb_of_participle(first)
            && let Some(by) = rest.iter().position(|word| *word == "by")
            && rest.len() > by + 1
            && !rest[by + 1].ends_with("ing")
            && !is_count(rest[by + 1])
            && !is_year(rest[by + 1])
            && is_complete(&rest[..by])
            && refers_to_nothing(&rest[..by])
            && !rest[..by]
                .iter()
                .any(|word| *word == "and" || *word == "to")
        {
            let middle = rest[..by].join(" ");
            if AGENT_VERBS.has(verb.base) && matches!(form, "was" | "were") {
                self.ask(&["Who", verb.past(), self.subject, &middle]);
            } else if !AGENT_VERBS.has(verb.base) && middle.is_empty() {
                self.ask(&["What", form, self.subject, first, "by"]);
            }
        }
        self.subject_question(form, tail);
    }

    /// "It is cold because it snowed." and "It froze because it snowed."
    fn reason(&mut self, auxiliary: &str, base: &str) {
        let tail = self.clause.tail;
        let Some(at) = tail.iter().position(|word| *word == "because") else {
            return;
        };
        let before = &tail[..at];
        let joins = |word: &&str| CLAUSE_STARTERS.has(word) || CONJUNCTIONS.has(word);
        let is_clear = !before.contains(&",") && is_complete(before) && !before.iter().any(joins);
        if is_clear && !(before.is_empty() && base.is_empty()) {
            let rest = before.join(" ");
            self.ask(&["Why", auxiliary, self.subject, base, &rest]);
        }
    }

    /// "The bridge can carry a train."
    fn modal(&mut self, modal: &str) {
        let Some(tail) = segment(self.clause.tail) else {
            return;
        };
        let Some((first, rest)) = tail.split_first() else {
            return;
        };
        let verb = finite_verbs(first).find(|(verb, form)| {
            *form == VerbForm::Base && verb.preposition.is_none() && !verb.is_intransitive
        });
        if let Some((verb, _)) = verb
            && rest.first().is_some_and(|it| DETERMINERS.has(it))
            && rest.len() >= 2
        {
            self.ask(&["What", modal, self.subject, verb.base]);
            self.subject_question(modal, tail);
        }
    }

    fn main_verb(&mut self, verb: &Verb, form: VerbForm) {
        let clause = self.clause;
        self.reason(auxiliary(form), verb.base);
        if let Some(preposition) = verb.preposition {
            let is_object = clause.tail.get(1).is_some_and(|it| {
                !CLAUSE_STARTERS.has(it) && !PREPOSITIONS.has(it) && !it.ends_with("ing")
            });
            if is_object {
                self.ask(&[
                    "What",
                    auxiliary(form),
                    self.subject,
                    verb.base,
                    preposition,
                ]);
            }
            return;
        }
        if verb.is_intransitive {
            return;
        }
        let Some(tail) = segment(clause.tail) else {
            return;
        };
        let starts_object = tail.first().is_some_and(|it| {
            !PREPOSITIONS.has(it) && !CLAUSE_STARTERS.has(it) && !PERSONAL_PRONOUNS.has(it)
        });
        if !starts_object {
            return;
        }
        let purpose = purpose(verb.base, tail).map(|words| words.join(" "));
        let purpose = purpose.unwrap_or_default();
        // "He tackled Ann Smith" and "He sent Smith to London": persons or not.
        let next = tail.get(1);
        let is_named = is_name(tail[0])
            && next.is_none_or(|it| is_name(it) || PREPOSITIONS.has(it) || CONJUNCTIONS.has(it));
        if !is_person(noun_head(&tail[1..])) && !is_person(tail[0]) && !is_named {
            self.ask(&["What", auxiliary(form), self.subject, verb.base, &purpose]);
        }
        if form != VerbForm::Base {
            let finite = match form {
                VerbForm::Past => verb.past(),
                _ => verb.third(),
            };
            self.subject_question(finite, tail);
        }
    }

    /// The clause with an interrogative pronoun in place of the subject.
    fn subject_question(&mut self, finite: &str, tail: &[&str]) {
        let subject = self.clause.subject;
        let head = noun_head(subject);
        let is_described = subject.len() > 1 && ARTICLES.has(subject[0]) && !is_name(head);
        let is_usable = tail.len() >= 3
            && tail.len() <= 16
            && is_complete(tail)
            && refers_to_nothing(tail)
            && !CONJUNCTIONS.has(subject[0]);
        if !is_usable || subject.iter().any(|word| CONJUNCTIONS.has(word)) {
            return;
        }
        let is_passive = matches!(finite, "is" | "was" | "are" | "were");
        if !is_passive && ORGANIZATIONS.has(head) {
            return;
        }
        let plural = matches!(finite, "are" | "were");
        if plural {
            let is_noun = is_plural(head) && head.chars().all(char::is_lowercase);
            let phrase = self.subject.strip_prefix("the ").unwrap_or(self.subject);
            let is_bare = !subject
                .iter()
                .any(|it| PREPOSITIONS.has(it) || is_count(it));
            if is_noun && is_bare && !VAGUE.has(head) && subject.len() <= 4 {
                self.ask(&["Which", phrase, finite, &tail.join(" ")]);
            }
        } else if is_described && !is_plural(head) && !ends_like_agent(head) {
            let word = if is_person(head) { "Who" } else { "What" };
            self.ask(&[word, finite, &tail.join(" ")]);
        }
    }
}

fn auxiliary(form: VerbForm) -> &'static str {
    match form {
        VerbForm::Base => "do",
        VerbForm::Third => "does",
        VerbForm::Past => "did",
    }
}
