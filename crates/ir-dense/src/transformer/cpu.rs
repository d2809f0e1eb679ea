//! Inference on the CPU with packed weights.
//!
//! burn's CPU backend computes softmax, GELU and attention in many passes over memory. Here blocks
//! of rows pass through all projections between two attentions while they are in the L2 cache, and
//! matrix products read weights that were packed when the model was loaded. Results in precision
//! f32 equal [`Transformer::forward`] up to rounding.

use std::cell::RefCell;

use burn::tensor::Device;
use rayon::prelude::*;

use super::cpu_attention::CpuAttention;
use super::cpu_convolution::CpuConvolution;
use super::cpu_layer::{
    BlockPositions, CpuLayer, CpuLinear, CpuNorm, add_layer, add_linear, add_norm,
};
use super::rotary::RotaryTable;
use super::weights::{EmbeddingWeights, LayerWeights, NormWeights, WeightReader};
use super::{BLOCK_ROWS, TokenBatch, Transformer};
use crate::error::ModelError;
use crate::kernels::aligned::AlignedBuffer;
use crate::kernels::low_precision::{LowPrecision, LowPrecisionRows};
use crate::kernels::matrix::StridedRows;
use crate::kernels::team::ParallelRegion;
use crate::model_folder::safetensors::TensorChecksum;
use crate::model_folder::{TensorSource, TensorValues, TransformerConfig};
use crate::precision::{OutlierChannels, Precision};

/// Intermediate results of a batch, one row per token.
#[derive(Default)]
struct BatchScratch {
    x: AlignedBuffer,
    qkv: AlignedBuffer,
    context: AlignedBuffer,
    embedded: AlignedBuffer,
    /// Position of every token in its text, for rotary position embeddings.
    positions: Vec<u32>,
    /// Of layers with global and with local attention.
    rotary: [RotaryTable; 2],
}

thread_local! {
    // Taken while it is in use, because a thread may run another batch while it waits for one.
    static BATCH_SCRATCH: RefCell<BatchScratch> = RefCell::default();
}

/// [`Transformer`] with weights packed for CPU inference.
#[derive(Debug)]
pub(crate) struct CpuTransformer {
    config: TransformerConfig,
    embeddings: CpuEmbeddings,
    embedding_norm: Option<CpuNorm>,
    embedding_projection: Option<CpuLinear>,
    /// Normalized embeddings of relative positions, until the last layer is packed.
    relative_positions: Vec<f32>,
    convolution: Option<CpuConvolution>,
    layers: Vec<CpuLayer>,
    /// Normalization after the last layer, which is added to the checksum last.
    final_norm: Option<CpuNorm>,
    attention: CpuAttention,
    checksum: TensorChecksum,
}

/// Embedding tables, row-major `[rows, embedding_size]`. Tables of a memory-mapped file are used in
/// place.
#[derive(Debug)]
struct CpuEmbeddings {
    tokens: TensorValues,
    /// Factor of token embeddings.
    scale: f32,
    positions: Option<TensorValues>,
    types: Option<TensorValues>,
}

impl CpuTransformer {
    /// Packs the weights of a file, one layer at a time. `None` if a linear layer has too many
    /// inputs for int8.
    pub(crate) fn load(
        config: &TransformerConfig,
        weights: &dyn TensorSource,
        precision: Precision,
    ) -> Result<Option<Self>, ModelError> {
        let reader = WeightReader::new(config, weights);
        let layers = (0..config.stored_layers()).map(|number| reader.layer(number));
        Self::pack(config, reader.embeddings()?, layers, precision)
    }

    /// Packs the weights of a model. `None` if they are not in CPU memory or on a device with
    /// automatic differentiation, or a projection has too many inputs for int8.
    pub(crate) fn new(model: &Transformer, precision: Precision) -> Option<Self> {
        let device = model.device();
        if device != Device::flex() || device.is_autodiff() {
            return None;
        }
        let embeddings = EmbeddingWeights::from_model(model)?;
        let layers = model.layers.iter().map(LayerWeights::from_layer);
        let layers = layers.collect::<Option<Vec<_>>>()?.into_iter().map(Ok);
        // Weights in memory cannot fail to be read.
        Self::pack(model.config(), embeddings, layers, precision)
            .ok()
            .flatten()
    }

