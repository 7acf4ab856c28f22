//! Converts a conversation to tokens, with the chat template of the model.

use agentloop::{Error, ErrorKind, Result};
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;
use serde_json::{Value, json};

use crate::gguf::Head;
use crate::jinja::{Abilities, Guard, Input, Template, with_parts};
use crate::prompt::{Conversation, Message};

/// The template of models that have none, or one that cannot be applied.
const FALLBACK: &str = "chatml";

/// The tokens of a conversation, and what was assumed.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) tokens: Vec<LlamaToken>,
    pub(super) warnings: Vec<String>,
}

/// The chat templates of a model.
#[derive(Debug)]
pub(super) struct Templates {
    /// The template of the file, or why it cannot be applied. Absent if the file has none.
    main: Option<std::result::Result<Usable, String>>,
    /// The template for conversations with tools, if the file has another one for them.
    tools: Option<Usable>,
    bos: String,
    eos: String,
}

/// A template that can be applied.
#[derive(Debug)]
struct Usable {
    template: Template,
    abilities: Abilities,
}

impl Usable {
    fn new(source: &str, bos: &str, eos: &str) -> std::result::Result<Self, String> {
        let template = Template::compile(source)?;
        let abilities = Abilities::of(&template, bos, eos)?;
        Ok(Self { template, abilities })
    }
}

impl Templates {
    /// Reads the templates of a model file.
    pub(super) fn new(model: &LlamaModel, head: &Head) -> Self {
        let vocab = model.vocab();
        let text = |token: LlamaToken| match token.0 < 0 {
            true => String::new(),
            false => String::from_utf8_lossy(&vocab.token_to_piece(token, true, None)).into_owned(),
        };
        let (bos, eos) = (text(vocab.bos()), text(vocab.eos()));
        let usable = |source: &String| Usable::new(source, &bos, &eos);
        let main = head.template.as_ref().map(usable);
        // One that cannot be applied, or writes calls in another form, is not used.
        let tools = head.tool_template.as_ref().and_then(|source| usable(source).ok());
        let tools = tools.filter(|usable| usable.abilities.has_tools);
        Self { main, tools, bos, eos }
    }

    /// Converts a conversation.
    pub(super) fn tokenize(
        &self,
        model: &LlamaModel,
        conversation: &Conversation,
    ) -> Result<Prompt> {
        let mut warnings = Vec::new();
        let find = |text: &str| special_texts(model, text);
        let mut guard = Guard::new(&find);
        let tokens = match self.render(conversation, &mut guard, &mut warnings) {
            Some(text) => tokenize_guarded(model, &guard, self.without_start(model, &text)),
            None => {
                let messages: Vec<Value> = conversation.messages.iter().map(plain).collect();
                let messages: Vec<Value> = messages.iter().map(|it| guard.value(it)).collect();
                let text = self.apply_known(model, &messages, &mut warnings)?;
                tokenize_guarded(model, &guard, &text)
            }
        };
        Ok(Prompt { tokens: without_end(model, tokens), warnings })
    }

    /// Applies the template of the file. Returns nothing if it cannot be applied.
    fn render(
        &self,
        conversation: &Conversation,
        guard: &mut Guard<'_>,
        warnings: &mut Vec<String>,
    ) -> Option<String> {
        let main = self.main.as_ref().and_then(|main| main.as_ref().ok());
        let for_tools = self.tools.as_ref().or(main.filter(|main| main.abilities.has_tools));
        if let (Some(usable), Some(structured)) = (for_tools, &conversation.structured) {
            let mut notes = Vec::new();
            match self.apply(usable, &structured.messages, &structured.tools, guard, &mut notes) {
                Ok(text) => {
                    warnings.extend(notes);
                    return Some(text);
                }
                Err(why) => warnings.push(format!(
                    "the chat template of the model file cannot show the tools, so the system prompt describes them: {why}"
                )),
            }
        }
        let messages: Vec<Value> = conversation.messages.iter().map(plain).collect();
        let why = match self.main.as_ref()? {
            Ok(usable) => match self.apply(usable, &messages, &[], guard, warnings) {
                Ok(text) => return Some(text),
                Err(why) => why,
            },
            Err(why) => why.clone(),
        };
        warnings.push(format!("the chat template of the model file cannot be applied: {why}"));
        None
    }

