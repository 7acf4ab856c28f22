//! Writes the parts of a message.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::growing::REFERENCES;
use crate::chat::{CacheControl, ContentPart, ImageDetail, ProviderState, ThinkingPart};
use crate::media::{MediaKind, Medium, Refusal, Source, audio_format};
use crate::protocol::Shown;
use crate::protocol::openai::parts::{image, url};
use crate::provider::Provider;
use crate::provider::quirks::{
    AudioInputForm, CacheMarkers, FileInputForm, ToolResultImages, VideoInput,
};

/// A part on the wire.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WirePart<'a> {
    Text {
        text: &'a str,
        cache_control: Option<WireCache>,
    },
    ImageUrl {
        image_url: WireImage<'a>,
        cache_control: Option<WireCache>,
    },
    InputAudio {
        input_audio: WireAudio<'a>,
    },
    File {
        file: WireFile<'a>,
    },
    #[serde(rename = "file")]
    FileId {
        file_id: &'a str,
    },
    DocumentUrl {
        document_url: Cow<'a, str>,
        document_name: Option<&'a str>,
    },
    VideoUrl {
        video_url: WireUrl<'a>,
    },
    Thinking {
        thinking: Vec<WireThought<'a>>,
        signature: Option<&'a str>,
        closed: bool,
    },
    /// A piece of an earlier response, unchanged.
    #[serde(untagged)]
    Kept(&'a Value),
}

/// A piece of a `thinking`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum WireThought<'a> {
    Text(WireText<'a>),
    /// A piece of an earlier response, unchanged.
    Kept(&'a Value),
}

#[derive(Debug, Serialize)]
pub(super) struct WireText<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct WireImage<'a> {
    url: Cow<'a, str>,
    detail: Option<ImageDetail>,
}

#[derive(Debug, Serialize)]
pub(super) struct WireUrl<'a> {
    url: Cow<'a, str>,
}

#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(super) struct WireFile<'a> {
    file_data: Option<Cow<'a, str>>,
    file_id: Option<&'a str>,
    filename: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum WireAudio<'a> {
    Object { data: Cow<'a, str>, format: String },
    Text(Cow<'a, str>),
}

#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct WireCache {
    r#type: &'static str,
    ttl: Option<&'static str>,
}

impl From<CacheControl> for WireCache {
    fn from(cache: CacheControl) -> Self {
        let ttl = (cache == CacheControl::EphemeralHour).then_some("1h");
        Self { r#type: "ephemeral", ttl }
    }
}

impl<'a> WirePart<'a> {
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text { text, cache_control: None }
    }

