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

/// Copies a small encoder.
fn copy_tiny(here: &Folder, folder: &str) {
    let tiny = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/ir-dense/testdata/tiny/bert");
    for file in ["config.json", "model.safetensors", "vocab.txt"] {
        let bytes = std::fs::read(tiny.join(file)).unwrap();
        here.write(&format!("{folder}/{file}"), bytes);
    }
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
    for name in ["intfloat--e5-small-v2", "org--mine", "org--talker"] {
        here.write(&format!("hub/models--{name}/refs/main"), "abc");
        let config = r#"{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}"#;
        here.write(
            &format!("hub/models--{name}/snapshots/abc/config.json"),
            config,
        );
    }
    copy_tiny(&here, "hub/models--org--mine/snapshots/abc");
    here.write(
        "hub/models--org--mine/snapshots/abc/config_sentence_transformers.json",
        r#"{"truncate_dim": 5}"#,
    );
    let list = ir(&here, NO_HUB, &["models"]).ok().out;
    let words = |name: &str| {
        let line = list.lines().find(|line| line.starts_with(name)).unwrap();
        let mut words = line.split_whitespace().map(str::to_owned).skip(1);
        [words.next(), words.next(), words.next()].map(Option::unwrap)
    };
    assert_eq!(words("intfloat/e5-small-v2 "), ["384", "512", "yes"]);
    assert_eq!(words("org/mine "), ["5", "32", "yes"]);
    assert_eq!(words("org/talker "), ["-", "-", "yes"]);
    assert!(list.contains("not supported; `ir models inspect org/talker` says why"));
    let inspect = ["models", "inspect", "org/talker"];
    ir(&here, NO_HUB, &inspect).fails(1, &["model_type is \"gpt2\" (a decoder)", "bert"]);

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
    for (name, dim) in [
        ("org/mine", 5.into()),
        ("org/talker", serde_json::Value::Null),
    ] {
        let mut values = values.iter();
        assert!(values.any(|value| value["name"] == name && value["dim"] == dim));
    }
}

#[test]
fn late_interaction_models_are_named() {
    let here = Folder::new();
    here.write("hub/models--org--colbert/refs/main", "abc");
    let colbert = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/ir-dense/testdata/late-interaction/stanford");
    for file in std::fs::read_dir(colbert).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        here.write(
            &format!("hub/models--org--colbert/snapshots/abc/{name}"),
            bytes,
        );
    }
    let list = ir(&here, NO_HUB, &["models"]).ok().out;
    let line = list.lines().find(|line| line.starts_with("org/colbert "));
    assert!(line.unwrap().contains("late interaction"), "{list}");
    let lines = ir(&here, NO_HUB, &["models", "--json"]).ok().out;
    let line = lines.lines().find(|line| line.contains("org/colbert"));
    let model: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!(model["late_interaction"], true);
    let inspected = ir(&here, NO_HUB, &["models", "inspect", "org/colbert"]).ok();
    let expected = "one vector per token, ColBERT folder";
    assert!(inspected.out.contains(expected), "{}", inspected.out);
}

/// Folder of tiny cross-encoders with random weights.
const CROSS_ENCODERS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/cross-encoders"
);

