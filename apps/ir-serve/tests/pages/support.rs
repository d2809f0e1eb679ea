//! A site in a temporary folder, and a client that keeps cookies.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::{Chunk, ChunkKind};
use ir_serve::store::QueryRecord;
use ir_serve::{AccessConfig, Question, Service, ServiceConfig, pages, record_of};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// Markup that must never reach a page as it is.
pub(crate) const HOSTILE: &str =
    "<script>alert('x')</script> \"&amp; <img src=x onerror=alert(1)> 茶";

/// Waits for a condition, for a minute at most.
#[track_caller]
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "the condition does not become true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that a page has a part.
#[track_caller]
pub(crate) fn assert_contains(page: &str, part: &str) {
    assert!(page.contains(part), "expected {part}, found {page}");
}

pub(crate) struct Site {
    pub(crate) service: Arc<Service>,
    router: Router,
    runtime: Runtime,
    folder: Option<TempDir>,
}

/// Client of a site that keeps cookies.
pub(crate) struct Client<'a> {
    site: &'a Site,
    cookies: RefCell<Vec<(String, String)>>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Site {
    /// The bundled papers, published.
    pub(crate) fn bundled() -> Self {
        let records = ir_qa::bundled_papers()
            .unwrap()
            .iter()
            .map(record_of)
            .collect();
        Self::new(records, false)
    }

    /// Publishes records; without records, the site is empty.
    pub(crate) fn new(records: Vec<SocoDocument>, needs_session: bool) -> Self {
        let access = AccessConfig {
            needs_session,
            ..AccessConfig::default()
        };
        Self::with_access(records, access)
    }

    /// Publishes records on pages with this access.
    pub(crate) fn with_access(records: Vec<SocoDocument>, access: AccessConfig) -> Self {
        Self::with_config(records, access, |config| config)
    }

    /// Publishes records with a configuration that is derived from the default one.
    pub(crate) fn with_config(
        records: Vec<SocoDocument>,
        access: AccessConfig,
        configure: impl FnOnce(ServiceConfig) -> ServiceConfig,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut site = Self::open(&folder.path().join("data"), access, configure);
        site.folder = Some(folder);
        site.add(records);
        site
    }

    /// Publishes records in a folder that is kept.
    pub(crate) fn in_folder(
        data: &Path,
        records: Vec<SocoDocument>,
        configure: impl FnOnce(ServiceConfig) -> ServiceConfig,
    ) -> Self {
        let site = Self::open(data, AccessConfig::default(), configure);
        site.add(records);
        site
    }

    /// Opens a data folder, and waits for nothing.
    pub(crate) fn open(
        data: &Path,
        access: AccessConfig,
        configure: impl FnOnce(ServiceConfig) -> ServiceConfig,
    ) -> Self {
        let config = configure(ServiceConfig::new(data));
        let service = Arc::new(Service::open(config).unwrap());
        Self {
            router: pages(
                Arc::clone(&service),
                AccessConfig {
                    hosts: vec!["papers.test".to_owned()],
                    ..access
                },
            ),
            service,
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            folder: None,
        }
    }

    /// Publishes records; without records, waits until the site is loaded.
    fn add(&self, records: Vec<SocoDocument>) {
        if !records.is_empty() {
            self.service.add(records).unwrap();
            self.publish();
        } else {
            wait_until(|| self.service.published().is_ok());
        }
    }

    pub(crate) fn publish(&self) {
        let id = self.service.publish().unwrap().id;
        let job = || self.service.job(&id).unwrap().unwrap();
        wait_until(|| job().status.is_end());
        assert_eq!(job().error, None);
        wait_until(|| self.service.waiting_for_vectors().unwrap() == 0);
    }

    /// The query log, once everything that was logged before is written. Asks a further question,
    /// which is left out.
    pub(crate) fn log(&self) -> Vec<QueryRecord> {
        const LAST: &str = "the end of the log";
        let last = self.service.ask(&Question::new(LAST, 1)).unwrap().query;
        let log = || self.service.store().queries(0, 1_000).unwrap();
        wait_until(|| log().last().is_some_and(|query| query.id == last));
        let log = log().into_iter();
        log.filter(|query| query.query != LAST).collect()
    }

    /// Waits until the query log has numbers of queries and of opened answers.
    pub(crate) fn wait_for_log(&self, queries: usize, clicks: usize) {
        wait_until(|| {
            let log = self.service.store().queries(0, 1_000).unwrap();
            let found = log.iter().map(|query| query.clicks.len()).sum();
            (log.len(), found) == (queries, clicks)
        });
    }

    pub(crate) fn client(&self) -> Client<'_> {
        Client {
            site: self,
            cookies: RefCell::default(),
        }
    }

    pub(crate) fn send(&self, request: Request<Body>) -> Answer {
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = to_bytes(body, 1 << 26).await.unwrap();
            Answer {
                status: parts.status,
                headers: parts.headers,
                body: String::from_utf8(body.to_vec()).unwrap(),
            }
        })
    }
}

