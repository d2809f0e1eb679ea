//! HTTP/2 server in the process that responds to every call of gRPC that there is no collection,
//! and closes connections in the middle of responses.
#![allow(unreachable_pub)]

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Fault of one response.
#[derive(Debug, Clone, Copy)]
pub enum GrpcFault {
    Interruption(Part),
    /// Status of gRPC instead of a message.
    Status(u8),
    /// Bytes instead of the message.
    Message(&'static [u8]),
    /// The response comes before the response of the next call.
    Late,
}

/// What a response has when the connection closes.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    Nothing,
    HalfOfTheHeaders,
    Headers,
    HalfOfTheMessage,
    /// Not the trailers, which have the status.
    Message,
}

pub struct GrpcDouble {
    pub port: u16,
    faults: Arc<Mutex<VecDeque<GrpcFault>>>,
    calls: Arc<Mutex<usize>>,
}

// Types and flags of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `DescribeCollectionResponse` with the error code 4, "collection not found" and the code 100.
const MESSAGE: &[u8] = b"\x0a\x1a\x08\x04\x12\x14collection not found\x18\x64";

impl GrpcDouble {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let double = Self {
            port,
            faults: Arc::default(),
            calls: Arc::default(),
        };
        let (faults, calls) = (Arc::clone(&double.faults), Arc::clone(&double.calls));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (faults, calls) = (Arc::clone(&faults), Arc::clone(&calls));
                thread::spawn(move || serve(stream.ok()?, &faults, &calls));
            }
        });
        double
    }

    pub fn fail(&self, fault: GrpcFault, count: usize) {
        self.faults.lock().unwrap().extend(vec![fault; count]);
    }

    pub fn open_faults(&self) -> usize {
        self.faults.lock().unwrap().len()
    }

    pub fn calls(&self) -> usize {
        *self.calls.lock().unwrap()
    }
}

fn serve(
    mut stream: TcpStream,
    faults: &Mutex<VecDeque<GrpcFault>>,
    calls: &Mutex<usize>,
) -> Option<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).ok()?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).ok()?;
    let mut late = Vec::new();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize];
        stream.read_exact(&mut payload).ok()?;
        let id = u32::from_be_bytes([s0, s1, s2, s3]);
        match kind {
            SETTINGS | PING if flags & ACK == 0 => {
                let payload = if kind == PING { &payload[..] } else { &[] };
                stream.write_all(&frame(kind, ACK, 0, payload)).ok()?;
            }
            DATA | HEADERS if flags & END_STREAM != 0 => {
                *calls.lock().unwrap() += 1;
                let fault = faults.lock().unwrap().pop_front();
                late.extend(response(id, fault));
                if matches!(fault, Some(GrpcFault::Late)) {
                    continue;
                }
                stream.write_all(&late).ok()?;
                late.clear();
                if matches!(fault, Some(GrpcFault::Interruption(_))) {
                    stream.shutdown(Shutdown::Both).ok()?;
                    return None;
                }
            }
            _ => {}
        }
    }
}

fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let [_, l0, l1, l2] = (payload.len() as u32).to_be_bytes();
    let [s0, s1, s2, s3] = id.to_be_bytes();
    let mut frame = vec![l0, l1, l2, kind, flags, s0, s1, s2, s3];
    frame.extend_from_slice(payload);
    frame
}

/// Header field without indexing and compression.
fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0, name.len() as u8];
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(value.len() as u8);
    bytes.extend_from_slice(value.as_bytes());
    bytes
}

/// Response, or a part of it.
fn response(id: u32, fault: Option<GrpcFault>) -> Vec<u8> {
    // Indexed field 8: the status 200.
    let fields = [vec![0x88], field("content-type", "application/grpc")].concat();
    let headers = frame(HEADERS, END_HEADERS, id, &fields);
    let content = match fault {
        Some(GrpcFault::Message(bytes)) => bytes,
        _ => MESSAGE,
    };
    let mut message = vec![0, 0, 0, 0, content.len() as u8];
    message.extend_from_slice(content);
    let message = match fault {
        Some(GrpcFault::Status(_)) => Vec::new(),
        _ => frame(DATA, 0, id, &message),
    };
    let status = match fault {
        Some(GrpcFault::Status(status)) => status.to_string(),
        _ => "0".to_owned(),
    };
    let mut trailers = field("grpc-status", &status);
    trailers.extend(field("grpc-message", "of-the-test"));
    let trailers = frame(HEADERS, END_HEADERS | END_STREAM, id, &trailers);
    let end = match fault {
        Some(GrpcFault::Interruption(part)) => match part {
            Part::Nothing => 0,
            Part::HalfOfTheHeaders => headers.len() / 2,
            Part::Headers => headers.len(),
            Part::HalfOfTheMessage => headers.len() + message.len() / 2,
            Part::Message => headers.len() + message.len(),
        },
        _ => headers.len() + message.len() + trailers.len(),
    };
    let mut all = [headers, message, trailers].concat();
    all.truncate(end);
    all
}
