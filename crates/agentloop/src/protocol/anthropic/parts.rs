//! The parts of a message, as blocks.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::markers::WireCache;
use crate::provider::Provider;
use crate::provider::quirks::ImageInput;
use crate::request::{ContentPart, FileInput};
use crate::response::ImagePart;

/// A block on the wire.
#[derive(Debug, Serialize)]
pub(super) struct Block<'a> {
    #[serde(flatten)]
    pub(super) body: BlockBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<WireCache>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockBody<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        citations: Vec<Value>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<Enabled>,
    },
    ToolUse {
        id: &'a str,
        name: Cow<'a, str>,
        input: Box<RawValue>,
        #[serde(flatten)]
        more: Option<&'a Map<String, Value>>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Content::is_empty")]
        content: Content<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    /// A block that the host made, as it came.
    #[serde(untagged)]
    Raw(Cow<'a, Value>),
}

/// Blocks, which are written as a text where they are nothing else.
#[derive(Debug, Default)]
pub(super) struct Content<'a>(pub(super) Vec<Block<'a>>);

impl Content<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [only] if only.plain().is_some() => {
                serializer.serialize_str(only.plain().unwrap_or_default())
            }
            blocks => blocks.serialize(serializer),
        }
    }
}

/// Where an image or a document is.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 { media_type: Cow<'a, str>, data: Cow<'a, str> },
    Text { media_type: &'static str, data: Cow<'a, str> },
    Url { url: &'a str },
    File { file_id: &'a str },
}

#[derive(Debug, Serialize)]
pub(super) struct Enabled {
    enabled: bool,
}

impl<'a> Block<'a> {
    pub(super) fn new(body: BlockBody<'a>) -> Self {
        Self { body, cache_control: None }
    }

    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(BlockBody::Text { text: text.into(), citations: Vec::new() })
    }

    /// Whether a marker may stand on it.
    pub(super) fn takes_marker(&self) -> bool {
        !matches!(self.body, BlockBody::Thinking { .. } | BlockBody::RedactedThinking { .. })
    }

    /// The text, if the block is nothing but text.
    pub(super) fn plain(&self) -> Option<&str> {
        match &self.body {
            BlockBody::Text { text, citations }
                if citations.is_empty() && self.cache_control.is_none() =>
            {
                Some(text)
            }
            _ => None,
        }
    }
}

/// A part of a turn of the user's or a tool's; `None` for blank text, or why the part cannot be taken.
pub(super) fn encode<'a>(
    part: &'a ContentPart,
    provider: &Provider,
) -> Result<Option<Block<'a>>, String> {
    let name = &provider.name;
    let (body, cache) = match part {
        ContentPart::Text(text) if text.text.trim().is_empty() => return Ok(None),
        ContentPart::Text(text) => {
            let body = BlockBody::Text { text: Cow::Borrowed(&text.text), citations: Vec::new() };
            (body, text.cache_control)
        }
        ContentPart::ImageUrl { image_url, cache_control } => {
            (BlockBody::Image { source: image(&image_url.url)? }, *cache_control)
        }
        ContentPart::Image(shown) => (BlockBody::Image { source: shown_image(shown)? }, None),
        ContentPart::File { file: input, cache_control } => (file(input)?, *cache_control),
        ContentPart::InputAudio { .. } | ContentPart::Audio(_) => {
            return Err(format!("{name} takes no audio"));
        }
        ContentPart::VideoUrl { .. } => return Err(format!("{name} takes no video")),
        other => return Err(format!("{name} takes no `{}` in this turn", other.kind())),
    };
    if let BlockBody::Image { source } = &body {
        match provider.quirks.images {
            ImageInput::Refused => return Err(format!("{name} takes no images")),
            ImageInput::DataOnly if !matches!(source, Source::Base64 { .. }) => {
                return Err(format!("{name} takes images only as data URLs, not by address"));
            }
            _ => {}
        }
    }
    Ok(Some(Block { body, cache_control: cache.map(Into::into) }))
}

/// A data URL: its media type, whether it is base64, and its content.
struct DataUrl<'a> {
    media_type: Cow<'a, str>,
    base64: bool,
    data: &'a str,
}

