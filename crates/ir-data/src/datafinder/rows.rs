//! The order in which the measured figures break ties.

use ir_core::{Corpus, CorpusError, Document};

/// The documents in the order of their rows, compared as text: row 10 stands before row 9.
///
/// DataFinder's dataset names are not unique, so whoever indexes the collection with Lucene gives
/// every record its row for an id, and Lucene orders equal scores by that id, as text. Number the
/// documents in this order (insertion order, in an index builder) and equal scores fall as they do
/// there: that decides, among other things, which of two records of one name is met first.
///
/// ```
/// use ir_core::Document;
/// use ir_data::datafinder::in_order_of_row_text;
/// let corpus: Vec<Document> = (0..11).map(|n| Document::new(format!("d{n}"))).collect();
/// let order: Vec<String> = in_order_of_row_text(&corpus)?.into_iter().map(|doc| doc.id).collect();
/// assert_eq!(order[..4], ["d0", "d1", "d10", "d2"]);
/// # Ok::<(), ir_core::CorpusError>(())
/// ```
///
/// # Errors
/// When the collection cannot be read.
pub fn in_order_of_row_text(corpus: &dyn Corpus) -> Result<Vec<Document>, CorpusError> {
    let rows = corpus.docs()?.enumerate();
    let mut rows: Vec<(String, Document)> = rows
        .map(|(row, doc)| Ok((row.to_string(), doc?)))
        .collect::<Result<_, CorpusError>>()?;
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(rows.into_iter().map(|(_, doc)| doc).collect())
}
