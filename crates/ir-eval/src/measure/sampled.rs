//! Measures estimated from pools of which only a sample was judged.
//!
//! [`InferredAveragePrecision`] is trec_eval's. The others are from sample_eval, which estimates
//! each stratum of the pool by itself.

use ir_core::Grade;

use super::definition::{Definition, MeasureInput, Properties, Summary, measures, ratio};
use super::parameters::{MeasureText, Parameters, ParseMeasureError};
use super::trec_syntax::TrecSyntax;
use crate::decimal::Decimal;
use crate::judged::{DocOrdinal, Strata, UNPOOLED, sum};

/// Smoothing of the estimates: added to the relevant documents seen, and two or three times to the
/// judged ones.
const EPSILON: f64 = 1e-5;

measures! {
    /// Inferred average precision, an estimate of average precision from a pool of which a uniform
    /// sample was judged. Pooled documents that were not judged have a negative grade. Range: 0 to
    /// 1.
    ///
    /// `infAP`; trec_eval's `infAP`.
    ///
    /// Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments",
    /// CIKM 2006.
    InferredAveragePrecision = Properties::new(&["infAP"])
        .without_judged_only()
        .with_trec_names(&[("infAP", "infAP", TrecSyntax::Plain)]);
    value |_, input| {
        let (mut relevant, mut nonrelevant, mut unjudged, mut sum) = (0.0, 0.0, 0.0, 0.0);
        for (above, &state) in input.states().iter().enumerate() {
            if state == UNPOOLED {
                continue;
            }
            if state < 0 {
                unjudged += 1.0;
            } else if state < input.level {
                nonrelevant += 1.0;
            } else if above == 0 {
                sum += 1.0;
                relevant += 1.0;
            } else {
                let above = above as f64;
                let pooled = (relevant + nonrelevant + unjudged) / above;
                let precision = (relevant + EPSILON) / (relevant + nonrelevant + 2.0 * EPSILON);
                sum += 1.0 / (above + 1.0) + above / (above + 1.0) * pooled * precision;
                relevant += 1.0;
            }
        }
        ratio(sum, input.relevant() as f64)
    };

    /// Average precision estimated from the strata of a pool, as sample_eval does: counts of a
    /// stratum are scaled up by its sampling rate. Range: 0 to 1.
    ///
    /// `xinfAP@1000`; sample_eval's `infAP`, with cutoff 1000. Strata come from
    /// [`StratifiedQrels`](ir_core::StratifiedQrels); plain qrels are one stratum.
    ///
    /// Yilmaz, Kanoulas and Aslam, "A simple and efficient sampling method for estimating AP and
    /// NDCG", SIGIR 2008.
    StratifiedAveragePrecision = Properties::new(&["xinfAP"]).with_strata();
    value |_, input| {
        let estimate = Estimator::over(input).map(|estimator| estimator.average_precision());
        estimate.unwrap_or(0.0)
    };

    /// nDCG with linear gains, estimated as [`StratifiedAveragePrecision`] is. Range: from 0.
    ///
    /// `infNDCG@1000`; sample_eval's `infNDCG`. The ideal ranking has as many documents of each
    /// grade as are estimated to exist, rounded. If the documents of a grade extend beyond rank k,
    /// each lower grade still adds one term, as in sample_eval.
    ///
    /// Yilmaz, Kanoulas and Aslam, as for [`StratifiedAveragePrecision`].
    StratifiedNdcg = Properties::new(&["infNDCG"]).with_strata().without_level();
    value |_, input| {
        let cutoff = input.cutoff.unwrap_or(usize::MAX);
        let depth = cutoff.min(input.rules.depth.unwrap_or(usize::MAX));
        Estimator::over(input).map_or(0.0, |estimator| estimator.ndcg(depth))
    };

    /// Precision with the number of relevant documents estimated as in
    /// [`StratifiedAveragePrecision`].
    ///
    /// `infP@10`; sample_eval's `iP10`.
    StratifiedPrecision = Properties::new(&["infP", "iP"]).require_cutoff("infP@10").with_strata();
    impl {
        fn claims(&self, text: &MeasureText<'_>) -> bool {
            Self::PROPERTIES.is_name(text.name) || cutoff_in_name(text).is_some()
        }

        fn parameters(&mut self, list: &mut Parameters<'_>) -> Result<(), ParseMeasureError> {
            list.text.at = list.text.at.or_else(|| cutoff_in_name(&list.text));
            Ok(())
        }
    }
    value |_, input| {
        let depth = input.cutoff.unwrap_or(input.retrieved).max(1) as f64;
        Estimator::over(input).map_or(0.0, |estimator| estimator.relevant() / depth)
    };

    /// Interpolated precision at one of the recalls 0, 0.1, …, 1, estimated as in
    /// [`StratifiedAveragePrecision`].
    ///
    /// `infIPrec@0.1`; sample_eval's `iprec@rec0.10`.
    StratifiedInterpolatedPrecision {
        /// Recall in tenths, 0 to 10; `infIPrec@0.1` has 1.
        tenths: u8 = 0 => tenths(),
    } = Properties::new(&["infIPrec", "iprec"])
        .with_strata()
        .without_cutoff()
        .require_cutoff("infIPrec@0.1");
    value |formula, input| {
        let Some(mut estimator) = Estimator::new(input) else {
            return 0.0;
        };
        let mut estimates = Vec::with_capacity(input.retrieved);
        for (&ordinal, &state) in input.ordinals().iter().zip(input.states()) {
            estimator.step(ordinal, state);
            estimates.push(estimator.relevant());
        }
        let Some(&last) = estimates.last() else {
            return 0.0;
        };
        let relevant = estimator.strata.relevant(input.level);
        let needed = |tenths: u8| f64::from(tenths) / 10.0 * relevant;
        // sample_eval goes up the list from its end and passes at most one recall at each rank.
        let mut recalls = (0..=10_u8)
            .rev()
            .skip_while(|&tenths| needed(tenths) > last)
            .peekable();
        if recalls.peek().is_none_or(|&first| first < formula.tenths) {
            return 0.0;
        }
        let mut best = 0.0_f64;
        for (above, &estimate) in estimates.iter().enumerate().rev() {
            best = best.max(estimate / (above + 1) as f64);
            if recalls
                .peek()
                .is_some_and(|&tenths| needed(tenths) > estimate)
                && recalls.next() == Some(formula.tenths)
            {
                return best;
            }
        }
        best
    };

    /// Number of relevant documents, estimated as in [`StratifiedAveragePrecision`], summed over
    /// queries.
    ///
    /// `infNumRel`; sample_eval's `inum_rel`.
    StratifiedRelevantCount = Properties::new(&["infNumRel", "inum_rel"])
        .with_strata()
        .without_ranking()
        .with_summary(Summary::Sum);
    value |_, input| input.query.strata.as_ref().map_or(0.0, |strata| strata.relevant(input.level));

    /// Number of relevant documents retrieved, estimated as in [`StratifiedAveragePrecision`],
    /// summed over queries.
    ///
    /// `infNumRelRet@1000`; sample_eval's `inum_rel_ret`.
    StratifiedRelevantRetrievedCount = Properties::new(&["infNumRelRet", "inum_rel_ret"])
        .with_strata()
        .with_summary(Summary::Sum);
    value |_, input| Estimator::over(input).map_or(0.0, |estimator| estimator.relevant());
}

