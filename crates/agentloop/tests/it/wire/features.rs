//! The features of a request.

use serde_json::{Value, json};

/// A feature of a request.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// Whether it means something only beside tools.
    pub(crate) with_tools: bool,
    /// The fields of the request, as JSON.
    fields: &'static str,
}

impl Feature {
    const fn new(name: &'static str, fields: &'static str) -> Self {
        Self { name, with_tools: false, fields }
    }

    const fn with_tools(name: &'static str, fields: &'static str) -> Self {
        Self { name, with_tools: true, fields }
    }

    /// The request that it is compared with.
    pub(crate) fn beside(&self) -> Value {
        if self.with_tools { json!({ "tools": tools() }) } else { json!({}) }
    }

    /// The fields to add.
    pub(crate) fn asked(&self) -> Value {
        let mut fields: Value = serde_json::from_str(self.fields).unwrap();
        if self.with_tools {
            fields["tools"] = tools();
        }
        fields
    }
}

fn tools() -> Value {
    json!([{ "type": "function", "function": {
        "name": "look", "description": "Looks.", "parameters": { "type": "object", "properties": {} },
    } }])
}

pub(crate) const FEATURES: &[Feature] = &[
    Feature::new("temperature", r#"{"temperature":0.5}"#),
    Feature::new("top_p", r#"{"top_p":0.9}"#),
    Feature::new("top_k", r#"{"top_k":40}"#),
    Feature::new("max_tokens", r#"{"max_tokens":100}"#),
    Feature::new("stop", r#"{"stop":["END"]}"#),
    Feature::new("seed", r#"{"seed":7}"#),
    Feature::new("frequency_penalty", r#"{"frequency_penalty":0.1}"#),
    Feature::new("presence_penalty", r#"{"presence_penalty":0.1}"#),
    Feature::new("logit_bias", r#"{"logit_bias":{"7":-100}}"#),
    Feature::new("n", r#"{"n":2}"#),
    Feature::new("logprobs", r#"{"logprobs":true,"top_logprobs":3}"#),
    Feature::new("JSON mode", r#"{"response_format":{"type":"json_object"}}"#),
    Feature::new(
        "schema",
        r#"{"response_format":{"type":"json_schema","json_schema":{"name":"r","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}}"#,
    ),
    Feature::new(
        "schema of a list",
        r#"{"response_format":{"type":"json_schema","json_schema":{"name":"r","strict":true,"schema":{"type":"array","items":{"type":"string"}}}}}"#,
    ),
    Feature::new(
        "schema by a tool",
        r#"{"output_strategy":"tool","response_format":{"type":"json_schema","json_schema":{"name":"r","schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}"#,
    ),
    Feature::new(
        "schema in words",
        r#"{"output_strategy":"prompt","response_format":{"type":"json_schema","json_schema":{"name":"r","schema":{"type":"object"}}}}"#,
    ),
    Feature::new(
        "tools",
        r#"{"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}}]}"#,
    ),
    Feature::with_tools("tool_choice required", r#"{"tool_choice":"required"}"#),
    Feature::with_tools(
        "tool_choice named",
        r#"{"tool_choice":{"type":"function","function":{"name":"look"}}}"#,
    ),
    Feature::with_tools("one call at a time", r#"{"parallel_tool_calls":false}"#),
    Feature::new("web search", r#"{"tools":[{"type":"web_search"}]}"#),
    Feature::new("web fetch", r#"{"tools":[{"type":"web_fetch"}]}"#),
    Feature::new("code execution", r#"{"tools":[{"type":"code_execution"}]}"#),
    Feature::new(
        "file search",
        r#"{"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]}"#,
    ),
    Feature::new("effort low", r#"{"reasoning_effort":"low"}"#),
    Feature::new("effort none", r#"{"reasoning_effort":"none"}"#),
    Feature::new("thinking on", r#"{"thinking":{"enabled":true}}"#),
    Feature::new("thinking off", r#"{"thinking":{"enabled":false}}"#),
    Feature::new("thinking budget", r#"{"thinking":{"budget_tokens":2048}}"#),
    Feature::new("thoughts hidden", r#"{"thinking":{"include":false}}"#),
    Feature::new("verbosity", r#"{"verbosity":"low"}"#),
    Feature::new("service_tier", r#"{"service_tier":"auto"}"#),
    Feature::new("prompt_cache_key", r#"{"prompt_cache_key":"k"}"#),
    Feature::new(
        "cache marker",
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}]}"#,
    ),
    Feature::new("user", r#"{"user":"u1"}"#),
    Feature::new("metadata", r#"{"metadata":{"team":"a"}}"#),
    Feature::new(
        "audio out",
        r#"{"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"}}"#,
    ),
    Feature::new(
        "image settings",
        r#"{"modalities":["text","image"],"image":{"aspect_ratio":"16:9"}}"#,
    ),
    Feature::new("images out", r#"{"modalities":["text","image"]}"#),
    Feature::new(
        "image by URL",
        r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}"#,
    ),
    Feature::new(
        "image as data",
        r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]}"#,
    ),
    Feature::new(
        "PDF as data",
        r#"{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}]}]}"#,
    ),
    Feature::new(
        "PDF by URL",
        r#"{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_url":"https://example.com/a.pdf"}}]}]}"#,
    ),
    Feature::new(
        "file by id",
        r#"{"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1","mime_type":"application/pdf"}}]}]}"#,
    ),
    Feature::new(
        "sound",
        r#"{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]}]}"#,
    ),
    Feature::new(
        "audio by URL",
        r#"{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"url":"https://example.com/a.mp3"}}]}]}"#,
    ),
    Feature::new(
        "video by URL",
        r#"{"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://example.com/a.mp4"}}]}]}"#,
    ),
    Feature::new("extra_body", r#"{"extra_body":{"own_field":1}}"#),
];
