//! Systems of `--engine`, saved by `--save` and searched by `--system`.

use crate::{Folder, collection, common, elastic_double, milvus_double, search_of};

/// Loads the collection `c` with the attribute `year`.
fn load(here: &Folder, address: &str, options: &[&str]) {
    let load = ["load", address, "c", "--attribute", "year:integer"];
    here.ir(&[&load[..], options].concat()).ok();
}

/// Bodies of the searches that a server got after the first `known`.
fn searches(server: &common::HttpDouble, known: usize) -> Vec<String> {
    let requests = server.requests.lock().unwrap();
    let searches = requests.iter().filter(|it| it.path.contains("/search"));
    searches.skip(known).map(|it| it.body.clone()).collect()
}

/// The file has the run of the options, byte for byte, and no credentials.
#[test]
fn saved_systems_have_the_run_of_the_options() {
    let (milvus, _) = milvus_double::start();
    let (elastic, _) = elastic_double::start();
    let here = collection();
    let vectors = format!("milvus://127.0.0.1:{}/papers", milvus.port);
    let texts = format!("elasticsearch://127.0.0.1:{}/papers", elastic.port);
    load(&here, &vectors, &["--vectors", "d.ir"]);
    load(&here, &texts, &["--texts"]);
    // Paths in the file are relative to it.
    here.write("systems/readme", "");
    let by_vectors = &search_of(&vectors, "q.ir")[2..];
    let by_texts = ["--engine", &*texts];
    for (options, tag, lines) in [
        (&[by_vectors, &["-k", "7"]].concat(), "remote-vectors", 42),
        (
            &[by_vectors, &["--engine-ef", "50", "--tag", "t"]].concat(),
            "t",
            240,
        ),
        // 26 of 40 documents for each of 6 queries.
        (
            &[by_vectors, &["--filter", "year<=2015"]].concat(),
            "remote-vectors",
            156,
        ),
        // No document is from 1991 or later and not later than the query of 1990.
        (
            &[
                by_vectors,
                &["--filter", "year>=1991", "--filter", "year!=1993"],
                &["--not-later-than-query", "-k", "3", "--scores", "strict"],
            ]
            .concat(),
            "remote-vectors",
            15,
        ),
        (&[&by_texts[..], &["-k", "5"]].concat(), "remote-bm25", 30),
    ] {
        let save = ["--save", "systems/s.toml", "-o", "options.trec"];
        let secret = [
            ("IR_REMOTE_USER", "reader-of-papers"),
            ("IR_REMOTE_PASSWORD", "hunter2"),
        ];
        let client = ["--engine-timeout", "61", "--engine-cache", "cache"];
        let search = [&["search", "c"], &options[..], &save, &client].concat();
        here.ir_env(&search, &secret).ok();
        let run = here.read("options.trec");
        assert_eq!(run.lines().count(), lines, "{options:?}");
        let tagged = run
            .lines()
            .filter(|line| line.ends_with(&format!(" {tag}")));
        assert_eq!(tagged.count(), lines, "{options:?}");

        let file = here.read("systems/s.toml");
        for absent in ["reader-of-papers", "hunter2", "timeout", "cache"] {
            assert!(!file.contains(absent), "{absent}: {file}");
        }
        let keys: Vec<&str> = file.lines().collect();
        let (engine, name) = (options[1], format!("name = \"{tag}\""));
        let engine = format!("engine = \"{engine}\"");
        for line in [&*name, "type = \"remote\"", &*engine] {
            assert!(keys.contains(&line), "{line}: {file}");
        }
        let queries = "queries = \"../q.ir\"";
        assert_eq!(keys.contains(&queries), tag != "remote-bm25", "{file}");

        let known = searches(&milvus, 0).len();
        let search = ["search", "c", "--system", "systems/s.toml"];
        let of_file = here.ir(&[&search[..], &["-o", "file.trec"]].concat()).ok();
        assert_eq!(here.read("file.trec"), run, "{options:?}: {}", of_file.err);
        // The server evaluates the filters of the file, too.
        let asked = searches(&milvus, known);
        let is_filtered = options.contains(&"--filter");
        assert_eq!(
            !asked.is_empty() && asked.iter().all(|body| body.contains("attr_year")),
            is_filtered,
            "{asked:?}"
        );
    }
}

/// Query words: the options write a run, the file shows documents.
#[test]
fn saved_systems_and_query_words() {
    let (server, _) = elastic_double::start();
    let here = collection();
    let address = format!("elasticsearch://127.0.0.1:{}/papers", server.port);
    load(&here, &address, &["--texts"]);
    let search = ["search", "c", "tea", "--engine", &address];
    let run = here.ir(&[&search[..], &["--save", "s.toml"]].concat()).ok();
    assert!(run.out.starts_with("1 Q0 d"), "{}", run.out);
    let search = ["search", "c", "tea", "--system", "s.toml"];
    let written = here.ir(&[&search[..], &["-o", "-"]].concat()).ok();
    assert_eq!(written.out, run.out);
    let hits = here
        .ir(&[&search[..], &["--json", "-k", "2"]].concat())
        .ok();
    assert_eq!(hits.out.lines().count(), 2);
    assert!(hits.out.contains("\"text\""), "{}", hits.out);
}

#[test]
fn options_beside_a_system_file() {
    let here = collection();
    let file = "[[systems]]\nname = \"s\"\ntype = \"remote\"\nengine = \"elasticsearch://h/c\"\n";
    here.write("s.toml", file);
    let search = |options: &[&str]| {
        let search = ["search", "c", "--system", "s.toml"];
        here.ir(&[&search[..], options].concat())
    };
    search(&["--engine", "elasticsearch://h/c"]).fails(2, &["--engine", "--system"]);
    for option in ["--engine-vectors", "--engine-cache", "--engine-timeout"] {
        let expected = format!("{option}: expected --engine, found none");
        search(&[option, "3"]).fails(2, &[&expected]);
    }
    search(&["--filter", "year<=2015"]).fails(
        2,
        &["--filter: expected no --system; its file has the key where"],
    );
    // A key of vectors in a file of BM25.
    here.write("s.toml", format!("{file}hybrid = true\n"));
    search(&[]).fails(
        1,
        &["s.toml:5: systems[0].hybrid: expected an engine milvus+grpc://..., found elasticsearch"],
    );
    here.write("s.toml", format!("{file}ef = 5\n"));
    search(&[]).fails(
        1,
        &["s.toml:5: systems[0].ef: expected the key queries, found BM25"],
    );
}
