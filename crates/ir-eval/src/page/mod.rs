//! A comparison as a page to read and to pass on.

mod full;
mod tables;

pub use full::PageError;

use ir_core::Judgments;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::plots::{Plot, printable};
use crate::{Comparison, Judged, Measure, QueryDifference, RankChange, RankChanges};

/// A comparison as one self-contained page (HTML): its rules, its tables with marks, pictures with
/// the numbers behind them, and the queries that made the difference. It needs no network, no
/// script and no other file; it follows the reader's light or dark colours, and prints.
///
/// [`ComparisonPage::from_runs`] puts everything on it that the runs give; [`ComparisonPage::new`] leaves the choice to you.
///
/// ```
/// # use ir_core::{Qrels, Run};
/// # use ir_eval::{Comparison, Evaluator, Measure, ComparisonPage, ComparisonConfig};
/// # let mut qrels = Qrels::new();
/// # let (mut old, mut new) = (Run::new("old"), Run::new("new"));
/// # for query in ["q1", "q2", "q3"] {
/// #     qrels.insert(query, "d", 1);
/// #     if query != "q2" { old.push(query, "d", 1.0); }
/// #     if query != "q3" { new.push(query, "d", 1.0); }
/// # }
/// let runs = [old, new];
/// let evaluator = Evaluator::new(&qrels, &[Measure::RR])?;
/// let reports: Vec<_> = runs.iter().map(|run| evaluator.evaluate(run)).collect::<Result<_, _>>()?;
/// let comparison = Comparison::new(&reports, &ComparisonConfig::default())?;
///
/// let page = ComparisonPage::from_runs("Two systems", &comparison, &qrels, &[&runs[0], &runs[1]], 10)?;
/// let html = page.to_html();
/// assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<svg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ComparisonPage<'a> {
    /// What stands above all.
    pub title: String,
    /// What the page is about.
    pub comparison: &'a Comparison,
    /// The files that were compared: what each is ("judgments", "run bm25"), and its name.
    pub files: Vec<(String, String)>,
    /// The pictures, in their order.
    pub plots: Vec<Box<dyn Plot + 'a>>,
    /// The queries that made the difference, for each pair of systems that is shown.
    pub topics: Vec<WinsAndLosses>,
    /// What else the reader should know, in paragraphs: what was left out, for example.
    pub remarks: Vec<String>,
}

/// The queries on which a system gains most over another, and on which it loses most, with the
/// documents that moved.
#[derive(Debug, Clone, PartialEq)]
pub struct WinsAndLosses {
    /// The system.
    pub system: String,
    /// The one it is compared with.
    pub against: String,
    /// The measure.
    pub measure: Measure,
    /// The greatest gains, the greatest first.
    pub wins: Vec<QueryRankChanges>,
    /// The greatest losses, the greatest first.
    pub losses: Vec<QueryRankChanges>,
    /// How many queries are won and lost in all, and how many are neither.
    pub counts: [usize; 3],
}

/// A query and the documents that moved on it.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryRankChanges {
    /// The figures.
    pub topic: QueryDifference,
    /// The documents that moved, those that matter most first.
    pub moved: Vec<RankChange>,
    /// How many more there are.
    pub left_out: usize,
    /// How many of those are relevant.
    pub relevant_left_out: usize,
}

impl WinsAndLosses {
    /// Up to `most` wins and `most` losses, each with up to `documents` of the documents that
    /// moved: [`RankChanges::for_measure`] tells which matter to the measure. `None` where the comparison does not have the systems or the measure.
    #[must_use]
    pub fn new<J>(
        comparison: &Comparison,
        moves: &RankChanges<'_, J>,
        system: &str,
        against: &str,
        measure: Measure,
        most: usize,
        documents: usize,
    ) -> Option<Self>
    where
        J: Judgments + ?Sized,
    {
        let topics = comparison.query_differences(system, against, measure)?;
        let count = |sign: fn(f64) -> bool| topics.iter().filter(|t| sign(t.difference)).count();
        let (won, lost) = (count(|d| d > 0.0), count(|d| d < 0.0));
        let with_moves = |topic: &QueryDifference| {
            let mut moved = moves.on_query(&topic.query);
            let rest = moved.iter().skip(documents);
            let relevant_left_out = rest.filter(|moved| moves.is_relevant(moved)).count();
            let left_out = moved.len().saturating_sub(documents);
            moved.truncate(documents);
            QueryRankChanges {
                topic: topic.clone(),
                moved,
                left_out,
                relevant_left_out,
            }
        };
        let wins = topics.iter().take(won.min(most)).map(with_moves).collect();
        let losses = topics.iter().rev().take(lost.min(most));
        Some(Self {
            system: system.to_owned(),
            against: against.to_owned(),
            measure,
            wins,
            losses: losses.map(with_moves).collect(),
            counts: [won, lost, topics.len() - won - lost],
        })
    }
}

impl std::fmt::Debug for ComparisonPage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pictures: Vec<String> = self.plots.iter().map(|picture| picture.title()).collect();
        f.debug_struct("Page")
            .field("title", &self.title)
            .field("files", &self.files)
            .field("plots", &pictures)
            .finish_non_exhaustive()
    }
}

