//! Templates, query cleaning and concealed query fields, beside the same steps by hand and on the
//! real collection.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::HashSet;

use crate::common::run;
use ir_bm25::analysis::QueryCleaning;
use ir_bm25::{Bm25, DuplicateIds, Index, IndexConfig, IndexedFields};
use ir_core::{Corpus, Distinct, Document, NoProgress, Retriever, Run, Search};
use ir_data::{TemplatedCorpus, catalog};
use ir_eval::{Evaluator, Measure, Rules, TieBreak};
use ir_experiment::{Cache, Experiment, Registry, Runner, SpecError};

#[test]
fn templates_and_cleaning_equal_those_of_the_libraries() {
    let text = r#"
        measures = ["AP"]
        [[tasks]]
        collection = "bundled"
        [search]
        hits = 10
        [[systems]]
        name = "cleaned"
        type = "bm25"
        template = "{title} {variants}"
        cleaning = { punctuation = true, stop_words = "nltk" }
        [[systems]]
        name = "text"
        type = "bm25"
        template = "{text}"
        [[systems]]
        name = "field"
        type = "bm25"
        fields = "text"
    "#;
    let experiment = Experiment::from_toml(text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let value = |system: &str| results.value("bundled", system, Measure::AP).unwrap();
    assert_eq!(value("text"), value("field"));

    let collection = catalog::open("bundled").unwrap();
    let template = "{title} {variants}".parse().unwrap();
    let config = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_duplicates(DuplicateIds::Keep);
    let corpus = TemplatedCorpus::new(collection.corpus(), &template);
    let index = Index::build(&corpus, &config, &mut NoProgress).unwrap();
    let bm25 = Distinct(index.searcher(Bm25::ANSERINI).unwrap());
    let mut queries = collection.queries("test").unwrap();
    for query in &mut queries {
        query.text = QueryCleaning::datafinder().clean(&query.text);
    }
    let search = |_: usize, _: &_| Search::top(10);
    let run = Run::from_retriever_with("x", &bm25, &queries, search).unwrap();
    let qrels = collection.qrels("test").unwrap();
    let evaluator = Evaluator::new(&qrels, &[Measure::AP]).unwrap();
    let report = evaluator.evaluate(&run).unwrap();
    assert_eq!(report.summary(Measure::AP), Some(value("cleaned")));
}

#[test]
fn unknown_fields_of_documents_and_queries() {
    let error = |text: &str| {
        let experiment = Experiment::from_toml(text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let runner = Runner::new(&cache, &registry);
        let error: SpecError = runner.run(&experiment, &mut NoProgress).unwrap_err();
        error.to_string()
    };
    let task = "[[tasks]]\ncollection = \"bundled\"\n";
    let system = "[[systems]]\nname = \"a\"\ntype = \"bm25\"\n";
    let found = error(&format!("{task}{system}template = \"{{titel}}\"\n"));
    let expected = "line 6: systems[0].template: expected fields of the documents (";
    assert!(found.starts_with(expected), "{found}");
    assert!(
        found.ends_with("found \"titel\" (did you mean title?)"),
        "{found}"
    );
    let found = error(&format!(
        "{task}query_fields = [\"task\", \"tsak\"]\n{system}"
    ));
    let expected = "line 3: tasks[0].query_fields[1]: expected an attribute of the queries (";
    assert!(found.starts_with(expected), "{found}");
    assert!(
        found.ends_with("found \"tsak\" (did you mean task?)"),
        "{found}"
    );
    for (key, line) in [
        ("query", "query = \"keyphrase_qery\""),
        (
            "training.query",
            "training = { split = \"train\", query = \"keyphrase_qery\" }",
        ),
        (
            "training.query",
            "query = \"task\"\ntraining = { split = \"train\", query = \"keyphrase_qery\" }",
        ),
    ] {
        let found = error(&format!("{task}{line}\n{system}"));
        let expected = format!("tasks[0].{key}: expected an attribute of the queries (");
        assert!(found.contains(&expected), "{found}");
        assert!(
            found.ends_with("(did you mean keyphrase_query?)"),
            "{found}"
        );
    }
}

/// Named fields have statistics and weights of their own.
#[test]
fn named_fields_and_weights() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("qrels")).unwrap();
    let corpus = "{\"_id\": \"a\", \"title\": \"tea\", \"text\": \"x\", \"keywords\": [\"ship\"]}\n\
                  {\"_id\": \"b\", \"title\": \"ship\", \"text\": \"x\", \"keywords\": [\"tea\", \"milk\"]}\n";
    std::fs::write(at("corpus.jsonl"), corpus).unwrap();
    std::fs::write(at("queries.jsonl"), "{\"_id\": \"1\", \"text\": \"tea\"}\n").unwrap();
    let qrels = "query-id\tcorpus-id\tscore\n1\tb\t1\n";
    std::fs::write(at("qrels/test.tsv"), qrels).unwrap();
    let text = |fields: &str, weights: &str| {
        format!(
            "measures = [\"RR\"]\n[[tasks]]\nname = \"tea\"\ncollection = {:?}\n[[systems]]\n\
             name = \"a\"\ntype = \"bm25\"\nfields = {fields}\nweights = {{ {weights} }}\n",
            folder.path()
        )
    };
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let value = |fields: &str, weights: &str| {
        let experiment = Experiment::from_toml(&text(fields, weights)).unwrap();
        let runner = Runner::new(&cache, &registry);
        let results = runner.run(&experiment, &mut NoProgress);
        Ok::<_, SpecError>(results?.value("tea", "a", Measure::RR))
    };
    let fields = "[\"title\", \"keywords\"]";
    assert_eq!(value(fields, "keywords = 3.0").unwrap(), Some(1.0));
    assert_eq!(value(fields, "keywords = 0.1").unwrap(), Some(0.5));
    assert_eq!(value(fields, "title = 0.0").unwrap(), Some(1.0));
    // The same as the usual two fields.
    let weights = "title = 2.0, text = 0.5";
    let listed = value("[\"title\", \"text\"]", weights).unwrap();
    assert_eq!(listed, value("\"separate\"", weights).unwrap());
    let error = value("[\"title\", \"keyword\"]", "")
        .unwrap_err()
        .to_string();
    let expected = "line 8: systems[0].fields: expected fields of the documents (id, title, text, \
                    keywords), found \"keyword\" (did you mean keywords?)";
    assert_eq!(error, expected);
}

