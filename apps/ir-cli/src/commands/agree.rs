//! `ir agree`: inter-assessor agreement, and correlation of the system rankings they induce.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, Cursor, Read};

use anyhow::{Context, Result, bail};
use clap::ValueHint;
use hashbrown::TryReserveError;
use hashbrown::hash_table::{Entry, HashTable};
use ir_core::{Qrels, RunOrder};
use ir_data::MAX_LINE;
use ir_eval::assess::{
    KappaWeights, MeasurementLevel, RatingCategory, Ratings, SetDistance, SetRatings,
};
use ir_eval::runs::{kendall_tau_b, tau_ap, tau_ap_b};
use ir_eval::{Evaluator, Measure, Rules};
use serde::Serialize;
use serde_json::{Value, json};

use crate::shared::console::{Console, bail_usage};
use crate::shared::format::{four_decimals, table};
use crate::shared::input::{self, QrelsArgument};
use crate::shared::output::print;
use crate::shared::rules::measures_in_order;
use crate::shared::runs::{RunOptions, at_most_one_stdin, warn_of_repeated};

const EXAMPLES: &str = "\
Examples:
  ir agree ann.qrels ben.qrels                 two assessors
  ir agree ann.qrels ben.qrels eve.qrels       three assessors
  ir agree --table labels.tsv                  table: item, a label per coder
  ir agree --table datasets.tsv --sets         cells such as: SQuAD; CoQA
  ir agree ann.qrels ben.qrels --run a.trec --run b.trec --run c.trec -m map
  ir agree ann.qrels --run a.trec --run b.trec --run c.trec -m map -m P.10

