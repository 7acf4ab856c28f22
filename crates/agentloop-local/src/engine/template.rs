//! Converts a conversation to tokens, with the chat template of the model.

use agentloop::{Error, ErrorKind, Result};
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;

use crate::prompt::Message;

/// The template of models that have none, or one that the engine does not know.
const FALLBACK: &str = "chatml";

/// The tokens of a conversation, and what was assumed.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) tokens: Vec<LlamaToken>,
    pub(super) warnings: Vec<String>,
}

/// Applies the template of the model.
pub(super) fn tokenize(model: &LlamaModel, messages: &[Message]) -> Result<Prompt> {
    let mut warnings = Vec::new();
    let fallback = || LlamaChatTemplate::new(FALLBACK).map_err(|error| refuse(&error));
    let mut template = match model.chat_template(None) {
        Ok(template) => template,
        Err(_) => {
            warnings.push(format!("the model file has no chat template, so {FALLBACK} is used"));
            fallback()?
        }
    };
    // The engine recognizes the templates of known models; it does not interpret Jinja.
    let probe = [chat_message("user", "x")?];
    if model.apply_chat_template(&template, &probe, true).is_err() {
        warnings.push(format!(
            "the engine does not know the chat template of the model file, so {FALLBACK} is used"
        ));
        template = fallback()?;
    }
    let is_plain = messages.iter().all(|message| !has_special(model, &message.text));
    let tokens = match is_plain {
        true => {
            let chat: Vec<LlamaChatMessage> = messages
                .iter()
                .map(|message| chat_message(message.role, &message.text))
                .collect::<Result<_>>()?;
            let text = model.apply_chat_template(&template, &chat, true);
            let text = text.map_err(|error| refuse(&error))?;
            model.vocab().tokenize(text.as_bytes(), true, true)
        }
        false => tokenize_parts(model, &template, messages)?,
    };
    Ok(Prompt { tokens: without_end(model, tokens), warnings })
}

/// Returns whether a text contains the text of a special token, such as the end of a message.
fn has_special(model: &LlamaModel, text: &str) -> bool {
    // Special tokens of all known models contain one of these characters.
    if !text.contains(['<', '[', '|']) {
        return false;
    }
    let vocab = model.vocab();
    let tokens = vocab.tokenize(text.as_bytes(), false, true);
    tokens.into_iter().any(|token| vocab.is_control(token) || vocab.is_eog(token))
}

/// Converts the texts of the messages apart from the template, so that a special token in a message is read as plain text. Otherwise a
/// user could end their message and write one of the system or the assistant.
fn tokenize_parts(
    model: &LlamaModel,
    template: &LlamaChatTemplate,
    messages: &[Message],
) -> Result<Vec<LlamaToken>> {
    let marker = |index: usize| format!("\u{e000}{index}\u{e001}");
    let chat: Vec<LlamaChatMessage> = messages
        .iter()
        .enumerate()
        .map(|(index, message)| chat_message(message.role, &marker(index)))
        .collect::<Result<_>>()?;
    let text = model.apply_chat_template(template, &chat, true).map_err(|error| refuse(&error))?;
    let vocab = model.vocab();
    let mut tokens = Vec::new();
    let mut is_first = true;
    for piece in text.split('\u{e000}') {
        let (content, rest) = match piece.split_once('\u{e001}') {
            Some((index, rest)) => {
                let index = index.parse::<usize>().ok();
                (index.and_then(|index| messages.get(index)), rest)
            }
            None => (None, piece),
        };
        if let Some(content) = content {
            vocab.tokenize_into(content.text.as_bytes(), &mut tokens, false, false);
        }
        if is_first || !rest.is_empty() {
            vocab.tokenize_into(rest.as_bytes(), &mut tokens, is_first, true);
        }
        is_first = false;
    }
    Ok(tokens)
}

/// Removes the token that some vocabularies add at the end of a text.
fn without_end(model: &LlamaModel, mut tokens: Vec<LlamaToken>) -> Vec<LlamaToken> {
    let vocab = model.vocab();
    if vocab.should_add_eos() && tokens.last() == Some(&vocab.eos()) {
        tokens.pop();
    }
    tokens
}

fn chat_message(role: &str, text: &str) -> Result<LlamaChatMessage> {
    LlamaChatMessage::new(role.to_owned(), text.to_owned()).map_err(|error| refuse(&error))
}

fn refuse(error: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::InvalidRequest,
        format!(
            "the conversation cannot be converted with the chat template of the model: {error}"
        ),
    )
}
