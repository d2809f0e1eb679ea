//! Review of annotations, agreement of the reviewers, and publication.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use ir_eval::assess::{MeasurementLevel, Ratings};
use maud::{Markup, html};

use super::access::{Admin, Visitor, id_of, short_name};
use super::annotations::{card, has_answer};
use super::error::PageError;
use super::files::numbers;
use super::layout::{count, page_url, pagination, slice_of, time};
use super::parameters::{FormParameters, PathParameter, UrlParameters};
use crate::app::App;
use crate::error::ServiceError;
use crate::published::PublishedState;
use crate::service::Service;
use crate::store::{Annotation, AnnotationStatus, Job, JobStatus, StoreError, Verdict};

/// Annotations on a page of the queue.
const PAGE: usize = 20;

/// Candidates of a merge that are offered.
const CANDIDATES: usize = 20;

/// Verdict of a reviewer on an annotation.
type VerdictRow = (i64, String, AnnotationStatus);

/// Parts of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// Annotations without a verdict.
    Pending,
    /// Annotations with a verdict, but none of the visitor.
    Second,
    /// Annotations with a verdict of the visitor.
    Mine,
}

impl Queue {
    const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Pending, "", "Pending"),
        (Self::Second, "second", "Reviewed by others"),
        (Self::Mine, "mine", "Reviewed by you"),
    ];

    fn parse(name: &str) -> Self {
        let found = Self::ALL.iter().find(|(_, other, _)| *other == name);
        found.map_or(Self::Pending, |(queue, ..)| *queue)
    }

    fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(other, ..)| *other == self);
        found.map_or("", |(_, name, _)| name)
    }

    fn has(self, annotation: &Annotation, visitor: &Visitor, verdicts: &[VerdictRow]) -> bool {
        let mut of = verdicts.iter().filter(|(id, ..)| *id == annotation.id);
        let is_mine = of.any(|(_, reviewer, _)| visitor.is(reviewer));
        match self {
            Self::Pending => annotation.status == AnnotationStatus::Pending,
            Self::Second => annotation.status != AnnotationStatus::Pending && !is_mine,
            Self::Mine => is_mine,
        }
    }
}

/// Page of the queue.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    Admin(visitor): Admin,
    UrlParameters(parameters): UrlParameters,
) -> Result<Html<String>, PageError> {
    let queue = Queue::parse(parameters.text("show"));
    let (annotations, verdicts, jobs, has_changes, files) = app
        .store(|store| {
            let annotations = store.annotations(None, None)?;
            Ok((
                annotations,
                store.verdicts()?,
                store.jobs(5)?,
                store.has_changes()?,
                store.file_problem_counts()?,
            ))
        })
        .await?;
    let state = app.service.published().ok();
    let in_queue: Vec<&Annotation> = annotations
        .iter()
        .filter(|annotation| queue.has(annotation, &visitor, &verdicts))
        .collect();
    let (shown, has_next) = slice_of(&in_queue, parameters.page(), PAGE);
    let content = html! {
        h1 { "Review" }
        nav.actions aria-label="Queues" {
            @for (other, name, title) in Queue::ALL {
                a href=(page_url("/review", &[("show", name)], 1))
                    aria-current=[(other == queue).then_some("page")] { (title) }
            }
        }
        p.hint { (count(in_queue.len(), "annotation")) }
        @if in_queue.is_empty() {
            p role="status" { "There is nothing to review here." }
        }
        @for annotation in shown {
            div.item {
                // Verdicts of others are hidden from a second reviewer.
                (card(annotation, state.as_deref(), queue != Queue::Second))
                (verdict_forms(annotation, &annotations, &verdicts, queue, &visitor))
            }
        }
        (pagination(parameters.page(), has_next, |page| page_url("/review", &[("show", queue.name())], page)))
        // The number of accepted questions would tell verdicts.
        @if queue != Queue::Second {
            (publication(&app.service, &jobs, has_changes, files, &annotations, state.as_deref()))
        }
        (agreement(&verdicts))
    };
    Ok(app.page("Review").current("/review").html(&content))
}

