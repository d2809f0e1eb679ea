//! `ir stats`: statistics of a collection, of an index, and of the papers of the ICLR dataset.

mod attributes;
mod index;
mod labels;
mod papers;
mod venues;

use std::path::Path;

use anyhow::Result;
use ir_bm25::Analysis;
use ir_core::{Analyzer, Grade};
use ir_eval::plots::{HistogramPlot, Plot};
use ir_eval::{CorpusStatistics, Histogram, JudgmentStatistics};
use ir_knn::IclrVersion;
use papers::run_papers;
use serde_json::json;

use crate::shared::console::{Console, bail_usage};
use crate::shared::format::{grouped, table_with_text};
use crate::shared::indexing::analysis;
use crate::shared::input::{is_index, open_documents};
use crate::shared::options::{ReadingOptions, choice};
use crate::shared::output::{OutputPath, create_folder, print};
use crate::shared::papers::is_iclr;
use crate::shared::plots::write_plots;
use crate::shared::signals::stop_on_interrupt;
use index::run_index;
use venues::VenueSplits;

const EXAMPLES: &str = "\
Examples:
  ir stats datafinder                        a collection by name
  ir stats beir/nfcorpus --split dev         one split
  ir stats corpus.jsonl --analysis whitespace
  ir stats datafinder --json | jq '.splits.test.relevant_per_query'
  ir stats datafinder --plots figures        SVG plots and their data (CSV)
  ir stats records.jsonl --by repository     documents by an attribute
  ir stats iclr24v2.parquet                  reviews, scores, decisions too
  ir stats iclr24v2.parquet --keyword-labels keywords.tsv \\
      --keyword-version 24v2 --write-labels labels.txt
  ir stats nfcorpus.ir                       settings and fields of an index

The length of a document is the number of tokens of title and text, after
stop-word removal. Histograms are `value:count`, or `first..last:count` with
more than 16 values; --json has all. A document is relevant from grade
--level. The age of a relevant document is the year of the query minus its
year. Years are the attribute `year`. Where queries have the attribute
`venue`, the documents that are relevant to the most queries of a venue are
listed, with the percentage of its queries that have a relevant document.

Papers of the ICLR dataset are described by year, too. --keyword-labels
assigns classes by keywords: each paper has the class of its rarest keyword in
the map, the first of equally rare ones. A map is a TSV file with the header
  keyword  frequency  label
or, of all versions (--keyword-version), with
  keyword  freq_24v2  label_24v2  label_25v2  label_26v1
where a version lacks the keywords with an empty label. The versions 25v2 and
26v1 count frequencies in the papers; 26v1 cleans keywords before.

Of an index: analyzer, stored fields, statistics of every field, segments; of
vectors: dimensions, similarity, encoder; of a token store: vectors, encoding.
Options other than --json require a collection.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection: a name (see `ir datasets`), or files as in `ir index`; or an index of `ir index`
    /// or `ir encode`
    collection: String,

    #[command(flatten)]
    pub(crate) text: ReadingOptions,

    /// Split of the judgments [default: all]
    #[arg(long, value_name = "SPLIT", value_hint = clap::ValueHint::Other)]
    split: Option<String>,

    /// Minimum grade of a relevant document [default: 1]
    #[arg(long, short = 'l', value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    level: Option<Grade>,

    /// Analyzer of lengths and vocabulary, as in `ir index` [default: porter]
    #[arg(long, value_parser = analysis, value_name = "NAME")]
    analysis: Option<Analysis>,

    /// Group the venues of queries by the research communities of the DataFinder paper: Vision,
    /// NLP, Speech, Robotics, ML. Other venues and venues with fewer than three queries are left
    /// out [default: each venue]
    #[arg(long)]
    communities: bool,

    /// Count the documents by the values of an attribute, such as repository or venue; repeatable
    #[arg(long, value_name = "NAME", value_hint = clap::ValueHint::Other)]
    by: Vec<String>,

    /// Keyword map (TSV): classes of the papers of the ICLR dataset, by their keywords
    #[arg(long, value_name = "FILE")]
    keyword_labels: Option<String>,

    /// Version of the ICLR dataset that selects the classes of a map of all versions [default: the
    /// map has one version]
    #[arg(long, value_parser = choice(VERSIONS), value_name = "NAME", requires = "keyword_labels")]
    keyword_version: Option<IclrVersion>,

    /// Output file of the classes of --keyword-labels, one line per paper in the order of the
    /// file, as `ir knn-accuracy --labels` reads it
    #[arg(long, value_name = "FILE", requires = "keyword_labels")]
    write_labels: Option<OutputPath>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Output folder for plots (SVG, column width) and their data (CSV)
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    plots: Option<OutputPath>,
}

