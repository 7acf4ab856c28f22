//! `agentloop usage`: sums and rows of the gateway's ledger.

mod args;
mod export;
mod prune;
mod show;

use agentloop::Usd;

pub(crate) use self::args::Args;

use self::args::Action;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::prompt::Prompt;
use crate::setup::Setup;

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    match &args.action {
        None => show::run(args, setup).await,
        Some(Action::Export(args)) => export::run(args, setup).await,
        Some(Action::Prune(args)) => prune::run(args, setup).await,
    }
}

/// Asks at the terminal whether something may be deleted.
pub(crate) async fn confirm(what: &str, notes: Notes) -> Result<bool, Failure> {
    let Some(prompt) = Prompt::at_terminal(notes) else {
        return Err(Failure::input_with_hint(
            format!("{what} would be deleted"),
            "there is no terminal to ask at; add --yes to delete without a question",
        ));
    };
    let reply = prompt.ask(&format!("Delete {what}? [y]es, [n]o (default: no): ")).await;
    Ok(matches!(reply.unwrap_or_default().trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Formats a number of things.
pub(crate) fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{} {what}s", group_digits(number)),
    }
}

/// Formats a number with a comma after each three digits.
fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats an amount for people, with four decimals. An amount that would be shown as zero is marked.
pub(crate) fn format_usd(usd: Usd) -> String {
    const UNIT: i128 = 100_000_000;
    let picos = usd.picos();
    let (sign, size) = (if picos < 0 { "-" } else { "" }, picos.unsigned_abs());
    if size > 0 && size < UNIT.unsigned_abs() {
        return format!("<{sign}$0.0001");
    }
    let rounded = size.saturating_add(UNIT.unsigned_abs() / 2) / UNIT.unsigned_abs();
    let (whole, rest) = (rounded / 10_000, rounded % 10_000);
    let whole = group_digits(u64::try_from(whole).unwrap_or(u64::MAX));
    format!("{sign}${whole}.{rest:04}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    #[test]
    fn amounts_are_rounded_for_people() {
        for (usd, shown) in [
            ("0", "$0.0000"),
            ("0.00000001", "<$0.0001"),
            ("0.0001", "$0.0001"),
            ("1.23456", "$1.2346"),
            ("1234567.99995", "$1,234,568.0000"),
            ("-2.5", "-$2.5000"),
        ] {
            assert_eq!(format_usd(usd.parse().unwrap()), shown);
        }
        assert!(format_usd(Usd::from_picos(i128::MIN)).starts_with("-$"));
        assert_eq!((count(1, "row"), count(0, "row")), ("1 row".to_owned(), "0 rows".to_owned()));
        assert_eq!(count(1_234_567, "row"), "1,234,567 rows");
    }
}
