//! `ir knn-accuracy`: how well the neighbours of a vector predict its class.

mod read;

use std::io::Write;

use anyhow::{Context, Result};
use clap::ValueEnum;
use ir_core::Progress;
use ir_knn::{
    Accuracy, DenseRows, DocFrequency, Knn, KnnError, Labels, Metric, RandomIndexing,
    RandomIndexingConfig, Rows, SparseRows, Svd, SvdConfig, Tf, TfIdf, TfIdfConfig,
};
use serde_json::json;

use crate::shared::options::positive;
use crate::shared::console::{Console, Usage};
use crate::shared::output::Sink;

const EXAMPLES: &str = "\
Examples:
  ir knn-accuracy --vectors x.npy --labels labels.txt
  ir knn-accuracy --vectors x.npy --labels y.txt --metric cosine --folds 5
  ir knn-accuracy --texts papers.jsonl --text-field abstract --sublinear
  ir knn-accuracy --texts papers.jsonl --text-field abstract --sublinear \\
      --model lsi --components 100 --normalize
  ir knn-accuracy --texts papers.jsonl --model random-indexing
  ir knn-accuracy --texts lines.txt --labels labels.txt --json
  ir knn-accuracy --texts iclr24v2.parquet --sublinear

The protocol is that of the ICLR benchmark and of scikit-learn's
  cross_validate(KNeighborsClassifier(10, algorithm='brute'), x, y, cv=10)
each class is spread over the folds in the order of its items; every item gets
the class that most of the 10 nearest items outside of its fold have (of tied
classes the first: whole numbers by value, others by code point); the mean is
that of the folds. Items whose label is `unlabeled` are left out, but texts of
such items help to learn the weights of words.

Files: vectors as NumPy saves them (.npy, two dimensions); labels one a line;
texts as JSON, one object a line, or as plain lines where the first line that
is not blank is no JSON object. Any of them may be compressed, and one may be
`-` for standard input. Texts may also be a Parquet file of the ICLR dataset
(abstracts, or titles with --text-field title), if this program is built with
its feature `parquet`.

Output: one line a fold with its number, its items and its accuracy, then the
mean, tab-separated.";

/// The arguments of `ir knn-accuracy`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("input").required(true).args(["vectors", "texts"]))]
pub(crate) struct Args {
    /// Vectors: a .npy file, one a row
    #[arg(long, value_name = "FILE", requires = "labels")]
    vectors: Option<String>,

    /// Texts: JSON objects or plain lines, one a line
    #[arg(long, value_name = "FILE")]
    texts: Option<String>,

    /// Labels, one a line, in the order of the vectors or texts
    #[arg(long, value_name = "FILE")]
    labels: Option<String>,

    /// Field of a JSON object with its text
    #[arg(
        long,
        value_name = "NAME",
        default_value = "text",
        conflicts_with = "vectors"
    )]
    text_field: String,

    /// Field of a JSON object with its label; not read when --labels is given
    #[arg(
        long,
        value_name = "NAME",
        default_value = "label",
        conflicts_with = "vectors"
    )]
    label_field: String,

    /// Label of the items that are left out
    #[arg(long, value_name = "LABEL", default_value = "unlabeled")]
    unlabeled: String,

    /// How texts become vectors
    #[arg(long, value_enum, default_value_t = Model::Tfidf, conflicts_with = "vectors")]
    model: Model,

    /// A word that occurs n times counts 1 + ln n, not n
    #[arg(long, conflicts_with = "vectors")]
    sublinear: bool,

    /// Fewest texts a word must be in: a count, or a share with a point [default: 1]
    #[arg(long, value_name = "N", value_parser = frequency, conflicts_with = "vectors")]
    min_df: Option<DocFrequency>,

    /// Most texts a word may be in: a count, or a share with a point [default: 1.0]
    #[arg(long, value_name = "N", value_parser = frequency, conflicts_with = "vectors")]
    max_df: Option<DocFrequency>,

    /// Most words of a term [default: 1]
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "vectors")]
    ngrams: Option<usize>,

    /// Dimensions [default: 100 of --model lsi, 200 of random-indexing]
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "vectors")]
    components: Option<usize>,

    /// Vectors brought to length 1
    #[arg(long)]
    normalize: bool,

    /// Neighbours that vote
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = positive)]
    k: usize,

    /// Folds
    #[arg(long, value_name = "N", default_value = "10", value_parser = positive)]
    folds: usize,

    /// What is near
    #[arg(long, value_enum, default_value_t = Near::Euclidean)]
    metric: Near,

    /// One JSON object: figures in full precision, and what was chosen
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Sparse vectors as scikit-learn makes them
    Tfidf,
    /// These reduced to few dimensions by a truncated SVD
    Lsi,
    /// Few dimensions by sums of random patterns
    RandomIndexing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Near {
    /// Euclidean distance
    Euclidean,
    /// One less the cosine
    Cosine,
}

