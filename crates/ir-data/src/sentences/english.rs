//! Cuts between English sentences.
//!
//! The published rules insert and remove line breaks in a fixed order. Each rule looks at the text
//! around one gap of white space, so that one pass over the gaps applies them all.

/// Rule 3: titles, abbreviations and months, without their period.
const ABBREVIATIONS: [&str; 42] = [
    "Mr", "Mrs", "Ms", "Dr", "Prof", "Fr", "Rev", "Msgr", "St", "Sta", "Lt", "Gen", "Col", "Maj",
    "Adm", "Capt", "Sgt", "Rep", "Gov", "Sen", "Pres", "e.g", "i.e", "ie", "v", "vs", "p", "pp",
    "cf", "a.k.a", "approx", "app", "esp", "est", "tr", "Jan", "Aug", "Oct", "Nov", "Dec", "Mt",
    "Ft",
];
/// Rule 3: times that a time zone follows.
const TIMES: [&str; 2] = ["a.m", "p.m"];
const TIME_ZONES: [&str; 2] = ["Eastern", "EST"];

/// Rule 5: words that start a sentence if white space follows.
const STARTERS: [&str; 16] = [
    "The",
    "This",
    "That",
    "These",
    "It",
    "In",
    "On",
    "By",
    "During",
    "After",
    "Under",
    "Although",
    "Yet",
    "As",
    "Several",
    "According to",
];
/// Rule 5: words that start a sentence if white space or a comma follows.
const ADVERBS: [&str; 2] = ["Meanwhile", "However"];

/// Rule 6: names of numbered items, which a number follows.
const NUMBERED: [&str; 14] = [
    "Art", "No", "no", "Op", "Opp", "ch", "Sec", "cl", "Rec", "Ecl", "Cor", "Lk", "Jn", "Vol",
];
/// Rule 6: abbreviations of dates of birth, death, reign and activity.
const DATES: [&str; 6] = ["b", "d", "r", "c", "ca", "fl"];

/// Longest citation in brackets, such as `[note 12]`, in characters
/// without the closing bracket.
const MAX_CITATION: usize = 32;
/// Maximum number of consecutive citations.
const MAX_CITATIONS: usize = 8;
/// Maximum number of initials before a name.
const MAX_INITIALS: usize = 3;

/// Byte offsets of the cuts, each at the start of a gap. `abbreviations` extend rule 3.
pub(super) fn cuts(text: &str, abbreviations: &[String]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut characters = text.char_indices().peekable();
    // Whether only closing quotes, brackets and white space follow the last terminator.
    let mut terminated = false;
    while let Some((start, character)) = characters.next() {
        if !character.is_whitespace() {
            terminated = is_terminator(character) || (terminated && is_closing(character));
            continue;
        }
        let mut is_single = true;
        while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {
            is_single = false;
        }
        let Some(&(end, _)) = characters.peek() else {
            break;
        };
        let gap = Gap {
            left: &text[..start],
            is_single,
            right: &text[end..],
        };
        if gap.is_cut(terminated, abbreviations) {
            cuts.push(start);
        }
    }
    cuts
}

/// Returns `true` if `left` ends with an abbreviation before `right`.
pub(super) fn is_abbreviated(left: &str, right: &str, abbreviations: &[String]) -> bool {
    let gap = Gap {
        left,
        is_single: true,
        right,
    };
    gap.follows_abbreviation(abbreviations)
}

fn is_terminator(character: char) -> bool {
    matches!(character, '.' | '?' | '!')
}

fn is_closing(character: char) -> bool {
    matches!(character, ')' | ']' | '}' | '"' | '\'' | '”' | '’' | '»')
}

fn is_opening(character: char) -> bool {
    matches!(character, '(' | '[' | '{' | '"' | '\'' | '“' | '‘' | '«')
}