Coefficients are 1 for perfect agreement and 0 for chance agreement:
  Cohen           kappa of two assessors; for more, the mean over pairs
  Cohen, linear   weighted kappa; also with quadratic weights
  Davies-Fleiss   multi-kappa: observed and expected agreement averaged over
                  pairs
  Fleiss          kappa with pooled marginals (two assessors: Scott's pi)
  Krippendorff    alpha; allows missing labels

Judgments are TREC qrels with four columns: query, 0, document, grade. Convert
the files that assessors of `ir pool` fill in (query, document, grade) with
  ir pool --merge pool.qrels --form plain ann.tsv -o ann.qrels

With --run, also Kendall's tau-b and AP correlation of the system rankings by
assessor or measure (tau_ap: the first is the reference; tau_ap_b: symmetric).
A query without results scores 0.

A table has a header and tab- or comma-separated columns; an empty cell, - or
NA is a missing label. Weighted kappa and ordinal and interval alpha depend on
the order of the labels: integers by value, then texts in byte order.

With --sets, a cell is a set of names between semicolons, in any order; {} is
the empty set. The coefficients above count sets as equal or different.
Jaccard is the mean of |A and B| / |A or B| over the pairs of an item.
Krippendorff's alpha is also computed with the distances Jaccard and MASI,
which multiplies by .67 if one set contains the other, and by .33 if they
overlap.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Judgments, one argument per assessor: TREC qrels files or collection names
    #[arg(value_name = "QRELS", required_unless_present = "table")]
    qrels: Vec<String>,

    /// Table of labels, instead of qrels
    #[arg(long, value_name = "FILE", conflicts_with_all = ["qrels", "run", "measure"])]
    table: Option<String>,

    /// Cells of the table are sets of names between semicolons
    #[arg(long, requires = "table", conflicts_with_all = ["qrels", "run", "measure", "skip_header"])]
    sets: bool,

    /// TREC run of a system to rank; repeatable, at least three
    #[arg(long, value_name = "RUN", requires = "qrels")]
    run: Vec<String>,

    /// Measure that ranks the systems, or a list of measures; repeatable [default: map]
    #[arg(long, short = 'm', value_name = "MEASURE", value_hint = ValueHint::Other, requires = "run")]
    measure: Vec<String>,

    /// Skip a header line (text in a numeric column) in qrels and runs; trec_eval parses it as data
    #[arg(long, conflicts_with = "table")]
    skip_header: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    at_most_one_stdin(args.qrels.iter().chain(&args.run))?;
    let measures = measures_in_order(&args.measure, &Rules::default())?;
    let alone = args.table.is_none() && args.qrels.len() < 2;
    if alone && (args.run.is_empty() || measures.len() < 2) {
        bail_usage!(
            "expected at least two assessors, or --run with at least two measures, found one"
        );
    }
    if !args.run.is_empty() && args.run.len() < 3 {
        let found = args.run.len();
        bail_usage!("expected at least three runs (--run) to rank, found {found}");
    }
    let reading = RunOptions {
        order: RunOrder::Score,
        skip_header: args.skip_header,
    };
    let mut qrels = Vec::new();
    for file in &args.qrels {
        qrels.push((
            file.as_str(),
            input::qrels(file, QrelsArgument::Assessor, reading.header(), console)?,
        ));
    }
    let mut sets = args.sets.then(SetRatings::default);
    let ratings = match &args.table {
        Some(file) => Some(read_table(file, &mut sets, console)?),
        None => (!alone).then(|| Ratings::from_qrels(qrels.iter().map(|(name, q)| (*name, q)))),
    };
    if let Some(ratings) = &ratings
        && ratings.observed_agreement().is_none()
    {
        if args.table.is_some() {
            bail!("expected an item with labels of every pair of assessors, found none");
        }
        let examples: Vec<String> = qrels.iter().filter_map(example).collect();
        let examples = if examples.is_empty() {
            String::new()
        } else {
            format!(" ({})", examples.join("; "))
        };
        bail!(
            "expected a document of a query that two assessors judge, found none for some pair of assessors{examples}"
        );
    }
    if !args.sets {
        ratings
            .iter()
            .for_each(|ratings| warn_of_order(ratings, console));
    }
    warn_of_repeated(&args.run, console);
    let runs = reading.read(&args.run, console)?;
    let rankings = rankings(measures, &qrels, &runs)?;
    let text = if args.json {
        let mut agreement = ratings.as_ref().map(agreement_json);
        if let (Some(agreement), Some(sets)) = (&mut agreement, &sets) {
            agreement["sets"] = sets_json(sets);
        }
        let rules = (!rankings.is_empty()).then(Rules::default);
        json!({"agreement": agreement, "rankings": rankings, "rules": rules}).to_string()
    } else {
        let ratings = ratings.iter();
        let mut parts: Vec<String> = ratings
            .flat_map(|ratings| agreement_text(ratings, sets.as_ref()))
            .collect();
        if !rankings.is_empty() {
            parts.push(rankings_text(&rankings, runs.len()));
            parts.push(Rules::default().to_string());
        }
        parts.join("\n\n")
    };
    print(text)
}

/// First judgment of an assessor.
fn example((name, qrels): &(&str, Qrels)) -> Option<String> {
    let (query, judged) = qrels.iter().next()?;
    let (doc, _) = judged.iter().next()?;
    Some(format!("{name} judges document {doc:?} of query {query:?}"))
}

/// Reports the order of labels that are not integers, if a coefficient depends on it.
fn warn_of_order(ratings: &Ratings, console: &Console) {
    let labels: Vec<_> = ratings.categories().collect();
    let is_text = |label: &&RatingCategory| matches!(label, RatingCategory::Text(_));
    if labels.len() > 2 && labels.iter().any(is_text) {
        let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
        console.warn(format_args!(
            "labels are ordered {} for weighted kappa and for ordinal and interval alpha (integer \
             labels define another order)",
            labels.join(" < ")
        ));
    }
}

/// Maximum number of different labels: the confusion matrix is quadratic in it.
const MAX_LABELS: usize = 1000;

/// Items by name. Names are looked up in the ratings and not copied.
#[derive(Default)]
struct KnownItems {
    hasher: RandomState,
    items: HashTable<usize>,
}

