//! LSI of DataFinder's descriptions, and of small collections.

use ir_data::catalog::Catalog;
use ir_knn::{DocFrequency, Lsi, LsiConfig, TfidfConfig, TruncatedSvdConfig};

use crate::common::Folder;

/// Largest singular values of the TF-IDF matrix (`min_df=2`) of the 7,602 descriptions:
/// scikit-learn 1.9.1 and `scipy.sparse.linalg.svds` of SciPy 1.17.1 with `tol=0`.
const SINGULAR_VALUES: [f64; 20] = [
    18.143196847,
    9.686383295,
    6.927783052,
    6.200273547,
    5.833412007,
    5.721432909,
    5.182483564,
    5.021030087,
    4.90198315,
    4.794353305,
    4.547460292,
    4.500624161,
    4.491262272,
    4.377317622,
    4.260971743,
    4.207467548,
    4.153477763,
    4.06497737,
    4.003118569,
    3.954201253,
];

#[test]
fn singular_values_of_datafinder_descriptions() {
    let catalog = Catalog::from_env();
    if !catalog.has("datafinder").unwrap() {
        eprintln!("skipped: no datafinder in IR_DATA");
        return;
    }
    let collection = catalog.open("datafinder").unwrap();
    let docs = collection.corpus().docs().unwrap();
    let texts: Vec<String> = docs.map(|doc| doc.unwrap().text).collect();
    let config = LsiConfig::default()
        .with_tfidf(TfidfConfig::default().with_min_df(DocFrequency::Count(2)))
        .with_svd(TruncatedSvdConfig::new(SINGULAR_VALUES.len()));
    let lsi = Lsi::fit(&texts, &config).unwrap();
    let svd = lsi.svd();
    assert_eq!(svd.components().ncols(), 14_782);
    for (found, expected) in svd.singular_values().iter().zip(SINGULAR_VALUES) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    let products = svd.components().dot(&svd.components().t());
    for ((row, column), product) in products.indexed_iter() {
        let expected = f64::from(u8::from(row == column));
        assert!(
            (product - expected).abs() < 1e-9,
            "{row} {column}: {product}"
        );
    }
}

/// Without `dim`, a small collection has as many dimensions as documents.
#[test]
fn dimensions_of_a_small_collection() {
    let here = Folder::new();
    let documents = "a\tgreen tea is steeped\nb\ta ship with tea\nc\tships sail south\n";
    here.write("docs.tsv", documents);
    here.write("queries.tsv", "1\tgreen ships\n2\ttea\n");
    let search = |dim: &str, output: &str| {
        let system = format!("[[systems]]\nname = \"lsi\"\ntype = \"lsi\"\n{dim}");
        here.write("s.toml", system);
        let search = ["search", "docs.tsv", "--queries", "queries.tsv"];
        here.ir(&[&search[..], &["--system", "s.toml", "-o", output]].concat())
    };
    search("", "default.trec").ok();
    search("dim = 3\n", "three.trec").ok();
    assert!(!here.read("default.trec").is_empty());
    assert_eq!(here.read("default.trec"), here.read("three.trec"));
    search("dim = 4\n", "four.trec").fails(
        1,
        &["s.toml:4: systems[0].dim: expected 1 to 3 components for 3 rows of"],
    );
}
