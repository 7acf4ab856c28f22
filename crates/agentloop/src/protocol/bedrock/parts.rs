//! The parts of a message, as blocks.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::cache_points::{Blocks, CachePoint};
use crate::chat::{CacheControl, ContentPart, FileInput};
use crate::media::{MediaKind, Medium, Refusal, Source as From};
use crate::protocol::Shown;
use crate::provider::Provider;

/// A block, and whether the prompt is cached up to here.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) body: BlockBody<'a>,
    pub(super) cache: Option<CacheControl>,
}

/// A block on the wire: an object with one field, whose name is the kind.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum BlockBody<'a> {
    Text(Cow<'a, str>),
    CitationsContent {
        content: [TextContent<'a>; 1],
        citations: Vec<Value>,
    },
    Image {
        format: &'static str,
        source: Source<'a>,
    },
    Document {
        format: &'static str,
        name: String,
        source: Source<'a>,
        context: Option<&'a str>,
        citations: Option<Enabled>,
    },
    Video {
        format: &'static str,
        source: Source<'a>,
    },
    Audio {
        format: &'static str,
        source: Source<'a>,
    },
    ToolUse {
        tool_use_id: &'a str,
        name: &'a str,
        input: Box<RawValue>,
        #[serde(flatten)]
        more: Option<&'a Map<String, Value>>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(serialize_with = "blocks")]
        content: Vec<Block<'a>>,
        status: Option<&'static str>,
    },
    ReasoningContent(Reasoning<'a>),
    CachePoint(CachePoint),
    /// A block of the provider itself, unchanged.
    #[serde(untagged)]
    Raw(Cow<'a, Value>),
}

#[derive(Debug, Serialize)]
pub(super) struct TextContent<'a> {
    pub(super) text: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reasoning<'a> {
    ReasoningText { text: &'a str, signature: &'a str },
    RedactedContent(&'a str),
}

/// Where a medium is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Source<'a> {
    /// Here, in base64.
    Bytes(Cow<'a, str>),
    /// In Amazon's storage.
    S3Location {
        uri: &'a str,
    },
    Text(String),
}

#[derive(Debug, Serialize)]
pub(super) struct Enabled {
    enabled: bool,
}

fn blocks<S: Serializer>(content: &[Block<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    Blocks(content).serialize(serializer)
}

impl<'a> Block<'a> {
    pub(super) fn new(body: BlockBody<'a>) -> Self {
        Self { body, cache: None }
    }

    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(BlockBody::Text(text.into()))
    }

    /// Returns whether a cache point may follow.
    pub(super) fn takes_marker(&self) -> bool {
        !matches!(self.body, BlockBody::ReasoningContent(_))
    }
}

/// Returns where the provider takes a part of a tool's result. Audio has a place in messages only.
pub(super) fn shown(part: &ContentPart, provider: &Provider) -> Shown {
    Shown::unless(|of_tool| encode(part, provider, of_tool).err())
}

/// Returns a part of a message of the user's or a tool's; `None` for blank text, or why the part cannot be taken.
pub(super) fn encode<'a>(
    part: &'a ContentPart,
    provider: &Provider,
    of_tool: bool,
) -> Result<Option<Block<'a>>, Refusal> {
    let name = &provider.name;
    match part {
        ContentPart::Text(text) if text.text.trim().is_empty() => Ok(None),
        ContentPart::Text(text) => Ok(Some(Block {
            body: BlockBody::Text(Cow::Borrowed(&text.text)),
            cache: text.cache_control,
        })),
        part => {
            let Some(medium) = Medium::of(part)? else {
                return Err(
                    format!("{name} does not accept `{}` in this message", part.kind()).into()
                );
            };
            let (file, cache) = match part {
                ContentPart::File { file, cache_control } => (Some(file), *cache_control),
                ContentPart::ImageUrl { cache_control, .. } => (None, *cache_control),
                _ => (None, None),
            };
            if of_tool && medium.kind == MediaKind::Audio {
                return Err(format!("{name} does not accept audio in results of tools").into());
            }
            Ok(Some(Block { body: media(medium, file, provider)?, cache }))
        }
    }
}

/// The formats of each kind of medium, by media type (botocore 1.44.3: `ImageFormat`, `VideoFormat`, `AudioFormat`, `DocumentFormat`).
const IMAGES: &[(&str, &str)] = &[
    ("image/png", "png"),
    ("image/jpeg", "jpeg"),
    ("image/jpg", "jpeg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
];
const VIDEOS: &[(&str, &str)] = &[
    ("video/mp4", "mp4"),
    ("video/quicktime", "mov"),
    ("video/x-matroska", "mkv"),
    ("video/webm", "webm"),
    ("video/x-flv", "flv"),
    ("video/mpeg", "mpeg"),
    ("video/x-ms-wmv", "wmv"),
    ("video/3gpp", "three_gp"),
];
const AUDIO: &[(&str, &str)] = &[
    ("audio/mpeg", "mp3"),
    ("audio/mp3", "mp3"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/wave", "wav"),
    ("audio/flac", "flac"),
    ("audio/x-flac", "flac"),
    ("audio/aac", "aac"),
    ("audio/ogg", "ogg"),
    ("audio/opus", "opus"),
    ("audio/mp4", "mp4"),
    ("audio/m4a", "m4a"),
    ("audio/x-m4a", "m4a"),
    ("audio/webm", "webm"),
    ("audio/x-matroska", "mka"),
];
const DOCUMENTS: &[(&str, &str)] = &[
    ("application/pdf", "pdf"),
    ("text/csv", "csv"),
    ("application/msword", "doc"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("text/html", "html"),
    ("text/plain", "txt"),
    ("text/markdown", "md"),
    // Text, whatever it means.
    ("application/json", "txt"),
    ("application/xml", "txt"),
    ("application/yaml", "txt"),
];

/// Returns the media type of a format, to read what the API sends.
#[cfg(feature = "serve")]
pub(super) fn mime_of(kind: MediaKind, format: &str) -> Option<&'static str> {
    let known = formats(kind).iter().find(|(_, known)| *known == format);
    known.map(|(mime, _)| *mime)
}

fn formats(kind: MediaKind) -> &'static [(&'static str, &'static str)] {
    match kind {
        MediaKind::Image => IMAGES,
        MediaKind::Video => VIDEOS,
        MediaKind::Audio => AUDIO,
        MediaKind::File => DOCUMENTS,
    }
}

fn media<'a>(
    medium: Medium<'a>,
    file: Option<&'a FileInput>,
    provider: &Provider,
) -> Result<BlockBody<'a>, Refusal> {
    let name = &provider.name;
    let kind = medium.kind;
    if let From::Address(url) = medium.source
        && !url.starts_with("s3://")
    {
        let why = format!("{name} accepts {kind} only as data or from S3, not by URL");
        return Err(Refusal::needs_bytes(why));
    }
    let mime = medium.essence();
    let mime = mime.ok_or_else(|| Refusal::unknown_type(&format!("the {kind}"), "its content"))?;
    let known = formats(kind).iter().find(|(known, _)| *known == mime);
    let format = match known {
        Some((_, format)) => *format,
        None if kind == MediaKind::File && mime.starts_with("text/") => "txt",
        None => return Err(format!("{name} does not accept {kind} of type {mime}").into()),
    };
    let title = file.and_then(|file| file.title.as_deref()).or(medium.name);
    let citations = file.and_then(|file| file.citations);
    let source = match medium.source {
        From::Id(_) => return Err(format!("{name} has no uploaded files").into()),
        From::Address(uri) => Source::S3Location { uri },
        // Sources of a text are counted in its letters: recording bedrock-json-citations-pdf-in-d45f14bd.
        From::Inline(data) if format == "txt" && citations == Some(true) => {
            let bytes = data.bytes().map_err(|error| format!("the file: {}", error.message()))?;
            Source::Text(String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text")?)
        }
        From::Inline(data) => Source::Bytes(data.into_base64()),
    };
    Ok(match kind {
        MediaKind::Image => BlockBody::Image { format, source },
        MediaKind::Video => BlockBody::Video { format, source },
        MediaKind::Audio => BlockBody::Audio { format, source },
        MediaKind::File => BlockBody::Document {
            format,
            name: document_name(title.unwrap_or_default()),
            source,
            context: file.and_then(|file| file.context.as_deref()),
            citations: citations.map(|enabled| Enabled { enabled }),
        },
    })
}

/// The most letters of the name of a document, with room for a number.
const LONGEST_NAME: usize = 190;

/// Returns a name that is accepted: letters, digits, single spaces, hyphens, parentheses and brackets.
fn document_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    // The extension is the format.
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_taken = |letter: &char| letter.is_ascii_alphanumeric() || "-()[]".contains(*letter);
    let mut written = String::with_capacity(stem.len().min(LONGEST_NAME));
    for letter in stem.chars().take(LONGEST_NAME) {
        match letter {
            letter if is_taken(&letter) => written.push(letter),
            _ if written.is_empty() || written.ends_with(' ') => {}
            letter if letter.is_whitespace() => written.push(' '),
            _ if written.ends_with('-') => {}
            _ => written.push('-'),
        }
    }
    let written = written.trim_end_matches([' ', '-']);
    if written.is_empty() { "document".to_owned() } else { written.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_documents_keep_to_the_accepted_letters() {
        for (name, written) in [
            ("report.pdf", "report"),
            ("a/b\\Q3  report_v2 (final).tar.gz", "Q3 report-v2 (final)-tar"),
            ("größe: 5", "gr-e- 5"),
            ("..", "document"),
            ("", "document"),
            ("  x  ", "x"),
        ] {
            assert_eq!(document_name(name), written, "{name}");
        }
        assert_eq!(document_name(&"a".repeat(5_000)).len(), LONGEST_NAME);
    }
}
