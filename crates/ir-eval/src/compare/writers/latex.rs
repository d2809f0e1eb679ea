//! Tables in LaTeX.

use super::table::{Cell, Mark, Sheet};
use crate::Comparison;
use crate::significance::Alternative;
use crate::{Measure, Missing};

/// The width of a line in LaTeX's class article, in points.
const LINE: usize = 345;

/// Longer tables than this do not fit on a page.
const ROWS: usize = 40;

impl Comparison {
    /// The table of figures in LaTeX, for the package booktabs: systems by measures, with a caption
    /// that says what the figures are of, what was tested, and what the marks mean. The highest
    /// figure of a measure is bold; the label is `tab:comparison`. Comments above it hold the
    /// [`notes`](Comparison::notes).
    #[must_use]
    pub fn to_latex(&self) -> String {
        let [scores, ..] = self.sheets();
        let wide = points(&scores) > LINE;
        let packages = if wide {
            "booktabs,graphicx"
        } else {
            "booktabs"
        };
        let mut text = format!("% needs \\usepackage{{{packages}}}\n");
        for note in self.notes() {
            let note = note.replace(char::is_control, " ");
            text += &format!("% {note}\n");
        }
        let caption = format!(
            "{} of {} systems over {}. Bold: the highest score of a measure. {}",
            list(&self.measures),
            self.systems.len(),
            self.over(),
            self.legend()
        );
        let width = if wide { Width::Line } else { Width::Own };
        text + &float(&caption, "", width, &scores)
    }

    /// The tables of confidence intervals and of differences in LaTeX, for the packages booktabs
    /// and graphicx, to stand behind [`latex`](Comparison::latex): a row for each measure and
    /// system, in small type and no wider than a line, in parts that fit on a page. The labels are
    /// `tab:comparison-intervals` and `tab:comparison-differences`, with a number from the second
    /// part on.
    #[must_use]
    pub fn to_latex_details(&self) -> String {
        let [scores, intervals, differences] = self.sheets();
        let over = self.over();
        let mut text = "% needs \\usepackage{booktabs,graphicx}\n".to_owned();
        let title = format!("{} of scores over {over}", intervals.title);
        text += &parts(&title, "-intervals", &by_row(&scores, &intervals));
        let against = match self.baseline() {
            Some(baseline) => format!("Differences to {baseline}"),
            None => "Differences of all pairs of systems".to_owned(),
        };
        let interval = self.confidence();
        let title = format!(
            "{against} over {over}, with {interval} intervals. {}",
            self.legend_of_pairs()
        );
        // Without what the others say already, or what few papers print.
        let columns: &[usize] = match self.baseline() {
            Some(_) => &[0, 1, 3, 4, 6, 11],
            None => &[0, 1, 2, 3, 4, 6, 11],
        };
        text += "\n";
        text + &parts(&title, "-differences", &chosen(&differences, columns))
    }

    /// `225 queries`.
    fn over(&self) -> String {
        let answered = match self.rules.missing {
            Missing::Skip => " that all systems answered",
            Missing::Zero => "",
        };
        format!("{} queries{answered}", self.queries.len())
    }

    /// What the marks of the figures mean, and by which test.
    fn legend(&self) -> String {
        let Some(baseline) = self.baseline() else {
            return format!(
                "A letter: significantly higher than the system of that letter ({})",
                self.config
            );
        };
        self.daggers(baseline)
    }

    fn legend_of_pairs(&self) -> String {
        self.daggers(self.baseline().unwrap_or("the other one"))
    }

    fn daggers(&self, other: &str) -> String {
        let marks = match self.config.alternative {
            Alternative::Greater => "†: significantly higher",
            Alternative::Less => "‡: significantly lower",
            Alternative::TwoSided => "†, ‡: significantly higher, lower",
        };
        format!("{marks} than {other} ({})", self.config)
    }

    /// `95 %`.
    fn confidence(&self) -> String {
        let percent = 100.0 * (1.0 - self.config.level);
        format!("{} %", (percent * 1e7).round() / 1e7)
    }
}

/// About how wide a table is: five points a character, twelve between columns.
fn points(sheet: &Sheet) -> usize {
    let columns = (0..sheet.header.len()).map(|at| {
        let cells = sheet.rows.iter().map(|row| row[at].text.chars().count());
        let widest = cells.max().unwrap_or(0);
        5 * widest.max(sheet.header[at].chars().count()) + 12
    });
    columns.sum()
}

/// How wide a table may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    /// As it comes.
    Own,
    /// No wider than the line: smaller where it would be.
    Line,
}

