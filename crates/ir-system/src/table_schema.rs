//! JSON Schemas of tables: their types, and the ranges of their numbers.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};
use toml::Table;

use crate::error::SystemError;
use crate::range::{Found, Range};

/// JSON Schema of a table, with the schemas that it refers to.
#[derive(Debug)]
pub(crate) struct TableSchema {
    pub(crate) root: Value,
    pub(crate) definitions: Map<String, Value>,
}

impl TableSchema {
    pub(crate) fn new<T: JsonSchema>() -> Self {
        let mut generator = SchemaGenerator::default();
        let root = T::json_schema(&mut generator).to_value();
        Self {
            root,
            definitions: generator.take_definitions(true),
        }
    }

    /// Returns the schema behind references and optional values.
    pub(crate) fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let found = self.definitions.get(name);
            return found.map_or(schema, |found| self.resolve(found));
        }
        let mut values = alternatives(schema);
        match (values.next(), values.next()) {
            (Some(only), None) => self.resolve(only),
            _ => schema,
        }
    }

    /// Checks that all numbers of a table are in their ranges.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] with the key of the first number that is not, such as
    /// `expansion.weight`.
    pub(crate) fn check_ranges(&self, table: &Table) -> Result<(), SystemError> {
        self.check_table(&self.root, table, "")
    }

    fn check_table(&self, schema: &Value, table: &Table, at: &str) -> Result<(), SystemError> {
        let properties = schema.get("properties");
        let others = schema.get("additionalProperties");
        for (key, value) in table {
            let own = properties.and_then(|properties| properties.get(key));
            if let Some(schema) = own.or(others) {
                self.check_value(schema, value, &format!("{at}{key}"))?;
            }
        }
        Ok(())
    }

    fn check_value(
        &self,
        schema: &Value,
        value: &toml::Value,
        key: &str,
    ) -> Result<(), SystemError> {
        let schema = self.resolve(schema);
        match value {
            toml::Value::Integer(number) => {
                Range::from_schema(schema).check(key, *number as f64, Found::Integer(*number))
            }
            toml::Value::Float(number) => {
                // A number of single precision may be infinite in it.
                let is_single = schema.get("format").is_some_and(|it| it == "float");
                let value = if is_single {
                    f64::from(*number as f32)
                } else {
                    *number
                };
                Range::from_schema(schema).check(key, value, Found::Float(*number))
            }
            toml::Value::Array(values) => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                let mut values = values.iter().enumerate();
                values.try_for_each(|(n, value)| {
                    self.check_value(items, value, &format!("{key}[{n}]"))
                })
            }
            toml::Value::Table(table) => {
                // Of alternatives such as a name or a table, the table.
                let of_table = |it: &&Value| it.get("properties").is_some();
                let found = alternatives(schema)
                    .map(|it| self.resolve(it))
                    .find(of_table);
                self.check_table(found.unwrap_or(schema), table, &format!("{key}."))
            }
            _ => Ok(()),
        }
    }
}

/// Alternatives of a schema, without the absent value.
fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let found = ["anyOf", "allOf"].into_iter();
    let found = found
        .filter_map(|key| schema.get(key)?.as_array())
        .flatten();
    found.filter(|it| it.get("type").and_then(Value::as_str) != Some("null"))
}

