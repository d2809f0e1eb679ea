//! Measuring the costs of systems.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ir_core::{Flow, Search};
use ir_system::systems::RUN;
use ir_system::{
    FileHashes, Lookup, ParsedSystem, Session, SpecError, Stage, StageStatus, SystemContext,
    SystemError, find_or_lock,
};

use super::TaskRun;
use crate::costs::{COSTS, SystemCosts};
use crate::search::run_key;

/// Maximum number of queries that are timed.
const QUERIES: usize = 100;

impl TaskRun<'_> {
    /// Costs of a prepared system, from the cache or measured; `None` for the type `run`.
    pub(super) fn costs(&mut self, n: usize) -> Result<Option<SystemCosts>, SpecError> {
        if self.experiment.systems[n].kind == RUN {
            return Ok(None);
        }
        let costs = self.cached_costs(n);
        costs.map(Some).map_err(|error| self.located(n, error))
    }

    fn cached_costs(&mut self, n: usize) -> Result<SystemCosts, SystemError> {
        let (experiment, cache) = (self.experiment, self.runner.cache);
        let name = &experiment.systems[n].name;
        let parameters = self.search_parameters(n);
        let test = self.test_queries();
        let context = self.context(test);
        let key = run_key(&context, name, test.set, &parameters)?;
        let key = format!("{key}-costs");
        let path = cache.writable_path(COSTS.stage, &key)?;
        let label = format!("costs of {name}");
        let named = format!("{}: {label}", context.data.name());
        let looked_up = find_or_lock(&path, &named, context.observer, || {
            cache.entry(&COSTS, &key, |bytes| SystemCosts::decode(bytes, name))
        })?;
        let (status, lock) = match looked_up {
            Lookup::Found(costs) => return Ok(costs),
            Lookup::ToCompute { status, lock } => (status, lock),
        };
        let costs = SystemCosts {
            system: name.clone(),
            milliseconds: 1000.0 * self.search_time(name, parameters.hits)?.as_secs_f64(),
            bytes: self.bytes(name)?,
        };
        cache.save_entry(&COSTS, &key, &costs.encode())?;
        drop(lock);
        if let StageStatus::Rebuilt { .. } = status {
            let context = self.context(test);
            let report = context.report(COSTS.stage, &key, &label, status);
            context.observer.stage(&report);
        }
        Ok(costs)
    }

    /// Median time of the searches of single queries, without filters, after a first search. The
    /// system opens for them alone, so that no vectors or rankings of the run are in memory.
    fn search_time(&mut self, name: &str, hits: usize) -> Result<Duration, SystemError> {
        let searches = self.searches(vec![name.to_owned()]);
        let mut systems = self.systems.clone();
        for (part, prepared) in &mut systems {
            prepared.is_shared = searches.get(part).is_some_and(|it| *it > 1);
        }
        let mut session = Session::default();
        let test = self.test_queries();
        let mut context = SystemContext {
            systems: &systems,
            session: &mut session,
            ..self.context(test)
        };
        let open = context.system(name)?;
        let retriever = context.session.for_single_searches(open.retriever);
        let queries = test.set.queries.iter().take(QUERIES + 1);
        let total = Some(queries.len() as u64);
        let stage = format!("timing {name}");
        let mut times = Vec::new();
        for (done, query) in queries.enumerate() {
            if context.observer.report(&stage, done as u64, total) == Flow::Stop {
                return Err(SpecError::Canceled.into());
            }
            let started = Instant::now();
            let ranking = retriever.search(&query.text, &Search::top(hits));
            times.push(started.elapsed());
            let _ = ranking.map_err(SystemError::stage("searching"))?;
        }
        if times.len() > 1 {
            times.remove(0);
        }
        times.sort_unstable();
        Ok(times.get(times.len() / 2).copied().unwrap_or_default())
    }

    /// Number of bytes of the files of a system and its parts, each counted once. The teacher of a
    /// trained model is not a part.
    fn bytes(&mut self, name: &str) -> Result<u64, SystemError> {
        let mut systems = self.parts(name, |it| it.parsed.searched_inputs().collect());
        systems.extend(self.systems.get(name).map(|it| it.parsed.clone()));
        let mut files = BTreeSet::new();
        for system in systems {
            files.extend(self.files_of(&system)?);
        }
        Ok(files.iter().map(|path| bytes_below(path)).sum())
    }

    /// Files that a system reads: entries of the cache, and files that its parameters name. Of a
    /// model that is trained, the files after training.
    fn files_of(&mut self, system: &ParsedSystem) -> Result<BTreeSet<PathBuf>, SystemError> {
        let (cache, test) = (self.runner.cache, self.test_queries());
        let hashes = FileHashes::default();
        let context = SystemContext {
            hashes: &hashes,
            ..self.context(test)
        };
        let stages = system.system.stages(&context)?;
        let mut files = BTreeSet::new();
        for stage in &stages {
            let entry = cache.path(stage.stage, &stage.key);
            files.insert(match stage.stage {
                Stage::Model => entry.with_extension(""),
                _ => entry,
            });
        }
        if !stages.iter().any(|it| it.stage == Stage::Model) {
            system.system.content(&context)?;
            files.extend(hashes.paths());
        }
        Ok(files)
    }
}

/// Number of bytes of a file, or of the files of a folder. 0 if there is none.
fn bytes_below(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => {
            let entries = entries.flatten();
            entries.map(|entry| bytes_below(&entry.path())).sum()
        }
        Err(_) => fs::metadata(path).map_or(0, |file| file.len()),
    }
}
