//! Running and planning experiments.

mod costs;
mod grid;
mod searchable;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ir_core::{Flow, Run};
use ir_system::{
    Cache, FileHashes, Lookup, Observer, ParsedSystem, PreparedSystem, Registry, Session,
    SpecError, Stage, StageReport, StageStatus, SystemContext, SystemEntry, SystemError,
    TrainingSet, Validation, find_or_lock, max_hits,
};
use serde::Serialize;

use crate::classification::Classifications;
use crate::documents::Documents;
use crate::evaluation::{SystemResult, compare, evaluator, report};
use crate::file::Experiment;
use crate::queries::JudgedSet;
use crate::results::ExperimentResults;
use crate::search::{SearchParameters, run_key};
use crate::selection::{SelectionResult, point_label};
use crate::task::TaskData;
pub use searchable::{SearchTask, SearchableSystem};

/// Runs experiments, with the types of systems of a registry and a cache.
///
/// Runs on the threads of the current rayon pool. Results do not depend on their number.
///
/// ```
/// use ir_core::NoProgress;
/// use ir_eval::Measure;
/// use ir_experiment::{Cache, Experiment, Registry, Runner, SystemEntry, TaskEntry};
///
/// let mut experiment = Experiment::new(TaskEntry::new("bundled"));
/// experiment.measures = vec![Measure::AP];
/// experiment.systems.push(SystemEntry::new("BM25", "bm25"));
/// experiment.systems.push(SystemEntry::new("Lucene", "bm25").with("preset", "lucene"));
///
/// let (cache, registry) = (Cache::temporary()?, Registry::default());
/// let results = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress)?;
/// assert!(results.value("bundled", "BM25", Measure::AP).is_some_and(|ap| ap > 0.4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Runner<'a> {
    cache: &'a Cache,
    registry: &'a Registry,
    keeps_runs: bool,
}

/// Stages of an experiment, with their cache status.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Stages, in the order in which they run. A stage that tasks or systems share is listed once.
    pub stages: Vec<StageReport>,
    /// Systems with runs that depend on a selection that has not been computed yet.
    pub undecided: Vec<String>,
}

impl<'a> Runner<'a> {
    /// Creates a runner with a cache and the types of systems.
    #[must_use]
    pub const fn new(cache: &'a Cache, registry: &'a Registry) -> Self {
        Self {
            cache,
            registry,
            keeps_runs: true,
        }
    }

    /// Evaluates each run when it is found and does not keep it, so that memory does not grow with
    /// the runs of many systems. [`TaskResults::runs`](crate::TaskResults::runs) is then empty, and
    /// neither [`OutputFormat::Html`](crate::OutputFormat::Html) nor
    /// [`OutputFormat::Runs`](crate::OutputFormat::Runs) can be written.
    #[must_use]
    pub const fn without_runs(mut self) -> Self {
        self.keeps_runs = false;
        self
    }

    /// Runs an experiment. Every finished stage is in the cache, also after an error.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if the experiment is invalid, data are missing, a stage failed, or
    /// the observer requested a stop.
    pub fn run(
        &self,
        experiment: &Experiment,
        observer: &mut dyn Observer,
    ) -> Result<ExperimentResults, SpecError> {
        let mut tasks = Vec::new();
        self.for_each_task(experiment, observer, true, |data, task| {
            let results = task.results.into_values();
            tasks.push(compare(experiment, data, results, task.selections)?);
            Ok(())
        })?;
        let hashes = FileHashes::default();
        let stages = self.classifications(experiment, &hashes);
        let classifications = (0..experiment.classifications.len())
            .map(|n| stages.classify(n, observer))
            .collect::<Result<_, _>>()?;
        Ok(ExperimentResults::new(experiment, tasks, classifications))
    }

    /// Lists the stages of an experiment without computing any.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if the experiment is invalid or data are missing.
    pub fn plan(
        &self,
        experiment: &Experiment,
        observer: &mut dyn Observer,
    ) -> Result<Plan, SpecError> {
        let mut plan = Plan {
            stages: Vec::new(),
            undecided: Vec::new(),
        };
        let mut planned = HashSet::new();
        self.for_each_task(experiment, observer, false, |_, task| {
            // Tasks share stages with equal keys.
            let mut stages = task.stages;
            stages.retain(|stage| planned.insert((stage.stage, stage.key.clone())));
            plan.stages.extend(stages);
            let undecided = experiment.systems.iter().map(|entry| &entry.name);
            let undecided = undecided.filter(|name| task.undecided.contains(*name));
            plan.undecided.extend(undecided.cloned());
            Ok(())
        })?;
        let hashes = FileHashes::default();
        let classifications = self.classifications(experiment, &hashes);
        for n in 0..experiment.classifications.len() {
            plan.stages.push(classifications.planned(n)?);
        }
        Ok(plan)
    }

