//! Scoring models by name.

use std::collections::HashSet;
use std::str::FromStr;

use super::bm25_f::{self, Bm25F};
use super::model::Model;
use super::named_model::NamedModel;
use super::parameter::PARAMETERS;
use super::{
    atire, bm25_l, bm25_plus, classic_tf_idf, dfr, dirichlet, indri_dirichlet,
    indri_jelinek_mercer, indri_tf_idf, jelinek_mercer, pivoted_length, robertson, terrier_tf_idf,
    two_stage,
};
use crate::{Bm25, DocLengths, SearcherError};

/// All models by name.
pub static NAMED_MODELS: &[NamedModel] = &[
    BM25,
    atire::NAMED,
    robertson::NAMED,
    bm25_plus::NAMED,
    bm25_l::NAMED,
    BM25F,
    dirichlet::NAMED,
    jelinek_mercer::NAMED,
    indri_dirichlet::NAMED,
    indri_jelinek_mercer::NAMED,
    two_stage::NAMED,
    dfr::pl2::NAMED,
    dfr::in_l2::NAMED,
    dfr::in_exp_b2::NAMED,
    dfr::bb2::NAMED,
    dfr::dph::NAMED,
    dfr::dlh13::NAMED,
    dfr::df_ree::NAMED,
    classic_tf_idf::NAMED,
    terrier_tf_idf::NAMED,
    indri_tf_idf::NAMED,
    pivoted_length::NAMED,
];

const BM25: NamedModel = NamedModel {
    name: "bm25",
    aliases: &["lucene"],
    description: "BM25 as Lucene computes it",
    parameters: PARAMETERS,
    lengths: DocLengths::OneByte,
    build: |values, lengths| Bm25::new(values[0], values[1]).with_lengths(lengths).into(),
};

const BM25F: NamedModel = NamedModel {
    name: bm25_f::NAME,
    aliases: &[],
    description: "BM25F: BM25 over weighted fields",
    parameters: PARAMETERS,
    lengths: DocLengths::OneByte,
    build: |values, lengths| {
        let model = Bm25F::new(values[0], values[1]);
        Bm25F { lengths, ..model }.into()
    },
};

impl NamedModel {
    /// Returns the model of a name or alias. Ignores case, hyphens and underscores.
    ///
    /// # Errors
    /// [`SearcherError::UnknownModel`] suggests the nearest name; [`SearcherError::AmbiguousModel`]
    /// is the error of `TF_IDF`, which is Terrier's name of another model than `tfidf`.
    pub fn find(name: &str) -> Result<&'static Self, SearcherError> {
        if name.eq_ignore_ascii_case("TF_IDF") {
            return Err(SearcherError::AmbiguousModel {
                models: [terrier_tf_idf::NAMED, classic_tf_idf::NAMED]
                    .map(|model| (model.name, model.description))
                    .into(),
                found: name.to_owned(),
            });
        }
        let wanted = normalized(name);
        let found = NAMED_MODELS
            .iter()
            .find(|model| model.names().any(|name| normalized(name) == wanted));
        found.ok_or_else(|| {
            let names = || NAMED_MODELS.iter().flat_map(Self::names);
            SearcherError::UnknownModel {
                expected: NAMED_MODELS.iter().map(|model| model.name).collect(),
                nearest: nearest(&wanted, names()),
                found: name.to_owned(),
            }
        })
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Creates the model with parameters in place of the defaults. [`Bm25F`](super::Bm25F) also has
    /// `weight.FIELD` and `b.FIELD` of each field.
    ///
    /// # Errors
    /// When a parameter is unknown or out of range.
    pub fn with_parameters(
        &self,
        parameters: &[(&str, f32)],
        lengths: Option<DocLengths>,
    ) -> Result<Model, SearcherError> {
        let mut values = self.defaults();
        let mut of_fields = Vec::new();
        for &(name, value) in parameters {
            match self.parameters.iter().position(|known| known.name == name) {
                Some(at) => values[at] = value,
                None => of_fields.push((name, value)),
            }
        }
        self.check(&values)?;
        let mut model = (self.build)(&values, lengths.unwrap_or(self.lengths));
        for (name, value) in of_fields {
            if !model.set_field_parameter(name, value) {
                let known = self.parameters.iter().map(|known| known.name);
                let of_fields = model.field_parameters().iter().copied();
                return Err(self.unknown_parameter(name, known.chain(of_fields).collect()));
            }
        }
        model.validate()?;
        Ok(model)
    }

