//! Searches of a collection with every point of a parameter grid.

use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseFloatError;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow};
use clap::ValueHint;
use ir_bm25::SegmentedIndex;
use ir_core::store::Verify;
use ir_core::{Query, Run};
use ir_data::TextEncoding;
use ir_experiment::round_scores;
use ir_system::{IndexNeeds, Parameter, Registry, SpecError, SystemEntry, SystemSpec, SystemType};
use toml::{Table, Value};

use crate::shared::console::{Console, bail_usage};
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{self, CollectionSource, TestQueries, open_collection};
use crate::shared::options::QueryForm;
use crate::shared::search_data::{OtherCollections, SystemOpener};
use crate::shared::signals::check_stopped;
use crate::shared::suggest::did_you_mean;
use crate::shared::system_options::{self, SystemOptions, open_unfiltered};

/// Parameter grid, searched in place of runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Grid")]
pub(super) struct GridOptions {
    /// Values of a parameter of the system, such as k1=0.6,0.9,1.2: any key of a system file, or
    /// feedback.docs and other parameters of --feedback; sdm.words, sdm.phrases, sdm.windows;
    /// synonyms.weight; nearest.words, nearest.weight; prior.weight; weight.FIELD and b.FIELD of
    /// bm25f. With --system also NAME.KEY of a part, and weight.NAME of a part of a hybrid;
    /// repeatable. Every combination is a setting. The second argument is then the collection or
    /// index to search
    #[arg(long, value_parser = axis, value_name = "NAME=VALUES")]
    grid: Vec<Axis>,

    /// System file with the fixed parameters, in place of options, as in `ir search`. Its keys hits
    /// and scores apply to the runs; documents are indexed as it describes
    #[arg(long, value_name = "FILE", requires = "grid")]
    system: Option<PathBuf>,

    #[command(flatten)]
    lexical: SystemOptions,

    /// Text of the queries, as in `ir search`: text, keyphrases, or another text attribute
    #[arg(long, default_value_t, value_name = "FORM", value_hint = ValueHint::Other, requires = "grid")]
    query_form: QueryForm,

    /// Queries: a file or collection as in `ir search` [default: the collection's queries]
    #[arg(long, value_name = "FILE|COLLECTION", requires = "grid")]
    query_file: Option<PathBuf>,

    /// Split of the queries to search [default: test]
    #[arg(long, value_name = "SPLIT", value_hint = ValueHint::Other, requires = "grid")]
    split: Option<String>,
}

/// Values of a parameter.
#[derive(Debug, Clone, PartialEq)]
struct Axis {
    name: String,
    values: Vec<GridValue>,
}

/// Number in a grid. Large integers, such as seeds, are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
enum GridValue {
    Integer(i64),
    Number(f64),
}

impl GridValue {
    /// Value of a key that takes numbers.
    fn number(self) -> Value {
        Value::Float(match self {
            Self::Integer(value) => value as f64,
            Self::Number(value) => value,
        })
    }
}

impl FromStr for GridValue {
    type Err = ParseFloatError;

    /// Parses an integer or a number. A number such as 5.0 is the integer 5.
    fn from_str(text: &str) -> Result<Self, ParseFloatError> {
        if let Ok(integer) = text.parse() {
            return Ok(Self::Integer(integer));
        }
        let number: f64 = text.parse()?;
        let is_integer =
            number.fract() == 0.0 && number.abs() < (1_u64 << f64::MANTISSA_DIGITS) as f64;
        if is_integer {
            return Ok(Self::Integer(number as i64));
        }
        Ok(Self::Number(number))
    }
}

impl fmt::Display for GridValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
        }
    }
}

/// Setting of a grid.
pub(super) struct Point {
    /// Name of the setting: parameters and values.
    label: String,
    spec: SystemSpec,
}

