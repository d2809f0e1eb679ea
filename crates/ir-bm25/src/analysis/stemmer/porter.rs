//! Porter stemmer: M. F. Porter, "An algorithm for suffix stripping" (1980), in its two variants.
//! Words are edited in place.

/// Variant of the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PorterRules {
    /// The rules published in 1980.
    Published,
    /// Porter's later implementation: keeps words of one and two letters, maps `bli` to `ble` and
    /// `logi` to `log`.
    Revised,
}

/// Stems `word` in place. `units` is scratch space.
///
/// Letters are UTF-16 units, as in Lucene. This matters for words that mix other scripts with
/// English suffixes, where two equal units in a row count as a double letter.
pub(super) fn stem(word: &mut String, units: &mut Vec<u16>, form: PorterRules) {
    if word.is_ascii() {
        run(word, form);
    } else if word.as_bytes().last().is_some_and(u8::is_ascii_lowercase) {
        units.clear();
        units.extend(word.encode_utf16());
        run(units, form);
        word.clear();
        word.extend(
            char::decode_utf16(units.iter().copied())
                .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)),
        );
    }
}

/// Editable word: access by letter, suffix replacement.
trait StemBuffer {
    fn len(&self) -> usize;
    fn at(&self, i: usize) -> u16;
    fn has_suffix(&self, ascii: &str) -> bool;
    fn truncate(&mut self, len: usize);
    fn append(&mut self, ascii: &str);
}

impl StemBuffer for String {
    fn len(&self) -> usize {
        self.len()
    }
    fn at(&self, i: usize) -> u16 {
        u16::from(self.as_bytes()[i])
    }
    fn has_suffix(&self, ascii: &str) -> bool {
        self.ends_with(ascii)
    }
    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }
    fn append(&mut self, ascii: &str) {
        self.push_str(ascii);
    }
}

impl StemBuffer for Vec<u16> {
    fn len(&self) -> usize {
        self.len()
    }
    fn at(&self, i: usize) -> u16 {
        self[i]
    }
    fn has_suffix(&self, ascii: &str) -> bool {
        let letters = ascii.bytes().rev().map(u16::from);
        self.len() >= ascii.len() && self.iter().rev().copied().zip(letters).all(|(a, b)| a == b)
    }
    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }
    fn append(&mut self, ascii: &str) {
        self.extend(ascii.bytes().map(u16::from));
    }
}

/// A suffix and its replacement.
type Rule = (&'static str, &'static str);

/// The rules of step 2 for words with this penultimate letter. Longer suffixes come first.
fn step_2(before_last: u8, form: PorterRules) -> &'static [Rule] {
    match (before_last, form) {
        (b'a', _) => &[("ational", "ate"), ("tional", "tion")],
        (b'c', _) => &[("enci", "ence"), ("anci", "ance")],
        (b'e', _) => &[("izer", "ize")],
        (b'g', PorterRules::Revised) => &[("logi", "log")],
        (b'l', PorterRules::Published) => &[
            ("abli", "able"),
            ("alli", "al"),
            ("entli", "ent"),
            ("eli", "e"),
            ("ousli", "ous"),
        ],
        (b'l', PorterRules::Revised) => &[
            ("bli", "ble"),
            ("alli", "al"),
            ("entli", "ent"),
            ("eli", "e"),
            ("ousli", "ous"),
        ],
        (b'o', _) => &[("ization", "ize"), ("ation", "ate"), ("ator", "ate")],
        (b's', _) => &[
            ("alism", "al"),
            ("iveness", "ive"),
            ("fulness", "ful"),
            ("ousness", "ous"),
        ],
        (b't', _) => &[("aliti", "al"), ("iviti", "ive"), ("biliti", "ble")],
        _ => &[],
    }
}

/// The rules of step 3 for words with this last letter.
fn step_3(last: u8) -> &'static [Rule] {
    match last {
        b'e' => &[("icate", "ic"), ("ative", ""), ("alize", "al")],
        b'i' => &[("iciti", "ic")],
        b'l' => &[("ical", "ic"), ("ful", "")],
        b's' => &[("ness", "")],
        _ => &[],
    }
}

/// The rules of step 4 for words with this penultimate letter.
fn step_4(before_last: u8) -> &'static [Rule] {
    match before_last {
        b'a' => &[("al", "")],
        b'c' => &[("ance", ""), ("ence", "")],
        b'e' => &[("er", "")],
        b'i' => &[("ic", "")],
        b'l' => &[("able", ""), ("ible", "")],
        b'n' => &[("ant", ""), ("ement", ""), ("ment", ""), ("ent", "")],
        b'o' => &[("ion", ""), ("ou", "")],
        b's' => &[("ism", "")],
        b't' => &[("ate", ""), ("iti", "")],
        b'u' => &[("ous", "")],
        b'v' => &[("ive", "")],
        b'z' => &[("ize", "")],
        _ => &[],
    }
}

