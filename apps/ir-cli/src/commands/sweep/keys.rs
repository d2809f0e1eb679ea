//! Keys of systems in a grid, and their values.

use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseFloatError;
use std::str::FromStr;

use ir_system::{Parameter, Registry, SystemEntry, SystemSpec, SystemType};
use toml::{Table, Value};

use crate::shared::suggest::did_you_mean;

/// Number in a grid. Large integers, such as seeds, are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum GridValue {
    Integer(i64),
    Number(f64),
}

impl GridValue {
    /// Value of a key that takes numbers.
    fn number(self) -> Value {
        Value::Float(match self {
            Self::Integer(value) => value as f64,
            Self::Number(value) => value,
        })
    }
}

impl FromStr for GridValue {
    type Err = ParseFloatError;

    /// Parses an integer or a number. A number such as 5.0 is the integer 5.
    fn from_str(text: &str) -> Result<Self, ParseFloatError> {
        if let Ok(integer) = text.parse() {
            return Ok(Self::Integer(integer));
        }
        let number: f64 = text.parse()?;
        let is_integer =
            number.fract() == 0.0 && number.abs() < (1_u64 << f64::MANTISSA_DIGITS) as f64;
        if is_integer {
            return Ok(Self::Integer(number as i64));
        }
        Ok(Self::Number(number))
    }
}

impl fmt::Display for GridValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
        }
    }
}

/// Parameters of feedback, before their names.
const FEEDBACK: &str = "feedback.";
/// Names of the weights of `--sdm`.
pub(super) const SDM: [&str; 3] = ["sdm.words", "sdm.phrases", "sdm.windows"];
/// Other names of keys.
const KEYS: [(&str, &str); 3] = [
    ("synonyms.weight", "synonym_weight"),
    ("nearest.words", "expansion.words"),
    ("nearest.weight", "expansion.weight"),
];

/// Parameters of the types in a grid.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) registry: Registry,
    of_types: BTreeMap<String, Vec<Parameter>>,
}

impl Keys {
    fn of(&mut self, kind: &str) -> &[Parameter] {
        let Self { registry, of_types } = self;
        of_types.entry(kind.to_owned()).or_insert_with(|| {
            let found = registry.types().find(|known| known.name() == kind);
            found.map(SystemType::parameters).unwrap_or_default()
        })
    }
}

/// Sets a parameter of the system to search, of its base, or of a part.
pub(super) fn set(
    keys: &mut Keys,
    spec: &mut SystemSpec,
    name: &str,
    value: GridValue,
) -> Result<(), String> {
    let root = spec
        .root()
        .map(|root| root.name.clone())
        .unwrap_or_default();
    let (system, key) = match name.split_once('.') {
        Some(("rerank", key)) if root_kind(spec) == "rerank" => (root, key),
        Some(("prior", key)) => (below_rerankings(spec, root), key),
        Some((part, key)) if spec.systems.iter().any(|it| it.name == part) => {
            (part.to_owned(), key)
        }
        _ => (below_priors(spec, root), name),
    };
    match spec.systems.iter_mut().find(|it| it.name == system) {
        Some(system) => set_parameter(keys, system, key, value),
        None => Err(format!("expected a system, found none for {name:?}")),
    }
}

fn root_kind(spec: &SystemSpec) -> &str {
    spec.root().map_or("", |root| &root.kind)
}

/// Name of the system that is scored by priors and finds the candidates of rerankings, or of the
/// system to search.
fn below_priors(spec: &SystemSpec, root: String) -> String {
    below(spec, root, &[("prior", "of"), ("rerank", "first")])
}

/// Name of the system that finds the candidates of rerankings, or of the system to search.
fn below_rerankings(spec: &SystemSpec, root: String) -> String {
    below(spec, root, &[("rerank", "first")])
}

/// Name of the system below systems of some types. Each type has the key that names the system
/// below.
fn below(spec: &SystemSpec, root: String, types: &[(&str, &str)]) -> String {
    let find = |name: &str| spec.systems.iter().find(|it| it.name == name);
    let base = |name: &str| {
        let system = find(name)?;
        let (_, key) = types.iter().find(|(kind, _)| system.kind == *kind)?;
        Some(system.parameters.get(*key)?.as_str()?.to_owned())
    };
    let mut name = root;
    // Priors of priors; more than there are systems is a cycle, which is rejected.
    for _ in 0..spec.systems.len() {
        match base(&name) {
            Some(below) => name = below,
            None => break,
        }
    }
    name
}

