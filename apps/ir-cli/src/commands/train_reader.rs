//! `ir train-reader`: trains an extractive reader on SQuAD.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueHint;
use ir_data::squad::{Question, Squad, SquadFile};
use ir_dense::train::{ReaderExample, ReaderTrainer, ReaderTrainingConfig};
use ir_dense::{ExtractiveReader, Precision, ReaderConfig};
use ir_qa::character_count;
use ir_qa::reader::{LexicalReader, Reader, ReaderInput, exact_match, token_f1};

use crate::shared::console::{Console, bail_usage};
use crate::shared::encoder::{TRAINING_PRECISIONS, find_model};
use crate::shared::format::grouped;
use crate::shared::options::{choice, positive, use_threads};
use crate::shared::output::{OutputPath, OutputSink, WorkPath};
use crate::shared::signals::stop_on_interrupt;
use crate::shared::training_runs::completed::CompletedRun;
use crate::shared::training_runs::{self, ExecutionOptions, discard, evaluation, has_files};

const EXAMPLES: &str = "\
Examples:
  ir train-reader all-MiniLM-L6-v2 train.json -o reader
  ir train-reader all-MiniLM-L6-v2 train.json -o reader --test dev.json
  ir train-reader all-MiniLM-L6-v2 dev-v1.1.json.zst -o reader --hold-out
  ir ask papers/ 'What is the learning rate?' --reader reader

The data are questions with answer spans in the format of SQuAD 1.1, possibly
compressed; the first answer of each question is the target. The output folder
is readable by `ir ask --reader` and by transformers
(AutoModelForQuestionAnswering). A model without a span head, such as a
sentence encoder, gets one with random weights.

Checkpoints are saved in OUTPUT.checkpoints. An interrupted or killed run
resumes from the last checkpoint and produces the same bytes as an
uninterrupted one. A checkpoint of a different model, training set or
configuration is an error.

With --test or --hold-out, exact match and F1 of SQuAD are printed, in percent:
of the new reader and of the lexical reader, which needs no model.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model to train: a folder, or the name of a downloaded model (see `ir models`)
    model: PathBuf,

    /// File in the format of SQuAD 1.1
    data: PathBuf,

    /// Output folder of the reader
    #[arg(short = 'o', long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    output: OutputPath,

    /// Maximum number of training questions, chosen evenly from the file [default: all]
    #[arg(long, value_parser = positive, value_name = "N", help_heading = CONFIGURATION)]
    questions: Option<usize>,

    /// Number of passes over the training set [default: 2]
    #[arg(long, value_name = "N", help_heading = CONFIGURATION)]
    epochs: Option<u64>,

    /// Number of windows per step [default: 16]
    #[arg(long, value_name = "N", help_heading = CONFIGURATION)]
    batch: Option<usize>,

    /// Number of windows per forward pass, which bounds memory [default: all of a step]
    #[arg(long, value_name = "N", help_heading = CONFIGURATION)]
    block: Option<usize>,

    /// Peak learning rate [default: 5e-5]
    #[arg(long, value_name = "RATE", help_heading = CONFIGURATION)]
    learning_rate: Option<f64>,

    /// Dropout probability [default: 0.1]
    #[arg(long, value_name = "P", help_heading = CONFIGURATION)]
    dropout: Option<f64>,

    /// Number format of the linear layers' matrix products; sums, weights and optimizer are f32
    #[arg(long, value_parser = choice(TRAINING_PRECISIONS), value_name = "NAME", help_heading = CONFIGURATION)]
    precision: Option<Precision>,

    /// Maximum sequence length in tokens: question and window of the context [default: 384, or
    /// the maximum length of the model]
    #[arg(long, value_name = "N", help_heading = CONFIGURATION)]
    max_tokens: Option<usize>,

    /// Number of tokens that consecutive windows of a long context share [default: 128, or a third
    /// of the maximum sequence length]
    #[arg(long, value_name = "N", help_heading = CONFIGURATION)]
    stride: Option<usize>,

    /// Seed of the order of windows, dropout, and a new span head [default: 42]
    #[arg(long, value_name = "N", help_heading = CONFIGURATION)]
    seed: Option<u64>,

    /// File in the format of SQuAD 1.1 for the evaluation
    #[arg(long, value_name = "FILE", help_heading = EVALUATION)]
    test: Option<PathBuf>,

    /// Train on the first five of every eight articles and evaluate on the last two, which are the
    /// splits `train` and `test` of `squad/sentences`
    #[arg(long, conflicts_with = "test", help_heading = EVALUATION)]
    hold_out: bool,

    #[command(flatten)]
    execution: ExecutionOptions,
}

