//! Options and construction of the BM25 index, shared by `ir index`, `ir search` and `ir mine`.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::ValueHint;
use ir_bm25::analysis::{AnalysisError, Normalization, Stemmer, StopWords, WordList};
use ir_bm25::{
    Analysis, BlankDocs, DocOrder, DuplicateIds, FieldNames, Index, IndexBuilder, IndexConfig,
    IndexedFields, StoredFields,
};
use ir_core::{Corpus, CorpusRange, Skipped};
use ir_data::{Collection, DataError, DocTemplate, TemplatedCorpus, parser_message};
use ir_studies::datafinder::lexicographic_row_order;
use ir_system::systems::AnalyzerEntry;
use ir_system::{read_text, readable};
use serde_json::{Map, Value};
use toml::Table;

use crate::shared::console::{Console, bail_usage};
use crate::shared::format::counted;
use crate::shared::input::{DocumentOrder, DocumentSource};
use crate::shared::options::{bytes, first_set};
use crate::shared::suggest::{did_you_mean, list_or_none};

pub(crate) const DEFAULT_MEMORY: usize = 512_000_000;

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct IndexOptions {
    /// Analyzer: porter (anserini in NFC), anserini, anserini-unstemmed, english (Porter2),
    /// lucene-standard, whitespace, lucene-cjk (bigrams of Chinese, Japanese, Korean), or a JSON
    /// file with the analysis chain [default: porter]
    #[arg(long, value_parser = analysis, value_name = "NAME", value_hint = ValueHint::FilePath, help_heading = "Index")]
    pub(crate) analysis: Option<Analysis>,

    #[command(flatten)]
    pub(crate) changes: AnalysisChanges,

    /// Indexed fields: one (title and text in one field, as in Anserini's "flat" BEIR indexes),
    /// separate (title and text, each with its own statistics), text (without titles), or names
    /// such as title,text,keywords: id, title, text and attributes, each with its own statistics
    /// [default: one; text for datafinder]
    #[arg(long, value_parser = fields, value_name = "FIELDS", help_heading = "Index")]
    pub(crate) fields: Option<IndexedFields>,

    /// Order of documents with equal scores [default: id, as in Anserini; row-text for datafinder]
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Index")]
    pub(crate) order: Option<DocumentOrder>,

    /// Memory budget in bytes, or with a unit (MB, GB, MiB, GiB); postings beyond it are spilled to
    /// temporary files [default: 512MB]
    #[arg(long, value_parser = bytes, allow_hyphen_values = true, value_name = "SIZE", help_heading = "Index")]
    pub(crate) memory: Option<usize>,
}

/// Changes of the analyzer.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AnalysisChanges {
    /// Folds case, accents, width, ligatures and letter forms, as Lucene's ICUFoldingFilter: café
    /// is cafe, Straße strasse, ＫＧ kg
    #[arg(long, help_heading = "Index")]
    fold: bool,

    /// Stemmer: none, porter, porter1980, or a language of Snowball, such as french [default: of
    /// --analysis]
    #[arg(long, value_parser = stemmer, value_name = "NAME", help_heading = "Index")]
    stemmer: Option<Stemmer>,

    /// Stop words: none, lucene33, nltk179, or a file with one word per line [default: of
    /// --analysis]
    #[arg(long, value_parser = stop_words, value_name = "NAME|FILE", value_hint = ValueHint::FilePath, help_heading = "Index")]
    stop_words: Option<StopWordsOption>,

    /// Words that the stemmer leaves unchanged: a file with one word per line, in lower case; #
    /// starts a comment
    #[arg(long, value_parser = word_list, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Index")]
    protected_words: Option<WordList>,
}

/// Value of `--stop-words`.
#[derive(Debug, Clone)]
enum StopWordsOption {
    Name(StopWords),
    File(WordList),
}

