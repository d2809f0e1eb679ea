//! Systems as a type with its keys: `--type` and `--set`.

use ir_system::Registry;

use crate::common::{Arguments as _, Folder, QUERIES, tiny};
use crate::saved_systems::unordered_folder;
use crate::sweep_grid::grid_folder;

/// Types that other systems are parts of, and the type of finished runs.
const COMPOSED: [&str; 4] = ["hybrid", "prior", "rerank", "run"];

/// The table of a system file with the same type and keys gives the same bytes.
#[test]
fn types_with_keys_are_systems_of_files() {
    let here = unordered_folder();
    // Training queries for `knn`.
    let train = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq3\td2\t1\n";
    here.write("tiny/qrels/train.tsv", train);
    here.ir("index tiny -o tiny.ir --store all").ok();
    for (options, keys) in [
        ("--type bm25 --set k1=1.2", "type = \"bm25\"\nk1 = 1.2"),
        ("--type knn --set min_df=1", "type = \"knn\"\nmin_df = 1"),
        (
            "--type tfidf --set sublinear=true",
            "type = \"tfidf\"\nsublinear = true",
        ),
        (
            "--type lsi --set dim=3 --set cleaning.lower_case=true --set cleaning.stop_words=nltk",
            "type = \"lsi\"\ndim = 3\ncleaning = { lower_case = true, stop_words = \"nltk\" }",
        ),
        (
            "--type random-indexing --set 'template={title} {text}' --set dim=20",
            "type = \"random-indexing\"\ntemplate = \"{title} {text}\"\ndim = 20",
        ),
        (
            "--type sparse --set vectors=files/sparse.jsonl --set queries=files/sparse-queries.jsonl",
            "type = \"sparse\"\nvectors = \"files/sparse.jsonl\"\nqueries = \"files/sparse-queries.jsonl\"",
        ),
        #[cfg(feature = "dense")]
        (
            "--type hnsw --set encoder.random.hidden_size=16 --set m=4",
            "type = \"hnsw\"\nm = 4\nencoder = { random = { hidden_size = 16 } }",
        ),
    ] {
        let kind = options.arguments()[1];
        let text = format!("[[systems]]\nname = \"ir-{kind}\"\n{keys}\n");
        here.write("system.toml", text);
        for search in [
            "search tiny --output -",
            "search tiny --json -k 2",
            "search tiny --json --query tea",
            "search tiny.ir --json --query tea",
        ] {
            // Vectors of known queries, and training queries of a collection.
            if search.contains("--query") && ["knn", "sparse"].contains(&kind) {
                continue;
            }
            let by_file = here.ir(&format!("{search} --system system.toml")).ok().out;
            assert!(!by_file.is_empty(), "{search} {options}");
            let by_type = here.ir(&format!("{search} {options}")).ok().out;
            assert_eq!(by_type, by_file, "{search} {options}");
        }
    }
}

#[test]
fn grids_of_types() {
    let here = grid_folder();
    here.write(
        "lsi.toml",
        "systems = [{ name = \"s\", type = \"lsi\", analyzer = \"english\" }]\n",
    );
    let sweep = "sweep notes notes --grid dim=1,2,3";
    let by_file = here.ir(&format!("{sweep} --system lsi.toml")).ok().out;
    let by_type = here.ir(&format!("{sweep} --type lsi --set analyzer=english"));
    assert_eq!(by_type.ok().out, by_file);
    assert!(by_file.contains("dim=3"), "{by_file}");
}

#[test]
fn mining_and_workers_search_by_types() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir --store all").ok();
    here.write(
        "lsi.toml",
        "systems = [{ name = \"s\", type = \"lsi\", dim = 2 }]\n",
    );
    let worker = |system: &str| {
        let worker = format!("worker search tiny.ir {system}");
        here.ir_with(&worker, QUERIES).ok().out
    };
    let by_type = worker("--type lsi --set dim=2");
    assert_eq!(by_type, worker("--system lsi.toml"));
    assert_ne!(by_type, worker(""));
    let mine = |system: &str| {
        here.ir(&format!("mine tiny --split test -n 1 {system}"))
            .ok()
            .out
    };
    assert_eq!(mine("--type lsi --set dim=2"), mine("--system lsi.toml"));
    here.errors(
        "
        worker search tiny.ir --type sparse --set vectors=v --set queries=q
          1: --type: expected a system for any query, found saved vectors of queries
        mine tiny --split test --type lsi --fields text
          2: --fields: expected either --type, which describes the index, or options of an index
        mine tiny --split test --type lsi --run run.trec
          2: --type | --run
    ",
    );
}

