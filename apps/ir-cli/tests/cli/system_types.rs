//! Every type of systems: searched by `ir search --system` and in an experiment, and its keys as
//! options. A new type fails here until it has a row.

use ir_system::Registry;

use crate::common::{BERT, Folder, data};
use crate::saved_systems::unordered_folder;

/// Folder of a tiny cross-encoder.
const RERANKER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/cross-encoders/bert"
);

/// Types with keys that suffice. `words` and `vectors` are the systems of [`PARTS`]; rows with
/// `MODEL` or `RERANKER` need the feature `dense`.
const TYPES: [(&str, &str); 15] = [
    ("bm25", ""),
    ("bm25", "feedback = \"rm3(docs=2,terms=3)\""),
    ("knn", "min_df = 1"),
    ("dense", "encoder = { model = \"MODEL\" }"),
    (
        "dense",
        "vectors = \"files/vectors.jsonl\"\nqueries = \"files/queries.jsonl\"",
    ),
    ("hnsw", "encoder = { model = \"MODEL\" }\nm = 4"),
    (
        "binary",
        "encoder = { model = \"MODEL\", truncate_dim = 8 }\nrescore_multiplier = 4",
    ),
    (
        "sparse",
        "vectors = \"files/sparse.jsonl\"\nqueries = \"files/sparse-queries.jsonl\"",
    ),
    ("tfidf", "sublinear = true"),
    ("lsi", "dim = 2"),
    ("random-indexing", "dim = 20"),
    ("hybrid", "of = [\"words\", \"vectors\"]"),
    (
        "prior",
        "of = \"words\"\nattribute = \"kind\"\npriors = { drink = 0.5, ship = 0.25 }\nunseen = 0.1",
    ),
    (
        "rerank",
        "first = \"words\"\nsecond = \"vectors\"\ndepth = 5",
    ),
    (
        "rerank",
        "first = \"words\"\nmodel = \"RERANKER\"\ndepth = 5",
    ),
];

const PARTS: &str = "\
[[systems]]
name = \"words\"
type = \"bm25\"
hidden = true
[[systems]]
name = \"vectors\"
type = \"random-indexing\"
dim = 20
hidden = true
";

/// Types that `ir search --system` does not search here, with the reason.
const NOT_SEARCHED: [(&str, &str); 2] = [
    ("remote", "searches a server: tests/remote"),
    ("run", "results of a file: saved_systems.rs"),
];

/// Split of the training queries of `knn`, for the task of an experiment.
fn training(kind: &str) -> &'static str {
    if kind == "knn" {
        "training = { split = \"train\" }\n"
    } else {
        ""
    }
}

/// Run of the systems of a file in an experiment.
fn exported_run(here: &Folder, systems: &str, task: &str) -> String {
    here.write(
        "experiment.toml",
        format!(
            "measures = [\"AP\"]\n{systems}\n[[tasks]]\n{task}\n\
             [output]\nfolder = \"out\"\nformats = [\"runs\"]\n"
        ),
    );
    here.ir_data("run experiment.toml --cache cache").ok();
    let runs = here.files().into_iter().filter(|file| {
        file.extension().is_some_and(|end| end == "trec")
            && file.ancestors().any(|it| it.ends_with("out"))
    });
    let runs: Vec<_> = runs.collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    let run = std::fs::read_to_string(&runs[0]).unwrap();
    std::fs::remove_dir_all(here.at("out")).unwrap();
    run
}