    const fn classifications<'s>(
        &'s self,
        experiment: &'s Experiment,
        hashes: &'s FileHashes,
    ) -> Classifications<'s> {
        Classifications {
            experiment,
            cache: self.cache,
            hashes,
        }
    }

    /// Warns about entries of `[encoders]` that no system uses, and says if their model is missing.
    fn report_unused_encoders(&self, experiment: &Experiment, observer: &mut dyn Observer) {
        for (name, entry) in experiment.unused_encoders(self.registry) {
            let key = format!("encoders.{name}");
            #[cfg(feature = "dense")]
            if let Err(error) = entry.check_model(&experiment.source) {
                let error = experiment.source.system_error(&key, error);
                observer.warning(&format!("{error}; no system uses this encoder"));
                continue;
            }
            let _ = entry;
            observer.warning(&format!("{key}: no system uses this encoder"));
        }
    }

    /// Runs or plans all tasks. `finish` receives the data of each task and its results.
    fn for_each_task(
        &self,
        experiment: &Experiment,
        observer: &mut dyn Observer,
        compute: bool,
        mut finish: impl FnMut(&TaskData, TaskRun<'_>) -> Result<(), SpecError>,
    ) -> Result<(), SpecError> {
        experiment.validate(self.registry)?;
        let order = ir_system::order(&experiment.systems, &experiment.source, self.registry)?;
        self.report_unused_encoders(experiment, observer);
        let (hashes, mut session) = (FileHashes::default(), Session::default());
        let mut previous: Option<Arc<Documents>> = None;
        for (n, entry) in experiment.tasks.iter().enumerate() {
            let order_of_documents = experiment.document_order(entry);
            let shared = previous.take();
            let shared = shared.filter(|known| known.are_of(entry, order_of_documents));
            match shared {
                Some(_) => session.close_systems(),
                None => session = Session::default(),
            }
            let data = TaskData::open(experiment, n, shared, observer)?;
            previous = Some(data.documents.clone());
            let mut task = TaskRun {
                compute,
                ..TaskRun::new(self, experiment, &data, &hashes, &mut session, observer)
            };
            task.search_all(&order)?;
            finish(&data, task)?;
        }
        Ok(())
    }
}

/// Runs of one task.
struct TaskRun<'a> {
    runner: &'a Runner<'a>,
    experiment: &'a Experiment,
    data: &'a TaskData,
    hashes: &'a FileHashes,
    session: &'a mut Session,
    observer: &'a mut dyn Observer,
    /// If `true`, stages are computed; otherwise they are only listed.
    compute: bool,
    /// Systems with known parameters.
    systems: BTreeMap<String, PreparedSystem>,
    /// Validation queries, once a grid has needed them.
    validation: Option<Arc<ValidationSet>>,
    /// Results of the visible systems by position in the file.
    results: BTreeMap<usize, SystemResult>,
    selections: Vec<SelectionResult>,
    /// Stages, each once, and their keys.
    stages: Vec<StageReport>,
    stage_keys: HashSet<(Stage, String)>,
    undecided: HashSet<String>,
    /// Number of searches of each system: its own, and one for each system that it is part of.
    searches: HashMap<String, usize>,
}

/// Queries to search, and the training queries that a system may learn from.
#[derive(Clone, Copy)]
struct Queries<'q> {
    set: &'q JudgedSet,
    training: Option<&'q TrainingSet>,
    /// Split of the validation queries, if `set` validates.
    validation: Option<&'q str>,
}

/// Validation queries, and the training queries that are not among them.
struct ValidationSet {
    set: JudgedSet,
    training: Option<TrainingSet>,
}

/// Result of the selection of a grid.
enum Selected {
    /// The system is prepared with its best point.
    Point,
    /// Run with the list of each query from the point that was chosen without the query.
    PerQuery(Run),
    /// A run of a point is only planned.
    Undecided,
}

