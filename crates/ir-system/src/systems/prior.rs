//! The type `prior`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ir_bm25::StoredFields;
use ir_core::fusion::{
    DocumentRepositories, PriorCombination, PriorEstimate, RepositoryPrior, RepositoryPriors,
};
use ir_core::{DocIds, DocNum, Qrels};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::existing_file;
use crate::collection::open_named;
use crate::error::SystemError;
use crate::index_needs::IndexNeeds;
use crate::suggest::{did_you_mean, list_or_none};
use crate::system::{OpenSystem, System, SystemContext};
use crate::trec_file::TrecFile;

/// Scores of a system combined with the prior probability of the repository of each document.
///
/// Without `priors` and `qrels`, they are estimated from the first hits of each query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorSystem {
    /// Name of the system.
    pub of: String,
    /// Attribute of the documents that names their repository. Default: `repository`.
    #[serde(default)]
    pub attribute: Option<String>,
    /// Prior probabilities by repository, such as `{ geo = 0.2, pdb = 0.5 }`. Range: above 0, at
    /// most 1. Default: estimated from the first hits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("additionalProperties" = {
        "type": "number", "exclusiveMinimum": 0, "maximum": 1
    }))]
    pub priors: Option<BTreeMap<String, f64>>,
    /// Prior probability of all other repositories, and of documents without one. Range: above 0,
    /// at most 1. Default: none for given priors, where every repository needs one; for priors of
    /// judgments, the prior of a repository without relevant documents.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub unseen: Option<f64>,
    /// Judgments of training queries, in TREC or BEIR format, or a collection `NAME:SPLIT`:
    /// the priors are estimated from the repositories of their relevant documents. Default:
    /// estimated from the first hits.
    #[serde(default)]
    pub qrels: Option<TrecFile>,
    /// Number of hits for the estimate. Range: ≥ 1. Default: 10.
    #[serde(default)]
    #[schemars(range(min = 1))]
    #[schemars(extend("default" = DOCS))]
    pub docs: Option<usize>,
    /// Smoothing of the estimate. Range: > 0. Default: 1.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    #[schemars(extend("default" = EPSILON))]
    pub epsilon: Option<f64>,
    /// Number of repositories in the estimate. Repositories of its hits or relevant documents
    /// always count. 23 in bioCADDIE's plugin. Range: ≥ 1. Default: all of the collection.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub repositories: Option<usize>,
    /// Combination of score and prior. Default: `product`.
    #[serde(default)]
    pub combination: PriorCombinationName,
    /// Weight of the prior; 0 disables it. Range: ≥ 0. Default: 1.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    #[schemars(extend("default" = WEIGHT))]
    pub weight: Option<f64>,
}

/// Combination of score and prior.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PriorCombinationName {
    /// Score times the prior to the power of the weight, for scores that are not negative.
    #[default]
    Product,
    /// Score plus the weight times the logarithm of the prior, for log-likelihoods.
    LogSum,
}

const ATTRIBUTE: &str = "repository";
const DOCS: usize = 10;
const EPSILON: f64 = 1.0;
const WEIGHT: f64 = 1.0;

impl PriorSystem {
    fn fixed(&self) -> Result<RepositoryPriors, SystemError> {
        let priors = self.priors.clone().unwrap_or_default();
        let failed = SystemError::stage("the repository prior");
        let priors = RepositoryPriors::new(priors);
        let priors = priors.and_then(|priors| match self.unseen {
            None => Ok(priors),
            Some(unseen) => priors.with_unseen(unseen),
        });
        priors.map_err(failed)
    }

    /// Priors estimated from judgments.
    fn judged(
        &self,
        qrels: &TrecFile,
        ids: &DocIds,
        repositories: &DocumentRepositories,
        context: &mut SystemContext<'_>,
    ) -> Result<RepositoryPriors, SystemError> {
        let judgments = judgments(qrels, context)?;
        let repository = |doc: &str| repositories.get(ids.get(doc)?);
        let (count, epsilon) = (self.count(repositories), self.epsilon());
        let priors = RepositoryPriors::from_qrels(&judgments, repository, count, epsilon);
        let priors = priors.and_then(|priors| match self.unseen {
            None => Ok(priors),
            Some(unseen) => priors.with_unseen(unseen),
        });
        priors.map_err(|error| SystemError::parameter("qrels", error.to_string()))
    }

    /// Warns about repositories that no document has: their priors have no effect.
    fn warn_of_unknown(
        &self,
        priors: &RepositoryPriors,
        repositories: &DocumentRepositories,
        context: &mut SystemContext<'_>,
    ) {
        let known = repositories.names();
        let of_documents: HashSet<&str> = known.iter().map(String::as_str).collect();
        let names = priors.iter().map(|(name, _)| name);
        let unknown: Vec<&str> = names.filter(|name| !of_documents.contains(name)).collect();
        let Some(first) = unknown.first() else {
            return;
        };
        // Keys of bioCADDIE with the date of the harvest.
        let key = first.split_once('_').map(|(key, _)| key);
        let hint = match key.filter(|key| of_documents.contains(key)) {
            Some(key) => format!(" (did you mean {key}?)"),
            None => did_you_mean(first, known.iter().map(String::as_str)),
        };
        context.observer().warning(&format!(
            "priors: no document has {} of {} repositories in its attribute {:?}, such as {first:?}{hint}",
            unknown.len(),
            priors.iter().len(),
            self.attribute.as_deref().unwrap_or(ATTRIBUTE),
        ));
    }

    /// Smoothing of the estimate.
    fn epsilon(&self) -> f64 {
        self.epsilon.unwrap_or(EPSILON)
    }

    /// Number of repositories in the estimate.
    fn count(&self, repositories: &DocumentRepositories) -> usize {
        self.repositories.unwrap_or(repositories.names().len())
    }

