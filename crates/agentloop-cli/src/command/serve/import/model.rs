//! LiteLLM's names of models and URLs, as ours.

use agentloop::Provider;

/// A model of LiteLLM.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Model<'a> {
    pub(super) family: &'static Family,
    pub(super) name: &'a str,
    /// The region of Amazon Web Services that the name begins with.
    pub(super) region: Option<&'a str>,
}

/// A prefix of LiteLLM, and the provider that it is here.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Family {
    prefix: &'static str,
    pub(super) provider: &'static str,
    /// The variable in which LiteLLM looks for the key, if the file has none.
    pub(super) variable: &'static str,
    /// What follows the URL that LiteLLM has; `None` if such a URL cannot be translated.
    url: Option<Url>,
    /// The settings of another provider of this kind.
    pub(super) settings: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Url {
    /// The same.
    Same,
    /// It ends with this.
    Ends(&'static str),
    /// The resource of Azure, whose API without versions is below it.
    Azure,
}

const fn family(
    prefix: &'static str,
    provider: &'static str,
    variable: &'static str,
    url: Option<Url>,
) -> Family {
    Family { prefix, provider, variable, url, settings: "" }
}

const FAMILIES: &[Family] = &[
    family("openai", "openai", "OPENAI_API_KEY", Some(Url::Same)),
    Family {
        settings: "protocol = \"anthropic\"\n",
        ..family("anthropic", "anthropic", "ANTHROPIC_API_KEY", Some(Url::Ends("/v1")))
    },
    Family {
        settings: "auth = \"api-key\"\nquirks = { token_cap = \"max_completion_tokens\" }\n",
        ..family("azure", "azure", "AZURE_API_KEY", Some(Url::Azure))
    },
    Family {
        settings: "protocol = \"bedrock\"\n",
        ..family("bedrock", "bedrock", "", Some(Url::Same))
    },
    Family {
        settings: "protocol = \"bedrock\"\n",
        ..family("bedrock_converse", "bedrock", "", Some(Url::Same))
    },
    family("gemini", "google", "GEMINI_API_KEY", None),
    family("vertex_ai", "vertex", "", None),
    family("groq", "groq", "GROQ_API_KEY", Some(Url::Same)),
    family("together_ai", "together", "TOGETHERAI_API_KEY", Some(Url::Same)),
    family("fireworks_ai", "fireworks", "FIREWORKS_AI_API_KEY", Some(Url::Same)),
    family("mistral", "mistral", "MISTRAL_API_KEY", Some(Url::Same)),
    family("deepseek", "deepseek", "DEEPSEEK_API_KEY", Some(Url::Same)),
    family("perplexity", "perplexity", "PERPLEXITYAI_API_KEY", Some(Url::Same)),
    family("ollama", "ollama", "", Some(Url::Ends("/v1"))),
    family("ollama_chat", "ollama", "", Some(Url::Ends("/v1"))),
    family("cohere", "cohere", "COHERE_API_KEY", None),
    family("cohere_chat", "cohere", "COHERE_API_KEY", None),
    family("xai", "xai", "XAI_API_KEY", Some(Url::Same)),
    family("openrouter", "openrouter", "OPENROUTER_API_KEY", Some(Url::Same)),
    family("hosted_vllm", "vllm", "HOSTED_VLLM_API_KEY", Some(Url::Same)),
    family("lm_studio", "lmstudio", "LM_STUDIO_API_KEY", Some(Url::Same)),
    family("cerebras", "cerebras", "CEREBRAS_API_KEY", Some(Url::Same)),
    family("deepinfra", "deepinfra", "DEEPINFRA_API_KEY", Some(Url::Same)),
    family("nvidia_nim", "nvidia", "NVIDIA_NIM_API_KEY", Some(Url::Same)),
    family("moonshot", "moonshot", "MOONSHOT_API_KEY", Some(Url::Same)),
    family("sambanova", "sambanova", "SAMBANOVA_API_KEY", Some(Url::Same)),
    family("huggingface", "huggingface", "HUGGINGFACE_API_KEY", None),
    family("github", "github", "GITHUB_API_KEY", None),
    // Servers that speak OpenAI's API: they have a URL of their own.
    family("litellm_proxy", "", "", Some(Url::Same)),
    family("openai_like", "", "", Some(Url::Same)),
    family("custom_openai", "", "", Some(Url::Same)),
];

/// The beginnings of names without a prefix, of which LiteLLM knows the provider.
const BARE: &[(&str, &str)] = &[
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("text-embedding-", "openai"),
    ("codex-", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "vertex_ai"),
    ("command-", "cohere"),
];

impl Family {
    pub(super) fn find(prefix: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.prefix == prefix)
    }

    /// Returns whether calls are authorized by the credentials of Amazon Web Services.
    pub(super) fn uses_aws(&self) -> bool {
        self.provider == "bedrock"
    }

    /// Returns whether the provider has a URL of its own.
    pub(super) fn is_builtin(&self) -> bool {
        !self.provider.is_empty()
    }

    /// Returns whether a URL takes the place of the built-in one: the quirks of the provider apply there, too. A URL with
    /// OpenAI's API is usually another provider.
    pub(super) fn keeps_its_name(&self) -> bool {
        !matches!(self.provider, "" | "openai")
    }

    /// Returns our base URL for the URL of a file.
    pub(super) fn base_url(&self, url: &str) -> Option<String> {
        let operations =
            ["/chat/completions", "/embeddings", "/completions", "/responses", "/messages"];
        let url = url.trim().trim_end_matches('/');
        let url = operations.iter().find_map(|end| url.strip_suffix(end)).unwrap_or(url);
        Some(match self.url? {
            Url::Same => url.to_owned(),
            Url::Ends(end) => format!("{}{end}", url.strip_suffix(end).unwrap_or(url)),
            Url::Azure => {
                // The path, because a resource may be called openai.
                let host = url.find("://").map_or(0, |at| at + 3);
                let path = url.get(host..).and_then(|rest| rest.find("/openai"));
                let resource = path.and_then(|at| url.get(..host + at)).unwrap_or(url);
                format!("{resource}/openai/v1")
            }
        })
    }

    /// Returns the variable that has the provider's key, unless the file names another.
    pub(super) fn usual_variable(&self) -> Option<String> {
        let provider = Provider::builtin(self.provider)?;
        provider.key.variables().first().map(ToString::to_string)
    }
}