/// Texts on both sides of a gap of white space.
#[derive(Clone, Copy)]
struct Gap<'a> {
    left: &'a str,
    /// If `true`, the gap is one character.
    is_single: bool,
    right: &'a str,
}

impl Gap<'_> {
    /// Applies the rules in their order. Rules that join need a gap of one character.
    fn is_cut(self, terminated: bool, abbreviations: &[String]) -> bool {
        let joins = self.is_single;
        let mut cut = (terminated || self.follows_citation()) && self.starts_sentence();
        cut = cut && !(joins && (self.follows_abbreviation(abbreviations) || self.is_in_name()));
        cut = cut || self.precedes_starter();
        cut = cut && !(joins && self.is_in_reference());
        (cut || self.is_special_cut()) && !(joins && self.is_special_join())
    }

    /// Rule 1: an optional opening quote or bracket and an upper-case letter or digit.
    fn starts_sentence(self) -> bool {
        let mut characters = self.right.chars();
        let first = characters.next();
        let first = if first.is_some_and(is_opening) {
            characters.next()
        } else {
            first
        };
        first.is_some_and(|c| c.is_uppercase() || c.is_ascii_digit())
    }

    /// Rule 2: citations in brackets directly after a terminator, as in `End.[1][note 2]`.
    fn follows_citation(self) -> bool {
        let mut left = self.left;
        for _ in 0..MAX_CITATIONS {
            let Some(inner) = left.strip_suffix(']') else {
                break;
            };
            let mut brackets = inner.char_indices().rev().take(MAX_CITATION);
            match brackets.find(|(_, c)| matches!(c, '[' | ']')) {
                Some((at, '[')) => left = &left[..at],
                _ => return false,
            }
        }
        left.len() < self.left.len()
            && left
                .trim_end_matches(['"', '\'', ')', '”', '’'])
                .ends_with(is_terminator)
    }

    /// Rule 3: after an abbreviation.
    fn follows_abbreviation(self, more: &[String]) -> bool {
        let Some(left) = self.left.strip_suffix('.') else {
            return false;
        };
        let is_added = |word: &String| match word.strip_suffix(" #") {
            Some(word) => ends_with_word(left, word) && starts_with_label(self.right),
            None => ends_with_word(left, word),
        };
        // Between the words of `z. B`.
        let is_inside = |word: &String| {
            word.match_indices(". ").any(|(at, gap)| {
                let rest = self.right.strip_prefix(&word[at + gap.len()..]);
                ends_with_word(left, &word[..at]) && rest.is_some_and(|rest| rest.starts_with('.'))
            })
        };
        ABBREVIATIONS.iter().any(|word| ends_with_word(left, word))
            || more.iter().any(|word| is_added(word) || is_inside(word))
            || (TIMES.iter().any(|word| ends_with_word(left, word))
                && TIME_ZONES
                    .iter()
                    .any(|zone| starts_with_word(self.right, zone)))
    }

    /// Rule 4: between one to three initials and a capitalized name, or between the initials.
    fn is_in_name(self) -> bool {
        if !ends_with_initial(self.left) {
            return false;
        }
        let mut right = self.right;
        for _ in 1..MAX_INITIALS {
            match after_initial(right) {
                Some(rest) => right = rest,
                None => break,
            }
        }
        let mut characters = right.chars();
        characters.next().is_some_and(char::is_uppercase)
            && characters.next().is_some_and(char::is_lowercase)
    }

    /// Rule 5: between a terminator and a word that starts sentences.
    fn precedes_starter(self) -> bool {
        let follows = |word: &str, allowed: fn(char) -> bool| {
            let rest = self.right.strip_prefix(word);
            rest.is_some_and(|rest| rest.starts_with(allowed))
        };
        self.left.ends_with(is_terminator)
            && (STARTERS
                .iter()
                .any(|word| follows(word, char::is_whitespace))
                || ADVERBS
                    .iter()
                    .any(|word| follows(word, |c| c.is_whitespace() || c == ',')))
    }

    /// Rule 6: before the number or date of a reference.
    fn is_in_reference(self) -> bool {
        let Some(left) = self.left.strip_suffix('.') else {
            return false;
        };
        let right = self.right;
        DATES.iter().any(|word| ends_with_word(left, word))
            || (NUMBERED.iter().any(|word| ends_with_word(left, word)) && starts_with_number(right))
            || (ends_with_word(left, "et al") && starts_with_year(right))
            || (ends_with_word(left, "H.R") && right.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Rule 7: cuts of special cases.
    fn is_special_cut(self) -> bool {
        let (left, right) = (self.left, self.right);
        let after = ["Jay Z.", "Washington, D.C.", "Wii U."];
        (after.iter().any(|name| left.ends_with(name)) && self.starts_sentence())
            || (left.ends_with('.') && (right.starts_with("iPod") || right.starts_with("iTunes")))
            || (right.starts_with('•') && !left.trim_end().is_empty())
    }

    /// Rule 7: joins of special cases.
    fn is_special_join(self) -> bool {
        let (left, right) = (self.left, self.right);
        let digits = right
            .chars()
            .take_while(char::is_ascii_digit)
            .take(2)
            .count();
        let starts_with_any =
            |words: [&str; 2]| words.iter().any(|word| starts_with_word(right, word));
        (left.ends_with("I Am...") && starts_with_any(["Sasha Fierce", "World Tour"]))
            || (left.ends_with("Warner Bros.") && starts_with_any(["Records", "Entertainment"]))
            || (left.ends_with("U.S.") && digits == 2)
            || (left.ends_with("Rs.") && digits > 0)
            || left.ends_with(".Sc.")
    }
}

/// Returns `true` if the text ends with the word, and no letter or digit precedes it.
fn ends_with_word(text: &str, word: &str) -> bool {
    let before = text.strip_suffix(word);
    before.is_some_and(|before| !before.ends_with(char::is_alphanumeric))
}

/// Returns `true` if the text starts with the word, and no letter or digit follows it.
fn starts_with_word(text: &str, word: &str) -> bool {
    let after = text.strip_prefix(word);
    after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
}

/// Returns `true` if the text ends with an upper-case letter and a period, and no letter or digit
/// precedes them: `J.`, also in `Ph.D.` and `U.S.`.
fn ends_with_initial(text: &str) -> bool {
    let mut before = text.strip_suffix('.').unwrap_or_default().chars();
    before.next_back().is_some_and(char::is_uppercase)
        && !before.next_back().is_some_and(char::is_alphanumeric)
}

/// The text after an initial and at most one white space.
fn after_initial(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    characters.next().filter(|c| c.is_uppercase())?;
    characters.next().filter(|&c| c == '.')?;
    let rest = characters.as_str();
    Some(rest.strip_prefix(char::is_whitespace).unwrap_or(rest))
}

/// Returns `true` if the text starts with digits or a Roman number.
fn starts_with_number(text: &str) -> bool {
    let end = text
        .find(|c| !matches!(c, 'I' | 'V' | 'X' | 'L' | 'C'))
        .unwrap_or(text.len());
    text.starts_with(|c: char| c.is_ascii_digit())
        || (end > 0 && !text[end..].starts_with(char::is_alphanumeric))
}

/// Returns `true` if the text starts with a number or a single upper-case letter, also in
/// parentheses: the label of a definition or an appendix.
fn starts_with_label(text: &str) -> bool {
    let text = text.strip_prefix('(').unwrap_or(text);
    let rest = text.strip_prefix(char::is_uppercase);
    starts_with_number(text) || rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns `true` if the text starts with a year, also in parentheses.
fn starts_with_year(text: &str) -> bool {
    let digits = text.strip_prefix('(').unwrap_or(text);
    digits.len() >= 4 && digits.bytes().take(4).all(|byte| byte.is_ascii_digit())
}
