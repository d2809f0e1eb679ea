//! Types of systems by name.

use std::fmt;
use std::sync::{Arc, OnceLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::Table;

use crate::entries::bm25::key_of_bm25;
use crate::entry::COMMON_KEYS;
use crate::error::SystemError;
use crate::readable::readable_of_key;
use crate::suggest::did_you_mean;
use crate::system::{ParsedSystem, System};
use crate::table_schema::TableSchema;

/// Type that a build has with the feature of the same name.
const REMOTE: &str = "remote";

/// Types of systems by name. The default has the built-in types; [`Registry::register`] adds
/// others.
///
/// ```
/// use std::sync::Arc;
///
/// use ir_core::fusion::DocumentPrior;
/// use ir_system::{OpenSystem, Registry, System, SystemContext, SystemError};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// /// Retriever that returns one document for every query.
/// #[derive(Debug, Serialize, Deserialize, JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Constant { document: String }
///
/// impl System for Constant {
///     fn open(&self, _: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
///         let prior = DocumentPrior::new([(&self.document, 1.0)]);
///         Ok(OpenSystem::new(Arc::new(prior.map_err(SystemError::stage("opening"))?)))
///     }
/// }
///
/// let mut registry = Registry::default();
/// registry.register::<Constant>("constant", "One document for every query.");
/// assert!(registry.names().any(|name| name == "constant"));
/// ```
#[derive(Debug, Clone)]
pub struct Registry {
    types: Vec<SystemType>,
}

/// Type of systems: name, description and parameters.
#[derive(Clone)]
pub struct SystemType {
    name: String,
    description: String,
    schema: fn(&mut SchemaGenerator) -> Schema,
    /// Schema of the parameters, made when it is first used; copies of a registry share it.
    table: Arc<OnceLock<TableSchema>>,
    make_table: fn() -> TableSchema,
    parse: fn(&Table) -> Result<ParsedSystem, SystemError>,
}

impl fmt::Debug for SystemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemType")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// Creates a registry without types; [`Registry::default`] has the built-in ones.
    #[must_use]
    pub const fn empty() -> Self {
        Self { types: Vec::new() }
    }

    /// Adds a type of systems, or replaces the type of this name. Keys of a system in a file are
    /// the serde fields of the type. `T` should deny unknown fields.
    pub fn register<T>(&mut self, name: &str, description: &str)
    where
        T: System + Serialize + DeserializeOwned + JsonSchema + 'static,
    {
        self.types.retain(|known| known.name != name);
        self.types.push(SystemType {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: <T as JsonSchema>::json_schema,
            table: Arc::default(),
            make_table: TableSchema::new::<T>,
            parse: parse::<T>,
        });
    }

    /// Returns the types, in the order in which they were registered.
    pub fn types(&self) -> impl Iterator<Item = &SystemType> {
        self.types.iter()
    }

    /// Returns the names of the types.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(SystemType::name)
    }

    /// Returns the type of a name.
    fn find(&self, name: &str) -> Result<&SystemType, SystemError> {
        let found = self.types.iter().find(|known| known.name == name);
        found.ok_or_else(|| {
            let hint = key_of_bm25(name)
                .filter(|_| self.types.iter().any(|known| known.name == "bm25"))
                .map(|key| format!(" (did you mean type = \"bm25\" with {key} = {name:?}?)"));
            let hint = hint.unwrap_or_else(|| match name {
                REMOTE => " (it needs a build with the feature \"remote\")".to_owned(),
                _ => did_you_mean(name, self.names()),
            });
            let known = self.names().collect::<Vec<_>>().join(", ");
            let message = format!("expected a type of systems ({known}), found {name:?}{hint}");
            SystemError::parameter("type", message)
        })
    }

    /// Checks that a type has a parameter. The error lists the parameters and `others`.
    ///
    /// # Errors
    /// Returns the error of an unknown key.
    pub fn check_key(
        &self,
        kind: &str,
        key: &str,
        others: &[(&str, &str)],
    ) -> Result<(), SystemError> {
        let keys = self.find(kind)?.keys();
        if keys.iter().any(|known| known == key) {
            return Ok(());
        }
        let known = keys.iter().map(String::as_str);
        let known: Vec<&str> = known.chain(others.iter().map(|(key, _)| *key)).collect();
        let hint = did_you_mean(key, known.iter().copied());
        let known = known.join(", ");
        let message = format!("unknown key; expected one of {known}{hint}");
        Err(SystemError::parameter(key, message))
    }

    /// Parses and checks the parameters of a system.
    pub fn parse(&self, kind: &str, parameters: &Table) -> Result<ParsedSystem, SystemError> {
        let found = self.find(kind)?;
        for key in parameters.keys() {
            self.check_key(kind, key, &COMMON_KEYS)?;
        }
        let parsed = (found.parse)(parameters)?;
        found.table().check_ranges(parameters)?;
        parsed.system.check()?;
        Ok(parsed)
    }
}

impl SystemType {
    /// Returns the name, the value of the key `type`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description in one sentence.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the JSON Schema of the parameters.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }

    pub(crate) fn table(&self) -> &TableSchema {
        self.table.get_or_init(self.make_table)
    }

    /// Returns the names of the parameters.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let properties = self.table().root.get("properties");
        let properties = properties.and_then(Value::as_object);
        let keys = properties.map(|properties| properties.keys().cloned().collect());
        keys.unwrap_or_default()
    }
}

fn is_missing(message: &str) -> bool {
    message.starts_with("missing field")
}

/// Key without which the error of a table does not occur: keys of flattened fields have no path.
fn invalid_key<T: DeserializeOwned>(parameters: &Table, message: &str) -> String {
    let is_invalid = |key: &&String| {
        let mut others = parameters.clone();
        others.remove(*key);
        let error = others.try_into::<T>().err();
        error.is_none_or(|error| error.message() != message && !is_missing(error.message()))
    };
    if is_missing(message) {
        return String::new();
    }
    parameters
        .keys()
        .find(is_invalid)
        .cloned()
        .unwrap_or_default()
}

fn parse<T: System + Serialize + DeserializeOwned + 'static>(
    parameters: &Table,
) -> Result<ParsedSystem, SystemError> {
    let table = toml::Value::Table(parameters.clone());
    let parsed: Result<T, _> = serde_path_to_error::deserialize(table);
    let system = parsed.map_err(|error| {
        let key = match error.path().to_string() {
            key if key == "." => invalid_key::<T>(parameters, error.inner().message()),
            key => key,
        };
        let message = readable_of_key(error.inner().message().trim(), parameters, &key);
        SystemError::parameter(key, message)
    })?;
    let parameters = serde_json::to_value(&system).map_err(SystemError::stage("serialization"))?;
    Ok(ParsedSystem {
        system: Box::new(system),
        parameters,
    })
}
