//! Searches of an open system and their output: a TREC run, a list, or JSON lines.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use anyhow::{Context, Result};
use ir_bm25::analysis::{Analysis, Highlighter};
use ir_bm25::{SegmentedIndex, StoredFields};
use ir_core::trec::{ScoreFormat, write_run};
use ir_core::{DocNum, Document, Query, Ranking, Run};

use super::args::Args;
use super::list::{self, ShownHit};
use super::notes::{self, SystemTraits};
use super::rank::QueryRunner;
use super::{LIST_HITS, RUN_HITS, shows_documents};
use crate::shared::console::Console;
use crate::shared::format::grouped;
use crate::shared::list_style::ListStyle;
use crate::shared::output::{OutputPath, OutputSink, failed};
use crate::shared::search_data::SystemOpener;
use crate::shared::shards::{OutputKind, ShardPart};

/// An open system, of the options or of a file, with its queries.
pub(super) struct OpenSearch<'a> {
    /// Name of the collection or index.
    pub(super) name: &'a str,
    pub(super) queries: Vec<Query>,
    pub(super) runner: QueryRunner,
    pub(super) documents: HitDocuments<'a>,
    /// Analysis of the queries, for messages and for marks of words.
    pub(super) analysis: Analysis,
    pub(super) traits: SystemTraits<'a>,
    /// Number of hits that an option or the file sets.
    pub(super) hits: Option<usize>,
    /// Maximum number of hits of the system, for the default.
    pub(super) most: usize,
    pub(super) scores: ScoreFormat,
}

/// Output of a run.
pub(super) struct RunOutput {
    pub(super) tag: String,
    pub(super) path: Option<OutputPath>,
    pub(super) out: OutputSink,
}

/// Where the documents of hits are read.
pub(super) enum HitDocuments<'a> {
    /// An index, if it stores them.
    Index(SegmentedIndex),
    /// The documents of a system of a file. Its temporary files exist as long as this value.
    System(SystemOpener<'a>),
    /// Documents on a server, which are not read.
    #[cfg(feature = "remote")]
    Server,
}

impl HitDocuments<'_> {
    fn index(&self) -> Option<&SegmentedIndex> {
        match self {
            Self::Index(index) => Some(index),
            Self::System(opener) => opener.index(),
            #[cfg(feature = "remote")]
            Self::Server => None,
        }
    }
}

