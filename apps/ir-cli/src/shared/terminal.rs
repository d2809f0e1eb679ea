//! Escaping of control characters, which would steer a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

/// Replaces control characters other than line break and tab, and bidirectional marks, by their
/// escapes in JSON, such as `\u001b`.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if steers(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)))
        } else {
            out.push(c)
        }
    }
    Cow::Owned(out)
}

/// Returns `true` if a character is a control character or bidirectional mark, other than line
/// break and tab.
fn steers(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_bidirectional_mark(c)
}

/// Returns `true` if a character changes the direction of text or ends a line or paragraph.
pub(crate) fn is_bidirectional_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Standard output; on a terminal, text is escaped.
pub(crate) fn stdout() -> Box<dyn Write> {
    let out = io::stdout().lock();
    if out.is_terminal() {
        Box::new(EscapingWriter::new(out))
    } else {
        Box::new(out)
    }
}

/// Writer that escapes UTF-8 text. Bytes that are not UTF-8 become U+FFFD.
struct EscapingWriter<W> {
    inner: W,
    /// First bytes of a character that is not written completely yet.
    incomplete: Vec<u8>,
}

impl<W: Write> EscapingWriter<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            incomplete: Vec::new(),
        }
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.incomplete.extend_from_slice(data);
        let bytes = std::mem::take(&mut self.incomplete);
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.inner.write_all(escaped(chunk.valid()).as_bytes())?;
            let invalid = chunk.invalid();
            let may_continue = chunks.peek().is_none()
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if may_continue {
                self.incomplete = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.inner.write_all("\u{fffd}".as_bytes())?;
            }
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escaped("plain\ttext\n"), "plain\ttext\n");
        assert_eq!(
            escaped("\u{1b}[31m\u{7f}\u{9b}\r\u{202e}\0"),
            "\\u001b[31m\\u007f\\u009b\\u000d\\u202e\\u0000"
        );
    }

    #[test]
    fn characters_split_between_writes() {
        let text = "süß \u{1b}]0;x\u{9c} — 你好\n".as_bytes();
        for size in 1..text.len() {
            let mut writer = EscapingWriter::new(Vec::new());
            for part in text.chunks(size) {
                writer.write_all(part).unwrap();
            }
            let written = String::from_utf8(writer.inner).unwrap();
            assert_eq!(written, "süß \\u001b]0;x\\u009c — 你好\n", "{size}");
        }
        let mut writer = EscapingWriter::new(Vec::new());
        writer.write_all(b"a\xffb\xe2\x82").unwrap();
        writer.write_all(b"c").unwrap();
        assert_eq!(writer.inner, "a\u{fffd}b\u{fffd}c".as_bytes());
    }
}
