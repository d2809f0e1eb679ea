//! Dates of ISO 8601.

use std::cmp::Ordering;

/// Date of ISO 8601, of which month, day and time may be missing. Times with an offset are
/// converted to UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Year of the Gregorian calendar.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: Option<u8>,
    /// Day of the month, from 1.
    pub day: Option<u8>,
    /// Seconds since midnight in UTC, fractions cut off.
    pub second: Option<u32>,
}

impl Date {
    /// Parses `YYYY-MM`, `YYYY-MM-DD`, and `YYYY-MM-DDThh:mm[:ss[.fraction]]` with `Z`, an offset
    /// such as `+02:00`, or neither; a space may stand for `T`. The basic format of ISO 8601 has no
    /// hyphens and colons: `YYYYMMDD`, `YYYYMMDDThhmmss`, with years from 1000 to 2999. `None` for
    /// other texts, and for days that are not in the calendar.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = match text.find(['T', 't', ' ']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        let (year, rest) = date.split_at_checked(4)?;
        let year = digits(year, 4)?;
        let (month, day) = match digits(rest, 4) {
            // Eight digits that start with 0 are identifiers.
            Some(_) if (1000..3000).contains(&year) => (&rest[..2], Some(&rest[2..])),
            _ => match rest.strip_prefix('-')?.split_once('-') {
                Some((month, day)) => (month, Some(day)),
                None => (&rest[1..], None),
            },
        };
        let month = digits(month, 2)?;
        let day = day.map(|day| digits(day, 2).ok_or(()));
        let day = day.transpose().ok()?;
        let in_calendar = (1..=12).contains(&month)
            && day.is_none_or(|day| (1..=days_of_month(year, month)).contains(&day));
        if !in_calendar || (time.is_some() && day.is_none()) {
            return None;
        }
        let date = Self {
            year: i64::from(year),
            month: Some(month as u8),
            day: day.map(|day| day as u8),
            second: None,
        };
        match time {
            Some(time) => date.at(time),
            None => Some(date),
        }
    }

    /// The date at a time of the day, in UTC.
    fn at(self, time: &str) -> Option<Self> {
        let (time, offset) = match time.find(['Z', 'z', '+', '-']) {
            Some(at) => (&time[..at], offset_minutes(&time[at..])?),
            None => (time, 0),
        };
        let mut fields = time.split(':');
        let first = fields.next()?;
        let (hour, minute, seconds) = match first.len() {
            2 => (first, fields.next()?, fields.next()),
            _ => {
                let seconds = first.get(4..).filter(|seconds| !seconds.is_empty());
                (first.get(..2)?, first.get(2..4)?, seconds)
            }
        };
        let hour = digits(hour, 2).filter(|hour| *hour < 24)?;
        let minute = digits(minute, 2).filter(|minute| *minute < 60)?;
        let second = match seconds {
            None => 0,
            Some(seconds) => {
                let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
                if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                // 60 is a leap second.
                digits(whole, 2).filter(|second| *second <= 60)?
            }
        };
        if fields.next().is_some() {
            return None;
        }
        let second = (hour * 60 + minute) as i64 * 60 + i64::from(second) - offset * 60;
        let days = second.div_euclid(86_400);
        let mut date = match days {
            0 => self,
            days => self.neighbor(days > 0),
        };
        date.second = Some(second.rem_euclid(86_400) as u32);
        Some(date)
    }

    /// The day after or before.
    fn neighbor(mut self, is_after: bool) -> Self {
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let last = |year: i64, month: u8| days_of_month(year as u32, u32::from(month)) as u8;
        let year = self.year;
        let (year, month, day) = if is_after {
            match (month, day) {
                _ if day < last(year, month) => (year, month, day + 1),
                (12, _) => (year + 1, 1, 1),
                _ => (year, month + 1, 1),
            }
        } else {
            match (month, day) {
                (1, 1) => (year - 1, 12, 31),
                (_, 1) => (year, month - 1, last(year, month - 1)),
                _ => (year, month, day - 1),
            }
        };
        (self.year, self.month, self.day) = (year, Some(month), Some(day));
        self
    }

    /// Compares the fields that both dates have.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        fn both<T: Ord>(a: Option<T>, b: Option<T>) -> Ordering {
            a.zip(b).map_or(Ordering::Equal, |(a, b)| a.cmp(&b))
        }
        (self.year.cmp(&other.year))
            .then(both(self.month, other.month))
            .then(both(self.day, other.day))
            .then(both(self.second, other.second))
    }
}

/// Number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let are_digits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| text.parse().ok()).flatten()
}

/// Minutes of `Z`, `+02:00`, `-0530` or `+02`.
fn offset_minutes(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return (text.len() == 1).then_some(0),
    };
    let (hours, minutes) = match text[1..].split_once(':') {
        Some(parts) => parts,
        None if text.len() == 3 => (&text[1..], "00"),
        None => text.get(1..3).zip(text.get(3..))?,
    };
    let hours = digits(hours, 2).filter(|hours| *hours < 24)?;
    let minutes = digits(minutes, 2).filter(|minutes| *minutes < 60)?;
    Some(sign * i64::from(hours * 60 + minutes))
}

fn days_of_month(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
