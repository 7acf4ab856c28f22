//! Unfolds a response into events.

use crate::chat::{ChatResponse, ChatStreamEvent, PartDelta, PartStart, ResponsePart};

/// Returns the events of a complete response, as its stream could have sent them.
pub(super) fn unfold(response: &ChatResponse) -> Vec<ChatStreamEvent> {
    let mut events = vec![ChatStreamEvent::MessageStart {
        id: response.id.clone(),
        model: response.model.clone(),
        provider: response.provider.clone(),
        created: response.created,
        request_id: response.request_id.clone(),
        output_strategy: response.output_strategy,
        cached: response.cached,
    }];
    for warning in &response.warnings {
        events.push(ChatStreamEvent::Warning { warning: warning.clone() });
    }
    for choice in &response.choices {
        let choice_index = choice.index;
        for (part_index, part) in (0u32..).zip(&choice.content) {
            events.push(ChatStreamEvent::ContentStart {
                choice_index,
                part_index,
                part: PartStart::of(part),
            });
            events.extend(deltas(part).into_iter().map(|delta| ChatStreamEvent::ContentDelta {
                choice_index,
                part_index,
                delta,
            }));
            events.push(ChatStreamEvent::ContentDone {
                choice_index,
                part_index,
                part: part.clone(),
            });
        }
        if let Some(logprobs) = &choice.logprobs {
            events.push(ChatStreamEvent::Logprobs { choice_index, logprobs: logprobs.clone() });
        }
        if !choice.provider_metadata.is_empty() {
            events.push(ChatStreamEvent::Metadata {
                choice_index: Some(choice_index),
                provider_metadata: choice.provider_metadata.clone(),
            });
        }
        events.push(ChatStreamEvent::MessageDelta {
            choice_index,
            finish_reason: choice.finish_reason.clone(),
            raw_finish_reason: choice.raw_finish_reason.clone(),
        });
    }
    if !response.provider_metadata.is_empty() {
        events.push(ChatStreamEvent::Metadata {
            choice_index: None,
            provider_metadata: response.provider_metadata.clone(),
        });
    }
    if !response.usage.is_empty() || response.cost.is_some() {
        events.push(ChatStreamEvent::Usage {
            usage: response.usage.clone(),
            cost: response.cost.clone(),
        });
    }
    if let Some(raw) = &response.raw {
        events.push(ChatStreamEvent::Raw { raw: raw.clone() });
    }
    events.push(ChatStreamEvent::MessageDone { response: Box::new(response.clone()) });
    events
}

/// Returns the deltas of a part, or none for the kinds without deltas.
fn deltas(part: &ResponsePart) -> Vec<PartDelta> {
    let mut deltas = Vec::new();
    match part {
        ResponsePart::Text(part) => {
            if !part.text.is_empty() {
                deltas.push(PartDelta::Text { text: part.text.clone() });
            }
            for citation in &part.citations {
                deltas.push(PartDelta::Citation { citation: citation.clone() });
            }
        }
        ResponsePart::ToolCall(part) => {
            deltas.push(PartDelta::ToolCallArguments { arguments: part.arguments.clone() });
        }
        ResponsePart::Thinking(part) => {
            if !part.thinking.is_empty() {
                deltas.push(PartDelta::Thinking { thinking: part.thinking.clone() });
            }
            if let Some(signature) = &part.signature {
                deltas.push(PartDelta::ThinkingSignature { signature: signature.clone() });
            }
        }
        ResponsePart::Image(part) if !part.data.is_empty() => {
            deltas.push(PartDelta::Image { data: part.data.clone() });
        }
        ResponsePart::Audio(part) => {
            deltas.push(PartDelta::Audio { data: part.data.clone() });
            if let Some(transcript) = &part.transcript {
                deltas.push(PartDelta::AudioTranscript { transcript: transcript.clone() });
            }
        }
        ResponsePart::CodeExecution(part) => {
            deltas.push(PartDelta::Code { code: part.code.clone() });
        }
        ResponsePart::ServerToolCall(part) => {
            deltas
                .push(PartDelta::ServerToolCallArguments { arguments: part.arguments.to_string() });
        }
        _ => {}
    }
    if let Some(state) = part.provider_state() {
        deltas.push(PartDelta::ProviderState { provider_state: state.clone() });
    }
    deltas
}
