//! Names of the fields of queries: `--query-field` and `--query-id-field`.

use anyhow::Result;
use clap::ValueHint;
use ir_core::Query;
use ir_data::{GivenNames, ReadOptions, TextEncoding};

use crate::shared::console::{Usage, bail_usage};
use crate::shared::options::QueryForm;

/// Names of the fields of a file of queries, as options.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct QueryFields {
    /// Field or column with the texts of --queries, in JSON, CSV, Parquet or Arrow [default: by its
    /// name]; of topics, an element such as desc; of collections, a field as in --query-form.
    /// Several between commas are joined by spaces in this order: title,desc
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, requires = "queries", help_heading = QUERIES, hide_short_help = true)]
    query_field: Option<String>,

    /// Field or column with the ids of --queries, in JSON, CSV, Parquet or Arrow [default: by its
    /// name]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, requires = "queries", help_heading = QUERIES, hide_short_help = true)]
    query_id_field: Option<String>,
}

const QUERIES: &str = "Queries";

impl QueryFields {
    /// Options of the reader of queries.
    pub(crate) fn read_options(&self, encoding: TextEncoding) -> ReadOptions {
        ReadOptions {
            encoding,
            names: GivenNames {
                id: self.query_id_field.clone(),
                title: None,
                text: self.query_field.clone(),
            },
        }
    }
}

/// Several names of fields in place of one, between commas.
pub(super) fn several(names: &GivenNames) -> Option<&str> {
    names.text.as_deref().filter(|text| text.contains(','))
}

/// Queries with the texts of several fields, joined by spaces. `read` returns the queries with the
/// text of one field. Ids and attributes are from the first field.
pub(super) fn joined(
    names: &str,
    mut read: impl FnMut(&str) -> Result<Vec<Query>>,
) -> Result<Vec<Query>> {
    let mut names = names.split(',').map(str::trim);
    let mut queries = read(names.next().unwrap_or_default())?;
    for name in names {
        for (query, other) in queries.iter_mut().zip(read(name)?) {
            query.text.push(' ');
            query.text.push_str(&other.text);
        }
    }
    Ok(queries)
}

/// Queries of a source without names of fields, with the text of a field of topics. `found`
/// describes the source in errors.
pub(crate) fn with_field(
    queries: Vec<Query>,
    names: &GivenNames,
    found: &str,
) -> Result<Vec<Query>> {
    if names.id.is_some() {
        bail_usage!(
            "--query-id-field: expected a file with names of fields (JSON, CSV, Parquet or Arrow), found {found}"
        );
    }
    if let Some(fields) = several(names) {
        return joined(fields, |field| of_field(queries.clone(), field));
    }
    match &names.text {
        Some(name) => of_field(queries, name),
        None => Ok(queries),
    }
}

fn of_field(queries: Vec<Query>, name: &str) -> Result<Vec<Query>> {
    let form = name.parse::<QueryForm>();
    let form = form.map_err(|message| Usage(format!("--query-field: {message}")))?;
    form.apply_by("--query-field", queries)
}
