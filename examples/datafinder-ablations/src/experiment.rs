//! The experiment: five datasets per test query, by every system, in both query forms.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ir_bm25::Bm25;
use ir_core::fusion::{DocumentPrior, WeightedSum};
use ir_core::{Distinct, Document, Qrels, Query, Retriever, Run, Search, Years};
use ir_data::Collection;
use ir_data::attribute;
use ir_data::catalog::Catalog;
use ir_eval::compare::Bootstrap;
use ir_eval::{Evaluator, Measure, Report, Rules, TieBreak};
use ir_knn::{TrainingQuery, TrainingQueryKnn, TrainingQueryKnnConfig};
use ir_studies::datafinder::{keyphrase_query, lexicographic_row_order};

use crate::models::{Model, Representation, train};
use crate::popularity::{Base, print_priors, print_sentences};
use crate::sources::{PaperQuery, Sources};
use datafinder::task::{MEASURES, in_keyphrases};

pub(crate) type System<'a> = Box<dyn Retriever<Query = str> + 'a>;

const VALIDATION_MEASURE: Measure = Measure::AP;

/// Test queries in one form, with their evaluator.
pub(crate) struct TestQueries<'a> {
    pub(crate) queries: Vec<Query>,
    pub(crate) evaluator: &'a Evaluator<'a>,
    pub(crate) datasets: &'a [Document],
}

impl TestQueries<'_> {
    /// Evaluates a system: five datasets per query, none newer than the query's paper.
    fn evaluate(&self, tag: &str, system: &dyn Retriever<Query = str>) -> Result<Report> {
        let years = years(system, self.datasets);
        let filters: Vec<_> = self
            .queries
            .iter()
            .map(|query| years.not_later_than(query.attributes.year()))
            .collect();
        let run = Run::from_retriever_with(tag, system, &self.queries, |n, _| {
            Search::top(5).within(&filters[n])
        })?;
        Ok(self.evaluator.evaluate(&run)?)
    }
}

/// Year of each document number; the first record of a dataset counts.
pub(crate) fn years(system: &dyn Retriever<Query = str>, datasets: &[Document]) -> Years {
    let ids = system.ids();
    let mut years = vec![None; ids.len()];
    for dataset in datasets.iter().rev() {
        if let Some(doc) = ids.get(&dataset.id) {
            years[doc.index()] = dataset.attributes.year();
        }
    }
    years.into_iter().collect::<Years>().of_first_record(ids)
}

/// Collection, training data and test queries.
pub(crate) struct Inputs {
    pub(crate) collection: Collection,
    pub(crate) datasets: Vec<Document>,
    pub(crate) sources: Sources,
    qrels: Qrels,
    sentences: Vec<Query>,
}

impl Inputs {
    pub(crate) fn read(catalog: &Catalog) -> Result<Self> {
        let collection = catalog.open("datafinder")?;
        let root = catalog.root().context("IR_DATA is not set")?;
        let datasets = lexicographic_row_order(collection.corpus())?;
        let all = collection.all_queries()?;
        let test_texts: Vec<String> = all
            .into_iter()
            .filter(|query| !query.id.starts_with("train-"))
            .map(|query| query.text)
            .collect();
        let sources = Sources::read(&root.join("datafinder"), &datasets, &test_texts)?;
        Ok(Self {
            qrels: collection.qrels("test")?,
            sentences: collection.queries("test")?,
            collection,
            datasets,
            sources,
        })
    }

    /// Evaluator in which ties keep the order of the run.
    pub(crate) fn evaluator(&self) -> Result<Evaluator<'_>> {
        let rules = Rules {
            ties: TieBreak::RunOrder,
            ..Rules::default()
        };
        Ok(Evaluator::with_rules(&self.qrels, &MEASURES, rules)?)
    }

    /// Test queries as sentences and as keyphrases.
    pub(crate) fn forms<'a>(&'a self, evaluator: &'a Evaluator<'a>) -> [TestQueries<'a>; 2] {
        let keyphrases = self.sentences.iter().map(in_keyphrases).collect();
        [self.sentences.clone(), keyphrases].map(|queries| TestQueries {
            queries,
            evaluator,
            datasets: &self.datasets,
        })
    }
}