#[test]
fn cross_encoders_are_described() {
    let here = Folder::new();
    let inspect = |name: &str, more: &[&str]| {
        let model = format!("{CROSS_ENCODERS}/{name}");
        let args = [&["models", "inspect", &model][..], more].concat();
        ir(&here, NO_HUB, &args).ok().out
    };
    let value = |shown: &str, name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{name} in {shown}"))[name.len()..]
            .trim()
            .to_owned()
    };
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(&inspect(name, &["--json"])).unwrap()
    };
    let bert = inspect("bert", &[]);
    assert!(
        value(&bert, "architecture").starts_with("bert: 1 layer"),
        "{bert}"
    );
    let head = "first token; Dense 16 to 16, Tanh; classifier 16 to 1";
    assert_eq!(value(&bert, "head"), head);
    assert_eq!(value(&bert, "labels"), "1");
    assert_eq!(value(&bert, "activation"), "identity");
    let pair = value(&bert, "pair");
    assert!(
        pair.starts_with("no prompt, at most ") && pair.ends_with(" of 64 tokens"),
        "{pair}"
    );
    assert!(
        value(&bert, "read by").starts_with("ir search --rerank, "),
        "{bert}"
    );
    let described = json("bert");
    assert_eq!(described["cross_encoder"]["head"], head);
    assert_eq!(
        described["cross_encoder"]["problems"],
        serde_json::json!([])
    );
    assert_eq!(described["read_by"][0], "ir search --rerank");

    // Another head, and a folder of transformers with several labels.
    let qwen = inspect("qwen3-reranker-short", &[]);
    assert!(
        value(&qwen, "head").starts_with("logit of a token after the pair"),
        "{qwen}"
    );
    assert!(
        value(&qwen, "pair").starts_with("prompt \"Find papers\", "),
        "{qwen}"
    );
    assert!(value(&qwen, "chat").contains("<Query>: {query}"), "{qwen}");
    let labels = json("bert-3-labels");
    assert_eq!(labels["cross_encoder"]["labels"], 3);
    assert_eq!(labels["cross_encoder"]["chat"], serde_json::Value::Null);
    assert_eq!(labels["read_by"], serde_json::json!([]));
    assert!(inspect("bert-3-labels", &[]).contains("cross-encoders with one label"));

    // In the cache.
    here.write("hub/models--org--judge/refs/main", "abc");
    for file in std::fs::read_dir(format!("{CROSS_ENCODERS}/bert")).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        here.write(
            &format!("hub/models--org--judge/snapshots/abc/{name}"),
            bytes,
        );
    }
    let list = ir(&here, NO_HUB, &["models"]).ok().out;
    let line = list.lines().find(|line| line.starts_with("org/judge "));
    assert!(line.unwrap().ends_with("cross-encoder"), "{list}");
    let lines = ir(&here, NO_HUB, &["models", "--json"]).ok().out;
    let line = lines.lines().find(|line| line.contains("org/judge"));
    let model: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
    assert_eq!(
        (&model["cross_encoder"], &model["dim"]),
        (&true.into(), &().into())
    );
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
    let snapshot = "hub/models--intfloat--e5-small-v2/snapshots/abc";
    here.write("hub/models--intfloat--e5-small-v2/refs/main", "abc");
    copy_tiny(&here, snapshot);
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

