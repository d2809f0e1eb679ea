//! What `ir eval` takes beside qrels: trec_eval's other forms of judgments, and z-scores.

use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::{ArgAction, ValueEnum};
use ir_core::trec::Header;
use ir_eval::trec_eval::{Cell, Detail, Judgments, Selection, Sheet};
use ir_eval::{JudgmentGroups, Missing, Rules, ZScores, preferences};
use serde_json::json;

use crate::shared::console::{Console, Usage};
use crate::shared::qrels::{GradeForm, told};
use crate::shared::output::Sink;
use crate::shared::input;

/// trec_eval's options for them, and those that mean nothing here.
#[derive(Debug, clap::Args)]
pub(super) struct FormArgs {
    /// Form of the judgments
    #[arg(
        short = 'R', long = "judgments", alias = "Rel_info_format", value_enum,
        default_value_t = Form::Qrels, value_name = "FORM"
    )]
    pub(super) form: Form,

    /// Form of the run, of which there is one
    #[arg(
        short = 'T', long = "run-form", alias = "Results_format", value_enum,
        default_value_t = RunForm::Trec, value_name = "FORM", hide_possible_values = true
    )]
    run_form: RunForm,

    /// Z-scores in place of values, by a file with the mean and the standard deviation that other
    /// runs achieved: query, measure, mean, deviation
    #[arg(short = 'Z', long, alias = "Zscore", value_name = "FILE")]
    pub(super) zscores: Option<String>,

    /// Taken as trec_eval takes it, and ignored
    #[arg(
        short = 'D',
        long = "debug",
        alias = "Debug_level",
        value_name = "LEVEL"
    )]
    debug: Option<String>,

    /// trec_eval's old output, which it does not have any more either.
    #[arg(short = 'o', hide = true)]
    old: bool,

    /// The same as -V
    #[arg(short = 'v', action = ArgAction::Version)]
    which_version: Option<bool>,
}

/// What judgments look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// Query, ignored, document, grade
    Qrels,
    /// The same, with the judge in the second column: measures are averaged over judges
    #[value(name = "qrels_jg")]
    Groups,
    /// Query, judge, part, document, level: a higher level is preferred
    Prefs,
    /// Query, judge, document, level
    #[value(name = "qrels_prefs")]
    QrelsPrefs,
    /// Query, ignored, document, stratum, grade: a sample of a pool, for xinfAP, infNDCG and infP
    Strata,
    /// Query, subtopic, document, grade: a diversity task, for alpha_nDCG, ERR_IA and others
    Subtopics,
}

/// What runs look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RunForm {
    /// Query, ignored, document, ignored, score, name
    #[value(name = "trec_results")]
    Trec,
}

impl FormArgs {
    /// Refuses what cannot be done.
    pub(super) fn check(&self) -> Result<()> {
        if self.debug.as_ref().is_some_and(|level| level.contains('.')) {
            let problem = "--debug: expected a level, found one query to look at: use -q and grep";
            return Err(Usage(problem.into()).into());
        }
        Ok(())
    }

    /// The measures that fit the judgments.
    pub(super) fn judgments(&self) -> Judgments {
        match self.form {
            Form::Qrels | Form::Strata | Form::Subtopics => Judgments::Grades,
            Form::Groups => Judgments::Groups,
            Form::Prefs | Form::QrelsPrefs => Judgments::Preferences,
        }
    }

    /// The form of judgments that are grades.
    pub(super) fn grades(&self) -> Option<GradeForm> {
        match self.form {
            Form::Qrels => Some(GradeForm::Qrels),
            Form::Strata => Some(GradeForm::Strata),
            Form::Subtopics => Some(GradeForm::Subtopics),
            Form::Groups | Form::Prefs | Form::QrelsPrefs => None,
        }
    }

    /// The means and deviations to go by.
    pub(super) fn reference(&self, console: &Console) -> Result<Option<ZScores>> {
        let Some(file) = &self.zscores else {
            return Ok(None);
        };
        let (input, name) = source::open(file)?;
        Ok(Some(told(ZScores::read(input, &name)?, console)))
    }

    /// Evaluates a run by judgments that are not qrels, and prints it.
    pub(super) fn evaluate(
        &self,
        (judged, run_file): (&str, &str),
        (selection, rules): (&Selection, Rules),
        out: &Output<'_>,
        console: &Console,
    ) -> Result<()> {
        let (input, name) = source::open(judged)?;
        let both = || format!("{run_file} with {judged}");
        let run = || -> Result<_> { Ok(told(source::run(run_file, Header::AsData)?, console)) };
        if self.form == Form::Groups {
            let groups = told(JudgmentGroups::read(input, &name)?, console);
            let report = groups.evaluate(&run()?, &selection.measures(), rules);
            let report = report.with_context(both)?;
            warn_of_gaps(&rules, report.missing(), report.unjudged(), console);
            return out.print(selection.sheet(&report));
        }
        let read = match self.form {
            Form::Prefs => preferences::read(input, &name)?,
            _ => preferences::read_qrels(input, &name)?,
        };
        let report = told(read, console).evaluate(&run()?, &selection.preferences(), rules);
        let report = report.with_context(both)?;
        warn_of_gaps(&rules, report.missing(), report.unjudged(), console);
        out.print(selection.sheet_of_preferences(&report))
    }
}

/// Queries that silently do not count are the commonest way to a wrong figure.
pub(super) fn warn_of_gaps<'a>(
    rules: &Rules,
    mut missing: impl ExactSizeIterator<Item = &'a str>,
    mut unjudged: impl ExactSizeIterator<Item = &'a str>,
    console: &Console,
) {
    let (missed, others) = (missing.len(), unjudged.len());
    if rules.missing == Missing::Skip
        && let Some(first) = missing.next()
    {
        console.warn(format_args!(
            "{missed} of the judged queries have no results and are left out of the averages, such as \
             {first:?} (-c counts them as 0)"
        ));
    }
    if let Some(first) = unjudged.next() {
        console.warn(format_args!(
            "{others} of the run's queries have no judgments and are left out, such as {first:?}"
        ));
    }
}

/// How a sheet is printed.
pub(super) struct Output<'a> {
    /// `None` for nothing at all.
    pub(super) detail: Option<Detail>,
    pub(super) json: bool,
    pub(super) rules: &'a Rules,
    pub(super) reference: Option<&'a ZScores>,
}

impl Output<'_> {
    /// Prints a sheet on standard output.
    pub(super) fn print(&self, mut sheet: Sheet<'_>) -> Result<()> {
        let Some(detail) = self.detail else {
            return Ok(());
        };
        if let Some(reference) = self.reference {
            sheet = sheet.standardised(reference);
        }
        let mut out = Sink::open(None)?;
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
    sheet: &Sheet<'_>,
    rules: &Rules,
    detail: Detail,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in sheet.lines(detail) {
        let value = match line.value {
            Cell::Text(text) => json!(text),
            Cell::Count(count) => json!(count as i64),
            Cell::Figure(figure) => json!(figure),
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

/// The rules that all values go by, as the last line.
pub(super) fn write_rules(rules: &Rules, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", json!({ "rules": rules }))
}
