//! Repository priors beside combining every document.

use proptest::prelude::*;

use super::*;
use crate::qrels::Qrels;
use crate::tests::ConstantScores;

/// A hit for each score, but for every fifth record.
fn numbered(scores: impl IntoIterator<Item = f32>) -> ConstantScores {
    let scores = (0_u32..).zip(scores);
    let records = scores.map(|(n, score)| (n.to_string(), (!n.is_multiple_of(5)).then_some(score)));
    ConstantScores::new(&records.collect::<Vec<_>>())
}

fn rounded(p: Option<f64>) -> f64 {
    (p.unwrap() * 1e7).round() / 1e7
}

/// The example of the plugin's documentation: 50 feedback documents, 23 repositories.
#[test]
fn worked_example_of_prior_2() {
    let names = [("five", 5), ("seven", 7), ("many", 38), ("unseen", 10)];
    let names = names.map(|(name, count)| vec![Some(name); count]).concat();
    let repositories = DocumentRepositories::new(names);
    let hits = (0..50).map(|n| Hit::new(DocNum::new(n), 100.0 - n as f32));
    let hits = Ranking::from_hits(hits.collect()).unwrap();
    let priors = RepositoryPriors::from_ranking(&hits, &repositories, 23, 1.0).unwrap();
    assert_eq!(rounded(priors.get("five")), 0.0821918);
    assert_eq!(rounded(priors.get("seven")), 0.1095890);
    assert_eq!(rounded(priors.unseen()), 0.0136986);
    assert_eq!(priors.iter().len(), 3);
}

#[test]
fn worked_example_of_prior_1() {
    let mut qrels = Qrels::new();
    for (query, doc, grade) in [
        ("EA1", "g1", 2),
        ("EA1", "g2", 1),
        ("EA1", "p1", 0),
        ("EA2", "g1", 1),
        ("EA2", "a1", 2),
        ("EA2", "x", 1),
    ] {
        qrels.insert(query, doc, grade);
    }
    let repository = |doc: &str| match &doc[..1] {
        "g" => Some("geo"),
        "p" => Some("pdb"),
        "a" => Some("arrayexpress"),
        _ => None,
    };
    // (c(S) + 1) / (4 + 20): three of geo, one of arrayexpress.
    let priors = RepositoryPriors::from_qrels(&qrels, repository, 20, 1.0).unwrap();
    assert_eq!(priors.get("geo"), Some(4.0 / 24.0));
    assert_eq!(priors.get("arrayexpress"), Some(2.0 / 24.0));
    assert_eq!(priors.get("pdb"), None);
    assert_eq!(priors.unseen(), Some(1.0 / 24.0));
    // All repositories together.
    let sum: f64 = priors.iter().map(|(_, p)| p).sum();
    assert!((sum + 18.0 / 24.0 - 1.0).abs() < 1e-12);
}

#[test]
fn invalid_priors() {
    let scores = || numbered([1.0, 2.0]);
    let repositories = || DocumentRepositories::new(["geo", "pdb"].map(Some));
    let priors =
        |list: &[(&str, f64)]| RepositoryPriors::new(list.iter().map(|&(name, p)| (name, p)));
    let new = |repositories, estimate, weight| {
        let combination = PriorCombination::LogSum;
        let prior = RepositoryPrior::new(scores(), repositories, estimate, combination, weight);
        prior.err().unwrap().to_string()
    };
    let geo = || PriorEstimate::Fixed(priors(&[("geo", 0.5)]).unwrap());
    let none = "expected a prior for every repository, found none for";
    let unknown = || DocumentRepositories::new([Some("geo"), None]);
    let few = DocumentRepositories::new([Some("geo")]);
    assert_eq!(new(repositories(), geo(), 1.0), format!("{none} \"pdb\""));
    assert_eq!(new(unknown(), geo(), 1.0), format!("{none} \"\""));
    let expected = "expected the repository of each of 2 documents, found 1";
    assert_eq!(new(few, geo(), 1.0), expected);
    let expected = "weight of the prior: expected a finite number >= 0, found -1";
    assert_eq!(new(repositories(), geo(), -1.0), expected);
    let feedback = |docs, epsilon| PriorEstimate::Feedback {
        docs,
        epsilon,
        repositories: 20,
    };
    assert!(new(repositories(), feedback(0, 1.0), 1.0).contains("expected at least 1"));
    assert!(new(repositories(), feedback(1, 0.0), 1.0).contains("found 0"));
    for prior in [0.0, -0.5, 1.5, f64::NAN] {
        assert!(priors(&[("geo", prior)]).is_err());
    }
    // Covered by the prior of all others.
    let others = priors(&[("geo", 0.5)]).unwrap().with_unseen(1e-6).unwrap();
    let fixed = PriorEstimate::Fixed(others);
    let combination = PriorCombination::LogSum;
    assert!(RepositoryPrior::new(scores(), unknown(), fixed, combination, 1.0).is_ok());
}

