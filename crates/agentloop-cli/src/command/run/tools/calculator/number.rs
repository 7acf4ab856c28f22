//! Numbers of the calculator: exact integers as long as they fit, else floating-point numbers.

use std::fmt;

/// A number. Integers are exact unless they overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Whole(i128),
    Real(f64),
}

use Number::{Real, Whole};

impl Number {
    /// Parses a number: `12`, `1.5` or `2e-3`.
    pub(super) fn parse(digits: &str) -> Option<Self> {
        match digits.parse() {
            Ok(whole) => Some(Whole(whole)),
            Err(_) => digits.parse().ok().map(Real),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a real number need not be exact")]
    pub(super) fn real(self) -> f64 {
        match self {
            Whole(number) => number as f64,
            Real(number) => number,
        }
    }

    fn combine(
        self,
        other: Self,
        exact: fn(i128, i128) -> Option<i128>,
        real: fn(f64, f64) -> f64,
    ) -> Result<Self, String> {
        if let (Whole(a), Whole(b)) = (self, other)
            && let Some(exact) = exact(a, b)
        {
            return Ok(Whole(exact));
        }
        Real(real(self.real(), other.real())).checked()
    }

    pub(super) fn plus(self, other: Self) -> Result<Self, String> {
        self.combine(other, i128::checked_add, |a, b| a + b)
    }

    pub(super) fn minus(self, other: Self) -> Result<Self, String> {
        self.combine(other, i128::checked_sub, |a, b| a - b)
    }

    pub(super) fn times(self, other: Self) -> Result<Self, String> {
        self.combine(other, i128::checked_mul, |a, b| a * b)
    }

    pub(super) fn over(self, other: Self) -> Result<Self, String> {
        if other.real() == 0.0 {
            return Err("division by zero".to_owned());
        }
        let exact = |a: i128, b: i128| match a.checked_rem(b) {
            Some(0) => a.checked_div(b),
            _ => None,
        };
        self.combine(other, exact, |a, b| a / b)
    }

    pub(super) fn remainder(self, other: Self) -> Result<Self, String> {
        if other.real() == 0.0 {
            return Err("division by zero".to_owned());
        }
        self.combine(other, i128::checked_rem, |a, b| a % b)
    }

    pub(super) fn power(self, other: Self) -> Result<Self, String> {
        let exact = |a: i128, b: i128| u32::try_from(b).ok().and_then(|b| a.checked_pow(b));
        self.combine(other, exact, f64::powf)
    }

    /// Applies a function of real numbers.
    pub(super) fn map(self, function: fn(f64) -> f64) -> Result<Self, String> {
        Real(function(self.real())).checked()
    }

    /// Rounds with a function that returns integers.
    pub(super) fn rounded(self, round: fn(f64) -> f64) -> Result<Self, String> {
        match self {
            Whole(_) => Ok(self),
            Real(number) => Ok(Self::parse(&format!("{:.0}", round(number))).unwrap_or(self)),
        }
    }

    pub(super) fn checked(self) -> Result<Self, String> {
        match self {
            Real(number) if number.is_nan() => Err("the result is not a real number".to_owned()),
            Real(number) if number.is_infinite() => Err("the result is too large".to_owned()),
            number => Ok(number),
        }
    }
}

impl fmt::Display for Number {
    /// Prints 15 digits of a real number, because with 16 digits 0.1 + 0.2 is not 0.3.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whole(number) => number.fmt(f),
            Real(number) => {
                let short: f64 = format!("{number:.14e}").parse().unwrap_or(*number);
                let size = short.abs();
                match short == 0.0 || (1e-6..1e21).contains(&size) {
                    // Adding 0.0 removes the sign of a negative zero.
                    true => write!(f, "{}", short + 0.0),
                    false => write!(f, "{short:e}"),
                }
            }
        }
    }
}
