//! Reads the parts of contents.

use serde_json::{Map, Value, json};

use super::names::camel_case;
use crate::chat::{
    AudioInput, AudioPart, CodeExecutionPart, CodeOutcome, CodeResultPart, ContentPart, FileInput,
    FilePart, ImagePart, MediaUrl, OpaquePart, ProviderState, ServerToolCallPart,
    ServerToolResultPart, TextPart, ThinkingPart, ToolCallPart,
};
use crate::media::is_video_page;
use crate::protocol::serve::known::{Read, Take as _, Wrong};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

/// Values that clients send where there is no signature, as text and as the bytes of it in base64.
const NO_SIGNATURES: [&str; 4] = [
    "skip_thought_signature_validator",
    "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I",
    "context_engineering_is_the_way_to_go",
    "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
];

/// Takes the signature of a part, exactly as it is. A value that stands for none is none.
pub(super) fn signature(fields: &mut Fields) -> Read<Option<String>> {
    let signature = fields.text("thoughtSignature")?;
    Ok(signature.filter(|text| !text.is_empty() && !is_placeholder(text)))
}

fn is_placeholder(signature: &str) -> bool {
    // An SDK that takes the value for base64 may write it in the other alphabet, and with padding.
    let same = |known: &str| {
        let bytes = signature.trim_end_matches('=').bytes();
        bytes.map(|byte| if byte == b'/' { b'_' } else { byte }).eq(known.bytes())
    };
    NO_SIGNATURES.iter().any(|known| same(known))
}

fn state(signature: Option<String>) -> Option<Box<ProviderState>> {
    let data = json!({ "thoughtSignature": signature? });
    Some(Box::new(ProviderState::new("", data)))
}

/// Reads a call. `id` is its unified id, `given` the one that the client sent.
pub(super) fn call(
    mut fields: Fields,
    id: String,
    name: String,
    given: Option<String>,
    signature: Option<String>,
) -> Read<ContentPart> {
    let arguments = match fields.any("args") {
        None => "{}".to_owned(),
        Some(Value::String(text)) => text,
        Some(args) => args.to_string(),
    };
    let mut data = Map::new();
    if let Some(signature) = signature {
        data.insert("thoughtSignature".to_owned(), Value::String(signature));
    }
    if let Some(given) = given {
        data.insert("id".to_owned(), Value::String(given));
    }
    let provider_state =
        (!data.is_empty()).then(|| Box::new(ProviderState::new("", Value::Object(data))));
    Ok(ContentPart::ToolCall(ToolCallPart { id, name, arguments, provider_state }))
}

/// Reads a part of the user, or of the result of a tool. One of an unknown kind is left out.
pub(super) fn input(
    mut fields: Fields,
    place: &str,
    notes: &mut Notes,
) -> Read<Option<ContentPart>> {
    for name in ["videoMetadata", "mediaResolution", "partMetadata"] {
        if fields.any(name).is_some() {
            let why = format!("`{name}` has a meaning only for Google");
            notes.dropped(&format!("{place}.{name}"), why);
        }
    }
    if let Some(text) = fields.text("text")? {
        return Ok(Some(ContentPart::text(text)));
    }
    if let Some(blob) = Blob::take(&mut fields)? {
        return Ok(Some(blob.input()));
    }
    fields.retain(|name, value| !name.starts_with("thought") && !value.is_null());
    if let Some(kind) = fields.keys().next() {
        notes.dropped(place, format!("a part `{kind}` of the user has a meaning only for Google"));
    }
    Ok(None)
}