    fn pack(
        config: &TransformerConfig,
        mut weights: EmbeddingWeights,
        layers: impl Iterator<Item = Result<LayerWeights, ModelError>>,
        precision: Precision,
    ) -> Result<Option<Self>, ModelError> {
        let final_norm = weights.final_norm.take();
        let Some(mut packed) = Self::with_embeddings(config, weights, precision) else {
            return Ok(None);
        };
        for (number, layer) in layers.enumerate() {
            let layer = layer?;
            add_layer(&mut packed.checksum, number, &layer);
            let positions = &packed.relative_positions;
            let Some(layer) = CpuLayer::new(config, layer, positions, precision) else {
                return Ok(None);
            };
            packed.layers.push(layer);
        }
        add_norm(&mut packed.checksum, "final_norm", final_norm.as_ref());
        packed.final_norm = final_norm.map(|norm| CpuNorm::new(norm, config));
        packed.relative_positions = Vec::new();
        Ok(Some(packed))
    }

    /// Transformer without layers. `None` if a projection has too many inputs for int8.
    fn with_embeddings(
        config: &TransformerConfig,
        weights: EmbeddingWeights,
        precision: Precision,
    ) -> Option<Self> {
        let mut checksum = TensorChecksum::default();
        // Names and order of `Transformer::parameters`.
        let mut add_table = |name, table: Option<&TensorValues>| {
            let Some(table) = table else { return };
            checksum.add(name, table);
            // Of a file, only the rows of the texts will be in memory.
            table.release();
        };
        add_table("token_embeddings", Some(&weights.tokens));
        add_table("position_embeddings", weights.positions.as_ref());
        add_table("token_type_embeddings", weights.types.as_ref());
        if let Some(bias) = &weights.relative_position_bias {
            checksum.add("relative_position_bias", bias);
        }
        add_norm(&mut checksum, "embedding_norm", weights.norm.as_ref());
        if let Some(projection) = &weights.projection {
            add_linear(&mut checksum, "embedding_projection", projection);
        }
        if let Some(positions) = &weights.relative_positions {
            checksum.add("relative_positions", positions);
        }
        let norm = weights.relative_position_norm;
        add_norm(&mut checksum, "relative_position_norm", norm.as_ref());
        if let Some(convolution) = &weights.convolution {
            let projection = &convolution.projection;
            add_linear(&mut checksum, "convolution.projection", projection);
            add_norm(&mut checksum, "convolution.norm", Some(&convolution.norm));
        }
        let mut relative_positions = weights.relative_positions.unwrap_or_default();
        let packed = |norm: NormWeights| CpuNorm::new(norm, config);
        if let Some(norm) = norm.map(packed) {
            norm.forward(&mut relative_positions, &[]);
        }
        let bias = weights.relative_position_bias.unwrap_or_default();
        Some(Self {
            embeddings: CpuEmbeddings {
                tokens: weights.tokens,
                scale: config.layer.embedding_scale as f32,
                positions: weights.positions,
                types: weights.types,
            },
            embedding_norm: weights.norm.map(packed),
            embedding_projection: match weights.projection {
                None => None,
                Some(it) => Some(CpuLinear::new(it, precision, LowPrecision::W8A8)?),
            },
            relative_positions,
            convolution: match weights.convolution.zip(config.layer.convolution) {
                None => None,
                Some((weights, it)) => Some(CpuConvolution::new(config, it, weights, precision)?),
            },
            layers: Vec::with_capacity(config.stored_layers()),
            final_norm: None,
            attention: CpuAttention::new(config, bias, precision),
            config: config.clone(),
            checksum,
        })
    }

