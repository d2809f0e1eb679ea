//! Names of the server in requests: `Host`, `Origin` and the authority of a target.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;

/// Error of a request with two hosts: two headers `Host`, or a target in absolute form with another
/// authority (RFC 9112, section 3.2). A proxy may have checked the other one.
pub(crate) fn host_conflict(request: &Request) -> Option<String> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next()?;
    if hosts.next().is_some() {
        return Some("header Host: expected one, found several".to_owned());
    }
    let target = request.uri().authority()?;
    let is_same = host
        .to_str()
        .is_ok_and(|host| host.eq_ignore_ascii_case(target.as_str()));
    (!is_same).then(|| format!("header Host: expected {target}, the target's, found {host:?}"))
}

/// Returns `true` if a host is a name of the server or an IP address. Other names may be rebound to
/// the address of the server (DNS rebinding), which would let their pages read from it.
pub(crate) fn is_known_host(host: &str, hosts: &[String]) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name.ends_with(".localhost")
        || address.parse::<IpAddr>().is_ok()
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(&name))
}

/// Returns `true` if `Origin` is the host that was asked for, and a name of this server.
pub(crate) fn has_own_origin(headers: &HeaderMap, hosts: &[String]) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(ORIGIN), text(HOST)) else {
        return false;
    };
    is_known_host(host, hosts) && is_origin_of(origin, host)
}

/// Returns `true` if an origin has the authority `host`.
pub(crate) fn is_origin_of(origin: &str, host: &str) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_unknown_hosts() {
        let hosts = ["papers.example.org".to_owned()];
        for host in [
            "localhost",
            "localhost:8080",
            "LOCALHOST.",
            "papers.localhost:1",
            "127.0.0.1:8080",
            "[::1]:8080",
            "192.168.1.7",
            "papers.example.org",
            "Papers.Example.org:443",
        ] {
            assert!(is_known_host(host, &hosts), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "example.org",
            "a b",
            "papers.example.org.evil.example",
        ] {
            assert!(!is_known_host(host, &hosts), "{host}");
        }
    }
}