/// Parameters of feedback, before their names.
const FEEDBACK: &str = "feedback.";
/// Names of the weights of `--sdm`.
const SDM: [&str; 3] = ["sdm.words", "sdm.phrases", "sdm.windows"];
/// Other names of keys.
const KEYS: [(&str, &str); 3] = [
    ("synonyms.weight", "synonym_weight"),
    ("nearest.words", "expansion.words"),
    ("nearest.weight", "expansion.weight"),
];
/// Maximum number of settings.
const MAX_POINTS: usize = 10_000;
/// Number of hits per query, as in `ir search`.
const HITS: usize = 1000;

fn axis(text: &str) -> Result<Axis, String> {
    let parsed = text.split_once('=').and_then(|(name, values)| {
        let values = values.split(',').map(|value| value.trim().parse().ok());
        let values = values.collect::<Option<Vec<GridValue>>>()?;
        let name = name.trim().to_owned();
        (!name.is_empty()).then_some(Axis { name, values })
    });
    parsed.ok_or_else(|| format!("expected NAME=VALUE,VALUE,..., found {text:?}"))
}

impl GridOptions {
    pub(super) fn is_set(&self) -> bool {
        !self.grid.is_empty()
    }

    /// The first option that needs a grid.
    pub(super) fn first_set(&self) -> Option<String> {
        self.lexical.first_set(|_| true)
    }

    /// The system with the fixed parameters.
    fn base(&self) -> Result<SystemSpec> {
        let Some(path) = &self.system else {
            return self.lexical.spec_of_cleaned();
        };
        if let Some(option) = self.lexical.first_set(|_| true) {
            bail_usage!("{option}: expected either --system or options of a system, found both");
        }
        open_unfiltered(path)
    }

