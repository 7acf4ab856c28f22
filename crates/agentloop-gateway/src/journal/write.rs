//! Writes a row as JSON, as serde reads it.
//!
//! Two lines are written for every request, so this is done by hand: the derived code escapes the name of each field again, and
//! costs four times as many instructions. Fields with their default value are left out.

use std::io::Write as _;

use agentloop::Usd;

use crate::store::{LedgerRow, Outcome};

/// Units of 10⁻¹² dollars.
const PICOS_PER_DOLLAR: u64 = 1_000_000_000_000;

/// Appends a row as JSON.
pub(super) fn append_row(line: &mut Vec<u8>, row: &LedgerRow) {
    // Without `..`: a new field must be written too.
    let LedgerRow {
        id,
        request,
        node,
        time_ms,
        key,
        team,
        api,
        call,
        model,
        provider,
        served,
        tags,
        outcome,
        estimated,
        prompt_tokens,
        completion_tokens,
        cached_tokens,
        reasoning_tokens,
        usd,
        reserved,
        price,
        duration_ms,
        first_byte_ms,
        status,
    } = row;
    line.extend_from_slice(b"{\"id\":");
    append_text(line, id);
    text(line, b",\"request\":", request);
    text(line, b",\"node\":", node);
    if *time_ms != 0 {
        line.extend_from_slice(b",\"timeMs\":");
        if *time_ms < 0 {
            line.push(b'-');
        }
        append_number(line, time_ms.unsigned_abs());
    }
    text(line, b",\"key\":", key);
    text(line, b",\"team\":", team.as_deref().unwrap_or_default());
    text(line, b",\"api\":", api);
    text(line, b",\"call\":", call);
    text(line, b",\"model\":", model);
    text(line, b",\"provider\":", provider);
    text(line, b",\"served\":", served);
    if !tags.is_empty() {
        line.extend_from_slice(b",\"tags\":");
        super::line::append_json(line, tags);
    }
    if *outcome != Outcome::default() {
        text(line, b",\"outcome\":", outcome.as_str());
    }
    if *estimated {
        line.extend_from_slice(b",\"estimated\":true");
    }
    number(line, b",\"promptTokens\":", *prompt_tokens);
    number(line, b",\"completionTokens\":", *completion_tokens);
    number(line, b",\"cachedTokens\":", *cached_tokens);
    number(line, b",\"reasoningTokens\":", *reasoning_tokens);
    if let Some(usd) = usd {
        amount(line, b",\"usd\":", *usd);
    }
    if *reserved != Usd::default() {
        amount(line, b",\"reserved\":", *reserved);
    }
    text(line, b",\"price\":", price.as_deref().unwrap_or_default());
    number(line, b",\"durationMs\":", *duration_ms);
    if let Some(time) = first_byte_ms {
        line.extend_from_slice(b",\"firstByteMs\":");
        append_number(line, *time);
    }
    number(line, b",\"status\":", u64::from(*status));
    line.push(b'}');
}

fn text(line: &mut Vec<u8>, name: &[u8], value: &str) {
    if !value.is_empty() {
        line.extend_from_slice(name);
        append_text(line, value);
    }
}

fn number(line: &mut Vec<u8>, name: &[u8], value: u64) {
    if value != 0 {
        line.extend_from_slice(name);
        append_number(line, value);
    }
}

fn amount(line: &mut Vec<u8>, name: &[u8], value: Usd) {
    line.extend_from_slice(name);
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
    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    if value.as_bytes().iter().all(is_plain) {
        line.push(b'"');
        line.extend_from_slice(value.as_bytes());
        line.push(b'"');
    } else {
        super::line::append_json(line, value);
    }
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
            amount(&mut text, b"", usd);
            assert_eq!(String::from_utf8(text).unwrap(), format!("\"{usd}\""));
        }
    }

    proptest! {
        #[test]
        fn every_row_is_read_as_it_was_written(row in row()) {
            let mut text = Vec::new();
            append_row(&mut text, &row);
            prop_assert!(!text.contains(&b'\n'));
            prop_assert_eq!(serde_json::from_slice::<LedgerRow>(&text).unwrap(), row);
        }
    }
}
