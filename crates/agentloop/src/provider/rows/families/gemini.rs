//! Gemini models, at Google and Vertex AI and wherever their protocol is spoken.
//!
//! Sources, read on 2026-11-15: google-genai SDK 3.1 for Python (`GenerateContentConfig`, `ToolConfig`, `ThinkingConfig`),
//! ai-sdk google 4.0, and the recordings `google-*`.

use crate::chat::Protocol;
use crate::models::{Action, Condition, Restriction};
use crate::provider::Param;
use crate::provider::model::{ModelRule, Sampling, ThinkingControl};

/// Returns what is known of the models. Models whose lowest level is `minimal` can nearly stop thinking; the others have
/// `low` as their lowest.
pub(super) fn models() -> Vec<ModelRule> {
    let rule = |pattern, thinking| ModelRule::new(pattern).with_thinking(thinking);
    // These accept temperature, `top_p` and `top_k`, and ignore them (google-genai SDK 3.1).
    let deaf = |pattern, thinking| rule(pattern, thinking).with_sampling(Sampling::Refused);
    vec![
        rule("*gemini-2.5*", ThinkingControl::Budget),
        rule("*gemini-3*pro*", ThinkingControl::LevelAlways),
        deaf("*gemini-3.5-flash-lite*", ThinkingControl::Level),
        deaf("*gemini-3.6-flash*", ThinkingControl::Level),
        deaf("*gemini-3.7-flash*", ThinkingControl::LevelAlways),
        deaf("*gemini-3.8-flash*", ThinkingControl::LevelAlways),
        rule("*gemini-3*", ThinkingControl::Level),
        deaf("*gemini-4*", ThinkingControl::LevelAlways),
        rule("*gemini-flash-lite-latest", ThinkingControl::Level),
        rule("*gemini-flash-latest", ThinkingControl::LevelAlways),
        rule("*gemini-pro-latest", ThinkingControl::LevelAlways),
    ]
}

/// Returns what the models refuse under Google's protocol.
pub(super) fn restrictions() -> Vec<Restriction> {
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
