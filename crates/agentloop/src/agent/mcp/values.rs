//! Counts the JSON values of a message before it is parsed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::limits::MCP_MAX_MESSAGE_VALUES;

/// Counts the values of a message byte by byte.
#[derive(Debug, Default)]
pub(super) struct Values {
    values: usize,
    in_string: bool,
    escaped: bool,
}

impl Values {
    /// Returns whether the number of values of a complete message is within the limit.
    pub(super) fn are_within_limit(bytes: &[u8]) -> bool {
        let mut values = Self::default();
        bytes.iter().all(|byte| values.count(*byte))
    }

    /// Counts a byte. Returns false if the message exceeds the limit.
    ///
    /// The end of a line ends a string: JSON strings contain no line breaks, and a field of an event stream that is not JSON
    /// must not hide the values after it.
    pub(super) fn count(&mut self, byte: u8) -> bool {
        match byte {
            b'\n' => (self.in_string, self.escaped) = (false, false),
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = self.in_string,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' | b',' if !self.in_string => self.values += 1,
            _ => {}
        }
        self.values <= MCP_MAX_MESSAGE_VALUES
    }
}

/// A reader of messages in lines. A message with too many values is an error, which ends the connection.
pub(super) struct LimitedValues<R> {
    inner: R,
    line: Values,
}

impl<R> LimitedValues<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, line: Values::default() }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LimitedValues<R> {
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
            } else if !self.line.count(*byte) {
                let message = format!(
                    "a message of the server has more than {MCP_MAX_MESSAGE_VALUES} JSON values"
                );
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
    fn the_content_of_strings_does_not_count() {
        let text = format!(r#"{{"text":"{}\"{{[,"}}"#, "{[,".repeat(MCP_MAX_MESSAGE_VALUES));
        assert!(Values::are_within_limit(text.as_bytes()));
        let list = format!("[{}1]", "1,".repeat(MCP_MAX_MESSAGE_VALUES));
        assert!(!Values::are_within_limit(list.as_bytes()));
    }
}
