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
use super::weights::{EmbeddingWeights, LayerWeights, LinearWeights, NormWeights, WeightReader};
use super::{BLOCK_ROWS, TokenBatch, Transformer};
use crate::activation::Activation;
use crate::error::ModelError;
use crate::kernels::aligned::AlignedBuffer;
use crate::kernels::elementwise;
use crate::kernels::low_precision::{
    LowPrecision, LowPrecisionMatrix, LowPrecisionRows, PANEL_COLUMNS,
};
use crate::kernels::matrix::{PackedMatrix, StridedRows};
use crate::kernels::team::ParallelRegion;
use crate::model_folder::safetensors::TensorChecksum;
use crate::model_folder::{TensorSource, TensorValues, TransformerConfig};
use crate::precision::{OutlierChannels, Precision};

/// Intermediate results of a block.
#[derive(Default)]
struct BlockScratch {
    attended: AlignedBuffer,
    inner: AlignedBuffer,
    rounded: LowPrecisionRows,
    rounded_inner: LowPrecisionRows,
}

/// Intermediate results of a batch: `[tokens, hidden_size]`, `qkv` three times as wide.
#[derive(Default)]
struct BatchScratch {
    x: AlignedBuffer,
    qkv: AlignedBuffer,
    context: AlignedBuffer,
}

thread_local! {
    static SCRATCH: RefCell<BlockScratch> = RefCell::default();
    // Taken while it is in use, because a thread may run another batch while it waits for one.
    static BATCH_SCRATCH: RefCell<BatchScratch> = RefCell::default();
}

/// [`Transformer`] with weights packed for CPU inference.
#[derive(Debug)]
pub(crate) struct CpuTransformer {
    embeddings: CpuEmbeddings,
    embedding_norm: CpuLayerNorm,
    layers: Vec<CpuLayer>,
    attention: CpuAttention,
    activation: Activation,
    hidden: usize,
    checksum: TensorChecksum,
}

/// Embedding tables, row-major `[rows, hidden_size]`. Those of a memory-mapped file are used in
/// place.
#[derive(Debug)]
struct CpuEmbeddings {
    tokens: TensorValues,
    positions: TensorValues,
    /// Row of the first token of a text in `positions`.
    position_offset: usize,
    types: Option<TensorValues>,
}

#[derive(Debug)]
struct CpuLayer {
    qkv: CpuLinear,
    output: CpuLinear,
    attention_norm: CpuLayerNorm,
    up: CpuLinear,
    down: CpuLinear,
    norm: CpuLayerNorm,
}

#[derive(Debug)]
struct CpuLinear {
    weight: CpuWeight,
    bias: Vec<f32>,
}

#[derive(Debug)]
enum CpuWeight {
    F32(PackedMatrix),
    Low(LowPrecisionMatrix),
}

