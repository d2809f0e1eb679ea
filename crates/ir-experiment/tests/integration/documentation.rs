//! The reference of keys in docs/experiments.md has every key and value of the JSON Schema.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ir_core::Predicate;
use ir_eval::Rules;
use serde_json::{Map, Value};

const START: &str = "<!-- reference: written by UPDATE_DOCS=1 cargo test -p ir-experiment \
                     --test integration documentation -->\n";
const END: &str = "<!-- end of reference -->\n";

/// Tables of a file with the definitions of their keys in the schema, in the order of the
/// reference.
const TABLES: [(&str, &str); 22] = [
    ("`[[tasks]]`", "TaskEntry"),
    ("`training` of a task", "QuerySet"),
    ("Files in TREC format: `qrels`, `run`", "TrecFile"),
    ("`[search]`", "SearchEntry"),
    ("`[[systems]]`", "System"),
    ("`analyzer` of a system", "AnalysisEntry"),
    ("`cleaning` of a system", "CleaningEntry"),
    ("`expansion` of a system", "ExpansionEntry"),
    ("`[encoders.NAME]`, `encoder` of a system", "EncoderEntry"),
    ("`random` of an encoder", "RandomEntry"),
    ("`training` of an encoder", "TrainingEntry"),
    ("`training` of the type `rerank`", "RerankerTrainingEntry"),
    ("`teacher` of `training`", "TeacherEntry"),
    ("`mining` of `training`", "MiningEntry"),
    ("`[[classifications]]`", "ClassificationEntry"),
    ("`[selection]`", "SelectionEntry"),
    ("`[comparison]`", "ComparisonEntry"),
    ("`[output]`", "OutputEntry"),
    ("`[reproduction]`", "ReproductionEntry"),
    ("`[[reproduction.published]]`", "PublishedValues"),
    ("`[[expected]]`", "ExpectedValues"),
    // Documented as the type `bm25` of a system.
    ("", "Bm25System"),
];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md")
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

/// Description in one line, as a table cell.
fn cell(value: &Value) -> String {
    let text = value["description"].as_str().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

/// Names of the definitions that a value refers to.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref") {
                found.push(target.trim_start_matches("#/definitions/").to_owned());
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Named values of a definition, with their descriptions; empty for other definitions.
fn values(definition: &Value) -> Vec<(String, String)> {
    let alternatives = definition["oneOf"].as_array();
    let named = alternatives.into_iter().flatten().filter_map(|value| {
        let name = value["const"].as_str()?;
        Some((name.to_owned(), cell(value)))
    });
    named.collect()
}

/// Keys of a table. Values of a key that is explained earlier are only named.
fn write_keys(
    text: &mut String,
    schema: &Value,
    properties: &Map<String, Value>,
    explained: &mut Vec<String>,
) {
    text.push_str("| key | meaning |\n|---|---|\n");
    let mut new = Vec::new();
    for (key, property) in properties {
        let mut meaning = cell(property);
        let mut targets = Vec::new();
        references(property, &mut targets);
        for target in targets {
            let named = values(&schema["definitions"][&target]);
            if named.is_empty() {
                continue;
            }
            let names: Vec<String> = named.iter().map(|(name, _)| format!("`{name}`")).collect();
            write!(meaning, " Values: {}.", names.join(", ")).unwrap();
            if !explained.contains(&target) {
                explained.push(target.clone());
                new.push((key, named));
            }
        }
        writeln!(text, "| `{key}` | {meaning} |").unwrap();
    }
    for (key, named) in new {
        write!(text, "\n| `{key}` | |\n|---|---|\n").unwrap();
        for (name, meaning) in named {
            writeln!(text, "| `{name}` | {meaning} |").unwrap();
        }
    }
}

fn reference() -> String {
    let schema = ir_experiment::json_schema();
    let mut text = "\n### File\n\n".to_owned();
    let mut explained = Vec::new();
    write_keys(
        &mut text,
        &schema,
        object(&schema["properties"]),
        &mut explained,
    );
    for (title, name) in TABLES {
        let definition = &schema["definitions"][name];
        if name == "System" {
            write_systems(&mut text, &schema, definition, &mut explained);
        } else if name == "TrecFile" {
            write!(text, "\n### {title}\n\n").unwrap();
            let table = &definition["anyOf"][1];
            write_keys(
                &mut text,
                &schema,
                object(&table["properties"]),
                &mut explained,
            );
        } else if !title.is_empty() {
            write!(text, "\n### {title}\n\n{}\n\n", cell(definition)).unwrap();
            write_keys(
                &mut text,
                &schema,
                object(&definition["properties"]),
                &mut explained,
            );
        }
    }
    text.push('\n');
    text
}

/// Keys that all types of systems have, then those of each type.
fn write_systems(text: &mut String, schema: &Value, system: &Value, explained: &mut Vec<String>) {
    // The type of the feature `remote` is described by docs/engines.md.
    let types = system["oneOf"].as_array().unwrap().iter();
    let types: Vec<&Value> = types
        .filter(|kind| kind["properties"]["type"]["const"] != "remote")
        .collect();
    let properties = |kind: &Value| object(&kind["properties"]).clone();
    let is_common = |key: &String| types.iter().all(|kind| properties(kind).contains_key(key));
    let (common, _): (Map<_, _>, Map<_, _>) =
        (properties(types[0]).into_iter()).partition(|(key, _)| is_common(key));
    text.push_str("\n### `[[systems]]`\n\n");
    write_keys(text, schema, &common, explained);
    for &kind in &types {
        let name = kind["properties"]["type"]["const"].as_str().unwrap();
        let own = properties(kind).into_iter();
        let own: Map<String, Value> = own.filter(|(key, _)| !is_common(key)).collect();
        write!(text, "\n### Type `{name}`\n\n{}\n\n", cell(kind)).unwrap();
        write_keys(text, schema, &own, explained);
    }
}

#[test]
fn the_reference_has_all_keys_of_the_schema() {
    let schema = ir_experiment::json_schema();
    // Every definition is a table of the reference, or explained as the value of a key.
    for (name, definition) in object(&schema["definitions"]) {
        let is_table = TABLES.iter().any(|(_, table)| table == name);
        let is_string_or_table = name == "EncoderReference";
        assert!(
            is_table || is_string_or_table || !values(definition).is_empty(),
            "{name} is not in the reference"
        );
    }
    let text = fs::read_to_string(docs()).unwrap();
    let (before, rest) = text.split_once(START).expect("start of the reference");
    let (found, after) = rest.split_once(END).expect("end of the reference");
    let expected = reference();
    if found != expected && std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(docs(), format!("{before}{START}{expected}{END}{after}")).unwrap();
        return;
    }
    for line in expected.lines() {
        assert!(found.lines().any(|it| it == line), "missing: {line}");
    }
    assert_eq!(found, expected, "docs/experiments.md is stale");
}

