//! `packaging/import-litellm`: configurations of LiteLLM become settings that the gateway accepts.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use crate::common;

use common::folder::Folder;
use common::{Outcome, agentloop};

/// Translates a configuration. Returns `None` on a machine without PyYAML, unless `AGENTLOOP_REQUIRE_PYYAML` is set.
pub(crate) fn import(yaml: impl AsRef<[u8]>) -> Option<Outcome> {
    static HAS_YAML: LazyLock<bool> = LazyLock::new(|| {
        let output = Command::new("python3").args(["-c", "import yaml"]).output();
        output.is_ok_and(|output| output.status.success())
    });
    if !*HAS_YAML {
        let why = "PyYAML is missing: python3 -m pip install pyyaml";
        assert!(std::env::var_os("AGENTLOOP_REQUIRE_PYYAML").is_none(), "{why}");
        eprintln!("skipped: {why}");
        return None;
    }
    let folder = Folder::with([]);
    std::fs::write(folder.path().join("litellm.yaml"), yaml).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/import-litellm");
    let output = Command::new("python3")
        .arg(script)
        .arg("litellm.yaml")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    Some(Outcome { code: output.status.code(), stdout, stderr })
}

/// Translates a configuration, and checks that a gateway would start with it if the variables were set.
fn import_and_check(yaml: &str, variables: &[&str]) -> Option<Outcome> {
    let run = import(yaml)?;
    assert_eq!(run.code, Some(0), "{run}");
    let folder = Folder::with([("gateway.toml", run.stdout.as_str())]);
    let mut check =
        agentloop(["--config", "gateway.toml", "serve", "--check"]).within(folder.path());
    for name in variables {
        check = check.env(name, &format!("value-of-{name}"));
    }
    let check = check.run();
    assert_eq!(check.code, Some(0), "{check}\n{}", run.stdout);
    Some(run)
}

const SMALL_TEAM: &str = r#"
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/OPENAI_API_KEY
  - model_name: claude
    litellm_params:
      model: anthropic/claude-sonnet-4-5
      api_key: "os.environ/TEAM_ANTHROPIC_KEY"
      max_tokens: 4096
  - model_name: gemini-flash
    litellm_params:
      model: gemini/gemini-2.5-flash
  - model_name: local
    litellm_params:
      model: ollama_chat/llama3.2
      api_base: http://localhost:11434
  - model_name: nova
    litellm_params:
      model: bedrock/us.amazon.nova-premier-v1:0
      aws_region_name: us-east-1

litellm_settings:
  drop_params: True
  num_retries: 3
  request_timeout: 600
  success_callback: ["langfuse"]
  fallbacks: [{"gpt-4o": ["claude", "nova"]}]

general_settings:
  master_key: sk-1234567890
  database_url: "postgresql://llm:hunter2@db:5432/litellm"

environment_variables:
  LANGFUSE_SECRET_KEY: lf-sk-very-secret
"#;

#[test]
fn the_configuration_of_a_small_team() {
    let Some(run) = import_and_check(SMALL_TEAM, &["LITELLM_MASTER_KEY"]) else { return };
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    # Of LiteLLM's configuration, this could not be translated, or needs something of you:
    # - model_list[1].litellm_params.max_tokens (line 11): parameters of one model cannot be preset; `defaults` of [providers] holds for all models of a provider
    # - litellm_settings.success_callback (line 28): callbacks are not supported; metrics are on the admin listener, spans are exported over OTLP
    # - general_settings.master_key (line 32): the key is not written; set LITELLM_MASTER_KEY to it
    # - general_settings.database_url (line 33): keys and the ledger are in a SQLite file. For PostgreSQL, which several gateways share, set `url_env = "GATEWAY_POSTGRES"` in [gateway.store], and GATEWAY_POSTGRES to the URL; LiteLLM's tables are not read
    # - environment_variables.LANGFUSE_SECRET_KEY (line 36): set it in the environment of the gateway

    [timeouts]
    total = 600

    [providers.openai]
    key_env = "OPENAI_API_KEY"

    [providers.anthropic]
    key_env = "TEAM_ANTHROPIC_KEY"

    [providers.google]
    key_env = "GEMINI_API_KEY"

    [providers.bedrock]
    base_url = "https://bedrock-runtime.us-east-1.amazonaws.com"

    [gateway.keys.master]
    key_env = "LITELLM_MASTER_KEY"

    [gateway.routes.gpt-4o]
    retries = 5
    models = [
        "openai/gpt-4o",
        # Fallbacks.
        "anthropic/claude-sonnet-4-5",
        "bedrock/us.amazon.nova-premier-v1:0",
    ]

    [gateway.routes.claude]
    retries = 3
    models = ["anthropic/claude-sonnet-4-5"]

    [gateway.routes.gemini-flash]
    retries = 3
    models = ["google/gemini-2.5-flash"]

    [gateway.routes.local]
    retries = 3
    models = ["ollama/llama3.2"]

    [gateway.routes.nova]
    retries = 3
    models = ["bedrock/us.amazon.nova-premier-v1:0"]
    --- stderr
    import-litellm: 5 notes are at the beginning of the output
    "#);
}

