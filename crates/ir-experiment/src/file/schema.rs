//! JSON Schema of experiment files.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::system::{COMMON_KEYS, SystemEntry};
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
    json_schema_with(&Registry::default())
}

/// Returns the JSON Schema of experiment files whose systems have the types of a registry.
///
/// ```
/// # use std::sync::Arc;
/// # use ir_experiment::{OpenSystem, Registry, System, SystemContext, SystemError};
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// /// Retriever that returns one document for every query.
/// #[derive(Debug, Serialize, Deserialize, JsonSchema)]
/// struct Constant { document: String }
/// # impl System for Constant {
/// #     fn open(&self, _: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
/// #         let prior = ir_core::fusion::DocumentPrior::new([(&self.document, 1.0)]);
/// #         Ok(OpenSystem::new(Arc::new(prior.map_err(SystemError::stage("opening"))?)))
/// #     }
/// # }
///
/// let mut registry = Registry::default();
/// let built_in = registry.names().count();
/// registry.register::<Constant>("constant", "One document for every query.");
/// let schema = ir_experiment::json_schema_with(&registry);
/// let types = &schema["definitions"]["System"]["oneOf"];
/// assert_eq!(types[built_in]["properties"]["type"]["const"], "constant");
/// assert_eq!(types[built_in]["properties"]["document"]["type"], "string");
/// ```
#[must_use]
pub fn json_schema_with(registry: &Registry) -> Value {
    let mut generator = schemars::generate::SchemaSettings::draft07().into_generator();
    // Types have a schema without a registry, that of the built-in systems, which is replaced.
    generator.subschema_for::<SystemEntry>();
    let systems = system_schema(&mut generator, registry);
    let name = SystemEntry::schema_name().into_owned();
    generator.definitions_mut().insert(name, systems.to_value());
    generator.into_root_schema_for::<Experiment>().to_value()
}

/// Schema of a system: one alternative per type.
pub(super) fn system_schema(generator: &mut SchemaGenerator, registry: &Registry) -> Schema {
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
