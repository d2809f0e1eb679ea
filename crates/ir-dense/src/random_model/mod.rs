//! Randomly initialized models, for training from scratch.

mod wordpiece;

use std::collections::{BTreeMap, HashMap};
use std::f64::consts::TAU;
use std::path::Path;

use ir_core::SplitMix64;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokenizers::tokenizer::{NormalizedString, Normalizer, PreTokenizedString, PreTokenizer};
use tokenizers::{OffsetReferential, OffsetType, Tokenizer};

use crate::backend::Backend;
use crate::encode::Pooling;
use crate::encode::module_entry::SentenceTransformersModule;
use crate::encode::sentence_transformers::SentenceTransformersConfig;
use crate::encode::tokenizer_files::{SPECIAL_TOKENS, tokenizer_json};
use crate::error::{ModelError, TokenizerError};
use crate::model_folder::TransformerConfig;
use crate::model_folder::{
    TensorSource, TensorValues, create_folder, write_bytes, write_folder, write_json,
};
use crate::transformer::Transformer;

/// Configuration of a randomly initialized BERT with a WordPiece vocabulary trained on texts.
///
/// [`RandomModel::create`] writes a folder, which [`crate::train::Trainer::open`] and Python's
/// transformers and sentence-transformers read. Use it to train from scratch where no pretrained
/// model fits, or to run a whole experiment in a minute.
///
/// ```
/// use ir_core::{Encoder, Side};
/// use ir_dense::{BiEncoder, RandomModel};
///
/// let texts = ["ships seen by radar", "a ship at sea", "green tea", "black tea and green ships"];
/// let here = tempfile::tempdir()?;
/// let folder = here.path().join("tiny");
/// RandomModel::default().with_shape(32, 1, 2).create(&folder, &texts)?;
/// let encoder = BiEncoder::open(&folder)?;
/// assert_eq!(encoder.encode(Side::Document, &texts)?.len(), 4 * 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RandomModel {
    /// Maximum vocabulary size, with special tokens and single characters; small collections give
    /// fewer tokens. Default: 30,000, about as in BERT.
    pub vocab_size: usize,
    /// If `true`, texts are lowercased and stripped of accents. Default: true.
    pub lowercase: bool,
    /// Dimension of token and text vectors. Default: 128.
    pub hidden_size: usize,
    /// Number of layers. Default: 2.
    pub layers: usize,
    /// Number of attention heads; divides `hidden_size`. Default: 2.
    pub heads: usize,
    /// Inner dimension of the feed-forward networks. Default: 512.
    pub intermediate_size: usize,
    /// Maximum sequence length in tokens, with special tokens. Range: ≥ 3. Default: 512.
    pub max_positions: usize,
    /// Pooling of token vectors. Default: mean.
    pub pooling: Pooling,
    /// If `true`, vectors are L2-normalized. Default: true.
    pub normalize: bool,
    /// Seed of the weights. Default: 42.
    pub seed: u64,
}

impl Default for RandomModel {
    /// Shape of BERT-Tiny (Turc et al. 2019, "Well-Read Students Learn Better"), mean pooling and
    /// normalized vectors.
    fn default() -> Self {
        Self {
            vocab_size: 30_000,
            lowercase: true,
            hidden_size: 128,
            layers: 2,
            heads: 2,
            intermediate_size: 512,
            max_positions: 512,
            pooling: Pooling::Mean,
            normalize: true,
            seed: 42,
        }
    }
}

/// Standard deviation of initial weights, as in BERT.
const INITIALIZER_RANGE: f64 = 0.02;

/// Maximum characters of a word; the tokenizer maps longer words to the unknown token.
const MAX_WORD_CHARS: usize = 100;

impl RandomModel {
    /// Sets dimension, layers and attention heads, and the inner dimension to four times the
    /// dimension, as in BERT.
    pub const fn with_shape(mut self, hidden_size: usize, layers: usize, heads: usize) -> Self {
        (self.hidden_size, self.layers, self.heads) = (hidden_size, layers, heads);
        self.intermediate_size = 4 * hidden_size;
        self
    }