fn verdict_forms(
    annotation: &Annotation,
    all: &[Annotation],
    verdicts: &[VerdictRow],
    queue: Queue,
    visitor: &Visitor,
) -> Markup {
    let action = format!("/review/{}", annotation.id);
    let id = annotation.id;
    let candidates: Vec<&Annotation> = all
        .iter()
        .filter(|other| {
            other.id != id
                && other.document == annotation.document
                && other.chunk == annotation.chunk
                && other.status.is_merge_target()
        })
        .take(CANDIDATES)
        .collect();
    let fields = html! {
        input type="hidden" name="revision" value=(annotation.revision);
        input type="hidden" name="show" value=(queue.name());
    };
    html! {
        @if queue == Queue::Mine {
            p.hint {
                "Verdicts: "
                @for (number, (_, reviewer, verdict)) in verdicts.iter().filter(|(of, ..)| *of == id).enumerate() {
                    @if number > 0 { ", " }
                    (verdict.name()) " by " @if visitor.is(reviewer) { "you" } @else { (short_name(reviewer)) }
                }
            }
        }
        form method="post" action=(action) {
            (fields)
            button name="verdict" value="accept" { "Accept" span.visually-hidden { " annotation " (id) } }
            button.plain name="verdict" value="reject" { "Reject" span.visually-hidden { " annotation " (id) } }
        }
        form method="post" action=(action) {
            (fields)
            @let input = format!("target-{id}");
            label for=(input) { "Merge into annotation" span.visually-hidden { " (from annotation " (id) ")" } }
            @if candidates.is_empty() {
                input id=(input) name="target" inputmode="numeric" size="6" required;
            } @else {
                select id=(input) name="target" {
                    @for other in candidates {
                        option value=(other.id) { (other.id) ": " (other.question) }
                    }
                }
            }
            button.plain name="verdict" value="merge" { "Merge" span.visually-hidden { " annotation " (id) } }
        }
    }
}

/// Stores the verdict of a form.
pub(super) async fn review(
    State(app): State<Arc<App>>,
    Admin(visitor): Admin,
    PathParameter(id): PathParameter<i64>,
    FormParameters(parameters): FormParameters,
) -> Result<Redirect, PageError> {
    let verdict = match (parameters.text("verdict"), parameters.number("target")) {
        ("accept", _) => Verdict::Accept,
        ("reject", _) => Verdict::Reject,
        ("merge", Some(target)) => Verdict::Merge(target),
        _ => {
            let message =
                "Verdict: expected accept, reject, or merge with the number of an annotation.";
            return Err(PageError::new(StatusCode::UNPROCESSABLE_ENTITY, message));
        }
    };
    let revision = parameters.number("revision").unwrap_or(0);
    let reviewer = visitor.annotator();
    let reviewed = app.store(move |store| store.review(id, revision, &reviewer, verdict));
    reviewed.await.map_err(|error| match error {
        ServiceError::Store(StoreError::Conflict { .. }) => PageError::new(
            StatusCode::CONFLICT,
            format!("Annotation {id} was edited or reviewed meanwhile. Nothing was stored: open the review again."),
        ),
        error => error.into(),
    })?;
    let queue = Queue::parse(parameters.text("show"));
    Ok(Redirect::to(&page_url(
        "/review",
        &[("show", queue.name())],
        1,
    )))
}

/// Numbers of the answers that wait for their vectors.
fn vectors(service: &Service) -> Markup {
    let waiting = service.waiting_for_vectors().unwrap_or(0);
    let encoding = service.encoding();
    html! {
        @if waiting > 0 {
            p role="status" {
                (count(waiting, "answer")) " without " @if waiting == 1 { "its vector" } @else { "their vectors" }
                ": searches rank by BM25 alone what waits for a vector. "
                @if let Some((done, total)) = encoding.progress { "Encoded: " (done) " of " (total) " texts." }
            }
            @if let Some(error) = &encoding.error {
                p.error role="alert" { (error) ". The next publication or start tries again." }
            } @else if encoding.is_stopped {
                p.hint { "The next publication or start encodes them." }
            }
        }
    }
}

