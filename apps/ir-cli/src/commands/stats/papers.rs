//! Papers of the ICLR dataset: documents, reviews, scores and decisions.

use anyhow::Result;
use ir_core::Document;
use ir_eval::{CorpusStatistics, Histogram};
use ir_studies::iclr::PaperStatistics;
use serde_json::json;

use super::{Args, Row, by_value, corpus_rows, plots};
use crate::shared::console::bail_usage;
use crate::shared::format::{grouped, table_with_text};
use crate::shared::options::first_set;
use crate::shared::output::{OutputPath, create_folder, print};
use crate::shared::plots::write_plots;

/// Statistics of the papers in a Parquet or Arrow file. The text of a document is its title and
/// abstract.
pub(super) fn run_papers(args: &Args) -> Result<()> {
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
    let _new_folder = folder.as_deref().map(create_folder).transpose()?;
    let found = PaperStatistics::new(&papers);
    let lengths = papers.iter().map(|paper| paper.scores.len() as i64);
    let reviews: Histogram = lengths.collect();
    let documents: Vec<Document> = papers.into_iter().map(Document::from).collect();
    let corpus = CorpusStatistics::new(&documents, &analyzer)?;
    let text = if args.json {
        let object = json!({
            "collection": name,
            "corpus": corpus,
            "papers": {
                "unlabeled": found.unlabeled,
                "without_keywords": found.without_keywords,
                "papers_by_reviews": reviews,
                "reviews_per_reviewed_paper": found.reviews_per_paper(),
                "three_or_four_reviews": found.three_or_four(),
                "score_pairs": found.score_pairs,
                "score_correlation": found.score_correlation,
                "acceptance": found.acceptance(),
            },
        });
        object.to_string()
    } else {
        let mut rows = corpus_rows(name, &corpus);
        rows.extend(rows_of(&found, &reviews));
        table_with_text(rows, 1)
    };
    print(text)?;
    match folder {
        Some(folder) => write_plots(&plots(&corpus, &Vec::new()), &folder),
        None => Ok(()),
    }
}

fn rows_of(found: &PaperStatistics, reviews: &Histogram) -> Vec<Row> {
    let decimals = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let percent = |value: Option<f64>| match value {
        Some(value) => format!("{:.1} %", 100.0 * value),
        None => "-".to_owned(),
    };
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
        ("ordered pairs of scores", grouped(found.score_pairs)),
        (
            "correlation of scores",
            decimals(found.score_correlation, 4),
        ),
        ("accepted", percent(found.acceptance())),
    ];
    rows.map(|(name, value)| [name.to_owned(), value]).to_vec()
}