impl KnownItems {
    /// Adds the item that `ratings` receives next. Returns `true` if it is new.
    fn insert(&mut self, item: &str, ratings: &Ratings) -> Result<bool, TryReserveError> {
        let hash = |&known: &usize| {
            self.hasher
                .hash_one(ratings.item(known).unwrap_or_default())
        };
        self.items.try_reserve(1, hash)?;
        let same = |&known: &usize| ratings.item(known) == Some(item);
        match self.items.entry(self.hasher.hash_one(item), same, hash) {
            Entry::Occupied(_) => Ok(false),
            Entry::Vacant(entry) => {
                entry.insert(ratings.len());
                Ok(true)
            }
        }
    }
}

/// Reads a table with a header: an item column, then one label column per coder.
/// With `sets`, cells are sets, which are added to it, and labels of the ratings.
fn read_table(file: &str, sets: &mut Option<SetRatings>, console: &Console) -> Result<Ratings> {
    let (mut input, name) = input::open(file, console)?;
    let unreadable = || format!("{name}: cannot be read");
    let skipped = skip_empty_lines(&mut input).with_context(unreadable)?;
    let mut head = Vec::new();
    let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut head);
    if read.with_context(unreadable)? == 0 {
        bail!("{name}: expected a table with a header and a row per item, found no text");
    }
    let delimiter = if head.contains(&b'\t') { b'\t' } else { b',' };
    let columns = String::from_utf8_lossy(&head)
        .split_ascii_whitespace()
        .count();
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(LimitedRecord::new(Cursor::new(head).chain(input)));
    let coders: Vec<String> = {
        let headers = reader.headers().with_context(|| name.clone())?;
        headers.iter().skip(1).map(str::to_owned).collect()
    };
    if coders.len() < 2 {
        let found = coders.len() + 1;
        let hint = match columns {
            4 => " (qrels? they are arguments without --table: ir agree QRELS QRELS)",
            _ => "",
        };
        bail!(
            "{name}:{}: expected a header with at least three columns, separated by tabs or commas (item, and labels of each assessor), found {found}{hint}",
            skipped + 1
        );
    }
    let columns = coders.len() + 1;
    if let Some(sets) = sets {
        *sets = SetRatings::new(&coders);
    }
    let mut ratings = Ratings::new(coders);
    let mut known = KnownItems::default();
    let mut record = csv::StringRecord::new();
    loop {
        reader.get_mut().start();
        if !reader
            .read_record(&mut record)
            .with_context(|| name.clone())?
        {
            break;
        }
        let line = skipped + record.position().map_or(0, csv::Position::line);
        if record.len() != columns {
            let found = record.len();
            bail!("{name}:{line}: expected {columns} columns as in the header, found {found}");
        }
        let out_of_memory =
            || format!("{name}:{line}: expected a table that fits into memory, found a larger one");
        let item = &record[0];
        if !known.insert(item, &ratings).with_context(out_of_memory)? {
            bail!("{name}:{line}: expected each item once, found {item:?} again");
        }
        let cells = record.iter().skip(1).map(|cell| match cell.trim() {
            "" | "-" | "NA" => None,
            cell => Some(cell),
        });
        let labels = cells.clone().map(|cell| cell.map(RatingCategory::from));
        ratings.try_push(item, labels).with_context(out_of_memory)?;
        if let Some(sets) = sets {
            sets.push(item, cells.map(|cell| Some(names(cell?))));
        }
        if ratings.categories().len() > MAX_LABELS {
            bail!("{name}:{line}: expected at most {MAX_LABELS} different labels, found more");
        }
    }
    Ok(match sets {
        Some(sets) => sets.as_labels(),
        None => ratings,
    })
}

/// Names of a set, without the `{}` of the empty one.
fn names(set: &str) -> impl Iterator<Item = &str> {
    let names = set.split(';').map(str::trim);
    names.filter(|name| !["", "{}"].contains(name))
}

