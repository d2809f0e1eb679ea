//! trec_eval's `-m` options, and the order of its output.

use std::io::{self, Write};

use super::output::{OutputColumn, OutputDetail, OutputRow, OutputValue, TrecEvalOutput};
use crate::assess::preferences::{PreferenceMeasure, PreferenceReport};
use crate::evaluate::{EvalError, Evaluator, QueryValues, Report, ReportMeasure};
use crate::judged::JudgmentStatus;
use crate::measure::trec_names::is_ranx_persistence;
use crate::measure::{Measure, ParseMeasureError, Summary};
use crate::rules::{MissingQueries, Rules, TrecEvalVersion};

/// Names of all measures with a numeric value, in the order of trec_eval's output.
const OUTPUT_ORDER: [&str; 38] = [
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
    "recall",
    "infAP",
    "gm_bpref",
    "Rprec_mult",
    "utility",
    "11pt_avg",
    "binG",
    "G",
    "dcg",
    "ideal_dcg",
    "ndcg",
    "ndcg_rel",
    "Rndcg",
    "ndcg_cut",
    "map_cut",
    "relative_P",
    "success",
    "set_P",
    "set_relative_P",
    "set_recall",
    "set_map",
    "set_F",
    "num_nonrel_judged_ret",
    "yaap",
    "rbp",
    "rbp_resid",
    "unj",
];

/// Names of the measures over judgment groups, in the order of trec_eval's output, and of the
/// measures that they average over the groups.
const GROUP_MEASURES: [(&str, &str); 3] = [
    ("map_avgjg", "map"),
    ("P_avgjg", "P"),
    ("Rprec_mult_avgjg", "Rprec_mult"),
];

/// Number of measures that trec_eval prints by default; they come first in [`OUTPUT_ORDER`].
const OFFICIAL: usize = 11;

/// Number of counts with which [`OUTPUT_ORDER`] starts.
const COUNTS: usize = 4;
/// Measures of trec_eval's group `set`, besides the counts.
const SET: &[&str] = &[
    "utility",
    "set_P",
    "set_recall",
    "set_relative_P",
    "set_map",
    "set_F",
];

/// Number of preference measures in trec_eval's `prefs`; they come first in `all_prefs`.
const PREFS: usize = 6;

/// Measures that are not part of `all_trec` in any release.
const NOT_IN_ALL_TREC: &[&str] = &["dcg", "ideal_dcg", "yaap"];
/// Measures that are part of `all_trec` from release 10 on.
const NEW_IN_10: &[&str] = &["rbp", "rbp_resid", "unj"];

/// Type of judgments that a [`MeasureSelection`] applies to. Each type has its own measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JudgmentKind {
    /// Grades: trec_eval's `qrels`. Nearly all measures.
    #[default]
    Grades,
    /// Grades by several judges ([`JudgmentGroups`](crate::assess::JudgmentGroups)): `qrels_jg`.
    Groups,
    /// Preferences ([`crate::assess::preferences`]): `prefs` and `qrels_prefs`.
    Preferences,
}

/// Measures selected by trec_eval's `-m` options, in the order of its output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MeasureSelection {
    items: Vec<(OutputPosition, SelectedItem)>,
}

/// Sort key of an output line. trec_eval's order does not depend on the order of the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OutputPosition(usize);

impl OutputPosition {
    const FIRST: Self = Self(0);
    /// Position of measures that trec_eval does not have.
    const LAST: Self = Self(usize::MAX);

    const fn at(measure: usize) -> Self {
        Self(2 * measure + 1)
    }

    const fn after(measure: usize) -> Self {
        Self(2 * measure + 2)
    }

