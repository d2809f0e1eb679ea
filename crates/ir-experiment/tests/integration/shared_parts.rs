//! Systems that are parts of several systems are searched once per query.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use ir_core::fusion::{Fused, Fusion, Reranked, RetrieverScores, ScoreCombination, WeightedSum};
use ir_core::{DocIds, DocNum, Hit, NoProgress, Ranking, Retriever, Run, Search, SearchError};
use ir_data::catalog;
use ir_experiment::{
    Cache, Experiment, ExperimentResults, OpenSystem, Registry, Runner, System, SystemContext,
    SystemError,
};

/// Number of test queries of the bundled collection.
const QUERIES: usize = 24;

/// Number of searched queries by counter.
static SEARCHES: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

fn searches(counter: &str) -> usize {
    let searches = SEARCHES.lock().unwrap();
    let count = searches.as_ref().and_then(|it| it.get(counter)).copied();
    count.unwrap_or_default()
}

/// Ranks all documents by a hash of query and document, and counts the searched queries.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Counting {
    counter: String,
    /// Different numbers give different rankings.
    seed: u64,
}

struct CountingRetriever {
    ids: DocIds,
    system: Counting,
}

impl Retriever for CountingRetriever {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut searches = SEARCHES.lock().unwrap();
        let searches = searches.get_or_insert_default();
        *searches.entry(self.system.counter.clone()).or_default() += 1;
        let score = |doc: DocNum| {
            let mut hash = ir_core::Fnv1a::default();
            hash.write(query.as_bytes());
            hash.write(self.ids.id(doc).as_bytes());
            hash.write(&self.system.seed.to_le_bytes());
            (hash.finish() % 1000) as f32 / 1000.0
        };
        let docs = (0..self.ids.len() as u32).map(DocNum::new);
        let docs = docs.filter(|doc| search.allows(*doc));
        let hits = docs.map(|doc| Hit::new(doc, score(doc))).collect();
        Ok(Ranking::from_hits(hits)?.top(search.k()))
    }
}

impl Counting {
    fn retriever(&self, ids: &DocIds) -> CountingRetriever {
        let unique: std::collections::BTreeSet<&str> = ids.iter().collect();
        CountingRetriever {
            ids: unique.into_iter().collect(),
            system: self.clone(),
        }
    }
}

impl System for Counting {
    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let retriever = self.retriever(context.data.ids());
        Ok(OpenSystem::new(Arc::new(retriever)))
    }
}

fn experiment(systems: &str) -> (Experiment, Registry) {
    let mut registry = Registry::default();
    registry.register::<Counting>("counting", "Counts searches.");
    let text = format!(
        "measures = [\"AP\"]\n[[tasks]]\ncollection = \"bundled\"\n[search]\nhits = 10\n{systems}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("e.toml");
    std::fs::write(&file, text).unwrap();
    (Experiment::open_with(&file, &registry).unwrap(), registry)
}

fn run(systems: &str) -> ExperimentResults {
    let (experiment, registry) = experiment(systems);
    let cache = Cache::temporary().unwrap();
    let results = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
    results.unwrap()
}

/// Two hidden systems of a counter.
fn bases(counter: &str) -> String {
    ["x", "y"]
        .iter()
        .enumerate()
        .fold(String::new(), |mut text, (seed, name)| {
            let _ = write!(
                text,
                "[[systems]]\nname = \"{name}0\"\nhidden = true\ntype = \"counting\"\n\
             counter = \"{counter}\"\nseed = {seed}\n"
            );
            text
        })
}

/// Levels of two systems, each a hybrid of both systems of the level below.
fn levels(count: usize, hybrid: [&str; 2]) -> String {
    let mut text = String::new();
    for level in 1..=count {
        for (name, parameters) in ["x", "y"].iter().zip(hybrid) {
            let below = level - 1;
            let hidden = level < count;
            let _ = write!(
                text,
                "[[systems]]\nname = \"{name}{level}\"\nhidden = {hidden}\ntype = \"hybrid\"\n\
                 of = [\"x{below}\", \"y{below}\"]\n{parameters}\n"
            );
        }
    }
    text
}

/// Runs of two levels of retrievers without shared rankings.
fn by_hand<R: Retriever<Query = str> + 'static>(
    make: impl Fn(Vec<Arc<dyn Retriever<Query = str>>>, usize) -> R,
) -> Vec<Run> {
    let collection = catalog::open("bundled").unwrap();
    let documents = collection.corpus().docs().unwrap();
    let ids: DocIds = documents.map(|doc| doc.unwrap().id).collect();
    let mut level: Vec<Arc<dyn Retriever<Query = str>>> = Vec::new();
    for seed in 0..2 {
        let counter = "by hand".to_owned();
        level.push(Arc::new(Counting { counter, seed }.retriever(&ids)));
    }
    for _ in 0..2 {
        let above = (0..2).map(|n| Arc::new(make(level.clone(), n)) as _);
        level = above.collect();
    }
    let queries = collection.queries("test").unwrap();
    let runs = ["x2", "y2"].iter().zip(level);
    runs.map(|(name, retriever)| Run::from_retriever(name, &retriever, &queries, 10).unwrap())
        .collect()
}

