//! Restrictions of model families, wherever they are served under their own names.

use std::sync::LazyLock;

use super::{Action, Condition, Restriction};
use crate::chat::Protocol;
use crate::media::MediaKind;
use crate::provider::Param;

/// The rows, which are made once.
pub(super) fn rows() -> &'static [Restriction] {
    static ROWS: LazyLock<Vec<Restriction>> = LazyLock::new(|| {
        let mut rows = claude();
        rows.extend(gemini());
        rows
    });
    &ROWS
}

/// Claude models, under Anthropic's protocol.
fn claude() -> Vec<Restriction> {
    let row = |id: &'static str, then| Restriction::new(id, then).protocol(Protocol::Anthropic);
    let most = |id: &'static str, models: &[&'static str], max: f64| {
        row(id, Action::Clamp { param: Param::MaxTokens, min: 0.0, max })
            .models(models.iter().copied())
            .reason("the model's responses are not longer")
            .source("Anthropic's model list; litellm")
    };
    vec![
        // litellm#15097, open-webui#17922: 400 "`temperature` and `top_p` cannot both be specified for this model".
        row("claude-temperature-or-top-p", Action::Drop(vec![Param::TopP]))
            .models(["*claude-opus-4-1*", "*claude-*-4-5*", "*claude-*-4-6*"])
            .when([Condition::Set(Param::Temperature)])
            .reason("`temperature` and `top_p` cannot both be set for this model")
            .source("litellm#15097, open-webui#17922"),
        row("claude-prefill", Action::NoPrefill)
            .models([
                "*claude-*-4-6*",
                "*claude-*-4-7*",
                "*claude-*-4-8*",
                "*claude-opus-5*",
                "*claude-sonnet-5*",
                "*claude-haiku-5*",
                "*claude-fable*",
                "*claude-mythos*",
            ])
            .reason("the conversation must not end with a message of the assistant")
            .source("litellm: supports_assistant_prefill is false from 4.6"),
        row(
            "claude-image-types",
            Action::MediaTypes {
                kind: MediaKind::Image,
                types: vec![
                    "image/jpeg".into(),
                    "image/png".into(),
                    "image/gif".into(),
                    "image/webp".into(),
                ],
            },
        )
        .models(["*claude*"])
        .reason("images of other types are refused")
        .source("anthropic SDK 2.8: image source types"),
        most("claude-4-5-output", &["*claude-*-4-5*"], 64_000.0),
        most("claude-opus-4-1-output", &["*claude-opus-4-1*"], 32_000.0),
        most(
            "claude-output",
            &[
                "*claude-*-4-6*",
                "*claude-*-4-7*",
                "*claude-*-4-8*",
                "*claude-opus-5*",
                "*claude-sonnet-5*",
                "*claude-haiku-5*",
                "*claude-fable*",
                "*claude-mythos*",
            ],
            128_000.0,
        ),
    ]
}

/// Gemini models, under Google's protocol.
fn gemini() -> Vec<Restriction> {
    const OLD: [&str; 3] = ["*gemini-1*", "*gemini-2*", "*learnlm*"];
    const NEW: [&str; 3] = ["*gemini-3*", "*gemini-4*", "*gemini-*-latest"];
    let row = |id: &'static str, then| Restriction::new(id, then).protocol(Protocol::Gemini);
    vec![
        row("gemini-2-functions-and-format", Action::FormatInWords)
            .models(OLD)
            .when([Condition::Functions, Condition::Format])
            .reason("the model takes no JSON format beside functions")
            .source("google-genai SDK 3.1: ToolConfig; ai-sdk google"),
        row("gemini-forced-call-and-format", Action::FormatInWords)
            .models(NEW)
            .when([Condition::Functions, Condition::Format, Condition::ForcedChoice])
            .reason("the model takes a JSON format beside functions only while no call is forced")
            .source("google-genai SDK 3.1: ToolConfig; ai-sdk google"),
        row("gemini-2-functions-and-server-tools", Action::DropServerTools)
            .models(OLD)
            .when([Condition::Functions, Condition::ServerTools])
            .reason("the model takes either functions or the provider's own tools")
            .source("google-genai SDK 3.1: ToolConfig; ai-sdk google"),
        row("gemini-image-format", Action::FormatInWords)
            .models(["*gemini-*-image*"])
            .when([Condition::Format])
            .reason("JSON mode is not enabled for the model")
            .source("recording google-err-error-4xx-structured-output-77af7ab8"),
        row("gemini-logprobs", Action::Drop(vec![Param::Logprobs, Param::TopLogprobs]))
            .models(["*gemini-flash-latest"])
            .reason("log probabilities are not enabled for the model")
            .source("recording google-err-error-4xx-4c9f32f7"),
        row("gemini-temperature", Action::Clamp { param: Param::Temperature, min: 0.0, max: 2.0 })
            .reason("it is outside of the range")
            .source("google-genai SDK 3.1: GenerateContentConfig; ai-sdk google"),
    ]
}
