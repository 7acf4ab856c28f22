//! Reads images and documents.

use serde_json::{Map, Value};

use crate::chat::{CacheControl, ContentPart, FileInput, ImageUrl};
use crate::media::DataUrl;
use crate::protocol::serve::known::{Read, Take as _, Wrong};
use crate::protocol::serve::notes::Notes;

type Fields = Map<String, Value>;

fn source(fields: &mut Fields) -> Read<(String, Fields)> {
    let mut source = fields.object("source")?.ok_or_else(|| Wrong::missing("source"))?;
    let kind = source.required_text("type").map_err(in_source)?;
    Ok((kind, source))
}

fn in_source(wrong: Wrong) -> Wrong {
    wrong.within("source")
}

fn unknown(kinds: &str) -> Wrong {
    Wrong::new("source.type", format!("must be one of {kinds}"))
}

/// Reads an image: its bytes, its URL, or its id at Anthropic.
pub(super) fn image(mut fields: Fields, cache_control: Option<CacheControl>) -> Read<ContentPart> {
    let (kind, mut source) = source(&mut fields)?;
    let url = match kind.as_str() {
        "base64" => data_url(&mut source).map_err(in_source)?,
        "url" => source.required_text("url").map_err(in_source)?,
        "file" => {
            let file = FileInput {
                file_id: Some(source.required_text("file_id").map_err(in_source)?),
                mime_type: Some("image/*".to_owned()),
                ..FileInput::default()
            };
            return Ok(ContentPart::File { file, cache_control });
        }
        _ => return Err(unknown("`base64`, `url` and `file`")),
    };
    Ok(ContentPart::ImageUrl { image_url: ImageUrl::new(url), cache_control })
}

fn data_url(source: &mut Fields) -> Read<String> {
    let kind = source.required_text("media_type")?;
    let data = source.required_text("data")?;
    Ok(format!("data:{kind};base64,{data}"))
}

/// Reads a document: its bytes, its text, its URL, its id at Anthropic, or blocks of text.
pub(super) fn document(
    mut fields: Fields,
    cache_control: Option<CacheControl>,
    place: &str,
    notes: &mut Notes,
) -> Read<ContentPart> {
    let (kind, mut source) = source(&mut fields)?;
    let mut file = FileInput::default();
    match kind.as_str() {
        "base64" => file.file_data = Some(data_url(&mut source).map_err(in_source)?),
        "text" => {
            let kind = source.text("media_type").map_err(in_source)?;
            let text = source.required_text("data").map_err(in_source)?;
            file.file_data = Some(text_url(kind.as_deref().unwrap_or("text/plain"), &text));
        }
        "content" => {
            let text = content(source.any("content"), place, notes).map_err(in_source)?;
            file.file_data = Some(text_url("text/plain", &text));
        }
        "url" => file.file_url = Some(source.required_text("url").map_err(in_source)?),
        "file" => file.file_id = Some(source.required_text("file_id").map_err(in_source)?),
        _ => return Err(unknown("`base64`, `text`, `content`, `url` and `file`")),
    }
    file.title = fields.text("title")?;
    file.context = fields.text("context")?;
    if let Some(mut citations) = fields.object("citations")? {
        file.citations = citations.flag("enabled").map_err(|wrong| wrong.within("citations"))?;
    }
    Ok(ContentPart::File { file, cache_control })
}

/// Returns text as a data URL. It is base64, because `%` has a meaning in the other form.
fn text_url(kind: &str, text: &str) -> String {
    DataUrl::of_bytes(kind, text).to_string()
}

/// Returns the text of a document that consists of blocks.
fn content(content: Option<Value>, place: &str, notes: &mut Notes) -> Read<String> {
    let blocks = match content {
        Some(Value::String(text)) => return Ok(text),
        Some(Value::Array(blocks)) => blocks,
        None => return Err(Wrong::missing("content")),
        Some(_) => return Err(Wrong::new("content", "must be a string or a list of blocks")),
    };
    let mut texts = Vec::with_capacity(blocks.len());
    for block in &blocks {
        match block.get("text").and_then(Value::as_str) {
            Some(text) => texts.push(text),
            None => notes.dropped(place, "only the text of a document of blocks is sent"),
        }
    }
    Ok(texts.join("\n\n"))
}
