//! Running text of a paragraph, with superscripts and subscripts as Unicode.

use std::mem;

use super::paper::single_spaced;

/// Maximum number of nested scripts. The content of a script is copied when it ends.
const MAX_OPEN: usize = 8;
/// Maximum number of characters of a script. A longer one is running text, such as after a start
/// tag without end tag.
const MAX_SCRIPT: usize = 40;
/// Endings of ordinal numbers, which are superscripts without being powers.
const ORDINAL_ENDINGS: [&str; 6] = ["st", "nd", "rd", "th", "er", "ème"];

/// Position of a text relative to the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Superscript,
    Subscript,
    /// Text above the line of a fraction.
    Numerator,
    /// Text below the line of a fraction.
    Denominator,
}

/// Running text under construction.
///
/// Superscripts and subscripts are written in Unicode if all their characters exist there (`10⁴`,
/// `H₂O`, `xᵢ`), and otherwise after `^` and `_` (`2^k`, `x_max`). Not marked are ordinal numbers
/// (`21st`), symbols, footnote marks in brackets, and scripts of letters without text before them.
///
/// Reference marks are links inside of the document. A superscript that is one, or has one in it,
/// is no power. A citation that is a superscript, or glued to a word, is left out: its number would
/// be a part of the word, and hide the end of the sentence. Superscript numbers after punctuation
/// are citations without a link.
#[derive(Debug, Default)]
pub(super) struct RunningText {
    text: String,
    /// If `true`, white space precedes the next word.
    is_separated: bool,
    open: Vec<OpenScript>,
    marks: Vec<Mark>,
}

/// Open reference mark, such as a link to a figure.
#[derive(Debug)]
struct Mark {
    /// Offset of the content.
    start: usize,
    is_citation: bool,
}

#[derive(Debug)]
struct OpenScript {
    script: Script,
    /// Offset of the content.
    start: usize,
    /// If `true`, the script contains a reference mark or is one.
    is_reference: bool,
    /// If `true`, the reference mark is a citation.
    is_citation: bool,
}

impl RunningText {
    pub(super) fn push(&mut self, text: &str) {
        let Some(first) = text.chars().next() else {
            return;
        };
        if mem::take(&mut self.is_separated) && !is_closing(first) {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    /// Number of bytes so far.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Text from an offset on.
    pub(super) fn since(&self, start: usize) -> &str {
        self.text.get(start..).unwrap_or_default()
    }

    /// Separates the words before and after a block element.
    pub(super) fn separate(&mut self) {
        self.is_separated = true;
    }

    /// Starts a script. [`RunningText::close`] ends it.
    pub(super) fn open(&mut self, script: Script) {
        if self.open.len() < MAX_OPEN {
            // A power inside of a link is none of its marks.
            let is_first = |mark: &&Mark| self.text.get(mark.start..).is_none_or(is_blank);
            let mark = self.marks.last().filter(is_first);
            self.open.push(OpenScript {
                script,
                start: self.text.len(),
                is_reference: mark.is_some(),
                is_citation: mark.is_some_and(|mark| mark.is_citation),
            });
        }
    }

    /// Ends the innermost script of its kind, and all scripts inside of it.
    pub(super) fn close(&mut self, script: Script) {
        let mut open = self.open.iter();
        if let Some(at) = open.rposition(|open| open.script == script) {
            self.close_from(at);
        }
    }

    fn close_from(&mut self, at: usize) {
        for open in self.open.split_off(at).into_iter().rev() {
            let content = self.text.split_off(open.start);
            if open.is_reference {
                let is_left_out = open.is_citation && open.script == Script::Superscript;
                if !(is_left_out && is_number(&content)) {
                    self.text.push_str(&content);
                }
                continue;
            }
            let before = self.text.chars().next_back();
            let written = written_script(open.script, &single_spaced(&content), before);
            self.text.push_str(&written);
            if content.ends_with(char::is_whitespace) {
                self.text.push(' ');
            }
        }
    }

    /// Starts a reference mark, such as a link to a figure, or the citation of an entry of the list
    /// of references or of a footnote.
    pub(super) fn start_mark(&mut self, is_citation: bool) {
        self.marks.push(Mark {
            start: self.text.len(),
            is_citation,
        });
        for open in &mut self.open {
            open.is_reference = true;
            open.is_citation |= is_citation;
        }
    }

    pub(super) fn end_mark(&mut self) {
        let Some(mark) = self.marks.pop() else { return };
        let Some(content) = self.text.get(mark.start..) else {
            return;
        };
        if mark.is_citation && is_number(content) && is_glued(&self.text[..mark.start]) {
            self.text.truncate(mark.start);
        }
    }

    /// Returns `true` inside of a superscript.
    pub(super) fn is_raised(&self) -> bool {
        let mut open = self.open.iter();
        open.any(|open| open.script == Script::Superscript)
    }

    /// Returns the text with single spaces and starts an empty one.
    pub(super) fn take(&mut self) -> String {
        self.close_from(0);
        single_spaced(&mem::take(self).text)
    }
}

/// Script of the n-th child element, from 1, of an element of MathML.
pub(super) fn math_script(parent: &str, child: usize) -> Option<Script> {
    match (parent, child) {
        ("msup", 2) | ("msubsup", 3) => Some(Script::Superscript),
        ("msub" | "msubsup", 2) => Some(Script::Subscript),
        ("mfrac", 1) => Some(Script::Numerator),
        ("mfrac", 2) => Some(Script::Denominator),
        _ => None,
    }
}

/// Returns `true` for elements of MathML with scripts. White space between their children is none
/// of the text.
pub(super) fn has_scripts(name: &str) -> bool {
    math_script(name, 2).is_some()
}

/// Returns `true` for white space. Of a long text, the start counts.
fn is_blank(text: &str) -> bool {
    text.chars().take(MAX_SCRIPT).all(char::is_whitespace)
}

/// Returns `true` for the number, letter or symbol of a citation or footnote.
fn is_number(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphabetic()).count() <= 1
}

/// Returns `true` if a number after the text would belong to its last word or sentence, and is not
/// in brackets.
fn is_glued(before: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || is_closing(c);
    let mut last = before.chars().rev().take(MAX_SCRIPT);
    let bracket = last.find(|c| matches!(c, '(' | '[' | ')' | ']'));
    before.ends_with(is_word) && !matches!(bracket, Some('(' | '['))
}

/// Returns `true` for characters that follow a word without white space.
fn is_closing(c: char) -> bool {
    matches!(
        c,
        ',' | '.' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '’' | '”'
    )
}

/// A script as text after a character.
fn written_script(script: Script, content: &str, before: Option<char>) -> String {
    let (unicode, mark): (fn(char) -> Option<char>, _) = match script {
        Script::Superscript => (superscript, '^'),
        Script::Subscript => (subscript, '_'),
        Script::Numerator => return grouped(content),
        Script::Denominator if content.is_empty() => return String::new(),
        Script::Denominator => return format!("/{}", grouped(content)),
    };
    let is_after_clause = before.is_some_and(|c| ".,;:!?".contains(c));
    if script == Script::Superscript && is_after_clause && is_marker(content) {
        return String::new();
    }
    let has_word = content
        .as_bytes()
        .windows(2)
        .any(|pair| pair.iter().all(u8::is_ascii_alphabetic));
    if !has_word && let Some(written) = content.chars().map(unicode).collect() {
        return written;
    }
    let has_base = before.is_some_and(|c| !c.is_whitespace());
    let is_ordinal =
        before.is_some_and(|c| c.is_ascii_digit()) && ORDINAL_ENDINGS.contains(&content);
    let is_symbol = content.starts_with('[') || !content.contains(char::is_alphanumeric);
    if !has_base || is_ordinal || is_symbol || content.chars().count() > MAX_SCRIPT {
        return content.to_owned();
    }
    format!("{mark}{}", grouped(content))
}

/// Returns `true` for numbers such as `3,4`, or a letter: of citations and footnotes at the end of
/// a sentence or clause.
fn is_marker(text: &str) -> bool {
    let is_letter = text.len() == 1 && text.starts_with(|c: char| c.is_ascii_lowercase());
    let is_number = |c: char| c.is_ascii_digit() || ", -–".contains(c);
    is_letter || (text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_number))
}

