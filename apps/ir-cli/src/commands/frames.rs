//! `ir frames`: papers to answer sentences with their contexts.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use ir_core::{Flow, Progress};
use ir_qa::documents::{FileOutcome, FileReport, FolderReport, Paper, SeenPapers};
use ir_qa::frames::{DroppedText, FrameConfig};
use ir_qa::questions::{QuestionError, QuestionFile, add_questions};
use ir_qa::soco::write_frames;

use crate::shared::console::{Console, bail_usage};
use crate::shared::document_reader::document_reader;
use crate::shared::format::grouped;
use crate::shared::language::LanguageName;
use crate::shared::options::positive;
use crate::shared::output::{OutputPath, OutputSink, failed};
use crate::shared::paper_folder::{causes, is_bundled, is_duplicate, read_papers, warn};
use crate::shared::question_options::QuestionOptions;
use crate::shared::signals::{Interrupted, check_stopped, stop_on_interrupt};

const EXAMPLES: &str = "\
Examples:
  ir frames bundled -o frames.jsonl       invented papers of the library
  ir frames papers/ -o frames.jsonl       a folder and its subfolders
  ir frames papers/ -o frames.jsonl --report files.tsv
  ir frames papers/ --scientific | head -3
  ir frames papers/ --questions rules -o frames.jsonl
  ir frames papers/ --questions endpoint --endpoint-model llama \\
      --endpoint http://127.0.0.1:8080/v1 -o frames.jsonl
  ir frames train.json -o frames.jsonl    articles of SQuAD
  ir frames papers/ --format soco -o frames.jsonl.gz

Files: plain text (.txt), Markdown (.md), HTML (.html), JATS and TEI (.xml,
.nxml, .tei), SQuAD (.json), documents and questions with answers of SOCO and
papers of S2ORC (.json, .jsonl), also compressed (.gz, .zst); PDF (.pdf) with
the feature `pdf` of this program. For better text of PDF, convert it first:
GROBID writes TEI with pages. A file that cannot be read is reported and stops
nothing. A paper with the DOI or the arXiv id of an earlier one has no frames.

A frame is a JSON object per line: id (PAPER/CHUNK/SENTENCE), paper (path of
the file), kind (title, section, content, row of a table), page, answer,
context, answer_start (in characters), and metadata (title, authors, year,
venue, ...).

The columns of --report: path, status (read, skipped, failed), format, papers,
frames, and what the file lacks or the error.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of papers, a file, or `bundled`
    papers: PathBuf,

    /// Output file, one frame per line; .gz and .zst are compressed [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<OutputPath>,

    /// Output file with a line per file, tab-separated
    #[arg(long, value_name = "FILE")]
    report: Option<OutputPath>,

    /// Form of the output
    #[arg(long, default_value = "frames", value_name = "FORM")]
    format: OutputForm,

    #[command(flatten)]
    questions: QuestionOptions,

    /// File of generated questions. Questions in the file are not generated again, so that an
    /// interrupted command resumes
    #[arg(long, value_name = "FILE")]
    questions_file: Option<OutputPath>,

    /// Language of the papers
    #[arg(long, default_value = "english", value_name = "NAME")]
    language: LanguageName,

    /// Do not end sentences after abbreviations of scientific text, such as Fig., Eq. and et al.,
    /// which the published rules do
    #[arg(long)]
    scientific: bool,

    /// Context on each side of the answer in characters, exceeded by at most a sentence [default:
    /// 150, for Chinese 75]
    #[arg(long, value_name = "N")]
    context: Option<usize>,

    /// Minimum length of a sentence in characters
    #[arg(long, default_value_t = 5, value_name = "N")]
    min_length: usize,

    /// Maximum length of a sentence, title or heading in characters
    #[arg(long, default_value_t = 500, value_parser = positive, value_name = "N")]
    max_length: usize,

    /// Maximum size of a file after decompression in MiB
    #[arg(long, default_value_t = 64, value_parser = positive, value_name = "MIB")]
    max_size: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OutputForm {
    /// Frames of this library
    Frames,
    /// Records of SOCO's interface
    Soco,
}

/// Progress that only stops after a signal: questions are generated paper by paper.
struct InterruptCheck;

impl Progress for InterruptCheck {
    fn report(&mut self, _: &str, _: u64, _: Option<u64>) -> Flow {
        match check_stopped() {
            Ok(()) => Flow::Continue,
            Err(_) => Flow::Stop,
        }
    }
}