    /// The error of a parameter that is not among the `expected` ones, with the nearest of them.
    fn unknown_parameter(&self, found: &str, expected: Vec<&'static str>) -> SearcherError {
        let wanted = normalized(found);
        let near = nearest(&wanted, expected.iter().copied());
        // Names of one letter are all near to each other: a hint shares a letter with the text.
        let shares = |name: &&'static str| name.chars().any(|c| wanted.contains(c));
        SearcherError::UnknownModelParameter {
            model: self.name,
            nearest: near.filter(shares),
            expected,
            found: found.to_owned(),
        }
    }
}

impl Model {
    /// Creates a model by name, with parameters by name in place of the defaults. `lengths`:
    /// precision of the document lengths; [`None`] is the default of the model.
    ///
    /// ```
    /// use ir_bm25::Model;
    /// let model = Model::named("qljm", &[("lambda", 0.5)], None)?;
    /// assert_eq!(model.to_string(), "qljm(lambda=0.5,lengths=one-byte)");
    /// let wrong = Model::named("qljm", &[("mu", 1000.0)], None).unwrap_err();
    /// assert_eq!(wrong.to_string(), "expected a parameter of qljm (lambda), found \"mu\"");
    /// # Ok::<(), ir_bm25::SearcherError>(())
    /// ```
    ///
    /// # Errors
    /// When the model or a parameter is unknown, or a parameter is out of range.
    pub fn named(
        name: &str,
        parameters: &[(&str, f32)],
        lengths: Option<DocLengths>,
    ) -> Result<Self, SearcherError> {
        NamedModel::find(name)?.with_parameters(parameters, lengths)
    }
}

impl FromStr for Model {
    type Err = SearcherError;

    fn from_str(text: &str) -> Result<Self, SearcherError> {
        let malformed = || SearcherError::ModelSyntax {
            found: text.to_owned(),
        };
        let Some((name, rest)) = text.split_once('(') else {
            return Self::named(text.trim(), &[], None);
        };
        let list = rest.trim_end().strip_suffix(')').ok_or_else(malformed)?;
        let mut parameters = Vec::new();
        let mut lengths = None;
        for item in list.split(',').filter(|item| !item.trim().is_empty()) {
            let (name, value) = item.split_once('=').ok_or_else(malformed)?;
            match (name.trim(), value.trim()) {
                ("lengths", value) => {
                    lengths = Some(parse_lengths(value).ok_or_else(malformed)?);
                }
                (name, value) => {
                    parameters.push((name, value.parse().map_err(|_| malformed())?));
                }
            }
        }
        let mut known = HashSet::new();
        if let Some((repeated, _)) = parameters.iter().find(|(name, _)| !known.insert(*name)) {
            return Err(SearcherError::RepeatedModelParameter {
                found: (*repeated).to_owned(),
            });
        }
        Self::named(name.trim(), &parameters, lengths)
    }
}

fn parse_lengths(text: &str) -> Option<DocLengths> {
    let all = [DocLengths::OneByte, DocLengths::Exact];
    all.into_iter().find(|lengths| lengths.name() == text)
}

pub(crate) fn normalized(name: &str) -> String {
    let kept = name.chars().filter(|c| !['-', '_'].contains(c));
    kept.flat_map(char::to_lowercase).collect()
}

/// The known name with the smallest edit distance from a normalized one, if that is small.
pub(crate) fn nearest(
    found: &str,
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    const LONGEST: usize = 100;
    if found.len() > LONGEST {
        return None;
    }
    let distance = |name: &str| strsim::damerau_levenshtein(found, &normalized(name));
    let near = known.map(|name| (distance(name), name));
    let (distance, name) = near.min_by_key(|near| near.0)?;
    (3 * distance <= found.chars().count().max(3)).then_some(name)
}
