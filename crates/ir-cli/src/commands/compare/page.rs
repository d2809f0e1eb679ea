//! `ir compare --format html` and `--pictures`.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use ir_core::{Judgments, Run};
use ir_eval::{Comparison, Page, PageError};

use super::{Args, EvaluatedRun};
use crate::shared::console::check_stopped;
use crate::shared::output::Sink;

/// How many wins and losses are shown for a pair of systems, unless told.
const TOPICS: usize = 10;

/// The page of a comparison with all its pictures.
pub(super) fn of<'c>(
    args: &Args,
    comparison: &'c Comparison,
    qrels: &dyn Judgments,
    systems: &[EvaluatedRun],
) -> Result<Page<'c>, PageError> {
    let names: Vec<&str> = systems.iter().map(EvaluatedRun::name).collect();
    let title = args.title.clone().unwrap_or_else(|| {
        let systems = match names[..] {
            [one, other] => format!("{one} and {other}"),
            _ => format!("{} systems", names.len()),
        };
        format!("{systems} on {}", args.qrels)
    });
    let lists: Vec<&Run> = systems
        .iter()
        .filter_map(|system| system.list.as_ref())
        .collect();
    let topics = args.per_topic.unwrap_or(TOPICS);
    let mut page = Page::full(&title, comparison, qrels, &lists, topics)?;
    page.files
        .push(("judgments".to_owned(), args.qrels.clone()));
    let file = |system: &EvaluatedRun| (system.name().to_owned(), system.file.clone());
    page.files.extend(systems.iter().map(file));
    Ok(page)
}

/// Makes the folder for pictures, before the work begins.
pub(super) fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{}: could not be made", folder.display()))
}

/// Writes every picture and the numbers behind it into a folder.
pub(super) fn write_pictures(page: &Page<'_>, folder: &Path) -> Result<()> {
    let mut known = HashSet::new();
    for picture in &page.pictures {
        let title = file_name(&picture.title());
        let mut name = title.clone();
        let mut number = 1;
        // Where systems are told apart by upper and lower case alone, not all file systems are.
        while !known.insert(name.to_ascii_lowercase()) {
            number += 1;
            name = format!("{title}-{number}");
        }
        for (ending, text) in [("svg", picture.to_svg()), ("csv", picture.to_csv())] {
            check_stopped()?;
            let path = folder.join(format!("{name}.{ending}"));
            let mut out = Sink::open(Some(&path))?;
            out.write_all(text.as_bytes())
                .with_context(|| format!("{}: could not be written", out.name()))?;
            out.commit()?;
        }
    }
    Ok(())
}

/// The title of a picture as the name of a file on any system: letters and digits, dashes between
/// them, of a moderate length.
fn file_name(title: &str) -> String {
    let mut name = String::new();
    for c in title.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '=' | '_') => name.push(c),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
        if name.len() >= 100 {
            break;
        }
    }
    let name = name.trim_matches(|c| c == '-' || c == '.');
    if name.is_empty() { "picture" } else { name }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_names_of_files() {
        assert_eq!(
            file_name("nDCG@10 per query: a/b against ../c"),
            "nDCG-10-per-query-a-b-against-..-c"
        );
        assert_eq!(file_name("../../etc"), "etc");
        assert_eq!(file_name("検索"), "picture");
        assert_eq!(file_name(&"x".repeat(500)).len(), 100);
    }
}
