//! async-openai, as its documentation shows it. It speaks OpenAI's protocol only.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessageArgs, ChatCompletionStreamOptions, ChatCompletionTool,
    ChatCompletionTools, CreateChatCompletionRequest, CreateChatCompletionRequestArgs,
    FunctionObjectArgs,
};
use bench_common::{
    Contestant, KEY, Kind, MODEL, Outcome, PROMPT, Scenario, TOOL, Wire, alloc::Counting, run,
};
use futures::StreamExt as _;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    run::<AsyncOpenAi>();
}

#[derive(Clone)]
struct AsyncOpenAi {
    scenario: Scenario,
    client: Client<OpenAIConfig>,
}

impl Contestant for AsyncOpenAi {
    fn new(scenario: Scenario, base: &str) -> Self {
        assert!(scenario.wire == Wire::OpenAi, "one protocol only");
        let config = OpenAIConfig::new().with_api_base(format!("{base}/v1")).with_api_key(KEY);
        Self { scenario, client: Client::with_config(config) }
    }

    async fn call(&mut self, seen: &mut (dyn FnMut(&str) + Send)) -> Outcome {
        match self.ask(seen).await {
            Ok(text) => Outcome { text, error: None },
            Err(error) => Outcome::failed(error),
        }
    }
}

impl AsyncOpenAi {
    fn request(&self) -> Result<CreateChatCompletionRequest, OpenAIError> {
        let mut request = CreateChatCompletionRequestArgs::default();
        request.model(MODEL).messages([ChatCompletionRequestUserMessageArgs::default()
            .content(PROMPT)
            .build()?
            .into()]);
        if !matches!(self.scenario.kind, Kind::Chat { .. }) {
            let options = ChatCompletionStreamOptions {
                include_usage: Some(true),
                include_obfuscation: None,
            };
            request.stream_options(options);
        }
        if let Kind::Tools { .. } = self.scenario.kind {
            let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
            let function = FunctionObjectArgs::default()
                .name(TOOL)
                .description("Writes a file")
                .parameters(schema)
                .build()?;
            request.tools(vec![ChatCompletionTools::Function(ChatCompletionTool { function })]);
        }
        request.build()
    }

    async fn ask(&self, seen: &mut (dyn FnMut(&str) + Send)) -> Result<String, OpenAIError> {
        if let Kind::Chat { .. } = self.scenario.kind {
            let mut answer = self.client.chat().create(self.request()?).await?;
            return Ok(answer.choices.swap_remove(0).message.content.unwrap_or_default());
        }
        let mut stream = self.client.chat().create_stream(self.request()?).await?;
        let mut text = String::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            let Some(choice) = chunk.choices.first() else {
                continue;
            };
            if let Some(content) =
                choice.delta.content.as_deref().filter(|content| !content.is_empty())
            {
                seen(content);
                text.push_str(content);
            }
            for call in choice.delta.tool_calls.iter().flatten() {
                if let Some(arguments) =
                    call.function.as_ref().and_then(|function| function.arguments.as_deref())
                {
                    seen(arguments);
                    text.push_str(arguments);
                }
            }
        }
        Ok(text)
    }
}
