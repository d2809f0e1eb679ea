//! `ir ask`: answers to questions, as sentences of papers.

mod system_file;

use std::convert::Infallible;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ir_bm25::analysis::{Analysis, Highlighter};
use ir_core::{
    AnswerSpan, DocFilter as _, DocSet, Explanation, MatchedText, Predicate, Reader, Retriever,
    Search,
};
use ir_data::LineReader;
use ir_qa::citation::{bibtex, cite_answers};
use ir_qa::documents::SeenPapers;
use ir_qa::retrieval::{Answer, AnswerConfig, AnswerIndex, RelatedQuestion, ScriptAnalyzer};
use ir_qa::{Frame, highlight};
use ir_system::SharedRetriever;
use serde_json::json;
use system_file::AnswerSystem;

use crate::shared::answer_options::AnswerOptions;
use crate::shared::answer_reader::open_reader;
use crate::shared::console::{Console, bail_usage};
use crate::shared::document_reader::document_reader;
use crate::shared::filter::{NamedConditions, condition, warn_of_conditions};
use crate::shared::format::counted;
use crate::shared::input::{self, LimitedReader, MAX_QUERY_BYTES};
use crate::shared::list_style::{
    BOLD, DIM, ListStyle, MATCH, clean, without_controls, wrapped, wrapped_text,
};
use crate::shared::options::positive;
use crate::shared::output::{OutputSink, failed};
use crate::shared::paper_folder::{is_duplicate, read_papers, warn};
use crate::shared::signals::stop_on_interrupt;
#[cfg(feature = "dense")]
use crate::shared::system_options::RERANKING;

const EXAMPLES: &str = "\
Examples:
  ir ask bundled how many hours of recordings are there
  ir ask papers/ 'What is the learning rate?' -k 3
  ir ask papers/ 'What is the learning rate?' --filter 'year>=2020'
  ir ask papers/ 'What is the learning rate?' --model all-MiniLM-L6-v2
  ir ask papers/ 'What is the learning rate?' --rerank models/cross-encoder
  ir ask papers/ 'What is the learning rate?' --reader lexical
  ir ask papers/ 'What is the learning rate?' --system qld.toml
  ir ask papers/ --questions questions.txt --json > answers.jsonl
  ir ask papers/ 'What is the learning rate?' --bibtex > cited.bib
  ir frames papers/ --scientific -o frames.jsonl && ir ask frames.jsonl ...

Papers are read as by `ir frames --scientific`, which saves them as frames and
lists the files that cannot be read; its help has the formats. Markdown has
title, authors and year in YAML front matter. Each answer is shown with its
context. Rows of tables are answers, with the names of their columns. A paper
with the DOI or the arXiv id of another one is left out, with a warning.

--filter has the fields of the papers, such as title, authors, year and
doc_id, the path of a paper. Papers without a year satisfy year>=2015: exclude
them with the further condition --filter year.

Without --model, the score is BM25 of the answer with the questions of
annotators, plus --context-weight (1) times BM25 of its context. With --model,
it is the cosine of the question and the answer plus --alpha (.05) times that;
all answers are encoded first. BM25 leaves out --function-words of the
question, and its weight beside the cosine falls with the number of the other
words (--length-exponent). Without --model, the answer to a question of an
annotator that nearly equals the question comes first (--near-questions). A
sentence that a paper repeats is an answer once.

With --rerank, the first --candidates of these answers are ranked by the score
of a cross-encoder, which reads question and answer together, or of a
late-interaction model, which compares their tokens. A terminal shows the
words of the question in color; with a late-interaction model, the words of
the answer that are most similar to a word of the question. --rerank-tokens
reads the vectors of the answers, in place of encoding the candidates:
  ir frames papers/ --scientific -o frames.jsonl
  ir encode colbert frames.jsonl --text-field answer --template '{text}' \\
      -o answers.tokens
  ir ask frames.jsonl 'What is the learning rate?' --rerank colbert \\
      --rerank-tokens answers.tokens

