//! `ir search --save` and `--system`, and the same tables in an experiment file: the same run.

use crate::common::{Arguments as _, Folder, data, tiny};

/// Vectors of the documents and queries of `tiny`.
const DENSE: &str = "\
{\"id\": \"d1\", \"vector\": [1.0, 0.0, 0.0]}
{\"id\": \"d2\", \"vector\": [0.6, 0.8, 0.0]}
{\"id\": \"d3\", \"vector\": [0.0, 0.6, 0.8]}
";
const DENSE_QUERIES: &str = "\
{\"id\": \"q1\", \"vector\": [0.9, 0.1, 0.2]}
{\"id\": \"q2\", \"vector\": [0.1, 0.2, 0.9]}
";

/// Sparse vectors of documents and queries of `tiny`.
const SPARSE: &str = "\
{\"id\": \"d1\", \"vector\": {\"tea\": 1.5, \"green\": 0.5}}
{\"id\": \"d2\", \"vector\": {\"tea\": 1.0}}
{\"id\": \"d3\", \"vector\": {\"river\": 2.0}}
";
const SPARSE_QUERIES: &str = "\
{\"id\": \"q1\", \"vector\": {\"tea\": 1.0}}
{\"id\": \"q2\", \"vector\": {\"river\": 1.0, \"tea\": 0.25}}
";

pub(crate) fn folder() -> Folder {
    let here = Folder::new();
    tiny(&here);
    let queries = here.read("tiny/queries.jsonl");
    let year = "\"metadata\": {\"year\": 2015}, \"text\": \"tea leaves\"";
    let with_year = queries.replace("\"text\": \"tea leaves\"", year);
    assert_ne!(with_year, queries);
    here.write("tiny/queries.jsonl", with_year);
    here.write("files/synonyms.txt", "ship, boat\ntea => leaf\n");
    here.write("files/priors.tsv", "drink\t0.5\n*\t0.25\n");
    here.write("files/vectors.jsonl", DENSE);
    here.write("files/queries.jsonl", DENSE_QUERIES);
    here
}

/// Ids and row numbers out of order, documents with the same scores, one without text, and one with
/// a title alone.
pub(crate) fn unordered_folder() -> Folder {
    let here = folder();
    let texts = [
        "Green tea with milk",
        "A ship on the river",
        "Leaves of tea",
        "Black boats in winter",
        "Milk and leaves",
        "A river, and tea",
    ];
    let mut corpus = String::new();
    for n in 0..24 {
        let (id, text) = (10 + (n * 7 + 11) % 24, texts[n % texts.len()]);
        let (year, kind) = (2010 + n % 9, ["drink", "ship"][n % 2]);
        corpus += &format!(
            "{{\"_id\": \"d{id}\", \"text\": \"{text}\", \"metadata\": {{\"year\": {year}, \"kind\": \"{kind}\"}}}}\n"
        );
        if n == 15 {
            corpus += "{\"_id\": \"d40\", \"title\": \"Tea\", \"text\": \"\"}\n";
        }
        if n == 8 {
            corpus += "{\"_id\": \"d0\", \"title\": \"\", \"text\": \" \"}\n";
            corpus += &here.read("tiny/corpus.jsonl");
        }
    }
    here.write("tiny/corpus.jsonl", &corpus);
    let ids = corpus.lines().map(|line| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        value["_id"].as_str().unwrap().to_owned()
    });
    let mut ids: Vec<String> = ids.filter(|id| id != "d17").collect();
    // The order of the file is another one.
    ids.reverse();
    let vectors = ids.iter().enumerate().map(|(n, id)| {
        let vector = ["[1, 0, 0]", "[0, 1, 0]", "[0.6, 0.8, 0]"][n % 3];
        format!("{{\"id\": \"{id}\", \"vector\": {vector}}}\n")
    });
    here.write("files/vectors.jsonl", vectors.collect::<String>());
    here.write("files/sparse.jsonl", SPARSE);
    here.write("files/sparse-queries.jsonl", SPARSE_QUERIES);
    here
}

/// Runs with options, by the saved file from another folder, and in an experiment.
#[track_caller]
pub(crate) fn assert_same_run(here: &Folder, options: &[&str]) {
    let search = [
        "search",
        "tiny",
        "-o",
        "direct.trec",
        "--save",
        "saved/system.toml",
    ];
    here.write("saved/keep", "");
    here.ir(&[&search[..], options].concat()).ok();
    let again = [
        "search",
        "tiny",
        "--system",
        "saved/system.toml",
        "-o",
        "again.trec",
    ];
    here.ir(&again).ok();
    let direct = here.read("direct.trec");
    assert!(!direct.is_empty(), "{options:?}");
    assert_eq!(here.read("again.trec"), direct, "{options:?}");
    let saved = here.read("saved/system.toml");
    assert!(saved.contains("version = 1\n"), "{saved}");
    let experiment = format!(
        "measures = [\"AP\"]\n{saved}\n[[tasks]]\ncollection = \"../tiny\"\n[output]\nfolder = \"out\"\nformats = [\"runs\"]\n"
    );
    here.write("saved/experiment.toml", experiment);
    here.ir(&["run", "saved/experiment.toml"]).ok();
    let run = here.files().into_iter().find(|file| {
        file.extension().is_some_and(|end| end == "trec")
            && file.ancestors().any(|it| it.ends_with("out"))
    });
    let run = std::fs::read_to_string(run.unwrap()).unwrap();
    assert_eq!(run, direct, "{options:?}");
    std::fs::remove_dir_all(here.at("saved")).unwrap();
}

#[test]
fn saved_systems_give_the_same_run() {
    let here = unordered_folder();
    for options in [
        &[][..],
        &["--k1", "1.2", "--b", "0.75"],
        &["--preset", "lucene"],
        &["--model", "qld", "--mu", "50"],
        &["--model", "qljm(lambda=0.3)"],
        &[
            "--model",
            "bm25f",
            "--fields",
            "title,text",
            "--weights",
            "title=2",
            "--field-b",
            "title=0.3",
        ],
        &["--feedback", "rm3(docs=2,terms=3)"],
        &["--feedback", "rocchio", "--sdm", "0.8,0.1,0.1"],
        &["--sdm", "0.85,0.1,0.05"],
        &[
            "--synonyms",
            "files/synonyms.txt",
            "--synonym-weight",
            "1:4",
        ],
        &["--nearest-words", "2", "--nearest-dim", "20"],
        &[
            "--nearest-words",
            "2",
            "--nearest-dim",
            "20",
            "--template",
            "{text} {title}",
            "--order",
            "insertion",
        ],
        &["--syntax", "lucene"],
        &["--clean", "punctuation,stop-words"],
        &["--analysis", "english", "--order", "insertion"],
        &["--order", "insertion", "--hits", "3"],
        &["--order", "row-text", "--hits", "3"],
        &["--order", "row-text", "--not-later-than-query"],
        &["--template", "{text} {title}"],
        &["--lengths", "exact", "--scores", "exact"],
        &["--model", "random-indexing(dim=20)"],
        &["--model", "random-indexing(dim=20)", "--fields", "text"],
        &["--model", "random-indexing(dim=20)", "--order", "row-text"],
        &[
            "--model",
            "random-indexing(dim=20)",
            "--template",
            "{title}",
        ],
        &["--scores", "strict"],
        &["--prior", "files/priors.tsv", "--prior-attribute", "kind"],
        &[
            "--prior",
            "feedback",
            "--prior-attribute",
            "kind",
            "--tag",
            "base",
        ],
        &["--prior", "qrels:tiny:test", "--prior-attribute", "kind"],
        &["--not-later-than-query=published"],
        &[
            "--not-later-than-query=published",
            "--feedback",
            "rm3(docs=2)",
        ],
        &["--not-later-than-query=published", "--sdm", "0.8,0.1,0.1"],
        &["--not-later-than-query"],
        &["--filter", "year>=2013"],
        &[
            "--filter",
            "year>=2012",
            "--filter",
            "year!=2015,2019",
            "--not-later-than-query",
        ],
        &["--hits", "2", "--tag", "two"],
    ] {
        assert_same_run(&here, options);
    }
}

/// Every type that needs a collection and files alone; `knn` needs training queries, too.
#[test]
fn saved_systems_of_types_give_the_same_run() {
    let here = unordered_folder();
    for options in [
        "--type bm25",
        "--type bm25 --set k1=1.2 --set b=0.7 --scores strict",
        "--type bm25 --set synonyms=files/synonyms.txt --not-later-than-query --hits 3",
        "--type bm25 --set 'fields=[\"title\", \"text\"]' --set model=bm25f --set weights.title=2",
        "--type tfidf",
        "--type tfidf --set sublinear=true --set 'template={title} {text}' --tag two",
        "--type lsi --set dim=3 --set analyzer=english",
        "--type lsi --set dim=3 --set cleaning.stop_words=nltk --filter year>=2013",
        "--type random-indexing --set dim=20 --set reflections=1",
        "--type sparse --set vectors=files/sparse.jsonl --set queries=files/sparse-queries.jsonl",
    ] {
        assert_same_run(&here, &options.arguments());
    }
    #[cfg(feature = "dense")]
    for options in [
        "--type dense --set vectors=files/vectors.jsonl --set queries=files/queries.jsonl",
        "--type dense --set encoder.random.hidden_size=16",
        "--type hnsw --set encoder.random.hidden_size=16 --set m=4",
    ] {
        assert_same_run(&here, &options.arguments());
    }
}

/// Options of the vectors of [`unordered_folder`] and of the folder of rerankings.
#[cfg(feature = "dense")]
pub(crate) const VECTORS: [&str; 4] = [
    "--vectors",
    "files/vectors.jsonl",
    "--query-vectors",
    "files/queries.jsonl",
];

/// Vectors, also under tags that are names of the parts of a hybrid.
#[cfg(feature = "dense")]
#[test]
fn saved_systems_of_vectors_give_the_same_run() {
    let here = unordered_folder();
    for options in [
        &[][..],
        &["--clean", "stop-words"],
        &["--alpha", "0.1"],
        &["--alpha", "0.1", "--tag", "BM25"],
        &["--alpha", "0.1", "--tag", "vectors", "--k1", "1.2"],
        &["--alpha", "0.1", "--order", "row-text", "--hits", "3"],
        &["--alpha", "0.1", "--fields", "text"],
        &["--alpha", "0.1", "--feedback", "rm3(docs=2)"],
        &["--alpha", "0.1", "--sdm", "0.8,0.1,0.1"],
        &[
            "--alpha",
            "0.1",
            "--prior",
            "files/priors.tsv",
            "--prior-attribute",
            "kind",
        ],
        &["--alpha", "0.1", "--model", "random-indexing(dim=20)"],
        &["--not-later-than-query"],
        &["--filter", "year>=2013"],
        &["--hits", "3"],
    ] {
        assert_same_run(&here, &[&VECTORS[..], options].concat());
    }
    // The vectors are of the queries that are searched, which are none of the collection.
    let other = "{\"_id\": \"n1\", \"text\": \"winter\"}\n";
    here.write("other.jsonl", other);
    here.write(
        "files/queries.jsonl",
        "{\"id\": \"n1\", \"vector\": [0.1, 0.2, 0.9]}\n",
    );
    let search = ["search", "tiny", "--queries", "other.jsonl", "-o"];
    let save = ["direct.trec", "--save", "other.toml"];
    here.ir(&[&search[..], &save, &VECTORS].concat()).ok();
    here.ir(&[&search[..], &["again.trec", "--system", "other.toml"]].concat())
        .ok();
    assert_eq!(here.read("again.trec"), here.read("direct.trec"));
}

/// Documents with equal scores are in the order of their ids, whatever the order of their vectors,
/// and the first hits are the first hits of a longer ranking.
#[cfg(feature = "dense")]
#[test]
fn equal_scores_of_vectors_are_in_the_order_of_the_documents() {
    let here = unordered_folder();
    let run = |options: &[&str]| {
        let search = ["search", "tiny", "-o", "-"];
        here.ir(&[&search[..], options].concat()).ok().out
    };
    let all = run(&VECTORS);
    let of_query = |run: &str, query: &str| -> Vec<(String, String)> {
        let lines = run.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let lines = lines.filter(|columns| columns[0] == query);
        lines
            .map(|columns| (columns[2].to_owned(), columns[4].to_owned()))
            .collect()
    };
    let hits = of_query(&all, "q1");
    assert_eq!(hits.len(), 27);
    let is_tied = |pair: &&[(String, String)]| pair[0].1 == pair[1].1;
    let tied: Vec<_> = hits.windows(2).filter(is_tied).collect();
    assert!(tied.len() > 15, "{all}");
    assert!(tied.iter().all(|pair| pair[0].0 < pair[1].0), "{all}");
    let save = ["--save", "vectors.toml"];
    run(&[&VECTORS[..], &save].concat());
    for k in ["1", "3", "10", "20"] {
        let first = run(&[&VECTORS[..], &["--hits", k]].concat());
        let again = run(&["--system", "vectors.toml", "--hits", k]);
        assert_eq!(again, first, "{k}");
        for query in ["q1", "q2"] {
            let expected = of_query(&all, query);
            let expected = &expected[..k.parse().unwrap()];
            assert_eq!(of_query(&first, query), expected, "{k}");
        }
    }
}

/// The variable stays in the system file.
#[cfg(feature = "dense")]
#[test]
fn paths_start_with_an_environment_variable() {
    let here = unordered_folder();
    let files = here.at("files").display().to_string();
    let variables = [("FILES", files.as_str())];
    let search = ["search", "tiny", "-o", "-"];
    let options = |folder: &str| {
        let vectors = format!(
            "--vectors {folder}/vectors.jsonl --query-vectors {folder}/queries.jsonl --hits 5"
        );
        let prior = format!("--prior {folder}/priors.tsv --prior-attribute kind");
        [vectors, prior]
    };
    for (options, plain) in options("$FILES").iter().zip(options("files")) {
        let options: Vec<&str> = options.split(' ').collect();
        let plain: Vec<&str> = plain.split(' ').collect();
        let expected = here.ir(&[&search[..], &plain].concat()).ok().out;
        let search = [&search[..], &options].concat();
        assert_eq!(here.ir_env(&search, &variables).ok().out, expected);
        here.ir(&search)
            .fails(1, &[": environment variable FILES is not set"]);
        let save = [&search[..], &["--save", "system.toml"]].concat();
        here.ir_env(&save, &variables).ok();
        let again = ["search", "tiny", "-o", "-", "--system", "system.toml"];
        assert_eq!(here.ir_env(&again, &variables).ok().out, expected);
    }
    let [vectors, _] = options("$FILES");
    let search = [&search[..], &vectors.split(' ').collect::<Vec<_>>()].concat();
    let save = [&search[..], &["--save", "vectors.toml"]].concat();
    here.ir_env(&save, &variables).ok();
    let saved = here.read("vectors.toml");
    assert!(saved.contains("\"$FILES/vectors.jsonl\""), "{saved}");
}

/// An index of feedback documents, and a folder behind a symbolic link.
#[test]
fn saved_systems_read_indexes_and_cross_links() {
    let here = unordered_folder();
    let index = ["index", "tiny", "-o", "files/news.ir", "--store", "all"];
    here.ir(&index).ok();
    for feedback in ["rocchio", "rm3(docs=2)"] {
        let external = ["--feedback-collection", "files/news.ir"];
        assert_same_run(&here, &[&["--feedback", feedback][..], &external].concat());
    }
    let corpus = here.read("tiny/corpus.jsonl");
    here.write("news.jsonl", corpus);
    let search = ["search", "tiny", "-o", "run.trec", "--feedback", "rm3"];
    let save = ["--save", "s.toml", "--feedback-collection", "news.jsonl"];
    here.ir(&[&search[..], &save].concat()).fails(
        2,
        &["--feedback-collection: expected a collection of `ir datasets`, a folder in BEIR layout or a saved index with --save, found news.jsonl"],
    );
    #[cfg(unix)]
    {
        here.write("deep/er/keep", "");
        std::os::unix::fs::symlink("deep/er", here.at("link")).unwrap();
        let search = ["search", "tiny", "-o"];
        let options = ["--synonyms", "files/synonyms.txt", "--save", "link/s.toml"];
        here.ir(&[&search[..], &["direct.trec"], &options].concat())
            .ok();
        let saved = here.read("deep/er/s.toml");
        let expected = "synonyms = \"../../files/synonyms.txt\"\n";
        assert!(saved.contains(expected), "{saved}");
        for file in ["link/s.toml", "deep/er/s.toml"] {
            here.ir(&[&search[..], &["again.trec", "--system", file]].concat())
                .ok();
            assert_eq!(here.read("again.trec"), here.read("direct.trec"));
        }
    }
}

/// A path of an environment variable begins with `$`; other paths may, too.
#[test]
fn paths_that_begin_with_a_dollar_sign() {
    let here = unordered_folder();
    here.write("saved/$y.txt", here.read("files/synonyms.txt"));
    let save = ["--synonyms", "saved/$y.txt", "--save", "saved/s.toml"];
    here.ir(&[&["search", "tiny", "-o", "direct.trec"][..], &save].concat())
        .ok();
    let saved = here.read("saved/s.toml");
    assert!(saved.contains("synonyms = \"./$y.txt\"\n"), "{saved}");
    assert_same_run(&here, &["--synonyms", "saved/$y.txt"]);
}

/// The tag of a run is one word, in `--system` as in an experiment.
#[test]
fn names_with_white_space() {
    let here = unordered_folder();
    let system = "[[systems]]\nname = \"Lucene with RM3\"\ntype = \"bm25\"\nfeedback = \"rm3\"\n";
    here.write("s.toml", system);
    here.ir(&["search", "tiny", "--system", "s.toml", "-o", "run.trec"])
        .ok();
    let run = here.read("run.trec");
    assert!(!run.is_empty());
    let tag = |line: &str| line.ends_with(" lucene-with-rm3");
    assert!(run.lines().all(tag), "{run}");
    let task = "measures = [\"AP\"]\n[[tasks]]\ncollection = \"tiny\"\n";
    let output = "[output]\nfolder = \"out\"\nformats = [\"runs\"]\n";
    here.write("e.toml", format!("{task}{system}{output}"));
    here.ir(&["run", "e.toml"]).ok();
    assert_eq!(here.read("out/runs/tiny/lucene-with-rm3.trec"), run);
}

/// Records with the same id and other years, in two orders, in `IR_DATA`.
#[test]
fn saved_systems_of_datafinder_give_the_same_run() {
    if data("saved_systems_of_datafinder").is_none() {
        return;
    }
    let here = Folder::new();
    // Systems with one order of the documents read one index.
    let search = ["search", "datafinder", "--cache", "cache", "-o"];
    for (options, order) in [
        (&["-k", "100"][..], "row-text"),
        (&["-k", "100", "--order", "insertion"], "insertion"),
        (&["--order", "id", "--not-later-than-query"], "id"),
        (&["--order", "id", "--filter", "year>2015"], "id"),
        (&["--not-later-than-query", "-k", "200"], "row-text"),
    ] {
        let save = ["direct.trec", "--save", "s.toml"];
        here.ir_data(&[&search[..], &save, options].concat()).ok();
        let saved = here.read("s.toml");
        let is_row_text = saved.contains("document_order = \"lexicographic-row\"\n");
        assert_eq!(is_row_text, order == "row-text", "{saved}");
        let stated = if order == "id" { "id" } else { "insertion" };
        assert!(
            saved.contains(&format!("order = \"{stated}\"\n")),
            "{saved}"
        );
        here.ir_data(&[&search[..], &["again.trec", "--system", "s.toml"]].concat())
            .ok();
        assert!(
            here.read("again.trec") == here.read("direct.trec"),
            "{options:?}"
        );
    }
}

/// The results of a run, in a collection, on an index and in an experiment.
#[test]
fn runs_of_files_are_systems() {
    let here = unordered_folder();
    here.ir("search tiny -o peer.trec --tag peer --scores exact")
        .ok();
    let peer = here.read("peer.trec");
    assert!(peer.lines().count() > 3, "{peer}");
    let system = "[[systems]]\nname = \"peer\"\ntype = \"run\"\nrun = \"peer.trec\"\n";
    here.write("s.toml", system);
    let search = ["search", "tiny", "--system", "s.toml", "-o", "again.trec"];
    here.ir(&search).ok();
    assert_eq!(here.read("again.trec"), peer);
    let task = "measures = [\"AP\"]\n[[tasks]]\ncollection = \"tiny\"\n";
    let output = "[output]\nfolder = \"out\"\nformats = [\"runs\"]\n";
    here.write("e.toml", format!("{task}{system}{output}"));
    here.ir(&["run", "e.toml"]).ok();
    assert_eq!(here.read("out/runs/tiny/peer.trec"), peer);
    // Queries that the run does not have are left out.
    here.ir(&["index", "tiny", "-o", "tiny.ir"]).ok();
    let first = peer.split(' ').next().unwrap();
    here.write("q.tsv", format!("{first}\ttea\nother\tship\n"));
    let search = ["search", "tiny.ir", "--system", "s.toml", "--queries"];
    let options = ["q.tsv", "-o", "first.trec", "-k", "1"];
    here.ir(&[&search[..], &options].concat()).ok();
    let expected = peer.lines().next().unwrap();
    assert_eq!(here.read("first.trec"), format!("{expected}\n"));

    let typed = ["search", "tiny", "--system", "s.toml", "tea"];
    let form = ["search", "tiny", "--system", "s.toml", "-o", "x.trec"];
    here.ir(&[&form[..], &["--query-form", "title"]].concat())
        .fails(
            2,
            &["--query-form title: expected a system that searches, found a run"],
        );
    let searches = "s.toml:3: systems[0].type: expected a system that searches, found a run";
    here.ir(&typed).fails(2, &[searches]);
    let mine = "mine tiny --split test --system s.toml -o mined.jsonl";
    here.ir(mine).fails(1, &[searches]);
    here.write("hits.toml", format!("{system}hits = 5\n"));
    here.ir(&["search", "tiny", "--system", "hits.toml", "-o", "x.trec"])
        .fails(
            1,
            &["hits.toml:5: systems[0].hits: expected a system that searches; it has no effect on the type run"],
        );
}
