//! References between systems: order of evaluation, unknown names and cycles.

use crate::error::ExperimentError;
use crate::file::{Experiment, SelectionMethod};
use crate::registry::Registry;
use crate::suggest::did_you_mean;

/// Returns the positions of the systems in an order in which every system follows its parts.
pub(crate) fn order(
    experiment: &Experiment,
    registry: &Registry,
) -> Result<Vec<usize>, ExperimentError> {
    let mut graph = Graph {
        experiment,
        inputs: Vec::new(),
        state: vec![State::New; experiment.systems.len()],
        path: Vec::new(),
        order: Vec::new(),
    };
    for n in 0..experiment.systems.len() {
        let inputs = graph.inputs_of(n, registry)?;
        graph.inputs.push(inputs);
    }
    for n in 0..experiment.systems.len() {
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
    experiment: &'e Experiment,
    /// Key and position of each part of each system.
    inputs: Vec<Vec<(String, usize)>>,
    state: Vec<State>,
    path: Vec<usize>,
    order: Vec<usize>,
}

impl Graph<'_> {
    fn inputs_of(
        &self,
        n: usize,
        registry: &Registry,
    ) -> Result<Vec<(String, usize)>, ExperimentError> {
        let (entry, source) = (&self.experiment.systems[n], &self.experiment.source);
        let at = format!("systems[{n}]");
        let mut inputs = Vec::new();
        for point in crate::selection::grid_points(entry) {
            let parsed = registry.parse(&entry.kind, &point);
            let parsed = parsed.map_err(|error| source.system_error(&at, error))?;
            for (key, name) in parsed.system.inputs() {
                let key = format!("{at}.{key}");
                let names = || self.experiment.systems.iter().map(|it| it.name.as_str());
                let Some(position) = names().position(|known| known == name) else {
                    let hint = did_you_mean(&name, names());
                    let known = names().collect::<Vec<_>>().join(", ");
                    let message =
                        format!("expected the name of a system ({known}), found {name:?}{hint}");
                    return Err(source.error(&key, message));
                };
                self.check_selected(&key, position)?;
                inputs.push((key, position));
            }
        }
        Ok(inputs)
    }

    /// A system with a grid can be a part of another if its best point does not depend on the
    /// query.
    fn check_selected(&self, key: &str, part: usize) -> Result<(), ExperimentError> {
        let entry = &self.experiment.systems[part];
        let selection = self.experiment.selection.as_ref();
        let by_validation = selection.is_none_or(|it| it.by == SelectionMethod::Validation);
        if entry.grid.is_empty() || by_validation {
            return Ok(());
        }
        let message = format!(
            "expected a system without a grid, found {:?}; only the selection by validation has one \
             best point for all queries",
            entry.name
        );
        Err(self.experiment.source.error(key, message))
    }

    fn visit(&mut self, n: usize, key: &str) -> Result<(), ExperimentError> {
        match self.state[n] {
            State::Done => return Ok(()),
            State::Open => {
                let start = self.path.iter().position(|other| *other == n);
                let cycle = self.path[start.unwrap_or_default()..].iter().chain([&n]);
                let names: Vec<&str> = cycle
                    .map(|&n| self.experiment.systems[n].name.as_str())
                    .collect();
                let message = format!(
                    "expected systems that do not contain themselves, found the cycle {}",
                    names.join(" -> ")
                );
                return Err(self.experiment.source.error(key, message));
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
