//! JSON Schema of experiment files.

use ir_system::{Registry, SystemEntry, system_schema};
use schemars::JsonSchema;
use serde_json::Value;

use super::Experiment;

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

/// Returns the JSON Schema of experiment files with the system types of a registry.
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
    // Without a registry, the schema of systems lists the built-in types. It is replaced.
    generator.subschema_for::<SystemEntry>();
    let systems = system_schema(&mut generator, registry);
    let name = SystemEntry::schema_name().into_owned();
    generator.definitions_mut().insert(name, systems.to_value());
    generator.into_root_schema_for::<Experiment>().to_value()
}