#[test]
fn inspect_prints_how_a_folder_is_understood() {
    let here = Folder::new();
    copy_tiny(&here, "model");
    let modules = r#"[
        {"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#;
    here.write("model/modules.json", modules);
    here.write(
        "model/1_Pooling/config.json",
        r#"{"pooling_mode": ["cls", "weightedmean"]}"#,
    );
    here.write(
        "model/config_sentence_transformers.json",
        r#"{"prompts": {"query": "query: "}, "truncate_dim": 20, "similarity_fn_name": "dot"}"#,
    );
    let shown = ir(&here, NO_HUB, &["models", "inspect", "model"]).ok().out;
    let value = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{name} in {shown}"))[name.len()..]
            .trim()
            .to_owned()
    };
    assert_eq!(value("dimension"), "20");
    assert_eq!(value("similarity"), "inner product");
    assert_eq!(value("pooling"), "cls+weightedmean");
    assert_eq!(value("module"), "Normalize");
    assert_eq!(value("truncate_dim"), "20");
    assert_eq!(value("normalize"), "false");
    assert_eq!(
        value("query"),
        "prompt \"query: \", at most 32 of 32 tokens"
    );
    assert_eq!(value("document"), "no prompt, at most 32 of 32 tokens");
    assert!(value("architecture").starts_with("bert: "), "{shown}");
    assert_eq!(
        value("inference"),
        "cpu: linear layers in f32, bf16, int8; attention in f32, bf16"
    );
    assert_eq!(value("training"), "cpu: kernels in f32, bf16");
    assert!(value("backends").starts_with("cpu"), "{shown}");
    assert!(!shown.contains("not read"), "{shown}");
    assert!(value("tokenizer").starts_with("WordPiece (vocab.txt), "));
    assert!(value("weights").contains(" parameters in f32 (safetensors, model.safetensors), "));
    let json = ir(&here, NO_HUB, &["models", "inspect", "model", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.ok().out).unwrap();
    assert_eq!((&json["dim"], &json["check"]), (&20.into(), &().into()));
    assert_eq!(json["towers"][0]["tokenizer"]["truncation_side"], "right");
    assert_eq!(json["towers"][0]["problems"], serde_json::json!([]));
    assert_eq!(
        json["towers"][0]["computation"]["backends"][0],
        serde_json::json!("cpu")
    );
    ir(&here, NO_HUB, &["models", "inspect", "none"]).fails(1, &["none", "found neither"]);

    // Fields that nothing reads.
    let config = std::fs::read_to_string(here.at("model/config.json")).unwrap();
    let more = config.replacen('{', "{\"attention_sinks\": 4, ", 1);
    here.write("model/config.json", more);
    let shown = ir(&here, NO_HUB, &["models", "inspect", "model"]).ok().out;
    let line = shown.lines().find(|line| line.starts_with("not read"));
    assert_eq!(
        line.map(|line| line["not read".len()..].trim()),
        Some("config.json: attention_sinks"),
        "{shown}"
    );

    // Headers are compared with the configuration, elements are not read.
    let config = std::fs::read_to_string(here.at("model/config.json")).unwrap();
    let inner = "\"intermediate_size\": ";
    here.write(
        "model/config.json",
        config.replace(inner, &format!("{inner}1")),
    );
    let inspected = ir(&here, NO_HUB, &["models", "inspect", "model"]);
    inspected.fails(1, &["model: expected the tensors", "found 36 problems"]);
}

#[test]
fn inspect_compares_vectors_with_another_tool() {
    let here = Folder::new();
    copy_tiny(&here, "model");
    let vector = |text: &str, more: &[&str]| -> Vec<f64> {
        here.write(
            "t.jsonl",
            format!("{{\"_id\": \"a\", \"text\": \"{text}\"}}\n"),
        );
        let arguments = [
            &["encode", "model", "t.jsonl", "-o", "v.npy", "--template"],
            &["{text}"][..],
            more,
        ];
        ir(&here, NO_HUB, &arguments.concat()).ok();
        let file = std::fs::File::open(here.at("v.npy")).unwrap();
        ir_knn::npy::read(file, "v.npy").unwrap().row(0).to_vec()
    };
    let (ship, tea) = (vector("a ship", &[]), vector("green tea", &[]));
    let line = |text: &str, vector: &[f64], side: &str| {
        serde_json::json!({"text": text, "vector": vector, "side": side}).to_string()
    };
    let good = format!(
        "{}\n\n{}\n",
        line("a ship", &ship, "query"),
        line("green tea", &tea, "document")
    );
    here.write("good.jsonl", good);
    let check = |file: &str, more: &[&str]| {
        let arguments = [&["models", "inspect", "model", "--check", file][..], more].concat();
        ir(&here, NO_HUB, &arguments)
    };
    let shown = check("good.jsonl", &[]).ok().out;
    for part in [
        "compared texts",
        "largest difference",
        "least cosine  1.0000000",
    ] {
        let found = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(found.contains(&part), "{part} in {shown}");
    }
    // 1e-3 of the largest component.
    let largest = tea.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let mut other = tea.clone();
    other[1] += 1e-3 * largest;
    here.write(
        "other.jsonl",
        [
            line("a ship", &ship, "query"),
            line("green tea", &other, "document"),
        ]
        .join("\n"),
    );
    check("other.jsonl", &[]).fails(1, &["other.jsonl:2: expected differences of at most 1e-4"]);
    let json = check("other.jsonl", &["--tolerance", "0.01", "--json"])
        .ok()
        .out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["check"]["texts"], &json["check"]["worst_line"]),
        (&2.into(), &2.into())
    );
    here.write("short.jsonl", r#"{"text": "a", "vector": [1, 2]}"#);
    check("short.jsonl", &[]).fails(
        1,
        &["short.jsonl:1: expected a vector of 12 numbers, found 2"],
    );
    here.write("bad.jsonl", r#"{"text": "a"}"#);
    check("bad.jsonl", &[]).fails(1, &["bad.jsonl:1: expected {", "vector"]);
    here.write("empty.jsonl", "\n");
    check("empty.jsonl", &[]).fails(1, &["empty.jsonl: expected texts with vectors, found none"]);
    let without = ["models", "inspect", "model", "--tolerance", "1"];
    ir(&here, NO_HUB, &without).fails(2, &["--check"]);
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