fn publication(
    service: &Service,
    jobs: &[Job],
    has_changes: bool,
    files: [u64; 3],
    annotations: &[Annotation],
    state: Option<&PublishedState>,
) -> Markup {
    let accepted = annotations.iter().filter(|annotation| {
        annotation.status == AnnotationStatus::Accepted && !annotation.is_displaced
    });
    let (accepted, omitted): (Vec<_>, Vec<_>) =
        accepted.partition(|annotation| state.is_none_or(|state| has_answer(annotation, state)));
    html! {
        section aria-labelledby="publication" {
            h2 #publication { "Publication" }
            p {
                @if let Some(state) = state { (count(state.documents().len(), "paper")) " published. " }
                @if has_changes { "Papers were added, changed or deleted since. " }
                "The next publication includes " (count(accepted.len(), "accepted question")) "."
                @if !omitted.is_empty() {
                    " It leaves out " (count(omitted.len(), "question")) " about sections without an answer sentence."
                }
            }
            @if files.iter().any(|number| *number > 0) {
                p { "Folder of papers: " (numbers(files)) ". " a href="/files" { "List them" } }
            }
            (vectors(service))
            @if service.encoding().progress.is_some() {
                form method="post" action="/abort" { button.plain { "Stop encoding" } }
            }
            form method="post" action="/publish" { button { "Publish" } }
            @if !jobs.is_empty() {
                ul {
                    @for job in jobs {
                        li {
                            a href={ "/jobs/" (job.id) } { (time(job.enqueued_at)) " UTC" }
                            " " span.status { (job.status.name()) }
                        }
                    }
                }
            }
        }
    }
}

/// Starts a publication, and redirects to its job.
pub(super) async fn publish(State(app): State<Arc<App>>, _: Admin) -> Result<Redirect, PageError> {
    let job = app.run(|service| service.publish()).await?;
    Ok(Redirect::to(&format!("/jobs/{}", job.id)))
}

/// Aborts the publications that wait or run.
pub(super) async fn abort(State(app): State<Arc<App>>, _: Admin) -> Result<Redirect, PageError> {
    let jobs = app.run(|service| service.abort()).await?;
    let to = jobs
        .first()
        .map_or("/review".to_owned(), |id| format!("/jobs/{id}"));
    Ok(Redirect::to(&to))
}

/// Progress of a publication. The page loads itself again until the end.
pub(super) async fn job(
    State(app): State<Arc<App>>,
    _: Visitor,
    PathParameter(id): PathParameter<String>,
) -> Result<Response, PageError> {
    let job = app.run(move |service| service.job(&id)).await?;
    let job = job.ok_or_else(|| {
        PageError::not_found("There is no such job. The results of old jobs are deleted.")
    })?;
    let content = html! {
        h1 { "Publication" }
        p role="status" {
            span.status { (job.status.name()) }
            @if !job.stage.is_empty() { " " (job.stage) ": " (job.done) " of " (job.total) }
        }
        @if !job.status.is_end() {
            progress aria-label="Progress" value=[(job.total > 0).then_some(job.done)] max=(job.total.max(1)) {}
            p { "Searches have the last published state until the end. This page loads itself again." }
            form method="post" action="/abort" { button.danger { "Abort" } }
        }
        @if job.status == JobStatus::Finished { (vectors(&app.service)) }
        @if let Some(error) = &job.error { p.error role="alert" { (error) ". The published state is unchanged." } }
        p.hint {
            "Started " (time(job.enqueued_at)) " UTC"
            @if let (Some(start), Some(end)) = (job.started_at, job.ended_at) {
                ", took " (format!("{:.1}", (end - start).max(0) as f64 / 1000.0)) " s"
            }
        }
        p.actions { a href="/" { "Search" } a href="/review" { "Review" } }
    };
    let mut page = app.page("Publication");
    if !job.status.is_end() {
        page = page.refresh(1);
    }
    Ok(page.html(&content).into_response())
}

