//! Hybrid retrievers compared with exhaustive sums and fusions.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::fuse::fuse_rankings;
use super::*;
use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::filter::DocFilter;
use crate::ids::{DocIds, DocNum, DocSet};
use crate::matched_text::MatchedText;
use crate::ranking::{Hit, Ranking, TopK};
use crate::retriever::Retriever;
use crate::search::Search;
use crate::tests::ConstantScores;

impl ConstantScores {
    /// Best score of every id with a score.
    fn best(&self) -> BTreeMap<String, f32> {
        let mut best = BTreeMap::new();
        for (id, score) in self.ids.iter().zip(&self.scores) {
            if let Some(score) = *score {
                let known = best.entry(id.to_owned()).or_insert(score);
                *known = score.max(*known);
            }
        }
        best
    }
}

/// Returns the explanations of all hits, after comparing them with the scores; documents that the
/// exhaustive search does not return have none.
fn explanations(
    retriever: &dyn Retriever<Query = str>,
    search: &Search<'_>,
) -> Vec<(Hit, Explanation)> {
    let ranking = retriever.search("q", search).unwrap();
    let explained = ranking.iter().map(|hit| {
        let tree = retriever.explain("q", hit.doc, search).unwrap().unwrap();
        assert_eq!(tree.score().to_bits(), hit.score.to_bits(), "{tree}");
        assert_eq!(tree.value, f64::from(hit.score));
        (*hit, tree)
    });
    let explained = explained.collect();
    for doc in (0..retriever.ids().len() as u32).map(DocNum::new) {
        if !search.allows(doc) {
            assert_eq!(retriever.explain("q", doc, search).unwrap(), None);
        }
    }
    explained
}

fn search_with_ids(
    retriever: &dyn Retriever<Query = str>,
    search: &Search<'_>,
) -> Vec<(String, f32)> {
    with_ids(&retriever.search("q", search).unwrap(), retriever.ids())
}

fn with_ids(ranking: &Ranking, ids: &DocIds) -> Vec<(String, f32)> {
    let hits = ranking.iter();
    hits.map(|hit| (ids.id(hit.doc).to_owned(), hit.score))
        .collect()
}

/// Ids of all hits.
fn found_ids(retriever: &dyn Retriever<Query = str>) -> String {
    let found = search_with_ids(retriever, &Search::top(9)).into_iter();
    found.map(|(id, _)| id).collect()
}

/// Weighted sums of all documents, in the document numbers of the hybrid.
fn weighted_sums(
    parts: &[(ConstantScores, f32)],
    ids: &DocIds,
    allowed: &dyn DocFilter,
) -> Vec<(String, f32)> {
    let best: Vec<BTreeMap<String, f32>> = parts.iter().map(|(part, _)| part.best()).collect();
    let mut all = TopK::new(usize::MAX);
    for (doc, id) in (0..).map(DocNum::new).zip(ids.iter()) {
        if allowed.contains(doc) && best.iter().any(|scores| scores.contains_key(id)) {
            let scores = best.iter().map(|scores| scores.get(id).copied());
            let weights = parts.iter().map(|(_, weight)| f64::from(*weight));
            let sums = scores
                .zip(weights)
                .map(|(s, w)| w * f64::from(s.unwrap_or_default()));
            all.push(doc, sums.sum::<f64>() as f32);
        }
    }
    with_ids(&all.finish().unwrap(), ids)
}

/// Exhaustive ranking of a retriever in the document numbers of the hybrid, each document at its
/// first rank.
fn exhaustive(retriever: &ConstantScores, ids: &DocIds) -> Vec<Hit> {
    let mut seen = BTreeSet::new();
    let all = retriever.search("q", &Search::top(usize::MAX)).unwrap();
    let hits = all.iter().map(|hit| (retriever.ids.id(hit.doc), hit.score));
    let first = hits.filter(|(id, _)| seen.insert(id.to_string()));
    first
        .map(|(id, score)| Hit::new(ids.get(id).unwrap(), score))
        .collect()
}

