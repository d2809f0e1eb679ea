//! A system as its type and keys: `--type` and `--set`, for all types and keys of the registry.

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ir_system::systems::RUN;
use ir_system::{ParameterValues, SystemEntry, SystemSpec, SystemType};
use toml::{Table, Value};

use super::SystemOptions;
use super::option::{HYBRID, PRIOR, REGISTRY, RERANK};
use crate::shared::console::{Usage, bail_usage};
use crate::shared::input::arguments;
use crate::shared::list_style::wrapped;

const HEADING: &str = "System";

/// System of a type, with the keys that a system file may have.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TypedSystem {
    /// Type of the system, with keys by --set. Replaces the options of a model. `ir help search
    /// systems` lists the keys of each type
    #[arg(
        id = "type", long = "type", value_name = "TYPE", help_heading = HEADING, value_parser = types(),
        conflicts_with = "system", conflicts_with_all = SystemOptions::ids(),
    )]
    kind: Option<String>,

    /// Key of the system of --type: a value of TOML, as in a system file, or text without quotes.
    /// Dots separate the keys of a table, as in encoder.model=FOLDER; repeatable
    #[arg(
        long, value_name = "KEY=VALUE", help_heading = HEADING, value_parser = setting,
        requires = "type", conflicts_with = "system", conflicts_with_all = SystemOptions::ids(),
    )]
    set: Vec<Setting>,
}

/// Key with its value.
#[derive(Debug, Clone)]
struct Setting {
    key: String,
    value: Value,
}

/// Types that need more than a collection and files, with what they need.
const COMPOSED: [(&str, &str); 4] = [
    (HYBRID, PARTS),
    (PRIOR, PARTS),
    (RERANK, PARTS),
    (
        RUN,
        "expected a type that searches; experiment files compare runs",
    ),
];
const PARTS: &str = "expected a type without parts; a system file (--system) names the parts";

/// What a type needs beside a collection and files.
fn needs(kind: &str) -> Option<&'static str> {
    let found = COMPOSED.iter().find(|(name, _)| *name == kind);
    found.map(|(_, needs)| *needs)
}

fn types() -> impl TypedValueParser<Value = String> {
    let values = REGISTRY.types().map(|known| {
        let value = PossibleValue::new(known.name());
        match needs(known.name()) {
            Some(_) => value.hide(true),
            None => value.help(known.description().trim_end_matches('.').to_owned()),
        }
    });
    let values = PossibleValuesParser::new(values.collect::<Vec<_>>());
    values.try_map(|kind| needs(&kind).map_or(Ok(kind), Err))
}

fn setting(text: &str) -> Result<Setting, String> {
    let (key, value) = text.split_once('=').unwrap_or_default();
    let (key, value) = (key.trim(), value.trim());
    if key.split('.').any(str::is_empty) {
        return Err(format!("expected KEY=VALUE, found {text:?}"));
    }
    let value = match value.parse::<Value>() {
        Ok(value) => value,
        Err(_) if value.starts_with(['"', '\'', '[']) => {
            return Err(format!(
                "{key}: expected a TOML value, with texts in quotation marks, found {value}"
            ));
        }
        Err(_) => Value::from(value),
    };
    let key = key.to_owned();
    Ok(Setting { key, value })
}

