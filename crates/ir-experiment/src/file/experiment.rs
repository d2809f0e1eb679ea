//! The structs of an experiment file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use ir_core::{Conditions, Predicate};
use ir_data::catalog::Catalog;
use ir_eval::{Measure, Rules};
use ir_system::systems::EncoderEntry;
use ir_system::{
    DocumentOrder, FilterName, Registry, ScoreFormatName, SourceMap, SpecError, SystemEntry,
    TrecFile,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::measure::parse_measure;
use super::{ClassificationEntry, ComparisonEntry, SelectionEntry};

/// Experiment: tasks, systems, measures and a comparison.
///
/// Read from a file with [`Experiment::open`], or built in memory. [`Runner`](crate::Runner) runs
/// it.
///
/// ```
/// use ir_experiment::Experiment;
/// let experiment = Experiment::from_toml(
///     r#"
///     measures = ["AP", "RR"]
///     [[tasks]]
///     collection = "bundled"
///     [[systems]]
///     name = "BM25"
///     type = "bm25"
///     k1 = 1.2
///     "#,
/// )?;
/// assert_eq!(experiment.systems[0].name, "BM25");
/// assert_eq!(experiment.tasks[0].split, "test");
/// # Ok::<(), ir_experiment::SpecError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Version of the format of system files, which `ir search --save` writes. Range: 1. Default:
    /// 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1))]
    pub version: Option<u32>,
    /// Title of the tables and pages. Default: the name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description in one or more sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Measures by the names of `ir eval`, such as `nDCG@10` or `recall_100`. Default: `nDCG@10`,
    /// `AP`, `RR`, `P@5`, `R@100`.
    #[serde(default = "default_measures", deserialize_with = "measures")]
    #[schemars(with = "Vec<String>")]
    pub measures: Vec<Measure>,
    /// Order in which the documents of all tasks are read. Default: `collection`.
    #[serde(default, skip_serializing_if = "DocumentOrder::is_of_the_collection")]
    pub document_order: DocumentOrder,
    /// Tasks: a collection and its queries. Each has a table of its own.
    #[serde(default)]
    pub tasks: Vec<TaskEntry>,
    /// Search parameters of all systems.
    #[serde(default)]
    pub search: SearchEntry,
    /// Encoders by name, for the key `encoder` of systems.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub encoders: BTreeMap<String, EncoderEntry>,
    /// Systems, in the order of the table.
    #[serde(default)]
    pub systems: Vec<SystemEntry>,
    /// kNN classification accuracy of vectors or texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classifications: Vec<ClassificationEntry>,
    /// Selection of the best point of a grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionEntry>,
    /// Baseline, significance test and correction.
    #[serde(default)]
    pub comparison: ComparisonEntry,
    /// Evaluation rules: ties, missing queries, unjudged documents. Default: the rules of
    /// `trec_eval -c`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub rules: Rules,
    /// Costs in the tables; folder and formats of the files to write.
    #[serde(default)]
    pub output: OutputEntry,
    /// Page of `ir reproduce`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduction: Option<ReproductionEntry>,
    /// Expected values, which `ir reproduce` compares with the obtained values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<ExpectedValues>,
    /// Path and line numbers of the file; empty for an experiment that was built in memory.
    #[serde(skip)]
    #[schemars(skip)]
    pub source: SourceMap,
}