/// Records with repeated ids and many tied scores, some of them negative.
fn constant_scores(max: usize) -> impl Strategy<Value = ConstantScores> {
    let score = prop::option::weighted(0.8, (-4_i8..6).prop_map(|s| f32::from(s) / 4.0));
    prop::collection::vec((0_usize..max, score), 0..max).prop_map(|records| {
        let records = records
            .into_iter()
            .map(|(n, score)| (format!("d{n}"), score));
        ConstantScores::new(&records.collect::<Vec<_>>())
    })
}

proptest! {
    #[test]
    fn weighted_sum_equals_exhaustive_sum(
        parts in prop::collection::vec((constant_scores(700), prop::sample::select(vec![0.0, 0.3, 1.0, 7.0])), 1..4),
        k in prop::sample::select(vec![0, 1, 3, 20, 150, 2000]), modulus in 1_u32..40,
    ) {
        let hybrid = WeightedSum::new(parts.clone()).unwrap();
        let filter = |doc: DocNum| doc.get().is_multiple_of(modulus);
        let mut expected = weighted_sums(&parts, hybrid.ids(), &filter);
        expected.truncate(k);
        prop_assert_eq!(&search_with_ids(&hybrid, &Search::top(k).within(&filter)), &expected);
        // A filter that lists its members, some of which are not documents.
        let members = DocSet::select(hybrid.ids().len() + 50, filter);
        prop_assert_eq!(search_with_ids(&hybrid, &Search::top(k).within(&members)), expected);
        let mut expected = weighted_sums(&parts, hybrid.ids(), &|_: DocNum| true);
        expected.truncate(k);
        prop_assert_eq!(search_with_ids(&hybrid, &Search::top(k)), expected);
    }

    #[test]
    fn fused_equals_fusion_of_exhaustive_rankings(parts in prop::collection::vec(constant_scores(60), 1..4), depth in 0_usize..40, k in 0_usize..30) {
        for fusion in [Fusion::RRF, Fusion::COMB_SUM, Fusion::COMB_MNZ] {
            let fused = Fused::new(parts.clone(), fusion, depth).unwrap();
            let depth = depth.max(k);
            let cut = |part| Ranking::from_hits(
                exhaustive(part, fused.ids()).into_iter().take(depth).collect()
            ).unwrap();
            let lists: Vec<Ranking> = parts.iter().map(cut).collect();
            let expected = fuse_rankings(&lists, fusion).unwrap().top(k);
            prop_assert_eq!(fused.search("q", &Search::top(k)).unwrap(), expected);
        }
    }

    #[test]
    fn reranked_equals_scores_of_candidates(first in constant_scores(60), second in constant_scores(60), depth in 0_usize..40, k in 0_usize..30) {
        let reranked = Reranked::new(first.clone(), RetrieverScores::new(second.clone()).unwrap(), depth).unwrap();
        let ids = reranked.ids();
        let odd = |doc: DocNum| doc.get() % 2 == 1;
        let scores = second.best();
        let expected: Vec<Hit> = exhaustive(&first, ids).into_iter()
            .filter(|hit| odd(hit.doc))
            .take(depth.max(k))
            .filter_map(|hit| Some(Hit::new(hit.doc, *scores.get(ids.id(hit.doc))?)))
            .collect();
        let expected = Ranking::from_hits(expected).unwrap().top(k);
        prop_assert_eq!(reranked.search("q", &Search::top(k).within(&odd)).unwrap(), expected);
    }
}

