//! Measures as values.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use ir_core::Grade;
use serde::{Deserialize, Serialize};

use crate::names::{self, ParseMeasureError};
use crate::{Decimal, Gain, Points};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Measure {
    pub(crate) kind: Kind,
    pub(crate) rel: Option<Grade>,
    pub(crate) cutoff: Option<NonZeroU32>,
}

/// The formula of a [`Measure`], with the parameters that belong to it alone.
///
/// The symbols: n documents were retrieved, R are relevant, g(i) is the gain of the document at
/// rank i = 1, 2, …, rel(i) is 1 when it is relevant and else 0, and hits(k) = Σ rel(i) over the
/// first k ranks. A quotient whose divisor is 0 is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Precision: hits(k) / k, or hits(n) / n without a cut-off. `P@5`, `SetP`; trec_eval `P_5`,
    /// `set_P`.
    P,
    /// Recall: hits(k) / R. `R@100`, `SetR`; `recall_100`, `set_recall`.
    R,
    /// Relative precision: hits(k) / min(k, R), the share of what could be found at that depth.
    /// `SetP(relative=True)`; `relative_P_5`, `set_relative_P`.
    RelativeP,
    /// Success: 1 when a relevant document is found. `Success@1`; `success_1`.
    Success,
    /// Reciprocal rank: 1 / rank of the first relevant document. `RR`, `RR@10`; `recip_rank`.
    ///
    /// Voorhees, "The TREC-8 question answering track report", TREC 1999.
    RR,
    /// Average precision: (1/R) · Σ rel(i) · hits(i) / i. `AP`, `AP@100`; `map`, `map_cut_100`.
    ///
    /// Buckley and Voorhees, "Retrieval system evaluation", in *TREC: Experiment and Evaluation in
    /// Information Retrieval*, MIT Press 2005.
    AP,
    /// Average precision, summarised over queries by the geometric mean, values below 0.00001
    /// counted as that. `GMAP`; `gm_map`.
    ///
    /// Robertson, "On GMAP: and other transformations", CIKM 2006.
    GeometricAP,
    /// hits(n)² / (n · R). `SetAP`; `set_map`.
    SetAP,
    /// (x + 1) · P · R / (R + x · P), of set precision and recall; x is the weight of recall.
    /// `SetF`, `SetF(beta=0.5)`; `set_F`.
    ///
    /// After van Rijsbergen, *Information Retrieval*, 1979, whose β² is x.
    SetF {
        /// x.
        weight: Decimal,
    },
    /// Precision at a multiple of R: of the first ⌊mR + 0.9⌋ documents. `Rprec`,
    /// `Rprec(mult=0.5)`; `Rprec`, `Rprec_mult_0.50`.
    Rprec {
        /// m.
        multiple: Decimal,
    },
    /// Binary preference: (1/R) · Σ over relevant documents of 1 − min(m, R) / min(N, R), with m
    /// judged non-relevant documents above it and N in all. `Bpref`; `bpref`.
    ///
    /// Buckley and Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004.
    Bpref,
    /// Binary preference, summarised by the geometric mean like [`Kind::GeometricAP`].
    /// `GMBpref`; `gm_bpref`.
    GeometricBpref,
    /// Inferred average precision, for pools of which a sample was judged; pooled documents that
    /// were not judged have a negative grade. `infAP`; `infAP`.
    ///
    /// Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments",
    /// CIKM 2006.
    InfAP,
    /// Interpolated precision: the best precision from the rank on where the share `recall` of the
    /// relevant documents has been found. `IPrec@0.1`; `iprec_at_recall_0.10`.
    IPrec {
        /// The share of the relevant documents, 0 to 1.
        recall: Decimal,
    },
    /// The mean of interpolated precision over recall points. `IPrecAvg`; `11pt_avg`.
    IPrecMean {
        /// The recall points.
        points: Points,
    },
    /// Normalised discounted cumulated gain: DCG / IDCG. `nDCG`, `nDCG@10`,
    /// `nDCG(dcg=exp-log2)@10`; `ndcg`, `ndcg_cut_10`.
    ///
    /// Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002.
    NDCG {
        /// The gain of a grade.
        gain: Gain,
    },
    /// Discounted cumulated gain: Σ g(i) / log₂(i + 1). `DCG`; `dcg`.
    DCG {
        /// The gain of a grade.
        gain: Gain,
    },
    /// The DCG of an ideal list: all judged documents by falling gain. `IDCG`; `ideal_dcg`.
    IDCG {
        /// The gain of a grade.
        gain: Gain,
    },
    /// nDCG at the rank of each relevant document, averaged over them; one not retrieved counts
    /// with the final DCG. Experimental in trec_eval. `nDCGrel`; `ndcg_rel`.
    NDCGRel {
        /// The gain of a grade.
        gain: Gain,
    },
    /// nDCG at the ranks where the ideal list changes its gain, and at the end, averaged.
    /// Experimental in trec_eval. `Rndcg`; `Rndcg`.
    RNDCG {
        /// The gain of a grade.
        gain: Gain,
    },
    /// Normalised gain: Σ g(i) / log₂(2 + c(i) − s(i)) over the sum of the ideal gains, with s the
    /// gain so far and c the gain (at least 1 a rank) an ideal list would have. Experimental in
    /// trec_eval. `G`; `G`.
    G {
        /// The gain of a grade.
        gain: Gain,
    },
    /// Binary normalised gain: (1/R) · Σ rel(i) / log₂(2 + i − hits(i)). `binG`; `binG`.
    BinG,
    /// ln((1 + S) / (1 + R − S)) with S = Σ rel(i) · hits(i) / i. `YAAP`; `yaap`.
    ///
    /// Robertson, "On smoothing average precision", ECIR 2012.
    Yaap,
    /// Rank-biased precision: (1 − p) · Σ g(i) · p^(i−1). `RBP(p=0.8)`; trec_eval's `rbp` is
    /// `RBP(p=0.9,gain=graded)`.
    ///
    /// Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness",
    /// ACM TOIS 2008.
    RBP {
        /// The chance p that a reader goes on to the next document.
        persistence: Decimal,
        /// What a document is worth.
        gain: RbpGain,
    },
    /// What documents without a judgment could add to [`Kind::RBP`]: p^n + (1 − p) · Σ p^(i−1) over
    /// them; 0 when every retrieved document is judged (trec_eval's definition).
    /// `RBPResidual(p=0.9)`; `rbp_resid`.
    RBPResidual {
        /// The chance p that a reader goes on to the next document.
        persistence: Decimal,
    },
    /// Linear utility: a · hits + b · (n − hits) + c · (R − hits) + d · (rest of the collection,
    /// whose size is in the [`Rules`](crate::Rules)). `Utility(a=1,b=-1,c=0,d=0)`; `utility`.
    Utility {
        /// The worth of a relevant document retrieved, another one retrieved, a relevant one
        /// missed, another one left out.
        worth: [Decimal; 4],
    },
    /// The share of the retrieved documents that have a line in the qrels: of min(k, n).
    /// `Judged@10`.
    Judged,
    /// Documents without a judgment, or with a negative one, in the first k, over k. `Unjudged@10`;
    /// `unj_10`.
    Unjudged,
    /// Queries: 1 each, summed. `NumQ`; `num_q`.
    NumQ,
    /// Documents retrieved, summed over queries. `NumRet`; `num_ret`.
    NumRet,
    /// Relevant documents in the qrels, summed over queries. `NumRel`; `num_rel`.
    NumRel,
    /// Relevant documents retrieved, summed over queries. `NumRelRet`; `num_rel_ret`.
    NumRelRet,
    /// Documents retrieved that are judged and not relevant, summed over queries.
    /// `NumNonRelJudgedRet`; `num_nonrel_judged_ret`.
    NumNonRelJudgedRet,
}

