//! Every feature of every built-in provider, in each of its protocols, against the description of that protocol.

use agentloop::provider::quirks::{LogprobsForm, ModelPlace, ThinkingForm, VideoInput};
use agentloop::{ErrorKind, Protocol, Provider, inspect};
use serde_json::{Value, json};

use crate::specs::gemini;
use crate::specs::spec::Spec;
use crate::wire::features::FEATURES;
use crate::wire::{client, request};

/// The description of a provider's protocol: the provider's own where one is published, else that of the protocol's maker.
fn description(provider: &Provider, protocol: Protocol) -> Option<(&'static str, &'static str)> {
    Some(match protocol {
        Protocol::OpenAiChat if provider.name == "mistral" => {
            ("mistral.json", "ChatCompletionRequest")
        }
        Protocol::OpenAiChat => ("openai.json", "CreateChatCompletionRequest"),
        Protocol::OpenAiResponses => ("openai.json", "CreateResponse"),
        Protocol::Anthropic => ("anthropic.yaml", "CreateMessageParams"),
        Protocol::Gemini => ("gemini.json", "GenerateContentRequest"),
        Protocol::Ollama => ("ollama.json", "ChatRequest"),
        // No description of its requests is at hand, or only one that is older than its steps.
        Protocol::Cohere | Protocol::Bedrock | Protocol::GeminiInteractions => return None,
        other => panic!("no description of {}", other.name()),
    })
}

/// Fields that a provider accepts beyond the description, with the reason.
struct Extension {
    /// Whether it applies to a provider and a protocol.
    applies: fn(&Provider) -> bool,
    protocol: Protocol,
    features: &'static [&'static str],
    reason: &'static str,
}

const fn of(
    applies: fn(&Provider) -> bool,
    protocol: Protocol,
    features: &'static [&'static str],
    reason: &'static str,
) -> Extension {
    Extension { applies, protocol, features, reason }
}

fn is_one_of(provider: &Provider, names: &[&str]) -> bool {
    names.contains(&provider.name.as_ref())
}

/// Providers that are known to take no parameter beyond those of their description.
const STRICT: &[&str] =
    &["openai", "azure", "groq", "mistral", "deepseek", "cohere", "xai", "cerebras"];

const EXTENSIONS: &[Extension] = &[
    of(
        |provider| !is_one_of(provider, STRICT),
        Protocol::OpenAiChat,
        &["top_k"],
        "servers of open models take it beside OpenAI's parameters",
    ),
    of(
        |provider| is_one_of(provider, &["mistral"]),
        Protocol::OpenAiChat,
        &[
            "top_k",
            "logprobs",
            "effort low",
            "effort none",
            "thinking off",
            "service_tier",
            "prompt_cache_key",
        ],
        "newer than the description; in the provider's own SDK",
    ),
    of(
        |provider| provider.quirks.thinking != ThinkingForm::EffortOnly,
        Protocol::OpenAiChat,
        &[
            "effort low",
            "effort none",
            "thinking on",
            "thinking off",
            "thinking budget",
            "thoughts hidden",
        ],
        "the provider's own switch of thinking",
    ),
    of(
        |provider| provider.quirks.logprobs == LogprobsForm::Count,
        Protocol::OpenAiChat,
        &["logprobs"],
        "its number of alternatives is `logprobs`",
    ),
    of(
        |provider| provider.quirks.video == VideoInput::VideoUrl,
        Protocol::OpenAiChat,
        &["video by URL"],
        "video is not in OpenAI's description",
    ),
    of(
        |provider| is_one_of(provider, &["deepseek"]),
        Protocol::OpenAiChat,
        &["tool_choice required", "tool_choice named"],
        "a call can be forced only while thinking is off, which has a field of its own",
    ),
    of(
        |provider| {
            !is_one_of(provider, STRICT)
                && !is_one_of(provider, &["together", "fireworks", "perplexity"])
        },
        Protocol::OpenAiChat,
        &["image settings", "images out"],
        "open servers and routers decide by the model which kinds of output there are",
    ),
    of(
        |provider| is_one_of(provider, &["deepseek"]),
        Protocol::OpenAiChat,
        &["user"],
        "it is called `user_id` there",
    ),
    of(
        |provider| is_one_of(provider, &["deepseek"]),
        Protocol::OpenAiResponses,
        &["user"],
        "it is called `user_id` there",
    ),
    of(
        |provider| is_one_of(provider, &["perplexity"]),
        Protocol::OpenAiResponses,
        &["JSON mode", "schema", "schema of a list", "image by URL", "image as data"],
        "its own form of the format, and images without `detail`",
    ),
    of(
        |_| true,
        Protocol::OpenAiResponses,
        &["sound"],
        "audio is newer than the description; in OpenAI's own SDK",
    ),
    of(
        |_| true,
        Protocol::Anthropic,
        &["schema", "schema of a list", "effort low", "effort none", "thinking off"],
        "`output_config` is newer than the description; in recorded traffic and in Anthropic's SDK",
    ),
    of(
        |_| true,
        Protocol::Anthropic,
        &["web fetch", "code execution"],
        "newer than the description; in recorded traffic and in Anthropic's SDK",
    ),
    of(
        |provider| is_one_of(provider, &["groq", "openrouter"]),
        Protocol::OpenAiChat,
        &["web search", "code execution"],
        "the provider's own tools, under its own names",
    ),
    of(
        |provider| is_one_of(provider, &["groq", "perplexity", "xai", "openrouter"]),
        Protocol::OpenAiResponses,
        &["web search", "web fetch", "code execution"],
        "the provider's own tools, under its own names",
    ),
    of(
        |_| true,
        Protocol::Anthropic,
        &["file by id"],
        "files are a beta, which the description leaves out; in Anthropic's SDK",
    ),
];

