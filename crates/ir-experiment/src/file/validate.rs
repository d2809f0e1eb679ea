//! Validation of experiments: everything that needs no data.

use std::collections::{BTreeMap, HashSet};

use ir_system::systems::{EncoderEntry, NO_SEARCH, RUN, check_run, unknown_encoder};
use ir_system::{
    FilterName, ParsedSystem, Registry, SpecError, SystemError, check_encoders, check_points,
    check_ranges, order,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ClassificationEntry, ExpectedValues, Experiment, OutputFormat, SelectionMethod, TaskEntry,
};
use crate::file_name::file_name;
use crate::suggest::{did_you_mean, list_or_none};

impl Experiment {
    /// Checks everything that needs no data: names, types and parameters of the systems, references
    /// between them, grids and their selection, measures and expected values.
    /// [`Experiment::validate_expected`] checks the measures of expected values.
    ///
    /// # Errors
    /// Returns [`SpecError::Key`] for the first invalid key.
    pub fn validate(&self, registry: &Registry) -> Result<(), SpecError> {
        self.check_not_empty()?;
        self.check_tasks()?;
        self.check_classifications()?;
        self.check_search()?;
        check_encoders(&self.encoders, &self.source)?;
        check_points(&self.systems, &self.source)?;
        self.check_systems(registry)?;
        self.check_systems_of_tasks()?;
        order(&self.systems, &self.source, registry)?;
        self.check_parts_with_grids(registry)?;
        self.check_selection()?;
        if self.output.folder.as_deref() == Some("") {
            let message = "expected a path, found an empty string";
            return Err(self.error("output.folder", message));
        }
        self.check_ranges("comparison", &self.comparison)?;
        (self.comparison.check())
            .map_err(|(key, message)| self.error(&format!("comparison.{key}"), message))?;
        if let Some(baseline) = &self.comparison.baseline {
            self.check_visible("comparison.baseline", baseline)?;
        }
        self.check_expected()
    }

    /// Checks that all expected values are of measures of the experiment, as a reproduction needs.
    ///
    /// # Errors
    /// Returns [`SpecError::Key`] for the first value of another measure.
    pub fn validate_expected(&self) -> Result<(), SpecError> {
        for (n, expected) in self.expected.iter().enumerate() {
            let is_accuracy = |it: &ClassificationEntry| Some(&it.name) == expected.task.as_ref();
            if self.classifications.iter().any(is_accuracy) {
                continue;
            }
            for name in expected.values.keys() {
                let measure = super::measure::parse_measure(name);
                if !measure.is_ok_and(|measure| self.measures.contains(&measure)) {
                    let known = self.measures.iter().map(ToString::to_string);
                    let known = known.collect::<Vec<_>>().join(", ");
                    let message = format!(
                        "expected a measure of the experiment ({known}); add it to measures, or \
                         remove the value"
                    );
                    return Err(self.error(&format!("expected[{n}].values.{name}"), message));
                }
            }
        }
        Ok(())
    }

    fn error(&self, key: &str, message: impl Into<String>) -> SpecError {
        self.source.error(key, message)
    }

    fn check_not_empty(&self) -> Result<(), SpecError> {
        let only_classifies =
            self.tasks.is_empty() && self.systems.is_empty() && !self.classifications.is_empty();
        if only_classifies {
            return self.check_formats_of_classifications();
        }
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

    /// Pages and runs are of tasks: an experiment without tasks would write none.
    fn check_formats_of_classifications(&self) -> Result<(), SpecError> {
        let formats = self.output.formats.iter().flatten().enumerate();
        for (n, format) in formats {
            let found = match format {
                OutputFormat::Html => "html",
                OutputFormat::Runs => "runs",
                _ => continue,
            };
            let message =
                format!("expected text, markdown, latex or json, found {found}, a format of tasks");
            return Err(self.error(&format!("output.formats[{n}]"), message));
        }
        Ok(())
    }

    fn check_tasks(&self) -> Result<(), SpecError> {
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
            match (&task.qrels, task.collection.is_empty()) {
                (None, true) => {
                    let message = "expected the key collection or qrels, found neither";
                    return Err(self.error(&format!("tasks[{n}]"), message));
                }
                (Some(_), false) => {
                    let message = "expected either a collection or qrels, found both";
                    return Err(self.error(&format!("tasks[{n}].qrels"), message));
                }
                _ => {}
            }
            let name = task.name();
            if name.is_empty() {
                return Err(self.error(&format!("tasks[{n}].name"), "expected a name, found none"));
            }
            if let Some(first) = names.insert(file_name(&name), n) {
                let message =
                    format!("expected a name other than that of tasks[{first}], found {name:?}");
                return Err(self.error(&format!("tasks[{n}].name"), message));
            }
        }
        Ok(())
    }

