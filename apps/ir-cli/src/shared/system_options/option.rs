//! Options of parameters: names, helps, values.

use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ValueHint};
use ir_bm25::models::NamedModel;
use ir_system::{Parameter, ParameterValues, Registry, SystemType};
use toml::{Table, Value};

use crate::shared::options::non_negative;

/// Types of the systems of the options.
pub(super) const BM25: &str = "bm25";
pub(super) const BM25F: &str = "bm25f";
pub(super) const RANDOM_INDEXING: &str = "random-indexing";
pub(super) const PRIOR: &str = "prior";
pub(super) const RERANK: &str = "rerank";
pub(crate) const REMOTE: &str = "remote";
pub(crate) const DENSE: &str = "dense";
pub(crate) const HYBRID: &str = "hybrid";

/// Keys of `bm25` that are options of the index, or that options with a form of their own set.
const OF_THE_INDEX: [&str; 6] = [
    "analyzer",
    "blank",
    "fields",
    "order",
    "template",
    "title_weight",
];

/// Keys and options that differ in name.
const NAMES: [(&str, &str); 9] = [
    ("s", "slope"),
    ("exact_lengths", "lengths"),
    ("expansion.words", "nearest-words"),
    ("expansion.weight", "nearest-weight"),
    ("expansion.dim", "nearest-dim"),
    ("expansion.reflections", "nearest-reflections"),
    ("expansion.seed", "nearest-seed"),
    ("cleaning.tags", "pos-tags"),
    ("cleaning.parts_of_speech", "keep-pos"),
];

/// Option of a parameter.
pub(super) struct SystemOption {
    /// Long name, which is also the id of the argument.
    pub(super) name: &'static str,
    /// Type of the system.
    pub(super) kind: &'static str,
    pub(super) parameter: Parameter,
    /// Text of the help.
    help: String,
    heading: &'static str,
}

/// All options, in the order of the help.
pub(super) static OPTIONS: LazyLock<Vec<SystemOption>> = LazyLock::new(|| {
    let with_kind = |kind: &'static str| parameters(kind).into_iter().map(move |it| (kind, it));
    let options = [BM25, PRIOR, RERANK].into_iter().flat_map(with_kind);
    let options = options.filter_map(|(kind, mut parameter)| {
        let mut help = parameter.description.clone();
        let mut heading = MODEL;
        match (kind, &*parameter.key) {
            (BM25, key) if OF_THE_INDEX.contains(&key) => return None,
            (BM25, "cleaning.lower_case" | "cleaning.stop_words") | (PRIOR, "of" | "priors") => {
                return None;
            }
            (BM25, "cleaning.punctuation") => {
                let table = parameter.table.as_deref().unwrap_or_default();
                help = with_forms(table, CLEANING_FORMS);
                let steps = CLEANING.map(|step| (step.to_owned(), String::new()));
                let steps = ParameterValues::Names(steps.into());
                parameter.values = ParameterValues::List(Box::new(steps), None);
                heading = QUERIES;
            }
            (RERANK, _) if cfg!(not(feature = "dense")) => return None,
            (RERANK, "first" | "second") => return None,
            // A table, for experiment files.
            (RERANK, key) if key.starts_with("training") => return None,
            (BM25, "exact_lengths") => {
                for (value, name) in LENGTHS {
                    help = help.replace(value, name);
                }
                let names = LENGTHS.map(|(_, name)| (name.to_owned(), String::new()));
                parameter.values = ParameterValues::Names(names.into());
            }
            (BM25, "expansion.encoder") if cfg!(not(feature = "dense")) => return None,
            (BM25, "model") => help = with_forms(&help, MODEL_FORMS),
            (PRIOR, "qrels") => help = PRIOR_HELP.to_owned(),
            (BM25, key) if key.starts_with("cleaning.") || key == "syntax" => heading = QUERIES,
            (BM25, key) if EXPANSION_KEYS.iter().any(|known| key.starts_with(known)) => {
                heading = EXPANSION;
            }
            _ => {}
        }
        match kind {
            PRIOR => heading = PRIORS,
            RERANK => heading = RERANKING,
            _ => {}
        }
        Some(SystemOption {
            name: option_name(kind, &parameter.key).leak(),
            kind,
            parameter,
            help,
            heading,
        })
    });
    let mut options: Vec<_> = options.collect();
    let rank = |option: &SystemOption| {
        let mut first = FIRST.iter();
        first.position(|name| *name == option.name)
    };
    options.sort_by_key(|option| rank(option).unwrap_or(FIRST.len()));
    options
});

