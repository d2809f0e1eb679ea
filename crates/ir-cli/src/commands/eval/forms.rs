//! trec_eval's other judgment formats, and z-scores, for `ir eval`.

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::{ArgAction, ValueEnum};
use ir_core::trec::HeaderLine;
use ir_eval::trec_eval::{
    JudgmentKind, MeasureSelection, OutputDetail, OutputValue, TrecEvalOutput,
};
use ir_eval::{JudgmentGroups, MissingQueries, Rules, ZScores, preferences};
use serde_json::json;

use crate::shared::console::{Console, Usage};
use crate::shared::input;
use crate::shared::output::OutputSink;
use crate::shared::qrels::{QrelsFormat, with_warnings};

/// trec_eval's options for judgment formats, z-scores, and options without effect.
#[derive(Debug, clap::Args)]
pub(super) struct FormArgs {
    /// Format of the judgments
    #[arg(
        short = 'R', long = "judgments", alias = "Rel_info_format", value_enum,
        default_value_t = JudgmentFormat::Qrels, value_name = "FORM"
    )]
    pub(super) form: JudgmentFormat,

    /// Format of the run; only one is supported
    #[arg(
        short = 'T', long = "run-form", alias = "Results_format", value_enum,
        default_value_t = RunForm::Trec, value_name = "FORM", hide_possible_values = true
    )]
    run_form: RunForm,

    /// Print z-scores, from a file of reference means and standard deviations with the columns
    /// query, measure, mean, deviation
    #[arg(short = 'Z', long, alias = "Zscore", value_name = "FILE")]
    pub(super) zscores: Option<String>,

    /// Accepted for compatibility with trec_eval and ignored
    #[arg(
        short = 'D',
        long = "debug",
        alias = "Debug_level",
        value_name = "LEVEL"
    )]
    debug: Option<String>,

    /// Old output format, which current trec_eval releases do not have either.
    #[arg(short = 'o', hide = true)]
    old: bool,

    /// Same as -V
    #[arg(short = 'v', action = ArgAction::Version)]
    which_version: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum JudgmentFormat {
    /// Query, ignored, document, grade
    Qrels,
    /// Query, judgment group, document, grade: measures are averaged over groups
    #[value(name = "qrels_jg")]
    Groups,
    /// Query, judgment group, equivalence class, document, level: higher levels are preferred
    Prefs,
    /// Query, judgment group, document, level
    #[value(name = "qrels_prefs")]
    QrelsPrefs,
    /// Query, ignored, document, stratum, grade: a sampled pool, for xinfAP, infNDCG and infP
    Strata,
    /// Query, subtopic, document, grade: a diversity task, for alpha_nDCG, ERR_IA and others
    Subtopics,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunForm {
    /// Query, ignored, document, ignored, score, name
    #[value(name = "trec_results")]
    Trec,
}

impl FormArgs {
    pub(super) fn check(&self) -> Result<()> {
        if self.debug.as_ref().is_some_and(|level| level.contains('.')) {
            let problem = "--debug: expected a level, found a query id (use -q and grep)";
            return Err(Usage(problem.into()).into());
        }
        Ok(())
    }

    /// Measures applicable to the judgment format.
    pub(super) fn judgments(&self) -> JudgmentKind {
        match self.form {
            JudgmentFormat::Qrels | JudgmentFormat::Strata | JudgmentFormat::Subtopics => {
                JudgmentKind::Grades
            }
            JudgmentFormat::Groups => JudgmentKind::Groups,
            JudgmentFormat::Prefs | JudgmentFormat::QrelsPrefs => JudgmentKind::Preferences,
        }
    }

    /// Format of graded judgments; `None` for preferences and judgment groups.
    pub(super) fn grades(&self) -> Option<QrelsFormat> {
        match self.form {
            JudgmentFormat::Qrels => Some(QrelsFormat::Qrels),
            JudgmentFormat::Strata => Some(QrelsFormat::Strata),
            JudgmentFormat::Subtopics => Some(QrelsFormat::Subtopics),
            JudgmentFormat::Groups | JudgmentFormat::Prefs | JudgmentFormat::QrelsPrefs => None,
        }
    }

    /// Reads the reference means and deviations.
    pub(super) fn reference(&self, console: &Console) -> Result<Option<ZScores>> {
        let Some(file) = &self.zscores else {
            return Ok(None);
        };
        let (input, name) = input::open(file)?;
        Ok(Some(with_warnings(ZScores::read(input, &name)?, console)))
    }

    /// Evaluates a run against judgments other than qrels and prints the result.
    pub(super) fn evaluate(
        &self,
        (judged, run_file): (&str, &str),
        (selection, rules): (&MeasureSelection, Rules),
        out: &Output<'_>,
        console: &Console,
    ) -> Result<()> {
        let (input, name) = input::open(judged)?;
        let both = || format!("{run_file} with {judged}");
        let run = || -> Result<_> {
            Ok(with_warnings(
                input::run(run_file, HeaderLine::AsData)?,
                console,
            ))
        };
        if self.form == JudgmentFormat::Groups {
            let groups = with_warnings(JudgmentGroups::read(input, &name)?, console);
            let report = groups.evaluate(&run()?, &selection.measures(), rules);
            let report = report.with_context(both)?;
            warn_of_gaps(&rules, report.missing(), report.unjudged(), console);
            return out.print(selection.output(&report));
        }
        let read = match self.form {
            JudgmentFormat::Prefs => preferences::read(input, &name)?,
            _ => preferences::read_qrels(input, &name)?,
        };
        let report =
            with_warnings(read, console).evaluate(&run()?, &selection.preference_measures(), rules);
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

/// Output options of a result sheet.
pub(super) struct Output<'a> {
    /// Printed detail; `None` prints nothing.
    pub(super) detail: Option<OutputDetail>,
    pub(super) json: bool,
    pub(super) rules: &'a Rules,
    pub(super) reference: Option<&'a ZScores>,
}

impl Output<'_> {
    /// Prints a result sheet to standard output.
    pub(super) fn print(&self, mut sheet: TrecEvalOutput<'_>) -> Result<()> {
        let Some(detail) = self.detail else {
            return Ok(());
        };
        if let Some(reference) = self.reference {
            sheet = sheet.standardized(reference);
        }
        let mut out = OutputSink::open(None)?;
        let written = if self.json {
            write_json(&sheet, self.rules, detail, &mut out)
        } else {
            sheet.write(detail, &mut out)
        };
        written.with_context(|| format!("{}: could not be written", out.name()))?;
        out.commit()
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
        let object = json!({
            "measure": name,
            "trec_eval": name,
            "query": line.query,
            "value": value,
        });
        writeln!(out, "{object}")?;
    }
    write_rules(rules, out)
}

/// Writes the evaluation rules as the last line.
pub(super) fn write_rules(rules: &Rules, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", json!({ "rules": rules }))
}
