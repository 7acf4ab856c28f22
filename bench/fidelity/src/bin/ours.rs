//! AgentLoop: the answer of `chat`, or that of a stream's `message.done`.

use agentloop::{
    AgentLoop, ChatRequest, ChatResponse, ChatStreamEvent, Citation, Provider, ResponsePart,
    ToolDefinition,
};
use bench_fidelity::{
    Call, Case, Cited, KEY, MODEL, PROMPT, Seen, TOOLS, Thought, Wire, arguments, schema, tell,
};
use serde_json::json;

fn main() {
    tell(look);
}

async fn look(case: &Case, seen: &mut Seen) -> Result<(), String> {
    let base = &case.base;
    let provider = match case.wire {
        Wire::OpenAi => Provider::openai_compatible("lab", format!("{base}/v1")),
        Wire::Anthropic => Provider::anthropic_compatible("lab", format!("{base}/v1")),
        Wire::Gemini => Provider::gemini_compatible("lab", format!("{base}/v1beta")),
    };
    let ai = AgentLoop::builder()
        .provider(provider.key(KEY))
        .build()
        .map_err(|error| error.to_string())?;
    let mut request = ChatRequest::new(format!("lab/{MODEL}")).user(PROMPT);
    for (name, description) in TOOLS {
        request =
            request.tool(ToolDefinition::function(name, schema()).with_description(description));
    }
    if !case.stream {
        let answer = ai.chat(request).await.map_err(|error| error.to_string())?;
        fill(seen, answer);
        return Ok(());
    }
    let mut events = ai.stream(request).await.map_err(|error| error.to_string())?;
    while let Some(event) = events.next().await {
        match event {
            Ok(ChatStreamEvent::MessageDone { response }) => fill(seen, *response),
            Ok(_) => {}
            Err(error) => {
                if let Some(partial) = error.partial() {
                    fill(seen, partial.clone());
                }
                return Err(error.to_string());
            }
        }
    }
    Ok(())
}

fn fill(seen: &mut Seen, answer: ChatResponse) {
    seen.prompt_tokens = answer.usage.prompt_tokens;
    seen.completion_tokens = answer.usage.completion_tokens;
    seen.tier = answer
        .provider_metadata
        .get("serviceTier")
        .and_then(|tier| Some(tier.as_str()?.to_owned()));
    seen.raw.push(json!(answer.provider_metadata));
    for choice in answer.choices {
        seen.finish = Some(choice.finish_reason.as_str().to_owned());
        for part in choice.content {
            seen.states.extend(part.provider_state().map(|state| json!(state)));
            keep(seen, part);
        }
    }
    // A refusal is the text of an answer that ended by a filter.
    if seen.finish.as_deref() == Some("content_filter") {
        seen.refusal = Some(seen.text.clone());
    }
}

fn keep(seen: &mut Seen, part: ResponsePart) {
    match part {
        ResponsePart::Text(text) => {
            seen.text.push_str(&text.text);
            for citation in text.citations {
                seen.states.push(json!(citation));
                if let Citation::Url(url) = citation {
                    seen.citations.push(Cited {
                        url: url.url,
                        title: url.title,
                        text: url.cited_text,
                        start: url.start_index,
                        end: url.end_index,
                    });
                }
            }
        }
        ResponsePart::Thinking(thought) => {
            seen.thinking.push(Thought { text: thought.thinking, signature: thought.signature });
        }
        ResponsePart::RedactedThinking(thought) => seen.redacted.push(thought.data),
        ResponsePart::ToolCall(call) => seen.calls.push(Call {
            id: call.id,
            name: call.name,
            arguments: arguments(&call.arguments),
        }),
        ResponsePart::ServerToolCall(call) => {
            seen.server_calls.push(Call {
                id: call.id,
                name: call.name,
                arguments: call.arguments,
            });
        }
        ResponsePart::ServerToolResult(result) => seen.server_results.push(result.content),
        ResponsePart::CodeExecution(code) => seen.code.push(code.code),
        ResponsePart::CodeResult(result) => seen.code_results.push(result.output),
        ResponsePart::Image(image) => seen.images.push(image.data),
        other => {
            seen.states.push(json!(other));
            seen.raw.push(json!(other));
        }
    }
}
