//! Signals that end a command.
//!
//! The first SIGINT, SIGTERM or SIGHUP ends a command with 128 + its number as the exit code. A
//! long job looks for it between its steps ([`check_stopped`], progress reports) and ends in order,
//! so that it can resume. A command that waits for a pipe cannot look. The kernel restarts the
//! blocked call after a signal, but such a process uses no CPU time, and ends at once.
//! Output files are written atomically and resumable ones survive a kill, so an end at once
//! leaves no partial output. A second signal always ends the command at once; systems other than
//! Unix need it for a blocked command.

use std::io;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

/// Exit code after SIGINT (128 + 2).
const INTERRUPTED_CODE: u8 = 130;

/// Time without CPU use after which a command that has not seen the signal is blocked.
#[cfg(unix)]
const BLOCKED_TIME: Duration = Duration::from_millis(500);

/// Time without CPU use after which a command that has seen the signal is blocked. Longer than a
/// slow disk needs for a checkpoint, and than `ir serve` for the requests in flight.
#[cfg(unix)]
const ENDING_TIME: Duration = Duration::from_secs(60);

/// Interval between two looks at the CPU time.
#[cfg(unix)]
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum CPU time of a blocked process, as a fraction of the wall time: its progress bar and the
/// thread of the signals still run.
#[cfg(unix)]
const BLOCKED_CPU: f64 = 0.01;

/// Maximum time for the message of a command that ends at once. Standard error may be blocked, too.
const MESSAGE_TIME: Duration = Duration::from_secs(1);

/// Stack size of the threads. The default of 2 MiB would count against a memory limit.
const STACK_BYTES: usize = 256 << 10;

/// Exit code of the signal that requested a stop; 0 before.
static STOP: AtomicU8 = AtomicU8::new(0);

/// `true` if the command ends in order after a stop was requested.
static STOPS_IN_ORDER: AtomicBool = AtomicBool::new(false);

/// `true` after the command saw that a stop was requested.
static IS_SEEN: AtomicBool = AtomicBool::new(false);

/// Describes what an interrupted command wrote.
type Outcome = Box<dyn Fn() -> String + Send>;

static OUTCOME: Mutex<Option<Outcome>> = Mutex::new(None);

/// The command was interrupted and wrote nothing.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; nothing was written")]
pub(crate) struct Interrupted;

/// Installs the signal handler. `print` writes a line to standard error.
pub(crate) fn handle_signals(print: fn(&str)) {
    // If the handler cannot be installed, the default action applies.
    let _ = on_signal(move |code| {
        let is_first = STOP.swap(code, Ordering::SeqCst) == 0;
        if !is_first || !STOPS_IN_ORDER.load(Ordering::SeqCst) {
            end_at_once(code, print);
        }
        #[cfg(unix)]
        {
            let watch = std::thread::Builder::new().stack_size(STACK_BYTES);
            let watch = watch.spawn(move || {
                wait_until_blocked();
                end_at_once(code, print);
            });
            if watch.is_err() {
                end_at_once(code, print);
            }
        }
    });
}

/// Lets the first signal request an orderly stop, for commands that report progress.
pub(crate) fn stop_on_interrupt() {
    STOPS_IN_ORDER.store(true, Ordering::SeqCst);
}

/// Sets what the message of an interrupted command says about its output, if that is a stream.
pub(crate) fn describe_outcome(outcome: impl Fn() -> String + Send + 'static) {
    *OUTCOME.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(outcome));
}

/// Returns `true` if a signal requested a stop. The caller then ends the command in order.
pub(crate) fn stopped() -> bool {
    let stopped = STOP.load(Ordering::SeqCst) != 0;
    if stopped {
        IS_SEEN.store(true, Ordering::SeqCst);
    }
    stopped
}

/// Returns an error if an interrupt was requested.
pub(crate) fn check_stopped() -> Result<(), Interrupted> {
    if stopped() { Err(Interrupted) } else { Ok(()) }
}

/// Message of a command that ended in order after a signal.
pub(crate) fn interrupted_message() -> String {
    match outcome() {
        Some(outcome) => format!("interrupted; {outcome}"),
        None => Interrupted.to_string(),
    }
}

/// Ends the process with the exit code of the signal. Buffered data of standard output is dropped:
/// its reader may be blocked.
pub(crate) fn exit_interrupted() -> ! {
    exit(match STOP.load(Ordering::SeqCst) {
        0 => INTERRUPTED_CODE,
        code => code,
    })
}

fn outcome() -> Option<String> {
    let outcome = OUTCOME.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.as_ref().map(|describe| describe())
}

/// Ends the process while other threads may be blocked.
fn end_at_once(code: u8, print: fn(&str)) -> ! {
    let line = match outcome() {
        Some(outcome) => format!("error: interrupted; {outcome}"),
        None => "error: interrupted".to_owned(),
    };
    let (done, printed) = mpsc::channel();
    let printer = std::thread::Builder::new().stack_size(STACK_BYTES);
    let printer = printer.spawn(move || {
        print(&line);
        let _ = done.send(());
    });
    if printer.is_ok() {
        let _ = printed.recv_timeout(MESSAGE_TIME);
    }
    ir_core::store::remove_temporary_files();
    exit(code)
}

#[cfg(unix)]
fn exit(code: u8) -> ! {
    signal_hook::low_level::exit(i32::from(code))
}

#[cfg(not(unix))]
fn exit(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

/// Returns when the process has used no CPU time for [`BLOCKED_TIME`], or for [`ENDING_TIME`] if it
/// has seen the signal.
#[cfg(unix)]
fn wait_until_blocked() {
    let (mut start, mut start_cpu) = (Instant::now(), cpu_time());
    loop {
        std::thread::sleep(WATCH_INTERVAL);
        let (elapsed, cpu) = (start.elapsed(), cpu_time());
        if cpu.saturating_sub(start_cpu) > BLOCKED_TIME.max(elapsed).mul_f64(BLOCKED_CPU) {
            (start, start_cpu) = (Instant::now(), cpu);
            continue;
        }
        let limit = if IS_SEEN.load(Ordering::SeqCst) {
            ENDING_TIME
        } else {
            BLOCKED_TIME
        };
        if elapsed >= limit {
            return;
        }
    }
}

/// CPU time of all threads of the process.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Calls `handle` with the exit code of each signal, on a thread of its own.
#[cfg(unix)]
fn on_signal(handle: impl Fn(u8) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if !is_hangup_ignored() {
        signals.add_signal(SIGHUP)?;
    }
    // Out of memory is an error, not an abnormal end: the allocator has said how many bytes failed.
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(SIGABRT, 1, always)?;
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(move || {
        for signal in signals.forever() {
            handle(128 + signal as u8);
        }
    })?;
    Ok(())
}

/// Returns `true` if the parent process made this process ignore SIGHUP, as nohup(1) does.
/// Supported on Linux; elsewhere always `false`.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| {
        let mask = u64::from_str_radix(mask.trim(), 16);
        mask.is_ok_and(|mask| mask >> (signal_hook::consts::SIGHUP - 1) & 1 == 1)
    })
}

/// Calls `handle` with the exit code of each interrupt, on a thread of its own.
#[cfg(not(unix))]
fn on_signal(handle: impl Fn(u8) + Send + 'static) -> io::Result<()> {
    let handled = ctrlc::set_handler(move || handle(INTERRUPTED_CODE));
    handled.map_err(io::Error::other)
}
