//! Laws that hold for every response.

use std::borrow::Cow;

use agentloop::{ChatStreamEvent, ErrorKind, Fold, Protocol};

use crate::recordings::corpus::Recording;
use crate::recordings::{anthropic, invoke};
use crate::support;

type Law = Result<(), String>;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Law {
    if holds { Ok(()) } else { Err(what()) }
}

/// A response is read whole; an error is an error, with words and the provider's status.
pub(crate) fn decodes(recording: &Recording) -> Law {
    let decoded = recording.decode();
    if recording.is_answer() {
        return decoded.response().map(drop);
    }
    let error = decoded.error.ok_or("an error was read as a response")?;
    ensure(!error.message().is_empty(), || "no message".to_owned())?;
    ensure(error.provider() == Some(recording.provider.as_str()), || format!("{error:?}"))?;
    if recording.status >= 400 {
        ensure(error.status() == Some(recording.status), || format!("{error:?}"))?;
    }
    ensure(!matches!(error.kind(), ErrorKind::Protocol | ErrorKind::IncompleteStream), || {
        format!("not understood: {error:?}")
    })
}

pub(crate) fn cuts_are_invisible(recording: &Recording) -> Law {
    let whole = recording.decode();
    for size in [1, 2, 3, 7, 61, 1021] {
        let cut = recording.decode_bytes(&recording.body, size);
        ensure(cut.events == whole.events, || format!("other events in pieces of {size}"))?;
        ensure(cut.error == whole.error, || format!("another end in pieces of {size}"))?;
    }
    Ok(())
}

/// A frame that repeats the one before it is not parsed. An event without data between two frames has no effect, but makes the next frame one
/// that is parsed: the events must be equal.
pub(crate) fn a_repeated_frame_is_read_as_if_it_was_parsed(recording: &Recording) -> Law {
    if !recording.body.windows(5).any(|bytes| bytes == b"data:") {
        return Ok(());
    }
    let mut parted = Vec::new();
    let mut is_blank = true;
    for line in recording.body.split_inclusive(|byte| *byte == b'\n') {
        let ends = line.trim_ascii().is_empty();
        parted.extend_from_slice(line);
        if ends && !is_blank {
            parted.extend_from_slice(b"data:\n\n");
        }
        is_blank = ends;
    }
    let (whole, parted) = (recording.decode(), recording.decode_bytes(&parted, usize::MAX));
    ensure(parted.events == whole.events, || "other events".to_owned())?;
    ensure(parted.error == whole.error, || "another end".to_owned())
}

