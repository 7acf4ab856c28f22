//! The parts of a message, as blocks.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::cache_markers::WireCache;
use crate::chat::ContentPart;
use crate::media::{MediaKind, Medium, Refusal, Source as From};
use crate::protocol::Shown;
use crate::provider::Provider;
use crate::provider::quirks::ImageInput;

/// A block on the wire.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Block<'a> {
    #[serde(flatten)]
    pub(super) body: BlockBody<'a>,
    pub(super) cache_control: Option<WireCache>,
}

#[skip_serializing_none]
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
        title: Option<&'a str>,
        context: Option<&'a str>,
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
    /// A block of the provider itself, unchanged.
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

    /// Returns whether a marker may be on it.
    pub(super) fn takes_marker(&self) -> bool {
        !matches!(self.body, BlockBody::Thinking { .. } | BlockBody::RedactedThinking { .. })
    }

    /// Returns the text, if the block is nothing but text.
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

/// Returns where the provider takes a part of a tool's result: what it takes at all it takes there too.
pub(super) fn shown(part: &ContentPart, provider: &Provider) -> Shown {
    Shown::unless(|_| encode(part, provider).err())
}

/// Returns a part of a message of the user's or a tool's; `None` for blank text, or why the part cannot be taken.
pub(super) fn encode<'a>(
    part: &'a ContentPart,
    provider: &Provider,
) -> Result<Option<Block<'a>>, Refusal> {
    let name = &provider.name;
    let (body, cache) = match part {
        ContentPart::Text(text) if text.text.trim().is_empty() => return Ok(None),
        ContentPart::Text(text) => {
            let body = BlockBody::Text { text: Cow::Borrowed(&text.text), citations: Vec::new() };
            (body, text.cache_control)
        }
        part => {
            let Some(medium) = Medium::of(part)? else {
                return Err(
                    format!("{name} does not accept `{}` in this message", part.kind()).into()
                );
            };
            let cache = match part {
                ContentPart::ImageUrl { cache_control, .. }
                | ContentPart::File { cache_control, .. } => *cache_control,
                _ => None,
            };
            (media(medium, part, provider)?, cache)
        }
    };
    Ok(Some(Block { body, cache_control: cache.map(Into::into) }))
}

/// The kinds of images that are looked at.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

fn media<'a>(
    medium: Medium<'a>,
    part: &'a ContentPart,
    provider: &Provider,
) -> Result<BlockBody<'a>, Refusal> {
    let name = &provider.name;
    let kind = medium.essence();
    match medium.kind {
        MediaKind::Image => Ok(BlockBody::Image { source: image(medium, kind, provider)? }),
        MediaKind::Audio => Err(format!("{name} does not accept audio").into()),
        MediaKind::Video => Err(format!("{name} does not accept video").into()),
        MediaKind::File => {
            let file = match part {
                ContentPart::File { file, .. } => Some(file),
                _ => None,
            };
            let title = file.and_then(|file| file.title.as_deref()).or(medium.name);
            Ok(BlockBody::Document {
                source: document(medium, kind, provider)?,
                title,
                context: file.and_then(|file| file.context.as_deref()),
                citations: file.and_then(|file| file.citations).map(|enabled| Enabled { enabled }),
            })
        }
    }
}

fn image<'a>(
    medium: Medium<'a>,
    kind: Option<Cow<'static, str>>,
    provider: &Provider,
) -> Result<Source<'a>, Refusal> {
    let name = &provider.name;
    match (provider.quirks.images, medium.source) {
        (_, From::Inline(data)) => {
            let kind = kind.ok_or_else(|| Refusal::unknown_type("the image", "its content"))?;
            if !IMAGES.contains(&kind.as_ref()) {
                let why =
                    format!("{name} accepts images as JPEG, PNG, GIF and WebP, not as {kind}");
                return Err(why.into());
            }
            Ok(Source::Base64 { media_type: kind, data: data.into_base64() })
        }
        (ImageInput::DataOnly, _) => {
            let why = format!("{name} accepts images only as data, not by URL");
            Err(Refusal::needs_bytes(why))
        }
        (_, From::Address(url)) => Ok(Source::Url { url }),
        (_, From::Id(file_id)) => Ok(Source::File { file_id }),
    }
}

/// Returns a PDF, or text.
fn document<'a>(
    medium: Medium<'a>,
    kind: Option<Cow<'static, str>>,
    provider: &Provider,
) -> Result<Source<'a>, Refusal> {
    let data = match medium.source {
        From::Id(file_id) => return Ok(Source::File { file_id }),
        From::Address(_) if provider.needs_bytes(MediaKind::File, kind.as_deref()) => {
            let (name, kind) = (&provider.name, kind.unwrap_or_default());
            let why = format!("{name} accepts only PDFs by URL, not {kind}");
            return Err(Refusal::needs_bytes(why));
        }
        From::Address(url) => return Ok(Source::Url { url }),
        From::Inline(data) => data,
    };
    let kind = kind.ok_or_else(|| Refusal::unknown_type("the file", "its name and content"))?;
    if kind == "application/pdf" {
        return Ok(Source::Base64 { media_type: kind, data: data.into_base64() });
    }
    let is_text = kind.starts_with("text/")
        || matches!(kind.as_ref(), "application/json" | "application/xml" | "application/yaml");
    if !is_text {
        let why = format!("files of type {kind} are not accepted; use PDF or text");
        return Err(why.into());
    }
    let bytes = data.bytes().map_err(|error| format!("the file: {}", error.message()))?;
    let text = String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text")?;
    Ok(Source::Text { media_type: "text/plain", data: Cow::Owned(text) })
}