/// Trains the encoders of these representations and runs the experiment; unless they are
/// [`Representation::ALL`], only the part on popularity, of the last encoder; without a model, only
/// BM25 with popularity.
pub(crate) fn run(untrained: Option<&Path>, representations: &[Representation]) -> Result<()> {
    let inputs = Inputs::read(&Catalog::from_env())?;
    let (datasets, sources) = (&inputs.datasets, &inputs.sources);
    println!(
        "{} datasets; {} training queries, {} held out",
        datasets.len(),
        sources.training.len(),
        sources.held_out.len()
    );
    let evaluator = inputs.evaluator()?;
    let forms = inputs.forms(&evaluator);

    let index = datafinder::systems::bm25_index(&inputs.collection)?;
    let bm25 = Distinct(index.searcher(Bm25::DATAFINDER)?);
    println!("\nMAP × 100 with a prior, log(1 + uses)");
    let bases = [Base {
        name: "BM25",
        system: &bm25,
        weights: &[0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0],
    }];
    print_priors(&forms, &bases, sources, datasets)?;
    let Some(untrained) = untrained else {
        return Ok(());
    };
    let work = std::env::var_os("IR_WORK").map(PathBuf::from);
    let work = work.unwrap_or_else(|| "target/datafinder-ablations".into());
    std::fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    let texts: Vec<String> = datasets
        .iter()
        .map(|dataset| Representation::Title.text(dataset, 0))
        .collect();
    let untrained_model = Model::open(
        untrained,
        &work.join("title-untrained.ir"),
        &texts,
        datasets,
    )?;
    let untrained_retriever = untrained_model.retriever();
    let bases = [Base {
        name: "MiniLM untrained, + title",
        system: &untrained_retriever,
        weights: &[0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08],
    }];
    print_priors(&forms, &bases, sources, datasets)?;
    print_sentences(&forms, &untrained_model, sources, datasets)?;
    let mut trained = Vec::new();
    for &representation in representations {
        println!("training: {}", representation.name());
        let model = train(
            untrained,
            &untrained_model,
            &work,
            representation,
            sources,
            datasets,
        )?;
        trained.push((representation, model));
    }
    let Some((last, best)) = trained.last() else {
        return Ok(());
    };
    println!("\ntrained, {}", last.name());
    print_sentences(&forms, best, sources, datasets)?;
    if representations.len() < Representation::ALL.len() {
        return Ok(());
    }
    let combined = weighted_sum(best, &bm25, sources, datasets)?;

    for (form, name, paper) in [
        (&forms[0], "full sentences", &PAPER[0]),
        (&forms[1], "keyphrases", &PAPER[1]),
    ] {
        println!(
            "\n{name:<34}{:>7}{:>7}{:>7}{:>7}   p < .05",
            "P@5", "R@5", "MAP", "MRR"
        );
        let lexical = form.evaluate("BM25", &bm25)?;
        let untrained = form.evaluate("untrained", &untrained_model.retriever())?;
        row("BM25", &lexical, &[])?;
        row("MiniLM untrained, + title", &untrained, &[("b", &lexical)])?;
        let against = [("b", &lexical), ("u", &untrained)];
        let mut description = None;
        for (representation, model) in &trained {
            let report = form.evaluate(representation.name(), &model.retriever())?;
            let mut against = against.to_vec();
            if let Some(description) = &description {
                against.push(("d", description));
            }
            row(
                &format!("trained, {}", representation.name()),
                &report,
                &against,
            )?;
            description.get_or_insert(report);
        }
        row(
            "weighted sum",
            &form.evaluate("weighted sum", &combined)?,
            &against,
        )?;
        for (name, cells) in paper {
            println!("  {:<32}{cells}", format!("paper: {name}"));
        }
    }
    println!(
        "\nMeans × 100 over {} queries, exact time filter, five datasets each. p < .05: P@5, R@5, MAP, MRR \
         significantly\nhigher by the paper's paired bootstrap (1,000 samples, one-sided) than b: \
         BM25, u: MiniLM untrained,\nd: trained on descriptions.",
        forms[0].queries.len()
    );
    hidden_fields(&forms[1], best)
}

/// The paper's Tables 1, 3 and 4, × 100.
const PAPER: [[(&str, &str); 4]; 2] = [
    [
        ("trained, description", "                     23.0"),
        ("trained, + structured", "   16.0   31.2   23.3   42.4"),
        ("COCO-DR untrained", "    6.1   14.8    8.8   15.7"),
        ("SciBERT untrained", "    0.0    0.0    0.0    0.0"),
    ],
    [
        ("trained (Table 1)", "   16.5   32.4   23.3   42.3"),
        ("trained, + structured", "   16.6   32.7   23.5   42.8"),
        ("COCO-DR untrained", "    6.2   13.9    9.6   16.8"),
        ("SciBERT untrained", "    0.0    0.0    0.0    0.0"),
    ],
];

/// Prints the four scores and, for each, the letters of the systems that are significantly lower.
fn row(name: &str, report: &Report, against: &[(&str, &Report)]) -> Result<()> {
    let mut line = format!("{name:<34}");
    let mut marks = Vec::new();
    for measure in MEASURES {
        let mean = report
            .summary(measure)
            .context("the report lacks the measure")?;
        line += &format!("{:>7.2}", 100.0 * mean);
        let mut above = String::new();
        for (letter, other) in against {
            if Bootstrap::DATAFINDER.compare(report, other, measure)?.p() < 0.05 {
                above += letter;
            }
        }
        marks.push(if above.is_empty() {
            "-".to_owned()
        } else {
            above
        });
    }
    println!("{line}   {}", marks.join(" "));
    Ok(())
}