    /// Position of a measure, given by its name or the name of one of its values.
    fn find(name: &str) -> Option<Self> {
        let position = |name: &str| {
            let groups = GROUP_MEASURES.iter().map(|(name, _)| name);
            OUTPUT_ORDER
                .iter()
                .chain(groups)
                .position(|known| *known == name)
        };
        match name {
            "runid" => Some(Self::FIRST),
            "relstring" => position("P").map(Self::after),
            _ => {
                let ends = name.match_indices('_').map(|(at, _)| at);
                let mut ends: Vec<usize> = ends.chain([name.len()]).collect();
                ends.reverse();
                let mut prefixes = ends.into_iter().map(|end| &name[..end]);
                prefixes.find_map(position).map(Self::at)
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SelectedItem {
    RunId,
    RelString { name: String, length: usize },
    Value { name: String, measure: Measure },
    Preference(PreferenceMeasure),
}

impl MeasureSelection {
    /// Parses trec_eval's `-m` options according to release 10.0: `map`, `P` (at all its default
    /// cutoffs), `P.5,10`, `ndcg.1=3,2=9`, or a group (`official`, `all_trec`, `set`).
    ///
    /// Single measures may also be written as in trec_eval's output (`P_5`) or in ir_measures'
    /// syntax (`nDCG@10`); the latter are printed last, under that name. Without options:
    /// `official`.
    ///
    /// A measure that is selected with parameters is not printed with its default ones as well. If
    /// the same measure is selected several times, all its parameters count. (trec_eval uses the
    /// first and silently drops the others.)
    ///
    /// # Errors
    /// If an option is not a measure or group.
    pub fn parse<S: AsRef<str>>(options: &[S]) -> Result<Self, ParseMeasureError> {
        Self::parse_for(JudgmentKind::Grades, options, TrecEvalVersion::V10)
    }

    /// Parses the options for a kind of judgments and a release of trec_eval. `all_trec` differs
    /// between releases.
    ///
    /// Preferences have the groups `prefs` (default) and `all_prefs` and their measures
    /// (`prefs_simp`, …). Judgment groups have `qrels_jg` (default) and its measures (`map_avgjg`,
    /// `P_avgjg.5,10`, `Rprec_mult_avgjg`).
    ///
    /// # Errors
    /// If an option is not a measure or group, or is one for another kind of judgments.
    pub fn parse_for<S: AsRef<str>>(
        kind: JudgmentKind,
        options: &[S],
        version: TrecEvalVersion,
    ) -> Result<Self, ParseMeasureError> {
        let default = match kind {
            JudgmentKind::Grades => ["official"],
            JudgmentKind::Groups => ["qrels_jg"],
            JudgmentKind::Preferences => ["prefs"],
        };
        let options: Vec<&str> = match options {
            [] => default.to_vec(),
            options => options.iter().map(AsRef::as_ref).collect(),
        };
        let mut selected: Vec<(String, Option<String>)> = Vec::new();
        let mut selection = Self::default();
        for &option in &options {
            let (name, parameters) = match option.split_once('.') {
                Some((name, parameters)) => (name, Some(parameters.to_owned())),
                None => (option, None),
            };
            if let Some(group) = kind.group(name, version) {
                if let Some(found) = parameters {
                    let text = option.to_owned();
                    return Err(ParseMeasureError::NoParameter { text, found });
                }
                selected.extend(group.into_iter().map(|name| (name.to_owned(), None)));
            } else if kind.has_measure(name) && !is_ranx_persistence(option) {
                selected.push((name.to_owned(), parameters));
            } else if let Some(needs) = kind.needed_instead(name) {
                let text = option.to_owned();
                return Err(ParseMeasureError::OtherJudgments { text, needs });
            } else {
                selection.select_single(kind, option)?;
            }
        }
        for (name, parameters) in &selected {
            let is_given = |other: &(String, Option<String>)| other.0 == *name && other.1.is_some();
            if parameters.is_some() || !selected.iter().any(is_given) {
                selection.select(kind, name, parameters.as_deref())?;
            }
        }
        selection.items.sort_by_key(|(position, _)| *position);
        selection.sort_cutoffs();
        Ok(selection)
    }

    /// The measures to evaluate, without duplicates.
    #[must_use]
    pub fn measures(&self) -> Vec<Measure> {
        let mut measures = Vec::new();
        for (_, item) in &self.items {
            if let SelectedItem::Value { measure, .. } = item
                && !measures.contains(measure)
            {
                measures.push(*measure);
            }
        }
        measures
    }

    /// The preference measures to evaluate, without duplicates.
    #[must_use]
    pub fn preference_measures(&self) -> Vec<PreferenceMeasure> {
        let measure = |(_, item): &(OutputPosition, SelectedItem)| match item {
            SelectedItem::Preference(measure) => Some(*measure),
            _ => None,
        };
        self.items.iter().filter_map(measure).collect()
    }

    /// Creates an evaluator for the selected measures.
    ///
    /// # Errors
    /// If the relevance level of the rules or of a measure is negative, if a grade is too high for
    /// a measure, or if a measure needs subtopic judgments and there are none.
    pub fn evaluator<'q, J>(&self, qrels: &'q J, rules: Rules) -> Result<Evaluator<'q>, EvalError>
    where
        J: ir_core::Judgments + ?Sized,
    {
        let lengths = self.items.iter().map(|(_, item)| match item {
            SelectedItem::RelString { length, .. } => *length,
            _ => 0,
        });
        let evaluator = Evaluator::with_rules(qrels, &self.measures(), rules)?;
        Ok(evaluator.with_top_judgments(lengths.max().unwrap_or(0)))
    }

    /// Writes a report in trec_eval's format. Measures that the report does not contain are
    /// omitted; use [`MeasureSelection::evaluator`] to evaluate all of them.
    ///
    /// Two peculiarities of trec_eval are reproduced here and in [`MeasureSelection::output`]
    /// alone. If missing queries count, the total of `num_rel` includes every grade above 0,
    /// whatever the relevance level. And if a list is empty, interpolated precision at a recall
    /// that needs no relevant document is `-nan`; in a [`Report`] it is 0.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write(
        &self,
        report: &Report,
        detail: OutputDetail,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.output(report).write(detail, out)
    }

    /// Returns the lines that trec_eval prints for a report.
    #[must_use]
    pub fn output<'a>(&'a self, report: &'a Report) -> TrecEvalOutput<'a> {
        let items = self.items.iter().map(|item| &item.1);
        Self::output_of(items, report, |item| match item {
            SelectedItem::Value { name, measure } => {
                let (index, total) = (report.column(*measure)?, total(report, *measure));
                let summary = measure.summary();
                let column = OutputColumn::number(name, Some(*measure), summary, total);
                Some((column, Some(index)))
            }
            _ => None,
        })
    }

    /// Returns the lines that trec_eval prints for a report on preferences.
    #[must_use]
    pub fn preference_output<'a>(&'a self, report: &'a PreferenceReport) -> TrecEvalOutput<'a> {
        // Reports on preferences contain no judgments of the first documents.
        let items = self.items.iter().map(|item| &item.1);
        let items = items.filter(|item| !matches!(item, SelectedItem::RelString { .. }));
        Self::output_of(items, report, |item| match item {
            SelectedItem::Value { name, measure } if *measure == Measure::NUM_Q => {
                let total = report.queries().len() as f64;
                let column = OutputColumn::number(name, Some(*measure), Summary::Sum, total);
                Some((column, None))
            }
            SelectedItem::Preference(measure) => {
                let (index, total) = (report.column(*measure)?, report.summary(*measure)?);
                let column = OutputColumn::number(measure.name(), None, measure.summary(), total);
                Some((column, Some(index)))
            }
            _ => None,
        })
    }

    /// Lines of a report. `number` returns the column of an item with numbers in the report, and
    /// their index; without an index, the number of each query is 1.
    fn output_of<'a, M: ReportMeasure>(
        items: impl Iterator<Item = &'a SelectedItem>,
        report: &'a Report<M>,
        number: impl Fn(&'a SelectedItem) -> Option<(OutputColumn<'a>, Option<usize>)>,
    ) -> TrecEvalOutput<'a> {
        let row = |query: &'a QueryValues| OutputRow {
            query: &query.query,
            retrieved: query.retrieved,
            values: Vec::new(),
        };
        let mut output = TrecEvalOutput {
            columns: Vec::new(),
            rows: report.queries().iter().map(row).collect(),
            rules: *report.rules(),
            standardized: false,
        };
        let mut add = |column, value: &dyn Fn(&QueryValues) -> OutputValue| {
            output.columns.push(column);
            for (row, query) in output.rows.iter_mut().zip(report.queries()) {
                row.values.push(value(query));
            }
        };
        for item in items {
            match item {
                SelectedItem::RunId => {
                    let column = OutputColumn::text("runid", Some(report.run()));
                    add(column, &|_| OutputValue::Text(String::new()));
                }
                SelectedItem::RelString { name, length } => {
                    add(OutputColumn::text(name, None), &|query| {
                        let top = query.top.iter().take(*length);
                        OutputValue::Text(top.map(relevance_mark).collect())
                    });
                }
                item => {
                    let Some((column, index)) = number(item) else {
                        continue;
                    };
                    add(column.clone(), &|query| match index {
                        None => column.value(1.0),
                        Some(index) if query.undefined.contains(&index) => column.value(f64::NAN),
                        Some(index) => column.value(query.values[index]),
                    });
                }
            }
        }
        output
    }

    /// Adds a measure for the kind of judgments by its name.
    fn select(
        &mut self,
        kind: JudgmentKind,
        name: &str,
        parameters: Option<&str>,
    ) -> Result<(), ParseMeasureError> {
        let text = match parameters {
            None => name.to_owned(),
            Some(parameters) => format!("{name}.{parameters}"),
        };
        let position = OutputPosition::find(name).unwrap_or(OutputPosition::LAST);
        if name == "runid" {
            self.add(position, SelectedItem::RunId);
            return Ok(());
        }
        if name == "relstring" {
            let length = match parameters {
                None => 10,
                Some(number) => number
                    .parse()
                    .map_err(|_| ParseMeasureError::invalid(&text, "a length", number))?,
            };
            let name = text.replace('.', "_");
            self.add(position, SelectedItem::RelString { name, length });
            return Ok(());
        }
        if kind == JudgmentKind::Preferences
            && let Ok(measure) = name.parse::<PreferenceMeasure>()
        {
            if let Some(found) = parameters {
                let found = found.to_owned();
                return Err(ParseMeasureError::NoParameter { text, found });
            }
            let at = PreferenceMeasure::ALL.iter().position(|m| *m == measure);
            let position = OutputPosition::at(at.map_or(0, |at| at + 1));
            self.add(position, SelectedItem::Preference(measure));
            return Ok(());
        }
        let group = GROUP_MEASURES.iter().find(|(known, _)| *known == name);
        let base = group.map_or(name, |(_, base)| base);
        for (value, measure) in Measure::expand_trec(base, parameters, &text)? {
            let name = format!("{name}{}", &value[base.len()..]);
            self.add(position, SelectedItem::Value { name, measure });
        }
        Ok(())
    }

    /// Adds a single measure that is not written as on trec_eval's command line.
    fn select_single(&mut self, kind: JudgmentKind, option: &str) -> Result<(), ParseMeasureError> {
        if kind == JudgmentKind::Groups {
            let split = |(name, _): &(&'static str, _)| {
                let parameters = option.strip_prefix(*name)?.strip_prefix('_')?;
                Some((*name, parameters))
            };
            if let Some((name, parameters)) = GROUP_MEASURES.iter().find_map(split) {
                return self.select(kind, name, Some(parameters));
            }
        }
        let measure: Measure = option.parse()?;
        if kind != JudgmentKind::Grades {
            let text = option.to_owned();
            let needs = JudgmentKind::Grades.option();
            return Err(ParseMeasureError::OtherJudgments { text, needs });
        }
        let trec_name = measure.trec_name().filter(|name| name == option);
        let position = trec_name.and_then(|name| OutputPosition::find(&name));
        let name = option.to_owned();
        let position = position.unwrap_or(OutputPosition::LAST);
        self.add(position, SelectedItem::Value { name, measure });
        Ok(())
    }

    fn add(&mut self, position: OutputPosition, item: SelectedItem) {
        let new = (position, item);
        if !self.items.contains(&new) {
            self.items.push(new);
        }
    }

    /// Sorts the values of each measure by cutoff or parameter, which may come from several
    /// options.
    fn sort_cutoffs(&mut self) {
        for group in self.items.chunk_by_mut(|a, b| a.0 == b.0) {
            if group[0].0 != OutputPosition::LAST {
                group.sort_by_key(|(_, item)| match item {
                    SelectedItem::Value { measure, .. } => {
                        Some((measure.cutoff(), *measure.formula()))
                    }
                    _ => None,
                });
            }
        }
    }
}

