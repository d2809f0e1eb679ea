//! Systems as options: every parameter of the types `bm25`, `random-indexing`, `prior` and `rerank`
//! is an option, described, parsed and checked as its key of a system file is. Other types are
//! given by `--type` and `--set`.

mod option;
mod reranking;
mod source;
mod typed;

use std::path::Path;

use anyhow::{Result, anyhow};
use clap::{ArgMatches, Command, FromArgMatches};
use ir_bm25::{Searcher, SegmentedIndex};
use ir_core::Query;
use ir_data::DocTemplate;
use ir_system::systems::{Bm25System, CleaningEntry, RerankSystem};
use ir_system::{FilterName, Registry, SourceMap, SpecError, SystemEntry, SystemError, SystemSpec};
use toml::{Table, Value};

use crate::shared::console::Usage;
use crate::shared::repository_priors;

#[cfg(feature = "dense")]
use option::EXPANSION;
#[cfg(feature = "remote")]
pub(crate) use option::REMOTE;
#[cfg(feature = "dense")]
pub(crate) use option::RERANKING;
use option::{
    BM25, BM25F, CLEAN, OPTIONS, PRIOR, RANDOM_INDEXING, RERANK, appended, model, option_name,
};
#[cfg(feature = "dense")]
pub(crate) use option::{DENSE, HYBRID, key_help, shortest};
pub(crate) use reranking::RerankOptions;
#[cfg(feature = "dense")]
pub(crate) use reranking::open_reranker;
#[cfg(feature = "serve")]
pub(crate) use source::open_for_any_query;
pub(crate) use source::{
    SystemSource, check_any_query, described_by, open_system, open_with_grids,
};
pub(crate) use typed::{TypedSystem, list_types};

/// Parameters of a lexical system, of its prior and of its reranking, as options.
#[derive(Debug, Clone, Default)]
pub(crate) struct SystemOptions {
    /// Name, type, key and value of the options that are given.
    given: Vec<(&'static str, &'static str, &'static str, Value)>,
    /// Number format of the encoder of nearest words.
    #[cfg(feature = "dense")]
    nearest_precision: Option<ir_dense::Precision>,
}

impl clap::Args for SystemOptions {
    fn augment_args(command: Command) -> Command {
        let command = OPTIONS
            .iter()
            .fold(command, |command, option| command.arg(option.argument()));
        #[cfg(feature = "dense")]
        let command = command.arg(
            clap::Arg::new(NEAREST_PRECISION)
                .long(NEAREST_PRECISION)
                .help("Number format of the linear layers of --nearest-encoder [default: f32]")
                .help_heading(EXPANSION)
                .value_name("FORMAT")
                .requires("nearest-encoder")
                .value_parser(crate::shared::options::choice(
                    crate::shared::encoder::PRECISIONS,
                )),
        );
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(feature = "dense")]
const NEAREST_PRECISION: &str = "nearest-precision";

impl FromArgMatches for SystemOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Self::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for option in OPTIONS.iter() {
            let values = matches.get_many::<Value>(option.name).into_iter();
            let mut values = values.flatten().cloned();
            let Some(first) = values.next() else { continue };
            let value = values.try_fold(first, appended).map_err(|message| {
                let message = format!("--{}: {message}\n", option.name);
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, message)
            })?;
            let key = option.parameter.key.as_str();
            self.given.push((option.name, option.kind, key, value));
        }
        #[cfg(feature = "dense")]
        {
            self.nearest_precision = matches.get_one(NEAREST_PRECISION).copied();
        }
        Ok(())
    }
}

/// Name of the system to search, of the system below its prior, and of the system that finds the
/// candidates of its reranking.
pub(crate) const SYSTEM: &str = "system";
const BASE: &str = "base";
const CANDIDATES: &str = "candidates";

/// Returns `true` for options of the reranking.
#[cfg(feature = "dense")]
pub(crate) fn is_of_reranking(option: &str) -> bool {
    let of_the_type = |it: &option::SystemOption| it.name == option && it.kind == RERANK;
    OPTIONS.iter().any(of_the_type)
}

impl SystemOptions {
    /// Returns `true` if an option is given.
    pub(crate) fn is_set(&self, option: &str) -> bool {
        self.get(option).is_some()
    }

    fn get(&self, option: &str) -> Option<&Value> {
        let mut given = self.given.iter();
        given.find_map(|(name, .., value)| (*name == option).then_some(value))
    }

