//! Word boundaries at which a long text can be cut before tokenization.

use serde_json::json;
use tokenizers::{
    ModelWrapper, NormalizedString, Normalizer, NormalizerWrapper, PreTokenizerWrapper, Tokenizer,
};

/// Boundaries at which a text can be cut so that the tokens of the prefix are the first tokens of
/// the text, for one tokenizer.
///
/// A boundary is before a separator (space, line end or tab) between two [plain](is_plain)
/// characters: no normalizer joins or removes them, every supported pre-tokenizer splits there, and
/// no added token crosses. Where BERT's normalizer separates ideographs, a boundary is also after
/// each of them. Tokenizers with other components have no boundaries.
#[derive(Debug, Clone, Default)]
pub(super) struct WordBoundaries {
    separators: Vec<char>,
    ideographs: bool,
}

impl WordBoundaries {
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        let normalizer = tokenizer.get_normalizer();
        let is_supported = normalizer.is_none_or(is_local)
            && is_deterministic(tokenizer.get_model())
            && added_tokens_have_no_boundary(tokenizer);
        let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer().filter(|_| is_supported) else {
            return Self::default();
        };
        let is_separator = |separator: &char| {
            let normalized = normalize(normalizer, &format!("a{separator}b"));
            let mut chars = normalized.chars();
            let parts = [(); 4].map(|()| chars.next());
            matches!(parts, [Some('a'), Some(separator), Some('b'), None]
                if splits_at(pre_tokenizer, separator))
        };
        let ideographs = normalize(normalizer, "a中b").contains(' ');
        let drops_spaces = matches!(
            pre_tokenizer,
            PreTokenizerWrapper::BertPreTokenizer(_)
                | PreTokenizerWrapper::Whitespace(_)
                | PreTokenizerWrapper::WhitespaceSplit(_)
        );
        // The space that the normalizer adds after the last ideograph would be a token.
        if ideographs && !drops_spaces {
            return Self::default();
        }
        Self {
            separators: [' ', '\n', '\t'].into_iter().filter(is_separator).collect(),
            ideographs,
        }
    }

    /// Longest prefix of about `bytes` bytes that ends at a boundary; the whole text if there is
    /// none or the text is shorter.
    pub(super) fn prefix<'a>(&self, text: &'a str, bytes: usize) -> &'a str {
        let Some(end) = (bytes..text.len()).find(|&end| text.is_char_boundary(end)) else {
            return text;
        };
        let mut next = text[end..].chars().next();
        let mut chars = text[..end].char_indices().rev().peekable();
        while let Some((at, char)) = chars.next() {
            if self.ideographs && is_ideograph(char) {
                return &text[..at + char.len_utf8()];
            }
            let previous = chars.peek().map(|&(_, previous)| previous);
            if self.separators.contains(&char)
                && [previous, next]
                    .iter()
                    .all(|char| char.is_some_and(is_plain))
            {
                return &text[..at];
            }
            next = Some(char);
        }
        text
    }
}

/// Returns `true` for characters that keep their neighbors apart in every supported normalizer:
/// characters that are neither removed nor part of a grapheme with a separator. Knows a subset of
/// them.
fn is_plain(char: char) -> bool {
    char.is_ascii_graphic()
        || is_ideograph(char)
        || matches!(char,
            'À'..='ʯ' | 'Ά'..='ҁ' | 'Ҋ'..='ԯ' | 'א'..='ת' | 'ء'..='ي' | 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '가'..='힣')
}

/// Returns `true` for CJK unified ideographs of the basic block.
fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{4e00}'..='\u{9fff}')
}

/// Returns `true` if a pre-tokenizer always splits at a separator. In a sequence, the first
/// pre-tokenizer decides: the others see its parts.
fn splits_at(pre_tokenizer: &PreTokenizerWrapper, separator: char) -> bool {
    use PreTokenizerWrapper as Pre;
    match pre_tokenizer {
        Pre::BertPreTokenizer(_) | Pre::Whitespace(_) | Pre::WhitespaceSplit(_) => {
            separator.is_whitespace()
        }
        Pre::ByteLevel(byte_level) => byte_level.use_regex && separator.is_whitespace(),
        Pre::Metaspace(metaspace) => metaspace.get_split() && separator == ' ',
        Pre::Sequence(sequence) => {
            let first = sequence.as_ref().first();
            first.is_some_and(|first| splits_at(first, separator))
        }
        _ => false,
    }
}