/// `nDCG@10, AP and RR`.
fn list(measures: &[Measure]) -> String {
    let names: Vec<String> = measures.iter().map(Measure::to_string).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Systems by measures as one row for each of both, with the figure and its interval.
fn by_row(scores: &Sheet, intervals: &Sheet) -> Sheet {
    let mut rows = Vec::new();
    for (at, measure) in scores.header.iter().enumerate().skip(1) {
        for (score, interval) in scores.rows.iter().zip(&intervals.rows) {
            let words = [Cell::from(measure.as_str()), score[0].clone()];
            let numbers = [Cell::from(score[at].text.clone()), interval[at].clone()];
            rows.push(words.into_iter().chain(numbers).collect());
        }
    }
    Sheet {
        title: String::new(),
        header: ["measure", "system", "score", "interval"]
            .map(str::to_owned)
            .to_vec(),
        rows,
        words: 2,
    }
}

/// Some columns of a table.
fn chosen(sheet: &Sheet, columns: &[usize]) -> Sheet {
    let pick = |row: &Vec<Cell>| columns.iter().map(|&at| row[at].clone()).collect();
    Sheet {
        title: String::new(),
        header: columns.iter().map(|&at| sheet.header[at].clone()).collect(),
        rows: sheet.rows.iter().map(pick).collect(),
        words: columns.iter().filter(|&&at| at < sheet.words).count(),
    }
}

/// A table in parts that fit on a page.
fn parts(caption: &str, label: &str, sheet: &Sheet) -> String {
    let parts = sheet.rows.chunks(ROWS).enumerate().map(|(at, rows)| {
        let part = Sheet {
            title: String::new(),
            header: sheet.header.clone(),
            rows: rows.to_vec(),
            words: sheet.words,
        };
        match at {
            0 => float(caption, label, Width::Line, &part),
            _ => {
                let label = format!("{label}-{}", at + 1);
                float(
                    &format!("{caption} (continued)"),
                    &label,
                    Width::Line,
                    &part,
                )
            }
        }
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// One table with its caption, and what its label has behind `tab:comparison`.
fn float(caption: &str, label: &str, width: Width, sheet: &Sheet) -> String {
    let caption = escaped(caption);
    let mut text = format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{caption}.}}\n\\label{{tab:comparison{label}}}\n"
    );
    if width == Width::Line {
        text +=
            "\\small\n\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n";
    }
    text += &table(sheet);
    if width == Width::Line {
        text.pop();
        text += "}\n";
    }
    text + "\\end{table}\n"
}

fn table(sheet: &Sheet) -> String {
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let columns = "l".repeat(sheet.words) + &"r".repeat(sheet.header.len() - sheet.words);
    let mut text = format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
    text += &line(sheet.header.iter().map(|name| escaped(name)).collect());
    text += "\\midrule\n";
    for row in &sheet.rows {
        text += &line(row.iter().map(set).collect());
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// Marks hang over the right end of the number, so that numbers stay below each other.
fn set(cell: &Cell) -> String {
    let mut text = escaped(&cell.text);
    if cell.best {
        text = format!("\\textbf{{{text}}}");
    }
    match &cell.mark {
        Mark::None => {}
        Mark::Better => text += "\\rlap{$^{\\dagger}$}",
        Mark::Worse => text += "\\rlap{$^{\\ddagger}$}",
        Mark::Beats(letters) => text += &format!("\\rlap{{$^{{{letters}}}$}}"),
    }
    text
}

/// Text in which nothing means anything to LaTeX. A minus before a digit, where a number begins,
/// becomes a real one.
fn escaped(text: &str) -> String {
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
            // The old encoding OT1, which is LaTeX's default, has no straight one.
            '"' => out.push_str("''"),
            // A row break would take it for its own.
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
            // In the first column a row break would take it for its optional argument.
            '[' => out.push_str("{[}"),
            // Not a dash or a quotation mark made of two.
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
    fn nothing_means_anything_to_latex() {
        for (text, expected) in [
            ("a_b&c", "a\\_b\\&c"),
            // After a row break both would be arguments of it.
            ("*best", "{*}best"),
            ("[x]", "{[}x]"),
            // Ligatures; and a character that the default encoding lacks.
            ("bm25--rm3", "bm25-{}-rm3"),
            ("say \"x\" ''", "say ''x'' '{}'"),
            ("?`", "?{}`"),
            ("-0.5 [-1, 2] x-1", "$-$0.5 {[}$-$1, 2] x-1"),
            (
                "\\~^",
                "\\textbackslash{}\\textasciitilde{}\\textasciicircum{}",
            ),
        ] {
            assert_eq!(escaped(text), expected, "{text}");
        }
    }
}