/// Text in parentheses if it contains an operator or white space.
fn grouped(text: &str) -> String {
    let is_operator = |c: char| c.is_whitespace() || "+-−–=/<>≤≥±×·*^_|".contains(c);
    let unsigned = text.strip_prefix(['+', '-', '−', '–']).unwrap_or(text);
    if unsigned.chars().count() > 1 && unsigned.contains(is_operator) {
        format!("({text})")
    } else {
        text.to_owned()
    }
}

/// A superscript or subscript in Unicode. `None` if a character does not exist there.
pub(super) fn script_text(script: Script, text: &str) -> Option<String> {
    let unicode = match script {
        Script::Superscript => superscript,
        Script::Subscript => subscript,
        Script::Numerator | Script::Denominator => return None,
    };
    text.chars().map(unicode).collect()
}

fn superscript(c: char) -> Option<char> {
    Some(match c {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' | '4'..='9' => char::from_u32(0x2070 + c.to_digit(10)?)?,
        '+' => '⁺',
        '-' | '−' | '–' => '⁻',
        '=' => '⁼',
        '(' => '⁽',
        ')' => '⁾',
        'n' => 'ⁿ',
        'i' => 'ⁱ',
        '¹' | '²' | '³' | '\u{2070}'..='\u{207f}' => c,
        _ => return None,
    })
}

fn subscript(c: char) -> Option<char> {
    Some(match c {
        '0'..='9' => char::from_u32(0x2080 + c.to_digit(10)?)?,
        '+' => '₊',
        '-' | '−' | '–' => '₋',
        '=' => '₌',
        '(' => '₍',
        ')' => '₎',
        'a' => 'ₐ',
        'e' => 'ₑ',
        'h' => 'ₕ',
        'i' => 'ᵢ',
        'j' => 'ⱼ',
        'k' => 'ₖ',
        'l' => 'ₗ',
        'm' => 'ₘ',
        'n' => 'ₙ',
        'o' => 'ₒ',
        'p' => 'ₚ',
        'r' => 'ᵣ',
        's' => 'ₛ',
        't' => 'ₜ',
        'u' => 'ᵤ',
        'v' => 'ᵥ',
        'x' => 'ₓ',
        '\u{2080}'..='\u{209c}' => c,
        _ => return None,
    })
}