    /// CRC-32 of names and elements of the parameters of the model, as f32.
    pub(crate) fn checksum(&self) -> &TensorChecksum {
        &self.checksum
    }

    /// Output channels that are f32 although the precision is int8.
    pub(crate) fn outlier_channels(&self) -> Vec<OutlierChannels> {
        let layers = self.layers.iter().enumerate();
        layers
            .flat_map(|(number, layer)| layer.outlier_channels(number))
            .collect()
    }

    /// Calls `f` with the hidden state of every token of a batch without padding,
    /// `[tokens, hidden_size]`. A batch of at most [`BLOCK_ROWS`] tokens runs on the threads of the
    /// region, and allocates only if all before it on these threads were smaller. Others run on
    /// rayon's threads.
    ///
    /// # Panics
    /// If a token id is not below `vocab_size`, a token type not below `token_types`, or a text is
    /// longer than the maximum number of tokens.
    pub(crate) fn forward<T>(
        &self,
        batch: &TokenBatch,
        region: &mut ParallelRegion<'_>,
        f: impl FnOnce(&[f32]) -> T,
    ) -> T {
        let mut scratch = BATCH_SCRATCH.take();
        let BatchScratch {
            x,
            qkv,
            context,
            embedded,
            positions,
            rotary,
        } = &mut scratch;
        let (tokens, hidden, shape) = (
            batch.ids().len(),
            self.config.hidden_size,
            self.config.attention(),
        );
        let (qkv_width, width) = (shape.qkv(), shape.queries());
        let x = x.resize_stale(tokens * hidden);
        // Static embeddings have no layers, and texts of any length.
        let in_layers = if self.config.layers == 0 { 0 } else { tokens };
        let qkv = qkv.resize_stale(in_layers * qkv_width);
        let context = context.resize_stale(in_layers * width);
        self.embed(batch, embedded, x);
        let first_input: &[f32] = match &self.convolution {
            None => &[],
            Some(_) => {
                let copy = embedded.resize_stale(x.len());
                copy.copy_from_slice(x);
                copy
            }
        };
        self.prepare_rotary(batch, positions, rotary);
        let is_shared = tokens <= BLOCK_ROWS && region.threads() > 1;
        for number in 0..self.config.layers {
            let layer = &self.layers[self.config.stored_layer(number)];
            let window = self.config.window(number);
            let table = &rotary[usize::from(window.is_some())];
            let table = self.config.rotary(number).map(|_| table);
            let attention = layer.attention(window);
            let of_rows = |first: usize, count: usize| BlockPositions {
                positions: positions.get(first..first + count).unwrap_or_default(),
                rotary: table,
            };
            if is_shared {
                layer.qkv(x, qkv, of_rows(0, tokens), region);
                self.attention
                    .forward_in(region, attention, qkv, batch, context);
                layer.feed_forward(x, context, region);
            } else {
                for_each_block((qkv, qkv_width), (x, hidden), |first, qkv, x| {
                    let rows = of_rows(first, qkv.len() / qkv_width.max(1));
                    layer.qkv(x, qkv, rows, &mut ParallelRegion::sequential());
                });
                self.attention.forward(attention, qkv, batch, context);
                for_each_block((x, hidden), (context, width), |_, x, context| {
                    layer.feed_forward(x, context, &mut ParallelRegion::sequential());
                });
            }
            if let (0, Some(convolution)) = (number, &self.convolution) {
                for_each_block((x, hidden), (&[], 0), |first, x, _| {
                    convolution.forward(batch, first_input, first, x);
                });
            }
        }
        if let Some(norm) = &self.final_norm {
            for_each_block((x, hidden), (&[], 0), |_, x, _| norm.forward(x, &[]));
        }
        let result = f(x);
        BATCH_SCRATCH.set(scratch);
        result
    }

