//! Tables of the results as text, Markdown and LaTeX.

use ir_eval::Report;
use ir_eval::compare::{escape_latex, escape_markdown};

use crate::classification::ClassificationResults;
use crate::file_name::file_name;
use crate::task_results::{TaskResults, heading};

/// Format of a table.
#[derive(Clone, Copy)]
pub(crate) enum TableFormat<'t> {
    Text,
    Markdown,
    /// `title` of the experiment starts every caption.
    Latex {
        title: &'t str,
    },
}

impl TableFormat<'_> {
    /// Text of a cell without characters that are special in the format.
    fn escape(self, cell: &str) -> String {
        match self {
            Self::Text => cell.to_owned(),
            Self::Markdown => escape_markdown(cell),
            Self::Latex { .. } => escape_latex(cell),
        }
    }
}

/// Table without significance tests. The first column is text, the others are numbers.
struct PlainTable {
    caption: String,
    /// Label in LaTeX, after `tab:`.
    label: String,
    rows: Vec<Vec<String>>,
}

impl PlainTable {
    /// Writes the table; the first row is the header.
    fn write(&self, format: TableFormat<'_>) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let escaped = self.rows.iter().map(|row| {
            let cells = row.iter().map(|cell| format.escape(cell));
            cells.collect::<Vec<String>>()
        });
        let rows: Vec<Vec<String>> = escaped.collect();
        match format {
            TableFormat::Text => text(&rows, columns),
            TableFormat::Markdown => {
                let mut lines = rows.iter().map(|row| format!("| {} |\n", row.join(" | ")));
                let header = lines.next().unwrap_or_default();
                let line = format!("{}|\n", "|---".repeat(columns));
                header + &line + &lines.collect::<String>()
            }
            TableFormat::Latex { title } => self.latex(title, &rows, columns),
        }
    }

    fn latex(&self, title: &str, rows: &[Vec<String>], columns: usize) -> String {
        let caption = escape_latex(&format!("{title}: {}", self.caption));
        let mut text = format!(
            "% needs \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\
             \\caption{{{caption}.}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n",
            self.label,
            "r".repeat(columns.saturating_sub(1))
        );
        for (n, row) in rows.iter().enumerate() {
            text.push_str(&format!("{} \\\\\n", row.join(" & ")));
            if n == 0 {
                text.push_str("\\midrule\n");
            }
        }
        text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    }
}

fn text(rows: &[Vec<String>], columns: usize) -> String {
    let width = |n: usize| rows.iter().map(|row| row[n].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|n| width(n).unwrap_or_default()).collect();
    let mut text = String::new();
    for row in rows {
        for (n, (cell, width)) in row.iter().zip(&widths).enumerate() {
            match n {
                0 => text.push_str(&format!("{cell:width$}")),
                _ => text.push_str(&format!("  {cell:>width$}")),
            }
        }
        text.push('\n');
    }
    text
}

/// Table of a task: its comparison, or the scores of its only system.
pub(crate) fn task_table(task: &TaskResults, format: TableFormat<'_>) -> String {
    let label = file_name(&task.name);
    if let Some(comparison) = &task.comparison {
        return match format {
            TableFormat::Text => comparison.to_text(),
            TableFormat::Markdown => comparison.to_markdown(),
            TableFormat::Latex { title } => {
                comparison.to_latex_labeled(&format!("{title}, {}", task.name), &label)
            }
        };
    }
    let name = task.reports.first().map_or("", Report::run);
    let mut rows = vec![vec!["measure".to_owned(), name.to_owned()]];
    for measure in &task.measures {
        let value = task.value(name, *measure).unwrap_or_default();
        rows.push(vec![measure.to_string(), format!("{value:.4}")]);
    }
    let table = PlainTable {
        caption: format!("{}. Scores of {name}", heading(task)),
        label,
        rows,
    };
    table.write(format)
}

/// Table of the agreement of rankings after an empty line; empty without any.
pub(crate) fn overlap_table(task: &TaskResults, format: TableFormat<'_>) -> String {
    let Some(first) = task.overlaps.first() else {
        return String::new();
    };
    let depth = first.depth;
    let header = [
        "pair".to_owned(),
        format!("overlap@{depth}"),
        format!("RBO@{depth}"),
    ];
    let mut rows = vec![header.to_vec()];
    for found in &task.overlaps {
        let [first, second] = &found.systems;
        rows.push(vec![
            format!("{first}, {second}"),
            format!("{:.4}", found.overlap),
            format!("{:.4}", found.rbo),
        ]);
    }
    let table = PlainTable {
        caption: format!(
            "{}. Agreement of the first {depth} documents",
            heading(task)
        ),
        label: format!("{}-overlap", file_name(&task.name)),
        rows,
    };
    let text = table.write(format);
    match format {
        TableFormat::Latex { .. } => text,
        _ => format!("\n{text}"),
    }
}

/// Table of the costs of the systems after an empty line; empty without any.
pub(crate) fn costs_table(task: &TaskResults, format: TableFormat<'_>) -> String {
    if task.costs.is_empty() {
        return String::new();
    }
    let header = ["costs", "ms per query", "bytes"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for found in &task.costs {
        rows.push(vec![
            found.system.clone(),
            format!("{:.3}", found.milliseconds),
            found.bytes.to_string(),
        ]);
    }
    let table = PlainTable {
        caption: format!("{}. Median time of a search, bytes of files", heading(task)),
        label: format!("{}-costs", file_name(&task.name)),
        rows,
    };
    let text = table.write(format);
    match format {
        TableFormat::Latex { .. } => text,
        _ => format!("\n{text}"),
    }
}

/// Table of the classifications after an empty line; empty without any.
pub(crate) fn accuracies(all: &[ClassificationResults], format: TableFormat<'_>) -> String {
    if all.is_empty() {
        return String::new();
    }
    let header = ["classification", "items", "classes", "accuracy (%)"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for found in all {
        rows.push(vec![
            found.name.clone(),
            found.items.to_string(),
            found.classes.to_string(),
            format!("{:.2}", 100.0 * found.accuracy),
        ]);
    }
    let table = PlainTable {
        caption: "Accuracy of kNN classification".to_owned(),
        label: "classification-accuracy".to_owned(),
        rows,
    };
    let text = table.write(format);
    match format {
        TableFormat::Latex { .. } => text,
        _ => format!("\n{text}"),
    }
}
