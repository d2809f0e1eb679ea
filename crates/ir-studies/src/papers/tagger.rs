use std::collections::{BTreeMap, BTreeSet, HashMap};

use ir_data::s2orc::Paper;

use super::links::{DatasetLinks, DatasetRecord};
use super::sentences::sentences;
use crate::datafinder::words;

/// Comparison of the names of datasets with the words of a text. Case matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MentionMatching {
    /// All words of a name in sequence; of names that overlap, the longest.
    #[default]
    Words,
    /// Single words that equal a name, as published: a name of several words never matches.
    SingleWords,
}

/// Rules by which a paper uses a dataset.
///
/// Section titles are compared in lower case, by substring. A title that contains a word of
/// `excluded_sections` excludes its section; then, a title that contains a word of `sections`
/// includes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggingRules {
    /// Words in the titles of sections that are included.
    pub sections: Vec<&'static str>,
    /// Words in the titles of sections that are excluded.
    pub excluded_sections: Vec<&'static str>,
    /// If `true`, a title without such words leaves the state of the preceding section unchanged;
    /// otherwise its section is excluded. The first section is excluded unless its title includes
    /// it.
    pub sticky: bool,
    /// Parts of words that exclude a sentence, in lower case.
    pub excluded_sentences: Vec<&'static str>,
    /// Minimum number of mentions in included sections. Range: ≥ 1.
    pub minimum_mentions: usize,
    /// Comparison of names and words.
    pub matching: MentionMatching,
}

impl Default for TaggingRules {
    /// Rules of the published program, with names of several words.
    fn default() -> Self {
        Self {
            sections: vec![
                "dataset",
                "experiment",
                "evaluation",
                "result",
                "training",
                "testing",
            ],
            excluded_sections: vec![
                "related work",
                "future work",
                "discussion",
                "conclusion",
                "concluding",
            ],
            sticky: true,
            excluded_sentences: vec!["pretrain", "pre-train"],
            minimum_mentions: 1,
            matching: MentionMatching::Words,
        }
    }
}

impl TaggingRules {
    /// Rules of the published program.
    #[must_use]
    pub fn published() -> Self {
        Self {
            matching: MentionMatching::SingleWords,
            ..Self::default()
        }
    }

    /// Rules as the paper states them: two mentions, no excluded sections and sentences, no sticky
    /// sections.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            sections: vec![
                "results",
                "experiment",
                "evaluation",
                "result",
                "training",
                "testing",
            ],
            excluded_sections: Vec::new(),
            sticky: false,
            excluded_sentences: Vec::new(),
            minimum_mentions: 2,
            matching: MentionMatching::Words,
        }
    }

    /// Numbers of the included sections of a paper, from 0.
    ///
    /// ```
    /// use ir_data::s2orc::{Paper, Section};
    /// use ir_studies::papers::TaggingRules;
    /// let titles = ["Introduction", "Experiments", "Setup", "Related Work", "Details"];
    /// let sections = titles.map(|title| Section { title: title.into(), ..Section::default() });
    /// let paper = Paper { sections: sections.into(), ..Paper::default() };
    /// assert_eq!(TaggingRules::default().included_sections(&paper), [1, 2]);
    /// assert_eq!(TaggingRules::paper().included_sections(&paper), [1]);
    /// ```
    #[must_use]
    pub fn included_sections(&self, paper: &Paper) -> Vec<usize> {
        let mut is_on = false;
        let mut included = Vec::new();
        for (n, section) in paper.sections.iter().enumerate() {
            let title = section.title.to_lowercase();
            let has = |words: &[&str]| words.iter().any(|word| title.contains(word));
            is_on &= self.sticky && !has(&self.excluded_sections);
            is_on |= has(&self.sections);
            if is_on {
                included.push(n);
            }
        }
        included
    }
}

