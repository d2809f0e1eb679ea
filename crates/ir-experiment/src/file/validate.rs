//! Validation of experiments: everything that needs no data.

use std::collections::BTreeMap;

use super::{Experiment, FilterName, SelectionMethod};
use crate::error::ExperimentError;
use crate::registry::Registry;
use crate::suggest::did_you_mean;

impl Experiment {
    /// Checks everything that needs no data: names, types and parameters of the systems, references
    /// between them, grids and their selection, measures and expected values.
    ///
    /// # Errors
    /// [`ExperimentError::Key`] for the first invalid key.
    pub fn validate(&self, registry: &Registry) -> Result<(), ExperimentError> {
        self.check_not_empty()?;
        self.check_tasks()?;
        if self.search.hits == 0 {
            return Err(self.error("search.hits", "expected at least 1, found 0"));
        }
        if self.search.filter == FilterName::PublishedYear {
            let message = "expected none or year; published-year is a filter of single systems";
            return Err(self.error("search.filter", message));
        }
        self.check_systems(registry)?;
        crate::graph::order(self, registry)?;
        self.check_selection()?;
        (self.comparison.check())
            .map_err(|(key, message)| self.error(&format!("comparison.{key}"), message))?;
        if let Some(baseline) = &self.comparison.baseline {
            self.check_visible("comparison.baseline", baseline)?;
        }
        self.check_expected()
    }

    fn error(&self, key: &str, message: impl Into<String>) -> ExperimentError {
        self.source.error(key, message)
    }

    fn check_not_empty(&self) -> Result<(), ExperimentError> {
        for (key, empty) in [
            ("measures", self.measures.is_empty()),
            ("tasks", self.tasks.is_empty()),
            ("systems", self.systems.iter().all(|system| system.hidden)),
        ] {
            if empty {
                return Err(self.error(key, "expected at least one, found none"));
            }
        }
        Ok(())
    }

    fn check_tasks(&self) -> Result<(), ExperimentError> {
        let mut names = BTreeMap::new();
        for (n, task) in self.tasks.iter().enumerate() {
            if let Some(fields) = &task.query_fields {
                let key = format!("tasks[{n}].query_fields");
                if fields.is_empty() {
                    return Err(self.error(&key, "expected at least one attribute, found none"));
                }
                if task.query.is_some() {
                    return Err(
                        self.error(&key, "expected either query or query_fields, found both")
                    );
                }
            }
            let name = task.name();
            if name.is_empty() {
                return Err(self.error(&format!("tasks[{n}].name"), "expected a name, found none"));
            }
            if let Some(first) = names.insert(crate::results::file_name(&name), n) {
                let message =
                    format!("expected a name other than that of tasks[{first}], found {name:?}");
                return Err(self.error(&format!("tasks[{n}].name"), message));
            }
        }
        Ok(())
    }

    fn check_systems(&self, registry: &Registry) -> Result<(), ExperimentError> {
        let mut names = BTreeMap::new();
        for (n, entry) in self.systems.iter().enumerate() {
            let key = format!("systems[{n}]");
            let name = &entry.name;
            if name.is_empty() || name.chars().any(char::is_control) {
                let message = format!("expected a name without control characters, found {name:?}");
                return Err(self.error(&format!("{key}.name"), message));
            }
            // Names are also names of run files.
            if let Some(first) = names.insert(crate::results::file_name(name), n) {
                let message =
                    format!("expected a name other than that of systems[{first}], found {name:?}");
                return Err(self.error(&format!("{key}.name"), message));
            }
            if entry.hits == Some(0) {
                return Err(self.error(&format!("{key}.hits"), "expected at least 1, found 0"));
            }
            let at = |error| self.source.system_error(&key, error);
            if entry.filter == Some(FilterName::PublishedYear) && entry.kind != "bm25" {
                let message = format!(
                    "published-year: expected a system of type bm25, found {}",
                    entry.kind
                );
                return Err(self.error(&format!("{key}.filter"), message));
            }
            for (parameter, values) in &entry.grid {
                let grid = format!("{key}.grid.{parameter}");
                let Some(values) = values.as_array().filter(|values| !values.is_empty()) else {
                    return Err(self.error(&grid, "expected a list of values"));
                };
                registry
                    .check_key(&entry.kind, parameter)
                    .map_err(|error| self.source.system_error(&format!("{key}.grid"), error))?;
                if entry.parameters.contains_key(parameter) {
                    let message =
                        format!("expected {parameter} either here or in the grid, not both");
                    return Err(self.error(&format!("{key}.{parameter}"), message));
                }
                for (v, value) in values.iter().enumerate() {
                    let mut parameters = entry.parameters.clone();
                    for (other, values) in &entry.grid {
                        let first = values.as_array().and_then(|values| values.first());
                        parameters.extend(first.map(|value| (other.clone(), value.clone())));
                    }
                    parameters.insert(parameter.clone(), value.clone());
                    let parsed = registry.parse(&entry.kind, &parameters);
                    parsed.map_err(|error| match error {
                        crate::SystemError::Parameter { message, .. } => {
                            self.error(&format!("{grid}[{v}]"), message)
                        }
                        other => at(other),
                    })?;
                }
            }
            if entry.grid.is_empty() {
                registry.parse(&entry.kind, &entry.parameters).map_err(at)?;
            }
        }
        Ok(())
    }

