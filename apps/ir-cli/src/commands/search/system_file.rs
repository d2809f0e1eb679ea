//! Searches by system files: `ir search --system`.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use ir_bm25::analysis::Highlighter;
use ir_core::trec::{ScoreFormat, write_run};
use ir_core::{Predicate, Query, Run, Search};
use ir_system::{FilterName, OpenSystem, Registry, SystemSpec};

use super::args::Args;
use super::engine::without_queries;
use super::list::ShownHit;
use super::rank::{note_long_documents, published};
use super::{LIST_HITS, RUN_HITS, TYPED_QUERY_ID, list};
use crate::shared::console::{Console, bail_usage};
use crate::shared::filter::{QueryFilters, warn_of_years};
use crate::shared::format::grouped;
use crate::shared::input::{self, CollectionSource, open_collection};
use crate::shared::list_style::ListStyle;
use crate::shared::options::{first_set, use_threads};
use crate::shared::output::{OutputSink, failed};
use crate::shared::search_data::{OtherCollections, SystemOpener};
use crate::shared::signals::stop_on_interrupt;
use crate::shared::system_options::open_system;

/// Queries of the command; `None` if they are the queries of the collection.
fn asked_queries(args: &Args, console: &Console) -> Result<Option<Vec<Query>>> {
    Ok(match (args.typed(), &args.queries) {
        (Some(text), _) => Some(vec![Query::new(TYPED_QUERY_ID, text)]),
        (None, None) => None,
        (None, Some(queries)) => {
            let split = args.split.as_deref();
            let read = input::read_queries_of(queries, split, args.query_options(), console)?;
            Some(read.queries)
        }
    })
}

/// A system that is open for queries.
struct OpenSearch<'a> {
    opener: SystemOpener<'a>,
    system: OpenSystem,
    queries: Vec<Query>,
    filters: QueryFilters,
}

/// Opens the system on the collection, for the queries that were asked or its own.
fn open<'a>(args: &'a Args, spec: &SystemSpec, console: &'a Console) -> Result<OpenSearch<'a>> {
    let root = spec.root().context("expected a system")?;
    let has_years = root.filter.is_some_and(|it| it != FilterName::None);
    let conditions: Vec<Predicate> = root.condition.iter().cloned().collect();
    let asked = asked_queries(args, console)?;
    let (name, cache) = (&args.collection, args.cache.as_ref());
    match open_collection(name, args.documents(), args.verification(), console)? {
        CollectionSource::Index(index) => {
            let Some(queries) = asked else {
                return without_queries(name);
            };
            let queries = args.query_form.apply(queries)?;
            let others = OtherCollections {
                encoding: args.text.encoding,
                verify: args.verification(),
                setup: &args.setup,
                threads: args.threads,
            };
            let mut opener = SystemOpener::new(name, &index, &queries, cache, others, console)?;
            Ok(OpenSearch {
                system: opener.open(spec)?,
                opener,
                filters: QueryFilters::new(&index, &conditions, has_years, name, console)?,
                queries,
            })
        }
        CollectionSource::Documents(documents) => {
            let (queries, split) = match asked {
                Some(queries) => (queries, None),
                None => {
                    let split = args.split.as_deref();
                    match input::collection_queries(&documents.collection, split, console)? {
                        Some(found) => (found.queries, split),
                        None => return without_queries(name),
                    }
                }
            };
            let queries = args.query_form.apply(queries)?;
            let opener =
                SystemOpener::on_documents(documents, &queries, split, spec, cache, console);
            let mut opener = opener?;
            let system = opener.open(spec)?;
            let ids = system.retriever.ids();
            // The documents are read again.
            let attributes = if has_years || !conditions.is_empty() {
                opener.attributes(ids)?.unwrap_or_default()
            } else {
                Vec::new()
            };
            if has_years && attributes.iter().all(|it| it.year().is_none()) {
                console.warn("no document has a year; the time filter has no effect");
            }
            let conditions = Predicate::All(conditions);
            let filters = QueryFilters::of_documents(ids, &attributes, &conditions, has_years);
            Ok(OpenSearch {
                system,
                opener,
                queries,
                filters,
            })
        }
    }
}

