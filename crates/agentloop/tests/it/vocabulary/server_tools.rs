//! Tools that providers run themselves: one form for all, and raw ones only where they are understood.

use agentloop::inspect;
use agentloop::{
    AgentLoop, ChatRequest, ErrorKind, FileSearchTool, Provider, ToolDefinition, UserLocation,
    WebSearchTool,
};
use serde_json::{Value, json};

use super::{ask, send};

#[test]
fn every_provider_gets_the_tool_in_its_own_form() {
    let search = json!({"type": "web_search", "allowed_domains": ["a.example"], "max_uses": 2,
                        "user_location": {"country": "DE", "city": "Berlin"}, "search_context_size": "low"});
    let place = json!({"type": "approximate", "country": "DE", "city": "Berlin"});
    for (model, tool, expected, lost) in [
        (
            "openai/gpt-4o",
            &search,
            json!({"type": "web_search", "filters": {"allowed_domains": ["a.example"]},
                   "user_location": place, "search_context_size": "low"}),
            vec!["max_uses"],
        ),
        (
            "anthropic/claude-sonnet-4-5",
            &search,
            json!({"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a.example"],
                   "user_location": place, "max_uses": 2}),
            vec!["search_context_size"],
        ),
        (
            "google/gemini-2.5-flash",
            &search,
            json!({"googleSearch": {}}),
            vec!["allowed_domains", "user_location", "search_context_size", "max_uses"],
        ),
        (
            "xai/grok-4.3",
            &search,
            json!({"type": "web_search", "allowed_domains": ["a.example"]}),
            vec!["user_location", "search_context_size", "max_uses"],
        ),
        (
            "groq/openai/gpt-oss-120b",
            &json!({"type": "web_search"}),
            json!({"type": "browser_search"}),
            vec![],
        ),
        (
            "openrouter/openai/gpt-5",
            &search,
            json!({"type": "openrouter:web_search", "parameters": {
                "allowed_domains": ["a.example"], "user_location": place, "search_context_size": "low"}}),
            vec!["max_uses"],
        ),
        (
            "openrouter/openai/gpt-5",
            &json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 2}),
            json!({"type": "openrouter:web_search"}),
            vec!["max_uses"],
        ),
        // Options that only this provider has are beside the others.
        (
            "openrouter/openai/gpt-5",
            &json!({"type": "web_search", "max_results": 3}),
            json!({"type": "openrouter:web_search", "parameters": {"max_results": 3}}),
            vec![],
        ),
        (
            "openrouter/openai/gpt-5",
            &json!({"type": "web_search", "blocked_domains": ["b.example"]}),
            json!({"type": "openrouter:web_search", "parameters": {"excluded_domains": ["b.example"]}}),
            vec![],
        ),
        (
            "anthropic/claude-sonnet-4-5",
            &json!({"type": "web_fetch", "max_uses": 1, "blocked_domains": ["b.example"]}),
            json!({"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": 1, "blocked_domains": ["b.example"]}),
            vec![],
        ),
        (
            "google/gemini-2.5-flash",
            &json!({"type": "web_fetch"}),
            json!({"urlContext": {}}),
            vec![],
        ),
        (
            "openai/gpt-4o",
            &json!({"type": "code_execution", "file_ids": ["file-1"]}),
            json!({"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-1"]}}),
            vec![],
        ),
        (
            "anthropic/claude-sonnet-4-5",
            &json!({"type": "code_execution"}),
            json!({"type": "code_execution_20250825", "name": "code_execution"}),
            vec![],
        ),
        (
            "anthropic/claude-sonnet-5",
            &json!({"type": "code_execution"}),
            json!({"type": "code_execution_20260120", "name": "code_execution"}),
            vec![],
        ),
        (
            "google/gemini-2.5-flash",
            &json!({"type": "code_execution"}),
            json!({"codeExecution": {}}),
            vec![],
        ),
        (
            "openai/gpt-4o",
            &json!({"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 3,
                    "ranking_options": {"score_threshold": 0.5}}),
            json!({"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 3,
                   "ranking_options": {"score_threshold": 0.5}}),
            vec![],
        ),
        (
            "google/gemini-2.5-flash",
            &json!({"type": "file_search", "vector_store_ids": ["fileSearchStores/s"], "max_num_results": 3}),
            json!({"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/s"], "topK": 3}}),
            vec![],
        ),
    ] {
        let sent = send(model, json!({"tools": [tool]}));
        assert_eq!(sent.body["tools"], json!([expected]), "{model}: {tool}");
        let lost: Vec<String> = lost.iter().map(|name| format!("tools[0].{name}")).collect();
        assert_eq!(sent.warned, lost, "{model}: {tool}");
    }
}

