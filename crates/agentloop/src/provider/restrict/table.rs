//! Restrictions of the built-in providers. Each row cites where it is known from: recorded traffic, the provider's own SDK or
//! documentation, or reports of others who met it.

use super::{Action, Condition, Restriction};
use crate::chat::Effort::{self, High, Low, Max, Medium, Minimal, None as NoEffort, Xhigh};
use crate::chat::Protocol;
use crate::media::MediaKind;
use crate::provider::{Param, Provider};

/// Adds to a built-in row what the table says of it.
pub(in crate::provider) fn with_restrictions(mut provider: Provider) -> Provider {
    let rows = match provider.name.as_ref() {
        "openai" | "azure" => openai(),
        "google" => google(),
        "groq" => groq(),
        "together" => together(),
        "mistral" => mistral(),
        "deepseek" => deepseek(),
        "fireworks" => fireworks(),
        "perplexity" => perplexity(),
        "ollama" => ollama(),
        "xai" => xai(),
        _ => return provider,
    };
    provider.restrictions.extend(rows);
    provider
}

fn row(id: &'static str, then: Action) -> Restriction {
    Restriction::new(id, then)
}

fn clamp(id: &'static str, param: Param, min: f64, max: f64) -> Restriction {
    row(id, Action::Clamp { param, min, max }).reason("it is outside of the range")
}

fn efforts<const N: usize>(
    id: &'static str,
    models: &[&'static str],
    levels: [Effort; N],
) -> Restriction {
    row(id, Action::Efforts(levels.into()))
        .models(models.iter().copied())
        .reason("the model does not know this effort")
}

fn images(id: &'static str, types: &[&'static str]) -> Restriction {
    let types = types.iter().map(|name| (*name).into()).collect();
    row(id, Action::MediaTypes { kind: MediaKind::Image, types })
        .reason("images of other types are refused")
}

/// JSON mode answers 400 when no message holds the word.
fn json_word(id: &'static str) -> Restriction {
    row(id, Action::SayJson).reason("JSON mode needs the word JSON in a message")
}

/// OpenAI's reasoning models.
const REASONS: [&str; 5] = ["gpt-5*", "gpt-6*", "o1*", "o3*", "o4*"];

/// Those of them that can be asked not to think, and then sample.
const SAMPLES: [&str; 8] = [
    "gpt-5.1*",
    "gpt-5.2*",
    "gpt-5.3*",
    "gpt-5.4*",
    "gpt-5.5*",
    "gpt-6-sol*",
    "gpt-6-luna*",
    "gpt-6.1-terra*",
];

const SAMPLING: [Param; 4] = [Param::Temperature, Param::TopP, Param::Logprobs, Param::TopLogprobs];

