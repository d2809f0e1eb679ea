//! HNSW index: recall against the flat index, and the contract of retrievers.

use crate::cases::{self, ALL, flat_index, matrix, normal, on_threads, vector};
use ir_core::{
    DocNum, DocSet, Flow, NoProgress, Ranking, Retriever, Search, SearchError, SplitMix64,
};
use ir_knn::{
    EfSearch, FlatIndex, HnswConfig, HnswError, HnswIndex, HnswSearcher, VectorSimilarity,
};
use ir_testkit::{Contract, check_vectors, check_vectors_saved};

/// Thirty clusters in 48 dimensions.
fn clustered(seed: u64, count: usize) -> Vec<Vec<f32>> {
    cases::clustered(seed, count, 48)
}

fn build(rows: &[Vec<f32>], similarity: VectorSimilarity, config: &HnswConfig) -> HnswIndex {
    HnswIndex::build(flat_index(rows, similarity), config, &mut NoProgress).unwrap()
}

/// Recall of the exact top k.
fn recall(
    searcher: &HnswSearcher,
    queries: &[Vec<f32>],
    search: &Search<'_>,
) -> Result<f64, SearchError> {
    cases::recall(searcher.index().flat(), searcher, queries, search)
}

/// Recall to expect of M = 16 among thousands of vectors of low intrinsic dimension (figure 12 of
/// the paper): most neighbors with efSearch 20, nearly all with 100.
#[test]
fn recall_grows_with_ef_search() -> Result<(), Box<dyn std::error::Error>> {
    let rows = clustered(1, 6000);
    let queries = clustered(2, 100);
    for similarity in ALL {
        let index = build(&rows, similarity, &HnswConfig::default());
        for (ef_search, expected) in [(10, 0.75), (40, 0.95), (160, 0.99)] {
            let searcher = index.searcher(EfSearch(ef_search));
            let found = recall(&searcher, &queries, &Search::top(10))?;
            assert!(found >= expected, "{similarity}, {ef_search}: {found}");
        }
    }
    Ok(())
}

/// Vectors far from the origin and close together, whose cosines all exceed .99. Without
/// subtracting the centroid, 8-bit codes could not distinguish them.
#[test]
fn vectors_far_from_the_origin() -> Result<(), Box<dyn std::error::Error>> {
    let far = |mut rows: Vec<Vec<f32>>| {
        rows.iter_mut().flatten().for_each(|x| *x += 100.0);
        rows
    };
    let (rows, queries) = (far(clustered(1, 5000)), far(clustered(2, 50)));
    for similarity in [VectorSimilarity::Cosine, VectorSimilarity::Euclidean] {
        let index = build(&rows, similarity, &HnswConfig::default());
        let searcher = index.searcher(EfSearch(64));
        let found = recall(&searcher, &queries, &Search::top(10))?;
        assert!(found >= 0.95, "{similarity}: {found}");
    }
    Ok(())
}

/// Near-duplicates of sixty vectors, each with its own noise.
fn near_duplicates(seed: u64, count: usize, noise: f32) -> Vec<Vec<f32>> {
    let shared = &mut SplitMix64::new(1, 3);
    let originals: Vec<Vec<f32>> = (0..60).map(|_| vector(shared, 48)).collect();
    let random = &mut SplitMix64::new(seed, 4);
    let mut copy = |row: &Vec<f32>| row.iter().map(|x| x + noise * normal(random)).collect();
    (0..count).map(|n| copy(&originals[n % 60])).collect()
}

/// Fraction of hits that score at least as high as the exact tenth hit: equal scores count.
fn recall_by_score(searcher: &HnswSearcher, queries: &[Vec<f32>]) -> Result<f64, SearchError> {
    let (search, mut found) = (Search::top(10), 0);
    for query in queries {
        let exact = searcher.index().flat().search(query, &search)?;
        let least = exact.hits()[9].score;
        let ranking = searcher.search(query, &search)?;
        found += ranking.iter().filter(|hit| hit.score >= least).count();
    }
    Ok(found as f64 / (10 * queries.len()) as f64)
}

/// Vectors so close together that 8-bit codes misorder them. Bound: with 100 near-duplicates each
/// of 200 vectors, hnswlib 0.8.0 (M = 16, efConstruction = 200, ef = 64) reaches a recall of .9995
/// for noise of .03 and .952 for .003; 8-bit codes reach about .7.
#[test]
fn near_duplicates_are_found() -> Result<(), Box<dyn std::error::Error>> {
    for noise in [0.1, 0.03, 0.003] {
        let rows = near_duplicates(1, 4500, noise);
        let index = build(&rows, VectorSimilarity::Cosine, &HnswConfig::default());
        let found = recall_by_score(
            &index.searcher(EfSearch(64)),
            &near_duplicates(2, 60, noise),
        )?;
        assert!(found >= 0.98, "{noise}: {found}");
    }
    Ok(())
}

