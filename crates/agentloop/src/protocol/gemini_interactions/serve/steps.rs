//! Reads the input of a request: steps → messages.

use serde_json::{Map, Value, json};

use crate::chat::{
    AudioInput, ChatMessage, CodeExecutionPart, CodeOutcome, CodeResultPart, ContentPart,
    FileInput, ImageUrl, MediaUrl, MessageContent, OpaquePart, ProviderState, Role,
    ServerToolCallPart, ServerToolResultPart, ThinkingPart, ToolCallPart,
};
use crate::media::DataUrl;
use crate::protocol::serve::known::{Read, Take as _, Wrong, object_of};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// The kinds of contents. All other kinds are steps.
const CONTENTS: [&str; 5] = ["text", "image", "audio", "video", "document"];

/// Reads the input: a text, a content, a list of contents, or a list of steps.
pub(super) fn read(input: Value, messages: &mut Vec<ChatMessage>, notes: &mut Notes) -> Read<()> {
    let list = match input {
        Value::String(text) => {
            messages.push(ChatMessage::user(text));
            return Ok(());
        }
        Value::Array(list) => list,
        one @ Value::Object(_) => vec![one],
        _ => return Err(Wrong::new("input", "must be a string or a list")),
    };
    let kind = |value: &Value| value.get("type").and_then(Value::as_str).map(str::to_owned);
    let is_content =
        |value: &Value| kind(value).is_some_and(|kind| CONTENTS.contains(&kind.as_str()));
    if list.first().is_some_and(is_content) {
        let parts = contents(list, "input", notes)?;
        messages.push(ChatMessage::user(MessageContent::Parts(parts)));
        return Ok(());
    }
    for (at, step) in list.into_iter().enumerate() {
        let wrong = |wrong: Wrong| wrong.at("input", at);
        step_into(object_of(step).map_err(wrong)?, at, messages, notes).map_err(wrong)?;
    }
    Ok(())
}

/// Reads step number `at` into the messages.
fn step_into(
    mut fields: Fields,
    at: usize,
    messages: &mut Vec<ChatMessage>,
    notes: &mut Notes,
) -> Read<()> {
    let kind = fields.required_text("type")?;
    match kind.as_str() {
        "user_input" => {
            let list = fields.list("content")?.unwrap_or_default();
            let (results, rest): (Vec<_>, Vec<_>) = list.into_iter().partition(|content| {
                content.get("type").is_some_and(|kind| kind == "function_result")
            });
            // Some clients put results here.
            for (number, result) in results.into_iter().enumerate() {
                let message = object_of(result).and_then(|result| function_result(result, notes));
                messages.push(message.map_err(|wrong| wrong.at("content", number))?);
            }
            if !rest.is_empty() {
                let parts = contents(rest, "content", notes)?;
                messages.push(ChatMessage::user(MessageContent::Parts(parts)));
            }
        }
        "function_result" => messages.push(function_result(fields, notes)?),
        "model_output" => {
            let list = fields.list("content")?.unwrap_or_default();
            for (number, content) in list.into_iter().enumerate() {
                let part = generated(content).map_err(|wrong| wrong.at("content", number))?;
                append(messages, part);
            }
        }
        _ => append(messages, generated_step(&kind, fields, at)?),
    }
    Ok(())
}

/// Adds a part to the message of the model.
fn append(messages: &mut Vec<ChatMessage>, part: ContentPart) {
    match messages.last_mut() {
        Some(last) if last.role == Role::Assistant => {
            if let Some(MessageContent::Parts(parts)) = &mut last.content {
                parts.push(part);
            }
        }
        _ => messages.push(ChatMessage::assistant(MessageContent::Parts(vec![part]))),
    }
}

