//! Sentence splitting: outputs of the published splitter, and a slow reference.

use std::time::{Duration, Instant};

use ir_data::sentences::{Language, SCIENTIFIC_ABBREVIATIONS, SentenceSplitter};
use proptest::prelude::*;
use regex::Regex;

fn split(language: Language, text: &str) -> Vec<&str> {
    let ranges = SentenceSplitter::new(language).split(text);
    ranges.map(|range| &text[range]).collect()
}

/// Texts with `| ` at the cuts of `split_sentence` of soco-core-python 0.14.5.
const PUBLISHED: [&str; 75] = [
    "He left. | “The” end.",
    "He left. ((The end.",
    "He said \"no.\" | Then",
    "He said. \" | Then we",
    "A b (c.) | The",
    "End.[note 1] | Then x",
    "End.[1][2] | Then x",
    "End.[1] then x",
    "x.[citation needed] | The",
    "x.\"[1] | The",
    "x.[1]The",
    "x. | [1] The",
    "x [...] y",
    "Mr. Smith",
    "mr. | Smith",
    "aMr. | Smith",
    "“Mr. X",
    "Dr.) | X",
    "(e.g. | The cat",
    "e.g. A cat",
    "I.e. | X",
    "Mr.  | X",
    "A.  | B. Name",
    "Mr. and Mrs. X",
    "Lt. Gen. Col. X",
    "Mr. Astor",
    "Mr. Underwood",
    "Mr. | Meanwhile, the",
    "Mr. | However the",
    "xvs. | The",
    "vs. Other",
    "J. K. Rowling wrote",
    "J.K. Rowling wrote",
    "A. | B. C. D. Name x",
    "A.B. C. Name",
    "Vitamin C. | The next",
    "vitamin C. Then next",
    "Plan B. | YES",
    "X. | I am",
    "U.N. Security x",
    "Ph.D. Student",
    "G. W. Bush Jr. | He said",
    "in Jan. 5 we",
    "dec. | 5",
    "See Art. 5 and no. 5, No. 5 x",
    "No. | A",
    "No. V",
    "No. | It is",
    "Op. 5, ch. 5 Sec. 5 cl. 5 Rec. 5 Ecl. 5 Cor. 5 Lk. 5 Jn. 5 Vol. 5 vol. | 5 sec. | 5",
    "born b. 1950 d. 1960 r. 1970 c. 1980 ca. 1990 fl. 2000",
    "variable d. The next",
    "xd. | Next",
    "Smith et al. 2012 say",
    "Smith et al. (2012) say",
    "et al. | 55",
    "H.R. 5 x",
    "H.R. | A",
    "the U.S. 50 states",
    "the U.S. | 5 states",
    "the U.S. | The x",
    "the U.S. Army x",
    "a.m. Eastern x",
    "9 a.m. | Central x",
    "p.m. | ESTE",
    "Rs. 5 x",
    "Jay Z. | Then",
    "Jay Z. and",
    "in Washington, D.C. | Area",
    "Wii U. | Then",
    "End. | iTunes is",
    "End? iPod",
    "B.Sc. Degree The",
    "Warner Bros. Records x | • X",
    "Warner Bros. | Recordsx",
    "I Am... Sasha Fierce Hm... | World Tour",
];

#[test]
fn english_cuts_are_the_published_ones() {
    for marked in PUBLISHED {
        let text = marked.replace("| ", "");
        let expected: Vec<&str> = marked.split('|').map(str::trim).collect();
        assert_eq!(split(Language::English, &text), expected);
    }
    for text in "x… The|x: The|x; The|x. .5 Y|x. -5|x. — The|x. a The|x.5 y".split('|') {
        assert_eq!(split(Language::English, text), [text]);
    }
}

#[test]
fn chinese_cuts_are_the_published_ones() {
    for marked in [
        "一。|二！|三？”|四；|五：|“六”七．|八|九。」|十。|））”十一： 十二：",
        "一。””|二",
        "一。””|”二",
        "一。’”|二",
        "一。”’|」二",
        "一！？|二",
        "“一。”。|二",
        "一！”！|二",
        "他说：|“好。”|她",
        "他说：好",
        "a：|“b：|“c",
        "a;b",
        "一.二",
        "一…二",
        "说:“x",
        "一。|“二",
    ] {
        let text = marked.replace("八|", "八\t|").replace('|', "");
        assert_eq!(split(Language::Chinese, &text).join("|"), marked);
    }
}

#[test]
fn white_space_and_upper_case_of_unicode() {
    let english = split(Language::English, " \u{a0}x. \u{3000}\n Ärger. ");
    assert_eq!(english, ["x.", "Ärger."]);
    let chinese = split(Language::Chinese, " 一。\u{3000}二。 ");
    assert_eq!(chinese, ["一。", "二。"]);
    for language in [Language::English, Language::Chinese] {
        assert!(split(language, "").is_empty());
        assert!(split(language, " \n\u{a0}").is_empty());
    }
}

