//! Files of vector indexes: any bytes are opened or refused; what opens is searched without a panic.
//! What an interrupted writer has left is taken up as far as it is whole.
//!
//! The first byte chooses the kind of file, and what becomes of it: the rest is the file; the rest is
//! written over places of a good file, and then one changed byte is always noticed; the same and all
//! checksums are made right again.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use ir_core::{DocIds, DocNum, Retriever, Search};
use ir_knn::{
    Effort, FlatIndex, FlatIndexWriter, HalfIndex, HnswConfig, HnswIndex, Similarity, SparseIndex,
    SparseVector, Verify,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const DIM: usize = 5;
const COUNT: usize = 70;

struct Good {
    folder: PathBuf,
    flat: Vec<u8>,
    half: Vec<u8>,
    sparse: Vec<u8>,
    hnsw: Vec<u8>,
    partial: Vec<u8>,
    journal: Vec<u8>,
}

fn ids() -> DocIds {
    (0..COUNT).map(|n| format!("d{n}")).collect()
}

fn row(n: usize) -> [f32; DIM] {
    [1.0 + n as f32, (n * 7 % 11) as f32, 0.0, -(n as f32), (n % 2) as f32]
}

fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("ir-fuzz-vectors-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("good");
        let rows: Vec<[f32; DIM]> = (0..COUNT).map(row).collect();
        let index = FlatIndex::of(ids(), &rows, Similarity::Cosine).expect("vectors");
        HalfIndex::of(&index).expect("small values").0.save(&path).expect("a file");
        let half = fs::read(&path).expect("the file");
        index.with_codes().save(&path).expect("a file");
        let flat = fs::read(&path).expect("the file");
        let vectors = rows.iter().map(|row| SparseVector::of(row).expect("finite"));
        let index = SparseIndex::new(ids(), DIM, vectors, Similarity::Cosine).expect("vectors");
        index.save(&path).expect("a file");
        let sparse = fs::read(&path).expect("the file");
        let mut twice = rows.clone();
        twice[20] = twice[3];
        let index = FlatIndex::of(ids(), &twice, Similarity::Cosine).expect("vectors");
        let config = HnswConfig::default().with_links(2);
        let index = HnswIndex::new(index, &config).expect("a graph");
        index.save(&path).expect("a file");
        let hnsw = fs::read(&path).expect("the file");
        for some in [30, COUNT] {
            let mut writer = FlatIndexWriter::resume(&path, DIM, Similarity::Cosine).expect("files");
            for (n, row) in rows[..some].iter().enumerate().skip(writer.len()) {
                writer.push(&format!("d{n}"), row).expect("a vector");
            }
        }
        let partial = fs::read(folder.join("good.partial")).expect("the file");
        let journal = fs::read(folder.join("good.partial-ids")).expect("the file");
        Good { folder, flat, half, sparse, hnsw, partial, journal }
    })
}

/// Writes single bytes over `bytes`: two bytes for the place, one for the value.
fn overwrite(bytes: &mut [u8], changes: &[u8]) {
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]]));
        if !bytes.is_empty() {
            let place = place % bytes.len();
            bytes[place] = change[2];
        }
    }
}

/// Makes the checksums of head, sections and table right again, where the table can be read.
fn seal(bytes: &mut Vec<u8>) -> Option<()> {
    let end = bytes.len().checked_sub(24)?;
    let start = usize::try_from(u64::from_le_bytes(bytes[end..end + 8].try_into().ok()?)).ok()?;
    let mut table: Value = serde_json::from_slice(bytes.get(start..end)?).ok()?;
    let head = crc32fast::hash(bytes.get(..12)?);
    bytes[12..16].copy_from_slice(&head.to_le_bytes());
    let mut at = 64_usize;
    for section in table.get_mut("sections")?.as_array_mut()? {
        let length = usize::try_from(section.get("bytes")?.as_u64()?).ok()?;
        let next = at.checked_add(length)?.checked_next_multiple_of(64)?;
        section["crc32"] = crc32fast::hash(bytes.get(at..next)?).into();
        at = next;
    }
    let table = serde_json::to_vec(&table).ok()?;
    bytes.truncate(start);
    bytes.extend(&table);
    bytes.extend((start as u64).to_le_bytes());
    bytes.extend((table.len() as u32).to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes[start..]).to_le_bytes());
    bytes.extend(b"\nir-end\n");
    Some(())
}

fn use_flat(index: &FlatIndex) {
    let _ = (index.verify(), index.has_codes());
    search_densely(index, index.dim());
    for n in 0..index.len().min(100) {
        let doc = DocNum::new(n as u32);
        let _ = (index.ids().id(doc), index.row(doc).len());
    }
}

fn use_half(index: &HalfIndex) {
    let _ = index.verify();
    search_densely(index, index.dim());
    for n in 0..index.len().min(100) {
        let doc = DocNum::new(n as u32);
        let _ = (index.ids().id(doc), index.row(doc).len());
    }
}