/// `2` or `0.1`.
fn frequency(text: &str) -> Result<DocFrequency, String> {
    let expected = || format!("expected a count from 1 or a share like 0.1, found {text:?}");
    if text.contains('.') {
        let share: f64 = text.parse().map_err(|_| expected())?;
        let inside = (0.0..=1.0).contains(&share);
        return inside
            .then_some(DocFrequency::Share(share))
            .ok_or_else(expected);
    }
    match text.parse() {
        Ok(count) if count > 0 => Ok(DocFrequency::Count(count)),
        _ => Err(expected()),
    }
}

/// Vectors of either kind.
enum Vectors {
    Dense(DenseRows),
    Sparse(SparseRows),
}

impl Vectors {
    fn rows(&self) -> Rows<'_> {
        match self {
            Self::Dense(rows) => rows.into(),
            Self::Sparse(rows) => rows.into(),
        }
    }

    fn select(self, rows: &[usize]) -> Self {
        match self {
            Self::Dense(all) => Self::Dense(all.select(rows)),
            Self::Sparse(all) => Self::Sparse(all.select(rows)),
        }
    }

    fn normalize(&mut self) {
        match self {
            Self::Dense(rows) => rows.normalize(),
            Self::Sparse(rows) => rows.normalize(),
        }
    }
}

/// Runs `ir knn-accuracy`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let inputs = [&args.vectors, &args.texts, &args.labels];
    if inputs
        .into_iter()
        .flatten()
        .filter(|name| *name == "-")
        .count()
        > 1
    {
        return Err(Usage("expected one input as `-`, found several".into()).into());
    }
    if args.components.is_some() && args.model == Model::Tfidf {
        let text = "--components is for --model lsi and random-indexing";
        return Err(Usage(text.into()).into());
    }
    if args.components == Some(1) && args.model == Model::RandomIndexing {
        let text = "--components: expected at least 2 for --model random-indexing, found 1";
        return Err(Usage(text.into()).into());
    }
    if args.sublinear && args.model == Model::RandomIndexing {
        return Err(Usage("--sublinear is for --model tfidf and lsi".into()).into());
    }
    let mut bar = console.bar();
    let mut stage = |name: &str| bar.report(name, 0, None);
    let _ = stage("reading");
    let (source, mut vectors, labels, lines) = if let Some(name) = &args.vectors {
        let labels = read::labels(args.labels.as_deref().unwrap_or_default())?;
        (name, Vectors::Dense(read::vectors(name)?), labels, None)
    } else {
        let name = args.texts.as_ref().context("clap asks for one of both")?;
        let texts = read::texts(name, args)?;
        let _ = stage("learning");
        let vectors = vectorise(&texts.texts, args)?;
        (name, vectors, texts.labels, Some(texts.lines))
    };
    let (found, expected) = (labels.len(), vectors.rows().len());
    if found != expected {
        let labels = args.labels.as_deref().unwrap_or(source);
        anyhow::bail!("{labels}: expected {expected} labels as {source} has, found {found}");
    }
    let labelled = |&row: &usize| labels[row] != args.unlabeled;
    let rows: Vec<usize> = (0..labels.len()).filter(labelled).collect();
    if rows.is_empty() {
        anyhow::bail!("{source}: expected items with a label, found {found} without");
    }
    vectors = vectors.select(&rows);
    if args.normalize {
        vectors.normalize();
    }
    let classes = Labels::new(rows.iter().map(|&row| &labels[row]));
    let _ = stage("comparing");
    let metric = match args.metric {
        Near::Euclidean => Metric::Euclidean,
        Near::Cosine => Metric::Cosine,
    };
    let knn = Knn::new(args.k).by(metric);
    let accuracy = knn
        .cross_validate(vectors.rows(), &classes, args.folds)
        .map_err(|error| placed(error, source, &rows, lines.as_deref()))?;
    bar.finish();
    warn(&accuracy, args, console);
    console.note(format_args!(
        "{} of {} items have a label, of {} classes",
        rows.len(),
        labels.len(),
        classes.classes().len()
    ));
    let mut out = Sink::open(None)?;
    let written = if args.json {
        let small = accuracy.small.iter();
        let line = json!({
            "accuracy": accuracy.mean(),
            "folds": accuracy.folds,
            "sizes": accuracy.sizes,
            "items": rows.len(),
            "unlabeled": labels.len() - rows.len(),
            "classes": classes.classes().len(),
            "dimensions": vectors.rows().dim(),
            "k": args.k,
            "metric": metric,
            "small_classes": small.map(|s| (s.class.clone(), s.members.into())).collect::<serde_json::Map<_, _>>(),
        });
        writeln!(out, "{line}")
    } else {
        write_folds(&accuracy, rows.len(), &mut out)
    };
    written.with_context(|| format!("{}: could not be written", out.name()))?;
    out.commit()
}

