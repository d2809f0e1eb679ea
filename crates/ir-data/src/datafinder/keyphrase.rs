//! Keyphrase queries from the fields of an annotation.

use ir_core::Attributes;
use ir_core::name;

/// The 179 English stop words of NLTK's list, as DataFinder used it, in its order.
#[rustfmt::skip]
pub const STOP_WORDS: [&str; 179] = [
    "i", "me", "my", "myself", "we", "our", "ours", "ourselves", "you", "you're", "you've",
    "you'll", "you'd", "your", "yours", "yourself", "yourselves", "he", "him", "his", "himself",
    "she", "she's", "her", "hers", "herself", "it", "it's", "its", "itself", "they", "them",
    "their", "theirs", "themselves", "what", "which", "who", "whom", "this", "that", "that'll",
    "these", "those", "am", "is", "are", "was", "were", "be", "been", "being", "have", "has",
    "had", "having", "do", "does", "did", "doing", "a", "an", "the", "and", "but", "if", "or",
    "because", "as", "until", "while", "of", "at", "by", "for", "with", "about", "against",
    "between", "into", "through", "during", "before", "after", "above", "below", "to", "from",
    "up", "down", "in", "out", "on", "off", "over", "under", "again", "further", "then", "once",
    "here", "there", "when", "where", "why", "how", "all", "any", "both", "each", "few", "more",
    "most", "other", "some", "such", "no", "nor", "not", "only", "own", "same", "so", "than",
    "too", "very", "s", "t", "can", "will", "just", "don", "don't", "should", "should've",
    "now", "d", "ll", "m", "o", "re", "ve", "y", "ain", "aren", "aren't", "couldn", "couldn't",
    "didn", "didn't", "doesn", "doesn't", "hadn", "hadn't", "hasn", "hasn't", "haven",
    "haven't", "isn", "isn't", "ma", "mightn", "mightn't", "mustn", "mustn't", "needn",
    "needn't", "shan", "shan't", "shouldn", "shouldn't", "wasn", "wasn't", "weren", "weren't",
    "won", "won't", "wouldn", "wouldn't",
];

/// The keyphrase query of an annotation: its fields, in the order given, become one list of words.
///
/// Fields that are empty, `None` or `N/A` are passed over. The rest is joined and lower-cased; a
/// word is dropped when it is one of the [`STOP_WORDS`] or stands anywhere inside what has been
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
            if STOP_WORDS.contains(&word) || kept.contains(word) {
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
