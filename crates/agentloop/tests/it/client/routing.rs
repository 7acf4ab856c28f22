//! `provider/model` splits at the first slash, and only if a known provider precedes it.

use agentloop::{AgentLoop, ErrorKind};

fn resolve(ai: &AgentLoop, model: &str) -> Result<(String, String), (ErrorKind, String)> {
    ai.resolve(model)
        .map(|target| (target.provider.name.to_string(), target.model))
        .map_err(|error| (error.kind(), format!("{error} / {}", error.hint().unwrap_or_default())))
}

fn ok(provider: &str, model: &str) -> Result<(String, String), (ErrorKind, String)> {
    Ok((provider.to_owned(), model.to_owned()))
}

#[test]
fn a_name_is_split_at_the_first_slash_after_a_known_provider() {
    let ai = AgentLoop::from_env();
    assert_eq!(resolve(&ai, "openai/gpt-4o"), ok("openai", "gpt-4o"));
    assert_eq!(resolve(&ai, "groq/openai/gpt-oss-120b"), ok("groq", "openai/gpt-oss-120b"));
    assert_eq!(
        resolve(&ai, "fireworks/accounts/fireworks/models/x"),
        ok("fireworks", "accounts/fireworks/models/x")
    );
}

#[test]
fn the_default_provider_gets_every_other_name_whole() {
    let ai = AgentLoop::builder().default_provider("together").build().unwrap();
    assert_eq!(resolve(&ai, "meta-llama/Llama-4"), ok("together", "meta-llama/Llama-4"));
    assert_eq!(resolve(&ai, "plain"), ok("together", "plain"));
    assert_eq!(resolve(&ai, "groq/x"), ok("groq", "x"));
}

#[test]
fn an_unknown_provider_names_the_known_ones_and_the_nearest() {
    let (kind, text) = resolve(&AgentLoop::from_env(), "gorq/x").unwrap_err();
    assert_eq!(kind, ErrorKind::UnknownProvider);
    assert!(text.contains("did you mean `groq`"), "{text}");
    assert!(text.contains("openrouter"), "{text}");
}

#[test]
fn the_error_of_a_missing_model_explains_how_to_name_one() {
    let ai = AgentLoop::from_env();
    for model in ["", "  ", "gpt-4o", "openai/"] {
        let (kind, text) = resolve(&ai, model).unwrap_err();
        assert_eq!(kind, ErrorKind::MissingModel, "{model}");
        assert!(text.contains("provider/") || text.contains("agentloop models"), "{text}");
    }
}

#[test]
fn aliases_and_the_default_model_lead_on_but_not_in_circles() {
    let ai = AgentLoop::builder()
        .alias("fast", "quick")
        .alias("quick", "groq/openai/gpt-oss-20b")
        .default_model("fast")
        .build()
        .unwrap();
    assert_eq!(resolve(&ai, "fast"), ok("groq", "openai/gpt-oss-20b"));
    assert_eq!(resolve(&ai, ""), ok("groq", "openai/gpt-oss-20b"));
    let circle = AgentLoop::builder().alias("a", "b").alias("b", "a").build().unwrap_err();
    assert_eq!(circle.kind(), ErrorKind::Config);
}

#[test]
fn what_cannot_work_is_found_when_the_client_is_built() {
    use agentloop::Provider;
    for builder in [
        AgentLoop::builder().default_provider("unknown"),
        AgentLoop::builder().alias("a", "unknown/x"),
        AgentLoop::builder().provider(Provider::openai_compatible("a/b", "http://x")),
        AgentLoop::builder().provider(Provider::openai_compatible("lab", "localhost:8000")),
    ] {
        assert_eq!(builder.build().unwrap_err().kind(), ErrorKind::Config);
    }
}

#[test]
fn a_base_url_can_come_from_the_environment() {
    use agentloop::inspect;
    let request = agentloop::ChatRequest::new("azure/my-deployment").user("hi");
    let error = inspect::encode(&AgentLoop::from_env(), &request, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.hint().unwrap().contains("AZURE_RESOURCE_NAME"));
    let ai = AgentLoop::builder().env("AZURE_RESOURCE_NAME", "mine").build().unwrap();
    let encoded = inspect::encode(&ai, &request, false).unwrap();
    assert_eq!(encoded.url, "https://mine.openai.azure.com/openai/v1/chat/completions");
    let ai =
        AgentLoop::builder().env("AGENTLOOP_AZURE_BASE_URL", "http://x.test/v1/").build().unwrap();
    assert_eq!(
        inspect::encode(&ai, &request, false).unwrap().url,
        "http://x.test/v1/chat/completions"
    );
}
