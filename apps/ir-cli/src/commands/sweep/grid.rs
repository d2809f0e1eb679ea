//! Searches of a collection with every point of a parameter grid.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::ValueHint;
use ir_bm25::SegmentedIndex;
use ir_core::store::Verify;
use ir_core::{DocIds, Query, Run};
use ir_data::TextEncoding;
use ir_experiment::round_scores;
use ir_system::{
    FilterName, IndexNeeds, Registry, SpecError, SystemEntry, SystemSpec, grid_positions,
};
use toml::{Table, Value};

use super::keys::{GridValue, Keys, SDM, set};
use crate::shared::console::{Console, bail_usage};
use crate::shared::filter::{QueryFilters, warn_of_years};
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{self, CollectionSource, TestQueries, open_collection};
use crate::shared::options::{QueryForm, first_set};
use crate::shared::search_data::{OtherCollections, SystemOpener};
use crate::shared::signals::check_stopped;
use crate::shared::system_options::{
    self, SystemOptions, TypedSystem, described_by, open_system, open_with_grids,
};

/// Parameter grid, searched in place of runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Grid")]
pub(super) struct GridOptions {
    /// Numbers for a parameter of the system, such as k1=0.6,0.9,1.2: a key of a system file, or
    /// feedback.docs and other parameters of --feedback; sdm.words, sdm.phrases, sdm.windows;
    /// synonyms.weight; nearest.words, nearest.weight; prior.weight; priors.NAME of a prior;
    /// weight.FIELD and b.FIELD of bm25f. With --type a key of the type; with --system also
    /// NAME.KEY of a part, and weight.NAME of a part of a hybrid; repeatable. Every combination is
    /// a setting. The second argument is then the collection or index to search
    #[arg(long, value_parser = axis, value_name = "NAME=VALUES")]
    grid: Vec<Axis>,

    /// System file with the fixed parameters, in place of options, as in `ir search`. Its keys
    /// hits, filter, where and scores apply to the runs; documents are indexed as it describes.
    /// Without --grid, the settings are the points of its tables [systems.grid]
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,

    #[command(flatten)]
    typed: TypedSystem,

    #[command(flatten)]
    lexical: SystemOptions,

    /// Text of the queries, as in `ir search`: text, keyphrases, or another text attribute
    #[arg(long, default_value_t, value_name = "FORM", value_hint = ValueHint::Other)]
    query_form: QueryForm,

    /// Queries: a file or collection as in `ir search` [default: the collection's queries]
    #[arg(long, value_name = "FILE|COLLECTION")]
    query_file: Option<PathBuf>,

    /// Split of the queries to search [default: test]
    #[arg(long, value_name = "SPLIT", value_hint = ValueHint::Other)]
    split: Option<String>,
}

/// Values of a parameter.
#[derive(Debug, Clone, PartialEq)]
struct Axis {
    name: String,
    values: Vec<GridValue>,
}

/// Setting of a grid.
pub(super) struct Point {
    /// Name of the setting: parameters and values.
    label: String,
    spec: SystemSpec,
}

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
    parsed
        .ok_or_else(|| format!("expected a name with numbers, such as k1=0.9,1.2, found {text:?}"))
}

impl GridOptions {
    pub(super) fn is_set(&self) -> bool {
        !self.grid.is_empty() || self.system.is_some()
    }

