//! Visitors: sessions with keys, and identities of annotators.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::error::PageError;
use crate::app::App;
use crate::store::{KeyRole, StoreError, random_hex, sha256};
use crate::urls::url;

/// Cookie with the token of a session.
pub(super) const SESSION_COOKIE: &str = "ir_session";

/// Cookie with the token of a visitor.
pub(super) const VISITOR_COOKIE: &str = "ir_visitor";

/// Cookie with the name of a visitor.
const NAME_COOKIE: &str = "ir_name";

/// Time after which a visitor signs in again.
const SESSION_TIME: Duration = Duration::from_secs(12 * 60 * 60);

/// Maximum number of sessions; the oldest one is closed for a further one.
const MAX_SESSIONS: usize = 10_000;

/// Maximum number of characters of a name.
const MAX_NAME: usize = 100;

/// Sessions in memory, by the hashes of their tokens. They end with the process.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

/// Session of a visitor.
#[derive(Debug, Clone, Copy)]
struct Session {
    role: KeyRole,
    /// Hash of the key with which the visitor signed in.
    key: [u8; 32],
    end: Instant,
}

/// Who sends a request.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    /// First 16 digits of the SHA-256 of the token in the visitor's cookie.
    pub(super) id: String,
    /// Name that the visitor entered; may be empty.
    pub(super) name: String,
    /// What the visitor may do.
    pub(super) role: KeyRole,
}

/// Visitor with [`KeyRole::Admin`].
#[derive(Debug, Clone)]
pub(super) struct Admin(pub(super) Visitor);

/// Token of a visitor, from the cookie or new.
#[derive(Debug, Clone)]
pub(super) struct VisitorToken(pub(super) String);

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session with a key of a role, and returns its token.
    pub(super) fn open(&self, role: KeyRole, key: &str) -> Result<String, StoreError> {
        let token = random_hex(32)?;
        let now = Instant::now();
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.end > now);
        if sessions.len() >= MAX_SESSIONS
            && let Some((oldest, _)) = sessions.iter().min_by_key(|(_, session)| session.end)
        {
            let oldest = *oldest;
            sessions.remove(&oldest);
        }
        let session = Session {
            role,
            key: sha256(key.as_bytes()),
            end: now + SESSION_TIME,
        };
        sessions.insert(sha256(token.as_bytes()), session);
        Ok(token)
    }

    /// Closes the session of a token.
    pub(super) fn close(&self, token: &str) {
        self.lock().remove(&sha256(token.as_bytes()));
    }

    fn session(&self, token: &str) -> Option<Session> {
        let sessions = self.lock();
        let session = sessions.get(&sha256(token.as_bytes()))?;
        (session.end > Instant::now()).then_some(*session)
    }
}

impl Visitor {
    /// Name under which annotations and verdicts are stored. It ends with the id, which nobody
    /// without the cookie can have.
    pub(super) fn annotator(&self) -> String {
        match self.name.as_str() {
            "" => self.id.clone(),
            name => format!("{name} ({})", self.id),
        }
    }

    /// Returns `true` if this annotator is the visitor.
    pub(super) fn is(&self, annotator: &str) -> bool {
        id_of(annotator) == self.id
    }

    /// Returns `true` if the visitor may edit and delete an annotation of this annotator.
    pub(super) fn may_edit(&self, annotator: &str) -> bool {
        self.role == KeyRole::Admin || self.is(annotator)
    }

    /// Sets the name from a form, and returns the cookie that keeps it.
    pub(super) fn rename(&mut self, name: &str) -> Option<String> {
        let name: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let name: String = name.chars().take(MAX_NAME).collect();
        if name == self.name {
            return None;
        }
        let value = utf8_percent_encode(&name, NON_ALPHANUMERIC).to_string();
        self.name = name;
        Some(cookie(NAME_COOKIE, &value, "Lax", YEAR))
    }
}

/// Seconds of a year.
const YEAR: u64 = 365 * 24 * 60 * 60;

/// The id at the end of the name of an annotator.
pub(super) fn id_of(annotator: &str) -> &str {
    let last = annotator.rsplit('(').next().unwrap_or_default();
    last.strip_suffix(')').unwrap_or(annotator)
}

/// The name of an annotator without the id, or the first digits of the id.
pub(super) fn short_name(annotator: &str) -> &str {
    match annotator.rsplit_once(" (") {
        Some((name, _)) => name,
        None => annotator.get(..6).unwrap_or(annotator),
    }
}

