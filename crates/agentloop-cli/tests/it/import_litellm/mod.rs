//! `packaging/import-litellm`: configurations of LiteLLM become settings that the gateway accepts.

mod hostile;
mod names;

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
