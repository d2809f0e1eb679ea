//! Experiments on the bundled collection, beside the same steps by hand.

#![allow(clippy::unwrap_used)]

use crate::common::{Recorder, assert_cached, bundled, computed, run};
use ir_bm25::{Bm25, DuplicateIds, Index, IndexConfig};
use ir_core::store::{HEADER_LEN, IndexFormat};
use ir_core::{Distinct, NoProgress, Query, Run, Search};
use ir_data::catalog;
use ir_eval::{Evaluator, Measure};
use ir_experiment::{Cache, Experiment, Registry, Runner, Stage, StageStatus, SystemEntry};
use ir_knn::{DocFrequency, TfidfConfig, TrainingQuery, TrainingQueryKnn, TrainingQueryKnnConfig};

/// Test queries of the bundled collection as sentences or keyphrases.
fn queries(split: &str, form: Option<&str>) -> Vec<Query> {
    let collection = catalog::open("bundled").unwrap();
    let mut queries = collection.queries(split).unwrap();
    for query in &mut queries {
        if let Some(form) = form {
            query.text = query.attributes.text(form).unwrap_or_default().to_owned();
        }
    }
    queries
}

fn score(run: &Run, measure: Measure) -> f64 {
    let collection = catalog::open("bundled").unwrap();
    let qrels = collection.qrels("test").unwrap();
    let evaluator = Evaluator::new(&qrels, &[measure]).unwrap();
    evaluator.evaluate(run).unwrap().summary(measure).unwrap()
}

#[test]
fn runs_equal_those_of_the_libraries() {
    let text = r#"
        measures = ["AP", "R@5"]
        [[tasks]]
        collection = "bundled"
        query = "keyphrase_query"
        training = { split = "train" }
        [search]
        hits = 5
        filter = "year"
        [[systems]]
        name = "BM25"
        type = "bm25"
        k1 = 1.5
        [[systems]]
        name = "kNN"
        type = "knn"
        [[systems]]
        name = "both"
        type = "hybrid"
        of = ["BM25", "kNN"]
        weights = [0.1, 1]
    "#;
    let experiment = Experiment::from_toml(text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());

    let collection = catalog::open("bundled").unwrap();
    let test = queries("test", Some("keyphrase_query"));
    let config = IndexConfig::default().with_duplicates(DuplicateIds::Keep);
    let index = Index::build(collection.corpus(), &config, &mut NoProgress).unwrap();
    let bm25 = Distinct(index.searcher(Bm25::new(1.5, 0.4)).unwrap());
    let years = index.years();
    let filters: Vec<_> = test
        .iter()
        .map(|query| years.not_later_than(query.attributes.year()))
        .collect();
    let expected = Run::from_retriever_with("BM25", &bm25, &test, |n, _| {
        Search::top(5).within(&filters[n])
    });
    assert_eq!(results.tasks[0].runs[0], expected.unwrap());

    let train = queries("train", Some("keyphrase_query"));
    let training = TrainingQuery::from_qrels(&train, &collection.qrels("train").unwrap());
    let ids = (collection.corpus().docs().unwrap())
        .map(|doc| doc.unwrap().id)
        .collect();
    let tfidf = TfidfConfig::default()
        .with_stop_words(ir_core::stop_words::NLTK)
        .with_min_df(DocFrequency::Count(2));
    let config = TrainingQueryKnnConfig::default().skip_unknown_documents();
    let knn = TrainingQueryKnn::tfidf(ids, training, &tfidf, &config).unwrap();
    let corpus_years: ir_core::Years = (collection.corpus().docs().unwrap())
        .map(|doc| doc.unwrap().attributes.year())
        .collect();
    let filters: Vec<_> = test
        .iter()
        .map(|query| corpus_years.not_later_than(query.attributes.year()))
        .collect();
    let expected = Run::from_retriever_with("kNN", &knn, &test, |n, _| {
        Search::top(5).within(&filters[n])
    });
    let expected = expected.unwrap();
    assert_eq!(results.tasks[0].runs[1], expected);
    let found = results.tasks[0].value("kNN", Measure::AP).unwrap();
    assert_eq!(found, score(&expected, Measure::AP));
    // The hybrid differs from both parts and is better than the lexical one.
    assert!((0..2).all(|n| {
        results.tasks[0].runs[2]
            .iter()
            .ne(results.tasks[0].runs[n].iter())
    }));
    assert!(
        results.tasks[0].value("both", Measure::AP) > results.tasks[0].value("BM25", Measure::AP)
    );
}

