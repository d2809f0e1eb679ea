//! Feedback after a first search with synonyms, nearest words or the sequential dependence model.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use ir_bm25::feedback::{Feedback, FeedbackDocuments};
use ir_bm25::{
    Bm25, Index, IndexConfig, NearestWords, Searcher, SequentialDependence, StoredFields,
    SynonymExpansion, Synonyms, TermVectors,
};
use ir_core::{Document, EncodeError, Encoder, NoProgress, Retriever, Search, Side};
use ir_testkit::check_text;

const WEIGHTS: [f32; 3] = [0.7, 0.2, 0.1];

fn searcher(documents: &[Document]) -> Searcher {
    let config = IndexConfig::default()
        .with_store(StoredFields::Everything)
        .with_positions(true);
    let index = Index::build(documents, &config, &mut NoProgress).unwrap();
    index.searcher(Bm25::ANSERINI).unwrap()
}

fn feedback(searcher: &Searcher, model: &str) -> Feedback {
    let own = FeedbackDocuments::stored(searcher.clone()).unwrap();
    Feedback::new(searcher.clone(), own, model.parse().unwrap()).unwrap()
}

fn documents() -> Vec<Document> {
    let texts = [
        (
            "a",
            "black leaves, and tea in leaves of black cups with sugar",
        ),
        (
            "b",
            "black tea with lemon, a tea of the morning, warm and fresh",
        ),
        ("c", "myasthenia gravis, with ptosis"),
        ("d", "ptosis and lemon"),
        ("e", "sugar in cups"),
    ];
    let mut documents: Vec<Document> = texts
        .map(|(id, text)| Document::new(id).with_text(text))
        .into();
    let other = |n| Document::new(format!("z{n:02}")).with_text("something else entirely");
    documents.extend((0..60).map(other));
    documents
}

fn ids(retriever: &dyn Retriever<Query = str>, query: &str) -> Vec<String> {
    let ranking = retriever.search(query, &Search::top(10)).unwrap();
    let ids = ranking.iter().map(|hit| retriever.ids().id(hit.doc));
    ids.map(str::to_owned).collect()
}

fn synonyms(searcher: &Searcher) -> SynonymExpansion {
    let file = "MG => myasthenia gravis\ntea => leaves\n";
    let synonyms = Synonyms::read(file.as_bytes(), "synonyms.txt").unwrap();
    SynonymExpansion::new(searcher.clone(), &synonyms, 0.5).unwrap()
}

/// All words have the same vector.
struct Same;

impl Encoder for Same {
    fn dim(&self) -> usize {
        1
    }

    fn encode_into(&self, _: Side, _: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        out.fill(1.0);
        Ok(())
    }
}

fn nearest_words(searcher: &Searcher) -> NearestWords {
    let vectors = TermVectors::encoded(searcher, ["lemon", "ptosis"], &Same).unwrap();
    NearestWords::new(searcher.clone(), Arc::new(Same), vectors, 1, 0.5).unwrap()
}

fn dependence(searcher: &Searcher) -> SequentialDependence {
    SequentialDependence::new(searcher.clone(), WEIGHTS).unwrap()
}

#[test]
fn contract() {
    check_text(|documents| {
        let searcher = searcher(documents);
        feedback(&searcher, "rm3(docs=2)").with_synonyms(synonyms(&searcher))
    });
    check_text(|documents| {
        let searcher = searcher(documents);
        feedback(&searcher, "rm3(docs=2)").with_nearest_words(nearest_words(&searcher))
    });
    check_text(|documents| {
        let feedback = feedback(&searcher(documents), "rocchio(docs=2)");
        feedback.with_sequential_dependence(WEIGHTS).unwrap()
    });
}

