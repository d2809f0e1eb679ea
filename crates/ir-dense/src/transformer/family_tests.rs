//! Kernels of all architectures against burn's operations: the folders of `testdata/families`.

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

use ir_core::{Encoder, Side};
use rayon::ThreadPoolBuilder;

use super::cpu::CpuTransformer;
use super::{TokenBatch, Transformer};
use crate::encode::{BiEncoder, EncoderConfig, SideConfig, Tower};
use crate::kernels::team::{ParallelRegion, ThreadTeam};
use crate::kernels::tests::largest;
use crate::model_folder::safetensors::checksum;
use crate::model_folder::{TensorSource, WeightFile};
use crate::precision::Precision;

/// Maximum difference of the hidden states of padded batches and of packed weights, as a fraction
/// of the largest component.
const TOLERANCE: f32 = 1e-4;

struct Family {
    name: String,
    tower: Tower,
    model: Transformer,
    texts: Vec<String>,
    /// Token ids of the texts.
    ids: Vec<Vec<u32>>,
}

/// Folders of all families, by name.
pub(crate) fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/families");
    let folders = read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.filter(|it| it.is_dir()).collect();
    folders.sort();
    assert!(!folders.is_empty());
    folders
}

fn families() -> Vec<Family> {
    let family = |folder: &PathBuf| {
        let tower = Tower::open(folder, &EncoderConfig::default()).unwrap();
        let expected = read_to_string(folder.join("expected.json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
        let texts: Vec<String> = serde_json::from_value(expected["texts"].clone()).unwrap();
        let ids = texts.iter().map(|text| {
            let ids = tower.tokenize(Side::Document, &SideConfig::default(), text);
            ids.unwrap().ids
        });
        Family {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            model: tower.transformer().unwrap(),
            ids: ids.collect(),
            tower,
            texts,
        }
    };
    folders().iter().map(family).collect()
}

impl Family {
    /// Packed weights of the file.
    fn packed(&self, precision: Precision) -> CpuTransformer {
        let file = WeightFile::open(&self.tower.transformer_folder).unwrap();
        let packed = CpuTransformer::load(self.model.config(), &file, precision);
        packed.unwrap().unwrap()
    }

    /// Texts with few tokens together, and all texts.
    fn batches(&self) -> [TokenBatch; 2] {
        let short = [16, 2, 0].map(|text: usize| &self.ids[text][..]);
        let batches = [TokenBatch::new(&short), TokenBatch::new(&self.ids)];
        assert!(batches[0].ids().len() <= super::BLOCK_ROWS, "{}", self.name);
        assert!(
            batches[1].ids().len() > 2 * super::BLOCK_ROWS,
            "{}",
            self.name
        );
        batches
    }
}

fn hidden_states(model: &CpuTransformer, batch: &TokenBatch) -> Vec<f32> {
    model.forward(batch, &mut ParallelRegion::sequential(), <[f32]>::to_vec)
}

/// Hidden states by the operations of burn, or the kernels of training.
fn states_of_module(model: &Transformer, batch: &TokenBatch) -> Vec<f32> {
    model.forward(batch).try_into_vec_as::<f32>().unwrap()
}

/// Maximum difference, as a fraction of the largest expected component.
fn difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let differences: Vec<f32> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    assert!(differences.iter().all(|it| it.is_finite()));
    largest(&differences) / largest(expected)
}

#[test]
fn packed_families_equal_modules() {
    for family in families() {
        let Family { name, model, .. } = &family;
        let expected = checksum("a text", &model.parameters()).unwrap();
        let of_file = family.packed(Precision::F32);
        let of_module = CpuTransformer::new(model, Precision::F32).unwrap();
        for packed in [&of_file, &of_module] {
            assert_eq!(packed.checksum().with_text("a text"), expected, "{name}");
        }
        for batch in family.batches() {
            let states = hidden_states(&of_file, &batch);
            assert!(states == hidden_states(&of_module, &batch), "{name}");
            let found = difference(&states, &states_of_module(model, &batch));
            assert!(found < TOLERANCE, "{name}: {found:e}");
        }
    }
}

#[test]
fn padding_of_families_has_no_effect() {
    for Family {
        name,
        tower,
        model,
        ids,
        ..
    } in families()
    {
        let padded = TokenBatch::padded(&ids, tower.tokenizer.padding());
        assert!(padded.has_padding());
        let found = states_of_module(&model, &padded);
        let width = model.config().hidden_size;
        let length = padded.ids().len() / ids.len() * width;
        let rows = found.chunks_exact(length).zip(&ids);
        let found: Vec<f32> = rows
            .flat_map(|(row, ids)| &row[..ids.len() * width])
            .copied()
            .collect();
        let found = difference(&found, &states_of_module(&model, &TokenBatch::new(&ids)));
        assert!(found < TOLERANCE, "{name}: {found:e}");
    }
}

/// The last tokens of every text are not attended to: its last third, or all but one.
#[test]
fn masked_tokens_of_families_equal_padding() {
    for family in families() {
        let Family {
            name, model, ids, ..
        } = &family;
        // Disentangled attention masks queries, too.
        if model.config().layer.disentangled.is_some() {
            continue;
        }
        let packed = family.packed(Precision::F32);
        let ids: Vec<&[u32]> = [16, 18, 2].map(|text: usize| &ids[text][..]).into();
        let attended = |ids: &&[u32]| (ids.len() * 2 / 3).max(1);
        let attended: Vec<usize> = ids.iter().map(attended).collect();
        let batch = TokenBatch::new(&ids).with_attended(attended.clone());
        assert!(batch.has_padding());
        let states = hidden_states(&packed, &batch);
        let mut rest = &states[..];
        for (&ids, attended) in ids.iter().zip(attended) {
            let alone = TokenBatch::new(&[ids]).with_attended(vec![attended]);
            let alone_states = hidden_states(&packed, &alone);
            let (of_text, others) = rest.split_at(alone_states.len());
            rest = others;
            assert!(alone_states == of_text, "{name}");
            let padded = TokenBatch::padded(&[ids], 0).with_attended(vec![attended]);
            let expected = states_of_module(model, &padded);
            // A token of which the window has no token attends to nothing here, and to all there.
            let window = model.config().layer.window.unwrap_or(ids.len());
            let rows = ids.len().min(attended + window) * model.config().hidden_size;
            let found = difference(&of_text[..rows], &expected[..rows]);
            assert!(found < TOLERANCE, "{name}: {found:e}");
        }
    }
}

/// Relative errors, ‖difference‖ / ‖f32‖, are up to 0.019 in bf16 (T5) and 0.047 in int8
/// (ModernBERT): the weights are random, the layers narrow.
#[test]
fn low_precision_of_families_is_near_f32() {
    let norm = |values: &[f32]| values.iter().map(|x| x * x).sum::<f32>().sqrt();
    for family in families() {
        let [_, batch] = family.batches();
        let expected = hidden_states(&family.packed(Precision::F32), &batch);
        // Twice the largest errors.
        for (precision, most) in [(Precision::Bf16, 0.04), (Precision::Int8, 0.1)] {
            let states = hidden_states(&family.packed(precision), &batch);
            let errors: Vec<f32> = states.iter().zip(&expected).map(|(a, b)| a - b).collect();
            let found = norm(&errors) / norm(&expected);
            assert!(
                found > 0.0 && found < most,
                "{} in {precision}: {found}",
                family.name
            );
        }
    }
}

#[test]
fn families_do_not_depend_on_threads() {
    for family in families() {
        let [short, long] = family.batches();
        for precision in Precision::ALL {
            let model = family.packed(precision);
            let expected = hidden_states(&model, &short);
            for threads in [2, 3] {
                let team = ThreadTeam::new(threads, Box::leak(Box::default()));
                let found = model.forward(&short, &mut team.region(), <[f32]>::to_vec);
                assert!(
                    found == expected,
                    "{} in {precision} on {threads} threads",
                    family.name
                );
            }
            let on = |threads| {
                let pool = ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| hidden_states(&model, &long))
            };
            let expected = on(1);
            for threads in [2, 3] {
                assert!(
                    on(threads) == expected,
                    "{} in {precision} on {threads} threads",
                    family.name
                );
            }
        }
    }
}

