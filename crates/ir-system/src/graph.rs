//! References between systems: order of evaluation, unknown names and cycles, maximum numbers of
//! hits.

use std::collections::{HashMap, HashSet};

use crate::entries::TEACHER_SYSTEM;
use crate::entry::SystemEntry;
use crate::error::{SpecError, SystemError};
use crate::registry::Registry;
use crate::source::SourceMap;
use crate::suggest::did_you_mean;
use crate::system::ParsedSystem;

/// Maximum number of systems inside of one another.
const MAX_LEVELS: usize = 64;

/// Returns the positions of the systems in an order in which every system follows its parts.
///
/// # Errors
/// Returns the error of a key that names no system, of a system that contains itself, of more than
/// 64 systems inside of one another, and of `cleaning` below a reranking by a model.
pub fn order(
    systems: &[SystemEntry],
    source: &SourceMap,
    registry: &Registry,
) -> Result<Vec<usize>, SpecError> {
    let mut positions = HashMap::new();
    for (n, entry) in systems.iter().enumerate() {
        positions.entry(entry.name.as_str()).or_insert(n);
    }
    let mut graph = Graph {
        systems,
        positions,
        source,
        inputs: Vec::new(),
        state: vec![State::New; systems.len()],
        path: Vec::new(),
        order: Vec::new(),
    };
    for n in 0..systems.len() {
        let inputs = graph.inputs_of(n, registry)?;
        graph.inputs.push(inputs);
    }
    for n in 0..systems.len() {
        graph.visit(n, "")?;
    }
    graph.check_cleaning()?;
    Ok(graph.order)
}

/// Returns the maximum number of hits of a system by name, if it has one: see
/// [`System::max_hits`](crate::System::max_hits). `systems` finds the system and its parts.
pub fn max_hits<'a>(
    name: &str,
    systems: &dyn Fn(&str) -> Option<&'a ParsedSystem>,
) -> Option<usize> {
    max_hits_within(name, systems, MAX_LEVELS)
}

/// [`max_hits`] of at most `levels` systems inside of one another.
fn max_hits_within<'a>(
    name: &str,
    systems: &dyn Fn(&str) -> Option<&'a ParsedSystem>,
    levels: usize,
) -> Option<usize> {
    let levels = levels.checked_sub(1)?;
    let of_part = |part: &str| max_hits_within(part, systems, levels);
    systems(name)?.system.max_hits(&of_part)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    /// With the number of systems inside of one another, itself included.
    Done(usize),
}

struct Graph<'e> {
    systems: &'e [SystemEntry],
    /// Position of each name.
    positions: HashMap<&'e str, usize>,
    source: &'e SourceMap,
    /// Key and position of each part of each system.
    inputs: Vec<Vec<(String, usize)>>,
    state: Vec<State>,
    path: Vec<usize>,
    order: Vec<usize>,
}

impl Graph<'_> {
    fn inputs_of(&self, n: usize, registry: &Registry) -> Result<Vec<(String, usize)>, SpecError> {
        let (entry, source) = (&self.systems[n], self.source);
        let at = format!("systems[{n}]");
        let (mut inputs, mut known) = (Vec::new(), HashSet::new());
        for point in entry.points_of_values() {
            let parsed = registry.parse(&entry.kind, &point);
            let parsed = parsed.map_err(|error| source.system_error(&at, error))?;
            for (key, name) in parsed.system.inputs() {
                let key = format!("{at}.{key}");
                let Some(&position) = self.positions.get(name.as_str()) else {
                    let names = || self.systems.iter().map(|it| it.name.as_str());
                    let hint = did_you_mean(&name, names());
                    let known = names().collect::<Vec<_>>().join(", ");
                    let message =
                        format!("expected the name of a system ({known}), found {name:?}{hint}");
                    return Err(source.error(&key, message));
                };
                // Points mostly have the same parts.
                if known.insert((key.clone(), position)) {
                    inputs.push((key, position));
                }
            }
        }
        Ok(inputs)
    }

    /// Rejects cleaning of the queries of a reranking by a model, which reads them unchanged.
    fn check_cleaning(&self) -> Result<(), SpecError> {
        let given = |n: usize, key: &str| {
            let system = &self.systems[n];
            system.parameters.get(key).or(system.grid.get(key))
        };
        let has_model =
            |n: &usize| self.systems[*n].kind == "rerank" && given(*n, "model").is_some();
        let mut next: Vec<usize> = (0..self.systems.len()).filter(has_model).collect();
        let mut known = HashSet::new();
        while let Some(n) = next.pop() {
            if !known.insert(n) {
                continue;
            }
            // A teacher scores the training queries alone.
            let parts = self.inputs[n].iter();
            let parts = parts.filter(|(key, _)| !key.ends_with(TEACHER_SYSTEM));
            next.extend(parts.map(|(_, input)| *input));
            if let Some(cleaning) = given(n, "cleaning") {
                let key = match cleaning.get("tags") {
                    Some(_) => "cleaning.tags",
                    None => "cleaning",
                };
                let message = "expected none below a reranking by a model, which reads the queries \
                               unchanged";
                let error = SystemError::parameter(key, message);
                return Err(self.source.system_error(&format!("systems[{n}]"), error));
            }
        }
        Ok(())
    }

    /// Adds a system to the order, after its parts. Returns the number of systems inside of one
    /// another.
    fn visit(&mut self, n: usize, key: &str) -> Result<usize, SpecError> {
        match self.state[n] {
            State::Done(levels) => return Ok(levels),
            State::Open => {
                let start = self.path.iter().position(|other| *other == n);
                let cycle = self.path[start.unwrap_or_default()..].iter().chain([&n]);
                let names: Vec<&str> = cycle.map(|&n| self.systems[n].name.as_str()).collect();
                let message = format!(
                    "expected systems that do not contain themselves, found the cycle {}",
                    names.join(" -> ")
                );
                return Err(self.source.error(key, message));
            }
            State::New => {}
        }
        self.state[n] = State::Open;
        self.path.push(n);
        let mut levels = 1;
        for (key, input) in self.inputs[n].clone() {
            // The recursion ends before the stack does.
            let inner = match self.path.len() {
                MAX_LEVELS => MAX_LEVELS,
                _ => self.visit(input, &key)?,
            };
            levels = levels.max(inner + 1);
            if levels > MAX_LEVELS {
                let message = format!(
                    "expected at most {MAX_LEVELS} systems inside of one another, found more"
                );
                return Err(self.source.error(&key, message));
            }
        }
        self.path.pop();
        self.state[n] = State::Done(levels);
        self.order.push(n);
        Ok(levels)
    }
}