/// The error of a row, which is one of those with a label, where it stands in the file.
fn placed(error: KnnError, source: &str, rows: &[usize], lines: Option<&[u64]>) -> anyhow::Error {
    let of = |row: usize| rows.get(row).copied().unwrap_or(row);
    let error = match error {
        KnnError::ZeroVector { row } => {
            if let Some(line) = lines.and_then(|lines| lines.get(of(row))) {
                return anyhow::anyhow!(
                    "{source}:{line}: expected a text with a word that counts, found none, so that it has no cosine"
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

fn vectorise(texts: &[String], args: &Args) -> Result<Vectors> {
    let mut config = TfIdfConfig::default().with_words(1, args.ngrams.unwrap_or(1));
    if args.sublinear {
        config = config.with_tf(Tf::Sublinear);
    }
    if let Some(least) = args.min_df {
        config = config.with_min_df(least);
    }
    if let Some(most) = args.max_df {
        config = config.with_max_df(most);
    }
    let name = || args.texts.clone().unwrap_or_default();
    if args.model == Model::RandomIndexing {
        let mut indexing = RandomIndexingConfig::default();
        if let Some(dim) = args.components {
            indexing = indexing.with_dim(dim);
            // As many entries as there is room for.
            indexing.nonzero = indexing.nonzero.min(dim / 2 * 2);
        }
        indexing.terms = config;
        let (_, rows) = RandomIndexing::fit_transform(texts, &indexing).with_context(name)?;
        return Ok(Vectors::Dense(rows));
    }
    let (_, rows) = TfIdf::fit_transform(texts, &config).with_context(name)?;
    Ok(match args.model {
        Model::Lsi => {
            let config = SvdConfig::components(args.components.unwrap_or(100));
            let svd = Svd::fit(&rows, &config).with_context(name)?;
            Vectors::Dense(svd.transform(&rows)?)
        }
        Model::Tfidf | Model::RandomIndexing => Vectors::Sparse(rows),
    })
}

/// scikit-learn warns as well; here it is said which.
fn warn(accuracy: &Accuracy, args: &Args, console: &Console) {
    let small: Vec<String> = accuracy
        .small
        .iter()
        .map(|small| format!("{} ({})", small.class, small.members))
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

fn write_folds(accuracy: &Accuracy, items: usize, out: &mut dyn Write) -> std::io::Result<()> {
    for (number, (fold, size)) in (1..).zip(accuracy.folds.iter().zip(&accuracy.sizes)) {
        writeln!(out, "{number}\t{size}\t{fold:.4}")?;
    }
    writeln!(out, "mean\t{items}\t{:.4}", accuracy.mean())
}