/// One outlier, as large as a corrupt vector may be, does not reduce the recall of the others.
#[test]
fn one_outlier() -> Result<(), Box<dyn std::error::Error>> {
    let queries = clustered(2, 50);
    for outlier in [1e6, 1e8, 1e15] {
        for similarity in [VectorSimilarity::Cosine, VectorSimilarity::Euclidean] {
            let mut rows = clustered(1, 4500);
            rows[17] = vec![outlier; 48];
            let index = build(&rows, similarity, &HnswConfig::default());
            let found = recall_by_score(&index.searcher(EfSearch(64)), &queries)?;
            assert!(found >= 0.98, "{similarity}, {outlier:e}: {found}");
        }
    }
    Ok(())
}

#[test]
fn graph_is_independent_of_the_number_of_threads() -> Result<(), Box<dyn std::error::Error>> {
    check_same_graph(&clustered(3, 3000))?;
    check_same_graph(&near_duplicates(3, 3000, 0.003))
}

fn check_same_graph(rows: &[Vec<f32>]) -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut files: Vec<Vec<u8>> = Vec::new();
    for threads in [1, 2, 8] {
        let config = HnswConfig::default().with_ef_construction(40);
        let path = folder.path().join(threads.to_string());
        let index = on_threads(threads, || {
            build(rows, VectorSimilarity::Euclidean, &config)
        });
        index.save(&path)?;
        files.push(std::fs::read(path)?);
    }
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
    // The graph depends on the seed.
    let config = HnswConfig::default().with_ef_construction(40).with_seed(1);
    let path = folder.path().join("other");
    build(rows, VectorSimilarity::Euclidean, &config).save(&path)?;
    assert_ne!(std::fs::read(path)?, files[0]);
    Ok(())
}

/// The number of linked vectors is reported at most a hundred times.
#[test]
fn building_reports_progress_and_is_canceled() {
    let flat = flat_index(&clustered(13, 3000), VectorSimilarity::Euclidean);
    let config = HnswConfig::default().with_m(4).with_ef_construction(10);
    let mut reports = Vec::new();
    let mut watch = |stage: &str, done: u64, total: Option<u64>| {
        assert_eq!((stage, total), ("linking vectors", Some(3000)));
        reports.push(done);
        Flow::Continue
    };
    HnswIndex::build(flat.clone(), &config, &mut watch).unwrap();
    assert!((20..=100).contains(&reports.len()), "{reports:?}");
    assert!(reports.is_sorted_by(|one, other| one < other));
    let mut stop = |_: &str, done: u64, _: Option<u64>| match done {
        ..500 => Flow::Continue,
        _ => Flow::Stop,
    };
    let canceled = HnswIndex::build(flat, &config, &mut stop).unwrap_err();
    assert_eq!(canceled, HnswError::Canceled);
}