/// Returns `true` if a normalizer changes the text on one side of a separator independently of the
/// other side.
fn is_local(normalizer: &NormalizerWrapper) -> bool {
    use NormalizerWrapper as Norm;
    match normalizer {
        Norm::BertNormalizer(_)
        | Norm::StripNormalizer(_)
        | Norm::StripAccents(_)
        | Norm::NFC(_)
        | Norm::NFD(_)
        | Norm::NFKC(_)
        | Norm::NFKD(_)
        | Norm::Lowercase(_)
        | Norm::Nmt(_)
        | Norm::Precompiled(_) => true,
        Norm::Sequence(sequence) => sequence.as_ref().iter().all(is_local),
        // Runs of spaces, as in the normalizers of SentencePiece models.
        Norm::Replace(_) => serde_json::to_value(normalizer)
            .is_ok_and(|replace| replace["pattern"] == json!({"Regex": " {2,}"})),
        _ => false,
    }
}

/// Returns `true` if a word always has the same tokens.
fn is_deterministic(model: &ModelWrapper) -> bool {
    match model {
        ModelWrapper::BPE(bpe) => bpe.dropout.is_none_or(|dropout| dropout == 0.0),
        _ => true,
    }
}

fn added_tokens_have_no_boundary(tokenizer: &Tokenizer) -> bool {
    let crosses = |char: char| char.is_whitespace() || char == '▁' || is_ideograph(char);
    tokenizer.get_added_tokens_decoder().values().all(|token| {
        let normalized = normalize(tokenizer.get_normalizer(), &token.content);
        !token.content.contains(crosses) && !normalized.contains(crosses)
    })
}

