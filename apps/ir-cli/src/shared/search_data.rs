//! Systems of `ir search` and `ir sweep` on an index that the command has opened.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use ir_bm25::{IndexConfig, SegmentedIndex};
use ir_core::store::Verify;
use ir_core::{Corpus, DocIds, Query};
use ir_data::{Collection, TextEncoding};
use ir_system::{
    Cache, IndexData, OpenSystem, Registry, Resources, SpecError, SystemData, SystemError,
    SystemSpec,
};

use crate::shared::console::Console;
use crate::shared::experiment::ConsoleObserver;
use crate::shared::feedback_collection::FeedbackCollection;
use crate::shared::indexing::IndexOptions;
use crate::shared::output::OutputPath;
use crate::shared::system_options::message;

/// How the collection of feedback documents is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OtherCollections<'a> {
    pub(crate) encoding: TextEncoding,
    pub(crate) verify: Verify,
    /// How documents are indexed: as those that are searched.
    pub(crate) setup: &'a IndexOptions,
    pub(crate) threads: Option<usize>,
}

/// Data of a search: the documents of an index, and other collections as the command opens them.
struct SearchData<'a> {
    index: IndexData,
    others: OtherCollections<'a>,
    console: &'a Console,
}

impl SystemData for SearchData<'_> {
    fn name(&self) -> &str {
        self.index.name()
    }

    fn corpus(&self) -> &dyn Corpus {
        self.index.corpus()
    }

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn corpus_hash(&self) -> &str {
        self.index.corpus_hash()
    }

    fn attributes(&self) -> &BTreeSet<String> {
        self.index.attributes()
    }

    fn collection(&self) -> Option<&Collection> {
        None
    }

    fn queries(&self) -> &[Query] {
        self.index.queries()
    }

    fn all_queries(&self) -> Result<Vec<Query>, SystemError> {
        self.index.all_queries()
    }

    fn split(&self) -> &str {
        self.index.split()
    }

    fn text_of(&self, query: &Query) -> String {
        self.index.text_of(query)
    }

    fn index(&self) -> Option<&SegmentedIndex> {
        self.index.index()
    }

    fn other_index(
        &self,
        name: &str,
        config: &IndexConfig,
    ) -> Option<Result<SegmentedIndex, SystemError>> {
        let collection = FeedbackCollection {
            name,
            encoding: self.others.encoding,
            verify: self.others.verify,
            setup: self.others.setup,
            positions: config.positions,
            threads: self.others.threads,
        };
        let opened = collection.open(self.console);
        Some(
            opened.map_err(|error| {
                SystemError::parameter("feedback_collection", format!("{error:#}"))
            }),
        )
    }
}

/// Opens systems on an index. Systems with the same vectors of words share them.
pub(crate) struct SystemOpener<'a> {
    data: SearchData<'a>,
    resources: Resources,
    console: &'a Console,
}

impl<'a> SystemOpener<'a> {
    /// `cache` is the folder of the vectors of words.
    pub(crate) fn new(
        name: &str,
        index: &SegmentedIndex,
        queries: &[Query],
        cache: Option<&OutputPath>,
        others: OtherCollections<'a>,
        console: &'a Console,
    ) -> Result<Self> {
        let cache = match cache {
            Some(folder) => Cache::new(folder.folder()),
            None => Cache::temporary()?,
        };
        Ok(Self {
            data: SearchData {
                index: IndexData::new(name, index.clone(), queries.to_vec()),
                others,
                console,
            },
            resources: Resources::new(cache),
            console,
        })
    }

    /// Opens a system. Errors of parameters name their options.
    pub(crate) fn open(&mut self, spec: &SystemSpec) -> Result<OpenSystem> {
        let mut observer = ConsoleObserver::new(self.console);
        let opened = spec.open_on(
            &Registry::default(),
            &self.data,
            &mut self.resources,
            &mut observer,
        );
        observer.finish();
        opened.map_err(|error| of_options(spec, error))
    }
}

/// Replaces keys of a system in an error by their options.
fn of_options(spec: &SystemSpec, error: SpecError) -> anyhow::Error {
    let parts = |key: &str| {
        let (at, key) = key.strip_prefix("systems[")?.split_once(']')?;
        let kind = spec.systems.get(at.parse::<usize>().ok()?)?.kind.clone();
        Some((kind, key.trim_start_matches('.').to_owned()))
    };
    match error {
        SpecError::Key {
            key,
            message: text,
            location,
        }
        | SpecError::Missing {
            key,
            message: text,
            location,
        } => match parts(&key) {
            Some((kind, key)) if location.path.is_none() => {
                anyhow!(message(&kind, &SystemError::parameter(key, text)))
            }
            _ => anyhow!("{location}{key}: {text}"),
        },
        SpecError::Stage {
            key,
            stage,
            source,
            location,
        } => match parts(&key) {
            Some(_) if location.path.is_none() => anyhow::Error::from_boxed(source).context(stage),
            _ => anyhow::Error::from_boxed(source)
                .context(format!("{location}{key}: {stage} failed")),
        },
        SpecError::Canceled => crate::shared::signals::Interrupted.into(),
        other => other.into(),
    }
}
