//! Images as Sixel, for terminals without Kitty's or iTerm2's protocol.

use std::fmt::Write as _;
use std::io::Cursor;

use image::{ImageReader, Limits, Rgb, RgbImage, imageops};

/// The largest side of an image that is decoded, in pixels.
const MAX_SIDE: u32 = 8_192;

/// The most memory that a decoder may take, in bytes.
const MAX_MEMORY: u64 = 256 << 20;

/// The size that an image is reduced to: it fits a terminal of 80 columns.
const SHOWN: (u32, u32) = (640, 480);

/// The levels of each of red, green and blue in the palette.
const LEVELS: u8 = 6;

/// Returns the escape sequences that show an image. Returns `None` if it cannot be decoded.
pub(super) fn encode(image: &[u8]) -> Option<String> {
    Some(write(&decode(image)?))
}

fn decode(image: &[u8]) -> Option<RgbImage> {
    let mut reader = ImageReader::new(Cursor::new(image)).with_guessed_format().ok()?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let image = reader.decode().ok()?;
    let is_large = image.width() > SHOWN.0 || image.height() > SHOWN.1;
    let image = if is_large { image.thumbnail(SHOWN.0, SHOWN.1) } else { image };
    // Transparent pixels are shown on white.
    let mut shown =
        image::RgbaImage::from_pixel(image.width(), image.height(), image::Rgba([255; 4]));
    imageops::overlay(&mut shown, &image.to_rgba8(), 0, 0);
    Some(image::DynamicImage::ImageRgba8(shown).to_rgb8())
}

/// Writes an image: bands of six rows, in each band one line of characters for each colour.
fn write(image: &RgbImage) -> String {
    let (width, height) = image.dimensions();
    let indices = dithered(image);
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    for index in 0..LEVELS.pow(3) {
        let [r, g, b] = levels(index).map(|level| u32::from(level) * 100 / u32::from(LEVELS - 1));
        let _ = write!(out, "#{index};2;{r};{g};{b}");
    }
    let width = usize::try_from(width).unwrap_or_default().max(1);
    for band in indices.chunks(6 * width) {
        let mut first = true;
        for index in 0..LEVELS.pow(3) {
            if !band.contains(&index) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push('$');
            }
            let _ = write!(out, "#{index}");
            let column = |x: usize| {
                let rows = band.chunks(width).enumerate();
                rows.fold(0u8, |bits, (y, row)| bits | u8::from(row.get(x) == Some(&index)) << y)
            };
            let mut x = 0;
            while x < width {
                let bits = column(x);
                let run = (x..width).take_while(|x| column(*x) == bits).count();
                x += run;
                let character = char::from(63 + bits);
                match run {
                    1..=3 => out.extend(std::iter::repeat_n(character, run)),
                    _ => {
                        let _ = write!(out, "!{run}{character}");
                    }
                }
            }
        }
        out.push('-');
    }
    out.push_str("\x1b\\");
    out
}

/// Returns the levels of red, green and blue of a colour of the palette.
fn levels(index: u8) -> [u8; 3] {
    [index / (LEVELS * LEVELS), index / LEVELS % LEVELS, index % LEVELS]
}

