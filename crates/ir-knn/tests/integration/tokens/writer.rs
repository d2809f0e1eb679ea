//! Streaming writer: complete, interrupted and invalid stores.

use std::error::Error;
use std::fs;
use std::path::Path;

use ir_core::{DocNum, TokenVectors};
use ir_knn::{TokenEncoding, TokenStore, TokenStoreConfig, TokenStoreError, TokenStoreWriter};

use super::{codebook, configs, documents, write};

#[test]
fn written_vectors_are_read() {
    let documents = documents(1, 100, 9);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    for config in configs(9, &codebook(&documents, 8)) {
        write(&path, &config, &documents);
        let store = TokenStore::open(&path).unwrap();
        assert_eq!(store.config(), &config);
        assert!(store.ids().iter().eq(documents.iter().map(|(id, _)| id)));
        let mut tokens = 0;
        for (doc, (_, expected)) in (0..).map(DocNum::new).zip(&documents) {
            let found = store.vectors(doc).unwrap();
            let without = vec![0..0; expected.len()];
            let spans = if config.spans {
                &expected.spans
            } else {
                &without
            };
            assert_eq!(&found.spans, spans);
            // Maximum difference of a component.
            let tolerance = match config.encoding {
                TokenEncoding::F32 => 0.0,
                TokenEncoding::F16 => 1.0 / 2048.0,
                TokenEncoding::Int8 => 1.0 / 254.0 + 1e-6,
                _ => 1.0,
            };
            for (found, expected) in found.values.iter().zip(&expected.values) {
                assert!((found - expected).abs() <= tolerance, "{found} {expected}");
            }
            tokens += expected.len() as u64;
        }
        assert_eq!(store.tokens(), tokens);
        store.verify().unwrap();
        let size = fs::metadata(&path).unwrap().len();
        assert!(size > tokens * config.encoding.vector_bytes(9) as u64);
    }
}

/// A document of about 1 MiB: four fill a block.
fn large(n: usize) -> TokenVectors {
    let count = 2048;
    let values = (0..count * 128).map(|at| ((at * 7 + n) % 100) as f32);
    TokenVectors::new(128, values.collect(), vec![n..n + 3; count])
}

fn config() -> TokenStoreConfig {
    TokenStoreConfig::new(128)
        .with_encoding(TokenEncoding::F32)
        .with_spans(true)
}

fn push(writer: &mut TokenStoreWriter, count: usize) {
    for n in writer.len()..count {
        writer.push(&format!("d{n}"), &large(n)).unwrap();
    }
}

/// Wherever the process ended, the resumed writer completes the same file.
#[test]
fn interrupted_at_any_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    let [partial, journal] =
        ["tokens.ir.partial", "tokens.ir.partial-ids"].map(|name| folder.path().join(name));
    let mut writer = TokenStoreWriter::create(&path, &config()).unwrap();
    push(&mut writer, 11);
    writer.finish().unwrap();
    let expected = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();

    let mut writer = TokenStoreWriter::create(&path, &config()).unwrap();
    push(&mut writer, 10);
    drop(writer);
    assert!(!path.exists());
    let (whole, entries) = (fs::read(&partial).unwrap(), fs::read(&journal).unwrap());
    let resumed = |whole: &[u8], entries: &[u8]| {
        fs::write(&partial, whole).unwrap();
        fs::write(&journal, entries).unwrap();
        let mut writer = TokenStoreWriter::resume(&path, &config()).unwrap();
        let len = writer.len();
        assert!(writer.ids().iter().eq((0..len).map(|n| format!("d{n}"))));
        push(&mut writer, 11);
        writer.finish().unwrap();
        assert!(fs::read(&path).unwrap() == expected);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        len
    };
    assert_eq!(resumed(&whole, &entries), 10);
    let after_one = resumed(&whole[..whole.len() - 1], &entries);
    assert!((4..10).contains(&after_one));
    assert_eq!(resumed(&whole, &entries[..entries.len() - 1]), after_one);
    assert_eq!(resumed(&whole[..64], &entries), 0);
    assert_eq!(resumed(&[], &entries), 0);
    assert_eq!(resumed(&whole, &entries[..20]), 0);
    // Documents before the first damaged block are recovered.
    let mut damaged = whole.clone();
    damaged[whole.len() - 9] ^= 1;
    assert_eq!(resumed(&damaged, &entries), after_one);
    let mut damaged = entries.clone();
    damaged[entries.len() - 9] ^= 1;
    assert_eq!(resumed(&whole, &damaged), after_one);
}

#[test]
fn resumed_repeatedly() {
    let documents = documents(4, 12, 5);
    let folder = tempfile::tempdir().unwrap();
    for config in configs(5, &codebook(&documents, 4)) {
        let [path, whole] = ["a.ir", "b.ir"].map(|name| folder.path().join(name));
        for count in 0..=documents.len() {
            let mut writer = TokenStoreWriter::resume(&path, &config).unwrap();
            assert_eq!(writer.len(), count.saturating_sub(1));
            for (id, vectors) in &documents[writer.len()..count] {
                writer.push(id, vectors).unwrap();
            }
        }
        let writer = TokenStoreWriter::resume(&path, &config).unwrap();
        writer.finish().unwrap();
        write(&whole, &config, &documents);
        assert!(fs::read(&path).unwrap() == fs::read(&whole).unwrap());
    }
}