    /// Checks that a grid has a selection, which never uses the test queries it is evaluated on.
    fn check_selection(&self) -> Result<(), ExperimentError> {
        let mut grids = (0..).zip(&self.systems);
        let grid = grids.find(|(_, entry)| !entry.grid.is_empty());
        let Some(selection) = &self.selection else {
            return match grid {
                None => Ok(()),
                Some((n, _)) => Err(self.error(
                    &format!("systems[{n}].grid"),
                    "expected a table [selection] that says how the best point is selected",
                )),
            };
        };
        if grid.is_none() {
            let message = "expected a system with a grid, found none";
            return Err(self.error("selection", message));
        }
        (selection.check())
            .map_err(|(key, message)| self.error(&format!("selection.{key}"), message))?;
        let Some(split) = &selection.split else {
            return Ok(());
        };
        match self.tasks.iter().find(|task| task.split == *split) {
            Some(task) if selection.by == SelectionMethod::Validation => {
                let message = format!(
                    "expected a split other than that of the test queries of task {:?}, found \
                     {split:?}",
                    task.name()
                );
                Err(self.error("selection.split", message))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a system is in the tables.
    fn check_visible(&self, key: &str, name: &str) -> Result<(), ExperimentError> {
        let visible = self.systems.iter().filter(|system| !system.hidden);
        let known: Vec<&str> = visible.map(|system| system.name.as_str()).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let hint = did_you_mean(name, known.iter().copied());
        let known = known.join(", ");
        Err(self.error(
            key,
            format!("expected a system of the tables ({known}), found {name:?}{hint}"),
        ))
    }

    fn check_expected(&self) -> Result<(), ExperimentError> {
        for (n, expected) in self.expected.iter().enumerate() {
            let key = format!("expected[{n}]");
            self.check_visible(&format!("{key}.system"), &expected.system)?;
            let tasks: Vec<String> = self.tasks.iter().map(super::TaskEntry::name).collect();
            match &expected.task {
                None if tasks.len() > 1 => {
                    let message = format!("expected the key task ({})", tasks.join(", "));
                    return Err(self.error(&key, message));
                }
                Some(task) if !tasks.contains(task) => {
                    let hint = did_you_mean(task, tasks.iter().map(String::as_str));
                    let known = tasks.join(", ");
                    let message = format!("expected a task ({known}), found {task:?}{hint}");
                    return Err(self.error(&format!("{key}.task"), message));
                }
                _ => {}
            }
            for (field, value) in [("tolerance", expected.tolerance), ("scale", expected.scale)] {
                if !(value >= 0.0 && value.is_finite()) || (field == "scale" && value == 0.0) {
                    let message = format!("expected a positive number, found {value}");
                    return Err(self.error(&format!("{key}.{field}"), message));
                }
            }
            for name in expected.values.keys() {
                let key = format!("{key}.values.{name}");
                let measure = super::experiment::parse_measure(name);
                let measure = measure.map_err(|message| self.error(&key, message))?;
                if !self.measures.contains(&measure) {
                    let known = self.measures.iter().map(ToString::to_string);
                    let known = known.collect::<Vec<_>>().join(", ");
                    let message = format!("expected a measure of the experiment ({known})");
                    return Err(self.error(&key, message));
                }
            }
        }
        Ok(())
    }
}
