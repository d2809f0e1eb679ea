//! Parts of every page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::plots::{Plot, printable};

const STYLE: &str = include_str!("page.css");

/// Self-contained HTML document with a title and the style of all pages.
pub(super) fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (printable_lines(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (printable_lines(title)) }
                    (body)
                }
            }
        }
    };
    page.into_string()
}

/// Plots with their data.
pub(super) fn gallery(plots: &[Box<dyn Plot + '_>]) -> Markup {
    html! {
        @if !plots.is_empty() {
            section id="plots" {
                h2 { "Plots" }
                div.gallery {
                    @for plot in plots {
                        @let csv = plot.to_csv();
                        figure {
                            figcaption { (printable_lines(&plot.title())) }
                            (PreEscaped(plot.to_svg()))
                            details {
                                summary { "Numbers (CSV, " (csv.lines().count().saturating_sub(1)) " rows)" }
                                pre { (printable_lines(&csv)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Makes control characters visible, line by line.
pub(super) fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}
