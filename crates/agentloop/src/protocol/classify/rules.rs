//! The patterns that classify errors, in the order in which they are tried.
//!
//! Each entry names where the pattern was seen: a recording (by the end of its id), a section of the providers'
//! documentation, or a vendor's SDK. A word is the provider's code, type, status name or reason, compared without case
//! and punctuation. A text is a fragment of a message, in lower case.

use super::At::{Any, BadRequest, NotLimited, Status};
use super::Rule;
use crate::error::ErrorKind::{
    Auth, ContentFilter, ContextLength, InvalidRequest, NotFound, Overloaded, Quota,
};

pub(super) const RULES: &[Rule] = &[
    // No money, or a limit of spending: waiting does not help.
    // OpenAI, 429: the SDKs do not retry it.
    Rule::word("insufficient_quota", Any, Quota),
    Rule::word("billing_hard_limit_reached", Any, Quota),
    Rule::word("billing_not_active", Any, Quota),
    // Anthropic, 402 and 403.
    Rule::word("billing_error", Any, Quota),
    // Anthropic, 429, in `error.details.error_code` (anthropic-python 2.8.0).
    Rule::word("enforced_spend_limit_reached", Any, Quota),
    Rule::text("enforced_spend_limit_reached", Any, Quota),
    // Anthropic, 400 `invalid_request_error`: a limit that the organization set for itself, or its workspace.
    Rule::text("reached your specified api usage limits", Any, Quota),
    Rule::text("reached your specified workspace api usage limits", Any, Quota),
    // Anthropic, 400 `invalid_request_error`.
    Rule::text("credit balance is too low", Any, Quota),
    // DeepSeek, 402.
    Rule::word("insufficient_balance", Any, Quota),
    Rule::text("insufficient balance", Any, Quota),
    // OpenRouter, 402 and `error.metadata.error_type` (openrouter-python, `ApiErrorType`).
    Rule::word("payment_required", Any, Quota),
    Rule::word("insufficient_credits", Any, Quota),
    Rule::word("token_limit_exceeded", Any, Quota),
    // xAI, 403 and 429.
    Rule::text("used all available credits", Any, Quota),
    Rule::text("monthly spending limit", Any, Quota),
    // Groq, 400 (console.groq.com/docs/spend-limits).
    Rule::word("blocked_api_access", Any, Quota),
    // Moonshot, 429.
    Rule::word("exceeded_current_quota_error", Any, Quota),
    // The conversation is too long.
    // OpenAI, recording 27a4ff66; OpenRouter's `error_type`.
    Rule::word("context_length_exceeded", Any, ContextLength),
    Rule::text("context_length_exceeded", NotLimited, ContextLength),
    Rule::text("exceeds the context window", NotLimited, ContextLength),
    // OpenAI, OpenRouter, vLLM, Mistral ("too large for model with 32768 maximum context length").
    Rule::text("maximum context length", NotLimited, ContextLength),
    Rule::text("reduce the length of the messages", NotLimited, ContextLength),
    // Anthropic, recording 2ab56e57.
    Rule::text("prompt is too long", NotLimited, ContextLength),
    // llama.cpp: `n_prompt_tokens` and `n_ctx` are beside it.
    Rule::word("exceed_context_size_error", Any, ContextLength),
    Rule::text("exceeds the available context size", NotLimited, ContextLength),
    // Ollama, 400: "prompt too long; exceeded max context length by 4 tokens".
    Rule::text("exceeded max context length", NotLimited, ContextLength),
    Rule::text("prompt too long", NotLimited, ContextLength),
    // Ollama, of embeddings.
    Rule::text("input length exceeds", NotLimited, ContextLength),
    // Perplexity, recording eb536170.
    Rule::word("too_many_prompt_tokens", Any, ContextLength),
    Rule::text("total length of all messages is too long", NotLimited, ContextLength),
    // Cohere, recording 3257a3b6; "too many tokens" at 429 is a rate.
    Rule::word("too_many_tokens", BadRequest, ContextLength),
    Rule::text("too many tokens", BadRequest, ContextLength),
    // Together, of vLLM and of text-generation-inference.
    Rule::text("longer than the model's context length", NotLimited, ContextLength),
    Rule::text("tokens + `max_new_tokens` must be <=", NotLimited, ContextLength),
    // xAI, 400: "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
    Rule::text("maximum prompt length is", NotLimited, ContextLength),
    // Google, 400: "The input token count (…) exceeds the maximum number of tokens allowed (…)."
    Rule::text("exceeds the maximum number of tokens", NotLimited, ContextLength),
    // Bedrock: "Input is too long for requested model."
    Rule::text("input is too long", BadRequest, ContextLength),
    // Bedrock, of some models (litellm 1.109.1, `exception_mapping_utils.py`).
    Rule::text("too many input tokens", BadRequest, ContextLength),
    // Moonshot: "Your request exceeded model token limit".
    Rule::text("exceeded model token limit", NotLimited, ContextLength),
    // DashScope: "Range of input length should be [1, 129024]".
    Rule::text("range of input length should be", NotLimited, ContextLength),
    Rule::text("context length exceeded", NotLimited, ContextLength),
    Rule::word("model_max_length_exceeded", Any, ContextLength),
    Rule::word("model_context_window_exceeded", Any, ContextLength),
    // Groq: "Request too large for model … on tokens per minute (TPM): Limit 6000, Requested 10000". The same request
    // never fits, so waiting does not help. Other bodies of 413 are too large in bytes.
    Rule::text("token", Status(413), ContextLength),
    // A filter refused it.
    // Azure, recording 8573df3c: the second word is in `error.innererror.code`.
    Rule::word("content_filter", Any, ContentFilter),
    Rule::word("responsible_ai_policy_violation", Any, ContentFilter),
    // OpenAI: images and chat.
    Rule::word("content_policy_violation", Any, ContentFilter),
    Rule::word("moderation_blocked", Any, ContentFilter),
    // OpenAI: codes of a failed response.
    Rule::word("invalid_prompt", Any, ContentFilter),
    Rule::word("bio_policy", Any, ContentFilter),
    Rule::word("misalignment_policy_violation", Any, ContentFilter),
    Rule::word("image_content_policy_violation", Any, ContentFilter),
    // DashScope.
    Rule::word("data_inspection_failed", Any, ContentFilter),
    // OpenRouter: `error.metadata.error_type`, and the metadata of a moderated request.
    Rule::word("refusal", Any, ContentFilter),
    Rule::word("flagged_input", Any, ContentFilter),
    Rule::text("moderation", Status(403), ContentFilter),
    Rule::text("flagged", Status(403), ContentFilter),
    // xAI, 403, recording 099e26d8.
    Rule::text("content violates usage guidelines", Any, ContentFilter),
    // The key.
    // OpenAI, recording 8f225f11; Groq, recording b63cd29e; Together, recording 5c85dd8c.
    Rule::word("invalid_api_key", Any, Auth),
    // Google, 400, in `error.details[].reason`, recording ade7fdb6.
    Rule::word("api_key_invalid", Any, Auth),
    Rule::word("api_key_expired", Any, Auth),
    Rule::word("access_token_expired", Any, Auth),
    Rule::word("api_key_service_blocked", Any, Auth),
    // Anthropic; DeepSeek, recording e07d257c.
    Rule::word("authentication_error", Any, Auth),
    // Moonshot.
    Rule::word("invalid_authentication", Any, Auth),
    Rule::word("invalid_authentication_error", Any, Auth),
    // xAI, 400, recording 0cb5475a.
    Rule::text("incorrect api key", BadRequest, Auth),
    Rule::text("invalid api key", BadRequest, Auth),
    Rule::text("api key not valid", BadRequest, Auth),
    // OpenRouter, 404: the model exists, but no provider of it takes what the request holds (recording df80223f).
    Rule::text("no endpoints found that support", Any, InvalidRequest),
    // The model.
    // OpenAI, recording e5c3bdab; Groq, recording 6cb190cc; others with 400.
    Rule::word("model_not_found", Any, NotFound),
    // Groq, 400, recording a018e684.
    Rule::word("model_decommissioned", Any, NotFound),
    // Perplexity, 400, recording 52522f8a; Mistral, 400, recording b1583efe.
    Rule::word("invalid_model", Any, NotFound),
    // Azure, recording c48cde80.
    Rule::word("DeploymentNotFound", Any, NotFound),
    // GitHub Models, 400.
    Rule::word("unknown_model", Any, NotFound),
    // OpenRouter, 400, recording 5266990d.
    Rule::text("is not a valid model id", BadRequest, NotFound),
    // DeepSeek, 400, recording f8d981a6.
    Rule::text("the supported api model names are", BadRequest, NotFound),
    // Google, 400, recording 31d6dbc4.
    Rule::text("unexpected model name format", BadRequest, NotFound),
    // No capacity.
    // OpenAI, 503; Anthropic, 529; Groq, 498; OpenRouter's `error_type`; Moonshot, 429; DeepSeek.
    Rule::word("server_is_overloaded", Any, Overloaded),
    Rule::word("overloaded_error", Any, Overloaded),
    Rule::word("overloaded", Any, Overloaded),
    Rule::word("capacity_exceeded", Any, Overloaded),
    Rule::word("provider_overloaded", Any, Overloaded),
    Rule::word("engine_overloaded_error", Any, Overloaded),
    Rule::word("insufficient_system_resource", Any, Overloaded),
];
