//! trec_eval's other judgment formats, and z-scores, for `ir eval`.

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::ArgAction;
use clap::builder::TypedValueParser;
use ir_core::trec::HeaderLine;
use ir_eval::trec_eval::{
    JudgmentKind, MeasureSelection, OutputDetail, OutputValue, TrecEvalOutput,
};
use ir_eval::{JudgmentGroups, MissingQueries, Rules, ZScores, preferences};
use serde_json::{Value, json};

use crate::shared::console::{Console, bail_usage};
use crate::shared::input::{self, with_warnings};
use crate::shared::options::choice;
use crate::shared::output::OutputSink;
use crate::shared::qrels::{QRELS_FORMATS, QrelsFormat};

/// trec_eval's options for judgment formats, z-scores, and options without effect.
#[derive(Debug, clap::Args)]
pub(super) struct FormArgs {
    /// Format of the judgments
    #[arg(
        short = 'R', long = "judgments", alias = "Rel_info_format", value_parser = formats(),
        default_value = "qrels", value_name = "FORM"
    )]
    pub(super) form: JudgmentFormat,

    /// Format of the run; only trec_results is supported
    #[arg(
        short = 'T', long = "run-form", alias = "Results_format", value_name = "FORM",
        value_parser = ["trec_results"], hide_possible_values = true
    )]
    run_form: Option<String>,

    /// Print z-scores, from a file of reference means and standard deviations with the columns
    /// query, measure, mean, deviation
    #[arg(short = 'Z', long, alias = "Zscore", value_name = "FILE")]
    zscores: Option<String>,

    /// Accepted for compatibility with trec_eval and ignored
    #[arg(short = 'D', long, alias = "Debug_level", value_name = "LEVEL")]
    debug: Option<String>,

    /// Old output format, which current trec_eval releases do not have either.
    #[arg(short = 'o', hide = true)]
    old: bool,

    /// Same as -V
    #[arg(short = 'v', action = ArgAction::Version)]
    which_version: Option<bool>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum JudgmentFormat {
    Graded(QrelsFormat),
    Other(OtherJudgments),
}

/// Formats of judgments other than grades of documents.
#[derive(Debug, Clone, Copy)]
pub(super) enum OtherJudgments {
    Groups,
    Prefs,
    QrelsPrefs,
}

fn formats() -> impl TypedValueParser<Value = JudgmentFormat> {
    let graded = |(name, help, format)| (name, help, JudgmentFormat::Graded(format));
    choice(QRELS_FORMATS.map(graded).into_iter().chain([
        (
            "qrels_jg",
            "Query, judgment group, document, grade: measures are averaged over groups",
            JudgmentFormat::Other(OtherJudgments::Groups),
        ),
        (
            "prefs",
            "Query, judgment group, equivalence class, document, level: higher levels are preferred",
            JudgmentFormat::Other(OtherJudgments::Prefs),
        ),
        (
            "qrels_prefs",
            "Query, judgment group, document, level",
            JudgmentFormat::Other(OtherJudgments::QrelsPrefs),
        ),
    ]))
}

impl FormArgs {
    pub(super) fn check(&self) -> Result<()> {
        if self.debug.as_ref().is_some_and(|level| level.contains('.')) {
            bail_usage!("--debug: expected a level, found a query id (use -q and grep)");
        }
        Ok(())
    }

    pub(super) fn judgments(&self) -> JudgmentKind {
        match self.form {
            JudgmentFormat::Graded(_) => JudgmentKind::Grades,
            JudgmentFormat::Other(OtherJudgments::Groups) => JudgmentKind::Groups,
            JudgmentFormat::Other(_) => JudgmentKind::Preferences,
        }
    }

    pub(super) fn reference(&self, console: &Console) -> Result<Option<ZScores>> {
        let Some(file) = &self.zscores else {
            return Ok(None);
        };
        let (input, name) = input::open(file)?;
        Ok(Some(with_warnings(ZScores::read(input, &name)?, console)))
    }

