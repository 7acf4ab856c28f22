//! AgentLoop with its defaults. Every event of a stream is read, and the response is that of `message.done`.

use agentloop::{
    AgentLoop, ChatRequest, ChatResponse, ChatStreamEvent, Error, PartDelta, Provider,
    ResponsePart, ToolDefinition,
};
use bench_common::{
    Contestant, KEY, Kind, MODEL, Outcome, PROMPT, Scenario, TOOL, Wire, alloc::Counting, run,
};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    run::<Ours>();
}

#[derive(Clone)]
struct Ours {
    scenario: Scenario,
    ai: AgentLoop,
    /// Made once and sent by reference, as the headers of `minimal` are made once.
    request: ChatRequest,
}

impl Contestant for Ours {
    fn new(scenario: Scenario, base: &str) -> Self {
        let provider = match scenario.wire {
            Wire::OpenAi => Provider::openai_compatible("lab", format!("{base}/v1")),
            Wire::Responses => Provider::responses_compatible("lab", format!("{base}/v1")),
            Wire::Anthropic => Provider::anthropic_compatible("lab", format!("{base}/v1")),
            Wire::Gemini => Provider::gemini_compatible("lab", format!("{base}/v1beta")),
        };
        let ai = AgentLoop::builder().provider(provider.key(KEY)).build().expect("a client");
        let mut request = ChatRequest::new(format!("lab/{MODEL}")).user(PROMPT);
        if let Kind::Tools { .. } = scenario.kind {
            let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
            request = request
                .tool(ToolDefinition::function(TOOL, schema).with_description("Writes a file"));
        }
        Self { scenario, ai, request }
    }

    async fn call(&mut self, seen: &mut (dyn FnMut(&str) + Send)) -> Outcome {
        match self.ask(seen).await {
            Ok(text) => Outcome { text, error: None },
            Err(error) => Outcome::failed(error),
        }
    }
}

impl Ours {
    async fn ask(&self, seen: &mut (dyn FnMut(&str) + Send)) -> Result<String, Error> {
        if self.scenario.is_chat() {
            return Ok(text(self.ai.chat(&self.request).await?));
        }
        let mut events = self.ai.stream(&self.request).await?;
        let mut answer = None;
        while let Some(event) = events.next().await {
            match event? {
                ChatStreamEvent::ContentDelta { delta: PartDelta::Text { text }, .. } => {
                    seen(&text)
                }
                ChatStreamEvent::ContentDelta {
                    delta: PartDelta::ToolCallArguments { arguments },
                    ..
                } => {
                    seen(&arguments);
                }
                ChatStreamEvent::MessageDone { response } => answer = Some(response),
                other => drop(std::hint::black_box(other)),
            }
        }
        Ok(text(*answer.expect("a stream ends with its answer")))
    }
}

/// The text of the answer's only part, or the arguments of its only call, taken out of it.
fn text(mut answer: ChatResponse) -> String {
    match answer.choices.pop().and_then(|mut choice| choice.content.pop()) {
        Some(ResponsePart::Text(part)) => part.text,
        Some(ResponsePart::ToolCall(call)) => call.arguments,
        other => format!("unexpected: {other:?}"),
    }
}