impl Extension {
    fn covers(&self, provider: &Provider, feature: &str) -> bool {
        self.protocol == provider.protocol
            && self.features.contains(&feature)
            && (self.applies)(provider)
    }
}

#[test]
fn every_feature_of_every_provider_matches_the_description_of_its_protocol() {
    let ai = client();
    let mut failures = Vec::new();
    let mut checked = 0;
    let mut needed = std::collections::BTreeSet::new();
    let mut specs = std::collections::HashMap::new();
    for provider in Provider::all() {
        for protocol in provider.protocols() {
            let spoken = provider.speaking(protocol);
            let Some((file, schema)) = description(&provider, protocol) else { continue };
            let loaded = specs.entry((file, schema)).or_insert_with(|| Spec::load(file, schema));
            let Some(spec) = loaded else {
                println!("skipped: there is no folder of API descriptions beside the checkout");
                return;
            };
            for feature in FEATURES.iter().filter(|feature| feature.name != "extra_body") {
                let mut fields = feature.asked();
                fields["protocol"] = json!(protocol);
                let request = request(&format!("{}/some-model", provider.name), &fields);
                let name = format!("{} in {}, {}", provider.name, protocol.name(), feature.name);
                match inspect::encode(&ai, &request, false) {
                    // A field that a provider does not accept may be refused by name.
                    Err(error) if error.kind() == ErrorKind::Unsupported => {}
                    Err(error) => failures.push(format!("{name}: {error:?}")),
                    Ok(encoded) => {
                        let mut body: Value = serde_json::from_str(encoded.body.get()).unwrap();
                        // There the path names the model, and the body the version.
                        if spoken.quirks.model_place != ModelPlace::Body
                            && let Some(body) = body.as_object_mut()
                        {
                            assert!(body.remove("anthropic_version").is_some());
                            body.insert("model".to_owned(), json!("some-model"));
                        }
                        if protocol == Protocol::Gemini {
                            gemini::as_described(&mut body);
                        }
                        checked += 1;
                        let errors = spec.errors(&body);
                        let extension = EXTENSIONS
                            .iter()
                            .position(|extension| extension.covers(&spoken, feature.name));
                        match extension {
                            Some(at) if !errors.is_empty() => {
                                needed.insert(at);
                            }
                            _ => failures.extend(errors.iter().map(|why| format!("{name}: {why}"))),
                        }
                    }
                }
            }
        }
    }
    println!("{checked} requests");
    for (at, extension) in EXTENSIONS.iter().enumerate() {
        assert!(needed.contains(&at), "no request needs this any more: {}", extension.reason);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