/// Tags of a file, for queries and training queries.
#[test]
fn parts_of_speech() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("qrels")).unwrap();
    let tags = |words: &[(&str, &str)]| -> String {
        let lines = (1..).zip(words);
        let lines =
            lines.map(|(n, (word, tag))| format!("{n}\t{word}\t_\t{tag}{}\n", "\t_".repeat(6)));
        lines.collect::<String>() + "\n"
    };
    let tea = tags(&[("quickly", "ADV"), ("brew", "VERB"), ("tea", "NOUN")]);
    let milk = tags(&[("quickly", "ADV"), ("boil", "VERB"), ("milk", "NOUN")]);
    let coffee = [
        ("slowly", "ADV"),
        ("brew", "VERB"),
        ("coffee", "NOUN"),
        ("soon", "ADV"),
    ];
    let milk = milk + &tags(&coffee);
    for (name, text) in [
        (
            "corpus.jsonl",
            "{\"_id\": \"a\", \"text\": \"quickly quickly\"}\n{\"_id\": \"b\", \"text\": \"tea\"}\n\
             {\"_id\": \"c\", \"text\": \"brew coffee in a pot\"}\n",
        ),
        (
            "queries.jsonl",
            "{\"_id\": \"1\", \"text\": \"quickly brew tea\"}\n\
             {\"_id\": \"2\", \"text\": \"quickly boil milk\"}\n\
             {\"_id\": \"3\", \"text\": \"slowly brew coffee soon\"}\n",
        ),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\tb\t1\n"),
        (
            "qrels/train.tsv",
            "query-id\tcorpus-id\tscore\n2\ta\t1\n3\tb\t1\n",
        ),
        ("tags.conllu", &format!("{tea}{milk}")),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    let registry = Registry::default();
    let cache = Cache::temporary().unwrap();
    let value = |system: &str| {
        let text = format!(
            "measures = [\"RR\"]\n[[tasks]]\nname = \"tea\"\ncollection = {:?}\n\
             training = {{ split = \"train\" }}\n[[systems]]\nname = \"a\"\n{system}\n",
            folder.path()
        );
        let experiment = Experiment::from_toml(&text).map_err(|error| error.to_string())?;
        let runner = Runner::new(&cache, &registry);
        let results = runner.run(&experiment, &mut NoProgress);
        let results = results.map_err(|error| {
            let (mut text, mut source) = (error.to_string(), std::error::Error::source(&error));
            while let Some(error) = source {
                text += &format!(": {error}");
                source = error.source();
            }
            text
        })?;
        Ok::<_, String>(results.value("tea", "a", Measure::RR).unwrap())
    };
    let file = at("tags.conllu");
    let bm25 = |keys: &str| value(&format!("type = \"bm25\"\ncleaning = {{ {keys} }}"));
    assert_eq!(bm25("punctuation = true").unwrap(), 0.5);
    let with_tags = format!("tags = {file:?}");
    assert_eq!(bm25(&with_tags).unwrap(), 1.0);
    let keep = |tags: &str| bm25(&format!("{with_tags}, parts_of_speech = {tags}"));
    assert_eq!(keep("[\"ADV\", \"NOUN\"]").unwrap(), 0.5);
    assert_eq!(keep("[\"VERB\"]").unwrap(), 0.0);
    let error = keep("[\"Noun\"]").unwrap_err();
    assert!(
        error.contains("systems[0].cleaning.parts_of_speech[0]: expected a universal"),
        "{error}"
    );
    let error = bm25("parts_of_speech = [\"NOUN\"]").unwrap_err();
    assert!(error.contains("expected the key cleaning.tags"), "{error}");

    // kNN: without adverbs, another training query is the nearest.
    let knn = |keys: &str| value(&format!("type = \"knn\"\nmin_df = 1\n{keys}"));
    assert_eq!(knn("").unwrap(), 0.5);
    assert_eq!(knn(&format!("cleaning = {{ {with_tags} }}")).unwrap(), 1.0);

    // Other tags are another run, and every query needs some.
    std::fs::write(&file, format!("{}{milk}", tea.replace("ADV", "NOUN"))).unwrap();
    assert_eq!(bm25(&with_tags).unwrap(), 0.5);
    std::fs::write(&file, milk).unwrap();
    let error = bm25(&with_tags).unwrap_err();
    assert!(
        error.ends_with("expected the tagged words of \"quickly brew tea\", found none"),
        "{error}"
    );
    std::fs::write(&file, &tea).unwrap();
    let error = knn(&format!("cleaning = {{ {with_tags} }}")).unwrap_err();
    assert!(
        error.ends_with("expected the tagged words of \"quickly boil milk\", found none"),
        "{error}"
    );
    std::fs::remove_file(&file).unwrap();
    let error = bm25(&with_tags).unwrap_err();
    assert!(error.contains("systems[0].cleaning.tags: "), "{error}");
}