    /// Name of the first option that is given and that `accept` accepts, such as `--k1`.
    pub(crate) fn first_set(&self, accept: impl Fn(&str) -> bool) -> Option<String> {
        let mut given = self.given.iter();
        let found = given.find(|(name, ..)| accept(name));
        found.map(|(name, ..)| format!("--{name}"))
    }

    /// Type of the system and the parameters in `--model`.
    fn model(&self) -> (&'static str, Table) {
        let text = self.get("model").and_then(Value::as_str);
        text.and_then(|text| model(text).ok())
            .unwrap_or((BM25, Table::new()))
    }

    /// Name of the model.
    pub(crate) fn model_name(&self) -> String {
        match self.model() {
            (RANDOM_INDEXING, _) => RANDOM_INDEXING.to_owned(),
            (_, table) => table
                .get("model")
                .and_then(Value::as_str)
                .unwrap_or(BM25)
                .to_owned(),
        }
    }

    /// Returns `true` if the model scores all fields together.
    pub(crate) fn is_bm25f(&self) -> bool {
        self.model_name() == BM25F
    }

    /// Returns `true` if Anserini has the model, with lengths of one byte.
    pub(crate) fn is_anserinis(&self) -> bool {
        let exact = self.get("lengths").and_then(Value::as_str) == Some("exact");
        [BM25, "qld", "qljm"].contains(&&*self.model_name()) && !exact
    }

    /// Returns `true` if a prior changes the scores: its weight is not 0.
    pub(crate) fn prior_changes_scores(&self) -> bool {
        let weight = self.get("prior-weight").and_then(as_number);
        self.is_set(PRIOR) && weight != Some(0.0)
    }

    /// Returns `true` if the queries have a syntax.
    pub(crate) fn has_syntax(&self) -> bool {
        self.is_set("syntax")
    }