/// Options that the help lists first in their groups, in the order of use.
const FIRST: [&str; 22] = [
    "model",
    "preset",
    "k1",
    "b",
    "k3",
    "delta",
    "mu",
    "lambda",
    "c",
    "slope",
    "lengths",
    "weights",
    "field-b",
    "sdm",
    "feedback",
    "feedback-collection",
    "synonyms",
    "synonym-weight",
    "nearest-words",
    "prior",
    "rerank",
    "candidates",
];

const MODEL: &str = "Model";
pub(super) const EXPANSION: &str = "Query expansion";
const PRIORS: &str = "Prior";
pub(crate) const RERANKING: &str = "Reranking";

/// Starts of the keys of query expansion.
const EXPANSION_KEYS: [&str; 3] = ["feedback", "synonym", "expansion."];

/// Ranges in descriptions of keys, and in the help of options.
const SPELLINGS: [(&str, &str); 5] = [
    ("\n", " "),
    ("a number from ", ""),
    ("a finite number ", ""),
    ("a number ", ""),
    (">=", "≥"),
];
const QUERIES: &str = "Queries";
pub(super) const CLEAN: &str = "clean";
/// Values of `--clean`, in the order of their effects.
const CLEANING: [&str; 3] = ["punctuation", "lower-case", "stop-words"];
const CLEANING_FORMS: &str =
    "Any of punctuation, lower-case and stop-words (NLTK's), separated by commas, in this order.";
/// Values of `exact_lengths`, and of `--lengths`.
const LENGTHS: [(&str, &str); 2] = [("`false`", "one-byte"), ("`true`", "exact")];
/// Forms of `--model` that the key does not have.
const MODEL_FORMS: &str = "Or random-indexing, cosines of document vectors, for which a saved index \
     must store the texts. Parameters are options, or in parentheses: 'qld(mu=2500)', \
     'random-indexing(dim=500,reflections=1)'.";
/// Forms of `--prior`, which stands for several keys.
const PRIOR_HELP: &str = "Prior probability of the repository of a document: `feedback`, estimated \
     from the first hits of each query; `qrels:FILE`, from the relevant documents of training \
     queries; or a file with lines `repository TAB probability`, `*` for all others. Default: none.";

/// Name of the option of a key.
pub(crate) fn option_name(kind: &str, key: &str) -> String {
    let key = key.split('[').next().unwrap_or(key);
    if key == "filter" {
        return "not-later-than-query".to_owned();
    }
    let (table, _) = key.split_once('.').unwrap_or((key, ""));
    if kind == PRIOR {
        return match table {
            "priors" | "qrels" | "of" | "" => PRIOR.to_owned(),
            key => format!("prior-{}", key.replace('_', "-")),
        };
    }
    if kind == RERANK {
        return match table {
            "model" | "first" | "second" | "" => RERANK.to_owned(),
            "depth" => "candidates".to_owned(),
            key => format!("rerank-{}", key.replace('_', "-")),
        };
    }
    if kind == REMOTE {
        return match table {
            "engine" | "" => "engine".to_owned(),
            "queries" => "engine-vectors".to_owned(),
            key => format!("engine-{}", key.replace('_', "-")),
        };
    }
    if kind == DENSE {
        return match key {
            "" => "vectors".to_owned(),
            "queries" => "query-vectors".to_owned(),
            "encoder.model" => "encoder".to_owned(),
            "encoder.query_prefix" => "prefix".to_owned(),
            key => key.trim_start_matches("encoder.").replace('_', "-"),
        };
    }
    if kind == HYBRID {
        return "alpha".to_owned();
    }
    if key.starts_with("expansion.encoder") {
        return "nearest-encoder".to_owned();
    }
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == key) {
        return (*name).to_owned();
    }
    match table {
        "" | "type" => "model".to_owned(),
        "expansion" => "nearest-words".to_owned(),
        "cleaning" => CLEAN.to_owned(),
        key => key.replace('_', "-"),
    }
}

