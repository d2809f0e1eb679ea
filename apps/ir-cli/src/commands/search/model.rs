//! The scoring model as options.

use anyhow::{Result, anyhow};
use clap::ValueHint;
use ir_bm25::models::{NAMED_MODELS, NamedModel, Parameter};
use ir_bm25::{Bm25, DocLengths, Model, SearcherError};
use ir_experiment::SystemError;
use ir_experiment::systems::RandomIndexingSystem;

use crate::shared::console::bail_usage;
use crate::shared::options::{Bm25Options, choice, first_set, of_field, reject_repeated};

/// Scoring model, its parameters and document lengths.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelOptions {
    /// Scoring model: bm25, its variants atire, robertson (Terrier's BM25, with k3), bm25+ and
    /// bm25l, bm25f (weighted fields scored together, of an index with --fields); query likelihood
    /// of Lucene qld (Dirichlet smoothing) and qljm (Jelinek-Mercer), and of Indri indri-dirichlet,
    /// indri-jelinek-mercer and two-stage; divergence from randomness pl2, inl2, in_expb2, bb2,
    /// dph, dlh13 and dfree; tfidf (Lucene's ClassicSimilarity), terrier-tfidf, indri-tfidf and
    /// pivoted (length normalization). Or random-indexing, cosines of document vectors, with
    /// parameters of experiment files, such as 'random-indexing(dim=500,reflections=1)': dim,
    /// nonzero, elemental, reflections, weight, seed, feedback_docs, beta; with --order insertion,
    /// the vectors are those of an experiment file. A saved index must store the texts
    /// [default: bm25]
    #[arg(long, value_parser = model_name, value_name = "MODEL", value_hint = ValueHint::Other)]
    model: Option<ModelName>,

    #[command(flatten)]
    bm25: Bm25Options,

    /// Pseudo-count of the collection model in qld, indri-dirichlet and two-stage. Range: > 0
    /// [default: qld 1000, others 2500]
    #[arg(
        long,
        alias = "qld.mu",
        value_name = "MU",
        allow_negative_numbers = true
    )]
    mu: Option<f32>,

    /// Weight of the collection model; qljm and indri-jelinek-mercer have no score at 0. Range: 0
    /// to 1 [default: qljm 0.1, others 0.4]
    #[arg(
        long,
        alias = "qljm.lambda",
        value_name = "LAMBDA",
        allow_negative_numbers = true
    )]
    lambda: Option<f32>,

    /// Length normalization of pl2, inl2, in_expb2 and bb2; large values weaken it. Range: > 0
    /// [default: 1]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    c: Option<f32>,

    /// Lower bound of an occurrence in bm25+, shift of the frequency in bm25l. Range: ≥ 0 [default:
    /// bm25+ 1, bm25l 0.5]
    #[arg(long, value_name = "DELTA", allow_negative_numbers = true)]
    delta: Option<f32>,

    /// Saturation of the count of a term in the query, in robertson, atire, bm25+ and bm25l; inf:
    /// none. Range: ≥ 0 [default: robertson 8, others inf]
    #[arg(long, value_name = "K3", allow_negative_numbers = true)]
    k3: Option<f32>,

    /// Slope of the length normalization of pivoted. Range: 0 to 1 [default: 0.2]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    slope: Option<f32>,

    /// Length normalization of fields in bm25f, such as title=0.3,text=0.8; --weights has their
    /// weights. Range: 0 to 1 [default: that of --b]
    #[arg(long, value_delimiter = ',', value_parser = of_field, value_name = "FIELD=B")]
    field_b: Vec<(String, f32)>,

    /// Precision of the document lengths [default: exact in models of Indri, Terrier's tfidf and
    /// divergence from randomness, else one-byte]
    #[arg(long, value_parser = choice(LENGTHS), value_name = "FORM")]
    lengths: Option<DocLengths>,
}

