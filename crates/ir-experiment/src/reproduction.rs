//! Reproduction of published values: expected, obtained, difference.

use std::fmt;
use std::time::Duration;

use ir_eval::Measure;

use crate::file::{ExpectedValues, Experiment, PublishedValues, ValueOrigin};
use crate::results::ExperimentResults;
use crate::tables::{TableFormat, task_table};

/// Expected and obtained values of an experiment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reproduction {
    /// Name of the experiment file, without extension.
    pub name: String,
    /// Title of the experiment.
    pub title: String,
    /// Description of the experiment.
    pub description: Option<String>,
    /// Source of the expected values.
    pub source: String,
    /// Values, in the order of the file.
    pub values: Vec<ReproducedValue>,
    /// Published values, which are not compared.
    pub published: Vec<PublishedValues>,
    /// Names of the tasks and their tables in Markdown, with the significance of differences; none
    /// unless the experiment asks for them.
    pub comparisons: Vec<(String, String)>,
    /// Wall time of the run, a line of the page. [`Reproduction::new`] sets none.
    pub wall_time: Option<WallTime>,
    /// Path of the experiment file, relative to the folder of the page. [`Reproduction::new`] sets
    /// `../../experiments/NAME.toml`.
    pub file: String,
}

/// Wall time of an experiment, with the threads and the CPU that it was measured with.
///
/// ```
/// use std::time::Duration;
///
/// let mut time = ir_experiment::WallTime::new(Duration::from_millis(1234), 2);
/// time.cpu = "AMD EPYC".to_owned();
/// assert_eq!(time.to_string(), "1.2 s, 2 threads, AMD EPYC");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WallTime {
    /// Wall time in seconds, from reading the collections to the values.
    pub seconds: f64,
    /// Number of threads of the search.
    pub threads: usize,
    /// Model of the CPU.
    pub cpu: String,
}

impl WallTime {
    /// Wall time on the CPU of this machine: its model on Linux, elsewhere its architecture.
    #[must_use]
    pub fn new(time: Duration, threads: usize) -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            seconds: time.as_secs_f64(),
            threads,
            cpu: cpu_model(&info)
                .unwrap_or(std::env::consts::ARCH)
                .to_owned(),
        }
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            seconds,
            threads,
            cpu,
        } = self;
        let plural = if *threads == 1 { "" } else { "s" };
        write!(f, "{seconds:.1} s, {threads} thread{plural}, {cpu}")
    }
}

/// Start of the line of the wall time.
const WALL_TIME: &str = "Wall time: ";

/// Value of `model name` in `/proc/cpuinfo`.
fn cpu_model(info: &str) -> Option<&str> {
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    let (_, model) = fields.find(|(key, _)| key.trim() == "model name")?;
    Some(model.trim()).filter(|model| !model.is_empty())
}

/// Page without the paragraph of its wall time, which follows the line of the command. `None` for a
/// page without a wall time.
fn without_wall_time(page: &str) -> Option<String> {
    let lines: Vec<&str> = page.split_inclusive('\n').collect();
    let command = lines
        .iter()
        .position(|line| line.starts_with("Written by `ir reproduce "))?;
    let at = command + 2;
    lines.get(at).filter(|line| line.starts_with(WALL_TIME))?;
    Some([&lines[..at - 1], &lines[at + 1..]].concat().concat())
}

/// Expected and obtained value of a measure.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReproducedValue {
    /// Name of the task.
    pub task: String,
    /// Name of the system.
    pub system: String,
    /// Name of the measure, as in the file.
    pub measure: String,
    /// Expected value, × scale.
    pub expected: f64,
    /// Obtained value, × scale.
    pub obtained: f64,
    /// Maximum difference of a reproduced value.
    pub tolerance: f64,
    /// Number of decimals of the expected values.
    pub decimals: usize,
    /// Source of the value. `None` for the source of the page.
    pub source: Option<String>,
    /// Origin of the expected value; `None` if the file does not state it.
    pub origin: Option<ValueOrigin>,
    /// Reason of a known difference.
    pub reason: Option<String>,
}

impl ReproducedValue {
    /// Returns `true` if the difference is at most the tolerance.
    #[must_use]
    pub fn is_reproduced(&self) -> bool {
        // Rounding errors of the difference itself do not count.
        (self.obtained - self.expected).abs() <= self.tolerance + 1e-9
    }
}

