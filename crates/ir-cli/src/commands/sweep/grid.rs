//! Searches of a collection with every point of a parameter grid.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueHint;
use ir_bm25::feedback::{Feedback, FeedbackDocuments, FeedbackModel};
use ir_bm25::{DuplicateIds, Model, Searcher, SegmentedIndex, StoredFields};
use ir_core::store::Verify;
use ir_core::{Distinct, Query, Retriever, Run};
use ir_data::TextEncoding;

use crate::shared::console::{Console, bail_usage, check_stopped};
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{self, CollectionSource, open_collection};

/// Parameter grid, searched in place of runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Grid")]
pub(super) struct GridOptions {
    /// Values of a parameter of --model, such as k1=0.6,0.9,1.2, or of --feedback, such as
    /// feedback.docs=5,10; repeatable. Every combination is a setting. The second argument is then
    /// the collection or index to search
    #[arg(long, value_parser = axis, value_name = "NAME=VALUES")]
    grid: Vec<Axis>,

    /// Scoring model, also with fixed parameters, such as 'bm25(b=0.3)' [default: bm25]
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::Other, requires = "grid")]
    model: Option<String>,

    /// Pseudo-relevance feedback: rm3 or rocchio [default: none]
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::Other, requires = "grid")]
    feedback: Option<String>,

    /// Queries: a file or collection as in `ir search` [default: those of the collection]
    #[arg(long, value_name = "FILE|COLLECTION", requires = "grid")]
    query_file: Option<PathBuf>,

    /// Split of the collection whose queries are searched [default: test]
    #[arg(long, value_name = "SPLIT", value_hint = ValueHint::Other, requires = "grid")]
    split: Option<String>,
}

/// Values of a parameter.
#[derive(Debug, Clone, PartialEq)]
struct Axis {
    name: String,
    values: Vec<f32>,
}

/// Setting of a grid: name, scoring model and feedback.
type Point = (String, Model, Option<FeedbackModel>);

/// Parameters of feedback, before their names.
const FEEDBACK: &str = "feedback.";
/// Maximum number of settings.
const MAX_POINTS: usize = 10_000;
/// Number of hits per query, as in `ir search`.
const HITS: usize = 1000;

fn axis(text: &str) -> Result<Axis, String> {
    let parsed = text.split_once('=').and_then(|(name, values)| {
        let values = values.split(',').map(|value| value.trim().parse().ok());
        let values = values.collect::<Option<Vec<f32>>>()?;
        let name = name.trim().to_owned();
        (!name.is_empty()).then_some(Axis { name, values })
    });
    parsed.ok_or_else(|| format!("expected NAME=VALUE,VALUE,..., found {text:?}"))
}

impl GridOptions {
    pub(super) fn is_set(&self) -> bool {
        !self.grid.is_empty()
    }

