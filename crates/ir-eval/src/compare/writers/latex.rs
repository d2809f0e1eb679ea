//! Tables of a comparison in LaTeX.

use super::table::{ComparisonTable, SignificanceMark, TableCell};
use crate::compare::Comparison;
use crate::measure::Measure;
use crate::rules::MissingQueries;

/// Line width of LaTeX's article class, in points.
const LINE_WIDTH: usize = 345;

/// Maximum number of rows of a table that fits on a page.
const PAGE_ROWS: usize = 40;

impl Comparison {
    /// Returns the table of scores in LaTeX, for the booktabs package: systems by measures, the
    /// highest score of each measure in bold.
    ///
    /// The caption names measures, number of queries, significance test and marks. The label is
    /// `tab:comparison`. The [`notes`](Comparison::notes) precede the table as comments.
    #[must_use]
    pub fn to_latex(&self) -> String {
        self.latex("", "comparison")
    }

    /// Returns the table of [`Comparison::to_latex`] with another label and with a title at the
    /// start of the caption, for documents with several tables. `title` is escaped; `label` follows
    /// `tab:` and should be letters, digits, dots and dashes.
    #[must_use]
    pub fn to_latex_labeled(&self, title: &str, label: &str) -> String {
        self.latex(&format!("{title}: "), label)
    }

    fn latex(&self, title: &str, label: &str) -> String {
        let [scores, ..] = self.tables();
        let wide = estimated_width(&scores) > LINE_WIDTH;
        let graphicx = if wide { ",graphicx" } else { "" };
        let mut text = format!("% needs \\usepackage{{booktabs{graphicx}}}\n");
        for note in self.notes() {
            let note = note.replace(char::is_control, " ");
            text += &format!("% {note}\n");
        }
        let caption = format!(
            "{title}{} of {} systems over {}. Bold: the highest score of a measure. {}",
            enumerate(&self.measures),
            self.systems.len(),
            self.query_count(),
            self.score_legend()
        );
        text + &float(&caption, label, wide, &scores, &scores.rows)
    }

    /// Returns the tables of confidence intervals and of differences in LaTeX, for the booktabs and
    /// graphicx packages: one row per measure and system or pair, in small type, fitted to the line
    /// width, and split into tables that fit on a page.
    ///
    /// The labels are `tab:comparison-intervals` and `tab:comparison-differences`, numbered from
    /// the second part on.
    #[must_use]
    pub fn to_latex_details(&self) -> String {
        let [scores, intervals, differences] = self.tables();
        let queries = self.query_count();
        let mut text = "% needs \\usepackage{booktabs,graphicx}\n".to_owned();
        let title = format!("{} of scores over {queries}", intervals.title);
        text += &paginate(
            &title,
            "comparison-intervals",
            &unpivot(&scores, &intervals),
        );
        let (differences_of, other) = match self.baseline() {
            Some(baseline) => (format!("Differences to {baseline}"), baseline),
            None => (
                "Differences of all pairs of systems".to_owned(),
                "the other one",
            ),
        };
        let title = format!(
            "{differences_of} over {queries}, with {} intervals. {} ({})",
            self.confidence(),
            self.dagger_legend(other),
            self.config
        );
        // Columns that repeat others, and that papers rarely print, are left out.
        let columns: &[usize] = match self.baseline() {
            Some(_) => &[0, 1, 3, 4, 6, 11],
            None => &[0, 1, 2, 3, 4, 6, 11],
        };
        text += "\n";
        text + &paginate(
            &title,
            "comparison-differences",
            &select_columns(&differences, columns),
        )
    }

    /// Number of queries: `225 queries`.
    fn query_count(&self) -> String {
        let answered = match self.rules.missing {
            MissingQueries::Skip => " that all systems answered",
            MissingQueries::Zero => "",
        };
        format!("{} queries{answered}", self.queries.len())
    }

    /// Legend of the marks of scores, with the significance test.
    fn score_legend(&self) -> String {
        let marks = match self.baseline() {
            Some(baseline) => self.dagger_legend(baseline),
            None => "A letter: significantly higher than the system of that letter".to_owned(),
        };
        format!("{marks} ({})", self.config)
    }

    /// Confidence level: `95 %`.
    fn confidence(&self) -> String {
        let percent = 100.0 * (1.0 - self.config.level);
        format!("{} %", (percent * 1e7).round() / 1e7)
    }
}

/// Estimated width of a table in points: 5 per character and 12 per column.
fn estimated_width(table: &ComparisonTable) -> usize {
    let columns = (0..table.header.len()).map(|at| {
        let cells = table.rows.iter().map(|row| row[at].text.chars().count());
        let widest = cells.max().unwrap_or(0);
        5 * widest.max(table.header[at].chars().count()) + 12
    });
    columns.sum()
}

