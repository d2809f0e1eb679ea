//! Messages on standard error: warnings, notes, progress, errors.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::process::ExitCode;
#[cfg(feature = "serve")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use ir_bm25::BuildError;
use ir_core::{CorpusError, Flow, Progress};
use ir_data::parser_message;

use crate::shared::signals::{Interrupted, exit_interrupted, interrupted_message, stopped};
use crate::shared::terminal::escaped;

const BAR_DELAY: Duration = Duration::from_millis(300);
/// Time until the first progress line when standard error is not a terminal.
const LOG_DELAY: Duration = Duration::from_secs(5);
/// Interval between progress lines.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Time from the start of a stage until its rate predicts the remaining time.
const ESTIMATE_DELAY: Duration = Duration::from_secs(2);
/// Remaining time below which it is printed in seconds.
const SHORT_TIME: Duration = Duration::from_secs(120);

/// Maximum length of a message and of a word in it, in characters.
const MAX_LINE: usize = 2000;
pub(crate) const MAX_WORD: usize = 500;

/// Time of the next progress line about reading. Other progress lines postpone it.
static READING_LINE_DUE: Mutex<Option<Instant>> = Mutex::new(None);

/// Writer of messages to standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    quiet: bool,
    terminal: bool,
    started: Instant,
}

/// Usage error that clap cannot detect, such as incompatible option values. Exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Returns a [`Usage`] error, as `anyhow::bail!` returns other errors.
macro_rules! bail_usage {
    ($($message:tt)*) => {
        return Err($crate::shared::console::Usage(format!($($message)*)).into())
    };
}
pub(crate) use bail_usage;

/// The command was interrupted and can be resumed; the message says how.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Resumable(pub(crate) String);

impl Console {
    /// `quiet` suppresses everything but errors.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: io::stderr().is_terminal(),
            started: Instant::now(),
        }
    }

    /// Returns `true` if everything but errors is suppressed.
    #[cfg(feature = "serve")]
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a warning, also when standard error is not a terminal.
    pub(crate) fn warn(&self, what: impl Display) {
        if !self.quiet {
            print_line(format_args!("warning: {}", one_line(&what.to_string())));
        }
    }

    /// Prints a note, only on a terminal.
    pub(crate) fn note(&self, what: impl Display) {
        if !self.quiet && self.terminal {
            print_line(format_args!("{}", escaped(&what.to_string())));
        }
    }

    /// Prints a milestone or the result of a long job, also when standard error is not a terminal.
    pub(crate) fn log(&self, what: impl Display) {
        if !self.quiet {
            print_line(format_args!("{}", escaped(&what.to_string())));
        }
    }

    /// Creates a progress bar; when standard error is not a terminal, one line after the first 5 s
    /// of the command and one per minute.
    pub(crate) fn bar(&self) -> Bar {
        let now = Instant::now();
        Bar {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
            stage: String::new(),
            sized: None,
            due: (!self.quiet && self.terminal).then(|| now + BAR_DELAY),
            begun: now,
            resumed: 0,
            line_due: (!self.quiet && !self.terminal).then(|| self.started + LOG_DELAY),
        }
    }

    /// Creates a progress bar for reading a file; as [`Console::bar`], but files in sequence share
    /// the interval between lines.
    pub(crate) fn reading_bar(&self) -> Bar {
        let mut bar = self.bar();
        let shared = *reading_line_due();
        bar.line_due = bar
            .line_due
            .map(|due| shared.map_or(due, |shared| shared.max(due)));
        bar
    }

    /// Prints an error and its causes in one line. Returns the exit code.
    pub(crate) fn fail(&self, error: &anyhow::Error) -> ExitCode {
        self.fail_as(error, if error.is::<Usage>() { 2 } else { 1 })
    }

    /// [`Console::fail`] with an explicit exit code.
    pub(crate) fn fail_as(&self, error: &anyhow::Error, code: u8) -> ExitCode {
        if error.chain().any(is_broken_pipe) {
            return ExitCode::SUCCESS;
        }
        if let Some(resumable) = error.downcast_ref::<Resumable>() {
            print_line(format_args!("error: {resumable}"));
            exit_interrupted();
        }
        if stopped() || error.is::<Interrupted>() {
            print_line(format_args!("error: {}", interrupted_message()));
            exit_interrupted();
        }
        print_line(format_args!("error: {}", error_chain(error)));
        ExitCode::from(code)
    }
}

