//! Texts of collections, and texts of a number of tokens.

use anyhow::{Result, ensure};
use ir_data::DocTemplate;
use ir_data::catalog::Catalog;

/// Maximum number of documents that are read.
const MAX_DOCUMENTS: usize = 2000;

/// Name of a collection, or of the bundled one if it is not installed.
pub(crate) fn collection_name(catalog: &Catalog, name: &'static str) -> &'static str {
    match catalog.has(name) {
        Ok(true) => name,
        _ => "bundled",
    }
}

/// First documents of ArguAna, or of the bundled collection.
pub(crate) fn read_documents(catalog: &Catalog) -> Result<Vec<String>> {
    let collection = catalog.open(collection_name(catalog, "beir/arguana"))?;
    let template = DocTemplate::default();
    let mut documents = Vec::new();
    for document in collection.corpus().docs()?.take(MAX_DOCUMENTS) {
        documents.push(template.render(&document?));
    }
    ensure!(!documents.is_empty(), "the collection is empty");
    Ok(documents)
}

/// Returns texts of exactly `length` tokens according to `count_tokens`, which counts special
/// tokens, too. The texts are words of an endless list.
pub(crate) fn texts_of_length<'a>(
    words: &mut impl Iterator<Item = &'a str>,
    count: usize,
    length: usize,
    count_tokens: impl Fn(&str) -> Result<usize>,
) -> Result<Vec<String>> {
    let special = count_tokens("")?;
    ensure!(
        length > special,
        "expected more than {special} tokens, found {length}"
    );
    let mut texts = Vec::new();
    while texts.len() < count {
        let (mut text, mut room) = (String::new(), length - special);
        // Most words have one token; a word that does not fit is skipped.
        for word in words.by_ref().take(100 * length) {
            let tokens = count_tokens(word)? - special;
            if (1..=room).contains(&tokens) {
                text.push_str(word);
                text.push(' ');
                room -= tokens;
            }
            if room == 0 {
                break;
            }
        }
        let found = count_tokens(&text)?;
        ensure!(
            room == 0 && found == length,
            "expected a text of {length} tokens, found {found}"
        );
        texts.push(text);
    }
    Ok(texts)
}
