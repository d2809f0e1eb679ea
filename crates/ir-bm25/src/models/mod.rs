//! Scoring models: BM25 and its variants, query likelihood, divergence from randomness, TF-IDF.
//!
//! A [`ScoringModel`] holds parameters. For each query term it makes a [`TermScorer`] from the
//! statistics of the term, and the score of a document is the sum of its term scores, in double
//! precision, rounded to single once. Query likelihood of Indri adds a summand of the document, by
//! a [`DocumentScorer`]. Each model is one file: parameters, formula, source and a worked example.
//! A model of your own has the same rights: pass it to
//! [`Index::searcher`](crate::Index::searcher).
//!
//! [`NAMED_MODELS`] lists them with names, descriptions and parameters; each type states its name.
//! [`Model`] is any of them as a value, also by name:
//!
//! ```
//! use ir_bm25::{Index, IndexConfig, Model};
//! use ir_core::{Document, NoProgress, Retriever, Search};
//!
//! let documents = vec![
//!     Document::new("a").with_text("green tea, black tea"),
//!     Document::new("b").with_text("black coffee"),
//! ];
//! let index = Index::build(&documents, &IndexConfig::default(), &mut NoProgress)?;
//! let model: Model = "qld(mu=100)".parse()?;
//! let ranking = index.searcher(model)?.search("black tea", &Search::top(10))?;
//! assert_eq!(index.ids().id(ranking.hits()[0].doc), "a");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Defines a named model: the struct, its constructors, its [`ScoringModel`] and the constant
/// `NAMED`. Parameters are fields with their [`Parameter`]. `new` takes some of them. `scorer` is
/// the [`TermScorer`] of a term, `smoothing` the [`Smoothing`](likelihood::Smoothing) of a
/// language model.
macro_rules! define_model {
    (
        $(#[$attribute:meta])*
        pub struct $model:ident $(, new($($argument:ident),+))? {
            lengths: $lengths:ident,
            $($(#[$doc:meta])* $field:ident: $parameter:expr,)*
        }
        name: $name:literal,
        aliases: [$($alias:literal),*],
        description: $description:literal,
        $method:ident: |$this:ident $(, $term:ident)?| $value:expr,
    ) => {
        $(#[$attribute])*
        ///
        /// # Name
        #[doc = concat!("`", $name, "`, in [`NAMED_MODELS`](crate::models::NAMED_MODELS).")]
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub struct $model {
            $($(#[$doc])* pub $field: f32,)*
            #[doc = concat!(
                "Precision of document lengths. Default: [`DocLengths::", stringify!($lengths),
                "`](crate::DocLengths::", stringify!($lengths), ")."
            )]
            pub lengths: $crate::DocLengths,
        }

        impl $model {
            const DEFAULT: Self = Self {
                $($field: $parameter.default,)*
                lengths: $crate::DocLengths::$lengths,
            };

            $(
                /// Creates the model with these parameters and the defaults of its other fields.
                #[must_use]
                pub const fn new($($argument: f32),+) -> Self {
                    Self { $($argument,)+ ..Self::DEFAULT }
                }
            )?

            fn values(&self) -> Vec<f32> {
                vec![$(self.$field),*]
            }
        }

        impl Default for $model {
            fn default() -> Self {
                Self::DEFAULT
            }
        }

        pub(in crate::models) const NAMED: $crate::models::NamedModel = $crate::models::NamedModel {
            name: $name,
            aliases: &[$($alias),*],
            description: $description,
            parameters: &[$($parameter),*],
            lengths: $model::DEFAULT.lengths,
            build: |values, lengths| match *values {
                [$($field),*] => $model { $($field,)* lengths }.into(),
                _ => $model::DEFAULT.into(),
            },
        };

        impl $crate::models::ScoringModel for $model {
            fn name(&self) -> String {
                NAMED.display(&self.values(), self.lengths)
            }

            fn lengths(&self) -> $crate::DocLengths {
                self.lengths
            }

            fn validate(&self) -> Result<(), $crate::SearcherError> {
                NAMED.check(&self.values())
            }

            scorer_methods!($method: |$this $(, $term)?| $value);
        }
    };
}

/// The methods of [`ScoringModel`] for a model of [`define_model`] that make scorers.
macro_rules! scorer_methods {
    (scorer: |$this:ident, $term:ident| $value:expr) => {
        fn term_scorer(
            &self,
            $term: &$crate::models::TermStatistics,
        ) -> Box<dyn $crate::models::TermScorer> {
            let $this = self;
            Box::new($value)
        }
    };
    (smoothing: |$this:ident| $value:expr) => {
        fn term_scorer(
            &self,
            term: &$crate::models::TermStatistics,
        ) -> Box<dyn $crate::models::TermScorer> {
            let $this = self;
            $value.term_scorer(term)
        }

        fn document_scorer(
            &self,
            query: &[$crate::models::TermStatistics],
        ) -> Option<Box<dyn $crate::models::DocumentScorer>> {
            let $this = self;
            Some($value.document_scorer(query))
        }

        fn window_statistics(&self) -> $crate::models::WindowStatistics {
            $crate::models::WindowStatistics::Matches
        }
    };
}

mod atire;
mod bm25;
mod bm25_f;
mod bm25_l;
mod bm25_plus;
mod classic_tf_idf;
mod dfr;
mod dirichlet;
mod indri_dirichlet;
mod indri_jelinek_mercer;
mod indri_tf_idf;
mod jelinek_mercer;
mod likelihood;
mod model;
mod named;
mod named_model;
mod okapi;
mod parameter;
mod pivoted_length;
mod robertson;
mod scoring_model;
mod terrier_tf_idf;
mod two_stage;

pub use atire::Atire;
pub use bm25::{Bm25, DocLengths};
pub use bm25_f::{Bm25F, FieldParameters};
pub use bm25_l::Bm25L;
pub use bm25_plus::Bm25Plus;
pub use classic_tf_idf::ClassicTfIdf;
pub use dfr::{Bb2, DfRee, Dlh13, Dph, InExpB2, InL2, Pl2};
pub use dirichlet::Dirichlet;
pub use indri_dirichlet::IndriDirichlet;
pub use indri_jelinek_mercer::IndriJelinekMercer;
pub use indri_tf_idf::IndriTfIdf;
pub use jelinek_mercer::JelinekMercer;
pub use model::Model;
pub(crate) use model::ModelKind;
pub use named::NAMED_MODELS;
pub(crate) use named::{nearest, normalized};
pub use named_model::NamedModel;
pub use parameter::{Parameter, ParameterRange};
pub use pivoted_length::PivotedLength;
pub use robertson::Robertson;
pub(crate) use scoring_model::BOOST;
pub use scoring_model::{
    DocumentScorer, ScoringModel, TermBound, TermScorer, TermStatistics, WindowStatistics,
};
pub use terrier_tf_idf::TerrierTfIdf;
pub use two_stage::TwoStage;
