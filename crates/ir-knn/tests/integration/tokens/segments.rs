//! Segmented stores: the suite of ir-testkit, and codebooks.

use std::path::Path;

use ir_core::segments::SegmentStats;
use ir_core::{DocIds, DocNum, TokenVectors};
use ir_knn::{
    SegmentedTokenStore, SegmentedTokenStoreWriter, TokenCodebook, TokenCodebookConfig,
    TokenEncoding, TokenStoreConfig, TokenStoreError,
};
use ir_testkit::segments::{
    SegmentedIndexTest, check_abandoned_writers, check_history, check_killed_writers,
    check_lost_manifest, check_one_writer, check_readers_during_commits,
    check_readers_keep_their_commit, check_replaced_folder, segment_files, steps,
};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{codebook, documents, naive_max_sim, write};

const DIM: usize = 3;

/// Directions of the tokens of a document.
type Directions = Vec<[i8; DIM]>;

struct TokenTest {
    config: TokenStoreConfig,
    merge_factor: usize,
    memory: usize,
}

/// Unit vectors in these directions.
fn vectors(directions: &Directions) -> TokenVectors {
    let mut values = Vec::new();
    for direction in directions {
        let row = direction.map(f32::from);
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        values.extend(row.map(|x| x / length));
    }
    let spans = (0..directions.len()).map(|n| n..2 * n + 1).collect();
    TokenVectors::new(DIM, values, spans)
}

fn axes() -> TokenCodebook {
    let mut axes: Vec<f32> = Vec::new();
    for n in 0..8 {
        let signs = [n & 1, n >> 1 & 1, n >> 2 & 1].map(|bit| 1 - 2 * bit as i8);
        axes.extend(vectors(&vec![signs, [signs[0], 0, 0]]).values);
    }
    let config = TokenCodebookConfig::default().with_centroids(6_usize);
    TokenCodebook::train(DIM, &axes, &config).unwrap()
}

impl TokenTest {
    fn set_up(&self, writer: SegmentedTokenStoreWriter) -> SegmentedTokenStoreWriter {
        let mut writer = writer
            .with_merge_factor(self.merge_factor)
            .with_memory(self.memory);
        if let Some(codebook) = &self.config.codebook {
            writer.set_codebook(codebook.clone()).unwrap();
        }
        writer
    }

    fn all(documents: &[(String, Directions)]) -> Vec<(String, TokenVectors)> {
        let all = documents.iter();
        all.map(|(id, it)| (id.clone(), vectors(it))).collect()
    }
}

impl SegmentedIndexTest for TokenTest {
    type Content = Directions;
    type Writer = SegmentedTokenStoreWriter;
    type Reader = SegmentedTokenStore;
    type Error = TokenStoreError;

    fn create(&self, folder: &Path) -> Result<SegmentedTokenStoreWriter, TokenStoreError> {
        let writer = SegmentedTokenStoreWriter::create(folder, &self.config)?;
        Ok(self.set_up(writer))
    }

    fn open(&self, folder: &Path) -> Result<SegmentedTokenStoreWriter, TokenStoreError> {
        Ok(self.set_up(SegmentedTokenStoreWriter::open(folder)?))
    }

    fn put(&self, writer: &mut SegmentedTokenStoreWriter, id: &str, content: &Directions) {
        writer.put(id, &vectors(content)).unwrap();
    }

    fn delete(&self, writer: &mut SegmentedTokenStoreWriter, id: &str) -> bool {
        writer.delete(id).unwrap()
    }

    fn commit(&self, writer: &mut SegmentedTokenStoreWriter) {
        writer.commit().unwrap();
    }

    fn compact(&self, writer: &mut SegmentedTokenStoreWriter) {
        writer.compact().unwrap();
    }

    fn len(&self, writer: &SegmentedTokenStoreWriter) -> usize {
        writer.len()
    }

    fn read(&self, folder: &Path) -> SegmentedTokenStore {
        SegmentedTokenStore::open(folder).unwrap()
    }

    fn ids<'r>(&self, reader: &'r SegmentedTokenStore) -> &'r DocIds {
        reader.ids()
    }

    fn segments(&self, reader: &SegmentedTokenStore) -> Vec<SegmentStats> {
        reader.segments().collect()
    }

    /// Every document is encoded alone by another store: a naive map.
    fn check(&self, store: &SegmentedTokenStore, documents: &[(String, Directions)]) {
        store.verify().unwrap();
        assert!(store.ids().iter().eq(documents.iter().map(|(id, _)| id)));
        let docs: Vec<DocNum> = (0..documents.len() as u32).map(DocNum::new).collect();
        let tokens = documents.iter().map(|(_, it)| it.len() as u64);
        assert_eq!(store.tokens(), tokens.sum::<u64>());
        let query = vectors(&vec![[1, 2, -1], [0, 1, 0], [3, -1, 2]]);
        let expected = super::store(&self.config, &Self::all(documents));
        let mut scores = Vec::new();
        for &doc in &docs {
            let found = store.vectors(doc).unwrap();
            assert_eq!(found, expected.vectors(doc).unwrap());
            scores.push(naive_max_sim(&query, &found));
        }
        assert_eq!(store.scores(&query, &docs).unwrap(), scores);
        assert_eq!(
            store.top(&query, &docs, 3).unwrap().best,
            expected.top(&query, &docs, 3).unwrap().best
        );
    }

    fn saved(&self, documents: &[(String, Directions)]) -> Vec<u8> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("tokens.ir");
        write(&path, &self.config, &Self::all(documents));
        std::fs::read(path).unwrap()
    }
}