    /// Repositories of the documents of a retriever.
    fn repositories(
        &self,
        ids: &DocIds,
        context: &SystemContext<'_>,
    ) -> Result<DocumentRepositories, SystemError> {
        let name = self.attribute.as_deref().unwrap_or(ATTRIBUTE);
        let index = context.data.index();
        if index.is_some_and(|index| index.config().store == StoredFields::Nothing) {
            let message = "expected an index with stored attributes, found none \
                           (`ir index --store attributes`)";
            return Err(SystemError::parameter("of", message));
        }
        let mut by_id: HashMap<String, String> = HashMap::new();
        let documents = context.data.corpus().docs();
        for document in documents.map_err(SystemError::stage("reading documents"))? {
            let document = document.map_err(SystemError::stage("reading documents"))?;
            if let Some(repository) = document.attributes.text(name) {
                let repository = repository.to_owned();
                by_id.entry(document.id).or_insert(repository);
            }
        }
        if by_id.is_empty() {
            let known = context.data.attributes();
            let hint = did_you_mean(name, known.iter().map(String::as_str));
            let known = list_or_none(known.iter().map(String::as_str));
            let message = format!(
                "expected a text attribute of the documents ({known}), found {name:?}{hint}"
            );
            return Err(SystemError::parameter("attribute", message));
        }
        let documents = (0..ids.len() as u32).map(|doc| by_id.get(ids.id(DocNum::new(doc))));
        Ok(DocumentRepositories::new(documents))
    }
}

impl System for PriorSystem {
    fn check(&self) -> Result<(), SystemError> {
        let invalid = |key: &str, message: String| Err(SystemError::parameter(key, message));
        self.fixed()?;
        let is_fixed = self.priors.is_some();
        let is_judged = self.qrels.is_some();
        for (key, other, both) in [
            ("qrels", "priors", is_judged && is_fixed),
            ("docs", "priors", self.docs.is_some() && is_fixed),
            ("docs", "qrels", self.docs.is_some() && is_judged),
            ("epsilon", "priors", self.epsilon.is_some() && is_fixed),
            (
                "repositories",
                "priors",
                self.repositories.is_some() && is_fixed,
            ),
        ] {
            if both {
                return invalid(key, format!("expected no key {other}, found both"));
            }
        }
        if self.unseen.is_some() && !is_fixed && !is_judged {
            let message = "expected the key priors or qrels, found none";
            return invalid("unseen", message.to_owned());
        }
        Ok(())
    }

    fn index_needs(&self) -> IndexNeeds {
        IndexNeeds {
            store: StoredFields::Attributes,
            positions: false,
        }
    }

    fn inputs(&self) -> Vec<(String, String)> {
        vec![("of".to_owned(), self.of.clone())]
    }

    fn max_hits(&self, of_part: &dyn Fn(&str) -> Option<usize>) -> Option<usize> {
        of_part(&self.of)
    }

    fn files(&self) -> Vec<(String, String)> {
        let qrels = self.qrels.iter();
        qrels
            .map(|qrels| ("qrels".to_owned(), qrels.file.clone()))
            .collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        match &self.qrels {
            None => Ok(String::new()),
            Some(qrels) => match context.resolve("qrels", &qrels.file)? {
                path if path.exists() => {
                    context.file_hash(&existing_file(context, "qrels", &qrels.file)?)
                }
                _ => Ok(String::new()),
            },
        }
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let open = context.system(&self.of)?;
        let retriever = open.retriever;
        let repositories = self.repositories(retriever.ids(), context)?;
        let estimate = if let Some(qrels) = &self.qrels {
            PriorEstimate::Fixed(self.judged(qrels, retriever.ids(), &repositories, context)?)
        } else if self.priors.is_none() {
            PriorEstimate::Feedback {
                docs: self.docs.unwrap_or(DOCS),
                epsilon: self.epsilon(),
                repositories: self.count(&repositories),
            }
        } else {
            let priors = self.fixed()?;
            self.warn_of_unknown(&priors, &repositories, context);
            PriorEstimate::Fixed(priors)
        };
        let combination = match self.combination {
            PriorCombinationName::Product => PriorCombination::Product,
            PriorCombinationName::LogSum => PriorCombination::LogSum,
        };
        let weight = self.weight.unwrap_or(WEIGHT);
        let prior = RepositoryPrior::new(retriever, repositories, estimate, combination, weight);
        let prior = prior.map_err(|error| SystemError::parameter("priors", error.to_string()))?;
        Ok(OpenSystem {
            retriever: Arc::new(prior),
            with_duplicates: None,
            candidate_model: None,
            ..open
        })
    }
}

/// Judgments of a file, or of a split of a collection: `NAME` or `NAME:SPLIT`.
fn judgments(qrels: &TrecFile, context: &mut SystemContext<'_>) -> Result<Qrels, SystemError> {
    let failed = "reading the judgments";
    let path = context.resolve("qrels", &qrels.file)?;
    let (name, split) = qrels.file.rsplit_once(':').unwrap_or((&qrels.file, "test"));
    if !path.exists()
        && let Ok(Ok(collection)) = open_named(name, || context.resolve("qrels", name))
    {
        return collection.qrels(split).map_err(SystemError::stage(failed));
    }
    let path = existing_file(context, "qrels", &qrels.file)?;
    let bytes = qrels.read(&path).map_err(SystemError::stage(failed))?;
    let name = path.display().to_string();
    let parsed = ir_data::parse_qrels_any(&bytes[..], &name, qrels.header_line());
    let parsed = parsed.map_err(SystemError::stage(failed))?;
    for warning in &parsed.warnings {
        context.observer().note(&warning.to_string());
    }
    Ok(parsed.data)
}
