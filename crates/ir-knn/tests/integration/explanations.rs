//! Explanations of vector scores: equal to the scores and adding up, bit for bit.

use crate::cases::{ALL, flat_index, random_vectors};
use ir_core::fusion::{Fused, Fusion, Reranked, RetrieverScores, WeightedSum};
use ir_core::{DocIds, DocNum, Encoded, Encoder, Explanation, Retriever, Search, Side, SplitMix64};
use ir_knn::{
    EncodedSparse, FlatIndex, Lsi, LsiConfig, SparseIndex, SparseVector, TfidfConfig,
    TfidfVectorizer, TrainingQuery, TrainingQueryKnn, TrainingQueryKnnConfig, TruncatedSvdConfig,
    VectorSimilarity,
};
use ndarray::Array2;

/// Sum of the details in their order.
fn sum(tree: &Explanation) -> f64 {
    tree.details.iter().fold(0.0, |sum, part| sum + part.value)
}

/// Checks that the score follows from the nodes below it by the formula of the similarity.
fn check(similarity: VectorSimilarity, tree: &Explanation, score: f32) {
    assert_eq!(tree.score().to_bits(), score.to_bits(), "{tree}");
    match similarity {
        VectorSimilarity::Cosine => {
            let [product, query, document] = &tree.details[..] else {
                panic!("expected product and norms, found {tree}")
            };
            assert_eq!(sum(product), product.value, "{tree}");
            let cosine = product.value / (query.value * document.value);
            assert_eq!(cosine as f32 + 0.0, score, "{tree}");
        }
        _ => assert_eq!(sum(tree) as f32, score, "{tree}"),
    }
}

#[test]
fn explanations_of_vectors_add_up() {
    let mut random = SplitMix64::new(5, 0);
    let mut explained = 0;
    for round in 0..400 {
        let similarity = ALL[round % 3];
        let dim = 1 + random.below(if round % 10 == 0 { 400 } else { 40 });
        let kind = random.below(8);
        let rows = random_vectors(&mut random, kind, 12, dim);
        let query = &random_vectors(&mut random, kind, 1, dim)[0];
        let index = flat_index(&rows, similarity);
        let odd = |doc: DocNum| doc.get() % 2 == 1;
        let search = Search::top(5).within(&odd);
        let sparse = |row: &Vec<f32>| SparseVector::from_dense(row).unwrap();
        let ids = index.ids().clone();
        let sparse_index = SparseIndex::new(ids, dim, rows.iter().map(sparse), similarity).unwrap();
        for hit in &index.search(query, &search).unwrap() {
            let tree = index.explain(query, hit.doc, &search).unwrap().unwrap();
            check(similarity, &tree, hit.score);
            let same = sparse_index
                .explain(&sparse(query), hit.doc, &search)
                .unwrap();
            assert_eq!(same.unwrap(), tree, "{similarity}");
            explained += 1;
        }
        for doc in [0, 2, 12, 99].map(DocNum::new) {
            assert_eq!(index.explain(query, doc, &search).unwrap(), None);
            let none = sparse_index.explain(&sparse(query), doc, &search).unwrap();
            assert_eq!(none, None);
        }
    }
    assert_eq!(explained, 400 * 5);
}

/// A sum of large components that cancel has its last bits in the remainder.
#[test]
fn cancellation() {
    let row: Vec<f32> = (0..60)
        .map(|n| if n % 2 == 0 { 1e18 } else { -1e18 } * (1.0 + n as f32 / 64.0))
        .chain([1.5e-9, 2e-3, 7.0])
        .collect();
    let query = vec![1.0_f32; row.len()];
    let ids: DocIds = ["a"].into_iter().collect();
    for similarity in ALL {
        let vectors = Array2::from_shape_vec((1, row.len()), row.clone()).unwrap();
        let index = FlatIndex::new(ids.clone(), vectors, similarity).unwrap();
        let search = Search::top(1);
        let hit = index.search(&query, &search).unwrap().hits()[0];
        let tree = index.explain(&query, hit.doc, &search).unwrap().unwrap();
        check(similarity, &tree, hit.score);
    }
}

