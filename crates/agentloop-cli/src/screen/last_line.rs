//! The last line about a response: model, tokens, cost and time.

use agentloop::{ChatResponse, Cost, ModelCatalog, Usage, Usd};
use std::time::{Duration, SystemTime};

use crate::printable::escape_name;

/// Describes a response, for example `openai/gpt-4o · 1,200 tokens in (1,000 cached) · 80 out · $0.0021 · 1.5 s`.
pub(crate) fn describe(
    response: &ChatResponse,
    usage: &Usage,
    cost: Option<Usd>,
    elapsed: Duration,
) -> String {
    describe_call(&response.provider, &response.model, usage, cost, elapsed)
}

/// Describes the response to a call of any kind.
pub(crate) fn describe_call(
    provider: &str,
    model: &str,
    usage: &Usage,
    cost: Option<Usd>,
    elapsed: Duration,
) -> String {
    let mut words = vec![format_model(provider, model)];
    words.extend(format_usage(usage));
    words.extend(cost.map(|usd| format!("${usd}")));
    words.push(format_duration(elapsed));
    words.join(" · ")
}

/// Returns the cost of a response: the one that it reports, else the one by the prices of the model.
pub(crate) fn cost_of(response: &ChatResponse, catalog: &ModelCatalog) -> Option<Cost> {
    response.cost.clone().or_else(|| {
        let known = catalog.lookup(&response.provider, &response.model)?;
        known.cost(&response.usage, SystemTime::now(), None)
    })
}

fn format_model(provider: &str, model: &str) -> String {
    let model = escape_name(model);
    if provider.is_empty() {
        model.into_owned()
    } else {
        format!("{}/{model}", escape_name(provider))
    }
}

/// Formats the tokens. Thinking is a part of the output, and cached tokens are a part of the input.
fn format_usage(usage: &Usage) -> Vec<String> {
    let part = |tokens: Option<u64>, name: &str| {
        let tokens = tokens.filter(|tokens| *tokens > 0);
        tokens.map(|tokens| format!(" ({} {name})", format_count(tokens))).unwrap_or_default()
    };
    let input = usage.prompt_tokens.map(|tokens| {
        let cached = part(usage.details.cached_tokens, "cached");
        format!("{} tokens in{cached}", format_count(tokens))
    });
    let output = usage.completion_tokens.map(|tokens| {
        let thinking = part(usage.details.reasoning_tokens, "thinking");
        format!("{} out{thinking}", format_count(tokens))
    });
    let total = match (&input, &output) {
        (None, None) => usage.total_tokens.map(|tokens| format!("{} tokens", format_count(tokens))),
        _ => None,
    };
    [input, output, total].into_iter().flatten().collect()
}

/// Formats a number with separators between thousands.
fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats a duration, for example `250 ms` or `1.5 s`.
pub(crate) fn format_duration(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        0..1_000 => format!("{ms} ms"),
        _ => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_has_model_tokens_cost_and_time() {
        let mut usage = Usage::new(1_234_567, 89);
        usage.details.cached_tokens = Some(1_000);
        usage.details.reasoning_tokens = Some(0);
        assert_eq!(format_usage(&usage), ["1,234,567 tokens in (1,000 cached)", "89 out"]);
        assert_eq!(format_usage(&Usage::default()), Vec::<String>::new());
        assert_eq!(format_duration(Duration::from_millis(1_560)), "1.5 s");
        assert_eq!(format_count(100), "100");
    }
}