#[test]
fn synonyms_are_terms_of_the_query() {
    let searcher = searcher(&documents());
    let plain = feedback(&searcher, "rm3(docs=1,terms=5)");
    assert!(ids(&plain, "MG").is_empty());
    let expanded = plain.with_synonyms(synonyms(&searcher));
    // The document of the synonym brings the word of another one.
    assert_eq!(ids(&expanded, "MG"), ["c", "d"]);
    // The weights of RM3 are those of the formula: query and feedback sum to 1 each.
    let terms = expanded.expand("MG").unwrap();
    let weight = |term: &str| {
        terms
            .iter()
            .find(|known| known.term == term)
            .unwrap()
            .weight
    };
    assert_eq!(terms[0].term, "mg");
    assert!((weight("mg") - 0.5 / 2.0).abs() < 1e-6, "{terms:?}");
    let sum: f32 = terms.iter().map(|term| term.weight).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{terms:?}");
    assert!(weight("ptosi") > 0.0);
}

#[test]
fn nearest_words_are_terms_of_the_query() {
    let searcher = searcher(&documents());
    let plain = feedback(&searcher, "rm3(docs=1,terms=5)");
    let expanded = plain.clone().with_nearest_words(nearest_words(&searcher));
    assert!(!ids(&plain, "morning").contains(&"c".to_owned()));
    let terms = expanded.expand("sugar").unwrap();
    assert_eq!([&*terms[0].term, &*terms[1].term], ["sugar", "lemon"]);
    assert!(ids(&expanded, "sugar").contains(&"d".to_owned()));
}

#[test]
fn feedback_documents_are_hits_of_the_dependence_model() {
    let searcher = searcher(&documents());
    let query = "black tea";
    // The phrase is in b alone; a has more of the words.
    assert_eq!(ids(&searcher, query)[0], "a");
    assert_eq!(ids(&dependence_of_phrases(&searcher), query)[0], "b");
    let plain = feedback(&searcher, "rm3(docs=1)");
    let after = plain.clone().with_sequential_dependence([0.1, 1.0, 0.0]);
    let after = after.unwrap();
    let has = |feedback: &Feedback, word: &str| {
        let terms = feedback.expand(query).unwrap();
        terms.iter().any(|term| term.term == word)
    };
    assert!(has(&plain, "sugar") && !has(&plain, "lemon"));
    assert!(has(&after, "lemon") && !has(&after, "sugar"));
}

fn dependence_of_phrases(searcher: &Searcher) -> SequentialDependence {
    SequentialDependence::new(searcher.clone(), [0.1, 1.0, 0.0]).unwrap()
}

#[test]
fn disabled_feedback_is_the_first_search() {
    let searcher = searcher(&documents());
    for model in ["rm3(weight=1)", "rocchio(beta=0)"] {
        let plain = feedback(&searcher, model);
        let of_synonyms = plain.clone().with_synonyms(synonyms(&searcher));
        let of_words = plain.clone().with_nearest_words(nearest_words(&searcher));
        let of_dependence = plain.with_sequential_dependence(WEIGHTS).unwrap();
        let (base, words) = (synonyms(&searcher), nearest_words(&searcher));
        let dependence = dependence(&searcher);
        let pairs: [(&dyn Retriever<Query = str>, &dyn Retriever<Query = str>); 3] = [
            (&of_synonyms, &base),
            (&of_words, &words),
            (&of_dependence, &dependence),
        ];
        for (found, expected) in pairs {
            for query in ["black tea", "MG", "sugar and lemon", "the", ""] {
                let search = Search::top(10);
                let ranking = found.search(query, &search).unwrap();
                assert_eq!(ranking, expected.search(query, &search).unwrap());
                for hit in &ranking {
                    let tree = found.explain(query, hit.doc, &search).unwrap();
                    assert_eq!(tree, expected.explain(query, hit.doc, &search).unwrap());
                }
            }
        }
    }
}

#[test]
fn weights_of_the_dependence_model_are_checked() {
    let feedback = feedback(&searcher(&documents()), "rm3");
    let error = feedback.with_sequential_dependence([0.0, 1.0, 1.0]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "weights of the sequential dependence model: expected a weight of words above 0, at most \
         1e9, found 0"
    );
}
