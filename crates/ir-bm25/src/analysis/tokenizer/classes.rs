//! The word-break class of a character.

use super::code_points::{self, Range};
use std::sync::LazyLock;

/// What a character does at word boundaries: the classes of Unicode's annex 29, with emoji and the scripts that are
/// written without blanks set apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
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
    /// U+FE0E, text presentation.
    TextSelector,
    /// U+FE0F, emoji presentation.
    EmojiSelector,
    /// U+20E3, the frame around a key.
    Keycap,
    /// `#` and `*`, which become keys. So do digits, but those are words in any case.
    KeycapBase,
    /// U+E0020 to U+E007E, which spell the flags of regions.
    Tag,
    /// U+E007F, which ends such a spelling.
    TagEnd,
    /// Skin tones.
    Modifier,
    Emoji,
    /// Letters that are emoji as well.
    EmojiLetter,
    Regional,
}

impl Class {
    /// Whether the character belongs to the one before it, whatever that is.
    pub(super) fn extends(self) -> bool {
        use Class::*;
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

    /// The same, but for the two presentation selectors, which emoji sequences treat apart.
    pub(super) fn extends_emoji(self) -> bool {
        self.extends() && !matches!(self, Class::TextSelector | Class::EmojiSelector)
    }
}

const BLOCK: usize = 256;

/// Two stages: the block of 256 code points, then the place in it. Blocks of the same content are stored once.
struct Table {
    blocks: Vec<[Class; BLOCK]>,
    index: Vec<u8>,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::build);

impl Table {
    fn build() -> Self {
        let listed: [(Class, &[Range]); 16] = [
            (Class::Letter, &code_points::ALETTER),
            (Class::Hebrew, &code_points::HEBREW),
            (Class::Numeric, &code_points::NUMERIC),
            (Class::Katakana, &code_points::KATAKANA),
            (Class::Ideograph, &code_points::IDEOGRAPH),
            (Class::SoutheastAsian, &code_points::SOUTHEAST_ASIAN),
            (
                Class::SoutheastAsianMark,
                &code_points::SOUTHEAST_ASIAN_MARK,
            ),
            (Class::ExtendNumLet, &code_points::EXTEND_NUM_LET),
            (Class::MidLetter, &code_points::MID_LETTER),
            (Class::MidNum, &code_points::MID_NUM),
            (Class::MidNumLet, &code_points::MID_NUM_LET),
            (Class::Extend, &code_points::EXTEND),
            (Class::Emoji, &code_points::EMOJI),
            (Class::EmojiLetter, &code_points::EMOJI_LETTER),
            (Class::Modifier, &code_points::MODIFIER),
            (Class::Regional, &code_points::REGIONAL),
        ];
        let single: [(Class, Range); 9] = [
            (Class::DoubleQuote, (0x22, 0x22)),
            (Class::KeycapBase, (0x23, 0x23)),
            (Class::SingleQuote, (0x27, 0x27)),
            (Class::KeycapBase, (0x2A, 0x2A)),
            (Class::ZeroWidthJoiner, (0x200D, 0x200D)),
            (Class::Keycap, (0x20E3, 0x20E3)),
            (Class::TextSelector, (0xFE0E, 0xFE0E)),
            (Class::EmojiSelector, (0xFE0F, 0xFE0F)),
            (Class::Tag, (0xE0020, 0xE007E)),
        ];
        let mut flat = vec![Class::Other; 0x11_0000];
        let mut fill = |class: Class, (first, last): Range| {
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
        fill(Class::TagEnd, (0xE007F, 0xE007F));

        let mut table = Self {
            blocks: Vec::new(),
            index: Vec::with_capacity(flat.len() / BLOCK),
        };
        for chunk in flat.chunks_exact(BLOCK) {
            let mut block = [Class::Other; BLOCK];
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
pub(super) fn class(c: char) -> Class {
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