--system ranks the answers by the system of a file, as `ir search --system`
ranks documents: `text` is the answer, `title` the title of its paper, and
`context`, `questions` (of annotators) and the fields of the papers are
attributes. The key `fields = [\"text\", \"context\"]` of the type bm25 indexes
answers and contexts, for example. `where` and --filter apply both, and -k
takes precedence over `hits`. Questions have no year for `filter`, no saved
vectors and no training queries, and `scores` is of runs. Related questions
are ranked by BM25.

--reader adds the phrase of each answer sentence that answers the question,
with the score of the reader; the order of the answers stays the same. The
reader `lexical` needs no model. Models are folders of an extractive reader,
such as BertForQuestionAnswering, or of `ir train-reader`.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of papers, a file, frames of `ir frames` (.jsonl), or `bundled`
    papers: PathBuf,

    /// Words of the question
    #[arg(required_unless_present = "questions", conflicts_with = "questions")]
    question: Vec<String>,

    /// File with a question per line, or `-` for standard input; .gz and .zst are decompressed
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,

    /// Number of answers to a question [default: 5, or `hits` of --system]
    #[arg(long, short = 'k', value_parser = positive, value_name = "N")]
    hits: Option<usize>,

    /// Condition on the fields of the papers: year>=2015, venue=ACL,EMNLP, language!=German, or
    /// year for papers with a year; may be repeated
    #[arg(long, value_name = "CONDITION", value_parser = condition)]
    filter: Vec<Predicate>,

    #[command(flatten)]
    answers: AnswerOptions,

    /// Token store with the vectors of the answers, for a late-interaction model, in place of their
    /// texts: a file of `ir encode` for the frames of `ir frames`. An answer that is not in the
    /// store is an error
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "STORE", help_heading = RERANKING, requires = "rerank", conflicts_with = "system")]
    rerank_tokens: Option<String>,

    /// System file that ranks the answers, in place of the other options of the ranking: written by
    /// `ir search --save`, or a file with the tables `[[systems]]` and `[encoders]` of an
    /// experiment file
    #[arg(long, value_name = "FILE", conflicts_with_all = AnswerOptions::of_the_ranking())]
    system: Option<PathBuf>,

    /// Reader of the phrase in each answer: lexical, or a model with a span head
    #[arg(long, value_name = "READER")]
    reader: Option<PathBuf>,

    /// Explain each score: with a late-interaction model, by the best token of the answer for each
    /// token of the question
    #[arg(long)]
    explain: bool,

    /// Print one JSON object per answer
    #[arg(long)]
    json: bool,

    /// Print a BibTeX entry per paper of the answers, with the answers in the field `annote`
    #[arg(long, conflicts_with_all = ["json", "explain", "reader"])]
    bibtex: bool,
}

/// Default number of answers to a question.
const HITS: usize = 5;

/// Maximum number of related questions.
const RELATED: usize = 3;

