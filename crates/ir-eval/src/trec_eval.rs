//! trec_eval's choice of measures and its output, byte for byte.
//!
//! A [`Selection`] is what trec_eval's `-m` options choose; [`Selection::write`] prints a report as
//! trec_eval prints it: the measure's name in 22 columns, a tab, the query or `all`, a tab, the
//! value with four decimals.
//!
//! ```
//! use ir_core::trec::{self, Header};
//! use ir_eval::Rules;
//! use ir_eval::trec_eval::{Detail, Selection};
//!
//! let qrels = trec::read_qrels("q1 0 d1 1\nq1 0 d2 0\n".as_bytes(), "qrels", Header::AsData)?;
//! let run = trec::read_run("q1 Q0 d2 1 2.5 me\nq1 Q0 d1 2 1.5 me\n".as_bytes(), "run", Header::AsData)?;
//! let selection = Selection::parse(&["P.1,5", "map"])?;
//! let report = selection.evaluator(&qrels.data, Rules::default())?.evaluate(&run.data)?;
//! let mut out = Vec::new();
//! selection.write(&report, Detail::Summary, &mut out)?;
//! assert_eq!(
//!     String::from_utf8(out)?,
//!     "map                   \tall\t0.5000\n\
//!      P_1                   \tall\t0.0000\n\
//!      P_5                   \tall\t0.2000\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, Write};

use ir_core::Judgments;

use crate::names::ParseMeasureError;
use crate::report::{Judged, QueryValues};
use crate::rules::{Generation, Missing};
use crate::trec_names::{self, MEASURES};
use crate::{EvalError, Evaluator, Measure, Report, Rules, Summary};

/// The measures trec_eval prints when none is asked for.
const OFFICIAL: &[&str] = &[
    "runid",
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
];

const SET: &[&str] = &[
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "utility",
    "set_P",
    "set_recall",
    "set_relative_P",
    "set_map",
    "set_F",
];

/// Not in `all_trec`, in either generation.
const BESIDE_ALL: &[&str] = &["dcg", "ideal_dcg", "yaap"];
/// In `all_trec` from release 10 on.
const NEW_IN_10: &[&str] = &["rbp", "rbp_resid", "unj"];

/// How much [`Selection::write`] prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The values over all queries.
    #[default]
    Summary,
    /// The values of each query: trec_eval's `-q -n`.
    Queries,
    /// Both: `-q`.
    QueriesAndSummary,
}

/// Which lines trec_eval's output has, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    lines: Vec<(Place, Line)>,
}

/// A line of trec_eval's output that holds a text in place of a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextLine<'a> {
    /// `runid` or `relstring`, with its length where one was asked for.
    pub name: &'a str,
    /// The query, or `all`.
    pub query: &'a str,
    /// The text.
    pub value: String,
}

/// Where a line stands: trec_eval prints in an order of its own, whatever the order of the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(usize);

impl Place {
    const FIRST: Self = Self(0);
    /// Of measures that are not trec_eval's.
    const LAST: Self = Self(usize::MAX);

    const fn of(measure: usize) -> Self {
        Self(2 * measure + 1)
    }

    const fn after(measure: usize) -> Self {
        Self(2 * measure + 2)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    RunId,
    RelString { name: String, length: usize },
    Value { name: String, measure: Measure },
}

impl Selection {
    /// What trec_eval prints when no measure is asked for.
    #[must_use]
    pub fn official() -> Self {
        Self::parse(&["official"]).unwrap_or_default()
    }

    /// The selection of trec_eval's `-m` options, by release 10.0: `map`, `P` (at all its default
    /// cut-offs), `P.5,10`, `ndcg.1=3,2=9`, or a group (`official`, `all_trec`, `set`). Single
    /// measures may also be spelled as in trec_eval's output (`P_5`) or as in ir_measures
    /// (`nDCG@10`); the latter are printed last, under that name. Without options: `official`.
    ///
    /// A measure that is chosen with parameters is not also printed with its default ones. When
    /// the same measure is chosen several times, all its parameters count (trec_eval takes the
    /// first and drops the others in silence).
    ///
    /// # Errors
    /// When a text names no measure.
    pub fn parse<S: AsRef<str>>(options: &[S]) -> Result<Self, ParseMeasureError> {
        Self::parse_as(options, Generation::V10)
    }

