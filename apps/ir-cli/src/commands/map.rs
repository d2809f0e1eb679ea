//! `ir map`: vectors or texts as a map in two dimensions.

use std::ffi::OsStr;
use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::ValueHint;
use ir_core::Progress;
use ir_data::{LineReader, parser_message};
use ir_eval::plots::{ScatterPlot, ScatterPoint};
use ir_knn::{
    TfWeighting, TfidfConfig, TfidfVectorizer, TruncatedSvd, TruncatedSvdConfig, TsneConfig,
    normalize_rows, tsne,
};
use ndarray::Array2;
use serde_json::{Map, Value};

use crate::shared::console::{Console, bail_usage};
use crate::shared::input;
use crate::shared::item_files;
use crate::shared::options::positive;
use crate::shared::output::{OutputPath, OutputSink};
use crate::shared::papers::is_columnar;
use crate::shared::runs::at_most_one_stdin;

const EXAMPLES: &str = "\
Examples:
  ir map --texts papers.jsonl --text-field abstract -o map.html
  ir map --texts iclr24v2.parquet --label-field year -o years.svg
  ir map --vectors x.npy --labels labels.txt --titles titles.txt -o map.html
  ir map --vectors tsne.npy --labels labels.txt -o map.svg    a given map

Vectors are mapped by t-SNE with openTSNE's settings: perplexity 30, PCA
initialization, 250 iterations with early exaggeration and 500 without.
Vectors of two dimensions are drawn without t-SNE. Texts are first reduced to
the normalized SVD of TF-IDF with sublinear term frequency, as in the ICLR
benchmark. The map is deterministic.

Points have the color of their label; integers, such as years, are colored in
their order. Points labeled `unlabeled`, or without a label, are gray. The
title of an item appears while the pointer is on its point; on a page (.html),
the items of a label stand out while the pointer is on the label.

Texts are JSON lines, or a Parquet or Arrow file of the ICLR dataset, of which
--label-field is labels, year, decision, or score, the mean score of the
reviewers, rounded.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("items").required(true).args(["vectors", "texts"]))]
pub(crate) struct Args {
    /// Vectors: a .npy file, one row per item
    #[arg(long, value_name = "FILE")]
    vectors: Option<String>,

    /// Texts: JSON lines, or a Parquet or Arrow file of the ICLR dataset
    #[arg(long, value_name = "FILE")]
    texts: Option<String>,

    /// Labels, one per line, in the order of the vectors or texts
    #[arg(long, value_name = "FILE")]
    labels: Option<String>,

    /// Titles, one per line, in the order of the vectors or texts
    #[arg(long, value_name = "FILE")]
    titles: Option<String>,

    /// JSON field of the text
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, default_value = "text", conflicts_with = "vectors")]
    text_field: String,

    /// JSON field of the title
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, default_value = "title", conflicts_with_all = ["vectors", "titles"])]
    title_field: String,

    /// JSON field of the label; a number is a label, too
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, default_value = "label", conflicts_with_all = ["vectors", "labels"])]
    label_field: String,

    /// Label of items without a class
    #[arg(long, value_name = "LABEL", value_hint = ValueHint::Other, default_value = "unlabeled")]
    unlabeled: String,

    /// Number of dimensions of texts before t-SNE. Range: ≥ 2
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = 100, conflicts_with = "vectors")]
    components: usize,

    /// Perplexity of t-SNE. Range: 1 to (items - 1) / 3 [default: 30, or the maximum]
    #[arg(long, value_name = "X")]
    perplexity: Option<f64>,

    /// Title of the map [default: the name of the file]
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    title: Option<String>,

    /// Output file: .svg, .html or .csv (coordinates, labels and titles)
    #[arg(short = 'o', long, value_name = "FILE")]
    output: OutputPath,
}

#[derive(Debug, Clone, Copy)]
enum MapFormat {
    Svg,
    Html,
    Csv,
}

/// Items of the map: vectors, and titles and labels of all items or none.
struct Items {
    vectors: Array2<f64>,
    titles: Vec<String>,
    labels: Vec<String>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let files = [&args.vectors, &args.texts, &args.labels, &args.titles];
    at_most_one_stdin(files.into_iter().flatten())?;
    let format = match args.output.extension().and_then(OsStr::to_str) {
        Some("svg") => MapFormat::Svg,
        Some("html" | "htm") => MapFormat::Html,
        Some("csv") => MapFormat::Csv,
        _ => bail_usage!("--output: expected a name that ends in .svg, .html or .csv"),
    };
    if args.components < 2 {
        bail_usage!("--components: expected at least 2, found 1");
    }
    let output = OutputSink::open(Some(&args.output))?;
    let source = args.vectors.as_ref().or(args.texts.as_ref());
    let source = source.context("clap asks for one of both")?;
    let items = items(args, source, console)?;
    // Two components of texts are no map.
    let map = if args.vectors.is_some() && items.vectors.ncols() == 2 {
        if args.perplexity.is_some() {
            bail_usage!("--perplexity: expected vectors of more than two dimensions, found a map");
        }
        items.vectors
    } else {
        let mut config = TsneConfig::default();
        if let Some(perplexity) = args.perplexity {
            config = config.with_perplexity(perplexity);
        }
        console.bar().report("t-SNE", 0, None);
        tsne(&items.vectors, &config).with_context(|| source.clone())?
    };
    let points = map.rows().into_iter().enumerate().map(|(n, row)| {
        let label = items
            .labels
            .get(n)
            .filter(|label| **label != args.unlabeled);
        ScatterPoint {
            x: row[0],
            y: row[1],
            text: items.titles.get(n).cloned().unwrap_or_default(),
            label: label.cloned(),
        }
    });
    let plot = ScatterPlot {
        title: args.title.clone().unwrap_or_else(|| source.clone()),
        points: points.collect(),
    };
    let text = match format {
        MapFormat::Svg => plot.to_svg(),
        MapFormat::Html => plot.to_html(),
        MapFormat::Csv => plot.to_csv(),
    };
    output.write_with(|out| out.write_all(text.as_bytes()))
}

