//! Which settings a configuration file may have that the user has not trusted.
//!
//! A file in the working folder, or in a folder above it, may come from anyone: a cloned repository, an unpacked archive, a
//! shared folder. Such a file may choose models, aliases and limits. It may not direct a key, a file, an environment variable
//! or a prompt anywhere, and it may not weaken what protects the user.

use std::fmt;

use serde_json::{Map, Value};

/// The path of a setting, with `*` for a name that the user chooses, and what it could do in the wrong hands.
pub(super) struct Setting {
    pub(super) path: &'static str,
    /// `None`: every file may set it.
    pub(super) risk: Option<&'static str>,
}

const fn free(path: &'static str) -> Setting {
    Setting { path, risk: None }
}

const fn trusted(path: &'static str, risk: &'static str) -> Setting {
    Setting { path, risk: Some(risk) }
}

const URL: &str = "chooses where prompts and keys are sent";
const KEY: &str = "chooses which key is sent";
const REQUEST: &str = "changes what is sent";
const COSTS: &str = "changes what calls are taken to cost";
const PROGRAM: &str = "starts a program or connects to a server";
const TOOLS: &str = "chooses which tools a model may call";
const FETCH: &str = "lets this machine download URLs that a conversation contains";

/// Every setting, with its class. One that is not listed needs trust, and a test fails.
pub(super) const SETTINGS: &[Setting] = &[
    free("default_provider"),
    free("default_model"),
    free("aliases"),
    trusted("providers.*.base_url", URL),
    trusted("providers.*.protocol", REQUEST),
    trusted("providers.*.auth", KEY),
    trusted("providers.*.key_env", "reads an environment variable and sends it as the key"),
    trusted("providers.*.key_file", "reads a file and sends it as the key"),
    trusted("providers.*.credential", "authorizes requests with the credentials of this machine"),
    trusted("providers.*.headers", REQUEST),
    free("providers.*.strip"),
    trusted("providers.*.rename", REQUEST),
    free("providers.*.clamp"),
    free("providers.*.ignored"),
    free("providers.*.allow"),
    trusted("providers.*.defaults", REQUEST),
    trusted("providers.*.quirks", REQUEST),
    trusted("providers.*.models", REQUEST),
    trusted("providers.*.embeddings", REQUEST),
    trusted("providers.*.modalities", REQUEST),
    free("timeouts"),
    trusted("model_data", "reads a file"),
    free("models.*.id"),
    free("models.*.kind"),
    free("models.*.context_window"),
    free("models.*.max_input_tokens"),
    free("models.*.max_output_tokens"),
    free("models.*.abilities"),
    free("models.*.efforts"),
    free("models.*.dimensions"),
    free("models.*.knowledge_cutoff"),
    free("models.*.deprecation_date"),
    trusted("models.*.prices", COSTS),
    trusted("models.*.restrictions", REQUEST),
    trusted("media.download", FETCH),
    free("media.max_bytes"),
    trusted("media.allow_private", FETCH),
    free("media.timeout"),
    trusted("log.content", "writes prompts and responses to the log"),
    free("cost.limit"),
    free("cost.per"),
    trusted("cost.allow_unpriced", COSTS),
    free("retry"),
    free("fallback"),
    free("cache.max_bytes"),
    free("cache.ttl"),
    free("cache.namespace"),
    trusted("cache.redis", "sends prompts and responses to a server"),
    trusted("limits.redis", "sends account names to a server"),
    free("limits.*"),
    trusted("history.enabled", "chooses whether conversations are stored"),
    trusted("mcp.*", PROGRAM),
    trusted("tools.*", "lets a model start a program"),
    trusted("groups.*", TOOLS),
    trusted("default_tools", TOOLS),
    trusted("allow", "lets tools run without approval"),
    trusted("local", "starts a program, and chooses its options and the files it loads"),
    trusted("gateway", "changes who may use the gateway, and where its requests go"),
    trusted("fetch_page.allow_private", "lets a model read pages of this machine and its network"),
];

/// A setting that a file has and that needs the user's trust.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestrictedSetting {
    /// Where it is: `providers.openai.base_url`.
    pub name: String,
    /// Its value, as JSON.
    pub value: String,
    /// What it does.
    pub effect: &'static str,
}

impl RestrictedSetting {
    /// Returns the provider that it is a setting of.
    pub fn provider(&self) -> Option<&str> {
        let rest = self.name.strip_prefix("providers.")?;
        Some(rest.rsplit_once('.').map_or(rest, |(provider, _)| provider))
    }
}

impl fmt::Display for RestrictedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({})", self.name, self.value, self.effect)
    }
}

/// Takes the settings that need trust out of a file, and returns them.
pub(super) fn restrict(table: &mut Map<String, Value>) -> Vec<RestrictedSetting> {
    let mut found = Vec::new();
    take(table, &mut Vec::new(), &mut found);
    found
}

fn take(
    table: &mut Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<RestrictedSetting>,
) {
    let names: Vec<String> = table.keys().cloned().collect();
    for name in names {
        path.push(name.clone());
        match class(path) {
            Class::Free => {}
            Class::Inside => match table.get_mut(&name) {
                Some(Value::Object(inner)) => {
                    take(inner, path, found);
                    // An empty table can mean something by itself (`[log]`), but not one that was emptied here.
                    if inner.is_empty() && found.iter().any(|taken| is_within(&taken.name, path)) {
                        table.remove(&name);
                    }
                }
                _ => found.extend(taken(table, &name, path, "is not known")),
            },
            Class::Trusted(effect) => found.extend(taken(table, &name, path, effect)),
        }
        path.pop();
    }
}

fn taken(
    table: &mut Map<String, Value>,
    name: &str,
    path: &[String],
    effect: &'static str,
) -> Option<RestrictedSetting> {
    let value = serde_json::to_string(&table.remove(name)?).unwrap_or_default();
    Some(RestrictedSetting { name: path.join("."), value, effect })
}

fn is_within(name: &str, path: &[String]) -> bool {
    name.strip_prefix(&path.join(".")).is_some_and(|rest| rest.starts_with('.'))
}

enum Class {
    Free,
    Trusted(&'static str),
    /// It is a table whose settings have their own classes.
    Inside,
}

fn class(path: &[String]) -> Class {
    let mut inside = false;
    // Names come before `*`, which stands for all others.
    let mut by_star = None;
    for setting in SETTINGS {
        let mut parts = setting.path.split('.');
        let mut starred = false;
        let fits = path.iter().all(|name| {
            parts.next().is_some_and(|part| {
                starred |= part == "*";
                part == "*" || part == name
            })
        });
        if !fits {
            continue;
        }
        if parts.next().is_some() {
            inside = true;
        } else if starred {
            by_star.get_or_insert(setting.risk);
        } else {
            return of(setting.risk);
        }
    }
    match by_star {
        Some(risk) => of(risk),
        None if inside => Class::Inside,
        None => Class::Trusted("is not known to be harmless"),
    }
}

fn of(risk: Option<&'static str>) -> Class {
    risk.map_or(Class::Free, Class::Trusted)
}
