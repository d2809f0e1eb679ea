//! Keyphrase queries from the fields of an annotation.

use ir_core::{Attributes, NLTK_STOP_WORDS, name};

/// The keyphrase query of an annotation: its fields, in the order given, become one list of words.
///
/// Fields that are empty, `None` or `N/A` are passed over. The rest is joined and lower-cased; a
/// word is dropped when it is one of the [`NLTK_STOP_WORDS`] or stands anywhere inside what has been
/// kept so far (so "image" goes after "images", and "age", too). Commas stay with their words.
///
/// ```
/// let query = ir_data::datafinder::keyphrase_query(["image retrieval", "Images", "", "English"]);
/// assert_eq!(query, "image retrieval images english");
/// ```
#[must_use]
pub fn keyphrase_query<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut kept = String::new();
    for field in fields {
        let field = field.trim();
        if matches!(field, "" | "None" | "N/A") {
            continue;
        }
        for word in field.to_lowercase().split_whitespace() {
            if NLTK_STOP_WORDS.contains(&word) || kept.contains(word) {
                continue;
            }
            if !kept.is_empty() {
                kept.push(' ');
            }
            kept.push_str(word);
        }
    }
    kept
}

/// [`keyphrase_query`] of the attributes that DataFinder's test queries are made from: task,
/// modality, domain, language. The length of the texts is an attribute too, but the published
/// program asked for it by a wrong name, so it never entered the test queries (it did enter the
/// training queries).
#[must_use]
pub fn keyphrase_query_of(attributes: &Attributes) -> String {
    keyphrase_query(
        [name::TASK, name::MODALITY, name::DOMAIN, name::LANGUAGE]
            .into_iter()
            .filter_map(|name| attributes.text(name)),
    )
}
