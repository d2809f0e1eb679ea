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

/// Sets a parameter of a part, or of the first system with its key: the system to search, or a
/// system below its priors and rerankings.
pub(super) fn set(
    keys: &mut Keys,
    spec: &mut SystemSpec,
    name: &str,
    value: GridValue,
) -> Result<(), String> {
    let mut systems = from_root(spec);
    let mut key = name;
    if let Some((part, of_the_part)) = name.split_once('.') {
        let kind = |at: usize| spec.systems[at].kind.as_str();
        let is_kind = ["prior", "rerank"].contains(&part);
        let named = match systems.iter().find(|&&at| is_kind && kind(at) == part) {
            Some(at) => Some(*at),
            None => spec.systems.iter().position(|it| it.name == part),
        };
        if let Some(at) = named {
            (systems, key) = (vec![at], of_the_part);
        }
    }
    let known = |at: &usize| {
        let mut parameters = keys.of(&spec.systems[*at].kind).iter();
        parameters.any(|parameter| parameter.key == key_of(key))
    };
    let found = systems.iter().copied().find(known);
    match found.or(systems.last().copied()) {
        Some(at) => set_parameter(keys, &mut spec.systems[at], key, value),
        None => Err(format!("expected a system, found none for {name:?}")),
    }
}

/// Positions of the system to search, and of the systems below its priors and rerankings.
fn from_root(spec: &SystemSpec) -> Vec<usize> {
    let position = |name: &str| spec.systems.iter().position(|it| it.name == name);
    let mut found = Vec::new();
    let mut next = spec.root().and_then(|root| position(&root.name));
    // A cycle is an error of the system.
    while let Some(at) = next.filter(|at| !found.contains(at)) {
        found.push(at);
        let system = &spec.systems[at];
        let below = match system.kind.as_str() {
            "prior" => system.parameters.get("of"),
            "rerank" => system.parameters.get("first"),
            _ => None,
        };
        next = below.and_then(Value::as_str).and_then(position);
    }
    found
}

/// Key of a type that a name in a grid changes.
fn key_of(name: &str) -> &str {
    if SDM.contains(&name) {
        return "sdm";
    }
    if name.starts_with(FEEDBACK) {
        return "feedback";
    }
    if let Some((_, key)) = KEYS.iter().find(|(known, _)| *known == name) {
        return key;
    }
    match name.split_once('.') {
        Some(("weight" | "weights", _)) => "weights",
        Some(("b" | "field_b", _)) => "field_b",
        _ => name,
    }
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
    let of_fields = key.split_once('.').map(|(_, field)| (key_of(key), field));
    let of_fields = of_fields.filter(|(table, _)| ["weights", "field_b"].contains(table));
    let (table, key, value) = match of_fields {
        Some((table, field)) => (Some(table), field, number()),
        None => {
            let key = key_of(key);
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
