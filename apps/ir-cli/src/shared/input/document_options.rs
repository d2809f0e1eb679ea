//! How documents are read: `--text-rule`, `--encoding` and names of fields.

use anyhow::{Error, anyhow};
use ir_data::biocaddie::TextRule;
use ir_data::{DataError, ReadOptions, TextEncoding};

use crate::shared::options::choice;

/// Text of bioCADDIE records as an option.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct TextRuleOption {
    /// Text of records of bioCADDIE; other documents are an error [default: paths, or the rule in
    /// the name of a collection such as biocaddie/fields]
    #[arg(long, value_parser = choice(RULES), value_name = "RULE", help_heading = "Index")]
    pub(crate) text_rule: Option<TextRule>,
}

const RULES: [(&str, &str, TextRule); 4] = [
    (
        TextRule::Paths.name(),
        "Texts at the paths of the repository",
        TextRule::Paths,
    ),
    (
        TextRule::Organizers.name(),
        "Descriptions, repository and publication",
        TextRule::Organizers,
    ),
    (
        TextRule::WholeRecord.name(),
        "The record as JSON, keys included",
        TextRule::WholeRecord,
    ),
    (
        TextRule::Fields.name(),
        "As paths, and all texts as the attribute meta",
        TextRule::Fields,
    ),
];

/// How documents are read.
#[derive(Debug, Clone, Default)]
pub(crate) struct DocumentOptions {
    /// Character encoding, and names of fields.
    pub(crate) read: ReadOptions,
    /// Text of records of bioCADDIE; [`None`] for the default.
    pub(crate) text_rule: Option<TextRule>,
    /// If `true`, the command has options for names of fields. Errors then name them.
    pub(crate) has_names: bool,
}

impl DocumentOptions {
    /// First option that gives the name of a field.
    pub(crate) fn given_name(&self) -> Option<&'static str> {
        let mut given = self.given(Self::NAMES);
        given.next().map(|(_, option)| option)
    }

    /// Given names of id, title and text with their options.
    fn given<'s>(
        &'s self,
        options: [&'static str; 3],
    ) -> impl Iterator<Item = (&'s str, &'static str)> {
        let names = &self.read.names;
        let names = [&names.id, &names.title, &names.text].into_iter();
        let given = names.zip(options);
        given.filter_map(|(name, option)| Some((name.as_deref()?, option)))
    }

    /// Options that name the id, title and text of documents.
    pub(crate) const NAMES: [&'static str; 3] = ["--id-field", "--title-field", "--text-field"];

    /// Adds the options that name id and text to an error of a file in which none has a known name,
    /// and puts the option of a name before the error of a file without it.
    pub(crate) fn with_advice(&self, error: impl Into<Error>, options: [&'static str; 3]) -> Error {
        let error = error.into();
        let Some(found) = error.downcast_ref::<DataError>() else {
            return error;
        };
        if let DataError::MissingField { field, .. } = found
            && let Some((_, option)) = self.given(options).find(|(name, _)| *name == field)
        {
            return anyhow!("{option}: {found}");
        }
        let names = &self.read.names;
        let is_given = names.id.is_some() && names.text.is_some();
        let [id, _, text] = options;
        if self.has_names && !is_given && found.lacks_names() {
            return anyhow!("{found} ({id} NAME and {text} NAME name them)");
        }
        error
    }

    /// Given names of fields, as a part of the cache key of the documents.
    pub(super) fn names_stamp(&self) -> String {
        let names = &self.read.names;
        if names.is_empty() {
            return String::new();
        }
        let names = [&names.id, &names.title, &names.text];
        let names = names.map(|name| name.as_deref().unwrap_or_default());
        format!(" {}", names.join("\t"))
    }
}

impl From<ReadOptions> for DocumentOptions {
    fn from(read: ReadOptions) -> Self {
        Self {
            read,
            text_rule: None,
            has_names: true,
        }
    }
}

impl From<TextEncoding> for DocumentOptions {
    fn from(encoding: TextEncoding) -> Self {
        let read = ReadOptions {
            encoding,
            ..ReadOptions::default()
        };
        Self {
            read,
            ..Self::default()
        }
    }
}
