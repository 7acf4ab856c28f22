//! Runs and conversations saved as JSON.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::suspended::Suspended;
use crate::chat::ChatRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_SAVED_BYTES, MAX_SAVED_VALUES};

/// A saved run or conversation.
///
/// [`Suspended`] and [`ChatRequest`] can also be read with `serde_json`. This type reads them from sources that are not
/// trusted, such as a file or a database that others write to: text that is too large is rejected before it uses memory.
///
/// ```
/// use agentloop::ChatRequest;
/// use agentloop::agent::Saved;
///
/// let text = serde_json::to_string(&ChatRequest::new("openai/gpt-5.5").user("Hello")).unwrap();
/// match Saved::from_json(&text)? {
///     Saved::Conversation(request) => assert_eq!(request.messages.len(), 1),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Saved {
    /// A suspended run.
    Run(Box<Suspended>),
    /// A conversation, with the model and the settings of its request.
    Conversation(Box<ChatRequest>),
}

impl Saved {
    /// Reads a [`Suspended`] or a [`ChatRequest`] from JSON.
    ///
    /// # Errors
    ///
    /// Returns an error of kind [`TooLarge`](ErrorKind::TooLarge) if the text is longer than [`MAX_SAVED_BYTES`] or has more
    /// than [`MAX_SAVED_VALUES`] values, and of kind [`InvalidRequest`](ErrorKind::InvalidRequest) if it is neither of them.
    pub fn from_json(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Kind {
            run: Option<IgnoredAny>,
            messages: Option<IgnoredAny>,
        }
        check_size(text)?;
        let kind: Kind = serde_json::from_str(text).map_err(parse_error)?;
        match (kind.run, kind.messages) {
            (Some(_), _) => serde_json::from_str(text).map(|run| Self::Run(Box::new(run))),
            (None, Some(_)) => {
                serde_json::from_str(text).map(|request| Self::Conversation(Box::new(request)))
            }
            (None, None) => {
                let message = "the JSON is neither a saved run nor a saved conversation";
                return Err(Error::new(ErrorKind::InvalidRequest, message)
                    .with_hint("a run has the field `run`, a conversation the field `messages`"));
            }
        }
        .map_err(parse_error)
    }
}

fn parse_error(error: serde_json::Error) -> Error {
    let message = format!("the text is neither a saved run nor a saved conversation: {error}");
    Error::new(ErrorKind::InvalidRequest, message).with_source(error)
}

/// Checks the size of the text. A value of two bytes takes a hundred in memory, so values are counted before parsing.
fn check_size(text: &str) -> Result<()> {
    let hint = "start a new conversation with a summary or the last messages of this one";
    let too_large = |message: String| Error::new(ErrorKind::TooLarge, message).with_hint(hint);
    if text.len() > MAX_SAVED_BYTES {
        let length = text.len();
        let message =
            format!("the saved text has {length} bytes; the limit is {MAX_SAVED_BYTES} bytes");
        return Err(too_large(message));
    }
    let (mut values, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b':' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    if values > MAX_SAVED_VALUES {
        let message = format!(
            "the saved text has {values} JSON values; the limit is {MAX_SAVED_VALUES} values"
        );
        return Err(too_large(message));
    }
    Ok(())
}