/// Collection, queries and training queries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskEntry {
    /// Unique name. Default: the collection, with its split and query form if they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Collection: a name of the catalog (`ir datasets`), or the path of a folder in BEIR layout
    /// or SMART format. A path may start with an environment variable: `$HOME/data/scifact`. Empty
    /// for a task with `qrels`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub collection: String,
    /// Judgments in a format of `ir eval`, instead of a collection. All systems are of the type
    /// `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qrels: Option<TrecFile>,
    /// Split of the test queries. Default: `test`.
    #[serde(default = "test_split")]
    pub split: String,
    /// Query attribute that replaces the query text, such as `keyphrase_query`. A query without it
    /// is empty. Default: the query text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Query attributes that replace the query text, joined as in DataFinder's keyphrase queries:
    /// `["task", "modality"]`. A query without a value of these attributes is empty. Default: the
    /// query text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_fields: Option<Vec<String>>,
    /// Labeled training queries, for the systems that learn from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<QuerySet>,
    /// Names of the systems of the task. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub systems: Option<Vec<String>>,
    /// Time filter of the task, which systems override. Default: the filter of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterName>,
    /// Evaluation rules of the task. Default: the rules of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub rules: Option<Rules>,
    /// Removes the document with the id of the query from the runs, after the search, as BEIR and
    /// Anserini's `-removeQuery` do. Default: false.
    #[serde(default)]
    pub remove_self: bool,
    /// Order in which documents are read, which breaks ties of indexes in insertion order.
    /// Default: the order of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_order: Option<DocumentOrder>,
}

/// Labeled queries: a split of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuerySet {
    /// Collection of the queries. Default: the collection of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Split, such as `train`. It must not be the split of the test queries.
    pub split: String,
    /// Query attribute that replaces the query text. Default: the query text of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

/// Search parameters of all systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchEntry {
    /// Number of hits per query. Range: ≥ 1. Default: 1000.
    #[schemars(range(min = 1))]
    pub hits: usize,
    /// Time filter. Default: `none`.
    pub filter: FilterName,
    /// Conditions on the attributes of the documents, such as `"year>=2015"` or
    /// `["year>=2015", "venue=ACL,EMNLP"]`, or a table. Default: all documents.
    #[serde(
        rename = "where",
        deserialize_with = "conditions",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "serde_json::Value", extend("type" = ["string", "array", "object"]))]
    pub condition: Option<Predicate>,
    /// Rounding of the scores before evaluation and in the files of the runs. Default: `exact`.
    pub scores: ScoreFormatName,
}

/// Reads the conditions of `where`.
fn conditions<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Predicate>, D::Error> {
    Ok(Some(Conditions::deserialize(input)?.into()))
}

impl Default for SearchEntry {
    fn default() -> Self {
        Self {
            hits: 1000,
            filter: FilterName::None,
            condition: None,
            scores: ScoreFormatName::Exact,
        }
    }
}

/// Tables and files that an experiment writes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutputEntry {
    /// Folder of the files. Default: no files; `ir run` prints the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Formats to write. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formats: Option<Vec<OutputFormat>>,
    /// Adds a table with the costs of the systems to text, Markdown, LaTeX and JSON: median
    /// milliseconds of the search of a query, and bytes of indexes, vectors and models. Times
    /// differ between machines; they are measured once and cached. Default: false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub costs: bool,
}

/// Format of an output file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// Table as text: `table.txt`.
    Text,
    /// Table as Markdown: `table.md`.
    Markdown,
    /// Table as LaTeX: `table.tex`.
    Latex,
    /// Everything in full precision, with per-query values: `results.json`.
    Json,
    /// A self-contained page with plots per task: `TASK.html`.
    Html,
    /// TREC runs with the scores of `scores`: `runs/TASK/SYSTEM.trec`.
    Runs,
}

impl OutputFormat {
    /// All formats, in the order of their files.
    pub const ALL: [Self; 6] = [
        Self::Text,
        Self::Markdown,
        Self::Latex,
        Self::Json,
        Self::Html,
        Self::Runs,
    ];
}

/// Page of `ir reproduce`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReproductionEntry {
    /// Source of the expected values: publication, program, version.
    pub source: String,
    /// Origin of the expected values without an `origin` of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ValueOrigin>,
    /// If `true`, only `ir reproduce --all` and `ir reproduce NAME` run the experiment, because it
    /// takes longer than a minute. Default: false.
    #[serde(default)]
    pub slow: bool,
    /// If `true`, the page contains the tables of `ir run`, with the differences from the baseline
    /// and their significance. Default: false.
    #[serde(default)]
    pub comparison: bool,
    /// Values of other systems, data or rules, which the page lists and does not compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedValues>,
}