    /// Writes the input of the first layer.
    fn embed(&self, batch: &TokenBatch, embedded: &mut AlignedBuffer, x: &mut [f32]) {
        let (hidden, width) = (self.config.hidden_size, self.config.embedding_size());
        let normalize = |rows: &mut [f32]| {
            if let Some(norm) = &self.embedding_norm {
                norm.forward(rows, &[]);
            }
        };
        let Some(projection) = &self.embedding_projection else {
            self.embeddings.forward(batch, &self.config, x);
            return for_each_block((x, hidden), (&[], 0), |_, x, _| normalize(x));
        };
        let embedded = embedded.resize_stale(batch.ids().len() * width);
        self.embeddings.forward(batch, &self.config, embedded);
        for_each_block((&mut *embedded, width), (&[], 0), |_, rows, _| {
            normalize(rows)
        });
        for_each_block((x, hidden), (embedded, width), |_, x, rows| {
            let scratch = &mut LowPrecisionRows::default();
            let region = &mut ParallelRegion::sequential();
            projection.forward(
                StridedRows::new(rows, width),
                None,
                (x, hidden),
                scratch,
                region,
            );
        });
    }

    /// Computes positions and rotations of the tokens of a batch, if a layer rotates.
    fn prepare_rotary(
        &self,
        batch: &TokenBatch,
        positions: &mut Vec<u32>,
        tables: &mut [RotaryTable; 2],
    ) {
        let layer = &self.config.layer;
        let Some(global) = layer.rotary else {
            return;
        };
        positions.clear();
        positions.extend(batch.positions().map(|position| position as u32));
        let length = batch.lengths().max().unwrap_or(0);
        let [global_table, local_table] = tables;
        global_table.prepare(global, length);
        local_table.prepare(layer.local_rotary.unwrap_or(global), length);
    }
}

/// Calls `f` with every block of rows: the number of its first row, and the rows of two matrices,
/// given with their widths. On this thread if there is one block.
fn for_each_block(
    (rows, width): (&mut [f32], usize),
    (others, other_width): (&[f32], usize),
    f: impl Fn(usize, &mut [f32], &[f32]) + Sync,
) {
    if rows.len() <= BLOCK_ROWS * width {
        return f(0, rows, others);
    }
    let blocks = rows.par_chunks_mut(BLOCK_ROWS * width).enumerate();
    blocks.for_each(|(block, rows)| {
        let first = block * BLOCK_ROWS;
        let others = others.get(first * other_width..).unwrap_or_default();
        let others = &others[..others.len().min(BLOCK_ROWS * other_width)];
        f(first, rows, others);
    });
}