    /// Like [`Selection::parse`], with the groups of the given release: `all_trec` grew.
    ///
    /// # Errors
    /// When a text names no measure.
    pub fn parse_as<S: AsRef<str>>(
        options: &[S],
        generation: Generation,
    ) -> Result<Self, ParseMeasureError> {
        let mut chosen: Vec<(String, Option<String>)> = Vec::new();
        let mut selection = Self::default();
        let official = ["official"];
        let options: Vec<&str> = match options {
            [] => official.to_vec(),
            options => options.iter().map(AsRef::as_ref).collect(),
        };
        for &option in &options {
            let (name, parameters) = match option.split_once('.') {
                Some((name, parameters)) => (name, Some(parameters.to_owned())),
                None => (option, None),
            };
            if let Some(group) = group(name, generation) {
                if let Some(found) = parameters {
                    let text = option.to_owned();
                    return Err(ParseMeasureError::NoParameter { text, found });
                }
                chosen.extend(group.into_iter().map(|name| (name.to_owned(), None)));
            } else if is_name(name) {
                chosen.push((name.to_owned(), parameters));
            } else {
                let measure: Measure = option.parse()?;
                let trec = measure.trec_name().filter(|name| name == option);
                let place = trec.as_ref().and_then(|name| place(name));
                let name = option.to_owned();
                let line = Line::Value { name, measure };
                selection.add(place.unwrap_or(Place::LAST), line);
            }
        }
        for (name, parameters) in &chosen {
            let given = |other: &(String, Option<String>)| other.0 == *name && other.1.is_some();
            if parameters.is_some() || !chosen.iter().any(given) {
                selection.choose(name, parameters.as_deref())?;
            }
        }
        selection.lines.sort_by_key(|line| line.0);
        selection.order_cutoffs();
        Ok(selection)
    }

    /// The measures it needs, each once.
    #[must_use]
    pub fn measures(&self) -> Vec<Measure> {
        let mut measures = Vec::new();
        for (_, line) in &self.lines {
            if let Line::Value { measure, .. } = line
                && !measures.contains(measure)
            {
                measures.push(*measure);
            }
        }
        measures
    }

    /// An evaluator that computes what the selection prints.
    ///
    /// # Errors
    /// As [`Evaluator::with_rules`].
    pub fn evaluator<'q, J>(&self, qrels: &'q J, rules: Rules) -> Result<Evaluator<'q>, EvalError>
    where
        J: Judgments + ?Sized,
    {
        let lengths = self.lines.iter().map(|(_, line)| match line {
            Line::RelString { length, .. } => *length,
            _ => 0,
        });
        let evaluator = Evaluator::with_rules(qrels, &self.measures(), rules)?;
        Ok(evaluator.keeping(lengths.max().unwrap_or(0)))
    }

    /// The lines of [`Selection::write`] that hold no figure: the name of the run (`runid`, for all
    /// queries), and which of the first documents are relevant (`relstring`, for each query).
    #[must_use]
    pub fn texts<'a>(&'a self, report: &'a Report, detail: Detail) -> Vec<TextLine<'a>> {
        let mut texts = Vec::new();
        if detail != Detail::Summary {
            let all = report.rules().generation == Generation::V10;
            let queries = report.queries().iter();
            for query in queries.filter(|query| query.retrieved() || all) {
                for (_, line) in &self.lines {
                    if let Line::RelString { name, length } = line {
                        texts.push(TextLine {
                            name,
                            query: query.query(),
                            value: query.top().iter().take(*length).map(mark).collect(),
                        });
                    }
                }
            }
        }
        if detail != Detail::Queries && self.lines.iter().any(|(_, line)| *line == Line::RunId) {
            texts.push(TextLine {
                name: "runid",
                query: "all",
                value: report.run().to_owned(),
            });
        }
        texts
    }

