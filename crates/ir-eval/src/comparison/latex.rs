//! Tables in LaTeX.

use super::Comparison;
use super::sheet::{Cell, Mark, Sheet};

impl Comparison {
    /// The tables in LaTeX, for the package booktabs, with all notes below each. The highest figure
    /// of a measure is bold.
    #[must_use]
    pub fn latex(&self) -> String {
        let mut text = "% needs \\usepackage{booktabs}\n".to_owned();
        let notes: Vec<String> = self.notes().iter().map(|note| escaped(note)).collect();
        for sheet in self.sheets() {
            text += "\\begin{table}\n\\centering\n";
            text += &format!("\\caption{{{}.}}\n", escaped(&sheet.title));
            text += &table(&sheet);
            text += "\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize\n";
            text += &notes.join(".\\\\\n");
            text += ".\n\\end{minipage}\n\\end{table}\n\n";
        }
        text.pop();
        text
    }
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