    ir_core::setters! {
        with_vocab_size: vocab_size, usize;
        with_seed: seed, u64;
    }

    /// Trains the vocabulary on `texts` and writes the model folder. Deterministic: the bytes do
    /// not depend on the order of the texts or the number of threads.
    ///
    /// The WordPiece vocabulary is trained by byte-pair encoding (Sennrich et al. 2016) of pairs
    /// that occur at least twice, over the 1,000 most frequent characters, with the trainer of
    /// Hugging Face's tokenizers. Weights are normally distributed with standard deviation 0.02,
    /// biases are 0, layer normalization scales are 1.
    ///
    /// # Errors
    /// If a value is out of range, the texts have no words, more characters than `vocab_size` or
    /// a pair of adjacent characters more than 2³¹ − 1 times, or the folder exists and is not empty
    /// or cannot be written. After an error the folder does not exist.
    pub fn create(&self, folder: impl AsRef<Path>, texts: &[&str]) -> Result<(), CreateModelError> {
        self.validate()?;
        let vocabulary = self.train_vocabulary(texts)?;
        write_folder(folder.as_ref(), |folder| {
            Ok(self.write(folder, &vocabulary)?)
        })
    }

    fn validate(&self) -> Result<(), CreateModelError> {
        let invalid = |field, expected, found: usize| {
            let found = found.to_string();
            Err(CreateModelError::Setting {
                field,
                expected,
                found,
            })
        };
        let positive = [
            ("hidden_size", self.hidden_size),
            ("heads", self.heads),
            ("intermediate_size", self.intermediate_size),
        ];
        if let Some((field, value)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return invalid(field, "1 or more", value);
        }
        if !self.hidden_size.is_multiple_of(self.heads) {
            return invalid("heads", "a divisor of hidden_size", self.heads);
        }
        if self.max_positions < 3 {
            let expected = "3 or more: two special tokens and one more";
            return invalid("max_positions", expected, self.max_positions);
        }
        Ok(())
    }

