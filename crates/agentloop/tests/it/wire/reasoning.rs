//! One control of thinking, and what each kind of model gets for it.

use crate::wire::{change, client};
use serde_json::json;

const MODELS: &[&str] = &[
    "openai/gpt-4.1",
    "openai/o3",
    "openai/gpt-5",
    "openai/gpt-5.2",
    "anthropic/claude-3-5-haiku",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-4-6",
    "anthropic/claude-opus-4-7",
    "anthropic/claude-opus-5",
    "anthropic/claude-opus-5-5",
    "google/gemini-2.5-flash",
    "google/gemini-2.5-pro",
    "google/gemini-3-pro-preview",
    "google/gemini-3.6-flash",
    "deepseek/deepseek-flash",
    "groq/openai/gpt-oss-120b",
    "mistral/magistral-medium-latest",
    "xai/grok-4",
    "openrouter/anthropic/claude-opus-5",
    "ollama/qwen3",
    "cohere/command-a-reasoning",
];

#[test]
fn one_control_reaches_each_kind_of_model() {
    let ai = client();
    let mut table = String::new();
    for model in MODELS {
        table.push_str(model);
        table.push('\n');
        for (name, asked) in [
            ("effort none", json!({ "reasoning_effort": "none" })),
            ("effort minimal", json!({ "reasoning_effort": "minimal" })),
            ("effort medium", json!({ "reasoning_effort": "medium" })),
            ("effort max", json!({ "reasoning_effort": "max" })),
            ("budget 4000", json!({ "thinking": { "budget_tokens": 4000 } })),
            ("off", json!({ "thinking": { "enabled": false } })),
            ("thoughts wanted", json!({ "thinking": { "include": true } })),
            ("thoughts hidden", json!({ "thinking": { "include": false } })),
        ] {
            let change = change(&ai, model, &json!({}), &asked);
            table.push_str(&if change.is_silent() {
                format!("  {name:<22}(nothing to change)\n")
            } else {
                change.table_lines(name)
            });
        }
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("reasoning", table);
    });
}
