//! Systems of a file: name, type, parameters and grid.

use ir_core::trec::ScoreFormat;
use ir_core::{Conditions, Predicate};
use schemars::JsonSchema;
use serde::de::{Error, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use crate::error::SystemError;
use crate::suggest::closest;

/// Named system: its type and the parameters of the type, with search parameters that differ from
/// the search parameters of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemEntry {
    /// Unique name, in tables and as the tag of the run.
    pub name: String,
    /// Type, one of [`Registry::names`](crate::Registry::names).
    #[serde(rename = "type")]
    pub kind: String,
    /// Number of hits. Default: the experiment's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hits: Option<usize>,
    /// Time filter. Default: the experiment's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterName>,
    /// Conditions on the attributes of the documents, key `where`: read as [`Conditions`], written
    /// as a table. Default: the experiment's value.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<Predicate>,
    /// Rounding of the scores before evaluation and in the files of the runs. Default: the
    /// experiment's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<ScoreFormatName>,
    /// Leaves the system out of the tables: it is only a part of others. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// Grid: values by parameter. Every combination is a point.
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub grid: Table,
    /// Parameters of the type.
    #[serde(flatten)]
    pub parameters: Table,
}

/// Keys of a system that do not depend on its type, with descriptions.
pub const COMMON_KEYS: [(&str, &str); 8] = [
    ("name", "Unique name, in tables and as the tag of the run."),
    ("type", "Type of the system."),
    ("hits", "Number of hits. Default: the experiment's value."),
    (
        "filter",
        "Time filter: none, year, year-of-last-record, published-year or year-of-best-record. Default: the experiment's value.",
    ),
    (
        "where",
        "Conditions on the attributes of the documents, as in `[search]`. Default: the experiment's value.",
    ),
    (
        "scores",
        "Rounding of the scores before evaluation and in the files of the runs: exact, strict or anserini. Default: the experiment's value.",
    ),
    (
        "hidden",
        "Leaves the system out of the tables: it is only a part of others. Default: false.",
    ),
    (
        "grid",
        "Grid: values by parameter. Every combination is a point, of which the best is selected.",
    ),
];

impl SystemEntry {
    /// Creates a system with default parameters.
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: kind.into(),
            hits: None,
            filter: None,
            condition: None,
            scores: None,
            hidden: false,
            grid: Table::new(),
            parameters: Table::new(),
        }
    }

    /// Returns the system with this parameter.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(key.to_owned(), value.into());
        self
    }

    /// Adds the values of a parameter to the grid.
    #[must_use]
    pub fn with_grid<V: Into<Value>>(
        mut self,
        key: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.grid.insert(key.to_owned(), Value::Array(values));
        self
    }

    /// Checks that the type of the system allows its filter.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] for a filter that needs all records of an id, of a type
    /// that returns each id once.
    pub fn check_filter(&self) -> Result<(), SystemError> {
        let filter = self.filter.and_then(FilterName::of_records);
        let Some(filter) = filter.filter(|_| self.kind != "bm25") else {
            return Ok(());
        };
        let found = &self.kind;
        let message = format!("{filter}: expected a system of type bm25, found {found}");
        Err(SystemError::parameter("filter", message))
    }
}

impl<'de> Deserialize<'de> for SystemEntry {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        fn take<T: for<'t> Deserialize<'t>, E: Error>(
            table: &mut Table,
            key: &str,
        ) -> Result<Option<T>, E> {
            let Some(value) = table.remove(key) else {
                return Ok(None);
            };
            let parsed = T::deserialize(value.into_deserializer());
            let message = |error: toml::de::Error| format!("{key}: {}", error.message());
            parsed.map(Some).map_err(|error| E::custom(message(error)))
        }
        /// Error of a missing key, at the key that may be a misspelling of it.
        fn missing<E: Error>(table: &Table, key: &'static str) -> E {
            let keys = table.keys().map(String::as_str);
            match keys.filter(|found| closest(found, [key]).is_some()).min() {
                Some(found) => E::custom(format!("{found}: unknown key (did you mean {key}?)")),
                None => E::missing_field(key),
            }
        }
        let mut table = Table::deserialize(input)?;
        let name = take(&mut table, "name")?.ok_or_else(|| missing(&table, "name"))?;
        let kind = take(&mut table, "type")?.ok_or_else(|| missing(&table, "type"))?;
        Ok(Self {
            name,
            kind,
            hits: take(&mut table, "hits")?,
            filter: take(&mut table, "filter")?,
            condition: take::<Conditions, _>(&mut table, "where")?.map(Predicate::from),
            scores: take(&mut table, "scores")?,
            hidden: take(&mut table, "hidden")?.unwrap_or_default(),
            grid: take(&mut table, "grid")?.unwrap_or_default(),
            parameters: table,
        })
    }
}

/// Order in which the documents of a collection are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentOrder {
    /// Order of the collection.
    #[default]
    Collection,
    /// Lexicographic order of the row number, as in DataFinder's published index.
    LexicographicRow,
}

impl DocumentOrder {
    /// Returns `true` for the order of the collection.
    #[must_use]
    pub fn is_of_the_collection(&self) -> bool {
        *self == Self::Collection
    }
}

/// Time filter of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FilterName {
    /// Newer documents are returned.
    #[default]
    None,
    /// Documents that are newer than the attribute `year` of the query are excluded inside the
    /// search. Documents and queries without a year pass.
    Year,
    /// As `year`, where several records of a collection may have the same id: an id has the year of
    /// its last record, not of its first, as in programs that keep the records in a map by id.
    YearOfLastRecord,
    /// DataFinder's published procedure: post-filtering of five times as many hits, with its stop
    /// rule. Only for the system `bm25`.
    PublishedYear,
    /// As `year`, where several records of a collection may have the same id: the year of the
    /// best-ranked record of an id decides if the id passes, not the year of its first record.
    /// Only for the system `bm25`.
    YearOfBestRecord,
}

impl FilterName {
    /// Name, if the filter needs the records that have the same id.
    pub const fn of_records(self) -> Option<&'static str> {
        match self {
            Self::PublishedYear => Some("published-year"),
            Self::YearOfBestRecord => Some("year-of-best-record"),
            Self::None | Self::Year | Self::YearOfLastRecord => None,
        }
    }
}

/// Rounding of scores, which may create or break ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreFormatName {
    /// Scores are not changed.
    #[default]
    Exact,
    /// Ties are broken in the order of the ranking.
    Strict,
    /// Four decimals, as in Anserini's run files.
    Anserini,
}

impl From<ScoreFormatName> for ScoreFormat {
    fn from(name: ScoreFormatName) -> Self {
        match name {
            ScoreFormatName::Exact => Self::Exact,
            ScoreFormatName::Strict => Self::Strict,
            ScoreFormatName::Anserini => Self::Anserini,
        }
    }
}
