//! Amounts in Redis.
//!
//! They are whole numbers of 10⁻⁹ dollars, rounded up once for each node and window. The scripts count with floating-point
//! numbers, which are exact up to 2⁵³ of these: nine million dollars. Larger amounts are counted as [`MOST_NANOS`].

/// The largest amount that the scripts count exactly: 9,007,199 dollars.
pub(super) const MOST_NANOS: i64 = 1 << 53;

const PICOS: i128 = 1_000;

/// Rounds an amount of 10⁻¹² dollars up.
pub(super) fn to_nanos(picos: i128) -> i64 {
    let nanos = picos.div_euclid(PICOS) + i128::from(picos.rem_euclid(PICOS) > 0);
    i64::try_from(nanos.clamp(0, i128::from(MOST_NANOS))).unwrap_or(MOST_NANOS)
}

/// Returns an amount of 10⁻⁹ dollars in 10⁻¹² dollars.
pub(super) fn to_picos(nanos: i64) -> i128 {
    i128::from(nanos) * PICOS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_up_and_bounded() {
        for (picos, nanos) in [(0, 0), (1, 1), (1_000, 1), (1_001, 2), (-1, 0), (-5_000, 0)] {
            assert_eq!(to_nanos(picos), nanos, "{picos}");
        }
        assert_eq!(to_nanos(i128::MAX), MOST_NANOS);
        assert_eq!(to_picos(to_nanos(7_001)), 8_000);
    }
}
