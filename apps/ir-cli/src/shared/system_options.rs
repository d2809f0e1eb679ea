//! Systems as options: every parameter of the types `bm25`, `random-indexing` and `prior` is an
//! option, described, parsed and checked as its key of a system file is.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, ValueHint};
use ir_bm25::models::NamedModel;
use ir_bm25::{Searcher, SegmentedIndex};
use ir_core::Query;
use ir_system::systems::{Bm25System, CleaningEntry};
use ir_system::{
    Parameter, ParameterValues, Registry, SystemEntry, SystemError, SystemSpec, SystemType,
};
use toml::{Table, Value};

use crate::shared::console::Usage;
use crate::shared::options::non_negative;
use crate::shared::repository_priors;

/// Types of the systems of the options.
const BM25: &str = "bm25";
const BM25F: &str = "bm25f";
const RANDOM_INDEXING: &str = "random-indexing";
const PRIOR: &str = "prior";

/// Keys of `bm25` that are options of the index, or that options with a form of their own set.
const OF_THE_INDEX: [&str; 6] = [
    "analyzer",
    "blank",
    "fields",
    "order",
    "template",
    "title_weight",
];

/// Options with other names than those of their keys.
const NAMES: [(&str, &str); 9] = [
    ("s", "slope"),
    ("exact_lengths", "lengths"),
    ("expansion.words", "nearest-words"),
    ("expansion.weight", "nearest-weight"),
    ("expansion.dim", "nearest-dim"),
    ("expansion.reflections", "nearest-reflections"),
    ("expansion.seed", "nearest-seed"),
    ("cleaning.tags", "pos-tags"),
    ("cleaning.parts_of_speech", "keep-pos"),
];

/// Option of a parameter.
struct SystemOption {
    /// Long name, which is also the id of the argument.
    name: &'static str,
    /// Type of the system.
    kind: &'static str,
    parameter: Parameter,
    /// Text of the help.
    help: String,
    heading: &'static str,
}

/// All options, in the order of the help.
static OPTIONS: LazyLock<Vec<SystemOption>> = LazyLock::new(|| {
    let registry = Registry::default();
    let parameters = |kind: &'static str| {
        let found = registry.types().find(|known| known.name() == kind);
        let parameters = found.map(SystemType::parameters).unwrap_or_default();
        parameters
            .into_iter()
            .map(move |parameter| (kind, parameter))
    };
    let options = parameters(BM25).chain(parameters(PRIOR));
    let options = options.filter_map(|(kind, mut parameter)| {
        let mut help = parameter.description.clone();
        let mut heading = MODEL;
        match (kind, &*parameter.key) {
            (BM25, key) if OF_THE_INDEX.contains(&key) => return None,
            (BM25, "cleaning.lower_case" | "cleaning.stop_words") | (PRIOR, "of" | "priors") => {
                return None;
            }
            (BM25, "cleaning.punctuation") => {
                help = CLEAN_HELP.to_owned();
                let steps = CLEANING.map(|(step, help)| (step.to_owned(), help.to_owned()));
                let steps = ParameterValues::Names(steps.into());
                parameter.values = ParameterValues::List(Box::new(steps), None);
                heading = QUERIES;
            }
            (BM25, "exact_lengths") => {
                parameter.values = ParameterValues::Names(
                    LENGTHS
                        .map(|(name, help)| (name.to_owned(), help.to_owned()))
                        .into(),
                );
            }
            (BM25, "expansion.encoder") if cfg!(not(feature = "dense")) => return None,
            (BM25, "model") => help = MODEL_HELP.to_owned(),
            (PRIOR, "qrels") => help = PRIOR_HELP.to_owned(),
            (BM25, key) if key.starts_with("cleaning.") || key == "syntax" => heading = QUERIES,
            _ => {}
        }
        Some(SystemOption {
            name: option_name(kind, &parameter.key).leak(),
            kind,
            parameter,
            help,
            heading,
        })
    });
    options.collect()
});

const MODEL: &str = "Model";
const QUERIES: &str = "Queries";
const CLEAN: &str = "clean";
const CLEAN_HELP: &str = "Cleaning of the queries before the search, in this order: punctuation, \
     lower-case, stop-words (NLTK's), or several, separated by commas. Default: none.";