fn run<W: StemBuffer>(w: &mut W, form: PorterRules) {
    if w.len() == 0 || form == PorterRules::Revised && w.len() <= 2 {
        return;
    }
    plurals_and_participles(w);
    if ends(w, "y").is_some_and(|stem| has_vowel(w, stem)) {
        replace(w, 1, "i");
    }
    if let Some((suffix, with, stem)) = before_last(w).and_then(|l| first_fit(w, step_2(l, form)))
        && measure(w, stem) > 0
    {
        replace(w, suffix.len(), with);
    }
    if let Some((suffix, with, stem)) = last(w).and_then(|l| first_fit(w, step_3(l)))
        && measure(w, stem) > 0
    {
        replace(w, suffix.len(), with);
    }
    if let Some((suffix, _, stem)) = before_last(w).and_then(|l| first_fit(w, step_4(l))) {
        let allowed = suffix != "ion" || stem > 0 && matches!(letter(w, stem - 1), b's' | b't');
        if allowed && measure(w, stem) > 1 {
            w.truncate(stem);
        }
    }
    tidy_up(w);
}

/// Steps 1a and 1b.
fn plurals_and_participles<W: StemBuffer>(w: &mut W) {
    if last(w) == Some(b's') {
        if ends(w, "sses").is_some() || ends(w, "ies").is_some() {
            w.truncate(w.len() - 2);
        } else if ends(w, "ss").is_none() {
            w.truncate(w.len() - 1);
        }
    }
    if let Some(stem) = ends(w, "eed") {
        if measure(w, stem) > 0 {
            w.truncate(w.len() - 1);
        }
        return;
    }
    let Some(stem) = ends(w, "ed").or_else(|| ends(w, "ing")) else {
        return;
    };
    if !has_vowel(w, stem) {
        return;
    }
    w.truncate(stem);
    if ends(w, "at").is_some() || ends(w, "bl").is_some() || ends(w, "iz").is_some() {
        w.append("e");
    } else if is_double(w) {
        if !matches!(last(w), Some(b'l' | b's' | b'z')) {
            w.truncate(w.len() - 1);
        }
    } else if measure(w, w.len()) == 1 && is_short(w, w.len()) {
        w.append("e");
    }
}

/// Steps 5a and 5b.
fn tidy_up<W: StemBuffer>(w: &mut W) {
    if last(w) == Some(b'e') {
        let stem = w.len() - 1;
        let m = measure(w, stem);
        if m > 1 || m == 1 && !is_short(w, stem) {
            w.truncate(stem);
        }
    }
    if last(w) == Some(b'l') && is_double(w) && measure(w, w.len()) > 1 {
        w.truncate(w.len() - 1);
    }
}

/// The letter as ASCII; 0 for any other.
fn letter<W: StemBuffer>(w: &W, i: usize) -> u8 {
    u8::try_from(w.at(i)).unwrap_or(0)
}

fn last<W: StemBuffer>(w: &W) -> Option<u8> {
    w.len().checked_sub(1).map(|i| letter(w, i))
}

fn before_last<W: StemBuffer>(w: &W) -> Option<u8> {
    w.len().checked_sub(2).map(|i| letter(w, i))
}

fn is_consonant<W: StemBuffer>(w: &W, i: usize) -> bool {
    match letter(w, i) {
        b'a' | b'e' | b'i' | b'o' | b'u' => false,
        b'y' => i == 0 || !is_consonant(w, i - 1),
        _ => true,
    }
}

/// Porter's measure m: number of vowel-consonant sequences in the first `len` letters.
fn measure<W: StemBuffer>(w: &W, len: usize) -> usize {
    let (mut m, mut after_vowel) = (0, false);
    let mut before_is_consonant = false;
    for i in 0..len {
        let consonant = match letter(w, i) {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => i == 0 || !before_is_consonant,
            _ => true,
        };
        if consonant && after_vowel {
            m += 1;
        }
        after_vowel = !consonant;
        before_is_consonant = consonant;
    }
    m
}

fn has_vowel<W: StemBuffer>(w: &W, len: usize) -> bool {
    (0..len).any(|i| !is_consonant(w, i))
}

/// Returns whether the word ends in a double consonant.
fn is_double<W: StemBuffer>(w: &W) -> bool {
    let n = w.len();
    n >= 2 && w.at(n - 1) == w.at(n - 2) && is_consonant(w, n - 1)
}

/// Returns whether the first `len` letters end in consonant, vowel, consonant, where the last is
/// not w, x or y.
fn is_short<W: StemBuffer>(w: &W, len: usize) -> bool {
    len >= 3
        && !matches!(letter(w, len - 1), b'w' | b'x' | b'y')
        && is_consonant(w, len - 1)
        && !is_consonant(w, len - 2)
        && is_consonant(w, len - 3)
}

/// The length of the stem before `suffix`, if the word ends in it.
fn ends<W: StemBuffer>(w: &W, suffix: &str) -> Option<usize> {
    w.has_suffix(suffix).then(|| w.len() - suffix.len())
}

/// The first rule with a matching suffix: suffix, replacement, length of the stem.
fn first_fit<W: StemBuffer>(w: &W, rules: &[Rule]) -> Option<(&'static str, &'static str, usize)> {
    rules
        .iter()
        .find_map(|&(suffix, with)| Some((suffix, with, ends(w, suffix)?)))
}

fn replace<W: StemBuffer>(w: &mut W, cut: usize, with: &str) {
    w.truncate(w.len() - cut);
    w.append(with);
}
