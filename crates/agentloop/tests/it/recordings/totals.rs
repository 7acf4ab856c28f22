//! The total that a provider bills is the total of the response.

use serde_json::Value;

use crate::recordings::corpus::Recording;
use crate::recordings::over;

/// The last prompt, completion and total that the body reports.
fn reported(recording: &Recording) -> Option<[Option<u64>; 3]> {
    let places = ["/usage", "/usageMetadata", "/x_groq/usage", "/response/usage"];
    let of = |value: &Value| places.iter().find_map(|at| value.pointer(at)?.as_object().cloned());
    let usage = recording.values().iter().rev().find_map(of)?;
    let first = |names: &[&str]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
    Some([
        first(&["prompt_tokens", "input_tokens", "promptTokenCount"]),
        first(&["completion_tokens", "output_tokens", "candidatesTokenCount"]),
        first(&["total_tokens", "totalTokenCount"]),
    ])
}

fn is_kept(recording: &Recording) -> Result<(), String> {
    if !recording.is_answer() {
        return Ok(());
    }
    let Some([prompt, completion, Some(total)]) = reported(recording) else { return Ok(()) };
    if total < prompt.unwrap_or(0) + completion.unwrap_or(0) || total == 0 {
        return Ok(());
    }
    let decoded = recording.decode();
    let usage = &decoded.response()?.usage;
    // Known to be counted outside of the total.
    if recording.provider == "perplexity" && usage.details.reasoning_tokens.is_some() {
        return Ok(());
    }
    if usage.total_tokens == Some(total) {
        Ok(())
    } else {
        Err(format!("{total} reported, {usage:?}"))
    }
}

#[test]
fn the_total_that_a_provider_reports_is_the_total_of_the_response() {
    for wire in ["openai-chat", "openai-responses", "gemini"] {
        over(wire, is_kept);
    }
}