#[derive(Debug)]
struct CpuLayerNorm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
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
        let mut packed = Self::with_embeddings(config, reader.embeddings()?, precision);
        for number in 0..config.layers {
            if packed.push(reader.layer(number)?, precision).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(packed))
    }

    /// Packs the weights of a model. `None` if they are not in CPU memory or on a device with
    /// automatic differentiation, a projection or normalization has no bias, or a projection has
    /// too many inputs for int8.
    pub(crate) fn new(model: &Transformer, precision: Precision) -> Option<Self> {
        let device = model.device();
        if device != Device::flex() || device.is_autodiff() {
            return None;
        }
        let embeddings = EmbeddingWeights::from_model(model)?;
        let mut packed = Self::with_embeddings(model.config(), embeddings, precision);
        for layer in &model.layers {
            packed.push(LayerWeights::from_layer(layer)?, precision)?;
        }
        Some(packed)
    }

    /// Transformer of the embedding tables, to which [`Self::push`] adds the layers.
    fn with_embeddings(
        config: &TransformerConfig,
        weights: EmbeddingWeights,
        precision: Precision,
    ) -> Self {
        let mut checksum = TensorChecksum::default();
        // Names and order of `Transformer::parameters`.
        let mut add_table = |name, table: &TensorValues| {
            checksum.add(name, table);
            // Of a file, only the rows of the texts will be in memory.
            table.release();
        };
        add_table("token_embeddings", &weights.tokens);
        add_table("position_embeddings", &weights.positions);
        if let Some(types) = &weights.types {
            add_table("token_type_embeddings", types);
        }
        if let Some(bias) = &weights.relative_position_bias {
            checksum.add("relative_position_bias", bias);
        }
        add_norm(&mut checksum, "embedding_norm", &weights.norm);
        let bias = weights.relative_position_bias.unwrap_or_default();
        Self {
            embeddings: CpuEmbeddings {
                tokens: weights.tokens,
                positions: weights.positions,
                position_offset: config.position_offset,
                types: weights.types,
            },
            embedding_norm: CpuLayerNorm::new(weights.norm, config.layer_norm_eps as f32),
            layers: Vec::with_capacity(config.layers),
            attention: CpuAttention::new(config, bias, precision),
            activation: config.activation,
            hidden: config.hidden_size,
            checksum,
        }
    }

    /// Packs the next layer. `None` if a linear layer has too many inputs for int8.
    fn push(&mut self, weights: LayerWeights, precision: Precision) -> Option<()> {
        let (checksum, number) = (&mut self.checksum, self.layers.len());
        let name = |part| format!("layers.{number}.{part}");
        add_linear(checksum, &name("qkv"), &weights.qkv);
        add_linear(checksum, &name("output"), &weights.output);
        add_norm(checksum, &name("attention_norm"), &weights.attention_norm);
        add_linear(checksum, &name("up"), &weights.up);
        add_linear(checksum, &name("down"), &weights.down);
        add_norm(checksum, &name("norm"), &weights.norm);
        let epsilon = self.embedding_norm.epsilon;
        let linear = |weights| CpuLinear::new(weights, precision, LowPrecision::W8A8);
        self.layers.push(CpuLayer {
            // Rounding of their inputs to 8 bits would be a third of the error of a vector.
            qkv: CpuLinear::new(weights.qkv, precision, LowPrecision::W8A12)?,
            output: linear(weights.output)?,
            attention_norm: CpuLayerNorm::new(weights.attention_norm, epsilon),
            up: linear(weights.up)?,
            down: linear(weights.down)?,
            norm: CpuLayerNorm::new(weights.norm, epsilon),
        });
        Some(())
    }

    /// CRC-32 of names and elements of the parameters of the model, as f32.
    pub(crate) fn checksum(&self) -> &TensorChecksum {
        &self.checksum
    }

    /// Output channels that are f32 although the precision is int8.
    pub(crate) fn outlier_channels(&self) -> Vec<OutlierChannels> {
        let layers = self.layers.iter().enumerate();
        let linear = layers.flat_map(|(number, layer)| {
            let named = [
                ("qkv", &layer.qkv),
                ("output", &layer.output),
                ("up", &layer.up),
                ("down", &layer.down),
            ];
            named.map(|(name, linear)| (format!("layers.{number}.{name}"), linear))
        });
        let outliers = linear.filter_map(|(layer, linear)| match &linear.weight {
            CpuWeight::Low(weight) if !weight.outliers().is_empty() => Some(OutlierChannels {
                layer,
                channels: weight.outliers().to_vec(),
                total: linear.bias.len(),
            }),
            _ => None,
        });
        outliers.collect()
    }

    /// Calls `f` with the hidden state of every token of a batch without padding,
    /// `[tokens, hidden_size]`. A batch of at most [`BLOCK_ROWS`] tokens runs on the threads of the
    /// region, and allocates only if all before it on these threads were smaller. Others run on
    /// rayon's threads.
    ///
    /// # Panics
    /// As [`Transformer::forward`].
    pub(crate) fn forward<T>(
        &self,
        batch: &TokenBatch,
        region: &mut ParallelRegion<'_>,
        f: impl FnOnce(&[f32]) -> T,
    ) -> T {
        let mut scratch = BATCH_SCRATCH.take();
        let BatchScratch { x, qkv, context } = &mut scratch;
        let (hidden, len) = (self.hidden, batch.ids().len() * self.hidden);
        let x = x.resize_stale(len);
        let qkv = qkv.resize_stale(3 * len);
        let context = context.resize_stale(len);
        self.embeddings.forward(batch, hidden, x);
        for_each_block((x, hidden), (qkv, 3 * hidden), |x, _| {
            self.embedding_norm.forward(x, &[]);
        });
        let is_shared = batch.ids().len() <= BLOCK_ROWS && region.threads() > 1;
        for layer in &self.layers {
            if is_shared {
                layer.qkv(x, qkv, region);
                self.attention.forward_in(region, qkv, batch, context);
                layer.feed_forward(x, context, self.activation, region);
                continue;
            }
            for_each_block((qkv, 3 * hidden), (x, hidden), |qkv, x| {
                layer.qkv(x, qkv, &mut ParallelRegion::sequential());
            });
            self.attention.forward(qkv, batch, context);
            for_each_block((x, hidden), (context, hidden), |x, context| {
                let region = &mut ParallelRegion::sequential();
                layer.feed_forward(x, context, self.activation, region);
            });
        }
        let result = f(x);
        BATCH_SCRATCH.set(scratch);
        result
    }
}

