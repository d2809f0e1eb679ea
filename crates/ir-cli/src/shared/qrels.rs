//! Graded judgments in the file formats that the commands read.

use anyhow::Result;
use clap::ValueEnum;
use ir_core::Judgments;
use ir_core::trec;
use ir_core::trec::{HeaderLine, Parsed};
use ir_eval::Pool;

use crate::shared::console::Console;
use crate::shared::input;

/// File format of judgments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QrelsFormat {
    /// Query, ignored, document, grade
    Qrels,
    /// Query, ignored, document, stratum, grade: a sampled pool, for xinfAP, infNDCG and infP
    Strata,
    /// Query, subtopic, document, grade: a diversity task, for alpha_nDCG, ERR_IA and others
    Subtopics,
}

impl QrelsFormat {
    /// Reads judgments and prints the parser's warnings.
    pub(crate) fn read(
        self,
        file: &str,
        header: HeaderLine,
        console: &Console,
    ) -> Result<Box<dyn Judgments>> {
        Ok(match self {
            Self::Qrels => Box::new(with_warnings(input::qrels(file, header)?, console)),
            Self::Strata => {
                let (input, name) = input::open(file)?;
                let strata =
                    with_warnings(trec::read_stratified_qrels(input, &name, header)?, console);
                let grades = strata.qrels().iter().flat_map(|(_, docs)| docs.grades());
                let unjudged = grades.filter(|&grade| grade == Pool::TO_JUDGE).count();
                if unjudged > 0 {
                    console.warn(format_args!(
                        "{name}: {unjudged} pooled documents have no judgment yet (`ir pool --merge`); they count as not sampled"
                    ));
                }
                Box::new(strata)
            }
            Self::Subtopics => {
                let (input, name) = input::open(file)?;
                Box::new(with_warnings(
                    trec::read_subtopic_qrels(input, &name, header)?,
                    console,
                ))
            }
        })
    }
}

/// Prints the warnings of a parser and returns the parsed data.
pub(crate) fn with_warnings<T>(parsed: Parsed<T>, console: &Console) -> T {
    for warning in &parsed.warnings {
        console.warn(warning);
    }
    parsed.data
}