/// Cookie that scripts cannot read.
pub(super) fn cookie(name: &str, value: &str, same_site: &str, seconds: u64) -> String {
    format!("{name}={value}; Path=/; HttpOnly; SameSite={same_site}; Max-Age={seconds}")
}

/// Cookie of a new session.
pub(super) fn session_cookie(token: &str) -> String {
    cookie(SESSION_COOKIE, token, "Strict", SESSION_TIME.as_secs())
}

/// Cookie of a new visitor. It is sent with the first request that follows a link of another site,
/// so that the visitor stays the same.
pub(super) fn visitor_cookie(token: &str) -> String {
    cookie(VISITOR_COOKIE, token, "Lax", YEAR)
}

/// Value of a cookie.
pub(super) fn cookie_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).into_iter();
    let pairs = lines.filter_map(|line| line.to_str().ok());
    let mut pairs = pairs
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(other, _)| *other == name)
        .map(|(_, value)| value)
}

impl FromRequestParts<Arc<App>> for Visitor {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, PageError> {
        let mut role = KeyRole::Admin;
        if app.access.needs_session {
            let sessions = parts.extensions.get::<Arc<Sessions>>();
            let token = cookie_value(&parts.headers, SESSION_COOKIE);
            let known = sessions.and_then(|sessions| sessions.session(token?));
            let session = known.ok_or_else(|| {
                if parts.method != Method::GET {
                    let message = "The session has ended. Sign in, then send the form again.";
                    return PageError::new(StatusCode::UNAUTHORIZED, message);
                }
                let next = parts.uri.path_and_query().map_or("/", |next| next.as_str());
                PageError::redirect(url("/sign-in", &[("next", next)]))
            })?;
            let rate = app.check_rate(&session.key);
            rate.map_err(|error| PageError::busy(&parts.method, &error.message))?;
            role = session.role;
        }
        let token = parts.extensions.get::<VisitorToken>();
        let token = token.map_or("", |token| token.0.as_str());
        let name = cookie_value(&parts.headers, NAME_COOKIE).unwrap_or_default();
        let name = percent_decode_str(name).decode_utf8_lossy();
        let hash = sha256(token.as_bytes());
        let digits = hash[..8].iter().map(|byte| format!("{byte:02x}"));
        Ok(Self {
            id: digits.collect(),
            name: name.chars().take(MAX_NAME).collect(),
            role,
        })
    }
}

impl FromRequestParts<Arc<App>> for Admin {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, PageError> {
        let visitor = Visitor::from_request_parts(parts, app).await?;
        if visitor.role != KeyRole::Admin {
            let message = "This page needs an admin key. Sign out, then sign in with one.";
            return Err(PageError::new(StatusCode::FORBIDDEN, message));
        }
        Ok(Self(visitor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotators_are_told_apart_by_their_ids() {
        let visitor = |id: &str, name: &str| Visitor {
            id: id.to_owned(),
            name: name.to_owned(),
            role: KeyRole::Query,
        };
        let ann = visitor("0123456789abcdef", "Ann (Lab)");
        assert_eq!(ann.annotator(), "Ann (Lab) (0123456789abcdef)");
        assert!(ann.is(&ann.annotator()) && ann.may_edit(&ann.annotator()));
        assert_eq!(short_name(&ann.annotator()), "Ann (Lab)");
        // Nobody becomes another annotator by name.
        let eve = visitor("ffffffffffffffff", "Ann (0123456789abcdef)");
        assert!(!ann.is(&eve.annotator()) && !eve.is(&ann.annotator()));
        let nameless = visitor("0123456789abcdef", "");
        assert!(nameless.is(&nameless.annotator()) && ann.is(&nameless.annotator()));
        assert_eq!(short_name(&nameless.annotator()), "012345");
    }

    #[test]
    fn sessions_have_the_role_of_their_key_until_they_are_closed() {
        let sessions = Sessions::default();
        let role = |token: &str| sessions.session(token).map(|session| session.role);
        let token = sessions.open(KeyRole::Query, "key").unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(role(&token), Some(KeyRole::Query));
        assert_eq!(role(""), None);
        sessions
            .lock()
            .values_mut()
            .for_each(|session| session.end = Instant::now());
        assert_eq!(role(&token), None, "expired");
        let token = sessions.open(KeyRole::Admin, "key").unwrap();
        assert_eq!(sessions.lock().len(), 1, "expired sessions are forgotten");
        sessions.close(&token);
        assert_eq!(role(&token), None);
    }
}
