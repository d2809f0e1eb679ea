//! Headings of lists of references and of footnotes.

/// Headings in lower case, without number.
const HEADINGS: [&str; 113] = [
    "additional references",
    "annotated bibliography",
    "bibliografi",
    "bibliografia",
    "bibliografia citada",
    "bibliografie",
    "bibliografía",
    "bibliographic references",
    "bibliographical references",
    "bibliographie",
    "bibliographie sélective",
    "bibliography",
    "bibliography and references",
    "cited literature",
    "cited references",
    "cited works",
    "daftar pustaka",
    "endnotes",
    "footnotes",
    "fuentes",
    "further reading",
    "fußnoten",
    "irodalom",
    "irodalomjegyzék",
    "kaynaklar",
    "kaynakça",
    "key references",
    "kirjallisuus",
    "list of cited literature",
    "list of references",
    "literatur",
    "literatura",
    "literatura citada",
    "literature",
    "literature cited",
    "literature references",
    "literaturliste",
    "literaturnachweise",
    "literaturverzeichnis",
    "literatuur",
    "literatuurlijst",
    "litteratur",
    "lähteet",
    "notas al pie",
    "notes and references",
    "notes de bas de page",
    "obras citadas",
    "online references",
    "piśmiennictwo",
    "quellen",
    "quellenverzeichnis",
    "reference",
    "reference list",
    "referencer",
    "references",
    "references and further reading",
    "references and links",
    "references and notes",
    "references and reading",
    "references cited",
    "referencias",
    "referencias bibliográficas",
    "referenser",
    "referenties",
    "referenzen",
    "referências",
    "referências bibliográficas",
    "riferimenti",
    "riferimenti bibliografici",
    "rujukan",
    "références",
    "références bibliographiques",
    "selected bibliography",
    "selected readings",
    "selected references",
    "seznam literatury",
    "supplemental references",
    "supplementary references",
    "tài liệu tham khảo",
    "viitteet",
    "web references",
    "works cited",
    "zitierte literatur",
    "zoznam literatúry",
    "źródła",
    "βιβλιογραφία",
    "библиографический список",
    "библиография",
    "использованная литература",
    "литература",
    "литература и источники",
    "література",
    "список использованных источников",
    "список литературы",
    "список літератури",
    "ביבליוגרפיה",
    "קריאה נוספת",
    "المراجع",
    "قائمة المراجع",
    "مراجع",
    "منابع",
    "संदर्भ",
    "संदर्भ सूची",
    "เอกสารอ้างอิง",
    "参考文献",
    "参考资料",
    "參考文獻",
    "參考資料",
    "引用・参考文献",
    "引用文献",
    "文献",
    "참고 문헌",
    "참고문헌",
];

/// Maximum length of a heading in bytes. Longer texts are paragraphs.
const MAX_HEADING: usize = 200;

/// Returns `true` for the heading of a list of references or footnotes, in any case, with or
/// without a number such as `7.`, `A` or `VII.`.
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