#[test]
fn wrong_types_and_keys_are_rejected() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir").ok();
    here.errors(
        "
        search tiny --type lsj
          2: --type | a similar value exists: 'lsi'
        search tiny --type hybrid
          2: 'hybrid' | expected a type without parts; a system file (--system) names the parts
        search tiny --type run
          2: 'run' | expected a type that searches; experiment files compare runs
        search tiny --type lsi --set dmi=3
          2: --set dmi: unknown key; expected one of analyzer, | (did you mean dim?)
        search tiny --type lsi --set k1=1
          2: --set k1: unknown key; expected one of analyzer, cleaning, dim,
        search tiny --type lsi --set type=bm25
          2: --set type: unknown key
        search tiny --type lsi --set cleaning.tag=tags.tsv
          2: --set cleaning.tag: unknown field `tag` | (did you mean tags?)
        search tiny --type lsi --set dim=many
          2: --set dim: expected an integer >= 0, found \"many\"
        search tiny --type lsi --set dim=0
          2: --set dim: expected at least 1, found 0
        search tiny --type lsi --set dim=2 --set dim=3
          2: --set dim: expected one value, found two
        search tiny --type lsi --set analyzer=english --set analyzer.stemmer=none
          2: --set analyzer.stemmer: expected one value, found two
        search tiny --type lsi --set dim
          2: --set | expected KEY=VALUE, found \"dim\"
        search tiny --type bm25 --set sdm=[1,0
          2: --set | sdm: expected a TOML value, with texts in quotation marks, found [1,0
        search tiny --type sparse
          2: --type: expected the key encoder, or the keys vectors and queries, found none
        search tiny --type sparse --set vectors=none.jsonl --set queries=none.jsonl
          1: --set vectors: none.jsonl: cannot be read
        search tiny --type lsi --set dim=50
          1: --set dim: expected 1 to
        search tiny.ir --type lsi --set analyzer=english --query tea
          1: --set analyzer: expected the analyzer of the index, porter, found english
        search tiny --set dim=2
          2: --type <TYPE>
        search tiny --set dim=2 --system system.toml
          2: --set | --system
        search tiny --set k1=2 --k1 1
          2: --set | --k1
        search tiny --query-field desc tea
          2: --query-field
        mine tiny --set mu=2 --model qld
          2: --set | --model
        sweep tiny tiny --set mu=2 --model qld --grid mu=1,2
          2: --set | --model
        search tiny --type lsi --system system.toml
          2: --type | --system
        search tiny --type lsi --k1 1
          2: --type | --k1
        search tiny --type lsi --fields text
          2: --fields: expected either --type or options of a system, found both
        search tiny --type lsi --template {text}
          2: --template: expected either --type or options of a system, found both
        search tiny --type lsi --shard 1/2 -o run.trec
          2: --shard: expected either --type or options of a system, found both
        sweep tiny tiny --type lsi
          2: --type: expected --grid, found none
        sweep tiny tiny --type lsi --grid dim=0,1
          2: --grid: dim=0: --set dim: expected at least 1, found 0
        sweep tiny tiny --type lsi --grid k1=1,2
          2: --grid: expected a key of lsi ( | found \"k1\"
        sweep tiny tiny --type lsi --grid dim=1,2 --fields text
          2: --fields: expected either --type, which describes the index, or options of an index
        sweep tiny tiny --type lsi --grid dim=1,2 --mu 3
          2: --type | --mu
    ",
    );
    #[cfg(feature = "dense")]
    here.errors(
        "
        search tiny --type lsi --vectors vectors.ir
          2: --vectors: expected either --type or options of a system, found both
    ",
    );
    #[cfg(feature = "remote")]
    here.errors(
        "
        search tiny --type lsi --engine elasticsearch://localhost/tiny
          2: --engine | --type
    ",
    );
}

/// Warnings name the options.
#[test]
fn warnings_name_options() {
    let here = Folder::new();
    tiny(&here);
    here.ir("index tiny -o tiny.ir --store all").ok();
    for collection in ["tiny", "tiny.ir"] {
        let search = format!("search {collection} --type lsi --set dim=2");
        let filtered = here.ir(&format!("{search} --filter yaer>2 --query tea"));
        let err = filtered.ok().err;
        assert!(err.starts_with("warning: --filter: "), "{err}");
        let cleaned = format!("{search} --set cleaning.stop_words=nltk --query the");
        let err = here.ir(&cleaned).ok().err;
        let expected = "no hits: the query has no words after --set cleaning\n";
        assert!(err.contains(expected), "{err}");
    }
}

/// The help lists the types of the registry and all of their keys.
#[test]
fn help_lists_types_and_keys() {
    let here = Folder::new();
    let short = here.ir("search -h").ok().out;
    let long = here.ir("search --help").ok().out;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in ["search", "sweep", "mine"] {
        let list = here.ir(&format!("help {command} systems")).ok().out;
        for kind in Registry::default().types() {
            let name = kind.name();
            let start = format!("\n  {name}: ");
            if COMPOSED.contains(&name) {
                assert!(!list.contains(&start), "{name}: {list}");
                continue;
            }
            assert!(short.contains(name) && long.contains(name), "{name}");
            let of_the_type = list.split_once(&start).unwrap().1;
            let of_the_type = of_the_type.split("\n\n").next().unwrap();
            assert!(words(of_the_type).starts_with(&words(kind.description())));
            for parameter in kind.parameters() {
                let key = format!("\n    {}: ", parameter.key);
                assert!(of_the_type.contains(&key), "{name}: {key}: {list}");
            }
        }
    }
}