impl JudgmentKind {
    const ALL: [Self; 3] = [Self::Grades, Self::Groups, Self::Preferences];

    /// Name of the kind and trec_eval's option for it.
    const fn option(self) -> &'static str {
        match self {
            Self::Grades => "grades (-R qrels)",
            Self::Groups => "judgment groups (-R qrels_jg)",
            Self::Preferences => "preferences (-R prefs or qrels_prefs)",
        }
    }

    /// Measures of a group of measures such as `official`.
    fn group(self, name: &str, version: TrecEvalVersion) -> Option<Vec<&'static str>> {
        let run_id = ["runid"].into_iter();
        let general = run_id.clone().chain(["num_q"]);
        let preferences = PreferenceMeasure::ALL.iter().map(|measure| measure.name());
        match (self, name) {
            (Self::Grades, "official") => {
                let official = OUTPUT_ORDER.into_iter().take(OFFICIAL);
                Some(run_id.chain(official).collect())
            }
            (Self::Grades, "set") => {
                let counts = OUTPUT_ORDER.into_iter().take(COUNTS);
                Some(run_id.chain(counts).chain(SET.iter().copied()).collect())
            }
            (Self::Grades, "all_trec") => {
                let is_included = |name: &&str| {
                    !NOT_IN_ALL_TREC.contains(name)
                        && (version == TrecEvalVersion::V10 || !NEW_IN_10.contains(name))
                };
                let measures = OUTPUT_ORDER.into_iter().filter(is_included);
                Some(run_id.chain(["relstring"]).chain(measures).collect())
            }
            (Self::Groups, "qrels_jg") => {
                let measures = GROUP_MEASURES.iter().map(|(name, _)| *name);
                Some(general.chain(measures).collect())
            }
            (Self::Preferences, "all_prefs") => Some(general.chain(preferences).collect()),
            (Self::Preferences, "prefs") => Some(general.chain(preferences.take(PREFS)).collect()),
            _ => None,
        }
    }

    fn has_measure(self, name: &str) -> bool {
        match self {
            Self::Grades => matches!(name, "runid" | "relstring") || OUTPUT_ORDER.contains(&name),
            Self::Groups => {
                let mut groups = GROUP_MEASURES.iter();
                matches!(name, "runid" | "num_q") || groups.any(|(known, _)| *known == name)
            }
            Self::Preferences => {
                matches!(name, "runid" | "num_q") || name.parse::<PreferenceMeasure>().is_ok()
            }
        }
    }

    /// The other kind of judgments that a name needs, if any.
    fn needed_instead(self, name: &str) -> Option<&'static str> {
        Self::ALL
            .into_iter()
            .filter(|other| *other != self)
            .find(|other| {
                let group = other.group(name, TrecEvalVersion::V10);
                other.has_measure(name) || group.is_some()
            })
            .map(Self::option)
    }
}