/// Returns what a model of LiteLLM is here.
///
/// # Errors
///
/// Returns the reason why it cannot be translated.
pub(super) fn find<'a>(model: &'a str, named: Option<&str>) -> Result<Model<'a>, String> {
    let (prefix, name) = match (named, model.split_once('/')) {
        (Some(named), Some((prefix, name))) if named == prefix => (named, name),
        (Some(named), _) => (named, model),
        (None, Some((prefix, name))) => (prefix, name),
        (None, None) => {
            let bare = BARE.iter().find(|(start, _)| model.starts_with(start));
            let Some((_, prefix)) = bare else {
                return Err(format!("`{model}` names no provider (write it as provider/model)"));
            };
            (*prefix, model)
        }
    };
    let Some(family) = Family::find(prefix) else {
        return Err(format!("`{prefix}` is not a provider of agentloop"));
    };
    if family.provider == "vertex"
        && name != "*"
        && !["gemini", "gemma", "claude-"].iter().any(|start| name.starts_with(start))
    {
        return Err(format!("`{name}` is neither a model of Google nor of Anthropic on Vertex AI"));
    }
    let (region, name) = if family.uses_aws() { bedrock(name)? } else { (None, name) };
    if name.is_empty() {
        return Err("it names no model".to_owned());
    }
    Ok(Model { family, name, region })
}

/// Returns the region and the model of a name at Amazon Bedrock. LiteLLM's names begin with the API that it calls (`converse/` or
/// `invoke/`, which have the same models; here it is always Converse), or with a region.
fn bedrock(name: &str) -> Result<(Option<&str>, &str), String> {
    // Other APIs, and models that LiteLLM cannot know by their names (litellm of 2026-08-08, `llms/bedrock/common_utils.py`).
    const OTHERS: [&str; 9] = [
        "agent",
        "agentcore",
        "async_invoke",
        "claude_platform",
        "converse_like",
        "mantle",
        "nova",
        "nova-2",
        "openai",
    ];
    let (mut name, mut region) = (name, None);
    while !name.starts_with("arn:")
        && let Some((first, rest)) = name.split_once('/')
    {
        let number = first.rsplit_once('-').map_or("", |(_, number)| number);
        let is_region = first.matches('-').count() > 1
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit());
        match first {
            "converse" | "invoke" => {}
            first if is_region && region.is_none() => region = Some(first),
            first if OTHERS.contains(&first) => {
                return Err(format!("`bedrock/{first}/` is not supported by agentloop"));
            }
            _ => break,
        }
        name = rest;
    }
    Ok((region, name))
}

impl Model<'_> {
    /// Returns the name of the model at the provider.
    pub(super) fn upstream(&self) -> String {
        // LiteLLM adds the account of Fireworks' own models.
        match self.family.provider {
            "fireworks" if !self.name.contains(['/', '#']) => {
                format!("accounts/fireworks/models/{}", self.name)
            }
            _ => self.name.to_owned(),
        }
    }
}