    /// Trains the vocabulary; special tokens come first.
    fn train_vocabulary(&self, texts: &[&str]) -> Result<Vec<String>, CreateModelError> {
        let special = SPECIAL_TOKENS.map(|(_, token)| token);
        let json = self.tokenizer_json(&special);
        let failed = |source| ModelError::from(TokenizerError::Encode { source });
        let tokenizer = json.to_string().parse::<Tokenizer>().map_err(failed)?;
        type WordCounts = HashMap<String, u64>;
        let count = |mut words: WordCounts, text: &&str| -> Result<WordCounts, CreateModelError> {
            let mut text = NormalizedString::from(*text);
            if let Some(normalizer) = tokenizer.get_normalizer() {
                normalizer.normalize(&mut text).map_err(failed)?;
            }
            let mut text = PreTokenizedString::from(text);
            if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
                pre_tokenizer.pre_tokenize(&mut text).map_err(failed)?;
            }
            for (word, _, _) in text.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
                if word.chars().nth(MAX_WORD_CHARS).is_none() {
                    *words.entry(word.to_owned()).or_default() += 1;
                }
            }
            Ok(words)
        };
        let add =
            |mut all: WordCounts, words: WordCounts| -> Result<WordCounts, CreateModelError> {
                for (word, count) in words {
                    *all.entry(word).or_default() += count;
                }
                Ok(all)
            };
        let words = texts.par_iter().try_fold(WordCounts::new, count);
        let words: BTreeMap<String, u64> = words
            .try_reduce(WordCounts::new, add)?
            .into_iter()
            .collect();
        if words.is_empty() {
            return Err(CreateModelError::NoWords);
        }
        wordpiece::train(&words, &special, self.vocab_size)
    }

    /// `tokenizer.json` of a vocabulary, with ids in its order.
    fn tokenizer_json(&self, vocabulary: &[impl AsRef<str>]) -> Value {
        let tokens = vocabulary.iter().enumerate();
        let ids = tokens.map(|(id, token)| (token.as_ref().to_owned(), id.into()));
        let special = SPECIAL_TOKENS.map(|(_, token)| token);
        tokenizer_json(&ids.collect(), special, self.lowercase)
    }

    fn write(&self, folder: &Path, vocabulary: &[String]) -> Result<(), ModelError> {
        create_folder(folder)?;
        let config = json!({
            "model_type": "bert",
            "architectures": ["BertModel"],
            "vocab_size": vocabulary.len(),
            "hidden_size": self.hidden_size,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "intermediate_size": self.intermediate_size,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
            "max_position_embeddings": self.max_positions,
            "type_vocab_size": 2,
            "initializer_range": INITIALIZER_RANGE,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        });
        write_json(&folder.join("config.json"), &config)?;

        let lines = vocabulary.join("\n") + "\n";
        write_bytes(&folder.join("vocab.txt"), lines.as_bytes())?;
        let tokenizer = self.tokenizer_json(vocabulary);
        write_json(&folder.join("tokenizer.json"), &tokenizer)?;
        let mut settings = json!({
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.lowercase,
            "model_max_length": self.max_positions,
        });
        for (setting, token) in SPECIAL_TOKENS {
            settings[setting] = token.into();
        }
        write_json(&folder.join("tokenizer_config.json"), &settings)?;

        let mut modules = Vec::new();
        if self.normalize {
            modules.push(SentenceTransformersModule::create_normalize(folder, 2)?);
        }
        let config = SentenceTransformersConfig {
            transformer: folder.into(),
            pooling: self.pooling.into(),
            modules,
            max_tokens: Some(self.max_positions),
            ..SentenceTransformersConfig::default()
        };
        config.write(folder, self.hidden_size)?;
        let device = Backend::Cpu.device()?;
        let shape = TransformerConfig::read(folder)?;
        let model = Transformer::load(shape, &RandomWeights(self.seed), &device)?;
        model.write_weights(folder)
    }
}

/// Error creating a randomly initialized model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum CreateModelError {
    /// A value of the configuration is out of range.
    #[error("{field} is {found}, expected {expected}")]
    Setting {
        field: &'static str,
        expected: &'static str,
        found: String,
    },
    /// The texts have no words to train a vocabulary on.
    #[error("expected texts with words, found none")]
    NoWords,
    /// A pair of adjacent characters is too frequent for the vocabulary trainer, which counts up to
    /// 2³¹ − 1.
    #[error(
        "the pair {pair:?} occurs {found} times, expected at most {}",
        i32::MAX
    )]
    PairFrequency { pair: String, found: u64 },
    /// The folder cannot be written.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Initial weights, a function of seed and tensor name.
pub(crate) struct RandomWeights(pub(crate) u64);

impl TensorSource for RandomWeights {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorValues, ModelError> {
        let length = shape.iter().product();
        if name.ends_with(".bias") {
            return Ok(TensorValues::InMemory(vec![0.0; length]));
        }
        if name.contains("LayerNorm") || shape.len() == 1 {
            return Ok(TensorValues::InMemory(vec![1.0; length]));
        }
        let mut random = SplitMix64::from_name(self.0, name);
        let mut values: Vec<f32> = Vec::with_capacity(length + 1);
        while values.len() < length {
            values.extend(normal(&mut random).map(|x| (INITIALIZER_RANGE * x) as f32));
        }
        values.truncate(length);
        // The embedding of the padding token, which is the first, is zero, as in transformers.
        if name.ends_with("word_embeddings.weight") {
            values[..shape[1]].fill(0.0);
        }
        Ok(TensorValues::InMemory(values))
    }
}

/// Two samples of the standard normal distribution.
///
/// # Source
/// Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
fn normal(random: &mut SplitMix64) -> [f64; 2] {
    // In (0, 1].
    let mut uniform = || ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), TAU * uniform());
    [radius * angle.cos(), radius * angle.sin()]
}