#[test]
fn parts_of_nested_hybrids_are_searched_once() {
    let hybrid = ["k = 60", "k = 1"];
    let results = run(&(bases("nested") + &levels(12, hybrid)));
    assert_eq!(results.tasks[0].runs.len(), 2);
    assert_eq!(searches("nested"), 2 * QUERIES);
    // Two levels have the runs of the same retrievers by hand.
    let found = run(&(bases("two levels") + &levels(2, hybrid)));
    let expected = by_hand(|parts, n| {
        let k = [60.0, 1.0][n];
        let fusion = Fusion {
            combination: ScoreCombination::Rrf { k },
            ..Fusion::RRF
        };
        Fused::new(parts, fusion, 100).unwrap()
    });
    assert_eq!(found.tasks[0].runs, expected);
}

#[test]
fn parts_of_nested_sums_are_searched_a_few_times() {
    let hybrid = ["weights = [0.3, 1]", "weights = [1, 0.5]"];
    let count = |levels_: usize| {
        let counter = format!("sums {levels_}");
        run(&(bases(&counter) + &levels(levels_, hybrid)));
        searches(&counter)
    };
    // Without shared rankings, each level doubles the searches at least.
    let (six, nine) = (count(6), count(9));
    assert!(six < 40 * QUERIES && nine < 2 * six, "{six}, {nine}");
    let found = run(&(bases("two sums") + &levels(2, hybrid)));
    let expected = by_hand(|parts, n| {
        let weights = [[0.3, 1.0], [1.0, 0.5]][n];
        WeightedSum::new(parts.into_iter().zip(weights)).unwrap()
    });
    assert_eq!(found.tasks[0].runs, expected);
}