/// Checks that all numbers of a value are in the ranges of its schema: `#[schemars(range(...))]`,
/// and `exclusiveMinimum` for an excluded bound.
///
/// # Errors
/// Returns [`SystemError::Parameter`] with the key of the first number that is not, such as
/// `training.epochs`.
///
/// ```
/// use ir_system::check_ranges;
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Smoothing {
///     #[schemars(range(min = 0.0, max = 1.0))]
///     lambda: f32,
/// }
///
/// assert!(check_ranges(&Smoothing { lambda: 0.5 }).is_ok());
/// let error = check_ranges(&Smoothing { lambda: 1.5 }).unwrap_err();
/// assert_eq!(error.to_string(), "lambda: expected a number from 0 to 1, found 1.5");
/// ```
pub fn check_ranges<T: Serialize + JsonSchema>(value: &T) -> Result<(), SystemError> {
    let table = Table::try_from(value).map_err(SystemError::stage("serialization"))?;
    TableSchema::new::<T>().check_ranges(&table)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::TableSchema;
    use crate::Registry;
    use crate::range::{Range, is_type};

    /// Range of a description: `Range: ≥ 1.`
    fn described(description: &str) -> Option<String> {
        let (_, range) = description.split_once("Range: ")?;
        let end = range.find([';', ',']).into_iter().chain(range.find(". "));
        let end = end.min().unwrap_or(range.len());
        Some(range[..end].trim_end_matches('.').to_owned())
    }

    /// Default of a description, if it is one number: `Default: 30,000.`
    fn stated_default(description: &str) -> Option<f64> {
        let (_, default) = description.split_once("Default: ")?;
        let end = default.find(". ").unwrap_or(default.len());
        let number = default[..end].trim_end_matches('.').replace(',', "");
        number.parse().ok()
    }

    /// Compares the default that a description states with the default of the code. Numbers of
    /// single precision are equal in it.
    fn compare_default(key: &str, property: &Value, description: &str) {
        let shown = |number: f64| (number as f32).to_string();
        let stated = stated_default(description).map(shown);
        let default = property.get("default").and_then(Value::as_f64).map(shown);
        // A server has its own value, and models are in builds with the feature.
        let is_elsewhere = key == "remote.ef" || cfg!(not(feature = "dense"));
        if !(default.is_none() && is_elsewhere) {
            assert_eq!(stated, default, "{key}");
        }
    }

    /// Range of a schema in the words of a description.
    fn words(range: &Range) -> Option<String> {
        let number = |bound: Option<f64>| bound.map(|bound| bound.to_string());
        Some(match (number(range.minimum), number(range.maximum)) {
            (Some(minimum), Some(_)) if range.is_open => format!("above {minimum}"),
            (Some(minimum), Some(maximum)) => format!("{minimum} to {maximum}"),
            (Some(minimum), None) if range.is_open => format!("> {minimum}"),
            (Some(minimum), None) => format!("≥ {minimum}"),
            _ => return None,
        })
    }

    fn compare(schema: &TableSchema, table: &Value, at: &str, depth: usize, found: &mut usize) {
        let properties = table.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            let resolved = schema.resolve(property);
            let key = format!("{at}.{key}");
            if resolved.get("properties").is_some() && depth < 4 {
                compare(schema, resolved, &key, depth + 1, found);
            }
            let items = resolved
                .get("items")
                .or(resolved.get("additionalProperties"));
            let range = Range::from_schema(items.unwrap_or(resolved));
            let Some(description) = property.get("description").and_then(Value::as_str) else {
                continue;
            };
            let description = description.replace('\n', " ");
            if is_type(resolved, "integer") || is_type(resolved, "number") {
                compare_default(&key, property, &description);
            }
            let described = described(&description.replace("65,536", "65536"));
            match (described, words(&range)) {
                // Ranges in words of other keys, and of models.
                (Some(described), None) => assert!(
                    ["0 ≤ p < 1", "0", "0 to 1", "0 to 1e9"].contains(&described.as_str()),
                    "{key}: {described}"
                ),
                (Some(described), Some(words)) => {
                    // Descriptions of model parameters are made of their ranges.
                    let same = [words, range.to_string(), "≥ `first_rank`".to_owned()];
                    assert!(same.contains(&described), "{key}: {described}, {same:?}");
                    *found += 1;
                }
                // Every integer that is not negative has the minimum 0.
                (None, Some(range)) => assert_eq!(range, "≥ 0", "{key}"),
                (None, None) => {}
            }
        }
    }

    #[test]
    fn descriptions_state_the_ranges_and_defaults_of_the_schema() {
        let mut found = 0;
        for kind in Registry::default().types() {
            let schema = kind.table();
            compare(schema, &schema.root, kind.name(), 0, &mut found);
        }
        assert!(found > 30, "{found}");
    }
}
