//! Vector index files: any bytes are opened or rejected, and searching what opens never panics.
//! A resumed writer recovers the complete blocks of an interrupted one.
//!
//! The first byte selects the index and the input: the rest is the file; the rest overwrites bytes
//! of a valid file, where a single changed byte is always detected; the rest overwrites bytes of
//! one section, with correct checksums.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use common::{overwrite, sections, write_sections};
use ir_core::store::Verify;
use ir_core::{DocIds, DocNum, NoProgress, Retriever, Search};
use ir_knn::{
    EfSearch, FlatIndex, FlatIndexWriter, HnswConfig, HnswIndex, SparseIndex, SparseVector,
    VectorSimilarity,
};
use libfuzzer_sys::fuzz_target;

const DIM: usize = 5;
const COUNT: usize = 70;
const SIMILARITY: VectorSimilarity = VectorSimilarity::Cosine;

struct ValidFiles {
    folder: PathBuf,
    flat: Vec<u8>,
    sparse: Vec<u8>,
    hnsw: Vec<u8>,
    partial: Vec<u8>,
    journal: Vec<u8>,
}

fn ids() -> DocIds {
    (0..COUNT).map(|n| format!("d{n}")).collect()
}

fn row(n: usize) -> [f32; DIM] {
    [
        1.0 + n as f32,
        (n * 7 % 11) as f32,
        0.0,
        -(n as f32),
        (n % 2) as f32,
    ]
}

fn flat_index(rows: &[[f32; DIM]]) -> FlatIndex {
    FlatIndex::from_row_major(ids(), DIM, rows.concat(), SIMILARITY).expect("valid vectors")
}

fn valid_files() -> &'static ValidFiles {
    static VALID: OnceLock<ValidFiles> = OnceLock::new();
    VALID.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("ir-fuzz-vectors-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("valid");
        let rows: Vec<[f32; DIM]> = (0..COUNT).map(row).collect();
        flat_index(&rows).with_codes().save(&path).expect("a file");
        let flat = fs::read(&path).expect("the file");
        let vectors = rows
            .iter()
            .map(|row| SparseVector::from_dense(row).expect("finite"));
        let index = SparseIndex::new(ids(), DIM, vectors, SIMILARITY).expect("valid vectors");
        index.save(&path).expect("a file");
        let sparse = fs::read(&path).expect("the file");
        let mut repeated = rows.clone();
        repeated[20] = repeated[3];
        let config = HnswConfig::default().with_m(2);
        let index =
            HnswIndex::build(flat_index(&repeated), &config, &mut NoProgress).expect("a graph");
        index.save(&path).expect("a file");
        let hnsw = fs::read(&path).expect("the file");
        for count in [30, COUNT] {
            let mut writer = FlatIndexWriter::resume(&path, DIM, SIMILARITY).expect("files");
            for (n, row) in rows[..count].iter().enumerate().skip(writer.len()) {
                writer.push(&format!("d{n}"), row).expect("a vector");
            }
        }
        let partial = fs::read(folder.join("valid.partial")).expect("the file");
        let journal = fs::read(folder.join("valid.partial-ids")).expect("the file");
        ValidFiles {
            folder,
            flat,
            sparse,
            hnsw,
            partial,
            journal,
        }
    })
}

fn exercise_flat(index: &FlatIndex) {
    let _ = (index.verify(), index.has_codes());
    let query = vec![0.5; index.dim().min(1 << 16)];
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    for search in [Search::top(3), Search::top(100).within(&even)] {
        let batch = [(&query[..], search); 5];
        if let (Ok(ranking), Ok(all)) = (index.search(&query, &search), index.search_batch(&batch))
        {
            assert!(ranking.len() <= search.k() && all.len() == batch.len());
            assert!(ranking.iter().all(|hit| hit.doc.index() < index.len()));
        }
    }
    for n in 0..index.len().min(100) {
        let doc = DocNum::new(n as u32);
        let _ = (index.ids().id(doc), index.vector(doc).len());
    }
}

fn exercise_hnsw(index: &HnswIndex) {
    exercise_flat(index.flat());
    let _ = index.verify();
    let query = vec![0.5; index.flat().dim().min(1 << 16)];
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    for ef_search in [1, 4, 1000] {
        let searcher = index.searcher(EfSearch(ef_search));
        for search in [Search::top(3), Search::top(2).within(&even)] {
            if let Ok(ranking) = searcher.search(&query, &search) {
                assert!(ranking.len() <= search.k());
                assert!(
                    ranking
                        .iter()
                        .all(|hit| hit.doc.index() < index.flat().len())
                );
            }
        }
    }
}

