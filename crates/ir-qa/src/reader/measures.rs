//! Measures of SQuAD 1.1: exact match and F1 of words, after its normalization.

use std::collections::HashMap;

/// Text in the normalization of SQuAD's evaluation: lower case, without ASCII punctuation, without
/// the words a, an and the, with single spaces.
///
/// ```
/// use ir_qa::reader::normalized_answer;
/// assert_eq!(normalized_answer("The  Denver Broncos!"), "denver broncos");
/// assert_eq!(normalized_answer("A.B. the-rapist"), "ab therapist");
/// ```
#[must_use]
pub fn normalized_answer(text: &str) -> String {
    let lower = text.to_lowercase();
    let without: String = lower
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    let words = without.split_whitespace();
    let words: Vec<&str> = words
        .filter(|word| !["a", "an", "the"].contains(word))
        .collect();
    words.join(" ")
}

/// Returns `true` if a prediction equals one of the answers after normalization.
///
/// ```
/// use ir_qa::reader::exact_match;
/// assert!(exact_match("the Broncos", &["Denver Broncos", "Broncos"]));
/// assert!(!exact_match("the Broncos", &[]));
/// ```
#[must_use]
pub fn exact_match(prediction: &str, answers: &[&str]) -> bool {
    let prediction = normalized_answer(prediction);
    answers
        .iter()
        .any(|answer| normalized_answer(answer) == prediction)
}

/// Harmonic mean of precision and recall of the words of a prediction, after normalization: the
/// maximum over the answers. 0 without common words.
///
/// ```
/// use ir_qa::reader::token_f1;
/// assert_eq!(token_f1("the Denver Broncos", &["Broncos"]), 2.0 / 3.0);
/// assert_eq!(token_f1("", &["Broncos"]), 0.0);
/// ```
#[must_use]
pub fn token_f1(prediction: &str, answers: &[&str]) -> f64 {
    let prediction = normalized_answer(prediction);
    let words: Vec<&str> = prediction
        .split(' ')
        .filter(|word| !word.is_empty())
        .collect();
    answers
        .iter()
        .map(|answer| {
            let answer = normalized_answer(answer);
            let answer: Vec<&str> = answer.split(' ').filter(|word| !word.is_empty()).collect();
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for word in &answer {
                *counts.entry(word).or_default() += 1;
            }
            let mut common = 0_u32;
            for word in &words {
                if let Some(count) = counts.get_mut(word)
                    && *count > 0
                {
                    *count -= 1;
                    common += 1;
                }
            }
            if common == 0 {
                return 0.0;
            }
            let precision = f64::from(common) / words.len() as f64;
            let recall = f64::from(common) / answer.len() as f64;
            2.0 * precision * recall / (precision + recall)
        })
        .fold(0.0, f64::max)
}