#[test]
fn a_second_start_repeats_no_search_and_new_measures_neither() {
    let mut experiment = bundled();
    let cache = Cache::temporary().unwrap();
    let (first, stages) = run(&experiment, &cache);
    // Two tasks: three systems, and nine points of a grid beside the selected one.
    assert_eq!(computed(&stages, Stage::Run), 2 * (4 + 9));
    // Both tasks search the same documents, with one index that is opened once.
    assert_eq!(computed(&stages, Stage::Index), 1);
    assert_eq!(stages.iter().filter(|it| it.0 == Stage::Index).count(), 1);
    let (second, stages) = run(&experiment, &cache);
    assert_cached(&stages);
    assert_eq!(stages.len(), 2 * (4 + 9));
    assert_eq!(first.to_json().unwrap(), second.to_json().unwrap());

    experiment.measures.push(Measure::NDCG.at(3));
    experiment.comparison.seed = 7;
    let (_, stages) = run(&experiment, &cache);
    assert_cached(&stages);

    // Another parameter of one system: one run per task and its hybrid.
    experiment.systems[2] = experiment.systems[2].clone().with("metric", "euclidean");
    let (_, stages) = run(&experiment, &cache);
    assert_eq!(computed(&stages, Stage::Run), 2 * 2);
    // The index is opened for the hybrid.
    assert_eq!(computed(&stages, Stage::Index), 0);
}

#[test]
fn damaged_entries_are_rebuilt_and_reported() {
    let experiment = bundled();
    let cache = Cache::temporary().unwrap();
    let (first, _) = run(&experiment, &cache);
    let mut damaged = 0;
    for stage in ["index", "run"] {
        for entry in std::fs::read_dir(cache.folder().join(stage)).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            bytes.truncate(bytes.len() - 1);
            std::fs::write(path, bytes).unwrap();
            damaged += 1;
        }
    }
    let (second, stages) = run(&experiment, &cache);
    let rebuilt = stages.iter().filter(
        |(_, status)| matches!(status, StageStatus::Rebuilt { reason } if !reason.is_empty()),
    );
    assert_eq!(rebuilt.count(), damaged);
    assert_eq!(first.to_json().unwrap(), second.to_json().unwrap());
    let (_, stages) = run(&experiment, &cache);
    assert_cached(&stages);
}

/// Entries of another version of the program are computed again, and said to be.
#[test]
fn entries_of_another_version_are_rebuilt_and_reported() {
    let experiment = bundled();
    let cache = Cache::temporary().unwrap();
    let (first, _) = run(&experiment, &cache);
    let mut changed = 0;
    for stage in ["index", "run"] {
        for entry in std::fs::read_dir(cache.folder().join(stage)).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            let format = IndexFormat {
                magic: bytes[..8].try_into().unwrap(),
                version: 999,
                name: stage,
                large_sections: &[],
            };
            bytes[..HEADER_LEN].copy_from_slice(&format.header());
            std::fs::write(path, bytes).unwrap();
            changed += 1;
        }
    }
    let (second, stages) = run(&experiment, &cache);
    let reasons = stages.iter().filter_map(|(_, status)| match status {
        StageStatus::Rebuilt { reason } => Some(reason),
        _ => None,
    });
    let reasons: Vec<&String> = reasons.collect();
    assert_eq!(reasons.len(), changed);
    for reason in reasons {
        assert!(
            reason.ends_with(" of the file format, found 999"),
            "{reason}"
        );
    }
    assert_eq!(first.to_json().unwrap(), second.to_json().unwrap());
    let (_, stages) = run(&experiment, &cache);
    assert_cached(&stages);
}

/// Stops after a number of stages, as an interrupt does.
#[test]
fn an_interrupted_run_resumes() {
    let experiment = bundled();
    let cache = Cache::temporary().unwrap();
    let registry = Registry::default();
    let (expected, _) = run(&experiment, &Cache::temporary().unwrap());
    let mut attempts = 0;
    let found = loop {
        attempts += 1;
        let mut recorder = Recorder::stopping_after(3);
        match Runner::new(&cache, &registry).run(&experiment, &mut recorder) {
            Ok(found) => break found,
            Err(error) => assert!(
                matches!(error, ir_experiment::SpecError::Canceled),
                "{error}"
            ),
        }
        assert!(attempts < 50);
    };
    assert!(attempts > 3, "{attempts}");
    assert_eq!(found.to_json().unwrap(), expected.to_json().unwrap());
}

