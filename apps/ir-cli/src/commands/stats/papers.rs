//! Papers of the ICLR dataset: documents, reviews, scores and decisions.

use std::collections::BTreeMap;

use anyhow::Result;
use ir_core::Document;
use ir_eval::plots::{CurvePlot, HistogramPlot, Plot, PlotAxis};
use ir_eval::runs::MeasureCurve;
use ir_eval::{CorpusStatistics, Histogram};
use ir_studies::iclr::PaperStatistics;
use serde_json::{Value, json};

use super::labels::KeywordLabels;
use super::{Args, MAX_BARS, Row, attributes, by_value, corpus_rows, plots};
use crate::shared::console::{Console, bail_usage};
use crate::shared::format::{grouped, table_with_text};
use crate::shared::options::first_set;
use crate::shared::output::{OutputPath, create_folder, print};
use crate::shared::plots::write_plots;

/// Statistics of the papers in a Parquet or Arrow file. The text of a document is its title and
/// abstract.
pub(super) fn run_papers(args: &Args, console: &Console) -> Result<()> {
    let name = &args.collection;
    let of_judgments = first_set([
        ("--split", args.split.is_some()),
        ("--level", args.level.is_some()),
        ("--communities", args.communities),
    ]);
    if let Some(option) = of_judgments {
        bail_usage!("{option}: expected a collection with judgments, found {name}");
    }
    let folder = args.plots.as_ref().map(OutputPath::folder);
    let analyzer = args.analyzer()?;
    let papers = ir_data::iclr::read(name)?;
    if papers.is_empty() {
        bail_usage!("{name}: expected papers, found none");
    }
    let labels = KeywordLabels::read(args, &papers, console)?;
    let _new_folder = folder.as_deref().map(create_folder).transpose()?;
    let found = PaperStatistics::new(&papers);
    let years = PaperStatistics::by_year(&papers);
    let reviews: Histogram = papers
        .iter()
        .map(|paper| paper.scores.len() as i64)
        .collect();
    let scores: Histogram = papers
        .iter()
        .flat_map(|paper| paper.scores.clone())
        .collect();
    let documents: Vec<Document> = papers.into_iter().map(Document::from).collect();
    let corpus = CorpusStatistics::with_attributes(&documents, &analyzer, &args.by)?;
    attributes::check(&corpus, &documents)?;
    let text = if args.json {
        let mut papers = object_of(&found);
        papers["papers_by_reviews"] = json!(reviews);
        papers["reviews_by_score"] = json!(scores);
        let years = years
            .iter()
            .map(|(year, found)| (year.to_string(), object_of(found)));
        papers["by_year"] = Value::Object(years.collect());
        if let Some(labels) = &labels {
            papers["by_keywords"] = labels.to_json();
        }
        json!({ "collection": name, "corpus": corpus, "papers": papers }).to_string()
    } else {
        let mut rows = corpus_rows(name, &corpus);
        rows.extend(rows_of(&found, &reviews, &scores));
        rows.extend(years.iter().map(|(year, found)| row_of_year(*year, found)));
        rows.extend(labels.iter().flat_map(KeywordLabels::rows));
        table_with_text(rows, 1)
    };
    print(text)?;
    if let Some(labels) = &labels {
        labels.write(args)?;
    }
    match folder {
        Some(folder) => {
            let mut plots = plots(&corpus, &Vec::new());
            plots.extend(histograms(&reviews, &scores));
            plots.extend(curves(&years));
            write_plots(&plots, &folder)
        }
        None => Ok(()),
    }
}

fn object_of(found: &PaperStatistics) -> Value {
    json!({
        "papers": found.papers,
        "unlabeled": found.unlabeled,
        "without_keywords": found.without_keywords,
        "reviewed": found.reviewed,
        "reviews_per_reviewed_paper": found.reviews_per_paper(),
        "three_or_four_reviews": found.three_or_four(),
        "mean_score": found.mean_score,
        "score_pairs": found.score_pairs,
        "score_correlation": found.score_correlation,
        "acceptance": found.acceptance(),
    })
}

fn decimals(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

fn percent(value: Option<f64>) -> String {
    match value {
        Some(value) => format!("{:.1} %", 100.0 * value),
        None => "-".to_owned(),
    }
}

fn row_of_year(year: i32, found: &PaperStatistics) -> Row {
    let value = format!(
        "{} papers, {} accepted, {} reviews per reviewed paper, mean score {}, correlation {}",
        grouped(found.papers as u64),
        percent(found.acceptance()),
        decimals(found.reviews_per_paper(), 2),
        decimals(found.mean_score, 2),
        decimals(found.score_correlation, 4)
    );
    [format!("papers of {year}"), value]
}

fn histograms(reviews: &Histogram, scores: &Histogram) -> Vec<Box<dyn Plot>> {
    let plot = |title: &str, value: &str, count: &str, found: &Histogram| {
        let bars = found.by_value(MAX_BARS);
        // One bar shows no distribution.
        let plot = (bars.len() > 1).then(|| HistogramPlot {
            title: title.to_owned(),
            value: value.to_owned(),
            count: count.to_owned(),
            bars,
        });
        plot.map(|plot| Box::new(plot) as Box<dyn Plot>)
    };
    let plots = [
        plot("papers by reviews", "reviews", "papers", reviews),
        plot("reviews by score", "score", "reviews", scores),
    ];
    plots.into_iter().flatten().collect()
}

/// Acceptance, mean score and correlation over the years.
fn curves(years: &BTreeMap<i32, PaperStatistics>) -> Vec<Box<dyn Plot>> {
    let plot = |title: &str, value: fn(&PaperStatistics) -> Option<f64>| {
        let points = years.iter();
        let points = points.filter_map(|(year, found)| Some((f64::from(*year), value(found)?)));
        let points: Vec<(f64, f64)> = points.collect();
        let plot = (points.len() > 1).then(|| CurvePlot {
            title: format!("{title} by year"),
            x: PlotAxis {
                title: "year".to_owned(),
                logarithmic: false,
            },
            y: title.to_owned(),
            curves: vec![MeasureCurve {
                system: title.to_owned(),
                points,
            }],
            highlighted: None,
        });
        plot.map(|plot| Box::new(plot) as Box<dyn Plot>)
    };
    let plots = [
        plot("acceptance", PaperStatistics::acceptance),
        plot("mean score", |found| found.mean_score),
        plot("correlation of scores", |found| found.score_correlation),
    ];
    plots.into_iter().flatten().collect()
}

fn rows_of(found: &PaperStatistics, reviews: &Histogram, scores: &Histogram) -> Vec<Row> {
    let rows = [
        ("papers without class", grouped(found.unlabeled as u64)),
        (
            "papers without keywords",
            grouped(found.without_keywords as u64),
        ),
        ("papers by reviews", by_value(reviews)),
        (
            "reviews per reviewed paper",
            decimals(found.reviews_per_paper(), 2),
        ),
        ("3 or 4 reviews", percent(found.three_or_four())),
        ("reviews by score", by_value(scores)),
        ("mean score", decimals(found.mean_score, 2)),
        ("ordered pairs of scores", grouped(found.score_pairs)),
        (
            "correlation of scores",
            decimals(found.score_correlation, 4),
        ),
        ("accepted", percent(found.acceptance())),
    ];
    rows.map(|(name, value)| [name.to_owned(), value]).to_vec()
}
