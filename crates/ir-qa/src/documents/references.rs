//! Headings of lists of references.

/// Headings in lower case, without number.
const HEADINGS: [&str; 62] = [
    "bibliografi",
    "bibliografia",
    "bibliografia citada",
    "bibliografie",
    "bibliografía",
    "bibliographic references",
    "bibliographical references",
    "bibliographie",
    "bibliography",
    "cited literature",
    "cited references",
    "daftar pustaka",
    "irodalom",
    "irodalomjegyzék",
    "kaynaklar",
    "kaynakça",
    "list of references",
    "literatur",
    "literatura",
    "literatura citada",
    "literature",
    "literature cited",
    "literaturliste",
    "literaturverzeichnis",
    "literatuur",
    "literatuurlijst",
    "litteratur",
    "lähteet",
    "notes and references",
    "obras citadas",
    "piśmiennictwo",
    "quellenverzeichnis",
    "reference",
    "reference list",
    "references",
    "references and notes",
    "references cited",
    "referencer",
    "referencias",
    "referencias bibliográficas",
    "referenser",
    "referenties",
    "referenzen",
    "referências",
    "referências bibliográficas",
    "riferimenti",
    "riferimenti bibliografici",
    "références",
    "références bibliographiques",
    "works cited",
    "библиография",
    "литература",
    "список литературы",
    "список літератури",
    "література",
    "المراجع",
    "منابع",
    "संदर्भ",
    "参考文献",
    "參考文獻",
    "引用文献",
    "참고문헌",
];

/// Maximum length of a heading in bytes. Longer texts are paragraphs.
const MAX_HEADING: usize = 200;

/// Returns `true` for the heading of a list of references, in any case, with or without a number
/// such as `7.`, `A` or `VII.`.
pub(super) fn is_reference_heading(heading: &str) -> bool {
    if heading.len() > MAX_HEADING {
        return false;
    }
    let heading = heading
        .trim()
        .trim_end_matches([':', '：', '.'])
        .to_lowercase();
    let is_listed = |text: &str| HEADINGS.contains(&text);
    let without_number = || {
        let (number, rest) = heading.split_once(|c: char| c.is_whitespace() || c == '、')?;
        is_number(number).then(|| rest.trim_start())
    };
    is_listed(&heading) || without_number().is_some_and(is_listed)
}

/// Returns `true` for a number of a section: digits, Roman numerals or a letter, with periods.
fn is_number(text: &str) -> bool {
    let mut parts = text.trim_end_matches(['.', ')']).split('.');
    parts.all(|part| {
        let is_roman = |c: char| "ivxlc".contains(c);
        let is_digit = |c: char| c.is_ascii_digit() || "一二三四五六七八九十".contains(c);
        !part.is_empty()
            && (part.chars().all(is_digit)
                || part.chars().all(is_roman)
                || (part.len() == 1 && part.starts_with(|c: char| c.is_ascii_lowercase())))
    })
}
