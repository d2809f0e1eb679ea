//! Cleaning of author keywords.

/// Cleans the keywords of a paper, as version 26v1 of the dataset does for all years.
///
/// 1. If the first keyword contains `;`, it replaces the list: split at `;`, white space around the
///    parts and empty parts removed.
/// 2. A `.` at the end of the last keyword is removed.
/// 3. Keywords are lowercased.
///
/// ```
/// use ir_studies::iclr::clean_keywords;
/// let clean = |keywords: &[&str]| clean_keywords(keywords).join("|");
/// assert_eq!(clean(&["GANs; Optimal Transport ;"]), "gans|optimal transport");
/// assert_eq!(clean(&["Graphs", "Deep learning."]), "graphs|deep learning");
/// ```
///
/// # Source
/// Notebook 20 of berenslab/iclr-dataset.
#[must_use]
pub fn clean_keywords<K: AsRef<str>>(keywords: &[K]) -> Vec<String> {
    let first = keywords.first().map_or("", AsRef::as_ref);
    let mut cleaned: Vec<String> = if first.contains(';') {
        let parts = first.split(';').map(str::trim);
        let parts = parts.filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    } else {
        keywords.iter().map(|k| k.as_ref().to_owned()).collect()
    };
    if let Some(last) = cleaned.last_mut()
        && last.ends_with('.')
    {
        last.pop();
    }
    for keyword in &mut cleaned {
        *keyword = keyword.to_lowercase();
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_apply_in_order() {
        let none: [&str; 0] = [];
        for (keywords, expected) in [
            (&none[..], vec![]),
            // Only the first keyword is split, and the others are dropped.
            (&["A; B", "C"], vec!["a", "b"]),
            (&["A", "B; C"], vec!["a", "b; c"]),
            // Only one dot is removed, from the last keyword, after splitting.
            (&["A.", "B.."], vec!["a.", "b."]),
            (&["A; B."], vec!["a", "b"]),
            (&[";;"], vec![]),
            (&[" A "], vec![" a "]),
        ] {
            assert_eq!(clean_keywords(keywords), expected, "{keywords:?}");
        }
    }
}