impl Client<'_> {
    pub(crate) fn get(&self, url: &str) -> Answer {
        self.send(Request::get(url), Body::empty())
    }

    /// Gets a URL with the header `Sec-Fetch-Site`.
    pub(crate) fn get_from(&self, url: &str, site: Option<&str>) -> Answer {
        let request = Request::get(url);
        let request = match site {
            Some(site) => request.header("sec-fetch-site", site),
            None => request,
        };
        self.send(request, Body::empty())
    }

    pub(crate) fn post(&self, url: &str, form: &[(&str, &str)]) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let request = Request::post(url)
            .header(header::ORIGIN, "http://localhost:8080")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request, Body::from(body))
    }

    /// Sends a body as a script of the pages does.
    pub(crate) fn upload(&self, url: &str, body: &str) -> Answer {
        let request = Request::post(url).header(header::ORIGIN, "http://localhost:8080");
        self.send(request, Body::from(body.to_owned()))
    }

    fn send(&self, request: axum::http::request::Builder, body: Body) -> Answer {
        let pair = |(name, value): &(String, String)| format!("{name}={value}");
        let cookies: Vec<String> = self.cookies.borrow().iter().map(pair).collect();
        let request = request
            .header(header::HOST, "localhost:8080")
            .header(header::COOKIE, cookies.join("; "));
        let answer = self.site.send(request.body(body).unwrap());
        for cookie in answer.headers.get_all(header::SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("; HttpOnly; SameSite="), "{cookie}");
            let (pair, _) = cookie.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            let mut cookies = self.cookies.borrow_mut();
            cookies.retain(|(other, _)| other != name);
            cookies.push((name.to_owned(), value.to_owned()));
        }
        answer
    }
}

impl Answer {
    /// Checks the status and that the page is complete and has no inline script or style.
    #[track_caller]
    pub(crate) fn page(&self, status: StatusCode) -> &str {
        assert_eq!(self.status, status, "{}", self.body);
        let kind = self.headers[header::CONTENT_TYPE].to_str().unwrap();
        assert!(kind.starts_with("text/html"), "{kind}");
        assert!(self.body.starts_with("<!DOCTYPE html>") && self.body.ends_with("</html>"));
        assert!(
            self.body.contains("<title>") && self.body.contains("<h1"),
            "{}",
            self.body
        );
        for inline in [" style=", " onclick=", "<style", "javascript:", "<script>"] {
            assert!(!self.body.contains(inline), "{inline}: {}", self.body);
        }
        &self.body
    }

    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        self.page(StatusCode::OK)
    }

    /// Checks that the page of the status 200 has a part.
    #[track_caller]
    pub(crate) fn has(&self, part: &str) {
        self.has_part(StatusCode::OK, part);
    }

    /// Checks that the page of a status has a part.
    #[track_caller]
    pub(crate) fn has_part(&self, status: StatusCode, part: &str) {
        assert_contains(self.page(status), part);
    }

    /// The target of a redirect.
    #[track_caller]
    pub(crate) fn location(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        self.headers[header::LOCATION].to_str().unwrap()
    }
}

/// Document with a section and two sentences; the texts have `marker` in them.
pub(crate) fn document(id: &str, marker: &str, year: i64) -> SocoDocument {
    let chunks = vec![
        Chunk::new(ChunkKind::Title, format!("Tea {marker}")),
        Chunk::new(ChunkKind::Section, format!("Leaves {marker}")),
        Chunk::new(
            ChunkKind::Content,
            format!(
                "Green tea is steeped for two minutes {marker}. Black tea needs boiling water."
            ),
        )
        .with_page(Some(3)),
    ];
    let mut meta = ir_core::Attributes::new();
    meta.set("doc_id", id);
    meta.set("year", year);
    SocoDocument {
        content: SocoContent::Document(chunks),
        meta,
    }
}

/// The value of an attribute `href` that starts with a text, unescaped.
pub(crate) fn link(page: &str, start: &str) -> String {
    let from = format!("href=\"{start}");
    let at = page
        .find(&from)
        .unwrap_or_else(|| panic!("{start} is not in {page}"));
    let rest = &page[at + "href=\"".len()..];
    let end = rest.find('"').unwrap();
    rest[..end].replace("&amp;", "&")
}
