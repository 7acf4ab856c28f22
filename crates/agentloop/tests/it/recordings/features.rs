//! The response has the features that the description of its recording lists.

use agentloop::{ChatResponse, FinishReason, ResponsePart};

use crate::recordings::corpus::Recording;

/// Features that a response cannot show, with the reason.
const NOT_SHOWN: &[(&str, &str)] = &[
    ("multi_turn_tool", "describes the request"),
    ("structured_output", "describes the request"),
    ("image_in", "describes the request"),
    ("audio_in", "describes the request"),
    ("pdf_in", "describes the request"),
    ("empty", "says that there is nothing"),
];

/// Recordings in which a feature cannot be shown, with the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "bedrock-json-parallel-tool-calls-tool-call-f212f7ac",
        "parallel_tool_calls",
        "the provider ran one of the two: a server tool call",
    ),
    (
        "cohere-stream-logprobs-thinking-0277805b",
        "text",
        "the response failed after its first thought",
    ),
    (
        "openrouter-json-think-tags-length-8d2e8380",
        "think_tags",
        "the model is not one that writes its thoughts between tags: they are its text",
    ),
    (
        "groq-json-think-tags-text-47200144",
        "think_tags",
        "nothing stands between the tags, and nothing opens no part",
    ),
    (
        "anthropic-stream-citations-search-results-4e9740d5",
        "server_tool",
        "goes on after a pause: the call stands in the turn before, here is its result",
    ),
    (
        "anthropic-stream-code-execution-server-tool-fd76d74c",
        "code_execution",
        "goes on after a tool: the code stands in the turn before, here is its result",
    ),
    (
        "anthropic-stream-code-execution-server-tool-fd76d74c",
        "server_tool",
        "goes on after a tool: the code stands in the turn before, here is its result",
    ),
    (
        "openai-responses-stream-server-tool-d0517b1b",
        "server_tool",
        "the tools are searched by the caller: a tool call",
    ),
    (
        "xai-stream-citations-search-results-98ebabf3",
        "tool_call",
        "the provider ran what it shows as custom tools, which the request did not declare: server tool calls",
    ),
    (
        "xai-stream-citations-search-results-98ebabf3",
        "parallel_tool_calls",
        "the provider ran what it shows as custom tools, which the request did not declare: server tool calls",
    ),
];

pub(crate) fn are_there(recording: &Recording) -> Result<(), String> {
    if !recording.is_answer() {
        return Ok(());
    }
    let decoded = recording.decode();
    let response = decoded.response()?;
    for feature in &recording.features {
        let excepted = NOT_SHOWN.iter().any(|(name, _)| name == feature)
            || EXCEPTIONS.iter().any(|(id, name, _)| *id == recording.id && name == feature);
        let shown = excepted
            || crate::recordings::gemini::shows(response, feature)
            || crate::recordings::responses::shows(response, feature)
            || shows(response, feature)?;
        if !shown {
            return Err(format!("{feature} is not in {}", serde_json::json!(response)));
        }
    }
    Ok(())
}

fn shows(response: &ChatResponse, feature: &str) -> Result<bool, String> {
    let part = |test: fn(&ResponsePart) -> bool| {
        response.choices.iter().any(|choice| choice.content.iter().any(test))
    };
    let finished =
        |reason: FinishReason| response.choices.iter().any(|choice| choice.finish_reason == reason);
    let usage = &response.usage.details;
    Ok(match feature {
        "text" => {
            response.choices.iter().any(|choice| !choice.text().is_empty())
            // A thinking model that is cut off, or only thinks, writes no text of its own.
            || part(|part| matches!(part, ResponsePart::Thinking(_)))
        }
        "thinking" | "think_tags" => part(|part| matches!(part, ResponsePart::Thinking(_))),
        "redacted_thinking" => part(|part| matches!(part, ResponsePart::RedactedThinking(_))),
        "tool_call" => part(|part| matches!(part, ResponsePart::ToolCall(_))),
        "parallel_tool_calls" => {
            response.choices.iter().any(|choice| choice.tool_calls().count() > 1)
        }
        "citations" => response.choices.iter().any(|choice| choice.citations().next().is_some()),
        "search_results" => {
            response.provider_metadata.contains_key("searchResults")
                || part(|part| {
                    matches!(part, ResponsePart::ServerToolResult(_) | ResponsePart::CodeResult(_))
                })
        }
        "server_tool" => part(|part| {
            matches!(part, ResponsePart::ServerToolCall(_) | ResponsePart::CodeExecution(_))
        }),
        "code_execution" => part(|part| matches!(part, ResponsePart::CodeExecution(_))),
        "logprobs" => response.choices.iter().any(|choice| choice.logprobs.is_some()),
        "audio_out" => part(|part| matches!(part, ResponsePart::Audio(_))),
        "image_out" => part(|part| matches!(part, ResponsePart::Image(_))),
        "refusal" | "content_filter" => finished(FinishReason::ContentFilter),
        "length" => finished(FinishReason::Length),
        "usage_cached" => {
            usage.cached_tokens.is_some_and(|tokens| tokens > 0)
                || usage.cache_write_tokens.is_some_and(|tokens| tokens > 0)
        }
        "usage_reasoning" => usage.reasoning_tokens.is_some_and(|tokens| tokens > 0),
        "multi_choice" => response.choices.len() > 1,
        other => return Err(format!("the feature {other} is not known to this test")),
    })
}
