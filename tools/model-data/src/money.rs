//! Amounts, from their text.

use agentloop::Usd;

/// An amount for a million, as it is written.
pub(crate) fn per_million(text: &str) -> Option<Usd> {
    text.replace('_', "").parse().ok()
}

/// An amount for one token, as an amount for a million: the decimal point moves, in the text.
pub(crate) fn per_token(text: &str) -> Option<Usd> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    format!("{mantissa}e{}", exponent.checked_add(6)?).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_point_moves_in_the_text() {
        for (text, expected) in [
            ("2.5e-06", "2.5"),
            ("0.0000028", "2.8"),
            ("3e-07", "0.3"),
            ("0.0", "0"),
            ("1", "1000000"),
            // What a float left behind is less than the twelfth decimal, and goes.
            ("1.2500000000000001e-06", "1.25"),
        ] {
            assert_eq!(per_token(text).map(|usd| usd.to_string()).as_deref(), Some(expected));
        }
        assert_eq!(per_token("free"), None);
        assert_eq!(per_million("1_000.50").map(|usd| usd.to_string()).as_deref(), Some("1000.5"));
    }
}
