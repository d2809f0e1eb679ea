//! Repository priors as options.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_bm25::SegmentedIndex;
use ir_core::DocNum;
use ir_core::fusion::{
    DocumentRepositories, PriorCombination, PriorEstimate, RepositoryPrior, RepositoryPriors,
};
use ir_core::trec::HeaderLine;

use super::expansion::TextRetriever;
use crate::shared::console::{Console, bail_usage};
use crate::shared::format::grouped;
use crate::shared::input::{self, QrelsArgument};
use crate::shared::options::{choice, first_set, non_negative, positive};
use crate::shared::suggest::did_you_mean;

/// Prior probability of the repository of a document.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct PriorOptions {
    /// Prior probability of the repository of a document: `feedback`, estimated from the first hits
    /// of each query; `qrels:FILE`, from the relevant documents of training queries; or a file with
    /// lines `repository TAB probability`, `*` for all others [default: none]
    #[arg(long, value_parser = prior, value_name = "PRIOR")]
    prior: Option<Prior>,

    /// Attribute of the documents that names the repository [default: repository]
    #[arg(long, value_name = "NAME", requires = "prior")]
    prior_attribute: Option<String>,

    /// Combination of score and prior [default: product]
    #[arg(long, value_parser = choice(COMBINATIONS), value_name = "METHOD", requires = "prior")]
    prior_combination: Option<PriorCombination>,

    /// Weight of the prior; 0 disables it. Range: ≥ 0 [default: 1]
    #[arg(long, value_parser = non_negative::<f64>, value_name = "WEIGHT", requires = "prior")]
    prior_weight: Option<f64>,

    /// Number of hits of `--prior feedback` [default: 10]
    #[arg(long, value_parser = positive, value_name = "N", requires = "prior")]
    prior_docs: Option<usize>,

    /// Number of repositories in the estimate of `--prior feedback` or `qrels:FILE`; at least those
    /// of its hits or relevant documents are counted. 23 in bioCADDIE's plugin [default: those of
    /// the collection]
    #[arg(long, value_parser = positive, value_name = "N", requires = "prior")]
    prior_repositories: Option<usize>,

    /// Smoothing of `--prior feedback` or `qrels:FILE`: added to the count of every repository.
    /// Range: > 0 [default: 1]
    #[arg(long, value_parser = above_zero, value_name = "NUMBER", requires = "prior")]
    prior_epsilon: Option<f64>,

    /// Prior of repositories without relevant documents and of documents without a repository, with
    /// `--prior qrels:FILE`. Range: above 0, at most 1 [default: that of a count of 0]
    #[arg(long, value_parser = probability, value_name = "P", requires = "prior")]
    prior_unseen: Option<f64>,
}

/// Estimator of priors, or their source.
#[derive(Debug, Clone)]
enum Prior {
    Feedback,
    Qrels(String),
    File(PathBuf),
}

fn prior(text: &str) -> Result<Prior, String> {
    match (text, text.split_once(':')) {
        ("", _) | (_, Some(("qrels", ""))) => Err(format!(
            "expected feedback, qrels:FILE or a file, found {text:?}"
        )),
        ("feedback", _) => Ok(Prior::Feedback),
        (_, Some(("qrels", path))) => Ok(Prior::Qrels(path.to_owned())),
        _ => Ok(Prior::File(text.into())),
    }
}

/// Parses a finite number above 0.
fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err(format!("expected a number above 0, found {text:?}")),
    }
}

/// Parses a probability above 0.
fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1.0 => Ok(number),
        _ => Err(format!(
            "expected a number above 0, at most 1, found {text:?}"
        )),
    }
}

const COMBINATIONS: [(&str, &str, PriorCombination); 2] = [
    (
        "product",
        "score × prior^weight, for scores that are not negative",
        PriorCombination::Product,
    ),
    (
        "log-sum",
        "score + weight × ln prior, for log-likelihoods",
        PriorCombination::LogSum,
    ),
];

const ATTRIBUTE: &str = "repository";
/// Number of hits and smoothing of the published estimators.
const DOCS: usize = 10;
const EPSILON: f64 = 1.0;

impl PriorOptions {
    pub(crate) const fn is_set(&self) -> bool {
        self.prior.is_some()
    }

    /// Whether the scores are not those of the search without a prior.
    pub(super) fn changes_scores(&self) -> bool {
        self.is_set() && self.prior_weight != Some(0.0)
    }

    pub(crate) fn check(&self) -> Result<()> {
        let is_feedback = matches!(self.prior, Some(Prior::Feedback));
        let is_judged = matches!(self.prior, Some(Prior::Qrels(_)));
        if self.prior_docs.is_some() && !is_feedback {
            bail_usage!("--prior-docs: expected --prior feedback");
        }
        let of_estimates = first_set([
            ("--prior-repositories", self.prior_repositories.is_some()),
            ("--prior-epsilon", self.prior_epsilon.is_some()),
        ]);
        if let Some(option) = of_estimates.filter(|_| !is_feedback && !is_judged) {
            bail_usage!("{option}: expected --prior feedback or qrels:FILE, found a file");
        }
        if self.prior_unseen.is_some() && !is_judged {
            bail_usage!("--prior-unseen: expected --prior qrels:FILE");
        }
        Ok(())
    }

    /// The retriever with the priors, if there are any.
    pub(crate) fn applied(
        &self,
        retriever: TextRetriever,
        index: &SegmentedIndex,
        name: &str,
        console: &Console,
    ) -> Result<TextRetriever> {
        Ok(match self.open(index, name, console)? {
            None => retriever,
            Some(prior) => prior.applied(retriever, None)?,
        })
    }

