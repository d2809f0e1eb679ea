use std::error::Error;

use ir_data::DataError;
use ir_data::s2orc::Paper;

use super::answer::{AnswerError, QueryAnswer};

/// Writer of queries from papers: an extraction or a language model.
pub trait QueryWriter {
    /// Writes the query of a paper from its title and abstract.
    ///
    /// # Errors
    /// The writer cannot be reached or used, or has no usable answer for this paper
    /// ([`QueryWriterError::Answer`]).
    fn write(&mut self, paper: &Paper) -> Result<QueryAnswer, QueryWriterError>;

    /// Name and parameters of the writer. Answers of writers with another name are written again
    /// ([`AnswerFile`](super::AnswerFile)).
    fn name(&self) -> String;
}

/// Error writing a query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum QueryWriterError {
    /// The paper has no abstract.
    #[error("paper {paper:?}: expected an abstract, found none")]
    NoAbstract { paper: String },
    /// The answer is none. The writer may have one for other papers.
    #[error("paper {paper:?}: {source}")]
    Answer {
        paper: String,
        #[source]
        source: AnswerError,
    },
    /// The writer rejects the paper, such as a text that is too long. It may accept others.
    #[error("paper {paper:?}: {source}")]
    Rejected {
        paper: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The writer cannot be reached or used.
    #[error("paper {paper:?}")]
    Writer {
        paper: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The file of answers cannot be used, or the job was canceled.
    #[error(transparent)]
    File(#[from] DataError),
}

impl QueryWriterError {
    /// Returns `true` if the writer may have answers for other papers.
    #[must_use]
    pub fn is_of_paper(&self) -> bool {
        matches!(
            self,
            Self::NoAbstract { .. } | Self::Answer { .. } | Self::Rejected { .. }
        )
    }
}
