//! Reads the content of messages and of results.

use serde_json::{Value, json};

use crate::chat::{
    CacheControl, ContentPart, FileInput, ImageUrl, MessageContent, TextPart, Warning, WarningKind,
};
use crate::error::Result;
use crate::protocol::openai::serve::breakpoint;
use crate::protocol::openai::serve::fields::{
    self, Fields, invalid, kind_of, object, read, required, take_in,
};

/// Reads content: a text, or a list of pieces. Null is an empty text.
///
/// # Errors
///
/// When it is neither, or a piece has a form that cannot be read.
pub(super) fn content(
    value: Value,
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<MessageContent> {
    match value {
        Value::Null => Ok(MessageContent::Text(String::new())),
        Value::String(text) => Ok(MessageContent::Text(text)),
        Value::Array(list) => pieces(list, path, warnings).map(MessageContent::Parts),
        other => {
            let why = format!("expected a text or a list, found {}", kind_of(&other));
            Err(invalid(path, why))
        }
    }
}

/// Reads the result of a tool. What is neither text nor a list of pieces is kept as JSON.
///
/// # Errors
///
/// When a piece has a form that cannot be read.
pub(super) fn output(
    value: Value,
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<MessageContent> {
    let has_types = |list: &[Value]| list.iter().all(|piece| piece.get("type").is_some());
    match value {
        Value::Array(list) if !has_types(&list) => {
            Ok(MessageContent::Text(Value::Array(list).to_string()))
        }
        // The picture of a screen.
        Value::Object(fields) if fields::kind(&fields) == "computer_screenshot" => {
            pieces(vec![Value::Object(fields)], path, warnings).map(MessageContent::Parts)
        }
        value @ (Value::Null | Value::String(_) | Value::Array(_)) => {
            content(value, path, warnings)
        }
        other => Ok(MessageContent::Text(other.to_string())),
    }
}

/// Reads pieces of content.
///
/// # Errors
///
/// When one has a form that cannot be read.
pub(super) fn pieces(
    list: Vec<Value>,
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ContentPart>> {
    let mut parts = Vec::with_capacity(list.len());
    for (at, piece) in list.into_iter().enumerate() {
        let path = format!("{path}[{at}]");
        parts.push(match piece {
            Value::String(text) => ContentPart::text(text),
            piece => part(object(piece, &path)?, &path, warnings)?,
        });
    }
    Ok(parts)
}

fn part(mut piece: Fields, path: &str, warnings: &mut Vec<Warning>) -> Result<ContentPart> {
    let cache_control = breakpoint(&mut piece, path)?;
    match fields::kind(&piece) {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            let text: String = required(&mut piece, path, "text")?;
            Ok(ContentPart::Text(TextPart { cache_control, ..TextPart::new(text) }))
        }
        "refusal" => Ok(ContentPart::text(required::<String>(&mut piece, path, "refusal")?)),
        "input_image" | "computer_screenshot" => image(piece, cache_control, path),
        "input_file" => Ok(ContentPart::File { file: file(piece, path)?, cache_control }),
        "input_audio" => {
            let mut audio: Fields = required(&mut piece, path, "input_audio")?;
            audio.retain(|name, _| matches!(name.as_str(), "data" | "format"));
            let input_audio = read(Value::Object(audio), &format!("{path}.input_audio"))?;
            Ok(ContentPart::InputAudio { input_audio })
        }
        "" => Err(invalid(&format!("{path}.type"), "it is required")),
        kind => {
            let why = format!("{path}: content of type `{kind}` is sent as its JSON");
            warnings.push(Warning::new(WarningKind::Converted, path, why));
            Ok(ContentPart::text(Value::Object(piece).to_string()))
        }
    }
}

fn image(
    mut piece: Fields,
    cache_control: Option<CacheControl>,
    path: &str,
) -> Result<ContentPart> {
    let url = match piece.remove("image_url") {
        // Chat completions have the URL in an object.
        Some(Value::Object(mut inner)) => {
            if let Some(detail) = inner.remove("detail") {
                piece.entry("detail").or_insert(detail);
            }
            inner.remove("url")
        }
        url => url,
    };
    let Some(url) = url.filter(|url| !url.is_null()) else {
        if piece.get("file_id").is_none_or(Value::is_null) {
            return Err(invalid(&format!("{path}.image_url"), "it is required"));
        }
        piece.remove("detail");
        return Ok(ContentPart::File { file: file(piece, path)?, cache_control });
    };
    let url: String = read(url, &format!("{path}.image_url"))?;
    let detail = piece.remove("detail").filter(|detail| !detail.is_null());
    let detail = detail.map(|detail| read(detail, &format!("{path}.detail"))).transpose()?;
    let image_url = ImageUrl { detail, ..ImageUrl::new(url) };
    Ok(ContentPart::ImageUrl { image_url, cache_control })
}

fn file(mut piece: Fields, path: &str) -> Result<FileInput> {
    let file = FileInput {
        file_data: take_in(&mut piece, path, "file_data")?,
        file_url: take_in(&mut piece, path, "file_url")?,
        file_id: take_in(&mut piece, path, "file_id")?,
        filename: take_in(&mut piece, path, "filename")?,
        ..FileInput::default()
    };
    if file.file_data.is_none() && file.file_url.is_none() && file.file_id.is_none() {
        let names = json!(["file_data", "file_url", "file_id"]);
        return Err(invalid(path, format!("one of {names} is required")));
    }
    Ok(file)
}