/// Origin of an expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ValueOrigin {
    /// Printed by others: in a publication, on a page, or in the output of their program.
    Published,
    /// Printed by another program that this project ran on the same data.
    Peer,
    /// Printed by the first run of the experiment. The value finds changes, not errors.
    FirstRun,
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Published => "published",
            Self::Peer => "peer, run by us",
            Self::FirstRun => "first run of ours",
        })
    }
}

/// Values of a system, for readers of the page: they are not compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedValues {
    /// Name of the system, as in the publication.
    pub system: String,
    /// Values of the measures.
    #[schemars(with = "BTreeMap<String, f64>")]
    pub values: BTreeMap<String, f64>,
    /// What differs from the experiment: data, splits, analysis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// Origin of the values. Default: `published`.
    #[serde(default = "published")]
    pub origin: ValueOrigin,
}

/// Expected values of a system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedValues {
    /// Name of the task or classification. Default: the only task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Name of the system; empty for a classification.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// Values by measure. The experiment must list the measure. Measures of a classification are
    /// `accuracy` and `fold 1`, `fold 2` and so on.
    #[schemars(with = "BTreeMap<String, f64>")]
    pub values: BTreeMap<String, f64>,
    /// Factor of the values: 100 for percent. Default: 1.
    #[serde(default = "one")]
    pub scale: f64,
    /// Maximum difference between expected and obtained value, × `scale`. Range: ≥ 0.
    pub tolerance: f64,
    /// Source of the values. Default: the source of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Origin. Default: the `origin` of `[reproduction]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ValueOrigin>,
    /// Reason of a known difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Collection, model or file that an experiment reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentInput {
    /// Key that names it, such as `tasks[0].collection`.
    pub key: String,
    /// Path, or the name of a collection of the catalog.
    pub path: PathBuf,
    /// If `true`, the input is a model folder.
    pub is_model: bool,
}

impl TaskEntry {
    /// Creates a task of the split `test` of a collection.
    pub fn new(collection: impl Into<String>) -> Self {
        Self {
            name: None,
            collection: collection.into(),
            qrels: None,
            split: test_split(),
            query: None,
            query_fields: None,
            training: None,
            systems: None,
            filter: None,
            rules: None,
            remove_self: false,
            document_order: None,
        }
    }

    /// Returns `true` if the table of the task includes a system.
    #[must_use]
    pub fn shows(&self, system: &SystemEntry) -> bool {
        let systems = self.systems.as_ref();
        !system.hidden && systems.is_none_or(|names| names.contains(&system.name))
    }

    /// Returns the name of the task.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let qrels = self.qrels.as_ref().map(|qrels| qrels.file.clone());
            let mut name = qrels.unwrap_or_else(|| self.collection.clone());
            if self.split != "test" {
                name.push_str(&format!(", {}", self.split));
            }
            if let Some(query) = &self.query {
                name.push_str(&format!(", {query}"));
            }
            if let Some(fields) = &self.query_fields {
                name.push_str(&format!(", {}", fields.join(" ")));
            }
            name
        })
    }
}

impl Experiment {
    /// Creates an experiment without systems.
    #[must_use]
    pub fn new(task: TaskEntry) -> Self {
        Self {
            version: None,
            title: None,
            description: None,
            measures: default_measures(),
            document_order: DocumentOrder::default(),
            tasks: vec![task],
            search: SearchEntry::default(),
            encoders: BTreeMap::new(),
            systems: Vec::new(),
            classifications: Vec::new(),
            selection: None,
            comparison: ComparisonEntry::default(),
            rules: Rules::default(),
            output: OutputEntry::default(),
            reproduction: None,
            expected: Vec::new(),
            source: SourceMap::default(),
        }
    }

