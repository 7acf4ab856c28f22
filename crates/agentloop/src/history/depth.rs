//! The JSON trees in a request.

use serde_json::{Map, Value};

use crate::chat::{
    AudioPart, ChatMessage, ChatRequest, Citation, CodeExecutionPart, CodeResultPart, ContentPart,
    FilePart, ImagePart, MessageContent, RedactedThinkingPart, ResponseFormat, ServerToolCallPart,
    ServerToolResultPart, TextPart, ThinkingPart, ToolCallPart, ToolChoice, ToolDefinition,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_REQUEST_DEPTH;
use crate::nesting::{dismantle, is_deeper};

/// Calls `$each` with every tree of a part, mutable or not.
macro_rules! trees_of {
    ($part:expr, $each:expr, $iter:ident, $($mut:tt)?) => {
        match $part {
            ContentPart::Text(TextPart { citations, provider_state, .. }) => {
                for citation in citations.$iter() {
                    match citation {
                        Citation::Url(url) => {
                            url.provider_state.$iter().for_each(|state| $each(&$($mut)? state.data));
                        }
                        Citation::File(file) => {
                            file.provider_state.$iter().for_each(|state| $each(&$($mut)? state.data));
                        }
                        Citation::Opaque(opaque) => $each(&$($mut)? opaque.data),
                        _ => {}
                    }
                }
                provider_state.$iter().for_each(|state| $each(&$($mut)? state.data));
            }
            ContentPart::ServerToolCall(ServerToolCallPart {
                arguments: tree,
                provider_state,
                ..
            })
            | ContentPart::ServerToolResult(ServerToolResultPart {
                content: tree,
                provider_state,
                ..
            }) => {
                $each(tree);
                provider_state.$iter().for_each(|state| $each(&$($mut)? state.data));
            }
            ContentPart::ToolCall(ToolCallPart { provider_state, .. })
            | ContentPart::Thinking(ThinkingPart { provider_state, .. })
            | ContentPart::RedactedThinking(RedactedThinkingPart { provider_state, .. })
            | ContentPart::Image(ImagePart { provider_state, .. })
            | ContentPart::Audio(AudioPart { provider_state, .. })
            | ContentPart::GeneratedFile(FilePart { provider_state, .. })
            | ContentPart::CodeExecution(CodeExecutionPart { provider_state, .. })
            | ContentPart::CodeResult(CodeResultPart { provider_state, .. }) => {
                provider_state.$iter().for_each(|state| $each(&$($mut)? state.data));
            }
            ContentPart::Opaque(opaque) => $each(&$($mut)? opaque.data),
            ContentPart::ImageUrl { .. }
            | ContentPart::InputAudio { .. }
            | ContentPart::File { .. }
            | ContentPart::VideoUrl { .. } => {}
        }
    };
}

/// Calls `each` with every tree in the parts of a message.
pub(crate) fn each_tree(message: &mut ChatMessage, each: &mut dyn FnMut(&mut Value)) {
    if let Some(MessageContent::Parts(parts)) = &mut message.content {
        parts.iter_mut().for_each(|part| trees_of!(part, each, iter_mut, mut));
    }
}

/// Returns whether `holds` is true for any tree in the parts of a message.
pub(crate) fn any_tree(message: &ChatMessage, holds: fn(&Value) -> bool) -> bool {
    let mut any = false;
    let mut each = |tree: &Value| any = any || holds(tree);
    message.parts().iter().for_each(|part| trees_of!(part, each, iter,));
    any
}

fn is_too_deep(tree: &Value) -> bool {
    is_deeper(tree, MAX_REQUEST_DEPTH)
}

/// Returns whether fields are nested too deeply. The object itself is one level.
fn are_too_deep(fields: &Map<String, Value>) -> bool {
    fields.values().any(|field| is_deeper(field, MAX_REQUEST_DEPTH - 1))
}

fn too_deep(place: &str) -> Error {
    let message = format!("{place}: JSON is nested deeper than {MAX_REQUEST_DEPTH} levels");
    Error::new(ErrorKind::InvalidRequest, message)
        .with_hint("make it flatter, or send the deeper parts as text")
}

/// Returns the error if a request is nested too deeply to be processed.
pub(crate) fn refusal(request: &ChatRequest) -> Option<Error> {
    for (at, tool) in request.tools.iter().enumerate() {
        let deep = match tool {
            ToolDefinition::Function { function, .. } => {
                let forms = function.client_tool.iter().flat_map(|client| client.forms.values());
                function.parameters.as_ref().is_some_and(is_too_deep)
                    || forms.into_iter().any(are_too_deep)
            }
            ToolDefinition::Server(tool) => {
                tool.values().any(|value| is_deeper(value, MAX_REQUEST_DEPTH - 1))
            }
            ToolDefinition::Provider(fields) => are_too_deep(fields),
        };
        if deep {
            return Some(too_deep(&format!("tools[{at}]")));
        }
    }
    for (at, message) in request.messages.iter().enumerate() {
        if any_tree(message, is_too_deep) {
            return Some(too_deep(&format!("messages[{at}].content")));
        }
    }
    let place = if matches!(&request.tool_choice, Some(ToolChoice::Provider(fields)) if are_too_deep(fields))
    {
        "tool_choice"
    } else if matches!(&request.response_format, Some(ResponseFormat::JsonSchema { json_schema }) if is_too_deep(&json_schema.schema))
    {
        "response_format"
    } else if request.audio.as_ref().is_some_and(|audio| is_too_deep(&audio.voice)) {
        "audio"
    } else if request.metadata.as_ref().is_some_and(are_too_deep) {
        "metadata"
    } else if are_too_deep(&request.extra_body) {
        "extra_body"
    } else if request.provider_options.values().any(are_too_deep) {
        "provider_options"
    } else {
        return None;
    };
    Some(too_deep(place))
}

/// Checks that a request is not nested too deeply. A tree that is too deep is dropped here, because dropping it in the
/// usual way would overflow the stack.
pub(crate) fn check(request: &mut ChatRequest) -> Result<()> {
    let Some(error) = refusal(request) else { return Ok(()) };
    for tool in &mut request.tools {
        match tool {
            ToolDefinition::Function { function, .. } => {
                function.parameters.iter_mut().for_each(level);
                let forms = function.client_tool.iter_mut();
                let forms = forms.flat_map(|client| client.forms.values_mut());
                forms.for_each(|form| form.values_mut().for_each(level));
            }
            ToolDefinition::Server(tool) => tool.values_mut().for_each(level),
            ToolDefinition::Provider(fields) => fields.values_mut().for_each(level),
        }
    }
    request.messages.iter_mut().for_each(|message| each_tree(message, &mut level));
    if let Some(ToolChoice::Provider(fields)) = &mut request.tool_choice {
        fields.values_mut().for_each(level);
    }
    if let Some(ResponseFormat::JsonSchema { json_schema }) = &mut request.response_format {
        level(&mut json_schema.schema);
    }
    request.audio.iter_mut().for_each(|audio| level(&mut audio.voice));
    request.metadata.iter_mut().flat_map(Map::values_mut).for_each(level);
    request.extra_body.values_mut().for_each(level);
    let options = request.provider_options.values_mut();
    options.flat_map(Map::values_mut).for_each(level);
    Err(error)
}

/// Returns the error if fields are nested too deeply.
pub(crate) fn refusal_of_fields(place: &str, fields: &Map<String, Value>) -> Option<Error> {
    are_too_deep(fields).then(|| too_deep(place))
}

/// Checks fields like [`check`].
pub(crate) fn check_fields(place: &str, fields: &mut Map<String, Value>) -> Result<()> {
    let Some(error) = refusal_of_fields(place, fields) else { return Ok(()) };
    fields.values_mut().for_each(level);
    Err(error)
}

/// Checks a schema like [`check`].
#[cfg(feature = "structured")]
pub(crate) fn check_schema(place: &str, schema: &mut Value) -> Result<()> {
    if is_too_deep(schema) {
        level(schema);
        Err(too_deep(place))
    } else {
        Ok(())
    }
}

fn level(tree: &mut Value) {
    if is_deeper(tree, MAX_REQUEST_DEPTH - 1) {
        dismantle(tree.take());
    }
}