const CLEANING: [(&str, &str); 3] = [
    (
        "punctuation",
        "The 32 ASCII punctuation characters become spaces",
    ),
    ("lower-case", "Lowercases the text"),
    (
        "stop-words",
        "Removes NLTK's English stop words, ignoring case",
    ),
];
const LENGTHS: [(&str, &str); 2] = [
    ("one-byte", "Rounded to one byte, as in Lucene"),
    ("exact", "Exact"),
];
const MODEL_HELP: &str = "Scoring model: bm25, its variants atire, robertson (Terrier's BM25, with \
     k3), bm25+ and bm25l, bm25f (weighted fields scored together, of an index with --fields); query \
     likelihood of Lucene qld (Dirichlet smoothing) and qljm (Jelinek-Mercer), and of Indri \
     indri-dirichlet, indri-jelinek-mercer and two-stage; divergence from randomness pl2, inl2, \
     in_expb2, bb2, dph, dlh13 and dfree; tfidf (Lucene's ClassicSimilarity), terrier-tfidf, \
     indri-tfidf and pivoted (length normalization). Or random-indexing, cosines of document \
     vectors. Parameters are options, or in parentheses: 'qld(mu=2500)', \
     'random-indexing(dim=500,reflections=1)'. A saved index must store the texts for random \
     indexing. Default: bm25.";
const PRIOR_HELP: &str = "Prior probability of the repository of a document: `feedback`, estimated \
     from the first hits of each query; `qrels:FILE`, from the relevant documents of training \
     queries; or a file with lines `repository TAB probability`, `*` for all others. Default: none.";

/// Name of the option of a key.
pub(crate) fn option_name(kind: &str, key: &str) -> String {
    let key = key.split('[').next().unwrap_or(key);
    let (table, _) = key.split_once('.').unwrap_or((key, ""));
    if kind == PRIOR {
        return match table {
            "priors" | "qrels" | "of" | "" => PRIOR.to_owned(),
            key => format!("prior-{}", key.replace('_', "-")),
        };
    }
    if key.starts_with("expansion.encoder") {
        return "nearest-encoder".to_owned();
    }
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == key) {
        return (*name).to_owned();
    }
    match table {
        "" | "type" => "model".to_owned(),
        "expansion" => "nearest-words".to_owned(),
        "cleaning" => CLEAN.to_owned(),
        key => key.replace('_', "-"),
    }
}

impl SystemOption {
    /// Option without which this one has no effect.
    fn needs(&self) -> Option<&'static str> {
        match (self.kind, &*self.parameter.key) {
            (PRIOR, "qrels") => None,
            (PRIOR, _) => Some(PRIOR),
            (_, "expansion.words") => None,
            (_, key) if key.starts_with("expansion.") => Some("nearest-words"),
            (_, "synonym_weight") => Some("synonyms"),
            (_, "feedback_collection") => Some("feedback"),
            (_, "cleaning.parts_of_speech") => Some("pos-tags"),
            _ => None,
        }
    }

    fn argument(&'static self) -> Arg {
        let key = &*self.parameter.key;
        let argument = Arg::new(self.name)
            .long(self.name)
            .help(option_help(&self.help))
            .help_heading(self.heading)
            .action(match self.parameter.values {
                ParameterValues::List(_, None) | ParameterValues::NumbersByName => {
                    ArgAction::Append
                }
                _ => ArgAction::Set,
            })
            .allow_negative_numbers(true);
        let argument = match self.needs() {
            Some(needed) => argument.requires(needed),
            None => argument,
        };
        let alias = match key {
            "k1" => Some("bm25.k1"),
            "b" => Some("bm25.b"),
            "mu" => Some("qld.mu"),
            "lambda" => Some("qljm.lambda"),
            _ => None,
        };
        let argument = argument.aliases(alias);
        let (name, hint) = match key {
            "model" | "feedback" => ("MODEL", ValueHint::Other),
            "synonyms" | "cleaning.tags" => ("FILE", ValueHint::Unknown),
            "qrels" => ("PRIOR", ValueHint::Unknown),
            "feedback_collection" => ("INDEX|COLLECTION", ValueHint::Unknown),
            "expansion.encoder" => ("MODEL", ValueHint::Unknown),
            "synonym_weight" => ("WEIGHT", ValueHint::Other),
            "weights" | "field_b" => ("FIELD=NUMBER", ValueHint::Unknown),
            "sdm" => ("W,W,W", ValueHint::Unknown),
            "cleaning.parts_of_speech" => ("TAG", ValueHint::Unknown),
            "attribute" => ("NAME", ValueHint::Unknown),
            _ => match self.parameter.values {
                ParameterValues::Integer => ("N", ValueHint::Unknown),
                ParameterValues::Number => ("NUMBER", ValueHint::Unknown),
                _ => ("NAME", ValueHint::Unknown),
            },
        };
        let argument = argument.value_name(name).value_hint(hint);
        if let ParameterValues::Names(names) = &self.parameter.values {
            let names = names.iter().map(|(name, help)| {
                let value = PossibleValue::new(name.as_str());
                if help.is_empty() {
                    value
                } else {
                    value.help(help.trim_end_matches('.'))
                }
            });
            let parser = PossibleValuesParser::new(names.collect::<Vec<_>>());
            return argument.value_parser(parser.map(Value::String));
        }
        argument.value_parser(move |text: &str| self.parse(text))
    }

    fn parse(&self, text: &str) -> Result<Value, String> {
        match &*self.parameter.key {
            "model" => model(text).map(|_| text.into()),
            "synonym_weight" => synonym_weight(text).map(|weight| shortest(weight).into()),
            "qrels" if text.is_empty() || text == "qrels:" => Err(format!(
                "expected feedback, qrels:FILE or a file, found {text:?}"
            )),
            _ => self.parameter.parse(text),
        }
    }
}

