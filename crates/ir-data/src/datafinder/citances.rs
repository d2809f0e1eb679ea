/// Name of the attribute with the selected citances of a dataset, one per line.
pub const CITANCES: &str = "citances";

/// Maximum number of citances per dataset, as published.
pub const MAX_CITANCES: usize = 5;

/// Citance: a passage of a paper about a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Citance {
    pub(super) text: String,
    pub(super) sentences: usize,
    /// If `true`, the passage mentions the dataset by one of its names.
    pub(super) is_named: bool,
}

/// Selects at most [`MAX_CITANCES`] citances of a dataset, one per paper: the first that mentions
/// the dataset by name, otherwise the first. Citances without the name come first, then shorter
/// ones, then earlier papers.
///
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023, Section 5.4. The published program selects none of a paper that
/// mentions the dataset by name.
pub(super) fn select_citances(papers: &[Vec<Citance>]) -> Vec<&Citance> {
    let of_paper = |paper: &'_ [Citance]| paper.iter().position(|citance| citance.is_named);
    let chosen = papers.iter();
    let mut chosen: Vec<&Citance> = chosen
        .filter_map(|paper| paper.get(of_paper(paper).unwrap_or(0)))
        .collect();
    chosen.sort_by_key(|citance| (citance.is_named, citance.sentences));
    chosen.truncate(MAX_CITANCES);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn citance(text: &str, sentences: usize, is_named: bool) -> Citance {
        Citance {
            text: text.to_owned(),
            sentences,
            is_named,
        }
    }

    #[test]
    fn one_citance_per_paper_in_order() {
        let papers = [
            vec![citance("a1", 3, false), citance("a2", 1, true)],
            vec![citance("b1", 3, false), citance("b2", 1, false)],
            vec![],
            vec![citance("c1", 2, false)],
            vec![citance("d1", 1, true), citance("d2", 3, true)],
            vec![citance("e1", 2, false)],
            vec![citance("f1", 2, true)],
        ];
        let chosen = select_citances(&papers);
        let texts: Vec<&str> = chosen.iter().map(|citance| citance.text.as_str()).collect();
        assert_eq!(texts, ["c1", "e1", "b1", "a2", "d1"]);
    }
}
