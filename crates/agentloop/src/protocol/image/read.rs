//! Reads images in every known form.

use serde::Deserialize;

use crate::chat::{GeneratedImage, ImagePart, ImageRequest, ImageResponse, TaskResponse, Usage};
use crate::error::{Error, ErrorKind, Result};
use crate::media::{decoded, mime_of_bytes};
use crate::protocol::lenient::{Flag, Int, Many, Object, Text};
use crate::protocol::task::{Reader, TaskDecoded, WireUsage};

/// How many characters of base64 show the type of an image.
const SNIFFED: usize = 64;

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Wire<'a> {
    model: Text<'a>,
    output_format: Text<'a>,
    data: Option<Many<Item<'a>>>,
    usage: Object<WireUsage<'a>>,
    predictions: Option<Many<Prediction<'a>>>,
    candidates: Option<Many<Candidate<'a>>>,
    #[serde(rename = "modelVersion")]
    model_version: Text<'a>,
    #[serde(rename = "promptFeedback")]
    prompt_feedback: Object<Feedback<'a>>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: Object<Metadata<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    b64_json: Text<'a>,
    url: Text<'a>,
    revised_prompt: Text<'a>,
    respect_moderation: Flag,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Prediction<'a> {
    bytes_base64_encoded: Text<'a>,
    mime_type: Text<'a>,
    rai_filtered_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::protocol) struct Candidate<'a> {
    #[serde(borrow)]
    pub(in crate::protocol) content: Object<Content<'a>>,
    #[serde(borrow)]
    pub(in crate::protocol) finish_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::protocol) struct Content<'a> {
    #[serde(borrow)]
    pub(in crate::protocol) parts: Option<Many<Part<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::protocol) struct Part<'a> {
    #[serde(borrow)]
    pub(in crate::protocol) text: Text<'a>,
    #[serde(borrow)]
    pub(in crate::protocol) inline_data: Object<Blob<'a>>,
    pub(in crate::protocol) thought: Flag,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::protocol) struct Blob<'a> {
    #[serde(borrow)]
    pub(in crate::protocol) mime_type: Text<'a>,
    #[serde(borrow)]
    pub(in crate::protocol) data: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow)]
    block_reason: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in crate::protocol) struct Metadata<'a> {
    prompt_token_count: Int,
    candidates_token_count: Int,
    thoughts_token_count: Int,
    total_token_count: Int,
    #[serde(borrow)]
    candidates_tokens_details: Option<Many<Count<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Count<'a> {
    #[serde(borrow)]
    modality: Text<'a>,
    token_count: Int,
}

impl Metadata<'_> {
    /// Returns the usage in the library's form.
    pub(in crate::protocol) fn usage(&self) -> Option<Usage> {
        let prompt = self.prompt_token_count.unsigned();
        let thoughts = self.thoughts_token_count.unsigned();
        let written = self.candidates_token_count.unsigned();
        let completion =
            written.map(|written| written.saturating_add(thoughts.unwrap_or_default()));
        let mut usage = Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: prompt
                .zip(completion)
                .map(|(prompt, completion)| prompt.saturating_add(completion))
                .or(self.total_token_count.unsigned()),
            ..Usage::default()
        };
        usage.details.reasoning_tokens = thoughts;
        for count in self.candidates_tokens_details.iter().flat_map(|counts| &counts.0) {
            let (kind, tokens) = (count.modality.non_empty(), count.token_count.unsigned());
            if let (Some(kind), Some(tokens)) = (kind, tokens) {
                let kinds = &mut usage.details.completion_tokens_by_modality;
                kinds.insert(kind.to_owned(), tokens);
            }
        }
        (!usage.is_empty()).then_some(usage)
    }
}