const CONFIGURATION: &str = "Training configuration";
const EVALUATION: &str = "Evaluation";

impl Args {
    /// Output folder and checkpoint folder.
    pub(crate) fn work_paths(&self) -> Vec<WorkPath> {
        training_runs::work_paths(&self.output.folder())
    }

    fn config(&self) -> ReaderTrainingConfig {
        let mut config = ReaderTrainingConfig::default();
        config.epochs = self.epochs.unwrap_or(config.epochs);
        config.batch_size = self.batch.unwrap_or(config.batch_size);
        config.mini_batch_size = self.block;
        config.learning_rate = self.learning_rate.unwrap_or(config.learning_rate);
        config.dropout = self.dropout.unwrap_or(config.dropout);
        config.precision = self.precision.unwrap_or(config.precision);
        config.seed = self.seed.unwrap_or(config.seed);
        let mut reader = ReaderConfig::default();
        reader.max_tokens = self.max_tokens;
        reader.stride = self.stride;
        config.reader = reader;
        config
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.execution.threads)?;
    let output = args.output.folder();
    let checkpoints = training_runs::check_output(&output)?;
    let config = args.config();
    if let Err(error) = config.validate() {
        bail_usage!("{error}");
    }
    let model = find_model(&args.model)?;
    let (data, test) = data(args)?;
    let examples = examples(&data, args.questions);
    if examples.is_empty() {
        bail!(
            "{}: expected questions with answers, found none",
            args.data.display()
        );
    }
    let trainer = ReaderTrainer::open(&model.folder, &config)?;
    let reader = if has_files(&output) {
        let completed = completed(trainer.fingerprint(&examples));
        training_runs::check_completed(&completed, &output, &checkpoints, console)?;
        ExtractiveReader::open_with(&output, trainer.reader_config())?
    } else {
        train(args, trainer, &examples, &checkpoints, console)?
    };
    if let Some(test) = test {
        let mut table = "reader   exact match     F1\n".to_owned();
        for (name, reader) in [
            ("lexical", &LexicalReader::default() as &dyn Reader),
            ("trained", &reader),
        ] {
            let [exact, f1] = evaluate(reader, &test)?;
            table += &format!("{name:<8} {exact:>11.2} {f1:>6.2}\n");
        }
        OutputSink::open(None)?.write_with(|out| out.write_all(table.as_bytes()))?;
    }
    // After the evaluation, so that a run that is killed during it evaluates again.
    discard(args.execution.keep_checkpoints, &checkpoints);
    Ok(())
}

fn completed(fingerprint: u64) -> CompletedRun<'static> {
    CompletedRun {
        fingerprint,
        evaluation: None,
    }
}

