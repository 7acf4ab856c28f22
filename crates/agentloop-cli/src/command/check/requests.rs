//! What each check sends, and what must come back.

use agentloop::{
    CacheMode, ChatMessage, ChatResponse, ChatStreamEvent, ContentPart, Effort, EmbedRequest,
    Error, ErrorKind, FinishReason, Fold, ResponseFormat, ToolCallPart, ToolChoice, ToolDefinition,
    Usage, Warning,
};
use serde_json::{Value, json};

use super::rules::{Outcome, PROMPT_TOKENS, Subject, Verdict};

/// A word that no prompt contains by chance.
const WORD: &str = "pelican";

/// A red point, as PNG.
const IMAGE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

fn pass(detail: impl Into<String>) -> Outcome {
    Ok(Verdict::Pass(detail.into()))
}

fn fail(expected: &str, came: &str) -> Outcome {
    Ok(Verdict::Fail(format!("expected {expected}, got {came}")))
}

/// Returns whether the library left out a parameter, and why.
fn dropped(response: &ChatResponse, parameter: &str) -> Option<Outcome> {
    let about = |warning: &&Warning| {
        warning.subject.as_deref().is_some_and(|subject| subject.starts_with(parameter))
    };
    let warning = response.warnings.iter().find(about)?;
    Some(Ok(Verdict::Skipped(warning.message.clone())))
}

/// Quotes the start of a text.
fn quote(text: &str) -> String {
    let start: String = text.trim().chars().take(60).collect();
    let more = if text.trim().chars().count() > 60 { "…" } else { "" };
    format!("{start:?}{more}")
}

fn finish_of(response: &ChatResponse) -> String {
    response.finish_reason().map_or("none".to_owned(), |reason| format!("{reason:?}"))
}

pub(super) async fn complete(subject: &mut Subject) -> Outcome {
    let response = subject.chat(subject.request("Say hello.")).await?;
    let text = response.text();
    match (text.trim().is_empty(), response.finish_reason()) {
        (true, _) => fail("text", "none"),
        (false, Some(FinishReason::Stop)) => pass(quote(&text)),
        (false, _) => fail("the finish reason Stop", &finish_of(&response)),
    }
}

pub(super) async fn stream(subject: &mut Subject) -> Outcome {
    let mut stream = subject.client.stream(subject.request("Count from one to ten.")).await?;
    let mut fold = Fold::new();
    let mut events = 0_usize;
    let mut last = None;
    while let Some(event) = stream.next().await {
        let event = event?;
        events += 1;
        if let Err(error) = fold.push(&event) {
            return fail("events in order", &error.to_string());
        }
        if let ChatStreamEvent::MessageDone { response } = event {
            last = Some(response);
        }
    }
    let Some(response) = last else { return fail("the end of the response", "none") };
    subject.count(&response);
    let folded: String = fold.partial().text();
    match response.text() {
        text if text.trim().is_empty() => fail("text", "none"),
        text if text != folded => fail("the text of its deltas", &quote(&text)),
        _ => match response.finish_reason() {
            Some(FinishReason::Stop) => check_usage(&response.usage, &format!("{events} events")),
            _ => fail("the finish reason Stop", &finish_of(&response)),
        },
    }
}

pub(super) async fn usage(subject: &mut Subject) -> Outcome {
    let response = subject.chat(subject.request("Write one sentence about rivers.")).await?;
    check_usage(&response.usage, "")
}

