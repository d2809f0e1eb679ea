//! Portable names of files.

use ir_system::ContentHash;

/// Portable file name of a system or task, in lower case. A name that becomes empty is replaced by
/// its hash.
pub(crate) fn file_name(name: &str) -> String {
    let mut portable = portable_file_name(name).to_ascii_lowercase();
    if portable.is_empty() {
        let mut hash = ContentHash::default();
        hash.text(name);
        portable = hash.finish()[..8].to_owned();
    }
    portable
}

/// Tag of the run of a system: its name or, since a tag is one word, a portable form of a name with
/// white space, in lower case.
///
/// ```
/// use ir_experiment::run_tag;
/// assert_eq!(run_tag("BM25"), "BM25");
/// assert_eq!(run_tag("Lucene with RM3"), "lucene-with-rm3");
/// ```
#[must_use]
pub fn run_tag(system: &str) -> String {
    if system.contains(char::is_whitespace) {
        file_name(system)
    } else {
        system.to_owned()
    }
}

/// Converts a title to a portable file name of at most 100 bytes: ASCII letters and digits, `.`,
/// `=` and `_`; other characters become `-`. Empty if there are none.
///
/// ```
/// use ir_experiment::portable_file_name;
/// assert_eq!(portable_file_name("nDCG@10: a/b against ../c"), "nDCG-10-a-b-against-..-c");
/// assert_eq!(portable_file_name("../../etc"), "etc");
/// ```
#[must_use]
pub fn portable_file_name(title: &str) -> String {
    let mut name = String::new();
    for c in title.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '=' | '_') => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
        if name.len() >= 100 {
            break;
        }
    }
    name.trim_matches(|c| c == '-' || c == '.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_names_of_files() {
        assert_eq!(portable_file_name("検索"), "");
        assert_eq!(portable_file_name(&"x".repeat(500)).len(), 100);
        assert_eq!(file_name("BM25 (k1 = 0.9)"), "bm25-k1-=-0.9");
        assert_eq!(file_name("検索").len(), 8);
        assert_ne!(file_name("検索"), file_name("推薦"));
    }
}