    /// The settings, in the order of the values, the last parameter fastest.
    fn points(&self) -> Result<Vec<Point>> {
        let mut names: Vec<&str> = self.grid.iter().map(|axis| axis.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail_usage!(
                "--grid: expected different parameters, found {:?} twice",
                pair[0]
            );
        }
        for Axis { name, values } in &self.grid {
            let mut sorted: Vec<String> = values.iter().map(GridValue::to_string).collect();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                let value = &pair[0];
                bail_usage!("--grid: expected different values of {name:?}, found {value} twice");
            }
        }
        let sizes = self.grid.iter().map(|axis| axis.values.len());
        let count = sizes.fold(1, usize::saturating_mul);
        if !(2..=MAX_POINTS).contains(&count) {
            bail_usage!("--grid: expected 2 to {MAX_POINTS} settings, found {count}");
        }
        let mut points: Vec<Vec<(&str, GridValue)>> = vec![Vec::new()];
        for Axis { name, values } in &self.grid {
            let extended = points.iter().flat_map(|point| {
                let with = |value: &GridValue| {
                    let last = (name.as_str(), *value);
                    point.iter().copied().chain([last]).collect()
                };
                values.iter().map(with)
            });
            points = extended.collect();
        }
        let base = self.base()?;
        let mut keys = Keys::default();
        points
            .iter()
            .map(|point| self.point(&mut keys, &base, point))
            .collect()
    }

    fn point(
        &self,
        keys: &mut Keys,
        base: &SystemSpec,
        parameters: &[(&str, GridValue)],
    ) -> Result<Point> {
        let mut spec = base.clone();
        for &(name, value) in parameters {
            if let Some(option) = self.missing_option(name) {
                bail_usage!("--grid: {name}: expected {option}, found none");
            }
            if let Err(message) = set(keys, &mut spec, name, value) {
                bail_usage!("--grid: {message}");
            }
        }
        let label = parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let label = label.collect::<Vec<_>>().join(",");
        for (n, system) in spec.systems.iter().enumerate() {
            if let Err(error) = keys.registry.parse(&system.kind, &system.parameters) {
                if self.system.is_some() {
                    let at = format!("systems[{n}]");
                    let error: SpecError = spec.source.system_error(&at, error);
                    return Err(anyhow!(error).context(format!("--grid: {label}")));
                }
                let message = system_options::message(&system.kind, &error);
                bail_usage!("--grid: {label}: {message}");
            }
        }
        Ok(Point { label, spec })
    }

    /// The option that a parameter of the grid belongs to, if it is not given.
    fn missing_option(&self, name: &str) -> Option<&'static str> {
        if self.system.is_some() {
            return None;
        }
        let option = match name.split('.').next()? {
            "feedback" => "--feedback",
            "sdm" if SDM.contains(&name) => "--sdm",
            "synonyms" => "--synonyms",
            "nearest" => "--nearest-words",
            "prior" => "--prior",
            "rerank" => "--rerank",
            _ => return None,
        };
        (!self.lexical.is_set(&option[2..])).then_some(option)
    }

    /// Checks the options before data are read, and returns the settings. `setup` has options of
    /// the index. The system file is read once: it may be a pipe.
    pub(super) fn check(&self, setup: &IndexOptions) -> Result<Vec<Point>> {
        if self.system.is_none() {
            self.lexical.check()?;
        } else {
            setup.reject_beside_system()?;
        }
        self.points()
    }

    /// Searches the queries with every setting. Calls `visit` with each run, named by its setting.
    pub(super) fn search(
        &self,
        points: Vec<Point>,
        collection: &str,
        setup: &IndexOptions,
        console: &Console,
        mut visit: impl FnMut(Run) -> Result<()>,
    ) -> Result<()> {
        let (mut opener, queries) = self.open(collection, &points, setup, console)?;
        for Point { label, spec } in points {
            check_stopped()?;
            let context = || format!("{collection}: {label}");
            let root = spec.root().context("expected a system")?;
            let most = spec.max_hits(&Registry::default())?.unwrap_or(usize::MAX);
            let k = root.hits.unwrap_or(HITS.min(most));
            let format = root.scores.unwrap_or_default();
            let retriever = opener.open(&spec).with_context(context)?.retriever;
            let run = Run::from_retriever(&label, &*retriever, &queries, k);
            let run = run.with_context(context)?;
            let rounded = round_scores(&run, format).with_context(context)?;
            visit(rounded.unwrap_or(run))?;
        }
        Ok(())
    }

    /// Opens the collection for the systems of all settings, and the queries.
    fn open<'c>(
        &self,
        collection: &str,
        points: &[Point],
        setup: &'c IndexOptions,
        console: &'c Console,
    ) -> Result<(SystemOpener<'c>, Vec<Query>)> {
        let split = self.split.as_deref();
        let (utf8, verify) = (TextEncoding::Utf8, Verify::SmallSections);
        let asked = match &self.query_file {
            Some(queries) => Some(input::read_queries_of(queries, split, utf8, console)?),
            None => None,
        };
        let prepare = |asked: Option<TestQueries>| -> Result<Vec<Query>> {
            let Some(asked) = asked else {
                bail_usage!(
                    "{collection}: expected a collection with queries, found none (--query-file)"
                );
            };
            self.lexical.cleaned(self.query_form.apply(asked.queries)?)
        };
        let others = OtherCollections {
            encoding: utf8,
            verify,
            setup,
            threads: None,
        };
        let documents = match open_collection(collection, utf8, verify, console)? {
            CollectionSource::Index(index) => {
                if let Some(option) = setup.first_set() {
                    bail_usage!(
                        "{option} applies only when an index is built, but {collection} is a saved index"
                    );
                }
                let queries = prepare(asked)?;
                let opener = SystemOpener::new(collection, &index, &queries, None, others, console);
                return Ok((opener?, queries));
            }
            CollectionSource::Documents(documents) => documents,
        };
        let (asked, split) = match asked {
            Some(asked) => (Some(asked), None),
            None => {
                let own = input::collection_queries(&documents.collection, split, console)?;
                (own, split)
            }
        };
        let queries = prepare(asked)?;
        if let Some(first) = points.first().filter(|_| self.system.is_some()) {
            let spec = &first.spec;
            let opener =
                SystemOpener::on_documents(documents, &queries, split, spec, None, console);
            return Ok((opener?, queries));
        }
        let registry = Registry::default();
        let mut needs = points.iter().map(|point| point.spec.index_needs(&registry));
        let needs = needs.try_fold(IndexNeeds::default(), |all, needs| {
            Ok::<_, SpecError>(all.and(needs?))
        })?;
        let config = setup.config(&documents, None, needs.store)?;
        let config = config.with_positions(needs.positions);
        let index = setup.build(&documents, None, config, None, None, console)?;
        let index = SegmentedIndex::from(index);
        let opener = SystemOpener::new(collection, &index, &queries, None, others, console);
        Ok((opener?, queries))
    }
}