/// The sum may be larger than its parts: some providers count thinking only there.
fn check_usage(usage: &Usage, detail: &str) -> Outcome {
    let (Some(prompt), Some(completion)) = (usage.prompt_tokens, usage.completion_tokens) else {
        return fail("the tokens of prompt and response", "no usage");
    };
    let total = usage.total_tokens.unwrap_or(prompt.saturating_add(completion));
    let sum = format!("{prompt} + {completion} = {total} tokens");
    let details = &usage.details;
    let is_part = |part: Option<u64>, whole: u64| part.is_none_or(|part| part <= whole);
    if prompt == 0 || completion == 0 || total < prompt.saturating_add(completion) {
        return fail("tokens of prompt and response", &sum);
    }
    if !is_part(details.cached_tokens, prompt) {
        return fail("at most as many cached tokens as prompt tokens", &sum);
    }
    // One token is at most some characters long, so a prompt of some words cannot have thousands.
    if prompt > 20 * PROMPT_TOKENS {
        return fail("a prompt of less than a thousand tokens", &sum);
    }
    pass(if detail.is_empty() { sum } else { format!("{detail}, {sum}") })
}

pub(super) async fn system(subject: &mut Subject) -> Outcome {
    let prompt = "What is the code word? Respond with the word only.";
    let without = subject.chat(subject.request(prompt)).await?;
    let mut request = subject.request(prompt);
    let instructions = format!("The code word is {WORD}. Always respond with the code word.");
    request.messages.insert(0, ChatMessage::system(instructions));
    let with = subject.chat(request).await?;
    let tokens = |response: &ChatResponse| response.usage.prompt_tokens;
    match (tokens(&without), tokens(&with)) {
        _ if with.text().to_lowercase().contains(WORD) => pass("the response follows it"),
        // A small model may not follow it, but it was read. The prompt can become shorter: some servers add one of their own if
        // there is none (llama.cpp with SmolLM2, 2026-11-16: 42 tokens without it, 40 with it).
        (Some(without), Some(with)) if with != without => {
            pass(format!("it was read: {without} tokens without it, {with} with it"))
        }
        _ => fail(&format!("a response with the word {WORD}"), &quote(&with.text())),
    }
}

pub(super) async fn stop(subject: &mut Subject) -> Outcome {
    let mut request = subject.request("Repeat exactly: one two three four five");
    request.stop = Some("three".into());
    let response = subject.chat(request).await?;
    if let Some(skipped) = dropped(&response, "stop") {
        return skipped;
    }
    match (response.text().contains("three"), response.finish_reason()) {
        (true, _) => fail("text that ends before \"three\"", &quote(&response.text())),
        (false, Some(FinishReason::Stop)) => pass(quote(&response.text())),
        (false, _) => fail("the finish reason Stop", &finish_of(&response)),
    }
}

pub(super) async fn length(subject: &mut Subject) -> Outcome {
    let mut request =
        subject.request("Write the numbers from 1 to 300 in words, separated by commas.");
    request.max_tokens = Some(16);
    let response = subject.chat(request).await?;
    if let Some(skipped) = dropped(&response, "max_tokens") {
        return skipped;
    }
    match response.finish_reason() {
        Some(FinishReason::Length) => pass(quote(&response.text())),
        _ => fail("the finish reason Length", &finish_of(&response)),
    }
}

fn tools() -> Vec<ToolDefinition> {
    let city = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    vec![
        ToolDefinition::function("get_weather", city.clone())
            .with_description("Returns the weather in a city"),
        ToolDefinition::function("get_time", city).with_description("Returns the time in a city"),
    ]
}

fn calls_of(response: &ChatResponse) -> Vec<ToolCallPart> {
    response.choices.iter().take(1).flat_map(|choice| choice.tool_calls()).cloned().collect()
}

/// Returns what is wrong with a call: the arguments must be an object with a city.
fn wrong_arguments(call: &ToolCallPart) -> Option<Outcome> {
    let arguments: Result<Value, _> = serde_json::from_str(&call.arguments);
    match arguments {
        Ok(arguments) if arguments["city"].is_string() => None,
        _ => Some(fail("arguments with a city", &quote(&call.arguments))),
    }
}

