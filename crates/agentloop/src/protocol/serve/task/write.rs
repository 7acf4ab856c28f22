//! Writes responses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{ServedBody, TaskForm};
use crate::chat::{
    ImagePart, ImageResponse, ModerateResponse, RerankResponse, TaskEvent, TaskResponse,
    TranscribeResponse, TranscriptSegment, Usage,
};

/// Writes a response. `now` is the time in seconds since 1970.
///
/// ```
/// use agentloop::{RankedDocument, RerankResponse, TaskResponse};
/// use agentloop::protocol::serve::{TaskForm, write_task};
///
/// let mut response = RerankResponse::new("m", "lab");
/// response.results = vec![RankedDocument::new(1, 0.5)];
/// let served = write_task(&TaskResponse::Rerank(response), TaskForm::Usual, 0);
/// assert_eq!(served.body, r#"{"model":"m","results":[{"index":1,"relevance_score":0.5}]}"#);
/// ```
pub fn write_task(response: &TaskResponse, form: TaskForm, now: u64) -> ServedBody {
    let value = match response {
        TaskResponse::Image(response) => image(response, now),
        TaskResponse::Speech(response) => {
            let content_type = response.mime_type.clone().into();
            return ServedBody { content_type, body: response.audio.clone() };
        }
        TaskResponse::Transcribe(response) => match form {
            TaskForm::Text => return plain("text/plain; charset=utf-8", response.text.clone()),
            TaskForm::Srt => {
                return plain("text/plain; charset=utf-8", response.srt().unwrap_or_default());
            }
            TaskForm::Vtt => {
                return plain("text/vtt; charset=utf-8", response.vtt().unwrap_or_default());
            }
            TaskForm::Usual | TaskForm::Verbose => transcript(response, form),
        },
        TaskResponse::Rerank(response) => ranking(response),
        TaskResponse::Moderate(response) => moderation(response),
    };
    ServedBody { content_type: "application/json".into(), body: value.to_string().into() }
}

fn plain(content_type: &'static str, text: String) -> ServedBody {
    ServedBody { content_type: content_type.into(), body: text.into() }
}

/// Writes an event as a server-sent event.
///
/// ```
/// use agentloop::TaskEvent;
/// use agentloop::protocol::serve::write_task_event;
///
/// let bytes = write_task_event(&TaskEvent::Text { text: "Hel".into() }, 0);
/// assert!(bytes.starts_with(b"data: {") && bytes.ends_with(b"\n\n"));
/// ```
pub fn write_task_event(event: &TaskEvent, now: u64) -> Bytes {
    let value = match event {
        TaskEvent::Image { index, image } => {
            let mut value = image_event("image_generation.partial_image", &image.part, now);
            value["partial_image_index"] = (*index).into();
            value
        }
        TaskEvent::Audio { data } => {
            json!({ "type": "speech.audio.delta", "audio": STANDARD.encode(data) })
        }
        TaskEvent::Text { text } => json!({ "type": "transcript.text.delta", "delta": text }),
        TaskEvent::Segment { segment } => {
            let mut value = self::segment(0, segment);
            if let Value::Object(fields) = &mut value {
                fields.insert("type".to_owned(), "transcript.text.segment".into());
                fields.insert("id".to_owned(), format!("seg_{}", segment.start).into());
            }
            value
        }
        TaskEvent::Done { response } => {
            if let TaskResponse::Image(response) = response.as_ref() {
                return completed_images(response, now);
            }
            let mut value = match response.as_ref() {
                TaskResponse::Transcribe(response) => {
                    json!({ "type": "transcript.text.done", "text": response.text })
                }
                _ => json!({ "type": "speech.audio.done" }),
            };
            add_usage(&mut value, response.usage(), Some("tokens"));
            value
        }
    };
    format!("data: {value}\n\n").into()
}

fn add_usage(value: &mut Value, usage: Option<&Usage>, kind: Option<&str>) {
    let Some(usage) = usage else { return };
    let mut written = Map::new();
    if let Some(kind) = kind {
        written.insert("type".to_owned(), kind.into());
    }
    let counts = [
        ("input_tokens", usage.prompt_tokens),
        ("output_tokens", usage.completion_tokens),
        ("total_tokens", usage.total_tokens),
    ];
    for (name, count) in counts {
        if let Some(count) = count {
            written.insert(name.to_owned(), count.into());
        }
    }
    value["usage"] = Value::Object(written);
}

/// Writes an event with an image. OpenAI's SDK requires all of its fields; what is not known is `auto`.
fn image_event(kind: &str, part: &ImagePart, now: u64) -> Value {
    let format = part.mime_type.strip_prefix("image/").unwrap_or("png");
    json!({
        "type": kind, "b64_json": part.data, "created_at": now, "output_format": format,
        "size": "auto", "quality": "auto", "background": "auto",
    })
}

