//! Reads an expression and works it out on the way.
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

/// How deep an expression may nest.
pub(super) const MAX_DEPTH: usize = 64;

/// What the expression comes to; else why it does not, for the model.
pub(super) fn evaluate(expression: &str) -> Result<Number, String> {
    if expression.len() > MAX_LENGTH {
        return Err(format!("the expression is longer than {MAX_LENGTH} bytes"));
    }
    let mut parser = Parser { rest: expression, depth: 0 };
    let number = parser.sum()?;
    match parser.peek() {
        None => Ok(number),
        Some(_) => Err(parser.unexpected()),
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

    fn unexpected(&mut self) -> String {
        match self.peek() {
            Some(sign) => format!("`{sign}` is not expected before `{}`", self.rest),
            None => "the expression ends too early".to_owned(),
        }
    }

    fn deeper<T>(&mut self, read: fn(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.depth == MAX_DEPTH {
            return Err(format!("the expression nests deeper than {MAX_DEPTH}"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn sum(&mut self) -> Result<Number, String> {
        let mut number = self.product()?;
        loop {
            if self.take(&["+"]) {
                number = number.plus(self.product()?)?;
            } else if self.take(&["-", "−"]) {
                number = number.minus(self.product()?)?;
            } else {
                return Ok(number);
            }
        }
    }

    fn product(&mut self) -> Result<Number, String> {
        let mut number = self.deeper(Self::signed)?;
        loop {
            if self.take(&["*", "×", "·"]) {
                number = number.times(self.deeper(Self::signed)?)?;
            } else if self.take(&["/", "÷"]) {
                number = number.over(self.deeper(Self::signed)?)?;
            } else if self.take(&["%"]) {
                number = number.rest(self.deeper(Self::signed)?)?;
            } else {
                return Ok(number);
            }
        }
    }

    fn signed(&mut self) -> Result<Number, String> {
        if self.take(&["-", "−"]) {
            return Number::Whole(0).minus(self.deeper(Self::signed)?);
        }
        if self.take(&["+"]) {
            return self.deeper(Self::signed);
        }
        let base = self.value()?;
        match self.take(&["^", "**"]) {
            true => base.power(self.deeper(Self::signed)?),
            false => Ok(base),
        }
    }

    fn value(&mut self) -> Result<Number, String> {
        match self.peek() {
            Some('(') => {
                self.take(&["("]);
                let number = self.deeper(Self::sum)?;
                self.close()?;
                Ok(number)
            }
            Some(sign) if sign.is_ascii_digit() || sign == '.' => self.number(),
            Some(sign) if sign.is_ascii_alphabetic() => self.named(),
            _ => Err(self.unexpected()),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        match self.take(&[")"]) {
            true => Ok(()),
            false => Err("a parenthesis is not closed".to_owned()),
        }
    }

    fn number(&mut self) -> Result<Number, String> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| {
            let count = bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
            from + count
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        // `2e3` is a number; in `2 e` the letter is a name, which the caller complains about.
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(signed);
            if exponent > signed {
                end = exponent;
            }
        }
        let (text, rest) = self.rest.split_at(end);
        let number = Number::read(text).ok_or_else(|| format!("`{text}` is no number"))?;
        self.rest = rest;
        number.checked()
    }

    fn named(&mut self) -> Result<Number, String> {
        let end = self.rest.find(|sign: char| !sign.is_ascii_alphanumeric());
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let name = name.to_ascii_lowercase();
        self.rest = rest;
        if !self.take(&["("]) {
            return match name.as_str() {
                "pi" => Ok(Number::Real(std::f64::consts::PI)),
                "e" => Ok(Number::Real(std::f64::consts::E)),
                _ => Err(format!("`{name}` is not known")),
            };
        }
        let mut arguments = vec![self.deeper(Self::sum)?];
        while self.take(&[","]) {
            arguments.push(self.deeper(Self::sum)?);
        }
        self.close()?;
        call(&name, &arguments)
    }
}

fn call(name: &str, arguments: &[Number]) -> Result<Number, String> {
    let pick = |better: fn(&f64, &f64) -> bool| {
        let mut numbers = arguments.iter().copied();
        let first = numbers.next().ok_or("nothing to choose from")?;
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
        _ => Err(format!("`{name}` of {} numbers is not known", arguments.len())),
    }
}
