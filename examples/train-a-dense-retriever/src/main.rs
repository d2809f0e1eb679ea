//! From a sentence encoder and a thousand queries whose answers are known to a retriever that beats
//! both: hard negatives, training, a mixture chosen on held-back queries, one test.
//!
//! `IR_MODEL=$(.ci/model) cargo run --release --features dense --example train-a-dense-retriever --
//! [FOLDER]`; on MAKG when `IR_DATA` holds it, otherwise in seconds on the bundled collection. FOLDER
//! keeps the trained encoder, and until then what training needs to go on after an interruption.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

mod systems;
mod task;
mod verdict;

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, Result};
use ir_bm25::{Bm25, Duplicates, Fields, Index, IndexConfig};
use ir_core::fuse::Fusion;
use ir_core::hybrid::{Blend, Fused};
use ir_core::{Distinct, Flow, NoProgress};
use ir_data::catalogue::Catalogue;
use ir_dense::train::{Trainer, TrainingConfig};
use ir_dense::{BiEncoder, EncoderConfig};
use ir_eval::{Measure, Sweep};
use systems::{Dense, System, boxed};
use task::Task;

/// By what everything is chosen: when to stop, and which mixture.
const CHOOSE_BY: Measure = Measure::NDCG.at(5);

/// What cos + w·(cosine to past queries) + α·BM25 is tried with.
const PAST: [f32; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
const ALPHAS: [f32; 5] = [0.0, 0.002, 0.005, 0.01, 0.02];

fn main() -> Result<()> {
    let Some(model) = env::var_os("IR_MODEL") else {
        println!(
            "This needs an encoder to begin with: name its folder in IR_MODEL.\n\
             IR_MODEL=$(.ci/model) fetches all-MiniLM-L6-v2 (90 MB), from a checkout of this repository."
        );
        return Ok(());
    };
    let catalogue = Catalogue::from_env();
    let (name, template) = match catalogue.has("makg")? {
        true => ("makg", "{title}"),
        false => ("bundled", "{title} {text}"),
    };
    let task = Task::open(&catalogue.open(name)?, template)?;
    println!("{task}\n");

    // Without training: words, past queries, and the encoder as it comes.
    let collection = catalogue.open(name)?;
    let config = IndexConfig::default()
        .with_fields(Fields::TextOnly)
        .with_duplicates(Duplicates::Keep);
    let index = Index::build(collection.corpus(), &config, &mut NoProgress)?;
    let bm25 = Distinct(index.searcher(Bm25::default())?);
    let tfidf = systems::knn_tfidf(&task)?;
    let off_the_shelf = Dense::new(open(Path::new(&model))?);
    let mut runs = vec![
        task.run("BM25", &bm25)?,
        task.run("kNN (TF-IDF)", &tfidf)?,
        task.run("encoder off the shelf", &off_the_shelf.by_text(&task)?)?,
        task.run("kNN (off the shelf)", &off_the_shelf.by_past(&task)?)?,
    ];

    // Training. A folder that has a model already is not trained again.
    let scratch = tempfile::tempdir()?;
    let folder = env::args().nth(1).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| scratch.path().join("trained"));
    if folder.join("config.json").exists() {
        println!("{}: trained already\n", folder.display());
    } else {
        train(Path::new(&model), &folder, &task, &bm25)?;
    }
    let trained = Dense::new(open(&folder)?);
    runs.push(task.run("encoder, trained", &trained.by_text(&task)?)?);
    runs.push(task.run("kNN (trained)", &trained.by_past(&task)?)?);

    // The mixture, chosen on the held-back queries. Past queries are those that were learned from.
    let settings = mixtures(
        &trained,
        &task.without_held_back(),
        &bm25,
        |setting, system| task.held_back.run(setting, system),
    )?;
    let evaluator = task.held_back.evaluator(&[CHOOSE_BY])?;
    let reports = settings
        .iter()
        .map(|run| evaluator.evaluate(run))
        .collect::<Result<Vec<_>, _>>()?;
    let sweep = Sweep::new(&reports, CHOOSE_BY, None)?;
    println!("{CHOOSE_BY} of mixtures on the held-back queries, the best five:");
    let mut order: Vec<_> = sweep.settings.iter().collect();
    order.sort_by(|a, b| b.figure.total_cmp(&a.figure));
    for setting in order.iter().take(5) {
        println!("  {:<32} {:.4}", setting.name, setting.figure);
    }
    let best = &sweep.best().name;
    println!(
        "  chosen: {best}; {:.4} where each query is judged by the choice of all others\n",
        sweep.honest
    );

    // The test, once. Now all training queries are past queries.
    let mixed = mixtures(&trained, &task, &bm25, |setting, system| {
        (setting == best)
            .then(|| task.run("mixture", system))
            .transpose()
    })?;
    runs.extend(mixed.into_iter().flatten());
    verdict::print(&task, &runs, catalogue.root())
}

