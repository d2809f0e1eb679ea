//! URLs of pages, for pages and agents.

use ir_qa::Frame;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::store::sha256;

/// Characters of a path segment that are percent-encoded.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// URL of a path with parameters.
pub(crate) fn url(path: &str, parameters: &[(&str, &str)]) -> String {
    if parameters.is_empty() {
        return path.to_owned();
    }
    let separator = if path.contains('?') { '&' } else { '?' };
    let target = format!("{path}{separator}");
    let start = target.len();
    let mut query = form_urlencoded::Serializer::for_suffix(target, start);
    for (name, value) in parameters {
        query.append_pair(name, value);
    }
    query.finish()
}

/// URL of a document. Ids may have any characters.
pub(crate) fn document_url(id: &str, parameters: &[(&str, &str)]) -> String {
    // Clients resolve dot segments, encoded ones too.
    if matches!(id, "" | "." | "..") {
        let mut all = vec![("id", id)];
        all.extend(parameters);
        return url("/document", &all);
    }
    let path = format!("/document/{}", utf8_percent_encode(id, SEGMENT));
    url(&path, parameters)
}

/// Permanent URL of an answer: it has the hash of the sentence, so that the sentence is found when
/// its frame has another id.
pub(crate) fn sentence_url(frame: &Frame) -> String {
    let hash = sentence_hash(&frame.answer);
    let parameters = [("frame", frame.id.as_str()), ("sentence", &hash)];
    format!("{}#current", document_url(&frame.paper, &parameters))
}

/// First 16 digits of the SHA-256 of a sentence.
pub(crate) fn sentence_hash(sentence: &str) -> String {
    let hash = sha256(sentence.as_bytes());
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns `true` if a URL is a path of this server, so that a redirect does not leave it.
pub(crate) fn is_local(url: &str) -> bool {
    let mut characters = url.chars();
    characters.next() == Some('/')
        && !matches!(characters.next(), Some('/' | '\\'))
        && !url.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_values_are_encoded() {
        assert_eq!(url("/", &[]), "/");
        assert_eq!(
            url("/", &[("q", "a b&c"), ("d", "ü/")]),
            "/?q=a+b%26c&d=%C3%BC%2F"
        );
        assert_eq!(
            document_url("a/b \"<script>?#%", &[]),
            "/document/a%2Fb%20%22%3Cscript%3E%3F%23%25"
        );
        assert_eq!(document_url("茶", &[("q", "x")]), "/document/%E8%8C%B6?q=x");
        assert_eq!(document_url("..", &[("q", "x")]), "/document?id=..&q=x");
    }

    #[test]
    fn redirects_stay_on_the_server() {
        assert!(is_local("/review?page=2"));
        for url in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "",
            "a",
            "/\r\nx",
            "/\t/evil.example",
        ] {
            assert!(!is_local(url), "{url:?}");
        }
    }
}
