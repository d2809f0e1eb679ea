//! Parameters of URLs and forms. Parsing never fails: invalid UTF-8 is replaced.

use std::convert::Infallible;
use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;

/// Names and values in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parameters(Vec<(String, String)>);

/// Parameters of the URL.
#[derive(Debug)]
pub(super) struct UrlParameters(pub(super) Parameters);

/// Parameters of the URL-encoded form in the body.
#[derive(Debug)]
pub(super) struct FormParameters(pub(super) Parameters);

impl Parameters {
    fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// The first value of a name without white space around it; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// The first value of a name; empty if there is none.
    pub(super) fn raw(&self, name: &str) -> &str {
        let mut pairs = self.0.iter();
        pairs
            .find(|(other, _)| other == name)
            .map_or("", |(_, value)| value)
    }

    /// All values of a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.0.iter().filter(move |(other, _)| other == name);
        pairs.map(|(_, value)| value.as_str())
    }

    /// The first value of a name as a number; `None` if there is none or it is not a number.
    pub(super) fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).parse().ok()
    }

    /// Number of the page of results from 1.
    pub(super) fn page(&self) -> usize {
        self.number("page").unwrap_or(1).clamp(1, MAX_PAGE)
    }
}

/// Largest number of a page of results.
const MAX_PAGE: usize = 1_000_000;

impl<S: Sync> FromRequestParts<S> for UrlParameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(Parameters::parse(query.as_bytes())))
    }
}

impl<S: Send + Sync> FromRequest<S> for FormParameters {
    type Rejection = BytesRejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, BytesRejection> {
        let body = Bytes::from_request(request, state).await?;
        Ok(Self(Parameters::parse(&body)))
    }
}

impl FromIterator<(&'static str, String)> for Parameters {
    fn from_iter<I: IntoIterator<Item = (&'static str, String)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        Self(
            pairs
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}
