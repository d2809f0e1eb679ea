use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::adapters::Renumbered;
use crate::fusion::RetrieverScores;
use crate::tests::ConstantScores;
use crate::time_limited::TimeLimited;

/// Fault of the scores of [`Lengths`].
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Nan,
    MissingScore,
    MissingQuery,
}

/// Scores candidates by the lengths of their texts, removes empty texts, and records the number of
/// queries of each call.
#[derive(Debug)]
struct Lengths {
    fault: Fault,
    calls: Mutex<Vec<usize>>,
}

impl Lengths {
    fn new(fault: Fault) -> Self {
        Self {
            fault,
            calls: Mutex::default(),
        }
    }
}

impl Reranker for Lengths {
    type Query = str;

    fn scores(
        &self,
        _: &str,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        let length = |it: &Candidate<'_>| (!it.text.is_empty()).then_some(it.text.len() as f32);
        let mut scores: Vec<Option<f32>> = candidates.iter().map(length).collect();
        match self.fault {
            Fault::Nan => scores[1] = Some(f32::NAN),
            Fault::MissingScore => drop(scores.pop()),
            Fault::None | Fault::MissingQuery => {}
        }
        Ok(scores)
    }

    fn scores_batch(
        &self,
        queries: &[(&str, &[Candidate<'_>])],
    ) -> Result<Vec<Vec<Option<f32>>>, SearchError> {
        self.calls.lock().unwrap().push(queries.len());
        let scored = queries.iter().map(|(query, them)| self.scores(query, them));
        let mut scores = scored.collect::<Result<Vec<_>, _>>()?;
        if self.fault == Fault::MissingQuery {
            scores.pop();
        }
        Ok(scores)
    }
}

fn first() -> ConstantScores {
    ConstantScores::new(&[
        ("a", Some(4.0)),
        ("b", Some(3.0)),
        ("c", Some(2.0)),
        ("d", Some(1.0)),
    ])
}

fn texts(texts: &[(&str, &str)]) -> Arc<BTreeMap<String, String>> {
    let texts = texts.iter();
    Arc::new(
        texts
            .map(|(id, text)| ((*id).to_owned(), (*text).to_owned()))
            .collect(),
    )
}

fn all_texts() -> Arc<BTreeMap<String, String>> {
    texts(&[("a", "x"), ("b", "xxx"), ("c", ""), ("d", "xx")])
}

fn found(reranked: &dyn Retriever<Query = str>, search: &Search<'_>) -> String {
    let ranking = reranked.search("q", search).unwrap();
    let ids = ranking.iter().map(|hit| reranked.ids().id(hit.doc));
    ids.collect()
}

#[test]
fn candidates_are_ranked_by_their_texts() {
    let of_depth = |depth| {
        Reranked::with_texts(first(), Lengths::new(Fault::None), all_texts(), depth).unwrap()
    };
    assert_eq!(found(&of_depth(2), &Search::top(1)), "b");
    assert_eq!(found(&of_depth(2), &Search::top(2)), "ba");
    // More hits than candidates are asked for: the candidates are the first k.
    assert_eq!(found(&of_depth(2), &Search::top(4)), "bda");
    assert_eq!(found(&of_depth(0), &Search::top(1)), "a");
    // The filter holds in the first stage.
    let last = |doc: DocNum| doc.get() > 1;
    assert_eq!(found(&of_depth(2), &Search::top(1).within(&last)), "d");
    let reranked = of_depth(3);
    let explain = |n| {
        let search = Search::top(1);
        reranked.explain("q", DocNum::new(n), &search).unwrap()
    };
    let tree = explain(1).unwrap().to_string();
    let expected = "3  score of the reranker\n\
                    \x20 3  score (this reranker has no explanations)\n\
                    \x20 3  not part of the score: candidate 2 of 3 by the first retriever, with \
                    the score\n    3  constant\n";
    assert_eq!(tree, expected);
    // The reranker removes the candidate; not a candidate.
    assert_eq!((explain(2), explain(3)), (None, None));
}

/// Documents and scores of a search that keeps the hits after the candidates.
fn found_with_rest(
    reranked: &Reranked<ConstantScores, Lengths>,
    search: &Search<'_>,
) -> Vec<(String, f32)> {
    let found = reranked.search_with_rest("q", search).unwrap();
    let hits = found.hits().iter();
    hits.map(|hit| (reranked.ids().id(hit.doc).to_owned(), hit.score))
        .collect()
}

#[test]
fn hits_after_the_candidates_keep_their_order() {
    let of_depth = |depth| {
        Reranked::with_texts(first(), Lengths::new(Fault::None), all_texts(), depth).unwrap()
    };
    let hits = |hits: &[(&str, f32)]| -> Vec<(String, f32)> {
        let hits = hits.iter();
        hits.map(|(id, score)| ((*id).to_owned(), *score)).collect()
    };
    for (depth, expected) in [
        (0, hits(&[("a", 4.0), ("b", 3.0), ("c", 2.0), ("d", 1.0)])),
        (1, hits(&[("a", 1.0), ("b", 3.0), ("c", 2.0), ("d", 1.0)])),
        (2, hits(&[("b", 3.0), ("a", 1.0), ("c", 2.0), ("d", 1.0)])),
        // The reranker removes "c".
        (3, hits(&[("b", 3.0), ("a", 1.0), ("d", 1.0)])),
        (9, hits(&[("b", 3.0), ("d", 2.0), ("a", 1.0)])),
    ] {
        let reranked = of_depth(depth);
        for k in 0..6 {
            let found = found_with_rest(&reranked, &Search::top(k));
            assert_eq!(found, expected[..k.min(expected.len())], "{depth}, {k}");
        }
    }
    // The filter holds in the first stage.
    let others = |doc: DocNum| doc.get() != 0;
    let found = found_with_rest(&of_depth(1), &Search::top(2).within(&others));
    assert_eq!(found, hits(&[("b", 3.0), ("c", 2.0)]));
    // A candidate without a text is an error; a later hit needs none.
    let few = texts(&[("a", "x"), ("b", "xx")]);
    for (depth, is_found) in [(2, true), (3, false)] {
        let reranker = Lengths::new(Fault::None);
        let reranked = Reranked::with_texts(first(), reranker, few.clone(), depth).unwrap();
        let found = reranked.search_with_rest("q", &Search::top(4));
        assert_eq!(found.is_ok(), is_found, "{depth}");
    }
    let reranked = Reranked::with_texts(first(), Lengths::new(Fault::Nan), all_texts(), 2).unwrap();
    let error = reranked.search_with_rest("q", &Search::top(1)).unwrap_err();
    let expected = "document \"b\": expected a score of the reranker, found NaN";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn explanations_are_of_the_ranking() {
    let reranked =
        Reranked::with_texts(first(), Lengths::new(Fault::None), all_texts(), 2).unwrap();
    let found = reranked.search_with_rest("q", &Search::top(3)).unwrap();
    assert_eq!((found.hits().len(), found.reranked()), (3, 2));
    reranked.reranker.calls.lock().unwrap().clear();
    let explain = |n: usize, with_details: bool| {
        let only = |doc: DocNum| doc == found.hits()[n].doc;
        let alone = Search::top(1).within(&only);
        let tree = reranked.explain_hit("q", &found, n, with_details, &alone);
        let tree = tree.unwrap().unwrap();
        assert_eq!(tree.score().to_bits(), found.hits()[n].score.to_bits());
        tree.to_string()
    };
    let expected = "1  score of the reranker\n\
                    \x20 1  score (this reranker has no explanations)\n\
                    \x20 4  not part of the score: candidate 1 of 2 by the first retriever, with \
                    the score\n    4  constant\n";
    assert_eq!(explain(1, true), expected);
    let without = expected.replace("(this reranker has no explanations)", "(without details)");
    assert_eq!(explain(1, false), without);
    let text = explain(0, false);
    assert!(text.contains("candidate 2 of 2 by"), "{text}");
    let expected = "2  score of the first retriever: after its 2 candidates for the reranker\n\
                    \x20 2  constant\n";
    assert_eq!(explain(2, true), expected);
    let none = reranked.explain_hit("q", &found, 3, true, &Search::top(1));
    assert_eq!(none.unwrap(), None);
    // Nothing is scored again.
    assert!(reranked.reranker.calls.lock().unwrap().is_empty());
}

#[test]
fn texts_are_scored_in_blocks() {
    let mut reranked =
        Reranked::with_texts(first(), Lengths::new(Fault::None), all_texts(), 4).unwrap();
    let batch = [("q", Search::top(4)); 5];
    let expected = reranked.search_batch(&batch).unwrap();
    // 6 bytes per query.
    for bytes in [0, 6, 11, 100] {
        reranked.block_bytes = bytes;
        assert_eq!(reranked.search_batch(&batch).unwrap(), expected);
    }
    let calls = reranked.reranker.calls.lock().unwrap();
    assert_eq!(*calls, [5, 1, 1, 1, 1, 1, 2, 2, 1, 2, 2, 1, 5]);
}

#[test]
fn missing_texts_are_an_error_before_scores() {
    let few = texts(&[("a", "x"), ("b", "xx"), ("d", "x")]);
    let mut reranked = Reranked::with_texts(first(), Lengths::new(Fault::None), few, 2).unwrap();
    reranked.block_bytes = 0;
    assert_eq!(found(&reranked, &Search::top(1)), "b");
    reranked.reranker.calls.lock().unwrap().clear();
    // The candidates of the second query include "c".
    let error = reranked.search_batch(&[("q", Search::top(1)), ("q", Search::top(3))]);
    let message = error.unwrap_err().to_string();
    let expected = "document \"c\": expected a text to rerank, found no such document in the texts";
    assert_eq!(message, expected);
    assert!(reranked.reranker.calls.lock().unwrap().is_empty());
    let search = Search::top(3);
    let error = reranked.explain("q", DocNum::new(0), &search).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_reranker_of_texts_needs_texts() {
    let error = Reranked::new(first(), Lengths::new(Fault::None), 2).unwrap_err();
    assert_eq!(error, FusionError::RerankerTexts);
    // A reranker that reads none ignores them.
    let scores = RetrieverScores::new(first()).unwrap();
    let reranked = Reranked::with_texts(first(), scores, texts(&[]), 2).unwrap();
    assert_eq!(found(&reranked, &Search::top(2)), "ab");
}

/// Scores every candidate 1 without its text, and explains the score with the text.
struct Shown;

impl Reranker for Shown {
    type Query = str;

    fn needs_texts(&self) -> bool {
        false
    }

    fn scores(
        &self,
        _: &str,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        assert!(candidates.iter().all(|it| it.text.is_empty()));
        Ok(vec![Some(1.0); candidates.len()])
    }

    fn explain(
        &self,
        _: &str,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        Ok(Some(Explanation::new(1.0_f32, candidates[n].text)))
    }

    fn matched_words(
        &self,
        _: &str,
        candidate: &Candidate<'_>,
    ) -> Result<Option<Vec<Range<usize>>>, SearchError> {
        let end = candidate.text.find(' ');
        Ok(end.map(|end| vec![0..end, end + 1..candidate.text.len()]))
    }
}

#[test]
fn matched_words_are_in_the_texts() {
    let all = texts(&[("b", "hot tea"), ("c", "tea"), ("d", "two cups")]);
    let limited = TimeLimited::new(Shown, Duration::ZERO);
    let reranked: Arc<dyn Retriever<Query = str>> =
        Arc::new(Reranked::with_texts(first(), limited, all, 2).unwrap());
    // "a" has no text, "c" no words, and "d" is no candidate.
    let expected = [
        None,
        Some(MatchedText::new("hot tea", vec![0..3, 4..7])),
        None,
        Some(MatchedText::new("two cups", vec![0..3, 4..8])),
    ];
    for (doc, expected) in (0..).zip(expected) {
        let matched = reranked.matched_text("q", DocNum::new(doc)).unwrap();
        assert_eq!(matched, expected, "{doc}");
    }
    // A document that the retriever lacks has none.
    let ids: DocIds = ["d", "x", "b"].into_iter().collect();
    let renumbered = Renumbered::new(reranked, ids);
    let matched = [0, 1, 2].map(|doc| {
        let matched = renumbered.matched_text("q", DocNum::new(doc)).unwrap();
        matched.map(|it| it.text)
    });
    let expected = [Some("two cups"), None, Some("hot tea")];
    assert_eq!(matched, expected.map(|text| text.map(str::to_owned)));
    let without_texts = Reranked::new(first(), Shown, 2).unwrap();
    assert_eq!(
        without_texts.matched_text("q", DocNum::new(1)).unwrap(),
        None
    );
}

#[test]
fn explanations_get_texts_that_scores_do_not_need() {
    let reranked = Reranked::with_texts(first(), Shown, texts(&[("b", "tea")]), 2).unwrap();
    assert_eq!(found(&reranked, &Search::top(2)), "ab");
    // "a" has no text.
    for (doc, expected) in [(0, ""), (1, "tea")] {
        let tree = reranked.explain("q", DocNum::new(doc), &Search::top(2));
        let tree = tree.unwrap().unwrap();
        assert_eq!(tree.details[0].description, expected);
    }
}

#[test]
fn invalid_scores_are_errors() {
    let cases = [
        (
            Fault::Nan,
            "document \"b\": expected a score of the reranker, found NaN",
        ),
        (Fault::MissingScore, "reranker: expected 3 scores, found 2"),
        (Fault::MissingQuery, "reranker: expected 1 scores, found 0"),
    ];
    for (fault, expected) in cases {
        let reranked = Reranked::with_texts(first(), Lengths::new(fault), all_texts(), 3).unwrap();
        let search = Search::top(1);
        let error = reranked.search("q", &search).unwrap_err();
        assert_eq!(error.to_string(), expected, "{fault:?}");
        let explained = reranked.explain("q", DocNum::new(0), &search);
        if fault != Fault::MissingQuery {
            assert_eq!(explained.unwrap_err().to_string(), expected, "{fault:?}");
        }
    }
}
