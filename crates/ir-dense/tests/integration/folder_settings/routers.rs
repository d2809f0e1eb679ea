//! Routers: modules per side.

use std::fs;
use std::path::Path;

use ir_core::Side;
use ir_dense::train::Trainer;
use ir_dense::{BiEncoder, describe};
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

use super::{HIDDEN, message, module, open, saved, vectors, with_pooling, write};
use crate::common::on_backend;

/// Writes a Dense module.
fn write_dense(folder: &Path, scale: f32) {
    let shape = json!({"in_features": HIDDEN, "out_features": 2, "bias": false,
        "activation_function": "torch.nn.modules.linear.Identity"});
    write(folder, "config.json", &shape);
    let weight: Vec<u8> = (0..2 * HIDDEN)
        .flat_map(|at| (scale * (at as f32 - 8.0)).to_le_bytes())
        .collect();
    write_tensors(folder, &[("linear.weight", vec![2, HIDDEN], weight)]);
}

fn write_tensors(folder: &Path, tensors: &[(&str, Vec<usize>, Vec<u8>)]) {
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        (*name, view.unwrap())
    });
    safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
}

#[test]
fn routers_have_modules_per_side() {
    let tower = |scale: f32| {
        let modules = json!([
            module("", "Transformer"),
            module("1_Pooling", "Pooling"),
            module("2_Dense", "Dense")
        ]);
        let folder = with_pooling("bert", &json!({}));
        write(folder.path(), "modules.json", &modules);
        write_dense(&folder.path().join("2_Dense"), scale);
        folder
    };
    let (query, document) = (tower(1.0), tower(-2.0));
    let expected = BiEncoder::open_untied(query.path(), document.path(), &on_backend()).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &Path, to: &str| {
        fs::create_dir_all(folder.path().join(to)).unwrap();
        for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
            if file.path().is_file() && file.file_name() != "modules.json" {
                fs::copy(file.path(), folder.path().join(to).join(file.file_name())).unwrap();
            }
        }
    };
    let router = |at: &str, query_route: &str, mappings: &Value| {
        copy(query.path(), &format!("{at}t"));
        copy(&query.path().join("1_Pooling"), &format!("{at}p"));
        copy(&query.path().join("2_Dense"), &format!("{at}q"));
        copy(&document.path().join("2_Dense"), &format!("{at}d"));
        let class = |name: &str| format!("sentence_transformers.base.modules.x.{name}");
        let dense = class("Dense");
        json!({
            "types": {"t": class("Transformer"), "p": class("Pooling"), "q": dense, "d": dense},
            "structure": {query_route: ["t", "p", "q"], "document": ["t", "p", "d"]},
            "parameters": {"default_route": "document", "route_mappings": mappings},
        })
    };
    let config = router("", "query", &json!({}));
    write(folder.path(), "router_config.json", &config);
    write(
        folder.path(),
        "modules.json",
        &json!([module("", "Router")]),
    );
    let found = open(folder.path());
    for side in [Side::Query, Side::Document] {
        assert_eq!(vectors(&found, side), vectors(&expected, side));
    }
    let files = ir_dense::model_files(folder.path());
    for file in [
        "router_config.json",
        "t/config.json",
        "q/model.safetensors",
        "d/config.json",
    ] {
        assert!(files.contains(&folder.path().join(file)), "{file}");
    }
    let model = describe(folder.path(), &on_backend()).unwrap();
    assert_eq!((model.dim, model.towers.len()), (2, 2));
    assert_eq!(model.towers[1].sides[0].side, "document");
    let (here, again) = saved(&found);
    assert_eq!(vectors(&again, Side::Query), vectors(&found, Side::Query));
    assert!(here.path().join("model/query/2_Dense").is_dir());
    let error = Trainer::open(folder.path(), &crate::common::config()).unwrap_err();
    assert!(error.to_string().contains("BiEncoder::save"), "{error}");

    // Early versions: Asym in a folder, `config.json`.
    let mappings = json!({"('query', None)": "topic"});
    let config = router("0_Asym/", "topic", &mappings);
    write(folder.path(), "0_Asym/config.json", &config);
    write(
        folder.path(),
        "modules.json",
        &json!([module("0_Asym", "Asym")]),
    );
    let found = open(folder.path());
    assert_eq!(
        vectors(&found, Side::Query),
        vectors(&expected, Side::Query)
    );
    let config = router("0_Asym/", "topic", &Value::Null);
    write(folder.path(), "0_Asym/config.json", &config);
    let end = "0_Asym/config.json: structure is document, topic, expected a route query";
    assert!(message(folder.path()).ends_with(end));
}