    pub(super) fn thinking(part: &'a ThinkingPart) -> Self {
        let text = |text| WireThought::Text(WireText { r#type: "text", text });
        let mut thinking = Vec::new();
        with_references(&part.thinking, part.provider_state.as_deref(), |piece| {
            thinking.push(match piece {
                Piece::Text(piece) => text(piece),
                Piece::Kept(chunk) => WireThought::Kept(chunk),
            });
        });
        if thinking.is_empty() {
            thinking.push(text(&part.thinking));
        }
        Self::Thinking { thinking, signature: part.signature.as_deref(), closed: true }
    }
}

/// A piece of a text with references in it.
pub(super) enum Piece<'a> {
    Text(&'a str),
    /// A reference, unchanged.
    Kept(&'a Value),
}

/// Splits a text at the references in its state. Without references it is one piece. A position that is no longer in
/// the text, because a caller changed it, becomes its end.
pub(super) fn with_references<'a>(
    text: &'a str,
    state: Option<&'a ProviderState>,
    mut take: impl FnMut(Piece<'a>),
) {
    let references = state.and_then(|state| state.data.get(REFERENCES)?.as_array());
    let mut written = 0;
    for reference in references.into_iter().flatten() {
        let at = reference.get("at").and_then(Value::as_u64);
        let at = at.and_then(|at| usize::try_from(at).ok()).unwrap_or(text.len());
        let at = if text.is_char_boundary(at) { at.max(written) } else { text.len() };
        if written < at {
            take(Piece::Text(&text[written..at]));
            written = at;
        }
        if let Some(chunk) = reference.get("chunk") {
            take(Piece::Kept(chunk));
        }
    }
    if written < text.len() {
        take(Piece::Text(&text[written..]));
    }
}

/// Returns where the provider takes a part of a tool's result.
pub(super) fn shown(part: &ContentPart, provider: &Provider) -> Shown {
    Shown::unless(|of_tool| encode(part, provider, of_tool).err())
}

/// Returns the part in the form that the provider accepts, with a warning if something was left out of it, or why it
/// cannot be sent.
pub(super) fn encode<'a>(
    part: &'a ContentPart,
    provider: &Provider,
    of_tool: bool,
) -> Result<(WirePart<'a>, Option<String>), Refusal> {
    let (name, quirks) = (&provider.name, &provider.quirks);
    let marker = |cache: Option<CacheControl>| match (cache, quirks.cache_markers) {
        (None, _) => (None, None),
        (Some(cache), CacheMarkers::OnParts) => (Some(cache.into()), None),
        (Some(_), CacheMarkers::Refused) => {
            (None, Some(format!("{name} does not accept cache markers")))
        }
    };
    if let ContentPart::Text(text) = part {
        let (cache_control, lost) = marker(text.cache_control);
        return Ok((WirePart::Text { text: &text.text, cache_control }, lost));
    }
    let place = if of_tool { "messages of tools" } else { "this message" };
    let Some(medium) = Medium::of(part)? else {
        return Err(format!("{name} does not accept `{}` in {place}", part.kind()).into());
    };
    if of_tool && medium.kind != MediaKind::Image {
        return Err(format!("{name} does not accept `{}` in {place}", part.kind()).into());
    }
    if of_tool && quirks.tool_result_images == ToolResultImages::Refused {
        return Err(format!("{name} does not accept images in {place}").into());
    }
    let (cache, detail) = match part {
        ContentPart::ImageUrl { image_url, cache_control } => (*cache_control, image_url.detail),
        ContentPart::File { cache_control, .. } => (*cache_control, None),
        _ => (None, None),
    };
    let by_id = matches!(medium.source, Source::Id(_));
    if medium.kind == MediaKind::Image && !by_id {
        let url = image(medium, provider)?;
        let (cache_control, lost) = marker(cache);
        let image_url = WireImage { url, detail };
        return Ok((WirePart::ImageUrl { image_url, cache_control }, lost));
    }
    let wire = match medium.kind {
        MediaKind::Audio if !by_id => audio(medium, provider)?,
        MediaKind::Video if !by_id => match quirks.video {
            VideoInput::VideoUrl => WirePart::VideoUrl { video_url: WireUrl { url: url(medium)? } },
            VideoInput::Refused => return Err(format!("{name} does not accept video").into()),
        },
        _ => file(medium, provider)?,
    };
    Ok((wire, cache.map(|_| format!("{name} does not accept cache markers on files"))))
}

fn audio<'a>(medium: Medium<'a>, provider: &Provider) -> Result<WirePart<'a>, Refusal> {
    let name = &provider.name;
    let input_audio = match (provider.quirks.audio, medium.source) {
        (AudioInputForm::Refused, _) => return Err(format!("{name} does not accept audio").into()),
        (AudioInputForm::Text, Source::Address(url) | Source::Id(url)) => {
            WireAudio::Text(Cow::Borrowed(url))
        }
        (AudioInputForm::Text, Source::Inline(data)) => WireAudio::Text(data.into_base64()),
        (AudioInputForm::Object, Source::Inline(data)) => {
            let mime = medium
                .mime
                .ok_or_else(|| Refusal::unknown_type("the audio", "its `format` or content"))?;
            WireAudio::Object { data: data.into_base64(), format: audio_format(&mime) }
        }
        (AudioInputForm::Object, Source::Address(_) | Source::Id(_)) => {
            return Err(Refusal::needs_bytes(format!("{name} does not accept audio by URL")));
        }
    };
    Ok(WirePart::InputAudio { input_audio })
}

fn file<'a>(medium: Medium<'a>, provider: &Provider) -> Result<WirePart<'a>, Refusal> {
    let name = &provider.name;
    match (provider.quirks.files, &medium.source) {
        (FileInputForm::Refused, _) => Err(format!("{name} does not accept files").into()),
        (FileInputForm::Object, Source::Id(file_id)) => {
            let filename = medium.name.map(Cow::Borrowed);
            let file = WireFile { file_id: Some(file_id), filename, ..WireFile::default() };
            Ok(WirePart::File { file })
        }
        (FileInputForm::Object, Source::Address(_)) => {
            Err(Refusal::needs_bytes(format!("{name} does not accept files by URL")))
        }
        (FileInputForm::Object, Source::Inline(_)) => {
            // The provider demands a name.
            let filename = medium.file_name();
            let file_data = Some(url(medium)?);
            Ok(WirePart::File { file: WireFile { file_data, filename, ..WireFile::default() } })
        }
        (FileInputForm::DocumentUrl, Source::Id(file_id)) => Ok(WirePart::FileId { file_id }),
        (FileInputForm::DocumentUrl, _) => {
            let document_name = medium.name;
            Ok(WirePart::DocumentUrl { document_url: url(medium)?, document_name })
        }
    }
}
