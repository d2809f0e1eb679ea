//! What is printed, and in which order.

use std::io::{self, Write};

use super::Detail;
use super::sheet::{Column, ColumnKind, Row, Sheet};
use crate::names::ParseMeasureError;
use crate::preferences::{PreferenceMeasure, PreferenceReport};
use crate::report::Judged;
use crate::rules::{Generation, Missing};
use crate::trec_names::{self, MEASURES, OF_GROUPS};
use crate::{EvalError, Evaluator, Kind, Measure, Report, Rules, Summary};

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

/// The first of the measures of preferences, trec_eval's `prefs`.
const PREFERENCES: usize = 6;

/// Not in `all_trec`, in either generation.
const BESIDE_ALL: &[&str] = &["dcg", "ideal_dcg", "yaap"];
/// In `all_trec` from release 10 on.
const NEW_IN_10: &[&str] = &["rbp", "rbp_resid", "unj"];

/// The judgments a [`Selection`] is for: each kind has its own measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Judgments {
    /// Grades: trec_eval's `qrels`. Nearly all measures.
    #[default]
    Grades,
    /// Grades by several judges ([`JudgmentGroups`](crate::JudgmentGroups)): `qrels_jg`.
    Groups,
    /// Preferences ([`crate::preferences`]): `prefs` and `qrels_prefs`.
    Preferences,
}