const VERSIONS: [(&str, &str, IclrVersion); 3] = [
    ("24v2", "", IclrVersion::V24v2),
    ("25v2", "", IclrVersion::V25v2),
    ("26v1", "", IclrVersion::V26v1),
];

/// Statistics of the judgments of a split, by its name.
type Splits = Vec<(String, JudgmentStatistics)>;

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    if is_iclr(&args.collection) {
        return run_papers(args, console);
    }
    if args.keyword_labels.is_some() {
        bail_usage!(
            "--keyword-labels: expected a Parquet or Arrow file of the ICLR dataset, found {}",
            args.collection
        );
    }
    if is_index(Path::new(&args.collection)) {
        return run_index(args);
    }
    let level = args.level.unwrap_or(1);
    let folder = args.plots.as_ref().map(OutputPath::folder);
    let documents = open_documents(&args.collection, args.text.read_options(), console)?;
    documents.check_encoding(args.text.encoding)?;
    let _new_folder = folder.as_deref().map(create_folder).transpose()?;
    let collection = &documents.collection;
    let splits = match &args.split {
        Some(split) => vec![split.clone()],
        None => collection.splits(),
    };
    let analyzer = args.analyzer()?;
    // Judgments are read first, so that an unknown split is found at once.
    let mut judged = Vec::new();
    for split in splits {
        let (queries, qrels) = (collection.queries(&split)?, collection.qrels(&split)?);
        judged.push((split, queries, qrels));
    }
    let corpus = CorpusStatistics::with_attributes(collection.corpus(), &analyzer, &args.by)?;
    if corpus.documents == 0 {
        bail_usage!("{}: expected documents, found none", args.collection);
    }
    attributes::check(&corpus, collection.corpus())?;
    let venues: VenueSplits = (judged.iter())
        .map(|(split, queries, qrels)| {
            let found = venues::popularity(queries, qrels, level, args.communities);
            (split.clone(), found)
        })
        .collect();
    if args.communities && venues.iter().all(|(_, found)| found.is_empty()) {
        bail_usage!(
            "--communities: expected queries with the attribute venue, three of a venue, found none"
        );
    }
    let splits: Splits = judged
        .into_iter()
        .map(|(split, queries, qrels)| {
            let analyzer: &dyn Analyzer = &analyzer;
            let judgments = corpus.judgments(&queries, &qrels, level, analyzer);
            (split, judgments)
        })
        .collect();
    let text = if args.json {
        let by_split: serde_json::Map<_, _> = (splits.iter())
            .map(|(split, judgments)| (split.clone(), json!(judgments)))
            .collect();
        let mut object = json!({
            "collection": collection.name(),
            "corpus": corpus,
            "splits": by_split,
        });
        for (split, found) in venues.iter().filter(|(_, found)| !found.is_empty()) {
            object["splits"][split]["popularity_by_venue"] = json!(found);
        }
        object.to_string()
    } else {
        let mut rows = corpus_rows(collection.name(), &corpus);
        rows.extend(judgment_rows(&splits));
        rows.extend(venues::rows(&venues));
        table_with_text(rows, 1)
    };
    print(text)?;
    match folder {
        Some(folder) => {
            let mut plots = plots(&corpus, &splits);
            plots.extend(venues::plots(&venues));
            write_plots(&plots, &folder)
        }
        None => Ok(()),
    }
}

impl Args {
    fn analyzer(&self) -> Result<impl Analyzer> {
        let analysis = self.analysis.clone();
        Ok(analysis.unwrap_or_default().build()?)
    }
}

/// Row of the text: name and value.
type Row = [String; 2];

fn corpus_rows(name: &str, corpus: &CorpusStatistics) -> Vec<Row> {
    let mut rows = vec![
        ["collection".to_owned(), name.to_owned()],
        ["documents".to_owned(), grouped(corpus.documents)],
        ["distinct ids".to_owned(), grouped(corpus.distinct_ids)],
        ["with title".to_owned(), grouped(corpus.with_title)],
        ["distinct terms".to_owned(), grouped(corpus.vocabulary)],
        ["document length".to_owned(), summary(&corpus.lengths)],
    ];
    if corpus.years.total() > 0 {
        let counts = by_value(&corpus.years);
        rows.push(["documents by year".to_owned(), counts]);
        let without = corpus.documents - corpus.years.total();
        rows.push(["without year".to_owned(), grouped(without)]);
    }
    rows.extend(corpus.by_attribute.iter().flat_map(attributes::rows));
    rows
}

