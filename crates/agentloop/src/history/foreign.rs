//! Removes parts that one provider made and another cannot read.

use std::borrow::Cow;

use serde_json::Value;

use super::Entry;
use crate::chat::{
    ChatMessage, CodeExecutionPart, CodeOutcome, CodeResultPart, ContentPart, MessageContent,
    ProviderState, Role, Warning, WarningKind,
};
use crate::protocol::{Rules, StateForm, is_item, is_step};

/// What happens to a part.
enum Fate {
    Stays,
    /// It is kept without the state of another provider, which it does not need.
    Stripped,
    /// It is text, and loses its citations.
    Uncited,
    Text(String),
    Goes,
}

/// Removes the parts of a message that another provider made, or that the target made in another protocol. Returns
/// `None` if nothing remains.
pub(super) fn degrade<'a>(
    mut entry: Entry<'a>,
    rules: &Rules<'_>,
    warnings: &mut Vec<Warning>,
) -> Option<Entry<'a>> {
    let provider = rules.provider.name.as_ref();
    let fates: Vec<Fate> =
        entry.message.parts().iter().map(|part| fate(part, &entry.message, rules)).collect();
    if fates.iter().all(|fate| matches!(fate, Fate::Stays)) {
        return Some(entry);
    }
    let at = entry.at;
    let from = entry.message.origin.as_ref().map(|origin| origin.provider.clone());
    let message = entry.message.to_mut();
    let Some(MessageContent::Parts(parts)) = &mut message.content else { return Some(entry) };
    let (mut kept, mut cited, mut gone) = (Vec::with_capacity(parts.len()), false, false);
    for (number, (mut part, fate)) in std::mem::take(parts).into_iter().zip(fates).enumerate() {
        let subject = format!("messages[{at}].content[{number}]");
        let maker = owner(&part, from.as_deref()).unwrap_or("another provider").to_owned();
        match fate {
            Fate::Stays => {}
            Fate::Stripped => strip(&mut part),
            Fate::Uncited => {
                strip(&mut part);
                if let ContentPart::Text(text) = &mut part {
                    text.citations = Vec::new();
                }
                cited = true;
            }
            Fate::Text(text) => {
                let why = format!("{subject}: the `{}` of {maker} is sent as text", part.kind());
                warnings.push(Warning::new(WarningKind::Converted, subject, why));
                part = ContentPart::text(text);
            }
            Fate::Goes => {
                let why = format!(
                    "{subject}: the `{}` of {maker} is not sent to {provider}",
                    part.kind()
                );
                warnings.push(Warning::new(WarningKind::Dropped, subject, why));
                gone = true;
                continue;
            }
        }
        kept.push(part);
    }
    if cited {
        let subject = format!("messages[{at}].content");
        let why = format!("{subject}: citations of another provider are not sent to {provider}");
        warnings.push(Warning::new(WarningKind::Dropped, subject, why));
    }
    let blank = |part: &ContentPart| matches!(part, ContentPart::Text(text) if text.text.trim().is_empty() && text.provider_state.is_none());
    let empty = gone && kept.iter().all(blank);
    message.content = Some(MessageContent::Parts(kept));
    (!empty).then_some(entry)
}

/// Returns the provider that made a part, if that is known from its state or its message.
fn owner<'a>(part: &'a ContentPart, from: Option<&'a str>) -> Option<&'a str> {
    let own = match part {
        ContentPart::Opaque(part) => Some(part.provider.as_str()).filter(|name| !name.is_empty()),
        part => state(part).map(|state| state.provider.as_str()),
    };
    own.or(from)
}

/// Returns the model that made a part, if that is known.
fn maker<'a>(part: &'a ContentPart, message: &'a ChatMessage) -> Option<&'a str> {
    let own = state(part).and_then(|state| state.model.as_deref());
    own.or_else(|| message.origin.as_ref().map(|origin| origin.model.as_str()))
        .filter(|model| !model.is_empty())
}