#[test]
fn plans_list_what_is_cached() {
    let experiment = bundled();
    let cache = Cache::temporary().unwrap();
    let registry = Registry::default();
    let runner = Runner::new(&cache, &registry);
    let plan = runner.plan(&experiment, &mut NoProgress).unwrap();
    assert!(
        plan.stages
            .iter()
            .all(|stage| stage.status == StageStatus::ToDo)
    );
    // Which point of the grid is the best is not known yet.
    assert_eq!(plan.undecided, ["BM25, tuned", "BM25, tuned"]);
    let count = |plan: &ir_experiment::Plan, stage| {
        plan.stages.iter().filter(|it| it.stage == stage).count()
    };
    assert_eq!(
        (count(&plan, Stage::Index), count(&plan, Stage::Run)),
        (1, 2 * (3 + 9)),
        "both tasks have the same documents"
    );
    assert!(!cache.folder().join("run").exists());

    runner.run(&experiment, &mut NoProgress).unwrap();
    let plan = runner.plan(&experiment, &mut NoProgress).unwrap();
    assert!(
        plan.stages
            .iter()
            .all(|stage| stage.status == StageStatus::Cached)
    );
    assert_eq!((plan.undecided.len(), count(&plan, Stage::Index)), (0, 0));
    assert_eq!(count(&plan, Stage::Run), 2 * (4 + 9));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let results = [1, 2, 5].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let cache = Cache::temporary().unwrap();
        let results = pool.build().unwrap().install(|| run(&bundled(), &cache).0);
        results.files(&ir_experiment::OutputFormat::ALL).unwrap()
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn output_files() {
    let (results, _) = run(&bundled(), &Cache::temporary().unwrap());
    let files = results.files(&ir_experiment::OutputFormat::ALL).unwrap();
    let names: Vec<&str> = files
        .iter()
        .map(|file| file.path.to_str().unwrap())
        .collect();
    let expected = [
        "table.txt",
        "table.md",
        "table.tex",
        "results.json",
        "sentences.html",
        "keyphrases.html",
        "runs/sentences/bm25.trec",
        "runs/sentences/bm25-tuned.trec",
        "runs/sentences/knn.trec",
        "runs/sentences/bm25-and-knn.trec",
        "runs/keyphrases/bm25.trec",
    ];
    assert_eq!(&names[..expected.len()], expected);
    let text = |n: usize| str::from_utf8(&files[n].content).unwrap();
    assert!(
        text(0).contains("sentences: 69 documents, 24 queries"),
        "{}",
        text(0)
    );
    assert!(text(0).contains("BM25, tuned: b="), "{}", text(0));
    assert!(text(1).contains("| BM25"));
    assert!(text(2).contains("\\begin{tabular}"));
    let json: serde_json::Value = serde_json::from_str(text(3)).unwrap();
    assert_eq!(
        json["tasks"][1]["selections"][0]["points"]
            .as_array()
            .unwrap()
            .len(),
        9
    );
    assert!(text(4).contains("<svg"));
    // A run evaluates to the value in the table.
    let read = ir_core::trec::read_run(
        &files[6].content[..],
        "run",
        ir_core::trec::HeaderLine::AsData,
    );
    let value = results.value("sentences", "BM25", Measure::AP).unwrap();
    assert_eq!(score(&read.unwrap().data, Measure::AP), value);
}

/// Every table of a document has its own label and says in its caption what it shows.
#[test]
fn latex_tables_have_different_labels() {
    let (results, _) = run(&bundled(), &Cache::temporary().unwrap());
    let latex = results.to_latex();
    for (task, label) in [("sentences", "sentences"), ("keyphrases", "keyphrases")] {
        assert!(
            latex.contains(&format!("\\label{{tab:{label}}}\n")),
            "{latex}"
        );
        let caption = format!("\\caption{{{}, {task}: ", results.title);
        assert!(latex.contains(&caption), "{caption}\n{latex}");
    }
    assert_eq!(latex.matches("\\label").count(), 2);
}

#[test]
fn one_system_has_a_table_without_comparison() {
    let mut experiment = bundled();
    experiment.systems.truncate(1);
    experiment.selection = None;
    experiment.expected.clear();
    // Some queries have no modality, and training queries have none.
    experiment.tasks[1].query = Some("modality".to_owned());
    experiment.tasks[1].training = None;
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let text = results.to_text();
    assert!(text.contains("AP"));
    let line = "BM25: 1 judged query without hits: q11\n";
    assert!(text.contains(line), "{text}");
    let json: serde_json::Value = serde_json::from_str(&results.to_json().unwrap()).unwrap();
    assert_eq!(json["tasks"][1]["queries_without_hits"][0], "q11");
    let latex = results.to_latex();
    for part in ["\\label{tab:sentences}", "Scores of BM25.}", "\\toprule"] {
        assert!(latex.contains(part), "{part}\n{latex}");
    }
    let files = results.files(&ir_experiment::OutputFormat::ALL).unwrap();
    let page = |name: &str| {
        let found = files.iter().find(|file| file.path.to_str() == Some(name));
        String::from_utf8(found.unwrap().content.clone()).unwrap()
    };
    assert!(page("sentences.html").contains("All 24 judged queries have hits"));
    let page = page("keyphrases.html");
    assert!(page.contains("<svg") && page.contains("1 of 24 judged queries have no hits"));
    assert!(page.contains("<code>q11</code>"), "{page}");
}

/// The selected point is the best on the validation queries, found by a naive loop.
#[test]
fn grids_are_selected_on_validation_queries() {
    let experiment = bundled();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    for (task, form) in [("sentences", None), ("keyphrases", Some("keyphrase_query"))] {
        let collection = catalog::open("bundled").unwrap();
        let test: Vec<String> = queries("test", form).into_iter().map(|q| q.text).collect();
        let mut validation = queries("train", form);
        validation.retain(|query| !test.contains(&query.text));
        let config = IndexConfig::default().with_duplicates(DuplicateIds::Keep);
        let index = Index::build(collection.corpus(), &config, &mut NoProgress).unwrap();
        let years = index.years();
        let filters: Vec<_> = validation
            .iter()
            .map(|query| years.not_later_than(query.attributes.year()))
            .collect();
        let all = collection.qrels("train").unwrap();
        let mut qrels = ir_core::Qrels::new();
        for query in &validation {
            for (doc, grade) in all.get(&query.id).into_iter().flatten() {
                qrels.insert(&query.id, doc, grade);
            }
        }
        let mut best = (f64::NEG_INFINITY, String::new());
        let mut scores = Vec::new();
        for (b, b_text) in [(0.0, "0.0"), (0.4, "0.4"), (1.0, "1.0")] {
            for (k1, k1_text) in [(0.5, "0.5"), (1.2, "1.2"), (2.5, "2.5")] {
                let bm25 = Distinct(index.searcher(Bm25::new(k1, b)).unwrap());
                let run = Run::from_retriever_with("x", &bm25, &validation, |n, _| {
                    Search::top(5).within(&filters[n])
                });
                let evaluator = Evaluator::new(&qrels, &[Measure::AP]).unwrap();
                let report = evaluator.evaluate(&run.unwrap()).unwrap();
                let value = report.summary(Measure::AP).unwrap();
                scores.push(value);
                if value > best.0 + 1e-12 {
                    best = (value, format!("b={b_text}, k1={k1_text}"));
                }
            }
        }
        let selection = &results.task(task).unwrap().selections[0];
        let found: Vec<f64> = selection.points.iter().map(|point| point.score).collect();
        assert_eq!(found, scores);
        let chosen: Vec<&str> = (selection.points.iter())
            .filter(|point| point.chosen > 0)
            .map(|point| point.parameters.as_str())
            .collect();
        assert_eq!(chosen, [best.1]);
        // The grid of the bundled experiment changes the row.
        let task = results.task(task).unwrap();
        let value = |system| task.value(system, Measure::AP);
        assert_ne!(value("BM25, tuned"), value("BM25"));
    }
}

#[test]
fn validation_queries_are_not_training_queries() {
    // Each validation query is its own nearest neighbor if it is among the training queries.
    let mut experiment = bundled();
    experiment.systems = vec![
        SystemEntry::new("kNN", "knn").with_grid("aggregation", ["nearest", "sum"]),
        SystemEntry::new("BM25", "bm25"),
    ];
    experiment.comparison.baseline = None;
    experiment.selection.as_mut().unwrap().fraction = Some(0.5);
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    for task in &results.tasks {
        let selection = &task.selections[0];
        assert!(
            (20..70).contains(&selection.queries),
            "{}",
            selection.queries
        );
        for point in &selection.points {
            assert!(point.score < 0.9, "{}: {}", point.parameters, point.score);
        }
    }
}

#[test]
fn leave_one_out_selects_per_query() {
    for (by, folds) in [("leave-one-out", ""), ("cross-validation", "folds = 4")] {
        let text = format!(
            r#"
            measures = ["AP"]
            [[tasks]]
            collection = "bundled"
            [[systems]]
            name = "tuned"
            type = "bm25"
            grid = {{ b = [0.0, 1.0], k1 = [0.2, 3.0] }}
            [[systems]]
            name = "BM25"
            type = "bm25"
            [selection]
            by = "{by}"
            {folds}
            "#
        );
        let experiment = Experiment::from_toml(&text).unwrap();
        let (results, _) = run(&experiment, &Cache::temporary().unwrap());
        let task = &results.tasks[0];
        let selection = &task.selections[0];
        let chosen: usize = selection.points.iter().map(|point| point.chosen).sum();
        assert_eq!(chosen, 24);
        // The score of a tuned system is at most that of choosing on all test queries.
        let best = selection.points.iter().map(|point| point.score);
        let best = best.fold(0.0, f64::max);
        assert!(task.value("tuned", Measure::AP).unwrap() <= best + 1e-12);
        assert!(results.to_text().contains("tuned: selected by"));
    }
}

#[test]
fn conditions_and_reranking() {
    let text = r#"
        measures = ["R@100"]
        [[tasks]]
        collection = "bundled"
        training = { split = "train" }
        [search]
        where = { at_most = { name = "year", limit = 2014 } }
        [[systems]]
        name = "BM25"
        type = "bm25"
        [[systems]]
        name = "reranked"
        type = "rerank"
        first = "BM25"
        second = "hidden kNN"
        depth = 10
        [[systems]]
        name = "hidden kNN"
        type = "knn"
        hidden = true
    "#;
    let experiment = Experiment::from_toml(text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let task = &results.tasks[0];
    assert_eq!(task.runs.len(), 2);
    let collection = catalog::open("bundled").unwrap();
    let docs: Vec<_> = collection
        .corpus()
        .docs()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut hits = 0;
    for run in &task.runs {
        for (_, list) in run.iter() {
            for scored in list {
                let doc = docs.iter().find(|doc| doc.id == scored.doc).unwrap();
                assert!(doc.attributes.year().is_none_or(|year| year <= 2014));
                hits += 1;
            }
        }
    }
    assert!(hits > 100);
    // The last of ten candidates need not be found by kNN.
    for (query, list) in task.runs[1].iter() {
        assert!(list.len() <= 10);
        let first: Vec<&str> = task.runs[0]
            .get(query)
            .unwrap()
            .iter()
            .take(10)
            .map(|it| it.doc.as_str())
            .collect();
        assert!(list.iter().all(|it| first.contains(&it.doc.as_str())));
    }
}

/// Retriever that returns one document for every query.
#[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Constant {
    document: String,
}

impl ir_experiment::System for Constant {
    fn open(
        &self,
        _: &mut ir_experiment::SystemContext<'_>,
    ) -> Result<ir_experiment::OpenSystem, ir_experiment::SystemError> {
        let prior = ir_core::fusion::DocumentPrior::new([(&self.document, 1.0)]);
        let prior = prior.map_err(ir_experiment::SystemError::stage("opening"))?;
        Ok(ir_experiment::OpenSystem::new(std::sync::Arc::new(prior)))
    }
}

#[test]
fn registered_types_run() {
    let mut registry = Registry::default();
    registry.register::<Constant>("constant", "One document for every query.");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("e.toml");
    let text = "measures = [\"AP\"]\n[[tasks]]\ncollection = \"bundled\"\n[[systems]]\n\
                name = \"c\"\ntype = \"constant\"\ndocument = \"FoldKin\"\n";
    std::fs::write(&file, text).unwrap();
    let experiment = Experiment::open_with(&file, &registry).unwrap();
    let cache = Cache::temporary().unwrap();
    let results = Runner::new(&cache, &registry).run(&experiment, &mut NoProgress);
    let run = &results.unwrap().tasks[0].runs[0];
    assert_eq!(run.len(), 24);
    assert!(
        run.iter()
            .all(|(_, list)| list.len() == 1 && list[0].doc == "FoldKin")
    );
    // The types of another registry do not have it.
    let error = Experiment::open(&file).unwrap_err().to_string();
    assert!(
        error.contains("e.toml:6: systems[0].type: expected a type of systems (bm25,"),
        "{error}"
    );
    std::fs::write(&file, text.replace("document", "documents")).unwrap();
    let error = Experiment::open_with(&file, &registry)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(
            "systems[0].documents: unknown key; expected one of document, name, type, hits, filter, \
             where, scores, hidden, grid (did you mean document?)"
        ),
        "{error}"
    );
}