impl<'a> TaskRun<'a> {
    /// A run that computes its stages.
    fn new(
        runner: &'a Runner<'a>,
        experiment: &'a Experiment,
        data: &'a TaskData,
        hashes: &'a FileHashes,
        session: &'a mut Session,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            runner,
            experiment,
            data,
            hashes,
            session,
            observer,
            compute: true,
            systems: BTreeMap::new(),
            validation: None,
            results: BTreeMap::new(),
            selections: Vec::new(),
            stages: Vec::new(),
            stage_keys: HashSet::new(),
            undecided: HashSet::new(),
            searches: HashMap::new(),
        }
    }

    /// The queries of the task.
    fn test_queries(&self) -> Queries<'a> {
        Queries {
            set: &self.data.test,
            training: self.data.training.as_ref(),
            validation: None,
        }
    }

    /// Searches the visible systems, in an order in which every system follows its parts.
    fn search_all(&mut self, order: &[usize]) -> Result<(), SpecError> {
        let (experiment, data) = (self.experiment, self.data);
        let test = self.test_queries();
        let shown = experiment.systems.iter();
        let shown = shown.filter(|entry| data.entry().shows(entry));
        self.searches = self.searches(shown.map(|entry| entry.name.clone()).collect());
        let (qrels, measures) = (&data.test.qrels, &experiment.measures);
        let evaluator = || evaluator(experiment, data, qrels, measures);
        let evaluator = self.compute.then(evaluator).transpose()?;
        let keeps_runs = self.runner.keeps_runs || experiment.comparison.overlap_depth.is_some();
        for (done, &n) in order.iter().enumerate() {
            let entry = &experiment.systems[n];
            if !self.searches.contains_key(&entry.name) {
                continue;
            }
            self.report_planned(done, order.len())?;
            let is_hidden = !data.entry().shows(entry);
            let selected = if self.has_undecided_part(entry) {
                Selected::Undecided
            } else if entry.grid.is_empty() {
                self.prepare(n, entry.parameters.clone())?;
                Selected::Point
            } else {
                self.select(n, test)?
            };
            let is_point = matches!(selected, Selected::Point);
            let run = match selected {
                Selected::Point | Selected::PerQuery(_) if is_hidden => None,
                Selected::Point => self.search(n, test)?,
                Selected::PerQuery(run) => Some(run),
                Selected::Undecided => {
                    self.undecided.insert(entry.name.clone());
                    None
                }
            };
            if let (Some(run), Some(evaluator)) = (run, &evaluator) {
                let report = report(experiment, evaluator, &run)?;
                let run = Some(run).filter(|_| keeps_runs);
                let costs = if is_point && experiment.output.costs {
                    self.costs(n)?
                } else {
                    None
                };
                self.results.insert(n, SystemResult { report, run, costs });
            }
        }
        Ok(())
    }

    /// Reports the progress of a plan; stages that are computed report their own.
    fn report_planned(&mut self, done: usize, total: usize) -> Result<(), SpecError> {
        if self.compute {
            return Ok(());
        }
        match (self.observer).report("planning", done as u64, Some(total as u64)) {
            Flow::Stop => Err(SpecError::Canceled),
            Flow::Continue => Ok(()),
        }
    }

    /// Number of searches of systems and of their parts: one each, and one for each system that
    /// they are part of.
    fn searches(&self, mut open: Vec<String>) -> HashMap<String, usize> {
        let by_name = self.experiment.systems.iter();
        let by_name: HashMap<&str, &SystemEntry> =
            by_name.map(|entry| (entry.name.as_str(), entry)).collect();
        let mut searches = HashMap::new();
        while let Some(name) = open.pop() {
            let entry = by_name.get(name.as_str());
            let count = searches.entry(name).or_insert(0);
            *count += 1;
            if let Some(entry) = entry.filter(|_| *count == 1) {
                open.extend(self.parts_of(entry));
            }
        }
        searches
    }

    /// Names of the parts of the points of a system.
    fn parts_of(&self, entry: &SystemEntry) -> Vec<String> {
        let points = entry.points_of_values();
        let parsed =
            points.filter_map(|point| self.runner.registry.parse(&entry.kind, &point).ok());
        let parts = parsed.flat_map(|parsed| parsed.system.inputs());
        parts.map(|(_, name)| name).collect()
    }

    fn has_undecided_part(&self, entry: &SystemEntry) -> bool {
        let mut parts = self.parts_of(entry).into_iter();
        !self.undecided.is_empty() && parts.any(|name| self.undecided.contains(&name))
    }

    /// Sets the parameters of a system.
    fn prepare(&mut self, n: usize, parameters: toml::Table) -> Result<(), SpecError> {
        let entry = &self.experiment.systems[n];
        let at = format!("systems[{n}]");
        let parsed = self.runner.registry.parse(&entry.kind, &parameters);
        let parsed = parsed.map_err(|error| self.experiment.source.system_error(&at, error))?;
        let inputs = parsed.system.inputs().into_iter().map(|(_, name)| name);
        let point = point_label(entry, &parameters);
        let prepared = PreparedSystem {
            at,
            inputs: inputs.collect(),
            kind: entry.kind.clone(),
            label: if point.is_empty() {
                entry.name.clone()
            } else {
                format!("{}, {point}", entry.name)
            },
            is_shared: self.searches.get(&entry.name).is_some_and(|it| *it > 1),
            parsed: Arc::new(parsed),
        };
        self.systems.insert(entry.name.clone(), prepared);
        Ok(())
    }

    fn context<'s>(&'s mut self, queries: Queries<'s>) -> SystemContext<'s> {
        let set = queries.set;
        SystemContext {
            data: self.data,
            training: queries.training,
            validation: (queries.validation).map(|split| Validation {
                split,
                queries: &set.queries,
            }),
            encoders: &self.experiment.encoders,
            source: &self.experiment.source,
            cache: self.runner.cache,
            systems: &self.systems,
            hashes: self.hashes,
            session: &mut *self.session,
            observer: &mut *self.observer,
        }
    }

    /// Error of a system with its location.
    fn located(&self, n: usize, error: SystemError) -> SpecError {
        let at = format!("systems[{n}]");
        self.experiment.source.system_error(&at, error)
    }

    /// Search parameters of a prepared system, with as many hits as it can have.
    fn search_parameters(&self, n: usize) -> SearchParameters {
        let entry = &self.experiment.systems[n];
        let mut parameters = SearchParameters::new(self.experiment, self.data.entry(), entry);
        let systems = |name: &str| self.systems.get(name).map(|it| &*it.parsed);
        if let Some(most) = max_hits(&entry.name, &systems) {
            parameters.hits = parameters.hits.min(most);
        }
        parameters
    }

    /// Run of a prepared system: from the cache, or searched. `None` if it is only planned.
    fn search(&mut self, n: usize, queries: Queries<'_>) -> Result<Option<Run>, SpecError> {
        let entry = &self.experiment.systems[n];
        let (compute, data) = (self.compute, self.data);
        let (label, parsed) = match self.systems.get(&entry.name) {
            Some(prepared) => (prepared.label.clone(), prepared.parsed.clone()),
            None => return Ok(None),
        };
        let parameters = self.search_parameters(n);
        let parts = self.parts(&entry.name, |it| it.inputs.clone());
        let mut context = self.context(queries);
        let searched = (|| -> Result<_, SystemError> {
            let key = run_key(&context, &entry.name, queries.set, &parameters)?;
            if !compute {
                let found = context.cache.run(&key, &entry.name).ok().flatten();
                let mut stages = Vec::new();
                if found.is_none() {
                    for part in &parts {
                        stages.extend(part.system.stages(&context)?);
                    }
                    stages.extend(parsed.system.stages(&context)?);
                }
                let status = match found {
                    Some(_) => StageStatus::Cached,
                    None => StageStatus::ToDo,
                };
                stages.push(context.report(Stage::Run, &key, &label, status));
                return Ok((found, stages));
            }
            let cache = context.cache;
            let path = cache.writable_path(Stage::Run, &key)?;
            let named = format!("{}: {label}", context.data.name());
            let looked_up = find_or_lock(&path, &named, context.observer, || {
                cache.run(&key, &entry.name)
            })?;
            let (status, run) = match looked_up {
                Lookup::Found(run) => (StageStatus::Cached, run),
                Lookup::ToCompute { status, lock } => {
                    let run = parameters.search(&mut context, data, &entry.name, queries.set)?;
                    cache.save_run(&key, &run)?;
                    drop(lock);
                    (status, run)
                }
            };
            let report = context.report(Stage::Run, &key, &label, status);
            context.observer.stage(&report);
            Ok((Some(run), Vec::new()))
        })();
        let (run, stages) = searched.map_err(|error| self.located(n, error))?;
        for stage in stages {
            if self.stage_keys.insert((stage.stage, stage.key.clone())) {
                self.stages.push(stage);
            }
        }
        Ok(run)
    }

    /// Systems that are parts of a system, each once, after their own parts. `inputs` returns the
    /// names of the parts.
    fn parts(
        &self,
        name: &str,
        inputs: fn(&PreparedSystem) -> Vec<String>,
    ) -> Vec<Arc<ParsedSystem>> {
        let (mut parts, mut seen) = (Vec::new(), HashSet::new());
        self.add_parts(name, inputs, &mut seen, &mut parts);
        parts
    }

    fn add_parts(
        &self,
        name: &str,
        inputs: fn(&PreparedSystem) -> Vec<String>,
        seen: &mut HashSet<String>,
        parts: &mut Vec<Arc<ParsedSystem>>,
    ) {
        for input in self.systems.get(name).map(inputs).unwrap_or_default() {
            if seen.insert(input.clone()) {
                self.add_parts(&input, inputs, seen, parts);
                parts.extend(self.systems.get(&input).map(|it| it.parsed.clone()));
            }
        }
    }
}
