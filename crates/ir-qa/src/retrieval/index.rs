use std::borrow::Cow;
use std::sync::Arc;
use std::{fmt, iter};

use ir_bm25::analysis::{Analysis, CjkBigrams};
use ir_bm25::{Bm25, DocOrder, FieldNames, Index, IndexConfig, IndexedFields};
use ir_core::fusion::WeightedSum;
use ir_core::{
    Distinct, DocFilter, DocIds, DocNum, DocSet, Document, Encoded, Encoder, Explanation, Flow,
    NoProgress, Predicate, Progress, Ranking, Retriever, Rewritten, Search, SearchError, Side,
};
use ir_knn::{FlatIndex, VectorSimilarity};

use super::distinct_sentences::SentenceIds;
use super::length::LengthScaled;
use super::scripts::indexed_text;
use super::verbatim::VerbatimFirst;
use super::{Answer, AnswerConfig, AnswerIndexError, FrameVectors, RelatedQuestion, TextRetriever};
use crate::frame::{Frame, FrameQuestion};
use crate::sentences::is_caseless;

/// Searchable answers of frames, in memory.
///
/// As a [`Retriever`] its documents are the frames, by id. Answers with equal scores are in the
/// order of the ids.
///
/// BM25 has Lucene's parameters (k1 = 1.2, b = 0.75) and English analysis: Unicode words, 33 stop
/// words, Porter's stemmer. If an answer is in Chinese, Japanese or Korean, bigrams of their
/// characters are indexed, too. All questions of a frame are encoded, also generated ones. Related
/// questions are the displayable and the generated ones.
///
/// ```
/// use ir_qa::frames::FrameConfig;
/// use ir_qa::retrieval::{AnswerConfig, AnswerIndex};
///
/// let papers = ir_qa::bundled_papers()?;
/// let config = FrameConfig::default();
/// let frames = papers.iter().flat_map(|paper| config.convert_paper(paper).frames);
/// let index = AnswerIndex::lexical(frames.collect(), &AnswerConfig::default())?;
/// let answers = index.answers("Who wrote questions after a visit to a farm?", 1, None)?;
/// let answer = "Volunteers wrote the questions after a visit to a farm.";
/// assert_eq!(answers[0].frame.answer, answer);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AnswerIndex {
    /// By ascending id, which is the order of document numbers.
    frames: Vec<Frame>,
    /// Answers, of which repeated sentences are returned once.
    answers: TextRetriever,
    /// All answers, for explanations and the answers of a single paper.
    all_answers: TextRetriever,
    questions: TextRetriever,
    /// Frame and question that the documents of `questions` are.
    question_places: Vec<(usize, usize)>,
}

/// Texts encoded between two reports of progress.
const BATCH: usize = 256;

impl AnswerIndex {
    /// Indexes frames for BM25 of the answer and of its context. The questions of an answer, but
    /// for generated ones, are appended to it (document expansion): it is found by their words. If
    /// a query is a question of an answer, up to case and punctuation, this answer comes first:
    /// 1,000 is added to its score, and up to 500 for a near question
    /// ([`AnswerConfig::near_questions`]).
    ///
    /// # Errors
    /// Frames with equal ids, and a parameter outside its range.
    pub fn lexical(frames: Vec<Frame>, config: &AnswerConfig) -> Result<Self, AnswerIndexError> {
        config.check()?;
        let frames = sorted_by_id(frames)?;
        let answers = bm25_of_fields(&frames, config)?;
        let near = config.near_questions;
        let answers: TextRetriever = Arc::new(VerbatimFirst::new(answers, &frames, near));
        let question_places = shown_questions(&frames);
        let questions = question_texts(&frames, &question_places);
        let questions = bm25(questions, config_for(&frames))?;
        Ok(Self {
            answers: distinct(&answers, &frames, config),
            all_answers: answers,
            frames,
            questions,
            question_places,
        })
    }

