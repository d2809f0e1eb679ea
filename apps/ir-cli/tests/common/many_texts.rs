//! Texts for commands that are killed while they run.

/// TSV file of short, different texts.
pub(crate) fn many_texts(count: usize) -> String {
    let words = [
        "ship", "sea", "tea", "radar", "green", "black", "seen", "the", "at",
    ];
    let line = |n: usize| {
        let text: Vec<&str> = (0..n % 9 + 1)
            .map(|at| words[(n / 9 + at * n) % 9])
            .collect();
        format!("d{n}\t{} {n}\n", text.join(" "))
    };
    (0..count).map(line).collect()
}