const AMAZON: &str = r#"
model_list:
  - model_name: nova
    litellm_params:
      model: bedrock/converse/us.amazon.nova-lite-v1:0
      aws_region_name: os.environ/AWS_REGION
      aws_access_key_id: os.environ/AWS_ACCESS_KEY_ID
      aws_secret_access_key: os.environ/AWS_SECRET_ACCESS_KEY
  - model_name: claude
    litellm_params:
      model: bedrock/eu-west-1/anthropic.claude-sonnet-4-5
      aws_access_key_id: AKIA-very-secret
      aws_role_name: arn:aws:iam::1:role/x
  - model_name: embed
    litellm_params:
      model: bedrock/amazon.titan-embed-text-v2:0
      aws_region_name: os.environ/EMBED_REGION
      aws_profile_name: work@lab
  - model_name: private
    litellm_params:
      model: bedrock/amazon.nova-pro-v1:0
      aws_bedrock_runtime_endpoint: https://vpce-1.example.com
  - model_name: agent
    litellm_params: {model: bedrock/agent/A/B}
"#;

#[test]
fn models_of_amazon_bedrock_with_their_regions_and_profiles() {
    let variables = ["AWS_REGION", "EMBED_REGION"];
    let Some(run) = import_and_check(AMAZON, &variables) else { return };
    assert!(!run.to_string().contains("very-secret"), "{run}");
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    # Of LiteLLM's configuration, this could not be translated, or needs something of you:
    # - model_list[1].litellm_params.aws_access_key_id (line 12): the key is not written; set AWS_ACCESS_KEY_ID to it, for all models
    # - model_list[1].litellm_params.aws_role_name (line 13): roles are settings of a profile: set `role_arn` in ~/.aws/config
    # - model_list[4].litellm_params.model (line 24): `bedrock/agent/` is not supported by agentloop, so the model is left out
    # - there is no `master_key`: the gateway always needs a key, and creates one when it starts

    [providers.bedrock-eu-west-1]
    base_url = "https://bedrock-runtime.eu-west-1.amazonaws.com"
    protocol = "bedrock"
    credential = "aws"

    [providers.bedrock-embed-region-work-lab]
    base_url = "https://bedrock-runtime.${EMBED_REGION}.amazonaws.com"
    protocol = "bedrock"
    credential = { aws = { profile = "work@lab" } }

    [providers.vpce-1-example-com]
    base_url = "https://vpce-1.example.com"
    protocol = "bedrock"
    credential = "aws"

    [gateway.routes.nova]
    models = ["bedrock/us.amazon.nova-lite-v1:0"]

    [gateway.routes.claude]
    models = ["bedrock-eu-west-1/anthropic.claude-sonnet-4-5"]

    [gateway.routes.embed]
    models = ["bedrock-embed-region-work-lab/amazon.titan-embed-text-v2:0"]

    [gateway.routes.private]
    models = ["vpce-1-example-com/amazon.nova-pro-v1:0"]
    --- stderr
    import-litellm: 4 notes are at the beginning of the output
    "#);
}

const LOAD_BALANCED: &str = r#"
# Two regions of Azure, OpenAI with two keys as the last resort.
x-azure: &azure
  api_key: os.environ/AZURE_API_KEY
  api_version: "2024-10-21"
model_list:
  - model_name: gpt-4o
    litellm_params:
      <<: *azure
      model: azure/gpt-4o-eu
      api_base: https://contoso-eu.openai.azure.com/
      rpm: 600
    model_info:
      base_model: azure/gpt-4o
  - model_name: gpt-4o
    litellm_params:
      <<: *azure
      model: azure/gpt-4o-us
      api_base: https://contoso-us.openai.azure.com/
      api_key: os.environ/AZURE_API_KEY_US
      rpm: 1_800
  - model_name: gpt-4o-direct
    litellm_params: {model: gpt-4o, api_key: sk-proj-first, rpm: 100}
  - model_name: gpt-4o-direct
    litellm_params: {model: gpt-4o, api_key: sk-proj-second, rpm: 100}
  - model_name: embed
    litellm_params:
      model: azure/text-embedding-3-large
      api_base: https://contoso-eu.openai.azure.com/openai/deployments/text-embedding-3-large/embeddings
      api_key: os.environ/AZURE_API_KEY
  - model_name: ordered
    litellm_params: {model: groq/llama-3.3-70b-versatile, order: 2}
  - model_name: ordered
    litellm_params: {model: together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo, order: 1}

router_settings:
  routing_strategy: usage-based-routing-v2
  model_group_alias:
    gpt-4: gpt-4o
    old: {model: "nothing", hidden: true}
  fallbacks:
    - gpt-4o: [gpt-4o-direct]
  context_window_fallbacks: [{"gpt-4o": ["long"]}]
  num_retries: 2
  timeout: 30
  stream_timeout: 12.5
  enable_pre_call_checks: true
  allowed_fails: 3
  cooldown_time: 30
  redis_host: os.environ/REDIS_HOST
  redis_password: os.environ/REDIS_PASSWORD

