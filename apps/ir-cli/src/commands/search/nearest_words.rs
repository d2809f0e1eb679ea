//! Expansion of queries by nearest words as options: of random indexing, or of an encoder.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use ir_bm25::{NearestWords, Searcher, StoredFields};
use ir_core::DocNum;
use ir_experiment::SystemError;
use ir_experiment::systems::ExpansionEntry;

use super::expansion::without_texts;
use crate::shared::console::{Console, bail_usage};
#[cfg(feature = "dense")]
use crate::shared::encoder::PRECISIONS;
#[cfg(feature = "dense")]
use crate::shared::options::choice;
use crate::shared::options::non_negative;

/// Expansion by nearest words.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct NearestWordsOptions {
    /// Number of words to add to a query: those with the nearest vectors of reflective random
    /// indexing of the documents, or of --nearest-encoder. A saved index must store the texts
    /// [default: none]
    #[arg(long, value_name = "N")]
    nearest_words: Option<usize>,

    /// Encoder of the nearest words: model folder or name. It encodes the queries, and one word
    /// per term of the documents, the most frequent one: about 1 ms per word with MiniLM on one
    /// core. `ir search --cache` keeps the vectors [default: random indexing]
    #[cfg(feature = "dense")]
    #[arg(long, value_name = "MODEL", requires = "nearest_words", conflicts_with_all = ["nearest_dim", "nearest_reflections", "nearest_seed"])]
    nearest_encoder: Option<PathBuf>,

    /// Number format of the linear layers of --nearest-encoder; the cached vectors of each format
    /// are separate [default: f32]
    #[cfg(feature = "dense")]
    #[arg(long, value_parser = choice(PRECISIONS), value_name = "FORMAT", requires = "nearest_encoder")]
    nearest_precision: Option<ir_dense::Precision>,

    /// Weight of a nearest word at a cosine of 1; a word of the query has weight 1. Range: ≥ 0
    /// [default: 0.2]
    #[arg(long, value_parser = non_negative::<f32>, value_name = "WEIGHT", requires = "nearest_words")]
    nearest_weight: Option<f32>,

    /// Number of dimensions of random indexing. Range: 10 to 65536 [default: 200]
    #[arg(long, value_name = "N", requires = "nearest_words")]
    nearest_dim: Option<usize>,

    /// Number of reflections, training cycles after the first. Range: 0 to 100 [default: 1]
    #[arg(long, value_name = "N", requires = "nearest_words")]
    nearest_reflections: Option<usize>,

    /// Seed of the elemental vectors of random indexing [default: 0]
    #[arg(long, value_name = "SEED", requires = "nearest_words")]
    nearest_seed: Option<u64>,
}

impl NearestWordsOptions {
    pub(crate) const fn is_set(&self) -> bool {
        self.nearest_words.is_some()
    }

    /// Whether the words are those of an encoder.
    pub(super) const fn has_encoder(&self) -> bool {
        self.encoder().is_some()
    }

    const fn encoder(&self) -> Option<&PathBuf> {
        #[cfg(feature = "dense")]
        return self.nearest_encoder.as_ref();
        #[cfg(not(feature = "dense"))]
        None
    }

    /// Rejects parameters out of range.
    pub(crate) fn check(&self) -> Result<()> {
        if let Err(error) = self.entry().check() {
            bail_usage!("{}", failed(error));
        }
        Ok(())
    }

    /// The expansion of the queries of a searcher. `cache` is the folder of the vectors of words.
    #[cfg_attr(not(feature = "dense"), allow(unused_variables))]
    pub(crate) fn retriever(
        &self,
        searcher: &Searcher,
        cache: Option<&Path>,
        console: &Console,
    ) -> Result<NearestWords> {
        if searcher.index().config().store != StoredFields::Everything {
            return Err(without_texts());
        }
        #[cfg(feature = "dense")]
        if let Some(model) = self.encoder() {
            let precision = self.nearest_precision.unwrap_or_default();
            let model = (&**model, precision);
            let (encoder, vectors) = encoded::open(model, searcher, cache, console)?;
            let expansion = self
                .entry()
                .nearest_words_of(searcher.clone(), encoder, vectors);
            return expansion.map_err(failed);
        }
        let mut texts = Vec::with_capacity(searcher.index().len());
        for_each_text(searcher, |text| texts.push(text))?;
        let analysis = searcher.index().config().analysis.clone();
        let expansion = self
            .entry()
            .nearest_words(searcher.clone(), analysis, &texts);
        expansion.map_err(failed)
    }

    fn entry(&self) -> ExpansionEntry {
        ExpansionEntry {
            words: self.nearest_words,
            weight: self.nearest_weight,
            encoder: None,
            dim: self.nearest_dim,
            reflections: self.nearest_reflections,
            seed: self.nearest_seed,
        }
    }
}

/// Calls `visit` with title and text of every document.
fn for_each_text(searcher: &Searcher, mut visit: impl FnMut(String)) -> Result<()> {
    let index = searcher.index();
    for doc in (0..index.len() as u32).map(DocNum::new) {
        let document = index.document(doc)?;
        visit(format!("{}\n{}", document.title, document.text));
    }
    Ok(())
}

