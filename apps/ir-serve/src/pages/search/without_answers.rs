//! The page Search without answers: before the first question, and for questions without any.

use maud::{Markup, html};

use super::{SearchForm, SearchResult, count, question_link, url};

/// The page without a question.
pub(super) fn home(result: &SearchResult) -> Markup {
    let documents = result.state.documents().len();
    html! {
        @if result.is_starting {
            section aria-label="First steps" {
                h2 { "The papers are being read and indexed" }
                p role="status" {
                    "Questions have answers as soon as they are published. The page "
                    a href="/files" { "Files" } " has the progress."
                }
                p { a href="/" { "Load this page again" } }
            }
        } @else if documents == 0 {
            section aria-label="First steps" {
                h2 { "There are no published papers yet" }
                ol {
                    li { "Start the server with a folder of papers, or add papers over REST." }
                    li { "Publish them on the page " a href="/review" { "Review" } " or over REST." }
                }
            }
        } @else {
            p.hint {
                (count(documents, "paper")) ", "
                (count(result.state.index().frames().len(), "answer sentence"))
            }
            @if !result.suggestions.is_empty() {
                section aria-labelledby="frequent" {
                    h2 #frequent { "Start with" }
                    ul {
                        @for suggestion in &result.suggestions {
                            li { (question_link(&SearchForm::default(), suggestion)) }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn no_answers(form: &SearchForm, result: &SearchResult) -> Markup {
    html! {
        div role="status" {
            @if form.page > 1 {
                p { "There are no further answers." }
            } @else if result.is_starting {
                p { strong { "The papers are not published yet." } }
            } @else {
                p { strong { "No sentence answers this question." } }
            }
        }
        ul {
            @if result.is_starting {
                li { "The page " a href="/files" { "Files" } " has the progress." }
                li { a href=(url("/", &form.with_question(&form.question))) { "Ask again" } }
            }
            @if form.page > 1 {
                li { a href=(url("/", &form.with_question(&form.question))) { "First page" } }
            }
            @if form.has_filters() {
                li { a href=(url("/", &[("q", &form.question)])) { "Search all papers and years" } }
            }
            @for suggestion in &result.suggestions {
                li { "Did you mean " (question_link(form, suggestion)) }
            }
            @if result.state.documents().is_empty() && !result.is_starting {
                li { "There are no published papers yet. Publish them on the page " a href="/review" { "Review" } "." }
            }
            li { "Ask with other words: names of methods, data or measures." }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ir_qa::Frame;
    use ir_qa::questions::{QuestionError, QuestionGenerator};
    use tempfile::TempDir;

    use super::*;
    use crate::app::tests::{Gate, wait_until};
    use crate::config::{ServiceConfig, ServiceQuestions};
    use crate::pages::search::search;
    use crate::service::{Question, Service, record_of};

    /// Generator of no questions that waits for the gate.
    struct Gated(Arc<Gate>);

    impl QuestionGenerator for Gated {
        fn generate(&self, frames: &[&Frame]) -> Result<Vec<Vec<String>>, QuestionError> {
            self.0.pass();
            Ok(vec![Vec::new(); frames.len()])
        }

        fn name(&self) -> String {
            "gated".to_owned()
        }
    }

    /// The page without a question, and the page of a question.
    fn pages(service: &Service) -> [String; 2] {
        ["", "Where does tea grow?"].map(|text| {
            let result = search(service, &Question::new(text, 5)).unwrap();
            match text {
                "" => home(&result).into_string(),
                _ => no_answers(&SearchForm::default(), &result).into_string(),
            }
        })
    }

    #[test]
    fn the_first_publication_is_told() {
        let (data, gate) = (TempDir::new().unwrap(), Arc::<Gate>::default());
        let mut config = ServiceConfig::new(data.path());
        config.questions = Some(ServiceQuestions {
            generator: Arc::new(Gated(Arc::clone(&gate))),
            file: None,
        });
        let service = Service::open(config).unwrap();
        wait_until(|| service.published().is_ok());
        let [home, question] = pages(&service);
        assert!(home.contains("no published papers yet"), "{home}");
        assert!(question.contains("No sentence answers"), "{question}");
        let mut paper = ir_qa::documents::Paper::new("tea");
        paper.push_paragraph("Tea grows in Asia.", None);
        service.add(vec![record_of(&paper)]).unwrap();
        service.publish().unwrap();
        gate.wait_for(1);
        for page in pages(&service) {
            assert!(!page.contains("no published papers"), "{page}");
            assert!(!page.contains("No sentence answers"), "{page}");
            assert!(page.contains("/files"), "{page}");
        }
        gate.open();
        wait_until(|| service.unfinished_jobs() == 0);
        let [home, _] = pages(&service);
        assert!(home.contains("1 paper"), "{home}");
    }
}
