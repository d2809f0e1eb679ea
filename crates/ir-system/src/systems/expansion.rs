//! Expansion of queries by nearest words.

use std::sync::Arc;

use ir_bm25::{Analysis, NearestWords, Searcher, StoredFields, TermVectors, TermWords};
use ir_core::{Document, Encoder};
use ir_knn::RandomIndexing;
use serde_json::json;

use super::existing_file::without_texts;
use super::random_indexing::failed;
use crate::entries::bm25::expansion::in_expansion;
use crate::entries::{AnalyzerEntry, EncoderReference, ExpansionEntry};
use crate::error::SystemError;
use crate::memory::available_memory;
use crate::observer::StageReport;
use crate::system::SystemContext;

const READING: &str = "reading documents";
const INDEXING: &str = "random indexing";

/// Encoder of queries, such as random indexing of the documents, and vectors of terms.
#[derive(Clone)]
pub(crate) struct FittedExpansion {
    encoder: Arc<dyn Encoder>,
    vectors: Arc<TermVectors>,
}

impl ExpansionEntry {
    /// Weights and configuration of the encoder.
    pub(super) fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        let encoder = self.encoder.as_ref();
        let content = encoder.map(|encoder| encoder.content(context).map_err(in_expansion));
        Ok(content.transpose()?.unwrap_or_default())
    }

    /// Cached stages of the encoder.
    pub(super) fn stages(
        &self,
        analyzer: &AnalyzerEntry,
        context: &SystemContext<'_>,
    ) -> Result<Vec<StageReport>, SystemError> {
        let words = words_of(&analyzer.analysis()?);
        let encoder = self.encoder.as_ref();
        let stages = encoder.map(|encoder| encoder.word_stages(context, &words));
        Ok(stages
            .transpose()
            .map_err(in_expansion)?
            .unwrap_or_default())
    }

    /// Expansion of the queries of a searcher, by the analysis of its index. Random indexing of the
    /// titles and texts is fitted, and vectors of words are opened, once for all settings of
    /// `words` and `weight`.
    pub(super) fn open(
        &self,
        searcher: Searcher,
        context: &mut SystemContext<'_>,
    ) -> Result<NearestWords, SystemError> {
        let index = context.data.index();
        if index.is_some_and(|index| index.config().store != StoredFields::Everything) {
            return Err(without_texts("expansion.words"));
        }
        let analysis = searcher.index().config().analysis.clone();
        let content = self.content(context)?;
        let key = format!("expansion {analysis} {:?} {content}", self.config());
        let fitted: Arc<FittedExpansion> = match context.session.get(&key) {
            Some(fitted) => fitted,
            None => {
                let fitted = match &self.encoder {
                    Some(encoder) => encoded(encoder, analysis, context)?,
                    None => {
                        let mut texts = Vec::with_capacity(context.data.ids().len());
                        for_each_text(context, |text| texts.push(text))?;
                        let total = texts.len() as u64;
                        context.report_progress(INDEXING, total, Some(total))?;
                        self.fit(analysis, &texts)?
                    }
                };
                let fitted = Arc::new(fitted);
                context.session.keep(key, fitted.clone());
                fitted
            }
        };
        self.nearest(searcher, &fitted)
    }

    fn fit(&self, analysis: Analysis, texts: &[String]) -> Result<FittedExpansion, SystemError> {
        let analyzer = analysis.build();
        let analyzer = analyzer.map_err(SystemError::stage("analysis"))?;
        let mut config = self.config();
        config.max_bytes = available_memory();
        let fitted = RandomIndexing::fit_transform_with(analyzer, texts, &config);
        let (indexing, _) = fitted.map_err(failed("expansion.dim"))?;
        let terms: Vec<String> = indexing.terms().map(str::to_owned).collect();
        let vectors = indexing.term_vectors();
        let dim = vectors.ncols();
        let vectors = vectors.iter().map(|value| *value as f32).collect();
        let vectors = TermVectors::new(terms, dim, vectors);
        Ok(FittedExpansion {
            encoder: Arc::new(indexing),
            vectors: Arc::new(vectors.map_err(SystemError::stage(INDEXING))?),
        })
    }

    fn nearest(
        &self,
        searcher: Searcher,
        fitted: &FittedExpansion,
    ) -> Result<NearestWords, SystemError> {
        let words = self.words.unwrap_or(10);
        let (encoder, vectors) = (fitted.encoder.clone(), fitted.vectors.clone());
        let expansion = NearestWords::new(searcher, encoder, vectors, words, self.weight());
        expansion.map_err(SystemError::stage("expansion by nearest words"))
    }
}

/// Vectors of one word per term of the titles and texts, and the encoder.
fn encoded(
    encoder: &EncoderReference,
    analysis: Analysis,
    context: &mut SystemContext<'_>,
) -> Result<FittedExpansion, SystemError> {
    let name = words_of(&analysis);
    let words = |context: &mut SystemContext<'_>| {
        let analyzer = analysis.build();
        let analyzer = analyzer.map_err(SystemError::stage("analysis"))?;
        let mut words = TermWords::default();
        for_each_text(context, |text| words.add(&analyzer, &text))?;
        Ok(words)
    };
    let opened = encoder.word_vectors(context, &name, words);
    let (encoder, vectors) = opened.map_err(in_expansion)?;
    let vectors = Arc::new(vectors);
    Ok(FittedExpansion { encoder, vectors })
}

/// Parameters of the words of the terms of an analysis.
fn words_of(analysis: &Analysis) -> String {
    let name = analysis.to_string();
    // The name of another analysis has the number of words of a list only.
    match name.parse::<Analysis>() {
        Ok(_) => format!("words {name}"),
        Err(_) => format!("words {}", json!(analysis)),
    }
}

/// Calls `visit` with title and text of every document.
fn for_each_text(
    context: &SystemContext<'_>,
    mut visit: impl FnMut(String),
) -> Result<(), SystemError> {
    let documents = context.data.corpus().docs();
    for document in documents.map_err(SystemError::stage(READING))? {
        let Document { title, text, .. } = document.map_err(SystemError::stage(READING))?;
        visit(format!("{title}\n{text}"));
    }
    Ok(())
}