pub(in crate::protocol) fn decode(
    reader: &Reader<'_>,
    request: &ImageRequest,
) -> Result<TaskDecoded> {
    let wire: Wire<'_> = reader.json()?;
    let mut response = ImageResponse::default();
    let mut refusal = None;
    let not_base64 = || reader.broken("an image is not base64");
    let stated = wire.output_format.non_empty().or(request.output_format.as_deref());
    let stated = stated.map(|format| format!("image/{format}"));
    for item in wire.data.iter().flat_map(|items| &items.0) {
        if item.respect_moderation.0 == Some(false) {
            refusal = Some("its content policy".to_owned());
            continue;
        }
        // Some servers put the bytes into the URL.
        let url = item.url.non_empty();
        let inline = url.filter(|url| url.starts_with("data:"));
        let mut image = match (item.b64_json.non_empty().or(inline), url) {
            (Some(data), _) => of_base64(data, stated.as_deref()).ok_or_else(not_base64)?,
            (None, Some(url)) => GeneratedImage::new(ImagePart {
                url: Some(url.to_owned()),
                mime_type: stated.clone().unwrap_or_default(),
                ..ImagePart::default()
            }),
            (None, None) => return Err(reader.broken("an image has neither bytes nor a URL")),
        };
        image.revised_prompt = item.revised_prompt.non_empty().map(str::to_owned);
        response.images.push(image);
    }
    for prediction in wire.predictions.iter().flat_map(|predictions| &predictions.0) {
        match prediction.bytes_base64_encoded.non_empty() {
            Some(data) => {
                let image = of_base64(data, prediction.mime_type.non_empty());
                response.images.push(image.ok_or_else(not_base64)?);
            }
            None => refusal = prediction.rai_filtered_reason.non_empty().map(str::to_owned),
        }
    }
    for candidate in wire.candidates.iter().flat_map(|candidates| &candidates.0) {
        let parts = candidate.content.0.as_ref().and_then(|content| content.parts.as_ref());
        for part in parts.iter().flat_map(|parts| &parts.0) {
            // Drafts of a model that thinks.
            if part.thought.0 == Some(true) {
                continue;
            }
            if let Some(blob) = &part.inline_data.0
                && let Some(data) = blob.data.non_empty()
            {
                let image = of_base64(data, blob.mime_type.non_empty());
                response.images.push(image.ok_or_else(not_base64)?);
            } else if let Some(text) = part.text.non_empty() {
                response.text.get_or_insert_default().push_str(text);
            }
        }
        if let Some(reason) = candidate.finish_reason.non_empty().filter(|reason| *reason != "STOP")
        {
            refusal = Some(reason.to_owned());
        }
    }
    if let Some(reason) = wire.prompt_feedback.0.and_then(|feedback| feedback.block_reason.0) {
        refusal = Some(reason.into_owned());
    }
    if response.images.is_empty() {
        return Err(match (refusal, response.text) {
            (Some(reason), _) => {
                let message = format!("the provider returned no image: {reason}");
                Error::new(ErrorKind::ContentFilter, message).with_raw(reader.body)
            }
            (None, Some(text)) => {
                let text: String = text.chars().take(200).collect();
                reader.broken(format!("the provider returned no image, but the text: {text}"))
            }
            (None, None) => reader.broken("the response has no images"),
        });
    }
    if let Some(reason) = refusal {
        let message = format!("not all images were returned: {reason}");
        response.warnings.push(crate::chat::Warning::about_response(message));
    }
    let usage = wire.usage.0.unwrap_or_default();
    response.usage = match wire.usage_metadata.0 {
        Some(metadata) => metadata.usage(),
        None => usage.tokens().map(of_images),
    };
    let model = wire.model.into_non_empty().or(wire.model_version.into_non_empty());
    response.model = model.unwrap_or_default().into_owned();
    Ok(TaskDecoded { response: TaskResponse::Image(response), cost: usage.cost() })
}

/// Counts the tokens of a response as those of images, unless the provider distinguishes them.
pub(in crate::protocol) fn of_images(mut usage: Usage) -> Usage {
    let kinds = &mut usage.details.completion_tokens_by_modality;
    if let (true, Some(tokens)) = (kinds.is_empty(), usage.completion_tokens) {
        kinds.insert("IMAGE".to_owned(), tokens);
    }
    usage
}

/// Returns an image of base64; `None` if it is not base64. Its type is what its first bytes show, else what is stated.
pub(in crate::protocol) fn of_base64(data: &str, stated: Option<&str>) -> Option<GeneratedImage> {
    let data = data.split_once(";base64,").map_or(data, |(_, data)| data);
    let is_base64 = data.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
            || byte.is_ascii_whitespace()
    });
    let first = data.get(..SNIFFED.min(data.len() / 4 * 4)).and_then(|data| decoded(data).ok());
    let first = first.filter(|_| is_base64 && data.len() >= 4)?;
    let seen = mime_of_bytes(&first).filter(|mime| mime.starts_with("image/"));
    let mime_type = seen.or(stated).unwrap_or("image/png").to_owned();
    let data = data.to_owned();
    Some(GeneratedImage::new(ImagePart { mime_type, data, ..ImagePart::default() }))
}
