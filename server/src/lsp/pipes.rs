//! Standard input and output, each on a thread of its own: reading never keeps the process from ending, and a client
//! that does not read keeps nobody waiting.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::pin::Pin;
use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};
use std::task::{Context, Poll};
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc as channel;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Request, Response};

/// The reading end: chunks, until the client closes its side.
pub(crate) struct Input {
    chunks: channel::Receiver<Vec<u8>>,
    current: Vec<u8>,
    taken: usize,
}

/// The writing end. Everything is taken at once.
pub(crate) struct Output {
    chunks: mpsc::Sender<Vec<u8>>,
}

/// Says when everything was written.
pub(crate) struct Written(mpsc::Receiver<()>);

/// The largest message that is taken in.
const MAX_MESSAGE: u64 = 256 << 20;

/// Starts reading standard input. The receiver hears when it has ended. What is no message is answered here: the
/// transport behind this would take it for the end.
pub(crate) fn input(output: &Output) -> io::Result<(Input, oneshot::Receiver<()>)> {
    let (sender, chunks) = channel::channel(64);
    let (ended, end) = oneshot::channel();
    let answers = output.chunks.clone();
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let mut stdin = BufReader::with_capacity(1 << 16, io::stdin().lock());
        // An input that cannot be read any more has ended.
        while let Ok(Some(body)) = read_message(&mut stdin) {
            match refusal(&body) {
                None => {
                    if sender.blocking_send(frame(&body)).is_err() {
                        break;
                    }
                }
                Some(answer) => {
                    // Where nobody writes it, the process is ending.
                    let _ = answers.send(frame(answer.to_string().as_bytes()));
                }
            }
        }
        drop(answers);
        // Where nobody listens, the process is ending.
        let _ = ended.send(());
    })?;
    Ok((Input { chunks, current: Vec::new(), taken: 0 }, end))
}

fn frame(body: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body);
    frame
}

/// The body of the next message; nothing at the end. Lines that are no header are passed over.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(1 << 16).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        match (text.split_once(':'), length) {
            (Some((name, value)), _) if name.trim().eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse::<u64>().ok().filter(|&length| length <= MAX_MESSAGE);
            }
            (None, Some(length)) if text.is_empty() => {
                let mut body = Vec::new();
                let read = input.take(length).read_to_end(&mut body)?;
                return Ok((read as u64 == length).then_some(body));
            }
            _ => {}
        }
    }
}

/// What to answer to a body that is neither a request nor an answer to one.
fn refusal(body: &[u8]) -> Option<Value> {
    if serde_json::from_slice::<Request>(body).is_ok() || serde_json::from_slice::<Response>(body).is_ok() {
        return None;
    }
    let error = match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => Error::invalid_request(),
        Err(_) => Error::parse_error(),
    };
    Some(json!({"jsonrpc": "2.0", "id": null, "error": error}))
}

/// Starts writing standard output. The receiver hears when the client no longer takes anything.
pub(crate) fn output() -> io::Result<(Output, Written, oneshot::Receiver<()>)> {
    let (chunks, receiver) = mpsc::channel::<Vec<u8>>();
    let (done, written) = mpsc::channel();
    let (broken, breaks) = oneshot::channel();
    std::thread::Builder::new().name("output".to_owned()).spawn(move || {
        let mut stdout = io::stdout().lock();
        while let Ok(chunk) = receiver.recv() {
            let mut result = stdout.write_all(&chunk);
            while result.is_ok() {
                match receiver.try_recv() {
                    Ok(chunk) => result = stdout.write_all(&chunk),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            if result.and_then(|()| stdout.flush()).is_err() {
                let _ = broken.send(());
                break;
            }
        }
        let _ = done.send(());
    })?;
    Ok((Output { chunks }, Written(written), breaks))
}

impl Written {
    /// Waits until everything is written, but no longer than `patience`.
    pub(crate) fn wait(self, patience: Duration) {
        match self.0.recv_timeout(patience) {
            Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.taken == self.current.len() {
            match self.chunks.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Ready(Some(chunk)) => {
                    self.current = chunk;
                    self.taken = 0;
                }
            }
        }
        let rest = self.current.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(rest.get(..count).unwrap_or_default());
        self.taken += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // Where the thread is gone, the client is, too, and the process is ending.
        let _ = self.chunks.send(bytes.to_vec());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut input: &[u8]) -> Vec<String> {
        let mut bodies = Vec::new();
        while let Ok(Some(body)) = read_message(&mut input) {
            bodies.push(String::from_utf8_lossy(&body).into_owned());
        }
        bodies
    }

    #[test]
    fn messages_are_found_among_anything() {
        assert_eq!(all(b"Content-Length: 2\r\n\r\n{}Content-Length: 3\r\nX-Y: z\r\n\r\n[1]"), ["{}", "[1]"]);
        assert_eq!(all(b"noise\r\n\r\ncontent-length:2\n\n{}"), ["{}"]);
        assert_eq!(all(b"Content-Length: x\r\n\r\nContent-Length: 1\r\n\r\n3"), ["3"]);
        assert_eq!(all(b"Content-Length: 99\r\n\r\n{}"), [""; 0]);
        assert_eq!(all(b"Content-Length: 99999999999999\r\n\r\n{}"), [""; 0]);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let code = |body: &[u8]| refusal(body).map(|answer| answer["error"]["code"].clone());
        assert_eq!(code(br#"{"jsonrpc":"2.0","method":"x","params":{},"id":1}"#), None);
        assert_eq!(code(br#"{"jsonrpc":"2.0","result":null,"id":1}"#), None);
        assert_eq!(code(b"{...}"), Some(json!(-32700)));
        assert_eq!(code(b"\xff"), Some(json!(-32700)));
        for none in [&b"[]"[..], b"3", br#"{"jsonrpc":"1.0","method":"x"}"#, br#"{"method":3,"jsonrpc":"2.0"}"#] {
            assert_eq!(code(none), Some(json!(-32600)), "{}", String::from_utf8_lossy(none));
        }
    }
}
