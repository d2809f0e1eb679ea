use std::fmt;

use serde::{Deserialize, Serialize};

use ir_core::excerpt;

use crate::datafinder::keyphrase_query;

/// Query written from an abstract: seven fields, any of which but the summary may be empty.
///
/// [`Display`](fmt::Display) prints the seven labeled lines of a prompt; empty fields are `N/A`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueryAnswer {
    /// Task of the paper.
    pub task: String,
    /// Modality of the data, such as `Images`.
    pub modality: String,
    /// Application domain of the data.
    pub domain: String,
    /// Training style, such as `Unsupervised`.
    pub training_style: String,
    /// Length of the texts, such as `Sentence-level`.
    pub text_length: String,
    /// Language of the data.
    pub language: String,
    /// Summary in one sentence.
    pub summary: String,
}

/// Line between the parts of a prompt.
pub(super) const SEPARATOR: &str = "--";

/// Labels of the lines, in their order.
pub(super) const LABELS: [&str; 7] = [
    "Task",
    "Modality",
    "Domain",
    "Training Style",
    "Text Length",
    "Language Required",
    "Single-Sentence Summary",
];

/// Labels without which an answer is not one, by their numbers.
const REQUIRED: [usize; 4] = [6, 5, 4, 3];

/// Error parsing an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum AnswerError {
    /// The answer is blank.
    #[error("expected an answer, found none")]
    Empty,
    /// No part of the answer has all required labels. `missing` are those that the last part lacks.
    #[error("expected lines labeled {}, found {found:?}", missing.join(", "))]
    MissingLabels {
        missing: Vec<&'static str>,
        found: String,
    },
    /// The summary is blank.
    #[error("expected a text after \"Single-Sentence Summary:\", found none")]
    NoSummary,
}

impl QueryAnswer {
    /// Parses decoded text: the prompt, if it is included, and the answer. The text is split at
    /// lines `--`; the last part with the labels Training Style, Text Length, Language Required and
    /// Single-Sentence Summary is the answer, as published.
    ///
    /// A label starts its line, possibly after list and emphasis marks. Values may be missing; the
    /// last of several lines with the same label counts.
    ///
    /// # Errors
    /// No part has these labels, or the summary is blank.
    pub fn parse(text: &str) -> Result<Self, AnswerError> {
        if text.trim().is_empty() {
            return Err(AnswerError::Empty);
        }
        let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
        for line in text.lines() {
            match (line.trim() == SEPARATOR, parts.last_mut()) {
                (false, Some(part)) => part.push(line),
                _ => parts.push(Vec::new()),
            }
        }
        let mut missing = Vec::new();
        for part in parts
            .iter()
            .rev()
            .filter(|it| it.iter().any(|line| !line.trim().is_empty()))
        {
            let found = labeled(part);
            let absent = REQUIRED.iter().rev().filter(|&&n| found[n].is_none());
            let absent: Vec<&str> = absent.map(|&n| LABELS[n]).collect();
            if absent.is_empty() {
                return Self::from_fields(found);
            }
            if missing.is_empty() {
                missing = absent;
            }
        }
        Err(AnswerError::MissingLabels {
            missing,
            found: excerpt(text.trim()),
        })
    }

    /// Parses the completion of a prompt that ends with `Task:`. Text after a line `--`, where a
    /// model may invent further examples, is ignored; `Task:` may be missing.
    ///
    /// ```
    /// use ir_studies::papers::QueryAnswer;
    /// let completion = " Parsing\nModality: Text\nDomain: N/A\nTraining Style: Supervised\n\
    ///                   Text Length: Sentence-level\nLanguage Required: English\n\
    ///                   Single-Sentence Summary: A parser of English.\n--\nAbstract: invented";
    /// let answer = QueryAnswer::parse_completion(completion)?;
    /// assert_eq!(answer.task, "Parsing");
    /// assert_eq!(answer.keyphrases(), "parsing text english sentence-level");
    /// # Ok::<(), ir_studies::papers::AnswerError>(())
    /// ```
    ///
    /// # Errors
    /// No part has the required labels, or the summary is blank.
    pub fn parse_completion(text: &str) -> Result<Self, AnswerError> {
        let lines = text.lines().take_while(|line| line.trim() != SEPARATOR);
        let lines: Vec<&str> = lines.collect();
        if lines.iter().all(|line| line.trim().is_empty()) {
            return Err(AnswerError::Empty);
        }
        let body = lines.join("\n");
        match labeled(&lines)[0] {
            Some(_) => Self::parse(&body),
            None => Self::parse(&format!("{}:{body}", LABELS[0])),
        }
    }

    fn from_fields(fields: [Option<&str>; 7]) -> Result<Self, AnswerError> {
        let fields = fields.map(|value| match value.unwrap_or_default() {
            "N/A" | "None" => String::new(),
            value => value.to_owned(),
        });
        let answer = Self::from_values(fields);
        if answer.summary.is_empty() {
            return Err(AnswerError::NoSummary);
        }
        Ok(answer)
    }

