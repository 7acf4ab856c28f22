//! The size of a tensor, by its type and its dimensions.

use std::io::Read;

use super::reader::Reader;

/// The most dimensions of a tensor.
const MAX_DIMENSIONS: u32 = 4;

/// Reads the description of a tensor: returns its offset after the head, and its size in bytes.
pub(super) fn read<R: Read>(reader: &mut Reader<R>, name: &str) -> Result<(u64, u64), String> {
    let dimensions = reader.u32()?;
    if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
        return Err(format!("the tensor {name} has {dimensions} dimensions"));
    }
    let too_large = || format!("the tensor {name} is too large");
    let (mut elements, mut row) = (1_u64, 1_u64);
    for dimension in 0..dimensions {
        let length = reader.u64()?;
        if length == 0 || length > i64::MAX as u64 {
            return Err(format!("the tensor {name} has a dimension of {length}"));
        }
        if dimension == 0 {
            row = length;
        }
        elements = elements.checked_mul(length).ok_or_else(too_large)?;
    }
    let kind = reader.u32()?;
    let (block, bytes) =
        block_of(kind).ok_or_else(|| format!("the tensor {name} has the unknown type {kind}"))?;
    if row % block != 0 {
        return Err(format!("the rows of the tensor {name} are not whole blocks"));
    }
    let size = (elements / block).checked_mul(bytes).ok_or_else(too_large)?;
    Ok((reader.u64()?, size))
}

/// Returns how many elements a block of a type has, and how many bytes: `ggml.h` and `ggml-common.h` of llama.cpp, 2026-11.
fn block_of(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),      // F32, I32
        1 | 25 | 30 => (1, 2), // F16, I16, BF16
        24 => (1, 1),          // I8
        27 | 28 => (1, 8),     // I64, F64
        2 => (32, 18),         // Q4_0
        3 => (32, 20),         // Q4_1
        6 => (32, 22),         // Q5_0
        7 => (32, 24),         // Q5_1
        8 => (32, 34),         // Q8_0
        9 => (32, 36),         // Q8_1
        10 => (256, 84),       // Q2_K
        11 => (256, 110),      // Q3_K
        12 => (256, 144),      // Q4_K
        13 => (256, 176),      // Q5_K
        14 => (256, 210),      // Q6_K
        15 => (256, 292),      // Q8_K
        16 => (256, 66),       // IQ2_XXS
        17 => (256, 74),       // IQ2_XS
        18 => (256, 98),       // IQ3_XXS
        19 => (256, 50),       // IQ1_S
        20 => (32, 18),        // IQ4_NL
        21 => (256, 110),      // IQ3_S
        22 => (256, 82),       // IQ2_S
        23 => (256, 136),      // IQ4_XS
        29 => (256, 56),       // IQ1_M
        34 => (256, 54),       // TQ1_0
        35 => (256, 66),       // TQ2_0
        39 => (32, 17),        // MXFP4
        40 => (64, 36),        // NVFP4
        41 => (128, 18),       // Q1_0
        42 => (64, 18),        // Q2_0
        _ => return None,
    })
}
