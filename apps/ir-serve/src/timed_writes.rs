//! Connections that end when their client does not read, and close without losing a response.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Stream that fails a write when the peer reads nothing for some time.
#[derive(Debug)]
pub(crate) struct TimedWrites<S> {
    stream: S,
    time: Duration,
    /// End of the wait for the peer.
    timer: Pin<Box<Sleep>>,
    is_waiting: bool,
    /// End of the reading after the last response, once it has begun.
    linger: Option<Pin<Box<Sleep>>>,
}

/// Maximum time for what a client still sends after the last response.
const LINGER_TIME: Duration = Duration::from_secs(10);

impl<S> TimedWrites<S> {
    pub(crate) fn new(stream: S, time: Duration) -> Self {
        Self {
            stream,
            time,
            timer: Box::pin(sleep(time)),
            is_waiting: false,
            linger: None,
        }
    }

    /// Result of an attempt to write; pending only until the timer ends.
    fn timed<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_waiting = false;
            return written;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.timer.as_mut().reset(Instant::now() + self.time);
        }
        ready!(self.timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedWrites<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimedWrites<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.timed(flushed, context)
    }

    /// Ends the writes, then discards what the peer still sends, such as the rest of a body that is
    /// too large. Closing a socket with unread bytes resets it, and the peer may lose the response.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            let closed = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.timed(closed, context))?;
        }
        let this = &mut *self;
        let linger = this
            .linger
            .get_or_insert_with(|| Box::pin(sleep(LINGER_TIME)));
        let mut bytes = [0; 1 << 14];
        while linger.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut this.stream).poll_read(context, &mut buffer);
            match ready!(read) {
                Ok(()) if !buffer.filled().is_empty() => {}
                // The peer has closed the connection.
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_peer_that_reads_nothing_ends_the_connection() {
        let mut runtime = Builder::new_current_thread();
        // The clock jumps to the next timer when nothing else is to do.
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (mut peer, stream) = duplex(64);
            let mut stream = TimedWrites::new(stream, Duration::from_millis(100));
            let error = stream.write_all(&[1; 1_000]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);

            // A peer that reads slowly gets everything, though it takes longer in all.
            let (mut slow, stream) = duplex(64);
            let mut stream = TimedWrites::new(stream, Duration::from_secs(3));
            let writing = tokio::spawn(async move { stream.write_all(&[2; 640]).await });
            let mut buffer = [0; 64];
            for _ in 0..10 {
                sleep(Duration::from_millis(350)).await;
                slow.read_exact(&mut buffer).await.unwrap();
                assert_eq!(buffer, [2; 64]);
            }
            writing.await.unwrap().unwrap();
            let _ = peer.read(&mut buffer).await;
        });
    }
}
