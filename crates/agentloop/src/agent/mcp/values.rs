//! How many JSON values a message has, found out before it is read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::limits::MCP_MAX_MESSAGE_VALUES;

/// Counts the values of a message while its bytes pass.
#[derive(Debug, Default)]
pub(super) struct Values {
    count: usize,
    in_string: bool,
    escaped: bool,
}

impl Values {
    /// Returns whether a whole message is small enough to be read.
    pub(super) fn are_few(bytes: &[u8]) -> bool {
        let mut values = Self::default();
        bytes.iter().all(|byte| values.take(*byte))
    }

    /// Takes a byte, and returns whether the message may go on. A line that ends within a string ends the string: JSON
    /// has no line breaks there, and a field of an event stream that is not JSON must not hide what follows.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        match byte {
            b'\n' => (self.in_string, self.escaped) = (false, false),
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = self.in_string,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' | b',' if !self.in_string => self.count += 1,
            _ => {}
        }
        self.count <= MCP_MAX_MESSAGE_VALUES
    }
}

/// Bytes whose lines are messages. It fails at a message with too many values, and the connection ends.
pub(super) struct FewValues<R> {
    inner: R,
    line: Values,
}

impl<R> FewValues<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, line: Values::default() }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for FewValues<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        for byte in &buffer.filled()[before..] {
            if *byte == b'\n' {
                self.line = Values::default();
            } else if !self.line.take(*byte) {
                let message =
                    format!("a message has more than {MCP_MAX_MESSAGE_VALUES} JSON values");
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, message)));
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_strings_does_not_count() {
        let text = format!(r#"{{"text":"{}\"{{[,"}}"#, "{[,".repeat(MCP_MAX_MESSAGE_VALUES));
        assert!(Values::are_few(text.as_bytes()));
        let list = format!("[{}1]", "1,".repeat(MCP_MAX_MESSAGE_VALUES));
        assert!(!Values::are_few(list.as_bytes()));
    }
}