/// Calls `f` with the rows of every block of two matrices, given with their widths: on this thread
/// if there is one block.
fn for_each_block(
    (rows, width): (&mut [f32], usize),
    (others, other_width): (&[f32], usize),
    f: impl Fn(&mut [f32], &[f32]) + Sync,
) {
    if rows.len() <= BLOCK_ROWS * width {
        return f(rows, others);
    }
    rows.par_chunks_mut(BLOCK_ROWS * width)
        .zip(others.par_chunks(BLOCK_ROWS * other_width))
        .for_each(|(rows, others)| f(rows, others));
}

fn add_linear(checksum: &mut TensorChecksum, name: &str, linear: &LinearWeights) {
    checksum.add(&format!("{name}.weight"), &linear.weight);
    checksum.add(&format!("{name}.bias"), &linear.bias);
}

fn add_norm(checksum: &mut TensorChecksum, name: &str, norm: &NormWeights) {
    checksum.add(&format!("{name}.gamma"), &norm.scale);
    checksum.add(&format!("{name}.beta"), &norm.shift);
}

impl CpuEmbeddings {
    /// Sum of the embeddings of every token, `[tokens, hidden]`.
    fn forward(&self, batch: &TokenBatch, hidden: usize, out: &mut [f32]) {
        let types = batch.token_types();
        let (all_tokens, all_positions) = (&*self.tokens, &*self.positions);
        let all_types = self.types.as_deref();
        let rows = out.chunks_exact_mut(hidden.max(1));
        let tokens = batch.ids().iter().zip(batch.positions()).enumerate();
        for (out, (at, (&id, position))) in rows.zip(tokens) {
            let token = &all_tokens[id as usize * hidden..][..hidden];
            let position = &all_positions[(self.position_offset + position) * hidden..][..hidden];
            for (out, (x, y)) in out.iter_mut().zip(token.iter().zip(position)) {
                *out = x + y;
            }
            if let Some(all) = all_types {
                let row = types.get(at).map_or(0, |&it| it as usize);
                let values = &all[row * hidden..][..hidden];
                out.iter_mut().zip(values).for_each(|(out, x)| *out += x);
            }
        }
    }
}

impl CpuLayer {
    /// Computes queries, keys and values of a block of rows, concatenated.
    fn qkv(&self, x: &[f32], qkv: &mut [f32], region: &mut ParallelRegion<'_>) {
        let hidden = self.norm.scale.len();
        SCRATCH.with_borrow_mut(|scratch| {
            let rows = StridedRows::new(x, hidden);
            let rounded = &mut scratch.rounded;
            let out = (qkv, 3 * hidden);
            self.qkv.forward(rows, None, out, rounded, region);
        });
    }

    /// Output projection and feed-forward network for a block of rows: replaces the input of the
    /// layer, `x`, by its output.
    fn feed_forward(
        &self,
        x: &mut [f32],
        context: &[f32],
        activation: Activation,
        region: &mut ParallelRegion<'_>,
    ) {
        SCRATCH.with_borrow_mut(|scratch| {
            self.feed_forward_with(x, context, activation, scratch, region);
        });
    }

    fn feed_forward_with(
        &self,
        x: &mut [f32],
        context: &[f32],
        activation: Activation,
        scratch: &mut BlockScratch,
        region: &mut ParallelRegion<'_>,
    ) {
        let hidden = self.norm.scale.len();
        let count = x.len() / hidden.max(1);
        let stride = PackedMatrix::row_stride(self.up.bias.len());
        let BlockScratch {
            attended,
            inner,
            rounded,
            rounded_inner,
        } = scratch;
        let attended = attended.resize_stale(x.len());
        let rows = StridedRows::new(context, hidden);
        let out = (&mut attended[..], hidden);
        self.output.forward(rows, None, out, rounded, region);
        self.attention_norm.forward(attended, x);

        let rows = StridedRows::new(attended, hidden);
        let activation = Some(activation);
        if let (CpuWeight::Low(up), CpuWeight::Low(down)) = (&self.up.weight, &self.down.weight)
            && up.is_bf16()
            && region.threads() == 1
        {
            up.rounded_product(rows, &self.up.bias, activation, rounded_inner, rounded);
            down.product_of_words(rounded_inner, count, &self.down.bias, None, (x, hidden));
            return self.norm.forward(x, attended);
        }
        let inner = inner.resize_stale(count * stride);
        let out = (&mut inner[..], stride);
        self.up.forward(rows, activation, out, rounded, region);
        let rows = StridedRows {
            values: inner,
            stride,
            count,
        };
        let out = (&mut x[..], hidden);
        self.down.forward(rows, None, out, rounded, region);
        self.norm.forward(x, attended);
    }
}

