//! [`NewModel`]: a model from nothing.

use std::collections::{BTreeMap, HashMap};
use std::f64::consts::TAU;
use std::fs;
use std::path::Path;

use ir_core::SplitMix;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokenizers::tokenizer::{NormalizedString, Normalizer, PreTokenizedString, PreTokenizer};
use tokenizers::{OffsetReferential, OffsetType, Tokenizer};

use crate::export::{in_one_go, save_bytes, save_json, save_weights, write_error};
use crate::folder::Sentences;
use crate::tokens::{SPECIAL, tokenizer_json};
use crate::train::TrainError;
use crate::weights::Tensors;
use crate::{
    Backend, ModelError, Pooling, TokenError, Transformer, TransformerConfig, word_pieces,
};

/// A model from nothing: BERT's architecture with random weights, and word pieces learnt from texts.
///
/// [`NewModel::create`] writes it as a folder, which [`crate::train::Trainer::open`] trains and
/// Python's transformers and sentence-transformers open, too. Such a model knows nothing: use it
/// where none that was trained on much text will do, or to see a whole experiment run in a minute.
///
/// ```
/// use ir_core::{Encoder, Side};
/// use ir_dense::{BiEncoder, NewModel};
///
/// let texts = ["ships seen by radar", "a ship at sea", "green tea", "black tea and green ships"];
/// let here = tempfile::tempdir()?;
/// let folder = here.path().join("tiny");
/// NewModel::default().with_shape(32, 1, 2).create(&folder, &texts)?;
/// let encoder = BiEncoder::open(&folder)?;
/// assert_eq!(encoder.encode(Side::Document, &texts)?.len(), 4 * 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct NewModel {
    /// The most word pieces, special tokens and single characters among them; texts of few words
    /// give fewer. Default 30,000, about as many as BERT has.
    pub vocabulary: usize,
    /// Length of the vector of a token, and of a text. Default 128.
    pub hidden: usize,
    /// Blocks of attention and feed-forward. Default 2.
    pub layers: usize,
    /// Heads of attention; divides `hidden`. Default 2.
    pub heads: usize,
    /// Width inside the feed-forward blocks. Default 512.
    pub intermediate: usize,
    /// The most tokens of a text, special ones included. Default 512.
    pub positions: usize,
    /// Whether texts are put into lower case and lose their accents. Default true.
    pub lowercase: bool,
    /// How tokens' vectors become a text's. Default: their mean.
    pub pooling: Pooling,
    /// Whether vectors are divided by their length. Default true.
    pub normalize: bool,
    /// Decides the weights. Default 42.
    pub seed: u64,
}

impl Default for NewModel {
    /// BERT-Tiny (Turc et al. 2019, "Well-Read Students Learn Better"), with the vectors of
    /// sentence encoders.
    fn default() -> Self {
        Self {
            vocabulary: 30_000,
            hidden: 128,
            layers: 2,
            heads: 2,
            intermediate: 512,
            positions: 512,
            lowercase: true,
            pooling: Pooling::Mean,
            normalize: true,
            seed: 42,
        }
    }
}

/// The standard deviation of random weights, BERT's.
const DEVIATION: f64 = 0.02;

/// A longer word is unknown to the tokeniser.
const LONGEST: usize = 100;

impl NewModel {
    /// Sets length of vectors, blocks and heads, and the width inside the blocks to four times the
    /// length, as BERT has it.
    pub const fn with_shape(mut self, hidden: usize, layers: usize, heads: usize) -> Self {
        (self.hidden, self.layers, self.heads) = (hidden, layers, heads);
        self.intermediate = 4 * hidden;
        self
    }

    /// Sets the most word pieces.
    pub const fn with_vocabulary(mut self, pieces: usize) -> Self {
        self.vocabulary = pieces;
        self
    }

    /// Sets the seed.
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Writes the folder. The same values and texts give the same bytes, whatever the order of the
    /// texts and the number of threads.
    ///
    /// Word pieces are those that byte-pair encoding finds in the texts' words (Sennrich et al.
    /// 2016), among what occurs twice; at most 1,000 characters are known, the most frequent.
    /// Weights are normally distributed with a deviation of .02, biases 0, layer normalisation 1.
    ///
    /// # Errors
    /// When a value makes no sense, the texts have no words or more characters than there is room
    /// for, or the folder is there already and not empty or cannot be written; then nothing of it
    /// is there.
    pub fn create(&self, folder: impl AsRef<Path>, texts: &[&str]) -> Result<(), TrainError> {
        self.check()?;
        let pieces = self.learn(texts)?;
        in_one_go(folder.as_ref(), |folder| self.write(folder, &pieces))
    }

    fn check(&self) -> Result<(), TrainError> {
        let wrong = |field, expected, found: usize| {
            let found = found.to_string();
            Err(TrainError::Setting {
                field,
                expected,
                found,
            })
        };
        let positive = [
            ("hidden", self.hidden),
            ("heads", self.heads),
            ("intermediate", self.intermediate),
        ];
        for (field, value) in positive {
            if value == 0 {
                return wrong(field, "1 or more", value);
            }
        }
        if !self.hidden.is_multiple_of(self.heads) {
            return wrong("heads", "a divisor of hidden", self.heads);
        }
        if self.positions < 3 {
            let expected = "3 or more: two special tokens stand around a text";
            return wrong("positions", expected, self.positions);
        }
        Ok(())
    }