/// Cuts the stream at many places; the result is a response only if the provider had sent the finish reason.
pub(crate) fn a_cut_stream_is_an_error(recording: &Recording) -> Law {
    if !recording.streaming || !recording.is_answer() {
        return Ok(());
    }
    let length = recording.body.len();
    for step in 0..40 {
        let at = length * step / 40;
        let decoded = recording.decode_bytes(&recording.body[..at], usize::MAX);
        let text = if invoke::is_wrapped(recording) {
            Cow::Owned(invoke::unwrapped(&recording.body[..at]))
        } else {
            String::from_utf8_lossy(&recording.body[..at])
        };
        let ended = match recording.protocol {
            Protocol::Anthropic => anthropic::says_why(&text),
            Protocol::Gemini => crate::recordings::gemini::says_why(&text),
            Protocol::OpenAiResponses => crate::recordings::responses::says_why(&text),
            Protocol::Ollama => crate::recordings::ollama::says_why(&text),
            Protocol::Cohere => text.contains(r#""type":"message-end""#),
            Protocol::Bedrock if recording.id == invoke::NOVA => text.contains("messageStop"),
            Protocol::Bedrock => crate::recordings::bedrock::has_stopped(&recording.body[..at]),
            _ => text.contains("data: [DONE]") || says_why(&text),
        };
        if ended {
            continue;
        }
        let Some(error) = decoded.error else {
            return Err(format!("cut at {at} of {length}, and still a response"));
        };
        ensure(error.kind() == ErrorKind::IncompleteStream, || format!("cut at {at}: {error:?}"))?;
        let started = !decoded.events.is_empty();
        ensure(started == error.partial().is_some(), || format!("cut at {at}: no partial"))?;
    }
    Ok(())
}

/// Whether some chunk names a finish reason.
fn says_why(text: &str) -> bool {
    text.match_indices("\"finish_reason\"").any(|(at, _)| {
        let rest = text[at + 15..].trim_start_matches([':', ' ']);
        rest.starts_with('"') && !rest.starts_with("\"\"")
    })
}

pub(crate) fn grammar(recording: &Recording) -> Law {
    let decoded = recording.decode();
    let mut fold = Fold::new();
    let mut starts = 0;
    for (at, event) in decoded.events.iter().enumerate() {
        fold.push(event).map_err(|error| format!("event {at}: {error}"))?;
        starts += usize::from(matches!(event, ChatStreamEvent::MessageStart { .. }));
        if let ChatStreamEvent::MessageDone { response } = event {
            ensure(at + 1 == decoded.events.len(), || "events after message.done".to_owned())?;
            let folded = fold.clone().finish().map_err(|error| error.to_string())?;
            ensure(folded == **response, || {
                format!("the fold of the events differs:\n{folded:#?}\n{response:#?}")
            })?;
        }
    }
    // An item of a Responses stream closes with its own end, which may come when others have begun.
    if recording.protocol != Protocol::OpenAiResponses {
        support::closes_in_order(&decoded.events)?;
    }
    ensure(starts <= 1, || format!("{starts} times message.start"))?;
    let done = matches!(decoded.events.last(), Some(ChatStreamEvent::MessageDone { .. }));
    ensure(done != decoded.error.is_some(), || "neither an end nor an error".to_owned())
}

pub(crate) fn unfold_and_fold(recording: &Recording) -> Law {
    if !recording.is_answer() {
        return Ok(());
    }
    let decoded = recording.decode();
    let response = decoded.response()?;
    let mut fold = Fold::new();
    for event in response.unfold() {
        fold.push(&event).map_err(|error| error.to_string())?;
    }
    let folded = fold.finish().map_err(|error| error.to_string())?;
    ensure(folded == *response, || format!("{folded:#?}\n{response:#?}"))
}

pub(crate) fn json_round_trip(recording: &Recording) -> Law {
    let decoded = recording.decode();
    for event in &decoded.events {
        let text = serde_json::to_string(event).map_err(|error| error.to_string())?;
        let again: ChatStreamEvent =
            serde_json::from_str(&text).map_err(|error| format!("{error} in {text}"))?;
        ensure(again == *event, || format!("{text} is read as something else"))?;
    }
    if let Some(error) = &decoded.error {
        let text = serde_json::to_string(error).map_err(|error| error.to_string())?;
        let again = serde_json::from_str(&text).map_err(|error| format!("{error} in {text}"))?;
        ensure(*error == again, || format!("{text} is read as something else"))?;
    }
    Ok(())
}

pub(crate) fn usage_invariants(recording: &Recording) -> Law {
    if !recording.is_answer() {
        return Ok(());
    }
    let decoded = recording.decode();
    let usage = &decoded.response()?.usage;
    let details = &usage.details;
    let wrong = || format!("{usage:?}");
    if let (Some(prompt), Some(completion)) = (usage.prompt_tokens, usage.completion_tokens) {
        ensure(usage.total_tokens == Some(prompt + completion), wrong)?;
        let cached = details.cached_tokens.unwrap_or(0) + details.cache_write_tokens.unwrap_or(0);
        ensure(prompt >= cached, wrong)?;
        ensure(completion >= details.reasoning_tokens.unwrap_or(0), wrong)?;
    }
    Ok(())
}
