//! Expansion of queries as options: feedback, sequential dependence, synonyms and nearest words.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::ValueHint;
use ir_bm25::feedback::{Feedback, FeedbackDocuments, FeedbackError, FeedbackModel};
use ir_bm25::{NearestWords, Searcher, SequentialDependence, SynonymExpansion, Synonyms};
use ir_core::Retriever;

use super::args::Args;
use super::nearest_words::NearestWordsOptions;
use crate::shared::console::{Console, bail_usage};
use crate::shared::feedback_collection::FeedbackCollection;
use crate::shared::options::non_negative;
use crate::shared::output::OutputPath;

/// Feedback, sequential dependence, synonyms and nearest words.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ExpansionOptions {
    /// Pseudo-relevance feedback: rm3 or rocchio, with parameters such as 'rm3(docs=5,weight=0.7)';
    /// Anserini's defaults. A saved index must store the texts. With --sdm, the feedback documents
    /// are the hits of the sequential dependence model; with --synonyms or --nearest-words, the
    /// words added to a query are part of it [default: none]
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::Other)]
    pub(super) feedback: Option<FeedbackModel>,

    /// External collection of the feedback documents, by the same scoring model: a saved index with
    /// its texts, or a collection, which is indexed [default: the searched one]
    #[arg(long, value_name = "INDEX|COLLECTION", requires = "feedback")]
    feedback_collection: Option<String>,

    /// Sequential dependence model: weights of words, of phrases of two words, and of unordered
    /// windows of two words, such as 0.85,0.1,0.05. Phrases and windows in a saved index need `ir
    /// index --positions` [default: none]
    #[arg(long, value_parser = sdm_weights, value_name = "W,W,W")]
    pub(super) sdm: Option<[f32; 3]>,

    /// Synonyms to add to the queries: a file in the format of Solr, with lines such as
    /// `heart attack, myocardial infarction` (equivalent) or `MG => myasthenia gravis` (one
    /// direction). Synonyms are not expanded again [default: none]
    #[arg(long, value_name = "FILE")]
    synonyms: Option<PathBuf>,

    /// Weight of synonyms: a number of at least 0, or the ratio of their weight to that of the
    /// words of the query [default: 1:5]
    #[arg(long, value_parser = synonym_weight, value_name = "WEIGHT", value_hint = ValueHint::Other, requires = "synonyms")]
    synonym_weight: Option<f32>,

    #[command(flatten)]
    nearest: NearestWordsOptions,
}

/// Retriever of text queries.
pub(crate) type TextRetriever = Box<dyn Retriever<Query = str>>;

