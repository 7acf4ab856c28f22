//! Tools that providers define and the caller runs: one handler for every provider.

use std::sync::{Arc, Mutex};

use agentloop::agent::{
    Agent, CommandOutput, ComputerAction, ComputerCall, Decision, Outcome, PatchCall, Policy,
    ShellCall, StopReason, TextEditorCall, Tool, ToolOutput, ToolStatus,
};
use agentloop::inspect;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, BoxFuture, ChatRequest, ContentPart, Provider, Result, ToolChoice, ToolDefinition,
};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

/// Responds with these bodies, one for each request, and records the requests.
#[derive(Clone, Debug, Default)]
struct Canned {
    bodies: Arc<Mutex<Vec<Value>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Canned {
    fn new(bodies: impl IntoIterator<Item = Value>) -> Self {
        let mut bodies: Vec<Value> = bodies.into_iter().collect();
        bodies.reverse();
        Self { bodies: Arc::new(Mutex::new(bodies)), asked: Arc::default() }
    }

    fn asked(&self, number: usize) -> Value {
        self.asked.lock().unwrap()[number].clone()
    }

    fn agent(&self, provider: Provider) -> Agent {
        let provider = provider.key("key").transport(self.clone());
        Agent::new(AgentLoop::builder().provider(provider).build().unwrap())
    }
}

impl Transport for Canned {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        self.asked.lock().unwrap().push(serde_json::from_slice(request.body()).unwrap());
        let body = self.bodies.lock().unwrap().pop().unwrap();
        let response = Response::builder().header("content-type", "application/json");
        Box::pin(std::future::ready(Ok(response.body(Body::whole(body.to_string())).unwrap())))
    }
}

const OPENAI: &str = "openai/gpt-5.5";
const ANTHROPIC: &str = "anthropic/claude-opus-4-5";

fn openai() -> Provider {
    Provider::builtin("openai").unwrap()
}

fn anthropic() -> Provider {
    Provider::builtin("anthropic").unwrap()
}

