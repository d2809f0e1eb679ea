//! bioCADDIE 2016 dataset retrieval challenge: records of 20 biomedical repositories, topics and
//! judgments.
//!
//! | item | contents |
//! |---|---|
//! | [`BioCaddieCorpus`] | documents from a folder of XML or JSON records, or JSON lines |
//! | [`Record`], [`TextRule`] | one record, and the text of its document |
//! | [`REPOSITORIES`] | names, sizes and text paths of the repositories |
//! | [`SyntheticRecords`] | generated records of every repository, for tests and examples |
//! | [`BioCaddieTopics`] | topics in all forms and judgments |
//!
//! The collection `biocaddie` of the catalog opens if `records.jsonl`, `update_json_folder` or
//! `update_xml_folder` is beside the topics.
//!
//! # Source
//! Cohen et al., "A publicly available benchmark for biomedical dataset retrieval: the reference
//! standard for the 2016 bioCADDIE dataset retrieval challenge", Database 2017, bax061.

mod corpus;
mod metadata;
mod record;
mod repositories;
mod synthetic;
mod topics;
mod words;
mod xml;

use serde::{Deserialize, Serialize};

pub use corpus::BioCaddieCorpus;
pub use record::Record;
pub use repositories::{DATASETS, REPOSITORIES, Repository};
pub use synthetic::SyntheticRecords;
pub use topics::BioCaddieTopics;

/// Text of the document of a record. The title of a document is always the TITLE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TextRule {
    /// The texts at the paths of the repository ([`Repository::paths`]), without repetitions of the
    /// title; all texts of METADATA for a repository without paths. If `dataItem.dataTypes` has
    /// `dataset`, title, keywords and description of `dataItem` are first looked for in `dataset`.
    #[default]
    Paths,
    /// Descriptions, name of the repository and publication, as the organizers concatenated them.
    Organizers,
    /// METADATA as JSON, keys included, as in the pilot of the National Data Service. Members are
    /// in byte order of their names.
    WholeRecord,
    /// As [`TextRule::Paths`], and all texts of METADATA as the attribute `meta`: the three fields
    /// title, text and meta of Emory's runs.
    Fields,
}
