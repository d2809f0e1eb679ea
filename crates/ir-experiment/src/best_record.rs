//! Time filter by the year of the best-ranked record of an id.

use std::collections::{HashMap, HashSet};

use ir_core::{DocFilter, DocIds, Hit, Ranking, SearchError, Years};

/// Years of the documents of `ids`, a part of the records `all` with their `years`: the n-th
/// document with an id is the n-th record with this id.
///
/// # Errors
/// Some records of an id are missing in `ids`, and its records differ in their years.
pub(crate) fn years_of_records(
    all: &DocIds,
    years: &[Option<i64>],
    ids: &DocIds,
) -> Result<Years, String> {
    let mut records: HashMap<&str, Vec<Option<i64>>> = HashMap::new();
    for (id, year) in all.iter().zip(years) {
        records.entry(id).or_default().push(*year);
    }
    let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
    for (doc, id) in ids.iter().enumerate() {
        found.entry(id).or_default().push(doc);
    }
    let mut by_document = vec![None; ids.len()];
    for (id, documents) in found {
        let years = records.get(id).map(Vec::as_slice).unwrap_or_default();
        let is_ambiguous = years.iter().any(|year| *year != years[0]);
        if is_ambiguous && documents.len() != years.len() {
            return Err(format!(
                "expected all {} records of {id:?} in the index, because their years differ, found \
                 {}",
                years.len(),
                documents.len()
            ));
        }
        for (doc, year) in documents.into_iter().zip(years) {
            by_document[doc] = *year;
        }
    }
    Ok(by_document.into_iter().collect())
}

/// Returns at most `limit` records: the best-ranked record of each id, if it passes the filter.
///
/// `found` is a ranking of records and its depth. `deeper` searches at a greater depth, until there
/// are `limit` ids or no further records.
pub(crate) fn best_records(
    found: (Ranking, usize),
    ids: &DocIds,
    filter: &dyn DocFilter,
    limit: usize,
    deeper: impl Fn(usize) -> Result<Ranking, SearchError>,
) -> Result<Ranking, SearchError> {
    let (mut ranking, mut depth) = found;
    loop {
        let is_complete = ranking.len() < depth || depth >= ids.len();
        let mut seen = HashSet::new();
        let is_best = |hit: &Hit| seen.insert(ids.id(hit.doc)) && filter.contains(hit.doc);
        let passing = ranking.retain(is_best).top(limit);
        if passing.len() == limit || is_complete {
            return Ok(passing);
        }
        depth = depth.saturating_mul(4).min(ids.len());
        ranking = deeper(depth)?;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ir_core::{DocNum, NotLaterThan};

    use super::*;

    const YEARS: [Option<i64>; 7] = [
        Some(2001),
        Some(2020),
        Some(2020),
        Some(2020),
        Some(2001),
        None,
        Some(2001),
    ];

    fn ids(names: &[&str]) -> DocIds {
        names.iter().copied().collect()
    }

    fn year(years: &Years, doc: u32, limit: i64) -> bool {
        NotLaterThan::contains(&years.not_later_than(Some(limit)), DocNum::new(doc))
    }

    #[test]
    fn documents_have_the_years_of_their_records() {
        let all = ids(&["a", "b", "c", "a", "b", "d", "e"]);
        // Another order of ids, and the same order of the records of an id.
        let index = ids(&["a", "a", "b", "b", "e", "d"]);
        let years = years_of_records(&all, &YEARS, &index).unwrap();
        let old = (0..6).map(|doc| year(&years, doc, 2010));
        assert_eq!(
            old.collect::<Vec<_>>(),
            [true, false, false, true, true, true]
        );
        // One of two records with different years.
        let error = years_of_records(&all, &YEARS, &ids(&["b", "c"])).unwrap_err();
        let expected = "expected all 2 records of \"b\" in the index, because their years differ, \
                        found 1";
        assert_eq!(error, expected);
        // One of two records with equal years.
        let same = [Some(2020); 7];
        let years = years_of_records(&all, &same, &ids(&["b", "c"])).unwrap();
        assert!(!year(&years, 0, 2010) && year(&years, 0, 2020));
    }

    /// Lists of every length, from searches of every depth, beside the filtered whole ranking.
    #[test]
    fn the_best_record_decides() {
        let records = ids(&["a", "b", "c", "a", "b", "d", "e", "d"]);
        // The first record of "a" passes, its best does not; of "b" the other way around.
        let old = |doc: DocNum| [0, 4, 5, 6].contains(&doc.get());
        let ranked = [3, 4, 2, 7, 0, 1, 6, 5];
        let hits = |depth: usize| {
            let hits = ranked.iter().zip(0_u8..).take(depth);
            let hits = hits.map(|(&doc, n)| Hit::new(DocNum::new(doc), 9.0 - f32::from(n)));
            Ranking::from_hits(hits.collect()).unwrap()
        };
        for limit in 1..=8 {
            for depth in 1..=9 {
                let searches = Cell::new(0);
                let deeper = |depth| {
                    searches.set(searches.get() + 1);
                    Ok(hits(depth))
                };
                let found = best_records((hits(depth), depth), &records, &old, limit, deeper);
                let found = found.unwrap();
                let found: Vec<u32> = found.iter().map(|hit| hit.doc.get()).collect();
                // The best record of "d" is new.
                assert_eq!(found, [4, 6][..limit.min(2)], "{limit} {depth}");
                assert!(searches.get() <= 2, "{limit} {depth}");
            }
        }
    }
}
