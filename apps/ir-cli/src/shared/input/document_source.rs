//! A collection that an argument names, with its indexing defaults.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use ir_bm25::{DocOrder, IndexedFields};
use ir_core::Corpus;
use ir_data::biocaddie::{BioCaddieCorpus, RecordForm};
use ir_data::training::DocumentTexts;
use ir_data::{Collection, DocTemplate, InMemoryJudgedQueries, TextEncoding};

use super::document_options::DocumentOptions;
use super::fingerprint;
use super::notes::file_stamp;
use crate::shared::console::{Console, bail_usage};

/// Formats of UTF-8 files.
pub(super) const NAMED: &str = "collection of `ir datasets`";
pub(super) const BEIR_FOLDER: &str = "BEIR folder";
pub(super) const JSON_RECORDS: &str = "JSON records of bioCADDIE";
pub(super) const XML_RECORDS: &str = "XML records of bioCADDIE";
/// Parquet or Arrow files in a folder.
pub(super) const COLUMNAR_FILES: &str = "Parquet or Arrow files";
/// JSON lines or arrays in a folder without other files.
pub(super) const JSON_FILES: &str = "JSON files";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentOrder {
    /// Ascending id, compared as bytes
    Id,
    /// Order of the collection
    Insertion,
    /// Lexicographic order of the row number, so that 10 precedes 9: reproduces runs that used the
    /// row number as document id. Loads the whole collection into memory
    RowText,
}

impl DocumentOrder {
    /// Order of an index of documents that are read in this order.
    pub(crate) const fn index_order(self) -> DocOrder {
        match self {
            Self::Id => DocOrder::Id,
            Self::Insertion | Self::RowText => DocOrder::Insertion,
        }
    }
}

/// A collection and its indexing defaults.
pub(crate) struct DocumentSource {
    pub(crate) collection: Collection,
    pub(crate) fields: IndexedFields,
    pub(crate) order: DocumentOrder,
    pub(crate) duplicate_ids: bool,
    /// Cache key of the documents: changes whenever they do.
    pub(crate) fingerprint: String,
    /// Detected format, for messages.
    pub(crate) format: &'static str,
    /// A file of the folder with documents in records; [`None`] if fields have no names.
    pub(crate) sample: Option<PathBuf>,
    /// If `true`, the documents are records of bioCADDIE.
    pub(super) is_biocaddie: bool,
    /// If `true`, the format is UTF-8 by definition.
    pub(super) is_utf8: bool,
}

impl DocumentSource {
    /// Warns about what of a folder is not read, and adds the warnings to the notes of the
    /// collection.
    pub(super) fn with_skipped(
        mut self,
        skipped: impl IntoIterator<Item = String>,
        console: &Console,
    ) -> Self {
        let warn = |warning: &String| console.warn(warning);
        let skipped = skipped.into_iter().inspect(warn);
        self.collection = self.collection.with_notes(skipped);
        self
    }

    /// Rejects an `--encoding` that does not apply to the format of the documents.
    pub(crate) fn check_encoding(&self, encoding: TextEncoding) -> Result<()> {
        if self.is_utf8 && encoding != TextEncoding::Utf8 {
            bail_usage!(
                "--encoding: expected TREC, SMART, CSV or TSV files, topics, XML records or notes, found {} ({})",
                self.collection.name(),
                self.format
            );
        }
        Ok(())
    }

    /// Template of a document's text: `--template`, or the default of the collection. An error if
    /// no document has a field of `--template`.
    pub(crate) fn template(&self, option: Option<&DocTemplate>) -> Result<DocTemplate> {
        Ok(match (option, self.fields) {
            (Some(template), _) => {
                template.check(self.collection.corpus())?;
                template.clone()
            }
            (None, IndexedFields::TextOnly) => DocTemplate::text_only(),
            (None, _) => DocTemplate::default(),
        })
    }

    /// Texts of the documents in the form of [`Self::template`].
    pub(crate) fn texts(&self, option: Option<&DocTemplate>) -> Result<DocumentTexts> {
        let template = self.template(option)?;
        Ok(DocumentTexts::from_corpus(
            self.collection.corpus(),
            &template,
        )?)
    }
}

/// Format of records, for messages.
pub(super) fn format_of(records: &BioCaddieCorpus) -> Result<&'static str> {
    Ok(match records.form()? {
        Some(RecordForm::Xml) => XML_RECORDS,
        _ => JSON_RECORDS,
    })
}

/// Records of bioCADDIE in a file or folder.
pub(super) fn from_records(
    path: &Path,
    records: BioCaddieCorpus,
    options: &DocumentOptions,
) -> Result<DocumentSource> {
    let format = format_of(&records)?;
    let (records, stamp) = with_options(records, options);
    Ok(unjudged(
        path,
        options.read.encoding,
        &stamp,
        records,
        format,
    ))
}

/// Paths, sizes and modification times of the files with records and their encoding, as one hash.
pub(super) fn records_stamp(records: &BioCaddieCorpus, encoding: TextEncoding) -> String {
    let files = records.files().unwrap_or_default();
    let stamps = files.iter().map(|file| file_stamp(file));
    fingerprint(stamps.chain([format!("{encoding:?}")]))
}

/// Records with the text of `--text-rule`, and their stamp. `--encoding` replaces the declared
/// encoding unless it is UTF-8.
pub(super) fn with_options(
    records: BioCaddieCorpus,
    options: &DocumentOptions,
) -> (BioCaddieCorpus, String) {
    let rule = options.text_rule.unwrap_or_default();
    let stamp = records_stamp(&records, options.read.encoding);
    let records = records.with_text(rule);
    let records = match options.read.encoding {
        TextEncoding::Utf8 => records,
        other => records.with_encoding(other),
    };
    (records, format!("{stamp} {}", rule.name()))
}

/// A collection without queries. `stamps` identifies its files.
pub(super) fn unjudged(
    path: &Path,
    encoding: TextEncoding,
    stamps: &str,
    corpus: impl Corpus + 'static,
    format: &'static str,
) -> DocumentSource {
    let fingerprint = match encoding {
        TextEncoding::Utf8 => stamps.to_owned(),
        other => format!("{other:?} {stamps}"),
    };
    let name = path.display().to_string();
    let collection = Collection::new(name, corpus, InMemoryJudgedQueries::default());
    with_defaults(collection, fingerprint, format)
}

pub(super) fn with_defaults(
    collection: Collection,
    fingerprint: String,
    format: &'static str,
) -> DocumentSource {
    DocumentSource {
        collection,
        fields: IndexedFields::One,
        order: DocumentOrder::Id,
        duplicate_ids: false,
        fingerprint,
        format,
        sample: None,
        is_biocaddie: [JSON_RECORDS, XML_RECORDS].contains(&format),
        is_utf8: [BEIR_FOLDER, COLUMNAR_FILES, JSON_FILES, JSON_RECORDS].contains(&format),
    }
}
