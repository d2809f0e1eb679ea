//! Repositories of documents and their prior probabilities.

use std::collections::{BTreeMap, HashMap};

use super::FusionError;
use crate::ids::DocNum;
use crate::qrels::Qrels;
use crate::ranking::Ranking;

/// Repository of each document of a retriever: the source that a record comes from, or any other
/// partition of the documents.
///
/// ```
/// use ir_core::DocNum;
/// use ir_core::fusion::DocumentRepositories;
/// let repositories = DocumentRepositories::new(["geo", "pdb", "geo"].map(Some));
/// assert_eq!(repositories.names(), ["geo", "pdb"]);
/// assert_eq!(repositories.get(DocNum::new(2)), Some("geo"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DocumentRepositories {
    /// In order of first occurrence.
    names: Vec<String>,
    /// Position in `names` by document number.
    documents: Vec<Option<u32>>,
}

impl DocumentRepositories {
    /// Creates the table from the repositories of the documents in the order of their numbers;
    /// [`None`] for a document without one.
    pub fn new<S: AsRef<str>>(repositories: impl IntoIterator<Item = Option<S>>) -> Self {
        let mut table = Self::default();
        let mut known: HashMap<String, u32> = HashMap::new();
        for repository in repositories {
            let number = repository.map(|name| {
                let name = name.as_ref();
                known.get(name).copied().unwrap_or_else(|| {
                    let number = table.names.len() as u32;
                    known.insert(name.to_owned(), number);
                    table.names.push(name.to_owned());
                    number
                })
            });
            table.documents.push(number);
        }
        table
    }

    /// Names of the repositories, in order of their first document.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns whether there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns the repository of a document.
    #[must_use]
    pub fn get(&self, doc: DocNum) -> Option<&str> {
        self.number(doc).map(|number| self.names[number].as_str())
    }

    /// Returns the position of a document's repository in [`Self::names`].
    pub(super) fn number(&self, doc: DocNum) -> Option<usize> {
        let number = self.documents.get(doc.index()).copied().flatten()?;
        Some(number as usize)
    }

    /// Returns `true` if a document has no repository.
    pub(super) fn has_missing(&self) -> bool {
        self.documents.iter().any(Option::is_none)
    }
}

/// Prior probability of each repository.
///
/// `p(S) = (c(S) + ε) / (c + ε·n)`, where `c(S)` is the number of relevant documents of repository
/// `S`, `c` the number of all relevant documents, and `n` the number of repositories.
///
/// | estimator | relevant documents | source |
/// |---|---|---|
/// | [`RepositoryPriors::from_qrels`] | judged relevant for training queries | prior 1 |
/// | [`RepositoryPriors::from_ranking`] | first hits of the query | prior 2 |
///
/// ```
/// use ir_core::fusion::RepositoryPriors;
/// // 50 documents, 23 repositories, ε = 1.
/// let seen = [("geo", 5), ("arrayexpress", 7), ("pdb", 38)];
/// let priors = RepositoryPriors::from_counts(seen, 23, 1.0)?;
/// let rounded = |p: f64| (p * 1e7).round() / 1e7;
/// assert_eq!(rounded(priors.get("geo").unwrap_or(0.0)), 0.0821918);
/// assert_eq!(rounded(priors.get("arrayexpress").unwrap_or(0.0)), 0.1095890);
/// assert_eq!(priors.get("dryad"), None);
/// assert_eq!(rounded(priors.unseen().unwrap_or(0.0)), 0.0136986);
/// # Ok::<(), ir_core::fusion::FusionError>(())
/// ```
///
/// # Source
/// bioCADDIE challenge: `biocaddie/biocaddie-priors` and the plugin
/// `biocaddie/elasticsearch-queryexpansion-plugin`.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositoryPriors {
    priors: BTreeMap<String, f64>,
    unseen: Option<f64>,
}

impl RepositoryPriors {
    /// Creates priors from probabilities. Repositories without one have none:
    /// [`RepositoryPrior::new`](super::RepositoryPrior::new) returns an error.
    ///
    /// # Errors
    /// [`FusionError::RepositoryPrior`] if a probability is not in 0..=1, or 0.
    pub fn new<S: Into<String>>(
        priors: impl IntoIterator<Item = (S, f64)>,
    ) -> Result<Self, FusionError> {
        let priors: BTreeMap<String, f64> = priors
            .into_iter()
            .map(|(name, p)| (name.into(), p))
            .collect();
        for (repository, &prior) in &priors {
            check_prior(repository, prior)?;
        }
        Ok(Self {
            priors,
            unseen: None,
        })
    }

