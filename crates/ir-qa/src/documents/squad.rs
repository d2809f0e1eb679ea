//! SQuAD articles as papers.

use std::collections::BTreeMap;

use ir_data::DataError;
use ir_data::squad::Squad;

use super::paper::Paper;

/// Reads the articles. The id of an article is `id#title`; entries of the same title are one
/// article.
pub(super) fn read(text: &str, path: &str, id: &str) -> Result<Vec<Paper>, DataError> {
    let squad = Squad::read(text.as_bytes(), path)?;
    let mut papers: Vec<Paper> = Vec::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for article in &squad.articles {
        let at = *numbers.entry(&article.title).or_insert_with(|| {
            let mut paper = Paper::new(format!("{id}#{}", article.title));
            paper.title = article.title.replace('_', " ");
            papers.push(paper);
            papers.len() - 1
        });
        for paragraph in &article.paragraphs {
            papers[at].push_paragraph(&paragraph.context, None);
        }
    }
    Ok(papers)
}
