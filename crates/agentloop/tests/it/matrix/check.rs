//! The requirements of each protocol on a conversation.

use serde_json::Value;

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Chat Completions: each message with calls is followed by their results, in order.
pub(crate) fn openai(body: &Value, nine: bool) {
    let messages = list(&body["messages"]);
    assert_eq!(messages[0]["role"], "system");
    let last = messages.last().unwrap();
    assert!(last["role"] == "user", "{last}");
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        let role = text(&message["role"]);
        if role == "tool" {
            let call = open.remove(0);
            assert_eq!(message["tool_call_id"], call["id"]);
            assert!(message["content"].is_string() || message["content"].is_array(), "{message}");
            continue;
        }
        assert!(open.is_empty(), "calls without results before {message}");
        assert!(["system", "user", "assistant"].contains(&role), "{message}");
        for call in list(&message["tool_calls"]) {
            assert_eq!(role, "assistant");
            let id = text(&call["id"]);
            let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert!(!id.is_empty() && (fits || !nine), "{call}");
            let arguments = text(&call["function"]["arguments"]);
            assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{call}");
            open.push(call);
        }
        let silent = message["content"].is_null() && list(&message["tool_calls"]).is_empty();
        assert!(!silent, "{message}");
    }
}

/// Anthropic: the user starts, roles alternate, results are first in the next message.
pub(crate) fn anthropic(body: &Value) {
    assert!(body["max_tokens"].is_u64());
    let system = &body["system"];
    assert!(text(system) == "Be brief." || system[0]["text"] == "Be brief.", "{system}");
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "turn {at} of {body:#}");
        let content = &message["content"];
        assert!(!text(content).trim().is_empty() || !list(content).is_empty(), "{message}");
        let mut others = false;
        for block in list(content) {
            match text(&block["type"]) {
                "text" => assert!(!text(&block["text"]).trim().is_empty(), "{message}"),
                "thinking" => {
                    assert!(!text(&block["signature"]).is_empty(), "{block}");
                    assert_eq!(role, "assistant");
                }
                "tool_use" => {
                    let id = text(&block["id"]);
                    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                    assert!(!id.is_empty() && id.chars().all(word), "{block}");
                    assert!(block["input"].is_object(), "{block}");
                    assert_eq!(role, "assistant");
                    open.push(id);
                }
                "tool_result" => {
                    assert!(!others && role == "user", "results stand first: {message}");
                    assert_eq!(block["tool_use_id"], open.remove(0));
                    continue;
                }
                _ => {}
            }
            others = true;
        }
        assert!(role == "assistant" || open.is_empty(), "no result of {open:?} in {message}");
    }
    assert_eq!(list(&body["messages"]).len() % 2, 1, "the user has the last word");
}

/// Gemini: the user starts, roles alternate, as many responses as calls in the next content.
pub(crate) fn gemini(body: &Value) {
    assert_eq!(body["systemInstruction"]["parts"][0]["text"], "Be brief.");
    let mut open: Vec<&Value> = Vec::new();
    for (at, content) in list(&body["contents"]).iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "model" };
        assert_eq!(content["role"], role, "content {at} of {body:#}");
        let parts = list(&content["parts"]);
        assert!(!parts.is_empty(), "{content}");
        for part in parts {
            if let Some(call) = part.get("functionCall") {
                assert_eq!(role, "model");
                assert!(call.get("args").is_none_or(Value::is_object), "{part}");
                open.push(call);
            }
            if let Some(response) = part.get("functionResponse") {
                let call = open.remove(0);
                assert_eq!((role, &response["name"]), ("user", &call["name"]));
                assert_eq!(response.get("id"), call.get("id"), "{part}");
                assert!(response["response"].is_object(), "{part}");
            }
        }
        assert!(role == "model" || open.is_empty(), "no response to {open:?} in {content}");
    }
    assert_eq!(list(&body["contents"]).len() % 2, 1, "the user has the last word");
}