#[test]
fn openai_s_own_form_is_read_as_the_one_form() {
    let own = json!({"type": "web_search", "filters": {"allowed_domains": ["a.example"]},
                     "user_location": {"type": "approximate", "country": "DE"}, "external_web_access": false});
    let sent = send("openai/gpt-4o", json!({"tools": [own]}));
    assert_eq!(sent.body["tools"], json!([own]));
    assert_eq!(sent.warned, Vec::<String>::new());
    let sent = send("anthropic/claude-sonnet-4-5", json!({"tools": [own]}));
    assert_eq!(sent.body["tools"][0]["allowed_domains"], json!(["a.example"]));
    assert_eq!(sent.warned, ["tools[0].external_web_access"]);
}

#[test]
fn a_tool_is_sent_in_the_protocol_that_supports_it() {
    for tool in
        ["web_search", "code_execution", "file_search", "image_generation", "web_search_preview"]
    {
        let tool = json!({"type": tool, "vector_store_ids": if tool == "file_search" { json!(["vs_1"]) } else { Value::Null }});
        let sent = send("openai/gpt-4o", json!({"tools": [tool]}));
        assert!(sent.url.ends_with("/responses"), "{tool}: {}", sent.url);
    }
    let sent = send("deepseek/deepseek-chat", json!({"tools": [{"type": "web_search"}]}));
    assert!(sent.url.ends_with("/responses"), "{}", sent.url);
    // These models search by themselves, and are served by chat only.
    let place = json!({"country": "DE"});
    let sent = send(
        "openai/gpt-4o-search-preview",
        json!({"tools": [{"type": "web_search", "user_location": place}]}),
    );
    assert!(sent.url.ends_with("/chat/completions"), "{}", sent.url);
    let expected = json!({"user_location": {"type": "approximate", "approximate": place}});
    assert_eq!(sent.body["web_search_options"], expected);
    assert_eq!(sent.body["tools"], Value::Null);
    // A protocol that the request sets is not changed.
    let sent = send(
        "openai/gpt-4o",
        json!({"protocol": "openai_chat", "tools": [{"type": "web_search"}]}),
    );
    assert!(sent.url.ends_with("/chat/completions"));
    assert_eq!(sent.warned, ["tools[0]"]);
}

#[test]
fn a_tool_that_is_not_served_is_a_warning_or_in_strict_mode_an_error() {
    let fields = json!({"tools": [{"type": "web_search"}]});
    let sent = send("mistral/mistral-large-latest", fields.clone());
    assert_eq!(sent.body["tools"], Value::Null);
    assert_eq!(sent.warned, ["tools[0]"]);
    let mut strict = fields;
    strict["strict"] = json!(true);
    let error = ask("mistral/mistral-large-latest", strict).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("web_search"), "{error}");
}

#[test]
fn raw_tools_go_only_where_they_are_understood() {
    let google = json!({"type": "googleSearch"});
    let anthropic = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 2});
    let bash = json!({"type": "bash_20250124", "name": "bash"});
    let preview = json!({"type": "web_search_preview"});
    let nothing = Value::Null;
    for (model, tool, expected) in [
        ("google/gemini-2.5-flash", &google, json!([{"googleSearch": {}}])),
        ("openai/gpt-4o", &google, json!([{"type": "web_search"}])),
        (
            "anthropic/claude-sonnet-4-5",
            &google,
            json!([{"type": "web_search_20250305", "name": "web_search"}]),
        ),
        ("mistral/mistral-large-latest", &google, nothing.clone()),
        ("anthropic/claude-sonnet-4-5", &anthropic, json!([anthropic])),
        ("openai/gpt-4o", &anthropic, json!([{"type": "web_search"}])),
        ("google/gemini-2.5-flash", &anthropic, json!([{"googleSearch": {}}])),
        ("anthropic/claude-sonnet-4-5", &bash, json!([bash])),
        ("openai/gpt-4o", &bash, nothing.clone()),
        ("google/gemini-2.5-flash", &bash, nothing.clone()),
        ("openai/o3-deep-research", &preview, json!([preview])),
        ("google/gemini-2.5-flash", &preview, json!([{"googleSearch": {}}])),
        ("groq/openai/gpt-oss-120b", &preview, json!([{"type": "browser_search"}])),
        ("together/some-model", &preview, nothing),
    ] {
        let sent = send(model, json!({"tools": [tool]}));
        assert_eq!(sent.body["tools"], expected, "{model}: {tool}");
        assert_eq!(
            sent.warned.contains(&"tools[0]".to_owned()),
            expected.is_null(),
            "{model}: {tool}"
        );
    }
}

