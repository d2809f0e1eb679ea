//! Judgments that are grades, in the forms that commands read them in.

use anyhow::Result;
use clap::ValueEnum;
use ir_core::Judgments;
use ir_core::trec::{self, Header, Parsed};
use ir_eval::Pool;

use crate::shared::console::Console;
use crate::shared::input;

/// What judgments look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GradeForm {
    /// Query, ignored, document, grade
    Qrels,
    /// Query, ignored, document, stratum, grade: a sample of a pool, for xinfAP, infNDCG and infP
    Strata,
    /// Query, subtopic, document, grade: a diversity task, for alpha_nDCG, ERR_IA and others
    Subtopics,
}

impl GradeForm {
    /// Reads judgments, with warnings.
    pub(crate) fn read(
        self,
        file: &str,
        header: Header,
        console: &Console,
    ) -> Result<Box<dyn Judgments>> {
        Ok(match self {
            Self::Qrels => Box::new(told(source::qrels(file, header)?, console)),
            Self::Strata => {
                let (input, name) = source::open(file)?;
                let strata = told(trec::read_strata(input, &name, header)?, console);
                let grades = strata.qrels().iter().flat_map(|(_, docs)| docs.grades());
                let waiting = grades.filter(|&grade| grade == Pool::TO_JUDGE).count();
                if waiting > 0 {
                    console.warn(format_args!(
                        "{name}: {waiting} documents wait for their judgment (`ir pool --merge`): they count as not drawn"
                    ));
                }
                Box::new(strata)
            }
            Self::Subtopics => {
                let (input, name) = source::open(file)?;
                Box::new(told(trec::read_subtopics(input, &name, header)?, console))
            }
        })
    }
}

/// What was read, once what is odd about it has been said.
pub(crate) fn told<T>(parsed: Parsed<T>, console: &Console) -> T {
    for oddity in &parsed.oddities {
        console.warn(oddity);
    }
    parsed.data
}