/// Responses: each call is followed by its result before any other item.
pub(crate) fn responses(body: &Value) {
    let items = list(&body["input"]);
    assert_eq!(items[0]["role"], "system");
    assert_eq!(items.last().unwrap()["role"], "user");
    let mut open: Vec<&Value> = Vec::new();
    for item in items {
        match text(&item["type"]) {
            "function_call" => {
                let arguments = text(&item["arguments"]);
                assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{item}");
                assert!(!text(&item["call_id"]).is_empty() && !text(&item["name"]).is_empty());
                open.push(item);
            }
            "function_call_output" => {
                assert_eq!(item["call_id"], open.remove(0)["call_id"]);
                assert!(item["output"].is_string() || item["output"].is_array(), "{item}");
            }
            kind => {
                assert!(open.is_empty(), "calls without results before {item}");
                assert!(["message", "reasoning"].contains(&kind), "{item}");
            }
        }
    }
}

/// Cohere: each message with calls is followed by their results, in order, and says something or calls something.
pub(crate) fn cohere(body: &Value) {
    openai(body, false);
    for message in list(&body["messages"]) {
        for block in list(&message["content"]) {
            assert!(["text", "thinking", "image_url"].contains(&text(&block["type"])), "{message}");
        }
    }
}

/// Ollama: every message has a text, calls have objects as arguments, and results name their tool.
pub(crate) fn ollama(body: &Value) {
    let messages = list(&body["messages"]);
    assert_eq!(messages[0]["role"], "system");
    assert_eq!(messages.last().unwrap()["role"], "user");
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        assert!(message["content"].is_string(), "{message}");
        if message["role"] == "tool" {
            let call = open.remove(0);
            assert_eq!(message["tool_name"], call["function"]["name"]);
            assert_eq!(message["tool_call_id"], call["id"]);
            continue;
        }
        assert!(open.is_empty(), "calls without results before {message}");
        for call in list(&message["tool_calls"]) {
            assert_eq!(message["role"], "assistant");
            assert!(call["function"]["arguments"].is_object(), "{call}");
            open.push(call);
        }
        assert!(list(&message["images"]).iter().all(Value::is_string), "{message}");
    }
}

/// Bedrock: the user starts, roles alternate, results are first in the next message, and tools are declared.
pub(crate) fn bedrock(body: &Value) {
    assert_eq!(body["system"][0]["text"], "Be brief.");
    assert!(body["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"].is_object());
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "message {at} of {body:#}");
        let mut others = false;
        assert!(!list(&message["content"]).is_empty(), "{message}");
        for block in list(&message["content"]) {
            let (kind, value) = block.as_object().unwrap().iter().next().unwrap();
            match kind.as_str() {
                "text" => assert!(!text(value).trim().is_empty(), "{message}"),
                "reasoningContent" => assert_eq!(role, "assistant"),
                "toolUse" => {
                    let id = text(&value["toolUseId"]);
                    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                    assert!((1..=64).contains(&id.len()) && id.chars().all(word), "{block}");
                    assert!(value["input"].is_object(), "{block}");
                    open.push(id);
                }
                "toolResult" => {
                    assert!(!others && role == "user", "results are first: {message}");
                    assert_eq!(value["toolUseId"], open.remove(0));
                    continue;
                }
                _ => {}
            }
            others = true;
        }
        assert!(role == "assistant" || open.is_empty(), "no result of {open:?} in {message}");
    }
}

/// Interactions: each call is followed by its result before any other step, and nothing is stored.
pub(crate) fn interactions(body: &Value) {
    assert_eq!(body["system_instruction"], "Be brief.");
    assert_eq!(body["store"], false);
    assert_eq!(body["tools"][0]["type"], "function");
    let steps = list(&body["input"]);
    assert_eq!(steps.last().unwrap()["type"], "user_input");
    let mut open: Vec<&Value> = Vec::new();
    for step in steps {
        match text(&step["type"]) {
            "function_call" => {
                assert!(step["arguments"].is_object(), "{step}");
                assert!(!text(&step["id"]).is_empty() && !text(&step["name"]).is_empty());
                open.push(step);
            }
            "function_result" => {
                let call = open.remove(0);
                assert_eq!((&step["call_id"], &step["name"]), (&call["id"], &call["name"]));
                assert!(step["result"].is_string(), "{step}");
            }
            kind => {
                assert!(open.is_empty(), "calls without results before {step}");
                assert!(["user_input", "model_output", "thought"].contains(&kind), "{step}");
                let has_content = !list(&step["content"]).is_empty() || kind == "thought";
                assert!(has_content, "{step}");
            }
        }
    }
}
