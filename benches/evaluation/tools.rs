//! The measured programs, each in its own process.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use wait4::Wait4;

use crate::files::Files;

/// Measures: trec_eval's option name and output name.
const MEASURES: [(&str, &str); 5] = [
    ("map", "map"),
    ("ndcg_cut.10", "ndcg_cut_10"),
    ("recip_rank", "recip_rank"),
    ("recall.100", "recall_100"),
    ("P.5", "P_5"),
];

/// Values by query and measure.
pub(crate) type Values = BTreeMap<(String, String), f64>;

/// Resource usage of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// CPU time (user and system) in seconds.
    pub(crate) cpu: f64,
    /// Wall time in seconds.
    pub(crate) wall: f64,
    /// Peak resident memory in bytes.
    pub(crate) peak: u64,
}

impl Cost {
    pub(crate) fn best(costs: &[Self]) -> Self {
        let min = |field: fn(&Self) -> f64| costs.iter().map(field).fold(f64::INFINITY, f64::min);
        Self {
            cpu: min(|cost| cost.cpu),
            wall: min(|cost| cost.wall),
            peak: costs.iter().map(|cost| cost.peak).min().unwrap_or(0),
        }
    }
}

/// A program that evaluates a run.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    kind: ToolKind,
}

#[derive(Debug, Clone)]
enum ToolKind {
    Ir {
        program: PathBuf,
        threads: usize,
    },
    TrecEval {
        program: PathBuf,
    },
    Python {
        program: PathBuf,
        package: &'static str,
    },
}

impl Tool {
    /// The release build of `ir`.
    pub(crate) fn ir() -> Result<Self> {
        let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let built = Command::new(cargo)
            .args([
                "build",
                "--release",
                "--package",
                "ir-cli",
                "--no-default-features",
                "--bin",
                "ir",
            ])
            .status()?;
        ensure!(built.success(), "cannot build ir");
        // This executable is target/release/deps/evaluation-*.
        let executable = env::current_exe()?;
        let folder = executable
            .parent()
            .and_then(Path::parent)
            .context("a folder")?;
        let program = folder.join(format!("ir{}", env::consts::EXE_SUFFIX));
        ensure!(program.is_file(), "{}: not found", program.display());
        let kind = ToolKind::Ir {
            program,
            threads: 1,
        };
        let name = "ir eval".to_owned();
        Ok(Self { name, kind })
    }

    pub(crate) fn with_threads(&self, threads: usize) -> Self {
        let mut tool = self.clone();
        if let ToolKind::Ir { threads: count, .. } = &mut tool.kind {
            *count = threads;
            tool.name = format!(
                "ir eval, {threads} thread{}",
                if threads > 1 { "s" } else { "" }
            );
        }
        tool
    }

    /// The other available programs.
    pub(crate) fn peers() -> Vec<Self> {
        let mut peers = Vec::new();
        match env::var_os("TREC_EVAL") {
            None => println!("trec_eval: skipped, TREC_EVAL is not set"),
            Some(program) => peers.push(Self {
                name: "trec_eval".to_owned(),
                kind: ToolKind::TrecEval {
                    program: program.into(),
                },
            }),
        }
        let Some(python) = env::var_os("PYTHON") else {
            println!("pytrec_eval, ir_measures, ranx: skipped, PYTHON is not set");
            return peers;
        };
        for package in ["pytrec_eval", "ir_measures", "ranx"] {
            let found = Command::new(&python)
                .args(["-c", &format!("import {package}")])
                .stderr(Stdio::null())
                .status();
            if found.is_ok_and(|status| status.success()) {
                let program = PathBuf::from(&python);
                peers.push(Self {
                    name: package.to_owned(),
                    kind: ToolKind::Python { program, package },
                });
            } else {
                println!("{package}: skipped, not installed");
            }
        }
        peers
    }

    /// Tolerance of a value.
    pub(crate) fn tolerance(&self, value: f64) -> f64 {
        match self.kind {
            // trec_eval prints four decimals.
            ToolKind::TrecEval { .. } => 0.500_001e-4,
            _ => 1e-6 * value.abs(),
        }
    }

    fn command(&self, files: &Files, each_query: bool) -> Command {
        let mut command;
        match &self.kind {
            ToolKind::Ir { program, threads } => {
                command = Command::new(program);
                command.args(["eval", "-c", "--threads", &threads.to_string()]);
                if each_query {
                    command.args(["-q", "-n", "--json"]);
                }
            }
            ToolKind::TrecEval { program } => {
                command = Command::new(program);
                command.arg("-c");
                if each_query {
                    command.args(["-q", "-n"]);
                }
            }
            ToolKind::Python { program, package } => {
                let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers.py");
                command = Command::new(program);
                command.arg(script).arg(package);
                command.arg(if each_query { "queries" } else { "means" });
            }
        }
        if !matches!(self.kind, ToolKind::Python { .. }) {
            for (option, _) in MEASURES {
                command.args(["-m", option]);
            }
        }
        command.arg(&files.qrels).arg(&files.run);
        command
    }

    pub(crate) fn run(&self, files: &Files) -> Result<Cost> {
        let mut command = self.command(files, false);
        let start = Instant::now();
        let mut child = command
            .stdout(Stdio::null())
            .spawn()
            .context(self.name.clone())?;
        let usage = child.wait4()?;
        let wall = start.elapsed().as_secs_f64();
        ensure!(usage.status.success(), "{} failed", self.name);
        let usage = usage.rusage;
        Ok(Cost {
            cpu: (usage.utime + usage.stime).as_secs_f64(),
            wall,
            peak: usage.maxrss,
        })
    }

    /// Values by query and measure.
    pub(crate) fn values(&self, files: &Files) -> Result<Values> {
        let output = self
            .command(files, true)
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "{} failed", self.name);
        let text = String::from_utf8(output.stdout)?;
        let mut values = Values::new();
        for line in text.lines() {
            let (measure, query, value) = if matches!(self.kind, ToolKind::Ir { .. }) {
                let line: serde_json::Value = serde_json::from_str(line)?;
                if line.get("rules").is_some() {
                    continue;
                }
                let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
                (text("trec_eval"), text("query"), line["value"].as_f64())
            } else {
                let mut columns = line.split_whitespace().map(str::to_owned);
                let mut next = || columns.next().unwrap_or_default();
                let (measure, query, value) = (next(), next(), next());
                (measure, query, value.parse().ok())
            };
            let known = MEASURES.iter().any(|(_, name)| *name == measure);
            ensure!(known, "{}: {line:?}", self.name);
            values.insert((query, measure), value.with_context(|| line.to_owned())?);
        }
        Ok(values)
    }
}
