/// Abbreviations with a period that does not end a sentence, in lower case without the period.
const ABBREVIATIONS: [&str; 17] = [
    "al", "e.g", "i.e", "fig", "figs", "eq", "eqs", "sec", "tab", "vs", "cf", "approx", "resp",
    "no", "ref", "refs", "dr",
];

/// Splits text into sentences. `.`, `!` or `?`, also before closing quotes and brackets, ends a
/// sentence if white space and a character other than a lower-case letter follow. The periods of
/// initials and of common abbreviations (`et al.`, `e.g.`, `Fig.`) do not.
///
/// ```
/// let text = "Following Smith et al. We use COCO (v1.0). It is large, e.g. 5 GB. Why?";
/// let sentences: Vec<&str> = ir_studies::papers::sentences(text).collect();
/// assert_eq!(
///     sentences,
///     ["Following Smith et al. We use COCO (v1.0).", "It is large, e.g. 5 GB.", "Why?"]
/// );
/// ```
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .match_indices(['.', '!', '?'])
            .find_map(|(at, mark)| end_of_sentence(rest, at, mark))
            .unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        rest = after.trim_start();
        Some(sentence)
    })
}

/// End of the sentence that the mark at `at` ends, if it ends one before the end of the text.
fn end_of_sentence(text: &str, at: usize, mark: &str) -> Option<usize> {
    let after = &text[at + 1..];
    let next = after.trim_start_matches([')', ']', '"', '\'', '”', '’']);
    let end = text.len() - next.len();
    let follower = next.trim_start();
    if follower.len() == next.len() || follower.starts_with(char::is_lowercase) {
        return None;
    }
    let word = text[..at]
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let word = word.trim_start_matches(['(', '[', '"', '\'']);
    let is_initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    let is_abbreviation = ABBREVIATIONS.contains(&word.to_lowercase().as_str());
    (mark != "." || !(is_initial || is_abbreviation)).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_sentences() {
        for (text, expected) in [
            ("", &[][..]),
            ("  \n ", &[]),
            ("No end", &["No end"]),
            ("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"]),
            (
                "He said \"yes.\" Then (yes.) End.",
                &["He said \"yes.\"", "Then (yes.)", "End."],
            ),
            (
                "At 3.5 or v1.0 we stop. So",
                &["At 3.5 or v1.0 we stop.", "So"],
            ),
            (
                "See Fig. 3 and J. Smith. Ok.",
                &["See Fig. 3 and J. Smith.", "Ok."],
            ),
            (
                "A line.\nAnother [3]. 3 more.",
                &["A line.", "Another [3].", "3 more."],
            ),
            ("Ends... and goes on.", &["Ends... and goes on."]),
            ("Ça va. Über alles.", &["Ça va.", "Über alles."]),
        ] {
            assert_eq!(Vec::from_iter(sentences(text)), expected, "{text}");
        }
    }
}
