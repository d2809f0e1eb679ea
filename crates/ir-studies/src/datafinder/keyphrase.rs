use std::collections::HashSet;

use ir_core::Attributes;
use ir_core::stop_words::NLTK;
use ir_data::attribute;

/// Builds the keyphrase query of an annotation from its fields.
///
/// Fields that are empty, `None` or `N/A` are skipped; the others are joined and lower-cased. A
/// word is dropped if it is an [NLTK stop word](ir_core::stop_words) or a substring of the
/// preceding words: "image" and "age" after "images". Commas are part of their words.
///
/// ```
/// use ir_studies::datafinder::keyphrase_query;
/// let query = keyphrase_query(["image retrieval", "Images", "", "English"]);
/// assert_eq!(query, "image retrieval images english");
/// ```
#[must_use]
pub fn keyphrase_query<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let mut kept = String::new();
    for field in fields {
        let field = field.trim();
        if is_absent(field) {
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

/// Builds the keyphrase queries of an annotation for a search engine: the Cartesian product of its
/// multi-valued fields, one phrase per field.
///
/// Values of a field are separated by commas. Fields and values that are empty, `None` or `N/A` are
/// skipped; `paragraph-level` and `sentence-level` become `paragraph` and `sentence`. The phrases
/// of a combination are joined and lower-cased. A word is dropped if it is an [NLTK stop
/// word](ir_core::stop_words), is contained in a preceding word, or contains one. Equal queries
/// occur once, in the order of the product: the last field varies fastest. The number of
/// combinations is the product of the numbers of values.
///
/// ```
/// use ir_studies::datafinder::keyphrase_product;
/// let queries = keyphrase_product(["question answering, textual entailment", "Text"]);
/// // "text" is contained in "textual".
/// assert_eq!(queries, ["question answering text", "textual entailment"]);
/// ```
///
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023, Section 4.3, and the program published with it. Fields in the published
/// order: task, modality, domain, language, text length.
#[must_use]
pub fn keyphrase_product<'a>(fields: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut combinations: Vec<Vec<&str>> = vec![Vec::new()];
    for field in fields {
        let phrases: Vec<&str> = match field.trim() {
            "paragraph-level" => vec!["paragraph"],
            "sentence-level" => vec!["sentence"],
            field => {
                let values = field.split(',').map(str::trim);
                values.filter(|it| !is_absent(it)).collect()
            }
        };
        if phrases.is_empty() {
            continue;
        }
        let extended = combinations.iter().flat_map(|combination| {
            let with = |phrase: &&'a str| [&combination[..], &[*phrase]].concat();
            phrases.iter().map(with)
        });
        combinations = extended.collect();
    }
    let (mut queries, mut seen) = (Vec::new(), HashSet::new());
    for combination in combinations {
        let text = combination.join(" ").to_lowercase();
        let mut kept: Vec<&str> = Vec::new();
        for word in text.split_whitespace() {
            let overlaps = |other: &&str| other.contains(word) || word.contains(*other);
            if !NLTK.contains(&word) && !kept.iter().any(overlaps) {
                kept.push(word);
            }
        }
        let query = kept.join(" ");
        if !query.is_empty() && seen.insert(query.clone()) {
            queries.push(query);
        }
    }
    queries
}

/// Builds the keyphrase queries of a test query from its attributes; see [`keyphrase_product`].
#[must_use]
pub fn keyphrase_product_from_attributes(attributes: &Attributes) -> Vec<String> {
    keyphrase_product(
        [
            attribute::TASK,
            attribute::MODALITY,
            attribute::DOMAIN,
            attribute::LANGUAGE,
            attribute::TEXT_LENGTH,
        ]
        .into_iter()
        .filter_map(|name| attributes.text(name)),
    )
}

/// Returns `true` if an annotation has no value.
fn is_absent(value: &str) -> bool {
    matches!(value, "" | "None" | "N/A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_multi_valued_fields() {
        let product = |fields: &[&str]| keyphrase_product(fields.iter().copied());
        assert_eq!(
            product(&["a1x, b2y", "c3z,d4w", "None", "", "N/A", "e5v"]),
            ["a1x c3z e5v", "a1x d4w e5v", "b2y c3z e5v", "b2y d4w e5v"]
        );
        // Both directions: "images" contains "image", "age" is contained in "image".
        assert_eq!(product(&["image age", "Images"]), ["image"]);
        assert_eq!(product(&["Images image"]), ["images"]);
        assert_eq!(
            product(&["detection of objects", "", "objects"]),
            ["detection objects"]
        );
        assert_eq!(product(&["a, a", "b7"]), ["b7"]);
        assert_eq!(
            product(&["summarization", "paragraph-level"]),
            ["summarization paragraph"]
        );
        assert_eq!(
            product(&["parsing", " sentence-level "]),
            ["parsing sentence"]
        );
        // Exact values only.
        assert_eq!(
            product(&["qa", "sentence-level, paragraph-level"]),
            ["qa sentence-level", "qa paragraph-level"]
        );
        assert!(product(&["", "the", "N/A"]).is_empty());
        assert!(product(&[]).is_empty());
        assert!(product(&[", ,"]).is_empty());
    }
}