impl CpuLinear {
    /// Packs the weights; `None` if there are too many inputs for int8. `int8`: the integers of
    /// that precision, of which [`LowPrecision::W8A8`] is used for too many inputs of another.
    fn new(linear: LinearWeights, precision: Precision, int8: LowPrecision) -> Option<Self> {
        let LinearWeights { weight, bias } = linear;
        let to = bias.len();
        let from = weight.len() / to.max(1);
        let low = |precision| LowPrecisionMatrix::new(precision, &weight, from, to);
        Some(Self {
            weight: match precision {
                Precision::F32 => CpuWeight::F32(PackedMatrix::new(&weight, from, to)),
                Precision::Bf16 => CpuWeight::Low(low(LowPrecision::Bf16)?),
                Precision::Int8 => CpuWeight::Low(low(int8).or_else(|| low(LowPrecision::W8A8))?),
            },
            bias,
        })
    }

    /// Computes the projection of rows, and an activation function of it, into rows of `out`,
    /// which are `out.1` elements apart.
    fn forward(
        &self,
        rows: StridedRows<'_>,
        activation: Option<Activation>,
        out: (&mut [f32], usize),
        scratch: &mut LowPrecisionRows,
        region: &mut ParallelRegion<'_>,
    ) {
        let (bias, to) = (&self.bias, self.bias.len());
        match &self.weight {
            CpuWeight::F32(weight) => {
                let panel = PackedMatrix::padded(1);
                region.compute_columns(rows.count, (to, panel), out, |columns, out| {
                    weight.columns_of_product(rows, columns, Some(bias), activation, out);
                });
            }
            CpuWeight::Low(weight) => {
                weight.round_left(rows, scratch);
                let (left, cells) = (&*scratch, (&mut *out.0, out.1));
                region.compute_columns(rows.count, (to, PANEL_COLUMNS), cells, |columns, out| {
                    weight.columns_of_words(left, rows.count, columns, bias, activation, out);
                });
                weight.replace_outliers(rows, bias, activation, out, scratch);
            }
        }
    }
}

impl CpuLayerNorm {
    fn new(norm: NormWeights, epsilon: f32) -> Self {
        Self {
            scale: norm.scale,
            shift: norm.shift,
            epsilon,
        }
    }

    /// Adds `residual`, which may be empty, and normalizes.
    fn forward(&self, rows: &mut [f32], residual: &[f32]) {
        let Self {
            scale,
            shift,
            epsilon,
        } = self;
        elementwise::add_layer_norm(rows, residual, scale, shift, *epsilon);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
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

    /// More inputs than 12-bit integers permit.
    #[test]
    fn wide_layers_have_8_bit_inputs() {
        let from = 4097;
        let weight = vec![0.5; from];
        let [wide, narrow] = [from, from - 1].map(|from| {
            let linear = LinearWeights {
                weight: weight[..from].to_vec(),
                bias: vec![0.0],
            };
            let linear = CpuLinear::new(linear, Precision::Int8, LowPrecision::W8A12).unwrap();
            // One large element: 8 bits round the others to 0 or 1/255 of it.
            let mut x = vec![0.001; from];
            x[0] = 1.0;
            let mut out = [0.0];
            let scratch = &mut LowPrecisionRows::default();
            let region = &mut ParallelRegion::sequential();
            let rows = StridedRows::new(&x, from);
            linear.forward(rows, None, (&mut out, 1), scratch, region);
            out[0]
        });
        assert_eq!(wide, 0.5);
        assert!((narrow - 0.5 - 0.0005 * 4095.0).abs() < 0.1, "{narrow}");
    }

    #[test]
    fn all_activation_functions_equal_those_of_the_module() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tiny/roberta");
        let ids: [&[u32]; 2] = [&[0, 5, 7, 9, 2], &[0, 11, 2]];
        let batch = TokenBatch::new(&ids);
        let file = WeightFile::open(&folder).unwrap();
        let mut all = Vec::new();
        for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
            let mut config = TransformerConfig::read(&folder).unwrap();
            config.activation = activation;
            let model = Transformer::load(config.clone(), &file, &Device::flex()).unwrap();
            for (precision, most) in Precision::ALL.into_iter().zip([1e-4, 0.05, 0.1]) {
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
