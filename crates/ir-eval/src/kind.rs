//! The formulas of measures, and the parameters that belong to them.

use ir_core::Grade;

use crate::custom::Name;
use crate::{Decimal, Gain, Points, Summary};

/// The formula of a [`Measure`](crate::Measure), with the parameters that belong to it alone.
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
    /// `nDCG(dcg='exp-log2')@10`; `ndcg`, `ndcg_cut_10`.
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
    /// them, n being the documents seen. `RBPResidual(p=0.8,full=True)`. trec_eval's `rbp_resid`,
    /// here `RBPResidual(p=0.9)`, is the same, but 0 when every document seen is judged.
    ///
    /// Moffat and Zobel, as above, section 4.
    RBPResidual {
        /// The chance p that a reader goes on to the next document.
        persistence: Decimal,
        /// Whether the documents below the list count when all above are judged, as in the paper.
        full: bool,
    },
    /// Expected reciprocal rank: Σ (1/i) · s(i) · Π (1 − s(j)) over j < i, where
    /// s = (2^grade − 1) / 2^m is the chance that a document ends the search and m is the highest
    /// grade there can be. `ERR@20` (m = 4, as in gdeval), `ERR(max_rel=2)@20`. A judgment above m
    /// is an error.
    ///
    /// Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance",
    /// CIKM 2009.
    ERR {
        /// m, at most 62.
        highest: u8,
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
    /// Average precision inferred from strata of the pool of which a part was judged, as
    /// sample_eval computes it: each stratum is scaled up by its own sampling rate. `xinfAP@1000`;
    /// sample_eval's `infAP`. How the strata are read: [`StratifiedQrels`](ir_core::StratifiedQrels);
    /// plain judgments are one stratum. Like the other measures of the family it looks at the first
    /// k documents only, and sample_eval's k is 1000.
    ///
    /// Yilmaz, Kanoulas and Aslam, "A simple and efficient sampling method for estimating AP and
    /// NDCG", SIGIR 2008.
    XinfAP,
    /// nDCG with linear gains, inferred like [`Kind::XinfAP`]. `infNDCG@1000`. The ideal list has
    /// as many documents of each grade as are estimated to exist, rounded; where those of a grade
    /// end beyond rank k, each lower grade still adds one term, as in sample_eval.
    InfNDCG,
    /// Precision with the number of relevant documents inferred like [`Kind::XinfAP`].
    /// `infP@10`; sample_eval's `iP10`.
    InfP,
    /// Interpolated precision, inferred like [`Kind::XinfAP`], at one of the eleven recalls 0, 0.1,
    /// ..., 1. `infIPrec@0.1`; sample_eval's `iprec@rec0.10`.
    InfIPrec {
        /// The share of the relevant documents, in tenths: 0 to 10.
        tenths: u8,
    },
    /// Relevant documents, estimated like [`Kind::XinfAP`], summed over queries. `infNumRel`;
    /// sample_eval's `inum_rel`.
    InfNumRel,
    /// Relevant documents retrieved, estimated like [`Kind::XinfAP`], summed over queries.
    /// `infNumRelRet@1000`; sample_eval's `inum_rel_ret`.
    InfNumRelRet,
    /// Expected reciprocal rank of a diversity task: Σ ν(i) / i, where the novelty ν(i) of a
    /// document is Σ (1 − α)^c over its subtopics, each covered c times above it; divided by the
    /// sum that a list would reach of which every document is relevant to every subtopic.
    /// `ERR_IA@20`; ndeval's `ERR-IA@20`.
    ///
    /// Needs judgments of subtopics ([`SubtopicQrels`](ir_core::SubtopicQrels)), like the following
    /// eight. Of a subtopic without a relevant document they take no notice.
    ///
    /// Chapelle, Ji, Liao, Velipasaoglu, Lai and Wu, "Intent-based diversification of web search
    /// results: metrics and algorithms", Information Retrieval 2011.
    ErrIA {
        /// How little a document is worth that repeats: α.
        alpha: Decimal,
    },
    /// [`Kind::ErrIA`] over that of an ideal list, which takes the most novel document each time,
    /// of equals the larger id. `nERR_IA@20`; ndeval's `nERR-IA@20`.
    NErrIA {
        /// α.
        alpha: Decimal,
    },
    /// Discounted cumulated novelty: Σ ν(i) / log₂(i + 1), ν and divisor as in [`Kind::ErrIA`].
    /// `alpha_DCG@20`; ndeval's `alpha-DCG@20`.
    AlphaDCG {
        /// α.
        alpha: Decimal,
    },
    /// [`Kind::AlphaDCG`] over that of an ideal list as in [`Kind::NErrIA`]. `alpha_nDCG@20`;
    /// ndeval's `alpha-nDCG@20`.
    ///
    /// Clarke, Kolla, Cormack, Vechtomova, Ashkan, Büttcher and MacKinnon, "Novelty and diversity
    /// in information retrieval evaluation", SIGIR 2008.
    AlphaNDCG {
        /// α.
        alpha: Decimal,
    },
    /// Novelty- and rank-biased precision: Σ ν(i) · β^(i−1), times (1 − (1 − α) · β) over the number
    /// of subtopics. `NRBP`.
    ///
    /// Clarke, Kolla and Vechtomova, "An effectiveness measure for ambiguous and underspecified
    /// queries", ICTIR 2009.
    NRBP {
        /// α.
        alpha: Decimal,
        /// The chance β that a reader goes on to the next document.
        beta: Decimal,
    },
    /// [`Kind::NRBP`] over that of an ideal list as in [`Kind::NErrIA`]. `nNRBP`.
    NNRBP {
        /// α.
        alpha: Decimal,
        /// The chance β that a reader goes on to the next document.
        beta: Decimal,
    },
    /// Average precision, averaged over the subtopics. `AP_IA`; ndeval's `MAP-IA`.
    ///
    /// Agrawal, Gollapudi, Halverson and Ieong, "Diversifying search results", WSDM 2009.
    ApIA,
    /// Precision, averaged over the subtopics. `P_IA@10`; ndeval's `P-IA@10`.
    PIA,
    /// Subtopic recall: the share of the subtopics that the list covers. `StRecall@10`; ndeval's
    /// `strec@10`.
    ///
    /// Zhai, Cohen and Lafferty, "Beyond independent relevance: methods and evaluation metrics for
    /// subtopic retrieval", SIGIR 2003.
    StRecall,
    /// A measure of your own: see [`CustomMeasure`](crate::CustomMeasure).
    Custom {
        /// What it is called.
        name: Name,
        /// How its values over queries become one.
        summary: Summary,
    },
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
                | Self::InfIPrec { .. }
                | Self::InfNumRel
                | Self::Custom { .. }
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
            | Self::ERR { .. }
            | Self::InfNDCG
            | Self::Custom { .. }
            | Self::Judged
            | Self::Unjudged
            | Self::NumQ
            | Self::NumRet => false,
            Self::RBP { gain, .. } => matches!(gain, RbpGain::Binary),
            _ => true,
        }
    }

    /// Whether it can be asked of the judged documents of a list alone. Not where the unjudged ones
    /// are what it is about, or where nothing is retrieved.
    #[must_use]
    pub const fn takes_judged_only(&self) -> bool {
        !matches!(
            self,
            Self::Judged
                | Self::Unjudged
                | Self::RBPResidual { .. }
                | Self::IDCG { .. }
                | Self::InfAP
                | Self::XinfAP
                | Self::InfNDCG
                | Self::InfP
                | Self::InfIPrec { .. }
                | Self::InfNumRel
                | Self::InfNumRelRet
                | Self::Custom { .. }
                | Self::NumQ
                | Self::NumRel
        )
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

    /// Whether it goes by the strata of the judgments.
    pub(crate) const fn by_strata(&self) -> bool {
        matches!(
            self,
            Self::XinfAP
                | Self::InfNDCG
                | Self::InfP
                | Self::InfIPrec { .. }
                | Self::InfNumRel
                | Self::InfNumRelRet
        )
    }

    /// How little a repeated document is worth, where the measure goes by subtopics.
    pub(crate) const fn redundancy(&self) -> Option<Decimal> {
        match self {
            Self::ErrIA { alpha }
            | Self::NErrIA { alpha }
            | Self::AlphaDCG { alpha }
            | Self::AlphaNDCG { alpha }
            | Self::NRBP { alpha, .. }
            | Self::NNRBP { alpha, .. } => Some(*alpha),
            Self::ApIA | Self::PIA | Self::StRecall => Some(Decimal::ZERO),
            _ => None,
        }
    }

    /// The highest grade for which it can be computed.
    pub(crate) const fn highest_grade(&self) -> Option<Grade> {
        match self {
            Self::ERR { highest } => Some(*highest as Grade),
            _ => match self.gain() {
                Some(Gain::Exponential) => Some(Gain::MOST_EXPONENTIAL),
                _ => None,
            },
        }
    }
}