/// Number of candidates for related questions. They include the question that was asked and equal
/// questions of several answers.
const RELATED_CANDIDATES: usize = 8;

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let config = args.answers.config()?;
    let file = args.system.as_deref();
    let file = file
        .map(|path| AnswerSystem::read(path, console))
        .transpose()?;
    let questions = match &args.questions {
        Some(path) => read_questions(path, console)?,
        None => vec![args.question.join(" ")],
    };
    let reader = args.reader.as_deref().map(open_reader).transpose()?;
    #[cfg(feature = "dense")]
    let tokens = args.rerank_tokens.as_deref();
    #[cfg(not(feature = "dense"))]
    let tokens = None;
    let reranker = args.answers.reranker(tokens)?;
    let index = Arc::new(index(args, &config, console)?);
    let system = match &file {
        Some(file) => Some(file.open(&args.papers, &index, &questions, console)?),
        None => None,
    };
    let ranked: SharedRetriever = match (&system, &reranker) {
        (Some(system), _) => Arc::clone(&system.retriever),
        (None, Some((open, reranking))) => {
            Arc::new(reranking.rerank(&index, Arc::clone(&open.reranker))?)
        }
        (None, None) => Arc::clone(&index) as SharedRetriever,
    };
    let passing = system.as_ref().and_then(|system| system.passing.clone());
    let filter = both(filter(&index, &args.filter, console), passing);
    let hits = match (args.hits, &file) {
        (Some(hits), _) => hits,
        (None, Some(file)) => file.hits(HITS)?,
        (None, None) => HITS,
    };
    let style = ListStyle::for_stdout();
    let mut out = if args.json || args.bibtex {
        OutputSink::open(None)?
    } else {
        OutputSink::colored_stdout()
    };
    let analysis = ScriptAnalyzer::new(Analysis::default().build()?);
    // Numbers of answers, and of those with an explanation.
    let (mut shown_answers, mut explained) = (0_usize, 0_usize);
    let mut cited: Vec<&Frame> = Vec::new();
    for question in &questions {
        let mut search = Search::top(hits);
        if let Some(filter) = &filter {
            search = search.within(filter);
        }
        let answers = index.ranked_answers(&ranked.search(question, &search)?);
        if answers.is_empty() {
            console.warn(format_args!("no answer to {question:?}"));
        }
        if args.bibtex {
            cited.extend(answers.iter().map(|answer| answer.frame));
            continue;
        }
        let mut write = || -> io::Result<()> {
            if !args.json && questions.len() > 1 {
                writeln!(out, "{}\n", style.paint(BOLD, &clean(question)))?;
            }
            Ok(())
        };
        write().with_context(|| failed("standard output"))?;
        let words = Highlighter::new(&analysis, &config.function_words.without(question));
        let phrases = phrases(reader.as_deref(), question, &answers)?;
        for (rank, (answer, phrase)) in (1..).zip(answers.iter().zip(phrases)) {
            let doc = index.ids().get(&answer.frame.id);
            let to_explain = doc.filter(|_| args.explain);
            let tree = to_explain.map(|doc| ranked.explain(question, doc, &search));
            let explanation = tree.transpose()?.flatten();
            let colored = doc.filter(|_| style.color && !args.json);
            let matched = colored.map(|doc| ranked.matched_text(question, doc));
            shown_answers += 1;
            explained += usize::from(explanation.is_some());
            let shown = ShownAnswer {
                rank,
                answer,
                phrase,
                matched: matched.transpose()?.flatten(),
                explanation,
            };
            let written = if args.json {
                shown.write_json(question, &mut out)
            } else {
                shown.write(&words, style, &mut out)
            };
            written.with_context(|| failed("standard output"))?;
        }
        if !args.json && !answers.is_empty() {
            let search = search.with_k(RELATED_CANDIDATES);
            let mut related = index.related_questions(question, &search)?;
            RelatedQuestion::retain_distinct(&mut related, question, RELATED);
            let mut write = || -> io::Result<()> {
                if !related.is_empty() {
                    writeln!(out, "Related questions:")?;
                }
                for related in &related {
                    let mark = if related.question.generated {
                        " (generated)"
                    } else {
                        ""
                    };
                    writeln!(out, "  {}{mark}", clean(&related.question.text))?;
                }
                Ok(())
            };
            write().with_context(|| failed("standard output"))?;
        }
    }
    let entries = bibtex(&cite_answers(cited));
    out.write_all(entries.as_bytes())
        .with_context(|| failed("standard output"))?;
    out.commit()?;
    if let Some(system) = &system {
        if args.explain && shown_answers > 0 && explained == 0 {
            system.warn_of_no_explanation();
        }
        system.note_searches();
    }
    let long = reranker.map_or(0, |(open, _)| open.long_documents());
    if long > 0 {
        let count = counted(long, "answer");
        console.log(format_args!(
            "note: {count} longer than the model of --rerank: scored by the start"
        ));
    }
    Ok(())
}

