//! Encoders in precision bf16 and int8 beside f32.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::fs;
use std::path::Path;

use crate::common::{minilm, on_default_backend, tiny};
use ir_core::{Encoder, NoProgress, Side};
use ir_dense::train::{TrainError, Trainer, TrainingConfig};
use ir_dense::{
    Backend, BiEncoder, EncoderConfig, EncoderFingerprint, ModelError, Precision, RandomModel,
    UnknownPrecision,
};
use safetensors::SafeTensors;

fn open(folder: &Path, precision: Precision) -> BiEncoder {
    let config = EncoderConfig::default().with_precision(precision);
    BiEncoder::open_with(folder, &config).unwrap()
}

/// Cosines of the vectors of texts in two encoders.
fn cosines(a: &BiEncoder, b: &BiEncoder, texts: &[&str]) -> Vec<f64> {
    let [a, b] = [a, b].map(|encoder| encoder.encode_documents(texts).unwrap());
    let dot = |a: ndarray::ArrayView1<'_, f32>, b: ndarray::ArrayView1<'_, f32>| -> f64 {
        let products = a.iter().zip(b);
        products.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
    };
    let rows = a.outer_iter().zip(b.outer_iter());
    rows.map(|(a, b)| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt())
        .collect()
}

/// Texts of several subjects, from one word to more than the maximum length.
fn texts() -> Vec<String> {
    let sentences = [
        "The harbor pilot boards large ships before they enter the narrow channel.",
        "Green tea is not fermented; black tea is, which changes color and taste.",
        "Vitamin D deficiency was associated with a higher risk of fractures in 1,204 patients.",
        "We prove that the problem remains NP-hard even if all weights are equal.",
        "SELECT name FROM users WHERE age > 30 ORDER BY name;",
        "Radar measures the distance of an object by the delay of its echo.",
        "Should governments tax sugar? Critics say that such taxes hurt the poor most.",
        "Die Größe der Schiffe wuchs im 19. Jahrhundert, vor allem durch den Eisenbau.",
        "Convolutional networks share weights across positions; transformers attend to all of them.",
        "The committee adjourned at 5:45 p.m. without a decision on item 7 (b).",
    ];
    let mut texts: Vec<String> = [
        "",
        "tea",
        "?",
        "zebra zebra zebra",
        "42",
        "東京",
        "a ship at sea",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.extend(sentences.map(str::to_owned));
    for first in 0..sentences.len() {
        let count = [2, 5, 9, 30][first % 4];
        let all = sentences.iter().cycle().skip(first).step_by(3).take(count);
        texts.push(all.copied().collect::<Vec<_>>().join(" "));
    }
    texts
}

#[test]
fn minilm_is_near_its_f32_vectors() {
    let Some(folder) = minilm().filter(|_| on_default_backend()) else {
        return;
    };
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let exact = open(&folder, Precision::F32);
    for (precision, least) in [(Precision::Bf16, 0.9995), (Precision::Int8, 0.99)] {
        let found = cosines(&exact, &open(&folder, precision), &texts);
        let smallest = found.iter().copied().fold(1.0, f64::min);
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        eprintln!("{precision}: cosine to f32 at least {smallest:.6}, on average {mean:.6}");
        assert!(smallest > least, "{precision}: {found:?}");
        assert!(smallest < 1.0 - 1e-7, "{precision} is f32");
    }
    // Outlier channels of the feed-forward network.
    let int8 = open(&folder, Precision::Int8);
    let outliers = int8.outlier_channels(Side::Document);
    let count: usize = outliers.iter().map(|layer| layer.channels.len()).sum();
    eprintln!("{count} outlier channels: {outliers:?}");
    let down = outliers.iter().find(|layer| layer.layer == "layers.3.down");
    assert_eq!(down.unwrap().total, 384);
    assert!((1..60).contains(&count), "{count}");
    assert!(exact.outlier_channels(Side::Query).is_empty());
}

/// Random weights of every architecture.
#[test]
fn tiny_models_are_near_their_f32_vectors() {
    if !on_default_backend() {
        return;
    }
    let texts = ["", "ships seen by radar at sea", "tea", "green black tea"];
    for model in ["bert", "bert-f16", "distilbert", "roberta", "mpnet"] {
        let exact = open(&tiny(model), Precision::F32);
        for (precision, least) in [(Precision::Bf16, 0.9995), (Precision::Int8, 0.99)] {
            let found = cosines(&exact, &open(&tiny(model), precision), &texts);
            assert!(found.iter().all(|&x| x > least), "{model}: {found:?}");
        }
    }
}

#[test]
fn fingerprints_and_configurations_name_other_precisions_than_f32() {
    if !on_default_backend() {
        return;
    }
    let mut fingerprints = Vec::new();
    for precision in Precision::ALL {
        let config = EncoderConfig::default().with_precision(precision);
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(
            serde_json::from_str::<EncoderConfig>(&text).unwrap(),
            config
        );
        let found = open(&tiny("bert"), precision).fingerprint(Side::Query);
        assert_eq!(found.precision, precision);
        let recorded = serde_json::to_string(&found).unwrap();
        for text in [&text, &recorded] {
            let is_named = text.contains(&format!("\"precision\":\"{precision}\""));
            assert_eq!(is_named, precision != Precision::F32, "{text}");
            assert_eq!(text.contains("precision"), is_named, "{text}");
        }
        let read: EncoderFingerprint = serde_json::from_str(&recorded).unwrap();
        assert_eq!(read, found);
        // A record without a version is that of earlier arithmetic, in f32 of the same.
        assert_eq!(found.arithmetic, u32::from(precision != Precision::F32));
        let earlier = recorded.replace("\"arithmetic\":1,", "");
        let earlier: EncoderFingerprint = serde_json::from_str(&earlier).unwrap();
        assert_eq!(earlier == found, precision == Precision::F32);
        assert_eq!(precision.name().parse(), Ok(precision));
        fingerprints.push(found);
    }
    assert_eq!(fingerprints[0].model, fingerprints[2].model);
    let unknown = "fp16".parse::<Precision>();
    let found = "fp16".to_owned();
    assert_eq!(unknown, Err(UnknownPrecision { found }));
}

/// Losses and weights of a training run of the tiny model, in a precision and on a number of
/// threads.
fn trained(precision: Precision, threads: usize) -> (Vec<f64>, Vec<f32>) {
    let mut config = crate::common::config();
    config.precision = precision;
    config.epochs = 12;
    config.dropout = 0.0;
    config.learning_rate = 2e-3;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(|| {
        let trainer = Trainer::open(tiny("distilbert"), &config).unwrap();
        let trained = trainer
            .train(&crate::common::examples(), &mut NoProgress)
            .unwrap();
        let losses = trained.history.steps.iter().map(|step| step.loss);
        let texts = ["the green sea", "radar"];
        let vectors = trained.encoder.encode(Side::Query, &texts).unwrap();
        (losses.collect(), vectors)
    })
}

#[test]
fn training_in_bf16_follows_the_losses_of_f32() {
    if !on_default_backend() {
        return;
    }
    let (exact, _) = trained(Precision::F32, 1);
    let (found, vectors) = trained(Precision::Bf16, 1);
    assert_ne!(found, exact);
    let (first, last) = (exact[0], exact[exact.len() - 1]);
    assert!(last < 0.7 * first, "{first} to {last}");
    let mut differences: Vec<f64> = Vec::new();
    for (step, (found, exact)) in found.iter().zip(&exact).enumerate() {
        differences.push((found - exact).abs());
        assert!(
            (found - exact).abs() < 0.1 * first,
            "{step}: {found}, {exact}"
        );
    }
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    eprintln!("loss {first:.3} to {last:.3}; mean difference {mean:.4}");
    assert!(mean < 0.02 * first, "{mean} of {first}");
    for threads in [2, 5] {
        assert!(trained(Precision::Bf16, threads) == (found.clone(), vectors.clone()));
    }
}

#[test]
fn training_has_f32_and_bf16_on_the_cpu() {
    // f32 is not recorded, so that configurations of earlier releases are equal.
    let mut config = TrainingConfig::small_data();
    let recorded = serde_json::to_value(&config).unwrap();
    assert_eq!(recorded.get("precision"), None);
    config.precision = Precision::Bf16;
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(
        serde_json::from_str::<TrainingConfig>(&text).unwrap(),
        config
    );
    let mut other = config.clone();
    other.encoder.backend = Backend::Tch;
    config.precision = Precision::Int8;
    for (config, expected) in [
        (config, "precision is int8, expected f32 or bf16"),
        (other, "precision is bf16, expected f32, or the backend cpu"),
    ] {
        assert_eq!(config.validate().unwrap_err().to_string(), expected);
    }
}

#[test]
fn other_backends_and_training_have_f32_alone() {
    let config = EncoderConfig::default()
        .with_precision(Precision::Int8)
        .with_backend(Backend::Tch);
    match BiEncoder::open_with(tiny("bert"), &config) {
        Err(ModelError::Precision {
            precision: Precision::Int8,
            reason,
        }) => assert_eq!(reason, "expected the backend cpu, found tch"),
        other => panic!("{other:?}"),
    }
    let mut config = TrainingConfig::small_data();
    config.encoder.precision = Precision::Bf16;
    match Trainer::open(tiny("bert"), &config) {
        Err(TrainError::Setting { field, found, .. }) => {
            assert_eq!((field, &*found), ("encoder.precision", "bf16"));
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
}

/// Folder of a randomly initialized model.
fn random_model(model: &RandomModel) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    model.create(folder.path(), &texts).unwrap();
    folder
}

/// A channel with a weight that is far out of the range of the others is f32, and reported.
#[test]
fn channels_that_do_not_fit_8_bits_are_reported_and_f32() {
    if !on_default_backend() {
        return;
    }
    let folder = random_model(&RandomModel::default().with_shape(320, 2, 4));
    let open = |precision| open(folder.path(), precision);
    assert!(
        open(Precision::Int8)
            .outlier_channels(Side::Document)
            .is_empty()
    );

    // In the fifth output channel of a layer.
    let path = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let weight = tensors.tensor("encoder.layer.1.intermediate.dense.weight");
    let weight = weight.unwrap();
    assert_eq!(weight.shape(), [1280, 320]);
    let start = weight.data().as_ptr() as usize - bytes.as_ptr() as usize;
    let start = start + 4 * (4 * 320 + 7);
    bytes[start..start + 4].copy_from_slice(&40.0_f32.to_le_bytes());
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    let int8 = open(Precision::Int8);
    let outliers = int8.outlier_channels(Side::Document);
    assert_eq!(outliers.len(), 1, "{outliers:?}");
    assert_eq!(outliers[0].layer, "layers.1.up");
    assert_eq!(outliers[0].channels, [4]);
    assert_eq!(outliers[0].total, 1280);
    let f32 = open(Precision::F32);
    let found = cosines(&f32, &int8, &["ships seen by radar at sea", "tea"]);
    assert!(found.iter().all(|&x| x > 0.99), "{found:?}");
    for precision in [Precision::F32, Precision::Bf16] {
        assert!(open(precision).outlier_channels(Side::Query).is_empty());
    }
}

/// Integer sums of a linear layer with too many inputs could overflow.
#[test]
fn models_that_lack_int8_are_errors() {
    if !on_default_backend() {
        return;
    }
    let mut model = RandomModel::default().with_shape(2, 1, 1);
    model.intermediate_size = 66_001;
    let folder = random_model(&model);
    for precision in Precision::ALL {
        let config = EncoderConfig::default().with_precision(precision);
        let opened = BiEncoder::open_with(folder.path(), &config);
        match (precision, opened) {
            (Precision::Int8, Err(error)) => {
                let message = error.to_string();
                assert!(matches!(error, ModelError::Precision { .. }), "{error:?}");
                assert!(message.starts_with("precision int8: "), "{message}");
                let path = folder.path().display().to_string();
                assert!(message.contains(&path), "{message}");
                let least = "at most 66000 inputs of a linear layer";
                assert!(message.contains(least), "{message}");
            }
            (Precision::Int8, Ok(_)) => panic!("int8 of 66,001 inputs"),
            (_, opened) => {
                opened.unwrap().encode_queries(&["a ship at sea"]).unwrap();
            }
        }
    }
}