/// Which lines trec_eval's output has, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    items: Vec<(Place, Item)>,
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
enum Item {
    RunId,
    RelString { name: String, length: usize },
    Value { name: String, measure: Measure },
    Preference(PreferenceMeasure),
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
        Self::parse_for(Judgments::Grades, options, generation)
    }

    /// Like [`Selection::parse_as`], with the measures of other judgments: `prefs` and `all_prefs`
    /// and what they stand for (`prefs_simp`, ...); `qrels_jg` and what that stands for
    /// (`map_avgjg`, `P_avgjg.5,10`, `Rprec_mult_avgjg`). Without options: `prefs`, `qrels_jg`.
    ///
    /// # Errors
    /// When a text names no measure, or one for other judgments.
    pub fn parse_for<S: AsRef<str>>(
        judgments: Judgments,
        options: &[S],
        generation: Generation,
    ) -> Result<Self, ParseMeasureError> {
        let usual = match judgments {
            Judgments::Grades => ["official"],
            Judgments::Groups => ["qrels_jg"],
            Judgments::Preferences => ["prefs"],
        };
        let options: Vec<&str> = match options {
            [] => usual.to_vec(),
            options => options.iter().map(AsRef::as_ref).collect(),
        };
        let mut chosen: Vec<(String, Option<String>)> = Vec::new();
        let mut selection = Self::default();
        for &option in &options {
            let (name, parameters) = match option.split_once('.') {
                Some((name, parameters)) => (name, Some(parameters.to_owned())),
                None => (option, None),
            };
            if let Some(group) = group(judgments, name, generation) {
                if let Some(found) = parameters {
                    let text = option.to_owned();
                    return Err(ParseMeasureError::NoParameter { text, found });
                }
                chosen.extend(group.into_iter().map(|name| (name.to_owned(), None)));
            } else if is_name(judgments, name) {
                chosen.push((name.to_owned(), parameters));
            } else if let Some(needs) = meant_for(judgments, name) {
                let text = option.to_owned();
                return Err(ParseMeasureError::OtherJudgments { text, needs });
            } else {
                selection.choose_single(judgments, option)?;
            }
        }
        for (name, parameters) in &chosen {
            let given = |other: &(String, Option<String>)| other.0 == *name && other.1.is_some();
            if parameters.is_some() || !chosen.iter().any(given) {
                selection.choose(judgments, name, parameters.as_deref())?;
            }
        }
        selection.items.sort_by_key(|item| item.0);
        selection.order_cutoffs();
        Ok(selection)
    }

    /// The measures it needs, each once.
    #[must_use]
    pub fn measures(&self) -> Vec<Measure> {
        let mut measures = Vec::new();
        for (_, item) in &self.items {
            if let Item::Value { measure, .. } = item
                && !measures.contains(measure)
            {
                measures.push(*measure);
            }
        }
        measures
    }

    /// The measures of preferences it needs, each once.
    #[must_use]
    pub fn preferences(&self) -> Vec<PreferenceMeasure> {
        let measure = |(_, item): &(Place, Item)| match item {
            Item::Preference(measure) => Some(*measure),
            _ => None,
        };
        self.items.iter().filter_map(measure).collect()
    }

    /// An evaluator that computes what the selection prints.
    ///
    /// # Errors
    /// As [`Evaluator::with_rules`].
    pub fn evaluator<'q, J>(&self, qrels: &'q J, rules: Rules) -> Result<Evaluator<'q>, EvalError>
    where
        J: ir_core::Judgments + ?Sized,
    {
        let lengths = self.items.iter().map(|(_, item)| match item {
            Item::RelString { length, .. } => *length,
            _ => 0,
        });
        let evaluator = Evaluator::with_rules(qrels, &self.measures(), rules)?;
        Ok(evaluator.keeping(lengths.max().unwrap_or(0)))
    }

    /// Prints a report as trec_eval does. Lines of measures that the report does not have are left
    /// out; take the evaluator from [`Selection::evaluator`].
    ///
    /// Two of trec_eval's habits are kept here and in [`Selection::sheet`] alone. Where missing
    /// queries count, its total of `num_rel` takes every grade above 0 for relevant, whatever the
    /// relevance level. And where nothing is left of a list, interpolated precision at a recall of
    /// no documents is `-nan`; a [`Report`] counts it as 0.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, report: &Report, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
        self.sheet(report).write(detail, out)
    }

    /// The lines that trec_eval would print of a report.
    #[must_use]
    pub fn sheet<'a>(&'a self, report: &'a Report) -> Sheet<'a> {
        let column = |measure: &Measure| {
            let mut columns = report.measures().iter();
            columns.position(|other| other == measure)
        };
        let mut columns = Vec::new();
        let mut places = Vec::new();
        let mut lengths = Vec::new();
        for (_, item) in &self.items {
            match item {
                Item::RunId => columns.push(run_id(report.run())),
                Item::RelString { name, length } => {
                    lengths.push(*length);
                    let kind = ColumnKind::Marks;
                    columns.push(Column { name, kind });
                }
                Item::Value { name, measure } => {
                    let Some(place) = column(measure) else {
                        continue;
                    };
                    places.push((place, *measure));
                    let summary = measure.summary();
                    let kind = ColumnKind::Figures {
                        measure: Some(*measure),
                        summary,
                        once: *measure == Measure::NUM_Q || summary == Summary::GeometricMean,
                        total: total(report, *measure),
                    };
                    columns.push(Column { name, kind });
                }
                Item::Preference(_) => {}
            }
        }
        let rows = report.queries().iter().map(|query| Row {
            query: query.query(),
            retrieved: query.retrieved(),
            figures: places
                .iter()
                .map(|&(place, measure)| {
                    if report.undefined(query, measure) {
                        f64::NAN
                    } else {
                        query.values()[place]
                    }
                })
                .collect(),
            marks: lengths
                .iter()
                .map(|&length| query.top().iter().take(length).map(mark).collect())
                .collect(),
        });
        Sheet {
            rows: rows.collect(),
            columns,
            missing: report.rules().missing,
            generation: report.rules().generation,
            standardised: false,
        }
    }

    /// The lines that trec_eval would print of a report about preferences.
    #[must_use]
    pub fn sheet_of_preferences<'a>(&'a self, report: &'a PreferenceReport) -> Sheet<'a> {
        let mut columns = Vec::new();
        let mut places = Vec::new();
        for (_, item) in &self.items {
            let (name, place, count, measure, total) = match item {
                Item::RunId => {
                    columns.push(run_id(report.run()));
                    continue;
                }
                Item::Value { name, measure } if *measure == Measure::NUM_Q => {
                    let queries = report.queries().len() as f64;
                    (name.as_str(), None, true, Some(*measure), queries)
                }
                Item::Preference(measure) => {
                    let mut all = report.measures().iter();
                    let place = all.position(|other| other == measure);
                    let (Some(place), Some(total)) = (place, report.summary(*measure)) else {
                        continue;
                    };
                    (measure.name(), Some(place), measure.is_count(), None, total)
                }
                _ => continue,
            };
            places.push(place);
            let kind = ColumnKind::Figures {
                measure,
                summary: if count { Summary::Sum } else { Summary::Mean },
                once: measure.is_some(),
                total,
            };
            columns.push(Column { name, kind });
        }
        let rows = report.queries().iter().map(|query| Row {
            query: query.query(),
            retrieved: query.retrieved(),
            figures: places
                .iter()
                .map(|place| place.map_or(1.0, |place| query.values()[place]))
                .collect(),
            marks: Vec::new(),
        });
        Sheet {
            rows: rows.collect(),
            columns,
            missing: report.rules().missing,
            generation: report.rules().generation,
            standardised: false,
        }
    }

    fn choose(
        &mut self,
        judgments: Judgments,
        name: &str,
        parameters: Option<&str>,
    ) -> Result<(), ParseMeasureError> {
        let text = match parameters {
            None => name.to_owned(),
            Some(parameters) => format!("{name}.{parameters}"),
        };
        let here = place(name).unwrap_or(Place::LAST);
        if name == "runid" {
            self.add(here, Item::RunId);
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
            self.add(here, Item::RelString { name, length });
            return Ok(());
        }
        if judgments == Judgments::Preferences
            && let Ok(measure) = name.parse::<PreferenceMeasure>()
        {
            if let Some(found) = parameters {
                let found = found.to_owned();
                return Err(ParseMeasureError::NoParameter { text, found });
            }
            let at = PreferenceMeasure::ALL.iter().position(|m| *m == measure);
            let here = Place::of(at.map_or(0, |at| at + 1));
            self.add(here, Item::Preference(measure));
            return Ok(());
        }
        for (known, form) in MEASURES.iter().chain(&OF_GROUPS) {
            if *known == name {
                for (name, measure) in trec_names::expand(known, *form, parameters, &text)? {
                    self.add(here, Item::Value { name, measure });
                }
            }
        }
        Ok(())
    }

    /// A single measure that is not spelled as on trec_eval's command line.
    fn choose_single(
        &mut self,
        judgments: Judgments,
        option: &str,
    ) -> Result<(), ParseMeasureError> {
        if judgments == Judgments::Groups {
            let parts = |(name, _): &(&'static str, _)| {
                let rest = option.strip_prefix(*name)?.strip_prefix('_')?;
                Some((*name, rest))
            };
            if let Some((name, parameters)) = OF_GROUPS.iter().find_map(parts) {
                return self.choose(judgments, name, Some(parameters));
            }
        }
        let measure: Measure = option.parse()?;
        if judgments != Judgments::Grades {
            let text = option.to_owned();
            let needs = Judgments::Grades.option();
            return Err(ParseMeasureError::OtherJudgments { text, needs });
        }
        let trec = measure.trec_name().filter(|name| name == option);
        let place = trec.as_ref().and_then(|name| place(name));
        let name = option.to_owned();
        self.add(place.unwrap_or(Place::LAST), Item::Value { name, measure });
        Ok(())
    }

    fn add(&mut self, place: Place, item: Item) {
        let new = (place, item);
        if !self.items.contains(&new) {
            self.items.push(new);
        }
    }

    /// Cut-offs that came from several options stand in ascending order.
    fn order_cutoffs(&mut self) {
        for group in self.items.chunk_by_mut(|a, b| a.0 == b.0) {
            if group.first().is_some_and(|item| item.0 != Place::LAST) {
                group.sort_by_key(|(_, item)| match item {
                    Item::Value { measure, .. } => (measure.cutoff, measure.kind),
                    _ => (None, Kind::NumQ),
                });
            }
        }
    }
}

