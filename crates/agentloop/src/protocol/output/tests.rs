use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::chat::{Effort, OutputStrategy};
use crate::provider::ModelRule;

fn schema() -> Value {
    json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] })
}

fn asking(schema: Value) -> ChatRequest {
    let mut request = ChatRequest::new("m").user("u");
    request.response_format = Some(ResponseFormat::json_schema("city report", schema));
    request
}

fn unschooled(provider: Provider) -> Provider {
    provider.model(ModelRule::new("m").with_json_schema(NativeSchema::No))
}

fn anthropic() -> Provider {
    Provider::anthropic_compatible("lab", "http://lab.invalid")
}

fn target(provider: Provider) -> Target {
    Target::new(Arc::new(provider), "m")
}

fn restricted<'r>(target: &'r Target, request: &'r ChatRequest) -> Restricted<'r> {
    crate::protocol::restrict::apply(target, request).unwrap()
}

fn strategy_of(provider: &Provider, request: &ChatRequest) -> OutputStrategy {
    let target = target(provider.clone());
    shape(&target, &restricted(&target, request)).unwrap().form.strategy.unwrap()
}

#[test]
fn the_best_way_that_the_model_has_is_taken() {
    let openai = Provider::openai_compatible("lab", "http://lab.invalid");
    let worded = openai.clone().quirks(|q| q.json_schema = JsonSchemaSupport::InInstructions);
    let alone = openai.clone().quirks(|q| q.json_schema = JsonSchemaSupport::NotWithTools);
    let request = asking(schema());
    let with_tools =
        ChatRequest { tools: vec![ToolDefinition::function("t", json!({}))], ..request.clone() };
    for (provider, request, expected) in [
        (&openai, &request, OutputStrategy::Native),
        (&openai, &with_tools, OutputStrategy::Native),
        (&alone, &request, OutputStrategy::Native),
        (&alone, &with_tools, OutputStrategy::Prompt),
        (&worded, &request, OutputStrategy::Prompt),
        (&unschooled(openai.clone()), &request, OutputStrategy::Tool),
        (&unschooled(openai.clone()), &with_tools, OutputStrategy::Prompt),
        (&unschooled(openai.clone()).strip([Param::ToolChoice]), &request, OutputStrategy::Prompt),
        (&anthropic(), &request, OutputStrategy::Native),
        (&unschooled(anthropic()), &request, OutputStrategy::Tool),
    ] {
        assert_eq!(strategy_of(provider, request), expected);
    }
}

#[test]
fn a_model_that_thinks_is_not_made_to_call() {
    let provider = unschooled(anthropic());
    let thinking = ChatRequest { reasoning_effort: Some(Effort::High), ..asking(schema()) };
    assert_eq!(strategy_of(&provider, &thinking), OutputStrategy::Prompt);
    let insisting = ChatRequest { output_strategy: Some(OutputStrategy::Tool), ..thinking };
    let target = target(provider);
    let error = shape(&target, &restricted(&target, &insisting)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn the_tool_is_named_apart_and_must_be_called_once() {
    let target = target(unschooled(anthropic()));
    let request = asking(schema());
    let taken = restricted(&target, &request);
    let shaped = shape(&target, &taken).unwrap();
    assert_eq!(shaped.form.tool.as_deref(), Some("cityreport"));
    assert_eq!(shaped.request.tool_choice, Some(ToolChoice::function("cityreport")));
    assert_eq!(shaped.request.parallel_tool_calls, Some(false));
    assert_eq!(shaped.request.response_format, None);
    assert_eq!(shaped.warnings.len(), 1);

    let mut request = request.clone();
    request.tools.push(ToolDefinition::function("cityreport", json!({})));
    request.output_strategy = Some(OutputStrategy::Tool);
    let taken = restricted(&target, &request);
    let shaped = shape(&target, &taken).unwrap();
    assert_eq!(shaped.form.tool.as_deref(), Some("cityreport_answer"));
    assert_eq!(shaped.request.tool_choice, Some(ToolChoice::Required));
    assert!(shaped.warnings.is_empty(), "a strategy that the request sets is not a warning");
}

#[test]
fn a_schema_that_is_not_an_object_is_wrapped_where_the_provider_requires_objects() {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let openai = Provider::openai_compatible("lab", "http://lab.invalid");
    let gemini = Provider::gemini_compatible("lab", "http://lab.invalid");
    for (provider, wrapped) in [(openai, true), (anthropic(), true), (gemini, false)] {
        let target = target(provider);
        let request = asking(list.clone());
        let taken = restricted(&target, &request);
        let shaped = shape(&target, &taken).unwrap();
        assert_eq!(shaped.form.wrapped, wrapped);
        let Some(ResponseFormat::JsonSchema { json_schema }) = &shaped.request.response_format
        else {
            panic!("no schema");
        };
        let sent = &json_schema.schema;
        assert_eq!(sent.pointer("/properties/value").unwrap_or(sent), &list);
    }
}