impl TypedSystem {
    /// Ids of the options, for conflicts with other options.
    pub(crate) const IDS: [&'static str; 2] = ["type", "set"];

    /// Returns `true` if the options describe a system.
    pub(crate) const fn is_set(&self) -> bool {
        self.kind.is_some()
    }

    /// The system, with the name `ir-TYPE`; `None` without `--type`.
    ///
    /// # Errors
    /// Returns a usage error that names the option and the key of an invalid value.
    pub(crate) fn spec(&self) -> Result<Option<SystemSpec>> {
        let Some(kind) = &self.kind else {
            return Ok(None);
        };
        let mut entry = SystemEntry::new(format!("ir-{kind}"), kind);
        for Setting { key, value } in &self.set {
            let (name, _) = key.split_once('.').unwrap_or((key, ""));
            let known = REGISTRY.check_key(kind, name, &[]);
            known.map_err(|error| Usage(format!("--set {error}")))?;
            if !insert(&mut entry.parameters, key, value) {
                bail_usage!("--set {key}: expected one value, found two");
            }
        }
        let mut spec = SystemSpec::new(vec![entry]);
        // The source has the given keys: an index is compared with them, as with keys of a file.
        let source = SystemSpec::from_toml(&spec.to_toml()?)?.source;
        spec.source = source.with_option_names(vec![kind.clone()], option_of_key);
        let checked = spec.validate(&REGISTRY);
        checked.map_err(|error| Usage(error.to_string()))?;
        arguments::record_system(spec.clone());
        Ok(Some(spec))
    }
}

/// Inserts the value of a key, in which dots separate the keys of tables. Returns `false` if the
/// key has a value.
fn insert(table: &mut Table, key: &str, value: &Value) -> bool {
    if let Some((outer, key)) = key.split_once('.') {
        let inner = table
            .entry(outer)
            .or_insert_with(|| Table::new().into())
            .as_table_mut();
        return inner.is_some_and(|inner| insert(inner, key, value));
    }
    let is_new = !table.contains_key(key);
    if is_new {
        table.insert(key.to_owned(), value.clone());
    }
    is_new
}

/// Option of a key in messages, such as `--set dim`.
fn option_of_key(_kind: &str, key: &str) -> String {
    match key {
        "" => "--type".to_owned(),
        "filter" => "--not-later-than-query".to_owned(),
        "where" => "--filter".to_owned(),
        key => format!("--set {key}"),
    }
}

/// Maximum width of the list of types, in columns.
const WIDTH: usize = 98;

/// Types of `--type` with the keys of `--set`, for the help.
pub(crate) fn list_types() -> String {
    let mut lines = vec!["Types (--type) with their keys (--set KEY=VALUE):".to_owned()];
    for known in REGISTRY.types().filter(|it| needs(it.name()).is_none()) {
        lines.push(String::new());
        let text = format!("  {}: {}", known.name(), known.description());
        lines.extend(wrapped(&text, WIDTH));
        lines.extend(list_keys(known));
    }
    lines.join("\n")
}

fn list_keys(kind: &SystemType) -> Vec<String> {
    let keys = kind.parameters().into_iter().map(|parameter| {
        let words: Vec<&str> = parameter.description.split_whitespace().collect();
        let mut text = format!("    {}: {}", parameter.key, words.join(" "));
        if let ParameterValues::Names(names) = &parameter.values {
            let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
            text += &format!(" Values: {}.", names.join(", "));
        }
        wrapped(&text, WIDTH)
    });
    keys.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_toml_or_text() {
        for (text, key, expected) in [
            ("dim=100", "dim", Value::from(100)),
            ("weight = 0.5", "weight", Value::from(0.5)),
            ("sublinear=true", "sublinear", Value::from(true)),
            ("analyzer=english", "analyzer", Value::from("english")),
            ("analyzer=\"english\"", "analyzer", Value::from("english")),
            (
                "template={title} {text}",
                "template",
                Value::from("{title} {text}"),
            ),
            ("vectors=a=b.jsonl", "vectors", Value::from("a=b.jsonl")),
            (
                "vectors=2 files.jsonl",
                "vectors",
                Value::from("2 files.jsonl"),
            ),
            ("template=", "template", Value::from("")),
            (
                "sdm=[0.8, 1]",
                "sdm",
                vec![Value::from(0.8), Value::from(1)].into(),
            ),
            (
                "cleaning={ lower_case = true }",
                "cleaning",
                Table::from_iter([("lower_case".to_owned(), true.into())]).into(),
            ),
        ] {
            let found = setting(text).unwrap();
            assert_eq!((found.key.as_str(), found.value), (key, expected), "{text}");
        }
        for wrong in [
            "dim",
            "=1",
            "",
            "a..b=1",
            ".a=1",
            "template=\"{title}",
            "sdm=[1, 2",
        ] {
            assert!(setting(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_with_dots_are_keys_of_tables() {
        let mut table = Table::new();
        let one = Value::from(1);
        assert!(insert(&mut table, "cleaning.tags", &one));
        assert!(insert(&mut table, "cleaning.lower_case", &one));
        assert!(insert(&mut table, "dim", &one));
        let expected = "dim = 1\ncleaning = { tags = 1, lower_case = 1 }";
        let expected: Table = expected.parse().unwrap();
        assert_eq!(table, expected);
        for twice in ["dim", "dim.x", "cleaning", "cleaning.tags"] {
            assert!(!insert(&mut table, twice, &one), "{twice}");
        }
        assert_eq!(table, expected);
    }
}