fn openai() -> Vec<Restriction> {
    const CATALOG: &str = "ai-sdk openai 4.0: openai-model-catalog.ts";
    let chat = Protocol::OpenAiChat;
    vec![
        // The effort `max` exists in one protocol only: it is spoken where the request leaves the choice.
        row("openai-max-effort", Action::Speak(Protocol::OpenAiResponses))
            .models(["gpt-5.6*", "gpt-6*"])
            .protocol(chat)
            .when([Condition::Effort(vec![Max])])
            .source(CATALOG),
        row("openai-max-effort-in-chat", Action::Effort(Xhigh))
            .models(["gpt-5.6*", "gpt-6*"])
            .protocol(chat)
            .when([Condition::Effort(vec![Max])])
            .reason("`max` is known in the Responses protocol only")
            .source(CATALOG),
        row("openai-modalities", Action::Modalities(vec!["text".into(), "audio".into()]))
            .protocol(chat)
            .reason("the Chat protocol makes text and audio only")
            .source("OpenAI's API description: ResponseModalities"),
        efforts("openai-gpt-5-effort", &["gpt-5", "gpt-5-*"], [Minimal, Low, Medium, High])
            .except(["gpt-5-chat*", "gpt-5-pro*", "gpt-5-search*"])
            .source(CATALOG),
        efforts("openai-gpt-5.1-effort", &["gpt-5.1*"], [NoEffort, Low, Medium, High])
            .source(CATALOG),
        efforts(
            "openai-gpt-5.2-effort",
            &["gpt-5.2*", "gpt-5.3*", "gpt-5.4*", "gpt-5.5*"],
            [NoEffort, Low, Medium, High, Xhigh],
        )
        .source(CATALOG),
        efforts(
            "openai-gpt-5.6-effort",
            &["gpt-5.6*", "gpt-6-sol*", "gpt-6-luna*", "gpt-6.1-terra*"],
            [NoEffort, Low, Medium, High, Xhigh, Max],
        )
        .source(CATALOG),
        efforts(
            "openai-gpt-6-effort",
            &["gpt-6-astra*", "gpt-6.1-sol*"],
            [Low, Medium, High, Xhigh, Max],
        )
        .source(CATALOG),
        row("openai-no-effort", Action::Drop(vec![Param::ReasoningEffort, Param::Thinking]))
            .models(["gpt-5-chat*"])
            .reason("the model takes no effort")
            .source("recording openai-responses-err-error-4xx-e5bb1fe8"),
        // ai-sdk forces the same; the API's own words are "use /v1/responses or set reasoning_effort to 'none'".
        row("openai-tools-in-chat", Action::Effort(NoEffort))
            .models(["gpt-5.6*"])
            .protocol(chat)
            .when([Condition::Functions, Condition::EffortOtherThan(NoEffort)])
            .reason("the Chat protocol takes functions only without effort for this model")
            .source("ai-sdk openai 4.0: openai-model-catalog.ts; community.openai.com 1386454"),
        // Recorded: openai-err-error-4xx-aaf07062 (gpt-5.6-luna, logprobs), openai-err-error-4xx-28e1d53c (gpt-5-mini, stop).
        row("openai-sampling-without-effort", Action::Drop(SAMPLING.to_vec()))
            .models(SAMPLES)
            .when([Condition::EffortOtherThan(NoEffort)])
            .reason("the model takes it only with the effort `none`")
            .source(CATALOG),
        row("openai-no-sampling", Action::Drop(SAMPLING.to_vec()))
            .models(REASONS)
            .except(SAMPLES.into_iter().chain(["gpt-5-chat*"]))
            .reason("the model does not take it")
            .source("ai-sdk openai 4.0; recording openai-err-error-4xx-aaf07062"),
        row(
            "openai-no-penalties",
            Action::Drop(vec![
                Param::FrequencyPenalty,
                Param::PresencePenalty,
                Param::LogitBias,
                Param::Stop,
            ]),
        )
        .models(REASONS)
        .except(["gpt-5-chat*"])
        .reason("the model does not take it")
        .source("ai-sdk openai 4.0; recording openai-err-error-4xx-28e1d53c"),
        row("openai-deep-research-functions", Action::DropFunctions)
            .models(["o3-deep-research*", "o4-mini-deep-research*"])
            .when([Condition::Functions])
            .reason("deep research models take the provider's own tools only")
            .source("recording openai-responses-err-error-4xx-f214f1ce"),
        row("openai-audio-format", Action::FormatInWords)
            .models(["gpt-audio*", "gpt-4o-audio*", "gpt-4o-mini-audio*"])
            .when([Condition::Format])
            .reason("the model has no JSON mode")
            .source("recording openai-err-error-4xx-structured-output-65ea8ac9"),
        json_word("openai-json-word")
            .source("OpenAI's API description: response_format json_object"),
        row("openai-call-ids", Action::ShortenIds(64))
            .protocol(Protocol::OpenAiResponses)
            .reason("ids of calls have at most 64 characters")
            .source("OpenAI's API description: call_id"),
        clamp("openai-temperature", Param::Temperature, 0.0, 2.0)
            .source("recording openai-responses-err-error-4xx-10558b47"),
        clamp("openai-top-p", Param::TopP, 0.0, 1.0)
            .source("openai SDK 3.49: completion_create_params.py"),
        clamp("openai-frequency-penalty", Param::FrequencyPenalty, -2.0, 2.0)
            .source("openai SDK 3.49: completion_create_params.py"),
        clamp("openai-presence-penalty", Param::PresencePenalty, -2.0, 2.0)
            .source("openai SDK 3.49: completion_create_params.py"),
        clamp("openai-top-logprobs", Param::TopLogprobs, 0.0, 20.0)
            .source("openai SDK 3.49: completion_create_params.py"),
        row("openai-metadata", Action::Metadata { entries: 16, key: 64, value: 512 })
            .reason("`metadata` holds at most 16 pairs, keys of 64 and values of 512 characters")
            .source("openai SDK 3.49: completion_create_params.py"),
        row("openai-user", Action::Longest { param: Param::User, bytes: 128 })
            .protocol(Protocol::OpenAiResponses)
            .reason("it has at most 128 characters")
            .source("openai SDK 3.49: completion_create_params.py"),
    ]
}

