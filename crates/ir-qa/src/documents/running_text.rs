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
/// (`21st`), symbols, footnote marks in brackets, scripts with links inside of the document, and
/// scripts of letters without text before them.
#[derive(Debug, Default)]
pub(super) struct RunningText {
    text: String,
    /// If `true`, white space precedes the next word.
    is_separated: bool,
    open: Vec<OpenScript>,
    /// Number of open reference marks.
    marks: usize,
}

#[derive(Debug)]
struct OpenScript {
    script: Script,
    /// Offset of the content.
    start: usize,
    /// If `true`, the script contains a reference mark and is not marked.
    is_reference: bool,
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

    /// Separates the words before and after a block element.
    pub(super) fn separate(&mut self) {
        self.is_separated = true;
    }

    /// Starts a script. [`RunningText::close`] ends it.
    pub(super) fn open(&mut self, script: Script) {
        if self.open.len() < MAX_OPEN {
            self.open.push(OpenScript {
                script,
                start: self.text.len(),
                is_reference: self.marks > 0,
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
                self.text.push_str(&content);
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

    /// Starts a reference mark, such as a link to an entry of the list of references. Scripts that
    /// contain it or are part of it are not marked.
    pub(super) fn start_mark(&mut self) {
        self.marks += 1;
        for open in &mut self.open {
            open.is_reference = true;
        }
    }

    pub(super) fn end_mark(&mut self) {
        self.marks = self.marks.saturating_sub(1);
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
