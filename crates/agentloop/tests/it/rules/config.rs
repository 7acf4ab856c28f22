//! Changing providers in `agentloop.toml`.

use agentloop::provider::quirks::{ReasoningEcho, TokenCap, ToolCallIds};
use agentloop::provider::{Auth, Feature};
use agentloop::{AgentLoop, ChatRequest, Config, Protocol, Provider, Result, inspect};
use serde_json::{Value, json};

fn client(text: &str) -> Result<AgentLoop> {
    AgentLoop::builder().config(&Config::parse(text)?).build()
}

fn body(text: &str, request: &ChatRequest) -> Value {
    let encoded = inspect::encode(&client(text).unwrap(), request, false).unwrap();
    serde_json::from_str(encoded.body.get()).unwrap()
}

fn provider(text: &str) -> Provider {
    Config::parse(text).unwrap().providers.remove(0)
}

#[test]
fn one_quirk_leaves_the_others_of_a_built_in_provider() {
    let mistral = provider("[providers.mistral.quirks]\ntoken_cap = 'max_completion_tokens'");
    assert_eq!(mistral.quirks.token_cap, TokenCap::MaxCompletionTokens);
    assert_eq!(mistral.quirks.tool_call_ids, ToolCallIds::NineAlphanumeric);
    assert_eq!(mistral.quirks.reasoning_echo, ReasoningEcho::ThinkingChunk);
    let cohere = provider("[providers.cohere.quirks.embeddings]\nbatch = 7");
    let usual = Provider::builtin("cohere").unwrap().quirks;
    assert_eq!(cohere.quirks.embeddings.batch, Some(7));
    assert_eq!(cohere.quirks.embeddings.form, usual.embeddings.form);
    assert_eq!(cohere.quirks.efforts, usual.efforts);
    let error = Config::parse("\n[providers.mistral.quirks]\ntoken_cup = 'x'").unwrap_err();
    assert!(error.message().contains("token_cup"), "{}", error.message());
    assert!(error.message().starts_with("line "), "{}", error.message());
}

#[test]
fn a_quirk_counts_in_every_protocol_of_the_provider() {
    let openai = provider("[providers.openai.quirks]\nfiles = 'refused'");
    for protocol in openai.protocols() {
        let files = openai.speaking(protocol).quirks.files;
        assert_eq!(serde_json::to_value(files).unwrap(), "refused", "{}", protocol.name());
    }
}

#[test]
fn a_range_of_the_file_wins_over_the_one_of_the_provider() {
    let request = ChatRequest::new("mistral/m").user("Hi").temperature(1.4);
    assert_eq!(body("", &request)["temperature"], 1.4);
    let text = "[providers.mistral.clamp]\ntemperature = [0, 0.7]";
    assert_eq!(body(text, &request)["temperature"], 0.7);
    let wider = "[providers.cohere.clamp]\ntemperature = [0, 2]";
    let request = ChatRequest::new("cohere/m").user("Hi").temperature(1.4);
    assert_eq!(body("", &request)["temperature"], 1.0);
    assert_eq!(body(wider, &request)["temperature"], 1.4);
}

#[test]
fn a_rule_of_the_file_wins_over_a_strip_and_over_the_list_of_the_provider() {
    let request: ChatRequest = serde_json::from_value(json!({
        "model": "deepseek/m", "messages": [{ "role": "user", "content": "Hi" }], "seed": 5,
    }))
    .unwrap();
    assert_eq!(body("", &request).get("seed"), None);
    assert_eq!(body("[providers.deepseek.rename]\nseed = 'seed'", &request)["seed"], 5);
    let mut request = request;
    request.model = "mistral/m".to_owned();
    assert_eq!(body("[providers.mistral.rename]\nseed = 'rng'", &request)["rng"], 5);
    let text = "[providers.mistral]\nallow = ['model']\n";
    assert_eq!(body(text, &request)["random_seed"], 5, "a rule counts before the list");
    let text = "[providers.mistral]\nstrip = ['seed']\nrename = { seed = 'rng' }";
    assert_eq!(body(text, &request).as_object().unwrap().len(), 2, "what is stripped is not sent");
}

#[test]
fn defaults_are_parameters() {
    let request = |model: &str| ChatRequest::new(model).user("Hi");
    let text = "[providers.anthropic]\ndefaults = { max_tokens = 1000 }";
    assert_eq!(body(text, &request("anthropic/claude-opus-4-5"))["max_tokens"], 1000);
    let text = "[providers.google]\ndefaults = { max_tokens = 1000, temperature = 0.5 }";
    let sent = body(text, &request("google/gemini-2.5-flash"));
    assert_eq!(sent["generationConfig"], json!({ "maxOutputTokens": 1000, "temperature": 0.5 }));
    assert_eq!(sent.as_object().unwrap().len(), 2);
    // A field of the body that is not a parameter is still possible.
    let text = "[providers.google.defaults]\nsafetySettings = []\n\
                'generationConfig.mediaResolution' = 'LOW'";
    let sent = body(text, &request("google/gemini-2.5-flash").temperature(0.5));
    let expected = json!({ "mediaResolution": "LOW", "temperature": 0.5 });
    assert_eq!((&sent["safetySettings"], &sent["generationConfig"]), (&json!([]), &expected));
    let text = "[providers.openai]\ndefaults = { max_tokens = 50 }";
    assert_eq!(body(text, &request("openai/gpt-4.1"))["max_completion_tokens"], 50);
}