litellm_settings:
  drop_params: false
  cache: true
  cache_params: {type: redis, ttl: 600}

general_settings:
  master_key: os.environ/PROXY_KEY
"#;

#[test]
fn the_configuration_of_a_load_balancer() {
    let variables =
        ["PROXY_KEY", "OPENAI_KEY_1", "OPENAI_KEY_2", "AZURE_API_KEY", "AZURE_API_KEY_US"];
    let Some(run) = import_and_check(LOAD_BALANCED, &variables) else { return };
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    # Of LiteLLM's configuration, this could not be translated, or needs something of you:
    # - x-azure (line 3): it has no counterpart
    # - model_list[0].litellm_params.api_version (line 5): the URL of this provider has no version
    # - model_list[1].litellm_params.api_version (line 5): the URL of this provider has no version
    # - model_list[0].litellm_params.rpm (line 12): limits on what is sent to one model are not supported; keys and teams have `requests_per_minute` and `tokens_per_minute`
    # - model_list[0].model_info (line 14): what is known of a model is in the table [models]
    # - model_list[1].litellm_params.rpm (line 21): limits on what is sent to one model are not supported; keys and teams have `requests_per_minute` and `tokens_per_minute`
    # - model_list[2].litellm_params.rpm (line 23): limits on what is sent to one model are not supported; keys and teams have `requests_per_minute` and `tokens_per_minute`
    # - model_list[2].litellm_params.api_key (line 23): the key is not written; set OPENAI_KEY_1 to it
    # - model_list[3].litellm_params.rpm (line 25): limits on what is sent to one model are not supported; keys and teams have `requests_per_minute` and `tokens_per_minute`
    # - model_list[3].litellm_params.api_key (line 25): the key is not written; set OPENAI_KEY_2 to it
    # - router_settings.routing_strategy (line 37): this strategy is not supported; models are chosen by weight
    # - router_settings.model_group_alias.old.hidden (line 40): a route cannot be hidden
    # - router_settings.model_group_alias.old.model (line 40): no model of this name was translated
    # - router_settings.context_window_fallbacks (line 43): a request that a provider refuses is not sent to another model
    # - router_settings.enable_pre_call_checks (line 47): requests are not measured before they are sent
    # - router_settings.allowed_fails (line 48): how long a failing key or provider is avoided cannot be set
    # - router_settings.cooldown_time (line 49): how long a failing key or provider is avoided cannot be set
    # - router_settings.redis_host (line 50): one gateway needs no Redis. Several share limits, budgets and the cache through it: set `url_env = "GATEWAY_REDIS"` in [gateway.redis], and GATEWAY_REDIS to redis://:PASSWORD@HOST:6379/0
    # - litellm_settings.cache (line 55): all keys share the cached responses, as in LiteLLM; `shared_by` can also be "team" or "key"
    # - litellm_settings.cache_params.type (line 56): one gateway needs no Redis. Several share limits, budgets and the cache through it: set `url_env = "GATEWAY_REDIS"` in [gateway.redis], and GATEWAY_REDIS to redis://:PASSWORD@HOST:6379/0
    # - [gateway.pools.openai]: the keys are used for all models of openai

    [timeouts]
    idle = 12.5
    total = 30

    [providers.azure]
    base_url = "https://contoso-eu.openai.azure.com/openai/v1"
    key_env = "AZURE_API_KEY"

    [providers.azure-contoso-us]
    base_url = "https://contoso-us.openai.azure.com/openai/v1"
    auth = "api-key"
    quirks = { token_cap = "max_completion_tokens" }
    key_env = "AZURE_API_KEY_US"

    [providers.groq]
    key_env = "GROQ_API_KEY"

    [providers.together]
    key_env = "TOGETHERAI_API_KEY"

    [gateway]
    strict = true

    [gateway.keys.master]
    key_env = "PROXY_KEY"

    [gateway.pools.openai]
    key_env = ["OPENAI_KEY_1", "OPENAI_KEY_2"]

    [gateway.routes.gpt-4o]
    strategy = "weighted"
    cache = { ttl = 600, shared_by = "all" }
    retries = 3
    models = [
        { model = "azure/gpt-4o-eu", weight = 600 },
        { model = "azure-contoso-us/gpt-4o-us", weight = 1800 },
        # Fallbacks: the weights are so small that they are tried last.
        { model = "openai/gpt-4o", weight = 0.0006 },
    ]

    [gateway.routes.gpt-4o-direct]
    cache = { ttl = 600, shared_by = "all" }
    retries = 2
    models = ["openai/gpt-4o"]

    [gateway.routes.embed]
    cache = { ttl = 600, shared_by = "all" }
    retries = 2
    models = ["azure/text-embedding-3-large"]

    [gateway.routes.ordered]
    cache = { ttl = 600, shared_by = "all" }
    retries = 2
    models = [
        "together/meta-llama/Llama-3.3-70B-Instruct-Turbo",
        "groq/llama-3.3-70b-versatile",
    ]

    [gateway.routes.gpt-4]
    strategy = "weighted"
    cache = { ttl = 600, shared_by = "all" }
    retries = 3
    models = [
        { model = "azure/gpt-4o-eu", weight = 600 },
        { model = "azure-contoso-us/gpt-4o-us", weight = 1800 },
        # Fallbacks: the weights are so small that they are tried last.
        { model = "openai/gpt-4o", weight = 0.0006 },
    ]
    --- stderr
    import-litellm: 21 notes are at the beginning of the output
    "#);
}

