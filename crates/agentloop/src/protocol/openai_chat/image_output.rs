//! What generated images shall be like, for hosts that draw.

use serde::Serialize;

use super::params::Params;
use crate::chat::ImageOutput;
use crate::error::Result;
use crate::provider::Param;
use crate::provider::quirks::ImageOutputForm;

#[derive(Serialize)]
struct WireImageConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    aspect_ratio: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_size: Option<&'a str>,
}

/// Writes the settings in the form that the host knows, or warns that it knows none.
pub(super) fn put(params: &mut Params<'_>, image: Option<&ImageOutput>) -> Result<()> {
    let Some(image) = image else { return Ok(()) };
    match params.provider().quirks.image_output {
        ImageOutputForm::Refused => params.lost(Param::Image.name()),
        ImageOutputForm::ImageConfig => {
            let config = WireImageConfig {
                aspect_ratio: image.aspect_ratio.as_deref(),
                image_size: image.size.as_deref(),
            };
            params.put_as(Param::Image, "image_config", Some(&config))?;
        }
    }
    Ok(())
}