    /// The settings, in the order of the values, the last parameter fastest.
    pub(super) fn points(&self) -> Result<Vec<Point>> {
        let mut names: Vec<&str> = self.grid.iter().map(|axis| axis.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail_usage!(
                "--grid: expected different parameters, found {:?} twice",
                pair[0]
            );
        }
        for Axis { name, values } in &self.grid {
            let mut sorted = values.clone();
            sorted.sort_by(f32::total_cmp);
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                let value = pair[0];
                bail_usage!("--grid: expected different values of {name:?}, found {value} twice");
            }
        }
        let sizes = self.grid.iter().map(|axis| axis.values.len());
        let count = sizes.fold(1, usize::saturating_mul);
        if !(2..=MAX_POINTS).contains(&count) {
            bail_usage!("--grid: expected 2 to {MAX_POINTS} settings, found {count}");
        }
        let mut points: Vec<Vec<(&str, f32)>> = vec![Vec::new()];
        for Axis { name, values } in &self.grid {
            let extended = points.iter().flat_map(|point| {
                let with = |value: &f32| {
                    let last = (name.as_str(), *value);
                    point.iter().copied().chain([last]).collect()
                };
                values.iter().map(with)
            });
            points = extended.collect();
        }
        points.iter().map(|point| self.point(point)).collect()
    }

    fn point(&self, parameters: &[(&str, f32)]) -> Result<Point> {
        let names = parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let label = names.collect::<Vec<_>>().join(",");
        let (of_feedback, of_model): (Vec<_>, Vec<_>) =
            (parameters.iter()).partition(|(name, _)| name.starts_with(FEEDBACK));
        let base = self.model.as_deref().unwrap_or("bm25");
        let model = with_parameters(base, of_model.iter().map(|(name, value)| (*name, *value)));
        let model = match model.parse::<Model>() {
            Ok(model) => model,
            Err(error) => bail_usage!("--grid, --model: {error}"),
        };
        let feedback = match &self.feedback {
            None => match of_feedback.first() {
                None => None,
                Some((name, _)) => bail_usage!("--grid: {name}: expected --feedback, found none"),
            },
            Some(base) => {
                let given = of_feedback.iter();
                let given = given.map(|(name, value)| (&name[FEEDBACK.len()..], *value));
                match with_parameters(base, given).parse() {
                    Ok(feedback) => Some(feedback),
                    Err(error) => bail_usage!("--grid, --feedback: {error}"),
                }
            }
        };
        Ok((label, model, feedback))
    }

    /// Searches the queries with every setting. Calls `visit` with each run, named by its setting.
    pub(super) fn search(
        &self,
        collection: &str,
        setup: &IndexOptions,
        console: &Console,
        mut visit: impl FnMut(Run) -> Result<()>,
    ) -> Result<()> {
        let points = self.points()?;
        let split = self.split.as_deref();
        let asked = match &self.query_file {
            Some(queries) => Some(input::read_queries_of(
                queries,
                split,
                TextEncoding::Utf8,
                console,
            )?),
            None => None,
        };
        let opened = open_collection(
            collection,
            TextEncoding::Utf8,
            Verify::SmallSections,
            console,
        )?;
        let (index, asked): (SegmentedIndex, _) = match opened {
            CollectionSource::Index(index) => {
                if let Some(option) = setup.first_set() {
                    bail_usage!(
                        "{option} applies only when an index is built, but {collection} is a saved index"
                    );
                }
                (index, asked)
            }
            CollectionSource::Documents(documents) => {
                let asked = match asked {
                    Some(asked) => Some(asked),
                    None => input::collection_queries(&documents.collection, split, console)?,
                };
                let store = match self.feedback {
                    Some(_) => StoredFields::Everything,
                    None => StoredFields::Nothing,
                };
                let config = setup.config(&documents, None, store);
                let index = setup.build(&documents, None, config, None, None, console)?;
                (index.into(), asked)
            }
        };
        let Some(asked) = asked else {
            bail_usage!(
                "{collection}: expected a collection with queries, found none (--query-file)"
            );
        };
        for (label, model, feedback) in points {
            check_stopped()?;
            let setting = || format!("{collection}: {label}");
            let searcher = index.searcher(model).with_context(setting)?;
            let run = searched(&label, searcher, feedback, &asked.queries);
            visit(run.with_context(setting)?)?;
        }
        Ok(())
    }
}

/// The text of a model with further parameters.
fn with_parameters<'a>(base: &str, more: impl Iterator<Item = (&'a str, f32)>) -> String {
    let (name, given) = base.split_once('(').unwrap_or((base, ")"));
    let given = given.trim_end();
    let given = given.strip_suffix(')').unwrap_or(given);
    let more = more.map(|(name, value)| format!("{name}={value}"));
    let given = std::iter::once(given.to_owned()).filter(|given| !given.is_empty());
    let all: Vec<String> = given.chain(more).collect();
    format!("{name}({})", all.join(","))
}

fn searched(
    label: &str,
    searcher: Searcher,
    feedback: Option<FeedbackModel>,
    queries: &[Query],
) -> Result<Run> {
    let keeps_duplicates = searcher.index().config().duplicates == DuplicateIds::Keep;
    let retriever: Box<dyn Retriever<Query = str>> = match feedback {
        None => Box::new(searcher),
        Some(model) => {
            let documents = FeedbackDocuments::stored(searcher.clone())?;
            Box::new(Feedback::new(searcher, documents, model)?)
        }
    };
    let retriever: Box<dyn Retriever<Query = str>> = match keeps_duplicates {
        true => Box::new(Distinct(retriever)),
        false => retriever,
    };
    Ok(Run::from_retriever(label, &*retriever, queries, HITS)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_models() {
        let text = |base: &str| with_parameters(base, [("k1", 0.5), ("b", 1.0)].into_iter());
        assert_eq!(text("bm25"), "bm25(k1=0.5,b=1)");
        assert_eq!(
            text("bm25(lengths=exact)"),
            "bm25(lengths=exact,k1=0.5,b=1)"
        );
        assert_eq!(with_parameters("rm3", std::iter::empty()), "rm3()");
        let axis = axis("k1=0.5, 2").unwrap();
        assert_eq!((axis.name.as_str(), &*axis.values), ("k1", &[0.5, 2.0][..]));
        for wrong in ["k1", "k1=", "=1", "k1=a", "k1=1,,2"] {
            assert!(super::axis(wrong).is_err(), "{wrong}");
        }
    }
}
