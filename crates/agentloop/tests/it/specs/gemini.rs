//! Requests to generateContent, against its published description.

use agentloop::{AgentLoop, ChatRequest, ContentPart, Effort, Thinking, ToolDefinition, inspect};
use serde_json::{Value, json};

use crate::specs::requests;
use crate::specs::spec::Spec;

/// Places in which the description is behind the API, with the reason; they are taken out before the check.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "thinkingLevel",
    "the description has the words in capitals; the documentation writes them small, and the API takes both",
)];

/// Requests of every kind, and those that only this protocol has.
fn all(model: &str) -> Vec<(&'static str, ChatRequest)> {
    let ask = || ChatRequest::new(model).user("Hello");
    let own = |fields: Value| serde_json::from_value::<ToolDefinition>(fields).unwrap();
    let mut all = requests::all(model);
    all.extend([
        ("a budget", ask().thinking(Thinking::budget(2000))),
        ("an effort", ask().effort(Effort::Low)),
        ("no thoughts", ask().thinking(Thinking::disabled())),
        (
            "tools of the host",
            ask()
                .tool(own(json!({"type": "googleSearch"})))
                .tool(own(json!({"type": "urlContext"}))),
        ),
        ("a video", ChatRequest::new(model).user([ContentPart::image_url("https://youtu.be/abc")])),
        (
            "settings of one's own",
            ask()
                .extra("generationConfig", json!({"mediaResolution": "MEDIA_RESOLUTION_LOW"}))
                .extra(
                    "safetySettings",
                    json!([{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]),
                ),
        ),
    ]);
    all
}

#[test]
fn requests_to_gemini_match_its_api_description() {
    let Some(spec) = Spec::load("gemini.json", "GenerateContentRequest") else {
        println!("skipped: there is no folder of API descriptions beside the checkout");
        return;
    };
    let ai = AgentLoop::from_env();
    let mut failures = Vec::new();
    for model in
        ["google/gemini-2.5-flash", "google/gemini-3-flash-preview", "google/gemini-4-argon"]
    {
        for (name, request) in all(model) {
            let encoded = inspect::encode(&ai, &request, false)
                .unwrap_or_else(|error| panic!("{model}, {name}: {error:?}"));
            let mut body: Value = serde_json::from_str(encoded.body.get()).unwrap();
            as_described(&mut body);
            failures
                .extend(spec.errors(&body).iter().map(|error| format!("{model}, {name}: {error}")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Brings a body into the form that the description knows.
pub(crate) fn as_described(body: &mut Value) {
    // The description wants the model in the body; the API takes it from the path.
    body["model"] = json!("models/m");
    // It also wants every function described, which the API does not.
    let functions = body.pointer_mut("/tools/0/functionDeclarations");
    for function in functions.and_then(Value::as_array_mut).into_iter().flatten() {
        function.as_object_mut().unwrap().entry("description").or_insert(json!(""));
    }
    for (place, _) in EXCEPTIONS {
        take_out(body, place);
    }
}

/// Removes a field at every depth.
fn take_out(value: &mut Value, name: &str) {
    match value {
        Value::Object(fields) => {
            fields.remove(name);
            fields.values_mut().for_each(|value| take_out(value, name));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| take_out(value, name)),
        _ => {}
    }
}

/// Without this, the test above could pass by checking nothing.
#[test]
fn the_description_of_gemini_refuses_unknown_fields() {
    let Some(spec) = Spec::load("gemini.json", "GenerateContentRequest") else {
        println!("skipped: there is no folder of API descriptions beside the checkout");
        return;
    };
    let good =
        json!({"model": "models/m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    assert_eq!(spec.errors(&good), Vec::<String>::new());
    for (field, value) in [
        ("nonsense", json!(1)),
        ("contents", json!("hi")),
        ("generationConfig", json!({"topK": "x"})),
    ] {
        let mut bad = good.clone();
        bad[field] = value;
        assert!(!spec.errors(&bad).is_empty(), "takes a wrong {field}");
    }
}
