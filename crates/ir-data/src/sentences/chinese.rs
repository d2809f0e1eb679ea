//! Cuts between Chinese sentences.

/// Punctuation that ends a sentence, and the tab.
const TERMINATORS: [char; 10] = ['\t', '﹒', '﹔', '﹖', '﹗', '．', '；', '。', '！', '？'];
const CLOSING_QUOTES: [char; 4] = ['”', '’', '」', '』'];
const OPENING_QUOTES: [char; 4] = ['“', '‘', '「', '『'];
/// Number of closing quotes that stay with the sentence before them.
const MAX_CLOSING_QUOTES: usize = 2;

/// Byte offsets of the cuts: after terminators with up to two closing quotes, and after a
/// full-width colon before an opening quote.
pub(super) fn cuts(text: &str) -> Vec<usize> {
    let mut cuts = Vec::new();
    // Number of closing quotes since the last terminator; None within a sentence.
    let mut quotes = None;
    let mut after_colon = false;
    for (at, character) in text.char_indices() {
        let is_terminator = TERMINATORS.contains(&character);
        let is_closing = CLOSING_QUOTES.contains(&character);
        match quotes {
            Some(count) if is_closing && count < MAX_CLOSING_QUOTES => {
                quotes = Some(count + 1);
                continue;
            }
            Some(_) if !is_terminator => cuts.push(at),
            None if after_colon && OPENING_QUOTES.contains(&character) => cuts.push(at),
            _ => {}
        }
        quotes = is_terminator.then_some(0);
        after_colon = character == '：';
    }
    cuts
}
