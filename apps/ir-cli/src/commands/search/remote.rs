//! Searches of a collection on a server: `ir search --engine`.
//!
//! COLLECTION is only the source of the queries. Its documents are not read: nothing is compared
//! with them, hits have no texts, and the server evaluates filters as conditions.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::iter;

use anyhow::{Context, Result, anyhow};
use ir_bm25::analysis::Analysis;
use ir_core::{Attributes, Predicate, Retriever as _};
use ir_engines::ResultCache;
use ir_system::systems::RemoteSystem;
use ir_system::{FilterName, OpenSystem, SystemEntry, SystemError, SystemSpec};
use toml::Value;

use super::args::Args;
use super::notes::{self, SystemTraits};
use super::rank::QueryRunner;
use super::results::{HitDocuments, OpenSearch, RunOutput};
use super::{queries_of_collection, save, write_all};
use crate::shared::console::Console;
use crate::shared::filter::{NamedConditions, QueryFilters, not_later, warn_of_conditions};
use crate::shared::input::TestQueries;
use crate::shared::system_options::{REMOTE, message};

/// Searches by the system of the options, and saves it.
pub(super) fn run(
    args: &Args,
    (system, traits): (SystemEntry, SystemTraits<'_>),
    asked: Option<TestQueries>,
    outputs: Vec<RunOutput>,
    console: &Console,
) -> Result<()> {
    let first = outputs.first().context("expected a run")?;
    let entry = save::searched(args, system, &first.tag);
    let saved = args.save.as_ref().map(|path| {
        let spec = save::relocated(SystemSpec::new(vec![entry.clone()]), path)?;
        anyhow::Ok((spec, path))
    });
    let saved = saved.transpose()?;
    let open = open(args, &entry, asked, traits, console)?;
    write_all(&open, args, None, outputs, console)?;
    match saved {
        Some((spec, path)) => save::save(&spec, path),
        None => Ok(()),
    }
}

/// Opens the collection of an entry for the queries that were asked, or the queries of COLLECTION.
fn open<'a>(
    args: &'a Args,
    entry: &'a SystemEntry,
    asked: Option<TestQueries>,
    traits: SystemTraits<'a>,
    console: &Console,
) -> Result<OpenSearch<'a>> {
    let asked = match asked {
        Some(asked) => asked,
        None => queries_of_collection(args, console)?,
    };
    let queries = args.query_form.apply(asked.queries)?;
    let system: RemoteSystem = Value::Table(entry.parameters.clone()).try_into()?;
    let engine = entry.parameters.get("engine").and_then(Value::as_str);
    let name = engine.context("expected an address")?;
    let failed = |error: SystemError| match error {
        SystemError::Stage { source, .. } => {
            anyhow::Error::from_boxed(source).context(name.to_owned())
        }
        error => anyhow!(message(REMOTE, &error)),
    };
    let client = args
        .remote
        .client
        .collection(&system.address().map_err(failed)?)?;
    let cache = args.remote.engine_cache.as_ref();
    let cache = cache.map(ResultCache::open).transpose()?;
    let acceptance = "--engine-any-encoder";
    let opened = system.open_for(&queries, &client, cache, acceptance, &mut |text| {
        console.warn(text);
    });
    let opened = opened.map_err(failed)?;
    let matching = |conditions: &[Predicate]| {
        let retriever = opened.matching(conditions);
        retriever.with_context(|| name.to_owned())
    };
    let conditions = NamedConditions::of_option(entry.condition.as_slice());
    // The documents are not known here.
    let Ok(()) = warn_of_conditions(
        conditions,
        iter::empty::<Result<Attributes, Infallible>>(),
        console,
    );
    let retriever = matching(conditions.all)?;
    let has_years = entry
        .filter
        .is_some_and(|filter| filter != FilterName::None);
    if has_years {
        // A condition that the server cannot evaluate would be a list of documents.
        let years = queries.iter().filter_map(|query| query.attributes.year());
        for year in years.collect::<BTreeSet<_>>() {
            matching(&[not_later(year)])?;
        }
    }
    if let Some(qrels) = &asked.qrels {
        notes::warn_of_missing_documents(retriever.ids(), qrels, console);
    }
    let open = OpenSystem {
        description: Some(name.to_owned()),
        ..OpenSystem::new(retriever)
    };
    Ok(OpenSearch {
        name,
        queries,
        runner: QueryRunner::of_system(open, entry, QueryFilters::on_server(has_years)),
        documents: HitDocuments::Server,
        analysis: Analysis::default(),
        traits,
        hits: entry.hits,
        most: usize::MAX,
        scores: args.scores(),
    })
}
