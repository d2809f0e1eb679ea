//! Systems of the type `run`: the results of a file for the queries of the search.

use anyhow::{Context, Result};
use ir_core::Run;
use ir_core::trec::{ScoreFormat, write_run};
use ir_system::systems::{RUN, RunSystem};
use toml::Value;

use super::args::Args;
use super::results::RunOutput;
use super::system_file::SystemFile;
use super::{queries_of_collection, shows_documents};
use crate::shared::console::{Console, bail_usage};
use crate::shared::format::grouped;
use crate::shared::input::TestQueries;
use crate::shared::options::QueryForm;
use crate::shared::search_data::key_of_root;

/// Writes the results of the run for the queries that were asked, or the queries of COLLECTION.
/// Documents are not read.
pub(super) fn write(
    args: &Args,
    file: &SystemFile,
    asked: Option<TestQueries>,
    outputs: Vec<RunOutput>,
    console: &Console,
) -> Result<()> {
    if args.typed().is_some() || shows_documents(args) {
        let key = key_of_root(&file.spec, "type");
        bail_usage!(
            "{}: expected a system that searches, found a run, which has hits of queries with ids \
             and no documents",
            file.spec.source.located_key(&key)
        );
    }
    if args.query_form != QueryForm::Text {
        bail_usage!(
            "--query-form {}: expected a system that searches, found a run",
            args.query_form
        );
    }
    let queries = match asked {
        Some(asked) => asked.queries,
        None => queries_of_collection(args, console)?.queries,
    };
    let parameters = Value::Table(file.root.parameters.clone());
    let system: RunSystem = parameters.try_into()?;
    let parsed = system.read(&file.spec.source)?;
    for warning in &parsed.warnings {
        console.warn(warning);
    }
    let output = outputs.into_iter().next().context("expected an output")?;
    let mut run = Run::new(&output.tag);
    for query in &queries {
        for hit in parsed.data.get(&query.id).unwrap_or_default() {
            run.push(&query.id, &*hit.doc, hit.score);
        }
    }
    if args.remove_self {
        run.remove_identical_ids();
    }
    if let Some(hits) = args.hits {
        run.truncate(hits);
    }
    let hits: usize = run.iter().map(|(_, hits)| hits.len()).sum();
    let empty = queries
        .iter()
        .filter(|query| run.get(&query.id).is_none_or(<[_]>::is_empty));
    let empty = empty.count();
    let scores = file
        .root
        .scores
        .map_or(ScoreFormat::Exact, ScoreFormat::from);
    let scores = args.scores_or(scores);
    output.out.write_with(|out| write_run(&run, scores, out))?;
    console.note(format_args!(
        "{}: {} queries ({} without hits), {} hits, {RUN}",
        output.tag,
        grouped(queries.len() as u64),
        grouped(empty as u64),
        grouped(hits as u64),
    ));
    Ok(())
}
