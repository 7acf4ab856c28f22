//! Writes a row as JSON, as serde reads it.
//!
//! Two lines are written for every request, so this is done by hand: the derived code escapes the name of each field again, and
//! costs four times as many instructions. Fields with their default value are left out.

use std::io::Write as _;

use agentloop::Usd;

use crate::store::{LedgerRow, Outcome, columns};

/// Units of 10⁻¹² dollars.
const PICOS_PER_DOLLAR: u64 = 1_000_000_000_000;

/// Appends a row as JSON. Returns the length of the line after the fields that are the same when the call is reserved and when it ends.
pub(super) fn append_row(line: &mut Vec<u8>, row: &LedgerRow) -> usize {
    append_begin(line, row);
    let length = line.len();
    append_end(line, row);
    length
}

macro_rules! append {
    ($(#[$_a:meta])* $id:ident $_j:literal $_i:ty; $($(#[$_b:meta])* $begin:ident $begin_json:literal $_bt:ty),+;
     $($(#[$_c:meta])* $end:ident $end_json:literal $_et:ty),+;) => {
        /// Appends the fields that are known when a call begins and do not change.
        fn append_begin(line: &mut Vec<u8>, row: &LedgerRow) {
            line.extend_from_slice(b"{\"id\":");
            append_text(line, &row.$id);
            $(row.$begin.append(line, concat!(",\"", $begin_json, "\":").as_bytes());)+
        }

        /// Appends the fields that [`append_begin`] leaves out.
        pub(super) fn append_end(line: &mut Vec<u8>, row: &LedgerRow) {
            $(row.$end.append(line, concat!(",\"", $end_json, "\":").as_bytes());)+
            line.push(b'}');
        }
    };
}
columns!(append);

/// A value of a field, which is left out if it is the default.
trait Field {
    fn append(&self, line: &mut Vec<u8>, name: &[u8]);
}

macro_rules! fields {
    ($($type:ty: |$value:ident, $line:ident| $is_left_out:expr, $write:expr;)+) => {$(
        impl Field for $type {
            fn append(&self, $line: &mut Vec<u8>, name: &[u8]) {
                let $value = self;
                if !($is_left_out) {
                    $line.extend_from_slice(name);
                    $write;
                }
            }
        }
    )+};
}

fields! {
    String: |text, line| text.is_empty(), append_text(line, text);
    Option<String>: |text, line| text.as_deref().unwrap_or_default().is_empty(),
        append_text(line, text.as_deref().unwrap_or_default());
    Vec<String>: |texts, line| texts.is_empty(), super::line::append_json(line, texts);
    Outcome: |outcome, line| *outcome == Outcome::default(), append_text(line, outcome.as_str());
    bool: |flag, line| !*flag, line.extend_from_slice(b"true");
    u64: |number, line| *number == 0, append_number(line, *number);
    Option<u64>: |number, line| number.is_none(), append_number(line, number.unwrap_or_default());
    u16: |number, line| *number == 0, append_number(line, (*number).into());
    i64: |number, line| *number == 0, {
        line.extend_from_slice(if *number < 0 { b"-" } else { b"" });
        append_number(line, number.unsigned_abs());
    };
    Usd: |usd, line| *usd == Usd::default(), amount(line, *usd);
    Option<Usd>: |usd, line| usd.is_none(), amount(line, usd.unwrap_or_default());
}

fn amount(line: &mut Vec<u8>, value: Usd) {
    line.push(b'"');
    match u64::try_from(value.picos()) {
        Ok(picos) => {
            append_number(line, picos / PICOS_PER_DOLLAR);
            append_fraction(line, picos % PICOS_PER_DOLLAR);
        }
        // Negative, or above 18 million dollars. Writing to a vector does not fail.
        Err(_) => {
            let _ = write!(line, "{value}");
        }
    }
    line.push(b'"');
}

/// Appends the decimals of an amount, without zeros at the end.
fn append_fraction(line: &mut Vec<u8>, mut picos: u64) {
    let mut unit = PICOS_PER_DOLLAR / 10;
    if picos > 0 {
        line.push(b'.');
    }
    while picos > 0 {
        // Below 10, because the rest is below ten units.
        line.push(b'0' + u8::try_from(picos / unit).unwrap_or(0));
        picos %= unit;
        unit /= 10;
    }
}

fn append_text(line: &mut Vec<u8>, value: &str) {
    if is_plain(value.as_bytes()) {
        line.push(b'"');
        line.extend_from_slice(value.as_bytes());
        line.push(b'"');
    } else {
        super::line::append_json(line, value);
    }
}

/// Returns whether JSON has a text as it is. Eight bytes are looked at at once.
fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // The highest bit of each byte that is below a number of at most 128, and is itself below 128; bits above the first one may be wrong.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let is = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let odd = |word: u64| below(word, 0x20) | is(word, b'"') | is(word, b'\\');
    let (mut found, mut words) = (0, text.chunks_exact(8));
    for word in words.by_ref() {
        // All of them have eight bytes.
        found |= odd(u64::from_ne_bytes(word.try_into().unwrap_or_default()));
    }
    let mut last = [b' '; 8];
    for (place, byte) in last.iter_mut().zip(words.remainder()) {
        *place = *byte;
    }
    (found | odd(u64::from_ne_bytes(last))) & (ONES << 7) == 0
}

fn append_number(line: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    for digit in digits.iter_mut().rev() {
        // A remainder of ten is below 256.
        *digit = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        start -= 1;
        if value == 0 {
            break;
        }
    }
    line.extend_from_slice(digits.get(start..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row() -> impl Strategy<Value = LedgerRow> {
        let texts = prop::collection::vec(any::<String>(), 8);
        let numbers = prop::collection::vec(prop_oneof![Just(0), any::<u64>()], 5);
        let optional = prop::collection::vec(prop::option::of("[^\u{0}]{1,9}"), 2);
        let amounts = (any::<Option<i64>>(), any::<i64>());
        let others = (any::<i64>(), any::<bool>(), 0..5_usize, any::<Option<u64>>(), any::<u16>());
        let tags = prop::collection::vec(any::<String>(), 0..3);
        (texts, numbers, optional, amounts, others, tags).prop_map(
            |(texts, numbers, optional, (usd, reserved), others, tags)| LedgerRow {
                id: texts[0].clone(),
                request: texts[1].clone(),
                node: texts[2].clone(),
                time_ms: others.0,
                key: texts[3].clone(),
                team: optional[0].clone(),
                api: texts[4].clone(),
                call: "chat".to_owned(),
                model: texts[5].clone(),
                provider: texts[6].clone(),
                served: texts[7].clone(),
                tags,
                outcome: Outcome::ALL[others.2],
                estimated: others.1,
                prompt_tokens: numbers[0],
                completion_tokens: numbers[1],
                cached_tokens: numbers[2],
                reasoning_tokens: numbers[3],
                usd: usd.map(|usd| Usd::from_picos(i128::from(usd))),
                reserved: Usd::from_picos(i128::from(reserved)),
                price: optional[1].clone(),
                duration_ms: numbers[4],
                first_byte_ms: others.3,
                status: others.4,
            },
        )
    }

    #[test]
    fn amounts_are_written_as_they_are_shown() {
        let odd = [1, 10, 999_999_999_999, 1_000_000_000_000, 1_500_000_000_000, 28_000_000];
        let wide = [0, -1, i128::from(u64::MAX), i128::from(u64::MAX) + 1, i128::MAX];
        for picos in odd.into_iter().chain(wide) {
            let (mut text, usd) = (Vec::new(), Usd::from_picos(picos));
            amount(&mut text, usd);
            assert_eq!(String::from_utf8(text).unwrap(), format!("\"{usd}\""));
        }
    }

    #[test]
    fn every_byte_that_json_escapes_is_noticed_at_every_place() {
        for length in 0..20 {
            assert!(is_plain(&vec![b'a'; length]));
            for (place, byte) in
                (0..length).flat_map(|place| (0..=u8::MAX).map(move |it| (place, it)))
            {
                let mut text = vec![0xff; length];
                text[place] = byte;
                let is_odd = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(is_plain(&text), !is_odd, "{text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_row_is_read_as_it_was_written(row in row()) {
            let mut text = Vec::new();
            let common = append_row(&mut text, &row);
            // What the line of the final row is made of.
            let mut again = text[..common].to_vec();
            append_end(&mut again, &row);
            prop_assert_eq!(&again, &text);
            prop_assert!(!text.contains(&b'\n'));
            prop_assert_eq!(serde_json::from_slice::<LedgerRow>(&text).unwrap(), row);
        }
    }
}