/// Enumeration: `nDCG@10, AP and RR`.
fn enumerate(measures: &[Measure]) -> String {
    let names: Vec<String> = measures.iter().map(Measure::to_string).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Turns systems by measures into one row per measure and system, with score and interval.
fn unpivot(scores: &ComparisonTable, intervals: &ComparisonTable) -> ComparisonTable {
    let mut rows = Vec::new();
    for (at, measure) in scores.header.iter().enumerate().skip(1) {
        for (score, interval) in scores.rows.iter().zip(&intervals.rows) {
            rows.push(vec![
                measure.clone().into(),
                score[0].clone(),
                score[at].text.clone().into(),
                interval[at].clone(),
            ]);
        }
    }
    ComparisonTable {
        title: String::new(),
        header: ["measure", "system", "score", "interval"]
            .map(str::to_owned)
            .to_vec(),
        rows,
        text_columns: 2,
    }
}

fn select_columns(table: &ComparisonTable, columns: &[usize]) -> ComparisonTable {
    let pick = |row: &Vec<TableCell>| columns.iter().map(|&at| row[at].clone()).collect();
    ComparisonTable {
        title: String::new(),
        header: columns.iter().map(|&at| table.header[at].clone()).collect(),
        rows: table.rows.iter().map(pick).collect(),
        text_columns: columns
            .iter()
            .filter(|&&at| at < table.text_columns)
            .count(),
    }
}

/// Splits a table into tables that fit on a page.
fn paginate(caption: &str, label: &str, table: &ComparisonTable) -> String {
    let parts = (1..)
        .zip(table.rows.chunks(PAGE_ROWS))
        .map(|(number, rows)| {
            if number == 1 {
                return float(caption, label, true, table, rows);
            }
            let caption = format!("{caption} (continued)");
            float(&caption, &format!("{label}-{number}"), true, table, rows)
        });
    parts.collect::<Vec<_>>().join("\n")
}

/// Table environment of some rows with a caption; `label` follows `tab:`. With `fit`, a table wider
/// than the line is shrunk to it.
fn float(
    caption: &str,
    label: &str,
    fit: bool,
    table: &ComparisonTable,
    rows: &[Vec<TableCell>],
) -> String {
    let caption = escape(caption);
    let mut text =
        format!("\\begin{{table}}\n\\centering\n\\caption{{{caption}.}}\n\\label{{tab:{label}}}\n");
    if fit {
        text +=
            "\\small\n\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n";
    }
    text += &tabular(table, rows);
    if fit {
        text.pop();
        text += "}\n";
    }
    text + "\\end{table}\n"
}

fn tabular(table: &ComparisonTable, rows: &[Vec<TableCell>]) -> String {
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let columns =
        "l".repeat(table.text_columns) + &"r".repeat(table.header.len() - table.text_columns);
    let mut text = format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
    text += &line(table.header.iter().map(|name| escape(name)).collect());
    text += "\\midrule\n";
    for row in rows {
        text += &line(row.iter().map(format_cell).collect());
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// Marks have no width (`\rlap`), so that numbers stay aligned.
fn format_cell(cell: &TableCell) -> String {
    let mut text = escape(&cell.text);
    if cell.best {
        text = format!("\\textbf{{{text}}}");
    }
    match &cell.mark {
        SignificanceMark::None => {}
        SignificanceMark::Higher => text += "\\rlap{$^{\\dagger}$}",
        SignificanceMark::Lower => text += "\\rlap{$^{\\ddagger}$}",
        SignificanceMark::HigherThan(letters) => text += &format!("\\rlap{{$^{{{letters}}}$}}"),
    }
    text
}

/// Escapes characters that are special in LaTeX. The sign of a number is typeset in math mode.
///
/// ```
/// assert_eq!(ir_eval::compare::escape_latex("R&D_1"), r"R\&D\_1");
/// ```
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '|' => out.push_str("\\textbar{}"),
            // LaTeX's default encoding OT1 has no straight quotation mark.
            '"' => out.push_str("''"),
            // A row break would read it as part of itself.
            '*' => out.push_str("{*}"),
            '†' => out.push_str("$\\dagger$"),
            '‡' => out.push_str("$\\ddagger$"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '-' | '+'
                if matches!(before, ' ' | '[') && rest.peek().is_some_and(char::is_ascii_digit) =>
            {
                out.push_str(&format!("${c}$"));
            }
            // After a row break it would be read as an optional argument.
            '[' => out.push_str("{[}"),
            // Prevents ligatures.
            '-' | '\'' | '`' if matches!(before, '-' | '\'' | '`' | '"' | '?' | '!') => {
                out.push_str("{}");
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        for (text, expected) in [
            ("a_b&c", "a\\_b\\&c"),
            // After a row break both would be read as its arguments.
            ("*best", "{*}best"),
            ("[x]", "{[}x]"),
            // Ligatures, and a character that the default encoding lacks.
            ("bm25--rm3", "bm25-{}-rm3"),
            ("say \"x\" ''", "say ''x'' '{}'"),
            ("?`", "?{}`"),
            ("-0.5 [-1, 2] x-1", "$-$0.5 {[}$-$1, 2] x-1"),
            (
                "\\~^",
                "\\textbackslash{}\\textasciitilde{}\\textasciicircum{}",
            ),
        ] {
            assert_eq!(escape(text), expected, "{text}");
        }
    }
}