fn judgment_rows(splits: &Splits) -> Vec<Row> {
    let mut rows = Vec::new();
    for (split, judged) in splits {
        let mut add = |what: &str, value: String| rows.push([format!("{split}: {what}"), value]);
        add("queries", grouped(judged.queries));
        add("judgments", grouped(judged.judgments));
        add("judged documents", grouped(judged.judged_documents));
        add(
            "judgments without document",
            grouped(judged.missing_documents),
        );
        add("query length", summary(&judged.query_lengths));
        add("judgments per query", summary(&judged.judged_per_query));
        add("relevant per query", summary(&judged.relevant_per_query));
        for (what, histogram) in [
            ("queries by relevant documents", &judged.relevant_per_query),
            ("judgments by grade", &judged.grades),
            ("queries by year", &judged.query_years),
            ("relevant by age", &judged.relevant_ages),
            ("relevant by queries", &judged.queries_per_document),
        ] {
            if histogram.total() > 0 {
                add(what, by_value(histogram));
            }
        }
        let most = judged.most_relevant.iter();
        let most: Vec<String> = most.map(|(doc, count)| format!("{doc}:{count}")).collect();
        add("relevant to most queries", most.join(" "));
    }
    rows
}

fn summary(histogram: &Histogram) -> String {
    histogram.summary().map_or_else(
        || "-".to_owned(),
        |it| {
            format!(
                "min {}, median {}, mean {:.2}, max {}",
                it.min, it.median, it.mean, it.max
            )
        },
    )
}

/// Maximum number of counts in a row of the text.
const MAX_COUNTS: usize = 16;

/// Count of each value, or of intervals if there are many.
fn by_value(histogram: &Histogram) -> String {
    let bins = if histogram.0.len() > MAX_COUNTS {
        histogram.by_interval(MAX_COUNTS)
    } else {
        (histogram.0.iter())
            .map(|(value, count)| (value.to_string(), *count))
            .collect()
    };
    let counts = bins.into_iter().filter(|(_, count)| *count > 0);
    let counts = counts.map(|(label, count)| format!("{label}:{count}"));
    counts.collect::<Vec<_>>().join(" ")
}

/// Maximum number of bars of a plot with a bar per value.
const MAX_BARS: usize = 60;

/// A bar for each value, or for intervals if these are many.
fn bars(histogram: &Histogram) -> Vec<(String, u64)> {
    let most = histogram.summary().map_or(0, |summary| summary.max);
    if usize::try_from(most).unwrap_or(0) < MAX_BARS {
        histogram.by_value(MAX_BARS)
    } else {
        histogram.by_doubling()
    }
}

fn plots(corpus: &CorpusStatistics, splits: &Splits) -> Vec<Box<dyn Plot>> {
    let mut plots: Vec<Box<dyn Plot>> = Vec::new();
    let mut add = |title: String, value: &str, count: &str, bars: Vec<(String, u64)>| {
        // One bar shows no distribution.
        if bars.len() < 2 {
            return;
        }
        plots.push(Box::new(HistogramPlot {
            title,
            value: value.to_owned(),
            count: count.to_owned(),
            bars,
        }));
    };
    add(
        "document length".to_owned(),
        "tokens",
        "documents",
        corpus.lengths.by_doubling(),
    );
    add(
        "documents by year".to_owned(),
        "year",
        "documents",
        corpus.years.by_value(MAX_BARS),
    );
    for counts in &corpus.by_attribute {
        add(
            format!("documents by {}", counts.attribute),
            &counts.attribute,
            "documents",
            attributes::bars(counts),
        );
    }
    for (split, judged) in splits {
        for (what, value, count, bars) in [
            (
                "query length",
                "tokens",
                "queries",
                bars(&judged.query_lengths),
            ),
            (
                "judgments per query",
                "judgments",
                "queries",
                bars(&judged.judged_per_query),
            ),
            (
                "relevant documents per query",
                "relevant documents",
                "queries",
                bars(&judged.relevant_per_query),
            ),
            (
                "judgments by grade",
                "grade",
                "judgments",
                judged.grades.by_value(MAX_BARS),
            ),
            (
                "queries by year",
                "year",
                "queries",
                judged.query_years.by_value(MAX_BARS),
            ),
            (
                "age of relevant documents",
                "years",
                "relevant documents",
                judged.relevant_ages.by_value(MAX_BARS),
            ),
            (
                "queries per relevant document",
                "queries",
                "documents",
                bars(&judged.queries_per_document),
            ),
        ] {
            add(format!("{split} {what}"), value, count, bars);
        }
    }
    plots
}