/// Cutoff in sample_eval's name: `iP10`.
fn cutoff_in_name<'a>(text: &MeasureText<'a>) -> Option<&'a str> {
    let digits = text.name.strip_prefix("iP").filter(|_| text.at.is_none())?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(digits)
}

impl Parameters<'_> {
    /// [`StratifiedInterpolatedPrecision::tenths`], the text after `@`.
    fn tenths(&mut self, tenths: &mut u8) -> Result<(), ParseMeasureError> {
        let recall = |tenths: u8| Decimal::new(i64::from(tenths), 1);
        let prefix = if self.text.name == "iprec" { "rec" } else { "" };
        self.parameter(tenths, "@", (recall(*tenths), true), |at| {
            let found = at.strip_prefix(prefix).and_then(|at| at.parse().ok());
            let tenths = (0..=10).find(|&tenths| found == Some(recall(tenths)));
            tenths.ok_or("a recall of 0, 0.1, 0.2 and so on up to 1")
        })
    }
}

/// Counts of one stratum in the part of the list seen so far.
#[derive(Debug, Clone, Copy, Default)]
struct SeenStratum {
    documents: f64,
    judged: f64,
    relevant: f64,
    /// Sum of the estimated precisions at the relevant documents.
    precisions: f64,
    /// Sum of the discounted gains.
    dcg: f64,
}

