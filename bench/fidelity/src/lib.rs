//! What a library saw of an answer, in one form for all: `NAME WIRE chat|stream BASE-URL` prints it as a line of JSON.

use serde::Serialize;
use serde_json::{Value, json};

pub const PROMPT: &str = "How is the weather in Oslo and in Rome?";
pub const MODEL: &str = "mock-1";
pub const KEY: &str = "sk-mock-0123456789abcdef";

/// The tools of every request, with their descriptions.
pub const TOOLS: [(&str, &str); 2] =
    [("get_weather", "The weather of a city"), ("list_files", "The files that there are")];

pub fn schema() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" } } })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    OpenAi,
    Anthropic,
    Gemini,
}

/// What is asked for.
pub struct Case {
    pub wire: Wire,
    pub stream: bool,
    pub base: String,
}

/// What a library hands over by its own types.
#[derive(Debug, Default, Serialize)]
pub struct Seen {
    /// Why the call or the stream failed.
    pub error: Option<String>,
    pub text: String,
    pub refusal: Option<String>,
    pub thinking: Vec<Thought>,
    pub redacted: Vec<String>,
    pub calls: Vec<Call>,
    pub server_calls: Vec<Call>,
    pub server_results: Vec<Value>,
    pub code: Vec<String>,
    pub code_results: Vec<String>,
    pub images: Vec<String>,
    pub citations: Vec<Cited>,
    pub finish: Option<String>,
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub tier: Option<String>,
    /// What is kept beside a part so that it can be sent back.
    pub states: Vec<Value>,
    /// What the library hands over unread.
    pub raw: Vec<Value>,
}

#[derive(Debug, Default, Serialize)]
pub struct Thought {
    pub text: String,
    pub signature: Option<String>,
}

#[derive(Debug, Default, Serialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

#[derive(Debug, Default, Serialize)]
pub struct Cited {
    pub url: String,
    pub title: Option<String>,
    pub text: Option<String>,
    pub start: Option<u64>,
    pub end: Option<u64>,
}

/// Arguments as JSON, or as the string that they are.
pub fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// The `main` of a contestant. What was seen before a failure stays.
pub fn tell(look: impl AsyncFnOnce(&Case, &mut Seen) -> Result<(), String>) {
    let mut words = std::env::args().skip(1);
    let mut word = || words.next().unwrap_or_default();
    let wire = match word().as_str() {
        "anthropic" => Wire::Anthropic,
        "gemini" => Wire::Gemini,
        _ => Wire::OpenAi,
    };
    let case = Case { wire, stream: word() == "stream", base: word() };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut seen = Seen::default();
    if let Err(error) = runtime.block_on(look(&case, &mut seen)) {
        seen.error = Some(error);
    }
    println!("{}", serde_json::to_string(&seen).expect("JSON"));
    runtime.shutdown_background();
}
