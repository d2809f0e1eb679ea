//! Parameters of URLs and forms. Invalid UTF-8 is replaced, except in paths. The number of
//! parameters is limited, because short ones take many times their bytes in memory.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::{PageError, not_found};

/// Maximum number of parameters of a URL or form.
const MAX_PARAMETERS: usize = 1_000;

/// Names and values in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parameters(Vec<(String, String)>);

/// Parameters of the URL.
#[derive(Debug)]
pub(super) struct UrlParameters(pub(super) Parameters);

/// Parameters of the URL-encoded form in the body.
#[derive(Debug)]
pub(super) struct FormParameters(pub(super) Parameters);

/// Parameter of the path. A page with an invalid one does not exist.
#[derive(Debug)]
pub(super) struct PathParameter<T>(pub(super) T);

impl Parameters {
    fn parse(encoded: &[u8]) -> Result<Self, PageError> {
        let mut pairs = form_urlencoded::parse(encoded).into_owned();
        let parameters = pairs.by_ref().take(MAX_PARAMETERS).collect();
        match pairs.next() {
            None => Ok(Self(parameters)),
            Some(_) => Err(PageError::new(
                StatusCode::BAD_REQUEST,
                format!("Parameters: expected at most {MAX_PARAMETERS}, found more."),
            )),
        }
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

/// Last page of results.
const MAX_PAGE: usize = 1_000_000;

impl<S: Sync> FromRequestParts<S> for UrlParameters {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, PageError> {
        let query = parts.uri.query().unwrap_or_default();
        Parameters::parse(query.as_bytes()).map(Self)
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParameter<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(value)) => Ok(Self(value)),
            Err(_) => Err(not_found().await),
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for FormParameters {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &S) -> Result<Self, PageError> {
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|error| {
            let message = match error.status() {
                StatusCode::PAYLOAD_TOO_LARGE => {
                    "The form is larger than the limit on forms. Nothing was stored.".to_owned()
                }
                _ => format!("The form could not be read: {error}."),
            };
            PageError::new(error.status(), message)
        })?;
        Parameters::parse(&body).map(Self)
    }
}

impl FromIterator<(&'static str, String)> for Parameters {
    fn from_iter<I: IntoIterator<Item = (&'static str, String)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
        Self(pairs.collect())
    }
}