    /// Evaluates a run against judgments other than qrels and prints the result.
    pub(super) fn evaluate(
        form: OtherJudgments,
        (judged, run_file): (&str, &str),
        selection: &MeasureSelection,
        out: &Output<'_>,
        console: &Console,
    ) -> Result<()> {
        let (input, name) = input::open(judged)?;
        let (rules, both) = (*out.rules, || format!("{run_file} with {judged}"));
        let run = || input::run(run_file, HeaderLine::AsData, console);
        let preferences = match form {
            OtherJudgments::Prefs => preferences::read(input, &name)?,
            OtherJudgments::QrelsPrefs => preferences::read_qrels(input, &name)?,
            OtherJudgments::Groups => {
                let groups = with_warnings(JudgmentGroups::read(input, &name)?, console);
                let report = groups.evaluate(&run()?, &selection.measures(), rules);
                let report = report.with_context(both)?;
                warn_of_gaps(&rules, report.missing(), report.unjudged(), console);
                return out.print(selection.output(&report));
            }
        };
        let preferences = with_warnings(preferences, console);
        let report = preferences.evaluate(&run()?, &selection.preference_measures(), rules);
        let report = report.with_context(both)?;
        warn_of_gaps(&rules, report.missing(), report.unjudged(), console);
        out.print(selection.preference_output(&report))
    }
}

/// Warns about queries that are excluded from the averages.
pub(super) fn warn_of_gaps<'a>(
    rules: &Rules,
    mut missing: impl ExactSizeIterator<Item = &'a str>,
    mut unjudged: impl ExactSizeIterator<Item = &'a str>,
    console: &Console,
) {
    let (missed, others) = (missing.len(), unjudged.len());
    if rules.missing == MissingQueries::Skip
        && let Some(first) = missing.next()
    {
        console.warn(format_args!(
            "{missed} judged queries have no results and are excluded from the averages, such as \
             {first:?} (-c scores them 0)"
        ));
    }
    if let Some(first) = unjudged.next() {
        console.warn(format_args!(
            "{others} queries of the run have no judgments and are ignored, such as {first:?}"
        ));
    }
}

pub(super) struct Output<'a> {
    /// Printed detail; `None` prints nothing.
    pub(super) detail: Option<OutputDetail>,
    pub(super) json: bool,
    pub(super) rules: &'a Rules,
    pub(super) reference: Option<&'a ZScores>,
}

impl Output<'_> {
    pub(super) fn print(&self, mut sheet: TrecEvalOutput<'_>) -> Result<()> {
        let Some(detail) = self.detail else {
            return Ok(());
        };
        if let Some(reference) = self.reference {
            sheet = sheet.standardized(reference);
        }
        OutputSink::open(None)?.write_with(|out| {
            if self.json {
                write_json(&sheet, self.rules, detail, out)
            } else {
                sheet.write(detail, out)
            }
        })
    }
}

fn write_json(
    sheet: &TrecEvalOutput<'_>,
    rules: &Rules,
    detail: OutputDetail,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in sheet.lines(detail) {
        let value = match line.value {
            OutputValue::Text(text) => json!(text),
            OutputValue::Count(count) => json!(count as i64),
            OutputValue::Number(number) => json!(number),
        };
        let name = format!("{}{}", if line.zscore { "Z" } else { "" }, line.name);
        write_value((&name, Some(&name)), line.query, value, out)?;
    }
    write_rules(rules, out)
}

/// Writes one value; the names of the measure are those of ir_measures and trec_eval.
pub(super) fn write_value(
    (measure, trec_eval): (&str, Option<&str>),
    query: &str,
    value: Value,
    out: &mut dyn Write,
) -> io::Result<()> {
    let line = json!({
        "measure": measure, "trec_eval": trec_eval, "query": query, "value": value,
    });
    writeln!(out, "{line}")
}

pub(super) fn write_rules(rules: &Rules, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", json!({ "rules": rules }))
}