impl Judgments {
    /// trec_eval's option for them.
    const fn option(self) -> &'static str {
        match self {
            Self::Grades => "grades (-R qrels)",
            Self::Groups => "judgment groups (-R qrels_jg)",
            Self::Preferences => "preferences (-R prefs or qrels_prefs)",
        }
    }
}

fn run_id(run: &str) -> Column<'_> {
    let kind = ColumnKind::RunId(run);
    Column {
        name: "runid",
        kind,
    }
}

fn total(report: &Report, measure: Measure) -> f64 {
    let mut queries = report.queries().iter();
    if measure == Measure::NUM_REL && report.rules().missing == Missing::Zero {
        report.positive() as f64
    } else if queries.any(|query| report.undefined(query, measure)) {
        f64::NAN
    } else {
        report.summary(measure).unwrap_or(f64::NAN)
    }
}

/// The measures of a group.
fn group(judgments: Judgments, name: &str, generation: Generation) -> Option<Vec<&'static str>> {
    let general = ["runid", "num_q"];
    let preferences = PreferenceMeasure::ALL.iter().map(|measure| measure.name());
    match (judgments, name) {
        (Judgments::Grades, "official") => Some(OFFICIAL.to_vec()),
        (Judgments::Grades, "set") => Some(SET.to_vec()),
        (Judgments::Grades, "all_trec") => {
            let new = |name: &&str| generation == Generation::V10 || !NEW_IN_10.contains(name);
            let measures = MEASURES.iter().map(|entry| entry.0);
            let there = measures
                .filter(|name| !BESIDE_ALL.contains(name))
                .filter(new);
            Some(["runid", "relstring"].into_iter().chain(there).collect())
        }
        (Judgments::Groups, "qrels_jg") => {
            let measures = OF_GROUPS.iter().map(|entry| entry.0);
            Some(general.into_iter().chain(measures).collect())
        }
        (Judgments::Preferences, "all_prefs") => {
            Some(general.into_iter().chain(preferences).collect())
        }
        (Judgments::Preferences, "prefs") => Some(
            general
                .into_iter()
                .chain(preferences.take(PREFERENCES))
                .collect(),
        ),
        _ => None,
    }
}

fn is_name(judgments: Judgments, name: &str) -> bool {
    let known = |list: &[(&str, trec_names::Form)]| list.iter().any(|entry| entry.0 == name);
    match judgments {
        Judgments::Grades => matches!(name, "runid" | "relstring") || known(&MEASURES),
        Judgments::Groups => matches!(name, "runid" | "num_q") || known(&OF_GROUPS),
        Judgments::Preferences => {
            matches!(name, "runid" | "num_q") || name.parse::<PreferenceMeasure>().is_ok()
        }
    }
}

/// The judgments that a name needs, where they are others than these.
fn meant_for(judgments: Judgments, name: &str) -> Option<&'static str> {
    [Judgments::Grades, Judgments::Groups, Judgments::Preferences]
        .into_iter()
        .filter(|other| *other != judgments)
        .find(|&other| is_name(other, name) || group(other, name, Generation::V10).is_some())
        .map(Judgments::option)
}

/// Where the lines of a measure stand, by its name or by that of one of its values.
fn place(name: &str) -> Option<Place> {
    let position = |name: &str| {
        let mut all = MEASURES.iter().chain(&OF_GROUPS);
        all.position(|entry| entry.0 == name)
    };
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
