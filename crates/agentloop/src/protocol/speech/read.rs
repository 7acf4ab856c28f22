//! Reads speech: bytes, or base64 in JSON.

use bytes::Bytes;
use serde::Deserialize;

use crate::chat::{SpeechRequest, SpeechResponse, TaskResponse};
use crate::error::Result;
use crate::media::{decoded, mime_of_bytes, pcm_rate, with_header};
use crate::protocol::ReportedCost;
use crate::protocol::image::{Candidate, Metadata};
use crate::protocol::lenient::{Many, Object, Text};
use crate::protocol::task::{Reader, TaskDecoded, WireUsage, is_object};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Wire<'a> {
    model: Text<'a>,
    audio_data: Text<'a>,
    usage: Object<WireUsage<'a>>,
    candidates: Option<Many<Candidate<'a>>>,
    #[serde(rename = "modelVersion")]
    model_version: Text<'a>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: Object<Metadata<'a>>,
}

pub(in crate::protocol) fn decode(
    reader: &Reader<'_>,
    request: &SpeechRequest,
) -> Result<TaskDecoded> {
    let mime = reader.mime();
    let mut response = SpeechResponse::default();
    if mime != "application/json" && !mime.starts_with("text/") && !is_object(reader.body) {
        if reader.body.is_empty() {
            return Err(reader.broken("the audio is empty"));
        }
        response.mime_type = mime_of(&mime, request.format.as_deref(), reader.body);
        response.audio = reader.body.clone();
        let cost = ReportedCost::Absent;
        return Ok(TaskDecoded { response: TaskResponse::Speech(response), cost });
    }
    let wire: Wire<'_> = reader.json()?;
    let usage = wire.usage.0.unwrap_or_default();
    let mut stated = String::new();
    let data = match wire.audio_data.non_empty() {
        Some(data) => Some(data),
        None => wire
            .candidates
            .iter()
            .flat_map(|candidates| &candidates.0)
            .filter_map(|candidate| candidate.content.0.as_ref()?.parts.as_ref())
            .flat_map(|parts| &parts.0)
            .filter_map(|part| part.inline_data.0.as_ref())
            .find_map(|blob| {
                blob.mime_type.non_empty().unwrap_or_default().clone_into(&mut stated);
                blob.data.non_empty()
            }),
    };
    let data = data.ok_or_else(|| reader.broken("the response has no audio"))?;
    let bytes = decoded(data).map_err(|_| reader.broken("the audio is not base64"))?;
    if bytes.is_empty() {
        return Err(reader.broken("the audio is empty"));
    }
    // Raw samples become a file that players know, unless they were requested.
    let rate = pcm_rate(&stated).filter(|_| request.format.as_deref() != Some("pcm"));
    match rate.and_then(|rate| with_header(&bytes, rate)) {
        Some(file) => {
            response.mime_type = "audio/wav".to_owned();
            response.audio = file.into();
        }
        None => {
            response.audio = Bytes::from(bytes);
            response.mime_type = mime_of(&stated, request.format.as_deref(), &response.audio);
        }
    }
    response.usage = match wire.usage_metadata.0 {
        Some(metadata) => metadata.usage(),
        None => usage.tokens(),
    };
    let model = wire.model.into_non_empty().or(wire.model_version.into_non_empty());
    response.model = model.unwrap_or_default().into_owned();
    Ok(TaskDecoded { response: TaskResponse::Speech(response), cost: usage.cost() })
}

/// Returns the media type of audio: as stated, else as its bytes show, else that of the requested format.
fn mime_of(stated: &str, format: Option<&str>, bytes: &[u8]) -> String {
    if stated.starts_with("audio/") {
        return stated.to_owned();
    }
    let seen = mime_of_bytes(bytes).filter(|mime| mime.starts_with("audio/"));
    seen.unwrap_or_else(|| mime_of_format(format)).to_owned()
}

/// Returns the media type of a format as requests name it. MP3 is the usual default.
pub(in crate::protocol) fn mime_of_format(format: Option<&str>) -> &'static str {
    match format {
        Some("wav") => "audio/wav",
        Some("opus" | "ogg") => "audio/ogg",
        Some("aac") => "audio/aac",
        Some("flac") => "audio/flac",
        Some("pcm" | "raw") => "audio/pcm",
        _ => "audio/mpeg",
    }
}
