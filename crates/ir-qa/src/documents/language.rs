//! Language of a paper.

use whatlang::Lang;

use super::paper::Paper;
use crate::frame::ChunkKind;
use crate::sentences::is_caseless;

/// Minimum number of letters of a text in a script with case.
const MIN_LETTERS: usize = 200;
/// Minimum number of letters of a text in a script without case.
const MIN_CASELESS_LETTERS: usize = 20;
/// Maximum length of the text that is read, in bytes, exceeded by at most a paragraph.
const MAX_BYTES: usize = 20_000;

/// English name of the language of the running text, such as `German`. `None` if the text is too
/// short or the language is not certain.
pub(super) fn language_of(paper: &Paper) -> Option<&'static str> {
    let mut text = String::new();
    let paragraphs = paper.paragraphs();
    for paragraph in paragraphs.filter(|it| it.kind == ChunkKind::Content) {
        if text.len() > MAX_BYTES {
            break;
        }
        text.push_str(&paragraph.text);
        text.push(' ');
    }
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    // The script of a text without case nearly is its language.
    let is_caseless = is_caseless(&text);
    let minimum = if is_caseless {
        MIN_CASELESS_LETTERS
    } else {
        MIN_LETTERS
    };
    if letters < minimum {
        return None;
    }
    let info = whatlang::detect(&text).filter(|info| is_caseless || info.is_reliable())?;
    Some(name_of(info.lang()))
}

/// English name of a language.
fn name_of(language: Lang) -> &'static str {
    match language {
        Lang::Cmn => "Chinese",
        other => other.eng_name(),
    }
}

/// Tag (BCP 47) of a language by its English name, as the attribute `language` of a paper has it.
/// `None` for other texts.
///
/// ```
/// use ir_qa::documents::language_tag;
/// assert_eq!(language_tag("German"), Some("de"));
/// assert_eq!(language_tag("Elvish"), None);
/// ```
#[must_use]
pub fn language_tag(name: &str) -> Option<&'static str> {
    let language = Lang::all().iter().find(|&&it| name_of(it) == name)?;
    let code = language.code();
    let (_, tag) = TAGS.iter().find(|(own, _)| *own == code)?;
    Some(tag)
}

/// Codes of ISO 639-3, with the shorter ones of ISO 639-1 that tags have instead.
const TAGS: [(&str, &str); 70] = [
    ("afr", "af"),
    ("aka", "ak"),
    ("amh", "am"),
    ("ara", "ar"),
    ("aze", "az"),
    ("bel", "be"),
    ("ben", "bn"),
    ("bul", "bg"),
    ("cat", "ca"),
    ("ces", "cs"),
    ("cmn", "zh"),
    ("cym", "cy"),
    ("dan", "da"),
    ("deu", "de"),
    ("ell", "el"),
    ("eng", "en"),
    ("epo", "eo"),
    ("est", "et"),
    ("fin", "fi"),
    ("fra", "fr"),
    ("guj", "gu"),
    ("heb", "he"),
    ("hin", "hi"),
    ("hrv", "hr"),
    ("hun", "hu"),
    ("hye", "hy"),
    ("ind", "id"),
    ("ita", "it"),
    ("jav", "jv"),
    ("jpn", "ja"),
    ("kan", "kn"),
    ("kat", "ka"),
    ("khm", "km"),
    ("kor", "ko"),
    ("lat", "la"),
    ("lav", "lv"),
    ("lit", "lt"),
    ("mal", "ml"),
    ("mar", "mr"),
    ("mkd", "mk"),
    ("mya", "my"),
    ("nep", "ne"),
    ("nld", "nl"),
    ("nob", "nb"),
    ("ori", "or"),
    ("pan", "pa"),
    ("pes", "fa"),
    ("pol", "pl"),
    ("por", "pt"),
    ("ron", "ro"),
    ("rus", "ru"),
    ("sin", "si"),
    ("slk", "sk"),
    ("slv", "sl"),
    ("sna", "sn"),
    ("spa", "es"),
    ("srp", "sr"),
    ("swe", "sv"),
    ("tam", "ta"),
    ("tel", "te"),
    ("tgl", "tl"),
    ("tha", "th"),
    ("tuk", "tk"),
    ("tur", "tr"),
    ("ukr", "uk"),
    ("urd", "ur"),
    ("uzb", "uz"),
    ("vie", "vi"),
    ("yid", "yi"),
    ("zul", "zu"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_a_tag() {
        for &language in Lang::all() {
            assert!(language_tag(name_of(language)).is_some(), "{language:?}");
        }
        assert_eq!(language_tag("Chinese"), Some("zh"));
        assert_eq!(language_tag("Mandarin"), None);
    }

    #[test]
    fn languages_of_scripts_and_words() {
        let english = "The cups of the trial were washed, dried and weighed before each of the \
            experiments. We compare two kinds of tea, which were grown in the same valley, and \
            show that the water should be neither too hot nor too cold. There is no difference \
            between the cups that people think they know and those which they have never seen.";
        let german = "Die Tassen des Versuchs wurden vor jedem Durchgang gespült, getrocknet und \
            gewogen. Wir vergleichen zwei Sorten Tee, die im gleichen Tal gewachsen sind, und zeigen, \
            dass das Wasser weder zu heiß noch zu kalt sein sollte. Zwischen den Tassen, die man zu \
            kennen glaubt, und denen, die man noch nie gesehen hat, besteht kein Unterschied.";
        for (text, language) in [
            (english.to_owned(), Some("English")),
            (german.to_owned(), Some("German")),
            (
                "茶是一种饮料，它来自亚洲。水被加热到九十度，然后等待两分钟。".repeat(3),
                Some("Chinese"),
            ),
            (
                "お茶は飲み物です。アジアから来ました。水を温めます。".repeat(3),
                Some("Japanese"),
            ),
            (
                "차는 음료입니다. 아시아에서 왔습니다. 물을 데웁니다. ".repeat(3),
                Some("Korean"),
            ),
            (
                "الشاي مشروب من آسيا. يسخن الماء ثم ننتظر دقيقتين. ".repeat(3),
                Some("Arabic"),
            ),
            (
                "चाय एक पेय है। यह एशिया से आती है। पानी गरम किया जाता है। ".repeat(3),
                Some("Hindi"),
            ),
            ("Tea.".to_owned(), None),
        ] {
            let mut paper = Paper::default();
            paper.push_paragraph(&text, None);
            paper.push_row(&german.repeat(20), None);
            assert_eq!(language_of(&paper), language, "{text}");
        }
    }
}
