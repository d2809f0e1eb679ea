//! Expansion of queries by nearest words.

use std::sync::Arc;

use ir_bm25::{
    Analysis, NearestWords, Searcher, SegmentedIndex, StoredFields, TermVectors, TermWords,
};
use ir_core::{DocNum, Encoder};
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

    /// Cached stages of the encoder. `texts` identifies the texts of the index.
    pub(super) fn stages(
        &self,
        analyzer: &AnalyzerEntry,
        texts: &str,
        context: &SystemContext<'_>,
    ) -> Result<Vec<StageReport>, SystemError> {
        let words = words_of(&analyzer.analysis()?, texts);
        let encoder = self.encoder.as_ref();
        let stages = encoder.map(|encoder| encoder.word_stages(context, &words));
        Ok(stages
            .transpose()
            .map_err(in_expansion)?
            .unwrap_or_default())
    }

    /// Expansion of the queries of a searcher, by the analysis of its index. Random indexing of the
    /// stored titles and texts, in the order of the index, is fitted, and vectors of words are
    /// opened, once for all settings of `words` and `weight`. `texts` identifies the texts of the
    /// index.
    pub(super) fn open(
        &self,
        searcher: Searcher,
        texts: &str,
        context: &mut SystemContext<'_>,
    ) -> Result<NearestWords, SystemError> {
        let index = searcher.index().clone();
        if index.config().store != StoredFields::Everything {
            return Err(without_texts("expansion.words"));
        }
        let analysis = index.config().analysis.clone();
        let content = self.content(context)?;
        let config = (self.config(), index.config());
        let key = format!("expansion {config:?}{texts} {content}");
        let fitted: Arc<FittedExpansion> = match context.session.get(&key) {
            Some(fitted) => fitted,
            None => {
                let fitted = match &self.encoder {
                    Some(encoder) => {
                        let name = words_of(&analysis, texts);
                        encoded(encoder, &name, &analysis, &index, context)?
                    }
                    None => {
                        let mut texts = Vec::with_capacity(index.len());
                        for_each_text(&index, |text| texts.push(text))?;
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
        let words = self.words();
        let (encoder, vectors) = (fitted.encoder.clone(), fitted.vectors.clone());
        let expansion = NearestWords::new(searcher, encoder, vectors, words, self.weight());
        expansion.map_err(SystemError::stage("expansion by nearest words"))
    }
}

/// Vectors of one word per term of the titles and texts, and the encoder. `name` identifies the
/// words.
fn encoded(
    encoder: &EncoderReference,
    name: &str,
    analysis: &Analysis,
    index: &SegmentedIndex,
    context: &mut SystemContext<'_>,
) -> Result<FittedExpansion, SystemError> {
    let words = |_: &mut SystemContext<'_>| {
        let analyzer = analysis.build();
        let analyzer = analyzer.map_err(SystemError::stage("analysis"))?;
        let mut words = TermWords::default();
        for_each_text(index, |text| words.add(&analyzer, &text))?;
        Ok(words)
    };
    let opened = encoder.word_vectors(context, name, words);
    let (encoder, vectors) = opened.map_err(in_expansion)?;
    let vectors = Arc::new(vectors);
    Ok(FittedExpansion { encoder, vectors })
}

/// Parameters of the words of the terms of an analysis and of the texts of an index.
fn words_of(analysis: &Analysis, texts: &str) -> String {
    let name = analysis.to_string();
    // The name of another analysis has the number of words of a list only.
    match name.parse::<Analysis>() {
        Ok(_) => format!("words {name}{texts}"),
        Err(_) => format!("words {}{texts}", json!(analysis)),
    }
}

/// Calls `visit` with the stored title and text of every document of an index.
fn for_each_text(index: &SegmentedIndex, mut visit: impl FnMut(String)) -> Result<(), SystemError> {
    for doc in (0..index.len() as u32).map(DocNum::new) {
        let document = index.document(doc);
        let document = document.map_err(SystemError::stage(READING))?;
        visit(format!("{}\n{}", document.title, document.text));
    }
    Ok(())
}
