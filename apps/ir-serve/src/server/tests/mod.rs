//! Connections: their number, and clients that send slowly.

mod base_path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Serves a page of one word while `test` runs with the address.
fn serving<F: Future<Output = ()>>(
    connections: usize,
    head_time: Duration,
    test: impl FnOnce(SocketAddr) -> F,
) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route(
            "/",
            get(async || "tea").post(async |_: axum::body::Bytes| "tea"),
        );
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async {
            let _ = stopped.await;
        };
        let server = tokio::spawn(accept(listener, router, connections, head_time, stopped));
        test(address).await;
        drop(stop);
        timeout(Duration::from_secs(20), server)
            .await
            .unwrap()
            .unwrap();
    });
}

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// Returns `true` if the server answers a request of a connection, which stays open.
async fn is_answered(stream: &mut TcpStream) -> bool {
    if stream.write_all(REQUEST).await.is_err() {
        return false;
    }
    let mut response = Vec::new();
    let mut buffer = [0; 1_000];
    while !response.ends_with(b"tea") {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return false,
            Ok(count) => response.extend_from_slice(&buffer[..count]),
        }
    }
    response.starts_with(b"HTTP/1.1 200")
}

#[test]
fn connections_beyond_the_limit_are_closed() {
    serving(2, Duration::from_secs(60), async |address| {
        let (mut first, mut second) = (connect(address).await, connect(address).await);
        assert!(is_answered(&mut first).await && is_answered(&mut second).await);
        assert!(!is_answered(&mut connect(address).await).await);
        // Open ones are served on.
        assert!(is_answered(&mut first).await && is_answered(&mut second).await);
        drop(first);
        let free = async {
            while !is_answered(&mut connect(address).await).await {
                yield_now().await;
            }
        };
        timeout(Duration::from_secs(60), free).await.unwrap();
    });
}

#[test]
fn slow_heads_end_their_connections() {
    let head_time = Duration::from_millis(400);
    serving(9, head_time, async |address| {
        // The head never ends, though some of it arrives all the time.
        let mut slow = connect(address).await;
        let start = Instant::now();
        let mut is_open = slow.write_all(b"GET / HTTP/1.1\r\n").await.is_ok();
        let mut buffer = [0; 1_000];
        while is_open && start.elapsed() < Duration::from_secs(20) {
            let _ = slow.write_all(b"x: y\r\n").await;
            let read = timeout(Duration::from_millis(50), slow.read(&mut buffer)).await;
            is_open = !matches!(read, Ok(Ok(0) | Err(_)));
        }
        assert!(!is_open && start.elapsed() >= head_time);
        // So does a client that sends nothing, and one that is idle after a request.
        for is_asking in [false, true] {
            let mut idle = connect(address).await;
            assert!(!is_asking || is_answered(&mut idle).await);
            let read = timeout(Duration::from_secs(20), idle.read(&mut buffer)).await;
            assert!(matches!(read, Ok(Ok(0) | Err(_))), "{is_asking} {read:?}");
        }
        assert!(is_answered(&mut connect(address).await).await);
    });
}

/// Clients that send all of a body before they read see why it was rejected.
#[test]
fn rejected_uploads_are_answered() {
    serving(9, Duration::from_secs(60), async |address| {
        let mut stream = connect(address).await;
        let body = vec![b'x'; 32 << 20];
        let head = format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 413"), "{response}");
    });
}