impl SeenStratum {
    /// Smoothed precision among the judged documents; 1/3 if none was judged.
    fn precision(&self) -> f64 {
        (self.relevant + EPSILON) / (self.judged + 3.0 * EPSILON)
    }
}

/// Estimates by stratum, updated from rank to rank.
struct Estimator<'a> {
    strata: &'a Strata,
    level: Grade,
    seen: Vec<SeenStratum>,
    rank: f64,
    /// Pooled documents seen so far.
    pooled: f64,
}

impl<'a> Estimator<'a> {
    /// An estimator that has seen no document. `None` without strata.
    fn new(input: &MeasureInput<'a>) -> Option<Self> {
        let strata = input.query.strata.as_ref()?;
        Some(Self {
            strata,
            level: input.level,
            seen: vec![SeenStratum::default(); strata.strata.len()],
            rank: 0.0,
            pooled: 0.0,
        })
    }

    /// An estimator that has seen all documents up to the cutoff.
    fn over(input: &MeasureInput<'a>) -> Option<Self> {
        let mut estimator = Self::new(input)?;
        for (&ordinal, &state) in input.ordinals().iter().zip(input.states()) {
            estimator.step(ordinal, state);
        }
        Some(estimator)
    }

    fn step(&mut self, ordinal: DocOrdinal, state: Grade) {
        self.rank += 1.0;
        let Some(stratum) = self.strata.stratum_of(ordinal) else {
            return;
        };
        if state >= self.level.max(0) {
            let mut above = 0.0;
            for seen in self.seen.iter().filter(|seen| seen.documents > 0.0) {
                above += seen.documents / self.pooled * seen.precision();
            }
            let seen = &mut self.seen[stratum];
            seen.precisions += 1.0 / self.rank + self.pooled / self.rank * above;
            seen.relevant += 1.0;
        }
        let seen = &mut self.seen[stratum];
        if state > 0 {
            seen.dcg += state as f64 / (self.rank + 1.0).log2();
        }
        if state >= 0 {
            seen.judged += 1.0;
        }
        seen.documents += 1.0;
        self.pooled += 1.0;
    }

    /// Estimated number of relevant documents seen.
    fn relevant(&self) -> f64 {
        let estimate = |seen: &SeenStratum| {
            seen.documents * (seen.relevant + EPSILON) / (seen.judged + 3.0 * EPSILON)
        };
        sum(self.seen.iter().map(estimate))
    }

    fn average_precision(&self) -> f64 {
        let all = self.strata.relevant(self.level);
        let mut value = 0.0;
        for (stratum, seen) in self.strata.strata.iter().zip(&self.seen) {
            let relevant = stratum.relevant(self.level);
            if relevant > 0.0 {
                value += stratum.scale(relevant) / all * (seen.precisions / relevant);
            }
        }
        value
    }

    fn ndcg(&self, depth: usize) -> f64 {
        let ideal = self.ideal_dcg(depth);
        if ideal == 0.0 || self.pooled == 0.0 {
            return 0.0;
        }
        let mut dcg = 0.0;
        for seen in self.seen.iter().filter(|seen| seen.judged > 0.0) {
            dcg += seen.documents / self.pooled * seen.dcg / seen.judged;
        }
        self.pooled * dcg / ideal
    }

    fn ideal_dcg(&self, depth: usize) -> f64 {
        let (mut dcg, mut start) = (0.0, 0_usize);
        for (grade, count) in self.strata.positive_grades().into_iter().rev() {
            let end = start + (count + 0.5) as usize;
            // At least one term, even beyond the depth.
            for rank in start + 1..=end.min(depth.max(start + 1)) {
                dcg += grade as f64 / ((rank + 1) as f64).log2();
            }
            start = end;
        }
        dcg
    }
}