/// Help text of an option from the description of a key.
fn option_help(description: &str) -> String {
    let text = description.trim().trim_end_matches('.');
    match text.rsplit_once("Default: ") {
        Some((effect, default)) => format!("{}[default: {default}]", effect),
        None => text.to_owned(),
    }
    .replace(". [default", " [default")
}

/// Type and parameters of `NAME` or `NAME(PARAMETER=VALUE,...)`.
fn model(text: &str) -> Result<(&'static str, Table), String> {
    let text = text.trim();
    let (name, given) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => {
            let given = rest.strip_suffix(')');
            let expected = || format!("expected NAME(PARAMETER=VALUE,...), found {text:?}");
            (name.trim(), given.ok_or_else(expected)?)
        }
    };
    let kind = if name == RANDOM_INDEXING {
        RANDOM_INDEXING
    } else {
        BM25
    };
    let mut table = Table::new();
    if kind == BM25 {
        let found = NamedModel::find(name).map_err(|error| {
            let lower = name.to_lowercase().replace(['-', '_', ' '], "");
            if ["ri", "rri", "randomindexing", "reflectiverandomindexing"].contains(&&*lower) {
                return format!(
                    "{error}; random indexing is random-indexing, with reflections \
                     random-indexing(reflections=1)"
                );
            }
            error.to_string()
        })?;
        if found.name != BM25 {
            table.insert("model".to_owned(), found.name.into());
        }
    }
    let registry = Registry::default();
    let kind_of_system = registry.types().find(|known| known.name() == kind);
    let parameters = kind_of_system
        .map(SystemType::parameters)
        .unwrap_or_default();
    for item in given.split(',').filter(|_| !given.trim().is_empty()) {
        let pair = item.split_once('=');
        let (name, value) =
            pair.ok_or_else(|| format!("expected PARAMETER=VALUE, found {item:?}"))?;
        let name = name.trim();
        let known = || parameters.iter().map(|known| known.key.as_str());
        let Some(parameter) = parameters.iter().find(|known| known.key == name) else {
            let hint = crate::shared::suggest::did_you_mean(name, known());
            let known = known().collect::<Vec<_>>().join(", ");
            return Err(format!("expected one of {known}, found {name:?}{hint}"));
        };
        let value = parameter
            .parse(value.trim())
            .map_err(|error| format!("{name}: {error}"))?;
        if table.insert(name.to_owned(), value).is_some() {
            return Err(format!("{name}: expected one value, found two"));
        }
    }
    Ok((kind, table))
}