impl AnalysisChanges {
    /// First option that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        first_set([
            ("--fold", self.fold),
            ("--stemmer", self.stemmer.is_some()),
            ("--stop-words", self.stop_words.is_some()),
            ("--protected-words", self.protected_words.is_some()),
        ])
    }

    /// Applies the options to an analysis, and validates the result.
    pub(crate) fn apply(&self, mut analysis: Analysis) -> Result<Analysis> {
        if self.fold {
            analysis.normalization = Normalization::Fold;
        }
        if let Some(stemmer) = self.stemmer {
            analysis.stemmer = stemmer;
        }
        let mut stop_list = None;
        match &self.stop_words {
            None => {}
            Some(StopWordsOption::Name(list)) => analysis.stop_words = list.clone(),
            Some(StopWordsOption::File(list)) => {
                analysis.stop_words = StopWords::Custom(list.words());
                stop_list = Some(list);
            }
        }
        if let Some(list) = &self.protected_words {
            if analysis.stemmer == Stemmer::None {
                bail_usage!(
                    "--protected-words: expected an analysis with a stemmer, found {analysis}"
                );
            }
            analysis.protected_words = list.words();
        }
        let Err(error) = analysis.build() else {
            return Ok(analysis);
        };
        let listed = match &error {
            AnalysisError::UnmatchableStopWord { word, .. } => stop_list.zip(Some(word)),
            AnalysisError::UnmatchableProtectedWord { word, .. } => {
                self.protected_words.as_ref().zip(Some(word))
            }
            _ => None,
        };
        match listed.and_then(|(list, word)| Some((list.path(), list.line(word)?))) {
            Some((path, line)) => bail_usage!("{path}:{line}: {error}"),
            None => bail_usage!("{error}"),
        }
    }
}

/// Parses `--stemmer`.
fn stemmer(text: &str) -> Result<Stemmer, String> {
    let known = Stemmer::NAMED.iter();
    if let Some((_, stemmer)) = known.clone().find(|(name, _)| *name == text) {
        return Ok(*stemmer);
    }
    let names = known.map(|(name, _)| *name);
    let hint = did_you_mean(text, names.clone());
    let names = names.collect::<Vec<_>>().join(", ");
    Err(format!("expected one of {names}, found {text:?}{hint}"))
}

/// Parses `--stop-words`.
fn stop_words(text: &str) -> Result<StopWordsOption, String> {
    let named = [
        ("none", StopWords::None),
        ("lucene33", StopWords::Lucene33),
        ("nltk179", StopWords::Nltk179),
    ];
    let names = named.each_ref().map(|(name, _)| *name);
    if let Some((_, list)) = named.into_iter().find(|(name, _)| *name == text) {
        return Ok(StopWordsOption::Name(list));
    }
    if !Path::new(text).is_file() {
        let hint = did_you_mean(text, names);
        return Err(format!(
            "expected none, lucene33, nltk179 or a file, found {text:?}{hint}"
        ));
    }
    word_list(text).map(StopWordsOption::File)
}

/// Reads a file of words.
fn word_list(path: &str) -> Result<WordList, String> {
    let text = read_text(Path::new(path)).map_err(|error| error.to_string())?;
    WordList::parse(&text, path).map_err(|error| error.to_string())
}

const FIELDS: [(&str, IndexedFields); 3] = [
    ("one", IndexedFields::One),
    ("separate", IndexedFields::Separate),
    ("text", IndexedFields::TextOnly),
];

/// Parses `--fields`.
fn fields(text: &str) -> Result<IndexedFields, String> {
    let choices = FIELDS.iter();
    if let Some((_, fields)) = choices.clone().find(|(name, _)| *name == text) {
        return Ok(*fields);
    }
    let names = choices.map(|(name, _)| *name);
    let hint = did_you_mean(text, names);
    if !hint.is_empty() {
        return Err(format!(
            "expected one, separate, text or names of fields, found {text:?}{hint}"
        ));
    }
    let names = FieldNames::new(text.split(',').map(str::trim));
    Ok(IndexedFields::Named(
        names.map_err(|error| error.to_string())?,
    ))
}

/// The value of `--fields` of these fields.
pub(crate) fn name_of_fields(fields: IndexedFields) -> String {
    let named = FIELDS.iter().find(|(_, known)| *known == fields);
    named.map_or_else(|| fields.names().join(","), |(name, _)| (*name).to_owned())
}

/// Checks that every named field exists.
pub(crate) fn check_fields(fields: IndexedFields, corpus: &dyn Corpus) -> Result<()> {
    let IndexedFields::Named(names) = fields else {
        return Ok(());
    };
    let names = names.names().iter();
    let template = names.map(|name| format!("{{{name}}}")).collect::<String>();
    let template: DocTemplate = template.parse().context("--fields")?;
    template.check(corpus).map_err(|error| match error {
        DataError::TemplateField { field, known, .. } => {
            let hint = did_you_mean(&field, known.iter().map(String::as_str));
            let known = list_or_none(known.iter().map(String::as_str));
            anyhow!("--fields: expected fields of the documents ({known}), found {field:?}{hint}")
        }
        other => other.into(),
    })
}