proptest! {
    #[test]
    fn weighted_sums_are_explained(
        parts in prop::collection::vec((constant_scores(300), prop::sample::select(vec![0.0, 0.3, 1.0, 7.0])), 1..4),
        k in prop::sample::select(vec![0, 1, 3, 20, 2000]), modulus in 1_u32..40,
    ) {
        let hybrid = WeightedSum::new(parts.clone()).unwrap();
        let best: Vec<_> = parts.iter().map(|(part, _)| part.best()).collect();
        let filter = |doc: DocNum| doc.get().is_multiple_of(modulus);
        for (hit, tree) in explanations(&hybrid, &Search::top(k).within(&filter)) {
            let sum = tree.details.iter().fold(0.0, |sum, part| sum + part.value);
            prop_assert_eq!((sum as f32).to_bits(), hit.score.to_bits());
            // Weight and score of every part that has the document.
            let id = hybrid.ids().id(hit.doc);
            let factors: Vec<(f64, f64)> = tree.details.iter()
                .map(|part| (part.details[0].value, part.details[1].value))
                .collect();
            let expected: Vec<(f64, f64)> = best.iter().zip(&parts)
                .filter_map(|(best, (_, weight))| Some((f64::from(*weight), f64::from(*best.get(id)?))))
                .collect();
            prop_assert_eq!(factors, expected);
            for part in &tree.details {
                prop_assert_eq!(part.value, part.details[0].value * part.details[1].value);
                prop_assert_eq!(part.details[1].description.as_str(), "constant");
            }
        }
        // Documents beyond the first k, and those without a score.
        let one = Search::top(1);
        let all = hybrid.search("q", &Search::top(usize::MAX)).unwrap();
        for doc in (0..hybrid.ids().len() as u32).map(DocNum::new) {
            let score = all.iter().find(|hit| hit.doc == doc).map(|hit| hit.score);
            let tree = hybrid.explain("q", doc, &one).unwrap();
            prop_assert_eq!(tree.map(|tree| tree.score()), score);
        }
    }

    #[test]
    fn fusions_are_explained(
        parts in prop::collection::vec(constant_scores(60), 1..4), depth in 0_usize..40, k in 0_usize..30,
        modulus in 1_u32..4,
        normalization in prop::sample::select(vec![
            ScoreNormalization::None, ScoreNormalization::MinMax, ScoreNormalization::ZScore,
            ScoreNormalization::Sum, ScoreNormalization::Borda,
        ]),
    ) {
        use ScoreCombination::{Anz, Max, Med, Min, Mnz, Rrf, Sum};
        for combination in [Rrf { k: 60.0 }, Sum, Mnz, Anz, Max, Min, Med] {
            let fusion = Fusion { normalization, combination };
            let fused = Fused::new(parts.clone(), fusion, depth).unwrap();
            let filter = |doc: DocNum| doc.get().is_multiple_of(modulus);
            for (hit, tree) in explanations(&fused, &Search::top(k).within(&filter)) {
                let values: Vec<f64> = tree.details.iter().map(|list| list.value).collect();
                let sum: f64 = values.iter().sum();
                let count = values.len() as f64;
                let expected = match combination {
                    Rrf { .. } | Sum => sum,
                    Mnz => sum * count,
                    Anz => sum / count,
                    Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    Min => values.iter().copied().fold(f64::INFINITY, f64::min),
                    Med => {
                        let mut sorted = values.clone();
                        sorted.sort_by(f64::total_cmp);
                        let middle = sorted.len() / 2;
                        if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
                    }
                };
                prop_assert_eq!(expected as f32, hit.score);
                // The description contains the rank in the list; the score of the list follows.
                for list in &tree.details {
                    let Some((retriever, rank)) = list.description.split_once(", rank ") else {
                        prop_assert!(list.description.ends_with("not in the list: Borda points"));
                        continue;
                    };
                    let part = &parts[retriever.replace("retriever ", "").parse::<usize>().unwrap() - 1];
                    let rank: usize = rank.split_once(':').unwrap().0.parse().unwrap();
                    let allowed = exhaustive(part, fused.ids()).into_iter().filter(|hit| filter(hit.doc));
                    let part = Ranking::from_hits(allowed.take(depth.max(k)).collect()).unwrap();
                    prop_assert_eq!(part.hits()[rank - 1].doc, hit.doc);
                    prop_assert_eq!(list.details[0].value, f64::from(part.hits()[rank - 1].score));
                    if let Rrf { k } = combination {
                        prop_assert_eq!(list.value, 1.0 / (k + rank as f64));
                    }
                }
            }
        }
    }

    #[test]
    fn reranked_scores_are_explained(first in constant_scores(60), second in constant_scores(60), depth in 0_usize..40, k in 0_usize..30) {
        let reranked = Reranked::new(first.clone(), RetrieverScores::new(second.clone()).unwrap(), depth).unwrap();
        let odd = |doc: DocNum| doc.get() % 2 == 1;
        let candidates = exhaustive(&first, reranked.ids());
        for (hit, tree) in explanations(&reranked, &Search::top(k).within(&odd)) {
            prop_assert_eq!(tree.details[0].description.as_str(), "constant");
            prop_assert_eq!(tree.details[0].score(), hit.score);
            let rank = candidates.iter().filter(|hit| odd(hit.doc)).position(|other| other.doc == hit.doc).unwrap();
            let expected = format!("candidate {} of", rank + 1);
            prop_assert!(tree.details[1].description.contains(&expected), "{}", tree);
        }
    }
}

