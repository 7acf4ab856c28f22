//! Applies the table of [restrictions](crate::provider::Restriction) to a request, before it is encoded.
//!
//! One interpreter serves all protocols: it looks at the request only, never at its encoded form. What can be decided
//! only after the conversation is prepared (the order of messages, the ids of calls) is passed on as
//! [`Order`](super::Order).

mod messages;
mod params;
mod tools;

use std::borrow::Cow;

use crate::chat::{
    ChatRequest, Draft, Effort, OutputStrategy, ResponseFormat, Thinking, ToolChoice, Warning,
    WarningKind,
};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Order;
use crate::provider::{Action, Provider, Restriction, Target};

/// A request as its provider takes it for its model.
#[derive(Debug)]
pub(crate) struct Restricted<'r> {
    pub(crate) request: Draft<'r>,
    /// The name of the model to send; empty sends none.
    pub(crate) model: Cow<'r, str>,
    /// Why JSON is requested in the instructions only, if it is.
    pub(crate) words: Option<String>,
    /// Whether the instructions must name JSON.
    pub(crate) say_json: bool,
    /// The required order of the conversation.
    pub(crate) order: Order,
    pub(crate) warnings: Vec<Warning>,
}

/// Applies every restriction of the model.
///
/// # Errors
///
/// Fails if a part of a message is refused. In strict mode, also fails if a restriction would lose something.
pub(crate) fn apply<'r>(target: &'r Target, request: &'r ChatRequest) -> Result<Restricted<'r>> {
    let Target { provider, model, .. } = target;
    let mut state = Restricted {
        request: Draft::new(request),
        model: Cow::Borrowed(model),
        words: None,
        say_json: false,
        order: Order::default(),
        warnings: Vec::new(),
    };
    for row in target.restrictions() {
        if provider.meets(row, &state.request) && triggers(&row.then, &state.request, provider) {
            state.change(row, provider, model)?;
        }
    }
    Ok(state)
}

/// Returns whether an action has something to do.
fn triggers(action: &Action, request: &ChatRequest, provider: &Provider) -> bool {
    match action {
        Action::Drop(list) => list.iter().any(|param| request.is_set(*param)),
        Action::Clamp { param, min, max } => request.outside(*param, *min, *max).is_some(),
        Action::Longest { param, bytes } => {
            request.text(*param).is_some_and(|text| text.len() > *bytes)
        }
        Action::Metadata { entries, key, value } => request.metadata.as_ref().is_some_and(|map| {
            map.len() > *entries
                || map.iter().any(|(name, text)| !params::fits(name, text, *key, *value))
        }),
        Action::Modalities(known) => {
            request.modalities.iter().any(|kind| !known.iter().any(|known| known == kind))
        }
        Action::Efforts(known) => params::effort_change(request, provider, known).is_some(),
        Action::Effort(level) => request.reasoning_effort != Some(*level),
        Action::ThinkingOff => {
            request.thinking.and_then(|thinking| thinking.enabled) != Some(false)
        }
        Action::MaxTokens(_) => request.max_tokens.is_none(),
        Action::ChoiceAuto => {
            matches!(request.tool_choice, Some(ToolChoice::Required | ToolChoice::Function(_)))
        }
        Action::FormatInWords => match &request.response_format {
            Some(ResponseFormat::JsonObject {}) => true,
            // The arguments of a tool have no format.
            Some(ResponseFormat::JsonSchema { .. }) => {
                request.output_strategy != Some(OutputStrategy::Tool)
            }
            _ => false,
        },
        Action::SayJson => {
            request.response_format == Some(ResponseFormat::JsonObject {})
                && !messages::name_json(request)
        }
        Action::KeepTools(most) => request.tools.len() > *most,
        Action::DropFunctions => request.tools.iter().any(tools::is_function),
        Action::DropServerTools => !request.tools.iter().all(tools::is_function),
        Action::LooseTools => request.tools.iter().any(tools::is_strict),
        Action::SchemaWithout(words) => request.tools.iter().any(|tool| tools::has(tool, words)),
        Action::NoPrefill => messages::is_prefilled(request),
        Action::MediaTypes { kind, types } => messages::any_refused(request, *kind, types),
        Action::Field { path, .. } => !params::has_field(request, path),
        Action::AssistantAfterTool | Action::ShortenIds(_) | Action::SendAs { .. } => true,
        // The protocol was chosen before.
        _ => false,
    }
}

