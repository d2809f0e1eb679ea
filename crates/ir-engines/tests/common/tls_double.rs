//! TLS in front of a double: decrypts connections and forwards them to its port. Certificates are
//! issued by an authority of its own.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::io::{Cursor, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

/// Certificate authority that issues the certificates of doubles.
pub struct Authority {
    /// Certificate in PEM format, for `IR_REMOTE_CA`.
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Starts TLS in front of a port of this machine, with a certificate of these host names or
    /// addresses.
    pub fn start(&self, port: u16, names: &[&str]) -> TlsDouble {
        self.start_until(port, names, 2100)
    }

    /// Does the same with a certificate that is valid until a year.
    pub fn start_until(&self, port: u16, names: &[&str], year: i32) -> TlsDouble {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        TlsDouble::start(port, certificate.der().clone(), key)
    }
}

/// Server with TLS in front of another one without.
pub struct TlsDouble {
    pub port: u16,
    stop: Arc<AtomicBool>,
    pub connections: Arc<Mutex<usize>>,
    /// Number of connections with a complete handshake.
    pub handshakes: Arc<Mutex<usize>>,
}

impl TlsDouble {
    fn start(
        upstream: u16,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let double = Self {
            port: listener.local_addr().unwrap().port(),
            stop: Arc::default(),
            connections: Arc::default(),
            handshakes: Arc::default(),
        };
        let (stop, handshakes) = (Arc::clone(&double.stop), Arc::clone(&double.handshakes));
        let connections = Arc::clone(&double.connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                *connections.lock().unwrap() += 1;
                let (config, handshakes) = (Arc::clone(&config), Arc::clone(&handshakes));
                thread::spawn(move || serve(stream, upstream, config, &handshakes));
            }
        });
        double
    }
}

impl Drop for TlsDouble {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Forwards requests of one connection; another thread forwards the responses.
fn serve(
    mut stream: TcpStream,
    upstream: u16,
    config: Arc<ServerConfig>,
    handshakes: &Mutex<usize>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let tls = Arc::new(Mutex::new(ServerConnection::new(config).ok()?));
    let mut forwarded: Option<TcpStream> = None;
    let mut is_counted = false;
    let mut encrypted = [0; 16_384];
    loop {
        let length = stream.read(&mut encrypted).unwrap_or(0);
        if length == 0 {
            if let Some(forwarded) = forwarded {
                let _ = forwarded.shutdown(Shutdown::Both);
            }
            return None;
        }
        let mut bytes = Cursor::new(&encrypted[..length]);
        let mut plain = Vec::new();
        let is_valid = {
            let mut tls = tls.lock().unwrap();
            let mut is_valid = true;
            while is_valid && (bytes.position() as usize) < length {
                tls.read_tls(&mut bytes).ok()?;
                match tls.process_new_packets() {
                    Ok(state) => {
                        let mut part = vec![0; state.plaintext_bytes_to_read()];
                        tls.reader().read_exact(&mut part).ok()?;
                        plain.extend(part);
                    }
                    Err(_) => is_valid = false,
                }
            }
            // Handshakes and alerts.
            while tls.wants_write() {
                tls.write_tls(&mut stream).ok()?;
            }
            if !tls.is_handshaking() && !is_counted {
                *handshakes.lock().unwrap() += 1;
                is_counted = true;
            }
            is_valid
        };
        if !is_valid {
            // The client reads the alert before the connection closes.
            stream.shutdown(Shutdown::Write).ok()?;
            while matches!(stream.read(&mut encrypted), Ok(1..)) {}
            return None;
        }
        if plain.is_empty() {
            continue;
        }
        if forwarded.is_none() {
            let connection = TcpStream::connect(("127.0.0.1", upstream)).ok()?;
            let (responses, client) = (connection.try_clone().ok()?, stream.try_clone().ok()?);
            let tls = Arc::clone(&tls);
            thread::spawn(move || respond(responses, client, &tls));
            forwarded = Some(connection);
        }
        forwarded.as_mut()?.write_all(&plain).ok()?;
    }
}

/// Encrypts and forwards responses.
fn respond(
    mut responses: TcpStream,
    mut client: TcpStream,
    tls: &Mutex<ServerConnection>,
) -> Option<()> {
    let mut plain = [0; 16_384];
    loop {
        let length = responses.read(&mut plain).unwrap_or(0);
        let mut tls = tls.lock().unwrap();
        match length {
            0 => tls.send_close_notify(),
            _ => tls.writer().write_all(&plain[..length]).ok()?,
        }
        while tls.wants_write() {
            tls.write_tls(&mut client).ok()?;
        }
        if length == 0 {
            client.shutdown(Shutdown::Both).ok()?;
            return None;
        }
    }
}
