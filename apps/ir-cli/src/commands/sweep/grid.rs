//! Searches of a collection with every point of a parameter grid.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueHint;
use ir_bm25::feedback::{Feedback, FeedbackModel};
use ir_bm25::{
    DuplicateIds, Model, NearestWords, QuerySyntax, Searcher, SegmentedIndex, StoredFields,
    StructuredSearcher, SynonymExpansion, Synonyms,
};
use ir_core::store::Verify;
use ir_core::{Distinct, Query, Run};
use ir_data::TextEncoding;

use crate::commands::search::expansion::{
    Addition, TextRetriever, feedback, sdm_weights, synonym_file,
};
use crate::commands::search::nearest_words::NearestWordsOptions;
use crate::commands::search::prior::{OpenPrior, PriorOptions};
use crate::shared::console::{Console, bail_usage, check_stopped};
use crate::shared::feedback_collection::FeedbackCollection;
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{self, CollectionSource, open_collection};
use crate::shared::options::{QueryForm, SYNTAXES, choice, first_set};

/// Parameter grid, searched in place of runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Grid")]
pub(super) struct GridOptions {
    /// Values of a parameter of --model, such as k1=0.6,0.9,1.2, or of --feedback, such as
    /// feedback.docs=5,10; of --sdm: sdm.words, sdm.phrases, sdm.windows; of --synonyms:
    /// synonyms.weight; of --nearest-words: nearest.words, nearest.weight; of --prior:
    /// prior.weight; repeatable. Every combination is a setting. The second argument is then the
    /// collection or index to search
    #[arg(long, value_parser = axis, value_name = "NAME=VALUES")]
    grid: Vec<Axis>,

    /// Scoring model, also with fixed parameters, such as 'bm25(b=0.3)' [default: bm25]
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::Other, requires = "grid")]
    model: Option<String>,

    /// Pseudo-relevance feedback: rm3 or rocchio [default: none]
    #[arg(long, value_name = "MODEL", value_hint = ValueHint::Other, requires = "grid")]
    feedback: Option<String>,

    /// External collection of the feedback documents, by the scoring model of each setting: a saved
    /// index with its texts, or a collection, which is indexed [default: the searched one]
    #[arg(long, value_name = "INDEX|COLLECTION", requires = "feedback")]
    feedback_collection: Option<String>,

    /// Sequential dependence model: weights of words, of phrases and of unordered windows of two
    /// words, such as 0.85,0.1,0.05 [default: none]
    #[arg(long, value_parser = sdm_weights, value_name = "W,W,W", requires = "grid")]
    sdm: Option<[f32; 3]>,

    /// Synonyms to add to the queries, as in `ir search`; their weight is 0.2, or that of the grid
    /// [default: none]
    #[arg(long, value_name = "FILE", requires = "grid", conflicts_with = "sdm")]
    synonyms: Option<PathBuf>,

    #[command(flatten)]
    nearest: NearestWordsOptions,

    #[command(flatten)]
    prior: PriorOptions,

    /// Text of the queries, as in `ir search`: text, keyphrases, or another text attribute
    #[arg(long, default_value_t, value_name = "FORM", value_hint = ValueHint::Other, requires = "grid")]
    query_form: QueryForm,

    /// Syntax of the queries, as in `ir search` [default: words]
    #[arg(long, value_parser = choice(SYNTAXES), value_name = "SYNTAX", requires = "grid")]
    syntax: Option<QuerySyntax>,

    /// Queries: a file or collection as in `ir search` [default: those of the collection]
    #[arg(long, value_name = "FILE|COLLECTION", requires = "grid")]
    query_file: Option<PathBuf>,

    /// Split of the collection whose queries are searched [default: test]
    #[arg(long, value_name = "SPLIT", value_hint = ValueHint::Other, requires = "grid")]
    split: Option<String>,
}

/// Values of a parameter.
#[derive(Debug, Clone, PartialEq)]
struct Axis {
    name: String,
    values: Vec<f32>,
}