impl SystemOption {
    pub(super) fn argument(&'static self) -> Arg {
        let key = &*self.parameter.key;
        let argument = Arg::new(self.name)
            .long(self.name)
            .help(option_help(&self.help))
            .help_heading(self.heading)
            .action(match self.parameter.values {
                ParameterValues::List(_, None) | ParameterValues::NumbersByName => {
                    ArgAction::Append
                }
                _ => ArgAction::Set,
            })
            .allow_negative_numbers(true);
        let alias = match key {
            "k1" => Some("bm25.k1"),
            "b" => Some("bm25.b"),
            "mu" => Some("qld.mu"),
            "lambda" => Some("qljm.lambda"),
            _ => None,
        };
        let argument = argument.aliases(alias);
        let (name, hint) = match key {
            "model" if self.kind == RERANK => ("MODEL", ValueHint::Unknown),
            "template" => ("TEMPLATE", ValueHint::Other),
            "tokens" => ("STORE", ValueHint::Unknown),
            "model" | "feedback" => ("MODEL", ValueHint::Other),
            "synonyms" | "cleaning.tags" => ("FILE", ValueHint::Unknown),
            "qrels" => ("PRIOR", ValueHint::Unknown),
            "feedback_collection" => ("INDEX|COLLECTION", ValueHint::Unknown),
            "expansion.encoder" => ("MODEL", ValueHint::Unknown),
            "synonym_weight" => ("WEIGHT", ValueHint::Other),
            "weights" | "field_b" => ("FIELD=NUMBER", ValueHint::Unknown),
            "sdm" => ("W,W,W", ValueHint::Unknown),
            "cleaning.parts_of_speech" => ("TAG", ValueHint::Unknown),
            "attribute" => ("NAME", ValueHint::Unknown),
            _ => match self.parameter.values {
                ParameterValues::Integer => ("N", ValueHint::Unknown),
                ParameterValues::Number => ("NUMBER", ValueHint::Unknown),
                _ => ("NAME", ValueHint::Unknown),
            },
        };
        let argument = argument.value_name(name).value_hint(hint);
        if let ParameterValues::Names(names) = &self.parameter.values {
            let names = names.iter().map(|(name, help)| {
                let value = PossibleValue::new(name.as_str());
                if help.is_empty() {
                    value
                } else {
                    value.help(in_options(help).trim_end_matches('.').to_owned())
                }
            });
            let parser = PossibleValuesParser::new(names.collect::<Vec<_>>());
            return argument.value_parser(parser.map(Value::String));
        }
        argument.value_parser(move |text: &str| self.parse(text))
    }

    fn parse(&self, text: &str) -> Result<Value, String> {
        match &*self.parameter.key {
            "model" if self.kind == RERANK => Ok(text.into()),
            "model" => model(text).map(|_| text.into()),
            "synonym_weight" => synonym_weight(text).map(|weight| shortest(weight).into()),
            "qrels" if text.is_empty() || text == "qrels:" => Err(format!(
                "expected feedback, qrels:FILE or a file, found {text:?}"
            )),
            _ => self.parameter.parse(text),
        }
    }
}

/// Built-in types of systems. A registry computes the schema of a type once.
pub(super) static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);

/// Parameters of a type of systems.
fn parameters(kind: &str) -> Vec<Parameter> {
    let found = REGISTRY.types().find(|known| known.name() == kind);
    found.map(SystemType::parameters).unwrap_or_default()
}

/// Help text of an option that sets a key of a type.
#[cfg(feature = "dense")]
pub(crate) fn key_help(kind: &str, key: &str) -> String {
    let parameters = parameters(kind);
    let parameter = parameters.iter().find(|parameter| parameter.key == key);
    let help = parameter.map(|parameter| option_help(&parameter.description));
    let help = help.unwrap_or_default();
    // A flag has no default.
    help.trim_end_matches(" [default: false]").to_owned()
}

/// Description of a key with forms of its option before the default.
fn with_forms(description: &str, forms: &str) -> String {
    match description.rsplit_once("Default: ") {
        Some((effect, default)) => format!("{} {forms} Default: {default}", effect.trim_end()),
        None => format!("{description} {forms}"),
    }
}

/// Description of a key or value in the spelling of options.
fn in_options(description: &str) -> String {
    let spellings = SPELLINGS.iter();
    let text = spellings.fold(description.to_owned(), |text, (key, option)| {
        text.replace(key, option)
    });
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.to_owned(),
        _ => value_in_options(part).unwrap_or_else(|| format!("`{part}`")),
    });
    parts.collect()
}

