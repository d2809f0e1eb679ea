//! Evaluation of a query bound to the fields of an index.

use std::collections::{HashMap, HashSet};

use ir_core::store::OpenIndexError;
use ir_core::{Analyzer, Explanation};

use super::error::StructuredQueryError;
use super::matches::{Leaf, LeafMatches};
use super::query::{BooleanClause, MAX_DEPTH, Occur, StructuredQuery};
use super::windows::Window;
use crate::Index;
use crate::search::{
    BoundModel, DocumentScores, ListScorer, ListStatistics, ScoredList, WeightedTerm, count_terms,
};

/// Query over terms of fields.
#[derive(Debug, Default)]
pub(super) struct BoundQuery {
    pub(super) leaves: Vec<BoundLeaf>,
    /// [`None`] if no word is left after analysis.
    pub(super) root: Option<Node>,
}

/// Leaf in one field.
#[derive(Debug)]
pub(super) struct BoundLeaf {
    pub(super) leaf: Leaf,
    /// Field; the count is multiplied by the weights above the leaf.
    pub(super) list: ScoredList,
    /// `true` if the query names the field.
    is_field_named: bool,
}

#[derive(Debug)]
pub(super) enum Node {
    Leaf(usize),
    Boolean(Vec<(Occur, Node)>),
}

/// Fields of an index and their analysis.
pub(super) struct FieldsOfIndex<'a> {
    pub(super) names: &'a [&'static str],
    /// Weights of the fields; fields of weight 0 are searched only if a query names them.
    pub(super) weights: &'a [f32],
    pub(super) analyzer: &'a dyn Analyzer,
}

impl BoundQuery {
    pub(super) fn new(
        query: &StructuredQuery,
        fields: &FieldsOfIndex<'_>,
    ) -> Result<Self, StructuredQueryError> {
        let mut bound = Self::default();
        bound.root = bound.bind(query, fields, 1.0, 0)?;
        Ok(bound)
    }

    /// Binds a part of the query; [`None`] if no word is left.
    fn bind(
        &mut self,
        query: &StructuredQuery,
        fields: &FieldsOfIndex<'_>,
        count: f32,
        depth: usize,
    ) -> Result<Option<Node>, StructuredQueryError> {
        if depth > 2 * MAX_DEPTH {
            let limit = 2 * MAX_DEPTH;
            return Err(StructuredQueryError::TooDeep { limit });
        }
        match query {
            StructuredQuery::Weighted { weight, query } => {
                let product = count * weight;
                let mut factors = [*weight, product].into_iter();
                if let Some(found) = factors.find(|found| !(*found > 0.0 && *found <= 1e9)) {
                    let found = found.to_string();
                    return Err(StructuredQueryError::Weight { found });
                }
                self.bind(query, fields, product, depth + 1)
            }
            StructuredQuery::Boolean(clauses) => {
                let mut nodes = Vec::new();
                for BooleanClause { occur, query } in clauses {
                    // Clauses of stop words only are left out, as in Lucene.
                    let node = self.bind(query, fields, count, depth + 1)?;
                    nodes.extend(node.map(|node| (*occur, node)));
                }
                Ok((!nodes.is_empty()).then_some(Node::Boolean(nodes)))
            }
            StructuredQuery::Text { field, text } => {
                let terms = count_terms(fields.analyzer, text).into_iter();
                let leaves = terms.map(|of_query| (Leaf::Term(of_query.term), of_query.weight));
                self.add_leaves(leaves.collect(), field.as_deref(), fields, count)
            }
            StructuredQuery::Window { .. }
            | StructuredQuery::SloppyPhrase { .. }
            | StructuredQuery::Synonyms(_) => {
                let leaf = leaf_of(query, fields.analyzer)?;
                let leaves = leaf.into_iter().map(|leaf| (leaf, 1.0));
                self.add_leaves(leaves.collect(), field_of(query)?, fields, count)
            }
        }
    }

    /// Adds leaves with their counts in the fields that are searched, or in the named one.
    fn add_leaves(
        &mut self,
        leaves: Vec<(Leaf, f32)>,
        named: Option<&str>,
        fields: &FieldsOfIndex<'_>,
        weight: f32,
    ) -> Result<Option<Node>, StructuredQueryError> {
        if let Some(name) = named.filter(|name| !fields.names.contains(name)) {
            return Err(StructuredQueryError::UnknownField {
                expected: fields.names.join(", "),
                found: name.to_owned(),
                advice: match fields.names.len() {
                    1 => " (IndexConfig::with_fields, `--fields title,text` index several)",
                    _ => "",
                },
            });
        }
        let mut nodes = Vec::new();
        for (leaf, count) in leaves {
            for (field, (name, &of_field)) in fields.names.iter().zip(fields.weights).enumerate() {
                // A named field of weight 0 selects documents, and adds 0 to their scores.
                let is_searched = match named {
                    Some(named) => named == *name,
                    None => of_field != 0.0,
                };
                if !is_searched {
                    continue;
                }
                nodes.push((Occur::Should, Node::Leaf(self.leaves.len())));
                self.leaves.push(BoundLeaf {
                    leaf: leaf.clone(),
                    list: ScoredList {
                        field,
                        count: count * weight,
                        weight: of_field,
                        postings: 0,
                    },
                    is_field_named: named.is_some(),
                });
            }
        }
        Ok(match nodes.len() {
            0 => None,
            1 => nodes.pop().map(|(_, node)| node),
            _ => Some(Node::Boolean(nodes)),
        })
    }