/// Setting of a grid.
pub(super) struct Point {
    /// Name of the setting: parameters and values.
    label: String,
    model: Model,
    feedback: Option<FeedbackModel>,
    sdm: Option<[f32; 3]>,
    synonym_weight: f32,
    /// Number and weight of nearest words, if they are in the grid.
    nearest_words: Option<usize>,
    nearest_weight: Option<f32>,
    /// Weight of the prior, if it is in the grid.
    prior_weight: Option<f32>,
}

impl Point {
    /// Nearest words with the number and the weight of the setting.
    fn with_nearest(&self, mut nearest: NearestWords) -> Result<NearestWords> {
        if let Some(words) = self.nearest_words {
            nearest = nearest.with_words(words);
        }
        if let Some(weight) = self.nearest_weight {
            nearest = nearest.with_weight(weight)?;
        }
        Ok(nearest)
    }
}

/// Parameters of feedback, before their names.
const FEEDBACK: &str = "feedback.";
/// Names of the weights of `--sdm`.
const SDM: [&str; 3] = ["sdm.words", "sdm.phrases", "sdm.windows"];
const SYNONYM_WEIGHT: &str = "synonyms.weight";
const NEAREST_WORDS: &str = "nearest.words";
const NEAREST_WEIGHT: &str = "nearest.weight";
const PRIOR_WEIGHT: &str = "prior.weight";
/// Maximum of [`NEAREST_WORDS`].
const MAX_NEAREST_WORDS: f32 = 1e6;
/// Maximum number of settings.
const MAX_POINTS: usize = 10_000;
/// Number of hits per query, as in `ir search`.
const HITS: usize = 1000;

fn axis(text: &str) -> Result<Axis, String> {
    let parsed = text.split_once('=').and_then(|(name, values)| {
        let values = values.split(',').map(|value| value.trim().parse().ok());
        let values = values.collect::<Option<Vec<f32>>>()?;
        let name = name.trim().to_owned();
        (!name.is_empty()).then_some(Axis { name, values })
    });
    parsed.ok_or_else(|| format!("expected NAME=VALUE,VALUE,..., found {text:?}"))
}

impl GridOptions {
    pub(super) fn is_set(&self) -> bool {
        !self.grid.is_empty()
    }

