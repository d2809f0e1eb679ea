//! Measures as values.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use ir_core::Grade;
use serde::{Deserialize, Serialize};

use crate::custom::Name;
use crate::kind::Kind;
use crate::names::{self, ParseMeasureError};
use crate::{Decimal, Gain};

/// What is measured: a formula, its parameters, the relevance level, the cut-off.
///
/// A measure is a small value. It can be a constant, a key of a map, a field of a configuration;
/// it is printed and read in the spelling of ir_measures, and read in that of trec_eval:
///
/// ```
/// use ir_eval::Measure;
/// const HEADLINE: [Measure; 3] = [Measure::NDCG.at(10), Measure::RR.at(10), Measure::R.at(1000)];
///
/// let measure: Measure = "P(rel=2)@5".parse()?;
/// assert_eq!(measure, Measure::P.at(5).rel(2));
/// assert_eq!("ndcg_cut_10".parse::<Measure>()?, HEADLINE[0]);
/// assert_eq!(HEADLINE[0].to_string(), "nDCG@10");
/// assert_eq!(HEADLINE[0].trec_name(), Some("ndcg_cut_10".to_owned()));
/// # Ok::<(), ir_eval::ParseMeasureError>(())
/// ```
///
/// # Cut-off
/// With a cut-off k the formula sees the first k documents only. Precision divides by k even where
/// fewer were retrieved, and nDCG's ideal list is cut too.
///
/// # Relevance level
/// A document is relevant when its grade reaches the level: that of the measure
/// ([`Measure::rel`]) or else the one in the [`Rules`](crate::Rules), which is 1 unless changed.
/// Measures that go by gain ignore it.
///
/// # Judged documents only
/// [`Measure::judged_only`] takes unjudged documents out of the list first, for this measure alone:
/// ir_measures' `nDCG(judged_only=True)@10`. [`Unjudged::Remove`](crate::Unjudged::Remove) does it
/// for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Measure {
    pub(crate) kind: Kind,
    pub(crate) rel: Option<Grade>,
    pub(crate) cutoff: Option<NonZeroU32>,
    pub(crate) judged_only: bool,
}

/// How the values of single queries become one.
///
/// In text: `mean`, `sum`, `geometric`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Summary {
    /// The arithmetic mean.
    Mean,
    /// The sum: counts.
    Sum,
    /// exp of the mean of the natural logarithms, each value taken as at least 0.00001.
    GeometricMean,
}

impl Summary {
    /// The value below which a geometric mean takes no account of differences.
    pub const LEAST: f64 = 1e-5;

    /// One value of many; NaN of none.
    #[must_use]
    pub fn of(self, values: impl Iterator<Item = f64>) -> f64 {
        let (mut sum, mut count) = (0.0, 0_u64);
        for value in values {
            sum += match self {
                Self::Mean | Self::Sum => value,
                Self::GeometricMean => value.max(Self::LEAST).ln(),
            };
            count += 1;
        }
        match self {
            Self::Sum => sum,
            Self::Mean => sum / count as f64,
            Self::GeometricMean => (sum / count as f64).exp(),
        }
    }
}

impl Measure {
    /// Precision; [`Kind::P`].
    pub const P: Self = Self::of(Kind::P);
    /// Recall; [`Kind::R`].
    pub const R: Self = Self::of(Kind::R);
    /// Success; [`Kind::Success`].
    pub const SUCCESS: Self = Self::of(Kind::Success);
    /// Reciprocal rank; [`Kind::RR`].
    pub const RR: Self = Self::of(Kind::RR);
    /// Average precision; [`Kind::AP`].
    pub const AP: Self = Self::of(Kind::AP);
    /// Precision after R documents; [`Kind::Rprec`].
    pub const RPREC: Self = Self::of(Kind::Rprec {
        multiple: Decimal::ONE,
    });
    /// Binary preference; [`Kind::Bpref`].
    pub const BPREF: Self = Self::of(Kind::Bpref);
    /// Inferred average precision; [`Kind::InfAP`].
    pub const INF_AP: Self = Self::of(Kind::InfAP);
    /// Normalised discounted cumulated gain, linear; [`Kind::NDCG`].
    pub const NDCG: Self = Self::of(Kind::NDCG { gain: Gain::Linear });
    /// Normalised discounted cumulated gain, exponential; [`Kind::NDCG`].
    pub const NDCG_EXP: Self = Self::of(Kind::NDCG {
        gain: Gain::Exponential,
    });
    /// The share of judged documents; [`Kind::Judged`].
    pub const JUDGED: Self = Self::of(Kind::Judged);
    /// The number of queries; [`Kind::NumQ`].
    pub const NUM_Q: Self = Self::of(Kind::NumQ);
    /// The number of documents retrieved; [`Kind::NumRet`].
    pub const NUM_RET: Self = Self::of(Kind::NumRet);
    /// The number of relevant documents; [`Kind::NumRel`].
    pub const NUM_REL: Self = Self::of(Kind::NumRel);
    /// The number of relevant documents retrieved; [`Kind::NumRelRet`].
    pub const NUM_REL_RET: Self = Self::of(Kind::NumRelRet);

