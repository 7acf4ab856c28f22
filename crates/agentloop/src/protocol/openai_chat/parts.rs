//! The parts of a message, in the forms that hosts take.

use std::borrow::Cow;

use serde::Serialize;

use crate::provider::Provider;
use crate::provider::quirks::{
    AudioInputForm, CacheMarkers, FileInputForm, ImageInput, ToolResultImages, VideoInput,
};
use crate::request::{AudioInput, ContentPart, FileInput, ImageDetail, MediaUrl};
use crate::response::{CacheControl, ThinkingPart};

/// A part on the wire.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WirePart<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<WireCache>,
    },
    ImageUrl {
        image_url: WireImage<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<WireCache>,
    },
    InputAudio {
        input_audio: WireAudio<'a>,
    },
    File {
        file: WireFile<'a>,
    },
    DocumentUrl {
        document_url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        document_name: Option<&'a str>,
    },
    VideoUrl {
        video_url: &'a MediaUrl,
    },
    Thinking {
        thinking: [WireText<'a>; 1],
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
        closed: bool,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct WireText<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct WireImage<'a> {
    url: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<ImageDetail>,
}

#[derive(Debug, Serialize)]
pub(super) struct WireFile<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file_data: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum WireAudio<'a> {
    Object(&'a AudioInput),
    Text(&'a str),
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct WireCache {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
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
        Self::Thinking {
            thinking: [WireText { r#type: "text", text: &part.thinking }],
            signature: part.signature.as_deref(),
            closed: true,
        }
    }
}

/// The part as the host takes it, with a warning for what had to be left out of it; or why it cannot be taken.
pub(super) fn encode<'a>(
    part: &'a ContentPart,
    provider: &Provider,
    of_tool: bool,
) -> Result<(WirePart<'a>, Option<String>), String> {
    let (name, quirks) = (&provider.name, &provider.quirks);
    let marker = |cache: Option<CacheControl>| match (cache, quirks.cache_markers) {
        (None, _) => (None, None),
        (Some(cache), CacheMarkers::OnParts) => (Some(cache.into()), None),
        (Some(_), CacheMarkers::Refused) => (None, Some(format!("{name} takes no cache markers"))),
    };
    let image_of_tool = of_tool && quirks.tool_result_images == ToolResultImages::Refused;
    match part {
        ContentPart::Text(text) => {
            let (cache_control, lost) = marker(text.cache_control);
            Ok((WirePart::Text { text: &text.text, cache_control }, lost))
        }
        ContentPart::ImageUrl { image_url, cache_control } => {
            if image_of_tool {
                return Err(format!("{name} takes no images in the turns of tools"));
            }
            image(&image_url.url, provider)?;
            let (cache_control, lost) = marker(*cache_control);
            let image_url =
                WireImage { url: Cow::Borrowed(&image_url.url), detail: image_url.detail };
            Ok((WirePart::ImageUrl { image_url, cache_control }, lost))
        }
        // An image of an earlier answer, shown again.
        ContentPart::Image(shown) => {
            if image_of_tool {
                return Err(format!("{name} takes no images in the turns of tools"));
            }
            let url = match &shown.url {
                Some(url) => Cow::Borrowed(url.as_str()),
                None => Cow::Owned(format!("data:{};base64,{}", shown.mime_type, shown.data)),
            };
            image(&url, provider)?;
            let image_url = WireImage { url, detail: None };
            Ok((WirePart::ImageUrl { image_url, cache_control: None }, None))
        }
        ContentPart::InputAudio { input_audio } if !of_tool => match quirks.audio {
            AudioInputForm::Object => {
                Ok((WirePart::InputAudio { input_audio: WireAudio::Object(input_audio) }, None))
            }
            AudioInputForm::Text => {
                let input_audio = WireAudio::Text(&input_audio.data);
                Ok((WirePart::InputAudio { input_audio }, None))
            }
            AudioInputForm::Refused => Err(format!("{name} takes no audio")),
        },
        ContentPart::File { file: input, cache_control } if !of_tool => {
            let (_, lost) = match cache_control {
                Some(_) => {
                    (None::<WireCache>, Some(format!("{name} takes no cache markers on files")))
                }
                None => (None, None),
            };
            Ok((file(input, provider)?, lost))
        }
        ContentPart::VideoUrl { video_url } if !of_tool => match quirks.video {
            VideoInput::VideoUrl => Ok((WirePart::VideoUrl { video_url }, None)),
            VideoInput::Refused => Err(format!("{name} takes no video")),
        },
        other if of_tool => {
            Err(format!("{name} takes no `{}` in the turns of tools", other.kind()))
        }
        other => Err(format!("{name} takes no `{}` in this turn", other.kind())),
    }
}

fn image(url: &str, provider: &Provider) -> Result<(), String> {
    let is_data = url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    match provider.quirks.images {
        ImageInput::Any => Ok(()),
        ImageInput::DataOnly if is_data => Ok(()),
        ImageInput::DataOnly => {
            Err(format!("{} takes images only as data URLs, not by address", provider.name))
        }
        ImageInput::Refused => Err(format!("{} takes no images", provider.name)),
    }
}

fn file<'a>(file: &'a FileInput, provider: &Provider) -> Result<WirePart<'a>, String> {
    let name = &provider.name;
    match provider.quirks.files {
        FileInputForm::Object if file.file_url.is_some() => {
            Err(format!("{name} takes no files by address: send the content as `file_data`"))
        }
        FileInputForm::Object if file.file_data.is_none() && file.file_id.is_none() => {
            Err("the file has neither `file_data` nor `file_id`".to_owned())
        }
        FileInputForm::Object => Ok(WirePart::File {
            file: WireFile {
                file_data: file.file_data.as_deref(),
                file_id: file.file_id.as_deref(),
                filename: file.filename.as_deref(),
            },
        }),
        FileInputForm::DocumentUrl => {
            let document_url = file
                .file_url
                .as_deref()
                .or(file.file_data.as_deref())
                .ok_or_else(|| format!("{name} takes files by address or as a data URL"))?;
            Ok(WirePart::DocumentUrl { document_url, document_name: file.filename.as_deref() })
        }
        FileInputForm::Refused => Err(format!("{name} takes no files")),
    }
}
