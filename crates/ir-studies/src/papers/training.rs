use std::collections::{HashMap, HashSet};

use ir_core::training::mining::{MiningConfig, MiningError, MiningQuery};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{DocNum, Document, Retriever};

use ir_data::DocTemplate;
use ir_data::s2orc::Paper;

use super::answer::QueryAnswer;
use super::links::DatasetRecord;
use super::scrub::{ScrubbingRule, scrub_names};
use super::tagger::DatasetTags;

/// Training query of a paper, without the names of its datasets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaperQuery {
    /// Id of the paper.
    pub id: String,
    /// Summary without the names of the positives.
    pub text: String,
    /// Scrubbed keyphrases; may be empty.
    pub keyphrases: String,
    /// Year of the paper, if known.
    pub year: Option<i64>,
    /// Ids of the datasets that the paper uses.
    pub positives: Vec<String>,
    /// Ids of the datasets that the paper mentions or cites, positives included. They are no
    /// negatives.
    pub mentioned_or_cited: Vec<String>,
}

impl PaperQuery {
    /// Creates the query of a tagged paper. The positives' names are [scrubbed](scrub_names), their
    /// variants too unless `rule` is [`ScrubbingRule::Published`].
    #[must_use]
    pub fn new(
        paper: &Paper,
        answer: &QueryAnswer,
        tags: &DatasetTags,
        datasets: &[DatasetRecord],
        rule: ScrubbingRule,
    ) -> Self {
        let ids = |numbers: &[usize]| -> Vec<String> {
            let records = numbers.iter().filter_map(|&n| datasets.get(n));
            records.map(|record| record.id.clone()).collect()
        };
        let positives = tags.positives.iter().filter_map(|&n| datasets.get(n));
        let names: Vec<&str> = match rule {
            ScrubbingRule::Corrected => positives.flat_map(DatasetRecord::names).collect(),
            ScrubbingRule::Published => positives.map(|it| it.name.as_str()).collect(),
        };
        let lower: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        // Keyphrases are in lower case, and so must be the names.
        let keyphrases = scrub_names(&answer.keyphrases(), &lower, rule);
        Self {
            id: paper.id.clone(),
            text: scrub_names(&answer.summary, &names, rule),
            keyphrases,
            year: paper.year,
            positives: ids(&tags.positives),
            mentioned_or_cited: ids(&tags.mentioned_or_cited),
        }
    }
}

/// Form of the queries of a training set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueryForm {
    /// Summary in one sentence.
    #[default]
    Sentence,
    /// Keyphrases of the annotation.
    Keyphrases,
}

/// Creates training examples with hard negatives among the datasets that a paper neither mentions
/// nor cites. Candidates are the hits of `retriever` for the query; its documents are `datasets` by
/// id. With [`MiningConfig::DATAFINDER`], the seven best of 500, as published. Query ids are ids of
/// papers, texts are rendered by `template`.
///
/// As published, queries without a text or without a negative are left out. Positives that are not
/// in `datasets` are left out, too, and queries without other positives.
///
/// # Errors
/// A parameter of `mining` is outside its range, or the retriever fails.
pub fn training_examples<R: Retriever<Query = str> + ?Sized>(
    queries: &[PaperQuery],
    form: QueryForm,
    datasets: &[Document],
    template: &DocTemplate,
    retriever: &R,
    mining: &MiningConfig,
) -> Result<Vec<TrainingExample>, MiningError> {
    mining.validate()?;
    let mut texts: HashMap<&str, String> = HashMap::new();
    for dataset in datasets {
        let text = || template.render(dataset);
        texts.entry(&dataset.id).or_insert_with(text);
    }
    let ids = retriever.ids();
    let text_of = |doc: DocNum| texts.get(ids.id(doc)).map(String::as_str);
    let passage = |id: &str| {
        let text = texts.get(id).filter(|text| !text.trim().is_empty())?;
        Some(TrainingText::new(text).with_id(id))
    };
    let mut examples = Vec::new();
    for query in queries {
        let text = match form {
            QueryForm::Sentence => &query.text,
            QueryForm::Keyphrases => &query.keyphrases,
        };
        let positives: Vec<&str> = query.positives.iter().map(String::as_str).collect();
        let excluded = query.mentioned_or_cited.iter().chain(&query.positives);
        let excluded: HashSet<&str> = excluded.map(String::as_str).collect();
        let is_candidate = |doc: DocNum| !excluded.contains(ids.id(doc));
        let question = MiningQuery {
            text,
            positives: &positives,
            within: Some(&is_candidate),
        };
        if text.trim().is_empty() {
            continue;
        }
        let mined = mining.mine(retriever, &[question], &text_of)?;
        let negatives = mined.iter().flat_map(|mined| mined.docs());
        let mut example = TrainingExample::new(text).with_query_id(&query.id);
        example.positives = positives.iter().filter_map(|id| passage(id)).collect();
        example.negatives = negatives.filter_map(|doc| passage(ids.id(doc))).collect();
        if !example.negatives.is_empty() && example.check().is_ok() {
            examples.push(example);
        }
    }
    Ok(examples)
}
