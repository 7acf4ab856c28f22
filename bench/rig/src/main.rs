//! rig-core, as its documentation shows it.

use bench_common::{
    Contestant, KEY, Kind, MODEL, Outcome, PROMPT, Scenario, TOOL, Wire, alloc::Counting, run,
};
use futures::StreamExt as _;
use rig_core::DynModel;
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::error::ProviderError;
use rig_core::message::{AssistantContent, ToolName};
use rig_core::operation::Completion;
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::streaming::{Item, StreamEvent};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    run::<Rig>();
}

#[derive(Clone)]
struct Rig {
    scenario: Scenario,
    model: DynModel<Completion>,
}

impl Contestant for Rig {
    fn new(scenario: Scenario, base: &str) -> Self {
        let model = match scenario.wire {
            Wire::OpenAi => {
                let mut config = OpenAIConfig::new(KEY);
                config.base_url = format!("{base}/v1");
                config.client().chat(MODEL).erase()
            }
            Wire::Responses => {
                let mut config = OpenAIConfig::new(KEY);
                config.base_url = format!("{base}/v1");
                config.client().responses(MODEL).erase()
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
        Self { scenario, model }
    }

    async fn call(&mut self, seen: &mut (dyn FnMut(&str) + Send)) -> Outcome {
        match self.ask(seen).await {
            Ok(text) => Outcome { text, error: None },
            Err(error) => Outcome::failed(error),
        }
    }
}

impl Rig {
    async fn ask(&self, seen: &mut (dyn FnMut(&str) + Send)) -> Result<String, ProviderError> {
        let mut request = CompletionRequest::new(PROMPT);
        if self.scenario.wire == Wire::Anthropic {
            request = request.max_tokens(4096);
        }
        if let Kind::Tools { .. } = self.scenario.kind {
            let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
            let name = ToolName::new(TOOL).expect("a name");
            request = request.tool(ToolDefinition::new(name, "Writes a file", parameters));
        }
        if let Kind::Chat { .. } = self.scenario.kind {
            return Ok(self.model.call(request).await?.text());
        }
        let mut stream = self.model.stream(request)?;
        while let Some(item) = stream.next().await {
            match item? {
                Item::Event(StreamEvent::Text { text, .. }) => seen(&text),
                Item::Event(StreamEvent::Arguments { json, .. }) => seen(&json),
                other => drop(std::hint::black_box(other)),
            }
        }
        let answer = stream.finish().await?;
        Ok(match answer.choice.first() {
            Some(AssistantContent::ToolCall(call)) => {
                serde_json::to_string(&call.function.arguments).unwrap_or_default()
            }
            _ => answer.text(),
        })
    }
}