    /// The option that has the grid.
    pub(super) fn option(&self) -> &'static str {
        if self.grid.is_empty() {
            "--system"
        } else {
            "--grid"
        }
    }

    /// The first option that needs a grid.
    pub(super) fn first_set(&self) -> Option<String> {
        let of_the_queries = first_set([
            ("--query-form", self.query_form != QueryForm::Text),
            ("--query-file", self.query_file.is_some()),
            ("--split", self.split.is_some()),
            ("--type", self.typed.is_set()),
        ]);
        let of_the_system = self.lexical.first_set(|_| true);
        of_the_system.or_else(|| of_the_queries.map(str::to_owned))
    }

    /// The system with the fixed parameters. `setup` has options of the index.
    fn base(&self, setup: &IndexOptions) -> Result<SystemSpec> {
        match (&self.system, self.typed.spec()?) {
            (Some(path), _) => open_system(path),
            (None, Some(spec)) => Ok(spec),
            (None, None) => self.lexical.spec_of_cleaned_on(setup.keys()?),
        }
    }

    /// The option that describes the system with its index, if it is not the options of a model.
    fn described_by(&self) -> Option<&'static str> {
        described_by(self.system.as_ref(), &self.typed)
    }

    /// The settings of the grids of a system file, in the order of an experiment.
    fn points_of_file(&self, path: &Path) -> Result<Vec<Point>> {
        let spec = open_with_grids(path)?;
        let counts = spec.systems.iter().map(SystemEntry::point_count);
        let count = counts.fold(1, u128::saturating_mul);
        if !(2..=MAX_POINTS as u128).contains(&count) {
            bail_usage!(
                "{}: expected grids with 2 to {MAX_POINTS} settings, found {count} (--grid NAME=VALUES varies a parameter)",
                path.display()
            );
        }
        let root = spec.root().map(|root| root.name.as_str());
        let points_of = |entry: &SystemEntry| entry.points().collect::<Vec<Table>>();
        let of_systems: Vec<Vec<Table>> = spec.systems.iter().map(points_of).collect();
        let registry = Registry::default();
        let counts = of_systems.iter().map(Vec::len);
        let points = grid_positions(counts.collect()).map(|at| {
            let (mut labels, mut point) = (Vec::new(), spec.clone());
            for ((system, points), at) in point.systems.iter_mut().zip(&of_systems).zip(at) {
                system.parameters = points[at].clone();
                let part = match root {
                    Some(root) if root == system.name => String::new(),
                    _ => format!("{}.", system.name),
                };
                for key in std::mem::take(&mut system.grid).keys() {
                    let value = system.parameters.get(key).map(Value::to_string);
                    labels.push(format!("{part}{key}={}", value.unwrap_or_default()));
                }
            }
            let label = labels.join(",");
            self.checked(&registry, Point { label, spec: point })
        });
        points.collect()
    }

    /// The settings, in the order of the values, the last parameter fastest.
    fn points(&self, setup: &IndexOptions) -> Result<Vec<Point>> {
        if let Some(path) = &self.system
            && self.grid.is_empty()
        {
            return self.points_of_file(path);
        }
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
        let base = self.base(setup)?;
        let mut keys = Keys::default();
        let counts = self.grid.iter().map(|axis| axis.values.len());
        let points = grid_positions(counts.collect()).map(|at| {
            let values = self.grid.iter().zip(at);
            let values = values.map(|(axis, at)| (axis.name.as_str(), axis.values[at]));
            self.point(&mut keys, &base, &values.collect::<Vec<_>>())
        });
        points.collect()
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
        self.checked(&keys.registry, Point { label, spec })
    }

    /// Checks the parameters of a setting.
    fn checked(&self, registry: &Registry, point: Point) -> Result<Point> {
        let Point { label, spec } = &point;
        for (n, system) in spec.systems.iter().enumerate() {
            if let Err(error) = registry.parse(&system.kind, &system.parameters) {
                let option = self.option();
                let at = format!("systems[{n}]");
                if self.system.is_some() {
                    let error: SpecError = spec.source.system_error(&at, error);
                    return Err(anyhow!(error).context(format!("{option}: {label}")));
                }
                let message = match self.described_by() {
                    Some(_) => spec.source.system_error(&at, error).to_string(),
                    None => system_options::message(&system.kind, &error),
                };
                bail_usage!("{option}: {label}: {message}");
            }
        }
        Ok(point)
    }

    /// The option that a parameter of the grid belongs to, if it is not given.
    fn missing_option(&self, name: &str) -> Option<&'static str> {
        if self.described_by().is_some() {
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
        match (self.described_by(), self.lexical.first_set(|_| true)) {
            (None, _) => self.lexical.check()?,
            (Some(described), Some(option)) => bail_usage!(
                "{option}: expected either {described} or options of a system, found both"
            ),
            (Some(described), None) => setup.reject_beside(described)?,
        }
        self.points(setup)
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
        // All settings have the filter of the file.
        let root = points.first().and_then(|point| point.spec.root());
        let filter = root.and_then(|root| root.filter).unwrap_or_default();
        if filter != FilterName::None {
            warn_of_years(&queries, console);
        }
        // Filters of documents with these ids, which most settings share.
        let mut known: Option<(DocIds, QueryFilters)> = None;
        for Point { label, spec } in points {
            check_stopped()?;
            let context = || format!("{collection}: {label}");
            let root = spec.root().context("expected a system")?;
            let most = spec.max_hits(&Registry::default())?.unwrap_or(usize::MAX);
            let k = root.hits.unwrap_or(HITS.min(most));
            let format = root.scores.unwrap_or_default();
            let system = opener.open(&spec).with_context(context)?;
            let ids = system.retriever.ids();
            let (filtered, filters) = match known.take() {
                Some((filtered, filters)) if filtered == *ids => (filtered, filters),
                _ => (ids.clone(), opener.filters(&spec, ids)?),
            };
            let retrievers = (&*system.retriever, system.with_duplicates.as_ref());
            let rankings = filters.rank(filter, retrievers, &queries, k);
            let mut run = Run::new(&label);
            for (query, ranking) in queries.iter().zip(&rankings.with_context(context)?) {
                run.push_ranking(&query.id, ranking, ids);
            }
            known = Some((filtered, filters));
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
        if let Some(first) = points.first().filter(|_| self.described_by().is_some()) {
            let (spec, collection) = (&first.spec, documents.collection);
            let opener =
                SystemOpener::on_documents(collection, &queries, split, spec, None, console);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes() {
        let axis = axis("k1=0.5, 2").unwrap();
        let values = [GridValue::Number(0.5), GridValue::Integer(2)];
        assert_eq!((axis.name.as_str(), &*axis.values), ("k1", &values[..]));
        for wrong in ["k1", "k1=", "=1", "k1=a", "k1=1,,2"] {
            assert!(super::axis(wrong).is_err(), "{wrong}");
        }
    }
}
