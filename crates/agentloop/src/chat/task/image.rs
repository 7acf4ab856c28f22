//! Images.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{MediaFile, task_request, task_response};
use crate::chat::headers::ExtraHeaders;
use crate::chat::read::nullable;
use crate::chat::setters::call_setters;
use crate::chat::{Access, Cost, ImagePart, RawResponse, Usage, Warning};
use crate::timeouts::Timeouts;

task_request! {
    /// A request for images: new ones, or edits of the [`images`](Self#structfield.images) that it contains.
    ///
    /// The values of `size`, `quality`, `background` and `output_format` are the provider's own; a setting that the provider does not
    /// have is left out with a warning.
    ///
    /// ```
    /// use agentloop::ImageRequest;
    ///
    /// let request = ImageRequest::new("openai/gpt-image-1", "A lighthouse at dusk").size("1024x1024").n(2);
    /// assert_eq!(serde_json::to_value(&request)?["n"], 2);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ImageRequest {
        /// What the image shows, or what to change.
        prompt: String,
        /// The number of images.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n: Option<u32>,
        /// The size, for example `1024x1024`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<String>,
        /// The ratio of width to height, for example `16:9`, for providers that take it in place of a size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aspect_ratio: Option<String>,
        /// The quality, for example `high`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quality: Option<String>,
        /// The background: `transparent` or `opaque`, for example.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<String>,
        /// The format: `png`, `jpeg` or `webp`, for example.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_format: Option<String>,
        /// The number that makes the result repeatable, for providers that have one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<i64>,
        /// How many unfinished images a [stream](crate::AgentLoop::image_stream) has before each image, for providers that stream them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial_images: Option<u32>,
        /// The images to edit or to combine. Without any, the image is new.
        #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
        images: Vec<MediaFile>,
        /// Where the first image is to be edited: an image of the same size that is transparent there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mask: Option<MediaFile>,
        /// Identifies your end user to the provider. In JSON it is `user`.
        #[serde(default, rename = "user", skip_serializing_if = "Option::is_none")]
        user_id: Option<String>,
    }
}

impl ImageRequest {
    /// Creates a request for an image of what `prompt` describes.
    pub fn new(model: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self { model: model.into(), prompt: prompt.into(), ..Self::default() }
    }

    setters! {
        /// Adds an image to edit.
        image(self, image: MediaFile) => self.images.push(image);
    }

    setters! {
        /// Sets the number of images.
        n(n: u32);
        /// Sets the size, for example `1024x1024`.
        size(size: impl Into<String>);
        /// Sets the ratio of width to height, for example `16:9`.
        aspect_ratio(aspect_ratio: impl Into<String>);
        /// Sets the quality.
        quality(quality: impl Into<String>);
        /// Sets the background.
        background(background: impl Into<String>);
        /// Sets the format.
        output_format(output_format: impl Into<String>);
        /// Sets the number that makes the result repeatable.
        seed(seed: i64);
        /// Sets how many unfinished images a stream has before each image.
        partial_images(partial_images: u32);
        /// Sets where the first image is to be edited.
        mask(mask: MediaFile);
        /// Identifies your end user to the provider. In JSON it is `user`.
        user_id(user_id: impl Into<String>);
    }
}

task_response! {
    /// The response to an image request.
    ///
    /// ```
    /// use agentloop::ImageResponse;
    ///
    /// let value: ImageResponse = serde_json::from_str(
    ///     r#"{"model":"m","provider":"lab","images":[{"mimeType":"image/png","data":"iVBORw0KGgo="}]}"#,
    /// )?;
    /// assert_eq!(value.images[0].part.extension(), Some("png"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ImageResponse {
        /// The images.
        #[serde(default, deserialize_with = "nullable")]
        images: Vec<GeneratedImage>,
        /// The text that a model wrote beside the images.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    }
}

impl ImageResponse {
    /// Returns the first image.
    pub fn first(&self) -> Option<&ImagePart> {
        self.images.first().map(|image| &image.part)
    }
}

/// A generated image, and the prompt that it was made from if the provider changed that.
///
/// ```
/// use agentloop::GeneratedImage;
///
/// let value: GeneratedImage =
///     serde_json::from_str(r#"{"mimeType":"image/png","data":"iVBORw0KGgo=","revisedPrompt":"A red cat"}"#)?;
/// assert_eq!(value.revised_prompt.as_deref(), Some("A red cat"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GeneratedImage {
    /// The image: its bytes, or its URL.
    #[serde(flatten)]
    pub part: ImagePart,
    /// The prompt that the provider used in place of the request's.
    pub revised_prompt: Option<String>,
}

impl GeneratedImage {
    /// Creates a generated image.
    pub fn new(part: ImagePart) -> Self {
        Self { part, revised_prompt: None }
    }
}
