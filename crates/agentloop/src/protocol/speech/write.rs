//! Writes a call for speech.

use serde_json::json;

use crate::chat::{SpeechRequest, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::percent::encode_path;
use crate::protocol::Encoded;
use crate::protocol::task::TaskBody;
use crate::provider::Provider;
use crate::provider::quirks::SpeechForm;

/// Audio is returned as bytes, errors as JSON.
const ANY: &str = "*/*";

pub(in crate::protocol) fn encode(
    provider: &Provider,
    model: &str,
    request: &SpeechRequest,
    stream: bool,
) -> Result<Encoded> {
    if request.input.is_empty() {
        let message = "the request has no text to speak";
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    let form = provider.quirks.tasks.speech;
    let mut body = TaskBody::json(provider, &request.extra_body);
    match form {
        SpeechForm::GenerateContent => return generate(body, provider, model, request),
        SpeechForm::Instructed => {
            body.option("instructions", request.instructions.as_ref())?;
            body.option("speed", request.speed.as_ref())?;
        }
        SpeechForm::Paced => {
            body.option("speed", request.speed.as_ref())?;
            body.drop_if("instructions", request.instructions.is_some());
        }
        SpeechForm::Plain | SpeechForm::VoiceId => {
            body.drop_if("instructions", request.instructions.is_some());
            body.drop_if("speed", request.speed.is_some());
        }
    }
    body.fixed("model", model)?;
    let voice = if form == SpeechForm::VoiceId { "voice_id" } else { "voice" };
    body.option(voice, request.voice.as_ref())?;
    body.option("response_format", request.format.as_ref())?;
    // The bytes of the others arrive as they are made. Only here they come at once unless events are requested.
    if form == SpeechForm::VoiceId && stream {
        body.fixed("stream", &true)?;
    }
    body.fixed("input", &request.input)?;
    body.finish("/audio/speech", ANY, &request.extra_headers)
}

fn generate(
    mut body: TaskBody<'_>,
    provider: &Provider,
    model: &str,
    request: &SpeechRequest,
) -> Result<Encoded> {
    body.drop_if("instructions", request.instructions.is_some());
    body.drop_if("speed", request.speed.is_some());
    if let Some(format) =
        request.format.as_deref().filter(|format| !matches!(*format, "wav" | "pcm"))
    {
        let message = format!("format: {} has no {format}; the audio is WAV", provider.name);
        body.warn(WarningKind::Converted, "format", message);
    }
    let mut config = json!({ "responseModalities": ["AUDIO"] });
    if let Some(voice) = &request.voice {
        config["speechConfig"] =
            json!({ "voiceConfig": { "prebuiltVoiceConfig": { "voiceName": voice } } });
    }
    body.option("generationConfig", Some(&config))?;
    let content = json!({ "role": "user", "parts": [{ "text": request.input }] });
    body.fixed("contents", &[content])?;
    let model = model.strip_prefix("models/").unwrap_or(model);
    body.finish(
        format!("/models/{}:generateContent", encode_path(model)),
        "application/json",
        &request.extra_headers,
    )
}