/// Verdicts as ratings: items are annotations, coders are reviewers by their ids.
fn ratings(verdicts: &[VerdictRow]) -> Ratings {
    let reviewers: BTreeSet<&str> = verdicts
        .iter()
        .map(|(_, reviewer, _)| id_of(reviewer))
        .collect();
    let mut items: BTreeMap<i64, BTreeMap<&str, &'static str>> = BTreeMap::new();
    for (annotation, reviewer, verdict) in verdicts {
        let of = items.entry(*annotation).or_default();
        of.insert(id_of(reviewer), verdict.name());
    }
    let mut ratings = Ratings::new(reviewers.iter().copied());
    for (annotation, of) in &items {
        let categories = reviewers.iter().map(|reviewer| of.get(reviewer).copied());
        ratings.push(annotation.to_string(), categories);
    }
    ratings
}

fn agreement(verdicts: &[VerdictRow]) -> Markup {
    let ratings = ratings(verdicts);
    let names: BTreeMap<&str, &str> = verdicts
        .iter()
        .map(|(_, reviewer, _)| (id_of(reviewer), short_name(reviewer)))
        .collect();
    let name = |coder: usize| {
        let id = ratings.coders().get(coder).map_or("", String::as_str);
        names.get(id).copied().unwrap_or_default()
    };
    let number =
        |value: Option<f64>| value.map_or("undefined".to_owned(), |value| format!("{value:.3}"));
    let pairs: Vec<(usize, usize)> = ratings.pairs().collect();
    html! {
        section aria-labelledby="agreement" {
            h2 #agreement { "Agreement of reviewers" }
            @if pairs.is_empty() {
                p { "Agreement needs verdicts of two reviewers. The queue “Reviewed by others” has annotations for a second verdict." }
            } @else {
                dl.numbers {
                    div { dt { "Observed agreement" } dd { (number(ratings.observed_agreement())) } }
                    div { dt { "Krippendorff’s alpha" } dd { (number(ratings.krippendorff_alpha(MeasurementLevel::Nominal))) } }
                    div { dt { "Mean Cohen’s kappa" } dd { (number(ratings.mean_cohen_kappa())) } }
                }
                div.table role="group" aria-label="Agreement of pairs" tabindex="0" {
                    table {
                        thead { tr { th scope="col" { "Reviewers" } th.number scope="col" { "Cohen’s kappa" } } }
                        tbody {
                            @for (first, second) in pairs {
                                tr {
                                    td { (name(first)) " and " (name(second)) }
                                    td.number { (number(ratings.cohen_kappa(first, second))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_ratings_of_reviewers_by_id() {
        use AnnotationStatus::{Accepted, Rejected};
        let row = |annotation, reviewer: &str, verdict| (annotation, reviewer.to_owned(), verdict);
        let verdicts = [
            row(1, "Ann (0123456789abcdef)", Accepted),
            row(1, "ffffffffffffffff", Accepted),
            row(2, "0123456789abcdef", Accepted),
            row(2, "ffffffffffffffff", Rejected),
            row(3, "0123456789abcdef", Rejected),
            row(3, "ffffffffffffffff", Rejected),
            row(4, "ffffffffffffffff", Rejected),
        ];
        let ratings = ratings(&verdicts);
        assert_eq!(ratings.coders(), ["0123456789abcdef", "ffffffffffffffff"]);
        assert_eq!(ratings.len(), 4);
        // The example of `Ratings`, of known kappa.
        assert_eq!(ratings.observed_agreement(), Some(2.0 / 3.0));
        assert!((ratings.cohen_kappa(0, 1).unwrap() - 0.4).abs() < 1e-12);
    }
}