/// Keys of a system that describe its index.
pub(crate) fn index_keys(
    analysis: Option<&Analysis>,
    fields: Option<IndexedFields>,
    order: Option<DocOrder>,
) -> Result<Table> {
    let mut table = Table::new();
    if let Some(analysis) = analysis {
        let analyzer = AnalyzerEntry::from_analysis(analysis)?;
        table.insert("analyzer".to_owned(), toml::Value::try_from(analyzer)?);
    }
    if let Some(fields) = fields {
        let value: toml::Value = match FIELDS.iter().find(|(_, known)| *known == fields) {
            Some((name, _)) => (*name).into(),
            None => fields.names().to_vec().into(),
        };
        table.insert("fields".to_owned(), value);
    }
    if let Some(order) = order {
        let name = match order {
            DocOrder::Id => "id",
            _ => "insertion",
        };
        table.insert("order".to_owned(), name.into());
    }
    Ok(table)
}

impl IndexOptions {
    /// The analysis with its changes, if one of its options is given.
    pub(crate) fn given_analysis(&self) -> Result<Option<Analysis>> {
        let is_given = self.analysis.is_some() || self.changes.first_set().is_some();
        is_given.then(|| self.analyzer()).transpose()
    }

    /// Keys of a system that the given options describe, before the index is built.
    pub(crate) fn keys(&self) -> Result<Table> {
        let analysis = self.given_analysis()?;
        index_keys(
            analysis.as_ref(),
            self.fields,
            self.order.map(DocumentOrder::index_order),
        )
    }

    /// The analysis with its changes.
    fn analyzer(&self) -> Result<Analysis> {
        self.changes
            .apply(self.analysis.clone().unwrap_or_default())
    }

    /// Rejects options beside an option that describes a system: `--system` or `--type`.
    pub(crate) fn reject_beside(&self, system: &str) -> Result<()> {
        if let Some(option) = self.first_set() {
            bail_usage!(
                "{option}: expected either {system}, which describes the index, or options of an index, found both"
            );
        }
        Ok(())
    }

    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let analysis = first_set([("--analysis", self.analysis.is_some())]);
        let others = first_set([
            ("--fields", self.fields.is_some()),
            ("--order", self.order.is_some()),
            ("--memory", self.memory.is_some()),
        ]);
        analysis.or(self.changes.first_set()).or(others)
    }

    /// First option that affects the content of an index: scores of BM25 and the order of equal
    /// scores.
    #[cfg(feature = "dense")]
    pub(crate) fn first_analysis_option(&self) -> Option<&'static str> {
        self.first_set().filter(|option| *option != "--memory")
    }

    /// Order of documents with equal scores: the option, or the collection's default.
    pub(crate) fn order(&self, documents: &DocumentSource) -> DocumentOrder {
        self.order.unwrap_or(documents.order)
    }

    /// Configuration of an index of the documents, or of texts that a template renders.
    pub(crate) fn config(
        &self,
        documents: &DocumentSource,
        template: Option<&DocTemplate>,
        store: StoredFields,
    ) -> Result<IndexConfig> {
        let fields = match template {
            Some(_) => IndexedFields::TextOnly,
            None => self.fields.unwrap_or(documents.fields),
        };
        let duplicates = if documents.duplicate_ids {
            DuplicateIds::Keep
        } else {
            DuplicateIds::Reject
        };
        Ok(IndexConfig::default()
            .with_analysis(self.analyzer()?)
            .with_fields(fields)
            .with_order(self.order(documents).index_order())
            .with_duplicates(duplicates)
            // As in Anserini, documents without indexed text are skipped.
            .with_blank(BlankDocs::Drop)
            .with_store(store))
    }

    /// Builds an index in memory or, with `path`, in a file, with a progress bar. A template
    /// renders the texts.
    pub(crate) fn build(
        &self,
        documents: &DocumentSource,
        template: Option<&DocTemplate>,
        config: IndexConfig,
        threads: Option<usize>,
        path: Option<&Path>,
        console: &Console,
    ) -> Result<Index> {
        let all = 0..usize::MAX;
        self.build_range(documents, template, config, all, threads, path, console)
    }

    /// [`IndexOptions::build`] of the documents at the positions `range`, in the order in which
    /// they are indexed.
    #[expect(clippy::too_many_arguments, reason = "those of `build` and the range")]
    pub(crate) fn build_range(
        &self,
        documents: &DocumentSource,
        template: Option<&DocTemplate>,
        config: IndexConfig,
        range: Range<usize>,
        threads: Option<usize>,
        path: Option<&Path>,
        console: &Console,
    ) -> Result<Index> {
        let mut bar = console.bar();
        let corpus = documents.collection.corpus();
        let templated = template.map(|template| TemplatedCorpus::new(corpus, template));
        if let Some(template) = template {
            template.check(corpus)?;
        }
        check_fields(config.fields, corpus)?;
        let corpus: &dyn Corpus = match &templated {
            Some(templated) => templated,
            None => corpus,
        };
        let memory = self.memory.unwrap_or(DEFAULT_MEMORY);
        let mut builder = IndexBuilder::new(config)?.with_memory(memory);
        if let Some(threads) = threads {
            builder = builder.with_threads(threads);
        }
        if self.order(documents) == DocumentOrder::RowText {
            let ordered = lexicographic_row_order(corpus)?;
            builder.push_all(&CorpusRange::new(&ordered, range), &mut bar)?;
        } else {
            builder.push_all(&CorpusRange::new(corpus, range), &mut bar)?;
        }
        warn_of_invalid_years(builder.invalid_years(), console);
        warn_of_skipped(&documents.collection, console);
        Ok(match path {
            Some(path) => builder.finish_to(path, &mut bar)?,
            None => builder.finish(&mut bar)?,
        })
    }
}