fn google() -> Vec<Restriction> {
    vec![
        row(
            "google-2.5-penalties",
            Action::Drop(vec![Param::FrequencyPenalty, Param::PresencePenalty]),
        )
        .models(["*gemini-2.5*"])
        .protocol(Protocol::Gemini)
        .reason("penalties are not enabled for the model")
        .source("google-genai SDK 3.1: GenerateContentConfig; ai-sdk google"),
        row(
            "google-functions-and-server-tools",
            Action::Field {
                path: "toolConfig.includeServerSideToolInvocations".into(),
                value: true.into(),
            },
        )
        .models(["*gemini-3*", "*gemini-4*", "*gemini-*-latest"])
        .protocol(Protocol::Gemini)
        .when([Condition::Functions, Condition::ServerTools])
        .reason("functions beside the provider's own tools need it")
        .source("google-genai SDK 3.1: ToolConfig; ai-sdk google"),
    ]
}

fn groq() -> Vec<Restriction> {
    vec![
        row(
            "groq-no-tools",
            Action::Drop(vec![Param::Tools, Param::ToolChoice, Param::ParallelToolCalls]),
        )
        .models(["groq/compound*", "compound*", "*llama-guard*"])
        .reason("the model takes no tools")
        .source("recordings groq-err-error-4xx-3159315c, groq-err-error-4xx-8efa7c35"),
        row("groq-compound-images", Action::MediaTypes { kind: MediaKind::Image, types: vec![] })
            .models(["groq/compound*", "compound*"])
            .reason("the model takes text only")
            .source("recording groq-err-error-4xx-image-in-f3749124"),
        row("groq-tools", Action::KeepTools(128))
            .reason("at most 128 tools are taken")
            .source("groq SDK 1.7: completion_create_params.py"),
    ]
}

fn together() -> Vec<Restriction> {
    const SOURCE: &str = "together SDK 3.0; litellm together_ai";
    vec![
        efforts("together-effort", &[], [NoEffort, Low, Medium, High])
            .except(["*deepseek-v4-pro*"])
            .source(SOURCE),
        efforts("together-deepseek-effort", &["*deepseek-v4-pro*"], [NoEffort, High, Max])
            .source(SOURCE),
        clamp("together-top-logprobs", Param::TopLogprobs, 0.0, 20.0).source("together SDK 3.0"),
    ]
}

fn mistral() -> Vec<Restriction> {
    vec![
        // 400, code 3230: "Unexpected role 'user' after role 'tool'".
        row("mistral-user-after-tool", Action::AssistantAfterTool)
            .reason("only the assistant may speak after a tool's result")
            .source("error 3230: avante.nvim#2695, litellm#17761, onyx#6458"),
        row("mistral-schema-keywords", Action::SchemaWithout(vec!["$schema".into(), "$id".into()]))
            .reason("these keywords are not taken")
            .source("ai-sdk mistral 4.0"),
        json_word("mistral-json-word").source("docs.mistral.ai, JSON mode"),
        row("mistral-logprobs", Action::Drop(vec![Param::Logprobs, Param::TopLogprobs]))
            .models(["ministral-3b*"])
            .reason("log probabilities are not enabled for the model")
            .source("recording mistral-err-error-4xx-52d58a4b"),
    ]
}

fn deepseek() -> Vec<Restriction> {
    const FORCED: &str = "recording deepseek-err-error-4xx-8fbbf640";
    vec![
        row("deepseek-forced-call", Action::ThinkingOff)
            .protocol(Protocol::OpenAiChat)
            .when([Condition::ForcedChoice, Condition::ThinkingUnasked])
            .reason("a call can be forced only while the model does not think")
            .source(FORCED),
        row("deepseek-forced-call-and-thinking", Action::ChoiceAuto)
            .protocol(Protocol::OpenAiChat)
            .when([Condition::ForcedChoice, Condition::ThinkingAsked])
            .reason("a call can be forced only while the model does not think")
            .source(FORCED),
        row("deepseek-tools", Action::KeepTools(128))
            .reason("at most 128 tools are taken")
            .source("api-docs.deepseek.com; ai-sdk deepseek 3.0"),
        row("deepseek-strict-tools", Action::LooseTools)
            .when([Condition::BaseUrlOtherThan("/beta".into())])
            .reason("strict functions are taken at the URL that ends in /beta only")
            .source("api-docs.deepseek.com; ai-sdk deepseek 3.0"),
        json_word("deepseek-json-word").source("api-docs.deepseek.com, JSON output"),
        clamp("deepseek-top-logprobs", Param::TopLogprobs, 0.0, 20.0)
            .source("api-docs.deepseek.com"),
        row("deepseek-user", Action::Longest { param: Param::User, bytes: 512 })
            .reason("it has at most 512 characters")
            .source("api-docs.deepseek.com"),
        images("deepseek-images", &["image/png", "image/jpeg", "image/gif", "image/webp"])
            .source("api-docs.deepseek.com"),
    ]
}

