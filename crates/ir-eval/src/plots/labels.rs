//! Names and numbers as they fit beside a picture.

/// Control characters, which XML does not allow, made visible.
pub(crate) fn printable(text: &str) -> String {
    let visible = |c: char| {
        if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(visible).collect()
}

/// About how wide a text is, in pixels, in a sans-serif face of a height in tenths of a pixel.
pub(super) fn width(text: &str, height: i32) -> i32 {
    let em: f64 = text.chars().map(share).sum();
    (em * f64::from(height) / 10.0).ceil() as i32
}

/// Those of DejaVu Sans, or a little more: of the faces that stand for sans-serif on usual systems
/// it is the widest.
fn share(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | 'I' | 'f' | '-' => 0.36,
        't' | 'r' | '(' | ')' | '[' | ']' | '!' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        '=' | '+' | '<' | '>' | '~' | '#' | '^' => 0.84,
        'A'..='Z' | '&' => 0.79,
        '\u{1100}'.. => 1.05,
        _ => 0.64,
    }
}

/// A text that is no wider than the room: where it is too long, an ellipsis stands for its middle.
pub(super) fn shorten(text: &str, room: i32, height: i32) -> String {
    let text = printable(text);
    if width(&text, height) <= room {
        return text;
    }
    let letters: Vec<char> = text.chars().collect();
    let short = |keep: usize| -> String {
        let head = keep.div_ceil(2);
        let tail = &letters[letters.len() - (keep - head)..];
        letters[..head].iter().chain(&['…']).chain(tail).collect()
    };
    (1..letters.len())
        .rev()
        .map(short)
        .find(|short| width(short, height) <= room)
        .unwrap_or_else(|| "…".to_owned())
}

/// Names that fit into the room and differ where the whole names do: those that an ellipsis made
/// alike get their number, from 1.
pub(super) fn labels(names: &[&str], room: i32, height: i32) -> Vec<String> {
    let mut short: Vec<String> = names
        .iter()
        .map(|name| shorten(name, room, height))
        .collect();
    let mut known = std::collections::HashMap::<String, usize>::new();
    for label in &short {
        *known.entry(label.clone()).or_default() += 1;
    }
    for (at, (label, name)) in short.iter_mut().zip(names).enumerate() {
        if known.get(label).is_some_and(|&times| times > 1) {
            let number = format!("{}: ", at + 1);
            let rest = room - width(&number, height);
            *label = number + &shorten(name, rest, height);
        }
    }
    short
}

/// A figure as it is usual beside an axis: no more than four significant digits, no zeros at the
/// end.
pub(super) fn short_number(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 1000.0 || size == 0.0 => 0,
        size => (3 - size.log10().floor() as i32).clamp(0, 9) as usize,
    };
    if value.abs() >= 1e7 || (value != 0.0 && value.abs() < 1e-6) {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.places$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    match text {
        "-0" => "0".to_owned(),
        _ => text.replace('-', "−"),
    }
}

/// Larger values cannot be drawn.
pub(super) const MOST: f64 = 1e100;

/// A range that holds the values and ends at round numbers, and the round numbers in it.
pub(super) fn ticks(values: impl Iterator<Item = f64>, about: f64) -> (f64, f64, Vec<f64>) {
    let finite = values.filter(|value| value.abs() < MOST);
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let all_the_same = high - low <= 1e-9 * low.abs().max(high.abs());
    let (low, high) = match (low <= high, all_the_same) {
        (false, _) => (0.0, 1.0),
        (_, true) => {
            let around = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
            (low - around, high + around)
        }
        _ => (low, high),
    };
    let rough = (high - low) / about;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
    let count = (last - first).clamp(1.0, 100.0) as i32;
    // Dividing by a whole number keeps 0.3 from becoming 0.30000000000000004.
    let at = |i: f64| {
        if (1e-9..1.0).contains(&step) {
            i / (1.0 / step).round()
        } else {
            i * step
        }
    };
    let ticks: Vec<f64> = (0..=count).map(|i| at(first + f64::from(i))).collect();
    (at(first), at(first + f64::from(count)), ticks)
}

/// The same for decimal logarithms of a logarithmic axis: 1, 2, 5, 10, 20, …, or the powers of ten
/// alone where there are many.
pub(super) fn powers(logarithms: impl Iterator<Item = f64>) -> (f64, f64, Vec<f64>) {
    let finite = logarithms.filter(|value| value.abs() < 100.0);
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let (low, high) = match (low <= high, low == high) {
        (false, _) => (0.0, 1.0),
        (_, true) => (low, low + 1.0),
        _ => (low, high),
    };
    let digits: &[f64] = if high - low > 4.5 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let all = (low.floor() as i32..=high.ceil() as i32).flat_map(|power| {
        digits
            .iter()
            .map(move |digit| f64::from(power) + digit.log10())
    });
    let ticks = all
        .filter(|tick| (low - 1e-9..=high + 1e-9).contains(tick))
        .collect();
    (low, high, ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widths of DejaVu Sans 2.37, measured with Pillow 13 (`ImageFont.getlength`) at 1000 pixels.
    #[test]
    fn texts_are_not_thought_narrower_than_they_are() {
        for (text, pixels) in [
            ("bm25-k1=1.5000000000000002-b=0.4", 19_850),
            ("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", 19_040),
            ("tevatron_full_sentence.trec", 13_620),
            ("bm25+rm3-porter-robust04.default", 17_750),
            ("ColBERT-v2_HNSW", 9_230),
        ] {
            let thought = width(text, 10_000);
            assert!(thought >= pixels, "{text}: {thought} {pixels}");
            assert!(thought < pixels * 5 / 4, "{text}: {thought} {pixels}");
        }
    }
}
