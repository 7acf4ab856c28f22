//! Rules that cannot be meant are configuration errors, and many rules cost little.

use agentloop::provider::{Param, Rule};
use agentloop::{AgentLoop, ChatRequest, ErrorKind, Protocol};
use serde_json::{Value, json};

use super::{body, cells, encode, lab, warned};
use crate::encode_growth::cpu_time;

#[test]
fn ranges_that_hold_no_value_are_refused() {
    let (infinite, huge) = (f64::INFINITY, f64::MAX);
    for (param, min, max) in [
        (Param::Temperature, 2.0, 1.0),
        (Param::Temperature, f64::NAN, 1.0),
        (Param::Temperature, 0.0, f64::NAN),
        (Param::Temperature, infinite, infinite),
        (Param::Temperature, -infinite, -infinite),
        (Param::MaxTokens, -5.0, -1.0),
        (Param::MaxTokens, 1.2, 1.8),
        (Param::N, 5e9, 6e9),
        (Param::TopK, huge, infinite),
        (Param::Seed, 1e19, huge),
    ] {
        let provider = lab(Protocol::OpenAiChat).clamp(param, min, max);
        let error = AgentLoop::builder().provider(provider).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{param} {min} {max}");
        assert!(error.message().contains(param.name()), "{}", error.message());
    }
}

#[test]
fn unbounded_ranges_keep_values_inside() {
    for (param, min, max, sent) in [
        (Param::MaxTokens, 16.0, f64::INFINITY, json!(16)),
        (Param::MaxTokens, f64::NEG_INFINITY, 2.9, json!(2)),
        (Param::MaxTokens, f64::MIN, f64::MAX, json!(5)),
        (Param::Seed, f64::NEG_INFINITY, -1e300, Value::Null),
        (Param::Seed, -3.5, -2.5, json!(-3)),
    ] {
        let provider = lab(Protocol::OpenAiChat).clamp(param, min, max);
        let request = ChatRequest::new("lab/m").user("Hi").max_tokens(5).seed(5);
        match encode(provider, &request) {
            Ok(encoded) => assert_eq!(body(&encoded)[param.name()], sent, "{param} {min} {max}"),
            Err(error) => assert_eq!((error.kind(), sent), (ErrorKind::Config, Value::Null)),
        }
    }
}

#[test]
fn names_that_cannot_be_fields_are_refused() {
    let deep = vec!["a"; 100_000].join(".");
    for name in
        ["", ".", "a.", ".a", "a..b", &deep, "model", "messages", "messages.x", "contents.a"]
    {
        let rename = Rule::Rename(Param::Seed, name.to_owned().into());
        let default = Rule::Default(name.to_owned().into(), json!(1));
        for (protocol, rule) in cells().map(|(protocol, _)| protocol).zip([rename, default]) {
            let mut provider = lab(protocol);
            provider.rules.push(rule);
            let error = AgentLoop::builder().provider(provider).build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
        }
    }
}

#[test]
fn two_parameters_under_one_name_are_refused() {
    for (protocol, name) in [
        (Protocol::OpenAiChat, "temperature"),
        (Protocol::OpenAiResponses, "max_output_tokens"),
        (Protocol::Anthropic, "stop_sequences"),
        (Protocol::Gemini, "generationConfig.topP"),
        (Protocol::Ollama, "options.num_predict"),
        (Protocol::Cohere, "stop_sequences"),
        (Protocol::Bedrock, "inferenceConfig.topP"),
        (Protocol::GeminiInteractions, "generation_config.top_p"),
    ] {
        let provider = lab(protocol).rename(Param::Seed, name);
        let error = AgentLoop::builder().provider(provider).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
        assert!(error.message().contains("`seed`") && error.message().contains(name), "{error}");
    }
}

#[test]
fn defaults_that_a_parameter_cannot_have_are_refused() {
    for (name, value) in [
        ("max_tokens", json!("many")),
        ("max_tokens", json!(-1)),
        ("temperature", json!([])),
        ("tools", json!({})),
        ("reasoning_effort", json!("very")),
    ] {
        let provider = lab(Protocol::Gemini).default_field(name, value);
        let error = AgentLoop::builder().provider(provider).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
        assert!(error.message().contains(name), "{}", error.message());
    }
}

#[test]
fn a_number_of_a_request_that_is_not_one_is_refused_in_every_protocol() {
    for protocol in Protocol::ALL {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let request = ChatRequest::new("lab/m").user("Hi").temperature(number);
            let error = encode(lab(*protocol), &request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{}", protocol.name());
        }
    }
}

/// Each rule was a pass over all rules, and each repeated one a warning.
#[test]
fn ten_thousand_rules_are_one_warning_and_cost_little() {
    let started = cpu_time();
    for protocol in Protocol::ALL {
        let mut provider = lab(*protocol);
        for number in 0..10_000 {
            provider.rules.push(Rule::Ignored(Param::Temperature));
            provider.rules.push(Rule::Clamp(Param::Temperature, 0.0, f64::from(number)));
            provider.rules.push(Rule::Rename(Param::Temperature, format!("t{number}").into()));
            provider.rules.push(Rule::Default(format!("d.d{number}").into(), json!(number)));
        }
        let request = ChatRequest::new("lab/m").user("Hi").temperature(1.0);
        let sent = encode(provider, &request).unwrap();
        assert_eq!(warned(&sent, Param::Temperature).len(), 2);
        let fields = body(&sent);
        assert_eq!(fields["t9999"], 1.0);
        assert_eq!(fields["d"].as_object().unwrap().len(), 10_000);
    }
    // Quadratic, this took minutes.
    let took = cpu_time() - started;
    assert!(took.as_secs() < 30, "{took:?}");
}

#[test]
fn a_path_into_a_field_that_is_not_an_object_is_a_warning() {
    let provider = lab(Protocol::OpenAiChat).rename(Param::Seed, "temperature.seed");
    let request = ChatRequest::new("lab/m").user("Hi").seed(1).temperature(0.5);
    let sent = encode(provider, &request).unwrap();
    assert_eq!(body(&sent)["temperature"], 0.5);
    assert!(sent.warnings.iter().any(|w| w.subject.as_deref() == Some("temperature")));
}
