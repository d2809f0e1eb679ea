//! Option values and parsers that several subcommands share.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::num::IntErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow};
use clap::ValueHint;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ir_core::Query;
use ir_core::trec::HeaderLine;
use ir_data::{
    ColumnarFormat, DataError, GivenNames, InvalidText, ReadOptions, TextEncoding, attribute,
    has_json_extension,
};
use ir_system::SourceMap;

use crate::shared::console::{Usage, bail_usage};
use crate::shared::suggest::did_you_mean;

/// Parser of an option with values of a library type, or values that carry data: `NAME` or
/// `NAME|ALIAS`, help, value. Enums of the command derive `ValueEnum`.
pub(crate) fn choice<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.into_iter().collect();
    let shown = values.iter().map(|(names, help, _)| {
        let mut names = names.split('|');
        let name = PossibleValue::new(names.next().unwrap_or_default()).aliases(names);
        if help.is_empty() {
            name
        } else {
            name.help(*help)
        }
    });
    PossibleValuesParser::new(shown).try_map(move |text| {
        let named = |names: &str| names.split('|').any(|name| name == text);
        let found = values.iter().find(|(names, ..)| named(names));
        found
            .map(|(.., value)| value.clone())
            .ok_or("expected a listed value")
    })
}

/// Name of the first option that is set.
pub(crate) fn first_set<const N: usize>(
    options: [(&'static str, bool); N],
) -> Option<&'static str> {
    let mut set = options.into_iter().filter(|option| option.1);
    set.next().map(|option| option.0)
}

/// Path of an option: `$NAME` at its start is an environment variable, as in system files.
pub(crate) fn resolved(option: &str, path: &Path) -> Result<PathBuf> {
    match path.to_str().filter(|text| text.starts_with('$')) {
        Some(text) => Ok(SourceMap::default().resolve(option, text)?),
        None => Ok(path.to_owned()),
    }
}

/// Parses a number of bytes: `512MB`, `1.5GiB`, `4000000`.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let expected = || format!("expected a size like 512MB or 2GiB, found {text:?}");
    let number: f64 = text[..end].parse().map_err(|_| expected())?;
    let unit: f64 = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(expected()),
    };
    let size = number * unit;
    if (1.0..1e18).contains(&size) {
        Ok(size as usize)
    } else {
        Err(expected())
    }
}

/// Parses a value that `is_valid` accepts. `expected` describes valid values.
pub(crate) fn parse<T: FromStr>(
    text: &str,
    expected: &str,
    is_valid: impl Fn(&T) -> bool,
) -> Result<T, String> {
    let value = text.parse().ok().filter(is_valid);
    value.ok_or_else(|| format!("expected {expected}, found {text:?}"))
}

/// Parses an integer ≥ 1.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    let is_large = text
        .parse::<usize>()
        .is_err_and(|error| *error.kind() == IntErrorKind::PosOverflow);
    if is_large {
        return Err(format!(
            "expected an integer from 1 to {}, found {text:?}",
            usize::MAX
        ));
    }
    parse(text, "an integer of at least 1", |&number| number > 0)
}

/// Parses a number strictly between 0 and 1.
pub(crate) fn fraction(text: &str) -> Result<f64, String> {
    parse(text, "a number between 0 and 1", |&x| x > 0.0 && x < 1.0)
}

pub(crate) fn tag(text: &str) -> Result<String, String> {
    let separates = |c: char| c.is_whitespace() || c.is_control();
    let expected = "a tag without white space and control characters";
    parse(text, expected, |tag: &String| {
        !tag.is_empty() && !tag.contains(separates)
    })
}

/// Parses a finite number ≥ 0.
pub(crate) fn non_negative<T: FromStr + Into<f64> + Copy>(text: &str) -> Result<T, String> {
    let is_valid = |&x: &T| x.into() >= 0.0 && x.into().is_finite();
    parse(text, "a number of at least 0", is_valid)
}

/// Text of the queries: their own, or an attribute in place of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum QueryForm {
    /// The query text, usually a sentence.
    #[default]
    Text,
    /// A text attribute, such as `keyphrase_query` or the forms of bioCADDIE's topics.
    Attribute(String),
}

