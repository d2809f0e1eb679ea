//! The word-break class of a character.

use super::code_points::{self, Range};
use std::sync::LazyLock;

/// Word-break class of a character: the classes of Unicode Standard Annex 29, with separate classes
/// for emoji and for scripts written without spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordBreakClass {
    Other,
    Letter,
    Hebrew,
    Numeric,
    Katakana,
    Ideograph,
    SoutheastAsian,
    SoutheastAsianMark,
    ExtendNumLet,
    MidLetter,
    MidNum,
    MidNumLet,
    SingleQuote,
    DoubleQuote,
    Extend,
    ZeroWidthJoiner,
    /// Text presentation selector, U+FE0E.
    TextSelector,
    /// Emoji presentation selector, U+FE0F.
    EmojiSelector,
    /// Combining enclosing keycap, U+20E3.
    Keycap,
    /// Keycap bases `#` and `*`. Digits are keycap bases too, but always words.
    KeycapBase,
    /// Tag characters of flag sequences, U+E0020 to U+E007E.
    Tag,
    /// Cancel tag, U+E007F, which ends a tag sequence.
    TagEnd,
    /// Emoji skin tone modifiers.
    Modifier,
    Emoji,
    /// Letters that are also emoji.
    EmojiLetter,
    Regional,
}

impl WordBreakClass {
    /// Returns whether the character extends the one before it.
    pub(super) fn extends(self) -> bool {
        use WordBreakClass::*;
        matches!(
            self,
            Extend
                | ZeroWidthJoiner
                | TextSelector
                | EmojiSelector
                | Keycap
                | Tag
                | TagEnd
                | Modifier
                | SoutheastAsianMark
        )
    }

    /// Membership as in [`WordBreakClass::extends`], without the presentation selectors, which
    /// emoji sequences treat separately.
    pub(super) fn extends_emoji(self) -> bool {
        self.extends()
            && !matches!(
                self,
                WordBreakClass::TextSelector | WordBreakClass::EmojiSelector
            )
    }
}

const BLOCK: usize = 256;

/// Two-stage table: block of 256 code points, then offset in the block. Equal blocks are shared.
struct ClassTable {
    blocks: Vec<[WordBreakClass; BLOCK]>,
    index: Vec<u8>,
}

static TABLE: LazyLock<ClassTable> = LazyLock::new(ClassTable::build);

impl ClassTable {
    fn build() -> Self {
        use WordBreakClass::*;
        let listed: [(WordBreakClass, &[Range]); 16] = [
            (Letter, &code_points::ALETTER),
            (Hebrew, &code_points::HEBREW),
            (Numeric, &code_points::NUMERIC),
            (Katakana, &code_points::KATAKANA),
            (Ideograph, &code_points::IDEOGRAPH),
            (SoutheastAsian, &code_points::SOUTHEAST_ASIAN),
            (SoutheastAsianMark, &code_points::SOUTHEAST_ASIAN_MARK),
            (ExtendNumLet, &code_points::EXTEND_NUM_LET),
            (MidLetter, &code_points::MID_LETTER),
            (MidNum, &code_points::MID_NUM),
            (MidNumLet, &code_points::MID_NUM_LET),
            (Extend, &code_points::EXTEND),
            (Emoji, &code_points::EMOJI),
            (EmojiLetter, &code_points::EMOJI_LETTER),
            (Modifier, &code_points::MODIFIER),
            (Regional, &code_points::REGIONAL),
        ];
        let single: [(WordBreakClass, Range); 10] = [
            (DoubleQuote, (0x22, 0x22)),
            (KeycapBase, (0x23, 0x23)),
            (SingleQuote, (0x27, 0x27)),
            (KeycapBase, (0x2A, 0x2A)),
            (ZeroWidthJoiner, (0x200D, 0x200D)),
            (Keycap, (0x20E3, 0x20E3)),
            (TextSelector, (0xFE0E, 0xFE0E)),
            (EmojiSelector, (0xFE0F, 0xFE0F)),
            (Tag, (0xE0020, 0xE007E)),
            (TagEnd, (0xE007F, 0xE007F)),
        ];
        let mut flat = vec![Other; 0x11_0000];
        let mut fill = |class: WordBreakClass, (first, last): Range| {
            if let Some(part) = flat.get_mut(first as usize..=last as usize) {
                part.fill(class);
            }
        };
        for (class, list) in listed {
            list.iter().for_each(|&range| fill(class, range));
        }
        for (class, range) in single {
            fill(class, range);
        }

        let mut table = Self {
            blocks: Vec::new(),
            index: Vec::with_capacity(flat.len() / BLOCK),
        };
        for chunk in flat.chunks_exact(BLOCK) {
            let mut block = [Other; BLOCK];
            block.copy_from_slice(chunk);
            let place = table
                .blocks
                .iter()
                .position(|b| *b == block)
                .unwrap_or_else(|| {
                    table.blocks.push(block);
                    table.blocks.len() - 1
                });
            // Fewer than 256 blocks differ (a test counts them).
            table.index.push(u8::try_from(place).unwrap_or(0));
        }
        table
    }
}

/// The class of a character.
pub(super) fn class(c: char) -> WordBreakClass {
    let table = &*TABLE;
    let c = c as usize;
    table.blocks[usize::from(table.index[c / BLOCK])][c % BLOCK]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_a_number() {
        assert!(TABLE.blocks.len() < 256, "{}", TABLE.blocks.len());
        assert_eq!(TABLE.index.len(), 0x1100);
    }

    #[test]
    fn the_ranges_do_not_overlap() {
        let lists: [&[Range]; 4] = [
            &code_points::ALETTER,
            &code_points::EXTEND,
            &code_points::EMOJI,
            &code_points::NUMERIC,
        ];
        for list in lists {
            assert!(list.windows(2).all(|w| w[0].0 <= w[0].1 && w[0].1 < w[1].0));
        }
    }
}