/// `true` if lines are events of the log instead of plain text.
#[cfg(feature = "serve")]
static PRINTS_TO_LOG: AtomicBool = AtomicBool::new(false);

/// Makes all further lines, and messages of panics, events of the log.
#[cfg(feature = "serve")]
pub(crate) fn print_to_log() {
    PRINTS_TO_LOG.store(true, Ordering::SeqCst);
}

/// Prints a panic as one line, without a backtrace: a backtrace takes a lock and memory, so that
/// the process would wait for itself after a failed allocation.
pub(crate) fn print_panics() {
    std::panic::set_hook(Box::new(|panic| {
        print_line(format_args!("error: {}", one_line(&panic.to_string())));
    }));
}

/// Writes a line to the log, at the level that it starts with.
#[cfg(feature = "serve")]
fn log_event(line: &str) {
    match line.split_once(": ") {
        Some(("error", text)) => tracing::error!("{text}"),
        Some(("warning", text)) => tracing::warn!("{text}"),
        _ => tracing::info!("{line}"),
    }
}

/// Prints a line on standard error. An error is ignored: a closed terminal or a full disk does not
/// end a job.
pub(crate) fn print_line(line: fmt::Arguments<'_>) {
    #[cfg(feature = "serve")]
    if PRINTS_TO_LOG.load(Ordering::SeqCst) {
        return log_event(&line.to_string());
    }
    let _ = writeln!(io::stderr(), "{line}");
}

/// Joins the causes of an error with ": ", without repetitions: neither of a message nor of the
/// name of a file before its position.
pub(crate) fn error_chain(error: &anyhow::Error) -> String {
    let (mut line, mut last) = (String::new(), String::new());
    for cause in error.chain() {
        if is_wrapper(cause) && cause.source().is_some() {
            continue;
        }
        let text = match cause.downcast_ref::<serde_json::Error>() {
            Some(error) => parser_message(&error.to_string(), "an object"),
            None => cause.to_string(),
        };
        let text = one_line(&text);
        let continues = |last: &str| {
            text.strip_prefix(last)
                .is_some_and(|it| it.starts_with(':'))
        };
        if line.is_empty() {
            line.clone_from(&text);
        } else if !last.is_empty() && continues(&last) {
            line.truncate(line.len() - last.len());
            line.push_str(&text);
        } else if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        last = text;
    }
    line
}

/// Returns `true` if an error only wraps its cause without adding information.
fn is_wrapper(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<CorpusError>() || matches!(cause.downcast_ref(), Some(BuildError::Corpus(_)))
}

/// Joins the lines of a message, escapes control characters, and leaves out the middle of long
/// words and messages: options and fields of files may have any length.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.split(['\n', '\r']).map(str::trim);
    let lines: Vec<_> = lines.filter(|part| !part.is_empty()).collect();
    let line = lines.join(" ");
    let words: Vec<_> = line
        .split(' ')
        .map(|word| shortened(word, MAX_WORD))
        .collect();
    shortened(&escaped(&words.join(" ")), MAX_LINE)
}

/// Leaves out the middle of a text of more than `max` characters.
pub(crate) fn shortened(text: &str, max: usize) -> String {
    let length = text.chars().count();
    if length <= max {
        return text.to_owned();
    }
    let start: String = text.chars().take(max / 2).collect();
    let end: String = text.chars().skip(length - max / 2).collect();
    format!("{start}...{end}")
}

/// Returns `true` if the reader closed the pipe.
fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let error = cause.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Progress of a long job: a bar on a terminal, otherwise log lines.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    stage: String,
    sized: Option<u64>,
    /// When to show the bar; `None` if never or already shown.
    due: Option<Instant>,
    /// Start of the current stage, and the number of items that an earlier process had done.
    begun: Instant,
    resumed: u64,
    /// When to print the next log line; `None` for never.
    line_due: Option<Instant>,
}

impl Bar {
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn restyle(&mut self, stage: &str, done: u64, total: Option<u64>) {
        self.stage = stage.to_owned();
        self.sized = total;
        self.begun = Instant::now();
        self.resumed = done;
        let template = match (total, stage) {
            (None, _) => "{spinner} {msg} {human_pos} {elapsed}",
            // Slow enough for a rate to be informative.
            (Some(_), "training" | "encoding") => {
                "{msg} {wide_bar:.cyan/dim} {human_pos}/{human_len} {per_sec} {left}"
            }
            (Some(_), _) => "{msg} {wide_bar:.cyan/dim} {human_pos}/{human_len} {left}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
                let new = state.pos().saturating_sub(done);
                let left = Some(state.eta()).filter(|_| is_estimate(new, state.elapsed()));
                let _ = out.write_str(&left.map_or(String::new(), remaining));
            };
            let style = style.with_key("left", left);
            self.bar.set_style(style.progress_chars("━━─"));
        }
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        self.bar.reset();
        self.bar.set_position(done);
        // Items of an earlier process do not count in the rate.
        self.bar.reset_eta();
        self.bar.set_message(stage.to_owned());
    }
}