/// The looks of the page.
const STYLE: &str = include_str!("page.css");

impl<'a> ComparisonPage<'a> {
    /// A page without pictures.
    #[must_use]
    pub fn new(title: &str, comparison: &'a Comparison) -> Self {
        Self {
            title: title.to_owned(),
            comparison,
            files: Vec::new(),
            plots: Vec::new(),
            topics: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (shown(&self.title)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    main {
                        h1 { (shown(&self.title)) }
                        (self.contents())
                        section id="tables" {
                            h2 { "Tables" }
                            (tables::tables(self.comparison))
                        }
                        (self.rules())
                        (self.gallery())
                        (self.queries())
                    }
                }
            }
        };
        page.into_string()
    }

    fn contents(&self) -> Markup {
        html! {
            nav aria-label="contents" {
                ul {
                    li { a href="#tables" { "Tables" } }
                    li { a href="#rules" { "What was compared, and how" } }
                    @if !self.plots.is_empty() { li { a href="#pictures" { "Pictures" } } }
                    @if !self.topics.is_empty() { li { a href="#queries" { "Wins and losses" } } }
                }
            }
        }
    }

    fn rules(&self) -> Markup {
        html! {
            section id="rules" {
                h2 { "What was compared, and how" }
                ul {
                    @for note in self.comparison.notes() { li { (shown(&note)) } }
                    @for remark in &self.remarks { li { (shown(remark)) } }
                }
                @if !self.files.is_empty() {
                    dl {
                        @for (what, name) in &self.files {
                            dt { (shown(what)) }
                            dd { code { (shown(name)) } }
                        }
                    }
                }
            }
        }
    }

    fn gallery(&self) -> Markup {
        html! {
            @if !self.plots.is_empty() {
                section id="pictures" {
                    h2 { "Pictures" }
                    div.gallery {
                        @for picture in &self.plots {
                            @let csv = picture.to_csv();
                            figure {
                                figcaption { (shown(&picture.title())) }
                                (PreEscaped(picture.to_svg()))
                                details {
                                    summary { "Numbers (CSV, " (csv.lines().count().saturating_sub(1)) " rows)" }
                                    pre { (shown(&csv)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn queries(&self) -> Markup {
        html! {
            @if !self.topics.is_empty() {
                section id="queries" {
                    h2 { "Wins and losses" }
                    p {
                        "Ranks lead from the list of the one that is compared with to that of the system; – is not retrieved. "
                        "Grades are those of the judgments; – is not judged. "
                        "Documents with a high grade come first."
                    }
                    @for pair in &self.topics { (wins_and_losses(pair)) }
                }
            }
        }
    }
}

fn wins_and_losses(pair: &WinsAndLosses) -> Markup {
    let [won, lost, equal] = pair.counts;
    html! {
        details.pair open[won + lost <= 10] {
            summary {
                b { (shown(&pair.system)) } " against " b { (shown(&pair.against)) } " on " (pair.measure)
                ": " (won) " won, " (equal) " equal, " (lost) " lost"
            }
            @for (name, all, topics) in [("Won", won, &pair.wins), ("Lost", lost, &pair.losses)] {
                @if !topics.is_empty() {
                    div.wide {
                        table {
                            caption {
                                (name)
                                @if all > topics.len() {
                                    ": the first " (topics.len()) " of " (all) ", " (all - topics.len()) " left out"
                                }
                            }
                            thead {
                                tr {
                                    th scope="col" { "query" }
                                    th.n scope="col" { (shown(&pair.system)) }
                                    th.n scope="col" { (shown(&pair.against)) }
                                    th.n scope="col" { "difference" }
                                    th scope="col" { "documents that moved" }
                                }
                            }
                            tbody { @for topic in topics { (moves(topic)) } }
                        }
                    }
                }
            }
        }
    }
}

fn moves(topic: &QueryRankChanges) -> Markup {
    let figures = &topic.topic;
    let rank = |rank: Option<usize>| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    let grade = |judged: Judged| match judged {
        Judged::Grade(grade) => grade.to_string(),
        Judged::Unjudged | Judged::Unpooled => "–".to_owned(),
    };
    html! {
        tr {
            th scope="row" { (shown(&figures.query)) }
            td.n { (format!("{:.4}", figures.value)) }
            td.n { (format!("{:.4}", figures.against)) }
            td.n { (format!("{:+.4}", figures.difference).replace('-', "−")) }
            td {
                @if topic.moved.is_empty() { "none" } @else {
                    ul.moves {
                        @for moved in &topic.moved {
                            li {
                                code { (shown(&moved.doc)) }
                                " grade " (grade(moved.judged))
                                ", rank " (rank(moved.against)) " → " (rank(moved.rank))
                            }
                        }
                        @if topic.left_out > 0 {
                            li { "and " (topic.left_out) " others, " (topic.relevant_left_out) " of them relevant" }
                        }
                    }
                }
            }
        }
    }
}

/// Text in which nothing is invisible.
fn shown(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}
