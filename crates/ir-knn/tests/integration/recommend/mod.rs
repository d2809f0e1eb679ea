//! kNN over training queries: retriever contract, reference implementation, hand-computed cases,
//! invalid input.

mod reference;

use ir_core::{
    DocIds, DocNum, Document, EncodeError, Encoder, Ranking, Retriever, Search, SearchError, Side,
};
use ir_knn::{
    DataFinderQuirks, DocFrequency, NeighborAggregation, NeighborTies, TfidfConfig, TfidfFitError,
    TrainingQuery, TrainingQueryKnn, TrainingQueryKnnConfig, TrainingQueryKnnError,
    VectorSimilarity,
};

const VOTE: NeighborAggregation = NeighborAggregation::WeightedVote { neighbors: 4 };

fn config_with(aggregation: NeighborAggregation) -> TrainingQueryKnnConfig {
    let config = TrainingQueryKnnConfig::default().with_metric(VectorSimilarity::Euclidean);
    config.with_aggregation(aggregation)
}

/// Encoder of texts that are numbers, such as "1 -2 0.5".
#[derive(Debug)]
struct Numbers(usize);

impl Encoder for Numbers {
    fn dim(&self) -> usize {
        self.0
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(self.0)) {
            row.fill(0.0);
            for (cell, word) in row.iter_mut().zip(text.split_whitespace()) {
                *cell = word.parse().unwrap_or(0.0);
            }
        }
        Ok(())
    }
}

/// Dense encoder of the counts of six letters.
struct Letters;

impl Encoder for Letters {
    fn dim(&self) -> usize {
        6
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(6)) {
            for (cell, letter) in row.iter_mut().zip("aeklmt".chars()) {
                *cell = text.chars().filter(|&c| c == letter).count() as f32;
            }
        }
        Ok(())
    }
}

/// Retriever that finds nothing if there are no training queries.
struct OrEmpty<E>(Result<TrainingQueryKnn<E>, DocIds>);

impl<E: Encoder> Retriever for OrEmpty<E> {
    type Query = str;

    fn ids(&self) -> &DocIds {
        match &self.0 {
            Ok(knn) => knn.ids(),
            Err(ids) => ids,
        }
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        match &self.0 {
            Ok(knn) => knn.search(query, search),
            Err(_) => Ok(Ranking::default()),
        }
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        match &self.0 {
            Ok(knn) => knn.search_batch(queries),
            Err(_) => Ok(vec![Ranking::default(); queries.len()]),
        }
    }
}

/// Builds a retriever whose training queries are the texts of the documents.
fn or_empty<E: Encoder>(
    documents: &[Document],
    build: impl Fn(DocIds, Vec<TrainingQuery>) -> Result<TrainingQueryKnn<E>, TrainingQueryKnnError>,
) -> OrEmpty<E> {
    let ids: DocIds = documents.iter().map(|doc| doc.id.as_str()).collect();
    let query = |doc: &Document| {
        let text = format!("{} {}", doc.title, doc.text);
        TrainingQuery::new(&doc.id, text, [&doc.id])
    };
    OrEmpty(if documents.is_empty() {
        Err(ids)
    } else {
        Ok(build(ids, documents.iter().map(query).collect()).unwrap())
    })
}

#[test]
fn contract() {
    let aggregations = [NeighborAggregation::Nearest, NeighborAggregation::Sum, VOTE];
    // Not in the order of the training queries, where scores of equal documents differ.
    for config in aggregations.map(config_with) {
        for metric in [VectorSimilarity::Euclidean, VectorSimilarity::Cosine] {
            let config = config.with_metric(metric);
            let tfidf = TfidfConfig::default();
            ir_testkit::check_text(|documents| {
                or_empty(documents, |ids, queries| {
                    TrainingQueryKnn::tfidf(ids, queries, &tfidf, &config)
                })
            });
            ir_testkit::check_text(|documents| {
                or_empty(documents, |ids, queries| {
                    TrainingQueryKnn::new(ids, queries, Letters, &config)
                })
            });
        }
    }
}