impl Reproduction {
    /// Compares results with the expected values of their experiment.
    #[must_use]
    pub fn new(experiment: &Experiment, results: &ExperimentResults) -> Self {
        let reproduction = experiment.reproduction.clone().unwrap_or_default();
        let mut values = Vec::new();
        for expected in &experiment.expected {
            let first = results.tasks.first().map(|task| task.name.clone());
            let task = expected.task.clone().or(first).unwrap_or_default();
            let decimals = decimals(expected);
            let mut named: Vec<_> = expected.values.iter().collect();
            named.sort_by_cached_key(|&(name, _)| natural_key(name));
            for (name, value) in named {
                let obtained = match results.classification(&task) {
                    Some(found) => found.value(name),
                    None => {
                        let measure = name.parse::<Measure>().ok();
                        measure.and_then(|it| results.value(&task, &expected.system, it))
                    }
                };
                values.push(ReproducedValue {
                    task: task.clone(),
                    system: expected.system.clone(),
                    measure: name.clone(),
                    expected: *value,
                    obtained: expected.scale * obtained.unwrap_or(f64::NAN),
                    tolerance: expected.tolerance,
                    decimals,
                    source: expected.source.clone(),
                    origin: expected.origin.or(reproduction.origin),
                    reason: expected.reason.clone(),
                });
            }
        }
        let name = experiment.source.name().unwrap_or_default();
        let tasks = results.tasks.iter().filter(|_| reproduction.comparison);
        let comparisons =
            tasks.map(|task| (task.name.clone(), task_table(task, TableFormat::Markdown)));
        Self {
            file: format!("../../experiments/{name}.toml"),
            name,
            title: results.title.clone(),
            description: results.description.clone(),
            source: reproduction.source,
            values,
            published: reproduction.published,
            comparisons: comparisons.collect(),
            wall_time: None,
        }
    }

    /// Adds the wall time of the run, for its line in the page.
    #[must_use]
    pub fn with_wall_time(mut self, time: WallTime) -> Self {
        self.wall_time = Some(time);
        self
    }

    /// Sets the path of the experiment file, relative to the folder of the page.
    #[must_use]
    pub fn with_file(mut self, file: impl Into<String>) -> Self {
        self.file = file.into();
        self
    }

    /// Returns the values that differ by more than their tolerance.
    pub fn failures(&self) -> impl Iterator<Item = &ReproducedValue> {
        self.values.iter().filter(|value| !value.is_reproduced())
    }

    /// Returns `true` if a page equals the page of this reproduction. The line of the wall time is
    /// not compared: two runs on the same data differ in nothing else.
    #[must_use]
    pub fn has_page(&self, page: &str) -> bool {
        let own = self.without_wall_time();
        page == own || without_wall_time(page).is_some_and(|page| page == own)
    }

    /// Returns `true` if a page is complete and does not need to be written again: it equals the
    /// page of this reproduction, and states a wall time if this reproduction does.
    #[must_use]
    pub fn is_written(&self, page: &str) -> bool {
        let own = self.without_wall_time();
        self.wall_time.is_none() && page == own
            || without_wall_time(page).is_some_and(|page| page == own)
    }

    fn without_wall_time(&self) -> String {
        let wall_time = None;
        let without = Self {
            wall_time,
            ..self.clone()
        };
        without.to_markdown()
    }

    /// Writes the page of the reproduction as Markdown. Apart from the line of the wall time, if
    /// there is one, two runs on the same data write the same bytes.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let name = &self.name;
        let mut page = format!("# {}\n\n", self.title);
        page.push_str(&format!(
            "Written by `ir reproduce {name}`, ir {}. Expected values: {}.\n",
            env!("CARGO_PKG_VERSION"),
            self.source.trim_end_matches('.')
        ));
        if let Some(time) = &self.wall_time {
            page.push_str(&format!("\n{WALL_TIME}{time}.\n"));
        }
        if let Some(description) = &self.description {
            page.push_str(&format!("\n{}\n", description.trim()));
        }
        let several = self
            .values
            .iter()
            .any(|value| value.task != self.values[0].task);
        let task_column = if several { "| task " } else { "" };
        page.push_str(&format!(
            "\n{task_column}| system | measure | expected | obtained | difference | tolerance | origin | |\n"
        ));
        let columns = if several { 9 } else { 8 };
        page.push_str(&format!("{}|\n", "|---".repeat(columns)));
        let mut notes: Vec<String> = Vec::new();
        for value in &self.values {
            if several {
                page.push_str(&format!("| {} ", cell(&value.task)));
            }
            let decimals = value.decimals;
            // Minus zero is zero.
            let difference = value.obtained - value.expected;
            let mut difference = format!("{difference:+.0$}", decimals + 1);
            if difference.trim_matches(['+', '-', '0', '.']).is_empty() {
                difference = format!("{:.1$}", 0.0, decimals + 1);
            }
            let mut mark = if value.is_reproduced() {
                String::new()
            } else {
                "outside".to_owned()
            };
            for note in [&value.source, &value.reason].into_iter().flatten() {
                let known = notes.iter().position(|other| other == note);
                let number = known.unwrap_or_else(|| {
                    notes.push(note.clone());
                    notes.len() - 1
                });
                mark.push_str(&format!(" [{}]", number + 1));
            }
            page.push_str(&format!(
                "| {} | {} | {:.decimals$} | {:.decimals$} | {difference} | {} | {} | {} |\n",
                cell(&value.system),
                cell(&value.measure),
                value.expected,
                value.obtained,
                value.tolerance,
                value
                    .origin
                    .map(|origin| origin.to_string())
                    .unwrap_or_default(),
                mark.trim(),
            ));
        }
        for (n, note) in notes.iter().enumerate() {
            page.push_str(&format!("\n[{}] {note}\n", n + 1));
        }
        page.push_str(&published_table(&self.published));
        if let [(_, table)] = &*self.comparisons {
            page.push_str(&format!("\n{}\n", table.trim()));
        } else {
            for (task, table) in &self.comparisons {
                page.push_str(&format!("\n## {task}\n\n{}\n", table.trim()));
            }
        }
        let mut path = self.file.as_str();
        while let Some(rest) = path.strip_prefix("../") {
            path = rest;
        }
        let link = self.file.replace(' ', "%20");
        let command = if path.contains(' ') {
            format!("ir run '{path}'")
        } else {
            format!("ir run {path}")
        };
        page.push_str(&format!(
            "\nThe experiment is [`{path}`]({link}); `{command}` prints its table.\n"
        ));
        page
    }
}

