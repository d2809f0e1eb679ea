//! JSON Schema of experiment files.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::system::COMMON_KEYS;
use super::{Experiment, FilterName, ScoreFormatName};
use crate::registry::Registry;

/// Returns the JSON Schema of experiment files, for editors that complete and check TOML.
///
/// ```
/// let schema = ir_experiment::json_schema();
/// assert_eq!(schema["title"], "Experiment");
/// ```
#[must_use]
pub fn json_schema() -> Value {
    schemars::generate::SchemaSettings::draft07()
        .into_generator()
        .into_root_schema_for::<Experiment>()
        .to_value()
}

/// Schema of a system: one alternative per built-in type.
pub(super) fn system_schema(generator: &mut SchemaGenerator) -> Schema {
    let filter = generator.subschema_for::<FilterName>();
    let scores = generator.subschema_for::<ScoreFormatName>();
    let registry = Registry::default();
    let mut alternatives = Vec::new();
    for kind in registry.types() {
        let parameters = kind.schema(generator);
        let mut properties = Map::new();
        for (key, description) in COMMON_KEYS {
            let mut schema = match key {
                "type" => json_schema!({ "const": kind.name() }),
                "hits" => json_schema!({ "type": "integer", "minimum": 1 }),
                "hidden" => json_schema!({ "type": "boolean" }),
                "filter" => filter.clone(),
                "scores" => scores.clone(),
                "grid" => json_schema!({
                    "type": "object",
                    "propertyNames": { "enum": kind.keys() },
                    "additionalProperties": { "type": "array", "minItems": 1 },
                }),
                _ => json_schema!({ "type": "string" }),
            };
            schema.insert("description".to_owned(), description.into());
            properties.insert(key.to_owned(), schema.to_value());
        }
        if let Some(own) = parameters.get("properties").and_then(Value::as_object) {
            properties.extend(own.clone());
        }
        alternatives.push(json_schema!({
            "type": "object",
            "description": kind.description(),
            "properties": properties,
            "required": ["name", "type"],
            "additionalProperties": false,
        }));
    }
    json_schema!({ "oneOf": alternatives })
}
