//! TriviaQA: questions with Wikipedia pages and web pages as evidence.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Component, Path};

use serde::Deserialize;

use super::Question;
use super::builder::{ConvertedQuestions, ParagraphIndex, SquadBuilder, find_answers};
use crate::error::{DataError, Location};
use crate::json::json_error;
use crate::lines::read_all;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "Data")]
    data: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    question: String,
    question_id: String,
    /// Test files have none.
    answer: Option<Aliases>,
    #[serde(default)]
    entity_pages: Vec<Page>,
    #[serde(default)]
    search_results: Vec<Page>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Aliases {
    value: String,
    #[serde(default)]
    aliases: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    filename: Option<String>,
    #[serde(default)]
    title: String,
}

/// Reads questions of TriviaQA: JSON with `Data`, an array of `Question`, `QuestionId`, `Answer`
/// with `Value` and `Aliases`, and the pages `EntityPages` and `SearchResults`, each with
/// `Filename` and `Title`. `evidence` returns the text of a page by its path: `wikipedia/NAME` or
/// `web/NAME`. `source` names the reader in errors.
///
/// The lines of the pages are the paragraphs. A question is at the first line that contains its
/// answer or an alias, without regard to case, which is the distant supervision of the dataset.
/// Questions without such a line are left out; their pages are not.
///
/// ```
/// use ir_data::squad::read_trivia_qa;
/// let text = r#"{"Data": [{"Question": "Where is tea from?", "QuestionId": "tc_7",
///     "Answer": {"Value": "Asia", "Aliases": ["The East"]},
///     "EntityPages": [{"Title": "Tea", "Filename": "Tea.txt"}]}]}"#;
/// let evidence = |path: &str| {
///     assert_eq!(path, "wikipedia/Tea.txt");
///     Ok("Tea is a drink.\n\nIt came from the east.\n".to_owned())
/// };
/// let found = read_trivia_qa(text.as_bytes(), "wikipedia-dev.json", evidence)?.squad;
/// assert_eq!(found.qrels().grade("tc_7", "Tea/1"), Some(1));
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read or does not have this structure, an id is not unique, a file name is
/// not below the folder, or `evidence` returns an error.
pub fn read_trivia_qa(
    reader: impl BufRead,
    source: &str,
    mut evidence: impl FnMut(&str) -> Result<String, DataError>,
) -> Result<ConvertedQuestions, DataError> {
    let text = read_all(reader, source)?;
    let at = Location::new(source, 1);
    let file: File = serde_json::from_str(&text).map_err(|error| json_error(&error, at))?;
    let mut builder = SquadBuilder::default();
    // Questions share pages.
    let mut pages: HashMap<String, Vec<ParagraphIndex>> = HashMap::new();
    for record in file.data {
        builder.check_id(&record.question_id, at)?;
        let mut paragraphs = Vec::new();
        for (folder, of_record) in [
            ("wikipedia", &record.entity_pages),
            ("web", &record.search_results),
        ] {
            for page in of_record {
                // Some results have no page.
                let Some(name) = &page.filename else { continue };
                check_name(name, at)?;
                let path = format!("{folder}/{name}");
                if !pages.contains_key(&path) {
                    let text = evidence(&path)?;
                    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                    let added = lines.map(|line| builder.add_paragraph(&page.title, line));
                    pages.insert(path.clone(), added.collect());
                }
                paragraphs.extend_from_slice(&pages[&path]);
            }
        }
        let answers: Vec<&str> = match &record.answer {
            Some(answer) => {
                let aliases = answer
                    .aliases
                    .iter()
                    .filter(|alias| **alias != answer.value);
                std::iter::once(&answer.value)
                    .chain(aliases)
                    .map(String::as_str)
                    .collect()
            }
            None => Vec::new(),
        };
        let found = paragraphs.into_iter().find_map(|paragraph| {
            let found = find_answers(builder.context(paragraph), answers.iter().copied());
            (!found.is_empty()).then_some((paragraph, found))
        });
        let (at, answers) = match found {
            Some((paragraph, answers)) => (Some(paragraph), answers),
            None => (None, Vec::new()),
        };
        let question = Question {
            id: record.question_id,
            text: record.question,
            answers,
        };
        builder.add_question(at, question);
    }
    Ok(builder.finish())
}

/// Rejects a name that leads out of the folder of the evidence.
fn check_name(name: &str, at: Location<'_>) -> Result<(), DataError> {
    let mut parts = Path::new(name).components();
    if !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_))) {
        return Ok(());
    }
    Err(at.syntax("a Filename below the folder of the evidence", name))
}