fn items(args: &Args, source: &str, console: &Console) -> Result<Items> {
    let mut items = if args.vectors.is_some() {
        Items {
            vectors: item_files::vectors(source, console)?,
            titles: Vec::new(),
            labels: Vec::new(),
        }
    } else {
        let records = if is_columnar(source) {
            papers(source, args)?
        } else {
            json_lines(source, args, console)?
        };
        let vectors = reduce(&records.texts, args, console).with_context(|| source.to_owned())?;
        Items {
            vectors,
            titles: records.titles,
            labels: records.labels,
        }
    };
    let expected = items.vectors.nrows();
    let read = [item_files::labels, item_files::titles];
    let lines = [
        (&args.labels, "labels", &mut items.labels),
        (&args.titles, "titles", &mut items.titles),
    ];
    for ((file, what, lines), read) in lines.into_iter().zip(read) {
        let Some(file) = file else { continue };
        *lines = read(file, console)?;
        if lines.len() != expected {
            bail!(
                "{file}: expected {expected} {what} as {source} has items, found {}",
                lines.len()
            );
        }
    }
    Ok(items)
}

/// Texts with titles and labels.
#[derive(Default)]
struct Records {
    texts: Vec<String>,
    titles: Vec<String>,
    labels: Vec<String>,
}

fn json_lines(source: &str, args: &Args, console: &Console) -> Result<Records> {
    let (reader, name) = input::open(source, console)?;
    let mut lines = LineReader::new(reader, &name);
    let mut records = Records::default();
    while let Some(line) = lines.read()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let at = format!("{name}:{}", line.number);
        let object: Map<String, Value> = serde_json::from_str(line.text).map_err(|error| {
            let error = parser_message(&error.to_string(), "an object");
            anyhow::anyhow!("{at}: expected a JSON object: {error}")
        })?;
        let field = |field: &str| match object.get(field) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let Some(text) = field(&args.text_field) else {
            bail!(
                "{at}: expected text in the field {:?}, found none (--text-field)",
                args.text_field
            );
        };
        records.texts.push(text);
        records
            .titles
            .push(field(&args.title_field).unwrap_or_default());
        let label = field(&args.label_field);
        records
            .labels
            .push(label.unwrap_or_else(|| args.unlabeled.clone()));
    }
    Ok(records)
}

/// Abstracts of the ICLR dataset.
fn papers(source: &str, args: &Args) -> Result<Records> {
    let mut records = Records::default();
    for paper in ir_data::iclr::read(source)? {
        records.labels.push(match args.label_field.as_str() {
            "label" | "labels" => paper.class,
            "year" => paper.year.to_string(),
            "decision" => paper.decision,
            "score" => mean_score(&paper.scores).unwrap_or_else(|| args.unlabeled.clone()),
            other => {
                bail_usage!(
                    "--label-field: expected labels, year, decision or score, found {other}"
                )
            }
        });
        records.titles.push(paper.title);
        records.texts.push(paper.text);
    }
    Ok(records)
}

/// Mean of the scores of the reviewers, rounded to an integer.
fn mean_score(scores: &[i64]) -> Option<String> {
    let sum: i64 = scores.iter().sum();
    (!scores.is_empty()).then(|| format!("{:.0}", (sum as f64 / scores.len() as f64).round()))
}

/// Normalized SVD of TF-IDF.
fn reduce(texts: &[String], args: &Args, console: &Console) -> Result<Array2<f64>> {
    let terms = TfidfConfig::default().with_tf(TfWeighting::Sublinear);
    let (_, rows) = TfidfVectorizer::fit_transform(texts, &terms)?;
    let most = rows.nrows().min(rows.ncols());
    let config = TruncatedSvdConfig::new(args.components.min(most));
    let svd = TruncatedSvd::fit_with_progress(&rows, &config, &mut console.bar())?;
    let mut reduced = svd.transform(&rows)?;
    normalize_rows(&mut reduced);
    Ok(reduced)
}
