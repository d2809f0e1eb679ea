//! Top-k searches of an engine, in the order of ir-core.
//!
//! The ids of the collection are on the client, 20 to 40 bytes per document, read once when it is
//! opened: `Retriever::ids` returns them, run files need them, and hits are then numbers alone.

use ir_core::{DocNum, Hit, Ranking};

use crate::RemoteError;
use crate::clause::Clause;

/// Maximum number of queries of a request.
const MAX_QUERIES: usize = 100;

/// Query, number of hits and filter.
pub(crate) struct RankedQuery<'q, Q: ?Sized> {
    pub(crate) query: &'q Q,
    pub(crate) k: usize,
    pub(crate) clause: Clause,
}

/// What an engine searches.
pub(crate) struct SearchLimits {
    pub(crate) engine: &'static str,
    pub(crate) documents: usize,
    /// Maximum number of hits of a request.
    pub(crate) max_hits: usize,
}

/// Request for up to a number of best hits of queries with one filter.
pub(crate) type HitRequest<'a, Q> =
    dyn Fn(&[&Q], &Clause, usize) -> Result<Vec<Vec<Hit>>, RemoteError> + 'a;

/// Searches all queries. `request` returns up to the given number of best hits of queries with one
/// filter, in any order.
///
/// Engines order documents of equal scores in their own way, and cut them off anywhere. So more
/// than k hits are requested, until the last one has a lower score than the k-th: the result is the
/// head of the exhaustive ranking.
pub(crate) fn rank<Q: ?Sized>(
    queries: &[RankedQuery<'_, Q>],
    limits: &SearchLimits,
    request: &HitRequest<'_, Q>,
) -> Result<Vec<Ranking>, RemoteError> {
    let mut rankings: Vec<Ranking> = queries.iter().map(|_| Ranking::default()).collect();
    let mut open = Vec::new();
    for (at, query) in queries.iter().enumerate() {
        let wanted = query.k.min(limits.documents);
        if wanted > limits.max_hits {
            return Err(RemoteError::TooManyHits {
                engine: limits.engine,
                limit: limits.max_hits,
                found: wanted,
            });
        }
        if wanted > 0 && query.clause != Clause::Never {
            let padded = wanted + (wanted / 8).max(8);
            open.push((at, padded.min(limits.documents).min(limits.max_hits)));
        }
    }
    while let Some(&(first, limit)) = open.first() {
        let clause = &queries[first].clause;
        let same = |&(at, other): &(usize, usize)| other == limit && queries[at].clause == *clause;
        let mut batch: Vec<usize> = Vec::new();
        open.retain(|entry| {
            let chosen = batch.len() < MAX_QUERIES && same(entry);
            if chosen {
                batch.push(entry.0);
            }
            !chosen
        });
        let texts: Vec<&Q> = batch.iter().map(|&at| queries[at].query).collect();
        let found = request(&texts, clause, limit)?;
        for (&at, hits) in batch.iter().zip(found) {
            let returned = hits.len();
            let ranking = Ranking::from_hits(hits).map_err(RemoteError::Query)?;
            let wanted = queries[at].k.min(limits.documents);
            let is_tied = returned >= limit
                && limit < limits.documents.min(limits.max_hits)
                && tied(&ranking, wanted);
            if is_tied {
                let more = limit.saturating_mul(4);
                open.push((at, more.min(limits.documents).min(limits.max_hits)));
            } else {
                rankings[at] = ranking.top(wanted);
            }
        }
    }
    Ok(rankings)
}

/// Returns `true` if the last hit has the score of hit `k`, so that hits of this score may be
/// missing.
fn tied(ranking: &Ranking, k: usize) -> bool {
    let hits = ranking.hits();
    match (hits.get(k.wrapping_sub(1)), hits.last()) {
        (Some(kth), Some(last)) => kth.score == last.score,
        _ => false,
    }
}

/// Hit of a document number from a response.
pub(crate) fn hit(
    number: u64,
    score: f64,
    documents: usize,
    url: &str,
) -> Result<Hit, RemoteError> {
    if number >= documents as u64 {
        let expected = format!("document numbers below {documents}");
        return Err(RemoteError::response(url, expected, number.to_string()));
    }
    let value = score as f32;
    if !value.is_finite() {
        let expected = format!("a finite score of document {number}");
        return Err(RemoteError::response(url, expected, score.to_string()));
    }
    Ok(Hit::new(DocNum::new(number as u32), value))
}

/// Checks that a query has the number of hits that an exact search without a filter returns.
pub(crate) fn check_complete(
    hits: &[Hit],
    complete: Option<usize>,
    url: &str,
) -> Result<(), RemoteError> {
    match complete {
        Some(expected) if hits.len() < expected => {
            let expected = format!("{expected} hits of an exact search without a filter");
            let found = hits.len().to_string();
            Err(RemoteError::response(url, expected, found))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The engine cuts ties off in descending order of numbers.
        #[test]
        fn ties_are_those_of_the_exhaustive_ranking(
            scores in prop::collection::vec(0_u8..4, 1..300), ks in prop::collection::vec(0_usize..40, 1..5),
        ) {
            let all = scores.iter().enumerate();
            let mut hits: Vec<Hit> = all
                .map(|(n, &score)| Hit::new(DocNum::new(n as u32), f32::from(score)))
                .collect();
            let exhaustive = Ranking::from_hits(hits.clone()).unwrap();
            hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.doc.cmp(&a.doc)));
            let queries: Vec<RankedQuery<'_, str>> = ks
                .iter()
                .map(|&k| RankedQuery { query: "q", k, clause: Clause::Always })
                .collect();
            let limits = SearchLimits { engine: "test", documents: scores.len(), max_hits: 1000 };
            let found = rank(&queries, &limits, &|batch, _, limit| {
                Ok(batch.iter().map(|_| hits.iter().copied().take(limit).collect()).collect())
            }).unwrap();
            for (k, ranking) in ks.iter().zip(found) {
                prop_assert_eq!(ranking, exhaustive.clone().top(*k));
            }
        }
    }
}