    /// The estimator of the priors and the repositories of the documents of an index, if there are
    /// priors. `name` is that of the index in errors.
    pub(crate) fn open(
        &self,
        index: &SegmentedIndex,
        name: &str,
        console: &Console,
    ) -> Result<Option<OpenPrior>> {
        let Some(prior) = &self.prior else {
            return Ok(None);
        };
        let repositories = self.repositories(index, name)?;
        let in_collection = repositories.names().len();
        let count = self.prior_repositories.unwrap_or(in_collection);
        let epsilon = self.prior_epsilon.unwrap_or(EPSILON);
        let estimate = match prior {
            Prior::Feedback => PriorEstimate::Feedback {
                docs: self.prior_docs.unwrap_or(DOCS),
                epsilon,
                repositories: count,
            },
            Prior::Qrels(file) => {
                let qrels = input::qrels(file, QrelsArgument::Option, HeaderLine::AsData, console);
                let ids = index.ids();
                let repository = |doc: &str| repositories.get(ids.get(doc)?);
                let qrels = qrels.context("--prior")?;
                let priors = RepositoryPriors::from_qrels(&qrels, repository, count, epsilon)?;
                PriorEstimate::Fixed(match self.prior_unseen {
                    None => priors,
                    Some(unseen) => priors.with_unseen(unseen)?,
                })
            }
            Prior::File(path) => {
                let priors = from_file(path).context("--prior")?;
                self.warn_of_unknown(&priors, &repositories, path, console);
                PriorEstimate::Fixed(priors)
            }
        };
        let combination = self.prior_combination.unwrap_or(PriorCombination::Product);
        Ok(Some(OpenPrior {
            repositories,
            estimate,
            combination,
            weight: self.prior_weight.unwrap_or(1.0),
        }))
    }

    /// Warns about repositories of a file that no document has: their lines have no effect.
    fn warn_of_unknown(
        &self,
        priors: &RepositoryPriors,
        repositories: &DocumentRepositories,
        path: &Path,
        console: &Console,
    ) {
        let known = repositories.names();
        let of_documents: HashSet<&str> = known.iter().map(String::as_str).collect();
        let is_unknown = |name: &&str| !of_documents.contains(name);
        let names = priors.iter().map(|(name, _)| name);
        let unknown: Vec<&str> = names.filter(is_unknown).collect();
        let Some(first) = unknown.first() else {
            return;
        };
        // Keys of bioCADDIE with the date of the harvest.
        let key = first.split_once('_').map(|(key, _)| key);
        let hint = match key.filter(|key| of_documents.contains(key)) {
            Some(key) => format!(" (did you mean {key}?)"),
            None => did_you_mean(first, known.iter().map(String::as_str)),
        };
        console.warn(format_args!(
            "--prior: {}: no document has {} of {} repositories in its attribute {:?}, such as {first:?}{hint}",
            path.display(),
            grouped(unknown.len() as u64),
            grouped(priors.iter().len() as u64),
            self.prior_attribute.as_deref().unwrap_or(ATTRIBUTE),
        ));
    }

    /// Repositories of all documents.
    fn repositories(&self, index: &SegmentedIndex, engine: &str) -> Result<DocumentRepositories> {
        let name = self.prior_attribute.as_deref().unwrap_or(ATTRIBUTE);
        let mut all = Vec::with_capacity(index.len());
        for doc in (0..index.len() as u32).map(DocNum::new) {
            let attributes = index.attributes(doc);
            let attributes = attributes.with_context(|| format!("{engine}: --prior"))?;
            all.push(attributes.text(name).map(str::to_owned));
        }
        if all.iter().all(Option::is_none) {
            bail!(
                "{engine}: expected documents with a text attribute {name:?} for --prior, found none (--prior-attribute names another)"
            );
        }
        Ok(DocumentRepositories::new(all))
    }
}

/// Priors of the documents of an index.
#[derive(Debug, Clone)]
pub(crate) struct OpenPrior {
    repositories: DocumentRepositories,
    estimate: PriorEstimate,
    combination: PriorCombination,
    weight: f64,
}

impl OpenPrior {
    /// The retriever with the priors, of another weight if one is given.
    pub(crate) fn applied(
        self,
        retriever: TextRetriever,
        weight: Option<f64>,
    ) -> Result<TextRetriever> {
        let weight = weight.unwrap_or(self.weight);
        let (repositories, estimate) = (self.repositories, self.estimate);
        let prior =
            RepositoryPrior::new(retriever, repositories, estimate, self.combination, weight);
        Ok(Box::new(prior.context("--prior")?))
    }
}

/// Reads lines `repository TAB probability`.
fn from_file(path: &Path) -> Result<RepositoryPriors> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| name.clone())?;
    let mut unseen = None;
    let mut priors = Vec::new();
    let mut known = HashSet::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let pair = text.rsplit_once('\t');
        let pair = pair.and_then(|(name, p)| Some((name.trim(), p.trim().parse::<f64>().ok()?)));
        let pair = pair.filter(|(name, p)| !name.is_empty() && *p > 0.0 && *p <= 1.0);
        let Some((repository, p)) = pair else {
            bail!(
                "{name}:{line}: expected `repository TAB probability`, above 0, at most 1, found {text:?}"
            );
        };
        if !known.insert(repository) {
            bail!("{name}:{line}: expected different repositories, found {repository:?} twice");
        }
        match repository {
            "*" => unseen = Some(p),
            _ => priors.push((repository, p)),
        }
    }
    let priors = RepositoryPriors::new(priors)?;
    Ok(match unseen {
        Some(p) => priors.with_unseen(p)?,
        None => priors,
    })
}