/// One-dimensional queries at 1, 2, 3, 5 and 9; squared distances from 0 are 1, 4, 9, 25, 81.
fn five_queries(config: &TrainingQueryKnnConfig) -> TrainingQueryKnn<Numbers> {
    let rows = [("1", "a"), ("2", "b"), ("3", "a"), ("5", "c"), ("9", "d")];
    let query = |(at, id): (&str, &str)| TrainingQuery::new(format!("p{at}"), at, [id]);
    let ids = ["a", "b", "c", "d", "never"].into_iter().collect();
    TrainingQueryKnn::new(ids, rows.map(query).into(), Numbers(1), config).unwrap()
}

fn named<E: Encoder>(
    knn: &TrainingQueryKnn<E>,
    query: &str,
    search: &Search<'_>,
) -> Vec<(String, f32)> {
    let ranking = knn.search(query, search).unwrap();
    let name = |hit: &ir_core::Hit| (knn.ids().id(hit.doc).to_owned(), hit.score);
    ranking.iter().map(name).collect()
}

fn assert_ranking(found: &[(String, f32)], expected: &[(&str, f32)]) {
    let found: Vec<(&str, f32)> = found
        .iter()
        .map(|(id, score)| (id.as_str(), *score))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn aggregations_on_a_hand_computed_example() {
    let all = Search::top(9);
    let knn = five_queries(&config_with(NeighborAggregation::Nearest));
    assert_ranking(
        &named(&knn, "0", &all),
        &[("a", -1.), ("b", -4.), ("c", -25.), ("d", -81.)],
    );
    assert_eq!((knn.documents(), knn.queries().len()), (4, 5));

    let knn = five_queries(&config_with(NeighborAggregation::Sum));
    assert_ranking(
        &named(&knn, "0", &Search::top(2)),
        &[("a", 0.6), ("b", 0.2)],
    );

    // D = 25: 24/25 + 16/25, 21/25 and 0. d has no vote: (25 - 81)/25.
    let knn = five_queries(&config_with(VOTE));
    assert_ranking(
        &named(&knn, "0", &all),
        &[("a", 1.6), ("b", 0.84), ("c", 0.), ("d", -2.24)],
    );
}

/// Two training queries at the distance 1, of the documents d, b and c, a; e is at the distance 4.
#[test]
fn ties_in_the_order_of_the_training_queries() {
    let rows = [
        ("1", &["d", "b", "d"][..]),
        ("-1", &["c", "a", "b"]),
        ("2", &["e", "a"]),
    ];
    let query =
        |(at, docs): (&str, &[&str])| TrainingQuery::new(format!("p{at}"), at, docs.to_vec());
    let config = config_with(NeighborAggregation::Nearest).with_ties(NeighborTies::TrainingOrder);
    let ids = ["a", "b", "c", "d", "e"].into_iter().collect();
    let knn = TrainingQueryKnn::new(ids, rows.map(query).into(), Numbers(1), &config).unwrap();
    // The f32 numbers below -1 are -1 - n · 2^-23.
    let step = 2_f32.powi(-23);
    let expected = [
        ("d", -1.0),
        ("b", -1.0 - step),
        ("c", -1.0 - 2.0 * step),
        ("a", -1.0 - 3.0 * step),
        ("e", -4.0),
    ];
    assert_ranking(&named(&knn, "0", &Search::top(9)), &expected);
    // Without d and c, scores and order are the same.
    let filter = |doc: DocNum| doc.get() != 3 && doc.get() != 2;
    let filtered = named(&knn, "0", &Search::top(2).within(&filter));
    assert_ranking(&filtered, &[expected[1], expected[3]]);
    let explained = knn
        .explain("0", DocNum::new(0), &Search::top(1))
        .unwrap()
        .unwrap();
    assert_eq!(explained.score().to_bits(), expected[3].1.to_bits());
    assert!(
        explained.details[0]
            .description
            .starts_with("p-1, similarity 0.5")
    );
    // By document number, a is first.
    let config = config.with_ties(NeighborTies::DocumentNumber);
    let ids = ["a", "b", "c", "d", "e"].into_iter().collect();
    let knn = TrainingQueryKnn::new(ids, rows.map(query).into(), Numbers(1), &config).unwrap();
    assert_eq!(named(&knn, "0", &Search::top(1))[0].0, "a");
}

#[test]
fn published_exact_top_on_a_hand_computed_example() {
    let knn = five_queries(&config_with(NeighborAggregation::ExactTop));
    // Two queries yield two documents. The third yields a again: 1 + 9.
    assert_ranking(
        &named(&knn, "0", &Search::top(2)),
        &[("a", -1.), ("b", -4.)],
    );
    assert_ranking(
        &named(&knn, "0", &Search::top(3)),
        &[("b", -4.), ("a", -10.), ("c", -25.)],
    );
    // A filter without b and c visits more queries.
    let filter = |doc: DocNum| doc.get() == 0 || doc.get() == 3;
    assert_ranking(
        &named(&knn, "0", &Search::top(2).within(&filter)),
        &[("a", -10.), ("d", -81.)],
    );

    // The published program stops after four relevant documents, a twice: b 4, a 10, c 25, but not
    // d. Sorted by score, the farthest is first.
    let knn = five_queries(
        &config_with(NeighborAggregation::ExactTop).with_quirks(DataFinderQuirks::EXACT_TOP),
    );
    assert_ranking(
        &named(&knn, "0", &Search::top(5)),
        &[("c", 25.), ("a", 10.), ("b", 4.)],
    );
    // Truncation precedes the reversal.
    assert_ranking(&named(&knn, "0", &Search::top(2)), &[("a", 10.), ("b", 4.)]);
    assert_ranking(&named(&knn, "0", &Search::top(0)), &[]);
}

#[test]
fn published_vote_on_a_hand_computed_example() {
    // From 9, the voters are at 9, 5, 3, 2 with distances 0, 16, 36, 49. Their votes go to the
    // documents of the queries at 1, 2, 3, 5: a, b, a, c. The relevant document d is never found.
    let quirks = DataFinderQuirks {
        first_rows: true,
        ..DataFinderQuirks::default()
    };
    let knn = five_queries(&config_with(VOTE).with_quirks(quirks));
    let expected = [("a", 1. + 13. / 49.), ("b", 33. / 49.), ("c", 0.)];
    assert_ranking(&named(&knn, "9", &Search::top(5)), &expected);
    let knn = five_queries(&config_with(VOTE));
    assert_eq!(named(&knn, "9", &Search::top(1))[0].0, "d");
    // At most four results, of documents with votes only.
    let quirks = DataFinderQuirks {
        four_results: true,
        ..DataFinderQuirks::default()
    };
    let knn = five_queries(&config_with(VOTE).with_quirks(quirks));
    assert_eq!(named(&knn, "0", &Search::top(5)).len(), 3);
    let rows =
        (1..8).map(|n| TrainingQuery::new(format!("{n}"), format!("{n}"), [format!("i{n}")]));
    let ids = (1..8).map(|n| format!("i{n}")).collect();
    let config =
        config_with(NeighborAggregation::WeightedVote { neighbors: 10 }).with_quirks(quirks);
    let knn = TrainingQueryKnn::new(ids, rows.collect(), Numbers(1), &config).unwrap();
    assert_eq!(named(&knn, "0", &Search::top(7)).len(), 4);
}

/// One of two training queries has no known word, so its vector is zero.
#[test]
fn zero_vectors_are_near_under_euclidean_distance_only() {
    let queries = || {
        vec![
            TrainingQuery::new("p", "0 0 0", ["nothing"]),
            TrainingQuery::new("q", "0.6 0.8 0", ["right"]),
        ]
    };
    // Cosine 0.48, squared distance 1.04; the squared distance to zero is 1.
    let best = |metric| {
        let ids = ["nothing", "right"].into_iter().collect();
        let config = config_with(NeighborAggregation::Nearest).with_metric(metric);
        let knn = TrainingQueryKnn::new(ids, queries(), Numbers(3), &config).unwrap();
        named(&knn, "0.8 0 0.6", &Search::top(1))[0].0.clone()
    };
    assert_eq!(best(VectorSimilarity::Euclidean), "nothing");
    assert_eq!(best(VectorSimilarity::Cosine), "right");
}

#[test]
fn explanations_list_the_voting_queries() {
    let knn = five_queries(&config_with(VOTE));
    let explanation = knn
        .explain("0", DocNum::new(0), &Search::top(3))
        .unwrap()
        .unwrap();
    assert_eq!(
        explanation.to_string(),
        "1.6  sum of votes weighted by squared Euclidean distance, relative to neighbor 4\n  \
         0.96  p1, similarity 0.5: 1\n  \
         0.64  p3, similarity 0.1: 3\n"
    );
    let never = knn.ids().get("never").unwrap();
    assert!(knn.explain("0", never, &Search::top(3)).unwrap().is_none());
}

#[test]
fn missing_relevant_documents_are_rejected_or_skipped() {
    let ids = || ["a", "b", "a"].into_iter().collect::<DocIds>();
    let queries = || {
        vec![
            TrainingQuery::new("p1", "1", ["a", "a", "gone"]),
            TrainingQuery::new("p2", "2", Vec::<String>::new()),
            TrainingQuery::new("p3", "3", ["gone"]),
        ]
    };
    let config = TrainingQueryKnnConfig::default();
    let build = |queries, config: &TrainingQueryKnnConfig| {
        TrainingQueryKnn::new(ids(), queries, Numbers(1), config)
    };
    let error = |queries, config: &TrainingQueryKnnConfig| build(queries, config).unwrap_err();
    assert!(matches!(
        error(queries(), &config),
        TrainingQueryKnnError::UnknownDocument { query, document } if query == "p1" && document == "gone"
    ));
    assert!(matches!(
        error(queries(), &config.skip_unknown_documents()),
        TrainingQueryKnnError::NoRelevant { query } if query == "p2"
    ));
    let all = config.skip_unknown_documents().skip_without_relevant();
    let knn = build(queries(), &all).unwrap();
    assert_eq!(
        (knn.queries().len(), knn.documents(), knn.without_relevant()),
        (1, 1, 1)
    );
    let gone = |query: &str| (query.to_owned(), "gone".to_owned());
    assert_eq!(knn.unknown_documents(), [gone("p1"), gone("p3")]);
    // Of two documents with the same id, the first is used.
    let found = knn.search("1", &Search::top(9)).unwrap();
    assert_eq!(found.hits().len(), 1);
    assert_eq!(found.hits()[0].doc, DocNum::new(0));
    assert!(matches!(
        error(Vec::new(), &all),
        TrainingQueryKnnError::Empty { found: 0 }
    ));
    let nothing_left = error(queries().split_off(1), &all);
    assert!(matches!(
        nothing_left,
        TrainingQueryKnnError::Empty { found: 2 }
    ));
}

#[test]
fn contradictory_configurations_are_rejected() {
    let error = |config: TrainingQueryKnnConfig| {
        let queries = vec![TrainingQuery::new("p", "1", ["a"])];
        let ids = ["a"].into_iter().collect();
        TrainingQueryKnn::new(ids, queries, Numbers(1), &config)
            .unwrap_err()
            .to_string()
    };
    let no_neighbors = NeighborAggregation::WeightedVote { neighbors: 0 };
    assert_eq!(
        error(config_with(no_neighbors)),
        "neighbors: expected a number ≥ 1, found 0"
    );
    let wrong = config_with(NeighborAggregation::Nearest).with_quirks(DataFinderQuirks::EXACT_TOP);
    assert_eq!(error(wrong), "reversed_scores does not apply to Nearest");
    let wrong = config_with(NeighborAggregation::ExactTop).with_quirks(DataFinderQuirks::WEIGHTED);
    assert_eq!(error(wrong), "first_rows does not apply to ExactTop");
    let wrong = config_with(NeighborAggregation::Sum).with_ties(NeighborTies::TrainingOrder);
    assert_eq!(
        error(wrong),
        "ties: expected document-number with the aggregation Sum, found training-order"
    );
}

#[test]
fn vectors_with_nan_or_infinity_are_rejected() {
    let build = |text: &str| {
        let queries = vec![TrainingQuery::new("p", text, ["a"])];
        let ids = ["a"].into_iter().collect();
        TrainingQueryKnn::new(ids, queries, Numbers(2), &TrainingQueryKnnConfig::default())
    };
    assert!(matches!(
        build("1 inf"),
        Err(TrainingQueryKnnError::Vector { query, component: 1, found }) if query == "p" && found == f32::INFINITY
    ));
    let found = build("1 2").unwrap().search("NaN 0", &Search::top(1));
    assert!(matches!(found, Err(SearchError::NotFinite { at: 0, .. })));
    // min_df drops every term.
    let queries = vec![
        TrainingQuery::new("p", "some words", ["a"]),
        TrainingQuery::new("q", "others", ["a"]),
    ];
    let rare = TfidfConfig::default().with_min_df(DocFrequency::Count(2));
    let ids = ["a"].into_iter().collect();
    let found = TrainingQueryKnn::tfidf(ids, queries, &rare, &TrainingQueryKnnConfig::default());
    assert!(
        matches!(
            found,
            Err(TrainingQueryKnnError::Fit(
                TfidfFitError::NoTermsLeft { .. }
            ))
        ),
        "{found:?}"
    );
}

/// Rounding may yield a distance of 1e-16 between equal vectors, which must count as 0.
#[test]
fn the_same_query_is_at_distance_zero() {
    let ids: DocIds = ["a", "b", "c"].into_iter().collect();
    let config = TrainingQueryKnnConfig::default()
        .with_aggregation(NeighborAggregation::WeightedVote { neighbors: 10 });
    for seed in 1..200 {
        let numbers: Vec<String> = (0..30)
            .map(|n| format!("{}", f64::from(seed * 7919 % 1009 + n * n) / 7.0))
            .collect();
        let text = numbers.join(" ");
        let mut queries: Vec<TrainingQuery> = (0..10)
            .map(|n| TrainingQuery::new(format!("p{n}"), &text, [if n < 2 { "a" } else { "b" }]))
            .collect();
        queries.push(TrainingQuery::new("far", "1 -1", ["c"]));
        let knn = TrainingQueryKnn::new(ids.clone(), queries, Numbers(30), &config).unwrap();
        let found = knn.search(&text, &Search::top(3)).unwrap();
        let scores: Vec<(&str, f32)> = found
            .iter()
            .map(|hit| (ids.id(hit.doc), hit.score))
            .collect();
        assert_eq!(scores[..2], [("b", 8.0), ("a", 2.0)]);
        assert!(scores[2].1 <= 0.0 && scores[2].1 >= -2.0, "{scores:?}");
    }
}

/// Encoder that repeats a column.
#[derive(Debug)]
struct Repeats(usize);

impl Encoder for Repeats {
    fn dim(&self) -> usize {
        self.0
    }

    fn encode_into(&self, _: Side, _: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        out.fill(1.0);
        Ok(())
    }

    fn encode_sparse(
        &self,
        _side: Side,
        batch: &[&str],
        output: &mut dyn FnMut(&[u32], &[f32]),
    ) -> Result<(), EncodeError> {
        for _ in batch {
            output(&[0, 2, 2], &[1.0, 1.0, 1.0]);
        }
        Ok(())
    }
}

#[test]
fn unsorted_columns_are_rejected() {
    for dim in [3, 40] {
        let queries = vec![TrainingQuery::new("p", "x", ["a"])];
        let ids = ["a"].into_iter().collect();
        let config = TrainingQueryKnnConfig::default();
        let error = TrainingQueryKnn::new(ids, queries, Repeats(dim), &config).unwrap_err();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(next) = cause.source() {
            cause = next;
        }
        assert_eq!(
            cause.to_string(),
            format!("row 0: expected ascending column indices below {dim}, found 2")
        );
    }
}