/// Reads a part of an earlier response. What only its provider understands is kept as it is.
pub(super) fn generated(mut fields: Fields) -> Read<Option<ContentPart>> {
    let signature = signature(&mut fields)?;
    let is_thought = fields.flag("thought")? == Some(true);
    if let Some(text) = fields.text("text")? {
        return Ok(Some(of_text(text, is_thought, signature)));
    }
    if let Some(blob) = Blob::take(&mut fields)? {
        // A draft inside the thoughts is not output.
        return Ok((!is_thought).then(|| blob.generated(state(signature))));
    }
    if let Some(code) = fields.object("executableCode")? {
        let mut code = camel_case(code);
        let within = |wrong: Wrong| wrong.within("executableCode");
        return Ok(Some(ContentPart::CodeExecution(CodeExecutionPart {
            id: code.text("id").map_err(within)?,
            language: code
                .text("language")
                .map_err(within)?
                .unwrap_or_default()
                .to_ascii_lowercase(),
            code: code.text("code").map_err(within)?.unwrap_or_default(),
            provider_state: state(signature),
        })));
    }
    if let Some(result) = fields.object("codeExecutionResult")? {
        let result = code_result(camel_case(result), signature);
        return result.map(Some).map_err(|wrong| wrong.within("codeExecutionResult"));
    }
    if let Some(call) = fields.object("toolCall")? {
        let mut call = camel_case(call);
        let name = call.text("toolType").map_err(|wrong| wrong.within("toolCall"))?;
        let name = name.unwrap_or_default();
        return Ok(Some(ContentPart::ServerToolCall(ServerToolCallPart {
            id: call.text("id").map_err(|wrong| wrong.within("toolCall"))?.unwrap_or_default(),
            arguments: call.any("args").unwrap_or_else(|| json!({})),
            provider_state: server_state(&name, signature),
            name,
        })));
    }
    if let Some(result) = fields.object("toolResponse")? {
        let mut result = camel_case(result);
        let within = |wrong: Wrong| wrong.within("toolResponse");
        let name = result.text("toolType").map_err(within)?.unwrap_or_default();
        return Ok(Some(ContentPart::ServerToolResult(ServerToolResultPart {
            tool_call_id: result.text("id").map_err(within)?.unwrap_or_default(),
            content: result.any("response").unwrap_or_default(),
            is_error: false,
            provider_state: server_state(&name, signature),
        })));
    }
    fields.retain(|_, value| !value.is_null());
    match fields.keys().next().cloned() {
        Some(kind) => {
            if let Some(signature) = signature {
                fields.insert("thoughtSignature".to_owned(), Value::String(signature));
            }
            let data = Value::Object(fields);
            Ok(Some(ContentPart::Opaque(OpaquePart { provider: String::new(), kind, data })))
        }
        // A part that is there only for its signature.
        None if signature.is_some() => Ok(Some(of_text(String::new(), is_thought, signature))),
        None => Ok(None),
    }
}

fn of_text(text: String, is_thought: bool, signature: Option<String>) -> ContentPart {
    if is_thought {
        return ContentPart::Thinking(ThinkingPart {
            thinking: text,
            provider_state: state(signature.clone()),
            signature,
        });
    }
    let mut part = TextPart::new(text);
    part.provider_state = state(signature);
    ContentPart::Text(part)
}

fn server_state(name: &str, signature: Option<String>) -> Option<Box<ProviderState>> {
    let mut data = json!({ "toolType": name });
    if let Some(signature) = signature {
        data["thoughtSignature"] = Value::String(signature);
    }
    Some(Box::new(ProviderState::new("", data)))
}

fn code_result(mut fields: Fields, signature: Option<String>) -> Read<ContentPart> {
    let outcome = match fields.text("outcome")?.as_deref() {
        Some("OUTCOME_OK") => CodeOutcome::Ok,
        Some("OUTCOME_FAILED") => CodeOutcome::Error,
        Some("OUTCOME_DEADLINE_EXCEEDED") => CodeOutcome::Timeout,
        _ => CodeOutcome::Unknown,
    };
    Ok(ContentPart::CodeResult(CodeResultPart {
        id: fields.text("id")?,
        outcome,
        output: fields.text("output")?.unwrap_or_default(),
        provider_state: state(signature),
        ..CodeResultPart::default()
    }))
}