/// Reads a step of the model that is not an output.
fn generated_step(kind: &str, mut fields: Fields, at: usize) -> Read<ContentPart> {
    Ok(match kind {
        "thought" => {
            let mut thinking = ThinkingPart::default();
            for content in fields.list("summary")?.unwrap_or_default() {
                if let Some(text) = content.get("text").and_then(Value::as_str) {
                    thinking.thinking.push_str(text);
                }
            }
            thinking.signature = fields.text("signature")?.filter(|text| !text.is_empty());
            thinking.provider_state = state(kind, fields);
            ContentPart::Thinking(thinking)
        }
        "function_call" => {
            let id = fields.text("id")?.filter(|id| !id.is_empty());
            let id = id.unwrap_or_else(|| format!("call_{at}"));
            let name = fields.required_text("name")?;
            let arguments = match fields.any("arguments") {
                None => "{}".to_owned(),
                Some(Value::String(text)) => text,
                Some(other) => other.to_string(),
            };
            let mut call = ToolCallPart::new(id, name, arguments);
            call.provider_state = state(kind, fields);
            ContentPart::ToolCall(call)
        }
        "code_execution_call" => {
            let mut arguments = fields.object("arguments")?.unwrap_or_default();
            ContentPart::CodeExecution(CodeExecutionPart {
                id: fields.text("id")?,
                code: arguments.text("code")?.unwrap_or_default(),
                language: arguments.text("language")?.unwrap_or_else(|| "python".to_owned()),
                provider_state: own_state(kind, fields),
            })
        }
        "code_execution_result" => {
            let is_error = fields.flag("is_error")?.unwrap_or(false);
            ContentPart::CodeResult(CodeResultPart {
                id: fields.text("call_id")?,
                outcome: if is_error { CodeOutcome::Error } else { CodeOutcome::Ok },
                output: fields.text("result")?.unwrap_or_default(),
                provider_state: own_state(kind, fields),
                ..CodeResultPart::default()
            })
        }
        _ if kind.ends_with("_call") => {
            let own = kind.strip_suffix("_call").unwrap_or(kind);
            let id = fields.text("id")?.unwrap_or_default();
            let name = fields.text("name")?.unwrap_or_else(|| own.to_owned());
            let arguments = fields.any("arguments").unwrap_or_else(|| json!({}));
            let provider_state = own_state(kind, fields);
            ContentPart::ServerToolCall(ServerToolCallPart { id, name, arguments, provider_state })
        }
        _ if kind.ends_with("_result") => {
            let tool_call_id = fields.text("call_id")?.unwrap_or_default();
            let content = fields.any("result").unwrap_or_default();
            let is_error = fields.flag("is_error")?.unwrap_or(false);
            let provider_state = own_state(kind, fields);
            ContentPart::ServerToolResult(ServerToolResultPart {
                tool_call_id,
                content,
                is_error,
                provider_state,
            })
        }
        _ => {
            fields.insert("type".to_owned(), kind.into());
            let (provider, data) = (String::new(), json!({ "step": fields }));
            ContentPart::Opaque(OpaquePart { provider, kind: kind.to_owned(), data })
        }
    })
}

/// Returns the state of a part whose step has other fields than the part.
fn state(kind: &str, mut rest: Fields) -> Option<Box<ProviderState>> {
    rest.retain(|_, value| !value.is_null() && value != "");
    if rest.is_empty() { None } else { own_state(kind, rest) }
}

/// Returns the state of one of the provider's own tools.
fn own_state(kind: &str, rest: Fields) -> Option<Box<ProviderState>> {
    let mut step = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    step.extend(rest);
    Some(Box::new(ProviderState::new("", json!({ "step": step }))))
}

/// Reads the result of a call: a text, a list of contents, or any other JSON.
fn function_result(mut fields: Fields, notes: &mut Notes) -> Read<ChatMessage> {
    let id = fields.required_text("call_id")?;
    let name = fields.text("name")?.filter(|name| !name.is_empty());
    let is_error = fields.flag("is_error")?.unwrap_or(false);
    let is_contents = |list: &[Value]| {
        !list.is_empty()
            && list.iter().all(|item| {
                let kind = item.get("type").and_then(Value::as_str);
                kind.is_some_and(|kind| CONTENTS.contains(&kind))
            })
    };
    let content = match fields.any("result") {
        None => MessageContent::Text(String::new()),
        Some(Value::String(text)) => MessageContent::Text(text),
        Some(Value::Array(list)) if is_contents(&list) => {
            MessageContent::Parts(contents(list, "result", notes)?)
        }
        Some(other) => MessageContent::Text(other.to_string()),
    };
    let mut message = ChatMessage::tool(id, content);
    message.name = name;
    message.is_error = is_error;
    Ok(message)
}