#[test]
fn batches_equal_single_queries() -> Result<(), Box<dyn std::error::Error>> {
    let rows = clustered(4, 4000);
    let queries = clustered(5, 60);
    let index = build(&rows, VectorSimilarity::Cosine, &HnswConfig::default());
    let searcher = index.searcher(EfSearch(30));
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    let asked: Vec<(&[f32], Search<'_>)> = queries
        .iter()
        .enumerate()
        .map(|(n, query)| {
            let search = Search::top(n % 13);
            let search = if n % 3 == 0 {
                search.within(&even)
            } else {
                search
            };
            (&query[..], search)
        })
        .collect();
    let single: Result<Vec<Ranking>, _> = asked
        .iter()
        .map(|(query, search)| searcher.search(query, search))
        .collect();
    let single = single?;
    for threads in [1, 3] {
        assert_eq!(
            on_threads(threads, || searcher.search_batch(&asked))?,
            single
        );
    }
    Ok(())
}

/// k hits whenever k documents pass, only such documents, and a high recall.
#[test]
fn filters_of_every_selectivity() -> Result<(), Box<dyn std::error::Error>> {
    let rows = clustered(6, 6000);
    let queries = clustered(7, 30);
    let index = build(&rows, VectorSimilarity::Euclidean, &HnswConfig::default());
    for every in [1, 2, 3, 10, 50, 1000, 5999] {
        // The widest beams that do not fall back to a scan.
        let searcher = index.searcher(EfSearch(if every == 3 { 20 } else { 40 }));
        let closure = move |doc: DocNum| doc.index().is_multiple_of(every);
        let set = DocSet::select(rows.len(), closure);
        for search in [
            Search::top(10).within(&closure),
            Search::top(10).within(&set),
        ] {
            let found = recall(&searcher, &queries, &search)?;
            assert!(found >= 0.9, "every {every}: {found}");
        }
    }
    let searcher = index.searcher(EfSearch(40));
    // The filter excludes everything near the query.
    for query in &queries[..5] {
        let exact = index.flat();
        let near = exact.search(query, &Search::top(3000))?;
        let near: DocSet = near.iter().map(|hit| hit.doc).collect();
        let far = |doc: DocNum| !ir_core::DocFilter::contains(&near, doc);
        let search = Search::top(10).within(&far);
        assert_eq!(
            searcher.search(query, &search)?,
            exact.search(query, &search)?
        );
    }
    let none = |_: DocNum| false;
    let found = searcher.search(&queries[0], &Search::top(5).within(&none))?;
    assert!(found.is_empty());
    Ok(())
}

#[test]
fn any_number_of_hits() -> Result<(), Box<dyn std::error::Error>> {
    let rows = clustered(8, 3000);
    let query = &clustered(9, 1)[0];
    let index = build(
        &rows,
        VectorSimilarity::InnerProduct,
        &HnswConfig::default(),
    );
    for ef_search in [0, 1, 100, 10_000, usize::MAX] {
        let searcher = index.searcher(EfSearch(ef_search));
        for k in [0, 1, 7, 500, 2999, 3000, 3001, usize::MAX] {
            let found = searcher.search(query, &Search::top(k))?;
            assert_eq!(found.len(), k.min(3000), "efSearch {ef_search}");
        }
    }
    // Exact, since a scan is less work.
    let search = Search::top(10);
    let all = index
        .searcher(EfSearch(usize::MAX))
        .search(query, &search)?;
    assert_eq!(all, index.flat().search(query, &search)?);
    Ok(())
}

/// Repeated vectors, one of them 2,000 times.
#[test]
fn repeated_vectors_do_not_displace_others() -> Result<(), Box<dyn std::error::Error>> {
    let distinct = clustered(10, 3000);
    let mut rows = Vec::new();
    for (n, row) in distinct.iter().enumerate() {
        let times = match n {
            7 => 2000,
            _ => 1 + n % 3,
        };
        rows.extend(std::iter::repeat_n(row.clone(), times));
    }
    for similarity in ALL {
        let index = build(&rows, similarity, &HnswConfig::default());
        let searcher = index.searcher(EfSearch(48));
        let found = recall(&searcher, &clustered(11, 50), &Search::top(10))?;
        assert!(found >= 0.95, "{similarity}: {found}");
        // Ties by document number.
        let repeated = searcher.search(&distinct[7], &Search::top(20))?;
        if similarity == VectorSimilarity::Euclidean {
            let first = repeated.hits()[0].doc.get();
            let docs: Vec<u32> = repeated.iter().map(|hit| hit.doc.get()).collect();
            assert_eq!(docs, (first..first + 20).collect::<Vec<_>>());
        }
    }
    // A single distinct vector.
    let rows = vec![vec![1.0, 2.0]; 5000];
    let index = build(&rows, VectorSimilarity::Cosine, &HnswConfig::default());
    let found = index
        .searcher(EfSearch(1))
        .search(&[1.0, 0.0], &Search::top(3))?;
    let docs: Vec<u32> = found.iter().map(|hit| hit.doc.get()).collect();
    assert_eq!(docs, [0, 1, 2]);
    // Distinct vectors of equal direction.
    let rows: Vec<Vec<f32>> = (1..=3000)
        .map(|n| vec![n as f32, (n % 3) as f32 * n as f32])
        .collect();
    let index = build(&rows, VectorSimilarity::Cosine, &HnswConfig::default());
    let found = index
        .searcher(EfSearch(10))
        .search(&[1.0, 2.0], &Search::top(10))?;
    let exact = index.flat().search(&[1.0, 2.0], &Search::top(10))?;
    assert!((found.hits()[9].score - exact.hits()[9].score).abs() < 1e-6);
    Ok(())
}

/// Extreme magnitudes, and points on a line.
#[test]
fn extreme_vectors() -> Result<(), Box<dyn std::error::Error>> {
    let distributions: [fn(usize) -> Vec<f32>; 4] = [
        |n| vec![n as f32],
        |n| vec![(n as f32 - 1000.0) * 1e-38, 1e-38],
        |n| vec![(n as f32 - 1000.0) * 1e35, 3e38],
        |n| {
            vec![1.0; n % 7 + 1]
                .into_iter()
                .chain([0.0; 7])
                .take(7)
                .collect()
        },
    ];
    for (distribution, row) in distributions.into_iter().enumerate() {
        let rows: Vec<Vec<f32>> = (1..2500).map(row).collect();
        let dim = rows[0].len();
        for similarity in ALL {
            let index = build(&rows, similarity, &HnswConfig::default().with_m(4));
            for query in [&rows[17], &vec![1.0; dim], &vec![f32::MAX; dim]] {
                let found = index
                    .searcher(EfSearch(32))
                    .search(query, &Search::top(5))?;
                assert_eq!(found.len(), 5, "{distribution} {similarity}");
            }
        }
    }
    // Nearest point on a line.
    let rows: Vec<Vec<f32>> = (1..2500).map(distributions[0]).collect();
    let index = build(&rows, VectorSimilarity::Euclidean, &HnswConfig::default());
    let found = index
        .searcher(EfSearch(64))
        .search(&[1234.2], &Search::top(1))?;
    assert!((f64::from(found.hits()[0].score)).abs() < 10.0, "{found:?}");
    Ok(())
}

#[test]
fn contract() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.ir");
    let searcher = |similarity, ef_search| {
        move |ids, rows: Vec<Vec<f32>>| {
            let flat = FlatIndex::new(ids, matrix(&rows), similarity).unwrap();
            let index = HnswIndex::build(flat, &HnswConfig::default(), &mut NoProgress).unwrap();
            index.searcher(EfSearch(ef_search))
        }
    };
    let reload = |searcher: &HnswSearcher| {
        searcher.index().save(&path).unwrap();
        let index = HnswIndex::open(&path).unwrap();
        index.searcher(searcher.ef_search())
    };
    check_vectors_saved(searcher(VectorSimilarity::InnerProduct, 64), reload);
    check_vectors(searcher(VectorSimilarity::Euclidean, 5));
}