/// A table or list as an option takes it: `title=2.0` for `{ title = 2.0 }`, `1,2` for `[1, 2]`.
fn value_in_options(value: &str) -> Option<String> {
    let table = value
        .strip_prefix("{ ")
        .and_then(|it| it.strip_suffix(" }"));
    let list = value.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    Some(table.or(list)?.replace(' ', ""))
}

/// Help text of an option from the description of a key.
fn option_help(description: &str) -> String {
    let text = in_options(description);
    let text = text.trim().trim_end_matches('.');
    match text.rsplit_once("Default: ") {
        Some((effect, default)) => format!("{}[default: {default}]", effect),
        None => text.to_owned(),
    }
    .replace(". [default", " [default")
}

/// Type and parameters of `NAME` or `NAME(PARAMETER=VALUE,...)`.
pub(super) fn model(text: &str) -> Result<(&'static str, Table), String> {
    let text = text.trim();
    let (name, given) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => {
            let given = rest.strip_suffix(')');
            let expected = || format!("expected NAME(PARAMETER=VALUE,...), found {text:?}");
            (name.trim(), given.ok_or_else(expected)?)
        }
    };
    let kind = if name == RANDOM_INDEXING {
        RANDOM_INDEXING
    } else {
        BM25
    };
    let mut table = Table::new();
    if kind == BM25 {
        let found = NamedModel::find(name).map_err(|error| {
            let lower = name.to_lowercase().replace(['-', '_', ' '], "");
            if ["ri", "rri", "randomindexing", "reflectiverandomindexing"].contains(&&*lower) {
                return format!(
                    "{error}; random indexing is random-indexing, with reflections \
                     random-indexing(reflections=1)"
                );
            }
            error.to_string()
        })?;
        if found.name != BM25 {
            table.insert("model".to_owned(), found.name.into());
        }
    }
    let parameters = parameters(kind);
    for item in given.split(',').filter(|_| !given.trim().is_empty()) {
        let pair = item.split_once('=');
        let (name, value) =
            pair.ok_or_else(|| format!("expected PARAMETER=VALUE, found {item:?}"))?;
        let name = name.trim();
        let known = || parameters.iter().map(|known| known.key.as_str());
        let Some(parameter) = parameters.iter().find(|known| known.key == name) else {
            let hint = crate::shared::suggest::did_you_mean(name, known());
            let known = known().collect::<Vec<_>>().join(", ");
            return Err(format!("expected one of {known}, found {name:?}{hint}"));
        };
        let value = parameter
            .parse(value.trim())
            .map_err(|error| format!("{name}: {error}"))?;
        if table.insert(name.to_owned(), value).is_some() {
            return Err(format!("{name}: expected one value, found two"));
        }
    }
    Ok((kind, table))
}

/// Weight of synonyms: a number, or a ratio such as `1:5`.
fn synonym_weight(text: &str) -> Result<f32, String> {
    let number = |text: &str| non_negative::<f32>(text).ok();
    let weight = match text.split_once(':') {
        None => number(text),
        Some((synonyms, words)) => number(synonyms)
            .zip(number(words))
            .map(|(synonyms, words)| synonyms / words)
            .filter(|weight| weight.is_finite()),
    };
    weight.ok_or_else(|| {
        format!("expected a number of at least 0 or a ratio such as 1:5, found {text:?}")
    })
}

/// Value of an option that is given several times: a list or a table goes on.
pub(super) fn appended(first: Value, next: Value) -> Result<Value, String> {
    match (first, next) {
        (Value::Array(mut list), Value::Array(more)) => {
            list.extend(more);
            Ok(list.into())
        }
        (Value::Table(mut table), Value::Table(more)) => {
            for (name, value) in more {
                if table.insert(name.clone(), value).is_some() {
                    return Err(format!("expected each field once, found {name:?} twice"));
                }
            }
            Ok(table.into())
        }
        (_, next) => Ok(next),
    }
}

/// Number with the shortest decimal text of a single-precision number.
pub(crate) fn shortest(value: f32) -> f64 {
    value
        .to_string()
        .parse()
        .unwrap_or_else(|_| f64::from(value))
}
