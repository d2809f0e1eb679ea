//! Keys of systems in a grid, and their values.

use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseFloatError;
use std::str::FromStr;

use ir_system::{Parameter, ParameterValues, Registry, SystemSpec, SystemType};
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

/// What a key of a grid changes in a system.
enum Target<'k> {
    Value(&'k Parameter),
    /// Number of a table, by name.
    Entry(&'k Parameter, &'k str),
    /// Weight of sequential dependence, by position.
    Sdm(usize),
    /// Parameter of the feedback model.
    Feedback(&'k str),
    /// Weight of a part of a hybrid.
    Part(&'k str),
}

impl<'k> Target<'k> {
    /// What a key changes in a system with these parameters.
    fn find(parameters: &'k [Parameter], key: &'k str) -> Option<Self> {
        let find = |key: &str| parameters.iter().find(|parameter| parameter.key == key);
        if let Some(at) = SDM.iter().position(|known| *known == key) {
            return find("sdm").map(|_| Self::Sdm(at));
        }
        let named = KEYS.iter().find(|(known, _)| *known == key);
        if let Some(parameter) = find(named.map_or(key, |(_, key)| *key)) {
            return Some(Self::Value(parameter));
        }
        let (table, name) = key.split_once('.')?;
        let parameter = find(match table {
            "weight" => "weights",
            "b" => "field_b",
            _ => table,
        })?;
        match (&parameter.values, parameter.key.as_str()) {
            (ParameterValues::NumbersByName, _) => Some(Self::Entry(parameter, name)),
            (ParameterValues::List(..), "weights") => Some(Self::Part(name)),
            (_, "feedback") => Some(Self::Feedback(name)),
            _ => None,
        }
    }
}

/// Keys of a grid that a system with these parameters has.
fn names(parameters: &[Parameter]) -> Vec<String> {
    let names = parameters.iter().flat_map(|parameter| {
        let key = &parameter.key;
        match (&parameter.values, key.as_str()) {
            (ParameterValues::Integer | ParameterValues::Number, _) => vec![key.clone()],
            (_, "sdm") => SDM.map(str::to_owned).to_vec(),
            (ParameterValues::NumbersByName, _) | (_, "feedback" | "weights") => {
                vec![format!("{key}.NAME")]
            }
            _ => Vec::new(),
        }
    });
    names.collect()
}

/// Sets a parameter of a part, or of the first system with its key: the system to search, or a
/// system below its priors and rerankings.
pub(super) fn set(
    keys: &mut Keys,
    spec: &mut SystemSpec,
    name: &str,
    value: GridValue,
) -> Result<(), String> {
    let (systems, key) = addressed(spec, name);
    for &at in &systems {
        let system = &mut spec.systems[at];
        if let Some(target) = Target::find(keys.of(&system.kind), key) {
            return set_target(&mut system.parameters, target, key, value);
        }
    }
    Err(unknown(keys, spec, &systems, key))
}

/// Systems that may have a key, and the key. A name that starts with the name of a part and a dot
/// is a key of the part, of the longest such name; any other name is a key of [`from_root`].
fn addressed<'n>(spec: &SystemSpec, name: &'n str) -> (Vec<usize>, &'n str) {
    let systems = from_root(spec);
    let key_of = |part: &str| name.strip_prefix(part)?.strip_prefix('.');
    let of_kind = |at: &usize| {
        let kind = spec.systems[*at].kind.as_str();
        let key = key_of(kind).filter(|_| ["prior", "rerank"].contains(&kind));
        Some((*at, key?))
    };
    let all = spec.systems.iter().enumerate();
    let of_parts = all.filter_map(|(at, part)| Some((at, key_of(part.name.as_str())?)));
    let named = of_parts.min_by_key(|(_, key)| key.len());
    let found = systems.iter().find_map(of_kind).or(named);
    match found {
        Some((at, key)) => (vec![at], key),
        None => (systems, name),
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

/// Error of a key that none of the systems has. The first one names its type and keys.
fn unknown(keys: &mut Keys, spec: &SystemSpec, systems: &[usize], key: &str) -> String {
    let kinds = systems.iter().map(|at| spec.systems[*at].kind.as_str());
    let of_kinds: Vec<_> = kinds.map(|kind| (kind, names(keys.of(kind)))).collect();
    let Some((kind, known)) = of_kinds.first() else {
        return format!("expected a system, found none for {key:?}");
    };
    let known = known.join(", ");
    let hint = did_you_mean(
        key,
        of_kinds.iter().flat_map(|(_, it)| it).map(String::as_str),
    );
    let parts = spec.systems.iter().map(|part| part.name.as_str());
    let parts: Vec<&str> = parts.collect();
    let of_parts = if parts.len() > 1 && spec.source.path().is_some() {
        format!(" or PART.KEY of {}", parts.join(", "))
    } else {
        String::new()
    };
    format!("expected a key of {kind} ({known}){of_parts}, found {key:?}{hint}")
}

fn set_target(
    parameters: &mut Table,
    target: Target<'_>,
    key: &str,
    value: GridValue,
) -> Result<(), String> {
    match target {
        Target::Value(parameter) => {
            let value = parameter.parse(&value.to_string());
            let value = value.map_err(|error| format!("{}: {error}", parameter.key))?;
            insert(parameters, parameter.key.split('.'), value)
        }
        Target::Entry(parameter, name) => {
            let path = parameter.key.split('.').chain([name]);
            insert(parameters, path, value.number())
        }
        Target::Sdm(at) => {
            let weights = parameters.get_mut("sdm").and_then(Value::as_array_mut);
            let weight = weights.and_then(|weights| weights.get_mut(at));
            let missing = || format!("{key}: expected the key sdm, found none");
            *weight.ok_or_else(missing)? = value.number();
            Ok(())
        }
        Target::Feedback(name) => {
            let base = parameters.get("feedback").and_then(Value::as_str);
            let missing = || format!("{key}: expected the key feedback, found none");
            let text = with_parameter(base.ok_or_else(missing)?, name, value);
            parameters.insert("feedback".to_owned(), text.into());
            Ok(())
        }
        Target::Part(part) => set_weight(parameters, part, value.number()),
    }
}

/// Inserts a value into a table, or into a table within it.
fn insert<'k>(
    mut table: &mut Table,
    path: impl Iterator<Item = &'k str>,
    value: Value,
) -> Result<(), String> {
    let mut path = path.peekable();
    while let Some(key) = path.next() {
        if path.peek().is_none() {
            table.insert(key.to_owned(), value);
            return Ok(());
        }
        table = match table.entry(key).or_insert_with(|| Table::new().into()) {
            Value::Table(inner) => inner,
            _ => return Err(format!("expected a table {key}, found another value")),
        };
    }
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
