//! Characters of a query with their positions.

use super::error::QueryParseError;

/// Reader of a query, character by character.
pub(super) struct QueryText<'a> {
    text: &'a str,
    /// Offset in bytes of the next character.
    at: usize,
}

impl<'a> QueryText<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Offset in bytes of the next character, for [`QueryText::error_at`].
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Skips the next character if it is this one.
    pub(super) fn skip(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    /// Skips characters of this length in bytes.
    pub(super) fn skip_bytes(&mut self, length: usize) {
        self.at += length;
    }

    pub(super) fn skip_white_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    pub(super) fn take_while(&mut self, accepts: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !accepts(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Number above 0, such as `2` or `0.5`.
    pub(super) fn number(&mut self) -> Result<f32, QueryParseError> {
        self.number_where(|number| number > 0.0, "a number above 0, at most 1e9")
    }

    /// Number of at least 0.
    pub(super) fn number_or_zero(&mut self) -> Result<f32, QueryParseError> {
        self.number_where(|number| number >= 0.0, "a number from 0 to 1e9")
    }

    fn number_where(
        &mut self,
        accepts: impl Fn(f32) -> bool,
        expected: &str,
    ) -> Result<f32, QueryParseError> {
        let start = self.at;
        let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E');
        let mut digits = self.take_while(is_digit).to_owned();
        if digits.ends_with(['e', 'E']) && self.skip('-') {
            digits.push('-');
            digits += self.take_while(|c| c.is_ascii_digit());
        }
        let number = digits.parse().ok();
        let number = number.filter(|number: &f32| accepts(*number) && *number <= 1e9);
        number.ok_or_else(|| self.error_at(start, expected))
    }

    /// Integer from `least`, of decimal digits. `what` is the end of the error.
    pub(super) fn integer(&mut self, least: u32, what: &str) -> Result<u32, QueryParseError> {
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        let number = digits.parse().ok().filter(|number| *number >= least);
        number.ok_or_else(|| self.error_at(start, format!("{what}, {least} to {}", u32::MAX)))
    }

    /// Error at an earlier offset.
    pub(super) fn error_at(&self, offset: usize, expected: impl Into<String>) -> QueryParseError {
        let text = self.text;
        Self { text, at: offset }.error(expected)
    }

    /// Error at the next character. Reads the text from its start.
    pub(super) fn error(&self, expected: impl Into<String>) -> QueryParseError {
        #[cfg(test)]
        super::tests::count_steps(self.at);
        let found = match self.rest().split_whitespace().next() {
            None => "the end".to_owned(),
            Some(word) if self.peek().is_some_and(char::is_whitespace) => {
                format!("white space before {:?}", shortened(word))
            }
            Some(word) => format!("{:?}", shortened(word)),
        };
        QueryParseError {
            position: self.text[..self.at].chars().count() + 1,
            expected: expected.into(),
            found,
        }
    }
}

/// The start of a word, for a message.
fn shortened(word: &str) -> &str {
    const LIMIT: usize = 20;
    match word.char_indices().nth(LIMIT) {
        Some((end, _)) => &word[..end],
        None => word,
    }
}
