//! Router of sentence-transformers: other modules for queries than for documents.

use std::collections::BTreeMap;
use std::path::Path;

use ir_core::Side;
use serde_json::{Map, Value};

use super::module_entry::SentenceTransformersModule;
use crate::error::ModelError;
use crate::model_folder::{inner_path, read_json};

/// `router_config.json`; `config.json` of Asym modules.
#[derive(serde::Deserialize)]
struct RouterConfig {
    /// Class of every module.
    types: BTreeMap<String, String>,
    /// Modules of every route, in order.
    structure: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    parameters: Map<String, Value>,
}

/// Configuration of a Router in its folder.
pub(super) const ROUTER_CONFIG: &str = "router_config.json";

/// Returns the paths of the modules in `modules.json`, with the modules of all routes; empty if a
/// file is invalid.
pub(super) fn all_modules(folder: &Path) -> Vec<String> {
    let modules = read_json::<Vec<SentenceTransformersModule>>(&folder.join("modules.json"));
    let modules = modules.ok().flatten().unwrap_or_default();
    let mut paths: Vec<String> = modules.iter().map(|module| module.path.clone()).collect();
    if modules.iter().any(is_router) {
        for side in [Side::Query, Side::Document] {
            let route = resolve(folder, modules.clone(), Some(side));
            paths.extend(route.into_iter().flatten().map(|module| module.path));
        }
        paths.sort_unstable();
        paths.dedup();
    }
    paths.retain(|path| !path.is_empty());
    paths
}

/// Returns `true` if `modules.json` lists a Router.
pub(crate) fn has_router(folder: &Path) -> Result<bool, ModelError> {
    let modules = read_json::<Vec<SentenceTransformersModule>>(&folder.join("modules.json"))?;
    Ok(modules.iter().flatten().any(is_router))
}

fn is_router(module: &SentenceTransformersModule) -> bool {
    ["Router", "Asym"].contains(&module.name())
}

/// Replaces every Router by the modules of the route of a side. `None` is for folders without one.
pub(crate) fn resolve(
    folder: &Path,
    modules: Vec<SentenceTransformersModule>,
    side: Option<Side>,
) -> Result<Vec<SentenceTransformersModule>, ModelError> {
    let list = folder.join("modules.json");
    let mut resolved = Vec::new();
    for (position, module) in modules.into_iter().enumerate() {
        if !is_router(&module) {
            resolved.push(module);
            continue;
        }
        let Some(side) = side else {
            let expected = "the same modules for queries and documents (BiEncoder::open reads \
                            a Router, and BiEncoder::save writes a folder per side)";
            let field = format!("module {position}");
            return Err(ModelError::setting(&list, field, expected, module.class));
        };
        let field = || format!("path of module {position}");
        let own = inner_path(&list, folder, &module.path, field)?;
        let mut path = own.join(ROUTER_CONFIG);
        if !path.exists() && !module.path.is_empty() {
            path = own.join("config.json");
        }
        let config = read_json::<RouterConfig>(&path)?;
        let config = config.ok_or_else(|| ModelError::MissingFile {
            folder: own,
            expected: ROUTER_CONFIG,
        })?;
        for id in config.route(&path, side)? {
            let class = config.types.get(id).cloned().unwrap_or_default();
            let path = if module.path.is_empty() {
                id.clone()
            } else {
                format!("{}/{id}", module.path)
            };
            resolved.push(SentenceTransformersModule { path, class });
        }
    }
    Ok(resolved)
}

impl RouterConfig {
    /// Modules of the route of a side, found in the order of sentence-transformers.
    fn route(&self, path: &Path, side: Side) -> Result<&[String], ModelError> {
        let task = match side {
            Side::Query => "query",
            Side::Document => "document",
        };
        // Pairs of task and modality, as Python writes them.
        let pairs = [
            format!("('{task}', 'text')"),
            format!("('{task}', None)"),
            "(None, 'text')".to_owned(),
            "(None, None)".to_owned(),
        ];
        let mappings = self.parameters.get("route_mappings");
        let mapped = pairs.iter().find_map(|pair| mappings?.get(pair)?.as_str());
        let mut names = mapped.into_iter().chain([task, "text"]);
        let route = names.find_map(|name| self.structure.get(name));
        let Some(route) = route else {
            let names: Vec<&str> = self.structure.keys().map(String::as_str).collect();
            let expected = format!("a route {task}");
            let found = names.join(", ");
            return Err(ModelError::setting(path, "structure", expected, found));
        };
        Ok(route)
    }
}