/// Retriever that does not explain its scores.
struct Unexplained(ConstantScores);

impl Retriever for Unexplained {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.0.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.0.search(query, search)
    }
}

#[test]
fn scores_without_explanation_are_leaves() {
    let scores = ConstantScores::new(&[("a", Some(0.25)), ("b", None)]);
    let all = Search::top(9);
    let unexplained = Unexplained(scores.clone());
    let leaf = unexplained.explain("q", DocNum::new(0), &all).unwrap();
    assert_eq!(leaf, None);
    let parts: [(Box<dyn Retriever<Query = str>>, f32); 2] =
        [(Box::new(unexplained), 2.0), (Box::new(scores), 1.0)];
    let hybrid = WeightedSum::new(parts).unwrap();
    let tree = hybrid.explain("q", DocNum::new(0), &all).unwrap().unwrap();
    assert_eq!(
        tree.to_string(),
        "0.75  sum, in double precision, of\n  \
         0.5  retriever 1: weight × score\n    2  weight\n    0.25  score (this retriever has no explanations)\n  \
         0.25  retriever 2: weight × score\n    1  weight\n    0.25  constant\n"
    );
    assert_eq!(hybrid.explain("q", DocNum::new(1), &all).unwrap(), None);
    let prior = DocumentPrior::new([("a", 0.5), ("b", 0.0), ("c", -1.0)]).unwrap();
    assert_eq!(explanations(&prior, &all).len(), 2);
    assert_eq!(prior.explain("q", DocNum::new(1), &all).unwrap(), None);
    assert_eq!(prior.explain("q", DocNum::new(9), &all).unwrap(), None);
}

#[test]
fn best_document_may_be_outside_the_first_lists() {
    // Two lists of 300 documents in opposite order, with one document in the middle of both.
    let retriever = |score: &dyn Fn(usize) -> f32| {
        let records = (0..300).map(|n| (format!("d{n:03}"), Some(score(n))));
        ConstantScores::new(&records.collect::<Vec<_>>())
    };
    let ascending = retriever(&|n| if n == 150 { 200.0 } else { n as f32 });
    let descending = retriever(&|n| if n == 150 { 200.0 } else { 300.0 - n as f32 });
    let hybrid = WeightedSum::new([(ascending, 1.0), (descending, 1.0)]).unwrap();
    let found = search_with_ids(&hybrid, &Search::top(1));
    assert_eq!(found, [("d150".to_owned(), 400.0)]);
}

#[test]
fn best_of_several_vectors_counts() {
    // An answer and two questions under one id: the best cosine counts, and BM25 once.
    let cosine = [("a", 0.2), ("a", 0.9), ("b", 0.8), ("a", -0.5)];
    let cosine = ConstantScores::new(&cosine.map(|(id, score)| (id, Some(score))));
    let bm25 = ConstantScores::new(&[("b", Some(3.0)), ("c", Some(1.0))]);
    let parts = [(cosine, 1.0), (bm25, 0.1)];
    let hybrid = WeightedSum::new(parts.clone()).unwrap();
    assert_eq!(found_ids(&hybrid), "bac");
    assert_eq!(hybrid.ids().len(), 3);
    for weight in [-0.1, f32::NAN, f32::INFINITY] {
        let error = WeightedSum::new([(parts[0].0.clone(), weight)]).unwrap_err();
        assert!(matches!(error, FusionError::Weight { retriever: 0, .. }));
    }
    let empty = WeightedSum::<ConstantScores>::new([]).unwrap();
    assert!(search_with_ids(&empty, &Search::top(3)).is_empty());
}

