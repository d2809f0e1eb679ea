//! Tick values, tick labels and names fitted to the available width.

/// Replaces control characters, which XML does not allow, by U+FFFD.
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

/// Estimated width of a text in pixels, in a sans-serif font with a height in tenths of a pixel.
pub(super) fn text_width(text: &str, height: i32) -> i32 {
    let em: f64 = text.chars().map(em_width).sum();
    (em * f64::from(height) / 10.0).ceil() as i32
}

/// Width of a character in em. Upper bounds for DejaVu Sans, the widest of the common sans-serif
/// fonts.
fn em_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | 'I' | 'f' | '-' => 0.36,
        't' | 'r' | '(' | ')' | '[' | ']' | '!' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        '=' | '+' | '−' | '<' | '>' | '~' | '#' | '^' => 0.84,
        'A'..='Z' | '&' => 0.79,
        '\u{1100}'.. => 1.05,
        _ => 0.64,
    }
}

/// Fits a text into a width in pixels; an ellipsis replaces the middle of longer texts.
pub(super) fn elide(text: &str, max_width: i32, height: i32) -> String {
    let text = printable(text);
    if text_width(&text, height) <= max_width {
        return text;
    }
    let chars: Vec<char> = text.chars().collect();
    let short = |keep: usize| -> String {
        let head = keep.div_ceil(2);
        let tail = &chars[chars.len() - (keep - head)..];
        chars[..head].iter().chain(&['…']).chain(tail).collect()
    };
    (1..chars.len())
        .rev()
        .map(short)
        .find(|short| text_width(short, height) <= max_width)
        .unwrap_or_else(|| "…".to_owned())
}

/// Fits names into a width in pixels. Different names stay different: names that elision makes
/// equal are prefixed by their number, from 1.
pub(super) fn elided_labels(names: &[&str], max_width: i32, height: i32) -> Vec<String> {
    let mut short: Vec<String> = names
        .iter()
        .map(|name| elide(name, max_width, height))
        .collect();
    let mut known = std::collections::HashMap::<String, usize>::new();
    for label in &short {
        *known.entry(label.clone()).or_default() += 1;
    }
    for (at, (label, name)) in short.iter_mut().zip(names).enumerate() {
        if known.get(label).is_some_and(|&times| times > 1) {
            let number = format!("{}: ", at + 1);
            let rest = max_width - text_width(&number, height);
            *label = number + &elide(name, rest, height);
        }
    }
    short
}

/// Tick label of a number: at most four significant digits, without trailing zeros.
pub(super) fn format_number(value: f64) -> String {
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

/// Upper bound of absolute values that can be drawn.
pub(super) const MAX_DRAWN: f64 = 1e100;

/// Minimum and maximum of the values with an absolute value below `limit`.
fn range(values: impl Iterator<Item = f64>, limit: f64) -> (f64, f64) {
    let finite = values.filter(|value| value.abs() < limit);
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Axis range with ticks.
#[derive(Clone)]
pub(super) struct TickedRange {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<f64>,
}

/// Linear axis: range with round bounds that contains the values, and about `count` round ticks.
pub(super) fn linear_ticks(values: impl Iterator<Item = f64>, count: f64) -> TickedRange {
    let (low, high) = range(values, MAX_DRAWN);
    let constant = high - low <= 1e-9 * low.abs().max(high.abs());
    let (low, high) = match (low <= high, constant) {
        (false, _) => (0.0, 1.0),
        (_, true) => {
            let around = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
            (low - around, high + around)
        }
        _ => (low, high),
    };
    let rough = (high - low) / count;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
    let count = (last - first).clamp(1.0, 100.0) as i32;
    // Division by an integer gives 0.3 instead of 0.30000000000000004.
    let at = |i: f64| {
        if (1e-9..1.0).contains(&step) {
            i / (1.0 / step).round()
        } else {
            i * step
        }
    };
    TickedRange {
        low: at(first),
        high: at(first + f64::from(count)),
        ticks: (0..=count).map(|i| at(first + f64::from(i))).collect(),
    }
}

/// Logarithmic axis over decimal logarithms: ticks at 1, 2, 5, 10, 20, …, or at powers of ten only
/// for more than 4.5 decades.
pub(super) fn log_ticks(logarithms: impl Iterator<Item = f64>) -> TickedRange {
    let (low, high) = range(logarithms, 100.0);
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
    TickedRange { low, high, ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Widths of DejaVu Sans 2.37, measured with Pillow 13 (`ImageFont.getlength`) at 1000 pixels.
    #[test]
    fn estimated_widths_are_upper_bounds() {
        for (text, pixels) in [
            ("bm25-k1=1.5000000000000002-b=0.4", 19_850),
            ("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", 19_040),
            ("tevatron_full_sentence.trec", 13_620),
            ("bm25+rm3-porter-robust04.default", 17_750),
            ("ColBERT-v2_HNSW", 9_230),
        ] {
            let estimated = text_width(text, 10_000);
            assert!(estimated >= pixels, "{text}: {estimated} {pixels}");
            assert!(estimated < pixels * 5 / 4, "{text}: {estimated} {pixels}");
        }
    }
}
