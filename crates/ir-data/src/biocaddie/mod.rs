//! bioCADDIE 2016 dataset retrieval challenge: records of 20 biomedical repositories, topics and
//! judgments.
//!
//! | item | contents |
//! |---|---|
//! | [`BioCaddieCorpus`] | documents from a folder of XML or JSON records, or JSON lines |
//! | [`Record`], [`TextRule`] | one record, and the text of its document |
//! | [`REPOSITORIES`] | names, sizes and text paths of the repositories |
//! | [`BioCaddieTopics`] | topics in all forms and judgments |
//!
//! The collection `biocaddie` of the catalog has documents if `records.jsonl`,
//! `update_json_folder` or `update_xml_folder` is beside the topics ([`BioCaddieCorpus::NAMES`]);
//! without them, only reading documents is an error. Its text rule is [`TextRule::Paths`];
//! `biocaddie/organizers`, `biocaddie/whole-record` and `biocaddie/fields` are the same records
//! with the other rules.
//!
//! # Source
//! Cohen et al., "A publicly available benchmark for biomedical dataset retrieval: the reference
//! standard for the 2016 bioCADDIE dataset retrieval challenge", Database 2017, bax061.

mod corpus;
mod metadata;
mod record;
mod repositories;
mod topics;
mod xml;

use serde::{Deserialize, Serialize};

pub use corpus::{BioCaddieCorpus, RecordForm};
pub use record::Record;
pub use repositories::{DATASETS, REPOSITORIES, Repository};
pub use topics::BioCaddieTopics;

/// Text of the document of a record. The title of a document is always the TITLE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TextRule {
    /// The texts at the paths of the repository ([`Repository::paths`]), without repetitions of the
    /// title; all texts of METADATA for a repository without paths, and for a record without texts
    /// at the paths. If `dataItem.dataTypes` has `dataset`, title, keywords and description of
    /// `dataItem` are first looked for in `dataset`.
    #[default]
    Paths,
    /// Descriptions, name of the repository and publication, as the organizers concatenated them.
    Organizers,
    /// The record as a JSON object, keys included, as in the pilot of the National Data Service:
    /// DOCNO, TITLE, REPOSITORY (the key, without the date of the harvest) and METADATA, with
    /// members in byte order of their names. The pilot lost records without METADATA; here it
    /// is `null`. The title is in the text, and so counts twice in a field of title and text.
    WholeRecord,
    /// [`TextRule::Paths`], and all texts of METADATA as the attribute `meta`: the three fields
    /// title, text and meta of Emory's runs.
    Fields,
}

impl TextRule {
    /// The rules in the order of their declaration.
    pub const ALL: [Self; 4] = [
        Self::Paths,
        Self::Organizers,
        Self::WholeRecord,
        Self::Fields,
    ];

    /// Name, as after the slash of a collection such as `biocaddie/whole-record`.
    ///
    /// ```
    /// use ir_data::biocaddie::TextRule;
    /// assert_eq!(TextRule::WholeRecord.name(), "whole-record");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::Organizers => "organizers",
            Self::WholeRecord => "whole-record",
            Self::Fields => "fields",
        }
    }
}
