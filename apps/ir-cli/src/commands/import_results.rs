//! `ir import-results`: result lists of other search engines as a TREC run.

use std::io::{BufRead, Cursor, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueHint;
use ir_core::Query;
use ir_data::results::{
    DocNames, ImportError, ImportedResults, ResultColumn, ResultImport, ResultList,
    read_results_json, read_results_tsv,
};
use ir_studies::datafinder::keyphrase_product_from_attributes;

use crate::shared::console::{Console, bail_usage};
use crate::shared::filter::warn_of_years;
use crate::shared::format::grouped;
use crate::shared::input::{
    self, QueryFields, collection_queries, open_documents, read_queries_of,
};
use crate::shared::options::{ReadingOptions, is_utf8_file, positive, tag};
use crate::shared::output::{OutputPath, OutputSink};
use crate::shared::runs::{self, at_most_one_stdin};
use crate::shared::signals::stop_on_interrupt;

const EXAMPLES: &str = "\
Examples:
  ir import-results datafinder --write-queries searches.tsv
  ir import-results datafinder engine.tsv -o engine.trec
  ir import-results datafinder engine.json -k 5 --not-later-than-query
  ir import-results datafinder a.tsv b.tsv --columns query,rank,result
  ir import-results datafinder engine.tsv --unmatched unmatched.tsv
  ir import-results datafinder engine.tsv --map names.tsv -o engine.trec

--write-queries writes what to ask the engine, as DataFinder's program does:
all combinations of the values of the attributes task, modality, domain,
language and text_length of a query, one value each, as lower-case words
without stop words and repetitions. Of a query without these attributes, the
text is written. Each line has the id of the query, a tab and the words.

TSV has one result per line; --columns names all columns. JSON (lines or an
array) has objects {\"query\": Q, \"search\": S, \"results\": [R, ...]}, where R is
a string or {\"name\": ..., \"url\": ...}. Q is the id or the text of a query, S
an optional name of the search.

A result is a name or URL of a document: its id, title, attribute `name` or
`variants`, or any attribute with a URL. Case, white space, `www.` and the
query of a URL are ignored, and so is a name that several documents have.
Other results are left out; --unmatched lists them, to be completed by the id
and given as --map.

Several lists of a query, of its searches or files, take turns: a document
that is in the list already uses up the turn, as in DataFinder's program.
Results that are left out use up none. Scores are K, K-1, ... for -k K.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection of the documents: a name (see `ir datasets`), or files as in `ir index`
    collection: String,

    /// Result lists, TSV or JSON; one may be `-` (standard input)
    #[arg(required_unless_present = "write_queries", value_name = "RESULTS")]
    files: Vec<String>,

    /// Output file of short queries for the engine, instead of reading results; not standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "map", "output", "unmatched", "columns", "depth", "hits", "not_later_than_query", "tag"])]
    write_queries: Option<OutputPath>,

    /// Columns of TSV, comma-separated: query, search, rank, result, and - for others
    #[arg(long, value_delimiter = ',', default_value = "query,result", value_name = "NAME,...", value_hint = ValueHint::Other)]
    columns: Vec<ResultColumn>,

    /// File of further names, tab-separated: name or URL, document id
    #[arg(long, value_name = "FILE")]
    map: Option<String>,

    /// Query file, or collection, as in `ir search` [default: the queries of the collection]
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    #[command(flatten)]
    query_fields: QueryFields,

    /// Split of the queries [default: test]
    #[arg(long, value_name = "SPLIT", value_hint = ValueHint::Other)]
    split: Option<String>,

    #[command(flatten)]
    pub(crate) text: ReadingOptions,

    /// Maximum number of results read from each list [default: all]
    #[arg(long, value_parser = positive, value_name = "N")]
    depth: Option<usize>,

    /// Maximum number of documents per query; DataFinder uses 5
    #[arg(long, short = 'k', default_value_t = 1000, value_parser = positive, value_name = "N")]
    hits: usize,

    /// Exclude documents newer than the query (attribute `year`); those without a year pass
    #[arg(long)]
    not_later_than_query: bool,

    /// Run tag (last column)
    #[arg(long, default_value = "ir-import", value_name = "NAME", value_hint = ValueHint::Other, value_parser = tag)]
    tag: String,

    /// Output run file; .gz and .zst are compressed [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<OutputPath>,

    /// Output file of the results without a document, tab-separated: result, query; most frequent
    /// first
    #[arg(long, value_name = "FILE")]
    unmatched: Option<OutputPath>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    at_most_one_stdin(args.files.iter().chain(&args.map))?;
    check_columns(&args.columns)?;
    let documents = open_documents(&args.collection, args.text.read_options(), console)?;
    // Queries of a file may have the encoding.
    if args.queries.as_ref().is_none_or(|path| is_utf8_file(path)) {
        documents.check_encoding(args.text.encoding)?;
    }
    let collection = &documents.collection;
    let split = args.split.as_deref();
    let queries = match &args.queries {
        Some(path) => read_queries_of(
            path,
            split,
            args.query_fields.read_options(args.text.encoding),
            console,
        )?,
        None => collection_queries(collection, split, console)?.with_context(|| {
            let name = &args.collection;
            format!("{name}: expected a collection with queries, found none (--queries FILE)")
        })?,
    }
    .queries;
    if let Some(path) = &args.write_queries {
        return write_queries(&queries, path, console);
    }
    let mut names = DocNames::default();
    for document in collection.corpus().docs()? {
        names.add_document(&document?);
    }
    if let Some(file) = &args.map {
        let (reader, name) = input::open(file, console)?;
        names.read_map(reader, &name)?;
    }
    let import = ResultImport {
        depth: args.depth.unwrap_or(usize::MAX),
        hits: args.hits,
        not_later_than_query: args.not_later_than_query,
    };
    let mut lists = Vec::new();
    for file in &args.files {
        let (of_file, name) = read(file, &args.columns, console)?;
        if of_file.is_empty() {
            console.warn(format_args!("{name}: no results"));
        }
        match import.check(&of_file, &queries) {
            Ok(()) => {}
            Err(ImportError::UnknownQuery { line, query }) => {
                bail!("{name}:{line}: expected the id or the text of a query, found {query:?}")
            }
            Err(error) => bail!("{name}: {error}"),
        }
        lists.extend(of_file);
    }
    if args.not_later_than_query {
        warn_of_years(&queries, console);
    }
    let imported = import.run(&args.tag, &lists, &names, &queries)?;
    report(&imported, args.unmatched.is_some(), console);
    let out = OutputSink::open(args.output.as_ref())?;
    if let Some(path) = &args.unmatched {
        OutputSink::open(Some(path))?.write_with(|out| write_unmatched(&imported, out))?;
    }
    runs::write(&imported.run, out, console)
}

/// Writes the combinations of the attributes of each query.
fn write_queries(queries: &[Query], path: &OutputPath, console: &Console) -> Result<()> {
    let mut without = 0;
    let mut lines = Vec::new();
    for query in queries {
        let mut texts = keyphrase_product_from_attributes(&query.attributes);
        if texts.is_empty() {
            without += 1;
            let words: Vec<&str> = query.text.split_whitespace().collect();
            texts.push(words.join(" "));
        }
        lines.extend(texts.into_iter().map(|text| (&query.id, text)));
    }
    if without > 0 {
        console.warn(format_args!(
            "queries without any of the attributes task, modality, domain, language and text_length: {}; their texts are written",
            grouped(without)
        ));
    }
    OutputSink::open(Some(path))?.write_with(|out| {
        (lines.iter()).try_for_each(|(id, text)| writeln!(out, "{id}\t{text}"))
    })?;
    console.log(format_args!(
        "{} searches of {} queries in {}",
        grouped(lines.len() as u64),
        grouped(queries.len() as u64),
        path.display()
    ));
    Ok(())
}

fn check_columns(columns: &[ResultColumn]) -> Result<()> {
    for (column, name) in [
        (ResultColumn::Query, "query"),
        (ResultColumn::Result, "result"),
    ] {
        if !columns.contains(&column) {
            bail_usage!("--columns: expected a column {name}, found none");
        }
    }
    let named = columns.iter().filter(|it| **it != ResultColumn::Ignored);
    let named: Vec<&ResultColumn> = named.collect();
    if (1..named.len()).any(|n| named[..n].contains(&named[n])) {
        bail_usage!("--columns: expected each column once, found one twice");
    }
    Ok(())
}

/// Reads a file in TSV or JSON, by its first character. Returns the name of the file, too.
fn read(
    file: &str,
    columns: &[ResultColumn],
    console: &Console,
) -> Result<(Vec<ResultList>, String)> {
    let (mut reader, name) = input::open(file, console)?;
    let mut start = Vec::new();
    while start.last().is_none_or(u8::is_ascii_whitespace) {
        let next = reader.fill_buf().with_context(|| name.clone())?;
        let Some(&byte) = next.first() else { break };
        start.push(byte);
        reader.consume(1);
    }
    let is_json = matches!(start.last(), Some(b'{' | b'['));
    let reader = Cursor::new(start).chain(reader);
    let lists = if is_json {
        read_results_json(reader, &name)?
    } else {
        read_results_tsv(reader, &name, columns)?
    };
    Ok((lists, name))
}

fn report(imported: &ImportedResults, is_listed: bool, console: &Console) {
    let retrieved: usize = imported.run.iter().map(|(_, list)| list.len()).sum();
    console.note(format_args!(
        "{} results of {} queries: {} documents in the run",
        grouped(imported.results as u64),
        grouped(imported.run.iter().len() as u64),
        grouped(retrieved as u64)
    ));
    if imported.newer > 0 {
        let count = grouped(imported.newer as u64);
        console.note(format_args!("{count} results are newer than their query"));
    }
    if let Some(first) = imported.unmatched.first() {
        let count = grouped(imported.unmatched.len() as u64);
        let advice = if is_listed {
            ""
        } else {
            " (--unmatched FILE lists them)"
        };
        console.warn(format_args!(
            "{count} results name no document, such as {:?}{advice}",
            first.result
        ));
    }
    if let Some(first) = imported.without_results.first() {
        let count = grouped(imported.without_results.len() as u64);
        console.warn(format_args!(
            "{count} queries have no document in the run, such as {first:?}"
        ));
    }
}

/// Writes each result once, with its first query; by descending count, then in the order of the
/// lists.
fn write_unmatched(imported: &ImportedResults, out: &mut OutputSink) -> std::io::Result<()> {
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for found in &imported.unmatched {
        let n = *known.entry(found.result.as_str()).or_insert(counts.len());
        match counts.get_mut(n) {
            Some(count) => count.2 += 1,
            None => counts.push((&found.result, &found.query, 1)),
        }
    }
    counts.sort_by_key(|count| std::cmp::Reverse(count.2));
    for (result, query, _) in counts {
        writeln!(out, "{result}\t{query}")?;
    }
    Ok(())
}