/// Weight of synonyms: a number, or a ratio such as `1:5`.
fn synonym_weight(text: &str) -> Result<f32, String> {
    let number = |text: &str| non_negative::<f32>(text).ok();
    let weight = match text.split_once(':') {
        None => number(text),
        Some((synonyms, words)) => number(synonyms)
            .zip(number(words))
            .map(|(synonyms, words)| synonyms / words)
            .filter(|weight| weight.is_finite()),
    };
    weight.ok_or_else(|| {
        format!("expected a number of at least 0 or a ratio such as 1:5, found {text:?}")
    })
}

/// Value of an option that is given several times: a list or a table goes on.
fn appended(first: Value, next: Value) -> Result<Value, String> {
    match (first, next) {
        (Value::Array(mut list), Value::Array(more)) => {
            list.extend(more);
            Ok(list.into())
        }
        (Value::Table(mut table), Value::Table(more)) => {
            for (name, value) in more {
                if table.insert(name.clone(), value).is_some() {
                    return Err(format!("expected each field once, found {name:?} twice"));
                }
            }
            Ok(table.into())
        }
        (_, next) => Ok(next),
    }
}

/// Number with the shortest decimal text of a single-precision number.
pub(crate) fn shortest(value: f32) -> f64 {
    value
        .to_string()
        .parse()
        .unwrap_or_else(|_| f64::from(value))
}

/// Parameters of a lexical system and of its prior, as options.
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
            Arg::new(NEAREST_PRECISION)
                .long(NEAREST_PRECISION)
                .help("Number format of the linear layers of --nearest-encoder [default: f32]")
                .help_heading(MODEL)
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

/// Name of the system with the parameters of the options, and of its prior.
pub(crate) const SYSTEM: &str = "system";
const BASE: &str = "base";

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

    /// Returns `true` if the model is random indexing, which scores no terms.
    pub(crate) fn is_random_indexing(&self) -> bool {
        self.model().0 == RANDOM_INDEXING
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

    /// Returns `true` if the texts of the documents are read.
    pub(crate) fn needs_texts(&self) -> bool {
        self.is_set("feedback") || self.is_set("nearest-words") || self.is_random_indexing()
    }

    /// Returns `true` if the scores are not those of the search without a prior.
    pub(crate) fn prior_changes_scores(&self) -> bool {
        let weight = self.get("prior-weight").and_then(as_number);
        self.is_set(PRIOR) && weight != Some(0.0)
    }

    /// Returns `true` if the queries have a syntax.
    pub(crate) fn has_syntax(&self) -> bool {
        self.is_set("syntax")
    }

    /// Returns `true` if the index needs positions.
    pub(crate) fn needs_positions(&self) -> bool {
        self.has_syntax() || self.is_set("sdm")
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

    /// Systems of the options: the one to search is called [`SYSTEM`]. `of_the_index` are the
    /// parameters of its index.
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
                (_, "model") => {}
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
        if kind == BM25 {
            parameters.extend(of_the_index.clone());
        }
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

    /// Parameters of an index that has every field that an option names, for options whose index is
    /// not known yet or decides itself.
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

    /// The system to open, for queries that are cleaned.
    pub(crate) fn spec(&self) -> Result<SystemSpec> {
        let mut systems = self.systems(&self.any_fields())?;
        systems[0].parameters.remove("cleaning");
        Ok(SystemSpec::new(systems))
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
        let registry = Registry::default();
        for system in self.systems(&self.any_fields())? {
            let parsed = registry.parse(&system.kind, &system.parameters);
            parsed.map_err(|error| Usage(message(&system.kind, &error)))?;
        }
        Ok(())
    }
}

/// Message of the error of a system, with the option of its key.
pub(crate) fn message(kind: &str, error: &SystemError) -> String {
    match error {
        SystemError::Parameter { key, message } | SystemError::Missing { key, message } => {
            format!("--{}: {message}", option_name(kind, key))
        }
        SystemError::Conflict { first, key, reason } => {
            let (first, key) = (option_name(kind, first), option_name(kind, key));
            format!("--{key}: expected no --{first}, found both: {reason}")
        }
        other => other.to_string(),
    }
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