#[test]
fn priors() {
    let scores = [("a", 0.5), ("b", 0.0), ("c", 2.0), ("d", -1.0), ("e", 0.5)];
    let prior = DocumentPrior::new(scores).unwrap();
    let found = search_with_ids(&prior, &Search::top(9));
    let expected = [("c", 2.0), ("a", 0.5), ("e", 0.5), ("d", -1.0)];
    assert_eq!(found, expected.map(|(id, score)| (id.to_owned(), score)));
    let error = DocumentPrior::new([("a", f32::NAN)]).unwrap_err();
    let expected = "prior of document \"a\": expected a finite number, found NaN";
    assert_eq!(error.to_string(), expected);
    // In a weighted sum: with a weight of 0.1, b ranks above a.
    let scores = DocumentPrior::new([("a", 0.9), ("b", 0.8)]).unwrap();
    let clicks = DocumentPrior::new([("b", 2.0), ("z", 1.0)]).unwrap();
    let hybrid = WeightedSum::new([(scores, 1.0), (clicks, 0.1)]).unwrap();
    assert_eq!(found_ids(&hybrid), "baz");
}

/// Retriever with a matched text of every document but those with an id in `without`.
struct Words {
    documents: ConstantScores,
    without: &'static str,
    name: &'static str,
}

impl Words {
    fn new(ids: &'static str, without: &'static str, name: &'static str) -> Self {
        let records: Vec<_> = ids.split("").filter(|id| !id.is_empty()).collect();
        let records: Vec<_> = records.into_iter().map(|id| (id, Some(1.0))).collect();
        Self {
            documents: ConstantScores::new(&records),
            without,
            name,
        }
    }
}

impl Retriever for Words {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.documents.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.documents.search(query, search)
    }

    fn matched_text(&self, query: &str, doc: DocNum) -> Result<Option<MatchedText>, SearchError> {
        let id = self.ids().id(doc);
        let text = format!("{query} {id} {}", self.name);
        let has_text = !self.without.contains(id);
        let of_query = std::iter::once(0..query.len());
        Ok(has_text.then(|| MatchedText::new(text, of_query.collect())))
    }
}

/// Texts of all documents of a retriever, by id.
fn matched_texts(retriever: &dyn Retriever<Query = str>) -> Vec<String> {
    let ids = retriever.ids().iter().enumerate();
    ids.map(|(n, id)| {
        let matched = retriever
            .matched_text("tea", DocNum::new(n as u32))
            .unwrap();
        matched.map_or(format!("no {id}"), |it| it.text)
    })
    .collect()
}

#[test]
fn hybrids_and_priors_have_the_matched_texts_of_their_parts() {
    let parts = || {
        [
            Words::new("ab", "b", "first"),
            Words::new("cba", "c", "second"),
        ]
    };
    // The first part with a text of the document; "c" has none.
    let expected = ["tea a first", "tea b second", "no c"];
    let fused = Fused::new(parts(), Fusion::RRF, 10).unwrap();
    assert_eq!(matched_texts(&fused), expected);
    let sum = WeightedSum::new(parts().into_iter().zip([1.0, 0.5])).unwrap();
    assert_eq!(matched_texts(&sum), expected);
    // The words of a part with weight 0 do not count.
    let sum = WeightedSum::new(parts().into_iter().zip([0.0, 0.5])).unwrap();
    assert_eq!(
        matched_texts(&sum),
        ["tea a second", "tea b second", "no c"]
    );
    // Of two records with one id, the first with a text.
    let repeated = WeightedSum::new([(Words::new("aa", "", "only"), 1.0)]).unwrap();
    assert_eq!(matched_texts(&repeated), ["tea a only"]);

    let [first, _] = parts();
    let repositories = DocumentRepositories::new([Some("geo"), Some("geo")]);
    let priors = RepositoryPriors::new([("geo", 0.5)]).unwrap();
    let (priors, product) = (PriorEstimate::Fixed(priors), PriorCombination::Product);
    let prior = RepositoryPrior::new(first, repositories, priors, product, 1.0).unwrap();
    assert_eq!(matched_texts(&prior), ["tea a first", "no b"]);
}