fn exercise_sparse(index: &SparseIndex) {
    let query = SparseVector::new(vec![1, 3], vec![0.5, 2.0]).expect("ascending columns");
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    for search in [Search::top(3), Search::top(100).within(&even)] {
        if let Ok(ranking) = index.search(&query, &search) {
            assert!(ranking.len() <= search.k());
            assert!(ranking.iter().all(|hit| hit.doc.index() < index.len()));
        }
    }
    for n in 0..index.len().min(100) {
        let doc = DocNum::new(n as u32);
        let _ = (index.ids().id(doc), index.vector(doc).0.len());
    }
}

fn resume(valid: &ValidFiles, bytes: &[u8], input: u8) {
    let path = valid.folder.join("resumed");
    let (mut partial, mut journal) = (valid.partial.clone(), valid.journal.clone());
    match input {
        0 => journal = bytes.to_vec(),
        1 => overwrite(&mut journal, bytes),
        _ => overwrite(&mut partial, bytes),
    }
    let unchanged = partial == valid.partial && journal == valid.journal;
    fs::write(valid.folder.join("resumed.partial"), partial).expect("a file");
    fs::write(valid.folder.join("resumed.partial-ids"), journal).expect("a file");
    let Ok(mut writer) = FlatIndexWriter::resume(&path, DIM, SIMILARITY) else {
        return;
    };
    let recovered = writer.len();
    assert!(
        !unchanged || recovered == COUNT,
        "complete blocks were discarded"
    );
    assert!(
        writer
            .ids()
            .iter()
            .eq((0..recovered).map(|n| format!("d{n}")))
            || input == 0
    );
    writer.push("last", &row(recovered)).expect("a vector");
    writer.finish().expect("a file");
    let index = FlatIndex::open(&path).expect("a complete index");
    assert_eq!(index.len(), recovered + 1);
    let is_equal = |n: usize| index.vector(DocNum::new(n as u32)) == row(n);
    assert!((0..=recovered).all(is_equal) || input == 0);
    exercise_flat(&index);
}

fuzz_target!(|input: &[u8]| {
    let Some((&selector, rest)) = input.split_first() else {
        return;
    };
    let (files, input) = (valid_files(), selector / 4 % 3);
    let valid = match selector % 4 {
        0 => &files.flat,
        1 => &files.sparse,
        2 => &files.hnsw,
        _ => return resume(files, rest, input),
    };
    let mut bytes = valid.clone();
    match input {
        0 => bytes = rest.to_vec(),
        1 => overwrite(&mut bytes, rest),
        _ => {
            let mut sections = sections(valid);
            let Some((&number, rest)) = rest.split_first() else {
                return;
            };
            let number = usize::from(number) % sections.len();
            overwrite(&mut sections[number].1, rest);
            bytes = write_sections(valid, &sections);
        }
    }
    let changed = bytes.iter().zip(valid).filter(|(a, b)| a != b).count();
    let path = files.folder.join("changed");
    fs::write(&path, &bytes).expect("a file");
    let opened = match selector % 4 {
        0 => {
            let strict = FlatIndex::open(&path);
            let lenient = FlatIndex::open_with(&path, Verify::SmallSections);
            assert!(strict.is_err() || lenient.is_ok());
            if let Ok(index) = &lenient {
                exercise_flat(index);
            }
            strict.is_ok()
        }
        1 => {
            let opened = SparseIndex::open(&path);
            if let Ok(index) = &opened {
                exercise_sparse(index);
            }
            opened.is_ok()
        }
        _ => {
            let strict = HnswIndex::open(&path);
            let lenient = HnswIndex::open_with(&path, Verify::SmallSections);
            assert!(strict.is_err() || lenient.is_ok());
            if let Ok(index) = &lenient {
                exercise_hnsw(index);
            }
            strict.is_ok()
        }
    };
    if input == 1 {
        assert!(changed != 1 || !opened, "one changed byte was not detected");
        assert!(changed != 0 || opened, "a valid index was rejected");
    }
});