/// Counts of the papers that were read.
#[derive(Default)]
struct Totals {
    papers: u64,
    frames: u64,
    questions: u64,
    dropped: DroppedText,
    /// Numbers of frames, per paper.
    of_papers: Vec<u64>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    let config = config(args)?;
    let generator = args.questions.generator()?;
    args.language.check_questions(&args.questions)?;
    let mut questions_file = match &args.questions_file {
        Some(_) if generator.is_none() => {
            bail_usage!("--questions-file: without effect, expected --questions")
        }
        Some(path) => Some(QuestionFile::open(path.binary_file("--questions-file")?)?),
        None => None,
    };
    if is_bundled(&args.papers) && args.report.is_some() {
        bail_usage!("--report: expected a folder or file of papers, found bundled");
    }
    let mut out = OutputSink::open(args.output.as_ref())?;
    let report_sink = match &args.report {
        Some(path) => Some(OutputSink::open(Some(path))?),
        None => None,
    };
    let mut totals = Totals::default();
    let mut seen = SeenPapers::default();
    let mut write = |paper: Paper| -> Result<()> {
        if is_duplicate(&paper, &mut seen, console) {
            totals.of_papers.push(0);
            return Ok(());
        }
        let mut set = config.convert_paper(&paper);
        if let Some(generator) = &generator {
            let frames = &mut set.frames;
            let mut progress = InterruptCheck;
            let added = match &mut questions_file {
                Some(file) => file.add_questions(frames, &**generator, &mut progress),
                None => add_questions(frames, &**generator, &mut progress),
            };
            let added = added.map_err(|error| match error {
                QuestionError::Canceled => Interrupted.into(),
                error => anyhow::Error::from(error),
            })?;
            for error in &added.rejected {
                console.warn(format_args!("{error}"));
            }
            totals.questions += added.questions;
        }
        totals.papers += 1;
        totals.frames += set.frames.len() as u64;
        totals.dropped.add(set.dropped);
        totals.of_papers.push(set.frames.len() as u64);
        let written = match args.format {
            OutputForm::Soco => write_frames(&set.frames, &mut out),
            OutputForm::Frames => set.frames.iter().try_for_each(|frame| {
                serde_json::to_writer(&mut out, frame)?;
                out.write_all(b"\n")
            }),
        };
        written.with_context(|| failed(out.name()))
    };
    let reader = document_reader()?.with_max_bytes((args.max_size as u64).saturating_mul(1 << 20));
    let report = read_papers(&args.papers, &reader, console, &mut write)?;
    if let Some(report) = &report {
        let advice = match args.report {
            Some(_) => "",
            None => " (--report FILE lists them)",
        };
        warn(report, advice, console);
    }
    if let (Some(sink), Some(report)) = (report_sink, &report) {
        sink.write_with(|out| write_report(report, &totals.of_papers, out))?;
    }
    if totals.papers == 0 {
        bail!("{}: expected papers, found none", args.papers.display());
    }
    out.commit()?;
    console.log(format_args!(
        "{} frames of {} papers{}; {} sentences too short, {} too long",
        grouped(totals.frames),
        grouped(totals.papers),
        match generator {
            Some(_) => format!(", {} generated questions", grouped(totals.questions)),
            None => String::new(),
        },
        grouped(totals.dropped.too_short),
        grouped(totals.dropped.too_long)
    ));
    Ok(())
}

fn config(args: &Args) -> Result<FrameConfig> {
    if args.min_length > args.max_length {
        bail_usage!(
            "--min-length: expected at most --max-length ({}), found {}",
            args.max_length,
            args.min_length
        );
    }
    let mut config = if args.scientific {
        args.language.scientific_frames()
    } else {
        FrameConfig::new(args.language.language())
    };
    if let Some(budget) = args.context {
        config.budget = budget;
    }
    config.min_length = args.min_length;
    config.max_length = args.max_length;
    Ok(config)
}

/// Writes a line per file. `frames` has the number of frames of each paper, in the order of the
/// files.
fn write_report(
    report: &FolderReport,
    frames: &[u64],
    out: &mut OutputSink,
) -> std::io::Result<()> {
    let mut frames = frames.iter();
    for FileReport { path, outcome, .. } in &report.files {
        // Names of files may have tabs and line breaks.
        let path = path.replace(char::is_control, "?");
        match outcome {
            FileOutcome::Read {
                format,
                papers,
                missing,
                ..
            } => {
                let count: u64 = frames.by_ref().take(*papers as usize).sum();
                let missing: Vec<String> =
                    missing.iter().map(|part| format!("no {part}")).collect();
                writeln!(
                    out,
                    "{path}\tread\t{format}\t{papers}\t{count}\t{}",
                    missing.join(", ")
                )?;
            }
            FileOutcome::Skipped(reason) => writeln!(out, "{path}\tskipped\t\t0\t0\t{reason}")?,
            FileOutcome::Failed(error) => {
                let error = causes(error).replace(char::is_control, " ");
                writeln!(out, "{path}\tfailed\t\t0\t0\t{error}")?;
            }
            _ => {}
        }
    }
    Ok(())
}