    fn check_systems(&self, registry: &Registry) -> Result<(), SpecError> {
        let mut names = BTreeMap::new();
        for (n, entry) in self.systems.iter().enumerate() {
            let key = format!("systems[{n}]");
            let name = &entry.name;
            if name.is_empty() || name.chars().any(char::is_control) {
                let message = format!("expected a name without control characters, found {name:?}");
                return Err(self.error(&format!("{key}.name"), message));
            }
            // Names are also names of run files.
            if let Some(first) = names.insert(file_name(name), n) {
                let message =
                    format!("expected a name other than that of systems[{first}], found {name:?}");
                return Err(self.error(&format!("{key}.name"), message));
            }
            check_run(entry, &self.source, &key)?;
            if entry.hits == Some(0) {
                return Err(self.error(&format!("{key}.hits"), "expected at least 1, found 0"));
            }
            let at = |error| self.source.system_error(&key, error);
            entry.check_filter().map_err(at)?;
            for (parameter, values) in &entry.grid {
                let grid = format!("{key}.grid.{parameter}");
                let Some(values) = values.as_array().filter(|values| !values.is_empty()) else {
                    return Err(self.error(&grid, "expected a list of values"));
                };
                registry
                    .check_key(&entry.kind, parameter, &[])
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
                    let parsed = parsed.and_then(|parsed| self.check_encoders(&parsed));
                    parsed.map_err(|error| match error {
                        SystemError::Parameter { message, .. } => {
                            self.error(&format!("{grid}[{v}]"), message)
                        }
                        other => at(other),
                    })?;
                }
            }
            // Combinations of values.
            for point in entry.points() {
                let parsed = registry.parse(&entry.kind, &point).map_err(at)?;
                self.check_encoders(&parsed).map_err(at)?;
            }
        }
        Ok(())
    }

    fn check_classifications(&self) -> Result<(), SpecError> {
        let mut names: Vec<String> = self.tasks.iter().map(TaskEntry::name).collect();
        for (n, entry) in self.classifications.iter().enumerate() {
            let key = |key: &str| {
                if key.is_empty() {
                    format!("classifications[{n}]")
                } else {
                    format!("classifications[{n}].{key}")
                }
            };
            if entry.name.is_empty() || names.contains(&entry.name) {
                let message = format!(
                    "expected a name that no other task or classification has, found {:?}",
                    entry.name
                );
                return Err(self.error(&key("name"), message));
            }
            names.push(entry.name.clone());
            self.check_ranges(&format!("classifications[{n}]"), entry)?;
            (entry.check()).map_err(|(field, message)| self.error(&key(field), message))?;
        }
        Ok(())
    }

    /// Checks the systems of each task: names, and types that its filter and its data allow.
    fn check_systems_of_tasks(&self) -> Result<(), SpecError> {
        for (n, task) in self.tasks.iter().enumerate() {
            let key = format!("tasks[{n}].systems");
            for (s, name) in task.systems.iter().flatten().enumerate() {
                self.check_visible(&format!("{key}[{s}]"), name)?;
            }
            let shown: Vec<_> = self.systems.iter().filter(|it| task.shows(it)).collect();
            if shown.is_empty() {
                return Err(self.error(&key, "expected at least one, found none"));
            }
            let expect = |kind: &str, key: &str| match shown.iter().find(|it| it.kind != kind) {
                None => Ok(()),
                Some(other) => {
                    let (name, found) = (&other.name, &other.kind);
                    let message =
                        format!("expected systems of type {kind}, found {name:?} of type {found}");
                    Err(self.error(&format!("tasks[{n}].{key}"), message))
                }
            };
            if task.qrels.is_some() {
                expect(RUN, "qrels")?;
            }
            if task.filter.and_then(FilterName::of_records).is_some() {
                expect("bm25", "filter")?;
            }
            if let Some(training) = &task.training
                && training.split == task.split
                && (training.collection.as_ref()).is_none_or(|name| *name == task.collection)
            {
                let message = format!(
                    "expected a split other than that of the test queries, found {:?}",
                    training.split
                );
                return Err(self.error(&format!("tasks[{n}].training.split"), message));
            }
            if shown.iter().all(|system| system.kind == RUN) {
                let ignored = [
                    ("query", task.query.is_some()),
                    ("query_fields", task.query_fields.is_some()),
                    ("training", task.training.is_some()),
                    ("filter", task.filter.is_some()),
                    ("document_order", task.document_order.is_some()),
                ];
                self.reject_ignored(&format!("tasks[{n}]"), &ignored)?;
            }
            let baseline = self.comparison.baseline.as_ref();
            if let Some(baseline) = baseline.filter(|_| task.systems.is_some() && shown.len() > 1)
                && !shown.iter().any(|system| system.name == *baseline)
            {
                let message = format!("expected the baseline {baseline:?} among the systems");
                return Err(self.error(&key, message));
            }
        }
        Ok(())
    }

    /// Checks that the numbers of a table are in their ranges.
    fn check_ranges<T: Serialize + JsonSchema>(
        &self,
        at: &str,
        table: &T,
    ) -> Result<(), SpecError> {
        check_ranges(table).map_err(|error| self.source.system_error(at, error))
    }

    /// Rejects search parameters if no system searches.
    fn check_search(&self) -> Result<(), SpecError> {
        self.check_ranges("search", &self.search)?;
        if let Some(filter) = self.search.filter.of_records() {
            let message = format!(
                "expected none, year or year-of-last-record; {filter} is a filter of single systems \
                 or tasks"
            );
            return Err(self.error("search.filter", message));
        }
        if self.systems.is_empty() || self.systems.iter().any(|system| system.kind != RUN) {
            return Ok(());
        }
        let ignored = [
            ("hits", self.source.has("search.hits")),
            ("filter", self.search.filter != FilterName::None),
            ("where", self.search.condition.is_some()),
        ];
        self.reject_ignored("search", &ignored)
    }

    /// Rejects the first key that is set, for a table with systems of the type `run` only.
    fn reject_ignored(&self, table: &str, keys: &[(&str, bool)]) -> Result<(), SpecError> {
        match keys.iter().find(|(_, is_set)| *is_set) {
            None => Ok(()),
            Some((key, _)) => Err(self.error(&format!("{table}.{key}"), NO_SEARCH)),
        }
    }

    /// Checks the grids of parts: a system with a grid can be a part of another if its best point
    /// does not depend on the query.
    fn check_parts_with_grids(&self, registry: &Registry) -> Result<(), SpecError> {
        let selection = self.selection.as_ref();
        if selection.is_none_or(|it| it.by == SelectionMethod::Validation) {
            return Ok(());
        }
        for (n, entry) in self.systems.iter().enumerate() {
            let points = entry.points_of_values();
            let points = points.filter_map(|point| registry.parse(&entry.kind, &point).ok());
            for (key, name) in points.flat_map(|parsed| parsed.system.inputs()) {
                let mut parts = self.systems.iter();
                if parts.any(|part| part.name == name && !part.grid.is_empty()) {
                    let message = format!(
                        "expected a system without a grid, found {name:?}; only the selection by \
                         validation has one best point for all queries"
                    );
                    return Err(self.error(&format!("systems[{n}].{key}"), message));
                }
            }
        }
        Ok(())
    }

    /// Entries of `[encoders]` that no system uses, by name.
    pub(crate) fn unused_encoders(&self, registry: &Registry) -> Vec<(&String, &EncoderEntry)> {
        let points = self.systems.iter().flat_map(|entry| {
            let points = entry.points_of_values();
            points.filter_map(|point| registry.parse(&entry.kind, &point).ok())
        });
        let used: HashSet<String> = points
            .flat_map(|parsed| parsed.system.encoders())
            .map(|(_, name)| name)
            .collect();
        let encoders = self.encoders.iter();
        encoders.filter(|(name, _)| !used.contains(*name)).collect()
    }

    /// Checks that the encoders of a system exist.
    fn check_encoders(&self, parsed: &ParsedSystem) -> Result<(), SystemError> {
        for (key, name) in parsed.system.encoders() {
            if !self.encoders.contains_key(&name) {
                let known = self.encoders.keys().map(String::as_str);
                return Err(unknown_encoder(&key, &name, known));
            }
        }
        Ok(())
    }

    /// Checks that the points of every grid are selected, and that the selection never uses the
    /// test queries that evaluate it.
    fn check_selection(&self) -> Result<(), SpecError> {
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
        self.check_ranges("selection", selection)?;
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
    fn check_visible(&self, key: &str, name: &str) -> Result<(), SpecError> {
        let visible = self.systems.iter().filter(|system| !system.hidden);
        let known: Vec<&str> = visible.map(|system| system.name.as_str()).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let hint = did_you_mean(name, known.iter().copied());
        let known = list_or_none(known);
        Err(self.error(
            key,
            format!("expected a system of the tables ({known}), found {name:?}{hint}"),
        ))
    }

    fn check_expected(&self) -> Result<(), SpecError> {
        for (n, expected) in self.expected.iter().enumerate() {
            let key = format!("expected[{n}]");
            for (field, value) in [("tolerance", expected.tolerance), ("scale", expected.scale)] {
                if !(value >= 0.0 && value.is_finite()) || (field == "scale" && value == 0.0) {
                    let message = format!("expected a positive number, found {value}");
                    return Err(self.error(&format!("{key}.{field}"), message));
                }
            }
            let mut classifications = self.classifications.iter();
            let classification =
                classifications.find(|it| Some(&it.name) == expected.task.as_ref());
            if let Some(classification) = classification {
                self.check_expected_accuracy(&key, expected, classification)?;
                continue;
            }
            self.check_visible(&format!("{key}.system"), &expected.system)?;
            let tasks = self.tasks.iter().map(TaskEntry::name);
            let tasks: Vec<String> = tasks.collect();
            match &expected.task {
                None if tasks.len() > 1 => {
                    let message = format!("expected the key task ({})", tasks.join(", "));
                    return Err(self.error(&key, message));
                }
                Some(task) if !tasks.contains(task) => {
                    let hint = did_you_mean(task, tasks.iter().map(String::as_str));
                    let known = list_or_none(tasks.iter().map(String::as_str));
                    let message = format!("expected a task ({known}), found {task:?}{hint}");
                    return Err(self.error(&format!("{key}.task"), message));
                }
                _ => {}
            }
            let of_task = |task: &&TaskEntry| match &expected.task {
                Some(name) => task.name() == *name,
                None => true,
            };
            let shown = self.systems.iter().find(|it| it.name == expected.system);
            if let (Some(task), Some(system)) = (self.tasks.iter().find(of_task), shown)
                && !task.shows(system)
            {
                let message = format!("expected a system of task {:?}", task.name());
                return Err(self.error(&format!("{key}.system"), message));
            }
            for name in expected.values.keys() {
                let key = format!("{key}.values.{name}");
                let measure = super::measure::parse_measure(name);
                measure.map_err(|message| self.error(&key, message))?;
            }
        }
        Ok(())
    }

    /// Checks the expected values of a classification.
    fn check_expected_accuracy(
        &self,
        key: &str,
        expected: &ExpectedValues,
        classification: &ClassificationEntry,
    ) -> Result<(), SpecError> {
        if !expected.system.is_empty() {
            let message = "expected no system; a classification has none";
            return Err(self.error(&format!("{key}.system"), message));
        }
        let mut names = expected.values.keys();
        if let Some(name) = names.find(|name| !classification.has_value(name)) {
            let message = format!("expected accuracy, or fold 1 to {}", classification.folds);
            return Err(self.error(&format!("{key}.values.{name}"), message));
        }
        Ok(())
    }
}