fn set_parameter(
    keys: &mut Keys,
    system: &mut SystemEntry,
    key: &str,
    value: GridValue,
) -> Result<(), String> {
    let parameters = &mut system.parameters;
    let number = || value.number();
    if let Some(at) = SDM.iter().position(|known| *known == key) {
        let weights = parameters.get_mut("sdm").and_then(Value::as_array_mut);
        let weight = weights.and_then(|weights| weights.get_mut(at));
        *weight.ok_or_else(|| format!("{key}: expected the key sdm, found none"))? = number();
        return Ok(());
    }
    if let Some(parameter) = key.strip_prefix(FEEDBACK) {
        let base = parameters.get("feedback").and_then(Value::as_str);
        let text = with_parameter(base.unwrap_or_default(), parameter, value);
        parameters.insert("feedback".to_owned(), text.into());
        return Ok(());
    }
    if system.kind == "hybrid"
        && let Some(("weight", part)) = key.split_once('.')
    {
        return set_weight(parameters, part, number());
    }
    let known = KEYS.iter().find(|(name, _)| *name == key);
    let key = known.map_or(key, |(_, key)| key);
    let of_fields = key.split_once('.').and_then(|(table, field)| match table {
        "weight" => Some(("weights", field)),
        "b" => Some(("field_b", field)),
        "weights" | "field_b" => Some((table, field)),
        _ => None,
    });
    let (table, key, value) = match of_fields {
        Some((table, field)) => (Some(table), field, number()),
        None => {
            let all = keys.of(&system.kind);
            let Some(parameter) = all.iter().find(|parameter| parameter.key == key) else {
                let names = || all.iter().map(|parameter| parameter.key.as_str());
                let hint = did_you_mean(key, names());
                let kind = &system.kind;
                return Err(format!("expected a key of {kind}, found {key:?}{hint}"));
            };
            let value = parameter.parse(&value.to_string());
            let value = value.map_err(|error| format!("{key}: {error}"))?;
            match key.split_once('.') {
                Some((table, key)) => (Some(table), key, value),
                None => (None, key, value),
            }
        }
    };
    let target = match table {
        None => parameters,
        Some(table) => match parameters
            .entry(table)
            .or_insert_with(|| Table::new().into())
        {
            Value::Table(table) => table,
            _ => return Err(format!("expected a table {table}, found another value")),
        },
    };
    target.insert(key.to_owned(), value);
    Ok(())
}

/// Sets the weight of a part of a hybrid. Weights that the hybrid does not set are 1.
fn set_weight(parameters: &mut Table, part: &str, weight: Value) -> Result<(), String> {
    let names = parameters.get("of").and_then(Value::as_array).into_iter();
    let names: Vec<&str> = names.flatten().filter_map(Value::as_str).collect();
    let Some(at) = names.iter().position(|name| *name == part) else {
        let hint = did_you_mean(part, names.iter().copied());
        let known = names.join(", ");
        return Err(format!(
            "weight.{part}: expected a part of the hybrid ({known}), found {part:?}{hint}"
        ));
    };
    let count = names.len();
    let ones = || Value::Array(vec![Value::Float(1.0); count]);
    let weights = parameters.entry("weights").or_insert_with(ones);
    match weights.as_array_mut().and_then(|list| list.get_mut(at)) {
        Some(value) => *value = weight,
        None => {
            return Err(format!(
                "weights: expected {count} weights, one for each system"
            ));
        }
    }
    Ok(())
}

/// The text of a feedback model with a further parameter.
fn with_parameter(base: &str, name: &str, value: GridValue) -> String {
    let (model, given) = base.split_once('(').unwrap_or((base, ")"));
    let given = given.trim_end();
    let given = given.strip_suffix(')').unwrap_or(given);
    let separator = if given.is_empty() { "" } else { "," };
    format!("{model}({given}{separator}{name}={value})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_models() {
        let value = |text: &str| text.parse::<GridValue>().unwrap();
        assert_eq!(with_parameter("rm3", "docs", value("5.0")), "rm3(docs=5)");
        assert_eq!(
            with_parameter("rm3(docs=5)", "weight", value("0.50")),
            "rm3(docs=5,weight=0.5)"
        );
        assert_eq!(value("33333333").to_string(), "33333333");
        assert_eq!(value("9007199254740993").to_string(), "9007199254740993");
    }
}
