//! The child process that extracts the text of a PDF.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{PdfConfig, PdfRecord};
use crate::documents::error::PdfError;

/// Bytes of output per byte of text: a line with few characters has a position and a size.
const OUTPUT_FACTOR: u64 = 128;

/// Bytes of standard error that are read.
const MAX_MESSAGE: u64 = 1 << 16;

/// Kills and reaps the process when the parent is done with it, or fails.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Passes the records of the process to `take`.
pub(super) fn run(
    program: &Path,
    arguments: &[OsString],
    bytes: &[u8],
    config: &PdfConfig,
    max_text: u64,
    take: &mut dyn FnMut(PdfRecord) -> Result<(), PdfError>,
) -> Result<(), PdfError> {
    // A year is no limit.
    let end = Instant::now() + config.max_time.min(Duration::from_secs(365 * 24 * 3600));
    let mut command = Command::new(program);
    command.args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let fail = |error: std::io::Error| PdfError::Process {
        program: program.display().to_string(),
        found: error.to_string(),
    };
    let mut child = Reaped(command.spawn().map_err(fail)?);
    let pipes = (
        child.0.stdin.take(),
        child.0.stdout.take(),
        child.0.stderr.take(),
    );
    let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(fail(std::io::Error::other("no pipes")));
    };
    let (sender, lines) = sync_channel::<Vec<u8>>(16);
    let maximum = max_text
        .saturating_mul(OUTPUT_FACTOR)
        .saturating_add(1 << 20);
    // The threads end with the process: it is killed before they are joined.
    thread::scope(|scope| {
        scope.spawn(move || {
            // A process that ends early closes the pipe.
            let _ = stdin.write_all(bytes);
        });
        scope.spawn(move || {
            let mut stdout = BufReader::new(stdout.take(maximum));
            let mut line = Vec::new();
            while let Ok(1..) = stdout.read_until(b'\n', &mut line) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        let message = scope.spawn(move || {
            let mut message = Vec::new();
            let _ = stderr.take(MAX_MESSAGE).read_to_end(&mut message);
            String::from_utf8_lossy(&message).into_owned()
        });
        let result = receive(&lines, end, config, take);
        drop(lines);
        // Of a process that has ended by itself, the status.
        let status = match result {
            Ok(false) => wait_until(&mut child.0, end),
            _ => None,
        };
        drop(child);
        let message = message.join().unwrap_or_default();
        if result? {
            Ok(())
        } else {
            Err(ended(status, &message, config))
        }
    })
}

/// Receives records until the end; false if the output ends before.
fn receive(
    lines: &Receiver<Vec<u8>>,
    end: Instant,
    config: &PdfConfig,
    take: &mut dyn FnMut(PdfRecord) -> Result<(), PdfError>,
) -> Result<bool, PdfError> {
    loop {
        let rest = end.saturating_duration_since(Instant::now());
        let line = match lines.recv_timeout(rest) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                return Err(config.out_of_time());
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
        };
        let Ok(record) = serde_json::from_slice(&line) else {
            return Ok(false);
        };
        if record == PdfRecord::End {
            return Ok(true);
        }
        take(record)?;
    }
}

/// Status of a process that ends before `end`.
fn wait_until(child: &mut Child, end: Instant) -> Option<std::process::ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < end => {
                thread::sleep(Duration::from_millis(5));
            }
            _ => return None,
        }
    }
}

/// Why a process ended without its last record.
fn ended(status: Option<std::process::ExitStatus>, message: &str, config: &PdfConfig) -> PdfError {
    // The runtime of Rust prints it before it aborts.
    if message.contains("memory allocation of") {
        let mebibytes = config.max_memory >> 20;
        return PdfError::Memory { mebibytes };
    }
    let last = message.lines().rfind(|line| !line.trim().is_empty());
    let status = status.map_or_else(|| "no status".to_owned(), |status| status.to_string());
    PdfError::Damaged {
        found: match last {
            Some(last) => format!("the parser ended ({status}): {}", last.trim()),
            None => format!("the parser ended ({status})"),
        },
    }
}

#[cfg(all(test, unix))]
mod tests {

    use super::*;

    fn shell(script: &str, time: Duration) -> (Result<(), PdfError>, Vec<PdfRecord>) {
        let arguments = ["-c".into(), script.into()];
        let config = PdfConfig {
            max_time: time,
            ..PdfConfig::default()
        };
        let mut records = Vec::new();
        // More than a pipe holds.
        let input = vec![b'x'; 1 << 20];
        let result = run(
            Path::new("sh"),
            &arguments,
            &input,
            &config,
            1 << 20,
            &mut |record| {
                records.push(record);
                Ok(())
            },
        );
        (result, records)
    }

    #[test]
    fn every_end_of_the_process_is_an_error() {
        let time = Duration::from_secs(20);
        let (result, records) = shell("echo '\"End\"'", time);
        assert_eq!((result, records), (Ok(()), vec![]));
        let (result, records) = shell("echo '{\"Page\":{\"height\":1.0,\"lines\":[]}}'", time);
        assert_eq!(records.len(), 1);
        let found = "the parser ended (exit status: 0)".to_owned();
        assert_eq!(result, Err(PdfError::Damaged { found }));
        let (result, _) = shell("echo oops >&2; exit 3", time);
        let found = "the parser ended (exit status: 3): oops".to_owned();
        assert_eq!(result, Err(PdfError::Damaged { found }));
        let (result, _) = shell(
            "echo 'memory allocation of 99 bytes failed' >&2; kill -6 $$",
            time,
        );
        assert_eq!(result, Err(PdfError::Memory { mebibytes: 1024 }));
        let (result, _) = shell("echo garbage; cat >/dev/null", time);
        assert!(
            matches!(result, Err(PdfError::Damaged { .. })),
            "{result:?}"
        );
        let missing = run(
            Path::new("/nonexistent"),
            &[],
            b"",
            &PdfConfig::default(),
            1,
            &mut |_| Ok(()),
        );
        assert!(matches!(missing, Err(PdfError::Process { .. })));
    }

    #[test]
    fn a_process_that_hangs_is_killed() {
        let start = Instant::now();
        let (result, _) = shell("exec sleep 600", Duration::from_millis(300));
        assert_eq!(result, Err(PdfError::Time { seconds: 1 }));
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}