    fn apply(
        &self,
        usable: &Usable,
        messages: &[Value],
        tools: &[Value],
        guard: &mut Guard<'_>,
        warnings: &mut Vec<String>,
    ) -> std::result::Result<String, String> {
        let mut messages: Vec<Value> =
            messages.iter().map(|message| guard.value(message)).collect();
        let tools: Vec<Value> = tools.iter().map(|tool| guard.value(tool)).collect();
        if !usable.abilities.has_system && merge_system(&mut messages) {
            warnings.push(
                "the chat template of the model file has no system prompt, so it is written before the first message"
                    .to_owned(),
            );
        }
        if usable.abilities.has_parts {
            messages = messages.into_iter().map(with_parts).collect();
        }
        let (bos, eos) = (&*self.bos, &*self.eos);
        usable.template.render(Input { messages: &messages, tools: &tools, bos, eos })
    }

    /// Returns what the template wrote without the token that begins a prompt, if the vocabulary adds it.
    fn without_start<'a>(&self, model: &LlamaModel, text: &'a str) -> &'a str {
        match model.vocab().should_add_bos() && !self.bos.is_empty() {
            true => text.strip_prefix(&*self.bos).unwrap_or(text),
            false => text,
        }
    }

    /// Applies the template that the engine recognizes in that of the file, else [`FALLBACK`].
    fn apply_known(
        &self,
        model: &LlamaModel,
        messages: &[Value],
        warnings: &mut Vec<String>,
    ) -> Result<String> {
        let fallback = || LlamaChatTemplate::new(FALLBACK).map_err(|error| refuse(&error));
        let mut template = match model.chat_template(None) {
            Ok(template) => template,
            Err(_) => {
                warnings
                    .push(format!("the model file has no chat template, so {FALLBACK} is used"));
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
        let chat: Vec<LlamaChatMessage> = messages
            .iter()
            .map(|message| {
                let field = |name: &str| message[name].as_str().unwrap_or_default();
                chat_message(field("role"), field("content"))
            })
            .collect::<Result<_>>()?;
        model.apply_chat_template(&template, &chat, true).map_err(|error| refuse(&error))
    }
}

fn plain(message: &Message) -> Value {
    json!({ "role": message.role, "content": message.text })
}

/// Writes the system prompt before the first message. Returns whether there is one.
fn merge_system(messages: &mut Vec<Value>) -> bool {
    if messages.first().is_none_or(|first| first["role"] != "system") {
        return false;
    }
    let system = messages.remove(0);
    let system = system["content"].as_str().unwrap_or_default();
    match messages.first_mut().filter(|first| first["role"] == "user") {
        Some(first) => {
            let text = format!("{system}\n\n{}", first["content"].as_str().unwrap_or_default());
            first["content"] = json!(text);
        }
        None => messages.insert(0, json!({ "role": "user", "content": system })),
    }
    true
}

/// Returns the texts of the special tokens in a text, such as the end of a message.
fn special_texts(model: &LlamaModel, text: &str) -> Vec<String> {
    // Special tokens of all known models contain one of these characters.
    if !text.contains(['<', '[', '|']) {
        return Vec::new();
    }
    let vocab = model.vocab();
    let mut tokens = vocab.tokenize(text.as_bytes(), false, true);
    tokens.retain(|token| vocab.is_control(*token) || vocab.is_eog(*token));
    tokens.sort_unstable();
    tokens.dedup();
    let text =
        |token| String::from_utf8_lossy(&vocab.token_to_piece(token, true, None)).into_owned();
    tokens.into_iter().map(text).collect()
}

/// Converts what a template wrote. Only its own texts contain special tokens.
fn tokenize_guarded(model: &LlamaModel, guard: &Guard<'_>, text: &str) -> Vec<LlamaToken> {
    let vocab = model.vocab();
    let mut tokens = Vec::new();
    let mut is_first = true;
    for (piece, is_plain) in guard.split(text) {
        vocab.tokenize_into(piece.as_bytes(), &mut tokens, is_first, !is_plain);
        is_first = false;
    }
    tokens
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
