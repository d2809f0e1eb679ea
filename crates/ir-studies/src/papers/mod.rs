//! Training sets from scientific papers, as in DataFinder (Viswanathan et al., ACL 2023, Section
//! 3.2): queries written from abstracts, with the datasets that a paper uses as positives.
//!
//! 1. [`read_papers`](ir_data::s2orc::read_papers): parsed papers with sections, citations and
//!    bibliography, in the JSON of S2ORC.
//! 2. [`DatasetLinks`]: the paper that introduces each dataset, and the datasets that a paper
//!    cites.
//! 3. [`DatasetTagger`]: the datasets that a paper uses, by citation and mention.
//!    [`sample_tags`] draws tags for judges, of which [`TagPrecision`] estimates the precision.
//! 4. [`QueryWriter`]: a query from an abstract. [`ExtractiveWriter`] works offline;
//!    `EndpointWriter` (feature `endpoint`) asks a language model with a few-shot [`QueryPrompt`].
//!    [`AnswerFile`] keeps the answers, so that an interrupted job resumes.
//! 5. [`scrub_names`]: names of the positives become `[DATASET]`, so that a query does not contain
//!    its answer.
//! 6. [`PaperQuery`] and [`training_examples`]: sentence and keyphrases with hard negatives from
//!    any retriever, for [`TrainingWriter`](ir_data::training::TrainingWriter).
//!
//! ```
//! use ir_core::Document;
//! use ir_data::s2orc::read_papers;
//! use ir_studies::papers::{
//!     DatasetLinks, DatasetRecord, DatasetTagger, ExtractiveWriter, PaperQuery, QueryWriter,
//!     ScrubbingRule, TaggingRules,
//! };
//! let papers = r#"{"paper_id": "p1", "title": "Parsing with graphs", "year": 2015,
//!     "abstract": "We parse English sentences. Our parser is evaluated on PTB.",
//!     "body_text": [{"section": "Experiments", "text": "We train on PTB [1].",
//!                    "cite_spans": [{"start": 16, "end": 19, "ref_id": "B0"}]}],
//!     "bib_entries": {"B0": {"title": "A large corpus of parsed news"}}}"#.replace('\n', " ");
//! let papers = read_papers(papers.as_bytes(), "papers.jsonl")?;
//! let datasets = [DatasetRecord::from_document(
//!     &Document::new("PTB").with_title("A Large Corpus of Parsed News"),
//! )];
//!
//! let links = DatasetLinks::new(&datasets, &papers);
//! let tagger = DatasetTagger::new(&datasets, &links, TaggingRules::default());
//! let tags = tagger.tag(&papers[0])?;
//! assert_eq!(tags.positives, [0]);
//!
//! let answer = ExtractiveWriter::default().write(&papers[0])?;
//! let query = PaperQuery::new(&papers[0], &answer, &tags, &datasets, ScrubbingRule::default());
//! assert_eq!(query.text, "We parse English sentences.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod answer_file;
mod audit;
#[cfg(feature = "endpoint")]
mod endpoint;
mod extractive;
mod links;
mod prompt;
mod scrub;
mod sentences;
mod tagger;
mod training;
mod writer;

pub use answer::{AnswerError, QueryAnswer};
pub use answer_file::{AnswerFile, MAX_CONSECUTIVE_FAILURES, WrittenQueries};
pub use audit::{PaperTag, TagPrecision, sample_tags};
#[cfg(feature = "endpoint")]
pub use endpoint::EndpointWriter;
pub use extractive::ExtractiveWriter;
pub use links::{DatasetLinks, DatasetRecord};
pub use prompt::{PromptExample, QueryPrompt};
pub use scrub::{DATASET_TOKEN, ScrubbingRule, scrub_names};
pub use sentences::sentences;
pub use tagger::{DatasetTagger, DatasetTags, MentionMatching, TaggingRules, Untagged};
pub use training::{PaperQuery, QueryForm, training_examples};
pub use writer::{QueryWriter, QueryWriterError};