/// Phrase of every answer; `None` without a reader, `Some(None)` if a reader finds none.
fn phrases(
    reader: Option<&dyn Reader>,
    question: &str,
    answers: &[Answer<'_>],
) -> Result<Vec<Option<Option<AnswerSpan>>>> {
    let Some(reader) = reader else {
        return Ok(vec![None; answers.len()]);
    };
    let inputs = answers.iter();
    let inputs: Vec<_> = inputs.map(|it| it.frame.reader_input(question)).collect();
    let spans = reader.read(&inputs, 1)?.into_iter();
    Ok(spans.map(|spans| Some(spans.into_iter().next())).collect())
}

/// Reads a question per line; blank lines are skipped.
fn read_questions(path: &Path, console: &Console) -> Result<Vec<String>> {
    let (reader, name) = input::open(path, console)?;
    let mut lines = LineReader::new(LimitedReader::new(reader, MAX_QUERY_BYTES), &name);
    let mut questions = Vec::new();
    while let Some(line) = lines.read()? {
        if !line.text.trim().is_empty() {
            questions.push(line.text.trim().to_owned());
        }
    }
    if questions.is_empty() {
        bail!("{name}: expected questions, found none");
    }
    Ok(questions)
}

fn index(args: &Args, config: &AnswerConfig, console: &Console) -> Result<AnswerIndex> {
    let mut frames = read_frames(&args.papers, &args.answers, console)?;
    for frame in &mut frames {
        // As in `ir serve`: ids of records are unique within their file only.
        frame.metadata.set("doc_id", frame.paper.as_str());
    }
    #[cfg(feature = "dense")]
    if let Some(encoder) = args.answers.encoder()? {
        let (encoder, bar) = (Arc::new(encoder), &mut console.bar());
        let index = AnswerIndex::with_encoder(frames, config, encoder, bar);
        return index.map_err(|error| match error {
            ir_qa::retrieval::AnswerIndexError::Stopped => {
                crate::shared::signals::Interrupted.into()
            }
            error => error.into(),
        });
    }
    Ok(AnswerIndex::lexical(frames, config)?)
}

/// Reads frames, or papers and converts them.
fn read_frames(papers: &Path, options: &AnswerOptions, console: &Console) -> Result<Vec<Frame>> {
    let language = options.language;
    let is_answer = |frame: &Frame| options.headings || !frame.kind.is_heading();
    let mut frames = Vec::new();
    if papers
        .extension()
        .is_some_and(|extension| extension == "jsonl")
        && papers.is_file()
    {
        let name = papers.display();
        if language.is_some() {
            bail_usage!("--language: without effect on the frames of {name}");
        }
        let (reader, name) = input::open(papers, console)?;
        let mut lines = LineReader::new(reader, &name);
        while let Some(line) = lines.read()? {
            let frame = serde_json::from_str(line.text);
            let number = line.number;
            frames.push(frame.with_context(|| format!("{name}:{number}: expected a frame"))?);
        }
        if frames.is_empty() {
            bail!("{name}: expected frames, found none");
        }
        frames.retain(is_answer);
        return Ok(frames);
    }
    let config = language.unwrap_or_default().scientific_frames();
    let mut count = 0;
    let mut seen = SeenPapers::default();
    let report = read_papers(papers, &document_reader()?, console, &mut |paper| {
        if is_duplicate(&paper, &mut seen, console) {
            return Ok(());
        }
        count += 1;
        let mut of_paper = config.convert_paper(&paper).frames;
        of_paper.retain(is_answer);
        frames.append(&mut of_paper);
        Ok(())
    })?;
    if let Some(report) = &report {
        warn(report, "", console);
    }
    if count == 0 {
        bail!("{}: expected papers, found none", papers.display());
    }
    console.log(format_args!(
        "{} of {}",
        counted(frames.len() as u64, "sentence"),
        counted(count, "paper")
    ));
    Ok(frames)
}

/// The frames that satisfy all conditions; `None` without conditions.
fn filter(index: &AnswerIndex, conditions: &[Predicate], console: &Console) -> Option<DocSet> {
    if conditions.is_empty() {
        return None;
    }
    let frames = index.frames().iter();
    let documents = frames.map(|frame| Ok::<_, Infallible>(&frame.metadata));
    let Ok(()) = warn_of_conditions(NamedConditions::of_option(conditions), documents, console);
    let filter = index.select(&Predicate::All(conditions.to_vec()));
    if filter.iter().next().is_none() {
        console.warn("no paper passes --filter");
    }
    Some(filter)
}

/// The documents of both sets; `None` is the set of all documents.
fn both(first: Option<DocSet>, second: Option<DocSet>) -> Option<DocSet> {
    match (first, second) {
        (Some(first), Some(second)) => {
            let in_both = first.iter().filter(|doc| second.contains(*doc));
            Some(in_both.collect())
        }
        (first, second) => first.or(second),
    }
}

struct ShownAnswer<'a> {
    rank: usize,
    answer: &'a Answer<'a>,
    phrase: Option<Option<AnswerSpan>>,
    /// Words that a late-interaction model matched.
    matched: Option<MatchedText>,
    explanation: Option<Explanation>,
}

