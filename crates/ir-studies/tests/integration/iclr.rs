//! Statistics of papers, of a generated file and of the published one.

use ir_data::iclr;
use ir_studies::iclr::PaperStatistics;

use crate::file;

/// 24 rows written by `papers.py` in the same folder.
const PAPERS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../ir-data/testdata/iclr/papers.parquet"
);

#[test]
fn statistics_of_a_file() {
    let papers = iclr::read(PAPERS).unwrap();
    let found = PaperStatistics::new(&papers);
    // Row n has n mod 5 scores, 3 and the numbers after it; row 5 has none.
    let lengths = || (0..24_usize).map(|n| if n == 5 { 0 } else { n % 5 });
    assert_eq!(found.papers, 24);
    // Every third row, and row 6.
    assert_eq!(found.unlabeled, 9);
    assert_eq!(found.without_keywords, 1);
    assert_eq!(found.reviewed, lengths().filter(|&n| n > 0).count());
    assert_eq!(
        found.three_or_four_reviews,
        lengths().filter(|&n| n > 2).count()
    );
    assert_eq!(found.acceptance(), Some(0.5));
    let pairs: usize = lengths().map(|n| n * n.saturating_sub(1)).sum();
    assert_eq!(found.score_pairs, pairs as u64);
}

/// Figures of 24v2 in the paper of the dataset, if its file is in `IR_DATA`.
#[test]
fn statistics_of_24v2() {
    let Some(path) = file("iclr/iclr24v2.parquet") else {
        return;
    };
    let found = PaperStatistics::new(&iclr::read(path).unwrap());
    assert_eq!((found.papers, found.unlabeled), (24_445, 11_392));
    assert_eq!(found.score_pairs, 244_226);
    let rounded = |value: Option<f64>, digits| format!("{:.digits$}", value.unwrap());
    assert_eq!(rounded(found.reviews_per_paper(), 1), "3.7");
    assert_eq!(rounded(found.three_or_four(), 2), "0.93");
    assert_eq!(rounded(found.score_correlation, 2), "0.40");
    assert_eq!(rounded(found.acceptance(), 3), "0.307");
}
