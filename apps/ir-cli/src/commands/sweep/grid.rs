//! Searches of a collection with every point of a parameter grid.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use clap::ValueHint;
use ir_bm25::{DuplicateIds, SegmentedIndex};
use ir_core::store::Verify;
use ir_core::{Distinct, Run};
use ir_data::TextEncoding;
use ir_system::{IndexNeeds, Parameter, Registry, SpecError, SystemEntry, SystemSpec, SystemType};
use toml::Value;

use crate::shared::console::{Console, bail_usage};
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{self, CollectionSource, open_collection};
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
    /// bm25f. With --system also NAME.KEY of a part; repeatable. Every combination is a setting.
    /// The second argument is then the collection or index to search
    #[arg(long, value_parser = axis, value_name = "NAME=VALUES")]
    grid: Vec<Axis>,

    /// System file with the fixed parameters, in place of options, as in `ir search`
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
    values: Vec<f32>,
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
        let values = values.collect::<Option<Vec<f32>>>()?;
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
    pub(super) fn points(&self) -> Result<Vec<Point>> {
        let mut names: Vec<&str> = self.grid.iter().map(|axis| axis.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail_usage!(
                "--grid: expected different parameters, found {:?} twice",
                pair[0]
            );
        }
        for Axis { name, values } in &self.grid {
            let mut sorted = values.clone();
            sorted.sort_by(f32::total_cmp);
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                let value = pair[0];
                bail_usage!("--grid: expected different values of {name:?}, found {value} twice");
            }
        }
        let sizes = self.grid.iter().map(|axis| axis.values.len());
        let count = sizes.fold(1, usize::saturating_mul);
        if !(2..=MAX_POINTS).contains(&count) {
            bail_usage!("--grid: expected 2 to {MAX_POINTS} settings, found {count}");
        }
        let mut points: Vec<Vec<(&str, f32)>> = vec![Vec::new()];
        for Axis { name, values } in &self.grid {
            let extended = points.iter().flat_map(|point| {
                let with = |value: &f32| {
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
        parameters: &[(&str, f32)],
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
            _ => return None,
        };
        (!self.lexical.is_set(&option[2..])).then_some(option)
    }

    /// Checks the options and the settings before data are read.
    pub(super) fn check(&self) -> Result<()> {
        if self.system.is_none() {
            self.lexical.check()?;
        }
        self.points().map(|_| ())
    }

    /// Searches the queries with every setting. Calls `visit` with each run, named by its setting.
    pub(super) fn search(
        &self,
        collection: &str,
        setup: &IndexOptions,
        console: &Console,
        mut visit: impl FnMut(Run) -> Result<()>,
    ) -> Result<()> {
        let points = self.points()?;
        let split = self.split.as_deref();
        let (utf8, verify) = (TextEncoding::Utf8, Verify::SmallSections);
        let asked = match &self.query_file {
            Some(queries) => Some(input::read_queries_of(queries, split, utf8, console)?),
            None => None,
        };
        let opened = open_collection(collection, utf8, verify, console)?;
        let (index, asked): (SegmentedIndex, _) = match opened {
            CollectionSource::Index(index) => {
                if let Some(option) = setup.first_set() {
                    bail_usage!(
                        "{option} applies only when an index is built, but {collection} is a saved index"
                    );
                }
                (index, asked)
            }
            CollectionSource::Documents(documents) => {
                let asked = match asked {
                    Some(asked) => Some(asked),
                    None => input::collection_queries(&documents.collection, split, console)?,
                };
                let registry = Registry::default();
                let mut needs = points.iter().map(|point| point.spec.index_needs(&registry));
                let needs = needs.try_fold(IndexNeeds::default(), |all, needs| {
                    Ok::<_, SpecError>(all.and(needs?))
                })?;
                let config = setup.config(&documents, None, needs.store)?;
                let config = config.with_positions(needs.positions);
                let index = setup.build(&documents, None, config, None, None, console)?;
                (index.into(), asked)
            }
        };
        let Some(asked) = asked else {
            bail_usage!(
                "{collection}: expected a collection with queries, found none (--query-file)"
            );
        };
        let queries = self
            .lexical
            .cleaned(self.query_form.apply(asked.queries)?)?;
        let others = OtherCollections {
            encoding: utf8,
            verify,
            setup,
            threads: None,
        };
        let mut opener = SystemOpener::new(collection, &index, &queries, None, others, console)?;
        for point in points {
            check_stopped()?;
            let context = || format!("{collection}: {}", point.label);
            let retriever = opener.open(&point.spec).with_context(context)?.retriever;
            let run = match index.config().duplicates {
                DuplicateIds::Keep => {
                    Run::from_retriever(&point.label, &Distinct(retriever), &queries, HITS)
                }
                _ => Run::from_retriever(&point.label, &*retriever, &queries, HITS),
            };
            visit(run.with_context(context)?)?;
        }
        Ok(())
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
fn set(keys: &mut Keys, spec: &mut SystemSpec, name: &str, value: f32) -> Result<(), String> {
    let root = spec
        .root()
        .map(|root| root.name.clone())
        .unwrap_or_default();
    let (system, key) = match name.split_once('.') {
        Some(("prior", key)) => (root, key),
        Some((part, key)) if spec.systems.iter().any(|it| it.name == part) => {
            (part.to_owned(), key)
        }
        _ => {
            // The scoring model below a prior.
            let base = spec.systems.iter().rev().find(|it| it.kind != "prior");
            (base.map(|base| base.name.clone()).unwrap_or(root), name)
        }
    };
    match spec.systems.iter_mut().find(|it| it.name == system) {
        Some(system) => set_parameter(keys, system, key, value),
        None => Err(format!("expected a system, found none for {name:?}")),
    }
}

fn set_parameter(
    keys: &mut Keys,
    system: &mut SystemEntry,
    key: &str,
    value: f32,
) -> Result<(), String> {
    let parameters = &mut system.parameters;
    let number = || Value::Float(system_options::shortest(value));
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
            .or_insert_with(|| toml::Table::new().into())
        {
            Value::Table(table) => table,
            _ => return Err(format!("expected a table {table}, found another value")),
        },
    };
    target.insert(key.to_owned(), value);
    Ok(())
}

/// The text of a feedback model with a further parameter.
fn with_parameter(base: &str, name: &str, value: f32) -> String {
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
        assert_eq!(with_parameter("rm3", "docs", 5.0), "rm3(docs=5)");
        assert_eq!(
            with_parameter("rm3(docs=5)", "weight", 0.5),
            "rm3(docs=5,weight=0.5)"
        );
        let axis = axis("k1=0.5, 2").unwrap();
        assert_eq!((axis.name.as_str(), &*axis.values), ("k1", &[0.5, 2.0][..]));
        for wrong in ["k1", "k1=", "=1", "k1=a", "k1=1,,2"] {
            assert!(super::axis(wrong).is_err(), "{wrong}");
        }
    }
}
