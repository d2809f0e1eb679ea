/// Name of the attribute with the selected citances of a dataset, one per line.
pub const CITANCES: &str = "citances";

/// Maximum number of citances per dataset, as published.
pub const MAX_CITANCES: usize = 5;

/// Citance: the sentence of a paper that cites a dataset's paper, with its neighbors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citance {
    /// Text of the window.
    pub text: String,
    /// Length of the window in sentences.
    pub sentences: usize,
    /// If `true`, the dataset is mentioned by one of its names.
    pub is_named: bool,
}

/// Selection of one citance per citing paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CitanceRule {
    /// The first citance that mentions the dataset by name, otherwise the first.
    #[default]
    NamedFirst,
    /// The published program: the first citance, and none of a paper that mentions the dataset by
    /// name.
    Published,
}

impl Citance {
    /// Creates the citance of a sentence: the sentence with one neighbor on each side, joined by
    /// spaces. The dataset is mentioned by name if the paragraph contains one of `names`.
    ///
    /// ```
    /// use ir_data::datafinder::Citance;
    /// let paragraph = ["We train on PTB.", "It is parsed [3].", "F1 is high.", "We stop."];
    /// let citance = Citance::in_paragraph(&paragraph, 1, &["PTB"]);
    /// assert_eq!(citance.text, "We train on PTB. It is parsed [3]. F1 is high.");
    /// assert_eq!((citance.sentences, citance.is_named), (3, true));
    /// ```
    ///
    /// Without a sentence `citing`, the window ends with the paragraph and may be empty.
    #[must_use]
    pub fn in_paragraph(sentences: &[&str], citing: usize, names: &[&str]) -> Self {
        let end = sentences.len().min(citing + 2);
        let window = sentences.get(citing.saturating_sub(1)..end);
        let window = window.unwrap_or_default();
        let is_named = |sentence: &&str| names.iter().any(|name| sentence.contains(name));
        Self {
            text: window.join(" "),
            sentences: window.len(),
            is_named: sentences.iter().any(is_named),
        }
    }
}

/// Selects at most `limit` citances of a dataset: one per citing paper by `rule`. Citances without
/// the dataset's name come first, then shorter windows, then earlier papers.
///
/// ```
/// use ir_data::datafinder::{Citance, CitanceRule, select_citances};
/// let citance = |text: &str, is_named| Citance { text: text.into(), sentences: 1, is_named };
/// let papers = [vec![citance("a", false), citance("b", true)], vec![citance("c", false)]];
/// let texts = |rule| -> Vec<&str> {
///     select_citances(&papers, rule, 5).into_iter().map(|it| it.text.as_str()).collect()
/// };
/// assert_eq!(texts(CitanceRule::NamedFirst), ["c", "b"]);
/// assert_eq!(texts(CitanceRule::Published), ["c"]);
/// ```
///
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023, Section 5.4, and the program published with it.
pub fn select_citances(papers: &[Vec<Citance>], rule: CitanceRule, limit: usize) -> Vec<&Citance> {
    let of_paper = |paper: &'_ [Citance]| -> Option<usize> {
        match (paper.iter().position(|citance| citance.is_named), rule) {
            (Some(named), CitanceRule::NamedFirst) => Some(named),
            (Some(_), CitanceRule::Published) => None,
            (None, _) => Some(0),
        }
    };
    let chosen = papers.iter();
    let mut chosen: Vec<&Citance> = chosen
        .filter_map(|paper| paper.get(of_paper(paper)?))
        .collect();
    chosen.sort_by_key(|citance| (citance.is_named, citance.sentences));
    chosen.truncate(limit);
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

    fn texts(papers: &[Vec<Citance>], rule: CitanceRule, limit: usize) -> Vec<&str> {
        let chosen = select_citances(papers, rule, limit);
        chosen.iter().map(|citance| citance.text.as_str()).collect()
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
        ];
        assert_eq!(
            texts(&papers, CitanceRule::NamedFirst, MAX_CITANCES),
            ["c1", "e1", "b1", "a2", "d1"]
        );
        assert_eq!(
            texts(&papers, CitanceRule::Published, MAX_CITANCES),
            ["c1", "e1", "b1"]
        );
        assert_eq!(texts(&papers, CitanceRule::NamedFirst, 2), ["c1", "e1"]);
    }

    #[test]
    fn windows_at_the_ends_of_a_paragraph() {
        let paragraph = ["A.", "B.", "C."];
        for (citing, text, sentences) in [(0, "A. B.", 2), (1, "A. B. C.", 3), (2, "B. C.", 2)] {
            let found = Citance::in_paragraph(&paragraph, citing, &["D"]);
            assert_eq!(found, citance(text, sentences, false));
        }
        // The name may be outside of the window.
        assert!(Citance::in_paragraph(&paragraph, 0, &["C"]).is_named);
    }
}
