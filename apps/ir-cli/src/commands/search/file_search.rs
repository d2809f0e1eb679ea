//! Searches by system files: `ir search --system`.

use anyhow::Result;
use ir_bm25::analysis::Analysis;
use ir_core::trec::ScoreFormat;
use ir_core::{Qrels, Query};

use super::args::Args;
use super::engine::without_queries;
use super::notes::{self, SystemTraits};
use super::rank::QueryRunner;
use super::results::{HitDocuments, OpenSearch};
use super::system_file::SystemFile;
use crate::shared::console::Console;
use crate::shared::feedback_collection::has_feedback_collection;
use crate::shared::input::{self, CollectionSource, DocumentSource, TestQueries, open_collection};
use crate::shared::search_data::SystemOpener;

/// Opens the system of a file on the collection, for the queries that were asked or its own.
pub(super) fn open<'a>(
    args: &'a Args,
    file: &'a SystemFile,
    asked: Option<TestQueries>,
    traits: SystemTraits<'a>,
    console: &'a Console,
) -> Result<OpenSearch<'a>> {
    let name = &args.collection;
    let mut open = match open_collection(name, args.documents(), args.verification(), console)? {
        CollectionSource::Index(index) => {
            args.check_encoding(None, has_feedback_collection(&file.spec))?;
            let Some(asked) = asked else {
                return without_queries(name);
            };
            let queries = args.query_form.apply(asked.queries)?;
            notes::warn_of_operators(&queries, args, &traits, console);
            let (others, cache) = (args.other_collections(), args.cache.as_ref());
            Opened {
                opener: SystemOpener::new(name, &index, &queries, cache, others, console)?,
                analysis: index.config().analysis.clone(),
                qrels: asked.qrels,
                queries,
            }
        }
        CollectionSource::Documents(documents) => {
            args.check_encoding(Some(&documents), has_feedback_collection(&file.spec))?;
            on_documents(args, file, asked, documents, console)?
        }
    };
    let system = open.opener.open(&file.spec)?;
    let ids = system.retriever.ids();
    let filters = open.opener.filters(&file.spec, ids)?;
    if let Some(qrels) = &open.qrels {
        notes::warn_of_missing_documents(ids, qrels, console);
    }
    Ok(OpenSearch {
        name,
        queries: open.queries,
        runner: QueryRunner::of_system(system, &file.root, filters),
        documents: HitDocuments::System(open.opener),
        analysis: open.analysis,
        traits,
        hits: args.hits.or(file.root.hits),
        most: file.max_hits()?,
        scores: args.scores_or(
            file.root
                .scores
                .map_or(ScoreFormat::Exact, ScoreFormat::from),
        ),
    })
}

/// A collection that is open for systems, with the queries and their judgments.
struct Opened<'a> {
    opener: SystemOpener<'a>,
    queries: Vec<Query>,
    qrels: Option<Qrels>,
    analysis: Analysis,
}

/// Opens documents, which the system indexes as it describes.
fn on_documents<'a>(
    args: &'a Args,
    file: &SystemFile,
    asked: Option<TestQueries>,
    documents: DocumentSource,
    console: &'a Console,
) -> Result<Opened<'a>> {
    let (asked, split) = match asked {
        Some(asked) => (asked, None),
        None => {
            let split = args.split.as_deref();
            match input::collection_queries(&documents.collection, split, console)? {
                Some(found) => (found, split),
                None => return without_queries(&args.collection),
            }
        }
    };
    let queries = args.query_form.apply(asked.queries)?;
    let (spec, cache) = (&file.spec, args.cache.as_ref());
    let collection = documents.collection;
    Ok(Opened {
        opener: SystemOpener::on_documents(collection, &queries, split, spec, cache, console)?,
        analysis: file.analysis()?,
        qrels: asked.qrels,
        queries,
    })
}
