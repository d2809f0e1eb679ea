//! Sentences of SQuAD as a test collection.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use ir_core::{Corpus, CorpusError, DocReader, Document, Qrels, Query};

use super::file::{InMemoryReader, SquadFile};
use super::{Paragraph, Question, Squad};
use crate::collection::{Collection, JudgedQueries, check_split};
use crate::error::DataError;
use crate::sentences::{Language, SentenceSplitter};

/// Split with a query for each pair of a question and a sentence that answers it.
const PAIRS: &str = "pairs";
/// Split with a query for each question.
const QUESTIONS: &str = "questions";
/// Splits of the pairs by article, and the positions of their articles in each run of eight.
const ARTICLE_SPLITS: [(&str, &[usize]); 3] = [
    ("test", &[6, 7]),
    ("train", &[0, 1, 2, 3, 4]),
    ("validation", &[5]),
];
/// Attribute of a sentence with its context.
const CONTEXT: &str = "context";
/// Budget of the context on each side of a sentence, in characters.
const BUDGET: usize = 150;

/// Test collection of the sentences of a SQuAD file, for sentence-level answer retrieval.
///
/// A sentence answers a question if one of the answers starts in it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AnswerSentences {
    /// Sentences by the rules of [`SentenceSplitter`] for English. The id is the id of the
    /// paragraph, `/` and the index of the sentence in the paragraph from 0; the title is the
    /// article's title. The attribute `context` is the title, the sentences before, the sentence
    /// itself and the sentences after it in the article, joined by spaces. Each side stops as soon
    /// as it has 150 characters; equal sentences before it count once.
    pub documents: Vec<Document>,
    /// A query for each pair of a question and a sentence that answers it. The id of the first pair
    /// is the id of the question, `ID#2` and so on the ids of the others, in the order of the text.
    pub queries: Vec<Query>,
    /// Judgments of the pairs: each query has one sentence, with grade 1.
    pub pairs: Qrels,
    /// Judgments of the questions: every sentence that answers the question has grade 1.
    pub questions: Qrels,
    /// Judgments of the pairs of some articles, for systems that are trained: of every eight
    /// articles in the order of the file, `train` has the first five, `validation` the sixth and
    /// `test` the last two. The sentences of all articles are documents.
    pub by_article: BTreeMap<&'static str, Qrels>,
}

/// Sentences of a SQuAD file as a test collection with the splits `pairs` and `questions`, and the
/// parts `train`, `validation` and `test` of `pairs`; see [`AnswerSentences`]. Every call reads the
/// file again.
#[derive(Debug, Clone)]
pub struct SquadSentences {
    file: SquadFile,
}

impl SquadSentences {
    /// Creates a collection from a SQuAD 1.1 file, possibly compressed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::from(SquadFile::new(path))
    }

    /// Creates a test collection with a name.
    #[must_use]
    pub fn into_collection(self, name: &str) -> Collection {
        Collection::new(name, self.clone(), self)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// The file cannot be read or does not have this structure, a question id is not unique, or an
    /// answer does not occur at its offset.
    pub fn read(&self) -> Result<AnswerSentences, DataError> {
        Ok(self.file.read()?.answer_sentences())
    }
}

/// Sentences of a file in any [`QuestionFormat`](super::QuestionFormat).
impl From<SquadFile> for SquadSentences {
    fn from(file: SquadFile) -> Self {
        Self { file }
    }
}

impl Corpus for SquadSentences {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(InMemoryReader(self.read()?.documents.into_iter())))
    }
}

impl JudgedQueries for SquadSentences {
    fn source(&self) -> String {
        self.file.source()
    }

    fn splits(&self) -> Vec<String> {
        let [test, train, validation] = ARTICLE_SPLITS.map(|(name, _)| name);
        let names = [PAIRS, QUESTIONS, test, train, validation];
        names.map(str::to_owned).into()
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        Ok(self.read()?.queries)
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        check_split(self, split)?;
        let mut sentences = self.read()?;
        Ok(match sentences.by_article.remove(split) {
            Some(pairs) => pairs,
            None if split == PAIRS => sentences.pairs,
            None => sentences.questions,
        })
    }
}

