//! Vectors of questions that are generated for the documents.

use std::iter;

use ir_core::store::Verify;
use ir_core::{Encoder, Retriever, Side};
use ir_knn::{FlatIndex, FlatIndexWriter};
use ir_qa::questions::{QuestionGenerator, RuleQuestions};

use super::retriever::{SharedEncoder, encode_to, failed};
use crate::cache::Stage;
use crate::entries::EncoderEntry;
use crate::error::SystemError;
use crate::model::similarity;
use crate::system::SystemContext;
use crate::systems::vectors::QuestionsName;

/// Attribute of a document with its context, if it has one.
const CONTEXT: &str = "context";

impl EncoderEntry {
    /// Cache key and description of the vectors of the questions.
    pub(super) fn question_stage(
        &self,
        context: &SystemContext<'_>,
        questions: QuestionsName,
    ) -> Result<(String, String), SystemError> {
        let QuestionsName::Rules = questions;
        let generator = RuleQuestions::default().name();
        let content = self.content(context)?;
        let description = format!("vectors of generated questions, {}", self.label());
        let key = context.key(Stage::Vectors, &format!("questions {generator}\n{content}"));
        Ok((key, description))
    }

    /// Vectors of the documents, then vectors of their questions under the same ids.
    pub(super) fn with_questions(
        &self,
        context: &mut SystemContext<'_>,
        encoder: &SharedEncoder,
        documents: &FlatIndex,
        questions: QuestionsName,
    ) -> Result<FlatIndex, SystemError> {
        let (key, description) = self.question_stage(context, questions)?;
        let questions = context.cached(
            Stage::Vectors,
            &key,
            &description,
            |path| FlatIndex::open_with(path, Verify::AllSections),
            |context, path| {
                let texts = generated_questions(context)?;
                let encoder = encoder.inner();
                let similarity = similarity(encoder.similarity());
                let dim = encoder.dim();
                let writer = FlatIndexWriter::resume(path, dim, similarity).map_err(failed)?;
                let (done, total) = (writer.len(), texts.len());
                let texts = texts.into_iter().skip(done).map(Ok);
                encode_to(writer, context, encoder, Side::Query, texts, total)
            },
        )?;
        let parts = [documents, &questions];
        let ids = parts.iter().flat_map(|part| part.ids().iter());
        let values = parts.iter().flat_map(|part| part.vectors().into_iter());
        let values = values.copied().collect();
        let (dim, similarity) = (documents.dim(), documents.similarity());
        FlatIndex::from_row_major(ids.collect(), dim, values, similarity).map_err(failed)
    }
}

/// Questions of all documents, with the ids of the documents.
fn generated_questions(context: &SystemContext<'_>) -> Result<Vec<(String, String)>, SystemError> {
    let rules = RuleQuestions::default();
    let mut questions = Vec::new();
    for doc in context.data.corpus().docs().map_err(failed)? {
        let doc = doc.map_err(failed)?;
        let around = doc.attributes.text(CONTEXT).unwrap_or_default();
        let of_doc = rules.questions(&doc.text, around);
        questions.extend(iter::repeat(doc.id).zip(of_doc));
    }
    Ok(questions)
}
