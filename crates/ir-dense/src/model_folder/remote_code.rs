//! Error of an architecture that is not known, and code in a model folder, which is not executed.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::ModelError;

/// Returns the error of a `config.json` with an unknown architecture: its name, what kind of model
/// it is, the known architecture with the most similar name with what the configuration has of it
/// (`differences`), and the code that it needs.
pub(crate) fn unknown_architecture(
    path: &Path,
    fields: &Map<String, Value>,
    known: &[&str],
    differences: impl Fn(&str) -> Option<String>,
) -> ModelError {
    let class = class(fields);
    let name = fields.get("model_type").and_then(Value::as_str);
    let mut expected = format!("one of {}", known.join(", "));
    if let Some(nearest) = nearest(name.unwrap_or(class), known) {
        expected.push_str(&format!("; the nearest is {nearest}"));
        if let Some(differences) = differences(nearest).filter(|it| !it.is_empty()) {
            expected.push_str(&format!(" ({differences})"));
        }
    }
    let found = match (name, kind(fields)) {
        (None, _) => "missing".to_owned(),
        (Some(name), None) => format!("{name:?}"),
        (Some(name), Some(kind)) => format!("{name:?} ({kind})"),
    };
    match code(path, fields) {
        None => ModelError::setting(path, "model_type", expected, found),
        Some(code) => ModelError::RemoteCode {
            path: path.into(),
            code,
            model_type: found,
            expected,
        },
    }
}

fn class(fields: &Map<String, Value>) -> &str {
    let classes = fields.get("architectures").and_then(Value::as_array);
    let class = classes.and_then(|classes| classes.first()?.as_str());
    class.unwrap_or_default()
}

/// Kind of a model that is not an encoder of texts, by the fields of its configuration.
fn kind(fields: &Map<String, Value>) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().any(|&name| fields.contains_key(name));
    let class = class(fields);
    if fields.get("is_encoder_decoder") == Some(&Value::Bool(true)) {
        Some("an encoder-decoder")
    } else if has(&["vision_config", "image_size", "num_channels"]) {
        Some("a model of images")
    } else if has(&["num_mel_bins", "conv_kernel", "sampling_rate"]) {
        Some("a model of audio")
    } else if class.contains("CausalLM") || class.contains("LMHead") {
        Some("a decoder")
    } else {
        None
    }
}

/// Known name that shares the longest beginning with `name`, or that `name` contains.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let letters = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    let name = letters(name);
    let similarity = |known: &&str| {
        let known = letters(known);
        let pairs = name.bytes().zip(known.bytes());
        match pairs.take_while(|(a, b)| a == b).count() {
            _ if name.contains(&known) => known.len() + 2,
            length => length,
        }
    };
    let found = known.iter().max_by_key(|known| similarity(known))?;
    (similarity(found) > 3).then_some(*found)
}

/// Files with code that a configuration or folder has; `None` without any.
pub(crate) fn code(path: &Path, fields: &Map<String, Value>) -> Option<String> {
    let map = fields.get("auto_map").and_then(Value::as_object);
    let references = map
        .into_iter()
        .flatten()
        .flat_map(|(_, value)| match value {
            Value::Array(values) => &values[..],
            value => std::slice::from_ref(value),
        });
    // "repository--module.Class" or "module.Class".
    let module = |reference: &Value| {
        let reference = reference.as_str()?;
        let module = reference.rsplit("--").next()?.split('.').next()?;
        Some(format!("{module}.py"))
    };
    let mut files: Vec<String> = references.filter_map(module).collect();
    let folder = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    let names = folder.into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    files.extend(names.filter(|name| name.ends_with(".py")));
    files.sort_unstable();
    files.dedup();
    (!files.is_empty()).then(|| files.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KNOWN: [&str; 6] = [
        "bert",
        "xlm-roberta",
        "roberta",
        "t5",
        "qwen2",
        "modernbert",
    ];

    fn message(config: Value) -> String {
        let Value::Object(fields) = config else {
            panic!("an object")
        };
        let path = Path::new("none/config.json");
        unknown_architecture(path, &fields, &KNOWN, |_| None).to_string()
    }

    #[test]
    fn names_kind_nearest_architecture_and_code() {
        for (config, found, nearest) in [
            (
                json!({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}),
                "model_type is \"gpt2\" (a decoder), expected one of bert, ",
                "",
            ),
            (
                json!({"model_type": "mt5", "is_encoder_decoder": true}),
                "\"mt5\" (an encoder-decoder)",
                "; the nearest is t5",
            ),
            (
                json!({"model_type": "clip", "vision_config": {}}),
                "\"clip\" (a model of images)",
                "",
            ),
            (
                json!({"model_type": "modernbert_decoder"}),
                "\"modernbert_decoder\"",
                "; the nearest is modernbert",
            ),
            (
                json!({"model_type": "qwen2_moe"}),
                "\"qwen2_moe\"",
                "; the nearest is qwen2",
            ),
            (json!({}), "model_type is missing", ""),
        ] {
            let message = message(config);
            assert!(message.contains(found), "{message}");
            let end = message
                .find("; the nearest")
                .map_or("", |at| &message[at..]);
            assert_eq!(end, nearest, "{message}");
        }
        let config = json!({"model_type": "hyena", "auto_map": {
            "AutoConfig": "configuration_hyena.HyenaConfig",
            "AutoModel": ["org/other--modeling_hyena.Hyena", null],
        }});
        let end = "the model needs code of the folder (configuration_hyena.py, modeling_hyena.py), \
            which is not executed; model_type is \"hyena\", expected one of bert, xlm-roberta, \
            roberta, t5, qwen2, modernbert";
        assert_eq!(message(config), format!("none/config.json: {end}"));
    }
}