/// Names of the forms that are not attributes.
const TEXT: &str = "text";
const KEYPHRASES: &str = "keyphrases";

impl FromStr for QueryForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("expected text, keyphrases or an attribute of the queries".to_owned()),
            TEXT => Ok(Self::Text),
            KEYPHRASES => Ok(Self::Attribute(attribute::KEYPHRASES.to_owned())),
            name => Ok(Self::Attribute(name.to_owned())),
        }
    }
}

impl fmt::Display for QueryForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.attribute().map_or(TEXT, form_name))
    }
}

/// Name of the form of an attribute.
fn form_name(name: &str) -> &str {
    match name {
        attribute::KEYPHRASES => KEYPHRASES,
        name => name,
    }
}

impl QueryForm {
    /// Attribute in place of the text.
    pub(crate) fn attribute(&self) -> Option<&str> {
        match self {
            Self::Text => None,
            Self::Attribute(name) => Some(name),
        }
    }

    /// Replaces the text of each query by the attribute. An error if a query has no such text.
    pub(crate) fn apply(&self, queries: Vec<Query>) -> Result<Vec<Query>> {
        self.apply_by("--query-form", queries)
    }

    /// [`QueryForm::apply`] for the value of an option, which errors name.
    pub(crate) fn apply_by(&self, option: &str, mut queries: Vec<Query>) -> Result<Vec<Query>> {
        let Some(name) = self.attribute() else {
            return Ok(queries);
        };
        let missing = |query: &&Query| query.attributes.text(name).is_none();
        let without = queries.iter().find(missing);
        if let Some(query) = without {
            return Err(self.missing(option, query, &queries));
        }
        for query in &mut queries {
            if let Some(text) = query.attributes.text(name) {
                query.text = text.to_owned();
            }
        }
        Ok(queries)
    }

    /// Error of a query without the form. Lists the forms of all queries.
    fn missing(&self, option: &str, query: &Query, queries: &[Query]) -> anyhow::Error {
        let texts = queries.iter().flat_map(|query| {
            let attributes = query.attributes.iter();
            attributes.filter_map(|(name, _)| query.attributes.text(name).map(|_| form_name(name)))
        });
        let known: BTreeSet<&str> = std::iter::once(TEXT).chain(texts).collect();
        let found = self.to_string();
        let names: Vec<&str> = known.iter().copied().collect();
        let names = names.join(", ");
        if known.contains(found.as_str()) {
            return anyhow!(
                "{option} {found}: expected a text in each query, found none in query {:?} (forms: {names})",
                query.id
            );
        }
        let hint = did_you_mean(&found, known);
        Usage(format!(
            "{option}: expected a form of the queries ({names}), found {found:?}{hint}"
        ))
        .into()
    }
}

/// How files of documents are read, as options.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReadingOptions {
    /// Character encoding of TREC, SMART, Indri, CSV and TSV files and notes without a byte order
    /// mark. In XML, the default is the declared encoding, which another one replaces. An error for
    /// JSON, Parquet and Arrow, which are UTF-8
    #[arg(long, value_parser = choice(ENCODINGS), default_value = "utf-8", value_name = "NAME")]
    pub(crate) encoding: TextEncoding,

    /// Field or column with the ids, in JSON, CSV, Parquet or Arrow [default: by its name]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    id_field: Option<String>,

    /// Field or column with the texts [default: by its name]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    text_field: Option<String>,

    /// Field or column with the titles [default: title, if there is one]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    title_field: Option<String>,
}

impl ReadingOptions {
    /// Options of the readers.
    pub(crate) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            encoding: self.encoding,
            names: GivenNames {
                id: self.id_field.clone(),
                title: self.title_field.clone(),
                text: self.text_field.clone(),
            },
        }
    }
}

const ENCODINGS: [(&str, &str, TextEncoding); 3] = [
    ("utf-8|utf8", "[alias: utf8]", TextEncoding::Utf8),
    (
        "latin-1|latin1|iso-8859-1",
        "ISO 8859-1: every byte is a character [aliases: latin1, iso-8859-1]",
        TextEncoding::Latin1,
    ),
    (
        "windows-1252|cp1252",
        "Latin-1 with the quotation marks and dashes of Windows [alias: cp1252]",
        TextEncoding::Windows1252,
    ),
];