    /// Options that clean the queries, for messages.
    pub(crate) fn cleaning(&self) -> Option<&'static str> {
        match (self.is_set("pos-tags"), self.is_set(CLEAN)) {
            (true, true) => Some("--pos-tags and --clean"),
            (true, false) => Some("--pos-tags"),
            (false, true) => Some("--clean"),
            (false, false) => None,
        }
    }

    /// Parameters of the reranking; `None` without one.
    ///
    /// # Errors
    /// Returns a usage error that names the option of an invalid parameter.
    pub(crate) fn reranking(&self) -> Result<Option<RerankSystem>> {
        let entry = self.rerank_entry();
        entry
            .map(|entry| rerank_system(entry.parameters))
            .transpose()
    }

    fn rerank_entry(&self) -> Option<SystemEntry> {
        let of_reranking = self.given.iter().filter(|(_, kind, ..)| *kind == RERANK);
        let parameters = of_reranking.map(|(_, _, key, value)| ((*key).to_owned(), value.clone()));
        let mut entry = SystemEntry::new(SYSTEM, RERANK);
        entry.parameters = parameters.collect();
        if entry.parameters.is_empty() {
            return None;
        }
        Some(entry.with("first", CANDIDATES))
    }

    /// Adds the reranking, if there is one, to systems of which the last is the one to search.
    pub(crate) fn reranked(&self, mut systems: Vec<SystemEntry>) -> Vec<SystemEntry> {
        if let Some(entry) = self.rerank_entry()
            && let Some(first) = systems.last_mut()
        {
            CANDIDATES.clone_into(&mut first.name);
            first.hidden = true;
            systems.push(entry);
        }
        systems
    }

    /// Systems of the options without the reranking: the one to search is called [`SYSTEM`].
    /// `of_the_index` are the parameters of its index.
    ///
    /// # Errors
    /// Returns a usage error that names the option of an invalid parameter.
    pub(crate) fn systems(&self, of_the_index: &Table) -> Result<Vec<SystemEntry>> {
        let (kind, mut parameters) = self.model();
        let mut prior = None;
        for (name, kind_of_option, key, value) in &self.given {
            match (*kind_of_option, *key) {
                (PRIOR, "qrels") => {
                    let text = value.as_str().unwrap_or_default();
                    let table: &mut Table = prior.get_or_insert_default();
                    table.extend(repository_priors::parameters(text)?);
                }
                (PRIOR, key) => {
                    let table: &mut Table = prior.get_or_insert_default();
                    table.insert(key.to_owned(), value.clone());
                }
                (RERANK, _) | (_, "model") => {}
                (_, key) if kind == RANDOM_INDEXING && !key.starts_with("cleaning.") => {
                    let message = "expected a scoring model, found --model random-indexing";
                    return Err(Usage(format!("--{name}: {message}")).into());
                }
                (_, "cleaning.punctuation") => {
                    let table = subtable(&mut parameters, "cleaning");
                    for step in value.as_array().into_iter().flatten() {
                        match step.as_str() {
                            Some("lower-case") => {
                                table.insert("lower_case".to_owned(), true.into())
                            }
                            Some("stop-words") => {
                                table.insert("stop_words".to_owned(), "nltk".into())
                            }
                            _ => table.insert("punctuation".to_owned(), true.into()),
                        };
                    }
                }
                (_, "exact_lengths") => {
                    let exact = value.as_str() == Some("exact");
                    parameters.insert("exact_lengths".to_owned(), exact.into());
                }
                (_, "expansion.encoder") => {
                    let mut encoder = Table::new();
                    encoder.insert("model".to_owned(), value.clone());
                    #[cfg(feature = "dense")]
                    if let Some(precision) = self.nearest_precision {
                        let name = format!("{precision:?}").to_lowercase();
                        encoder.insert("precision".to_owned(), name.into());
                    }
                    subtable(&mut parameters, "expansion")
                        .insert("encoder".to_owned(), encoder.into());
                }
                (_, key) => {
                    let repeated = match key.split_once('.') {
                        Some((table, key)) => {
                            subtable(&mut parameters, table).insert(key.to_owned(), value.clone())
                        }
                        None => parameters.insert(key.to_owned(), value.clone()),
                    };
                    if repeated.is_some() {
                        let message =
                            format!("--{name}: expected one value, found another in --model");
                        return Err(Usage(message).into());
                    }
                }
            }
        }
        let is_text = of_the_index.get("fields").and_then(Value::as_str) == Some("text");
        if is_text && !has_key(kind, "fields") {
            parameters.insert(
                "template".to_owned(),
                DocTemplate::text_only().to_string().into(),
            );
        }
        let keys = of_the_index.iter().filter(|(key, _)| has_key(kind, key));
        parameters.extend(keys.map(|(key, value)| (key.clone(), value.clone())));
        let mut system = SystemEntry::new(SYSTEM, kind);
        system.parameters = parameters;
        let Some(mut prior) = prior else {
            return Ok(vec![system]);
        };
        BASE.clone_into(&mut system.name);
        system.hidden = true;
        prior.insert("of".to_owned(), BASE.into());
        let mut entry = SystemEntry::new(SYSTEM, PRIOR);
        entry.parameters = prior;
        Ok(vec![system, entry])
    }

    /// Parameters of an index with every field that an option names, where the index is not known.
    fn any_fields(&self) -> Table {
        let mut fields = vec!["title".to_owned(), "text".to_owned()];
        for option in ["weights", "field-b"] {
            let named = self.get(option).and_then(Value::as_table);
            fields.extend(named.into_iter().flat_map(|table| table.keys().cloned()));
        }
        fields.sort();
        fields.dedup();
        let fields = fields.into_iter().map(Value::String).collect();
        Table::from_iter([("fields".to_owned(), Value::Array(fields))])
    }

    /// Queries after `--pos-tags` and `--clean`.
    pub(crate) fn cleaned(&self, mut queries: Vec<Query>) -> Result<Vec<Query>> {
        let mut systems = self.systems(&Table::new())?;
        let Some(Value::Table(table)) = systems[0].parameters.remove("cleaning") else {
            return Ok(queries);
        };
        let entry: CleaningEntry = Value::Table(table).try_into()?;
        let cleaner = entry.cleaner(entry.tags.as_deref().map(Path::new));
        let cleaner = cleaner.map_err(|error| match error {
            SystemError::Parameter { message, .. } => anyhow!(message),
            other => anyhow!(other),
        })?;
        for query in &mut queries {
            query.text = cleaner.clean(&query.text)?;
        }
        Ok(queries)
    }

    /// The system to open, which cleans its queries.
    pub(crate) fn spec(&self) -> Result<SystemSpec> {
        let systems = self.systems(&self.any_fields())?;
        Ok(spec_of_options(self.reranked(systems)))
    }

    /// Systems without the reranking, for queries that are cleaned, on any index.
    pub(crate) fn systems_of_cleaned(&self) -> Result<Vec<SystemEntry>> {
        let mut systems = self.systems(&self.any_fields())?;
        systems[0].parameters.remove("cleaning");
        Ok(systems)
    }

    /// The system to open with parameters of the index, for queries that are cleaned.
    pub(crate) fn spec_of_cleaned_on(&self, of_the_index: Table) -> Result<SystemSpec> {
        let mut index = self.any_fields();
        index.extend(of_the_index);
        let mut systems = self.systems(&index)?;
        systems[0].parameters.remove("cleaning");
        Ok(spec_of_options(self.reranked(systems)))
    }

    /// Searcher of an index by the scoring model; BM25 beside random indexing.
    pub(crate) fn searcher(&self, index: &SegmentedIndex) -> Result<Searcher> {
        let mut systems = self.systems(&Table::new())?;
        let parameters = std::mem::take(&mut systems[0].parameters);
        let system = match &*systems[0].kind {
            BM25 => Value::Table(parameters).try_into()?,
            _ => Bm25System::default(),
        };
        let searcher = system.searcher(index);
        searcher.map_err(|error| anyhow!(message(BM25, &error)))
    }

    /// Checks the parameters before data are read.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_filtered(None)
    }

    /// [`Self::check`] for a search with a time filter.
    pub(crate) fn check_filtered(&self, filter: Option<FilterName>) -> Result<()> {
        for (name, kind, ..) in &self.given {
            if let Some(needed) = option_of_type(kind).filter(|needed| !self.is_set(needed)) {
                return Err(Usage(format!("--{name}: expected --{needed}, found none")).into());
            }
        }
        let registry = Registry::default();
        let mut spec = self.spec()?;
        for system in &mut spec.systems {
            let parsed = registry.parse(&system.kind, &system.parameters);
            parsed.map_err(|error| Usage(message(&system.kind, &error)))?;
            system.filter = filter.filter(|_| !system.hidden);
        }
        let checked = spec.validate(&registry);
        checked.map_err(of_option)
    }
}

