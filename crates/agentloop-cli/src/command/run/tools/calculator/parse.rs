//! Parses and evaluates an expression in one pass.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = signed (("*" | "/" | "%") signed)*
//! signed  = ("+" | "-") signed | power
//! power   = value ("^" signed)?
//! value   = number | name | name "(" sum ("," sum)* ")" | "(" sum ")"
//! ```

use super::number::Number;

/// The longest expression, in bytes.
pub(super) const MAX_LENGTH: usize = 1_000;

/// The maximum nesting depth of an expression.
pub(super) const MAX_DEPTH: usize = 64;

/// Evaluates an expression. The error message is for the model.
pub(super) fn evaluate(expression: &str) -> Result<Number, String> {
    if expression.len() > MAX_LENGTH {
        return Err(format!("the expression is longer than {MAX_LENGTH} bytes"));
    }
    let mut parser = Parser { rest: expression, depth: 0 };
    let number = parser.parse_sum()?;
    match parser.peek() {
        None => Ok(number),
        Some(_) => Err(parser.describe_unexpected()),
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Whether one of these comes next; it is taken then.
    fn take(&mut self, signs: &[&str]) -> bool {
        self.rest = self.rest.trim_start();
        for sign in signs {
            if let Some(rest) = self.rest.strip_prefix(sign) {
                self.rest = rest;
                return true;
            }
        }
        false
    }

    fn describe_unexpected(&mut self) -> String {
        match self.peek() {
            Some(_) => format!("unexpected input at `{}`", self.rest),
            None => "unexpected end of the expression".to_owned(),
        }
    }

    fn nest<T>(&mut self, read: fn(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("the expression is nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn parse_sum(&mut self) -> Result<Number, String> {
        let mut number = self.parse_product()?;
        loop {
            if self.take(&["+"]) {
                number = number.plus(self.parse_product()?)?;
            } else if self.take(&["-", "−"]) {
                number = number.minus(self.parse_product()?)?;
            } else {
                return Ok(number);
            }
        }
    }

    fn parse_product(&mut self) -> Result<Number, String> {
        let mut number = self.nest(Self::parse_signed)?;
        loop {
            if self.take(&["*", "×", "·"]) {
                number = number.times(self.nest(Self::parse_signed)?)?;
            } else if self.take(&["/", "÷"]) {
                number = number.over(self.nest(Self::parse_signed)?)?;
            } else if self.take(&["%"]) {
                number = number.remainder(self.nest(Self::parse_signed)?)?;
            } else {
                return Ok(number);
            }
        }
    }

    fn parse_signed(&mut self) -> Result<Number, String> {
        if self.take(&["-", "−"]) {
            return Number::Whole(0).minus(self.nest(Self::parse_signed)?);
        }
        if self.take(&["+"]) {
            return self.nest(Self::parse_signed);
        }
        let base = self.parse_value()?;
        match self.take(&["^", "**"]) {
            true => base.power(self.nest(Self::parse_signed)?),
            false => Ok(base),
        }
    }

    fn parse_value(&mut self) -> Result<Number, String> {
        match self.peek() {
            Some('(') => {
                self.take(&["("]);
                let number = self.nest(Self::parse_sum)?;
                self.expect_close()?;
                Ok(number)
            }
            Some(sign) if sign.is_ascii_digit() || sign == '.' => self.parse_number(),
            Some(sign) if sign.is_ascii_alphabetic() => self.parse_named(),
            _ => Err(self.describe_unexpected()),
        }
    }

    fn expect_close(&mut self) -> Result<(), String> {
        match self.take(&[")"]) {
            true => Ok(()),
            false => Err("a closing parenthesis is missing".to_owned()),
        }
    }

    fn parse_number(&mut self) -> Result<Number, String> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| {
            let count = bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
            from + count
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        // `2e3` is a number. In `2 e` the letter is a name, which the caller reports.
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(signed);
            if exponent > signed {
                end = exponent;
            }
        }
        let (text, rest) = self.rest.split_at(end);
        let number = Number::parse(text).ok_or_else(|| format!("`{text}` is not a number"))?;
        self.rest = rest;
        number.checked()
    }

    fn parse_named(&mut self) -> Result<Number, String> {
        let end = self.rest.find(|sign: char| !sign.is_ascii_alphanumeric());
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let name = name.to_ascii_lowercase();
        self.rest = rest;
        if !self.take(&["("]) {
            return match name.as_str() {
                "pi" => Ok(Number::Real(std::f64::consts::PI)),
                "e" => Ok(Number::Real(std::f64::consts::E)),
                _ => Err(format!("unknown name `{name}`")),
            };
        }
        let mut arguments = vec![self.nest(Self::parse_sum)?];
        while self.take(&[","]) {
            arguments.push(self.nest(Self::parse_sum)?);
        }
        self.expect_close()?;
        call(&name, &arguments)
    }
}

fn call(name: &str, arguments: &[Number]) -> Result<Number, String> {
    let pick = |better: fn(&f64, &f64) -> bool| {
        let mut numbers = arguments.iter().copied();
        let first = numbers.next().ok_or("min and max need at least one number")?;
        Ok(numbers.fold(first, |best, next| match better(&next.real(), &best.real()) {
            true => next,
            false => best,
        }))
    };
    match (name, arguments) {
        ("min", _) => pick(f64::lt),
        ("max", _) => pick(f64::gt),
        ("abs", [number]) if number.real() < 0.0 => Number::Whole(0).minus(*number),
        ("abs", [number]) => Ok(*number),
        ("round", [number]) => number.rounded(f64::round),
        ("floor", [number]) => number.rounded(f64::floor),
        ("ceil", [number]) => number.rounded(f64::ceil),
        ("sqrt", [number]) => number.map(f64::sqrt),
        ("exp", [number]) => number.map(f64::exp),
        ("ln", [number]) => number.map(f64::ln),
        ("log2", [number]) => number.map(f64::log2),
        ("log10", [number]) => number.map(f64::log10),
        ("sin", [number]) => number.map(f64::sin),
        ("cos", [number]) => number.map(f64::cos),
        ("tan", [number]) => number.map(f64::tan),
        _ => Err(format!("unknown function `{name}` with {} arguments", arguments.len())),
    }
}
