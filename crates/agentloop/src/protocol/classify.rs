//! What kind of failure a status, a code or a text is.

mod rules;

use crate::error::ErrorKind;

/// The facts about an error.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) status: Option<u16>,
    /// The provider's codes, types, status names and reasons, those of an upstream provider included.
    pub(super) words: &'a [String],
    /// The messages, those of an upstream provider included.
    pub(super) texts: &'a [String],
}

/// One pattern of the table.
#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    at: At,
    kind: ErrorKind,
}

#[derive(Debug)]
enum Pattern {
    /// A whole word, compared without case and punctuation.
    Word(&'static str),
    /// A fragment of a message, in lower case.
    Text(&'static str),
}

/// At which statuses a pattern counts.
#[derive(Clone, Copy, Debug)]
enum At {
    Any,
    /// 400, 413 or 422, or no status at all.
    BadRequest,
    /// The statuses of a bad request, and those of a failed server: some servers report a conversation that is too long
    /// as their own failure. At other statuses (429 above all) the same words describe a rate.
    NotLimited,
    Status(u16),
}

impl Rule {
    const fn word(word: &'static str, at: At, kind: ErrorKind) -> Self {
        Self { pattern: Pattern::Word(word), at, kind }
    }

    const fn text(fragment: &'static str, at: At, kind: ErrorKind) -> Self {
        Self { pattern: Pattern::Text(fragment), at, kind }
    }
}

impl At {
    fn holds(self, status: Option<u16>) -> bool {
        let bad_request = matches!(status, None | Some(400 | 413 | 422));
        match self {
            Self::Any => true,
            Self::BadRequest => bad_request,
            Self::NotLimited => bad_request || status.is_some_and(|status| status >= 500),
            Self::Status(only) => status == Some(only),
        }
    }
}

/// Returns the kind of a failure, and the word that decided it, if one did.
pub(super) fn classify<'a>(facts: &Facts<'a>) -> (ErrorKind, Option<&'a str>) {
    let texts: Vec<String> = facts.texts.iter().map(|text| text.to_ascii_lowercase()).collect();
    let rules = rules::RULES.iter().filter(|rule| rule.at.holds(facts.status));
    for rule in rules {
        match rule.pattern {
            Pattern::Word(known) => {
                if let Some(word) = facts.words.iter().find(|word| is_same_word(word, known)) {
                    return (rule.kind, Some(word));
                }
            }
            Pattern::Text(known) => {
                if texts.iter().any(|text| text.contains(known)) {
                    return (rule.kind, None);
                }
            }
        }
    }
    (by_status(facts.status, &texts), None)
}

/// Returns whether two words are the same but for case and punctuation: `ResponsibleAIPolicyViolation` is
/// `responsible_ai_policy_violation`.
fn is_same_word(a: &str, b: &str) -> bool {
    let letters = |word: &'_ str| {
        let letters = word.bytes().filter(u8::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect::<Vec<u8>>()
    };
    a.eq_ignore_ascii_case(b) || letters(a) == letters(b)
}

/// Returns what to do about a failure of that kind.
pub(super) fn hint(kind: ErrorKind, status: Option<u16>) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Auth => "check the key, and that it may use this model",
        ErrorKind::Quota => "check the account's balance and limits with the provider",
        ErrorKind::ContextLength => {
            "shorten the conversation, or use a model with a larger context"
        }
        ErrorKind::NotFound => {
            "check the model's name and the base URL; `agentloop models PROVIDER` lists the models that are served"
        }
        // A proxy in front of a provider limits bodies too.
        ErrorKind::InvalidRequest if status == Some(413) => {
            "send less at once: the request has more bytes than the provider accepts"
        }
        _ => return None,
    })
}

fn by_status(status: Option<u16>, texts: &[String]) -> ErrorKind {
    match status {
        Some(401 | 403) => ErrorKind::Auth,
        Some(402) => ErrorKind::Quota,
        Some(404) => ErrorKind::NotFound,
        Some(408 | 504 | 524) => ErrorKind::Timeout,
        Some(409) => ErrorKind::Conflict,
        Some(429) => ErrorKind::RateLimit,
        // Cohere uses 498 for a token that it does not know, Groq for missing capacity.
        Some(498) if texts.iter().any(|text| text.contains("token")) => ErrorKind::Auth,
        Some(498 | 503 | 529) => ErrorKind::Overloaded,
        Some(500..) | None => ErrorKind::Server,
        Some(_) => ErrorKind::InvalidRequest,
    }
}

/// Returns the status that a word means, for an error inside a response of status 200.
pub(super) fn status_of_words(words: &[String]) -> Option<u16> {
    words.iter().find_map(|word| {
        Some(match word.to_ascii_lowercase().as_str() {
            // Of OpenAI's `type`, `code` and Google's `status`; those of a router in `error.metadata.error_type`.
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
            "authentication_error" | "authentication" | "unauthenticated" | "invalid_api_key" => {
                401
            }
            "billing_error"
            | "payment_required"
            | "insufficient_balance"
            | "insufficient_credits" => 402,
            "permission_error" | "permission_denied" => 403,
            "not_found_error" | "not_found" | "model_not_found" => 404,
            "request_timeout" => 408,
            "conflict_error" => 409,
            "request_too_large" | "payload_too_large" => 413,
            "rate_limit_error"
            | "rate_limit_exceeded"
            | "rate_limited"
            | "resource_exhausted"
            | "insufficient_quota"
            | "slow_down"
            | "too_many_requests" => 429,
            "api_error"
            | "server_error"
            | "server"
            | "internal_server_error"
            | "internal_error"
            | "internal" => 500,
            "provider_unavailable" | "bad_gateway" => 502,
            "unavailable"
            | "unavailable_error"
            | "service_unavailable"
            | "server_is_overloaded"
            | "provider_overloaded" => 503,
            "timeout_error" | "timeout" | "deadline_exceeded" | "vector_store_timeout" => 504,
            "overloaded_error" => 529,
            _ => return None,
        })
    })
}
