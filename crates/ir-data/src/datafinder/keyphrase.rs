use crate::attribute;
use ir_core::Attributes;
use ir_core::stop_words::NLTK;

/// Builds the keyphrase query of an annotation from its fields.
///
/// Fields that are empty, `None` or `N/A` are skipped; the others are joined and lower-cased. A
/// word is dropped if it is an [NLTK stop word](ir_core::stop_words) or a substring of the
/// preceding words: "image" and "age" after "images". Commas are part of their words.
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
            if NLTK.contains(&word) || kept.contains(word) {
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

/// Builds the keyphrase query of a test query from its attributes task, modality, domain and
/// language.
///
/// The text length is an attribute, too, but the published program used a wrong name for it, so
/// that it is part of the training queries only.
#[must_use]
pub fn keyphrase_query_from_attributes(attributes: &Attributes) -> String {
    keyphrase_query(
        [
            attribute::TASK,
            attribute::MODALITY,
            attribute::DOMAIN,
            attribute::LANGUAGE,
        ]
        .into_iter()
        .filter_map(|name| attributes.text(name)),
    )
}
