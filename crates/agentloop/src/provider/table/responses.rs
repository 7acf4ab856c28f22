//! Who speaks OpenAI's responses beside chat, and what differs there.
//!
//! What is not listed is as in chat. Hosts that keep answers are told not to; those that show their thoughts openly are
//! not asked for encrypted ones.

use crate::chat::Protocol;
use crate::provider::quirks::{ClientTools, IncludeForm, StoreForm, ToolResultImages, UserLabel};
use crate::provider::{Param, Provider};

/// The least cap of an answer that is taken.
const LEAST_OUTPUT: f64 = 16.0;

/// The row, with its responses.
pub(super) fn beside(row: Provider) -> Provider {
    let there = |row: &Provider| {
        let mut other = Provider { protocol: Protocol::OpenAiResponses, ..row.clone() };
        other.endpoints.clear();
        other
    };
    let other = match row.name.as_ref() {
        "openai" | "azure" => there(&row)
            .quirks(|q| {
                q.tool_result_images = ToolResultImages::Accepted;
                q.user_label = UserLabel::SafetyIdentifier;
                if row.name == "openai" {
                    q.client_tools = ClientTools::Items;
                }
            })
            .clamp(Param::MaxTokens, LEAST_OUTPUT, f64::INFINITY),
        "openrouter" => there(&row),
        // They keep nothing, or do not know the word.
        "groq" | "llamacpp" => there(&row).quirks(|q| {
            q.store = StoreForm::Unsaid;
            q.include = IncludeForm::Refused;
        }),
        "deepseek" | "fireworks" | "huggingface" | "ollama" | "lmstudio" | "vllm" => {
            there(&row).quirks(|q| q.include = IncludeForm::Refused)
        }
        _ => return row,
    };
    row.speaks_as(other)
}
