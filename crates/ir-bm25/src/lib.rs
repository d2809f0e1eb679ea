#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("the index format is read in place, on little-endian machines only");

/// Searches the queries of a batch on the current rayon thread pool, one query per thread.
macro_rules! search_queries_in_parallel {
    () => {
        #[cfg(feature = "rayon")]
        fn search_batch(
            &self,
            queries: &[(&str, ir_core::Search<'_>)],
        ) -> Result<Vec<ir_core::Ranking>, ir_core::SearchError> {
            use rayon::prelude::*;
            let results: Vec<_> = queries
                .par_iter()
                .map(|(query, search)| self.search(query, search))
                .collect();
            results.into_iter().collect()
        }
    };
}

/// Implements `Retriever` for text queries that are rewritten, and then searched and explained by
/// methods of an inner searcher.
macro_rules! retrieve_rewritten {
    (
        $type:ty, |$this:ident, $query:ident| $rewritten:expr,
        $inner:ident.$search:ident, $(#[doc = $doc:literal])* $explain:ident
    ) => {
        impl ir_core::Retriever for $type {
            type Query = str;

            fn ids(&self) -> &ir_core::DocIds {
                self.$inner.ids()
            }

            fn search(
                &self,
                $query: &str,
                search: &ir_core::Search<'_>,
            ) -> Result<ir_core::Ranking, ir_core::SearchError> {
                let $this = self;
                self.$inner.$search(&$rewritten, search)
            }

            search_queries_in_parallel!();

            $(#[doc = $doc])*
            fn explain(
                &self,
                $query: &str,
                doc: ir_core::DocNum,
                search: &ir_core::Search<'_>,
            ) -> Result<Option<ir_core::Explanation>, ir_core::SearchError> {
                let $this = self;
                self.$inner.$explain(&$rewritten, doc, search)
            }
        }
    };
}

pub mod analysis;
#[cfg(feature = "ciff")]
mod ciff;
mod codec;
mod config;
mod error;
pub mod feedback;
mod format;
mod index;
mod indexer;
pub mod models;
mod nearest_words;
mod postings;
mod prefetch;
mod search;
mod segments;
mod small_float;
mod stored_fields;
mod structured;
mod synonyms;
mod term_dictionary;

pub use analysis::Analysis;
#[cfg(feature = "ciff")]
pub use ciff::{CiffError, CiffHeader, CiffReader};
pub use config::{
    BlankDocs, DocOrder, DuplicateIds, FieldNames, FieldNamesError, IndexConfig, IndexedFields,
    StoredFields,
};
pub use error::{BuildError, SearcherError, StoredFieldsError};
pub use format::FieldStats;
pub use index::{Index, IndexStats, TermStats};
pub use indexer::{DEFAULT_MEMORY, IndexBuilder};
pub use models::{Bm25, DocLengths, Model, ScoringModel};
pub use nearest_words::{NearestWords, NearestWordsError, TermVectors, TermWords};
pub use search::{Pruning, WeightedTerm};
pub use segments::{
    IndexWriter, IndexWriterError, PutOutcome, Searcher, SegmentStats, SegmentedIndex,
};
pub use structured::{
    BooleanClause, Occur, QueryParseError, QuerySyntax, SequentialDependence, StructuredQuery,
    StructuredQueryError, StructuredSearcher,
};
pub use synonyms::{SynonymError, SynonymExpansion, Synonyms};