    /// The first option that needs a grid.
    pub(super) const fn first_set(&self) -> Option<&'static str> {
        if self.prior.is_set() {
            return Some("--prior");
        }
        if self.nearest.is_set() {
            return Some("--nearest-words");
        }
        None
    }

    /// The settings, in the order of the values, the last parameter fastest.
    pub(super) fn points(&self) -> Result<Vec<Point>> {
        let mut names: Vec<&str> = self.grid.iter().map(|axis| axis.name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail_usage!(
                "--grid: expected different parameters, found {:?} twice",
                pair[0]
            );
        }
        for Axis { name, values } in &self.grid {
            let mut sorted = values.clone();
            sorted.sort_by(f32::total_cmp);
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                let value = pair[0];
                bail_usage!("--grid: expected different values of {name:?}, found {value} twice");
            }
        }
        let sizes = self.grid.iter().map(|axis| axis.values.len());
        let count = sizes.fold(1, usize::saturating_mul);
        if !(2..=MAX_POINTS).contains(&count) {
            bail_usage!("--grid: expected 2 to {MAX_POINTS} settings, found {count}");
        }
        let mut points: Vec<Vec<(&str, f32)>> = vec![Vec::new()];
        for Axis { name, values } in &self.grid {
            let extended = points.iter().flat_map(|point| {
                let with = |value: &f32| {
                    let last = (name.as_str(), *value);
                    point.iter().copied().chain([last]).collect()
                };
                values.iter().map(with)
            });
            points = extended.collect();
        }
        points.iter().map(|point| self.point(point)).collect()
    }

    fn point(&self, parameters: &[(&str, f32)]) -> Result<Point> {
        let names = parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let label = names.collect::<Vec<_>>().join(",");
        let mut sdm = self.sdm;
        let mut synonym_weight = SynonymExpansion::WEIGHT;
        let (mut nearest_words, mut nearest_weight, mut prior_weight) = (None, None, None);
        let (mut of_feedback, mut of_model) = (Vec::new(), Vec::new());
        for &(name, value) in parameters {
            let of_sdm = SDM.iter().position(|known| *known == name);
            if let Some(option) = self.missing_option(name) {
                bail_usage!("--grid: {name}: expected {option}, found none");
            }
            match (of_sdm, &mut sdm) {
                (Some(at), Some(weights)) => weights[at] = value,
                _ if name == SYNONYM_WEIGHT => synonym_weight = value,
                _ if name == NEAREST_WORDS => nearest_words = Some(count(name, value)?),
                _ if name == NEAREST_WEIGHT => nearest_weight = Some(value),
                _ if name == PRIOR_WEIGHT => prior_weight = Some(value),
                _ if name.starts_with(FEEDBACK) => of_feedback.push((name, value)),
                _ => of_model.push((name, value)),
            }
            let is_weight =
                of_sdm.is_some() || [SYNONYM_WEIGHT, NEAREST_WEIGHT, PRIOR_WEIGHT].contains(&name);
            let is_valid = match of_sdm {
                Some(0) => value > 0.0 && value <= 1e9,
                _ => (0.0..=1e9).contains(&value),
            };
            if is_weight && !is_valid {
                let least = if of_sdm == Some(0) {
                    "above 0"
                } else {
                    "at least 0"
                };
                bail_usage!(
                    "--grid: {name}: expected a weight {least}, at most 1e9, found {value}"
                );
            }
        }
        let base = self.model.as_deref().unwrap_or("bm25");
        let model = with_parameters(base, of_model.into_iter());
        let model = match model.parse::<Model>() {
            Ok(model) => model,
            Err(error) => bail_usage!("--grid, --model: {error}"),
        };
        let feedback = match &self.feedback {
            None => None,
            Some(base) => {
                let given = of_feedback.iter();
                let given = given.map(|(name, value)| (&name[FEEDBACK.len()..], *value));
                match with_parameters(base, given).parse() {
                    Ok(feedback) => Some(feedback),
                    Err(error) => bail_usage!("--grid, --feedback: {error}"),
                }
            }
        };
        Ok(Point {
            label,
            model,
            feedback,
            sdm,
            synonym_weight,
            nearest_words,
            nearest_weight,
            prior_weight,
        })
    }

    /// The option that a parameter of the grid belongs to, if it is not given.
    fn missing_option(&self, name: &str) -> Option<&'static str> {
        let (option, is_given) = if name.starts_with(FEEDBACK) {
            ("--feedback", self.feedback.is_some())
        } else if SDM.contains(&name) {
            ("--sdm", self.sdm.is_some())
        } else if name == SYNONYM_WEIGHT {
            ("--synonyms", self.synonyms.is_some())
        } else if [NEAREST_WORDS, NEAREST_WEIGHT].contains(&name) {
            ("--nearest-words", self.nearest.is_set())
        } else if name == PRIOR_WEIGHT {
            ("--prior", self.prior.is_set())
        } else {
            return None;
        };
        (!is_given).then_some(option)
    }

    /// Checks the options and the settings before data are read.
    pub(super) fn check(&self) -> Result<()> {
        self.prior.check()?;
        self.nearest.check()?;
        let added = [
            ("--feedback", self.feedback.is_some()),
            ("--sdm", self.sdm.is_some()),
            ("--synonyms", self.synonyms.is_some()),
            ("--nearest-words", self.nearest.is_set()),
        ];
        if let Some(option) = first_set(added)
            && self.syntax.is_some()
        {
            bail_usage!("{option}: expected queries of words, found --syntax");
        }
        let others = [
            ("--sdm", self.sdm.is_some()),
            ("--synonyms", self.synonyms.is_some()),
        ];
        if let Some((option, _)) = others.iter().find(|(_, given)| *given)
            && self.nearest.is_set()
        {
            bail_usage!("--nearest-words: expected no {option}, found both");
        }
        self.points().map(|_| ())
    }

    /// Searches the queries with every setting. Calls `visit` with each run, named by its setting.
    pub(super) fn search(
        &self,
        collection: &str,
        setup: &IndexOptions,
        console: &Console,
        mut visit: impl FnMut(Run) -> Result<()>,
    ) -> Result<()> {
        let points = self.points()?;
        let split = self.split.as_deref();
        let asked = match &self.query_file {
            Some(queries) => Some(input::read_queries_of(
                queries,
                split,
                TextEncoding::Utf8,
                console,
            )?),
            None => None,
        };
        let opened = open_collection(
            collection,
            TextEncoding::Utf8,
            Verify::SmallSections,
            console,
        )?;
        let (index, asked): (SegmentedIndex, _) = match opened {
            CollectionSource::Index(index) => {
                if let Some(option) = setup.first_set() {
                    bail_usage!(
                        "{option} applies only when an index is built, but {collection} is a saved index"
                    );
                }
                (index, asked)
            }
            CollectionSource::Documents(documents) => {
                let asked = match asked {
                    Some(asked) => Some(asked),
                    None => input::collection_queries(&documents.collection, split, console)?,
                };
                let needs_texts = self.feedback.is_some() || self.nearest.is_set();
                let store = match (needs_texts, self.prior.is_set()) {
                    (true, _) => StoredFields::Everything,
                    (false, true) => StoredFields::Attributes,
                    (false, false) => StoredFields::Nothing,
                };
                let config = setup.config(&documents, None, store);
                let config = config.with_positions(self.needs_positions());
                let index = setup.build(&documents, None, config, None, None, console)?;
                (index.into(), asked)
            }
        };
        let Some(asked) = asked else {
            bail_usage!(
                "{collection}: expected a collection with queries, found none (--query-file)"
            );
        };
        let queries = self.query_form.apply(asked.queries)?;
        let synonyms = self.synonyms.as_deref().map(synonym_file).transpose();
        let nearest = match self.nearest.is_set() {
            false => None,
            true => {
                // The vectors are those of the index, whatever the model.
                let searcher = index.searcher(points[0].model.clone())?;
                let words = self.nearest.retriever(&searcher, None, console);
                Some(words.context("--nearest-words")?)
            }
        };
        let feedback_index = self.feedback_index(setup, console);
        let extras = Extras {
            feedback_index: feedback_index.context("--feedback-collection")?,
            synonyms: synonyms.context("--synonyms")?,
            nearest,
            prior: self.prior.open(&index, collection, console)?,
            syntax: self.syntax,
        };
        for point in points {
            check_stopped()?;
            let run = extras.searched(&point, &index, &queries);
            visit(run.with_context(|| format!("{collection}: {}", point.label))?)?;
        }
        Ok(())
    }

    /// Whether an index is built with positions: queries may have phrases.
    const fn needs_positions(&self) -> bool {
        self.sdm.is_some() || self.syntax.is_some()
    }

    /// Index of the external collection of the feedback documents, if there is one.
    fn feedback_index(
        &self,
        setup: &IndexOptions,
        console: &Console,
    ) -> Result<Option<SegmentedIndex>> {
        let Some(name) = &self.feedback_collection else {
            return Ok(None);
        };
        let collection = FeedbackCollection {
            name,
            encoding: TextEncoding::Utf8,
            verify: Verify::SmallSections,
            setup,
            positions: self.needs_positions(),
            threads: None,
        };
        collection.open(console).map(Some)
    }
}

