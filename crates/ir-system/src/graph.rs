//! References between systems: order of evaluation, unknown names and cycles.

use crate::entry::SystemEntry;
use crate::error::SpecError;
use crate::registry::Registry;
use crate::source::SourceMap;
use crate::suggest::did_you_mean;

/// Returns the positions of the systems in an order in which every system follows its parts.
///
/// # Errors
/// Returns the error of a key that names no system, and of a system that contains itself.
pub fn order(
    systems: &[SystemEntry],
    source: &SourceMap,
    registry: &Registry,
) -> Result<Vec<usize>, SpecError> {
    let mut graph = Graph {
        systems,
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
    Ok(graph.order)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

struct Graph<'e> {
    systems: &'e [SystemEntry],
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
        let mut inputs = Vec::new();
        for point in entry.points() {
            let parsed = registry.parse(&entry.kind, &point);
            let parsed = parsed.map_err(|error| source.system_error(&at, error))?;
            for (key, name) in parsed.system.inputs() {
                let key = format!("{at}.{key}");
                let names = || self.systems.iter().map(|it| it.name.as_str());
                let Some(position) = names().position(|known| known == name) else {
                    let hint = did_you_mean(&name, names());
                    let known = names().collect::<Vec<_>>().join(", ");
                    let message =
                        format!("expected the name of a system ({known}), found {name:?}{hint}");
                    return Err(source.error(&key, message));
                };
                inputs.push((key, position));
            }
        }
        Ok(inputs)
    }

    fn visit(&mut self, n: usize, key: &str) -> Result<(), SpecError> {
        match self.state[n] {
            State::Done => return Ok(()),
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
        for (key, input) in self.inputs[n].clone() {
            self.visit(input, &key)?;
        }
        self.path.pop();
        self.state[n] = State::Done;
        self.order.push(n);
        Ok(())
    }
}