/// Returns a name for the provider at a URL.
pub(super) fn name_of_url(url: &str) -> String {
    let place = match url.strip_prefix("${") {
        Some(variable) => {
            let name = variable.split('}').next().unwrap_or_default().to_ascii_lowercase();
            let ends = ["_api_base", "_base_url", "_endpoint", "_api_url", "_url", "_base"];
            ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
        }
        None => {
            let place = url.split_once("://").map_or(url, |(_, place)| place);
            let host = place.split('/').next().unwrap_or_default().to_ascii_lowercase();
            if let Some(region) = host.strip_prefix("bedrock-runtime.") {
                let region = region.split('.').next().unwrap_or_default();
                return format!(
                    "bedrock-{}",
                    region.replace(['$', '{', '}'], "").replace('_', "-")
                );
            }
            let ends =
                [".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"];
            let azure = ends.iter().find_map(|end| host.strip_suffix(end));
            azure.map_or(host.clone(), |resource| format!("azure-{resource}"))
        }
    };
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let name: String = place.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "provider".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(model: &str) -> String {
        match find(model, None) {
            Ok(found) => format!("{}/{}", found.family.provider, found.upstream()),
            Err(why) => why,
        }
    }

    #[test]
    fn every_provider_of_the_table_is_built_in() {
        for family in FAMILIES {
            assert!(!family.is_builtin() || Provider::builtin(family.provider).is_some());
        }
        for (_, prefix) in BARE {
            assert!(Family::find(prefix).is_some());
        }
    }

    #[test]
    fn prefixes_of_litellm_are_ours() {
        for (theirs, expected) in [
            ("openai/gpt-5", "openai/gpt-5"),
            ("gpt-4o", "openai/gpt-4o"),
            ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
            ("gemini/gemini-3.8-flash", "google/gemini-3.8-flash"),
            ("gemini-2.5-pro", "vertex/gemini-2.5-pro"),
            ("together_ai/meta-llama/Llama-3", "together/meta-llama/Llama-3"),
            ("fireworks_ai/qwen3", "fireworks/accounts/fireworks/models/qwen3"),
            ("fireworks_ai/accounts/me/models/x", "fireworks/accounts/me/models/x"),
            ("ollama_chat/llama3.2", "ollama/llama3.2"),
            ("openrouter/anthropic/claude", "openrouter/anthropic/claude"),
            ("bedrock/anthropic.claude-v2", "bedrock/anthropic.claude-v2"),
            ("bedrock/converse/us.amazon.nova-lite-v1:0", "bedrock/us.amazon.nova-lite-v1:0"),
            ("bedrock_converse/us.amazon.nova-lite-v1:0", "bedrock/us.amazon.nova-lite-v1:0"),
            ("bedrock/invoke/us-gov-west-1/meta.llama3-8b", "bedrock/meta.llama3-8b"),
            (
                "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.x",
                "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.x",
            ),
            ("bedrock/agent/A/B", "`bedrock/agent/` is not supported by agentloop"),
            ("bedrock/converse/", "it names no model"),
            ("sagemaker/x", "`sagemaker` is not a provider of agentloop"),
            ("openai/", "it names no model"),
        ] {
            assert_eq!(ours(theirs), expected);
        }
        assert!(ours("llama3").contains("names no provider"));
        assert_eq!(ours("vertex_ai/claude-sonnet-4"), "vertex/claude-sonnet-4");
        assert!(ours("vertex_ai/mistral-large").contains("neither a model of Google"));
        let named = find("my-model", Some("hosted_vllm")).unwrap();
        assert_eq!((named.family.provider, named.name), ("vllm", "my-model"));
    }

    #[test]
    fn urls_of_litellm_are_base_urls() {
        for (prefix, url, expected) in [
            ("openai", "http://gpu:8000/v1/", "http://gpu:8000/v1"),
            ("openai", "http://gpu:8000/v1/chat/completions", "http://gpu:8000/v1"),
            ("anthropic", "https://proxy.example", "https://proxy.example/v1"),
            ("anthropic", "https://proxy.example/v1/messages", "https://proxy.example/v1"),
            ("ollama", "http://localhost:11434", "http://localhost:11434/v1"),
            (
                "azure",
                "https://openai-x.openai.azure.com/",
                "https://openai-x.openai.azure.com/openai/v1",
            ),
            (
                "azure",
                "https://x.openai.azure.com/openai/deployments/d/chat/completions",
                "https://x.openai.azure.com/openai/v1",
            ),
        ] {
            assert_eq!(Family::find(prefix).unwrap().base_url(url).unwrap(), expected);
        }
        assert_eq!(Family::find("gemini").unwrap().base_url("https://x"), None);
        assert_eq!(name_of_url("https://eu-1.openai.azure.com/openai/v1"), "azure-eu-1");
        assert_eq!(name_of_url("http://gpu.internal:8000/v1"), "gpu-internal-8000");
        assert_eq!(name_of_url("${FAKE_OPENAI_API_BASE}"), "fake-openai");
        let amazon = |region: &str| format!("https://bedrock-runtime.{region}.amazonaws.com");
        assert_eq!(name_of_url(&amazon("eu-west-1")), "bedrock-eu-west-1");
        assert_eq!(name_of_url(&amazon("${MY_REGION}")), "bedrock-my-region");
        assert_eq!(name_of_url("http://"), "provider");
    }
}
