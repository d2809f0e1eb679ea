//! Searcher of structured queries.

use ir_core::store::OpenIndexError;
use ir_core::{DocIds, DocNum, Explanation, Ranking, Retriever, Search, SearchError, TopK};

use super::error::StructuredQueryError;
use super::evaluate::{BoundLeaf, BoundQuery, FieldsOfIndex, LeafStatistics, Node, SegmentLeaves};
use super::matches::{Leaf, LeafMatches};
use super::query::StructuredQuery;
use super::syntax::QuerySyntax;
use super::top_windows::top_windows;
use crate::Searcher;
use crate::models::WindowStatistics;
use crate::search::{Bound, BoundModel, ListStatistics, search_error};
use crate::segments::NumberedSegment;

/// Searcher of structured queries, with the model and field weights of a [`Searcher`]; implements
/// [`Retriever`] for queries in a [`QuerySyntax`].
///
/// Phrases are scored as in Lucene: the frequency is the number of phrases in the document, and the
/// model sees the statistics of its terms ([`Bm25`](crate::Bm25) with the sum of their idf,
/// other models with the sum of the scores of the terms). A query of words and weights alone has
/// the ranking and the speed of [`Searcher::search_terms`], and one phrase or window is pruned;
/// others are evaluated for all matching documents.
///
/// Query likelihood of Indri ([`IndriDirichlet`](crate::models::IndriDirichlet) and other models
/// with [`WindowStatistics::Matches`]) scores a phrase or window as Indri does: by its own numbers
/// of documents and matches in the collection. The score of a document is then the log-likelihood
/// of all words, phrases and windows outside of [`Occur::MustNot`](super::Occur::MustNot). A word,
/// phrase or window has frequency 0 if it or its clause does not match.
///
/// ```
/// use ir_bm25::{Bm25, Index, IndexConfig, QuerySyntax, StructuredSearcher};
/// use ir_core::{Document, NoProgress, Retriever, Search};
///
/// let documents = vec![
///     Document::new("a").with_text("tea, green or black"),
///     Document::new("b").with_text("green tea with milk"),
///     Document::new("c").with_text("a cup of green tea"),
/// ];
/// let config = IndexConfig::default().with_positions(true);
/// let index = Index::build(&documents, &config, &mut NoProgress)?;
/// let searcher = index.searcher(Bm25::ANSERINI)?;
/// let searcher = StructuredSearcher::new(searcher, QuerySyntax::Lucene);
/// let ranking = searcher.search("+\"green tea\" -milk", &Search::top(10))?;
/// let ids: Vec<&str> = ranking.iter().map(|hit| index.ids().id(hit.doc)).collect();
/// assert_eq!(ids, ["c"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct StructuredSearcher {
    searcher: Searcher,
    syntax: QuerySyntax,
}

/// Leaves of a query in the segments of an index, and their statistics in all.
struct IndexLeaves<'a> {
    segments: Vec<(&'a NumberedSegment, Vec<LeafMatches>)>,
    statistics: Vec<LeafStatistics>,
}

impl StructuredSearcher {
    /// Creates a searcher of queries in a syntax.
    #[must_use]
    pub const fn new(searcher: Searcher, syntax: QuerySyntax) -> Self {
        Self { searcher, syntax }
    }

    /// Returns the searcher of terms.
    #[must_use]
    pub const fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    /// Returns the syntax of text queries.
    #[must_use]
    pub const fn syntax(&self) -> QuerySyntax {
        self.syntax
    }

    /// Returns the best documents for a query.
    ///
    /// # Errors
    /// [`SearchError::Engine`] with a [`StructuredQueryError`]: a phrase in an index without
    /// positions, an unknown field, an invalid weight; or the index file is damaged.
    pub fn search_query(
        &self,
        query: &StructuredQuery,
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        let bound = self.bind(query)?;
        if let Some(terms) = bound.as_terms() {
            return self.searcher.search_terms(&terms, search);
        }
        self.evaluate_query(&bound, search)
    }

