//! What people see beside the output: warnings, notes, progress, errors. All of it on stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ir_bm25::BuildError;
use ir_core::{CorpusError, Flow, Progress};

/// The exit code of a command that was interrupted, as shells have it.
const INTERRUPTED: u8 = 130;
/// Jobs that are done sooner show no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often a job whose stderr is no terminal, a log file say, tells where it is.
const LOGGED: Duration = Duration::from_secs(60);

static STOP: AtomicBool = AtomicBool::new(false);

/// Standard error, and how much of it is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    quiet: bool,
    terminal: bool,
}

/// A mistake on the command line that only shows when the command looks at its arguments together.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The user asked to stop.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted; nothing was written")
    }
}

impl std::error::Error for Interrupted {}

/// The user asked to stop, and what is done is kept; says so.
#[cfg(feature = "dense")]
#[derive(Debug)]
pub(crate) struct Unfinished(pub(crate) String);

#[cfg(feature = "dense")]
impl Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "dense")]
impl std::error::Error for Unfinished {}

impl Console {
    /// `quiet` leaves errors only.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// Something that is probably not meant. Also shown in pipes.
    pub(crate) fn warn(&self, what: impl Display) {
        if !self.quiet {
            eprintln!("warning: {}", one_line(&what.to_string()));
        }
    }

    /// Something good to know. On a terminal only.
    pub(crate) fn note(&self, what: impl Display) {
        if !self.quiet && self.terminal {
            eprintln!("{what}");
        }
    }

    /// How far a long job has come, and what it ended with. Also shown in a log.
    #[cfg(feature = "dense")]
    pub(crate) fn log(&self, what: impl Display) {
        if !self.quiet {
            eprintln!("{what}");
        }
    }

    /// A progress bar. Where stderr is no terminal, a line a minute.
    pub(crate) fn bar(&self) -> Bar {
        let now = Instant::now();
        Bar {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
            stage: String::new(),
            sized: None,
            due: (!self.quiet && self.terminal).then(|| now + PATIENCE),
            begun: now,
            line_due: (!self.quiet && !self.terminal).then(|| now + LOGGED),
        }
    }

    /// Prints an error with its causes in one line, and gives the exit code.
    pub(crate) fn fail(&self, error: &anyhow::Error) -> ExitCode {
        self.fail_as(error, if error.is::<Usage>() { 2 } else { 1 })
    }

    /// [`Console::fail`] with another exit code than 1 and 2.
    pub(crate) fn fail_as(&self, error: &anyhow::Error, code: u8) -> ExitCode {
        if error.chain().any(broken_pipe) {
            return ExitCode::SUCCESS;
        }
        #[cfg(feature = "dense")]
        if let Some(unfinished) = error.downcast_ref::<Unfinished>() {
            eprintln!("error: {unfinished}");
            return ExitCode::from(INTERRUPTED);
        }
        if stopped() || error.is::<Interrupted>() {
            eprintln!("error: {Interrupted}");
            return ExitCode::from(INTERRUPTED);
        }
        eprintln!("error: {}", chain(error));
        ExitCode::from(code)
    }
}

/// The causes of an error joined by ": ", without those that only repeat what was said.
fn chain(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        if only_passes_on(cause) && cause.source().is_some() {
            continue;
        }
        let text = one_line(&cause.to_string());
        if line.is_empty() {
            line = text;
        } else if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
    }
    line
}

/// Whether an error says no more than that reading failed, which its cause says better.
fn only_passes_on(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<CorpusError>() || matches!(cause.downcast_ref(), Some(BuildError::Corpus(_)))
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether nobody reads our output any more. Not every error passes its `io::Error` on as source.
fn broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(cause);
    while let Some(error) = next {
        if error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        {
            return true;
        }
        next = error.source();
    }
    false
}

/// From here on Ctrl-C (and a polite kill) ask the command to stop, which then removes what it
/// had begun to write; a second Ctrl-C does so at once.
pub(crate) fn stop_on_interrupt() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        // Without a handler an interrupt ends the process as ever: no reason to fail.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::SeqCst) {
                ir_core::remove_unfinished();
                std::process::exit(i32::from(INTERRUPTED));
            }
        });
    });
}

/// Whether the command was asked to stop.
pub(crate) fn stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// An error when the command was asked to stop.
pub(crate) fn check_stopped() -> Result<(), Interrupted> {
    if stopped() { Err(Interrupted) } else { Ok(()) }
}

/// Progress of a long job, drawn on a terminal or told in lines.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    stage: String,
    sized: Option<u64>,
    /// When it is to be shown; `None` for never, and when it is shown already.
    due: Option<Instant>,
    /// When the stage began.
    begun: Instant,
    /// When the next line is to be printed; `None` for never.
    line_due: Option<Instant>,
}

impl Bar {
    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn restyle(&mut self, stage: &str, total: Option<u64>) {
        self.stage = stage.to_owned();
        self.sized = total;
        self.begun = Instant::now();
        let template = match (total, stage) {
            (None, _) => "{spinner} {msg} {human_pos} {elapsed}",
            // Steps take so long that their rate says something.
            (Some(_), "training") => {
                "{msg} {wide_bar:.cyan/dim} {human_pos}/{human_len} {per_sec} {eta}"
            }
            (Some(_), _) => "{msg} {wide_bar:.cyan/dim} {human_pos}/{human_len} {eta}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("━━─"));
        }
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        self.bar.reset();
        self.bar.set_message(stage.to_owned());
    }
}

impl Progress for Bar {
    fn report(&mut self, stage: &str, done: u64, total: Option<u64>) -> Flow {
        if self.stage != stage || self.sized != total {
            self.restyle(stage, total);
        }
        self.bar.set_position(done);
        if self.due.is_some_and(|due| Instant::now() >= due) {
            self.due = None;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(120));
        }
        let now = Instant::now();
        if self.line_due.is_some_and(|due| now >= due) {
            self.line_due = Some(now + LOGGED);
            eprintln!("{}", line(stage, done, total, now - self.begun));
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

/// Where a stage is that began so long ago.
fn line(stage: &str, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let Some(total) = total else {
        return format!("{stage}: {done}");
    };
    if done == 0 {
        return format!("{stage}: {done} of {total}");
    }
    let left = elapsed.as_secs_f64() * total.saturating_sub(done) as f64 / done as f64;
    format!("{stage}: {done} of {total}, {:.0} min left", left / 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_log() {
        let line = |done, total| line("training", done, total, Duration::from_secs(120));
        assert_eq!(line(7, None), "training: 7");
        assert_eq!(line(0, Some(90)), "training: 0 of 90");
        assert_eq!(line(30, Some(90)), "training: 30 of 90, 4 min left");
    }
}