/// Texts with `|` at the cuts of text in scripts without upper case.
#[test]
fn scripts_without_case_are_split_without_an_option() {
    for marked in [
        "水很热。|我们等了三分钟！|为什么？！|因为（见图二。）|结果很好。",
        "他问：“热吗？”|她说好。",
        "圆周率是３．１４。|很好．|完",
        "水热吗?|很热. |图 1 很好",
        "使用 BERT 模型。|F1 是 0.93。|完",
        "水が沸く。|「熱い。」と彼は言った。|次。",
        "물이 끓는다. |뜨겁다! |왜? |그림 3.1 참조.",
        "الماء ساخن. |هل هو ساخن؟ |نعم، د. علي قال ذلك.",
        "پانی گرم ہے۔ |ٹھیک ہے۔",
        "पानी गरम है। |ठीक है।|हाँ",
        "图很好，cf. 图 3 说明。|e.g. 水。",
    ] {
        let text = marked.replace('|', "");
        let expected: Vec<&str> = marked.split('|').map(str::trim).collect();
        assert_eq!(split(Language::English, &text), expected);
    }
    // English text with words of other scripts follows the published rules.
    for text in [
        "The word 水 is read as shui。Then",
        "The city (北京。) and its name",
    ] {
        assert_eq!(split(Language::English, text), [text]);
    }
}

#[test]
fn scientific_abbreviations_before_numbers_and_names() {
    let splitter =
        SentenceSplitter::new(Language::English).with_abbreviations(SCIENTIFIC_ABBREVIATIONS);
    for marked in [
        "Use Def. 3 and Prop. (4) of App. B, Lem. IV and Ex. 2 here",
        "We met in Sept. 2011. | It took max. 9 and min. 1 s",
        "Boil it for 5 min. | Then pour",
        "We returned in Sept. | Then we left",
        "Open the App. | Read it",
        "It is smooth w.r.t. Y, viz. Y",
        "In J. Chem. Phys. 9, Proc. Natl. Acad. Sci. 8 and Nucl. Phys. B",
        "It is 7.4. | Then 5",
    ] {
        let text = marked.replace("| ", "");
        let found: Vec<&str> = splitter.split(&text).map(|range| &text[range]).collect();
        assert_eq!(found.join(" | "), marked);
    }
    let published = split(Language::English, "See Def. 3 and Phys. 4.");
    assert_eq!(published.len(), 3);
}

#[test]
fn abbreviations_extend_the_rules() {
    let splitter =
        SentenceSplitter::new(Language::English).with_abbreviations(SCIENTIFIC_ABBREVIATIONS);
    let expected = [
        "See Fig. 3 of Smith et al. [12].",
        "The rest follows, cf. Eq. 5.",
        "Refs. 7-9 differ.",
    ];
    let text = expected.join(" ");
    let found: Vec<&str> = splitter.split(&text).map(|range| &text[range]).collect();
    assert_eq!(found, expected);
}

#[test]
fn long_lines_take_linear_time() {
    let repeated = [
        "a", ".", "[", "]", " ", ". ", "A. ", ".] ", ".[1] ", ") ", "\" ", "。", "”", "Mr. ",
    ];
    for unit in repeated {
        let text = unit.repeat((2 << 20) / unit.len());
        for language in [Language::English, Language::Chinese] {
            let start = Instant::now();
            let mut end = 0;
            for sentence in SentenceSplitter::new(language).split(&text) {
                assert!(
                    end <= sentence.start && sentence.start < sentence.end,
                    "{unit:?}"
                );
                end = sentence.end;
            }
            assert!(end <= text.len());
            // Quadratic time would be hours.
            assert!(start.elapsed() < Duration::from_secs(60), "{unit:?}");
        }
    }
}