    /// Evaluates a query for all matching documents.
    fn evaluate_query(
        &self,
        bound: &BoundQuery,
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        let Some(root) = bound.root.as_ref().filter(|_| search.k() > 0) else {
            return Ok(Ranking::default());
        };
        match self.searcher.bound_model() {
            Bound::Bm25(bm25, _) => self.search_with(&**bm25, bound, root, search),
            Bound::Bm25F(_) => Err(self.combined_fields()),
            Bound::Other(model) => self.search_with(&**model, bound, root, search),
        }
    }

    /// Explains a score of [`StructuredSearcher::search_query`].
    ///
    /// # Errors
    /// Returns the errors of [`StructuredSearcher::search_query`].
    pub fn explain_query(
        &self,
        query: &StructuredQuery,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let bound = self.bind(query)?;
        if let Some(terms) = bound.as_terms() {
            return self.searcher.explain_terms(&terms, doc, search);
        }
        let Some(root) = &bound.root else {
            return Ok(None);
        };
        let tree = match self.searcher.bound_model() {
            Bound::Bm25(bm25, _) => self.explain_with(&**bm25, &bound, root, doc, search)?,
            Bound::Bm25F(_) => return Err(self.combined_fields()),
            Bound::Other(model) => self.explain_with(&**model, &bound, root, doc, search)?,
        };
        Ok(tree.map(|mut tree| {
            tree.value = f64::from(tree.score());
            tree
        }))
    }

    fn window_statistics(&self) -> WindowStatistics {
        self.searcher.bound_model().window_statistics()
    }

    /// The model scores fields together.
    fn combined_fields(&self) -> SearchError {
        query_error(StructuredQueryError::Model {
            found: self.searcher.model().to_string(),
        })
    }

    fn bind(&self, query: &StructuredQuery) -> Result<BoundQuery, SearchError> {
        let index = self.searcher.index();
        let fields = FieldsOfIndex {
            names: index.config().fields.names(),
            weights: self.searcher.field_weights(),
            analyzer: self.searcher.analyzer(),
        };
        let bound = BoundQuery::new(query, &fields).map_err(|reason| {
            query_error(StructuredQueryError::Query {
                query: query.to_string(),
                reason: Box::new(reason),
            })
        })?;
        let needs_positions = bound.leaves.iter().any(|leaf| leaf.leaf.has_window());
        if needs_positions && !index.config().positions {
            return Err(query_error(StructuredQueryError::NoPositions {
                query: query.to_string(),
            }));
        }
        Ok(bound)
    }