/// Normalized text; empty if normalization fails.
fn normalize(normalizer: Option<&NormalizerWrapper>, text: &str) -> String {
    let mut normalized = NormalizedString::from(text);
    match normalizer.map(|normalizer| normalizer.normalize(&mut normalized)) {
        Some(Err(_)) => String::new(),
        _ => normalized.get().to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::encode::ModelTokenizer;

    fn from_json(json: &Value) -> ModelTokenizer {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tokenizer.json"), json.to_string()).unwrap();
        ModelTokenizer::open(folder.path()).unwrap()
    }

    fn added(id: u32, content: &str, flags: &[&str]) -> Value {
        let has = |flag| flags.contains(&flag);
        json!({
            "id": id, "content": content, "special": true, "normalized": has("normalized"),
            "single_word": has("single_word"), "lstrip": has("lstrip"), "rstrip": has("rstrip"),
        })
    }

    fn wordpiece(normalizer: Value, pre_tokenizer: Value) -> Value {
        let mut vocab = serde_json::Map::new();
        let words = [
            "[UNK]", "[SEP]", "<mask>", "tea", "Tea", "café", "cafe", "ship", "中", "##s",
        ];
        let letters = ('a'..='z').flat_map(|letter| [letter.to_string(), format!("##{letter}")]);
        for word in words.map(str::to_owned).into_iter().chain(letters) {
            let id = vocab.len();
            vocab.insert(word, id.into());
        }
        json!({
            "version": "1.0", "truncation": null, "padding": null, "decoder": null,
            "post_processor": null, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "added_tokens": [
                added(1, "[SEP]", &["rstrip"]),
                added(2, "<mask>", &["lstrip", "normalized", "single_word"]),
            ],
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 20, "vocab": vocab,
            },
        })
    }

    fn bert(lowercase: bool, clean_text: bool) -> Value {
        json!({
            "type": "BertNormalizer", "clean_text": clean_text, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": lowercase,
        })
    }

    /// A Unigram model as in XLM-RoBERTa.
    fn unigram(normalizer: Value, pre_tokenizer: Value) -> Value {
        let mut vocab = vec![json!(["<mask>", 0.0]), json!(["<unk>", 0.0])];
        for piece in [
            "▁", "▁tea", "tea", "▁ship", "▁the", "s", "é", "▁▁", "x", "中",
        ] {
            vocab.push(json!([piece, -2.5]));
        }
        vocab.extend(('a'..='r').map(|letter| json!([letter.to_string(), -4.0])));
        json!({
            "version": "1.0", "truncation": null, "padding": null, "decoder": null,
            "post_processor": null, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "added_tokens": [added(0, "<mask>", &["lstrip"])],
            "model": {"type": "Unigram", "unk_id": 1, "vocab": vocab},
        })
    }

    fn metaspace(scheme: &str) -> Value {
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true})
    }

    fn sequence(kind: &str, parts: &[Value]) -> Value {
        json!({"type": "Sequence", kind: parts})
    }

    /// Normalizer of SentencePiece with the rules U+000A, U+0009, U+00A0 → space, ﬁ → fi,
    /// e U+0301 → é, Ａ → A, U+0600 → x, and U+200B → nothing (`--normalization_rule_tsv`,
    /// sentencepiece 0.2.3).
    fn precompiled() -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/charsmap.base64");
        let charsmap = std::fs::read_to_string(path).unwrap();
        json!({"type": "Precompiled", "precompiled_charsmap": charsmap.trim()})
    }

    fn tiny(name: &str) -> ModelTokenizer {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tiny");
        ModelTokenizer::open(folder.join(name)).unwrap()
    }

    /// Tokenizers with word boundaries.
    fn supported() -> Vec<ModelTokenizer> {
        let named = |name: &str| json!({"type": name});
        let spaces = |content: &str| json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": content});
        let strip = json!({"type": "Strip", "strip_left": false, "strip_right": true});
        let words = sequence(
            "pretokenizers",
            &[named("WhitespaceSplit"), metaspace("always")],
        );
        let composed = ["NFD", "Lowercase", "StripAccents"].map(named);
        let nmt = [named("Nmt"), named("NFKC"), spaces(" ")];
        let xlm = [precompiled(), strip, spaces("▁")];
        let mut all = vec![
            from_json(&wordpiece(bert(true, true), named("BertPreTokenizer"))),
            from_json(&wordpiece(bert(false, false), named("BertPreTokenizer"))),
            from_json(&wordpiece(Value::Null, named("Whitespace"))),
            from_json(&wordpiece(
                sequence("normalizers", &composed),
                named("BertPreTokenizer"),
            )),
            from_json(&unigram(precompiled(), words.clone())),
            from_json(&unigram(precompiled(), metaspace("always"))),
            from_json(&unigram(sequence("normalizers", &nmt), metaspace("first"))),
            from_json(&unigram(sequence("normalizers", &xlm), metaspace("never"))),
            from_json(&unigram(named("NFC"), words)),
        ];
        all.extend(["bert", "bert-f16", "distilbert", "mpnet", "roberta"].map(tiny));
        let mut lowercase = tiny("roberta");
        lowercase.texts.lowercase = true;
        all.push(lowercase);
        all
    }

    /// Tokenizers in which the tokens of a word may depend on other words.
    fn unsupported() -> Vec<ModelTokenizer> {
        let named = |name: &str| json!({"type": name});
        let replace = json!({"type": "Replace", "pattern": {"Regex": "a .*"}, "content": "b"});
        let whole = json!({"type": "Metaspace", "replacement": "▁", "split": false});
        let mut spaced = wordpiece(Value::Null, named("BertPreTokenizer"));
        spaced["added_tokens"][0]["content"] = "tea ship".into();
        [
            wordpiece(Value::Null, Value::Null),
            wordpiece(Value::Null, named("Punctuation")),
            wordpiece(replace, named("BertPreTokenizer")),
            unigram(Value::Null, whole),
            unigram(Value::Null, Value::Null),
            spaced,
            wordpiece(
                bert(true, true),
                json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}),
            ),
        ]
        .map(|json| from_json(&json))
        .into()
    }

    /// Pseudorandom text of words, separators, and characters that normalizers change or join.
    fn random_text(seed: u64, words: usize) -> String {
        const PARTS: [&str; 48] = [
            "tea",
            "ship",
            "the",
            "Teas",
            "cafe\u{301}",
            "café",
            "中文",
            "日本",
            "Σ",
            "ΑΣ",
            "Σ.",
            "İ",
            "ﬁ",
            "Ａ",
            "한국",
            "слово",
            "[SEP]",
            "<mask>",
            "</s>",
            "x",
            "'s",
            "it's",
            "tea.",
            "(sea)",
            "12",
            "\u{301}",
            "\u{600}",
            "\u{200b}",
            "\u{200d}",
            "\u{ad}",
            "\u{b4}",
            "\u{37a}",
            "\u{1f600}",
            "\u{1f3fb}",
            "\u{fffd}",
            "\u{7}",
            "ำ",
            "ണ",
            "\u{d4e}",
            "▁",
            "_",
            "abcdefghijklmnopqrstuvwxyzabcdefghij",
            "\u{0}",
            "tea ship",
            "a a",
            "\u{323}",
            "\u{2126}",
            "q",
        ];
        const GAPS: [&str; 20] = [
            " ", " ", " ", " ", " ", " ", "\n", "\t", "  ", "", "", "\r\n", "\n\n", "\u{a0}",
            "\u{3000}", "\u{85}", "\u{b}", "\u{c}", "\u{2028}", " \n ",
        ];
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % n
        };
        let mut text = String::new();
        // Plain texts have boundaries everywhere; others rarely.
        let kinds = [8, PARTS.len()][below(2)];
        for _ in 0..words {
            let gaps = [8, GAPS.len()][below(2)];
            text.push_str(PARTS[below(kinds)]);
            text.push_str(GAPS[below(gaps)]);
        }
        text
    }

    fn without_boundaries(tokenizer: &ModelTokenizer) -> ModelTokenizer {
        let mut whole = tokenizer.clone();
        whole.boundaries = WordBoundaries::default();
        whole
    }

    /// The reference tokenizes the whole text.
    #[test]
    fn tokens_of_a_prefix_are_the_first_tokens_of_the_text() {
        let mut shortened = 0;
        for (n, tokenizer) in supported().iter().chain(&unsupported()).enumerate() {
            let whole = without_boundaries(tokenizer);
            let least = tokenizer.min_tokens();
            for seed in 0..100 {
                let text = random_text(seed * 64 + n as u64, 60);
                for limit in [least, least + 1, least + 4, least + 11] {
                    let [found, expected] = [tokenizer, &whole]
                        .map(|tokenizer| tokenizer.encode(&text, limit).unwrap());
                    assert_eq!(found, expected, "tokenizer {n}, limit {limit}: {text:?}");
                    shortened += usize::from(tokenizer.boundaries.prefix(&text, limit * 8) != text);
                }
            }
        }
        assert!(shortened > 2_000, "{shortened}");
    }

    #[test]
    fn prefixes_are_short() {
        let text = "green tea, black tea\n".repeat(1000);
        for tokenizer in supported() {
            let prefix = tokenizer.boundaries.prefix(&text, 100);
            assert!((80..=100).contains(&prefix.len()), "{prefix}");
        }
        for tokenizer in unsupported() {
            assert_eq!(tokenizer.boundaries.prefix(&text, 100), text);
        }
        let chinese = "中文".repeat(1000);
        let bert = &supported()[0];
        assert_eq!(bert.boundaries.prefix(&chinese, 100).len(), 102);
        // Without boundaries, at most a MiB is tokenized.
        let start = "é".repeat(1 << 19);
        let long = start.repeat(8);
        for tokenizer in supported().iter().chain(&unsupported()).step_by(4) {
            let [found, expected] = [&long, &start].map(|text| tokenizer.encode(text, 9).unwrap());
            assert_eq!(found, expected);
        }
        for unbroken in ["s".repeat(1000), "\u{301}".repeat(1000)] {
            assert_eq!(bert.boundaries.prefix(&unbroken, 100), unbroken);
        }
    }
}
