//! Formulas in TeX that are numbers.

use super::running_text::{Script, script_text};

/// Commands of numbers, with their characters.
const COMMANDS: [(&str, &str); 16] = [
    ("times", "×"),
    ("cdot", "·"),
    ("sim", "∼"),
    ("approx", "≈"),
    ("pm", "±"),
    ("leq", "≤"),
    ("le", "≤"),
    ("geq", "≥"),
    ("ge", "≥"),
    ("circ", "°"),
    ("mu", "µ"),
    (",", " "),
    (";", " "),
    (" ", " "),
    ("%", "%"),
    ("!", ""),
];

/// Returns the text of a formula that is a number, such as `3 × 10⁻⁵` of `3 \times 10^{-5}`. `None`
/// for other formulas.
pub(super) fn number(tex: &str) -> Option<String> {
    let mut text = String::with_capacity(tex.len());
    let mut rest = tex.trim();
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\\' => {
                let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
                let length = letters.max(after.chars().next()?.len_utf8());
                let command = COMMANDS.iter().find(|(name, _)| *name == &after[..length]);
                text.push_str(command?.1);
                &after[length..]
            }
            '^' => {
                let (power, length) = argument(after)?;
                text.push_str(&script_text(Script::Superscript, power)?);
                &after[length..]
            }
            '~' => {
                text.push(' ');
                after
            }
            c if c.is_ascii_digit() || " .,+-−–=<>()/:".contains(c) => {
                text.push(c);
                after
            }
            _ => return None,
        };
    }
    text.contains(|c: char| c.is_ascii_digit()).then_some(text)
}

/// Argument at the start of a text, and its length: a digit or sign, or a group in braces.
fn argument(text: &str) -> Option<(&str, usize)> {
    let Some(group) = text.strip_prefix('{') else {
        let first = text.chars().next().filter(char::is_ascii_digit)?;
        return Some((&text[..first.len_utf8()], first.len_utf8()));
    };
    let end = group.find('}')?;
    let is_number = |c: char| c.is_ascii_digit() || "+-−–".contains(c);
    let body = group[..end].trim();
    (!body.is_empty() && body.chars().all(is_number)).then_some((body, end + 2))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_of_tex() {
        for (tex, expected) in [
            ("10^4", Some("10⁴")),
            (r"3 \times 10^{-5}", Some("3 × 10⁻⁵")),
            (r"\sim10^{12}", Some("∼10¹²")),
            (r"95\,\%", Some("95 %")),
            ("10^45", Some("10⁴5")),
            ("0.05", Some("0.05")),
            ("x^2", None),
            (r"\alpha = 0.5", None),
            ("10^{k}", None),
            ("10^", None),
            (r"\times", None),
            ("\\", None),
        ] {
            assert_eq!(number(tex).as_deref(), expected, "{tex}");
        }
    }
}
