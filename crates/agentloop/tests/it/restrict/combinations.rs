//! Parameters, values and combinations of them.

use agentloop::{Effort, ErrorKind, Protocol, ResponseFormat, Thinking, ToolChoice};
use serde_json::json;

use super::{ask, refused, sent, server_tool, tool};

fn schema() -> ResponseFormat {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } },
        "required": ["a"] });
    ResponseFormat::json_schema("r", schema)
}

#[test]
fn gemini_2_gets_json_instructions_when_there_are_functions() {
    let request = ask("google/gemini-2.5-flash").tool(tool("f"));
    for format in [schema(), ResponseFormat::json()] {
        let request = request.clone().response_format(format);
        let (body, warnings) = sent(&request);
        assert_eq!(body.pointer("/generationConfig/responseMimeType"), None, "{body}");
        assert_eq!(body.pointer("/generationConfig/responseJsonSchema"), None);
        let words = body["systemInstruction"]["parts"][0]["text"].as_str().unwrap();
        assert!(words.contains("JSON"), "{words}");
        assert!(warnings[0].contains("beside functions"), "{warnings:?}");
        assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
    }
    let (body, warnings) = sent(&ask("google/gemini-2.5-flash").response_format(schema()));
    assert!(body.pointer("/generationConfig/responseJsonSchema").is_some());
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn gemini_3_gets_json_instructions_only_while_a_call_is_forced() {
    let request = ask("google/gemini-3-flash-preview").tool(tool("f")).response_format(schema());
    let (body, warnings) = sent(&request);
    assert!(body.pointer("/generationConfig/responseJsonSchema").is_some(), "{body}");
    assert!(warnings.is_empty(), "{warnings:?}");
    let forced = request.tool_choice(ToolChoice::Required);
    let (body, warnings) = sent(&forced);
    assert_eq!(body.pointer("/generationConfig/responseMimeType"), None, "{body}");
    assert_eq!(body.pointer("/toolConfig/functionCallingConfig/mode"), Some(&json!("ANY")));
    assert!(warnings[0].contains("while no call is forced"), "{warnings:?}");
}

#[test]
fn gemini_2_5_gets_no_penalties() {
    let mut request = ask("google/gemini-2.5-pro");
    (request.frequency_penalty, request.presence_penalty) = (Some(0.5), Some(0.5));
    let (body, warnings) = sent(&request);
    assert_eq!(body.get("generationConfig"), None, "{body}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    // The other service of the same models takes them.
    request.model = "vertex/gemini-2.5-pro".to_owned();
    assert_eq!(sent(&request).0["generationConfig"]["frequencyPenalty"], 0.5);
}

#[test]
fn functions_beside_a_search_are_enabled_for_gemini_3_and_lose_it_before() {
    let tools = [tool("f"), server_tool("googleSearch")];
    let flag = "/toolConfig/includeServerSideToolInvocations";
    let request = ask("google/gemini-3-flash-preview").tools(tools.clone());
    let (body, warnings) = sent(&request);
    assert_eq!(body.pointer(flag), Some(&json!(true)), "{body}");
    assert!(warnings[0].contains("includeServerSideToolInvocations"), "{warnings:?}");
    // A choice beside it stays.
    let (body, _) = sent(&request.tool_choice(ToolChoice::Required));
    assert_eq!(body.pointer(flag), Some(&json!(true)));
    assert_eq!(body.pointer("/toolConfig/functionCallingConfig/mode"), Some(&json!("ANY")));

    let request = ask("google/gemini-2.5-flash").tools(tools);
    let (body, warnings) = sent(&request);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1, "{body}");
    assert!(warnings[0].contains("googleSearch"), "{warnings:?}");
    assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
    let (body, warnings) = sent(&ask("google/gemini-2.5-flash").tool(server_tool("googleSearch")));
    assert!(body["tools"][0].get("googleSearch").is_some() && warnings.is_empty());
}

#[test]
fn claude_4_1_to_4_6_gets_temperature_or_top_p() {
    for model in ["claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-6"] {
        let request = ask(&format!("anthropic/{model}")).temperature(0.2).top_p(0.9);
        let (body, warnings) = sent(&request);
        assert_eq!((body.get("temperature"), body.get("top_p")), (Some(&json!(0.2)), None));
        assert!(warnings[0].contains("cannot both be set"), "{warnings:?}");
        assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
        let (body, warnings) = sent(&ask(&format!("anthropic/{model}")).top_p(0.9));
        assert_eq!((body["top_p"].as_f64(), warnings.len()), (Some(0.9), 0));
    }
    let (body, _) = sent(&ask("anthropic/claude-sonnet-4").temperature(0.2).top_p(0.9));
    assert!(body.get("top_p").is_some(), "the older ones take both");
}

#[test]
fn an_effort_that_a_model_of_openai_does_not_know_is_the_nearest_that_it_knows() {
    for (model, asked, expected) in [
        ("gpt-5.6-sol", Effort::Minimal, "low"),
        ("gpt-6.1-sol", Effort::None, "low"),
        ("gpt-6-astra", Effort::None, "low"),
        ("gpt-5-mini", Effort::None, "minimal"),
        ("gpt-5.1", Effort::Xhigh, "high"),
        ("gpt-6-sol", Effort::None, "none"),
    ] {
        let request = ask(&format!("openai/{model}")).effort(asked);
        for protocol in [Protocol::OpenAiChat, Protocol::OpenAiResponses] {
            let request = request.clone().protocol(protocol);
            let (body, warnings) = sent(&request);
            let effort = body.get("reasoning_effort").or(body.pointer("/reasoning/effort"));
            assert_eq!(effort, Some(&json!(expected)), "{model}: {body}");
            let same = expected == asked.as_str();
            assert_eq!(warnings.is_empty(), same, "{model}: {warnings:?}");
            if !same {
                assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
            }
        }
    }
}

#[test]
fn thinking_is_not_turned_off_for_a_model_that_always_thinks() {
    for protocol in [Protocol::OpenAiChat, Protocol::OpenAiResponses] {
        let request = ask("openai/gpt-6-astra").thinking(Thinking::disabled()).protocol(protocol);
        let (body, warnings) = sent(&request);
        let effort = body.get("reasoning_effort").or(body.pointer("/reasoning/effort"));
        assert_eq!(effort, Some(&json!("low")), "{body}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}

#[test]
fn the_highest_effort_uses_responses_and_is_lowered_in_chat() {
    let request = ask("openai/gpt-6-sol").effort(Effort::Max);
    let (body, warnings) = sent(&request);
    assert_eq!(body["reasoning"]["effort"], "max");
    assert!(body.get("input").is_some() && warnings.is_empty(), "{warnings:?}");
    let (body, warnings) = sent(&request.protocol(Protocol::OpenAiChat));
    assert_eq!(body["reasoning_effort"], "xhigh");
    assert!(warnings[0].contains("Responses"), "{warnings:?}");
}

#[test]
fn a_model_of_openai_that_takes_functions_only_without_effort_gets_none_in_chat() {
    let request = ask("openai/gpt-5.6-luna").tool(tool("f")).effort(Effort::High);
    let (body, _) = sent(&request);
    assert_eq!(body["reasoning"]["effort"], "high", "asked in responses");
    let (body, warnings) = sent(&request.protocol(Protocol::OpenAiChat));
    assert_eq!(body["reasoning_effort"], "none", "{body}");
    assert!(warnings[0].contains("without effort"), "{warnings:?}");
}

#[test]
fn grok_4_6_keeps_the_effort_that_others_have_not() {
    let effort = |model: &str| {
        let (body, warnings) = sent(&ask(model).effort(Effort::Xhigh));
        (body["reasoning"]["effort"].clone(), warnings.len())
    };
    assert_eq!(effort("xai/grok-4.6"), (json!("xhigh"), 0));
    assert_eq!(effort("xai/grok-4.3"), (json!("high"), 1));
    let (body, warnings) = sent(&ask("xai/grok-4.20-reasoning").effort(Effort::High));
    assert!(body.get("reasoning").is_none(), "{body}");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn fireworks_gets_at_most_five_likely_tokens() {
    let request = ask("fireworks/accounts/fireworks/models/m").top_logprobs(20);
    let (body, warnings) = sent(&request);
    assert_eq!(body["top_logprobs"], 5);
    assert!(warnings[0].contains("20 is sent as 5"), "{warnings:?}");
    assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
}

#[test]
fn groq_and_deepseek_get_at_most_128_tools() {
    for model in ["groq/openai/gpt-oss-120b", "deepseek/deepseek-flash"] {
        let names: Vec<String> = (0..130).map(|n| format!("tool_{n}")).collect();
        let request = ask(model).tools(names.iter().map(|name| tool(name)));
        let (body, warnings) = sent(&request);
        assert_eq!(body["tools"].as_array().unwrap().len(), 128);
        assert!(warnings[0].contains("128 of 130"), "{warnings:?}");
        assert_eq!(refused(&request).kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn deepseek_gets_strict_functions_at_its_beta_only() {
    let request = ask("deepseek/deepseek-flash").tool(tool("f").with_strict(true));
    let (body, warnings) = sent(&request);
    assert_eq!(body["tools"][0]["function"].get("strict"), None, "{body}");
    assert!(warnings[0].contains("/beta"), "{warnings:?}");
    let beta = agentloop::Provider::builtin("deepseek").unwrap();
    let beta = beta.base_url("https://api.deepseek.com/beta").key("k");
    let ai = agentloop::AgentLoop::builder().provider(beta).build().unwrap();
    let encoded = agentloop::inspect::encode(&ai, &request, false).unwrap();
    assert_eq!(super::body_of(&encoded)["tools"][0]["function"]["strict"], true);
}

#[test]
fn deepseek_does_not_think_while_a_call_is_forced() {
    let request = ask("deepseek/deepseek-flash").tool(tool("f")).tool_choice(ToolChoice::Required);
    let (body, warnings) = sent(&request);
    assert_eq!(body["thinking"]["type"], "disabled", "{body}");
    assert_eq!(body["tool_choice"], "required");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    // A request for both gets the thinking.
    let (body, _) = sent(&request.effort(Effort::High));
    assert_eq!((&body["tool_choice"], body.get("thinking")), (&json!("auto"), None));
}

#[test]
fn mistral_gets_schemas_of_functions_without_their_identity() {
    let schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "x",
        "type": "object", "properties": {} });
    let function = agentloop::ToolDefinition::function("f", schema);
    let (body, warnings) = sent(&ask("mistral/mistral-large-latest").tool(function));
    let sent = &body["tools"][0]["function"]["parameters"];
    assert_eq!(*sent, json!({ "type": "object", "properties": {} }));
    assert!(warnings[0].contains("keywords"), "{warnings:?}");
}

#[test]
fn tools_and_json_mode_are_not_requested_from_models_without_them() {
    let (body, warnings) = sent(&ask("groq/groq/compound-mini").tool(tool("f")));
    assert_eq!(body.get("tools"), None);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let (body, _) = sent(&ask("openai/gpt-audio").response_format(ResponseFormat::json()));
    assert_eq!(body.get("response_format"), None);
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("JSON"), "{body}");
    let (body, _) = sent(&ask("openai/gpt-5-chat-latest").effort(Effort::Low));
    assert_eq!(body.get("reasoning_effort"), None);
}

#[test]
fn a_value_outside_of_its_range_is_the_nearest_in_it() {
    let (body, warnings) = sent(&ask("openai/gpt-4.1").temperature(-1.0));
    assert_eq!(body["temperature"], 0.0);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let (body, _) = sent(&ask("anthropic/claude-sonnet-4-5").max_tokens(1_000_000));
    assert_eq!(body["max_tokens"], 64_000);
}

#[test]
fn labels_that_are_too_long_or_too_many_are_left_out() {
    let mut request = ask("openai/gpt-4.1");
    let labels = (0..20).map(|n| (format!("k{n:02}"), json!("v")));
    request.metadata = Some(labels.chain([("long".to_owned(), json!("v".repeat(600)))]).collect());
    let (body, warnings) = sent(&request);
    assert_eq!(body["metadata"].as_object().unwrap().len(), 16);
    assert_eq!(body["metadata"].get("long"), None);
    assert!(warnings[0].contains("16 pairs"), "{warnings:?}");
}

#[test]
fn a_reasoning_model_of_openai_samples_only_while_it_does_not_think() {
    for provider in ["openai", "azure"] {
        let request = ask(&format!("{provider}/gpt-5.2")).temperature(0.5).stop("END");
        for protocol in [Protocol::OpenAiChat, Protocol::OpenAiResponses] {
            let request = request.clone().protocol(protocol);
            let (body, warnings) = sent(&request);
            assert_eq!((body.get("temperature"), body.get("stop")), (None, None), "{body}");
            assert_eq!(warnings.len(), 2, "{warnings:?}");
            let (body, warnings) = sent(&request.effort(Effort::None));
            assert_eq!((&body["temperature"], body.get("stop")), (&json!(0.5), None));
            assert_eq!(warnings.len(), 1, "{warnings:?}");
        }
        let (body, _) = sent(&ask(&format!("{provider}/gpt-6-astra")).temperature(0.5));
        assert_eq!(body.get("temperature"), None);
        let (body, warnings) = sent(&ask(&format!("{provider}/gpt-4.1")).temperature(0.5));
        assert_eq!((&body["temperature"], warnings.len()), (&json!(0.5), 0));
    }
}

#[test]
fn strict_mode_refuses_unsupported_parameters_too() {
    let request = ask("groq/openai/gpt-oss-120b");
    let request = request.frequency_penalty(1.0);
    assert!(sent(&request).1[0].contains("frequency_penalty"));
    let error = refused(&request);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("frequency_penalty"), "{error}");
}
