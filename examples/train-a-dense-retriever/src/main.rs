//! Fine-tunes a sentence encoder on a thousand labeled queries and combines it with kNN over
//! training queries and BM25: hard-negative mining, training, weights tuned on held-out queries,
//! one test.
//!
//! `IR_MODEL=$(.ci/model) cargo run --release -p train-a-dense-retriever -- [FOLDER [PRECISION]]`;
//! on MAKG if it is in `IR_DATA`, otherwise in seconds on the bundled collection. FOLDER receives
//! the trained encoder; checkpoints beside it allow an interrupted training to resume. PRECISION is
//! that of training: f32 or bf16.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

mod results;
mod systems;
mod task;

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, Result};
use ir_bm25::{Bm25, DuplicateIds, Index, IndexConfig, IndexedFields};
use ir_core::fusion::Fusion;
use ir_core::fusion::{Fused, WeightedSum};
use ir_core::{Distinct, Flow, NoProgress};
use ir_data::catalog::Catalog;
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{BiEncoder, EncoderConfig};
use ir_eval::Measure;
use ir_eval::compare::ParameterSweep;
use systems::{Dense, System, boxed};
use task::Task;

/// Validation measure: selects the checkpoint and the weights.
const VALIDATION_MEASURE: Measure = Measure::NDCG.at(5);

/// Grid of the weights in cos + w·(cosine to training queries) + α·BM25.
const KNN_WEIGHTS: [f32; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
const ALPHAS: [f32; 5] = [0.0, 0.002, 0.005, 0.01, 0.02];

fn main() -> Result<()> {
    let Some(model) = env::var_os("IR_MODEL") else {
        println!(
            "Set IR_MODEL to the folder of an encoder to fine-tune.\n\
             In a checkout, IR_MODEL=$(.ci/model) downloads all-MiniLM-L6-v2 (91 MB)."
        );
        return Ok(());
    };
    let catalog = Catalog::from_env();
    let (name, template) = if catalog.has("makg")? {
        ("makg", "{title}")
    } else {
        ("bundled", "{title} {text}")
    };
    let task = Task::open(&catalog.open(name)?, template)?;
    println!("{task}\n");

    // Baselines: BM25, kNN over training queries, and the encoder without training.
    let collection = catalog.open(name)?;
    let config = IndexConfig::default()
        .with_fields(IndexedFields::TextOnly)
        .with_duplicates(DuplicateIds::Keep);
    let index = Index::build(collection.corpus(), &config, &mut NoProgress)?;
    let bm25 = Distinct(index.searcher(Bm25::default())?);
    let tfidf = systems::knn_tfidf(&task)?;
    let untrained = Dense::new(open(Path::new(&model))?);
    let mut runs = vec![
        task.run("BM25", &bm25)?,
        task.run("kNN (TF-IDF)", &tfidf)?,
        task.run("encoder, untrained", &untrained.by_document(&task)?)?,
        task.run("kNN (untrained)", &untrained.by_training_query(&task)?)?,
    ];

    // Training, unless the folder already has a model.
    let scratch = tempfile::tempdir()?;
    let folder = env::args().nth(1).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| scratch.path().join("trained"));
    if folder.join("config.json").exists() {
        println!("{}: already trained\n", folder.display());
    } else {
        train(Path::new(&model), &folder, &task, &bm25)?;
    }
    let trained = Dense::new(open(&folder)?);
    runs.push(task.run("encoder, trained", &trained.by_document(&task)?)?);
    runs.push(task.run("kNN (trained)", &trained.by_training_query(&task)?)?);

    // Weights are tuned on the held-out queries, with kNN over the other training queries.
    let settings = combinations(
        &trained,
        &task.without_held_out(),
        &bm25,
        |setting, system| task.held_out.run(setting, system),
    )?;
    let evaluator = task.held_out.evaluator(&[VALIDATION_MEASURE])?;
    let reports = settings
        .iter()
        .map(|run| evaluator.evaluate(run))
        .collect::<Result<Vec<_>, _>>()?;
    let sweep = ParameterSweep::new(&reports, VALIDATION_MEASURE, None)?;
    println!("{VALIDATION_MEASURE} of weighted sums and fusions on the held-out queries, top 5:");
    let mut order: Vec<_> = sweep.settings.iter().collect();
    order.sort_by(|a, b| b.score.total_cmp(&a.score));
    for setting in order.iter().take(5) {
        println!("  {:<32} {:.4}", setting.name, setting.score);
    }
    let best = &sweep.best().name;
    println!(
        "  selected: {best}; leave-one-query-out {:.4}\n",
        sweep.held_out_score
    );

    // Test once, with kNN over all training queries.
    let combined = combinations(&trained, &task, &bm25, |setting, system| {
        (setting == best)
            .then(|| task.run("combined", system))
            .transpose()
    })?;
    runs.extend(combined.into_iter().flatten());
    results::print(&task, &runs, catalog.root())
}