/// What a document is worth to [`Kind::RBP`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum RbpGain {
    /// 1 when relevant, else 0.
    #[default]
    Binary,
    /// Its grade over the highest grade of the query where that exceeds 1, else the grade. What
    /// trec_eval documents; its program starts the search for the highest grade from memory that
    /// nothing initialised.
    Graded,
}

/// How the values of single queries become one.
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
            | Kind::NumNonRelJudgedRet => Summary::Sum,
            Kind::GeometricAP | Kind::GeometricBpref => Summary::GeometricMean,
            _ => Summary::Mean,
        }
    }

    /// trec_eval's name, as it stands in its output; `None` when trec_eval does not have the
    /// measure (a cut-off on `bpref`, a relevance level of its own, exponential gains).
    #[must_use]
    pub fn trec_name(&self) -> Option<String> {
        names::trec_name(self)
    }
}

impl Kind {
    /// Whether a cut-off makes sense: not for interpolated precision, whose `@` is a recall,
    /// for measures of sets, and for what does not depend on the ranking.
    #[must_use]
    pub const fn takes_cutoff(&self) -> bool {
        !matches!(
            self,
            Self::IPrec { .. }
                | Self::IPrecMean { .. }
                | Self::SetAP
                | Self::SetF { .. }
                | Self::NumQ
                | Self::NumRel
        )
    }

    /// Whether the measure asks if a document is relevant, and so has a relevance level.
    #[must_use]
    pub const fn takes_level(&self) -> bool {
        match self {
            Self::NDCG { .. }
            | Self::DCG { .. }
            | Self::IDCG { .. }
            | Self::NDCGRel { .. }
            | Self::G { .. }
            | Self::RBPResidual { .. }
            | Self::Judged
            | Self::Unjudged
            | Self::NumQ
            | Self::NumRet => false,
            Self::RBP { gain, .. } => matches!(gain, RbpGain::Binary),
            _ => true,
        }
    }

    /// The gains it goes by.
    pub(crate) const fn gain(&self) -> Option<Gain> {
        match self {
            Self::NDCG { gain }
            | Self::DCG { gain }
            | Self::IDCG { gain }
            | Self::NDCGRel { gain }
            | Self::RNDCG { gain }
            | Self::G { gain } => Some(*gain),
            _ => None,
        }
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
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