/// An encoder for searching: queries may be longer here than in training.
fn open(folder: &Path) -> Result<BiEncoder> {
    let config = EncoderConfig::default().with_max_tokens(256);
    Ok(BiEncoder::open_with(folder, &config)?)
}

/// Fine-tunes the model of a folder into another folder.
fn train(model: &Path, folder: &Path, task: &Task, bm25: System<'_>) -> Result<()> {
    // Negatives: what BM25 takes for answers, and some of all.
    let examples = task.examples(bm25)?;
    let mut config = TrainingConfig::small_data();
    config.epochs = 3;
    config.negatives = 1;
    config.learning_rate = 1e-4;
    config.encoder.query.max_tokens = Some(64);
    config.encoder.document.max_tokens = Some(64);

    // Evaluated before training and after every epoch; the best weights are kept.
    let evaluator = task.held_back.evaluator(&[CHOOSE_BY])?;
    let began = Instant::now();
    let mut evaluate = |encoder: &BiEncoder, step: u64| {
        let run = systems::by_text(encoder, task)
            .and_then(|system| task.held_back.run("held back", &system))?;
        let value = evaluator.evaluate(&run)?.summary(CHOOSE_BY).unwrap_or(0.0);
        println!(
            "  step {step:>3}, {:>4.0} s: {CHOOSE_BY} {value:.4} on the held-back queries",
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
    // Killed or out of power, the same command goes on where it was, and ends with the same bytes.
    let mut checkpoints = folder.as_os_str().to_owned();
    checkpoints.push(".checkpoints");
    println!(
        "training on {} queries, {} a step, {} epochs:",
        examples.len(),
        config.batch,
        config.epochs
    );
    let trained = Trainer::open(model, &config)?
        .with_checkpoints(&checkpoints)
        .with_checkpoint_every(20)
        .train_and_evaluate(&examples, &mut evaluate, &mut progress)?;
    trained.encoder.save(folder)?;
    fs::write(folder.join("history.csv"), trained.history.to_csv())?;
    let curves = trained.history.to_svg(&CHOOSE_BY.to_string());
    fs::write(folder.join("curves.svg"), curves)?;
    fs::remove_dir_all(&checkpoints).context("the checkpoints are no longer needed")?;
    println!("  kept: the weights after step {}\n", trained.step);
    Ok(())
}

/// Every mixture that is tried: sums with weights, and ranks, which need none.
fn mixtures<T>(
    dense: &Dense,
    task: &Task,
    bm25: System<'_>,
    mut of: impl FnMut(&str, System<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let (text, past) = (dense.by_text(task)?, dense.by_past(task)?);
    let mut found = Vec::new();
    for (name, fusion) in [
        ("reciprocal ranks", Fusion::rrf()),
        ("normalised sum", Fusion::comb_sum()),
    ] {
        let two = Fused::new([boxed(&text), boxed(&past)], fusion, 50)?;
        found.push(of(&format!("{name} of two"), &two)?);
        let three = Fused::new([boxed(&text), boxed(&past), boxed(bm25)], fusion, 50)?;
        found.push(of(&format!("{name} of three"), &three)?);
    }
    let parts = [(boxed(&text), 1.0), (boxed(&past), 0.0), (boxed(bm25), 0.0)];
    let mut blend = Blend::new(parts)?;
    for past in PAST {
        for alpha in ALPHAS {
            blend.set_weights(&[1.0, past, alpha])?;
            let name = match alpha {
                0.0 => format!("cos + {past} past"),
                _ => format!("cos + {past} past + {alpha} BM25"),
            };
            found.push(of(&name, &blend)?);
        }
    }
    Ok(found)
}