/// Opens an encoder for search, with longer queries than in training.
fn open(folder: &Path) -> Result<BiEncoder> {
    let config = EncoderConfig::default().with_max_tokens(256);
    Ok(BiEncoder::open_with(folder, &config)?)
}

/// Fine-tunes a model and writes it to a folder.
fn train(model: &Path, folder: &Path, task: &Task, bm25: System<'_>) -> Result<()> {
    // Hard negatives from BM25, and random negatives.
    let examples = task.with_negatives(bm25)?;
    let mut config = TrainingConfig::small_data();
    config.epochs = 3;
    config.hard_negatives = 1;
    config.learning_rate = 1e-4;
    config.precision = env::args().nth(2).as_deref().unwrap_or("f32").parse()?;
    config.encoder.query.max_tokens = Some(64);
    config.encoder.document.max_tokens = Some(64);

    // Evaluate before training and after every epoch; keep the best weights.
    let evaluator = task.held_out.evaluator(&[VALIDATION_MEASURE])?;
    let began = Instant::now();
    let mut evaluate = |encoder: &BiEncoder, step: u64| {
        let run = systems::by_document(encoder, task)
            .and_then(|system| task.held_out.run("held out", &system))?;
        let value = evaluator
            .evaluate(&run)?
            .summary(VALIDATION_MEASURE)
            .unwrap_or(0.0);
        println!(
            "  step {step:>3}, {:>4.0} s: {VALIDATION_MEASURE} {value:.4} on the held-out queries",
            began.elapsed().as_secs_f64()
        );
        Ok(value)
    };
    let mut progress = |_: &str, step: u64, steps: Option<u64>| {
        if step.is_multiple_of(10) {
            eprintln!("  step {step} of {}", steps.unwrap_or(0));
        }
        Flow::Continue
    };
    // After an interruption or crash, the same command resumes and produces the same bytes.
    let mut checkpoints = folder.as_os_str().to_owned();
    checkpoints.push(".checkpoints");
    println!(
        "training: {} queries, batch size {}, {} epochs:",
        examples.len(),
        config.batch_size,
        config.epochs
    );
    let trained = Trainer::open(model, &config)?
        .with_checkpoints(&checkpoints)
        .with_checkpoint_every(20)
        .train_and_evaluate(&examples, &mut evaluate, &mut progress)?;
    trained.encoder.save(folder)?;
    fs::write(folder.join("history.csv"), trained.history.to_csv())?;
    let curves = trained.history.to_svg(&VALIDATION_MEASURE.to_string());
    fs::write(folder.join("curves.svg"), curves)?;
    fs::remove_dir_all(&checkpoints).context("cannot remove the checkpoints")?;
    println!("  best weights: step {}\n", trained.step);
    Ok(())
}

/// Runs all combinations: rank and score fusion, and weighted sums over a grid.
fn combinations<T>(
    dense: &Dense,
    task: &Task,
    bm25: System<'_>,
    mut run: impl FnMut(&str, System<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let (dense_docs, dense_queries) = (dense.by_document(task)?, dense.by_training_query(task)?);
    let mut found = Vec::new();
    for (name, fusion) in [("RRF", Fusion::RRF), ("CombSUM", Fusion::COMB_SUM)] {
        let two = Fused::new([boxed(&dense_docs), boxed(&dense_queries)], fusion, 50)?;
        found.push(run(&format!("{name} of two"), &two)?);
        let three = Fused::new(
            [boxed(&dense_docs), boxed(&dense_queries), boxed(bm25)],
            fusion,
            50,
        )?;
        found.push(run(&format!("{name} of three"), &three)?);
    }
    let parts = [
        (boxed(&dense_docs), 1.0),
        (boxed(&dense_queries), 0.0),
        (boxed(bm25), 0.0),
    ];
    let mut sum = WeightedSum::new(parts)?;
    for weight in KNN_WEIGHTS {
        for alpha in ALPHAS {
            sum.set_weights(&[1.0, weight, alpha])?;
            let name = match alpha {
                0.0 => format!("cos + {weight} kNN"),
                _ => format!("cos + {weight} kNN + {alpha} BM25"),
            };
            found.push(run(&name, &sum)?);
        }
    }
    Ok(found)
}