#[test]
fn a_tool_with_a_provider_is_sent_to_that_provider_only() {
    let tool = json!({"type": "web_search", "provider": "xai", "enable_image_understanding": true});
    let sent = send("xai/grok-4.3", json!({"tools": [tool]}));
    assert_eq!(
        sent.body["tools"],
        json!([{"type": "web_search", "enable_image_understanding": true}])
    );
    let sent = send("openai/gpt-4o", json!({"tools": [tool]}));
    assert_eq!(sent.body["tools"], Value::Null);
    assert_eq!(sent.warned, ["tools[0]"]);
    // An unknown kind is the caller's responsibility.
    let sent = send("openai/gpt-4o", json!({"tools": [{"type": "tool_of_tomorrow", "a": 1}]}));
    assert_eq!(sent.body["tools"], json!([{"type": "tool_of_tomorrow", "a": 1}]));
}

#[test]
fn every_built_in_provider_serves_a_tool_or_warns() {
    for provider in Provider::all() {
        for tool in ["web_search", "web_fetch", "code_execution", "file_search"] {
            let tool = json!({"type": tool, "provider": null});
            let model = format!("{}/some-model", provider.name);
            let Ok(sent) = ask(&model, json!({"tools": [tool]})) else { continue };
            // Some rows add a tool of their own.
            let count = |body: &Value| body["tools"].as_array().map_or(0, Vec::len);
            let before = count(&send(&model, json!({})).body);
            let dropped = sent.warned.iter().any(|what| what == "tools[0]" || what == "tools");
            let served =
                count(&sent.body) > before || (before == 1 && tool["type"] == "web_search");
            assert!(served != dropped, "{model}: {tool}: {} {:?}", sent.body["tools"], sent.warned);
        }
    }
}

#[test]
fn a_provider_of_one_s_own_gets_the_tool_in_the_form_of_its_protocol() {
    for (row, expected) in [
        (
            Provider::openai_compatible("lab", "http://lab.invalid/v1"),
            json!({"type": "web_search"}),
        ),
        (
            Provider::responses_compatible("lab", "http://lab.invalid/v1"),
            json!({"type": "web_search"}),
        ),
        (
            Provider::anthropic_compatible("lab", "http://lab.invalid/v1"),
            json!({"type": "web_search_20250305", "name": "web_search"}),
        ),
        (Provider::gemini_compatible("lab", "http://lab.invalid/v1"), json!({"googleSearch": {}})),
    ] {
        let ai = AgentLoop::builder().provider(row).build().unwrap();
        let request = ChatRequest::new("lab/m").user("Hi").tool(ToolDefinition::web_search());
        let encoded = inspect::encode(&ai, &request, false).unwrap();
        let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
        assert_eq!(body["tools"], json!([expected]));
    }
}

#[test]
fn tools_survive_json() {
    let tools: Vec<ToolDefinition> = vec![
        WebSearchTool::default()
            .blocked_domains(["b.example"])
            .user_location(UserLocation::country("DE").with_city("Berlin"))
            .into(),
        ToolDefinition::web_fetch(),
        ToolDefinition::code_execution(),
        FileSearchTool::of(["vs_1"]).into(),
        ToolDefinition::of_provider("anthropic", "bash_20250124", json!({"name": "bash"})),
    ];
    let request = ChatRequest::new("m").user("Hi").tools(tools);
    let again: ChatRequest =
        serde_json::from_value(serde_json::to_value(&request).unwrap()).unwrap();
    assert_eq!(again, request);
}

#[test]
fn options_of_a_provider_go_to_that_provider_only() {
    let fields = json!({
        "extra_body": {"a": 1, "deep": {"x": 1, "y": 1}},
        "provider_options": {"openai": {"b": 2, "deep": {"y": 2}}, "anthropic": {"c": 3}},
    });
    let sent = send("openai/gpt-4o", fields.clone());
    assert_eq!(
        (&sent.body["a"], &sent.body["b"], &sent.body["c"]),
        (&json!(1), &json!(2), &Value::Null)
    );
    assert_eq!(sent.body["deep"], json!({"x": 1, "y": 2}));
    let sent = send("anthropic/claude-sonnet-4-5", fields);
    assert_eq!(
        (&sent.body["a"], &sent.body["b"], &sent.body["c"]),
        (&json!(1), &Value::Null, &json!(3))
    );
    assert_eq!(sent.body["deep"], json!({"x": 1, "y": 1}));
}
