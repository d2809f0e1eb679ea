//! Matches of the leaves of a query in the documents of an index: words, phrases, windows and
//! synonyms.

use std::collections::HashMap;

use ir_core::store::OpenIndexError;

use crate::Index;
use crate::postings::{END, PostingsCursor};

/// Word, window or synonyms in one field, after analysis.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Leaf {
    Term(String),
    Window {
        /// Terms with their positions in the text of the query.
        terms: Vec<(String, u32)>,
        ordered: bool,
        width: u32,
    },
    Synonyms(Vec<Leaf>),
}

/// Documents that contain a leaf, ascending, with the number of its matches there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LeafMatches {
    pub(super) docs: Vec<u32>,
    pub(super) tfs: Vec<u32>,
}

impl LeafMatches {
    fn push(&mut self, doc: u32, tf: u32) {
        self.docs.push(doc);
        self.tfs.push(tf);
    }

    /// Number of matches in a document.
    pub(super) fn tf(&self, doc: u32) -> Option<u32> {
        self.docs.binary_search(&doc).ok().map(|at| self.tfs[at])
    }

    /// The documents of any of them, with the sums of the frequencies.
    fn union(all: &[Self]) -> Self {
        let pairs = all.iter().flat_map(|matches| {
            let docs = matches.docs.iter().copied();
            docs.zip(matches.tfs.iter().copied())
        });
        let mut pairs: Vec<(u32, u32)> = pairs.collect();
        // Merges the ascending runs.
        pairs.sort_by_key(|&(doc, _)| doc);
        let mut union = Self::default();
        for (doc, tf) in pairs {
            match union.tfs.last_mut() {
                Some(sum) if union.docs.last() == Some(&doc) => *sum = sum.saturating_add(tf),
                _ => union.push(doc, tf),
            }
        }
        union
    }
}

impl Leaf {
    /// The words of the leaf, for explanations.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Term(term) => term.clone(),
            Self::Window {
                terms,
                ordered,
                width,
            } => {
                let words: Vec<&str> = terms.iter().map(|(term, _)| &**term).collect();
                let words = words.join(" ");
                match (ordered, width) {
                    (true, 1) => format!("\"{words}\""),
                    (true, width) => format!("#od{width}({words})"),
                    (false, width) => format!("#uw{width}({words})"),
                }
            }
            Self::Synonyms(parts) => {
                let parts: Vec<String> = parts.iter().map(Self::describe).collect();
                format!("#syn({})", parts.join(" "))
            }
        }
    }

    /// Whether positions are needed.
    pub(super) fn has_window(&self) -> bool {
        match self {
            Self::Term(_) => false,
            Self::Window { .. } => true,
            Self::Synonyms(parts) => parts.iter().any(Self::has_window),
        }
    }

    /// Finds the documents of an index that contain the leaf in a field.
    pub(super) fn matches(
        &self,
        index: &Index,
        field: usize,
        is_live: &dyn Fn(u32) -> bool,
    ) -> Result<LeafMatches, OpenIndexError> {
        match self {
            Self::Term(term) => match index.cursor(field, term)? {
                Some(cursor) => of_term(cursor, is_live),
                None => Ok(LeafMatches::default()),
            },
            Self::Window {
                terms,
                ordered,
                width,
            } => {
                let cursors = terms.iter().map(|(term, _)| index.cursor(field, term));
                let cursors: Option<Vec<_>> = cursors.collect::<Result<_, _>>()?;
                let Some(cursors) = cursors else {
                    return Ok(LeafMatches::default());
                };
                let starts: Vec<u32> = terms.iter().map(|&(_, position)| position).collect();
                let repeats = repeats(terms);
                let count = |positions: &[Vec<u32>]| match (ordered, width) {
                    (true, 1) => phrases(positions, &starts),
                    (true, width) => ordered_windows(positions, &starts, *width),
                    (false, width) => unordered_windows(positions, &repeats, *width),
                };
                of_window(cursors, is_live, &count)
            }
            Self::Synonyms(parts) => {
                let parts = parts.iter().map(|part| part.matches(index, field, is_live));
                Ok(LeafMatches::union(&parts.collect::<Result<Vec<_>, _>>()?))
            }
        }
    }
}

fn of_term(
    mut cursor: PostingsCursor<'_>,
    is_live: &dyn Fn(u32) -> bool,
) -> Result<LeafMatches, OpenIndexError> {
    let mut matches = LeafMatches::default();
    while cursor.seek(0) != END {
        let slice = cursor.postings();
        for (&doc, &tf) in slice.docs.iter().zip(slice.tfs) {
            if is_live(doc) {
                matches.push(doc, tf);
            }
        }
        cursor.next_block();
    }
    cursor.take_damage().map_or(Ok(matches), Err)
}

