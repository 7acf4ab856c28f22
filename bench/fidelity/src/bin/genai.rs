//! genai: everything captured that can be, and the raw body or frames, which it hands over on request.

use std::sync::{Arc, Mutex};

use bench_fidelity::{Call, Case, KEY, MODEL, PROMPT, Seen, TOOLS, Thought, Wire, schema, tell};
use futures::StreamExt as _;
use genai::adapter::AdapterKind;
use genai::chat::{
    BinarySource, ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, StopReason,
    Tool, ToolCall, Usage,
};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::json;

fn main() {
    tell(look);
}

async fn look(case: &Case, seen: &mut Seen) -> Result<(), String> {
    let base = &case.base;
    let (kind, url) = match case.wire {
        Wire::OpenAi => (AdapterKind::OpenAI, format!("{base}/v1/")),
        Wire::Anthropic => (AdapterKind::Anthropic, format!("{base}/v1/")),
        Wire::Gemini => (AdapterKind::Gemini, format!("{base}/v1beta/")),
    };
    let resolver = ServiceTargetResolver::from_resolver_fn(
        move |target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
            Ok(ServiceTarget {
                endpoint: Endpoint::from_owned(url.clone()),
                auth: AuthData::from_single(KEY),
                model: ModelIden::new(kind, target.model.model_name),
            })
        },
    );
    let client = Client::builder()
        .with_service_target_resolver(resolver)
        .build()
        .map_err(|error| error.to_string())?;
    let tools = TOOLS.map(|(name, description)| {
        Tool::new(name).with_description(description).with_schema(schema())
    });
    let request = ChatRequest::new(vec![ChatMessage::user(PROMPT)]).with_tools(tools);
    let frames = Arc::new(Mutex::new(Vec::new()));
    let kept = frames.clone();
    let options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_reasoning_content(true)
        .with_capture_tool_calls(true)
        .with_capture_raw_body(true)
        .with_raw_frame_fn(move |_, frame| {
            if let Ok(mut kept) = kept.lock() {
                kept.push(json!(frame.to_owned_frame()));
            }
        });
    if !case.stream {
        let answer = client
            .exec_chat(MODEL, request, Some(&options))
            .await
            .map_err(|error| error.to_string())?;
        seen.raw.extend(answer.captured_raw_body);
        usage(seen, &answer.usage);
        seen.finish = answer.stop_reason.as_ref().map(finish);
        let told = !answer.content.contains_reasoning_content();
        answer.content.into_parts().into_iter().for_each(|part| keep(seen, part));
        if told {
            seen.thinking.extend(answer.reasoning_content.map(thought));
        }
        return Ok(());
    }
    let result = streamed(&client, request, &options, seen).await;
    if let Ok(mut frames) = frames.lock() {
        seen.raw.append(&mut frames);
    }
    result
}

async fn streamed(
    client: &Client,
    request: ChatRequest,
    options: &ChatOptions,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut stream = client
        .exec_chat_stream(MODEL, request, Some(options))
        .await
        .map_err(|error| error.to_string())?
        .stream;
    let mut chunks = String::new();
    while let Some(event) = stream.next().await {
        match event.map_err(|error| error.to_string())? {
            ChatStreamEvent::Chunk(chunk) => chunks.push_str(&chunk.content),
            ChatStreamEvent::End(end) => {
                if let Some(told) = &end.captured_usage {
                    usage(seen, told);
                }
                seen.finish = end.captured_stop_reason.as_ref().map(finish);
                let content = end.captured_content.unwrap_or_default();
                let told = !content.contains_reasoning_content();
                content.into_parts().into_iter().for_each(|part| keep(seen, part));
                if told {
                    seen.thinking.extend(end.captured_reasoning_content.map(thought));
                }
            }
            _ => {}
        }
    }
    if seen.text.is_empty() {
        seen.text = chunks;
    }
    Ok(())
}

fn thought(text: String) -> Thought {
    Thought { text, signature: None }
}

fn usage(seen: &mut Seen, usage: &Usage) {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    seen.prompt_tokens = count(usage.prompt_tokens);
    seen.completion_tokens = count(usage.completion_tokens);
}

fn finish(reason: &StopReason) -> String {
    match reason {
        StopReason::Completed(_) | StopReason::StopSequence(_) => "stop".to_owned(),
        StopReason::MaxTokens(_) => "length".to_owned(),
        StopReason::ToolCall(_) => "tool_calls".to_owned(),
        StopReason::ContentFilter(_) => "content_filter".to_owned(),
        StopReason::Other(word) => word.clone(),
    }
}

fn keep(seen: &mut Seen, part: ContentPart) {
    match part {
        ContentPart::Text(text) => seen.text.push_str(&text),
        ContentPart::Binary(binary) => {
            if let BinarySource::Base64(data) = binary.source {
                seen.images.push(data.to_string());
            }
        }
        ContentPart::ToolCall(ToolCall { call_id, fn_name, fn_arguments, thought_signatures }) => {
            seen.states.extend(thought_signatures.map(|signatures| json!(signatures)));
            seen.calls.push(Call { id: call_id, name: fn_name, arguments: fn_arguments });
        }
        // A signature comes before the text that it signs.
        ContentPart::ThoughtSignature(signature) => {
            seen.states.push(json!(signature));
            seen.thinking.push(Thought { text: String::new(), signature: Some(signature) });
        }
        ContentPart::ReasoningContent(text) => match seen.thinking.last_mut() {
            Some(last) if last.text.is_empty() => last.text = text,
            _ => seen.thinking.push(thought(text)),
        },
        ContentPart::Custom(part) => {
            if part.typ() == Some("redacted_thinking") {
                seen.redacted.extend(part.data["data"].as_str().map(str::to_owned));
            }
            seen.states.push(part.data.clone());
            seen.raw.push(part.data);
        }
        other => seen.raw.push(json!(other)),
    }
}
