//! Papers, datasets, and the test queries of the bundled files.

use std::path::Path;

use anyhow::Result;
use ir_core::{Corpus, Document, Qrels, Query, Retriever, Run};
use ir_data::datafinder::{DatasetCorpus, DatasetQuery, read_test_queries};
use ir_data::s2orc::{Paper, read_papers};
use ir_eval::{Evaluator, Measure};

const PAPERS: &str = include_str!("../data/papers.jsonl");
const DATASETS: &str = include_str!("../data/datasets.jsonl");
const TEST: &str = include_str!("../data/test_queries.jsonl");

const MEASURES: [Measure; 2] = [Measure::RR, Measure::R.at(3)];

pub(crate) struct Files {
    pub(crate) papers: Vec<Paper>,
    pub(crate) datasets: Vec<Document>,
    pub(crate) test: Option<Test>,
}

pub(crate) struct Test {
    pub(crate) queries: Vec<Query>,
    qrels: Qrels,
}

impl Files {
    pub(crate) fn bundled() -> Result<Self> {
        let queries = read_test_queries(TEST.as_bytes(), "test_queries.jsonl", "q")?;
        let mut reader = DatasetCorpus::read(DATASETS.as_bytes(), "datasets.jsonl");
        let (mut datasets, mut dataset) = (Vec::new(), Document::default());
        while reader.read(&mut dataset)? {
            datasets.push(dataset.clone());
        }
        Ok(Self {
            papers: read_papers(PAPERS.as_bytes(), "papers.jsonl")?,
            datasets,
            test: Some(Test {
                qrels: DatasetQuery::qrels(&queries),
                queries: queries.into_iter().map(|row| row.query).collect(),
            }),
        })
    }

    pub(crate) fn open(papers: &Path, datasets: &Path) -> Result<Self> {
        let source = papers.display().to_string();
        let datasets = DatasetCorpus::new(datasets);
        Ok(Self {
            papers: read_papers(ir_data::open(papers)?, &source)?,
            datasets: datasets.docs()?.collect::<Result<_, _>>()?,
            test: None,
        })
    }
}

impl Test {
    /// Evaluates a system and prints a row of the table.
    pub(crate) fn print(&self, name: &str, system: &dyn Retriever<Query = str>) -> Result<()> {
        let run = Run::from_retriever(name, system, &self.queries, 10)?;
        let report = Evaluator::new(&self.qrels, &MEASURES)?.evaluate(&run)?;
        let values = MEASURES.map(|measure| report.summary(measure).unwrap_or_default());
        println!("{name:<25} {:>6.4} {:>6.4}", values[0], values[1]);
        Ok(())
    }
}
