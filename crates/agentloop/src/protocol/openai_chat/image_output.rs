//! The settings of generated images.

use serde::Serialize;

use crate::chat::ImageOutput;
use crate::error::Result;
use crate::protocol::params::ParamWriter;
use crate::provider::Param;
use crate::provider::quirks::ImageOutputForm;

#[skip_serializing_none]
#[derive(Serialize)]
struct WireImageConfig<'a> {
    aspect_ratio: Option<&'a str>,
    image_size: Option<&'a str>,
}

/// Writes the settings of generated images.
pub(super) fn put(params: &mut ParamWriter<'_>, image: Option<&ImageOutput>) -> Result<()> {
    let Some(image) = image else { return Ok(()) };
    if params.provider().quirks.image_output == ImageOutputForm::Refused {
        return Ok(());
    }
    let config = WireImageConfig {
        aspect_ratio: image.aspect_ratio.as_deref(),
        image_size: image.size.as_deref(),
    };
    params.put(Param::Image, Some(&config)).map(drop)
}