proptest! {
    #[test]
    fn equal_to_combining_every_document(
        scores in prop::collection::vec((-8_i8..8, 0_usize..4), 0..400),
        priors in prop::collection::vec(0.01_f64..1.0, 4),
        weight in prop::sample::select(vec![0.0, 0.3, 1.0, 20.0]),
        k in 0_usize..30,
        kind in 0_usize..4,
    ) {
        let names = ["a", "b", "c", "d"];
        let product = kind % 2 == 1;
        let base = numbered(scores.iter().map(|&(score, _)| f32::from(score)));
        let repositories = || DocumentRepositories::new(scores.iter().map(|s| Some(names[s.1])));
        let odd = |doc: DocNum| doc.get() % 2 == 1;
        let search = Search::top(k).within(&odd);
        let fixed = RepositoryPriors::new(names.into_iter().zip(priors)).unwrap();
        let (estimate, used) = if kind < 2 {
            (PriorEstimate::Fixed(fixed.clone()), fixed)
        } else {
            let first = base.search("", &Search::top(7)).unwrap();
            let used = RepositoryPriors::from_ranking(&first, &repositories(), 9, 0.5).unwrap();
            (PriorEstimate::Feedback { docs: 7, epsilon: 0.5, repositories: 9 }, used)
        };
        let combination = if product { PriorCombination::Product } else { PriorCombination::LogSum };
        let prior = RepositoryPrior::new(base.clone(), repositories(), estimate, combination, weight);
        let prior = prior.unwrap();
        let found = prior.search("", &search);
        let every = base.search("", &search.with_k(usize::MAX)).unwrap();
        let mut expected = Vec::new();
        for hit in &every {
            let p = used.get(names[scores[hit.doc.index()].1]).or(used.unseen()).unwrap();
            let score = match combination {
                PriorCombination::LogSum => f64::from(hit.score) + weight * p.ln(),
                PriorCombination::Product => f64::from(hit.score) * p.powf(weight),
            };
            let tree = prior.explain("", hit.doc, &search).unwrap().unwrap();
            prop_assert_eq!(tree.score() + 0.0, score as f32 + 0.0);
            expected.push(Hit::new(hit.doc, score as f32 + 0.0));
        }
        let expected = Ranking::from_hits(expected).unwrap().top(k);
        // A product with a negative score is an error, wherever the negative score is in the list.
        let negative = expected.iter().find(|hit| hit.score < 0.0);
        if let Some(negative) = negative.filter(|_| product && weight > 0.0) {
            let base = every.iter().find(|hit| hit.doc == negative.doc).unwrap();
            let SearchError::Engine { source, .. } = found.unwrap_err() else { panic!("engine") };
            let expected = FusionError::NegativeScore { doc: negative.doc.get().to_string(), score: base.score };
            prop_assert_eq!(source.to_string(), expected.to_string());
            return Ok(());
        }
        let found = found.unwrap();
        prop_assert_eq!(&found, &expected);
        if weight == 0.0 {
            prop_assert_eq!(found, base.search("", &search).unwrap());
        }
    }
}