/// A scoring model, or random indexing, which scores no terms.
#[derive(Debug, Clone)]
enum ModelName {
    Scoring(&'static NamedModel),
    RandomIndexing(Box<RandomIndexingSystem>),
}

impl ModelOptions {
    /// Names of options and parameters, with the values given.
    fn parameters(&self) -> [(&'static str, &'static str, Option<f32>); 8] {
        let values = [
            self.bm25.k1(),
            self.bm25.b(),
            self.mu,
            self.lambda,
            self.c,
            self.delta,
            self.k3,
            self.slope,
        ];
        std::array::from_fn(|at| {
            let (option, name) = OPTIONS[at];
            (option, name, values[at])
        })
    }

    fn named(&self) -> Option<&'static NamedModel> {
        match self.model {
            Some(ModelName::Scoring(model)) if model.name != BM25 => Some(model),
            _ => None,
        }
    }

    /// Name of the model.
    fn name(&self) -> &'static str {
        match self.model {
            Some(ModelName::RandomIndexing(_)) => RANDOM_INDEXING,
            _ => self.named().map_or(BM25, |model| model.name),
        }
    }

    /// Random indexing, in place of a scoring model.
    pub(crate) fn random_indexing(&self) -> Option<&RandomIndexingSystem> {
        match &self.model {
            Some(ModelName::RandomIndexing(system)) => Some(system),
            _ => None,
        }
    }

    /// Name of the first option that sets a parameter of a scoring model.
    fn first_parameter(&self) -> Option<&'static str> {
        let mut given = self.parameters().into_iter();
        let given = given.find_map(|(option, _, value)| value.map(|_| option));
        given.or(first_set([
            ("--preset", self.bm25.has_preset()),
            ("--field-b", !self.field_b.is_empty()),
            ("--lengths", self.lengths.is_some()),
        ]))
    }

    /// The scoring model with its parameters; BM25 beside random indexing.
    pub(crate) fn model(&self) -> Result<Model> {
        if self.random_indexing().is_some()
            && let Some(option) = self.first_parameter()
        {
            bail_usage!("{option}: expected a scoring model, found --model {RANDOM_INDEXING}");
        }
        let named = self.named().map_or_else(|| NamedModel::find(BM25), Ok)?;
        if self.named().is_some() && self.bm25.has_preset() {
            bail_usage!("--preset: expected --model bm25, found {}", named.name);
        }
        let mut parameters = Vec::new();
        for (option, name, value) in self.parameters() {
            let Some(value) = value else { continue };
            let Some(known) = parameter(named, name) else {
                let having = NAMED_MODELS.iter();
                let having = having.filter(|model| parameter(model, name).is_some());
                let having: Vec<_> = having.map(|model| model.name).collect();
                let found = named.name;
                bail_usage!(
                    "{option}: expected --model {}, found {found}",
                    having.join(", ")
                );
            };
            if !known.range.contains(value) {
                let expected = known.range.expected();
                bail_usage!("{option}: expected {expected}, found {value}");
            }
            parameters.push((name, value));
        }
        if !self.field_b.is_empty() && !self.is_bm25f() {
            let found = named.name;
            bail_usage!("--field-b: expected --model {BM25F}, found {found}");
        }
        reject_repeated("--field-b", &self.field_b)?;
        let of_fields = self.field_b.iter();
        let of_fields: Vec<_> = of_fields
            .map(|(field, b)| (format!("b.{field}"), *b))
            .collect();
        let of_fields = of_fields.iter().map(|(name, b)| (name.as_str(), *b));
        if self.named().is_none() {
            let lengths = self.lengths.unwrap_or(DocLengths::OneByte);
            let bm25: Bm25 = self.bm25.parameters().with_lengths(lengths);
            return Ok(bm25.into());
        }
        let parameters: Vec<_> = parameters.into_iter().chain(of_fields).collect();
        let model = named.with_parameters(&parameters, self.lengths);
        model.or_else(|error| match error {
            SearcherError::FieldParameter {
                expected, found, ..
            } => bail_usage!("--field-b: expected {expected}, found {found}"),
            other => Err(other.into()),
        })
    }

    /// Default tag of a run.
    pub(crate) fn tag(&self) -> String {
        format!("ir-{}", self.name())
    }

    /// Whether the model scores all fields together.
    pub(crate) fn is_bm25f(&self) -> bool {
        self.name() == BM25F
    }

    /// Whether Anserini has the model with these lengths.
    pub(crate) fn is_anserinis(&self) -> bool {
        let name = self.name();
        [BM25, "qld", "qljm"].contains(&name)
            && self.lengths.unwrap_or(DocLengths::OneByte) == DocLengths::OneByte
    }

    /// Name of the first option that is set.
    #[cfg(feature = "dense")]
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let model = || first_set([("--model", self.model.is_some())]);
        self.first_parameter().or_else(model)
    }
}