/// Returns base64 in the standard alphabet and with padding. google-genai for Python writes the other alphabet, which other
/// APIs refuse.
fn standard_base64(data: String) -> String {
    if !data.contains(['-', '_']) && data.len().is_multiple_of(4) {
        return data;
    }
    let mut standard = data.replace('-', "+").replace('_', "/");
    while !standard.len().is_multiple_of(4) && standard.len() % 4 != 1 {
        standard.push('=');
    }
    standard
}

/// Bytes, or where they are.
struct Blob {
    mime: String,
    data: String,
    uri: Option<String>,
    name: Option<String>,
}

impl Blob {
    fn take(part: &mut Fields) -> Read<Option<Self>> {
        if let Some(fields) = part.object("inlineData")? {
            let blob = Self::inline(camel_case(fields));
            return blob.map(Some).map_err(|wrong| wrong.within("inlineData"));
        }
        let Some(fields) = part.object("fileData")? else { return Ok(None) };
        Self::remote(camel_case(fields)).map(Some).map_err(|wrong| wrong.within("fileData"))
    }

    fn inline(mut fields: Fields) -> Read<Self> {
        Ok(Self {
            mime: fields.required_text("mimeType")?,
            data: standard_base64(fields.text("data")?.unwrap_or_default()),
            uri: None,
            name: fields.text("displayName")?,
        })
    }

    fn remote(mut fields: Fields) -> Read<Self> {
        Ok(Self {
            mime: fields.text("mimeType")?.unwrap_or_default(),
            data: String::new(),
            uri: Some(fields.required_text("fileUri")?),
            name: fields.text("displayName")?,
        })
    }

    fn kind(&self) -> &str {
        let kind = self.mime.split('/').next().unwrap_or_default();
        match &self.uri {
            Some(uri) if kind.is_empty() && is_video_page(uri) => "video",
            _ => kind,
        }
    }

    /// Returns a part of the user.
    fn input(self) -> ContentPart {
        let url = |blob: &Self| match &blob.uri {
            Some(uri) => uri.clone(),
            None => format!("data:{};base64,{}", blob.mime, blob.data),
        };
        match self.kind() {
            "image" => ContentPart::image_url(url(&self)),
            "video" => ContentPart::VideoUrl { video_url: MediaUrl { url: url(&self) } },
            "audio" => {
                let format = match self.mime.trim_start_matches("audio/") {
                    "mpeg" => "mp3".to_owned(),
                    "x-wav" | "wave" | "vnd.wave" => "wav".to_owned(),
                    format => format.to_owned(),
                };
                let input_audio = AudioInput { data: self.data, format, url: self.uri };
                ContentPart::InputAudio { input_audio }
            }
            _ => {
                let mut file = FileInput::default();
                if self.uri.is_some() {
                    file.file_url.clone_from(&self.uri);
                    file.mime_type = Some(self.mime).filter(|mime| !mime.is_empty());
                } else {
                    file.file_data = Some(url(&self));
                }
                file.filename = self.name;
                ContentPart::File { file, cache_control: None }
            }
        }
    }

    /// Returns a part of an earlier response.
    fn generated(self, provider_state: Option<Box<ProviderState>>) -> ContentPart {
        let Self { mime, data, uri, name } = self;
        if mime.starts_with("image/") {
            let image = ImagePart { mime_type: mime, data, url: uri, provider_state };
            return ContentPart::Image(image);
        }
        if mime.starts_with("audio/") && uri.is_none() {
            let mut audio = AudioPart::default();
            (audio.mime_type, audio.data, audio.provider_state) = (mime, data, provider_state);
            return ContentPart::Audio(audio);
        }
        ContentPart::GeneratedFile(FilePart {
            mime_type: mime,
            data,
            url: uri,
            name,
            provider_state,
        })
    }
}
