//! `ir sweep --system`: settings of a system file, searched with its hits, filters and scores.

use crate::sweep_grid::{grid_folder, rows};

/// A system file sets index, hits and scores, on documents as in `ir search`.
#[test]
fn grids_of_system_files() {
    let here = grid_folder();
    let queries = here.read("notes/queries.jsonl");
    here.write("notes/queries.jsonl", queries.replace("ship", "ships"));
    let system = |k1: &str| {
        format!(
            "[[systems]]\nname = \"root\"\ntype = \"bm25\"\nanalyzer = \"whitespace\"\nhits = 3\n{k1}"
        )
    };
    let mut files = Vec::new();
    for value in ["0.2", "3"] {
        let (file, saved) = (format!("k1={value}"), format!("{value}.toml"));
        here.write(&saved, system(&format!("k1 = {value}\n")));
        here.ir(&["search", "notes", "--system", &saved, "-o", &file])
            .ok();
        files.push(file);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let expected = here
        .ir(&[&["sweep", "notes"][..], &files].concat())
        .ok()
        .out;
    let sweep = |text: &str| {
        here.write("system.toml", text);
        let sweep = ["sweep", "notes", "notes", "--system", "system.toml"];
        here.ir(&[&sweep[..], &["--grid", "k1=0.2,3"]].concat())
            .ok()
            .out
    };
    let found = sweep(&system(""));
    assert_eq!(rows(&found), rows(&expected));
    // A pipe can be read once.
    let piped = "sweep notes notes --system /dev/stdin --grid k1=0.2,3";
    assert_eq!(here.ir_with(piped, &system("")).ok().out, found);
    // The system to search is the last one that is not hidden, not the last one.
    let part = "[[systems]]\nname = \"part\"\ntype = \"bm25\"\nhidden = true\n";
    assert_eq!(sweep(&(system("") + part)), found);
    here.write(
        "knn.toml",
        "[[systems]]\nname = \"knn\"\ntype = \"knn\"\naggregation = \"weighted-vote\"\n",
    );
    let knn = ["sweep", "notes", "notes", "--system", "knn.toml"];
    here.ir(&[&knn[..], &["--grid", "neighbors=1,2"]].concat())
        .fails(1, &["tasks[0].training.split", "train"]);
}

/// Weights of the parts of a hybrid, with and without weights in the file.
#[test]
fn grids_of_the_weights_of_hybrids() {
    let here = grid_folder();
    let hybrid = |weights: &str| {
        let text = format!(
            "[[systems]]\nname = \"words\"\ntype = \"bm25\"\nhidden = true\n\
             [[systems]]\nname = \"lsi\"\ntype = \"lsi\"\ndim = 2\nhidden = true\n\
             [[systems]]\nname = \"both\"\ntype = \"hybrid\"\nof = [\"words\", \"lsi\"]\n{weights}\n"
        );
        here.write("hybrid.toml", text);
    };
    let mut files = Vec::new();
    for weight in ["0", "0.5", "4"] {
        let file = format!("weight.words={weight}");
        hybrid(&format!("weights = [{weight}, 1]"));
        let search = ["search", "notes", "--system", "hybrid.toml", "-o", &file];
        here.ir(&search).ok();
        files.push(file);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let expected = here.ir(&[&["sweep", "notes"][..], &files].concat()).ok();
    let expected = rows(&expected.out);
    assert!(expected[0][1] != expected[2][1], "{expected:?}");
    let sweep = "sweep notes notes --system hybrid.toml --grid";
    for weights in ["", "weights = [2, 1]"] {
        hybrid(weights);
        for name in ["weight.words", "both.weight.words", "weights.words"] {
            let found = here.ir(&format!("{sweep} {name}=0,0.5,4")).ok().out;
            let found = found.replace("both.weight", "weight");
            let found = found.replace("weights.", "weight.");
            assert_eq!(rows(&found), expected, "{name} {weights}");
        }
    }
    here.ir(&format!("{sweep} weight.word=1,2")).fails(
        2,
        &["--grid: weight.word: expected a part of the hybrid (words, lsi), found \"word\" (did you mean words?)"],
    );
    here.ir(&format!("{sweep} weight.lsi=-1,2"))
        .fails(1, &["hybrid.toml", "weights"]);
    // The grid of the file, as in an experiment.
    let sweep = "sweep notes notes --system hybrid.toml";
    hybrid("[systems.grid]\nweights = [[0, 1], [0.5, 1], [4, 1]]");
    let mut found = here.ir(sweep).ok().out;
    for weight in ["0", "0.5", "4"] {
        let (list, name) = (
            format!("weights=[{weight}, 1]"),
            format!("weight.words={weight}"),
        );
        found = found.replace(&list, &name);
    }
    assert_eq!(rows(&found), expected);
    here.ir(&format!("{sweep} --grid words.k1=1,2"))
        .fails(1, &["hybrid.toml", "systems[2].grid: expected no grid"]);
    here.ir(&format!("{sweep} --k1 1")).fails(
        2,
        &["--k1: expected either --system or options of a system"],
    );
    for (grid, code, message) in [
        (
            "",
            2,
            "hybrid.toml: expected grids with 2 to 10000 settings, found 1",
        ),
        (
            "[systems.grid]\nweights = 1",
            1,
            "systems[2].grid.weights: expected a list of values, found 1",
        ),
        (
            "[systems.grid]\nweights = [[1, 1], [1]]",
            1,
            "expected 2 weights, one for each system",
        ),
        (
            "[systems.grid]\nfusoin = [\"rrf\", \"borda\"]",
            1,
            "did you mean fusion?",
        ),
    ] {
        hybrid(grid);
        here.ir(sweep).fails(code, &[message]);
    }
}

/// Parts with dots in their names, numbers of tables, and keys that no system has.
#[test]
fn grids_of_names_with_dots() {
    let here = grid_folder();
    let corpus = here.read("notes/corpus.jsonl");
    let lines = corpus.lines().enumerate().map(|(n, line)| {
        let kind = ["tea", "ship"][n % 2];
        let metadata = format!("{{\"kind\": \"{kind}\"}}");
        line.replace("\"text\"", &format!("\"metadata\": {metadata}, \"text\"")) + "\n"
    });
    here.write("notes/corpus.jsonl", lines.collect::<String>());
    let system = |k1: &str, tea: &str| {
        let text = format!(
            "[[systems]]\nname = \"x\"\ntype = \"bm25\"\nhidden = true\n\
             [[systems]]\nname = \"x.y\"\ntype = \"bm25\"\nhidden = true\nk1 = {k1}\n\
             [[systems]]\nname = \"p\"\ntype = \"prior\"\nof = \"x.y\"\nattribute = \"kind\"\n\
             priors = {{ tea = {tea}, ship = 0.5 }}\n"
        );
        here.write("prior.toml", text);
    };
    let sweep = "sweep notes notes --system prior.toml --grid";
    for (key, values) in [("x.y.k1", ["0.2", "3"]), ("priors.tea", ["0.01", "1"])] {
        let files = values.map(|value| {
            match key {
                "x.y.k1" => system(value, "0.5"),
                _ => system("0.9", value),
            }
            let file = format!("{key}={value}");
            let search = ["search", "notes", "--system", "prior.toml", "-o", &file];
            here.ir(&search).ok();
            file
        });
        let files = files.each_ref().map(String::as_str);
        let by_hand = here.ir(&[&["sweep", "notes"][..], &files].concat()).ok();
        system("0.9", "0.5");
        let found = here.ir(&format!("{sweep} {key}={}", values.join(",")));
        let found = found.ok().out;
        assert_eq!(rows(&found), rows(&by_hand.out));
        assert_ne!(rows(&found)[0][1], rows(&found)[1][1], "{found}");
    }
    for (grid, parts) in [
        (
            "doc=1,2",
            &[
                "expected a key of prior (",
                "priors.NAME",
                ") or PART.KEY of x, x.y, p, found \"doc\" (did you mean docs?)",
            ][..],
        ),
        (
            "x.y.neighbors=1,2",
            &["expected a key of bm25 (", "found \"neighbors\""],
        ),
        (
            "x.y.feedback.docs=2,3",
            &["feedback.docs: expected the key feedback, found none"],
        ),
        ("priors=1,2", &["priors: expected NAME=NUMBER, found \"1\""]),
    ] {
        here.ir(&format!("{sweep} {grid}")).fails(2, parts);
    }
}

/// Keys of the system to search come before the keys of the systems below it, and its filters apply
/// to its runs.
#[test]
fn grids_of_rerankings_priors_and_filters() {
    let here = grid_folder();
    let corpus = here.read("notes/corpus.jsonl");
    let lines = corpus.lines().enumerate().map(|(n, line)| {
        let (year, kind) = (2000 + n % 11, ["tea", "ship"][n % 2]);
        let metadata = format!("{{\"year\": {year}, \"kind\": \"{kind}\"}}");
        line.replace("\"text\"", &format!("\"metadata\": {metadata}, \"text\"")) + "\n"
    });
    let corpus: String = lines.collect();
    here.write("notes/corpus.jsonl", corpus);
    let queries = here.read("notes/queries.jsonl");
    let year = "\"metadata\": {\"year\": 2006}, \"text\"";
    here.write("notes/queries.jsonl", queries.replace("\"text\"", year));
    let bm25 =
        |name: &str, keys: &str| format!("[[systems]]\nname = \"{name}\"\ntype = \"bm25\"\n{keys}");
    let hidden = "hidden = true\n";
    let words = bm25("words", hidden);
    let pair = words.clone() + &bm25("other", &format!("{hidden}k1 = 0\n"));
    let rerank =
        "[[systems]]\nname = \"r\"\ntype = \"rerank\"\nfirst = \"words\"\nsecond = \"other\"\n";
    let prior =
        "[[systems]]\nname = \"p\"\ntype = \"prior\"\nof = \"words\"\nattribute = \"kind\"\n";
    let limit = "where = { at_least = { name = \"year\", limit = 2003 } }\n";
    here.ir("index notes -o notes.ir --store all").ok();
    for (system, key, values) in [
        (pair.clone() + rerank, "depth", ["10", "20"]),
        (pair + rerank + "depth = 5\n", "words.k1", ["0.2", "3"]),
        (words.clone() + prior, "docs", ["1", "20"]),
        (words + prior, "weight", ["0", "3"]),
        (bm25("b", "filter = \"year\"\n"), "k1", ["0.2", "3"]),
        (
            bm25("b", "filter = \"published-year\"\nhits = 4\n"),
            "k1",
            ["0.2", "3"],
        ),
        (
            bm25("b", &format!("filter = \"year\"\n{limit}")),
            "b",
            ["0", "1"],
        ),
    ] {
        let (part, of_the_part) = key.split_once('.').unwrap_or(("", key));
        let table = format!("name = \"{part}\"\n");
        for collection in ["notes", "notes.ir"] {
            let files = values.map(|value| {
                let (set, file) = (
                    format!("{of_the_part} = {value}\n"),
                    format!("{key}={value}"),
                );
                let text = if part.is_empty() {
                    format!("{system}{set}")
                } else {
                    system.replace(&table, &format!("{table}{set}"))
                };
                here.write("system.toml", text);
                let search = ["search", collection, "--system", "system.toml", "-o"];
                let queries = [file.as_str(), "--queries", "notes"];
                here.ir(&[&search[..], &queries].concat()).ok();
                file
            });
            let files = files.each_ref().map(String::as_str);
            let by_hand = [&["sweep", "notes"][..], &files].concat();
            let by_hand = here.ir(&by_hand).ok().out;
            here.write("system.toml", &system);
            let grid = format!("{key}={}", values.join(","));
            let sweep = ["sweep", "notes", collection, "--system", "system.toml"];
            let grid = ["--query-file", "notes", "--grid", &grid];
            let found = here.ir(&[&sweep[..], &grid].concat()).ok().out;
            assert_eq!(rows(&found), rows(&by_hand), "{collection}: {system}");
            let settings = rows(&found);
            assert_eq!(settings.len(), 2, "{found}");
            assert_ne!(settings[0][1], settings[1][1], "{found}");
        }
    }
    let best = bm25("b", "filter = \"year-of-best-record\"\n");
    here.write("system.toml", best);
    here.ir("sweep notes notes --system system.toml --grid k1=1,2").fails(
        1,
        &["system.toml: filter: expected none, year or published-year, found year-of-best-record"],
    );
}