impl OpenSearch<'_> {
    /// Ranks the documents for all queries.
    fn run(&self, tag: &str, filter: FilterName, k: usize) -> Result<Run> {
        let Self {
            system,
            queries,
            filters,
            ..
        } = self;
        if filter == FilterName::PublishedYear {
            let message = "expected a system of the type bm25 for the filter published-year";
            let raw = system.with_duplicates.as_ref().context(message)?;
            let mut run = Run::new(tag);
            for (query, ranking) in queries.iter().zip(published(&**raw, filters, queries, k)?) {
                run.push_ranking(&query.id, &ranking, raw.ids());
            }
            return Ok(run);
        }
        let years = queries.iter().map(|query| query.attributes.year());
        let run = filters.apply(years, |filters| {
            Run::from_retriever_with(tag, &*system.retriever, queries, |n, _| {
                let search = Search::top(k);
                filters[n].map_or(search, |filter| search.within(filter))
            })
        });
        Ok(run?)
    }
}

/// Searches the queries by the system of a file, and writes a TREC run, or a list for query words.
pub(super) fn run(args: &Args, path: &Path, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    check(args)?;
    let spec = open_system(path)?;
    let root = spec.root().context("expected a system")?;
    let filter = root.filter.unwrap_or_default();
    if filter == FilterName::YearOfBestRecord {
        bail!(
            "{}: filter: expected none, year or published-year, found year-of-best-record, which needs an experiment file",
            path.display()
        );
    }
    let out = if args.is_list() {
        OutputSink::colored_stdout()
    } else {
        OutputSink::open(args.output.as_ref())?
    };
    let open = open(args, &spec, console)?;
    if filter != FilterName::None {
        warn_of_years(&open.queries, console);
    }
    let most = spec.max_hits(&Registry::default())?.unwrap_or(usize::MAX);
    let default = if args.is_list() { LIST_HITS } else { RUN_HITS };
    let k = args.hits.or(root.hits).unwrap_or(default.min(most));
    let began = Instant::now();
    let run = open.run(args.tag_or(&root.name), filter, k);
    let mut run = run.with_context(|| format!("{}: search failed", args.collection))?;
    let took = began.elapsed();
    note_long_documents(open.system.long_documents(), console);
    let documents = grouped(open.system.retriever.ids().len() as u64);
    if args.is_list() {
        let found = write_list(&open, &run, out)?;
        console.note(format_args!("{found} of {documents} documents, {took:.1?}"));
        return Ok(());
    }
    if args.remove_self {
        run.remove_identical_ids();
    }
    let scores = root.scores.map_or(ScoreFormat::Exact, ScoreFormat::from);
    out.write_with(|out| write_run(&run, args.scores_or(scores), out))?;
    console.note(format_args!(
        "{}: {} queries, {documents} documents",
        root.name,
        grouped(open.queries.len() as u64),
    ));
    Ok(())
}

/// Writes the hits with their documents. Returns the number of hits.
fn write_list(open: &OpenSearch<'_>, run: &Run, mut out: OutputSink) -> Result<usize> {
    let ids = run.iter().flat_map(|(_, hits)| hits);
    let ids: HashSet<&str> = ids.map(|hit| hit.doc.as_str()).collect();
    let documents = open.opener.documents(&ids)?;
    let analyzer = open.opener.analysis().unwrap_or_default().build()?;
    let style = ListStyle::for_stdout();
    for query in &open.queries {
        let highlighter = Highlighter::new(&analyzer, &query.text);
        let hits = run.get(&query.id).unwrap_or_default();
        for (rank, hit) in (1..).zip(hits) {
            let shown = ShownHit {
                rank,
                id: &hit.doc,
                score: hit.score as f32,
                document: documents.get(&hit.doc).cloned(),
                explanation: None,
            };
            let written = list::write(&shown, &highlighter, style, &mut out);
            written.with_context(|| failed(out.name()))?;
        }
    }
    out.commit()?;
    Ok(ids.len())
}

/// Rejects options of a system beside a system file.
fn check(args: &Args) -> Result<()> {
    args.check_typed()?;
    args.check_list()?;
    #[cfg(feature = "remote")]
    args.remote.check()?;
    let of_the_search = first_set([
        ("--save", args.save.is_some()),
        ("--template", args.template.is_some()),
        ("--filter", !args.filter.is_empty()),
        (
            "--not-later-than-query",
            args.not_later_than_query.is_some(),
        ),
        ("--json", args.json),
        ("--explain", args.explain),
        ("--shard", args.shard.shard.is_some()),
    ]);
    #[cfg(feature = "dense")]
    let of_the_search = of_the_search.or(args.vectors.first_set());
    let of_the_search = of_the_search.or(args.setup.first_set()).map(str::to_owned);
    if let Some(option) = args.lexical.first_set(|_| true).or(of_the_search) {
        bail_usage!("{option}: expected either --system or options of a system, found both");
    }
    Ok(())
}
