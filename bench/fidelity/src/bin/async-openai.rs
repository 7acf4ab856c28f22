//! async-openai: its own types, joined as its examples do; and a second call that asks for raw values (`byot`).

use std::collections::BTreeMap;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionMessageToolCalls, ChatCompletionRequestUserMessageArgs,
    ChatCompletionResponseMessageAnnotation, ChatCompletionStreamOptions, ChatCompletionTool,
    ChatCompletionTools, CompletionUsage, CreateChatCompletionRequest,
    CreateChatCompletionRequestArgs, CreateChatCompletionResponse,
    CreateChatCompletionStreamResponse, FunctionObjectArgs,
};
use bench_fidelity::{Call, Case, Cited, KEY, MODEL, PROMPT, Seen, TOOLS, arguments, schema, tell};
use futures::{Stream, StreamExt as _};
use serde::Serialize;
use serde_json::{Value, json};
use std::pin::Pin;

fn main() {
    tell(look);
}

async fn look(case: &Case, seen: &mut Seen) -> Result<(), String> {
    let config = OpenAIConfig::new().with_api_base(format!("{}/v1", case.base)).with_api_key(KEY);
    let client = Client::with_config(config);
    raw(&client, case, seen).await;
    typed(&client, case, seen).await.map_err(|error| error.to_string())
}

fn request(case: &Case) -> Result<CreateChatCompletionRequest, OpenAIError> {
    let mut request = CreateChatCompletionRequestArgs::default();
    request.model(MODEL).messages([ChatCompletionRequestUserMessageArgs::default()
        .content(PROMPT)
        .build()?
        .into()]);
    if case.stream {
        let options =
            ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None };
        request.stream(true).stream_options(options);
    }
    let mut tools = Vec::new();
    for (name, description) in TOOLS {
        let function = FunctionObjectArgs::default()
            .name(name)
            .description(description)
            .parameters(schema())
            .build()?;
        tools.push(ChatCompletionTools::Function(ChatCompletionTool { function }));
    }
    request.tools(tools).build()
}

/// The same by `byot`.
async fn raw(client: &Client<OpenAIConfig>, case: &Case, seen: &mut Seen) {
    let Ok(request) = request(case) else { return };
    if !case.stream {
        seen.raw.extend(client.chat().create_byot::<_, Value>(request).await);
        return;
    }
    type Raw = Pin<Box<dyn Stream<Item = Result<Value, OpenAIError>> + Send>>;
    let stream: Result<Raw, _> = client.chat().create_stream_byot(request).await;
    let Ok(mut stream) = stream else { return };
    while let Some(Ok(chunk)) = stream.next().await {
        seen.raw.push(chunk);
    }
}

async fn typed(
    client: &Client<OpenAIConfig>,
    case: &Case,
    seen: &mut Seen,
) -> Result<(), OpenAIError> {
    if !case.stream {
        let answer = client.chat().create(request(case)?).await?;
        whole(seen, answer);
        return Ok(());
    }
    let mut stream = client.chat().create_stream(request(case)?).await?;
    let mut calls = BTreeMap::new();
    while let Some(chunk) = stream.next().await {
        piece(seen, chunk?, &mut calls);
    }
    for (id, name, text) in calls.into_values() {
        seen.calls.push(Call { id, name, arguments: arguments(&text) });
    }
    Ok(())
}

fn word(value: &impl Serialize) -> Option<String> {
    json!(value).as_str().map(str::to_owned)
}

fn usage(seen: &mut Seen, usage: Option<&CompletionUsage>) {
    if let Some(usage) = usage {
        seen.prompt_tokens = Some(usage.prompt_tokens.into());
        seen.completion_tokens = Some(usage.completion_tokens.into());
    }
}

fn whole(seen: &mut Seen, answer: CreateChatCompletionResponse) {
    usage(seen, answer.usage.as_ref());
    seen.tier = answer.service_tier.as_ref().and_then(word);
    for choice in answer.choices {
        seen.finish = choice.finish_reason.as_ref().and_then(word);
        let message = choice.message;
        seen.text = message.content.unwrap_or_default();
        seen.refusal = message.refusal;
        for call in message.tool_calls.into_iter().flatten() {
            if let ChatCompletionMessageToolCalls::Function(call) = call {
                seen.calls.push(Call {
                    id: call.id,
                    name: call.function.name,
                    arguments: arguments(&call.function.arguments),
                });
            }
        }
        for annotation in message.annotations.into_iter().flatten() {
            let ChatCompletionResponseMessageAnnotation::UrlCitation { url_citation } = annotation;
            seen.citations.push(Cited {
                url: url_citation.url,
                title: Some(url_citation.title),
                text: None,
                start: Some(url_citation.start_index.into()),
                end: Some(url_citation.end_index.into()),
            });
        }
    }
}

fn piece(
    seen: &mut Seen,
    chunk: CreateChatCompletionStreamResponse,
    calls: &mut BTreeMap<u32, (String, String, String)>,
) {
    usage(seen, chunk.usage.as_ref());
    seen.tier = chunk.service_tier.as_ref().and_then(word).or(seen.tier.take());
    for choice in chunk.choices {
        seen.finish = choice.finish_reason.as_ref().and_then(word).or(seen.finish.take());
        seen.text.push_str(&choice.delta.content.unwrap_or_default());
        if let Some(refusal) = choice.delta.refusal {
            seen.refusal.get_or_insert_default().push_str(&refusal);
        }
        for call in choice.delta.tool_calls.into_iter().flatten() {
            let kept = calls.entry(call.index).or_default();
            if let Some(id) = call.id {
                kept.0 = id;
            }
            if let Some(function) = call.function {
                if let Some(name) = function.name {
                    kept.1 = name;
                }
                kept.2.push_str(&function.arguments.unwrap_or_default());
            }
        }
    }
}
