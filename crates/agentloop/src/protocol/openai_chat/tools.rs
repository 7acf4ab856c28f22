//! Tools, which of them to call, and how many at once.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::chat::{ChatRequest, ToolChoice};
use crate::error::Result;
use crate::protocol::ToolNames;
use crate::protocol::openai::tools::{Declared, Function, put};
use crate::protocol::params::ParamWriter;
use crate::provider::Provider;

/// Writes the tools, each function in a field of its own.
pub(super) fn tools(
    params: &mut ParamWriter<'_>,
    provider: &Provider,
    request: &ChatRequest,
    names: &ToolNames,
) -> Result<()> {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Wire<'a> {
        Function { r#type: &'static str, function: Function<'a> },
        Provider(Cow<'a, Map<String, Value>>),
    }
    let tool = |declared| match declared {
        Declared::Function(function) => Wire::Function { r#type: "function", function },
        Declared::Provider(fields) => Wire::Provider(fields),
    };
    put(params, provider, request, names, false, tool, |choice| match choice {
        ToolChoice::Function(name) => Cow::Owned(ToolChoice::function(names.sent(name))),
        choice => Cow::Borrowed(choice),
    })
}
