//! `ir models` with a hub on the loopback interface.

#[cfg(feature = "fetch")]
#[allow(unreachable_pub)]
#[path = "../../../../crates/ir-dense/tests/common/server.rs"]
mod server;

use crate::common::Folder;

/// Runs `ir` with the model cache in this folder and the hub at the address `hub`.
fn ir(here: &Folder, hub: &str, args: &[&str]) -> crate::common::Ran {
    here.ir_env(
        args,
        &[
            ("HF_HOME", here.path().to_str().unwrap()),
            ("HF_HUB_CACHE", ""),
            ("HF_ENDPOINT", hub),
            ("HF_TOKEN", ""),
            ("HF_HUB_OFFLINE", ""),
        ],
    )
}

/// A port without a listener.
const NO_HUB: &str = "http://127.0.0.1:9";

#[test]
fn listing_needs_no_network() {
    let here = Folder::new();
    let list = ir(&here, NO_HUB, &["models"]).ok().out;
    let line = list.lines().find(|line| line.contains("all-MiniLM-L6-v2"));
    let line: Vec<&str> = line.unwrap().split_whitespace().take(4).collect();
    let name = "sentence-transformers/all-MiniLM-L6-v2";
    assert_eq!(line, [name, "384", "256", "no"]);
    // Cached models: one of the catalog, one not in it, and one that is not an encoder.
    for (name, kind) in [
        ("intfloat--e5-small-v2", "bert"),
        ("org--mine", "bert"),
        ("org--talker", "gpt2"),
    ] {
        let config = format!(
            r#"{{"model_type": "{kind}", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1,
                "num_attention_heads": 2, "intermediate_size": 4, "max_position_embeddings": 16}}"#
        );
        here.write(&format!("hub/models--{name}/refs/main"), "abc");
        here.write(
            &format!("hub/models--{name}/snapshots/abc/config.json"),
            config,
        );
    }
    let list = ir(&here, NO_HUB, &["models"]).ok().out;
    let words = |name: &str| {
        let line = list.lines().find(|line| line.starts_with(name)).unwrap();
        let mut words = line.split_whitespace().map(str::to_owned).skip(1);
        [words.next(), words.next(), words.next()].map(Option::unwrap)
    };
    assert_eq!(words("intfloat/e5-small-v2 "), ["384", "512", "yes"]);
    assert_eq!(words("org/mine "), ["8", "16", "yes"]);
    assert_eq!(words("org/talker "), ["-", "-", "yes"]);
    assert!(list.contains("unsupported architecture"));

    let lines = ir(&here, NO_HUB, &["models", "--json"]).ok().out;
    let values: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let e5 = values.iter().find(|v| v["name"] == "intfloat/e5-small-v2");
    let e5 = e5.unwrap();
    assert_eq!(e5["query_prefix"], "query: ");
    assert_eq!(e5["pooling"], "mean");
    assert!(e5["folder"].as_str().unwrap().ends_with("snapshots/abc"));
    assert!(values.iter().any(|value| value["name"] == "org/talker"));
}