/// The contract of exact retrievers where graph searches find the exact top k: 6,000 points of
/// three dimensions, and a beam of 300, which is narrow enough not to fall back to a scan.
#[test]
fn contract_of_an_exact_graph_search() {
    let mut random = SplitMix64::new(12, 0);
    let mut rows =
        |count| -> Vec<Vec<f32>> { (0..count).map(|_| vector(&mut random, 3)).collect() };
    let config = HnswConfig::default().with_m(8);
    let index = build(&rows(6000), VectorSimilarity::Euclidean, &config);
    let queries = rows(4);
    let (nan, short) = ([f32::NAN; 3], [1.0; 2]);
    let contract = Contract {
        valid_queries: queries.iter().map(Vec::as_slice).collect(),
        invalid_queries: vec![&nan, &short],
    };
    contract.check(&index.searcher(EfSearch(300)));
}

#[test]
fn invalid_parameters_and_queries() -> Result<(), Box<dyn std::error::Error>> {
    let flat = flat_index(&[vec![1.0, 0.0], vec![0.0, 1.0]], VectorSimilarity::Cosine);
    let error = |config| HnswIndex::build(flat.clone(), &config, &mut NoProgress).unwrap_err();
    let config = HnswConfig::default();
    assert_eq!(
        error(config.with_m(1)).to_string(),
        "m: expected 2 to 1024, found 1"
    );
    assert_eq!(
        error(config.with_ef_construction(0)),
        HnswError::EfConstruction
    );
    let searcher = HnswIndex::build(flat, &config, &mut NoProgress)?.searcher(EfSearch::default());
    let fails = |query: &[f32]| searcher.search(query, &Search::top(1)).unwrap_err();
    assert!(matches!(fails(&[0.0; 2]), SearchError::ZeroVector));
    assert!(matches!(
        fails(&[f32::NAN, 1.0]),
        SearchError::NotFinite { at: 0, .. }
    ));
    assert!(matches!(
        fails(&[1.0; 3]),
        SearchError::Dimensions {
            expected: 2,
            found: 3
        }
    ));
    let long = flat_index(&[vec![1.0; 70_000]], VectorSimilarity::Cosine);
    assert_eq!(
        HnswIndex::build(long, &config, &mut NoProgress).unwrap_err(),
        HnswError::Dimensions {
            max: 65_536,
            found: 70_000
        }
    );
    let empty = flat_index(&[], VectorSimilarity::Cosine);
    let empty = HnswIndex::build(empty, &config, &mut NoProgress)?.searcher(EfSearch(3));
    assert!(empty.search(&[1.0], &Search::top(3))?.is_empty());
    Ok(())
}
