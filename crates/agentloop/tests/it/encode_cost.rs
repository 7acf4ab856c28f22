//! What encoding allocates: little for each tool, and little more than the body for a long conversation.

use agentloop::inspect;
use agentloop::transport::Transport;
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, Provider, ToolCallPart, ToolDefinition,
};
use serde_json::json;

use crate::support::canned;

/// A function as agents have them: a few parameters of several kinds, one of them with a default.
fn tool(number: usize) -> ToolDefinition {
    let parameters = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Arguments",
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The file, from the root of the project." },
            "from": { "type": ["integer", "null"], "format": "uint32", "minimum": 0, "default": null },
            "lines": { "type": "integer", "minimum": 1, "maximum": 10_000, "default": 100 },
            "mode": { "type": "string", "enum": ["text", "hex", "base64"] },
            "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 8 },
            "filter": { "anyOf": [
                { "type": "object", "properties": { "glob": { "type": "string" } } },
                { "type": "null" }
            ] }
        },
        "required": ["path", "mode"]
    });
    ToolDefinition::function(format!("read_{number}"), parameters)
        .with_description("Reads a part of a file.")
}

/// Allocations per tool, without those that any request needs.
fn per_tool(model: &str, strict: bool) -> f64 {
    const TOOLS: usize = 100;
    let ai = AgentLoop::from_env();
    let count = |tools: usize| {
        let tools = (0..tools).map(|number| tool(number).with_strict(strict));
        let request = ChatRequest::new(model).user("Hello").tools(tools);
        let encode = || drop(inspect::encode(&ai, &request, true).unwrap());
        encode();
        allocation_counter::measure(encode).count_total
    };
    let (one, all) = (count(1), count(TOOLS + 1));
    (all - one) as f64 / TOOLS as f64
}

/// Converting a schema took 277 allocations for each tool at every step.
#[test]
fn a_schema_that_was_converted_before_costs_a_few_allocations() {
    for (model, strict) in [
        ("google/gemini-3-pro-preview", false),
        ("anthropic/claude-opus-4-5", false),
        ("anthropic/claude-opus-4-5", true),
        ("openai/gpt-4.1", false),
    ] {
        let allocations = per_tool(model, strict);
        println!("{model}, strict {strict}: {allocations} allocations per tool");
        // The warnings about what a schema loses are a few lines.
        let most = if strict { 40.0 } else { 8.0 };
        assert!(allocations <= most, "{model}, strict {strict}: {allocations}");
    }
}

/// Answers as a model that has read enough.
fn canned() -> impl Transport + 'static {
    let body = json!({ "candidates": [
        { "content": { "role": "model", "parts": [{ "text": "Long." }] }, "finishReason": "STOP" }
    ] });
    canned::json(body.to_string())
}

/// Text was copied into a value, into JSON, into an object and into the body.
#[test]
fn a_long_result_of_a_tool_is_written_straight_into_the_body() {
    const LENGTH: usize = 10 << 20;
    let provider = Provider::gemini_compatible("lab", "http://lab.invalid").transport(canned());
    let ai = AgentLoop::builder().provider(provider).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let line = "A line of some length, as a file has many of them.\n";
    let text = line.repeat(LENGTH / line.len());
    let compact = serde_json::to_string(&vec![line; LENGTH / line.len()]).unwrap();
    let spaced = compact.replace(',', ", ");
    // One copy is the body; JSON with white space needs another.
    for (what, result, most) in
        [("text", text, 1.2), ("JSON", compact, 1.2), ("JSON with white space", spaced, 2.3)]
    {
        let length = result.len() as f64;
        let call = ContentPart::ToolCall(ToolCallPart::new("a", "read", "{}"));
        let request = ChatRequest::new("lab/m")
            .user("Read it.")
            .message(ChatMessage::assistant(vec![call]))
            .message(ChatMessage::tool("a", result));
        let used =
            allocation_counter::measure(|| drop(runtime.block_on(ai.chat(request)).unwrap()));
        let copies = used.bytes_max as f64 / length;
        println!("{what}: {copies} copies at once, {}", used.bytes_total as f64 / length);
        assert!(copies <= most, "{what}: {copies} copies at once");
    }
}