/// Tables that the schema does not describe: evaluation rules and conditions.
#[test]
fn rules_and_conditions_are_documented() {
    let text = fs::read_to_string(docs()).unwrap();
    let rows = |title: &str| -> Vec<String> {
        let (_, section) = text.split_once(&format!("\n### {title}\n")).expect(title);
        let table = section.lines().skip_while(|line| !line.starts_with('|'));
        let rows = table.take_while(|line| line.starts_with('|')).skip(2);
        let keys = rows.map(|row| row.split('`').nth(1).unwrap().to_owned());
        keys.collect()
    };
    let rules = serde_json::to_value(Rules::default()).unwrap();
    let mut keys: Vec<String> = object(&rules).keys().cloned().collect();
    keys.sort();
    let mut found = rows("`[rules]`");
    found.sort();
    assert_eq!(found, keys);
    for row in rows("`where`") {
        let value = match row.as_str() {
            "at_most" | "at_least" => r#"{"name": "year", "limit": 2015}"#,
            "one_of" => r#"{"name": "year", "values": [2015]}"#,
            "known" => r#"{"name": "year"}"#,
            "all" | "any" => r#"[{"known": {"name": "year"}}]"#,
            _ => r#"{"known": {"name": "year"}}"#,
        };
        let condition: Result<Predicate, _> =
            serde_json::from_str(&format!("{{{row:?}: {value}}}"));
        assert!(condition.is_ok(), "{row}");
    }
    assert_eq!(rows("`where`").len(), 7);
}

/// Every expected value of the repository is published, of a peer, or of a first run.
#[test]
fn expected_values_state_their_origin() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let experiment = ir_experiment::Experiment::open(&path).unwrap();
        let Some(reproduction) = &experiment.reproduction else {
            continue;
        };
        for expected in &experiment.expected {
            let origin = expected.origin.or(reproduction.origin);
            assert!(origin.is_some(), "{}: {expected:?}", path.display());
            count += 1;
        }
    }
    assert!(count > 100);
}
