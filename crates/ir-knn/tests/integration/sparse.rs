//! Sparse index: rankings against an f64 oracle and the flat index, files, and the contract of
//! retrievers.

use std::fs;

use crate::cases::{
    ALL, check, check_every_cut, check_every_flip, flat_index, numbered, on_threads, random_vectors,
};
use ir_core::store::OpenIndexError;
use ir_core::{DocNum, Encoded, Encoder, Retriever, Search, SearchError, Side, SplitMix64};
use ir_knn::{
    CsrMatrix, EncodedSparse, EncodedSparseError, FlatIndex, MatrixError, SparseIndex,
    SparseVector, SparseVectorError, TfidfConfig, TfidfVectorizer, VectorError, VectorSimilarity,
};
use ir_testkit::{Contract, check_text, toy};

fn sparse(rows: &[Vec<f32>]) -> Vec<SparseVector> {
    rows.iter()
        .map(|row| SparseVector::from_dense(row).unwrap())
        .collect()
}

#[test]
fn thousands_of_searches_equal_the_oracle_and_the_flat_index()
-> Result<(), Box<dyn std::error::Error>> {
    let mut random = SplitMix64::new(3, 0);
    let folder = tempfile::tempdir()?;
    let mut cases = 0;
    let mut round = 0;
    while cases < 5_000 {
        let similarity = ALL[round % 3];
        // Mostly sparse distributions.
        let distribution = [4, 4, 4, 0, 2, 3, 5, 7][random.below(8)];
        let dim = 1 + random.below(if round % 4 == 0 { 300 } else { 60 });
        let count = random.below(if round % 5 == 0 { 500 } else { 120 });
        let rows = random_vectors(&mut random, distribution, count, dim);
        let batch = 1 + random.below(25);
        let mut queries = random_vectors(&mut random, distribution, batch, dim);
        if let Some(row) = rows.get(count / 2) {
            queries[0].clone_from(row);
        }
        let every = 1 + random.below(4);
        let filter = move |doc: DocNum| doc.index().is_multiple_of(every);
        let search = |n: usize| {
            let k = [0, 1, 3, 10, 10, count / 2, count + 3][n % 7];
            let search = Search::top(k);
            if n % 3 == 1 {
                search.within(&filter)
            } else {
                search
            }
        };
        let dense = FlatIndex::from_row_major(numbered(count), dim, rows.concat(), similarity)?;
        let index = SparseIndex::new(numbered(count), dim, sparse(&rows), similarity)?;
        let vectors = sparse(&queries);
        let pairs = || queries.iter().zip(&vectors).enumerate();
        let asked: Vec<_> = pairs().map(|(n, (_, v))| (v, search(n))).collect();
        let densely: Vec<_> = pairs().map(|(n, (q, _))| (&q[..], search(n))).collect();
        let together = index.search_batch(&asked)?;
        assert_eq!(dense.search_batch(&densely)?, together);
        assert_eq!(on_threads(3, || index.search_batch(&asked))?, together);
        for ((query, search), (vector, found)) in densely.iter().zip(vectors.iter().zip(&together))
        {
            assert_eq!(&index.search(vector, search)?, found);
            let allowed = |n: usize| search.allows(DocNum::new(n as u32));
            check(similarity, query, &rows, search.k(), &allowed, found);
            cases += 1;
        }
        if round % 20 == 0 {
            let path = folder.path().join("sparse.ir");
            index.save(&path)?;
            let opened = SparseIndex::open(&path)?;
            assert_eq!(opened.search_batch(&asked)?, together);
            assert_eq!(opened.ids(), index.ids());
        }
        round += 1;
    }
    Ok(())
}

#[test]
fn contract() {
    let folder = tempfile::tempdir().unwrap();
    for similarity in ALL {
        let nonzero = |count| -> Vec<SparseVector> {
            let mut vectors = toy::vectors(count, 6);
            vectors.iter_mut().for_each(|vector| vector[0] += 0.125);
            sparse(&vectors)
        };
        let index = SparseIndex::new(numbered(70), 6, nonzero(70), similarity).unwrap();
        let queries = nonzero(9);
        let long = SparseVector::new(vec![6], vec![1.0]).unwrap();
        let contract = Contract {
            valid_queries: queries.iter().collect(),
            invalid_queries: vec![&long],
        };
        contract.check(&index);
        let path = folder.path().join("sparse.ir");
        index.save(&path).unwrap();
        contract.check_equal(&index, &SparseIndex::open(&path).unwrap());
    }
    let empty = SparseIndex::new(numbered(0), 0, [], VectorSimilarity::Cosine).unwrap();
    assert!(empty.is_empty());
}

#[test]
fn text_contract() {
    check_text(|documents| {
        let ids = documents.iter().map(|document| &document.id).collect();
        let texts: Vec<&str> = documents
            .iter()
            .map(|document| &document.text[..])
            .collect();
        // A vocabulary cannot be fitted to no texts.
        let corpus = if texts.is_empty() {
            &["tea"]
        } else {
            &texts[..]
        };
        let tfidf = TfidfVectorizer::fit(corpus, &TfidfConfig::default()).unwrap();
        EncodedSparse::build(tfidf, ids, &texts, VectorSimilarity::InnerProduct).unwrap()
    });
}

