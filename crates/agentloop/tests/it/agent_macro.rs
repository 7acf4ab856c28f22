//! Tools made from functions with `#[tool]`.

use agentloop::agent::{Agent, Decision, Pending, Tool, ToolContext, ToolError, ToolStatus};
use agentloop::{AgentLoop, ChatRequest, ResponsePart, ToolCallPart, tool};
use agentloop_sim::{Model, Script, Simulator, Turn};
use serde_json::{Value, json};

/// The weather of a city.
///
/// Up to ten days ahead.
#[tool]
async fn weather(
    /// The name of the city.
    city: String,
    /// How many days ahead.
    days: Option<u32>,
) -> String {
    format!("{city} in {} days: rain", days.unwrap_or_default())
}

#[tool(name = "divide-numbers", ask, sequential, reviewed, strict, timeout_secs = 5, retries = 1)]
/// Divides.
fn divide(
    #[schemars(range(min = -100, max = 100))] dividend: i64,
    #[serde(default = "two")] divisor: i64,
) -> Result<i64, ToolError> {
    dividend.checked_div(divisor).ok_or_else(|| ToolError::new("nothing divides by zero"))
}

fn two() -> i64 {
    2
}

/// Reads a number, and counts how often it was called.
#[tool]
fn parse(
    context: &ToolContext,
    mut text: String,
    r#type: Option<String>,
) -> Result<Value, std::num::ParseIntError> {
    context.data().update(|data| data.insert("asked".to_owned(), json!(context.call_id())));
    text.retain(|c| !c.is_whitespace());
    Ok(json!({ "number": text.parse::<i64>()?, "type": r#type }))
}

#[tool(description = "Waits for nothing, and says nothing.")]
async fn idle(context: ToolContext) {
    context.progress("idle");
}

/// A tool in a module, with its own type.
mod inner {
    use super::tool;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum Unit {
        Celsius,
        Kelvin,
    }

    /// The unit of a temperature.
    #[tool]
    pub(super) fn unit(unit: Unit) -> &'static str {
        match unit {
            Unit::Celsius => "°C",
            Unit::Kelvin => "K",
        }
    }
}

fn parameters(tool: &Tool) -> Value {
    tool.definition().parameters.clone().unwrap()
}

/// Returns a client whose model calls the tool once and then finishes.
fn calls(tool: &str, arguments: &Value) -> AgentLoop {
    let call = ToolCallPart::new("call_1", tool, arguments.to_string());
    let script = Script::new([Turn::new([ResponsePart::ToolCall(call)]), Turn::text("done")]);
    let simulator = Simulator::new().with_model(Model::from_script(script));
    AgentLoop::builder().provider(simulator.provider()).build().unwrap()
}

/// Runs a call of the tool and returns its result.
async fn run_call(tool: impl Into<Tool>, arguments: Value) -> (ToolStatus, String) {
    let tool = tool.into();
    let ai = calls(tool.name(), &arguments);
    let agent = Agent::new(ai).tool(tool).approver(|_: &Pending| Decision::Allow);
    let outcome = agent.run(ChatRequest::new("sim/case").user("Go")).await.unwrap();
    let result = &outcome.steps[0].results[0];
    (result.status, result.output.to_text())
}

#[test]
fn the_definition_contains_the_doc_comments_and_the_types() {
    let tool = Tool::from(weather);
    assert_eq!(tool.name(), "weather");
    let description = tool.definition().description.as_deref();
    assert_eq!(description, Some("The weather of a city.\n\nUp to ten days ahead."));
    let schema = parameters(&tool);
    assert_eq!(schema["required"], json!(["city"]));
    assert_eq!(schema["properties"]["city"]["type"], "string");
    assert_eq!(schema["properties"]["city"]["description"], "The name of the city.");
    assert_eq!(schema["properties"]["days"]["description"], "How many days ahead.");
}

#[test]
fn the_options_of_the_attribute_are_settings_of_the_tool() {
    let tool = Tool::from(divide);
    assert_eq!(tool.name(), "divide-numbers");
    assert_eq!(tool.definition().strict, Some(true));
    let schema = parameters(&tool);
    assert_eq!(schema["properties"]["dividend"]["maximum"], 100);
    assert_eq!(schema["properties"]["divisor"]["default"], 2);
    assert_eq!(schema["required"], json!(["dividend"]));
}

#[test]
fn the_context_is_not_an_argument_for_the_model() {
    assert_eq!(parameters(&Tool::from(idle))["type"], "object");
    let fields = parameters(&Tool::from(parse));
    let names: Vec<&String> = fields["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["text", "type"]);
}

#[tokio::test]
async fn a_call_runs_the_function_with_its_arguments() {
    let rain = run_call(weather, json!({ "city": "Graz" })).await;
    assert_eq!(rain, (ToolStatus::Completed, "Graz in 0 days: rain".to_owned()));
    assert_eq!(run_call(divide, json!({ "dividend": 84 })).await.1, "42");
    assert_eq!(run_call(inner::unit, json!({ "unit": "kelvin" })).await.1, "K");
    assert_eq!(run_call(idle, json!({})).await, (ToolStatus::Completed, "done".to_owned()));
    let number = run_call(parse, json!({ "text": " 4 2", "type": "answer" })).await;
    assert_eq!(number.1, r#"{"number":42,"type":"answer"}"#);
}

#[tokio::test]
async fn the_model_receives_errors_and_mismatches() {
    let zero = run_call(divide, json!({ "dividend": 1, "divisor": 0 })).await;
    assert_eq!(zero, (ToolStatus::Failed, "nothing divides by zero".to_owned()));
    let word = run_call(parse, json!({ "text": "four" })).await;
    assert_eq!(word, (ToolStatus::Failed, "invalid digit found in string".to_owned()));
    let wide = run_call(divide, json!({ "dividend": 101 })).await;
    assert_eq!(wide.0, ToolStatus::InvalidArguments, "{}", wide.1);
}

#[tokio::test]
async fn a_tool_that_needs_approval_waits_without_an_approver() {
    let ai = calls("divide-numbers", &json!({ "dividend": 1 }));
    let outcome = Agent::new(ai).tool(divide).run(ChatRequest::new("sim/case").user("Go")).await;
    assert!(outcome.unwrap().suspended.is_some());
}

#[tokio::test]
async fn the_function_itself_can_be_called() {
    assert_eq!(weather::call("Linz".to_owned(), Some(2)).await, "Linz in 2 days: rain");
    assert_eq!(divide::call(1, 0).unwrap_err().message(), "nothing divides by zero");
}
