//! `[models."provider/model"]` adds, replaces and removes restrictions.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::provider::{Action, Param, Restriction};
use agentloop::{AgentLoop, ChatRequest, Config, ErrorKind, ModelCatalog, Provider};

use super::{ask, body_of};

fn encode(config: &str, request: &ChatRequest) -> EncodedRequest {
    let config = Config::parse(config).unwrap();
    let ai = AgentLoop::builder().config(&config).env("OPENAI_API_KEY", "k").build().unwrap();
    inspect::encode(&ai, request, false).unwrap()
}

#[test]
fn a_row_is_added_for_one_model() {
    let config = r#"
        [[models."openai/gpt-x".restrictions.add]]
        id = "no-seed"
        when = [{ set = "temperature" }]
        then = { drop = ["seed"] }
        reason = "our deployment refuses it"
    "#;
    let encoded = encode(config, &ask("openai/gpt-x").temperature(0.5).seed(7));
    assert_eq!(body_of(&encoded).get("seed"), None);
    assert!(encoded.warnings[0].message.contains("our deployment"), "{:?}", encoded.warnings);
    let encoded = encode(config, &ask("openai/gpt-x").seed(7));
    assert_eq!(body_of(&encoded)["seed"], 7);
    let encoded = encode(config, &ask("openai/gpt-y").temperature(0.5).seed(7));
    assert_eq!(body_of(&encoded)["seed"], 7);
}

#[test]
fn a_row_is_removed_or_replaced_by_its_id() {
    let request = ask("openai/gpt-x").temperature(9.0);
    let encoded = encode("", &request);
    assert_eq!(body_of(&encoded)["temperature"], 2.0);
    for removed in ["openai-temperature", "*"] {
        let config = format!("[models.\"openai/gpt-x\".restrictions]\nremove = [\"{removed}\"]");
        let encoded = encode(&config, &request);
        assert_eq!(body_of(&encoded)["temperature"], 9.0);
        assert!(encoded.warnings.is_empty(), "{:?}", encoded.warnings);
    }
    let config = r#"
        [[models."openai/gpt-x".restrictions.add]]
        id = "openai-temperature"
        then = { clamp = { param = "temperature", min = 0.0, max = 1.0 } }
    "#;
    let encoded = encode(config, &request);
    assert_eq!(body_of(&encoded)["temperature"], 1.0);
    assert_eq!(encoded.warnings.len(), 1, "{:?}", encoded.warnings);
}

#[test]
fn a_row_of_a_family_is_removed_for_one_model_only() {
    let config =
        "[models.\"anthropic/claude-opus-4-6\".restrictions]\nremove = [\"claude-prefill\"]";
    let config = Config::parse(config).unwrap();
    let ai = AgentLoop::builder().config(&config).env("ANTHROPIC_API_KEY", "k").build().unwrap();
    let count = |model: &str| {
        let encoded = inspect::encode(&ai, &ask(model).assistant("Once"), false).unwrap();
        body_of(&encoded)["messages"].as_array().unwrap().len()
    };
    assert_eq!(count("anthropic/claude-opus-4-6"), 2);
    assert_eq!(count("anthropic/claude-sonnet-4-6"), 3);
}

#[test]
fn a_contradictory_setting_is_an_error_that_explains_it() {
    let row = |then: &str| format!("[[models.\"openai/x\".restrictions.add]]\nthen = {then}\n");
    let nested = row("{ field = { path = \"a.b\", value = 1 } }");
    for (text, expected) in [
        (row("{ clamp = { param = \"temperature\", min = 2.0, max = 1.0 } }"), "no value between"),
        (
            row("{ clamp = { param = \"temperature\", min = nan, max = 1.0 } }"),
            "clamp.min` is out of range",
        ),
        (row("{ clamp = { param = \"stop\", min = 0.0, max = 1.0 } }"), "has no range"),
        (row("{ longest = { param = \"temperature\", bytes = 3 } }"), "cannot be bounded"),
        (row("{ drop = [] }"), "names no parameter"),
        (row("{ drop = [\"warmth\"] }"), "unknown variant `warmth`"),
        (row("{ efforts = [] }"), "names no level"),
        (row("{ shorten_ids = 3 }"), "too few"),
        (row("{ explode = 3 }"), "unknown variant `explode`"),
        (nested, "nested field"),
        (
            "[models.\"openai/x\".restrictions]\nremove = [\"openai-tempreature\"]".to_owned(),
            "no restriction",
        ),
        ("[models.\"openai/x\".restrictions]\nremoves = []".to_owned(), "unknown field"),
        (row("\"no_prefill\"\nwhy = 3"), "unknown field"),
        (row("{ drop = [\"seed\"] }").repeat(300), "at most 256"),
    ] {
        let error = Config::parse(&text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{text}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_client_accepts_only_ids_of_restrictions_that_exist() {
    let build = |removed: &str| {
        let text = format!("[\"lab/m\".restrictions]\nremove = [\"{removed}\"]");
        let lab = Provider::openai_compatible("lab", "http://lab.invalid/v1")
            .restriction(Restriction::new("lab-seed", Action::Drop(vec![Param::Seed])));
        let models = ModelCatalog::embedded().with_overrides(&text).unwrap();
        AgentLoop::builder().provider(lab).models(models).build()
    };
    for known in ["lab-seed", "openai-temperature", "claude-prefill", "*"] {
        build(known).unwrap();
    }
    let error = build("lab-sead").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(error.message(), "`lab/m`: restrictions.remove: there is no restriction `lab-sead`");
}