impl CpuEmbeddings {
    /// Sum of the embeddings of every token, `[tokens, embedding_size]`.
    fn forward(&self, batch: &TokenBatch, config: &TransformerConfig, out: &mut [f32]) {
        let width = config.embedding_size();
        let types = batch.token_types();
        let all_tokens = &*self.tokens;
        let (all_positions, all_types) = (self.positions.as_deref(), self.types.as_deref());
        let rows = out.chunks_exact_mut(width.max(1));
        let tokens = batch
            .ids()
            .iter()
            .zip(batch.position_rows(config))
            .enumerate();
        for (out, (at, (&id, position))) in rows.zip(tokens) {
            out.copy_from_slice(&all_tokens[id as usize * width..][..width]);
            if self.scale != 1.0 {
                out.iter_mut().for_each(|x| *x *= self.scale);
            }
            if let Some(all) = all_positions {
                let position = &all[position * width..][..width];
                out.iter_mut().zip(position).for_each(|(out, x)| *out += x);
            }
            if let Some(all) = all_types {
                let row = types.get(at).map_or(0, |&it| it as usize);
                let values = &all[row * width..][..width];
                out.iter_mut().zip(values).for_each(|(out, x)| *out += x);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::activation::Activation;
    use crate::kernels::team::ThreadTeam;
    use crate::model_folder::WeightFile;
    use crate::model_folder::safetensors::checksum;

    /// Maximum difference to the hidden states of [`Transformer::forward`].
    fn difference(states: &[f32], model: &Transformer, batch: &TokenBatch) -> f32 {
        let found = model.forward(batch).try_into_vec_as::<f32>().unwrap();
        assert_eq!(states.len(), found.len());
        let differences = states.iter().zip(&found).map(|(a, b)| (a - b).abs());
        differences.fold(0.0, f32::max)
    }

    /// Hidden states, which are the same on one thread and on a team.
    fn hidden_states(model: &CpuTransformer, batch: &TokenBatch) -> Vec<f32> {
        let states =
            |region: &mut ParallelRegion<'_>| model.forward(batch, region, <[f32]>::to_vec);
        let alone = states(&mut ParallelRegion::sequential());
        for threads in [2, 3] {
            let team = ThreadTeam::new(threads, Box::leak(Box::default()));
            let mut region = team.region();
            assert_eq!(region.threads(), threads);
            assert!(states(&mut region) == alone, "{threads} threads");
        }
        alone
    }

    #[test]
    fn all_activation_functions_equal_those_of_the_module() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tiny/roberta");
        let ids: [&[u32]; 2] = [&[0, 5, 7, 9, 2], &[0, 11, 2]];
        let batch = TokenBatch::new(&ids);
        let file = WeightFile::open(&folder).unwrap();
        let mut all = Vec::new();
        for activation in Activation::ALL {
            let mut config = TransformerConfig::read(&folder).unwrap();
            config.activation = activation;
            let model = Transformer::load(config.clone(), &file, &Device::flex()).unwrap();
            // Errors of rounding depend on the function.
            let is_common = matches!(
                activation,
                Activation::Gelu
                    | Activation::GeluTanh
                    | Activation::QuickGelu
                    | Activation::Relu
                    | Activation::Silu
            );
            let most = if is_common {
                [1e-4, 0.05, 0.1]
            } else {
                [1e-4, 0.1, 0.3]
            };
            for (precision, most) in Precision::ALL.into_iter().zip(most) {
                let packed = CpuTransformer::load(&config, &file, precision);
                let packed = packed.unwrap().unwrap();
                let states = hidden_states(&packed, &batch);
                let found = difference(&states, &model, &batch);
                assert!(found < most, "{activation:?}, {precision}: {found}");
                if precision == Precision::F32 {
                    all.push(states);
                }
            }
        }
        assert!(all[0] != all[1] && all[1] != all[2]);
    }

    /// Weights of a file and of the model that was loaded of it.
    #[test]
    fn packed_files_equal_packed_models() {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tiny");
        let ids: [&[u32]; 3] = [&[2, 5, 7, 3], &[2, 3], &[2, 9, 4, 4, 6, 3]];
        let batch = TokenBatch::new(&ids);
        for name in [
            "bert",
            "bert-pytorch",
            "bert-f16",
            "bert-bf16",
            "distilbert",
            "roberta",
            "mpnet",
        ] {
            let folder = all.join(name);
            let config = TransformerConfig::read(&folder).unwrap();
            let file = WeightFile::open(&folder).unwrap();
            let model = Transformer::load(config.clone(), &file, &Device::flex()).unwrap();
            let expected = checksum("a text", &model.parameters()).unwrap();
            for precision in Precision::ALL {
                let of_file = CpuTransformer::load(&config, &file, precision);
                let of_file = of_file.unwrap().unwrap();
                let is_in_file = matches!(of_file.embeddings.tokens, TensorValues::InFile(_));
                assert!(is_in_file || name.contains('-'), "{name}");
                let of_model = CpuTransformer::new(&model, precision).unwrap();
                assert_eq!(of_file.checksum().with_text("a text"), expected, "{name}");
                assert_eq!(of_model.checksum().with_text("a text"), expected, "{name}");
                let states = hidden_states(&of_file, &batch);
                assert!(states == hidden_states(&of_model, &batch), "{name}");
                if precision == Precision::F32 {
                    assert!(difference(&states, &model, &batch) < 1e-4, "{name}");
                }
            }
        }
    }
}