/// End of an error message about text that is not UTF-8.
pub(crate) const ENCODING_HINT: &str = " (for Windows-1252 or Latin-1: --encoding windows-1252)";

/// Adds the remedy to the error of text that is not UTF-8. `encoding` is the option `--encoding`
/// of the command, if it has one. JSON is always UTF-8.
pub(crate) fn with_encoding_hint(
    error: anyhow::Error,
    encoding: Option<TextEncoding>,
) -> anyhow::Error {
    let Some(
        fault @ DataError::InvalidText {
            path,
            found: InvalidText::Invalid { .. },
            ..
        },
    ) = error.root_cause().downcast_ref()
    else {
        return error;
    };
    if is_json(Path::new(path)) {
        return anyhow!("{fault} (JSON is UTF-8: convert the file to UTF-8)");
    }
    if encoding == Some(TextEncoding::Utf8) {
        return anyhow!("{fault}{ENCODING_HINT}");
    }
    error
}

/// Returns `true` if a file is UTF-8 by its format: JSON, Parquet or Arrow. The formats of pipes,
/// folders and collections are not known.
pub(crate) fn is_utf8_file(path: &Path) -> bool {
    path.is_file() && (is_json(path) || matches!(ColumnarFormat::detect(path), Ok(Some(_))))
}

/// Returns `true` if `--encoding` applies to a file of queries, if one is given.
pub(crate) fn has_encoded_queries(queries: Option<&Path>) -> bool {
    queries.is_some_and(|path| !is_utf8_file(path))
}

/// Rejects an `--encoding` of a query file that is UTF-8 by its format.
#[cfg(any(feature = "dense", feature = "remote"))]
pub(crate) fn check_query_encoding(path: &Path, encoding: TextEncoding) -> Result<()> {
    if encoding != TextEncoding::Utf8 && is_utf8_file(path) {
        bail_usage!(
            "--encoding: expected queries in TSV or topics, found {} (UTF-8 by its format)",
            path.display()
        );
    }
    Ok(())
}

/// Returns `true` if the name or the first character of a file shows JSON.
fn is_json(path: &Path) -> bool {
    let mut start = Vec::new();
    // A file that cannot be read again shows its format by its name only.
    if path.is_file()
        && let Ok(file) = ir_data::open(path)
    {
        let _ = file.take(1024).read_to_end(&mut start);
    }
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
    let start = start.trim_ascii_start();
    has_json_extension(path) || start.starts_with(b"{") || start.starts_with(b"[")
}

/// Treatment of a header line, by `--skip-header`.
pub(crate) fn header(skip: bool) -> HeaderLine {
    if skip {
        HeaderLine::Skip
    } else {
        HeaderLine::AsData
    }
}

/// Maximum of `--threads`: more than any machine has cores, and few enough to start at once.
const MAX_THREADS: usize = 1024;

/// Rejects a number of threads that would take long to start.
pub(crate) fn check_threads(threads: Option<usize>) -> Result<()> {
    if let Some(found) = threads.filter(|&threads| threads > MAX_THREADS) {
        bail_usage!("--threads: expected at most {MAX_THREADS}, found {found}");
    }
    Ok(())
}

pub(crate) fn use_threads(threads: Option<usize>) -> Result<()> {
    check_threads(threads)?;
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .context("the thread pool cannot be started")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(bytes("512MB"), Ok(512_000_000));
        assert_eq!(bytes("1.5 GiB"), Ok(1_610_612_736));
        assert_eq!(bytes("4096"), Ok(4096));
        for wrong in ["", "x", "-1", "0", "5 apples", "1e3", "9999999999GB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_rejected() {
        assert_eq!(non_negative("0.9"), Ok(0.9_f32));
        assert!(
            ["-0.1", "NaN", "inf"]
                .iter()
                .all(|text| non_negative::<f32>(text).is_err())
        );
        assert!(positive("0").is_err() && positive("-3").is_err());
        assert!(check_threads(Some(MAX_THREADS)).is_ok() && check_threads(None).is_ok());
        assert!(check_threads(Some(MAX_THREADS + 1)).is_err());
    }
}
