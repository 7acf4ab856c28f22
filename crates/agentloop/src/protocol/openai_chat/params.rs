//! Where the parameters are in a request.

use crate::chat::Param;
use crate::protocol::params::Place;
use crate::provider::quirks::{ImageOutputForm, Quirks, ThinkingForm, TokenCap};

/// Returns where the protocol has a parameter.
pub(in crate::protocol) fn place(quirks: &Quirks, param: Param) -> Place {
    Place::At(match (param, quirks.thinking) {
        (Param::MaxTokens, _) => match quirks.token_cap {
            TokenCap::MaxTokens => "max_tokens",
            TokenCap::MaxCompletionTokens => "max_completion_tokens",
        },
        (Param::Image, _) => match quirks.image_output {
            ImageOutputForm::Refused => return Place::Nowhere,
            ImageOutputForm::ImageConfig => "image_config",
        },
        (Param::ReasoningEffort, ThinkingForm::ReasoningObject) => "reasoning.effort",
        (Param::Thinking, ThinkingForm::EffortOnly) => "reasoning_effort",
        (Param::Thinking, ThinkingForm::ReasoningEnabled | ThinkingForm::ReasoningObject) => {
            "reasoning"
        }
        (Param::Thinking, ThinkingForm::TemplateArgument) => "chat_template_kwargs",
        (Param::Thinking, ThinkingForm::ReasoningFormat) => "reasoning_format",
        _ => param.name(),
    })
}
