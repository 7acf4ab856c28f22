//! Numbers that identify bytes, and random numbers.

use std::hash::{BuildHasher as _, RandomState};

/// Extends an FNV-1a hash by some bytes. The result is the same on every machine and in every version, which the hashes of the
/// standard library do not promise.
pub(crate) fn fnv64(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The FNV-1a hash of no bytes.
pub(crate) const FNV64: u64 = 0xcbf2_9ce4_8422_2325;

/// Extends an FNV-1a hash of 128 bits by some bytes.
pub(crate) fn fnv128(hash: u128, bytes: &[u8]) -> u128 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// The FNV-1a hash of 128 bits of no bytes.
pub(crate) const FNV128: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

/// Returns a random number. It is not fit for secrets.
pub(crate) fn random() -> u64 {
    // The standard library seeds each `RandomState` differently, so no crate for random numbers is needed.
    RandomState::new().hash_one(0_u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!(fnv64(FNV64, b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv64(fnv64(FNV64, b"foo"), b"bar"), fnv64(FNV64, b"foobar"));
        assert_eq!(fnv128(FNV128, b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
        assert_ne!(random(), random());
    }
}
