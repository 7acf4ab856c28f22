//! Simulated embeddings. The same text always gets the same vector.

use agentloop::protocol::serve::ServedEmbed;
use agentloop::{EmbedResponse, EmbedUsage, Error, ErrorKind, Result};

use crate::model::{count_words, hash, model_id};

/// The length of a vector, if the request does not set `dimensions`.
const DEFAULT_DIMENSIONS: u32 = 8;

/// The maximum length of a vector.
const MAX_DIMENSIONS: u32 = 65_536;

/// Returns one unit vector for each text.
pub(crate) fn embed(served: &ServedEmbed) -> Result<EmbedResponse> {
    let request = &served.request;
    let dimensions = request.dimensions.unwrap_or(DEFAULT_DIMENSIONS);
    if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
        let message =
            format!("`dimensions` is {dimensions}, but must be from 1 to {MAX_DIMENSIONS}");
        return Err(Error::new(ErrorKind::InvalidRequest, message).with_status(400));
    }
    let texts = request.input.as_slice();
    let vectors = texts.iter().map(|text| vector(text, dimensions)).collect();
    let tokens = texts.iter().map(|text| count_words(text)).sum();
    let mut response = EmbedResponse::new(model_id(&request.model), "sim", vectors);
    response.usage = Some(EmbedUsage::new(tokens, tokens));
    Ok(response)
}

fn vector(text: &str, dimensions: u32) -> Vec<f32> {
    let seed = hash(text.as_bytes());
    let raw: Vec<f64> = (1..=u64::from(dimensions))
        .map(|at| {
            // The top 53 bits of a well-mixed number, as a float from -1 to 1.
            let mixed = mix(seed.wrapping_add(at.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            (mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
        .collect();
    let length = raw.iter().map(|number| number * number).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "vectors have single precision")]
    raw.iter().map(|number| (number / length) as f32).collect()
}

/// Mixes the bits of a number, as the last steps of SplitMix64 do.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_always_gets_the_same_unit_vector() {
        for dimensions in [1, 8, 256] {
            let one = vector("hello", dimensions);
            assert_eq!(one, vector("hello", dimensions));
            assert_ne!(one, vector("goodbye", dimensions).as_slice().repeat(2));
            let length: f32 = one.iter().map(|number| number * number).sum();
            assert!((length - 1.0).abs() < 1e-5, "{length}");
        }
        assert_ne!(vector("hello", 8), vector("goodbye", 8));
    }
}
