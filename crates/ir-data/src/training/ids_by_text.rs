use std::collections::{HashMap, HashSet};

use ir_core::{Corpus, Document};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::error::DataError;
use crate::template::DocTemplate;

/// Returns a text in NFC, with one space for each run of white space and none at both ends: texts
/// with the same key read the same.
///
/// ```
/// use ir_data::training::text_key;
/// assert_eq!(text_key(" Caf\u{e9}\n\u{a0}au lait"), "Café au lait");
/// assert_eq!(text_key("Cafe\u{301} au\tlait\n"), "Café au lait");
/// ```
#[must_use]
pub fn text_key(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !key.is_empty() {
            key.push(' ');
        }
        key.push_str(word);
    }
    if key.is_ascii() || is_nfc(&key) {
        key
    } else {
        key.nfc().collect()
    }
}

/// Returns the ids of the documents with one of `texts`, in corpus order, by text. A document has
/// three texts: its field `text`, title and text joined by a space, and the text that `template`
/// renders. Texts are the same if they have the same [`text_key`]. Texts that no document has are
/// left out.
///
/// Identifies positives that training examples give as texts without ids, so that no document with
/// such a text is mined as a negative.
///
/// ```
/// use ir_core::Document;
/// use ir_data::DocTemplate;
/// use ir_data::training::ids_by_text;
/// let corpus = vec![
///     Document::new("d1").with_title("Tea").with_text("Steep the leaves."),
///     Document::new("d2").with_text("Steep the leaves."),
///     Document::new("d3").with_text("Boil the water."),
/// ];
/// let texts = ["Steep the leaves.".to_owned(), "Tea Steep the leaves.".to_owned()];
/// let ids = ids_by_text(&corpus, &DocTemplate::default(), texts)?;
/// assert_eq!(ids["Steep the leaves."], ["d1", "d2"]);
/// assert_eq!(ids["Tea Steep the leaves."], ["d1"]);
/// assert_eq!(ids.len(), 2);
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The corpus cannot be read.
pub fn ids_by_text(
    corpus: &dyn Corpus,
    template: &DocTemplate,
    texts: impl IntoIterator<Item = String>,
) -> Result<HashMap<String, Vec<String>>, DataError> {
    let texts: HashSet<String> = texts.into_iter().collect();
    let mut ids: HashMap<String, Vec<String>> = HashMap::new();
    if texts.is_empty() {
        return Ok(ids);
    }
    let mut by_key: HashMap<String, Vec<&String>> = HashMap::new();
    for text in &texts {
        by_key.entry(text_key(text)).or_default().push(text);
    }
    let with_title = DocTemplate::default();
    let mut reader = corpus.open()?;
    let mut doc = Document::default();
    while reader.read(&mut doc)? {
        let rendered = template.render(&doc);
        let joined = with_title.render(&doc);
        // Without a title or a template, these are equal.
        let forms = HashSet::from([doc.text.trim(), joined.trim(), rendered.trim()]);
        let keys: HashSet<String> = forms.into_iter().map(text_key).collect();
        for text in keys.iter().filter_map(|key| by_key.get(key)).flatten() {
            ids.entry((*text).clone()).or_default().push(doc.id.clone());
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that differ in white space and normalization only.
    #[test]
    fn texts_that_read_the_same() {
        let corpus = vec![
            Document::new("d1")
                .with_title("Caf\u{e9}")
                .with_text("Steep  the\nleaves. "),
            Document::new("d2")
                .with_title("Milk")
                .with_text("Steep the leaves!"),
        ];
        let template: DocTemplate = "{title}: {text}".parse().unwrap();
        for text in [
            "Steep the leaves.",
            "\tSteep the\u{a0}leaves.\r\n",
            "Cafe\u{301}\nSteep the leaves.",
            "Caf\u{e9} Steep the leaves.",
            "Cafe\u{301}: Steep the  leaves.",
        ] {
            let ids = ids_by_text(&corpus, &template, [text.to_owned()]).unwrap();
            let expected = HashMap::from([(text.to_owned(), vec!["d1".to_owned()])]);
            assert_eq!(ids, expected, "{text:?}");
        }
        for text in ["Steep theleaves.", "Caf Steep the leaves.", ""] {
            let ids = ids_by_text(&corpus, &template, [text.to_owned()]).unwrap();
            assert!(ids.is_empty(), "{text:?}");
        }
    }
}