fn contents(list: Vec<Value>, place: &str, notes: &mut Notes) -> Read<Vec<ContentPart>> {
    let mut parts = Vec::with_capacity(list.len());
    for (at, content) in list.into_iter().enumerate() {
        let fields = object_of(content).map_err(|wrong| wrong.at(place, at))?;
        let part = input(fields, &format!("{place}[{at}]"), notes);
        parts.extend(part.map_err(|wrong| wrong.at(place, at))?);
    }
    Ok(parts)
}

/// Reads a content of the user.
fn input(mut fields: Fields, place: &str, notes: &mut Notes) -> Read<Option<ContentPart>> {
    let kind = fields.text("type")?.unwrap_or_else(|| "text".to_owned());
    if kind == "text" {
        return Ok(Some(ContentPart::text(fields.required_text("text")?)));
    }
    if !CONTENTS.contains(&kind.as_str()) {
        notes.dropped(place, format!("a content `{kind}` has a meaning only for Google"));
        return Ok(None);
    }
    let mime = fields.text("mime_type")?.unwrap_or_default();
    let data = fields.text("data")?.filter(|data| !data.is_empty());
    let uri = fields.text("uri")?.filter(|uri| !uri.is_empty());
    let Some(url) = data.map(|data| DataUrl::of_base64(mime.as_str(), data).to_string()).or(uri)
    else {
        return Err(Wrong::missing("data"));
    };
    Ok(Some(match kind.as_str() {
        "image" => ContentPart::ImageUrl { image_url: ImageUrl::new(url), cache_control: None },
        "video" => ContentPart::VideoUrl { video_url: MediaUrl::new(url) },
        "audio" => {
            let format = crate::media::audio_format(&mime);
            let mut audio = AudioInput { format, ..AudioInput::default() };
            match DataUrl::parse(&url) {
                Some(data) => audio.data = data.into_base64().into_owned(),
                None => audio.url = Some(url),
            }
            ContentPart::InputAudio { input_audio: audio }
        }
        _ => {
            let mime_type = Some(mime).filter(|mime| !mime.is_empty());
            let mut file = FileInput { mime_type, ..FileInput::default() };
            if url.starts_with("data:") {
                file.file_data = Some(url);
            } else {
                file.file_url = Some(url);
            }
            ContentPart::File { file, cache_control: None }
        }
    }))
}

/// Reads a content that the model made.
fn generated(content: Value) -> Read<ContentPart> {
    let mut fields = object_of(content)?;
    let kind = fields.text("type")?.unwrap_or_else(|| "text".to_owned());
    Ok(match kind.as_str() {
        "text" => ContentPart::text(fields.required_text("text")?),
        "image" | "audio" | "video" | "document" => {
            let mime_type = fields.text("mime_type")?.unwrap_or_default();
            let data = fields.text("data")?.unwrap_or_default();
            let url = fields.text("uri")?;
            match kind.as_str() {
                "image" => {
                    let mut image = crate::chat::ImagePart::default();
                    (image.mime_type, image.data, image.url) = (mime_type, data, url);
                    ContentPart::Image(image)
                }
                "audio" if url.is_none() => {
                    let mut audio = crate::chat::AudioPart::default();
                    (audio.mime_type, audio.data) = (mime_type, data);
                    ContentPart::Audio(audio)
                }
                _ => {
                    let mut file = crate::chat::FilePart::default();
                    (file.mime_type, file.data, file.url) = (mime_type, data, url);
                    ContentPart::GeneratedFile(file)
                }
            }
        }
        _ => {
            fields.insert("type".to_owned(), kind.as_str().into());
            let data = json!({ "step": { "type": "model_output", "content": [fields] } });
            ContentPart::Opaque(OpaquePart { provider: String::new(), kind, data })
        }
    })
}