fn fireworks() -> Vec<Restriction> {
    vec![
        clamp("fireworks-top-logprobs", Param::TopLogprobs, 0.0, 5.0)
            .source("fireworks-ai SDK 1.2"),
        clamp("fireworks-temperature", Param::Temperature, 0.0, 2.0).source("fireworks-ai SDK 1.2"),
    ]
}

/// The Sonar models of the ended Chat service go on under other names. A model by itself does not search: a preset brings
/// the search with it, or the tool does. Where only a preset is named, the provider chooses the model.
fn perplexity() -> Vec<Restriction> {
    const SOURCE: &str = "perplexityai/api-platform-developers: models-and-presets.md";
    let sonar = |id, models: &[&'static str], preset: Option<&'static str>| {
        let fields =
            preset.map(|preset| ("preset".to_owned(), preset.into())).into_iter().collect();
        let tools = if preset.is_none() { vec!["web_search".into()] } else { Vec::new() };
        row(id, Action::SendAs { model: Some("perplexity/sonar".into()), fields, tools })
            .models(models.to_vec())
            .protocol(Protocol::OpenAiResponses)
            .reason("the model goes on under another name")
            .source(SOURCE)
    };
    let mut rows = vec![
        sonar("perplexity-sonar", &["sonar"], None),
        sonar(
            "perplexity-sonar-pro",
            &["sonar-pro", "sonar-reasoning", "sonar-reasoning-pro"],
            Some("low"),
        ),
        sonar("perplexity-deep-research", &["sonar-deep-research"], Some("medium")),
        row("perplexity-max-tokens", Action::MaxTokens(8_192))
            .models(["anthropic/*"])
            .protocol(Protocol::OpenAiResponses)
            .when([Condition::Unset(Param::MaxTokens)])
            .reason("the provider wants a number for this model")
            .source("perplexityai/api-platform-developers: request-mapping.md"),
        clamp("perplexity-max-tokens-floor", Param::MaxTokens, 16.0, f64::INFINITY)
            .protocol(Protocol::OpenAiResponses)
            .source("perplexityai/api-platform-developers: request-mapping.md"),
        row("perplexity-metadata", Action::Metadata { entries: 16, key: 64, value: 512 })
            .protocol(Protocol::OpenAiResponses)
            .reason("`metadata` holds at most 16 pairs, keys of 64 and values of 512 characters")
            .source("perplexityai/api-platform-developers: request-mapping.md"),
    ];
    for preset in [
        "fast",
        "low",
        "medium",
        "high",
        "xhigh",
        "fast-search",
        "pro-search",
        "deep-research",
        "advanced-deep-research",
    ] {
        let fields = std::iter::once(("preset".to_owned(), preset.into())).collect();
        rows.push(
            row("perplexity-preset", Action::SendAs { model: None, fields, tools: Vec::new() })
                .models([preset])
                .protocol(Protocol::OpenAiResponses)
                .reason("it is the name of a preset")
                .source(SOURCE),
        );
    }
    rows
}

fn ollama() -> Vec<Restriction> {
    vec![
        images("ollama-images", &["image/jpeg", "image/png", "image/webp"])
            .source("ollama/ollama: openai/openai.go"),
    ]
}

fn xai() -> Vec<Restriction> {
    const SOURCE: &str = "ai-sdk xai 5.0; docs.x.ai";
    vec![
        row("xai-no-effort", Action::Drop(vec![Param::ReasoningEffort, Param::Thinking]))
            .models(["grok-4.20*reasoning*"])
            .reason("the model takes no effort")
            .source(SOURCE),
        efforts("xai-effort", &[], [NoEffort, Low, Medium, High])
            .except(["grok-4.6*"])
            .source(SOURCE),
        efforts("xai-grok-4.6-effort", &["grok-4.6*"], [NoEffort, Low, Medium, High, Xhigh])
            .source(SOURCE),
        row(
            "xai-reasoning",
            Action::Drop(vec![Param::FrequencyPenalty, Param::PresencePenalty, Param::Stop]),
        )
        .models(["grok-4*", "grok-3-mini*", "grok-code*", "grok-build*"])
        .except(["*non-reasoning*"])
        .protocol(Protocol::OpenAiChat)
        .reason("the model takes no penalties and no stop sequences")
        .source(SOURCE),
    ]
}
