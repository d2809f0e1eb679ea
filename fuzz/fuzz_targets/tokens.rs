//! Files of token stores: any bytes are opened or rejected, and reading and scoring what opens
//! never panics. A resumed writer recovers the complete blocks of an interrupted one.
//!
//! The first byte selects the encoding and the input: the rest is the file; the rest overwrites
//! bytes of a valid file, where a single changed byte is always detected; the rest overwrites bytes
//! of one section, with correct checksums; the rest overwrites bytes of the journal of a writer.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use common::{overwrite, sections, write_sections};
use ir_core::store::Verify;
use ir_core::{DocNum, TokenVectors};
use ir_knn::{
    SegmentedTokenStore, TokenCodebook, TokenCodebookConfig, TokenEncoding, TokenStore,
    TokenStoreConfig, TokenStoreWriter,
};
use libfuzzer_sys::fuzz_target;

const DIM: usize = 4;
const COUNT: usize = 9;

struct ValidFiles {
    folder: PathBuf,
    config: TokenStoreConfig,
    store: Vec<u8>,
    partial: Vec<u8>,
    journal: Vec<u8>,
}

/// Unit vectors; the number of tokens is `n % 4`.
fn vectors(n: usize) -> TokenVectors {
    let mut values = Vec::new();
    for token in 0..n % 4 {
        let row = [1.0, n as f32, token as f32, -0.5];
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        values.extend(row.map(|x| x / length));
    }
    let spans = (0..n % 4).map(|token| 2 * token..3 * token + 1);
    TokenVectors::new(DIM, values, spans.collect())
}

fn push(writer: &mut TokenStoreWriter, count: usize) {
    for n in writer.len()..count {
        writer
            .push(&format!("d{n}"), &vectors(n))
            .expect("a document");
    }
}

/// Files of each encoding.
fn valid_files() -> &'static [ValidFiles] {
    static VALID: OnceLock<Vec<ValidFiles>> = OnceLock::new();
    VALID.get_or_init(|| {
        let sample: Vec<f32> = (0..COUNT).flat_map(|n| vectors(n).values).collect();
        let config = TokenCodebookConfig::default().with_centroids(3_usize);
        let codebook = TokenCodebook::train(DIM, &sample, &config).expect("unit vectors");
        let files = |encoding: TokenEncoding| {
            let name = format!("ir-fuzz-tokens-{}-{encoding}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).expect("a folder");
            let path = folder.join("valid");
            let mut config = TokenStoreConfig::new(DIM)
                .with_encoding(encoding)
                .with_spans(true);
            if encoding != TokenEncoding::F32 {
                config = config.with_codebook(codebook.clone());
            }
            let mut writer = TokenStoreWriter::create(&path, &config).expect("files");
            push(&mut writer, COUNT);
            writer.finish().expect("a file");
            let store = fs::read(&path).expect("the file");
            for count in [5, COUNT] {
                let mut writer = TokenStoreWriter::resume(&path, &config).expect("files");
                push(&mut writer, count);
            }
            ValidFiles {
                partial: fs::read(folder.join("valid.partial")).expect("the file"),
                journal: fs::read(folder.join("valid.partial-ids")).expect("the file"),
                folder,
                config,
                store,
            }
        };
        TokenEncoding::ALL.map(files).into()
    })
}

fn exercise(store: TokenStore) {
    let _ = store.verify();
    let count = store.len().min(100) as u32;
    let docs: Vec<DocNum> = (0..count).map(DocNum::new).collect();
    for &doc in &docs {
        let _ = (store.ids().id(doc), store.vectors(doc));
    }
    let dim = store.config().dim;
    let query = TokenVectors::new(dim, vec![0.25; 2 * dim], vec![0..0; 2]);
    let store = SegmentedTokenStore::from(store);
    if let (Ok(scores), Ok(top)) = (store.scores(&query, &docs), store.top(&query, &docs, 2)) {
        assert_eq!(scores.len(), docs.len());
        assert!(top.best.len() <= 2 && top.scored_pairs <= top.pairs);
    }
}

fn resume(valid: &ValidFiles, changes: &[u8]) {
    let path = valid.folder.join("resumed");
    let mut journal = valid.journal.clone();
    overwrite(&mut journal, changes);
    fs::write(valid.folder.join("resumed.partial"), &valid.partial).expect("a file");
    fs::write(valid.folder.join("resumed.partial-ids"), &journal).expect("a file");
    let Ok(mut writer) = TokenStoreWriter::resume(&path, &valid.config) else {
        return;
    };
    let recovered = writer.len();
    assert!(
        journal != valid.journal || recovered == COUNT,
        "complete blocks were discarded"
    );
    assert!(
        writer
            .ids()
            .iter()
            .eq((0..recovered).map(|n| format!("d{n}")))
    );
    push(&mut writer, COUNT);
    writer.finish().expect("a file");
    assert!(fs::read(&path).expect("the file") == valid.store);
}

fuzz_target!(|input: &[u8]| {
    let Some((&selector, rest)) = input.split_first() else {
        return;
    };
    let files = valid_files();
    let valid = &files[usize::from(selector / 4) % files.len()];
    let mut bytes = valid.store.clone();
    match selector % 4 {
        0 => bytes = rest.to_vec(),
        1 => overwrite(&mut bytes, rest),
        2 => {
            let mut sections = sections(&valid.store);
            let Some((&number, rest)) = rest.split_first() else {
                return;
            };
            let number = usize::from(number) % sections.len();
            overwrite(&mut sections[number].1, rest);
            bytes = write_sections(&valid.store, &sections);
        }
        _ => return resume(valid, rest),
    }
    let path = valid.folder.join("changed");
    fs::write(&path, &bytes).expect("a file");
    let strict = TokenStore::open_with(&path, Verify::AllSections);
    let lenient = TokenStore::open_with(&path, Verify::SmallSections);
    assert!(strict.is_err() || lenient.is_ok());
    if selector % 4 == 1 {
        let changed = bytes
            .iter()
            .zip(&valid.store)
            .filter(|(a, b)| a != b)
            .count();
        assert!(
            changed != 1 || strict.is_err(),
            "one changed byte was not detected"
        );
        assert!(changed != 0 || strict.is_ok(), "a valid store was rejected");
    }
    [strict, lenient, TokenStore::open(&path)]
        .into_iter()
        .flatten()
        .for_each(exercise);
});