#[test]
fn saved_families_equal_their_folders() {
    let folder = tempfile::tempdir().unwrap();
    for family in families() {
        let name = &family.name;
        let encoder = BiEncoder::open(&family.tower.folder).unwrap();
        let folder = folder.path().join(name);
        encoder.save(&folder).unwrap();
        let saved = BiEncoder::open(&folder).unwrap();
        let model = saved.tower(Side::Document).transformer().unwrap();
        let checksums = [&model, &family.model].map(|it| checksum("", &it.parameters()).unwrap());
        assert_eq!(checksums[0], checksums[1], "{name}");
        let texts: Vec<&str> = family.texts.iter().map(String::as_str).collect();
        for side in [Side::Query, Side::Document] {
            assert_eq!(saved.fingerprint(side), encoder.fingerprint(side), "{name}");
            let vectors = [&saved, &encoder].map(|it| it.encode(side, &texts).unwrap());
            assert!(vectors[0] == vectors[1], "{name}");
        }
        // These three have the names of the model's own code; others have the names of the file
        // without a prefix.
        if matches!(&name[..], "gte" | "jina-embeddings-v3" | "nomic-bert") {
            continue;
        }
        let [names, all] =
            [&folder, &family.tower.folder].map(|it| WeightFile::open(it).unwrap().names());
        for tensor in names {
            let is_in_file = all
                .iter()
                .any(|it| *it == tensor || it.ends_with(&format!(".{tensor}")));
            assert!(is_in_file, "{name}: {tensor}");
        }
    }
}
