//! What could not be translated.

use super::yaml::Node;

/// A place in a file, for example `model_list[2].litellm_params`.
#[derive(Clone, Debug, Default)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub(super) fn at(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    pub(super) fn name(&self, name: &str) -> Self {
        match self.0.is_empty() {
            true => Self::new(name),
            false => Self(format!("{}.{name}", self.0)),
        }
    }
}

/// What a user has to know.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Each with its line in the file.
    lines: Vec<(usize, String)>,
}

impl Report {
    /// Reports that a setting is not translated, or what the user has to do for it.
    pub(super) fn add(&mut self, path: &Path, node: &Node, why: impl AsRef<str>) {
        let text = format!("{} (line {}): {}", path.0, node.line, why.as_ref());
        self.lines.push((node.line, text));
    }

    /// Reports something that has no place of its own.
    pub(super) fn add_line(&mut self, text: String) {
        self.lines.push((usize::MAX, text));
    }

    /// Reports all settings of a table but those of `known`.
    pub(super) fn add_unknown(&mut self, path: &Path, node: &Node, known: &[&str]) {
        let Some(entries) = node.map() else {
            self.add(path, node, "it is not a table of settings");
            return;
        };
        for (name, value) in entries {
            if !known.contains(&name.as_str()) {
                self.add(&path.name(name), value, reason(name));
            }
        }
    }

    /// Returns the lines in the order of the file.
    pub(super) fn into_lines(mut self) -> impl Iterator<Item = String> {
        self.lines.sort_by_key(|(line, _)| *line);
        self.lines.into_iter().map(|(_, text)| text)
    }
}

/// Returns why a setting of LiteLLM has no counterpart.
fn reason(name: &str) -> &'static str {
    match name {
        "aws_role_name" | "aws_session_name" | "aws_web_identity_token" | "aws_external_id" => {
            "roles are settings of a profile: set `role_arn` in ~/.aws/config"
        }
        "rpm" | "tpm" | "max_parallel_requests" | "default_max_parallel_requests" => {
            "limits on what is sent to one model are not supported"
        }
        "timeout" | "stream_timeout" => {
            "a timeout of one model is not supported; [timeouts] holds for all of them"
        }
        "max_retries" => "retries are set for a whole route",
        "api_version" => "the URL of this provider has no version",
        "cache"
        | "cache_params"
        | "cache_responses"
        | "enable_caching_on_provider_specific_optional_params" => {
            "the gateway has no cache of responses"
        }
        "callbacks" | "success_callback" | "failure_callback" | "service_callback" | "alerting"
        | "alert_types" | "alerting_threshold" | "alerting_args" => {
            "callbacks are not supported; metrics are on the admin listener, spans are exported over OTLP"
        }
        "context_window_fallbacks" | "content_policy_fallbacks" => {
            "a request that a provider refuses is not sent to another model"
        }
        "enable_pre_call_checks" => "requests are not measured before they are sent",
        "allowed_fails" | "allowed_fails_policy" | "cooldown_time" | "disable_cooldowns" => {
            "how long a failing key or provider is avoided cannot be set"
        }
        "retry_policy" | "model_group_retry_policy" | "retry_after" => {
            "which errors are retried, and when, cannot be set"
        }
        "database_url"
        | "database_connection_pool_limit"
        | "store_model_in_db"
        | "store_prompts_in_spend_logs"
        | "disable_spend_logs"
        | "proxy_batch_write_at" => "keys and models are in the configuration, not in a database",
        "redis_host" | "redis_port" | "redis_password" | "redis_url" | "coordination_redis" => {
            "the gateway does not use Redis"
        }
        "max_budget"
        | "budget_duration"
        | "max_user_budget"
        | "max_end_user_budget"
        | "default_internal_user_params"
        | "default_team_settings"
        | "provider_budget_config" => "budgets, users and teams are not supported",
        "guardrails" | "policies" | "prompts" => "requests are not inspected or changed",
        "include" => "other files are not read; import each of them",
        "mcp_servers" => "the gateway does not call tools; [mcp] is for the command",
        "model_info" => "what is known of a model is in the table [models]",
        "mock_response" => "use the model sim/echo instead",
        "organization" | "extra_headers" | "headers" => {
            "headers are set for a provider: `headers` of [providers]"
        }
        "vertex_project" => "set VERTEX_PROJECT in the environment",
        "vertex_location" => "set VERTEX_LOCATION in the environment",
        "vertex_credentials" => {
            "set GOOGLE_APPLICATION_CREDENTIALS in the environment, or `credential = { google = { file = \"…\" } }` of [providers.vertex]"
        }
        "temperature" | "max_tokens" | "top_p" | "seed" | "stop" | "max_completion_tokens" => {
            "parameters of one model cannot be preset; `defaults` of [providers] holds for all models of a provider"
        }
        "input_cost_per_token" | "output_cost_per_token" => "prices are in the table [models]",
        "set_verbose" | "json_logs" | "telemetry" | "turn_off_message_logging" => {
            "set `log` in [gateway]; prompts are never logged"
        }
        _ => "it has no counterpart",
    }
}