    /// The terms of the query, if it is no more than terms and weights.
    pub(super) fn as_terms(&self) -> Option<Vec<WeightedTerm>> {
        let mut terms: Vec<WeightedTerm> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut before = None;
        for BoundLeaf {
            leaf,
            list,
            is_field_named,
        } in &self.leaves
        {
            let Leaf::Term(term) = leaf else {
                return None;
            };
            if *is_field_named {
                return None;
            }
            // A term has a leaf for each field, in the order of the fields.
            if before.is_none_or(|before| list.field <= before) {
                let at = *known.entry(term).or_insert(terms.len());
                match terms.get_mut(at) {
                    Some(known) => known.weight += list.count,
                    None => terms.push(WeightedTerm::new(term.as_str(), list.count)),
                }
            }
            before = Some(list.field);
        }
        let root = self.root.as_ref();
        root.is_none_or(Node::is_disjunction).then_some(terms)
    }
}

impl Node {
    /// The leaf of a query of one leaf that documents must have.
    pub(super) fn only_leaf(&self) -> Option<usize> {
        match self {
            Self::Leaf(leaf) => Some(*leaf),
            Self::Boolean(clauses) => match &clauses[..] {
                [(Occur::Must | Occur::Should, node)] => node.only_leaf(),
                _ => None,
            },
        }
    }

    /// Calls `visit` with the leaves that add to the score: all but the leaves under an
    /// [`Occur::MustNot`].
    pub(super) fn for_each_scored(&self, visit: &mut impl FnMut(usize)) {
        match self {
            Self::Leaf(leaf) => visit(*leaf),
            Self::Boolean(clauses) => {
                let scored = clauses.iter();
                let scored = scored.filter(|(occur, _)| *occur != Occur::MustNot);
                scored.for_each(|(_, node)| node.for_each_scored(visit));
            }
        }
    }

    fn is_disjunction(&self) -> bool {
        match self {
            Self::Leaf(_) => true,
            Self::Boolean(clauses) => clauses
                .iter()
                .all(|(occur, node)| *occur == Occur::Should && node.is_disjunction()),
        }
    }
}

/// The field that a word, window or synonyms name.
fn field_of(query: &StructuredQuery) -> Result<Option<&str>, StructuredQueryError> {
    match query {
        StructuredQuery::Text { field, .. }
        | StructuredQuery::Window { field, .. }
        | StructuredQuery::SloppyPhrase { field, .. } => Ok(field.as_deref()),
        StructuredQuery::Synonyms(parts) => {
            let fields = parts.iter().map(field_of);
            let fields = fields.collect::<Result<Vec<_>, _>>()?;
            if fields.windows(2).all(|pair| pair[0] == pair[1]) {
                Ok(fields.first().copied().flatten())
            } else {
                Err(StructuredQueryError::SynonymFields {
                    found: query.to_string(),
                })
            }
        }
        StructuredQuery::Boolean(_) | StructuredQuery::Weighted { .. } => Ok(None),
    }
}

/// The leaf of a word, window or synonyms; [`None`] if no word is left after analysis.
fn leaf_of(
    query: &StructuredQuery,
    analyzer: &dyn Analyzer,
) -> Result<Option<Leaf>, StructuredQueryError> {
    match query {
        StructuredQuery::Text { text, .. } => {
            let mut terms: Vec<Leaf> = Vec::new();
            analyzer.analyze(text, &mut |token| {
                terms.push(Leaf::Term(token.term.to_owned()))
            });
            Ok(synonyms(terms))
        }
        StructuredQuery::Window {
            text,
            ordered,
            width,
            ..
        } => {
            let terms = positions(analyzer, text);
            Ok(window(terms, *ordered, (*width).max(1)))
        }
        StructuredQuery::SloppyPhrase { text, slop, .. } => {
            let terms = positions(analyzer, text);
            let length = match (terms.first(), terms.last()) {
                (Some((_, first)), Some((_, last))) => (last - first).saturating_add(1),
                _ => 0,
            };
            Ok(match slop {
                0 => window(terms, true, 1),
                slop => window(terms, false, slop.saturating_add(length)),
            })
        }
        StructuredQuery::Synonyms(parts) => {
            let mut leaves = Vec::new();
            for part in parts {
                leaves.extend(leaf_of(part, analyzer)?);
            }
            Ok(synonyms(leaves))
        }
        StructuredQuery::Boolean(_) | StructuredQuery::Weighted { .. } => {
            let found = query.to_string();
            Err(StructuredQueryError::Synonyms { found })
        }
    }
}

