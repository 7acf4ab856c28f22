//! What kind of failure a status, a code or a text stands for.

use crate::error::ErrorKind;

/// What is known of a failure.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) status: Option<u16>,
    /// The provider's code, type or status name.
    pub(super) words: &'a [&'a str],
    pub(super) message: &'a str,
}

/// The kind of a failure, and whether the same call may succeed later.
pub(super) fn classify(facts: &Facts<'_>) -> (ErrorKind, bool) {
    let kind = by_words(facts).unwrap_or_else(|| by_status(facts));
    (kind, kind.is_retryable())
}

/// What to do about a failure of that kind.
pub(super) fn hint(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Auth => "check the key, and that it may use this model",
        ErrorKind::Quota => "check the account's balance and limits with the provider",
        ErrorKind::ContextLength => {
            "shorten the conversation, or use a model with a larger context"
        }
        ErrorKind::NotFound => {
            "check the model's name; `agentloop models PROVIDER` lists the ones that are served"
        }
        _ => return None,
    })
}

fn by_words(facts: &Facts<'_>) -> Option<ErrorKind> {
    let any = |known: &[&str]| {
        facts.words.iter().any(|word| known.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    let message = facts.message.to_ascii_lowercase();
    let says = |known: &[&str]| known.iter().any(|known| message.contains(known));
    let bad_request = matches!(facts.status, None | Some(400 | 413 | 422));

    if any(&[
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "enforced_spend_limit_reached",
        "insufficient_balance",
        "insufficient_credits",
        "payment_required",
    ]) {
        return Some(ErrorKind::Quota);
    }
    if any(&["context_length_exceeded", "exceed_context_size_error", "model_max_length_exceeded"])
        || (bad_request
            && says(&[
                "maximum context length",
                "prompt is too long",
                "context length exceeded",
                "exceeds the context window",
                "exceeds the available context size",
                "context_length_exceeded",
                "input is too long",
                "too many tokens",
                "reduce the length of the messages",
            ]))
    {
        return Some(ErrorKind::ContextLength);
    }
    if any(&[
        "content_filter",
        "content_policy_violation",
        "responsible_ai_policy_violation",
        "moderation_blocked",
        "invalid_prompt",
        "bio_policy",
        "misalignment_policy_violation",
        "image_content_policy_violation",
        "data_inspection_failed",
    ]) || (facts.status == Some(403) && says(&["moderation", "flagged"]))
    {
        return Some(ErrorKind::ContentFilter);
    }
    if any(&[
        "invalid_api_key",
        "api_key_invalid",
        "authentication_error",
        "invalid_authentication",
    ]) || (facts.status == Some(400) && says(&["incorrect api key", "invalid api key"]))
    {
        return Some(ErrorKind::Auth);
    }
    if any(&["server_is_overloaded", "overloaded_error", "overloaded", "capacity_exceeded"]) {
        return Some(ErrorKind::Overloaded);
    }
    None
}

fn by_status(facts: &Facts<'_>) -> ErrorKind {
    match facts.status {
        Some(401 | 403) => ErrorKind::Auth,
        Some(402) => ErrorKind::Quota,
        Some(404) => ErrorKind::NotFound,
        Some(408 | 504 | 524) => ErrorKind::Timeout,
        Some(409) => ErrorKind::Conflict,
        Some(413) => ErrorKind::ContextLength,
        Some(429) => ErrorKind::RateLimit,
        // Two hosts use 498: one for a token that it does not know, one for want of capacity.
        Some(498) if facts.message.to_ascii_lowercase().contains("token") => ErrorKind::Auth,
        Some(498 | 503 | 529) => ErrorKind::Overloaded,
        Some(500..) | None => ErrorKind::Server,
        Some(_) => ErrorKind::InvalidRequest,
    }
}

/// The status that a word stands for, when an error comes inside an answer of status 200.
pub(super) fn status_of_words(words: &[&str]) -> Option<u16> {
    words.iter().find_map(|word| {
        Some(match word.to_ascii_lowercase().as_str() {
            "invalid_request_error"
            | "invalid_request"
            | "invalid_argument"
            | "bad_request"
            | "failed_precondition"
            | "tool_use_failed"
            | "json_validate_failed"
            | "context_length_exceeded"
            | "content_filter"
            | "invalid_prompt"
            | "bio_policy"
            | "misalignment_policy_violation"
            | "image_content_policy_violation"
            | "data_residency_mismatch" => 400,
            word if word.contains("image") => 400,
            "authentication_error" | "unauthenticated" | "invalid_api_key" => 401,
            "billing_error"
            | "payment_required"
            | "insufficient_balance"
            | "insufficient_credits" => 402,
            "permission_error" | "permission_denied" => 403,
            "not_found_error" | "not_found" | "model_not_found" => 404,
            "request_timeout" => 408,
            "conflict_error" => 409,
            "request_too_large" => 413,
            "rate_limit_error"
            | "rate_limit_exceeded"
            | "rate_limited"
            | "resource_exhausted"
            | "insufficient_quota"
            | "slow_down"
            | "too_many_requests" => 429,
            "api_error"
            | "server_error"
            | "internal_server_error"
            | "internal_error"
            | "internal" => 500,
            "provider_unavailable" | "bad_gateway" => 502,
            "unavailable"
            | "unavailable_error"
            | "service_unavailable"
            | "server_is_overloaded" => 503,
            "timeout_error" | "timeout" | "deadline_exceeded" | "vector_store_timeout" => 504,
            "overloaded_error" => 529,
            _ => return None,
        })
    })
}