fn search_densely(index: &dyn Retriever<Query = [f32]>, dim: usize) {
    let query = vec![0.5; dim.min(1 << 16)];
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    for how in [Search::top(3), Search::top(100).within(&even)] {
        let batch = [(&query[..], how); 5];
        if let (Ok(one), Ok(all)) = (index.search(&query, &how), index.search_batch(&batch)) {
            assert!(one.len() <= how.k() && all.len() == batch.len());
            assert!(one.iter().all(|hit| hit.doc.index() < index.ids().len()));
        }
    }
}

fn use_hnsw(index: &HnswIndex) {
    use_flat(index.flat());
    let _ = index.verify();
    let query = vec![0.5; index.flat().dim().min(1 << 16)];
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    for effort in [1, 4, 1000] {
        let searcher = index.searcher(Effort(effort));
        for how in [Search::top(3), Search::top(2).within(&even)] {
            if let Ok(one) = searcher.search(&query, &how) {
                assert!(one.len() <= how.k());
                assert!(one.iter().all(|hit| hit.doc.index() < index.flat().len()));
            }
        }
    }
}

fn use_sparse(index: &SparseIndex) {
    let query = SparseVector::new(vec![1, 3], vec![0.5, 2.0]).expect("in order");
    let even = |doc: DocNum| doc.get().is_multiple_of(2);
    for how in [Search::top(3), Search::top(100).within(&even)] {
        if let Ok(one) = index.search(&query, &how) {
            assert!(one.len() <= how.k());
            assert!(one.iter().all(|hit| hit.doc.index() < index.len()));
        }
    }
    for n in 0..index.len().min(100) {
        let doc = DocNum::new(n as u32);
        let _ = (index.ids().id(doc), index.row(doc).0.len());
    }
}

fn take_up(good: &Good, bytes: &[u8], form: u8) {
    let path = good.folder.join("taken");
    let (mut partial, mut journal) = (good.partial.clone(), good.journal.clone());
    match form {
        0 => journal = bytes.to_vec(),
        1 => overwrite(&mut journal, bytes),
        _ => overwrite(&mut partial, bytes),
    }
    let whole = partial == good.partial && journal == good.journal;
    fs::write(good.folder.join("taken.partial"), partial).expect("a file");
    fs::write(good.folder.join("taken.partial-ids"), journal).expect("a file");
    let Ok(mut writer) = FlatIndexWriter::resume(&path, DIM, Similarity::Cosine) else {
        return;
    };
    let kept = writer.len();
    assert!(!whole || kept == COUNT, "whole blocks were thrown away");
    assert!(writer.ids().iter().eq((0..kept).map(|n| format!("d{n}"))) || form == 0);
    writer.push("last", &row(kept)).expect("a vector");
    writer.finish().expect("a file");
    let index = FlatIndex::open(&path).expect("a complete index");
    assert_eq!(index.len(), kept + 1);
    assert!((0..=kept).all(|n| index.row(DocNum::new(n as u32)) == row(n)) || form == 0);
    use_flat(&index);
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, rest)) = input.split_first() else {
        return;
    };
    let (good, form) = (good(), kind / 5 % 3);
    let whole = match kind % 5 {
        0 => &good.flat,
        1 => &good.sparse,
        2 => &good.hnsw,
        3 => &good.half,
        _ => return take_up(good, rest, form),
    };
    let mut bytes = whole.clone();
    match form {
        0 => bytes = rest.to_vec(),
        1 => overwrite(&mut bytes, rest),
        _ => {
            overwrite(&mut bytes, rest);
            if seal(&mut bytes).is_none() {
                return;
            }
        }
    }
    let changed = bytes.iter().zip(whole).filter(|(a, b)| a != b).count();
    let path = good.folder.join("changed");
    fs::write(&path, &bytes).expect("a file");
    let strict = match kind % 5 {
        0 => {
            let strict = FlatIndex::open(&path);
            let lenient = FlatIndex::open_with(&path, Verify::Tables);
            assert!(strict.is_err() || lenient.is_ok());
            if let Ok(index) = &lenient {
                use_flat(index);
            }
            strict.is_ok()
        }
        1 => {
            let opened = SparseIndex::open(&path);
            if let Ok(index) = &opened {
                use_sparse(index);
            }
            opened.is_ok()
        }
        3 => {
            let strict = HalfIndex::open(&path);
            let lenient = HalfIndex::open_with(&path, Verify::Tables);
            assert!(strict.is_err() || lenient.is_ok());
            if let Ok(index) = &lenient {
                use_half(index);
            }
            strict.is_ok()
        }
        _ => {
            let strict = HnswIndex::open(&path);
            let lenient = HnswIndex::open_with(&path, Verify::Tables);
            assert!(strict.is_err() || lenient.is_ok());
            if let Ok(index) = &lenient {
                use_hnsw(index);
            }
            strict.is_ok()
        }
    };
    if form == 1 {
        assert!(changed != 1 || !strict, "one changed byte was not noticed");
        assert!(changed != 0 || strict, "a good index was refused");
    }
});