fn total(report: &Report, measure: Measure) -> f64 {
    let column = report.column(measure);
    let is_undefined =
        |query: &QueryValues| column.is_some_and(|column| query.undefined.contains(&column));
    if measure == Measure::NUM_REL && report.rules().missing == MissingQueries::Zero {
        report.positive() as f64
    } else if report.queries().iter().any(is_undefined) {
        f64::NAN
    } else {
        report.summary(measure).unwrap_or(f64::NAN)
    }
}

/// Mark of a document in `relstring`.
fn relevance_mark(judgment: &JudgmentStatus) -> char {
    match *judgment {
        JudgmentStatus::Grade(grade) => u32::try_from(grade)
            .ok()
            .and_then(|grade| char::from_digit(grade, 10))
            .unwrap_or('>'),
        JudgmentStatus::Unjudged => '.',
        JudgmentStatus::Unpooled => '-',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::trec_names;
    use std::collections::BTreeSet;

    #[test]
    fn output_order_contains_every_trec_eval_measure_once() {
        let ordered: BTreeSet<&str> = OUTPUT_ORDER.into_iter().collect();
        assert_eq!(ordered.len(), OUTPUT_ORDER.len());
        assert_eq!(ordered, trec_names::all().map(|known| known.0).collect());
    }
}