    /// Indexes frames for cosine + α·BM25. BM25 is the score of [`AnswerIndex::lexical`] without
    /// the addition for a question that is asked verbatim: its cosine is 1. Answers and questions
    /// are encoded here, answers as [`Side::Document`], questions as [`Side::Query`].
    ///
    /// # Errors
    /// Frames with equal ids, an α that is negative or not finite, a parameter outside its range;
    /// encoding fails, or `progress` stops it.
    pub fn with_encoder(
        frames: Vec<Frame>,
        config: &AnswerConfig,
        encoder: Arc<dyn Encoder>,
        progress: &mut dyn Progress,
    ) -> Result<Self, AnswerIndexError> {
        let texts: Vec<Cow<'_, str>> = frames
            .iter()
            .map(|frame| config.encoded_text(frame))
            .collect();
        let answers: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let answers = encode(&*encoder, Side::Document, &answers, progress)?;
        let questions = frames.iter().flat_map(|frame| &frame.questions);
        let questions: Vec<&str> = questions.map(|question| &*question.text).collect();
        let questions = encode(&*encoder, Side::Query, &questions, progress)?;
        let vectors = FrameVectors {
            answers,
            questions,
            ..FrameVectors::default()
        };
        Self::with_vectors(frames, config, encoder, vectors)
    }

    /// Indexes frames for cosine + α·BM25 with vectors that were encoded before; `encoder` encodes
    /// what users ask. The cosine of a text of [`FrameVectors::missing`] is left out: an answer has
    /// the score of its other vectors or, without one, α·BM25, and is no hit if it has no word of
    /// the question.
    ///
    /// # Errors
    /// Frames with equal ids, an α that is negative or not finite, a parameter outside its range,
    /// and another number of vectors than of answers and questions.
    pub fn with_vectors(
        frames: Vec<Frame>,
        config: &AnswerConfig,
        encoder: Arc<dyn Encoder>,
        vectors: FrameVectors,
    ) -> Result<Self, AnswerIndexError> {
        config.check()?;
        vectors.check(&frames, encoder.dim())?;
        let (frames, rows) = sorted_with_rows(frames)?;
        let scaled = |scores| -> TextRetriever {
            let (exponent, words) = (config.length_exponent, config.function_words);
            if exponent == 0.0 {
                scores
            } else {
                Arc::new(LengthScaled::new(scores, exponent, words))
            }
        };
        let answers = scaled(bm25_of_fields(&frames, config)?);
        let question_places = shown_questions(&frames);
        let questions = question_texts(&frames, &question_places);
        let questions = scaled(bm25(questions, config_for(&frames))?);

        let all = || {
            let frames = frames.iter();
            frames.flat_map(|frame| iter::repeat(frame).zip(&frame.questions))
        };
        let answer_ids = frames.iter().map(|frame| &*frame.id);
        let ids = answer_ids.chain(all().map(|(frame, _)| &*frame.id));
        let texts = ids.zip(rows.iter().copied());
        let answer_vectors = vector_retriever(&encoder, texts, &vectors)?;

        let rows = rows[frames.len()..].iter().copied();
        let shown = all()
            .zip(rows)
            .filter(|((_, question), _)| is_shown(question));
        let texts = (0_usize..)
            .zip(shown)
            .map(|(n, (_, row))| (n.to_string(), row));
        let question_vectors = vector_retriever(&encoder, texts, &vectors)?;

        let names = ["BM25", "cosine"];
        let answers = WeightedSum::new([(answers, config.alpha), (answer_vectors, 1.0)])?;
        let questions = WeightedSum::new([(questions, config.alpha), (question_vectors, 1.0)])?;
        let answers: TextRetriever = Arc::new(answers.with_names(names));
        Ok(Self {
            answers: distinct(&answers, &frames, config),
            all_answers: answers,
            frames,
            questions: Arc::new(questions.with_names(names)),
            question_places,
        })
    }

    /// The frames in the order of document numbers: ascending by id.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The frames with metadata that match a predicate.
    pub fn select(&self, predicate: &Predicate) -> DocSet {
        predicate.select(self.frames.iter().map(|frame| &frame.metadata))
    }

