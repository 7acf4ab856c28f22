//! rig-core: the response that a call or a finished stream gives, with its raw document and native items.

use bench_fidelity::{
    Call, Case, Cited, KEY, MODEL, PROMPT, Seen, TOOLS, Thought, Wire, schema, tell,
};
use futures::StreamExt as _;
use rig_core::completion::{CompletionRequest, CompletionResponse, FinishReason, ToolDefinition};
use rig_core::message::{AssistantContent, DocumentSourceKind, SourceLocation, ToolName};
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::streaming::Item;
use serde_json::{Value, json};

fn main() {
    tell(look);
}

async fn look(case: &Case, seen: &mut Seen) -> Result<(), String> {
    let base = &case.base;
    let model = match case.wire {
        Wire::OpenAi => {
            let mut config = OpenAIConfig::new(KEY);
            config.base_url = format!("{base}/v1");
            config.client().chat(MODEL).erase()
        }
        Wire::Anthropic => {
            let mut config = AnthropicConfig::new(KEY);
            config.base_url = base.to_owned();
            config.client().completion(MODEL).erase()
        }
        Wire::Gemini => {
            let mut config = GeminiConfig::new(KEY);
            config.base_url = base.to_owned();
            config.client().completion(MODEL).erase()
        }
    };
    let mut request = CompletionRequest::new(PROMPT).max_tokens(4096);
    for (name, description) in TOOLS {
        let name = ToolName::new(name).map_err(|error| error.to_string())?;
        request = request.tool(ToolDefinition::new(name, description, schema()));
    }
    if !case.stream {
        let answer = model.call(request).await.map_err(|error| error.to_string())?;
        fill(seen, answer);
        return Ok(());
    }
    let mut stream = model.stream(request).map_err(|error| error.to_string())?;
    while let Some(item) = stream.next().await {
        match item {
            Ok(Item::Unknown(payload)) => seen.raw.push(payload.value().clone()),
            Ok(Item::Event(_)) => {}
            Err(error) => {
                fill(seen, stream.partial());
                return Err(error.to_string());
            }
        }
    }
    let answer = stream.finish().await.map_err(|error| error.to_string())?;
    fill(seen, answer);
    Ok(())
}

fn fill(seen: &mut Seen, answer: CompletionResponse) {
    seen.prompt_tokens = answer.usage.input_tokens;
    seen.completion_tokens = answer.usage.output_tokens;
    seen.finish = answer.finish_reason().map(|reason| match reason {
        FinishReason::Stop => "stop".to_owned(),
        FinishReason::Length => "length".to_owned(),
        FinishReason::ToolCalls => "tool_calls".to_owned(),
        FinishReason::ContentFilter => "content_filter".to_owned(),
        FinishReason::Other(word) => word,
        other => format!("{other:?}"),
    });
    seen.refusal = answer.error;
    seen.raw.push(answer.raw);
    for part in answer.choice {
        seen.states.extend(part.native_item().cloned());
        keep(seen, part);
    }
}

fn keep(seen: &mut Seen, part: AssistantContent) {
    match part {
        AssistantContent::Text(text) => {
            for citation in text.citations() {
                for source in &citation.sources {
                    if let SourceLocation::Url { url } = &source.location {
                        seen.citations.push(Cited {
                            url: url.clone(),
                            title: source.title.clone(),
                            text: source.cited_text.clone(),
                            start: citation.span.as_ref().map(|span| span.start() as u64),
                            end: citation.span.as_ref().map(|span| span.end() as u64),
                        });
                    }
                }
            }
            seen.text.push_str(&text.text);
        }
        AssistantContent::ToolCall(call) => seen.calls.push(Call {
            id: call.id.to_string(),
            name: call.function.name.to_string(),
            arguments: Value::Object(call.function.arguments),
        }),
        AssistantContent::Reasoning(thought) => {
            // The signature is in the native item.
            let native = thought.native.map(|native| native.item).unwrap_or_default();
            if thought.redacted {
                seen.redacted.extend(native["data"].as_str().map(str::to_owned));
            } else {
                let signature = native["signature"].as_str().map(str::to_owned);
                seen.thinking.push(Thought { text: thought.text, signature });
            }
        }
        AssistantContent::Image(image) => match image.data {
            DocumentSourceKind::Base64(data) => seen.images.push(data),
            other => seen.raw.push(json!(other)),
        },
        AssistantContent::Opaque(opaque) => {
            seen.states.push(opaque.item.clone());
            seen.raw.push(opaque.item);
        }
        other => seen.raw.push(json!(other)),
    }
}
