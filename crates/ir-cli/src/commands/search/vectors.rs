//! Searching with vectors that `ir encode` made, alone or beside the words.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use ir_bm25::Searcher;
use ir_core::hybrid::Blend;
use ir_core::{
    Distinct, DocFilter, DocIds, DocNum, Encoded, Encoder, Hit, Ranking, Retriever, Search,
    SearchError, Side,
};
use ir_dense::BiEncoder;
use ir_knn::FlatIndex;

use crate::shared::console::{Console, Usage};
use crate::shared::format::grouped;
use crate::shared::encoder::{EncoderOptions, find_model};

/// The options.
#[derive(Debug, clap::Args)]
pub(crate) struct Vectors {
    /// Index of the documents' vectors, as `ir encode COLLECTION -o FILE` writes it: it ranks in
    /// place of BM25
    #[arg(
        long,
        value_name = "FILE",
        requires = "encoder",
        conflicts_with = "explain",
        help_heading = "Vectors"
    )]
    pub(crate) vectors: Option<PathBuf>,

    /// Folder of the model that made them, or its name
    #[arg(
        long,
        value_name = "MODEL",
        requires = "vectors",
        help_heading = "Vectors"
    )]
    encoder: Option<PathBuf>,

    /// What a BM25 score is worth beside theirs: the score is the vectors' plus ALPHA times BM25's.
    /// Where theirs are cosines, .05 or so for a few words and less the longer queries are, as BM25
    /// adds up the words: to be chosen on queries that are not the test's
    #[arg(long, value_parser = crate::shared::options::k1, allow_negative_numbers = true, value_name = "ALPHA", requires = "vectors", help_heading = "Vectors")]
    alpha: Option<f32>,

    // How the queries are read: as the documents were, where `ir encode` was told.
    #[command(flatten, next_help_heading = "Vectors")]
    reading: EncoderOptions,
}

impl Vectors {
    /// The name of the run unless it is given one; `None` for BM25 alone.
    pub(crate) fn system(&self) -> Option<&'static str> {
        self.vectors.as_ref()?;
        Some(if self.alpha.is_some() {
            "ir-hybrid"
        } else {
            "ir-vectors"
        })
    }

    /// The retriever that the options ask for, in the numbers of the index; `None` for BM25 alone.
    pub(crate) fn retriever(
        &self,
        searcher: &Searcher,
        console: &Console,
    ) -> Result<Option<Box<dyn Retriever<Query = str>>>> {
        let (Some(path), Some(folder)) = (&self.vectors, &self.encoder) else {
            return match self.reading.given() {
                None => Ok(None),
                Some(option) => {
                    Err(Usage(format!("{option} is of use with --vectors only")).into())
                }
            };
        };
        let vectors = FlatIndex::open(path)?;
        let model = find_model(folder)?;
        let config = model.complete(self.reading.config(Side::Query));
        let encoder = BiEncoder::open_with(&model.folder, &config)?;
        if !vectors.is_empty() && vectors.dim() != encoder.dim() {
            bail!(
                "{}: expected vectors of {} values, as {} makes them, found {}",
                path.display(),
                encoder.dim(),
                folder.display(),
                vectors.dim()
            );
        }
        let known = vectors.ids();
        let missing = searcher.ids().iter().filter(|id| known.get(id).is_none());
        let missing = missing.count();
        if missing == searcher.ids().len() && missing > 0 {
            bail!(
                "{}: expected vectors of the documents of the collection, found none of them",
                path.display()
            );
        }
        if missing > 0 {
            console.warn(format_args!(
                "{}: {} of {} documents have no vector and are not found: `ir encode` again",
                path.display(),
                grouped(missing as u64),
                grouped(searcher.ids().len() as u64)
            ));
        }
        let dense: Box<dyn Retriever<Query = str>> =
            Box::new(Distinct(Encoded::new(encoder, vectors)));
        let inner: Box<dyn Retriever<Query = str>> = match self.alpha {
            None => dense,
            Some(alpha) => {
                // The words first: equal scores in the order of their index.
                let words: Box<dyn Retriever<Query = str>> = Box::new(searcher.clone());
                let blend = Blend::new([(words, alpha), (dense, 1.0)]);
                Box::new(blend.context("--alpha")?)
            }
        };
        Ok(Some(Box::new(InIndex::new(inner, searcher.clone()))))
    }
}

/// A retriever in the numbers of an index. Documents that the index lacks are no hits, and of
/// several records of one id the first stands for all.
struct InIndex {
    inner: Box<dyn Retriever<Query = str>>,
    searcher: Searcher,
    numbers: Vec<Option<DocNum>>,
}

/// A filter of the index, over the numbers of the other retriever.
struct Inner<'a> {
    numbers: &'a [Option<DocNum>],
    how: Search<'a>,
}

impl DocFilter for Inner<'_> {
    fn contains(&self, doc: DocNum) -> bool {
        let number = self.numbers.get(doc.index()).copied().flatten();
        number.is_some_and(|number| self.how.allows(number))
    }
}

impl InIndex {
    fn new(inner: Box<dyn Retriever<Query = str>>, searcher: Searcher) -> Self {
        let ids = searcher.ids();
        let numbers = inner.ids().iter().map(|id| ids.get(id)).collect();
        Self {
            inner,
            searcher,
            numbers,
        }
    }
}

impl Retriever for InIndex {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.searcher.ids()
    }

    fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut rankings = self.search_batch(&[(query, *how)])?;
        Ok(rankings.pop().unwrap_or_default())
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let filters: Vec<Inner<'_>> = queries
            .iter()
            .map(|(_, how)| Inner {
                numbers: &self.numbers,
                how: *how,
            })
            .collect();
        let batch: Vec<(&str, Search<'_>)> = queries
            .iter()
            .zip(&filters)
            .map(|((query, how), filter)| (*query, Search::top(how.k()).within(filter)))
            .collect();
        let rankings = self.inner.search_batch(&batch)?;
        let renumbered = rankings.into_iter().map(|ranking| {
            let hits = ranking.iter().filter_map(|hit| {
                let number = self.numbers.get(hit.doc.index()).copied().flatten();
                Some(Hit::new(number?, hit.score))
            });
            Ranking::from_hits(hits.collect())
        });
        renumbered.collect()
    }
}
