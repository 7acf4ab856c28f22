//! One vector.

use base64::Engine;
use base64::engine::DecodePaddingMode;
#[cfg(feature = "serve")]
use base64::engine::general_purpose::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use crate::provider::quirks::EmbeddingEncoding;

const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Numbers, or base64 of little-endian 32-bit floats or of signed bytes.
pub(super) fn read(raw: &str, encoding: EmbeddingEncoding) -> Option<Vec<f32>> {
    if raw.starts_with('[') {
        let mut numbers: Vec<f32> = serde_json::from_str(raw).ok()?;
        // The length is known only now. Without this, each vector would keep the unused capacity.
        numbers.shrink_to_fit();
        return Some(numbers);
    }
    let text: std::borrow::Cow<'_, str> = serde_json::from_str(raw).ok()?;
    let bytes = TOLERANT.decode(text.trim()).ok()?;
    match encoding {
        EmbeddingEncoding::Int8 => {
            Some(bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect())
        }
        EmbeddingEncoding::Unasked | EmbeddingEncoding::Base64 => {
            let (numbers, rest) = bytes.as_chunks::<4>();
            rest.is_empty().then(|| numbers.iter().map(|four| f32::from_le_bytes(*four)).collect())
        }
    }
}

/// Encodes a vector in base64 of little-endian 32-bit floats.
#[cfg(feature = "serve")]
pub(super) fn floats(vector: &[f32]) -> String {
    let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

/// Encodes a vector in base64 of signed bytes: the numbers, which are from -1 to 1, in steps of a 127th.
#[cfg(feature = "serve")]
pub(super) fn int8(vector: &[f32]) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a float too large becomes the largest")]
    let byte = |number: &f32| ((number * 127.0).round() as i8).cast_unsigned();
    STANDARD.encode(vector.iter().map(byte).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn base64_and_numbers_decode_to_the_same_vector(vector in prop::collection::vec(-1e6_f32..1e6, 0..50)) {
            let numbers = serde_json::to_string(&vector).unwrap();
            let packed = serde_json::to_string(&floats(&vector)).unwrap();
            prop_assert_eq!(read(&numbers, EmbeddingEncoding::Unasked), Some(vector.clone()));
            prop_assert_eq!(read(&packed, EmbeddingEncoding::Unasked), Some(vector.clone()));
            prop_assert_eq!(read(packed.replace('=', "").as_str(), EmbeddingEncoding::Base64), Some(vector));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let raw = serde_json::to_string(&text).unwrap();
            for encoding in [EmbeddingEncoding::Unasked, EmbeddingEncoding::Int8] {
                read(&raw, encoding);
                read(&text, encoding);
            }
        }
    }

    #[test]
    fn signed_bytes_are_one_number_each() {
        let vector = [1.0, -1.0, 0.0, 0.5];
        let raw = format!("\"{}\"", int8(&vector));
        assert_eq!(read(&raw, EmbeddingEncoding::Int8), Some(vec![127.0, -127.0, 0.0, 64.0]));
    }
}
