//! Page of a comparison.

use ir_core::Judgments;
use maud::{Markup, html};
use serde::Serialize;

use super::layout::{document, gallery, printable_lines};
use super::tables;
use crate::compare::{Comparison, PairwiseTest, QueryDifference};
use crate::judged::JudgmentStatus;
use crate::measure::Measure;
use crate::plots::Plot;
use crate::runs::{RankChange, RankChanges, RankedDocument, SideBySide};

/// HTML page of a comparison: tables with significance marks, rules, plots with their data, and the
/// queries with the largest differences.
///
/// The page is self-contained: no scripts, no network access, no other files. It follows the light
/// or dark color scheme of the reader, and prints. [`ComparisonPage::from_runs`] adds all plots and
/// queries; [`ComparisonPage::new`] starts with tables only.
///
/// ```
/// # use ir_core::{Qrels, Run};
/// # use ir_eval::compare::{Comparison, ComparisonConfig};
/// # use ir_eval::{ComparisonPage, Evaluator, Measure};
/// # let mut qrels = Qrels::new();
/// # let (mut old, mut new) = (Run::new("old"), Run::new("new"));
/// # for query in ["q1", "q2", "q3"] {
/// #     qrels.insert(query, "d", 1);
/// #     if query != "q2" { old.push(query, "d", 1.0); }
/// #     if query != "q3" { new.push(query, "d", 1.0); }
/// # }
/// let runs = [old, new];
/// let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
/// let reports = [evaluator.evaluate(&runs[0])?, evaluator.evaluate(&runs[1])?];
/// let comparison = Comparison::new(&reports, &ComparisonConfig::default())?;
///
/// let lists = [&runs[0], &runs[1]];
/// let page = ComparisonPage::from_runs("Two systems", &comparison, &qrels, &lists, 10)?;
/// let html = page.to_html();
/// assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<svg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ComparisonPage<'a> {
    /// Title of the page.
    pub title: String,
    /// Comparison that the page shows.
    pub comparison: &'a Comparison,
    /// Input files: description ("judgments", "run bm25") and file name.
    pub files: Vec<(String, String)>,
    /// Plots, in page order.
    pub plots: Vec<Box<dyn Plot + 'a>>,
    /// Queries with the largest differences, for each pair of systems.
    pub wins_and_losses: Vec<WinsAndLosses>,
    /// Lists of single queries. Default: none.
    pub lists: Vec<SideBySide>,
    /// Additional notes, for example on omitted plots.
    pub remarks: Vec<String>,
}

/// Queries with the largest gains and losses of one system against another, and their changes of
/// rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WinsAndLosses {
    /// Measure of the differences.
    pub measure: Measure,
    /// Name of the system.
    pub system: String,
    /// Name of the system that it is compared with.
    pub against: String,
    /// Total number of won queries, as in [`EffectSize`](crate::compare::significance::EffectSize).
    pub wins: usize,
    /// Total number of lost queries.
    pub losses: usize,
    /// Total number of tied queries.
    #[serde(skip)]
    pub ties: usize,
    /// Largest gains, in descending order.
    pub gains: Vec<QueryRankChanges>,
    /// Largest losses, in descending order.
    pub drops: Vec<QueryRankChanges>,
}

/// Query and the documents at another rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryRankChanges {
    /// Values of both systems.
    #[serde(flatten)]
    pub values: QueryDifference,
    /// Documents with different ranks, in order of influence on the measure.
    #[serde(rename = "moved")]
    pub changes: Vec<RankChange>,
    /// Number of omitted documents.
    #[serde(rename = "further")]
    pub omitted: usize,
    /// Number of relevant documents among the omitted ones.
    #[serde(rename = "further_relevant")]
    pub relevant_omitted: usize,
}

impl WinsAndLosses {
    /// Selects up to `queries` wins and `queries` losses of a tested pair, each with up to
    /// `documents` rank changes; see [`RankChanges::for_measure`]. `None` if the comparison does
    /// not have the systems or the measure.
    #[must_use]
    pub fn new<J>(
        comparison: &Comparison,
        changes: &RankChanges<'_, J>,
        pair: &PairwiseTest,
        queries: usize,
        documents: usize,
    ) -> Option<Self>
    where
        J: Judgments + ?Sized,
    {
        let (system, against, measure) = (&pair.system, &pair.against, pair.measure);
        let differences = comparison.query_differences(system, against, measure)?;
        let effect = &pair.effect;
        let with_changes = |values: &QueryDifference| {
            let mut shown = changes.on_query(&values.query);
            let rest = shown.iter().skip(documents);
            let relevant_omitted = rest.filter(|change| changes.is_relevant(change)).count();
            let omitted = shown.len().saturating_sub(documents);
            shown.truncate(documents);
            QueryRankChanges {
                values: values.clone(),
                changes: shown,
                omitted,
                relevant_omitted,
            }
        };
        let gains = differences.iter().take(effect.wins.min(queries));
        let drops = differences.iter().rev().take(effect.losses.min(queries));
        Some(Self {
            measure,
            system: system.clone(),
            against: against.clone(),
            wins: effect.wins,
            losses: effect.losses,
            ties: effect.ties,
            gains: gains.map(with_changes).collect(),
            drops: drops.map(with_changes).collect(),
        })
    }
}

