//! Graded judgments in the file formats that the commands read.

use anyhow::{Result, anyhow};
use ir_core::Judgments;
use ir_core::trec;
use ir_core::trec::HeaderLine;
use ir_data::catalog::Catalog;
use ir_eval::EvalError;
use ir_eval::assess::Pool;

use crate::shared::console::Console;
use crate::shared::input::{self, QrelsArgument, with_warnings};

#[derive(Debug, Clone, Copy)]
pub(crate) enum QrelsFormat {
    Qrels,
    Strata,
    Subtopics,
}

pub(crate) const QRELS_FORMATS: [(&str, &str, QrelsFormat); 3] = [
    (
        "qrels",
        "Query, ignored, document, grade",
        QrelsFormat::Qrels,
    ),
    (
        "strata",
        "Query, ignored, document, stratum, grade: a sampled pool, for xinfAP, infNDCG and infP",
        QrelsFormat::Strata,
    ),
    (
        "subtopics",
        "Query, subtopic, document, grade: a diversity task, for alpha_nDCG, ERR_IA and others",
        QrelsFormat::Subtopics,
    ),
];

impl QrelsFormat {
    pub(crate) fn read(
        self,
        file: &str,
        header: HeaderLine,
        console: &Console,
    ) -> Result<Box<dyn Judgments>> {
        if let Self::Qrels = self {
            return Ok(Box::new(input::qrels(
                file,
                QrelsArgument::FirstWithFormat,
                header,
                console,
            )?));
        }
        let (input, name) = input::open_judgment_file(file, console)?;
        if let Self::Subtopics = self {
            let subtopics = trec::read_subtopic_qrels(input, &name, header)?;
            return Ok(Box::new(with_warnings(subtopics, console)));
        }
        let strata = with_warnings(trec::read_stratified_qrels(input, &name, header)?, console);
        let grades = strata.qrels().iter().flat_map(|(_, docs)| docs.grades());
        let unjudged = grades.filter(|&grade| grade == Pool::TO_JUDGE).count();
        if unjudged > 0 {
            console.warn(format_args!(
                "{name}: {unjudged} pooled documents have no judgment yet (`ir pool --merge`); they count as not sampled"
            ));
        }
        Ok(Box::new(strata))
    }
}

/// Published judgments of DataFinder. Their query ids are the texts of the queries; in the
/// collection, query ids are line numbers.
const DATAFINDER_QRELS: [&str; 2] = [
    "datafinder/test_dataset_collection.qrels",
    "datafinder/test_dataset_collection_keyword.qrels",
];

/// Names the judgments with published ids if a run has no query in common with the judgments of
/// `datafinder`.
pub(crate) fn with_judgments_hint(error: anyhow::Error, qrels: &str) -> anyhow::Error {
    let collection = qrels.split(':').next();
    let Some(EvalError::NothingInCommon { .. }) = error.downcast_ref() else {
        return error;
    };
    if collection != Some("datafinder") {
        return error;
    }
    let catalog = Catalog::from_env();
    let root = catalog
        .root()
        .map_or("$IR_DATA".into(), |root| root.display().to_string());
    let [sentences, keyphrases] = DATAFINDER_QRELS.map(|file| format!("{root}/{file}"));
    anyhow!(
        "{error:#}; for a run whose ids are query texts: {sentences}, or for keyphrase queries {keyphrases}"
    )
}