/// Reranking of the parameters, or a usage error that names the option of an invalid one.
fn rerank_system(parameters: Table) -> Result<RerankSystem> {
    let parsed = Registry::default().parse(RERANK, &parameters);
    parsed.map_err(|error| Usage(message(RERANK, &error)))?;
    Ok(Value::Table(parameters).try_into()?)
}

/// Error of opening a reranking, with the option of its key.
fn of_reranking(error: SystemError) -> anyhow::Error {
    match error {
        SystemError::Stage { .. } => error.into(),
        error => anyhow!(message(RERANK, &error)),
    }
}

/// Systems of options, the one to search last: messages name options.
pub(crate) fn spec_of_options(systems: Vec<SystemEntry>) -> SystemSpec {
    let kinds = systems.iter().map(|system| system.kind.clone());
    let source = option_names(kinds.collect());
    let mut spec = SystemSpec::new(systems);
    spec.source = source;
    spec
}

/// Names of the options of systems of these types, for messages.
pub(crate) fn option_names(kinds: Vec<String>) -> SourceMap {
    SourceMap::default().with_option_names(kinds, name_of_key)
}

/// Option without which the others of its type have no effect.
fn option_of_type(kind: &str) -> Option<&'static str> {
    [PRIOR, RERANK].into_iter().find(|known| *known == kind)
}

/// Usage error of an option, which the error names.
fn of_option(error: SpecError) -> anyhow::Error {
    match error {
        SpecError::Key { .. } => Usage(error.to_string()).into(),
        other => other.into(),
    }
}

/// Name of a key in messages.
fn name_of_key(kind: &str, key: &str) -> String {
    match key {
        // Only a grid has this key.
        "title_weight" => key.to_owned(),
        _ => format!("--{}", option_name(kind, key)),
    }
}

/// Message of the error of a system, with the option of its key.
pub(crate) fn message(kind: &str, error: &SystemError) -> String {
    let option = |key: &str| name_of_key(kind, key);
    match error {
        SystemError::Parameter { key, message } | SystemError::Missing { key, message } => {
            format!("{}: {message}", option(key))
        }
        SystemError::Conflict { first, key, reason } => {
            let (first, key) = (option(first), option(key));
            format!("{key}: expected no {first}, found both: {reason}")
        }
        SystemError::Requires { key, needed } => {
            format!("{}: expected {}, found none", option(key), option(needed))
        }
        other => other.to_string(),
    }
}

/// Returns `true` if a type of systems has a key.
fn has_key(kind: &str, key: &str) -> bool {
    Registry::default().check_key(kind, key, &[]).is_ok()
}

fn as_number(value: &Value) -> Option<f64> {
    value
        .as_float()
        .or_else(|| value.as_integer().map(|number| number as f64))
}

fn subtable<'t>(table: &'t mut Table, key: &str) -> &'t mut Table {
    let value = table.entry(key).or_insert_with(|| Table::new().into());
    if !value.is_table() {
        *value = Table::new().into();
    }
    match value {
        Value::Table(table) => table,
        _ => unreachable!("a table was inserted"),
    }
}