#[test]
fn where_prints_folder_and_settings() {
    let here = Folder::new();
    let shown = ir(&here, NO_HUB, &["models", "where", "e5-small-v2"])
        .ok()
        .out;
    for part in [
        "intfloat/e5-small-v2: ",
        "not cached (`ir models fetch e5-small-v2` downloads it",
        "384 dimensions",
        r#"query prefix: "query: ""#,
        r#"document prefix: "passage: ""#,
        "license: MIT",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    ir(&here, NO_HUB, &["models", "where", "org/none"])
        .fails(1, &["org/none", "found neither", "ir models fetch"]);
    ir(&here, NO_HUB, &["models", "where", "/none"]).fails(1, &["/none", "found a path"]);
    ir(
        &here,
        NO_HUB,
        &["encode", "org/none", "bundled", "-o", "x.ir"],
    )
    .fails(1, &["org/none", "ir models"]);
}

/// Catalog settings are the defaults of models given by name, not of folders. Options override
/// them.
#[test]
fn known_model_prefixes() {
    use ir_knn::npy;
    let here = Folder::new();
    let tiny = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/ir-dense/testdata/tiny/bert");
    let snapshot = "hub/models--intfloat--e5-small-v2/snapshots/abc";
    here.write("hub/models--intfloat--e5-small-v2/refs/main", "abc");
    for file in ["config.json", "model.safetensors", "vocab.txt"] {
        here.write(
            &format!("{snapshot}/{file}"),
            std::fs::read(tiny.join(file)).unwrap(),
        );
    }
    here.write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"a cat\"}\n");
    here.write("queries.jsonl", "{\"_id\": \"q\", \"text\": \"a cat\"}\n");
    let encode = |model: &str, input: &str, more: &[&str]| {
        let mut args = vec!["encode", model, input, "-o", "out.npy"];
        args.extend(more);
        ir(&here, NO_HUB, &args).ok();
        let file = std::fs::File::open(here.at("out.npy")).unwrap();
        let rows = npy::read(file, "out.npy").unwrap();
        rows.row(0).to_vec()
    };
    let template = ["--template", "{text}"];
    let named = encode("e5-small-v2", "corpus.jsonl", &template);
    let like = |prefix: &str| {
        let options = ["--prefix", prefix, "--normalize", "true"];
        encode(
            snapshot,
            "corpus.jsonl",
            &[&template[..], &options].concat(),
        )
    };
    assert_eq!(named, like("passage: "));
    assert_ne!(named, like(""));
    let length: f64 = named.iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-5, "{length}");
    let query = encode("intfloat/e5-small-v2@abc", "queries.jsonl", &["--queries"]);
    assert_eq!(query, like("query: "));
    let options = ["--queries", "--prefix", "", "--normalize", "true"];
    assert_eq!(encode("e5-small-v2", "queries.jsonl", &options), like(""));
}

#[cfg(feature = "fetch")]
#[test]
fn fetched_model_encodes() {
    use server::{COMMIT, Reply, Server, repository};
    let here = Folder::new();
    let server = Server::start(repository(), |file, before| match (file, before) {
        ("model.safetensors", 0) => Some(Reply::Cut(40_000)),
        _ => None,
    });
    let hub = &server.endpoint;
    let shown = ir(&here, hub, &["models", "fetch", "org/tiny"]).ok().out;
    let folder = here.at("hub/models--org--tiny/snapshots").join(COMMIT);
    assert!(shown.contains("downloaded and verified"), "{shown}");
    assert!(shown.contains(folder.to_str().unwrap()), "{shown}");
    assert_eq!(
        server.ranges("model.safetensors"),
        ["", "bytes=40000-"],
        "the rest only"
    );
    let shown = ir(&here, NO_HUB, &["models", "where", "org/tiny"]).ok().out;
    assert_eq!(shown.trim(), folder.to_str().unwrap());
    ir(
        &here,
        NO_HUB,
        &["encode", "org/tiny", "bundled", "-o", "v.ir"],
    )
    .ok();

    // Errors of the command line, of the hub, of the network.
    ir(&here, hub, &["models", "fetch", "a/b/c"]).fails(2, &["a/b/c", "expected a model name"]);
    ir(&here, hub, &["models", "fetch", "org/none"])
        .fails(1, &["has no model org/none", "HF_TOKEN"]);
    let cache = here.path().to_str().unwrap();
    let offline = [
        ("HF_HOME", cache),
        ("HF_HUB_CACHE", ""),
        ("HF_HUB_OFFLINE", "1"),
    ];
    here.ir_env("models fetch org/tiny", &offline)
        .fails(1, &["HF_HUB_OFFLINE"]);
}

#[cfg(not(feature = "fetch"))]
#[test]
fn missing_feature_is_named() {
    ir(&Folder::new(), NO_HUB, &["models", "fetch", "e5-small-v2"]).fails(
        1,
        &["\"fetch\"", "https://huggingface.co/intfloat/e5-small-v2"],
    );
}
