//! The traffic of Amazon Bedrock's InvokeModel. A frame contains an event of another protocol in base64, so what is read must be what a
//! stream of that protocol without the frames would be.

use agentloop::{ErrorKind, Protocol};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::recordings::bedrock::events;
use crate::recordings::corpus::{Recording, recordings};
use crate::recordings::{anthropic, oracle};

laws_of!("bedrock-invoke", crate::recordings::invoke::agrees);

/// The recording whose events are those of Converse, without a name.
pub(crate) const NOVA: &str = "bedrock-stream-empty-5921d44a";

/// Whether the events of a recording are inside frames.
pub(crate) fn is_wrapped(recording: &Recording) -> bool {
    let is_other = matches!(recording.protocol, Protocol::Anthropic | Protocol::OpenAiChat);
    let is_framed = recording.folder.join("stream.eventstream").exists();
    recording.id == NOVA || (is_other && is_framed)
}

/// The events inside the frames, as server-sent events.
pub(crate) fn unwrapped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (name, chunk) in events(bytes) {
        assert_eq!(name, "chunk");
        let event = STANDARD.decode(chunk["bytes"].as_str().unwrap()).unwrap();
        text += &format!("data: {}\n\n", String::from_utf8(event).unwrap());
    }
    text
}

pub(crate) fn agrees(recording: &Recording) -> Result<(), String> {
    if recording.status >= 400 {
        let error = recording.decode().error.unwrap();
        let expected = [ErrorKind::Auth, ErrorKind::InvalidRequest];
        let is_right = error.status() == Some(recording.status) && expected.contains(&error.kind());
        return if is_right { Ok(()) } else { Err(format!("{error:?}")) };
    }
    if !recording.streaming {
        let decoded = recording.decode();
        let response = decoded.response()?;
        let is_there =
            response.usage.prompt_tokens.is_some() && !response.choices[0].content.is_empty();
        return if is_there { Ok(()) } else { Err(format!("{response:?}")) };
    }
    let plain = Recording { body: unwrapped(&recording.body).into_bytes(), ..recording.clone() };
    if recording.decode().events != plain.decode().events {
        return Err("the frames change what is read".to_owned());
    }
    match recording.protocol {
        Protocol::Anthropic => anthropic::agrees(&plain),
        Protocol::OpenAiChat => oracle::agrees(&plain),
        _ => {
            let decoded = recording.decode();
            let text = decoded.response()?.text();
            if text.is_empty() { Err("there is no text".to_owned()) } else { Ok(()) }
        }
    }
}

/// Claude 2 and the first models of Cohere complete a text. That is not a chat, and never an empty response.
#[test]
fn completions_of_old_models_are_errors() {
    let Some(recordings) = recordings("bedrock-invoke-text") else { return };
    assert_eq!(recordings.len(), 3);
    for recording in recordings {
        assert!(recording.decode().error.is_some(), "{}", recording.id);
    }
}
