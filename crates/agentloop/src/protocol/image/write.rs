//! Writes a call for images.

use serde::Serialize;

use super::generate;
use crate::chat::{ImageRequest, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::media::MediaKind;
use crate::protocol::Encoded;
use crate::protocol::task::TaskBody;
use crate::protocol::task::body::as_url;
use crate::provider::Provider;
use crate::provider::quirks::ImageForm;

const JSON: &str = "application/json";

pub(in crate::protocol) fn encode(
    provider: &Provider,
    model: &str,
    request: &ImageRequest,
    stream: bool,
) -> Result<Encoded> {
    if request.mask.is_some() && request.images.is_empty() {
        let message = "the request has a mask but no image to edit";
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    match provider.quirks.tasks.image {
        ImageForm::Sized => sized(provider, model, request, stream),
        ImageForm::WidthAndHeight => width_and_height(provider, model, request),
        ImageForm::AspectRatio => aspect_ratio(provider, model, request),
        ImageForm::GenerateContent => generate::encode(provider, model, request),
    }
}

fn sized(
    provider: &Provider,
    model: &str,
    request: &ImageRequest,
    stream: bool,
) -> Result<Encoded> {
    let is_edit = !request.images.is_empty();
    let mut body = if is_edit {
        TaskBody::form(provider, &request.extra_body)
    } else {
        TaskBody::json(provider, &request.extra_body)
    };
    body.fixed("model", model)?;
    body.fixed("prompt", &request.prompt)?;
    body.option("n", request.n.as_ref())?;
    body.option("size", request.size.as_ref())?;
    body.option("quality", request.quality.as_ref())?;
    body.option("background", request.background.as_ref())?;
    body.option("output_format", request.output_format.as_ref())?;
    body.option("user", request.user_id.as_ref())?;
    body.drop_if("aspect_ratio", request.aspect_ratio.is_some());
    body.drop_if("seed", request.seed.is_some());
    // Only some models stream, so the others are not asked to.
    match request.partial_images {
        Some(partial) if stream => {
            body.option("stream", Some(&true))?;
            body.option("partial_images", Some(&partial))?;
        }
        Some(_) => {
            let message = "partial_images: only a stream has unfinished images";
            body.warn(WarningKind::Dropped, "partial_images", message);
        }
        None => {}
    }
    // One image has the plain name, several are a list (OpenAI's SDK).
    let name = if request.images.len() == 1 { "image" } else { "image[]" };
    for image in &request.images {
        body.file(name, image, MediaKind::Image)?;
    }
    if let Some(mask) = &request.mask {
        body.file("mask", mask, MediaKind::Image)?;
    }
    let path = if is_edit { "/images/edits" } else { "/images/generations" };
    let accept =
        if stream && request.partial_images.is_some() { "text/event-stream" } else { JSON };
    body.finish(path, accept, &request.extra_headers)
}

fn width_and_height(provider: &Provider, model: &str, request: &ImageRequest) -> Result<Encoded> {
    refuse_mask(provider, request)?;
    let mut body = TaskBody::json(provider, &request.extra_body);
    body.fixed("model", model)?;
    body.fixed("prompt", &request.prompt)?;
    body.option("n", request.n.as_ref())?;
    if let Some(size) = &request.size {
        match dimensions(size) {
            Some((width, height)) => {
                body.option("width", Some(&width))?;
                body.option("height", Some(&height))?;
            }
            None => {
                let message =
                    format!("size: `{size}` is not a width and a height such as 1024x768");
                body.warn(WarningKind::Dropped, "size", message);
            }
        }
    }
    body.option("seed", request.seed.as_ref())?;
    body.option("output_format", request.output_format.as_ref())?;
    body.option("response_format", Some(&"base64"))?;
    body.drop_if("partial_images", request.partial_images.is_some_and(|count| count > 0));
    body.drop_if("aspect_ratio", request.aspect_ratio.is_some());
    body.drop_if("quality", request.quality.is_some());
    body.drop_if("background", request.background.is_some());
    body.drop_if("user", request.user_id.is_some());
    match request.images.as_slice() {
        [] => {}
        [image] => body.fixed("image_url", &as_url(image, MediaKind::Image)?)?,
        images => {
            let urls = images.iter().map(|image| as_url(image, MediaKind::Image));
            body.fixed("reference_images", &urls.collect::<Result<Vec<_>>>()?)?;
        }
    }
    body.finish("/images/generations", JSON, &request.extra_headers)
}

fn aspect_ratio(provider: &Provider, model: &str, request: &ImageRequest) -> Result<Encoded> {
    #[derive(Serialize)]
    struct Image<'a> {
        url: std::borrow::Cow<'a, str>,
        r#type: &'static str,
    }
    refuse_mask(provider, request)?;
    let mut body = TaskBody::json(provider, &request.extra_body);
    body.fixed("model", model)?;
    body.fixed("prompt", &request.prompt)?;
    body.option("n", request.n.as_ref())?;
    body.option("aspect_ratio", request.aspect_ratio.as_ref())?;
    body.option("quality", request.quality.as_ref())?;
    body.option("output_format", request.output_format.as_ref())?;
    body.option("user", request.user_id.as_ref())?;
    body.option("response_format", Some(&"b64_json"))?;
    body.drop_if("size", request.size.is_some());
    body.drop_if("partial_images", request.partial_images.is_some_and(|count| count > 0));
    body.drop_if("seed", request.seed.is_some());
    body.drop_if("background", request.background.is_some());
    let image = |image| Ok(Image { url: as_url(image, MediaKind::Image)?, r#type: "image_url" });
    let path = match request.images.as_slice() {
        [] => "/images/generations",
        [one] => {
            body.fixed("image", &image(one)?)?;
            "/images/edits"
        }
        images => {
            body.fixed("images", &images.iter().map(image).collect::<Result<Vec<_>>>()?)?;
            "/images/edits"
        }
    };
    body.finish(path, JSON, &request.extra_headers)
}

/// Fails if the request has a mask: an edit of the whole image is not what the caller wants.
pub(super) fn refuse_mask(provider: &Provider, request: &ImageRequest) -> Result<()> {
    match request.mask {
        None => Ok(()),
        Some(_) => {
            let message = format!("{} cannot edit with a mask", provider.name);
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Returns the width and the height of a size such as `1024x768`.
fn dimensions(size: &str) -> Option<(u32, u32)> {
    let (width, height) = size.split_once(['x', 'X'])?;
    Some((width.trim().parse().ok()?, height.trim().parse().ok()?))
}