    /// Returns everything that the experiment reads, which outputs must not replace. Inputs with an
    /// environment variable that is not set are left out.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if a system is invalid.
    pub fn inputs(&self, registry: &Registry) -> Result<Vec<ExperimentInput>, SpecError> {
        let mut inputs = Vec::new();
        let mut add = |key: String, value: &str, is_model: bool| {
            let is_name = !is_model && Catalog::from_env().entry(value).is_ok();
            let path = if is_name {
                Some(value.into())
            } else {
                self.source.resolve(&key, value).ok()
            };
            inputs.extend(path.map(|path| ExperimentInput {
                key,
                path,
                is_model,
            }));
        };
        for (n, task) in self.tasks.iter().enumerate() {
            match &task.qrels {
                Some(qrels) => add(format!("tasks[{n}].qrels"), &qrels.file, false),
                None => add(format!("tasks[{n}].collection"), &task.collection, false),
            }
            let training = task
                .training
                .as_ref()
                .and_then(|set| set.collection.as_ref());
            if let Some(collection) = training {
                add(format!("tasks[{n}].training.collection"), collection, false);
            }
        }
        for (n, entry) in self.classifications.iter().enumerate() {
            for (key, path) in entry.files() {
                add(format!("classifications[{n}].{key}"), path, false);
            }
        }
        for (name, encoder) in &self.encoders {
            if let Some((key, model)) = encoder.file() {
                add(format!("encoders.{name}.{key}"), &model, true);
            }
        }
        for (n, entry) in self.systems.iter().enumerate() {
            let at = format!("systems[{n}]");
            for point in entry.points_of_values() {
                let parsed = registry.parse(&entry.kind, &point);
                let parsed = parsed.map_err(|error| self.source.system_error(&at, error))?;
                for (key, value) in parsed.system.files() {
                    let is_model = key.ends_with("model");
                    add(format!("{at}.{key}"), &value, is_model);
                }
            }
        }
        Ok(inputs)
    }

    /// Condition of a system on the attributes of the documents.
    pub(crate) fn condition<'a>(&'a self, system: &'a SystemEntry) -> Option<&'a Predicate> {
        system.condition.as_ref().or(self.search.condition.as_ref())
    }

    /// Conditions of all systems, with the key of each, without repetitions.
    pub(crate) fn conditions(&self) -> Vec<(String, &Predicate)> {
        let of_systems = self.systems.iter().enumerate();
        let of_systems =
            of_systems.map(|(n, system)| (format!("systems[{n}].where"), &system.condition));
        let all = [("search.where".to_owned(), &self.search.condition)].into_iter();
        let mut conditions: Vec<(String, &Predicate)> = Vec::new();
        for (key, condition) in all.chain(of_systems) {
            if let Some(condition) = condition
                && !conditions.iter().any(|(_, known)| *known == condition)
            {
                conditions.push((key, condition));
            }
        }
        conditions
    }

    /// Order in which the documents of a task are read.
    #[must_use]
    pub fn document_order(&self, task: &TaskEntry) -> DocumentOrder {
        task.document_order.unwrap_or(self.document_order)
    }

    /// Time filter of a system in a task.
    #[must_use]
    pub fn filter(&self, task: &TaskEntry, system: &SystemEntry) -> FilterName {
        (system.filter.or(task.filter)).unwrap_or(self.search.filter)
    }

    /// Returns the title, or the name of the file.
    #[must_use]
    pub fn title(&self) -> String {
        let name = || {
            self.source
                .name()
                .unwrap_or_else(|| "experiment".to_owned())
        };
        self.title.clone().unwrap_or_else(name)
    }
}

fn test_split() -> String {
    "test".to_owned()
}

fn published() -> ValueOrigin {
    ValueOrigin::Published
}

fn one() -> f64 {
    1.0
}

fn default_measures() -> Vec<Measure> {
    use ir_eval::Measure as M;
    vec![M::NDCG.at(10), M::AP, M::RR, M::P.at(5), M::R.at(100)]
}

/// Parses measures. The error of an unknown name suggests the closest name.
fn measures<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Measure>, D::Error> {
    let names = Vec::<String>::deserialize(input)?;
    let parsed = names.iter().map(|name| parse_measure(name));
    parsed
        .collect::<Result<_, _>>()
        .map_err(serde::de::Error::custom)
}