/// Trains the reader, from the last checkpoint on, and saves it.
fn train(
    args: &Args,
    trainer: ReaderTrainer,
    examples: &[ReaderExample],
    checkpoints: &Path,
    console: &Console,
) -> Result<ExtractiveReader> {
    let output = args.output.folder();
    let resumed = evaluation::check_or_record(checkpoints, None, console)?;
    let began = Instant::now();
    let trained = trainer
        .with_checkpoints(checkpoints)
        .with_checkpoint_every(args.execution.checkpoint_every as u64)
        .train(examples, &mut console.bar())
        .map_err(|error| training_runs::ended(error, checkpoints))?;
    completed(trained.fingerprint).record(checkpoints)?;
    trained.reader.save(&output)?;
    if trained.cut_answers > 0 {
        console.warn(format_args!(
            "{} answers are in none of the windows of their contexts",
            grouped(trained.cut_answers as u64)
        ));
    }
    let steps = &trained.history.steps;
    // The loss of one step depends on its few windows.
    let last = &steps[steps.len().saturating_sub(20)..];
    let loss = last.iter().map(|step| step.loss).sum::<f64>() / last.len().max(1) as f64;
    console.log(format_args!(
        "{}: {} questions in {} windows, {} steps, loss {loss:.4} (mean of the last {}), {:.1} s{}",
        output.display(),
        grouped(examples.len() as u64),
        grouped(trained.windows as u64),
        grouped(steps.len() as u64),
        last.len(),
        began.elapsed().as_secs_f64(),
        if resumed {
            " since the last checkpoint"
        } else {
            ""
        },
    ));
    Ok(trained.reader)
}

/// Articles for training and, if asked for, for the evaluation.
fn data(args: &Args) -> Result<(Squad, Option<Squad>)> {
    let read = |path: &Path| SquadFile::new(path).read();
    let data = read(&args.data)?;
    let test = match (&args.test, args.hold_out) {
        (Some(path), _) => Some(read(path)?),
        (None, true) => Some(data.articles_of("test")),
        (None, false) => None,
    };
    if let Some(test) = &test
        && questions(test).next().is_none()
    {
        let path = args.test.as_ref().unwrap_or(&args.data).display();
        bail!("{path}: expected questions for the evaluation, found none");
    }
    let data = if args.hold_out {
        data.articles_of("train")
    } else {
        data
    };
    Ok((data, test))
}

/// Questions with their contexts.
fn questions(squad: &Squad) -> impl Iterator<Item = (&str, &Question)> {
    let paragraphs = squad.articles.iter().flat_map(|it| &it.paragraphs);
    paragraphs.flat_map(|paragraph| {
        let context = &*paragraph.context;
        paragraph
            .questions
            .iter()
            .map(move |question| (context, question))
    })
}

/// Examples of the questions with an answer, at most `limit`, evenly spaced.
fn examples(squad: &Squad, limit: Option<usize>) -> Vec<ReaderExample> {
    let example = |(context, question): (&str, &Question)| {
        let answer = question.answers.first().filter(|it| !it.text.is_empty())?;
        let end = answer.start + character_count(&answer.text);
        Some(ReaderExample::new(
            &*question.text,
            context,
            answer.start..end,
        ))
    };
    let all: Vec<ReaderExample> = questions(squad).filter_map(example).collect();
    let count = limit.unwrap_or(all.len()).min(all.len());
    let chosen = (0..count).map(|n| n * all.len() / count);
    chosen.map(|at| all[at].clone()).collect()
}

/// Exact match and F1 of the best spans, in percent.
fn evaluate(reader: &dyn Reader, squad: &Squad) -> Result<[f64; 2]> {
    let all: Vec<(&str, &Question)> = questions(squad).collect();
    let inputs: Vec<ReaderInput<'_>> = all
        .iter()
        .map(|(context, question)| ReaderInput::new(&question.text, context))
        .collect();
    let spans = reader.read(&inputs, 1).context("evaluation")?;
    let mut sums = [0.0; 2];
    for ((context, question), spans) in all.iter().zip(spans) {
        let found = spans.first().map_or("", |span| span.text(context));
        let answers: Vec<&str> = question.answers.iter().map(|it| &*it.text).collect();
        sums[0] += f64::from(u8::from(exact_match(found, &answers)));
        sums[1] += token_f1(found, &answers);
    }
    Ok(sums.map(|sum| 100.0 * sum / all.len().max(1) as f64))
}