    /// A measure by its formula, over whole lists, at the relevance level of the rules.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self {
            kind,
            rel: None,
            cutoff: None,
            judged_only: false,
        }
    }

    /// The measure over the first `k` documents. Measures that have no cut-off
    /// ([`Kind::takes_cutoff`]) stay as they are.
    ///
    /// # Panics
    /// When `k` is 0. Cut-offs that come from outside are best read with the measure's text, which
    /// gives an error instead.
    #[must_use]
    pub const fn at(mut self, k: u32) -> Self {
        assert!(k > 0, "a cut-off is at least 1");
        if self.kind.takes_cutoff() {
            self.cutoff = NonZeroU32::new(k);
        }
        self
    }

    /// The measure with documents relevant from grade `level` on. Measures that go by gain
    /// ([`Kind::takes_level`]) stay as they are.
    #[must_use]
    pub const fn rel(mut self, level: Grade) -> Self {
        if self.kind.takes_level() {
            self.rel = Some(level);
        }
        self
    }

    /// The measure over the judged documents of a list, as if the others had not been retrieved.
    /// Measures that ask for unjudged documents ([`Kind::takes_judged_only`]) stay as they are.
    #[must_use]
    pub const fn judged_only(mut self) -> Self {
        self.judged_only = self.kind.takes_judged_only();
        self
    }

    /// The measure of your own that is called `name`; `None` when no measure can be called so: see
    /// [`Name::new`]. What it computes, an evaluator is told by
    /// [`Evaluator::with`](crate::Evaluator::with).
    #[must_use]
    pub fn custom(name: &str, summary: Summary) -> Option<Self> {
        let name = Name::new(name)?;
        Some(Self::of(Kind::Custom { name, summary }))
    }

    /// The formula.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The relevance level of its own, if it has one.
    #[must_use]
    pub const fn level(&self) -> Option<Grade> {
        self.rel
    }

    /// The cut-off, if it has one.
    #[must_use]
    pub const fn cutoff(&self) -> Option<u32> {
        match self.cutoff {
            Some(k) => Some(k.get()),
            None => None,
        }
    }

    /// How its values over queries become one.
    #[must_use]
    pub const fn summary(&self) -> Summary {
        match self.kind {
            Kind::NumQ
            | Kind::NumRet
            | Kind::NumRel
            | Kind::NumRelRet
            | Kind::NumNonRelJudgedRet
            | Kind::InfNumRel
            | Kind::InfNumRelRet => Summary::Sum,
            Kind::GeometricAP | Kind::GeometricBpref => Summary::GeometricMean,
            Kind::Custom { summary, .. } => summary,
            _ => Summary::Mean,
        }
    }

    /// Whether its values are whole numbers.
    #[must_use]
    pub const fn is_count(&self) -> bool {
        matches!(
            self.kind,
            Kind::NumQ | Kind::NumRet | Kind::NumRel | Kind::NumRelRet | Kind::NumNonRelJudgedRet
        )
    }

    /// trec_eval's name, as it stands in its output; `None` when trec_eval does not have the
    /// measure (a cut-off on `bpref`, a relevance level of its own, exponential gains).
    #[must_use]
    pub fn trec_name(&self) -> Option<String> {
        names::trec_name(self)
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&names::text(self))
    }
}

impl FromStr for Measure {
    type Err = ParseMeasureError;

    /// Reads ir_measures' spelling (`nDCG@10`, `P(rel=2)@5`) and trec_eval's, both as it is
    /// written in its output (`P_5`) and on its command line (`P.5`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        names::parse(text)
    }
}

impl Serialize for Measure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Measure {
    /// Reads what [`FromStr`] reads, and takes every other possible name for that of a measure of
    /// one's own ([`Kind::Custom`]): an evaluator that has no such measure refuses it.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        names::parse_any(&text).map_err(serde::de::Error::custom)
    }
}