    /// Returns the best answers to a question, at most `k`, of the frames in `filter` or of all.
    ///
    /// # Errors
    /// If the encoder fails.
    pub fn answers(
        &self,
        question: &str,
        k: usize,
        filter: Option<&DocSet>,
    ) -> Result<Vec<Answer<'_>>, SearchError> {
        let mut search = Search::top(k);
        if let Some(filter) = filter {
            search = search.within(filter);
        }
        Ok(self.ranked_answers(&self.answers.search(question, &search)?))
    }

    /// Returns the ranking of a search in all answers, with repeated sentences
    /// ([`AnswerConfig::distinct_sentences`]).
    ///
    /// # Errors
    /// If the encoder fails.
    pub fn search_all(&self, question: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.all_answers.search(question, search)
    }

    /// Returns the answers of a ranking, with its scores. The documents of the ranking are the
    /// frames by number.
    #[must_use]
    pub fn ranked_answers(&self, ranking: &Ranking) -> Vec<Answer<'_>> {
        let answer = |hit: &ir_core::Hit| {
            let frame = self.frames.get(hit.doc.index())?;
            Some(Answer {
                frame,
                score: hit.score,
            })
        };
        ranking.iter().filter_map(answer).collect()
    }

    /// Returns the questions that are most similar to a question, of the frames that pass the
    /// filter of the search: displayable questions and generated ones, which are to be marked
    /// ([`FrameQuestion::generated`](FrameQuestion#structfield.generated)). The question itself may
    /// be among them ([`RelatedQuestion::is_same_question`]), and frames may have equal questions.
    ///
    /// # Errors
    /// If the encoder fails.
    pub fn related_questions(
        &self,
        question: &str,
        search: &Search<'_>,
    ) -> Result<Vec<RelatedQuestion<'_>>, SearchError> {
        let filter = |doc: DocNum| self.passes(doc, search);
        let search = of_questions(search, &filter);
        let ranking = self.questions.search(question, &search)?;
        Ok(self.ranked_questions(&ranking))
    }

    /// Returns [`AnswerIndex::related_questions`] of several questions, one list for each, in their
    /// order. Faster, because an encoder gets them as a batch.
    ///
    /// # Errors
    /// If the encoder fails.
    pub fn related_questions_batch(
        &self,
        questions: &[(&str, Search<'_>)],
    ) -> Result<Vec<Vec<RelatedQuestion<'_>>>, SearchError> {
        if self.question_places.is_empty() {
            return Ok(vec![Vec::new(); questions.len()]);
        }
        let filters = questions.iter();
        let filters: Vec<_> = filters
            .map(|(_, search)| |doc: DocNum| self.passes(doc, search))
            .collect();
        let searches = questions.iter().zip(&filters);
        let searches =
            searches.map(|((question, search), filter)| (*question, of_questions(search, filter)));
        let searches: Vec<(&str, Search<'_>)> = searches.collect();
        let rankings = self.questions.search_batch(&searches)?;
        let related = rankings
            .iter()
            .map(|ranking| self.ranked_questions(ranking));
        Ok(related.collect())
    }

    /// Names the question in the explanation of a cosine that is the one of its vector.
    fn name_question(
        &self,
        query: &str,
        doc: DocNum,
        cosine: &mut Explanation,
    ) -> Result<(), SearchError> {
        let places = &self.question_places;
        let start = places.partition_point(|(frame, _)| *frame < doc.index());
        let of_frame = places[start..].iter().zip(start..);
        for (&(frame, question), number) in of_frame.take_while(|((f, _), _)| *f == doc.index()) {
            let number = DocNum::new(number as u32);
            let mut own = self.questions.explain(query, number, &Search::top(1))?;
            let own = own.as_mut().and_then(cosine_of);
            if own.is_some_and(|own| own.value == cosine.value) {
                let question = &self.frames[frame].questions[question];
                let kind = if question.generated {
                    "generated question"
                } else {
                    "question"
                };
                cosine.description += &format!("; document: the {kind} {:?}", question.text);
                break;
            }
        }
        Ok(())
    }

    /// Returns `true` if the frame of a question passes the filter of a search.
    fn passes(&self, question: DocNum, search: &Search<'_>) -> bool {
        let (frame, _) = self.question_places[question.index()];
        search.allows(DocNum::new(frame as u32))
    }

    fn ranked_questions(&self, ranking: &Ranking) -> Vec<RelatedQuestion<'_>> {
        let related = |hit: &ir_core::Hit| {
            let (frame, question) = self.question_places[hit.doc.index()];
            let frame = &self.frames[frame];
            RelatedQuestion {
                question: &frame.questions[question],
                frame,
                score: hit.score,
            }
        };
        ranking.iter().map(related).collect()
    }
}

impl Retriever for AnswerIndex {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.all_answers.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.answers.search(query, search)
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.answers.search_batch(queries)
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let mut explanation = self.all_answers.explain(query, doc, search)?;
        if let Some(cosine) = explanation.as_mut().and_then(cosine_of) {
            self.name_question(query, doc, cosine)?;
        }
        Ok(explanation)
    }
}

