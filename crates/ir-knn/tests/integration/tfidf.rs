//! TF-IDF beyond the values of scikit-learn: custom analyzers, rejected configurations,
//! serialization, and independence of the number of threads.

use ir_core::{Analyzer, EncodeError, Encoder, Flow, NoProgress, Side, Token};
use ir_knn::{
    Classes, DocFrequency, KnnClassifier, Lsi, LsiConfig, LsiError, RandomIndexing,
    RandomIndexingConfig, TfWeighting, TfidfConfig, TfidfFitError, TfidfVectorizer,
    TruncatedSvdConfig, TruncatedSvdError, WordAnalyzer,
};

fn texts() -> Vec<String> {
    let words = [
        "tea", "milk", "bread", "ship", "sea", "night", "photo", "radar",
    ];
    (0..1500_usize)
        .map(|i| {
            let word = |j: usize| words[(i * (j + 3) + i * i / 7 + j * j) % (3 + i % 6)];
            (0..(i * 7) % 23).map(|j| format!("{} ", word(j))).collect()
        })
        .collect()
}

/// Returns all results, serialized, computed on this number of threads.
fn all_results(threads: usize) -> (String, String, Vec<f64>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(|| {
        let texts = texts();
        let config = TfidfConfig::default()
            .with_ngrams(1, 2)
            .with_tf(TfWeighting::Sublinear);
        let (tfidf, rows) = TfidfVectorizer::fit_transform(&texts, &config).unwrap();
        let lsi = LsiConfig::default()
            .with_tfidf(config)
            .with_svd(TruncatedSvdConfig::new(9));
        let lsi = Lsi::fit(&texts, &lsi).unwrap();
        let classes = Classes::new((0..texts.len()).map(|i| (i % 7).to_string()));
        let folds = KnnClassifier::default()
            .cross_validate(&rows, &classes, 10)
            .unwrap()
            .folds;
        let vectors = lsi.transform(&texts);
        let mut more = KnnClassifier::default()
            .cross_validate(&vectors, &classes, 10)
            .unwrap()
            .folds;
        more.extend(folds);
        let saved = serde_json::to_string(&tfidf).unwrap() + &serde_json::to_string(&rows).unwrap();
        (saved, serde_json::to_string(&lsi).unwrap(), more)
    })
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let one = all_results(1);
    assert_eq!(all_results(3), one);
    assert_eq!(all_results(8), one);
}

struct Letters;

impl Analyzer for Letters {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        for (position, (start, c)) in (0..).zip(text.char_indices()) {
            let end = start + c.len_utf8();
            let term = &text[start..end];
            emit(Token {
                term,
                start,
                end,
                position,
            });
        }
    }
}

#[test]
fn custom_analyzers_and_the_encoder_trait() {
    let tfidf = TfidfVectorizer::fit_transform_with(
        Letters,
        &["ab", "bc"],
        &TfidfConfig::default(),
        &mut NoProgress,
    );
    let (tfidf, _) = tfidf.unwrap();
    assert_eq!(tfidf.terms().collect::<Vec<_>>(), ["a", "b", "c"]);
    let dense = tfidf.encode(Side::Query, &["bb", "xyz", "ca"]).unwrap();
    assert_eq!(dense[..6], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let half = 0.5_f32.sqrt();
    assert!((dense[6] - half).abs() < 1e-6 && (dense[8] - half).abs() < 1e-6);
    // The overridden sparse encoding equals the default one.
    struct Dense<'a>(&'a TfidfVectorizer<Letters>);
    impl Encoder for Dense<'_> {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn encode_into(&self, side: Side, t: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
            self.0.encode_into(side, t, out)
        }
    }
    let sparse = |encoder: &dyn Encoder| {
        let mut rows = Vec::new();
        let mut emit =
            |columns: &[u32], values: &[f32]| rows.push((columns.to_vec(), values.to_vec()));
        let texts = ["bb", "xyz", "ca"].repeat(50);
        encoder
            .encode_sparse(Side::Document, &texts, &mut emit)
            .unwrap();
        rows
    };
    assert_eq!(sparse(&tfidf), sparse(&Dense(&tfidf)));
    assert_eq!(sparse(&&tfidf)[1], (vec![], vec![]));
    let mut short = [0.0; 2];
    let error = tfidf
        .encode_into(Side::Query, &["a"], &mut short)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "output buffer: expected 3 values, found 2"
    );
}