const BM25: &str = "bm25";
const BM25F: &str = "bm25f";
const RANDOM_INDEXING: &str = "random-indexing";

/// Options and the parameters that they set, in the order of [`ModelOptions::parameters`].
static OPTIONS: [(&str, &str); 8] = [
    ("--k1", "k1"),
    ("--b", "b"),
    ("--mu", "mu"),
    ("--lambda", "lambda"),
    ("--c", "c"),
    ("--delta", "delta"),
    ("--k3", "k3"),
    ("--slope", "s"),
];

const LENGTHS: [(&str, &str, DocLengths); 2] = [
    (
        "one-byte",
        "Rounded to one byte, as in Lucene",
        DocLengths::OneByte,
    ),
    ("exact", "Exact", DocLengths::Exact),
];

fn parameter(model: &NamedModel, name: &str) -> Option<&'static Parameter> {
    model.parameters.iter().find(|known| known.name == name)
}

fn model_name(text: &str) -> Result<ModelName> {
    if text.trim_start().starts_with(RANDOM_INDEXING) {
        let system = text
            .parse()
            .map_err(|error: SystemError| anyhow!("{error}"))?;
        return Ok(ModelName::RandomIndexing(Box::new(system)));
    }
    let found = NamedModel::find(text).map_err(|error: SearcherError| {
        if let Some(options) = as_options(text) {
            return anyhow!(
                "expected a model without parameters, which are options ({options}), found {text:?}"
            );
        }
        if is_random_indexing(text) {
            return anyhow!(
                "{error}; random indexing is random-indexing, with reflections random-indexing(reflections=1)"
            );
        }
        anyhow!(error)
    })?;
    Ok(ModelName::Scoring(found))
}

/// The options in place of a model with parameters: `--model qld --mu 2500` of `qld(mu=2500)`.
fn as_options(text: &str) -> Option<String> {
    let (name, parameters) = text.split_once('(')?;
    let model = NamedModel::find(name.trim()).ok()?;
    let given = parameters.trim_end().trim_end_matches(')').split(',');
    let given = given.map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let option = option_of(model, name.trim())?;
        Some(format!(" {option} {}", value.trim()))
    });
    let options: Option<Vec<String>> = given.collect();
    let options = options.unwrap_or_else(|| {
        let all = model.parameters.iter();
        let all = all.filter_map(|known| option_of(model, known.name));
        all.map(|option| format!(" {option} VALUE")).collect()
    });
    Some(format!("--model {}{}", model.name, options.concat()))
}

/// The option that sets a parameter of a model.
fn option_of(model: &NamedModel, name: &str) -> Option<&'static str> {
    if name == "lengths" {
        return Some("--lengths");
    }
    parameter(model, name)?;
    let (option, _) = OPTIONS.iter().find(|(_, known)| *known == name)?;
    Some(*option)
}

fn is_random_indexing(text: &str) -> bool {
    let name = text.to_lowercase().replace(['-', '_', ' '], "");
    ["ri", "rri", "randomindexing", "reflectiverandomindexing"].contains(&name.as_str())
}