/// Datasets of a paper, by their numbers in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatasetTags {
    /// Datasets that the paper uses.
    pub positives: Vec<usize>,
    /// Datasets that the paper mentions or cites; no other dataset can be a positive, so that all
    /// others are candidates for negatives.
    pub mentioned_or_cited: Vec<usize>,
}

/// Reason why a paper has no tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Untagged {
    /// The paper introduces a dataset.
    #[error("introduces a dataset")]
    IntroducesDataset,
    /// The paper has no abstract.
    #[error("no abstract")]
    NoAbstract,
    /// The body of the paper was not parsed.
    #[error("no sections")]
    NoSections,
    /// No dataset is cited, and mentioned as the rules require.
    #[error("no dataset cited and mentioned")]
    NoDataset,
}

/// Words of a name, and the datasets with that name.
type DatasetName = (Vec<String>, Vec<usize>);

/// Rule-based tagger of the datasets that papers use: cited, and mentioned in the sections of the
/// experiments.
///
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023, Section 3.2, and the program published with it, which says sentences
/// where the paper says mentions.
#[derive(Debug)]
pub struct DatasetTagger<'a> {
    links: &'a DatasetLinks,
    rules: TaggingRules,
    /// Names by first word, longest first, with the datasets of the name.
    names: HashMap<String, Vec<DatasetName>>,
}

impl<'a> DatasetTagger<'a> {
    /// Creates a tagger for datasets and their links.
    #[must_use]
    pub fn new(datasets: &[DatasetRecord], links: &'a DatasetLinks, rules: TaggingRules) -> Self {
        let mut by_words: BTreeMap<Vec<String>, BTreeSet<usize>> = BTreeMap::new();
        for (n, dataset) in datasets.iter().enumerate() {
            for name in dataset.names() {
                let name = words_of(name);
                if !name.is_empty() {
                    by_words.entry(name).or_default().insert(n);
                }
            }
        }
        let mut names: HashMap<String, Vec<_>> = HashMap::new();
        for (name, owners) in by_words {
            let owners = Vec::from_iter(owners);
            names
                .entry(name[0].clone())
                .or_default()
                .push((name, owners));
        }
        for names in names.values_mut() {
            names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        }
        Self {
            links,
            rules,
            names,
        }
    }

    /// Tags a paper with the datasets that it uses.
    ///
    /// # Errors
    /// The paper has no tags.
    pub fn tag(&self, paper: &Paper) -> Result<DatasetTags, Untagged> {
        if self.links.introduces(paper) {
            return Err(Untagged::IntroducesDataset);
        }
        if paper.abstract_text.trim().is_empty() {
            return Err(Untagged::NoAbstract);
        }
        if paper.sections.is_empty() {
            return Err(Untagged::NoSections);
        }
        let cited = self.links.cited(paper);
        let mut known = cited.clone();
        for paragraph in paper.paragraphs() {
            known.extend(self.mentions(&paragraph.text, MentionMatching::Words));
        }
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for n in self.rules.included_sections(paper) {
            for paragraph in &paper.sections[n].paragraphs {
                let sentences = sentences(&paragraph.text).filter(|it| self.is_evidence(it));
                for dataset in sentences.flat_map(|it| self.mentions(it, self.rules.matching)) {
                    *counts.entry(dataset).or_default() += 1;
                }
            }
        }
        let minimum = self.rules.minimum_mentions.max(1);
        let used = counts.into_iter().filter(|(_, count)| *count >= minimum);
        let positives = used.map(|(dataset, _)| dataset);
        let positives: Vec<usize> = positives.filter(|it| cited.contains(it)).collect();
        if positives.is_empty() {
            return Err(Untagged::NoDataset);
        }
        Ok(DatasetTags {
            positives,
            mentioned_or_cited: Vec::from_iter(known),
        })
    }

    fn is_evidence(&self, sentence: &str) -> bool {
        let sentence = sentence.to_lowercase();
        let excluded = &self.rules.excluded_sentences;
        !excluded.iter().any(|part| sentence.contains(part))
    }