#[test]
fn text_search_equals_dense_search() {
    let texts = [
        "ships seen by radar",
        "",
        "black tea with milk",
        "a cup of green tea",
        "tea tea tea",
    ];
    let tfidf = TfidfVectorizer::fit(&texts, &TfidfConfig::default()).unwrap();
    let rows = tfidf.encode(Side::Document, &texts).unwrap();
    let similarity = VectorSimilarity::InnerProduct;
    let index = FlatIndex::from_row_major(numbered(5), tfidf.dim(), rows, similarity).unwrap();
    let dense = Encoded::new(&tfidf, index);
    let sparse = EncodedSparse::build(&tfidf, numbered(5), &texts, similarity).unwrap();
    for query in ["green tea", "radar", "nothing known", ""] {
        for k in [1, 3, 9] {
            let search = Search::top(k);
            assert_eq!(
                sparse.search(query, &search).unwrap(),
                dense.search(query, &search).unwrap(),
                "{query}"
            );
        }
    }
    let rows = tfidf.transform(&texts);
    let same = SparseIndex::from_rows(numbered(5), &rows, similarity).unwrap();
    assert_eq!(same.nnz(), sparse.index().nnz());
    for n in 0..5 {
        assert_eq!(
            same.vector(DocNum::new(n)),
            sparse.index().vector(DocNum::new(n))
        );
    }
    // The vector of a text without known words is zero.
    let error =
        EncodedSparse::build(&tfidf, numbered(5), &texts, VectorSimilarity::Cosine).unwrap_err();
    assert!(matches!(
        error,
        EncodedSparseError::Vectors(VectorError::Zero { row: 1 })
    ));
    // The index of another encoder has another dimension.
    let other = SparseIndex::new(numbered(0), 3, [], similarity).unwrap();
    let error = EncodedSparse::new(&tfidf, other)
        .search("tea", &Search::top(1))
        .unwrap_err();
    assert!(matches!(error, SearchError::Dimensions { expected: 3, .. }));
}

#[test]
fn invalid_vectors_and_queries() {
    for dim in [(1 << 26) + 1, u32::MAX as usize, usize::MAX] {
        let error =
            SparseIndex::new(numbered(0), dim, [], VectorSimilarity::InnerProduct).unwrap_err();
        let expected = format!("expected at most 67108864 columns, found {dim}");
        assert_eq!(error.to_string(), expected);
    }

    let wrong = |columns: &[u32], values: &[f32]| {
        let error = SparseVector::new(columns.to_vec(), values.to_vec()).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        wrong(&[1], &[]),
        "expected one value per column, found 1 columns and 0 values"
    );
    assert_eq!(
        wrong(&[3, 3], &[1.0, 1.0]),
        "expected ascending columns, found 3 after 3"
    );
    assert_eq!(
        wrong(&[3, 7], &[1.0, f32::INFINITY]),
        "column 7: expected a finite number, found inf"
    );
    assert!(matches!(
        SparseVector::from_dense(&[f32::NAN]),
        Err(SparseVectorError::NotFinite { column: 0, .. })
    ));
    let vector =
        |columns: &[u32]| SparseVector::new(columns.to_vec(), vec![1.0; columns.len()]).unwrap();
    let zeros = SparseVector::new(vec![1, 2], vec![0.0, -0.0]).unwrap();
    assert_eq!(zeros, SparseVector::default());
    let build =
        |rows: Vec<SparseVector>, similarity| SparseIndex::new(numbered(2), 5, rows, similarity);
    let text = |rows, similarity| build(rows, similarity).unwrap_err().to_string();
    use VectorSimilarity::{Cosine, Euclidean, InnerProduct};
    assert_eq!(
        text(vec![vector(&[0]), vector(&[1, 5])], Euclidean),
        "row 1: expected 5 dimensions, found 6"
    );
    assert_eq!(
        text(vec![vector(&[0])], Euclidean),
        "expected a vector for each of 2 ids, found 1"
    );
    assert_eq!(
        text(vec![zeros.clone(), vector(&[1])], Cosine),
        "row 0: expected a nonzero vector for cosine similarity, found a zero vector"
    );
    let index = build(vec![vector(&[0]), vector(&[1])], Cosine).unwrap();
    assert!(matches!(
        index.search(&zeros, &Search::top(1)),
        Err(SearchError::ZeroVector)
    ));
    assert!(matches!(
        index.search(&vector(&[2, 9]), &Search::top(1)),
        Err(SearchError::Dimensions {
            expected: 5,
            found: 10
        })
    ));
    let huge = CsrMatrix::new(5, vec![0, 1, 2], vec![0, 3], vec![1.0, 1e39]).unwrap();
    assert_eq!(
        SparseIndex::from_rows(numbered(2), &huge, InnerProduct).unwrap_err(),
        VectorError::Matrix(MatrixError::NotFinite {
            row: 1,
            column: 3,
            found: f64::INFINITY
        })
    );
}

#[test]
fn save_open_and_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.ir");
    let rows = random_vectors(&mut SplitMix64::new(9, 0), 4, 30, 12);
    let index =
        SparseIndex::new(numbered(30), 12, sparse(&rows), VectorSimilarity::Cosine).unwrap();
    index.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    SparseIndex::open(&path).unwrap().save(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let opened = SparseIndex::open(&path).unwrap();
    assert_eq!(
        (opened.similarity(), opened.dim()),
        (VectorSimilarity::Cosine, 12)
    );
    check_every_flip(&path, SparseIndex::open);
    check_every_cut(&path, SparseIndex::open);
    let dense = flat_index(&rows, VectorSimilarity::Cosine);
    dense.save(&path).unwrap();
    assert!(matches!(
        SparseIndex::open(&path),
        Err(OpenIndexError::NotAnIndex {
            name: "a sparse index",
            ..
        })
    ));
}