pub(super) async fn tool_call(subject: &mut Subject) -> Outcome {
    let mut request = subject.request("What is the weather in Oslo? Use the tool.");
    request.tools = tools();
    request.tools.truncate(1);
    let response = subject.chat(request.clone()).await?;
    if let Some(skipped) = dropped(&response, "tools") {
        return skipped;
    }
    let calls = calls_of(&response);
    let Some(call) = calls.first() else {
        return fail("a call of get_weather", &quote(&response.text()));
    };
    if call.name != "get_weather" {
        return fail("a call of get_weather", &format!("a call of {:?}", call.name));
    }
    if let Some(wrong) = wrong_arguments(call) {
        return wrong;
    }
    if response.finish_reason() != Some(&FinishReason::ToolCalls) {
        return fail("the finish reason ToolCalls", &finish_of(&response));
    }
    request.messages.push(response.into_message());
    for call in &calls {
        request.messages.push(ChatMessage::tool(&call.id, "7 degrees, rain").with_name(&call.name));
    }
    let response = subject.chat(request).await?;
    if response.text().trim().is_empty() && calls_of(&response).is_empty() {
        fail("a response to the result", "no text")
    } else {
        pass(format!("get_weather({}), then {}", call.arguments, quote(&response.text())))
    }
}

pub(super) async fn forced_tool(subject: &mut Subject) -> Outcome {
    let mut request = subject.request("Hello! I am in Rome.");
    request.tools = tools();
    request.tool_choice = Some(ToolChoice::function("get_time"));
    let response = subject.chat(request).await?;
    if let Some(skipped) = dropped(&response, "tool") {
        return skipped;
    }
    match calls_of(&response).first() {
        None => fail("a call of get_time", &quote(&response.text())),
        Some(call) if call.name != "get_time" => {
            fail("a call of get_time", &format!("a call of {:?}", call.name))
        }
        Some(call) => {
            wrong_arguments(call).unwrap_or_else(|| pass(format!("get_time({})", call.arguments)))
        }
    }
}

pub(super) async fn parallel_calls(subject: &mut Subject) -> Outcome {
    let prompt =
        "What are the weather and the time in Oslo? Call both tools at once, before you respond.";
    let mut request = subject.request(prompt);
    request.tools = tools();
    let response = subject.chat(request).await?;
    if let Some(skipped) = dropped(&response, "tools") {
        return skipped;
    }
    let calls = calls_of(&response);
    let mut ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    match (calls.len(), subject.known.abilities.parallel_tools) {
        (count, _) if ids.len() < count => fail("calls with different ids", "the same id twice"),
        (0, _) => fail("two calls", &quote(&response.text())),
        (1, Some(true)) => fail("two calls", "one"),
        (1, _) => Ok(Verdict::Skipped("the model made one call only".to_owned())),
        (count, _) => {
            calls.iter().find_map(wrong_arguments).unwrap_or_else(|| pass(format!("{count} calls")))
        }
    }
}

pub(super) async fn structured(subject: &mut Subject) -> Outcome {
    let mut request = subject.request("Describe Oslo. The population is about 700000.");
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" }, "population": { "type": "integer" } },
        "required": ["city", "population"],
        "additionalProperties": false,
    });
    request.response_format = Some(ResponseFormat::json_schema("city", schema));
    let response = subject.chat(request).await?;
    if let Some(skipped) = dropped(&response, "response_format") {
        return skipped;
    }
    let text = response.text();
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if value["city"].is_string() && value["population"].is_i64() => {
            pass(quote(&text))
        }
        _ => fail("JSON with a city and a population", &quote(&text)),
    }
}

pub(super) async fn thinking(subject: &mut Subject) -> Outcome {
    let mut request = subject.request("Which is larger, 17 * 23 or 19 * 21? Think first.");
    request.reasoning_effort = Some(Effort::Low);
    let response = subject.chat(request).await?;
    let tokens = response.usage.details.reasoning_tokens.unwrap_or(0);
    let thoughts = response.choices.first().and_then(|choice| choice.thinking());
    match (thoughts, tokens) {
        (Some(thoughts), _) if !thoughts.trim().is_empty() => pass(quote(&thoughts)),
        (_, 1..) => pass(format!("{tokens} tokens; the text is not shown")),
        _ => fail("thinking, or tokens of it", "neither"),
    }
}