#[test]
fn a_provider_of_a_protocol_is_like_the_compatible_one() {
    for (protocol, version, auth) in [
        (Protocol::OpenAiChat, false, Auth::Bearer),
        (Protocol::OpenAiResponses, false, Auth::Bearer),
        (Protocol::Anthropic, true, Auth::XApiKey),
        (Protocol::Gemini, false, Auth::XGoogApiKey),
        (Protocol::Ollama, false, Auth::Bearer),
        (Protocol::Cohere, false, Auth::Bearer),
        (Protocol::Bedrock, false, Auth::Bearer),
        (Protocol::GeminiInteractions, false, Auth::XGoogApiKey),
    ] {
        let name = protocol.name();
        let own = format!("[providers.lab]\nbase_url = 'http://lab.invalid'\nprotocol = '{name}'");
        // A built-in provider without this protocol.
        let changed = format!("[providers.nvidia]\nprotocol = '{name}'");
        for text in [own, changed] {
            let provider = provider(&text);
            assert_eq!(provider.protocol, protocol, "{text}");
            assert_eq!(provider.auth, auth, "{text}");
            let headers = provider.headers.iter().map(|(name, value)| format!("{name}: {value}"));
            let versions = headers.filter(|header| header == "anthropic-version: 2023-06-01");
            assert_eq!(versions.count(), usize::from(version), "{text}");
            let spoken = provider.protocols().filter(|spoken| *spoken == protocol);
            assert_eq!(spoken.count(), 1, "{text}");
        }
    }
}

#[test]
fn the_models_of_a_protocol_are_known_at_every_provider() {
    let mut request = ChatRequest::new("lab/claude-opus-5").user("Hi").temperature(0.5);
    let own = "[providers.lab]\nbase_url = 'http://lab.invalid'\nprotocol = 'anthropic'";
    assert_eq!(body(own, &request).get("temperature"), None);
    assert_eq!(body(own, &request)["max_tokens"], 32_000);
    request.model = "nvidia/claude-opus-5".to_owned();
    let changed = "[providers.nvidia]\nprotocol = 'anthropic'";
    assert_eq!(body(changed, &request).get("temperature"), None);
    let request = ChatRequest::new("lab/gemini-2.5-pro").user("Hi").effort(agentloop::Effort::Low);
    let own = "[providers.lab]\nbase_url = 'http://lab.invalid'\nprotocol = 'gemini'";
    let config = &body(own, &request)["generationConfig"]["thinkingConfig"];
    assert_eq!(config["thinkingBudget"], 1024);
}

#[test]
fn a_changed_protocol_uses_its_endpoint_and_keeps_the_former_one() {
    let deepseek = provider("[providers.deepseek]\nprotocol = 'anthropic'");
    assert_eq!(deepseek.base_url, "https://api.deepseek.com/anthropic/v1");
    let chat = deepseek.speaking(Protocol::OpenAiChat);
    let usual = Provider::builtin("deepseek").unwrap();
    assert_eq!((&chat.base_url, &chat.auth), (&usual.base_url, &usual.auth));
    assert_eq!((&chat.rules, &chat.quirks), (&usual.rules, &usual.quirks));
    assert!(!chat.headers.iter().any(|(name, _)| name == "anthropic-version"));
}

#[test]
fn a_base_url_may_have_a_query() {
    let text = "[providers.lab]\nbase_url = 'http://lab.invalid/v1?version=7'\nprotocol = 'gemini'";
    let ai = client(text).unwrap();
    let request = ChatRequest::new("lab/m").user("Hi");
    let url = |stream| inspect::encode(&ai, &request, stream).unwrap().url;
    assert_eq!(url(false), "http://lab.invalid/v1/models/m:generateContent?version=7");
    let streamed = "http://lab.invalid/v1/models/m:streamGenerateContent?alt=sse&version=7";
    assert_eq!(url(true), streamed);
}

#[test]
fn mistakes_in_rules_name_the_provider_the_rule_and_the_valid_values() {
    for (text, message) in [
        ("clamp = { tools = 1 }", "providers.lab: clamp.tools: `tools` is not a number"),
        ("clamp = { n = [3, 1] }", "providers.lab: clamp.n: `n` has no value between 3 and 1"),
        (
            "clamp = { temperature = nan }",
            "line 3: the number of `providers.lab.clamp.temperature` is out of range",
        ),
        ("clamp = { messages = 1 }", "providers.lab: `messages` is not a parameter"),
        ("rename = { messages = 'm' }", "providers.lab: `messages` is not a parameter"),
        ("rename = { seed = 'a..b' }", "providers.lab: rename.seed: `a..b` is not the name"),
        ("rename = { seed = 'user' }", "providers.lab: `seed` and `user` would both be sent"),
        ("defaults = { n = 'x' }", "providers.lab: defaults.n"),
        ("defaults = { model = 'x' }", "providers.lab: defaults: `model` is set by the request"),
        ("strip = ['mesages']", "line 3: "),
    ] {
        let text = format!("[providers.lab]\nbase_url = 'http://lab.invalid'\n{text}");
        let error = Config::parse(&text).unwrap_err();
        assert!(error.message().starts_with(message), "{text}: {}", error.message());
    }
}

#[test]
fn what_a_provider_supports_follows_its_rules() {
    let head = "[providers.lab]\nbase_url = 'http://lab.invalid'";
    let lab = |more: &str| provider(&format!("{head}\n{more}"));
    for (text, tools, schema) in [
        ("", true, true),
        ("strip = ['tools']", false, true),
        ("ignored = ['tools']", false, true),
        ("strip = ['response_format']", true, false),
        ("allow = ['tools']", true, false),
        ("allow = ['functions']\nrename = { tools = 'functions' }", true, false),
        ("allow = ['model']", false, false),
    ] {
        let lab = lab(text);
        let found = (lab.supports(Feature::Tools), lab.supports(Feature::JsonSchema));
        assert_eq!(found, (tools, schema), "{text}");
    }
}