    /// The vocabulary, special tokens first.
    fn learn(&self, texts: &[&str]) -> Result<Vec<String>, TrainError> {
        let special = SPECIAL.map(|(_, token)| token);
        let json = self.tokenizer(&special);
        let failed = |source| ModelError::from(TokenError::Encode { source });
        let tokenizer = Tokenizer::from_bytes(json.to_string()).map_err(failed)?;
        type Words = HashMap<String, u64>;
        let count = |mut words: Words, text: &&str| -> Result<Words, TrainError> {
            let mut text = NormalizedString::from(*text);
            if let Some(normalizer) = tokenizer.get_normalizer() {
                normalizer.normalize(&mut text).map_err(failed)?;
            }
            let mut text = PreTokenizedString::from(text);
            if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
                pre_tokenizer.pre_tokenize(&mut text).map_err(failed)?;
            }
            for (word, _, _) in text.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
                if word.chars().nth(LONGEST).is_none() {
                    *words.entry(word.to_owned()).or_default() += 1;
                }
            }
            Ok(words)
        };
        let add = |mut all: Words, words: Words| -> Result<Words, TrainError> {
            for (word, count) in words {
                *all.entry(word).or_default() += count;
            }
            Ok(all)
        };
        let words = texts.par_iter().try_fold(Words::new, count);
        let words: BTreeMap<String, u64> = words.try_reduce(Words::new, add)?.into_iter().collect();
        if words.is_empty() {
            return Err(TrainError::NoWords);
        }
        word_pieces::learn(&words, &special, self.vocabulary).map_err(|least| TrainError::Setting {
            field: "vocabulary",
            expected: "room for the special tokens and the characters of the texts",
            found: format!("{}, and these alone are {least}", self.vocabulary),
        })
    }

    /// `tokenizer.json` of these pieces, numbered in their order.
    fn tokenizer(&self, pieces: &[impl AsRef<str>]) -> Value {
        let pieces = pieces.iter().enumerate();
        let numbers = pieces.map(|(number, piece)| (piece.as_ref().to_owned(), number.into()));
        let special = SPECIAL.map(|(_, token)| token);
        tokenizer_json(&numbers.collect(), special, self.lowercase)
    }

    fn write(&self, folder: &Path, pieces: &[String]) -> Result<(), TrainError> {
        fs::create_dir_all(folder).map_err(write_error(folder))?;
        let config = json!({
            "model_type": "bert",
            "architectures": ["BertModel"],
            "vocab_size": pieces.len(),
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "intermediate_size": self.intermediate,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
            "max_position_embeddings": self.positions,
            "type_vocab_size": 2,
            "initializer_range": DEVIATION,
            "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        });
        save_json(&folder.join("config.json"), &config)?;

        let vocabulary = folder.join("vocab.txt");
        save_bytes(&vocabulary, (pieces.join("\n") + "\n").as_bytes())?;
        save_json(&folder.join("tokenizer.json"), &self.tokenizer(pieces))?;
        let mut settings = json!({
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.lowercase,
            "model_max_length": self.positions,
        });
        for (setting, token) in SPECIAL {
            settings[setting] = token.into();
        }
        save_json(&folder.join("tokenizer_config.json"), &settings)?;

        let sentences = Sentences {
            pooling: self.pooling,
            normalize: self.normalize,
            max_tokens: Some(self.positions),
            lowercase: false,
            query_prompt: String::new(),
            document_prompt: String::new(),
            similarity: None,
        };
        sentences.write(folder, self.hidden)?;
        let device = Backend::Cpu.device().map_err(ModelError::from)?;
        let shape = TransformerConfig::read(folder)?;
        let model = Transformer::load(shape, &Random(self.seed), &device)?;
        save_weights(folder, &model)
    }
}

/// The weights of a model that has learnt nothing: a function of seed and names.
struct Random(u64);

impl Tensors for Random {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn take(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let length = shape.iter().product();
        if name.ends_with(".bias") {
            return Ok(vec![0.0; length]);
        }
        if name.contains("LayerNorm") {
            return Ok(vec![1.0; length]);
        }
        let mut random = SplitMix::named(self.0, name);
        let mut values: Vec<f32> = Vec::with_capacity(length + 1);
        while values.len() < length {
            values.extend(normal(&mut random).map(|x| (DEVIATION * x) as f32));
        }
        values.truncate(length);
        // The first token fills up texts and has no vector, as in transformers.
        if name.ends_with("word_embeddings.weight") {
            values[..shape[1]].fill(0.0);
        }
        Ok(values)
    }
}

/// Two numbers of the normal distribution.
///
/// # Source
/// Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
fn normal(random: &mut SplitMix) -> [f64; 2] {
    // Above 0 and at most 1.
    let mut uniform = || ((random.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    let (radius, angle) = ((-2.0 * uniform().ln()).sqrt(), TAU * uniform());
    [radius * angle.cos(), radius * angle.sin()]
}
