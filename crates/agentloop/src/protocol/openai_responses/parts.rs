//! Writes the parts of a message.

use std::borrow::Cow;

use serde::Serialize;

use crate::chat::{ContentPart, ImageDetail};
use crate::media::{MediaKind, Medium, Refusal, Source, audio_format};
use crate::protocol::Shown;
use crate::protocol::openai::parts::{image, url};
use crate::provider::Provider;
use crate::provider::quirks::{AudioInputForm, FileInputForm, ItemForm, ToolResultImages};

/// A part on the wire.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(super) enum WirePart<'a> {
    #[serde(rename = "input_text")]
    Text { text: &'a str },
    #[serde(rename = "input_image")]
    Image { image_url: Option<Cow<'a, str>>, file_id: Option<&'a str>, detail: Option<ImageDetail> },
    #[serde(rename = "input_file")]
    File {
        file_data: Option<Cow<'a, str>>,
        file_url: Option<&'a str>,
        file_id: Option<&'a str>,
        filename: Option<Cow<'a, str>>,
    },
    #[serde(rename = "input_audio")]
    Audio { input_audio: WireAudio<'a> },
}

#[derive(Debug, Serialize)]
pub(super) struct WireAudio<'a> {
    data: Cow<'a, str>,
    format: String,
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
    let unmarked = |marked: bool| marked.then(|| format!("{name} does not accept cache markers"));
    if let ContentPart::Text(text) = part {
        let wire = WirePart::Text { text: &text.text };
        return Ok((wire, unmarked(text.cache_control.is_some())));
    }
    let place = if of_tool { "messages of tools" } else { "this message" };
    let Some(medium) = Medium::of(part)? else {
        return Err(format!("{name} does not accept `{}` in {place}", part.kind()).into());
    };
    if of_tool && matches!(medium.kind, MediaKind::Audio | MediaKind::Video) {
        return Err(format!("{name} does not accept `{}` in {place}", part.kind()).into());
    }
    if of_tool && quirks.tool_result_images == ToolResultImages::Refused {
        return Err(format!("{name} accepts only text in {place}").into());
    }
    let (marked, detail) = match part {
        ContentPart::ImageUrl { image_url, cache_control } => {
            (cache_control.is_some(), image_url.detail)
        }
        ContentPart::File { cache_control, .. } => (cache_control.is_some(), None),
        _ => (false, None),
    };
    let wire = match medium.kind {
        MediaKind::Image => {
            let (image_url, file_id) = match medium.source {
                Source::Id(id) => (None, Some(id)),
                _ => (Some(image(medium, provider)?), None),
            };
            // If the request does not set it, `auto` is sent, because the field is required.
            let full = quirks.items == ItemForm::Any;
            let detail = detail.or(full.then_some(ImageDetail::Auto));
            WirePart::Image { image_url, file_id, detail }
        }
        MediaKind::Audio if !matches!(medium.source, Source::Id(_)) => audio(medium, provider)?,
        MediaKind::Video => return Err(format!("{name} does not accept video").into()),
        _ => file(medium, provider)?,
    };
    Ok((wire, unmarked(marked)))
}

fn audio<'a>(medium: Medium<'a>, provider: &Provider) -> Result<WirePart<'a>, Refusal> {
    let name = &provider.name;
    if provider.quirks.audio == AudioInputForm::Refused {
        return Err(format!("{name} does not accept audio").into());
    }
    let Source::Inline(data) = medium.source else {
        return Err(Refusal::needs_bytes(format!("{name} does not accept audio by URL")));
    };
    let mime =
        medium.mime.ok_or_else(|| Refusal::unknown_type("the audio", "its `format` or content"))?;
    let input_audio = WireAudio { data: data.into_base64(), format: audio_format(&mime) };
    Ok(WirePart::Audio { input_audio })
}

fn file<'a>(medium: Medium<'a>, provider: &Provider) -> Result<WirePart<'a>, Refusal> {
    if provider.quirks.files == FileInputForm::Refused {
        return Err(format!("{} does not accept files", provider.name).into());
    }
    let (mut file_data, mut file_url, mut file_id, mut filename) = (None, None, None, None);
    match medium.source {
        Source::Id(id) => file_id = Some(id),
        Source::Address(address) => file_url = Some(address),
        Source::Inline(_) => {
            // The provider demands a name.
            filename = medium.file_name();
            file_data = Some(url(medium)?);
        }
    }
    Ok(WirePart::File { file_data, file_url, file_id, filename })
}
