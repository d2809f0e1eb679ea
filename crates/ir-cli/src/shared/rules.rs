//! The options that say how runs are evaluated, the same in every command that does.

use anyhow::Result;
use clap::ValueEnum;
use ir_core::Grade;
use ir_core::trec::Header;
use ir_eval::{Generation, Missing, NoRelevant, Rules, ScoreWidth, SelfHits, Unjudged};

use crate::shared::options::positive;
use crate::shared::console::Usage;

/// What a document must be to count, and which release of trec_eval is followed.
#[derive(Debug, clap::Args)]
pub(crate) struct RuleOptions {
    /// Grade from which on a document is relevant [default: 1, as in trec_eval]
    #[arg(
        short = 'l', long, alias = "level_for_rel", value_name = "N",
        default_value_t = 1, hide_default_value = true, allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(0..)
    )]
    level: Grade,

    /// Documents of each list that count [default: all]
    #[arg(short = 'M', long, alias = "Max_retrieved_per_topic", value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    max_retrieved: Option<usize>,

    /// Judged documents only: the others are taken out of the lists
    #[arg(short = 'J', long, alias = "Judged_docs_only")]
    judged_only: bool,

    /// Documents in the collection, for the measure utility
    #[arg(
        short = 'N',
        long,
        alias = "Number_docs_in_coll",
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        allow_negative_numbers = true
    )]
    collection_size: u64,

    /// Hits that are the query itself dropped before anything else, as BEIR does
    #[arg(long)]
    remove_self: bool,

    /// Queries without a relevant document left out of the averages, as gdeval does
    #[arg(long)]
    skip_no_relevant: bool,

    /// Release of trec_eval to follow where they differ
    #[arg(long, value_enum, default_value_t = Release::V10, value_name = "RELEASE")]
    generation: Release,

    /// A first line with text in place of a number dropped, in qrels and run; trec_eval counts it
    /// as data
    #[arg(long)]
    skip_header: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Release {
    /// 9.0.4: scores compared in 32 bits, as pytrec_eval does
    #[value(name = "9.0.4")]
    V904,
    /// 9.0.8
    #[value(name = "9", alias = "9.0.8")]
    V9,
    /// 10.0
    #[value(name = "10", alias = "10.0")]
    V10,
}

impl RuleOptions {
    /// The rules, with what becomes of queries without results.
    pub(crate) fn rules(&self, missing: Missing) -> Rules {
        let (generation, scores) = match self.generation {
            Release::V904 => (Generation::V9, ScoreWidth::F32),
            Release::V9 => (Generation::V9, ScoreWidth::F64),
            Release::V10 => (Generation::V10, ScoreWidth::F64),
        };
        Rules {
            missing,
            unjudged: if self.judged_only {
                Unjudged::Remove
            } else {
                Unjudged::NonRelevant
            },
            self_hits: if self.remove_self {
                SelfHits::Drop
            } else {
                SelfHits::Keep
            },
            no_relevant: if self.skip_no_relevant {
                NoRelevant::Skip
            } else {
                NoRelevant::Count
            },
            level: self.level,
            depth: self.max_retrieved,
            collection: self.collection_size,
            scores,
            generation,
            ..Rules::default()
        }
    }

    /// Refuses options that other judgments than qrels do not have.
    pub(crate) fn grades_only(&self) -> Result<()> {
        let refused = [
            (self.skip_header, "--skip-header"),
            (self.remove_self, "--remove-self"),
            (self.skip_no_relevant, "--skip-no-relevant"),
        ];
        match refused.into_iter().find(|option| option.0) {
            Some((_, option)) => Err(Usage(format!(
                "{option}: expected judgments in the form qrels (-R)"
            ))
            .into()),
            None => Ok(()),
        }
    }

    /// What a first line with text in place of a number is.
    pub(crate) fn header(&self) -> Header {
        if self.skip_header {
            Header::Skip
        } else {
            Header::AsData
        }
    }
}