impl ExpansionOptions {
    /// Names of the options, and whether they are given.
    pub(super) fn given(&self) -> [(&'static str, bool); 4] {
        [
            ("--feedback", self.feedback.is_some()),
            ("--sdm", self.sdm.is_some()),
            ("--synonyms", self.synonyms.is_some()),
            ("--nearest-words", self.nearest.is_set()),
        ]
    }

    /// Whether the texts of the documents are read.
    pub(super) const fn needs_texts(&self) -> bool {
        self.feedback.is_some() || self.nearest.is_set()
    }

    /// Whether `--cache` keeps vectors of words.
    pub(super) const fn uses_cache(&self) -> bool {
        self.nearest.has_encoder()
    }

    /// Rejects combinations without a meaning.
    pub(super) fn check(&self, has_syntax: bool, is_bm25f: bool) -> Result<()> {
        let words = "expected queries of words";
        let reason = |option| match option {
            "--feedback" => "feedback expands a bag of words",
            "--sdm" => "phrases and windows of successive words are added to it",
            "--synonyms" => "synonyms are added to it; write them with OR or #syn",
            _ => "words are added to it",
        };
        let given = self.given();
        if let Some((option, _)) = given.iter().find(|(_, given)| has_syntax && *given) {
            bail_usage!("{option}: {words}, found --syntax: {}", reason(option));
        }
        let [_, sdm, synonyms, nearest] = given;
        for (first, second, reason) in [
            (sdm, synonyms, "windows are those of the words of a query"),
            (sdm, nearest, "windows are those of the words of a query"),
            (synonyms, nearest, "both add words to a query"),
        ] {
            if first.1 && second.1 {
                let (first, second) = (first.0, second.0);
                bail_usage!("{second}: expected no {first}, found both: {reason}");
            }
        }
        self.nearest.check()?;
        let has_windows = self.sdm.is_some_and(|weights| weights[1..] != [0.0; 2]);
        if has_windows && is_bm25f {
            bail_usage!("--sdm: expected a --model that scores each field, found bm25f");
        }
        Ok(())
    }

    /// The retriever of the expanded queries of a searcher; the feedback is also returned alone.
    pub(super) fn retriever(
        &self,
        searcher: &Searcher,
        args: &Args,
        console: &Console,
    ) -> Result<(TextRetriever, Option<Feedback>)> {
        let feedback = match self.feedback {
            None => None,
            Some(model) => {
                let source = self.feedback_searcher(searcher, args, console);
                let source = source.context("--feedback-collection")?;
                Some(feedback(searcher, source, model).context("--feedback")?)
            }
        };
        let addition = if let Some(weights) = self.sdm {
            Addition::SequentialDependence(weights)
        } else if let Some(path) = &self.synonyms {
            let weight = self.synonym_weight.unwrap_or(SynonymExpansion::WEIGHT);
            let synonyms = synonym_file(path);
            let synonyms = synonyms
                .and_then(|found| Ok(SynonymExpansion::new(searcher.clone(), &found, weight)?));
            Addition::Synonyms(synonyms.context("--synonyms")?)
        } else if self.nearest.is_set() {
            let cache = args.cache.as_ref().map(OutputPath::folder);
            let words = self.nearest.retriever(searcher, cache.as_deref(), console);
            Addition::NearestWords(words.context("--nearest-words")?)
        } else {
            Addition::Nothing
        };
        addition.retriever(searcher, feedback)
    }

    /// Searcher of the feedback documents: that of the queries, or of an external collection.
    fn feedback_searcher(
        &self,
        searcher: &Searcher,
        args: &Args,
        console: &Console,
    ) -> Result<Searcher> {
        let Some(name) = &self.feedback_collection else {
            return Ok(searcher.clone());
        };
        let collection = FeedbackCollection {
            name,
            encoding: args.text.encoding,
            verify: args.verification(),
            setup: &args.setup,
            positions: self.sdm.is_some(),
            threads: args.threads,
        };
        Ok(collection.open(console)?.searcher(args.model.model()?)?)
    }
}

/// What is added to the words of a query.
#[derive(Debug)]
pub(crate) enum Addition {
    Nothing,
    SequentialDependence([f32; 3]),
    Synonyms(SynonymExpansion),
    NearestWords(NearestWords),
}

impl Addition {
    /// The retriever of the expanded queries of a searcher, with feedback after the addition.
    pub(crate) fn retriever(
        self,
        searcher: &Searcher,
        feedback: Option<Feedback>,
    ) -> Result<(TextRetriever, Option<Feedback>)> {
        let Some(feedback) = feedback else {
            let retriever: TextRetriever = match self {
                Self::Nothing => Box::new(searcher.clone()),
                Self::SequentialDependence(weights) => {
                    let sdm = SequentialDependence::new(searcher.clone(), weights);
                    Box::new(sdm.context("--sdm")?)
                }
                Self::Synonyms(synonyms) => Box::new(synonyms),
                Self::NearestWords(words) => Box::new(words),
            };
            return Ok((retriever, None));
        };
        let feedback = match self {
            Self::Nothing => feedback,
            Self::SequentialDependence(weights) => {
                let feedback = feedback.with_sequential_dependence(weights);
                feedback.context("--sdm")?
            }
            Self::Synonyms(synonyms) => feedback.with_synonyms(synonyms),
            Self::NearestWords(words) => feedback.with_nearest_words(words),
        };
        Ok((Box::new(feedback.clone()), Some(feedback)))
    }
}

/// The error of an index whose texts are needed.
pub(super) fn without_texts() -> anyhow::Error {
    anyhow!("expected an index with stored texts, found none (`ir index --store all`)")
}

/// Feedback for the queries of a searcher from the hits of `source`.
pub(crate) fn feedback(
    searcher: &Searcher,
    source: Searcher,
    model: FeedbackModel,
) -> Result<Feedback> {
    let documents = FeedbackDocuments::stored(source);
    let documents = documents.map_err(|error| match error {
        FeedbackError::NotStored { .. } => without_texts(),
        other => other.into(),
    })?;
    Ok(Feedback::new(searcher.clone(), documents, model)?)
}

/// Reads a synonym file.
pub(crate) fn synonym_file(path: &Path) -> Result<Synonyms> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| name.clone())?;
    Ok(Synonyms::read(BufReader::new(file), &name)?)
}

/// Weight of synonyms: a number, or a ratio such as `1:5`.
fn synonym_weight(text: &str) -> Result<f32, String> {
    let number = |text: &str| non_negative(text).ok();
    let weight = match text.split_once(':') {
        None => number(text),
        Some((synonyms, words)) => number(synonyms)
            .zip(number(words))
            .map(|(synonyms, words): (f32, f32)| synonyms / words)
            .filter(|weight| weight.is_finite()),
    };
    weight.ok_or_else(|| {
        format!("expected a number of at least 0 or a ratio such as 1:5, found {text:?}")
    })
}

/// Three weights, such as `0.85,0.1,0.05`.
pub(crate) fn sdm_weights(text: &str) -> Result<[f32; 3], String> {
    let weights = text
        .split(',')
        .map(|weight| non_negative(weight.trim()).ok());
    let weights: Option<Vec<f32>> = weights.collect();
    let weights = weights.and_then(|weights| <[f32; 3]>::try_from(weights).ok());
    let weights = weights.filter(|weights| weights[0] > 0.0 && weights.iter().all(|w| *w <= 1e9));
    weights.ok_or_else(|| {
        format!(
            "expected three weights such as 0.85,0.1,0.05, from 0 to 1e9, that of words above 0, \
             found {text:?}"
        )
    })
}
