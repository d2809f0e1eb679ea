//! Popularity of documents among groups of queries.

use std::collections::BTreeMap;

use ir_core::{Grade, Qrels, Query};
use serde::Serialize;

/// Documents that are relevant to the most queries of a group, such as the datasets that the papers
/// of a venue use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GroupPopularity {
    /// Number of queries of the group with a relevant document.
    pub queries: u64,
    /// Documents that are relevant to the most of these queries, with these numbers, most first;
    /// equal numbers in order of the id. At most 10.
    pub most_relevant: Vec<(String, u64)>,
}

impl GroupPopularity {
    /// Maximum number of documents in [`GroupPopularity::most_relevant`].
    pub const DOCUMENTS: usize = 10;

    /// Computes the popularity by group of the queries. A document is relevant from grade `level`.
    /// Queries without a group are left out.
    ///
    /// ```
    /// use ir_core::{Qrels, Query};
    /// use ir_studies::datafinder::GroupPopularity;
    ///
    /// let queries = ["CVPR", "CVPR", "ACL"].into_iter().enumerate();
    /// let queries = queries.map(|(n, venue)| {
    ///     Query::new(n.to_string(), "tea").with("venue", venue)
    /// });
    /// let queries: Vec<Query> = queries.collect();
    /// let mut qrels = Qrels::new();
    /// for (query, doc) in [("0", "COCO"), ("1", "COCO"), ("1", "KITTI"), ("2", "SQuAD")] {
    ///     qrels.insert(query, doc, 1);
    /// }
    /// let venue = |query: &Query| query.attributes.text("venue").map(str::to_owned);
    /// let found = GroupPopularity::by_group(&queries, &qrels, 1, venue);
    /// assert_eq!(found["CVPR"].queries, 2);
    /// assert_eq!(found["CVPR"].most_relevant, [("COCO".into(), 2), ("KITTI".into(), 1)]);
    /// ```
    pub fn by_group(
        queries: &[Query],
        qrels: &Qrels,
        level: Grade,
        group: impl Fn(&Query) -> Option<String>,
    ) -> BTreeMap<String, Self> {
        let mut counts: BTreeMap<String, (u64, BTreeMap<&str, u64>)> = BTreeMap::new();
        for query in queries {
            let Some(judged) = qrels.get(&query.id) else {
                continue;
            };
            let relevant: Vec<&str> = judged
                .iter()
                .filter(|(_, grade)| *grade >= level)
                .map(|(doc, _)| doc)
                .collect();
            let (Some(group), false) = (group(query), relevant.is_empty()) else {
                continue;
            };
            let (queries, documents) = counts.entry(group).or_default();
            *queries += 1;
            for doc in relevant {
                *documents.entry(doc).or_default() += 1;
            }
        }
        let popularity = counts.into_iter().map(|(group, (queries, documents))| {
            let documents = documents.into_iter();
            let mut most_relevant: Vec<(String, u64)> = documents
                .map(|(doc, count)| (doc.to_owned(), count))
                .collect();
            most_relevant.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            most_relevant.truncate(Self::DOCUMENTS);
            let popularity = Self {
                queries,
                most_relevant,
            };
            (group, popularity)
        });
        popularity.collect()
    }
}