    /// Finds the matches of all leaves.
    fn leaves(&self, bound: &BoundQuery) -> Result<IndexLeaves<'_>, OpenIndexError> {
        let segments = self.searcher.index().numbered_segments();
        let mut all = Vec::with_capacity(segments.len());
        for numbered in segments {
            let is_live = |doc: u32| numbered.segment.is_live(DocNum::new(doc));
            let matches = bound.leaves.iter().map(|BoundLeaf { leaf, list, .. }| {
                leaf.matches(&numbered.segment.index, list.field, &is_live)
            });
            all.push((numbered, matches.collect::<Result<Vec<_>, _>>()?));
        }
        let of_matches = self.window_statistics() == WindowStatistics::Matches;
        let leaves = bound.leaves.iter().enumerate();
        let statistics = leaves.map(|(at, BoundLeaf { leaf, list, .. })| match leaf {
            Leaf::Window(_) if of_matches => {
                let matches = all.iter().map(|(_, matches)| &matches[at]);
                Ok(LeafStatistics::Term(statistics_of_matches(matches)))
            }
            _ => self.statistics_of(leaf, list.field),
        });
        let statistics = statistics.collect::<Result<Vec<_>, _>>()?;
        Ok(IndexLeaves {
            segments: all,
            statistics,
        })
    }

    fn statistics_of(&self, leaf: &Leaf, field: usize) -> Result<LeafStatistics, OpenIndexError> {
        let of_term = |term: &str| self.searcher.term_statistics(field, term);
        Ok(match leaf {
            Leaf::Term(term) => LeafStatistics::Term(of_term(term)?),
            Leaf::Window(window) => {
                let terms = window.terms.iter().map(|(term, _)| of_term(term));
                LeafStatistics::Window(terms.collect::<Result<_, _>>()?)
            }
            Leaf::Synonyms(parts) => {
                let mut total = ListStatistics::default();
                for part in parts {
                    let of_part = match self.statistics_of(part, field)? {
                        LeafStatistics::Term(term) => term,
                        LeafStatistics::Window(_) => self.matches_of(part, field)?,
                    };
                    total.df = total.df.max(of_part.df);
                    total.cf = total.cf.saturating_add(of_part.cf);
                }
                LeafStatistics::Term(total)
            }
        })
    }

    /// Number of documents and matches of a window.
    fn matches_of(&self, leaf: &Leaf, field: usize) -> Result<ListStatistics, OpenIndexError> {
        let segments = self.searcher.index().numbered_segments().iter();
        let matches = segments.map(|numbered| {
            let is_live = |doc: u32| numbered.segment.is_live(DocNum::new(doc));
            leaf.matches(&numbered.segment.index, field, &is_live)
        });
        let matches = matches.collect::<Result<Vec<_>, _>>()?;
        Ok(statistics_of_matches(matches.iter()))
    }

    fn search_with<M: BoundModel>(
        &self,
        model: &M,
        bound: &BoundQuery,
        root: &Node,
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        match root.only_leaf().map(|leaf| &bound.leaves[leaf]) {
            Some(BoundLeaf {
                leaf: Leaf::Window(window),
                list,
                ..
            }) if self.window_statistics() == WindowStatistics::Terms => {
                top_windows(&self.searcher, model, window, *list, search)
            }
            _ => self.search_all(model, bound, root, search),
        }
    }

    fn search_all<M: BoundModel>(
        &self,
        model: &M,
        bound: &BoundQuery,
        root: &Node,
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        let leaves = self.leaves(bound).map_err(search_error)?;
        let mut best = TopK::new(search.k());
        for (numbered, matches) in leaves.segments {
            let index = &numbered.segment.index;
            let query = (bound, root);
            let leaves = SegmentLeaves::new(model, index, query, &leaves.statistics, matches);
            let leaves = leaves.map_err(search_error)?;
            for (doc, sum) in leaves.evaluate(root) {
                let number = numbered.number(DocNum::new(doc));
                if search.allows(number) {
                    best.push(number, leaves.total(sum, doc) as f32);
                }
            }
        }
        best.finish()
    }

    fn explain_with<M: BoundModel>(
        &self,
        model: &M,
        bound: &BoundQuery,
        root: &Node,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let index = self.searcher.index();
        if doc.index() >= index.len() || !search.allows(doc) {
            return Ok(None);
        }
        let leaves = self.leaves(bound).map_err(search_error)?;
        let Some((numbered, matches, local)) = index.part_of(doc, leaves.segments) else {
            return Ok(None);
        };
        let (index_of_doc, query) = (&numbered.segment.index, (bound, root));
        let leaves = SegmentLeaves::new(model, index_of_doc, query, &leaves.statistics, matches);
        let names = index.config().fields.names();
        let leaves = leaves.map_err(search_error)?;
        Ok(leaves.explain_total(query, local.get(), names))
    }

    fn parse(&self, query: &str) -> Result<StructuredQuery, SearchError> {
        self.syntax.parse(query).map_err(|source| {
            query_error(StructuredQueryError::Syntax {
                query: query.to_owned(),
                source,
            })
        })
    }
}

/// Number of documents and matches in all segments.
fn statistics_of_matches<'m>(segments: impl Iterator<Item = &'m LeafMatches>) -> ListStatistics {
    segments.fold(ListStatistics::default(), |total, matches| {
        let tfs = matches.tfs.iter().map(|&tf| u64::from(tf));
        ListStatistics {
            df: total.df.saturating_add(matches.docs.len() as u32),
            cf: total.cf + tfs.sum::<u64>(),
        }
    })
}

fn query_error(error: StructuredQueryError) -> SearchError {
    SearchError::Engine {
        engine: "the structured query",
        source: Box::new(error),
    }
}

impl Retriever for StructuredSearcher {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.searcher.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.search_query(&self.parse(query)?, search)
    }

    search_queries_in_parallel!();

    /// Explains a score as the sum of the scores of the clauses: in double precision, rounded to
    /// single once.
    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.explain_query(&self.parse(query)?, doc, search)
    }
}
