//! Writes calls for images in Google's forms.

use serde::Serialize;
use serde_json::json;

use super::write::refuse_mask;
use crate::chat::{ImageRequest, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::media::MediaKind;
use crate::percent::encode_path;
use crate::protocol::Encoded;
use crate::protocol::task::TaskBody;
use crate::protocol::task::body::mime_type;
use crate::provider::Provider;

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Part<'a> {
    Text(&'a str),
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: String,
        data: String,
    },
}

pub(super) fn encode(provider: &Provider, model: &str, request: &ImageRequest) -> Result<Encoded> {
    refuse_mask(provider, request)?;
    let mut body = TaskBody::json(provider, &request.extra_body);
    let model = model.strip_prefix("models/").unwrap_or(model);
    body.drop_if("size", request.size.is_some());
    body.drop_if("partial_images", request.partial_images.is_some_and(|count| count > 0));
    body.drop_if("quality", request.quality.is_some());
    body.drop_if("background", request.background.is_some());
    body.drop_if("output_format", request.output_format.is_some());
    body.drop_if("user", request.user_id.is_some());
    if model.starts_with("imagen") {
        return predict(body, model, request);
    }
    let mut parts = vec![Part::Text(&request.prompt)];
    for image in &request.images {
        parts.push(inline(image)?);
    }
    if request.n.is_some_and(|n| n > 1) {
        let message = format!("n: {} makes one image in a call", provider.name);
        body.warn(WarningKind::Dropped, "n", message);
    }
    let mut config = json!({ "responseModalities": ["IMAGE"] });
    if let Some(ratio) = &request.aspect_ratio {
        config["imageConfig"] = json!({ "aspectRatio": ratio });
    }
    if let Some(seed) = request.seed {
        config["seed"] = json!(seed);
    }
    body.option("generationConfig", Some(&config))?;
    body.fixed("contents", &[Content { role: "user", parts }])?;
    body.finish(
        format!("/models/{}:generateContent", encode_path(model)),
        "application/json",
        &request.extra_headers,
    )
}

/// Returns a file as a part with its bytes.
fn inline(file: &crate::chat::MediaFile) -> Result<Part<'static>> {
    use base64::Engine as _;
    if file.data.is_empty() {
        let message = "the image has no bytes, and a URL is not accepted here";
        return Err(
            Error::new(ErrorKind::Unsupported, message).with_hint("download the image first")
        );
    }
    let data = base64::engine::general_purpose::STANDARD.encode(&file.data);
    Ok(Part::InlineData { mime_type: mime_type(file, MediaKind::Image)?, data })
}

fn predict(mut body: TaskBody<'_>, model: &str, request: &ImageRequest) -> Result<Encoded> {
    if !request.images.is_empty() {
        let message = format!("{model} cannot edit images");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    body.drop_if("seed", request.seed.is_some());
    let mut parameters = json!({ "sampleCount": request.n.unwrap_or(1) });
    if let Some(ratio) = &request.aspect_ratio {
        parameters["aspectRatio"] = json!(ratio);
    }
    body.fixed("instances", &[json!({ "prompt": request.prompt })])?;
    body.option("parameters", Some(&parameters))?;
    body.finish(
        format!("/models/{}:predict", encode_path(model)),
        "application/json",
        &request.extra_headers,
    )
}