/// The terms of a text with their positions, which, as in the index, do not descend.
fn positions(analyzer: &dyn Analyzer, text: &str) -> Vec<(String, u32)> {
    let mut terms: Vec<(String, u32)> = Vec::new();
    analyzer.analyze(text, &mut |token| {
        let before = terms.last().map_or(0, |&(_, before)| before);
        terms.push((token.term.to_owned(), token.position.max(before)));
    });
    terms
}

/// A window; one term is itself.
fn window(mut terms: Vec<(String, u32)>, ordered: bool, width: u32) -> Option<Leaf> {
    match terms.len() {
        0 => None,
        1 => terms.pop().map(|(term, _)| Leaf::Term(term)),
        _ => Some(Leaf::Window(Window {
            terms,
            ordered,
            width,
        })),
    }
}

/// Distinct synonyms; one is itself.
fn synonyms(leaves: Vec<Leaf>) -> Option<Leaf> {
    let parts = leaves.into_iter().flat_map(|leaf| match leaf {
        Leaf::Synonyms(parts) => parts,
        leaf => vec![leaf],
    });
    let mut known = HashSet::new();
    let mut distinct: Vec<Leaf> = parts.filter(|part| known.insert(part.clone())).collect();
    match distinct.len() {
        0 | 1 => distinct.pop(),
        _ => Some(Leaf::Synonyms(distinct)),
    }
}

/// Statistics that the scorers of a leaf need.
#[derive(Debug)]
pub(super) enum LeafStatistics {
    Term(ListStatistics),
    /// Of the terms of a window.
    Window(Vec<ListStatistics>),
}

/// The leaves of a query in a segment: matches and scorers.
pub(super) struct SegmentLeaves<'a, S> {
    matches: Vec<LeafMatches>,
    scorers: Vec<Vec<S>>,
    /// What documents add to the scores of the leaves.
    documents: DocumentScores<'a>,
}

/// Sum over the scorers of a leaf, in double precision, rounded to single.
pub(super) fn sum_of<S>(scorers: &[S], value: impl Fn(&S) -> f32) -> f64 {
    match scorers {
        [only] => f64::from(value(only)),
        scorers => {
            let values = scorers.iter().map(|scorer| f64::from(value(scorer)));
            f64::from(values.sum::<f64>() as f32)
        }
    }
}