/// Conditions and filters without effect, and encoders that no system uses, are warnings.
#[test]
fn parts_without_effect_are_warnings() {
    let warnings = |text: &str| {
        let experiment = Experiment::from_toml(text).unwrap();
        let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
        let mut recorder = crate::common::Recorder::default();
        let results = Runner::new(&cache, &registry).run(&experiment, &mut recorder);
        results.unwrap();
        recorder.warnings
    };
    let tasks = "[[tasks]]\ncollection = \"bundled\"\n[[tasks]]\ncollection = \"bundled\"\n\
                 query = \"task\"\n";
    let system = "[[systems]]\nname = \"a\"\ntype = \"bm25\"\n";
    let search = |keys: &str| warnings(&format!("{tasks}[search]\n{keys}\n{system}"));
    assert!(search("where = { at_most = { name = \"year\", limit = 2014 } }").is_empty());
    assert!(search("filter = \"year\"").is_empty());
    assert_eq!(
        search("where = { at_most = { name = \"yaer\", limit = 2014 } }"),
        [
            "search.where: bundled: no document has an attribute \"yaer\"; all pass (did \
          you mean year?)"
        ]
    );
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("qrels")).unwrap();
    let qrels = "query-id\tcorpus-id\tscore\n1\td\t1\n";
    for (name, text) in [
        ("corpus.jsonl", "{\"_id\": \"d\", \"text\": \"tea\"}\n"),
        ("queries.jsonl", "{\"_id\": \"1\", \"text\": \"tea\"}\n"),
        ("qrels/test.tsv", qrels),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    let task = format!(
        "[[tasks]]\nname = \"tea\"\ncollection = {:?}\n",
        folder.path()
    );
    assert_eq!(
        warnings(&format!("{task}filter = \"year\"\n{system}")),
        [
            "tea: no document has a year; the time filter has no effect",
            "tea: no query has a year; the time filter has no effect",
        ]
    );
    let dated = "{\"_id\": \"d\", \"text\": \"tea\", \"year\": 2010}\n";
    std::fs::write(at("corpus.jsonl"), dated).unwrap();
    assert_eq!(
        warnings(&format!("{task}{system}filter = \"year\"\n")),
        ["tea: no query has a year; the time filter has no effect"]
    );
    // Values that are no years, and values that a limit cannot be compared with.
    let spring = "{\"_id\": \"d\", \"text\": \"tea\", \"year\": 2010}\n\
                  {\"_id\": \"e\", \"text\": \"tea\", \"year\": \"spring\"}\n";
    std::fs::write(at("corpus.jsonl"), spring).unwrap();
    let soon = "{\"_id\": \"1\", \"text\": \"tea\", \"year\": \"soon\"}\n";
    std::fs::write(at("queries.jsonl"), soon).unwrap();
    let limit = "where = { at_most = { name = \"year\", limit = 2019 } }\n";
    assert_eq!(
        warnings(&format!(
            "{task}[search]\nfilter = \"year\"\n{limit}{system}"
        )),
        [
            "search.where: tea: 1 document with a \"year\" that cannot be compared with 2019, such \
             as \"spring\": the limit does not hold",
            "tea: 1 of 2 documents have an attribute \"year\" that is neither a year nor a date, \
             such as \"spring\": no time filter",
            "tea: 1 of 1 queries have an attribute \"year\" that is neither a year nor a date, such \
             as \"soon\": no time filter",
            "tea: no query has a year; the time filter has no effect",
        ]
    );
    std::fs::write(at("corpus.jsonl"), dated).unwrap();
    // The same query in another split.
    let train = "query-id\tcorpus-id\tscore\n1\td\t1\n2\td\t1\n";
    std::fs::write(at("qrels/train.tsv"), train).unwrap();
    let queries = "{\"_id\": \"1\", \"text\": \"tea\"}\n{\"_id\": \"2\", \"text\": \"milk\"}\n";
    std::fs::write(at("queries.jsonl"), queries).unwrap();
    let knn = "[[systems]]\nname = \"a\"\ntype = \"knn\"\nmin_df = 1\n";
    assert_eq!(
        warnings(&format!("{task}training = {{ split = \"train\" }}\n{knn}")),
        ["tea: 1 of the 2 training queries have the text of a test query"]
    );
    let encoders = "[encoders.old]\nmodel = \"no/such/model\"\n";
    let found = warnings(&format!("{task}{encoders}{system}"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("encoders.old"), "{found:?}");
    assert!(
        found[0].ends_with("no system uses this encoder"),
        "{found:?}"
    );
    #[cfg(feature = "dense")]
    assert!(
        found[0].starts_with("line 5: encoders.old.model: no/such/model: "),
        "{found:?}"
    );
}

/// Figure 8 of the DataFinder paper: the task is the field that matters most.
#[test]
fn map_drops_most_without_the_task() {
    if !catalog::Catalog::from_env().has("datafinder").unwrap() {
        eprintln!("skipped: no datafinder in IR_DATA");
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut experiment = Experiment::open(folder.join("datafinder-concealed-fields.toml")).unwrap();
    // The rebuilt queries equal the published keyphrases.
    let mut published = experiment.tasks[0].clone();
    published.name = Some("published".to_owned());
    published.query_fields = None;
    published.query = Some("keyphrase_query".to_owned());
    experiment.tasks.push(published);
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    for system in ["description", "+ title"] {
        let map = |task: &str| results.value(task, system, Measure::AP).unwrap();
        assert_eq!(map("all fields"), map("published"));
        let without_task = map("without task");
        assert!(without_task < 0.4 * map("all fields"), "{without_task}");
        for field in ["modality", "domain", "language"] {
            assert!(
                map(&format!("without {field}")) > 2.0 * without_task,
                "{field}"
            );
        }
    }
}

/// Anserini's values of "+ title" in `experiments/datafinder-representations.toml`, by hand, beside
/// the filter `year-of-best-record`: the best-ranked record of an id decides whether the id passes
/// the time filter.
#[test]
fn ids_with_the_year_of_their_best_ranked_record() {
    if !catalog::Catalog::from_env().has("datafinder").unwrap() {
        eprintln!("skipped: no datafinder in IR_DATA");
        return;
    }
    let collection = catalog::open("datafinder/tagged").unwrap();
    let template = "{name} {text} {title}".parse().unwrap();
    let corpus = TemplatedCorpus::new(collection.corpus(), &template);
    let records: Vec<Document> = corpus.docs().unwrap().collect::<Result<_, _>>().unwrap();
    // Row numbers as ids, as in the published index.
    let rows: Vec<Document> = (records.iter().enumerate())
        .map(|(row, record)| Document::new(row.to_string()).with_text(&*record.text))
        .collect();
    let config = IndexConfig::default().with_fields(IndexedFields::TextOnly);
    let index = Index::build(&rows, &config, &mut NoProgress).unwrap();
    let bm25 = index.searcher(Bm25::DATAFINDER).unwrap();
    let qrels = collection.qrels("test").unwrap();
    let measures = ["P@5", "R@5", "AP", "RR"].map(|name| name.parse::<Measure>().unwrap());
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut experiment = Experiment::open(folder.join("datafinder-representations.toml")).unwrap();
    experiment.systems.retain(|system| system.name == "+ title");
    experiment.comparison.baseline = None;
    experiment.expected.clear();
    let (results, _) = crate::common::run(&experiment, &Cache::temporary().unwrap());
    for (form, expected) in [
        (None, [6.22, 14.65, 9.83, 17.27]),
        (Some("keyphrase_query"), [9.49, 21.43, 13.97, 24.71]),
    ] {
        let mut run = Run::new("x");
        for query in collection.queries("test").unwrap() {
            let text = form.map_or(Some(&*query.text), |form| query.attributes.text(form));
            let search = Search::top(rows.len());
            let ranking = bm25.search(text.unwrap_or_default(), &search).unwrap();
            let mut seen = HashSet::new();
            let hits = ranking.iter().map(|hit| {
                let row: usize = index.ids().id(hit.doc).parse().unwrap();
                (&records[row], hit.score)
            });
            let hits = hits.filter(|(record, _)| seen.insert(&*record.id));
            let passing = hits.filter(|(record, _)| {
                let years = record.attributes.year().zip(query.attributes.year());
                years.is_none_or(|(record, query)| record <= query)
            });
            for (record, score) in passing.take(5) {
                run.push(&query.id, &record.id, score.into());
            }
        }
        let task = &results.tasks[usize::from(form.is_some())];
        assert!(task.runs[0].iter().eq(run.iter()), "{form:?}");
        let rules = Rules {
            ties: TieBreak::RunOrder,
            ..Rules::default()
        };
        let evaluator = Evaluator::with_rules(&qrels, &measures, rules).unwrap();
        let report = evaluator.evaluate(&run).unwrap();
        for (measure, expected) in measures.into_iter().zip(expected) {
            let found = 100.0 * report.summary(measure).unwrap();
            assert!((found - expected).abs() <= 0.0051, "{measure}: {found}");
        }
    }
}

/// kNN with the ties and the years of the published programs. Expected: a loop over the vectors of
/// scikit-learn 1.9.1 that appends the positives of the training queries in file order, with the
/// year of the last record of an id.
#[test]
fn published_ties_and_years_of_knn() {
    let known = catalog::Catalog::from_env();
    if !(known.has("datafinder").unwrap() && known.has("makg").unwrap()) {
        eprintln!("skipped: no datafinder or makg in IR_DATA");
        return;
    }
    let text = r#"
        measures = ["P@5", "R@5", "AP", "RR"]
        [[tasks]]
        name = "sentences"
        collection = "datafinder"
        filter = "year-of-last-record"
        training = { split = "train" }
        [[tasks]]
        name = "keyphrases"
        collection = "datafinder"
        query = "keyphrase_query"
        filter = "year-of-last-record"
        training = { split = "train" }
        [[tasks]]
        name = "MAKG"
        collection = "makg"
        training = { split = "train" }
        [search]
        hits = 5
        [rules]
        ties = "run-order"
        [[systems]]
        name = "kNN"
        type = "knn"
        ties = "training-order"
    "#;
    let experiment = Experiment::from_toml(text).unwrap();
    let (results, _) = run(&experiment, &Cache::temporary().unwrap());
    let measures = ["P@5", "R@5", "AP", "RR"].map(|name| name.parse::<Measure>().unwrap());
    for (task, expected) in [
        ("sentences", [4.184, 7.615, 4.529, 10.098]),
        ("keyphrases", [5.918, 11.009, 8.214, 17.1]),
        ("MAKG", [13.781, 64.064, 47.933, 48.846]),
    ] {
        for (measure, expected) in measures.into_iter().zip(expected) {
            let found = 100.0 * results.value(task, "kNN", measure).unwrap();
            assert!(
                (found - expected).abs() <= 0.0011,
                "{task}, {measure}: {found}"
            );
        }
    }
}