impl OpenSearch<'_> {
    /// Searches the queries for a run, and writes the run or prints the hits.
    pub(super) fn write(
        &self,
        args: &Args,
        part: Option<&ShardPart>,
        (run, output): (usize, RunOutput),
        console: &Console,
    ) -> Result<()> {
        let RunOutput { tag, path, mut out } = output;
        let (queries, runner) = (&*self.queries, &self.runner);
        let to_read = args.shows_typed();
        let default = if to_read { LIST_HITS } else { RUN_HITS };
        let k = self.hits.unwrap_or(default.min(self.most));
        let began = Instant::now();
        let mut rankings = runner
            .rank(run, queries, k, console)
            .with_context(|| format!("{}: search failed", self.name))?;
        let took = began.elapsed();
        let ids = runner.ids();
        if args.remove_self {
            for (query, ranking) in queries.iter().zip(&mut rankings) {
                *ranking = std::mem::take(ranking).retain(|hit| ids.id(hit.doc) != query.id);
            }
        }
        if shows_documents(args) {
            let explains = self.print_hits(&rankings, k, args, &mut out)?;
            out.commit()?;
            if args.explain && !explains {
                let what = runner.what();
                console.warn(format_args!(
                    "--explain: {what} does not explain its scores"
                ));
            }
        } else {
            let mut run = Run::new(&tag);
            for (query, ranking) in queries.iter().zip(&rankings) {
                run.push_ranking(&query.id, ranking, ids);
            }
            out.write_with(|out| write_run(&run, self.scores, out))?;
        }
        if let (Some(part), Some(path)) = (part, &path) {
            part.write_record(path, OutputKind::Lines, &tag, runner.query_probe.as_deref())?;
        }
        if run == 0 {
            let found = (queries, &*rankings);
            let searched = (&self.analysis, ids);
            notes::warn_of_empty_rankings(&self.traits, searched, args, found, console)?;
            runner.note_searches(&self.traits.feedback(), console);
        }
        let found: usize = rankings.iter().map(Ranking::len).sum();
        let (documents, seconds) = (grouped(ids.len() as u64), took.as_secs_f64());
        if to_read {
            console.note(format_args!("{found} of {documents} documents, {took:.1?}"));
        } else {
            let empty = rankings.iter().filter(|ranking| ranking.is_empty()).count();
            console.note(format_args!(
                "{tag}: {} queries ({empty} without hits), {} hits of {documents} documents, {seconds:.2} s, {}",
                grouped(queries.len() as u64),
                grouped(found as u64),
                runner.what(),
            ));
        }
        Ok(())
    }

    /// Prints the hits with their documents. Returns `true` if a score is explained, or there are
    /// no hits.
    fn print_hits(
        &self,
        rankings: &[Ranking],
        k: usize,
        args: &Args,
        out: &mut OutputSink,
    ) -> Result<bool> {
        let style = ListStyle::for_stdout();
        let analyzer = self.analysis.build()?;
        let ids = self.runner.ids();
        let read = self.read_documents(rankings)?;
        let mut explains = rankings.iter().all(Ranking::is_empty);
        for (query, ranking) in self.queries.iter().zip(rankings) {
            let highlighter = Highlighter::new(&analyzer, &query.text);
            for (rank, hit) in (1..).zip(ranking) {
                let id = ids.id(hit.doc);
                let explain = || self.runner.explain(query, hit.doc, k);
                let explanation = args.explain.then(explain).transpose()?.flatten();
                explains |= explanation.is_some();
                let matched = || self.runner.matched_text(query, hit.doc);
                let marks = style.color && !args.json;
                let shown = ShownHit {
                    rank,
                    id,
                    score: hit.score,
                    document: match read.get(id) {
                        Some(document) => Some(document.clone()),
                        None => self.stored_document(id, hit.doc)?,
                    },
                    matched: marks.then(matched).transpose()?.flatten(),
                    explanation,
                };
                let written = if args.json {
                    list::write_json(&query.id, &shown, out)
                } else {
                    list::write(&shown, &highlighter, style, out)
                };
                written.with_context(|| failed(out.name()))?;
            }
        }
        Ok(explains)
    }

    /// Documents of all hits by id, where an index does not have them.
    fn read_documents(&self, rankings: &[Ranking]) -> Result<HashMap<String, Document>> {
        match &self.documents {
            HitDocuments::Index(_) => Ok(HashMap::new()),
            #[cfg(feature = "remote")]
            HitDocuments::Server => Ok(HashMap::new()),
            HitDocuments::System(opener) => {
                let ids = self.runner.ids();
                let hits = rankings.iter().flat_map(Ranking::iter);
                let wanted: HashSet<&str> = hits.map(|hit| ids.id(hit.doc)).collect();
                opener.documents(&wanted)
            }
        }
    }

    /// The document of a hit, if an index stores it. Systems may number documents in another way.
    fn stored_document(&self, id: &str, doc: DocNum) -> Result<Option<Document>> {
        let stored = |index: &&SegmentedIndex| index.config().store == StoredFields::Everything;
        let Some(index) = self.documents.index().filter(stored) else {
            return Ok(None);
        };
        let ids = index.ids();
        let doc = if doc.index() < ids.len() && ids.id(doc) == id {
            Some(doc)
        } else {
            ids.get(id)
        };
        let document = doc.map(|doc| index.document(doc)).transpose();
        document.with_context(|| format!("{}: cannot be read", self.name))
    }
}