fn fate(part: &ContentPart, message: &ChatMessage, rules: &Rules<'_>) -> Fate {
    let from = message.origin.as_ref().map(|origin| origin.provider.as_str());
    let answer = message.role == Role::Assistant;
    let own = match owner(part, from) {
        Some(owner) => owner == rules.provider.name,
        // Parts that only their provider understands count as foreign if the provider is not known. Thinking without a
        // signature is plain text, which every provider that takes thinking as text understands.
        None => match part {
            ContentPart::Thinking(part) => rules.thinking_as_text && part.signature.is_none(),
            ContentPart::RedactedThinking(_)
            | ContentPart::CodeExecution(_)
            | ContentPart::CodeResult(_)
            | ContentPart::ServerToolCall(_)
            | ContentPart::ServerToolResult(_)
            | ContentPart::Opaque(_) => false,
            _ => true,
        },
    };
    if own {
        return match part {
            ContentPart::Thinking(_) | ContentPart::RedactedThinking(_)
                if maker(part, message)
                    .is_some_and(|maker| !rules.provider.takes_signatures(rules.model, maker)) =>
            {
                Fate::Goes
            }
            ContentPart::Opaque(opaque) if is_of_other_form(&opaque.data, rules.state) => {
                Fate::Goes
            }
            // The signature of a step means nothing without the step.
            ContentPart::Thinking(_)
                if rules.state != StateForm::Steps
                    && state(part).is_some_and(|state| is_step(&state.data)) =>
            {
                Fate::Goes
            }
            // A call of a tool without a schema exists in two protocols.
            part if state(part).is_some_and(|state| {
                is_of_other_form(&state.data, rules.state)
                    && state.data["type"] != "custom_tool_call"
            }) =>
            {
                Fate::Stripped
            }
            _ => Fate::Stays,
        };
    }
    match part {
        ContentPart::Thinking(_)
        | ContentPart::RedactedThinking(_)
        | ContentPart::ServerToolCall(_)
        | ContentPart::ServerToolResult(_)
        | ContentPart::Opaque(_)
            if answer =>
        {
            Fate::Goes
        }
        ContentPart::CodeExecution(code) if answer => Fate::Text(code_text(code)),
        ContentPart::CodeResult(result) if answer => Fate::Text(result_text(result)),
        ContentPart::Text(text) if answer && !text.citations.is_empty() => Fate::Uncited,
        part if state(part).is_some() => Fate::Stripped,
        _ => Fate::Stays,
    }
}

/// Returns whether state is an item or a step that means nothing in the protocol of the target.
fn is_of_other_form(data: &Value, form: StateForm) -> bool {
    match form {
        StateForm::Fields => is_item(data) || is_step(data),
        StateForm::Items => is_step(data),
        StateForm::Steps => is_item(data),
    }
}

/// Calls `$body` with `$part` bound to the contents of the part, for the kinds that carry state.
macro_rules! each_with_state {
    ($of:expr, $part:ident => $body:expr, $other:expr) => {
        match $of {
            ContentPart::Text($part) => $body,
            ContentPart::ToolCall($part) => $body,
            ContentPart::Thinking($part) => $body,
            ContentPart::RedactedThinking($part) => $body,
            ContentPart::Image($part) => $body,
            ContentPart::Audio($part) => $body,
            ContentPart::GeneratedFile($part) => $body,
            ContentPart::CodeExecution($part) => $body,
            ContentPart::CodeResult($part) => $body,
            ContentPart::ServerToolCall($part) => $body,
            ContentPart::ServerToolResult($part) => $body,
            _ => $other,
        }
    };
}

fn state(part: &ContentPart) -> Option<&ProviderState> {
    each_with_state!(part, part => part.provider_state.as_deref(), None)
}

fn strip(part: &mut ContentPart) {
    each_with_state!(part, part => part.provider_state = None, ());
}

fn code_text(code: &CodeExecutionPart) -> String {
    fenced(&code.language, &code.code)
}

fn result_text(result: &CodeResultPart) -> String {
    let ended = match result.outcome {
        CodeOutcome::Error => "It failed:\n",
        CodeOutcome::Timeout => "It took too long:\n",
        _ => "",
    };
    let stderr = result.stderr.as_deref().filter(|text| !text.is_empty());
    let printed = match stderr {
        Some(stderr) if result.output.is_empty() => Cow::Borrowed(stderr),
        Some(stderr) => Cow::Owned(format!("{}\n{stderr}", result.output)),
        None => Cow::Borrowed(result.output.as_str()),
    };
    format!("{ended}{}", fenced("", &printed))
}

/// Puts code on its own lines between fences, which are longer than any run of backticks inside.
fn fenced(language: &str, code: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for byte in code.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    format!("\n{fence}{language}\n{}\n{fence}\n", code.trim_end_matches('\n'))
}
