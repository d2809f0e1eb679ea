//! JSON Schema of a system: one alternative per type.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use crate::entry::{COMMON_KEYS, FilterName, ScoreFormatName, SystemEntry};
use crate::registry::Registry;

impl JsonSchema for SystemEntry {
    fn schema_name() -> Cow<'static, str> {
        "System".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        system_schema(generator, &Registry::default())
    }
}

/// Returns the schema of a system: one alternative per type of a registry.
pub fn system_schema(generator: &mut SchemaGenerator, registry: &Registry) -> Schema {
    let filter = generator.subschema_for::<FilterName>();
    let scores = generator.subschema_for::<ScoreFormatName>();
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
                "where" => json_schema!({ "type": ["string", "array", "object"] }),
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