impl<'a> ComparisonPage<'a> {
    /// Creates a page with tables and rules only.
    #[must_use]
    pub fn new(title: &str, comparison: &'a Comparison) -> Self {
        Self {
            title: title.to_owned(),
            comparison,
            files: Vec::new(),
            plots: Vec::new(),
            wins_and_losses: Vec::new(),
            lists: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Renders the page as one HTML document.
    #[must_use]
    pub fn to_html(&self) -> String {
        document(
            &self.title,
            &html! {
                (self.contents())
                section id="tables" {
                    h2 { "Tables" }
                    (tables::tables(self.comparison))
                }
                (self.rules())
                (self.lists())
                (gallery(&self.plots))
                (self.queries())
            },
        )
    }

    fn contents(&self) -> Markup {
        html! {
            nav aria-label="contents" {
                ul {
                    li { a href="#tables" { "Tables" } }
                    li { a href="#rules" { "What was compared, and how" } }
                    @if !self.lists.is_empty() { li { a href="#lists" { "Lists" } } }
                    @if !self.plots.is_empty() { li { a href="#plots" { "Plots" } } }
                    @if !self.wins_and_losses.is_empty() { li { a href="#queries" { "Wins and losses" } } }
                }
            }
        }
    }

    fn rules(&self) -> Markup {
        html! {
            section id="rules" {
                h2 { "What was compared, and how" }
                ul {
                    @for note in self.comparison.notes() { li { (printable_lines(&note)) } }
                    @for remark in &self.remarks { li { (printable_lines(remark)) } }
                }
                @if !self.files.is_empty() {
                    dl {
                        @for (description, name) in &self.files {
                            dt { (printable_lines(description)) }
                            dd { code { (printable_lines(name)) } }
                        }
                    }
                }
            }
        }
    }

    fn lists(&self) -> Markup {
        html! {
            @if !self.lists.is_empty() {
                section id="lists" {
                    h2 { "Lists" }
                    p { "Relevant documents are bold. The number after a document is its grade." }
                    @for lists in &self.lists { (side_by_side(lists)) }
                }
            }
        }
    }

    fn queries(&self) -> Markup {
        html! {
            @if !self.wins_and_losses.is_empty() {
                section id="queries" {
                    h2 { "Wins and losses" }
                    p {
                        "Ranks change from the second system to the first one; – means not retrieved. "
                        "– as a grade means not judged. "
                        "Relevant documents come first."
                    }
                    @for pair in &self.wins_and_losses { (wins_and_losses(pair)) }
                }
            }
        }
    }
}

/// The lists of a query as columns.
fn side_by_side(query: &SideBySide) -> Markup {
    let ranks = query.lists.iter().map(|list| list.documents.len());
    let ranks = ranks.max().unwrap_or_default();
    html! {
        div.wide {
            table {
                caption { (printable_lines(&query.query)) ", " (query.relevant) " relevant" }
                thead {
                    tr {
                        th.n scope="col" { "rank" }
                        @for list in &query.lists {
                            th scope="col" { (printable_lines(&list.system)) }
                        }
                    }
                }
                tbody {
                    @for rank in 0..ranks {
                        tr {
                            th.n scope="row" { (rank + 1) }
                            @for list in &query.lists {
                                td { @if let Some(document) = list.documents.get(rank) { (ranked(document)) } }
                            }
                        }
                    }
                }
            }
        }
        @if !query.missed.is_empty() {
            p {
                "Relevant documents in no list: "
                @for (at, document) in query.missed.iter().enumerate() {
                    @if at > 0 { ", " }
                    (ranked(document))
                }
            }
        }
    }
}

fn ranked(document: &RankedDocument) -> Markup {
    let doc = printable_lines(&document.doc);
    html! {
        @if document.relevant { b { (doc) } } @else { (doc) }
        @if let JudgmentStatus::Grade(grade) = document.judged { " " (grade) }
    }
}

fn wins_and_losses(pair: &WinsAndLosses) -> Markup {
    let (won, lost, equal) = (pair.wins, pair.losses, pair.ties);
    html! {
        details.pair open[won + lost <= 10] {
            summary {
                b { (printable_lines(&pair.system)) } " against " b { (printable_lines(&pair.against)) } " on " (pair.measure)
                ": " (won) " won, " (equal) " equal, " (lost) " lost"
            }
            @for (name, all, queries) in [("Won", won, &pair.gains), ("Lost", lost, &pair.drops)] {
                @if !queries.is_empty() {
                    div.wide {
                        table {
                            caption {
                                (name)
                                @if all > queries.len() {
                                    ": the first " (queries.len()) " of " (all) ", " (all - queries.len()) " left out"
                                }
                            }
                            thead {
                                tr {
                                    th scope="col" { "query" }
                                    th.n scope="col" { (printable_lines(&pair.system)) }
                                    th.n scope="col" { (printable_lines(&pair.against)) }
                                    th.n scope="col" { "difference" }
                                    th scope="col" { "documents with another rank" }
                                }
                            }
                            tbody { @for query in queries { (query_row(query)) } }
                        }
                    }
                }
            }
        }
    }
}

fn query_row(query: &QueryRankChanges) -> Markup {
    let values = &query.values;
    let rank = |rank: Option<usize>| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    let grade = |judged: JudgmentStatus| match judged {
        JudgmentStatus::Grade(grade) => grade.to_string(),
        JudgmentStatus::Unjudged | JudgmentStatus::Unpooled => "–".to_owned(),
    };
    html! {
        tr {
            th scope="row" { (printable_lines(&values.query)) }
            td.n { (format!("{:.4}", values.value)) }
            td.n { (format!("{:.4}", values.against)) }
            td.n { (format!("{:+.4}", values.difference).replace('-', "−")) }
            td {
                @if query.changes.is_empty() { "none" } @else {
                    ul.moves {
                        @for change in &query.changes {
                            li {
                                code { (printable_lines(&change.doc)) }
                                " grade " (grade(change.judged))
                                ", rank " (rank(change.against)) " → " (rank(change.rank))
                            }
                        }
                        @if query.omitted > 0 {
                            li { "and " (query.omitted) " others, " (query.relevant_omitted) " of them relevant" }
                        }
                    }
                }
            }
        }
    }
}
