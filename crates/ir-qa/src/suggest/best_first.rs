//! Best-first search of a finite-state transducer.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use fst::Automaton;
use fst::raw::{CompiledAddr, Fst};

/// The values of the keys that an automaton accepts, ascending.
///
/// The outputs on a path add up to a value, so their sum at a state is a lower bound of the values
/// that can be reached from it. Construction moves outputs towards the root, which makes the bound
/// exact where the automaton accepts all continuations.
pub(super) struct BestFirst<'a, A: Automaton> {
    fst: &'a Fst<Vec<u8>>,
    automaton: A,
    frontier: BinaryHeap<Reverse<Step<A::State>>>,
}

/// State that was reached, or the value of a key.
struct Step<S> {
    bound: u64,
    /// State of the transducer and of the automaton; `None` for a value, which is then `bound`.
    state: Option<(CompiledAddr, S)>,
}

impl<'a, A: Automaton> BestFirst<'a, A> {
    pub(super) fn new(fst: &'a Fst<Vec<u8>>, automaton: A) -> Self {
        let start = automaton.start();
        let mut frontier = BinaryHeap::new();
        if automaton.can_match(&start) {
            frontier.push(Reverse(Step {
                bound: 0,
                state: Some((fst.root().addr(), start)),
            }));
        }
        Self {
            fst,
            automaton,
            frontier,
        }
    }

    /// Lower bound of the values to come; `None` after the last one.
    pub(super) fn bound(&self) -> Option<u64> {
        self.frontier.peek().map(|Reverse(step)| step.bound)
    }

    /// Takes one step. Returns a value if the step reaches one.
    pub(super) fn step(&mut self) -> Option<u64> {
        let Reverse(Step { bound, state }) = self.frontier.pop()?;
        let Some((address, state)) = state else {
            return Some(bound);
        };
        let node = self.fst.node(address);
        if node.is_final() && self.automaton.is_match(&state) {
            self.frontier.push(Reverse(Step {
                bound: bound + node.final_output().value(),
                state: None,
            }));
        }
        for transition in node.transitions() {
            let next = self.automaton.accept(&state, transition.inp);
            if self.automaton.can_match(&next) {
                self.frontier.push(Reverse(Step {
                    bound: bound + transition.out.value(),
                    state: Some((transition.addr, next)),
                }));
            }
        }
        None
    }
}

impl<A: Automaton> Iterator for BestFirst<'_, A> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        while !self.frontier.is_empty() {
            let value = self.step();
            if value.is_some() {
                return value;
            }
        }
        None
    }
}

impl<S> Ord for Step<S> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.cmp(&other.bound)
    }
}

impl<S> PartialOrd for Step<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<S> PartialEq for Step<S> {
    fn eq(&self, other: &Self) -> bool {
        self.bound == other.bound
    }
}

impl<S> Eq for Step<S> {}