    /// Sets the prior of all other repositories, and of documents without one.
    ///
    /// # Errors
    /// Returns the errors of [`RepositoryPriors::new`].
    pub fn with_unseen(mut self, prior: f64) -> Result<Self, FusionError> {
        check_prior("(unseen)", prior)?;
        self.unseen = Some(prior);
        Ok(self)
    }

    /// Estimates priors from the numbers of relevant documents of repositories. `repositories` is
    /// the number of all repositories, with and without relevant documents; it is at least the
    /// number of counts. Repositories without a count have the prior of a count of 0.
    ///
    /// # Errors
    /// [`FusionError::Smoothing`] if `epsilon` is not a finite number above 0.
    pub fn from_counts<S: Into<String>>(
        counts: impl IntoIterator<Item = (S, u64)>,
        repositories: usize,
        epsilon: f64,
    ) -> Result<Self, FusionError> {
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return Err(FusionError::Smoothing { epsilon });
        }
        let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
        for (name, count) in counts {
            let sum = by_name.entry(name.into()).or_default();
            *sum = sum.saturating_add(count);
        }
        let all: f64 = by_name.values().map(|&count| count as f64).sum();
        let total = all + epsilon * repositories.max(by_name.len()).max(1) as f64;
        let prior = |count: u64| (count as f64 + epsilon) / total;
        let priors = by_name.into_iter();
        Ok(Self {
            unseen: Some(prior(0)),
            priors: priors.map(|(name, count)| (name, prior(count))).collect(),
        })
    }

    /// Prior 1: estimates priors from training judgments; documents with a positive grade are
    /// relevant. `repository` returns the repository of a document; documents without one are
    /// ignored. `repositories` and `epsilon` mean the same as in [`RepositoryPriors::from_counts`];
    /// the published value of ε is 1.
    ///
    /// # Errors
    /// Returns [`FusionError::Smoothing`] if `epsilon` is not a finite number above 0.
    pub fn from_qrels<S: Into<String>>(
        qrels: &Qrels,
        repository: impl Fn(&str) -> Option<S>,
        repositories: usize,
        epsilon: f64,
    ) -> Result<Self, FusionError> {
        let judged = qrels.iter().flat_map(|(_, judged)| judged.iter());
        let relevant = judged.filter(|(_, grade)| *grade > 0);
        let counts = relevant.filter_map(|(doc, _)| Some((repository(doc)?, 1)));
        Self::from_counts(counts, repositories, epsilon)
    }

    /// Prior 2, pseudo-relevance feedback: estimates priors from the repositories of the hits of a
    /// query, usually the first ten. `repositories` and `epsilon` mean the same as in
    /// [`RepositoryPriors::from_counts`].
    ///
    /// # Errors
    /// Returns [`FusionError::Smoothing`] if `epsilon` is not a finite number above 0.
    pub fn from_ranking(
        hits: &Ranking,
        documents: &DocumentRepositories,
        repositories: usize,
        epsilon: f64,
    ) -> Result<Self, FusionError> {
        let counts = hits
            .iter()
            .filter_map(|hit| Some((documents.get(hit.doc)?, 1)));
        Self::from_counts(counts, repositories, epsilon)
    }

    /// Returns the prior of a repository with an own one.
    #[must_use]
    pub fn get(&self, repository: &str) -> Option<f64> {
        self.priors.get(repository).copied()
    }

    /// Returns the prior of all other repositories.
    #[must_use]
    pub const fn unseen(&self) -> Option<f64> {
        self.unseen
    }

    /// Iterates over the repositories with an own prior in ascending byte order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, f64)> {
        self.priors
            .iter()
            .map(|(name, &prior)| (name.as_str(), prior))
    }
}

fn check_prior(repository: &str, prior: f64) -> Result<(), FusionError> {
    if prior > 0.0 && prior <= 1.0 {
        return Ok(());
    }
    Err(FusionError::RepositoryPrior {
        repository: repository.to_owned(),
        prior,
    })
}