impl Progress for Bar {
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow {
        if self.stage != stage || self.sized != total {
            self.restyle(stage, done, total);
        }
        self.bar.set_position(done);
        if self.due.is_some_and(|due| Instant::now() >= due) {
            self.due = None;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(120));
        }
        let now = Instant::now();
        if self.line_due.is_some_and(|due| now >= due) {
            self.line_due = Some(now + LOG_INTERVAL);
            *reading_line_due() = self.line_due;
            let line = log_line(stage, self.resumed..done, total, now - self.begun);
            print_line(format_args!("{line}"));
        }
        if stopped() {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.finish();
    }
}

fn reading_line_due() -> MutexGuard<'static, Option<Instant>> {
    READING_LINE_DUE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

/// Returns `true` if the rate of `new` items in `elapsed` predicts the remaining time.
fn is_estimate(new: u64, elapsed: Duration) -> bool {
    new > 0 && elapsed >= ESTIMATE_DELAY
}

/// Formats a remaining time: seconds below two minutes, otherwise minutes.
fn remaining(left: Duration) -> String {
    let seconds = left.as_secs_f64();
    if left < SHORT_TIME {
        format!("{seconds:.0} s left")
    } else {
        format!("{:.0} min left", seconds / 60.0)
    }
}

/// Formats a log line: items done, and if they allow an estimate, their rate and the remaining
/// time. `done` starts at the items that were done `elapsed` ago.
fn log_line(stage: &str, done: Range<u64>, total: Option<u64>, elapsed: Duration) -> String {
    let new = done.end.saturating_sub(done.start);
    let done = done.end;
    let Some(total) = total else {
        return format!("{stage}: {done}");
    };
    if !is_estimate(new, elapsed) {
        return format!("{stage}: {done} of {total}");
    }
    let per_second = new as f64 / elapsed.as_secs_f64();
    let left = total.saturating_sub(done) as f64 / per_second;
    let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
    let (left, digits) = (remaining(left), if per_second < 10.0 { 2 } else { 0 });
    format!("{stage}: {done} of {total}, {per_second:.digits$}/s, {left}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_shortened() {
        let text = format!(
            "--k1: expected a number,\n found {}, see  --help",
            "é".repeat(100_000)
        );
        let (start, end) = ("é".repeat(250), "é".repeat(249));
        let expected = format!("--k1: expected a number, found {start}...{end}, see  --help");
        assert_eq!(one_line(&text), expected);
        let line = one_line(&format!("found {}here", "a ".repeat(50_000)));
        assert_eq!(line.chars().count(), MAX_LINE + 3);
        assert!(
            line.starts_with("found a a ") && line.ends_with(" a here"),
            "{line}"
        );
    }

    #[test]
    fn log_lines() {
        let line = |done, total| log_line("training", done, total, Duration::from_secs(120));
        assert_eq!(line(0..7, None), "training: 7");
        assert_eq!(line(0..0, Some(90)), "training: 0 of 90");
        let expected = "training: 30 of 90, 0.25/s, 4 min left";
        assert_eq!(line(0..30, Some(90)), expected);
        // Items of an interrupted process do not count for the rate.
        let expected = "training: 9000 of 90000, 50/s, 27 min left";
        assert_eq!(line(3000..9000, Some(90_000)), expected);
        let expected = "training: 60 of 90, 0.50/s, 60 s left";
        assert_eq!(line(0..60, Some(90)), expected);
        // No estimate at the start of a stage.
        let soon = log_line("training", 0..60, Some(90), Duration::from_millis(1900));
        assert_eq!(soon, "training: 60 of 90");
    }

    #[test]
    fn remaining_times() {
        for (seconds, expected) in [(0, "0 s left"), (119, "119 s left"), (120, "2 min left")] {
            assert_eq!(remaining(Duration::from_secs(seconds)), expected);
        }
    }
}