/// Writes an event for each finished image. The last one has the usage.
fn completed_images(response: &ImageResponse, now: u64) -> Bytes {
    let mut events = String::new();
    for (index, image) in response.images.iter().enumerate() {
        let mut value = image_event("image_generation.completed", &image.part, now);
        // A provider that does not stream may return a URL, for which OpenAI's event has no field.
        if let (true, Some(url)) = (image.part.data.is_empty(), &image.part.url) {
            value["url"] = url.as_str().into();
        }
        let usage = if index + 1 == response.images.len() { response.usage.clone() } else { None };
        // The SDK requires the usage and its details.
        let usage = usage.unwrap_or_default();
        let of = |kind: &str| usage.details.prompt_tokens_by_modality.get(kind).copied();
        let (text, images) = (of("TEXT").or(usage.prompt_tokens), of("IMAGE"));
        value["usage"] = json!({
            "input_tokens": usage.prompt_tokens.unwrap_or(0),
            "output_tokens": usage.completion_tokens.unwrap_or(0),
            "total_tokens": usage.total_tokens.unwrap_or(0),
            "input_tokens_details": { "text_tokens": text.unwrap_or(0), "image_tokens": images.unwrap_or(0) },
        });
        events.push_str(&format!("data: {value}\n\n"));
    }
    events.into()
}

fn image(response: &ImageResponse, now: u64) -> Value {
    let item = |image: &crate::chat::GeneratedImage| {
        let mut item = match &image.part.url {
            Some(url) if image.part.data.is_empty() => json!({ "url": url }),
            _ => json!({ "b64_json": image.part.data }),
        };
        if let Some(prompt) = &image.revised_prompt {
            item["revised_prompt"] = prompt.as_str().into();
        }
        item
    };
    let data: Vec<Value> = response.images.iter().map(item).collect();
    let mut value = json!({ "created": now, "data": data });
    let format = response.first().and_then(|part| part.mime_type.strip_prefix("image/"));
    if let Some(format) = format.filter(|format| matches!(*format, "png" | "jpeg" | "webp")) {
        value["output_format"] = format.into();
    }
    add_usage(&mut value, response.usage.as_ref(), None);
    if let Some(usage) = &response.usage {
        let of = |kind: &str| usage.details.prompt_tokens_by_modality.get(kind).copied();
        if let (Some(text), image) = (of("TEXT"), of("IMAGE").unwrap_or(0)) {
            value["usage"]["input_tokens_details"] =
                json!({ "text_tokens": text, "image_tokens": image });
        }
    }
    value
}

fn segment(id: usize, segment: &TranscriptSegment) -> Value {
    let TranscriptSegment { text, start, end, speaker } = segment;
    let mut value = json!({ "id": id, "start": start, "end": end, "text": text });
    if let Some(speaker) = speaker {
        value["speaker"] = speaker.as_str().into();
    }
    value
}

fn transcript(response: &TranscribeResponse, form: TaskForm) -> Value {
    let mut value = json!({ "text": response.text });
    if form == TaskForm::Verbose {
        value["task"] = "transcribe".into();
        if let Some(language) = &response.language {
            value["language"] = language.as_str().into();
        }
        if let Some(duration) = response.duration {
            value["duration"] = duration.into();
        }
        let segments = response.segments.iter().enumerate();
        let segments: Vec<Value> = segments.map(|(id, each)| segment(id, each)).collect();
        value["segments"] = segments.into();
        if !response.words.is_empty() {
            value["words"] = json!(response.words);
        }
    }
    match response.usage {
        Some(_) => add_usage(&mut value, response.usage.as_ref(), Some("tokens")),
        None => {
            if let Some(seconds) = response.duration {
                value["usage"] = json!({ "type": "duration", "seconds": seconds });
            }
        }
    }
    value
}

fn ranking(response: &RerankResponse) -> Value {
    let result = |each: &crate::chat::RankedDocument| json!({ "index": each.index, "relevance_score": each.score });
    let results: Vec<Value> = response.results.iter().map(result).collect();
    let mut value = json!({ "model": response.model, "results": results });
    if let Some(units) = response.search_units {
        value["meta"] = json!({ "billed_units": { "search_units": units } });
    }
    if let Some(usage) = &response.usage {
        value["usage"] =
            json!({ "prompt_tokens": usage.prompt_tokens, "total_tokens": usage.total_tokens });
    }
    value
}

fn moderation(response: &ModerateResponse) -> Value {
    let result = |each: &crate::chat::Moderation| json!({ "flagged": each.flagged, "categories": each.categories, "category_scores": each.scores });
    let results: Vec<Value> = response.results.iter().map(result).collect();
    // The id is required.
    let id = response.request_id.as_deref().unwrap_or("agentloop");
    json!({ "id": format!("modr-{id}"), "model": response.model, "results": results })
}
