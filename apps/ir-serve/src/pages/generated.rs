//! Answer that a language model writes from the answers of a question.

use maud::{Markup, html};

use crate::published::PublishedState;
use crate::service::{GeneratedAnswer, ScoredAnswer};
use crate::urls::document_url;

/// The generated answer with its sentences or, before it was asked for, the form that asks for it.
/// Nothing without a model.
pub(super) fn generation_of(
    state: &PublishedState,
    model: Option<&str>,
    generated: Option<&GeneratedAnswer>,
    answers: &[ScoredAnswer],
    parameters: &[(&str, &str)],
) -> Markup {
    match (generated, model) {
        (Some(generated), _) => answer(state, generated, answers),
        (None, Some(model)) => form(model, parameters),
        (None, None) => html! {},
    }
}

fn form(model: &str, parameters: &[(&str, &str)]) -> Markup {
    html! {
        form.generate method="post" action="/" {
            @for (name, value) in parameters { input type="hidden" name=(name) value=(value); }
            button.plain { "Write an answer from these sentences" }
            " "
            span.hint { "by the language model " (model) ", which gets the question and the first sentences" }
        }
    }
}

fn answer(state: &PublishedState, generated: &GeneratedAnswer, answers: &[ScoredAnswer]) -> Markup {
    let sentences = &answers[..answers.len().min(generated.sentences)];
    let text = generated.outcome.text();
    html! {
        section.generated aria-labelledby="generated" {
            h3 #generated { "Generated answer" }
            @if let Some(text) = text {
                p.hint {
                    "Written by the language model " (generated.model) " from the sentences below. \
                     It may be wrong: compare it with them."
                }
                @for paragraph in text.text.split("\n").filter(|line| !line.trim().is_empty()) {
                    p { (paragraph) }
                }
            } @else {
                p role="status" {
                    "No answer was generated: " (generated.outcome.message().unwrap_or_default())
                    ". The quoted answers are below."
                }
            }
            @if let Some(text) = text {
                h4 { "Sentences that the model got" }
                ol {
                    @for (position, answer) in sentences.iter().enumerate() {
                        @let frame = &answer.frame;
                        @let title = state.document(&frame.paper).map_or(frame.paper.as_str(), |document| document.title());
                        li {
                            (frame.answer) " "
                            a href={ (document_url(&frame.paper, &[("frame", &frame.id)])) "#current" } { (title) }
                            @if text.cited.contains(&position) { " " span.hint { "(cited)" } }
                        }
                    }
                }
            }
        }
    }
}