pub(super) async fn image(subject: &mut Subject) -> Outcome {
    let mut request = subject.request("");
    let parts = vec![ContentPart::text("Which colour is this?"), ContentPart::image_url(IMAGE)];
    request.messages = vec![ChatMessage::user(parts)];
    let response = subject.chat(request).await?;
    match response.text() {
        text if text.trim().is_empty() => fail("text about the image", "none"),
        text => pass(quote(&text)),
    }
}

pub(super) async fn unicode(subject: &mut Subject) -> Outcome {
    let text = "Zürich 東京 🦀 e\u{301}";
    let response = subject.chat(subject.request(&format!("Repeat exactly: {text}"))).await?;
    let came = response.text();
    match ["Zürich", "東京", "🦀"].iter().find(|word| !came.contains(**word)) {
        Some(missing) => fail(&format!("text with {missing}"), &quote(&came)),
        None if came.contains('\u{fffd}') => fail("no replacement character", &quote(&came)),
        None => pass(quote(&came)),
    }
}

/// Expects an error of a kind.
fn expect_error<T>(result: Result<T, Error>, expected: ErrorKind) -> Outcome {
    let expectation = format!("the error {}", expected.as_str());
    match result {
        Ok(_) => fail(&expectation, "a response"),
        Err(error) if error.kind() == expected => pass(error.message()),
        Err(error) => fail(&expectation, &format!("{}: {error}", error.kind().as_str())),
    }
}

pub(super) async fn wrong_key(subject: &mut Subject) -> Outcome {
    let request = subject.request("Hello");
    let name = subject.provider.name.to_string();
    let request = request.key(name, "agentloop-check-this-is-not-a-key");
    expect_error(subject.client.chat(request).await, ErrorKind::Auth)
}

pub(super) async fn unknown_model(subject: &mut Subject) -> Outcome {
    let mut request = subject.request("Hello");
    request.model = format!("{}/agentloop-check-no-such-model", subject.provider.name);
    expect_error(subject.client.chat(request).await, ErrorKind::NotFound)
}

pub(super) async fn embeddings(subject: &mut Subject) -> Outcome {
    let Some(model) = &subject.embedding_model else { return pass("") };
    let mut request = EmbedRequest::new(model, ["a river", "a mountain"]);
    request.cache = Some(CacheMode::Bypass);
    let response = subject.client.embed(request).await?;
    if let Some(cost) = &response.cost {
        subject.spend(cost.usd);
    }
    let vectors = &response.embeddings;
    let lengths: Vec<usize> = vectors.iter().map(Vec::len).collect();
    match lengths.as_slice() {
        [first, second] if first == second && *first > 0 => {}
        _ => return fail("two vectors of the same length", &format!("lengths {lengths:?}")),
    }
    if !vectors.iter().flatten().all(|number| number.is_finite()) {
        return fail("finite numbers", "NaN or infinity");
    }
    if vectors[0] == vectors[1] {
        return fail("different vectors for different texts", "the same vector twice");
    }
    pass(format!("2 vectors of {} numbers", lengths[0]))
}

pub(super) async fn model_list(subject: &mut Subject) -> Outcome {
    let models = subject.client.models(&subject.provider.name).await?;
    match models.iter().any(|model| model.id.is_empty()) {
        _ if models.is_empty() => fail("at least one model", "an empty list"),
        true => fail("a name for every model", "an empty name"),
        false => pass(format!("{} models", models.len())),
    }
}

pub(super) async fn token_count(subject: &mut Subject) -> Outcome {
    let tokens = subject.client.count_tokens(&subject.request("Count these five words.")).await?;
    match tokens {
        0 => fail("more than 0 tokens", "0"),
        tokens => pass(format!("{tokens} tokens")),
    }
}