/// Table of values that are not compared: a row for each system, a column for each measure.
fn published_table(published: &[PublishedValues]) -> String {
    if published.is_empty() {
        return String::new();
    }
    let mut measures: Vec<&str> = Vec::new();
    for name in published.iter().flat_map(|entry| entry.values.keys()) {
        if !measures.contains(&name.as_str()) {
            measures.push(name);
        }
    }
    measures.sort_by_cached_key(|&name| natural_key(name));
    let mut table = String::from("\nOther values, not compared:\n\n| system ");
    for measure in &measures {
        table.push_str(&format!("| {} ", cell(measure)));
    }
    table.push_str(&format!(
        "| origin | differs |\n{}|\n",
        "|---".repeat(measures.len() + 3)
    ));
    for entry in published {
        table.push_str(&format!("| {} ", cell(&entry.system)));
        for &measure in &measures {
            let value = entry.values.get(measure).map(f64::to_string);
            table.push_str(&format!("| {} ", value.unwrap_or_default()));
        }
        let differs = entry.differs.as_deref().unwrap_or_default();
        table.push_str(&format!("| {} | {} |\n", entry.origin, cell(differs)));
    }
    table
}

/// Maximum number of decimals of the expected values, at least two.
fn decimals(expected: &ExpectedValues) -> usize {
    let digits = expected.values.values().map(|value| {
        let text = value.to_string();
        text.split_once('.')
            .map_or(0, |(_, fraction)| fraction.len())
    });
    digits.max().unwrap_or_default().max(2)
}

