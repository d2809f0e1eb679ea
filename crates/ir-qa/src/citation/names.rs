//! Names of authors in the parts that bibliographies sort by.

/// Name of an author in its parts, as in BibTeX.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PersonName {
    /// Family name with its particles, such as `van der Berg`; the whole name of a group.
    pub(super) family: String,
    /// Given names; empty if there are none.
    pub(super) given: String,
    /// Suffix such as `Jr.`; empty if there is none.
    pub(super) suffix: String,
}

impl PersonName {
    /// Parts of a name with the given names first, or with a comma after the family name. The
    /// family name starts at the first word in lower case, or else is the last word. A name with
    /// the word "and" is a group.
    pub(super) fn parse(name: &str) -> Self {
        let whole = |name: &str| Self {
            family: name.to_owned(),
            given: String::new(),
            suffix: String::new(),
        };
        let words: Vec<&str> = name.split_whitespace().collect();
        if words.iter().any(|word| word.eq_ignore_ascii_case("and")) {
            return whole(name);
        }
        if let Some((family, rest)) = name.split_once(',') {
            let (family, rest) = (family.trim(), rest.trim());
            let (first, second) = rest.split_once(',').unwrap_or((rest, ""));
            let (first, second) = (first.trim(), second.trim());
            if is_suffix(first) && second.is_empty() {
                return Self {
                    suffix: first.to_owned(),
                    ..Self::parse(family)
                };
            }
            let (suffix, given) = if is_suffix(first) {
                (first, second)
            } else {
                (second, first)
            };
            return Self {
                family: family.to_owned(),
                given: given.to_owned(),
                suffix: suffix.to_owned(),
            };
        }
        let (words, suffix) = match words.split_last() {
            Some((last, rest)) if rest.len() > 1 && is_suffix(last) => (rest, *last),
            _ => (words.as_slice(), ""),
        };
        let is_particle = |word: &&str| word.starts_with(char::is_lowercase);
        let Some(last) = words.len().checked_sub(1) else {
            return whole(name);
        };
        let start = words.iter().skip(1).position(is_particle);
        let start = start.map_or(last, |start| start + 1);
        Self {
            family: words[start..].join(" "),
            given: words[..start].join(" "),
            suffix: suffix.to_owned(),
        }
    }
}

fn is_suffix(word: &str) -> bool {
    matches!(
        word.trim().trim_end_matches('.'),
        "Jr" | "Sr" | "II" | "III" | "IV"
    )
}
