use ir_core::{Corpus, CorpusError, Document};

/// Returns the documents in lexicographic order of the row number: row 10 precedes row 9.
///
/// DataFinder's dataset names are not unique. The published Lucene index therefore uses row numbers
/// as ids, and Lucene orders equal scores by id as a string. Documents indexed in this order have
/// the same order among equal scores, which also decides which of two records with the same name
/// is ranked first.
///
/// ```
/// use ir_core::Document;
/// use ir_data::datafinder::lexicographic_row_order;
/// let corpus: Vec<Document> = (0..11).map(|n| Document::new(format!("d{n}"))).collect();
/// let ordered = lexicographic_row_order(&corpus)?;
/// let ids: Vec<&str> = ordered.iter().map(|doc| doc.id.as_str()).collect();
/// assert_eq!(ids[..4], ["d0", "d1", "d10", "d2"]);
/// # Ok::<(), ir_core::CorpusError>(())
/// ```
///
/// # Errors
/// The corpus cannot be read.
pub fn lexicographic_row_order(corpus: &dyn Corpus) -> Result<Vec<Document>, CorpusError> {
    let rows = corpus.docs()?.enumerate();
    let mut rows: Vec<(String, Document)> = rows
        .map(|(row, doc)| Ok((row.to_string(), doc?)))
        .collect::<Result<_, CorpusError>>()?;
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(rows.into_iter().map(|(_, doc)| doc).collect())
}