/// Weighted sum of the trained encoder, dataset popularity, kNN over training queries, and BM25.
/// The weights are tuned one after the other on the held-out queries.
fn weighted_sum<'a>(
    model: &'a Model,
    bm25: &'a dyn Retriever<Query = str>,
    sources: &Sources,
    datasets: &[Document],
) -> Result<WeightedSum<System<'a>>> {
    let uses = datasets.iter().map(|dataset| {
        let uses = sources.uses(&dataset.id) as f32;
        (dataset.id.as_str(), uses.ln_1p())
    });
    let training: Vec<TrainingQuery> = sources
        .training
        .iter()
        .flat_map(|asked| {
            [&asked.sentence, &asked.keyphrases]
                .map(|text| TrainingQuery::new("", text, asked.datasets.iter().cloned()))
        })
        .filter(|query| !query.text.is_empty())
        .collect();
    let ids = datasets.iter().map(|dataset| &dataset.id).collect();
    let config = TrainingQueryKnnConfig::default().skip_unknown_documents();
    let knn = TrainingQueryKnn::new(ids, training, model.encoder.clone(), &config)?;
    let parts: [(System<'a>, f32); 4] = [
        (Box::new(model.retriever()), 1.0),
        (Box::new(DocumentPrior::new(uses)?), 0.0),
        (Box::new(knn), 0.0),
        (Box::new(bm25), 0.0),
    ];
    let grids: [(&str, &[f32]); 3] = [
        (
            "log(1 + uses)",
            &[0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08],
        ),
        ("kNN", &[0.0, 0.05, 0.1, 0.2, 0.3]),
        ("BM25", &[0.0, 0.002, 0.005, 0.01, 0.02]),
    ];
    let mut sum = WeightedSum::new(parts)?;

    let asked: Vec<(Query, &PaperQuery)> = sources
        .held_out
        .iter()
        .flat_map(|asked| [(&asked.sentence, asked), (&asked.keyphrases, asked)])
        .filter(|(text, _)| !text.is_empty())
        .enumerate()
        .map(|(n, (text, asked))| (Query::new(n.to_string(), text), asked))
        .collect();
    let mut qrels = Qrels::new();
    for (query, asked) in &asked {
        for dataset in &asked.datasets {
            qrels.insert(&query.id, dataset, 1);
        }
    }
    let queries: Vec<Query> = asked.into_iter().map(|(query, _)| query).collect();
    let evaluator = Evaluator::new(&qrels, &[VALIDATION_MEASURE])?;
    let mut weights = vec![1.0, 0.0, 0.0, 0.0];
    println!(
        "\n{VALIDATION_MEASURE} of {} held-out queries, cos + weight ·",
        queries.len()
    );
    for (part, (name, grid)) in (1..).zip(grids) {
        let mut best: Option<(f64, f32)> = None;
        let mut line = format!("  {name:<16}");
        for &weight in grid {
            weights[part] = weight;
            sum.set_weights(&weights)?;
            let run = Run::from_retriever("held out", &sum, &queries, 5)?;
            let score = evaluator
                .evaluate(&run)?
                .summary(VALIDATION_MEASURE)
                .unwrap_or(0.0);
            line += &format!("  {weight}: {:.2}", 100.0 * score);
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, weight));
            }
        }
        weights[part] = best.map_or(0.0, |(_, weight)| weight);
        println!("{line}; selected {}", weights[part]);
    }
    sum.set_weights(&weights)?;
    Ok(sum)
}

/// Figure 8 of the paper: keyphrase queries without one of their fields.
fn hidden_fields(keyphrases: &TestQueries<'_>, model: &Model) -> Result<()> {
    let fields = [
        attribute::TASK,
        attribute::MODALITY,
        attribute::DOMAIN,
        attribute::LANGUAGE,
    ];
    let all_fields = keyphrases.evaluate("all", &model.retriever())?;
    println!(
        "\nkeyphrases without a field, trained encoder (+ title, uses); MAP × 100, number of queries with it"
    );
    let map = |report: &Report| 100.0 * report.summary(Measure::AP).unwrap_or(0.0);
    println!(
        "  {:<12}{:>7.1}                    paper: 23.5",
        "all",
        map(&all_fields)
    );
    let paper = BTreeMap::from([
        (attribute::TASK, "paper: 7.5, p < .001"),
        (attribute::LANGUAGE, "paper: p < .0001"),
    ]);
    for hidden in fields {
        let mut queries = keyphrases.queries.clone();
        let mut with_field = 0;
        for query in &mut queries {
            let field = |name: &&str| query.attributes.text(name);
            with_field += usize::from(field(&hidden).is_some());
            query.text = keyphrase_query(
                fields
                    .iter()
                    .filter(|&&name| name != hidden)
                    .filter_map(field),
            );
        }
        let form = TestQueries {
            queries,
            evaluator: keyphrases.evaluator,
            datasets: keyphrases.datasets,
        };
        let report = form.evaluate(hidden, &model.retriever())?;
        let p = Bootstrap::DATAFINDER
            .compare(&all_fields, &report, Measure::AP)?
            .p();
        println!(
            "  {:<12}{:>7.1}  p = {p:.3}  {with_field:>3}    {}",
            hidden,
            map(&report),
            paper.get(hidden).unwrap_or(&"")
        );
    }
    Ok(())
}