const OPEN_PROXY: &str = r#"
model_list:
  - model_name: "*"
    litellm_params:
      model: openai/*
      api_key: os.environ/OPENAI_API_KEY
  - model_name: "anthropic/*"
    litellm_params: {model: "anthropic/*", api_key: os.environ/ANTHROPIC_API_KEY}
  - model_name: "gemini/*"
    litellm_params: {model: "gemini/*", api_key: os.environ/GEMINI_API_KEY}
  - model_name: "sagemaker/*"
    litellm_params: {model: "sagemaker/*"}
  - model_name: "openai/gpt-5*"
    litellm_params: {model: "openai/gpt-5*"}
  - model_name: qwen
    litellm_params:
      model: hosted_vllm/Qwen/Qwen3-32B
      api_base: os.environ/VLLM_API_BASE
      api_key: none
  - model_name: qwen
    litellm_params:
      model: openai/qwen3-32b
      api_base: http://gpu-2.internal:8000/v1
      weight: 3
  - model_name: sneaky
    litellm_params:
      model: openai/x
      api_base: https://user:hunter2@proxy.example/v1
  - litellm_params: {model: gpt-4o}
  - model_name: nothing
include: [more.yaml]
guardrails:
  - guardrail_name: pii
    litellm_params: {guardrail: presidio, mode: pre_call, api_key: guard-secret}
"#;

#[test]
fn the_configuration_of_an_open_proxy() {
    let variables = ["VLLM_API_BASE", "VLLM_KEY_1"];
    let Some(run) = import_and_check(OPEN_PROXY, &variables) else { return };
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    # Of LiteLLM's configuration, this could not be translated, or needs something of you:
    # - model_list[2].litellm_params.model (line 10): clients name these models google/MODEL
    # - model_list[3].litellm_params.model (line 12): `sagemaker` is not a provider of agentloop, so the model is left out
    # - model_list[4].litellm_params.model (line 14): a pattern of models cannot be translated; add a route for each
    # - model_list[5].litellm_params.api_key (line 19): the key is not written; set VLLM_KEY_1 to it
    # - model_list[6].litellm_params (line 22): without `api_key`, no key is sent to gpu-2-internal-8000
    # - model_list[7].litellm_params.api_base (line 28): a URL with a user, a query or a variable is not written, so the model is left out
    # - model_list[8] (line 29): it has no `model_name`
    # - model_list[9] (line 30): it has no `litellm_params`
    # - include (line 31): other files are not read; translate each of them
    # - guardrails (line 33): requests are not inspected or changed
    # - there is no `master_key`: the gateway always needs a key, and creates one when it starts

    default_provider = "openai"

    [providers.openai]
    key_env = "OPENAI_API_KEY"

    [providers.anthropic]
    key_env = "ANTHROPIC_API_KEY"

    [providers.google]
    key_env = "GEMINI_API_KEY"

    [providers.vllm]
    base_url = "${VLLM_API_BASE}"
    key_env = "VLLM_KEY_1"

    [providers.gpu-2-internal-8000]
    base_url = "http://gpu-2.internal:8000/v1"

    [gateway.routes.qwen]
    strategy = "weighted"
    models = [
        { model = "vllm/Qwen/Qwen3-32B", weight = 1 },
        { model = "gpu-2-internal-8000/qwen3-32b", weight = 3 },
    ]
    --- stderr
    import-litellm: 11 notes are at the beginning of the output
    "#);
}

/// Settings that a gateway has, by other names than LiteLLM.
const SHARED: &str = r#"
model_list:
  - model_name: gpt-4o
    litellm_params: {model: openai/gpt-4o, input_cost_per_token: 0.0000025}
  - model_name: claude
    litellm_params: {model: claude-sonnet-4-5}
litellm_settings:
  cache: true
  cache_params:
    type: redis
    host: cache.internal
    password: redis-secret
    ttl: 600
  max_budget: 99.5
  budget_duration: 30d
  max_user_budget: 5
router_settings:
  redis_url: os.environ/REDIS_URL
  provider_budget_config: {openai: {budget_limit: 10}}
general_settings:
  master_key: os.environ/PROXY_KEY
  database_url: os.environ/DATABASE_URL
  max_parallel_requests: 7
  store_model_in_db: true
"#;

#[test]
fn cache_budgets_and_databases_become_those_of_the_gateway() {
    let Some(run) = import_and_check(SHARED, &["PROXY_KEY"]) else { return };
    insta::assert_snapshot!(run, @r#"
    exit 0
    --- stdout
    # Of LiteLLM's configuration, this could not be translated, or needs something of you:
    # - model_list[0].litellm_params.input_cost_per_token (line 4): set `prices = [{ per_million = { input = "…", output = "…" } }]` in [models."PROVIDER/MODEL"]
    # - litellm_settings.cache (line 8): all keys share the cached responses, as in LiteLLM; `shared_by` can also be "team" or "key"
    # - litellm_settings.cache_params.type (line 10): one gateway needs no Redis. Several share limits, budgets and the cache through it: set `url_env = "GATEWAY_REDIS"` in [gateway.redis], and GATEWAY_REDIS to redis://:PASSWORD@HOST:6379/0
    # - litellm_settings.max_budget (line 14): it is the budget of the team `proxy`: create keys with `--team proxy`. Keys with a budget can use only models whose price is known
    # - litellm_settings.max_user_budget (line 16): each key has its budgets and limits: `agentloop keys create NAME --budget 10/month --rpm 60`
    # - router_settings.redis_url (line 18): one gateway needs no Redis. Several share limits, budgets and the cache through it: set `url_env = "REDIS_URL"` in [gateway.redis], and REDIS_URL to redis://:PASSWORD@HOST:6379/0
    # - router_settings.provider_budget_config (line 19): a budget is of a key or a team: set `budget` in [gateway.keys.NAME] or [gateway.teams.NAME]
    # - general_settings.database_url (line 22): keys and the ledger are in a SQLite file. For PostgreSQL, which several gateways share, set `url_env = "DATABASE_URL"` in [gateway.store], and DATABASE_URL to the URL; LiteLLM's tables are not read
    # - general_settings.max_parallel_requests (line 23): set `concurrency` in [gateway.keys.NAME] or [gateway.teams.NAME]
    # - general_settings.store_model_in_db (line 24): models are in this file, which a running gateway reads again when it changes

    [providers.openai]
    key_env = "OPENAI_API_KEY"

    [providers.anthropic]
    key_env = "ANTHROPIC_API_KEY"

    [gateway.keys.master]
    key_env = "PROXY_KEY"
    team = "proxy"

    [gateway.teams.proxy]
    budget = "99.5/month"

    [gateway.routes.gpt-4o]
    cache = { ttl = 600, shared_by = "all" }
    models = ["openai/gpt-4o"]

    [gateway.routes.claude]
    cache = { ttl = 600, shared_by = "all" }
    models = ["anthropic/claude-sonnet-4-5"]
    --- stderr
    import-litellm: 10 notes are at the beginning of the output
    "#);
}

#[test]
fn a_cache_that_clients_switch_on_and_budgets_of_other_periods_are_not_translated() {
    for (module, expected) in [
        ("cache: true\n  cache_params: {mode: default_off}", "clients cannot switch the cache on"),
        ("cache: true\n  cache_params: {supported_call_types: []}", "chats are not cached"),
        ("cache: false\n  cache_params: {type: redis}", ""),
        ("max_budget: 5\n  budget_duration: 12h", "budget_duration (line 4): a budget is per day"),
        ("max_budget: lots", "max_budget (line 3): it is not an amount in dollars"),
    ] {
        let yaml = format!(
            "model_list: [{{model_name: a, litellm_params: {{model: gpt-5}}}}]\nlitellm_settings:\n  {module}\n"
        );
        let Some(run) = import_and_check(&yaml, &[]) else { return };
        assert!(run.stdout.contains(expected), "{expected}: {run}");
        let settings: Vec<&str> =
            run.stdout.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(!settings.concat().contains("cache ="), "{run}");
        assert!(!settings.concat().contains("budget ="), "{run}");
    }
}

#[test]
fn names_of_models_and_urls_are_ours() {
    let models = [
        ("openai/gpt-5", "", "openai/gpt-5"),
        ("openai/gpt-5", "https://api.openai.com/v1/", "openai/gpt-5"),
        ("gpt-4o", "", "openai/gpt-4o"),
        ("claude-sonnet-4-5", "", "anthropic/claude-sonnet-4-5"),
        ("gemini/gemini-3.8-flash", "", "google/gemini-3.8-flash"),
        ("gemini-2.5-pro", "", "vertex/gemini-2.5-pro"),
        ("vertex_ai/claude-sonnet-4", "", "vertex/claude-sonnet-4"),
        ("command-a", "", "cohere/command-a"),
        ("cohere_chat/command-a", "", "cohere/command-a"),
        ("together_ai/meta-llama/Llama-3", "", "together/meta-llama/Llama-3"),
        ("fireworks_ai/qwen3", "", "fireworks/accounts/fireworks/models/qwen3"),
        ("fireworks_ai/accounts/me/models/x", "", "fireworks/accounts/me/models/x"),
        ("ollama_chat/llama3.2", "", "ollama/llama3.2"),
        ("ollama/llama3.2", "http://localhost:11434", "ollama/llama3.2"),
        ("openrouter/anthropic/claude", "", "openrouter/anthropic/claude"),
        ("hosted_vllm/q", "", "vllm/q"),
        ("lm_studio/q", "", "lmstudio/q"),
        ("nvidia_nim/q", "", "nvidia/q"),
        ("huggingface/q", "", "huggingface/q"),
        ("github/q", "", "github/q"),
        ("perplexity/sonar", "", "perplexity/sonar"),
        ("groq/q", "", "groq/q"),
        ("mistral/q", "", "mistral/q"),
        ("deepseek/q", "", "deepseek/q"),
        ("xai/grok-4", "", "xai/grok-4"),
        ("cerebras/q", "", "cerebras/q"),
        ("deepinfra/q", "", "deepinfra/q"),
        ("moonshot/q", "", "moonshot/q"),
        ("sambanova/q", "", "sambanova/q"),
        ("bedrock/anthropic.claude-v2", "", "bedrock/anthropic.claude-v2"),
        ("bedrock/converse/us.amazon.nova-lite-v1:0", "", "bedrock/us.amazon.nova-lite-v1:0"),
        ("bedrock_converse/us.amazon.nova-lite-v1:0", "", "bedrock/us.amazon.nova-lite-v1:0"),
        ("bedrock/invoke/us-gov-west-1/meta.llama3-8b", "", "bedrock-us-gov-west-1/meta.llama3-8b"),
        (
            "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.x",
            "",
            "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.x",
        ),
        ("openai/m", "http://gpu.internal:8000/v1/chat/completions", "gpu-internal-8000/m"),
        ("openai_like/m", "http://2.example/v1", "2-example/m"),
        ("anthropic/m", "https://proxy.example", "proxy-example/m"),
        ("anthropic/m", "https://proxy.example/v1/messages", "proxy-example/m"),
        ("azure/m", "https://openai-x.openai.azure.com/", "azure/m"),
        (
            "azure/m",
            "https://y.openai.azure.com/openai/deployments/d/chat/completions",
            "azure-y/m",
        ),
        ("azure/m", "os.environ/MY_AZURE_API_BASE", "my-azure/m"),
    ];
    let mut yaml = "model_list:\n".to_owned();
    for (at, (model, url, _)) in models.iter().enumerate() {
        let url = if url.is_empty() { String::new() } else { format!(", api_base: {url:?}") };
        yaml.push_str(&format!(
            "  - {{model_name: m{at}, litellm_params: {{model: {model:?}{url}}}}}\n"
        ));
    }
    let Some(run) = import_and_check(&yaml, &["MY_AZURE_API_BASE"]) else { return };
    for (at, (_, _, ours)) in models.iter().enumerate() {
        let route = format!("[gateway.routes.m{at}]\nmodels = [{ours:?}]\n");
        assert!(run.stdout.contains(&route), "{route}{run}");
    }
    for url in [
        "[providers.gpu-internal-8000]\nbase_url = \"http://gpu.internal:8000/v1\"",
        "[providers.proxy-example]\nbase_url = \"https://proxy.example/v1\"\nprotocol = \"anthropic\"",
        "[providers.azure]\nbase_url = \"https://openai-x.openai.azure.com/openai/v1\"",
        "[providers.azure-y]\nbase_url = \"https://y.openai.azure.com/openai/v1\"\nauth = \"api-key\"",
        "[providers.my-azure]\nbase_url = \"${MY_AZURE_API_BASE}/openai/v1\"",
        "[providers.ollama]\nbase_url = \"http://localhost:11434/v1\"",
    ] {
        let is_ollama = url.contains("ollama");
        assert_eq!(run.stdout.contains(url), !is_ollama, "{url}\n{run}");
    }
}

#[test]
fn models_that_cannot_be_translated_are_comments() {
    for (params, expected) in [
        ("model: bedrock/agent/A/B", "`bedrock/agent/` is not supported by agentloop"),
        ("model: bedrock/converse/", "it names no model"),
        ("model: sagemaker/x", "`sagemaker` is not a provider of agentloop"),
        ("model: openai/", "it names no model"),
        ("model: llama3", "names no provider"),
        ("model: vertex_ai/mistral-large", "neither a model of Google"),
        ("model: gemini/x, api_base: 'https://x'", "another URL of this provider"),
        ("model: openai_like/x", "a model of this provider needs `api_base`"),
        ("model: x, custom_llm_provider: nowhere", "`nowhere` is not a provider"),
    ] {
        let fine =
            "{model_name: a, litellm_params: {model: my-model, custom_llm_provider: hosted_vllm}}";
        let yaml =
            format!("model_list:\n- {fine}\n- {{model_name: b, litellm_params: {{{params}}}}}");
        let Some(run) = import_and_check(&yaml, &[]) else { return };
        assert!(run.stdout.contains(expected), "{expected}: {run}");
        assert!(run.stdout.contains("models = [\"vllm/my-model\"]"), "{run}");
        assert!(!run.stdout.contains("[gateway.routes.b]"), "{run}");
    }
}

#[test]
fn no_key_of_a_file_is_printed() {
    let broken = "model_list:\n- {litellm_params: {api_key: 'sk-secret\n";
    for yaml in [SMALL_TEAM, LOAD_BALANCED, OPEN_PROXY, AMAZON, SHARED, broken] {
        let Some(run) = import(yaml) else { return };
        for secret in
            ["sk-", "hunter2", "lf-sk", "guard-secret", "sk-proj", "very-secret", "redis-secret"]
        {
            assert!(!run.to_string().contains(secret), "{secret}: {run}");
        }
    }
}

/// Levels of a billion laughs.
fn laughs(first: &str, level: impl Fn(usize, String) -> String) -> String {
    let mut text = format!("a0: &a0 {first}\n");
    for at in 1..40 {
        text.push_str(&format!("a{at}: &a{at} {}\n", level(at, format!("*a{}", at - 1))));
    }
    text
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_with_its_line() {
    let long = "y".repeat(500_000);
    let copies = vec!["*a"; 90_000].join(", ");
    for (yaml, expected) in [
        ("", "there is no `model_list`"),
        ("just a text", "there is no `model_list`"),
        ("- a\n- b\n", "there is no `model_list`"),
        ("router_settings: {}\n", "there is no `model_list`"),
        ("model_list: 7\n", "no model can be translated"),
        ("model_list: []\n", "no model can be translated"),
        ("model_list: [{litellm_params: {model: sagemaker/x}}]", "no model can be translated"),
        ("a: 1\nb: [\n", "line 3: the file is not YAML"),
        ("a: 1\n\tb: 2\n", "line 2: the file is not YAML"),
        ("a: 'open", "line 1: the file is not YAML"),
        ("a: *nowhere", "line 1: the file is not YAML"),
        ("a: 1\n---\nb: 2\n", "line 2: the file is not YAML"),
        ("a: 1\nb: !!python/object/apply:os.system [id]\n", "line 2: tags"),
        ("a: !secret x", "line 1: tags"),
        ("!secret a: x", "line 1: tags"),
        ("a: !!binary aGk=", "line 1: tags"),
        ("? [a, b]\n: c\n", "line 1: the name of a setting must be a text"),
        ("<<: 1", "line 1: `<<` must be followed by settings"),
        ("a: &x [*x]", "nested more than 32 deep"),
        ("a: &x {<<: *x}", "nested more than 32 deep"),
        ("a: \"\\ud83d\"", "line 1: half of a character"),
        ("a: \u{1b}", "unacceptable character"),
        (
            &laughs("[x, x]", |_, last| format!("[{last}, {last}]")),
            "the copies that its aliases make",
        ),
        (
            &laughs("{x: 1}", |at, last| format!("{{x{at}: {last}, y: {last}}}")),
            "the copies that its aliases make",
        ),
        (
            &laughs("{x: 1}", |at, last| format!("{{x{at}: 1, <<: [{last}, {last}]}}")),
            "the copies that its aliases make",
        ),
        // Few values, but long ones.
        (&format!("a: &a {long}\nb: [{copies}]"), "the copies that its aliases make"),
        (&"[".repeat(100_000), "nested too deep"),
        (&format!("{}x", "- ".repeat(100)), "nested more than 32 deep"),
        (&"#".repeat(10 << 20), "more than 1048576 bytes"),
        (&format!("model_list:\n{}", "  - model_name: x\n".repeat(2_001)), "more than 2000 models"),
    ] {
        let Some(run) = import(yaml) else { return };
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{expected}: {run}");
        let is_one_line = run.stderr.trim_end().lines().count() == 1;
        assert!(is_one_line && run.stderr.starts_with("import-litellm: litellm.yaml: "), "{run}");
        assert!(run.stderr.contains(expected), "{expected}: {run}");
    }
    let Some(run) = import(b"a: \xff\n") else { return };
    assert!(run.code == Some(1) && run.stderr.contains("invalid start byte"), "{run}");
}

#[test]
fn what_fallbacks_and_aliases_repeat_is_bounded() {
    let name = "y".repeat(100_000);
    let aliases: Vec<String> = (0..10_000).map(|at| format!("a{at}: g")).collect();
    let aliases = aliases.join(", ");
    let yaml = format!(
        "model_list: [{{model_name: g, litellm_params: {{model: openai/{name}}}}}]\nrouter_settings: {{model_group_alias: {{{aliases}}}}}"
    );
    let Some(run) = import(yaml) else { return };
    assert!(run.code == Some(1) && run.stderr.contains("the file is too long"), "{}", run.stderr);
}

#[test]
fn names_cannot_break_out_of_the_settings_or_control_a_terminal() {
    let yaml = r#"
model_list:
  - model_name: "x\"]\n[providers.openai]\nbase_url = \"http://evil.example/v1\"\n#\u001b[2J\u2028\0\\"
    litellm_params: {model: "openai/a\"]\nb'''", api_base: "http://a\".b/v1", api_key: "a\nb"}
  - model_name: ok
    litellm_params: {model: "openai/gpt-4o", api_key: "os.environ/A B"}
    "bad\u001b[31m\n[providers.openai]": 1
    'a"b\': 1
"#;
    let Some(run) = import_and_check(yaml, &[]) else { return };
    assert!(!run.stdout.contains("\n[providers.openai]\nbase_url"), "{run}");
    let is_plain = |letter: char| letter == '\n' || !letter.is_control() && letter != '\u{2028}';
    assert!(run.to_string().chars().all(is_plain), "{run}");
    let settings: toml::Table = run.stdout.parse().unwrap();
    let routes = settings["gateway"]["routes"].as_table().unwrap();
    let evil =
        "x\"]\n[providers.openai]\nbase_url = \"http://evil.example/v1\"\n#\u{1b}[2J\u{2028}\0\\";
    assert_eq!(routes[evil]["models"][0].as_str(), Some("a--b/a\"]\nb'''"), "{run}");
}

#[test]
fn the_last_of_repeated_settings_counts_and_merged_settings_are_those_of_the_first() {
    let yaml = r"
a: &a {model: openai/first, api_key: os.environ/A, weight: 1}
b: &b {model: openai/second, order: 1, weight: 2}
model_list:
- model_name: lost
  model_name: kept
  litellm_params: {<<: [*a, *b], weight: 20_000, weight: 3_000}
- model_name: kept
  litellm_params: {<<: *b}
- model_name: kept
  litellm_params: *b
";
    let Some(run) = import_and_check(yaml, &["A", "OPENAI_API_KEY"]) else { return };
    for expected in [
        "model_list[0].model_name (line 6): it is repeated; the last one counts",
        "model_list[0].litellm_params.weight (line 7): it is repeated; the last one counts",
        "key_env = [\"A\", \"OPENAI_API_KEY\"]",
        "[gateway.routes.kept]\nmodels = [\n    \"openai/first\",\n    \"openai/second\",\n]",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {run}");
    }
    assert!(!run.stdout.contains("lost"), "{run}");
}

#[test]
fn values_of_wrong_kinds_are_reported_and_left_out() {
    let yaml = r"
model_list:
  - 7
  - model_name: [a]
    litellm_params: {model: openai/a}
  - model_name: a
    litellm_params: {model: {x: 1}}
  - model_name: a
    litellm_params: {model: openai/a, weight: heavy, order: [1], api_key: [k], timeout: 5}
  - model_name: a
    litellm_params: {model: openai/b, weight: -1, custom_llm_provider: [x], rpm: {a: 1}}
  - model_name: b
    litellm_params: {model: xai/grok-4, weight: .inf, order: .nan}
  - model_name: c
    litellm_params: {model: bedrock/x, aws_region_name: [], aws_profile_name: {a: 1}, aws_access_key_id: 7}
router_settings:
  fallbacks: {a: b}
  num_retries: many
  timeout: -3
  model_group_alias: [a]
  redis_url: [1]
  routing_strategy: [x]
litellm_settings: {cache: true, cache_params: [x], drop_params: [1], fallbacks: [1, {a: 7, b: [[1]]}]}
general_settings: {master_key: [1], database_url: [2], coordination_redis: 7}
environment_variables: no
";
    let Some(run) = import_and_check(yaml, &[]) else { return };
    for expected in [
        "model_list[0] (line 3): it has no `litellm_params`",
        "model_list[1] (line 4): it has no `model_name`",
        "model_list[2].litellm_params (line 7): it has no `model`",
        "model_list[3].litellm_params.weight (line 9): it is not a weight above 0",
        "model_list[3].litellm_params.order (line 9): it is not a number",
        "model_list[3].litellm_params.api_key (line 9): it is not a key or the name of a variable",
        "model_list[3].litellm_params.timeout (line 9): a timeout of one model is not supported",
        "model_list[5].litellm_params.order (line 13): it is not a number",
        "model_list[6].litellm_params.aws_profile_name (line 15): it is not a name",
        "router_settings.fallbacks (line 17): it is not a list",
        "router_settings.num_retries (line 18): it is not a number",
        "router_settings.timeout (line 19): it is not a time in seconds",
        "router_settings.model_group_alias (line 20): it is not a table of settings",
        "router_settings.routing_strategy (line 22): this strategy is not supported",
        "litellm_settings.cache_params (line 23): it is not a table of settings",
        "litellm_settings.drop_params (line 23): it is not true or false",
        "litellm_settings.fallbacks[0] (line 23): it is not a table of settings",
        "litellm_settings.fallbacks[1].a (line 23): it is not a list",
        "litellm_settings.fallbacks[1].b[0] (line 23): a fallback with settings of its own",
        "general_settings.master_key (line 24): it is not a key",
        "environment_variables (line 25): it is not a table of settings",
    ] {
        assert!(run.stdout.contains(expected), "{expected}: {run}");
    }
}