    /// Prints a report as trec_eval does. Lines of measures that the report does not have are left
    /// out; take the evaluator from [`Selection::evaluator`].
    ///
    /// Two of trec_eval's habits are kept here and nowhere else. Where missing queries count, its
    /// total of `num_rel` takes every grade above 0 for relevant, whatever the relevance level. And
    /// where nothing is left of a list, interpolated precision at a recall of no documents is
    /// `-nan`; a [`Report`] counts it as 0.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, report: &Report, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
        if detail != Detail::Summary {
            let all = report.rules().generation == Generation::V10;
            for query in report.queries() {
                if query.retrieved() || all {
                    self.write_query(report, query, out)?;
                }
            }
        }
        if detail != Detail::Queries {
            self.write_summary(report, out)?;
        }
        Ok(())
    }

    fn write_query(
        &self,
        report: &Report,
        query: &QueryValues,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let id = query.query();
        for (_, line) in &self.lines {
            match line {
                Line::RunId => {}
                Line::RelString { name, length } => {
                    let marks: String = query.top().iter().take(*length).map(mark).collect();
                    writeln!(out, "{name:22}\t{id}\t'{marks}'")?;
                }
                Line::Value { name, measure } => {
                    if printed_once(*measure) {
                        continue;
                    }
                    if report.undefined(query, *measure) {
                        write_value(name, id, *measure, f64::NAN, out)?;
                    } else if let Some(value) = report.value(id, *measure) {
                        write_value(name, id, *measure, value, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn write_summary(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        for (_, line) in &self.lines {
            match line {
                Line::RunId => writeln!(out, "{:22}\tall\t{}", "runid", report.run())?,
                Line::RelString { .. } => {}
                Line::Value { name, measure } => {
                    let every =
                        *measure == Measure::NUM_REL && report.rules().missing == Missing::Zero;
                    let mut queries = report.queries().iter();
                    let value = if every {
                        Some(report.positive() as f64)
                    } else if queries.any(|query| report.undefined(query, *measure)) {
                        Some(f64::NAN)
                    } else {
                        report.summary(*measure)
                    };
                    if let Some(value) = value {
                        write_value(name, "all", *measure, value, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn choose(&mut self, name: &str, parameters: Option<&str>) -> Result<(), ParseMeasureError> {
        let text = match parameters {
            None => name.to_owned(),
            Some(parameters) => format!("{name}.{parameters}"),
        };
        let here = place(name).unwrap_or(Place::LAST);
        if name == "runid" {
            self.add(here, Line::RunId);
            return Ok(());
        }
        if name == "relstring" {
            let length = match parameters {
                None => 10,
                Some(number) => number.parse().map_err(|_| ParseMeasureError::Value {
                    text: text.clone(),
                    expected: "a length",
                    found: number.to_owned(),
                })?,
            };
            let name = text.replace('.', "_");
            self.add(here, Line::RelString { name, length });
            return Ok(());
        }
        for (known, form) in MEASURES {
            if known == name {
                for (name, measure) in trec_names::expand(known, form, parameters, &text)? {
                    self.add(here, Line::Value { name, measure });
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, place: Place, line: Line) {
        let new = (place, line);
        if !self.lines.contains(&new) {
            self.lines.push(new);
        }
    }

    /// Cut-offs that came from several options stand in ascending order.
    fn order_cutoffs(&mut self) {
        for group in self.lines.chunk_by_mut(|a, b| a.0 == b.0) {
            if group.first().is_some_and(|line| line.0 != Place::LAST) {
                group.sort_by_key(|(_, line)| match line {
                    Line::Value { measure, .. } => (measure.cutoff, measure.kind),
                    _ => (None, crate::Kind::NumQ),
                });
            }
        }
    }
}

/// The measures of a group.
fn group(name: &str, generation: Generation) -> Option<Vec<&'static str>> {
    match name {
        "official" => Some(OFFICIAL.to_vec()),
        "set" => Some(SET.to_vec()),
        "all_trec" => {
            let new = |name: &&str| generation == Generation::V10 || !NEW_IN_10.contains(name);
            let measures = MEASURES.iter().map(|entry| entry.0);
            let there = measures
                .filter(|name| !BESIDE_ALL.contains(name))
                .filter(new);
            Some(["runid", "relstring"].into_iter().chain(there).collect())
        }
        _ => None,
    }
}

fn is_name(name: &str) -> bool {
    matches!(name, "runid" | "relstring") || MEASURES.iter().any(|entry| entry.0 == name)
}

/// Where the lines of a measure stand, by its name or by that of one of its values.
fn place(name: &str) -> Option<Place> {
    let position = |name: &str| MEASURES.iter().position(|entry| entry.0 == name);
    match name {
        "runid" => Some(Place::FIRST),
        "relstring" => position("P").map(Place::after),
        _ => {
            let root = |end: usize| position(&name[..end]);
            let ends = name.match_indices('_').map(|(at, _)| at);
            let mut ends: Vec<usize> = ends.chain([name.len()]).collect();
            ends.reverse();
            ends.into_iter().find_map(root).map(Place::of)
        }
    }
}

/// Measures that mean nothing for a single query: trec_eval prints them at the end alone.
fn printed_once(measure: Measure) -> bool {
    measure == Measure::NUM_Q || measure.summary() == Summary::GeometricMean
}

fn mark(judged: &Judged) -> char {
    match *judged {
        Judged::Grade(grade) => u32::try_from(grade)
            .ok()
            .and_then(|grade| char::from_digit(grade, 10))
            .unwrap_or('>'),
        Judged::Unjudged => '.',
        Judged::Unpooled => '-',
    }
}

fn write_value(
    name: &str,
    query: &str,
    measure: Measure,
    value: f64,
    out: &mut dyn Write,
) -> io::Result<()> {
    if value.is_nan() {
        writeln!(out, "{name:22}\t{query}\t  -nan")
    } else if measure.summary() == Summary::Sum {
        writeln!(out, "{name:22}\t{query}\t{value:.0}")
    } else {
        writeln!(out, "{name:22}\t{query}\t{value:6.4}")
    }
}
