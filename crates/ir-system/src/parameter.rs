//! Parameters of a type of systems, as its JSON Schema describes them: for command lines, forms and
//! bindings.

use serde_json::Value;

use crate::range::is_type;
use crate::registry::SystemType;
use crate::table_schema::TableSchema;

/// Parameter of a type of systems.
///
/// ```
/// use ir_system::Registry;
/// let registry = Registry::default();
/// let bm25 = registry.types().find(|kind| kind.name() == "bm25").unwrap();
/// let parameters = bm25.parameters();
/// let k1 = parameters.iter().find(|it| it.key == "k1").unwrap();
/// assert!(k1.description.starts_with("Term-frequency saturation"));
/// assert!(k1.parse("0.9").is_ok());
/// assert_eq!(k1.parse("tea").unwrap_err(), "expected a number, found \"tea\"");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Key. A key of a table has dots: `expansion.words`.
    pub key: String,
    /// Effect, range and default: the doc comment of the field.
    pub description: String,
    /// Description of the table that contains the key.
    pub table: Option<String>,
    /// Values that the parameter takes.
    pub values: ParameterValues,
}

/// Values of a [`Parameter`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ParameterValues {
    /// `true` or `false`.
    Flag,
    /// Whole numbers, such as `10` or `-1`.
    Integer,
    /// Integers and decimal numbers.
    Number,
    /// Any text, such as a path.
    Text,
    /// Listed names, each with its description.
    Names(Vec<(String, String)>),
    /// List of values, separated by commas, of a fixed length if there is one.
    List(Box<ParameterValues>, Option<u64>),
    /// Numbers by name: `title=2,text=1`.
    NumbersByName,
    /// Values that a text cannot express, such as a list of tables.
    Other,
}

impl Parameter {
    /// Parses the text of a value.
    ///
    /// # Errors
    /// Returns what was expected and what was found.
    pub fn parse(&self, text: &str) -> Result<toml::Value, String> {
        self.values.parse(text)
    }
}

impl ParameterValues {
    fn parse(&self, text: &str) -> Result<toml::Value, String> {
        let expected = |what: &str| format!("expected {what}, found {text:?}");
        Ok(match self {
            Self::Flag => match text {
                "true" | "" => true.into(),
                "false" => false.into(),
                _ => return Err(expected("true or false")),
            },
            Self::Integer => match text.parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => return Err(expected("an integer")),
            },
            Self::Number => number(text).ok_or_else(|| expected("a number"))?,
            Self::Text | Self::Other => text.into(),
            Self::Names(names) => {
                if !names.iter().any(|(name, _)| name == text) {
                    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
                    return Err(expected(&names.join(", ")));
                }
                text.into()
            }
            Self::List(values, length) => {
                let items: Vec<&str> = text.split(',').map(str::trim).collect();
                if let Some(length) = length.filter(|length| *length != items.len() as u64) {
                    return Err(expected(&format!("{length} values, separated by commas")));
                }
                let items = items.into_iter().map(|item| values.parse(item));
                toml::Value::Array(items.collect::<Result<_, _>>()?)
            }
            Self::NumbersByName => {
                let mut table = toml::Table::new();
                for item in text.split(',') {
                    let pair = item.split_once('=');
                    let pair = pair.and_then(|(name, value)| Some((name.trim(), number(value)?)));
                    let (name, value) = pair.ok_or_else(|| expected("NAME=NUMBER"))?;
                    if table.insert(name.to_owned(), value).is_some() {
                        return Err(format!("expected each name once, found {name:?} twice"));
                    }
                }
                table.into()
            }
        })
    }
}

/// Integer if the text is one, otherwise a decimal number.
fn number(text: &str) -> Option<toml::Value> {
    let text = text.trim();
    match text.parse::<i64>() {
        Ok(number) => Some(number.into()),
        Err(_) => text.parse::<f64>().ok().map(toml::Value::Float),
    }
}

impl SystemType {
    /// Returns the parameters. Keys of tables have dots: `expansion.words`. Tables that refer to
    /// themselves or that hold a system of another type are single parameters of the values
    /// [`ParameterValues::Other`].
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let schema = self.table();
        let mut parameters = Vec::new();
        add(&schema.root, None, schema, &mut parameters);
        parameters
    }
}

/// Adds the parameters of a table, which has a key and a description unless it is the whole system.
/// `cleaning.tags` is a parameter, a key of `encoder.training` is not.
fn add(
    schema: &Value,
    within: Option<(&str, &str)>,
    table: &TableSchema,
    parameters: &mut Vec<Parameter>,
) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let key = match within {
            Some((outer, _)) => format!("{outer}.{name}"),
            None => name.clone(),
        };
        let resolved = table.resolve(property);
        let description = [property, resolved]
            .into_iter()
            .find_map(|schema| schema.get("description")?.as_str());
        let description = description.unwrap_or_default().to_owned();
        if resolved.get("properties").is_some() && within.is_none() {
            let within = Some((key.as_str(), description.as_str()));
            add(resolved, within, table, parameters);
            continue;
        }
        parameters.push(Parameter {
            key,
            description,
            table: within.map(|(_, description)| description.to_owned()),
            values: values(resolved, table),
        });
    }
}

fn values(schema: &Value, table: &TableSchema) -> ParameterValues {
    if let Some(names) = names(schema) {
        return ParameterValues::Names(names);
    }
    let is = |name: &str| is_type(schema, name);
    if is("boolean") {
        ParameterValues::Flag
    } else if is("integer") {
        ParameterValues::Integer
    } else if is("number") {
        ParameterValues::Number
    } else if is("array") {
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        let length = bound("minItems").filter(|least| bound("maxItems") == Some(*least));
        let items = schema.get("items").or_else(|| schema.get("prefixItems"));
        let items = items.map(|items| items.get(0).unwrap_or(items));
        let items = items.map(|items| values(table.resolve(items), table));
        items.map_or(ParameterValues::Other, |items| {
            ParameterValues::List(Box::new(items), length)
        })
    } else if is("string") || schema.get("anyOf").is_some() {
        ParameterValues::Text
    } else if is("object")
        && schema
            .get("additionalProperties")
            .is_some_and(Value::is_object)
    {
        ParameterValues::NumbersByName
    } else {
        ParameterValues::Other
    }
}

/// Names of an enumeration, with their descriptions.
fn names(schema: &Value) -> Option<Vec<(String, String)>> {
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        let names = names.iter().filter_map(Value::as_str);
        return Some(names.map(|name| (name.to_owned(), String::new())).collect());
    }
    let alternatives = schema.get("oneOf")?.as_array()?;
    let name = |it: &Value| {
        let name = it.get("const")?.as_str()?.to_owned();
        let description = it.get("description").and_then(Value::as_str);
        Some((name, description.unwrap_or_default().to_owned()))
    };
    alternatives.iter().map(name).collect()
}
