//! `agentloop image`: generates and edits images.

use std::path::PathBuf;

use agentloop::{ImageRequest, ResponsePart};

use super::task::save::Place;
use super::task::{CallArgs, finished, prepared, read_media};
use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::printable;
use crate::screen::image::ImageProtocol;
use crate::setup::Setup;

/// Options of `agentloop image`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,

    /// What the image shows, or what to change [default: stdin]
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,

    /// Write the image to this file; - is stdout. Several images get numbers [default: a new file image-N of the current folder]
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// An image to edit or to combine: a file, a URL, or - for stdin. Can be given more than once.
    #[arg(long = "edit", value_name = "IMAGE")]
    edit: Vec<String>,

    /// Where to edit the first image: an image of the same size that is transparent there.
    #[arg(long, value_name = "IMAGE", requires = "edit")]
    mask: Option<String>,

    /// The number of images.
    #[arg(short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    n: Option<u32>,

    /// The size, for example 1024x1024.
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,

    /// The ratio of width to height, for example 16:9.
    #[arg(long, value_name = "RATIO")]
    aspect_ratio: Option<String>,

    /// The quality, for example high.
    #[arg(long, value_name = "QUALITY")]
    quality: Option<String>,

    /// The background: transparent or opaque, for example.
    #[arg(long, value_name = "BACKGROUND")]
    background: Option<String>,

    /// The format: png, jpeg or webp, for example.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// The number that makes the result repeatable, for providers that have one.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<i64>,
}

pub(crate) async fn run(args: Args, setup: &Setup) -> Result<(), Failure> {
    let place = Place::of(args.output.as_deref())?;
    check_stdout(&place, args.n.unwrap_or(1) as usize)?;
    let images = args.edit.iter().map(|name| read_media(name)).collect::<Result<Vec<_>, _>>()?;
    let mask = args.mask.as_deref().map(read_media).transpose()?;
    let prompt = if args.edit.iter().chain(&args.mask).any(|name| name == "-") {
        args.prompt.join(" ")
    } else {
        input::read_prompt(&args.prompt, setup.notes)?
    };
    if prompt.trim().is_empty() {
        return Err(input::missing_prompt());
    }
    let call = args.call.prepare(setup).await?;
    let mut request = prepared!(call, ImageRequest::new(&call.model, prompt));
    request.images = images;
    request.mask = mask;
    request.n = args.n;
    request.size = args.size;
    request.aspect_ratio = args.aspect_ratio;
    request.quality = args.quality;
    request.background = args.background;
    request.output_format = args.format;
    request.seed = args.seed;
    let response = args.call.accept(call.client.image(request).await)?;
    check_stdout(&place, response.images.len())?;
    let mut urls = Vec::new();
    if !args.call.print_json(&response)? {
        let parts = response.images.iter().map(|image| ResponsePart::Image(image.part.clone()));
        for (number, part) in (1..).zip(parts) {
            urls.extend(show(&part, &place.numbered(number, response.images.len()))?);
        }
        for prompt in response.images.iter().filter_map(|image| image.revised_prompt.as_deref()) {
            setup.notes.print_note(&format!("the prompt was changed to: {prompt}"));
        }
        if let Some(text) = &response.text {
            setup.notes.print_plain(text);
        }
    }
    finished!(call, response);
    if urls.is_empty() {
        Ok(())
    } else {
        Err(Failure::Response(format!(
            "the provider returned a URL in place of the image: {}",
            urls.join(" ")
        )))
    }
}

/// Fails if stdout would have to take several images.
fn check_stdout(place: &Place, images: usize) -> Result<(), Failure> {
    if *place == Place::Stdout && images > 1 {
        return Err(Failure::input_with_hint(
            format!("the response has {images} images, but stdout can take one"),
            "name a file with --output",
        ));
    }
    Ok(())
}

/// Writes an image, and shows it on a terminal that can. If there is only a URL, prints that, or returns it if the bytes were asked for.
fn show(part: &ResponsePart, place: &Place) -> Result<Option<String>, Failure> {
    if let ResponsePart::Image(image) = part
        && let (true, Some(url)) = (image.data.is_empty(), &image.url)
    {
        let url = printable::escape_line(url);
        if *place != Place::New {
            return Ok(Some(url.into_owned()));
        }
        let mut output = Output::new();
        output.write_line(&url)?;
        output.flush()?;
        return Ok(None);
    }
    let bytes = part.bytes()?;
    place.write(&bytes, "image", part.extension().unwrap_or("bin"))?;
    if let Some(image) = ImageProtocol::detect().and_then(|protocol| protocol.encode(&bytes)) {
        let mut output = Output::new();
        output.write_line(&image)?;
        output.flush()?;
    }
    Ok(None)
}
