//! Runs and conversations that were saved as JSON.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::suspended::Suspended;
use crate::chat::ChatRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{MAX_SAVED_BYTES, MAX_SAVED_VALUES};

/// A run that waits, or a conversation, as it was saved.
///
/// Both are values that `serde_json` reads and writes. This reads text from a place that is not trusted, a file or a
/// database that others write to: what is too large is refused before it takes memory.
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
    /// A run that waits.
    Run(Box<Suspended>),
    /// A conversation, with the model and the settings of its request.
    Conversation(Box<ChatRequest>),
}

impl Saved {
    /// Reads what [`Suspended`] or [`ChatRequest`] was written as.
    ///
    /// # Errors
    ///
    /// Of kind [`TooLarge`](ErrorKind::TooLarge) when the text is longer than [`MAX_SAVED_BYTES`] or has more than
    /// [`MAX_SAVED_VALUES`] values; of kind [`InvalidRequest`](ErrorKind::InvalidRequest) when it is neither of them.
    pub fn from_json(text: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Kind {
            run: Option<IgnoredAny>,
            messages: Option<IgnoredAny>,
        }
        check_size(text)?;
        let kind: Kind = serde_json::from_str(text).map_err(unreadable)?;
        match (kind.run, kind.messages) {
            (Some(_), _) => serde_json::from_str(text).map(|run| Self::Run(Box::new(run))),
            (None, Some(_)) => {
                serde_json::from_str(text).map(|request| Self::Conversation(Box::new(request)))
            }
            (None, None) => {
                let message = "it is neither a saved run nor a saved conversation";
                return Err(Error::new(ErrorKind::InvalidRequest, message));
            }
        }
        .map_err(unreadable)
    }
}

fn unreadable(error: serde_json::Error) -> Error {
    let message = format!("it is neither a saved run nor a saved conversation ({error})");
    Error::new(ErrorKind::InvalidRequest, message).with_source(error)
}

/// A value of two bytes takes a hundred in memory, so values are counted before they are read.
fn check_size(text: &str) -> Result<()> {
    let hint = "begin a new conversation, with a summary of this one or its last messages";
    let too_large = |message: String| Error::new(ErrorKind::TooLarge, message).with_hint(hint);
    if text.len() > MAX_SAVED_BYTES {
        return Err(too_large(format!("it is larger than {MAX_SAVED_BYTES} bytes")));
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
        return Err(too_large(format!("it has more than {MAX_SAVED_VALUES} values")));
    }
    Ok(())
}