fn directions() -> impl Strategy<Value = Directions> {
    let direction = [-2..3_i8, -2..3, -2..3].prop_map(|direction| match direction {
        [0, 0, 0] => [1, 0, 0],
        some => some,
    });
    prop::collection::vec(direction, 0..5)
}

fn config(encoding: TokenEncoding, codebook: bool) -> TokenStoreConfig {
    let config = TokenStoreConfig::new(DIM)
        .with_encoding(encoding)
        .with_encoder("model")
        .with_spans(encoding != TokenEncoding::F32);
    if codebook || encoding.needs_codebook() {
        config.with_codebook(axes())
    } else {
        config
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_history_equals_a_store_written_once(
        steps in steps(directions()),
        merge_factor in 2..5_usize,
        encoding in prop::sample::select(TokenEncoding::ALL.to_vec()),
        codebook: bool,
        // Few documents: several segments per commit.
        memory in prop::sample::select(vec![0, 100, 1 << 20]),
    ) {
        let config = config(encoding, codebook);
        check_history(&TokenTest { config, merge_factor, memory }, &steps);
    }
}

#[test]
fn killed_writers() {
    let test = TokenTest {
        config: config(TokenEncoding::Residual4, true),
        merge_factor: 3,
        memory: 40,
    };
    check_killed_writers(&test, "tokens::segments::killed_writers", |id, commit| {
        let value = |axis: u64| ((id * 7 + commit * 5 + axis * 3) % 11) as i8;
        (0..id % 4)
            .map(|n| [1 + value(n), value(n + 1), value(n + 2)])
            .collect()
    });
}

#[test]
fn readers_and_writers() {
    for (encoding, merge_factor, memory) in [
        (TokenEncoding::F16, 8, 1 << 20),
        (TokenEncoding::Residual2, 2, 0),
    ] {
        let config = config(encoding, false);
        let test = TokenTest {
            config,
            merge_factor,
            memory,
        };
        let content = vec![[1, 2, 0], [0, 0, 1]];
        check_readers_keep_their_commit(&test, &content);
        check_readers_during_commits(&test, &content);
        check_one_writer(&test);
        check_abandoned_writers(&test, &content);
        check_lost_manifest(&test, &content);
        check_replaced_folder(&test, &content);
    }
}

/// A writer takes the codebook from the segments, and rejects another one.
#[test]
fn codebooks_of_segments() {
    let folder = TempDir::new().unwrap();
    let documents = documents(3, 20, DIM);
    let codebooks = [4, 5].map(|count| codebook(&documents, count));
    let config = TokenStoreConfig::new(DIM)
        .with_encoding(TokenEncoding::Residual4)
        .with_codebook(codebooks[0].clone());
    let mut writer = SegmentedTokenStoreWriter::create(folder.path(), &config).unwrap();
    writer.put("a", &documents[1].1).unwrap();
    writer.commit().unwrap();
    drop(writer);

    let mut writer = SegmentedTokenStoreWriter::open(folder.path()).unwrap();
    assert_eq!(writer.config(), &config);
    writer.set_codebook(codebooks[0].clone()).unwrap();
    let error = writer.set_codebook(codebooks[1].clone()).unwrap_err();
    assert!(matches!(error, TokenStoreError::OtherCodebook), "{error}");
    writer.put("b", &documents[2].1).unwrap();
    writer.commit().unwrap();
    // Without documents, there is no codebook.
    writer.delete("a").unwrap();
    writer.delete("b").unwrap();
    writer.commit().unwrap();
    drop(writer);
    let store = SegmentedTokenStore::open(folder.path()).unwrap();
    assert!(store.is_empty() && store.config().codebook.is_none());
    let mut writer = SegmentedTokenStoreWriter::open(folder.path()).unwrap();
    let error = writer.put("a", &documents[1].1).unwrap_err();
    assert!(
        matches!(error, TokenStoreError::NoCodebook { .. }),
        "{error}"
    );
    writer.set_codebook(codebooks[1].clone()).unwrap();
    writer.put("a", &documents[1].1).unwrap();
    writer.commit().unwrap();
    let store = SegmentedTokenStore::open(folder.path()).unwrap();
    assert_eq!(store.config().codebook, Some(codebooks[1].clone()));
}

/// A segment of another store, with other centroids.
#[test]
fn a_segment_with_another_codebook() {
    let documents = documents(3, 20, DIM);
    let folders = [4, 5].map(|count| {
        let folder = TempDir::new().unwrap();
        let config = TokenStoreConfig::new(DIM)
            .with_encoding(TokenEncoding::Residual4)
            .with_codebook(codebook(&documents, count));
        let mut writer = SegmentedTokenStoreWriter::create(folder.path(), &config).unwrap();
        for (id, vectors) in &documents[..2] {
            writer.put(id, vectors).unwrap();
            writer.commit().unwrap();
        }
        folder
    });
    let [one, other] = folders
        .each_ref()
        .map(|folder| segment_files(folder.path()));
    std::fs::copy(&other[1], &one[1]).unwrap();
    let error = SegmentedTokenStore::open(folders[0].path()).unwrap_err();
    assert!(error.is_damage(), "{error}");
}