#[test]
fn a_partial_store_of_another_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    let documents = documents(4, 12, 5);
    let codebooks = [4, 5].map(|count| codebook(&documents, count));
    let config = TokenStoreConfig::new(5).with_encoder("one");
    for other in [
        TokenStoreConfig::new(6).with_encoder("one"),
        config.clone().with_encoder("two"),
        config.clone().with_spans(true),
        config.clone().with_encoding(TokenEncoding::Int8),
        config.clone().with_codebook(codebooks[1].clone()),
    ] {
        drop(TokenStoreWriter::create(&path, &config).unwrap());
        let error = TokenStoreWriter::resume(&path, &other).unwrap_err();
        assert!(matches!(error, TokenStoreError::Mismatch { .. }), "{error}");
    }
    let config = config.with_codebook(codebooks[0].clone());
    drop(TokenStoreWriter::create(&path, &config).unwrap());
    let other = config.with_codebook(codebooks[1].clone());
    let error = TokenStoreWriter::resume(&path, &other).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("expected format version 2, dimension 5, f16, codebook "));
    assert!(
        message.ends_with("encoder one; delete the file to start again"),
        "{message}"
    );
}

/// Messages of an error and its sources.
fn messages(error: &dyn Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts.join(": ")
}

#[test]
fn invalid_documents_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    let sample = documents(4, 12, 2);
    let vectors =
        |values: &[f32]| TokenVectors::new(2, values.to_vec(), vec![0..0; values.len() / 2]);
    let base = TokenStoreConfig::new(2).with_spans(true);
    let f32 = base.clone().with_encoding(TokenEncoding::F32);
    let residual = base
        .clone()
        .with_encoding(TokenEncoding::Residual2)
        .with_codebook(codebook(&sample, 4));
    let mut reversed = vectors(&[1.0, 0.0]);
    #[allow(clippy::reversed_empty_ranges, reason = "invalid input")]
    let range = 5..2;
    reversed.spans[0] = range;
    let other_dim = TokenVectors::new(3, vec![1.0; 3], vec![0..0; 1]);
    let magnitude = "expected a number of magnitude at most";
    let cases = [
        (&f32, vectors(&[1.0, 0.0, 1.0, f32::NAN]), format!("document \"x\", token 1, component 1: {magnitude} 1000000000000000, found NaN")),
        (&f32, vectors(&[f32::INFINITY, 0.0]), format!("document \"x\", token 0, component 0: {magnitude} 1000000000000000, found inf")),
        (&base, vectors(&[0.0, 1e5]), format!("document \"x\", token 0, component 1: {magnitude} 65504, found 100000")),
        (&residual, vectors(&[1.0, 0.0, 0.0, 0.0]), "document \"x\", token 1: expected a vector of length 1 for residual2, found length 0; normalize the vectors or use f16 or int8".to_owned()),
        (&base, other_dim, "document \"x\": expected token vectors of dimension 2, found 3".to_owned()),
        (&base, reversed, "document \"x\", token 0: expected a range that does not end before its start".to_owned()),
    ];
    for (config, vectors, expected) in cases {
        let mut writer = TokenStoreWriter::create(&path, config).unwrap();
        let error = writer.push("x", &vectors).unwrap_err();
        assert_eq!(messages(&error), expected);
        assert!(writer.is_empty());
        // The writer remains usable.
        writer
            .push("x", &TokenVectors::new(2, vec![0.0, 1.0], vec![0..1; 1]))
            .unwrap();
        let error = writer.push("x", &TokenVectors::default()).unwrap_err();
        assert_eq!(
            messages(&error),
            "document \"x\": expected an id that occurs once, found it again"
        );
        writer.push("y", &TokenVectors::default()).unwrap();
        writer.finish().unwrap();
        assert_eq!(TokenStore::open(&path).unwrap().len(), 2);
    }
}

#[test]
fn invalid_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    let codebook = codebook(&documents(4, 12, 2), 4);
    let residual = TokenStoreConfig::new(2).with_encoding(TokenEncoding::Residual4);
    for (config, expected) in [
        (
            TokenStoreConfig::new(0),
            "expected a dimension of 1 to 65536, found 0",
        ),
        (
            TokenStoreConfig::new(70_000),
            "expected a dimension of 1 to 65536, found 70000",
        ),
        (
            residual,
            "expected a codebook for residual4 (TokenCodebook::train), found none",
        ),
        (
            TokenStoreConfig::new(3).with_codebook(codebook),
            "codebook: expected dimension 3, found 2",
        ),
    ] {
        let error = TokenStoreWriter::create(&path, &config).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn one_writer_per_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.ir");
    let config = TokenStoreConfig::new(2);
    let writer = TokenStoreWriter::create(&path, &config).unwrap();
    let error = TokenStoreWriter::resume(&path, &config).unwrap_err();
    assert!(matches!(error, TokenStoreError::Locked { .. }), "{error}");
    writer.discard().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let missing = Path::new("/no/such/folder/tokens.ir");
    let error = TokenStoreWriter::create(missing, &config).unwrap_err();
    assert!(matches!(error, TokenStoreError::Io { .. }), "{error}");
}
