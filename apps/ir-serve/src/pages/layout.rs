//! The frame of every page, and parts that several pages have.

use axum::response::Html;
use maud::{DOCTYPE, Markup, html};

use super::access::Visitor;
use super::assets;
use crate::app::App;
use crate::urls::url;

/// Page without its content.
#[derive(Debug, Clone)]
pub(super) struct Page {
    title: String,
    /// Path of the item of the navigation that is current.
    current: &'static str,
    /// Seconds after which the page loads itself again.
    refresh: Option<u32>,
    has_session: bool,
}

/// Paths and names of the navigation.
const NAVIGATION: [(&str, &str); 8] = [
    ("/", "Search"),
    ("/papers", "Papers"),
    ("/table", "Table"),
    ("/annotations", "Annotations"),
    ("/review", "Review"),
    ("/files", "Files"),
    ("/datasets", "Datasets"),
    ("/insight", "Insight"),
];

impl App {
    /// Page of the application, with a button to sign out if visitors sign in.
    pub(super) fn page(&self, title: impl Into<String>) -> Page {
        Page {
            has_session: self.access.needs_session,
            ..Page::new(title)
        }
    }
}

impl Page {
    pub(super) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            current: "",
            refresh: None,
            has_session: false,
        }
    }

    /// Sets the path of the current item of the navigation.
    pub(super) fn current(mut self, path: &'static str) -> Self {
        self.current = path;
        self
    }

    /// Loads the page again after some seconds.
    pub(super) fn refresh(mut self, seconds: u32) -> Self {
        self.refresh = Some(seconds);
        self
    }

    /// The page as HTML.
    pub(super) fn html(&self, content: &Markup) -> Html<String> {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if let Some(seconds) = self.refresh {
                        meta http-equiv="refresh" content=(seconds);
                    }
                    title { (self.title) " – Papers" }
                    link rel="icon" href=(assets::url("icon.svg")) type="image/svg+xml";
                    link rel="stylesheet" href=(assets::url("style.css"));
                    script src=(assets::url("pages.js")) defer {}
                }
                body {
                    a.skip href="#content" { "Skip to content" }
                    header {
                        nav aria-label="Pages" {
                            ul {
                                @for (path, name) in NAVIGATION {
                                    li {
                                        @if path == self.current {
                                            a href=(path) aria-current="page" { (name) }
                                        } @else {
                                            a href=(path) { (name) }
                                        }
                                    }
                                }
                            }
                        }
                        @if self.has_session {
                            form method="post" action="/sign-out" {
                                button.plain { "Sign out" }
                            }
                        }
                    }
                    main #content tabindex="-1" { (content) }
                }
            }
        };
        Html(page.into_string())
    }
}

/// Links to the previous and the next page of a list; `link` has the URL of a page.
pub(super) fn pagination(page: usize, has_next: bool, link: impl Fn(usize) -> String) -> Markup {
    html! {
        @if page > 1 || has_next {
            nav.pagination aria-label="Pages of the list" {
                @if page > 1 { a rel="prev" href=(link(page - 1)) { "Previous page" } }
                span { "Page " (page) }
                @if has_next { a rel="next" href=(link(page + 1)) { "Next page" } }
            }
        }
    }
}

/// URL of a page with a parameter `page`, which page 1 does not have.
pub(super) fn page_url(path: &str, parameters: &[(&str, &str)], page: usize) -> String {
    let number = page.to_string();
    let mut all = parameters.to_vec();
    all.retain(|(_, value)| !value.is_empty());
    if page > 1 {
        all.push(("page", &number));
    }
    url(path, &all)
}

/// The slice of a list on a page, and whether there is a next page.
pub(super) fn slice_of<T>(all: &[T], page: usize, size: usize) -> (&[T], bool) {
    let start = ((page - 1).saturating_mul(size)).min(all.len());
    let end = start.saturating_add(size).min(all.len());
    (&all[start..end], end < all.len())
}

/// Input for the name of the visitor.
pub(super) fn name_input(visitor: &Visitor) -> Markup {
    html! {
        label for="name" { "Your name " span.hint { "(optional)" } }
        input #name name="name" maxlength="100" autocomplete="name" value=(visitor.name);
    }
}

/// Number with a unit, which has an `s` unless the number is 1.
pub(super) fn count(number: usize, unit: &str) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let plural = if number == 1 { "" } else { "s" };
    format!("{grouped} {unit}{plural}")
}

/// Unix time in milliseconds as date and time in UTC.
pub(super) fn time(milliseconds: i64) -> String {
    let seconds = milliseconds.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Civil date of a day: eras of 400 years that start on March 1.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        assert_eq!(time(0), "1970-01-01 00:00");
        assert_eq!(time(951_827_696_789), "2000-02-29 12:34");
        assert_eq!(time(1_795_000_000_000), "2026-11-18 11:06");
        assert_eq!(time(-1), "1969-12-31 23:59");
    }

    #[test]
    fn lists_have_pages() {
        let all: Vec<u8> = (0..45).collect();
        assert_eq!(slice_of(&all, 1, 20), (&all[..20], true));
        assert_eq!(slice_of(&all, 3, 20), (&all[40..], false));
        assert_eq!(slice_of(&all, 9, 20), (&all[45..], false));
        assert_eq!(slice_of(&all, usize::MAX, 20).0.len(), 0);
        assert_eq!(page_url("/x", &[("status", "")], 1), "/x");
        assert_eq!(page_url("/x", &[("status", "a")], 2), "/x?status=a&page=2");
        assert_eq!(count(1_234_567, "paper"), "1,234,567 papers");
        assert_eq!(count(1, "paper"), "1 paper");
    }
}