#[test]
fn the_largest_components_are_listed() {
    let row: Vec<f32> = (0..14).map(|n| n as f32).collect();
    let index = flat_index(&[row], VectorSimilarity::InnerProduct);
    let query = [0.5; 14];
    let tree = index.explain(&query, DocNum::new(0), &Search::top(1));
    let tree = tree.unwrap().unwrap().to_string();
    assert_eq!(
        tree.lines().take(3).collect::<Vec<_>>(),
        [
            "45.5  inner product, in double precision, of the components",
            "  6.5  component 13: 0.5 × 13",
            "  6  component 12: 0.5 × 12",
        ]
    );
    assert!(tree.ends_with("  3  3 other components\n"), "{tree}");
    assert_eq!(tree.lines().count(), 12);
}

const TEXTS: [&str; 5] = [
    "green tea is steeped for two minutes",
    "black tea is steeped for four minutes",
    "bread rises twice before it is baked",
    "ships are detected at night by radar",
    "radar images of the sea at night",
];

/// TF-IDF and LSI, alone and in hybrids with kNN over training queries.
#[test]
fn explanations_of_texts_add_up() {
    let ids = || -> DocIds { (0..TEXTS.len()).map(|n| format!("d{n}")).collect() };
    let search = Search::top(4);
    let query = "radar images of tea ships at night";
    let tfidf = TfidfVectorizer::fit(&TEXTS, &TfidfConfig::default()).unwrap();
    let similarity = VectorSimilarity::InnerProduct;
    let sparse = EncodedSparse::build(tfidf, ids(), &TEXTS, similarity).unwrap();
    let best = sparse.search(query, &search).unwrap().hits()[0];
    let tree = sparse.explain(query, best.doc, &search).unwrap().unwrap();
    check(similarity, &tree, best.score);
    assert!(
        tree.details[0].description.starts_with("images: 0."),
        "{tree}"
    );

    let svd = TruncatedSvdConfig::new(3);
    let lsi = Lsi::fit(&TEXTS, &LsiConfig::default().with_svd(svd)).unwrap();
    let vectors = lsi.encode(Side::Document, &TEXTS).unwrap();
    let vectors = Array2::from_shape_vec((TEXTS.len(), 3), vectors).unwrap();
    let index = FlatIndex::new(ids(), vectors, VectorSimilarity::Cosine).unwrap();
    let lsi = Encoded::new(lsi, index);
    for hit in &lsi.search(query, &search).unwrap() {
        let tree = lsi.explain(query, hit.doc, &search).unwrap().unwrap();
        check(VectorSimilarity::Cosine, &tree, hit.score);
    }

    let training = vec![
        TrainingQuery::new("p1", "ships in radar images", ["d3", "d4"]),
        TrainingQuery::new("p2", "how long tea is boiled", ["d0", "d1"]),
    ];
    let config = TrainingQueryKnnConfig::default();
    let knn = TrainingQueryKnn::tfidf(ids(), training, &TfidfConfig::default(), &config).unwrap();
    let parts: [(Box<dyn Retriever<Query = str>>, f32); 3] = [
        (Box::new(sparse), 0.3),
        (Box::new(lsi), 1.0),
        (Box::new(knn), 0.7),
    ];
    let weighted = WeightedSum::new(parts).unwrap();
    for hit in &weighted.search(query, &search).unwrap() {
        let tree = weighted.explain(query, hit.doc, &search).unwrap().unwrap();
        assert_eq!((sum(&tree) as f32).to_bits(), hit.score.to_bits());
        assert_eq!(tree.score().to_bits(), hit.score.to_bits());
        assert!(!tree.to_string().contains("not explained"), "{tree}");
    }
    let fused = Fused::new([&weighted, &weighted], Fusion::RRF, 5).unwrap();
    let reranked = Reranked::new(&fused, RetrieverScores::new(&weighted).unwrap(), 3).unwrap();
    for hit in &reranked.search(query, &search).unwrap() {
        let tree = reranked.explain(query, hit.doc, &search).unwrap().unwrap();
        assert_eq!(tree.score().to_bits(), hit.score.to_bits());
        assert_eq!(tree.details[0].score().to_bits(), hit.score.to_bits());
        let text = tree.to_string();
        assert!(!text.contains("not explained"), "{text}");
        for part in [
            "images: ",
            "norm of the query",
            "p1, similarity",
            "1 / (k + rank)",
        ] {
            assert!(text.contains(part) || hit.doc.get() != 4, "{part}: {text}");
        }
    }
}