/// Returns the colour of each pixel. What a colour differs from its pixel is spread over the next pixels (Floyd and Steinberg).
fn dithered(image: &RgbImage) -> Vec<u8> {
    let width = usize::try_from(image.width()).unwrap_or_default();
    let mut errors = [vec![[0i32; 3]; width + 2], vec![[0i32; 3]; width + 2]];
    let mut indices = Vec::with_capacity(image.as_raw().len() / 3);
    for row in image.rows() {
        let [here, below] = &mut errors;
        for (x, Rgb(pixel)) in row.enumerate() {
            let mut index = 0;
            for channel in 0..3 {
                let wanted = (i32::from(pixel[channel]) + here[x + 1][channel] / 16).clamp(0, 255);
                let step = 255 / i32::from(LEVELS - 1);
                let level = (wanted + step / 2) / step;
                index = index * LEVELS + u8::try_from(level).unwrap_or_default();
                let error = wanted - level * step;
                here[x + 2][channel] += error * 7;
                below[x][channel] += error * 3;
                below[x + 1][channel] += error * 5;
                below[x + 2][channel] += error;
            }
            indices.push(index);
        }
        errors.swap(0, 1);
        errors[1].fill([0; 3]);
    }
    indices
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat};

    use super::*;

    fn bytes(image: RgbImage, format: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        DynamicImage::ImageRgb8(image).write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    /// Returns the rows of a Sixel image, as indices of colours.
    fn read(sixel: &str) -> Vec<Vec<Option<u8>>> {
        let body = sixel.strip_prefix("\x1bP0;1;0q\"1;1;").unwrap().strip_suffix("\x1b\\").unwrap();
        let (size, data) = body.split_once('#').unwrap();
        let (width, height) = size.split_once(';').unwrap();
        let (width, height): (usize, usize) = (width.parse().unwrap(), height.parse().unwrap());
        let mut rows = vec![vec![None; width]; height.next_multiple_of(6)];
        let (mut x, mut y, mut colour, mut repeat) = (0, 0, 0, 1);
        let data = format!("#{data}");
        let mut characters = data.chars().peekable();
        while let Some(character) = characters.next() {
            let mut number = || {
                let mut digits = String::new();
                while let Some(next) = characters.next_if(|c| c.is_ascii_digit() || *c == ';') {
                    digits.push(next);
                }
                digits
            };
            match character {
                '#' => colour = number().split(';').next().unwrap().parse().unwrap(),
                '!' => repeat = number().parse().unwrap(),
                '$' => x = 0,
                '-' => (x, y) = (0, y + 6),
                _ => {
                    let bits = character as u8 - 63;
                    for _ in 0..std::mem::replace(&mut repeat, 1) {
                        for bit in (0..6).filter(|bit| bits >> bit & 1 == 1) {
                            rows[y + bit][x] = Some(colour);
                        }
                        x += 1;
                    }
                }
            }
        }
        rows.truncate(height);
        rows
    }

    #[test]
    fn pixels_keep_their_place_and_colour() {
        let mut image = RgbImage::from_pixel(9, 8, Rgb([255, 0, 0]));
        image.put_pixel(4, 7, Rgb([0, 0, 255]));
        let rows = read(&encode(&bytes(image, ImageFormat::Png)).unwrap());
        assert_eq!((rows.len(), rows[0].len()), (8, 9));
        let red = 5 * 36;
        for (y, row) in rows.iter().enumerate() {
            for (x, pixel) in row.iter().enumerate() {
                assert_eq!(*pixel, Some(if (x, y) == (4, 7) { 5 } else { red }), "{x},{y}");
            }
        }
    }

    #[test]
    fn colours_between_those_of_the_palette_are_mixed() {
        let image = RgbImage::from_pixel(60, 60, Rgb([76, 76, 76]));
        let rows = read(&encode(&bytes(image, ImageFormat::Png)).unwrap());
        let sum: u32 =
            rows.iter().flatten().map(|pixel| u32::from(levels(pixel.unwrap())[1])).sum();
        let mean = sum * 51 / 3_600;
        assert!((74..=78).contains(&mean), "{mean}");
    }

    #[test]
    fn large_images_are_reduced_and_every_format_is_decoded() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let image = RgbImage::from_pixel(2_000, 1_000, Rgb([0, 255, 0]));
            let shown = encode(&bytes(image, format)).unwrap();
            assert!(shown.starts_with("\x1bP0;1;0q\"1;1;640;320#0;2;0;0;0"), "{format:?}");
            assert!(shown.len() < 200_000, "{}", shown.len());
        }
    }

    #[test]
    fn damaged_and_giant_images_are_not_shown() {
        let image = RgbImage::from_pixel(40, 40, Rgb([1, 2, 3]));
        let mut whole = bytes(image, ImageFormat::Png);
        for end in 0..whole.len() - 12 {
            assert_eq!(encode(&whole[..end]), None, "{end}");
        }
        // A header that claims 60,000 × 60,000 pixels.
        whole[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        assert_eq!(encode(&whole), None);
        assert_eq!(encode(b"\x1b]0;title\x07"), None);
    }
}