#[test]
fn filters_rerankings_and_visible_parts_share_searches() {
    let systems = bases("mixed").replace("hidden = true\n", "")
        + "[[systems]]\nname = \"a\"\ntype = \"hybrid\"\nof = [\"x0\", \"y0\", \"x0\"]\ndepth = 10\n\
           [[systems]]\nname = \"b\"\ntype = \"rerank\"\nfirst = \"x0\"\nsecond = \"a\"\ndepth = 10\n\
           [[systems]]\nname = \"c\"\ntype = \"rerank\"\nfirst = \"x0\"\nsecond = \"a\"\ndepth = 10\n";
    for (filter, counted) in [("none", "mixed"), ("year", "mixed year")] {
        let systems = systems.replace("\"mixed\"", &format!("{counted:?}"));
        let (mut experiment, registry) = experiment(&systems);
        experiment.search.filter = serde_json::from_value(filter.into()).unwrap();
        let cache = Cache::temporary().unwrap();
        let results = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
        let results = results.unwrap();
        assert_eq!(results.tasks[0].runs.len(), 5);
        // Once for all documents, and once for the candidates of the rerankings.
        assert_eq!(searches(counted), 4 * QUERIES, "{filter}");
    }
    // The runs are those of the retrievers by hand.
    let collection = catalog::open("bundled").unwrap();
    let documents = collection.corpus().docs().unwrap();
    let ids: DocIds = documents.map(|doc| doc.unwrap().id).collect();
    let base = |seed| {
        let counter = "by hand".to_owned();
        Counting { counter, seed }.retriever(&ids)
    };
    let fused = Fused::new([base(0), base(1), base(0)], Fusion::RRF, 10).unwrap();
    let reranked = Reranked::new(base(0), RetrieverScores::new(fused).unwrap(), 10).unwrap();
    let queries = collection.queries("test").unwrap();
    let expected = Run::from_retriever("b", &reranked, &queries, 10).unwrap();
    let again = run(&systems.replace("\"mixed\"", "\"mixed again\""));
    assert_eq!(again.tasks[0].runs[3], expected);
}

#[test]
fn points_of_a_grid_share_the_searches_of_their_parts() {
    let systems = bases("grid")
        + "[[systems]]\nname = \"h\"\ntype = \"hybrid\"\nof = [\"x0\", \"y0\"]\n\
           [systems.grid]\nk = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n\
           [selection]\nby = \"leave-one-out\"\n";
    run(&systems);
    assert_eq!(searches("grid"), 2 * QUERIES);
}

#[test]
fn systems_are_open_for_any_queries() {
    let (experiment, registry) = experiment(&(bases("open") + &levels(8, ["k = 60", "k = 1"])));
    let cache = Cache::temporary().unwrap();
    let runner = Runner::new(&cache, &registry);
    let system = runner.open(&experiment, "x8", &mut NoProgress).unwrap();
    for n in 1..4 {
        let ranking = system.retriever.search("tea", &Search::top(3)).unwrap();
        assert_eq!(ranking.len(), 3);
        // The rankings of a search are not kept for the next one.
        assert_eq!(searches("open"), 2 * n);
    }
}

#[test]
fn levels_are_bounded() {
    let chain = |count: usize| {
        let mut text = bases("chain");
        for level in 1..count {
            let below = level - 1;
            let hidden = level + 1 < count;
            let _ = write!(
                text,
                "[[systems]]\nname = \"x{level}\"\nhidden = {hidden}\ntype = \"hybrid\"\n\
                 of = [\"x{below}\", \"y0\"]\nweights = [1, 1]\n"
            );
        }
        text
    };
    assert_eq!(run(&chain(64)).tasks[0].runs.len(), 1);
    for count in [65, 20_000] {
        let (mut experiment, registry) = experiment(&chain(2));
        let systems: String = chain(count);
        let systems: toml::Table = systems.parse().unwrap();
        experiment.systems = systems["systems"].clone().try_into().unwrap();
        for reversed in [false, true] {
            if reversed {
                experiment.systems.reverse();
            }
            let error = experiment.validate(&registry).unwrap_err().to_string();
            assert!(
                error.ends_with("expected at most 64 systems inside of one another, found more"),
                "{error}"
            );
        }
    }
}

#[test]
fn runs_are_not_kept_for_tables() {
    let (experiment, registry) = experiment(&(bases("tables") + &levels(1, ["k = 60", "k = 1"])));
    let cache = Cache::temporary().unwrap();
    let runner = Runner::new(&cache, &registry);
    let with_runs = runner.run(&experiment, &mut NoProgress).unwrap();
    let runner = runner.without_runs();
    let without = runner.run(&experiment, &mut NoProgress).unwrap();
    assert!(without.tasks[0].runs.is_empty() && with_runs.tasks[0].runs.len() == 2);
    assert_eq!(without.to_text(), with_runs.to_text());
    assert_eq!(without.to_json().unwrap(), with_runs.to_json().unwrap());
}
