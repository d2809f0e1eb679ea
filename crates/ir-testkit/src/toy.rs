//! Small collections with edge cases.

use ir_core::Document;
use proptest::prelude::*;

/// Returns sixty short documents: many tied scores, duplicate texts, empty texts and titles, and
/// ids in another order than the document numbers.
#[must_use]
pub fn documents() -> Vec<Document> {
    let words = [
        "tea", "leaf", "green", "black", "cup", "milk", "sugar", "kettle", "ünï", "日本",
    ];
    let mut documents = Vec::new();
    for n in 0_usize..60 {
        // A fixed, irregular mixture: word w occurs (n·(w+3) mod 7) times in document n, if small.
        let mut text = String::new();
        for (w, word) in words.iter().enumerate() {
            let count = (n * (w + 3) + w) % 7;
            if count <= 2 && n % 10 != 9 {
                text.push_str(&format!("{word} ").repeat(count));
            }
        }
        let title = if n % 4 == 0 {
            words[n % words.len()]
        } else {
            ""
        };
        // Every twelfth document repeats the text of the one before it.
        if n % 12 == 11 {
            let before: &Document = &documents[n - 1];
            let mut repeated = before.clone();
            repeated.id = format!("d{:02}", 97 - n);
            documents.push(repeated);
            continue;
        }
        let year = (n % 3 != 0).then_some(1990 + n as i64 / 2);
        let mut document = Document::new(format!("d{:02}", 97 - n))
            .with_title(title)
            .with_text(text);
        if let Some(year) = year {
            document = document.with("year", year);
        }
        documents.push(document);
    }
    documents
}

/// Returns queries for [`documents`]: common, rare, repeated and unknown words, empty queries.
#[must_use]
pub fn text_queries() -> Vec<&'static str> {
    vec![
        "tea",
        "green tea leaf",
        "tea tea tea milk",
        "ünï 日本",
        "kettle cup sugar black green milk leaf tea",
        "nowhere",
        "tea nowhere",
        "",
        " \t\n",
        "?!…",
        "\u{0}\u{200d}😀",
    ]
}

/// Returns vectors with many tied inner products, duplicates, a zero vector, negative components.
///
/// # Shapes
/// `count` vectors of `dim` components each.
#[must_use]
pub fn vectors(count: usize, dim: usize) -> Vec<Vec<f32>> {
    let component = |n: usize, d: usize| ((n * 7 + d * 13 + n * d) % 9) as f32 / 4.0 - 1.0;
    let mut all: Vec<Vec<f32>> = (0..count)
        .map(|n| (0..dim).map(|d| component(n, d)).collect())
        .collect();
    if count > 4 {
        all[3] = all[2].clone();
        all[4] = vec![0.0; dim];
    }
    all
}

/// Strategy for small random collections with tied scores and unique, unsorted ids.
pub fn collections() -> impl Strategy<Value = Vec<Document>> {
    let text = prop::collection::vec(
        prop::sample::select(vec!["a", "b", "c", "d", "e f", "g"]),
        0..12,
    );
    prop::collection::vec((text.clone(), text), 0..40).prop_map(|texts| {
        let document = |(n, (title, text)): (usize, (Vec<&str>, Vec<&str>))| {
            let id = format!("{:03}", (n * 617) % 1000);
            let year = 2000 + (n as i64 * 7) % 20;
            Document::new(id)
                .with_title(title.join(" "))
                .with_text(text.join(" "))
                .with("year", year)
        };
        texts.into_iter().enumerate().map(document).collect()
    })
}