/// Text of a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Sort key of the natural order: numbers in a name are compared by value.
fn natural_key(name: &str) -> Vec<(usize, &[u8])> {
    let parts = name
        .as_bytes()
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let key = parts.map(|part| {
        if part[0].is_ascii_digit() {
            let zeros = part.iter().take_while(|digit| **digit == b'0').count();
            (part.len() - zeros, &part[zeros..])
        } else {
            (usize::MAX, part)
        }
    });
    key.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(expected: f64, obtained: f64) -> ReproducedValue {
        ReproducedValue {
            task: "beir/nfcorpus".to_owned(),
            system: "BM25".to_owned(),
            measure: "nDCG@10".to_owned(),
            expected,
            obtained,
            tolerance: 0.0005,
            decimals: 4,
            source: None,
            origin: Some(ValueOrigin::Peer),
            reason: None,
        }
    }

    #[test]
    fn numbers_in_names_are_compared_by_value() {
        let sorted = [
            "P_5",
            "P_10",
            "P_100",
            "accuracy",
            "fold 1",
            "fold 2",
            "fold 10",
            "iprec_at_recall_0.00",
            "iprec_at_recall_0.10",
        ];
        let mut found = sorted;
        found.sort_unstable();
        assert_ne!(found, sorted);
        found.sort_by_key(|&name| natural_key(name));
        assert_eq!(found, sorted);
    }

    #[test]
    fn page() {
        let mut reproduction = Reproduction {
            name: "bm25".to_owned(),
            title: "NFCorpus".to_owned(),
            description: None,
            source: "Anserini.".to_owned(),
            values: vec![value(0.3218, 0.32182), value(0.2457, 0.2463)],
            published: Vec::new(),
            comparisons: Vec::new(),
            wall_time: None,
            file: "../../experiments/bm25.toml".to_owned(),
        };
        reproduction.values[1].origin = None;
        reproduction.values[1].reason = Some("Rounded.".to_owned());
        let page = reproduction.to_markdown();
        assert!(
            page.starts_with("# NFCorpus\n\nWritten by `ir reproduce bm25`, ir "),
            "{page}"
        );
        for line in [
            "| system | measure | expected | obtained | difference | tolerance | origin | |",
            "|---|---|---|---|---|---|---|---|",
            "| BM25 | nDCG@10 | 0.3218 | 0.3218 | +0.00002 | 0.0005 | peer, run by us |  |",
            "| BM25 | nDCG@10 | 0.2457 | 0.2463 | +0.00060 | 0.0005 |  | outside [1] |",
            "[1] Rounded.",
            "The experiment is [`experiments/bm25.toml`](../../experiments/bm25.toml); \
             `ir run experiments/bm25.toml` prints its table.",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        let published = |system: &str, measure: &str, value| PublishedValues {
            system: system.to_owned(),
            values: [(measure.to_owned(), value)].into(),
            differs: (system == "b").then(|| "other data".to_owned()),
            origin: match system {
                "b" => ValueOrigin::Peer,
                _ => ValueOrigin::Published,
            },
        };
        reproduction.published = vec![published("a", "P@10", 58.0), published("b", "P@5", 69.5)];
        reproduction.comparisons = vec![("task".to_owned(), "| table |\n".to_owned())];
        let page = reproduction.to_markdown();
        let published = "[1] Rounded.\n\nOther values, not compared:\n\n\
             | system | P@5 | P@10 | origin | differs |\n|---|---|---|---|---|\n\
             | a |  | 58 | published |  |\n| b | 69.5 |  | peer, run by us | other data |\n\n| table |\n\nThe experiment is";
        assert!(page.contains(published), "{page}");
        let page = reproduction
            .clone()
            .with_file("../my file.toml")
            .to_markdown();
        assert!(
            page.ends_with(
                "[`my file.toml`](../my%20file.toml); `ir run 'my file.toml'` prints its table.\n"
            ),
            "{page}"
        );
        assert_eq!(reproduction.failures().count(), 1);
        assert!(!value(0.1, f64::NAN).is_reproduced());
    }

    #[test]
    fn only_the_line_of_the_wall_time_is_not_compared() {
        let time = |seconds, threads| WallTime {
            seconds,
            threads,
            cpu: "AMD EPYC".to_owned(),
        };
        let without = Reproduction {
            name: "bm25".to_owned(),
            title: "NFCorpus".to_owned(),
            description: Some("Wall time: not that of the run.".to_owned()),
            source: "Anserini.".to_owned(),
            values: vec![value(0.3218, 0.32182)],
            published: Vec::new(),
            comparisons: Vec::new(),
            wall_time: None,
            file: "../../experiments/bm25.toml".to_owned(),
        };
        let first = without.clone().with_wall_time(time(1.26, 1));
        let second = without.clone().with_wall_time(time(80.0, 16));
        let (page, other) = (first.to_markdown(), second.to_markdown());
        assert_ne!(page, other);
        assert!(
            page.contains("Anserini.\n\nWall time: 1.3 s, 1 thread, AMD EPYC.\n\nWall time: not"),
            "{page}"
        );
        for page in [&page, &other] {
            assert!(without.is_written(page) && first.is_written(page) && second.is_written(page));
        }
        // A page without a wall time is not stale, but is written again by a run with one.
        let plain = without.to_markdown();
        assert!(without.is_written(&plain) && first.has_page(&plain) && !first.is_written(&plain));
        // Any other line counts, the description that looks like a wall time included.
        for (line, changed) in [
            ("| 0.3218 |", "| 0.3219 |"),
            ("not that of the run", "of the run"),
            ("# NFCorpus", "# ArguAna"),
            ("ir run experiments", "ir run  experiments"),
            ("AMD EPYC.\n", "AMD EPYC.\nWall time: 2 s.\n"),
        ] {
            assert!(page.contains(line), "{line}");
            assert!(!first.has_page(&page.replace(line, changed)), "{line}");
        }
        assert!(!first.has_page(page.trim_end()));
        assert!(!first.has_page(""));
    }

    #[test]
    fn model_of_the_cpu() {
        let info = "vendor_id\t: x\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags : a\n";
        assert_eq!(cpu_model(info), Some("AMD EPYC"));
        assert_eq!(cpu_model("vendor_id : x\nmodel name :\n"), None);
        assert_eq!(cpu_model(""), None);
        assert!(!WallTime::new(Duration::ZERO, 1).cpu.is_empty());
    }
}
