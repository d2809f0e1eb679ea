use std::collections::{HashMap, HashSet};

use ir_core::{Corpus, Document};

use crate::error::DataError;
use crate::template::DocTemplate;

/// Returns the ids of the documents with one of `texts`, in corpus order, by text. A document has
/// three texts: its field `text`, title and text joined by a space, and the text that `template`
/// renders. White space at both ends is ignored. Texts that no document has are left out.
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
    // Several texts may differ in white space alone.
    let mut by_trimmed: HashMap<&str, Vec<&String>> = HashMap::new();
    for text in &texts {
        by_trimmed.entry(text.trim()).or_default().push(text);
    }
    let with_title = DocTemplate::default();
    let mut reader = corpus.open()?;
    let mut doc = Document::default();
    while reader.read(&mut doc)? {
        let rendered = template.render(&doc);
        let joined = with_title.render(&doc);
        let forms = HashSet::from([doc.text.trim(), joined.trim(), rendered.trim()]);
        for text in forms
            .iter()
            .filter_map(|form| by_trimmed.get(form))
            .flatten()
        {
            ids.entry((*text).clone()).or_default().push(doc.id.clone());
        }
    }
    Ok(ids)
}