impl<'a, S: ListScorer> SegmentLeaves<'a, S> {
    pub(super) fn new<M: BoundModel<Scorer<'a> = S>>(
        model: &'a M,
        index: &'a Index,
        (bound, root): (&BoundQuery, &Node),
        statistics: &[LeafStatistics],
        matches: Vec<LeafMatches>,
    ) -> Result<Self, OpenIndexError> {
        let mut scorers = Vec::with_capacity(matches.len());
        for ((leaf, statistics), matches) in bound.leaves.iter().zip(statistics).zip(&matches) {
            let postings = matches.docs.len() as u32;
            let list = ScoredList {
                postings,
                ..leaf.list
            };
            scorers.push(match statistics {
                _ if postings == 0 => Vec::new(),
                LeafStatistics::Term(term) => vec![model.scorer(index, list, *term)?],
                LeafStatistics::Window(terms) => model.window_scorers(index, list, terms)?,
            });
        }
        let mut scored = Vec::new();
        root.for_each_scored(&mut |leaf| {
            let list = bound.leaves[leaf].list;
            match &statistics[leaf] {
                LeafStatistics::Term(term) => scored.push((list, *term)),
                LeafStatistics::Window(terms) => {
                    scored.extend(terms.iter().map(|&term| (list, term)));
                }
            }
        });
        Ok(Self {
            matches,
            scorers,
            documents: model.document_scores(index, scored.into_iter())?,
        })
    }

    /// Score of a document with this sum of the scores of clauses.
    pub(super) fn total(&self, sum: f64, doc: u32) -> f64 {
        self.documents.add_to(sum, doc)
    }

    /// Explains the score of a document; [`None`] if it does not match. `names` are the
    /// indexed fields.
    pub(super) fn explain_total(
        &self,
        (bound, root): (&BoundQuery, &Node),
        doc: u32,
        names: &[&str],
    ) -> Option<Explanation> {
        let tree = self.explain(bound, root, doc, names)?;
        Some(match self.documents.explain(names, doc) {
            None => tree,
            Some(added) => {
                let sum = tree.value + added.value;
                let mut total = Explanation::new(sum, "sum, in double precision, of");
                total.details = vec![tree, added];
                total
            }
        })
    }

    /// Score of a leaf.
    fn score(&self, leaf: usize, doc: u32, tf: u32) -> f64 {
        sum_of(&self.scorers[leaf], |scorer| scorer.score(doc, tf))
    }

    /// Matching documents, ascending, with their scores.
    pub(super) fn evaluate(&self, node: &Node) -> Vec<(u32, f64)> {
        match node {
            Node::Leaf(leaf) => {
                let LeafMatches { docs, tfs } = &self.matches[*leaf];
                let pairs = docs.iter().zip(tfs);
                pairs
                    .map(|(&doc, &tf)| (doc, self.score(*leaf, doc, tf)))
                    .collect()
            }
            Node::Boolean(clauses) => {
                let results: Vec<(Occur, Vec<(u32, f64)>)> = clauses
                    .iter()
                    .map(|(occur, node)| (*occur, self.evaluate(node)))
                    .collect();
                combine(&results)
            }
        }
    }

    /// Explains the score of a clause; [`None`] if the document does not match.
    fn explain(
        &self,
        bound: &BoundQuery,
        node: &Node,
        doc: u32,
        names: &[&str],
    ) -> Option<Explanation> {
        let clauses = match node {
            Node::Leaf(leaf) => {
                let tf = self.matches[*leaf].tf(doc)?;
                let BoundLeaf {
                    leaf: words, list, ..
                } = &bound.leaves[*leaf];
                let name = names.get(list.field).copied().unwrap_or_default();
                let name = format!("{name}:{}", words.describe());
                let explain = |scorer: &S| scorer.explain(&name, doc, tf);
                return match &*self.scorers[*leaf] {
                    [only] => Some(explain(only)),
                    scorers => {
                        let details = scorers.iter().map(explain).collect();
                        let what = format!("{name}: sum, in double precision, over the terms of");
                        Some(Explanation::sum(what, details))
                    }
                };
            }
            Node::Boolean(clauses) => clauses,
        };
        let mut details = Vec::new();
        let has_must = clauses.iter().any(|(occur, _)| *occur == Occur::Must);
        for (occur, node) in clauses {
            let found = self.explain(bound, node, doc, names);
            match (occur, found) {
                (Occur::MustNot, Some(_)) | (Occur::Must, None) => return None,
                (Occur::MustNot, None) | (Occur::Should, None) => {}
                (Occur::Must | Occur::Should, Some(found)) => details.push(found),
            }
        }
        if details.is_empty() && !has_must {
            return None;
        }
        let sum = details
            .iter()
            .fold(0.0, |sum, detail: &Explanation| sum + detail.value);
        let mut tree = Explanation::new(sum, "sum, in double precision, of");
        tree.details = details;
        Some(tree)
    }
}

/// Combines the results of clauses. Scores are added in the order of the clauses.
fn combine(results: &[(Occur, Vec<(u32, f64)>)]) -> Vec<(u32, f64)> {
    let of = |wanted: Occur| results.iter().filter(move |(occur, _)| *occur == wanted);
    let mut must = of(Occur::Must).map(|(_, result)| result);
    let mut docs: Vec<u32> = match must.next() {
        Some(first) => first.iter().map(|&(doc, _)| doc).collect(),
        None => {
            let all = of(Occur::Should).flat_map(|(_, result)| result);
            let mut docs: Vec<u32> = all.map(|&(doc, _)| doc).collect();
            docs.sort_unstable();
            docs.dedup();
            docs
        }
    };
    let mut retain = |result: &[(u32, f64)], is_wanted: bool| {
        let mut next = 0;
        docs.retain(|&doc| {
            while result.get(next).is_some_and(|&(other, _)| other < doc) {
                next += 1;
            }
            result.get(next).is_some_and(|&(other, _)| other == doc) == is_wanted
        });
    };
    must.for_each(|result| retain(result, true));
    of(Occur::MustNot).for_each(|(_, result)| retain(result, false));
    let mut scored: Vec<(u32, f64)> = docs.into_iter().map(|doc| (doc, 0.0)).collect();
    for (_, result) in results.iter().filter(|(occur, _)| *occur != Occur::MustNot) {
        let mut next = 0;
        for (doc, sum) in &mut scored {
            while result.get(next).is_some_and(|&(other, _)| other < *doc) {
                next += 1;
            }
            if let Some(&(other, score)) = result.get(next)
                && other == *doc
            {
                *sum += score;
            }
        }
    }
    scored
}