/// The rules as regular expressions, applied one after the other to every gap, each on the whole
/// text before and after the gap.
fn reference(text: &str) -> Vec<String> {
    let regex = |pattern: &str| Regex::new(pattern).unwrap();
    let gaps: Vec<(usize, usize)> = regex(r"\s+")
        .find_iter(text)
        .map(|gap| (gap.start(), gap.end()))
        .filter(|&(start, end)| start > 0 && end < text.len())
        .collect();
    let mut cut = vec![false; gaps.len()];
    // (value of the gaps where both match, before, after)
    let passes = [
        (
            true,
            r#"[.?!][)\]}"'”’»\s]*$"#,
            r#"^[(\[{"'“‘«]?[\p{Lu}0-9]"#,
        ),
        (
            true,
            r#"[.?!][)"'”’]*(\[[^\[\]]{0,31}\])+$"#,
            r#"^[(\[{"'“‘«]?[\p{Lu}0-9]"#,
        ),
        (
            false,
            r"(^|[^\p{L}0-9])(Mr|Mrs|Ms|Dr|Prof|Fr|Rev|Msgr|St|Sta|Lt|Gen|Col|Maj|Adm|Capt|Sgt|Rep|Gov|Sen|Pres|e\.g|i\.e|ie|v|vs|p|pp|cf|a\.k\.a|approx|app|esp|est|tr|Jan|Aug|Oct|Nov|Dec|Mt|Ft)\.$",
            "",
        ),
        (
            false,
            r"(^|[^\p{L}0-9])[ap]\.m\.$",
            r"^(Eastern|EST)([^\p{L}0-9]|$)",
        ),
        (
            false,
            r"(^|[^\p{L}0-9])\p{Lu}\.$",
            r"^(\p{Lu}\.\s?){0,2}\p{Lu}\p{Ll}",
        ),
        (
            true,
            r"[.?!]$",
            r"^((The|This|That|These|It|In|On|By|During|After|Under|Although|Yet|As|Several|According to)\s|(Meanwhile|However)[\s,])",
        ),
        (
            false,
            r"(^|[^\p{L}0-9])(Art|No|no|Op|Opp|ch|Sec|cl|Rec|Ecl|Cor|Lk|Jn|Vol)\.$",
            r"^([0-9]|[IVXLC]+([^\p{L}0-9]|$))",
        ),
        (false, r"(^|[^\p{L}0-9])(b|d|r|c|ca|fl)\.$", ""),
        (false, r"(^|[^\p{L}0-9])et al\.$", r"^\(?[0-9]{4}"),
        (false, r"(^|[^\p{L}0-9])H\.R\.$", "^[0-9]"),
        (
            true,
            r"(Jay Z|Washington, D\.C|Wii U)\.$",
            r#"^[(\[{"'“‘«]?[\p{Lu}0-9]"#,
        ),
        (true, r"\.$", "^(iPod|iTunes)"),
        (true, r"\S\s*$", "^•"),
        (
            false,
            r"I Am\.\.\.$",
            r"^(Sasha Fierce|World Tour)([^\p{L}0-9]|$)",
        ),
        (
            false,
            r"Warner Bros\.$",
            r"^(Records|Entertainment)([^\p{L}0-9]|$)",
        ),
        (false, r"U\.S\.$", "^[0-9]{2}"),
        (false, r"Rs\.$", "^[0-9]"),
        (false, r"\.Sc\.$", ""),
    ];
    for (value, before, after) in passes {
        let (before, after) = (regex(before), regex(after));
        for (cut, &(start, end)) in cut.iter_mut().zip(&gaps) {
            let is_single = text[start..end].chars().count() == 1;
            if (value || is_single)
                && before.is_match(&text[..start])
                && after.is_match(&text[end..])
            {
                *cut = value;
            }
        }
    }
    let mut sentences = Vec::new();
    let mut from = 0;
    for ((start, end), _) in gaps.into_iter().zip(cut).filter(|(_, cut)| *cut) {
        sentences.push(text[from..start].trim().to_owned());
        from = end;
    }
    sentences.push(text[from..].trim().to_owned());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Text of tokens that the rules mention.
fn texts() -> impl Strategy<Value = String> {
    const TOKENS: &str = r#"a word Word The In It However However, According to Mr. e.g. v. p. Jan. J. K. A.B.
Ph.D. Él É. No. Sec. 5 55 2012 (2012) XI b. ca. et al. H.R. U.S. Rs. B.Sc. a.m. EST
Jay Z. iPod • end. end? end! end." end.[1] end.[note 2] [...] . ( ) ] [ " ” “Word”
(Word (5 I Am... World Tour Warner Bros. Records"#;
    let token = prop::sample::select(TOKENS.split_ascii_whitespace().collect::<Vec<_>>());
    let space = prop::sample::select(vec![" ", " ", " ", " ", "  ", "\n", "\u{a0}", ""]);
    prop::collection::vec((token, space), 0..40).prop_map(|pairs| {
        pairs
            .into_iter()
            .flat_map(|(token, space)| [token, space])
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn english_equals_the_reference(text in texts()) {
        prop_assert_eq!(split(Language::English, &text), reference(&text));
    }

    /// Sentences are ordered, trimmed and disjoint; only white space is outside of them.
    #[test]
    fn sentences_cover_the_text(text in prop_oneof![texts(), "\\PC{0,80}", "[一。！”：“ \t.A]{0,40}"]) {
        for language in [Language::English, Language::Chinese] {
            let mut from = 0;
            for range in SentenceSplitter::new(language).split(&text) {
                prop_assert!(text[from..range.start].trim().is_empty());
                let sentence = &text[range.clone()];
                prop_assert!(!sentence.is_empty());
                prop_assert_eq!(sentence.trim(), sentence);
                from = range.end;
            }
            prop_assert!(text[from..].trim().is_empty());
        }
    }
}