    /// Datasets of all mentions in text order.
    fn mentions(&self, text: &str, matching: MentionMatching) -> Vec<usize> {
        let tokens = words_of(text);
        let mut mentions = Vec::new();
        let mut at = 0;
        while let Some(word) = tokens.get(at) {
            let names = self.names.get(word).map_or(&[][..], Vec::as_slice);
            let found = names.iter().find(|(name, _)| match matching {
                MentionMatching::Words => tokens[at..].starts_with(name),
                MentionMatching::SingleWords => name.len() == 1,
            });
            at += found.map_or(1, |(name, _)| name.len());
            mentions.extend(found.into_iter().flat_map(|(_, owners)| owners));
        }
        mentions
    }
}

fn words_of(text: &str) -> Vec<String> {
    words(text).map(|span| text[span].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use ir_data::s2orc::{BibliographyEntry, PaperKeys, Paragraph, Section};

    use super::*;

    fn keys(title: &str) -> PaperKeys {
        PaperKeys {
            title: title.to_owned(),
            ..PaperKeys::default()
        }
    }

    /// Datasets with papers titled `paper of NAME`.
    fn datasets() -> Vec<DatasetRecord> {
        let names = [
            ("COCO", &["MS COCO"][..]),
            ("COCO Captions", &[]),
            ("Penn Treebank", &["PTB"]),
            ("SQuAD", &[]),
        ];
        let record = |&(name, variants): &(&str, &[&str])| DatasetRecord {
            id: name.replace(' ', "_"),
            name: name.to_owned(),
            variants: variants.iter().map(|&it| it.to_owned()).collect(),
            paper: keys(&format!("paper of {name}")),
        };
        names.iter().map(record).collect()
    }

    fn paper(sections: &[(&str, &str)], cited: &[&str]) -> Paper {
        let section = |&(title, text): &(&str, &str)| Section {
            title: title.to_owned(),
            paragraphs: vec![Paragraph {
                text: text.to_owned(),
                citations: Vec::new(),
            }],
        };
        let entry = |name: &&str| BibliographyEntry {
            keys: keys(&format!("Paper of {name}")),
            paper: None,
        };
        let cited = cited.iter().map(|name| ((*name).to_owned(), entry(name)));
        Paper {
            id: "p".to_owned(),
            keys: keys("A new method"),
            abstract_text: "We do things.".to_owned(),
            sections: sections.iter().map(section).collect(),
            bibliography: cited.collect(),
            ..Paper::default()
        }
    }

    #[track_caller]
    fn check(rules: TaggingRules, paper: &Paper, expected: Result<&[usize], Untagged>) {
        let datasets = datasets();
        let links = DatasetLinks::new(&datasets, std::slice::from_ref(paper));
        let tagger = DatasetTagger::new(&datasets, &links, rules);
        let found = tagger.tag(paper).map(|tags| tags.positives);
        assert_eq!(found.as_deref(), expected.as_ref().map(|it| *it));
    }

    #[track_caller]
    fn check_default(paper: &Paper, expected: Result<&[usize], Untagged>) {
        check(TaggingRules::default(), paper, expected);
    }

    const ALL: [&str; 4] = ["COCO", "COCO Captions", "Penn Treebank", "SQuAD"];

    #[test]
    fn citation_and_mention() {
        let sections = [("Experiments", "We evaluate on SQuAD and COCO.")];
        let none = Err(Untagged::NoDataset);
        check_default(&paper(&sections, &ALL), Ok(&[0, 3]));
        // Mentioned only, cited only.
        check_default(&paper(&sections, &["SQuAD"]), Ok(&[3]));
        check_default(&paper(&sections, &["Penn Treebank"]), none);
        // Case matters; a name is not a part of a word.
        let sections = [("Experiments", "We evaluate on squad and SQuADs.")];
        check_default(&paper(&sections, &ALL), none);
    }

    #[test]
    fn sticky_sections() {
        let text = "We use SQuAD here.";
        let titles = |titles: &[&'static str]| {
            let mut sections: Vec<_> = titles.iter().map(|&it| (it, "Nothing.")).collect();
            sections.last_mut().unwrap().1 = text;
            paper(&sections, &ALL)
        };
        let none = Err(Untagged::NoDataset);
        let used: Result<&[usize], Untagged> = Ok(&[3]);
        for (sections, default, stated) in [
            (&["Introduction"][..], none, none),
            (&["Datasets"], used, none),
            (&["4 EXPERIMENTAL setup"], used, used),
            // A title without these words leaves the state unchanged.
            (&["Experiments", "Implementation details"], used, none),
            (&["Introduction", "Method"], none, none),
            (&["Results", "Related Work", "Details"], none, none),
            (&["Results", "Conclusions"], none, none),
            // Off first, then on.
            (&["Results and Discussion"], used, used),
            (&["Discussion", "Evaluation", "More"], used, none),
            (&["Model training"], used, used),
            (&["Concluding remarks"], none, none),
        ] {
            check_default(&titles(sections), default);
            check(TaggingRules::published(), &titles(sections), default);
            let twice = TaggingRules {
                minimum_mentions: 1,
                ..TaggingRules::paper()
            };
            check(twice, &titles(sections), stated);
        }
    }

    #[test]
    fn excluded_sentences_and_minimum() {
        let none = Err(Untagged::NoDataset);
        let sections = [("Results", "The model is Pre-trained on SQuAD. It is good.")];
        check_default(&paper(&sections, &ALL), none);
        let sections = [("Results", "Pretraining uses SQuAD. We test on SQuAD.")];
        check_default(&paper(&sections, &ALL), Ok(&[3]));
        // The paper requires two mentions, in any sentence.
        check(TaggingRules::paper(), &paper(&sections, &ALL), Ok(&[3]));
        let sections = [
            ("Results", "We test on SQuAD."),
            ("Conclusion", "SQuAD is solved."),
        ];
        check(TaggingRules::paper(), &paper(&sections, &ALL), none);
    }

    #[test]
    fn names_of_several_words() {
        let text = "We test on Penn Treebank, MS COCO and COCO Captions.";
        let sections = [("Results", text)];
        check_default(&paper(&sections, &ALL), Ok(&[0, 1, 2]));
        // Published: single words only.
        check(TaggingRules::published(), &paper(&sections, &ALL), Ok(&[0]));
        let sections = [("Results", "We test on PTB and COCO Captions.")];
        let paper = paper(&sections, &ALL);
        check_default(&paper, Ok(&[1, 2]));
        check(TaggingRules::published(), &paper, Ok(&[0, 2]));
    }

    #[test]
    fn papers_without_tags() {
        let good = paper(&[("Results", "SQuAD.")], &ALL);
        let mut own = good.clone();
        own.keys = keys("PAPER OF COCO");
        check_default(&own, Err(Untagged::IntroducesDataset));
        let without = Paper {
            abstract_text: " ".to_owned(),
            ..good.clone()
        };
        check_default(&without, Err(Untagged::NoAbstract));
        let without = Paper {
            sections: Vec::new(),
            ..good.clone()
        };
        check_default(&without, Err(Untagged::NoSections));
        check_default(&good, Ok(&[3]));
    }

    #[test]
    fn candidates_for_negatives_are_neither_mentioned_nor_cited() {
        let sections = [
            ("Introduction", "Unlike COCO Captions."),
            ("Results", "SQuAD."),
        ];
        let paper = paper(&sections, &["SQuAD", "Penn Treebank"]);
        let datasets = datasets();
        let links = DatasetLinks::new(&datasets, std::slice::from_ref(&paper));
        let tagger = DatasetTagger::new(&datasets, &links, TaggingRules::default());
        let tags = tagger.tag(&paper).unwrap();
        assert_eq!(tags.positives, [3]);
        assert_eq!(tags.mentioned_or_cited, [1, 2, 3]);
    }
}