/// Ids that are not in order, documents without text, documents with the same scores, one without a
/// vector.
#[test]
fn systems_of_every_type_search() {
    let here = unordered_folder();
    here.write(
        "tiny/qrels/train.tsv",
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq3\td12\t1\nq2\td3\t1\n",
    );
    let vectors = here.read("files/vectors.jsonl");
    let sparse = vectors.lines().enumerate().map(|(n, line)| {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let (id, weight) = (&vector["id"], n % 3);
        format!("{{\"id\": {id}, \"vector\": {{\"tea\": {weight}.5, \"ship\": 0.5}}}}\n")
    });
    here.write("files/sparse.jsonl", sparse.collect::<String>());
    here.write(
        "files/sparse-queries.jsonl",
        "{\"id\": \"q1\", \"vector\": {\"tea\": 1.0, \"ship\": 0.1}}\n\
         {\"id\": \"q2\", \"vector\": {\"ship\": 1.0}}\n",
    );
    let registry = Registry::default();
    for name in registry.names() {
        let is_searched = TYPES.iter().any(|(kind, _)| *kind == name);
        let is_exempt = NOT_SEARCHED.iter().any(|(kind, _)| *kind == name);
        assert!(is_searched != is_exempt, "{name}: expected a row of TYPES");
    }
    for (kind, keys) in TYPES {
        if cfg!(not(feature = "dense")) && (keys.contains("MODEL") || keys.contains("RERANKER")) {
            continue;
        }
        let keys = keys.replace("MODEL", BERT).replace("RERANKER", RERANKER);
        let parts = if keys.contains("\"words\"") {
            PARTS
        } else {
            ""
        };
        let system = format!("{parts}[[systems]]\nname = \"s\"\ntype = \"{kind}\"\n{keys}\n");
        here.write("system.toml", &system);
        let search = ["search", "tiny", "--system", "system.toml"];
        let output = ["-o", "run.trec"];
        here.ir(&[&search[..], &output].concat()).ok();
        let run = here.read("run.trec");
        assert!(run.lines().count() > 1, "{kind}: {run}");
        // The last system that is not hidden is searched.
        assert!(run.lines().all(|line| line.ends_with(" s")), "{run}");
        let task = format!("collection = \"tiny\"\n{}", training(kind));
        assert_eq!(exported_run(&here, &system, &task), run, "{kind}: {keys}");
        let threads = ["--threads", "1"];
        here.ir(&[&search[..], &output, &threads].concat()).ok();
        assert_eq!(here.read("run.trec"), run, "{kind}");
        let json = ["--json", "--explain"];
        let explained = here.ir(&[&search[..], &json].concat()).ok();
        let hits: Vec<&str> = explained.out.lines().collect();
        assert_eq!(hits.len(), run.lines().count(), "{kind}");
        let fields = ["\"text\":", "\"explanation\":"];
        let is_complete = |hit: &&&str| fields.iter().all(|field| hit.contains(field));
        assert_eq!(hits.iter().filter(is_complete).count(), hits.len());
        assert!(!explained.err.contains("--explain"), "{}", explained.err);
    }
}

/// Records with the same id, which only collections of `IR_DATA` have.
#[test]
fn repeated_ids_rank_as_in_experiments() {
    if data("repeated_ids_rank_as_in_experiments").is_none() {
        return;
    }
    let here = Folder::new();
    for (kind, keys) in [
        ("bm25", "order = \"insertion\""),
        ("knn", ""),
        ("tfidf", ""),
        ("lsi", "dim = 4"),
        ("random-indexing", "dim = 20"),
    ] {
        let system = format!("[[systems]]\nname = \"s\"\ntype = \"{kind}\"\nhits = 20\n{keys}\n");
        here.write("system.toml", &system);
        here.ir_data("search datafinder --system system.toml -o run.trec --cache cache")
            .ok();
        let task = format!("collection = \"datafinder\"\n{}", training(kind));
        let run = exported_run(&here, &system, &task);
        assert!(run.lines().count() > 1000, "{kind}");
        assert!(here.read("run.trec") == run, "{kind}");
    }
}

/// Types without options of their own: files and `--type` name them.
const FILES_ONLY: [(&str, &str); 9] = [
    ("knn", "recommends what training queries found"),
    (
        "hnsw",
        "--vectors searches the graphs of `ir encode --hnsw`",
    ),
    ("binary", "--vectors searches vectors or graphs"),
    ("sparse", "--vectors are dense"),
    ("tfidf", "--model tfidf is Lucene's"),
    ("lsi", "built from the documents of a task"),
    ("random-indexing", "--model 'random-indexing(KEY=VALUE)'"),
    ("hybrid", "--alpha fuses BM25 and vectors"),
    ("run", "`ir eval` and `ir fuse` read runs"),
];

/// Keys that are no options under their description, with the options or the reason. A key that
/// ends with `.` is a table.
static OTHER_FORMS: [(&str, &str, &str); 24] = [
    ("bm25", "analyzer", "--analysis, --stemmer, --stop-words"),
    ("bm25", "blank", "--preset"),
    ("bm25", "fields", "--fields"),
    ("bm25", "template", "--template"),
    ("bm25", "title_weight", "--weights"),
    ("bm25", "cleaning.lower_case", "--clean"),
    ("bm25", "cleaning.punctuation", "--clean"),
    ("bm25", "cleaning.stop_words", "--clean"),
    ("dense", "blank", "the index"),
    ("dense", "encoder", "--encoder, --pooling, --prefix"),
    ("dense", "fields", "the index"),
    ("dense", "order", "--order"),
    ("dense", "questions", "questions are generated by tasks"),
    ("dense", "template", "--template"),
    ("dense", "cleaning.lower_case", "--clean"),
    ("dense", "cleaning.punctuation", "--clean"),
    ("dense", "cleaning.stop_words", "--clean"),
    ("prior", "of", "the system of the other options"),
    ("prior", "priors", "--prior FILE"),
    ("prior", "qrels", "--prior qrels:FILE"),
    ("remote", "engine", "--engine"),
    ("rerank", "first", "the system of the other options"),
    ("rerank", "second", "--rerank names a model"),
    ("rerank", "training.", "`ir train-reranker`"),
];

