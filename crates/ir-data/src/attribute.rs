//! Names of attributes that several collections share.

/// Year of publication or introduction, an integer.
pub const YEAR: &str = ir_core::Attributes::YEAR;
/// Keyphrase form of a query.
pub const KEYPHRASES: &str = "keyphrase_query";
/// Task of a model, for example "question answering".
pub const TASK: &str = "task";
/// Modality of the data: "images".
pub const MODALITY: &str = "modality";
/// Application domain, for example "biomedicine".
pub const DOMAIN: &str = "domain";
/// Language of the data.
pub const LANGUAGE: &str = "language";
/// Length of the texts: "sentence-level".
pub const TEXT_LENGTH: &str = "text_length";
/// Repository that a record comes from.
pub const REPOSITORY: &str = "repository";
