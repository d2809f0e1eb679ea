//! `ir knn-accuracy`: kNN classification accuracy of vectors or texts.

mod read;

use std::io::Write;

use anyhow::{Context, Result};
use clap::{ValueEnum, ValueHint};
use ir_core::Progress;
use ir_knn::{
    Classes, DocFrequency, KnnAccuracy, KnnClassifier, KnnError, Matrix, RandomIndexing,
    RandomIndexingConfig, TfWeighting, TfidfConfig, TfidfVectorizer, TruncatedSvd,
    TruncatedSvdConfig, VectorSimilarity, WordAnalyzer,
};
use serde_json::json;

use crate::shared::console::{Bar, Console, bail_usage};
use crate::shared::item_files;
use crate::shared::options::{choice, positive};
use crate::shared::output::OutputSink;
use crate::shared::runs::at_most_one_stdin;

const EXAMPLES: &str = "\
Examples:
  ir knn-accuracy --vectors x.npy --labels labels.txt
  ir knn-accuracy --vectors x.npy --labels y.txt --metric cosine --folds 5
  ir knn-accuracy --texts papers.jsonl --text-field abstract --sublinear \\
      --model lsi --components 100 --normalize
  ir knn-accuracy --texts lines.txt --labels labels.txt --json
  ir knn-accuracy --texts iclr24v2.parquet --sublinear

The protocol is that of the ICLR benchmark and of scikit-learn's
  cross_validate(KNeighborsClassifier(10, algorithm='brute'), x, y, cv=10)
Folds are stratified in item order. Each item is classified by majority vote
of its 10 nearest neighbors outside its fold; ties go to the first class
(integers by value, others by code point). The reported mean is over the
folds. Items labeled `unlabeled` are not classified, but their texts count for
document frequencies.

Input: vectors in a two-dimensional .npy file; labels, one per line; texts as
JSON lines, or as plain lines if the first non-blank line is not a JSON
object. Files may be compressed; one may be `-` (standard input). Texts may
also be a Parquet or Arrow file of the ICLR dataset (abstracts, or titles with
--text-field title).

Output: one tab-separated line per fold (number, items, accuracy), then the
mean.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("input").required(true).args(["vectors", "texts"]))]
pub(crate) struct Args {
    /// Vectors: a .npy file, one row per item
    #[arg(long, value_name = "FILE", requires = "labels")]
    vectors: Option<String>,

    /// Texts: JSON lines or plain lines
    #[arg(long, value_name = "FILE")]
    texts: Option<String>,

    /// Class labels, one per line, in the order of the vectors or texts
    #[arg(long, value_name = "FILE")]
    labels: Option<String>,

    /// JSON field of the text
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, default_value = "text", conflicts_with = VECTORS)]
    text_field: String,

    /// JSON field of the class label
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, default_value = "label", conflicts_with_all = [VECTORS, "labels"])]
    label_field: String,

    /// Label of items without a class
    #[arg(long, value_name = "LABEL", value_hint = ValueHint::Other, default_value = "unlabeled")]
    unlabeled: String,

    /// Vectorizer of texts
    #[arg(long, value_enum, default_value_t = Vectorizer::Tfidf, conflicts_with = VECTORS)]
    model: Vectorizer,

    /// Sublinear term frequency: 1 + ln tf instead of tf
    #[arg(long, conflicts_with = VECTORS)]
    sublinear: bool,

    /// Minimum document frequency: a count, or a fraction such as 0.01 [default: 1]
    #[arg(long, value_name = "N", value_parser = frequency, conflicts_with = VECTORS)]
    min_df: Option<DocFrequency>,

    /// Maximum document frequency: a count, or a fraction such as 0.5 [default: 1.0]
    #[arg(long, value_name = "N", value_parser = frequency, conflicts_with = VECTORS)]
    max_df: Option<DocFrequency>,

    /// Maximum n-gram length in words [default: 1]
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = VECTORS)]
    ngrams: Option<usize>,

    /// Number of dimensions [default: 100 for lsi, 200 for random-indexing]
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = VECTORS)]
    components: Option<usize>,

    /// Normalize vectors to unit length
    #[arg(long)]
    normalize: bool,

    /// Number of neighbors k
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = positive)]
    k: usize,

    /// Number of cross-validation folds. Range: ≥ 2
    #[arg(long, value_name = "N", default_value = "10", value_parser = folds)]
    folds: usize,

    /// Distance metric
    #[arg(long, value_parser = choice(METRICS), default_value = "euclidean")]
    metric: VectorSimilarity,

    /// Print one JSON object: accuracies in full precision, and the parameters
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Vectorizer {
    /// TF-IDF, as in scikit-learn
    Tfidf,
    /// Latent semantic indexing: truncated SVD of TF-IDF
    Lsi,
    /// Random indexing: sums of random elemental vectors
    RandomIndexing,
}

