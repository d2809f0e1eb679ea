//! trec_eval's other judgment formats, and z-scores, for `ir eval`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::ArgAction;
use clap::builder::TypedValueParser;
use ir_core::Run;
use ir_core::trec::HeaderLine;
use ir_eval::assess::{JudgmentGroups, preferences};
use ir_eval::trec_eval::{
    JudgmentKind, MeasureSelection, OutputDetail, OutputValue, TrecEvalOutput,
};
use ir_eval::{MissingQueries, Report, ReportMeasure, Rules, ZScores};
use serde_json::{Value, json};

use crate::shared::console::{Console, bail_usage};
use crate::shared::input::{self, with_warnings};
use crate::shared::options::choice;
use crate::shared::output::OutputSink;
use crate::shared::qrels::{QRELS_FORMATS, QrelsFormat};
use crate::shared::runs::run_names;

/// trec_eval's options for judgment formats, z-scores, and options without effect.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Formats")]
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
    pub(super) old: bool,

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
        let (input, name) = input::open(file, console)?;
        Ok(Some(with_warnings(ZScores::read(input, &name)?, console)))
    }

    /// Evaluates runs against judgments other than qrels and prints the result.
    pub(super) fn evaluate(
        form: OtherJudgments,
        (judged, files): (&str, &[String]),
        selection: &MeasureSelection,
        out: &Output<'_>,
        console: &Console,
    ) -> Result<()> {
        let (input, name) = input::open_judgment_file(judged, console)?;
        let rules = *out.rules;
        let preferences = match form {
            OtherJudgments::Prefs => preferences::read(input, &name)?,
            OtherJudgments::QrelsPrefs => preferences::read_qrels(input, &name)?,
            OtherJudgments::Groups => {
                let groups = with_warnings(JudgmentGroups::read(input, &name)?, console);
                let measures = selection.measures();
                let evaluate = |run: &Run| groups.evaluate(run, &measures, rules);
                let files = (judged, files);
                let output = MeasureSelection::output;
                return out.evaluate(files, selection, evaluate, output, console);
            }
        };
        let preferences = with_warnings(preferences, console);
        let measures = selection.preference_measures();
        let evaluate = |run: &Run| preferences.evaluate(run, &measures, rules);
        let files = (judged, files);
        out.evaluate(
            files,
            selection,
            evaluate,
            MeasureSelection::preference_output,
            console,
        )
    }
}

