use ir_data::s2orc::Paper;

use super::answer::{AnswerError, QueryAnswer};
use super::sentences::sentences;
use super::writer::{QueryWriter, QueryWriterError};

/// Query writer without a language model: the summary is a sentence of the abstract, and the fields
/// are words of a fixed list that title or abstract contain.
///
/// The summary is the first sentence with a phrase such as "we propose", otherwise with "we" or
/// "this paper", otherwise the first sentence. The task is the title up to `:`, or the part after
/// "for", if it has one. Domain and training style may be empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExtractiveWriter {
    _private: (),
}

/// Phrases of sentences that say what a paper does, by priority.
const CUES: [&[&str]; 2] = [
    &[
        "we propose",
        "we present",
        "we introduce",
        "we develop",
        "we describe",
        "we study",
        "this paper presents",
        "this paper proposes",
    ],
    &["we ", "this paper", "this work", "in this "],
];

/// Values of a field and the stems of words that imply them.
type Lexicon = [(&'static str, &'static [&'static str])];

const MODALITIES: &Lexicon = &[
    ("Images", &["image", "photo", "picture", "visual"]),
    ("Video", &["video", "clip"]),
    (
        "Text",
        &[
            "text", "sentence", "document", "word", "question", "transl", "pars", "corpus",
            "corpora",
        ],
    ),
    ("Speech", &["speech", "spoken", "speaker"]),
    ("Audio", &["audio", "sound", "music"]),
    ("Graphs", &["graph"]),
    ("Tables", &["table", "tabular"]),
    ("Time series", &["time series", "sensor"]),
];

const LANGUAGES: &Lexicon = &[
    ("English", &["english"]),
    ("German", &["german"]),
    ("French", &["french"]),
    ("Chinese", &["chinese"]),
    ("Arabic", &["arabic"]),
    ("Hindi", &["hindi"]),
    ("Spanish", &["spanish"]),
];

const TEXT_LENGTHS: &Lexicon = &[
    ("Sentence-level", &["sentence"]),
    ("Paragraph-level", &["paragraph", "passage", "document"]),
];

const TRAINING_STYLES: &Lexicon = &[
    ("Self-supervised", &["self-supervised"]),
    ("Semi-supervised", &["semi-supervised"]),
    (
        "Weakly supervised",
        &[
            "weakly supervised",
            "weak supervision",
            "distant supervision",
        ],
    ),
    ("Unsupervised", &["unsupervised", "without labels"]),
    ("Reinforcement learning", &["reinforcement"]),
    ("Transfer learning", &["transfer", "fine-tun"]),
];

const DOMAINS: &Lexicon = &[
    (
        "Biomedicine",
        &["biomedic", "clinical", "medical", "patient"],
    ),
    ("Law", &["legal", "court"]),
    ("Finance", &["financ", "stock"]),
    ("News", &["news"]),
    ("Driving", &["driving", "traffic"]),
    ("Social media", &["tweet", "social media"]),
];

impl QueryWriter for ExtractiveWriter {
    fn write(&mut self, paper: &Paper) -> Result<QueryAnswer, QueryWriterError> {
        let all: Vec<&str> = sentences(&paper.abstract_text).collect();
        let summary = CUES
            .iter()
            .find_map(|cues| {
                let has = |sentence: &&&str| {
                    let sentence = sentence.to_lowercase();
                    cues.iter().any(|cue| sentence.contains(cue))
                };
                all.iter().find(has)
            })
            .or(all.first());
        let summary = summary.ok_or_else(|| QueryWriterError::NoAbstract {
            paper: paper.id.clone(),
        })?;
        if !summary.contains(char::is_alphabetic) {
            return Err(QueryWriterError::Answer {
                paper: paper.id.clone(),
                source: AnswerError::NoSummary,
            });
        }
        let text = format!("{}. {}", paper.keys.title, paper.abstract_text).to_lowercase();
        Ok(QueryAnswer {
            task: task(&paper.keys.title).to_owned(),
            modality: values(MODALITIES, &text),
            domain: values(DOMAINS, &text),
            training_style: values(TRAINING_STYLES, &text),
            text_length: values(TEXT_LENGTHS, &text),
            language: values(LANGUAGES, &text),
            summary: (*summary).to_owned(),
        })
    }

    fn name(&self) -> String {
        "extractive".to_owned()
    }
}

/// Values, joined by commas, with a stem that starts a word of the lower-case text.
fn values(lexicon: &Lexicon, text: &str) -> String {
    let starts_word = |stem: &str| {
        let mut found = text.match_indices(stem);
        found.any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-'))
    };
    let values = lexicon
        .iter()
        .filter(|(_, stems)| stems.iter().any(|it| starts_word(it)));
    let values: Vec<&str> = values.map(|(value, _)| *value).collect();
    values.join(", ")
}

/// Task of a title.
fn task(title: &str) -> &str {
    let title = title.rsplit_once(": ").map_or(title, |(_, after)| after);
    let after = title
        .split_once(" for ")
        .or_else(|| title.split_once(" For "));
    after.map_or(title, |(_, after)| after).trim()
}

#[cfg(test)]
mod tests {
    use ir_data::s2orc::PaperKeys;

    use super::*;

    fn written(title: &str, abstract_text: &str) -> Result<QueryAnswer, QueryWriterError> {
        let paper = Paper {
            id: "p1".to_owned(),
            keys: PaperKeys {
                title: title.to_owned(),
                ..PaperKeys::default()
            },
            abstract_text: abstract_text.to_owned(),
            ..Paper::default()
        };
        ExtractiveWriter::default().write(&paper)
    }

    #[test]
    fn summaries() {
        for (text, summary) in [
            (
                "Old facts. We test it. Here we propose a net.",
                "Here we propose a net.",
            ),
            ("Old facts. We test it. End.", "We test it."),
            ("Old facts. In this work, more.", "In this work, more."),
            ("Old facts. End.", "Old facts."),
        ] {
            assert_eq!(written("T", text).unwrap().summary, summary);
        }
        assert!(
            matches!(written("T", " "), Err(QueryWriterError::NoAbstract { paper }) if paper == "p1")
        );
        assert!(matches!(
            written("T", "123."),
            Err(QueryWriterError::Answer { .. })
        ));
    }

    #[test]
    fn fields() {
        let answer = written(
            "DeepParse: Graph Networks for Semi-Supervised Sentence Parsing",
            "We parse English and German sentences in news with photographs.",
        );
        let answer = answer.unwrap();
        assert_eq!(answer.task, "Semi-Supervised Sentence Parsing");
        assert_eq!(answer.modality, "Images, Text, Graphs");
        assert_eq!(answer.language, "English, German");
        assert_eq!(answer.text_length, "Sentence-level");
        assert_eq!(answer.training_style, "Semi-supervised");
        assert_eq!(answer.domain, "News");
        // "unsupervised" has "supervised" inside of the word.
        assert_eq!(
            written("T", "It is unsupervised.").unwrap().training_style,
            "Unsupervised"
        );
    }
}