/// Parameters of the types in a grid.
#[derive(Default)]
struct Keys {
    registry: Registry,
    of_types: BTreeMap<String, Vec<Parameter>>,
}

impl Keys {
    fn of(&mut self, kind: &str) -> &[Parameter] {
        let Self { registry, of_types } = self;
        of_types.entry(kind.to_owned()).or_insert_with(|| {
            let found = registry.types().find(|known| known.name() == kind);
            found.map(SystemType::parameters).unwrap_or_default()
        })
    }
}

/// Sets a parameter of the system to search, of its base, or of a part.
fn set(keys: &mut Keys, spec: &mut SystemSpec, name: &str, value: GridValue) -> Result<(), String> {
    let root = spec
        .root()
        .map(|root| root.name.clone())
        .unwrap_or_default();
    let (system, key) = match name.split_once('.') {
        Some(("rerank", key)) if root_kind(spec) == "rerank" => (root, key),
        Some(("prior", key)) => (below_rerankings(spec, root), key),
        Some((part, key)) if spec.systems.iter().any(|it| it.name == part) => {
            (part.to_owned(), key)
        }
        _ => (below_priors(spec, root), name),
    };
    match spec.systems.iter_mut().find(|it| it.name == system) {
        Some(system) => set_parameter(keys, system, key, value),
        None => Err(format!("expected a system, found none for {name:?}")),
    }
}

fn root_kind(spec: &SystemSpec) -> &str {
    spec.root().map_or("", |root| &root.kind)
}

/// Name of the system that is scored by priors and finds the candidates of rerankings, or of the
/// system to search.
fn below_priors(spec: &SystemSpec, root: String) -> String {
    below(spec, root, &[("prior", "of"), ("rerank", "first")])
}

/// Name of the system that finds the candidates of rerankings, or of the system to search.
fn below_rerankings(spec: &SystemSpec, root: String) -> String {
    below(spec, root, &[("rerank", "first")])
}

/// Name of the system below systems of some types. Each type has the key that names the system
/// below.
fn below(spec: &SystemSpec, root: String, types: &[(&str, &str)]) -> String {
    let find = |name: &str| spec.systems.iter().find(|it| it.name == name);
    let base = |name: &str| {
        let system = find(name)?;
        let (_, key) = types.iter().find(|(kind, _)| system.kind == *kind)?;
        Some(system.parameters.get(*key)?.as_str()?.to_owned())
    };
    let mut name = root;
    // Priors of priors; more than there are systems is a cycle, which is rejected.
    for _ in 0..spec.systems.len() {
        match base(&name) {
            Some(below) => name = below,
            None => break,
        }
    }
    name
}