fn data_url(url: &str) -> Option<DataUrl<'_>> {
    let scheme = url.get(..5)?;
    let (head, data) = url[5..].split_once(',')?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    let mut words = head.split(';');
    let media_type = match words.next().map(str::trim).filter(|word| !word.is_empty()) {
        Some(word) => Cow::Owned(word.to_ascii_lowercase()),
        None => Cow::Borrowed("text/plain"),
    };
    let base64 = words.any(|word| word.trim().eq_ignore_ascii_case("base64"));
    Some(DataUrl { media_type, base64, data })
}

fn image(url: &str) -> Result<Source<'_>, String> {
    match data_url(url) {
        Some(data) if data.base64 => Ok(Source::Base64 {
            media_type: match data.media_type.as_ref() {
                "image/jpg" => Cow::Borrowed("image/jpeg"),
                _ => data.media_type,
            },
            data: Cow::Borrowed(data.data),
        }),
        Some(_) => Err("an image as a data URL must be base64".to_owned()),
        None => Ok(Source::Url { url }),
    }
}

/// An image of an earlier answer, shown again.
fn shown_image(shown: &ImagePart) -> Result<Source<'_>, String> {
    match &shown.url {
        Some(url) if shown.data.is_empty() => image(url),
        _ => Ok(Source::Base64 {
            media_type: Cow::Borrowed(&shown.mime_type),
            data: Cow::Borrowed(&shown.data),
        }),
    }
}

fn file(file: &FileInput) -> Result<BlockBody<'_>, String> {
    let named = |ends: &[&str]| {
        let name = file.filename.as_deref().unwrap_or_default().to_ascii_lowercase();
        ends.iter().any(|end| name.ends_with(end))
    };
    let told = file.mime_type.as_deref().unwrap_or_default();
    let is_image = match told {
        "" => named(&[".png", ".jpg", ".jpeg", ".gif", ".webp"]),
        told => told.starts_with("image/"),
    };
    let source = if let Some(content) = &file.file_data {
        let data = match data_url(content) {
            Some(data) => data,
            // Base64 without its wrapper.
            None => DataUrl {
                media_type: match told {
                    "" if named(&[".pdf"]) => Cow::Borrowed("application/pdf"),
                    "" => return Err("the kind of the file is not known".to_owned()),
                    told => Cow::Borrowed(told),
                },
                base64: true,
                data: content,
            },
        };
        if data.media_type.starts_with("image/") {
            return Ok(BlockBody::Image { source: image(content)? });
        }
        content_source(data)?
    } else if let Some(url) = &file.file_url {
        Source::Url { url }
    } else if let Some(file_id) = &file.file_id {
        Source::File { file_id }
    } else {
        return Err("the file has neither `file_data` nor `file_url` nor `file_id`".to_owned());
    };
    if is_image && !matches!(source, Source::Base64 { .. } | Source::Text { .. }) {
        return Ok(BlockBody::Image { source });
    }
    Ok(BlockBody::Document {
        source,
        title: file.title.as_deref().or(file.filename.as_deref()),
        context: file.context.as_deref(),
        citations: file.citations.map(|enabled| Enabled { enabled }),
    })
}

/// A PDF, or text.
fn content_source(data: DataUrl<'_>) -> Result<Source<'_>, String> {
    let kind = data.media_type.as_ref();
    if kind == "application/pdf" && data.base64 {
        let data_ = Cow::Borrowed(data.data);
        return Ok(Source::Base64 { media_type: data.media_type, data: data_ });
    }
    let is_text = kind.starts_with("text/")
        || matches!(kind, "application/json" | "application/xml" | "application/yaml");
    if !is_text {
        return Err(format!("a file of the kind {kind} is not taken: PDF and text are"));
    }
    let bytes = match data.base64 {
        true => STANDARD.decode(data.data.trim()).map_err(|error| format!("the file: {error}"))?,
        false => percent_decoded(data.data),
    };
    let text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text".to_owned())?;
    Ok(Source::Text { media_type: "text/plain", data: Cow::Owned(text) })
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code.filter(|_| byte == b'%') {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}
