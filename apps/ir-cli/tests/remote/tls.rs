//! `ir load` and `ir search --engine` over TLS, with the certificates that `IR_REMOTE_CA` names.

use std::time::{Duration, Instant};

use super::{Folder, collection, elastic_double, hits, milvus_double, search_of};
use crate::tls_double::Authority;

fn certificate(here: &Folder, name: &str, pem: &str) -> String {
    here.write(name, pem).display().to_string()
}

#[test]
fn engines_over_tls() {
    let here = collection();
    let authority = Authority::new("The authority of a test");
    let ca = certificate(&here, "ca.pem", &authority.pem);
    let (milvus, _) = milvus_double::start();
    let (elastic, _) = elastic_double::start();
    let credentials = [("IR_REMOTE_CA", &*ca), ("IR_REMOTE_TOKEN", "of-the-test")];
    for (scheme, server) in [
        ("milvus", &milvus),
        ("milvus+v2", &milvus),
        ("elasticsearch", &elastic),
    ] {
        let tls = authority.start(server.port, &["localhost"]);
        let name = scheme.replace('+', "_");
        let address = format!("{scheme}+tls://localhost:{}/{name}", tls.port);
        let load = ["load", &address, "c", "--vectors", "d.ir"];
        let loaded = here.ir_env(&load, &credentials).ok();
        assert!(loaded.err.contains("40 documents"), "{}", loaded.err);
        let search = [&search_of(&address, "q.ir")[..], &["-k", "10"]].concat();
        let run = here.ir_env(&search, &credentials).ok();
        assert_eq!(hits(&run.out, "q0").len(), 10, "{scheme}");
        assert!(*tls.handshakes.lock().unwrap() >= 2, "{scheme}");
    }
    let sent = elastic.requests.lock().unwrap();
    assert!(!sent.is_empty());
    let own = Some("Bearer of-the-test");
    assert!(
        sent.iter()
            .all(|request| request.authorization.as_deref() == own)
    );
}

#[test]
fn servers_that_are_not_trusted() {
    let here = collection();
    let authority = Authority::new("The authority of a test");
    let other = Authority::new("Another authority");
    let ca = certificate(&here, "ca.pem", &authority.pem);
    let text = certificate(&here, "text.pem", "no certificate");
    let (server, _) = elastic_double::start();
    let trusted = authority.start(server.port, &["localhost"]);
    let untrusted = other.start(server.port, &["localhost"]);
    let expired = authority.start_until(server.port, &["localhost"], 2001);
    let start = Instant::now();
    let fails = |scheme: &str, port: u16, ca: &str, parts: &[&str]| {
        let address = format!("{scheme}://localhost:{port}/papers");
        let search = ["search", "c", "--engine", &address];
        let ran = here.ir_env(&search, &[("IR_REMOTE_CA", ca)]);
        ran.fails(1, parts);
    };
    let tls = "elasticsearch+tls";
    let expected = "expected TLS with a certificate that is trusted (by IR_REMOTE_CA";
    fails(tls, trusted.port, "", &[expected, "UnknownIssuer"]);
    fails(tls, untrusted.port, &ca, &[expected, "UnknownIssuer"]);
    fails(tls, expired.port, &ca, &[expected, "certificate expired"]);
    let plain = format!("localhost:{}", server.port);
    fails(tls, server.port, &ca, &[&plain, "the scheme has no `+tls`"]);
    let variable = "environment variable IR_REMOTE_CA: ";
    let found = "expected certificates in PEM format, found no certificate";
    fails(tls, trusted.port, &text, &[variable, found]);
    let missing = here.at("missing.pem").display().to_string();
    fails(
        tls,
        trusted.port,
        &missing,
        &[variable, &missing, "cannot be read"],
    );
    // Without the waits between attempts.
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{:?}",
        start.elapsed()
    );
    assert!(server.requests.lock().unwrap().is_empty());
}