/// The text of a model with further parameters.
fn with_parameters<'a>(base: &str, more: impl Iterator<Item = (&'a str, f32)>) -> String {
    let (name, given) = base.split_once('(').unwrap_or((base, ")"));
    let given = given.trim_end();
    let given = given.strip_suffix(')').unwrap_or(given);
    let more = more.map(|(name, value)| format!("{name}={value}"));
    let given = std::iter::once(given.to_owned()).filter(|given| !given.is_empty());
    let all: Vec<String> = given.chain(more).collect();
    format!("{name}({})", all.join(","))
}

/// A value of the grid as a number of words.
fn count(name: &str, value: f32) -> Result<usize> {
    if value.fract() != 0.0 || !(0.0..=MAX_NEAREST_WORDS).contains(&value) {
        bail_usage!("--grid: {name}: expected a whole number from 0 to 1000000, found {value}");
    }
    Ok(value as usize)
}

/// Feedback documents, synonyms, nearest words, priors and syntax, which all settings share.
struct Extras {
    syntax: Option<QuerySyntax>,
    /// The external collection of the feedback documents.
    feedback_index: Option<SegmentedIndex>,
    synonyms: Option<Synonyms>,
    nearest: Option<NearestWords>,
    prior: Option<OpenPrior>,
}

impl Extras {
    /// The feedback of a setting, from the searched or the external collection.
    fn feedback_of(&self, point: &Point, searcher: &Searcher) -> Result<Option<Feedback>> {
        let Some(model) = point.feedback else {
            return Ok(None);
        };
        let source = match &self.feedback_index {
            None => searcher.clone(),
            Some(index) => {
                let source = index.searcher(point.model.clone());
                source.context("--feedback-collection")?
            }
        };
        let found = feedback(searcher, source, model);
        Ok(Some(found.context("--feedback")?))
    }