/// The error of an expansion, with the option of its parameter.
fn failed(error: SystemError) -> anyhow::Error {
    match error {
        SystemError::Parameter { key, message } => match key.split_once('.') {
            Some((_, name)) => anyhow!("--nearest-{name}: {message}"),
            None => anyhow!(message),
        },
        SystemError::Stage { stage, source } => anyhow::Error::from_boxed(source).context(stage),
        other => anyhow!("{other:?}"),
    }
}

/// Vectors of words by an encoder.
#[cfg(feature = "dense")]
mod encoded {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Instant;

    use anyhow::{Context, Result};
    use ir_bm25::{Searcher, TermVectors, TermWords};
    use ir_core::store::Verify;
    use ir_core::{Encoder, Flow, Retriever, Side};
    use ir_dense::{BiEncoder, EncoderConfig, Precision, encode_stream};
    use ir_knn::{FlatIndex, FlatIndexWriter, VectorSimilarity};

    use super::for_each_text;
    use crate::shared::console::{Console, Interrupted};
    use crate::shared::encoder::{find_model, open_encoder};
    use crate::shared::format::grouped;
    use crate::shared::input::fingerprint;

    /// Opens a model, and encodes one word per term of the stored texts, or opens their vectors in
    /// the cache folder.
    pub(super) fn open(
        (model, precision): (&Path, Precision),
        searcher: &Searcher,
        cache: Option<&Path>,
        console: &Console,
    ) -> Result<(Arc<dyn Encoder>, TermVectors)> {
        let model = find_model(model)?;
        let config = EncoderConfig::default().with_precision(precision);
        let config = model.with_catalog_defaults(config);
        let encoder = open_encoder(&model.folder, &config)?;
        let mut words = TermWords::default();
        let analyzer = searcher.index().config().analysis.build()?;
        for_each_text(searcher, |text| words.add(&analyzer, &text))?;
        let vectors = match cache {
            None => {
                let mut values = Vec::with_capacity(words.len() * encoder.dim());
                encode(&encoder, &words, 0, console, |_, vector| {
                    values.extend_from_slice(vector);
                    Ok(())
                })?;
                let terms = words.most_frequent().map(|(term, _)| term.to_owned());
                TermVectors::new(terms, encoder.dim(), values)?
            }
            Some(folder) => {
                let index = cached(folder, &encoder, &words, console)?;
                let terms = index.ids().iter().map(str::to_owned);
                let values = index.vectors().iter().copied().collect();
                TermVectors::new(terms, index.dim(), values)?
            }
        };
        Ok((Arc::new(encoder), vectors))
    }

    /// Vectors in a file that is named by the encoder and the words, with the terms as ids.
    /// Interrupted work is resumed; a damaged file is computed again.
    fn cached(
        folder: &Path,
        encoder: &BiEncoder,
        words: &TermWords,
        console: &Console,
    ) -> Result<FlatIndex> {
        let made_by = serde_json::to_string(&encoder.fingerprint(Side::Document))?;
        let words_of_terms = words.most_frequent().flat_map(<[&str; 2]>::from);
        let name = fingerprint([made_by.as_str()].into_iter().chain(words_of_terms));
        let path = folder.join(format!("words-{name}.ir"));
        if path.exists() {
            match FlatIndex::open_with(&path, Verify::AllSections) {
                Ok(index) => return Ok(index),
                Err(error) => console.warn(format_args!("rebuilt: {error}")),
            }
        }
        fs::create_dir_all(folder)
            .with_context(|| format!("{}: cannot be created", folder.display()))?;
        let similarity = VectorSimilarity::InnerProduct;
        let mut writer = FlatIndexWriter::resume(&path, encoder.dim(), similarity)?;
        let done = writer.len();
        let encoded = encode(encoder, words, done, console, |term, vector| {
            Ok(writer.push(term, vector)?)
        });
        if let Err(error) = encoded {
            writer.flush()?;
            return Err(error);
        }
        writer.finish()?;
        Ok(FlatIndex::open_with(&path, Verify::AllSections)?)
    }

    /// Encodes the words after the first `done` as documents.
    fn encode(
        encoder: &BiEncoder,
        words: &TermWords,
        done: usize,
        console: &Console,
        push: impl FnMut(&str, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let start = Instant::now();
        let count = (words.len() - done.min(words.len())) as u64;
        let mut bar = console.bar();
        let words = words.most_frequent().skip(done);
        let words = words.map(|(term, word)| Ok((term.to_owned(), word.to_owned())));
        let ended = encode_stream(encoder, Side::Document, words, Some(count), push, &mut bar)?;
        bar.finish();
        match ended {
            Flow::Stop => Err(Interrupted.into()),
            Flow::Continue => {
                console.log(format_args!(
                    "note: --nearest-encoder: {} words encoded in {:.1} s (`ir search --cache` keeps vectors)",
                    grouped(count),
                    start.elapsed().as_secs_f64()
                ));
                Ok(())
            }
        }
    }
}
