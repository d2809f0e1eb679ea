//! Character encodings of documents.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::{DocumentError, DocumentFormat};

/// Number of bytes in which HTML declares its encoding.
const DECLARATION_BYTES: usize = 1024;

/// Text of a file: by its byte order mark, the encoding that XML or HTML declares, or UTF-8. Line
/// ends become `\n`.
pub(super) fn decode(
    bytes: &[u8],
    format: DocumentFormat,
    path: &str,
) -> Result<String, DocumentError> {
    use DocumentFormat::{Html, Jats, Json, Markdown, Pdf, S2orc, Soco, Squad, Tei, Text, Xml};
    let (encoding, from) = match (Encoding::for_bom(bytes), format) {
        (Some((encoding, length)), _) => (encoding, length),
        (None, Html | Xml | Jats | Tei) => (declared(bytes, path)?, 0),
        (None, Text | Markdown | Json | Squad | Soco | S2orc | Pdf) => (UTF_8, 0),
    };
    let bytes = &bytes[from..];
    let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(bytes) else {
        return Err(DocumentError::Encoding {
            path: path.to_owned(),
            line: line_of_invalid(encoding, bytes),
            encoding: encoding.name(),
        });
    };
    if let Some(at) = text.find('\0') {
        return Err(DocumentError::Binary {
            path: path.to_owned(),
            line: line_at(&text, at),
        });
    }
    if text.contains('\r') {
        return Ok(text.replace("\r\n", "\n").replace('\r', "\n"));
    }
    Ok(text.into_owned())
}

/// Line number from 1 of a byte offset.
pub(super) fn line_at(text: &str, at: usize) -> u64 {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1
}

/// Encoding that the start of the file declares. Default: UTF-8.
fn declared(bytes: &[u8], path: &str) -> Result<&'static Encoding, DocumentError> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION_BYTES)]);
    let head = head.to_ascii_lowercase();
    let label = if head.starts_with("<?xml") {
        let declaration = &head[..head.find("?>").unwrap_or(head.len())];
        value_after(declaration, "encoding")
    } else {
        let meta = head.split("<meta").skip(1);
        meta.map(|rest| &rest[..rest.find('>').unwrap_or(rest.len())])
            .find_map(|tag| value_after(tag, "charset"))
    };
    let Some(label) = label else {
        return Ok(UTF_8);
    };
    match Encoding::for_label_no_replacement(label.as_bytes()) {
        // A declaration in ASCII characters is not UTF-16: HTML Standard, section 13.2.3.2.
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => Ok(UTF_8),
        Some(encoding) => Ok(encoding),
        None => Err(DocumentError::UnknownEncoding {
            path: path.to_owned(),
            found: label.to_owned(),
        }),
    }
}

/// Value of `name=value`, possibly in quotes.
fn value_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text[text.find(name)? + name.len()..].trim_start();
    let rest = rest.strip_prefix('=')?.trim_start_matches([' ', '"', '\'']);
    let end = rest.find(['"', '\'', ' ', ';', '/']).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Line of the first invalid byte sequence: lines before it are valid on their own.
fn line_of_invalid(encoding: &'static Encoding, bytes: &[u8]) -> u64 {
    if encoding == UTF_8 {
        let valid = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
        return bytes[..valid].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
    }
    let mut lines = (1..).zip(bytes.split(|&byte| byte == b'\n'));
    let invalid = lines.find(|(_, line)| {
        let decoded = encoding.decode_without_bom_handling_and_without_replacement(line);
        decoded.is_none()
    });
    invalid.map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<String, String> {
        decode(bytes, DocumentFormat::Html, "f").map_err(|error| error.to_string())
    }

    #[test]
    fn byte_order_marks_and_declarations() {
        assert_eq!(text(b"\xef\xbb\xbfcaf\xc3\xa9"), Ok("café".to_owned()));
        assert_eq!(text(b"\xff\xfec\0a\0f\0\xe9\0"), Ok("café".to_owned()));
        for declaration in [
            "<?xml version='1.0' encoding=\"ISO-8859-1\"?><a>",
            "<html><head><meta charset=latin1><p>",
            "<meta http-equiv='Content-Type' content='text/html; charset=windows-1252'>",
        ] {
            let bytes = [declaration.as_bytes(), b"caf\xe9"].concat();
            assert_eq!(text(&bytes), Ok(format!("{declaration}café")));
        }
        let chinese = b"<meta charset='gb2312'>\xb2\xe8";
        assert_eq!(text(chinese), Ok("<meta charset='gb2312'>茶".to_owned()));
        assert_eq!(text(b"a\r\nb\rc"), Ok("a\nb\nc".to_owned()));
        for label in ["utf-16", "UTF-16LE", "utf-16be", "unicode"] {
            let page = format!("<meta charset={label}>grün");
            assert_eq!(text(page.as_bytes()), Ok(page));
        }
    }

    #[test]
    fn text_declares_no_encoding() {
        let about_html = "Write <meta charset=latin1> for café.";
        for format in [DocumentFormat::Text, DocumentFormat::Markdown] {
            let text = decode(about_html.as_bytes(), format, "f").unwrap();
            assert_eq!(text, about_html);
        }
    }

    #[test]
    fn invalid_text_is_an_error_with_its_line() {
        for (bytes, message) in [
            (
                &b"a\nb\xe9\n"[..],
                "f:2: expected UTF-8 text, found invalid bytes",
            ),
            (b"a\n\nb\0", "f:3: expected text, found a NUL byte"),
            (
                b"<meta charset=klingon>",
                "f: expected the name of an encoding, found \"klingon\"",
            ),
            (
                b"<meta charset=shift_jis>\n\x80\xff",
                "f:2: expected Shift_JIS text, found invalid bytes",
            ),
        ] {
            assert_eq!(text(bytes), Err(message.to_owned()));
        }
    }
}