/// Skips line breaks. Returns the number of lines.
fn skip_empty_lines(input: &mut impl BufRead) -> io::Result<u64> {
    let mut lines = 0;
    loop {
        let bytes = input.fill_buf()?;
        let end = bytes.iter().position(|byte| !b"\r\n".contains(byte));
        let breaks = &bytes[..end.unwrap_or(bytes.len())];
        lines += breaks.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let skipped = breaks.len();
        input.consume(skipped);
        if end.is_some() || skipped == 0 {
            return Ok(lines);
        }
    }
}

/// Reader that returns an error where a record is longer than [`MAX_LINE`].
struct LimitedRecord<R> {
    inner: R,
    left: u64,
}

impl<R: Read> LimitedRecord<R> {
    fn new(inner: R) -> Self {
        let left = MAX_LINE;
        Self { inner, left }
    }

    /// Sets the limit for the next record.
    fn start(&mut self) {
        self.left = MAX_LINE;
    }
}

impl<R: Read> Read for LimitedRecord<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let text = format!(
                "expected at most {MAX_LINE} bytes in a line or in empty lines, found more"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let read = self.inner.read(buffer)?;
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

fn agreement_json(ratings: &Ratings) -> Value {
    let pairs: Vec<Value> = ratings
        .pairs()
        .map(|(a, b)| {
            json!({
                "first": ratings.coders()[a], "second": ratings.coders()[b],
                "cohen": ratings.cohen_kappa(a, b),
                "linear": ratings.weighted_cohen_kappa(a, b, KappaWeights::Linear),
                "quadratic": ratings.weighted_cohen_kappa(a, b, KappaWeights::Quadratic),
                "confusion": ratings.confusion(a, b),
            })
        })
        .collect();
    json!({
        "assessors": ratings.coders(), "items": ratings.len(), "complete": ratings.complete_items(),
        "labels": ratings.categories().collect::<Vec<_>>(), "observed": ratings.observed_agreement(),
        "mean_cohen": ratings.mean_cohen_kappa(), "davies_fleiss": ratings.davies_fleiss_kappa(),
        "fleiss": ratings.fleiss_kappa(), "pairs": pairs,
        "krippendorff": {
            "nominal": ratings.krippendorff_alpha(MeasurementLevel::Nominal),
            "ordinal": ratings.krippendorff_alpha(MeasurementLevel::Ordinal),
            "interval": ratings.krippendorff_alpha(MeasurementLevel::Interval),
        },
    })
}

fn sets_json(sets: &SetRatings) -> Value {
    json!({
        "jaccard": sets.mean_similarity(SetDistance::Jaccard),
        "krippendorff_jaccard": sets.krippendorff_alpha(SetDistance::Jaccard),
        "krippendorff_masi": sets.krippendorff_alpha(SetDistance::Masi),
    })
}

fn agreement_text(ratings: &Ratings, sets: Option<&SetRatings>) -> Vec<String> {
    let labels: Vec<String> = ratings.categories().map(ToString::to_string).collect();
    let mut rows: Vec<[String; 2]> = Vec::new();
    let mut row = |name: &str, value: String| rows.push([name.to_owned(), value]);
    row("assessors", ratings.coders().len().to_string());
    row("items", ratings.len().to_string());
    row("labeled by all", ratings.complete_items().to_string());
    row("labels", labels.join(" "));
    let mut row = |name: &str, value: Option<f64>| row(name, four_decimals(value));
    row("observed agreement", ratings.observed_agreement());
    let two = ratings.coders().len() == 2;
    let weighted = |a, b, weights| ratings.weighted_cohen_kappa(a, b, weights);
    if two {
        row("Cohen", ratings.cohen_kappa(0, 1));
        // Sets have no order.
        if sets.is_none() {
            row("Cohen, linear", weighted(0, 1, KappaWeights::Linear));
            row("Cohen, quadratic", weighted(0, 1, KappaWeights::Quadratic));
        }
    } else {
        row("Cohen, mean of pairs", ratings.mean_cohen_kappa());
    }
    row("Davies-Fleiss", ratings.davies_fleiss_kappa());
    row("Fleiss", ratings.fleiss_kappa());
    let alpha = |level| ratings.krippendorff_alpha(level);
    row("Krippendorff", alpha(MeasurementLevel::Nominal));
    if let Some(sets) = sets {
        row("Jaccard", sets.mean_similarity(SetDistance::Jaccard));
        let alpha = |distance| sets.krippendorff_alpha(distance);
        row("Krippendorff, Jaccard", alpha(SetDistance::Jaccard));
        row("Krippendorff, MASI", alpha(SetDistance::Masi));
    } else {
        row("Krippendorff, ordinal", alpha(MeasurementLevel::Ordinal));
        row("Krippendorff, interval", alpha(MeasurementLevel::Interval));
    }
    let coders = ratings.coders();
    let second = if two {
        let confusion = ratings.confusion(0, 1);
        let mut rows = vec![vec![format!("{} \\ {}", coders[0], coders[1])]];
        rows[0].extend(labels);
        for (label, counts) in confusion.categories.iter().zip(&confusion.counts) {
            let mut row = vec![label.to_string()];
            row.extend(counts.iter().map(u64::to_string));
            rows.push(row);
        }
        table(rows)
    } else {
        let mut rows = vec![["pair", "Cohen", "linear", "quadratic"].map(str::to_owned)];
        rows.extend(ratings.pairs().map(|(a, b)| {
            [
                format!("{} + {}", coders[a], coders[b]),
                four_decimals(ratings.cohen_kappa(a, b)),
                four_decimals(weighted(a, b, KappaWeights::Linear)),
                four_decimals(weighted(a, b, KappaWeights::Quadratic)),
            ]
        }));
        table(rows)
    };
    vec![table(rows), second]
}

/// Correlation of two system rankings.
#[derive(Serialize)]
struct RankingCorrelation {
    first: String,
    second: String,
    tau_b: Option<f64>,
    tau_ap: Option<f64>,
    tau_ap_b: Option<f64>,
}

fn rankings(
    mut measures: Vec<Measure>,
    qrels: &[(&str, Qrels)],
    runs: &[ir_core::Run],
) -> Result<Vec<RankingCorrelation>> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    if measures.is_empty() {
        measures.push(Measure::AP);
    }
    // One score per run, for each assessor and measure.
    let mut orders: Vec<(String, Vec<f64>)> = Vec::new();
    for (name, judgments) in qrels {
        let evaluator = Evaluator::with_rules(judgments, &measures, Rules::default())?;
        let mut figures = vec![Vec::new(); measures.len()];
        for run in runs {
            let context = || format!("{} with {name}", run.tag);
            let report = evaluator.evaluate(run).with_context(context)?;
            for (figures, &measure) in figures.iter_mut().zip(&measures) {
                figures.push(report.summary(measure).unwrap_or_default());
            }
        }
        for (measure, figures) in measures.iter().zip(figures) {
            let label = match (qrels.len(), measures.len()) {
                (1, _) => measure.to_string(),
                (_, 1) => (*name).to_owned(),
                _ => format!("{measure} by {name}"),
            };
            orders.push((label, figures));
        }
    }
    let mut all = Vec::new();
    for (at, (first, x)) in orders.iter().enumerate() {
        for (second, y) in &orders[at + 1..] {
            all.push(RankingCorrelation {
                first: first.clone(),
                second: second.clone(),
                tau_b: kendall_tau_b(x, y),
                tau_ap: tau_ap(x, y),
                tau_ap_b: tau_ap_b(x, y),
            });
        }
    }
    Ok(all)
}

fn rankings_text(rankings: &[RankingCorrelation], systems: usize) -> String {
    let order = format!("order of {systems} systems");
    let mut rows = vec![[&order, "tau_b", "tau_ap", "tau_ap_b"].map(str::to_owned)];
    rows.extend(rankings.iter().map(|ranking| {
        [
            format!("{} / {}", ranking.first, ranking.second),
            four_decimals(ranking.tau_b),
            four_decimals(ranking.tau_ap),
            four_decimals(ranking.tau_ap_b),
        ]
    }));
    table(rows)
}