impl fmt::Debug for AnswerIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut index = f.debug_struct("AnswerIndex");
        index.field("frames", &self.frames.len());
        index.finish_non_exhaustive()
    }
}

/// The node of the unweighted cosine in an explanation.
fn cosine_of(explanation: &mut Explanation) -> Option<&mut Explanation> {
    if explanation.description.starts_with("cosine: inner product") {
        Some(explanation)
    } else {
        explanation.details.iter_mut().find_map(cosine_of)
    }
}

/// The search of questions for a search of frames. `filter` is its filter on the questions.
fn of_questions<'a>(search: &Search<'_>, filter: &'a dyn DocFilter) -> Search<'a> {
    match search.filter() {
        None => Search::top(search.k()),
        Some(_) => Search::top(search.k()).within(filter),
    }
}

/// Frames by ascending id. Fails if two have the same id.
fn sorted_by_id(mut frames: Vec<Frame>) -> Result<Vec<Frame>, AnswerIndexError> {
    frames.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    match frames.windows(2).find(|pair| pair[0].id == pair[1].id) {
        None => Ok(frames),
        Some(pair) => Err(AnswerIndexError::DuplicateFrame {
            id: pair[0].id.clone(),
        }),
    }
}

/// Frames by ascending id, and the rows of [`FrameVectors`] of their answers, then of their
/// questions.
fn sorted_with_rows(frames: Vec<Frame>) -> Result<(Vec<Frame>, Vec<usize>), AnswerIndexError> {
    let mut rows = Vec::with_capacity(frames.len());
    let mut question = frames.len();
    for (answer, frame) in frames.into_iter().enumerate() {
        let next = question + frame.questions.len();
        rows.push((frame, answer, question..next));
        question = next;
    }
    rows.sort_unstable_by(|a, b| a.0.id.cmp(&b.0.id));
    let answers = rows.iter().map(|(_, answer, _)| *answer);
    let questions = rows.iter().flat_map(|(.., questions)| questions.clone());
    let numbers = answers.chain(questions).collect();
    let frames = rows.into_iter().map(|(frame, ..)| frame).collect();
    Ok((sorted_by_id(frames)?, numbers))
}

/// Frames and questions that users see: displayable and generated ones.
fn shown_questions(frames: &[Frame]) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        let questions = frame.questions.iter().enumerate();
        let shown = questions.filter(|(_, question)| is_shown(question));
        places.extend(shown.map(|(question, _)| (number, question)));
    }
    places
}

fn is_shown(question: &FrameQuestion) -> bool {
    question.displayable || question.generated
}

/// Texts of questions, by number, without question words.
fn question_texts<'f>(
    frames: &'f [Frame],
    places: &'f [(usize, usize)],
) -> impl Iterator<Item = (String, String)> {
    let text = |&(frame, question): &(usize, usize)| {
        without_question_words(&frames[frame].questions[question].text)
    };
    let ids = (0..).map(|n: usize| n.to_string());
    ids.zip(places.iter().map(text))
}

/// Fields of an index for answers without an encoder.
const FIELDS: [&str; 2] = ["answer", "context"];

/// Words of most English questions, which BM25 of related questions leaves out.
const QUESTION_WORDS: [&str; 12] = [
    "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "do", "does", "did",
];

/// A question without [`QUESTION_WORDS`], unless it has no other words.
fn without_question_words(question: &str) -> String {
    let is_content = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        !word.is_empty() && !QUESTION_WORDS.iter().any(|w| word.eq_ignore_ascii_case(w))
    };
    let words: Vec<&str> = question.split_whitespace().filter(is_content).collect();
    if words.is_empty() {
        question.to_owned()
    } else {
        words.join(" ")
    }
}