/// Warns about queries that are excluded from the averages; `run` is named if there are several.
pub(super) fn warn_of_gaps<'a>(
    run: Option<&str>,
    rules: &Rules,
    mut missing: impl ExactSizeIterator<Item = &'a str>,
    mut unjudged: impl ExactSizeIterator<Item = &'a str>,
    console: &Console,
) {
    let (missed, others) = (missing.len(), unjudged.len());
    let run = run.map_or_else(String::new, |run| format!("{run}: "));
    if rules.missing == MissingQueries::Skip
        && let Some(first) = missing.next()
    {
        console.warn(format_args!(
            "{run}{missed} judged queries have no results and are excluded from the averages, such as \
             {first:?} (-c scores them 0)"
        ));
    }
    if let Some(first) = unjudged.next() {
        console.warn(format_args!(
            "{run}{others} queries of the run have no judgments and are ignored, such as {first:?}"
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
    /// Evaluates each run, warns about queries that are not counted, and prints the reports.
    fn evaluate<M: ReportMeasure, E>(
        &self,
        (judged, files): (&str, &[String]),
        selection: &MeasureSelection,
        evaluate: impl Fn(&Run) -> Result<Report<M>, E>,
        output: for<'a> fn(&'a MeasureSelection, &'a Report<M>) -> TrecEvalOutput<'a>,
        console: &Console,
    ) -> Result<()>
    where
        Result<Report<M>, E>: Context<Report<M>, E>,
    {
        let mut reports = Vec::with_capacity(files.len());
        for file in files {
            let run = input::run(file, HeaderLine::AsData, console)?;
            let report = evaluate(&run).with_context(|| format!("{file} with {judged}"))?;
            let name = (files.len() > 1).then_some(file.as_str());
            warn_of_gaps(
                name,
                self.rules,
                report.missing(),
                report.unjudged(),
                console,
            );
            reports.push(report);
        }
        let names = run_names(reports.iter().map(Report::run), files);
        let sheets = reports.iter().map(|report| output(selection, report));
        self.print(sheets.collect(), &names)
    }

    /// Prints the output: in the layout of trec_eval for a single run, otherwise a column per run.
    pub(super) fn print(
        &self,
        mut sheets: Vec<TrecEvalOutput<'_>>,
        names: &[String],
    ) -> Result<()> {
        let Some(detail) = self.detail else {
            return Ok(());
        };
        if let Some(reference) = self.reference {
            let standardized = sheets
                .into_iter()
                .map(|sheet| sheet.standardized(reference));
            sheets = standardized.collect();
        }
        OutputSink::open(None)?.write_with(|out| match &sheets[..] {
            sheets if self.json => {
                for (sheet, name) in sheets.iter().zip(names) {
                    let name = (sheets.len() > 1).then_some(name.as_str());
                    write_json(sheet, name, detail, out)?;
                }
                write_rules(self.rules, out)
            }
            [sheet] => sheet.write(detail, out),
            sheets => write_columns(sheets, names, detail, out),
        })
    }
}

/// Writes a header and a line per query and measure, with a value per run.
fn write_columns(
    sheets: &[TrecEvalOutput<'_>],
    names: &[String],
    detail: OutputDetail,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{:22}\tquery\t{}", "measure", names.join("\t"))?;
    let details = match detail {
        OutputDetail::Summary => &[OutputDetail::Summary][..],
        OutputDetail::Queries => &[OutputDetail::Queries],
        OutputDetail::QueriesAndSummary => &[OutputDetail::Queries, OutputDetail::Summary],
    };
    for &detail in details {
        // By query, and position of the measure among the lines of the query.
        let mut rows: BTreeMap<(&str, usize), (String, Vec<String>)> = BTreeMap::new();
        for (column, sheet) in sheets.iter().enumerate() {
            let mut last = ("", 0);
            // The header has the names of the runs.
            for line in sheet.lines(detail).filter(|line| line.name != "runid") {
                let position = if line.query == last.0 { last.1 + 1 } else { 0 };
                last = (line.query, position);
                let name = format!("{}{}", if line.zscore { "Z" } else { "" }, line.name);
                let new = || (name, vec!["-".to_owned(); sheets.len()]);
                rows.entry(last).or_insert_with(new).1[column] = shown(&line.value);
            }
        }
        for ((query, _), (name, values)) in &rows {
            writeln!(out, "{name:22}\t{query}\t{}", values.join("\t"))?;
        }
    }
    Ok(())
}

fn shown(value: &OutputValue) -> String {
    match value {
        OutputValue::Text(text) => format!("'{text}'"),
        OutputValue::Count(count) => format!("{count:.0}"),
        OutputValue::Number(number) if number.is_nan() => "-nan".to_owned(),
        OutputValue::Number(number) => format!("{number:.4}"),
    }
}

fn write_json(
    sheet: &TrecEvalOutput<'_>,
    run: Option<&str>,
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
        write_value((&name, Some(name.as_str())), line.query, run, value, out)?;
    }
    Ok(())
}

/// Writes a value in JSON. The measure has its name in ir_measures' syntax and in trec_eval's
/// output; `run` is named if there are several.
pub(super) fn write_value(
    (measure, trec_eval): (&str, Option<&str>),
    query: &str,
    run: Option<&str>,
    value: Value,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = json!({
        "measure": measure, "trec_eval": trec_eval, "query": query, "value": value,
    });
    if let Some(run) = run {
        line["run"] = json!(run);
    }
    writeln!(out, "{line}")
}

pub(super) fn write_rules(rules: &Rules, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", json!({ "rules": rules }))
}