#[test]
fn invalid_configurations_are_rejected() {
    let texts = ["tea and milk", "tea", "bread"];
    let error = |config: TfidfConfig| TfidfVectorizer::fit(&texts, &config).unwrap_err();
    let default = TfidfConfig::default;
    assert_eq!(
        TfidfVectorizer::fit::<&str>(&[], &default()).unwrap_err(),
        TfidfFitError::NoTexts
    );
    let none = TfidfVectorizer::fit(&["a", "- I"], &default()).unwrap_err();
    assert_eq!(none, TfidfFitError::NoTerms { texts: 2 });
    let rare = error(default().with_min_df(DocFrequency::Count(3)));
    let text = "expected terms in 3 to 3 of 3 texts, found none among 4 terms";
    assert_eq!(rare.to_string(), text);
    let stopped = error(default().with_stop_words(["tea", "and", "milk", "bread"]));
    assert_eq!(stopped, TfidfFitError::NoTerms { texts: 3 });
    let zero = error(default().with_min_df(DocFrequency::Count(0)));
    let text = "min_df: expected a count ≥ 1 or a fraction from 0 to 1, found Count(0)";
    assert_eq!(zero.to_string(), text);
    for fraction in [-0.1, 1.1, f64::NAN] {
        let wrong = error(default().with_max_df(DocFrequency::Fraction(fraction)));
        assert!(matches!(
            wrong,
            TfidfFitError::DocFrequency {
                field: "max_df",
                ..
            }
        ));
    }
    let bounds = default()
        .with_min_df(DocFrequency::Count(3))
        .with_max_df(DocFrequency::Fraction(0.5));
    assert!(matches!(
        error(bounds),
        TfidfFitError::DocFrequencyRange { .. }
    ));
    assert!(matches!(
        error(default().with_ngrams(0, 1)),
        TfidfFitError::Ngrams { .. }
    ));
    assert!(matches!(
        error(default().with_ngrams(2, 1)),
        TfidfFitError::Ngrams { .. }
    ));
    assert_eq!(
        error(default().with_max_features(0)),
        TfidfFitError::MaxFeatures
    );
    let vocabulary = |terms: &[&str]| default().with_vocabulary(terms.iter().copied());
    assert_eq!(error(vocabulary(&[])), TfidfFitError::EmptyVocabulary);
    assert!(matches!(
        error(vocabulary(&["a", "b", "a"])),
        TfidfFitError::RepeatedTerm { .. }
    ));
    let plain = vocabulary(&["tea", "wine"]).with_idf(ir_knn::IdfWeighting::Plain);
    assert!(matches!(error(plain), TfidfFitError::UnseenTerm { .. }));
    assert!(serde_json::from_str::<TfidfConfig>(r#"{"ngrams": 2}"#).is_err());
}

#[test]
fn damaged_serialized_vectorizers_are_rejected() {
    let tfidf = TfidfVectorizer::fit(&["tea milk", "tea"], &TfidfConfig::default()).unwrap();
    let saved = serde_json::to_string(&tfidf).unwrap();
    let error = |from: &str, to: &str| {
        assert!(saved.contains(from), "{saved}");
        serde_json::from_str::<TfidfVectorizer>(&saved.replace(from, to))
            .unwrap_err()
            .to_string()
    };
    assert!(error("\"milk\",", "").contains("expected 1 idf values"));
    assert!(error("\"milk\",", "\"tea\",").contains("found \"tea\" twice"));
    assert!(error("1.0]", "-1.0]").contains("expected a positive finite idf"));
}

#[test]
fn serialized_models_with_invalid_configurations_are_rejected() {
    let fitted =
        TfidfVectorizer::fit(&["ships at sea", "green tea"], &TfidfConfig::default()).unwrap();
    let saved = serde_json::to_value(&fitted).unwrap();
    let ngrams = "expected n-grams of 1 or more words, found";
    for (field, cause) in [
        ("min_n", &format!("{ngrams} 0 to 1")),
        ("max_n", &format!("{ngrams} 1 to 0")),
        (
            "max_features",
            &"max_features: expected a number ≥ 1, found 0".to_owned(),
        ),
    ] {
        let mut changed = saved.clone();
        changed["config"][field] = 0.into();
        let error = serde_json::from_value::<TfidfVectorizer>(changed).unwrap_err();
        assert_eq!(error.to_string(), format!("invalid configuration: {cause}"));
    }
    serde_json::from_value::<TfidfVectorizer>(saved).unwrap();

    let config = RandomIndexingConfig::default();
    let fitted = RandomIndexing::fit_transform(&["ships at sea", "green tea"], &config)
        .unwrap()
        .0;
    let mut saved = serde_json::to_value(&fitted).unwrap();
    let dim = saved["config"]["dim"].as_u64().unwrap();
    saved["config"]["dim"] = (dim + 10).into();
    let error = serde_json::from_value::<RandomIndexing>(saved).unwrap_err();
    let expected = format!("row 0: expected {} dimensions, found {dim}", dim + 10);
    assert_eq!(error.to_string(), expected);
}

/// Counted texts are reported, then Lanczos steps; each stage can be canceled.
#[test]
fn progress_and_cancellation() {
    let texts = texts();
    let config = LsiConfig::default().with_svd(TruncatedSvdConfig::new(5));
    let fit = |progress: &mut dyn FnMut(&str, u64, Option<u64>) -> Flow| {
        let mut watch = |stage: &str, done, total| progress(stage, done, total);
        let fitted = Lsi::fit_with(WordAnalyzer::default(), &texts, &config, &mut watch);
        fitted.map(|lsi| serde_json::to_string(&lsi).unwrap())
    };
    let (mut counted, mut steps) = (Vec::new(), 0);
    let fitted = fit(&mut |stage, done, total| {
        match stage {
            "counting terms" => counted.push((done, total)),
            stage => {
                assert_eq!((stage, total), ("decomposing", None));
                steps += 1;
            }
        }
        Flow::Continue
    });
    let plain = Lsi::fit(&texts, &config).unwrap();
    assert_eq!(fitted.unwrap(), serde_json::to_string(&plain).unwrap());
    assert_eq!(counted.first(), Some(&(0, Some(1500))));
    assert_eq!(counted.last(), Some(&(1500, Some(1500))));
    assert!(steps > 0);
    let stopped = |at: &str| {
        fit(&mut |stage, _, _| {
            if stage == at {
                Flow::Stop
            } else {
                Flow::Continue
            }
        })
    };
    let canceled = LsiError::Tfidf(TfidfFitError::Canceled);
    assert_eq!(stopped("counting terms"), Err(canceled));
    let canceled = LsiError::Svd(TruncatedSvdError::Canceled);
    assert_eq!(stopped("decomposing"), Err(canceled));
    let vocabulary = TfidfConfig::default().with_vocabulary(["tea".to_owned()]);
    let mut stop = |_: &str, _: u64, _: Option<u64>| Flow::Stop;
    let analyzer = WordAnalyzer::default();
    let fixed = TfidfVectorizer::fit_transform_with(analyzer, &texts, &vocabulary, &mut stop);
    assert_eq!(fixed.err(), Some(TfidfFitError::Canceled));
}
