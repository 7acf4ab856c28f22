//! Every row of the table, in every protocol of its provider: a request that would be refused is changed with a
//! warning, or is an error in strict mode, and what is sent is what the published descriptions take.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::provider::{Action, Condition, Restriction};
use agentloop::{AgentLoop, ChatRequest, ErrorKind, Protocol, Provider};
use serde_json::{Value, json};

use super::{body_of, client, trigger};
use crate::specs::spec::Spec;

/// A row where it applies.
struct Case {
    provider: Provider,
    row: Restriction,
    protocol: Protocol,
    model: String,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for provider in Provider::all() {
        // A row of a family is shown at those who serve the family itself.
        let serves = |row: &&Restriction| match row.protocol {
            Some(Protocol::Anthropic) => matches!(provider.name.as_ref(), "anthropic" | "azure"),
            Some(Protocol::Gemini) => matches!(provider.name.as_ref(), "google" | "vertex"),
            Some(Protocol::Bedrock) => provider.name == "bedrock",
            _ => false,
        };
        let families = Restriction::families().iter().filter(serves);
        for row in families.chain(&provider.restrictions) {
            let spoken: Vec<Protocol> = provider.protocols().collect();
            let protocols =
                spoken.into_iter().filter(|spoken| row.protocol.is_none_or(|only| only == *spoken));
            for protocol in protocols {
                for model in trigger::models(row) {
                    let (provider, row) = (provider.clone(), row.clone());
                    cases.push(Case { provider, row, protocol, model });
                }
            }
        }
    }
    cases
}

impl Case {
    fn request(&self) -> ChatRequest {
        let model = format!("{}/{}", self.provider.name, self.model);
        let request = trigger::request(&self.row, &model);
        match self.row.then {
            Action::Speak(_) => {
                let mut request = request;
                request.protocol = None;
                request
            }
            _ => request.protocol(self.protocol),
        }
    }

    fn name(&self) -> String {
        let Self { provider, row, protocol, model } = self;
        format!("{}: {} with {model} in {}", provider.name, row.id, protocol.name())
    }

    fn encode(&self, ai: &AgentLoop, request: &ChatRequest) -> EncodedRequest {
        inspect::encode(ai, request, false)
            .unwrap_or_else(|error| panic!("{}: {error:?}", self.name()))
    }
}

#[test]
fn every_restriction_changes_the_request_with_a_warning() {
    let ai = client();
    let cases = cases();
    assert!(cases.len() > 150, "{}", cases.len());
    for case in &cases {
        let (name, request) = (case.name(), case.request());
        if let Action::MediaTypes { .. } = case.row.then {
            let error = inspect::encode(&ai, &request, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}");
            assert!(error.to_string().contains(case.row.reason.as_ref()), "{name}: {error}");
            let encoded = case.encode(&ai, &request.lenient());
            assert!(!encoded.warnings.is_empty(), "{name}");
            continue;
        }
        let encoded = case.encode(&ai, &request);
        let spoken = matches!(case.row.then, Action::Speak(_));
        let same_name = case.row.id == "perplexity-sonar";
        if spoken || same_name {
            assert!(encoded.warnings.is_empty(), "{name}: {:?}", encoded.warnings);
            continue;
        }
        let warned = encoded.warnings.iter().any(|warning| {
            warning.subject.is_some() && warning.message.contains(case.row.reason.as_ref())
        });
        assert!(warned, "{name}: {:?}", encoded.warnings);
    }
}

#[test]
fn strict_mode_refuses_every_change_that_loses_something() {
    let ai = client();
    for case in &cases() {
        let (name, request) = (case.name(), case.request().strict());
        match inspect::encode(&ai, &request, false) {
            Ok(_) => assert!(case.row.then.is_lossless(), "{name}"),
            Err(error) => {
                assert!(!case.row.then.is_lossless(), "{name}: {error:?}");
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error:?}");
                assert!(error.hint().is_some(), "{name}");
            }
        }
    }
}

/// Fields in which a description is behind the API: they are in the provider's own SDK of today.
const NEWER: &[&str] = &[
    "output_config",
    "thinking",
    "reasoning_effort",
    "reasoning",
    "logprobs",
    "top_logprobs",
    "thinkingConfig",
    "includeServerSideToolInvocations",
];

#[test]
fn replaced_requests_match_the_api_descriptions() {
    let ai = client();
    let load = |file, schema| Spec::load(file, schema);
    let (Some(chat), Some(responses), Some(mistral), Some(messages), Some(gemini)) = (
        load("openai.json", "CreateChatCompletionRequest"),
        load("openai.json", "CreateResponse"),
        load("mistral.json", "ChatCompletionRequest"),
        load("anthropic.yaml", "CreateMessageParams"),
        load("gemini.json", "GenerateContentRequest"),
    ) else {
        println!("skipped: there is no folder of API descriptions beside the checkout");
        return;
    };
    let mut failures = Vec::new();
    let mut checked = 0;
    for case in cases() {
        let spec = match (case.provider.name.as_ref(), case.protocol) {
            ("openai" | "azure", Protocol::OpenAiChat) => &chat,
            ("openai" | "azure", Protocol::OpenAiResponses) => &responses,
            ("mistral", Protocol::OpenAiChat) => &mistral,
            ("anthropic", Protocol::Anthropic) => &messages,
            ("google", Protocol::Gemini) => &gemini,
            _ => continue,
        };
        // A field that only another protocol has.
        let has_field = case.row.when.iter().any(|when| matches!(when, Condition::Field(_)));
        if has_field && matches!(case.row.then, Action::Speak(other) if other != case.protocol) {
            continue;
        }
        let mut request = case.request().lenient();
        if matches!(case.row.then, Action::Speak(_)) {
            request = request.protocol(case.protocol);
        }
        let mut body: Value = body_of(&case.encode(&ai, &request));
        if case.protocol == Protocol::Gemini {
            body["model"] = json!("models/m");
            let functions = body.pointer_mut("/tools/0/functionDeclarations");
            for function in functions.and_then(Value::as_array_mut).into_iter().flatten() {
                function.as_object_mut().unwrap().entry("description").or_insert(json!(""));
            }
        }
        take_out(&mut body);
        let name = case.name();
        failures.extend(spec.errors(&body).iter().map(|error| format!("{name}: {error}")));
        checked += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked > 60, "{checked}");
}

fn take_out(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !NEWER.contains(&name.as_str()));
            fields.values_mut().for_each(take_out);
        }
        Value::Array(items) => items.iter_mut().for_each(take_out),
        _ => {}
    }
}