impl Restricted<'_> {
    fn change(&mut self, row: &Restriction, provider: &Provider, model: &str) -> Result<()> {
        match &row.then {
            Action::Drop(list) => {
                for param in list {
                    if self.request.is_set(*param) {
                        self.report(row, WarningKind::Dropped, param.name(), "", model)?;
                        self.request.to_mut().clear(*param);
                    }
                }
            }
            Action::Clamp { param, min, max } => {
                let Some((asked, sent)) = self.request.outside(*param, *min, *max) else {
                    return Ok(());
                };
                let how = format!("{asked} is sent as {sent}");
                self.report(row, WarningKind::Clamped, param.name(), &how, model)?;
                self.request.to_mut().set_number(*param, sent);
            }
            Action::Longest { param, .. } => {
                self.report(row, WarningKind::Dropped, param.name(), "", model)?;
                self.request.to_mut().clear(*param);
            }
            Action::Metadata { entries, key, value } => {
                self.report(row, WarningKind::Dropped, "metadata", "the others are sent", model)?;
                params::trim_metadata(self.request.to_mut(), *entries, *key, *value);
            }
            Action::Modalities(known) => {
                self.report(row, WarningKind::Dropped, "modalities", "the others are sent", model)?;
                let request = self.request.to_mut();
                request.modalities.retain(|kind| known.iter().any(|known| known == kind));
            }
            Action::Efforts(known) => {
                let Some(sent) = params::effort_change(&self.request, provider, known) else {
                    return Ok(());
                };
                self.effort(row, sent, model)?;
            }
            Action::Effort(level) => self.effort(row, *level, model)?,
            Action::ThinkingOff => {
                self.report(row, WarningKind::Converted, "thinking", "switched off", model)?;
                let thinking = self.request.to_mut().thinking.get_or_insert_default();
                *thinking = Thinking { enabled: Some(false), ..*thinking };
            }
            Action::MaxTokens(tokens) => {
                let how = format!("{tokens} is sent");
                self.report(row, WarningKind::Converted, "max_tokens", &how, model)?;
                self.request.to_mut().max_tokens = Some(*tokens);
            }
            Action::ChoiceAuto => {
                self.report(row, WarningKind::Converted, "tool_choice", "sent as `auto`", model)?;
                self.request.to_mut().tool_choice = Some(ToolChoice::Auto);
            }
            Action::FormatInWords => {
                let how = "requested in the instructions";
                self.report(row, WarningKind::Converted, "response_format", how, model)?;
                self.words = Some(row.reason.to_string());
            }
            Action::SayJson => {
                let how = "an instruction is added";
                self.report(row, WarningKind::Converted, "response_format", how, model)?;
                self.say_json = true;
            }
            Action::KeepTools(_)
            | Action::DropFunctions
            | Action::DropServerTools
            | Action::LooseTools
            | Action::SchemaWithout(_) => self.change_tools(row, model)?,
            Action::AssistantAfterTool => self.order.assistant_after_tool = Some(reason(row)),
            Action::ShortenIds(most) => self.order.longest_id = Some((*most, reason(row))),
            Action::NoPrefill => {
                let how = "the model is asked to continue it";
                self.report(row, WarningKind::Converted, "messages", how, model)?;
                messages::ask_to_continue(self.request.to_mut());
            }
            Action::MediaTypes { kind, types } => {
                self.refuse_media(row, provider, *kind, types)?;
            }
            Action::Field { path, value } => {
                let how = format!("sent as {value}");
                self.report(row, WarningKind::Converted, path, &how, model)?;
                params::set_field(self.request.to_mut(), path, value);
            }
            Action::SendAs { model: sent, fields, tools } => {
                self.send_as(row, model, sent.as_deref(), fields, tools)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Sends another effort.
    fn effort(&mut self, row: &Restriction, sent: Effort, model: &str) -> Result<()> {
        let request = &self.request;
        let asked = request.reasoning_effort.map_or("unset", Effort::as_str);
        let how = format!("`{asked}` is sent as `{}`", sent.as_str());
        self.report(row, WarningKind::Clamped, "reasoning_effort", &how, model)?;
        let request = self.request.to_mut();
        request.reasoning_effort = Some(sent);
        // The level already represents that thinking is off.
        if let Some(thinking) = &mut request.thinking
            && thinking.enabled == Some(false)
            && sent != Effort::None
        {
            thinking.enabled = None;
        }
        Ok(())
    }

    fn send_as(
        &mut self,
        row: &Restriction,
        model: &str,
        sent: Option<&str>,
        fields: &serde_json::Map<String, serde_json::Value>,
        tools: &[Cow<'static, str>],
    ) -> Result<()> {
        let mut parts: Vec<String> = sent.map(|sent| format!("`{sent}`")).into_iter().collect();
        parts.extend(fields.iter().map(|(name, value)| format!("{name} {value}")));
        // The full name of the same model is not a change.
        let same = sent.is_some_and(|sent| sent.rsplit('/').next() == Some(model));
        if !same || !fields.is_empty() {
            let how = format!("`{model}` is sent as {}", parts.join(", "));
            self.report(row, WarningKind::Renamed, "model", &how, model)?;
        }
        let own = &self.request.extra_body;
        self.model = match sent {
            Some(sent) => Cow::Owned(sent.to_owned()),
            None if own.contains_key("preset") || !fields.is_empty() => Cow::Borrowed(""),
            None => Cow::Owned(model.to_owned()),
        };
        for (name, value) in fields {
            if !self.request.extra_body.contains_key(name) {
                self.request.to_mut().extra_body.insert(name.clone(), value.clone());
            }
        }
        for kind in tools {
            if !self.request.tools.iter().any(|tool| tools::is_kind(tool, kind)) {
                self.request.to_mut().tools.push(tools::of_kind(kind));
            }
        }
        Ok(())
    }

    /// Warns about a change, or refuses it in strict mode.
    fn report(
        &mut self,
        row: &Restriction,
        kind: WarningKind,
        subject: &str,
        how: &str,
        model: &str,
    ) -> Result<()> {
        let reason = match row.reason.as_ref() {
            "" => Cow::Owned(format!("{model} does not accept it")),
            reason => Cow::Borrowed(reason),
        };
        if self.request.strict && !row.then.is_lossless() {
            return Err(refused(&format!("{subject}: {reason}"), how));
        }
        let rest = if how.is_empty() { String::new() } else { format!(": {how}") };
        let message = format!("{subject}: {reason}{rest}");
        self.warnings.push(Warning::new(kind, subject, message));
        Ok(())
    }
}

/// Returns the reason of a restriction, without allocating for a built-in one.
fn reason(row: &Restriction) -> Cow<'static, str> {
    if row.reason.is_empty() {
        Cow::Borrowed("the provider refuses it")
    } else {
        row.reason.clone()
    }
}

/// Returns the error of strict mode.
fn refused(what: &str, how: &str) -> Error {
    let hint = match how {
        "" => {
            "change the request, or leave `strict` unset to have it changed with a warning".into()
        }
        how => format!("change the request, or leave `strict` unset: {how}, with a warning"),
    };
    Error::new(ErrorKind::Unsupported, what.to_owned()).with_hint(hint)
}

/// Checks, in strict mode, that no parameter was left out or changed by an encoder.
///
/// # Errors
///
/// Fails if the request is `strict` and one of `warnings` is about a parameter that is not sent as requested.
pub(crate) fn check_strict(strict: bool, warnings: &[Warning]) -> Result<()> {
    if !strict {
        return Ok(());
    }
    let lost = |warning: &&Warning| {
        let subject = warning.subject.as_deref().unwrap_or_default();
        matches!(warning.kind, WarningKind::Dropped | WarningKind::Clamped)
            && !subject.starts_with("messages")
            && !subject.starts_with("extra_")
    };
    match warnings.iter().find(lost) {
        None => Ok(()),
        Some(warning) => Err(refused(&warning.message, "")),
    }
}

#[cfg(test)]
mod tests;