/// Spellings of ranges in descriptions of keys, and in help texts.
const SPELLINGS: [(&str, &str); 4] = [
    ("a number from ", ""),
    ("a finite number ", ""),
    ("a number ", ""),
    (">=", "≥"),
];

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Effect and range of a key in the spelling of options: `title=2.0` for `{ title = 2.0 }`.
fn effect_and_range(description: &str) -> String {
    let text = one_line(description);
    let text = text.split(" Default: ").next().unwrap_or_default();
    let spelled = SPELLINGS
        .iter()
        .fold(text.to_owned(), |text, (key, option)| {
            text.replace(key, option)
        });
    let parts = spelled.split('`').enumerate().map(|(at, part)| {
        let table = part.strip_prefix("{ ").and_then(|it| it.strip_suffix(" }"));
        let list = part.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        match table.or(list) {
            _ if at % 2 == 0 => part.to_owned(),
            Some(value) => value.replace(' ', ""),
            None => format!("`{part}`"),
        }
    });
    parts.collect::<String>().trim_end_matches('.').to_owned()
}

/// Help texts of the options of a long help.
fn help_texts(help: &str) -> Vec<String> {
    let (options, _) = help.split_once("\nExamples:\n").unwrap();
    let mut texts: Vec<String> = Vec::new();
    for line in options.lines() {
        let is_option = line.trim_start().starts_with('-') && !line.starts_with("          ");
        if is_option {
            texts.push(String::new());
        } else if line.starts_with("          ")
            && let Some(text) = texts.last_mut()
        {
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    texts.iter().map(|text| one_line(text)).collect()
}

/// Every key of every type is an option with the same effect and range, or is in a table of
/// exceptions here; and it is in docs/experiments.md with its description.
#[test]
fn keys_are_options() {
    let help = Folder::new().ir("search --help").ok().out;
    let texts = help_texts(&help);
    assert!(texts.len() > 60, "{help}");
    for model in ir_bm25::models::NAMED_MODELS {
        for parameter in model.parameters {
            let name = match parameter.name {
                "s" => "slope",
                name => name,
            };
            assert!(help.contains(&format!("--{name} <NUMBER>")), "{name}");
        }
    }
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiments.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let registry = Registry::default();
    for (kind, _) in FILES_ONLY {
        assert!(registry.names().any(|name| name == kind), "{kind}");
    }
    let has_models = cfg!(feature = "dense");
    let (mut used, mut described) = (Vec::new(), 0);
    for kind in registry.types() {
        let name = kind.name();
        let has_options = !FILES_ONLY.iter().any(|(known, _)| *known == name);
        for parameter in kind.parameters() {
            let (key, description) = (parameter.key.as_str(), &parameter.description);
            // docs/engines.md describes the type `remote`.
            if name != "remote" {
                let last = key.rsplit('.').next().unwrap_or(key);
                let row = format!("| `{last}` | {}", one_line(description).replace('|', "\\|"));
                assert!(docs.contains(&row), "{name}: {key} in docs/experiments.md");
            }
            let needs_models = ["dense", "rerank"].contains(&name) || key == "expansion.encoder";
            if !has_options || (needs_models && !has_models) {
                continue;
            }
            let effect = effect_and_range(description);
            let is_option = texts.iter().any(|text| {
                let rest = text.strip_prefix(&effect);
                let mut ends = [".", " [", " Possible"].into_iter();
                rest.is_some_and(|rest| rest.is_empty() || ends.any(|end| rest.starts_with(end)))
            });
            let form = OTHER_FORMS.iter().find(|(of, known, _)| {
                *of == name && (*known == key || (known.ends_with('.') && key.starts_with(*known)))
            });
            match form {
                Some(form) => {
                    assert!(
                        !is_option,
                        "{name}: {key}: an option, and in the exceptions"
                    );
                    used.push(form);
                }
                None => {
                    assert!(
                        is_option,
                        "{name}: {key}: no option with the text {effect:?}"
                    );
                    described += 1;
                }
            }
        }
    }
    assert!(described > 30, "{described}");
    let is_stale = |form: &&(&str, &str, &str)| {
        let is_registered = registry.names().any(|name| name == form.0);
        let is_option = has_models || !["dense", "rerank"].contains(&form.0);
        is_registered && is_option && !used.contains(form)
    };
    let stale: Vec<_> = OTHER_FORMS.iter().filter(is_stale).collect();
    assert!(stale.is_empty(), "keys that do not exist: {stale:?}");
}
