//! Writes a call for a transcript.

use crate::chat::{Timestamps, TranscribeRequest, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::media::MediaKind;
use crate::protocol::Encoded;
use crate::protocol::task::TaskBody;
use crate::provider::Provider;
use crate::provider::quirks::{AudioUrlField, TranscriptionForm};

pub(in crate::protocol) fn encode(
    provider: &Provider,
    model: &str,
    request: &TranscribeRequest,
    stream: bool,
) -> Result<Encoded> {
    let quirks = &provider.quirks.tasks;
    let form = quirks.transcription;
    if request.translate && form == TranscriptionForm::Segments {
        let message = format!("{} does not translate audio", provider.name);
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let mut body = TaskBody::form(provider, &request.extra_body);
    body.fixed("model", model)?;
    if request.translate {
        body.drop_if("language", request.language.is_some());
    } else {
        body.option("language", request.language.as_ref())?;
    }
    match form {
        TranscriptionForm::Segments => body.drop_if("prompt", request.prompt.is_some()),
        _ => body.option("prompt", request.prompt.as_ref())?,
    }
    body.option("temperature", request.temperature.as_ref())?;
    timestamps(&mut body, form, request)?;
    let streams = stream && !request.translate && form != TranscriptionForm::Complete;
    if streams {
        body.fixed("stream", &true)?;
    }
    let by_url = match (&request.audio.url, quirks.audio_url) {
        _ if !request.audio.data.is_empty() => None,
        (None, _) | (_, AudioUrlField::Refused) => None,
        (Some(url), AudioUrlField::Url) => Some(("url", url)),
        (Some(url), AudioUrlField::File) => Some(("file", url)),
        (Some(url), AudioUrlField::FileUrl) => Some(("file_url", url)),
    };
    match by_url {
        Some((name, url)) => body.fixed(name, url)?,
        None => body.file("file", &request.audio, MediaKind::Audio)?,
    }
    let path = if request.translate { "/audio/translations" } else { "/audio/transcriptions" };
    let accept = if streams { "text/event-stream" } else { "application/json" };
    body.finish(path, accept, &request.extra_headers)
}

fn timestamps(
    body: &mut TaskBody<'_>,
    form: TranscriptionForm,
    request: &TranscribeRequest,
) -> Result<()> {
    let wanted = &request.timestamps;
    if wanted.is_empty() {
        return match form {
            TranscriptionForm::Segments => Ok(()),
            _ => body.option("response_format", Some(&"json")),
        };
    }
    if form == TranscriptionForm::Segments {
        if wanted.contains(&Timestamps::Word) {
            let message = "timestamps: words have no times here; those of segments are requested";
            body.warn(WarningKind::Clamped, "timestamps", message);
        }
        return body.option("timestamp_granularities", Some(&["segment"]));
    }
    body.option("response_format", Some(&"verbose_json"))?;
    if request.translate {
        // A translation has the times of segments in any case, and no field for them.
        body.drop_if("timestamps", wanted.contains(&Timestamps::Word));
        return Ok(());
    }
    let mut names: Vec<&str> = wanted.iter().map(|each| each.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    body.option("timestamp_granularities[]", Some(&names))
}