/// A response of OpenAI with these items.
fn items(output: Value) -> Value {
    json!({ "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.5", "output": output,
        "usage": { "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 } })
}

fn from_openai() -> Value {
    items(json!([{ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": "Done.", "annotations": [] }] }]))
}

/// A response of Anthropic with these blocks.
fn blocks(content: Value, reason: &str) -> Value {
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": content,
        "stop_reason": reason, "usage": { "input_tokens": 1, "output_tokens": 1 } })
}

fn from_anthropic() -> Value {
    blocks(json!([{ "type": "text", "text": "Done." }]), "end_turn")
}

/// The calls that a handler received.
type Seen<T> = Arc<Mutex<Vec<T>>>;

fn shell(seen: &Seen<ShellCall>) -> Tool {
    let seen = Arc::clone(seen);
    Tool::shell(move |call: ShellCall, _| {
        seen.lock().unwrap().push(call.clone());
        async move {
            let ran = |command: &String| match command.as_str() {
                "sleep" => CommandOutput::timed_out("zz"),
                "false" => CommandOutput::new("", 1).with_stderr("no"),
                command => CommandOutput::new(format!("ran {command}"), 0),
            };
            Ok(call.commands.iter().map(ran).collect())
        }
    })
}

fn screen(seen: &Seen<ComputerCall>) -> Tool {
    let seen = Arc::clone(seen);
    Tool::computer(1280, 800, move |call: ComputerCall, _| {
        seen.lock().unwrap().push(call);
        async { Ok(ToolOutput::parts([ContentPart::image_url("data:image/png;base64,AAAA")])) }
    })
}

async fn finished(agent: &Agent, model: &str) -> Outcome {
    let outcome = agent.run(ChatRequest::new(model).user("Do it.")).await.unwrap();
    assert_eq!((outcome.stop.clone(), outcome.text().as_str()), (StopReason::Finished, "Done."));
    outcome
}

#[tokio::test]
async fn a_shell_of_openai_uses_the_items_of_openai() {
    let call = json!({ "type": "shell_call", "id": "sh_1", "call_id": "call_1", "status": "completed",
        "environment": { "type": "local" },
        "action": { "commands": ["ls", "false", "sleep"], "timeout_ms": null, "max_output_length": 4096 } });
    let canned = Canned::new([items(json!([call])), from_openai()]);
    let seen = Seen::default();
    let outcome = finished(&canned.agent(openai()).tool(shell(&seen)), OPENAI).await;
    assert_eq!(
        canned.asked(0)["tools"],
        json!([{ "type": "shell", "environment": { "type": "local" } }])
    );
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].commands, ["ls", "false", "sleep"]);
    assert_eq!((seen[0].timeout_ms, seen[0].max_output_length), (None, Some(4096)));
    let input = canned.asked(1)["input"].clone();
    assert_eq!(input[1], call);
    assert_eq!(
        input[2],
        json!({ "type": "shell_call_output", "call_id": "call_1", "max_output_length": 4096, "output": [
            { "stdout": "ran ls", "stderr": "", "outcome": { "type": "exit", "exit_code": 0 } },
            { "stdout": "", "stderr": "no", "outcome": { "type": "exit", "exit_code": 1 } },
            { "stdout": "zz", "stderr": "", "outcome": { "type": "timeout" } },
        ] })
    );
    assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Completed);
}

#[tokio::test]
async fn a_local_shell_uses_the_callers_declaration_and_the_same_handler() {
    let call = json!({ "type": "local_shell_call", "id": "lsh_1", "call_id": "call_1", "status": "completed",
        "action": { "type": "exec", "command": ["bash", "-lc", "ls -a"], "env": {}, "timeout_ms": 9,
            "working_directory": null, "user": null } });
    let canned = Canned::new([items(json!([call])), from_openai()]);
    let seen = Seen::default();
    let tool = shell(&seen).declared_as("openai", json!({ "type": "local_shell" }));
    finished(&canned.agent(openai()).tool(tool), OPENAI).await;
    assert_eq!(canned.asked(0)["tools"], json!([{ "type": "local_shell" }]));
    let seen = seen.lock().unwrap();
    assert_eq!(
        (seen[0].commands.as_slice(), seen[0].timeout_ms),
        (&["bash -lc 'ls -a'".to_owned()][..], Some(9))
    );
    let result = canned.asked(1)["input"][2].clone();
    assert_eq!(result["type"], "local_shell_call_output");
    assert_eq!((&result["call_id"], &result["id"]), (&json!("call_1"), &json!("call_1")));
    assert!(result["output"].as_str().unwrap().contains("ran bash"));
}

#[tokio::test]
async fn patches_of_openai_are_applied_and_their_status_is_sent_back() {
    let call = |id: &str, path: &str| {
        json!({ "type": "apply_patch_call", "id": format!("apc_{id}"), "call_id": id, "status": "completed",
            "operation": { "type": "update_file", "path": path, "diff": "@@\n-a\n+b\n" } })
    };
    let canned =
        Canned::new([items(json!([call("1", "a.txt"), call("2", "/etc/passwd")])), from_openai()]);
    let tool = Tool::apply_patch(|call: PatchCall, _| async move {
        match call {
            PatchCall::UpdateFile { path, .. } if path.starts_with('/') => {
                Err(agentloop::agent::ToolError::new("outside of the project"))
            }
            PatchCall::UpdateFile { path, .. } => Ok(format!("changed {path}")),
            other => Err(agentloop::agent::ToolError::new(format!("{other:?}"))),
        }
    });
    finished(&canned.agent(openai()).tool(tool), OPENAI).await;
    assert_eq!(canned.asked(0)["tools"], json!([{ "type": "apply_patch" }]));
    let input = canned.asked(1)["input"].clone();
    assert_eq!(
        [&input[3], &input[4]],
        [
            &json!({ "type": "apply_patch_call_output", "call_id": "1", "output": "changed a.txt", "status": "completed" }),
            &json!({ "type": "apply_patch_call_output", "call_id": "2", "output": "outside of the project", "status": "failed" }),
        ]
    );
}

#[tokio::test]
async fn safety_checks_of_a_computer_call_need_approval_and_are_acknowledged() {
    let check = json!({ "id": "check_1", "code": "malicious_instructions", "message": "Look." });
    let call = json!({ "type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
        "action": { "type": "click", "x": 3, "y": 4, "button": "left" }, "pending_safety_checks": [check] });
    let canned = Canned::new([items(json!([call])), from_openai()]);
    let seen = Seen::default();
    let agent = canned.agent(openai()).tool(screen(&seen).policy(Policy::Allow));
    let outcome = agent.run(ChatRequest::new(OPENAI).user("Do it.")).await.unwrap();
    assert_eq!(outcome.stop, StopReason::Waiting);
    assert!(seen.lock().unwrap().is_empty());
    let mut run = outcome.suspended.unwrap();
    assert!(run.pending()[0].arguments.contains("check_1"), "{:?}", run.pending());
    run.decide_all(&Decision::Allow);
    let outcome = agent.resume(*run).await.unwrap();
    assert_eq!(outcome.stop, StopReason::Finished);
    let expected =
        ComputerAction::Click { x: Some(3), y: Some(4), button: "left".to_owned(), keys: None };
    assert_eq!(seen.lock().unwrap()[0].actions, [expected]);
    assert_eq!(canned.asked(0)["tools"], json!([{ "type": "computer" }]));
    assert_eq!(
        canned.asked(1)["input"][2],
        json!({ "type": "computer_call_output", "call_id": "call_1", "acknowledged_safety_checks": [check],
            "output": { "type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA" } })
    );
}

#[tokio::test]
async fn a_denied_computer_call_gets_an_image_and_the_reason() {
    let call = json!({ "type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
        "actions": [{ "type": "screenshot" }], "pending_safety_checks": [] });
    let canned = Canned::new([items(json!([call])), from_openai()]);
    let seen = Seen::default();
    finished(&canned.agent(openai()).tool(screen(&seen).policy(Policy::Deny)), OPENAI).await;
    assert!(seen.lock().unwrap().is_empty());
    let input = canned.asked(1)["input"].clone();
    let image = input[2]["output"]["image_url"].as_str().unwrap();
    assert!(image.starts_with("data:image/png;base64,"));
    assert!(input[2].get("acknowledged_safety_checks").is_none());
    assert!(input[3]["content"].as_str().unwrap().contains("does not allow calls"), "{input}");
}

#[tokio::test]
async fn tools_of_anthropic_are_declared_by_version_and_called_by_name() {
    let calls = json!([
        { "type": "tool_use", "id": "toolu_1", "name": "bash", "input": { "command": "ls" } },
        { "type": "tool_use", "id": "toolu_2", "name": "str_replace_based_edit_tool",
            "input": { "command": "insert", "path": "a.txt", "insert_line": 0, "insert_text": "x" } },
        { "type": "tool_use", "id": "toolu_3", "name": "memory", "input": { "command": "view", "path": "/memories" } },
        { "type": "tool_use", "id": "toolu_4", "name": "computer", "input": { "action": "left_click", "coordinate": [3, 4] } },
    ]);
    let canned = Canned::new([blocks(calls, "tool_use"), from_anthropic()]);
    let (commands, actions) = (Seen::default(), Seen::default());
    let edits: Seen<TextEditorCall> = Seen::default();
    let edited = Arc::clone(&edits);
    let agent = canned
        .agent(anthropic())
        .tool(shell(&commands))
        .tool(Tool::text_editor(move |call: TextEditorCall, _| {
            edited.lock().unwrap().push(call);
            async { Ok("edited") }
        }))
        .tool(Tool::memory(|call, _| async move { Ok(format!("{call:?}")) }))
        .tool(screen(&actions));
    let outcome = finished(&agent, ANTHROPIC).await;
    assert_eq!(
        canned.asked(0)["tools"],
        json!([
            { "type": "bash_20250124", "name": "bash" },
            { "type": "text_editor_20250728", "name": "str_replace_based_edit_tool" },
            { "type": "memory_20250818", "name": "memory" },
            { "type": "computer_20251124", "name": "computer", "display_width_px": 1280, "display_height_px": 800 },
        ])
    );
    let results = &outcome.steps[0].results;
    assert!(results.iter().all(|result| result.status == ToolStatus::Completed), "{results:?}");
    assert_eq!(commands.lock().unwrap()[0].commands, ["ls"]);
    assert!(
        matches!(&edits.lock().unwrap()[0], TextEditorCall::Insert { insert_text, .. } if insert_text == "x")
    );
    let expected =
        ComputerAction::Click { x: Some(3), y: Some(4), button: "left".to_owned(), keys: None };
    assert_eq!(actions.lock().unwrap()[0].actions, [expected]);
    // The calls are sent back unchanged.
    let messages = canned.asked(1)["messages"].clone();
    assert_eq!(messages[1]["content"][0]["input"], json!({ "command": "ls" }));
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "toolu_1");
}

#[tokio::test]
async fn a_provider_that_does_not_define_the_tool_receives_a_function() {
    let call = json!({ "id": "call_1", "type": "function",
        "function": { "name": "shell", "arguments": r#"{"commands":["ls"]}"# } });
    let body = |message: Value, reason: &str| json!({ "id": "c", "model": "m", "choices": [{ "index": 0, "message": message, "finish_reason": reason }] });
    let canned = Canned::new([
        body(json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls"),
        body(json!({ "role": "assistant", "content": "Done." }), "stop"),
    ]);
    let seen = Seen::default();
    let provider = Provider::openai_compatible("lab", "http://lab.invalid");
    finished(&canned.agent(provider).tool(shell(&seen)), "lab/m").await;
    let tool = canned.asked(0)["tools"][0].clone();
    assert_eq!((&tool["type"], &tool["function"]["name"]), (&json!("function"), &json!("shell")));
    assert!(tool["function"]["parameters"]["properties"]["commands"].is_object());
    assert!(tool["function"].get("client_tool").is_none());
    assert_eq!(seen.lock().unwrap()[0].commands, ["ls"]);
}

#[tokio::test]
async fn approval_applies_under_the_providers_name_too() {
    let calls = json!([{ "type": "tool_use", "id": "toolu_1", "name": "bash", "input": { "command": "ls" } }]);
    let canned = Canned::new([blocks(calls, "tool_use"), from_anthropic()]);
    let seen = Seen::default();
    let agent = canned.agent(anthropic()).tool(shell(&seen).policy(Policy::Ask));
    let outcome = agent.run(ChatRequest::new(ANTHROPIC).user("Do it.")).await.unwrap();
    let mut run = outcome.suspended.unwrap();
    // The approver sees the call in the common form, exactly as it will run.
    assert_eq!(run.pending()[0].arguments, r#"{"commands":["ls"]}"#);
    assert!(seen.lock().unwrap().is_empty());
    run.decide_all(&Decision::deny("no"));
    let outcome = agent.resume(*run).await.unwrap();
    assert_eq!(outcome.steps[0].results[0].status, ToolStatus::Denied);
    assert!(seen.lock().unwrap().is_empty());
}

#[test]
fn a_forced_tool_and_the_computer_beta_use_the_names_of_the_provider() {
    let ai = AgentLoop::from_env();
    let request = |model: &str, tool: Tool, name: &str| {
        let function = tool.definition().clone();
        let mut request = ChatRequest::new(model)
            .user("Do it.")
            .tool(ToolDefinition::Function { function, cache_control: None });
        request.tool_choice = Some(ToolChoice::function(name));
        inspect::encode(&ai, &request, false).unwrap()
    };
    let sent = request(OPENAI, shell(&Seen::default()), "shell");
    let body: Value = serde_json::from_str(sent.body.get()).unwrap();
    assert_eq!(body["tool_choice"], json!({ "type": "shell" }));
    let sent = request(ANTHROPIC, screen(&Seen::default()), "computer");
    assert_eq!(sent.headers["anthropic-beta"], "computer-use-2025-11-24");
    let sent = request(ANTHROPIC, shell(&Seen::default()), "shell");
    let body: Value = serde_json::from_str(sent.body.get()).unwrap();
    assert_eq!(body["tool_choice"]["name"], "bash");
    assert!(!sent.headers.contains_key("anthropic-beta"));
}

#[test]
fn a_definition_with_a_cache_marker_round_trips() {
    let tool = screen(&Seen::default())
        .declared_as("anthropic", json!({ "type": "computer_20250124", "name": "computer" }));
    let definition =
        ToolDefinition::Function { function: tool.definition().clone(), cache_control: None };
    let text = serde_json::to_string(&definition).unwrap();
    assert!(
        text.contains(r#""client_tool":{"kind":"computer","display":{"width":1280,"height":800}"#),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<ToolDefinition>(&text).unwrap(), definition);
}