const METRICS: [(&str, &str, VectorSimilarity); 2] = [
    ("euclidean", "", VectorSimilarity::Euclidean),
    (
        "cosine",
        "Cosine distance, 1 - cosine",
        VectorSimilarity::Cosine,
    ),
];

/// Option that excludes the options of texts.
const VECTORS: &str = "vectors";

/// Parses a number of folds: an integer ≥ 2.
fn folds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if number > 1 => Ok(number),
        _ => Err(format!("expected an integer of at least 2, found {text:?}")),
    }
}

/// Parses a count (`2`) or a fraction (`0.1`).
fn frequency(text: &str) -> Result<DocFrequency, String> {
    let expected =
        || format!("expected a count of at least 1 or a fraction like 0.1, found {text:?}");
    if text.contains('.') {
        let fraction: f64 = text.parse().map_err(|_| expected())?;
        let inside = (0.0..=1.0).contains(&fraction);
        return inside
            .then_some(DocFrequency::Fraction(fraction))
            .ok_or_else(expected);
    }
    match text.parse() {
        Ok(count) if count > 0 => Ok(DocFrequency::Count(count)),
        _ => Err(expected()),
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    at_most_one_stdin(
        [&args.vectors, &args.texts, &args.labels]
            .into_iter()
            .flatten(),
    )?;
    if args.components.is_some() && args.model == Vectorizer::Tfidf {
        bail_usage!("--components: expected --model lsi or random-indexing");
    }
    if args.components == Some(1) && args.model == Vectorizer::RandomIndexing {
        bail_usage!("--components: expected at least 2 for --model random-indexing, found 1");
    }
    if args.sublinear && args.model == Vectorizer::RandomIndexing {
        bail_usage!("--sublinear: expected --model tfidf or lsi");
    }
    let (source, mut vectors, labels, lines) = if let Some(name) = &args.vectors {
        let labels = item_files::labels(args.labels.as_deref().unwrap_or_default(), console)?;
        let vectors = Matrix::Dense(item_files::vectors(name, console)?);
        (name, vectors, labels, None)
    } else {
        let name = args.texts.as_ref().context("clap asks for one of both")?;
        let texts = read::texts(name, args, console)?;
        let vectors = vectorize(&texts.texts, args, &mut console.bar())?;
        (name, vectors, texts.labels, Some(texts.lines))
    };
    let (found, expected) = (labels.len(), vectors.view().nrows());
    if found != expected {
        let labels = args.labels.as_deref().unwrap_or(source);
        anyhow::bail!("{labels}: expected {expected} labels as {source} has, found {found}");
    }
    let labeled = |&row: &usize| labels[row] != args.unlabeled;
    let rows: Vec<usize> = (0..labels.len()).filter(labeled).collect();
    if rows.is_empty() {
        anyhow::bail!("{source}: expected labeled items, found {found} unlabeled ones");
    }
    vectors = vectors.select_rows(&rows);
    if args.normalize {
        vectors.normalize_rows();
    }
    let classes = Classes::new(rows.iter().map(|&row| &labels[row]));
    let knn = KnnClassifier::new(args.k).with_metric(args.metric);
    let (view, bar) = (vectors.view(), &mut console.bar());
    let accuracy = knn
        .cross_validate_with_progress(view, &classes, args.folds, bar)
        .map_err(|error| placed(error, source, &rows, lines.as_deref()))?;
    bar.finish();
    warn(&accuracy, args, console);
    console.note(format_args!(
        "{} of {} items are labeled, {} classes",
        rows.len(),
        labels.len(),
        classes.names().len()
    ));
    let out = OutputSink::open(None)?;
    if args.json {
        let small = accuracy.small_classes.iter();
        let line = json!({
            "accuracy": accuracy.mean(),
            "folds": accuracy.folds,
            "sizes": accuracy.sizes,
            "items": rows.len(),
            "unlabeled": labels.len() - rows.len(),
            "classes": classes.names().len(),
            "dimensions": vectors.view().ncols(),
            "k": args.k,
            "metric": args.metric,
            "small_classes": small.map(|s| (s.name.clone(), s.size.into())).collect::<serde_json::Map<_, _>>(),
        });
        out.write_with(|out| writeln!(out, "{line}"))
    } else {
        out.write_with(|out| write_folds(&accuracy, rows.len(), out))
    }
}

/// Adds file and line to the error of a row. Rows are the labeled items only.
fn placed(error: KnnError, source: &str, rows: &[usize], lines: Option<&[u64]>) -> anyhow::Error {
    let of = |row: usize| rows.get(row).copied().unwrap_or(row);
    let error = match error {
        KnnError::ZeroVector { row } => {
            if let Some(line) = lines.and_then(|lines| lines.get(of(row))) {
                return anyhow::anyhow!(
                    "{source}:{line}: expected a text with a term of the vocabulary, found none (cosine is undefined)"
                );
            }
            KnnError::ZeroVector { row: of(row) }
        }
        KnnError::Length { row, found } => KnnError::Length {
            row: of(row),
            found,
        },
        other => other,
    };
    anyhow::Error::new(error).context(source.to_owned())
}

/// Rejects more dimensions than texts and terms, before vectors of that length are allocated.
fn check_components(dim: usize, texts: &[String], config: &TfidfConfig) -> Result<()> {
    /// Number of dimensions that is accepted for any texts.
    const SMALL: usize = 1000;
    if dim <= SMALL.max(texts.len()) {
        return Ok(());
    }
    let (_, rows) = TfidfVectorizer::fit_transform(texts, config)?;
    let most = rows.ncols().max(texts.len()).max(SMALL);
    if dim > most {
        bail_usage!(
            "--components: expected at most {most} for {} texts with {} terms, found {dim}",
            texts.len(),
            rows.ncols()
        );
    }
    Ok(())
}

fn vectorize(texts: &[String], args: &Args, bar: &mut Bar) -> Result<Matrix> {
    let mut config = TfidfConfig::default().with_ngrams(1, args.ngrams.unwrap_or(1));
    if args.sublinear {
        config = config.with_tf(TfWeighting::Sublinear);
    }
    if let Some(least) = args.min_df {
        config = config.with_min_df(least);
    }
    if let Some(most) = args.max_df {
        config = config.with_max_df(most);
    }
    let name = || args.texts.clone().unwrap_or_default();
    if args.model == Vectorizer::RandomIndexing {
        bar.report("learning", 0, None);
        let mut indexing = RandomIndexingConfig::default();
        if let Some(dim) = args.components {
            check_components(dim, texts, &config)?;
            indexing = indexing.with_dim(dim);
            indexing.nonzero = indexing.nonzero.min(dim / 2 * 2);
        }
        indexing.terms = config;
        let (_, rows) = RandomIndexing::fit_transform(texts, &indexing).with_context(name)?;
        return Ok(Matrix::Dense(rows));
    }
    let analyzer = WordAnalyzer::default();
    let fitted = TfidfVectorizer::fit_transform_with(analyzer, texts, &config, bar);
    let (_, rows) = fitted.with_context(name)?;
    Ok(match args.model {
        Vectorizer::Lsi => {
            let config = TruncatedSvdConfig::new(args.components.unwrap_or(100));
            let svd = TruncatedSvd::fit_with_progress(&rows, &config, bar).with_context(name)?;
            Matrix::Dense(svd.transform(&rows)?)
        }
        Vectorizer::Tfidf | Vectorizer::RandomIndexing => Matrix::Sparse(rows),
    })
}

/// Warns about classes with fewer items than folds, as scikit-learn does.
fn warn(accuracy: &KnnAccuracy, args: &Args, console: &Console) {
    let small = accuracy.small_classes.iter();
    let small: Vec<_> = small
        .map(|class| format!("{} ({})", class.name, class.size))
        .collect();
    if !small.is_empty() {
        let classes = match small.len() {
            1 => "1 class has".to_owned(),
            many => format!("{many} classes have"),
        };
        console.warn(format_args!(
            "{classes} fewer items than the {} folds: {}",
            args.folds,
            small.join(", ")
        ));
    }
}

fn write_folds(accuracy: &KnnAccuracy, items: usize, out: &mut dyn Write) -> std::io::Result<()> {
    for (number, (fold, size)) in (1..).zip(accuracy.folds.iter().zip(&accuracy.sizes)) {
        writeln!(out, "{number}\t{size}\t{fold:.4}")?;
    }
    writeln!(out, "mean\t{items}\t{:.4}", accuracy.mean())
}