    /// `values` are in the order of the fields.
    pub(super) fn from_values(values: [String; 7]) -> Self {
        let [
            task,
            modality,
            domain,
            training_style,
            text_length,
            language,
            summary,
        ] = values;
        Self {
            task,
            modality,
            domain,
            training_style,
            text_length,
            language,
            summary,
        }
    }

    fn fields(&self) -> [&str; 7] {
        [
            &self.task,
            &self.modality,
            &self.domain,
            &self.training_style,
            &self.text_length,
            &self.language,
            &self.summary,
        ]
    }

    /// Keyphrase query of task, modality, domain, language and text length, as in DataFinder's
    /// training set ([`keyphrase_query`]).
    #[must_use]
    pub fn keyphrases(&self) -> String {
        keyphrase_query([
            self.task.as_str(),
            &self.modality,
            &self.domain,
            &self.language,
            &self.text_length,
        ])
    }
}

impl fmt::Display for QueryAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (label, value)) in LABELS.iter().zip(self.fields()).enumerate() {
            let value = if value.is_empty() { "N/A" } else { value };
            let start = if n == 0 { "" } else { "\n" };
            write!(f, "{start}{label}: {value}")?;
        }
        Ok(())
    }
}

/// Values of labeled lines.
fn labeled<'a>(lines: &[&'a str]) -> [Option<&'a str>; 7] {
    let mut fields = [None; 7];
    for line in lines {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-*#>".contains(c));
        for (label, field) in LABELS.iter().zip(&mut fields) {
            let value = line
                .strip_prefix(label)
                .map(|it| it.trim_start_matches('*'));
            if let Some(value) = value.and_then(|it| it.strip_prefix(':')) {
                *field = Some(value.trim_matches(|c: char| c.is_whitespace() || c == '*'));
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::super::prompt::QueryPrompt;
    use super::*;

    /// Answers of the three worked examples of the prompt, alone and at the end of a prompt.
    #[test]
    fn worked_examples() {
        let prompt = QueryPrompt::default();
        assert_eq!(prompt.examples.len(), 3);
        for example in &prompt.examples {
            let output = example.answer.to_string();
            assert_eq!(output.lines().count(), 7);
            assert_eq!(QueryAnswer::parse(&output).as_ref(), Ok(&example.answer));
            let completion = output.strip_prefix("Task:").unwrap();
            let decoded = prompt.render("We do something else.") + completion;
            assert_eq!(QueryAnswer::parse(&decoded).as_ref(), Ok(&example.answer));
            let parsed = QueryAnswer::parse_completion(completion);
            assert_eq!(parsed.as_ref(), Ok(&example.answer));
            let parsed = QueryAnswer::parse_completion(&output);
            assert_eq!(parsed.as_ref(), Ok(&example.answer));
        }
        // An incomplete last part: the preceding one counts, as published.
        let decoded = prompt.render("New.") + " Parsing\nModality: Text";
        let last = prompt.examples.last().unwrap();
        assert_eq!(QueryAnswer::parse(&decoded).as_ref(), Ok(&last.answer));
    }

    #[test]
    fn marks_and_missing_values() {
        let text = "Here is the answer:\n\n- **Task:** Parsing\n* Modality: None\n> Domain:\n\
                    # Training Style: N/A\nText Length: \nTask: Tagging\n**Language Required**: English\n\
                    Single-Sentence Summary: We parse: fast.\n";
        let answer = QueryAnswer::parse(text).unwrap();
        let expected = ["Tagging", "", "", "", "", "English", "We parse: fast."];
        assert_eq!(answer.fields(), expected);
        assert_eq!(answer.keyphrases(), "tagging english");
        assert!(answer.to_string().contains("\nModality: N/A\n"));
    }

    #[test]
    fn invalid_answers() {
        assert_eq!(QueryAnswer::parse(" \n"), Err(AnswerError::Empty));
        assert_eq!(
            QueryAnswer::parse_completion("\n--\nTask: x"),
            Err(AnswerError::Empty)
        );
        let error = QueryAnswer::parse("I cannot help with that.")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "expected lines labeled Training Style, Text Length, Language Required, \
             Single-Sentence Summary, found \"I cannot help with that.\""
        );
        let text = "Training Style: a\nText Length: b\nLanguage Required: c\nsummary: d";
        let error = QueryAnswer::parse(text).unwrap_err();
        assert!(matches!(error, AnswerError::MissingLabels { missing, .. }
            if missing == ["Single-Sentence Summary"]));
        let text =
            "Training Style: a\nText Length: b\nLanguage Required: c\nSingle-Sentence Summary:";
        assert_eq!(QueryAnswer::parse(text), Err(AnswerError::NoSummary));
        // A label inside of a line is text.
        let text = text.replace("Text Length", "The Text Length");
        assert!(QueryAnswer::parse(&text).is_err());
    }
}