fn set_parameter(
    keys: &mut Keys,
    system: &mut SystemEntry,
    key: &str,
    value: GridValue,
) -> Result<(), String> {
    let parameters = &mut system.parameters;
    let number = || value.number();
    if let Some(at) = SDM.iter().position(|known| *known == key) {
        let weights = parameters.get_mut("sdm").and_then(Value::as_array_mut);
        let weight = weights.and_then(|weights| weights.get_mut(at));
        *weight.ok_or_else(|| format!("{key}: expected the key sdm, found none"))? = number();
        return Ok(());
    }
    if let Some(parameter) = key.strip_prefix(FEEDBACK) {
        let base = parameters.get("feedback").and_then(Value::as_str);
        let text = with_parameter(base.unwrap_or_default(), parameter, value);
        parameters.insert("feedback".to_owned(), text.into());
        return Ok(());
    }
    if system.kind == "hybrid"
        && let Some(("weight", part)) = key.split_once('.')
    {
        return set_weight(parameters, part, number());
    }
    let known = KEYS.iter().find(|(name, _)| *name == key);
    let key = known.map_or(key, |(_, key)| key);
    let of_fields = key.split_once('.').and_then(|(table, field)| match table {
        "weight" => Some(("weights", field)),
        "b" => Some(("field_b", field)),
        "weights" | "field_b" => Some((table, field)),
        _ => None,
    });
    let (table, key, value) = match of_fields {
        Some((table, field)) => (Some(table), field, number()),
        None => {
            let all = keys.of(&system.kind);
            let Some(parameter) = all.iter().find(|parameter| parameter.key == key) else {
                let names = || all.iter().map(|parameter| parameter.key.as_str());
                let hint = did_you_mean(key, names());
                let kind = &system.kind;
                return Err(format!("expected a key of {kind}, found {key:?}{hint}"));
            };
            let value = parameter.parse(&value.to_string());
            let value = value.map_err(|error| format!("{key}: {error}"))?;
            match key.split_once('.') {
                Some((table, key)) => (Some(table), key, value),
                None => (None, key, value),
            }
        }
    };
    let target = match table {
        None => parameters,
        Some(table) => match parameters
            .entry(table)
            .or_insert_with(|| Table::new().into())
        {
            Value::Table(table) => table,
            _ => return Err(format!("expected a table {table}, found another value")),
        },
    };
    target.insert(key.to_owned(), value);
    Ok(())
}

/// Sets the weight of a part of a hybrid. Weights that the hybrid does not set are 1.
fn set_weight(parameters: &mut Table, part: &str, weight: Value) -> Result<(), String> {
    let names = parameters.get("of").and_then(Value::as_array).into_iter();
    let names: Vec<&str> = names.flatten().filter_map(Value::as_str).collect();
    let Some(at) = names.iter().position(|name| *name == part) else {
        let hint = did_you_mean(part, names.iter().copied());
        let known = names.join(", ");
        return Err(format!(
            "weight.{part}: expected a part of the hybrid ({known}), found {part:?}{hint}"
        ));
    };
    let count = names.len();
    let ones = || Value::Array(vec![Value::Float(1.0); count]);
    let weights = parameters.entry("weights").or_insert_with(ones);
    match weights.as_array_mut().and_then(|list| list.get_mut(at)) {
        Some(value) => *value = weight,
        None => {
            return Err(format!(
                "weights: expected {count} weights, one for each system"
            ));
        }
    }
    Ok(())
}

/// The text of a feedback model with a further parameter.
fn with_parameter(base: &str, name: &str, value: GridValue) -> String {
    let (model, given) = base.split_once('(').unwrap_or((base, ")"));
    let given = given.trim_end();
    let given = given.strip_suffix(')').unwrap_or(given);
    let separator = if given.is_empty() { "" } else { "," };
    format!("{model}({given}{separator}{name}={value})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_models() {
        let value = |text: &str| text.parse::<GridValue>().unwrap();
        assert_eq!(with_parameter("rm3", "docs", value("5.0")), "rm3(docs=5)");
        assert_eq!(
            with_parameter("rm3(docs=5)", "weight", value("0.50")),
            "rm3(docs=5,weight=0.5)"
        );
        let axis = axis("k1=0.5, 2").unwrap();
        let values = [GridValue::Number(0.5), GridValue::Integer(2)];
        assert_eq!((axis.name.as_str(), &*axis.values), ("k1", &values[..]));
        assert_eq!(value("33333333").to_string(), "33333333");
        assert_eq!(value("9007199254740993").to_string(), "9007199254740993");
        for wrong in ["k1", "k1=", "=1", "k1=a", "k1=1,,2"] {
            assert!(super::axis(wrong).is_err(), "{wrong}");
        }
    }
}