impl ShownAnswer<'_> {
    /// Writes rank, score and source; the context, with the answer in bold or, without colors,
    /// between angle quotation marks; the explanation.
    fn write(
        &self,
        words: &Highlighter<'_>,
        style: ListStyle,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let frame = self.answer.frame;
        let (rank, score) = (self.rank, self.answer.score);
        let source = style.paint(DIM, &source(frame));
        writeln!(out, "{rank:>3}  {score:>7.4}  {source}")?;
        let mut text = String::new();
        for segment in highlight::segments(frame, words, self.matched.as_ref()) {
            let part = without_controls(segment.text);
            match (style.color, segment.in_answer, segment.is_match) {
                (true, _, true) => text.extend([MATCH.0, &part, MATCH.1]),
                (true, true, false) => text += &style.paint(BOLD, &part),
                _ => text += &part,
            }
        }
        if !style.color {
            let answer = frame.answer_bytes();
            let clean = |range| without_controls(&frame.context[range]);
            text = format!(
                "{}«{}»{}",
                clean(0..answer.start),
                clean(answer.clone()),
                clean(answer.end..frame.context.len())
            );
        }
        let indent = style.indent();
        for line in wrapped_text(&text, style.width_below()) {
            writeln!(out, "{:indent$}{line}", "")?;
        }
        if let Some(Some(span)) = &self.phrase {
            let phrase = style.paint(BOLD, &clean(span.text(&frame.context)));
            let score = style.paint(DIM, &format!("({:.4})", span.score));
            writeln!(out, "{:indent$}phrase: {phrase} {score}", "")?;
        }
        if let Some(explanation) = &self.explanation {
            for line in explanation.to_string().lines() {
                for line in wrapped(&without_controls(line), style.width_below()) {
                    writeln!(out, "{:indent$}{}", "", style.paint(DIM, &line))?;
                }
            }
        }
        writeln!(out)
    }

    fn write_json(&self, question: &str, out: &mut dyn Write) -> io::Result<()> {
        let mut object = json!({
            "question": question,
            "rank": self.rank,
            "score": self.answer.score,
            "frame": self.answer.frame,
        });
        if let Some(phrase) = &self.phrase {
            let context = &self.answer.frame.context;
            let phrase = phrase.as_ref().map(|span| {
                let (start, end) = (span.characters.start, span.characters.end);
                json!({"text": span.text(context), "start": start, "end": end, "score": span.score})
            });
            object["phrase"] = json!(phrase);
        }
        if let Some(explanation) = &self.explanation {
            object["explanation"] = json!(explanation);
        }
        writeln!(out, "{object}")
    }
}

/// Paper, title, year and page of an answer.
fn source(frame: &Frame) -> String {
    let mut source = clean(&frame.paper);
    if let Some(title) = frame.metadata.text("title") {
        source += &format!("  {}", clean(title));
    }
    if let Some(year) = frame.metadata.year() {
        source += &format!(" ({year})");
    }
    if let Some(page) = frame.page {
        source += &format!(", page {page}");
    }
    source
}