/// Warns of what the reader of a collection has skipped.
pub(crate) fn warn_of_skipped(collection: &Collection, console: &Console) {
    let skipped = collection.corpus().skipped();
    for part in skipped_parts(skipped) {
        console.warn(format_args!("{}: {part} skipped", collection.name()));
    }
    if skipped.joined_rows > 0 {
        console.warn(format_args!(
            "{}: {} with the text of other rows, as after an unpaired `\"` (write `\"` inside a quoted cell twice)",
            collection.name(),
            counted(skipped.joined_rows, "row"),
        ));
    }
}

/// Names what a reader has skipped.
pub(crate) fn skipped_parts(skipped: Skipped) -> impl Iterator<Item = String> {
    let parts = [
        (skipped.nul_bytes, "NUL byte"),
        (skipped.repeated_ids, "repeated record"),
        (skipped.commented_documents, "commented-out document"),
    ];
    let parts = parts.into_iter().filter(|&(count, _)| count > 0);
    parts.map(|(count, noun)| counted(count, noun))
}

/// Warns about documents with an attribute `year` that is no year.
pub(crate) fn warn_of_invalid_years(documents: u64, console: &Console) {
    if documents > 0 {
        console.warn(format_args!(
            "{} with an attribute \"year\" that is neither a year nor a date",
            counted(documents, "document"),
        ));
    }
}

/// Parses an analyzer name or reads a JSON file.
pub(crate) fn analysis(text: &str) -> Result<Analysis, String> {
    let error = match text.parse::<Analysis>() {
        Ok(analysis) => return Ok(analysis),
        Err(error) => error,
    };
    if !Path::new(text).is_file() {
        let hint = match &error {
            AnalysisError::UnknownName { expected, .. } => did_you_mean(text, expected.split(", ")),
            _ => String::new(),
        };
        return Err(format!("{error} (or a file){hint}"));
    }
    let json = read_text(Path::new(text)).map_err(|error| error.to_string())?;
    let given: Map<String, Value> = serde_json::from_str(&json).map_err(|error| {
        let message = parser_message(&error.to_string(), "an object");
        let message = match message.strip_prefix("expected an object, ") {
            Some(found) => format!(", {found}"),
            None => format!(": {message}"),
        };
        format!("line {}: expected an object of JSON{message}", error.line())
    })?;
    // Missing fields take their defaults; saved indexes have all fields.
    let analysis = Analysis::default().with_overrides(&given);
    analysis.map_err(|error| match error {
        AnalysisError::Field { field, message } => {
            format!("{field}: {}", readable(&message, "an object"))
        }
        other => other.to_string(),
    })
}
