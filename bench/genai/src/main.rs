//! genai, as its examples show it, with the whole answer captured as AgentLoop hands it over too.

use bench_common::{
    Contestant, KEY, Kind, MODEL, Outcome, PROMPT, Scenario, TOOL, Wire, alloc::Counting, run,
};
use futures::StreamExt as _;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, Tool};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    run::<GenAi>();
}

#[derive(Clone)]
struct GenAi {
    scenario: Scenario,
    client: Client,
}

impl Contestant for GenAi {
    fn new(scenario: Scenario, base: &str) -> Self {
        let (kind, url) = match scenario.wire {
            Wire::OpenAi => (AdapterKind::OpenAI, format!("{base}/v1/")),
            Wire::Responses => (AdapterKind::OpenAIResp, format!("{base}/v1/")),
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
        let client =
            Client::builder().with_service_target_resolver(resolver).build().expect("a client");
        Self { scenario, client }
    }

    async fn call(&mut self, seen: &mut (dyn FnMut(&str) + Send)) -> Outcome {
        match self.ask(seen).await {
            Ok(text) => Outcome { text, error: None },
            Err(error) => Outcome::failed(error),
        }
    }
}

impl GenAi {
    async fn ask(&self, seen: &mut (dyn FnMut(&str) + Send)) -> Result<String, genai::Error> {
        let mut request = ChatRequest::new(vec![ChatMessage::user(PROMPT)]);
        if let Kind::Tools { .. } = self.scenario.kind {
            let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
            request = request.with_tools(vec![
                Tool::new(TOOL).with_description("Writes a file").with_schema(schema),
            ]);
        }
        if let Kind::Chat { .. } = self.scenario.kind {
            let answer = self.client.exec_chat(MODEL, request, None).await?;
            return Ok(answer.into_first_text().unwrap_or_default());
        }
        let options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_tool_calls(true);
        let mut stream = self.client.exec_chat_stream(MODEL, request, Some(&options)).await?.stream;
        let mut text = String::new();
        while let Some(event) = stream.next().await {
            match event? {
                ChatStreamEvent::Chunk(chunk) => seen(&chunk.content),
                ChatStreamEvent::End(end) => {
                    let tools = matches!(self.scenario.kind, Kind::Tools { .. });
                    text = if tools {
                        let calls = end.captured_into_tool_calls().unwrap_or_default();
                        calls.first().map(|call| call.fn_arguments.to_string()).unwrap_or_default()
                    } else {
                        end.captured_into_first_text().unwrap_or_default()
                    };
                }
                other => drop(std::hint::black_box(other)),
            }
        }
        Ok(text)
    }
}
