//! Notation of Pandoc in Markdown that is no text: attributes and citations.

/// Maximum length of a citation or of attributes in bytes.
const MAX_LENGTH: usize = 500;

/// A heading without the attributes of Pandoc, such as `{#sec:data .unnumbered}`.
pub(super) fn without_attributes(heading: &str) -> &str {
    let heading = heading.trim_end();
    let inner = heading.strip_suffix('}').and_then(|it| it.rsplit_once('{'));
    match inner {
        Some((text, inner)) if is_attributes(inner) => text,
        _ => heading,
    }
}

/// A text without the citations of Pandoc in brackets: `[@cup2016; see @pot2017, p. 3]`.
pub(super) fn without_citations(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        result.push_str(before);
        let end = after.find(['[', ']']).filter(|&at| at <= MAX_LENGTH);
        rest = match end.map(|at| after.split_at(at)) {
            Some((inner, close)) if close.starts_with(']') && is_citation(inner) => {
                result.truncate(result.trim_end().len());
                &close[1..]
            }
            _ => {
                result.push('[');
                after
            }
        };
    }
    result + rest
}

/// Returns `true` if a part of a text between semicolons contains a citation key, such as `@cup`.
fn is_citation(text: &str) -> bool {
    text.split(';').all(|part| {
        let word = part.split_whitespace().find_map(|word| {
            let word = word.strip_prefix('-').unwrap_or(word);
            word.strip_prefix('@')
        });
        word.is_some_and(|key| key.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Returns `true` for the content of attributes: `#id`, `.class`, `key=value`, `-`.
fn is_attributes(text: &str) -> bool {
    let is_part = |part: &str| {
        part == "-"
            || part.starts_with(['#', '.'])
            || (part.contains('=') && !part.starts_with('='))
    };
    // Values in quotes may have white space.
    text.split_whitespace().next().is_some_and(is_part)
}

/// A text without the attributes of spans, links, formulas and code: `[Tea]{.smallcaps}` is `Tea`,
/// and `$$x$$ {#eq:x}` is `$$x$$`.
pub(super) fn without_spans(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        result.push_str(before);
        let end = after.find(['{', '}']).filter(|&at| at <= MAX_LENGTH);
        let attributes = end.map(|at| after.split_at(at));
        let attributes =
            attributes.filter(|(inner, close)| close.starts_with('}') && is_attributes(inner));
        let starts = result.trim_end();
        let is_after = starts.ends_with([']', ')', '`', '$']) || starts.is_empty();
        let length = starts.len();
        let Some((_, close)) = attributes.filter(|_| is_after) else {
            result.push('{');
            rest = after;
            continue;
        };
        rest = &close[1..];
        result.truncate(length);
        if result.ends_with(']')
            && let Some(start) = opening_bracket(&result)
        {
            result.pop();
            result.remove(start);
        }
    }
    result + rest
}

/// Offset of the bracket that the last one, at the end of the text, closes.
fn opening_bracket(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices().rev() {
        if text.len() - at > MAX_LENGTH {
            break;
        }
        match c {
            ']' => open += 1,
            '[' if open == 1 => return Some(at),
            '[' => open -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_no_text() {
        for (text, expected) in [
            ("A [low [cup]]{.smallcaps #a} here.", "A low [cup] here."),
            ("$$x = 1$$ {#eq:x}", "$$x = 1$$"),
            (
                "[Tea]{lang=fr} and [pots]{.x key=\"a b\"}.",
                "Tea and pots.",
            ),
            ("The set {a, b} is [1] {x}.", "The set {a, b} is [1] {x}."),
            ("In $x_{.5}$ {", "In $x_{.5}$ {"),
            ("[a] {b {.c}", "[a] {b {.c}"),
        ] {
            assert_eq!(without_spans(text), expected);
        }
    }

    #[test]
    fn citations_are_no_text() {
        for (text, expected) in [
            ("Tea boils [see @cup2001, p. 3; -@pot2002].", "Tea boils."),
            (
                "The list [a, b] of me@tea.example.",
                "The list [a, b] of me@tea.example.",
            ),
        ] {
            assert_eq!(without_citations(text), expected);
        }
    }
}