/// Documents that contain all terms, with the number of windows that `count` finds in the positions
/// of the terms.
fn of_window(
    mut cursors: Vec<PostingsCursor<'_>>,
    is_live: &dyn Fn(u32) -> bool,
    count: &dyn Fn(&[Vec<u32>]) -> usize,
) -> Result<LeafMatches, OpenIndexError> {
    // The rarest term proposes documents.
    let mut order: Vec<usize> = (0..cursors.len()).collect();
    order.sort_by_key(|&at| cursors[at].df);
    let mut positions = vec![Vec::new(); cursors.len()];
    let mut matches = LeafMatches::default();
    let mut doc = 0;
    'documents: while let Some((&rarest, others)) = order.split_first() {
        doc = cursors[rarest].seek(doc);
        if doc == END {
            break;
        }
        for &other in others {
            let found = cursors[other].seek(doc);
            if found > doc {
                if found == END {
                    break 'documents;
                }
                doc = found;
                continue 'documents;
            }
        }
        if is_live(doc) {
            for (cursor, positions) in cursors.iter_mut().zip(&mut positions) {
                positions.clear();
                cursor.positions(positions)?;
            }
            let windows = count(&positions);
            if windows > 0 {
                matches.push(doc, windows.try_into().unwrap_or(u32::MAX));
            }
        }
        doc += 1;
    }
    let damage = cursors.iter_mut().find_map(PostingsCursor::take_damage);
    damage.map_or(Ok(matches), Err)
}

/// How often the term of each place occurs in the window; 0 where it occurred before.
fn repeats(terms: &[(String, u32)]) -> Vec<usize> {
    let mut repeats = vec![0; terms.len()];
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, (term, _)) in terms.iter().enumerate() {
        repeats[*first.entry(term.as_str()).or_insert(at)] += 1;
    }
    repeats
}

/// Number of phrases: the terms at the distances that they have in the query.
fn phrases(positions: &[Vec<u32>], starts: &[u32]) -> usize {
    let (Some((first, others)), Some(&start)) = (positions.split_first(), starts.first()) else {
        return 0;
    };
    let mut next = vec![0; others.len()];
    let is_phrase = |&&position: &&u32| {
        let places = others.iter().zip(&starts[1..]).zip(&mut next);
        let mut follows = places.map(|((others, place), next)| {
            let wanted = position.checked_add(place - start);
            let rest = others.get(*next..).unwrap_or_default();
            *next += rest.partition_point(|&other| Some(other) < wanted);
            others.get(*next).copied() == wanted && wanted.is_some()
        });
        follows.all(|follows| follows)
    };
    first.iter().filter(is_phrase).count()
}

/// Number of occurrences of the first term after which the others follow, each at most `width`
/// positions after the one before; removed stop words between them count in addition.
fn ordered_windows(positions: &[Vec<u32>], starts: &[u32], width: u32) -> usize {
    let Some((last, before)) = positions.split_last() else {
        return 0;
    };
    // From the last term to the first: the occurrences after which the rest follows.
    let mut following = last.clone();
    for (at, occurrences) in before.iter().enumerate().rev() {
        let gap = starts[at + 1] - starts[at];
        let limit = width.saturating_sub(1).saturating_add(gap);
        let mut next = 0;
        let is_followed = |&&position: &&u32| {
            while following.get(next).is_some_and(|&other| other <= position) {
                next += 1;
            }
            let other = following.get(next).copied();
            other.is_some_and(|other| other - position <= limit)
        };
        following = occurrences.iter().filter(is_followed).copied().collect();
    }
    following.len()
}

/// Number of positions of a term from which `width` positions contain all terms, as often as they
/// occur in the query.
fn unordered_windows(positions: &[Vec<u32>], repeats: &[usize], width: u32) -> usize {
    let terms: Vec<(&[u32], usize)> = positions
        .iter()
        .map(Vec::as_slice)
        .zip(repeats.iter().copied())
        .filter(|&(_, count)| count > 0)
        .collect();
    let mut starts: Vec<u32> = terms
        .iter()
        .flat_map(|(positions, _)| positions.iter().copied())
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let mut next = vec![0; terms.len()];
    let contains_all = |&&start: &&u32| {
        let mut places = terms.iter().zip(&mut next);
        places.all(|((positions, count), next)| {
            while positions
                .get(*next)
                .is_some_and(|&position| position < start)
            {
                *next += 1;
            }
            let last = positions.get(*next + count - 1);
            last.is_some_and(|&last| last - start < width)
        })
    };
    starts.iter().filter(contains_all).count()
}