impl Squad {
    /// Splits the paragraphs into sentences.
    ///
    /// ```
    /// let text = r#"{"data": [{"title": "Tea", "paragraphs": [
    ///     {"context": "Tea is a drink. It comes from Asia.", "qas": [
    ///     {"id": "q1", "question": "Where is tea from?",
    ///      "answers": [{"text": "Asia", "answer_start": 30}]}]}]}]}"#;
    /// let squad = ir_data::squad::Squad::read(text.as_bytes(), "dev.json")?;
    /// let sentences = squad.answer_sentences();
    /// assert_eq!(sentences.documents[1].text, "It comes from Asia.");
    /// assert_eq!(sentences.pairs.grade("q1", "Tea/0/1"), Some(1));
    /// # Ok::<(), ir_data::DataError>(())
    /// ```
    #[must_use]
    pub fn answer_sentences(&self) -> AnswerSentences {
        let splitter = SentenceSplitter::new(Language::English);
        let mut articles: BTreeMap<&str, usize> = BTreeMap::new();
        // Sentences of each article, in the order of the file.
        let mut texts: Vec<(String, Vec<(String, &str)>)> = Vec::new();
        let mut queries = Vec::new();
        let (mut pairs, mut questions) = (Qrels::new(), Qrels::new());
        let mut by_article: BTreeMap<&str, Qrels> =
            ARTICLE_SPLITS.map(|(name, _)| (name, Qrels::new())).into();
        for (id, article, paragraph) in self.paragraphs() {
            let ranges: Vec<Range<usize>> = splitter.split(&paragraph.context).collect();
            let at = *articles.entry(&article.title).or_insert_with(|| {
                texts.push((article.title.replace('_', " "), Vec::new()));
                texts.len() - 1
            });
            let mut of_article = by_article.get_mut(article_split(at));
            for question in &paragraph.questions {
                let answers = sentences_of(paragraph, question, &ranges);
                for (n, sentence) in (1..).zip(&answers) {
                    let query = pair_id(&question.id, n);
                    let sentence = format!("{id}/{sentence}");
                    pairs.insert(&query, &sentence, 1);
                    if let Some(pairs) = &mut of_article {
                        pairs.insert(&query, &sentence, 1);
                    }
                    questions.insert(&question.id, &sentence, 1);
                }
                let ids = (1..=answers.len().max(1)).map(|n| pair_id(&question.id, n));
                queries.extend(ids.map(|id| Query::new(id, question.text.as_str())));
            }
            let sentences = ranges.into_iter().enumerate();
            let sentences =
                sentences.map(|(n, range)| (format!("{id}/{n}"), &paragraph.context[range]));
            texts[at].1.extend(sentences);
        }
        AnswerSentences {
            documents: texts
                .iter()
                .flat_map(|(title, sentences)| documents_of(title, sentences))
                .collect(),
            queries,
            pairs,
            questions,
            by_article,
        }
    }

    /// Articles of a split of [`SquadSentences`] by article: `train`, `validation` or `test`; none
    /// for another name.
    ///
    /// ```
    /// let text = r#"{"data": [{"title": "A", "paragraphs": []}]}"#;
    /// let squad = ir_data::squad::Squad::read(text.as_bytes(), "f")?;
    /// assert_eq!(squad.articles_of("train").articles.len(), 1);
    /// assert!(squad.articles_of("test").articles.is_empty());
    /// # Ok::<(), ir_data::DataError>(())
    /// ```
    #[must_use]
    pub fn articles_of(&self, split: &str) -> Self {
        // An article may be split into several entries.
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut articles = Vec::new();
        for article in &self.articles {
            let next = numbers.len();
            let number = *numbers.entry(&article.title).or_insert(next);
            if article_split(number) == split {
                articles.push(article.clone());
            }
        }
        Self { articles }
    }
}

/// Split of the pairs of an article, by its index.
fn article_split(article: usize) -> &'static str {
    let positions = |(_, positions): &&(&str, &[usize])| positions.contains(&(article % 8));
    ARTICLE_SPLITS
        .iter()
        .find(positions)
        .map_or("", |(name, _)| *name)
}

/// Indices of the sentences in which answers start.
fn sentences_of(
    paragraph: &Paragraph,
    question: &Question,
    ranges: &[Range<usize>],
) -> BTreeSet<usize> {
    let sentence_at = |start: usize| {
        let (at, _) = paragraph.context.char_indices().nth(start)?;
        // A sentence and the white space before it.
        let sentence = ranges.partition_point(|range| range.end <= at);
        (sentence < ranges.len()).then_some(sentence)
    };
    let answers = question.answers.iter();
    answers
        .filter_map(|answer| sentence_at(answer.start))
        .collect()
}

fn pair_id(question: &str, n: usize) -> String {
    match n {
        1 => question.to_owned(),
        _ => format!("{question}#{n}"),
    }
}

/// Documents of the sentences of an article.
fn documents_of<'a>(
    title: &'a str,
    sentences: &'a [(String, &'a str)],
) -> impl Iterator<Item = Document> + 'a {
    sentences.iter().enumerate().map(move |(at, (id, text))| {
        let before = sentences[..at].iter().rev().map(|(_, text)| *text);
        let mut context = within_budget(before, true);
        context.push(title);
        context.reverse();
        context.push(text);
        let after = sentences[at + 1..].iter().map(|(_, text)| *text);
        context.extend(within_budget(after, false));
        Document::new(id.as_str())
            .with_title(title)
            .with_text(*text)
            .with(CONTEXT, context.join(" "))
    })
}

/// Texts until the budget is used up; the last one may exceed it. `distinct` skips repeated texts.
fn within_budget<'a>(texts: impl Iterator<Item = &'a str>, distinct: bool) -> Vec<&'a str> {
    let mut left = BUDGET;
    let mut taken = Vec::new();
    for text in texts {
        if left == 0 {
            break;
        }
        if !(distinct && taken.contains(&text)) {
            left = left.saturating_sub(text.chars().count());
            taken.push(text);
        }
    }
    taken
}