    fn searched(&self, point: &Point, index: &SegmentedIndex, queries: &[Query]) -> Result<Run> {
        let searcher = index.searcher(point.model.clone())?;
        let feedback = self.feedback_of(point, &searcher)?;
        let addition = match (point.sdm, &self.synonyms) {
            (Some(weights), _) => Addition::SequentialDependence(weights),
            (None, Some(synonyms)) => {
                let weight = point.synonym_weight;
                let synonyms = SynonymExpansion::new(searcher.clone(), synonyms, weight);
                Addition::Synonyms(synonyms.context("--synonyms")?)
            }
            (None, None) => match &self.nearest {
                Some(nearest) => {
                    let nearest = nearest.clone().with_searcher(searcher.clone());
                    Addition::NearestWords(point.with_nearest(nearest)?)
                }
                None => Addition::Nothing,
            },
        };
        let retriever = match self.syntax {
            Some(syntax) => Box::new(StructuredSearcher::new(searcher, syntax)) as TextRetriever,
            None => addition.retriever(&searcher, feedback)?.0,
        };
        let retriever: TextRetriever = match index.config().duplicates {
            DuplicateIds::Keep => Box::new(Distinct(retriever)),
            _ => retriever,
        };
        let retriever = match &self.prior {
            None => retriever,
            Some(prior) => prior
                .clone()
                .applied(retriever, point.prior_weight.map(f64::from))?,
        };
        Ok(Run::from_retriever(
            &point.label,
            &*retriever,
            queries,
            HITS,
        )?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_models() {
        let text = |base: &str| with_parameters(base, [("k1", 0.5), ("b", 1.0)].into_iter());
        assert_eq!(text("bm25"), "bm25(k1=0.5,b=1)");
        assert_eq!(
            text("bm25(lengths=exact)"),
            "bm25(lengths=exact,k1=0.5,b=1)"
        );
        assert_eq!(with_parameters("rm3", std::iter::empty()), "rm3()");
        let axis = axis("k1=0.5, 2").unwrap();
        assert_eq!((axis.name.as_str(), &*axis.values), ("k1", &[0.5, 2.0][..]));
        for wrong in ["k1", "k1=", "=1", "k1=a", "k1=1,,2"] {
            assert!(super::axis(wrong).is_err(), "{wrong}");
        }
    }
}