/// BM25 of the answers with the questions of annotators and, with a weight, of the contexts: one
/// pass over an index with both fields is several times as fast as a weighted sum of two indexes.
/// Few questions in a field of their own would have an idf near 0.
fn bm25_of_fields(
    frames: &[Frame],
    config: &AnswerConfig,
) -> Result<TextRetriever, AnswerIndexError> {
    let document = |frame: &Frame| {
        let questions = frame.questions.iter();
        let questions = questions.filter(|question| !question.generated);
        let questions = questions.map(|question| &*question.text);
        let texts: Vec<&str> = iter::once(&*frame.answer).chain(questions).collect();
        let mut document = Document::new(frame.id.clone());
        let answer = texts.join("\n");
        document.attributes.set(FIELDS[0], &*indexed_text(&answer));
        document
            .attributes
            .set(FIELDS[1], &*indexed_text(&frame.context));
        document
    };
    let documents: Vec<Document> = frames.iter().map(document).collect();
    let fields = FieldNames::new(FIELDS).map_err(index_error)?;
    let indexing = config_for(frames).with_fields(IndexedFields::Named(fields));
    let index = Index::build(&documents, &indexing, &mut NoProgress)?;
    let searcher = index.searcher(Bm25::LUCENE).map_err(index_error)?;
    let searcher = searcher.with_weights(&[(FIELDS[1], config.context_weight)]);
    let searcher = searcher.map_err(index_error)?;
    let words = config.function_words;
    Ok(Arc::new(Rewritten::new(searcher, move |question: &str| {
        Ok(indexed_text(&words.without(question)).into_owned())
    })))
}

/// Answers of which repeated sentences are returned once, if the configuration says so.
fn distinct(answers: &TextRetriever, frames: &[Frame], config: &AnswerConfig) -> TextRetriever {
    let repeated = config.distinct_sentences;
    let ids = repeated
        .then(|| SentenceIds::new(answers, frames))
        .flatten();
    match ids {
        Some(ids) => Arc::new(Distinct(ids)),
        None => Arc::clone(answers),
    }
}

/// Configuration of an index of frames, in their order.
fn config_for(frames: &[Frame]) -> IndexConfig {
    let config = IndexConfig::default().with_order(DocOrder::Insertion);
    if frames.iter().any(|frame| is_caseless(&frame.answer)) {
        let bigrams = CjkBigrams::BigramsAndUnigrams;
        config.with_analysis(Analysis::default().with_cjk_bigrams(bigrams))
    } else {
        config
    }
}

/// BM25 over texts with ids, which are numbered in their order.
fn bm25(
    texts: impl Iterator<Item = (String, String)>,
    config: IndexConfig,
) -> Result<TextRetriever, AnswerIndexError> {
    let documents: Vec<Document> = texts
        .map(|(id, text)| Document::new(id).with_text(indexed_text(&text)))
        .collect();
    let index = Index::build(&documents, &config, &mut NoProgress)?;
    let searcher = index.searcher(Bm25::LUCENE);
    let searcher = searcher.map_err(index_error)?;
    Ok(Arc::new(Rewritten::new(searcher, |question: &str| {
        Ok(indexed_text(question).into_owned())
    })))
}

fn index_error(error: impl std::error::Error + Send + Sync + 'static) -> AnswerIndexError {
    AnswerIndexError::Index(Box::new(error))
}

/// Cosine of the query's vector and of the vectors of texts: ids, which may repeat, and rows. Texts
/// without a vector are left out.
fn vector_retriever<I: AsRef<str>>(
    encoder: &Arc<dyn Encoder>,
    texts: impl Iterator<Item = (I, usize)>,
    vectors: &FrameVectors,
) -> Result<TextRetriever, AnswerIndexError> {
    let (dim, similarity) = (encoder.dim(), VectorSimilarity::Cosine);
    let (mut ids, mut values) = (DocIds::default(), Vec::new());
    for (id, row) in texts.filter(|(_, row)| !vectors.missing.contains(row)) {
        ids.push(id.as_ref()).map_err(index_error)?;
        values.extend_from_slice(vectors.row(row, dim));
    }
    let index = FlatIndex::from_row_major(ids, dim, values, similarity)?.with_codes();
    Ok(Arc::new(Encoded::new(Arc::clone(encoder), index)))
}

fn encode(
    encoder: &dyn Encoder,
    side: Side,
    texts: &[&str],
    progress: &mut dyn Progress,
) -> Result<Vec<f32>, AnswerIndexError> {
    let stage = match side {
        Side::Document => "encoding answers",
        Side::Query => "encoding questions",
    };
    let mut vectors = Vec::with_capacity(texts.len() * encoder.dim());
    for (batch, start) in texts.chunks(BATCH).zip((0..).step_by(BATCH)) {
        if progress.report(stage, start, Some(texts.len() as u64)) == Flow::Stop {
            return Err(AnswerIndexError::Stopped);
        }
        vectors.extend(encoder.encode(side, batch)?);
    }
    Ok(vectors)
}
